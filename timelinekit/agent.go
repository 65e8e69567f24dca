package timelinekit

import (
	"context"
	"errors"
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

// agent is one agent of a host.
type agent struct {
	id, cwd, title string
	provider       *provider
	workspace      *workspace // nil where it has a folder of its own
	parent         *agent

	mu        sync.Mutex
	status    timeline.AgentStatus
	archived  time.Time
	log       *timeline.Log
	fold      event.Fold
	turn      *Turn         // the one that runs, or was sent and has not started
	queue     []*Turn       // those of messages that wait
	launching int           // turns that waited and are being sent
	leaving   int           // how many archive it: nothing that waits starts
	shut      bool          // the test is over
	offers    int           // messages that the provider is asked to take into the turn
	early     []event.Event // that came meanwhile
	requests  []*Request
	changes   // of the timeline, the requests, the end of the session, and launching

	seen    timeline.AgentStatus // what those who watch it know, or are about to be told
	news    []news
	telling bool
}

// gone is why the agent takes no more turns, and no messages that wait for one. a.mu is locked.
func (a *agent) gone() error {
	switch {
	case a.shut:
		return errHostClosed
	case a.status == timeline.AgentInitializing:
		return fmt.Errorf("timelinekit: agent %s is still starting; wait for CreateAgent", a.id)
	case !a.archived.IsZero():
		return fmt.Errorf("timelinekit: agent %s is archived: %w", a.id, fakeagent.ErrNoSession)
	case a.status == timeline.AgentClosed:
		return fmt.Errorf("timelinekit: agent %s is closed: %w", a.id, fakeagent.ErrNoSession)
	}
	return nil
}

func (a *agent) append(at time.Time, turnID, itemID string, item timeline.Item) timeline.Row {
	defer a.change()
	return a.log.Append(at, turnID, itemID, item)
}

// calling says that an MCP call is in flight. a.mu is locked.
func (a *agent) calling() bool {
	tl := a.log.Snapshot()
	if tl.Len() == 0 {
		return false
	}
	c, ok := tl.At(tl.Len() - 1).(timeline.ToolCall)
	return ok && c.Status == timeline.Running && strings.HasPrefix(c.Name, "mcp__")
}

// running is the turn, if it has started. a.mu is locked.
func (a *agent) running() *Turn {
	if a.turn != nil && a.turn.started {
		return a.turn
	}
	return nil
}

// RunOption shapes a new agent.
type RunOption func(*agentConfig)

type agentConfig struct {
	n                 int // the agents of the host are numbered
	id, cwd, provider string
	title             string
	inWorkspace       string
	child             string // whose
	workspace         *workspace
	parent            *agent
	servers           []fakeagent.MCPServer
}

// Cwd is the folder that the agent works in, instead of a fresh workspace. It must exist.
func Cwd(dir string) RunOption { return func(c *agentConfig) { c.cwd = dir } }

// AgentID names the agent. By default the first one is agent-1, the next one agent-2, and so on.
func AgentID(id string) RunOption { return func(c *agentConfig) { c.id = id } }

// Provider runs the agent on the registered provider of that id, instead of the default.
func Provider(id string) RunOption { return func(c *agentConfig) { c.provider = id } }

// Workspace has the agent work in a workspace of the host, which other agents may share; see [Host.CreateWorkspace].
func Workspace(id string) RunOption { return func(c *agentConfig) { c.inWorkspace = id } }

// Title is what the agent is called for people.
func Title(title string) RunOption { return func(c *agentConfig) { c.title = title } }

// ChildOf makes the agent a child of another one: it is archived with it.
func ChildOf(agentID string) RunOption { return func(c *agentConfig) { c.child = agentID } }

// MCPServers puts MCP servers into the agent's session, for the mcp steps of its scripts.
func MCPServers(servers ...fakeagent.MCPServer) RunOption {
	return func(c *agentConfig) { c.servers = append(c.servers, servers...) }
}

// CreateAgent makes an agent without a turn and returns its id. A before hook that stops it is a [HookError]; a provider that does not
// start its session is an error too. Then there is no agent.
func (h *Host) CreateAgent(ctx context.Context, opts ...RunOption) (agentID string, err error) {
	if err := h.astray(); err != nil {
		return "", err
	}
	var c agentConfig
	for _, o := range opts {
		o(&c)
	}
	if err := h.settle(&c); err != nil {
		return "", err
	}
	r := AgentCreate{Provider: c.provider, Cwd: c.cwd, Title: c.title, MCPServers: c.servers}
	if r, err = ask(ctx, &h.plugins, r.clone(), func(r AgentCreate) error { return h.has(r.Provider) }); err != nil {
		return "", fmt.Errorf("timelinekit: agent %s was not created: %w", c.id, err)
	}
	a, err := h.admit(c, r)
	if err != nil {
		return "", err
	}
	h.tell(a)
	if err := h.open(ctx, a, r); err != nil {
		h.forget(a)
		return "", fmt.Errorf("timelinekit: agent %s could not start: %w", a.id, err)
	}
	a.mu.Lock()
	if a.status == timeline.AgentInitializing { // an event may have said more already
		a.status = timeline.AgentIdle
	}
	fire(a.provider.plugins, AgentCreated{a.info()})
	a.note(nil)
	a.mu.Unlock()
	h.tell(a)
	return a.id, nil
}

// open begins the agent's session.
func (h *Host) open(ctx context.Context, a *agent, r AgentCreate) error {
	open := SessionOpen{AgentID: a.id, Provider: a.provider.id, Cwd: a.cwd, Reason: "create", Purpose: "interactive", Env: r.Env}
	if a.workspace != nil {
		open.WorkspaceID = a.workspace.ID
	}
	open, err := ask(ctx, &h.plugins, open, func(SessionOpen) error { return nil })
	if err != nil {
		return err
	}
	return h.command(ctx, a.provider, func(ctx context.Context) error {
		return a.provider.StartSession(ctx, fakeagent.SessionConfig{ThreadID: a.id, Title: r.Title, Cwd: a.cwd, Env: open.Env, MCPServers: r.MCPServers})
	})
}

// settle puts the defaults into c, and checks what it says.
func (h *Host) settle(c *agentConfig) error {
	if c.cwd != "" {
		if c.inWorkspace != "" {
			return fmt.Errorf("timelinekit: an agent works in a workspace or in a folder of its own: Workspace(%q) and Cwd(%q) exclude each other", c.inWorkspace, c.cwd)
		}
		var err error
		if c.cwd, err = folder(c.cwd); err != nil {
			return err
		}
	}
	if c.child != "" {
		var err error
		if c.parent, err = h.agent(c.child); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return errHostClosed
	}
	p := h.listed(c.provider)
	if p == nil {
		return fmt.Errorf("timelinekit: %w", h.noProvider(c.provider))
	}
	c.provider = p.id
	if c.inWorkspace != "" {
		var err error
		if c.workspace, err = h.workspace(c.inWorkspace); err != nil {
			return err
		}
		c.cwd = c.workspace.Cwd
	}
	h.made++
	c.n = h.made
	name := "agent-" + strconv.Itoa(c.n)
	if c.id == "" {
		c.id = name
	}
	if c.cwd == "" {
		c.cwd = filepath.Join(h.folders, name)
	}
	return h.free(c.id)
}

// free says that no agent has the id. h.mu is locked.
func (h *Host) free(id string) error {
	if h.agents[id] != nil {
		return fmt.Errorf("timelinekit: there is an agent %q already; use another id", id)
	}
	return nil
}

// admit makes the agent.
func (h *Host) admit(c agentConfig, r AgentCreate) (*agent, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return nil, errHostClosed
	}
	if err := h.free(c.id); err != nil { // a hook, or somebody else meanwhile, may have taken it
		return nil, err
	}
	p := h.listed(r.Provider)
	if p == nil {
		return nil, fmt.Errorf("timelinekit: %w", h.noProvider(r.Provider))
	}
	if p.own == nil || h.plugins.any() { // only our own provider asks before it uses the folder
		if err := h.makeFolderLocked(c.cwd); err != nil {
			return nil, err
		}
	}
	a := &agent{
		id: c.id, cwd: c.cwd, title: r.Title, provider: p, workspace: c.workspace, parent: c.parent,
		status: timeline.AgentInitializing, log: timeline.NewLog("epoch-" + strconv.Itoa(c.n)),
	}
	a.note(nil)
	h.agents[a.id] = a
	h.order = append(h.order, a)
	return a, nil
}

// ArchiveAgent ends what the agent does, closes its session, and returns when that is done; its children are archived after it. Its
// timeline stays. Messages that wait never start. An agent that is archived already is left alone.
func (h *Host) ArchiveAgent(ctx context.Context, agentID string) error {
	a, err := h.agent(agentID)
	if err != nil {
		return err
	}
	return h.archive(ctx, a)
}

func (h *Host) archive(ctx context.Context, a *agent) error {
	if err := h.closeSession(ctx, a); err != nil {
		return fmt.Errorf("timelinekit: agent %s was not archived: %w", a.id, err)
	}
	a.mu.Lock()
	first := a.archived.IsZero()
	if first {
		a.archived = time.Now()
		fire(a.provider.plugins, AgentArchived{a.info()})
	}
	a.mu.Unlock()
	if !first {
		return nil
	}
	return h.archiveAll(ctx, func(b *agent) bool { return b.parent == a })
}

// archiveAll archives some agents, in the order in which they were made.
func (h *Host) archiveAll(ctx context.Context, which func(*agent) bool) error {
	h.mu.RLock()
	agents := h.order
	h.mu.RUnlock()
	var all error
	for _, a := range agents {
		if which(a) {
			all = errors.Join(all, h.archive(ctx, a))
		}
	}
	return all
}

// closeSession returns when the agent's session is over.
func (h *Host) closeSession(ctx context.Context, a *agent) error {
	ctx, cancel := fakeagent.Patience(ctx)
	defer cancel()
	if a.closed() {
		return nil
	}
	h.leave(a, 1)
	defer h.leave(a, -1)
	err := h.command(ctx, a.provider, func(ctx context.Context) error { return a.provider.StopSession(ctx, a.id) })
	if err != nil && !errors.Is(err, fakeagent.ErrNoSession) { // else its end is on the way
		return err
	}
	if err := a.until(ctx, func() bool { return a.status == timeline.AgentClosed }); err != nil {
		return fmt.Errorf("its session has not ended (%w):\n%s", err, h.describe(a))
	}
	return nil
}

// until waits for something to be so, which is asked with a.mu locked. The error is the context's.
func (a *agent) until(ctx context.Context, so func() bool) error {
	for {
		a.mu.Lock()
		change, over := a.next(), so()
		a.mu.Unlock()
		if over {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// leave is one more, or one less, who archives the agent.
func (h *Host) leave(a *agent, n int) {
	a.mu.Lock()
	a.leaving += n
	a.proceed() // where it could not be archived
	a.note(nil)
	a.mu.Unlock()
	h.tell(a)
}

func (a *agent) closed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status == timeline.AgentClosed
}

func (h *Host) forget(a *agent) {
	h.mu.Lock()
	delete(h.agents, a.id)
	h.order = slices.DeleteFunc(slices.Clone(h.order), func(b *agent) bool { return b == a })
	h.mu.Unlock()
	a.mu.Lock()
	a.status = timeline.AgentClosed
	a.note(nil)
	a.mu.Unlock()
	h.tell(a)
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

// news is what has become of an agent.
type news struct {
	status timeline.AgentStatus // "" is the same as before
	over   *Turn                // has ended; those who wait for it are told after those who watch
}

// note puts down what is to be told. a.mu is locked; whoever called it calls tell when it is not any more.
func (a *agent) note(over *Turn) {
	n := news{over: over}
	if a.status != a.seen {
		n.status, a.seen = a.status, a.status
	}
	if n != (news{}) {
		a.news = append(a.news, n)
	}
}

// tell tells what was noted, in order and with no lock held. Where somebody does so already, it is left to him.
func (h *Host) tell(a *agent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.telling {
		return
	}
	a.telling = true
	all := false
	defer func() {
		a.telling = false
		if !all { // somebody who watches panicked, or ended the goroutine
			a.mu.Unlock()
			defer a.mu.Lock()
			h.tell(a)
		}
	}()
	for len(a.news) > 0 {
		n := a.news[0]
		a.news = a.news[1:]
		h.inform(a, n)
	}
	a.news, all = nil, true
}

// inform unlocks a.mu meanwhile.
func (h *Host) inform(a *agent, n news) {
	a.mu.Unlock()
	defer a.mu.Lock()
	if n.over != nil {
		defer close(n.over.done)
	}
	if n.status == "" {
		return
	}
	h.mu.RLock()
	watchers := h.watchers
	h.mu.RUnlock()
	for _, fn := range watchers {
		(*fn)(a.id, n.status)
	}
}

// AgentInfo is what the host knows of an agent, apart from its timeline.
type AgentInfo struct {
	ID            string
	WorkspaceID   string // "" for an agent in a folder of its own
	ParentAgentID string // "" for one that is nobody's child
	Provider      string // the id that its provider is registered under
	Cwd           string // absolute; a folder of the host is made when it is first used or, where there are plugins, at once
	Title         string
	Status        timeline.AgentStatus
	ArchivedAt    time.Time // zero for one that is not archived
}

// info is what the host knows now. a.mu is locked.
func (a *agent) info() AgentInfo {
	i := AgentInfo{ID: a.id, Provider: a.provider.id, Cwd: a.cwd, Title: a.title, Status: a.status, ArchivedAt: a.archived}
	if a.workspace != nil {
		i.WorkspaceID = a.workspace.ID
	}
	if a.parent != nil {
		i.ParentAgentID = a.parent.id
	}
	return i
}

// Agent is what the host knows of an agent now.
func (h *Host) Agent(agentID string) (AgentInfo, error) {
	a, err := h.agent(agentID)
	if err != nil {
		return AgentInfo{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.info(), nil
}
