package mockproc

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/mockproc/pipe"
)

// T is what a mock needs of a test: *testing.T, testing.TB, Ginkgo's GinkgoT() and rapid's T all have it.
type T = fakeagent.T

// Option shapes a process.
type Option func(*options)

type options struct {
	agent       fakeagent.Config
	pipeSize    int
	aboveMaxPID bool
	noPATH      bool
}

func optionsOf(opts []Option) (o options) {
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// wrong says why there can be no such agent.
func (o options) wrong() error {
	cfg := o.agent
	cfg.Script, cfg.Choose, cfg.DoorSteps = "", nil, nil
	_, err := fakeagent.New(cfg)
	return err
}

// WithAgent says how the agent plays: its speed, its seed, whether it may run commands, which client it calls MCP servers with. What it
// plays is the scenario's to say, or that of Perform, if it has one: Script, Choose and DoorSteps are not looked at. Such a Perform, which may be
// that of a journal, goes with the scenario [Scripted], as others do something more when the turn is over, such as exit.
func WithAgent(cfg fakeagent.Config) Option { return func(o *options) { o.agent = cfg } }

// PipeSize is how many bytes stdout and stderr hold before the agent waits for who reads; [pipe.OSSize] is as in a real process. By
// default there is no limit.
func PipeSize(n int) Option { return func(o *options) { o.pipeSize = n } }

// AboveMaxPID gives the mock a PID that no process of this system can have, instead of one that is only unusual.
func AboveMaxPID() Option { return func(o *options) { o.aboveMaxPID = true } }

// Mock is a process that is none: an agent in this one, behind pipes in memory. It works on virtual time.
//
// Its PID is 900000 + 1000·(seed mod 1000) for the first mock of a test, and one more for each that follows.
type Mock struct {
	t              T
	life           life
	log            acp.Log
	stdin          *pipe.Writer
	stdout, stderr *pipe.Reader
	out, errs      *pipe.Writer
	done           chan struct{}
	forget         func()

	mu          sync.Mutex
	killed      bool
	stdinClosed bool
	exit        exit
	cleanup     []func()
	violations  []string
	told        map[string]bool
}

var _ Process = (*Mock)(nil)

// Start starts a mock, which lives no longer than the test. At the test's end it reports its violations, in one message: what
// [acp.Problems] finds, what the agent recorded, and that it still ran. Of a test that has failed it logs what was said.
//
// A mock belongs to the bubble of testing/synctest that it is made in, or to none: make it where it is used.
func Start(t T, s Scenario, opts ...Option) *Mock {
	t.Helper()
	s, err := s.resolved()
	o := optionsOf(opts)
	if err == nil {
		err = o.wrong()
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	m := &Mock{t: t, done: make(chan struct{}), exit: exit{code: -1}, told: map[string]bool{}}
	var in *pipe.Reader
	in, m.stdin = pipe.New(0)
	m.stdout, m.out = pipe.New(o.pipeSize)
	m.stderr, m.errs = pipe.New(o.pipeSize)
	m.life = life{scenario: s, cfg: o.agent, stdout: m.out, stderr: m.errs, log: &m.log}
	m.life.pid, m.forget = fakes.add(m, o)
	m.life.exited = func(e exit) { m.ended(e, in) }
	m.life.begin()
	m.life.all.Go(func() { m.life.run(in) })
	t.Cleanup(m.end)
	return m
}

// ended is the exit: first the output ends, then it is seen.
func (m *Mock) ended(e exit, in *pipe.Reader) {
	_ = in.Close()
	if !m.life.scenario.has(OpenAfterExit) {
		m.closeOutput()
	}
	m.mu.Lock()
	m.exit = e
	m.killed = m.killed || e.sent
	m.mu.Unlock()
	close(m.done)
}

func (m *Mock) closeOutput() {
	_ = m.out.Close()
	_ = m.errs.Close()
}

func (m *Mock) Stdin() io.WriteCloser   { return mockStdin{m} }
func (m *Mock) Stdout() io.Reader       { return m.stdout }
func (m *Mock) Stderr() io.Reader       { return m.stderr }
func (m *Mock) PID() int                { return m.life.pid }
func (m *Mock) Exited() <-chan struct{} { return m.done }

// mockStdin knows whether it was closed: the agent of a closed stdin is about to end by itself.
type mockStdin struct{ m *Mock }

func (s mockStdin) Write(b []byte) (int, error) { return s.m.stdin.Write(b) }

func (s mockStdin) Close() error {
	s.m.mu.Lock()
	s.m.stdinClosed = true
	s.m.mu.Unlock()
	return s.m.stdin.Close()
}

// sigterm is what the origin reports at the end of stdin.
var sigterm os.Signal = syscall.SIGTERM

func (m *Mock) Kill(s os.Signal) bool {
	switch {
	case s == nil:
		return false
	case s == ask:
		return !m.life.isOver()
	case !deadly(s) || s == sigterm && m.life.scenario.ignores(ignoreSIGTERM):
		m.mu.Lock()
		defer m.mu.Unlock()
		there := m.exit.code < 0
		m.killed = m.killed || there
		return there
	}
	e := exit{code: codeOf(s), signal: s, sent: true}
	if m.life.scenario.Profile == acp.Seed && s != os.Kill {
		e.code = 0
	}
	return m.life.exit(e)
}

func (m *Mock) Killed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.killed
}

func (m *Mock) ExitCode() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.exit.code
}

func (m *Mock) ExitSignal() os.Signal {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.exit.signal
}

// Transcript is what host and agent have said to each other.
func (m *Mock) Transcript() acp.Transcript { return m.log.Transcript() }

// HostRequests are the requests and notifications that the host sent, and their params.
func (m *Mock) HostRequests() (methods []string, params []json.RawMessage) {
	return m.Transcript().HostRequests()
}

// Gate is a gate of the agent, in one of its sessions; "" is the first one. It may be used before the session exists.
func (m *Mock) Gate(sessionID, name string) *fakeagent.Gate {
	if sessionID == "" {
		sessionID = m.life.sessionID(1)
	}
	return fakeagent.RemoteGate(mockGate{m, sessionID, name})
}

type mockGate struct {
	m             *Mock
	session, name string
}

func (g mockGate) Release() {
	g.m.life.whenOpen(func(in *fakeagent.Instance) { in.Gate(g.session, g.name).Release() })
}

func (g mockGate) Close() {
	g.m.life.whenOpen(func(in *fakeagent.Instance) { in.Gate(g.session, g.name).Close() })
}

func (g mockGate) AwaitHeld(ctx context.Context) error {
	opened := make(chan *fakeagent.Instance, 1)
	g.m.life.whenOpen(func(in *fakeagent.Instance) { opened <- in })
	select {
	case in := <-opened:
		return g.awaitHeld(ctx, in)
	case <-g.m.done:
		return g.gone()
	case <-ctx.Done():
		return fmt.Errorf("mockproc: nothing is held at gate %q (%w): the client has not called initialize", g.name, context.Cause(ctx))
	}
}

// awaitHeld waits no longer than there is a process.
func (g mockGate) awaitHeld(ctx context.Context, in *fakeagent.Instance) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.m.life.ctx, cancel)()
	err := in.Gate(g.session, g.name).AwaitHeld(ctx)
	if g.m.life.ctx.Err() != nil {
		<-g.m.done
		return g.gone()
	}
	return err
}

func (g mockGate) gone() error {
	return fmt.Errorf("mockproc: nothing is held at gate %q: %s", g.name, describe(g.m))
}

// Violations are the things that went wrong where no caller could be told. Reading them takes them: a test that has looked at them no
// longer fails because of them.
func (m *Mock) Violations() []string {
	var found []string
	if in := m.life.agent(); in != nil {
		found = in.Violations()
	}
	running := !m.life.isOver()
	m.mu.Lock()
	defer m.mu.Unlock()
	found = append(m.violations, found...)
	m.violations = nil
	for _, p := range acp.Problems(m.Transcript()) {
		early := running && strings.HasSuffix(p, " was never answered") // it still may be
		if !m.told[p] && !early {
			m.told[p] = true
			found = append(found, p)
		}
	}
	return found
}

// Cleanup has fn called at the end of the test, before the mock looks whether it still runs. The last one comes first, as in a test.
func (m *Mock) Cleanup(fn func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cleanup = append(m.cleanup, fn)
}

// endLimit is how long a mock may take to end at the end of the test.
const endLimit = 10 * time.Second

func (m *Mock) end() {
	m.t.Helper()
	m.mu.Lock()
	cleanup := m.cleanup
	m.mu.Unlock()
	for _, fn := range slices.Backward(cleanup) {
		fn()
	}
	late := time.NewTimer(endLimit)
	defer late.Stop()
	if m.isLeaving() { // the test need not wait for that, and the agent must not wait for somebody who reads
		m.closeOutput()
		select {
		case <-m.done:
		case <-late.C:
		}
	}
	held := m.life.held()
	orphan := m.life.exit(exit{code: codeOf(os.Kill), signal: os.Kill, orphan: true})
	m.closeOutput()
	ended := make(chan struct{})
	go func() {
		<-m.done
		m.life.all.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-late.C:
		m.violate("the agent has not ended within %v", endLimit)
	}
	m.forget()
	if orphan {
		m.violate("the process still ran at the end of the test; close its stdin, or kill it")
		for _, h := range held {
			m.violate("%s", h)
		}
	}
	v := m.Violations()
	if t, ok := m.t.(interface {
		Failed() bool
		Logf(string, ...any)
	}); ok && len(v) == 0 && t.Failed() { // for a reason of the test's own, about which this may say more
		t.Logf("mockproc: %s (%s); what was said:\n%s", describe(m), m.life.scenario.Name, m.Transcript().Tail(reported))
	}
	if len(v) > 0 {
		m.t.Errorf("mockproc: process %d (%s), at the end of the test:\n  %s\nwhat was said:\n%s",
			m.PID(), m.life.scenario.Name, strings.Join(v, "\n  "), m.Transcript().Tail(reported))
	}
}

// reported is how many messages a report shows: what was said last tells most.
const reported = 30

// isLeaving says that the process is about to exit by itself.
func (m *Mock) isLeaving() bool {
	m.mu.Lock()
	closed := m.stdinClosed
	m.mu.Unlock()
	return m.life.isLeaving() || closed && !m.life.scenario.ignores(ignoreEOF)
}

func (m *Mock) violate(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.violations = append(m.violations, fmt.Sprintf(format, args...))
}

// Dump prints the process, what was said, and what its agent is doing.
func (m *Mock) Dump() string {
	s := describe(m) + " (" + m.life.scenario.Name + ")\n" + m.Transcript().String()
	if in := m.life.agent(); in != nil {
		s += "\n" + in.Dump()
	}
	return s
}

// String is a line about the process.
func (m *Mock) String() string { return describe(m) }

// GomegaString is how a failure message shows the process.
func (m *Mock) GomegaString() string { return describe(m) }

// GoString is what %#v prints, which Gomega does of whatever stands behind a context in Eventually(ctx, …): without it package fmt would
// read what others write.
func (m *Mock) GoString() string { return describe(m) }

func mockSessionID(pid, n int) string {
	id := "mock_sess_" + strconv.Itoa(pid)
	if n > 1 {
		id += "_" + strconv.Itoa(n)
	}
	return id
}
