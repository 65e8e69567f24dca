package timelinekit

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Recorder is a plugin with every hook, which keeps what they get, in order, and changes nothing. The zero value is ready. Event hooks are
// told later: call [Host.HooksSettled] before looking.
type Recorder struct {
	PluginID string // "" is "recorder"

	mu    sync.Mutex
	calls []HookCall
}

// HookCall is one call of a hook.
type HookCall struct {
	Hook string // such as "agent.turn_ended"
	With any    // the event or the request, by value: a TurnEnded, for instance
}

func (c HookCall) String() string {
	switch e := c.With.(type) {
	case TurnEnded:
		return c.Hook + " of " + e.TurnID + ", " + e.Ending.String()
	case PermissionRequested:
		return c.Hook + " of " + e.Request.TurnID + ", " + e.Request.String()
	case PermissionResolved:
		return c.Hook + " of " + e.Request.TurnID + ", " + e.Request.String()
	case interface{ about() string }:
		return c.Hook + " of " + e.about()
	}
	return fmt.Sprintf("%s: %v", c.Hook, c.With)
}

// GomegaString is how a failure message shows the call.
func (c HookCall) GomegaString() string { return c.String() }

// ID is the plugin's id.
func (r *Recorder) ID() string { return cmp.Or(r.PluginID, "recorder") }

// Calls are all calls so far.
func (r *Recorder) Calls() []HookCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// String is a line a call.
func (r *Recorder) String() string {
	var lines []string
	for _, c := range r.Calls() {
		lines = append(lines, c.String())
	}
	return strings.Join(lines, "\n")
}

// GomegaString is how a failure message shows the recorder.
func (r *Recorder) GomegaString() string { return r.String() }

// GoString is what %#v prints, which Gomega does of whatever stands behind a context in Eventually(ctx, …): without it package fmt would
// read what others write.
func (r *Recorder) GoString() string { return "the recorder" }

// Recorded are those of one kind, such as Recorded[TurnEnded](r).
func Recorded[T any](r *Recorder) []T {
	var out []T
	for _, c := range r.Calls() {
		if v, ok := c.With.(T); ok {
			out = append(out, v)
		}
	}
	return out
}

func record[T any](r *Recorder, with T) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, HookCall{hookOf(reflect.TypeFor[T]()).name, with})
	return nil
}

func (r *Recorder) AgentCreated(_ context.Context, e AgentCreated) error   { return record(r, e) }
func (r *Recorder) AgentArchived(_ context.Context, e AgentArchived) error { return record(r, e) }
func (r *Recorder) TurnStarted(_ context.Context, e TurnStarted) error     { return record(r, e) }
func (r *Recorder) TurnEnded(_ context.Context, e TurnEnded) error         { return record(r, e) }
func (r *Recorder) PermissionRequested(_ context.Context, e PermissionRequested) error {
	return record(r, e)
}
func (r *Recorder) PermissionResolved(_ context.Context, e PermissionResolved) error {
	return record(r, e)
}
func (r *Recorder) WorkspaceCreated(_ context.Context, e WorkspaceCreated) error { return record(r, e) }
func (r *Recorder) WorkspaceArchived(_ context.Context, e WorkspaceArchived) error {
	return record(r, e)
}
func (r *Recorder) BeforeAgentCreate(_ context.Context, q AgentCreate) (*AgentCreate, error) {
	return nil, record(r, q)
}
func (r *Recorder) BeforeSessionOpen(_ context.Context, q SessionOpen) (*SessionOpen, error) {
	return nil, record(r, q)
}
func (r *Recorder) BeforeWorkspaceCreate(_ context.Context, q WorkspaceCreate) (*WorkspaceCreate, error) {
	return nil, record(r, q)
}
