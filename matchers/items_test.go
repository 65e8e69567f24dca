package matchers_test

import (
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gstruct"
	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

var completed = timeline.Ending{Kind: timeline.Completed}

// both are the two matchers for whole timelines.
var both = map[string]func(...any) Matcher{"HaveItems": HaveItems, "ContainItems": ContainItems}

var _ = Describe("HaveItems and ContainItems", func() {
	It("look at the items of a run without what the user said", func() {
		run := turn(completed, thought, said)
		for _, have := range both {
			Expect(run).To(have(BeReasoning("hm"), BeAssistantMessage("done")))
			Expect(run).NotTo(have(BeUserMessage("fix it"), BeReasoning("hm"), BeAssistantMessage("done")))
		}
	})

	It("look at all items of a timeline, or of a list", func() {
		for _, actual := range []any{
			turn(completed, thought).Timeline,
			timeline.Items{user, thought},
			[]timeline.Item{user, thought},
			stored(user, thought),
		} {
			for _, have := range both {
				Expect(actual).To(have(BeUserMessage("fix it"), BeReasoning("hm")))
				Expect(actual).NotTo(have(BeReasoning("hm"), BeUserMessage("fix it")))
			}
		}
	})

	It("show the items that they look at, so that the numbers are those of the message", func() {
		const table = "\n\nExpected\n      0 user_message \"fix it\"%s\n      1 reasoning \"hm\"\nto "
		for _, have := range both {
			Expect(failure(turn(completed, thought).Timeline, have(said))).To(ContainSubstring(fmt.Sprintf(table, "  <- turn-1")))
			Expect(failure(timeline.Items{user, thought}, have(said))).To(ContainSubstring(fmt.Sprintf(table, "")))
			Expect(failure([]timeline.Item{user, thought}, have(said))).To(ContainSubstring(fmt.Sprintf(table, "")))
		}
	})

	It("take items, which must be equal, and matchers, of this package or others", func() {
		for _, have := range both {
			Expect(timeline.Items{thought, said, wrote}).To(have(thought, BeAssistantMessage("done"), HaveField("Name", "Write")))
			Expect(timeline.Items{said}).NotTo(have(timeline.AssistantMessage{Text: "done", MessageID: "m1"}))
		}
	})

	It("refuse what is no timeline", func() {
		for name, have := range both {
			Expect(refusal(3, have(said))).To(Equal(name + " expects a run, a turn, a timeline, items or rows.  Got:\n    <int>: 3"))
			Expect(refusal(nil, have(said))).To(Equal(name + " expects a run, a turn, a timeline, items or rows.  Got:\n    <nil>: nil"))
			Expect(refusal(said, have(said))).
				To(Equal(name + " expects a run, a turn, a timeline, items or rows.  Got:\n    assistant_message \"done\""))
			Expect(refusal(&timeline.Run{}, have())).To(Equal(name + ": the actual is a *timeline.Run, want the value that it points to"))
			Expect(refusal(&timeline.Timeline{}, have())).To(Equal(name + ": the actual is a *timeline.Timeline, want the value that it points to"))
			Expect(refusal(&timeline.Items{}, have())).To(Equal(name + ": the actual is a *timeline.Items, want the value that it points to"))
		}
	})

	It("refuse a list with a pointer or a nil in it", func() {
		for name, have := range both {
			Expect(refusal(timeline.Items{said, &wrote}, have(said))).
				To(Equal(name + ": item 1 is a *timeline.ToolCall, want the value that it points to"))
			Expect(refusal(timeline.Items{said, nil}, have(said))).To(Equal(name + ": item 1 is nil"))
		}
	})

	It("refuse every timeline when an expected item is neither an item nor a matcher", func() {
		var none types.GomegaMatcher
		for name, have := range both {
			for _, actual := range []any{turn(completed), timeline.Items{}, mixed, 3} {
				Expect(refusal(actual, have("done", said))).To(Equal(name + ": expected item 0 is of type string, want an item or a matcher"))
				Expect(refusal(actual, have(said, "done"))).To(Equal(name + ": expected item 1 is of type string, want an item or a matcher"))
				Expect(refusal(actual, have(timeline.Items{said}))).
					To(Equal(name + ": expected item 0 is of type timeline.Items, want an item or a matcher"))
				Expect(refusal(actual, have(nil))).To(Equal(name + ": expected item 0 is nil, want an item or a matcher"))
				Expect(refusal(actual, have(none))).To(Equal(name + ": expected item 0 is nil, want an item or a matcher"))
				Expect(refusal(actual, have(&wrote))).To(Equal(name + ": expected item 0 is a *timeline.ToolCall, want the value that it points to"))
				Expect(refusal(actual, have(said, BeReasoning(3)))).
					To(Equal(name + ": expected item 1: BeReasoning: text is of type int, want a string or a matcher"))
			}
		}
	})

	It("stay what they are when the list that they were made of changes", func() {
		for _, have := range both {
			want := []any{said}
			m := have(want...)
			want[0] = thought
			Expect(timeline.Items{said}).To(m)
		}
	})
})

var _ = Describe("Two items", func() {
	It("are equal when all of it is", func() {
		call := timeline.ToolCall{CallID: "c1", Name: "Bash", Detail: timeline.Shell{Command: "ls"}, Status: timeline.Failed, Error: "no", Metadata: []byte("{}")}
		all := timeline.Items{call}
		for _, change := range []func(*timeline.ToolCall){
			func(c *timeline.ToolCall) { c.CallID = "c2" },
			func(c *timeline.ToolCall) { c.Name = "Shell" },
			func(c *timeline.ToolCall) { c.Detail = timeline.Shell{Command: "ls", ExitCode: timeline.Exited(0)} },
			func(c *timeline.ToolCall) { c.Detail = timeline.Plan{} },
			func(c *timeline.ToolCall) { c.Detail = timeline.Unknown{Input: []byte("1")} },
			func(c *timeline.ToolCall) { c.Detail = timeline.Unknown{Input: []byte("2")} },
			func(c *timeline.ToolCall) { c.Detail = timeline.Search{FilePaths: []string{"a"}} },
			func(c *timeline.ToolCall) { c.Detail = nil },
			func(c *timeline.ToolCall) { c.Status = timeline.Completed },
			func(c *timeline.ToolCall) { c.Error = nil },
			func(c *timeline.ToolCall) { c.Error = "yes" },
			func(c *timeline.ToolCall) { c.Error = json.RawMessage(`"no"`) },
			func(c *timeline.ToolCall) { c.Metadata = nil },
			func(c *timeline.ToolCall) { c.Metadata = []byte(`{"a":1}`) },
		} {
			other := call
			change(&other)
			all = append(all, other)
		}
		all = append(append(all, mixed...), timeline.Reasoning{Text: "done"}, timeline.Compaction{}, timeline.Notification{}, timeline.Todo{}, timeline.Plugin{})
		for i, a := range all {
			for j, b := range all {
				Expect(HaveItems(b).Matches(timeline.Items{a})).To(Equal(i == j), "%d, %s, and %d, %s", i, timeline.Line(a), j, timeline.Line(b))
			}
		}
	})
})

var _ = Describe("HaveItems", func() {
	run := turn(completed, thought, tested, said)

	It("wants every item, in order", func() {
		Expect(run).To(HaveItems(BeReasoning("hm"), BeShellCall("npm test"), BeAssistantMessage("done")))
		Expect(run).NotTo(HaveItems(BeReasoning("hm"), BeAssistantMessage("done")))
		Expect(run).NotTo(HaveItems(BeShellCall("npm test"), BeReasoning("hm"), BeAssistantMessage("done")))
	})

	It("wants no item when it has none", func() {
		Expect(turn(completed)).To(HaveItems())
		Expect(failure(timeline.Items{said}, HaveItems())).To(Equal(`item 0: it is assistant_message "done", want no more items

Expected
      0 assistant_message "done"
to have no items`))
		Expect(negated(timeline.Items{}, HaveItems())).To(Equal("Expected\n    (no items)\nnot to have no items"))
	})

	It("fails with the first item that differs, the timeline, and what was expected", func() {
		Expect(failure(run, HaveItems(BeReasoning("hm"), BeShellCall("npm test", WithStatus(timeline.Completed)), said))).
			To(Equal(`item 1: status is failed (exit code 1), want completed

Expected
    turn turn-1 of agent-1 (now idle) ended completed
      0 reasoning "hm"
      1 tool_call Bash "npm test" failed: exit code 1
      2 assistant_message "done"
to have exactly these items:
      0 reasoning "hm"
      1 a shell call "npm test" with status completed
      2 assistant_message "done"`))
	})

	DescribeTable("says in the first line", func(want string, expected ...any) {
		Expect(failure(run, HaveItems(expected...))).To(HavePrefix(want + "\n\nExpected\n"))
	},
		Entry("that an item is of another type", `item 0: it is reasoning "hm", want to be a tool call "Write"`, BeToolCall("Write")),
		Entry("that an item is of another type than the expected one", `item 0: it is reasoning "hm", want assistant_message "done"`, said),
		Entry("that an item is missing", `item 3 is missing: want to be an assistant message "bye"`, thought, tested, said,
			BeAssistantMessage("bye")),
		Entry("that there are too many", `item 1: it is tool_call Bash "npm test" failed: exit code 1, want no more items`, thought),
	)

	It("compares an item with an expected one of its type field by field, the plain ones first", func() {
		Expect(failure(timeline.Items{said}, HaveItems(timeline.AssistantMessage{Text: "done", MessageID: "m1"}))).
			To(HavePrefix("item 0: messageId is missing, want \"m1\"\n\nExpected\n"))
		ok := timeline.ToolCall{CallID: "c2", Name: "Bash", Detail: timeline.Shell{Command: "npm test", ExitCode: timeline.Exited(0)},
			Status: timeline.Completed}
		Expect(failure(timeline.Items{tested}, HaveItems(ok))).To(HavePrefix(`item 0: error is "exit code 1", want null
    status is "failed", want "completed"
    detail.exitCode is missing, want 0
    detail.output is missing, want ""

Expected
`))
	})

	It("compares two items in Go, where they differ but their JSON does not", func() {
		Expect(failure(timeline.Items{timeline.Plugin{}}, HaveItems(timeline.Plugin{Data: json.RawMessage("null")}))).To(HavePrefix(`item 0: it is
    timeline.Plugin{ID:"", PluginID:"", Kind:"", Version:0, Data:json.RawMessage(nil)}
want
    timeline.Plugin{ID:"", PluginID:"", Kind:"", Version:0, Data:json.RawMessage{0x6e, 0x75, 0x6c, 0x6c}}

Expected
`))
	})

	It("shows what somebody else's matcher says of an item", func() {
		Expect(failure(timeline.Items{thought, tested}, HaveItems(thought, HaveField("Status", timeline.Completed)))).
			To(Equal(`item 1: it is tool_call Bash "npm test" failed: exit code 1, want HaveField {Field:"Status", Expected:"completed"}:
    Value for field 'Status' failed to satisfy matcher.
    Expected
        <timeline.Status>: failed
    to equal
        <timeline.Status>: completed

Expected
      0 reasoning "hm"
      1 tool_call Bash "npm test" failed: exit code 1
to have exactly these items:
      0 reasoning "hm"
      1 HaveField {Field:"Status", Expected:"completed"}`))
	})

	It("shows it without the empty lines at its end", func() {
		Expect(failure(timeline.Items{said}, HaveItems(gstruct.MatchAllFields(gstruct.Fields{"Text": Equal("done"), "MessageID": Equal("m1")})))).
			To(ContainSubstring("    }\n\nExpected\n      0 assistant_message \"done\"\nto have exactly these items:\n"))
	})

	It("fails with the place of an item that a matcher has an error for", func() {
		Expect(refusal(timeline.Items{wrote, thought}, HaveItems(wrote, HaveField("Status", timeline.Completed)))).
			To(Equal(`item 1, reasoning "hm": HaveField could not find field named 'Status' in struct:
    <timeline.Reasoning>: reasoning "hm"`))
	})

	It("says in a sentence what a turn must not have", func() {
		Expect(negated(turn(completed, thought, said), HaveItems(thought, BeAssistantMessage("done")))).To(Equal(`Expected
    turn turn-1 of agent-1 (now idle) ended completed
      0 reasoning "hm"
      1 assistant_message "done"
not to have exactly these items:
      0 reasoning "hm"
      1 an assistant message "done"`))
	})
})

var _ = Describe("ContainItems", func() {
	run := turn(completed, thought, wrote, tested, said)

	It("wants these items in this order, whatever stands between them", func() {
		Expect(run).To(ContainItems(BeReasoning("hm"), BeAssistantMessage("done")))
		Expect(run).To(ContainItems(BeToolCall("Write"), BeShellCall("npm test")))
		Expect(run).To(ContainItems())
		Expect(run).NotTo(ContainItems(BeAssistantMessage("done"), BeReasoning("hm")))
		Expect(run).NotTo(ContainItems(BeReasoning("hm"), BeReasoning("hm")), "an item counts once")
	})

	It("fails with what is not there, the timeline, and what was expected", func() {
		Expect(failure(turn(completed, thought), ContainItems(BeToolCall("Write"), said))).
			To(Equal(`expected item 0 is not in the timeline: want to be a tool call "Write"

Expected
    turn turn-1 of agent-1 (now idle) ended completed
      0 reasoning "hm"
to contain these items in this order:
      0 a tool call "Write"
      1 assistant_message "done"`))
	})

	It("says from where on it looked for what comes later", func() {
		Expect(failure(run, ContainItems(BeToolCall("Write"), BeReasoning("hm")))).
			To(HavePrefix("expected item 1 is not in the timeline after item 1: want to be reasoning \"hm\"\n\nExpected\n"))
		Expect(failure(run, ContainItems(said, HaveField("Text", "bye")))).
			To(HavePrefix("expected item 1 is not in the timeline after item 3: want HaveField {Field:\"Text\", Expected:\"bye\"}\n\nExpected\n"))
	})

	It("passes by an item that a matcher has an error for, if a later one matches", func() {
		Expect(run).To(ContainItems(HaveField("Name", "Bash"), HaveField("Text", "done")))
	})

	It("fails with that error, and its place, if no item matches", func() {
		Expect(refusal(timeline.Items{wrote, thought}, ContainItems(HaveField("Name", "Bash")))).
			To(Equal(`expected item 0 is not in the timeline: want HaveField {Field:"Name", Expected:"Bash"}: ` +
				`item 1, reasoning "hm": HaveField could not find field named 'Name' in struct:
    <timeline.Reasoning>: reasoning "hm"`))
	})

	It("says in a sentence what a timeline must not contain", func() {
		Expect(negated(timeline.Items{thought, said}, ContainItems(BeReasoning(HavePrefix("h"))))).To(Equal(`Expected
      0 reasoning "hm"
      1 assistant_message "done"
not to contain these items in this order:
      0 reasoning HavePrefix {Prefix:"h"}`))
	})
})
