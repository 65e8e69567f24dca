package matchers_test

import (
	"errors"
	"regexp"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gstruct"

	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

// PoliteMatcher is a matcher of somebody else.
type PoliteMatcher struct {
	OmegaMatcher
	Words  []string
	Min    *int
	again  int
	Myself any
}

var _ = Describe("A matcher of somebody else inside one of ours", func() {
	DescribeTable("is described by its name and its exported fields, without pointers:", func(m OmegaMatcher, want string) {
		Expect(BeReasoning(m).String()).To(Equal("be reasoning " + want))
	},
		Entry("a text", ContainSubstring("x"), `ContainSubstring {Substr:"x"}`),
		Entry("a text with arguments", HavePrefix("%d of %s", 3, "x"), `HavePrefix {Prefix:"%d of %s", Args:[3, "x"]}`),
		Entry("nothing", BeEmpty(), `BeEmpty`),
		Entry("a number", HaveLen(0), `HaveLen {Count:0}`),
		Entry("bytes", Equal([]byte("x")), `Equal {Expected:"x"}`),
		Entry("an item", Equal(said), `Equal {Expected:assistant_message "done"}`),
		Entry("a nil pointer", Equal((*timeline.ToolCall)(nil)), `Equal {Expected:nil}`),
		Entry("a struct", Equal(timeline.Plan{Text: "1. look"}), `Equal {Expected:timeline.Plan {Text:"1. look"}}`),
		Entry("something that prints itself", Equal(regexp.MustCompile("a+")), `Equal {Expected:a+}`),
		Entry("an error", MatchError(errors.New("no quota")), `MatchError {Expected:"no quota"}`),
		Entry("a function", WithTransform(strings.ToUpper, Equal("X")),
			`WithTransform {Transform:func(string) string, Matcher:Equal {Expected:"X"}}`),
		Entry("another matcher", Not(BeEmpty()), `Not {Matcher:BeEmpty}`),
		Entry("a matcher in a matcher in a matcher", Not(Not(Not(HaveSuffix("x")))),
			`Not {Matcher:Not {Matcher:Not {Matcher:HaveSuffix {Suffix:"x"}}}}`),
		Entry("several", Or(Equal("a"), And(HavePrefix("b"), Not(BeEmpty()))),
			`Or {Matchers:[Equal {Expected:"a"}, And {Matchers:[HavePrefix {Prefix:"b"}, Not {Matcher:BeEmpty}]}]}`),
		Entry("one of ours", Not(BeReasoning("x")), `Not {Matcher:be reasoning "x"}`),
		Entry("several under names, in order", gstruct.MatchAllKeys(gstruct.Keys{"b": BeNil(), "a": BeEmpty()}),
			`gstruct.Keys {Keys:{"a":BeEmpty, "b":BeNil}, IgnoreExtras:false, IgnoreMissing:false}`),
		Entry("one that Gomega does not know", &PoliteMatcher{Words: []string{"please"}, again: 1},
			`matchers_test.Polite {OmegaMatcher:nil, Words:["please"], Min:nil, Myself:nil}`),
	)

	It("is described even if it holds itself", func() {
		m := &PoliteMatcher{}
		m.Myself = m
		Expect(BeReasoning(m).String()).To(HaveSuffix("…" + strings.Repeat("}", strings.Count(BeReasoning(m).String(), "{"))))
	})

	It("is refused when it is a nil pointer", func() {
		var none *PoliteMatcher
		Expect(refusal(thought, BeReasoning(none))).To(Equal("BeReasoning: text is a nil *matchers_test.PoliteMatcher, want a string or a matcher"))
		Expect(refusal(mixed, HaveItems(none))).
			To(Equal("HaveItems: expected item 0 is a nil *matchers_test.PoliteMatcher, want an item or a matcher"))
	})
})

var _ = Describe("One of our matchers inside one of Gomega's", func() {
	items := timeline.Items{thought, said}

	It("prints readably in Or", func() {
		Expect(failure(said, Or(BeReasoning("x"), BeToolCall("Write", WithStatus(timeline.Failed))))).
			To(HaveSuffix(`To satisfy at least one of these matchers: [be reasoning "x" be a tool call "Write" with status failed]`))
	})

	It("prints in And and Not as it does alone", func() {
		Expect(failure(said, And(BeAssistantMessage("done"), BeReasoning("hm")))).To(Equal(failure(said, BeReasoning("hm"))))
		Expect(failure(said, Not(BeAssistantMessage("done")))).To(Equal(negated(said, BeAssistantMessage("done"))))
	})

	It("prints readably in ContainElement", func() {
		Expect(failure(items, ContainElement(BeToolCall("Write")))).
			To(HaveSuffix("to contain element matching\n    <matchers.matcher>: be a tool call \"Write\""))
		Expect(negated(items, ContainElement(BeReasoning("hm")))).
			To(HaveSuffix("not to contain element matching\n    <matchers.matcher>: be reasoning \"hm\""))
	})

	It("prints readably in ConsistOf", func() {
		Expect(items).To(ConsistOf(BeAssistantMessage("done"), BeReasoning("hm")))
		Expect(failure(items, ConsistOf(BeReasoning("hm"), BeToolCall("Write")))).To(And(
			ContainSubstring("to consist of\n    <[]matchers.matcher | len:2, cap:2>: [\n        be reasoning \"hm\",\n        be a tool call \"Write\",\n    ]\n"),
			ContainSubstring("the missing elements were\n    <[]matchers.matcher | len:1, cap:1>: [\n        be a tool call \"Write\",\n    ]\n")))
	})
})

var _ = Describe("One matcher", func() {
	It("may be used by many goroutines at once", func() {
		run := turn(timeline.Ending{Kind: timeline.Failed, Message: "no quota"}, thought, wrote, tested, said)
		have := HaveItems(BeReasoning("hm"), BeToolCall("Write"), BeShellCall("npm test", WithError("exit code 1")), said)
		contain := ContainItems(BeToolCall("Write"), BeAssistantMessage("bye"))
		end := EndFailed(ContainSubstring("quota"))
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				defer GinkgoRecover()
				Expect(run).To(have)
				Expect(run).To(end)
				Expect(failure(run, contain)).To(HavePrefix("expected item 1 is not in the timeline after item 1: "))
				Expect(negated(run, have)).To(ContainSubstring("not to have exactly these items"))
			})
		}
		all.Wait()
	})
})
