package acp_test

import (
	"encoding/json"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// playing is a client whose prompt runs in a stub.
func playing(capabilities string) (*client, *stub) { return playingAs(acp.Plain, capabilities) }

func playingAs(profile acp.Profile, capabilities string) (*client, *stub) {
	GinkgoHelper()
	p := newStub()
	cfg := provides(p)
	cfg.Profile = profile
	c := serve(cfg)
	c.openAs(capabilities)
	c.say(prompt("2", "x"))
	synctest.Wait()
	return c, p
}

var _ = Describe("What an agent does", bubble.InBubble, func() {
	DescribeTable("is an update:", func(itemID string, p event.Payload, want ...string) {
		c, agent := playing(`{"session":{"notices":{},"compaction":{}}}`)
		agent.emit(itemID, p)
		for _, w := range want {
			c.hears(update(w))
		}
		c.quiet()
	},
		Entry("a piece of a message", "m-1", event.Delta{Stream: event.AssistantText, Text: "a \"b\"\n\u2028é<"},
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a \"b\"\n\u2028é<"},"messageId":"m-1"}`),
		Entry("a piece of a message without an id", "", event.Delta{Stream: event.AssistantText, Text: "a"},
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}`),
		Entry("a thought", "r-1", event.Delta{Stream: event.ReasoningText, Text: "hm"},
			`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"},"messageId":"r-1"}`),
		Entry("the short form of one", "r-1", event.Delta{Stream: event.ReasoningSummary, Text: "hm"},
			`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"},"messageId":"r-1"}`),
		Entry("a message that comes whole", "m-1", event.ItemCompleted{Item: event.Item{ItemType: event.AssistantMessage, Detail: "a"}},
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"messageId":"m-1"}`),
		Entry("a thought that comes whole", "r-1", event.ItemCompleted{Item: event.Item{ItemType: event.Reasoning, Detail: "a"}},
			`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"a"},"messageId":"r-1"}`),
		Entry("a message of the user", "u-1", event.ItemCompleted{Item: event.Item{ItemType: event.UserMessage, Detail: "a"}},
			`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"a"},"messageId":"u-1"}`),
		Entry("a plan", "", event.PlanUpdated{Plan: []event.PlanStep{{Step: "a", Status: "completed", Priority: "high"}, {Step: "b", Status: "inProgress"}, {Step: "c"}}},
			`{"sessionUpdate":"plan","entries":[{"content":"a","priority":"high","status":"completed"},{"content":"b","priority":"medium","status":"in_progress"},{"content":"c","priority":"medium","status":"pending"}]}`),
		Entry("no plan any more", "", event.PlanUpdated{}, `{"sessionUpdate":"plan","entries":[]}`),
		Entry("its usage", "", event.TokenUsageUpdated{Usage: event.TokenUsage{UsedTokens: 10, MaxTokens: 200, InputTokens: 7}},
			`{"sessionUpdate":"usage_update","used":10,"size":200,"_meta":{"understudy":{"usage":{"usedTokens":10,"maxTokens":200,"inputTokens":7}}}}`),
		Entry("a fault", "", event.RuntimeError{Message: "oh"}, `{"sessionUpdate":"notice","severity":"error","title":"oh"}`),
		Entry("an error among the items", "", event.ItemCompleted{Item: event.Item{ItemType: event.ErrorItem, Detail: "oh"}}, `{"sessionUpdate":"notice","severity":"error","title":"oh"}`),
		Entry("a warning", "", event.Raw{Name: "runtime.warning", JSON: json.RawMessage(`{"message":"careful"}`)}, `{"sessionUpdate":"notice","severity":"warning","title":"careful"}`),
		Entry("a name for the session", "", event.Raw{Name: "thread.metadata.updated", JSON: json.RawMessage(`{"name":"a","title":"b"}`)}, `{"sessionUpdate":"session_info_update","title":"a"}`),
		Entry("a title for the session", "", event.Raw{Name: "thread.metadata.updated", JSON: json.RawMessage(`{"title":"b"}`)}, `{"sessionUpdate":"session_info_update","title":"b"}`),
		Entry("a compaction that begins", "c-1", event.ItemStarted{Item: event.Item{ItemType: event.Compaction, Detail: "why"}}, `{"sessionUpdate":"compaction_update","compactionId":"c-1","status":"in_progress"}`),
		Entry("a compaction that is done", "c-1", event.ItemCompleted{Item: event.Item{ItemType: event.Compaction, Detail: "short"}},
			`{"sessionUpdate":"compaction_summary_chunk","compactionId":"c-1","content":{"type":"text","text":"short"}}`,
			`{"sessionUpdate":"compaction_update","compactionId":"c-1","status":"completed"}`),
		Entry("a compaction that failed", "c-1", event.ItemCompleted{Item: event.Item{ItemType: event.Compaction, Status: event.Failed}},
			`{"sessionUpdate":"compaction_update","compactionId":"c-1","status":"failed"}`),
	)

	DescribeTable("has no counterpart, which the log says:", func(p event.Payload, note string) {
		c, agent := playing(`{}`)
		agent.emit("i", p)
		c.quiet()
		Expect(notes(c.log.Transcript())).To(Equal([]string{note}))
	},
		Entry(nil, event.UserInputRequested{}, "dropped: user-input.requested that asks nothing"),
		Entry(nil, event.UserInputRequested{ResponseMode: "message"}, "dropped: user-input.requested that asks nothing"),
		Entry(nil, event.Raw{Name: "novel"}, "dropped: novel"),
		Entry(nil, event.Raw{Name: "thread.metadata.updated", JSON: json.RawMessage(`{}`)}, "dropped: thread.metadata.updated"),
		Entry(nil, event.Delta{Stream: "command_output", Text: "1"}, "dropped: text of the stream command_output"),
		Entry(nil, event.RuntimeError{Message: "oh"}, "dropped: a notice, which the client does not offer to show: oh"),
		Entry(nil, event.ItemStarted{Item: event.Item{ItemType: event.Compaction}}, "dropped: a compaction, which the client does not offer to show"),
	)

	It("is not told twice where a message comes in pieces and then whole", func() {
		c, agent := playing(`{}`)
		say := func(id, text string) { agent.emit(id, event.Delta{Stream: event.AssistantText, Text: text}) }
		whole := func(id, text string) {
			agent.emit(id, event.ItemCompleted{Item: event.Item{ItemType: event.AssistantMessage, Detail: text}})
		}
		say("m-1", "a")
		agent.emit("m-1", event.ItemStarted{Item: event.Item{ItemType: event.AssistantMessage, Detail: "a"}})
		whole("m-1", "a")
		whole("m-2", "b")
		whole("m-3", "")
		c.hears(update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"messageId":"m-1"}`),
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"b"},"messageId":"m-2"}`))
		c.quiet()
		agent.end("sess-1", event.TurnCompleted{State: event.TurnEndCompleted})
		c.line()
		c.say(prompt("3", "x"))
		synctest.Wait()
		whole("m-1", "c") // the ids of another turn
		c.hears(update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"c"},"messageId":"m-1"}`))
	})

	It("is nobody's business where there is no such session", func() {
		c, agent := playing(`{}`)
		agent.tell(event.Event{ThreadID: "x", Payload: event.Delta{Stream: event.AssistantText, Text: "a"}})
		c.quiet()
	})

	It("ends no prompt where there is none", func() {
		c, agent := playing(`{}`)
		agent.end("sess-1", event.TurnCompleted{State: event.TurnEndCompleted})
		c.hears(answered("2", `{"stopReason":"end_turn"}`))
		agent.tell(event.Event{ThreadID: "sess-1", TurnID: "t", Payload: event.TurnCompleted{State: event.TurnEndCompleted}})
		c.quiet()
		Expect(notes(c.log.Transcript())).To(Equal([]string{"dropped: the end of a turn that no prompt began"}))
	})

	It("may be bytes between the lines, text on standard error, and the end of the process, after which nothing is written", func() {
		p := newStub()
		cfg := provides(p)
		var said []string
		cfg.Stderr = func(s string) { said = append(said, s) }
		cfg.Exit = func(e event.ProcessExit) { said = append(said, e.String()) }
		c := serve(cfg)
		c.open()
		c.say(prompt("2", "x"))
		synctest.Wait()
		p.emit("", event.ProcessStderr{Text: "oops"})
		p.emit("", event.ProcessRaw{Bytes: []byte("nois")})
		p.emit("", event.ProcessRaw{Bytes: []byte("e\n")})
		c.hears("noise")
		p.emit("", event.ProcessExit{Code: 3})
		p.end("sess-1", event.TurnCompleted{State: event.TurnEndFailed})
		c.say(request("3", "novel", `{}`))
		c.quiet()
		Expect(said).To(Equal([]string{"oops", "the agent exited with code 3"}))
		Expect(notes(c.log.Transcript())).To(Equal([]string{"raw bytes of the script", "raw bytes of the script"}))
	})
})

var _ = Describe("A tool call", bubble.InBubble, func() {
	// begins and ends are what an item begins and ends with, without what all have in common.
	DescribeTable("is told in the protocol's words and in ours:", func(t event.ItemType, d timeline.Detail, begins, ends string) {
		c, agent := playing(`{}`)
		item := event.Item{ItemType: t, Title: "T", Data: d, Status: event.InProgress}
		agent.emit("c", event.ItemStarted{Item: item})
		item.Status = event.Completed
		agent.emit("c", event.ItemCompleted{Item: item})
		detail, err := timeline.JSON(d)
		Expect(err).NotTo(HaveOccurred())
		meta := `,"_meta":{"understudy":{"name":"T","detail":` + string(detail) + `}}}`
		c.hears(update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":`+begins+meta),
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"`+ends+meta))
	},
		Entry("a command", event.CommandExecution, timeline.Shell{Command: "ls", Output: "a", ExitCode: timeline.Exited(1)},
			`"ls","kind":"execute","name":"T","rawInput":{"command":"ls"}`, text("a")+`,"rawOutput":{"output":"a","exitCode":1}`),
		Entry("a command that a signal ended", event.CommandExecution, timeline.Shell{Command: "ls", ExitCode: timeline.NoExitCode},
			`"ls","kind":"execute","name":"T","rawInput":{"command":"ls"}`, `,"rawOutput":{"output":"","exitCode":null}`),
		Entry("a command that is not known", event.CommandExecution, timeline.Shell{}, `"T","kind":"execute","name":"T","rawInput":{"command":""}`, `,"rawOutput":{"output":""}`),
		Entry("reading", event.DynamicToolCall, timeline.Read{FilePath: "a/b", Content: "x"},
			`"T a/b","kind":"read","name":"T","locations":[{"path":"/w/a/b"}],"rawInput":{"path":"a/b"}`, text("x")),
		Entry("writing", event.FileChange, timeline.Write{FilePath: "b", Content: "x"},
			`"T b","kind":"edit","name":"T","locations":[{"path":"/w/b"}],"rawInput":{"content":"x","path":"b"}`, `,"content":[{"type":"diff","path":"/w/b","newText":"x"}]`),
		Entry("editing", event.FileChange, timeline.Edit{FilePath: "/abs/b", OldString: "1", NewString: "2"},
			`"T /abs/b","kind":"edit","name":"T","locations":[{"path":"/abs/b"}],"rawInput":{"newText":"2","oldText":"1","path":"/abs/b"}`,
			`,"content":[{"type":"diff","path":"/abs/b","oldText":"1","newText":"2"}]`),
		Entry("editing, with a diff", event.FileChange, timeline.Edit{FilePath: "b", OldString: "1", NewString: "2", UnifiedDiff: "-1\n+2"},
			`"T b","kind":"edit","name":"T","locations":[{"path":"/w/b"}],"rawInput":{"newText":"2","oldText":"1","path":"b"}`,
			`,"content":[{"type":"diff","path":"/w/b","oldText":"1","newText":"2"}]`),
		Entry("editing, of which there is only a diff", event.FileChange, timeline.Edit{FilePath: "b", UnifiedDiff: "-1\n+2"},
			`"T b","kind":"edit","name":"T","locations":[{"path":"/w/b"}],"rawInput":{"newText":"","oldText":"","path":"b"}`, text(`-1\n+2`)),
		Entry("searching", event.DynamicToolCall, timeline.Search{Query: "q", Content: "x"}, `"q","kind":"search","name":"T","rawInput":{"query":"q"}`, text("x")),
		Entry("fetching", event.DynamicToolCall, timeline.Fetch{URL: "u", Result: "x"}, `"u","kind":"fetch","name":"T","rawInput":{"url":"u"}`, text("x")),
		Entry("a subagent", event.DynamicToolCall, timeline.SubAgent{Description: "d", Log: "x"}, `"d","kind":"think","name":"T"`, text("x")),
		Entry("a subagent that is not described", event.DynamicToolCall, timeline.SubAgent{}, `"T","kind":"think","name":"T"`, ``),
		Entry("a text", event.DynamicToolCall, timeline.PlainText{Text: "t"}, `"t","kind":"other","name":"T"`, ``),
		Entry("a text that has only a label", event.DynamicToolCall, timeline.PlainText{Label: "l"}, `"l","kind":"other","name":"T"`, ``),
		Entry("a plan", event.DynamicToolCall, timeline.Plan{Text: "1."}, `"T","kind":"other","name":"T"`, ``),
		Entry("a worktree", event.DynamicToolCall, timeline.WorktreeSetup{WorktreePath: "/x"}, `"T","kind":"other","name":"T"`, ``),
		Entry("a kind of its own", event.DynamicToolCall, timeline.Raw{JSON: json.RawMessage(`{"type":"novel"}`)}, `"T","kind":"other","name":"T"`, ``),
		Entry("one of which nothing is known", event.DynamicToolCall, timeline.Unknown{}, `"T","kind":"other","name":"T"`, ``),
		Entry("one with any input and output", event.MCPToolCall, timeline.Unknown{Input: json.RawMessage(`{"a":1}`), Output: json.RawMessage(`[2]`)},
			`"T","kind":"other","name":"T","rawInput":{"a":1}`, `,"rawOutput":[2]`),
		Entry("one whose output is a text", event.MCPToolCall, timeline.Unknown{Output: json.RawMessage(`"x"`)}, `"T","kind":"other","name":"T"`, text("x")+`,"rawOutput":"x"`),
	)

	DescribeTable("that failed says why:", func(d timeline.Detail, s event.ItemStatus, why, content, told string) {
		c, agent := playing(`{}`)
		agent.emit("c", event.ItemStarted{Item: event.Item{ItemType: event.CommandExecution, Title: "T", Data: d}})
		c.line()
		agent.emit("c", event.ItemCompleted{Item: event.Item{ItemType: event.CommandExecution, Title: "T", Data: d, Status: s, Error: why}})
		Expect(c.line()).To(And(ContainSubstring(`"status":"failed"`+content), HaveSuffix(`,"error":"`+told+`"}}}}}`)))
	},
		Entry("writing", timeline.Write{FilePath: "b"}, event.Failed, "no room", text("no room")+`,"_meta"`, "no room"),
		Entry("editing", timeline.Edit{FilePath: "b", OldString: "1"}, event.Failed, "no 1", text("no 1")+`,"_meta"`, "no 1"),
		Entry("a command, whose output is shown", timeline.Shell{Command: "ls", Output: "a"}, event.Failed, "exit code 1", text("a"), "exit code 1"),
		Entry("reading", timeline.Read{FilePath: "b", Content: "half"}, event.Failed, "torn", text("torn"), "torn"),
		Entry("searching", timeline.Search{Query: "b", Content: "half"}, event.Failed, "torn", text("torn"), "torn"),
		Entry("fetching", timeline.Fetch{URL: "b", Result: "half"}, event.Failed, "torn", text("torn"), "torn"),
		Entry("without a reason", timeline.Unknown{}, event.Failed, "", text("failed"), "failed"),
		Entry("declined", timeline.Unknown{}, event.Declined, "", text("declined"), "declined"),
	)

	It("goes on, and may be over before its item is", func() {
		c, agent := playing(`{}`)
		item := event.Item{ItemType: event.CommandExecution, Title: "T", Data: timeline.Shell{Command: "ls"}}
		agent.emit("c", event.ItemStarted{Item: item})
		item.Data = timeline.Shell{Command: "ls", Output: "a"}
		agent.emit("c", event.ItemUpdated{Item: item})
		item.Status = event.Completed
		agent.emit("c", event.ItemUpdated{Item: item})
		c.line()
		Expect(c.line()).To(ContainSubstring(`"tool_call_update","toolCallId":"c","status":"in_progress",` + text("a")[1:]))
		Expect(c.line()).To(ContainSubstring(`"tool_call_update","toolCallId":"c","status":"completed",`))
	})

	It("keeps what its first event said, where a later one says less, and is completed when that does not say so", func() {
		c, agent := playing(`{}`)
		agent.emit("c", event.ItemStarted{Item: event.Item{ItemType: event.CommandExecution, Title: "Bash", Data: timeline.Shell{Command: "ls"}}})
		agent.emit("c", event.ItemCompleted{Item: event.Item{ItemType: event.CommandExecution}})
		c.line()
		c.hears(update(`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","rawOutput":{"output":""},"_meta":{"understudy":{"name":"Bash","detail":{"type":"shell","command":"ls"}}}}`))
	})

	It("that only ends is told all at once, under its type and its text where it has no more", func() {
		c, agent := playing(`{}`)
		agent.emit("", event.ItemCompleted{Item: event.Item{ItemType: "novel", Detail: "did it"}})
		c.hears(update(`{"sessionUpdate":"tool_call","toolCallId":"turn-1","title":"did it","kind":"other","name":"novel","status":"completed","_meta":{"understudy":{"name":"novel","detail":{"type":"plain_text","text":"did it"}}}}`))
	})

	Describe("that is a task", func() {
		begins := `{"sessionUpdate":"tool_call","toolCallId":"task-1","title":"find it","kind":"think","name":"Task","_meta":{"understudy":{"name":"Task","detail":{"type":"sub_agent","subAgentType":"scout","description":"find it","log":""},"task":{"taskId":"task-1","description":"find it","taskType":"scout"}}}}`
		started := event.TaskStarted{TaskID: "task-1", Description: "find it", TaskType: "scout"}

		DescribeTable("begins, goes on, and ends:", func(end event.TaskCompleted, told string) {
			c, agent := playing(`{}`)
			agent.emit("", started)
			agent.emit("", event.TaskProgress{TaskID: "task-1", Summary: "half", LastToolName: "Grep"})
			end.TaskID = "task-1"
			agent.emit("", end)
			c.hears(update(begins),
				update(`{"sessionUpdate":"tool_call_update","toolCallId":"task-1","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"half"}}],`+
					`"_meta":{"understudy":{"name":"Task","detail":{"type":"sub_agent","subAgentType":"scout","description":"find it","log":"half"},"task":{"taskId":"task-1","description":"","summary":"half","lastToolName":"Grep"}}}}`),
				update(`{"sessionUpdate":"tool_call_update","toolCallId":"task-1",`+told+`}}}`))
			c.quiet()
			Expect(notes(c.log.Transcript())).To(BeEmpty())
		},
			Entry("well", event.TaskCompleted{Status: event.TaskDone, Summary: "found"}, `"status":"completed","content":[{"type":"content","content":{"type":"text","text":"found"}}],`+
				`"_meta":{"understudy":{"name":"Task","detail":{"type":"sub_agent","subAgentType":"scout","description":"find it","log":"found"},"task":{"taskId":"task-1","status":"completed","summary":"found"}`),
			Entry("badly", event.TaskCompleted{Status: event.TaskFailed}, `"status":"failed","content":[{"type":"content","content":{"type":"text","text":"failed"}}],`+
				`"_meta":{"understudy":{"name":"Task","detail":{"type":"sub_agent","subAgentType":"scout","description":"find it","log":"half"},"error":"failed","task":{"taskId":"task-1","status":"failed"}`),
			Entry("too soon", event.TaskCompleted{Status: event.TaskStopped}, `"status":"failed","content":[{"type":"content","content":{"type":"text","text":"canceled"}}],`+
				`"_meta":{"understudy":{"name":"Task","detail":{"type":"sub_agent","subAgentType":"scout","description":"find it","log":"half"},"error":"canceled","task":{"taskId":"task-1","status":"stopped"}`),
		)

		It("and only ends is told all at once", func() {
			c, agent := playing(`{}`)
			agent.emit("", event.TaskCompleted{TaskID: "task-1", Status: event.TaskDone})
			c.hears(update(`{"sessionUpdate":"tool_call","toolCallId":"task-1","title":"Task","kind":"think","name":"Task","status":"completed","_meta":{"understudy":{"name":"Task","detail":{"type":"sub_agent","log":""},"task":{"taskId":"task-1","status":"completed"}}}}`))
		})

		It("and goes on after its end begins anew, in the next turn with nothing of the last one", func() {
			c, agent := playing(`{}`)
			agent.emit("", started)
			agent.emit("", event.TaskCompleted{TaskID: "task-1", Status: event.TaskDone})
			c.line()
			c.line()
			agent.emit("", started)
			c.hears(update(begins))
			agent.end("sess-1", event.TurnCompleted{State: event.TurnEndCompleted})
			c.line()
			c.say(prompt("3", "x"))
			synctest.Wait()
			agent.emit("", event.TaskProgress{TaskID: "task-1", Description: "more"})
			c.hears(update(`{"sessionUpdate":"tool_call","toolCallId":"task-1","title":"more","kind":"think","name":"Task","_meta":{"understudy":{"name":"Task","detail":{"type":"sub_agent","description":"more","log":""},"task":{"taskId":"task-1","description":"more"}}}}`))
		})

		It("is in the profile seed as other calls are", func() {
			c, agent := playingAs(acp.Seed, `{}`)
			agent.emit("", started)
			agent.emit("", event.TaskCompleted{TaskID: "task-1", Status: event.TaskDone})
			c.hears(update(`{"sessionUpdate":"tool_call","toolCallId":"tc_1","title":"find it","kind":"think"}`),
				update(`{"sessionUpdate":"tool_call_update","toolCallId":"tc_1","status":"completed"}`))
		})
	})

	It("begins anew under an id that was used before", func() {
		c, agent := playing(`{}`)
		start := func() {
			agent.emit("c", event.ItemStarted{Item: event.Item{ItemType: event.DynamicToolCall, Title: "T"}})
		}
		start()
		agent.emit("c", event.ItemCompleted{Item: event.Item{ItemType: event.DynamicToolCall, Title: "T"}})
		start()
		agent.end("sess-1", event.TurnCompleted{State: event.TurnEndCompleted})
		c.say(prompt("3", "x"))
		synctest.Wait()
		start()
		synctest.Wait()
		var kinds []string
		for len(c.lines) > 0 {
			var m struct {
				Params struct {
					Update struct{ SessionUpdate string }
				}
				Result struct{ StopReason string }
			}
			Expect(json.Unmarshal([]byte(c.line()), &m)).To(Succeed())
			kinds = append(kinds, m.Params.Update.SessionUpdate+m.Result.StopReason)
		}
		Expect(kinds).To(Equal([]string{"tool_call", "tool_call_update", "tool_call", "end_turn", "tool_call"}))
	})
})

// text is the content of a call that is a text.
func text(s string) string {
	return `,"content":[{"type":"content","content":{"type":"text","text":"` + s + `"}}]`
}

var _ = Describe("The profile seed", bubble.InBubble, func() {
	It("offers nothing, and has no modes", func() {
		cfg := provides(newStub())
		cfg.Profile = acp.Seed
		c := serve(cfg)
		c.asks(hello, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}`)
		c.asks(request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`), answered("1", `{"sessionId":"sess-1","configOptions":[`+mode+`,`+model+`]}`))
	})

	It("has thoughts without a type, calls that count, errors beside the status, and nothing in _meta", func() {
		c, agent := playingAs(acp.Seed, `{}`)
		agent.emit("r", event.Delta{Stream: event.ReasoningText, Text: "hm"})
		agent.emit("m", event.Delta{Stream: event.AssistantText, Text: "a"})
		item := event.Item{ItemType: event.CommandExecution, Title: "Bash", Data: timeline.Shell{Command: "ls"}}
		agent.emit("c", event.ItemStarted{Item: item})
		agent.emit("d", event.ItemStarted{Item: item})
		item.Status, item.Error = event.Failed, "no"
		agent.emit("d", event.ItemCompleted{Item: item})
		item.Status = event.Completed
		agent.emit("e", event.ItemCompleted{Item: item})
		agent.emit("", event.TokenUsageUpdated{Usage: event.TokenUsage{UsedTokens: 1, MaxTokens: 2}})
		c.hears(update(`{"sessionUpdate":"agent_thought_chunk","content":{"text":"hm"}}`),
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}`),
			update(`{"sessionUpdate":"tool_call","toolCallId":"tc_1","title":"ls","kind":"execute","rawInput":{"command":"ls"}}`),
			update(`{"sessionUpdate":"tool_call","toolCallId":"tc_2","title":"ls","kind":"execute","rawInput":{"command":"ls"}}`),
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"tc_2","status":"failed","error":"no"}`),
			update(`{"sessionUpdate":"tool_call","toolCallId":"tc_3","title":"ls","kind":"execute","rawInput":{"command":"ls"}}`),
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"tc_3","status":"completed"}`),
			update(`{"sessionUpdate":"usage_update","used":1,"size":2}`))
	})

	It("counts its requests from 100", func() {
		c, agent := playingAs(acp.Seed, `{}`)
		agent.emit("c", event.ItemStarted{Item: event.Item{ItemType: event.CommandExecution, Title: "Bash", Data: timeline.Shell{Command: "ls"}}})
		c.line()
		agent.tell(event.Event{ThreadID: "sess-1", ItemID: "c", RequestID: "req-1", Payload: event.RequestOpened{Detail: "ls"}})
		Expect(c.line()).To(HavePrefix(`{"jsonrpc":"2.0","id":100,"method":"session/request_permission","params":{"sessionId":"sess-1","toolCall":{"toolCallId":"tc_1",`))
	})
})

var _ = Describe("A permission", bubble.InBubble, func() {
	const three = `{"optionId":"allow-once","name":"Allow once","kind":"allow_once"},{"optionId":"allow-always","name":"Always allow","kind":"allow_always"},{"optionId":"reject-once","name":"Reject","kind":"reject_once"}`
	asked := func(id, options string) string {
		return request(id, "session/request_permission", `{"sessionId":"sess-1","toolCall":{"toolCallId":"c","title":"rm \"x\"","status":"pending"},"options":[`+options+`]}`)
	}
	open := func(agent *stub, requestID string, options ...string) {
		agent.tell(event.Event{ThreadID: "sess-1", ItemID: "c", RequestID: requestID, Payload: event.RequestOpened{RequestType: "x", Detail: `rm "x"`, Options: options}})
	}

	DescribeTable("offers", func(options []string, want string) {
		c, agent := playing(`{}`)
		open(agent, "req-1", options...)
		c.hears(asked("0", want))
	},
		Entry("everything, where nothing is named", nil, three),
		Entry("what is named, in our order", []string{"decline", "accept"}, `{"optionId":"allow-once","name":"Allow once","kind":"allow_once"},{"optionId":"reject-once","name":"Reject","kind":"reject_once"}`),
		Entry("nothing, where only a cancel is named", []string{"cancel"}, ``))

	DescribeTable("is decided by the outcome:", func(answer, decision string) {
		c, agent := playing(`{}`)
		open(agent, "req-1", "accept", "acceptForSession")
		c.line()
		c.say(`{"jsonrpc":"2.0","id":0,` + answer + `}`)
		c.quiet()
		Expect(agent.given()).To(Equal([]string{"req-1 " + decision}))
	},
		Entry("allowed", `"result":{"outcome":{"outcome":"selected","optionId":"allow-once"}}`, "accept"),
		Entry("always allowed", `"result":{"outcome":{"outcome":"selected","optionId":"allow-always"}}`, "acceptForSession"),
		Entry("cancelled", `"result":{"outcome":{"outcome":"cancelled"}}`, "cancel"),
		Entry("what was not offered", `"result":{"outcome":{"outcome":"selected","optionId":"reject-once"}}`, "decline"),
		Entry("what there is not", `"result":{"outcome":{"outcome":"selected","optionId":"x"}}`, "decline"),
		Entry("an outcome that there is not", `"result":{"outcome":{"outcome":"maybe","optionId":"allow-once"}}`, "decline"),
		Entry("nothing", `"result":{}`, "decline"),
		Entry("no result", `"x":1`, "decline"),
		Entry("null", `"result":null`, "decline"),
		Entry("a wrong result", `"result":{"outcome":"selected"}`, "decline"),
		Entry("an error", `"error":{"code":-32603,"message":"no UI"}`, "decline"),
		Entry("an error that is none", `"error":"no UI"`, "decline"),
	)

	It("may be one of several, which are answered in any order", func() {
		c, agent := playing(`{}`)
		open(agent, "req-1")
		open(agent, "req-2")
		c.hears(asked("0", three), asked("1", three))
		c.say(answered("1", `{"outcome":{"outcome":"selected","optionId":"reject-once"}}`), answered("0", `{"outcome":{"outcome":"selected","optionId":"allow-once"}}`),
			answered("0", `{"outcome":{"outcome":"selected","optionId":"allow-once"}}`))
		c.quiet()
		Expect(agent.given()).To(Equal([]string{"req-2 decline", "req-1 accept"}))
		Expect(notes(c.log.Transcript())).To(Equal([]string{"ignored: it answers no open request"}))
	})

	DescribeTable("that is over before it is answered", func(decision string, withdrawn bool) {
		c, agent := playing(`{}`)
		open(agent, "req-1")
		c.line()
		agent.tell(event.Event{ThreadID: "sess-1", ItemID: "c", RequestID: "req-1", Payload: event.RequestResolved{Decision: decision}})
		if withdrawn {
			c.hears(notification("$/cancel_request", `{"requestId":0}`))
		}
		c.quiet()
		c.say(answered("0", `{"outcome":{"outcome":"cancelled"}}`))
		c.quiet()
		agent.tell(event.Event{ThreadID: "sess-1", ItemID: "c", RequestID: "req-1", Payload: event.RequestResolved{Decision: decision}})
		c.quiet()
	},
		Entry("is withdrawn, where it took too long", "timeout", true),
		Entry("is not, where the client cancels it: it will answer", "cancel", false))

	It("does not begin its call, which may come after it", func() {
		c, agent := playing(`{}`)
		open(agent, "req-1")
		c.line()
		agent.emit("c", event.ItemStarted{Item: event.Item{ItemType: event.DynamicToolCall, Title: "T"}})
		Expect(c.line()).To(ContainSubstring(`"sessionUpdate":"tool_call",`))
	})

	It("without a call is about itself", func() {
		c, agent := playing(`{}`)
		agent.tell(event.Event{ThreadID: "sess-1", RequestID: "req-1", Payload: event.RequestOpened{Detail: "x"}})
		Expect(c.line()).To(ContainSubstring(`"toolCall":{"toolCallId":"req-1",`))
	})

	It("times out in a real agent after the time that the script says", func() {
		in := instance(fakeagent.Config{})
		c := serve(provides(in))
		c.say(hello, request("1", "session/new", `{"cwd":"/","mcpServers":[]}`))
		c.line()
		c.line()
		c.say(request("2", "session/prompt", `{"sessionId":"sess-1","prompt":[{"type":"text","text":"[{\"approval\":{\"title\":\"rm\",\"timeoutMs\":5000}}]"}]}`))
		c.line()
		Expect(c.line()).To(ContainSubstring("session/request_permission"))
		c.hears(notification("$/cancel_request", `{"requestId":0}`))
		Expect(c.line()).To(ContainSubstring("no answer to the approval after 5s"))
		c.hears(answered("2", `{"stopReason":"end_turn"}`))
		c.say(answered("0", `{"outcome":{"outcome":"selected","optionId":"allow-once"}}`))
		c.quiet()
	})
})

var _ = Describe("A gate of the agent", bubble.InBubble, func() {
	It("is used from another process: held, released, closed", func() {
		in := instance(fakeagent.Config{})
		c := serve(provides(in))
		c.say(hello, request("1", "session/new", `{"cwd":"/","mcpServers":[]}`))
		c.line()
		c.line()
		gate := func(id, do string) string {
			return request(id, "_understudy/gate", `{"sessionId":"sess-1","gate":"g","do":"`+do+`"}`)
		}
		c.asks(gate("2", "close"), answered("2", `{}`))
		c.say(gate("3", "await"), gate("4", "await"))
		c.quiet()
		c.say(notification("$/cancel_request", `{"requestId":4}`))
		c.hears(refused("4", -32800, "Request cancelled"))
		c.say(prompt("5", `[{"hold":{"name":"g","open":true}}]`))
		c.hears(answered("3", `{}`))
		c.say(gate("6", "release"))
		c.hears(answered("6", `{}`), answered("5", `{"stopReason":"end_turn"}`))
		c.asks(gate("7", "x"), refused("7", -32602, `Invalid params: do is "x", use await, release or close`))
	})

	It("is waited for as long as the client wants", func() {
		in := instance(fakeagent.Config{})
		c := serve(provides(in))
		c.say(hello, request("1", "session/new", `{"cwd":"/","mcpServers":[]}`))
		c.line()
		c.line()
		c.say(request("2", "_understudy/gate", `{"sessionId":"sess-1","gate":"g","do":"await"}`), prompt("3", `[{"sleep":1800000},{"hold":"g"}]`))
		c.hears(answered("2", `{}`))
		c.say(notification("session/cancel", `{"sessionId":"sess-1"}`))
		c.hears(answered("3", `{"stopReason":"cancelled"}`))
	})

	It("is no other provider's", func() {
		c := serve(provides(newStub()))
		c.open()
		c.asks(request("2", "_understudy/gate", `{"sessionId":"sess-1","gate":"g","do":"await"}`), refused("2", -32601, "this agent has no gates"))
	})
})
