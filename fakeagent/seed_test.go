package fakeagent_test

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("A seed", bubble.InBubble, func() {
	seeded := func(seed uint64) fakeagent.Config {
		cfg := fakeagent.Scripted()
		cfg.Seed = seed
		return cfg
	}
	// piece is a piece of text, and how long after the turn began it came.
	type piece struct {
		After time.Duration
		Text  string
	}
	// played is a turn of a new agent: its pieces, and how long it took.
	played := func(cfg fakeagent.Config, prompt string) (pieces []piece, took time.Duration) {
		GinkgoHelper()
		a := start(cfg, "")
		defer a.Close()
		began := time.Now()
		Expect(a.run(prompt)).To(EndCompleted())
		for _, e := range a.seen() {
			if d, ok := e.Payload.(event.Delta); ok {
				pieces = append(pieces, piece{e.Time.Sub(began), d.Text})
			}
		}
		return pieces, time.Since(began)
	}
	cut := func(cfg fakeagent.Config, prompt string) (texts []string) {
		GinkgoHelper()
		pieces, _ := played(cfg, prompt)
		for _, p := range pieces {
			texts = append(texts, p.Text)
		}
		return texts
	}
	lasts := func(cfg fakeagent.Config, prompt string) time.Duration {
		GinkgoHelper()
		_, took := played(cfg, prompt)
		return took
	}
	const talk = `[{"say":{"text":"The quick brown fox jumps over the lazy dog.","chunks":5,"intervalMs":100}},{"sleep":2000},{"think":{"text":"abcdefghij","chunks":3,"intervalMs":40}}]`

	It("is the same each time, here and on any other machine", func() {
		for range 3 {
			pieces, took := played(seeded(7), talk)
			Expect(pieces).To(Equal([]piece{
				{0, "The"}, {90555156, " quick brown fox ju"}, {196334688, "mps"}, {293329225, " over the "}, {400424503, "lazy dog."},
				{2386698811, "ab"}, {2428672003, "cd"}, {2472633124, "efghij"},
			}))
			Expect(took).To(Equal(time.Duration(2472633124)))
		}
	})
	It("gives the same events, byte for byte, in another instance", func() {
		encoded := func() string {
			a := start(seeded(3), "")
			defer a.Close()
			began := time.Now()
			a.run(talk)
			a.run(talk)
			events := a.seen()
			for i := range events {
				events[i].Time = time.Unix(0, 0).Add(events[i].Time.Sub(began)).UTC()
			}
			b, err := json.Marshal(events)
			Expect(err).NotTo(HaveOccurred())
			return string(b)
		}
		first := encoded()
		time.Sleep(12345 * time.Microsecond)
		Expect(encoded()).To(Equal(first))
	})
	It("is another one for each seed, each turn and each thread", func() {
		pieces := map[string]string{}
		add := func(what string, texts []string) {
			key := strings.Join(texts, "|")
			Expect(pieces).NotTo(HaveKey(key), "%s, as %s", what, pieces[key])
			pieces[key] = what
		}
		prompt := script.New(script.SayStep{Text: strings.Repeat("x", 200), Chunks: 20}).String()
		for _, seed := range []uint64{0, 1, 2, 1 << 63, math.MaxUint64} {
			add("a seed", cut(seeded(seed), prompt))
		}
		for _, thread := range []string{"b", "aa"} {
			a := startWith(seeded(1), fakeagent.SessionConfig{ThreadID: thread})
			a.run(prompt)
			add("thread "+thread, a.deltas())
			a.run(prompt)
			add("the next turn of "+thread, a.deltas()[20:])
			a.Close()
		}
	})
	It("is the one of the turn, whatever other threads play meanwhile", func(ctx SpecContext) {
		a := start(seeded(1), "")
		defer a.Close()
		for _, other := range []string{"b", "c", "d"} {
			Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: other})).To(Succeed())
			_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: other, Text: talk})
			Expect(err).NotTo(HaveOccurred())
		}
		a.run(talk)
		Expect(a.deltas()).To(Equal(cut(seeded(1), talk)))
	})

	Describe("cuts a text", func() {
		const family = "👨‍👩‍👧‍👦"
		DescribeTable("into exactly as many pieces as the step says, none of them empty and none inside a character",
			func(text string, chunks int) {
				prompt := script.New(script.SayStep{Text: text, Chunks: chunks}).String()
				for seed := range uint64(60) {
					texts := cut(seeded(seed), prompt)
					Expect(texts).To(HaveLen(chunks), "seed %d", seed)
					Expect(strings.Join(texts, "")).To(Equal(text), "seed %d", seed)
					characters := 0
					for _, t := range texts {
						Expect(t).NotTo(BeEmpty(), "seed %d: %q", seed, texts)
						characters += script.Characters(t)
					}
					Expect(characters).To(Equal(script.Characters(text)), "seed %d: %q", seed, texts)
				}
			},
			Entry("one", "abcdef", 1),
			Entry("two", "abcdef", 2),
			Entry("all but one", "abcdef", 5),
			Entry("one for each character", "abcdef", 6),
			Entry("two for two characters", "ab", 2),
			Entry("one for each of many", strings.Repeat("ab", 200), 400),
			Entry("few of a long one", strings.Repeat("ab", 2000), 3),
			Entry("emojis", "x"+family+"y"+family, 3),
			Entry("accents of their own and line ends of two bytes", "e\u0301\r\ne\u0301\r\n", 4),
		)
		It("in every possible way, one as likely as the other", func() {
			const seeds = 600
			count := map[string]int{}
			for seed := range uint64(seeds) {
				count[strings.Join(cut(seeded(seed+1), `[{"say":{"text":"abcde","chunks":3}}]`), " ")]++
			}
			Expect(count).To(And(
				HaveLen(6), HaveKey("abc d e"), HaveKey("a bcd e"), HaveKey("a b cde"), HaveKey("ab cd e"), HaveKey("ab c de"), HaveKey("a bc de"),
				HaveEach(BeNumerically("~", seeds/6, seeds/18))))
		})
		It("in the same places at any speed", func() {
			want := cut(seeded(5), talk)
			for _, set := range []func(*fakeagent.Config){
				func(c *fakeagent.Config) { c.Instant = true },
				func(c *fakeagent.Config) { c.Speed = 0.01 },
				func(c *fakeagent.Config) { c.Speed = 1e300 },
			} {
				cfg := seeded(5)
				set(&cfg)
				Expect(cut(cfg, talk)).To(Equal(want))
			}
		})
	})

	Describe("varies a scripted wait", func() {
		DescribeTable("by up to a tenth, in both directions",
			func(prompt string, want time.Duration) {
				shortest, longest := want, want
				for seed := range uint64(100) {
					took := lasts(seeded(seed), prompt)
					shortest, longest = min(shortest, took), max(longest, took)
				}
				Expect(shortest).To(And(BeNumerically(">=", want*9/10), BeNumerically("<", want*92/100)))
				Expect(longest).To(And(BeNumerically("<=", want*11/10), BeNumerically(">", want*108/100)))
			},
			Entry("sleep", `[{"sleep":1000}]`, time.Second),
			Entry("a short sleep", `[{"sleep":1}]`, time.Millisecond),
			Entry("the time between two pieces", `[{"say":{"text":"ab","chunks":2,"intervalMs":500}}]`, 500*time.Millisecond),
			Entry("the pause before a step", `{"stepDelayMs":300,"steps":[{"say":"x"}]}`, 300*time.Millisecond),
			Entry("a tool that is held", `[{"tool":{"name":"x","holdMs":2000}}]`, 2*time.Second),
		)
		It("each one by itself", func() {
			pieces, _ := played(seeded(1), `{"stepDelayMs":1000,"steps":[{"say":"a"},{"say":"b"},{"say":"c"}]}`)
			Expect(pieces[1].After - pieces[0].After).NotTo(Equal(pieces[0].After))
			Expect(pieces[2].After - pieces[1].After).NotTo(Equal(pieces[1].After - pieces[0].After))
		})
		It("but neither one of no time, nor a timeout", func() {
			Expect(lasts(seeded(1), `[{"sleep":0}]`)).To(BeZero())
			Expect(lasts(seeded(1), `[{"approval":{"title":"x","timeoutMs":5000}}]`)).To(Equal(5 * time.Second))
		})
		It("before the speed divides it", func() {
			cfg := seeded(1)
			cfg.Speed = 10
			Expect(lasts(cfg, `[{"sleep":10000}]`)).To(BeNumerically("~", lasts(seeded(1), `[{"sleep":10000}]`)/10, time.Nanosecond))
		})
		It("not at all where the agent plays instantly", func() {
			cfg := seeded(1)
			cfg.Instant = true
			Expect(lasts(cfg, talk)).To(BeZero())
		})
		It("that is as long as one can be, which stays long", func(ctx SpecContext) {
			for seed := range uint64(20) {
				a := start(seeded(seed), "")
				id := a.send(`[{"sleep":9223372036854},{"say":"never"}]`)
				time.Sleep(24 * time.Hour)
				Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
				Expect(a.wait(id)).To(And(EndCanceled(), HaveItems()))
				a.Close()
			}
		})
	})

	It("of 0 varies nothing", func() {
		pieces, took := played(seeded(0), talk)
		Expect(pieces).To(Equal([]piece{
			{0, "The quic"}, {100 * time.Millisecond, "k brown f"}, {200 * time.Millisecond, "ox jumps "}, {300 * time.Millisecond, "over the "}, {400 * time.Millisecond, "lazy dog."},
			{2400 * time.Millisecond, "abc"}, {2440 * time.Millisecond, "def"}, {2480 * time.Millisecond, "ghij"},
		}))
		Expect(took).To(Equal(2480 * time.Millisecond))
	})
})
