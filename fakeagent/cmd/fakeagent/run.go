package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/timelinekit"
)

type runCommand struct {
	Cwd        folder   `placeholder:"DIR" default:"." help:"Where the agent works; here by default."`
	JSON       bool     `name:"json" help:"Print canonical timeline items, one a line."`
	Speed      speed    `placeholder:"F" default:"1" help:"0 does not wait, 1 is real time, 10 ten times as fast."`
	AllowShell bool     `help:"Let bash steps with run start real processes."`
	MCP        []server `name:"mcp" sep:"none" placeholder:"NAME=URL or CMD" help:"An MCP server of the session; may be given several times."`
	Verbose    bool     `help:"Say why a tool call failed, as on a terminal."`
	Prompts    []string `arg:"" name:"prompt" help:"A script as JSON, or any text; behind -- if it begins with -."`
}

func (*runCommand) Help() string {
	return "A prompt that carries no script plays the next turn of .fake-agent.json, if the folder has one. " +
		"Approvals are accepted, and questions get their first options. The exit code is that of the worst turn: 0 completed, 1 failed, 130 canceled."
}

// folder is one that exists.
type folder string

func (f *folder) Decode(ctx *kong.DecodeContext) error {
	value, err := valueOf(ctx)
	if err != nil {
		return err
	}
	if info, err := os.Stat(value); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %q; create it first", value)
	}
	*f = folder(value)
	return nil
}

// speed is how many times as fast as real time; 0 does not wait.
type speed float64

func (s *speed) Decode(ctx *kong.DecodeContext) error {
	value, err := valueOf(ctx)
	if err != nil {
		return err
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%q is no speed; use 0 to play without waiting, 1 for real time, 10 for ten times as fast", value)
	}
	*s = speed(v)
	return nil
}

// server is an MCP server: a name and a URL, or a name and a command line, which is divided at white space.
type server struct{ fakeagent.MCPServer }

func (m *server) Decode(ctx *kong.DecodeContext) error {
	value, err := valueOf(ctx)
	if err != nil {
		return err
	}
	name, rest, _ := strings.Cut(value, "=")
	words := strings.Fields(rest)
	if name = strings.TrimSpace(name); name == "" || len(words) == 0 {
		return errors.New("an MCP server is given as NAME=URL or NAME=CMD")
	}
	m.Name = name
	if strings.HasPrefix(rest, "http://") || strings.HasPrefix(rest, "https://") {
		m.URL = rest
	} else {
		m.Command, m.Args = words[0], words[1:]
	}
	return nil
}

// valueOf is the value of a flag, also one that begins with a hyphen: for -1 there is a better answer than that it is no flag.
func valueOf(ctx *kong.DecodeContext) (string, error) {
	token := ctx.Scan.Pop()
	if token.IsEOL() {
		return "", errors.New("the value is missing")
	}
	return token.String(), nil
}

func (r *runCommand) run(ctx context.Context, c console) (code int) {
	ctx, stop := untilInterrupted(ctx)
	defer stop()

	t := &stage{console: c}
	defer t.close(&code)

	cfg := fakeagent.Scripted()
	cfg.MCP = mcpcall.New()
	cfg.AllowShell, cfg.Speed, cfg.Instant = r.AllowShell, float64(r.Speed), r.Speed == 0
	agent := fakeagent.NewT(t, cfg)
	host := timelinekit.NewHost(t, timelinekit.WithProvider("fake-agent", agent))
	out := &printer{out: c.out, json: r.JSON, terminal: c.terminal && !r.JSON, reasons: c.terminal || r.Verbose}
	agent.Subscribe(func(e event.Event) { // after the host, whose timeline has the event already
		_, over := e.Payload.(event.TurnCompleted)
		out.update(host.AgentTimeline(e.ThreadID), over)
		var err error
		switch asked := e.Payload.(type) {
		case event.RequestOpened:
			err = host.Respond(context.Background(), e.ThreadID, e.RequestID, accept.to(asked))
		case event.UserInputRequested:
			if asked.ResponseMode == "" { // else nobody waits
				err = host.Answer(context.Background(), e.ThreadID, e.RequestID, event.FirstOptions(asked.Questions))
			}
		}
		if err != nil {
			t.Errorf("%v", err)
		}
	})
	var servers []fakeagent.MCPServer
	for _, m := range r.MCP {
		servers = append(servers, m.MCPServer)
	}
	id, err := host.CreateAgent(context.Background(), timelinekit.Cwd(string(r.Cwd)), timelinekit.MCPServers(servers...))
	if err != nil {
		t.Errorf("%v", err)
		return exitFailed
	}
	if out.terminal {
		defer every(100*time.Millisecond, func() {
			if th, err := agent.ReadThread(context.Background(), id); err == nil {
				out.wait(th.Doing)
			}
		})()
	}
	for _, prompt := range r.Prompts {
		if ctx.Err() != nil {
			code = exitCanceled
			break
		}
		code = max(code, play(ctx, t, host, id, prompt))
	}
	if out.failed != nil {
		t.Errorf("fakeagent: the output could not be written: %v", out.failed)
	}
	return code
}

// untilInterrupted ends at the first signal. A second one ends the process at once.
func untilInterrupted(ctx context.Context) (_ context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(ctx, interrupts()...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// interrupts are the signals that end a turn. A hangup is one because a command of the script has a process group of its own, and would
// outlive the terminal; nohup sees to it that it is none.
func interrupts() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// play runs one turn and returns its exit code.
func play(ctx context.Context, t *stage, host *timelinekit.Host, agentID, prompt string) int {
	turn, err := host.SendTurn(context.Background(), agentID, prompt)
	if err != nil {
		t.Errorf("%v", err)
		return exitFailed
	}
	defer context.AfterFunc(ctx, func() { _ = turn.Interrupt(context.Background()) })()
	<-turn.Done()
	switch turn.Wait(ctx).Ending.Kind {
	case timeline.Canceled:
		return exitCanceled
	case timeline.Failed:
		return exitFailed
	}
	return exitOK
}

// every calls fn again and again, until the caller stops it.
func every(d time.Duration, fn func()) (stop func()) {
	tick, quit, over := time.NewTicker(d), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-tick.C:
				fn()
			case <-quit:
				return
			}
		}
	}()
	return func() {
		tick.Stop()
		close(quit)
		<-over
	}
}

// stage is the test that a host wants to have, where there is none.
type stage struct {
	console
	cleanup []func()

	mu     sync.Mutex // since turns may run side by side
	failed bool
}

func (*stage) Helper()             {}
func (s *stage) Cleanup(fn func()) { s.cleanup = append(s.cleanup, fn) }

func (s *stage) Errorf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = true
	s.complain(format, args...)
}

// Fatalf must not return.
func (s *stage) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	panic(s)
}

// close is what happens at a test's end. What went wrong besides the turns counts as a failed one.
func (s *stage) close(code *int) {
	if r := recover(); r != nil && r != any(s) {
		panic(r)
	}
	for _, fn := range slices.Backward(s.cleanup) {
		fn()
	}
	if s.failed {
		*code = max(*code, exitFailed)
	}
}
