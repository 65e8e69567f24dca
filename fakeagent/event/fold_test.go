package event_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// folded is the projection of what the fold makes of the events.
func folded(events ...event.Event) timeline.Items {
	var f event.Fold
	var p timeline.Projection
	for _, e := range events {
		if item, id, ok := f.Item(e); ok {
			p.Add(e.TurnID, id, item)
		}
	}
	return p.Snapshot().Items()
}

func answer(text string) event.Delta  { return event.Delta{Stream: event.AssistantText, Text: text} }
func thought(text string) event.Delta { return event.Delta{Stream: event.ReasoningText, Text: text} }

func completed(t event.ItemType, text string) event.ItemCompleted {
	return event.ItemCompleted{Item: event.Item{ItemType: t, Detail: text}}
}

func failed(message string) event.TurnCompleted {
	return event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: message}
}

var _ = Describe("The fold of events into timeline items", func() {
	DescribeTable("makes one item of", func(p event.Payload, want timeline.Item) {
		Expect(folded(live("id-1", p))).To(Equal(timeline.Items{want}))
	},
		Entry("a piece of an answer", answer("hi"), timeline.AssistantMessage{Text: "hi", MessageID: "id-1"}),
		Entry("a piece of thinking", thought("hm"), timeline.Reasoning{Text: "hm"}),
		Entry("a piece of a summary of thinking", event.Delta{Stream: event.ReasoningSummary, Text: "hm"}, timeline.Reasoning{Text: "hm"}),
		Entry("a whole answer", completed(event.AssistantMessage, "hi"), timeline.AssistantMessage{Text: "hi", MessageID: "id-1"}),
		Entry("whole thinking", completed(event.Reasoning, "hm"), timeline.Reasoning{Text: "hm"}),
		Entry("the echo of what the user said", completed(event.UserMessage, "fix it"), timeline.UserMessage{Text: "fix it"}),
		Entry("an error of the provider", completed(event.ErrorItem, "lost"), timeline.ErrorItem{Message: "lost"}),
		Entry("a compaction", completed(event.Compaction, ""), timeline.Compaction{Status: "completed"}),
		Entry("a fault of the provider", event.RuntimeError{Message: "lost"}, timeline.ErrorItem{Message: "lost"}),
		Entry("a task that begins", event.TaskStarted{TaskID: "task-1", Description: "look", TaskType: "explorer"},
			timeline.ToolCall{CallID: "task-1", Name: "Task", Detail: timeline.SubAgent{SubAgentType: "explorer", Description: "look"}, Status: timeline.Running}),
		Entry("a task of which only its progress is told", event.TaskProgress{TaskID: "task-1", Description: "looks", Summary: "half of it"},
			timeline.ToolCall{CallID: "task-1", Name: "Task", Detail: timeline.SubAgent{Description: "looks", Log: "half of it"}, Status: timeline.Running}),
		Entry("a task of which only its end is told", event.TaskCompleted{TaskID: "task-1", Status: event.TaskDone, Summary: "found it"},
			timeline.ToolCall{CallID: "task-1", Name: "Task", Detail: timeline.SubAgent{Log: "found it"}, Status: timeline.Completed}),
		Entry("a turn that failed", failed("no quota"), timeline.ErrorItem{Message: "no quota"}),
		Entry("a turn that failed and does not say why", failed(""), timeline.ErrorItem{Message: "the provider gave no reason"}),
		Entry("a plan, in the words of the timeline", event.PlanUpdated{Plan: []event.PlanStep{
			{Step: "look", Status: "completed"}, {Step: "fix", Status: "inProgress", Priority: "high"}, {Step: "test", Status: "pending"},
		}}, timeline.Todo{Items: []timeline.TodoEntry{
			{Text: "look", Completed: true, Status: "completed"}, {Text: "fix", Status: "in_progress"}, {Text: "test", Status: "pending"},
		}}),
		Entry("a plan with nothing in it", event.PlanUpdated{Plan: []event.PlanStep{}}, timeline.Todo{}),
	)

	DescribeTable("makes nothing of", func(p event.Payload) {
		Expect(folded(live("id-1", p))).To(BeEmpty())
	},
		Entry("the beginning of a session", event.SessionStarted{}),
		Entry("the end of a session", event.SessionExited{ExitKind: "error", Reason: "lost"}),
		Entry("the beginning of a turn", event.TurnStarted{}),
		Entry("a turn that ended well", event.TurnCompleted{State: event.TurnEndCompleted}),
		Entry("a turn that was interrupted", event.TurnCompleted{State: event.TurnEndInterrupted, ErrorMessage: "stopped"}),
		Entry("a turn that was cancelled", event.TurnCompleted{State: event.TurnEndCancelled}),
		Entry("an answer that begins", event.ItemStarted{Item: event.Item{ItemType: event.AssistantMessage}}),
		Entry("a compaction that begins", event.ItemStarted{Item: event.Item{ItemType: event.Compaction}}),
		Entry("thinking that goes on", event.ItemUpdated{Item: event.Item{ItemType: event.Reasoning, Detail: "hm"}}),
		Entry("the output of a command as it comes", event.Delta{Stream: "command_output", Text: "1..2"}),
		Entry("a request for an approval", event.RequestOpened{RequestType: "x"}),
		Entry("an approval", event.RequestResolved{RequestType: "x", Decision: "accept"}),
		Entry("a question", event.UserInputRequested{}),
		Entry("an answer to a question", event.UserInputResolved{}),
		Entry("what was used of tokens", event.TokenUsageUpdated{}),
		Entry("the end of a process, of which its turn tells", event.ProcessExit{Code: 1}),
		Entry("a complaint on standard error", event.ProcessStderr{Text: "x"}),
		Entry("bytes between the lines of a protocol", event.ProcessRaw{Bytes: []byte("x")}),
		Entry("a type that this version does not know", event.Raw{Name: "novel", JSON: json.RawMessage(`{}`)}),
	)
})

var _ = Describe("Text that comes in pieces", func() {
	It("is one message for each item id", func() {
		Expect(folded(
			live("r-1", thought("h")), live("r-1", thought("m")), live("r-2", thought("so")), live("a-1", answer("Hel")), live("a-1", answer("lo")),
		)).To(Equal(timeline.Items{
			timeline.Reasoning{Text: "hm"}, timeline.Reasoning{Text: "so"}, timeline.AssistantMessage{Text: "Hello", MessageID: "a-1"},
		}))
	})

	It("counts once when a completed item repeats the whole", func() {
		Expect(folded(
			live("r-1", thought("hm")), live("r-1", completed(event.Reasoning, "hm")),
			live("a-1", answer("Hel")), live("a-1", answer("lo")), live("a-1", completed(event.AssistantMessage, "Hello")),
		)).To(Equal(timeline.Items{timeline.Reasoning{Text: "hm"}, timeline.AssistantMessage{Text: "Hello", MessageID: "a-1"}}))
	})

	It("counts once when the completed item comes after other things", func() {
		Expect(folded(
			live("a-1", answer("one")), live("a-2", answer("two")), live("a-1", completed(event.AssistantMessage, "one")), live("a-2", completed(event.AssistantMessage, "two")),
		)).To(HaveLen(2))
	})

	It("does not swallow a second message that came without pieces", func() {
		Expect(folded(
			live("a-1", answer("one")), live("a-1", completed(event.AssistantMessage, "one")), live("a-2", completed(event.AssistantMessage, "two")),
		)).To(Equal(timeline.Items{
			timeline.AssistantMessage{Text: "one", MessageID: "a-1"}, timeline.AssistantMessage{Text: "two", MessageID: "a-2"},
		}))
	})

	It("does not swallow an answer when thinking came in pieces under the same id", func() {
		Expect(folded(live("x", thought("hm")), live("x", completed(event.AssistantMessage, "yes")))).To(Equal(timeline.Items{
			timeline.Reasoning{Text: "hm"}, timeline.AssistantMessage{Text: "yes", MessageID: "x"},
		}))
	})

	It("does not swallow an answer when a command's output came under the same id", func() {
		Expect(folded(live("x", event.Delta{Stream: "command_output", Text: "1"}), live("x", completed(event.AssistantMessage, "yes")))).To(HaveLen(1))
	})

	It("is one message of the turn when the pieces have no item id, and has no message id", func() {
		Expect(folded(live("", answer("Hel")), live("", answer("lo")))).To(Equal(timeline.Items{timeline.AssistantMessage{Text: "Hello"}}))
	})

	It("counts once when neither the pieces nor the completed item have an id", func() {
		Expect(folded(live("", answer("Hello")), live("", completed(event.AssistantMessage, "Hello")))).To(Equal(timeline.Items{timeline.AssistantMessage{Text: "Hello"}}))
	})

	It("is not there without pieces, so messages without an id stay apart", func() {
		Expect(folded(live("", completed(event.AssistantMessage, "one")), live("", completed(event.AssistantMessage, "two")))).To(HaveLen(2))
	})

	It("is forgotten when the next turn begins, where the same id may be used again", func() {
		next := live("a-1", completed(event.AssistantMessage, "two"))
		next.TurnID = "turn-2"
		Expect(folded(live("a-1", answer("one")), live("", event.TurnStarted{}), next)).To(Equal(timeline.Items{
			timeline.AssistantMessage{Text: "one", MessageID: "a-1"}, timeline.AssistantMessage{Text: "two", MessageID: "a-1"},
		}))
	})
})

var _ = Describe("A tool call in events", func() {
	item := event.Item{ItemType: event.CommandExecution, Title: "Bash", Data: timeline.Shell{Command: "ls"}}
	with := func(change func(*event.Item)) event.Item {
		i := item
		change(&i)
		return i
	}

	DescribeTable("has the status and the error that the event says:",
		func(p event.Payload, status timeline.Status, err any) {
			Expect(folded(live("t-1-1", p))).To(Equal(timeline.Items{
				timeline.ToolCall{CallID: "t-1-1", Name: "Bash", Detail: timeline.Shell{Command: "ls"}, Status: status, Error: err},
			}))
		},
		Entry("started", event.ItemStarted{Item: item}, timeline.Running, nil),
		Entry("updated", event.ItemUpdated{Item: item}, timeline.Running, nil),
		Entry("completed", event.ItemCompleted{Item: item}, timeline.Completed, nil),
		Entry("completed, and says so", event.ItemCompleted{Item: with(func(i *event.Item) { i.Status = event.Completed })}, timeline.Completed, nil),
		Entry("an update that says it is over", event.ItemUpdated{Item: with(func(i *event.Item) { i.Status = event.Completed })}, timeline.Completed, nil),
		Entry("failed, with a reason", event.ItemCompleted{Item: with(func(i *event.Item) { i.Status, i.Error = event.Failed, "exit code 1" })}, timeline.Failed, "exit code 1"),
		Entry("failed, without a reason", event.ItemCompleted{Item: with(func(i *event.Item) { i.Status = event.Failed })}, timeline.Failed, "failed"),
		Entry("declined, with a reason", event.ItemCompleted{Item: with(func(i *event.Item) { i.Status, i.Error = event.Declined, "not now" })}, timeline.Failed, "not now"),
		Entry("declined, without a reason", event.ItemCompleted{Item: with(func(i *event.Item) { i.Status = event.Declined })}, timeline.Failed, "declined"),
		Entry("an error beside completed, which goes nowhere", event.ItemCompleted{Item: with(func(i *event.Item) { i.Error = "?" })}, timeline.Completed, nil),
	)

	DescribeTable("is what every type is that is no message:",
		func(t event.ItemType) {
			Expect(folded(live("t-1-1", event.ItemCompleted{Item: event.Item{ItemType: t, Title: "x", Detail: "did it"}}))).To(Equal(timeline.Items{
				timeline.ToolCall{CallID: "t-1-1", Name: "x", Detail: timeline.PlainText{Text: "did it"}, Status: timeline.Completed},
			}))
		},
		Entry("a command", event.CommandExecution), Entry("a change of a file", event.FileChange), Entry("a tool of the host", event.DynamicToolCall),
		Entry("a tool of an MCP server", event.ItemType("mcp_tool_call")), Entry("a type that this version does not know", event.ItemType("novel")),
	)

	It("is named for its type when it has no title", func() {
		Expect(folded(live("t-1-1", completed("web_search", "go")))).To(ConsistOf(HaveField("Name", "web_search")))
	})

	It("is one item from its start to its end", func() {
		Expect(folded(
			live("t-1-1", event.ItemStarted{Item: item}),
			live("a-1-2", answer("meanwhile")),
			live("t-1-1", event.ItemCompleted{Item: with(func(i *event.Item) { i.Data = timeline.Shell{Command: "ls", ExitCode: timeline.Exited(0)} })}),
		)).To(Equal(timeline.Items{
			timeline.ToolCall{CallID: "t-1-1", Name: "Bash", Detail: timeline.Shell{Command: "ls", ExitCode: timeline.Exited(0)}, Status: timeline.Completed},
			timeline.AssistantMessage{Text: "meanwhile", MessageID: "a-1-2"},
		}))
	})
})

var _ = Describe("A tool call whose later events say less", func() {
	It("keeps the name and the detail that its first one gave", func() {
		var f event.Fold
		var p timeline.Projection
		for _, payload := range []event.Payload{
			event.TurnStarted{},
			event.ItemStarted{Item: event.Item{ItemType: event.CommandExecution, Title: "Bash", Data: timeline.Shell{Command: "ls"}}},
			event.ItemCompleted{Item: event.Item{ItemType: event.CommandExecution, Status: event.Completed, Detail: "done"}},
		} {
			if item, id, ok := f.Item(event.Event{TurnID: "t", ItemID: "c", Payload: payload}); ok {
				p.Add("t", id, item)
			}
		}
		Expect(p.Snapshot().Items()).To(Equal(timeline.Items{
			timeline.ToolCall{CallID: "c", Name: "Bash", Detail: timeline.Shell{Command: "ls"}, Status: timeline.Completed}}))
	})
	It("has the id of its turn where its events have none, so that calls of different turns stay apart", func() {
		var f event.Fold
		item, id, ok := f.Item(event.Event{TurnID: "t", Payload: event.ItemStarted{Item: event.Item{ItemType: event.CommandExecution}}})
		Expect(ok).To(BeTrue())
		Expect(id).To(Equal("t"))
		Expect(item).To(HaveField("CallID", "t"))
	})
})

var _ = Describe("A task in events", func() {
	begun := event.TaskStarted{TaskID: "task-1", Description: "look around", TaskType: "explorer"}
	call := func(d timeline.SubAgent, status timeline.Status, err any) timeline.Items {
		return timeline.Items{timeline.ToolCall{CallID: "task-1", Name: "Task", Detail: d, Status: status, Error: err}}
	}

	It("is one item, in which a later event only changes what it says", func() {
		var f event.Fold
		var p timeline.Projection
		after := func(payload event.Payload) timeline.Items {
			item, id, ok := f.Item(live("", payload))
			Expect(ok).To(BeTrue())
			p.Add("turn-1", id, item)
			return p.Snapshot().Items()
		}
		Expect(after(begun)).To(Equal(call(timeline.SubAgent{SubAgentType: "explorer", Description: "look around"}, timeline.Running, nil)))
		Expect(after(event.TaskProgress{TaskID: "task-1", Summary: "read a.go"})).To(
			Equal(call(timeline.SubAgent{SubAgentType: "explorer", Description: "look around", Log: "read a.go"}, timeline.Running, nil)))
		Expect(after(event.TaskProgress{TaskID: "task-1", Description: "look at b.go"})).To(
			Equal(call(timeline.SubAgent{SubAgentType: "explorer", Description: "look at b.go", Log: "read a.go"}, timeline.Running, nil)))
		Expect(after(event.TaskCompleted{TaskID: "task-1", Status: event.TaskDone})).To(
			Equal(call(timeline.SubAgent{SubAgentType: "explorer", Description: "look at b.go", Log: "read a.go"}, timeline.Completed, nil)))
	})

	DescribeTable("ends", func(end event.TaskCompleted, log string, status timeline.Status, err any) {
		end.TaskID = "task-1"
		Expect(folded(live("", begun), live("", end))).To(
			Equal(call(timeline.SubAgent{SubAgentType: "explorer", Description: "look around", Log: log}, status, err)))
	},
		Entry("completed", event.TaskCompleted{Status: event.TaskDone, Summary: "found it"}, "found it", timeline.Completed, nil),
		Entry("failed, with a reason", event.TaskCompleted{Status: event.TaskFailed, Summary: "lost"}, "lost", timeline.Failed, "lost"),
		Entry("failed, without a reason", event.TaskCompleted{Status: event.TaskFailed}, "", timeline.Failed, "failed"),
		Entry("canceled for stopped", event.TaskCompleted{Status: event.TaskStopped, Summary: "by the user"}, "by the user", timeline.Canceled, nil),
		Entry("failed for a status that this version does not know", event.TaskCompleted{Status: "killed"}, "", timeline.Failed, "killed"),
		Entry("failed for no status", event.TaskCompleted{}, "", timeline.Failed, "failed"),
	)

	It("is an item for each task, also where they overlap", func() {
		Expect(folded(
			live("", event.TaskStarted{TaskID: "x", Description: "one"}), live("", event.TaskStarted{TaskID: "y", Description: "two"}),
			live("", event.TaskCompleted{TaskID: "y", Status: event.TaskDone}), live("", event.TaskCompleted{TaskID: "x", Status: event.TaskStopped}),
		)).To(Equal(timeline.Items{
			timeline.ToolCall{CallID: "x", Name: "Task", Detail: timeline.SubAgent{Description: "one"}, Status: timeline.Canceled},
			timeline.ToolCall{CallID: "y", Name: "Task", Detail: timeline.SubAgent{Description: "two"}, Status: timeline.Completed},
		}))
	})

	It("knows nothing of an earlier one of that id, whether that has ended or not", func() {
		for _, end := range []event.Payload{event.TaskCompleted{TaskID: "task-1", Status: event.TaskDone}, event.TurnStarted{}} {
			items := folded(live("", begun), live("", end), live("", event.TaskStarted{TaskID: "task-1"}))
			Expect(items).To(Equal(call(timeline.SubAgent{}, timeline.Running, nil)))
		}
	})

	It("is forgotten when it has ended", func() {
		Expect(folded(live("", begun), live("", event.TaskCompleted{TaskID: "task-1", Status: event.TaskDone}), live("", event.TaskProgress{TaskID: "task-1"}))).To(
			Equal(call(timeline.SubAgent{}, timeline.Running, nil)))
	})

	It("goes on into the next turn, where what is told of it is what it was", func() {
		var f event.Fold
		f.Item(live("", begun))
		f.Item(live("", event.TurnStarted{}))
		item, _, _ := f.Item(live("", event.TaskCompleted{TaskID: "task-1", Status: event.TaskDone}))
		Expect(item).To(Equal(call(timeline.SubAgent{SubAgentType: "explorer", Description: "look around"}, timeline.Completed, nil)[0]))
	})

	It("has the id of its item or its turn where it has none", func() {
		Expect(folded(live("t-1-1", event.TaskStarted{}))).To(ConsistOf(HaveField("CallID", "t-1-1")))
		Expect(folded(live("", event.TaskStarted{}))).To(ConsistOf(HaveField("CallID", "turn-1")))
	})
})

var _ = Describe("An error in events", func() {
	It("is one item for each fault outside a turn, also where they say the same", func() {
		var f event.Fold
		for range 2 {
			_, _, ok := f.Item(event.Event{Payload: event.RuntimeError{Message: "boom"}})
			Expect(ok).To(BeTrue())
		}
	})
	It("is one item when the turn then fails without saying why", func() {
		var f event.Fold
		_, _, ok := f.Item(event.Event{TurnID: "t", Payload: event.RuntimeError{Message: "boom"}})
		Expect(ok).To(BeTrue())
		_, _, ok = f.Item(event.Event{TurnID: "t", Payload: event.TurnCompleted{State: event.TurnEndFailed}})
		Expect(ok).To(BeFalse())
	})
	It("is one item when a fault, an error item and the end of the turn say the same", func() {
		Expect(folded(
			live("", event.RuntimeError{Message: "lost"}), live("e", completed(event.ErrorItem, "lost")), live("", failed("lost")),
		)).To(Equal(timeline.Items{timeline.ErrorItem{Message: "lost"}}))
	})

	It("is two items when they say different things", func() {
		Expect(folded(live("", event.RuntimeError{Message: "lost"}), live("", failed("no quota")))).To(Equal(timeline.Items{
			timeline.ErrorItem{Message: "lost"}, timeline.ErrorItem{Message: "no quota"},
		}))
	})

	It("is an item again in the next turn", func() {
		Expect(folded(live("", failed("lost")), live("", event.TurnStarted{}), live("", failed("lost")))).To(HaveLen(2))
	})
})

var _ = Describe("The end of a turn in the words of the timeline", func() {
	DescribeTable("is", func(p event.TurnCompleted, want timeline.Ending) {
		Expect(p.Ending()).To(Equal(want))
	},
		Entry("completed", event.TurnCompleted{State: event.TurnEndCompleted}, timeline.Ending{Kind: timeline.Completed}),
		Entry("failed, with message and code", event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: "no quota", ErrorCode: -32000},
			timeline.Ending{Kind: timeline.Failed, Message: "no quota", Code: -32000}),
		Entry("failed, and a message that says there is none", failed(""), timeline.Ending{Kind: timeline.Failed, Message: "the provider gave no reason"}),
		Entry("canceled for interrupted", event.TurnCompleted{State: event.TurnEndInterrupted, ErrorMessage: "by the user"},
			timeline.Ending{Kind: timeline.Canceled, Message: "by the user"}),
		Entry("canceled for cancelled", event.TurnCompleted{State: event.TurnEndCancelled}, timeline.Ending{Kind: timeline.Canceled}),
	)
})

var _ = Describe("Live events and the same events decoded", func() {
	It("fold into equal items", func() {
		events := []event.Event{
			live("", event.TurnStarted{}),
			live("r-1", thought("h")), live("r-1", thought("m < n")),
			live("t-1-1", event.ItemStarted{Item: event.Item{ItemType: event.CommandExecution, Title: "Bash", Data: timeline.Shell{Command: "a && b"}}}),
			live("t-1-1", event.ItemCompleted{Item: event.Item{
				ItemType: event.CommandExecution, Title: "Bash", Status: event.Failed, Error: "killed", Data: timeline.Shell{Command: "a && b", ExitCode: timeline.NoExitCode},
			}}),
			live("t-1-2", event.ItemCompleted{Item: event.Item{ItemType: event.DynamicToolCall, Title: "x", Data: timeline.Unknown{Input: json.RawMessage(`{"b":1,"a":"<"}`)}}}),
			live("t-1-3", event.ItemCompleted{Item: event.Item{ItemType: event.DynamicToolCall, Title: "x", Data: timeline.WorktreeSetup{}}}),
			live("t-1-4", event.ItemCompleted{Item: event.Item{ItemType: event.DynamicToolCall, Title: "x", Data: timeline.Raw{JSON: json.RawMessage(`{"type":"novel"}`)}}}),
			live("t-1-5", event.ItemCompleted{Item: event.Item{ItemType: event.FileChange, Title: "Look", Detail: "at this"}}),
			live("", event.PlanUpdated{Plan: []event.PlanStep{{Step: "look", Status: "inProgress"}}}),
			live("", event.TaskStarted{TaskID: "x", Description: "look", TaskType: "explorer"}),
			live("", event.TaskProgress{TaskID: "x", Description: "look", Summary: "half of it", LastToolName: "Read"}),
			live("", event.TaskCompleted{TaskID: "x", Status: event.TaskFailed}),
			live("a-1", answer("done")), live("a-1", completed(event.AssistantMessage, "done")),
			live("", failed("no quota")),
		}
		decoded := make([]event.Event, len(events))
		for i, e := range events {
			data, err := timeline.JSON(e)
			Expect(err).NotTo(HaveOccurred())
			Expect(json.Unmarshal(data, &decoded[i])).To(Succeed())
		}
		Expect(folded(decoded...)).To(HaveLen(10))
		Expect(folded(decoded...)).To(Equal(folded(events...)))
	})

	It("fold into items that read back equal from their own JSON", func() {
		items := folded(
			live("t-1-1", event.ItemCompleted{Item: event.Item{ItemType: event.DynamicToolCall, Title: "x", Status: event.Declined, Data: timeline.Plan{Text: "1."}}}),
			live("", event.PlanUpdated{Plan: []event.PlanStep{}}),
			live("", event.TaskCompleted{TaskID: "x"}),
			live("a-1", answer("done")),
		)
		var back timeline.Items
		Expect(json.Unmarshal(timeline.AppendJSON(nil, items), &back)).To(Succeed())
		Expect(back).To(Equal(items))
	})
})
