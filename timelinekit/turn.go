package timelinekit

import (
	"context"
	"errors"
	"fmt"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// Turn is a turn that was sent. It may be running, or over.
type Turn struct {
	AgentID string
	TurnID  string

	host   *Host
	agent  *agent
	prompt string
	done   chan struct{} // closed at the end

	// The rest is guarded by agent.mu until done is closed.

	id      string        // as turn.started or SendTurn said, whichever came first
	known   chan struct{} // closed when id is known, or SendTurn failed
	started bool
	over    bool
	run     Run
}

// name sets the id, unless it is known. agent.mu is locked.
func (t *Turn) name(id string) {
	select {
	case <-t.known:
	default:
		t.id = id
		close(t.known)
	}
}

func (t *Turn) start(id string) {
	t.name(id)
	t.started = true
}

// SendTurn starts the next turn of an agent and does not wait for it. It may be called from any goroutine.
func (h *Host) SendTurn(ctx context.Context, agentID, prompt string) (*Turn, error) {
	a, err := h.agent(agentID)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("timelinekit: turn of agent %s not sent: %w", agentID, err)
	}
	if err := h.astray(); err != nil {
		return nil, err
	}
	t := &Turn{AgentID: agentID, host: h, agent: a, prompt: prompt, done: make(chan struct{}), known: make(chan struct{})}
	h.mu.RLock()
	closing := h.closing
	h.mu.RUnlock()
	a.mu.Lock()
	switch {
	case closing:
		err = errHostClosed
	case a.status == timeline.AgentInitializing:
		err = fmt.Errorf("timelinekit: agent %s is still starting; wait for CreateAgent", agentID)
	case !a.archived.IsZero():
		err = fmt.Errorf("timelinekit: agent %s is archived: %w", agentID, fakeagent.ErrNoSession)
	case a.status == timeline.AgentClosed:
		err = fmt.Errorf("timelinekit: agent %s is closed: %w", agentID, fakeagent.ErrNoSession)
	case a.turn != nil:
		err = fmt.Errorf("timelinekit: agent %s %w", agentID, fakeagent.ErrBusy)
	default:
		a.turn = t
	}
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	id, err := call(ctx, h, a.provider, 0, func(context.Context) (string, error) {
		return a.provider.SendTurn(h.ctx, fakeagent.TurnInput{ThreadID: agentID, Text: prompt})
	})
	a.mu.Lock()
	started := t.started
	if err != nil && !started && a.turn == t {
		a.turn = nil
	}
	t.name(id)
	t.TurnID = t.id
	a.mu.Unlock()
	switch {
	case err != nil && started:
		h.violate("agent %s: SendTurn failed (%v), but the turn started", agentID, err)
		fallthrough
	case err != nil:
		return nil, fmt.Errorf("timelinekit: turn not accepted: %w", err)
	case t.TurnID != id:
		h.violate("agent %s: SendTurn returned %s, but turn.started said %s", agentID, id, t.TurnID)
	}
	return t, nil
}

// StartPrompt makes an agent and starts a turn with any prompt. It does not wait.
func (h *Host) StartPrompt(ctx context.Context, prompt string, opts ...RunOption) *Turn {
	h.t.Helper()
	t, err := h.start(ctx, prompt, opts)
	return must(h.t, t, err)
}

// StartFakeAgentTurn makes an agent and starts a turn that plays the script. It does not wait.
func (h *Host) StartFakeAgentTurn(ctx context.Context, s script.Script, opts ...RunOption) *Turn {
	h.t.Helper()
	return h.StartPrompt(ctx, h.promptOf(s), opts...)
}

// RunPrompt makes an agent, runs a turn with any prompt, and waits for its end.
func (h *Host) RunPrompt(ctx context.Context, prompt string, opts ...RunOption) Run {
	h.t.Helper()
	t, err := h.start(ctx, prompt, opts)
	return h.finish(ctx, t, err)
}

// RunFakeAgentTurn makes an agent, runs a turn that plays the script, and waits for its end. The prompt, and so the user's message,
// is the script as JSON. In the run of a turn that failed the host's own words, an assistant message that begins with [System Error],
// follow the error.
func (h *Host) RunFakeAgentTurn(ctx context.Context, s script.Script, opts ...RunOption) Run {
	h.t.Helper()
	return h.RunPrompt(ctx, h.promptOf(s), opts...)
}

// SendPrompt runs the next turn of an agent with any prompt, and waits for its end.
func (h *Host) SendPrompt(ctx context.Context, agentID, prompt string) Run {
	h.t.Helper()
	t, err := h.SendTurn(ctx, agentID, prompt)
	return h.finish(ctx, t, err)
}

// SendFakeAgentTurn runs the next turn of an agent, which plays the script, and waits for its end.
func (h *Host) SendFakeAgentTurn(ctx context.Context, agentID string, s script.Script) Run {
	h.t.Helper()
	return h.SendPrompt(ctx, agentID, h.promptOf(s))
}

func (h *Host) start(ctx context.Context, prompt string, opts []RunOption) (*Turn, error) {
	id, err := h.CreateAgent(ctx, opts...)
	if err != nil {
		return nil, err
	}
	return h.SendTurn(ctx, id, prompt)
}

// finish waits for a turn, if it was sent. Otherwise, or if it does not end in time, the test fails.
func (h *Host) finish(ctx context.Context, t *Turn, err error) (run Run) {
	if err == nil {
		run, err = t.Await(ctx)
	}
	if err != nil {
		h.t.Helper()
	}
	return must(h.t, run, err)
}

func (h *Host) promptOf(s script.Script) string {
	b, err := s.AppendJSON(nil)
	if err != nil {
		h.t.Helper()
		h.t.Fatalf("timelinekit: invalid script: %v", err)
	}
	return string(b)
}

// must is v, unless there is an error, which fails the test. Helper is not called before, since it costs more than most calls.
func must[V any](t T, v V, err error) V {
	if err != nil {
		t.Helper()
		t.Fatalf("%v", err)
	}
	return v
}

// Wait is [Turn.Await] that fails the test.
func (t *Turn) Wait(ctx context.Context) Run {
	t.host.t.Helper()
	run, err := t.Await(ctx)
	return must(t.host.t, run, err)
}

// Await returns the run when the turn has ended. The error is a context that ended before; it shows the timeline so far and the step that
// the agent is in. The turn goes on.
func (t *Turn) Await(ctx context.Context) (Run, error) {
	select {
	case <-t.done:
		return t.run, nil
	default:
	}
	ctx, cancel := fakeagent.Patience(ctx)
	defer cancel()
	select {
	case <-t.done:
		return t.run, nil
	case <-ctx.Done():
		return Run{}, fmt.Errorf("timelinekit: turn %s has not ended (%w):\n%s", t.TurnID, context.Cause(ctx), t.host.describe(t.agent))
	}
}

// String says which turn it is and how it stands.
func (t *Turn) String() string {
	select {
	case <-t.done:
		return t.run.String()
	default:
		return "turn " + t.TurnID + " has not ended; call Wait first:\n" + t.host.describe(t.agent)
	}
}

// GomegaString is how a failure message shows the turn.
func (t *Turn) GomegaString() string { return t.String() }

// GoString is what %#v prints, which Gomega does of whatever stands behind a context in Eventually(ctx, …): without it package fmt would
// read what others write.
func (t *Turn) GoString() string { return "turn " + t.TurnID }

// Done is closed when the turn has ended.
func (t *Turn) Done() <-chan struct{} { return t.done }

// Ended says whether the turn has ended. It does not wait. While the turn runs, run is what it did so far, without an ending.
func (t *Turn) Ended() (run Run, over bool) {
	select {
	case <-t.done:
		return t.run, true
	default:
	}
	a := t.agent
	a.mu.Lock()
	defer a.mu.Unlock()
	return Run{AgentID: t.AgentID, TurnID: t.id, Status: a.status, Timeline: a.log.Snapshot().Turn(t.id)}, false
}

// Gate is the gate of that name for the turn's agent; see [fakeagent.Gate]. It fails the test if the agent's provider has no gates.
func (t *Turn) Gate(name string) *fakeagent.Gate {
	t.host.t.Helper()
	p, ok := t.agent.provider.Provider.(gated)
	if !ok {
		t.host.t.Fatalf("timelinekit: provider %s has no gates; only a fakeagent.Instance has", t.agent.provider.id)
		return nil
	}
	return p.Gate(t.AgentID, name)
}

// Interrupt is [Host.Interrupt] for the turn's agent, if the turn still runs.
func (t *Turn) Interrupt(ctx context.Context) error {
	select {
	case <-t.done:
		return nil
	default:
		return t.host.interrupt(ctx, t)
	}
}

// Interrupt ends what the agent does, and returns when the turn has ended. An agent that does nothing is left alone. A provider that
// does not end its turn within 2 seconds is an error and a violation; the agent then stays running.
func (h *Host) Interrupt(ctx context.Context, agentID string) error {
	a, err := h.agent(agentID)
	if err != nil {
		return err
	}
	a.mu.Lock()
	t := a.turn
	a.mu.Unlock()
	if t == nil {
		return nil
	}
	return h.interrupt(ctx, t)
}

func (h *Host) interrupt(ctx context.Context, t *Turn) error {
	limit, cancel := context.WithTimeoutCause(ctx, interruptLimit, errNotEnded)
	defer cancel()
	select {
	case <-t.known: // before that the provider would not know what to interrupt
	case <-limit.Done():
	}
	t.agent.mu.Lock()
	id := t.id
	t.agent.mu.Unlock()
	refused := h.command(limit, t.agent.provider, func(ctx context.Context) error {
		return t.agent.provider.InterruptTurn(ctx, t.AgentID, id)
	})
	if refused == nil || errors.Is(refused, fakeagent.ErrNoSession) { // its end is on the way
		if t.awaitCall(ctx) {
			limit, cancel = context.WithTimeoutCause(ctx, interruptLimit, errNotEnded)
			defer cancel()
		}
		select {
		case <-t.done:
		case <-limit.Done():
		}
	}
	select {
	case <-t.done:
		return nil
	default:
	}
	if refused != nil && !errors.Is(refused, errNotEnded) { // where it did not even return, it has not ended the turn either
		return fmt.Errorf("timelinekit: agent %s: %w", t.AgentID, refused)
	}
	err := fmt.Errorf("timelinekit: agent %s was interrupted, but its turn %s goes on: %w", t.AgentID, id, context.Cause(limit))
	if errors.Is(err, errNotEnded) {
		h.violate("%v", err)
	}
	return err
}

// awaitCall waits for an MCP call in flight, which an interrupt lets finish, and says whether there was one.
func (t *Turn) awaitCall(ctx context.Context) (waited bool) {
	limit, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	for {
		t.agent.mu.Lock()
		calling, change := t.agent.calling(), t.agent.next()
		t.agent.mu.Unlock()
		if !calling || limit.Err() != nil {
			return waited
		}
		waited = true
		select {
		case <-change:
		case <-t.done:
		case <-limit.Done():
		}
	}
}

var errNotEnded = fmt.Errorf("the provider did not end it within %v", interruptLimit)
