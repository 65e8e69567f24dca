package fakeagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
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
	// Close ends the session, and the server if it is a command. It does not take longer than a few seconds.
	Close() error
}

// MCPResult is what a tool returned.
type MCPResult struct {
	JSON    json.RawMessage // all of it, as the protocol has it
	Text    string          // its text content
	IsError bool            // the tool says that it failed
}

var errNoMCP = errors.New("no MCP client: set Config.MCP to mcpcall.New()")

func (t *turn) mcp(s script.MCPStep) error {
	failed := false
	call := func(name string, connect func() (MCPClient, error)) error {
		ok, err := t.callMCP(s, name, connect)
		failed = failed || !ok
		return err
	}
	servers := t.th.session.MCPServers
	if s.Server != "*" {
		i := slices.IndexFunc(servers, func(m MCPServer) bool { return m.Name == s.Server })
		if i < 0 {
			if err := call(s.Server, func() (MCPClient, error) { return nil, unknownServer(s.Server, servers) }); err != nil {
				return err
			}
			servers = nil
		} else {
			servers = servers[i : i+1]
		}
	}
	for _, m := range servers {
		if err := call(m.Name, func() (MCPClient, error) { return t.th.connect(m) }); err != nil {
			return err
		}
	}
	if failed {
		return t.steps(s.Else, 0)
	}
	return t.steps(s.Then, 0)
}

func unknownServer(name string, servers []MCPServer) error {
	var have []string
	for _, m := range servers {
		have = append(have, m.Name)
	}
	return fmt.Errorf("no MCP server %q in the session config (have: %s)", name, cmp.Or(strings.Join(have, ", "), "none"))
}

// callMCP is one call, and whether it succeeded. An interrupt does not cut it short, as a server would not know how far it got, unless the
// config says so.
func (t *turn) callMCP(s script.MCPStep, server string, connect func() (MCPClient, error)) (ok bool, err error) {
	arguments := s.Arguments
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	item := event.Item{ItemType: event.MCPToolCall, Title: "mcp__" + server + "__" + s.Tool, Data: timeline.Unknown{Input: arguments}}
	var hold time.Duration
	if s.Row != nil {
		item.ItemType, item.Title, hold = cmp.Or(event.ItemType(s.Row.ItemType), event.DynamicToolCall), s.Row.Name, s.Row.Hold
	}
	err = t.call(item, func(item *event.Item) error {
		if hold > 0 { // else a row that has opened is a call, whoever interrupts it
			if err := t.pause(hold); err != nil {
				return err
			}
		}
		defer t.waits()()
		client, err := connect()
		if err != nil {
			return err
		}
		ctx := t.ctx
		if !t.th.in.cfg.CancelCalls {
			ctx = context.WithoutCancel(ctx)
		}
		result, err := client.CallTool(ctx, s.Tool, arguments)
		switch {
		case err != nil && ctx.Err() != nil:
			return errCanceled
		case err != nil:
			return err
		}
		output := result.JSON
		if s.Row != nil {
			output = asJSON(result.Text)
		}
		item.Data = timeline.Unknown{Input: arguments, Output: output}
		if result.IsError {
			return errors.New(cmp.Or(result.Text, "the tool says that it failed"))
		}
		if ok = true; s.ID != "" {
			t.th.keep(s.ID, result.value())
		}
		return nil
	})
	return ok, err
}

// value is what a script refers to: the structured content, else the first text as the JSON that it is, else that text.
func (r MCPResult) value() json.RawMessage {
	var all struct {
		Structured json.RawMessage `json:"structuredContent"`
		Content    []struct{ Text string }
	}
	if err := json.Unmarshal(r.JSON, &all); err == nil && len(all.Structured) > 0 && string(all.Structured) != "null" {
		return all.Structured
	}
	text := r.Text
	if len(all.Content) > 0 {
		text = all.Content[0].Text
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return asJSON(text)
}

// connect is the session's client of a server. One that could not be opened is tried again at the next call.
func (th *thread) connect(m MCPServer) (MCPClient, error) {
	th.mu.Lock()
	c := th.clients[m.Name]
	th.mu.Unlock()
	if c != nil {
		return c, nil
	}
	if th.in.cfg.MCP == nil {
		return nil, errNoMCP
	}
	c, err := th.in.cfg.MCP.Connect(context.Background(), MCPConnect{m, th.session, th.in.cfg.Spawn})
	if err != nil {
		return nil, err
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.clients == nil {
		th.clients = map[string]MCPClient{}
	}
	th.clients[m.Name] = c
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
