package fakeagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// MCPServer is an MCP server that a session may call: a command that speaks on stdio, or a URL. It prints, and turns into JSON, as its
// name and kind alone, since the rest may hold secrets. (Package fmt cannot do so for a field that is not exported.)
type MCPServer struct {
	Name    string // what scripts call it
	Command string // looked up in PATH and started in the session's Cwd
	Args    []string
	Env     map[string]string // added to the environment of the command
	URL     string            // of a server that speaks streamable HTTP; instead of Command
	SSE     bool              // it speaks the older HTTP transport with server-sent events
	Headers map[string]string // sent with every request to URL
}

func (s MCPServer) kind() string {
	switch {
	case s.URL == "":
		return "stdio"
	case s.SSE:
		return "sse"
	}
	return "http"
}

// Format prints the name and the kind, whatever the verb.
func (s MCPServer) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "MCP server %s (%s)", s.Name, s.kind())
}

// MarshalJSON has the name and the kind.
func (s MCPServer) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"name": s.Name, "kind": s.kind()})
}

// MCP connects to MCP servers. Package mcpcall has one that speaks with the official SDK.
type MCP interface {
	// Connect opens a session with a server, when a script calls it for the first time.
	Connect(ctx context.Context, to MCPConnect) (MCPClient, error)
}

// MCPConnect says to whom, and for whom.
type MCPConnect struct {
	Server  MCPServer
	Session SessionConfig
	Spawn   func(*exec.Cmd) error // may be nil; see Config.Spawn
}

// MCPClient calls one server. It is used by one goroutine at a time. Where its session with the server broke, it opens another one at the
// next call. Its errors hold no URL, no header and no value of an environment.
type MCPClient interface {
	// CallTool calls a tool with an object. The error is a call that got no result.
	CallTool(ctx context.Context, tool string, arguments json.RawMessage) (MCPResult, error)
	// ListTools is the names of all tools that the server has now, asked anew each time.
	ListTools(ctx context.Context) ([]string, error)
	// Close ends the session, and the server if it is a command. It does not take longer than a few seconds.
	Close() error
}

// MCPResult is what a tool returned.
type MCPResult struct {
	JSON    json.RawMessage // all of it, as the protocol has it, without white space
	Text    string          // its text content
	IsError bool            // the tool says that it failed
}

var errNoMCP = errors.New("no MCP client: set Config.MCP to mcpcall.New()")

func (t *turn) mcp(s script.MCPStep) error {
	servers := []string{s.Server}
	if s.Server == "*" {
		servers = nil
		for _, m := range t.th.session.MCPServers {
			servers = append(servers, m.Name)
		}
	}
	failed := false
	for _, name := range servers {
		ok, err := t.callMCP(s, t.serverName(name))
		if err != nil {
			return err
		}
		failed = failed || !ok
	}
	if failed {
		return t.steps(s.Else, 0)
	}
	return t.steps(s.Then, 0)
}

// serverName is the server that a step means.
func (t *turn) serverName(name string) string {
	return cmp.Or(name, t.th.in.builtIn)
}

// unknownServer is a server that the session has not.
type unknownServer struct {
	name string
	have []string
}

func (e *unknownServer) Error() string {
	return fmt.Sprintf("no MCP server %q in the session config (have: %s)", e.name, cmp.Or(strings.Join(e.have, ", "), "none"))
}

// callMCP is one call, and whether it succeeded. An interrupt does not cut it short, as a server would not know how far it got, unless the
// config says so.
func (t *turn) callMCP(s script.MCPStep, server string) (ok bool, err error) {
	arguments := orNone(s.Arguments)
	item := event.Item{ItemType: event.MCPToolCall, Title: "mcp__" + server + "__" + s.Tool, Data: timeline.Unknown{Input: arguments}}
	var hold time.Duration
	if s.Row != nil {
		item.ItemType, item.Title, hold = cmp.Or(event.ItemType(s.Row.ItemType), event.DynamicToolCall), s.Row.Name, s.Row.Hold
	}
	how, text := " failed: ", ""
	err = t.call(item, func(item *event.Item) (failed error) {
		defer func() {
			if failed != nil {
				text = reason(failed)
			}
		}()
		if hold > 0 { // else a row that has opened is a call, whoever interrupts it
			if err := t.pause(hold); err != nil {
				return err
			}
		}
		n := strconv.FormatInt(t.branch.Load().index.Load()+1, 10)
		t.label("step " + n + ` {"mcp":{"server":` + strconv.Quote(server) + `,"tool":` + strconv.Quote(s.Tool) + "}}") // the whole step may be large
		defer pprof.SetGoroutineLabels(t.ctx)
		ctx := t.ctx
		if !t.th.in.cfg.CancelCalls {
			ctx = context.WithoutCancel(ctx)
		}
		client, err := t.th.connect(ctx, server)
		if err != nil {
			return err
		}
		got, err := client.CallTool(ctx, s.Tool, arguments)
		switch {
		case err != nil && ctx.Err() != nil:
			return errCanceled
		case err != nil:
			return err
		}
		output := got.JSON
		if s.Row != nil {
			output = json.RawMessage(asJSON(got.Text))
		}
		item.Data = timeline.Unknown{Input: arguments, Output: output}
		if got.IsError {
			return errors.New(cmp.Or(got.Text, "the tool says that it failed"))
		}
		value, structured := got.value()
		if ok, how, text = true, ": ", got.Text; structured {
			text = string(value)
		}
		t.th.keep(result{s.ID, value, true})
		return nil
	})
	if s.Report {
		t.reports(t.toolName(server, s.Tool), how, text)
	}
	return ok, err
}

// orNone are the arguments of a call.
func orNone(arguments json.RawMessage) json.RawMessage {
	if arguments == nil {
		return json.RawMessage("{}")
	}
	return arguments
}

// value is what a script refers to: the structured content, else the first text as the JSON that it is, else that text.
func (r MCPResult) value() (v script.Doc, structured bool) {
	all := script.Doc(r.JSON)
	if v, ok := all.Lookup("structuredContent"); ok && v != "null" {
		return v, true
	}
	text := r.Text
	if first, ok := all.Lookup("content.0"); ok {
		var part struct{ Text string }
		_ = json.Unmarshal([]byte(first), &part) // of another kind it has none
		text = part.Text
	}
	if v, err := script.NewDoc([]byte(text)); err == nil {
		return v, false
	}
	return asJSON(text), false
}

// connect is the session's client of a server. One that could not be opened is tried again at the next call.
func (th *thread) connect(ctx context.Context, name string) (MCPClient, error) {
	th.mu.Lock()
	c := th.clients[name]
	th.mu.Unlock()
	if c != nil {
		return c, nil
	}
	servers := th.session.MCPServers
	i := slices.IndexFunc(servers, func(m MCPServer) bool { return m.Name == name })
	if i < 0 {
		unknown := &unknownServer{name: name}
		for _, m := range servers {
			unknown.have = append(unknown.have, m.Name)
		}
		return nil, unknown
	}
	if th.in.cfg.MCP == nil {
		return nil, errNoMCP
	}
	c, err := th.in.cfg.MCP.Connect(ctx, MCPConnect{servers[i], th.session, th.in.cfg.Spawn})
	if err != nil {
		return nil, err
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.clients == nil {
		th.clients = map[string]MCPClient{}
	}
	th.clients[name] = c
	return c, nil
}

// disconnect closes the clients of a session in which no turn runs, all at once: each may take a while.
func (th *thread) disconnect() {
	th.mu.Lock()
	clients := th.clients
	th.clients = nil
	th.mu.Unlock()
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() { _ = c.Close() }) // there is nobody to tell of an error, and nothing to do
	}
	all.Wait()
}
