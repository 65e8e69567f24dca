package bubble_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/understudy-go/understudy/e2e/stopwatch"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// twelve is a turn of twelve steps with a pause before each.
func twelve(pause time.Duration) script.Script {
	s := script.Script{StepDelay: pause}
	for range 12 {
		s.Steps = append(s.Steps, script.Say("a step"))
	}
	return s
}

// BenchmarkTest compares a bubble in which a host plays a turn of twelve seconds with the sum of the same turn without pauses, outside, and
// a bare bubble that sleeps twelve times, which is the metric ×parts. They are measured in turns.
func BenchmarkTest(b *testing.B) {
	paused, instant := twelve(time.Second), twelve(0)
	withT(b, func(t *testing.T) {
		ours := func() {
			bubble.Test(t, func(t *testing.T) { timelinekit.NewHost(t).RunFakeAgentTurn(t.Context(), paused) })
		}
		turn := func() {
			r := &cleanups{T: t}
			timelinekit.NewHost(r).RunFakeAgentTurn(context.Background(), instant)
			r.run()
		}
		sleeps := func() {
			synctest.Test(t, func(*testing.T) {
				for range 12 {
					time.Sleep(time.Second)
				}
			})
		}
		const batch = 20
		var whole, part1, part2 stopwatch.Stopwatch
		for range 100 {
			part1.Time(batch, turn)
			part2.Time(batch, sleeps)
			whole.Time(batch, ours)
		}
		b.ReportAllocs()
		for b.Loop() {
			ours()
		}
		b.ReportMetric(whole.Median()/(part1.Median()+part2.Median()), "×parts")
	})
}

// BenchmarkEmpty compares an empty bubble with one of synctest alone, which is the metric ×synctest.
func BenchmarkEmpty(b *testing.B) {
	withT(b, func(t *testing.T) {
		nothing := func(*testing.T) {}
		const batch = 50
		var ours, theirs stopwatch.Stopwatch
		for range 100 {
			theirs.Time(batch, func() { synctest.Test(t, nothing) })
			ours.Time(batch, func() { bubble.Test(t, nothing) })
		}
		b.ReportAllocs()
		for b.Loop() {
			bubble.Test(t, nothing)
		}
		b.ReportMetric(ours.Median()/theirs.Median(), "×synctest")
	})
}

const specs = 1000

var _ = play("a thousand specs", func() {
	entries := func(args ...any) (out []any) {
		for range specs {
			out = append(out, Entry(nil, args...))
		}
		return out
	}
	DescribeTable("with a turn", append([]any{bubble.InBubble, func(ctx SpecContext) {
		timelinekit.NewHost(GinkgoT()).RunFakeAgentTurn(ctx, twelve(time.Second))
	}}, entries()...)...)
	DescribeTable("empty", append([]any{bubble.InBubble, func() {}}, entries()...)...)
	DescribeTable("outside", append([]any{func() {}}, entries()...)...)
})

// BenchmarkSpecs tells what a Ginkgo spec costs that makes a host and runs a turn of twelve seconds, what an empty one costs in a bubble,
// and what an empty one costs outside. Another process runs a thousand of each.
func BenchmarkSpecs(b *testing.B) {
	took := map[string][]float64{}
	for b.Loop() {
		p := stagePlay(b.TempDir(), "a thousand specs")
		if p.err != nil {
			b.Fatal(p.err, p.output)
		}
		first, last := map[string]time.Time{}, map[string]time.Time{}
		for _, r := range p.report.SpecReports {
			if r.State.String() == "passed" {
				kind := r.ContainerHierarchyTexts[len(r.ContainerHierarchyTexts)-1]
				if first[kind].IsZero() {
					first[kind] = r.StartTime
				}
				last[kind] = r.EndTime
			}
		}
		for kind := range first {
			took[kind] = append(took[kind], float64(last[kind].Sub(first[kind]))/specs)
		}
	}
	for kind, unit := range map[string]string{"with a turn": "ns/turn-spec", "empty": "ns/empty-spec", "outside": "ns/outside-spec"} {
		slices.Sort(took[kind])
		b.ReportMetric(took[kind][len(took[kind])/2], unit)
	}
}

// withT runs f with a *testing.T, which a benchmark has not.
func withT(b *testing.B, f func(*testing.T)) {
	all := func(string, string) (bool, error) { return true, nil }
	if !testing.RunTests(all, []testing.InternalTest{{Name: b.Name(), F: f}}) {
		b.Fatal("the test that was measured has failed")
	}
}

// cleanups is a test whose cleanups are run when that is wanted.
type cleanups struct {
	*testing.T
	fs []func()
}

func (c *cleanups) Cleanup(f func()) { c.fs = append(c.fs, f) }

func (c *cleanups) run() {
	for _, f := range slices.Backward(c.fs) {
		f()
	}
}
