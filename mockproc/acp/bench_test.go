package acp_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/understudy-go/understudy/e2e/stopwatch"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/mockproc/pipe"
)

// twenty is a script of which 20 frames come, with the answer.
var twenty = `[{"think":"hm"},{"plan":[{"text":"a"}]},{"bash":{"command":"ls","output":"x"}},{"usage":{"usedTokens":1}},` +
	`{"say":{"text":"0123456789abcdef","chunks":14}}]`

// BenchmarkTurn is a turn of 20 frames without waiting, over pipes in memory, from the prompt to the reading of its answer. The metric ×alone
// compares it with the same turn of the agent alone.
func BenchmarkTurn(b *testing.B) {
	agent, err := fakeagent.New(fakeagent.Config{Script: "steps", Instant: true})
	if err != nil {
		b.Fatal(err)
	}
	defer agent.Close()
	in, inW := pipe.New(0)
	outR, out := pipe.New(0)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	served := make(chan error)
	go func() { served <- acp.Serve(ctx, in, out, provides(agent)) }()
	lines := bufio.NewReaderSize(outR, 64<<10)
	answer := func(request string) (frames int) {
		if _, err := io.WriteString(inW, request+"\n"); err != nil {
			b.Fatal(err)
		}
		for {
			line, err := lines.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
			if frames++; !bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","method"`)) {
				return frames
			}
		}
	}
	answer(hello)
	answer(request("1", "session/new", `{"cwd":"/","mcpServers":[]}`))
	ask := prompt("2", twenty)
	turn := func() {
		if n := answer(ask); n != 20 {
			b.Fatalf("%d frames", n)
		}
	}
	alone, err := fakeagent.New(fakeagent.Config{Script: "steps", Instant: true})
	if err != nil {
		b.Fatal(err)
	}
	defer alone.Close()
	if err := alone.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "th", Cwd: "/"}); err != nil {
		b.Fatal(err)
	}
	ended := make(chan struct{}, 1)
	alone.Subscribe(ends(func() { ended <- struct{}{} }))
	bare := func() {
		for {
			if _, err := alone.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "th", Text: twenty}); err == nil {
				break
			}
		}
		<-ended
	}
	var ours, theirs stopwatch.Stopwatch
	for range 50 {
		ours.Time(20, turn)
		theirs.Time(20, bare)
	}
	b.ReportAllocs()
	for b.Loop() {
		turn()
	}
	b.ReportMetric(ours.Median()/theirs.Median(), "×alone")
	_ = inW.Close()
	if err := <-served; err != nil {
		b.Fatal(err)
	}
}

// BenchmarkLongLine is a prompt of 1 MiB that is refused.
func BenchmarkLongLine(b *testing.B) {
	in, inW := pipe.New(0)
	outR, out := pipe.New(0)
	served := make(chan error)
	go func() { served <- acp.Serve(b.Context(), in, out, provides(newStub())) }()
	lines := bufio.NewReader(outR)
	line := []byte(request("1", "novel", `{"x":"`+strings.Repeat("0123456789abcdef", 1<<16)+`"}`) + "\n")
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = inW.Write(line)
		if _, err := lines.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	_ = inW.Close()
	<-served
}

// ends calls fn at the end of each turn.
func ends(fn func()) func(event.Event) {
	return func(e event.Event) {
		if _, over := e.Payload.(event.TurnCompleted); over {
			fn()
		}
	}
}
