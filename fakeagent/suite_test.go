package fakeagent_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

func TestFakeagent(t *testing.T) {
	bubble.Suite(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "The scripted agent")
}

var _ = leak.Check()

// agent is one thread of an instance, driven as a host drives it.
type agent struct {
	*fakeagent.Instance
	id  string
	cwd string

	mu     sync.Mutex
	events []event.Event
	ended  chan event.TurnCompleted
}

// start opens a thread called "a" of a new instance. The caller closes it.
func start(cfg fakeagent.Config, cwd string) *agent {
	GinkgoHelper()
	return startWith(cfg, fakeagent.SessionConfig{ThreadID: "a", Cwd: cwd})
}

func startWith(cfg fakeagent.Config, s fakeagent.SessionConfig) *agent {
	GinkgoHelper()
	in, err := fakeagent.New(cfg)
	Expect(err).NotTo(HaveOccurred())
	a := &agent{Instance: in, id: s.ThreadID, cwd: s.Cwd, ended: make(chan event.TurnCompleted, 100)}
	a.Subscribe(a.note)
	Expect(a.StartSession(context.Background(), s)).To(Succeed())
	return a
}

// note keeps an event of the thread.
func (a *agent) note(e event.Event) {
	if e.ThreadID != a.id {
		return
	}
	a.mu.Lock()
	a.events = append(a.events, e)
	a.mu.Unlock()
	if end, ok := e.Payload.(event.TurnCompleted); ok {
		a.ended <- end
	}
}

// scripted is the agent that plays the scripts of prompts, in a folder of its own, with shell commands allowed.
func scripted() *agent {
	GinkgoHelper()
	cfg := fakeagent.Scripted()
	cfg.AllowShell = true
	a := start(cfg, GinkgoT().TempDir())
	DeferCleanup(a.Close)
	return a
}

// send starts a turn.
func (a *agent) send(prompt string) (turnID string) {
	GinkgoHelper()
	id, err := a.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: a.id, Text: prompt})
	Expect(err).NotTo(HaveOccurred())
	return id
}

// run plays a turn and returns how it ended, and the items of that turn as a host would store them.
func (a *agent) run(prompt string) timeline.Run {
	GinkgoHelper()
	id := a.send(prompt)
	return a.wait(id)
}

func (a *agent) wait(turnID string) timeline.Run {
	GinkgoHelper()
	end := <-a.ended
	th, err := a.ReadThread(context.Background(), a.id)
	Expect(err).NotTo(HaveOccurred())
	last := th.Turns[len(th.Turns)-1]
	Expect(last.ID).To(Equal(turnID))
	var p timeline.Projection
	for _, it := range last.Items {
		p.Add(turnID, "", it)
	}
	return timeline.Run{AgentID: a.id, TurnID: turnID, Ending: end.Ending(), Timeline: p.Snapshot()}
}

// play is run for a script that was made in Go.
func (a *agent) play(steps ...script.Step) timeline.Run {
	GinkgoHelper()
	return a.run(script.New(steps...).String())
}

// seen are the events so far.
func (a *agent) seen() []event.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.events)
}

// types are the types of the events so far.
func (a *agent) types() []string {
	var out []string
	for _, e := range a.seen() {
		out = append(out, e.Payload.Type())
	}
	return out
}

// deltas are the pieces of text so far.
func (a *agent) deltas() []string {
	var out []string
	for _, e := range a.seen() {
		if d, ok := e.Payload.(event.Delta); ok {
			out = append(out, d.Text)
		}
	}
	return out
}

// shellFunc is a Shell of one's own.
type shellFunc func(context.Context, fakeagent.SessionConfig, string) (fakeagent.ShellResult, error)

func (f shellFunc) Run(ctx context.Context, s fakeagent.SessionConfig, command string) (fakeagent.ShellResult, error) {
	return f(ctx, s, command)
}
