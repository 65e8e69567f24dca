package fakeagent

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/usagefake"
)

// Instance is a fake agent with any number of threads. All counters live in it; two instances share nothing.
type Instance struct {
	cfg   Config
	role  role
	usage usagefake.Source
	seed  maphash.Seed

	builtIn string // the server that steps mean which name none

	subs  atomic.Pointer[[]*func(event.Event)]
	turns sync.WaitGroup

	checked checked

	mu         sync.Mutex
	closed     bool
	threads    map[string]*thread
	gates      map[gateKey]*Gate
	violations []string
}

var _ Provider = (*Instance)(nil)

// New makes an agent. The caller closes it; [NewT] does so for a test.
func New(cfg Config) (*Instance, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	for _, key := range cfg.DoorSteps {
		if !slices.Contains(doorSteps, key) {
			return nil, fmt.Errorf("fakeagent: DoorSteps has %q; only %s can be there", key, strings.Join(doorSteps, " and "))
		}
	}
	r, err := cfg.role()
	if err != nil {
		return nil, err
	}
	usage, err := usagefake.New(usagefake.Config{Script: cfg.UsageScript, Now: cfg.Now})
	if err != nil {
		return nil, fmt.Errorf("fakeagent: UsageScript: %s", strings.TrimPrefix(err.Error(), "usagefake: "))
	}
	if cfg.Files == nil {
		cfg.Files = OSFiles{}
	}
	if cfg.Shell == nil && cfg.AllowShell {
		cfg.Shell = OSShell{Spawn: cfg.Spawn}
	}
	return &Instance{cfg: cfg, role: r, usage: usage, seed: maphash.MakeSeed(), builtIn: cfg.text("builtInServer"), threads: map[string]*thread{}}, nil
}

// Close interrupts every turn and waits until all have ended. It must not be called from inside a subscriber's function.
func (in *Instance) Close() error {
	in.mu.Lock()
	again := in.closed
	in.closed = true
	threads := make([]*thread, 0, len(in.threads))
	for _, th := range in.threads {
		threads = append(threads, th)
	}
	in.mu.Unlock()
	slices.SortFunc(threads, func(a, b *thread) int { return strings.Compare(a.id, b.id) })
	for _, th := range threads {
		th.mu.Lock()
		t := th.active
		th.mu.Unlock()
		if t == nil {
			continue
		}
		if gate := t.heldAt(); gate != "" && t.ctx.Err() == nil {
			in.violate("%s is still held at gate %q; call Release on it, or interrupt the turn", t.id, gate)
		}
		t.cancel()
	}
	in.turns.Wait()
	for _, th := range threads {
		th.disconnect()
	}
	if in.cfg.WholePlaybook && !again {
		if left := in.PlaybookLeft(); left != "" {
			in.violate("the playbook was not played to its end: %s", left)
		}
	}
	return nil
}

func (in *Instance) violate(format string, args ...any) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.violations = append(in.violations, fmt.Sprintf(format, args...))
}

// Violations are the things that went wrong where no caller could be told. Reading them takes them: a test that has looked at
// them no longer fails because of them.
func (in *Instance) Violations() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	v := in.violations
	in.violations = nil
	return v
}

func (in *Instance) Subscribe(fn func(event.Event)) (unsubscribe func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	p := &fn
	in.setSubs(append(in.subscribers(), p))
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.setSubs(slices.DeleteFunc(in.subscribers(), func(q *func(event.Event)) bool { return q == p }))
	}
}

// subscribers is a copy.
func (in *Instance) subscribers() []*func(event.Event) {
	if subs := in.subs.Load(); subs != nil {
		return slices.Clone(*subs)
	}
	return nil
}

func (in *Instance) setSubs(subs []*func(event.Event)) { in.subs.Store(&subs) }

// Probe says what this agent is called and which models it has.
func (in *Instance) Probe(context.Context) (Probe, error) {
	p := in.role.probe
	p.Models = slices.Clone(p.Models)
	return p, nil
}

func (in *Instance) StartSession(_ context.Context, s SessionConfig) error {
	if s.ThreadID == "" {
		return errors.New("fakeagent: StartSession: ThreadID is empty; give each agent an id of its own")
	}
	if err := in.checkCwd(s.Cwd); err != nil {
		return err
	}
	in.mu.Lock()
	if in.closed {
		in.mu.Unlock()
		return fmt.Errorf("fakeagent: %w", ErrClosed)
	}
	th := in.threads[s.ThreadID]
	if th == nil {
		th = &thread{in: in, id: s.ThreadID}
		in.threads[s.ThreadID] = th
	}
	in.mu.Unlock()
	th.mu.Lock()
	if th.open {
		th.mu.Unlock()
		return fmt.Errorf("fakeagent: session %s is open already; stop it first and wait for its session.exited", th.id)
	}
	s.Env, s.MCPServers = maps.Clone(s.Env), slices.Clone(s.MCPServers)
	th.open, th.session = true, s
	th.emitLocked(event.Event{Payload: event.SessionStarted{}})
	return nil
}

func (in *Instance) checkCwd(cwd string) error {
	if cwd == "" {
		return nil
	}
	if !filepath.IsAbs(cwd) {
		return fmt.Errorf("fakeagent: cwd %q is relative; give an absolute path", cwd)
	}
	if _, ours := in.cfg.Files.(OSFiles); !ours {
		return nil // only its Files know
	}
	if info, err := os.Stat(cwd); err != nil {
		return fmt.Errorf("fakeagent: cwd %q cannot be used (%w); create it first", cwd, errors.Unwrap(err))
	} else if !info.IsDir() {
		return fmt.Errorf("fakeagent: cwd %q is a file; give a folder", cwd)
	}
	return nil
}

// locked is the thread of that id whose session is open, with its lock taken.
func (in *Instance) locked(id string) (*thread, error) {
	in.mu.Lock()
	th := in.threads[id]
	in.mu.Unlock()
	if th != nil {
		if th.mu.Lock(); th.open {
			return th, nil
		}
		th.mu.Unlock()
	}
	return nil, fmt.Errorf("fakeagent: %w of thread %q", ErrNoSession, id)
}

func (in *Instance) StopSession(_ context.Context, threadID string) error {
	th, err := in.locked(threadID)
	if err != nil {
		return err
	}
	th.stopping = true
	t, idle, slow := th.active, th.leaveLocked(), len(th.clients) > 0
	th.mu.Unlock()
	switch {
	case t != nil:
		t.cancel() // its end closes the session
	case idle && slow:
		in.turns.Go(th.exit) // a server may take its time to end
	case idle:
		th.exit()
	}
	return nil
}

// SendTurn reads the playbook, if there is one and nobody has needed it yet, and picks what the turn plays of it: who sends first gets a line that
// is for several. A steer of a session that is over is ErrNoSession, and a [*RejectedError] as well, since its turn has ended.
func (in *Instance) SendTurn(ctx context.Context, input TurnInput) (turnID string, err error) {
	if b := in.role.book; b != nil {
		_ = b.open() // before anybody has to wait for it; what is wrong with it is what the turn says
	}
	th, err := in.locked(input.ThreadID)
	if err == nil {
		defer th.mu.Unlock()
		if th.stopping {
			err = fmt.Errorf("fakeagent: %w of thread %q", ErrNoSession, th.id)
		}
	}
	switch {
	case err != nil && input.TurnID != "": // its turn has ended
		return "", Rejected(err)
	case err != nil:
		return "", err
	case input.TurnID != "":
		return th.steer(input)
	case th.active != nil:
		return "", Rejected(fmt.Errorf("agent %s %w", th.id, ErrBusy))
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return "", fmt.Errorf("fakeagent: %w", ErrClosed)
	}
	t := th.newTurn(ctx, input)
	in.turns.Go(t.play)
	return t.id, nil
}

func (in *Instance) InterruptTurn(_ context.Context, threadID, turnID string) error {
	th, err := in.locked(threadID)
	if err != nil {
		return err
	}
	t := th.active
	th.mu.Unlock()
	if t != nil && (turnID == "" || turnID == t.id) {
		t.cancel()
	}
	return nil
}

func (in *Instance) RespondToRequest(_ context.Context, threadID, requestID string, d Decision) error {
	th, err := in.locked(threadID)
	if err != nil {
		return err
	}
	defer th.mu.Unlock()
	return th.answer(requestID, d)
}

// RespondToUserInput also has an error for an answer to something that was not asked. A question that does not block the turn is answered
// by the next prompt, and is ErrUnknownRequest here.
func (in *Instance) RespondToUserInput(_ context.Context, threadID, requestID string, answers map[string]any) error {
	th, err := in.locked(threadID)
	if err != nil {
		return err
	}
	defer th.mu.Unlock()
	return th.answerQuestion(requestID, answers)
}

func (in *Instance) ReadThread(_ context.Context, threadID string) (Thread, error) {
	in.mu.Lock()
	th := in.threads[threadID]
	in.mu.Unlock()
	if th == nil {
		return Thread{}, fmt.Errorf("fakeagent: %w of thread %q", ErrNoSession, threadID)
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	out := Thread{ID: th.id, Turns: slices.Clone(th.record.past)}
	if t := th.active; t != nil {
		out.Doing = t.doing()
		if items := th.record.running(); len(items) > 0 {
			out.Turns = append(out.Turns, Turn{t.id, items})
		}
	}
	return out, nil
}

// HeldAt is the gate that a turn of the thread is held at, or "".
func (in *Instance) HeldAt(threadID string) (gate string) {
	th, err := in.locked(threadID)
	if err != nil {
		return ""
	}
	t := th.active
	th.mu.Unlock()
	if t == nil {
		return ""
	}
	return t.heldAt()
}

// Dump prints every thread: its turns, its items, the step that it is in.
func (in *Instance) Dump() string {
	in.mu.Lock()
	ids := make([]string, 0, len(in.threads))
	for id := range in.threads {
		ids = append(ids, id)
	}
	in.mu.Unlock()
	slices.Sort(ids)
	var b strings.Builder
	for _, id := range ids {
		th, err := in.ReadThread(context.Background(), id)
		if err != nil {
			continue
		}
		fmt.Fprintf(&b, "thread %s", id)
		if th.Doing != "" {
			b.WriteString(" is in " + th.Doing)
		}
		b.WriteByte('\n')
		for _, t := range th.Turns {
			fmt.Fprintf(&b, "  %s\n  %s\n", t.ID, strings.ReplaceAll(t.Items.String(), "\n", "\n  "))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// GomegaString is how a failure message shows the instance.
func (in *Instance) GomegaString() string { return in.Dump() }

// GoString is what %#v prints, which Gomega does of whatever stands behind a context in Eventually(ctx, …): without it package fmt would
// read what others write.
func (in *Instance) GoString() string { return "the instance" }

// thread is one agent.
type thread struct {
	in *Instance
	id string

	mu        sync.Mutex
	session   SessionConfig
	open      bool // between session.started and session.exited
	stopping  bool
	leaving   bool   // somebody closes it
	died      string // how its process ended, if it did
	active    *turn
	turns     int            // how many there were
	steered   int            // how many awaited steers were played
	requests  int            // how many there were
	attempts  map[uint64]int // how often each prompt came, by its hash
	taken     map[int]int    // how often each route of .fake-agent.json was taken
	pending   map[string]*approval
	questions map[string]*question // those that are open and block
	results   []result             // of calls, the newest last; they outlive the session
	clients   map[string]MCPClient // of the servers that were called; the turn that runs has them to itself
	record    record

	seq        uint64
	outbox     []outgoing // waits for the goroutine that delivers
	delivering bool
}

// outgoing is an event on its way to the subscribers. delivered is closed when all have had it; nil if nobody waits.
type outgoing struct {
	event.Event
	delivered chan struct{}
}

func (th *thread) newTurn(ctx context.Context, input TurnInput) *turn {
	th.turns++
	input.Attachments = slices.Clone(input.Attachments)
	t := &turn{th: th, n: th.turns, id: th.id + "-turn-" + strconv.Itoa(th.turns), input: input, prompt: input}
	if b := th.in.role.book; b != nil && ctx.Err() == nil {
		if t.batch = b.pick(th, input.Text, false); t.batch != nil {
			t.await(&t.batch.Script)
		}
	}
	t.ctx, t.cancel = context.WithCancel(pprof.WithLabels(ctx, pprof.Labels(doingLabel, t.id)))
	th.active = t
	th.record.says(t.id, input.Text) // now, since a steer may come before the turn plays
	return t
}

// leaveLocked says, to one caller only, that a session which is being stopped is to be closed now. th.mu is locked.
func (th *thread) leaveLocked() bool {
	if !th.stopping || th.leaving || th.active != nil {
		return false
	}
	th.leaving = true
	return true
}

// exit closes the session.
func (th *thread) exit() {
	th.disconnect()
	th.mu.Lock()
	end := event.SessionExited{Reason: "stopped", ExitKind: "graceful"}
	if th.died != "" {
		end = event.SessionExited{Reason: th.died, ExitKind: "error"}
	}
	th.open, th.stopping, th.leaving, th.died = false, false, false, ""
	th.emitLocked(event.Event{Payload: end})
}

func (th *thread) emit(e event.Event) {
	th.mu.Lock()
	th.emitLocked(e)
}

// emitLocked records an event and has it delivered, in order and one at a time within the thread, with no lock held. It unlocks th.mu.
//
// If somebody delivers for this thread already, the event is left to him. A turn then waits until its event is delivered: it must
// not run ahead of those who watch it, and its own goroutine is never the one that delivers here. An event of the session is not
// waited for: it may come from a subscriber, further up the stack of the goroutine that delivers.
func (th *thread) emitLocked(e event.Event) {
	th.seq++
	e.Seq, e.Provider, e.ThreadID = th.seq, th.in.role.probe.ID, th.id
	e.Time = time.Now().UTC().Round(0)
	th.record.add(e)
	out := outgoing{Event: e}
	if th.delivering {
		if e.TurnID != "" {
			out.delivered = make(chan struct{})
		}
		th.outbox = append(th.outbox, out)
		th.mu.Unlock()
		if out.delivered != nil {
			<-out.delivered
		}
		return
	}
	th.delivering = true
	th.mu.Unlock()
	th.deliver(&out, 0)
}

// deliver hands an event to the subscribers, from the given one on, and then what has come meanwhile.
func (th *thread) deliver(out *outgoing, from int) {
	for more := true; more; from = 0 {
		if subs := th.in.subs.Load(); subs != nil {
			for i := from; i < len(*subs); i++ {
				th.tell(*(*subs)[i], out, i)
			}
		}
		more = th.next(out)
	}
}

// next puts the next event of the outbox in place of the one that was delivered. Without one the delivery is over.
func (th *thread) next(out *outgoing) (more bool) {
	th.mu.Lock()
	defer th.mu.Unlock()
	if out.delivered != nil {
		close(out.delivered)
	}
	if len(th.outbox) == 0 {
		th.outbox, th.delivering = nil, false
		return false
	}
	*out, th.outbox = th.outbox[0], th.outbox[1:]
	return true
}

// tell calls subscriber i.
func (th *thread) tell(fn func(event.Event), out *outgoing, i int) {
	returned := false
	defer func() {
		if !returned {
			th.lost(*out, i, recover())
		}
	}()
	fn(out.Event)
	returned = true
}

// lost is a subscriber that did not return. A panic is recorded. So is a runtime.Goexit, which t.FailNow does; since nothing can keep
// this goroutine from ending then, another one goes on.
func (th *thread) lost(out outgoing, i int, recovered any) {
	th.in.violate("%s", abandoned("a subscriber", out.TurnID+" "+out.Payload.Type(), recovered))
	if recovered == nil {
		th.in.turns.Go(func() { th.deliver(&out, i+1) })
	}
}

// abandoned says how a function of the test's ended that should have returned.
func abandoned(who, when string, recovered any) string {
	if recovered == nil {
		return fmt.Sprintf("%s called runtime.Goexit at %s, as t.FailNow and t.Fatal do; record the failure there and look at it on the test's own goroutine", who, strings.TrimSpace(when))
	}
	return fmt.Sprintf("%s panicked at %s: %v\n%s", who, strings.TrimSpace(when), recovered, debug.Stack())
}
