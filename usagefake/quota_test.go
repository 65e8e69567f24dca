package usagefake_test

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/usagefake"
)

var _ = Describe("Merging", func() {
	full := usagefake.Quota{
		Status: usagefake.OK, Account: "a", Plan: "plus", AsOf: noon, Reached: "r",
		Windows: []usagefake.Window{{ID: "session", Label: "l", UsedPercent: 10, DurationMins: 300, ResetsAt: noon}, {ID: "weekly", UsedPercent: 20, Scope: "Opus"}},
		Balance: &usagefake.Balance{Currency: "CNY", Total: 1, ToppedUp: 1},
		Resets:  &usagefake.ResetCredits{Available: 1, Credits: []usagefake.Credit{{ID: "c"}}},
	}
	It("an update that says nothing changes nothing", func() {
		Expect(full.Merge(usagefake.Quota{Sparse: true})).To(Equal(full))
	})
	It("an update of everything changes everything but what windows there are", func() {
		later := noon.Add(time.Hour)
		update := usagefake.Quota{
			Sparse: true, Status: usagefake.OK, Reason: "why", Account: "a", Plan: "pro", AsOf: later, Reached: "s",
			Windows: []usagefake.Window{{ID: "new", UsedPercent: 1}, {ID: "session", Label: "m", UsedPercent: 0, DurationMins: 60, ResetsAt: later, Scope: "Sonnet"}},
			Balance: &usagefake.Balance{Currency: "USD"},
			Resets:  &usagefake.ResetCredits{Available: 3},
		}
		want := update
		want.Sparse = false
		want.Windows = []usagefake.Window{update.Windows[1], full.Windows[1], update.Windows[0]}
		Expect(full.Merge(update)).To(Equal(want))
	})
	It("an update with a status says whether a limit is reached, and why the status is what it is; one without leaves both", func() {
		Expect(full.Merge(usagefake.Quota{Sparse: true, Status: usagefake.OK}).Reached).To(BeEmpty())
		Expect(full.Merge(usagefake.Quota{Sparse: true, Status: usagefake.OK, Reached: "s"}).Reached).To(Equal("s"))
		Expect(full.Merge(usagefake.Quota{Sparse: true, Reached: "s"}).Reached).To(Equal("s"))
		Expect(full.Merge(usagefake.Quota{Sparse: true, Plan: "pro"}).Reached).To(Equal("r"))
		out := usagefake.Quota{Status: usagefake.NeedsAuth, Reason: "why"}
		Expect(out.Merge(usagefake.Quota{Sparse: true, AsOf: noon})).To(Equal(usagefake.Quota{Status: usagefake.NeedsAuth, Reason: "why", AsOf: noon}))
		Expect(out.Merge(usagefake.Quota{Sparse: true, Status: usagefake.OK})).To(Equal(usagefake.Quota{Status: usagefake.OK}))
	})
	It("an update that says that there is no account takes all numbers with it, and they do not come back", func() {
		for _, status := range []usagefake.Status{usagefake.NeedsAuth, usagefake.Unsupported} {
			gone := full.Merge(usagefake.Quota{Sparse: true, Status: status, Reason: "why"})
			Expect(gone).To(Equal(usagefake.Quota{Status: status, Reason: "why", AsOf: noon}))
			Expect(gone.Check()).To(Succeed())
			Expect(gone.Merge(usagefake.Quota{Sparse: true, Windows: full.Windows})).To(Equal(gone), "not without a status")
			Expect(gone.Merge(usagefake.Quota{Sparse: true, Status: usagefake.OK})).To(Equal(usagefake.Quota{Status: usagefake.OK, AsOf: noon}))
		}
	})
	It("an update that names another account begins from nothing", func() {
		update := usagefake.Quota{Sparse: true, Account: "b", Windows: []usagefake.Window{{ID: "session", UsedPercent: 1}}}
		want := update
		want.Sparse = false
		Expect(full.Merge(update)).To(Equal(want))
		Expect(usagefake.Quota{Plan: "of whom?"}.Merge(update)).To(Equal(want))
		update.Account = "a"
		Expect(full.Merge(update).Plan).To(Equal("plus"))
	})
	It("an answer that is no update takes the place of what was there", func() {
		Expect(full.Merge(usagefake.Quota{Status: usagefake.NeedsAuth})).To(Equal(usagefake.Quota{Status: usagefake.NeedsAuth}))
	})
	It("leaves both sides as they are, whatever becomes of the result", func() {
		before, _ := json.Marshal(full)
		update := usagefake.Quota{Sparse: true, Windows: []usagefake.Window{{ID: "session", UsedPercent: 50}}, Balance: &usagefake.Balance{Currency: "USD"}}
		for _, u := range []usagefake.Quota{update, full, {Sparse: true}} {
			merged := full.Merge(u)
			merged.Windows[0].UsedPercent = 99
			merged.Balance.Currency = "EUR"
			merged.Resets.Credits[0].ID = "x"
		}
		after, _ := json.Marshal(full)
		Expect(string(after)).To(Equal(string(before)))
		Expect(update.Balance.Currency).To(Equal("USD"))
	})
})

var _ = Describe("The limit of a quota", func() {
	limit := func(windows ...usagefake.Window) error { return usagefake.Quota{Windows: windows}.Limit() }
	It("is none while no window is used up", func() {
		Expect(limit()).To(Succeed())
		Expect(limit(usagefake.Window{ID: "a", UsedPercent: 99.9})).To(Succeed())
		Expect(limit(usagefake.Window{ID: "a", UsedPercent: math.NaN()})).To(Succeed())
	})
	It("is that of the window that is used up, and says when it resets", func() {
		w := usagefake.Window{ID: "session", UsedPercent: 100, ResetsAt: noon}
		err := limit(usagefake.Window{ID: "weekly", UsedPercent: 50}, w)
		var e *usagefake.LimitError
		Expect(errors.As(err, &e)).To(BeTrue())
		Expect(e.Window).To(Equal(w))
		Expect(err).To(MatchError("usagefake: usage limit reached: window session is at 100%, and resets at 2026-07-01T12:00:00Z"))
	})
	It("of several is that which resets last, as no turn succeeds before", func() {
		early, late := usagefake.Window{ID: "a", UsedPercent: 100, ResetsAt: noon}, usagefake.Window{ID: "b", UsedPercent: 130, ResetsAt: noon.Add(1)}
		for _, windows := range [][]usagefake.Window{{early, late}, {late, early}} {
			Expect(limit(windows...)).To(Equal(&usagefake.LimitError{Window: late}))
		}
	})
	It("is not that of a window of a single model, and need not know when it ends", func() {
		Expect(limit(usagefake.Window{ID: "a", UsedPercent: 100, Scope: "Opus"})).To(Succeed())
		Expect(limit(usagefake.Window{ID: "a", UsedPercent: 100})).To(MatchError("usagefake: usage limit reached: window a is at 100%"))
	})
})

var _ = Describe("An amount", func() {
	DescribeTable("is hundredths, and is written with two decimals", func(a usagefake.Amount, text string) {
		Expect(a.String()).To(Equal(text))
		var back usagefake.Amount
		Expect(back.UnmarshalText([]byte(text))).To(Succeed())
		Expect(back).To(Equal(a))
		b, err := json.Marshal(a)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(b)).To(Equal(`"` + text + `"`))
	},
		Entry(nil, usagefake.Amount(8642), "86.42"), Entry(nil, usagefake.Amount(0), "0.00"), Entry(nil, usagefake.Amount(5), "0.05"),
		Entry(nil, usagefake.Amount(-5), "-0.05"), Entry(nil, usagefake.Amount(-12345), "-123.45"),
		Entry(nil, usagefake.Amount(math.MaxInt64), "92233720368547758.07"), Entry(nil, usagefake.Amount(math.MinInt64), "-92233720368547758.08"),
	)
	DescribeTable("may be read with fewer decimals", func(text string, a usagefake.Amount) {
		var got usagefake.Amount
		Expect(got.UnmarshalText([]byte(text))).To(Succeed())
		Expect(got).To(Equal(a))
	}, Entry(nil, "86", usagefake.Amount(8600)), Entry(nil, "86.4", usagefake.Amount(8640)), Entry(nil, "-0.5", usagefake.Amount(-50)), Entry(nil, "007", usagefake.Amount(700)))
	DescribeTable("is not", func(text string) {
		got := usagefake.Amount(7)
		Expect(got.UnmarshalText([]byte(text))).To(MatchError("usagefake: \"" + text + "\" is no amount; write it as \"86.42\""))
		Expect(got).To(Equal(usagefake.Amount(7)))
	}, Entry(nil, ""), Entry(nil, "-"), Entry(nil, "1."), Entry(nil, ".5"), Entry(nil, "1.234"), Entry(nil, "+1"), Entry(nil, "1e3"), Entry(nil, "--1"), Entry(nil, "1,5"),
		Entry(nil, "92233720368547758.08"), Entry(nil, "1.-5"))
})

var _ = Describe("A failure message", func() {
	It("shows a quota with a line for each thing in it", func() {
		Expect(trapped(usagefake.ScriptRateLimited, usagefake.ModelWindow).read().GomegaString()).To(Equal(
			`ok, account-1, plan plus, rate_limit_reached, as of 2026-07-01T12:00:00Z
  session: 100% of 300 min, resets at 2026-07-01T17:00:00Z
  weekly: 21% of 10080 min, resets at 2026-07-08T12:00:00Z
  weekly-opus of Opus: 31% of 10080 min, resets at 2026-07-08T12:00:00Z
  reset credits: 2 (credit-1 available, credit-2 available)`))
		Expect(trapped(usagefake.ScriptSignedOut).read().String()).To(Equal("needs-auth, usage.reason.signed-out, as of 2026-07-01T12:00:00Z"))
		Expect(usagefake.Quota{Sparse: true, Windows: []usagefake.Window{{ID: "w", UsedPercent: 0.5}}}.String()).To(Equal("update\n  w: 0.5%, reset time unknown"))
		Expect(usagefake.Quota{Sparse: true, Status: usagefake.OK}.String()).To(Equal("update, ok"))
	})
	It("shows a balance, credits and a window in a line", func() {
		q := trapped(usagefake.ScriptBalance, usagefake.BalanceUnavailable).read()
		Expect(q.Balance.GomegaString()).To(Equal("balance: 86.42 CNY (6.42 granted, 80.00 topped up), unavailable"))
		Expect(usagefake.ResetCredits{Available: 2}.GomegaString()).To(Equal("reset credits: 2"))
		Expect(usagefake.Window{ID: "w", UsedPercent: 1}.GomegaString()).To(Equal("w: 1%, reset time unknown"))
		Expect(usagefake.Window{ID: "w", DurationMins: -1}.String()).To(Equal("w: 0% of -1 min, reset time unknown"))
	})
	It("shows token records, a line each", func() {
		r := usagefake.TokenRecord{Day: "2026-07-01", Model: "m", Input: 5, CacheRead: 2, CacheWrite: 1, Output: 3, Reasoning: 2, Total: 8}
		Expect(r.GomegaString()).To(Equal("2026-07-01 m: input 5 (2 read from cache, 1 written), output 3 (2 reasoning), total 8, unpriced"))
		r.Priced, r.CostUSD = true, 0.25
		Expect(r.GomegaString()).To(HaveSuffix("total 8, $0.25"))
		Expect(failure([]usagefake.TokenRecord{r})).To(ContainSubstring("2026-07-01 m: input 5"))
	})
	It("shows an outcome as it is", func() {
		Expect(usagefake.Redemption{Outcome: usagefake.Reset}.GomegaString()).To(Equal("reset"))
	})
})

func failure(actual any) (message string) {
	NewGomega(func(s string, _ ...int) { message = s }).Expect(actual).To(BeEmpty())
	return message
}
