package fakeagent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
)

// question is one that blocks the turn.
type question struct {
	ids     []string // of what is asked
	answers chan map[string]any
}

// question asks. One that does not block the turn is answered by the next prompt, and never closed.
func (t *turn) question(s script.QuestionStep) error {
	asked := event.UserInputRequested{Questions: make([]event.Question, len(s.Questions))}
	q := &question{answers: make(chan map[string]any, 1)}
	for i, one := range s.Questions {
		q.ids = append(q.ids, one.ID)
		asked.Questions[i] = event.Question{ID: one.ID, Header: one.Header, Question: one.Question, MultiSelect: one.MultiSelect}
		for _, o := range one.Options {
			asked.Questions[i].Options = append(asked.Questions[i].Options, event.Option(o))
		}
	}
	th := t.th
	th.mu.Lock()
	th.requests++
	id := "req-" + strconv.Itoa(th.requests)
	if s.Blocking {
		if th.questions == nil {
			th.questions = map[string]*question{}
		}
		th.questions[id] = q
	} else {
		asked.ResponseMode = "message"
	}
	th.emitLocked(event.Event{TurnID: t.id, RequestID: id, Payload: asked})
	if !s.Blocking {
		return t.pause(0)
	}
	over := t.waits()
	var answers map[string]any
	select {
	case answers = <-q.answers:
	case <-t.ctx.Done():
		th.mu.Lock()
		delete(th.questions, id)
		th.mu.Unlock()
		select {
		case answers = <-q.answers: // somebody was faster
		default:
		}
	}
	over()
	t.values.answers = answers
	th.emit(event.Event{TurnID: t.id, RequestID: id, Payload: event.UserInputResolved{Answers: answers}})
	return t.pause(0)
}

// notOpen is the error of an answer that nobody waits for. th.mu is locked.
func (th *thread) notOpen(requestID string) error {
	why := "it was never asked"
	var n int
	switch _, err := fmt.Sscanf(requestID, "req-%d", &n); {
	case th.pending[requestID] != nil:
		why = "it is an approval; use RespondToRequest"
	case th.questions[requestID] != nil:
		why = "it is a question; use RespondToUserInput"
	case err == nil && 0 < n && n <= th.requests:
		why = "it is closed, or its answer is the next prompt"
	}
	return fmt.Errorf("fakeagent: %w %q in thread %s: %s", ErrUnknownRequest, requestID, th.id, why)
}

// answerQuestion is an answer from outside. th.mu is locked.
func (th *thread) answerQuestion(requestID string, answers map[string]any) error {
	q := th.questions[requestID]
	if q == nil {
		return th.notOpen(requestID)
	}
	for _, id := range slices.Sorted(maps.Keys(answers)) {
		if !slices.Contains(q.ids, id) {
			return fmt.Errorf("fakeagent: request %s has no question %q; it asks %s", requestID, id, strings.Join(q.ids, ", "))
		}
	}
	text, err := json.Marshal(answers)
	if err != nil {
		return fmt.Errorf("fakeagent: the answers to request %s have no JSON form: %w", requestID, err)
	}
	var own map[string]any // which nobody changes, and which is as from another process
	_ = json.Unmarshal(text, &own)
	delete(th.questions, requestID)
	q.answers <- own
	return nil
}
