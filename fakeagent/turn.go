package fakeagent

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"hash/maphash"
	"log/slog"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// turn is a script that plays.
type turn struct {
	th     *thread
	n      int // from 1
	id     string
	input  TurnInput       // that plays: the prompt, or a steer that was awaited
	prompt TurnInput       // that the turn began with
	ctx    context.Context // ends when the turn is interrupted
	cancel context.CancelFunc

	ids       int // tool calls and messages so far
	tasks     int
	reasoning int // reasoning has no id in its JSON form, but needs one that keeps two steps apart
	branch    atomic.Pointer[branch]
	timer     *time.Timer // of the scripted waits, one after the other
	rand      *rand.Rand  // what Config.Seed varies is decided by; see random
	values    values

	report []string // lines of what came of calls and waits, which the turn says at its end

	// guarded by th.mu
	steerable bool
	steers    []string      // that it took
	awaits    bool          // what plays ends by awaiting a steer
	awaited   []TurnInput   // steers that are to be played, in order
	steered   chan struct{} // has room for one, and something in it when there is another
	goesOn    bool          // it waited for a steer in vain, and goes on without
	batch     *batch        // of the playbook, which is next; nil if something else is to be chosen
}

// branch is a list of steps that plays: the script's, or one inside a step.
type branch struct {
	outer *branch // the one that it is inside of
	steps []script.Step
	index atomic.Int64 // of the step that the turn is in
}

func (b *branch) step() script.Step { return b.steps[b.index.Load()] }

// errCanceled ends a turn that was interrupted.
var errCanceled = errors.New("canceled")

// failure ends a turn as failed.
type failure struct {
	message string
	code    int
}

func (f *failure) Error() string { return f.message }

func (t *turn) play() {
	defer t.cancel()
	var err error
	over := false
	defer func() { // also where a function of the test's panics, or ends the goroutine
		if !over {
			why := abandoned("Choose, Perform, Files, Shell, MCP or Spawn", "turn "+t.id, recover())
			t.th.in.violate("%s", why)
			why, _, _ = strings.Cut(why, "\n")
			err = &failure{message: "fake-agent: " + why}
		}
		t.end(err)
	}()
	pprof.SetGoroutineLabels(t.ctx)
	t.start()
	err = t.script()
	over = true
}

func (t *turn) start() {
	th := t.th
	th.mu.Lock()
	th.emitLocked(event.Event{TurnID: t.id, Payload: event.TurnStarted{}})
}

// end emits the terminal event. From then on the thread takes the next turn, or is closed if it was stopped.
func (t *turn) end(err error) {
	end := event.TurnCompleted{State: event.TurnEndCompleted}
	if f := (*failure)(nil); errors.As(err, &f) {
		end = event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: f.message, ErrorCode: f.code}
	} else if errors.Is(err, errCanceled) || t.ctx.Err() != nil {
		end.State = event.TurnEndInterrupted
	}
	t.debug("turn ended", "state", string(end.State))
	th := t.th
	th.mu.Lock()
	th.active = nil
	th.emitLocked(event.Event{TurnID: t.id, Payload: end})
	th.mu.Lock()
	last := th.leaveLocked()
	th.mu.Unlock()
	if last {
		th.exit()
	}
}

// script plays what there is for the prompt and, where that awaits steers, for each of them.
func (t *turn) script() error {
	var err error
	for more := true; more && err == nil; more = err == nil && t.next() {
		if err = t.pause(0); err == nil {
			err = t.part()
		}
	}
	if err != nil {
		t.loses()
	}
	t.sayReport()
	return err
}

// sayReport says what came of calls and waits, unless the turn was interrupted.
func (t *turn) sayReport() {
	if lines := t.report; len(lines) > 0 && t.ctx.Err() == nil {
		t.report = nil
		t.emit(t.nextID("a"), event.Delta{Stream: event.AssistantText, Text: strings.Join(lines, "\n")})
	}
}

// part plays what there is for one input.
func (t *turn) part() error {
	if play := t.th.in.role.play; play != nil {
		return play(t)
	}
	s, err := t.chosen()
	if f := (*failure)(nil); errors.As(err, &f) {
		return f
	} else if err != nil {
		return t.invalid(err)
	}
	t.debug("turn started", "steps", len(s.Steps))
	return t.steps(s.Steps, s.StepDelay)
}

// invalid is a script, or a step of one, that cannot be played.
func (t *turn) invalid(err error) error {
	where := ""
	if t.batch != nil {
		where = t.batch.where + ": "
	}
	return &failure{message: fmt.Sprintf("fake-agent: invalid script: %s%v", where, err)}
}

// chosen is what plays for the input.
func (t *turn) chosen() (script.Script, error) {
	th := t.th
	if t.batch != nil {
		return t.batch.Script, checkDetails(t.batch.Steps)
	}
	in := t.toChoose()
	s, err := th.in.role.choose(th, in)
	if err == nil {
		s, err = th.in.check(s, in.Prompt)
	}
	if err == nil {
		th.mu.Lock()
		t.await(&s)
		th.mu.Unlock()
	}
	return s, err
}

// toChoose is the input, for whoever decides what plays for it. Each time that it is asked counts as an attempt.
func (t *turn) toChoose() Input {
	th := t.th
	h := maphash.String(th.in.seed, t.input.Text)
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.attempts == nil {
		th.attempts = map[uint64]int{}
	}
	th.attempts[h]++
	return Input{
		ThreadID: th.id, Cwd: th.session.Cwd, Prompt: t.input.Text, Turn: t.n + th.steered, Attempt: th.attempts[h],
		Attachments: t.input.Attachments, Steer: t.input.TurnID != "",
	}
}

func (t *turn) steps(steps []script.Step, delay time.Duration) error {
	if len(steps) == 0 {
		return nil
	}
	outer := t.branch.Load()
	b := &branch{outer: outer, steps: steps}
	t.branch.Store(b)
	defer t.branch.Store(outer)
	for i, s := range steps {
		b.index.Store(int64(i))
		if delay > 0 {
			t.label("step " + strconv.Itoa(i+1) + " (" + s.Key() + ")") // not the step itself, which is dear to print where each step has a delay
		}
		if err := t.pause(delay); err != nil {
			return err
		}
		if err := t.step(s); err != nil {
			return err
		}
	}
	return nil
}

func (t *turn) step(s script.Step) error {
	switch s := s.(type) {
	case script.TemplateStep:
		return t.template(s)
	case script.SayStep:
		return t.text(s, event.AssistantText, t.nextID("a"))
	case script.ThinkStep:
		t.reasoning++
		return t.text(script.SayStep(s), event.ReasoningText, t.name("r", t.reasoning))
	case script.WriteStep:
		return t.write(s)
	case script.EditStep:
		return t.edit(s)
	case script.BashStep:
		return t.bash(s)
	case script.FailStep:
		return &failure{s.Message, s.Code}
	case script.SleepStep:
		defer t.takesSteers(s.Steers)()
		defer t.rests(s.Duration)()
		return t.pause(s.Duration)
	case script.HoldStep:
		defer t.takesSteers(s.Steers)()
		defer t.waits()()
		return t.th.in.Gate(t.th.id, s.Name).arrive(t.ctx, s.Open)
	case script.WaitStep:
		return t.waitStep(s)
	case script.WaitForStep:
		return t.waitFor(s)
	case script.AwaitSteerStep:
		return t.awaitSteer(s)
	case script.ExpectInputStep:
		return t.expectInput(s)
	case script.PlanStep:
		return t.plan(s)
	case script.ToolStep:
		return t.tool(s)
	case script.MCPStep:
		return t.mcp(s)
	case script.ApprovalStep:
		return t.approvals(s)
	case script.QuestionStep:
		return t.question(s)
	case script.TaskStep:
		return t.task(s)
	case script.EventStep:
		return t.event(s)
	case script.UsageStep:
		t.emit("", event.TokenUsageUpdated{Usage: event.TokenUsage(s)})
		return nil
	case script.ExitStep:
		return t.exit(event.ProcessExit(s))
	case script.StderrStep:
		return t.door(s, event.ProcessStderr(s))
	case script.RawStep:
		return t.door(s, event.ProcessRaw{Bytes: []byte(s.Text)})
	}
	return t.unplayable()
}

// doorSteps are the keys that [Config.DoorSteps] may have.
var doorSteps = []string{script.StderrStep{}.Key(), script.RawStep{}.Key()}

// door is a step that only a door can play.
func (t *turn) door(s script.Step, p event.Payload) error {
	if !slices.Contains(t.th.in.cfg.DoorSteps, s.Key()) {
		return t.unplayable()
	}
	t.emit("", p)
	return nil
}

func (t *turn) unplayable() error {
	return &failure{message: fmt.Sprintf("fake-agent: %s: not supported by this door", t.doing())}
}

// exit ends the turn, and behind it the session.
func (t *turn) exit(how event.ProcessExit) error {
	t.loses()
	t.sayReport() // who is dead says nothing
	t.emit("", how)
	t.th.mu.Lock()
	t.th.stopping, t.th.died = true, how.String()
	t.th.mu.Unlock()
	return &failure{message: how.String()}
}

func (t *turn) emit(itemID string, p event.Payload) {
	t.th.emit(event.Event{TurnID: t.id, ItemID: itemID, Payload: p})
}

// pause is a scripted wait. Also where nothing is waited for it notices an interrupt.
func (t *turn) pause(d time.Duration) error { return t.pauseFor(d, nil) }

// pauseFor is a pause that tells answers as they come.
func (t *turn) pauseFor(d time.Duration, answers <-chan *approval) error {
	d = t.scaled(d)
	if d > 0 {
		if t.timer == nil {
			t.timer = time.NewTimer(d)
		} else {
			t.timer.Reset(d)
		}
	}
	for d > 0 {
		select {
		case <-t.timer.C:
			d = 0
		case a := <-answers:
			t.resolved(a)
		case <-t.ctx.Done():
			t.timer.Stop()
			d = 0
		}
	}
	if t.ctx.Err() != nil {
		return errCanceled
	}
	return nil
}

// scaled is how long a scripted wait takes, by Seed, Speed and Instant. Seed comes first, so that a turn is cut in the same places at any
// speed.
func (t *turn) scaled(d time.Duration) time.Duration {
	if r := t.random(); r != nil && d > 0 {
		d = min(d, math.MaxInt64/2) // or a little more of it might be too much
		tenth := d / 10
		d += time.Duration(r.Int64N(int64(2*tenth+1))) - tenth // in whole numbers, which are the same on every machine
	}
	switch cfg := &t.th.in.cfg; {
	case cfg.Instant:
		return 0
	case cfg.Speed > 0:
		return time.Duration(min(float64(d)/cfg.Speed, math.MaxInt64/2))
	}
	return d
}

// random is where this turn's variety comes from; nil where there is none.
func (t *turn) random() *rand.Rand {
	if t.rand == nil && t.th.in.cfg.Seed != 0 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(t.id))
		t.rand = rand.New(rand.NewPCG(t.th.in.cfg.Seed, h.Sum64()))
	}
	return t.rand
}

// nextID is the next id of the count that tool calls and messages share.
func (t *turn) nextID(kind string) string {
	t.ids++
	return t.name(kind, t.ids)
}

func (t *turn) name(kind string, n int) string {
	b := make([]byte, 0, 24)
	b = append(append(b, kind...), '-')
	b = append(strconv.AppendInt(b, int64(t.n), 10), '-')
	return string(strconv.AppendInt(b, int64(n), 10))
}

func (t *turn) text(s script.SayStep, stream event.Stream, id string) error {
	if s.Chunks <= 1 {
		t.emit(id, event.Delta{Stream: stream, Text: s.Text})
		return nil
	}
	defer t.rests(s.Interval)()
	left := s.Text
	cut := cuts(script.Characters(s.Text), s.Chunks, t.random())
	it := graphemes.FromString(s.Text)
	for i := range s.Chunks {
		if i > 0 {
			if err := t.pause(s.Interval); err != nil {
				return err
			}
		}
		size := 0
		for range cut(i) {
			it.Next()
			size += len(it.Value())
		}
		t.emit(id, event.Delta{Stream: stream, Text: left[:size]})
		left = left[size:]
	}
	return nil
}

// cuts says how many of the characters chunk i has: as many as the others or, with a random source, any number from 1.
func cuts(chars, chunks int, r *rand.Rand) func(i int) int {
	if r == nil {
		return func(i int) int { return chars*(i+1)/chunks - chars*i/chunks }
	}
	// Of the places between two characters those that are left, and how many of them become borders. Every choice is as likely.
	places, borders := chars-1, chunks-1
	return func(int) int {
		n := 1
		for ; places > 0; n++ {
			border := r.IntN(places) < borders
			places--
			if border {
				borders--
				break
			}
		}
		return n
	}
}

func (t *turn) plan(s script.PlanStep) error {
	p := slices.Grow([]event.PlanStep(nil), len(s.Entries))
	for _, e := range s.Entries {
		status := e.Status
		switch status {
		case "":
			status = "pending"
		case "in_progress":
			status = string(event.InProgress)
		}
		p = append(p, event.PlanStep{Step: e.Text, Status: status, Priority: e.Priority})
	}
	t.emit("", event.PlanUpdated{Plan: p})
	return nil
}

// call is a tool call: a row in progress, what do does, and its end. do gets the item to complete it. Its error fails the call, not
// the turn.
func (t *turn) call(item event.Item, do func(*event.Item) error) error {
	id := t.nextID("t")
	item.Status = event.InProgress
	t.emit(id, event.ItemStarted{Item: item})
	item.Status = event.Completed
	if err := do(&item); err != nil {
		item.Status, item.Error = event.Failed, err.Error()
		t.values.err = item.Error
	}
	t.emit(id, event.ItemCompleted{Item: item})
	return t.pause(0)
}

func (t *turn) tool(s script.ToolStep) error {
	detail := t.th.in.claimed(s.Detail, s.Input, nil)
	item := event.Item{ItemType: event.DynamicToolCall, Title: s.Name, Data: detail}
	return t.call(item, func(item *event.Item) error {
		defer t.rests(s.Hold)()
		if err := t.pause(s.Hold); err != nil {
			return err
		}
		if s.Detail == nil {
			item.Data = timeline.Unknown{Input: s.Input, Output: s.Output}
		}
		switch {
		case s.Error != "":
			return errors.New(s.Error)
		case s.Status == "failed":
			return errors.New("failed")
		}
		return nil
	})
}

// claimed is the detail of a call that only a script knows. It was checked by checkDetails.
func (in *Instance) claimed(detail, input, output []byte) timeline.Detail {
	if detail == nil {
		return timeline.Unknown{Input: input, Output: output}
	}
	c := &in.checked
	c.mu.Lock()
	d := c.details[&detail[0]]
	c.mu.Unlock()
	if d != nil {
		return d
	}
	d, err := timeline.DecodeDetail(detail)
	if err != nil {
		return timeline.Unknown{Input: detail}
	}
	return d
}

// checked are the scripts of [Config.Choose] that were found right, by where their steps are. Most are played again and again.
type checked struct {
	mu      sync.Mutex
	scripts map[*script.Step]known
	details map[*byte]timeline.Detail // of these scripts, by where their JSON is; those that share nothing with whoever gets them
}

// size is all that a script has besides its steps.
type size struct {
	steps int
	delay time.Duration
}

// mostChecked is how many are remembered. Who makes a new one for each turn has no use for it.
const mostChecked = 100

// known is a script that was found right, by what it was when it came.
type known struct {
	size
	script.Script
}

// check holds a script to the rules of JSON, if no JSON was parsed for it, and to those of the timeline. What it returns is the script to play,
// with placeholders where it is not the prompt's own.
func (in *Instance) check(s script.Script, prompt string) (script.Script, error) {
	if in.cfg.Choose == nil && in.cfg.Perform == nil {
		return s, checkDetails(s.Steps)
	} else if len(s.Steps) == 0 {
		return s, s.Validate()
	}
	c, at, all := &in.checked, &s.Steps[0], size{len(s.Steps), s.StepDelay}
	c.mu.Lock()
	right := c.scripts[at]
	c.mu.Unlock()
	if right.size == all {
		return right.Script, nil
	}
	chosen := s
	s, err := s.Templates()
	if err != nil {
		return s, err
	}
	if &s.Steps[0] != at {
		if own, ok, _ := script.FromPrompt(prompt); ok && reflect.DeepEqual(own, chosen) {
			s = chosen
		}
	}
	if err := checkDetails(s.Steps); err != nil {
		return s, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.scripts == nil || len(c.scripts) >= mostChecked {
		c.scripts, c.details = map[*script.Step]known{}, map[*byte]timeline.Detail{}
	}
	c.scripts[at] = known{all, s}
	for _, step := range s.Steps {
		if call, ok := step.(script.ToolStep); ok && call.Detail != nil {
			switch d, _ := timeline.DecodeDetail(call.Detail); d.(type) {
			case timeline.Shell, timeline.Read, timeline.Write, timeline.Edit:
				c.details[&call.Detail[0]] = d
			}
		}
	}
	return s, nil
}

// checkDetails is what package script cannot check, since it does not know the timeline.
func checkDetails(steps []script.Step) error {
	for i, s := range steps {
		if err := checkDetail(s); err != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, s.Key(), err)
		}
	}
	return nil
}

func checkDetail(s script.Step) error {
	decodes := func(detail []byte) error {
		if detail == nil {
			return nil
		}
		_, err := timeline.DecodeDetail(detail)
		return err
	}
	switch s := s.(type) {
	case script.ToolStep:
		return decodes(s.Detail)
	case script.ApprovalStep:
		for _, a := range s.Approvals {
			if a.Tool != nil {
				if err := decodes(a.Tool.Detail); err != nil {
					return err
				}
			}
		}
	case script.EventStep:
		if _, err := eventOf(s); err != nil {
			return err
		}
	}
	for _, branch := range script.Branches(s) {
		if err := checkDetails(branch); err != nil {
			return err
		}
	}
	return nil
}

// doing says which step the turn is in.
func (t *turn) doing() string {
	b := t.branch.Load()
	if b == nil {
		if t.th.in.cfg.Perform != nil {
			return "Config.Perform"
		}
		return "the choice of its script"
	}
	s := strings.TrimSuffix(strings.TrimPrefix(script.New(b.step()).String(), `{"steps":[`), "]}")
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "…"
	}
	s = fmt.Sprintf("step %d %s", b.index.Load()+1, s)
	if o := b.outer; o != nil {
		return fmt.Sprintf("step %d (%s), its %s", o.index.Load()+1, o.step().Key(), s)
	}
	return s
}

// Labels of the goroutines that wait, for profiles, and for who finds out why nothing moves any more: what it does, in words for people, and
// what it waits for outside of this process.
const (
	doingLabel    = "understudy.doing"
	externalLabel = "understudy.external"
)

// label labels this goroutine with what the turn does.
func (t *turn) label(doing string, more ...string) {
	pprof.SetGoroutineLabels(pprof.WithLabels(t.ctx, pprof.Labels(append(more, doingLabel, t.id+" is in "+doing)...)))
}

// rests is waits for a scripted wait, unless that takes no time.
func (t *turn) rests(d time.Duration) (over func()) {
	if d <= 0 || t.th.in.cfg.Instant {
		return func() {}
	}
	return t.waits()
}

// waits labels this goroutine with the step that it waits in, until over is called.
func (t *turn) waits(more ...string) (over func()) {
	t.label(t.doing(), more...)
	return func() { pprof.SetGoroutineLabels(t.ctx) }
}

// heldAt is the gate that the turn is held at, or "".
func (t *turn) heldAt() string {
	if b := t.branch.Load(); b != nil {
		if h, ok := b.step().(script.HoldStep); ok && t.th.in.Gate(t.th.id, h.Name).held() {
			return h.Name
		}
	}
	return ""
}

func (t *turn) debug(msg string, args ...any) {
	if log := t.th.in.cfg.Logger; log != nil && log.Enabled(t.ctx, slog.LevelDebug) {
		log.DebugContext(t.ctx, msg, append([]any{"thread", t.th.id, "turn", t.id}, args...)...)
	}
}
