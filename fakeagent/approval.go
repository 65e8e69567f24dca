package fakeagent

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// approval is one open or answered request of an approval step.
type approval struct {
	script.Approval
	requestID, itemID string
	item              event.Item
	answered          chan<- *approval // of its step
	answer            Decision
	timer             *time.Timer
	told              bool // request.resolved was emitted
}

// timedOut is an answer that nobody gives.
const timedOut Decision = "timeout"

// approvals asks, waits for all answers, plays the branches in order and settles the rows.
func (t *turn) approvals(s script.ApprovalStep) error {
	answered := make(chan *approval, len(s.Approvals))
	var all []*approval
	over := t.waits()
	for _, one := range s.Approvals {
		a := t.open(one, answered)
		all = append(all, a)
		if t.pauseFor(a.hold(), answered) != nil {
			break
		}
		t.ask(a)
	}
	for slices.ContainsFunc(all, func(a *approval) bool { return !a.told }) && t.ctx.Err() == nil {
		select {
		case a := <-answered:
			t.resolved(a)
		case <-t.ctx.Done():
		}
	}
	over()
	if t.ctx.Err() != nil {
		for len(answered) > 0 {
			t.resolved(<-answered)
		}
		for _, a := range all {
			t.th.close(a, Cancel)
			t.resolved(a)
			t.settle(a, errCanceled)
		}
		return errCanceled
	}
	for i, a := range all {
		var branch []script.Step
		var refused error
		switch a.answer {
		case Decline:
			branch, refused = a.Deny, errDeclined
		case timedOut:
			refused = fmt.Errorf("no answer to the approval after %v", a.Timeout)
		default:
			branch = a.Allow
		}
		if err := t.steps(branch, 0); err != nil {
			t.settle(a, err)
			for _, later := range all[i+1:] {
				t.settle(later, errCanceled)
			}
			return err
		}
		t.settle(a, refused)
	}
	return t.pause(0)
}

// hold is how long the row is in progress before the question comes.
func (a *approval) hold() time.Duration {
	if a.Tool == nil {
		return 0
	}
	return a.Tool.Hold
}

var errDeclined = errors.New("declined by the user")

// open opens the tool's row.
func (t *turn) open(s script.Approval, answered chan<- *approval) *approval {
	if s.Type == "" {
		s.Type = "command_execution_approval"
	}
	a := &approval{Approval: s, itemID: t.nextID("t"), answered: answered}
	a.item = event.Item{ItemType: event.DynamicToolCall, Status: event.InProgress}
	switch {
	case s.Tool != nil:
		a.item.Title, a.item.Data = s.Tool.Name, t.th.in.claimed(s.Tool.Detail, s.Tool.Input, nil)
	case s.Type == "command_execution_approval":
		a.item.ItemType, a.item.Title = event.CommandExecution, "Bash"
		a.item.Data = timeline.Shell{Command: s.Title, Cwd: t.th.session.Cwd}
	default:
		a.item.Title, a.item.Data = strings.TrimSuffix(s.Type, "_approval"), timeline.PlainText{Text: s.Title}
	}
	t.emit(a.itemID, event.ItemStarted{Item: a.item})
	return a
}

// ask opens the request, which refers to the tool's row.
func (t *turn) ask(a *approval) {
	th := t.th
	th.mu.Lock()
	th.requests++
	a.requestID = "req-" + strconv.Itoa(th.requests)
	if th.pending == nil {
		th.pending = map[string]*approval{}
	}
	th.pending[a.requestID] = a
	if a.Timeout > 0 {
		a.timer = time.AfterFunc(a.Timeout, func() { th.close(a, timedOut) })
	}
	th.emitLocked(event.Event{
		TurnID: t.id, ItemID: a.itemID, RequestID: a.requestID,
		Payload: event.RequestOpened{RequestType: a.Type, Detail: a.Title, Options: a.Options},
	})
}

// resolved tells the answer, of a request that was opened at all. Cancel ends the turn.
func (t *turn) resolved(a *approval) {
	if a.told || a.requestID == "" {
		return
	}
	a.told = true
	t.values.decision = a.answer
	if a.answer == Cancel {
		t.cancel()
	}
	t.th.emit(event.Event{
		TurnID: t.id, ItemID: a.itemID, RequestID: a.requestID,
		Payload: event.RequestResolved{RequestType: a.Type, Decision: string(a.answer)},
	})
}

// settle ends the row of the tool.
func (t *turn) settle(a *approval, refused error) {
	a.item.Status = event.Completed
	if a.Tool != nil && refused == nil {
		a.item.Data = t.th.in.claimed(a.Tool.Detail, a.Tool.Input, a.Tool.Output)
	}
	if refused != nil {
		a.item.Status, a.item.Error = event.Failed, refused.Error()
		t.values.err = a.item.Error
		if refused == errDeclined {
			a.item.Status = event.Declined
		}
	}
	t.emit(a.itemID, event.ItemCompleted{Item: a.item})
}

// close answers a request, unless somebody was faster.
func (th *thread) close(a *approval, d Decision) {
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.pending[a.requestID] == a {
		th.closeLocked(a, d)
	}
}

func (th *thread) closeLocked(a *approval, d Decision) {
	delete(th.pending, a.requestID)
	if a.timer != nil {
		a.timer.Stop()
	}
	a.answer = d
	a.answered <- a // has room for every request of its step
}

// answer is a decision from outside. th.mu is locked.
func (th *thread) answer(requestID string, d Decision) error {
	a := th.pending[requestID]
	if a == nil {
		return th.notOpen(requestID)
	}
	offered := []string{string(Accept), string(AcceptForSession), string(Decline), string(Cancel)}
	if len(a.Options) > 0 {
		offered = append(slices.Clone(a.Options), string(Cancel))
	}
	if !slices.Contains(offered, string(d)) {
		return fmt.Errorf("fakeagent: request %s offers %s, not %q", requestID, strings.Join(offered, ", "), d)
	}
	th.closeLocked(a, d)
	return nil
}
