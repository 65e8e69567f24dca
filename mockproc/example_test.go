package mockproc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/timelinekit"
)

// t stands for the *testing.T that a test has.
var t = &recorder.T{}

// A host that writes lines to a process and reads lines from it.
func ExampleStart() {
	defer t.End()
	agent := mockproc.Start(t, mockproc.Scenario{}, mockproc.WithAgent(fakeagent.Config{Instant: true}))
	fmt.Fprintln(agent.Stdin(), `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
	fmt.Fprintf(agent.Stdin(), `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`+"\n", os.TempDir())
	lines := bufio.NewScanner(agent.Stdout())
	for lines.Scan() {
		var m struct {
			ID     any
			Method string
			Result struct{ SessionID, StopReason string }
			Params struct {
				Update struct{ SessionUpdate string }
			}
		}
		_ = json.Unmarshal(lines.Bytes(), &m)
		if id := m.Result.SessionID; id != "" {
			fmt.Fprintf(agent.Stdin(), `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}}`+"\n", id)
		}
		if what := m.Params.Update.SessionUpdate + m.Result.SessionID + m.Result.StopReason; what != "agent_message_chunk" {
			fmt.Println(what)
		}
	}
	<-agent.Exited()
	fmt.Println("exit", agent.ExitCode())
	// Output:
	//
	// mock_sess_900000
	// agent_thought_chunk
	// plan
	// tool_call
	// tool_call_update
	// end_turn
	// exit 0
}

// A whole host in a test, whose agent is a process.
func ExampleStart_provider() {
	defer t.End()
	agent := mockproc.Start(t, mockproc.Scripted())
	host := timelinekit.NewHost(t, timelinekit.WithProvider("my-agent", acp.NewProvider(agent)))
	run := host.RunFakeAgentTurn(context.Background(), script.New(script.Bash("npm test", "1 failed", 1), script.Say("done")))
	fmt.Println(run.Items())
	fmt.Println(run.Ending)
	// Output:
	//   0 tool_call Bash "npm test" failed: exit code 1
	//   1 assistant_message "done"
	// completed
}

// The process is killed where the test wants it.
func ExampleMock_Gate() {
	defer t.End()
	agent := mockproc.Start(t, mockproc.Turns(script.New(script.Say("half of"), script.Hold("here"), script.Say("it"))))
	host := timelinekit.NewHost(t, timelinekit.WithProvider("my-agent", acp.NewProvider(agent)))
	turn := host.StartPrompt(context.Background(), "do something")
	if err := agent.Gate("", "here").AwaitHeld(context.Background()); err != nil {
		t.Fatalf("%v", err)
	}
	agent.Kill(os.Kill)
	fmt.Println(turn.Wait(context.Background()).Ending)
	fmt.Println(agent.ExitCode(), agent.ExitSignal())
	// Output:
	// failed: the agent was killed by SIGKILL
	// 137 killed
}

// What the host did wrong fails its test, unless the test looks at it.
func ExampleMock_Violations() {
	defer t.End()
	agent := mockproc.Start(t, mockproc.Scenario{})
	fmt.Fprintln(agent.Stdin(), `hello?`)
	agent.Stdin().Close()
	<-agent.Exited()
	for _, v := range agent.Violations() {
		fmt.Println(v)
	}
	// Output: message 1: no JSON: hello?
}

// A scenario of one's own: the first attempt of each prompt meets a rate limit.
func ExampleParseScenario() {
	s, err := mockproc.ParseScenario([]byte(`{
		"name":   "flaky",
		"routes": [{"when": {"attempt": 1}, "steps": [{"fail": {"message": "rate limit", "code": 429}}]}],
		"turns":  [{"steps": [{"say": "done"}]}]
	}`))
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer t.End()
	host := timelinekit.NewHost(t, timelinekit.WithProvider("my-agent", acp.NewProvider(mockproc.Start(t, s))))
	run := host.RunPrompt(context.Background(), "do it")
	fmt.Println(run.Ending)
	fmt.Println(host.SendPrompt(context.Background(), run.AgentID, "do it").Ending)

	_, err = mockproc.ParseScenario([]byte(`{"name": "mine", "ignore": ["SIGKILL"]}`))
	fmt.Println(err)
	// Output:
	// failed: rate limit
	// completed
	// ignore has "SIGKILL"; there are EOF, SIGTERM
}

// A host that looks for a command finds the agent under its name.
func ExampleInstall() {
	defer t.End()
	mockproc.Install(t, "my-agent", mockproc.Turns(script.New(script.Say("hello"))))
	cmd := exec.Command("my-agent", "--acp", "--stdio")
	stdin, _ := cmd.StdinPipe()
	stdout, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v", err)
	}
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	fmt.Println(line[:45])
	_ = stdin.Close()
	fmt.Println(cmd.Wait())
	// Output:
	// {"jsonrpc":"2.0","id":0,"result":{"protocolVe
	// <nil>
}

// A host that is written for a Process runs a real command as well.
func ExampleExec() {
	defer t.End()
	agent := mockproc.Install(t, "my-agent", mockproc.Scripted(), mockproc.NoPATH())
	process, err := mockproc.Exec(exec.Command(agent.Path()))
	if err != nil {
		t.Fatalf("%v", err)
	}
	provider := acp.NewProvider(process)
	host := timelinekit.NewHost(t, timelinekit.WithProvider("my-agent", provider))
	fmt.Println(host.RunFakeAgentTurn(context.Background(), script.New(script.Say("from another process"))).Items())
	if err := provider.Close(); err != nil {
		t.Fatalf("%v", err)
	}
	fmt.Println("exit", process.ExitCode())
	// Output:
	//   0 assistant_message "from another process"
	// exit 0
}

func ExampleNamed() {
	fmt.Println(mockproc.Scenarios())
	_, err := mockproc.Named("nope")
	fmt.Println(err)
	// Output:
	// [error happy rate_limit scripted seed/error seed/happy seed/rate_limit seed/slow slow]
	// mockproc: there is no scenario "nope"; use error, happy, rate_limit, scripted, seed/error, seed/happy, seed/rate_limit, seed/slow, slow
}
