package mcpcall

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/understudy-go/understudy/fakeagent"
)

// web is a server behind a URL.
type web struct {
	server fakeagent.MCPServer
	url    *url.URL
	base   *http.Transport
	ctx    context.Context // ends with the wire
	end    context.CancelFunc

	mu           sync.Mutex
	version      string    // of the protocol, once it was agreed on
	last, stream *exchange // the last message, and what all answers come by if the server has a stream for them
}

// exchange is a request and what was wrong with the answer.
type exchange struct {
	wrong   string
	refused bool // by an HTTP status
}

var errTooLong = fmt.Errorf("its answer is longer than %d bytes, the limit", largest)

func newWeb(m fakeagent.MCPServer, dial func(context.Context, string, string) (net.Conn, error)) (*web, error) {
	u, err := url.Parse(m.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("its URL is none that begins with http:// or https:// and names a host")
	}
	w := &web{server: m, url: u, base: &http.Transport{Proxy: http.ProxyFromEnvironment}, last: &exchange{}, stream: &exchange{}}
	if usual, ok := http.DefaultTransport.(*http.Transport); ok { // a test may have put something else there
		w.base = usual.Clone()
	}
	if dial != nil {
		w.base.Proxy, w.base.DialContext = nil, dial
	}
	w.ctx, w.end = context.WithCancel(context.Background())
	return w, nil
}

func (w *web) transport() mcp.Transport {
	c := &http.Client{Transport: w, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if w.server.SSE {
		return sse{&mcp.SSEClientTransport{Endpoint: w.server.URL, HTTPClient: c, MaxEventSize: -1}}
	}
	return &mcp.StreamableClientTransport{Endpoint: w.server.URL, HTTPClient: c, MaxRetries: -1, MaxEventSize: -1, DisableStandaloneSSE: true}
}

// sse is the SDK's transport, whose stream would end with the context of the handshake. It ends with the wire.
type sse struct{ *mcp.SSEClientTransport }

func (t sse) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.SSEClientTransport.Connect(context.WithoutCancel(ctx))
	return plain{c}, err
}

// plain is a connection on which a message that cannot be read does not look like an error that the server answered with.
type plain struct{ mcp.Connection }

func (c plain) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("failed to decode: %s", err.Error())
	}
	return msg, err
}

// agree is for a client that sends over the web, which thereby knows the version that was agreed on.
func (w *web) agree(send mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if agreed := req.GetSession().(*mcp.ClientSession).InitializeResult(); agreed != nil {
			w.mu.Lock()
			w.version = agreed.ProtocolVersion
			w.mu.Unlock()
		}
		return send(ctx, method, req)
	}
}

// introduce adds the headers that say what is sent by which version of the protocol, where the SDK does not know: see [tap]. From the version
// after the calm one on it knows for requests, which have the version in them.
func (w *web) introduce(req *http.Request) {
	const versionHeader = "Mcp-Protocol-Version"
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.server.SSE || w.version == "" || req.Header.Get(versionHeader) != "" {
		return
	}
	req.Header.Set(versionHeader, w.version)
	if method, ok := req.Context().Value(notification{}).(string); ok && w.version > calm {
		req.Header.Set("Mcp-Method", method)
	}
}

// RoundTrip adds the headers, and looks at what comes back before the SDK does.
func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	e := &exchange{}
	w.mu.Lock()
	switch req.Method {
	case http.MethodPost:
		w.last = e
	case http.MethodGet:
		w.stream = e
	}
	w.mu.Unlock()
	if req.URL.Scheme != w.url.Scheme || req.URL.Host != w.url.Host {
		return nil, w.note(e, "it wants its messages sent to another host, which must not get the headers")
	}
	ctx, cancel := context.WithCancel(req.Context())
	if req.Method == http.MethodDelete {
		ctx, cancel = context.WithTimeout(req.Context(), grace)
	}
	stop := context.AfterFunc(w.ctx, cancel)
	done := func() {
		stop()
		cancel()
	}
	req = req.Clone(ctx)
	w.introduce(req)
	for k, v := range w.server.Headers {
		req.Header.Set(k, v)
	}
	resp, err := w.base.RoundTrip(req)
	if err != nil {
		defer done()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, w.note(e, unreachable(err))
	}
	if status, refused := w.status(req.Method, resp); status != "" {
		_ = w.note(e, status)
		w.mu.Lock()
		e.refused = refused
		w.mu.Unlock()
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	b := &body{ReadCloser: resp.Body, done: done, note: func(why string) error { return w.note(e, why) }, stream: kind == "text/event-stream"}
	b.all = b.stream && req.Method == http.MethodGet
	resp.Body = b
	return resp, nil
}

// note keeps the first thing that was wrong.
func (w *web) note(e *exchange, why string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.wrong == "" {
		e.wrong = why
	}
	return errors.New(why)
}

// unreachable says what went wrong without addresses, since a host's address gives it away too.
func unreachable(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		return "its host is not known; is the URL right?"
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Sprintf("it cannot be connected to (%v); is it running?", op.Err)
	case errors.As(err, &op):
		return fmt.Sprintf("the connection broke before its answer (%v)", op.Err)
	case errors.Is(err, io.EOF):
		return "it closed the connection without an answer"
	}
	return "it cannot be reached: " + err.Error()
}

// status is what is wrong with an answer before its body.
func (w *web) status(method string, resp *http.Response) (wrong string, refused bool) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	code := resp.StatusCode
	text := strings.TrimSpace(fmt.Sprintf("it answered HTTP %d %s", code, http.StatusText(code)))
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return text + "; do its Headers hold what it asks for?", true
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed:
		return text + "; is the URL right, and is SSE set for the older transport only?", true
	case code >= 300 && code < 400:
		return text + ", a redirect, which is not followed; give the URL that it leads to", true
	case code < 200 || code >= 300:
		return text, true
	case code == http.StatusAccepted || code == http.StatusNoContent:
		return "", false
	case method == http.MethodGet && kind != "text/event-stream":
		return fmt.Sprintf("it answered with content type %q, which is no event stream; is the URL right, and is SSE set for the older transport only?", kind), false
	case method == http.MethodPost && !w.server.SSE && kind != "application/json" && kind != "text/event-stream":
		return fmt.Sprintf("it answered with content type %q, neither JSON nor an event stream; is the URL right?", kind), false
	}
	return "", false
}

func (w *web) sign() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return cmp.Or(w.last.wrong, w.stream.wrong)
}

func (w *web) refusal() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last.refused {
		return w.last.wrong
	}
	return ""
}

func (w *web) said() string { return "" }

func (w *web) close() {
	w.end()
	w.base.CloseIdleConnections()
}

// body is an answer's. It ends where that is too long, and notes how it ended.
type body struct {
	io.ReadCloser
	done   func()
	note   func(string) error
	stream bool
	all    bool // it is the stream for all answers
	closed atomic.Bool
	size   int // of all of it; of a stream, of the line that it is in
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.size += n
	if i := bytes.LastIndexByte(p[:n], '\n'); b.stream && i >= 0 {
		b.size = n - 1 - i
	}
	switch {
	case b.size > largest:
		err = b.note(errTooLong.Error())
	case b.closed.Load(): // by the SDK
	case errors.Is(err, io.EOF) && b.all:
		_ = b.note("it ended its event stream before the answer")
	case err != nil && !errors.Is(err, io.EOF) && !(b.stream && ended(err)):
		err = b.note("the connection broke in the middle of its answer")
	}
	return n, err
}

func (b *body) Close() error {
	b.closed.Store(true)
	defer b.done()
	return b.ReadCloser.Close()
}

// urlParts are the parts of a URL by which it could be told, in the forms in which a server could repeat them.
func urlParts(raw string) []string {
	parts := []string{raw}
	u, err := url.Parse(raw)
	if err != nil {
		return parts
	}
	parts = append(parts, u.String(), u.Redacted(), u.Host, u.Hostname(), u.Path, u.EscapedPath(), u.RequestURI(), u.RawQuery, u.Fragment, u.EscapedFragment())
	if port := u.Port(); port != "" {
		parts = append(parts, ":"+port)
	}
	for _, segment := range strings.Split(u.Path, "/") {
		if len(segment) >= 8 { // a token, rather than a word that errors have too
			parts = append(parts, segment)
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		parts = append(parts, u.User.String(), u.User.Username(), password)
		parts = append(parts, base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))) // as the request has it
	}
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	return parts
}

// ended says that it was the request that ended.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
