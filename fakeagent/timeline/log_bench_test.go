package timeline_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// filled is a log in which tool call n is row n.
func filled(rows int) *timeline.Log {
	log := timeline.NewLog("epoch-1")
	for i := range rows {
		id := fmt.Sprint("t-", i+1)
		log.Append(time.Time{}, "turn-1", id, timeline.ToolCall{CallID: id, Name: "Bash", Detail: timeline.Shell{Command: "ls"}, Status: timeline.Running})
	}
	return log
}

// A reader who polls must not pay for the length of the timeline.
func BenchmarkSnapshot(b *testing.B) {
	for _, rows := range []int{10, 100_000} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			log := filled(rows)
			b.ReportAllocs()
			for b.Loop() {
				_ = log.Snapshot()
			}
		})
	}
}

// Nor must a writer whose timeline someone has just read.
func BenchmarkReplaceAfterSnapshot(b *testing.B) {
	for _, rows := range []int{10, 100_000} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			log := filled(rows)
			var done timeline.Item = timeline.ToolCall{CallID: "t-5", Name: "Bash", Detail: timeline.Shell{Command: "ls"}, Status: timeline.Completed}
			b.ReportAllocs()
			for b.Loop() {
				_ = log.Snapshot()
				log.Append(time.Time{}, "turn-1", "t-5", done)
			}
		})
	}
}
