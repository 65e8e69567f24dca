package matchers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

var _ = Describe("EmitEvents and EmitExactly", func() {
	hello := event.Delta{Stream: event.AssistantText, Text: "hello"}
	stream := emitted(started, hello, gaveUp)

	It("take a type, a payload, an event, or a matcher, which gets the event", func() {
		for _, emit := range []func(...any) Matcher{EmitEvents, EmitExactly} {
			Expect(stream).To(emit("turn.started", hello, event.Event{TurnID: "T1", Payload: gaveUp}))
			Expect(stream).To(emit(stream[0], stream[1], stream[2]))
			Expect(stream).To(emit(started, HaveField("Payload", hello), HaveField("Seq", uint64(3))))
			Expect(stream).NotTo(emit("turn.started", "content.delta", ended))
			Expect(stream).NotTo(emit(started, event.Delta{Stream: event.AssistantText, Text: "hell"}, gaveUp))
		}
	})

	It("differ in what may stand between", func() {
		Expect(stream).To(EmitEvents("turn.started", "turn.completed"))
		Expect(stream).NotTo(EmitExactly("turn.started", "turn.completed"))
		Expect(stream).NotTo(EmitEvents("turn.completed", "turn.started"))
		Expect(stream).NotTo(EmitEvents("turn.started", "turn.started"), "an event counts once")
		Expect(stream).To(EmitEvents())
		Expect(stream).NotTo(EmitExactly())
		Expect(emitted()).To(EmitExactly())
		Expect(EmitEvents().String()).To(Equal("emit any events, or none"))
		Expect(EmitExactly().String()).To(Equal("emit no events"))
	})

	DescribeTable("look at those fields of an expected event that are set:", func(set func(*event.Event), differs string) {
		e := event.Event{Seq: 7, Provider: "fake", ThreadID: "a", TurnID: "T1", ItemID: "t-1", RequestID: "r-1", Time: at, Payload: started}
		var want event.Event
		set(&want)
		Expect(first(failure([]event.Event{e}, EmitExactly(want)))).To(Equal("event 0: " + differs))
		Expect([]event.Event{{Payload: started}}).NotTo(EmitExactly(want))
		Expect([]event.Event{e}).To(EmitExactly(e))
		Expect([]event.Event{e}).To(EmitExactly(event.Event{}))
	},
		Entry("seq", func(e *event.Event) { e.Seq = 8 }, `seq is "7", want "8"`),
		Entry("provider", func(e *event.Event) { e.Provider = "x" }, `provider is "fake", want "x"`),
		Entry("thread", func(e *event.Event) { e.ThreadID = "b" }, `thread is "a", want "b"`),
		Entry("turn", func(e *event.Event) { e.TurnID = "T2" }, `turn is "T1", want "T2"`),
		Entry("item", func(e *event.Event) { e.ItemID = "t-2" }, `item is "t-1", want "t-2"`),
		Entry("request", func(e *event.Event) { e.RequestID = "r-2" }, `request is "r-1", want "r-2"`),
		Entry("time", func(e *event.Event) { e.Time = at.Add(time.Second) }, `time is "2026-01-02T03:04:05Z", want "2026-01-02T03:04:06Z"`),
		Entry("payload", func(e *event.Event) { e.Payload = ended }, `it is turn.started t-1 r-1, want turn.completed {"state":"completed"}`),
	)

	It("take a time in any zone", func() {
		Expect(emitted(started)).To(EmitExactly(event.Event{Time: at.In(time.FixedZone("x", 3600))}))
	})

	It("fail with the event that differs, the events, and what was expected", func() {
		Expect(failure(stream, EmitExactly("turn.started", event.Delta{Stream: event.AssistantText, Text: "bye"},
			event.Event{TurnID: "T1", Payload: gaveUp}))).
			To(Equal(`event 1: delta is "hello", want "bye"

Expected
      0 turn.started  <- T1
      1 content.delta {"streamKind":"assistant_text","delta":"hello"}
      2 turn.completed {"state":"failed","errorMessage":"no quota"}
to emit exactly these events:
      0 turn.started
      1 content.delta {"streamKind":"assistant_text","delta":"bye"}
      2 turn.completed {"state":"failed","errorMessage":"no quota"} turn T1`))
	})

	It("say how those differ that are of the type", func() {
		Expect(first(failure(stream, EmitEvents("turn.started", ended)))).To(Equal(`expected event 1 is not among the events after event 0: want turn.completed {"state":"completed"}
event 2 is not the one: errorMessage is "no quota", want none
    state is "failed", want "completed"`))
		Expect(first(failure(stream, EmitEvents(event.Event{TurnID: "T2", Payload: started})))).
			To(Equal("expected event 0 is not among the events: want turn.started turn T2\nevent 0 is not the one: turn is \"T1\", want \"T2\""))
		Expect(first(failure(stream, EmitEvents(event.Event{TurnID: "T2"})))).
			To(Equal("expected event 0 is not among the events: want any event turn T2"))
		Expect(first(failure(stream, EmitEvents("session.exited")))).
			To(Equal("expected event 0 is not among the events: want session.exited"))
	})

	It("tell events of unknown types by their JSON, and such as have none by Go", func() {
		raw := func(json string) event.Payload { return event.Raw{Name: "task.started", JSON: []byte(json)} }
		Expect(emitted(raw(`{"a":1}`))).To(EmitExactly("task.started"))
		Expect(emitted(raw(`{"a":1}`))).To(EmitExactly(raw(`{"a":1}`)))
		Expect(failure(emitted(raw(`{"a":1}`)), EmitExactly(raw(`{"a":2}`)))).To(Equal(`event 0: a is 1, want 2

Expected
      0 task.started {"a":1}  <- T1
to emit exactly these events:
      0 task.started {"a":2}`))
		tool := func(d timeline.Detail) event.Payload {
			return event.ItemStarted{Item: event.Item{ItemType: "x", Data: d}}
		}
		Expect(first(failure(emitted(tool(timeline.Unknown{Input: []byte("null")})), EmitExactly(tool(timeline.Unknown{}))))).
			To(HavePrefix("event 0: it is\n    event.ItemStarted{"))
	})

	It("refuse what is no event, and what cannot be expected", func() {
		for name, emit := range map[string]func(...any) Matcher{"EmitEvents": EmitEvents, "EmitExactly": EmitExactly} {
			Expect(refusal([]event.Event{{Payload: started}, {}}, emit())).To(Equal(name + ": event 1 has no payload"))
			Expect(refusal(timeline.Items{said}, emit())).
				To(Equal(name + " expects events ([]event.Event).  Got:\n    <timeline.Items>\n      0 assistant_message \"done\""))
			Expect(refusal(stream[0], emit())).To(Equal(name + " expects events ([]event.Event).  Got:\n    turn.started"))
			right := `want a type such as "turn.started", a payload, an event or a matcher`
			Expect(refusal(stream, emit(started, 3))).To(Equal(name + ": expected event 1 is of type int, " + right))
			Expect(refusal(stream, emit(nil))).To(Equal(name + ": expected event 0 is nil, " + right))
			Expect(refusal(stream, emit(""))).To(Equal(name + `: expected event 0 is "", want a type such as "turn.started"`))
			Expect(refusal(stream, emit(&gaveUp))).To(Equal(name + ": expected event 0 is a *event.TurnCompleted, want the value that it points to"))
			Expect(refusal(stream, emit(&stream[0]))).To(Equal(name + ": expected event 0 is of type *event.Event, " + right))
			Expect(refusal(stream, emit(BeReasoning(1)))).
				To(Equal(name + ": expected event 0: BeReasoning: text is of type int, want a string or a matcher"))
			Expect(refusal(stream, emit(BeReasoning("x")))).To(ContainSubstring("event 0, turn.started: BeReasoning expects one item"))
		}
	})
})
