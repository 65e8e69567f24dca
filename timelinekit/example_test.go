package timelinekit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/timelinekit"
)

// t stands for the *testing.T that a test has.
var t = &recorder{}

func Example() {
	defer t.end()
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
	defer t.end()
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
	defer t.end()
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

func ExampleHost_Respond() {
	defer t.end()
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
	defer t.end()
	ctx := context.Background()

	cfg := fakeagent.Scripted()
	cfg.Instant = true
	host := timelinekit.NewHost(t, timelinekit.WithProvider("instant", fakeagent.NewT(t, cfg)))
	fmt.Println(host.RunFakeAgentTurn(ctx, script.New(script.Sleep(time.Hour), script.Say("already"))).Items())
	// Output:
	//   0 assistant_message "already"
}
