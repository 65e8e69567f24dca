package fakeagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/usagefake"
)

// Config says which agent an [Instance] plays. The zero value is the agent named plain.
type Config struct {
	// Script names what the turns play: "plain", the default, which answers every prompt with one short message, or "steps",
	// which plays the script that the prompt carries (see [Scripted]).
	Script string

	// Choose picks what a turn plays, instead of Script. It is called on the turn's goroutine, after turn.started. An error fails
	// the turn; a [script.Error] does so as a script that does not parse. A script is held to the same rules as one in JSON, and must
	// not be changed once it was returned. [FromFile] makes one.
	Choose func(Input) (script.Script, error)

	// AllowShell lets bash steps with run start real processes. Where it is false they fail the turn.
	AllowShell bool

	// Instant plays without any scripted wait. Timeouts and holds stay as they are.
	Instant bool

	// Speed divides every scripted wait; 0 is 1. 10 is ten times as fast. It does not touch timeouts and holds.
	Speed float64

	// Seed varies what a script leaves open: where a text that is sent in chunks is cut and, by up to a tenth, how long a scripted wait
	// takes. The same turn of the same thread varies in the same way each time; another seed has another way. 0 varies nothing.
	Seed uint64

	// DoorSteps are keys of steps that only some doors can play: stderr and raw. They become events, and whoever sets this subscribes
	// and does what they say. Without it such a step fails the turn.
	DoorSteps []string

	// UsageScript is what kind of account the agent has; "" is available. See [Instance.Usage].
	UsageScript usagefake.Script

	// Now is the clock of Usage: its quota resets by it, and its token usage ends today. nil is time.Now.
	Now func() time.Time

	// Files does the reading and writing of write and edit steps, and of .fake-agent.json; nil is [OSFiles].
	Files Files

	// Shell runs bash steps with run; nil is [OSShell], if AllowShell is set. A Shell of one's own needs no AllowShell.
	Shell Shell

	// MCP calls the tools of MCP servers. Where it is nil every mcp step is a failed tool call; mcpcall.New makes one.
	MCP MCP

	// Spawn sees every child process before it starts, and may change it. An error keeps it from starting and fails the step.
	Spawn func(*exec.Cmd) error

	// Logger gets what happens at debug level; nil discards it. Nothing is ever written to stdout or stderr.
	Logger *slog.Logger
}

// Scripted is the agent that plays the script a prompt carries. For every prompt, in this order:
//
//  1. The body of the prompt's fenced block whose language is fake-agent is the script.
//  2. A prompt that begins with a brace or a bracket is the script.
//  3. The agent's cwd has a .fake-agent.json: a [script.File] picks the script of turn N.
//  4. Else the agent answers "fake-agent received: " and the prompt.
//
// A script that does not parse fails the turn, and nothing of it runs.
func Scripted() Config { return Config{Script: "steps"} }

// Input is a turn that wants a script.
type Input struct {
	ThreadID    string
	Cwd         string
	Prompt      string
	Attachments []Attachment // of the prompt
	Turn        int          // the agent's Nth turn, from 1
	Attempt     int          // the Nth time that this agent got this very prompt, from 1
}

// role is what an instance calls itself, and where its scripts come from.
type role struct {
	probe  Probe
	choose func(*thread, Input) (script.Script, error)
}

func (cfg Config) role() (role, error) {
	plain := role{
		Probe{"fake", "Fake", []Model{{ID: "fake", Label: "Fake", Default: true}, {ID: "fake-large", Label: "Fake large"}}},
		func(*thread, Input) (script.Script, error) { return script.New(script.Say("fake turn complete")), nil },
	}
	steps := role{
		Probe{"fake-agent", "Fake agent", []Model{{ID: "scripted", Label: "Scripted", Default: true}}},
		(*thread).scriptFor,
	}
	var r role
	switch cfg.Script {
	case "", "plain":
		r = plain
	case "steps":
		r = steps
	default:
		return role{}, fmt.Errorf("fakeagent: unknown script %q; use plain or steps", cfg.Script)
	}
	if cfg.Choose != nil {
		r.choose = func(_ *thread, in Input) (script.Script, error) {
			s, err := cfg.Choose(in)
			if err != nil && !errors.As(err, new(*script.Error)) {
				err = &failure{message: "fake-agent: no script was chosen: " + err.Error()}
			}
			return s, err
		}
	}
	return r, nil
}

// T is what the kit needs of a test: *testing.T, testing.TB, Ginkgo's GinkgoT() and rapid's T all have it.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// NewT is [New] for a test: it closes the instance at the test's end and then reports every violation, in one message.
func NewT(t T, cfg Config) *Instance {
	t.Helper()
	in, err := New(cfg)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		t.Helper()
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			_ = in.Close()
		}()
		select {
		case <-closed:
		case <-time.After(closeLimit):
			in.violate("it has not ended within %v; does a subscriber not return? The turn waits for it\n%s", closeLimit, in.Dump())
		}
		if v := in.Violations(); len(v) > 0 {
			t.Errorf("fakeagent: at the end of the test:\n  %s", strings.Join(v, "\n  "))
		}
	})
	return in
}

// closeLimit is how long NewT waits at the test's end.
const closeLimit = 10 * time.Second

// Files reads and writes for the agent. path is relative to the session's Cwd, with slashes, and names nothing outside of it; that
// no link leads out is up to the implementation. A file that does not exist is fs.ErrNotExist.
type Files interface {
	ReadFile(ctx context.Context, s SessionConfig, path string) ([]byte, error)
	// WriteFile makes the folders that it needs. A link in the place of the file is followed or, by default, replaced.
	WriteFile(ctx context.Context, s SessionConfig, path string, data []byte, follow bool) error
}

// Shell runs a command line in the session's Cwd, with its Env, and returns when it and all that it started are gone. When ctx
// ends it kills them. The error is for a command that could not be run at all.
type Shell interface {
	Run(ctx context.Context, s SessionConfig, command string) (ShellResult, error)
}

// ShellResult is how a command ended.
type ShellResult struct {
	Output   string // stdout and stderr as they came
	ExitCode int
	Signal   string // the name of the signal that ended it, such as "SIGKILL"; then there is no exit code
}
