package matchers_test

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit/bubble"
	"github.com/understudy-go/understudy/usagefake"
)

// recordOn is what was used on a day of January 2026.
func recordOn(day int, cost float64) usagefake.TokenRecord {
	on := time.Date(2026, 1, day, 12, 0, 0, 0, time.UTC)
	return usagefake.TokenRecord{Day: on.Format(time.DateOnly), At: on, Model: "m", Input: 10, Output: 2, Total: 12, Priced: cost > 0, CostUSD: cost}
}

var (
	pricedDay   = recordOn(1, 0.5)
	unpricedDay = recordOn(2, 0)
)

var _ = Describe("BePriced and BeUnpriced", func() {
	It("go into Gomega's matchers for several records", func() {
		records := []usagefake.TokenRecord{pricedDay, unpricedDay}
		Expect(records[:1]).To(HaveEach(BePriced()))
		Expect(records).To(HaveExactElements(BePriced(), BeUnpriced()))
		Expect(refusal(records, BePriced())).To(HavePrefix("BePriced expects one token record (usagefake.TokenRecord); for several put it into " +
			"HaveEach or ContainElement.  Got:\n    <[]usagefake.TokenRecord>\n      0 2026-01-01 m: input 10"))
		Expect(refusal(&pricedDay, BeUnpriced())).To(Equal("BeUnpriced: the actual is a *usagefake.TokenRecord, want the value that it points to"))
	})

	It("neither match a record that has no price and yet costs something", func() {
		odd := pricedDay
		odd.Priced = false
		Expect(odd).NotTo(Or(BePriced(), BeUnpriced()))
		Expect(failure(odd, BeUnpriced())).To(HavePrefix("it has no price, and yet costs $0.5\n\n"))
	})

	It("say that what is free has a price", func() {
		free := unpricedDay
		free.Priced = true
		Expect(free).To(BePriced())
		Expect(failure(free, BeUnpriced())).To(HavePrefix("it costs $0\n\n"))
	})
})

var _ = Describe("HaveTokenTotals", func() {
	records := []usagefake.TokenRecord{recordOn(1, 0.1), recordOn(2, 0.2), recordOn(3, 0)}

	It("adds up, the costs too, and says where a total differs", func() {
		Expect(records).To(HaveTokenTotals(usagefake.Totals{Input: 30, Output: 6, Total: 36, CostUSD: 0.3, Unpriced: 1}))
		Expect(failure(records, HaveTokenTotals(usagefake.Totals{Input: 30, Output: 6, Total: 35, CostUSD: 0.3, Unpriced: 1}))).
			To(HavePrefix("total is 36, want 35\n\n"))
	})

	It("takes a matcher, for one of the sums", func() {
		Expect(records).To(HaveTokenTotals(HaveField("Total", BeNumerically(">", 35))))
		Expect(failure(records, HaveTokenTotals(HaveField("Total", int64(35))))).
			To(HavePrefix("the total is input 30 (0 read from cache, 0 written), output 6 (0 reasoning), total 36, $0.3, and 1 unpriced, want HaveField "))
		Expect(refusal(records, HaveTokenTotals(36))).To(Equal("HaveTokenTotals: totals is of type int, want a usagefake.Totals or a matcher"))
	})
})

var _ = Describe("HaveDailyRecords", func() {
	It("wants one day after the other, each of which may have several records", func() {
		Expect([]usagefake.TokenRecord{recordOn(1, 1), recordOn(2, 1), recordOn(2, 2), recordOn(3, 0)}).To(HaveDailyRecords(3))
		Expect([]usagefake.TokenRecord{recordOn(31, 1), recordOn(32, 1)}).To(HaveDailyRecords(2))
	})

	It("says which days are missing, and which are not in order", func() {
		Expect(failure([]usagefake.TokenRecord{recordOn(1, 1), recordOn(3, 1), recordOn(2, 1)}, HaveDailyRecords(3))).To(HavePrefix(`2 things are wrong:
    record 1 is of 2026-01-03, after 2026-01-01: there is none of 2026-01-02
    record 2 is of 2026-01-02, after 2026-01-03: the oldest comes first

Expected
`))
	})

	It("says so rather than how many days there are", func() {
		Expect(failure([]usagefake.TokenRecord{recordOn(1, 1), recordOn(3, 1)}, HaveDailyRecords(3))).
			To(HavePrefix("record 1 is of 2026-01-03, after 2026-01-01: there is none of 2026-01-02\n\n"))
	})

	It("is refused with no days", func() {
		Expect(refusal([]usagefake.TokenRecord{}, HaveDailyRecords(0))).To(Equal("HaveDailyRecords: days is 0, want 1 or more"))
		var none *[]usagefake.TokenRecord
		Expect(refusal(none, HaveDailyRecords(1))).To(Equal("HaveDailyRecords: the actual is a nil *[]usagefake.TokenRecord"))
	})
})

var _ = Describe("Well-formed usage", func() {
	It("is a quota that no rule is against", func() {
		Expect(windows).To(BeWellFormed())
		over := session
		over.UsedPercent = 130
		Expect(usagefake.Quota{Windows: []usagefake.Window{over}}).To(BeWellFormed(), "some providers say more than 100")
		over.UsedPercent = -1
		Expect(failure(usagefake.Quota{Windows: []usagefake.Window{weekly, over}}, BeWellFormed())).
			To(HavePrefix("windows[1].usedPercent must be 0 or more, is -1\n\n"))
	})

	It("is records whose parts are within what they are of, whose totals add up, and whose days follow each other", func() {
		Expect([]usagefake.TokenRecord{pricedDay, unpricedDay}).To(BeWellFormed())
		cached, reasoned, summed := recordOn(2, 0), recordOn(3, 0), recordOn(5, 0)
		cached.CacheRead, cached.CacheWrite = 9, 2
		reasoned.Reasoning = 3
		summed.Total = 13
		Expect(failure([]usagefake.TokenRecord{pricedDay, cached, reasoned, summed}, BeWellFormed())).To(HavePrefix(`4 things are wrong:
    record 1, ` + cached.String() + `: input is 10, and must be at least cacheRead and cacheWrite together, which are in it: 9 and 2
    record 2, ` + reasoned.String() + `: output is 2, and must be at least reasoning, which is in it: 3
    record 3, ` + summed.String() + `: total is 13, and must be input and output together, which is 12
    record 3 is of 2026-01-05, after 2026-01-03: there is none of 2026-01-04

`))
	})

	It("says of a day that is none that it is none, and no more", func() {
		odd := recordOn(2, 0)
		odd.Day = "yesterday"
		Expect(wrongs([]usagefake.TokenRecord{recordOn(1, 0), odd, recordOn(3, 0)})).To(Equal([]string{`record 1: day must be a day such as 2026-07-01, is "yesterday"`}))
	})
})

// teller is a source that says the same for ever, or what it was told to.
type teller struct {
	quota  usagefake.Quota
	tokens []usagefake.TokenRecord
	err    error // instead of tokens
	failAt int64 // the read of the quota that fails
	reads  atomic.Int64
	hang   bool
}

func (t *teller) ReadQuota(ctx context.Context) (usagefake.Quota, error) {
	if t.hang {
		<-ctx.Done()
		return usagefake.Quota{}, ctx.Err()
	}
	if t.reads.Add(1) == t.failAt {
		return usagefake.Quota{}, errors.New("down")
	}
	return t.quota, nil
}

func (t *teller) ReadTokenUsage(context.Context) ([]usagefake.TokenRecord, error) {
	return t.tokens, t.err
}

func (t *teller) RedeemQuotaReset(context.Context, string) (usagefake.Redemption, error) {
	return usagefake.Redemption{}, errors.New("nobody should redeem here")
}

var _ = Describe("AnswerAlike", func() {
	fake := func(cfg usagefake.Config) *usagefake.Fake {
		cfg.Now = func() time.Time { return at }
		f, err := usagefake.New(cfg)
		Expect(err).NotTo(HaveOccurred())
		return f
	}

	It("matches two fakes of one config, under each script and trap", func() {
		for _, script := range usagefake.Scripts() {
			Expect(fake(usagefake.Config{Script: script})).To(AnswerAlike(fake(usagefake.Config{Script: script})))
		}
		for _, trap := range usagefake.Traps() {
			cfg := usagefake.Config{Traps: []usagefake.Trap{trap}}
			if _, err := usagefake.New(cfg); err != nil {
				continue // it is for another script, or goes with another one
			}
			Expect(fake(cfg)).To(AnswerAlike(fake(cfg)))
		}
	})

	It("reads ten times, and says which read differs and where", func() {
		cfg := usagefake.Config{}
		a, b := fake(cfg), fake(cfg)
		_, err := b.ReadQuota(context.Background())
		Expect(err).NotTo(HaveOccurred())
		Expect(failure(a, AnswerAlike(b))).To(Equal(`quota read 1: windows[0].usedPercent is 11, want 12
    windows[1].usedPercent is 21, want 22

Expected
    available: quota reads 1, token reads 0, redemptions 0, credits spent 0
to answer as another *usagefake.Fake does`))

		last := &teller{failAt: 10}
		Expect(failure(last, AnswerAlike(&teller{}))).To(HavePrefix(`quota read 10: error is "down", want none` + "\n\n"))
		Expect(&teller{failAt: 11}).To(AnswerAlike(&teller{}))
		Expect(&teller{failAt: 10}).To(AnswerAlike(&teller{failAt: 10}))
	})

	It("reads the token usage, too", func() {
		Expect(failure(&teller{err: errors.New("down")}, AnswerAlike(&teller{}))).
			To(HavePrefix(`token usage read 1: error is "down", want none` + "\n\n"))
		Expect(failure(&teller{tokens: []usagefake.TokenRecord{unpricedDay}}, AnswerAlike(&teller{tokens: []usagefake.TokenRecord{pricedDay}}))).
			To(HavePrefix(`token usage read 1: records[0].at is "2026-01-02T12:00:00Z", want "2026-01-01T12:00:00Z"`))
	})

	It("takes two errors for the same if their texts are", func() {
		Expect(&teller{err: errors.New("down")}).To(AnswerAlike(&teller{err: errors.New("down")}))
		Expect(failure(&teller{err: errors.New("down")}, AnswerAlike(&teller{err: errors.New("busy")}))).
			To(HavePrefix(`token usage read 1: error is "down", want "busy"` + "\n\n"))
	})

	It("does not read again to say what it saw", func() {
		a := &teller{failAt: 1}
		Expect(failure(a, AnswerAlike(&teller{}))).To(HavePrefix(`quota read 1: error is "down", want none`))
		Expect(a.reads.Load()).To(BeEquivalentTo(1))
	})

	It("compares what has no JSON", func() {
		odd := usagefake.Quota{Windows: []usagefake.Window{{ID: "x", UsedPercent: math.NaN()}}}
		Expect(&teller{quota: odd}).To(AnswerAlike(&teller{quota: odd}))
		Expect(&teller{quota: odd}).NotTo(AnswerAlike(&teller{quota: windows}))
		other := usagefake.Quota{Windows: []usagefake.Window{{ID: "y", UsedPercent: math.NaN()}}}
		Expect(&teller{quota: odd}).NotTo(AnswerAlike(&teller{quota: other}))
	})

	It("does not take silence for an answer", bubble.InBubble, func() {
		Expect(refusal(&teller{hang: true}, AnswerAlike(&teller{hang: true}))).To(Equal("AnswerAlike: quota read 1: no answer in 30s"))
	})

	It("asks for one clock where two sources do not have one", func() {
		a, err := usagefake.New(usagefake.Config{})
		Expect(err).NotTo(HaveOccurred())
		Expect(failure(a, AnswerAlike(fake(usagefake.Config{})))).To(And(HavePrefix("quota read 1: asOf is "),
			ContainSubstring("\n    (have the two sources one clock, such as a Config.Now?)\n\nExpected")))
	})

	It("is refused without another source", func() {
		self := &teller{}
		Expect(refusal(self, AnswerAlike(self))).To(Equal("AnswerAlike: both are the same source; make two"))
		Expect(refusal(&teller{}, AnswerAlike(nil))).To(Equal("AnswerAlike: other is a nil <nil>, want a source of usage"))
		Expect(refusal(&teller{}, AnswerAlike((*teller)(nil)))).To(Equal("AnswerAlike: other is a nil *matchers_test.teller, want a source of usage"))
		Expect(refusal((*teller)(nil), AnswerAlike(&teller{}))).To(Equal("AnswerAlike: the actual is a nil *matchers_test.teller"))
	})
})
