package timeline

import (
	"iter"
	"slices"
	"strings"
)

// Timeline is a snapshot of what an agent did, one item a message, tool call or plugin row. It never changes, it may be
// shared between goroutines, and taking one costs the same at any length. The zero value is empty.
type Timeline struct {
	slots []*slot
	rows  int // the snapshot's age: later states are not its own
	epoch string
	turn  string // the newest turn begins at slot start
	start int
}

func (t Timeline) at(i int) *state {
	st := t.slots[i].head.Load()
	for st.row > t.rows {
		st = st.prev
	}
	return st
}

// Len is the number of items.
func (t Timeline) Len() int { return len(t.slots) }

// Epoch names the history that the timeline belongs to. It is "" for one that no host stores.
func (t Timeline) Epoch() string { return t.epoch }

// At is item i, from 0.
func (t Timeline) At(i int) Item { return t.at(i).item }

// All yields the items with their index, from 0.
func (t Timeline) All() iter.Seq2[int, Item] {
	return func(yield func(int, Item) bool) {
		for i := range t.slots {
			if !yield(i, t.At(i)) {
				return
			}
		}
	}
}

// Items is a copy of the items.
func (t Timeline) Items() Items {
	out := make(Items, 0, len(t.slots))
	for _, it := range t.All() {
		out = append(out, it)
	}
	return out
}

// TurnOf is the turn that item i began in. A later turn may have changed the item: a plugin row stays at its first place.
func (t Timeline) TurnOf(i int) string { return t.slots[i].turn }

// Turn is the part of the timeline that belongs to one turn, the user's message included. For the newest turn it costs what the
// turn has, for others what the timeline has.
func (t Timeline) Turn(id string) Timeline {
	lo := 0
	if id == t.turn {
		lo = t.start
	}
	first, last, n := 0, -1, 0
	for i := lo; i < len(t.slots); i++ {
		if t.TurnOf(i) == id {
			if last < 0 {
				first = i
			}
			last = i
			n++
		}
	}
	out := Timeline{rows: t.rows, epoch: t.epoch, turn: id}
	if n == last-first+1 {
		out.slots = t.slots[first : last+1]
		return out
	}
	out.slots = make([]*slot, 0, n)
	for i := first; i <= last; i++ {
		if t.TurnOf(i) == id {
			out.slots = append(out.slots, t.slots[i])
		}
	}
	return out
}

// String is a table, one line an item. Behind the first item of each turn stands the turn.
func (t Timeline) String() string {
	if t.Len() == 0 {
		return "(no items)"
	}
	var b strings.Builder
	turn := ""
	for i, it := range t.All() {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(tableLine(i, it))
		if id := t.TurnOf(i); id != turn {
			turn = id
			b.WriteString("  <- " + id)
		}
	}
	return b.String()
}

// GomegaString is how a failure message shows the timeline.
func (t Timeline) GomegaString() string { return t.String() }

// String is a table, one line an item.
func (s Items) String() string {
	if len(s) == 0 {
		return "(no items)"
	}
	lines := make([]string, len(s))
	for i, it := range s {
		lines[i] = tableLine(i, it)
	}
	return strings.Join(lines, "\n")
}

// GomegaString is how a failure message shows the items.
func (s Items) GomegaString() string { return s.String() }

// MarshalJSON writes the items.
func (t Timeline) MarshalJSON() ([]byte, error) { return t.Items().MarshalJSON() }

// Ending says how a turn ended.
type Ending struct {
	Kind    Status // Completed, Failed or Canceled
	Message string // why it failed or was canceled; may be ""
	Code    int    // a number that goes with a failure, a JSON-RPC error code for one; 0 is none
}

func (e Ending) String() string {
	s := string(e.Kind)
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// AgentStatus is what a host shows of an agent.
type AgentStatus string

const (
	AgentInitializing AgentStatus = "initializing" // its session is being started
	AgentIdle         AgentStatus = "idle"         // waits for a prompt
	AgentRunning      AgentStatus = "running"      // a turn runs
	AgentError        AgentStatus = "error"        // its last turn failed; the next one works normally
	AgentClosed       AgentStatus = "closed"       // its session is over
)

// Run is a turn that has ended. It prints as its ending and its items. To compare two with go-cmp, compare their Items.
type Run struct {
	AgentID  string
	TurnID   string
	Status   AgentStatus // of the agent after the turn
	Ending   Ending
	Timeline Timeline // the items of this turn, the user's message first
}

func (r Run) String() string {
	head := "turn " + r.TurnID + " of " + r.AgentID + " (now " + string(r.Status) + ") ended " + r.Ending.String()
	return head + "\n" + r.Timeline.String()
}

// GomegaString is how a failure message shows the run.
func (r Run) GomegaString() string { return r.String() }

// Items are the items of the turn without the user's message.
func (r Run) Items() Items {
	return slices.DeleteFunc(r.Timeline.Items(), func(it Item) bool { _, ok := it.(UserMessage); return ok })
}
