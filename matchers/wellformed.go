package matchers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/usagefake"
)

// BeWellFormed matches the events of one thread, the rows of one agent, or what a source of usage says, that break no rule of the house. A
// failure lists every rule that is broken, with the event, row or record that breaks it.
//
// Of a [usagefake.Quota] and of each [usagefake.TokenRecord] the rules are those of its method Check. The days of records, a
// []usagefake.TokenRecord, follow each other, the oldest first.
//
// Of events and of rows: times do not go back, seqs have no holes (an event without one is left out), and an id is used once: what has ended does not
// begin again, and the id of one turn's tool call or message does not come in another turn.
//
// Of events:
//   - All are of one thread. After session.exited comes at most the next session.started.
//   - A turn begins with turn.started, and nothing of it comes before. One turn runs at a time.
//   - It ends with one turn.completed, which names it. Nothing of it comes after, and none is left running.
//   - A tool call is started, then completed, once each, within its turn; so is a task.
//   - A request is opened, then resolved, once each, within its turn. A question that does not block the turn may stay open.
//
// Of rows:
//   - All are of one epoch.
//   - A turn's rows follow each other, plugin rows apart: a hook may append one later. The first one is the user's message.
//   - The last state of a tool call is not running, and no state follows one that is not.
//
// The first event or row need not be the first one of all: seqs may begin anywhere and, where a row's seq is not 1, so may its turn.
func BeWellFormed() Matcher {
	return matcher{description: "be well-formed", test: func(actual any) (v verdict, err error) {
		var found []finding
		switch a := actual.(type) {
		case []timeline.Row:
			found = checkRows(a)
		case []event.Event:
			found = checkEvents(a)
		case usagefake.Quota:
			if err := a.Check(); err != nil {
				found = []finding{{0, err.Error()}}
			}
		case []usagefake.TokenRecord:
			found = checkRecords(a)
		default:
			return v, unexpected("BeWellFormed", wellFormed, actual)
		}
		return findings(found, "things are wrong"), nil
	}}
}

const wellFormed = "rows, such as those of AgentRows, events ([]event.Event), a quota (usagefake.Quota) or token records ([]usagefake.TokenRecord)"

// check goes through rows, events or records and notes what is wrong.
type check struct {
	about func(i int) string // row, event or record i
	found []finding
	seq   uint64 // of the last one that has any
	time  time.Time
}

func (c *check) wrong(i int, format string, args ...any) {
	c.found = append(c.found, finding{i, c.about(i) + ": " + fmt.Sprintf(format, args...)})
}

// all is what was found, in the order of the table.
func (c *check) all() []finding {
	slices.SortStableFunc(c.found, func(a, b finding) int { return cmp.Compare(a.line, b.line) })
	return c.found
}

func (c *check) follows(i int, seq uint64, at time.Time) {
	switch {
	case seq == 0 || c.seq == 0 || seq == c.seq+1:
	case seq > c.seq:
		c.wrong(i, "seq is %d, after %d: something is missing", seq, c.seq)
	default:
		c.wrong(i, "seq is %d, after %d", seq, c.seq)
	}
	if seq != 0 {
		c.seq = seq
	}
	if at.IsZero() {
		return
	}
	if at.Before(c.time) {
		c.wrong(i, "its time is %v before that of the one before", c.time.Sub(at))
	}
	c.time = at
}

// span is something that begins and ends once.
type span struct {
	what       string // such as: tool call c1
	turn       string
	begun, end int  // where; -1 if it has not ended
	free       bool // it need not end
}

// spans are those of one kind.
type spans struct {
	byID map[string]*span
	all  []*span
}

func (s *spans) begin(id string, n span) *span {
	if s.byID == nil {
		s.byID = map[string]*span{}
	}
	n.end = -1
	s.byID[id] = &n
	s.all = append(s.all, &n)
	return &n
}

func checkRows(rows []timeline.Row) []finding {
	c := check{about: func(i int) string { return fmt.Sprintf("row %d, %s", i, timeline.Line(rows[i].Item)) }}
	var turns, calls, messages spans
	turn := "" // the newest one
	for i, r := range rows {
		c.follows(i, uint64(max(0, r.Seq)), r.Time)
		if r.Epoch != rows[0].Epoch {
			c.wrong(i, "its epoch is %q, and that of row 0 is %q", r.Epoch, rows[0].Epoch)
		}
		if r.Item == nil {
			c.wrong(i, "it has no item")
			continue
		}
		if _, card := r.Item.(timeline.Plugin); r.TurnID != "" && r.TurnID != turn && !card {
			if turns.byID[r.TurnID] != nil {
				c.wrong(i, "it is of turn %s, but turn %s has begun", r.TurnID, turn)
			} else {
				turn = r.TurnID
				turns.begin(turn, span{begun: i})
				if r.Item.Type() != (timeline.UserMessage{}).Type() && (i > 0 || r.Seq <= 1) {
					c.wrong(i, "it is the first row of turn %s, and should be the user's message", turn)
				}
			}
		}
		switch it := r.Item.(type) {
		case timeline.ToolCall:
			s := calls.byID[it.CallID]
			switch {
			case s == nil:
				s = calls.begin(it.CallID, span{what: "tool call " + it.CallID, turn: r.TurnID, begun: i})
			case s.turn != r.TurnID:
				c.wrong(i, "%s of turn %s has the id of one of turn %s, in row %d", s.what, r.TurnID, s.turn, s.begun)
				s = calls.begin(it.CallID, span{what: s.what, turn: r.TurnID, begun: i})
			case s.end >= 0:
				c.wrong(i, "%s is over since row %d", s.what, s.end)
			}
			if it.Status != timeline.Running {
				s.end = i
			}
		case timeline.UserMessage:
			id := cmp.Or(it.ClientMessageID, it.MessageID)
			if s := messages.byID[id]; s != nil {
				c.wrong(i, "user message %s is there already, in row %d", id, s.begun)
			} else if id != "" {
				messages.begin(id, span{turn: r.TurnID, begun: i})
			}
		case timeline.AssistantMessage:
			if s := messages.byID[it.MessageID]; s == nil && it.MessageID != "" {
				messages.begin(it.MessageID, span{turn: r.TurnID, begun: i})
			} else if s != nil && s.turn != r.TurnID {
				c.wrong(i, "message %s has the id of one of turn %s, in row %d", it.MessageID, s.turn, s.begun)
			}
		}
	}
	for _, s := range calls.all {
		if s.end < 0 {
			c.wrong(s.begun, "%s never ended", s.what)
		}
	}
	return c.all()
}

// eventCheck is a check of events.
type eventCheck struct {
	check
	turns, items, tasks, requests spans
	running                       *span // a turn, or nil
	exited                        int   // where the session exited, or -1
}

func checkEvents(events []event.Event) []finding {
	c := eventCheck{exited: -1, check: check{about: func(i int) string { return fmt.Sprintf("event %d, %s", i, event.Line(events[i])) }}}
	for i, e := range events {
		if e.ThreadID != events[0].ThreadID {
			c.wrong(i, "it is of thread %q, and event 0 is of thread %q", e.ThreadID, events[0].ThreadID)
			continue // its seqs and turns are that thread's own
		}
		c.follows(i, e.Seq, e.Time)
		c.event(i, e)
	}
	c.turnLeft(len(events))
	return c.all()
}

func (c *eventCheck) event(i int, e event.Event) {
	if _, starts := e.Payload.(event.SessionStarted); starts {
		c.exited = -1
	} else if c.exited >= 0 {
		c.wrong(i, "the session is over since event %d", c.exited)
	}
	switch p := e.Payload.(type) {
	case nil:
		c.wrong(i, "it has no payload")
	case event.SessionExited:
		c.turnLeft(i)
		c.exited = i
	case event.TurnStarted:
		c.turnStarted(i, e.TurnID)
	case event.TurnCompleted:
		if c.inTurn(i, e.TurnID) {
			c.turnEnded(i)
		}
	case event.Delta:
		c.item(i, e, false, true, false)
	case event.ItemStarted:
		c.item(i, e, p.ItemType.IsTool(), true, false)
	case event.ItemUpdated:
		c.item(i, e, p.ItemType.IsTool(), false, false)
	case event.ItemCompleted:
		c.item(i, e, p.ItemType.IsTool(), false, true)
	case event.TaskStarted:
		c.task(i, e, p.TaskID, true, false)
	case event.TaskProgress:
		c.task(i, e, p.TaskID, false, false)
	case event.TaskCompleted:
		c.task(i, e, p.TaskID, false, true)
	case event.PlanUpdated:
		c.inTurn(i, e.TurnID)
	case event.RequestOpened:
		c.opened(i, e, false)
	case event.UserInputRequested:
		c.opened(i, e, p.ResponseMode == "message")
	case event.RequestResolved, event.UserInputResolved:
		c.resolved(i, e)
	default: // it may stand outside of a turn
		if e.TurnID != "" {
			c.inTurn(i, e.TurnID)
		}
	}
}

func (c *eventCheck) turnStarted(i int, id string) {
	c.turnLeft(i)
	if id == "" {
		c.wrong(i, "it names no turn")
		return
	}
	if s := c.turns.byID[id]; s != nil {
		c.wrong(i, "turn %s began before, in event %d", id, s.begun)
	}
	c.running = c.turns.begin(id, span{what: "turn " + id, turn: id, begun: i})
}

// inTurn notes an event that is not of the running turn.
func (c *eventCheck) inTurn(i int, id string) bool {
	s := c.turns.byID[id]
	switch {
	case id == "":
		c.wrong(i, "it names no turn")
	case s == nil && c.running == nil:
		c.wrong(i, "turn %s has not started", id)
		c.running = c.turns.begin(id, span{what: "turn " + id, turn: id, begun: i}) // once is enough
		return true
	case s == nil:
		c.wrong(i, "turn %s has not started, and %s runs", id, c.running.what)
	case s != c.running:
		c.wrong(i, "turn %s is over since event %d", id, s.end)
	default:
		return true
	}
	return false
}

// turnLeft notes a turn that still runs where it cannot go on.
func (c *eventCheck) turnLeft(i int) {
	if c.running != nil {
		c.wrong(c.running.begun, "%s never ended", c.running.what)
		c.turnEnded(i)
	}
}

func (c *eventCheck) turnEnded(i int) {
	for _, all := range [][]*span{c.items.all, c.tasks.all, c.requests.all} {
		for _, s := range all {
			if s.end < 0 && !s.free { // it is of this turn: what an earlier one left is over since its end
				c.wrong(s.begun, "%s never ended", s.what)
				s.end = i
			}
		}
	}
	c.running.end, c.running = i, nil
}

func (c *eventCheck) item(i int, e event.Event, tool, begins, ends bool) {
	kind := "message"
	if tool {
		kind = "tool call"
	}
	c.lasts(i, e, &c.items, kind, e.ItemID, tool, begins, ends)
}

func (c *eventCheck) task(i int, e event.Event, id string, begins, ends bool) {
	c.lasts(i, e, &c.tasks, "task", id, true, begins, ends)
}

// lasts is an event of something that lasts. spans: it has a beginning and an end, and an id.
func (c *eventCheck) lasts(i int, e event.Event, all *spans, kind, id string, spans, begins, ends bool) {
	if !c.inTurn(i, e.TurnID) {
		return
	}
	what := kind + " " + id
	s := all.byID[id]
	switch {
	case id == "":
		if spans {
			c.wrong(i, "it names no %s", kind)
		}
		return
	case s != nil && s.turn != e.TurnID:
		c.wrong(i, "%s has the id of one of turn %s, in event %d", what, s.turn, s.begun)
		s = nil
	case s != nil && s.end >= 0:
		c.wrong(i, "%s is over since event %d", s.what, s.end)
	case s != nil && begins && spans:
		c.wrong(i, "%s began before, in event %d", s.what, s.begun)
	case s == nil && spans && !begins:
		c.wrong(i, "%s has not started", what)
	}
	if s == nil {
		s = all.begin(id, span{what: what, turn: e.TurnID, begun: i, free: !spans})
	}
	if ends {
		s.end = i
	}
}

func (c *eventCheck) opened(i int, e event.Event, free bool) {
	if !c.inTurn(i, e.TurnID) {
		return
	}
	what := "request " + e.RequestID
	if s := c.requests.byID[e.RequestID]; e.RequestID == "" {
		c.wrong(i, "it names no request")
	} else if s != nil {
		c.wrong(i, "%s was opened before, in event %d", what, s.begun)
	}
	c.requests.begin(e.RequestID, span{what: what, turn: e.TurnID, begun: i, free: free})
}

func (c *eventCheck) resolved(i int, e event.Event) {
	switch s := c.requests.byID[e.RequestID]; {
	case s == nil:
		c.wrong(i, "request %q was never opened", e.RequestID)
	case s.end >= 0:
		c.wrong(i, "%s is over since event %d", s.what, s.end)
	default:
		s.end = i
	}
}
