package fakeagent_test

import (
	"context"
	"errors"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// remoteGate is the control of a gate that is somewhere else.
type remoteGate struct {
	calls []string
	never bool // nothing is ever held
	err   error
}

func (g *remoteGate) Release() { g.calls = append(g.calls, "release") }
func (g *remoteGate) Close()   { g.calls = append(g.calls, "close") }

func (g *remoteGate) AwaitHeld(ctx context.Context) error {
	g.calls = append(g.calls, "await")
	if g.never {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return g.err
}

var _ = Describe("A hold", func() {
	var a *agent
	ctx := context.Background()
	BeforeEach(func() { a = scripted() })

	const held = `[{"say":"before"},{"hold":"g"},{"say":"after"}]`

	It("waits at its gate until the test lets it through; the test knows without polling when it is there", func() {
		id := a.send(held)
		Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
		Expect(a.deltas()).To(Equal([]string{"before"}))
		a.Gate("a", "g").Release()
		Expect(a.wait(id)).To(HaveItems(BeAssistantMessage("before"), BeAssistantMessage("after")))
	})
	It("stays held for everyone who asks, however often", func() {
		id := a.send(held)
		for range 3 {
			Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
		}
		a.Gate("a", "g").Release()
		a.wait(id)
	})
	It("is let through by a release that came early", func() {
		a.Gate("a", "g").Release()
		Expect(a.run(held)).To(EndCompleted())
	})
	It("needs one release each time", func() {
		a.Gate("a", "g").Release()
		a.Gate("a", "g").Release()
		id := a.send(`[{"hold":"g"},{"hold":"g"},{"say":"two"},{"hold":"g"}]`)
		Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
		Expect(a.deltas()).To(Equal([]string{"two"}))
		a.Gate("a", "g").Release()
		a.wait(id)
	})
	It("is held anew each time, and no longer held from its release on", func() {
		id := a.send("[" + strings.Repeat(`{"hold":"g"},{"say":"on"},`, 20) + `{"hold":"last"}]`)
		for i := range 20 {
			Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
			Expect(a.deltas()).To(HaveLen(i))
			a.Gate("a", "g").Release()
		}
		Expect(a.Gate("a", "last").AwaitHeld(ctx)).To(Succeed())
		Expect(a.HeldAt("a")).To(Equal("last"))
		a.Gate("a", "last").Release()
		Expect(a.HeldAt("a")).To(BeEmpty())
		a.wait(id)
		Expect(a.HeldAt("a")).To(BeEmpty())
		Expect(a.HeldAt("nobody")).To(BeEmpty())
		over, cancel := context.WithCancel(ctx)
		cancel()
		Expect(a.Gate("a", "g").AwaitHeld(over)).To(MatchError(HaveSuffix("no turn of it runs")))
	})
	It("has a gate for each name and each thread", func() {
		a.Gate("a", "other").Release()
		a.Gate("b", "g").Release()
		id := a.send(held)
		Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
		a.Gate("a", "g").Release()
		a.wait(id)
	})
	It("does not end by itself, at any speed", bubble.InBubble, func(ctx SpecContext) {
		cfg := fakeagent.Scripted()
		cfg.Instant = true
		a := start(cfg, "")
		defer a.Close()
		id := a.send(held)
		time.Sleep(24 * time.Hour)
		Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
		a.Gate("a", "g").Release()
		a.wait(id)
	})

	Describe("that is open", func() {
		It("waits for nothing", func() {
			Expect(a.play(script.HoldStep{Name: "g", Open: true})).To(EndCompleted())
		})
		It("waits like any other once the test has closed its gate", func() {
			a.Gate("a", "g").Close()
			id := a.send(`[{"hold":{"name":"g","open":true}}]`)
			Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
			a.Gate("a", "g").Release()
			Expect(a.wait(id)).To(EndCompleted())
		})
	})

	Describe("that is somewhere else", func() {
		It("is controlled through a gate like any other", func() {
			remote := &remoteGate{}
			gate := fakeagent.RemoteGate(remote)
			Expect(gate.AwaitHeld(ctx)).To(Succeed())
			gate.Close()
			gate.Release()
			Expect(remote.calls).To(Equal([]string{"await", "close", "release"}))
		})
		It("is awaited for 30 seconds, if the test's context has no deadline", bubble.InBubble, func(ctx SpecContext) {
			remote := &remoteGate{never: true}
			began := time.Now()
			Expect(fakeagent.RemoteGate(remote).AwaitHeld(context.WithoutCancel(ctx))).To(MatchError(
				"gave up after 30s; give a context with a deadline to wait longer or shorter: context deadline exceeded"))
			Expect(time.Since(began)).To(Equal(30 * time.Second))
		})
		It("is awaited as long as the context says, and its error is the caller's", bubble.InBubble, func(ctx SpecContext) {
			long, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
			defer cancel()
			began := time.Now()
			Expect(fakeagent.RemoteGate(&remoteGate{never: true}).AwaitHeld(long)).To(MatchError(context.DeadlineExceeded))
			Expect(time.Since(began)).To(Equal(time.Hour))
			broken := errors.New("the process is gone")
			Expect(fakeagent.RemoteGate(&remoteGate{err: broken}).AwaitHeld(long)).To(BeIdenticalTo(broken))
		})
	})

	Describe("that is awaited in vain", func() {
		It("says after 30 seconds where the agent is instead", bubble.InBubble, func(ctx SpecContext) {
			a := start(fakeagent.Scripted(), "")
			defer a.Close()
			began := time.Now()
			a.send(`[{"sleep":3600000},{"hold":"g"}]`)
			Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(MatchError(`fakeagent: nothing is held at gate "g" of thread a ` +
				`(gave up after 30s; give a context with a deadline to wait longer or shorter: context deadline exceeded); it is in step 1 {"sleep":3600000}`))
			Expect(time.Since(began)).To(Equal(30 * time.Second))
		})
		It("says so at the deadline of the test's context, which may be later than that", bubble.InBubble, func(ctx SpecContext) {
			a := start(fakeagent.Scripted(), "")
			defer a.Close()
			late, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			began := time.Now()
			Expect(a.Gate("a", "g").AwaitHeld(late)).To(MatchError(context.DeadlineExceeded))
			Expect(time.Since(began)).To(Equal(time.Hour))
		})
		It("says so as soon as the test's context ends", func() {
			over, cancel := context.WithCancel(ctx)
			cancel()
			Expect(a.Gate("a", "g").AwaitHeld(over)).To(And(MatchError(context.Canceled), MatchError(HaveSuffix("no turn of it runs"))))
			Expect(a.Gate("nobody", "g").AwaitHeld(over)).To(MatchError(HaveSuffix("there is no such thread")))
		})
	})
})
