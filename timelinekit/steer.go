package timelinekit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// Steer gives the running turn another message of the user. If the provider takes it, it stands in the timeline as one of this turn. If the
// provider refuses it, or the turn is over, it waits, and becomes a turn of its own when nothing else runs: after this one, however that
// ends, also by an interrupt, and after those that came before it. The agent is not seen idle in between. Any other error of the provider is
// returned, and then the message is nowhere.
//
// While the provider is asked, its events of this agent wait, so that the message stands before what the agent does with it.
//
// Nobody has the turn that it becomes, so it is a violation if that never starts; [Host.Steer] returns it. The kit's own agent takes messages
// in a sleep or hold step with steers, and while a script plays that ends by awaiting one, and refuses them anywhere else.
func (t *Turn) Steer(ctx context.Context, text string) error {
	next := t.agent.newTurn(t.host, text)
	next.orphan = true
	_, err := t.host.steer(ctx, next, t)
	return err
}

// Steer is [Turn.Steer] for whatever the agent does now, and returns the turn that has the message: the running one, which took it, or one
// of its own, which waits, or begins at once where nothing runs. Await waits for its start as well, and says why it never came: the agent was
// archived, its session has ended, or the provider did not accept the turn. What still waits at the test's end is a violation.
//
// A provider refuses by an error that has, anywhere in its chain, a method Code() string which returns "provider-rejected"; see
// [fakeagent.Rejected].
func (h *Host) Steer(ctx context.Context, agentID, text string) (*Turn, error) {
	a, err := h.agent(agentID)
	if err != nil {
		return nil, err
	}
	return h.steer(ctx, a.newTurn(h, text), nil)
}

// steer offers the message of a new turn to the one that runs, if it is the one that is meant; nil is any. It has a place in the queue
// meanwhile: so those that are refused keep the order in which they came, and an agent whose turn ends does not become idle before the
// answer.
func (h *Host) steer(ctx context.Context, next, meant *Turn) (*Turn, error) {
	a := next.agent
	next.waited = true
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("timelinekit: agent %s not steered: %w", a.id, err)
	}
	if err := h.astray(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	running := a.turn
	if meant != nil && meant != running {
		running = nil
	}
	err := a.gone()
	if err == nil {
		next.asking = running != nil
		a.queue = append(a.queue, next)
		a.proceed()
	}
	begins := a.turn == next
	a.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case begins:
		select {
		case <-next.known: // it is sent when this returns, as with SendTurn
		case <-ctx.Done():
		}
		return next, nil
	case running == nil:
		return next, nil
	}

	offered, err := h.offer(ctx, running, next.prompt)
	a.mu.Lock()
	refused := rejected(err)
	leaves := func() { a.queue = slices.DeleteFunc(a.queue, func(t *Turn) bool { return t == next }) }
	if !refused {
		leaves()
	}
	switch {
	case err != nil:
	case running.started:
		a.append(time.Now(), running.TurnID, "", timeline.UserMessage{Text: next.prompt})
	default:
		running.steers = append(running.steers, next.prompt)
	}
	if offered {
		h.offered(a)
	}
	next.asking = false
	gone := a.gone()
	if refused && gone != nil {
		leaves()
	}
	a.proceed()
	a.note(nil)
	a.mu.Unlock()
	h.tell(a)
	switch {
	case err == nil:
		return running, nil
	case !refused:
		return nil, fmt.Errorf("timelinekit: agent %s not steered: %w", a.id, err)
	case gone != nil:
		return nil, gone
	}
	return next, nil
}

// offer asks the provider to take a text into a turn. When it was asked, events wait for whoever writes the answer down, and calls offered.
func (h *Host) offer(ctx context.Context, t *Turn, text string) (offered bool, err error) {
	ctx, cancel := fakeagent.Patience(ctx)
	defer cancel()
	select {
	case <-t.known: // before that the provider would not know which turn is meant
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	a := t.agent
	a.mu.Lock()
	over := t.over
	if !over {
		a.offers++
	}
	a.mu.Unlock()
	if over {
		return false, fakeagent.Rejected(fakeagent.ErrNotSteered)
	}
	id, err := call(ctx, h, a.provider, 0, func(context.Context) (string, error) {
		return a.provider.SendTurn(h.ctx, fakeagent.TurnInput{ThreadID: a.id, TurnID: t.TurnID, Text: text})
	})
	if err == nil && id != t.TurnID {
		err = fmt.Errorf("the provider was to take it into turn %s, but returned turn %q", t.TurnID, id)
	}
	return true, err
}

// rejected is whether a provider may take another time what it did not take now. Its error may be of any type.
func rejected(err error) bool {
	var e interface{ Code() string }
	return errors.As(err, &e) && e.Code() == "provider-rejected"
}

// proceed starts the first message that waits, where nothing runs. a.mu is locked.
func (a *agent) proceed() {
	switch {
	case a.turn != nil:
	case len(a.queue) == 0:
		if a.status == timeline.AgentRunning { // it was to go on, and does not
			a.status = timeline.AgentIdle
		}
	case !a.queue[0].asking && a.leaving == 0: // of an agent that takes no more turns nothing else waits
		a.turn, a.queue = a.queue[0], a.queue[1:]
		a.launching++
		go a.turn.launch()
	}
}

// launch sends a turn that waited.
func (t *Turn) launch() {
	watched(func() error {
		_ = t.host.send(t.host.ctx, t) // which is told to whoever waits for it, or is a violation
		return nil
	}, func(err error, _ bool) {
		if err != nil {
			t.host.violate("agent %s: a function that watches statuses did not return: %v", t.AgentID, err)
		}
		t.agent.mu.Lock()
		defer t.agent.mu.Unlock()
		t.agent.launching--
		t.agent.change()
	})
}

// lose is the end of a turn that never started. a.mu is locked.
func (a *agent) lose(t *Turn, why error) (wrong []string) {
	t.lost = fmt.Errorf("timelinekit: agent %s: the message %.60q never became a turn: %w", a.id, t.prompt, why)
	t.run = Run{AgentID: a.id, Status: a.status, Ending: timeline.Ending{Kind: timeline.Failed, Message: why.Error()}}
	t.over = true
	a.change()
	if t.orphan || t.waited && a.shut {
		wrong = append(wrong, fmt.Sprintf("the message %.60q never became a turn: %v", t.prompt, why))
	}
	return wrong
}

// loseAll loses all messages that wait, but for those that the provider was asked about. a.mu is locked.
func (a *agent) loseAll(why error) (wrong []string) {
	a.queue = slices.DeleteFunc(a.queue, func(t *Turn) bool {
		if t.asking {
			return false
		}
		wrong = append(wrong, a.lose(t, why)...)
		a.note(t)
		return true
	})
	return wrong
}

// closes is why nothing waits for an agent any more whose session has ended.
func (a *agent) closes(reason string) error {
	if a.leaving > 0 {
		reason = "the agent was archived"
	}
	return fmt.Errorf("%s: %w", reason, fakeagent.ErrNoSession)
}

// withdraw takes the turn back, if it waits.
func (t *Turn) withdraw() bool {
	a := t.agent
	a.mu.Lock()
	i := slices.Index(a.queue, t)
	if i >= 0 {
		a.queue = slices.Delete(a.queue, i, i+1)
		t.run = Run{AgentID: a.id, Status: a.status, Ending: timeline.Ending{Kind: timeline.Canceled}}
		t.over = true
		a.change()
		a.proceed()
		a.note(t)
	}
	a.mu.Unlock()
	t.host.tell(a)
	return i >= 0
}
