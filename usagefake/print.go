package usagefake

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// String has a line for each window, for the balance and for the reset credits.
func (q Quota) String() string {
	head := string(q.Status)
	switch {
	case q.Sparse:
		head = strings.TrimSuffix("update, "+head, ", ")
	case head == "":
		head = "no status"
	}
	for _, s := range []struct{ name, text string }{{"", q.Reason}, {"", q.Account}, {"plan ", q.Plan}, {"", q.Reached}, {"as of ", stamp(q.AsOf)}} {
		if s.text != "" {
			head += ", " + s.name + s.text
		}
	}
	lines := []string{head}
	for _, w := range q.Windows {
		lines = append(lines, w.String())
	}
	if q.Balance != nil {
		lines = append(lines, q.Balance.String())
	}
	if q.Resets != nil {
		lines = append(lines, q.Resets.String())
	}
	return strings.Join(lines, "\n  ")
}

// GomegaString is how a failure message shows the quota.
func (q Quota) GomegaString() string { return q.String() }

// String is one line.
func (w Window) String() string {
	line := w.ID
	if w.Scope != "" {
		line += " of " + w.Scope
	}
	line += ": " + percent(w.UsedPercent)
	if w.DurationMins != 0 {
		line += fmt.Sprintf(" of %d min", w.DurationMins)
	}
	if w.ResetsAt.IsZero() {
		return line + ", reset time unknown"
	}
	return line + ", resets at " + stamp(w.ResetsAt)
}

// GomegaString is how a failure message shows the window.
func (w Window) GomegaString() string { return w.String() }

// String is one line.
func (b Balance) String() string {
	line := fmt.Sprintf("balance: %s %s (%s granted, %s topped up)", b.Total, b.Currency, b.Granted, b.ToppedUp)
	if b.Unavailable {
		line += ", unavailable"
	}
	return line
}

// GomegaString is how a failure message shows the balance.
func (b Balance) GomegaString() string { return b.String() }

// String is one line.
func (r ResetCredits) String() string {
	line := fmt.Sprintf("reset credits: %d", r.Available)
	for i, c := range r.Credits {
		line += []string{" (", ", "}[min(i, 1)] + c.ID + " " + string(c.Status)
	}
	if len(r.Credits) > 0 {
		line += ")"
	}
	return line
}

// GomegaString is how a failure message shows the credits.
func (r ResetCredits) GomegaString() string { return r.String() }

// String is one line.
func (r TokenRecord) String() string {
	cost := "unpriced"
	if r.Priced {
		cost = dollars(r.CostUSD)
	}
	return r.Day + " " + r.Model + ": " + Sum([]TokenRecord{r}).tokens() + ", " + cost
}

// GomegaString is how a failure message shows the record.
func (r TokenRecord) GomegaString() string { return r.String() }

// String is one line.
func (t Totals) String() string {
	line := t.tokens() + ", " + dollars(t.CostUSD)
	if t.Unpriced > 0 {
		line += fmt.Sprintf(", and %d unpriced", t.Unpriced)
	}
	return line
}

// GomegaString is how a failure message shows the totals.
func (t Totals) GomegaString() string { return t.String() }

func (t Totals) tokens() string {
	return fmt.Sprintf("input %d (%d read from cache, %d written), output %d (%d reasoning), total %d",
		t.Input, t.CacheRead, t.CacheWrite, t.Output, t.Reasoning, t.Total)
}

// String is the outcome, and the warning if there is one.
func (r Redemption) String() string {
	if r.Warning != "" {
		return string(r.Outcome) + ", warning: " + r.Warning
	}
	return string(r.Outcome)
}

// GomegaString is how a failure message shows the redemption.
func (r Redemption) GomegaString() string { return r.String() }

// String says how often the fake was asked, and what it spent.
func (f *Fake) String() string {
	c := f.Counts()
	return fmt.Sprintf("%s: quota reads %d, token reads %d, redemptions %d, credits spent %d", f.script, c.QuotaReads, c.TokenReads, c.Redemptions, c.Spent)
}

// GomegaString is how a failure message shows the fake.
func (f *Fake) GomegaString() string { return f.String() }

func percent(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) + "%" }

func dollars(d float64) string { return "$" + strconv.FormatFloat(d, 'f', -1, 64) }

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}
