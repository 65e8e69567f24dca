package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-go/understudy/e2e/stopwatch"
)

// writeLines names a file that this program writes to its stdout, a line at a time, instead of running tests.
const writeLines = "E2E_WRITE_LINES"

func TestMain(m *testing.M) {
	if path := os.Getenv(writeLines); path != "" {
		content, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		lines := bytes.SplitAfter(content, []byte("\n"))
		_, _ = os.Stdin.Read(make([]byte, 1)) // until somebody takes the time
		for _, line := range lines {
			if _, err := os.Stdout.Write(line); err != nil {
				panic(err)
			}
		}
		return
	}
	os.Exit(m.Run())
}

// A piped is a child process on two pipes.
type piped struct {
	b      *testing.B
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	errs   bytes.Buffer // what it wrote to stderr, for a failure
}

func startPiped(b *testing.B, env []string, argv ...string) *piped {
	b.Helper()
	p := &piped{b: b, cmd: exec.Command(argv[0], argv[1:]...)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = &p.errs
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	p.stdout = bufio.NewReaderSize(stdout, 64<<10)
	return p
}

// say writes to the child's stdin.
func (p *piped) say(line string) {
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		p.fail(err)
	}
}

// line is the next line that the child prints.
func (p *piped) line() string {
	line, err := p.stdout.ReadString('\n')
	if err != nil {
		p.fail(fmt.Errorf("%w after %q", err, line))
	}
	return line
}

// read takes n lines off the pipe, and keeps them if it is told where.
func (p *piped) read(n int, keep io.Writer) {
	for ; n > 0; n-- {
		line, err := p.stdout.ReadSlice('\n')
		if err != nil {
			p.fail(fmt.Errorf("%w, with %d lines to come", err, n))
		}
		if keep != nil {
			_, _ = keep.Write(line)
		}
	}
}

// fail ends the benchmark, when the child has gone, so that all that it complained about is known.
func (p *piped) fail(err error) {
	p.b.Helper()
	_ = p.stdin.Close()
	_ = p.cmd.Wait()
	p.b.Fatalf("%s: %v\n%s", p.cmd, err, &p.errs)
}

// end waits until the child is gone.
func (p *piped) end() {
	_ = p.stdin.Close()
	_, _ = io.Copy(io.Discard, p.stdout)
	if err := p.cmd.Wait(); err != nil {
		p.b.Fatalf("%s: %v\n%s", p.cmd, err, &p.errs)
	}
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`

// BenchmarkStart is the time from the start of an agent's process to its answer to initialize. It compares ours with the example agents of the Go
// SDK and of the TypeScript SDK, which do as little. All are measured in turns.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	ours, err := buildGo(dir, module+"/fakeagent/cmd/fakeagent")
	if err != nil {
		b.Fatal(err)
	}
	goExample, err := buildGo(dir, "github.com/coder/acp-go-sdk/example/agent")
	if err != nil {
		b.Fatal(err)
	}
	agents := [][]string{{ours, "acp"}, {goExample}}
	tsExample := filepath.FromSlash("clients/node_modules/acp-sdk-1.9/dist/examples/agent.js")
	if node, err := exec.LookPath("node"); err != nil {
		b.Log("without the TypeScript SDK: ", err)
	} else if _, err := os.Stat(tsExample); err != nil {
		b.Log("without the TypeScript SDK; run `npm ci` in e2e/clients: ", err)
	} else {
		agents = append(agents, []string{node, tsExample})
	}

	start := func(watch *stopwatch.Stopwatch, agent []string) {
		var p *piped
		watch.Time(1, func() {
			p = startPiped(b, nil, agent...)
			p.say(initialize)
			if answer := p.line(); !strings.Contains(answer, `"protocolVersion":1`) {
				b.Fatalf("%s did not answer initialize, but said %s", agent, answer)
			}
		})
		p.end()
	}
	watches := make([]stopwatch.Stopwatch, len(agents))
	for range 30 {
		for i, agent := range agents {
			start(&watches[i], agent)
		}
	}
	for b.Loop() {
		start(new(stopwatch.Stopwatch), agents[0])
	}
	b.ReportMetric(watches[0].Median()/1e6, "ms/start")
	for i, unit := range []string{"×GoSDK", "×TypeScriptSDK"}[:len(agents)-1] {
		b.ReportMetric(watches[0].Median()/watches[i+1].Median(), unit)
	}
}

// BenchmarkStream is a turn of 100,000 updates that go through a pipe. It compares it with another process that has the same lines ready, and writes
// them to the same kind of pipe one by one: that is the metric ×write. The two are measured in turns.
func BenchmarkStream(b *testing.B) {
	const updates = 100_000
	dir := b.TempDir()
	ours, err := buildGo(dir, module+"/fakeagent/cmd/fakeagent")
	if err != nil {
		b.Fatal(err)
	}
	script := fmt.Sprintf(`[{\"say\":{\"text\":\"%s\",\"chunks\":%d}}]`, strings.Repeat("x", updates), updates)
	stream := func(watch *stopwatch.Stopwatch, keep io.Writer) {
		p := startPiped(b, nil, ours, "acp", "--speed", "0")
		p.say(initialize)
		p.line()
		p.say(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
		_, id, _ := strings.Cut(p.line(), `"sessionId":"`)
		id, _, _ = strings.Cut(id, `"`)
		watch.Time(1, func() {
			p.say(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"` + id + `","prompt":[{"type":"text","text":"` + script + `"}]}}`)
			p.read(updates+1, keep) // and the answer
		})
		p.end()
	}

	// What ours writes is what the other one has ready.
	var lines bytes.Buffer
	stream(new(stopwatch.Stopwatch), &lines)
	all := lines.String()
	end := all[strings.LastIndexByte(strings.TrimSpace(all), '\n')+1:]
	if n := strings.Count(all, `"agent_message_chunk"`); n != updates || !strings.Contains(end, `"end_turn"`) {
		b.Fatalf("the turn has %d updates, and ends with %s", n, end)
	}
	file := filepath.Join(dir, "lines")
	if err := os.WriteFile(file, lines.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	write := func(watch *stopwatch.Stopwatch) {
		p := startPiped(b, []string{writeLines + "=" + file}, self)
		watch.Time(1, func() {
			p.say("")
			p.read(updates+1, nil)
		})
		p.end()
	}

	var us, them stopwatch.Stopwatch
	for range 15 {
		write(&them)
		stream(&us, nil)
	}
	for b.Loop() {
		stream(new(stopwatch.Stopwatch), nil)
	}
	b.ReportMetric(us.Median()/updates, "ns/update")
	b.ReportMetric(us.Median()/them.Median(), "×write")
}
