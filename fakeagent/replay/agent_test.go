package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent/replay"
)

// recording is a journal of entries, which are of the agent unless they say otherwise. It has a dispatch-finished at its end, and no commits.
func recording(lines ...string) []replay.Entry {
	var out []replay.Entry
	for _, line := range append(lines, `{"kind":"workspace-commits","source":"git","baseline":{"commit":"`+strings.Repeat("1", 40)+`","tree":"`+strings.Repeat("2", 40)+`"},"commits":[]}`, finished()) {
		if !strings.Contains(line, `"source"`) {
			line = `{"source":"agent",` + line[1:]
		}
		out = append(out, replay.Entry(line))
	}
	return out
}

var summary = summed(0, 0, 0)

// turns are recorded ones: what the host said, and what the agent did.
func turns(texts ...string) (lines []string) {
	for i := 0; i < len(texts); i += 2 {
		lines = append(lines, prompted(texts[i]), said(texts[i+1]), summary)
	}
	return lines
}

// agentOf plays a journal without a workspace.
func agentOf(entries []replay.Entry, opts ...replay.Option) *replay.Agent {
	GinkgoHelper()
	a, err := replay.New(entries, append([]replay.Option{replay.WithoutWorkspace()}, opts...)...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(a.Close)
	return a
}

// greeting is the example: two turns, the second of which is a steer, and two commits.
func greeting() []replay.Entry {
	GinkgoHelper()
	return replay.Entries(GinkgoT(), "testdata/greeting.jsonl")
}

// ofCode is an error with that code.
func ofCode(code replay.Code) OmegaMatcher {
	return WithTransform(func(err error) replay.Code {
		var e *replay.Error
		errors.As(err, &e)
		if e == nil {
			return ""
		}
		return e.Code
	}, Equal(code))
}

var _ = Describe("An agent that plays a journal", func() {
	It("says what it is", func() {
		a := agentOf(greeting())
		Expect(a.Kind()).To(Equal(replay.AgentReplay))
		Expect(a.Name()).To(Equal("replay"))
		Expect(a.Source()).To(Equal(replay.SourceAgent))
		Expect(a.Divergence()).To(Equal(replay.Fail))
		Expect(agentOf(greeting(), replay.WithDivergence(replay.Warn)).Divergence()).To(Equal(replay.Warn))
		f := a.Features()
		Expect(f.CheckContinuation(false)).To(Succeed())
		Expect(f.CheckContinuation(true)).To(ofCode(replay.Configuration), "there is no storage")
		Expect(f.CheckFork()).To(ofCode(replay.Configuration))
		Expect(f.Captures()).To(BeFalse())
		Expect(f.Usage).To(Equal(replay.UsageEvents))
		Expect(f).To(And(HaveField("Name", "replay"), HaveField("Bootstrap", BeEmpty()), HaveField("RequiresFinishedEvent", replay.Unset),
			HaveField("Variables", BeEmpty()), HaveField("Storage", BeNil()), HaveField("TranscriptUsage", BeNil())))
	})

	It("tells what the user said that began the next turn, and takes turns one by one, to the last", func() {
		a := agentOf(greeting())
		Expect(a.PendingSteering()).To(BeNil())
		Expect(a.RemainingTurns()).To(Equal(2))
		first, ok := a.NextTurn()
		Expect(ok).To(BeTrue())
		Expect(first.Prompt).To(Equal("Make the greeting polite."))
		Expect(a.PendingSteering()).To(Equal([]string{"Also add a farewell."}))
		Expect(a.PendingSteering()).To(Equal([]string{"Also add a farewell."}), "it takes nothing")
		Expect(a.RemainingTurns()).To(Equal(1))
		second, ok := a.NextTurn()
		Expect(ok).To(BeTrue())
		Expect(second.Prompt).To(Equal("Also add a farewell."))
		for range 2 {
			_, ok = a.NextTurn()
			Expect(ok).To(BeFalse())
			Expect(a.RemainingTurns()).To(BeZero())
			Expect(a.PendingSteering()).To(BeNil())
		}
		_, err := a.PlayTurn(context.Background(), replay.Request{})
		Expect(err).To(BeAssignableToTypeOf(&replay.Divergence{}))
		Expect(err).To(And(HaveField("Kind", replay.KindExhausted), HaveField("Turn", 3), HaveField("Hard", true)))
	})

	It("hands out copies: what is done to them changes nothing", func() {
		journal := greeting()
		a := agentOf(journal)
		for _, e := range journal {
			for i := range e {
				e[i] = 'x'
			}
		}
		spoil := func(turns []replay.Turn) {
			for i := range turns {
				t := &turns[i]
				for j := range t.Events {
					t.Events[j] = replay.Event{}
				}
				for j := range t.ResumedBy {
					t.ResumedBy[j] = "spoilt"
				}
				if t.Changes != nil {
					t.Changes.Baseline.Tree = "spoilt"
					t.Changes.Commits[0].Message = "spoilt"
				}
				t.Prompt = "spoilt"
			}
		}
		before := fmt.Sprintf("%+v", agentOf(greeting()).Turns()[1].Changes)
		spoil(a.Turns())
		first, _ := a.NextTurn()
		second, _ := a.NextTurn()
		spoil([]replay.Turn{first, second})
		after := a.Turns()
		Expect(after[0].Prompt).To(Equal("Make the greeting polite."))
		Expect(after[1].ResumedBy).To(Equal([]string{"Also add a farewell."}))
		Expect(after[0].Events[0].Kind()).To(Equal("conversation"))
		Expect(*after[1].Changes.Baseline).To(HaveField("Tree", HavePrefix("56ef")))
		Expect(after[1].Changes.Commits[0].Message).To(Equal("Be polite\n"))
		Expect(before).NotTo(BeEmpty())
	})

	It("gives each turn to one of those who ask at the same time", func() {
		var said []string
		for i := range 100 {
			said = append(said, fmt.Sprint("turn ", i), "yes")
		}
		a := agentOf(recording(turns(said...)...))
		var all sync.Map
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				for {
					t, ok := a.NextTurn()
					if !ok {
						return
					}
					_, twice := all.LoadOrStore(t.Prompt, true)
					if twice {
						all.Store("twice", t.Prompt)
					}
				}
			})
		}
		wait.Wait()
		count := 0
		all.Range(func(any, any) bool { count++; return true })
		Expect(count).To(Equal(100))
	})

	DescribeTable("is refused with an error of the code configuration", func(why string, entries []replay.Entry, opts ...replay.Option) {
		_, err := replay.New(entries, opts...)
		Expect(err).To(And(MatchError(why), ofCode(replay.Configuration)))
	},
		Entry("a policy that there is not", `replay: the divergence policy is "ignore"; use "fail" or "warn"`, recording(turns("a", "b")...), replay.WithDivergence("ignore")),
		Entry("no policy", `replay: the divergence policy is ""; use "fail" or "warn"`, recording(turns("a", "b")...), replay.WithDivergence("")),
		Entry("a speed below 0", `replay: the speed is -1; use 0 for no waiting, or a number above it`, recording(turns("a", "b")...), replay.WithSpeed(-1)),
		Entry("a speed that no number is", `replay: the speed is NaN; use 0 for no waiting, or a number above it`, recording(turns("a", "b")...), replay.WithSpeed(math.NaN())),
		Entry("no runner", `replay: the runner is nil; leave WithRunner out for git on this machine`, recording(turns("a", "b")...), replay.WithRunner(nil)),
	)

	It("is refused a journal without a turn, a feature and a normaliser that there are not", func() {
		for _, attempt := range []struct {
			entries []replay.Entry
			opt     replay.Option
		}{
			{recording(), replay.WithoutWorkspace()},
			{recording(turns("a", "b")...), replay.WithFeatures(replay.Features{Name: "mine", Bootstrap: "nobody"})},
			{recording(turns("a", "b")...), replay.WithNormalisers(replay.Normaliser{Pattern: "("})},
			{recording(turns("a", "b")...), replay.WithNormalisers(replay.Normaliser{Name: "uids"})},
		} {
			_, err := replay.New(attempt.entries, attempt.opt)
			Expect(err).To(ofCode(replay.Configuration))
		}
	})

	It("applies the built-in rules before others, each where it takes from no other what is its own", func() {
		journal := append([]replay.Entry{replay.Entry(`{"kind":"journal","schema":1,"cwd":"/tmp/run1/001","normalisers":[{"pattern":"<w.*>","replace":"here"},"tempdir"]}`)}, recording(turns("in /tmp/run1/001/x and /tmp/y1", "1")...)...)
		a := agentOf(journal, replay.WithoutWorkspace(), replay.WithNormalisers(replay.TempDirs, replay.Paths))
		_, err := a.PlayTurn(context.Background(), replay.Request{Prompt: "in /tmp/run2/003/w/x and /tmp/y2", Cwd: "/tmp/run2/003/w"})
		Expect(err).NotTo(HaveOccurred())
	})

	It("reports what it has come to, for people and as JSON", func() {
		a := agentOf(recording(turns("one", "1", "two", "2", "three", "3")...), replay.WithDivergence(replay.Warn))
		_, err := a.PlayTurn(context.Background(), replay.Request{Prompt: "one"})
		Expect(err).NotTo(HaveOccurred())
		_, err = a.PlayTurn(context.Background(), replay.Request{Prompt: "too"})
		Expect(err).NotTo(HaveOccurred())
		text, err := json.Marshal(a.Report())
		Expect(err).NotTo(HaveOccurred())
		Expect(text).To(MatchJSON(`{"source":"agent","policy":"warn","turns":3,"remaining":1,"warnings":[],"commits":[],"dropped":{},
			"divergences":[{"kind":"prompt","turn":2,"expected":"two","actual":"too","difference":{"offset":1,"line":1,"column":2,"expected":"wo","actual":"oo"}}]}`))
		Expect(a.Dump()).To(HavePrefix("replay: 2 of 3 turns played\nreplay: turn 2: "))
	})
})

var _ = Describe("An agent for a test", func() {
	journal := func() []replay.Entry { return recording(turns("one", "1", "two", "2")...) }
	test := func(t *recorder.T, opts ...replay.Option) *replay.Agent {
		GinkgoHelper()
		return replay.ForTest(t, journal(), append(opts, replay.WithoutWorkspace())...)
	}

	It("fails the test at its end for a turn that was not played", func() {
		t := &recorder.T{}
		a := test(t)
		a.NextTurn()
		Expect(t.End()).To(HaveExactElements(`replay: the test has ended, and the host has played 1 of 2 turns; turn 2, whose prompt is "two", is next`))
	})

	It("is content when all were played, when the test does not mind, and when it has failed before", func() {
		t := &recorder.T{}
		a := test(t)
		a.NextTurn()
		a.NextTurn()
		Expect(t.End()).To(BeEmpty())
		t = &recorder.T{}
		test(t, replay.AllowUnplayed())
		Expect(t.End()).To(BeEmpty())
		failed := &failingTest{}
		replay.ForTest(failed, journal())
		failed.Errorf("something else")
		Expect(failed.End()).To(HaveExactElements("something else"))
	})

	It("logs what was only a warning", func() {
		t := &loggingTest{}
		a := replay.ForTest(t, recording(turns("one", "1")...), replay.WithoutWorkspace(), replay.WithDivergence(replay.Warn))
		_, err := a.PlayTurn(context.Background(), replay.Request{Prompt: "won"})
		Expect(err).NotTo(HaveOccurred())
		Expect(t.End()).To(BeEmpty())
		Expect(t.logged).To(HaveExactElements(HavePrefix("replay: turn 1: the prompt is not the recorded one")))
	})

	It("fails the test at once for a journal that cannot be played", func() {
		Expect(func() { replay.ForTest(&recorder.T{}, nil) }).To(PanicWith(HavePrefix("replay: ")))
	})
})

// loggingTest is a test that has a log.
type loggingTest struct {
	recorder.T
	logged []string
}

func (t *loggingTest) Logf(format string, args ...any) {
	t.logged = append(t.logged, fmt.Sprintf(format, args...))
}

// failingTest is a test that knows whether it has failed.
type failingTest struct{ recorder.T }

func (t *failingTest) Failed() bool { return len(t.Errors()) > 0 }
