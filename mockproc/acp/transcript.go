package acp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Side is an end of a connection.
type Side string

const (
	Host  Side = "host"
	Agent Side = "agent"
)

func (s Side) other() Side {
	if s == Host {
		return Agent
	}
	return Host
}

// Message is a line that went over a connection, or something else that happened there.
type Message struct {
	Time time.Time
	From Side
	Line string // without its end
	Note string // why it was ignored, or what it is where it is no message
	End  bool   // the agent ended: Note says how, and From on whose account
}

func (m Message) String() string {
	arrow, line := "->", m.Line
	if m.From == Agent {
		arrow = "<-"
	}
	if len(line) > 200 {
		line = strings.ToValidUTF8(line[:200], "") + "…"
	}
	if m.Note != "" {
		line = strings.TrimSpace(line + " (" + m.Note + ")")
	}
	return arrow + " " + line
}

// Log collects what goes over a connection. The zero value is ready; a nil one collects nothing.
//
// It grows by pieces that are never copied: a long connection has a long log, and a thousand short ones have small ones.
type Log struct {
	mu    sync.Mutex
	pages [][]Message
	count int
	text  strings.Builder // has the lines of the latest messages
	size  int             // of all lines
}

func (l *Log) add(from Side, line []byte, note string) {
	if l == nil {
		return
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended() {
		l.append(Message{Time: time.Now(), From: from, Line: l.keep(line), Note: note})
	}
}

// End notes how the agent ended, and on whose account. Nothing comes after it.
func (l *Log) End(on Side, how string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended() {
		l.append(Message{Time: time.Now(), From: on, Note: how, End: true})
	}
}

// ended says that nothing may come any more. l.mu is locked, as for the next two.
func (l *Log) ended() bool {
	if l.count == 0 {
		return false
	}
	page := l.pages[len(l.pages)-1]
	return page[len(page)-1].End
}

func (l *Log) append(m Message) {
	n := len(l.pages)
	if n == 0 || len(l.pages[n-1]) == cap(l.pages[n-1]) {
		l.pages = append(l.pages, make([]Message, 0, min(max(16, l.count/4), 1<<10)))
		n++
	}
	l.pages[n-1] = append(l.pages[n-1], m)
	l.count++
}

// keep is a line as a string, which shares its memory with others.
func (l *Log) keep(line []byte) string {
	if l.text.Cap()-l.text.Len() < len(line) {
		l.text = strings.Builder{}
		l.text.Grow(max(len(line), min(max(1<<10, l.size/4), 64<<10)))
	}
	from := l.text.Len()
	_, _ = l.text.Write(line)
	l.size += len(line)
	return l.text.String()[from:]
}

// dropped notes what has no counterpart in the protocol.
func (l *Log) dropped(from Side, what string) { l.add(from, nil, "dropped: "+what) }

// Transcript is what the log has so far.
func (l *Log) Transcript() Transcript {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Concat(l.pages...)
}

// Transcript is what went over a connection, in order.
type Transcript []Message

// String is a line for each message: the time since the first one, its number, -> from the host, <- from the agent.
func (t Transcript) String() string {
	return t.Tail(len(t))
}

// Tail is String for the last n messages, with how many were left out.
func (t Transcript) Tail(n int) string {
	var b strings.Builder
	from := max(0, len(t)-n)
	if from > 0 {
		fmt.Fprintf(&b, "%8s (%d messages before)\n", "…", from)
	}
	for i, m := range t[from:] {
		fmt.Fprintf(&b, "%8s %3d %s\n", m.Time.Sub(t[0].Time).Round(time.Millisecond), from+i+1, m)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// GomegaString is how a failure message shows the transcript.
func (t Transcript) GomegaString() string { return t.String() }

// HostRequests are the requests and notifications that the host sent: their methods, and their params, nil where there were none.
func (t Transcript) HostRequests() (methods []string, params []json.RawMessage) {
	for _, m := range t {
		if m.From != Host || m.Note != "" {
			continue
		}
		if m, _ := parse([]byte(m.Line)); m.Method != "" {
			methods, params = append(methods, m.Method), append(params, m.Params)
		}
	}
	return methods, params
}

// Problems are what the host did wrong, in order, each with the number of the message, from 1. A host
//
//   - sends lines that are messages of JSON-RPC 2.0, and answers only what was asked, once;
//   - begins with initialize;
//   - sends no second prompt to a session before the first one is answered;
//   - answers every request of the agent, a permission with an option that was offered or as cancelled, a form with choices that were
//     offered, or by declining or canceling it;
//   - after session/cancel answers the permissions that are open as cancelled, and sends that session nothing else before its prompt is
//     answered, but what closes it, and what begins with _.
//
// A request need not be answered yet while the prompt of its session runs, nor if the agent ended before its prompt did: nobody need answer
// the dead. Of an agent that the host has left running to its end, on the host's account, it was never answered. An error without an id
// may answer what was no message.
func Problems(t Transcript) []string {
	j := judge{asked: map[string][]*request{}, prompts: map[string]string{}, canceled: map[string]bool{}, promptOf: map[string]string{}}
	for i, m := range t {
		j.at = i + 1
		j.see(m)
	}
	for _, r := range j.order {
		if j.at = r.at; !r.answered && (r.due || j.left || j.prompts[r.session] == "") {
			j.say("%s (id %s) was never answered", r.method, r.id)
		}
	}
	return j.problems
}

// judge watches a host. It goes by the lines alone: what one side has not understood, the other one may have meant.
type judge struct {
	at       int
	problems []string
	begun    bool
	left     bool                  // the agent, running
	asked    map[string][]*request // by the agent, and not answered yet, by id
	order    []*request
	prompts  map[string]string // of a session, the id of the prompt that runs
	promptOf map[string]string // the session of a prompt's id
	canceled map[string]bool   // sessions whose prompt was canceled and is not answered yet
}

// request is one of the agent's.
type request struct {
	at                  int
	id, method, session string
	options             []string
	form                []field
	withdrawn           bool // the agent does not want an answer any more
	answered            bool
	due                 bool // its prompt is over
	canceled            bool // its prompt was canceled while it was open; that may be over before the answer comes
}

func (j *judge) say(format string, args ...any) {
	j.problems = append(j.problems, fmt.Sprintf("message %d: ", j.at)+fmt.Sprintf(format, args...))
}

func (j *judge) see(line Message) {
	if line.End {
		j.left = line.From == Host
		return
	}
	if line.From == Agent {
		for raw := range strings.Lines(line.Line) { // the bytes of a script may be several
			if m, note := parse([]byte(strings.TrimSpace(raw))); note == "" {
				j.agent(m)
			}
		}
		return
	}
	if line.Line == "" { // a note of ours
		return
	}
	m, note := parse([]byte(line.Line))
	switch {
	case note != "":
		j.say("%s: %.80s", strings.TrimPrefix(cmp.Or(line.Note, note), "ignored: "), line.Line)
	case m.Version == "":
		j.say(`jsonrpc is missing, must be "2.0": %.80s`, line.Line)
	case m.Version != "2.0":
		j.say("no message of JSON-RPC 2.0, whose jsonrpc is %q: %.80s", m.Version, line.Line)
	}
	if note == "" {
		j.host(m)
	}
}

func (j *judge) agent(m message) {
	var p struct {
		SessionID string          `json:"sessionId"`
		RequestID json.RawMessage `json:"requestId"`
		Options   []struct {
			OptionID string `json:"optionId"`
		} `json:"options"`
		Schema json.RawMessage `json:"requestedSchema"`
	}
	_ = json.Unmarshal(m.Params, &p)
	id := string(m.ID)
	switch {
	case m.isRequest():
		r := &request{at: j.at, id: id, method: m.Method, session: p.SessionID}
		r.form, _ = readForm(p.Schema, "")
		for _, o := range p.Options {
			r.options = append(r.options, o.OptionID)
		}
		j.asked[id] = append(j.asked[id], r)
		j.order = append(j.order, r)
	case m.Method == "$/cancel_request":
		for _, r := range j.asked[string(p.RequestID)] {
			r.withdrawn = true
		}
	case m.Method == "":
		s, ok := j.promptOf[id]
		if !ok {
			return
		}
		delete(j.promptOf, id)
		delete(j.prompts, s)
		delete(j.canceled, s)
		for _, r := range j.order {
			r.due = r.due || r.session == s
		}
	}
}

func (j *judge) host(m message) {
	var p struct {
		SessionID string `json:"sessionId"`
	}
	_ = json.Unmarshal(m.Params, &p)
	switch {
	case m.Method == "":
		j.answer(m)
		return
	case !j.begun && m.Method != "initialize":
		j.say("%s came before initialize", m.Method)
	case m.Method == "session/prompt" && j.prompts[p.SessionID] != "":
		j.say("session/prompt to session %s, whose last prompt (id %s) is not answered yet", p.SessionID, j.prompts[p.SessionID])
	case j.canceled[p.SessionID] && !mayFollowCancel(m.Method):
		j.say("%s to session %s, which was canceled and has not answered its prompt yet", m.Method, p.SessionID)
	}
	j.begun = true
	switch m.Method {
	case "session/prompt":
		if j.prompts[p.SessionID] == "" && m.isRequest() {
			j.prompts[p.SessionID] = string(m.ID)
			j.promptOf[string(m.ID)] = p.SessionID
		}
	case "session/cancel":
		if j.prompts[p.SessionID] != "" {
			j.canceled[p.SessionID] = true
			for _, r := range j.order {
				r.canceled = r.canceled || r.session == p.SessionID && !r.answered
			}
		}
	}
}

func mayFollowCancel(method string) bool {
	switch method {
	case "session/cancel", "session/close", "session/delete":
		return true
	}
	return strings.HasPrefix(method, "_")
}

// answer is one to a request of the agent.
func (j *judge) answer(m message) {
	id, failure := string(m.ID), m.failure()
	if !m.hasID() && failure != nil { // to what was no message
		return
	}
	open := j.asked[id]
	if len(open) == 0 {
		j.say("it answers no open request: %s", id)
		return
	}
	r := open[0]
	r.answered, j.asked[id] = true, open[1:]
	switch {
	case failure != nil:
		return
	case m.Result == nil:
		j.say("the answer to %s (id %s) has neither a result nor an error", r.method, id)
		return
	case r.withdrawn:
		return
	case r.method == "elicitation/create":
		j.fills(r, m.Result)
		return
	case r.method != "session/request_permission":
		return
	}
	var a struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	switch err := json.Unmarshal(m.Result, &a); {
	case err != nil:
		j.say("the answer to %s (id %s): %s", r.method, id, plain(err))
	case a.Outcome.Outcome == "cancelled":
	case a.Outcome.Outcome != "selected":
		j.say("the outcome of %s (id %s) is %q, must be selected or cancelled", r.method, id, a.Outcome.Outcome)
	case r.canceled || j.canceled[r.session]:
		j.say("%s (id %s) was answered %q after session/cancel, must be cancelled", r.method, id, a.Outcome.OptionID)
	case !slices.Contains(r.options, a.Outcome.OptionID):
		j.say("%s (id %s) was answered %q, which was not offered: %s", r.method, id, a.Outcome.OptionID, strings.Join(r.options, ", "))
	}
}

// fills is the answer to a form.
func (j *judge) fills(r *request, result json.RawMessage) {
	var a filled
	if err := json.Unmarshal(result, &a); err != nil {
		j.say("the answer to %s (id %s): %s", r.method, r.id, plain(err))
		return
	}
	switch a.Action {
	case "accept":
	case "decline", "cancel":
		return
	default:
		j.say("the action of %s (id %s) is %q, must be accept, decline or cancel", r.method, r.id, a.Action)
		return
	}
	for _, q := range r.form {
		if v, ok := a.Content[q.ID]; ok && !q.offers(v) {
			j.say("%s (id %s) was answered %v for %s, which was not offered: %s", r.method, r.id, v, q.ID, strings.Join(q.values, ", "))
		}
	}
}
