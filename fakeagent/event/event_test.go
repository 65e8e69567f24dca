package event_test

import (
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// live is an event as the engine emits it.
func live(itemID string, p event.Payload) event.Event {
	return event.Event{Seq: 3, Provider: "fake-agent", ThreadID: "thread-1", TurnID: "turn-1", ItemID: itemID, Time: noon, Payload: p}
}

// foreign is an event as another provider's log has it.
func foreign(typ, payload string) string {
	return `{"type":"` + typ + `","eventId":"x","provider":"codex","threadId":"thread-1","createdAt":"2026-01-02T12:00:00Z","payload":` + payload + `}`
}

var _ = Describe("The JSON form of an event", func() {
	It("is an envelope with the field names of the contract, around the payload", func() {
		e := event.Event{
			Seq: 3, Provider: "fake-agent", ThreadID: "thread-1", TurnID: "turn-1", ItemID: "t-1-1", RequestID: "r-1", Time: noon.Add(5 * time.Millisecond),
			Payload: event.RequestOpened{RequestType: "command_execution_approval", Detail: "a < b"},
		}
		Expect(timeline.JSON(e)).To(BeEquivalentTo(`{"type":"request.opened","eventId":"thread-1:3","provider":"fake-agent","threadId":"thread-1",` +
			`"createdAt":"2026-01-02T12:00:00.005Z","seq":3,"turnId":"turn-1","itemId":"t-1-1","requestId":"r-1",` +
			`"payload":{"requestType":"command_execution_approval","detail":"a < b"}}`))
	})

	It("leaves out the ids that an event does not have, and the seq of one of foreign origin", func() {
		Expect(timeline.JSON(event.Event{Provider: "codex", ThreadID: "thread-1", Time: noon, Payload: event.SessionStarted{}})).To(BeEquivalentTo(
			`{"type":"session.started","eventId":"thread-1:0","provider":"codex","threadId":"thread-1","createdAt":"2026-01-02T12:00:00Z","payload":{}}`))
	})

	DescribeTable("has the payload's contract field names, and a live event equals the one that is decoded from it:",
		func(p event.Payload, typ, payload string) {
			e := live("t-1-1", p)
			data, err := timeline.JSON(e)
			Expect(err).NotTo(HaveOccurred())
			Expect(string(data)).To(Equal(`{"type":"` + typ + `","eventId":"thread-1:3","provider":"fake-agent","threadId":"thread-1",` +
				`"createdAt":"2026-01-02T12:00:00Z","seq":3,"turnId":"turn-1","itemId":"t-1-1","payload":` + payload + `}`))
			var decoded event.Event
			Expect(json.Unmarshal(data, &decoded)).To(Succeed())
			Expect(decoded).To(Equal(e)) // by reflect.DeepEqual
			Expect(cmp.Diff(e, decoded)).To(BeEmpty())
		},
		Entry("a session begins", event.SessionStarted{}, "session.started", `{}`),
		Entry("a session is over", event.SessionExited{Reason: "stopped", ExitKind: "graceful"}, "session.exited", `{"reason":"stopped","exitKind":"graceful"}`),
		Entry("a session is over, without a word", event.SessionExited{}, "session.exited", `{}`),
		Entry("a turn begins", event.TurnStarted{}, "turn.started", `{}`),
		Entry("a turn ends well", event.TurnCompleted{State: event.TurnEndCompleted}, "turn.completed", `{"state":"completed"}`),
		Entry("a turn fails", event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: "no quota", ErrorCode: -32000},
			"turn.completed", `{"state":"failed","errorMessage":"no quota","errorCode":-32000}`),
		Entry("a turn is interrupted", event.TurnCompleted{State: event.TurnEndInterrupted}, "turn.completed", `{"state":"interrupted"}`),
		Entry("a piece of an answer", event.Delta{Stream: event.AssistantText, Text: "a < b"}, "content.delta", `{"streamKind":"assistant_text","delta":"a < b"}`),
		Entry("a piece of thinking", event.Delta{Stream: event.ReasoningText, Text: "hm"}, "content.delta", `{"streamKind":"reasoning_text","delta":"hm"}`),
		Entry("an empty piece", event.Delta{Stream: event.ReasoningSummary}, "content.delta", `{"streamKind":"reasoning_summary_text","delta":""}`),
		Entry("a tool call begins", event.ItemStarted{Item: event.Item{
			ItemType: event.CommandExecution, Status: event.InProgress, Title: "Bash", Data: timeline.Shell{Command: "ls"},
		}}, "item.started", `{"itemType":"command_execution","status":"inProgress","title":"Bash","data":{"type":"shell","command":"ls"}}`),
		Entry("a tool call goes on", event.ItemUpdated{Item: event.Item{ItemType: event.FileChange, Detail: "half"}},
			"item.updated", `{"itemType":"file_change","detail":"half"}`),
		Entry("a tool call fails", event.ItemCompleted{Item: event.Item{
			ItemType: event.CommandExecution, Status: event.Failed, Title: "Bash", Error: "signal killed",
			Data: timeline.Shell{Command: "ls", ExitCode: timeline.NoExitCode},
		}}, "item.completed", `{"itemType":"command_execution","status":"failed","title":"Bash","data":{"type":"shell","command":"ls","output":"","exitCode":null},"error":"signal killed"}`),
		Entry("a tool of no known kind", event.ItemCompleted{Item: event.Item{
			ItemType: event.DynamicToolCall, Data: timeline.Unknown{Input: json.RawMessage(`{"b":1,"a":"<"}`)},
		}}, "item.completed", `{"itemType":"dynamic_tool_call","data":{"type":"unknown","input":{"b":1,"a":"<"},"output":null}}`),
		Entry("a detail of a type of its own", event.ItemCompleted{Item: event.Item{
			ItemType: event.DynamicToolCall, Data: timeline.Raw{JSON: json.RawMessage(`{"x":"<","type":"novel"}`)},
		}}, "item.completed", `{"itemType":"dynamic_tool_call","data":{"x":"<","type":"novel"}}`),
		Entry("a worktree without commands", event.ItemCompleted{Item: event.Item{ItemType: event.DynamicToolCall, Data: timeline.WorktreeSetup{}}},
			"item.completed", `{"itemType":"dynamic_tool_call","data":{"type":"worktree_setup","worktreePath":"","branchName":"","log":"","commands":[]}}`),
		Entry("a plan", event.PlanUpdated{Plan: []event.PlanStep{{Step: "look", Status: "inProgress", Priority: "high"}, {Step: "fix", Status: "pending"}}},
			"turn.plan.updated", `{"plan":[{"step":"look","status":"inProgress","priority":"high"},{"step":"fix","status":"pending"}]}`),
		Entry("an approval is asked for", event.RequestOpened{RequestType: "file_change_approval", Detail: "a.go", Options: []string{"accept", "decline"}},
			"request.opened", `{"requestType":"file_change_approval","detail":"a.go","options":["accept","decline"]}`),
		Entry("an approval is given", event.RequestResolved{RequestType: "file_change_approval", Decision: "accept"},
			"request.resolved", `{"requestType":"file_change_approval","decision":"accept"}`),
		Entry("a question", event.UserInputRequested{ResponseMode: "message", Questions: []event.Question{{
			ID: "q-1", Header: "Colour", Question: "Which one?", Options: []event.Option{{Label: "red", Description: "warm"}}, MultiSelect: true,
		}}}, "user-input.requested", `{"questions":[{"id":"q-1","header":"Colour","question":"Which one?","options":[{"label":"red","description":"warm"}],"multiSelect":true}],"responseMode":"message"}`),
		Entry("an answer, its keys in order", event.UserInputResolved{Answers: map[string]any{"q-2": []any{"x", true}, "q-1": "red", "q-3": 1.5}},
			"user-input.resolved", `{"answers":{"q-1":"red","q-2":["x",true],"q-3":1.5}}`),
		Entry("a plan with nothing in it", event.PlanUpdated{}, "turn.plan.updated", `{"plan":[]}`),
		Entry("no question", event.UserInputRequested{}, "user-input.requested", `{"questions":[]}`),
		Entry("a question with nothing to choose from, which blocks", event.UserInputRequested{Questions: []event.Question{{ID: "q-1", Question: "Which?"}}},
			"user-input.requested", `{"questions":[{"id":"q-1","header":"","question":"Which?","options":[]}]}`),
		Entry("no answer", event.UserInputResolved{}, "user-input.resolved", `{"answers":{}}`),
		Entry("a task begins", event.TaskStarted{TaskID: "task-1", Description: "look <there>", TaskType: "explorer"},
			"task.started", `{"taskId":"task-1","description":"look <there>","taskType":"explorer"}`),
		Entry("a task begins, without a word", event.TaskStarted{TaskID: "task-1"}, "task.started", `{"taskId":"task-1"}`),
		Entry("a task goes on", event.TaskProgress{TaskID: "task-1", Description: "looks", Summary: "half of it", LastToolName: "Read"},
			"task.progress", `{"taskId":"task-1","description":"looks","summary":"half of it","lastToolName":"Read"}`),
		Entry("a task goes on, without a word", event.TaskProgress{TaskID: "task-1"}, "task.progress", `{"taskId":"task-1","description":""}`),
		Entry("a task ends well", event.TaskCompleted{TaskID: "task-1", Status: event.TaskDone, Summary: "found it"},
			"task.completed", `{"taskId":"task-1","status":"completed","summary":"found it"}`),
		Entry("a task fails", event.TaskCompleted{TaskID: "task-1", Status: event.TaskFailed}, "task.completed", `{"taskId":"task-1","status":"failed"}`),
		Entry("a task is stopped", event.TaskCompleted{TaskID: "task-1", Status: event.TaskStopped}, "task.completed", `{"taskId":"task-1","status":"stopped"}`),
		Entry("all that can be said of tokens", event.TokenUsageUpdated{Usage: event.TokenUsage{
			UsedTokens: 1, MaxTokens: 2, TotalProcessedTokens: 3, InputTokens: 4, CachedInputTokens: 5, OutputTokens: 6, ReasoningOutputTokens: 7,
			LastUsedTokens: 8, LastInputTokens: 9, LastCachedInputTokens: 10, LastOutputTokens: 11, LastReasoningOutputTokens: 12,
			ToolUses: 13, DurationMs: 14, CompactsAutomatically: true,
		}}, "thread.token-usage.updated", `{"usage":{"usedTokens":1,"maxTokens":2,"totalProcessedTokens":3,"inputTokens":4,"cachedInputTokens":5,"outputTokens":6,`+
			`"reasoningOutputTokens":7,"lastUsedTokens":8,"lastInputTokens":9,"lastCachedInputTokens":10,"lastOutputTokens":11,"lastReasoningOutputTokens":12,`+
			`"toolUses":13,"durationMs":14,"compactsAutomatically":true}}`),
		Entry("no tokens yet", event.TokenUsageUpdated{}, "thread.token-usage.updated", `{"usage":{"usedTokens":0}}`),
		Entry("a fault of the provider", event.RuntimeError{Message: "lost"}, "runtime.error", `{"message":"lost"}`),
		Entry("the agent's process ends well", event.ProcessExit{}, "process.exit", `{}`),
		Entry("the agent's process ends with a code", event.ProcessExit{Code: 3}, "process.exit", `{"code":3}`),
		Entry("the agent's process is killed", event.ProcessExit{Signal: "SIGKILL"}, "process.exit", `{"signal":"SIGKILL"}`),
		Entry("a complaint on standard error", event.ProcessStderr{Text: "a < b\n"}, "process.stderr", `{"text":"a < b\n"}`),
		Entry("bytes between the lines of a protocol", event.ProcessRaw{Bytes: []byte("a\xff\n")}, "process.raw", `{"base64":"Yf8K"}`),
		Entry("a type that this version does not know", event.Raw{Name: "account.updated", JSON: json.RawMessage(`{"z":"<","a":1.50}`)},
			"account.updated", `{"z":"<","a":1.50}`),
	)

	It("has what was recorded in the place of the payload, and the ids of the provider itself before it", func() {
		e := live("t-1-1", event.Delta{Stream: event.AssistantText, Text: "a"})
		e.Recorded = &event.Recorded{Payload: json.RawMessage(`{"delta":"a<b"}`), ProviderRefs: json.RawMessage(`{"providerItemId":"x"}`)}
		Expect(timeline.JSON(e)).To(BeEquivalentTo(`{"type":"content.delta","eventId":"thread-1:3","provider":"fake-agent","threadId":"thread-1",` +
			`"createdAt":"2026-01-02T12:00:00Z","seq":3,"turnId":"turn-1","itemId":"t-1-1","providerRefs":{"providerItemId":"x"},"payload":{"delta":"a<b"}}`))
	})

	It("is refused for an event without a payload", func() {
		_, err := json.Marshal(event.Event{Seq: 3, ThreadID: "thread-1"})
		Expect(err).To(MatchError(ContainSubstring(`event: no payload in event 3 of thread "thread-1"`)))
	})
})

var _ = Describe("Decoding an event of foreign origin", func() {
	decode := func(data string) (e event.Event, err error) {
		err = json.Unmarshal([]byte(data), &e)
		return e, err
	}

	It("drops what its envelope has beyond the contract's ids", func() {
		Expect(decode(`{"type":"turn.completed","eventId":"ev-9","provider":"codex","providerInstanceId":"p","threadId":"thread-1","createdAt":"2026-01-02T12:00:00Z",` +
			`"turnId":"turn-9","providerRefs":null,"raw":{"source":"acp.jsonrpc","payload":{}},"payload":{"state":"cancelled"}}`)).
			To(Equal(event.Event{Provider: "codex", ThreadID: "thread-1", TurnID: "turn-9", Time: noon, Payload: event.TurnCompleted{State: event.TurnEndCancelled}}))
	})

	It("keeps what else a payload says, beside what it knows of it", func() {
		e, err := decode(foreign("turn.completed", `{ "state": "cancelled", "stopReason": null, "usage": {"b": 1.50, "a": "<"} }`))
		Expect(err).NotTo(HaveOccurred())
		Expect(e.Payload).To(Equal(event.TurnCompleted{State: event.TurnEndCancelled}))
		Expect(e.Recorded).To(Equal(&event.Recorded{Payload: json.RawMessage(`{"state":"cancelled","stopReason":null,"usage":{"b":1.50,"a":"<"}}`)}))
	})

	It("keeps the ids that things have at the provider itself", func() {
		e, err := decode(`{"type":"turn.started","providerRefs":{ "providerTurnId": "<9>" },"payload":{}}`)
		Expect(err).NotTo(HaveOccurred())
		Expect(e.Recorded).To(Equal(&event.Recorded{ProviderRefs: json.RawMessage(`{"providerTurnId":"<9>"}`)}))
	})

	DescribeTable("encodes it again with all that its payload said:", func(typ, payload string) {
		e, err := decode(foreign(typ, payload))
		Expect(err).NotTo(HaveOccurred())
		Expect(e.Recorded).NotTo(BeNil())
		again, err := timeline.JSON(e)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(again)).To(HaveSuffix(`"payload":` + payload + `}`))
		Expect(decode(string(again))).To(Equal(e))
	},
		Entry("a key that this version does not know", "content.delta", `{"streamKind":"assistant_text","delta":"x","contentIndex":0}`),
		Entry("what is there without a word", "content.delta", `{"delta":"x"}`),
		Entry("null", "item.completed", `{"itemType":"reasoning","detail":null}`),
		Entry("data of any shape", "item.started", `{"itemType":"mcp_tool_call","data":[{"b":1,"a":"<"},null]}`),
		Entry("more than a detail has", "item.started", `{"itemType":"command_execution","data":{"type":"shell","command":"ls","pid":7}}`),
		Entry("a number as it was written", "user-input.resolved", `{"answers":{"q":1.50}}`),
		Entry("a number that is too large for a program", "user-input.resolved", `{"answers":{"q":12345678901234567890}}`),
		Entry("a key that is there twice", "content.delta", `{"streamKind":"assistant_text","delta":"x","more":1,"more":2}`),
		Entry("deep inside", "turn.plan.updated", `{"plan":[{"step":"look","status":"pending","owner":"me"}]}`),
		Entry("what a task has used", "task.progress", `{"taskId":"t","description":"d","usage":{"total_tokens":5}}`),
	)

	DescribeTable("keeps nothing beside the payload where only the form differs:", func(typ, payload string) {
		e, err := decode(foreign(typ, payload))
		Expect(err).NotTo(HaveOccurred())
		Expect(e.Recorded).To(BeNil())
	},
		Entry("white space", "content.delta", `{ "streamKind": "assistant_text",  "delta": "x" }`),
		Entry("the order of keys", "content.delta", `{"delta":"x","streamKind":"assistant_text"}`),
		Entry("escapes", "content.delta", `{"streamKind":"assistant_text","delta":"\u0078\u003c\/"}`),
		Entry("a type that this version does not know", "hook.started", `{"hookId":"h", "n":1.50}`),
	)

	It("keeps a payload of a type that this version does not know, without its white space", func() {
		e, err := decode(foreign("hook.started", `{ "hookId": "h", "hookName": "a  b", "n": 1.50 }`))
		Expect(err).NotTo(HaveOccurred())
		Expect(e.Payload).To(Equal(event.Raw{Name: "hook.started", JSON: json.RawMessage(`{"hookId":"h","hookName":"a  b","n":1.50}`)}))
		Expect(e.Payload.Type()).To(Equal("hook.started"))
	})

	DescribeTable("takes an item's data as a detail if it is one, else as the input of a tool of no known kind:",
		func(data string, want timeline.Detail) {
			e, err := decode(foreign("item.completed", `{"itemType":"mcp_tool_call","title":"x","data":`+data+`}`))
			Expect(err).NotTo(HaveOccurred())
			Expect(e.Payload).To(Equal(event.ItemCompleted{Item: event.Item{ItemType: "mcp_tool_call", Title: "x", Data: want}}))
		},
		Entry("a detail", `{"type":"read","filePath":"/a"}`, timeline.Read{FilePath: "/a"}),
		Entry("an object without a type", `{ "command": "ls", "n": [1, "<"] }`, timeline.Unknown{Input: json.RawMessage(`{"command":"ls","n":[1,"<"]}`)}),
		Entry("a detail with a wrong value", `{"type":"read","filePath":5}`, timeline.Unknown{Input: json.RawMessage(`{"type":"read","filePath":5}`)}),
		Entry("a list", `[1, 2]`, timeline.Unknown{Input: json.RawMessage(`[1,2]`)}),
		Entry("a text", `"ls"`, timeline.Unknown{Input: json.RawMessage(`"ls"`)}),
		Entry("an object with a type of its own", `{"x":1,"type":"novel"}`, timeline.Raw{JSON: json.RawMessage(`{"x":1,"type":"novel"}`)}),
		Entry("null, which is no data", `null`, nil),
	)

	DescribeTable("says what is wrong with an envelope:",
		func(in, want string) {
			_, err := decode(in)
			Expect(err).To(MatchError(want))
		},
		Entry("a number", `5`, `event: want an object with a "type"`),
		Entry("a list", `[]`, `event: want an object with a "type"`),
		Entry("null", `null`, `event: want an object with a "type"`),
		Entry("no type", `{"payload":{}}`, `event: no "type"`),
		Entry("an empty type", `{"type":"","payload":{}}`, `event: no "type"`),
		Entry("no payload", `{"type":"turn.started"}`, `event: turn.started: no "payload"`),
		Entry("a payload that is null", `{"type":"turn.started","payload":null}`, `event: turn.started: no "payload"`),
		Entry("a payload that is a list", `{"type":"turn.started","payload":[1]}`, `event: turn.started: payload must be an object, is [1]`),
		Entry("a payload that is no object, of a type that nobody knows", `{"type":"novel","payload":"x"}`, `event: novel: payload must be an object, is "x"`),
	)

	DescribeTable("names the field that has a wrong value:",
		func(in, where, field string) {
			_, err := decode(in)
			Expect(err).To(MatchError(SatisfyAll(HavePrefix(where), ContainSubstring(field))))
		},
		Entry("in the envelope", `{"type":"turn.started","threadId":1,"payload":{}}`, "event: ", "threadId must be a string, is a number"),
		Entry("a seq below 0", `{"type":"turn.started","seq":-1,"payload":{}}`, "event: ", "seq must be "),
		Entry("a time that is none", `{"type":"turn.started","createdAt":"yesterday","payload":{}}`, "event: ", `"yesterday"`),
		Entry("in a payload", foreign("turn.completed", `{"state":5}`), "event: turn.completed: ", "state must be "),
		Entry("in a task", foreign("task.completed", `{"taskId":5}`), "event: task.completed: ", "taskId must be a string, is a number"),
		Entry("in the ids of a question", foreign("user-input.requested", `{"questions":[{"id":1}]}`), "event: user-input.requested: ", "questions.id must be "),
		Entry("in an item", foreign("item.started", `{"itemType":"x","title":5}`), "event: item.started: ", "title must be "),
		Entry("deep in a payload", foreign("turn.plan.updated", `{"plan":[{"step":1}]}`), "event: turn.plan.updated: ", "plan.step must be "),
		Entry("bytes that are a number", foreign("process.raw", `{"base64":5}`), "event: process.raw: ", "base64 must be a string, is a number"),
		Entry("bytes in no base64", foreign("process.raw", `{"base64":"!"}`), "event: process.raw: ", "illegal base64 data at input byte 0"),
		Entry("a count that is a fraction", foreign("thread.token-usage.updated", `{"usage":{"usedTokens":1.5}}`), "event: thread.token-usage.updated: ", "usage.usedTokens must be "),
	)

	It("leaves the event as it was when it fails", func() {
		e := live("", event.TurnStarted{})
		Expect(json.Unmarshal([]byte(foreign("turn.completed", `{"state":5}`)), &e)).NotTo(Succeed())
		Expect(e).To(Equal(live("", event.TurnStarted{})))
	})
})

var _ = DescribeTable("The end of a process says of the agent", func(p event.ProcessExit, want string) {
	Expect(p.String()).To(Equal(want))
},
	Entry("how it exited", event.ProcessExit{Code: 3}, "the agent exited with code 3"),
	Entry("that it exited well, which is not what anybody expects of it", event.ProcessExit{}, "the agent exited with code 0"),
	Entry("what killed it", event.ProcessExit{Signal: "SIGKILL"}, "the agent was killed by SIGKILL"),
)

var _ = DescribeTable("An event on one line says what it is and says, but not when and where it came:", func(e event.Event, want string) {
	Expect(event.Line(e)).To(Equal(want))
	Expect(e.GomegaString()).To(Equal(want))
},
	Entry("nothing but its type", event.Event{Seq: 3, ThreadID: "a", TurnID: "T1", Payload: event.TurnStarted{}}, "turn.started"),
	Entry("about an item", event.Event{ItemID: "a-1", Payload: event.Delta{Stream: event.AssistantText, Text: "x"}},
		`content.delta a-1 {"streamKind":"assistant_text","delta":"x"}`),
	Entry("about a request of an item", event.Event{ItemID: "t-1", RequestID: "r-1", Payload: event.RequestOpened{RequestType: "x", Detail: "rm"}},
		`request.opened t-1 r-1 {"requestType":"x","detail":"rm"}`),
	Entry("of a type that this version does not know", event.Event{Payload: event.Raw{Name: "x.y", JSON: []byte(`{"z":1}`)}}, `x.y {"z":1}`),
	Entry("of which a recording said more", event.Event{
		Payload: event.Delta{Stream: event.AssistantText, Text: "x"}, Recorded: &event.Recorded{Payload: []byte(`{"delta":"x","contentIndex":1}`)},
	}, `content.delta {"delta":"x","contentIndex":1}`),
	Entry("with ids of the provider itself, which it does not show", event.Event{
		Payload: event.TurnStarted{}, Recorded: &event.Recorded{ProviderRefs: []byte(`{"providerTurnId":"x"}`)},
	}, `turn.started`),
	Entry("a long one", event.Event{Payload: event.Delta{Stream: event.AssistantText, Text: strings.Repeat("é", 100)}},
		`content.delta {"streamKind":"assistant_text","delta":"`+strings.Repeat("é", 40)+"…"),
	Entry("nothing at all", event.Event{}, "(no payload)"),
)

var _ = DescribeTable("An item is a tool call unless its type is one of those that are not:", func(t event.ItemType, want bool) {
	Expect(t.IsTool()).To(Equal(want))
},
	Entry("what the user said", event.UserMessage, false),
	Entry("what the agent said", event.AssistantMessage, false),
	Entry("what it thought", event.Reasoning, false),
	Entry("an error", event.ErrorItem, false),
	Entry("a compaction", event.Compaction, false),
	Entry("a command", event.CommandExecution, true),
	Entry("a change of a file", event.FileChange, true),
	Entry("a tool of an MCP server", event.MCPToolCall, true),
	Entry("a tool of the host", event.DynamicToolCall, true),
	Entry("a type that this version does not know", event.ItemType("novel"), true),
)

var _ = Describe("The first options of questions", func() {
	It("are an answer to each, and an empty text where there is nothing to choose from", func() {
		Expect(event.FirstOptions([]event.Question{{ID: "color", Options: []event.Option{{Label: "Blue"}, {Label: "Green"}}}, {ID: "why"}})).
			To(Equal(map[string]any{"color": "Blue", "why": ""}))
		Expect(event.FirstOptions(nil)).To(BeEmpty())
	})
})
