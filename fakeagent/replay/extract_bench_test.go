package replay_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/understudy-go/understudy/e2e/stopwatch"
	"github.com/understudy-go/understudy/fakeagent/replay"
)

// longJournal has nearly that many entries, and never more, a hundred in a turn. One of our own has the events of a provider as they were, too.
func longJournal(entries int, ours bool) []byte {
	var b bytes.Buffer
	seq := 0
	as := func(string) string { return "" }
	if ours {
		b.WriteString(`{"kind":"journal","schema":1}` + "\n")
		as = func(event string) string { return `,"event":` + event }
	}
	add := func(source, kind, rest string) {
		seq++
		fmt.Fprintf(&b, `{"kind":%q,"seq":%d,"at":"2026-01-02T03:04:%02d.%03dZ","source":%q,"scope":{"dispatchId":"d1","pass":1},"pass":1%s}`+"\n",
			kind, seq, seq/1000%60, seq%1000, source, rest)
	}
	add("sandbox", "dispatch-start", "")
	for turn := 0; seq < entries-100; turn++ {
		add("agent", "prompt", fmt.Sprintf(`,"text":"Make the greeting number %d polite, and tell me what you have done."`, turn))
		for i := range 24 {
			add("agent", "text", `,"text":"Rewriting greet.txt, since that is where the words are that should be polite; then the rest."`)
			add("agent", "tool", fmt.Sprintf(`,"name":"write","input":{"path":"greet.txt","content":"good day\nand more of it\n"},"callId":"t%d"`, i)+
				as(fmt.Sprintf(`{"type":"item.started","itemId":"t%d","payload":{"itemType":"dynamic_tool_call","status":"inProgress","title":"write"}}`, i)))
			add("agent", "tool-result", fmt.Sprintf(`,"callId":"t%d","name":"write","isError":false,"preview":"ok, that is written","characters":2`, i)+
				as(fmt.Sprintf(`{"type":"item.completed","itemId":"t%d","payload":{"itemType":"dynamic_tool_call","status":"completed","title":"write"}}`, i)))
			add("agent", "usage", `,"tokens":{"input":40,"cached":10,"output":8,"cacheCreated":0}`+as(`{"type":"thread.token-usage.updated","payload":{"usage":{"usedTokens":48,"lastInputTokens":40}}}`))
		}
		add("agent", "result", `,"text":"All of it is polite."`)
		add("agent", "summary", `,"durationMs":950,"status":0,"tokens":{"input":960,"cached":240,"output":192}`)
	}
	add("sandbox", "dispatch-finished", `,"status":"done","completed":true,"branch":"demo","usage":{"input":55,"cached":15,"output":12}`)
	return b.Bytes()
}

// BenchmarkExtract reads, checks and extracts a journal of 100,000 entries and one of half that. The metrics are the time that the long one
// takes, what it takes in relation to the short one, where 2 is linear, and the heap that what was read and extracted holds, in
// relation to the size of the file.
func BenchmarkExtract(b *testing.B) {
	b.Run("source's form", func(b *testing.B) { benchmarkExtract(b, false) })
	b.Run("our own form", func(b *testing.B) { benchmarkExtract(b, true) })
}

func benchmarkExtract(b *testing.B, ours bool) {
	long, short := longJournal(100_000, ours), longJournal(50_000, ours)
	extract := func(file []byte) (*replay.Journal, *replay.Extraction) {
		j, err := replay.Read(bytes.NewReader(file))
		if err != nil {
			b.Fatal(err)
		}
		x, err := replay.Extract(j.Entries)
		if err != nil {
			b.Fatal(err)
		}
		return j, x
	}
	before := heap()
	j, x := extract(long)
	held := heap() - before
	runtime.KeepAlive(j)
	runtime.KeepAlive(x)
	var whole, half stopwatch.Stopwatch
	for b.Loop() {
		whole.Time(1, func() { extract(long) })
		half.Time(1, func() { extract(short) })
	}
	b.ReportMetric(whole.Median()/1e6, "ms/100k-entries")
	b.ReportMetric(whole.Median()/half.Median(), "100k/50k")
	b.ReportMetric(float64(held)/float64(len(long)), "heap/file")
	b.ReportMetric(float64(len(long))/100_000, "bytes/entry")
}

// heap is what lives on it.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// allocated is how many bytes f takes from the heap.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}
