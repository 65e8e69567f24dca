package replay_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/understudy-go/understudy/e2e/stopwatch"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/replay"
	"github.com/understudy-go/understudy/fakeagent/script"
)

// BenchmarkTurn has a turn of messages and calls played by a journal and by a script, in turns: "replay/script" is how much dearer the journal is.
func BenchmarkTurn(b *testing.B) {
	const pairs = 50
	steps := make([]script.Step, 0, 2*pairs)
	lines := []string{prompted("go")}
	for i := range pairs {
		steps = append(steps, script.Say(fmt.Sprintf("I look at file %d now, since it is the next one.", i)),
			script.ToolStep{Name: "read", Input: []byte(`{"path":"src/main.go"}`), Output: []byte(`"package main"`)})
		lines = append(lines, said(fmt.Sprintf("I look at file %d now, since it is the next one.", i)),
			fmt.Sprintf(`{"kind":"tool","name":"read","input":{"path":"src/main.go"},"callId":"t%d"}`, i),
			fmt.Sprintf(`{"kind":"tool-result","callId":"t%d","name":"read","isError":false,"preview":"package main","characters":12}`, i))
	}
	lines = append(lines, summary)
	play := func(p fakeagent.Provider, prompt string) func() {
		over := make(chan event.TurnCompleted, 1)
		p.Subscribe(func(e event.Event) {
			if end, ok := e.Payload.(event.TurnCompleted); ok {
				over <- end
			}
		})
		if err := p.StartSession(context.Background(), fakeagent.SessionConfig{ThreadID: "a"}); err != nil {
			b.Fatal(err)
		}
		return func() {
			if _, err := p.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: "a", Text: prompt}); err != nil {
				b.Fatal(err)
			}
			if end := <-over; end.State != event.TurnEndCompleted {
				b.Fatal(end.ErrorMessage)
			}
		}
	}
	const batch = 20
	var replayed, scripted stopwatch.Stopwatch
	for b.Loop() {
		var all []string
		for range batch {
			all = append(all, lines...)
		}
		agent, err := replay.New(recording(all...), replay.WithoutWorkspace())
		if err != nil {
			b.Fatal(err)
		}
		s := script.New(steps...)
		in, err := fakeagent.New(fakeagent.Config{Choose: func(fakeagent.Input) (script.Script, error) { return s, nil }})
		if err != nil {
			b.Fatal(err)
		}
		journal, scripts := play(agent, "go"), play(in, "go")
		scripts() // which is checked once
		replayed.Time(batch, journal)
		scripted.Time(batch, scripts)
		_, _ = agent.Close(), in.Close()
	}
	b.ReportMetric(replayed.Median()/scripted.Median(), "replay/script")
	b.ReportMetric(replayed.Median()/1000, "replay-µs/turn")
	b.ReportMetric(scripted.Median()/1000, "script-µs/turn")
}
