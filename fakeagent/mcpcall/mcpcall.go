// Package mcpcall calls MCP servers with the official SDK, for the mcp steps of scripts. It is the only package of the kit that links
// the SDK:
//
//	agent, err := fakeagent.New(fakeagent.Config{Script: "steps", MCP: mcpcall.New()})
//
// A session with a server is opened by the first call and closed with the agent's session. The server sees initialize,
// notifications/initialized and tools/call, in this order, and no more: no other request of the protocol is made. The
// handshake, a request over HTTP and a call over stdio have 10 seconds each.
//
// No error of this package holds a server's URL, a header, or a value of its environment of four characters or more. What a tool returns is
// passed on as it is.
package mcpcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/understudy-go/understudy/fakeagent"
)

const (
	limit = 10 * time.Second
	grace = 2 * time.Second // for a command to end by itself, and then once more after SIGTERM

	// largest is how long a result may be, as JSON.
	largest = 4 << 20

	calm = "2025-11-25"
)

// Option shapes the client.
type Option func(*client)

// Newest asks each server for the newest protocol version that the SDK knows, beginning with server/discover. A server that does not
// answer what it does not know then costs the whole limit. By default version 2025-11-25 is asked for, with initialize.
func Newest() Option { return func(c *client) { c.version = "" } }

// Serve calls a server of the test's own process, over memory, wherever a session has one of that name. It works on virtual time.
func Serve(name string, s *mcp.Server) Option { return func(c *client) { c.inMemory[name] = s } }

type client struct {
	version  string
	inMemory map[string]*mcp.Server
}

// New is the client for fakeagent.Config.
func New(opts ...Option) fakeagent.MCP {
	c := &client{version: calm, inMemory: map[string]*mcp.Server{}}
	for _, o := range opts {
		o(c)
	}
	return c
}

// session is an open session with one server.
type session struct {
	server  fakeagent.MCPServer
	sdk     *mcp.ClientSession
	secrets []string
	wire    wire
}

// wire is what carries a session.
type wire interface {
	transport() mcp.Transport
	// sign is what the wire knows of why something went wrong, or "".
	sign() string
	// close ends what the SDK does not.
	close()
}

func (c *client) Connect(ctx context.Context, to fakeagent.MCPConnect) (fakeagent.MCPClient, error) {
	s := &session{server: to.Server, secrets: secretsOf(to)}
	var err error
	switch {
	case c.inMemory[to.Server.Name] != nil:
		s.wire, err = newMemory(ctx, c.inMemory[to.Server.Name])
	case to.Server.URL != "" && to.Server.Command != "":
		err = errors.New("it has a Command and a URL; give one of them")
	case to.Server.URL != "":
		s.wire, err = newWeb(to.Server)
	case to.Server.Command != "":
		s.wire, err = newProcess(to)
	default:
		err = errors.New("it has neither a Command nor a URL")
	}
	if err != nil {
		return nil, s.failed("cannot be reached", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	sdk := mcp.NewClient(&mcp.Implementation{Name: "fake-agent", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	s.sdk, err = sdk.Connect(ctx, s.wire.transport(), &mcp.ClientSessionOptions{ProtocolVersion: c.version})
	if err != nil {
		err = s.failed("did not open a session", cause(ctx, err))
		s.wire.close()
		return nil, err
	}
	return s, nil
}

var errSlow = fmt.Errorf("no answer within %v", limit)

// cause is why the context ended, if that is why the call failed.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (s *session) CallTool(ctx context.Context, tool string, arguments json.RawMessage) (fakeagent.MCPResult, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	r, err := s.sdk.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return fakeagent.MCPResult{}, s.failed("did not answer the call of "+tool, cause(ctx, err))
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return fakeagent.MCPResult{}, s.failed("returned a result that cannot be kept", err)
	}
	if len(raw) > largest {
		return fakeagent.MCPResult{}, s.failed("returned too much", fmt.Errorf("the result is %d bytes long; the limit is %d", len(raw), largest))
	}
	var texts []string
	for _, part := range r.Content {
		if t, ok := part.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return fakeagent.MCPResult{JSON: raw, Text: strings.Join(texts, "\n"), IsError: r.IsError}, nil
}

func (s *session) Close() error {
	err := s.sdk.Close()
	s.wire.close()
	if err != nil {
		return s.failed("did not close well", err)
	}
	return nil
}

// failed is an error that says which server, and holds no secret.
func (s *session) failed(what string, err error) error {
	why := err.Error()
	if s.wire != nil {
		if sign := s.wire.sign(); sign != "" {
			why = sign
		}
	}
	for _, secret := range s.secrets {
		why = strings.ReplaceAll(why, secret, "[redacted]")
	}
	return fmt.Errorf("MCP server %q %s: %s", s.server.Name, what, strings.Join(strings.Fields(why), " "))
}

// secretsOf are what no error may hold, the longest first.
func secretsOf(to fakeagent.MCPConnect) []string {
	var all []string
	if to.Server.URL != "" {
		all = append(all, urlParts(to.Server.URL)...)
	}
	for _, m := range []map[string]string{to.Server.Headers, to.Server.Env, to.Session.Env} {
		for _, v := range m {
			all = append(all, v)
			all = append(all, strings.Fields(v)...) // such as the token of an authorization
		}
	}
	all = slices.DeleteFunc(all, func(s string) bool { return len(s) < 4 })
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// memory is a server of this process.
type memory struct {
	client mcp.Transport
	server *mcp.ServerSession
}

func newMemory(ctx context.Context, s *mcp.Server) (*memory, error) {
	client, server := mcp.NewInMemoryTransports()
	ss, err := s.Connect(ctx, server, nil)
	if err != nil {
		return nil, err
	}
	return &memory{client, ss}, nil
}

func (m *memory) transport() mcp.Transport { return m.client }
func (m *memory) sign() string             { return "" }
func (m *memory) close()                   { _ = m.server.Close() }

// environ is the environment of a command.
func environ(envs ...map[string]string) []string {
	all := os.Environ()
	for _, env := range envs {
		for _, k := range slices.Sorted(maps.Keys(env)) {
			all = append(all, k+"="+env[k])
		}
	}
	return all
}

func spawn(to fakeagent.MCPConnect, cmd *exec.Cmd) error {
	if to.Spawn == nil {
		return nil
	}
	return to.Spawn(cmd)
}
