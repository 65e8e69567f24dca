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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// T is what the host needs of a test: *testing.T, testing.TB, Ginkgo's GinkgoT() and rapid's T all have it.
type T = fakeagent.T

// Run is a turn that has ended.
type Run = timeline.Run

const (
	interruptLimit = 2 * time.Second  // for a provider to end a turn that was interrupted
	closeLimit     = 10 * time.Second // for everything to end at the test's end
)

// Host is an agent host. Two hosts share nothing.
type Host struct {
	t   T
	ctx context.Context // ends with the host; what a provider gets instead of a caller's
	end context.CancelFunc

	mu         sync.RWMutex
	closing    bool        // takes no new providers, agents and turns
	providers  []*provider // the first one is the default
	agents     map[string]*agent
	order      []*agent
	made       int // agents so far
	watchers   []*func(string, timeline.AgentStatus)
	violations []string
	workspaces string // the folder of all workspaces
	used       bool   // it exists
}

// provider is a registered one.
type provider struct {
	fakeagent.Provider
	id          string
	own         *fakeagent.Instance // the host made it, and closes it
	listed      bool
	unsubscribe func()
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

// NewHost is a host that lives as long as the test. Without options it has one provider, fake-agent, which is
// [fakeagent.Scripted] with shell commands allowed, and gives each agent a fresh workspace.
//
// At the test's end it interrupts what still runs, waits until all has ended, removes the workspaces, and reports the
// violations, all in one message.
func NewHost(t T, opts ...Option) *Host {
	t.Helper()
	h := &Host{t: t, agents: map[string]*agent{}}
	h.ctx, h.end = context.WithCancel(context.Background())
	h.workspaces = filepath.Join(os.TempDir(), fmt.Sprintf("understudy-%d-%s", os.Getpid(), rand.Text()))
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
		cfg.Spawn = func(cmd *exec.Cmd) error { return h.makeWorkspace(cmd.Dir) }
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

// Register adds a provider to the host. The remover takes it off the list; agents that have it keep it.
func (h *Host) Register(id string, p fakeagent.Provider) (remove func(), err error) {
	r, err := h.register(id, p)
	if err != nil {
		return nil, err
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		r.listed = false
	}, nil
}

func (h *Host) register(id string, p fakeagent.Provider) (*provider, error) {
	if id == "" || p == nil {
		return nil, errors.New("timelinekit: Register needs an id and a provider")
	}
	r := &provider{Provider: p, id: id, listed: true}
	h.mu.Lock()
	var err error
	switch {
	case h.closing:
		err = errHostClosed
	case h.listed(id) != nil:
		err = fmt.Errorf("timelinekit: there is a provider %q already; remove it first, or use another id", id)
	default:
		h.providers = append(h.providers, r)
	}
	h.mu.Unlock()
	if err != nil {
		return nil, err
	}
	r.unsubscribe = p.Subscribe(func(e event.Event) { h.on(r, &e) })
	return r, nil
}

// listed is the provider of that id, or the default for "". h.mu is locked.
func (h *Host) listed(id string) *provider {
	for _, p := range h.providers {
		if p.listed && (id == "" || p.id == id) {
			return p
		}
	}
	return nil
}

// ProviderInfo is a provider as the host lists it.
type ProviderInfo struct {
	ID     string
	Label  string
	Models []fakeagent.Model
}

// Providers lists the registered providers, the default first.
func (h *Host) Providers(ctx context.Context) ([]ProviderInfo, error) {
	h.mu.RLock()
	providers := slices.DeleteFunc(slices.Clone(h.providers), func(p *provider) bool { return !p.listed })
	h.mu.RUnlock()
	var out []ProviderInfo
	for _, p := range providers {
		probe, err := p.Probe(ctx)
		if err != nil {
			return nil, fmt.Errorf("timelinekit: provider %s: %w", p.id, err)
		}
		out = append(out, ProviderInfo{p.id, probe.Label, probe.Models})
	}
	return out, nil
}

// RunOption shapes a new agent.
type RunOption func(*agentConfig)

type agentConfig struct{ id, cwd, provider string }

// Cwd is the folder that the agent works in, instead of a fresh workspace. It must exist.
func Cwd(dir string) RunOption { return func(c *agentConfig) { c.cwd = dir } }

// AgentID names the agent. By default the first one is agent-1, the next one agent-2, and so on.
func AgentID(id string) RunOption { return func(c *agentConfig) { c.id = id } }

// Provider runs the agent on the registered provider of that id, instead of the default.
func Provider(id string) RunOption { return func(c *agentConfig) { c.provider = id } }

// CreateAgent makes an agent without a turn and returns its id. A provider that does not start its session is an error, and then
// there is no agent.
func (h *Host) CreateAgent(ctx context.Context, opts ...RunOption) (agentID string, err error) {
	var c agentConfig
	for _, o := range opts {
		o(&c)
	}
	a, err := h.newAgent(c)
	if err != nil {
		return "", err
	}
	h.tell(a, timeline.AgentInitializing)
	err = h.command(ctx, a.provider, func(ctx context.Context) error {
		return a.provider.StartSession(ctx, fakeagent.SessionConfig{ThreadID: a.id, Cwd: a.cwd})
	})
	if err != nil {
		h.forget(a)
		return "", fmt.Errorf("timelinekit: agent %s could not start: %w", a.id, err)
	}
	a.mu.Lock()
	ready := a.status == timeline.AgentInitializing // an event may have said more already
	if ready {
		a.status = timeline.AgentIdle
	}
	a.mu.Unlock()
	if ready {
		h.tell(a, timeline.AgentIdle)
	}
	return a.id, nil
}

func (h *Host) newAgent(c agentConfig) (*agent, error) {
	if c.cwd != "" {
		var err error
		if c.cwd, err = folder(c.cwd); err != nil {
			return nil, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return nil, errHostClosed
	}
	p := h.listed(c.provider)
	if p == nil {
		return nil, fmt.Errorf("timelinekit: no provider %q; register it first", c.provider)
	}
	h.made++
	name := "agent-" + strconv.Itoa(h.made)
	if c.id == "" {
		c.id = name
	}
	if h.agents[c.id] != nil {
		return nil, fmt.Errorf("timelinekit: there is an agent %q already; use another id", c.id)
	}
	if c.cwd == "" {
		c.cwd = filepath.Join(h.workspaces, name)
		if p.own == nil { // only our own provider asks before it uses it
			if err := h.makeWorkspaceLocked(c.cwd); err != nil {
				return nil, err
			}
		}
	}
	a := &agent{id: c.id, cwd: c.cwd, provider: p, status: timeline.AgentInitializing, log: timeline.NewLog("epoch-" + strconv.Itoa(h.made))}
	h.agents[a.id] = a
	h.order = append(h.order, a)
	return a, nil
}

// folder is an existing folder as an absolute path.
func folder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(abs); err == nil && !info.IsDir() {
			err = errors.New("it is a file")
		} else if pe := (*os.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
	}
	if err != nil {
		return "", fmt.Errorf("timelinekit: cwd %q cannot be used (%w); create the folder first", dir, err)
	}
	return abs, nil
}

func (h *Host) forget(a *agent) {
	h.mu.Lock()
	delete(h.agents, a.id)
	h.order = slices.DeleteFunc(slices.Clone(h.order), func(b *agent) bool { return b == a })
	h.mu.Unlock()
	h.tell(a, timeline.AgentClosed)
}

var errHostClosed = errors.New("timelinekit: the host is closed, as its test is over")

// lazyFiles makes a workspace when it is first written to.
type lazyFiles struct {
	fakeagent.OSFiles
	h *Host
}

func (f lazyFiles) WriteFile(ctx context.Context, s fakeagent.SessionConfig, path string, data []byte, follow bool) error {
	if err := f.h.makeWorkspace(s.Cwd); err != nil {
		return err
	}
	return f.OSFiles.WriteFile(ctx, s, path, data, follow)
}

func (h *Host) makeWorkspace(dir string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.makeWorkspaceLocked(dir)
}

func (h *Host) makeWorkspaceLocked(dir string) error {
	if filepath.Dir(dir) != h.workspaces {
		return nil // somebody else's folder
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("timelinekit: workspace: %w", err)
	}
	h.used = true
	return nil
}

// call makes a short call into a provider. It has the host's own context, which also ends with the caller's and after the limit, if there
// is one. Since a foreign provider may not look at its context, it is not waited for longer than that.
func call[V any](ctx context.Context, h *Host, p *provider, limit time.Duration, do func(context.Context) (V, error)) (v V, err error) {
	if p.own != nil {
		return do(h.ctx) // never waits
	}
	own, cancel := context.WithCancel(h.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	wait, stop := fakeagent.Patience(ctx)
	if limit > 0 {
		wait, stop = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not return within %v", limit))
	}
	defer stop()
	type result struct {
		v   V
		err error
	}
	returned := make(chan result, 1)
	go func() {
		v, err := do(own)
		returned <- result{v, err}
	}()
	select {
	case r := <-returned:
		return r.v, r.err
	case <-wait.Done():
		return v, fmt.Errorf("provider %s: %w", p.id, context.Cause(wait))
	}
}

// command is a call that returns nothing.
func (h *Host) command(ctx context.Context, p *provider, do func(context.Context) error) error {
	_, err := call(ctx, h, p, 0, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) })
	return err
}

// agent is the agent of that id.
func (h *Host) agent(id string) (*agent, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if a := h.agents[id]; a != nil {
		return a, nil
	}
	known := []string{}
	for _, a := range h.order[:min(len(h.order), 10)] {
		known = append(known, a.id)
	}
	if len(known) == 0 {
		known = append(known, "none")
	}
	return nil, fmt.Errorf("timelinekit: no agent %q; this host has: %s", id, strings.Join(known, ", "))
}

// WatchStatus has fn called with every status that an agent takes, in order for each agent. fn may call the host, but not wait for
// the agent.
func (h *Host) WatchStatus(fn func(agentID string, s timeline.AgentStatus)) (remove func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &fn
	h.watchers = append(slices.Clone(h.watchers), p)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.watchers = slices.DeleteFunc(slices.Clone(h.watchers), func(q *func(string, timeline.AgentStatus)) bool { return q == p })
	}
}

func (h *Host) tell(a *agent, s timeline.AgentStatus) {
	h.mu.RLock()
	watchers := h.watchers
	h.mu.RUnlock()
	for _, fn := range watchers {
		(*fn)(a.id, s)
	}
}

// AgentInfo is what the host knows of an agent, apart from its timeline.
type AgentInfo struct {
	ID       string
	Provider string // the id that its provider is registered under
	Cwd      string // absolute; a workspace of the host is made when it is first used
	Status   timeline.AgentStatus
}

// Agent is what the host knows of an agent now.
func (h *Host) Agent(agentID string) (AgentInfo, error) {
	a, err := h.agent(agentID)
	if err != nil {
		return AgentInfo{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return AgentInfo{a.id, a.provider.id, a.cwd, a.status}, nil
}

func (h *Host) violate(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.violations = append(h.violations, fmt.Sprintf(format, args...))
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
	h.mu.Lock()
	h.closing = true
	providers, agents := h.providers, h.order
	h.mu.Unlock()
	limit, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
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
	h.end()
	for _, p := range providers {
		p.unsubscribe()
	}
	h.mu.Lock()
	used := h.used
	h.mu.Unlock()
	if used {
		if err := os.RemoveAll(h.workspaces); err != nil {
			h.violate("the workspaces could not be removed: %v", err)
		}
	}
	if v := h.Violations(); len(v) > 0 {
		h.t.Errorf("timelinekit: at the end of the test:\n  %s", strings.Join(v, "\n  "))
	}
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

func (h *Host) describe(a *agent) string {
	a.mu.Lock()
	tl, status, requests := a.log.Snapshot(), a.status, slices.Clone(a.requests)
	a.mu.Unlock()
	s := fmt.Sprintf("agent %s is %s", a.id, status)
	if doing := h.doing(a); doing != "" {
		s += ", in " + doing
	}
	s += "\n" + tl.String()
	for _, r := range requests {
		s += "\n    " + r.String()
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
