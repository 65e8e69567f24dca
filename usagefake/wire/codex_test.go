package wire_test

import (
	"math"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/usagefake"
	"github.com/understudy-go/understudy/usagefake/wire"
)

const (
	session  = `{"usedPercent":11,"windowDurationMins":300,"resetsAt":1782925200}`
	weekly   = `{"usedPercent":21,"windowDurationMins":10080,"resetsAt":1783512000}`
	nobody   = `"credits":null,"individualLimit":null,`
	noLimit  = `"rateLimitReachedType":null,"spendControlReached":null`
	ofCodex  = `"limitId":"codex","limitName":null,`
	twoThere = `{"availableCount":2,"credits":[` +
		`{"id":"credit-1","grantedAt":1782907200,"expiresAt":null,"resetType":"codexRateLimits","status":"available","title":null,"description":null},` +
		`{"id":"credit-2","grantedAt":1782907200,"expiresAt":null,"resetType":"codexRateLimits","status":"available","title":null,"description":null}]}`
)

var _ = Describe("account/rateLimits/read of Codex", func() {
	It("has the windows in their slots, in seconds and minutes, once alone and once by the limit's id, and the reset credits", func() {
		snapshot := `{` + ofCodex + `"primary":` + session + `,"secondary":` + weekly + `,` + nobody + `"planType":"plus",` + noLimit + `}`
		Expect(wire.CodexRateLimits(first(usagefake.ScriptAvailable))).To(BeEquivalentTo(
			`{"rateLimits":` + snapshot + `,"rateLimitsByLimitId":{"codex":` + snapshot + `},"rateLimitResetCredits":` + twoThere + `}`))
	})
	It("has a weekly window that is alone in the first slot, and nothing in the second", func() {
		b := wire.CodexRateLimits(first(usagefake.ScriptRateLimited, usagefake.WeeklyOnly))
		Expect(dig(b, "rateLimits", "primary", "windowDurationMins")).To(Equal(10080.0))
		Expect(dig(b, "rateLimits", "primary", "usedPercent")).To(Equal(100.0))
		Expect(dig(b, "rateLimits", "secondary")).To(BeNil())
		Expect(dig(b, "rateLimits", "rateLimitReachedType")).To(Equal("rate_limit_reached"))
	})
	It("has windows in the order in which they were said", func() {
		b := wire.CodexRateLimits(first(usagefake.ScriptAvailable, usagefake.WeeklyFirst))
		Expect(dig(b, "rateLimits", "primary", "windowDurationMins")).To(Equal(10080.0))
		Expect(dig(b, "rateLimits", "secondary", "windowDurationMins")).To(Equal(300.0))
	})
	It("has a window of one model in a limit of its own, which reaches nothing for the account", func() {
		q := first(usagefake.ScriptRateLimited, usagefake.ModelWindow)
		b := wire.CodexRateLimits(q)
		Expect(dig(b, "rateLimitsByLimitId")).To(HaveLen(2))
		Expect(dig(b, "rateLimitsByLimitId", "codex")).To(Equal(dig(b, "rateLimits")))
		opus := dig(b, "rateLimitsByLimitId", "codex_opus")
		Expect(opus).To(And(HaveKeyWithValue("limitId", "codex_opus"), HaveKeyWithValue("limitName", "Opus"), HaveKeyWithValue("secondary", BeNil()),
			HaveKeyWithValue("primary", HaveKeyWithValue("usedPercent", 31.0)), HaveKeyWithValue("rateLimitReachedType", BeNil()), HaveKeyWithValue("credits", BeNil())))
	})
	It("says of a model whose window is used up that its limit is reached, and not that the account's is", func() {
		b := wire.CodexRateLimits(usagefake.Quota{Windows: []usagefake.Window{{ID: "a"}, {ID: "b", Scope: "Opus"}, {ID: "c", Scope: "Opus", UsedPercent: 100}}})
		Expect(dig(b, "rateLimitsByLimitId", "codex_opus", "rateLimitReachedType")).To(Equal("rate_limit_reached"))
		Expect(dig(b, "rateLimitsByLimitId", "codex_opus", "secondary", "usedPercent")).To(Equal(100.0))
		Expect(dig(b, "rateLimits", "rateLimitReachedType")).To(BeNil())
	})
	It("has no credits where none are left", func() {
		Expect(dig(wire.CodexRateLimits(usagefake.Quota{Balance: &usagefake.Balance{}}), "rateLimits", "credits", "hasCredits")).To(BeFalse())
	})
	It("has no windows for an account that pays by use, but its credits, as a string", func() {
		b := wire.CodexRateLimits(first(usagefake.ScriptBalance))
		Expect(dig(b, "rateLimits", "primary")).To(BeNil())
		Expect(dig(b, "rateLimits", "planType")).To(BeNil())
		Expect(dig(b, "rateLimits", "credits")).To(Equal(map[string]any{"hasCredits": true, "unlimited": false, "balance": "86.42"}))
		Expect(dig(b, "rateLimitResetCredits")).To(BeNil())
		b = wire.CodexRateLimits(first(usagefake.ScriptBalance, usagefake.BalanceUnavailable))
		Expect(dig(b, "rateLimits", "credits", "hasCredits")).To(BeFalse())
	})
	It("tells no list of credits from an empty one", func() {
		Expect(dig(wire.CodexRateLimits(usagefake.Quota{Resets: &usagefake.ResetCredits{Available: 2}}), "rateLimitResetCredits", "credits")).To(BeNil())
		Expect(dig(wire.CodexRateLimits(usagefake.Quota{Resets: &usagefake.ResetCredits{Credits: []usagefake.Credit{}}}), "rateLimitResetCredits", "credits")).To(BeEmpty())
	})
	It("says when a credit expires, in seconds", func() {
		b := wire.CodexRateLimits(usagefake.Quota{Resets: &usagefake.ResetCredits{Credits: []usagefake.Credit{{ID: "c", ExpiresAt: noon}}}})
		Expect(dig(b, "rateLimitResetCredits", "credits", 0, "expiresAt")).To(Equal(1782907200.0))
	})
	It("rounds percentages, and has null for what is none", func() {
		for percent, want := range map[float64]any{0.4: 0.0, 2.5: 3.0, 99.5: 100.0, -3: -3.0, 130: 130.0, 1 << 53: 1.0 * (1 << 53), 1 << 54: nil, math.Inf(1): nil, 1e300: nil} {
			b := wire.CodexRateLimits(usagefake.Quota{Windows: []usagefake.Window{{UsedPercent: percent}}})
			Expect(dig(b, "rateLimits", "primary")).To(Equal(map[string]any{"usedPercent": want, "windowDurationMins": nil, "resetsAt": nil}), "%v", percent)
		}
	})
})

var _ = Describe("account/rateLimits/updated of Codex", func() {
	// updates are what is pushed of one answer after another.
	updates := func(src usagefake.Source, many int) (out [][]byte) {
		last := read(src)
		for range many {
			update := read(src)
			out = append(out, wire.CodexRateLimitsUpdated(last, update)...)
			last = last.Merge(update)
		}
		return out
	}
	It("keeps a window in the slot that it has in the last answer, and has null for what it does not say", func() {
		all := updates(fakeOf(usagefake.Config{Traps: []usagefake.Trap{usagefake.SparseWindow}}), 2)
		Expect(all).To(HaveLen(2))
		Expect(all[1]).To(BeEquivalentTo(
			`{"rateLimits":{` + ofCodex + `"primary":null,"secondary":{"usedPercent":23,"windowDurationMins":10080,"resetsAt":1783512000},` + nobody + `"planType":null,` + noLimit + `}}`))
	})
	It("may say nothing but a limit that is reached, or nothing at all", func() {
		all := updates(fakeOf(usagefake.Config{Script: usagefake.ScriptRateLimited, Traps: []usagefake.Trap{usagefake.SparseStatus}}), 1)
		Expect(all).To(HaveLen(1))
		Expect(dig(all[0], "rateLimits")).To(And(HaveKeyWithValue("primary", BeNil()), HaveKeyWithValue("secondary", BeNil()), HaveKeyWithValue("rateLimitReachedType", "rate_limit_reached")))
		all = updates(fakeOf(usagefake.Config{Traps: []usagefake.Trap{usagefake.SparseStatus, usagefake.ModelWindow}}), 1)
		Expect(all).To(HaveLen(1))
		Expect(dig(all[0], "rateLimits")).To(And(HaveKeyWithValue("limitId", "codex"), HaveKeyWithValue("rateLimitReachedType", BeNil())))
	})
	It("may have null for what is known", func() {
		b := updates(fakeOf(usagefake.Config{Traps: []usagefake.Trap{usagefake.SparseNulls, usagefake.WeeklyFirst}}), 1)[0]
		Expect(dig(b, "rateLimits", "primary")).To(Equal(map[string]any{"usedPercent": 22.0, "windowDurationMins": nil, "resetsAt": nil}))
		Expect(dig(b, "rateLimits", "secondary")).To(Equal(map[string]any{"usedPercent": 12.0, "windowDurationMins": nil, "resetsAt": nil}))
	})
	It("is one for each limit of which the update speaks, those of models by their names", func() {
		src := fakeOf(usagefake.Config{Traps: []usagefake.Trap{usagefake.ModelWindow, usagefake.SparseWindow}})
		var limits []any
		for _, b := range updates(src, 3) {
			limits = append(limits, dig(b, "rateLimits", "limitId"), dig(b, "rateLimits", "limitName"))
		}
		Expect(limits).To(Equal([]any{"codex_opus", "Opus", "codex", nil, "codex", nil}))
		src = fakeOf(usagefake.Config{Traps: []usagefake.Trap{usagefake.ModelWindow, usagefake.SparseNulls}})
		all := updates(src, 1)
		Expect(all).To(HaveLen(2))
		Expect(dig(all[0], "rateLimits")).To(And(HaveKeyWithValue("limitId", "codex_opus"),
			HaveKeyWithValue("primary", HaveKeyWithValue("usedPercent", 32.0)), HaveKeyWithValue("secondary", BeNil())))
		Expect(dig(all[1], "rateLimits", "secondary", "usedPercent")).To(Equal(22.0))
	})
	DescribeTable("is one of the account beside that of a model where it says", func(update usagefake.Quota) {
		update.Sparse, update.Windows = true, []usagefake.Window{{ID: "o", Scope: "Opus"}}
		all := wire.CodexRateLimitsUpdated(usagefake.Quota{}, update)
		Expect(all).To(HaveLen(2))
		Expect(dig(all[1], "rateLimits", "limitId")).To(Equal("codex"))
	},
		Entry("a plan", usagefake.Quota{Plan: "plus"}),
		Entry("a limit that is reached", usagefake.Quota{Reached: "r"}),
		Entry("a balance", usagefake.Quota{Balance: &usagefake.Balance{}}),
	)
	It("is one of a model, however many windows that has", func() {
		all := wire.CodexRateLimitsUpdated(usagefake.Quota{}, usagefake.Quota{Sparse: true, Windows: []usagefake.Window{{ID: "a", Scope: "Opus"}, {ID: "b", Scope: "Opus", UsedPercent: 5}}})
		Expect(all).To(HaveLen(1))
		Expect(dig(all[0], "rateLimits", "secondary", "usedPercent")).To(Equal(5.0))
	})
	It("has a window of which the last answer knew nothing in the first slot that is free, and none where there is no free one", func() {
		last := usagefake.Quota{Windows: []usagefake.Window{{ID: "a"}}}
		update := usagefake.Quota{Sparse: true, Windows: []usagefake.Window{{ID: "b", UsedPercent: 5}, {ID: "c", UsedPercent: 6}}}
		all := wire.CodexRateLimitsUpdated(last, update)
		Expect(all).To(HaveLen(1))
		Expect(dig(all[0], "rateLimits")).To(And(HaveKeyWithValue("primary", BeNil()), HaveKeyWithValue("secondary", HaveKeyWithValue("usedPercent", 5.0))))
		Expect(dig(wire.CodexRateLimitsUpdated(usagefake.Quota{}, update)[0], "rateLimits", "primary", "usedPercent")).To(Equal(5.0))
	})
})

var _ = Describe("account/rateLimitResetCredit/consume of Codex", func() {
	It("has the outcome", func() {
		Expect(wire.CodexConsume(usagefake.Redemption{Outcome: usagefake.AlreadyRedeemed, Warning: "w"})).To(BeEquivalentTo(`{"outcome":"alreadyRedeemed"}`))
	})
})

var _ = Describe("The web back end of Codex", func() {
	It("has the same in its own words, with seconds for everything", func() {
		q := first(usagefake.ScriptAvailable)
		q.AsOf = noon.Add(90 * time.Second)
		Expect(wire.CodexWeb(q)).To(BeEquivalentTo(`{"plan_type":"plus","rate_limit":{"allowed":true,"limit_reached":false,` +
			`"primary_window":{"used_percent":11,"limit_window_seconds":18000,"reset_after_seconds":17910,"reset_at":1782925200},` +
			`"secondary_window":{"used_percent":21,"limit_window_seconds":604800,"reset_after_seconds":604710,"reset_at":1783512000}},"credits":null}`))
	})
	It("does not allow anything while a limit is reached", func() {
		b := wire.CodexWeb(first(usagefake.ScriptRateLimited, usagefake.MonthlyOnly, usagefake.PastReset))
		Expect(dig(b, "rate_limit")).To(And(HaveKeyWithValue("allowed", false), HaveKeyWithValue("limit_reached", true), HaveKeyWithValue("secondary_window", BeNil())))
		Expect(dig(b, "rate_limit", "primary_window")).To(And(HaveKeyWithValue("limit_window_seconds", 2592000.0), HaveKeyWithValue("reset_after_seconds", -3600.0)))
	})
	It("does not allow anything while a window is used up, also where the limit has no name", func() {
		b := wire.CodexWeb(usagefake.Quota{Windows: []usagefake.Window{{UsedPercent: 100}}})
		Expect(dig(b, "rate_limit")).To(And(HaveKeyWithValue("allowed", false), HaveKeyWithValue("limit_reached", true)))
	})
	It("has no reset come a moment too soon, and does not say how long that is where it does not know since when", func() {
		q := usagefake.Quota{AsOf: noon.Add(time.Millisecond), Windows: []usagefake.Window{{ResetsAt: noon.Add(time.Minute)}}}
		Expect(dig(wire.CodexWeb(q), "rate_limit", "primary_window", "reset_after_seconds")).To(Equal(60.0))
		q.AsOf = time.Time{}
		Expect(dig(wire.CodexWeb(q), "rate_limit", "primary_window")).To(And(HaveKeyWithValue("reset_after_seconds", BeNil()), HaveKeyWithValue("reset_at", Not(BeNil()))))
	})
	It("has null for a reset time that is not known", func() {
		Expect(dig(wire.CodexWeb(first(usagefake.ScriptAvailable, usagefake.NoResetTime)), "rate_limit", "primary_window")).To(
			And(HaveKeyWithValue("reset_at", BeNil()), HaveKeyWithValue("reset_after_seconds", BeNil())))
	})
	It("has credits and no limit for an account that pays by use", func() {
		Expect(wire.CodexWeb(first(usagefake.ScriptBalance))).To(BeEquivalentTo(
			`{"plan_type":null,"rate_limit":null,"credits":{"has_credits":true,"unlimited":false,"balance":"86.42"}}`))
		for _, b := range []*usagefake.Balance{{}, first(usagefake.ScriptBalance, usagefake.BalanceUnavailable).Balance} {
			Expect(dig(wire.CodexWeb(usagefake.Quota{Balance: b}), "credits", "has_credits")).To(BeFalse())
		}
	})
})
