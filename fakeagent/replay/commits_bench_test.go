package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/understudy-go/understudy/e2e/stopwatch"
	"github.com/understudy-go/understudy/fakeagent/replay"
)

// BenchmarkCommits plays a turn with commits in a copy of a small repository. The metrics are what one commit takes, and how many processes of
// git it has, with those of the turn shared out among its commits.
func BenchmarkCommits(b *testing.B) {
	for _, commits := range []int{1, 10} {
		b.Run(fmt.Sprint(commits), func(b *testing.B) {
			r := greetingRepo(b)
			for i := range 50 {
				r.write(fmt.Sprintf("dir%d/file%d", i%5, i), fmt.Sprintf("file %d\n", i))
			}
			base := r.commit("More files\n")
			clean := filepath.Join(b.TempDir(), "clean")
			if err := os.CopyFS(clean, os.DirFS(r.dir)); err != nil {
				b.Fatal(err)
			}
			for i := range commits {
				r.commitFile(fmt.Sprintf("dir%d/file%d", i%5, i), fmt.Sprintf("changed in commit %d\n", i))
			}
			changes := r.recorded(base)
			text, err := json.Marshal(changes)
			if err != nil {
				b.Fatal(err)
			}
			journal := []replay.Entry{replay.Entry(`{"kind":"prompt","source":"agent","text":"go"}`),
				replay.Entry(`{"kind":"summary","source":"agent","durationMs":1,"status":0,"tokens":{"input":0,"cached":0,"output":0}}`),
				replay.Entry(`{"kind":"workspace-commits","source":"git",` + string(text[1:])), replay.Entry(dispatchFinished)}
			var turn stopwatch.Stopwatch
			processes := 0
			for n := 0; b.Loop(); n++ {
				w := r.at(filepath.Join(b.TempDir(), fmt.Sprint(n)))
				w.runner = &gitRunner{env: r.runner.env}
				if err := os.CopyFS(w.dir, os.DirFS(clean)); err != nil {
					b.Fatal(err)
				}
				a, err := replay.New(journal, replay.WithRunner(w.runner))
				if err != nil {
					b.Fatal(err)
				}
				turn.Time(1, func() {
					if _, err := a.Play(context.Background(), replay.Request{Prompt: "go", Cwd: w.dir}); err != nil {
						b.Fatal(err)
					}
				})
				_, processes = a.Close(), len(w.runner.commands())
				if w.head() != r.head() {
					b.Fatalf("HEAD is %s", w.head())
				}
			}
			b.ReportMetric(turn.Median()/1e6/float64(commits), "ms/commit")
			b.ReportMetric(float64(processes)/float64(commits), "processes/commit")
		})
	}
}
