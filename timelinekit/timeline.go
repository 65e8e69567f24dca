package timelinekit

import (
	"context"
	"fmt"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// AgentTimeline is a snapshot of what the agent did, over all its turns: one item a message, tool call or plugin row. It costs the same
// at any length, and never changes.
func (h *Host) AgentTimeline(agentID string) timeline.Timeline {
	a, err := h.agent(agentID)
	if err != nil {
		h.t.Helper() // not before: it would cost ten times what the snapshot does
		h.t.Fatalf("%v", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.Snapshot()
}

// TimelineOf is [Host.AgentTimeline] as a function, made for Eventually.
func (h *Host) TimelineOf(agentID string) func() timeline.Timeline {
	return func() timeline.Timeline { return h.AgentTimeline(agentID) }
}

// AgentRows are the rows as they are stored: every state of a tool call, every piece of a message. They must not be changed.
func (h *Host) AgentRows(agentID string) []timeline.Row {
	a, err := h.agent(agentID)
	if err != nil {
		h.t.Helper()
		h.t.Fatalf("%v", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.Rows()
}

// FetchRows reads the rows page by page, as a client of a host does that was away for a while.
func (h *Host) FetchRows(agentID string, q timeline.Query) (timeline.Page, error) {
	a, err := h.agent(agentID)
	if err != nil {
		return timeline.Page{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.Fetch(q), nil
}

// Matcher is what [Host.WaitFor] waits for. Every Gomega matcher is one.
type Matcher interface {
	Match(actual any) (success bool, err error)
	FailureMessage(actual any) string
}

// WaitFor returns when the agent's timeline matches, at once if it does already. It does not poll: it looks at every change. The error
// has the matcher's message and the timeline so far.
func (h *Host) WaitFor(ctx context.Context, agentID string, m Matcher) error {
	a, err := h.agent(agentID)
	if err != nil {
		return err
	}
	ctx, cancel := fakeagent.Patience(ctx)
	defer cancel()
	for {
		a.mu.Lock()
		tl, change := a.log.Snapshot(), a.next()
		a.mu.Unlock()
		ok, err := m.Match(tl)
		if ok && err == nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("timelinekit: waiting for the timeline of agent %s: %w", agentID, err)
		}
		select {
		case <-change:
		case <-ctx.Done():
			return fmt.Errorf("timelinekit: the timeline of agent %s never matched (%w):\n%s\n%s", agentID, context.Cause(ctx), m.FailureMessage(tl), h.describe(a))
		}
	}
}
