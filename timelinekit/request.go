package timelinekit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
)

// Request is an approval or a question that an agent puts to the user.
type Request struct {
	ID        string
	AgentID   string
	TurnID    string
	CallID    string               // of the tool call that it is about; "" for a question
	Type      string               // such as "command_execution_approval", or "question"
	Title     string               // what the user is asked to allow
	Options   []fakeagent.Decision // on offer; none named: all
	Questions []event.Question     // of a question
	Blocking  bool                 // the turn waits for the answer

	Open     bool
	Decision string // of an approval that is no longer open
	Reason   string // why it is no longer open: "answered", "closed by the agent" or "turn ended"

	answering bool // an answer is on its way to the provider
}

func (r *Request) String() string {
	s := r.Type + " " + r.ID
	if r.Title != "" {
		s += fmt.Sprintf(" %q", r.Title)
	}
	if r.Open {
		return s + " is open"
	}
	return strings.TrimRight(s+" is closed ("+r.Reason+") "+r.Decision, " ")
}

// question is the type of a request that is no approval.
const question = "question"

func (r *Request) kind() string {
	if r.Type == question {
		return "a question"
	}
	return "an approval"
}

// method is what answers it.
func (r *Request) method() string {
	if r.Type == question {
		return "Answer"
	}
	return "Respond"
}

// copy is one that whoever gets it may keep and change.
func (r *Request) copy() Request {
	out := *r
	out.answering = false
	out.Options, out.Questions = slices.Clone(r.Options), slices.Clone(r.Questions)
	return out
}

// settle closes a request. a.mu is locked.
func (a *agent) settle(r *Request, decision, reason string) {
	r.Open, r.Decision, r.Reason = false, decision, reason
	fire(a.provider.plugins, PermissionResolved{a.info(), r.copy()})
}

func decisions(options []string) []fakeagent.Decision {
	out := make([]fakeagent.Decision, len(options))
	for i, o := range options {
		out[i] = fakeagent.Decision(o)
	}
	return out
}

// open records a request. a.mu is locked.
func (a *agent) open(e *event.Event, r *Request) {
	r.ID, r.AgentID, r.TurnID, r.CallID, r.Open = e.RequestID, a.id, e.TurnID, e.ItemID, true
	a.requests = append(a.requests, r)
	a.change()
	fire(a.provider.plugins, PermissionRequested{a.info(), r.copy()})
}

func (a *agent) resolve(id, decision string) {
	r := a.request(id)
	if r == nil || !r.Open {
		return
	}
	reason := "closed by the agent"
	if r.answering {
		reason = "answered"
	}
	a.settle(r, decision, reason)
	a.change()
}

// asked are the requests of the newest turn that asked any, if it is that one. a.mu is locked.
func (a *agent) asked(turnID string) []*Request {
	i := len(a.requests)
	for i > 0 && a.requests[i-1].TurnID == turnID {
		i--
	}
	return a.requests[i:]
}

// request is the newest one of that id. a.mu is locked.
func (a *agent) request(id string) *Request {
	for _, r := range slices.Backward(a.requests) {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// Requests are copies of all that the agent ever asked, in order.
func (h *Host) Requests(agentID string) ([]Request, error) {
	a, err := h.agent(agentID)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]Request, len(a.requests))
	for i, r := range a.requests {
		out[i] = r.copy()
	}
	return out, nil
}

// AwaitRequest returns the first request of the turn that is open, as soon as there is one. The error is a turn that ended without, or a
// context that did.
func (t *Turn) AwaitRequest(ctx context.Context) (Request, error) {
	ctx, cancel := fakeagent.Patience(ctx)
	defer cancel()
	a := t.agent
	for {
		a.mu.Lock()
		for _, r := range a.asked(t.TurnID) {
			if r.Open && !r.answering {
				defer a.mu.Unlock()
				return r.copy(), nil
			}
		}
		change := a.next()
		a.mu.Unlock()
		select {
		case <-change:
		case <-t.done:
			if t.lost != nil {
				return Request{}, t.lost
			}
			return Request{}, fmt.Errorf("timelinekit: turn %s ended %s, and no request of it is open:\n%s", t.TurnID, t.run.Ending.Kind, t.run.Timeline)
		case <-ctx.Done():
			return Request{}, fmt.Errorf("timelinekit: %s has asked nothing (%w):\n%s", t.GoString(), context.Cause(ctx), t.host.describe(a))
		}
	}
}

// Respond answers an approval. A request that is not open is [fakeagent.ErrUnknownRequest]: of two answers the second one is an error.
func (h *Host) Respond(ctx context.Context, agentID, requestID string, d fakeagent.Decision) error {
	if d == "" {
		return errors.New("timelinekit: the decision is empty; use Accept, AcceptForSession, Decline or Cancel")
	}
	return h.answer(ctx, agentID, requestID, d, func(ctx context.Context, p fakeagent.Provider) error {
		return p.RespondToRequest(ctx, agentID, requestID, d)
	})
}

// Answer answers a question, a value for each question's id; see [Host.Respond].
func (h *Host) Answer(ctx context.Context, agentID, requestID string, answers map[string]any) error {
	return h.answer(ctx, agentID, requestID, "", func(ctx context.Context, p fakeagent.Provider) error {
		return p.RespondToUserInput(ctx, agentID, requestID, answers)
	})
}

func (h *Host) answer(ctx context.Context, agentID, requestID string, d fakeagent.Decision, tell func(context.Context, fakeagent.Provider) error) error {
	a, err := h.agent(agentID)
	if err != nil {
		return err
	}
	a.mu.Lock()
	r := a.request(requestID)
	switch {
	case r == nil:
		err = fmt.Errorf("timelinekit: %w %q: agent %s never asked it", fakeagent.ErrUnknownRequest, requestID, agentID)
	case !r.Open:
		err = fmt.Errorf("timelinekit: %w %q of agent %s: it was closed before (%s)", fakeagent.ErrUnknownRequest, requestID, agentID, r.Reason)
	case (r.Type == question) != (d == ""):
		err = fmt.Errorf("timelinekit: request %s of agent %s is %s; use %s", requestID, agentID, r.kind(), r.method())
	case r.answering:
		err = fmt.Errorf("timelinekit: %w %q of agent %s: it is being answered already", fakeagent.ErrUnknownRequest, requestID, agentID)
	default:
		r.answering = true
	}
	a.mu.Unlock()
	if err != nil {
		return err
	}
	err = h.command(ctx, a.provider, func(ctx context.Context) error { return tell(ctx, a.provider) })
	a.mu.Lock()
	defer a.mu.Unlock()
	r.answering = false
	a.change() // who waited for it to be answered
	if err != nil {
		return fmt.Errorf("timelinekit: agent %s: %w", agentID, err)
	}
	if r.Open { // a provider tells later, or never
		a.settle(r, string(d), "answered")
	}
	return nil
}
