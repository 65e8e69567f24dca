package fakeagent_test

import (
	"context"
	"fmt"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("An approval", func() {
	var a *agent
	ctx := context.Background()
	BeforeEach(func() { a = scripted() })

	// answering gives each request the decision for its title, from inside the event that opens it.
	answering := func(decisions map[string]fakeagent.Decision) {
		a.Subscribe(func(e event.Event) {
			if r, ok := e.Payload.(event.RequestOpened); ok && decisions[r.Detail] != "" {
				defer GinkgoRecover()
				Expect(a.RespondToRequest(ctx, e.ThreadID, e.RequestID, decisions[r.Detail])).To(Succeed())
			}
		})
	}
	const ask = `[{"approval":{"title":"rm -rf build","allow":[{"say":"gone"}],"deny":[{"say":"left alone"}]}},{"say":"end"}]`

	It("opens the row of its tool, then the request that refers to it, and settles the row after the branch has played", func() {
		answering(map[string]fakeagent.Decision{"rm -rf build": fakeagent.Accept})
		a.run(ask)
		Expect(a.types()[1:]).To(Equal([]string{"turn.started", "item.started", "request.opened", "request.resolved", "content.delta", "item.completed", "content.delta", "turn.completed"}))
		for _, e := range a.seen()[2:5] {
			Expect(e.ItemID).To(Equal("t-1-1"))
		}
		Expect(a.seen()[2].Payload).To(HaveField("Item.Data", timeline.Shell{Command: "rm -rf build", Cwd: a.cwd}))
		Expect(a.seen()[3]).To(And(
			HaveField("RequestID", "req-1"),
			HaveField("Payload", event.RequestOpened{RequestType: "command_execution_approval", Detail: "rm -rf build"})))
		Expect(a.seen()[4]).To(HaveField("Payload", event.RequestResolved{RequestType: "command_execution_approval", Decision: "accept"}))
	})

	DescribeTable("plays the branch that the answer picks",
		func(d fakeagent.Decision, want ...any) {
			answering(map[string]fakeagent.Decision{"rm -rf build": d})
			Expect(a.run(ask)).To(And(EndCompleted(), HaveItems(want...)))
		},
		Entry("when accepted", fakeagent.Accept, BeShellCall("rm -rf build", WithStatus(timeline.Completed)), BeAssistantMessage("gone"), BeAssistantMessage("end")),
		Entry("when accepted for the session", fakeagent.AcceptForSession, BeShellCall("rm -rf build", WithStatus(timeline.Completed)), BeAssistantMessage("gone"), BeAssistantMessage("end")),
		Entry("when declined", fakeagent.Decline, BeShellCall("rm -rf build", WithError("declined by the user")), BeAssistantMessage("left alone"), BeAssistantMessage("end")),
	)
	It("has its item declined in the events when the user declined, and not merely failed", func() {
		answering(map[string]fakeagent.Decision{"rm -rf build": fakeagent.Decline})
		a.run(ask)
		Expect(a.seen()).To(ContainElement(HaveField("Payload", And(
			BeAssignableToTypeOf(event.ItemCompleted{}), HaveField("Item.Status", event.Declined), HaveField("Item.Error", "declined by the user")))))
	})
	It("cancels the turn when the answer is cancel", func() {
		answering(map[string]fakeagent.Decision{"rm -rf build": fakeagent.Cancel})
		Expect(a.run(ask)).To(And(EndCanceled(), HaveItems(BeShellCall("rm -rf build", WithError("canceled")))))
		Expect(a.types()).To(ContainElement("request.resolved"))
	})
	It("is a failed tool call when nobody answers in time, and the turn goes on with neither branch", bubble.InBubble, func(ctx SpecContext) {
		cfg := fakeagent.Scripted()
		cfg.Speed = 100
		a := start(cfg, "")
		defer a.Close()
		began := time.Now()
		run := a.run(`[{"approval":{"title":"rm","timeoutMs":5000,"allow":[{"say":"a"}],"deny":[{"say":"d"}]}},{"say":"end"}]`)
		Expect(time.Since(began)).To(Equal(5*time.Second), "a timeout is no scripted wait")
		Expect(run).To(And(EndCompleted(), HaveItems(
			BeShellCall("rm", WithError("no answer to the approval after 5s")), BeAssistantMessage("end"))))
		Expect(a.seen()).To(ContainElement(HaveField("Payload", event.RequestResolved{RequestType: "command_execution_approval", Decision: "timeout"})))
		Expect(a.RespondToRequest(ctx, "a", "req-1", fakeagent.Accept)).To(MatchError(fakeagent.ErrUnknownRequest))
	})

	It("is resolved before its row is settled, also where the turn is interrupted", func() {
		id := a.send(ask)
		Eventually(a.types).Should(ContainElement("request.opened"))
		Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
		a.wait(id)
		Expect(a.types()[1:]).To(Equal([]string{"turn.started", "item.started", "request.opened", "request.resolved", "item.completed", "turn.completed"}))
		Expect(a.seen()[4]).To(HaveField("Payload", event.RequestResolved{RequestType: "command_execution_approval", Decision: "cancel"}))
	})
	DescribeTable("settles its row as canceled where the turn is interrupted at the end of its branch", bubble.InBubble,
		func(ctx SpecContext, last string) {
			a := start(fakeagent.Scripted(), "")
			defer a.Close()
			id := a.send(`[{"approval":{"title":"rm","allow":[` + last + `]}},{"say":"never"}]`)
			synctest.Wait()
			Expect(a.RespondToRequest(ctx, "a", "req-1", fakeagent.Accept)).To(Succeed())
			synctest.Wait()
			Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
			Expect(a.wait(id)).To(And(EndCanceled(), ContainItems(BeShellCall("rm", WithError("canceled")))))
		},
		Entry("in a sleep", `{"sleep":3600000}`),
		Entry("in a hold", `{"hold":"g"}`),
		Entry("in a tool call", `{"tool":{"name":"t","holdMs":3600000}}`),
		Entry("in another approval", `{"approval":{"title":"mv"}}`),
	)

	Describe("whose tool is held", bubble.InBubble, func() {
		// times are the events of the turn, each with the second at which it came.
		times := func(a *agent, began time.Time) (out []string) {
			for _, e := range a.seen()[1:] {
				at := e.Time.Sub(began).Truncate(time.Second)
				switch p := e.Payload.(type) {
				case event.RequestResolved:
					out = append(out, fmt.Sprintf("%v %s %s %s", at, p.Type(), e.RequestID, p.Decision))
				case event.TurnCompleted:
					out = append(out, fmt.Sprintf("%v %s %s", at, p.Type(), p.State))
				default:
					out = append(out, strings.TrimSpace(fmt.Sprintf("%v %s %s%s", at, p.Type(), e.ItemID, e.RequestID)))
				}
			}
			return out
		}
		// answers gives each request its decision a second after it was opened; "" is none.
		answers := func(ctx context.Context, a *agent, decisions ...fakeagent.Decision) {
			a.Subscribe(func(e event.Event) {
				if _, ok := e.Payload.(event.RequestOpened); !ok {
					return
				}
				var d fakeagent.Decision
				if d, decisions = decisions[0], decisions[1:]; d != "" {
					time.AfterFunc(time.Second, func() { _ = a.RespondToRequest(ctx, "a", e.RequestID, d) })
				}
			})
		}
		begin := func() (a *agent, began time.Time) {
			GinkgoHelper()
			a = start(fakeagent.Scripted(), "")
			return a, time.Now()
		}
		const held = `[{"approval":{"title":"rm","tool":{"name":"Delete","holdMs":3000,"output":"gone"},"allow":[{"say":"yes"}]}}]`
		const two = `[{"approval":[{"title":"one","timeoutMs":60000},{"title":"two","tool":{"name":"T","holdMs":10000}}]}]`

		It("has its row in progress for that time, and then the request", func(ctx SpecContext) {
			a, began := begin()
			defer a.Close()
			answers(ctx, a, fakeagent.Accept)
			Expect(a.run(held)).To(And(EndCompleted(), HaveItems(BeToolCall("Delete", WithStatus(timeline.Completed)), BeAssistantMessage("yes"))))
			Expect(times(a, began)).To(Equal([]string{
				"0s turn.started", "0s item.started t-1-1", "3s request.opened t-1-1req-1", "4s request.resolved req-1 accept",
				"4s content.delta a-1-2", "4s item.completed t-1-1", "4s turn.completed completed",
			}))
		})
		It("is held for a scripted time, which the speed divides, and has its timeout from the question on", func() {
			cfg := fakeagent.Scripted()
			cfg.Speed = 3
			a := start(cfg, "")
			defer a.Close()
			began := time.Now()
			a.run(`[{"approval":{"title":"rm","tool":{"name":"Delete","holdMs":3000},"timeoutMs":5000}}]`)
			Expect(times(a, began)).To(Equal([]string{
				"0s turn.started", "0s item.started t-1-1", "1s request.opened t-1-1req-1", "6s request.resolved req-1 timeout",
				"6s item.completed t-1-1", "6s turn.completed completed",
			}))
		})
		It("is settled as canceled where the turn is interrupted meanwhile; nobody is asked", func(ctx SpecContext) {
			a, began := begin()
			defer a.Close()
			id := a.send(held)
			time.Sleep(2 * time.Second)
			Expect(a.RespondToRequest(ctx, "a", "req-1", fakeagent.Accept)).To(MatchError(fakeagent.ErrUnknownRequest))
			Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
			Expect(a.wait(id)).To(And(EndCanceled(), HaveItems(BeToolCall("Delete", WithError("canceled")))))
			Expect(times(a, began)).To(Equal([]string{
				"0s turn.started", "0s item.started t-1-1", "2s item.completed t-1-1", "2s turn.completed interrupted",
			}))
			Expect(a.seen()).To(BeWellFormed())
		})
		It("is asked about after those before it in its list, whose answers are told when they come", func(ctx SpecContext) {
			a, began := begin()
			defer a.Close()
			answers(ctx, a, fakeagent.Decline, fakeagent.Accept)
			Expect(a.run(two)).To(EndCompleted())
			Expect(times(a, began)).To(Equal([]string{
				"0s turn.started", "0s item.started t-1-1", "0s request.opened t-1-1req-1", "0s item.started t-1-2",
				"1s request.resolved req-1 decline", "10s request.opened t-1-2req-2", "11s request.resolved req-2 accept",
				"11s item.completed t-1-1", "11s item.completed t-1-2", "11s turn.completed completed",
			}))
		})
		It("is not asked about where one before it in its list is canceled meanwhile", func(ctx SpecContext) {
			a, began := begin()
			defer a.Close()
			answers(ctx, a, fakeagent.Cancel)
			Expect(a.run(two)).To(EndCanceled())
			Expect(times(a, began)).To(Equal([]string{
				"0s turn.started", "0s item.started t-1-1", "0s request.opened t-1-1req-1", "0s item.started t-1-2",
				"1s request.resolved req-1 cancel", "1s item.completed t-1-1", "1s item.completed t-1-2", "1s turn.completed interrupted",
			}))
			Expect(a.seen()).To(BeWellFormed())
		})
		It("is interrupted together with those before it that wait for their answers", func(ctx SpecContext) {
			a, began := begin()
			defer a.Close()
			answers(ctx, a, "")
			id := a.send(two)
			time.Sleep(5 * time.Second)
			Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
			a.wait(id)
			Expect(times(a, began)).To(Equal([]string{
				"0s turn.started", "0s item.started t-1-1", "0s request.opened t-1-1req-1", "0s item.started t-1-2",
				"5s request.resolved req-1 cancel", "5s item.completed t-1-1", "5s item.completed t-1-2", "5s turn.completed interrupted",
			}))
		})
	})

	It("is not opened any more where the turn was interrupted before", func() {
		a.Subscribe(func(e event.Event) {
			if _, ok := e.Payload.(event.ItemStarted); ok {
				_ = a.InterruptTurn(ctx, "a", "")
			}
		})
		Expect(a.run(`[{"approval":[{"title":"one"},{"title":"two"}]}]`)).To(And(EndCanceled(), HaveItems(BeShellCall("one", WithError("canceled")))))
		Expect(a.types()[1:]).To(Equal([]string{"turn.started", "item.started", "item.completed", "turn.completed"}))
	})
	It("has the answers told that came before an interrupt, in the order in which they came", func() {
		a.Subscribe(func(e event.Event) {
			if _, ok := e.Payload.(event.RequestOpened); ok && e.RequestID == "req-2" {
				_ = a.RespondToRequest(ctx, "a", "req-2", fakeagent.Decline)
				_ = a.InterruptTurn(ctx, "a", "")
			}
		})
		Expect(a.run(`[{"approval":[{"title":"one"},{"title":"two"}]}]`)).To(EndCanceled())
		var resolved []string
		for _, e := range a.seen() {
			if r, ok := e.Payload.(event.RequestResolved); ok {
				resolved = append(resolved, e.RequestID+" "+r.Decision)
			}
		}
		Expect(resolved).To(Equal([]string{"req-2 decline", "req-1 cancel"}))
	})

	Describe("a list of them", func() {
		const two = `[{"approval":[
			{"title":"rm","allow":[{"say":"removed"}]},
			{"title":"write x","type":"file_change_approval","tool":{"name":"Write","detail":{"type":"write","filePath":"/x","content":"y"}},"deny":[{"say":"not written"}]}]}]`
		It("opens all before it waits, takes the answers in any order, and plays the branches in its own", func() {
			id := a.send(two)
			Eventually(a.types).Should(ContainElements("request.opened", "request.opened"))
			Eventually(func() error { return a.RespondToRequest(ctx, "a", "req-2", fakeagent.Decline) }).Should(Succeed())
			Eventually(a.types).Should(ContainElement("request.resolved"))
			Expect(a.deltas()).To(BeEmpty(), "the first one is not answered yet")
			Expect(a.RespondToRequest(ctx, "a", "req-1", fakeagent.Accept)).To(Succeed())
			Expect(a.wait(id)).To(And(EndCompleted(), HaveItems(
				BeShellCall("rm", WithStatus(timeline.Completed)), BeToolCall("Write", WithError("declined by the user")),
				BeAssistantMessage("removed"), BeAssistantMessage("not written"))))
		})
		It("settles every row where a branch ends the turn", func() {
			answering(map[string]fakeagent.Decision{"one": fakeagent.Accept, "two": fakeagent.Accept})
			Expect(a.run(`[{"approval":[{"title":"one","allow":[{"fail":"no"}]},{"title":"two"}]}]`)).To(And(EndFailed("no"), HaveItems(
				BeShellCall("one", WithError("no")), BeShellCall("two", WithError("canceled")), BeErrorItem("no"))))
		})
		It("cancels the turn when one is canceled, and closes the others", func() {
			answering(map[string]fakeagent.Decision{"write x": fakeagent.Cancel})
			Expect(a.run(two)).To(And(EndCanceled(), HaveItems(
				BeShellCall("rm", WithError("canceled")), BeToolCall("Write", WithError("canceled")))))
			Expect(a.RespondToRequest(ctx, "a", "req-1", fakeagent.Accept)).To(MatchError(fakeagent.ErrUnknownRequest))
			resolved := 0
			for _, typ := range a.types() {
				if typ == "request.resolved" {
					resolved++
				}
			}
			Expect(resolved).To(Equal(2), "each request is resolved once")
		})
	})

	Describe("an answer", func() {
		It("to a request that was never opened is an error", func() {
			Expect(a.RespondToRequest(ctx, "a", "req-9", fakeagent.Accept)).To(And(
				MatchError(fakeagent.ErrUnknownRequest), MatchError(`fakeagent: no open request "req-9" in thread a: it was never asked`)))
		})
		It("given twice is an error the second time", func() {
			id := a.send(ask)
			Eventually(a.types).Should(ContainElement("request.opened"))
			Expect(a.RespondToRequest(ctx, "a", "req-1", fakeagent.Accept)).To(Succeed())
			Expect(a.RespondToRequest(ctx, "a", "req-1", fakeagent.Decline)).To(MatchError(fakeagent.ErrUnknownRequest))
			Expect(a.wait(id)).To(ContainItems(BeAssistantMessage("gone")))
		})
		It("that is not on offer is an error, and the request stays open", func() {
			id := a.send(`[{"approval":{"title":"rm","options":["accept","decline"]}}]`)
			Eventually(a.types).Should(ContainElement("request.opened"))
			Expect(a.seen()).To(ContainElement(HaveField("Payload", event.RequestOpened{
				RequestType: "command_execution_approval", Detail: "rm", Options: []string{"accept", "decline"}})))
			Expect(a.RespondToRequest(ctx, "a", "req-1", "maybe")).To(MatchError(`fakeagent: request req-1 offers accept, decline, cancel, not "maybe"`))
			Expect(a.RespondToRequest(ctx, "a", "req-1", fakeagent.AcceptForSession)).To(MatchError(ContainSubstring("not")))
			Expect(a.RespondToRequest(ctx, "a", "req-1", fakeagent.Decline)).To(Succeed())
			Expect(a.wait(id)).To(EndCompleted())
		})
		It("to a question is an error, as no step asks one that blocks", func() {
			Expect(a.RespondToUserInput(ctx, "a", "q", nil)).To(MatchError(fakeagent.ErrUnknownRequest))
			Expect(a.RespondToUserInput(ctx, "b", "q", nil)).To(MatchError(fakeagent.ErrNoSession))
		})
	})

	It("claims what its tool gave only where the tool was let run", func() {
		answering(map[string]fakeagent.Decision{"yes": fakeagent.Accept, "no": fakeagent.Decline})
		Expect(lines(a.run(`[{"approval":[
			{"title":"yes","tool":{"name":"fetch","input":1,"output":2}},
			{"title":"no","tool":{"name":"fetch","input":1,"output":2}}]}]`), a.cwd)).To(HaveExactElements(
			`{"type":"tool_call","callId":"t-1-1","name":"fetch","detail":{"type":"unknown","input":1,"output":2},"status":"completed","error":null}`,
			ContainSubstring(`"detail":{"type":"unknown","input":1,"output":null},"status":"failed"`)))
	})
	It("of a kind that is no command is a call named by the kind, with the title as its text", func() {
		answering(map[string]fakeagent.Decision{"change a.ts": fakeagent.Accept})
		Expect(lines(a.run(`[{"approval":{"title":"change a.ts","type":"file_change_approval"}}]`), a.cwd)).To(HaveExactElements(
			`{"type":"tool_call","callId":"t-1-1","name":"file_change","detail":{"type":"plain_text","text":"change a.ts"},"status":"completed","error":null}`))
	})
})
