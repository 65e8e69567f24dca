package timelinekit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// agent is one agent of a host.
type agent struct {
	id, cwd  string
	provider *provider

	mu       sync.Mutex
	status   timeline.AgentStatus
	log      *timeline.Log
	fold     event.Fold
	turn     *Turn // the one that runs, or was sent and has not started
	requests []*Request
	changed  chan struct{} // closed at the next change of the timeline or the requests
}

// next is closed at the next change. a.mu is locked.
func (a *agent) next() <-chan struct{} {
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.changed
}

func (a *agent) change() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

func (a *agent) append(at time.Time, turnID, itemID string, item timeline.Item) {
	a.log.Append(at, turnID, itemID, item)
	a.change()
}

// running is the turn, if it has started. a.mu is locked.
func (a *agent) running() *Turn {
	if a.turn != nil && a.turn.started {
		return a.turn
	}
	return nil
}

// on takes one event of a provider. It keeps the books and never waits; those who watch are told after the lock is gone.
func (h *Host) on(p *provider, e *event.Event) {
	h.mu.RLock()
	a := h.agents[e.ThreadID]
	h.mu.RUnlock()
	if a == nil || a.provider != p {
		return // somebody else's thread
	}
	a.mu.Lock()
	before := a.status
	wrong := a.take(e)
	after, ended := a.status, a.turn != nil && a.turn.over
	var t *Turn
	if ended {
		t, a.turn = a.turn, nil
	}
	a.mu.Unlock()
	for _, w := range wrong {
		h.violate("agent %s: %s", a.id, w)
	}
	if after != before {
		h.tell(a, after)
	}
	if t != nil {
		close(t.done)
	}
}

// take updates the agent by an event and returns what is wrong with it. An event that is wrong changes nothing.
func (a *agent) take(e *event.Event) (wrong []string) {
	t := a.running()
	drop := func(why string) []string {
		return append(wrong, fmt.Sprintf("%s of turn %q was dropped: %s", e.Payload.Type(), e.TurnID, why))
	}
	stray := func() []string {
		if t == nil {
			return drop("no turn runs")
		}
		return drop("turn " + t.id + " runs")
	}
	current := t != nil && e.TurnID == t.id

	switch p := e.Payload.(type) {
	case event.TurnStarted:
		switch {
		case a.turn == nil || a.turn.started:
			return drop("nobody sent it")
		case e.TurnID == "":
			return drop("it has no turn id")
		case a.turn.id != "" && a.turn.id != e.TurnID:
			return drop("SendTurn returned " + a.turn.id)
		}
		a.turn.start(e.TurnID)
		a.fold.Item(*e)
		a.append(e.Time, e.TurnID, "", timeline.UserMessage{Text: a.turn.prompt})
		a.status = timeline.AgentRunning
	case event.TurnCompleted:
		if !current {
			return stray()
		}
		return a.end(e, p.Ending())
	case event.SessionExited:
		if t != nil {
			reason := "the session exited"
			if p.Reason != "" {
				reason += ": " + p.Reason
			}
			e.TurnID, e.Payload = t.id, event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: reason}
			wrong = a.end(e, timeline.Ending{Kind: timeline.Failed, Message: reason})
		} else if a.turn != nil { // sent, but never started
			a.over(timeline.Ending{Kind: timeline.Failed, Message: "the session exited before the turn started"})
		}
		a.status = timeline.AgentClosed
		if a.turn != nil {
			a.turn.run.Status = a.status
		}
	case event.RuntimeError:
		if a.status == timeline.AgentClosed {
			return drop("the agent is closed")
		}
		if e.TurnID != "" && !current {
			return stray()
		}
		if t != nil {
			e.TurnID = t.id
		}
		a.status = timeline.AgentError
		a.add(e)
	case event.RequestOpened:
		if !current {
			return stray()
		}
		a.open(e, &Request{Type: p.RequestType, Title: p.Detail, Options: decisions(p.Options), Blocking: true})
	case event.UserInputRequested:
		if !current {
			return stray()
		}
		a.open(e, &Request{Type: "question", Questions: p.Questions, Blocking: p.ResponseMode != "message"})
	case event.RequestResolved:
		a.resolve(e.RequestID, p.Decision)
	case event.UserInputResolved:
		a.resolve(e.RequestID, "")
	default:
		if e.TurnID == "" && t != nil {
			e.TurnID, current = t.id, true
		}
		if !current {
			if isItem(e) {
				return stray()
			}
			return nil
		}
		return a.add(e)
	}
	return wrong
}

// isItem says that an event would change the timeline.
func isItem(e *event.Event) bool {
	_, _, ok := new(event.Fold).Item(*e)
	return ok
}

// add folds an event into the timeline. The host writes user messages itself.
func (a *agent) add(e *event.Event) (wrong []string) {
	item, itemID, ok := a.fold.Item(*e)
	if !ok {
		return nil
	}
	switch it := item.(type) {
	case timeline.UserMessage:
		return nil // the provider's echo
	case timeline.ToolCall:
		if turn, ok := a.log.TurnOfCall(it.CallID); ok && turn != e.TurnID {
			wrong = append(wrong, fmt.Sprintf("tool call %s of turn %s has the id of one in turn %s, and took its place; ids must not repeat within an agent", it.CallID, e.TurnID, turn))
		}
	}
	a.append(e.Time, e.TurnID, itemID, item)
	return wrong
}

// end settles the running turn.
func (a *agent) end(e *event.Event, ending timeline.Ending) (wrong []string) {
	t := a.turn
	for _, it := range a.log.Snapshot().Turn(t.id).All() {
		if c, ok := it.(timeline.ToolCall); ok && c.Status == timeline.Running {
			wrong = append(wrong, fmt.Sprintf("tool call %s (%s) was still running when turn %s ended %s; it was set to canceled", c.CallID, c.Name, t.id, ending.Kind))
			c.Status = timeline.Canceled
			a.append(e.Time, t.id, c.CallID, c)
		}
	}
	for _, r := range a.asked(t.id) {
		if r.Open && r.Blocking {
			r.close(string(fakeagent.Decline), "turn ended")
		}
	}
	a.add(e)
	a.status = timeline.AgentIdle
	if ending.Kind == timeline.Failed {
		a.append(e.Time, t.id, "", timeline.AssistantMessage{Text: "[System Error] " + ending.Message})
		a.status = timeline.AgentError
	}
	a.over(ending)
	return wrong
}

// over makes the run of the turn. a.mu is locked.
func (a *agent) over(ending timeline.Ending) {
	t := a.turn
	t.run = Run{AgentID: a.id, TurnID: t.id, Status: a.status, Ending: ending, Timeline: a.log.Snapshot().Turn(t.id)}
	t.over = true
	a.change()
}

// AgentTimeline is a snapshot of what the agent did, over all its turns: one item a message, tool call or plugin row. It costs the same
// at any length, and never changes.
func (h *Host) AgentTimeline(agentID string) timeline.Timeline {
	a, err := h.agent(agentID)
	if err != nil {
		h.t.Helper() // not before: it would cost ten times what the snapshot does
		h.t.Fatalf("%v", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.Snapshot()
}

// TimelineOf is [Host.AgentTimeline] as a function, made for Eventually.
func (h *Host) TimelineOf(agentID string) func() timeline.Timeline {
	return func() timeline.Timeline { return h.AgentTimeline(agentID) }
}

// AgentRows are the rows as they are stored: every state of a tool call, every piece of a message. They must not be changed.
func (h *Host) AgentRows(agentID string) []timeline.Row {
	a, err := h.agent(agentID)
	if err != nil {
		h.t.Helper()
		h.t.Fatalf("%v", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.Rows()
}

// FetchRows reads the rows page by page, as a client of a host does that was away for a while.
func (h *Host) FetchRows(agentID string, q timeline.Query) (timeline.Page, error) {
	a, err := h.agent(agentID)
	if err != nil {
		return timeline.Page{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.Fetch(q), nil
}

// Matcher is what [Host.WaitFor] waits for. Every Gomega matcher is one.
type Matcher interface {
	Match(actual any) (success bool, err error)
	FailureMessage(actual any) string
}

// WaitFor returns when the agent's timeline matches, at once if it does already. It does not poll: it looks at every change. The error
// has the matcher's message and the timeline so far.
func (h *Host) WaitFor(ctx context.Context, agentID string, m Matcher) error {
	a, err := h.agent(agentID)
	if err != nil {
		return err
	}
	ctx, cancel := fakeagent.Patience(ctx)
	defer cancel()
	for {
		a.mu.Lock()
		tl, change := a.log.Snapshot(), a.next()
		a.mu.Unlock()
		ok, err := m.Match(tl)
		if ok && err == nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("timelinekit: waiting for the timeline of agent %s: %w", agentID, err)
		}
		select {
		case <-change:
		case <-ctx.Done():
			return fmt.Errorf("timelinekit: the timeline of agent %s never matched (%w):\n%s\n%s", agentID, context.Cause(ctx), m.FailureMessage(tl), h.describe(a))
		}
	}
}
