package fakeagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
)

// ReplayDefault are the types of events that the script replay plays where [Config.ReplayAllow] does not say: those of what happens inside a
// turn. One that ends in .* is every type that begins so. An event that is [event.IsLifecycle] is not played, whatever is allowed: a recording
// cannot end the turn that plays it.
func ReplayDefault() []string {
	return []string{
		"item.*", "content.delta", "turn.plan.updated", "turn.proposed.*", "turn.diff.updated", "task.*", "request.*", "user-input.*",
		"hook.*", "tool.*", "thread.token-usage.updated", "account.rate-limits.updated", "model.rerouted", "files.persisted", "runtime.warning",
	}
}

// replay plays a recording instead of a script.
func (t *turn) replay() error {
	cfg := &t.th.in.cfg
	all, err := cfg.recording()
	if err != nil {
		return &failure{message: "replay: " + err.Error()}
	}
	p := replaying{t: t, ids: idsOf(all)}
	kept := slices.DeleteFunc(all, func(r recorded) bool { return !cfg.replays(r.typ) })
	t.debug("turn started", "events", len(kept))
	if err := p.play(kept, milliseconds(cfg.number("replayStepMs")), milliseconds(cfg.number("replayTaskHoldMs"))); err != nil {
		p.begun.settle(t.th)
		return err
	}
	return nil
}

// replays is whether events of a type are played.
func (c *Config) replays(typ string) bool {
	if event.IsLifecycle(event.Event{Payload: event.Raw{Name: typ}}) {
		return false
	}
	allow := c.ReplayAllow
	if allow == nil {
		allow = ReplayDefault()
	}
	return slices.ContainsFunc(allow, func(a string) bool {
		return a == typ || strings.HasSuffix(a, ".*") && strings.HasPrefix(typ, strings.TrimSuffix(a, "*"))
	})
}

// milliseconds is so much, or as much as there is room for.
func milliseconds(n int) time.Duration {
	return time.Duration(min(int64(n), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// replaying is a recording that plays.
type replaying struct {
	t     *turn
	ids   map[string]string // those of the recording, and the new one that each has, "" until it is wanted
	count int               // of the new ones
	begun begun
}

// play plays events, a step apart. After each that starts a task it holds.
func (p *replaying) play(events []recorded, step, hold time.Duration) error {
	if len(events) == 0 {
		return nil
	}
	b := &branch{steps: make([]script.Step, len(events))} // for whoever asks what the turn does
	for i, r := range events {
		b.steps[i] = script.EventStep{Type: r.typ, ItemID: r.itemID, RequestID: r.requestID, Payload: r.payload}
	}
	p.t.branch.Store(b)
	defer pprof.SetGoroutineLabels(p.t.ctx)
	for i, r := range events {
		b.index.Store(int64(i))
		var before, after time.Duration
		if i > 0 {
			before = step
		}
		if r.typ == (event.TaskStarted{}).Type() {
			after = hold
		}
		if err := p.rest(before, i, r.typ); err != nil {
			return err
		}
		e := p.event(r)
		p.t.th.emit(e)
		p.begun.note(e)
		if err := p.rest(after, i, r.typ); err != nil {
			return err
		}
	}
	return nil
}

// rest is a pause that says where it is. It too notices an interrupt where nothing is waited for.
func (p *replaying) rest(d time.Duration, i int, typ string) error {
	if d > 0 && !p.t.th.in.cfg.Instant {
		p.t.label("step " + strconv.Itoa(i+1) + " (event " + typ + ")") // not the event itself, which may be large
	}
	return p.t.pause(d)
}

// event is what is played for a recorded one.
func (p *replaying) event(r recorded) event.Event {
	itemID, requestID := p.fresh(r.itemID), p.fresh(r.requestID)
	payload, refs := p.rewritten(r.payload), p.rewritten(r.refs)
	var e event.Event
	if err := e.UnmarshalJSON([]byte(asJSON(map[string]any{"type": r.typ, "payload": payload, "providerRefs": refs}))); err != nil {
		// Nothing in it is lost, but nobody can take it for what its type promises.
		e.Payload = event.Raw{Name: r.typ, JSON: payload}
		if refs != nil {
			e.Recorded = &event.Recorded{ProviderRefs: refs}
		}
	}
	e.TurnID, e.ItemID, e.RequestID = p.t.id, itemID, requestID
	return e
}

// fresh is the new id for a text that is an id of the recording, and any other text as it is.
func (p *replaying) fresh(text string) string {
	id, ok := p.ids[text]
	if !ok {
		return text
	}
	if id == "" {
		p.count++
		id = p.t.name("replay", p.count)
		p.ids[text] = id
	}
	return id
}

// rewritten is JSON with the new ids, without what is undefined, and without white space.
func (p *replaying) rewritten(v json.RawMessage) json.RawMessage { return defined(v, p.fresh) }

// recording reads what is to be played. Nothing of it is kept from one turn to the next.
func (c *Config) recording() ([]recorded, error) {
	for _, key := range []string{"replayStepMs", "replayTaskHoldMs"} {
		if n := c.number(key); n < 0 {
			return nil, fmt.Errorf("%s is %d; use 0 or more", key, n)
		}
	}
	path := c.ReplayEventsPath
	if path == "" {
		return nil, errors.New("replayEventsPath is empty; give the absolute path of a file of recorded events")
	} else if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("replayEventsPath %q is relative; give an absolute path", path)
	}
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w; replayEventsPath must be a file of recorded events that the agent can read", err)
	}
	events, err := parseRecording(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return events, nil
}

// readFile reads a file that ends: no pipe that somebody may write to some day.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// idsOf are the ids of a recording: those of its envelopes, and those that payloads, or the data of an item, have under their names.
func idsOf(all []recorded) map[string]string {
	ids := map[string]string{}
	add := func(id string) {
		if id != "" {
			ids[id] = ""
		}
	}
	var named func(json.RawMessage)
	named = func(v json.RawMessage) {
		for m := range members(v) {
			switch m.key {
			case "itemId", "requestId", "taskId", "toolUseId":
				var id string
				_ = json.Unmarshal(m.value, &id) // what is no text is no id
				add(id)
			case "data":
				if kind(m.value) == '{' {
					named(m.value)
				}
			}
		}
	}
	for _, r := range all {
		add(r.itemID)
		add(r.requestID)
		named(r.payload)
	}
	return ids
}
