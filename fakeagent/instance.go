package fakeagent

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// Instance is a fake agent with any number of threads. All counters live in it; two instances share nothing.
type Instance struct {
	cfg  Config
	role role
	seed maphash.Seed

	subs  atomic.Pointer[[]*func(event.Event)]
	turns sync.WaitGroup

	mu         sync.Mutex
	closed     bool
	threads    map[string]*thread
	gates      map[gateKey]*Gate
	violations []string
}

var _ Provider = (*Instance)(nil)

// New makes an agent. The caller closes it; [NewT] does so for a test.
func New(cfg Config) (*Instance, error) {
	if cfg.Speed < 0 {
		return nil, fmt.Errorf("fakeagent: Speed is %v; use a number above 0, or Instant for no waiting", cfg.Speed)
	}
	r, err := cfg.role()
	if err != nil {
		return nil, err
	}
	if cfg.Files == nil {
		cfg.Files = OSFiles{}
	}
	if cfg.Shell == nil && cfg.AllowShell {
		cfg.Shell = OSShell{Spawn: cfg.Spawn}
	}
	return &Instance{cfg: cfg, role: r, seed: maphash.MakeSeed(), threads: map[string]*thread{}}, nil
}

// Close interrupts every turn and waits until all have ended. It must not be called from inside a subscriber's function.
func (in *Instance) Close() error {
	in.mu.Lock()
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
		if gate := t.holding(); gate != "" && t.ctx.Err() == nil {
			in.violate("%s is still held at gate %q; call Release on it, or interrupt the turn", t.id, gate)
		}
		t.cancel()
	}
	in.turns.Wait()
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

// thread is the open session of that id.
func (in *Instance) thread(id string) (*thread, error) {
	in.mu.Lock()
	th := in.threads[id]
	in.mu.Unlock()
	if th != nil {
		th.mu.Lock()
		defer th.mu.Unlock()
		if th.open {
			return th, nil
		}
	}
	return nil, fmt.Errorf("fakeagent: %w of thread %q", ErrNoSession, id)
}

func (in *Instance) StopSession(_ context.Context, threadID string) error {
	th, err := in.thread(threadID)
	if err != nil {
		return err
	}
	th.mu.Lock()
	th.stopping = true
	if t := th.active; t != nil {
		th.mu.Unlock()
		t.cancel() // its end closes the session
		return nil
	}
	th.exitLocked()
	return nil
}

func (in *Instance) SendTurn(ctx context.Context, input TurnInput) (turnID string, err error) {
	th, err := in.thread(input.ThreadID)
	if err != nil {
		return "", err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return "", fmt.Errorf("fakeagent: %w", ErrClosed)
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	switch {
	case !th.open || th.stopping:
		return "", fmt.Errorf("fakeagent: %w of thread %q", ErrNoSession, th.id)
	case th.active != nil:
		return "", fmt.Errorf("agent %s %w", th.id, ErrBusy)
	}
	t := th.newTurn(ctx, input.Text)
	in.turns.Add(1)
	go t.play()
	return t.id, nil
}

func (in *Instance) InterruptTurn(_ context.Context, threadID, turnID string) error {
	th, err := in.thread(threadID)
	if err != nil {
		return err
	}
	th.mu.Lock()
	t := th.active
	th.mu.Unlock()
	if t != nil && (turnID == "" || turnID == t.id) {
		t.cancel()
	}
	return nil
}

func (in *Instance) RespondToRequest(_ context.Context, threadID, requestID string, d Decision) error {
	th, err := in.thread(threadID)
	if err != nil {
		return err
	}
	return th.answer(requestID, d)
}

// RespondToUserInput is always ErrUnknownRequest: no step of the language asks a question that blocks.
func (in *Instance) RespondToUserInput(_ context.Context, threadID, requestID string, _ map[string]any) error {
	if _, err := in.thread(threadID); err != nil {
		return err
	}
	return fmt.Errorf("fakeagent: %w %q in thread %s", ErrUnknownRequest, requestID, threadID)
}

func (in *Instance) ReadThread(_ context.Context, threadID string) (Thread, error) {
	in.mu.Lock()
	th := in.threads[threadID]
	in.mu.Unlock()
	if th == nil {
		return Thread{}, fmt.Errorf("fakeagent: %w of thread %q", ErrNoSession, threadID)
	}
	th.mu.Lock()
	tl := th.items.Snapshot()
	out := Thread{ID: th.id}
	if t := th.active; t != nil {
		out.Doing = t.doing()
	}
	th.mu.Unlock()
	for i, it := range tl.All() {
		id := tl.TurnOf(i)
		if n := len(out.Turns); n == 0 || out.Turns[n-1].ID != id {
			out.Turns = append(out.Turns, Turn{ID: id})
		}
		last := &out.Turns[len(out.Turns)-1]
		last.Items = append(last.Items, it)
	}
	return out, nil
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

// thread is one agent.
type thread struct {
	in *Instance
	id string

	mu       sync.Mutex
	session  SessionConfig
	open     bool // between session.started and session.exited
	stopping bool
	active   *turn
	turns    int            // how many there were
	requests int            // how many there were
	attempts map[uint64]int // how often each prompt came, by its hash
	taken    map[int]int    // how often each route of .fake-agent.json was taken
	pending  map[string]*approval
	items    timeline.Projection
	fold     event.Fold

	seq      uint64
	outbox   []event.Event // waits for the goroutine that delivers
	sent     int
	draining bool
}

func (th *thread) newTurn(ctx context.Context, prompt string) *turn {
	th.turns++
	t := &turn{th: th, n: th.turns, id: th.id + "-turn-" + strconv.Itoa(th.turns), prompt: prompt}
	t.ctx, t.cancel = context.WithCancel(ctx)
	th.active = t
	return t
}

// exitLocked closes the session and unlocks th.mu.
func (th *thread) exitLocked() {
	th.open, th.stopping = false, false
	th.emitLocked(event.Event{Payload: event.SessionExited{Reason: "stopped", ExitKind: "graceful"}})
}

func (th *thread) emit(e event.Event) {
	th.mu.Lock()
	th.emitLocked(e)
}

// emitLocked records an event and delivers what is due, in order and one at a time, with no lock held. It unlocks th.mu. If another
// goroutine delivers for this thread, or this very one does further up its stack, the event is left to it: that is what lets
// a subscriber call back.
func (th *thread) emitLocked(e event.Event) {
	th.seq++
	e.Seq, e.Provider, e.ThreadID = th.seq, th.in.role.probe.ID, th.id
	e.Time = time.Now().UTC().Round(0)
	if item, itemID, ok := th.fold.Item(e); ok {
		th.items.Add(e.TurnID, itemID, item)
	}
	if th.draining {
		th.outbox = append(th.outbox, e)
		th.mu.Unlock()
		return
	}
	th.draining = true
	for {
		th.mu.Unlock()
		if subs := th.in.subs.Load(); subs != nil {
			for _, fn := range *subs {
				(*fn)(e)
			}
		}
		th.mu.Lock()
		if th.sent == len(th.outbox) {
			break
		}
		e = th.outbox[th.sent]
		th.sent++
	}
	th.outbox, th.sent, th.draining = nil, 0, false
	th.mu.Unlock()
}
