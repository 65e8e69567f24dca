package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/mockproc/internal/signals"
)

// Process is what [NewProvider] needs of a process; mockproc.Process is one.
type Process interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Exited() <-chan struct{}
	ExitCode() int
	ExitSignal() os.Signal
}

// Provider is the client's side of a connection: an agent in a process, as a host drives it. It offers the agent neither files nor
// terminals, and leaves every permission to who drives it, and every form, which is a question. The protocol has no steers: each is refused.
//
// Unlike those of an instance, its events are handed on by a goroutine of the thread: the agent does not wait for its subscribers. The ids of
// calls and messages are the agent's; one that is used again in a later turn is another thing, and has "~" and the number of its turn behind it.
type Provider struct {
	process Process
	conn    *conn
	log     Log
	ended   chan struct{} // closed when the connection is over

	out    *queue
	begin  sync.Once
	ready  chan struct{} // closed when initialize is answered
	failed error         // why it was not
	info   fakeagent.Probe
	can    struct{ http, sse, load, resume, close bool }

	mu      sync.Mutex
	subs    []*func(event.Event)
	threads map[string]*thread
	of      map[string]*thread           // by the agent's session
	early   map[string][]json.RawMessage // updates for sessions that are not known yet
	kept    int                          // how many these are
	gates   map[string][]string          // what is to be done at gates of threads that have no session yet: do, gate, do, gate
	closing bool
	gone    error // why the connection is over
}

var _ fakeagent.Provider = (*Provider)(nil)

// NewProvider is the agent that runs in a process and speaks on its stdin and stdout, which it takes for itself; whoever started the
// process still reads its stderr. The connection is opened with the first session.
//
// No command waits for the agent to read: what it is told is written by a goroutine of its own.
//
// The connection ends when the output does, when the process exits, or with [Provider.Close]; then both pipes are closed. Where the process
// has a method Cleanup(func()), as a *mockproc.Mock has, it is closed at the end of the test.
func NewProvider(p Process) *Provider {
	c := &Provider{
		process: p, ended: make(chan struct{}), ready: make(chan struct{}),
		info:    fakeagent.Probe{ID: "acp", Label: "ACP agent"},
		threads: map[string]*thread{}, of: map[string]*thread{}, early: map[string][]json.RawMessage{}, gates: map[string][]string{},
		out: &queue{out: p.Stdin()},
	}
	c.conn = newConn(context.Background(), Host, c.out, &c.log, 0)
	go c.run()
	if at, ok := p.(interface{ Cleanup(func()) }); ok {
		at.Cleanup(func() { _ = c.Close() })
	}
	return c
}

// exitLimit is how long the end of the output and the exit of the process may be apart.
const exitLimit = 2 * time.Second

// run reads what the agent says, until it ends.
func (c *Provider) run() {
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = c.conn.read(c.process.Stdout(), c.handle)
	}()
	select { // one of the two, and then the other: what was written before the exit is still to be read
	case <-over:
		wait(c.process.Exited(), exitLimit)
	case <-c.process.Exited():
		wait(over, exitLimit)
	}
	c.mu.Lock()
	c.gone = c.whyGone()
	graceful := c.closing && c.process.ExitSignal() == nil && c.process.ExitCode() == 0
	threads := make([]*thread, 0, len(c.threads))
	for _, id := range slices.Sorted(maps.Keys(c.threads)) {
		threads = append(threads, c.threads[id])
	}
	c.mu.Unlock()
	c.conn.close()
	for _, th := range threads {
		th.lost(c.gone, graceful)
	}
	_ = c.process.Stdin().Close()
	if out, ok := c.process.Stdout().(io.Closer); ok { // it may be open still, in a process that this one has started
		_ = out.Close()
	}
	close(c.ended)
}

func wait(for_ <-chan struct{}, limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-for_:
	case <-t.C:
	}
}

// whyGone says how the process ended.
func (c *Provider) whyGone() error {
	select {
	case <-c.process.Exited():
	default:
		return errors.New("the agent closed its output")
	}
	exit := event.ProcessExit{Code: c.process.ExitCode()}
	if s := c.process.ExitSignal(); s != nil {
		exit.Signal = signals.Name(s)
	}
	return errors.New(exit.String())
}

// closeLimit is how long Close waits.
const closeLimit = 10 * time.Second

// Close closes the agent's stdin, when all is written that it was told, and waits until it has exited, for 10 seconds. It does not kill it.
func (c *Provider) Close() error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	until, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	await := func(over <-chan struct{}) {
		select {
		case <-over:
		case <-until.Done():
		}
	}
	await(c.out.empty())
	err := c.process.Stdin().Close()
	await(c.ended)
	await(c.process.Exited())
	select {
	case <-c.process.Exited():
		return nil
	default:
		return errors.Join(fmt.Errorf("acp: the agent has not exited %v after its stdin was closed", closeLimit), err)
	}
}

// gone is why a connection is over. It is an [fakeagent.ErrClosed].
type gone struct{ error }

func (gone) Is(target error) bool { return target == fakeagent.ErrClosed }

// lost is errGone with what is known of it.
func (c *Provider) lost(err error) error {
	if err != error(errGone) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return gone{c.gone}
}

// Transcript is what went over the connection.
func (c *Provider) Transcript() Transcript { return c.log.Transcript() }

// GomegaString is how a failure message shows the provider.
func (c *Provider) GomegaString() string { return c.Transcript().String() }

// GoString is what %#v prints, which Gomega does of whatever stands behind a context in Eventually(ctx, …): without it package fmt would
// read what others write.
func (c *Provider) GoString() string { return "the provider" }

// connect initializes the connection, once.
func (c *Provider) connect(ctx context.Context) error {
	first := false
	c.begin.Do(func() { first = true })
	if first {
		c.conn.ask("initialize", frame(`{"protocolVersion":1,"clientCapabilities":{"session":{"notices":{},"compaction":{}},"elicitation":{"form":{}}},`+
			`"clientInfo":{"name":"understudy","version":"1.0.0"}}`),
			func(raw json.RawMessage, e *Error) {
				defer close(c.ready)
				switch {
				case e == errGone:
					c.failed = fmt.Errorf("acp: initialize was not answered: %w%s", c.lost(e), c.noise())
					return
				case e != nil:
					c.failed = fmt.Errorf("acp: initialize: %w", e)
					return
				}
				c.failed = c.initialized(raw)
			})
	}
	select {
	case <-c.ready:
		return c.failed
	case <-ctx.Done():
		return fmt.Errorf("acp: initialize is not answered: %w%s", context.Cause(ctx), c.noise())
	}
}

// noise is what the agent said last that was no message, for an error: it may be no agent at all.
func (c *Provider) noise() string {
	for _, m := range slices.Backward(c.log.Transcript()) {
		if m.From == Agent && m.Note != "" && m.Line != "" {
			return fmt.Sprintf("; it said %.80q (%s)", m.Line, m.Note)
		}
	}
	return ""
}

func (c *Provider) initialized(raw json.RawMessage) error {
	var r struct {
		ProtocolVersion int `json:"protocolVersion"`
		AgentInfo       struct {
			Name  string `json:"name"`
			Title string `json:"title"`
		} `json:"agentInfo"`
		Capabilities struct {
			LoadSession bool                        `json:"loadSession"`
			MCP         struct{ HTTP, SSE bool }    `json:"mcpCapabilities"`
			Session     struct{ Resume, Close any } `json:"sessionCapabilities"`
		} `json:"agentCapabilities"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("acp: the answer to initialize: %s", plain(err))
	}
	if r.ProtocolVersion != latest {
		return fmt.Errorf("acp: the agent speaks version %d of the protocol, and this client %d", r.ProtocolVersion, latest)
	}
	if r.AgentInfo.Name != "" {
		c.info = fakeagent.Probe{ID: r.AgentInfo.Name, Label: cmp.Or(r.AgentInfo.Title, r.AgentInfo.Name)}
	}
	c.can.http, c.can.sse = r.Capabilities.MCP.HTTP, r.Capabilities.MCP.SSE
	c.can.load, c.can.resume, c.can.close = r.Capabilities.LoadSession, r.Capabilities.Session.Resume != nil, r.Capabilities.Session.Close != nil
	return nil
}

// Probe says what the agent calls itself.
func (c *Provider) Probe(ctx context.Context) (fakeagent.Probe, error) {
	if err := c.connect(ctx); err != nil {
		return fakeagent.Probe{}, err
	}
	return c.info, nil
}

func (c *Provider) StartSession(ctx context.Context, s fakeagent.SessionConfig) error {
	if s.ThreadID == "" {
		return errors.New("acp: StartSession: ThreadID is empty; give each agent an id of its own")
	}
	if !filepath.IsAbs(s.Cwd) {
		return fmt.Errorf("acp: StartSession: Cwd is %q; the protocol wants an absolute folder", s.Cwd)
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	if c.gone != nil {
		defer c.mu.Unlock()
		return fmt.Errorf("acp: %w", gone{c.gone})
	}
	th := c.threads[s.ThreadID]
	if th == nil {
		th = &thread{c: c, id: s.ThreadID}
		c.threads[s.ThreadID] = th
	}
	c.mu.Unlock()
	th.mu.Lock()
	if th.open || th.opening != nil {
		th.mu.Unlock()
		return fmt.Errorf("acp: session %s is open already; stop it first and wait for its session.exited", th.id)
	}
	o := &opening{}
	th.opening = o
	known := th.session
	th.mu.Unlock()

	for _, m := range s.MCPServers {
		if kind := serverKind(m); kind == "http" && !c.can.http || kind == "sse" && !c.can.sse {
			c.log.dropped(Host, fmt.Sprintf("MCP server %s, by an agent that does not offer mcpCapabilities.%s", m.Name, kind))
		}
	}
	method, f := "session/new", frame(`{"cwd":`).str(s.Cwd).raw(`,"mcpServers":`).raw(string(writeServers(s.MCPServers)))
	if known != "" && (c.can.resume || c.can.load) {
		method = "session/load"
		if c.can.resume {
			method = "session/resume"
		}
		f = f.raw(`,"sessionId":`).str(known)
	} else {
		known = ""
	}
	answered := make(chan error, 1)
	id := c.conn.ask(method, f.raw(`}`), func(raw json.RawMessage, e *Error) { // still on the goroutine that reads, so no update comes between
		answered <- th.opened(o, known, raw, e)
	})
	var err error
	select {
	case err = <-answered:
	case <-ctx.Done():
		if th.giveUp(o) {
			c.conn.cancel(id)
			return fmt.Errorf("acp: %s is not answered: %w", method, context.Cause(ctx))
		}
		err = <-answered // which came at the same time
	}
	if err != nil {
		return fmt.Errorf("acp: %s: %w", method, c.lost(err))
	}
	return nil
}

// serverKind is how the protocol calls the way to a server; a command has no name for it.
func serverKind(m fakeagent.MCPServer) string {
	switch {
	case m.URL == "":
		return ""
	case m.SSE:
		return "sse"
	}
	return "http"
}

func writeServers(servers []fakeagent.MCPServer) frame {
	pairs := func(f frame, m map[string]string) frame {
		f = f.raw(`[`)
		for i, k := range slices.Sorted(maps.Keys(m)) {
			if i > 0 {
				f = f.raw(`,`)
			}
			f = f.raw(`{"name":`).str(k).raw(`,"value":`).str(m[k]).raw(`}`)
		}
		return f.raw(`]`)
	}
	f := frame(`[`)
	for i, m := range servers {
		if i > 0 {
			f = f.raw(`,`)
		}
		f = f.raw(`{"name":`).str(m.Name)
		if kind := serverKind(m); kind != "" {
			f = pairs(f.raw(`,"type":`).str(kind).raw(`,"url":`).str(m.URL).raw(`,"headers":`), m.Headers)
		} else {
			f = pairs(f.raw(`,"command":`).str(m.Command).raw(`,"args":`).json(append([]string{}, m.Args...)).raw(`,"env":`), m.Env)
		}
		f = f.raw(`}`)
	}
	return f.raw(`]`)
}

// locked is the thread of that id whose session is open, with its lock taken.
func (c *Provider) locked(id string) (*thread, error) {
	c.mu.Lock()
	th := c.threads[id]
	c.mu.Unlock()
	if th != nil {
		if th.mu.Lock(); th.open {
			return th, nil
		}
		th.mu.Unlock()
	}
	return nil, fmt.Errorf("acp: %w of thread %q", fakeagent.ErrNoSession, id)
}

// StopSession closes the session, or cancels its prompt if the agent knows no session/close.
func (c *Provider) StopSession(_ context.Context, threadID string) error {
	th, err := c.locked(threadID)
	if err != nil {
		return err
	}
	again := th.stopping
	th.stopping = true
	t, session := th.turn, th.session
	th.mu.Unlock()
	if again {
		return nil
	}
	if t != nil {
		t.interrupt()
		return nil // its end closes the session
	}
	th.exit(session)
	return nil
}

func (c *Provider) SendTurn(ctx context.Context, in fakeagent.TurnInput) (turnID string, err error) {
	th, err := c.locked(in.ThreadID)
	if err != nil {
		return "", err
	}
	switch {
	case th.stopping:
		err = fmt.Errorf("acp: %w of thread %q", fakeagent.ErrNoSession, th.id)
	case in.TurnID != "":
		err = fakeagent.Rejected(fmt.Errorf("agent %s %w: the protocol has no steers", th.id, fakeagent.ErrNotSteered))
	case th.turn != nil:
		err = fakeagent.Rejected(fmt.Errorf("agent %s %w", th.id, fakeagent.ErrBusy))
	}
	if err != nil {
		th.mu.Unlock()
		return "", err
	}
	return th.newTurn(ctx, in), nil
}

// InterruptTurn cancels the prompt, and answers the permissions that are open as cancelled.
func (c *Provider) InterruptTurn(_ context.Context, threadID, turnID string) error {
	th, err := c.locked(threadID)
	if err != nil {
		return err
	}
	t := th.turn
	th.mu.Unlock()
	if t != nil && (turnID == "" || turnID == t.id) {
		t.interrupt()
	}
	return nil
}

func (c *Provider) RespondToRequest(_ context.Context, threadID, requestID string, d fakeagent.Decision) error {
	th, err := c.locked(threadID)
	if err != nil {
		return err
	}
	r, t := th.requests[requestID], th.turn
	th.mu.Unlock()
	if r == nil || r.isForm {
		return fmt.Errorf("acp: %w %q in thread %s", fakeagent.ErrUnknownRequest, requestID, th.id)
	}
	outcome := cancelled
	if d != fakeagent.Cancel {
		option, ok := r.options[d]
		if !ok {
			return fmt.Errorf("acp: request %s offers %s, not %q", requestID, strings.Join(append(slices.Clone(r.offered), string(fakeagent.Cancel)), ", "), d)
		}
		outcome = string(frame(`{"outcome":{"outcome":"selected","optionId":`).str(option).raw(`}}`))
	}
	if !th.answer(requestID, r.resolved(d), outcome) {
		return fmt.Errorf("acp: %w %q in thread %s", fakeagent.ErrUnknownRequest, requestID, th.id)
	}
	if d == fakeagent.Cancel && t != nil {
		t.interrupt()
	}
	return nil
}

// RespondToUserInput answers a form. Without answers, nil, it declines.
func (c *Provider) RespondToUserInput(_ context.Context, threadID, requestID string, answers map[string]any) error {
	th, err := c.locked(threadID)
	if err != nil {
		return err
	}
	r := th.requests[requestID]
	th.mu.Unlock()
	unknown := fmt.Errorf("acp: %w %q in thread %s", fakeagent.ErrUnknownRequest, requestID, th.id)
	if r == nil || !r.isForm {
		return unknown
	}
	text, err := json.Marshal(answers)
	if err != nil {
		return fmt.Errorf("acp: the answers to request %s have no JSON form: %w", requestID, err)
	}
	var own map[string]any // which nobody changes, and which is as from another process
	_ = json.Unmarshal(text, &own)
	content, err := fill(r.form, own)
	if err != nil {
		return fmt.Errorf("acp: request %s %w", requestID, err)
	}
	says := `{"action":"decline"}`
	if answers != nil {
		says = string(frame(`{"action":"accept","content":`).raw(string(content)).raw(`}`))
	}
	if len(own) == 0 {
		own = nil
	}
	if !th.answer(requestID, event.UserInputResolved{Answers: own}, says) {
		return unknown
	}
	return nil
}

// ReadThread is what this side has kept of the thread.
func (c *Provider) ReadThread(_ context.Context, threadID string) (fakeagent.Thread, error) {
	c.mu.Lock()
	th := c.threads[threadID]
	c.mu.Unlock()
	if th == nil {
		return fakeagent.Thread{}, fmt.Errorf("acp: %w of thread %q", fakeagent.ErrNoSession, threadID)
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	out := fakeagent.Thread{ID: th.id, Turns: slices.Clone(th.history)}
	if t := th.turn; t != nil {
		out.Doing = "a prompt that the agent has not answered yet"
		out.Turns = append(out.Turns, fakeagent.Turn{ID: t.id, Items: th.items.Snapshot().Items()})
	}
	return out, nil
}

func (c *Provider) Subscribe(fn func(event.Event)) (unsubscribe func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &fn
	c.subs = append(slices.Clone(c.subs), p)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.subs = slices.DeleteFunc(slices.Clone(c.subs), func(q *func(event.Event)) bool { return q == p })
	}
}

// Gate is a gate of the agent, if that is one of ours: of another one AwaitHeld says that there is none.
func (c *Provider) Gate(threadID, name string) *fakeagent.Gate {
	return fakeagent.RemoteGate(gate{c, threadID, name})
}

type gate struct {
	c            *Provider
	thread, name string
}

func (g gate) params(session, do string) frame {
	return frame(`{"sessionId":`).str(session).raw(`,"gate":`).str(g.name).raw(`,"do":`).str(do).raw(`}`)
}

// session is that of the thread, or "" before there is one. g.c.mu is locked.
func (g gate) session() string {
	th := g.c.threads[g.thread]
	if th == nil {
		return ""
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.session
}

func (g gate) AwaitHeld(ctx context.Context) error {
	g.c.mu.Lock()
	session := g.session()
	g.c.mu.Unlock()
	if _, err := g.c.conn.call(ctx, gateMethod, g.params(session, "await"), nil); err != nil {
		return fmt.Errorf("acp: gate %q of thread %s: %w", g.name, g.thread, g.c.lost(err))
	}
	return nil
}

func (g gate) Release() { g.do("release") }
func (g gate) Close()   { g.do("close") }

// do does it when there is a session.
func (g gate) do(what string) {
	g.c.mu.Lock()
	session := g.session()
	if session == "" {
		g.c.gates[g.thread] = append(g.c.gates[g.thread], what, g.name)
	}
	g.c.mu.Unlock()
	if session != "" {
		g.c.conn.ask(gateMethod, g.params(session, what), func(json.RawMessage, *Error) {})
	}
}

// handle takes what the agent says by itself.
func (c *Provider) handle(m message) {
	var p struct {
		SessionID string          `json:"sessionId"`
		Update    json.RawMessage `json:"update"`
		RequestID json.RawMessage `json:"requestId"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		if m.isRequest() {
			c.conn.send(failure(m.ID, wrongParams("%s", plain(err)).(*Error)))
		} else {
			c.log.dropped(Host, m.Method+": "+plain(err))
		}
		return
	}
	switch {
	case m.Method == "session/update":
		c.update(p.SessionID, p.Update)
	case m.Method == "$/cancel_request":
		c.withdraw(string(p.RequestID))
	case (m.Method == "session/request_permission" || m.Method == "elicitation/create") && m.isRequest():
		err := wrongParams("no prompt of session %q runs", p.SessionID)
		if th := c.sessionOf(p.SessionID); th != nil && m.Method == "elicitation/create" {
			err = th.askForm(m)
		} else if th != nil {
			err = th.ask(m)
		}
		if err != nil {
			c.conn.send(failure(m.ID, err.(*Error)))
		}
	case m.isRequest():
		c.conn.send(failure(m.ID, &Error{Code: MethodNotFound, Message: fmt.Sprintf("Method not found: %q", m.Method)}))
	}
}

// sessionOf is the thread of a session.
func (c *Provider) sessionOf(id string) *thread {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[id]
}

// earlyLimit is how many updates are kept for sessions that are not known yet.
const earlyLimit = 1000

func (c *Provider) update(session string, u json.RawMessage) {
	if th := c.sessionOf(session); th != nil {
		th.update(u)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept < earlyLimit {
		c.kept++
		c.early[session] = append(c.early[session], u)
		return
	}
	c.log.dropped(Host, fmt.Sprintf("an update of session %q, which nobody has opened", session))
}

// withdraw is a permission that the agent does not wait for any more.
func (c *Provider) withdraw(rpcID string) {
	c.mu.Lock()
	threads := slices.Collect(maps.Values(c.threads))
	c.mu.Unlock()
	for _, th := range threads {
		th.mu.Lock()
		ids := slices.DeleteFunc(th.asked(), func(id string) bool { return string(th.requests[id].rpcID) != rpcID })
		th.mu.Unlock()
		if len(ids) > 0 { // of several with one id it is the first
			th.drop(ids[0], "timeout")
		}
	}
}

// nth is an id that counts.
func nth(kind string, n int) string { return kind + strconv.Itoa(n) }
