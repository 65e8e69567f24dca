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
	"strconv"
	"strings"
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
	closed    bool
	served    sync.WaitGroup
}

// way is in the context of a request that came by one of the server's own ways.
type way struct{}

const (
	byMemory = "memory"
	bySocket = "socket"
)

func wayOf(r *http.Request) string {
	by, _ := r.Context().Value(way{}).(string)
	return by
}

func (s *Server) serverOf(by string) *http.Server {
	return &http.Server{Handler: s, BaseContext: func(net.Listener) context.Context { return context.WithValue(context.Background(), way{}, by) }}
}

// askedScheme tells the scheme that a client in memory has asked for, since there is no TLS in memory. No request is recorded with it.
const askedScheme = "X-Understudy-Scheme"

// address is the URL that a request asks for. sure is whether its scheme is known.
func address(r *http.Request) (u url.URL, sure bool) {
	u = *r.URL
	if u.Host != "" && u.Scheme != "" {
		return u, true
	}
	u.Host = r.Host
	scheme := r.Header.Get("X-Forwarded-Proto")
	switch {
	case wayOf(r) == byMemory:
		u.Scheme, sure = r.Header.Get(askedScheme), true
	case r.TLS != nil:
		u.Scheme, sure = "https", true
	case scheme == "http", scheme == "https":
		u.Scheme, sure = scheme, true
	default:
		u.Scheme = "http"
	}
	return u, sure
}

// Handler is the server, to be mounted wherever a handler is.
func (s *Server) Handler() http.Handler { return s }

// Client is an HTTP client that reaches the server by any host, in memory. It works on virtual time.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s.RoundTripper()} }

// RoundTripper is for a client of one's own, in the place of [http.DefaultTransport]. No request of it reaches the network, unless it is for
// somebody else and [WithPassThrough] says so.
func (s *Server) RoundTripper() http.RoundTripper { return inMemory{s} }

type inMemory struct{ s *Server }

// RoundTrip is of [http.RoundTripper].
func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := m.s.memory()
	if err == nil && r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		err = fmt.Errorf("standin: %s is not asked for by http or https", r.URL.Redacted())
	}
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as every round tripper must
		}
		return nil, err
	}
	out := r.Clone(r.Context())
	if out.Header == nil {
		out.Header = http.Header{}
	}
	out.Header.Set(askedScheme, r.URL.Scheme)
	out.URL.Scheme = "http"
	if out.Host == "" {
		out.Host = out.URL.Host // before a port is added or cut off
	}
	res, err := to.RoundTrip(out)
	if res != nil {
		res.Request = r
	}
	return res, err
}

// CloseIdleConnections is what [http.Client] calls.
func (m inMemory) CloseIdleConnections() {
	if to, err := m.s.memory(); err == nil {
		to.CloseIdleConnections()
	}
}

func (s *Server) memory() (*http.Transport, error) {
	w := &s.ways
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, errClosed
	}
	if w.transport == nil {
		l := pipe.Listen(pipe.OSSize)
		w.memory = s.serverOf(byMemory)
		w.transport = &http.Transport{DialContext: l.DialContext, DisableCompression: true}
		w.serve(w.memory, l)
	}
	return w.transport, nil
}

var errClosed = errors.New("standin: the server is closed")

func (w *ways) serve(server *http.Server, l net.Listener) {
	w.served.Go(func() { _ = server.Serve(l) })
}

// Start has the server listen on a free port of 127.0.0.1, and returns its URL. The platform is below it, and so is the runtime. It panics if there
// is no such port, or the server listens already.
func (s *Server) Start() string {
	at, err := s.Listen("127.0.0.1:0")
	if err != nil {
		panic(err.Error())
	}
	return at
}

// Listen is [Server.Start] for an address, with an error.
func (s *Server) Listen(address string) (string, error) {
	w := &s.ways
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return "", errClosed
	}
	if w.socket != nil {
		return "", fmt.Errorf("standin: it listens already, on %s", w.url)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", fmt.Errorf("standin: %w", err)
	}
	w.socket = s.serverOf(bySocket)
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
	w.closed = true
	transport, servers := w.transport, []*http.Server{w.memory, w.socket}
	w.mu.Unlock() // nobody is to wait for a lock meanwhile
	if transport != nil {
		transport.CloseIdleConnections()
	}
	ctx, cancel := fakeagent.Patience(context.Background())
	defer cancel()
	var errs []error
	for _, server := range servers {
		if server == nil {
			continue
		}
		if err := server.Shutdown(ctx); err != nil {
			errs = append(errs, err, server.Close()) // a client that reads no more keeps nobody
		}
	}
	w.served.Wait()
	return errors.Join(errs...)
}

// runtimePrefix is where the runtime is on a server that listens.
const runtimePrefix = "/__runtime__"

// runtimeURL is the runtime's for who asks. Who came by a socket is sent there again, since nobody answers at the identity's but in memory. A
// handler that is mounted by somebody else leaves it to the identity, if that has been told.
func (s *Server) runtimeURL(r *http.Request) string {
	if wayOf(r) == bySocket || localAddr(r) != nil && s.identity.RuntimeURL == DefaultIdentity().RuntimeURL {
		u, _ := address(r)
		return u.Scheme + "://" + u.Host + runtimePrefix
	}
	return s.identity.RuntimeURL
}

// localAddr is the address of the socket that a request came by; nil: it came by none.
func localAddr(r *http.Request) *net.TCPAddr {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return at
}

// own is whether a request is for the very socket by which it came. Passing that on would have it come again and again.
func own(r *http.Request) bool {
	at := localAddr(r)
	u, _ := address(r)
	if at == nil || portOf(&u) != strconv.Itoa(at.Port) {
		return false
	}
	if strings.EqualFold(u.Hostname(), "localhost") || u.Hostname() == "" {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return ip.Equal(at.IP) || ip.IsLoopback() && at.IP.IsLoopback()
}

// pass has somebody else answer.
func (s *Server) pass(c *call) {
	to, _ := address(c.r)
	proxy := httputil.ReverseProxy{
		Transport:     s.passThrough,
		FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL, p.Out.Host = &to, ""
			p.Out.Header.Del(askedScheme)
			p.Out.Body, p.Out.ContentLength = http.NoBody, int64(len(c.body))
			if len(c.body) > 0 {
				p.Out.Body = io.NopCloser(bytes.NewReader(c.body))
			}
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			c.refuse(refuse(http.StatusBadGateway, fmt.Sprintf("%s was passed on, and has no answer: %s", c.request.URL, err)))
			c.send()
		},
	}
	proxy.ServeHTTP(c.w, c.r)
}
