package fakeagent

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent/playbook"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/usagefake"
)

// Config says which agent an [Instance] plays. The zero value is the agent named plain.
//
// It decodes from JSON, strictly, with the names of its fields in lower camel case: those of numbers, texts, flags and lists. See [ConfigSchema].
type Config struct {
	// Script is what the turns play, by its name. "" is plain.
	//
	//	plain           answers ReplyText
	//	approval-tool   asks for two approvals, one after the other or, with OpenBothApprovals, both at once; then as plain
	//	async-question  asks something on a thread's first turn, which does not wait: the answer is the next prompt; then as plain
	//	stream          answers in Markdown, in StreamChunks pieces
	//	visualize       calls visualize_visualize of BuiltInServer
	//	mcp-send        calls tools of BuiltInServer. A prompt that is an object in JSON is what send_message gets; an array of
	//	                {"tool","arguments"} are calls, one after the other; any other is as plain. With a PlaybookPath, see there
	//	lane            does what the prompt says: lane:plain, stream, approve, question, attach or hold; the first such word counts,
	//	                and any other prompt is plain
	//	replay          plays the events of ReplayEventsPath
	//	steps           plays the script that the prompt carries; see [Scripted]
	//
	// Or it is the path of a file of scripts whose name ends in .json, which [New] reads; see [script.File]. A relative one is relative to the
	// working directory. All but mcp-send, replay and steps are such files themselves, in the folder presets of this package, to be copied and changed;
	// lane has one for each word.
	Script string

	// ReplyText is what plain and others answer; "" is "fake turn complete".
	ReplyText string

	StreamChunks     *int // of stream: how many pieces; nil is 200
	StreamIntervalMs *int // of stream: the milliseconds between two of them; nil is 30
	PreviewHoldMs    *int // of visualize: how long its row is in progress before the call, in milliseconds; nil is 0
	HoldMs           *int // of lane:hold: how long it waits, in milliseconds; nil is 15000. It takes steers meanwhile. It is a scripted wait

	// ReplayEventsPath is the file of recorded events that replay plays: an array of them, an object that has them as events, or one a line. It
	// is an absolute path, and read anew by every turn; a file that is wrong fails the turn that reads it.
	//
	// A replayed event is of the turn that plays it. Items, requests, tasks and uses of tools have new ids each time, which still link what
	// they linked. In JSON the event says all that was recorded; in Go, what its type has room for, and the rest as [event.Recorded]. Nobody
	// waits for an answer to what a recording asks. An interrupt ends what has begun, as it does in a script.
	ReplayEventsPath string
	ReplayStepMs     *int     // the milliseconds between two events; nil is 30
	ReplayTaskHoldMs *int     // those after each task.started, besides; nil is 3000
	ReplayAllow      []string // the types of events that are played; nil is [ReplayDefault]

	// BuiltInServer is the name of the MCP server that the host puts into each session. Steps that name no server mean this one. "" is ycodium.
	BuiltInServer string

	// PlaybookPath is a file that says what mcp-send plays on each thread, an absolute path; see package playbook. It is read once, when a thread
	// has its first turn. Each turn plays the next batch of its thread's line: the one for its prompt, where it says for which it is. Steers are
	// taken while a batch plays that ends with awaitSteer. A turn without a batch is one of mcp-send without a playbook. Who has which line, what
	// was played and what calls returned outlives the session, but not the instance.
	//
	// Of a file that cannot be read, or that is wrong, every turn says so, and calls nothing.
	PlaybookPath string

	// Playbook is one that a test has made or read itself, instead of a file. It is for Go alone.
	Playbook *playbook.Playbook

	// WholePlaybook makes it a violation if something of the playbook was not played when the instance is closed; see [Instance.PlaybookLeft].
	// That something was played does not say that it succeeded: the answers of the turns do. It is for Go alone.
	WholePlaybook bool

	// LeadingBlocks are regular expressions for what hosts put before a prompt: mcp-send does not look at it. Each is anchored, and matches one
	// block, which begins a line. nil is [LeadingBlocksDefault].
	LeadingBlocks []string

	// OpenBothApprovals has approval-tool ask both at once. It is for the script of that name, and not for a copy.
	OpenBothApprovals bool

	// CancelCalls lets an interrupt cancel an MCP call in flight. By default it is waited for, since nobody knows how far it got.
	CancelCalls bool

	// Choose picks what a turn plays, instead of Script. It is called on the turn's goroutine, after turn.started. An error fails
	// the turn; a [script.Error] does so as a script that does not parse. A script is held to the same rules as one in JSON, and must
	// not be changed once it was returned. Placeholders in it are filled in, unless it is the one that the prompt carries; see
	// [script.TemplateStep]. [FromFile] makes such a function.
	Choose func(Input) (script.Script, error)

	// Perform plays a turn in Go, where no script can say what happens: since it depends on how something outside went, for one. It takes the place
	// of Script, and of Choose. It is called on the turn's goroutine, after turn.started; a steer that its steps awaited is another call, in the same
	// turn. When ctx ends, the turn was interrupted, and Perform is to return. An error fails the turn, with its text as the message;
	// one that is [context.Canceled] cancels it.
	Perform func(ctx context.Context, p *Performance) error

	// Probe is what the agent says of itself; its ID is also the Provider of its events. Without an ID it is as Script has it.
	Probe Probe

	// AllowShell lets bash steps with run start real processes. Where it is false they fail the turn.
	AllowShell bool

	// Instant plays without any scripted wait. Timeouts and gates stay as they are, and so does how often a wait step looks.
	Instant bool

	// Speed divides every scripted wait; 0 is 1. 10 is ten times as fast. It does not touch timeouts and gates.
	Speed float64

	// Seed varies what a script leaves open: where a text that is sent in chunks is cut and, by up to a tenth, how long a scripted wait
	// takes. The same turn of the same thread varies in the same way each time; another seed has another way. 0 varies nothing.
	Seed uint64

	// DoorSteps are keys of steps that only some doors can play: stderr and raw. They become events, and whoever sets this subscribes
	// and does what they say. Without it such a step fails the turn.
	DoorSteps []string

	// UsageScript is what kind of account the agent has; "" is available. See [Instance.Usage]. Turns do not look at it.
	UsageScript usagefake.Script

	// Now is the clock of Usage: its quota resets by it, and its token usage ends today. nil is time.Now.
	Now func() time.Time

	// Files does the reading and writing of write and edit steps, and of .fake-agent.json; nil is [OSFiles].
	Files Files

	// Shell runs bash steps with run; nil is [OSShell], if AllowShell is set. A Shell of one's own needs no AllowShell.
	Shell Shell

	// MCP calls the tools of MCP servers. Where it is nil every mcp step is a failed tool call, and nothing is waited for; mcpcall.New makes one.
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
	Turn        int          // the agent's Nth turn, from 1; a steer that a script awaited counts as one
	Attempt     int          // the Nth time that this agent got this very prompt, from 1
	Steer       bool         // the prompt is a steer that a script awaited: what is chosen goes on in its turn
}

// role is what an instance calls itself, and where its scripts come from.
type role struct {
	probe  Probe
	choose func(*thread, Input) (script.Script, error)
	play   func(*turn) error // instead of a script; may be nil
	book   *book             // what it plays where it can, or nil
}

func (cfg Config) role() (r role, err error) {
	if cfg.Script == "steps" {
		r.probe = Probe{"fake-agent", "Fake agent", []Model{{ID: "scripted", Label: "Scripted", Default: true}}}
		r.choose = (*thread).scriptFor
	} else {
		r.probe = Probe{"fake", "Fake", []Model{{ID: "fake", Label: "Fake", Default: true}, {ID: "fake-large", Label: "Fake large"}}}
		switch cfg.Script {
		case "replay":
			r.play = (*turn).replay
		case "mcp-send":
			if r.choose, err = cfg.mcpSend(); err != nil {
				return role{}, err
			}
			if r.book, err = cfg.book(); err != nil {
				return role{}, err
			}
		default:
			file, err := cfg.file()
			if err != nil {
				return role{}, err
			}
			r.choose = func(th *thread, in Input) (script.Script, error) {
				f, err := file(in.Prompt)
				return th.pick(f, in), err
			}
		}
	}
	if cfg.WholePlaybook && r.book == nil {
		return role{}, errors.New("fakeagent: WholePlaybook is set, but there is no playbook: Script is to be mcp-send, with a Playbook or a PlaybookPath and no Choose")
	}
	if cfg.Probe.ID != "" {
		r.probe = cfg.Probe
	}
	switch {
	case cfg.Perform != nil && cfg.Choose != nil:
		return role{}, errors.New("fakeagent: Choose and Perform are both set; give one of them")
	case cfg.Perform != nil:
		r.play = (*turn).perform
	case cfg.Choose != nil:
		r.play = nil
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
