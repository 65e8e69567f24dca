package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// thread is a session of the agent's, as the host sees it.
type thread struct {
	c  *Provider
	id string

	mu       sync.Mutex
	session  string   // the agent's id of it, also when it is closed
	opening  *opening // nil where nobody opens it
	open     bool     // between session.started and session.exited
	stopping bool
	turn     *turn
	turns    int
	asks     int // how many requests there were
	requests map[string]*pending
	history  []fakeagent.Turn
	items    timeline.Projection
	fold     event.Fold
	used     map[string]int // the agent's ids of calls and messages, with the first turn that had them

	seq        uint64
	outbox     []event.Event
	delivering bool
}

// opening is a request for a session that is not answered yet.
type opening struct{ givenUp bool }

// turn is a prompt that runs.
type turn struct {
	th       *thread
	id       string
	n        int
	stop     func() bool       // of watching the context
	sent     bool              // the prompt is on its way
	canceled bool              // and so is its cancel, as soon as sent
	summary  map[string]string // of compactions that are not over
	messages int               // so far
	saying   string
	stream   event.Stream // of the message that is being said
	calls    map[string]*call
	order    []string
}

// call is a tool call as the agent has told it so far.
type call struct {
	id       string // of its events
	fields   callFields
	over     bool
	declined bool // by the user
}

// pending is a request that is open: a permission, or a form.
type pending struct {
	n       int // it is the nth
	rpcID   json.RawMessage
	call    *call
	kind    string
	offered []string // the keys of options, in the agent's order
	options map[fakeagent.Decision]string

	isForm bool
	form   []field
}

// resolved tells that a request is decided, or over.
func (r *pending) resolved(d fakeagent.Decision) event.Payload {
	if r.isForm {
		return event.UserInputResolved{}
	}
	return event.RequestResolved{RequestType: r.kind, Decision: string(d)}
}

// cancelled is the answer to a permission that nobody decided on, and dismissed that to a form.
const (
	cancelled = `{"outcome":{"outcome":"cancelled"}}`
	dismissed = `{"action":"cancel"}`
)

// asked are the permissions that are open, in order. th.mu is locked.
func (th *thread) asked() []string {
	return slices.SortedFunc(maps.Keys(th.requests), func(a, b string) int { return th.requests[a].n - th.requests[b].n })
}

// own is an id of the agent's as events have it: agents that count anew in each turn use the same ones for other things. th.mu is locked.
func (t *turn) own(id string) string {
	th := t.th
	if first, ok := th.used[id]; ok && first != t.n {
		return id + "~" + strconv.Itoa(t.n)
	}
	if th.used == nil {
		th.used = map[string]int{}
	}
	th.used[id] = t.n
	return id
}

// emit queues an event, and sees to it that somebody hands it on. th.mu is locked.
func (th *thread) emit(e event.Event) {
	th.seq++
	e.Seq, e.Provider, e.ThreadID, e.Time = th.seq, th.c.info.ID, th.id, time.Now().UTC().Round(0)
	if item, itemID, ok := th.fold.Item(e); ok && e.TurnID != "" {
		th.items.Add(e.TurnID, itemID, item)
	}
	if _, over := e.Payload.(event.TurnCompleted); over {
		th.history = append(th.history, fakeagent.Turn{ID: e.TurnID, Items: th.items.Snapshot().Items()})
		th.items.Reset()
	}
	th.outbox = append(th.outbox, e)
	if !th.delivering {
		th.delivering = true
		go th.deliver()
	}
}

func (th *thread) deliver() {
	for {
		th.mu.Lock()
		if len(th.outbox) == 0 {
			th.outbox, th.delivering = nil, false
			th.mu.Unlock()
			return
		}
		e := th.outbox[0]
		th.outbox = th.outbox[1:]
		th.mu.Unlock()
		th.c.mu.Lock()
		subs := th.c.subs
		th.c.mu.Unlock()
		tell(subs, e, th.deliver)
	}
}

// tell calls the subscribers. One that ends this goroutine, as t.FailNow does, cannot be kept from it; then another one goes on, with the
// subscribers that are left and with what is next.
func tell(subs []*func(event.Event), e event.Event, next func()) {
	i := 0
	defer func() {
		if i == len(subs) {
			return
		}
		if r := recover(); r != nil {
			panic(r)
		}
		rest := subs[i+1:]
		go func() {
			tell(rest, e, next)
			next()
		}()
	}()
	for ; i < len(subs); i++ {
		(*subs[i])(e)
	}
}

// giveUp says that nobody wants the session any more. It is false if it was opened, or refused, already.
func (th *thread) giveUp(o *opening) bool {
	th.mu.Lock()
	defer th.mu.Unlock()
	o.givenUp = th.opening == o
	return o.givenUp
}

// opened is the answer to a request for a session. It is on the goroutine that reads.
func (th *thread) opened(o *opening, known string, raw json.RawMessage, e *Error) error {
	r := struct{ SessionID string }{known}
	err := error(nil)
	switch {
	case e != nil:
		err = e
	case known == "" && (json.Unmarshal(raw, &r) != nil || r.SessionID == ""):
		err = fmt.Errorf("the answer has no sessionId: %.80s", raw)
	}
	th.c.mu.Lock()
	if err == nil && th.c.gone != nil {
		err = errGone
	}
	if err == nil {
		th.c.of[r.SessionID] = th // before anybody can send a prompt, whose updates may be next
	}
	early := th.c.early[r.SessionID]
	delete(th.c.early, r.SessionID)
	th.c.kept -= len(early)
	th.c.mu.Unlock()

	th.mu.Lock()
	if th.opening = nil; err == nil {
		th.session = r.SessionID
	}
	if err != nil || o.givenUp {
		th.mu.Unlock()
		if err == nil && th.c.can.close {
			th.c.conn.ask("session/close", frame(`{"sessionId":`).str(r.SessionID).raw(`}`), func(json.RawMessage, *Error) {})
		}
		return err
	}
	th.open = true
	th.emit(event.Event{Payload: event.SessionStarted{}})
	for _, u := range early {
		th.take(u)
	}
	th.mu.Unlock()
	th.c.mu.Lock()
	gates := th.c.gates[th.id]
	delete(th.c.gates, th.id)
	th.c.mu.Unlock()
	for i := 0; i < len(gates); i += 2 {
		gate{th.c, th.id, gates[i+1]}.do(gates[i])
	}
	return nil
}

// newTurn sends the prompt. th.mu is locked; it is not any more afterwards.
func (th *thread) newTurn(ctx context.Context, in fakeagent.TurnInput) string {
	th.turns++
	t := &turn{th: th, n: th.turns, id: th.id + "-turn-" + strconv.Itoa(th.turns), calls: map[string]*call{}}
	th.turn = t
	th.items.Add(t.id, "", timeline.UserMessage{Text: in.Text})
	th.emit(event.Event{TurnID: t.id, Payload: event.TurnStarted{}})
	session := th.session
	th.mu.Unlock()
	th.c.conn.ask("session/prompt", frame(`{"sessionId":`).str(session).raw(`,"prompt":`).raw(string(writePrompt(in))).raw(`}`),
		func(raw json.RawMessage, e *Error) {
			if e != errGone {
				t.answered(raw, e)
			}
		})
	stop := context.AfterFunc(ctx, t.interrupt)
	th.mu.Lock()
	if t.stop = stop; th.turn != t { // it is over already
		stop()
	}
	t.sent = true
	canceled := t.canceled
	th.mu.Unlock()
	if canceled { // by a subscriber, before there was a prompt to cancel
		t.cancel()
	}
	return t.id
}

// interrupt asks the agent to end the turn, once.
func (t *turn) interrupt() {
	t.th.mu.Lock()
	now := t.th.turn == t && t.sent && !t.canceled
	t.canceled = true
	t.th.mu.Unlock()
	if now {
		t.cancel()
	}
}

func (t *turn) cancel() {
	th := t.th
	th.mu.Lock()
	session, open := th.session, th.asked()
	over := th.turn != t
	th.mu.Unlock()
	if over {
		return
	}
	th.c.conn.notify("session/cancel", frame(`{"sessionId":`).str(session).raw(`}`))
	for _, id := range open {
		th.drop(id, fakeagent.Cancel)
	}
}

// answered is the answer to the prompt.
func (t *turn) answered(raw json.RawMessage, e *Error) {
	end := event.TurnCompleted{State: event.TurnEndCompleted}
	var r struct{ StopReason string }
	t.th.mu.Lock()
	canceled := t.canceled
	t.th.mu.Unlock()
	switch {
	case e != nil && e.Code == RequestCancelled && canceled:
		end.State = event.TurnEndInterrupted
	case e != nil:
		end = event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: e.Message, ErrorCode: e.Code}
		if e.Code == InternalError { // which says no more than that there is an error
			end.ErrorCode = 0
		}
	case json.Unmarshal(raw, &r) != nil:
		end = event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: fmt.Sprintf("the agent answered its prompt with %.80s", raw)}
	case r.StopReason == "cancelled":
		end.State = event.TurnEndInterrupted
	case r.StopReason != "end_turn":
		end = event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: "the agent stopped: " + cmp.Or(r.StopReason, "no stop reason")}
	}
	t.end(end, nil)
}

// end ends the turn, with all that it left open. gone is why the connection is over, if it is.
func (t *turn) end(end event.TurnCompleted, gone error) {
	th := t.th
	th.mu.Lock()
	var open []string
	if th.turn == t {
		open = th.asked()
	}
	th.mu.Unlock()
	for _, id := range open {
		th.drop(id, fakeagent.Cancel)
	}
	th.mu.Lock()
	if th.turn != t {
		th.mu.Unlock()
		return
	}
	if t.stop != nil {
		t.stop()
	}
	for _, id := range t.order {
		if c := t.calls[id]; !c.over {
			item := c.fields.item()
			item.Status = event.Failed
			switch {
			case end.State == event.TurnEndFailed:
				item.Error = end.ErrorMessage
			case end.State == event.TurnEndInterrupted, t.canceled:
				item.Error = string(timeline.Canceled)
			case c.declined: // about which some agents say no more
				item.Status, item.Error = event.Declined, "declined by the user"
			default:
				item.Error = "the turn ended before the call did"
			}
			c.ends(t, item)
		}
	}
	th.turn = nil
	th.emit(event.Event{TurnID: t.id, Payload: end})
	stopping, session := th.stopping, th.session
	th.mu.Unlock()
	if stopping && gone == nil {
		th.exit(session)
	}
}

// exit closes the session, on either side.
func (th *thread) exit(session string) {
	exited := func() {
		th.mu.Lock()
		defer th.mu.Unlock()
		if th.open {
			th.open, th.stopping = false, false
			th.emit(event.Event{Payload: event.SessionExited{Reason: "stopped", ExitKind: "graceful"}})
		}
	}
	if !th.c.can.close {
		exited()
		return
	}
	th.c.conn.ask("session/close", frame(`{"sessionId":`).str(session).raw(`}`), func(json.RawMessage, *Error) { exited() })
}

// lost is the end of the connection.
func (th *thread) lost(why error, graceful bool) {
	th.mu.Lock()
	t := th.turn
	th.mu.Unlock()
	if t != nil {
		t.end(event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: why.Error()}, why)
		graceful = false
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.open {
		th.open, th.stopping = false, false
		exited := event.SessionExited{Reason: why.Error(), ExitKind: "error"}
		if graceful {
			exited.ExitKind = "graceful"
		}
		th.emit(event.Event{Payload: exited})
	}
}

// ask opens a request. The error is its answer.
func (th *thread) ask(m message) error {
	var p struct {
		ToolCall callFields `json:"toolCall"`
		Options  []struct {
			OptionID string `json:"optionId"`
			Kind     string `json:"kind"`
		} `json:"options"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return wrongParams("%s", plain(err))
	}
	if p.ToolCall.ToolCallID == "" {
		return wrongParams("toolCall.toolCallId is missing")
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	t := th.turn
	if t == nil {
		return wrongParams("no prompt of session %q runs", th.session)
	}
	r := &pending{rpcID: m.ID, options: map[fakeagent.Decision]string{}}
	for _, exact := range []bool{true, false} { // a reject_always is as good as a reject_once only where there is none
		for _, o := range p.Options {
			d, known := decisionOf(o.Kind)
			if _, twice := r.options[d]; known == exact && !twice {
				r.options[d] = o.OptionID
			}
		}
	}
	for _, o := range p.Options {
		if d, _ := decisionOf(o.Kind); r.options[d] == o.OptionID && !slices.Contains(r.offered, string(d)) {
			r.offered = append(r.offered, string(d))
		}
	}
	offered := r.offered
	if len(offered) == 0 { // which is not the same as none named
		offered = []string{string(fakeagent.Cancel)}
	}
	var before event.Item
	if known := t.calls[p.ToolCall.ToolCallID]; known != nil {
		before = known.fields.item()
	}
	c := t.call(p.ToolCall)
	item := c.fields.item()
	if before.ItemType != "" && !reflect.DeepEqual(before, item) { // what is asked is what the row shows
		t.emit(c.id, event.ItemUpdated{Item: item})
	}
	r.call, r.kind = c, "dynamic_tool_call_approval"
	switch item.ItemType {
	case event.CommandExecution:
		r.kind = "command_execution_approval"
	case event.FileChange:
		r.kind = "file_change_approval"
	}
	id := th.keep(r)
	th.emit(event.Event{TurnID: t.id, ItemID: r.call.id, RequestID: id, Payload: event.RequestOpened{
		RequestType: r.kind, Detail: cmp.Or(p.ToolCall.title(), c.fields.title()), Options: offered,
	}})
	return nil
}

// decisionOf is what an option of a permission means. One of a kind that is not known is as a refusal, which does no harm.
func decisionOf(kind string) (d fakeagent.Decision, known bool) {
	for _, a := range answers {
		if a.kindOf == kind {
			return a.decision, true
		}
	}
	return fakeagent.Decline, false
}

// askForm opens a form. The error is its answer.
func (th *thread) askForm(m message) error {
	var p struct {
		Mode            string          `json:"mode"`
		Message         string          `json:"message"`
		RequestedSchema json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return wrongParams("%s", plain(err))
	}
	if p.Mode != "form" {
		return wrongParams("mode is %q, and this client offers form", p.Mode)
	}
	form, err := readForm(p.RequestedSchema, p.Message)
	if err != nil {
		return wrongParams("%v", err)
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.turn == nil {
		return wrongParams("no prompt of session %q runs", th.session)
	}
	var asked event.UserInputRequested
	for _, q := range form {
		asked.Questions = append(asked.Questions, q.Question)
	}
	if len(form) == 0 { // there is nothing to fill in, only to accept
		asked.Questions = []event.Question{{Question: p.Message}}
	}
	id := th.keep(&pending{rpcID: m.ID, isForm: true, form: form})
	th.emit(event.Event{TurnID: th.turn.id, RequestID: id, Payload: asked})
	return nil
}

// keep keeps a request until it is answered. th.mu is locked.
func (th *thread) keep(r *pending) (id string) {
	id = th.nextRequest()
	if r.n = th.asks; th.requests == nil {
		th.requests = map[string]*pending{}
	}
	th.requests[id] = r
	return id
}

// nextRequest is the next id. th.mu is locked.
func (th *thread) nextRequest() string {
	th.asks++
	return nth("req-", th.asks)
}

// drop answers a request that nobody decided on.
func (th *thread) drop(requestID string, why fakeagent.Decision) {
	th.mu.Lock()
	r := th.requests[requestID]
	th.mu.Unlock()
	switch {
	case r == nil:
	case r.isForm:
		th.answer(requestID, r.resolved(why), dismissed)
	default:
		th.answer(requestID, r.resolved(why), cancelled)
	}
}

// answer answers a request, unless that was done before.
func (th *thread) answer(requestID string, resolved event.Payload, says string) bool {
	th.mu.Lock()
	r, t := th.requests[requestID], th.turn
	delete(th.requests, requestID)
	if r != nil && t != nil {
		e := event.Event{TurnID: t.id, RequestID: requestID, Payload: resolved}
		if r.call != nil {
			d, _ := resolved.(event.RequestResolved)
			r.call.declined = d.Decision == string(fakeagent.Decline)
			e.ItemID = r.call.id
		}
		th.emit(e)
	}
	th.mu.Unlock()
	if r == nil {
		return false
	}
	th.c.conn.send(result(r.rpcID, says))
	return true
}
