package matchers_test

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

// wrongs are the lines of the failure, each without what it says of the event or row beside its number. Where nothing is wrong there are none.
func wrongs(actual any) (found []string) {
	ok, err := BeWellFormed().Match(actual)
	Expect(err).NotTo(HaveOccurred())
	if ok {
		return nil
	}
	message := first(failure(actual, BeWellFormed()))
	head, rest, several := strings.Cut(message, ":\n    ")
	if !several {
		rest = message
	}
	for line := range strings.SplitSeq(rest, "\n    ") {
		number, _, _ := strings.Cut(line, ",")
		found = append(found, number+line[strings.LastIndex(line, ": "):])
	}
	if several {
		Expect(head).To(Equal(fmt.Sprintf("%d things are wrong", len(found))))
	}
	return found
}

// ev is an event of thread a.
func ev(turn, item, request string, p event.Payload) event.Event {
	return event.Event{ThreadID: "a", TurnID: turn, ItemID: item, RequestID: request, Payload: p}
}

var _ = Describe("Well-formed events", func() {
	tool := event.Item{ItemType: event.CommandExecution, Title: "Bash"}
	message := event.Item{ItemType: event.AssistantMessage}
	begin := func(turn string) event.Event { return ev(turn, "", "", started) }
	end := func(turn string) event.Event { return ev(turn, "", "", ended) }
	interrupted := func(turn string) event.Event {
		return ev(turn, "", "", event.TurnCompleted{State: event.TurnEndInterrupted})
	}
	delta := func(turn, item string) event.Event {
		return ev(turn, item, "", event.Delta{Stream: event.AssistantText, Text: "x"})
	}
	runs := func(turn, item string) event.Event { return ev(turn, item, "", event.ItemStarted{Item: tool}) }
	ran := func(turn, item string) event.Event { return ev(turn, item, "", event.ItemCompleted{Item: tool}) }
	updated := func(turn, item string) event.Event { return ev(turn, item, "", event.ItemUpdated{Item: tool}) }
	ask := func(turn, request string) event.Event { return ev(turn, "t1", request, event.RequestOpened{}) }
	answered := func(turn, request string) event.Event { return ev(turn, "t1", request, event.RequestResolved{}) }
	question := func(turn, request, mode string) event.Event {
		return ev(turn, "", request, event.UserInputRequested{ResponseMode: mode})
	}
	task := func(turn, id string) event.Event { return ev(turn, "", "", event.TaskStarted{TaskID: id}) }
	goesOn := func(turn, id string) event.Event { return ev(turn, "", "", event.TaskProgress{TaskID: id}) }
	tasked := func(turn, id string) event.Event {
		return ev(turn, "", "", event.TaskCompleted{TaskID: id, Status: event.TaskStopped})
	}
	session := func(p event.Payload) event.Event { return ev("", "", "", p) }

	DescribeTable("are these:", func(events ...event.Event) {
		Expect(events).To(BeWellFormed())
	},
		Entry("none"),
		Entry("a session without a turn", session(event.SessionStarted{}), session(event.SessionExited{})),
		Entry("a session that is opened again", session(event.SessionStarted{}), session(event.SessionExited{}), session(event.SessionStarted{}),
			begin("T1"), end("T1")),
		Entry("turns, one after the other", begin("T1"), delta("T1", "a1"), end("T1"), begin("T2"), interrupted("T2")),
		Entry("tool calls that overlap", begin("T1"), runs("T1", "t1"), runs("T1", "t2"), updated("T1", "t1"), ran("T1", "t2"), ran("T1", "t1"),
			end("T1")),
		Entry("a message in pieces, with and without its end", begin("T1"), delta("T1", "a1"), delta("T1", "a1"), delta("T1", "a2"),
			ev("T1", "a1", "", event.ItemCompleted{Item: message}), delta("T1", ""), end("T1")),
		Entry("a message at once", begin("T1"), ev("T1", "a1", "", event.ItemCompleted{Item: message}),
			ev("T1", "", "", event.ItemCompleted{Item: message}), end("T1")),
		Entry("requests that are answered", begin("T1"), runs("T1", "t1"), ask("T1", "r1"), ask("T1", "r2"), answered("T1", "r2"),
			answered("T1", "r1"), ran("T1", "t1"),
			question("T1", "r3", ""), ev("T1", "", "r3", event.UserInputResolved{}), end("T1")),
		Entry("a question that outlives its turn, since it blocks nothing", begin("T1"), question("T1", "q1", "message"), end("T1"),
			begin("T2"), ev("T2", "", "q1", event.UserInputResolved{}), end("T2")),
		Entry("tasks, one inside of another, around a tool call", begin("T1"), task("T1", "k1"), task("T1", "k2"), runs("T1", "t1"), goesOn("T1", "k1"),
			ran("T1", "t1"), tasked("T1", "k2"), tasked("T1", "k1"), end("T1")),
		Entry("a task and a tool call of one id", begin("T1"), runs("T1", "x"), task("T1", "x"), tasked("T1", "x"), ran("T1", "x"), end("T1")),
		Entry("what belongs to no turn, between two", begin("T1"), end("T1"), session(event.TokenUsageUpdated{}), session(event.RuntimeError{}),
			begin("T2"), end("T2")),
		Entry("a type that nobody knows", session(event.Raw{Name: "x"}), begin("T1"), ev("T1", "", "", event.Raw{Name: "x"}), end("T1")),
		Entry("a plan", begin("T1"), ev("T1", "", "", event.PlanUpdated{}), end("T1")),
	)

	DescribeTable("are not these, which hosts met in the field:", func(want []string, events ...event.Event) {
		Expect(wrongs(events)).To(Equal(want))
	},
		Entry("a late event after the end", []string{"event 2: turn T1 is over since event 1"}, begin("T1"), end("T1"), delta("T1", "a1")),
		Entry("a late event after the next turn began", []string{"event 3: turn T1 is over since event 1"},
			begin("T1"), interrupted("T1"), begin("T2"), delta("T1", "a1"), end("T2")),
		Entry("a late usage", []string{"event 2: turn T1 is over since event 1"}, begin("T1"), end("T1"), ev("T1", "", "", event.TokenUsageUpdated{})),
		Entry("a plan of no turn", []string{"event 0: it names no turn"}, ev("", "", "", event.PlanUpdated{})),
		Entry("two ends of one turn", []string{"event 2: turn T1 is over since event 1"}, begin("T1"), interrupted("T1"), ev("T1", "", "", gaveUp)),
		Entry("a late end of an old turn", []string{"event 3: turn T1 is over since event 1"}, begin("T1"), interrupted("T1"), begin("T2"),
			end("T1"), end("T2")),
		Entry("an end without an id", []string{"event 0: turn T1 never ended", "event 1: it names no turn"}, begin("T1"), end("")),
		Entry("no end", []string{"event 0: turn T1 never ended"}, begin("T1"), delta("T1", "a1")),
		Entry("no end before the next turn", []string{"event 0: turn T1 never ended"}, begin("T1"), begin("T2"), end("T2")),
		Entry("no end before the session's", []string{"event 0: turn T1 never ended"}, begin("T1"), session(event.SessionExited{})),
		Entry("no turn.started", []string{"event 0: turn T1 has not started"}, delta("T1", "a1"), delta("T1", "a1"), end("T1")),
		Entry("no turn.started, and no end", []string{"event 0: turn T1 has not started", "event 0: turn T1 never ended"}, delta("T1", "a1")),
		Entry("an id that never started", []string{"event 1: turn T2 has not started, and turn T1 runs"}, begin("T1"), delta("T2", "a1"),
			end("T1")),
		Entry("a turn that starts twice", []string{"event 2: turn T1 began before, in event 0"}, begin("T1"), end("T1"), begin("T1"), end("T1")),
		Entry("a turn without an id", []string{"event 0: it names no turn"}, begin("")),
		Entry("an end of a child's thread", []string{`event 1: it is of thread "child", and event 0 is of thread "a"`},
			begin("T1"), event.Event{ThreadID: "child", TurnID: "C1", Payload: ended}, end("T1")),
		Entry("an end after the session's", []string{"event 0: turn T1 never ended", "event 3: turn T1 is over since event 1"},
			begin("T1"), session(event.SessionExited{}), session(event.SessionStarted{}), end("T1")),
		Entry("an event after the session's end", []string{"event 1: the session is over since event 0"}, session(event.SessionExited{}),
			session(event.TokenUsageUpdated{})),

		Entry("a tool call that is open at the end", []string{"event 1: tool call t1 never ended"}, begin("T1"), runs("T1", "t1"),
			interrupted("T1")),
		Entry("a tool call that is over twice", []string{"event 3: tool call t1 is over since event 2"}, begin("T1"), runs("T1", "t1"),
			ran("T1", "t1"), ran("T1", "t1"), end("T1")),
		Entry("a tool call that goes on", []string{"event 3: tool call t1 is over since event 2"}, begin("T1"), runs("T1", "t1"),
			ran("T1", "t1"), updated("T1", "t1"), end("T1")),
		Entry("a tool call that starts twice", []string{"event 2: tool call t1 began before, in event 1"}, begin("T1"), runs("T1", "t1"),
			runs("T1", "t1"), ran("T1", "t1"), end("T1")),
		Entry("a tool call that ends before it starts",
			[]string{"event 1: tool call t1 has not started", "event 2: tool call t1 is over since event 1"},
			begin("T1"), ran("T1", "t1"), runs("T1", "t1"), end("T1")),
		Entry("a tool call's id that comes again in another turn", []string{"event 5: tool call t1 has the id of one of turn T1, in event 1"},
			begin("T1"), runs("T1", "t1"), ran("T1", "t1"), end("T1"), begin("T2"), runs("T2", "t1"), ran("T2", "t1"), end("T2")),
		Entry("a message's id that comes again in another turn", []string{"event 4: message a1 has the id of one of turn T1, in event 1"},
			begin("T1"), delta("T1", "a1"), end("T1"), begin("T2"), delta("T2", "a1"), delta("T2", "a1"), end("T2")),
		Entry("a piece of a message that was complete", []string{"event 2: message a1 is over since event 1"},
			begin("T1"), ev("T1", "a1", "", event.ItemCompleted{Item: message}), delta("T1", "a1"), end("T1")),
		Entry("a tool call without an id", []string{"event 1: it names no tool call"}, begin("T1"), runs("T1", ""), end("T1")),

		Entry("a task that is open at the end", []string{"event 1: task k1 never ended"}, begin("T1"), task("T1", "k1"), interrupted("T1")),
		Entry("a task that outlives its turn", []string{"event 1: task k1 never ended", "event 3: turn T1 is over since event 2"}, begin("T1"),
			task("T1", "k1"), end("T1"), tasked("T1", "k1")),
		Entry("a task that ends in another turn",
			[]string{"event 1: task k1 never ended", "event 4: task k1 has the id of one of turn T1, in event 1"},
			begin("T1"), task("T1", "k1"), end("T1"), begin("T2"), tasked("T2", "k1"), end("T2")),
		Entry("a task that is over twice", []string{"event 3: task k1 is over since event 2"}, begin("T1"), task("T1", "k1"), tasked("T1", "k1"),
			tasked("T1", "k1"), end("T1")),
		Entry("a task that goes on when it is over", []string{"event 3: task k1 is over since event 2"}, begin("T1"), task("T1", "k1"),
			tasked("T1", "k1"), goesOn("T1", "k1"), end("T1")),
		Entry("a task that starts twice", []string{"event 2: task k1 began before, in event 1"}, begin("T1"), task("T1", "k1"), task("T1", "k1"),
			tasked("T1", "k1"), end("T1")),
		Entry("a task that ends before it starts", []string{"event 1: task k1 has not started"}, begin("T1"), tasked("T1", "k1"), end("T1")),
		Entry("a task of no turn", []string{"event 0: it names no turn"}, task("", "k1")),
		Entry("a task without an id", []string{"event 1: it names no task"}, begin("T1"), task("T1", ""), end("T1")),

		Entry("a request that is open at the end", []string{"event 1: request r1 never ended"}, begin("T1"), ask("T1", "r1"),
			ev("T1", "", "", gaveUp)),
		Entry("a blocking question that is open at the end", []string{"event 1: request q1 never ended"}, begin("T1"), question("T1", "q1", ""),
			interrupted("T1")),
		Entry("a request that is opened after the end", []string{"event 2: turn T1 is over since event 1"}, begin("T1"), end("T1"),
			ask("T1", "r1")),
		Entry("a request that is answered twice", []string{"event 3: request r1 is over since event 2"}, begin("T1"), ask("T1", "r1"),
			answered("T1", "r1"), answered("T1", "r1"), end("T1")),
		Entry("a request that is answered when its turn is over",
			[]string{"event 1: request r1 never ended", "event 3: request r1 is over since event 2"},
			begin("T1"), ask("T1", "r1"), end("T1"), answered("T1", "r1")),
		Entry("an answer to nothing", []string{`event 1: request "r9" was never opened`}, begin("T1"), answered("T1", "r9"), end("T1")),
		Entry("a request's id that comes again", []string{"event 3: request r1 was opened before, in event 1"},
			begin("T1"), ask("T1", "r1"), answered("T1", "r1"), ask("T1", "r1"), answered("T1", "r1"), end("T1")),
		Entry("a request without an id", []string{"event 1: it names no request"}, begin("T1"), ask("T1", ""), answered("T1", ""), end("T1")),
		Entry("an event without a payload", []string{"event 0: it has no payload"}, ev("", "", "", nil)),
	)

	It("have seqs without holes, wherever they begin, and events of foreign origin have none", func() {
		seqs := func(all ...uint64) (events []event.Event) {
			for _, n := range all {
				e := session(event.TokenUsageUpdated{})
				e.Seq = n
				events = append(events, e)
			}
			return events
		}
		Expect(seqs(7, 8, 9)).To(BeWellFormed())
		Expect(seqs(0, 7, 0, 8)).To(BeWellFormed())
		Expect(wrongs(seqs(7, 0, 9))).To(HaveLen(1))
		Expect(wrongs(seqs(1, 2, 4, 5))).To(Equal([]string{"event 2: something is missing"}))
		Expect(failure(seqs(1, 2, 4, 5), BeWellFormed())).To(ContainSubstring(": seq is 4, after 2: something is missing\n"))
		Expect(wrongs(seqs(1, 2, 3, 1, 2, 3))).To(Equal([]string{"event 3: seq is 1, after 3"}), "as after a reconnect")
		Expect(wrongs(seqs(1, 2, 2))).To(Equal([]string{"event 2: seq is 2, after 2"}))
	})

	It("have times that do not go back", func() {
		times := func(all ...time.Duration) (events []event.Event) {
			for _, d := range all {
				e := session(event.TokenUsageUpdated{})
				if d >= 0 {
					e.Time = at.Add(d)
				}
				events = append(events, e)
			}
			return events
		}
		Expect(times(0, 0, time.Second, -1, time.Minute)).To(BeWellFormed())
		Expect(wrongs(times(0, time.Minute, -1, time.Second, 2*time.Second))).
			To(Equal([]string{"event 3: its time is 59s before that of the one before"}), "it goes back once")
	})

	It("list everything that is wrong, in order, and show the events", func() {
		events := []event.Event{begin("T1"), runs("T1", "t1"), end("T1"), delta("T1", "a1"), session(event.SessionExited{})}
		Expect(failure(events, BeWellFormed())).To(Equal(`2 things are wrong:
    event 1, item.started t1 {"itemType":"command_execution","title":"Bash"}: tool call t1 never ended
    event 3, content.delta a1 {"streamKind":"assistant_text","delta":"x"}: turn T1 is over since event 2

Expected
      0 turn.started  <- T1
      1 item.started t1 {"itemType":"command_execution","title":"Bash"}
      2 turn.completed {"state":"completed"}
      3 content.delta a1 {"streamKind":"assistant_text","delta":"x"}
      4 session.exited
to be well-formed`))
	})

	It("are those of our own agent, whatever it plays", func(ctx SpecContext) {
		agent := fakeagent.NewT(GinkgoT(), fakeagent.Scripted())
		var events []event.Event
		over := make(chan struct{}, 1)
		DeferCleanup(agent.Subscribe(func(e event.Event) {
			events = append(events, e)
			if asked, ok := e.Payload.(event.UserInputRequested); ok && asked.ResponseMode == "" {
				Expect(agent.RespondToUserInput(ctx, "a", e.RequestID, nil)).To(Succeed())
			}
			if _, ok := e.Payload.(event.TurnCompleted); ok {
				over <- struct{}{}
			}
			if e.RequestID != "" && e.Payload.Type() == "request.opened" {
				Expect(agent.RespondToRequest(ctx, "a", e.RequestID, fakeagent.Accept)).To(Succeed())
			}
		}))
		Expect(agent.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a", Cwd: GinkgoT().TempDir()})).To(Succeed())
		for _, prompt := range []string{
			`[{"think":"hm"},{"say":{"text":"hello there","chunks":3}},{"write":{"path":"a","content":"1"}},{"bash":{"command":"x","exitCode":1}},{"plan":[{"text":"x"}]}]`,
			`[{"approval":[{"title":"x","allow":[{"say":"y"}]},{"title":"z"}]},{"usage":{"usedTokens":1}},{"fail":"no quota"}]`,
			`[{"question":{"questions":[{"id":"q","header":"Q","question":"?"}]}},{"question":{"blocking":true,"questions":[{"id":"q","header":"Q","question":"?"}]}},` +
				`{"task":{"description":"x","steps":[{"task":{"description":"y","steps":[{"say":"z"}]}}]}},{"task":{"description":"x","steps":[{"fail":"no quota"}]}}]`,
		} {
			_, err := agent.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: prompt})
			Expect(err).NotTo(HaveOccurred())
			Eventually(ctx, over).Should(Receive())
		}
		Expect(events).To(BeWellFormed())
		Expect(events).To(EmitEvents("session.started", "turn.started", "request.opened", "request.opened", "request.resolved", "turn.completed"))
	})
})

var _ = Describe("Well-formed rows", func() {
	running := func(id string) timeline.ToolCall {
		return timeline.ToolCall{CallID: id, Name: "Bash", Status: timeline.Running}
	}
	done := func(id string) timeline.ToolCall {
		return timeline.ToolCall{CallID: id, Name: "Bash", Status: timeline.Completed}
	}
	// rows has rows of turns, each given as its id and then its items
	rows := func(of ...any) []timeline.Row {
		l, turn := timeline.NewLog("e"), ""
		for _, x := range of {
			switch x := x.(type) {
			case string:
				turn = x
			case timeline.Item:
				l.Append(at, turn, "", x)
			}
		}
		return l.Rows()
	}

	DescribeTable("are these:", func(of ...any) {
		Expect(rows(of...)).To(BeWellFormed())
	},
		Entry("none"),
		Entry("turns, one after the other", "T1", user, thought, running("c1"), running("c2"), done("c2"), done("c1"), said, "T2", user, said),
		Entry("a tool call that was over at once", "T1", user, done("c1")),
		Entry("a plugin row that came later", "T1", user, "T2", user, "T1", card, "T2", said),
		Entry("rows that are about no turn", "", failedFor, "T1", user, "", card, "T1", said),
		Entry("a row that is about no turn, inside of one", "T1", user, "", failedFor, "T1", said),
		Entry("tool calls that failed, or were canceled", "T1", user, running("c1"), tested, timeline.ToolCall{CallID: "c1", Status: timeline.Canceled}),
		Entry("a user who says more", "T1", user, said, timeline.UserMessage{Text: "stop", MessageID: "m2"},
			timeline.UserMessage{Text: "go", MessageID: "m3"}),
		Entry("a message in pieces", "T1", user, timeline.AssistantMessage{Text: "a", MessageID: "a1"},
			timeline.AssistantMessage{Text: "b", MessageID: "a1"}),
	)

	DescribeTable("are not these:", func(want []string, of ...any) {
		Expect(wrongs(rows(of...))).To(Equal(want))
	},
		Entry("a tool call that spins for ever", []string{"row 1: tool call c1 never ended"}, "T1", user, running("c1"), running("c1"), "T2", user),
		Entry("a tool call that changes when it is over", []string{"row 3: tool call c1 is over since row 2"}, "T1", user, running("c1"),
			done("c1"), done("c1")),
		Entry("a tool call that starts again", []string{"row 2: tool call c1 is over since row 1"}, "T1", user, done("c1"), running("c1")),
		Entry("a tool call's id that comes again in another turn",
			[]string{"row 3: tool call c1 of turn T2 has the id of one of turn T1, in row 1"},
			"T1", user, done("c1"), "T2", user, done("c1")),
		Entry("a turn without the user's message", []string{"row 0: it is the first row of turn T1, and should be the user's message"}, "T1",
			said, user),
		Entry("a later turn without it", []string{"row 1: it is the first row of turn T2, and should be the user's message"}, "T1", user, "T2",
			said),
		Entry("a row that comes when the next turn has begun", []string{"row 2: it is of turn T1, but turn T2 has begun"}, "T1", user, "T2",
			user, "T1", said, "T2", said),
		Entry("a user's message twice, by the client's id", []string{"row 1: user message c is there already, in row 0"},
			"T1", timeline.UserMessage{Text: "x", MessageID: "m1", ClientMessageID: "c"},
			timeline.UserMessage{Text: "x", MessageID: "m2", ClientMessageID: "c"}),
		Entry("a user's message twice", []string{"row 1: user message m1 is there already, in row 0"},
			"T1", timeline.UserMessage{Text: "x", MessageID: "m1"}, "T2", timeline.UserMessage{Text: "x", MessageID: "m1"}),
		Entry("a message's id that comes again in another turn", []string{"row 3: message a1 has the id of one of turn T1, in row 1"},
			"T1", user, timeline.AssistantMessage{MessageID: "a1"}, "T2", user, timeline.AssistantMessage{MessageID: "a1"}),
	)

	It("are of one epoch, have seqs without holes, and times that do not go back", func() {
		all := rows("T1", user, thought, said)
		all[1].Epoch, all[2].Seq, all[2].Time = "f", 5, at.Add(-time.Second)
		Expect(failure(all, BeWellFormed())).To(Equal(`3 things are wrong:
    row 1, reasoning "hm": its epoch is "f", and that of row 0 is "e"
    row 2, assistant_message "done": seq is 5, after 2: something is missing
    row 2, assistant_message "done": its time is 1s before that of the one before

Expected
      0 user_message "fix it"  <- T1
      1 reasoning "hm"
      2 assistant_message "done" (seq 5)
to be well-formed`))
	})

	It("may be the end of a history", func() {
		all := rows("T1", user, thought, said)
		Expect(all[1:]).To(BeWellFormed())
		Expect(all[2:]).To(BeWellFormed())
		Expect(wrongs(rows("T1", thought))).To(HaveLen(1), "but not its beginning")
	})

	It("have items", func() {
		Expect(wrongs([]timeline.Row{{Seq: 1, Epoch: "e"}})).To(Equal([]string{"row 0: it has no item"}))
	})
})
