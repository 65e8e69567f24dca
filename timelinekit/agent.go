package timelinekit

import (
	"context"
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
	id, cwd  string
	provider *provider

	mu       sync.Mutex
	status   timeline.AgentStatus
	log      *timeline.Log
	fold     event.Fold
	turn     *Turn // the one that runs, or was sent and has not started
	requests []*Request
	changed  chan struct{} // closed at the next change of the timeline or the requests
}

// next is closed at the next change. a.mu is locked.
func (a *agent) next() <-chan struct{} {
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.changed
}

func (a *agent) change() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

func (a *agent) append(at time.Time, turnID, itemID string, item timeline.Item) {
	a.log.Append(at, turnID, itemID, item)
	a.change()
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
	id, cwd, provider string
	servers           []fakeagent.MCPServer
}

// Cwd is the folder that the agent works in, instead of a fresh workspace. It must exist.
func Cwd(dir string) RunOption { return func(c *agentConfig) { c.cwd = dir } }

// AgentID names the agent. By default the first one is agent-1, the next one agent-2, and so on.
func AgentID(id string) RunOption { return func(c *agentConfig) { c.id = id } }

// Provider runs the agent on the registered provider of that id, instead of the default.
func Provider(id string) RunOption { return func(c *agentConfig) { c.provider = id } }

// MCPServers puts MCP servers into the agent's session, for the mcp steps of its scripts.
func MCPServers(servers ...fakeagent.MCPServer) RunOption {
	return func(c *agentConfig) { c.servers = append(c.servers, servers...) }
}

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
		return a.provider.StartSession(ctx, fakeagent.SessionConfig{ThreadID: a.id, Cwd: a.cwd, MCPServers: c.servers})
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
		return nil, fmt.Errorf("timelinekit: no provider %q; this host has: %s", c.provider, h.providerIDs())
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

func (h *Host) forget(a *agent) {
	h.mu.Lock()
	delete(h.agents, a.id)
	h.order = slices.DeleteFunc(slices.Clone(h.order), func(b *agent) bool { return b == a })
	h.mu.Unlock()
	h.tell(a, timeline.AgentClosed)
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
