package e2e_test

import (
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
	"github.com/understudy-go/understudy/fakeagent/playbook"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/mockproc/pipe"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// board is a small MCP server on which a team shares its work items, over streamable HTTP in memory. A plugin is mounted when an item is claimed.
type board struct {
	listener *pipe.Listener

	mu    sync.Mutex
	state map[string][]string // what was done, by tool
}

func newBoard() *board {
	b := &board{listener: pipe.Listen(pipe.OSSize), state: map[string][]string{}}
	server := mcp.NewServer(&mcp.Implementation{Name: "board", Version: "1"}, nil)
	var add func(name string, result any)
	add = func(name string, result any) {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				b.mu.Lock()
				b.state[name] = append(b.state[name], string(req.Params.Arguments))
				b.mu.Unlock()
				if name == "work_claim_item" {
					add("my-plugin_hello", map[string]any{"says": "hello"})
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + " is done"}}, StructuredContent: result}, nil
			})
	}
	add("work_list_items", map[string]any{"items": []any{map[string]any{"workItemId": "item-1"}, map[string]any{"workItemId": "item-2"}}})
	add("work_claim_item", map[string]any{"claimed": true})
	add("send_message", map[string]any{"sent": true})
	s := &http.Server{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)}
	go func() { _ = s.Serve(b.listener) }()
	DeferCleanup(s.Close)
	return b
}

func (b *board) done() map[string][]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.state)
}

// lastWords are what the agent said last.
func lastWords(run timelinekit.Run) (text string) {
	for _, item := range run.Items() {
		if m, ok := item.(timeline.AssistantMessage); ok {
			text = m.Text
		}
	}
	return text
}

var _ = Describe("A playbook of a team", func() {
	team, _ := filepath.Abs("../testdata/playbooks/team.json")

	It("has nothing that lint complains of", func() {
		text, err := os.ReadFile(team)
		Expect(err).NotTo(HaveOccurred())
		Expect(playbook.Lint(text)).To(BeEmpty())
	})

	It("comes to the same end, in whichever order the host wakes its threads", bubble.InBubble, func(ctx SpecContext) {
		const member, lead, stranger = "team-member:demo:run:B", "lead", "stranger"
		wakeUps := []string{member, member, lead, lead, stranger, stranger}
		for order := range uint64(100) {
			rand.New(rand.NewPCG(order, 0)).Shuffle(len(wakeUps), func(i, j int) { wakeUps[i], wakeUps[j] = wakeUps[j], wakeUps[i] })
			b := newBoard()
			agent := fakeagent.NewT(GinkgoT(), fakeagent.Config{
				Script: "mcp-send", PlaybookPath: team, WholePlaybook: true, MCP: mcpcall.New(mcpcall.Dial(b.listener.DialContext)),
			})
			host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("fake", agent))
			server := timelinekit.MCPServers(fakeagent.MCPServer{Name: "ycodium", URL: "http://board/mcp"})
			for id, title := range map[string]string{member: "", lead: "The Coordinator", stranger: "Somebody"} {
				_, err := host.CreateAgent(ctx, timelinekit.AgentID(id), timelinekit.Title(title), server)
				Expect(err).NotTo(HaveOccurred())
			}
			turns := map[string][]*timelinekit.Turn{}
			prompts := map[string][]string{stranger: {"What is there to do?", `{"threadId":"lead","text":"I am here"}`}}
			for _, id := range wakeUps {
				n := len(turns[id])
				if n > 0 {
					turns[id][n-1].Wait(ctx)
				}
				prompt := "wake up"
				if p := prompts[id]; p != nil {
					prompt = p[n]
				}
				turn, err := host.SendTurn(ctx, id, prompt)
				Expect(err).NotTo(HaveOccurred())
				turns[id] = append(turns[id], turn)
			}
			replies := map[string]string{}
			for id, all := range turns {
				for _, turn := range all {
					run := turn.Wait(ctx)
					Expect(run).To(EndCompleted())
					replies[id] += lastWords(run) + "\n"
				}
			}
			Expect(replies).To(Equal(map[string]string{
				member: `mcp-send work_list_items: {"items":[{"workItemId":"item-1"},{"workItemId":"item-2"}]}` + "\n" +
					`mcp-send work_claim_item: {"claimed":true}` + "\n",
				lead: `mcp-send send_message: {"sent":true}` + "\n" +
					"mcp-send wait my-plugin_hello: ready\n" + `mcp-send my-plugin_hello: {"says":"hello"}` + "\n",
				stranger: "fake turn complete\n" + `mcp-send send_message: {"sent":true}` + "\n",
			}), "order %d: %s", order, wakeUps)
			state := b.done()
			slices.Sort(state["send_message"])
			Expect(state).To(Equal(map[string][]string{
				"work_list_items": {`{}`}, "work_claim_item": {`{"workItemId":"item-1"}`}, "my-plugin_hello": {`{}`},
				"send_message": {`{"threadId":"lead","text":"I am here"}`, `{"threadId":"team-member:demo:run:B","text":"Continue"}`},
			}), "order %d: %s", order, wakeUps)
			Expect(agent.PlaybookLeft()).To(BeEmpty())
		}
	})

	It("comes to the same end also when messages reach one thread in another order, each finding its batch", bubble.InBubble, func(ctx SpecContext) {
		path := filepath.Join(GinkgoT().TempDir(), "playbook.json")
		Expect(os.WriteFile(path, []byte(`{"version":1,"threads":[{"match":{"threadId":"^author$"},"turns":[
			[{"expectInput":"the draft"},{"tool":"send_message","arguments":{"text":"draft"}},{"awaitSteer":{"timeoutMs":1000}}],
			[{"expectInput":"be quick"},{"tool":"send_message","arguments":{"text":"quick"}}],
			[{"expectInput":"comments"},{"tool":"send_message","arguments":{"text":"answers"}}],
			[{"expectInput":"merge"},{"tool":"send_message","arguments":{"text":"merged"}}]]}]}`), 0o600)).To(Succeed())
		messages := []string{"write the draft", "comments came", "please merge"}
		for order := range uint64(100) {
			random := rand.New(rand.NewPCG(order, 1))
			random.Shuffle(len(messages), func(i, j int) { messages[i], messages[j] = messages[j], messages[i] })
			b := newBoard()
			agent := fakeagent.NewT(GinkgoT(), fakeagent.Config{
				Script: "mcp-send", PlaybookPath: path, WholePlaybook: true, MCP: mcpcall.New(mcpcall.Dial(b.listener.DialContext)),
			})
			host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("fake", agent))
			_, err := host.CreateAgent(ctx, timelinekit.AgentID("author"), timelinekit.MCPServers(fakeagent.MCPServer{Name: "ycodium", URL: "http://board/mcp"}))
			Expect(err).NotTo(HaveOccurred())
			hurry := random.IntN(len(messages)) // with which message the host wants it quick
			for i, message := range messages {
				turn, err := host.SendTurn(ctx, "author", message)
				Expect(err).NotTo(HaveOccurred())
				quick := turn
				if i == hurry {
					quick, err = host.Steer(ctx, "author", "be quick") // in this turn if it awaits that, else in one of its own
					Expect(err).NotTo(HaveOccurred())
				}
				Expect(turn.Wait(ctx)).To(EndCompleted())
				Expect(quick.Wait(ctx)).To(EndCompleted())
			}
			sent := b.done()["send_message"]
			slices.Sort(sent)
			Expect(sent).To(Equal([]string{`{"text":"answers"}`, `{"text":"draft"}`, `{"text":"merged"}`, `{"text":"quick"}`}), "order %d: %s, quick at %d", order, messages, hurry)
			Expect(agent.PlaybookLeft()).To(BeEmpty())
		}
	})

	It("has a message of the host played in the turn that awaits one; one that no turn takes becomes a turn, which plays the same batch", bubble.InBubble, func(ctx SpecContext) {
		path := filepath.Join(GinkgoT().TempDir(), "playbook.json")
		Expect(os.WriteFile(path, []byte(`{"version":1,"threads":[{"match":{"threadId":"^me$"},"turns":[
			[{"hold":"busy"},{"say":"one"}],
			[{"expectInput":"more"},{"say":"two"},{"awaitSteer":true}],
			[{"expectInput":"last"},{"say":"three"}]]}]}`), 0o600)).To(Succeed())
		agent := fakeagent.NewT(GinkgoT(), fakeagent.Config{Script: "mcp-send", PlaybookPath: path, WholePlaybook: true})
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("fake", agent))
		first := host.StartPrompt(ctx, "go", timelinekit.AgentID("me"))
		Expect(first.Gate("busy").AwaitHeld(ctx)).To(Succeed())
		second, err := host.Steer(ctx, "me", "more of it")
		Expect(err).NotTo(HaveOccurred())
		Expect(second).NotTo(BeIdenticalTo(first))
		first.Gate("busy").Release()
		Expect(host.WaitFor(ctx, "me", ContainItems(BeAssistantMessage("two")))).To(Succeed())
		third, err := host.Steer(ctx, "me", "the last")
		Expect(err).NotTo(HaveOccurred())
		Expect(third).To(BeIdenticalTo(second))
		Expect(second.Wait(ctx)).To(EndCompleted())
		Expect(host.AgentTimeline("me")).To(HaveItems(
			BeUserMessage("go"), BeAssistantMessage("one"),
			BeUserMessage("more of it"), BeAssistantMessage("two"), BeUserMessage("the last"), BeAssistantMessage("three")))
	})

	for name, serve := range map[string]func(context.Context, string) fakeagent.MCPServer{"stdio": everythingOnStdio, "streamable HTTP": everythingOverHTTP} {
		It("plays with the reference server of the protocol's authors, over "+name, func(ctx SpecContext) {
			path := filepath.Join(GinkgoT().TempDir(), "playbook.json")
			Expect(os.WriteFile(path, []byte(`{"version":1,"threads":[{"match":{"threadId":"."},"turns":[[
				{"wait":"echo"},
				{"wait":{"tool":"no-such-tool","timeoutMs":300}},
				{"waitFor":{"tool":"get-structured-content","arguments":{"location":"Chicago"},"path":"temperature","atLeast":1,"id":"weather"}},
				{"id":"echo","tool":"echo","arguments":{"message":"{{thread}} has {{step:weather.conditions}}"}},
				{"tool":"echo","arguments":{"message":"{{step:echo}} {{step:*}}"}},
				{"tool":"get-sum","arguments":{"a":"{{step:weather.temperature}}","b":1}},
				{"tool":"get-sum","arguments":{"a":"{{step:weather.nothing}}","b":1}}]]}]}`), 0o600)).To(Succeed())
			agent := fakeagent.NewT(GinkgoT(), fakeagent.Config{Script: "mcp-send", PlaybookPath: path, WholePlaybook: true, MCP: mcpcall.New(), BuiltInServer: "everything"})
			host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("fake", agent))
			run := host.RunPrompt(ctx, "go", timelinekit.AgentID("me"), timelinekit.MCPServers(serve(ctx, "everything")))
			Expect(run).To(And(EndCompleted(), HaveItems(
				BeToolCall("mcp__everything__echo"), BeToolCall("mcp__everything__echo"), BeToolCall("mcp__everything__get-sum"), BeAssistantMessage(Not(BeEmpty())))))
			Expect(strings.Split(lastWords(run), "\n")).To(HaveExactElements(
				"mcp-send wait echo: ready",
				"mcp-send wait no-such-tool failed: timeout",
				"mcp-send waitFor get-structured-content temperature >= 1: ready",
				MatchRegexp("^mcp-send echo: Echo: me has [A-Z].*$"),
				MatchRegexp("^mcp-send echo: Echo: Echo: me has [A-Z].* Echo: me has [A-Z].*$"),
				MatchRegexp(`^mcp-send get-sum: The sum of \d+ and 1 is \d+\.$`),
				"mcp-send get-sum failed: unresolved placeholder {{step:weather.nothing}}",
			))
		})
	}
})
