package timelinekit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// T is what the host needs of a test: *testing.T, testing.TB, Ginkgo's GinkgoT() and rapid's T all have it.
type T = fakeagent.T

// Run is a turn that has ended.
type Run = timeline.Run

const (
	interruptLimit = 2 * time.Second  // for a provider to end a turn that was interrupted
	callLimit      = 20 * time.Second // for an MCP call that an interrupt waits for: it has 10s, and so has the handshake before the first one
	closeLimit     = 10 * time.Second // for everything to end at the test's end
)

// Host is an agent host. Two hosts share nothing.
type Host struct {
	t   T
	ctx context.Context // ends with the host; what a provider gets instead of a caller's
	end context.CancelFunc

	mu         sync.RWMutex
	closing    bool        // takes no new providers, agents and turns
	over       bool        // the test may have ended: nothing is logged any more
	virtual    bool        // it was made in a bubble of testing/synctest
	providers  []*provider // the first one is the default
	agents     map[string]*agent
	order      []*agent
	made       int // agents so far
	workspaces []*workspace
	watchers   []*func(string, timeline.AgentStatus)
	violations []string
	folders    string // the folder of all folders that the host makes
	used       bool   // it exists

	plugins plugins
}

// Option shapes a new host.
type Option func(*Host) error

// WithProvider gives the host a provider. The first one given takes the place of the scripted agent as the default.
func WithProvider(id string, p fakeagent.Provider) Option {
	return func(h *Host) error {
		_, err := h.Register(id, p)
		return err
	}
}

// WithPlugins gives the host plugins; see [Host.Use].
func WithPlugins(plugins ...Plugin) Option {
	return func(h *Host) error {
		for _, p := range plugins {
			if _, err := h.Use(p); err != nil {
				return err
			}
		}
		return nil
	}
}

// NewHost is a host that lives as long as the test. Without options it has one provider, fake-agent, which is
// [fakeagent.Scripted] with shell commands allowed, gives each agent a fresh folder, and has no plugins.
//
// At the test's end it waits for the hooks that were fired, interrupts what still runs, waits until all has ended, for 10 seconds each,
// removes the folders, and reports the violations, all in one message. Where the test has a Logf, each is logged when it happens, too.
//
// A host belongs to the bubble of testing/synctest that it is made in, or to none: make it where its turns run.
func NewHost(t T, opts ...Option) *Host {
	t.Helper()
	h := &Host{t: t, agents: map[string]*agent{}, virtual: virtual()}
	h.ctx, h.end = context.WithCancel(context.Background())
	h.plugins.ctx, h.plugins.violate = h.ctx, h.violate
	h.folders = filepath.Join(os.TempDir(), fmt.Sprintf("understudy-%d-%s", os.Getpid(), rand.Text()))
	t.Cleanup(h.close)
	for _, o := range opts {
		if err := o(h); err != nil {
			t.Fatalf("%v", err)
		}
	}
	if len(h.providers) == 0 {
		cfg := fakeagent.Scripted()
		cfg.AllowShell = true
		cfg.Files = lazyFiles{h: h}
		cfg.MCP = mcpcall.New()
		cfg.Spawn = func(cmd *exec.Cmd) error { return h.makeFolder(cmd.Dir) }
		in, err := fakeagent.New(cfg)
		if err != nil {
			t.Fatalf("%v", err)
		}
		p, err := h.register("fake-agent", in)
		if err != nil {
			t.Fatalf("%v", err)
		}
		p.own = in
	}
	return h
}

var (
	errHostClosed = errors.New("timelinekit: the host is closed, as its test is over")
	errTestOver   = errors.New("the test is over")
)

func (h *Host) violate(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := fmt.Sprintf(format, args...)
	h.violations = append(h.violations, v)
	if log, ok := h.t.(interface{ Logf(string, ...any) }); ok && !h.over {
		log.Logf("timelinekit: %s", v) // now, as what fails because of it may be all that is shown of the test
	}
}

// found records what is wrong with an agent. a.mu is locked, so that whoever sees what has become of the agent finds the violations, too.
func (h *Host) found(a *agent, wrong []string) {
	for _, w := range wrong {
		h.violate("agent %s: %s", a.id, w)
	}
}

// virtual says that this goroutine is in a bubble of testing/synctest, whose clock is the only one without a monotonic part.
func virtual() bool {
	now := time.Now()
	return now == now.Round(0)
}

// astray is the error of a host that is used on another clock than its own, on which it would wait for ever, or end the program.
func (h *Host) astray() error {
	if virtual() == h.virtual {
		return nil
	}
	return errors.New("timelinekit: the host was made outside of the bubble that it is used in, or the other way round; " +
		"make it in the same bubble: in Ginkgo decorate the container whose BeforeEach makes it, not only the It")
}

// Violations are the things that went wrong where no caller could be told: a provider that broke its contract, a hold that was never
// released. Reading them takes them: a test that has looked at them no longer fails because of them.
func (h *Host) Violations() []string {
	h.mu.Lock()
	v := h.violations
	h.violations = nil
	providers := h.providers
	h.mu.Unlock()
	for _, p := range providers {
		if p.own != nil {
			v = append(v, p.own.Violations()...)
		}
	}
	return v
}

// close ends everything, in the test's cleanup.
func (h *Host) close() {
	h.t.Helper()
	h.stopPlugins()
	h.mu.Lock()
	h.closing = true
	providers, agents := h.providers, h.order
	h.mu.Unlock()
	limit, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	for _, a := range agents {
		h.shut(a)
	}
	for _, p := range providers {
		if p.own == nil {
			continue
		}
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			_ = p.own.Close()
		}()
		select {
		case <-closed:
		case <-limit.Done():
			h.violate("provider %s has not ended within %v:\n%s", p.id, closeLimit, p.own.Dump())
		}
	}
	for _, a := range agents {
		h.stop(limit, a)
	}
	_ = launched(limit, agents) // by providers that are about to return
	h.end()
	h.awaitLaunches(agents)
	h.mu.Lock()
	used := h.used
	var off []func()
	for _, p := range providers {
		if p.unsubscribe != nil {
			off = append(off, p.unsubscribe)
		}
	}
	h.mu.Unlock()
	for _, unsubscribe := range off {
		unsubscribe()
	}
	if used {
		if err := os.RemoveAll(h.folders); err != nil {
			h.violate("the agents' folders could not be removed: %v", err)
		}
	}
	h.mu.Lock()
	h.over = true
	h.mu.Unlock()
	if v := h.Violations(); len(v) > 0 {
		h.t.Errorf("timelinekit: at the end of the test:\n  %s", strings.Join(v, "\n  "))
	}
}

// shut has no messages wait any more. Those that do are violations.
func (h *Host) shut(a *agent) {
	a.mu.Lock()
	a.shut = true
	h.found(a, a.loseAll(errTestOver))
	a.mu.Unlock()
	h.tell(a)
}

// awaitLaunches returns when no turn that waited is being sent any more. No provider is waited for: their context has ended.
func (h *Host) awaitLaunches(agents []*agent) {
	limit, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	if a := launched(limit, agents); a != nil {
		h.violate("agent %s: a function that watches statuses has not returned within %v of the test's end", a.id, closeLimit)
	}
}

// launched waits until no turn that waited is being sent any more. What it returns is an agent for which that took too long.
func launched(limit context.Context, agents []*agent) (late *agent) {
	for _, a := range agents {
		if a.until(limit, func() bool { return a.launching == 0 }) != nil {
			late = a
		}
	}
	return late
}

// stop ends an agent whose provider is not the host's own.
func (h *Host) stop(limit context.Context, a *agent) {
	a.mu.Lock()
	t, open := a.turn, a.status != timeline.AgentClosed
	a.mu.Unlock()
	if a.provider.own != nil || !open {
		return
	}
	if p, ok := a.provider.Provider.(interface{ HeldAt(threadID string) string }); ok && t != nil {
		if gate := p.HeldAt(a.id); gate != "" {
			h.violate("a turn of agent %s is still held at gate %q; call Release on it, or interrupt the turn", a.id, gate)
		}
	}
	err := h.command(limit, a.provider, func(ctx context.Context) error { return a.provider.StopSession(ctx, a.id) })
	if err != nil && !errors.Is(err, fakeagent.ErrNoSession) {
		h.violate("agent %s could not be stopped: %v", a.id, err)
	}
	if t == nil {
		return
	}
	select {
	case <-t.done:
	case <-limit.Done():
		h.violate("the turn of agent %s has not ended within %v of the test's end", a.id, closeLimit)
	}
}

// Dump prints every agent: its status, the step it is in, its timeline, its requests.
func (h *Host) Dump() string {
	h.mu.RLock()
	agents := h.order
	h.mu.RUnlock()
	lines := make([]string, len(agents))
	for i, a := range agents {
		lines[i] = h.describe(a)
	}
	return strings.Join(lines, "\n")
}

// GomegaString is how a failure message shows the host.
func (h *Host) GomegaString() string { return h.Dump() }

// GoString is what %#v prints, which Gomega does of whatever stands behind a context in Eventually(ctx, …): without it package fmt would
// read what others write.
func (h *Host) GoString() string { return "the host" }

func (h *Host) describe(a *agent) string {
	a.mu.Lock()
	tl, status, requests, queue := a.log.Snapshot(), a.status, slices.Clone(a.requests), slices.Clone(a.queue)
	a.mu.Unlock()
	s := fmt.Sprintf("agent %s is %s", a.id, status)
	if doing := h.doing(a); doing != "" {
		s += ", in " + doing
	}
	s += "\n" + tl.String()
	for _, r := range requests {
		s += "\n    " + r.String()
	}
	for _, t := range queue {
		s += fmt.Sprintf("\n    the message %.60q waits", t.prompt)
	}
	return s
}

// doing is the step that the agent is in, if its provider says so soon.
func (h *Host) doing(a *agent) string {
	th, _ := call(context.Background(), h, a.provider, time.Second, func(ctx context.Context) (fakeagent.Thread, error) {
		return a.provider.ReadThread(ctx, a.id)
	})
	return th.Doing
}
