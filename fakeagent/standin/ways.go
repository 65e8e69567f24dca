package standin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/mockproc/pipe"
)

// ways are the ways into a server, which are opened when somebody asks for them.
type ways struct {
	mu        sync.Mutex
	memory    *http.Server
	transport *http.Transport
	socket    *http.Server
	url       string
	served    sync.WaitGroup
}

// viaSocket is in the context of a request that came to the socket: the URLs that it is handed out reach that.
type viaSocket struct{}

// forwarded tells the scheme that a client in memory has asked for, since there is no TLS in memory.
const forwarded = "X-Forwarded-Proto"

// Client is an HTTP client that reaches the server by any host, in memory. It works on virtual time.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s.RoundTripper()} }

// RoundTripper is for a client of one's own, in the place of [http.DefaultTransport]. No request of it reaches the network, unless it is for
// somebody else and [WithPassThrough] says so.
func (s *Server) RoundTripper() http.RoundTripper { return inMemory{s} }

type inMemory struct{ s *Server }

// RoundTrip is of [http.RoundTripper].
func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.Header.Set(forwarded, r.URL.Scheme)
	out.URL.Scheme = "http"
	return m.s.memory().RoundTrip(out)
}

// CloseIdleConnections is what [http.Client] calls.
func (m inMemory) CloseIdleConnections() { m.s.memory().CloseIdleConnections() }

func (s *Server) memory() *http.Transport {
	w := &s.ways
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.transport == nil {
		l := pipe.Listen(pipe.OSSize)
		w.memory = &http.Server{Handler: s}
		w.transport = &http.Transport{DialContext: l.DialContext, DisableCompression: true}
		w.serve(w.memory, l)
	}
	return w.transport
}

func (w *ways) serve(server *http.Server, l net.Listener) {
	w.served.Go(func() { _ = server.Serve(l) })
}

// Start has the server listen on a port of 127.0.0.1, and returns its URL, from which the platform's is. The runtime is below it, too.
func (s *Server) Start() (string, error) { return s.Listen("127.0.0.1:0") }

// Listen is [Server.Start] for an address.
func (s *Server) Listen(address string) (string, error) {
	w := &s.ways
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.socket != nil {
		return "", fmt.Errorf("standin: it listens already, on %s", w.url)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", fmt.Errorf("standin: %w", err)
	}
	w.socket = &http.Server{Handler: s, BaseContext: func(net.Listener) context.Context {
		return context.WithValue(context.Background(), viaSocket{}, true)
	}}
	w.url = "http://" + l.Addr().String()
	w.serve(w.socket, l)
	return w.url, nil
}

// URL is that of [Server.Start]; "" before.
func (s *Server) URL() string {
	s.ways.mu.Lock()
	defer s.ways.mu.Unlock()
	return s.ways.url
}

// close waits for whoever is served.
func (w *ways) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.transport != nil {
		w.transport.CloseIdleConnections()
	}
	ctx, cancel := fakeagent.Patience(context.Background())
	defer cancel()
	var errs []error
	for _, server := range []*http.Server{w.memory, w.socket} {
		if server != nil {
			errs = append(errs, server.Shutdown(ctx))
		}
	}
	w.served.Wait()
	return errors.Join(errs...)
}

// runtimePrefix is where the runtime is on a server that listens.
const runtimePrefix = "/__runtime__"

// runtimeURL is the runtime's for who asks.
func (s *Server) runtimeURL(r *http.Request) string {
	if r.Context().Value(viaSocket{}) != nil {
		return "http://" + r.Host + runtimePrefix
	}
	return s.identity.RuntimeURL
}

// pass has somebody else answer.
func (s *Server) pass(c *call) {
	to, err := url.Parse(c.request.URL)
	if err != nil {
		c.json(http.StatusBadGateway, map[string]any{"detail": err.Error()})
		c.send()
		return
	}
	proxy := httputil.ReverseProxy{Transport: s.passThrough, FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
		p.Out.URL, p.Out.Host = to, ""
		p.Out.Header.Del(forwarded)
		p.Out.Body, p.Out.ContentLength = io.NopCloser(bytes.NewReader(c.body)), int64(len(c.body))
	}}
	proxy.ServeHTTP(c.w, c.r)
}
