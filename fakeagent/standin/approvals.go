package standin

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
)

// asks has the client asked for an approval, where its dialect can.
func (t *turn) asks(e event.Event) bool {
	call := t.pieces.calls[e.ItemID]
	if call == "" || t.reply.dialect != AISDK6 && t.reply.dialect != AISDK7 {
		return false
	}
	for _, p := range t.pieces.ask(e.RequestID, call) {
		t.write(p)
	}
	for _, p := range t.pieces.rest("tool-calls") {
		t.write(p)
	}
	t.s.mu.Lock()
	t.question = e.RequestID
	out := t.out // a client that has read the question may answer before it has read the end
	t.s.notify()
	t.s.mu.Unlock()
	out.finish()
	close(out.done)
	return true
}

// answered is the turn that a request continues, by the approval that it answers; nil: it continues none.
func (c *call) answered(sessionUID string, messages chatMessages) (t *turn, question string, d fakeagent.Decision) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t = c.running(sessionUID); t == nil || t.question == "" {
		return nil, "", ""
	}
	for _, m := range slices.Backward(messages) {
		var parts []struct {
			State    string
			Approval struct {
				ID       string
				Approved bool
			}
		}
		_ = json.Unmarshal(m.Parts, &parts) // another form has no answers
		for _, p := range parts {
			if p.State != "approval-responded" || p.Approval.ID != t.question {
				continue
			}
			d = fakeagent.Decline
			if p.Approval.Approved {
				d = fakeagent.Accept
			}
			question, t.question = t.question, ""
			t.ended, t.out = make(chan struct{}), newStream(c.w, Wire{}, c.closing)
			return t, question, d
		}
	}
	return nil, "", ""
}

// goOn answers with the rest of a turn.
func (c *call) goOn(t *turn, question string, d fakeagent.Decision) error {
	return c.stream(t, func(ctx context.Context) error {
		t.write(piece{kind: begins, id: t.pieces.messageID})
		return c.agent.RespondToRequest(ctx, t.session.UID, question, d)
	})
}
