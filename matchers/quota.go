package matchers

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/usagefake"
)

// QuotaWindowOption is something more that a quota window must be.
type QuotaWindowOption = Option[usagefake.Window]

// HaveQuotaWindow matches a [usagefake.Quota] that has a window with that id, a string or a matcher, wherever it stands. A failure shows how
// it differs.
func HaveQuotaWindow(id any, opts ...QuotaWindowOption) Matcher {
	w := of(textWant("HaveQuotaWindow", "id", id), func(w usagefake.Window) string { return w.ID })
	w, near := with(w.called("quota window "), opts)
	return quota("HaveQuotaWindow", want[usagefake.Quota]{"have a " + w.description, w.wrong, func(q usagefake.Quota) (differs, error) {
		l := list[usagefake.Window]{"window", "", q.Windows, usagefake.Window.String}
		name := func(w usagefake.Window) string { return w.ID }
		return asDiffers(l.has(expected[usagefake.Window]{test: w.test, near: near}, "there is no "+w.description, "there are", name))
	}})
}

// UsedPercent wants how much of a window is used, in percent: a number, 1 for one percent, or a matcher, which gets a float64.
func UsedPercent(percent any) QuotaWindowOption {
	w := numberWant[float64]("UsedPercent: percent", "used is ", "%", percent)
	return QuotaWindowOption(of(w, func(w usagefake.Window) float64 { return w.UsedPercent }).called("used "))
}

// ResetsAt wants when a window resets: the same instant, in any zone, or what a matcher matches, which gets a [time.Time]. The zero time is
// that of a window of which nobody knows.
func ResetsAt(at any) QuotaWindowOption {
	w := want[usagefake.Window]{description: describe(at)}
	if at, ok := at.(time.Time); ok {
		w.description = stamp(at)
		w.test = func(w usagefake.Window) (differs, error) {
			if w.ResetsAt.Equal(at) {
				return nil, nil
			}
			return say("reset time is %s, want %s", stamp(w.ResetsAt), stamp(at)), nil
		}
		return QuotaWindowOption(w.called("reset time "))
	}
	w.wrong = matcherArgument("ResetsAt: time", "a time.Time or a matcher", at)
	w.test = func(w usagefake.Window) (differs, error) {
		return ask(at.(types.GomegaMatcher), func() string { return "reset time is " + stamp(w.ResetsAt) }, w.ResetsAt)
	}
	return QuotaWindowOption(w.called("reset time "))
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.Format(time.RFC3339Nano)
}

// HaveBalance matches a [usagefake.Quota] with money in that currency, a string or a matcher, and with a total that is that amount: a string
// such as "86.42", a [usagefake.Amount], or a matcher, which gets a usagefake.Amount.
func HaveBalance(currency, amount any) Matcher {
	in := textWant("HaveBalance", "currency", currency)
	total := amountWant(amount)
	if total.wrong == nil {
		total.wrong = in.wrong
	}
	description := total.description + " in " + in.description
	return quota("HaveBalance", want[usagefake.Quota]{"have a balance of " + description, total.wrong, func(q usagefake.Quota) (differs, error) {
		if q.Balance == nil {
			return say("there is no balance, want %s", description), nil
		}
		if d, err := in.test(q.Balance.Currency); d != nil || err != nil {
			return d, err
		}
		return total.test(q.Balance.Total)
	}})
}

func amountWant(w any) want[usagefake.Amount] {
	amount, ok := w.(usagefake.Amount)
	if text, isText := w.(string); isText {
		if err := amount.UnmarshalText([]byte(text)); err != nil {
			return want[usagefake.Amount]{description: text, wrong: fmt.Errorf("HaveBalance: %w", err)}
		}
		ok = true
	}
	if ok {
		return want[usagefake.Amount]{amount.String(), nil, func(got usagefake.Amount) (differs, error) {
			if got == amount {
				return nil, nil
			}
			return say("balance is %s, want %s", got, amount), nil
		}}
	}
	wrong := matcherArgument("HaveBalance: amount", `a string such as "86.42", a usagefake.Amount or a matcher`, w)
	return want[usagefake.Amount]{describe(w), wrong, func(got usagefake.Amount) (differs, error) {
		return ask(w.(types.GomegaMatcher), func() string { return "balance is " + got.String() }, got)
	}}
}

// HaveResetCredits matches a [usagefake.Quota] with so many reset credits that are left, an int or a matcher. An account that knows no reset
// credits does not have 0 of them.
func HaveResetCredits(n any) Matcher {
	w := numberWant[int]("HaveResetCredits: n", "reset credits left: ", "", n)
	return quota("HaveResetCredits", want[usagefake.Quota]{"have reset credits left: " + w.description, w.wrong, func(q usagefake.Quota) (differs, error) {
		if q.Resets == nil {
			return say("the account knows no reset credits, want %s", w.description), nil
		}
		return w.test(q.Resets.Available)
	}})
}

// BeRateLimited matches a [usagefake.Quota] of which a limit is reached, and an error that says so: a [*usagefake.LimitError], with which a
// turn fails, or a [*usagefake.ThrottledError], with which a read does.
func BeRateLimited() Matcher {
	return standing("BeRateLimited", "be rate-limited", func(q usagefake.Quota) string {
		switch {
		case q.LimitReached():
			return ""
		case q.Status != "" && q.Status != usagefake.OK:
			return fmt.Sprintf("status is %s, want a limit that is reached", q.Status)
		}
		return "no limit is reached"
	}, func(err error) bool {
		return errors.As(err, new(*usagefake.LimitError)) || errors.As(err, new(*usagefake.ThrottledError))
	})
}

// BeSignedOut matches a [usagefake.Quota] that says that nobody is signed in, and has no numbers, which could only be somebody else's; and an
// error that is [usagefake.ErrSignedOut].
func BeSignedOut() Matcher {
	return without("BeSignedOut", "be signed out", usagefake.NeedsAuth, usagefake.ErrSignedOut)
}

// BeUnsupported matches a [usagefake.Quota] that says that there is no quota to read, and has no numbers; and an error that is
// [usagefake.ErrUnsupported].
func BeUnsupported() Matcher {
	return without("BeUnsupported", "be unsupported", usagefake.Unsupported, usagefake.ErrUnsupported)
}

func without(name, description string, status usagefake.Status, is error) Matcher {
	return standing(name, description, func(q usagefake.Quota) string {
		switch {
		case q.Status != status:
			return fmt.Sprintf("status is %s, want %s", describe(string(q.Status)), describe(string(status)))
		case len(q.Windows) > 0, q.Balance != nil, q.Resets != nil:
			return fmt.Sprintf("status is %s, and yet there are numbers", describe(string(status)))
		}
		return ""
	}, func(err error) bool { return errors.Is(err, is) })
}

// standing is a matcher for how it stands with an account, which a quota says, or an error.
func standing(name, description string, differs func(usagefake.Quota) string, is func(error) bool) Matcher {
	return matcher{description: description, test: func(actual any) (v verdict, err error) {
		if failed, ok := actual.(error); ok {
			if isNilPointer(failed) {
				return v, pointer(name+": the actual", actual)
			}
			if !is(failed) {
				v.differs = "it is another error"
			}
			return v, nil
		}
		q, err := quotaOf(name, "a quota (usagefake.Quota) or an error", actual)
		if err == nil {
			v.differs = differs(q)
		}
		return v, err
	}}
}

// quota is a matcher for a quota.
func quota(name string, w want[usagefake.Quota]) Matcher {
	return matcher{description: w.description, wrong: w.wrong, test: func(actual any) (v verdict, err error) {
		q, err := quotaOf(name, "a quota (usagefake.Quota)", actual)
		if err != nil {
			return v, err
		}
		return w.verdict(q)
	}}
}

func quotaOf(name, expects string, actual any) (q usagefake.Quota, err error) {
	switch a := actual.(type) {
	case usagefake.Quota:
		return a, nil
	case *usagefake.Quota:
		return q, pointer(name+": the actual", actual)
	}
	return q, unexpected(name, expects, actual)
}

// numberWant wants a number: the same, or what a matcher matches. is comes before it, and unit behind.
func numberWant[N int | float64](name, is, unit string, w any) want[N] {
	show := func(n N) string { return strconv.FormatFloat(float64(n), 'f', -1, 64) + unit }
	n, ok := w.(N)
	if i, whole := w.(int); whole {
		n, ok = N(i), true
	}
	if ok {
		return want[N]{show(n), nil, func(got N) (differs, error) {
			if got != n {
				return say("%s%s, want %s", is, show(got), show(n)), nil
			}
			return nil, nil
		}}
	}
	return want[N]{describe(w), matcherArgument(name, "a number or a matcher", w), func(got N) (differs, error) {
		return ask(w.(types.GomegaMatcher), func() string { return fmt.Sprintf("%s%s (%T)", is, show(got), got) }, got)
	}}
}
