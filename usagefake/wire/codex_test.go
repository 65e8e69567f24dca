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
		for percent, want := range map[float64]any{0.4: 0.0, 99.5: 100.0, -3: -3.0, 130: 130.0, math.Inf(1): nil, 1e300: nil} {
			b := wire.CodexRateLimits(usagefake.Quota{Windows: []usagefake.Window{{UsedPercent: percent}}})
			Expect(dig(b, "rateLimits", "primary")).To(Equal(map[string]any{"usedPercent": want, "windowDurationMins": nil, "resetsAt": nil}), "%v", percent)
		}
	})
})

var _ = Describe("account/rateLimits/updated of Codex", func() {
	It("keeps a window in the slot that it has in the last answer, and has null for what it does not say", func() {
		src := fakeOf(usagefake.Config{Traps: []usagefake.Trap{usagefake.SparseWindow}})
		last := read(src)
		read(src)
		Expect(wire.CodexRateLimitsUpdated(last, read(src))).To(BeEquivalentTo(
			`{"rateLimits":{` + ofCodex + `"primary":null,"secondary":{"usedPercent":23,"windowDurationMins":10080,"resetsAt":1783512000},` + nobody + `"planType":null,` + noLimit + `}}`))
	})
	It("may say nothing but a limit that is reached", func() {
		src := fakeOf(usagefake.Config{Script: usagefake.ScriptRateLimited, Traps: []usagefake.Trap{usagefake.SparseStatus}})
		last := read(src)
		b := wire.CodexRateLimitsUpdated(last, read(src))
		Expect(dig(b, "rateLimits")).To(And(HaveKeyWithValue("primary", BeNil()), HaveKeyWithValue("secondary", BeNil()), HaveKeyWithValue("rateLimitReachedType", "rate_limit_reached")))
	})
	It("may have null for what is known", func() {
		src := fakeOf(usagefake.Config{Traps: []usagefake.Trap{usagefake.SparseNulls, usagefake.WeeklyFirst}})
		last := read(src)
		b := wire.CodexRateLimitsUpdated(last, read(src))
		Expect(dig(b, "rateLimits", "primary")).To(Equal(map[string]any{"usedPercent": 22.0, "windowDurationMins": nil, "resetsAt": nil}))
		Expect(dig(b, "rateLimits", "secondary")).To(Equal(map[string]any{"usedPercent": 12.0, "windowDurationMins": nil, "resetsAt": nil}))
	})
	It("leaves out a window of which the last answer knew nothing", func() {
		b := wire.CodexRateLimitsUpdated(usagefake.Quota{}, usagefake.Quota{Windows: []usagefake.Window{{ID: "w"}}})
		Expect(dig(b, "rateLimits", "primary")).To(BeNil())
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
	It("has null for a reset time that is not known", func() {
		Expect(dig(wire.CodexWeb(first(usagefake.ScriptAvailable, usagefake.NoResetTime)), "rate_limit", "primary_window")).To(
			And(HaveKeyWithValue("reset_at", BeNil()), HaveKeyWithValue("reset_after_seconds", BeNil())))
	})
	It("has credits and no limit for an account that pays by use", func() {
		Expect(wire.CodexWeb(first(usagefake.ScriptBalance))).To(BeEquivalentTo(
			`{"plan_type":null,"rate_limit":null,"credits":{"has_credits":true,"unlimited":false,"balance":"86.42"}}`))
	})
})
