package timelinekit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
)

// provider is a registered one.
type provider struct {
	fakeagent.Provider
	id          string
	own         *fakeagent.Instance // the host made it, and closes it
	plugins     *plugins            // the host's
	listed      bool
	unsubscribe func()
}

// Register adds a provider to the host. The remover takes it off the list; agents that have it keep it.
func (h *Host) Register(id string, p fakeagent.Provider) (remove func(), err error) {
	r, err := h.register(id, p)
	if err != nil {
		return nil, err
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		r.listed = false
	}, nil
}

func (h *Host) register(id string, p fakeagent.Provider) (*provider, error) {
	if id == "" || p == nil {
		return nil, errors.New("timelinekit: Register needs an id and a provider")
	}
	r := &provider{Provider: p, id: id, plugins: &h.plugins, listed: true}
	h.mu.Lock()
	var err error
	switch {
	case h.closing:
		err = errHostClosed
	case h.listed(id) != nil:
		err = fmt.Errorf("timelinekit: there is a provider %q already; remove it first, or use another id", id)
	default:
		h.providers = append(h.providers, r)
	}
	h.mu.Unlock()
	if err != nil {
		return nil, err
	}
	off := p.Subscribe(func(e event.Event) { h.on(r, &e) }) // without the lock: it may deliver at once
	h.mu.Lock()
	r.unsubscribe = off
	h.mu.Unlock()
	return r, nil
}

// listed is the provider of that id, or the default for "". h.mu is locked.
func (h *Host) listed(id string) *provider {
	for _, p := range h.providers {
		if p.listed && (id == "" || p.id == id) {
			return p
		}
	}
	return nil
}

// has says that there is a provider of that id.
func (h *Host) has(provider string) error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if provider == "" || h.listed(provider) == nil {
		return h.noProvider(provider)
	}
	return nil
}

// noProvider is the error of an id that is not registered. h.mu is locked.
func (h *Host) noProvider(id string) error {
	var ids []string
	for _, p := range h.providers {
		if p.listed {
			ids = append(ids, p.id)
		}
	}
	return fmt.Errorf("no provider %q; this host has: %s", id, cmp.Or(strings.Join(ids, ", "), "none"))
}

// ProviderInfo is a provider as the host lists it.
type ProviderInfo struct {
	ID     string
	Label  string
	Models []fakeagent.Model
}

// Providers lists the registered providers, the default first.
func (h *Host) Providers(ctx context.Context) ([]ProviderInfo, error) {
	h.mu.RLock()
	providers := slices.DeleteFunc(slices.Clone(h.providers), func(p *provider) bool { return !p.listed })
	h.mu.RUnlock()
	var out []ProviderInfo
	for _, p := range providers {
		probe, err := p.Probe(ctx)
		if err != nil {
			return nil, fmt.Errorf("timelinekit: provider %s: %w", p.id, err)
		}
		out = append(out, ProviderInfo{p.id, probe.Label, probe.Models})
	}
	return out, nil
}

// call makes a short call into a provider. It has the host's own context, which also ends with the caller's and after the limit, if there
// is one. Since a foreign provider may not look at its context, it is not waited for longer than that.
func call[V any](ctx context.Context, h *Host, p *provider, limit time.Duration, do func(context.Context) (V, error)) (v V, err error) {
	if p.own != nil {
		return do(h.ctx) // never waits
	}
	own, cancel := context.WithCancel(h.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	wait, stop := fakeagent.Patience(ctx)
	if limit > 0 {
		wait, stop = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not return within %v", limit))
	}
	defer stop()
	type result struct {
		v   V
		err error
	}
	returned := make(chan result, 1)
	go func() {
		var v V
		watched(func() (err error) {
			v, err = do(own)
			return err
		}, func(err error, _ bool) { returned <- result{v, err} })
	}()
	select {
	case r := <-returned:
		if errors.As(r.err, new(abandoned)) {
			r.err = fmt.Errorf("provider %s: %w", p.id, r.err)
		}
		return r.v, r.err
	case <-wait.Done():
		return v, fmt.Errorf("provider %s: %w", p.id, context.Cause(wait))
	}
}

// watched calls a function of the test's and hands over how that ended: with its error, a panic, or the end of this goroutine, which is
// then gone. An error alone does not tell: it may come from another function that was watched.
func watched(f func() error, over func(err error, gone bool)) {
	var err error = errGoexit
	gone := true
	defer func() {
		if r := recover(); r != nil {
			err, gone = abandoned(fmt.Sprintf("it panicked: %v\n%s", r, debug.Stack())), false
		}
		over(err, gone)
	}()
	err = f()
	gone = false
}

// abandoned is a function that did not return.
type abandoned string

func (a abandoned) Error() string { return string(a) }

const errGoexit abandoned = "it called runtime.Goexit, as t.FailNow and t.Fatal do"

// command is a call that returns nothing.
func (h *Host) command(ctx context.Context, p *provider, do func(context.Context) error) error {
	_, err := call(ctx, h, p, 0, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) })
	return err
}
