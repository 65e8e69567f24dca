package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

// from is an entry of a source; rest are its other members, each behind a comma.
func from(source, kind string, rest ...string) string {
	return fmt.Sprintf(`{"kind":%q,"source":%q%s}`, kind, source, strings.Join(append([]string{""}, rest...), ","))
}

// agents is an entry of the agent.
func agents(kind string, rest ...string) string { return from("agent", kind, rest...) }

func withText(text string) string { return fmt.Sprintf(`"text":%q`, text) }

func tokens(input, cached, output int) string {
	return fmt.Sprintf(`"tokens":{"input":%d,"cached":%d,"output":%d}`, input, cached, output)
}

// Entries of which the specs need many.
func prompted(text string) string        { return agents("prompt", withText(text)) }
func said(text string) string            { return agents("text", withText(text)) }
func resumed(text string) string         { return agents("steer", withText(text), `"mode":"resumed"`) }
func used(input, cached, out int) string { return agents("usage", tokens(input, cached, out)) }
func summed(input, cached, out int) string {
	return agents("summary", `"durationMs":1,"status":0`, tokens(input, cached, out))
}
func failed(message string) string { return agents("failure", fmt.Sprintf(`"message":%q`, message)) }
func finished(rest ...string) string {
	return from("sandbox", "dispatch-finished", append([]string{`"status":"done","completed":true`}, rest...)...)
}

const (
	aFallback = `{"kind":"fallback","source":"agent","from":{"index":0,"name":"a","model":"m"},"to":{"index":1,"name":"b"},"failure":"quota","message":"no more","resetAt":"tomorrow"}`
	aCommit   = `{"oid":"0a","tree":"0b","author":{"name":"A","email":"","date":"1 +0000"},"committer":{"name":"","email":"c","date":"2 -0130"},"message":"m\n","patch":""}`
)

// committed are commits on a baseline.
func committed(baseline string, rest ...string) string {
	return from("git", "workspace-commits", append([]string{fmt.Sprintf(`"baseline":{"commit":%q,"tree":"t"},"commits":[]`, baseline)}, rest...)...)
}

func entriesOf(lines []string) []replay.Entry {
	entries := make([]replay.Entry, len(lines))
	for i, l := range lines {
		entries[i] = replay.Entry(l)
	}
	return entries
}

// extracted is what is in a journal that is right.
func extracted(lines ...string) *replay.Extraction {
	GinkgoHelper()
	x, err := replay.Extract(entriesOf(lines))
	Expect(err).NotTo(HaveOccurred())
	return x
}

// refusedFor is the error of a journal that is not right.
func refusedFor(lines ...string) *replay.Error {
	GinkgoHelper()
	x, err := replay.Extract(entriesOf(lines))
	Expect(x).To(BeNil())
	e := &replay.Error{}
	Expect(err).To(BeAssignableToTypeOf(e))
	errors.As(err, &e)
	Expect(e.Code).To(Equal(replay.Configuration))
	Expect(e.Error()).NotTo(ContainSubstring("\n"))
	return e
}

// kindsOf are the kinds of the events of a turn.
func kindsOf(t replay.Turn) string {
	var kinds []string
	for _, e := range t.Events {
		kinds = append(kinds, e.Kind())
	}
	return strings.Join(kinds, ",")
}

// outlines are turns in a few words: the prompt, the events, and what else there is to them.
func outlines(x *replay.Extraction) (all []string) {
	for _, t := range x.Turns {
		s := fmt.Sprintf("%s(%s)", t.Prompt, kindsOf(t))
		if t.ResumedBy != nil {
			s += " resumed by " + strings.Join(t.ResumedBy, "|")
		}
		if t.Interrupted {
			s += " interrupted"
		}
		if t.Handover != nil {
			s += " handed over"
		}
		if t.Failure != nil {
			s += " failed"
		}
		all = append(all, s)
	}
	return all
}

var _ = Describe("The turns of a journal", func() {
	It("are those of the example", func() {
		x, err := replay.Extract(readText(greetingText()).Entries)
		Expect(err).NotTo(HaveOccurred())
		Expect(x.Source).To(Equal(replay.SourceAgent))
		Expect(x.Branch).To(Equal("demo"))
		Expect(x.Schema).To(BeZero())
		Expect(outlines(x)).To(Equal([]string{
			"Make the greeting polite.(conversation,text,tool,tool-result,usage,stopped) interrupted",
			"Also add a farewell.(text,usage) resumed by Also add a farewell.",
		}))
		first, second := x.Turns[0], x.Turns[1]
		Expect([]any{first.Text, first.Usage, first.Conversation, first.Changes}).To(Equal(
			[]any{"Rewriting greet.txt. ", replay.Usage{Input: 40, Cached: 10, Output: 8}, "conv-7", (*replay.Changes)(nil)}))
		Expect([]any{second.Text, second.Usage, second.Conversation}).To(Equal([]any{"Done. <done/>", replay.Usage{Input: 15, Cached: 5, Output: 4}, ""}))
		Expect(second.Changes.Unavailable).To(BeEmpty())
		Expect(second.Changes.Baseline).To(Equal(&replay.Revision{
			Commit: "82ae32a463c2b72862ee59918ba074eb8a407e4a", Tree: "56ef077a153a22a552fb32288831d723bbc3e26c"}))
		Expect(second.Changes.Commits).To(HaveLen(2))
		bye := second.Changes.Commits[1]
		Expect(bye.Patch).To(And(HavePrefix("diff --git a/bye.txt b/bye.txt\nnew file mode 100644\n"), HaveSuffix("HcmV?d00001\n\n")))
		bye.Patch = ""
		Expect(bye).To(Equal(replay.Commit{
			OID: "28587bae663141a7c2318653e7cc44571fdc544f", Tree: "931ef76b6da2d1e2848f27120ea372cc16581033", Message: "Add farewell\n",
			Author:    replay.Identity{Name: "Kit Agent", Email: "agent@example.test", Date: "1700000200 +0100"},
			Committer: replay.Identity{Name: "Kit Host", Email: "host@example.test", Date: "1700000205 +0100"},
		}))
	})

	DescribeTable("begin and end:",
		func(lines []string, want ...string) { Expect(outlines(extracted(lines...))).To(Equal(want)) },
		Entry("a prompt begins one", []string{prompted("a"), said("x"), summed(1, 0, 1), prompted("b"), summed(1, 0, 1)}, "a(text)", "b()"),
		Entry("also where the one before has no end", []string{prompted("a"), said("x"), prompted("b"), summed(1, 0, 1)}, "a(text) failed", "b()"),
		Entry("what comes before the first prompt, and behind the end of one, is nobody's",
			[]string{said("x"), used(1, 0, 1), resumed("r"), aFallback, summed(9, 0, 9), prompted("a"), summed(1, 0, 1), said("y"), resumed("s"), aFallback, prompted("b"), summed(1, 0, 1)},
			"a()", "b()"),
		Entry("a summary ends one", []string{prompted("a"), summed(1, 0, 1), said("x")}, "a()"),
		Entry("a hand-over ends one", []string{prompted("a"), said("x"), aFallback, said("y"), prompted("b"), summed(1, 0, 1)}, "a(text) handed over", "b()"),
		Entry("what was committed ends one", []string{prompted("a"), committed("c"), said("x"), summed(1, 0, 1)}, "a() failed"),
		Entry("what was committed in a turn that it names does not", []string{prompted("a"), committed("c", `"turn":1`), said("x"), summed(1, 0, 1)}, "a(text)"),
		Entry("the end of the recording ends one", []string{prompted("a"), finished(), said("x"), summed(1, 0, 1)}, "a() failed"),
		Entry("an instruction of the user splits one", []string{prompted("a"), said("x"), resumed("r"), said("y"), summed(1, 0, 1)}, "a(text)", "r(text) resumed by r"),
		Entry("also one that has no events", []string{prompted("a"), resumed("r"), summed(1, 0, 1)}, "a()", "r() resumed by r"),
		Entry("instructions with no events between them are one", []string{prompted("a"), resumed("r"), resumed("s"), resumed("t"), said("y"), summed(1, 0, 1)},
			"a()", "r\n\ns\n\nt(text) resumed by r|s|t"),
		Entry("instructions with events between them are not", []string{prompted("a"), resumed("r"), said("x"), resumed("s"), summed(1, 0, 1)},
			"a()", "r(text) resumed by r", "s() resumed by s"),
		Entry("a prompt behind an instruction is what the host has made of it", []string{prompted("a"), resumed("r"), prompted("please r"), said("x"), summed(1, 0, 1)},
			"a()", "please r(text) resumed by r"),
		Entry("a prompt behind an instruction and an event begins one", []string{prompted("a"), resumed("r"), said("x"), prompted("b"), summed(1, 0, 1)},
			"a()", "r(text) resumed by r failed", "b()"),
		Entry("an instruction that was put into a running turn is an event", []string{prompted("a"), agents("steer", withText("i"), `"mode":"injected"`), summed(1, 0, 1)}, "a(steer)"),
		Entry("so is one that came in a way that nobody knows", []string{prompted("a"), agents("steer", withText("i"), `"mode":"novel"`), summed(1, 0, 1)}, "a(steer)"),
		Entry("one that stopped for an instruction was interrupted", []string{prompted("a"), agents("stopped", `"reason":"steered"`), agents("stopped", `"reason":"completion"`), summed(1, 0, 1)},
			"a(stopped,stopped) interrupted"),
		Entry("one that stopped for something else was not", []string{prompted("a"), agents("stopped", `"reason":"deadline"`), summed(1, 0, 1)}, "a(stopped)"),
		Entry("phases and kinds that nobody knows are no events", []string{prompted("a"), agents("phase", `"name":"running"`), agents("novel", `"text":5`), summed(1, 0, 1)}, "a()"),
		Entry("what others say is no event", []string{prompted("a"), from("workflow", "text", `"text":5`), from("sandbox", "operation"), `{"kind":"text","text":"x"}`,
			from("conversation", "prompt"), agents("operation"), summed(1, 0, 1)}, "a()"),
		Entry("what the harness says is one", []string{from("harness", "prompt", withText("a")), from("harness", "text", withText("x")), summed(1, 0, 1)}, "a(text)"),
	)

	It("have as events whatever else an agent does", func() {
		lines := []string{prompted("a")}
		var want []string
		agent, _ := replay.KnownKinds()
		for _, kind := range []string{"warning", "text", "text-delta", "result", "tool", "tool-result", "tool-denied", "tool-output", "step", "stop-prevented", "compaction",
			"conversation", "usage", "message-usage", "failure", "quota", "finished", "raw", "stderr", "stopped", "reasoning", "file-change", "model-request", "model-response",
			"model-retry", "model-error", "model-routing", "hook", "instructions-loaded", "skills-loaded", "subagent", "stuck"} {
			Expect(agent).To(ContainElement(kind))
			lines = append(lines, agents(kind, `"text":"t","name":"n","callId":"c","isError":false,"preview":"p","characters":1,"id":"i","message":"m","value":"v","reason":"r","subagentId":"s"`, tokens(1, 0, 1)))
			want = append(want, kind)
		}
		Expect(agent).To(HaveLen(len(want)+6), "the others are prompt, phase, summary, fallback, steer and event")
		Expect(kindsOf(extracted(append(lines, summed(1, 0, 1))...).Turns[0])).To(Equal(strings.Join(want, ",")))
	})

	It("are of the harness if one entry of it is there, be it nobody's", func() {
		Expect(extracted(prompted("a"), summed(1, 0, 1)).Source).To(Equal(replay.SourceAgent))
		for _, kind := range []string{"text", "novel"} {
			Expect(extracted(from("harness", kind, withText("x")), prompted("a"), summed(1, 0, 1)).Source).To(Equal(replay.SourceHarness))
		}
	})

	It("have the last conversation", func() {
		x := extracted(prompted("a"), agents("conversation", `"id":"c1"`), agents("conversation", `"id":"c2"`), summed(1, 0, 1), prompted("b"), summed(1, 0, 1))
		Expect([]string{x.Turns[0].Conversation, x.Turns[1].Conversation}).To(Equal([]string{"c2", ""}))
	})

	It("say to whom they were handed over, and why", func() {
		h := extracted(prompted("a"), aFallback).Turns[0].Handover
		Expect(h.Event.JSON()).To(MatchJSON(strings.Replace(aFallback, `"source":"agent",`, "", 1)))
		h.Event = replay.Event{}
		Expect(h).To(Equal(&replay.Handover{
			From: replay.Candidate{Name: "a", Model: "m"}, To: replay.Candidate{Index: 1, Name: "b"}, Failure: "quota", Message: "no more", ResetAt: "tomorrow"}))
	})

	DescribeTable("have as text",
		func(want string, lines ...string) {
			Expect(extracted(append(append([]string{prompted("a")}, lines...), summed(1, 0, 1))...).Turns[0].Text).To(Equal(want))
		},
		Entry("nothing, if nothing was said", "", agents("reasoning", withText("x")), agents("text-delta", withText("y"))),
		Entry("what was said, in one piece", "ab\nc", said("a"), agents("text", withText("b\n"), `"subagentId":"s"`), said("c"), agents("raw", `"value":"r"`)),
		Entry("the results, if there are any, a line each", "r\ns", said("a"), agents("result", withText("r")), said("b"), agents("result", withText("s"))),
		Entry("an empty result, if it is the only one", "", said("a"), agents("result", withText(""))),
		Entry("what came raw, if there is nothing else, a line each", "{\"a\":1}\nx", agents("raw", `"value":"{\"a\":1}"`), agents("raw", `"value":"x","bytes":1,"truncated":true`)),
	)

	Describe("were used up", func() {
		usage := func(lines ...string) (all []replay.Usage) {
			GinkgoHelper()
			for _, t := range extracted(lines...).Turns {
				all = append(all, t.Usage)
			}
			return all
		}
		u := func(input, cached, output int64) replay.Usage {
			return replay.Usage{Input: input, Cached: cached, Output: output}
		}

		DescribeTable("as",
			func(lines []string, want ...replay.Usage) { Expect(usage(lines...)).To(Equal(want)) },
			Entry("their summaries say, whatever was reported before", []string{prompted("a"), used(1, 1, 1), summed(10, 5, 3), prompted("b"), summed(20, 6, 4)}, u(10, 5, 3), u(20, 6, 4)),
			Entry("was reported, if they were handed over", []string{prompted("a"), used(10, 1, 2), used(5, 1, 1), aFallback}, u(15, 2, 3)),
			Entry("was reported, if an instruction cut them, and what is left for the one behind it",
				[]string{prompted("a"), used(10, 1, 2), resumed("r"), used(5, 1, 1), said("x"), resumed("s"), used(99, 9, 9), summed(30, 5, 9)}, u(10, 1, 2), u(5, 1, 1), u(15, 3, 6)),
			Entry("the summary says in the next pass, of which nothing is taken away", []string{prompted("a"), used(10, 1, 2), resumed("r"), summed(30, 5, 9), prompted("b"), summed(7, 1, 1)},
				u(10, 1, 2), u(20, 4, 7), u(7, 1, 1)),
			Entry("nothing, where more was reported than the summary has", []string{prompted("a"), used(10, 9, 2), resumed("r"), summed(9, 10, 2)}, u(10, 9, 2), u(0, 1, 0)),
			Entry("nothing, if they did not finish", []string{prompted("a"), used(10, 1, 2)}, u(0, 0, 0)),
			Entry("the last report that counts from the beginning says, with those behind it",
				[]string{prompted("a"), used(3, 1, 1), agents("usage", tokens(10, 4, 2), `"cumulative":true`), agents("usage", tokens(20, 5, 3), `"cumulative":true`),
					agents("usage", tokens(1, 1, 1), `"cumulative":false`), aFallback}, u(21, 6, 4)),
			Entry("is left of such a report when the parts of the pass before are taken away",
				[]string{prompted("a"), agents("usage", tokens(10, 4, 2), `"cumulative":true`), resumed("r"), agents("usage", tokens(25, 5, 3), `"cumulative":true`), resumed("s"), said("x"), summed(30, 6, 9)},
				u(10, 4, 2), u(15, 1, 1), u(5, 1, 6)),
		)

		It("with what was put into the cache, and whether all was counted, where somebody says so", func() {
			x := extracted(prompted("a"), agents("usage", `"tokens":{"input":1,"cached":0,"output":1,"cacheCreated":3}`), used(1, 0, 1), aFallback,
				prompted("b"), agents("summary", `"durationMs":1.5,"status":-1,"tokens":{"input":1,"cached":0,"output":1,"complete":false,"models":5}`))
			Expect(*x.Turns[0].Usage.CacheCreated).To(BeEquivalentTo(3))
			Expect(x.Turns[0].Usage.Complete).To(BeNil())
			Expect(*x.Turns[1].Usage.Complete).To(BeFalse())
			Expect(x.Turns[1].Usage.CacheCreated).To(BeNil())
		})

		It("in whole numbers, however they are written", func() {
			Expect(usage(prompted("a"), agents("summary", `"durationMs":1,"status":0,"tokens":{"input":1e3,"cached":1.0,"output":9007199254740991}`))).To(Equal([]replay.Usage{u(1000, 1, 9007199254740991)}))
		})
	})

	DescribeTable("that did not finish have failed",
		func(lines []string, want ...replay.Failure) {
			var got []replay.Failure
			for _, t := range extracted(lines...).Turns {
				got = append(got, *t.Failure)
				Expect(t.Failure).To(MatchError(t.Failure.Message))
			}
			Expect(got).To(Equal(want))
		},
		Entry("as the whole recording has", []string{prompted("a"), failed("f"), prompted("b"), finished(`"error":{"code":"timeout","message":"late"}`)},
			replay.Failure{Code: "timeout", Message: "late"}, replay.Failure{Code: "timeout", Message: "late"}),
		Entry("as a process, if the code is one that nobody knows", []string{prompted("a"), finished(`"error":{"code":"novel","message":"m"}`)}, replay.Failure{Code: replay.Process, Message: "m"}),
		Entry("as a process, if there is no code", []string{prompted("a"), finished(`"error":{"message":"m"}`)}, replay.Failure{Code: replay.Process, Message: "m"}),
		Entry("for the last reason that the agent gave, if the recording has none", []string{prompted("a"), failed("f"), failed("g"), said("x"), finished()}, replay.Failure{Code: replay.Process, Message: "g"}),
		Entry("for a reason of their own each", []string{prompted("a"), failed("f"), prompted("b"), failed("g")},
			replay.Failure{Code: replay.Process, Message: "f"}, replay.Failure{Code: replay.Process, Message: "g"}),
		Entry("even if nobody knows why", []string{prompted("a")}, replay.Failure{Code: replay.Process, Message: "the recorded turn did not finish"}),
	)

	It("that finished have not failed, even if the recording has", func() {
		x := extracted(prompted("a"), failed("f"), resumed("r"), failed("g"), aFallback, prompted("b"), summed(1, 0, 1), finished(`"error":{"code":"guard","message":"m"}`))
		for _, t := range x.Turns {
			Expect(t.Failure).To(BeNil())
		}
	})

	It("may fail with all codes that there are", func() {
		Expect(replay.KnownCodes()).To(ConsistOf([]replay.Code{"stuck", "guard", "rejected", "configuration", "process", "timeout", "aborted", "workspace", "conflict",
			"prompt", "response", "session", "provider", "limit", "quota", "replay", "steering"}))
		for _, code := range replay.KnownCodes() {
			x := extracted(prompted("a"), finished(fmt.Sprintf(`"error":{"code":%q,"message":"m"}`, code)))
			Expect(x.Turns[0].Failure.Code).To(Equal(code))
		}
	})
})

var _ = Describe("The commits of a journal", func() {
	// baselines are the commits that those of the turns are made on, or why there are none.
	baselines := func(x *replay.Extraction) (all []string) {
		for _, t := range x.Turns {
			switch {
			case t.Changes == nil:
				all = append(all, "none")
			case t.Changes.Baseline == nil:
				all = append(all, t.Changes.Unavailable)
			default:
				all = append(all, t.Changes.Baseline.Commit+t.Changes.Unavailable)
			}
		}
		return all
	}
	a, b := []string{prompted("a"), summed(1, 0, 1)}, []string{prompted("b"), summed(1, 0, 1)}
	join := func(parts ...[]string) (all []string) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}

	DescribeTable("belong",
		func(lines []string, want ...string) { Expect(baselines(extracted(lines...))).To(Equal(want)) },
		Entry("to the last turn", join(a, b, []string{committed("c")}), "none", "c"),
		Entry("to the last one so far", join(a, []string{committed("c")}, b), "c", "none"),
		Entry("to nobody, before the first turn", join([]string{committed("c")}, a), "none"),
		Entry("to a turn only once: the last ones count", join(a, []string{committed("c"), committed("d")}), "d"),
		Entry("to the turn that is named, even before it began", join([]string{committed("d", `"turn":2`)}, a, b), "none", "d"),
		Entry("to the turn that is named, when others are over", join(a, b, []string{committed("c", `"turn":1`), committed("d", `"turn":2`)}), "c", "d"),
		Entry("in the order of the journal, named or not", join(a, []string{committed("c", `"turn":1`), committed("d")}), "d"),
		Entry("whoever has recorded them", join(a, []string{agents("workspace-commits", `"unavailable":"merged"`)}), "merged"),
		Entry("to no turn if they could not be recorded, which says why and maybe on what they were", join(a, []string{
			from("git", "workspace-commits", `"unavailable":"merged","baseline":{"commit":"c","tree":"t"},"commits":5`)}), "cmerged"),
		Entry("to no turn if nobody has recorded them, which the last one says", join(a, b), "none", "the journal was not recorded as replayable"),
	)

	It("are whole", func() {
		x := extracted(prompted("a"), from("git", "workspace-commits", `"baseline":{"commit":"c","tree":"t"},"commits":[`+aCommit+","+strings.Replace(aCommit, `"patch"`, `"raw":"AP8=","patch"`, 1)+"]"))
		c := replay.Commit{OID: "0a", Tree: "0b", Author: replay.Identity{Name: "A", Date: "1 +0000"}, Committer: replay.Identity{Email: "c", Date: "2 -0130"}, Message: "m\n"}
		d := c
		d.Raw = []byte{0, 255}
		Expect(*x.Turns[0].Changes).To(Equal(replay.Changes{Baseline: &replay.Revision{Commit: "c", Tree: "t"}, Commits: []replay.Commit{c, d}}))
	})

	It("may be none, which is not the same as not recorded", func() {
		changes := extracted(prompted("a"), committed("c")).Turns[0].Changes
		Expect(changes.Commits).To(And(BeEmpty(), Not(BeNil())))
		Expect(changes.Unavailable).To(BeEmpty())
	})
})

var _ = Describe("The decisions of a host", func() {
	decided := func(rest ...string) string {
		return from("decision", "decision", append([]string{`"status":"started","provider":"p","model":"m"`}, rest...)...)
	}

	It("keep their place between the events of a turn", func() {
		x := extracted(prompted("a"), decided(), said("x"), agents("phase"), said("y"), from("decision", "decision-request", `"request":null`),
			from("decision", "decision-response", `"response":[1]`), from("decision", "novel"), summed(1, 0, 1))
		var got []string
		for _, d := range x.Turns[0].Decisions {
			got = append(got, fmt.Sprintf("%d %s %s", d.Before, d.Event.Kind(), d.Event.JSON()))
		}
		Expect(got).To(Equal([]string{
			`0 decision {"kind":"decision","status":"started","provider":"p","model":"m"}`,
			`2 decision-request {"kind":"decision-request","request":null}`,
			`2 decision-response {"kind":"decision-response","response":[1]}`,
		}))
		Expect(kindsOf(x.Turns[0])).To(Equal("text,text"))
	})

	It("say whose they are", func() {
		x := extracted(prompted("a"), decided(`"scope":{"dispatchId":"d","subagentId":"s1"}`), decided(`"subagentId":"s2"`), decided(`"scope":5`), summed(1, 0, 1))
		var got []string
		for _, d := range x.Turns[0].Decisions {
			got = append(got, d.Subagent)
		}
		Expect(got).To(Equal([]string{"s1", "s2", ""}))
	})

	It("are nobody's where no turn is open", func() {
		x := extracted(decided(), prompted("a"), summed(1, 0, 1), decided())
		Expect(x.Turns[0].Decisions).To(BeEmpty())
	})
})

var _ = Describe("An event of a journal", func() {
	event := func(line string) replay.Event {
		GinkgoHelper()
		return extracted(prompted("a"), line, summed(1, 0, 1)).Turns[0].Events[0]
	}

	It("is what stands in the journal without its envelope, as it was written", func() {
		e := event(`{ "seq" : 1, "zeta": [1.0, 1e2 ,{"at": 1}], "kind":"tool", "at":"x","\u0073ource":"agent" , "scope":{}, "label":"l","pass":1,"name":"a\u00e9<b>","input":{"b":2, "a":1}, "extra":12345678901234567890, "extra":null}`)
		Expect(string(e.JSON())).To(Equal(`{"zeta":[1.0,1e2,{"at":1}],"kind":"tool","name":"a\u00e9<b>","input":{"b":2,"a":1},"extra":12345678901234567890,"extra":null}`))
	})

	It("has the last of equal members", func() {
		Expect(event(`{"kind":"tool","kind":"text","text":5,"source":"sandbox","text":"x","source":"agent"}`).Text()).To(Equal("x"))
	})

	It("knows when it was, if the journal says so in a way that is understood", func() {
		Expect(event(agents("text", withText("x"), `"at":"2026-01-02T03:04:06.5Z"`)).At()).To(Equal(time.Date(2026, 1, 2, 3, 4, 6, 5e8, time.UTC)))
		for _, at := range []string{`"at":1772621481.8`, `"at":"yesterday"`, `"label":""`} {
			Expect(event(agents("text", withText("x"), at)).At()).To(BeZero())
		}
	})

	DescribeTable("has its text, if it is one,",
		func(line, want string) { Expect(event(line).Text()).To(Equal(want)) },
		Entry("of the agent", said("x"), "x"),
		Entry("as a result", agents("result", withText("x")), "x"),
		Entry("as a piece", agents("text-delta", withText("x")), "x"),
		Entry("as a thought", agents("reasoning", withText("x")), "x"),
		Entry("without escapes", agents("text", `"text":"a\u00e9\n\ud83d\ude00\"\/"`), "aé\n😀\"/"),
		Entry("with a replacement for what is no character", agents("text", `"text":"a\ud83d`+"\xff"+`"`), "a\ufffd\ufffd"),
		Entry("as nothing, where a piece has none", agents("text-delta"), ""),
		Entry("but not of a steer", agents("steer", withText("x"), `"mode":"injected"`), ""),
	)

	It("shares its text with what it was read from", func() {
		long := strings.Repeat("x", 1<<20)
		line := []replay.Entry{replay.Entry(prompted("a")), replay.Entry(said(long)), replay.Entry(summed(1, 0, 1))}
		var x *replay.Extraction
		Expect(allocated(func() { x, _ = replay.Extract(line) })).To(BeNumerically("<", 3<<19), "the entry is copied once")
		Expect(x.Turns[0].Text).To(Equal(long))
	})

	It("does not change when the entry does", func() {
		entries := entriesOf([]string{prompted("a"), said("x"), summed(1, 0, 1)})
		x, err := replay.Extract(entries)
		Expect(err).NotTo(HaveOccurred())
		for _, e := range entries {
			for i := range e {
				e[i] = '!'
			}
		}
		Expect(x).To(Equal(extracted(prompted("a"), said("x"), summed(1, 0, 1))))
	})
})

var _ = Describe("A journal of our own", func() {
	header := func(rest ...string) string {
		return `{"kind":"journal"` + strings.Join(append([]string{`,"schema":1`}, rest...), ",") + "}"
	}

	It("says in what form it is, what makes prompts alike, and where it was recorded", func() {
		x := extracted(header(`"normalisers":["uuid",{"pattern":"a+","replace":"b"}]`, `"cwd":"/work/x"`, `"novel":1`), prompted("a"))
		Expect(x.Schema).To(Equal(1))
		Expect(x.CWD).To(Equal("/work/x"))
		Expect(x.Normalisers).To(Equal([]replay.Normaliser{{Name: "uuid"}, {Pattern: "a+", Replace: "b"}}))
		Expect(extracted(header(), prompted("a")).Normalisers).To(BeEmpty())
	})

	It("misses no commits where it was recorded without a workspace", func() {
		Expect(extracted(header(), prompted("a"), summed(1, 0, 1)).Turns[0].Changes).To(BeNil())
		Expect(extracted(header(`"cwd":"/work/x"`), prompted("a"), summed(1, 0, 1)).Turns[0].Changes.Unavailable).NotTo(BeEmpty())
	})

	It("has executor events in the entries of the agent, and as such", func() {
		x := extracted(header(), prompted("a"), agents("tool", `"name":"n","event": {"type":"item.started", "payload":{}}`), agents("event", `"event":{"type":"novel","payload":{}}`), said("x"), summed(1, 0, 1))
		var got []string
		for _, e := range x.Turns[0].Events {
			got = append(got, e.Kind()+e.Executor())
		}
		Expect(got).To(Equal([]string{`tool{"type":"item.started", "payload":{}}`, `event{"type":"novel","payload":{}}`, "text"}))
	})

	It("is refused an executor event that is none", func() {
		e := refusedFor(header(), prompted("a"), agents("event", `"event":{"type":"item.started","payload":5}`))
		Expect(e.Error()).To(HavePrefix("replay: entry 2 (event): event is no event of a provider: "))
	})

	It("says of each turn why it has no end, and of all the others what the recording says", func() {
		x := extracted(header(), prompted("a"), failed("f"), prompted("b"), agents("stopped", `"reason":"aborted"`), prompted("c"), finished(`"error":{"code":"timeout","message":"m"}`))
		Expect(x.Turns).To(HaveExactElements(
			HaveField("Failure", HaveValue(Equal(replay.Failure{Code: replay.Process, Message: "f"}))),
			HaveField("Failure", And(HaveField("Code", replay.Aborted), MatchError(context.Canceled))),
			HaveField("Failure", HaveValue(Equal(replay.Failure{Code: "timeout", Message: "m"})))))
	})

	It("is the only one in which that means something", func() {
		x := extracted(prompted("a"), agents("tool", `"name":"n","event":5`), agents("tool", `"name":"n","event":{}`), agents("event", `"event":5`), summed(1, 0, 1))
		Expect(kindsOf(x.Turns[0])).To(Equal("tool,tool"))
		Expect(x.Turns[0].Events[1].Executor()).To(BeEmpty())
	})
})

var _ = Describe("A journal that is wrong", func() {
	const count = "it must be a whole number from 0 to 9007199254740991"

	DescribeTable("says which entry is, and what would be right:",
		func(line, reason string) {
			for _, source := range []string{"agent", "harness"} {
				line = strings.Replace(line, `"agent"`, fmt.Sprintf("%q", source), 1)
				e := refusedFor(aHeader, prompted("a"), line, summed(1, 0, 1))
				Expect(e.Error()).To(Equal("replay: entry 2" + reason))
				Expect(e.Entry).To(Equal(2))
			}
		},
		Entry("no JSON", `{"kind":`, ": it is no JSON: it ends in the middle"),
		Entry("nothing", ``, ": it is no JSON: it ends in the middle"),
		Entry("no JSON, with a reason", `{"kind":"text",}`, ": it is no JSON: invalid character '}' looking for beginning of object key string"),
		Entry("no object", `["prompt"]`, `: it is ["prompt"]; an entry must be an object`),
		Entry("null", ` null `, `: it is null; an entry must be an object`),
		Entry("something long", `"`+strings.Repeat("x", 100)+`"`, `: it is "`+strings.Repeat("x", 59)+`…; an entry must be an object`),
		Entry("no kind", `{"source":"agent"}`, ": kind is missing; it must be a string"),
		Entry("a kind that is no text", `{"kind":5}`, ": kind is 5; it must be a string"),
		Entry("a source that is no text", `{"kind":"text","source":[1]}`, ": source is [1]; it must be a string"),
		Entry("a second header", aHeader, " (journal): a header must be the first entry; two journals are not one"),

		Entry("a prompt without a text", agents("prompt"), " (prompt): text is missing; it must be a string"),
		Entry("a prompt of another type", agents("prompt", `"text":null`), " (prompt): text is null; it must be a string"),
		Entry("a text", agents("text", `"text":["a\n"]`), ` (text): text is ["a\n"]; it must be a string`),
		Entry("a result", agents("result"), " (result): text is missing; it must be a string"),
		Entry("a conversation", agents("conversation", `"id":7`), " (conversation): id is 7; it must be a string"),
		Entry("a failure", agents("failure"), " (failure): message is missing; it must be a string"),
		Entry("raw output", agents("raw", `"value":{}`), " (raw): value is {}; it must be a string"),
		Entry("the length of raw output", agents("raw", `"value":"","bytes":-1`), " (raw): bytes is -1; "+count),
		Entry("whether raw output was cut", agents("raw", `"value":"","truncated":"no"`), ` (raw): truncated is "no"; it must be true or false`),
		Entry("a tool without a name", agents("tool", `"input":{}`), " (tool): name is missing; it must be a string"),
		Entry("a tool's call", agents("tool", `"name":"n","callId":1`), " (tool): callId is 1; it must be a string"),
		Entry("a tool's parent", agents("tool", `"name":"n","parentCallId":1`), " (tool): parentCallId is 1; it must be a string"),
		Entry("a result of no call", agents("tool-result", `"name":"n","isError":false,"preview":"","characters":0`), " (tool-result): callId is missing; it must be a string"),
		Entry("a result of no tool", agents("tool-result", `"callId":"c","isError":false,"preview":"","characters":0`), " (tool-result): name is missing; it must be a string"),
		Entry("a result that may be an error", agents("tool-result", `"callId":"c","name":"n","isError":0,"preview":"","characters":0`), " (tool-result): isError is 0; it must be true or false"),
		Entry("a result without a preview", agents("tool-result", `"callId":"c","name":"n","isError":false,"characters":0`), " (tool-result): preview is missing; it must be a string"),
		Entry("a result's length", agents("tool-result", `"callId":"c","name":"n","isError":false,"preview":"","characters":1.5`), " (tool-result): characters is 1.5; "+count),
		Entry("a result's parent", agents("tool-result", `"callId":"c","name":"n","isError":false,"preview":"","characters":1,"parentCallId":{}`), " (tool-result): parentCallId is {}; it must be a string"),
		Entry("a steer without a text", agents("steer", `"mode":"resumed"`), " (steer): text is missing; it must be a string"),
		Entry("a steer without a mode", agents("steer", withText("x")), " (steer): mode is missing; it must be a string"),
		Entry("a stop", agents("stopped"), " (stopped): reason is missing; it must be a string"),
		Entry("whose it is", agents("step", `"subagentId":1`), " (step): subagentId is 1; it must be a string"),

		Entry("usage without tokens", agents("usage"), " (usage): tokens is missing; it must be an object"),
		Entry("tokens that are no object", agents("usage", `"tokens":[]`), " (usage): tokens is []; it must be an object"),
		Entry("a missing count", agents("usage", `"tokens":{"cached":1,"output":1}`), " (usage): tokens.input is missing; "+count),
		Entry("a count below zero", agents("summary", `"durationMs":1,"status":0`, tokens(1, 1, -1)), " (summary): tokens.output is -1; "+count),
		Entry("a count with a fraction", agents("usage", `"tokens":{"input":1,"cached":0.5,"output":1}`), " (usage): tokens.cached is 0.5; "+count),
		Entry("a count that is too great to be sure of it", agents("usage", `"tokens":{"input":9007199254740992,"cached":0,"output":1}`), " (usage): tokens.input is 9007199254740992; "+count),
		Entry("a count beyond all numbers", agents("usage", `"tokens":{"input":1e999999999,"cached":0,"output":1}`), " (usage): tokens.input is 1e999999999; "+count),
		Entry("a count that is a text", agents("usage", `"tokens":{"input":"1","cached":0,"output":1}`), ` (usage): tokens.input is "1"; `+count),
		Entry("a count of what was put into the cache", agents("usage", `"tokens":{"input":1,"cached":0,"output":1,"cacheCreated":null}`), " (usage): tokens.cacheCreated is null; "+count),
		Entry("whether all was counted", agents("usage", `"tokens":{"input":1,"cached":0,"output":1,"complete":1}`), " (usage): tokens.complete is 1; it must be true or false"),
		Entry("whether it counts from the beginning", agents("usage", tokens(1, 1, 1), `"cumulative":null`), " (usage): cumulative is null; it must be true or false"),
		Entry("a summary without tokens", agents("summary", `"durationMs":1,"status":0`), " (summary): tokens is missing; it must be an object"),
		Entry("a summary's duration", agents("summary", `"durationMs":-1,"status":0`, tokens(1, 1, 1)), " (summary): durationMs is -1; it must be a number that is not negative"),
		Entry("a summary's status", agents("summary", `"durationMs":1,"status":"0"`, tokens(1, 1, 1)), ` (summary): status is "0"; it must be a whole number`),

		Entry("a hand-over from nobody", agents("fallback", `"to":{"index":0,"name":""},"failure":"quota","message":""`), " (fallback): from is missing; it must be an object"),
		Entry("a hand-over's index", agents("fallback", `"from":{"index":0,"name":""},"to":{"index":-1,"name":""},"failure":"quota","message":""`), " (fallback): to.index is -1; "+count),
		Entry("a hand-over's name", agents("fallback", `"from":{"index":0}`), " (fallback): from.name is missing; it must be a string"),
		Entry("a hand-over's model", agents("fallback", `"from":{"index":0,"name":"","model":1}`), " (fallback): from.model is 1; it must be a string"),
		Entry("a hand-over's failure", strings.Replace(aFallback, `"quota"`, `"novel"`, 1), ` (fallback): failure is "novel"; it must be one of quota, unavailable`),
		Entry("a hand-over's message", strings.Replace(aFallback, `"message"`, `"massage"`, 1), " (fallback): message is missing; it must be a string"),
		Entry("a hand-over's end", strings.Replace(aFallback, `"tomorrow"`, `5`, 1), " (fallback): resetAt is 5; it must be a string"),
		Entry("an executor event", agents("text", withText("x"), `"event":"e"`), ` (text): event is "e"; it must be an object`),
		Entry("no executor event", agents("event"), ` (event): event is missing; it must be an object`),

		Entry("an operation", from("sandbox", "operation", `"durationMs":"long"`), ` (operation): durationMs is "long"; it must be a number that is not negative`),
		Entry("output of a command", from("hooks", "command-output", `"channel":1`), " (command-output): channel is 1; it must be a string"),
		Entry("whose an operation is", from("sandbox", "operation", `"subagentId":1`), " (operation): subagentId is 1; it must be a string"),
		Entry("a decision without a status", from("decision", "decision", `"provider":"p","model":"m"`), " (decision): status is missing; it must be one of started, finished, failed"),
		Entry("a decision's status", from("decision", "decision", `"status":"novel","provider":"p","model":"m"`), ` (decision): status is "novel"; it must be one of started, finished, failed`),
		Entry("a decision's provider", from("decision", "decision", `"status":"failed","model":"m"`), ` (decision): provider is missing; it must be a string`),
		Entry("what no decision has", from("decision", "decision", `"status":"failed","provider":"p","model":"m","pass":1,"novel":1`),
			` (decision): "novel" is nothing that a decision has; it has status, provider, model, durationMs, usage, truncated, code`),
		Entry("a request for a decision", from("decision", "decision-request"), ` (decision-request): request is missing; it must be there`),
		Entry("a text that came as a decision", from("decision", "text"), ` (text): text is missing; it must be a string`),

		Entry("how it ended", from("sandbox", "dispatch-finished", `"status":"novel"`), ` (dispatch-finished): status is "novel"; it must be one of done, failed, cancelled`),
		Entry("whether it ended", from("sandbox", "dispatch-finished", `"completed":1`), ` (dispatch-finished): completed is 1; it must be true or false`),
		Entry("its branch", finished(`"branch":1`), ` (dispatch-finished): branch is 1; it must be a string`),
		Entry("its usage", finished(`"usage":{"input":1}`), ` (dispatch-finished): usage.cached is missing; `+count),
		Entry("its error, if that is no object", finished(`"error":"late"`), ` (dispatch-finished): error is "late"; it must be an object`),
		Entry("its error, if that is null", finished(`"error":null`), ` (dispatch-finished): error is null; it must be an object`),
		Entry("its error's message", finished(`"error":{"code":"timeout"}`), ` (dispatch-finished): error.message is missing; it must be a string`),
		Entry("its error's code", finished(`"error":{"code":1,"message":""}`), ` (dispatch-finished): error.code is 1; it must be a string`),

		Entry("commits without a baseline", from("git", "workspace-commits", `"commits":[]`), ` (workspace-commits): baseline is missing; it must be an object, as there is no "unavailable"`),
		Entry("commits that are none", from("git", "workspace-commits", `"baseline":{"commit":"c","tree":"t"}`), ` (workspace-commits): commits is missing; it must be an array, as there is no "unavailable"`),
		Entry("neither of the two", from("git", "workspace-commits"), ` (workspace-commits): baseline is missing; it must be an object, as there is no "unavailable"`),
		Entry("no reason why there are none", from("git", "workspace-commits", `"unavailable":""`), ` (workspace-commits): unavailable is ""; it must be a string that is not empty`),
		Entry("a baseline without a tree", from("git", "workspace-commits", `"baseline":{"commit":"c"},"commits":[]`), ` (workspace-commits): baseline.tree is missing; it must be a string that is not empty`),
		Entry("a baseline of something that is unavailable", from("git", "workspace-commits", `"unavailable":"u","baseline":{"tree":"t"}`), ` (workspace-commits): baseline.commit is missing; it must be a string that is not empty`),
		Entry("the turn of commits", committed("c", `"turn":0`), ` (workspace-commits): turn is 0; it must be a whole number from 1 to 9007199254740991`),
		Entry("a turn that is not there", committed("c", `"turn":2`), ` (workspace-commits): turn is 2; the journal has 1`),
	)

	DescribeTable("says which commit is:",
		func(old, changed, reason string) {
			Expect(aCommit).To(ContainSubstring(old))
			e := refusedFor(prompted("a"), from("git", "workspace-commits", `"baseline":{"commit":"c","tree":"t"},"commits":[`+aCommit+","+strings.Replace(aCommit, old, changed, 1)+"]"))
			Expect(e.Error()).To(Equal("replay: entry 1 (workspace-commits): commits[1]" + reason + `, as there is no "unavailable"`))
		},
		Entry("no object", aCommit, "5", " is 5; it must be an object"),
		Entry("its id", `"oid"`, `"id"`, ".oid is missing; it must be a string that is not empty"),
		Entry("its tree", `"0b"`, `""`, `.tree is ""; it must be a string that is not empty`),
		Entry("its author", `"author"`, `"auth"`, ".author is missing; it must be an object"),
		Entry("its committer's name", `"committer":{"name"`, `"committer":{"nom"`, ".committer.name is missing; it must be a string of one line"),
		Entry("its author's name, which would be another header", `"A"`, `"A\ntree x"`, `.author.name is "A\ntree x"; it must be a string of one line`),
		Entry("its committer's address", `"email":"c"`, `"email":null`, ".committer.email is null; it must be a string of one line"),
		Entry("its date", `1 +0000`, `2023-01-01T00:00:00Z`, `.author.date is "2023-01-01T00:00:00Z"; it must be seconds and a time zone, such as "1700000100 +0100"`),
		Entry("its time zone", `2 -0130`, `2 -130`, `.committer.date is "2 -130"; it must be seconds and a time zone, such as "1700000100 +0100"`),
		Entry("its message", `"message":"m\n"`, `"message":5`, `.message is 5; it must be a string`),
		Entry("its patch", `"patch"`, `"batch"`, `.patch is missing; it must be a string`),
		Entry("its object", `"patch"`, `"raw":"!","patch"`, `.raw is "!"; it must be a string in base64`),
		Entry("its object, if that is no text", `"patch"`, `"raw":5,"patch"`, `.raw is 5; it must be a string in base64`),
	)

	DescribeTable("says what is wrong with its header:",
		func(rest, reason string) {
			e := refusedFor(`{"kind":"journal"`+rest+`}`, prompted("a"))
			Expect(e.Error()).To(Equal("replay: entry 0 (journal): " + reason))
		},
		Entry("no form", ``, "schema is missing; it must be a whole number from 1 to 9007199254740991"),
		Entry("no form that there is", `,"schema":0`, "schema is 0; it must be a whole number from 1 to 9007199254740991"),
		Entry("a newer form, of which nothing else can be said", `,"schema":2,"normalisers":5`, "schema is 2: it was written by a newer version, and this one reads no more than 1"),
		Entry("where it was recorded", `,"schema":1,"cwd":5`, "cwd is 5; it must be a string"),
		Entry("rules that are no list", `,"schema":1,"normalisers":"uuid"`, `normalisers is "uuid"; it must be an array`),
		Entry("a rule of no name", `,"schema":1,"normalisers":["uuid",""]`, `normalisers[1] is ""; it must be the name of a built-in one, or an object with a "pattern" and a "replace"`),
		Entry("a rule without a replacement", `,"schema":1,"normalisers":[{"pattern":"a"}]`, `normalisers[0] is {"pattern":"a"}; it must be the name of a built-in one, or an object with a "pattern" and a "replace"`),
		Entry("a rule that there is not", `,"schema":1,"normalisers":["uuid","uid"]`, `normalisers[1]: unknown normaliser "uid", did you mean "uuid"? There are crlf, path, tempdir, branch, uuid, timestamp`),
		Entry("a rule that does not compile", `,"schema":1,"normalisers":[{"pattern":"a(","replace":"b"}]`, "normalisers[0]: the pattern \"a(\" of a normaliser does not compile: \"error parsing regexp: missing closing ): `a(`\""),
		Entry("a rule that is a number", `,"schema":1,"normalisers":[5]`, `normalisers[0] is 5; it must be the name of a built-in one, or an object with a "pattern" and a "replace"`),
	)

	It("says so if it has no turn", func() {
		for _, lines := range [][]string{nil, {aHeader}, {said("x"), from("sandbox", "prompt", withText("a"))}} {
			e := refusedFor(lines...)
			Expect(e.Error()).To(Equal(fmt.Sprintf(`replay: there is no turn in the %d entries; one begins with a "prompt" whose source is "agent" or "harness"`, len(lines))))
			Expect(e.Entry).To(Equal(-1))
		}
	})

	It("may be wrong in what nobody knows, or is nobody's business", func() {
		extracted(`{"kind":"novel","text":5}`, agents("novel", `"subagentId":5`), from("conversation", "conversation", `"id":5`), from("sandbox", "operation"), `{"kind":"text"}`, prompted("a"))
	})

	It("has as its cause what is wrong, without the place", func() {
		Expect(errors.Unwrap(refusedFor(agents("text")))).To(MatchError("text is missing; it must be a string"))
	})
})

var _ = Describe("A copy of a turn", func() {
	It("is equal, and shares nothing that somebody could change", func() {
		lines := []string{prompted("a"), resumed("r"), from("decision", "decision-request", `"request":1`), agents("usage", `"tokens":{"input":1,"cached":0,"output":1,"cacheCreated":3,"complete":true}`), aFallback,
			from("git", "workspace-commits", `"baseline":{"commit":"c","tree":"t"},"commits":[`+strings.Replace(aCommit, `"patch"`, `"raw":"AP8=","patch"`, 1)+"]")}
		turns := append(extracted(lines...).Turns, extracted(prompted("b")).Turns...)
		for i, want := range append(extracted(lines...).Turns, extracted(prompted("b")).Turns...) {
			c := turns[i].Clone()
			Expect(c).To(Equal(want))
			scramble(&c)
			Expect(turns[i]).To(Equal(want))
		}
	})
})

// scramble changes all that a turn points to.
func scramble(t *replay.Turn) {
	clear(t.Events)
	clear(t.Decisions)
	clear(t.ResumedBy)
	if t.Usage.CacheCreated != nil {
		*t.Usage.CacheCreated, *t.Usage.Complete = 99, false
	}
	if t.Failure != nil {
		t.Failure.Message = "!"
	}
	if t.Handover != nil {
		t.Handover.To.Name = "!"
	}
	if t.Changes != nil {
		t.Changes.Unavailable = "!"
		if t.Changes.Baseline != nil {
			t.Changes.Baseline.Tree = "!"
		}
		for i := range t.Changes.Commits {
			clear(t.Changes.Commits[i].Raw)
			t.Changes.Commits[i].OID = "!"
		}
	}
}

var _ = Describe("Usage", func() {
	n := func(n int64) *int64 { return &n }
	b := func(b bool) *bool { return &b }
	type U = replay.Usage

	DescribeTable("of two is",
		func(u, v, plus, minus replay.Usage) {
			Expect(u.Plus(v)).To(Equal(plus))
			Expect(u.Minus(v)).To(Equal(minus))
		},
		Entry("counted number by number, and nothing is less than nothing", U{Input: 5, Cached: 1, Output: 3}, U{Input: 2, Cached: 2, Output: 3}, U{Input: 7, Cached: 3, Output: 6}, U{Input: 3}),
		Entry("what one of them put into the cache", U{CacheCreated: n(5)}, U{}, U{CacheCreated: n(5)}, U{CacheCreated: n(5)}),
		Entry("what the other put into the cache", U{}, U{CacheCreated: n(5)}, U{CacheCreated: n(5)}, U{CacheCreated: n(0)}),
		Entry("what both put into the cache", U{CacheCreated: n(7)}, U{CacheCreated: n(5)}, U{CacheCreated: n(12)}, U{CacheCreated: n(2)}),
		Entry("complete if one says so", U{Complete: b(true)}, U{}, U{Complete: b(true)}, U{Complete: b(true)}),
		Entry("complete if both say so", U{Complete: b(true)}, U{Complete: b(true)}, U{Complete: b(true)}, U{Complete: b(true)}),
		Entry("not complete if the first is not", U{Complete: b(false)}, U{Complete: b(true)}, U{Complete: b(false)}, U{Complete: b(false)}),
		Entry("not complete if the other is not", U{}, U{Complete: b(false)}, U{Complete: b(false)}, U{Complete: b(false)}),
		Entry("no more than there are numbers", U{Input: 1<<63 - 1}, U{Input: 1}, U{Input: 1<<63 - 1}, U{Input: 1<<63 - 2}),
	)

	It("is JSON that says only what is known", func() {
		Expect(json.Marshal(U{Input: 1})).To(MatchJSON(`{"input":1,"cached":0,"output":0}`))
		Expect(json.Marshal(U{CacheCreated: n(0), Complete: b(false)})).To(MatchJSON(`{"input":0,"cached":0,"output":0,"cacheCreated":0,"complete":false}`))
	})
})
