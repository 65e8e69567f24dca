package fakeagent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
)

// Performance is a turn that [Config.Perform] plays, until that returns. Its methods are for the goroutine that Perform is called on.
type Performance struct {
	Input
	Session SessionConfig // of the thread

	t     *turn
	begun begun
}

// perform has the turn played in Go.
func (t *turn) perform() error {
	t.th.mu.Lock()
	session := t.th.session
	t.th.mu.Unlock()
	p := &Performance{Input: t.toChoose(), Session: session, t: t}
	t.debug("turn started")
	t.label("Config.Perform")
	err := t.th.in.cfg.Perform(t.ctx, p)
	p.begun.settle(t.th)
	switch {
	case err == nil, errors.As(err, new(*failure)):
		return err
	case t.ctx.Err() != nil, errors.Is(err, context.Canceled):
		return errCanceled
	}
	return &failure{message: err.Error()}
}

// Play plays steps, as those of a script that Choose returns. Its error is one that Perform returns in turn: the failure that a step asks for,
// or the interrupt that ended the steps. A tool call that fails is none.
func (p *Performance) Play(steps ...script.Step) error {
	s, err := p.t.th.in.check(script.New(steps...), p.Prompt)
	if err != nil {
		return p.t.invalid(err)
	}
	p.t.th.mu.Lock()
	p.t.await(&s)
	p.t.th.mu.Unlock()
	defer p.t.label("Config.Perform")
	return p.t.steps(s.Steps, 0)
}

// Emit emits an event: the payload, ItemID and RequestID of e, and what was recorded of it; the rest is the turn's. What events begin and do
// not end before Perform returns ends then, as it does where a script is interrupted. The error is an event that is not a turn's to emit,
// such as turn.started, or an interrupt, after which nothing more is emitted.
func (p *Performance) Emit(e event.Event) error {
	switch {
	case e.Payload == nil:
		return errors.New("fakeagent: Emit: the event has no payload")
	case event.IsLifecycle(e):
		return fmt.Errorf("fakeagent: Emit: %w", errLifecycle(e.Payload.Type()))
	}
	if err := p.t.pause(0); err != nil {
		return err
	}
	e = event.Event{TurnID: p.t.id, ItemID: e.ItemID, RequestID: e.RequestID, Payload: e.Payload, Recorded: e.Recorded}
	p.t.th.emit(e)
	p.begun.note(e)
	return nil
}

// begun are the events that would end what has begun and has not ended, in order.
type begun []event.Event

// note keeps what an event has begun, until another one ends it.
func (b *begun) note(e event.Event) {
	end := event.Event{TurnID: e.TurnID, ItemID: e.ItemID, RequestID: e.RequestID}
	over := false
	switch v := e.Payload.(type) {
	case event.ItemStarted:
		end.Payload = canceled(v.Item)
	case event.ItemUpdated:
		end.Payload, over = canceled(v.Item), v.Status != event.InProgress
		if v.Status == "" { // it may be over already
			return
		}
	case event.ItemCompleted:
		end.Payload, over = canceled(v.Item), true
	case event.TaskStarted:
		end.Payload = event.TaskCompleted{TaskID: v.TaskID, Status: event.TaskStopped}
	case event.TaskCompleted:
		end.Payload, over = event.TaskCompleted{TaskID: v.TaskID}, true
	case event.RequestOpened:
		end.Payload = event.RequestResolved{RequestType: v.RequestType, Decision: string(Cancel)}
	case event.RequestResolved:
		end.Payload, over = v, true
	case event.UserInputRequested:
		end.Payload, over = event.UserInputResolved{}, v.ResponseMode == "message" // which nobody has to end
	case event.UserInputResolved:
		end.Payload, over = v, true
	}
	if end.Payload == nil {
		return
	}
	at := slices.IndexFunc(*b, func(other event.Event) bool { return endsSame(other, end) })
	switch {
	case over && at >= 0:
		*b = slices.Delete(*b, at, at+1)
	case !over && at < 0:
		*b = append(*b, end)
	}
}

// canceled ends a tool call; nil is an item that is none.
func canceled(item event.Item) event.Payload {
	if !item.ItemType.IsTool() {
		return nil
	}
	item.Status, item.Error = event.Failed, errCanceled.Error()
	return event.ItemCompleted{Item: item}
}

// endsSame says that two events end the same thing.
func endsSame(a, b event.Event) bool {
	if a.Payload.Type() != b.Payload.Type() {
		return false
	}
	switch v := a.Payload.(type) {
	case event.ItemCompleted:
		return a.ItemID == b.ItemID
	case event.TaskCompleted:
		return v.TaskID == b.Payload.(event.TaskCompleted).TaskID
	}
	return a.RequestID == b.RequestID
}

// settle ends what has begun, as scripts do when they are interrupted: the newest first.
func (b begun) settle(th *thread) {
	for _, end := range slices.Backward(b) {
		th.emit(end)
	}
}
