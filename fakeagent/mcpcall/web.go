package mcpcall

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/understudy-go/understudy/fakeagent"
)

// web is a server behind a URL.
type web struct {
	server fakeagent.MCPServer
	base   *http.Transport
	mu     sync.Mutex
	wrong  string // what was wrong with the last answer
}

func newWeb(m fakeagent.MCPServer) (*web, error) {
	if u, err := url.Parse(m.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("its URL is none that begins with http:// or https:// and names a host")
	}
	return &web{server: m, base: http.DefaultTransport.(*http.Transport).Clone()}, nil
}

func (w *web) transport() mcp.Transport {
	c := &http.Client{Transport: w, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if w.server.SSE {
		return &mcp.SSEClientTransport{Endpoint: w.server.URL, HTTPClient: c}
	}
	c.Timeout = limit + time.Second // what the SDK does not end with the call
	return &mcp.StreamableClientTransport{Endpoint: w.server.URL, HTTPClient: c, MaxRetries: -1, DisableStandaloneSSE: true}
}

// RoundTrip adds the headers, and looks at what comes back before the SDK does.
func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for k, v := range w.server.Headers {
		req.Header.Set(k, v)
	}
	resp, err := w.base.RoundTrip(req)
	if err == nil && req.Method == http.MethodPost {
		w.mu.Lock()
		w.wrong = wrong(resp)
		w.mu.Unlock()
	}
	return resp, err
}

func wrong(resp *http.Response) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch code := resp.StatusCode; {
	case code == http.StatusAccepted || code == http.StatusNoContent:
		return ""
	case code >= 300 && code < 400:
		return fmt.Sprintf("it answered with a redirect (HTTP %d), which is not followed; give the address that it leads to", code)
	case code >= 400:
		return fmt.Sprintf("it answered HTTP %d %s", code, http.StatusText(code))
	case kind != "application/json" && kind != "text/event-stream" && kind != "":
		return fmt.Sprintf("it answered with content type %s, neither JSON nor an event stream", kind)
	}
	return ""
}

func (w *web) sign() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wrong
}

func (w *web) close() { w.base.CloseIdleConnections() }

// urlParts are the parts of a URL by which it could be told.
func urlParts(raw string) []string {
	parts := []string{raw}
	u, err := url.Parse(raw)
	if err != nil {
		return parts
	}
	parts = append(parts, u.Redacted(), u.Host, u.Hostname(), u.Path, u.RawQuery, u.Fragment)
	if u.User != nil {
		password, _ := u.User.Password()
		parts = append(parts, u.User.Username(), password)
	}
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	return parts
}
