package fakeagent_test

import (
	"context"
	"errors"
	"fmt"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("A turn that is played in Go", func() {
	performs := func(fn func(ctx context.Context, p *fakeagent.Performance) error) *agent {
		GinkgoHelper()
		a := start(fakeagent.Config{Perform: fn}, GinkgoT().TempDir())
		DeferCleanup(a.Close)
		return a
	}
	listing := event.Item{ItemType: event.DynamicToolCall, Title: "List", Status: event.InProgress}

	It("emits events and plays steps, in its own order, and knows what a choice of a script would know", func() {
		var seen fakeagent.Input
		a := performs(func(_ context.Context, p *fakeagent.Performance) error {
			seen = p.Input
			done := listing
			done.Status = event.Completed
			return errors.Join(
				p.Emit(event.Event{ItemID: "call", Payload: event.ItemStarted{Item: listing}}),
				p.Play(script.Say("meanwhile in {{thread}}"), script.Write("a.txt", "a")),
				p.Emit(event.Event{ItemID: "call", ThreadID: "another", TurnID: "another", Payload: event.ItemCompleted{Item: done}}),
			)
		})
		Expect(a.run("go")).To(And(EndCompleted(), HaveItems(BeToolCall("List"), BeAssistantMessage("meanwhile in a"), BeToolCall("Write"))))
		Expect(seen).To(And(HaveField("Prompt", "go"), HaveField("Turn", 1), HaveField("Attempt", 1), HaveField("Cwd", a.cwd)))
		for i, e := range a.seen() {
			Expect(e).To(And(HaveField("ThreadID", "a"), HaveField("Seq", BeEquivalentTo(i+1)), HaveField("TurnID", BeElementOf("", "a-turn-1"))))
		}
	})

	It("has the session that its thread was opened with", func() {
		var env map[string]string
		a := startWith(fakeagent.Config{Perform: func(_ context.Context, p *fakeagent.Performance) error {
			env = p.Session.Env
			return nil
		}}, fakeagent.SessionConfig{ThreadID: "a", Env: map[string]string{"A": "1"}})
		DeferCleanup(a.Close)
		Expect(a.run("go")).To(And(EndCompleted(), HaveItems()))
		Expect(env).To(Equal(map[string]string{"A": "1"}))
	})

	It("fails with an error, and ends what it has begun", func() {
		a := performs(func(_ context.Context, p *fakeagent.Performance) error {
			_ = p.Emit(event.Event{ItemID: "call", Payload: event.ItemStarted{Item: listing}})
			return errors.New("the list is gone")
		})
		Expect(a.run("go")).To(And(EndFailed("the list is gone"), HaveItems(BeToolCall("List", WithError("canceled")), BeErrorItem("the list is gone"))))
	})

	It("ends what it has begun also if it has done well", func() {
		a := performs(func(_ context.Context, p *fakeagent.Performance) error {
			return p.Emit(event.Event{ItemID: "call", Payload: event.ItemStarted{Item: listing}})
		})
		Expect(a.run("go")).To(And(EndCompleted(), HaveItems(BeToolCall("List", WithError("canceled")))))
	})

	It("cancels the turn with an error that says so", func() {
		a := performs(func(_ context.Context, p *fakeagent.Performance) error {
			_ = p.Play(script.Say("no more"))
			return fmt.Errorf("the user has gone: %w", context.Canceled)
		})
		Expect(a.run("go")).To(And(EndCanceled(), HaveItems(BeAssistantMessage("no more"))))
	})

	It("fails as a step does that fails the turn, and not for a call that fails", func() {
		a := performs(func(_ context.Context, p *fakeagent.Performance) error {
			if err := p.Play(script.Edit("missing.txt", "a", "b")); err != nil {
				return errors.New("not reached")
			}
			return p.Play(script.FailStep{Message: "rate limit", Code: 429}, script.Say("not reached"))
		})
		run := a.run("go")
		Expect(run).To(And(EndFailed("rate limit"), HaveItems(BeToolCall("Edit"), BeErrorItem("rate limit"))))
		Expect(run.Ending.Code).To(Equal(429))
	})

	It("is refused steps that no script may have", func() {
		a := performs(func(_ context.Context, p *fakeagent.Performance) error { return p.Play(script.Write("", "x")) })
		Expect(a.run("go")).To(EndFailed(HavePrefix("fake-agent: invalid script: step 1 (write): path")))
	})

	It("may emit no event of a session, a turn or a process, and none without a payload", func() {
		a := performs(func(_ context.Context, p *fakeagent.Performance) error {
			Expect(p.Emit(event.Event{})).To(MatchError("fakeagent: Emit: the event has no payload"))
			return p.Emit(event.Event{Payload: event.TurnCompleted{}})
		})
		Expect(a.run("go")).To(EndFailed("fakeagent: Emit: event turn.completed belongs to a session, a thread, a turn or a process, and is not a script's to emit"))
	})

	It("is interrupted by its context: nothing is emitted any more, what has begun ends, and whatever it returns then the turn is canceled", func() {
		begun := make(chan struct{})
		a := performs(func(ctx context.Context, p *fakeagent.Performance) error {
			_ = p.Emit(event.Event{ItemID: "call", Payload: event.ItemStarted{Item: listing}})
			close(begun)
			<-ctx.Done()
			if p.Emit(event.Event{Payload: event.Delta{Stream: event.AssistantText, Text: "too late"}}) == nil || p.Play(script.Say("too late")) == nil {
				return nil
			}
			return errors.New("I was in the middle of it")
		})
		id := a.send("go")
		<-begun
		th, err := a.ReadThread(context.Background(), "a")
		Expect(err).NotTo(HaveOccurred())
		Expect(th.Doing).To(Equal("Config.Perform"))
		Expect(a.InterruptTurn(context.Background(), "a", "")).To(Succeed())
		Expect(a.wait(id)).To(And(EndCanceled(), HaveItems(BeToolCall("List", WithError("canceled")))))
	})

	It("takes the steers that its steps wait for, each as another call in the same turn", bubble.InBubble, func() {
		var prompts []string
		a := performs(func(_ context.Context, p *fakeagent.Performance) error {
			prompts = append(prompts, p.Prompt)
			if p.Steer {
				return p.Play(script.Say("steered"))
			}
			return p.Play(script.Say("listening"), script.AwaitSteerStep{Timeout: time.Minute})
		})
		id := a.send("go")
		synctest.Wait() // until it listens
		Expect(a.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: "a", TurnID: id, Text: "left"})).To(Equal(id))
		Expect(a.wait(id)).To(And(EndCompleted(), ContainItems(BeAssistantMessage("listening"), BeAssistantMessage("steered"))))
		Expect(prompts).To(Equal([]string{"go", "left"}))
	})

	It("takes the place of the script, and cannot stand beside a choice of one", func() {
		nothing := func(context.Context, *fakeagent.Performance) error { return nil }
		a := start(fakeagent.Config{Script: "stream", Perform: nothing}, "")
		DeferCleanup(a.Close)
		Expect(a.run("go")).To(And(EndCompleted(), HaveItems()))
		_, err := fakeagent.New(fakeagent.Config{Perform: nothing, Choose: func(fakeagent.Input) (s script.Script, err error) { return }})
		Expect(err).To(MatchError("fakeagent: Choose and Perform are both set; give one of them"))
	})
})

var _ = Describe("What an agent calls itself", func() {
	It("is what its configuration says, in its probe and in each of its events", func() {
		probe := fakeagent.Probe{ID: "mine", Label: "Mine", Models: []fakeagent.Model{{ID: "m", Default: true}}}
		a := start(fakeagent.Config{Probe: probe}, "")
		DeferCleanup(a.Close)
		Expect(a.run("go")).To(EndCompleted())
		Expect(a.Probe(context.Background())).To(Equal(probe))
		Expect(a.seen()).To(HaveEach(HaveField("Provider", "mine")))
	})
})
