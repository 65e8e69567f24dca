package usagefake

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// checkAnswers says which answer is none, and why.
func checkAnswers[T any](name string, all []Answer[T], check func(T) error) error {
	for i, a := range all {
		where := fmt.Sprintf("usagefake: %s[%d]", name, i)
		var set []string
		for _, m := range []struct {
			key string
			set bool
		}{{"say", a.Say != nil}, {"fail", a.Fail != nil}, {"hang", a.Hang}, {"lost", a.Lost}, {"malformed", a.Malformed != ""}} {
			if m.set {
				set = append(set, m.key)
			}
		}
		var throttled *ThrottledError
		switch {
		case len(set) > 1:
			return fmt.Errorf("%s has %s; an answer is one of them", where, list(set, " and "))
		case a.Unchecked && a.Say == nil:
			return fmt.Errorf("%s is unchecked, and says nothing that could be checked; set say", where)
		case errors.As(a.Fail, &throttled) && throttled.RetryAfter < 0:
			return fmt.Errorf("%s.fail.retryAfter must be 0 or more, is %v", where, throttled.RetryAfter)
		case a.Say == nil || a.Unchecked:
			continue
		}
		if err := check(*a.Say); err != nil {
			dot := "."
			if strings.HasPrefix(err.Error(), "[") {
				dot = ""
			}
			return fmt.Errorf("%s.say%s%w; if that is meant, set unchecked", where, dot, err)
		}
	}
	return nil
}

// Check is an error if no provider should answer this, such as numbers where nobody is signed in, a percentage below 0, or a window that
// ends before the answer or begins after it. It says where that is, as in windows[0].usedPercent, and what would be right. More than 100 percent
// is all right. [New] takes the time that its clock says for that of an answer that is not [Quota].Sparse and says none.
func (q Quota) Check() error {
	if q.Status != "" && !slices.Contains(statuses, q.Status) {
		return fmt.Errorf("status must be %s, is %q", list(statuses, " or "), q.Status)
	}
	if q.nobodys() && (q.Account != "" || q.Plan != "" || q.Reached != "" || len(q.Windows) > 0 || q.Balance != nil || q.Resets != nil) {
		return fmt.Errorf("status is %s, and yet there are numbers; leave out account, plan, windows, reached, balance and resets", q.Status)
	}
	for i, w := range q.Windows {
		if err := checkWindow(w, q.AsOf); err != nil {
			return fmt.Errorf("windows[%d].%w", i, err)
		}
		for j, other := range q.Windows[:i] {
			switch {
			case other.ID == w.ID:
				return fmt.Errorf("windows[%d].id is %q, as that of windows[%d]; each must have its own", i, w.ID, j)
			case other.Scope != w.Scope && strings.EqualFold(other.Scope, w.Scope):
				return fmt.Errorf("windows[%d].scope is %q, and that of windows[%d] is %q; a model has one name", i, w.Scope, j, other.Scope)
			}
		}
	}
	if b := q.Balance; b != nil {
		if b.Currency == "" {
			return fmt.Errorf("balance.currency is missing; it is a code such as CNY")
		}
		sum := b.Granted + b.ToppedUp
		if tooMuch := (sum < b.Granted) != (b.ToppedUp < 0); tooMuch || sum != b.Total {
			return fmt.Errorf("balance.total is %s, and must be granted and toppedUp together: %s and %s", b.Total, b.Granted, b.ToppedUp)
		}
	}
	if q.Resets != nil {
		return checkCredits(*q.Resets)
	}
	return nil
}

func checkWindow(w Window, asOf time.Time) error {
	switch {
	case w.ID == "":
		return fmt.Errorf("id is missing; it is a name such as session")
	case math.IsNaN(w.UsedPercent) || math.IsInf(w.UsedPercent, 0) || w.UsedPercent < 0:
		return fmt.Errorf("usedPercent must be 0 or more, is %v", w.UsedPercent)
	case w.DurationMins < 0:
		return fmt.Errorf("durationMins must be 0 or more, is %d", w.DurationMins)
	case !w.ResetsAt.IsZero() && w.ResetsAt.Before(asOf):
		return fmt.Errorf("resetsAt is %s, and must not be before asOf, which is %s", stamp(w.ResetsAt), stamp(asOf))
	case !w.ResetsAt.IsZero() && !asOf.IsZero() && w.DurationMins > 0 && w.ResetsAt.Sub(asOf).Minutes() > float64(w.DurationMins):
		return fmt.Errorf("resetsAt is %s, and must be at most durationMins, %d, after asOf, which is %s", stamp(w.ResetsAt), w.DurationMins, stamp(asOf))
	}
	return nil
}

func checkCredits(r ResetCredits) error {
	if r.Available < 0 {
		return fmt.Errorf("resets.available must be 0 or more, is %d", r.Available)
	}
	available := 0
	for i, c := range r.Credits {
		where := fmt.Sprintf("resets.credits[%d]", i)
		switch {
		case c.ID == "":
			return fmt.Errorf("%s.id is missing; it is a name such as credit-1", where)
		case slices.IndexFunc(r.Credits, func(other Credit) bool { return other.ID == c.ID }) < i:
			return fmt.Errorf("%s.id is %q, as that of another one; each must have its own", where, c.ID)
		case !slices.Contains(creditStatuses, c.Status):
			return fmt.Errorf("%s.status must be %s, is %q", where, list(creditStatuses, " or "), c.Status)
		case !c.ExpiresAt.IsZero() && c.ExpiresAt.Before(c.GrantedAt):
			return fmt.Errorf("%s.expiresAt is %s, and must not be before grantedAt, which is %s", where, stamp(c.ExpiresAt), stamp(c.GrantedAt))
		case c.Status == CreditAvailable:
			available++
		}
	}
	if available > r.Available {
		return fmt.Errorf("resets.available is %d, and must be at least %d, as so many credits are available", r.Available, available)
	}
	return nil
}

func checkTokens(records []TokenRecord) error {
	for i, r := range records {
		if err := r.Check(); err != nil {
			return fmt.Errorf("[%d].%w", i, err)
		}
		if i > 0 && r.Day < records[i-1].Day {
			return fmt.Errorf("[%d].day is %s, after %s; the oldest comes first", i, r.Day, records[i-1].Day)
		}
	}
	return nil
}

// Check is an error if a part is larger than what it is of, such as the reasoning than the output, if the total is not that of input and output,
// or if a cost has no price. It says where that is, and what would be right.
func (r TokenRecord) Check() error {
	if _, err := time.Parse(time.DateOnly, r.Day); err != nil {
		return fmt.Errorf("day must be a day such as 2026-07-01, is %q", r.Day)
	}
	if on := r.At.UTC().Format(time.DateOnly); on != r.Day {
		return fmt.Errorf("at is on %s in UTC, and must be on the day, which is %s", on, r.Day)
	}
	if r.Model == "" {
		return fmt.Errorf("model is missing; it is a name such as %s", PricedModel)
	}
	for _, n := range []struct {
		key string
		n   int64
	}{{"input", r.Input}, {"cacheRead", r.CacheRead}, {"cacheWrite", r.CacheWrite}, {"output", r.Output}, {"reasoning", r.Reasoning}, {"total", r.Total}} {
		if n.n < 0 {
			return fmt.Errorf("%s must be 0 or more, is %d", n.key, n.n)
		}
	}
	switch {
	case r.CacheRead > r.Input-r.CacheWrite: // no overflow, as none is below 0
		return fmt.Errorf("input is %d, and must be at least cacheRead and cacheWrite together, which are in it: %d and %d", r.Input, r.CacheRead, r.CacheWrite)
	case r.Reasoning > r.Output:
		return fmt.Errorf("output is %d, and must be at least reasoning, which is in it: %d", r.Output, r.Reasoning)
	case r.Total-r.Input != r.Output:
		return fmt.Errorf("total is %d, and must be input and output together, which is %d", r.Total, uint64(r.Input)+uint64(r.Output))
	case math.IsNaN(r.CostUSD) || math.IsInf(r.CostUSD, 0) || r.CostUSD < 0:
		return fmt.Errorf("costUSD must be 0 or more, is %v", r.CostUSD)
	case !r.Priced && r.CostUSD != 0:
		return fmt.Errorf("costUSD is %v, and must be 0 where priced is false", r.CostUSD)
	}
	return nil
}

func checkRedemption(r Redemption) error {
	if !slices.Contains(outcomes, r.Outcome) {
		return fmt.Errorf("outcome must be %s, is %q", list(outcomes, " or "), r.Outcome)
	}
	return nil
}
