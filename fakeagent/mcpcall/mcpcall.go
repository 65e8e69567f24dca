// Package mcpcall calls MCP servers with the official SDK, for the mcp steps of scripts. It is the only package of the kit that links
// the SDK:
//
//	agent, err := fakeagent.New(fakeagent.Config{Script: "steps", MCP: mcpcall.New()})
//
// A session with a server is opened by the first request and closed with the agent's session. One that broke, since the server died or
// broke the protocol, is closed at once, and the next request opens another. A server that was only too slow keeps its session.
//
// The server sees initialize and notifications/initialized, in this order, then tools/call, and tools/list where a step waits for a tool:
// no other request. One that took too long is followed by notifications/cancelled. The handshake, each call, and each list with all of its
// pages have 10 seconds.
//
// No error of this package holds a server's URL, a header, or a value of its environment, if that has four characters or more, or a
// word of one that has eight. What a tool returns is passed on as it came, with the order of its keys and the digits of its numbers; only
// white space between tokens and the escapes of <, > and & are taken out.
package mcpcall

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/understudy-go/understudy/fakeagent"
)

// grace is for a command to end by itself, and then once more after SIGTERM. Specs have another.
var grace = 2 * time.Second

// withTimeout is a variable for specs with a command, which knows no virtual time: they say themselves when the limit is over.
var withTimeout = context.WithTimeout

const (
	// limit is for the handshake, for each call, and for each list.
	limit = 10 * time.Second

	// largest is how long a result may be, as JSON.
	largest = 4 << 20

	// mostPages of a list of tools are asked for. On virtual time, no other limit would end a list that never does.
	mostPages = 1000

	calm = "2025-11-25"
)

// Option shapes the client.
type Option func(*client)

// Newest asks each server for the newest protocol version that the SDK knows, beginning with server/discover. A server that does not
// answer what it does not know then costs the whole limit. By default version 2025-11-25 is asked for, with initialize.
func Newest() Option { return func(c *client) { c.version = "" } }

// Serve calls a server of the test's own process, over memory, wherever a session has one of that name. It works on virtual time.
func Serve(name string, s *mcp.Server) Option { return func(c *client) { c.inMemory[name] = s } }

// Dial connects to servers that have a URL by a function, such as the DialContext of a listener in memory: package pipe of mockproc has one, which
// works on virtual time. It stands for the network, whatever host and port a URL has.
func Dial(dial func(ctx context.Context, network, address string) (net.Conn, error)) Option {
	return func(c *client) { c.dialer = dial }
}

type client struct {
	version  string
	inMemory map[string]*mcp.Server
	dialer   func(ctx context.Context, network, address string) (net.Conn, error) // nil is that of package http
}

// New is the client for fakeagent.Config.
func New(opts ...Option) fakeagent.MCP {
	c := &client{version: calm, inMemory: map[string]*mcp.Server{}}
	for _, o := range opts {
		o(c)
	}
	return c
}

// session is what asks one server. It opens a link when it is made, and another one at the next request after that broke.
//
// The server's configuration is in functions and behind pointers only, so that no session prints it.
type session struct {
	name    string
	version string
	dial    func(context.Context) (wire, error)
	secrets *strings.Replacer // takes them out

	sdk  *mcp.ClientSession // nil where there is no link
	wire wire
	tap  *tap
	slow bool // the last request got no answer in time
}

// wire is what carries a session.
type wire interface {
	transport() mcp.Transport
	// sign is what the wire knows of why something went wrong, or "".
	sign() string
	// refusal is how it refused the last message by its own means, or "".
	refusal() string
	// said is the last that the server said elsewhere, or "".
	said() string
	// close ends everything, once; whoever waits for the server then gets an error.
	close()
}

func (c *client) Connect(ctx context.Context, to fakeagent.MCPConnect) (fakeagent.MCPClient, error) {
	s := &session{name: to.Server.Name, version: c.version, secrets: replacer(secretsOf(to))}
	s.dial = func(ctx context.Context) (wire, error) { return c.dial(ctx, to) }
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (c *client) dial(ctx context.Context, to fakeagent.MCPConnect) (wire, error) {
	switch {
	case c.inMemory[to.Server.Name] != nil:
		return newMemory(ctx, c.inMemory[to.Server.Name])
	case to.Server.URL != "" && to.Server.Command != "":
		return nil, errors.New("it has a Command and a URL; give one of them")
	case to.Server.URL != "":
		return newWeb(to.Server, c.dialer)
	case to.Server.Command != "":
		return newProcess(to)
	}
	return nil, errors.New("it has neither a Command nor a URL; give one of them")
}

func (s *session) open(ctx context.Context) error {
	w, err := s.dial(ctx)
	if err != nil {
		return s.failed("cannot be reached", err.Error())
	}
	ctx, cancel := withTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(ctx, w.close)() // the SDK would go on with what it waits for
	sdk := mcp.NewClient(&mcp.Implementation{Name: "fake-agent", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	tap := &tap{transport: w.transport()}
	if w, ok := w.(*web); ok {
		sdk.AddSendingMiddleware(w.agree)
	}
	s.sdk, err = sdk.Connect(ctx, tap, &mcp.ClientSessionOptions{ProtocolVersion: s.version})
	if err != nil {
		s.sdk = nil
		err = s.failed("did not open a session", why(ctx, w, err))
		w.close()
		return err
	}
	s.wire, s.tap = w, tap
	return nil
}

// why is why a server did not do what it was asked.
func why(ctx context.Context, w wire, err error) string {
	if answer := answered(err); answer != nil {
		text := fmt.Sprintf("it answered with an error: %s (JSON-RPC error %d)", answer.Message, answer.Code)
		if refusal := w.refusal(); refusal != "" {
			text = refusal + "; " + text
		}
		return text
	}
	text := fmt.Sprintf("no answer within %v", limit)
	if ctx.Err() == nil {
		if text = w.sign(); text == "" {
			text = sdkPrefix().ReplaceAllString(err.Error(), "")
			if text == "request terminated without response" {
				text = "it ended its event stream before the answer"
			}
			if unreadable().MatchString(text) { // the SDK quotes what it could not read, and may cut a secret in half
				text = "its answer is no message of the protocol"
			}
		}
	} else if errors.Is(ctx.Err(), context.Canceled) {
		text = "canceled"
	}
	if said := w.said(); said != "" {
		text += "; it said: " + said
	}
	return text
}

// Compiled when an error is worded, and not when a process starts that may never have one.
var (
	sdkPrefix  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^((calling|sending) "[^"]*": )+`) })
	unreadable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`unmarshal|failed to decode|invalid character`) })
)

// answered is the error that a server answered with, if it did.
func answered(err error) *jsonrpc.Error {
	var answer *jsonrpc.Error
	if errors.As(err, &answer) && answer.Message == "rejected by transport" { // the SDK says so of its own
		return nil
	}
	return answer
}

// ask gives a request of the server the time that it has, over a new link if there is none. what says what was asked for.
func (s *session) ask(ctx context.Context, what string, request func(context.Context) error) error {
	if s.sdk == nil {
		if err := s.open(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := withTimeout(ctx, limit)
	defer cancel()
	err := request(ctx)
	switch {
	case err == nil:
		s.slow = false
	case answered(err) != nil:
		err = s.failed("failed "+what, why(ctx, s.wire, err))
		if s.wire.refusal() != "" {
			s.hangUp()
		}
	default:
		err = s.failed("did not answer "+what, why(ctx, s.wire, err))
		if s.slow = ctx.Err() != nil; !s.slow || s.wire.sign() != "" {
			s.hangUp()
		}
	}
	return err
}

func (s *session) CallTool(ctx context.Context, tool string, arguments json.RawMessage) (fakeagent.MCPResult, error) {
	var r *mcp.CallToolResult
	err := s.ask(ctx, "the call of "+tool, func(ctx context.Context) (err error) {
		r, err = s.sdk.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
		return err
	})
	if err != nil {
		return fakeagent.MCPResult{}, err
	}
	raw := tidy(s.tap.take())
	if len(raw) > largest {
		return fakeagent.MCPResult{}, s.failed("returned too much", fmt.Sprintf("the result is %d bytes long; the limit is %d", len(raw), largest))
	}
	var texts []string
	for _, part := range r.Content {
		if t, ok := part.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return fakeagent.MCPResult{JSON: raw, Text: strings.Join(texts, "\n"), IsError: r.IsError}, nil
}

func (s *session) ListTools(ctx context.Context) ([]string, error) {
	var names []string
	var next string
	err := s.ask(ctx, "the request for its tools", func(ctx context.Context) (err error) {
		names, next, err = toolsOf(ctx, s.sdk)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case next != "":
		return nil, s.failed("listed its tools without end", fmt.Sprintf("its last page still names a next one, %q; the last of all must name none", next))
	case len(names) == 0 && !hasTools(s.sdk):
		return nil, s.failed("has no tools", "it lists none, and its answer to initialize does not say that it can have any")
	}
	return names, nil
}

// toolsOf are the names on all pages of the list, and the next page where that has no end.
func toolsOf(ctx context.Context, sdk *mcp.ClientSession) (names []string, next string, err error) {
	var params *mcp.ListToolsParams
	for range mostPages {
		page, err := sdk.ListTools(ctx, params)
		if err != nil {
			return nil, "", err
		}
		page.TTLMs = 0 // or the SDK would keep it for as long as the server allows, and not ask anew
		for _, tool := range page.Tools {
			names = append(names, tool.Name)
		}
		if page.NextCursor == "" || page.NextCursor == next {
			return names, page.NextCursor, nil
		}
		next = page.NextCursor
		params = &mcp.ListToolsParams{Cursor: next}
	}
	return names, next, nil
}

// hasTools says whether a server has promised tools. One that has not may get some all the same, if it was made with the SDK.
func hasTools(sdk *mcp.ClientSession) bool {
	capabilities := sdk.InitializeResult().Capabilities
	return capabilities != nil && capabilities.Tools != nil
}

// hangUp gives a broken link up.
func (s *session) hangUp() {
	s.wire.close()
	_ = s.sdk.Close()
	s.sdk = nil
}

func (s *session) Close() error {
	if s.sdk == nil {
		return nil
	}
	if s.slow { // there may still be something that the SDK wants to say, and would wait for
		s.hangUp()
		return nil
	}
	err := s.sdk.Close()
	s.wire.close()
	s.sdk = nil
	if err != nil {
		return s.failed("did not close well", err.Error())
	}
	return nil
}

const longest = 500 // bytes of a reason; a server may have said a lot

// failed is an error that says which server, and holds no secret. They are taken out before anything is cut off, which could leave
// half of one.
func (s *session) failed(what, why string) error {
	why = strings.ToValidUTF8(strings.Join(strings.Fields(s.secrets.Replace(why)), " "), "\uFFFD")
	if len(why) > longest {
		why = strings.ToValidUTF8(why[:longest], "") + "…"
	}
	return fmt.Errorf("MCP server %q %s: %s", s.name, what, why)
}

func replacer(secrets []string) *strings.Replacer {
	var pairs []string
	for _, secret := range secrets {
		pairs = append(pairs, secret, "[redacted]")
	}
	return strings.NewReplacer(pairs...)
}

// secretsOf are what no error may hold, the longest first: each value and what could be left of it, as it is, quoted, and in a URL.
func secretsOf(to fakeagent.MCPConnect) []string {
	var values []string
	if to.Server.URL != "" {
		values = append(values, urlParts(to.Server.URL)...)
	}
	for _, m := range []map[string]string{to.Server.Headers, to.Server.Env, to.Session.Env} {
		for _, v := range m {
			values = append(values, partsOf(v)...)
		}
	}
	var all []string
	for _, v := range values {
		quoted := strconv.Quote(v)
		inJSON, _ := json.Marshal(v)
		all = append(all, v, quoted[1:len(quoted)-1], string(inJSON[1:len(inJSON)-1]), url.QueryEscape(v), url.PathEscape(v))
	}
	all = slices.DeleteFunc(all, func(s string) bool { return len(s) < 4 })
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(all)
}

// partsOf are a value, its lines, its words (but for short ones, which an error may need for something else), and the credentials of an
// authorization.
func partsOf(v string) []string {
	parts := append(strings.Split(v, "\n"), v)
	for _, word := range strings.Fields(v) {
		if len(word) >= 8 {
			parts = append(parts, word)
		}
	}
	for _, scheme := range []string{"Bearer ", "Basic "} {
		if credentials, ok := strings.CutPrefix(v, scheme); ok {
			plain, _ := base64.StdEncoding.DecodeString(credentials)
			parts = append(parts, credentials, string(plain))
			parts = append(parts, strings.Split(string(plain), ":")...)
		}
	}
	return parts
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
func (m *memory) refusal() string          { return "" }
func (m *memory) said() string             { return "" }
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
