package matchers_test

import (
	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

var _ = Describe("CmpOptions", func() {
	run := func(data string, items ...timeline.Item) timeline.Run {
		return turn(completed, append(items, timeline.Plugin{Data: []byte(data)}, tested)...)
	}

	It("lets go-cmp compare a run, which it cannot do alone", func() {
		Expect(func() { cmp.Equal(run("1"), run("1")) }).To(PanicWith(ContainSubstring("unexported field")))
		Expect(cmp.Diff(run("1"), run("1"), CmpOptions())).To(BeEmpty())
		Expect(cmp.Diff(run("1"), run("2"), CmpOptions())).NotTo(BeEmpty())
		Expect(cmp.Diff(run("1"), run("1", said), CmpOptions())).To(ContainSubstring(`timeline.AssistantMessage{Text: "done"}`))
	})

	It("takes JSON for what it says", func() {
		Expect(cmp.Equal(run(`{"a":1,"b":[2]}`), run(` {"b": [2], "a":1}`), CmpOptions())).To(BeTrue())
		Expect(cmp.Equal(run(`{"a":1,"b":[2]}`), run(`{"a":1,"b":[3]}`), CmpOptions())).To(BeFalse())
		Expect(cmp.Equal(run(`9007199254740993`), run(`9007199254740992`), CmpOptions())).To(BeFalse())
		Expect(cmp.Equal(run(`{`), run(`{`), CmpOptions())).To(BeTrue(), "what is none is compared as bytes")
		Expect(cmp.Equal(run(`{`), run(`{}`), CmpOptions())).To(BeFalse())
		Expect(cmp.Equal(run(`null`), run(`{`), CmpOptions())).To(BeFalse())
	})

	It("compares all types of items, details and events", func() {
		for _, it := range append(mixed, timeline.ToolCall{Detail: timeline.Shell{ExitCode: timeline.Exited(1)}, Error: timelineRaw(`{"a":1}`)}) {
			Expect(cmp.Equal(it, it, CmpOptions())).To(BeTrue())
		}
		Expect(cmp.Equal(timeline.Exited(1), timeline.Exited(2), CmpOptions())).To(BeFalse())
		Expect(cmp.Equal(emitted(started, gaveUp), emitted(started, gaveUp), CmpOptions())).To(BeTrue())
		Expect(cmp.Equal(emitted(event.Raw{JSON: []byte(`{"a":1}`)}), emitted(event.Raw{JSON: []byte(`{"a": 1}`)}), CmpOptions())).To(BeTrue())
		Expect(cmp.Equal(emitted(started, gaveUp), emitted(started, ended), CmpOptions())).To(BeFalse())
	})

	It("is what BeComparableTo takes, too", func() {
		Expect(run("1")).To(BeComparableTo(run(" 1"), CmpOptions()))
	})
})

func timelineRaw(json string) any { return timeline.Plugin{Data: []byte(json)}.Data }
