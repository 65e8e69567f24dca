package matchers_test

import (
	"errors"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gcustom"
	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

// one item of each type that a matcher is for, and some of no such type
var (
	user      = timeline.UserMessage{Text: "fix it"}
	said      = timeline.AssistantMessage{Text: "done"}
	thought   = timeline.Reasoning{Text: "hm"}
	failedFor = timeline.ErrorItem{Message: "no quota"}
	wrote     = timeline.ToolCall{CallID: "c1", Name: "Write", Detail: timeline.Write{FilePath: "/w/a.ts"}, Status: timeline.Completed}
	tested    = timeline.ToolCall{CallID: "c2", Name: "Bash", Detail: timeline.Shell{Command: "npm test"}, Status: timeline.Failed,
		Error: "exit code 1"}
	card   = timeline.Plugin{ID: "s1", PluginID: "summary", Kind: "turn-summary", Version: 2, Data: []byte(`{"files": 2, "by": ["me"]}`)}
	edited = timeline.ToolCall{CallID: "c3", Name: "Edit", Detail: timeline.Edit{FilePath: "/w/src/a.ts"}, Status: timeline.Completed}
	called = timeline.ToolCall{CallID: "c4", Name: "mcp__files__read_file", Status: timeline.Completed, Detail: timeline.Unknown{
		Input: []byte(`{"path":"a.ts","limit":3}`), Output: []byte(`{"content":[{"type":"text","text":"hi"}]}`),
	}}
	todo  = timeline.Todo{Items: []timeline.TodoEntry{{Text: "fix it", Status: "in_progress"}}}
	mixed = timeline.Items{user, thought, wrote, tested, edited, called, said, failedFor, todo, card, timeline.Raw{}}
)

var _ = Describe("A matcher for one item", func() {
	// everything that is true of all of them; the item matches the matcher that be makes of text
	all := func(body func(name string, be func(any) Matcher, item timeline.Item, what, text string)) {
		GinkgoHelper()
		DescribeTable("", body,
			func(name string, _ func(any) Matcher, _ timeline.Item, _, _ string) string { return name },
			Entry(nil, "BeUserMessage", BeUserMessage, user, "text", "fix it"),
			Entry(nil, "BeAssistantMessage", BeAssistantMessage, said, "text", "done"),
			Entry(nil, "BeReasoning", BeReasoning, thought, "text", "hm"),
			Entry(nil, "BeErrorItem", BeErrorItem, failedFor, "message", "no quota"),
			Entry(nil, "BeToolCall", func(name any) Matcher { return BeToolCall(name) }, wrote, "name", "Write"),
			Entry(nil, "BeShellCall", func(command any) Matcher { return BeShellCall(command) }, tested, "command", "npm test"),
			Entry(nil, "BeToolCall", func(want any) Matcher { return BeToolCall("Bash", WithError(want)) }, tested, "error", "exit code 1"),
			Entry(nil, "BeWriteCall", func(path any) Matcher { return BeWriteCall(path) }, wrote, "path", "/w/a.ts"),
			Entry(nil, "BeEditCall", func(path any) Matcher { return BeEditCall(path) }, edited, "path", "/w/src/a.ts"),
			Entry(nil, "BeMCPCall", func(server any) Matcher { return BeMCPCall(server, "read_file") }, called, "server", "files"),
			Entry(nil, "BeMCPCall", func(tool any) Matcher { return BeMCPCall("files", tool) }, called, "tool", "read_file"),
			Entry(nil, "BeToolCall", func(id any) Matcher { return BeToolCall("Write", WithCallID(id)) }, wrote, "call id", "c1"),
			Entry(nil, "BeTodo", func(text any) Matcher { return BeTodo(text) }, todo, "text", "fix it"),
			Entry(nil, "BePluginRow", func(kind any) Matcher { return BePluginRow(kind) }, card, "kind", "turn-summary"),
			Entry(nil, "BePluginRow", func(id any) Matcher { return BePluginRow("turn-summary", WithPlugin(id)) }, card, "plugin", "summary"),
		)
	}

	Describe("takes a text as a string, which must be the whole text, or as any matcher:", func() {
		all(func(_ string, be func(any) Matcher, item timeline.Item, _, text string) {
			Expect(item).To(be(text))
			Expect(item).To(be(Equal(text)))
			Expect(item).To(be(HavePrefix(text[:2])))
			Expect(item).To(be(Or(BeEmpty(), Not(ContainSubstring("\n")))))
			Expect(item).NotTo(be(text[2:]))
			Expect(item).NotTo(be(text + " "))
			Expect(item).NotTo(be(""))
			Expect(item).NotTo(be(HaveSuffix("nothing like it")))
		})
	})

	Describe("looks at the item of a row:", func() {
		all(func(_ string, be func(any) Matcher, item timeline.Item, _, text string) {
			row := timeline.Row{Seq: 1, Item: item}
			Expect(row).To(be(text))
			Expect(row).NotTo(be("nothing like it"))
			Expect([]timeline.Row{{Item: timeline.Compaction{}}, row}).To(ContainElement(be(text)))
			Expect(failure(timeline.Row{Seq: 4, TurnID: "T1", Item: timeline.Compaction{Status: "loading"}}, be(text))).
				To(HavePrefix("it is compaction loading, want to be "))
			Expect(failure(timeline.Row{Seq: 4, TurnID: "T1", Item: item}, be("x"))).
				To(ContainSubstring("\n\nExpected\n    " + timeline.Line(item) + " (seq 4)  <- T1\nto be "))
		})
	})

	Describe("does not match an item of another type, which is no error:", func() {
		all(func(_ string, be func(any) Matcher, item timeline.Item, _, text string) {
			Expect(mixed).To(ContainElement(be(text)))
			Expect(mixed).NotTo(ContainElement(be("nothing like it")))
			for _, other := range mixed {
				if other.Type() != item.Type() {
					Expect(other).NotTo(be(Not(Equal("nothing like it"))))
				}
			}
		})
	})

	Describe("fails with what the text is and what it should be:", func() {
		all(func(_ string, be func(any) Matcher, item timeline.Item, what, text string) {
			shown := "\n\nExpected\n    " + timeline.Line(item)
			Expect(failure(item, be("x"))).To(ContainSubstring(fmt.Sprintf("%s is %q, want %q%s", what, text, "x", shown)))
			Expect(failure(item, be(ContainSubstring("x?")))).
				To(ContainSubstring(fmt.Sprintf("%s is %q, want ContainSubstring {Substr:%q}%s", what, text, "x?", shown)))
		})
	})

	Describe("refuses what is no item:", func() {
		all(func(name string, be func(any) Matcher, item timeline.Item, _, text string) {
			expects := name + " expects one item; for a run, a timeline or rows put it into HaveItems or ContainItems.  Got:\n    "
			Expect(refusal("done", be(text))).To(Equal(expects + "<string>: done"))
			Expect(refusal(nil, be(text))).To(Equal(expects + "<nil>: nil"))
			Expect(refusal(timeline.Items{item}, be(text))).To(Equal(expects + "<timeline.Items>\n      0 " + timeline.Line(item)))
			Expect(refusal(turn(timeline.Ending{}), be(text))).
				To(Equal(expects + "<timeline.Run>\n    turn turn-1 of agent-1 (now idle) ended \n    (no items)"))
		})
	})

	Describe("refuses a pointer to an item, of its own type or another:", func() {
		all(func(name string, be func(any) Matcher, _ timeline.Item, _, text string) {
			Expect(refusal(&timeline.ToolCall{}, be(text))).To(Equal(name + ": the actual is a *timeline.ToolCall, want the value that it points to"))
			Expect(refusal((*timeline.Todo)(nil), be(text))).To(Equal(name + ": the actual is a *timeline.Todo, want the value that it points to"))
			Expect(refusal(&timeline.Row{}, be(text))).To(Equal(name + ": the actual is a *timeline.Row, want the value that it points to"))
			Expect(refusal(timeline.Row{}, be(text))).To(Equal(name + ": the actual is nil"))
		})
	})

	Describe("refuses everything when its text is neither a string nor a matcher:", func() {
		all(func(name string, be func(any) Matcher, _ timeline.Item, what, _ string) {
			var none types.GomegaMatcher
			for _, actual := range append([]timeline.Item{nil}, mixed...) {
				Expect(refusal(actual, be(3))).To(HaveSuffix(": " + what + " is of type int, want a string or a matcher"))
				Expect(refusal(actual, be(timeline.Failed))).To(HaveSuffix(": " + what + " is of type timeline.Status, want a string or a matcher"))
				Expect(refusal(actual, be(nil))).To(HaveSuffix(": " + what + " is nil, want a string or a matcher"))
				Expect(refusal(actual, be(none))).To(HaveSuffix(": " + what + " is nil, want a string or a matcher"))
			}
		})
	})

	Describe("passes on the error of a matcher that is not for texts:", func() {
		all(func(_ string, be func(any) Matcher, item timeline.Item, _, _ string) {
			Expect(refusal(item, be(BeNumerically(">", 1)))).To(ContainSubstring("Expected a number.  Got:"))
		})
	})

	DescribeTable("describes itself:", func(m Matcher, want string) {
		Expect(m.String()).To(Equal(want))
		Expect(m.GomegaString()).To(Equal(want))
	},
		Entry("BeUserMessage", BeUserMessage("fix it"), `be a user message "fix it"`),
		Entry("BeAssistantMessage", BeAssistantMessage("done"), `be an assistant message "done"`),
		Entry("BeReasoning", BeReasoning(HavePrefix("h")), `be reasoning HavePrefix {Prefix:"h"}`),
		Entry("BeErrorItem", BeErrorItem("no quota"), `be an error item "no quota"`),
		Entry("BeToolCall", BeToolCall("Write"), `be a tool call "Write"`),
		Entry("BeToolCall with options", BeToolCall("Write", WithStatus(timeline.Failed), WithError("no space")),
			`be a tool call "Write" with status failed and error "no space"`),
		Entry("BeShellCall", BeShellCall("npm test", WithStatus(timeline.Running)), `be a shell call "npm test" with status running`),
	)

	It("says of an item of another type what it is", func() {
		Expect(failure(thought, BeAssistantMessage("done"))).To(Equal(`it is reasoning "hm", want to be an assistant message "done"

Expected
    reasoning "hm"
to be an assistant message "done"`))
	})

	It("says in a sentence what an item must not be", func() {
		Expect(negated(said, BeAssistantMessage("done"))).To(Equal(`Expected
    assistant_message "done"
not to be an assistant message "done"`))
		Expect(negated(tested, BeShellCall(HavePrefix("npm"), WithStatus(timeline.Failed)))).To(Equal(`Expected
    tool_call Bash "npm test" failed: exit code 1
not to be a shell call HavePrefix {Prefix:"npm"} with status failed`))
	})

	It("points to the place where a long text differs", func() {
		long := func(word string) string {
			return strings.Repeat("all is well, ", 8) + word + strings.Repeat(" is well, all", 8)
		}
		Expect(failure(timeline.AssistantMessage{Text: long("this")}, BeAssistantMessage(long("that")))).To(HavePrefix(`text differs:
    Expected
        <string>: "...l, this is ..."
    to equal               |
        <string>: "...l, that is ..."

Expected
    assistant_message "all is well, all is well, `))
	})

	It("shows what a matcher of one's own says", func() {
		polite := gcustom.MakeMatcher(func(s string) (bool, error) { return strings.Contains(s, "please"), nil }).WithMessage("be polite")
		Expect(failure(user, BeUserMessage(polite))).To(HavePrefix(`text is "fix it", want gcustom.CustomGomega:
    Expected:
        <string>: fix it
    to be polite

Expected
    user_message "fix it"
to be a user message `))
	})
})

var _ = Describe("A tool call", func() {
	It("matches by the name of its tool", func() {
		Expect(wrote).To(BeToolCall("Write"))
		Expect(tested).To(BeToolCall("Bash"), "a shell call is a tool call")
		Expect(tested).To(BeToolCall(Or(Equal("Bash"), Equal("Shell"))))
	})

	It("matches by its command line where it is a shell call, whatever the tool's name", func() {
		renamed := tested
		renamed.Name = "run_command"
		Expect(renamed).To(BeShellCall("npm test"))
		Expect(failure(wrote, BeShellCall("npm test"))).To(Equal(`it is tool_call Write "a.ts" completed, want to be a shell call "npm test"

Expected
    tool_call Write "a.ts" completed
to be a shell call "npm test"`))
	})

	It("matches by its status", func() {
		Expect(wrote).To(BeToolCall("Write", WithStatus(timeline.Completed)))
		Expect(wrote).NotTo(BeToolCall("Write", WithStatus(timeline.Failed)))
		Expect(tested).To(BeShellCall("npm test", WithStatus(timeline.Failed)))
	})

	It("is told with the reason, if it failed and should not", func() {
		Expect(failure(tested, BeShellCall("npm test", WithStatus(timeline.Completed)))).To(Equal(`status is failed (exit code 1), want completed

Expected
    tool_call Bash "npm test" failed: exit code 1
to be a shell call "npm test" with status completed`))
	})

	It("matches by its error, which only a failed call has", func() {
		Expect(tested).To(BeShellCall("npm test", WithError("exit code 1")))
		Expect(tested).To(BeShellCall("npm test", WithError(HaveSuffix("1"))))
		Expect(wrote).NotTo(BeToolCall("Write", WithError(Not(Equal("x")))))
		Expect(failure(wrote, BeToolCall("Write", WithError("no space")))).To(Equal(`status is completed, want failed with error "no space"

Expected
    tool_call Write "a.ts" completed
to be a tool call "Write" with error "no space"`))
	})

	It("has an error as text, whatever it is made of", func() {
		call := tested
		call.Error = errors.New("no such host")
		Expect(call).To(BeToolCall("Bash", WithError("no such host")))
	})

	It("must be all that is asked for, and is told with the first thing that it is not", func() {
		Expect(failure(tested, BeToolCall("Write", WithStatus(timeline.Completed)))).To(HavePrefix("name is \"Bash\", want \"Write\"\n\n"))
		Expect(failure(tested, BeToolCall("Bash", WithStatus(timeline.Failed), WithError("exit code 2")))).
			To(HavePrefix("error is \"exit code 1\", want \"exit code 2\"\n\n"))
	})

	It("is an error for any item, with a status that there is not: a slip must not make NotTo pass", func() {
		Expect(refusal(tested, BeShellCall("npm test", WithStatus("complete")))).
			To(Equal(`WithStatus: there is no status "complete", want running, completed, failed or canceled`))
	})

	It("is an error for any item, with a wrong option", func() {
		for _, item := range mixed {
			Expect(refusal(item, BeToolCall("Write", WithStatus(timeline.Failed), WithError(1)))).
				To(Equal("WithError: error is of type int, want a string or a matcher"))
		}
	})
})
