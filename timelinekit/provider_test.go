package timelinekit_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("Providers of a host", func() {
	It("are the scripted agent alone by default, with its one model", func(ctx SpecContext) {
		Expect(timelinekit.NewHost(GinkgoT()).Providers(ctx)).To(Equal([]timelinekit.ProviderInfo{
			{ID: "fake-agent", Label: "Fake agent", Models: []fakeagent.Model{{ID: "scripted", Label: "Scripted", Default: true}}}}))
	})
	It("may be somebody's own, given to the host or registered later; the first one given is the default", func(ctx SpecContext) {
		first := fakeagent.NewT(GinkgoT(), fakeagent.Config{})
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("plain", first))
		remove, err := host.Register("fake-agent", fakeagent.NewT(GinkgoT(), fakeagent.Scripted()))
		Expect(err).NotTo(HaveOccurred())
		Expect(host.RunPrompt(ctx, "x")).To(HaveItems(BeAssistantMessage("fake turn complete")))
		run := host.RunPrompt(ctx, "x", timelinekit.Provider("fake-agent"))
		Expect(run).To(HaveItems(BeAssistantMessage("fake-agent received: x")))
		Expect(host.Agent(run.AgentID)).To(HaveField("Provider", "fake-agent"))

		_, err = host.Register("plain", first)
		Expect(err).To(MatchError(`timelinekit: there is a provider "plain" already; remove it first, or use another id`))
		remove()
		remove()
		_, err = host.CreateAgent(ctx, timelinekit.Provider("fake-agent"))
		Expect(err).To(MatchError(`timelinekit: no provider "fake-agent"; this host has: plain`))
		Expect(host.SendPrompt(ctx, run.AgentID, "y")).To(EndCompleted(), "an agent that has it keeps it")
		Expect(host.Providers(ctx)).To(HaveExactElements(HaveField("ID", "plain")))
	})
	It("need an id", func() {
		host := timelinekit.NewHost(GinkgoT())
		_, err := host.Register("", &puppet{})
		Expect(err).To(MatchError("timelinekit: Register needs an id and a provider"))
		_, err = host.Register("none", nil)
		Expect(err).To(MatchError("timelinekit: Register needs an id and a provider"))
	})
	It("of the kit give the same timeline, whoever made them", func(ctx SpecContext) {
		s := script.New(script.Think("x"), script.Bash("ls", "a", 1), script.Ask(script.Approval{Title: "rm", Timeout: time.Millisecond}), script.Fail("no"))
		own := timelinekit.NewHost(GinkgoT())
		given := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("mine", fakeagent.NewT(GinkgoT(), fakeagent.Scripted())))
		strip := func(run timelinekit.Run) (lines []string) {
			for _, it := range run.Items() {
				lines = append(lines, timeline.Line(it))
			}
			return lines
		}
		Expect(strip(own.RunFakeAgentTurn(ctx, s))).To(Equal(strip(given.RunFakeAgentTurn(ctx, s))))
	})
	It("have no gates unless they are the kit's", func(ctx SpecContext) {
		t := &recorder.T{}
		host := puppetHost(t, &puppet{})
		turn := host.StartPrompt(ctx, "x")
		Expect(func() { turn.Gate("g") }).To(PanicWith("timelinekit: provider puppet has no gates; only a fakeagent.Instance has"))
		t.End()
	})
	It("cannot be listed where one does not say what it offers", func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		_, err := host.Register("mute", mute{&puppet{}})
		Expect(err).NotTo(HaveOccurred())
		_, err = host.Providers(ctx)
		Expect(err).To(MatchError("timelinekit: provider mute: not logged in"))
	})
	It("may deliver events while they are being subscribed to", func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		_, err := host.Register("eager", eager{&puppet{}})
		Expect(err).NotTo(HaveOccurred())
	})
})

// mute does not say what it offers.
type mute struct{ *puppet }

func (mute) Probe(context.Context) (fakeagent.Probe, error) {
	return fakeagent.Probe{}, errors.New("not logged in")
}

// eager tells every new subscriber something at once.
type eager struct{ *puppet }

func (e eager) Subscribe(fn func(event.Event)) func() {
	fn(event.Event{ThreadID: "old", Payload: event.SessionStarted{}})
	return e.puppet.Subscribe(fn)
}

var _ = Describe("A provider that breaks its contract", func() {
	var (
		p    *puppet
		t    *recorder.T
		host *timelinekit.Host
	)
	BeforeEach(func() { p, t = &puppet{}, &recorder.T{} })
	// ready makes the host, after the spec has set the puppet's strings.
	ready := func() { host = puppetHost(t, p) }

	completed := event.TurnCompleted{State: event.TurnEndCompleted}
	say := func(text string) event.Delta { return event.Delta{Stream: event.AssistantText, Text: text} }

	It("has everything dropped and recorded that does not belong to the turn which runs", func(ctx SpecContext) {
		ready()
		turn := host.StartPrompt(ctx, "x")
		id := turn.AgentID
		p.emit(id, "T9", say("of another turn"))
		p.emit(id, "T9", completed)
		p.emit(id, "", completed)
		p.emit(id, "T9", event.TurnStarted{})
		p.emit(id, "T9", event.RequestOpened{})
		p.emit(id, "T9", event.UserInputRequested{})
		p.emit(id, "T9", event.RuntimeError{Message: "of another turn"})
		p.emit("somebody else's thread", "T1", say("never"))
		p.emit(id, "T1", say("mine"))
		Expect(host.Agent(id)).To(HaveField("Status", timeline.AgentRunning))
		p.emit(id, "T1", completed)
		p.emit(id, "T1", event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: "twice"})
		p.emit(id, "T1", say("too late"))
		Expect(turn.Wait(ctx)).To(And(EndCompleted(), HaveItems(BeAssistantMessage("mine"))))
		Expect(host.Agent(id)).To(HaveField("Status", timeline.AgentIdle))
		Expect(host.AgentTimeline(id).Len()).To(Equal(2))
		Expect(host.Violations()).To(Equal([]string{
			`agent agent-1: content.delta of turn "T9" was dropped: turn T1 runs`,
			`agent agent-1: turn.completed of turn "T9" was dropped: turn T1 runs`,
			`agent agent-1: turn.completed of turn "" was dropped: turn T1 runs`,
			`agent agent-1: turn.started of turn "T9" was dropped: nobody sent it`,
			`agent agent-1: request.opened of turn "T9" was dropped: turn T1 runs`,
			`agent agent-1: user-input.requested of turn "T9" was dropped: turn T1 runs`,
			`agent agent-1: runtime.error of turn "T9" was dropped: turn T1 runs`,
			`agent agent-1: turn.completed of turn "T1" was dropped: no turn runs`,
			`agent agent-1: content.delta of turn "T1" was dropped: no turn runs`,
		}))
		Expect(t.End()).To(BeEmpty(), "what the test has looked at no longer fails it")
	})
	It("fails the test at its end, with everything in one message", func(ctx SpecContext) {
		ready()
		turn := host.StartPrompt(ctx, "x")
		p.emit(turn.AgentID, "T9", completed)
		p.emit(turn.AgentID, "", completed)
		p.emit(turn.AgentID, "T1", completed)
		Expect(t.End()).To(Equal([]string{"timelinekit: at the end of the test:\n" +
			"  agent agent-1: turn.completed of turn \"T9\" was dropped: turn T1 runs\n" +
			"  agent agent-1: turn.completed of turn \"\" was dropped: turn T1 runs"}))
	})
	It("does not get an event into an agent of another provider, whatever thread it names", func(ctx SpecContext) {
		ready()
		other := &puppet{}
		_, err := host.Register("other", other)
		Expect(err).NotTo(HaveOccurred())
		turn := host.StartPrompt(ctx, "x")
		other.emit(turn.AgentID, "T1", say("not mine"))
		other.emit(turn.AgentID, "T1", event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: "not mine"})
		p.emit(turn.AgentID, "T1", completed)
		Expect(turn.Wait(ctx)).To(And(EndCompleted(), HaveItems()))
		Expect(t.End()).To(BeEmpty())
	})
	It("does not get an event of the stopped turn into the next one", func(ctx SpecContext) {
		ready()
		turn := host.StartPrompt(ctx, "one")
		Expect(turn.Interrupt(ctx)).To(Succeed())
		next, err := host.SendTurn(ctx, turn.AgentID, "two")
		Expect(err).NotTo(HaveOccurred())
		p.emit(turn.AgentID, "T1", say("late"))
		p.emit(turn.AgentID, "T1", completed)
		Expect(next.Done()).NotTo(BeClosed())
		p.emit(turn.AgentID, "T2", completed)
		Expect(next.Wait(ctx)).To(And(EndCompleted(), HaveItems()))
		Expect(host.Violations()).To(HaveLen(2))
		t.End()
	})
	It("has what names no turn counted to the turn which runs", func(ctx SpecContext) {
		ready()
		turn := host.StartPrompt(ctx, "x")
		p.emit(turn.AgentID, "", say("whose?"))
		p.emit(turn.AgentID, "T1", completed)
		Expect(turn.Wait(ctx)).To(And(EndCompleted(), HaveItems(BeAssistantMessage("whose?"))))
		Expect(t.End()).To(BeEmpty())
	})
	It("may start and end a turn before SendTurn has returned", func(ctx SpecContext) {
		p.onSend = func(p *puppet, in fakeagent.TurnInput, id string) error {
			p.emit(in.ThreadID, id, event.TurnStarted{})
			p.emit(in.ThreadID, id, say("quick"))
			p.emit(in.ThreadID, id, completed)
			return nil
		}
		ready()
		Expect(host.RunPrompt(ctx, "x")).To(And(EndCompleted(), HaveField("TurnID", "T1"), HaveItems(BeAssistantMessage("quick"))))
		Expect(t.End()).To(BeEmpty())
	})
	It("is found out when the id that SendTurn returned is not the one of turn.started", func(ctx SpecContext) {
		p.onSend = func(p *puppet, in fakeagent.TurnInput, id string) error {
			p.emit(in.ThreadID, "other", event.TurnStarted{})
			return nil
		}
		ready()
		turn := host.StartPrompt(ctx, "x")
		p.emit(turn.AgentID, "other", completed)
		Expect(turn.Wait(ctx)).To(EndCompleted())
		Expect(t.End()).To(HaveExactElements(ContainSubstring("agent agent-1: SendTurn returned T1, but turn.started said other")))
	})
	It("is found out when turn.started comes with another id than the one that SendTurn returned, or with none", func(ctx SpecContext) {
		p.onSend = func(*puppet, fakeagent.TurnInput, string) error { return nil }
		ready()
		turn := host.StartPrompt(ctx, "x")
		p.emit(turn.AgentID, "", event.TurnStarted{})
		p.emit(turn.AgentID, "T9", event.TurnStarted{})
		p.emit(turn.AgentID, "T1", event.TurnStarted{})
		p.emit(turn.AgentID, "T1", completed)
		Expect(turn.Wait(ctx)).To(EndCompleted())
		Expect(host.Violations()).To(Equal([]string{
			`agent agent-1: turn.started of turn "" was dropped: it has no turn id`,
			`agent agent-1: turn.started of turn "T9" was dropped: SendTurn returned T1`}))
		t.End()
	})
	It("leaves the agent as it was when it does not accept a turn", func(ctx SpecContext) {
		p.onSend = func(*puppet, fakeagent.TurnInput, string) error { return errors.New("no credit left") }
		ready()
		id, err := host.CreateAgent(ctx)
		Expect(err).NotTo(HaveOccurred())
		_, err = host.SendTurn(ctx, id, "x")
		Expect(err).To(MatchError("timelinekit: turn not accepted: no credit left"))
		Expect(host.Agent(id)).To(HaveField("Status", timeline.AgentIdle))
		Expect(host.AgentRows(id)).To(BeEmpty())
		p.onSend = nil
		turn, err := host.SendTurn(ctx, id, "x")
		Expect(err).NotTo(HaveOccurred())
		p.emit(id, turn.TurnID, completed)
		Expect(turn.Wait(ctx)).To(EndCompleted())
		Expect(t.End()).To(BeEmpty())
	})
	It("keeps the turn that it started although it said that it did not", func(ctx SpecContext) {
		p.onSend = func(p *puppet, in fakeagent.TurnInput, id string) error {
			p.emit(in.ThreadID, id, event.TurnStarted{})
			return errors.New("no")
		}
		ready()
		id, err := host.CreateAgent(ctx)
		Expect(err).NotTo(HaveOccurred())
		_, err = host.SendTurn(ctx, id, "x")
		Expect(err).To(HaveOccurred())
		_, err = host.SendTurn(ctx, id, "y")
		Expect(err).To(MatchError(fakeagent.ErrBusy))
		p.emit(id, "T1", completed)
		Expect(host.Agent(id)).To(HaveField("Status", timeline.AgentIdle))
		Expect(t.End()).To(HaveExactElements(ContainSubstring("SendTurn failed (no), but the turn started")))
	})
	It("has a tool call that it left running set to canceled, with a last row", func(ctx SpecContext) {
		ready()
		turn := host.StartPrompt(ctx, "x")
		p.send(event.Event{ThreadID: turn.AgentID, TurnID: "T1", ItemID: "c1", Payload: event.ItemStarted{Item: event.Item{
			ItemType: event.CommandExecution, Title: "Bash", Data: timeline.Shell{Command: "sleep"}}}})
		Expect(turn.Interrupt(ctx)).To(Succeed())
		Expect(turn.Wait(ctx)).To(And(EndCanceled(), HaveItems(BeShellCall("sleep", WithStatus(timeline.Canceled)))))
		Expect(host.Violations()).To(Equal([]string{
			"agent agent-1: tool call c1 (Bash) was still running when turn T1 ended canceled; it was set to canceled"}))
		t.End()
	})
	It("is found out as well where it left a tool call running and ended the session", func(ctx SpecContext) {
		ready()
		turn := host.StartPrompt(ctx, "x")
		p.send(event.Event{ThreadID: turn.AgentID, TurnID: "T1", ItemID: "c1", Payload: event.ItemStarted{Item: event.Item{ItemType: event.DynamicToolCall, Title: "Read"}}})
		p.emit(turn.AgentID, "", event.SessionExited{})
		Expect(turn.Wait(ctx)).To(And(EndFailed("the session exited"), ContainItems(BeToolCall("Read", WithStatus(timeline.Canceled)))))
		Expect(host.Violations()).To(Equal([]string{
			"agent agent-1: tool call c1 (Read) was still running when turn T1 ended failed; it was set to canceled"}))
		t.End()
	})
	It("is found out when it uses the id of a tool call again in a later turn", func(ctx SpecContext) {
		ready()
		call := func(turn *timelinekit.Turn) {
			p.send(event.Event{ThreadID: turn.AgentID, TurnID: turn.TurnID, ItemID: "c1", Payload: event.ItemCompleted{Item: event.Item{ItemType: event.DynamicToolCall}}})
			p.emit(turn.AgentID, turn.TurnID, completed)
		}
		turn := host.StartPrompt(ctx, "x")
		call(turn)
		next, err := host.SendTurn(ctx, turn.AgentID, "y")
		Expect(err).NotTo(HaveOccurred())
		call(next)
		Expect(host.Violations()).To(Equal([]string{
			"agent agent-1: tool call c1 of turn T2 has the id of one in turn T1, and took its place; ids must not repeat within an agent"}))
		t.End()
	})
	It("has its echo of the user's message dropped", func(ctx SpecContext) {
		ready()
		turn := host.StartPrompt(ctx, "hello")
		p.send(event.Event{ThreadID: turn.AgentID, TurnID: "T1", ItemID: "u1", Payload: event.ItemCompleted{Item: event.Item{ItemType: event.UserMessage, Detail: "hello"}}})
		p.emit(turn.AgentID, "T1", completed)
		Expect(turn.Wait(ctx).Timeline).To(HaveItems(BeUserMessage("hello")))
		Expect(t.End()).To(BeEmpty())
	})

	It("has the hooks told of one start and one end a turn, whatever it sends", func(ctx SpecContext) {
		log := &timelinekit.Recorder{}
		host = timelinekit.NewHost(t, timelinekit.WithProvider("puppet", p), timelinekit.WithPlugins(log))
		p.onSend = func(p *puppet, in fakeagent.TurnInput, id string) error { // all of it before SendTurn returns
			p.emit(in.ThreadID, id, event.TurnStarted{})
			p.emit(in.ThreadID, id, event.TurnStarted{})
			p.emit(in.ThreadID, "", completed)
			p.emit(in.ThreadID, id, completed)
			p.emit(in.ThreadID, id, event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: "twice"})
			return nil
		}
		run := host.RunPrompt(ctx, "x")
		p.onSend = nil
		next, err := host.SendTurn(ctx, run.AgentID, "y")
		Expect(err).NotTo(HaveOccurred())
		p.emit(run.AgentID, "T1", event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: "of the old turn"})
		p.emit(run.AgentID, "T2", completed)
		Expect(next.Wait(ctx)).To(EndCompleted())
		p.emit(run.AgentID, "", event.RuntimeError{Message: "died between turns"})
		p.emit(run.AgentID, "", event.SessionExited{})
		Expect(host.HooksSettled(ctx)).To(Succeed())
		Expect(log.String()).To(HaveSuffix(`agent.created of agent-1
agent.turn_started of T1
agent.turn_ended of T1, completed
agent.turn_started of T2
agent.turn_ended of T2, completed`))
		Expect(host.Violations()).To(HaveLen(4))
		Expect(t.End()).To(BeEmpty())
	})

	Describe("by a fault", func() {
		It("of the provider in a turn makes the agent's status error and adds an error item, once", func(ctx SpecContext) {
			ready()
			turn := host.StartPrompt(ctx, "x")
			p.emit(turn.AgentID, "", event.RuntimeError{Message: "overloaded"})
			Expect(host.Agent(turn.AgentID)).To(HaveField("Status", timeline.AgentError))
			p.emit(turn.AgentID, "T1", event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: "overloaded"})
			Expect(turn.Wait(ctx)).To(And(EndFailed("overloaded"), HaveItems(
				BeErrorItem("overloaded"), BeAssistantMessage("[System Error] overloaded"))))
			Expect(host.AgentTimeline(turn.AgentID).Len()).To(Equal(3), "nothing of it lies outside of the turn")
			Expect(t.End()).To(BeEmpty())
		})
		It("has its error item in each turn that it fails, also where the words are the same", func(ctx SpecContext) {
			ready()
			failed := event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: "overloaded"}
			turn := host.StartPrompt(ctx, "x")
			p.emit(turn.AgentID, "T1", failed)
			next, err := host.SendTurn(ctx, turn.AgentID, "again")
			Expect(err).NotTo(HaveOccurred())
			p.emit(turn.AgentID, "T2", failed)
			Expect(next.Wait(ctx)).To(HaveItems(BeErrorItem("overloaded"), BeAssistantMessage("[System Error] overloaded")))
			Expect(t.End()).To(BeEmpty())
		})
		It("that ends the session without a reason is told in the host's own words", func(ctx SpecContext) {
			ready()
			turn := host.StartPrompt(ctx, "x")
			p.emit(turn.AgentID, "", event.SessionExited{})
			Expect(turn.Wait(ctx)).To(EndFailed("the session exited"))
			Expect(t.End()).To(BeEmpty())
		})
		It("between turns does so too, and the next turn works", func(ctx SpecContext) {
			ready()
			id, err := host.CreateAgent(ctx)
			Expect(err).NotTo(HaveOccurred())
			p.emit(id, "", event.RuntimeError{Message: "lost the connection"})
			Expect(host.Agent(id)).To(HaveField("Status", timeline.AgentError))
			Expect(host.AgentTimeline(id)).To(HaveItems(BeErrorItem("lost the connection")))
			turn, err := host.SendTurn(ctx, id, "x")
			Expect(err).NotTo(HaveOccurred())
			p.emit(id, turn.TurnID, completed)
			Expect(turn.Wait(ctx)).To(HaveField("Status", timeline.AgentIdle))
			Expect(t.End()).To(BeEmpty())
		})
		It("that ends the session closes the agent and ends its turn as failed", func(ctx SpecContext) {
			ready()
			turn := host.StartPrompt(ctx, "x")
			p.emit(turn.AgentID, "", event.SessionExited{Reason: "crashed", ExitKind: "error"})
			run := turn.Wait(ctx)
			Expect(run).To(And(EndFailed("the session exited: crashed"), HaveField("Status", timeline.AgentClosed), HaveItems(
				BeErrorItem("the session exited: crashed"), BeAssistantMessage("[System Error] the session exited: crashed"))))
			_, err := host.SendTurn(ctx, run.AgentID, "x")
			Expect(err).To(And(MatchError(fakeagent.ErrNoSession), MatchError(ContainSubstring("agent-1 is closed"))))
			p.emit(turn.AgentID, "", event.RuntimeError{Message: "after the end"})
			Expect(host.Agent(run.AgentID)).To(HaveField("Status", timeline.AgentClosed))
			Expect(host.Violations()).To(Equal([]string{`agent agent-1: runtime.error of turn "" was dropped: the agent is closed`}))
			Expect(t.End()).To(BeEmpty())
		})
		It("that ends the session between turns closes the agent", func(ctx SpecContext) {
			ready()
			id, err := host.CreateAgent(ctx)
			Expect(err).NotTo(HaveOccurred())
			p.emit(id, "", event.SessionExited{})
			Expect(host.Agent(id)).To(HaveField("Status", timeline.AgentClosed))
			Expect(t.End()).To(BeEmpty())
		})
		It("that ends the session before the turn has started ends that turn as well", func(ctx SpecContext) {
			p.onSend = func(*puppet, fakeagent.TurnInput, string) error { return nil }
			ready()
			turn := host.StartPrompt(ctx, "x")
			p.emit(turn.AgentID, "", event.SessionExited{})
			Expect(turn.Wait(ctx)).To(And(EndFailed("the session exited before the turn started"), HaveField("Status", timeline.AgentClosed)))
			Expect(t.End()).To(BeEmpty())
		})
		It("that ends the session while it starts leaves the agent closed", func(ctx SpecContext) {
			p.onStart = func(s fakeagent.SessionConfig) error {
				p.emit(s.ThreadID, "", event.SessionExited{Reason: "no login"})
				return nil
			}
			ready()
			var seen []timeline.AgentStatus
			host.WatchStatus(func(_ string, s timeline.AgentStatus) { seen = append(seen, s) })
			id, err := host.CreateAgent(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(host.Agent(id)).To(HaveField("Status", timeline.AgentClosed))
			Expect(seen).To(Equal([]timeline.AgentStatus{timeline.AgentInitializing, timeline.AgentClosed}))
			t.End()
		})
	})

	It("that still starts a session is sent no turn", func(ctx SpecContext) {
		var sent error
		p.onStart = func(s fakeagent.SessionConfig) error {
			_, sent = host.SendTurn(ctx, s.ThreadID, "x")
			return nil
		}
		ready()
		_, err := host.CreateAgent(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(sent).To(MatchError("timelinekit: agent agent-1 is still starting; wait for CreateAgent"))
		Expect(t.End()).To(BeEmpty())
	})
	It("that cannot start a session leaves no agent behind, and the id may be used again", func(ctx SpecContext) {
		p.onStart = func(fakeagent.SessionConfig) error { return errors.New("no login") }
		ready()
		var seen []timeline.AgentStatus
		host.WatchStatus(func(_ string, s timeline.AgentStatus) { seen = append(seen, s) })
		_, err := host.CreateAgent(ctx, timelinekit.AgentID("mine"))
		Expect(err).To(MatchError("timelinekit: agent mine could not start: no login"))
		_, err = host.Agent("mine")
		Expect(err).To(MatchError(`timelinekit: no agent "mine"; this host has: none`))
		Expect(host.Dump()).To(BeEmpty())
		Expect(seen).To(Equal([]timeline.AgentStatus{timeline.AgentInitializing, timeline.AgentClosed}))
		p.onStart = nil
		Expect(host.CreateAgent(ctx, timelinekit.AgentID("mine"))).To(Equal("mine"))
		Expect(t.End()).To(BeEmpty())
	})

	Describe("by an interrupt", func() {
		It("that it acknowledges and does not obey: after two seconds that is an error, and the agent stays running", bubble.InBubble, func(ctx SpecContext) {
			t := aTest()
			p := &puppet{onInterrupt: func(string, string) error { return nil }}
			host := puppetHost(t, p)
			turn := host.StartPrompt(ctx, "x")
			began := time.Now()
			Expect(turn.Interrupt(ctx)).To(MatchError("timelinekit: agent agent-1 was interrupted, but its turn T1 goes on: the provider did not end it within 2s"))
			Expect(time.Since(began)).To(Equal(2 * time.Second))
			Expect(host.Agent(turn.AgentID)).To(HaveField("Status", timeline.AgentRunning))
			Expect(host.AgentTimeline(turn.AgentID).Len()).To(Equal(1), "nothing is invented")
			Expect(host.Violations()).To(HaveLen(1))
			p.emit(turn.AgentID, "T1", completed)
		})
		It("that it never acknowledges: after two seconds that is an error too, and the agent can be interrupted again", bubble.InBubble, func(ctx SpecContext) {
			t := aTest()
			release := make(chan struct{})
			defer close(release)
			p := &puppet{onInterrupt: func(string, string) error { <-release; return nil }}
			host := puppetHost(t, p)
			turn := host.StartPrompt(ctx, "x")
			for range 2 {
				began := time.Now()
				Expect(turn.Interrupt(ctx)).To(MatchError("timelinekit: agent agent-1 was interrupted, but its turn T1 goes on: the provider did not end it within 2s"))
				Expect(time.Since(began)).To(Equal(2 * time.Second))
			}
			Expect(host.Agent(turn.AgentID)).To(HaveField("Status", timeline.AgentRunning))
			Expect(host.Violations()).To(HaveLen(2))
			p.emit(turn.AgentID, "T1", completed)
			Expect(turn.Wait(ctx)).To(EndCompleted())
		})
		It("before it has accepted the turn: the interrupt waits until there is one", bubble.InBubble, func(ctx SpecContext) {
			t := aTest()
			p := &puppet{onSend: func(p *puppet, in fakeagent.TurnInput, id string) error {
				time.Sleep(time.Second)
				p.emit(in.ThreadID, id, event.TurnStarted{})
				return nil
			}}
			host := puppetHost(t, p)
			id, err := host.CreateAgent(ctx)
			Expect(err).NotTo(HaveOccurred())
			var turn *timelinekit.Turn
			var sent sync.WaitGroup
			sent.Go(func() { turn, _ = host.SendTurn(ctx, id, "x") })
			time.Sleep(100 * time.Millisecond)
			Expect(host.Interrupt(ctx, id)).To(Succeed())
			sent.Wait()
			Expect(turn.Wait(ctx)).To(EndCanceled())
		})
		It("that it refuses although it ends the turn: the turn is over, so that is no error", func(ctx SpecContext) {
			p.onInterrupt = func(threadID, turnID string) error {
				p.emit(threadID, turnID, completed)
				return errors.New("nothing to interrupt")
			}
			ready()
			turn := host.StartPrompt(ctx, "x")
			Expect(turn.Interrupt(ctx)).To(Succeed())
			Expect(turn.Wait(ctx)).To(EndCompleted())
			Expect(t.End()).To(BeEmpty())
		})
		It("that it refuses: the error is the caller's, and at once", bubble.InBubble, func(ctx SpecContext) {
			t := aTest()
			p := &puppet{onInterrupt: func(string, string) error { return errors.New("not now") }}
			host := puppetHost(t, p)
			turn := host.StartPrompt(ctx, "x")
			began := time.Now()
			Expect(turn.Interrupt(ctx)).To(MatchError("timelinekit: agent agent-1: not now"))
			Expect(time.Since(began)).To(BeZero())
			p.emit(turn.AgentID, "T1", completed)
			Expect(t.End()).To(BeEmpty())
		})
		It("that it refuses since the session is gone: the turn's end is on the way, and is waited for", bubble.InBubble, func(ctx SpecContext) {
			t := aTest()
			p := &puppet{}
			p.onInterrupt = func(threadID, _ string) error {
				time.AfterFunc(time.Second, func() { p.emit(threadID, "", event.SessionExited{}) })
				return fakeagent.ErrNoSession
			}
			host := puppetHost(t, p)
			turn := host.StartPrompt(ctx, "x")
			Expect(turn.Interrupt(ctx)).To(Succeed())
			Expect(turn.Wait(ctx)).To(EndFailed("the session exited"))
			Expect(t.End()).To(BeEmpty())
		})
		It("that it has no time to obey, as the caller's context ends first: that is no violation", bubble.InBubble, func(ctx SpecContext) {
			t := aTest()
			p := &puppet{onInterrupt: func(string, string) error { return nil }}
			host := puppetHost(t, p)
			turn := host.StartPrompt(ctx, "x")
			soon, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			began := time.Now()
			Expect(turn.Interrupt(soon)).To(MatchError("timelinekit: agent agent-1 was interrupted, but its turn T1 goes on: context deadline exceeded"))
			Expect(time.Since(began)).To(Equal(time.Second))
			p.emit(turn.AgentID, "T1", completed)
			Expect(t.End()).To(BeEmpty())
		})
		It("of a turn that is over: it does not hear of it", func(ctx SpecContext) {
			p.onInterrupt = func(string, string) error { panic("nothing runs") }
			ready()
			turn := host.StartPrompt(ctx, "x")
			p.emit(turn.AgentID, "T1", completed)
			Expect(turn.Interrupt(ctx)).To(Succeed())
			Expect(t.End()).To(BeEmpty())
		})
	})

	It("by a panic or by failing the test in a command is an error of who gave the command, at once", func(ctx SpecContext) {
		p.onStart = func(fakeagent.SessionConfig) error { panic("no credit left") }
		ready()
		_, err := host.CreateAgent(ctx)
		Expect(err).To(MatchError(And(HavePrefix("timelinekit: agent agent-1 could not start: provider puppet: it panicked: no credit left\n"), ContainSubstring("provider_test.go:"))))
		p.onStart = func(fakeagent.SessionConfig) error { runtime.Goexit(); return nil }
		_, err = host.CreateAgent(ctx)
		Expect(err).To(MatchError("timelinekit: agent agent-2 could not start: provider puppet: it called runtime.Goexit, as t.FailNow and t.Fatal do"))
		Expect(t.End()).To(BeEmpty())
	})

	Describe("by not returning", func() {
		// stuck blocks a call until the bubble's end.
		stuck := func(release <-chan struct{}) func() { return func() { <-release } }

		It("hangs no command for more than 30 seconds where the caller set no deadline", bubble.InBubble, func(ctx SpecContext) {
			t := aTest()
			release := make(chan struct{})
			defer close(release)
			p := &puppet{onStart: func(fakeagent.SessionConfig) error { <-release; return nil }}
			host := puppetHost(t, p)
			began := time.Now()
			_, err := host.CreateAgent(ctx)
			Expect(err).To(MatchError("timelinekit: agent agent-1 could not start: provider puppet: " +
				"gave up after 30s; give a context with a deadline to wait longer or shorter: context deadline exceeded"))
			Expect(time.Since(began)).To(Equal(30 * time.Second))
		})
		It("hangs neither the helpers' messages nor the test's end, which names what has not ended", bubble.InBubble, func(ctx SpecContext) {
			t := aTest()
			release := make(chan struct{})
			defer close(release)
			p := &puppet{onRead: stuck(release), onStop: func(string) error { <-release; return nil }}
			host := puppetHost(t, p)
			a, b := host.StartPrompt(ctx, "x"), host.StartPrompt(ctx, "x")
			soon, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			began := time.Now()
			_, err := a.Await(soon)
			Expect(err).To(MatchError(ContainSubstring("agent agent-1 is running\n  0 user_message")))
			Expect(time.Since(began)).To(Equal(2*time.Second), "a second for the caller, and one for the provider to say what it does")
			began = time.Now()
			Expect(t.End()).To(HaveExactElements(And(
				ContainSubstring("agent agent-1 could not be stopped: provider puppet: context deadline exceeded"),
				ContainSubstring("the turn of agent agent-2 has not ended within 10s of the test's end"))))
			Expect(time.Since(began)).To(Equal(10 * time.Second))
			_ = b
		})
	})
})

// contexts keeps the context of the last turn. If it is slow it starts a session only when the context for that ends.
type contexts struct {
	*puppet
	turn context.Context
	slow bool
	off  bool // it was unsubscribed from
}

func (c *contexts) StartSession(ctx context.Context, _ fakeagent.SessionConfig) error {
	if c.slow {
		<-ctx.Done()
	}
	return ctx.Err()
}

func (c *contexts) Subscribe(fn func(event.Event)) func() {
	c.puppet.Subscribe(fn)
	return func() { c.off = true }
}

func (c *contexts) SendTurn(ctx context.Context, in fakeagent.TurnInput) (string, error) {
	c.turn = ctx
	return c.puppet.SendTurn(ctx, in)
}

var _ = Describe("The end of a test", func() {
	It("interrupts what still runs, and waits for it", func(ctx SpecContext) {
		t := &recorder.T{}
		host := timelinekit.NewHost(t)
		turn := host.StartFakeAgentTurn(ctx, script.New(script.BashRun("sleep 60")))
		other := host.StartFakeAgentTurn(ctx, script.New(script.Sleep(time.Hour)))
		Expect(t.End()).To(BeEmpty())
		Expect(turn.Wait(ctx)).To(EndCanceled())
		Expect(other.Wait(ctx)).To(EndCanceled())
	})
	It("names an agent of the kit that does not end, and where it is, as behind a watcher that never returns", bubble.InBubble, func(ctx SpecContext) {
		t := aTest()
		release := make(chan struct{})
		defer close(release)
		host := timelinekit.NewHost(t)
		host.WatchStatus(func(_ string, s timeline.AgentStatus) {
			if s == timeline.AgentRunning {
				<-release
			}
		})
		host.StartPrompt(ctx, "x")
		began := time.Now()
		Expect(t.End()).To(Equal([]string{"timelinekit: at the end of the test:\n" +
			"  provider fake-agent has not ended within 10s:\n" +
			"thread agent-1 is in the choice of its script\n  agent-1-turn-1\n    0 user_message \"x\""}))
		Expect(time.Since(began)).To(Equal(10 * time.Second))
	})
	It("stops the agents of a provider that is not the kit's, and takes no longer than they do", bubble.InBubble, func(ctx SpecContext) {
		t := aTest()
		host := puppetHost(t, &puppet{})
		turn := host.StartPrompt(ctx, "x")
		began := time.Now()
		Expect(t.End()).To(BeEmpty())
		Expect(time.Since(began)).To(BeZero())
		Expect(turn.Wait(ctx)).To(EndFailed("the session exited"))
	})
	It("is content with a provider whose session is gone already", func(ctx SpecContext) {
		t := &recorder.T{}
		host := puppetHost(t, &puppet{onStop: func(string) error { return fakeagent.ErrNoSession }})
		_, err := host.CreateAgent(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(t.End()).To(BeEmpty())
	})
	It("is the end of the context that a provider got for its turns", func(ctx SpecContext) {
		t := &recorder.T{}
		p := &contexts{puppet: &puppet{}}
		host := timelinekit.NewHost(t, timelinekit.WithProvider("p", p))
		host.StartPrompt(ctx, "x")
		Expect(p.turn.Err()).NotTo(HaveOccurred())
		Expect(t.End()).To(BeEmpty())
		Expect(p.turn.Err()).To(MatchError(context.Canceled))
		Expect(p.off).To(BeTrue(), "and the host no longer listens")
	})
	It("is also the end of what a provider still does for somebody", bubble.InBubble, func(ctx SpecContext) {
		t := aTest()
		host := timelinekit.NewHost(t, timelinekit.WithProvider("p", &contexts{puppet: &puppet{}, slow: true}))
		created := make(chan error)
		began := time.Now()
		go func() {
			_, err := host.CreateAgent(ctx)
			created <- err
		}()
		time.Sleep(time.Second)
		t.End()
		Expect(<-created).To(MatchError(context.Canceled))
		Expect(time.Since(began)).To(Equal(time.Second))
	})
	It("names the holds that nobody released, whoever made the provider", func(ctx SpecContext) {
		for _, opts := range [][]timelinekit.Option{nil, {timelinekit.WithProvider("mine", fakeagent.NewT(GinkgoT(), fakeagent.Scripted()))}} {
			t := &recorder.T{}
			host := timelinekit.NewHost(t, opts...)
			turn := host.StartFakeAgentTurn(ctx, script.New(script.Hold("g")))
			Expect(turn.Gate("g").AwaitHeld(ctx)).To(Succeed())
			Expect(t.End()).To(HaveExactElements(ContainSubstring(`still held at gate "g"; call Release on it, or interrupt the turn`)))
		}
	})
	It("closes the host: it takes no new agents, turns and providers", func(ctx SpecContext) {
		t := &recorder.T{}
		host := timelinekit.NewHost(t)
		run := host.RunPrompt(ctx, "x")
		t.End()
		_, err := host.CreateAgent(ctx)
		Expect(err).To(MatchError("timelinekit: the host is closed, as its test is over"))
		_, err = host.SendTurn(ctx, run.AgentID, "x")
		Expect(err).To(MatchError("timelinekit: the host is closed, as its test is over"))
		_, err = host.Register("late", &puppet{})
		Expect(err).To(MatchError("timelinekit: the host is closed, as its test is over"))
	})
	It("takes nothing new while it is under way either", func(ctx SpecContext) {
		t := &recorder.T{}
		host := puppetHost(t, &puppet{})
		id, err := host.CreateAgent(ctx)
		Expect(err).NotTo(HaveOccurred())
		host.WatchStatus(func(_ string, s timeline.AgentStatus) {
			if s == timeline.AgentClosed {
				_, err = host.CreateAgent(ctx)
			}
		})
		Expect(t.End()).To(BeEmpty())
		Expect(err).To(MatchError(ContainSubstring("the host is closed")))
		_ = id
	})
	It("also cleans up after a host that could not be made", func() {
		t := &recorder.T{}
		Expect(func() {
			timelinekit.NewHost(t, timelinekit.WithProvider("a", &puppet{}), timelinekit.WithProvider("a", &puppet{}))
		}).To(PanicWith(ContainSubstring(`there is a provider "a" already`)))
		Expect(t.Cleanups()).To(Equal(1))
		Expect(t.End()).To(BeEmpty())
	})
})
