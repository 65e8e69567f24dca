package acp

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/understudy-go/understudy/fakeagent/event"
)

// question is one that blocks its turn, and that the client has not answered yet. Whoever has the session's slot asking may use it.
type question struct {
	request string           // the provider's id
	turn    string           // that it blocks
	left    []event.Question // that are not answered yet; the first one is asked, or, in a form, all are
	asked   int              // how many were, one by one
	answers map[string]any
	rpc     int    // id of our request
	call    string // the tool call that stands for the one that is asked; "" for a form
}

// alone does something with the questions that are open, while nobody else does: who asks writes more than one line. What it returns is
// done afterwards, since it may come back here.
func (s *session) alone(do func() (then func())) {
	select {
	case s.asking <- struct{}{}:
	case <-s.a.conn.ctx.Done():
		return
	}
	then := do()
	<-s.asking
	if then != nil {
		then()
	}
}

// askUser asks the client. A question that does not block the turn is told to the user, who answers it with the next prompt.
func (s *session) askUser(e event.Event, p event.UserInputRequested) {
	if len(p.Questions) == 0 {
		s.a.cfg.Log.dropped(Agent, p.Type()+" that asks nothing")
	}
	if p.ResponseMode == "message" {
		if len(p.Questions) > 0 {
			s.update(func(f frame) frame { return asked(f, e.RequestID, p.Questions, s.a.cfg.Profile) })
		}
		return
	}
	q := &question{request: e.RequestID, turn: e.TurnID, left: p.Questions, answers: map[string]any{}}
	s.alone(func() func() {
		s.questions = append(s.questions, q)
		if s.a.forms && len(q.left) > 0 {
			return s.askForm(q)
		}
		return s.askNext(q)
	})
}

// askForm asks all at once.
func (s *session) askForm(q *question) (then func()) {
	message := q.left[0].Question
	for _, more := range q.left[1:] {
		message += "\n" + more.Question
	}
	f := writeForm(frame(`{"mode":"form","sessionId":`).str(s.id).raw(`,"message":`).str(message).raw(`,`), q.left).raw(`}`)
	s.post(q, "elicitation/create", f, func(result json.RawMessage, err *Error) (then func()) {
		var r filled
		if err == nil && json.Unmarshal(result, &r) == nil && r.Action == "accept" {
			for _, one := range q.left {
				if v := r.Content[one.ID]; v != nil {
					q.answers[one.ID] = v
				}
			}
		}
		return s.answerUser(q) // who declines, or sends the form away, has answered nothing, and the turn goes on
	})
	return nil
}

// askNext asks the next one of those that are left as a permission, whose options are the answers. One that has no options cannot be asked so:
// it is said, and gets no answer.
func (s *session) askNext(q *question) (then func()) {
	for ; len(q.left) > 0; q.left = q.left[1:] {
		one := q.left[0]
		q.asked++
		id := q.request + "-" + strconv.Itoa(q.asked)
		if len(one.Options) > 0 {
			return s.askOne(q, id, one)
		}
		s.update(func(f frame) frame { return chunk(f, "agent_message_chunk", id, paragraph(one), s.a.cfg.Profile) })
		s.a.cfg.Log.dropped(Agent, "the answer to question "+one.ID+", which has no options, and the client offers no forms")
	}
	return s.answerUser(q)
}

func (s *session) askOne(q *question, id string, one event.Question) (then func()) {
	s.mu.Lock()
	q.call = s.numberedCall(id).id
	s.mu.Unlock()
	title := cmp.Or(one.Question, one.Header)
	s.update(func(f frame) frame {
		f = f.raw(`{"sessionUpdate":"tool_call","toolCallId":`).str(q.call).raw(`,"title":`).str(title).raw(`,"kind":"other"`)
		return withText(f, inWords(one)).raw(`}`)
	})
	f := s.permission(q.call, title)
	for i, o := range one.Options {
		f = permissionOption(f, i, optionID(i), o.Label, "allow_once")
	}
	s.post(q, "session/request_permission", f.raw(`]}`), func(result json.RawMessage, err *Error) (then func()) {
		r, chosen := outcomeOf(result, err), -1
		for i := range one.Options {
			if r.Outcome == "selected" && r.OptionID == optionID(i) {
				chosen = i
			}
		}
		switch {
		case r.Outcome == "cancelled":
			s.settle(q, "failed", "canceled")
			s.forget(q)
			return func() { s.interrupt(q.turn) }
		case chosen < 0:
			s.settle(q, "failed", "not answered")
		default:
			label := one.Options[chosen].Label
			s.settle(q, "completed", label)
			q.answers[one.ID] = label
			if one.MultiSelect {
				q.answers[one.ID] = []any{label}
			}
		}
		q.left = q.left[1:]
		return s.askNext(q)
	})
	return nil
}

func optionID(i int) string { return "answer-" + strconv.Itoa(i+1) }

// post asks the client. The answer of one who has canceled, or that comes when nobody waits for it any more, is none.
func (s *session) post(q *question, method string, params frame, answered func(json.RawMessage, *Error) (then func())) {
	q.rpc = s.a.conn.number(func(result json.RawMessage, err *Error) {
		if err == errGone {
			return
		}
		s.alone(func() func() {
			if s.isStopped() || !slices.Contains(s.questions, q) {
				return nil
			}
			return answered(result, err)
		})
	})
	s.a.conn.post(q.rpc, method, params)
}

// answerUser is the end of a question that the client has answered.
func (s *session) answerUser(q *question) (then func()) {
	s.forget(q)
	return func() { _ = s.a.provider.RespondToUserInput(s.a.ctx, s.id, q.request, q.answers) } // one that is over needs no answer
}

func (s *session) forget(q *question) {
	s.questions = slices.DeleteFunc(s.questions, func(o *question) bool { return o == q })
}

// settle ends the tool call that stands for a question.
func (s *session) settle(q *question, status, text string) {
	s.update(func(f frame) frame {
		f = f.raw(`{"sessionUpdate":"tool_call_update","toolCallId":`).str(q.call).raw(`,"status":`).str(status)
		return withText(f, text).raw(`}`)
	})
}

// unask ends the questions that the client has not answered and need not any more: those of a request, or, where the turn ends, all. After a
// cancel it is the client's turn to answer.
func (s *session) unask(request string, all bool, why string) {
	s.alone(func() func() {
		for _, q := range slices.Clone(s.questions) {
			if !all && q.request != request {
				continue
			}
			s.forget(q)
			if q.call != "" {
				s.settle(q, "failed", why)
			}
			if !s.isStopped() {
				s.a.conn.cancel(q.rpc)
			}
		}
		return nil
	})
}

// interrupt interrupts a turn for the client; "" is whatever runs.
func (s *session) interrupt(turn string) {
	s.stops()
	_ = s.a.provider.InterruptTurn(s.a.ctx, s.id, turn)
}

// stops notes that the client has canceled the prompt that runs.
func (s *session) stops() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
}

func (s *session) isStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// asked is a message that asks something.
func asked(f frame, id string, questions []event.Question, p Profile) frame {
	text := ""
	for _, q := range questions {
		text += paragraph(q)
	}
	f = chunk(f, "agent_message_chunk", id, text, p)
	if p != Seed {
		f = f[:len(f)-1].raw(`,"_meta":{"` + metaKey + `":{"questions":`).json(questions).raw(`}}}`)
	}
	return f
}

// paragraph is a question between other texts.
func paragraph(q event.Question) string { return inWords(q) + "\n\n" }

// inWords is a question with its options, as a list.
func inWords(q event.Question) string {
	text := cmp.Or(q.Question, q.Header)
	for _, o := range q.Options {
		text += "\n- " + o.Label
		if o.Description != "" {
			text += ": " + o.Description
		}
	}
	return text
}
