package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/mockproc/pipe"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

func TestACP(t *testing.T) {
	bubble.Suite(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "The Agent Client Protocol")
}

var _ = leak.Check()

// wire is a peer that reads and writes lines by hand.
type wire struct {
	in    *pipe.Writer // what the side under test reads
	lines chan string  // what it wrote; closed when it closes
}

// newWire makes one, and the ends of the side under test.
func newWire() (w *wire, in *pipe.Reader, out *pipe.Writer) {
	w = &wire{lines: make(chan string, 1<<12)}
	in, w.in = pipe.New(0)
	said, out := pipe.New(0)
	go w.listen(said)
	DeferCleanup(out.Close)
	return w, in, out
}

func (w *wire) listen(to io.Reader) {
	defer close(w.lines)
	for r := bufio.NewReader(to); ; {
		line, err := r.ReadString('\n')
		if line != "" {
			w.lines <- strings.TrimSuffix(line, "\n")
		}
		if err != nil {
			return
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// say writes lines.
func (w *wire) say(lines ...string) {
	GinkgoHelper()
	_, err := io.WriteString(w.in, strings.Join(lines, "\n")+"\n")
	Expect(err).NotTo(HaveOccurred())
}

// line is the next one.
func (w *wire) line() string {
	GinkgoHelper()
	select {
	case line, ok := <-w.lines:
		if !ok {
			Fail("there is no line any more")
		}
		return line
	case <-time.After(time.Hour):
		Fail("no line came")
		return ""
	}
}

// hears expects exactly these lines next.
func (w *wire) hears(lines ...string) {
	GinkgoHelper()
	for _, want := range lines {
		Expect(w.line()).To(Equal(want))
	}
}

// quiet expects that no line has come, and none will before time goes on.
func (w *wire) quiet() {
	GinkgoHelper()
	synctest.Wait()
	select {
	case line, ok := <-w.lines:
		if ok {
			Fail("heard " + line)
		}
	default:
	}
}

// asks writes a request and expects its answer, a whole line, next.
func (w *wire) asks(request, answer string) {
	GinkgoHelper()
	w.say(request)
	w.hears(answer)
}

// client drives Serve by hand.
type client struct {
	*wire
	log    acp.Log
	end    context.CancelFunc
	served chan error
}

// serve starts the side of an agent. It ends with the spec.
func serve(cfg acp.AgentConfig) *client {
	w, in, out := newWire()
	c := &client{wire: w, served: make(chan error, 1)}
	var ctx context.Context
	ctx, c.end = context.WithCancel(context.Background())
	if cfg.Log == nil {
		cfg.Log = &c.log
	}
	go func() { c.served <- acp.Serve(ctx, in, out, cfg) }()
	DeferCleanup(func() {
		c.end()
		_ = w.in.Close()
		Eventually(c.served).Should(Receive())
	})
	return c
}

// provides is an agent of that provider.
func provides(p fakeagent.Provider) acp.AgentConfig {
	return acp.AgentConfig{Open: func(*acp.Client) (fakeagent.Provider, error) { return p, nil }}
}

// instance is a real agent that plays what prompts carry.
func instance(cfg fakeagent.Config) *fakeagent.Instance {
	cfg.Script = "steps"
	in, err := fakeagent.New(cfg)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(in.Close)
	return in
}

// notes are what the log says beside the lines.
func notes(t acp.Transcript) (all []string) {
	for _, m := range t {
		if m.Note != "" {
			all = append(all, m.Note)
		}
	}
	return all
}

const (
	hello   = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`
	helloed = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"audio":true,"embeddedContext":true},"mcpCapabilities":{"http":true,"sse":true},"sessionCapabilities":{"list":{},"delete":{},"resume":{},"close":{}},"auth":{"logout":{}}},"authMethods":[{"id":"fake-sign-in","name":"Sign in","description":"Always succeeds, and asks nothing"}],"agentInfo":{"name":"stub","title":"Stub","version":"1.0.0"}}}`
	modes   = `"modes":{"currentModeId":"code","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"}]}`
	mode    = `{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"code","options":[{"value":"ask","name":"Ask"},{"value":"code","name":"Code"}]}`
	model   = `{"id":"model","name":"Model","category":"model","type":"select","currentValue":"gpt-5","options":[{"group":"openai","name":"OpenAI","options":[{"value":"gpt-5","name":"GPT-5"},{"value":"gpt-5-mini","name":"GPT-5 mini"}]},{"group":"anthropic","name":"Anthropic","options":[{"value":"claude-sonnet","name":"Claude Sonnet"},{"value":"claude-opus","name":"Claude Opus"}]}]}`
	state   = modes + `,"configOptions":[` + mode + `,` + model + `]`
)

// request is one with that id, which is JSON.
func request(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}`, id, method, params)
}

func notification(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"%s","params":%s}`, method, params)
}

func answered(id, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func refused(id string, code int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, quoted(message))
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// update is a session/update of the session sess-1.
func update(what string) string {
	return notification("session/update", `{"sessionId":"sess-1","update":`+what+`}`)
}

// open initializes, and opens the session sess-1 in /w.
func (c *client) open() {
	GinkgoHelper()
	c.say(hello)
	c.line()
	c.asks(request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`), answered("1", `{"sessionId":"sess-1",`+state+`}`))
}

// openAs opens the session with these capabilities of the client.
func (c *client) openAs(capabilities string) {
	GinkgoHelper()
	c.say(request("0", "initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`}`))
	c.line()
	c.say(request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`))
	c.line()
}

// prompt is a prompt with a text.
func prompt(id, text string) string {
	return request(id, "session/prompt", `{"sessionId":"sess-1","prompt":[{"type":"text","text":`+quoted(text)+`}]}`)
}

// stub is a provider that does what the spec says.
type stub struct {
	probe   fakeagent.Probe
	onStart func(fakeagent.SessionConfig) error
	onSend  func(fakeagent.TurnInput) error
	onStop  func(threadID string) error
	thread  fakeagent.Thread

	mu       sync.Mutex
	subs     []func(event.Event)
	sessions []fakeagent.SessionConfig
	inputs   []fakeagent.TurnInput
	answers  []string
	running  map[string]string // turns of threads
	turns    int
}

var _ fakeagent.Provider = (*stub)(nil)

func newStub() *stub {
	return &stub{probe: fakeagent.Probe{ID: "stub", Label: "Stub"}, running: map[string]string{}}
}

// emit emits an event of the thread sess-1, in its turn.
func (s *stub) emit(itemID string, p event.Payload) {
	s.mu.Lock()
	turn := s.running["sess-1"]
	s.mu.Unlock()
	s.tell(event.Event{ThreadID: "sess-1", TurnID: turn, ItemID: itemID, Payload: p})
}

func (s *stub) tell(e event.Event) {
	s.mu.Lock()
	subs := s.subs
	s.mu.Unlock()
	for _, fn := range subs {
		if fn != nil {
			fn(e)
		}
	}
}

// end ends the turn of a thread.
func (s *stub) end(thread string, p event.TurnCompleted) {
	s.mu.Lock()
	turn := s.running[thread]
	delete(s.running, thread)
	s.mu.Unlock()
	if turn != "" {
		s.tell(event.Event{ThreadID: thread, TurnID: turn, Payload: p})
	}
}

func (s *stub) StartSession(_ context.Context, cfg fakeagent.SessionConfig) error {
	s.mu.Lock()
	s.sessions = append(s.sessions, cfg)
	s.mu.Unlock()
	if s.onStart != nil {
		if err := s.onStart(cfg); err != nil {
			return err
		}
	}
	s.tell(event.Event{ThreadID: cfg.ThreadID, Payload: event.SessionStarted{}})
	return nil
}

func (s *stub) StopSession(_ context.Context, thread string) error {
	if s.onStop != nil {
		return s.onStop(thread)
	}
	s.end(thread, event.TurnCompleted{State: event.TurnEndInterrupted})
	s.tell(event.Event{ThreadID: thread, Payload: event.SessionExited{}})
	return nil
}

func (s *stub) SendTurn(_ context.Context, in fakeagent.TurnInput) (string, error) {
	s.mu.Lock()
	s.inputs = append(s.inputs, in)
	s.mu.Unlock()
	if s.onSend != nil {
		if err := s.onSend(in); err != nil {
			return "", err
		}
	}
	s.mu.Lock()
	s.turns++
	turn := fmt.Sprintf("turn-%d", s.turns)
	s.running[in.ThreadID] = turn
	s.mu.Unlock()
	s.tell(event.Event{ThreadID: in.ThreadID, TurnID: turn, Payload: event.TurnStarted{}})
	return turn, nil
}

func (s *stub) InterruptTurn(_ context.Context, thread, _ string) error {
	s.end(thread, event.TurnCompleted{State: event.TurnEndInterrupted})
	return nil
}

func (s *stub) RespondToRequest(_ context.Context, _, request string, d fakeagent.Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, request+" "+string(d))
	return nil
}

func (s *stub) RespondToUserInput(_ context.Context, _, request string, answers map[string]any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := json.Marshal(answers)
	s.answers = append(s.answers, request+" "+string(text))
	return err
}

func (s *stub) ReadThread(context.Context, string) (fakeagent.Thread, error) { return s.thread, nil }
func (s *stub) Probe(context.Context) (fakeagent.Probe, error)               { return s.probe, nil }

func (s *stub) Subscribe(fn func(event.Event)) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := len(s.subs)
	s.subs = append(s.subs, fn)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		subs := append([]func(event.Event){}, s.subs...)
		subs[i] = nil
		s.subs = subs
	}
}

// given are the decisions and answers so far.
func (s *stub) given() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers
}

// process is an agent's process that the spec plays by hand.
type process struct {
	*wire
	stdin  *pipe.Writer
	stdout *pipe.Reader
	theirs *pipe.Reader

	mu     sync.Mutex
	exited chan struct{}
	code   int
	signal os.Signal
}

// silent is one whose stdin the spec reads in another way.
func silent() *process {
	p := &process{wire: &wire{lines: make(chan string, 1<<12)}, exited: make(chan struct{}), code: -1}
	p.theirs, p.stdin = pipe.New(0)
	p.stdout, p.in = pipe.New(0)
	return p
}

func newProcess() *process {
	p := silent()
	go p.listen(p.theirs)
	return p
}

func (p *process) Stdin() io.WriteCloser   { return p.stdin }
func (p *process) Stdout() io.Reader       { return p.stdout }
func (p *process) Exited() <-chan struct{} { return p.exited }

func (p *process) ExitCode() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.code
}

func (p *process) ExitSignal() os.Signal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.signal
}

// exit is seen; its pipes are left as they are.
func (p *process) exit(code int, signal os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.code == -1 {
		p.code, p.signal = code, signal
		close(p.exited)
	}
}

// die ends the process as a real one ends.
func (p *process) die(code int, signal os.Signal) {
	_ = p.theirs.Close()
	_ = p.in.Close()
	p.exit(code, signal)
}
