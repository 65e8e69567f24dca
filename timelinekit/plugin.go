package timelinekit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
)

// plugins are those of a host, and the calls of their hooks.
type plugins struct {
	ctx     context.Context // the host's
	violate func(format string, args ...any)

	used atomic.Bool // there was ever a plugin: a host without any pays nothing

	mu      sync.Mutex
	list    []*plugin // in order of registration
	stopped bool      // nothing fires any more
	changes
}

// plugin is a registered one. It is guarded by plugins.mu.
type plugin struct {
	id      string
	hooks   map[reflect.Type]callback
	removed bool

	queue    []firing // event hooks that wait for their turn
	busy     bool     // a goroutine works on the queue
	fired    int      // event hooks so far, also those that wait
	returned int
	now      []string // what is being called
}

// firing is an event on its way to a hook, or a request.
type firing struct {
	what string // such as "agent.turn_ended of agent-1-turn-1"
	hook callback
	in   any
}

// pluginKey finds the plugin in a hook's context.
type pluginKey struct{}

// calledBy is the plugin whose hook got the context, if it is of this host.
func (ps *plugins) calledBy(ctx context.Context) (id string, ok bool) {
	p, _ := ctx.Value(pluginKey{}).(*plugin)
	if p == nil {
		return "", false
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return p.id, slices.Contains(ps.list, p)
}

// registered says that there is a plugin of that id.
func (ps *plugins) registered(id string) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.get(id) != nil
}

// get is the plugin of that id, or nil. ps.mu is locked.
func (ps *plugins) get(id string) *plugin {
	for _, p := range ps.list {
		if p.id == id && !p.removed {
			return p
		}
	}
	return nil
}

// any says that there is a plugin.
func (ps *plugins) any() bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return slices.ContainsFunc(ps.list, func(p *plugin) bool { return !p.removed })
}

// Use registers a plugin. The remover takes it off again, after which nothing more is fired for it; hooks that were fired before are
// still called. It may be called twice.
//
// An id that is taken, and a method that is nearly a hook, because it is misspelt or has another signature, are errors.
func (h *Host) Use(p Plugin) (remove func(), err error) {
	if p == nil || p.ID() == "" {
		return nil, errors.New("timelinekit: a plugin needs an id; let its ID method return one")
	}
	found, err := callbacks(p)
	if err != nil {
		return nil, fmt.Errorf("timelinekit: plugin %s: %w", p.ID(), err)
	}
	h.mu.RLock()
	closing := h.closing
	h.mu.RUnlock()
	if closing {
		return nil, errHostClosed
	}
	ps := &h.plugins
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.get(p.ID()) != nil {
		return nil, fmt.Errorf("timelinekit: there is a plugin %s already; remove it first, or give this one another id", p.ID())
	}
	r := &plugin{id: p.ID(), hooks: found}
	ps.list = append(ps.list, r)
	ps.used.Store(true)
	return func() {
		ps.mu.Lock()
		defer ps.mu.Unlock()
		r.removed = true
	}, nil
}

// fire has an event told to every plugin that has a hook for it. It does not wait.
func fire[E HookEvent](ps *plugins, e E) {
	if !ps.used.Load() {
		return
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.stopped {
		return
	}
	takes := reflect.TypeFor[E]()
	var f firing
	for _, p := range ps.list {
		hook := p.hooks[takes]
		if hook == nil || p.removed {
			continue
		}
		if f.in == nil {
			f = firing{what: hookOf(takes).name + " of " + e.about(), in: e}
		}
		f.hook = hook
		p.queue = append(p.queue, f)
		p.fired++
		if !p.busy {
			p.busy = true
			go ps.drain(p) // there is no goroutine while nothing is due
		}
	}
}

// drain calls the hooks that wait.
func (ps *plugins) drain(p *plugin) {
	for {
		ps.mu.Lock()
		if len(p.queue) == 0 || ps.ctx.Err() != nil {
			p.queue, p.busy = nil, false
			ps.change()
			ps.mu.Unlock()
			return
		}
		f := p.queue[0]
		p.queue = p.queue[1:]
		p.now = append(p.now, f.what)
		ps.mu.Unlock()
		ps.tell(p, f)
	}
}

// tell calls an event hook. It does not return where the hook ended the goroutine; then another one goes on.
func (ps *plugins) tell(p *plugin, f firing) {
	ctx, cancel := context.WithCancelCause(ps.ctx)
	defer cancel(nil)
	late := time.AfterFunc(hookLimit, func() { // recorded first: a hook that returns when its context ends must find it so
		ps.violate("plugin %s: %s %v; its context was canceled", p.id, f.what, errLate)
		cancel(errLate)
	})
	ps.guard(ctx, p, f.what, func(ctx context.Context) error {
		_, err := f.hook(ctx, f.in)
		return err
	}, func(err error, gone bool) {
		if late.Stop() && err != nil && ps.ctx.Err() == nil {
			ps.violate("plugin %s: %s: %v", p.id, f.what, err)
		}
		ps.mu.Lock()
		p.returned++
		ps.mu.Unlock()
		if gone {
			go ps.drain(p)
		}
	})
}

// ask calls a before hook of every plugin that has one. check says what the host cannot do.
func ask[R HookRequest[R]](ctx context.Context, ps *plugins, r R, check func(R) error) (R, error) {
	takes := reflect.TypeFor[R]()
	name := hookOf(takes).name
	ps.mu.Lock()
	list := slices.DeleteFunc(slices.Clone(ps.list), func(p *plugin) bool { return p.removed || p.hooks[takes] == nil })
	ps.mu.Unlock()
	for _, p := range list {
		out, err := ps.ask(ctx, p, firing{name, p.hooks[takes], r.clone()})
		if next, changed := out.(R); changed && err == nil {
			next = next.clone() // the plugin may have kept it
			if err = cmp.Or(next.valid(r), check(next)); err != nil {
				err = fmt.Errorf("what it returned cannot be used: %w", err)
			}
			r = next
		}
		if err != nil {
			return r, &HookError{p.id, name, err}
		}
	}
	return r, nil
}

// ask calls a before hook, on a goroutine of its own: it may take too long, or end the goroutine.
func (ps *plugins) ask(ctx context.Context, p *plugin, f firing) (any, error) {
	own, cancel := context.WithTimeoutCause(ps.ctx, hookLimit, errLate)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	type answer struct {
		out any
		err error
	}
	answered := make(chan answer, 1)
	ps.mu.Lock()
	p.now = append(p.now, f.what)
	ps.mu.Unlock()
	go func() {
		var out any
		ps.guard(own, p, f.what, func(ctx context.Context) (err error) {
			out, err = f.hook(ctx, f.in)
			return err
		}, func(err error, _ bool) { answered <- answer{out, err} })
	}()
	select {
	case a := <-answered:
		return a.out, a.err
	case <-own.Done():
		return nil, cmp.Or(ctx.Err(), context.Cause(own))
	}
}

var errLate = fmt.Errorf("has not returned within %v", hookLimit)

// guard runs a hook and hands over how it ended.
func (ps *plugins) guard(ctx context.Context, p *plugin, what string, run func(context.Context) error, over func(err error, gone bool)) {
	watched(func() (err error) {
		pprof.Do(context.WithValue(ctx, pluginKey{}, p), pprof.Labels("understudy.doing", "plugin "+p.id+" is in "+what), func(ctx context.Context) { err = run(ctx) })
		return err
	}, func(err error, gone bool) {
		if gone {
			err = fmt.Errorf("%w, and so do methods of the host that return no error; a hook returns its error, and uses those that return one, such as SendTurn and Await", err)
		}
		over(err, gone)
		ps.mu.Lock()
		defer ps.mu.Unlock()
		i := slices.Index(p.now, what)
		p.now = slices.Delete(p.now, i, i+1)
		ps.change()
	})
}

// HooksSettled returns when every event hook that was fired so far has returned. It is the barrier between a turn and a look at what
// hooks made of it. If ctx has no deadline it gives up after 30 seconds. Its error names the hooks that still run.
func (h *Host) HooksSettled(ctx context.Context) error {
	if id, ok := h.plugins.calledBy(ctx); ok {
		return fmt.Errorf("timelinekit: HooksSettled was called by a hook of plugin %s, for which it would wait; call it from the test", id)
	}
	ctx, cancel := fakeagent.Patience(ctx)
	defer cancel()
	ps := &h.plugins
	ps.mu.Lock()
	defer ps.mu.Unlock()
	fired := make([]int, len(ps.list))
	for i, p := range ps.list {
		fired[i] = p.fired
	}
	err := ps.await(ctx, func() bool {
		for i, n := range fired {
			if ps.list[i].returned < n {
				return false
			}
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("timelinekit: %w", err)
	}
	return nil
}

// await waits for what hooks do. ps.mu is locked, but while it waits.
func (ps *plugins) await(ctx context.Context, settled func() bool) error {
	for !settled() {
		if ctx.Err() != nil {
			return fmt.Errorf("hooks have not returned (%w):\n  %s", context.Cause(ctx), strings.Join(ps.late(), "\n  "))
		}
		change := ps.next()
		ps.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
		}
		ps.mu.Lock()
	}
	return nil
}

// late names the hooks that run and those that wait. ps.mu is locked.
func (ps *plugins) late() (out []string) {
	for _, p := range ps.list {
		for _, what := range p.now {
			out = append(out, fmt.Sprintf("plugin %s: %s still runs", p.id, what))
		}
		for _, f := range p.queue {
			out = append(out, fmt.Sprintf("plugin %s: %s was not called yet", p.id, f.what))
		}
	}
	return out
}

// stop fires nothing any more, and waits for what was fired.
func (ps *plugins) stop(ctx context.Context) error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.stopped = true
	return ps.await(ctx, func() bool {
		return !slices.ContainsFunc(ps.list, func(p *plugin) bool { return p.busy || len(p.now) > 0 })
	})
}

// changes lets others wait for the next change of what its owner's lock guards.
type changes struct{ ch chan struct{} }

// next is closed at the next change.
func (c *changes) next() <-chan struct{} {
	if c.ch == nil {
		c.ch = make(chan struct{})
	}
	return c.ch
}

func (c *changes) change() {
	if c.ch != nil {
		close(c.ch)
		c.ch = nil
	}
}

// stopPlugins has the hooks that were fired come to their end.
func (h *Host) stopPlugins() {
	limit, cancel := context.WithTimeoutCause(context.Background(), closeLimit, fmt.Errorf("within %v of the test's end", closeLimit))
	defer cancel()
	if err := h.plugins.stop(limit); err != nil {
		h.violate("%v", err)
	}
}
