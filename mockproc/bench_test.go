package mockproc_test

import (
	"bufio"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/mockproc"
)

const (
	initializeLine = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}` + "\n"
	newSessionLine = `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}` + "\n"
	promptLine     = `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"mock_sess_900000","prompt":[{"type":"text","text":"go"}]}}` + "\n"
)

// rawHost reads lines and looks no further than it must.
type rawHost struct {
	b     testing.TB
	m     *mockproc.Mock
	lines *bufio.Reader
}

func newRawHost(b testing.TB, m *mockproc.Mock) rawHost {
	return rawHost{b, m, bufio.NewReader(m.Stdout())}
}

// close ends the process.
func (h rawHost) close() {
	_ = h.m.Stdin().Close()
	<-h.m.Exited()
}

// say writes lines, and reads until one begins like the answer to the last.
func (h rawHost) say(lines, answer string) (read int) {
	if _, err := io.WriteString(h.m.Stdin(), lines); err != nil {
		h.b.Fatal(err)
	}
	for {
		read++
		line, err := h.lines.ReadSlice('\n')
		if err != nil {
			h.b.Fatalf("%v after %d lines:\n%s", err, read, h.m.Dump())
		}
		if strings.HasPrefix(string(line), answer) {
			return read
		}
	}
}

func (h rawHost) open() { h.say(initializeLine+newSessionLine, `{"jsonrpc":"2.0","id":1,`) }

func (h rawHost) prompt() int { return h.say(promptLine, `{"jsonrpc":"2.0","id":2,`) }

// BenchmarkTurn is one prompt of the scenario happy, without waiting, from the line with the prompt to the line with its answer.
func BenchmarkTurn(b *testing.B) {
	s, err := mockproc.Named("happy")
	if err != nil {
		b.Fatal(err)
	}
	s.AfterTurn = "stay"
	m := mockproc.Start(b, s, mockproc.WithAgent(fakeagent.Config{Instant: true}))
	host := newRawHost(b, m)
	host.open()
	b.ReportAllocs()
	for b.Loop() {
		if n := host.prompt(); n != 17 {
			b.Fatalf("%d lines, want 17", n)
		}
	}
	host.close()
}

// BenchmarkSlow is the scenario of twelve seconds, in a bubble, from the start of the process to its exit.
func BenchmarkSlow(b *testing.B) {
	s, err := mockproc.Named("slow")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		synctest.Test(new(testing.T), func(t *testing.T) {
			began := time.Now()
			m := mockproc.Start(t, s)
			host := newRawHost(b, m)
			host.open()
			host.prompt()
			<-m.Exited()
			if d := time.Since(began); d != 12*time.Second {
				b.Fatalf("it took %v, want 12s", d)
			}
		})
	}
}

// BenchmarkProcesses is what a thousand mocks take up that have all played a turn, in bytes each.
func BenchmarkProcesses(b *testing.B) {
	const many = 1000
	s, err := mockproc.Named("happy")
	if err != nil {
		b.Fatal(err)
	}
	s.AfterTurn = "stay"
	for b.Loop() {
		before := inUse()
		all := make([]*mockproc.Mock, many)
		for i := range all {
			all[i] = mockproc.Start(b, mockproc.Scenario{Name: s.Name, File: s.File}, mockproc.WithAgent(fakeagent.Config{Instant: true}))
		}
		idle := inUse()
		lines := bufio.NewReader(nil) // one for all: a host's memory is its own
		for _, m := range all {
			lines.Reset(m.Stdout())
			host := rawHost{b, m, lines}
			host.open()
			_, _ = io.WriteString(m.Stdin(), strings.ReplaceAll(promptLine, "900000", strconv.Itoa(m.PID())))
			for range 17 {
				if _, err := host.lines.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
		}
		played := inUse()
		b.ReportMetric(float64(idle-before)/many, "B/started")
		b.ReportMetric(float64(played-before)/many, "B/played")
		for _, m := range all {
			rawHost{b, m, nil}.close()
		}
	}
}

// inUse is the memory of the heap and of stacks.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
