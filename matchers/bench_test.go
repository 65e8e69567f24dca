package matchers_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/understudy-go/understudy/e2e/stopwatch"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

// aTurn are n items as turns have them, new ones at each call: equal strings are not the same bytes.
func aTurn(n int) timeline.Items {
	items := make(timeline.Items, n)
	for i := range items {
		id := fmt.Sprint("t-1-", i)
		switch i % 5 {
		case 0:
			items[i] = timeline.Reasoning{Text: "look at number " + id}
		case 1:
			items[i] = timeline.ToolCall{CallID: id, Name: "Write", Status: timeline.Completed,
				Detail: timeline.Write{FilePath: "/repo/" + id, Content: "export const a = 1;\n"}}
		case 2:
			items[i] = timeline.ToolCall{CallID: id, Name: "Bash", Status: timeline.Failed, Error: "exit code 1",
				Detail: timeline.Shell{Command: "test " + id, Output: "1 failed", ExitCode: timeline.Exited(1)}}
		case 3:
			items[i] = timeline.ToolCall{CallID: id, Name: "mcp__files__read", Status: timeline.Completed,
				Detail: timeline.Unknown{Input: []byte(`{"path":"` + id + `"}`), Output: []byte(`{"ok":true}`)}}
		default:
			items[i] = timeline.AssistantMessage{Text: "that was number " + id, MessageID: id}
		}
	}
	return items
}

// matchersFor are what a test would write for aTurn.
func matchersFor(items timeline.Items) (want []any) {
	for _, it := range items {
		switch it := it.(type) {
		case timeline.Reasoning:
			want = append(want, BeReasoning(it.Text))
		case timeline.AssistantMessage:
			want = append(want, BeAssistantMessage(it.Text))
		case timeline.ToolCall:
			switch d := it.Detail.(type) {
			case timeline.Shell:
				want = append(want, BeShellCall(d.Command, WithStatus(it.Status), WithExitCode(1)))
			case timeline.Write:
				want = append(want, BeWriteCall(it.CallID))
			default:
				want = append(want, BeToolCall(it.Name, WithStatus(it.Status)))
			}
		}
	}
	return want
}

// BenchmarkHaveItems compares a match of 1,000 items with reflect.DeepEqual on them, which is the metric ×DeepEqual. The two are measured in
// turns.
func BenchmarkHaveItems(b *testing.B) {
	got, equal := aTurn(1_000), aTurn(1_000)
	for name, m := range map[string]Matcher{"matchers": HaveItems(matchersFor(got)...), "items": HaveItems(anys(aTurn(1_000))...)} {
		b.Run(name, func(b *testing.B) {
			ours := func() {
				if !m.Matches(got) {
					b.Fatal(m.FailureMessage(got))
				}
			}
			theirs := func() {
				if !reflect.DeepEqual(got, equal) {
					b.Fatal("not equal")
				}
			}
			const batch = 10
			var us, them stopwatch.Stopwatch
			for range 100 {
				them.Time(batch, theirs)
				us.Time(batch, ours)
			}
			b.ReportAllocs()
			for b.Loop() {
				ours()
			}
			b.ReportMetric(us.Median()/them.Median(), "×DeepEqual")
		})
	}
}

// BenchmarkFailureMessage tells what it takes to find that 10,000 items, rows or events are not as they should be, and to say so, and how long
// the message is.
func BenchmarkFailureMessage(b *testing.B) {
	got, want := aTurn(10_000), aTurn(10_000)
	want[7_000] = timeline.AssistantMessage{Text: "something else"}
	run, rows := turn(completed, got...), stored(got...)
	events := make([]event.Event, len(got))
	for i := range events {
		events[i] = event.Event{ThreadID: "a", TurnID: "T1", Payload: event.Delta{Stream: event.AssistantText, Text: fmt.Sprint("piece ", i)}}
	}
	for _, x := range []struct {
		name   string
		actual any
		m      Matcher
	}{
		{"HaveItems", run, HaveItems(anys(want)...)},
		{"ContainItems", run, ContainItems(anys(want)...)},
		{"HaveToolCall", run, HaveToolCall("Bash", WithExitCode(0))},
		{"HaveNoFailedToolCalls", run, HaveNoFailedToolCalls()},
		{"HaveRow", rows, HaveRow(timeline.AssistantMessage{Text: "something else"})},
		{"BeWellFormed", rows, BeWellFormed()},
		{"EmitEvents", events, EmitEvents(event.Delta{Text: "something else"}, "turn.completed")},
	} {
		b.Run(x.name, func(b *testing.B) {
			length := 0
			for b.Loop() {
				if x.m.Matches(x.actual) {
					b.Fatal("it matches")
				}
				length = len(x.m.FailureMessage(x.actual))
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/message")
			b.ReportMetric(float64(length), "bytes")
		})
	}
}
