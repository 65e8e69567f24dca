package standin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
)

// Server is a chat back end that nobody runs. It is an [http.Handler]; [Server.Client], [Server.RoundTripper] and [Server.Start] are other ways in.
// All methods may be called from any goroutine.
type Server struct {
	options
	routes []route
	agent  *fakeagent.Instance
	ways   ways

	// A turn adds to its own frames and parts with the lock held for reading, so that turns do not wait for one another. One goroutine adds at a
	// time, and whoever looks at them holds it for writing, as for all else.
	mu        sync.RWMutex
	recorded  []Request
	dropped   int // requests that are not kept any more
	unhandled []Request
	ids       map[idKind]int
	persons   map[caller]person
	agents    []string // that somebody has named
	faults    []*fault
	readiness readiness
	sessions  []*session
	byUID     map[string]*session // the same ones
	turns     []*turn
	current   map[string]*turn // those that run, by their sessions
	replies   []*Reply
	ambiguous []string // turns that two replies were for
	failures  []failure
	holding   bool
	catalog   catalog
	changed   chan struct{} // is closed when a turn has another status
	closed    bool

	closing chan struct{} // closed when the server is about to be
}

// Option shapes a server.
type Option func(*options)

type options struct {
	identity    Identity
	latency     time.Duration
	frameDelay  time.Duration
	passThrough http.RoundTripper
	agentConfig fakeagent.Config
	dialect     Dialect
	profile     Profile
	local       local
	unchecked   bool
}

// WithIdentity is who the server takes itself and its user for; what is "" stays as in [DefaultIdentity].
func WithIdentity(id Identity) Option {
	return func(o *options) { o.identity = id.or(o.identity) }
}

// WithLatency is how long each answer but a stream takes to begin; 0 by default.
func WithLatency(d time.Duration) Option { return func(o *options) { o.latency = d } }

// WithFrameDelay is how long the server waits before each frame of a stream; 0 by default.
func WithFrameDelay(d time.Duration) Option { return func(o *options) { o.frameDelay = d } }

// WithPassThrough sends what is neither the platform's nor the runtime's to somebody else. By default it is answered with 404, and is unhandled.
func WithPassThrough(to http.RoundTripper) Option {
	return func(o *options) { o.passThrough = to }
}

// WithAgent says how the agent plays the replies: its speed, its seed, whether it may run commands. Script, Choose and Perform are not looked at.
func WithAgent(cfg fakeagent.Config) Option { return func(o *options) { o.agentConfig = cfg } }

// WithoutChecks leaves out what [New] does at the end of the test, but for closing the server.
func WithoutChecks() Option { return func(o *options) { o.unchecked = true } }

// New is a server for a test. At its end the server is closed, and the test fails, with one message, for requests that no route was for, replies
// that nobody asked for, failures that nobody got, and turns that were still running.
func New(t fakeagent.T, opts ...Option) *Server {
	t.Helper()
	s, err := newServer(opts)
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	t.Cleanup(func() {
		t.Helper()
		left := s.Left()
		if err := s.Close(); err != nil {
			left = strings.TrimPrefix(fmt.Sprintf("%s\n  it could not be closed: %v; does a client not read its stream?", left, err), "\n")
		}
		if left != "" && !s.unchecked {
			t.Errorf("standin: at the end of the test:\n%s", left)
		}
	})
	return s
}

// NewUnstarted is a server outside of a test: whoever makes it closes it.
func NewUnstarted(opts ...Option) (*Server, error) { return newServer(opts) }

func newServer(opts []Option) (*Server, error) {
	s := &Server{options: options{identity: DefaultIdentity(), dialect: PlatformDialect}, ids: map[idKind]int{}, persons: map[caller]person{}, changed: make(chan struct{}), closing: make(chan struct{}), byUID: map[string]*session{}, current: map[string]*turn{}}
	for _, opt := range opts {
		opt(&s.options)
	}
	if err := cmp.Or(s.identity.check(), s.dialect.check(), s.fitProfile()); err != nil {
		return nil, err
	}
	cfg := s.agentConfig
	cfg.Script, cfg.Perform, cfg.Choose = "", nil, s.choose
	agent, err := fakeagent.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("standin: %w", err)
	}
	s.agent = agent
	s.agents = []string{s.identity.AgentUID}
	s.readiness = ready()
	s.catalog = s.newCatalog()
	s.routes = s.table()
	agent.Subscribe(s.hear)
	return s, nil
}

// Close ends all turns, and whatever listens. It returns when their streams are over.
func (s *Server) Close() error {
	s.mu.Lock()
	turns := slices.Clone(s.turns)
	if !s.closed {
		close(s.closing)
	}
	s.closed = true // so no turn begins behind our back
	s.mu.Unlock()
	for _, t := range turns {
		t.stop(stoppedByClose) // before the ways are closed, which wait for whoever is served
	}
	return errors.Join(s.ways.close(), s.agent.Close())
}

// stoppedByClose is what has stopped a turn of a server that was closed.
const stoppedByClose = "close"

// Left is what is left to say at the end of a test; "" is nothing.
func (s *Server) Left() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, r := range s.unhandled {
		fmt.Fprintf(&b, "  there is no route for %s %s, which was answered with %d\n", r.Method, r.URL, r.Status)
	}
	for _, r := range s.replies {
		if r.times > 0 || !r.used {
			fmt.Fprintf(&b, "  a reply was not asked for: %s\n", r)
		}
	}
	for _, a := range s.ambiguous {
		fmt.Fprintf(&b, "  %s\n", a)
	}
	for _, f := range s.failures {
		fmt.Fprintf(&b, "  a failure was not asked for: %q\n", f.Text)
	}
	for _, f := range s.faults {
		if f.left > 0 || f.left == Always && !f.used {
			fmt.Fprintf(&b, "  a fault was not asked for: %s\n", f)
		}
	}
	for _, t := range s.turns {
		if !t.over() {
			fmt.Fprintf(&b, "  turn %d, of session %s, for %.60q, is still %s\n", t.number, t.session.UID, t.text, t.shown())
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// hear is told of everything that happens in the agent's threads, each of which is a session.
func (s *Server) hear(e event.Event) {
	s.mu.RLock()
	t := s.running(e.ThreadID)
	s.mu.RUnlock()
	if t != nil {
		t.hear(e)
	}
}

// running is the turn of a session that runs; nil is none. s.mu is locked.
func (s *Server) running(sessionUID string) *turn { return s.current[sessionUID] }

// notify wakes who waits for a turn. s.mu is locked.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until something is so.
func (s *Server) await(ctx context.Context, what func() string, so func() bool) error {
	ctx, cancel := fakeagent.Patience(ctx)
	defer cancel()
	for {
		s.mu.Lock()
		done, changed := so(), s.changed
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("standin: %s: %w", what(), context.Cause(ctx))
		}
	}
}
