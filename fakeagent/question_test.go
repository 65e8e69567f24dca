package fakeagent_test

import (
	"encoding/json"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("The step question", func() {
	const (
		color = `{"id":"color","header":"Color","question":"Which?","options":[{"label":"Blue"},{"label":"Green","description":"new"}],"multiSelect":true}`
		why   = `{"id":"why","header":"Why","question":"And why?"}`
	)

	It("asks all its questions at once and, blocking, waits for the answers", bubble.InBubble, func(ctx SpecContext) {
		a := scripted()
		id := a.send(`[{"question":{"questions":[` + color + `,` + why + `],"blocking":true}},{"say":"go on"}]`)
		synctest.Wait()
		Expect(a.seen()).To(EmitEvents(event.UserInputRequested{Questions: []event.Question{
			{ID: "color", Header: "Color", Question: "Which?", MultiSelect: true, Options: []event.Option{{Label: "Blue"}, {Label: "Green", Description: "new"}}},
			{ID: "why", Header: "Why", Question: "And why?"},
		}}))
		thread, err := a.ReadThread(ctx, "a")
		Expect(err).NotTo(HaveOccurred())
		Expect(thread.Doing).To(HavePrefix(`step 1 {"question":`))
		Expect(a.RespondToUserInput(ctx, "a", "req-1", map[string]any{"color": []string{"Green"}, "why": "because"})).To(Succeed())
		Expect(a.wait(id)).To(HaveAssistantText("go on"))
		Expect(a.seen()).To(And(BeWellFormed(), EmitEvents(
			event.UserInputResolved{Answers: map[string]any{"color": []any{"Green"}, "why": "because"}}, "content.delta")))
	})

	It("keeps the answers that it got, whatever becomes of the map", bubble.InBubble, func(ctx SpecContext) {
		a := scripted()
		id := a.send(`[{"question":{"questions":[` + why + `],"blocking":true}}]`)
		synctest.Wait()
		answers := map[string]any{"why": "because"}
		Expect(a.RespondToUserInput(ctx, "a", "req-1", answers)).To(Succeed())
		answers["why"] = "changed"
		a.wait(id)
		Expect(a.seen()).To(EmitEvents(event.UserInputResolved{Answers: map[string]any{"why": "because"}}))
	})

	It("refuses answers to what it has not asked, or that are no JSON, and stays open", bubble.InBubble, func(ctx SpecContext) {
		a := scripted()
		id := a.send(`[{"question":{"questions":[` + color + `,` + why + `],"blocking":true}}]`)
		synctest.Wait()
		answer := func(answers map[string]any) error { return a.RespondToUserInput(ctx, "a", "req-1", answers) }
		Expect(answer(map[string]any{"colour": "Blue", "why": ""})).To(MatchError(`fakeagent: request req-1 has no question "colour"; it asks color, why`))
		Expect(answer(map[string]any{"why": make(chan int)})).To(MatchError(HavePrefix("fakeagent: the answers to request req-1 have no JSON form: ")))
		unknown := func(err error, why string) {
			GinkgoHelper()
			Expect(err).To(MatchError(fakeagent.ErrUnknownRequest))
			Expect(err).To(MatchError(HaveSuffix(" in thread a: " + why)))
		}
		unknown(a.RespondToUserInput(ctx, "a", "req-9", nil), "it was never asked")
		unknown(a.RespondToUserInput(ctx, "a", "mine", nil), "it was never asked")
		unknown(a.RespondToRequest(ctx, "a", "req-1", fakeagent.Accept), "it is a question; use RespondToUserInput")
		Expect(answer(nil)).To(Succeed())
		unknown(answer(nil), "it is closed, or its answer is the next prompt")
		Expect(a.wait(id)).To(EndCompleted())
		id = a.send(`[{"approval":{"title":"x"}}]`)
		synctest.Wait()
		unknown(a.RespondToUserInput(ctx, "a", "req-2", nil), "it is an approval; use RespondToRequest")
		Expect(a.RespondToRequest(ctx, "a", "req-2", fakeagent.Accept)).To(Succeed())
		Expect(a.wait(id)).To(EndCompleted())
	})

	It("is over when the turn is interrupted", bubble.InBubble, func(ctx SpecContext) {
		a := scripted()
		id := a.send(`[{"question":{"questions":[` + why + `],"blocking":true}}]`)
		synctest.Wait()
		Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
		Expect(a.wait(id)).To(EndCanceled())
		Expect(a.seen()).To(And(BeWellFormed(), EmitEvents("user-input.requested", event.UserInputResolved{}, "turn.completed")))
	})

	It("that does not block lets the turn go on", bubble.InBubble, func() {
		a := scripted()
		Expect(a.run(`[{"question":{"questions":[` + why + `]}},{"say":"go on"}]`)).To(And(EndCompleted(), HaveAssistantText("go on")))
		Expect(a.seen()).To(And(BeWellFormed(), EmitEvents(HaveField("Payload", HaveField("ResponseMode", "message")), "content.delta")))
	})
})

var _ = Describe("The step task", func() {
	It("is a sub-agent's, around steps", bubble.InBubble, func() {
		a := scripted()
		run := a.run(`[{"task":{"description":"look around","type":"explorer","steps":[{"sleep":50},{"say":"found"}]}},{"task":{"description":"rest","steps":[]}}]`)
		Expect(run).To(And(EndCompleted(), HaveItems(
			BeToolCall("Task", WithDetail(HaveField("Description", "look around")), WithCallID("task-1-1")),
			BeAssistantMessage("found"),
			BeToolCall("Task", WithDetail(HaveField("Description", "rest")), WithCallID("task-1-2")),
		)))
		Expect(a.seen()).To(And(BeWellFormed(), EmitEvents(
			event.TaskStarted{TaskID: "task-1-1", Description: "look around", TaskType: "explorer"}, "content.delta",
			event.TaskCompleted{TaskID: "task-1-1", Status: event.TaskDone})))
	})

	It("fails with the turn, and is stopped when that is interrupted", bubble.InBubble, func(ctx SpecContext) {
		a := scripted()
		Expect(a.run(`[{"task":{"description":"try","steps":[{"fail":"no quota"},{"say":"never"}]}},{"say":"never"}]`)).To(And(
			EndFailed("no quota"), ContainItems(BeToolCall("Task", WithError("no quota")))))
		id := a.send(`[{"task":{"description":"try","steps":[{"sleep":60000}]}}]`)
		time.Sleep(time.Second)
		thread, err := a.ReadThread(ctx, "a")
		Expect(err).NotTo(HaveOccurred())
		Expect(thread.Doing).To(Equal(`step 1 (task), its step 1 {"sleep":60000}`))
		Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
		Expect(a.wait(id)).To(EndCanceled())
		Expect(a.seen()).To(EmitEvents(event.TaskCompleted{TaskID: "task-2-1", Status: event.TaskStopped}, "turn.completed"))
	})
})

var _ = Describe("The step event", func() {
	It("emits an event as given, in the turn that plays it", bubble.InBubble, func() {
		a := scripted()
		Expect(a.run(`[{"event":{"type":"runtime.warning","payload":{"message":"slow"}}},
			{"event":{"type":"item.completed","itemId":"mine","payload":{"itemType":"web_search","title":"Search","status":"completed"}}},
			{"event":{"type":"item.completed","payload":{"itemType":"user_message","detail":"an echo"}}},
			{"event":{"type":"content.delta","itemId":"m","payload":{"streamKind":"assistant_text","delta":"x","contentIndex":3}}},
			{"event":{"type":"hook.started"}}]`)).To(And(EndCompleted(), HaveItems(BeToolCall("Search", WithCallID("mine")), BeAssistantMessage("x"))))
		for _, e := range a.seen()[1:] {
			Expect(e).To(And(HaveField("TurnID", "a-turn-1"), HaveField("ThreadID", "a"), HaveField("Time", Not(BeZero()))))
		}
		Expect(a.seen()[2:7]).To(EmitExactly(event.Raw{Name: "runtime.warning", JSON: []byte(`{"message":"slow"}`)}, "item.completed", "item.completed",
			event.Delta{Stream: "assistant_text", Text: "x"}, event.Raw{Name: "hook.started", JSON: []byte(`{}`)}))
		By("with all that it said")
		Expect(json.Marshal(a.seen()[5])).To(ContainSubstring(`"contentIndex":3`))
	})

	DescribeTable("does not begin or end a session, a thread or a turn, nor what is no event at all", func(step, why string) {
		a := scripted()
		Expect(a.run(`[{"say":"x"},{"task":{"description":"t","steps":[` + step + `]}}]`)).To(And(
			EndFailed("fake-agent: invalid script: step 2 (task): step 1 (event): "+why), HaveAssistantText("")))
	},
		Entry("turn.completed", `{"event":{"type":"turn.completed","payload":{"state":"completed"}}}`,
			"event turn.completed belongs to a session, a thread, a turn or a process, and is not a script's to emit"),
		Entry("session.exited", `{"event":{"type":"session.exited"}}`,
			"event session.exited belongs to a session, a thread, a turn or a process, and is not a script's to emit"),
		Entry("runtime.error", `{"event":{"type":"runtime.error","payload":{"message":"x"}}}`,
			"event runtime.error belongs to a session, a thread, a turn or a process, and is not a script's to emit"),
		Entry("process.raw", `{"event":{"type":"process.raw"}}`,
			"event process.raw belongs to a session, a thread, a turn or a process, and is not a script's to emit"),
		Entry("a wrong payload", `{"event":{"type":"content.delta","payload":{"delta":3}}}`,
			"event: content.delta: delta must be a string, is a number"),
	)
})
