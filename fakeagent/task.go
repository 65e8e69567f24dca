package fakeagent

import (
	"encoding/json"
	"fmt"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
)

// task is what a sub-agent does, around steps.
func (t *turn) task(s script.TaskStep) error {
	t.tasks++
	id := t.name("task", t.tasks)
	t.emit("", event.TaskStarted{TaskID: id, Description: s.Description, TaskType: s.Type})
	err := t.steps(s.Steps, 0)
	end := event.TaskCompleted{TaskID: id, Status: event.TaskDone}
	switch {
	case t.ctx.Err() != nil:
		end.Status = event.TaskStopped
	case err != nil:
		end.Status, end.Summary = event.TaskFailed, err.Error()
	}
	t.emit("", end)
	return err
}

// event emits what a script has word for word.
func (t *turn) event(s script.EventStep) error {
	e, err := eventOf(s)
	if err != nil {
		return &failure{message: "fake-agent: " + err.Error()} // it was checked before
	}
	e.TurnID = t.id
	t.th.emit(e)
	return t.pause(0)
}

// eventOf is the event of a step, if it is one that a script may emit.
func eventOf(s script.EventStep) (e event.Event, err error) {
	payload := s.Payload
	if payload == nil {
		payload = json.RawMessage("{}")
	}
	text, err := json.Marshal(map[string]any{"type": s.Type, "itemId": s.ItemID, "requestId": s.RequestID, "payload": payload})
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return e, err
	}
	if event.IsLifecycle(e) {
		return e, errLifecycle(s.Type)
	}
	return e, nil
}

// errLifecycle is an event that only the engine itself emits.
func errLifecycle(typ string) error {
	return fmt.Errorf("event %s belongs to a session, a thread, a turn or a process, and is not a script's to emit", typ)
}
