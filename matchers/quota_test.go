package matchers_test

import (
	"errors"
	"fmt"
	"math"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/usagefake"
)

var (
	session = usagefake.Window{ID: "session", UsedPercent: 11, DurationMins: 300, ResetsAt: at.Add(5 * time.Hour)}
	weekly  = usagefake.Window{ID: "weekly", UsedPercent: 100, DurationMins: 10080}
	paying  = usagefake.Quota{Status: usagefake.OK, Balance: &usagefake.Balance{Currency: "CNY", Total: 8642, Granted: 642, ToppedUp: 8000}}
	windows = usagefake.Quota{Status: usagefake.OK, Windows: []usagefake.Window{weekly, session}}
)

var _ = Describe("HaveQuotaWindow", func() {
	It("finds a window by its id, a string or a matcher, wherever it stands", func() {
		Expect(windows).To(And(HaveQuotaWindow("session"), HaveQuotaWindow("weekly"), HaveQuotaWindow(HavePrefix("week"))))
		Expect(windows).NotTo(HaveQuotaWindow("monthly"))
		Expect(failure(windows, HaveQuotaWindow("monthly"))).To(Equal(`there is no quota window "monthly"; there are "weekly", "session"

Expected
    ok
      weekly: 100% of 10080 min, reset time unknown
      session: 11% of 300 min, resets at 2026-01-02T08:04:05Z
to have a quota window "monthly"`))
	})

	It("wants how much is used as a number, an int or a float64, or as a matcher", func() {
		Expect(windows).To(HaveQuotaWindow("session", UsedPercent(11)))
		Expect(windows).To(HaveQuotaWindow("session", UsedPercent(11.0)))
		Expect(windows).To(HaveQuotaWindow("session", UsedPercent(BeNumerically("<", 12))))
		Expect(windows).NotTo(HaveQuotaWindow("session", UsedPercent(0.11)), "1 is one percent")
		Expect(failure(windows, HaveQuotaWindow("session", UsedPercent(0.11)))).To(HavePrefix(
			"there is no quota window \"session\" with used 0.11%\nwindow 1 is not the one: used is 11%, want 0.11%\n\n"))
		Expect(failure(windows, HaveQuotaWindow("session", UsedPercent(BeNumerically(">", 11))))).To(ContainSubstring(
			"\nwindow 1 is not the one: used is 11% (float64), want BeNumerically {Comparator:\">\", CompareTo:[11]}\n\n"))
		Expect(usagefake.Quota{Windows: []usagefake.Window{{ID: "x", UsedPercent: math.NaN()}}}).NotTo(HaveQuotaWindow("x", UsedPercent(0)))
	})

	It("wants when it resets as an instant, in whatever zone, or as a matcher", func() {
		Expect(windows).To(HaveQuotaWindow("session", UsedPercent(11), ResetsAt(at.Add(5*time.Hour).In(time.FixedZone("JST", 9*60*60)))))
		Expect(windows).To(HaveQuotaWindow("session", ResetsAt(BeTemporally("~", at.Add(5*time.Hour), time.Minute))))
		Expect(failure(windows, HaveQuotaWindow("session", ResetsAt(at)))).To(HavePrefix(
			"there is no quota window \"session\" with reset time 2026-01-02T03:04:05Z\n" +
				"window 1 is not the one: reset time is 2026-01-02T08:04:05Z, want 2026-01-02T03:04:05Z\n\n"))
		Expect(failure(windows, HaveQuotaWindow("session", ResetsAt(BeTemporally("<", at))))).To(MatchRegexp(
			`window 1 is not the one: reset time is 2026-01-02T08:04:05Z, want BeTemporally \{Comparator:"<", CompareTo:2026-01-02 03:04:05 \+0000 UTC[^\n]*\}\n\nExp`))
	})

	It("tells a window whose reset time nobody knows", func() {
		Expect(windows).To(HaveQuotaWindow("weekly", ResetsAt(time.Time{})))
		Expect(windows).NotTo(HaveQuotaWindow("session", ResetsAt(time.Time{})))
		Expect(failure(windows, HaveQuotaWindow("session", ResetsAt(time.Time{})))).To(ContainSubstring("with reset time unknown\n"))
		Expect(failure(windows, HaveQuotaWindow("weekly", ResetsAt(at)))).To(ContainSubstring(": reset time is unknown, want 2026-"))
	})

	It("is refused with what cannot be right", func() {
		Expect(refusal(windows, HaveQuotaWindow(3))).To(Equal("HaveQuotaWindow: id is of type int, want a string or a matcher"))
		Expect(refusal(windows, HaveQuotaWindow("x", UsedPercent("11%")))).
			To(Equal("UsedPercent: percent is of type string, want a number or a matcher"))
		Expect(refusal(windows, HaveQuotaWindow("x", ResetsAt("noon")))).To(Equal("ResetsAt: time is of type string, want a time.Time or a matcher"))
		Expect(refusal(&windows, HaveQuotaWindow("x"))).
			To(Equal("HaveQuotaWindow: the actual is a *usagefake.Quota, want the value that it points to"))
	})
})

var _ = Describe("HaveBalance", func() {
	It("takes the amount as it is written, as an Amount, or as a matcher", func() {
		Expect(paying).To(HaveBalance("CNY", "86.42"))
		Expect(paying).To(HaveBalance(HaveLen(3), usagefake.Amount(8642)))
		Expect(paying).To(HaveBalance("CNY", BeNumerically(">", 0)))
		Expect(paying).To(HaveBalance("CNY", HavePrefix("86.")))
	})

	It("says which currency or amount it is instead", func() {
		Expect(failure(paying, HaveBalance("USD", "86.42"))).To(HavePrefix("currency is \"CNY\", want \"USD\"\n\n"))
		Expect(failure(paying, HaveBalance("CNY", "86.4"))).To(HavePrefix("balance is 86.42, want 86.40\n\n"))
		Expect(failure(paying, HaveBalance("CNY", BeZero()))).To(HavePrefix("balance is 86.42, want BeZero\n\n"))
		Expect(failure(windows, HaveBalance("CNY", BeZero()))).To(HavePrefix("there is no balance, want BeZero in \"CNY\"\n\n"))
	})

	It("is refused with what is no amount", func() {
		Expect(refusal(paying, HaveBalance("CNY", "86,42"))).To(HavePrefix("HaveBalance: "))
		Expect(refusal(paying, HaveBalance("CNY", 86.42))).
			To(Equal(`HaveBalance: amount is of type float64, want a string such as "86.42", a usagefake.Amount or a matcher`))
		Expect(refusal(paying, HaveBalance(1, "86.42"))).To(Equal("HaveBalance: currency is of type int, want a string or a matcher"))
	})
})

var _ = Describe("HaveResetCredits", func() {
	It("counts what is left, and knows an account without such a thing", func() {
		two := usagefake.Quota{Resets: &usagefake.ResetCredits{Available: 2, Credits: []usagefake.Credit{}}}
		Expect(two).To(HaveResetCredits(BeNumerically(">=", 2)))
		Expect(two).NotTo(HaveResetCredits(0))
		Expect(windows).NotTo(HaveResetCredits(0))
		Expect(failure(windows, HaveResetCredits(0))).To(HavePrefix("the account knows no reset credits, want 0\n\n"))
		Expect(refusal(two, HaveResetCredits(1.5))).To(Equal("HaveResetCredits: n is of type float64, want a number or a matcher"))
	})
})

var _ = Describe("How it stands with an account", func() {
	throttled := fmt.Errorf("host: %w", &usagefake.ThrottledError{RetryAfter: time.Minute})
	limit := fmt.Errorf("host: %w", &usagefake.LimitError{Window: weekly})
	signedOut := fmt.Errorf("host: %w", usagefake.ErrSignedOut)
	unsupported := fmt.Errorf("host: %w", usagefake.ErrUnsupported)

	It("is rate-limited where a window is used up, where the provider says so, and where a turn or a read fails for it", func() {
		Expect(windows).To(BeRateLimited())
		Expect(usagefake.Quota{Sparse: true, Reached: usagefake.RateLimitReached}).To(BeRateLimited())
		Expect(limit).To(BeRateLimited())
		Expect(throttled).To(BeRateLimited())
		Expect(usagefake.Quota{Windows: []usagefake.Window{session}}).NotTo(BeRateLimited())
		Expect(signedOut).NotTo(BeRateLimited())
		Expect(failure(usagefake.Quota{Status: usagefake.NeedsAuth}, BeRateLimited())).
			To(HavePrefix("status is needs-auth, want a limit that is reached\n\n"))
	})

	It("is not signed out because an endpoint is throttled", func() {
		Expect(throttled).NotTo(BeSignedOut())
		Expect(signedOut).To(BeSignedOut())
		Expect(unsupported).NotTo(BeSignedOut())
		Expect(failure(throttled, BeSignedOut())).To(Equal(`it is another error

Expected
    error "host: usagefake: the usage endpoint is throttled; try again in 1m0s"
to be signed out`))
	})

	It("is unsupported where an account has no quota, or a call is not for it", func() {
		Expect(usagefake.Quota{Status: usagefake.Unsupported}).To(BeUnsupported())
		Expect(usagefake.Quota{Status: usagefake.NeedsAuth}).NotTo(BeUnsupported())
		Expect(unsupported).To(BeUnsupported())
		Expect(errors.New("unsupported")).NotTo(BeUnsupported(), "an error is more than its text")
	})

	It("is neither signed out nor unsupported while somebody's numbers are still there", func() {
		for _, stale := range []usagefake.Quota{{Windows: []usagefake.Window{session}}, {Balance: paying.Balance}, {Resets: &usagefake.ResetCredits{}}} {
			stale.Status = usagefake.NeedsAuth
			Expect(stale).NotTo(BeSignedOut())
			stale.Status = usagefake.Unsupported
			Expect(failure(stale, BeUnsupported())).To(HavePrefix("status is \"unsupported\", and yet there are numbers\n\n"))
		}
	})

	It("is not told by a nil error", func() {
		var none *usagefake.ThrottledError
		Expect(refusal(none, BeRateLimited())).To(Equal("BeRateLimited: the actual is a nil *usagefake.ThrottledError"))
		var q *usagefake.Quota
		Expect(refusal(q, BeSignedOut())).To(Equal("BeSignedOut: the actual is a nil *usagefake.Quota"))
	})
})
