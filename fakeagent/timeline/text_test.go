package timeline_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

func tool(name string, detail timeline.Detail) timeline.ToolCall {
	return timeline.ToolCall{CallID: "t-1-1", Name: name, Detail: detail, Status: timeline.Completed}
}

var _ = Describe("An item as text", func() {
	DescribeTable("is one line for tables and failure messages, and one for a text log:",
		func(item timeline.Item, line, logLine string) {
			Expect(timeline.Line(item)).To(Equal(line))
			Expect(timeline.LogLine(item)).To(Equal(logLine))
		},
		Entry("what the user said", timeline.UserMessage{Text: "fix it"}, `user_message "fix it"`, `[User] fix it`),
		Entry("what the agent said", say("done"), `assistant_message "done"`, `done`),
		Entry("what the agent thought", timeline.Reasoning{Text: "hm"}, `reasoning "hm"`, `[Thought] hm`),
		Entry("a plan", timeline.Todo{Items: []timeline.TodoEntry{{Completed: true}, {}, {}}}, `todo 1 of 3 done`, `[Tasks] 1 of 3 done`),
		Entry("why a turn failed", timeline.ErrorItem{Message: "no quota"}, `error "no quota"`, `[Error] no quota`),
		Entry("a compaction", timeline.Compaction{Status: "completed"}, `compaction completed`, `[Compacted]`),
		Entry("a notice", timeline.Notification{Level: "warning", Message: "slow"}, `notification warning "slow"`, `[Notice] slow`),
		Entry("a plugin row, which text logs leave out", timeline.Plugin{ID: "a", PluginID: "stats", Kind: "chart", Version: 2, Data: json.RawMessage(`{"n":1}`)},
			`plugin stats/a chart v2 {"n":1}`, ``),
		Entry("an item of a type of its own, which text logs leave out", timeline.Raw{JSON: json.RawMessage(`{"type":"novel","n":1}`)}, `{"type":"novel","n":1}`, ``),
		Entry("no item", nil, `(none)`, ``),

		Entry("a command", tool("Bash", timeline.Shell{Command: "npm test", Cwd: "/w"}), `tool_call Bash "npm test" completed`, `[Shell] npm test`),
		Entry("a file that was read", tool("Read", timeline.Read{FilePath: "/w/src/a.go"}), `tool_call Read "a.go" completed`, `[Read] /w/src/a.go`),
		Entry("an edit", tool("Edit", timeline.Edit{FilePath: "/w/src/a.go"}), `tool_call Edit "a.go" completed`, `[Edit] /w/src/a.go`),
		Entry("a file that was written", tool("Write", timeline.Write{FilePath: "/w/src/a.go"}), `tool_call Write "a.go" completed`, `[Write] /w/src/a.go`),
		Entry("a search", tool("Grep", timeline.Search{Query: "TODO"}), `tool_call Grep "TODO" completed`, `[Search] TODO`),
		Entry("a page", tool("WebFetch", timeline.Fetch{URL: "https://x"}), `tool_call WebFetch "https://x" completed`, `[Fetch] https://x`),
		Entry("a worktree", tool("setup", timeline.WorktreeSetup{BranchName: "fix"}), `tool_call setup "fix" completed`, `[Worktree] fix`),
		Entry("another agent's task", tool("Task", timeline.SubAgent{Description: "look around"}), `tool_call Task "look around" completed`, `[Task] look around`),
		Entry("a task of an agent with a name", tool("Task", timeline.SubAgent{SubAgentType: "explorer", Description: "look"}),
			`tool_call Task "look" completed`, `[explorer] look`),
		Entry("a text with a label", tool("Note", timeline.PlainText{Label: "short", Text: "long"}), `tool_call Note "short" completed`, `[Note] short`),
		Entry("a text without a label", tool("Note", timeline.PlainText{Text: "long"}), `tool_call Note "long" completed`, `[Note] long`),
		Entry("a proposed plan", tool("ExitPlanMode", timeline.Plan{Text: "1. look"}), `tool_call ExitPlanMode "1. look" completed`, `[Plan] 1. look`),
		Entry("a tool of an MCP server", tool("mcp__files__list", timeline.Unknown{Input: json.RawMessage(`{"dir":"/"}`)}),
			`tool_call mcp__files__list "files/list" completed`, `[MCP] files/list`),
		Entry("a tool of no known kind", tool("Frob", timeline.Unknown{Input: json.RawMessage(`{"x":1}`)}), `tool_call Frob "{\"x\":1}" completed`, `[Frob] {"x":1}`),
		Entry("a tool of no known kind without input", tool("Frob", timeline.Unknown{}), `tool_call Frob completed`, `[Frob]`),
		Entry("a tool with a detail of a type of its own", tool("Frob", timeline.Raw{JSON: json.RawMessage(`{"type":"novel"}`)}), `tool_call Frob completed`, `[Frob]`),
		Entry("a tool without a detail", tool("Frob", nil), `tool_call Frob completed`, `[Frob]`),
	)

	It("tells in a table why a tool call failed, and in a log prints it like any other", func() {
		c := tool("Bash", timeline.Shell{Command: "false"})
		c.Status, c.Error = timeline.Failed, "exit code 1"
		Expect(timeline.Line(c)).To(Equal(`tool_call Bash "false" failed: exit code 1`))
		Expect(timeline.LogLine(c)).To(Equal(`[Shell] false`))
	})

	DescribeTable("stays on one line in a table:", func(item timeline.Item, want string) {
		Expect(timeline.Line(item)).To(Equal(want))
	},
		Entry("a text", say("a\nb"), `assistant_message "a\nb"`),
		Entry("an error of a tool call", timeline.ToolCall{Name: "x", Status: timeline.Failed, Error: "one\n\ttwo"}, `tool_call x failed: one two`),
		Entry("indented data", timeline.Plugin{ID: "a", PluginID: "p", Kind: "k", Version: 1, Data: json.RawMessage("{\n  \"n\": 1\n}")}, `plugin p/a k v1 { "n": 1 }`),
		Entry("an indented item", timeline.Raw{JSON: json.RawMessage("{\n  \"type\": \"novel\"\n}")}, `{ "type": "novel" }`),
	)

	DescribeTable("is cut in a table, at the border of a rune:",
		func(item timeline.Item, want string) {
			line := timeline.Line(item)
			Expect(line).To(Equal(want))
			Expect(utf8.ValidString(line)).To(BeTrue())
		},
		Entry("a text of 80 bytes, which just fits", say(strings.Repeat("x", 80)), `assistant_message "`+strings.Repeat("x", 80)+`"`),
		Entry("a text of 81 bytes", say(strings.Repeat("x", 81)), `assistant_message "`+strings.Repeat("x", 80)+`…"`),
		Entry("a text whose 80th byte is in the middle of a rune", say(strings.Repeat("世", 30)), `assistant_message "`+strings.Repeat("世", 26)+`…"`),
		Entry("a command", tool("Bash", timeline.Shell{Command: strings.Repeat("é", 41)}), `tool_call Bash "`+strings.Repeat("é", 40)+`…" completed`),
		Entry("an error of a tool call", timeline.ToolCall{Name: "x", Status: timeline.Failed, Error: "x" + strings.Repeat("é", 50)},
			`tool_call x failed: x`+strings.Repeat("é", 39)+`…`),
		Entry("the data of a plugin row", timeline.Plugin{ID: "a", PluginID: "p", Kind: "k", Version: 1, Data: json.RawMessage(`"` + strings.Repeat("é", 50) + `"`)},
			`plugin p/a k v1 "`+strings.Repeat("é", 39)+`…`),
		Entry("an item of a type of its own", timeline.Raw{JSON: json.RawMessage(`{"type":"novel","x":"` + strings.Repeat("世", 50) + `"}`)},
			`{"type":"novel","x":"`+strings.Repeat("世", 33)+`…`),
	)

	It("is given in full in a log, but for the input of a tool of no known kind", func() {
		long := strings.Repeat("世", 1000)
		Expect(timeline.LogLine(say(long))).To(Equal(long))
		Expect(timeline.LogLine(tool("Bash", timeline.Shell{Command: long}))).To(Equal("[Shell] " + long))
		Expect(timeline.LogLine(tool("Frob", timeline.Unknown{Input: json.RawMessage(`"` + long + `"`)}))).
			To(Equal(`[Frob] "` + strings.Repeat("世", 133) + "…"))
	})
})

var _ = Describe("The error of a tool call as text", func() {
	DescribeTable("is", func(err any, want string) {
		Expect(timeline.ErrorText(err)).To(Equal(want))
	},
		Entry("nothing for none", nil, ""),
		Entry("a text as it is", "exit code 1", "exit code 1"),
		Entry("JSON for any other JSON", json.RawMessage(`{"code":7}`), `{"code":7}`),
		Entry("the message of a Go error", errors.New("boom"), "boom"),
	)
})

var _ = Describe("A timeline as text", func() {
	var log *timeline.Log
	BeforeEach(func() {
		log = timeline.NewLog("epoch-1")
		log.Append(noon, "turn-1", "", timeline.UserMessage{Text: "fix it"})
		log.Append(noon, "turn-1", "", tool("Write", timeline.Write{FilePath: "/w/a.go"}))
		log.Append(noon, "turn-2", "", timeline.UserMessage{Text: "thanks"})
	})

	It("is a table, one line an item, which says where a turn begins", func() {
		const want = `  0 user_message "fix it"  <- turn-1
  1 tool_call Write "a.go" completed
  2 user_message "thanks"  <- turn-2`
		Expect(log.Snapshot().String()).To(Equal(want))
		Expect(log.Snapshot().GomegaString()).To(Equal(want))
	})

	It("is a table without turns for a list of items", func() {
		const want = `  0 reasoning "hm"
  1 assistant_message "done"`
		items := timeline.Items{timeline.Reasoning{Text: "hm"}, say("done")}
		Expect(items.String()).To(Equal(want))
		Expect(items.GomegaString()).To(Equal(want))
	})

	It("says so when there are none", func() {
		Expect(timeline.Timeline{}.String()).To(Equal("(no items)"))
		Expect(timeline.Items{}.String()).To(Equal("(no items)"))
	})
})

var _ = Describe("A turn that has ended", func() {
	var run timeline.Run
	BeforeEach(func() {
		log := timeline.NewLog("epoch-1")
		log.Append(noon, "turn-1", "", timeline.UserMessage{Text: "fix it"})
		log.Append(noon, "turn-1", "", timeline.ErrorItem{Message: "no quota"})
		run = timeline.Run{
			AgentID: "agent-1", TurnID: "turn-1", Status: timeline.AgentError,
			Ending: timeline.Ending{Kind: timeline.Failed, Message: "no quota"}, Timeline: log.Snapshot(),
		}
	})

	It("prints as its ending and its items", func() {
		const want = `turn turn-1 of agent-1 (now error) ended failed: no quota
  0 user_message "fix it"  <- turn-1
  1 error "no quota"`
		Expect(run.String()).To(Equal(want))
		Expect(run.GomegaString()).To(Equal(want))
	})

	It("has the items of the agent apart from what the user said", func() {
		Expect(run.Items()).To(Equal(timeline.Items{timeline.ErrorItem{Message: "no quota"}}))
		Expect(run.Timeline.Len()).To(Equal(2), "the timeline keeps both")
	})

	DescribeTable("says how it ended in a word and, if there is one, a reason:", func(e timeline.Ending, want string) {
		Expect(e.String()).To(Equal(want))
	},
		Entry("completed", timeline.Ending{Kind: timeline.Completed}, "completed"),
		Entry("canceled", timeline.Ending{Kind: timeline.Canceled, Message: "interrupted"}, "canceled: interrupted"),
		Entry("failed; the code is not printed", timeline.Ending{Kind: timeline.Failed, Message: "no quota", Code: -32000}, "failed: no quota"),
	)
})

var _ = Describe("A failure message of Gomega's", func() {
	It("shows an item of any type on one line, also in lists of somebody's own", func() {
		for _, it := range []timeline.Item{
			timeline.UserMessage{Text: "x"}, timeline.AssistantMessage{Text: "x"}, timeline.Reasoning{Text: "x"}, timeline.ToolCall{Name: "x"}, timeline.Todo{},
			timeline.ErrorItem{Message: "x"}, timeline.Compaction{}, timeline.Notification{}, timeline.Plugin{Data: []byte(`{"n":1}`)}, timeline.Raw{JSON: []byte(`{"type":"x"}`)},
		} {
			Expect(format.Object(it, 0)).To(HaveSuffix("timeline." + reflect.TypeOf(it).Name() + ">: " + timeline.Line(it)))
		}
		Expect(format.Object([]timeline.Plugin{{PluginID: "p", ID: "i", Kind: "k", Version: 1, Data: []byte(`{"n":1}`)}}, 0)).To(ContainSubstring(`plugin p/i k v1 {"n":1}`))
	})
	It("shows a row with its number and its turn, if it has one", func() {
		row := timeline.Row{Seq: 3, TurnID: "turn-1", Item: timeline.Reasoning{Text: "hm -"}}
		Expect(row.GomegaString()).To(Equal(`row 3, reasoning "hm -"  <- turn-1`))
		row.TurnID = ""
		Expect(row.GomegaString()).To(Equal(`row 3, reasoning "hm -"`))
	})
})
