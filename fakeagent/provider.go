package fakeagent

//go:generate go tool mockgen -typed -write_command_comment=false -package=fakeagentmock -destination=fakeagentmock/provider.go . Provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// Provider is an agent as a host drives it. All methods may be called from any goroutine, also from inside a subscriber's
// function. A command returns when it is accepted; the events tell what came of it.
type Provider interface {
	// StartSession opens a thread. The events of a thread begin with session.started. A thread may be opened again after its
	// session.exited; it then goes on with its history and its numbering.
	StartSession(ctx context.Context, s SessionConfig) error

	// StopSession interrupts what runs and closes the thread; session.exited is its last event.
	StopSession(ctx context.Context, threadID string) error

	// SendTurn starts a turn and returns its id at once; events of the turn may come before that. The context owns the turn, as
	// in exec.CommandContext: when it ends, the turn is interrupted. So a host passes one of its own, never a caller's. While a
	// turn runs, the error is ErrBusy.
	//
	// An input that names the turn that runs is a steer: text that the agent takes into that turn. If it does, the same id comes back, and no
	// other turn starts. If it does not, or if that turn is not the one that runs, the error is ErrNotSteered.
	//
	// Both errors are a *RejectedError: nothing has happened, and the host may send the same text later, as a turn of its own.
	//
	// A turn's first event is turn.started and its last one turn.completed, however it ends.
	SendTurn(ctx context.Context, in TurnInput) (turnID string, err error)

	// InterruptTurn ends a turn as interrupted. turnID "" is whatever runs. Where nothing runs in the thread, or another turn than that,
	// it does nothing and is no error.
	InterruptTurn(ctx context.Context, threadID, turnID string) error

	// RespondToRequest answers an approval. A request that is not open, because it never was or because it was answered or
	// closed, is ErrUnknownRequest.
	RespondToRequest(ctx context.Context, threadID, requestID string, d Decision) error

	// RespondToUserInput answers a question that blocks the turn; see RespondToRequest.
	RespondToUserInput(ctx context.Context, threadID, requestID string, answers map[string]any) error

	// ReadThread is what the provider has kept of a thread.
	ReadThread(ctx context.Context, threadID string) (Thread, error)

	// Probe says what the provider offers.
	Probe(ctx context.Context) (Probe, error)

	// Subscribe has fn called with every event: in order and one at a time within a thread, while threads overlap. The turn waits
	// for fn. fn may call the provider; events that this makes come after fn has returned.
	Subscribe(fn func(event.Event)) (unsubscribe func())
}

// Errors of a [Provider] that a host must tell apart; see errors.Is.
var (
	// ErrNoSession is a thread that was never opened or is closed.
	ErrNoSession = errors.New("no open session")
	// ErrBusy is a thread whose turn still runs.
	ErrBusy = errors.New("already has an active turn")
	// ErrNotSteered is a steer that the agent did not take.
	ErrNotSteered = errors.New("does not take a steer now")
	// ErrUnknownRequest is an approval or a question that is not open.
	ErrUnknownRequest = errors.New("no open request")
	// ErrClosed is an instance after Close.
	ErrClosed = errors.New("the instance is closed")
)

// RejectedError is an input that a [Provider] did not take, and that it may take another time.
type RejectedError struct{ err error }

// Rejected makes of an error, such as one that is [ErrBusy], a [*RejectedError].
func Rejected(err error) error { return &RejectedError{err} }

func (e *RejectedError) Error() string { return e.err.Error() }

func (e *RejectedError) Unwrap() error { return e.err }

// Code is "provider-rejected", by which a host may tell such an error from others without this package.
func (e *RejectedError) Code() string { return "provider-rejected" }

// SessionConfig opens a thread. It prints, and turns into JSON, without the values of Env, and with its servers as they do.
type SessionConfig struct {
	ThreadID string
	Title    string            // of the thread, for playbooks; "" is none
	Cwd      string            // absolute; "" for an agent that touches no files
	Env      map[string]string // added to the environment of its commands and of its MCP servers that are commands

	MCPServers []MCPServer // in the order in which "*" calls them
}

// Format prints what is no secret, whatever the verb.
func (s SessionConfig) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "session of thread %q in %q with %v", s.ThreadID, s.Cwd, s.MCPServers)
}

// MarshalJSON has what is no secret.
func (s SessionConfig) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"threadId": s.ThreadID, "cwd": s.Cwd, "mcpServers": s.MCPServers})
}

// TurnInput is a prompt, or a steer. Attachments of a steer are there for a script of its own, which plays where the turn awaited it.
type TurnInput struct {
	ThreadID    string
	TurnID      string // of the turn that it steers; "" is a turn of its own
	Text        string
	Attachments []Attachment // whose Data nobody changes any more
}

// Attachment is something that goes with the text of a prompt: an image, a sound, a file, a link. It has Data, a URI, or both.
type Attachment struct {
	Name      string // for people; may be ""
	MediaType string // such as image/png; may be ""
	URI       string
	Data      []byte
}

// Decision answers an approval.
type Decision string

const (
	Accept           Decision = "accept"
	AcceptForSession Decision = "acceptForSession"
	Decline          Decision = "decline"
	Cancel           Decision = "cancel" // also interrupts the turn
)

// Thread is what a provider has kept of a thread.
type Thread struct {
	ID    string
	Turns []Turn
	Doing string // the step that the running turn is in, such as `step 2 {"hold":"gate"}`; "" when nothing runs
}

// Turn is one turn of a [Thread].
type Turn struct {
	ID    string
	Items timeline.Items // the user's message first
}

// Probe is what a provider offers.
type Probe struct {
	ID     string // the kind of provider, such as "fake-agent"; the Provider of its events
	Label  string // for people
	Models []Model
}

// Model is a model that a user may choose.
type Model struct {
	ID      string
	Label   string
	Default bool
}
