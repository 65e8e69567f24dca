package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/replay"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// heard are the observations of a host.
type heard []replay.Observation

func (h *heard) hear(o replay.Observation) { *h = append(*h, o) }

// kinds are what was observed, in short.
func (h heard) kinds() (kinds []string) {
	for _, o := range h {
		kinds = append(kinds, o.Event.Kind())
	}
	return kinds
}

var _ = Describe("A turn that is played from a journal", func() {
	ctx := context.Background()

	It("tells its events in order, as they were, now, and at once", bubble.InBubble, func() {
		a := agentOf(greeting())
		var seen heard
		began := time.Now()
		_, err := a.PlayTurn(ctx, replay.Request{Prompt: "Make the greeting polite.", Pass: 7, Observe: seen.hear})
		Expect(err).NotTo(HaveOccurred())
		Expect(seen.kinds()).To(Equal([]string{"conversation", "text", "tool", "tool-result", "usage", "stopped"}))
		for _, o := range seen {
			Expect(o).To(And(HaveField("At", began), HaveField("Pass", 7), HaveField("Source", replay.SourceAgent)))
		}
		Expect(seen[2].Event.JSON()).To(MatchJSON(`{"kind":"tool","name":"write","input":{"path":"greet.txt"},"callId":"t1"}`))
		Expect(seen[2].Event.At().Format(time.RFC3339)).To(Equal("2026-01-02T03:04:07Z"))
	})

	It("comes to what was recorded: text, usage, the conversation, and whether the user interrupted it", bubble.InBubble, func() {
		a := agentOf(greeting(), replay.WithSpeed(1))
		first, err := a.PlayTurn(ctx, replay.Request{Prompt: "Make the greeting polite."})
		Expect(err).NotTo(HaveOccurred())
		Expect(first).To(Equal(replay.Played{Text: "Rewriting greet.txt. ", Usage: replay.Usage{Input: 40, Cached: 10, Output: 8}, Duration: 6 * time.Second,
			Conversation: "conv-7", Interrupted: "steering"}))
		second, err := a.PlayTurn(ctx, replay.Request{Prompt: "Also add a farewell.", Continuation: replay.Warm})
		Expect(err).NotTo(HaveOccurred())
		Expect(second).To(Equal(replay.Played{Text: "Done. <done/>", Usage: replay.Usage{Input: 15, Cached: 5, Output: 4}, Duration: 2 * time.Second}))
	})

	It("is of the host's own agent, where that was recorded", func() {
		a := agentOf(recording(`{"kind":"prompt","source":"harness","text":"go"}`, `{"kind":"text","source":"harness","text":"a"}`, said("b"), summary))
		Expect(a.Source()).To(Equal(replay.SourceHarness))
		var seen heard
		_, err := a.PlayTurn(ctx, replay.Request{Prompt: "go", Observe: seen.hear})
		Expect(err).NotTo(HaveOccurred())
		Expect(seen).To(And(HaveLen(2), HaveEach(HaveField("Source", replay.SourceHarness))))
	})

	It("has the decisions of the host between its events, where they were, and what they were made of where the host wants to know all", func() {
		journal := recording(prompted("go"),
			`{"kind":"decision","source":"decision","scope":{"subagentId":"sub-1"},"status":"started","provider":"p","model":"m"}`,
			said("a"),
			`{"kind":"decision-request","source":"decision","request":{}}`,
			`{"kind":"decision-response","source":"decision","response":{}}`,
			said("b"),
			`{"kind":"decision","source":"decision","status":"finished","provider":"p","model":"m","durationMs":1}`,
			summary)
		var some, all heard
		_, err := agentOf(journal).PlayTurn(ctx, replay.Request{Prompt: "go", Observe: some.hear})
		Expect(err).NotTo(HaveOccurred())
		_, err = agentOf(journal).PlayTurn(ctx, replay.Request{Prompt: "go", Observe: all.hear, Verbose: true})
		Expect(err).NotTo(HaveOccurred())
		Expect(some.kinds()).To(Equal([]string{"decision", "text", "text", "decision"}))
		Expect(some[0]).To(And(HaveField("Source", replay.Source("decision")), HaveField("Subagent", "sub-1")))
		Expect(all.kinds()).To(Equal([]string{"decision", "text", "decision-request", "decision-response", "text", "decision"}))
	})

	Describe("whose prompt is another one", func() {
		journal := func() []replay.Entry { return recording(turns("one", "1", "two", "2")...) }

		It("is a divergence before anything is told, and the turn is taken", func() {
			a := agentOf(journal())
			var seen heard
			_, err := a.PlayTurn(ctx, replay.Request{Prompt: "one ", Observe: seen.hear})
			var d *replay.Divergence
			Expect(errors.As(err, &d)).To(BeTrue())
			Expect(d).To(And(HaveField("Kind", replay.KindPrompt), HaveField("Turn", 1), HaveField("Expected", "one"), HaveField("Actual", "one "), HaveField("Hard", false)))
			Expect(d.Code()).To(Equal("replay"))
			Expect(seen).To(BeEmpty())
			Expect(a.RemainingTurns()).To(Equal(1))
			_, err = a.PlayTurn(ctx, replay.Request{Prompt: "two"})
			Expect(err).NotTo(HaveOccurred())
		})

		It("is a warning, once, if the policy is to warn, and the turn is played", func() {
			var warnings []error
			a := agentOf(journal(), replay.WithDivergence(replay.Warn), replay.WithWarnings(func(err error) { warnings = append(warnings, err) }))
			out, err := a.PlayTurn(ctx, replay.Request{Prompt: "One"})
			Expect(err).NotTo(HaveOccurred())
			Expect(out.Text).To(Equal("1"))
			Expect(warnings).To(HaveExactElements(And(BeAssignableToTypeOf(&replay.Divergence{}), HaveField("Kind", replay.KindPrompt))))
			Expect(a.Report().Divergences).To(HaveLen(1))
		})

		It("is none where a rule makes both alike, be it the journal's or one's own", func() {
			lines := append([]replay.Entry{replay.Entry(`{"kind":"journal","schema":1,"normalisers":["uuid"]}`)},
				recording(turns("see 6f9619ff-8b86-4011-b42d-00c04fc964ff, branch kit/a", "1")...)...)
			sent := "see 0f9619ff-8b86-4011-b42d-00c04fc96400, branch kit/b"
			_, err := agentOf(lines).PlayTurn(ctx, replay.Request{Prompt: sent})
			Expect(err).To(MatchError(ContainSubstring("kit/")))
			_, err = agentOf(lines, replay.WithNormalisers(replay.Pattern(`kit/[a-z]+`, "<branch>"))).PlayTurn(ctx, replay.Request{Prompt: sent})
			Expect(err).NotTo(HaveOccurred())
		})

		It("is none where what was redacted is", func() {
			redact := replay.RedactValues("s3cr3t")
			a := agentOf(recording(turns("use "+redact("s3cr3t"), "1")...), replay.WithRedaction(redact))
			_, err := a.PlayTurn(ctx, replay.Request{Prompt: "use s3cr3t"})
			Expect(err).NotTo(HaveOccurred())
		})

		It("is one more than there are: exhausted, whatever the policy", func() {
			for _, policy := range []replay.Policy{replay.Fail, replay.Warn} {
				a := agentOf(recording(turns("one", "1")...), replay.WithDivergence(policy))
				_, err := a.PlayTurn(ctx, replay.Request{Prompt: "one"})
				Expect(err).NotTo(HaveOccurred())
				_, err = a.PlayTurn(ctx, replay.Request{Prompt: "two"})
				Expect(err).To(And(BeAssignableToTypeOf(&replay.Divergence{}), HaveField("Kind", replay.KindExhausted), HaveField("Turn", 2)))
			}
		})
	})

	Describe("that was handed over to another agent", func() {
		handover := `{"kind":"fallback","from":{"index":0,"name":"claude","model":"opus"},"to":{"index":1,"name":"codex"},"failure":"quota","message":"used up"}`

		It("is played with what the other one did, whose prompt nobody compares", func() {
			a := agentOf(recording(prompted("go"), said("mine"), used(10, 0, 1), handover, prompted("go on for claude"), said("theirs"), `{"kind":"conversation","id":"c-2"}`, used(5, 0, 1),
				`{"kind":"summary","durationMs":1,"status":0,"tokens":{"input":5,"cached":0,"output":1}}`))
			var seen heard
			out, err := a.PlayTurn(ctx, replay.Request{Prompt: "go", Observe: seen.hear})
			Expect(err).NotTo(HaveOccurred())
			Expect(seen.kinds()).To(Equal([]string{"text", "usage", "fallback", "text", "conversation", "usage"}))
			Expect(seen[2].Event.JSON()).To(MatchJSON(handover))
			Expect(out).To(And(HaveField("Text", "theirs"), HaveField("Usage", replay.Usage{Input: 15, Output: 2}), HaveField("Conversation", "c-2")))
			Expect(a.RemainingTurns()).To(BeZero())
		})

		It("is exhausted where the journal ends before the other one has begun", func() {
			a := agentOf(recording(prompted("go"), said("mine"), handover), replay.WithDivergence(replay.Warn))
			_, err := a.PlayTurn(ctx, replay.Request{Prompt: "go"})
			Expect(err).To(And(BeAssignableToTypeOf(&replay.Divergence{}), HaveField("Kind", replay.KindExhausted), HaveField("Turn", 2)))
		})
	})

	It("fails again as it had failed, after all that it did", func() {
		journal := recording(prompted("go"), said("so far"))
		journal[len(journal)-1] = replay.Entry(`{"kind":"dispatch-finished","source":"sandbox","status":"failed","completed":false,"usage":{"input":0,"cached":0,"output":0},"error":{"code":"timeout","message":"no answer in time"}}`)
		var seen heard
		_, err := agentOf(journal).PlayTurn(ctx, replay.Request{Prompt: "go", Observe: seen.hear})
		Expect(err).To(Equal(&replay.Failure{Code: "timeout", Message: "no answer in time"}))
		Expect(seen.kinds()).To(Equal([]string{"text"}))
	})

	Describe("of a context that ends", func() {
		It("makes no commits any more, and is no turn that is over if it ends with them", func() {
			for _, when := range []string{"behind the last event", "behind the last commit"} {
				r := greetingRepo(GinkgoTB())
				ctx, cancel := context.WithCancel(context.Background())
				if when == "behind the last commit" {
					r.runner.around = func(running context.Context, c replay.Command, run runs) (replay.Result, error) {
						if gitCommand(c) == "update-ref" && slices.Contains(c.Args, greetingEnd) {
							defer cancel()
						}
						return run(running, c)
					}
				}
				a := replay.ForTest(GinkgoT(), greeting(), replay.WithRunner(r.runner))
				played, err := a.Play(ctx, replay.Request{Prompt: "Make the greeting polite.", Cwd: r.dir, Observe: func(o replay.Observation) {
					if when == "behind the last event" && a.RemainingTurns() == 0 && o.Event.Kind() == "usage" {
						cancel()
					}
				}})
				cancel()
				Expect(err).To(ofCode(replay.Aborted), when)
				if made := []string{greetingOne, greetingEnd}; when == "behind the last commit" {
					Expect(played.Commits).To(Equal(made))
				} else {
					Expect(played.Commits).To(BeEmpty())
					Expect(r.head()).To(Equal(greetingBase))
				}
			}
		})

		It("is not taken if it had ended before", func() {
			a := agentOf(greeting())
			gone, cancel := context.WithCancelCause(ctx)
			cancel(errors.New("the user left"))
			_, err := a.PlayTurn(gone, replay.Request{Prompt: "Make the greeting polite."})
			Expect(err).To(And(MatchError("replay: the turn was aborted: the user left"), ofCode(replay.Aborted)))
			Expect(a.RemainingTurns()).To(Equal(2))
		})

		It("tells nothing any more, at whichever event that is", func() {
			for n := range 6 {
				a := agentOf(greeting())
				gone, cancel := context.WithCancel(ctx)
				var seen heard
				_, err := a.PlayTurn(gone, replay.Request{Prompt: "Make the greeting polite.", Observe: func(o replay.Observation) {
					if seen.hear(o); len(seen) == n+1 {
						cancel()
					}
				}})
				Expect(err).To(And(MatchError(context.Canceled), ofCode(replay.Aborted)))
				Expect(seen).To(HaveLen(n + 1))
				Expect(a.RemainingTurns()).To(Equal(1), "what was taken stays taken")
				cancel()
			}
		})

		It("waits no longer", bubble.InBubble, func() {
			a := agentOf(greeting(), replay.WithSpeed(1))
			short, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
			defer cancel()
			began := time.Now()
			var seen heard
			_, err := a.PlayTurn(short, replay.Request{Prompt: "Make the greeting polite.", Observe: seen.hear})
			Expect(err).To(MatchError(context.DeadlineExceeded))
			Expect(time.Since(began)).To(Equal(1500 * time.Millisecond))
			Expect(seen.kinds()).To(Equal([]string{"conversation"}))
		})
	})

	It("is one at a time: while it is played no other one is", func() {
		a := agentOf(recording(turns("one", "1", "two", "2")...))
		var other error
		_, err := a.PlayTurn(context.Background(), replay.Request{Prompt: "one", Observe: func(replay.Observation) {
			_, other = a.PlayTurn(context.Background(), replay.Request{Prompt: "two"})
		}})
		Expect(err).NotTo(HaveOccurred())
		Expect(other).To(And(ofCode(replay.Configuration), MatchError(ContainSubstring("wait for its end"))))
		_, err = a.PlayTurn(context.Background(), replay.Request{Prompt: "two"})
		Expect(err).NotTo(HaveOccurred())
	})

	It("is refused a folder that is not absolute, and is not taken", func() {
		a := agentOf(recording(turns("one", "1")...))
		_, err := a.PlayTurn(context.Background(), replay.Request{Prompt: "one", Cwd: "sub/folder"})
		Expect(err).To(And(ofCode(replay.Configuration), MatchError(ContainSubstring(`"sub/folder", which is not absolute`))))
		Expect(a.RemainingTurns()).To(Equal(1))
	})

	DescribeTable("takes as long as it is told to", bubble.InBubble, func(speed float64, offsets ...time.Duration) {
		a := agentOf(greeting(), replay.WithSpeed(speed))
		began := time.Now()
		var at []time.Duration
		_, err := a.PlayTurn(ctx, replay.Request{Prompt: "Make the greeting polite.", Observe: func(replay.Observation) { at = append(at, time.Since(began)) }})
		Expect(err).NotTo(HaveOccurred())
		Expect(at).To(Equal(offsets))
	},
		Entry("no time", 0.0, 0*time.Second, 0*time.Second, 0*time.Second, 0*time.Second, 0*time.Second, 0*time.Second),
		Entry("as recorded", 1.0, 1*time.Second, 2*time.Second, 3*time.Second, 4*time.Second, 5*time.Second, 6*time.Second),
		Entry("ten times as fast", 10.0, 100*time.Millisecond, 200*time.Millisecond, 300*time.Millisecond, 400*time.Millisecond, 500*time.Millisecond, 600*time.Millisecond),
		Entry("twice as long", 0.5, 2*time.Second, 4*time.Second, 6*time.Second, 8*time.Second, 10*time.Second, 12*time.Second),
	)

	It("does not wait where the journal says no time, or one that goes backwards", bubble.InBubble, func() {
		began := time.Now()
		_, err := agentOf(recording(
			`{"kind":"prompt","at":"2026-01-02T03:04:05Z","text":"go"}`, said("a"), `{"kind":"text","at":"2026-01-02T03:04:03Z","text":"b"}`,
			`{"kind":"text","at":"2026-01-02T03:04:04Z","text":"c"}`, summary,
		), replay.WithSpeed(1)).PlayTurn(ctx, replay.Request{Prompt: "go"})
		Expect(err).NotTo(HaveOccurred())
		Expect(time.Since(began)).To(Equal(time.Second))
	})
})

var _ = Describe("A turn that the user has steered", func() {
	ctx := context.Background()

	It("is played with all that goes on with it, each told as the steer that it was", func() {
		a := agentOf(greeting())
		var seen heard
		out, err := a.Play(ctx, replay.Request{Prompt: "Make the greeting polite.", Observe: seen.hear})
		Expect(err).NotTo(HaveOccurred())
		Expect(seen.kinds()).To(Equal([]string{"conversation", "text", "tool", "tool-result", "usage", "stopped", "steer", "text", "usage"}))
		Expect(seen[6].Event.JSON()).To(MatchJSON(`{"kind":"steer","text":"Also add a farewell.","mode":"resumed"}`))
		Expect(out).To(And(HaveField("Text", "Done. <done/>"), HaveField("Usage", replay.Usage{Input: 55, Cached: 15, Output: 12}),
			HaveField("Conversation", "conv-7"), HaveField("Interrupted", "")))
		Expect(a.RemainingTurns()).To(BeZero())
	})

	It("has a steer for each instruction, and one prompt for all, or the prompt that the host made of them", func() {
		steer := func(text string) string { return `{"kind":"steer","mode":"resumed","text":"` + text + `"}` }
		journal := recording(prompted("go"), said("a"), steer("left"), steer("no, right"), prompted("Steered: left; no, right"), said("b"), summary, prompted("next"), said("c"), summary)
		a := agentOf(journal)
		var seen heard
		_, err := a.Play(ctx, replay.Request{Prompt: "go", Observe: seen.hear})
		Expect(err).NotTo(HaveOccurred())
		Expect(seen.kinds()).To(Equal([]string{"text", "steer", "steer", "text"}))
		Expect(a.RemainingTurns()).To(Equal(1))

		for _, sent := range []string{"left\n\nno, right", "Steered: left; no, right"} {
			a := agentOf(journal)
			_, err := a.PlayTurn(ctx, replay.Request{Prompt: "go"})
			Expect(err).NotTo(HaveOccurred())
			Expect(a.PendingSteering()).To(Equal([]string{"left", "no, right"}))
			_, err = a.PlayTurn(ctx, replay.Request{Prompt: sent, Continuation: replay.Warm})
			Expect(err).NotTo(HaveOccurred())
		}
		b := agentOf(journal)
		_, _ = b.NextTurn()
		_, err = b.PlayTurn(ctx, replay.Request{Prompt: "left", Continuation: replay.Warm})
		Expect(err).To(HaveField("Kind", replay.KindPrompt))
	})

	It("ends with the failure of any of them", func() {
		journal := greeting()
		a := agentOf(append(journal[:13:13], journal[14:]...)) // without the summary
		out, err := a.Play(ctx, replay.Request{Prompt: "Make the greeting polite."})
		Expect(err).To(And(BeAssignableToTypeOf(&replay.Failure{}), HaveField("Code", replay.Process)))
		Expect(out.Usage.Input).To(BeEquivalentTo(40))
	})

	It("is refused to an agent that cannot go on with a conversation, when that is wanted", func() {
		f := replay.ReplayFeatures()
		f.Resumable = replay.No
		a := agentOf(greeting(), replay.WithFeatures(f))
		_, err := a.Play(ctx, replay.Request{Prompt: "Make the greeting polite."})
		Expect(err).To(ofCode(replay.Configuration))
		Expect(a.RemainingTurns()).To(Equal(1))
	})
})

var _ = Describe("What an agent can do", func() {
	ctx := context.Background()
	play := func(f replay.Features, r replay.Request) (*replay.Agent, replay.Played, error) {
		GinkgoHelper()
		a := agentOf(recording(turns("go", "a")...), replay.WithFeatures(f))
		r.Prompt = "go"
		out, err := a.PlayTurn(ctx, r)
		return a, out, err
	}

	DescribeTable("decides what is refused before anything is played", func(r replay.Request, change func(*replay.Features)) {
		f := replay.ReplayFeatures()
		if change != nil {
			change(&f)
		}
		a, _, err := play(f, r)
		Expect(err).To(ofCode(replay.Configuration))
		Expect(a.RemainingTurns()).To(Equal(1))
	},
		Entry("a fork", replay.Request{Fork: true}, nil),
		Entry("a session from storage, of which there is none", replay.Request{Continuation: replay.Cold}, nil),
		Entry("to go on at all", replay.Request{Continuation: replay.Warm}, func(f *replay.Features) { f.Resumable = replay.No }),
		Entry("a variable that the workspace's provider has set, too", replay.Request{ProviderEnv: map[string]string{"A": "1"}}, func(f *replay.Features) {
			f.Variables = map[string]string{"A": "2"}
		}),
	)

	It("decides whether a turn without an end is one", func() {
		f := replay.ReplayFeatures()
		f.RequiresFinishedEvent = replay.Yes
		_, _, err := play(f, replay.Request{})
		Expect(err).To(ofCode(replay.Process))
		a := agentOf(recording(prompted("go"), said("a"), `{"kind":"finished"}`, summary), replay.WithFeatures(f))
		_, err = a.PlayTurn(ctx, replay.Request{Prompt: "go"})
		Expect(err).NotTo(HaveOccurred())
	})

	It("has no end where the user steered it, and needs none", func() {
		f := replay.ReplayFeatures()
		f.RequiresFinishedEvent = replay.Yes
		a := agentOf(recording(prompted("go"), said("a"), `{"kind":"stopped","reason":"steered"}`, `{"kind":"steer","mode":"resumed","text":"x"}`, said("b"), `{"kind":"finished"}`, summary), replay.WithFeatures(f))
		Expect(a.Play(context.Background(), replay.Request{Prompt: "go"})).To(HaveField("Text", "b"))
	})

	It("counts a transcript once, however many parts a turn has", func() {
		f := replay.ReplayFeatures()
		f.TranscriptUsage = func(text string) (u replay.Usage, ok bool) {
			return replay.Usage{Input: 7, Output: 2}, text == "all of it"
		}
		fallback := `{"kind":"fallback","from":{"index":0,"name":"claude"},"to":{"index":1,"name":"codex"},"failure":"quota","message":"used up"}`
		for _, journal := range [][]replay.Entry{
			recording(prompted("go"), fallback, prompted("x"), summary),
			recording(prompted("go"), said("a"), `{"kind":"steer","mode":"resumed","text":"x"}`, said("b"), summary),
		} {
			Expect(agentOf(journal, replay.WithFeatures(f)).Play(context.Background(), replay.Request{Prompt: "go", Transcript: "all of it"})).To(HaveField("Usage", replay.Usage{Input: 7, Output: 2}))
		}
		out, err := agentOf(recording(prompted("go"), failed("rate limit")), replay.WithFeatures(f)).Play(context.Background(), replay.Request{Prompt: "go", Transcript: "all of it"})
		Expect(err).To(MatchError("rate limit"))
		Expect(out.Usage).To(Equal(replay.Usage{Input: 7, Output: 2}))
	})

	It("decides where the usage comes from", func() {
		f := replay.ReplayFeatures()
		f.TranscriptUsage = func(text string) (replay.Usage, bool) {
			var u replay.Usage
			return u, json.Unmarshal([]byte(text), &u) == nil
		}
		_, out, err := play(f, replay.Request{Transcript: `{"input":7,"cached":1,"output":2}`})
		Expect(err).NotTo(HaveOccurred())
		Expect(out.Usage).To(And(HaveField("Input", BeEquivalentTo(7)), HaveField("Output", BeEquivalentTo(2))))
	})
})
