package mcpcall

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tap is a transport that taps another one, and takes what it has tapped.
func Tap(t mcp.Transport) (tapped mcp.Transport, take func() json.RawMessage) {
	tapping := &tap{transport: t}
	return tapping, tapping.take
}

// Grace sets how long a command has to end.
func Grace(d time.Duration) (restore func()) {
	was := grace
	grace = d
	return func() { grace = was }
}

// TimeLimits lets limits end by time, as they do outside the specs.
func TimeLimits() (restore func()) { return setTimeout(context.WithTimeout) }

// HoldLimits lets no limit end but by expire, which ends the one that runs.
func HoldLimits() (expire, restore func()) {
	var running atomic.Pointer[held]
	restore = setTimeout(func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
		h := &held{}
		h.Context, h.end = context.WithCancel(ctx)
		running.Store(h)
		return h, h.end
	})
	expire = func() {
		h := running.Load()
		if h == nil || h.Err() != nil {
			panic("no limit runs")
		}
		h.over.Store(true)
		h.end()
	}
	return expire, restore
}

func setTimeout(f func(context.Context, time.Duration) (context.Context, context.CancelFunc)) (restore func()) {
	was := withTimeout
	withTimeout = f
	return func() { withTimeout = was }
}

// held is a context that ends as if its time had come.
type held struct {
	context.Context
	end  context.CancelFunc
	over atomic.Bool
}

func (h *held) Err() error {
	err := h.Context.Err()
	if err != nil && h.over.Load() {
		return context.DeadlineExceeded
	}
	return err
}
