package usagefake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/usagefake"
)

func saying(q usagefake.Quota) usagefake.Config {
	return usagefake.Config{Quotas: quotaAnswers{usagefake.Say(q)}}
}

func window(w usagefake.Window) usagefake.Config {
	return saying(usagefake.Quota{AsOf: noon, Windows: []usagefake.Window{{ID: "first"}, w}})
}

func credit(available int, credits ...usagefake.Credit) usagefake.Config {
	return saying(usagefake.Quota{Resets: &usagefake.ResetCredits{Available: available, Credits: credits}})
}

// record is a good record with a change.
func record(change func(*usagefake.TokenRecord)) usagefake.Config {
	good := usagefake.TokenRecord{Day: "2026-07-01", At: noon, Model: "m", Input: 5, CacheRead: 2, CacheWrite: 3, Output: 3, Reasoning: 3, Total: 8, Priced: true, CostUSD: 1}
	bad := good
	change(&bad)
	return usagefake.Config{Tokens: []usagefake.Answer[[]usagefake.TokenRecord]{usagefake.Say([]usagefake.TokenRecord{good, bad})}}
}

func nobodys(status string) string {
	return "quotas[0].say.status is " + status + ", and yet there are numbers; leave out account, plan, windows, reached, balance and resets" + meant
}

const (
	meant    = "; if that is meant, set unchecked"
	allTraps = "There are weeklyOnly, monthlyOnly, weeklyFirst, modelWindow, noResetTime, edgePercents, pastReset, resetMovesBack, sparseWindow, sparseStatus, " +
		"sparseNulls, accountSwitch, throttled, balanceUnavailable, lostReply, oneWindowFails, unpricedEndpoint, zoneBorder, idleDay"
)

var _ = Describe("A Config", func() {
	DescribeTable("is refused", func(cfg usagefake.Config, text string) {
		cfg.Now = func() time.Time { return noon }
		f, err := usagefake.New(cfg)
		Expect(f).To(BeNil())
		Expect(err).To(MatchError("usagefake: " + text))
	},
		Entry("with an unknown script", usagefake.Config{Script: "availble"},
			`there is no script "availble", did you mean "available"? There are available, balance, rate-limited, custom-endpoint, signed-out`),
		Entry("with a script of other letters", usagefake.Config{Script: "Signed-Out"},
			`there is no script "Signed-Out", did you mean "signed-out"? There are available, balance, rate-limited, custom-endpoint, signed-out`),
		Entry("with an unknown trap", usagefake.Config{Traps: []usagefake.Trap{"sparseNull"}}, `there is no trap "sparseNull", did you mean "sparseNulls"? `+allTraps),
		Entry("with a script that is like none", usagefake.Config{Script: "bala"}, `there is no script "bala". There are available, balance, rate-limited, custom-endpoint, signed-out`),
		Entry("with a long trap that is like none", usagefake.Config{Traps: []usagefake.Trap{usagefake.Trap(strings.Repeat("x", 50))}},
			`there is no trap "`+strings.Repeat("x", 40)+`". `+allTraps),
		Entry("with a trap twice", usagefake.Config{Traps: []usagefake.Trap{usagefake.IdleDay, usagefake.WeeklyOnly, usagefake.IdleDay}}, "trap idleDay stands there twice"),
		Entry("with a trap for another script", usagefake.Config{Script: usagefake.ScriptBalance, Traps: []usagefake.Trap{usagefake.WeeklyOnly}},
			"trap weeklyOnly is not for the script balance; it is for available or rate-limited"),
		Entry("with a trap for another script than the one it has", usagefake.Config{Traps: []usagefake.Trap{usagefake.BalanceUnavailable}},
			"trap balanceUnavailable is not for the script available; it is for balance"),
		Entry("with traps that contradict each other", usagefake.Config{Traps: []usagefake.Trap{usagefake.MonthlyOnly, usagefake.WeeklyOnly}},
			"the traps weeklyOnly and monthlyOnly contradict each other; set one of them"),
		Entry("with a trap that needs another", usagefake.Config{Traps: []usagefake.Trap{usagefake.OneWindowFails}},
			"trap oneWindowFails does nothing without weeklyOnly or monthlyOnly"),

		Entry("with an answer that is two", usagefake.Config{Quotas: quotaAnswers{{}, {Hang: true, Fail: errors.New("x")}}},
			"quotas[1] has fail and hang; an answer is one of them"),
		Entry("with an answer that is all", usagefake.Config{Quotas: quotaAnswers{{Say: new(usagefake.Quota), Fail: errors.New("x"), Hang: true, Lost: true, Malformed: "x"}}},
			"quotas[0] has say and fail and hang and lost and malformed; an answer is one of them"),
		Entry("with an answer that is not checked and says nothing", usagefake.Config{Redemptions: []usagefake.Answer[usagefake.Redemption]{{Unchecked: true}}},
			"redemptions[0] is unchecked, and says nothing that could be checked; set say"),

		Entry("with a refusal until before", usagefake.Config{Quotas: quotaAnswers{{Fail: fmt.Errorf("host: %w", &usagefake.ThrottledError{RetryAfter: -time.Second})}}},
			"quotas[0].fail.retryAfter must be 0 or more, is -1s"),

		Entry("with a percentage below 0", window(usagefake.Window{ID: "w", UsedPercent: -3}), "quotas[0].say.windows[1].usedPercent must be 0 or more, is -3"+meant),
		Entry("with a percentage that is no number", window(usagefake.Window{ID: "w", UsedPercent: math.NaN()}), "quotas[0].say.windows[1].usedPercent must be 0 or more, is NaN"+meant),
		Entry("with an endless percentage", window(usagefake.Window{ID: "w", UsedPercent: math.Inf(1)}), "quotas[0].say.windows[1].usedPercent must be 0 or more, is +Inf"+meant),
		Entry("with a window that ends before it is read", window(usagefake.Window{ID: "w", ResetsAt: noon.Add(-time.Hour)}),
			"quotas[0].say.windows[1].resetsAt is 2026-07-01T11:00:00Z, and must not be before asOf, which is 2026-07-01T12:00:00Z"+meant),
		Entry("with a window that ends before the clock's time", saying(usagefake.Quota{Windows: []usagefake.Window{{ID: "w", ResetsAt: noon.Add(-1)}}}),
			"quotas[0].say.windows[0].resetsAt is 2026-07-01T11:59:59.999999999Z, and must not be before asOf, which is 2026-07-01T12:00:00Z"+meant),
		Entry("with a window that begins after it is read", window(usagefake.Window{ID: "w", DurationMins: 300, ResetsAt: noon.Add(5*time.Hour + 1)}),
			"quotas[0].say.windows[1].resetsAt is 2026-07-01T17:00:00.000000001Z, and must be at most durationMins, 300, after asOf, which is 2026-07-01T12:00:00Z"+meant),
		Entry("with a window that begins after the clock's time", saying(usagefake.Quota{Windows: []usagefake.Window{{ID: "w", DurationMins: 60, ResetsAt: noon.AddDate(900, 0, 0)}}}),
			"quotas[0].say.windows[0].resetsAt is 2926-07-01T12:00:00Z, and must be at most durationMins, 60, after asOf, which is 2026-07-01T12:00:00Z"+meant),
		Entry("with an update that ends before it begins", saying(usagefake.Quota{Sparse: true, AsOf: noon, Windows: []usagefake.Window{{ID: "w", ResetsAt: noon.Add(-1)}}}),
			"quotas[0].say.windows[0].resetsAt is 2026-07-01T11:59:59.999999999Z, and must not be before asOf, which is 2026-07-01T12:00:00Z"+meant),
		Entry("with a window of a length below 0", window(usagefake.Window{ID: "w", DurationMins: -1}), "quotas[0].say.windows[1].durationMins must be 0 or more, is -1"+meant),
		Entry("with a window without an id", window(usagefake.Window{}), "quotas[0].say.windows[1].id is missing; it is a name such as session"+meant),
		Entry("with two windows of one id", window(usagefake.Window{ID: "first"}), `quotas[0].say.windows[1].id is "first", as that of windows[0]; each must have its own`+meant),
		Entry("with two names of one model", saying(usagefake.Quota{Windows: []usagefake.Window{{ID: "a", Scope: "Opus"}, {ID: "b"}, {ID: "c", Scope: "opus"}}}),
			`quotas[0].say.windows[2].scope is "opus", and that of windows[0] is "Opus"; a model has one name`+meant),
		Entry("with an unknown status", saying(usagefake.Quota{Status: "fine"}), `quotas[0].say.status must be ok or needs-auth or unsupported, is "fine"`+meant),
		Entry("with windows of nobody", saying(usagefake.Quota{Status: usagefake.NeedsAuth, Windows: []usagefake.Window{{ID: "w"}}}), nobodys("needs-auth")),
		Entry("with an update of nobody's", saying(usagefake.Quota{Sparse: true, Status: usagefake.NeedsAuth, Windows: []usagefake.Window{{ID: "w"}}}), nobodys("needs-auth")),
		Entry("with an account of nobody", saying(usagefake.Quota{Status: usagefake.NeedsAuth, Account: "a"}), nobodys("needs-auth")),
		Entry("with a plan of nobody", saying(usagefake.Quota{Status: usagefake.NeedsAuth, Plan: "plus"}), nobodys("needs-auth")),
		Entry("with a limit of nobody", saying(usagefake.Quota{Status: usagefake.Unsupported, Reached: "r"}), nobodys("unsupported")),
		Entry("with money where there is none", saying(usagefake.Quota{Status: usagefake.Unsupported, Balance: &usagefake.Balance{Currency: "CNY"}}), nobodys("unsupported")),
		Entry("with credits where there are none", saying(usagefake.Quota{Status: usagefake.Unsupported, Resets: &usagefake.ResetCredits{}}), nobodys("unsupported")),
		Entry("with money of no currency", saying(usagefake.Quota{Balance: &usagefake.Balance{}}), "quotas[0].say.balance.currency is missing; it is a code such as CNY"+meant),
		Entry("with money that does not add up", saying(usagefake.Quota{Balance: &usagefake.Balance{Currency: "CNY", Total: 100, Granted: 1, ToppedUp: 98}}),
			"quotas[0].say.balance.total is 1.00, and must be granted and toppedUp together: 0.01 and 0.98"+meant),
		Entry("with more money than a number holds", saying(usagefake.Quota{Balance: &usagefake.Balance{Currency: "CNY", Total: -2, Granted: math.MaxInt64, ToppedUp: math.MaxInt64}}),
			"quotas[0].say.balance.total is -0.02, and must be granted and toppedUp together: 92233720368547758.07 and 92233720368547758.07"+meant),
		Entry("with more debts than a number holds", saying(usagefake.Quota{Balance: &usagefake.Balance{Currency: "CNY", Granted: math.MinInt64, ToppedUp: math.MinInt64}}),
			"quotas[0].say.balance.total is 0.00, and must be granted and toppedUp together: -92233720368547758.08 and -92233720368547758.08"+meant),

		Entry("with credits below 0", credit(-1), "quotas[0].say.resets.available must be 0 or more, is -1"+meant),
		Entry("with a credit without an id", credit(1, usagefake.Credit{Status: usagefake.CreditAvailable}), "quotas[0].say.resets.credits[0].id is missing; it is a name such as credit-1"+meant),
		Entry("with two credits of one id", credit(2, usagefake.Credit{ID: "c", Status: "unknown"}, usagefake.Credit{ID: "c", Status: "unknown"}),
			`quotas[0].say.resets.credits[1].id is "c", as that of another one; each must have its own`+meant),
		Entry("with a credit of an unknown status", credit(1, usagefake.Credit{ID: "c", Status: "spent"}),
			`quotas[0].say.resets.credits[0].status must be available or redeeming or redeemed or unknown, is "spent"`+meant),
		Entry("with a credit that ends before it begins", credit(1, usagefake.Credit{ID: "c", Status: "available", GrantedAt: noon, ExpiresAt: noon.Add(-1)}),
			"quotas[0].say.resets.credits[0].expiresAt is 2026-07-01T11:59:59.999999999Z, and must not be before grantedAt, which is 2026-07-01T12:00:00Z"+meant),
		Entry("with more credits than there are", credit(0, usagefake.Credit{ID: "c", Status: "available"}),
			"quotas[0].say.resets.available is 0, and must be at least 1, as so many credits are available"+meant),

		Entry("with a day that is none", record(func(r *usagefake.TokenRecord) { r.Day = "1.7.2026" }), `tokens[0].say[1].day must be a day such as 2026-07-01, is "1.7.2026"`+meant),
		Entry("with a time on another day", record(func(r *usagefake.TokenRecord) { r.At = noon.AddDate(0, 0, 1) }),
			"tokens[0].say[1].at is on 2026-07-02 in UTC, and must be on the day, which is 2026-07-01"+meant),
		Entry("with days in another order", record(func(r *usagefake.TokenRecord) { r.Day, r.At = "2026-06-30", noon.AddDate(0, 0, -1) }),
			"tokens[0].say[1].day is 2026-06-30, after 2026-07-01; the oldest comes first"+meant),
		Entry("with a record of no model", record(func(r *usagefake.TokenRecord) { r.Model = "" }), "tokens[0].say[1].model is missing; it is a name such as claude-sonnet-4-5"+meant),
		Entry("with input below 0", record(func(r *usagefake.TokenRecord) { r.Input = -1 }), "tokens[0].say[1].input must be 0 or more, is -1"+meant),
		Entry("with tokens of a cache below 0", record(func(r *usagefake.TokenRecord) { r.CacheRead = -1 }), "tokens[0].say[1].cacheRead must be 0 or more, is -1"+meant),
		Entry("with tokens to a cache below 0", record(func(r *usagefake.TokenRecord) { r.CacheWrite = -1 }), "tokens[0].say[1].cacheWrite must be 0 or more, is -1"+meant),
		Entry("with output below 0", record(func(r *usagefake.TokenRecord) { r.Output = -1 }), "tokens[0].say[1].output must be 0 or more, is -1"+meant),
		Entry("with reasoning below 0", record(func(r *usagefake.TokenRecord) { r.Reasoning = -1 }), "tokens[0].say[1].reasoning must be 0 or more, is -1"+meant),
		Entry("with a total below 0", record(func(r *usagefake.TokenRecord) { r.Total = -1 }), "tokens[0].say[1].total must be 0 or more, is -1"+meant),
		Entry("with more from caches than a number holds", record(func(r *usagefake.TokenRecord) { r.CacheRead, r.CacheWrite = math.MaxInt64, math.MaxInt64 }),
			"tokens[0].say[1].input is 5, and must be at least cacheRead and cacheWrite together, which are in it: 9223372036854775807 and 9223372036854775807"+meant),
		Entry("with a total that no number holds", record(func(r *usagefake.TokenRecord) { r.Input, r.Output = math.MaxInt64, math.MaxInt64 }),
			"tokens[0].say[1].total is 8, and must be input and output together, which is 18446744073709551614"+meant),
		Entry("with more from the cache than came in", record(func(r *usagefake.TokenRecord) { r.CacheRead = 3 }),
			"tokens[0].say[1].input is 5, and must be at least cacheRead and cacheWrite together, which are in it: 3 and 3"+meant),
		Entry("with more reasoning than came out", record(func(r *usagefake.TokenRecord) { r.Reasoning = 4 }), "tokens[0].say[1].output is 3, and must be at least reasoning, which is in it: 4"+meant),
		Entry("with a total that does not add up", record(func(r *usagefake.TokenRecord) { r.Total = 11 }), "tokens[0].say[1].total is 11, and must be input and output together, which is 8"+meant),
		Entry("with a cost below 0", record(func(r *usagefake.TokenRecord) { r.CostUSD = -1 }), "tokens[0].say[1].costUSD must be 0 or more, is -1"+meant),
		Entry("with a cost that is no number", record(func(r *usagefake.TokenRecord) { r.CostUSD = math.NaN() }), "tokens[0].say[1].costUSD must be 0 or more, is NaN"+meant),
		Entry("with an endless cost", record(func(r *usagefake.TokenRecord) { r.CostUSD = math.Inf(1) }), "tokens[0].say[1].costUSD must be 0 or more, is +Inf"+meant),
		Entry("with a price for what has none", record(func(r *usagefake.TokenRecord) { r.Priced = false }), "tokens[0].say[1].costUSD is 1, and must be 0 where priced is false"+meant),

		Entry("with an unknown outcome", usagefake.Config{Redemptions: []usagefake.Answer[usagefake.Redemption]{usagefake.Say(usagefake.Redemption{})}},
			`redemptions[0].say.outcome must be reset or nothingToReset or noCredit or alreadyRedeemed, is ""`+meant),
	)
	DescribeTable("may have", func(cfg usagefake.Config) {
		cfg.Now = func() time.Time { return noon }
		_, err := usagefake.New(cfg)
		Expect(err).NotTo(HaveOccurred())
	},
		Entry("a window that ends as it is read", window(usagefake.Window{ID: "w", ResetsAt: noon})),
		Entry("a window that begins as it is read", window(usagefake.Window{ID: "w", DurationMins: 300, ResetsAt: noon.Add(5 * time.Hour)})),
		Entry("a window of an unknown length that ends far away", window(usagefake.Window{ID: "w", ResetsAt: noon.AddDate(900, 0, 0)})),
		Entry("a window of any length", window(usagefake.Window{ID: "w", DurationMins: math.MaxInt, ResetsAt: noon.AddDate(900, 0, 0)})),
		Entry("an answer of before, with a window of before", saying(usagefake.Quota{AsOf: noon.AddDate(-1, 0, 0), Windows: []usagefake.Window{{ID: "w", ResetsAt: noon.AddDate(-1, 0, 0)}}})),
		Entry("an update of a time that it does not say", saying(usagefake.Quota{Sparse: true, Windows: []usagefake.Window{{ID: "w", DurationMins: 300, ResetsAt: noon.AddDate(0, 0, 1)}, {ID: "v", ResetsAt: noon.Add(-1)}}})),
		Entry("two windows of one model", saying(usagefake.Quota{Windows: []usagefake.Window{{ID: "a", Scope: "Opus"}, {ID: "b", Scope: "Opus"}}})),
		Entry("a status and a reason, and no more", saying(usagefake.Quota{Sparse: true, Status: usagefake.NeedsAuth, Reason: "r", AsOf: noon})),
		Entry("a balance below 0", saying(usagefake.Quota{Balance: &usagefake.Balance{Currency: "CNY", Total: -100, Granted: 50, ToppedUp: -150}})),
		Entry("a refusal until now", usagefake.Config{Quotas: quotaAnswers{{Fail: &usagefake.ThrottledError{}}}}),
		Entry("fewer credits than are available, one of which ends as it begins",
			credit(2, usagefake.Credit{ID: "c", Status: usagefake.CreditAvailable, GrantedAt: noon, ExpiresAt: noon})),
		Entry("two records of a day", record(func(*usagefake.TokenRecord) {})),
		Entry("a record of a time in another zone", record(func(r *usagefake.TokenRecord) { r.At = noon.In(time.FixedZone("far", 13*3600)) })),
		Entry("a record as large as numbers are", record(func(r *usagefake.TokenRecord) {
			r.Input, r.CacheRead, r.CacheWrite, r.Output, r.Reasoning, r.Total = math.MaxInt64, math.MaxInt64, 0, 0, 0, math.MaxInt64
		})),
		Entry("any cost", record(func(r *usagefake.TokenRecord) { r.CostUSD = math.MaxFloat64 })),
	)
	It("goes with these traps", func() {
		windowed := []usagefake.Trap{usagefake.WeeklyOnly, usagefake.MonthlyOnly, usagefake.WeeklyFirst, usagefake.ModelWindow, usagefake.NoResetTime, usagefake.PastReset,
			usagefake.ResetMovesBack, usagefake.SparseWindow, usagefake.SparseStatus, usagefake.SparseNulls, usagefake.AccountSwitch, usagefake.Throttled, usagefake.LostReply}
		tokens := []usagefake.Trap{usagefake.UnpricedEndpoint, usagefake.ZoneBorder, usagefake.IdleDay}
		want := map[usagefake.Script][]usagefake.Trap{
			usagefake.ScriptAvailable:      append(windowed, usagefake.EdgePercents),
			usagefake.ScriptRateLimited:    windowed,
			usagefake.ScriptBalance:        {usagefake.Throttled, usagefake.BalanceUnavailable},
			usagefake.ScriptCustomEndpoint: nil,
			usagefake.ScriptSignedOut:      nil,
		}
		for _, script := range usagefake.Scripts() {
			var good []usagefake.Trap
			for _, t := range usagefake.Traps() {
				if _, err := usagefake.New(usagefake.Config{Script: script, Traps: []usagefake.Trap{t}}); err == nil {
					good = append(good, t)
				}
			}
			Expect(good).To(ConsistOf(append(tokens, want[script]...)), "%s", script)
		}
	})
	It("is refused with these pairs of traps, and with no other of a script", func() {
		var pairs []string
		for i, a := range usagefake.Traps() {
			for _, b := range usagefake.Traps()[i+1:] {
				_, err := usagefake.New(usagefake.Config{Traps: []usagefake.Trap{a, b}})
				if err != nil && strings.Contains(err.Error(), "contradict") {
					pairs = append(pairs, string(a+" "+b))
				}
			}
		}
		Expect(pairs).To(Equal([]string{
			"weeklyOnly monthlyOnly", "weeklyOnly weeklyFirst", "weeklyOnly noResetTime", "monthlyOnly weeklyFirst", "monthlyOnly modelWindow", "monthlyOnly noResetTime",
			"modelWindow oneWindowFails", "edgePercents accountSwitch", "pastReset resetMovesBack", "resetMovesBack sparseWindow", "resetMovesBack sparseStatus",
			"resetMovesBack sparseNulls", "sparseWindow sparseStatus", "sparseWindow sparseNulls", "sparseWindow accountSwitch", "sparseStatus sparseNulls",
			"sparseStatus accountSwitch", "sparseNulls accountSwitch", "lostReply oneWindowFails"}))
	})
	It("with several answers that are none has the first of each list in its error", func() {
		cfg := window(usagefake.Window{ID: "w", UsedPercent: -3})
		cfg.Redemptions = []usagefake.Answer[usagefake.Redemption]{{Unchecked: true}}
		_, err := usagefake.New(cfg)
		Expect(err).To(MatchError("usagefake: quotas[0].say.windows[1].usedPercent must be 0 or more, is -3" + meant +
			"\nusagefake: redemptions[0] is unchecked, and says nothing that could be checked; set say"))
	})
	It("may have at once all traps that do not contradict each other", func() {
		for _, a := range usagefake.Traps() {
			for _, b := range usagefake.Traps() {
				for _, script := range usagefake.Scripts() {
					f, err := usagefake.New(usagefake.Config{Script: script, Traps: []usagefake.Trap{a, b}})
					_, other := usagefake.New(usagefake.Config{Script: script, Traps: []usagefake.Trap{b, a}})
					Expect(err == nil).To(Equal(other == nil), "the order of %s and %s counts", a, b)
					if err != nil {
						continue
					}
					for range 5 {
						_, _ = f.ReadQuota(context.Background())
						_, _ = f.RedeemQuotaReset(context.Background(), "")
						_, _ = f.ReadTokenUsage(context.Background())
					}
				}
			}
		}
	})
	It("says what its traps are for, each somewhere", func() {
		for _, t := range usagefake.Traps() {
			works := false
			for _, script := range usagefake.Scripts() {
				for _, with := range append(usagefake.Traps(), t) {
					_, err := usagefake.New(usagefake.Config{Script: script, Traps: []usagefake.Trap{t, with}})
					works = works || err == nil
				}
			}
			Expect(works).To(BeTrue(), "%s", t)
		}
	})
})

func decode(text string) (usagefake.Config, error) {
	var cfg usagefake.Config
	err := json.Unmarshal([]byte(text), &cfg)
	return cfg, err
}

var _ = Describe("A Config in JSON", func() {
	It("has everything but the clock", func() {
		cfg, err := decode(`{
			"script": "rate-limited",
			"traps":  ["weeklyOnly", "idleDay"],
			"quotas": [
				{"say": {"plan": "pro", "asOf": "2026-07-01T12:00:00Z", "windows": [{"id": "w", "label": "l", "usedPercent": 1e1, "durationMins": 60, "resetsAt": "2026-07-01T13:00:00Z", "scope": "Opus"}],
				         "balance": {"label": "b", "currency": "CNY", "total": "1.50", "granted": "0.5", "toppedUp": "1", "unavailable": true},
				         "resets": {"available": 1, "credits": [{"id": "c", "status": "available", "grantedAt": "2026-07-01T12:00:00Z"}]}}},
				{"say": {"windows": [{"id": "w", "usedPercent": -1}]}, "unchecked": true},
				{"fail": "signed-out"}, {"fail": "unsupported"}, {"fail": "throttled"}, {"fail": "no route to host"}, {"fail": ""},
				{"hang": true}, {"lost": true}, {"malformed": "<html>"}, {}
			],
			"tokens": [{"say": []}],
			"redemptions": [{"say": {"outcome": "nothingToReset", "warning": "w"}}]
		}`)
		Expect(err).NotTo(HaveOccurred())
		Expect(cfg).To(Equal(usagefake.Config{
			Script: usagefake.ScriptRateLimited, Traps: []usagefake.Trap{usagefake.WeeklyOnly, usagefake.IdleDay},
			Quotas: quotaAnswers{
				usagefake.Say(usagefake.Quota{Plan: "pro", AsOf: noon,
					Windows: []usagefake.Window{{ID: "w", Label: "l", UsedPercent: 10, DurationMins: 60, ResetsAt: noon.Add(time.Hour), Scope: "Opus"}},
					Balance: &usagefake.Balance{Label: "b", Currency: "CNY", Total: 150, Granted: 50, ToppedUp: 100, Unavailable: true},
					Resets:  &usagefake.ResetCredits{Available: 1, Credits: []usagefake.Credit{{ID: "c", Status: "available", GrantedAt: noon}}}}),
				{Say: &usagefake.Quota{Windows: []usagefake.Window{{ID: "w", UsedPercent: -1}}}, Unchecked: true},
				{Fail: usagefake.ErrSignedOut}, {Fail: usagefake.ErrUnsupported}, {Fail: &usagefake.ThrottledError{RetryAfter: time.Minute}}, {Fail: errors.New("no route to host")}, {},
				{Hang: true}, {Lost: true}, {Malformed: "<html>"}, {},
			},
			Tokens:      []usagefake.Answer[[]usagefake.TokenRecord]{usagefake.Say([]usagefake.TokenRecord{})},
			Redemptions: []usagefake.Answer[usagefake.Redemption]{usagefake.Say(usagefake.Redemption{Outcome: usagefake.NothingToReset, Warning: "w"})},
		}))
		_, err = usagefake.New(cfg)
		Expect(err).NotTo(HaveOccurred())
	})
	It("leaves the clock as it is", func() {
		cfg := usagefake.Config{Script: usagefake.ScriptBalance, Now: func() time.Time { return noon }}
		Expect(json.Unmarshal([]byte(`{"traps":["idleDay"]}`), &cfg)).To(Succeed())
		Expect(cfg.Now()).To(Equal(noon))
		Expect(cfg.Script).To(BeEmpty(), "and nothing else")
	})
	DescribeTable("is refused", func(text, reason string) {
		cfg, err := decode(text)
		Expect(err).To(MatchError("usagefake: " + reason))
		Expect(cfg).To(BeZero())
	},
		Entry("with an unknown key", `{"scripts":"balance"}`, `unknown key "scripts", did you mean "script"?`),
		Entry("with a key in other letters", `{"Script":"balance"}`, `unknown key "Script", did you mean "script"?`),
		Entry("with a key twice", `{"script":"balance","script":"available"}`, `key "script" stands there twice`),
		Entry("with a key that is like none", `{"Now":1}`, `unknown key "Now"; there are script, traps, quotas, tokens, redemptions`),
		Entry("with a long key", `{"`+strings.Repeat("k", 50)+`":1}`, `unknown key "`+strings.Repeat("k", 40)+`"; there are script, traps, quotas, tokens, redemptions`),
		Entry("with a message that is almost a word", `{"quotas":[{},{"fail":"signed_out"}]}`, `quotas[1].fail must be "signed-out", is "signed_out"`),
		Entry("with a message that is none", `{"quotas":[{"fail":5}]}`, `quotas[0].fail must be a string, is 5`),
		Entry("with an unknown key further in", `{"quotas":[{},{"say":{"windows":[{"id":"w","usedPercnt":1}]}}]}`, `quotas[1].say.windows[0]: unknown key "usedPercnt", did you mean "usedPercent"?`),
		Entry("with an unknown key of an answer", `{"redemptions":[{"hangs":true}]}`, `redemptions[0]: unknown key "hangs", did you mean "hang"?`),
		Entry("with no object", `[]`, `it must be an object, is []`),
		Entry("with a text that is none", `{"script":1}`, `script must be a string, is 1`),
		Entry("with a long value that is none", `{"traps":"`+strings.Repeat("x", 50)+`"}`, `traps must be an array, is "`+strings.Repeat("x", 39)),
		Entry("with nothing", `{"script":null}`, `script must be a string, is null`),
		Entry("with a list that is none", `{"traps":"weeklyOnly"}`, `traps must be an array, is "weeklyOnly"`),
		Entry("with a list of nothing", `{"quotas":null}`, `quotas must be an array, is null`),
		Entry("with an answer that is none", `{"tokens":["hang"]}`, `tokens[0] must be an object, is "hang"`),
		Entry("with neither true nor false", `{"tokens":[{"hang":"yes"}]}`, `tokens[0].hang must be true or false, is "yes"`),
		Entry("with a percentage in words", `{"quotas":[{"say":{"windows":[{"usedPercent":"1"}]}}]}`, `quotas[0].say.windows[0].usedPercent must be a number, is "1"`),
		Entry("with half a minute", `{"quotas":[{"say":{"windows":[{"durationMins":0.5}]}}]}`, `quotas[0].say.windows[0].durationMins must be a whole number, is 0.5`),
		Entry("with too many tokens", `{"tokens":[{"say":[{"input":9223372036854775808}]}]}`, `tokens[0].say[0].input must be a whole number, is 9223372036854775808`),
		Entry("with a time that is none", `{"quotas":[{"say":{"asOf":"noon"}}]}`, `quotas[0].say.asOf must be a time such as "2026-07-01T12:00:00Z", is "noon"`),
		Entry("with an amount that is a number", `{"quotas":[{"say":{"balance":{"total":86.42}}}]}`, `quotas[0].say.balance.total must be an amount such as "86.42", is 86.42`),
		Entry("with an amount that is none", `{"quotas":[{"say":{"balance":{"total":"a lot"}}}]}`, `quotas[0].say.balance.total must be an amount such as "86.42", is "a lot"`),
	)
	It("that is no JSON says so", func() {
		var cfg usagefake.Config
		Expect(cfg.UnmarshalJSON([]byte(`{"script"`))).To(MatchError("usagefake: unexpected end of JSON input"))
		var a usagefake.Answer[usagefake.Quota]
		Expect(a.UnmarshalJSON([]byte(`{"says":1}`))).To(MatchError(`usagefake: answer: unknown key "says", did you mean "say"?`))
		Expect(a.UnmarshalJSON([]byte(`{"fail":"throttle"}`))).To(MatchError(`usagefake: answer: fail must be "throttled", is "throttle"`))
	})
})

var _ = Describe("A quota in JSON", func() {
	It("tells no list of credits from an empty one, and says when a credit ends", func() {
		resets := &usagefake.ResetCredits{Available: 1}
		for want, credits := range map[string][]usagefake.Credit{
			`null`: nil,
			`[]`:   {},
			`[{"id":"c","status":"available","grantedAt":"2026-07-01T12:00:00Z","expiresAt":"2026-07-01T13:00:00Z"}]`: {
				{ID: "c", Status: usagefake.CreditAvailable, GrantedAt: noon, ExpiresAt: noon.Add(time.Hour)}},
		} {
			resets.Credits = credits
			text, err := json.Marshal(usagefake.Quota{Resets: resets})
			Expect(err).NotTo(HaveOccurred())
			Expect(string(text)).To(Equal(`{"resets":{"available":1,"credits":` + want + `}}`))
		}
	})
	It("comes back as it was, from each script and with each trap", func() {
		for _, script := range usagefake.Scripts() {
			for _, t := range append(usagefake.Traps(), usagefake.IdleDay) {
				f, err := usagefake.New(usagefake.Config{Script: script, Traps: []usagefake.Trap{t}, Now: func() time.Time { return noon }})
				if err != nil {
					continue
				}
				for range 5 {
					q, err := f.ReadQuota(context.Background())
					if err != nil {
						continue // throttled
					}
					text, err := json.Marshal(q)
					Expect(err).NotTo(HaveOccurred())
					var back usagefake.Quota
					Expect(json.Unmarshal(text, &back)).To(Succeed())
					Expect(back).To(Equal(q))
				}
			}
		}
	})
})
