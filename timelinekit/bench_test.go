package timelinekit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/understudy-go/understudy/e2e/stopwatch"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/timelinekit"
)

// tenItems is a turn without input or output.
const tenItems = `{"steps":[
	{"think":"look around first"},
	{"say":"I start with the tests"},
	{"bash":{"command":"npm test","output":"1 failed","exitCode":1}},
	{"tool":{"name":"Read","input":{"path":"src/a.ts"},"output":"export const a = 1;"}},
	{"plan":[{"text":"fix it","status":"in_progress"},{"text":"test it"}]},
	{"think":"one is wrong"},
	{"bash":{"command":"sed -i s/1/2/ src/a.ts"}},
	{"bash":{"command":"npm test","output":"ok"}},
	{"plan":[{"text":"fix it","status":"completed"},{"text":"test it","status":"completed"}]},
	{"say":"a is 2 now"}]}`

// plainStep is a step as a program would declare it that only wants to read it.
type plainStep struct {
	Think *string `json:"think,omitempty"`
	Say   *string `json:"say,omitempty"`
	Bash  *struct {
		Command, Output string
		ExitCode        int
	} `json:"bash,omitempty"`
	Tool *struct {
		Name          string
		Input, Output any
	} `json:"tool,omitempty"`
	Plan []struct{ Text, Status string } `json:"plan,omitempty"`
}

// plainItem is an item as a program would declare it that only wants to write it.
type plainItem struct {
	Type      string         `json:"type"`
	Text      string         `json:"text,omitempty"`
	MessageID string         `json:"messageId,omitempty"`
	CallID    string         `json:"callId,omitempty"`
	Name      string         `json:"name,omitempty"`
	Detail    map[string]any `json:"detail,omitempty"`
	Items     []any          `json:"items,omitempty"`
	Status    string         `json:"status,omitempty"`
	Error     any            `json:"error,omitempty"`
}

// BenchmarkTurn compares a turn of ten items, from prompt text to timeline, with decoding its script and encoding its items once by
// encoding/json, which is the metric ×json. The two are measured in turns.
func BenchmarkTurn(b *testing.B) {
	ctx := context.Background()
	host := timelinekit.NewHost(b)
	run := host.RunPrompt(ctx, tenItems)
	if n := len(run.Items()); n != 10 {
		b.Fatalf("the turn has %d items, want 10:\n%s", n, run)
	}
	encoded, err := json.Marshal(run.Items())
	if err != nil {
		b.Fatal(err)
	}
	var items []plainItem
	if err := json.Unmarshal(encoded, &items); err != nil {
		b.Fatal(err)
	}
	floor := func() {
		var s struct{ Steps []plainStep }
		if err := json.Unmarshal([]byte(tenItems), &s); err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(items); err != nil {
			b.Fatal(err)
		}
	}
	const batch = 50
	var ours, theirs stopwatch.Stopwatch
	for range 100 {
		theirs.Time(batch, floor)
		ours.Time(batch, func() { host.SendPrompt(ctx, run.AgentID, tenItems) })
	}
	b.ReportAllocs()
	for b.Loop() {
		host.SendPrompt(ctx, run.AgentID, tenItems)
	}
	b.ReportMetric(ours.Median()/theirs.Median(), "×json")
}

// BenchmarkTurnsOfOneAgent shows that a turn costs the same after many others.
func BenchmarkTurnsOfOneAgent(b *testing.B) {
	ctx := context.Background()
	for _, before := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("after=%d", before), func(b *testing.B) {
			host := timelinekit.NewHost(b)
			id := host.RunPrompt(ctx, tenItems).AgentID
			for range before {
				host.SendPrompt(ctx, id, tenItems)
			}
			b.ReportAllocs()
			for b.Loop() {
				host.SendPrompt(ctx, id, tenItems)
			}
		})
	}
}

// BenchmarkAgentTimeline shows that a snapshot costs the same at any length.
func BenchmarkAgentTimeline(b *testing.B) {
	ctx := context.Background()
	for _, rows := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			host := timelinekit.NewHost(b)
			s := script.New()
			for len(s.Steps) < rows/2 {
				s.Steps = append(s.Steps, script.Bash("ls", "", 0))
			}
			run := host.RunFakeAgentTurn(ctx, s)
			if n := len(host.AgentRows(run.AgentID)); n < rows {
				b.Fatalf("%d rows, want %d", n, rows)
			}
			b.ReportAllocs()
			var tl timeline.Timeline
			for b.Loop() {
				tl = host.AgentTimeline(run.AgentID)
			}
			if tl.Len() != 1+rows/2 {
				b.Fatal(tl.Len())
			}
		})
	}
}

// BenchmarkAgents tells how much memory an agent holds, before its first turn and after one of ten items.
func BenchmarkAgents(b *testing.B) {
	ctx := context.Background()
	const agents = 10_000
	for b.Loop() {
		host := timelinekit.NewHost(b)
		before := heap()
		ids := make([]string, agents)
		for i := range ids {
			id, err := host.CreateAgent(ctx)
			if err != nil {
				b.Fatal(err)
			}
			ids[i] = id
		}
		idle := heap()
		for _, id := range ids {
			host.SendPrompt(ctx, id, tenItems)
		}
		after := heap()
		b.ReportMetric(float64(idle-before)/agents, "B/idle")
		b.ReportMetric(float64(after-before)/agents, "B/after-turn")
		runtime.KeepAlive(host)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// BenchmarkHooks tells what the end of a turn costs for each of 100 plugins that have a hook for it, on a timeline of 10,000 rows. ×short
// compares it with a short timeline; the two are measured in turns.
func BenchmarkHooks(b *testing.B) {
	ctx := context.Background()
	const plugins = 100
	host := timelinekit.NewHost(b)
	for i := range plugins {
		if _, err := host.Use(timelinekit.NewPlugin(fmt.Sprint("p", i), timelinekit.On(func(context.Context, timelinekit.TurnEnded) error { return nil }))); err != nil {
			b.Fatal(err)
		}
	}
	s := script.New()
	for len(s.Steps) < 5_000 {
		s.Steps = append(s.Steps, script.Bash("ls", "", 0))
	}
	long := host.RunFakeAgentTurn(ctx, s).AgentID
	turn := func(id string) func() {
		return func() {
			host.SendPrompt(ctx, id, "x")
			if err := host.HooksSettled(ctx); err != nil {
				b.Fatal(err)
			}
		}
	}
	const batch = 10
	var onLong, onShort stopwatch.Stopwatch
	for range 50 {
		short, err := host.CreateAgent(ctx)
		if err != nil {
			b.Fatal(err)
		}
		onShort.Time(batch, turn(short))
		onLong.Time(batch, turn(long))
	}
	b.ReportAllocs()
	for b.Loop() {
		turn(long)()
	}
	b.ReportMetric(onLong.Median()/onShort.Median(), "×short")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/plugins, "ns/hook")
}
