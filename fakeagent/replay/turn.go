package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"
)

// Source is who was observed when a journal was recorded.
type Source string

const (
	SourceAgent   Source = "agent"   // an agent of somebody else
	SourceHarness Source = "harness" // the host's own

	sourceDecision Source = "decision" // of entries between those of an agent
)

// ofAgent is whether an entry is about the agent.
func (s Source) ofAgent() bool { return s == SourceAgent || s == SourceHarness }

// Turn is a turn of a journal, as it was recorded.
type Turn struct {
	Prompt       string
	Events       []Event
	Decisions    []Decision // of the host, between the events
	Text         string     // all that the agent said
	Usage        Usage
	Conversation string    // what the agent called the conversation; "" is none
	Failure      *Failure  // how it failed; nil: it did not
	Handover     *Handover // another agent went on with it; nil: none did
	Changes      *Changes  // the commits that it made; nil: none that anybody knows of
	ResumedBy    []string  // the instructions of the user that began it, where it goes on with the one before
	Interrupted  bool      // by such an instruction
	Began        time.Time // when its prompt was recorded; the zero time if the journal does not say
	Metered      bool      // the journal says what it used
}

// Event is something that an agent did, as it was recorded.
type Event struct {
	kind     string
	raw      string    // the whole entry
	text     string    // of those kinds that are text
	executor string    // the executor event that it was, as JSON; "" where the journal has none
	item     string    // the id that a piece of a message or of a thought had as one; "" where the journal has none
	at       time.Time // zero where the entry does not say
}

// Kind is what kind of event it is, such as "text" or "tool-result".
func (e Event) Kind() string { return e.kind }

// Equal is whether it is the same event, recorded at the same time, for go-cmp and others that ask for it.
func (e Event) Equal(other Event) bool {
	return e.kind == other.kind && e.raw == other.raw && e.executor == other.executor && e.item == other.item
}

// At is when it was recorded; the zero time if the journal does not say.
func (e Event) At() time.Time { return e.at }

// Text is what the agent says or thinks in an event of the kind text, text-delta, reasoning or result; "" in others.
func (e Event) Text() string { return e.text }

// JSON is the event without the envelope that the journal has put around it: its members in their order, its numbers as they were written, no
// white space.
func (e Event) JSON() json.RawMessage {
	var b bytes.Buffer
	_ = json.Compact(&b, []byte(e.raw)) // it is valid
	o := objectOf(b.Bytes())
	out := []byte{'{'}
	for _, m := range o.members {
		if !slices.Contains(envelopeKeys, string(m.key)) {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, o.text[m.from:m.end]...)
		}
	}
	return append(out, '}')
}

// member is the text of a member, "" where it has none.
func (e Event) member(key string) string {
	o := objectOf([]byte(e.raw))
	return o.str(key)
}

// clone is a turn of which a caller may change whatever there is.
func (t Turn) clone() Turn {
	t.Events, t.Decisions, t.ResumedBy = slices.Clone(t.Events), slices.Clone(t.Decisions), slices.Clone(t.ResumedBy)
	t.Usage.CacheCreated, t.Usage.Complete = another(t.Usage.CacheCreated), another(t.Usage.Complete)
	t.Failure, t.Handover, t.Changes = another(t.Failure), another(t.Handover), another(t.Changes)
	if t.Changes != nil {
		t.Changes.Baseline, t.Changes.Commits = another(t.Changes.Baseline), slices.Clone(t.Changes.Commits)
		for i, c := range t.Changes.Commits {
			t.Changes.Commits[i].Raw = bytes.Clone(c.Raw)
		}
	}
	return t
}

// another is a pointer to a copy.
func another[V any](p *V) *V {
	if p == nil {
		return nil
	}
	return pointerTo(*p)
}

func pointerTo[V any](v V) *V { return &v }

// Decision is a decision of the host that came between the events of a turn.
type Decision struct {
	Before   int    // as many events of the turn came before it
	Subagent string // whose it was; "" is the agent itself
	Event    Event
}

// Usage counts tokens. Cached input is part of input.
type Usage struct {
	Input        int64  `json:"input"`
	Cached       int64  `json:"cached"`
	Output       int64  `json:"output"`
	CacheCreated *int64 `json:"cacheCreated,omitempty"` // nil: not told
	Complete     *bool  `json:"complete,omitempty"`     // nil: not told; false: some of it is not counted
}

// plus is the usage of both. It is complete if nobody says that one of them is not.
func (u Usage) plus(v Usage) Usage { return u.with(v, addUp) }

// minus is what is left of a usage when a part of it is taken away, which is never less than nothing.
func (u Usage) minus(v Usage) Usage {
	return u.with(v, func(a, b int64) int64 { return max(0, a-b) })
}

// addUp stays at the greatest number, where a journal has counts that nobody can add.
func addUp(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (u Usage) with(v Usage, f func(a, b int64) int64) Usage {
	sum := Usage{Input: f(u.Input, v.Input), Cached: f(u.Cached, v.Cached), Output: f(u.Output, v.Output)}
	if u.CacheCreated != nil || v.CacheCreated != nil {
		sum.CacheCreated = pointerTo(f(deref(u.CacheCreated, 0), deref(v.CacheCreated, 0)))
	}
	if u.Complete != nil || v.Complete != nil {
		sum.Complete = pointerTo(deref(u.Complete, true) && deref(v.Complete, true))
	}
	return sum
}

// deref is what a pointer points to, or something else where it is nil.
func deref[V any](p *V, other V) V {
	if p == nil {
		return other
	}
	return *p
}

// Handover is the hand-over of a turn to another agent.
type Handover struct {
	From    Candidate `json:"from"`
	To      Candidate `json:"to"`
	Failure string    `json:"failure"` // why: quota or unavailable
	Message string    `json:"message"`
	ResetAt string    `json:"resetAt,omitempty"` // when the quota resets
	Event   Event     `json:"-"`                 // as it was recorded
}

// Candidate is an agent that a turn may be given to.
type Candidate struct {
	Index int    `json:"index"` // from 0
	Name  string `json:"name"`
	Model string `json:"model,omitempty"`
}

// Failure is a failure that was recorded, and that a replay repeats.
type Failure struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status,omitempty"` // that an ending has besides, such as 429
}

func (f *Failure) Error() string { return f.Message }

// Is is true of [context.Canceled] for a turn that was aborted.
func (f *Failure) Is(target error) bool { return f.Code == Aborted && target == context.Canceled }

// Changes are the commits that were made while a journal was recorded, the oldest first. Either Unavailable says why nobody knows them, or
// there is a Baseline.
type Changes struct {
	Baseline    *Revision `json:"baseline,omitempty"` // what they were made on
	Commits     []Commit  `json:"commits,omitzero"`   // none: nothing was committed
	Unavailable string    `json:"unavailable,omitempty"`
}

// Revision is a commit, and its tree.
type Revision struct {
	Commit string `json:"commit"`
	Tree   string `json:"tree"`
}

// Commit is a commit that can be made anew.
type Commit struct {
	OID       string   `json:"oid"`
	Tree      string   `json:"tree"`
	Author    Identity `json:"author"`
	Committer Identity `json:"committer"`
	Message   string   `json:"message"`       // all of it, with the white space at its end
	Patch     string   `json:"patch"`         // a git binary patch against the commit before it; "" changes nothing
	Raw       []byte   `json:"raw,omitempty"` // the commit object; nil: not recorded
}

// Identity is who made a commit, and when.
type Identity struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Date  string `json:"date"` // seconds since 1970 and the time zone, such as "1700000100 +0100"
}
