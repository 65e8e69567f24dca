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
	p, err := payload(s)
	if err != nil {
		return &failure{message: "fake-agent: " + err.Error()} // it was checked before
	}
	t.th.emit(event.Event{TurnID: t.id, ItemID: s.ItemID, RequestID: s.RequestID, Payload: p})
	return t.pause(0)
}

// payload is that of an event which a script may emit.
func payload(s script.EventStep) (event.Payload, error) {
	payload := s.Payload
	if payload == nil {
		payload = json.RawMessage("{}")
	}
	text, err := json.Marshal(map[string]any{"type": s.Type, "payload": payload})
	if err != nil {
		return nil, err
	}
	var e event.Event
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, err
	}
	if event.IsLifecycle(e) {
		return nil, fmt.Errorf("event %s begins or ends a session, a thread or a turn, which is not a script's to do", s.Type)
	}
	return e.Payload, nil
}
