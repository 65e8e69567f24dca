package fakeagent

import (
	"context"
	"fmt"
	"sync"
	"time"
)

type gateKey struct{ threadID, name string }

// Gate is where the hold steps of one name in one thread wait. It exists from the first time that anyone asks for it, so a test may
// use it before the agent arrives, or even exists.
type Gate struct {
	in        *Instance
	key       gateKey
	elsewhere GateControl // then nothing else is used

	mu      sync.Mutex
	closed  bool // arrivals at an open hold wait too
	waiting int
	permits int           // releases that nobody has used
	changed chan struct{} // closed at the next change
}

// Gate is the gate of that name in a thread.
func (in *Instance) Gate(threadID, name string) *Gate {
	in.mu.Lock()
	defer in.mu.Unlock()
	key := gateKey{threadID, name}
	g := in.gates[key]
	if g == nil {
		if in.gates == nil {
			in.gates = map[gateKey]*Gate{}
		}
		g = &Gate{in: in, key: key}
		in.gates[key] = g
	}
	return g
}

// GateControl is what a test does with a gate.
type GateControl interface {
	AwaitHeld(ctx context.Context) error
	Release()
	Close()
}

// RemoteGate is a gate that is somewhere else, such as in a process of its own. A provider's Gate(threadID, name) *Gate may return it.
// AwaitHeld always gets a context with a deadline.
func RemoteGate(c GateControl) *Gate { return &Gate{elsewhere: c} }

// Release lets one arrival through: the one that is held, or the next one to come.
func (g *Gate) Release() {
	if g.elsewhere != nil {
		g.elsewhere.Release()
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.permits++
	g.change()
}

// Close makes arrivals wait that would pass otherwise: those of hold steps with open. Others wait anyway.
func (g *Gate) Close() {
	if g.elsewhere != nil {
		g.elsewhere.Close()
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// AwaitHeld returns as soon as the agent is held at the gate, and at once if it is. If ctx has no deadline it gives up after 30
// seconds. Its error says where the agent is instead.
func (g *Gate) AwaitHeld(ctx context.Context) error {
	ctx, cancel := Patience(ctx)
	defer cancel()
	if g.elsewhere != nil {
		return g.elsewhere.AwaitHeld(ctx)
	}
	for {
		g.mu.Lock()
		if g.waiting > g.permits {
			g.mu.Unlock()
			return nil
		}
		change := g.next()
		g.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
			return fmt.Errorf("fakeagent: nothing is held at gate %q of thread %s (%w); %s", g.key.name, g.key.threadID, context.Cause(ctx), g.whereabouts())
		}
	}
}

func (g *Gate) whereabouts() string {
	th, err := g.in.ReadThread(context.Background(), g.key.threadID)
	switch {
	case err != nil:
		return "there is no such thread"
	case th.Doing == "":
		return "no turn of it runs"
	}
	return "it is in " + th.Doing
}

// Patience is how long the kit's helpers wait: as long as ctx says, or 30 seconds if it does not say. The context's cause then says so.
func Patience(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, 30*time.Second, errPatience)
}

var errPatience = fmt.Errorf("gave up after 30s; give a context with a deadline to wait longer or shorter: %w", context.DeadlineExceeded)

// arrive waits for a release.
func (g *Gate) arrive(ctx context.Context, open bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if open && !g.closed {
		return nil
	}
	g.waiting++
	defer func() { g.waiting-- }()
	g.change()
	for g.permits == 0 {
		if ctx.Err() != nil {
			return errCanceled
		}
		change := g.next()
		g.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
		}
		g.mu.Lock()
	}
	g.permits--
	return nil
}

func (g *Gate) held() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting > g.permits
}

// next is closed at the next change. g.mu is locked.
func (g *Gate) next() <-chan struct{} {
	if g.changed == nil {
		g.changed = make(chan struct{})
	}
	return g.changed
}

// change wakes everyone. g.mu is locked.
func (g *Gate) change() {
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}
