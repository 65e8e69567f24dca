package matchers_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

// polite is a matcher of a user's.
var polite = New("be polite", func(actual any) (bool, error) {
	m, ok := actual.(timeline.AssistantMessage)
	if !ok {
		return false, errors.New("only a message is polite, or not")
	}
	return strings.Contains(m.Text, "please"), nil
})

var _ = Describe("A matcher of one's own", func() {
	please := timeline.AssistantMessage{Text: "please wait"}

	It("passes and fails with the words of its description", func() {
		Expect(please).To(polite)
		Expect(failure(said, polite)).To(Equal(`it is assistant_message "done", want to be polite

Expected
    assistant_message "done"
to be polite`))
		Expect(negated(please, polite)).To(Equal(`Expected
    assistant_message "please wait"
not to be polite`))
	})

	It("has everything that those of this package have", func() {
		Expect(timeline.Items{thought, please}).To(ContainItems(polite))
		Expect(failure(timeline.Items{said}, HaveItems(polite))).To(Equal(`item 0: it is assistant_message "done", want to be polite

Expected
      0 assistant_message "done"
to have exactly these items:
      0 polite`))
		Expect(polite.Matches(please)).To(BeTrue())
		Expect(polite.Matches(thought)).To(BeFalse())
		Expect(polite.String()).To(Equal("be polite"))
		Expect(polite.Got(said)).To(Equal("it is assistant_message \"done\", want to be polite\n    assistant_message \"done\""))
		Expect(failure(said, Or(polite, BeReasoning("hm")))).To(HaveSuffix(`[be polite be reasoning "hm"]`))
	})

	It("passes on the error of its test", func() {
		Expect(refusal(thought, polite)).To(Equal("only a message is polite, or not"))
		Expect(refusal(timeline.Items{thought}, HaveItems(polite))).To(Equal(`item 0, reasoning "hm": only a message is polite, or not`))
		Expect(polite.Got(thought)).To(Equal("only a message is polite, or not"))
		Expect(polite.FailureMessage(thought)).To(Equal("only a message is polite, or not"))
	})

	DescribeTable("says in a few words what the actual is:", func(actual any, is, shown string) {
		no := New("be right", func(any) (bool, error) { return false, nil })
		Expect(failure(actual, no)).To(Equal("it is " + is + ", want to be right\n\nExpected\n" + shown + "\nto be right"))
	},
		Entry("a run", turn(completed, said), "turn turn-1 of agent-1 (now idle) ended completed",
			"    turn turn-1 of agent-1 (now idle) ended completed\n      0 assistant_message \"done\""),
		Entry("one item of a list", timeline.Items{said}, "1 item", `      0 assistant_message "done"`),
		Entry("no items", []timeline.Item{}, "0 items", "    (no items)"),
		Entry("rows", stored(user, said), "2 rows", "      0 user_message \"fix it\"  <- T1\n      1 assistant_message \"done\""),
		Entry("one row", stored(user, said)[1], `assistant_message "done" (seq 2)  <- T1`, `    assistant_message "done" (seq 2)  <- T1`),
		Entry("plugin rows", []timeline.Plugin{card}, "1 plugin row", `      0 plugin summary/s1 turn-summary v2 {"files": 2, "by": ["me"]}`),
		Entry("events", emitted(started), "1 event", "      0 turn.started  <- T1"),
		Entry("one event", emitted(gaveUp)[0], `turn.completed {"state":"failed","errorMessage":"no quota"}`,
			`    turn.completed {"state":"failed","errorMessage":"no quota"}`),
		Entry("an ending", completed, "completed", "    completed"),
		Entry("a todo list", todo, `todo 0 of 1 done: "fix it" (in_progress)`, `    todo 0 of 1 done: "fix it" (in_progress)`),
		Entry("something else", 3, "3", "    <int>: 3"),
		Entry("nothing", nil, "nil", "    <nil>: nil"),
	)

	It("is refused without a description, and without a test", func() {
		Expect(refusal(said, New("", func(any) (bool, error) { return true, nil }))).
			To(Equal("New: the description is empty; it completes the sentence: I expect it to …"))
		Expect(refusal(said, New("be right", nil))).To(Equal("New: there is no test"))
		Expect(refusal(timeline.Items{said}, HaveItems(New("be right", nil)))).To(Equal("HaveItems: expected item 0: New: there is no test"))
	})
})

var _ = Describe("A message about something that changes", func() {
	It("says so, if the actual matches by the time that it is asked for the message", func() {
		asked := 0
		late := New("be there", func(any) (bool, error) { asked++; return asked > 1, nil })
		Expect(failure(said, late)).To(Equal(`it did not match when it was asked, but now it does

Expected
    assistant_message "done"
to be there`))
	})
})

// plainTest is a test without Gomega.
type plainTest struct {
	helper bool
	failed []string
}

func (t *plainTest) Helper() { t.helper = true }
func (t *plainTest) Fatalf(format string, args ...any) {
	t.failed = append(t.failed, fmt.Sprintf(format, args...))
}

var _ = Describe("Assert", func() {
	It("says nothing about what matches", func() {
		t := &plainTest{}
		Assert(t, said, BeAssistantMessage("done"))
		Expect(t.failed).To(BeEmpty())
	})

	It("ends the test with the failure message, or the error, as a helper", func() {
		t := &plainTest{}
		Assert(t, timeline.AssistantMessage{Text: "100% done"}, BeAssistantMessage("100%d"))
		Assert(t, "100%d", BeAssistantMessage("done"))
		Expect(t.failed).To(Equal([]string{
			"text is \"100% done\", want \"100%d\"\n\nExpected\n    assistant_message \"100% done\"\nto be an assistant message \"100%d\"",
			"BeAssistantMessage expects " + oneItem + ".  Got:\n    <string>: 100%d",
		}))
		Expect(t.helper).To(BeTrue())
	})

	It("takes Ginkgo's test, and any other", func() {
		Assert(GinkgoT(), said, BeAssistantMessage("done"))
	})
})

var _ = Describe("All matchers", func() {
	It("may be used by many goroutines at once", func() {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				defer GinkgoRecover()
				for _, s := range subjects {
					Expect(s.good).To(s.m)
					Expect(s.m.Matches(s.bad)).To(BeFalse())
					Expect(failure(s.bad, s.m)).To(HavePrefix(s.differs))
					Expect(negated(s.good, s.m)).To(HavePrefix("Expected\n"))
					Expect(s.m.String()).NotTo(BeEmpty())
					Expect(s.m.Got(s.bad)).To(HavePrefix(s.differs))
				}
			})
		}
		all.Wait()
	})
})
