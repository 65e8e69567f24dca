package timelinekit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/timelinekit"
)

// t stands for the *testing.T that a test has.
var t = &recorder.T{}

func Example() {
	defer t.End()
	ctx := context.Background()

	host := timelinekit.NewHost(t)
	run := host.RunFakeAgentTurn(ctx, script.New(
		script.Write("notes.md", "hi"),
		script.Bash("npm test", "1 failed", 1),
		script.Say("done"),
	))
	fmt.Println(run)
	// Output:
	// turn agent-1-turn-1 of agent-1 (now idle) ended completed
	//   0 user_message "{\"steps\":[{\"write\":{\"path\":\"notes.md\",\"content\":\"hi\"}},{\"bash\":{\"command\":\"npm t…"  <- agent-1-turn-1
	//   1 tool_call Write "notes.md" completed
	//   2 tool_call Bash "npm test" failed: exit code 1
	//   3 assistant_message "done"
}

func ExampleHost_SendFakeAgentTurn() {
	defer t.End()
	ctx := context.Background()

	host := timelinekit.NewHost(t)
	run := host.RunFakeAgentTurn(ctx, script.New(script.Write("todo.md", "- one\n")))
	run = host.SendFakeAgentTurn(ctx, run.AgentID, script.New(script.Edit("todo.md", "one", "one, done"), script.BashRun("cat todo.md")))
	call := run.Items()[1].(timeline.ToolCall)
	fmt.Print(call.Detail.(timeline.Shell).Output)
	// Output: - one, done
}

// A turn stops where the test wants it, and is interrupted there.
func ExampleTurn_Interrupt() {
	defer t.End()
	ctx := context.Background()

	host := timelinekit.NewHost(t)
	turn := host.StartFakeAgentTurn(ctx, script.New(script.Say("before"), script.Hold("here"), script.Say("after")))
	if err := turn.Gate("here").AwaitHeld(ctx); err != nil {
		t.Fatalf("%v", err)
	}
	if err := turn.Interrupt(ctx); err != nil {
		t.Fatalf("%v", err)
	}
	run := turn.Wait(ctx)
	fmt.Println(run.Ending)
	fmt.Println(run.Items())
	// Output:
	// canceled
	//   0 assistant_message "before"
}

// What the user adds while a turn runs is that turn's, if the agent takes it. Else it waits, and becomes the next turn.
func ExampleTurn_Steer() {
	defer t.End()
	ctx := context.Background()

	host := timelinekit.NewHost(t)
	turn := host.StartPrompt(ctx, `[{"hold":{"name":"listening","steers":true}},{"hold":"busy"},{"say":"done"}]`)
	if err := turn.Gate("listening").AwaitHeld(ctx); err != nil {
		t.Fatalf("%v", err)
	}
	if err := turn.Steer(ctx, "be quick"); err != nil {
		t.Fatalf("%v", err)
	}
	turn.Gate("listening").Release()
	if err := turn.Gate("busy").AwaitHeld(ctx); err != nil {
		t.Fatalf("%v", err)
	}
	next, err := host.Steer(ctx, turn.AgentID, "thanks") // which returns the turn that has the message
	if err != nil {
		t.Fatalf("%v", err)
	}
	turn.Gate("busy").Release()
	next.Wait(ctx)
	fmt.Println(host.AgentTimeline(turn.AgentID))
	// Output:
	//   0 user_message "[{\"hold\":{\"name\":\"listening\",\"steers\":true}},{\"hold\":\"busy\"},{\"say\":\"done\"}]"  <- agent-1-turn-1
	//   1 user_message "be quick"
	//   2 assistant_message "done"
	//   3 user_message "thanks"  <- agent-1-turn-2
	//   4 assistant_message "fake-agent received: thanks"
}

func ExampleHost_Respond() {
	defer t.End()
	ctx := context.Background()

	host := timelinekit.NewHost(t)
	turn := host.StartFakeAgentTurn(ctx, script.New(script.Ask(script.Approval{
		Title: "rm -rf build",
		Allow: []script.Step{script.Say("gone")},
		Deny:  []script.Step{script.Say("left alone")},
	})))
	request, err := turn.AwaitRequest(ctx)
	if err != nil {
		t.Fatalf("%v", err)
	}
	fmt.Println("may I:", request.Title)
	if err := host.Respond(ctx, turn.AgentID, request.ID, fakeagent.Decline); err != nil {
		t.Fatalf("%v", err)
	}
	fmt.Println(turn.Wait(ctx).Items())
	// Output:
	// may I: rm -rf build
	//   0 tool_call Bash "rm -rf build" failed: declined by the user
	//   1 assistant_message "left alone"
}

// A host in a test may have any provider; this one plays without waiting.
func ExampleWithProvider() {
	defer t.End()
	ctx := context.Background()

	cfg := fakeagent.Scripted()
	cfg.Instant = true
	host := timelinekit.NewHost(t, timelinekit.WithProvider("instant", fakeagent.NewT(t, cfg)))
	fmt.Println(host.RunFakeAgentTurn(ctx, script.New(script.Sleep(time.Hour), script.Say("already"))).Items())
	// Output:
	//   0 assistant_message "already"
}

// A turn-summary card counts the files that a turn wrote.
func ExampleHost_Use() {
	defer t.End()
	ctx := context.Background()

	host := timelinekit.NewHost(t)
	_, err := host.Use(timelinekit.NewPlugin("summary", timelinekit.On(func(ctx context.Context, e timelinekit.TurnEnded) error {
		files := 0
		for _, item := range e.Timeline.Turn(e.TurnID).All() {
			if call, ok := item.(timeline.ToolCall); ok && call.Name == "Write" && call.Status == timeline.Completed {
				files++
			}
		}
		card := timeline.Plugin{ID: e.TurnID, Kind: "turn-summary", Version: 1, Data: fmt.Appendf(nil, `{"files":%d}`, files)}
		_, _, err := host.AppendRow(ctx, e.Agent.ID, e.TurnID, card)
		return err
	})))
	if err != nil {
		t.Fatalf("%v", err)
	}
	run := host.RunFakeAgentTurn(ctx, script.New(script.Write("a.txt", "1"), script.Write("b.txt", "2"), script.Say("done")))
	if err := host.HooksSettled(ctx); err != nil {
		t.Fatalf("%v", err)
	}
	for _, card := range timelinekit.PluginRows(host.AgentTimeline(run.AgentID), "turn-summary") {
		fmt.Printf("%s v%d of %s: %s\n", card.Kind, card.Version, card.PluginID, card.Data)
	}
	// Output: turn-summary v1 of summary: {"files":2}
}

// A plugin gives every agent a tool: before the agent is created it puts an MCP server into the session. The script then calls it, for real.
func ExampleBefore() {
	ctx := context.Background()

	server := mcp.NewServer(&mcp.Implementation{Name: "cards", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pick"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Suit string `json:"suit"`
	}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the queen of " + in.Suit}}}, nil, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	defer web.Close()
	defer t.End()

	inject := timelinekit.Before(func(_ context.Context, r timelinekit.AgentCreate) (*timelinekit.AgentCreate, error) {
		r.MCPServers = append(r.MCPServers, fakeagent.MCPServer{Name: "cards", URL: web.URL})
		return &r, nil
	})
	host := timelinekit.NewHost(t, timelinekit.WithPlugins(timelinekit.NewPlugin("cards", inject)))
	run := host.RunFakeAgentTurn(ctx, script.New(script.MCP("cards", "pick", map[string]any{"suit": "hearts"})))
	call := run.Items()[0].(timeline.ToolCall)
	fmt.Println(call.Name, call.Status)
	fmt.Println(string(call.Detail.(timeline.Unknown).Output))
	// Output:
	// mcp__cards__pick completed
	// {"content":[{"type":"text","text":"the queen of hearts"}]}
}

// A recorder keeps every call of a hook.
func ExampleRecorder() {
	defer t.End()
	ctx := context.Background()

	log := &timelinekit.Recorder{}
	host := timelinekit.NewHost(t, timelinekit.WithPlugins(log))
	host.RunFakeAgentTurn(ctx, script.New(script.Fail("no quota")))
	if err := host.HooksSettled(ctx); err != nil {
		t.Fatalf("%v", err)
	}
	for _, e := range timelinekit.Recorded[timelinekit.TurnEnded](log) {
		fmt.Println(e.Agent.ID, "is", e.Agent.Status, "as its turn", e.Ending)
	}
	// Output: agent-1 is error as its turn failed: no quota
}
