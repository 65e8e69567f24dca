package fakeagent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// steer takes an input into the turn that runs. th.mu is locked.
func (th *thread) steer(in TurnInput) (turnID string, err error) {
	t := th.active
	switch {
	case t == nil || t.id != in.TurnID:
		return "", Rejected(fmt.Errorf("agent %s %w: turn %s does not run", th.id, ErrNotSteered, in.TurnID))
	case !t.awaits && !t.steerable || t.ctx.Err() != nil: // what an interrupted turn took nobody would read
		return "", Rejected(fmt.Errorf("agent %s %w: turn %s is in %s", th.id, ErrNotSteered, t.id, t.doing()))
	}
	in.Attachments = slices.Clone(in.Attachments)
	t.steers = append(t.steers, in.Text)
	th.record.says(t.id, in.Text)
	if t.awaits {
		t.awaited = append(t.awaited, in)
		select {
		case t.steered <- struct{}{}:
		default:
		}
	}
	return t.id, nil
}

// takesSteers lets the turn be steered until over is called.
func (t *turn) takesSteers(takes bool) (over func()) {
	if !takes {
		return func() {}
	}
	set := func(to bool) {
		t.th.mu.Lock()
		defer t.th.mu.Unlock()
		t.steerable = to
	}
	set(true)
	return func() { set(false) }
}

// await lets the turn be steered while a script plays that ends by awaiting it. th.mu is locked.
func (t *turn) await(s *script.Script) {
	t.awaits = s != nil && len(s.Steps) > 0 && s.Steps[len(s.Steps)-1].Key() == (script.AwaitSteerStep{}).Key()
	if t.awaits && t.steered == nil {
		t.steered = make(chan struct{}, 1)
	}
}

// awaitSteer waits until there is one, which may have come before.
func (t *turn) awaitSteer(s script.AwaitSteerStep) error {
	defer t.waits()()
	over := time.NewTimer(cmp.Or(s.Timeout, script.SteerTimeout))
	defer over.Stop()
	for timedOut := false; ; {
		if t.ctx.Err() != nil {
			return errCanceled
		}
		if t.hasSteer(timedOut, s.Continue) || timedOut {
			return nil
		}
		select {
		case <-t.steered:
		case <-over.C:
			timedOut = true
		case <-t.ctx.Done():
		}
	}
}

// hasSteer is whether there is one to play. When the time for it is over none is taken any more.
func (t *turn) hasSteer(timedOut, goesOn bool) bool {
	t.th.mu.Lock()
	defer t.th.mu.Unlock()
	if len(t.awaited) > 0 {
		return true
	}
	if timedOut {
		t.awaits, t.goesOn = false, goesOn
	}
	return false
}

// next makes the steer that was awaited the input, one after the other, and says whether there is something to play for it.
func (t *turn) next() bool {
	for {
		switch more, plays := t.take(); {
		case !more || plays:
			return more
		}
		t.steerIsLost("playbook has no step for a steered input")
	}
}

// take is next for one steer: whether there is another one, and whether something plays for it.
func (t *turn) take() (more, plays bool) {
	th := t.th
	th.mu.Lock()
	defer th.mu.Unlock()
	t.await(nil)
	inVain := false
	switch {
	case len(t.awaited) > 0:
		t.input, t.awaited = t.awaited[0], t.awaited[1:]
	case t.goesOn:
		t.input, t.goesOn, inVain = t.prompt, false, true
	default:
		return false, false
	}
	th.steered++
	if b := th.in.role.book; b != nil {
		if t.batch = b.pick(th, t.input.Text, inVain); t.batch == nil {
			return true, false
		}
		t.await(&t.batch.Script)
	}
	return true, true
}

// steerIsLost says that nobody plays a steer that was taken.
func (t *turn) steerIsLost(why string) {
	t.debug(why)
	t.report = append(t.report, "mcp-send steer: "+why)
}

// loses says of each steer that is left that the turn has ended before it, and takes no more of them.
func (t *turn) loses() {
	t.th.mu.Lock()
	t.await(nil)
	left := len(t.awaited)
	t.awaited = nil
	t.th.mu.Unlock()
	for range left {
		t.steerIsLost("the turn ended before it")
	}
}

// expectInput fails a turn whose input is not what its script is for. A playbook has looked before it picked the batch.
func (t *turn) expectInput(s script.ExpectInputStep) error {
	if t.batch == nil && !strings.Contains(t.input.Text, s.Text) {
		return &failure{message: fmt.Sprintf("fake-agent: expectInput: there is no %q in the input %.200q", s.Text, t.input.Text)}
	}
	return nil
}
