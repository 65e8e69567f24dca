package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// session is one of the client's, which is a thread of the provider with the same id.
type session struct {
	a  *agent
	n  int // it is the nth
	id string

	mu       sync.Mutex
	cwd      string
	title    string
	touched  time.Time
	settings []setting
	open     bool
	over     chan struct{}   // closed when it is not open any more
	prompt   json.RawMessage // id of the prompt that runs
	said     map[said]bool   // the messages of this turn of which a piece was sent
	calls    map[string]*callState
	numbered int            // how many calls there were
	asked    map[string]int // open permissions: the provider's id, and that of our request
	stopped  bool           // the client has canceled the prompt that runs
	tasks    event.Fold     // what is known of tasks

	asking    chan struct{} // who has it asks; not a mutex, since it may wait for a full pipe
	questions []*question   // that are open, in order
}

// said is a message, by the kind of its update and its id.
type said struct{ kind, id string }

// callState is a tool call that is not over.
type callState struct {
	toolCall
	n     int // it is the nth
	begun bool
}

// setting is a config option with what it is set to: a value of its groups, or true or false.
type setting struct {
	id, name, category string
	groups             []group // one without an id holds values that stand alone
	value              string
	boolean, on        bool
}

type group struct {
	id, name string
	values   []option
}

type option struct{ value, name string }

// What all sessions have to choose from. Nobody changes it.
var (
	modes  = []group{{values: []option{{"ask", "Ask"}, {"code", "Code"}}}}
	models = []group{
		{"openai", "OpenAI", []option{{"gpt-5", "GPT-5"}, {"gpt-5-mini", "GPT-5 mini"}}},
		{"anthropic", "Anthropic", []option{{"claude-sonnet", "Claude Sonnet"}, {"claude-opus", "Claude Opus"}}},
	}
)

// newSettings are those of a new session.
func (a *agent) newSettings() []setting {
	model := setting{id: "model", name: "Model", category: "model", groups: models[:len(models):len(models)]}
	if probe, err := a.provider.Probe(a.ctx); err == nil && len(probe.Models) > 0 {
		own := group{id: probe.ID, name: probe.Label}
		for _, m := range probe.Models {
			own.values = append(own.values, option{m.ID, m.Label})
			if m.Default || model.value == "" {
				model.value = m.ID
			}
		}
		model.groups = append(model.groups, own)
	} else {
		model.value = "gpt-5"
	}
	all := []setting{
		{id: modeOption, name: "Mode", category: "mode", groups: modes, value: "code"},
		model,
	}
	if a.booleans {
		all = append(all, setting{id: "verbose", name: "Verbose", boolean: true})
	}
	return all
}

// modeOption is the option that is a mode, too: clients know it as one or the other.
const modeOption = "mode"

func (o setting) values() (all []string) {
	for _, g := range o.groups {
		for _, v := range g.values {
			all = append(all, v.value)
		}
	}
	return all
}

func appendOptions(f frame, options []option) frame {
	for i, v := range options {
		if i > 0 {
			f = f.raw(`,`)
		}
		f = f.raw(`{"value":`).str(v.value).raw(`,"name":`).str(v.name).raw(`}`)
	}
	return f
}

// options is "configOptions" with all settings.
func (s *session) options(f frame) frame {
	f = f.raw(`"configOptions":[`)
	for i, o := range s.settings {
		if i > 0 {
			f = f.raw(`,`)
		}
		f = f.raw(`{"id":`).str(o.id).raw(`,"name":`).str(o.name).field("category", o.category)
		if o.boolean {
			f = f.raw(`,"type":"boolean","currentValue":`).json(o.on).raw(`}`)
			continue
		}
		f = f.raw(`,"type":"select","currentValue":`).str(o.value).raw(`,"options":[`)
		for j, g := range o.groups {
			if g.id == "" {
				f = appendOptions(f, g.values)
				continue
			}
			if j > 0 {
				f = f.raw(`,`)
			}
			f = appendOptions(f.raw(`{"group":`).str(g.id).raw(`,"name":`).str(g.name).raw(`,"options":[`), g.values).raw(`]}`)
		}
		f = f.raw(`]}`)
	}
	return f.raw(`]`)
}

// state is what the answer to session/new and its like has of a session.
func (s *session) state(f frame) frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.a.cfg.Profile != Seed {
		f = f.raw(`"modes":{"currentModeId":`).str(s.settings[0].value).raw(`,"availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"}]},`)
	}
	return s.options(f)
}

func (s *session) update(what func(frame) frame) { s.a.conn.update(s.id, what) }

// session is the open one that the params name.
func (a *agent) session(p params) (*session, error) {
	s, err := a.known(p)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open {
		return nil, unknownSession(s.id, "is closed; load or resume it")
	}
	return s, nil
}

// known is the one that the params name, open or not.
func (a *agent) known(p params) (*session, error) {
	if p.SessionID == nil {
		return nil, wrongParams("sessionId is missing")
	}
	a.mu.Lock()
	s := a.sessions[*p.SessionID]
	a.mu.Unlock()
	if s == nil {
		return nil, unknownSession(*p.SessionID, "does not exist")
	}
	return s, nil
}

// unknownSession has the code that real agents use, not -32002.
func unknownSession(id, why string) error {
	e := wrongParams("session %q %s", id, why).(*Error)
	e.Data = json.RawMessage(frame(`{"sessionId":`).str(id).raw(`}`))
	return e
}

// config is the session that the params ask for.
func (a *agent) config(id string, p params) (s fakeagent.SessionConfig, err error) {
	switch {
	case p.Cwd == nil:
		return s, wrongParams("cwd is missing")
	case !filepath.IsAbs(*p.Cwd):
		return s, wrongParams("cwd must be absolute, is %q", *p.Cwd)
	case p.MCPServers == nil:
		return s, wrongParams("mcpServers is missing; without servers it is []")
	}
	servers, err := readServers(*p.MCPServers)
	if err != nil {
		return s, wrongParams("%v", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cfg.AuthRequired && !a.signedIn {
		return s, &Error{Code: AuthRequired, Message: "Authentication required"}
	}
	return fakeagent.SessionConfig{ThreadID: id, Cwd: *p.Cwd, MCPServers: servers}, nil
}

func (a *agent) newSession(id json.RawMessage, p params) (string, error) {
	if _, err := a.config("", p); err != nil {
		return "", err
	}
	return a.delayed(id, a.cfg.NewSessionDelay, func() (string, error) {
		s := &session{
			a: a, settings: a.newSettings(), asked: map[string]int{}, calls: map[string]*callState{}, said: map[said]bool{},
			asking: make(chan struct{}, 1),
		}
		a.mu.Lock()
		a.made++
		s.n, s.id = a.made, a.cfg.SessionID(a.made)
		taken := a.sessions[s.id] != nil || a.last[s.id] != nil
		a.mu.Unlock()
		if !taken {
			return s.begin(p)
		}
		// The end of the old one may wait for the client, so this goroutine must go on reading.
		return a.inTurn(id, s.id, func(ctx context.Context) (string, error) {
			a.mu.Lock()
			old := a.sessions[s.id]
			a.mu.Unlock()
			if old != nil {
				if err := old.stop(ctx); err != nil {
					return "", err
				}
			}
			return s.begin(p)
		})
	})
}

// inTurn answers a request later, when all those are answered that came before it and are about a session of that id as a whole, too.
func (a *agent) inTurn(id json.RawMessage, session string, do func(context.Context) (string, error)) (string, error) {
	done := make(chan struct{})
	a.mu.Lock()
	before := a.last[session]
	a.last[session] = done
	a.mu.Unlock()
	return a.later(id, func(ctx context.Context) (string, error) {
		if before != nil {
			select {
			case <-before:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return do(ctx)
	}, func() {
		if before != nil {
			<-before // also where this one was canceled: who comes next waits for all
		}
		a.mu.Lock()
		if a.last[session] == done {
			delete(a.last, session)
		}
		a.mu.Unlock()
		close(done)
	})
}

// gone is the error of a session that was deleted, or replaced by another one of its id, while somebody waited for his turn.
func (s *session) gone() error {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	if s.a.sessions[s.id] != s {
		return unknownSession(s.id, "does not exist")
	}
	return nil
}

// begin opens a session that is new.
func (s *session) begin(p params) (string, error) {
	a := s.a
	a.mu.Lock()
	a.sessions[s.id] = s
	a.mu.Unlock()
	if err := s.start(p); err != nil {
		a.mu.Lock()
		delete(a.sessions, s.id)
		a.mu.Unlock()
		return "", err
	}
	if a.cfg.EarlyUpdate {
		s.update(func(f frame) frame {
			return f.raw(`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"help","description":"Says what it can do"}]}`)
		})
	}
	return string(s.state(frame(`{"sessionId":`).str(s.id).raw(`,`)).raw(`}`)), nil
}

// start opens the session's thread.
func (s *session) start(p params) error {
	cfg, err := s.a.config(s.id, p)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.cwd, s.open, s.over, s.touched = cfg.Cwd, true, make(chan struct{}), time.Now()
	s.mu.Unlock()
	if err := s.a.provider.StartSession(s.a.ctx, cfg); err != nil {
		s.exited()
		return wrongParams("%v", err)
	}
	return nil
}

// stop closes it, if it is open, and waits until it is.
func (s *session) stop(ctx context.Context) error {
	s.mu.Lock()
	open, over := s.open, s.over
	s.stopped = true
	s.mu.Unlock()
	if !open || s.a.provider.StopSession(s.a.ctx, s.id) != nil {
		return nil
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) exited() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		s.open = false
		close(s.over)
	}
}

func (a *agent) loadSession(id json.RawMessage, p params) (string, error) {
	return a.reopen(id, p, true)
}

func (a *agent) resumeSession(id json.RawMessage, p params) (string, error) {
	if p.MCPServers == nil {
		p.MCPServers = new([]json.RawMessage)
	}
	return a.reopen(id, p, false)
}

// reopen goes on with a session, in the folder and with the servers that the client says now.
func (a *agent) reopen(id json.RawMessage, p params, replay bool) (string, error) {
	s, err := a.known(p)
	if err != nil {
		return "", err
	}
	if _, err := a.config(s.id, p); err != nil {
		return "", err
	}
	if s.prompting() != nil {
		return "", &Error{Code: InvalidRequest, Message: "session " + s.id + " has a prompt that runs"}
	}
	return a.inTurn(id, s.id, func(ctx context.Context) (string, error) {
		if err := s.gone(); err != nil {
			return "", err
		}
		if err := s.stop(ctx); err != nil {
			return "", err
		}
		if err := s.start(p); err != nil {
			return "", err
		}
		if replay {
			th, err := a.provider.ReadThread(ctx, s.id)
			if err != nil {
				return "", err
			}
			for _, t := range th.Turns {
				s.replay(t)
			}
		}
		return string(s.state(frame(`{`)).raw(`}`)), nil
	})
}

// replay tells the client of a turn that it may have forgotten.
func (s *session) replay(t fakeagent.Turn) {
	profile := s.a.cfg.Profile
	for i, item := range t.Items {
		id := t.ID + "-" + strconv.Itoa(i)
		var what func(frame) frame
		switch it := item.(type) {
		case timeline.UserMessage:
			what = func(f frame) frame { return chunk(f, "user_message_chunk", id, it.Text, profile) }
		case timeline.AssistantMessage:
			if it.MessageID != "" {
				id = it.MessageID
			}
			what = func(f frame) frame { return chunk(f, "agent_message_chunk", id, it.Text, profile) }
		case timeline.Reasoning:
			what = func(f frame) frame { return chunk(f, "agent_thought_chunk", id, it.Text, profile) }
		case timeline.ToolCall:
			c := pastCall(it)
			c.cwd = s.cwd
			what = func(f frame) frame { return c.past(f, profile) }
		case timeline.Todo:
			what = func(f frame) frame { return plan(f, todo(it)) }
		default:
			s.a.cfg.Log.dropped(Agent, fmt.Sprintf("an item of a session that is loaded: %.80v", item))
			continue
		}
		s.update(what)
	}
}

func (a *agent) listSessions(_ json.RawMessage, p params) (string, error) {
	if p.Cursor != nil {
		return "", wrongParams("cursor is %q, and no list was longer than its first page", *p.Cursor)
	}
	a.mu.Lock()
	all := a.sorted()
	a.mu.Unlock()
	f, first := frame(`{"sessions":[`), true
	for _, s := range all {
		s.mu.Lock()
		if p.Cwd == nil || *p.Cwd == s.cwd {
			if !first {
				f = f.raw(`,`)
			}
			first = false
			f = f.raw(`{"sessionId":`).str(s.id).raw(`,"cwd":`).str(s.cwd).field("title", s.title).
				raw(`,"updatedAt":`).str(s.touched.UTC().Format(time.RFC3339)).raw(`}`)
		}
		s.mu.Unlock()
	}
	return string(f.raw(`]}`)), nil
}

func (a *agent) closeSession(id json.RawMessage, p params) (string, error) {
	s, err := a.known(p)
	if err != nil {
		return "", err
	}
	return a.inTurn(id, s.id, func(ctx context.Context) (string, error) {
		if err := s.gone(); err != nil {
			return "", err
		}
		return "{}", s.stop(ctx)
	})
}

func (a *agent) deleteSession(id json.RawMessage, p params) (string, error) {
	s, err := a.known(p)
	if err != nil {
		return "", err
	}
	return a.inTurn(id, s.id, func(ctx context.Context) (string, error) {
		if err := s.gone(); err != nil {
			return "", err
		}
		if err := s.stop(ctx); err != nil {
			return "", err
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.sessions, s.id)
		return "{}", nil
	})
}

func (a *agent) setMode(id json.RawMessage, p params) (string, error) {
	if p.ModeID == nil {
		return "", wrongParams("modeId is missing")
	}
	mode := modeOption
	p.ConfigID, p.Value = &mode, *p.ModeID
	return a.set(id, p, func(*session) frame { return frame(`{}`) })
}

func (a *agent) setOption(id json.RawMessage, p params) (string, error) {
	if p.ConfigID == nil {
		return "", wrongParams("configId is missing")
	}
	return a.set(id, p, func(s *session) frame { return s.options(frame(`{`)).raw(`}`) })
}

// set changes a setting. The updates follow the answer.
func (a *agent) set(id json.RawMessage, p params, answer func(*session) frame) (string, error) {
	s, err := a.session(p)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	err = s.change(*p.ConfigID, p.Value)
	says, options := answer(s), s.options(frame(`{"sessionUpdate":"config_option_update",`)).raw(`}`)
	mode := s.settings[0].value
	s.mu.Unlock()
	if err != nil {
		return "", err
	}
	a.answer(id, string(says), nil)
	s.update(func(f frame) frame { return append(f, options...) })
	if *p.ConfigID == modeOption {
		s.update(func(f frame) frame {
			return f.raw(`{"sessionUpdate":"current_mode_update","currentModeId":`).str(mode).raw(`}`)
		})
	}
	return "", nil
}

// change changes a setting. s.mu is locked.
func (s *session) change(id string, to any) error {
	i := slices.IndexFunc(s.settings, func(o setting) bool { return o.id == id })
	if i < 0 {
		return wrongParams("there is no config option %q", id)
	}
	o := &s.settings[i]
	if on, ok := to.(bool); ok && o.boolean {
		o.on = on
		return nil
	}
	if o.boolean {
		return wrongParams("config option %s cannot be %v; it is true or false", id, to)
	}
	value, ok := to.(string)
	if !ok || !slices.Contains(o.values(), value) {
		return wrongParams("config option %s cannot be %v; it has %s", id, to, strings.Join(o.values(), ", "))
	}
	o.value = value
	return nil
}

// prompting is the id of the prompt that runs.
func (s *session) prompting() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prompt
}

func (a *agent) prompt(id json.RawMessage, p params) (string, error) {
	s, err := a.session(p)
	if err != nil {
		return "", err
	}
	if p.Prompt == nil {
		return "", wrongParams("prompt is missing")
	}
	text, with, err := readPrompt(*p.Prompt)
	if err != nil {
		return "", wrongParams("%v", err)
	}
	s.mu.Lock()
	busy := s.prompt != nil
	if !busy {
		s.prompt, s.stopped, s.touched = id, false, time.Now() // before the turn, whose events may come before SendTurn returns
	}
	s.mu.Unlock()
	if busy {
		return "", &Error{Code: InvalidRequest, Message: "session " + s.id + " has a prompt that runs; wait for its answer, or cancel it"}
	}
	sent := false
	defer func() {
		if !sent {
			s.mu.Lock()
			s.prompt = nil
			s.mu.Unlock()
		}
	}()
	if _, err = a.provider.SendTurn(a.ctx, fakeagent.TurnInput{ThreadID: s.id, Text: text, Attachments: with}); err != nil {
		return "", err
	}
	sent = true
	return "", nil
}

func (a *agent) cancel(p params) {
	if s, err := a.session(p); err == nil {
		s.interrupt("")
	}
}

// ended answers the prompt.
func (s *session) ended(p event.TurnCompleted) {
	s.unask("", true, "the turn ended")
	s.mu.Lock()
	id := s.prompt
	s.prompt, s.touched = nil, time.Now()
	s.mu.Unlock()
	if id == nil {
		s.a.cfg.Log.dropped(Agent, "the end of a turn that no prompt began")
		return
	}
	switch p.State {
	case event.TurnEndFailed:
		end := p.Ending()
		s.a.conn.send(failure(id, &Error{Code: cmp.Or(end.Code, InternalError), Message: end.Message}))
	case event.TurnEndCompleted:
		s.a.conn.send(result(id, `{"stopReason":"end_turn"}`))
	default:
		s.a.conn.send(result(id, `{"stopReason":"cancelled"}`))
	}
}

// tell tells the client of a tool call. of makes it of what the client knows; over: nothing comes any more.
func (s *session) tell(id string, over bool, of func(before toolCall) toolCall) {
	s.mu.Lock()
	state := s.numberedCall(id)
	c, begun, profile := of(state.toolCall), state.begun, s.a.cfg.Profile
	if state.toolCall, state.begun = c, true; over {
		delete(s.calls, id)
	}
	s.mu.Unlock()
	how := c.end
	switch {
	case begun:
	case !c.done:
		how = c.begin
	case profile == Seed: // which has no call all at once
		s.update(func(f frame) frame { return c.begin(f, profile) })
	default:
		how = c.past
	}
	s.update(func(f frame) frame { return how(f, profile) })
}

// task tells of a task, which is a call of a tool.
func (s *session) task(e event.Event) {
	item, id, _ := s.tasks.Item(e)
	call, _ := item.(timeline.ToolCall)
	s.tell(id, call.Status != timeline.Running, func(before toolCall) toolCall {
		c := pastCall(call)
		c.id, c.cwd, c.task = before.id, before.cwd, e.Payload
		return c
	})
}

// numberedCall is what is known of a call. s.mu is locked.
func (s *session) numberedCall(id string) *callState {
	state := s.calls[id]
	if state == nil {
		s.numbered++
		state = &callState{n: s.numbered, toolCall: toolCall{id: id, cwd: s.cwd}}
		if s.a.cfg.Profile == Seed {
			state.id = "tc_" + strconv.Itoa(state.n)
		}
		s.calls[id] = state
	}
	return state
}

func (s *session) turnStarted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.said)
	clear(s.calls) // those that the last turn has left open
	s.tasks = event.Fold{}
}

// say sends a piece of a message.
func (s *session) say(kind string, e event.Event, text string) {
	s.mu.Lock()
	s.said[said{kind, cmp.Or(e.ItemID, e.TurnID)}] = true
	s.mu.Unlock()
	s.update(func(f frame) frame { return chunk(f, kind, e.ItemID, text, s.a.cfg.Profile) })
}

// whole sends a message of which no piece was sent.
func (s *session) whole(kind string, e event.Event, p event.Item, over bool) {
	s.mu.Lock()
	again := s.said[said{kind, cmp.Or(e.ItemID, e.TurnID)}]
	s.mu.Unlock()
	if over && !again && p.Detail != "" {
		s.update(func(f frame) frame { return chunk(f, kind, e.ItemID, p.Detail, s.a.cfg.Profile) })
	}
}

// An answer is a choice of the user's, in the provider's words and in the protocol's.
var answers = []struct {
	decision         fakeagent.Decision
	id, name, kindOf string
}{
	{fakeagent.Accept, "allow-once", "Allow once", "allow_once"},
	{fakeagent.AcceptForSession, "allow-always", "Always allow", "allow_always"},
	{fakeagent.Decline, "reject-once", "Reject", "reject_once"},
}

// askPermission asks the client, and answers the provider with what it says.
func (s *session) askPermission(e event.Event, p event.RequestOpened) {
	s.mu.Lock()
	call := s.numberedCall(cmp.Or(e.ItemID, e.RequestID)).id
	s.mu.Unlock()
	f := s.permission(call, p.Detail)
	var offered []string
	for _, o := range answers {
		if len(p.Options) > 0 && !slices.Contains(p.Options, string(o.decision)) {
			continue
		}
		f = permissionOption(f, len(offered), o.id, o.name, o.kindOf)
		offered = append(offered, o.id)
	}
	s.mu.Lock() // so that the answer, which may come at once from a connection that is closed, finds the request
	id := s.a.conn.number(func(result json.RawMessage, err *Error) {
		s.mu.Lock()
		delete(s.asked, e.RequestID)
		s.mu.Unlock()
		if err == errGone {
			return
		}
		_ = s.a.provider.RespondToRequest(s.a.ctx, s.id, e.RequestID, decision(result, err, offered)) // one that is over needs no answer
	})
	s.asked[e.RequestID] = id
	s.mu.Unlock()
	s.a.conn.post(id, "session/request_permission", f.raw(`]}`))
}

// permission begins the params of session/request_permission, up to its options.
func (s *session) permission(call, title string) frame {
	return frame(`{"sessionId":`).str(s.id).raw(`,"toolCall":{"toolCallId":`).str(call).raw(`,"title":`).str(title).raw(`,"status":"pending"},"options":[`)
}

// permissionOption is the option with the index i.
func permissionOption(f frame, i int, id, name, kind string) frame {
	if i > 0 {
		f = f.raw(`,`)
	}
	return f.raw(`{"optionId":`).str(id).raw(`,"name":`).str(name).raw(`,"kind":`).str(kind).raw(`}`)
}

// outcome is what the client answers to a permission.
type outcome struct{ Outcome, OptionID string }

func outcomeOf(result json.RawMessage, err *Error) outcome {
	var r struct{ Outcome outcome }
	if err != nil || json.Unmarshal(result, &r) != nil {
		return outcome{}
	}
	return r.Outcome
}

// decision is what the client says. One that could not ask, or says something else, has not allowed it.
func decision(result json.RawMessage, err *Error, offered []string) fakeagent.Decision {
	r := outcomeOf(result, err)
	if r.Outcome == "cancelled" {
		return fakeagent.Cancel
	}
	for _, o := range answers {
		if r.Outcome == "selected" && o.id == r.OptionID && slices.Contains(offered, o.id) {
			return o.decision
		}
	}
	return fakeagent.Decline
}

// resolved withdraws a question that nobody has answered in time. After a cancel it is the client's turn to answer.
func (s *session) resolved(requestID, decision string) {
	s.mu.Lock()
	id, open := s.asked[requestID]
	s.mu.Unlock()
	if open && decision != string(fakeagent.Cancel) {
		s.a.conn.cancel(id)
	}
}

func (s *session) retitle(title string) {
	s.mu.Lock()
	s.title = title
	s.mu.Unlock()
	s.update(func(f frame) frame {
		return f.raw(`{"sessionUpdate":"session_info_update","title":`).str(title).raw(`}`)
	})
}
