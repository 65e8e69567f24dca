package acp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/mockproc/pipe"
)

// The agent's side of a connection, for any provider. A program that is an agent does this with its own stdin and stdout.
func ExampleServe() {
	agent, err := fakeagent.New(fakeagent.Scripted())
	if err != nil {
		panic(err)
	}
	defer agent.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stdin, host := pipe.New(0)
	answers, stdout := pipe.New(0)
	go func() {
		defer stdout.Close()
		_ = acp.Serve(ctx, stdin, stdout, acp.AgentConfig{
			Profile: acp.Seed, // whose lines are short
			Open:    func(*acp.Client) (fakeagent.Provider, error) { return agent, nil },
		})
	}()

	lines := bufio.NewScanner(answers)
	say := func(line string) {
		_, _ = io.WriteString(host, line+"\n")
	}
	say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
	say(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
	say(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"sess-1","prompt":[{"type":"text","text":"hello"}]}}`)
	for lines.Scan() {
		fmt.Printf("%.120s\n", lines.Text())
		if strings.Contains(lines.Text(), "stopReason") {
			break
		}
	}
	_ = host.Close()
	// Output:
	// {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}
	// {"jsonrpc":"2.0","id":1,"result":{"sessionId":"sess-1","configOptions":[{"id":"mode","name":"Mode","category":"mode","ty
	// {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"sess-1","update":{"sessionUpdate":"agent_message_chunk
	// {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}
}

// The client's side: a program that speaks the protocol is driven like any other provider.
func ExampleNewProvider() {
	process, err := mockproc.Exec(exec.Command("my-agent", "--acp"))
	if err != nil {
		panic(err)
	}
	go func() { _, _ = io.Copy(io.Discard, process.Stderr()) }()
	agent := acp.NewProvider(process)
	defer agent.Close()

	ended := make(chan event.TurnCompleted, 1)
	agent.Subscribe(func(e event.Event) {
		switch p := e.Payload.(type) {
		case event.Delta:
			fmt.Print(p.Text)
		case event.RequestOpened:
			_ = agent.RespondToRequest(context.Background(), e.ThreadID, e.RequestID, fakeagent.Decline)
		case event.TurnCompleted:
			ended <- p
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := agent.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a", Cwd: "/work"}); err != nil {
		panic(err)
	}
	if _, err := agent.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "hello"}); err != nil {
		panic(err)
	}
	fmt.Println((<-ended).State)
}

// What a host did wrong, and what was said.
func ExampleProblems() {
	began := time.Now()
	var said acp.Transcript
	for i, m := range []struct {
		from acp.Side
		line string
	}{
		{acp.Host, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`},
		{acp.Agent, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`},
		{acp.Agent, `{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"options":[{"optionId":"opt-reject"}]}}`},
		{acp.Host, `{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`},
	} {
		said = append(said, acp.Message{Time: began.Add(time.Duration(i) * time.Second), From: m.from, Line: m.line})
	}
	fmt.Println(acp.Problems(said)[0])
	fmt.Println(said.Tail(1))
	// Output:
	// message 4: session/request_permission (id 0) was answered "allow", which was not offered: opt-reject
	//        … (3 messages before)
	//       3s   4 -> {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}
}
