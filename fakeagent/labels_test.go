package fakeagent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime/pprof"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
)

// labels are those of all goroutines, as a goroutine profile has them.
func labels() (out []string) {
	var b strings.Builder
	Expect(pprof.Lookup("goroutine").WriteTo(&b, 1)).To(Succeed())
	for _, m := range regexp.MustCompile(`(?m)^# labels: (.*)$`).FindAllStringSubmatch(b.String(), -1) {
		out = append(out, m[1])
	}
	return out
}

var _ = Describe("A goroutine profile", func() {
	DescribeTable("names the step in which a turn waits:", func(ctx SpecContext, step string) {
		cfg := fakeagent.Scripted()
		release := make(chan struct{})
		cfg.MCP = slowMCP{release}
		a := startWith(cfg, fakeagent.SessionConfig{ThreadID: "a", MCPServers: []fakeagent.MCPServer{{Name: "slow"}}})
		DeferCleanup(a.Close)
		id := a.send(`[{"say":"x"},` + step + `]`)
		doing, err := json.Marshal("a-turn-1 is in step 2 " + step)
		Expect(err).NotTo(HaveOccurred())
		Eventually(labels).Should(ContainElement(fmt.Sprintf(`{"understudy.doing":%s}`, doing)))
		Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
		close(release)
		a.wait(id)
		Eventually(labels).ShouldNot(ContainElement(ContainSubstring("a-turn-1")))
	},
		Entry("a sleep", `{"sleep":3600000}`),
		Entry("a message in pieces", `{"say":{"text":"ab","chunks":2,"intervalMs":3600000}}`),
		Entry("a hold", `{"hold":"g"}`),
		Entry("an approval", `{"approval":{"title":"rm"}}`),
		Entry("a tool that runs for a while", `{"tool":{"name":"Read","holdMs":3600000}}`),
		Entry("an MCP call", `{"mcp":{"server":"slow","tool":"x"}}`),
	)
	It("names the turn where it waits for somebody of the test's", func(ctx SpecContext) {
		release := make(chan struct{})
		cfg := fakeagent.Scripted()
		cfg.Choose = func(fakeagent.Input) (script.Script, error) { <-release; return script.New(), nil }
		a := start(cfg, "")
		DeferCleanup(a.Close)
		id := a.send("x")
		Eventually(labels).Should(ContainElement(`{"understudy.doing":"a-turn-1"}`))
		close(release)
		a.wait(id)
	})
	It("names the kind of step that a turn has a delay before", func(ctx SpecContext) {
		a := scripted()
		id := a.send(`{"stepDelayMs":3600000,"steps":[{"bash":{"command":"ls"}}]}`)
		Eventually(labels).Should(ContainElement(`{"understudy.doing":"a-turn-1 is in step 1 (bash)"}`))
		Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
		a.wait(id)
	})
	It("says that a turn waits for something real, while a command runs", func(ctx SpecContext) {
		arrived, release := make(chan struct{}), make(chan struct{})
		cfg := fakeagent.Scripted()
		cfg.Shell = shellFunc(func(context.Context, fakeagent.SessionConfig, string) (fakeagent.ShellResult, error) {
			close(arrived)
			<-release
			return fakeagent.ShellResult{}, nil
		})
		a := start(cfg, "")
		DeferCleanup(a.Close)
		id := a.send(`[{"bash":{"command":"make","run":true}},{"hold":"g"}]`)
		<-arrived
		Expect(labels()).To(ContainElement(`{"understudy.doing":"a-turn-1 is in step 1 {\"bash\":{\"command\":\"make\",\"run\":true}}", "understudy.external":"command"}`))
		close(release)
		Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
		Expect(labels()).NotTo(ContainElement(ContainSubstring("understudy.external")))
		a.Gate("a", "g").Release()
		a.wait(id)
	})
})

// slowMCP is a client of tools that answer when they are released.
type slowMCP struct{ release <-chan struct{} }

func (m slowMCP) Connect(context.Context, fakeagent.MCPConnect) (fakeagent.MCPClient, error) {
	return m, nil
}

func (m slowMCP) CallTool(context.Context, string, json.RawMessage) (fakeagent.MCPResult, error) {
	<-m.release
	return fakeagent.MCPResult{}, nil
}

func (m slowMCP) ListTools(context.Context) ([]string, error) { return nil, nil }

func (slowMCP) Close() error { return nil }
