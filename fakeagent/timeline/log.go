package timeline

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Row is one stored state of an item. Rows are never changed: a later state of a tool call is a later row.
type Row struct {
	Seq    int       `json:"seq"`   // from 1, without holes
	Epoch  string    `json:"epoch"` // of the timeline; seqs of different epochs do not compare
	Time   time.Time `json:"timestamp"`
	TurnID string    `json:"turnId,omitempty"`
	ItemID string    `json:"itemId,omitempty"` // keeps two messages in a row apart
	Item   Item      `json:"item"`
}

// GomegaString is how a failure message shows the row.
func (r Row) GomegaString() string {
	line := "row " + strconv.Itoa(r.Seq) + ", " + Line(r.Item)
	if r.TurnID == "" {
		return line
	}
	return line + "  <- " + r.TurnID
}

// UnmarshalJSON reads what encoding/json writes of a Row.
func (r *Row) UnmarshalJSON(data []byte) error {
	type bare Row
	w := struct {
		*bare
		Item json.RawMessage `json:"item"`
	}{bare: (*bare)(r)}
	err := json.Unmarshal(data, &w)
	if err == nil {
		r.Item, err = DecodeItem(w.Item)
	}
	return err
}

// Log is a timeline under construction: rows are appended, never changed. It is not safe for concurrent use; what it hands out is.
type Log struct {
	epoch string
	rows  []Row
	shown Projection
}

// NewLog is an empty log. An epoch names one history: whoever starts a new one for the same agent gives it a new epoch.
func NewLog(epoch string) *Log { return &Log{epoch: epoch} }

// Append stores the next row.
func (l *Log) Append(at time.Time, turnID, itemID string, item Item) Row {
	if len(l.rows) == cap(l.rows) { // doubled: append would grow a long slice by a quarter, and copy it five times as often
		l.rows = slices.Grow(l.rows, max(16, len(l.rows)))
	}
	r := Row{Seq: len(l.rows) + 1, Epoch: l.epoch, Time: at, TurnID: turnID, ItemID: itemID, Item: item}
	l.rows = append(l.rows, r)
	l.shown.Add(turnID, itemID, item)
	return r
}

// Rows are the rows so far. It copies nothing; the slice must not be changed.
func (l *Log) Rows() []Row { return l.rows[:len(l.rows):len(l.rows)] }

// Snapshot is the projection of the rows so far.
func (l *Log) Snapshot() Timeline {
	t := l.shown.Snapshot()
	t.epoch = l.epoch
	return t
}

// Projection folds rows into what a reader wants to see:
//
//   - Rows of one tool call are one item at the call's first place. Later fields win, but a detail of unknown kind never
//     replaces a known one, and metadata is merged key by key.
//   - Adjacent rows of text with one turn and one item id are one message.
//   - Of the plugin rows with one plugin and id the latest is shown, at the first one's place.
//
// The zero value is empty. It is not safe for concurrent use; its snapshots are.
type Projection struct {
	slots   []*slot
	n       int // rows added
	seen    int // rows that the last snapshot has
	calls   map[string]*slot
	plugins map[pluginKey]*slot
	text    strings.Builder // of the message in slot textOf, which was sent in pieces
	textOf  *slot
	turn    string // the newest turn, and its first slot
	start   int
	starts  map[string]int // the first slot of each turn
}

type pluginKey struct{ plugin, id string }

// A slot is a place in the projection. Its states are a list, newest first, which only grows at the head; so a snapshot is
// no copy, but a count of rows: it sees the newest state that is not younger than it.
type slot struct {
	turn  string
	head  atomic.Pointer[state]
	first state
}

type state struct {
	item   Item
	itemID string
	row    int // the row that made it
	prev   *state
}

// Add folds in the next row.
func (p *Projection) Add(turnID, itemID string, item Item) {
	p.n++
	var old *slot // the place of an earlier state of the item
	switch v := item.(type) {
	case ToolCall:
		if old = p.calls[v.CallID]; old != nil {
			if merged, differs := merge(old.head.Load().item.(ToolCall), v); differs {
				item = merged
			}
		}
	case Plugin:
		old = p.plugins[pluginKey{v.PluginID, v.ID}]
	case AssistantMessage:
		if s, last, ok := pieceBefore[AssistantMessage](p, turnID, itemID); ok {
			v.Text = p.join(s, last.Text, v.Text)
			old, item = s, v
		}
	case Reasoning:
		if s, last, ok := pieceBefore[Reasoning](p, turnID, itemID); ok {
			v.Text = p.join(s, last.Text, v.Text)
			old, item = s, v
		}
	}
	if old != nil {
		prev := old.head.Load()
		if prev.row > p.seen {
			prev = prev.prev // nobody has it, so nobody will miss it
		}
		old.head.Store(&state{item: item, itemID: itemID, row: p.n, prev: prev})
		return
	}
	s := &slot{turn: turnID, first: state{item: item, itemID: itemID, row: p.n}}
	s.head.Store(&s.first)
	start, seen := p.starts[turnID]
	if !seen {
		if p.starts == nil {
			p.starts = map[string]int{}
		}
		start = len(p.slots)
		p.starts[turnID] = start
	}
	p.slots = append(p.slots, s)
	switch v := item.(type) {
	case UserMessage:
		p.turn, p.start = turnID, start
	case ToolCall:
		if p.calls == nil {
			p.calls = map[string]*slot{}
		}
		p.calls[v.CallID] = s
	case Plugin:
		if p.plugins == nil {
			p.plugins = map[pluginKey]*slot{}
		}
		p.plugins[pluginKey{v.PluginID, v.ID}] = s
	}
}

// pieceBefore is the place and the text of the message that the row before this one is a piece of, if this one is another.
func pieceBefore[T Item](p *Projection, turnID, itemID string) (s *slot, last T, ok bool) {
	if itemID == "" || len(p.slots) == 0 {
		return nil, last, false
	}
	s = p.slots[len(p.slots)-1]
	head := s.head.Load()
	if head.row != p.n-1 || head.itemID != itemID || s.turn != turnID {
		return nil, last, false
	}
	last, ok = head.item.(T)
	return s, last, ok
}

// join appends to the text of s in place. What earlier snapshots hold are prefixes of the same bytes.
func (p *Projection) join(s *slot, old, more string) string {
	if p.textOf != s {
		p.textOf, p.text = s, strings.Builder{}
		p.text.WriteString(old)
	}
	p.text.WriteString(more)
	return p.text.String()
}

// merge is c with what only an earlier state of the call knows. It differs from c if there is any.
func merge(old, c ToolCall) (merged ToolCall, differs bool) {
	if c.Name == "" && old.Name != "" {
		c.Name, differs = old.Name, true
	}
	if known(old.Detail) && !known(c.Detail) {
		c.Detail, differs = old.Detail, true
	}
	if old.Metadata != nil {
		c.Metadata, differs = mergeObjects(old.Metadata, c.Metadata), true
	}
	return c, differs
}

// mergeObjects is the JSON object with the members of both; those of b win.
func mergeObjects(a, b json.RawMessage) json.RawMessage {
	var to, from map[string]json.RawMessage
	if b == nil {
		return a
	}
	if json.Unmarshal(a, &to) != nil || json.Unmarshal(b, &from) != nil || to == nil {
		return b
	}
	maps.Copy(to, from)
	merged, _ := JSON(to) // was JSON before
	return merged
}

func known(d Detail) bool {
	switch d.(type) {
	case nil, Unknown:
		return false
	}
	return true
}

// TurnOfCall is the turn that a tool call began in, if there is such a call.
func (l *Log) TurnOfCall(callID string) (turnID string, ok bool) {
	if s := l.shown.calls[callID]; s != nil {
		return s.turn, true
	}
	return "", false
}

// HasTurn says that there is a row of that turn.
func (l *Log) HasTurn(turnID string) bool { _, ok := l.shown.starts[turnID]; return ok }

// Reset empties the projection, for another history. Snapshots that were taken before must not be used any more.
func (p *Projection) Reset() {
	clear(p.slots)
	clear(p.calls)
	clear(p.plugins)
	clear(p.starts)
	*p = Projection{slots: p.slots[:0], calls: p.calls, plugins: p.plugins, starts: p.starts}
}

// Snapshot costs the same at any length.
func (p *Projection) Snapshot() Timeline {
	p.seen = p.n
	return Timeline{slots: p.slots[:len(p.slots):len(p.slots)], rows: p.n, turn: p.turn, start: p.start}
}
