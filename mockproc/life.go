package mockproc

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/mockproc/internal/signals"
)

// life is what an agent's process does between its start and its exit, be it a mock or real.
type life struct {
	scenario Scenario
	cfg      fakeagent.Config
	pid      int
	stdout   io.Writer
	stderr   io.Writer
	log      *acp.Log
	exited   func(exit) // called once; may be called on the goroutine of a turn

	ctx    context.Context // ends with the process
	cancel context.CancelFunc
	all    sync.WaitGroup // of what still has to end after the exit

	mu       sync.Mutex
	over     bool
	leaving  bool                // it is about to exit by itself
	threads  map[string]struct{} // that there have been
	instance *fakeagent.Instance // nil before initialize
	opened   []func(*fakeagent.Instance)
}

func (l *life) begin() { l.ctx, l.cancel = context.WithCancel(context.Background()) }

// run speaks until stdin ends, and then exits, unless the scenario ignores that. Nothing is written when ctx has ended.
func (l *life) run(stdin io.Reader) {
	_ = acp.Serve(l.ctx, stdin, l.stdout, acp.AgentConfig{
		Open:            l.open,
		Profile:         l.scenario.Profile,
		SessionID:       l.sessionID,
		InitializeDelay: l.paced(l.scenario.Handshake.Initialize),
		NewSessionDelay: l.paced(l.scenario.Handshake.NewSession),
		AuthRequired:    l.scenario.has(AuthRequired),
		EarlyUpdate:     l.scenario.has(EarlyUpdate),
		Exit:            func(e event.ProcessExit) { l.exit(exitOf(e)) },
		Stderr:          func(text string) { _, _ = io.WriteString(l.stderr, text) },
		Log:             l.log,
	})
	if !l.scenario.ignores(ignoreEOF) && !l.isLeaving() { // a host that closes stdin at the last answer gets the exit that goes with that
		l.exit(l.atEOF())
	}
}

// atEOF is how the process ends when its stdin does.
func (l *life) atEOF() exit {
	if l.scenario.Profile == acp.Seed {
		return exit{signal: sigterm}
	}
	return exit{}
}

func exitOf(e event.ProcessExit) exit {
	if s, ok := signals.Named(e.Signal); ok {
		return exit{code: codeOf(s), signal: s}
	}
	return exit{code: e.Code}
}

// paced is a wait at the speed of the agent.
func (l *life) paced(d time.Duration) time.Duration {
	switch {
	case l.cfg.Instant:
		return 0
	case l.cfg.Speed > 0:
		return time.Duration(float64(d) / l.cfg.Speed)
	}
	return d
}

func (l *life) sessionID(n int) string {
	if l.scenario.has(SameSessionID) {
		n = 1
	}
	return mockSessionID(l.pid, n)
}

// open makes the agent, now that it is known what the client offers.
func (l *life) open(client *acp.Client) (fakeagent.Provider, error) {
	cfg := l.cfg
	cfg.Script = "steps"
	if cfg.Choose = nil; cfg.Perform == nil {
		cfg.Choose = fakeagent.FromFile(l.file)
	}
	cfg.DoorSteps = []string{script.StderrStep{}.Key(), script.RawStep{}.Key()}
	cfg.Files = client.Files(cfg.Files)
	if cfg.Shell == nil && cfg.AllowShell {
		cfg.Shell = fakeagent.OSShell{Spawn: cfg.Spawn}
	}
	cfg.Shell = client.Shell(cfg.Shell)
	in, err := fakeagent.New(cfg)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	over, waiting := l.over, l.opened
	l.instance, l.opened = in, nil
	l.mu.Unlock()
	if over {
		_ = in.Close() // in which no turn has begun
	}
	for _, fn := range waiting {
		fn(in)
	}
	return player{in, l}, nil
}

// player is the instance as the protocol has it: of each event the process hears before the client does, and afterwards.
type player struct {
	*fakeagent.Instance
	life *life
}

func (p player) Subscribe(fn func(event.Event)) (unsubscribe func()) {
	return p.Instance.Subscribe(func(e event.Event) {
		p.life.before(e)
		fn(e)
		p.life.after(e)
	})
}

// before notes what is certain as soon as the client has read of it.
func (l *life) before(e event.Event) {
	switch p := e.Payload.(type) {
	case event.SessionStarted:
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.threads == nil {
			l.threads = map[string]struct{}{}
		}
		l.threads[e.ThreadID] = struct{}{}
	case event.TurnCompleted:
		if _, last := l.lastTurn(p); last {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.leaving = true
		}
	}
}

// after is where a turn's end is the process's.
func (l *life) after(e event.Event) {
	if p, ok := e.Payload.(event.TurnCompleted); ok {
		if how, last := l.lastTurn(p); last {
			l.exit(how)
		}
	}
}

// lastTurn says whether the process exits after that turn, and how. One that was canceled is not over and done with: the client has
// something else in mind.
func (l *life) lastTurn(p event.TurnCompleted) (how exit, last bool) {
	if l.scenario.AfterTurn != exitAfterTurn || p.State == event.TurnEndInterrupted {
		return exit{}, false
	}
	if p.State == event.TurnEndFailed {
		return exit{code: 1}, true
	}
	return exit{}, true
}

// file is where the scripts come from that no prompt carries. That of a folder is the test's, not the agent's: no client is asked for it.
func (l *life) file(in fakeagent.Input) (script.File, error) {
	if !l.scenario.plays() {
		return fakeagent.TurnsFile(fakeagent.OSFiles{}, fakeagent.SessionConfig{ThreadID: in.ThreadID, Cwd: in.Cwd})
	}
	return l.scenario.File, nil
}

// exit ends the process, if it has not ended yet. It does not wait.
func (l *life) exit(e exit) bool {
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return false
	}
	l.over = true
	on := acp.Agent
	if e.orphan {
		on = acp.Host
	}
	l.log.End(on, e.String())
	l.cancel() // which interrupts all turns; one that Close finds at a gate would be a violation
	if in := l.instance; in != nil {
		l.all.Go(func() { _ = in.Close() }) // a turn that is told of may be the one that exits
	}
	l.mu.Unlock()
	l.exited(e)
	return true
}

// held are the turns that wait at gates, in words.
func (l *life) held() (out []string) {
	l.mu.Lock()
	in, threads := l.instance, slices.Sorted(maps.Keys(l.threads))
	l.mu.Unlock()
	for _, id := range threads {
		if gate := in.HeldAt(id); gate != "" {
			out = append(out, fmt.Sprintf("session %s is still held at gate %q; call Release on it, or cancel the prompt", id, gate))
		}
	}
	return out
}

func (l *life) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// isLeaving says that the process is about to exit, and that a client knows it which has read everything.
func (l *life) isLeaving() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leaving
}

// agent is the instance, if there is one yet.
func (l *life) agent() *fakeagent.Instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.instance
}

// whenOpen calls fn with the instance, as soon as there is one.
func (l *life) whenOpen(fn func(*fakeagent.Instance)) {
	l.mu.Lock()
	in := l.instance
	if in == nil {
		l.opened = append(l.opened, fn)
	}
	l.mu.Unlock()
	if in != nil {
		fn(in)
	}
}
