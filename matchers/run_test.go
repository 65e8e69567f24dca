package matchers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

// testedAs is tested with another id.
func testedAs(id string) timeline.ToolCall {
	c := tested
	c.CallID = id
	return c
}

var _ = Describe("The assistant's text", func() {
	hello := timeline.AssistantMessage{Text: "Hello."}

	It("is that of all messages, a line each, and of nothing else", func() {
		run := turn(completed, thought, hello, wrote, said, failedFor)
		for _, actual := range []any{run, run.Timeline, run.Items(), []timeline.Item(run.Items()), stored(run.Timeline.Items()...)} {
			Expect(actual).To(HaveAssistantText("Hello.\ndone"))
			Expect(actual).To(HaveAssistantText(ContainSubstring("done")))
			Expect(actual).NotTo(HaveAssistantText("Hello."))
		}
		Expect(timeline.Items{thought}).To(HaveAssistantText(""))
	})

	It("has the pieces of one message put together, as they stand in rows", func() {
		l := timeline.NewLog("e")
		for _, piece := range []string{"Hel", "lo"} {
			l.Append(at, "T1", "a-1", timeline.AssistantMessage{Text: piece, MessageID: "a-1"})
		}
		l.Append(at, "T1", "a-2", timeline.AssistantMessage{Text: "you", MessageID: "a-2"})
		l.Append(at, "T2", "a-2", timeline.AssistantMessage{Text: "there", MessageID: "a-2"})
		Expect(l.Rows()).To(HaveAssistantText("Hello\nyou\nthere"))
		Expect(l.Snapshot()).To(HaveAssistantText("Hello\nyou\nthere"))
	})

	It("is told with what it is, and the timeline", func() {
		Expect(failure(turn(completed, hello, thought), HaveAssistantText(HavePrefix("Bye")))).To(Equal(`the text is "Hello.", want HavePrefix {Prefix:"Bye"}

Expected
    turn turn-1 of agent-1 (now idle) ended completed
      0 assistant_message "Hello."
      1 reasoning "hm"
to have the assistant text HavePrefix {Prefix:"Bye"}`))
	})

	It("is refused when it is neither a string nor a matcher", func() {
		Expect(refusal(turn(completed), HaveAssistantText(1))).To(Equal("HaveAssistantText: the text is of type int, want a string or a matcher"))
	})
})

var _ = Describe("HaveToolCall", func() {
	run := turn(completed, thought, wrote, tested, said)

	It("looks for one anywhere", func() {
		Expect(run).To(HaveToolCall("Write"))
		Expect(run).To(HaveToolCall("Bash", WithStatus(timeline.Failed), WithError("exit code 1")))
		Expect(run).NotTo(HaveToolCall("Bash", WithStatus(timeline.Completed)))
		Expect(run).NotTo(HaveToolCall("Read"))
		Expect(stored(tested)).To(HaveToolCall(HavePrefix("Ba")))
	})

	It("says how those differ that have the name", func() {
		Expect(failure(run, HaveToolCall("Bash", WithStatus(timeline.Completed)))).To(Equal(`there is no tool call "Bash" with status completed
item 2 is not the one: status is failed (exit code 1), want completed

Expected
    turn turn-1 of agent-1 (now idle) ended completed
      0 reasoning "hm"
      1 tool_call Write "a.ts" completed
      2 tool_call Bash "npm test" failed: exit code 1
      3 assistant_message "done"
to have a tool call "Bash" with status completed`))
		Expect(first(failure(turn(completed, testedAs("c5"), wrote, testedAs("c6"), testedAs("c7"), testedAs("c8")),
			HaveToolCall("Bash", WithExitCode(0))))).
			To(Equal(`there is no tool call "Bash" with exit code 0
item 0 is not the one: there is no exit code, since none was told; want 0
item 2 is not the one: there is no exit code, since none was told; want 0
item 3 is not the one: there is no exit code, since none was told; want 0
…`))
	})

	It("says what was called, if nothing has the name", func() {
		Expect(first(failure(run, HaveToolCall("Read")))).To(Equal(`there is no tool call "Read"; there are calls of "Write", "Bash"`))
		Expect(first(failure(run, HaveToolCall("Read", WithExitCode(0))))).
			To(Equal(`there is no tool call "Read" with exit code 0; there are calls of "Write", "Bash"`))
		Expect(first(failure(turn(completed, tested, testedAs("c3")), HaveToolCall("Read")))).
			To(Equal(`there is no tool call "Read"; there are calls of "Bash"`))
		Expect(first(failure(turn(completed, said), HaveToolCall("Read")))).To(Equal(`there is no tool call "Read", nor any other`))
	})

	It("is refused with a wrong argument, and has the error of a matcher that is not for texts", func() {
		Expect(refusal(run, HaveToolCall(1))).To(Equal("HaveToolCall: name is of type int, want a string or a matcher"))
		Expect(refusal(run, HaveToolCall("x", WithError(1)))).To(Equal("WithError: error is of type int, want a string or a matcher"))
		Expect(refusal(run, HaveToolCall(BeNumerically(">", 1)))).
			To(HavePrefix(`there is no tool call BeNumerically {Comparator:">", CompareTo:[1]}: item 1, tool_call Write "a.ts" completed: Expected a number.`))
	})
})

var _ = Describe("HaveNoFailedToolCalls", func() {
	It("passes where none failed, whatever else happened", func() {
		running, canceled := testedAs("c8"), testedAs("c9")
		running.Error, canceled.Error = nil, nil
		running.Status, canceled.Status = timeline.Running, timeline.Canceled
		Expect(turn(timeline.Ending{Kind: timeline.Failed}, failedFor, running, canceled, wrote)).To(HaveNoFailedToolCalls())
	})

	It("names each that did", func() {
		Expect(failure(turn(completed, wrote, tested, said, testedAs("c9")), HaveNoFailedToolCalls())).To(Equal(`2 tool calls failed:
    item 1: tool_call Bash "npm test" failed: exit code 1
    item 3: tool_call Bash "npm test" failed: exit code 1

Expected
    turn turn-1 of agent-1 (now idle) ended completed
      0 tool_call Write "a.ts" completed
      1 tool_call Bash "npm test" failed: exit code 1
      2 assistant_message "done"
      3 tool_call Bash "npm test" failed: exit code 1
to have no failed tool calls`))
	})
})

var _ = Describe("HaveRow", func() {
	rows := func() []timeline.Row {
		l := timeline.NewLog("e")
		running := tested
		running.Status, running.Error = timeline.Running, nil
		for _, it := range []timeline.Item{user, running, tested} {
			l.Append(at, "T1", "", it)
		}
		l.Append(at, "T2", "", said)
		return l.Rows()
	}()

	It("looks for a row by its item, and by its turn", func() {
		Expect(rows).To(HaveRow(said))
		Expect(rows).To(HaveRow(said, WithTurn("T2")))
		Expect(rows).To(HaveRow(BeShellCall("npm test", WithStatus(timeline.Running)), WithTurn(HavePrefix("T"))))
		Expect(rows).NotTo(HaveRow(said, WithTurn("T1")))
		Expect(rows).NotTo(HaveRow(thought))
	})

	It("says how those rows differ that are nearly so", func() {
		Expect(failure(rows, HaveRow(BeShellCall("npm test", WithStatus(timeline.Completed))))).To(Equal(`there is no row of a shell call "npm test" with status completed
row 1 is not the one: status is running, want completed
row 2 is not the one: status is failed (exit code 1), want completed

Expected
      0 user_message "fix it"  <- T1
      1 tool_call Bash "npm test" running
      2 tool_call Bash "npm test" failed: exit code 1
      3 assistant_message "done"  <- T2
to have a row of a shell call "npm test" with status completed`))
		Expect(first(failure(rows, HaveRow(said, WithTurn("T1"))))).
			To(Equal("there is no row of assistant_message \"done\" with turn \"T1\"\nrow 3 is not the one: turn is \"T2\", want \"T1\""))
	})

	It("passes by the error of a matcher for one row, and has it if no other row matches", func() {
		Expect(rows).To(HaveRow(HaveField("Text", "done")))
		Expect(refusal(rows, HaveRow(HaveField("Name", "Read")))).
			To(HavePrefix(`there is no row of HaveField {Field:"Name", Expected:"Read"}: row 0, user_message "fix it": HaveField could not find`))
	})

	It("is refused with what is neither an item nor a matcher, and for rows without an item", func() {
		Expect(refusal(rows, HaveRow("done"))).To(Equal("HaveRow: the expected item is of type string, want an item or a matcher"))
		Expect(refusal(rows, HaveRow(said, WithTurn(1)))).To(Equal("WithTurn: turn is of type int, want a string or a matcher"))
		Expect(refusal([]timeline.Row{{Item: said}, {}}, HaveRow(said))).To(Equal("HaveRow: the item of row 1 is nil"))
		Expect(refusal([]timeline.Row{{Item: &wrote}}, HaveRow(said))).
			To(Equal("HaveRow: the item of row 0 is a *timeline.ToolCall, want the value that it points to"))
	})
})
