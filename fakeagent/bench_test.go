package fakeagent_test

import (
	"context"
	"testing"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
)

// streaming plays a turn in which the script stream answers in many pieces, without waiting, to a subscriber that does nothing.
func streaming(tb testing.TB, chunks int) (play func()) {
	agent, err := fakeagent.New(fakeagent.Config{Script: "stream", StreamChunks: &chunks, Instant: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = agent.Close() })
	over := make(chan bool, 1)
	agent.Subscribe(func(e event.Event) {
		if _, ok := e.Payload.(event.TurnCompleted); ok {
			over <- true
		}
	})
	if err := agent.StartSession(context.Background(), fakeagent.SessionConfig{ThreadID: "a"}); err != nil {
		tb.Fatal(err)
	}
	return func() {
		if _, err := agent.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: "a"}); err != nil {
			tb.Fatal(err)
		}
		<-over
	}
}

// BenchmarkStream tells what a piece costs.
func BenchmarkStream(b *testing.B) {
	const chunks = 100_000
	play := streaming(b, chunks)
	b.ReportAllocs()
	for b.Loop() {
		play()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunks, "ns/delta")
}

func TestStreamAllocations(t *testing.T) {
	const chunks = 10_000
	if n := testing.AllocsPerRun(10, streaming(t, chunks)) / chunks; n > 1.1 {
		t.Errorf("a piece of a message allocates %.2f times, want once", n)
	}
}
