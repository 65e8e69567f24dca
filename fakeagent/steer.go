package fakeagent

import "fmt"

// steer takes an input into the turn that runs. th.mu is locked.
func (th *thread) steer(in TurnInput) (turnID string, err error) {
	t := th.active
	switch {
	case t == nil || t.id != in.TurnID:
		return "", Rejected(fmt.Errorf("agent %s %w: turn %s does not run", th.id, ErrNotSteered, in.TurnID))
	case !t.steerable || t.ctx.Err() != nil: // what an interrupted turn took nobody would read
		return "", Rejected(fmt.Errorf("agent %s %w: turn %s is in %s", th.id, ErrNotSteered, t.id, t.doing()))
	}
	t.steers = append(t.steers, in.Text)
	th.record.says(t.id, in.Text)
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
