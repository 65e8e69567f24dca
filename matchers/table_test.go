package matchers_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

// numbered are messages "message 0", "message 1", and so on.
func numbered(n int) timeline.Items {
	items := make(timeline.Items, n)
	for i := range items {
		items[i] = timeline.AssistantMessage{Text: fmt.Sprint("message ", i)}
	}
	return items
}

func anys[T any](all []T) (out []any) {
	for _, x := range all {
		out = append(out, x)
	}
	return out
}

var _ = Describe("Long texts", Serial, func() {
	It("are not compared at one place, if Gomega is told not to", func() {
		format.TruncatedDiff = false
		DeferCleanup(func() { format.TruncatedDiff = true })
		long := strings.Repeat("all is well, ", 8)
		Expect(first(failure(timeline.AssistantMessage{Text: long + "a"}, BeAssistantMessage(long+"b")))).
			To(Equal(fmt.Sprintf("text is %q, want %q", long+"a", long+"b")))
	})
})

// whole has messages in full as long as the spec runs.
func whole() {
	GinkgoHelper()
	before := format.MaxLength
	format.MaxLength = 0
	DeferCleanup(func() { format.MaxLength = before })
}

var _ = Describe("A long message", Serial, func() {
	It("shows what stands around the place that differs, and how much is left out", func() {
		want := anys(numbered(10_000))
		want[5_000] = BeReasoning("hm")
		message := failure(numbered(10_000), HaveItems(want...))
		Expect(len(message)).To(BeNumerically("<", 4_000))
		Expect(len(message)).To(BeNumerically(">", 3_000), "what is allowed is used")
		Expect(message).To(HavePrefix(`item 5000: it is assistant_message "message 5000", want to be reasoning "hm"

Expected
        … 49`))
		Expect(message).To(MatchRegexp(`(?s)Expected
        … \d+ more items above
    49.*
    4999 assistant_message "message 4999"
    5000 assistant_message "message 5000"
    5001 assistant_message "message 5001"
.*
        … \d+ more items below
to have exactly these items:
        … \d+ more items above
    .*
    4999 assistant_message "message 4999"
    5000 reasoning "hm"
    5001 assistant_message "message 5001"
.*
        … \d+ more items below$`))
		lines, leftOut := 0, 0
		for line := range strings.SplitSeq(message[:strings.Index(message, "\nto have")], "\n") {
			var n int
			if _, err := fmt.Sscanf(line, "        … %d more", &n); err == nil {
				leftOut += n
			} else if strings.Contains(line, "assistant_message") && strings.HasPrefix(line, "    ") {
				lines++
			}
		}
		Expect(lines+leftOut).To(Equal(10_000), "nothing is lost on the way")
	})

	It("shows all, if Gomega is told not to shorten", func() {
		whole()
		message := failure(numbered(1_000), HaveItems(anys(numbered(999))...))
		Expect(message).NotTo(ContainSubstring("…"))
		Expect(strings.Count(message, "assistant_message")).To(Equal(1 + 1_000 + 999))
	})

	It("shows the end, or the beginning, where that is the place", func() {
		message := failure(numbered(10_000), HaveItems(anys(numbered(9_999))...))
		Expect(message).To(HavePrefix(`item 9999: it is assistant_message "message 9999", want no more items`))
		Expect(message).To(ContainSubstring("\n    9999 assistant_message \"message 9999\"\nto have exactly these items:\n        … "))
		Expect(message).To(HaveSuffix("\n    9998 assistant_message \"message 9998\""))
		Expect(message).NotTo(ContainSubstring("below"))

		message = failure(numbered(10_000), HaveItems(thought))
		Expect(message).To(ContainSubstring("Expected\n      0 assistant_message \"message 0\"\n"))
		Expect(message).To(HaveSuffix(" more items below\nto have exactly these items:\n      0 reasoning \"hm\""))
		Expect(message).NotTo(ContainSubstring("above"))
	})

	It("shows what is not there where it is expected", func() {
		want := anys(numbered(10_000))
		want[5_000] = thought
		Expect(failure(numbered(10_000), ContainItems(want...))).To(MatchRegexp(`(?s)^expected item 5000 is not in the timeline after item 4999: .*
    4999 assistant_message "message 4999"
.*\nto contain these items in this order:
.*
    5000 reasoning "hm"
`))
	})

	It("shows what was probably meant", func() {
		items := numbered(10_000)
		items[5_000] = tested
		Expect(failure(items, HaveToolCall("Bash", WithExitCode(0)))).To(ContainSubstring("\n    5000 tool_call Bash"))
	})

	It("shows the first of several places", func() {
		items := numbered(10_000)
		items[5_000] = tested
		Expect(failure(items, HaveNoFailedToolCalls())).To(ContainSubstring("\n    5000 tool_call Bash"))
		items[6_000] = tested
		Expect(failure(items, HaveNoFailedToolCalls())).To(ContainSubstring("\n    5000 tool_call Bash"))
	})

	It("shows the whole of a short list beside a long one", func() {
		message := failure(numbered(10_000), ContainItems(thought, said))
		Expect(message).To(HaveSuffix("to contain these items in this order:\n      0 reasoning \"hm\"\n      1 assistant_message \"done\""))
		message = failure(numbered(3), HaveItems(anys(numbered(10_000))...))
		Expect(message).To(ContainSubstring("Expected\n      0 assistant_message \"message 0\"\n      1 assistant_message \"message 1\"\n      2 assistant_message \"message 2\"\nto have"))
	})

	It("is that of one more or less, in the words for it", func() {
		before := format.MaxLength
		defer func() { format.MaxLength = before }()
		singular := false
		for format.MaxLength = 300; format.MaxLength < 700; format.MaxLength++ {
			message := failure(numbered(8), HaveItems(thought))
			Expect(message).NotTo(ContainSubstring("… 1 more items"))
			singular = singular || strings.Contains(message, "… 1 more item below")
		}
		Expect(singular).To(BeTrue())
	})

	It("is short for each kind of list", func() {
		run := turn(completed, numbered(10_000)...)
		rows := stored(numbered(10_000)...)
		cards := make([]timeline.Plugin, 10_000)
		events := emitted(make([]event.Payload, 10_000)...)
		for i := range events {
			events[i].Payload = event.Delta{Text: fmt.Sprint("piece ", i)}
		}
		for actual, m := range map[any]Matcher{
			&run:    ContainItems(thought),
			&rows:   HaveRow(thought),
			&cards:  HaveItems(thought),
			&events: EmitExactly("turn.started"),
		} {
			var value any
			switch a := actual.(type) {
			case *timeline.Run:
				value = *a
			case *[]timeline.Row:
				value = *a
			case *[]timeline.Plugin:
				value = *a
			case *[]event.Event:
				value = *a
			}
			Expect(len(failure(value, m))).To(And(BeNumerically("<", 4_000), BeNumerically(">", 2_000)))
			Expect(len(negated(value, Not(m)))).To(And(BeNumerically("<", 4_000), BeNumerically(">", 2_000)))
			Expect(len(m.Got(value))).To(BeNumerically("<", 4_000))
		}
		Expect(len(failure(rows, BeWellFormed()))).To(BeNumerically("<", 4_000))
		Expect(len(refusal(rows, BeReasoning("hm")))).To(BeNumerically("<", 4_000))
		Expect(len(HaveItems(anys(numbered(10_000))...).String())).To(BeNumerically("<", 500))
		Expect(HaveItems(anys(numbered(10_000))...).String()).
			To(MatchRegexp(`^have exactly these items: \[assistant_message "message 0", .*, … \d+ more\]$`))
		Expect(len(HaveItems(anys(numbered(10_000))...).GomegaString())).To(BeNumerically("<", 2_100), "the actual stands beside it")
	})

	It("is short where many things are wrong, and says how much is left out", func() {
		rows := stored(numbered(10_000)...)
		for i := range rows {
			rows[i].Seq = 7
		}
		Expect(len(BeWellFormed().Got(rows))).To(BeNumerically("<", 4_100))
		message := failure(rows, BeWellFormed())
		Expect(message).To(HavePrefix("9999 things are wrong:\n    row 1, assistant_message \"message 1\": seq is 7, after 7\n"))
		head, rest, _ := strings.Cut(message, "…\n… ")
		whole()
		Expect(first(failure(rows, BeWellFormed()))).To(HavePrefix(head))
		Expect(rest).To(HavePrefix(fmt.Sprintf("%d more bytes\n\nExpected\n", len(first(failure(rows, BeWellFormed())))-len(head))))
	})

	It("is short where one item is long", func() {
		long := strings.Repeat("x", 100_000)
		lines := timeline.Items{timeline.AssistantMessage{Text: long + "a"}, timeline.ToolCall{
			Name: long, Detail: timeline.Unknown{Input: []byte(`"` + long + `"`)}, Status: timeline.Failed, Error: long,
		}}
		for _, m := range []Matcher{
			HaveItems(BeAssistantMessage("x")), HaveItems(BeAssistantMessage(long)), HaveItems(timeline.AssistantMessage{Text: long}),
			ContainItems(BeToolCall(Not(BeNil()), WithInput("x"))), ContainItems(BeToolCall(Not(BeNil()), WithInput(long))),
			HaveToolCall("x"), HaveToolCall(ContainSubstring(long)), HaveAssistantText("x"), HaveNoFailedToolCalls(),
			HaveItems(lines[0], BeToolCall(Not(BeNil()), WithStatus(timeline.Completed))), HaveItems(lines[1]),
			HaveItems(BeAssistantMessage("x"), BeAssistantMessage(long)),
		} {
			message := failure(lines, m)
			Expect(len(message)).To(BeNumerically("<", 4_100), message)
		}
		for _, m := range []Matcher{BeAssistantMessage(long), BeAssistantMessage(Equal(long)),
			BeAssistantMessage(Equal(strings.Split(long, "x"))), BeAssistantMessage(HavePrefix("y"))} {
			Expect(len(failure(lines[0], m))).To(BeNumerically("<", 4_100))
			Expect(len(negated(lines[1], Not(m)))).To(BeNumerically("<", 4_100))
		}
		Expect(first(failure(lines[0], BeAssistantMessage("y")))).To(Equal(`text is "` + strings.Repeat("x", 300) + `…" (100001 bytes), want "y"`))
		Expect(first(failure(timeline.AssistantMessage{Text: "a" + strings.Repeat("é", 200)}, BeAssistantMessage("y")))).
			To(Equal(`text is "` + "a" + strings.Repeat("é", 149) + `…" (401 bytes), want "y"`))
		Expect(len(BeAssistantMessage(long).String())).To(BeNumerically("<", 400))
		whole()
		Expect(first(failure(lines[0], BeAssistantMessage("y")))).To(Equal(`text is "` + long + `a", want "y"`))
	})
})

var _ = Describe("A table", func() {
	It("has the turn behind the first row or event of it, and the seq where it is not the next one", func() {
		rows := stored(user, said, said, said)
		rows[1].TurnID, rows[2].TurnID, rows[2].Seq = "T2", "", 7
		Expect(failure(rows, HaveItems())).To(ContainSubstring(`
      0 user_message "fix it"  <- T1
      1 assistant_message "done"  <- T2
      2 assistant_message "done" (seq 7)
      3 assistant_message "done" (seq 4)  <- T1
`))
		events := emitted(started, ended, started)
		events[2].TurnID, events[2].ItemID, events[2].RequestID = "T2", "i", "r"
		Expect(failure(events, EmitExactly())).To(ContainSubstring(`
      0 turn.started  <- T1
      1 turn.completed {"state":"completed"}
      2 turn.started i r  <- T2
`))
		Expect(failure([]event.Event{{}}, BeWellFormed())).To(ContainSubstring("\n      0 (no payload)\n"))
	})

	It("has the numbers of a timeline's items, and its turns", func() {
		l := timeline.NewLog("e")
		l.Append(at, "T1", "", user)
		l.Append(at, "T1", "", said)
		l.Append(at, "T2", "", user)
		Expect(failure(l.Snapshot(), HaveItems())).To(ContainSubstring(`
      0 user_message "fix it"  <- T1
      1 assistant_message "done"
      2 user_message "fix it"  <- T2
`))
	})
})

var _ = Describe("JSON that differs", func() {
	data := func(json string) timeline.Plugin { return timeline.Plugin{Data: []byte(json)} }

	DescribeTable("is told by its place:", func(got string, want any, differs string) {
		Expect(first(failure(data(got), BePluginRow("", WithData(want))))).To(Equal(differs))
	},
		Entry("a value", `1`, 2, "data is 1, want 2"),
		Entry("another kind of value", `{"a":1}`, []int{1}, `data is {"a":1}, want [1]`),
		Entry("an object for a value", `{"a":1}`, 1, `data is {"a":1}, want 1`),
		Entry("a value for an object", `1`, map[string]int{"a": 1}, `data is 1, want {"a":1}`),
		Entry("null for a string", `null`, "x", `data is null, want "x"`),
		Entry("a string for null", `"<x>"`, nil, `data is "<x>", want null`),
		Entry("a boolean", `true`, false, "data is true, want false"),
		Entry("a large number, which is not rounded", `9007199254740993`, 9007199254740992, "data is 9007199254740993, want 9007199254740992"),
		Entry("a member", `{"a":{"b":1}}`, map[string]any{"a": map[string]int{"b": 2}}, "data.a.b is 1, want 2"),
		Entry("a member that is not there", `{}`, map[string]any{"a": nil}, "data.a is missing, want null"),
		Entry("one that should not be there", `{"a":null}`, struct{}{}, "data.a is null, want none"),
		Entry("an element", `[1,2,3]`, []int{1, 3, 3}, "data[1] is 2, want 3"),
		Entry("elements too few and too many", `[[1],[1,2]]`, [][]int{{1, 2}, {1}},
			"data[0][1] is missing, want 2\n    data[1][1] is 2, want none"),
		Entry("several members, the plain ones first", `{"a":[1],"b":1,"c":2}`, map[string]any{"a": []int{2}, "b": 2, "c": 2},
			"data.b is 1, want 2\n    data.a[0] is 1, want 2"),
		Entry("a list that is not there, behind the plain ones", `{"b":1}`, map[string]any{"a": []int{1}, "b": 2},
			"data.b is 1, want 2\n    data.a is missing, want [1]"),
		Entry("more behind the value", `1 2`, 1, "data is 1 2, which is not JSON (there is more behind the value)"),
	)

	It("is equal whatever the order and the space", func() {
		Expect(data(` {"b" : [1, null], "a":"\u0078" }`)).To(BePluginRow("", WithData(map[string]any{"a": "x", "b": []any{1, nil}})))
	})
})
