package usagefake_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/usagefake"
)

var _ = Describe("Redeeming", func() {
	It("spends one of two credits, sets the session window to 0 and leaves the weekly one", func() {
		s := trapped(usagefake.ScriptAvailable)
		before := s.read()
		Expect(s.redeem("key-1")).To(Equal(usagefake.Reset))
		q := s.read()
		Expect(percents(q)).To(Equal([]float64{1, 22}), "this read has raised both by one")
		Expect(resets(q)).To(Equal(resets(before)))
		Expect(q.Resets).To(Equal(&usagefake.ResetCredits{Available: 1, Credits: []usagefake.Credit{
			{ID: "credit-1", Status: usagefake.CreditRedeemed, GrantedAt: noon},
			{ID: "credit-2", Status: usagefake.CreditAvailable, GrantedAt: noon},
		}}))
	})
	It("spends a credit also where the window is at 0 already", func() {
		s := trapped(usagefake.ScriptAvailable)
		Expect(s.redeem("key-1")).To(Equal(usagefake.Reset))
		Expect(s.redeem("key-2")).To(Equal(usagefake.Reset))
		Expect(s.read().Resets.Available).To(BeZero())
	})
	It("with both credits spent changes nothing", func() {
		s := trapped(usagefake.ScriptAvailable)
		s.redeem("key-1")
		s.redeem("key-2")
		s.read()
		Expect(s.redeem("key-3")).To(Equal(usagefake.NoCredit))
		Expect(percents(s.read())).To(Equal([]float64{2, 22}))
		Expect(s.Counts().Spent).To(Equal(2))
	})
	It("with a key that has spent a credit changes nothing, also when there is none left", func() {
		s := trapped(usagefake.ScriptAvailable)
		s.redeem("key-1")
		s.read()
		Expect(s.redeem("key-1")).To(Equal(usagefake.AlreadyRedeemed))
		q := s.read()
		Expect(percents(q)).To(Equal([]float64{2, 22}))
		Expect(q.Resets.Available).To(Equal(1))
		s.redeem("key-2")
		Expect(s.redeem("key-1")).To(Equal(usagefake.AlreadyRedeemed))
		Expect(s.redeem("key-3")).To(Equal(usagefake.NoCredit))
		Expect(s.redeem("key-3")).To(Equal(usagefake.NoCredit), "a key that has spent nothing is not remembered")
	})
	It("without a key spends a credit each time", func() {
		s := trapped(usagefake.ScriptAvailable)
		Expect([]usagefake.Outcome{s.redeem(""), s.redeem(""), s.redeem("")}).To(Equal([]usagefake.Outcome{usagefake.Reset, usagefake.Reset, usagefake.NoCredit}))
	})
	It("makes of a rate-limited account one that is available", func() {
		s := trapped(usagefake.ScriptRateLimited)
		s.read()
		Expect(s.redeem("key-1")).To(Equal(usagefake.Reset))
		q := s.read()
		Expect(percents(q)).To(Equal([]float64{1, 22}))
		Expect(q.Reached).To(BeEmpty())
	})
	DescribeTable("is unsupported under", func(script usagefake.Script, text string, signedOut bool) {
		s := trapped(script)
		r, err := s.RedeemQuotaReset(context.Background(), "key-1")
		Expect(r).To(BeZero())
		Expect(err).To(MatchError(usagefake.ErrUnsupported))
		Expect(err).To(MatchError(text))
		if signedOut {
			Expect(err).To(MatchError(usagefake.ErrSignedOut))
		} else {
			Expect(err).NotTo(MatchError(usagefake.ErrSignedOut))
		}
		Expect(s.Counts()).To(Equal(usagefake.Counts{Redemptions: 1}))
	},
		Entry(nil, usagefake.ScriptBalance, "usagefake: the script balance has nothing to redeem; use available or rate-limited: unsupported", false),
		Entry(nil, usagefake.ScriptCustomEndpoint, "usagefake: the script custom-endpoint has nothing to redeem; use available or rate-limited: unsupported", false),
		Entry(nil, usagefake.ScriptSignedOut, "usagefake: nobody is signed in who could redeem: signed out, unsupported", true),
	)
	It("by a hundred at once, while a hundred read, spends two credits, and each read moves the windows once", func() {
		for range 50 {
			// Whoever waits for a lock for more than a millisecond, and finds it taken by somebody who came later, gets it in turn from then on. So one
			// that is let go in the middle of a call is gone.
			looks := 0
			s := fakeOf(usagefake.Config{Now: func() time.Time {
				if looks++; looks == 2 || looks == 3 {
					time.Sleep(2 * time.Millisecond)
				}
				return noon
			}})
			const many = 100
			var outcomes [many]usagefake.Outcome
			var weekly [many]float64
			together(2*many, func(i int) {
				if i%2 == 0 {
					r, _ := s.RedeemQuotaReset(context.Background(), fmt.Sprintf("key-%d", i/2%50))
					outcomes[i/2] = r.Outcome
				} else {
					q, _ := s.ReadQuota(context.Background())
					weekly[i/2] = q.Windows[1].UsedPercent
				}
				_, _ = s.ReadTokenUsage(context.Background())
				_ = s.String()
			})
			count := map[usagefake.Outcome]int{}
			for _, o := range outcomes {
				count[o]++
			}
			Expect(count).To(Equal(map[usagefake.Outcome]int{usagefake.Reset: 2, usagefake.AlreadyRedeemed: 2, usagefake.NoCredit: 96}), "each of fifty keys came twice")
			Expect(s.Counts()).To(Equal(usagefake.Counts{QuotaReads: many, TokenReads: 2 * many, Redemptions: many, Spent: 2}))
			slices.Sort(weekly[:])
			for i, percent := range weekly {
				Expect(percent).To(Equal(min(100, 21+float64(i))))
			}
		}
	})
	It("by whoever repeats one key, at once, spends one credit", func() {
		s := trapped(usagefake.ScriptAvailable)
		together(100, func(int) { _, _ = s.RedeemQuotaReset(context.Background(), "key-1") })
		Expect(s.Counts().Spent).To(Equal(1))
		Expect(s.read().Resets.Available).To(Equal(1))
	})
})

var _ = Describe("The counts", func() {
	It("are of calls, whatever came of them", func(ctx SpecContext) {
		s := fakeOf(usagefake.Config{Quotas: []usagefake.Answer[usagefake.Quota]{{Fail: usagefake.ErrSignedOut}}, Traps: []usagefake.Trap{usagefake.Throttled}})
		for range 3 {
			_, _ = s.ReadQuota(ctx)
		}
		s.records()
		s.redeem("key-1")
		s.redeem("key-1")
		Expect(s.Counts()).To(Equal(usagefake.Counts{QuotaReads: 3, TokenReads: 1, Redemptions: 2, Spent: 1}))
		Expect(s.GomegaString()).To(Equal("available: quota reads 3, token reads 1, redemptions 2, credits spent 1"))
	})
	It("leave out calls whose context was over before", func() {
		s := trapped(usagefake.ScriptAvailable)
		ctx, cancel := context.WithTimeoutCause(context.Background(), 0*time.Second, fmt.Errorf("too late"))
		defer cancel()
		_, err := s.ReadQuota(ctx)
		Expect(err).To(MatchError("usagefake: ReadQuota: too late"))
		_, err = s.ReadTokenUsage(ctx)
		Expect(err).To(MatchError("usagefake: ReadTokenUsage: too late"))
		_, err = s.RedeemQuotaReset(ctx, "key-1")
		Expect(err).To(MatchError("usagefake: RedeemQuotaReset: too late"))
		Expect(s.Counts()).To(BeZero())
		Expect(percents(s.read())).To(Equal([]float64{11, 21}))
	})
})
