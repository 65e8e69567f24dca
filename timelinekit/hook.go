package timelinekit

//go:generate go tool mockgen -typed -write_command_comment=false -package=timelinekitmock -destination=timelinekitmock/hooks.go . AgentCreatedHook,AgentArchivedHook,TurnStartedHook,TurnEndedHook,PermissionRequestedHook,PermissionResolvedHook,WorkspaceCreatedHook,WorkspaceArchivedHook,BeforeAgentCreateHook,BeforeSessionOpenHook,BeforeWorkspaceCreateHook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// Plugin is whatever has an id and some of the hooks: the interfaces of this package whose names end in Hook. [Host.Use] finds them by
// type assertion, so a plugin has those methods that it needs and no others. [NewPlugin] makes one of functions.
//
// There are two kinds. An event hook is told after the fact, on a goroutine of its own: the agent does not wait for it. A before hook is
// asked before something is done, may change it by returning another request, and may refuse it by an error.
type Plugin interface{ ID() string }

// Event hooks. Within one plugin they are called one at a time, in the order of the events; plugins overlap. A hook may call the host:
// send a turn, answer a request, append a row. It has 30 seconds, then its context ends. An error, a panic, and a hook that takes longer
// are violations. What a hook gets is shared with other plugins, so it must not be changed.
type (
	// AgentCreatedHook is agent.created: an agent is ready for its first turn.
	AgentCreatedHook interface {
		AgentCreated(ctx context.Context, e AgentCreated) error
	}
	// AgentArchivedHook is agent.archived.
	AgentArchivedHook interface {
		AgentArchived(ctx context.Context, e AgentArchived) error
	}
	// TurnStartedHook is agent.turn_started.
	TurnStartedHook interface {
		TurnStarted(ctx context.Context, e TurnStarted) error
	}
	// TurnEndedHook is agent.turn_ended. Each turn that has started has one.
	TurnEndedHook interface {
		TurnEnded(ctx context.Context, e TurnEnded) error
	}
	// PermissionRequestedHook is agent.permission_requested: the agent asks for an approval, or asks a question.
	PermissionRequestedHook interface {
		PermissionRequested(ctx context.Context, e PermissionRequested) error
	}
	// PermissionResolvedHook is agent.permission_resolved: a request was answered, or closed without an answer.
	PermissionResolvedHook interface {
		PermissionResolved(ctx context.Context, e PermissionResolved) error
	}
	// WorkspaceCreatedHook is workspace.created.
	WorkspaceCreatedHook interface {
		WorkspaceCreated(ctx context.Context, e WorkspaceCreated) error
	}
	// WorkspaceArchivedHook is workspace.archived.
	WorkspaceArchivedHook interface {
		WorkspaceArchived(ctx context.Context, e WorkspaceArchived) error
	}
)

// Before hooks. They are called one after another, in the order in which the plugins were registered. Each gets a copy of what the one
// before it returned; nil keeps it as it is. An error, a panic, a result that is not valid, and one that takes longer than 30 seconds
// stop what was about to be done, with a [HookError]; later hooks are not called then.
type (
	// BeforeAgentCreateHook is agent.create. Everything but Cwd may be changed.
	BeforeAgentCreateHook interface {
		BeforeAgentCreate(ctx context.Context, r AgentCreate) (*AgentCreate, error)
	}
	// BeforeSessionOpenHook is agent.session_open. Only Env may be changed.
	BeforeSessionOpenHook interface {
		BeforeSessionOpen(ctx context.Context, r SessionOpen) (*SessionOpen, error)
	}
	// BeforeWorkspaceCreateHook is workspace.create. Everything may be changed.
	BeforeWorkspaceCreateHook interface {
		BeforeWorkspaceCreate(ctx context.Context, r WorkspaceCreate) (*WorkspaceCreate, error)
	}
)

// HookEvent is what an event hook is told.
type HookEvent interface {
	AgentCreated | AgentArchived | TurnStarted | TurnEnded | PermissionRequested | PermissionResolved | WorkspaceCreated | WorkspaceArchived
	about() string // what it is about, for messages
}

// HookRequest is what a before hook is asked.
type HookRequest[R any] interface {
	AgentCreate | SessionOpen | WorkspaceCreate
	clone() R
	valid(was R) error // what a hook must not have done to it
}

// AgentCreated is the event agent.created.
type AgentCreated struct{ Agent AgentInfo }

// AgentArchived is the event agent.archived.
type AgentArchived struct{ Agent AgentInfo }

// TurnStarted is the event agent.turn_started.
type TurnStarted struct {
	Agent  AgentInfo
	TurnID string
}

// TurnEnded is the event agent.turn_ended.
type TurnEnded struct {
	Agent    AgentInfo
	TurnID   string
	Ending   timeline.Ending
	Timeline timeline.Timeline // of the agent, all its turns; Timeline.Turn(TurnID) is this one
}

// PermissionRequested is the event agent.permission_requested.
type PermissionRequested struct {
	Agent   AgentInfo
	Request Request
}

// PermissionResolved is the event agent.permission_resolved. The request says by which decision, and why.
type PermissionResolved struct {
	Agent   AgentInfo
	Request Request
}

// WorkspaceCreated is the event workspace.created.
type WorkspaceCreated struct{ Workspace WorkspaceInfo }

// WorkspaceArchived is the event workspace.archived.
type WorkspaceArchived struct{ Workspace WorkspaceInfo }

func (e AgentCreated) about() string        { return e.Agent.ID }
func (e AgentArchived) about() string       { return e.Agent.ID }
func (e TurnStarted) about() string         { return e.TurnID }
func (e TurnEnded) about() string           { return e.TurnID }
func (e PermissionRequested) about() string { return e.Request.ID + " of " + e.Request.TurnID }
func (e PermissionResolved) about() string  { return e.Request.ID + " of " + e.Request.TurnID }
func (e WorkspaceCreated) about() string    { return e.Workspace.ID }
func (e WorkspaceArchived) about() string   { return e.Workspace.ID }

// AgentCreate is the request agent.create: what a new agent is going to be. It prints without the values of Env.
type AgentCreate struct {
	Provider   string            // the id of a provider that is registered
	Cwd        string            // cannot be changed
	Title      string            // for people; may be ""
	Env        map[string]string // of the session, see [SessionOpen]; never nil in a hook
	MCPServers []fakeagent.MCPServer
}

// SessionOpen is the request agent.session_open: a session with a provider is about to begin. It prints without the values of Env.
type SessionOpen struct {
	AgentID     string
	WorkspaceID string // "" for an agent in a folder of its own
	Provider    string
	Cwd         string
	Reason      string            // "create": this host opens no session again
	Purpose     string            // "interactive"
	Env         map[string]string // added to the environment of the agent's commands, and of its MCP servers that are commands; never nil in a hook
}

// WorkspaceCreate is the request workspace.create.
type WorkspaceCreate struct {
	ProjectID string // what it belongs to; "" becomes "project-1"
	Title     string // for people; "" becomes the workspace's id
	Cwd       string // its folder, which must exist; "" is a fresh one
}

func (r AgentCreate) clone() AgentCreate {
	r.Env = copied(r.Env)
	r.MCPServers = slices.Clone(r.MCPServers)
	for i, s := range r.MCPServers {
		s.Args, s.Env, s.Headers = slices.Clone(s.Args), maps.Clone(s.Env), maps.Clone(s.Headers)
		r.MCPServers[i] = s
	}
	return r
}

func (r SessionOpen) clone() SessionOpen         { r.Env = copied(r.Env); return r }
func (r WorkspaceCreate) clone() WorkspaceCreate { return r }

// copied is never nil, so that a hook may set something in it.
func copied(env map[string]string) map[string]string {
	if env == nil {
		return map[string]string{}
	}
	return maps.Clone(env)
}

func (r AgentCreate) valid(was AgentCreate) error {
	if r.Cwd != was.Cwd {
		return fmt.Errorf("it changed Cwd from %q to %q; an agent's folder is set by who creates it", was.Cwd, r.Cwd)
	}
	names := map[string]bool{}
	for i, s := range r.MCPServers {
		switch {
		case s.Name == "":
			return fmt.Errorf("MCP server %d has no Name; scripts and agents call it by that", i+1)
		case names[s.Name]:
			return fmt.Errorf("there are two MCP servers %q; give each a Name of its own", s.Name)
		case s.Command != "" && s.URL != "":
			return fmt.Errorf("MCP server %q has a Command and a URL; it can be only one of them", s.Name)
		}
		names[s.Name] = true
	}
	return validEnv(r.Env)
}

func (r SessionOpen) valid(was SessionOpen) error {
	env := r.Env
	r.Env, was.Env = nil, nil
	if !reflect.DeepEqual(r, was) {
		return errors.New("it changed more than Env, and nothing else may be changed")
	}
	return validEnv(env)
}

func (r WorkspaceCreate) valid(WorkspaceCreate) error { return nil }

func validEnv(env map[string]string) error {
	for name, value := range env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return fmt.Errorf("%q cannot be an environment variable; a name is not empty and has no =, and neither name nor value has a NUL", name)
		}
	}
	return nil
}

// envNames is what may be printed of an environment.
func envNames(env map[string]string) string {
	if len(env) == 0 {
		return ""
	}
	return " with " + strings.Join(slices.Sorted(maps.Keys(env)), ", ") + " set"
}

func (r AgentCreate) describe() string {
	s := fmt.Sprintf("agent in %q on %s", r.Cwd, r.Provider)
	if r.Title != "" {
		s += fmt.Sprintf(", titled %q", r.Title)
	}
	if len(r.MCPServers) > 0 {
		s += fmt.Sprintf(", with %v", r.MCPServers)
	}
	return s + envNames(r.Env)
}

func (r SessionOpen) describe() string {
	return fmt.Sprintf("session of %s in %q on %s%s", r.AgentID, r.Cwd, r.Provider, envNames(r.Env))
}

// Format prints what is no secret, whatever the verb.
func (r AgentCreate) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, r.describe()) }

// Format prints what is no secret, whatever the verb.
func (r SessionOpen) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, r.describe()) }

// GomegaString is how a failure message shows the request.
func (r AgentCreate) GomegaString() string { return r.describe() }

// GomegaString is how a failure message shows the request.
func (r SessionOpen) GomegaString() string { return r.describe() }

// HookError is a before hook that stopped something. Unwrap gives what the hook returned.
type HookError struct {
	Plugin string // its id
	Hook   string // such as "agent.create"
	Err    error
}

func (e *HookError) Error() string {
	return fmt.Sprintf("plugin %s stopped %s: %v", e.Plugin, e.Hook, e.Err)
}

// Unwrap is why.
func (e *HookError) Unwrap() error { return e.Err }

// callback calls one hook. in is an event or a request; out is a request, or nil if it is to be kept.
type callback func(ctx context.Context, in any) (out any, err error)

// hook is one that exists.
type hook struct {
	name   string       // as plugins of a real host know it
	method string       // of its interface
	takes  reflect.Type // the event or the request
	shape  reflect.Type // of the method
	find   func(Plugin) callback
}

var hooks = []hook{
	tells("agent.created", AgentCreatedHook.AgentCreated),
	tells("agent.archived", AgentArchivedHook.AgentArchived),
	tells("agent.turn_started", TurnStartedHook.TurnStarted),
	tells("agent.turn_ended", TurnEndedHook.TurnEnded),
	tells("agent.permission_requested", PermissionRequestedHook.PermissionRequested),
	tells("agent.permission_resolved", PermissionResolvedHook.PermissionResolved),
	tells("workspace.created", WorkspaceCreatedHook.WorkspaceCreated),
	tells("workspace.archived", WorkspaceArchivedHook.WorkspaceArchived),
	asks("agent.create", BeforeAgentCreateHook.BeforeAgentCreate),
	asks("agent.session_open", BeforeSessionOpenHook.BeforeSessionOpen),
	asks("workspace.create", BeforeWorkspaceCreateHook.BeforeWorkspaceCreate),
}

func tells[H any, E HookEvent](name string, call func(H, context.Context, E) error) hook {
	return newHook[H, E](name, func(h H) callback {
		return told(func(ctx context.Context, e E) error { return call(h, ctx, e) })
	})
}

func asks[H any, R HookRequest[R]](name string, call func(H, context.Context, R) (*R, error)) hook {
	return newHook[H, R](name, func(h H) callback {
		return asked(func(ctx context.Context, r R) (*R, error) { return call(h, ctx, r) })
	})
}

func newHook[H, In any](name string, bind func(H) callback) hook {
	m := reflect.TypeFor[H]().Method(0)
	return hook{name, m.Name, reflect.TypeFor[In](), m.Type, func(p Plugin) callback {
		if h, ok := p.(H); ok {
			return bind(h)
		}
		return nil
	}}
}

func told[E HookEvent](fn func(context.Context, E) error) callback {
	return func(ctx context.Context, in any) (any, error) { return nil, fn(ctx, in.(E)) }
}

func asked[R HookRequest[R]](fn func(context.Context, R) (*R, error)) callback {
	return func(ctx context.Context, in any) (any, error) {
		out, err := fn(ctx, in.(R))
		if out == nil {
			return nil, err
		}
		return *out, err
	}
}

func hookOf(takes reflect.Type) *hook {
	return &hooks[slices.IndexFunc(hooks, func(h hook) bool { return h.takes == takes })]
}

// Hook is a function that a plugin of [NewPlugin] has for a hook.
type Hook struct {
	takes reflect.Type
	call  callback
}

// On is an event hook. Which one, the type of e says:
//
//	timelinekit.On(func(ctx context.Context, e timelinekit.TurnEnded) error { … })
func On[E HookEvent](fn func(ctx context.Context, e E) error) Hook {
	return Hook{reflect.TypeFor[E](), told(fn)}
}

// Before is a before hook. Which one, the type of r says:
//
//	timelinekit.Before(func(ctx context.Context, r timelinekit.AgentCreate) (*timelinekit.AgentCreate, error) { … })
func Before[R HookRequest[R]](fn func(ctx context.Context, r R) (*R, error)) Hook {
	return Hook{reflect.TypeFor[R](), asked(fn)}
}

// NewPlugin makes a plugin of functions. Of two for the same hook, [Host.Use] refuses it.
func NewPlugin(id string, hooks ...Hook) Plugin { return functions{id, hooks} }

type functions struct {
	id    string
	hooks []Hook
}

func (f functions) ID() string { return f.id }

// callbacks finds the hooks of a plugin.
func callbacks(p Plugin) (map[reflect.Type]callback, error) {
	found := map[reflect.Type]callback{}
	if f, ok := p.(functions); ok {
		for _, h := range f.hooks {
			if found[h.takes] != nil {
				return nil, fmt.Errorf("it has two functions for %s", hookOf(h.takes).name)
			}
			found[h.takes] = h.call
		}
		return found, nil
	}
	for _, h := range hooks {
		if call := h.find(p); call != nil {
			found[h.takes] = call
		}
	}
	return found, misspelt(p, found)
}

// misspelt says which method of a plugin was probably meant to be a hook, but is none.
func misspelt(p Plugin, found map[reflect.Type]callback) error {
	t := reflect.TypeOf(p)
	var names []string
	for _, h := range hooks {
		names = append(names, h.method)
		if _, ok := reflect.PointerTo(t).MethodByName(h.method); ok && t.Kind() != reflect.Pointer && found[h.takes] == nil {
			if _, ok := t.MethodByName(h.method); !ok {
				return fmt.Errorf("%s is a method of *%v, and this is a %[2]v; give a pointer", h.method, t)
			}
		}
	}
	for i := range t.NumMethod() {
		m := t.Method(i)
		nearest, changes := script.Nearest(m.Name, names)
		h := hooks[slices.Index(names, nearest)]
		if m.Name == h.method {
			if found[h.takes] == nil {
				return fmt.Errorf("its %s is %s, want %s", m.Name, signature(m.Type, 1), signature(h.shape, 0))
			}
			continue
		}
		for i := 1; changes > 2 && i < m.Type.NumIn(); i++ {
			if j := slices.IndexFunc(hooks, func(h hook) bool { return h.takes == m.Type.In(i) }); j >= 0 {
				h, changes = hooks[j], 0
			}
		}
		if changes <= 2 {
			return fmt.Errorf("its method %s looks like a hook, but is none; name it %s, with %s, or do not export it", m.Name, h.method, signature(h.shape, 0))
		}
	}
	return nil
}

// signature is a method's, from its first parameter on.
func signature(t reflect.Type, first int) string {
	var in, out []string
	for i := first; i < t.NumIn(); i++ {
		in = append(in, t.In(i).String())
	}
	for i := range t.NumOut() {
		out = append(out, t.Out(i).String())
	}
	s := "func(" + strings.Join(in, ", ") + ")"
	switch len(out) {
	case 0:
		return s
	case 1:
		return s + " " + out[0]
	}
	return s + " (" + strings.Join(out, ", ") + ")"
}

// hookLimit is how long a hook may take.
const hookLimit = 30 * time.Second
