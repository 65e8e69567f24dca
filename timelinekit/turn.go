package timelinekit

import (
	"context"
	"errors"
	"fmt"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
)

// Turn is a turn that was sent. It may be running, or over, or it waits for the one before it; see [Host.Steer].
type Turn struct {
	AgentID string
	TurnID  string // as turn.started or SendTurn said, whichever came first; of one that waited "" until it runs

	host   *Host
	agent  *agent
	prompt string
	waited bool          // for its turn
	orphan bool          // nobody has it
	done   chan struct{} // closed at the end

	// The rest, and the TurnID of one that waited, is guarded by agent.mu until done is closed.

	known   chan struct{} // closed when TurnID is known, or SendTurn failed
	asking  bool          // the provider was asked to take its text into another turn, and has not answered
	started bool
	steers  []string // that the provider took before the start
	over    bool
	run     Run
	lost    error // why it never started
}

// newTurn makes one that was not sent.
func (a *agent) newTurn(h *Host, prompt string) *Turn {
	return &Turn{AgentID: a.id, host: h, agent: a, prompt: prompt, done: make(chan struct{}), known: make(chan struct{})}
}

// name sets the id, unless it is known. agent.mu is locked.
func (t *Turn) name(id string) {
	select {
	case <-t.known:
	default:
		t.TurnID = id
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
	t := a.newTurn(h, prompt)
	a.mu.Lock()
	if err = a.gone(); err == nil && (a.turn != nil || len(a.queue) > 0) {
		err = fmt.Errorf("timelinekit: agent %s %w", agentID, fakeagent.ErrBusy)
	}
	if err == nil {
		a.turn = t
	}
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := h.send(ctx, t); err != nil {
		return nil, fmt.Errorf("timelinekit: turn not accepted: %w", err)
	}
	return t, nil
}

// send gives the provider the turn of its agent.
func (h *Host) send(ctx context.Context, t *Turn) error {
	a := t.agent
	id, err := call(ctx, h, a.provider, 0, func(context.Context) (string, error) {
		return a.provider.SendTurn(h.ctx, fakeagent.TurnInput{ThreadID: a.id, Text: t.prompt})
	})
	if err != nil {
		id = ""
	}
	var wrong []string
	a.mu.Lock()
	t.name(id)
	switch {
	case err != nil && t.started:
		wrong = append(wrong, fmt.Sprintf("SendTurn failed (%v), but the turn started", err))
	case err != nil && a.turn == t:
		a.turn = nil
		wrong = a.lose(t, err)
		a.proceed()
		a.note(t)
	case err == nil && t.TurnID != id:
		wrong = append(wrong, fmt.Sprintf("SendTurn returned %s, but turn.started said %s", id, t.TurnID))
	}
	h.found(a, wrong)
	a.mu.Unlock()
	h.tell(a)
	return err
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
// the agent is in. The turn goes on. Of a turn that waited, the error may also be why it never started; see [Host.Steer].
func (t *Turn) Await(ctx context.Context) (Run, error) {
	select {
	case <-t.done:
		return t.result()
	default:
	}
	ctx, cancel := fakeagent.Patience(ctx)
	defer cancel()
	select {
	case <-t.done:
		return t.result()
	case <-ctx.Done():
		return Run{}, fmt.Errorf("timelinekit: %s (%w):\n%s", t.state(), context.Cause(ctx), t.host.describe(t.agent))
	}
}

// result is what came of it. done is closed.
func (t *Turn) result() (Run, error) {
	if t.lost != nil {
		return Run{}, t.lost
	}
	return t.run, nil
}

// String says which turn it is and how it stands.
func (t *Turn) String() string {
	select {
	case <-t.done:
		if t.lost != nil {
			return t.lost.Error()
		}
		return t.run.String()
	default:
		return t.state() + "; call Wait first:\n" + t.host.describe(t.agent)
	}
}

// state says why there is no run yet.
func (t *Turn) state() string {
	t.agent.mu.Lock()
	defer t.agent.mu.Unlock()
	if t.TurnID == "" {
		return t.label() + " has not started"
	}
	return t.label() + " has not ended"
}

// label says which turn it is. agent.mu is locked.
func (t *Turn) label() string {
	if t.TurnID == "" {
		return fmt.Sprintf("the turn of %.60q", t.prompt)
	}
	return "turn " + t.TurnID
}

// GomegaString is how a failure message shows the turn.
func (t *Turn) GomegaString() string { return t.String() }

// GoString is what %#v prints, which Gomega does of whatever stands behind a context in Eventually(ctx, …): without it package fmt would
// read what others write.
func (t *Turn) GoString() string {
	t.agent.mu.Lock()
	defer t.agent.mu.Unlock()
	return t.label()
}

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
	run = Run{AgentID: t.AgentID, TurnID: t.TurnID, Status: a.status}
	if t.TurnID != "" {
		run.Timeline = a.log.Snapshot().Turn(t.TurnID)
	}
	return run, false
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

// Interrupt is [Host.Interrupt] for the turn's agent, if the turn still runs. One that waits is taken back: it ends canceled, and
// never starts.
func (t *Turn) Interrupt(ctx context.Context) error {
	select {
	case <-t.done:
		return nil
	default:
	}
	if t.withdraw() {
		return nil
	}
	return t.host.interrupt(ctx, t)
}

// Interrupt ends what the agent does, and returns when the turn has ended. An agent that does nothing is left alone. A provider that
// does not end its turn within 2 seconds is an error and a violation; the agent then stays running. Messages that wait are kept: the
// first one starts now; see [Host.Steer].
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
	id, over := t.TurnID, t.over
	t.agent.mu.Unlock()
	var refused error
	if !over {
		refused = h.command(limit, t.agent.provider, func(ctx context.Context) error {
			return t.agent.provider.InterruptTurn(ctx, t.AgentID, id)
		})
	}
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
