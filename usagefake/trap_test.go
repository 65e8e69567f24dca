package usagefake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/bubble"
	"github.com/understudy-go/understudy/usagefake"
)

var _ = Describe("A trap of windows", func() {
	It("weeklyOnly has the weekly window first, and no other", func() {
		q := trapped(usagefake.ScriptAvailable, usagefake.WeeklyOnly).read()
		Expect(q.Windows).To(Equal([]usagefake.Window{
			{ID: "weekly", Label: "usage.window.weekly", UsedPercent: 21, DurationMins: 10080, ResetsAt: noon.AddDate(0, 0, 7)}}))
	})
	It("weeklyOnly under rate-limited has that one at 100, and redeeming sets it to 0", func() {
		s := trapped(usagefake.ScriptRateLimited, usagefake.WeeklyOnly)
		Expect(percents(s.read())).To(Equal([]float64{100}))
		Expect(s.redeem("key-1")).To(Equal(usagefake.Reset))
		Expect(percents(s.read())).To(Equal([]float64{1}))
	})
	It("monthlyOnly has one window of thirty days", func() {
		q := trapped(usagefake.ScriptAvailable, usagefake.MonthlyOnly).read()
		Expect(q.Windows).To(Equal([]usagefake.Window{
			{ID: "monthly", Label: "usage.window.monthly", UsedPercent: 21, DurationMins: 43200, ResetsAt: noon.AddDate(0, 0, 30)}}))
	})
	It("weeklyFirst has the same windows in the other order, and redeeming still sets the session's to 0", func() {
		s := trapped(usagefake.ScriptAvailable, usagefake.WeeklyFirst)
		q := s.read()
		Expect(ids(q)).To(Equal([]string{"weekly", "session"}))
		Expect(percents(q)).To(Equal([]float64{21, 11}))
		s.redeem("key-1")
		Expect(percents(s.read())).To(Equal([]float64{22, 1}))
	})
	It("modelWindow leaves the session's the only window that redeeming resets", func() {
		s := trapped(usagefake.ScriptAvailable, usagefake.ModelWindow)
		s.redeem("key-1")
		Expect(percents(s.read())).To(Equal([]float64{1, 21, 31}))
	})
	It("modelWindow adds a weekly window of one model", func() {
		q := trapped(usagefake.ScriptAvailable, usagefake.ModelWindow).read()
		Expect(ids(q)).To(Equal([]string{"session", "weekly", "weekly-opus"}))
		Expect(q.Windows[2]).To(Equal(usagefake.Window{
			ID: "weekly-opus", Label: "usage.window.weekly-model", UsedPercent: 31, DurationMins: 10080, ResetsAt: noon.AddDate(0, 0, 7), Scope: "Opus"}))
	})
	It("noResetTime does not say when the session's window resets, and it does reset", func() {
		s := trapped(usagefake.ScriptAvailable, usagefake.NoResetTime)
		Expect(resets(s.read())).To(Equal([]time.Time{{}, noon.AddDate(0, 0, 7)}))
		s.now = noon.Add(5 * time.Hour)
		Expect(percents(s.read())).To(Equal([]float64{1, 22}))
	})
	It("edgePercents says 0, 1, 99, 100 and 130 in turn, and again, whatever is redeemed", func() {
		s := trapped(usagefake.ScriptAvailable, usagefake.EdgePercents)
		for range 2 {
			for _, p := range []float64{0, 1, 99, 100, 130} {
				s.redeem("key-1")
				q := s.read()
				Expect(percents(q)).To(Equal([]float64{p, p}))
				Expect(q.Reached != "").To(Equal(p >= 100))
			}
		}
	})
	It("pastReset has reset times of an hour before the read, and the windows go on", func() {
		s := trapped(usagefake.ScriptAvailable, usagefake.PastReset)
		for n := range 3 {
			s.now = noon.Add(time.Duration(n) * time.Minute)
			q := s.read()
			Expect(resets(q)).To(HaveEach(s.now.Add(-time.Hour)))
			Expect(percents(q)).To(Equal([]float64{11 + float64(n), 21 + float64(n)}))
		}
	})
	It("resetMovesBack has the weekly reset two days earlier in every second read", func() {
		s := trapped(usagefake.ScriptAvailable, usagefake.ResetMovesBack)
		for range 2 {
			Expect(resets(s.read())).To(Equal([]time.Time{noon.Add(5 * time.Hour), noon.AddDate(0, 0, 7)}))
			Expect(resets(s.read())).To(Equal([]time.Time{noon.Add(5 * time.Hour), noon.AddDate(0, 0, 5)}))
		}
		s = trapped(usagefake.ScriptAvailable, usagefake.ResetMovesBack, usagefake.MonthlyOnly)
		s.read()
		Expect(resets(s.read())).To(Equal([]time.Time{noon.AddDate(0, 0, 28)}), "and the monthly one")
	})
})

var _ = Describe("A trap of updates", func() {
	It("sparseWindow says everything once, and then one window a read, in turn", func() {
		s := trapped(usagefake.ScriptAvailable, usagefake.SparseWindow)
		first := s.read()
		Expect(first).To(Equal(trapped(usagefake.ScriptAvailable).read()))
		second, third := s.read(), s.read()
		Expect(second).To(Equal(usagefake.Quota{Status: usagefake.OK, AsOf: noon, Sparse: true, Windows: []usagefake.Window{
			{ID: "session", Label: "usage.window.session", UsedPercent: 12, DurationMins: 300, ResetsAt: noon.Add(5 * time.Hour)}}}))
		Expect(ids(third)).To(Equal([]string{"weekly"}))
		Expect(percents(first.Merge(second).Merge(third))).To(Equal([]float64{12, 23}))
	})
	It("sparseStatus says that all is well, and no window", func() {
		s := trapped(usagefake.ScriptAvailable, usagefake.SparseStatus)
		first := s.read()
		Expect(s.read()).To(Equal(usagefake.Quota{Status: usagefake.OK, AsOf: noon, Sparse: true}))
		Expect(first.Merge(s.read())).To(Equal(first))
	})
	It("sparseStatus says that a limit is reached", func() {
		s := trapped(usagefake.ScriptRateLimited, usagefake.SparseStatus)
		s.read()
		Expect(s.read()).To(Equal(usagefake.Quota{Status: usagefake.OK, AsOf: noon, Reached: "rate_limit_reached", Sparse: true}))
	})
	It("sparseNulls says percentages, and neither how long the windows are nor when they reset", func() {
		s := trapped(usagefake.ScriptAvailable, usagefake.SparseNulls)
		first, plain := s.read(), trapped(usagefake.ScriptAvailable)
		plain.read()
		update := s.read()
		Expect(update).To(Equal(usagefake.Quota{Status: usagefake.OK, AsOf: noon, Sparse: true,
			Windows: []usagefake.Window{{ID: "session", UsedPercent: 12}, {ID: "weekly", UsedPercent: 22}}}))
		Expect(first.Merge(update)).To(Equal(plain.read()), "merged, it is what would have been said without the trap")
	})
	DescribeTable("knows that a limit is over, and a credit spent:", func(trap usagefake.Trap) {
		s := trapped(usagefake.ScriptRateLimited, trap)
		shown := s.read()
		for range 3 {
			shown = shown.Merge(s.read())
		}
		Expect(shown.Reached).To(Equal(usagefake.RateLimitReached))
		s.redeem("key-1")
		all := s.read()
		Expect(all.Sparse).To(BeFalse(), "who has redeemed wants to know all")
		shown = shown.Merge(all)
		for range 3 {
			update := s.read()
			Expect(update.Sparse).To(BeTrue())
			shown = shown.Merge(update)
			Expect(shown.LimitReached()).To(BeFalse())
		}
		Expect(shown.Resets.Available).To(Equal(1))
		Expect(s.redeem("key-1")).To(Equal(usagefake.AlreadyRedeemed))
		Expect(s.read().Sparse).To(BeTrue(), "as nothing was spent")
	}, Entry(nil, usagefake.SparseWindow), Entry(nil, usagefake.SparseStatus), Entry(nil, usagefake.SparseNulls))
	DescribeTable("knows that a limit is over when its window begins again:", func(trap usagefake.Trap) {
		s := trapped(usagefake.ScriptRateLimited, trap)
		shown := s.read()
		s.now = noon.Add(5 * time.Hour)
		Expect(shown.Merge(s.read()).Reached).To(BeEmpty())
	}, Entry(nil, usagefake.SparseWindow), Entry(nil, usagefake.SparseStatus), Entry(nil, usagefake.SparseNulls))
})

var _ = Describe("A trap of accounts", func() {
	It("accountSwitch answers for one account, then for nobody, then for another one with numbers of its own", func() {
		s := trapped(usagefake.ScriptRateLimited, usagefake.AccountSwitch)
		Expect([]string{s.read().Account, s.read().Account}).To(Equal([]string{"account-1", "account-1"}))
		s.redeem("key-1")
		Expect(s.read()).To(Equal(usagefake.Quota{Status: usagefake.NeedsAuth, Reason: "usage.reason.signed-out", AsOf: noon}))
		_, err := s.RedeemQuotaReset(context.Background(), "key-2")
		Expect(err).To(And(MatchError(usagefake.ErrSignedOut), MatchError(usagefake.ErrUnsupported)))

		s.now = noon.Add(time.Hour)
		q := s.read()
		Expect(q.Account).To(Equal("account-2"))
		Expect(percents(q)).To(Equal([]float64{41, 61}))
		Expect(q.Windows[0].ResetsAt).To(Equal(noon.Add(6 * time.Hour)))
		Expect(q.Resets.Available).To(Equal(2), "the credits are its own")
		Expect(s.redeem("key-1")).To(Equal(usagefake.Reset), "and so are the keys")
		Expect(s.read().Account).To(Equal("account-2"))
		Expect(s.Counts().Spent).To(Equal(2))
	})
	It("accountSwitch gives the other account all windows, and its first credit is not the one whose reply is lost", func() {
		s := trapped(usagefake.ScriptAvailable, usagefake.AccountSwitch, usagefake.ModelWindow, usagefake.LostReply)
		_, err := s.RedeemQuotaReset(context.Background(), "key-1")
		Expect(err).To(MatchError(usagefake.ErrLost))
		s.read()
		s.read()
		Expect(s.read().Status).To(Equal(usagefake.NeedsAuth))
		Expect(percents(s.read())).To(Equal([]float64{41, 61, 31}))
		Expect(s.redeem("key-1")).To(Equal(usagefake.Reset))
	})
	It("balanceUnavailable has money that cannot be spent", func() {
		b := trapped(usagefake.ScriptBalance, usagefake.BalanceUnavailable).read().Balance
		Expect(b.Unavailable).To(BeTrue())
		Expect(b.Total).To(BeNumerically(">", 0))
	})
	It("throttled refuses reads within a minute of the last answer, says how long, and moves nothing by it", func() {
		s := trapped(usagefake.ScriptAvailable, usagefake.Throttled)
		Expect(percents(s.read())).To(Equal([]float64{11, 21}))
		s.now = noon.Add(20 * time.Second)
		q, err := s.ReadQuota(context.Background())
		Expect(q).To(BeZero())
		Expect(err).To(Equal(&usagefake.ThrottledError{RetryAfter: 40 * time.Second}))
		Expect(err).To(MatchError("usagefake: the usage endpoint is throttled; try again in 40s"))
		s.now = noon.Add(time.Minute - 1)
		_, err = s.ReadQuota(context.Background())
		Expect(err).To(Equal(&usagefake.ThrottledError{RetryAfter: 1}), "a read that was refused does not make it longer")
		s.now = noon.Add(time.Minute)
		Expect(percents(s.read())).To(Equal([]float64{12, 22}))
		s.now = noon
		_, err = s.ReadQuota(context.Background())
		Expect(err).To(Equal(&usagefake.ThrottledError{RetryAfter: time.Minute}), "also where the clock goes back")
		s.now = noon.Add(-time.Hour)
		_, err = s.ReadQuota(context.Background())
		Expect(err).To(Equal(&usagefake.ThrottledError{RetryAfter: time.Minute}), "and back again")
		s.now = s.now.Add(time.Minute)
		Expect(percents(s.read())).To(Equal([]float64{13, 23}), "and it means what it says")
		Expect(s.records()).To(HaveLen(14), "another endpoint is not throttled")
		Expect(s.redeem("key-1")).To(Equal(usagefake.Reset))
	})
	It("throttled lets the first read pass, whatever the time", func() {
		Expect(percents(fakeOf(usagefake.Config{Traps: []usagefake.Trap{usagefake.Throttled}, Now: func() time.Time { return time.Time{} }}).read())).To(Equal([]float64{11, 21}))
	})
	It("throttled lets pass who waits as long as it is told", bubble.InBubble, func(ctx SpecContext) {
		f, err := usagefake.New(usagefake.Config{Traps: []usagefake.Trap{usagefake.Throttled}})
		Expect(err).NotTo(HaveOccurred())
		for range 3 {
			_, err = f.ReadQuota(ctx)
			Expect(err).NotTo(HaveOccurred())
			_, err = f.ReadQuota(ctx)
			var throttled *usagefake.ThrottledError
			Expect(errors.As(err, &throttled)).To(BeTrue())
			time.Sleep(throttled.RetryAfter)
		}
	})
})

var _ = Describe("Every trap", func() {
	// answers are those to reads, redemptions and a read of token usage, as time goes by, or "" where the traps do not go together.
	answers := func(script usagefake.Script, traps []usagefake.Trap) string {
		now := noon
		f, err := usagefake.New(usagefake.Config{Script: script, Traps: traps, Now: func() time.Time { return now }})
		if err != nil {
			return ""
		}
		var b strings.Builder
		note := func(v any, err error) {
			text, _ := json.Marshal(v)
			fmt.Fprintf(&b, "%s %v\n", text, err)
		}
		for n := range 12 {
			now = noon.Add(time.Duration(n) * 40 * time.Second)
			note(f.ReadQuota(context.Background()))
			if n%4 == 2 {
				note(f.RedeemQuotaReset(context.Background(), fmt.Sprintf("key-%d", n/8)))
			}
		}
		note(f.ReadTokenUsage(context.Background()))
		return b.String()
	}
	It("changes some answer, alone and with one or two others that it goes with", func() {
		for _, script := range usagefake.Scripts() {
			all := usagefake.Traps()
			said := map[string]string{}
			tell := func(traps ...usagefake.Trap) string {
				key := fmt.Sprint(traps)
				if _, known := said[key]; !known {
					said[key] = answers(script, traps)
				}
				return said[key]
			}
			for i := range all {
				for j := range i + 1 {
					for k := range j + 1 {
						traps := slices.Compact([]usagefake.Trap{all[k], all[j], all[i]})
						if tell(traps...) == "" {
							continue
						}
						for n, t := range traps {
							others := slices.Delete(slices.Clone(traps), n, n+1)
							Expect(tell(traps...)).NotTo(Equal(tell(others...)), "%s does nothing beside %s under %s", t, others, script)
						}
					}
				}
			}
		}
	})
})

var _ = Describe("A trap of redemptions", func() {
	It("lostReply spends the first credit and says nothing; the same key then spends no other", func() {
		s := trapped(usagefake.ScriptAvailable, usagefake.LostReply)
		s.read()
		r, err := s.RedeemQuotaReset(context.Background(), "key-1")
		Expect(r).To(BeZero())
		Expect(err).To(MatchError(usagefake.ErrLost))
		Expect(err).To(MatchError("usagefake: RedeemQuotaReset was carried out, and the answer was lost"))
		Expect(s.redeem("key-1")).To(Equal(usagefake.AlreadyRedeemed))
		Expect(s.Counts().Spent).To(Equal(1))
		Expect(percents(s.read())).To(Equal([]float64{1, 22}))
	})
	It("lostReply punishes who takes a new key: a second credit is spent", func() {
		s := trapped(usagefake.ScriptAvailable, usagefake.LostReply)
		_, _ = s.RedeemQuotaReset(context.Background(), "key-1")
		Expect(s.redeem("key-2")).To(Equal(usagefake.Reset))
		Expect(s.Counts().Spent).To(Equal(2))
	})
	It("oneWindowFails refuses where there is one window, and spends nothing", func() {
		s := trapped(usagefake.ScriptRateLimited, usagefake.WeeklyOnly, usagefake.OneWindowFails)
		r, err := s.RedeemQuotaReset(context.Background(), "key-1")
		Expect(r).To(BeZero())
		Expect(err).To(MatchError("usagefake: trap oneWindowFails: an account with one window cannot redeem; nothing was spent"))
		Expect(s.Counts().Spent).To(BeZero())
		q := s.read()
		Expect(percents(q)).To(Equal([]float64{100}))
		Expect(q.Resets.Available).To(Equal(2))
	})
})
