package timelinekit_test

import (
	"context"
	"errors"
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

var _ = Describe("What an agent asks", func() {
	var host *timelinekit.Host
	BeforeEach(func() { host = timelinekit.NewHost(GinkgoT()) })

	approval := script.New(script.Ask(script.Approval{
		Title: "rm -rf build",
		Allow: []script.Step{script.Say("gone")},
		Deny:  []script.Step{script.Say("left alone")},
	}))

	Describe("an approval", func() {
		It("is awaited without polling, and answered", func(ctx SpecContext) {
			turn := host.StartFakeAgentTurn(ctx, approval)
			req, err := turn.AwaitRequest(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(req).To(Equal(timelinekit.Request{
				ID: "req-1", AgentID: turn.AgentID, TurnID: turn.TurnID, CallID: "t-1-1",
				Type: "command_execution_approval", Title: "rm -rf build", Blocking: true, Open: true,
				Options: []fakeagent.Decision{}}))
			Expect(host.AgentTimeline(turn.AgentID)).To(ContainItems(BeShellCall("rm -rf build", WithStatus(timeline.Running))))
			Expect(host.Respond(ctx, turn.AgentID, req.ID, fakeagent.Decline)).To(Succeed())
			Expect(turn.Wait(ctx)).To(And(EndCompleted(), HaveItems(
				BeShellCall("rm -rf build", WithError("declined by the user")), BeAssistantMessage("left alone"))))
			Expect(host.Requests(turn.AgentID)).To(HaveExactElements(And(
				HaveField("Open", false), HaveField("Decision", "decline"), HaveField("Reason", "answered"))))
			Expect(host.Respond(ctx, turn.AgentID, req.ID, "")).To(MatchError(ContainSubstring("the decision is empty")))
		})
		It("is one of several, each answered by its own id and in any order", func(ctx SpecContext) {
			turn := host.StartFakeAgentTurn(ctx, script.New(script.Ask(script.Approval{Title: "one"}, script.Approval{Title: "two"})))
			Expect(host.WaitFor(ctx, turn.AgentID, ContainItems(BeShellCall("two")))).To(Succeed())
			Eventually(func() error { return host.Respond(ctx, turn.AgentID, "req-2", fakeagent.Decline) }).Should(Succeed())
			req, err := turn.AwaitRequest(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(req.ID).To(Equal("req-1"), "the one that is still open")
			Expect(host.Respond(ctx, turn.AgentID, "req-1", fakeagent.Accept)).To(Succeed())
			Expect(turn.Wait(ctx)).To(HaveItems(
				BeShellCall("one", WithStatus(timeline.Completed)), BeShellCall("two", WithError("declined by the user"))))
		})
		It("answered twice is an error the second time, and one that was never asked is one too", func(ctx SpecContext) {
			turn := host.StartFakeAgentTurn(ctx, approval)
			req, err := turn.AwaitRequest(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(host.Respond(ctx, turn.AgentID, req.ID, fakeagent.Accept)).To(Succeed())
			Expect(host.Respond(ctx, turn.AgentID, req.ID, fakeagent.Accept)).To(And(
				MatchError(fakeagent.ErrUnknownRequest),
				MatchError(`timelinekit: no open request "req-1" of agent agent-1: it was closed before (answered)`)))
			Expect(host.Respond(ctx, turn.AgentID, "req-7", fakeagent.Accept)).To(And(
				MatchError(fakeagent.ErrUnknownRequest),
				MatchError(`timelinekit: no open request "req-7": agent agent-1 never asked it`)))
			turn.Wait(ctx)
		})
		It("is no question: an answer of the wrong kind says what is right", func(ctx SpecContext) {
			turn := host.StartFakeAgentTurn(ctx, approval)
			req, err := turn.AwaitRequest(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(host.Answer(ctx, turn.AgentID, req.ID, nil)).To(MatchError("timelinekit: request req-1 of agent agent-1 is an approval; use Respond"))
			Expect(host.Respond(ctx, turn.AgentID, req.ID, fakeagent.Accept)).To(Succeed())
			turn.Wait(ctx)
		})
		It("stays open after an answer that is not on offer", func(ctx SpecContext) {
			turn := host.StartFakeAgentTurn(ctx, approval)
			req, err := turn.AwaitRequest(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(host.Respond(ctx, turn.AgentID, req.ID, "perhaps")).To(MatchError(ContainSubstring(`not "perhaps"`)))
			Expect(host.Respond(ctx, turn.AgentID, req.ID, fakeagent.Accept)).To(Succeed())
			turn.Wait(ctx)
		})
		It("is closed by the agent when the turn is interrupted", func(ctx SpecContext) {
			turn := host.StartFakeAgentTurn(ctx, approval)
			_, err := turn.AwaitRequest(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(turn.Interrupt(ctx)).To(Succeed())
			Expect(turn.Wait(ctx)).To(And(EndCanceled(), HaveItems(BeShellCall("rm -rf build", WithError("canceled")))))
			Expect(host.Requests(turn.AgentID)).To(HaveExactElements(And(
				HaveField("Open", false), HaveField("Reason", "closed by the agent"), HaveField("Decision", "cancel"))))
		})
		It("that never comes is an error which shows how the turn ended", func(ctx SpecContext) {
			turn := host.StartPrompt(ctx, "hello")
			_, err := turn.AwaitRequest(ctx)
			Expect(err).To(MatchError(HavePrefix("timelinekit: turn agent-1-turn-1 ended completed, and no request of it is open:\n  0 user_message")))
		})
		It("is awaited up to the very moment when it comes", bubble.InBubble, func(ctx SpecContext) {
			t := aTest()
			p := &puppet{}
			host := puppetHost(t, p)
			turn := host.StartPrompt(ctx, "x")
			began := time.Now()
			time.AfterFunc(7*time.Second, func() {
				p.send(event.Event{ThreadID: turn.AgentID, TurnID: turn.TurnID, RequestID: "r", Payload: event.RequestOpened{}})
			})
			Expect(turn.AwaitRequest(ctx)).To(HaveField("ID", "r"))
			Expect(time.Since(began)).To(Equal(7 * time.Second))
		})
		It("that does not come in time is an error which shows where the agent is", bubble.InBubble, func(ctx SpecContext) {
			t := aTest()
			host := timelinekit.NewHost(t)
			turn := host.StartFakeAgentTurn(ctx, script.New(script.Sleep(time.Hour)))
			began := time.Now()
			_, err := turn.AwaitRequest(ctx)
			Expect(time.Since(began)).To(Equal(30 * time.Second))
			Expect(err).To(And(MatchError(context.DeadlineExceeded), MatchError(ContainSubstring(`in step 1 {"sleep":3600000}`))))
		})
	})

	Describe("of a provider that asks what no script can", func() {
		var (
			p    *puppet
			t    *recorder.T
			turn *timelinekit.Turn
		)
		BeforeEach(func(ctx SpecContext) {
			p, t = &puppet{}, &recorder.T{}
			host = puppetHost(t, p)
			turn = host.StartPrompt(ctx, "x")
			p.send(event.Event{ThreadID: turn.AgentID, TurnID: turn.TurnID, RequestID: "q1", Payload: event.UserInputRequested{
				Questions: []event.Question{{ID: "color", Question: "Which color?"}}}})
			p.send(event.Event{ThreadID: turn.AgentID, TurnID: turn.TurnID, RequestID: "q2", Payload: event.UserInputRequested{ResponseMode: "message"}})
			DeferCleanup(func() { Expect(t.End()).To(BeEmpty()) })
		})
		end := func() {
			p.emit(turn.AgentID, turn.TurnID, event.TurnCompleted{State: event.TurnEndCompleted})
		}

		It("is no approval: an answer of the wrong kind says what is right", func(ctx SpecContext) {
			Expect(host.Respond(ctx, turn.AgentID, "q1", fakeagent.Accept)).To(MatchError("timelinekit: request q1 of agent agent-1 is a question; use Answer"))
			end()
		})
		It("takes the answers to a question", func(ctx SpecContext) {
			req, err := turn.AwaitRequest(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(req.Questions).To(HaveExactElements(HaveField("ID", "color")))
			Expect(host.Answer(ctx, turn.AgentID, req.ID, map[string]any{"color": "red"})).To(Succeed())
			Expect(host.Answer(ctx, turn.AgentID, req.ID, nil)).To(MatchError(fakeagent.ErrUnknownRequest))
			end()
		})
		It("closes a question that blocks at the turn's end as denied, and leaves one open that does not", func(ctx SpecContext) {
			end()
			Expect(host.Requests(turn.AgentID)).To(HaveExactElements(
				And(HaveField("ID", "q1"), HaveField("Open", false), HaveField("Reason", "turn ended"), HaveField("Decision", "decline")),
				And(HaveField("ID", "q2"), HaveField("Open", true))))
			Expect(host.Answer(ctx, turn.AgentID, "q1", nil)).To(MatchError(ContainSubstring("it was closed before (turn ended)")))
		})
		It("refuses a second answer while the first one is on its way, and awaits another request meanwhile", func(ctx SpecContext) {
			p.onRespond = func(requestID string) error {
				defer GinkgoRecover()
				p.onRespond = nil
				Expect(host.Answer(ctx, turn.AgentID, requestID, nil)).To(And(
					MatchError(fakeagent.ErrUnknownRequest),
					MatchError(`timelinekit: no open request "q1" of agent agent-1: it is being answered already`)))
				Expect(turn.AwaitRequest(ctx)).To(HaveField("ID", "q2"))
				return nil
			}
			Expect(host.Answer(ctx, turn.AgentID, "q1", nil)).To(Succeed())
			end()
		})
		It("takes the provider's word for what became of a request, and ignores it for one that was never asked or is closed", func(ctx SpecContext) {
			tell := func(requestID string, payload event.Payload) {
				p.send(event.Event{ThreadID: turn.AgentID, TurnID: turn.TurnID, RequestID: requestID, Payload: payload})
			}
			tell("r1", event.RequestOpened{RequestType: "command_execution_approval", Detail: "rm"})
			p.onRespond = func(requestID string) error {
				tell(requestID, event.RequestResolved{Decision: "acceptForSession"})
				return nil
			}
			Expect(host.Respond(ctx, turn.AgentID, "r1", fakeagent.Accept)).To(Succeed())
			tell("r1", event.RequestResolved{Decision: "decline"})
			tell("r9", event.RequestResolved{Decision: "decline"})
			tell("q2", event.UserInputResolved{})
			Expect(host.Requests(turn.AgentID)).To(HaveExactElements(
				And(HaveField("ID", "q1"), HaveField("Open", true)),
				And(HaveField("ID", "q2"), HaveField("Open", false), HaveField("Reason", "closed by the agent"), HaveField("Decision", "")),
				And(HaveField("ID", "r1"), HaveField("Open", false), HaveField("Reason", "answered"), HaveField("Decision", "acceptForSession"))))
			end()
		})
		It("has a turn await its own requests only", func(ctx SpecContext) {
			end()
			next, err := host.SendTurn(ctx, turn.AgentID, "y")
			Expect(err).NotTo(HaveOccurred())
			p.send(event.Event{ThreadID: turn.AgentID, TurnID: next.TurnID, RequestID: "q3", Payload: event.RequestOpened{
				RequestType: "file_change_approval", Detail: "write x", Options: []string{"accept", "decline"}}})
			Expect(next.AwaitRequest(ctx)).To(Equal(timelinekit.Request{ID: "q3", AgentID: turn.AgentID, TurnID: next.TurnID,
				Type: "file_change_approval", Title: "write x", Options: []fakeagent.Decision{fakeagent.Accept, fakeagent.Decline}, Blocking: true, Open: true}))
			p.emit(turn.AgentID, next.TurnID, event.TurnCompleted{State: event.TurnEndCompleted})
			Expect(host.Requests(turn.AgentID)).To(HaveExactElements(HaveField("Open", false), HaveField("Open", true), HaveField("Open", false)))
		})
		It("prints its requests, also those that are closed", func(ctx SpecContext) {
			end()
			Expect(host.Dump()).To(HaveSuffix("\n    question q1 is closed (turn ended) decline\n    question q2 is open"))
		})
		It("keeps a question open where the provider could not take the answer, also after the turn", func(ctx SpecContext) {
			end()
			p.onRespond = func(string) error { return errors.New("busy, try again") }
			Expect(host.Answer(ctx, turn.AgentID, "q2", nil)).To(MatchError("timelinekit: agent agent-1: busy, try again"))
			p.onRespond = nil
			Expect(host.Answer(ctx, turn.AgentID, "q2", nil)).To(Succeed())
		})
	})
})
