package timelinekit_test

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("MCP servers of an agent", func() {
	It("are called by its scripts; the host has a client", func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		run := host.RunFakeAgentTurn(ctx, script.New(script.MCP("*", "show", nil)),
			timelinekit.MCPServers(fakeagent.MCPServer{Name: "gone", Command: "no-such-command"}))
		Expect(run).To(And(EndCompleted(), HaveItems(BeToolCall("mcp__gone__show", WithError(ContainSubstring("no-such-command"))))))
	})

	It("may take longer than two seconds to answer when the agent is interrupted: the call finishes first", bubble.InBubble, func(ctx SpecContext) {
		t := aTest()
		server := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "think"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			select {
			case <-time.After(9 * time.Second):
			case <-ctx.Done():
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
		})
		cfg := fakeagent.Scripted()
		cfg.MCP = mcpcall.New(mcpcall.Serve("slow", server))
		host := timelinekit.NewHost(t, timelinekit.WithProvider("fake-agent", fakeagent.NewT(t, cfg)))
		began := time.Now()
		turn := host.StartFakeAgentTurn(ctx, script.New(script.MCP("slow", "think", nil), script.Say("never")),
			timelinekit.MCPServers(fakeagent.MCPServer{Name: "slow"}))
		Expect(host.WaitFor(ctx, turn.AgentID, ContainItems(BeToolCall("mcp__slow__think")))).To(Succeed())
		Expect(turn.Interrupt(ctx)).To(Succeed())
		Expect(time.Since(began)).To(Equal(9 * time.Second))
		Expect(turn.Wait(ctx)).To(And(EndCanceled(), HaveItems(BeToolCall("mcp__slow__think", WithStatus(timeline.Completed)))))
	})
})
