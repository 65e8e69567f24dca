package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
)

// Profile is how an agent behaves where the protocol leaves it open, or where real ones break it.
type Profile string

const (
	// Plain is valid and calm: every frame is as the protocol's schema has it. "" is Plain.
	Plain Profile = "plain"

	// Seed is the mock that this one goes back to, with its quirks: no capabilities, thoughts whose content has no type, an error beside
	// the status of a failed call, calls named tc_1 and on, requests that count from 100, and nothing in _meta.
	Seed Profile = "seed"
)

// AgentConfig says how an agent speaks.
type AgentConfig struct {
	// Open makes the provider that plays, when the client has said who it is. Its events reach the client until the connection ends. It is
	// not closed. Open, StartSession and SendTurn are called by the goroutine that reads: what comes meanwhile waits.
	Open func(*Client) (fakeagent.Provider, error)

	Profile Profile

	// SessionID is the id of the nth session, from 1; nil counts sess-1, sess-2 and on. If it repeats an id, the new session takes the
	// place of the old one.
	SessionID func(n int) string

	InitializeDelay time.Duration // before initialize is answered
	NewSessionDelay time.Duration // before session/new is answered

	// AuthRequired refuses sessions with the code -32000 until the client has called authenticate.
	AuthRequired bool

	// EarlyUpdate tells the client of the agent's commands before session/new is answered, as some agents do: an update for a session
	// that the client does not know yet.
	EarlyUpdate bool

	// Exit and Stderr do what the steps of that name say. When Exit is called, nothing is written any more, also if it is nil.
	Exit   func(event.ProcessExit)
	Stderr func(text string)

	Log *Log // collects what goes over the connection; nil collects nothing
}

// Serve is the agent's side of a connection. It reads lines from in until that ends, and writes each line to out with one call of Write,
// never two at a time. It returns the error of in, nil at its end. What is still played goes on, and is written to out until ctx ends.
//
// It answers initialize, authenticate, logout, session/new, load, resume, list, close, delete, set_mode, set_config_option and prompt, and
// obeys session/cancel and $/cancel_request. An unknown request gets the code -32601, one with wrong params -32602 and what is wrong. An
// unknown notification, an answer that nobody waits for and a line that is no message are ignored, as real agents do, and the log says so.
//
// A panic of the provider is the answer to the request that it was called for, and the log has its stack.
//
// Beyond the protocol it answers _understudy/gate, with which a test reaches the gates of an agent in another process.
func Serve(ctx context.Context, in io.Reader, out io.Writer, cfg AgentConfig) error {
	if cfg.SessionID == nil {
		cfg.SessionID = func(n int) string { return fmt.Sprintf("sess-%d", n) }
	}
	firstID := 0
	if cfg.Profile == Seed {
		firstID = 100
	}
	a := &agent{cfg: cfg, ctx: ctx, conn: newConn(ctx, Agent, out, cfg.Log, firstID), sessions: map[string]*session{}, last: map[string]chan struct{}{}, waiting: map[string]*waiting{}}
	context.AfterFunc(ctx, a.close)
	return a.conn.read(in, a.handle)
}

type agent struct {
	cfg  AgentConfig
	ctx  context.Context // of all that is played
	conn *conn

	mu          sync.Mutex
	provider    fakeagent.Provider // nil before initialize
	unsubscribe func()
	booleans    bool // the client knows options that are true or false
	notices     bool
	compaction  bool
	forms       bool // the client shows forms
	signedIn    bool
	made        int // sessions so far
	sessions    map[string]*session
	last        map[string]chan struct{} // by a session's id: closed when what was asked last of it as a whole is answered
	waiting     map[string]*waiting      // requests that are answered later, by id
}

// waiting is a request that is answered later.
type waiting struct{ cancel context.CancelFunc }

// close is the end of ctx.
func (a *agent) close() {
	a.mu.Lock()
	off := a.unsubscribe
	a.mu.Unlock()
	if off != nil {
		off()
	}
	a.conn.close()
}

// handlers are the requests that this side answers. A handler's error is the answer; so is its result, unless it is "", when the answer
// comes later.
var handlers = map[string]func(*agent, json.RawMessage, params) (string, error){
	"initialize":                (*agent).initialize,
	"authenticate":              (*agent).authenticate,
	"logout":                    (*agent).logout,
	"session/new":               (*agent).newSession,
	"session/load":              (*agent).loadSession,
	"session/resume":            (*agent).resumeSession,
	"session/list":              (*agent).listSessions,
	"session/close":             (*agent).closeSession,
	"session/delete":            (*agent).deleteSession,
	"session/set_mode":          (*agent).setMode,
	"session/set_config_option": (*agent).setOption,
	"session/prompt":            (*agent).prompt,
	gateMethod:                  (*agent).gate,
}

// params are those of all requests.
type params struct {
	ProtocolVersion *int `json:"protocolVersion"`
	ClientInfo      struct {
		Name string `json:"name"`
	} `json:"clientInfo"`
	Capabilities ClientCapabilities `json:"clientCapabilities"`
	MethodID     *string            `json:"methodId"`
	SessionID    *string            `json:"sessionId"`
	Cwd          *string            `json:"cwd"`
	Cursor       *string            `json:"cursor"`
	MCPServers   *[]json.RawMessage `json:"mcpServers"`
	ModeID       *string            `json:"modeId"`
	ConfigID     *string            `json:"configId"`
	Value        any                `json:"value"`
	Prompt       *[]block           `json:"prompt"`
	Gate         string             `json:"gate"`
	Do           string             `json:"do"`
	RequestID    json.RawMessage    `json:"requestId"`
}

func wrongParams(format string, args ...any) error {
	return &Error{Code: InvalidParams, Message: "Invalid params: " + sentence(format, args...)}
}

func (a *agent) handle(m message) {
	var p params
	var err error
	if len(m.Params) > 0 {
		if err = json.Unmarshal(m.Params, &p); err != nil {
			err = wrongParams("%s", plain(err))
		}
	}
	if !m.isRequest() {
		if err != nil {
			return
		}
		switch m.Method {
		case "session/cancel":
			a.cancel(p)
		case "$/cancel_request":
			a.cancelRequest(string(p.RequestID))
		}
		return
	}
	handler := handlers[m.Method]
	if handler == nil {
		err = &Error{Code: MethodNotFound, Message: fmt.Sprintf("Method not found: %q", m.Method)}
	} else if a.provider == nil && m.Method != "initialize" {
		err = &Error{Code: InvalidRequest, Message: m.Method + " came before initialize"}
	}
	var answer string
	if err == nil {
		answer, err = a.call(func() (string, error) { return handler(a, m.ID, p) })
	}
	a.answer(m.ID, answer, err)
}

// call calls what may call the provider.
func (a *agent) call(do func() (string, error)) (answer string, err error) {
	defer func() {
		if r := recover(); r != nil {
			a.cfg.Log.add(Agent, nil, fmt.Sprintf("the provider panicked: %v\n%s", r, debug.Stack()))
			err = fmt.Errorf("the provider panicked: %v", r)
		}
	}()
	return do()
}

// answer is the end of a request, unless it comes later.
func (a *agent) answer(id json.RawMessage, value string, err error) {
	switch e := err.(type) {
	case nil:
		if value != "" {
			a.conn.send(result(id, value))
		}
	case *Error:
		a.conn.send(failure(id, e))
	default:
		a.conn.send(failure(id, &Error{Code: InternalError, Message: err.Error()}))
	}
}

// later answers a request on a goroutine of its own, which the client may cancel. then is called when the answer is written.
func (a *agent) later(id json.RawMessage, do func(context.Context) (string, error), then ...func()) (string, error) {
	ctx, cancel := context.WithCancel(a.ctx)
	w := &waiting{cancel}
	a.mu.Lock()
	a.waiting[string(id)] = w
	a.mu.Unlock()
	go func() {
		defer cancel()
		answer, err := a.call(func() (string, error) { return do(ctx) })
		a.mu.Lock()
		if a.waiting[string(id)] == w { // or the client has used the id twice
			delete(a.waiting, string(id))
		}
		a.mu.Unlock()
		if err != nil && ctx.Err() != nil {
			err = &Error{Code: RequestCancelled, Message: "Request cancelled"}
		}
		a.answer(id, answer, err)
		for _, fn := range then {
			fn()
		}
	}()
	return "", nil
}

// delayed is do after a while.
func (a *agent) delayed(id json.RawMessage, d time.Duration, do func() (string, error)) (string, error) {
	if d <= 0 {
		return do()
	}
	return a.later(id, func(ctx context.Context) (string, error) {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return do()
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
}

func (a *agent) cancelRequest(id string) {
	a.mu.Lock()
	w, all := a.waiting[id], a.sorted()
	a.mu.Unlock()
	if w != nil {
		w.cancel()
		return
	}
	for _, s := range all {
		if prompt := s.prompting(); prompt != nil && string(prompt) == id {
			s.interrupt("")
		}
	}
}

const latest = 1 // version of the protocol

func (a *agent) initialize(id json.RawMessage, p params) (string, error) {
	if p.ProtocolVersion == nil {
		return "", wrongParams("protocolVersion is missing")
	}
	if a.provider != nil {
		return "", &Error{Code: InvalidRequest, Message: "initialize came twice"}
	}
	provider, err := a.cfg.Open(&Client{Name: p.ClientInfo.Name, Capabilities: p.Capabilities, conn: a.conn})
	if err != nil {
		return "", err
	}
	session := p.Capabilities.Session
	a.booleans, a.notices, a.compaction = session.ConfigOptions.Boolean != nil, session.Notices != nil, session.Compaction != nil
	a.forms = p.Capabilities.Elicitation.Form != nil
	a.mu.Lock()
	a.provider = provider
	a.mu.Unlock()
	off := provider.Subscribe(a.on)
	a.mu.Lock()
	a.unsubscribe = off
	a.mu.Unlock()
	if a.ctx.Err() != nil { // before close could know
		off()
	}
	return a.delayed(id, a.cfg.InitializeDelay, func() (string, error) {
		f := frame(`{"protocolVersion":`).json(latest)
		if a.cfg.Profile == Seed {
			return string(f.raw(`,"agentCapabilities":{}}`)), nil
		}
		probe, err := provider.Probe(a.ctx)
		if err != nil {
			return "", err
		}
		f = f.raw(`,"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"audio":true,"embeddedContext":true},` +
			`"mcpCapabilities":{"http":true,"sse":true},"sessionCapabilities":{"list":{},"delete":{},"resume":{},"close":{}},"auth":{"logout":{}}},` +
			`"authMethods":[{"id":"` + authMethod + `","name":"Sign in","description":"Always succeeds, and asks nothing"}],` +
			`"agentInfo":{"name":`).str(probe.ID).raw(`,"title":`).str(probe.Label).raw(`,"version":"1.0.0"}}`)
		return string(f), nil
	})
}

const authMethod = "fake-sign-in"

func (a *agent) authenticate(_ json.RawMessage, p params) (string, error) {
	switch {
	case p.MethodID == nil:
		return "", wrongParams("methodId is missing")
	case *p.MethodID != authMethod:
		return "", wrongParams("methodId is %q, use %q", *p.MethodID, authMethod)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.signedIn = true
	return "{}", nil
}

func (a *agent) logout(json.RawMessage, params) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.signedIn = false
	return "{}", nil
}

// gateMethod lets a test in another process use a gate.
const gateMethod = "_understudy/gate"

func (a *agent) gate(id json.RawMessage, p params) (string, error) {
	s, err := a.session(p)
	if err != nil {
		return "", err
	}
	provider, ok := a.provider.(interface {
		Gate(threadID, name string) *fakeagent.Gate
	})
	if !ok {
		return "", &Error{Code: MethodNotFound, Message: "this agent has no gates"}
	}
	gate := provider.Gate(s.id, p.Gate)
	switch p.Do {
	case "release":
		a.answer(id, "{}", nil) // before the agent goes on, so that the order of the lines is always the same
		gate.Release()
		return "", nil
	case "close":
		gate.Close()
	case "await":
		return a.later(id, func(ctx context.Context) (string, error) { return "{}", gate.AwaitHeld(patient{ctx}) })
	default:
		return "", wrongParams("do is %q, use await, release or close", p.Do)
	}
	return "{}", nil
}

// patient is a context with a deadline that nobody sees: how long to wait is the client's to say.
type patient struct{ context.Context }

func (patient) Deadline() (time.Time, bool) { return time.Now().Add(1000 * time.Hour), true }

// on tells the client of an event. It runs on the goroutine of the turn: a client that does not read holds the agent up, as it does a real
// one.
func (a *agent) on(e event.Event) {
	a.mu.Lock()
	s := a.sessions[e.ThreadID]
	a.mu.Unlock()
	if s == nil {
		return
	}
	switch p := e.Payload.(type) {
	case event.SessionStarted:
	case event.TurnStarted:
		s.turnStarted()
	case event.Delta:
		switch p.Stream {
		case event.AssistantText:
			s.say("agent_message_chunk", e, p.Text)
		case event.ReasoningText, event.ReasoningSummary:
			s.say("agent_thought_chunk", e, p.Text)
		default:
			a.cfg.Log.dropped(Agent, "text of the stream "+string(p.Stream))
		}
	case event.ItemStarted:
		a.item(s, e, p.Item, false)
	case event.ItemUpdated:
		a.item(s, e, p.Item, false)
	case event.ItemCompleted:
		a.item(s, e, p.Item, true)
	case event.PlanUpdated:
		s.update(func(f frame) frame { return plan(f, p.Plan) })
	case event.TokenUsageUpdated:
		s.update(func(f frame) frame { return usage(f, p.Usage, a.cfg.Profile) })
	case event.RequestOpened:
		s.askPermission(e, p)
	case event.RequestResolved:
		s.resolved(e.RequestID, p.Decision)
	case event.UserInputRequested:
		s.askUser(e, p)
	case event.UserInputResolved:
		why := "canceled"
		if p.Answers != nil {
			why = "answered by somebody else"
		}
		s.unask(e.RequestID, false, why)
	case event.TaskStarted, event.TaskProgress, event.TaskCompleted:
		s.task(e)
	case event.RuntimeError:
		a.notice(s, "error", p.Message)
	case event.ProcessExit:
		a.conn.close()
		if a.cfg.Exit != nil {
			a.cfg.Exit(p)
		}
	case event.ProcessStderr:
		if a.cfg.Stderr != nil {
			a.cfg.Stderr(p.Text)
		}
	case event.ProcessRaw:
		a.conn.write(p.Bytes, "raw bytes of the script")
	case event.TurnCompleted:
		s.ended(p)
	case event.SessionExited:
		s.exited()
	case event.Raw:
		a.raw(s, p)
	default:
		a.cfg.Log.dropped(Agent, p.Type())
	}
}

// item is an item's beginning or end.
func (a *agent) item(s *session, e event.Event, p event.Item, over bool) {
	id := cmp.Or(e.ItemID, e.TurnID)
	switch p.ItemType {
	case event.UserMessage:
		s.whole("user_message_chunk", e, p, over)
		return
	case event.AssistantMessage:
		s.whole("agent_message_chunk", e, p, over)
		return
	case event.Reasoning:
		s.whole("agent_thought_chunk", e, p, over)
		return
	case event.ErrorItem:
		if over && p.Detail != "" {
			a.notice(s, "error", p.Detail)
		}
		return
	case event.Compaction:
		status := "in_progress"
		if over {
			status = "completed"
		}
		if p.Status == event.Failed {
			status = "failed"
		}
		if !a.compaction {
			a.cfg.Log.dropped(Agent, "a compaction, which the client does not offer to show")
			return
		}
		if over && p.Detail != "" {
			s.update(func(f frame) frame {
				return f.raw(`{"sessionUpdate":"compaction_summary_chunk","compactionId":`).str(id).raw(`,"content":{"type":"text","text":`).str(p.Detail).raw(`}}`)
			})
		}
		s.update(func(f frame) frame {
			return f.raw(`{"sessionUpdate":"compaction_update","compactionId":`).str(id).raw(`,"status":`).str(status).raw(`}`)
		})
		return
	}
	s.tell(id, over, func(before toolCall) toolCall { return callOf(before, p, over) })
}

// notice tells the user something, where the client has a place for it.
func (a *agent) notice(s *session, severity, title string) {
	if !a.notices || title == "" {
		a.cfg.Log.dropped(Agent, "a notice, which the client does not offer to show: "+title)
		return
	}
	s.update(func(f frame) frame {
		return f.raw(`{"sessionUpdate":"notice","severity":`).str(severity).raw(`,"title":`).str(title).raw(`}`)
	})
}

// raw is an event that package event does not know, and the protocol does.
func (a *agent) raw(s *session, p event.Raw) {
	var says struct{ Message, Name, Title string }
	_ = json.Unmarshal(p.JSON, &says)
	switch p.Name {
	case "runtime.warning":
		a.notice(s, "warning", says.Message)
	case "thread.metadata.updated":
		if title := cmp.Or(says.Name, says.Title); title != "" {
			s.retitle(title)
			return
		}
		fallthrough
	default:
		a.cfg.Log.dropped(Agent, p.Name)
	}
}

// sorted are all sessions, in the order in which they were made. a.mu is locked.
func (a *agent) sorted() []*session {
	all := make([]*session, 0, len(a.sessions))
	for _, s := range a.sessions {
		all = append(all, s)
	}
	slices.SortFunc(all, func(x, y *session) int { return x.n - y.n })
	return all
}
