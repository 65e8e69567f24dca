package usagefake_test

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/bubble"
	"github.com/understudy-go/understudy/usagefake"
)

var _ = Describe("The script available", func() {
	It("is what a Config of nothing plays", func() {
		Expect(fakeOf(usagefake.Config{}).read()).To(Equal(trapped(usagefake.ScriptAvailable).read()))
	})
	It("has a session window and a weekly one, with times in which they reset, a plan and two credits", func() {
		Expect(trapped(usagefake.ScriptAvailable).read()).To(Equal(usagefake.Quota{
			Status: usagefake.OK, Account: "account-1", Plan: "plus", AsOf: noon,
			Windows: []usagefake.Window{
				{ID: "session", Label: "usage.window.session", UsedPercent: 11, DurationMins: 300, ResetsAt: noon.Add(5 * time.Hour)},
				{ID: "weekly", Label: "usage.window.weekly", UsedPercent: 21, DurationMins: 10080, ResetsAt: noon.Add(7 * 24 * time.Hour)},
			},
			Resets: &usagefake.ResetCredits{Available: 2, Credits: []usagefake.Credit{
				{ID: "credit-1", Status: usagefake.CreditAvailable, GrantedAt: noon},
				{ID: "credit-2", Status: usagefake.CreditAvailable, GrantedAt: noon},
			}},
		}))
	})
	It("raises both windows by one percentage point a read, up to 100", func() {
		s := trapped(usagefake.ScriptAvailable)
		for n := 1; n <= 100; n++ {
			Expect(percents(s.read())).To(Equal([]float64{min(100, 10+float64(n)), min(100, 20+float64(n))}))
		}
	})
	It("says that a limit is reached once a window is at 100", func() {
		s := trapped(usagefake.ScriptAvailable)
		for range 79 {
			Expect(s.read().Reached).To(BeEmpty())
		}
		Expect(s.read().Reached).To(Equal("rate_limit_reached"))
	})
	It("leaves the reset times where they were when it was made", func() {
		s := trapped(usagefake.ScriptAvailable)
		first := resets(s.read())
		s.now = s.now.Add(5*time.Hour - 1)
		Expect(resets(s.read())).To(Equal(first))
	})
	It("starts a window again at 0 when its time has come, with the next reset time", func() {
		s := trapped(usagefake.ScriptAvailable)
		s.read()
		s.now = s.now.Add(5 * time.Hour)
		q := s.read()
		Expect(percents(q)).To(Equal([]float64{1, 22}), "the read after that shows one percent")
		Expect(resets(q)).To(Equal([]time.Time{noon.Add(10 * time.Hour), noon.Add(7 * 24 * time.Hour)}))
		Expect(percents(s.read())).To(Equal([]float64{2, 23}))
	})
	It("passes over windows in which nobody has read", func() {
		s := trapped(usagefake.ScriptAvailable)
		s.now = s.now.Add(24 * time.Hour)
		Expect(resets(s.read())[0]).To(Equal(noon.Add(25 * time.Hour)))
		s.now = s.now.AddDate(900, 0, 0) // more than a time.Duration holds
		q := s.read()
		Expect(percents(q)).To(Equal([]float64{1, 1}))
		Expect(q.Windows[0].ResetsAt).To(And(BeTemporally(">", s.now), BeTemporally("<=", s.now.Add(5*time.Hour))))
		Expect(q.Windows[1].ResetsAt.Sub(s.now)).To(BeNumerically("<=", 7*24*time.Hour))
	})
	It("begins on the whole second, so that no shape without fractions has a window reset too early", func() {
		s := &subject{now: noon.Add(999 * time.Millisecond)}
		s.Fake = fakeOf(usagefake.Config{Now: func() time.Time { return s.now }}).Fake
		q := s.read()
		Expect(resets(q)).To(Equal([]time.Time{noon.Add(5 * time.Hour), noon.AddDate(0, 0, 7)}))
		Expect(q.AsOf).To(Equal(s.now))
		Expect(q.Check()).To(Succeed())
		s.now = noon.Add(5 * time.Hour)
		Expect(percents(s.read())).To(Equal([]float64{1, 22}))
	})
	It("looks at the clock once when it is made, and once a call, whatever the answer", func(ctx SpecContext) {
		looks := 0
		f, err := usagefake.New(usagefake.Config{Now: func() time.Time { looks++; return noon }, Quotas: quotaAnswers{
			usagefake.Say(usagefake.Quota{Windows: []usagefake.Window{{ID: "w", ResetsAt: noon}}}), {Fail: usagefake.ErrSignedOut}, {Lost: true}}})
		Expect(err).NotTo(HaveOccurred())
		Expect(looks).To(Equal(1))
		for n := range 4 {
			_, _ = f.ReadQuota(ctx)
			Expect(looks).To(Equal(n + 2))
		}
		_, _ = f.ReadTokenUsage(ctx)
		_, _ = f.RedeemQuotaReset(ctx, "key-1")
		Expect(looks).To(Equal(7))
	})
	It("has times that follow each other as its answers do, however many read at once", func() {
		for range 20 {
			var looks atomic.Int64
			f := fakeOf(usagefake.Config{Now: func() time.Time {
				defer runtime.Gosched() // for whoever would come in between
				return noon.Add(time.Duration(looks.Add(1)) * time.Second)
			}})
			quotas := make([]usagefake.Quota, 50)
			together(len(quotas), func(i int) { quotas[i], _ = f.ReadQuota(context.Background()) })
			slices.SortFunc(quotas, func(a, b usagefake.Quota) int { return cmp.Compare(percents(a)[0], percents(b)[0]) })
			for i, q := range quotas {
				Expect(q.AsOf).To(Equal(noon.Add(time.Duration(i+2) * time.Second)))
			}
		}
	})
	It("is free again after its clock has panicked, as a failed assertion does", func() {
		broken := false
		f := fakeOf(usagefake.Config{Now: func() time.Time {
			if broken {
				panic("no time")
			}
			return noon
		}})
		broken = true
		Expect(func() { _, _ = f.ReadQuota(context.Background()) }).To(PanicWith("no time"))
		Expect(f.Counts()).To(BeZero())
	})
	It("takes a clock that goes back as it is", func() {
		s := trapped(usagefake.ScriptAvailable)
		s.now = s.now.Add(-time.Hour)
		Expect(s.read().AsOf).To(Equal(s.now))
	})
	It("says times in UTC, whatever zone the clock has", func() {
		s := trapped(usagefake.ScriptAvailable)
		s.now = noon.In(time.FixedZone("far", 9*3600))
		Expect(s.read().AsOf).To(Equal(noon))
	})
	It("looks at the real clock where it is given none", func(ctx SpecContext) {
		f, err := usagefake.New(usagefake.Config{})
		Expect(err).NotTo(HaveOccurred())
		q, err := f.ReadQuota(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(q.AsOf).To(BeTemporally("~", time.Now(), time.Minute))
		Expect(q.AsOf.Location()).To(Equal(time.UTC))
		Expect(q.AsOf.String()).NotTo(ContainSubstring("m="), "it has no monotonic reading, which would make equal times differ")
	})
	It("gives each reader values of its own", func() {
		s := trapped(usagefake.ScriptAvailable)
		first := s.read()
		first.Windows[0].UsedPercent = 99
		first.Resets.Credits[0].Status = usagefake.CreditRedeemed
		second := s.read()
		Expect(percents(second)).To(Equal([]float64{12, 22}))
		Expect(second.Resets.Credits[0].Status).To(Equal(usagefake.CreditAvailable))
	})
})

var _ = Describe("On virtual time", bubble.InBubble, func() {
	It("a window resets after five hours that take none", func(ctx SpecContext) {
		f, err := usagefake.New(usagefake.Config{})
		Expect(err).NotTo(HaveOccurred())
		time.Sleep(5 * time.Hour)
		q, err := f.ReadQuota(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(percents(q)).To(Equal([]float64{1, 21}))
		Expect(q.AsOf).To(Equal(time.Now().UTC().Round(0)))
	})
})

var _ = Describe("The script rate-limited", func() {
	It("has the session window at 100, with its reset time, and says which limit is reached", func() {
		q := trapped(usagefake.ScriptRateLimited).read()
		Expect(percents(q)).To(Equal([]float64{100, 21}))
		Expect(q.Windows[0].ResetsAt).To(Equal(noon.Add(5 * time.Hour)))
		Expect(q.Reached).To(Equal(usagefake.RateLimitReached))
		Expect(q.Status).To(Equal(usagefake.OK), "the login is fine")
	})
	It("stays there until it resets", func() {
		s := trapped(usagefake.ScriptRateLimited)
		s.read()
		Expect(percents(s.read())).To(Equal([]float64{100, 22}))
		s.now = noon.Add(5 * time.Hour)
		q := s.read()
		Expect(percents(q)).To(Equal([]float64{1, 23}))
		Expect(q.Reached).To(BeEmpty())
	})
})

var _ = Describe("The script balance", func() {
	It("has money, in CNY, and neither windows nor credits", func() {
		s := trapped(usagefake.ScriptBalance)
		want := usagefake.Quota{Status: usagefake.OK, Account: "account-1", AsOf: noon, Balance: &usagefake.Balance{
			Label: "usage.balance.account", Currency: "CNY", Total: 8642, Granted: 642, ToppedUp: 8000,
		}}
		Expect(s.read()).To(Equal(want))
		Expect(s.read()).To(Equal(want), "a read costs nothing")
	})
	It("gives each reader a balance of its own", func() {
		s := trapped(usagefake.ScriptBalance)
		s.read().Balance.Total = 0
		Expect(s.read().Balance.Total).To(Equal(usagefake.Amount(8642)))
	})
})

var _ = Describe("The script custom-endpoint", func() {
	It("says that quota is unsupported, and why, and no number", func() {
		Expect(trapped(usagefake.ScriptCustomEndpoint).read()).To(Equal(
			usagefake.Quota{Status: usagefake.Unsupported, Reason: "usage.reason.custom-endpoint", AsOf: noon}))
	})
	It("still has token usage", func() {
		Expect(trapped(usagefake.ScriptCustomEndpoint).records()).To(HaveLen(14))
	})
})

var _ = Describe("The script signed-out", func() {
	It("says that somebody has to sign in, and no number", func() {
		Expect(trapped(usagefake.ScriptSignedOut).read()).To(Equal(
			usagefake.Quota{Status: usagefake.NeedsAuth, Reason: "usage.reason.signed-out", AsOf: noon}))
	})
})

var _ = Describe("Every answer", func() {
	It("has locale keys for its texts, all of which are listed, and no other is", func() {
		said := map[string]bool{}
		for _, script := range usagefake.Scripts() {
			for _, t := range append(usagefake.Traps(), "") {
				cfg := usagefake.Config{Script: script, Now: func() time.Time { return noon }}
				if t != "" {
					cfg.Traps = []usagefake.Trap{t}
				}
				f, err := usagefake.New(cfg)
				if err != nil {
					continue // a trap for another script
				}
				for range 5 {
					q, _ := f.ReadQuota(context.Background())
					said[q.Reason] = true
					for _, w := range q.Windows {
						said[w.Label] = true
					}
					if q.Balance != nil {
						said[q.Balance.Label] = true
					}
				}
			}
		}
		delete(said, "")
		var keys []string
		for k := range said {
			keys = append(keys, k)
		}
		Expect(usagefake.LocaleKeys()).To(ConsistOf(keys))
	})
	It("is the same from two fakes of one Config and one clock, and other values cannot get in from outside", func() {
		for _, script := range usagefake.Scripts() {
			a, b := trapped(script), trapped(script)
			for n := range 30 {
				a.now, b.now = noon.Add(time.Duration(n)*time.Hour), noon.Add(time.Duration(n)*time.Hour)
				Expect(a.read()).To(Equal(b.read()))
				Expect(a.records()).To(Equal(b.records()))
			}
		}
	})
})
