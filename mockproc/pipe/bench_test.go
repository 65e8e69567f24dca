package pipe_test

import (
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/understudy-go/understudy/e2e/stopwatch"
	"github.com/understudy-go/understudy/mockproc/pipe"
)

// line is one of the protocols that processes speak.
var line = []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk"}}}` + "\n")

// kinds are the pipes to compare.
var kinds = []struct {
	name string
	make func(tb testing.TB) (io.ReadCloser, io.WriteCloser)
}{
	{"ours", func(testing.TB) (io.ReadCloser, io.WriteCloser) { return pipe.New(pipe.OSSize) }},
	{"io", func(testing.TB) (io.ReadCloser, io.WriteCloser) { return io.Pipe() }},
	{"os", func(tb testing.TB) (io.ReadCloser, io.WriteCloser) {
		r, w, err := os.Pipe()
		if err != nil {
			tb.Fatal(err)
		}
		return r, w
	}},
}

// BenchmarkLine sends a line to another goroutine, and waits until it has come back.
func BenchmarkLine(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind.name, func(b *testing.B) {
			r1, w1 := kind.make(b)
			r2, w2 := kind.make(b)
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, _ = io.CopyBuffer(struct{ io.Writer }{w2}, struct{ io.Reader }{r1}, make([]byte, 4<<10))
			}()
			buf := make([]byte, len(line))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w1.Write(line); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(r2, buf); err != nil {
					b.Fatal(err)
				}
			}
			w1.Close()
			<-over
			r1.Close()
			w2.Close()
			r2.Close()
		})
	}
}

// BenchmarkThrough writes a line and reads it, on one goroutine.
func BenchmarkThrough(b *testing.B) {
	for _, kind := range kinds {
		if kind.name == "io" {
			continue // it holds nothing
		}
		b.Run(kind.name, func(b *testing.B) {
			r, w := kind.make(b)
			buf := make([]byte, 4<<10)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Write(line); err != nil {
					b.Fatal(err)
				}
				if _, err := r.Read(buf); err != nil {
					b.Fatal(err)
				}
			}
			w.Close()
			r.Close()
		})
	}
}

// BenchmarkBulk copies 64 KiB at a time from goroutine to goroutine.
func BenchmarkBulk(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind.name, func(b *testing.B) {
			r, w := kind.make(b)
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, 32<<10))
			}()
			block := make([]byte, 64<<10)
			b.SetBytes(int64(len(block)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Write(block); err != nil {
					b.Fatal(err)
				}
			}
			w.Close()
			<-over
			r.Close()
		})
	}
}

// BenchmarkSmallReads reads a pipe that holds a lot, 16 bytes at a time. The metric ×empty compares that with one that holds little.
func BenchmarkSmallReads(b *testing.B) {
	r, w := pipe.New(0)
	small, smallW := pipe.New(0)
	buf := make([]byte, 16)
	_, _ = w.Write(make([]byte, 16<<20))
	_, _ = smallW.Write(make([]byte, 16))
	pass := func(r *pipe.Reader, w *pipe.Writer) func() {
		return func() {
			_, _ = w.Write(buf)
			_, _ = r.Read(buf)
		}
	}
	full, little := pass(r, w), pass(small, smallW)
	var ours, theirs stopwatch.Stopwatch
	for range 100 {
		ours.Time(1000, full)
		theirs.Time(1000, little)
	}
	for b.Loop() {
		full()
	}
	b.ReportMetric(ours.Median()/theirs.Median(), "×empty")
}

// BenchmarkIdle tells how many bytes of memory a pipe takes that has never been used, one through which a line has gone, and one through which
// 10 kB have gone.
func BenchmarkIdle(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(idle(0), "B/unused")
		b.ReportMetric(idle(len(line)), "B/line")
		b.ReportMetric(idle(10_000), "B/10kB")
	}
}

// idle is how many bytes of memory a pipe takes when so many have gone through it.
func idle(used int) float64 {
	const many = 1000
	pipes := make([]*pipe.Reader, many)
	message := make([]byte, used)
	defer runtime.KeepAlive(pipes)
	defer runtime.KeepAlive(message)
	return grows(func() {
		for i := range pipes {
			r, w := pipe.New(0)
			_, _ = w.Write(message)
			_, _ = io.ReadFull(r, message)
			pipes[i] = r
		}
	}) / many
}

// grows is how many bytes more of memory are in use when f has returned.
func grows(f func()) float64 {
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what a pool has held on to
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := heap()
	f()
	return heap() - before
}
