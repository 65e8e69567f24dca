package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// ErrOwned is a thread that wants to play a journal which another one plays.
var ErrOwned = errors.New("the journal belongs to another thread")

// Config is for whatever takes an agent by its configuration, such as a mock process: mockproc.WithAgent(a.Config()). All instances that are made
// of it play the one journal. What one needs besides may be added to it, such as a Logger.
func (a *Agent) Config() fakeagent.Config {
	return fakeagent.Config{
		Perform: a.perform,
		Probe:   fakeagent.Probe{ID: a.Name(), Label: "Replay", Models: []fakeagent.Model{{ID: a.Name(), Label: "Recorded", Default: true}}},
	}
}

// StartSession opens a thread. The first one plays the journal, all its life; for any other one the error is [ErrOwned].
func (a *Agent) StartSession(ctx context.Context, s fakeagent.SessionConfig) error {
	again := a.belongsTo(s.ThreadID)
	if err := a.own(s.ThreadID); err != nil {
		return err
	}
	err := a.Instance.StartSession(ctx, s)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil && again:
		a.reopened = true
	case err != nil && !again:
		a.owner = "" // who could not be opened owns nothing
	}
	return err
}

func (a *Agent) belongsTo(thread string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return thread != "" && a.owner == thread
}

// own gives the journal to a thread, if nobody has it.
func (a *Agent) own(thread string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.owner == "" {
		a.owner = thread
	}
	if a.owner != thread {
		return fmt.Errorf("replay: %w: it is played by thread %q, and a journal has one; make another agent for thread %q", ErrOwned, a.owner, thread)
	}
	return nil
}

// perform plays what is next for a turn of a provider.
func (a *Agent) perform(ctx context.Context, p *fakeagent.Performance) error {
	if err := a.own(p.ThreadID); err != nil {
		return err
	}
	r := Request{Prompt: p.Prompt, Cwd: p.Cwd, Env: p.Session.Env}
	a.mu.Lock()
	if a.at > 0 {
		r.Continuation = Warm
		if a.reopened {
			r.Continuation = Cold
		}
	}
	a.reopened = false
	a.mu.Unlock()
	s := &stage{a: a, p: p}
	_, err := a.play(ctx, r, s, true)
	if f := (*Failure)(nil); errors.As(err, &f) && f.Code != Aborted {
		return p.Play(script.FailStep{Message: f.Message, Code: f.Status})
	}
	if err != nil {
		return err
	}
	return s.settle()
}

// stage is the audience of a provider: it makes the provider's events of those of the journal.
type stage struct {
	a *Agent
	p *fakeagent.Performance

	count   int    // of messages and calls
	message string // the id of the one whose pieces come; "" is none
	thought string // likewise
	open    []call // the calls that run, in order

	text  []byte // memory for the next two, which a turn of many calls would else have to get for each
	entry object // the event that is heard
}

// call is a tool call that runs.
type call struct {
	recorded string // the id that the journal has
	id, name string
	input    json.RawMessage
}

func (s *stage) pause(_ context.Context, d time.Duration) error {
	if d = d.Round(time.Millisecond); d <= 0 {
		return nil
	}
	return s.p.Play(script.Sleep(d))
}

func (s *stage) decided(d Decision) error { return s.drop(d.Event.kind) }

func (s *stage) warn(err error) error {
	text, jsonErr := json.Marshal(map[string]string{"message": err.Error()})
	if jsonErr != nil {
		return jsonErr
	}
	return s.emit("", event.Raw{Name: "runtime.warning", JSON: text})
}

func (s *stage) drop(kind string) error {
	s.a.note(func(r *Report) {
		if r.Dropped == nil {
			r.Dropped = map[string]int{}
		}
		r.Dropped[kind]++
	})
	return nil
}

func (s *stage) emit(id string, p event.Payload) error {
	return s.p.Emit(event.Event{ItemID: id, Payload: p})
}

func (s *stage) id(kind string) string {
	s.count++
	return fmt.Sprintf("%s-%d-%d", kind, s.p.Turn, s.count)
}

func (s *stage) hear(e Event) error {
	if !slices.Contains(beside, e.kind) {
		s.message, s.thought = "", ""
	}
	if e.executor != "" {
		return s.again(e)
	}
	switch e.kind {
	case "text-delta":
		return s.say(e, false)
	case "text":
		return s.say(e, true)
	case "reasoning":
		s.message = ""
		if s.thought == "" || e.item != "" {
			s.thought = s.idOf(e, "r")
		}
		return s.piece(s.thought, event.ReasoningText, e.text)
	case "tool":
		return s.begins(s.read(e))
	case "tool-result":
		return s.ends(s.read(e))
	case "usage":
		return s.uses(s.read(e))
	case "fallback":
		if err := s.settle(); err != nil {
			return err
		}
		return s.reroutes(readHandover(s.read(e)))
	case "steer":
		if o := s.read(e); o.str("mode") == resumed {
			return errors.Join(s.drop(e.kind), s.settle())
		}
	}
	return s.drop(e.kind)
}

// beside are the kinds that may come between the pieces of a message, and those of the pieces themselves. Others end it.
var beside = []string{"text-delta", "text", "reasoning", "raw", "usage", "message-usage", "stderr", "tool-output", "quota", "model-request", "model-response"}

// say is a piece of a message, or all of one; a whole one that came in pieces adds nothing.
func (s *stage) say(e Event, whole bool) error {
	s.thought = ""
	began := s.message != "" && (e.item == "" || e.item == s.message)
	if !began {
		s.message = s.idOf(e, "a")
	}
	id := s.message
	if whole {
		s.message = ""
		if began {
			return nil
		}
	}
	return s.piece(id, event.AssistantText, e.text)
}

// piece emits text, if there is any.
func (s *stage) piece(id string, stream event.Stream, text string) error {
	if text == "" {
		return nil
	}
	return s.emit(id, event.Delta{Stream: stream, Text: text})
}

// idOf is the id that a message had, or else a new one.
func (s *stage) idOf(e Event, kind string) string {
	if e.item != "" {
		return e.item
	}
	return s.id(kind)
}

// read is the entry of an event, until the next one is read.
func (s *stage) read(e Event) *object {
	s.text = append(s.text[:0], e.raw...)
	s.entry.read(s.text)
	return &s.entry
}

func (s *stage) begins(o *object) error {
	c := call{recorded: o.str("callId"), name: o.str("name"), input: bytes.Clone(o.get("input"))}
	if c.id = s.a.unused(c.recorded); c.id == "" {
		c.id = s.id("t")
	}
	s.open = append(s.open, c)
	return s.emit(c.id, event.ItemStarted{Item: c.item(event.InProgress)})
}

// unused is the id of a call, with a number behind it if there was one of that id before: to a provider's host an id is one call for ever.
func (a *Agent) unused(id string) string {
	if id == "" {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ids == nil {
		a.ids = map[string]int{}
	}
	n := a.ids[id]
	if n == 0 {
		a.ids[id] = 1
		return id
	}
	free := id
	for a.ids[free] > 0 {
		n++
		free = id + "-" + strconv.Itoa(n)
	}
	a.ids[id], a.ids[free] = n, 1
	return free
}

// ends ends the newest call of an id, or one that nobody has seen begin.
func (s *stage) ends(o *object) error {
	id, at := o.str("callId"), len(s.open)-1
	for at >= 0 && s.open[at].recorded != id {
		at--
	}
	if at < 0 {
		if err := s.begins(o); err != nil {
			return err
		}
		at = len(s.open) - 1
	}
	c := s.open[at]
	s.open = slices.Delete(s.open, at, at+1)
	item := c.item(event.Completed)
	item.Data = timeline.Unknown{Input: c.input, Output: bytes.Clone(o.get("preview"))}
	if o.flag("isError") {
		item.Status, item.Error = event.Failed, o.str("preview")
	}
	return s.emit(c.id, event.ItemCompleted{Item: item})
}

// settle ends the calls that the turn has left open, since no turn of a provider leaves any.
func (s *stage) settle() error {
	for ; len(s.open) > 0; s.open = s.open[1:] {
		c := s.open[0]
		item := c.item(event.Failed)
		item.Error = "the journal has no result of this call"
		if err := s.emit(c.id, event.ItemCompleted{Item: item}); err != nil {
			return err
		}
	}
	return nil
}

func (c call) item(status event.ItemStatus) event.Item {
	return event.Item{ItemType: event.DynamicToolCall, Status: status, Title: c.name, Data: timeline.Unknown{Input: c.input}}
}

func (s *stage) uses(o *object) error {
	last := readUsage(o.get("tokens"))
	s.a.mu.Lock()
	if o.flag("cumulative") {
		last = last.minus(s.a.told)
	}
	s.a.told = s.a.told.plus(last)
	all := s.a.told
	s.a.mu.Unlock()
	return s.emit("", event.TokenUsageUpdated{Usage: event.TokenUsage{
		UsedTokens: int(last.Input + last.Output), TotalProcessedTokens: int(all.Input + all.Output),
		InputTokens: int(all.Input), CachedInputTokens: int(all.Cached), OutputTokens: int(all.Output),
		LastUsedTokens: int(last.Input + last.Output), LastInputTokens: int(last.Input), LastCachedInputTokens: int(last.Cached), LastOutputTokens: int(last.Output),
	}})
}

func (s *stage) reroutes(h *Handover) error {
	text, err := json.Marshal(map[string]string{"fromModel": h.From.model(), "toModel": h.To.model(), "reason": h.Message})
	if err != nil {
		return err
	}
	return s.emit("", event.Raw{Name: "model.rerouted", JSON: text})
}

// model is what a candidate's model is called, or else the candidate.
func (c Candidate) model() string {
	if c.Model != "" {
		return c.Model
	}
	return c.Name
}

// again is an executor event that was recorded as it was.
func (s *stage) again(e Event) error {
	var again event.Event
	if err := again.UnmarshalJSON([]byte(e.executor)); err != nil {
		return configuration("the journal has a %q with an event that is none of a provider: %w", e.kind, err)
	}
	if event.IsLifecycle(again) {
		return s.drop(again.Payload.Type())
	}
	return s.p.Emit(again)
}
