package matchers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

var _ = Describe("How a turn ended", func() {
	completed := timeline.Ending{Kind: timeline.Completed}
	failed := timeline.Ending{Kind: timeline.Failed, Message: "no quota", Code: -32000}
	canceled := timeline.Ending{Kind: timeline.Canceled, Message: "interrupted"}

	It("is one of three, and only its own matcher matches it", func() {
		for ending, own := range map[timeline.Ending]Matcher{completed: EndCompleted(), failed: EndFailed("no quota"), canceled: EndCanceled()} {
			for _, m := range []Matcher{EndCompleted(), EndFailed("no quota"), EndCanceled()} {
				matches, err := m.Match(ending)
				Expect(err).NotTo(HaveOccurred())
				Expect(matches).To(Equal(m.String() == own.String()), "%s on a turn that ended %s", m, ending)
			}
		}
	})

	It("is asked of a run, or of its ending alone", func() {
		Expect(turn(canceled)).To(EndCanceled())
		Expect(canceled).To(EndCanceled())
	})

	It("takes the message of a failure as a string or as any matcher", func() {
		Expect(failed).To(EndFailed("no quota"))
		Expect(failed).To(EndFailed(ContainSubstring("quota")))
		Expect(failed).To(EndFailed(Not(BeEmpty())))
		Expect(failed).NotTo(EndFailed("quota"), "a string must be the whole message")
		Expect(failed).NotTo(EndFailed(HavePrefix("quota")))
		Expect(timeline.Ending{Kind: timeline.Failed}).To(EndFailed(""))
	})

	DescribeTable("is told first when it is another one, and then what the turn did:", func(m Matcher, first, last string) {
		Expect(failure(turn(failed, timeline.Reasoning{Text: "hm"}, timeline.ErrorItem{Message: "no quota"}), m)).To(Equal(first + `

Expected
    turn turn-1 of agent-1 (now idle) ended failed: no quota
      0 reasoning "hm"
      1 error "no quota"
to ` + last))
	},
		Entry("completed", EndCompleted(), `the turn ended failed: no quota, want completed`, `end completed`),
		Entry("canceled", EndCanceled(), `the turn ended failed: no quota, want canceled`, `end canceled`),
		Entry("failed for another reason", EndFailed("no credit"), `message is "no quota", want "no credit"`,
			`end failed with message "no credit"`),
		Entry("failed for a reason that does not match", EndFailed(ContainSubstring("credit")),
			`message is "no quota", want ContainSubstring {Substr:"credit"}`, `end failed with message ContainSubstring {Substr:"credit"}`),
	)

	It("is told with the message that was expected, when the turn did not even fail", func() {
		Expect(failure(completed, EndFailed("no quota"))).To(Equal(`the turn ended completed, want failed with message "no quota"

Expected
    completed
to end failed with message "no quota"`))
	})

	DescribeTable("is told in a sentence when it is the one that it must not be:", func(ending timeline.Ending, m Matcher, want string) {
		Expect(negated(turn(ending), m)).To(Equal(want))
	},
		Entry("completed", completed, EndCompleted(), `Expected
    turn turn-1 of agent-1 (now idle) ended completed
    (no items)
not to end completed`),
		Entry("failed", failed, EndFailed(HavePrefix("no")), `Expected
    turn turn-1 of agent-1 (now idle) ended failed: no quota
    (no items)
not to end failed with message HavePrefix {Prefix:"no"}`),
		Entry("canceled", canceled, EndCanceled(), `Expected
    turn turn-1 of agent-1 (now idle) ended canceled: interrupted
    (no items)
not to end canceled`),
	)

	DescribeTable("is an error of what has none:", func(m Matcher, name string) {
		Expect(refusal("completed", m)).To(Equal(name + " expects a run, a turn or an ending.  Got:\n    <string>: completed"))
		Expect(refusal(nil, m)).To(Equal(name + " expects a run, a turn or an ending.  Got:\n    <nil>: nil"))
		Expect(refusal(timeline.ErrorItem{Message: "no quota"}, m)).
			To(Equal(name + " expects a run, a turn or an ending.  Got:\n    error \"no quota\""))
		Expect(refusal(&timeline.Run{}, m)).To(Equal(name + ": the actual is a *timeline.Run, want the value that it points to"))
		Expect(refusal(&timeline.Ending{}, m)).To(Equal(name + ": the actual is a *timeline.Ending, want the value that it points to"))
	},
		Entry("EndCompleted", EndCompleted(), "EndCompleted"),
		Entry("EndFailed", EndFailed("x"), "EndFailed"),
		Entry("EndCanceled", EndCanceled(), "EndCanceled"),
	)

	It("is an error for any turn, with a message that is neither a string nor a matcher", func() {
		for _, ending := range []timeline.Ending{completed, failed, canceled} {
			Expect(refusal(ending, EndFailed(3))).To(Equal("EndFailed: message is of type int, want a string or a matcher"))
			Expect(refusal(ending, EndFailed(nil))).To(Equal("EndFailed: message is nil, want a string or a matcher"))
		}
	})
})
