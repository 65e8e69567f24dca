package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Request is a turn that a host wants to have played.
type Request struct {
	Prompt       string
	Cwd          string            // the workspace, absolute: the root of a git work tree; "" where there is none
	Continuation Continuation      // of what it is the next turn
	Fork         bool              // of a copy of the conversation
	Pass         int               // which the events bear; 0 is none
	Env          map[string]string // of the commands that are run for the agent
	ProviderEnv  map[string]string // what the provider of the workspace has set there already
	Transcript   string            // of the conversation, where the host has captured it; see [Features]
	Verbose      bool              // the requests and responses of decisions are told, too
	Observe      func(Observation) // is called with everything that is played, in order; may be nil
}

// Continuation is whether a turn goes on with a conversation.
type Continuation int

const (
	Begin Continuation = iota // a conversation of its own
	Warm                      // the one before, in the same session
	Cold                      // the one before, in a session that is restored from storage
)

// Observation is something that is played.
type Observation struct {
	At       time.Time // now
	Source   Source    // who was observed when it was recorded; decision for a decision of the host
	Pass     int
	Subagent string // whose decision it was; "" is the agent itself
	Event    Event
}

// Played is what came of a turn.
type Played struct {
	Text         string
	Usage        Usage
	Status       int // the exit code of an agent that is a process: 0
	Duration     time.Duration
	Conversation string   // what the agent calls it; "" is none
	Interrupted  string   // "steering" where the user's instructions interrupted it; else ""
	Commits      []string // the ids of those that were made, the oldest first
}

// Play plays a turn, and those that go on with it since the user had steered it, as they were recorded: each is told as the steer that it was. What
// comes back is the last one's, but for the usage and the commits, which are those of all.
func (a *Agent) Play(ctx context.Context, r Request) (Played, error) {
	return a.play(ctx, r, &observer{r, a.source}, true)
}

// PlayTurn plays one turn, and where it was handed over to other agents, theirs. A host that steers by itself asks [Agent.PendingSteering]
// afterwards.
//
// The error is a [*Divergence]; a [*Failure] that was recorded, which comes after all that was done before it; or an [*Error]: of the code
// [Configuration] before anything was played, such as while another turn is; [Process] where a command failed, [Aborted] where ctx has ended. A turn
// that was taken stays taken.
func (a *Agent) PlayTurn(ctx context.Context, r Request) (Played, error) {
	return a.play(ctx, r, &observer{r, a.source}, false)
}

// audience hears what is played.
type audience interface {
	hear(e Event) error
	decided(d Decision) error
	warn(err error) error
	pause(ctx context.Context, d time.Duration) error
}

// play plays a turn, and those that resume it if they are wanted.
func (a *Agent) play(ctx context.Context, r Request, to audience, resumptions bool) (Played, error) {
	if !a.begins() {
		return Played{}, configuration("another turn of this journal is played; turns are played one after the other, so wait for its end")
	}
	defer a.ends()
	began := time.Now()
	all, err := a.playTurn(ctx, r, to)
	for err == nil && resumptions {
		steers := a.PendingSteering()
		if steers == nil {
			break
		}
		for _, text := range steers {
			if err := to.hear(newEvent("steer", map[string]any{"text": text, "mode": resumed})); err != nil {
				return all, err
			}
		}
		r.Prompt, r.Continuation, r.Fork = strings.Join(steers, "\n\n"), Warm, false
		var next Played
		next, err = a.playTurn(ctx, r, to)
		next.Usage, next.Commits = all.Usage.plus(next.Usage), slices.Concat(all.Commits, next.Commits)
		if next.Conversation == "" {
			next.Conversation = all.Conversation
		}
		all = next
	}
	if played := err == nil || errors.As(err, new(*Failure)); played && r.Transcript != "" { // which is that of the whole
		all.Usage = a.features.TurnUsage(&all.Usage, r.Transcript)
	}
	all.Duration = time.Since(began)
	return all, err
}

func (a *Agent) begins() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	began := !a.playing
	a.playing = true
	return began
}

func (a *Agent) ends() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.playing = false
}

func (a *Agent) playTurn(ctx context.Context, r Request, to audience) (out Played, err error) {
	env, err := a.admit(r)
	if err != nil {
		return out, err
	}
	for first := true; ; first = false {
		if ctx.Err() != nil {
			return out, aborted(ctx)
		}
		t, number, ok := a.take()
		if !ok {
			return out, a.diverged(&Divergence{Kind: KindExhausted, Turn: number, Hard: true}, to)
		}
		if first {
			if err := a.compare(ctx, t, number, r, to); err != nil {
				return out, err
			}
		}
		if err := a.events(ctx, t, r, to); err != nil {
			return out, err
		}
		commits, err := a.commits(ctx, t, number, r.Cwd, env, to)
		out.Commits = append(out.Commits, commits...)
		out.Usage, out.Conversation = out.Usage.plus(a.usage(t)), t.Conversation
		switch {
		case err != nil:
			return out, err
		case ctx.Err() != nil:
			return out, aborted(ctx)
		case t.Handover == nil:
			return a.ended(t, out)
		}
		if err := to.hear(t.Handover.Event); err != nil {
			return out, err
		}
	}
}

// usage is that of a turn.
func (a *Agent) usage(t *Turn) Usage {
	if !t.Metered {
		return a.features.TurnUsage(nil, "")
	}
	return a.features.TurnUsage(&t.Usage, "")
}

// admit refuses what the agent cannot do. It returns the environment of its commands.
func (a *Agent) admit(r Request) (env map[string]string, err error) {
	switch {
	case r.Cwd != "" && !filepath.IsAbs(r.Cwd) && !path.IsAbs(r.Cwd):
		err = configuration("the Cwd of a request is %.60q, which is not absolute", r.Cwd)
	case r.Fork:
		err = a.features.CheckFork()
	}
	if err == nil && r.Continuation != Begin {
		err = a.features.CheckContinuation(r.Continuation == Cold)
	}
	if err != nil {
		return nil, err
	}
	return a.features.MergeEnv(r.Env, r.ProviderEnv)
}

// ended is what comes of a turn after all that it did.
func (a *Agent) ended(t *Turn, out Played) (Played, error) {
	out.Text = t.Text
	if t.Interrupted {
		out.Interrupted = "steering"
	}
	if t.Failure != nil {
		failure := *t.Failure
		return out, &failure
	}
	if t.Interrupted { // and so it never came to its end
		return out, nil
	}
	return out, a.features.Finished(t.Events, out.Status)
}

// compare holds a prompt against the recorded one. A turn that goes on with another one may be asked for by the user's instructions, too, which is
// what a host has that steers.
func (a *Agent) compare(ctx context.Context, t *Turn, number int, r Request, to audience) error {
	if t.ResumedBy != nil && r.Prompt == strings.Join(t.ResumedBy, "\n\n") {
		return nil
	}
	live := side{cwd: r.Cwd}
	if r.Cwd != "" && slices.Contains(a.rules, Branches) {
		live.branch = newGit(a.workspace.runner, r.Cwd, r.Env).branch(ctx)
	}
	if d := promptDivergence(number, t.Prompt, r.Prompt, a.rules, side{a.cwd, a.branch}, live, a.redact); d != nil {
		return a.diverged(d, to)
	}
	return nil
}

// diverged is what comes of a divergence: nil where it goes on.
func (a *Agent) diverged(d *Divergence, to audience) error {
	a.note(func(r *Report) { r.Divergences = append(r.Divergences, d) })
	if a.policy == Fail || d.Hard {
		return d
	}
	return a.warns(d, to)
}

func (a *Agent) warns(err error, to audience) error {
	if !errors.As(err, new(*Divergence)) {
		a.note(func(r *Report) { r.Warnings = append(r.Warnings, err.Error()) })
	}
	if a.warned != nil {
		a.warned(err)
	}
	return to.warn(err)
}

// events plays those of a turn, with the decisions between them.
func (a *Agent) events(ctx context.Context, t *Turn, r Request, to audience) error {
	decisions, last := t.Decisions, t.Began
	for i := 0; ; i++ {
		for ; len(decisions) > 0 && decisions[0].Before <= i; decisions = decisions[1:] {
			if err := to.decided(decisions[0]); err != nil {
				return err
			}
		}
		if i == len(t.Events) {
			return nil
		}
		e := t.Events[i]
		if a.speed > 0 && !e.at.IsZero() {
			if !last.IsZero() && e.at.After(last) {
				if err := to.pause(ctx, time.Duration(float64(e.at.Sub(last))/a.speed)); err != nil {
					return err
				}
			}
			last = e.at
		}
		if ctx.Err() != nil {
			return aborted(ctx)
		}
		if err := to.hear(e); err != nil {
			return err
		}
	}
}

// commits makes those of a turn.
func (a *Agent) commits(ctx context.Context, t *Turn, number int, dir string, env map[string]string, to audience) ([]string, error) {
	switch {
	case ctx.Err() != nil:
		return nil, aborted(ctx)
	case t.Changes == nil, a.noWorkspace:
		return nil, nil
	case t.Changes.Unavailable != "":
		return nil, a.diverged(&Divergence{Kind: KindUnrecorded, Turn: number, Expected: t.Changes.Unavailable}, to)
	case dir == "":
		return nil, configuration("turn %d has commits, and there is no folder to make them in; give the request or the session a Cwd, or leave them out by WithoutWorkspace", number)
	}
	w := a.workspace
	w.dir, w.env = dir, env
	made, err := w.rebuild(ctx, t.Changes, func(d *Divergence) error {
		d.Turn = number
		return a.diverged(d, to)
	}, func(warning string) { _ = a.warns(errors.New(warning), to) })
	a.note(func(r *Report) { r.Commits = append(r.Commits, made...) })
	return made, err
}

// aborted is a turn whose context has ended.
func aborted(ctx context.Context) error {
	return newError(Aborted, fmt.Errorf("the turn was aborted: %w", context.Cause(ctx)))
}

// newEvent is an event that the journal does not have as it is.
func newEvent(kind string, fields map[string]any) Event {
	fields["kind"] = kind
	raw, _ := json.Marshal(fields) // of texts and numbers
	return Event{kind: kind, raw: string(raw)}
}

// observer is the audience of a host that runs turns by itself.
type observer struct {
	Request
	source Source
}

func (o *observer) hear(e Event) error {
	o.tell(Observation{Source: o.source, Event: e})
	return nil
}

func (o *observer) tell(seen Observation) {
	if o.Observe != nil {
		seen.At, seen.Pass = time.Now(), o.Pass
		o.Observe(seen)
	}
}

func (o *observer) decided(d Decision) error {
	if o.Verbose || d.Event.kind == "decision" {
		o.tell(Observation{Source: sourceDecision, Subagent: d.Subagent, Event: d.Event})
	}
	return nil
}

func (*observer) warn(error) error { return nil }

func (*observer) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return aborted(ctx)
	}
}
