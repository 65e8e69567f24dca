package timelinekit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// RowLimit is how many bytes of JSON a plugin row may hold.
const RowLimit = 64 << 10

// AppendRow adds a plugin row, also called a timeline card, to the agent's timeline, and returns where it stands. The latest row of one
// plugin and ID is shown, at the place of the first one; [Host.AgentRows] has them all.
//
// The row is of the plugin whose hook got ctx. Outside of a hook p.PluginID names a registered plugin. turnID is the turn that the row is
// about, "" if it is about none: a hook may append it when the next turn has begun.
//
// A row without ID, Kind or a Version above 0, with Data that is not JSON or is more than [RowLimit], and one that is about a turn of which
// the agent knows nothing are errors, and then nothing is added.
func (h *Host) AppendRow(ctx context.Context, agentID, turnID string, p timeline.Plugin) (seq int, epoch string, err error) {
	if err = h.stamp(ctx, &p); err == nil {
		err = checkRow(p)
	}
	if err != nil {
		return 0, "", fmt.Errorf("timelinekit: plugin row %q for agent %s: %w", p.ID, agentID, err)
	}
	p.Data = bytes.Clone(p.Data)
	a, err := h.agent(agentID)
	if err != nil {
		return 0, "", err
	}
	h.mu.RLock()
	closing := h.closing
	h.mu.RUnlock()
	if closing {
		return 0, "", errHostClosed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if turnID != "" && !a.log.HasTurn(turnID) {
		return 0, "", fmt.Errorf("timelinekit: plugin row %q for agent %s: the agent has no turn %q; give the TurnID of a hook's event or of a Run", p.ID, agentID, turnID)
	}
	row := a.append(time.Now(), turnID, "", p)
	return row.Seq, row.Epoch, nil
}

// stamp says whose row it is.
func (h *Host) stamp(ctx context.Context, p *timeline.Plugin) error {
	if id, ok := h.plugins.calledBy(ctx); ok {
		if p.PluginID != "" && p.PluginID != id {
			return fmt.Errorf("it says that it is of plugin %s, but a hook of plugin %s appends it; leave PluginID empty", p.PluginID, id)
		}
		p.PluginID = id
		return nil
	}
	if p.PluginID == "" {
		return errors.New("whose is it? Pass on the context that the hook got or, outside of a hook, set PluginID")
	}
	if !h.plugins.registered(p.PluginID) {
		return fmt.Errorf("there is no plugin %q; register it with Use", p.PluginID)
	}
	return nil
}

func checkRow(p timeline.Plugin) error {
	switch {
	case p.ID == "":
		return errors.New("it has no ID; a later row with the same ID takes its place")
	case p.Kind == "":
		return errors.New("it has no Kind, which says who can draw it")
	case p.Version < 1:
		return fmt.Errorf("its Version is %d; the first one is 1", p.Version)
	case len(p.Data) > RowLimit:
		return fmt.Errorf("its Data is %d bytes long, and %d is the most; it is not cut, as it would no longer be JSON", len(p.Data), RowLimit)
	}
	var data json.RawMessage
	if err := json.Unmarshal(p.Data, &data); err != nil {
		return fmt.Errorf("its Data is not JSON: %w", err)
	}
	return nil
}

// RowsOf gives the plugin rows of one kind that the agent's timeline shows, as a function made for Eventually and Consistently; see
// [PluginRows].
func (h *Host) RowsOf(agentID, kind string) func() []timeline.Plugin {
	return func() []timeline.Plugin { return PluginRows(h.AgentTimeline(agentID), kind) }
}

// PluginRows are the plugin rows of one kind, in the order of the timeline; kind "" is every kind.
func PluginRows(tl timeline.Timeline, kind string) []timeline.Plugin {
	var out []timeline.Plugin
	for _, it := range tl.All() {
		if p, ok := it.(timeline.Plugin); ok && (kind == "" || p.Kind == kind) {
			out = append(out, p)
		}
	}
	return out
}
