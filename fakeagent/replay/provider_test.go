package replay_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/replay"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// told are the events of an agent.
type told struct {
	mu     sync.Mutex
	events []event.Event
}

func (t *told) hear(e event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, e)
}

// hosted is a host whose agents play a journal.
func hosted(entries []replay.Entry, opts ...replay.Option) (*timelinekit.Host, *replay.Agent, *told) {
	GinkgoHelper()
	a := replay.ForTest(GinkgoT(), entries, append([]replay.Option{replay.WithoutWorkspace()}, opts...)...)
	all := &told{}
	a.Subscribe(all.hear)
	return timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("replay", a)), a, all
}

var _ = Describe("A host whose provider plays a journal", func() {
	It("has the recorded run as its own: messages, calls, usage, and what the user steered, in one turn", func(ctx SpecContext) {
		host, a, all := hosted(greeting())
		run := host.RunPrompt(ctx, "Make the greeting polite.")
		Expect(run).To(And(EndCompleted(), HaveItems(
			BeAssistantMessage("Rewriting greet.txt. "),
			BeToolCall("write", WithCallID("t1"), WithDetail(timeline.Unknown{Input: []byte(`{"path":"greet.txt"}`), Output: []byte(`"ok"`)}), WithStatus(timeline.Completed)),
			BeAssistantMessage("Done. <done/>"),
		)))
		Expect(all.events).To(And(BeWellFormed(), HaveEach(HaveField("Provider", "replay")), EmitExactly(
			"session.started", "turn.started", event.Delta{Stream: event.AssistantText, Text: "Rewriting greet.txt. "}, "item.started", "item.completed",
			event.TokenUsageUpdated{Usage: event.TokenUsage{UsedTokens: 48, TotalProcessedTokens: 48, InputTokens: 40, CachedInputTokens: 10, OutputTokens: 8,
				LastUsedTokens: 48, LastInputTokens: 40, LastCachedInputTokens: 10, LastOutputTokens: 8}},
			event.Delta{Stream: event.AssistantText, Text: "Done. <done/>"},
			event.TokenUsageUpdated{Usage: event.TokenUsage{UsedTokens: 19, TotalProcessedTokens: 67, InputTokens: 55, CachedInputTokens: 15, OutputTokens: 12,
				LastUsedTokens: 19, LastInputTokens: 15, LastCachedInputTokens: 5, LastOutputTokens: 4}},
			"turn.completed")))
		Expect(a.Report().Dropped).To(Equal(map[string]int{"conversation": 1, "stopped": 1, "steer": 1}))
	})

	It("plays a turn for each prompt", func(ctx SpecContext) {
		host, _, _ := hosted(recording(turns("one", "1", "two", "2")...))
		run := host.RunPrompt(ctx, "one")
		Expect(run).To(HaveItems(BeAssistantMessage("1")))
		Expect(host.SendPrompt(ctx, run.AgentID, "two")).To(HaveItems(BeAssistantMessage("2")))
	})

	It("hears pieces as they were cut, and a message that came in pieces once", func(ctx SpecContext) {
		host, _, all := hosted(recording(prompted("go"), agents("text-delta", withText("he")), agents("text-delta", withText("llo")), said("hello"),
			said("whole"), agents("reasoning", withText("hm")), agents("reasoning", withText("m")), agents("text-delta", withText("torn")), `{"kind":"finished"}`, said("after"), summary))
		Expect(host.RunPrompt(ctx, "go")).To(HaveItems(BeAssistantMessage("hello"), BeAssistantMessage("whole"), BeReasoning("hmm"), BeAssistantMessage("torn"), BeAssistantMessage("after")))
		var pieces []string
		for _, e := range all.events {
			if d, ok := e.Payload.(event.Delta); ok {
				pieces = append(pieces, e.ItemID+" "+d.Text)
			}
		}
		Expect(pieces).To(Equal([]string{"a-1-1 he", "a-1-1 llo", "a-1-2 whole", "r-1-3 hm", "r-1-3 m", "a-1-4 torn", "a-1-5 after"}))
	})

	It("hears a message once, whatever came between its pieces, and none that says nothing", func(ctx SpecContext) {
		usage, raw := `{"kind":"usage","tokens":{"input":1,"cached":0,"output":1}}`, agents("raw", `"value":"{}"`)
		host, _, all := hosted(recording(prompted("go"), raw, agents("text-delta", withText("he")), raw, agents("text-delta", withText("llo")), usage, said("hello\n"), raw,
			said(""), agents("text-delta", withText("")), `{"kind":"text-delta"}`, agents("reasoning", withText("")), `{"kind":"reasoning"}`, said("x"), summary))
		Expect(host.RunPrompt(ctx, "go")).To(HaveItems(BeAssistantMessage("hello"), BeAssistantMessage("x")))
		Expect(all.events).To(BeWellFormed())
	})

	It("hears two messages where something has ended the first, or where they have other ids", func(ctx SpecContext) {
		delta := func(text, more string) string {
			return `{"kind":"text-delta","source":"agent","text":"` + text + `"` + more + `}`
		}
		fallback := `{"kind":"fallback","from":{"index":0,"name":"claude"},"to":{"index":1,"name":"codex"},"failure":"quota","message":"used up"}`
		for _, journal := range [][]replay.Entry{
			recording(prompted("go"), delta("one", ""), fallback, prompted("x"), delta("two", ""), summary),
			recording(prompted("go"), delta("one", ""), `{"kind":"model-retry"}`, delta("t", ""), delta("wo", ""), said("two"), summary),
			append([]replay.Entry{replay.Entry(`{"kind":"journal","schema":1}`)}, recording(prompted("go"), delta("one", `,"itemId":"m1"`), delta("two", `,"itemId":"m2"`), summary)...),
		} {
			host, _, _ := hosted(journal)
			Expect(host.RunPrompt(ctx, "go")).To(HaveItems(BeAssistantMessage("one"), BeAssistantMessage("two")))
		}
	})

	It("has an id of its own for each call, also where the journal has one again, in that turn or in another", func(ctx SpecContext) {
		begin, end := `{"kind":"tool","name":"a","input":1,"callId":"1"}`, `{"kind":"tool-result","name":"a","callId":"1","isError":false,"preview":"A","characters":1}`
		host, _, all := hosted(recording(prompted("one"), end, begin, begin, end, end, summary, prompted("two"), begin, end, `{"kind":"tool","name":"a","input":1,"callId":"1-2"}`, summary))
		run := host.RunPrompt(ctx, "one")
		Expect(run).To(HaveItems(BeToolCall("a", WithCallID("1")), BeToolCall("a", WithCallID("1-2"), WithOutput("A")), BeToolCall("a", WithCallID("1-3"), WithOutput("A"))))
		Expect(host.SendPrompt(ctx, run.AgentID, "two")).To(HaveItems(BeToolCall("a", WithCallID("1-4"), WithOutput("A")), BeToolCall("a", WithCallID("1-2-2"))))
		Expect(all.events).To(BeWellFormed())
	})

	It("has the end of calls that were open when the user steered, or another agent went on", func(ctx SpecContext) {
		begin := `{"kind":"tool","name":"a","input":1,"callId":"1"}`
		host, _, all := hosted(recording(prompted("go"), begin, `{"kind":"steer","mode":"resumed","text":"x"}`, begin,
			`{"kind":"fallback","from":{"index":0.0,"name":"claude"},"to":{"index":1e0,"name":"codex"},"failure":"quota","message":"used up"}`, prompted("x"), said("done"), summary))
		Expect(host.RunPrompt(ctx, "go")).To(And(EndCompleted(), HaveItems(BeToolCall("a", WithError("the journal has no result of this call")),
			BeToolCall("a", WithError("the journal has no result of this call")), BeAssistantMessage("done"))))
		Expect(all.events).To(And(BeWellFormed(), EmitExactly("session.started", "turn.started", "item.started", "item.completed", "item.started", "item.completed", "model.rerouted", "content.delta", "turn.completed")))
	})

	It("has the end of what a provider had left open when it was recorded", func(ctx SpecContext) {
		host, _, all := hosted([]replay.Entry{replay.Entry(`{"kind":"journal","schema":1}`), replay.Entry(`{"kind":"prompt","source":"agent","text":"go"}`),
			replay.Entry(`{"kind":"tool","source":"agent","name":"x","callId":"c","event":{"type":"item.started","itemId":"c","payload":{"itemType":"dynamic_tool_call","status":"inProgress","title":"x"}}}`),
			replay.Entry(`{"kind":"event","source":"agent","event":{"type":"request.opened","itemId":"c","requestId":"q","payload":{"requestType":"command_execution_approval"}}}`),
			replay.Entry(`{"kind":"summary","source":"agent","durationMs":1,"status":0,"tokens":{"input":0,"cached":0,"output":0}}`)})
		Expect(host.RunPrompt(ctx, "go")).To(EndCompleted())
		Expect(all.events).To(BeWellFormed())
	})

	It("fails where the recorded event of a provider says what its type cannot", func(ctx SpecContext) {
		host, _, all := hosted([]replay.Entry{replay.Entry(`{"kind":"journal","schema":1}`), replay.Entry(`{"kind":"prompt","source":"agent","text":"go"}`),
			replay.Entry(`{"kind":"tool","source":"agent","name":"x","callId":"c","event":{"type":"item.started","itemId":"c","payload":{"status":5}}}`),
			replay.Entry(`{"kind":"summary","source":"agent","durationMs":1,"status":0,"tokens":{"input":0,"cached":0,"output":0}}`)})
		Expect(host.RunPrompt(ctx, "go")).To(EndFailed(`replay: the journal has a "tool" with an event that is none of a provider: event: item.started: status must be a string, is a number`))
		Expect(all.events).To(BeWellFormed())
	})

	It("counts usage in whatever way its numbers are written", func(ctx SpecContext) {
		host, _, all := hosted(recording(prompted("go"), `{"kind":"usage","tokens":{"input":1e2,"cached":0.0,"output":1.0},"Cumulative":"x"}`, summary))
		Expect(host.RunPrompt(ctx, "go")).To(EndCompleted())
		Expect(all.events).To(EmitEvents(event.TokenUsageUpdated{Usage: event.TokenUsage{UsedTokens: 101, TotalProcessedTokens: 101, InputTokens: 100, OutputTokens: 1, LastUsedTokens: 101, LastInputTokens: 100, LastOutputTokens: 1}}))
	})

	It("sees calls as they ran: side by side, failed, without an id, without a beginning", func(ctx SpecContext) {
		host, _, _ := hosted(recording(prompted("go"),
			`{"kind":"tool","name":"a","input":1,"callId":"1"}`, `{"kind":"tool","name":"b","input":2,"callId":"2"}`,
			`{"kind":"tool-result","name":"b","callId":"2","isError":false,"preview":"B","characters":1}`,
			`{"kind":"tool-result","name":"a","callId":"1","isError":true,"preview":"no such a","characters":9}`,
			`{"kind":"tool-result","name":"c","callId":"3","isError":false,"preview":"C","characters":1}`,
			`{"kind":"tool","name":"d","input":null}`, summary))
		Expect(host.RunPrompt(ctx, "go")).To(HaveItems(
			BeToolCall("a", WithCallID("1"), WithError("no such a"), WithInput(1)), BeToolCall("b", WithCallID("2"), WithOutput("B"), WithInput(2)),
			BeToolCall("c", WithCallID("3"), WithOutput("C")), BeToolCall("d", WithCallID("t-1-1"), WithError("the journal has no result of this call"))))
	})

	It("fails a turn that had failed, with what was recorded, and plays the next one", func(ctx SpecContext) {
		host, _, _ := hosted(recording(prompted("one"), failed("rate limit"), prompted("two"), said("better"), summary))
		run := host.RunPrompt(ctx, "one")
		Expect(run).To(And(EndFailed("rate limit"), ContainItems(BeErrorItem("rate limit"))))
		Expect(host.SendPrompt(ctx, run.AgentID, "two")).To(And(EndCompleted(), HaveItems(BeAssistantMessage("better"))))
	})

	It("fails a turn whose prompt is another one, and says where it differs", func(ctx SpecContext) {
		host, _, _ := hosted(recording(turns("one", "1")...), replay.AllowUnplayed())
		Expect(host.RunPrompt(ctx, "won")).To(EndFailed(ContainSubstring("line 1, column 1")))
	})

	It("has warnings as events, where it is to be warned", func(ctx SpecContext) {
		host, _, all := hosted(recording(turns("one", "1")...), replay.WithDivergence(replay.Warn))
		Expect(host.RunPrompt(ctx, "won")).To(And(EndCompleted(), HaveItems(BeAssistantMessage("1"))))
		Expect(all.events).To(EmitEvents("turn.started", "runtime.warning", "content.delta"))
	})

	It("learns of another model, and has what that did in the same turn", func(ctx SpecContext) {
		host, _, all := hosted(recording(prompted("go"), said("mine"),
			`{"kind":"fallback","from":{"index":0,"name":"claude","model":"opus"},"to":{"index":1,"name":"codex"},"failure":"quota","message":"used up"}`,
			prompted("go on"), said("theirs"), summary))
		Expect(host.RunPrompt(ctx, "go")).To(And(EndCompleted(), HaveItems(BeAssistantMessage("mine"), BeAssistantMessage("theirs"))))
		Expect(all.events).To(EmitEvents(event.Raw{Name: "model.rerouted", JSON: []byte(`{"fromModel":"opus","reason":"used up","toModel":"codex"}`)}))
	})

	It("counts usage that is told as a total by what is new in it", func(ctx SpecContext) {
		usage := func(in, out int, more string) string {
			return fmt.Sprintf(`{"kind":"usage","tokens":{"input":%d,"cached":0,"output":%d}%s}`, in, out, more)
		}
		host, _, all := hosted(recording(prompted("go"), usage(10, 1, ""), usage(30, 4, `,"cumulative":true`), summary))
		host.RunPrompt(ctx, "go")
		Expect(all.events).To(EmitEvents(
			event.TokenUsageUpdated{Usage: event.TokenUsage{UsedTokens: 11, TotalProcessedTokens: 11, InputTokens: 10, OutputTokens: 1, LastUsedTokens: 11, LastInputTokens: 10, LastOutputTokens: 1}},
			event.TokenUsageUpdated{Usage: event.TokenUsage{UsedTokens: 23, TotalProcessedTokens: 34, InputTokens: 30, OutputTokens: 4, LastUsedTokens: 23, LastInputTokens: 20, LastOutputTokens: 3}}))
	})

	It("takes no steer that was not recorded: it is the next prompt", func(ctx SpecContext) {
		a := replay.ForTest(GinkgoT(), recording(prompted("go"), said("a"), summary), replay.WithoutWorkspace())
		refused := make(chan error, 1)
		ended := make(chan struct{})
		a.Subscribe(func(e event.Event) {
			switch e.Payload.(type) {
			case event.Delta:
				_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", TurnID: e.TurnID, Text: "left"})
				refused <- err
			case event.TurnCompleted:
				close(ended)
			}
		})
		Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a"})).To(Succeed())
		Expect(a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "go"})).NotTo(BeEmpty())
		<-ended
		Expect(<-refused).To(MatchError(fakeagent.ErrNotSteered))
	})

	It("interrupts a turn, of which nothing more comes, and a call that ran is canceled", bubble.InBubble, func(ctx SpecContext) {
		host, a, _ := hosted(recording(`{"kind":"prompt","at":"2026-01-01T00:00:00Z","text":"go"}`, `{"kind":"tool","at":"2026-01-01T00:00:01Z","name":"a","callId":"1"}`,
			`{"kind":"text","at":"2026-01-01T00:01:00Z","text":"too late"}`, summary), replay.WithSpeed(1))
		turn := host.StartPrompt(ctx, "go")
		time.Sleep(2 * time.Second)
		Expect(turn.Interrupt(ctx)).To(Succeed())
		Expect(turn.Wait(ctx)).To(And(EndCanceled(), HaveItems(BeToolCall("a", WithError("canceled")))))
		Expect(a.RemainingTurns()).To(BeZero(), "what was taken stays taken")
	})

	It("waits as long as was recorded, or faster", bubble.InBubble, func(ctx SpecContext) {
		host, _, _ := hosted(greeting(), replay.WithSpeed(2))
		began := time.Now()
		Expect(host.RunPrompt(ctx, "Make the greeting polite.")).To(EndCompleted())
		Expect(time.Since(began)).To(Equal(4 * time.Second))
	})

	It("has it for one thread: another one is refused, and the first may come again", func(ctx SpecContext) {
		a := replay.ForTest(GinkgoT(), greeting(), replay.AllowUnplayed())
		Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a", Cwd: "relative"})).NotTo(Succeed(), "who could not be opened owns nothing")
		Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "b"})).To(Succeed())
		err := a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a"})
		Expect(err).To(And(MatchError(replay.ErrOwned), MatchError(ContainSubstring(`thread "b"`))))
		Expect(a.StopSession(ctx, "b")).To(Succeed())
		Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "b"})).To(Succeed())
	})

	It("has it for one thread also where each thread has an instance of its own", func(ctx SpecContext) {
		a := replay.ForTest(GinkgoT(), recording(turns("one", "1", "two", "2")...), replay.WithoutWorkspace(), replay.AllowUnplayed())
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("first", fakeagent.NewT(GinkgoT(), a.Config())), timelinekit.WithProvider("second", fakeagent.NewT(GinkgoT(), a.Config())))
		Expect(host.RunPrompt(ctx, "one", timelinekit.AgentID("a"), timelinekit.Provider("first"))).To(EndCompleted())
		Expect(host.RunPrompt(ctx, "two", timelinekit.AgentID("b"), timelinekit.Provider("second"))).To(EndFailed(ContainSubstring(`it is played by thread "a"`)))
		Expect(a.RemainingTurns()).To(Equal(1))
	})

	It("cannot go on in a session that was closed, unless there is a storage for conversations", func(ctx SpecContext) {
		for _, f := range []replay.Features{replay.ReplayFeatures(), stored(replay.ReplayFeatures())} {
			a := replay.ForTest(GinkgoT(), recording(turns("one", "1", "two", "2")...), replay.WithoutWorkspace(), replay.AllowUnplayed(), replay.WithFeatures(f))
			ended := make(chan event.TurnCompleted, 1)
			a.Subscribe(func(e event.Event) {
				if end, ok := e.Payload.(event.TurnCompleted); ok {
					ended <- end
				}
			})
			for i, text := range []string{"one", "two"} {
				Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a"})).To(Succeed())
				Expect(a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: text})).NotTo(BeEmpty())
				if end := <-ended; i == 1 && f.Storage == nil {
					Expect(end.ErrorMessage).To(ContainSubstring("Storage"))
				} else {
					Expect(end.State).To(Equal(event.TurnEndCompleted))
				}
				Expect(a.StopSession(ctx, "a")).To(Succeed())
			}
		}
	})

	It("may be a process", bubble.InBubble, func(ctx SpecContext) {
		a := replay.ForTest(GinkgoT(), greeting(), replay.WithoutWorkspace())
		scripted, err := mockproc.Named("scripted")
		Expect(err).NotTo(HaveOccurred())
		m := mockproc.Start(GinkgoT(), scripted, mockproc.WithAgent(a.Config()))
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("acp", acp.NewProvider(m)))
		Expect(host.RunPrompt(ctx, "Make the greeting polite.")).To(And(EndCompleted(), HaveItems(
			BeAssistantMessage("Rewriting greet.txt. "), BeToolCall("write"), BeAssistantMessage("Done. <done/>"))))
	})

	It("is the same each time", func(ctx SpecContext) {
		var before string
		for range 3 {
			host, _, _ := hosted(greeting())
			text := host.RunPrompt(ctx, "Make the greeting polite.", timelinekit.AgentID("a")).Timeline.Items().String()
			if before != "" {
				Expect(text).To(Equal(before))
			}
			before = text
		}
	})

	It("is played only once, by however many", func(ctx SpecContext) {
		a := replay.ForTest(GinkgoT(), recording(turns("one", "1")...), replay.WithoutWorkspace())
		_, err := a.PlayTurn(ctx, replay.Request{Prompt: "one"})
		Expect(err).NotTo(HaveOccurred())
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("replay", a))
		Expect(host.RunPrompt(context.Background(), "one")).To(EndFailed(HavePrefix("replay: ")))
	})
})

// stored are features with a storage.
func stored(f replay.Features) replay.Features {
	f.Storage = storage{}
	return f
}

// storage is one that nobody asks.
type storage struct{ replay.Storage }
