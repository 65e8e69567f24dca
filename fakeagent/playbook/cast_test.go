package playbook_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/playbook"
)

// cast is a new cast for a playbook.
func cast(text string) *playbook.Cast {
	GinkgoHelper()
	return playbook.NewCast(parse(text))
}

const nothing = "nothing"

// picked is the batch for an input, in a few words.
func picked(c *playbook.Cast, t playbook.Thread, input string) string {
	if b, ok := c.Pick(t, input); ok {
		return b.String()
	}
	return nothing
}

// say is a batch that is known by its tool.
func say(tool string) string { return fmt.Sprintf(`[{"tool":%q}]`, tool) }

// expect is the same for an input.
func expect(input, tool string) string {
	return fmt.Sprintf(`[{"expectInput":%q},{"tool":%q}]`, input, tool)
}

var _ = Describe("A line", func() {
	DescribeTable("is for a thread",
		func(match, id, title string, fits bool) {
			want := nothing
			if fits {
				want = "t"
			}
			Expect(picked(cast(file(line(match, say("t")))), playbook.Thread{ID: id, Title: title}, "")).To(Equal(want))
		},
		Entry("whose id the expression matches anywhere", `"threadId":"worker"`, "a-worker-b", "", true),
		Entry("but not if it matches nowhere", `"threadId":"worker"`, "a-work-b", "", false),
		Entry("but not in other letters", `"threadId":"worker"`, "Worker", "", false),
		Entry("unless the expression says that they do not count", `"threadId":"(?i)worker"`, "Worker", "", true),
		Entry("whose whole id it matches, if it says so", `"threadId":"^worker:[^:]+$"`, "worker:1", "", true),
		Entry("but then not if there is more", `"threadId":"^worker:[^:]+$"`, "worker:1:sub", "", false),
		Entry("whose id the expression matches, dots and all", `"threadId":"a.c"`, "abc", "", true),
		Entry("whose title has the text in it", `"title":"Lead"`, "x", "The Lead of all", true),
		Entry("but not if the title has it in other letters", `"title":"Lead"`, "x", "the lead", false),
		Entry("but not if the title is no more than a part of the text", `"title":"Lead"`, "x", "Lea", false),
		Entry("whose title has the text in it, which is no expression", `"title":"L..d"`, "x", "Lead", false),
		Entry("but not if the thread has no title", `"title":"Lead"`, "Lead", "", false),
		Entry("without a title, if it says nothing of titles", `"threadId":"x"`, "x", "", true),
		Entry("if both hold", `"threadId":"x","title":"Lead"`, "x", "Lead", true),
		Entry("but not if only the id fits", `"threadId":"x","title":"Lead"`, "x", "Worker", false),
		Entry("but not if only the title fits", `"threadId":"x","title":"Lead"`, "y", "Lead", false),
	)

	It("goes to the first thread that fits, and to no other", func() {
		c := cast(lead(say("one"), say("two")))
		Expect(picked(c, playbook.Thread{ID: "a", Title: "Worker"}, "")).To(Equal(nothing))
		Expect(picked(c, playbook.Thread{ID: "b", Title: "Lead"}, "")).To(Equal("one"))
		Expect(picked(c, playbook.Thread{ID: "c", Title: "Lead"}, "")).To(Equal(nothing))
		Expect(picked(c, playbook.Thread{ID: "b", Title: "Lead"}, "")).To(Equal("two"))
		Expect(picked(c, playbook.Thread{ID: "c", Title: "Lead"}, "")).To(Equal(nothing), "when all was played, too")
	})

	It("goes to a thread without an id, too, and then to no other", func() {
		c := cast(lead(say("one"), say("two")))
		Expect(picked(c, playbook.Thread{Title: "Lead"}, "")).To(Equal("one"))
		Expect(picked(c, playbook.Thread{ID: "a", Title: "Lead"}, "")).To(Equal(nothing))
	})
})

var _ = Describe("A thread", func() {
	It("gets the first line of the file that is for it, if that is free, or else the next one", func() {
		c := cast(file(line(`"title":"Lead"`, say("none of yours")), line(`"threadId":"worker"`, say("first")), line(`"threadId":"^worker:2$"`, say("second")), line(`"threadId":"."`, say("third"))))
		Expect(picked(c, playbook.Thread{ID: "worker:2"}, "")).To(Equal("first"))
		Expect(picked(c, playbook.Thread{ID: "worker:1"}, "")).To(Equal("third"))
		Expect(picked(c, playbook.Thread{ID: "worker:3"}, "")).To(Equal(nothing))
	})

	It("keeps its line, whatever it is called later and however little is left of it", func() {
		c := cast(file(line(`"title":"Lead"`, say("one"), say("two")), line(`"threadId":"a"`, say("other"))))
		Expect(picked(c, playbook.Thread{ID: "a", Title: "Lead"}, "")).To(Equal("one"))
		Expect(picked(c, playbook.Thread{ID: "a"}, "")).To(Equal("two"))
		Expect(picked(c, playbook.Thread{ID: "a"}, "")).To(Equal(nothing))
		Expect(picked(c, playbook.Thread{ID: "abc"}, "")).To(Equal("other"), "which was free all the time")
	})

	It("gets none later if there was none for it when it had its first turn", func() {
		c := cast(lead(say("one")))
		Expect(picked(c, playbook.Thread{ID: "a"}, "")).To(Equal(nothing))
		Expect(picked(c, playbook.Thread{ID: "a", Title: "Lead"}, "")).To(Equal(nothing))
		Expect(picked(c, playbook.Thread{ID: "b", Title: "Lead"}, "")).To(Equal("one"))
	})

	It("gets its line with an input that no batch is for, too", func() {
		c := cast(lead(expect("go", "one")))
		Expect(picked(c, playbook.Thread{ID: "a", Title: "Lead"}, "stop")).To(Equal(nothing))
		Expect(picked(c, playbook.Thread{ID: "b", Title: "Lead"}, "go")).To(Equal(nothing))
		Expect(picked(c, playbook.Thread{ID: "a", Title: "Lead"}, "go")).To(Equal("expects \"go\", one"))
	})
})

var _ = Describe("The batches of a line", func() {
	alice := playbook.Thread{ID: "alice", Title: "Lead"}

	DescribeTable("are picked",
		func(batches []string, inputs string, want ...string) {
			c := cast(lead(batches...))
			var got []string
			for _, input := range strings.Split(inputs, ",") {
				one := picked(c, alice, input)
				got = append(got, one[strings.LastIndex(one, " ")+1:])
			}
			Expect(got).To(Equal(want))
		},
		Entry("one after the other, whatever the inputs are, and each of them once",
			[]string{say("one"), say("two")}, "a,,c,d", "one", "two", nothing, nothing),
		Entry("by what the input has in it, in any order",
			[]string{expect("A", "a"), expect("B", "b"), expect("C", "c")}, "C,xAx,B", "c", "a", "b"),
		Entry("each of them once, however often its input comes",
			[]string{expect("A", "a"), expect("B", "b")}, "A,A,B,B", "a", nothing, "b", nothing),
		Entry("not for an input that has the text in other letters",
			[]string{expect("A", "a")}, "a,A", nothing, "a"),
		Entry("the earliest one first, of those that the input is for",
			[]string{expect("A", "one"), expect("B", "b"), expect("A", "two")}, "AB,AB,AB", "one", "b", "two"),
		Entry("one that expects nothing only when all before it were, though it would take any input",
			[]string{expect("A", "a"), say("any"), expect("C", "c")}, "x,C,x,A,x", nothing, "c", nothing, "a", "any"),
		Entry("one that expects nothing before a later one that expects the input",
			[]string{say("any"), expect("C", "c")}, "C,C", "any", "c"),
		Entry("one that expects the input before a later one that expects nothing",
			[]string{expect("A", "a"), say("any")}, "A,A", "a", "any"),
		Entry("one that has no steps as any other", []string{"[]", say("two")}, "a,b,c", "steps)", "two", nothing),
		Entry("never, if there are none", nil, "a", nothing),
	)

	It("are picked by each thread from its own line, whatever others do", func() {
		c := cast(file(line(`"threadId":"worker"`, say("one"), say("two")), line(`"threadId":"worker"`, say("three"), say("four"))))
		for _, turn := range []struct{ id, want string }{{"worker:1", "one"}, {"worker:2", "three"}, {"worker:2", "four"}, {"worker:1", "two"}, {"worker:2", nothing}} {
			Expect(picked(c, playbook.Thread{ID: turn.id}, "go")).To(Equal(turn.want))
		}
	})

	It("are played anew by another cast", func() {
		p := parse(lead(say("one")))
		for range 2 {
			Expect(picked(playbook.NewCast(p), alice, "")).To(Equal("one"))
		}
	})

	Describe("for a thread that waited for a steer in vain", func() {
		next := func(c *playbook.Cast) string {
			if b, ok := c.PickNext(alice); ok {
				return b.String()
			}
			return nothing
		}

		It("are the earliest ones left, whatever they expect", func() {
			c := cast(lead(expect("A", "a"), expect("B", "b"), say("any"), expect("C", "c")))
			Expect(picked(c, alice, "B")).To(HaveSuffix(" b"))
			Expect(next(c)).To(HaveSuffix(" a"))
			Expect(next(c)).To(Equal("any"))
			Expect(next(c)).To(HaveSuffix(" c"))
			Expect(next(c)).To(Equal(nothing))
		})

		It("are none if the thread has no line", func() {
			_, ok := cast(file()).PickNext(alice)
			Expect(ok).To(BeFalse())
		})
	})
})

var _ = Describe("What is left of a playbook", func() {
	It("is a tree of lines and batches", func() {
		c := cast(file(
			line(`"threadId":"^worker:[^:]+$","title":"A \"B\""`, say("list"), expect("go", "claim"), `[{"wait":{"tool":"summary"}},{"awaitSteer":true}]`),
			line(`"title":"Lead"`, say("post")),
			line(`"threadId":"idle"`),
			line(`"threadId":"done"`, say("x")),
		))
		Expect(picked(c, playbook.Thread{ID: "worker:1", Title: `A "B"`}, "go")).To(Equal("list"))
		Expect(picked(c, playbook.Thread{ID: "done"}, "")).To(Equal("x"))
		Expect(c.Left()).To(Equal(strings.TrimSpace(`
3 of 5 batches were not played
  threads[0] threadId ^worker:[^:]+$, title "A \"B\"": claimed by worker:1
    turns[1] expects "go", claim
    turns[2] wait summary, awaitSteer
  threads[1] title "Lead": no thread has claimed it
    turns[0] post`)))
	})

	It("is nothing when all was played, whoever has a line", func() {
		c := cast(file(line(`"threadId":"a"`, say("one")), line(`"threadId":"b"`)))
		Expect(picked(c, playbook.Thread{ID: "a"}, "")).To(Equal("one"))
		Expect(c.Left()).To(BeEmpty())
		Expect(cast(file()).Left()).To(BeEmpty())
	})
})

var _ = Describe("A batch in a few words", func() {
	DescribeTable("is",
		func(steps, want string) { Expect(parse(lead(steps)).Lines[0].Batches[0].String()).To(Equal(want)) },
		Entry("the tools that it calls", `[{"tool":"a"},{"mcp":{"tool":"b"}}]`, "a, b"),
		Entry("what it expects", `[{"expectInput":"all\ndone"},{"tool":"a"}]`, `expects "all\ndone", a`),
		Entry("the beginning of what it expects", `[{"expectInput":"`+strings.Repeat("é", 70)+`"}]`, `expects "`+strings.Repeat("é", 60)+`"`),
		Entry("the tools that it waits for", `[{"wait":"a"},{"wait":{"tool":"b","timeoutMs":5}}]`, "wait a, wait b"),
		Entry("what it waits for", `[{"waitFor":{"tool":"list","path":"items","atLeast":2}}]`, "waitFor list items >= 2"),
		Entry("the kinds of other steps", `[{"say":"a"},{"write":{"path":"a","content":""}},{"awaitSteer":true}]`, "say, write, awaitSteer"),
		Entry("the same for steps with placeholders", `[{"tool":"a","arguments":{"b":"{{thread}}"}},{"say":"{{input}}"}]`, "a, say"),
		Entry("that a tool has a placeholder for a name", `[{"tool":"{{config.a}}"},{"wait":"{{config.b}}"},{"waitFor":{"tool":"{{config.c}}","path":"d","atLeast":1}}]`, "{{…}}, wait {{…}}, waitFor {{…}} d >= 1"),
		Entry("that it has no steps", `[]`, "(no steps)"),
	)
})
