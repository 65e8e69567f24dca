package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/usagefake"
	"github.com/understudy-go/understudy/usagefake/wire"
)

var _ = Describe("The daily rows of ccusage", func() {
	It("have the input without the caches, the four kinds together, and say which price is missing", func() {
		Expect(wire.CCUsageDaily([]usagefake.TokenRecord{
			{Day: "2026-07-01", Model: "a", Input: 10, CacheRead: 3, CacheWrite: 2, Output: 4, Reasoning: 1, Total: 14, Priced: true, CostUSD: 0.5},
			{Day: "2026-07-02", Model: "b", Input: 1, Output: 1, Total: 2},
		})).To(MatchJSON(`{"daily":[
			{"date":"2026-07-01","inputTokens":5,"outputTokens":4,"cacheCreationTokens":2,"cacheReadTokens":3,"totalTokens":14,"totalCost":0.5,"modelsUsed":["a"],
			 "modelBreakdowns":[{"modelName":"a","inputTokens":5,"outputTokens":4,"cacheCreationTokens":2,"cacheReadTokens":3,"cost":0.5}]},
			{"date":"2026-07-02","inputTokens":1,"outputTokens":1,"cacheCreationTokens":0,"cacheReadTokens":0,"totalTokens":2,"totalCost":0,"modelsUsed":["b"],
			 "modelBreakdowns":[{"modelName":"b","inputTokens":1,"outputTokens":1,"cacheCreationTokens":0,"cacheReadTokens":0,"cost":0,"missingPricing":true}]}],
			"totals":{"inputTokens":6,"outputTokens":5,"cacheCreationTokens":2,"cacheReadTokens":3,"totalTokens":16,"totalCost":0.5,"unpricedModels":["b"]}}`))
	})
	It("put the records of one day together, by model, the dearest first, and sort the days", func() {
		b := wire.CCUsageDaily([]usagefake.TokenRecord{
			{Day: "2026-07-02", Model: "b", Input: 1, Output: 1}, {Day: "2026-07-01", Model: "z", Input: 2, Output: 2}, {Day: "2026-07-01", Model: "y"},
			{Day: "2026-07-02", Model: "a", Input: 4, Output: 4, Priced: true, CostUSD: 3}, {Day: "2026-07-02", Model: "b", Input: 8, Output: 8, Priced: true, CostUSD: 2},
		})
		Expect([]any{dig(b, "daily", 0, "date"), dig(b, "daily", 1, "date")}).To(Equal([]any{"2026-07-01", "2026-07-02"}))
		Expect(dig(b, "daily", 0, "modelBreakdowns", 0)).To(HaveKeyWithValue("modelName", "z"), "where none is dearer, it is the order of the records")
		Expect(dig(b, "daily", 1, "modelsUsed")).To(Equal([]any{"b", "a"}))
		Expect(dig(b, "daily", 1, "totalTokens")).To(Equal(26.0))
		Expect(dig(b, "daily", 1, "totalCost")).To(Equal(5.0))
		Expect(dig(b, "daily", 1, "modelBreakdowns", 0)).To(And(HaveKeyWithValue("modelName", "a"), Not(HaveKey("missingPricing"))))
		Expect(dig(b, "daily", 1, "modelBreakdowns", 1)).To(And(HaveKeyWithValue("inputTokens", 9.0), HaveKeyWithValue("cost", 2.0), HaveKeyWithValue("missingPricing", true)))
		Expect(dig(b, "totals", "unpricedModels")).To(Equal([]any{"b", "y", "z"}))
	})
	It("add up to the records of a fake, whatever traps it has", func() {
		for _, traps := range [][]usagefake.Trap{nil, {usagefake.IdleDay}, {usagefake.ZoneBorder, usagefake.UnpricedEndpoint}} {
			all := records(traps...)
			b := wire.CCUsageDaily(all)
			Expect(dig(b, "daily")).To(HaveLen(len(all)))
			var total, reasoning int64
			for _, r := range all {
				total += r.Total
				reasoning += r.Reasoning
			}
			Expect(reasoning).To(BeNumerically(">", 0), "which is in the output, and not added to it")
			Expect(dig(b, "totals", "totalTokens")).To(Equal(float64(total)))
		}
		Expect(dig(wire.CCUsageDaily(records(usagefake.UnpricedEndpoint)), "totals")).To(And(
			HaveKeyWithValue("totalCost", 0.0), HaveKeyWithValue("unpricedModels", []any{usagefake.PricedModel})))
	})
	It("sort the models that have no price", func() {
		b := wire.CCUsageDaily([]usagefake.TokenRecord{{Model: "c"}, {Model: "a"}, {Model: "b"}, {Model: "a"}})
		Expect(dig(b, "totals", "unpricedModels")).To(Equal([]any{"a", "b", "c"}))
	})
	It("of nothing are an empty list", func() {
		b := wire.CCUsageDaily(nil)
		Expect(dig(b, "daily")).To(BeEmpty())
		Expect(dig(b, "totals")).NotTo(HaveKey("unpricedModels"))
	})
	It("have null for a cost that is no number", func() {
		Expect(dig(wire.CCUsageDaily([]usagefake.TokenRecord{{Priced: true, CostUSD: math.Inf(1)}}), "totals", "totalCost")).To(BeNil())
	})
})

var _ = Describe("The balance of DeepSeek", func() {
	It("has amounts as strings", func() {
		Expect(wire.DeepSeekBalance(first(usagefake.ScriptBalance), wire.Units{})).To(BeEquivalentTo(
			`{"is_available":true,"balance_infos":[{"currency":"CNY","total_balance":"86.42","granted_balance":"6.42","topped_up_balance":"80.00"}]}`))
	})
	It("may have them as numbers", func() {
		Expect(wire.DeepSeekBalance(first(usagefake.ScriptBalance), wire.Units{Numbers: true})).To(BeEquivalentTo(
			`{"is_available":true,"balance_infos":[{"currency":"CNY","total_balance":86.42,"granted_balance":6.42,"topped_up_balance":80.00}]}`))
	})
	It("may be unavailable with money left, and is with none", func() {
		b := wire.DeepSeekBalance(first(usagefake.ScriptBalance, usagefake.BalanceUnavailable), wire.Units{})
		Expect(dig(b, "is_available")).To(BeFalse())
		Expect(dig(b, "balance_infos", 0, "total_balance")).To(Equal("86.42"))
		Expect(dig(wire.DeepSeekBalance(usagefake.Quota{Balance: &usagefake.Balance{}}, wire.Units{}), "is_available")).To(BeFalse())
	})
	It("is none where the account has windows", func() {
		Expect(wire.DeepSeekBalance(first(usagefake.ScriptAvailable), wire.Units{})).To(BeEquivalentTo(`{"is_available":false,"balance_infos":[]}`))
	})
})

var _ = Describe("A usage report", func() {
	It("names windows by their lengths, and says what is left and how bad that is", func() {
		Expect(wire.Report(first(usagefake.ScriptRateLimited, usagefake.ModelWindow), nil)).To(BeEquivalentTo(`{"status":"available","planLabel":"plus","windows":[` +
			`{"id":"five_hour","label":"usage.window.session","usedPct":100,"remainingPct":0,"resetsAt":"2026-07-01T17:00:00.000Z","tone":"danger"},` +
			`{"id":"weekly","label":"usage.window.weekly","usedPct":21,"remainingPct":79,"resetsAt":"2026-07-08T12:00:00.000Z","tone":"ok"},` +
			`{"id":"opus:weekly","label":"usage.window.weekly-model","usedPct":31,"remainingPct":69,"resetsAt":"2026-07-08T12:00:00.000Z","tone":"ok"}]}`))
	})
	DescribeTable("has a tone for each percentage:", func(percent, left float64, tone string) {
		b := wire.Report(usagefake.Quota{Windows: []usagefake.Window{{UsedPercent: percent, DurationMins: 43200}}}, nil)
		Expect(dig(b, "windows", 0)).To(Equal(map[string]any{"id": "2592000s", "label": "", "usedPct": percent, "remainingPct": left, "resetsAt": nil, "tone": tone}))
	}, Entry(nil, 0.0, 100.0, "ok"), Entry(nil, 69.0, 31.0, "ok"), Entry(nil, 70.0, 30.0, "warning"), Entry(nil, 90.0, 10.0, "warning"), Entry(nil, 90.5, 9.5, "danger"), Entry(nil, 130.0, 0.0, "danger"))
	It("says times in UTC, whatever zone they have", func() {
		q := usagefake.Quota{Windows: []usagefake.Window{{ResetsAt: noon.In(time.FixedZone("far", 9*3600))}}}
		Expect(dig(wire.Report(q, nil), "windows", 0, "resetsAt")).To(Equal("2026-07-01T12:00:00.000Z"))
	})
	It("has no numbers for what is no number, and its own name where the length is not known", func() {
		b := wire.Report(usagefake.Quota{Windows: []usagefake.Window{{ID: "w", UsedPercent: math.NaN()}}}, nil)
		Expect(dig(b, "windows", 0)).To(Equal(map[string]any{"id": "w", "label": "", "usedPct": nil, "remainingPct": nil, "resetsAt": nil, "tone": "default"}))
	})
	It("never says that yuan are dollars", func() {
		Expect(wire.Report(first(usagefake.ScriptBalance), nil)).To(BeEquivalentTo(
			`{"status":"available","windows":[],"details":[{"id":"account","label":"usage.balance.account","value":"86.42 CNY","tone":"ok"}]}`))
		Expect(dig(wire.Report(first(usagefake.ScriptBalance, usagefake.BalanceUnavailable), nil), "details", 0, "tone")).To(Equal("danger"))
	})
	It("has a balance in dollars, as a number", func() {
		Expect(wire.Report(usagefake.Quota{Balance: &usagefake.Balance{Label: "l", Currency: "USD", Total: 150}}, nil)).To(BeEquivalentTo(
			`{"status":"available","windows":[],"balances":[{"id":"account","label":"l","remaining":1.50,"unit":"usd","tone":"ok"}]}`))
		Expect(dig(wire.Report(usagefake.Quota{Balance: &usagefake.Balance{Currency: "USD"}}, nil), "balances", 0, "tone")).To(Equal("danger"))
	})
	DescribeTable("says why there is none:", func(q usagefake.Quota, err error, want string) {
		Expect(wire.Report(q, err)).To(BeEquivalentTo(want))
	},
		Entry("signed out", usagefake.Quota{Status: usagefake.NeedsAuth}, nil, `{"status":"unavailable","problem":{"kind":"rejected","status":401}}`),
		Entry("signed out, by an error", usagefake.Quota{}, fmt.Errorf("x: %w", usagefake.ErrSignedOut), `{"status":"unavailable","problem":{"kind":"rejected","status":401}}`),
		Entry("unsupported", usagefake.Quota{Status: usagefake.Unsupported, Reason: "why"}, nil, `{"status":"unavailable","problem":{"kind":"no_quota","detail":"why"}}`),
		Entry("unsupported, by an error", usagefake.Quota{}, usagefake.ErrUnsupported, `{"status":"unavailable","problem":{"kind":"no_quota","detail":"unsupported"}}`),
		Entry("an error beside an answer", usagefake.Quota{Status: usagefake.NeedsAuth}, errors.New("x"), `{"status":"error","error":"x"}`),
		Entry("any error", usagefake.Quota{}, errors.New("a < b"), `{"status":"error","error":"a < b"}`),
		Entry("throttled, which is no problem of the login", usagefake.Quota{}, &usagefake.ThrottledError{}, `{"status":"error","error":"usagefake: the usage endpoint is throttled; try again in 0s"}`),
	)
})

var _ = Describe("The detail of a usage limit", func() {
	It("says when the window resets, in both forms", func() {
		var e *usagefake.LimitError
		Expect(errors.As(first(usagefake.ScriptRateLimited).Limit(), &e)).To(BeTrue())
		Expect(wire.UsageLimit(e)).To(BeEquivalentTo(`{"kind":"usage-limit","resetsAt":"2026-07-01T17:00:00.000Z","resetsAtEpochSeconds":1782925200}`))
	})
	It("leaves that out where it is not known", func() {
		Expect(wire.UsageLimit(&usagefake.LimitError{})).To(BeEquivalentTo(`{"kind":"usage-limit"}`))
	})
})

var _ = Describe("Every encoder", func() {
	It("makes JSON of whatever a fake says, and of what nobody should say", func() {
		var said []usagefake.Quota
		for _, script := range usagefake.Scripts() {
			for _, t := range usagefake.Traps() {
				f, err := usagefake.New(usagefake.Config{Script: script, Traps: []usagefake.Trap{t}})
				for range 5 {
					if err == nil {
						q, _ := f.ReadQuota(context.Background())
						said = append(said, q)
					}
				}
			}
		}
		for _, p := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 1e300, math.SmallestNonzeroFloat64} {
			said = append(said, usagefake.Quota{Plan: "\xff</script>", Windows: []usagefake.Window{{UsedPercent: p, DurationMins: 300}, {UsedPercent: p, DurationMins: 10080, Scope: "\x00"}},
				Balance: &usagefake.Balance{Total: math.MinInt64, Currency: "\xff"}, Resets: &usagefake.ResetCredits{Available: -1}})
		}
		for _, q := range said {
			for _, u := range []wire.Units{{}, {Percent: true, Millis: true, Numbers: true}} {
				for _, b := range slices.Concat(wire.ClaudeRateLimitEvents(q, u), wire.CodexRateLimitsUpdated(said[0], q), [][]byte{
					wire.CodexRateLimits(q), wire.CodexWeb(q), wire.ClaudeUsage(q), wire.DeepSeekBalance(q, u), wire.Report(q, nil)}) {
					Expect(json.Valid(b)).To(BeTrue(), "%s", b)
				}
			}
		}
	})
})
