package timelinekit

import (
	"fmt"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// on takes one event of a provider. It keeps the books and never waits; those who watch are told after the lock is gone.
func (h *Host) on(p *provider, e *event.Event) {
	h.mu.RLock()
	a := h.agents[e.ThreadID]
	h.mu.RUnlock()
	if a == nil || a.provider != p {
		return // somebody else's thread
	}
	a.mu.Lock()
	if a.offers > 0 {
		a.early = append(a.early, *e)
		a.mu.Unlock()
		return
	}
	h.happened(a, e)
	due := len(a.news) > 0
	a.mu.Unlock()
	if due {
		h.tell(a)
	}
}

// happened takes an event whose turn has come. a.mu is locked.
func (h *Host) happened(a *agent, e *event.Event) {
	wrong := a.take(e)
	var over *Turn
	if t := a.turn; t != nil && t.over {
		over, a.turn = t, nil
		if t.started {
			a.tellEnd(t)
		}
	}
	if over != nil {
		a.proceed()
	}
	a.note(over)
	h.found(a, wrong)
}

// offered ends an offer, and takes the events that came meanwhile: what the agent did with a message stands behind it. a.mu is locked.
func (h *Host) offered(a *agent) {
	if a.offers--; a.offers > 0 {
		return
	}
	early := a.early
	a.early = nil
	for i := range early {
		h.happened(a, &early[i])
	}
}

// tellStart and tellEnd fire the hooks of a turn. They are apart so that what they tell takes no room on the stack of every other event.
func (a *agent) tellStart() { fire(a.provider.plugins, TurnStarted{a.info(), a.turn.TurnID}) }

func (a *agent) tellEnd(t *Turn) {
	fire(a.provider.plugins, TurnEnded{a.info(), t.TurnID, t.run.Ending, a.log.Snapshot()})
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
		return drop("turn " + t.TurnID + " runs")
	}
	current := t != nil && e.TurnID == t.TurnID

	switch p := e.Payload.(type) {
	case event.TurnStarted:
		switch {
		case a.turn == nil || a.turn.started:
			return drop("nobody sent it")
		case e.TurnID == "":
			return drop("it has no turn id")
		case a.turn.TurnID != "" && a.turn.TurnID != e.TurnID:
			return drop("SendTurn returned " + a.turn.TurnID)
		}
		a.turn.start(e.TurnID)
		a.fold.Item(*e)
		a.append(e.Time, e.TurnID, "", timeline.UserMessage{Text: a.turn.prompt})
		for _, text := range a.turn.steers {
			a.append(e.Time, e.TurnID, "", timeline.UserMessage{Text: text})
		}
		a.status = timeline.AgentRunning
		a.tellStart()
	case event.TurnCompleted:
		if !current {
			return stray()
		}
		return a.end(e, p.Ending())
	case event.SessionExited:
		reason := "the session exited"
		if p.Reason != "" {
			reason += ": " + p.Reason
		}
		switch {
		case t != nil:
			e.TurnID, e.Payload = t.TurnID, event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: reason}
			wrong = a.end(e, timeline.Ending{Kind: timeline.Failed, Message: reason})
		case a.turn == nil:
		case a.turn.waited:
			wrong = a.lose(a.turn, a.closes(reason))
		default: // sent, but never started
			a.over(timeline.Ending{Kind: timeline.Failed, Message: "the session exited before the turn started"})
		}
		a.status = timeline.AgentClosed
		a.change()
		if a.turn != nil {
			a.turn.run.Status = a.status
		}
		wrong = append(wrong, a.loseAll(a.closes(reason))...)
	case event.RuntimeError:
		if a.status == timeline.AgentClosed {
			return drop("the agent is closed")
		}
		if e.TurnID != "" && !current {
			return stray()
		}
		if t != nil {
			e.TurnID = t.TurnID
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
		a.open(e, &Request{Type: question, Questions: p.Questions, Blocking: p.ResponseMode != "message"})
	case event.RequestResolved:
		a.resolve(e.RequestID, p.Decision)
	case event.UserInputResolved:
		a.resolve(e.RequestID, "")
	default:
		if e.TurnID == "" && t != nil {
			e.TurnID, current = t.TurnID, true
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
	for _, it := range a.log.Snapshot().Turn(t.TurnID).All() {
		if c, ok := it.(timeline.ToolCall); ok && c.Status == timeline.Running {
			wrong = append(wrong, fmt.Sprintf("tool call %s (%s) was still running when turn %s ended %s; it was set to canceled", c.CallID, c.Name, t.TurnID, ending.Kind))
			c.Status = timeline.Canceled
			a.append(e.Time, t.TurnID, c.CallID, c)
		}
	}
	for _, r := range a.asked(t.TurnID) {
		if r.Open && r.Blocking {
			a.settle(r, string(fakeagent.Decline), "turn ended")
		}
	}
	a.add(e)
	a.status = timeline.AgentIdle
	if len(a.queue) > 0 { // it goes on
		a.status = timeline.AgentRunning
	}
	if ending.Kind == timeline.Failed {
		a.append(e.Time, t.TurnID, "", timeline.AssistantMessage{Text: "[System Error] " + ending.Message})
		a.status = timeline.AgentError
	}
	a.over(ending)
	return wrong
}

// over makes the run of the turn. a.mu is locked.
func (a *agent) over(ending timeline.Ending) {
	t := a.turn
	t.run = Run{AgentID: a.id, TurnID: t.TurnID, Status: a.status, Ending: ending, Timeline: a.log.Snapshot().Turn(t.TurnID)}
	t.over = true
	a.change()
}
