package usagefake

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Fake is the [Source] of an account that nobody has. [New] makes one.
type Fake struct {
	script      Script
	traps       traps
	quotas      []Answer[Quota]
	tokens      []Answer[[]TokenRecord]
	redemptions []Answer[Redemption]
	now         func() time.Time

	mu sync.Mutex
	*account
	counts   Counts
	read     int       // how many quota reads the script has answered
	answered time.Time // and the last one when
}

// Counts are how often a [Fake] was asked, whatever the answers were, and what was spent.
type Counts struct {
	QuotaReads  int
	TokenReads  int
	Redemptions int
	Spent       int // reset credits
}

// account is somebody's numbers.
type account struct {
	id      string
	windows []Window // as they move; the first one is what redeeming resets
	granted time.Time
	spent   int
	keys    map[string]bool // that have spent a credit
}

const (
	most     = 100 // percent, to which a read raises a window
	patience = time.Minute
	plan     = "plus"

	sessionMins = 5 * 60
	weekMins    = 7 * 24 * 60
	monthMins   = 30 * 24 * 60
)

var (
	edges     = [...]float64{0, 1, 99, 100, 130}
	creditIDs = [...]string{"credit-1", "credit-2"}
)

const (
	labelSession     = "usage.window.session"
	labelWeekly      = "usage.window.weekly"
	labelMonthly     = "usage.window.monthly"
	labelWeeklyModel = "usage.window.weekly-model"
	labelBalance     = "usage.balance.account"
	reasonCustom     = "usage.reason.custom-endpoint"
	reasonSignedOut  = "usage.reason.signed-out"
)

// LocaleKeys are the labels and reasons that a [Fake] may answer with, sorted. They are no texts: a host has one for each key, in each
// language.
func LocaleKeys() []string {
	return []string{labelBalance, reasonCustom, reasonSignedOut, labelMonthly, labelSession, labelWeekly, labelWeeklyModel}
}

// New makes a fake whose windows begin now. Where the [Config] is wrong the error says what in it is, and what would be right.
func New(cfg Config) (*Fake, error) {
	set, err := cfg.check()
	if err != nil {
		return nil, err
	}
	f := &Fake{
		script: cfg.script(), traps: set, now: cfg.Now,
		quotas:      kept(cfg.Quotas, Quota.clone),
		tokens:      kept(cfg.Tokens, slices.Clone[[]TokenRecord]),
		redemptions: slices.Clone(cfg.Redemptions),
	}
	if f.now == nil {
		f.now = time.Now
	}
	f.account = f.open("account-1", f.clock(), 10, 20)
	if f.script == ScriptRateLimited {
		f.windows[0].UsedPercent = most
	}
	return f, nil
}

// kept are answers that nobody else changes. Each is said once, so whoever gets one may keep it.
func kept[T any](answers []Answer[T], clone func(T) T) []Answer[T] {
	answers = slices.Clone(answers)
	for i, a := range answers {
		if a.Say != nil {
			v := clone(*a.Say)
			answers[i].Say = &v
		}
	}
	return answers
}

// open begins an account.
func (f *Fake) open(id string, now time.Time, session, long float64) *account {
	a := &account{id: id, granted: now, keys: map[string]bool{}}
	switch {
	case f.traps[MonthlyOnly]:
		a.windows = []Window{{ID: "monthly", Label: labelMonthly, UsedPercent: long, DurationMins: monthMins}}
	case f.traps[WeeklyOnly]:
	default:
		a.windows = []Window{{ID: "session", Label: labelSession, UsedPercent: session, DurationMins: sessionMins}}
	}
	if !f.traps[MonthlyOnly] {
		a.windows = append(a.windows, Window{ID: "weekly", Label: labelWeekly, UsedPercent: long, DurationMins: weekMins})
	}
	if f.traps[ModelWindow] {
		a.windows = append(a.windows, Window{ID: "weekly-opus", Label: labelWeeklyModel, UsedPercent: 30, DurationMins: weekMins, Scope: "Opus"})
	}
	for i := range a.windows {
		a.windows[i].ResetsAt = now.Add(a.windows[i].period())
	}
	return a
}

func (w Window) period() time.Duration { return time.Duration(w.DurationMins) * time.Minute }

// clock is in UTC, which also leaves out the monotonic reading: so times that are equal print alike.
func (f *Fake) clock() time.Time { return f.now().UTC() }

// Counts are those up to now.
func (f *Fake) Counts() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts
}

// ReadQuota implements [Source]. Its errors are those of the [Config]'s answers, a [*ThrottledError] with [Throttled], and the context's.
func (f *Fake) ReadQuota(ctx context.Context) (Quota, error) {
	q, said, err := call(ctx, f, &f.counts.QuotaReads, "ReadQuota", f.quotas, (*Fake).readQuota)
	if said {
		if q.Status == "" && !q.Sparse {
			q.Status = OK
		}
		if q.AsOf.IsZero() {
			q.AsOf = f.clock()
		}
	}
	return q, err
}

// ReadTokenUsage implements [Source]. Its errors are those of the [Config]'s answers, and the context's.
func (f *Fake) ReadTokenUsage(ctx context.Context) ([]TokenRecord, error) {
	r, _, err := call(ctx, f, &f.counts.TokenReads, "ReadTokenUsage", f.tokens, func(f *Fake, now time.Time) ([]TokenRecord, error) {
		return records(now, f.traps), nil
	})
	return r, err
}

// RedeemQuotaReset implements [Source]. Besides those of the [Config]'s answers and the context's its errors are [ErrUnsupported], where the
// script has no windows, and [ErrSignedOut] as well, where nobody is signed in; and those of [LostReply] and [OneWindowFails].
func (f *Fake) RedeemQuotaReset(ctx context.Context, key string) (Redemption, error) {
	r, _, err := call(ctx, f, &f.counts.Redemptions, "RedeemQuotaReset", f.redemptions, func(f *Fake, _ time.Time) (Redemption, error) {
		outcome, err := f.redeem(key)
		return Redemption{Outcome: outcome}, err
	})
	return r, err
}

// call answers one call of a method: with what stands in the list, which it says it did, or with what the script plays under the lock.
func call[T any](
	ctx context.Context, f *Fake, count *int, method string, answers []Answer[T], play func(*Fake, time.Time) (T, error),
) (v T, said bool, err error) {
	if ctx.Err() != nil {
		return v, false, fmt.Errorf("usagefake: %s: %w", method, context.Cause(ctx))
	}
	now := f.clock()
	var a Answer[T]
	f.mu.Lock()
	if *count < len(answers) {
		a = answers[*count]
	}
	*count++
	if a.Say == nil && a.Fail == nil && !a.Hang && a.Malformed == "" {
		v, err = play(f, now)
		f.mu.Unlock()
		if a.Lost && err == nil {
			return *new(T), false, lost(method)
		}
		return v, false, err
	}
	f.mu.Unlock()

	switch {
	case a.Hang:
		<-ctx.Done()
		return v, false, fmt.Errorf("usagefake: %s hung until its context was over: %w", method, context.Cause(ctx))
	case a.Fail != nil:
		return v, false, a.Fail
	case a.Malformed != "":
		return v, false, &MalformedError{a.Malformed}
	}
	return *a.Say, true, nil
}

func lost(method string) error {
	return fmt.Errorf("usagefake: %s was carried out, and %w", method, ErrLost)
}

// readQuota is what the script says.
func (f *Fake) readQuota(now time.Time) (Quota, error) {
	if f.traps[Throttled] && f.read > 0 {
		if wait := patience - now.Sub(f.answered); wait > 0 {
			return Quota{}, &ThrottledError{min(wait, patience)} // a clock may go back
		}
	}
	f.read++
	f.answered = now
	if f.traps[AccountSwitch] && f.read == 4 {
		f.account = f.open("account-2", now, 40, 60)
	}
	switch {
	case f.signedOut():
		return Quota{Status: NeedsAuth, Reason: reasonSignedOut, AsOf: now}, nil
	case f.script == ScriptCustomEndpoint:
		return Quota{Status: Unsupported, Reason: reasonCustom, AsOf: now}, nil
	case f.script == ScriptBalance:
		b := &Balance{Label: labelBalance, Currency: "CNY", Total: 8642, Granted: 642, ToppedUp: 8000, Unavailable: f.traps[BalanceUnavailable]}
		return Quota{Status: OK, Account: f.id, AsOf: now, Balance: b}, nil
	}
	f.move(now)
	q := Quota{Status: OK, Account: f.id, Plan: plan, AsOf: now, Windows: f.shown(now), Resets: f.credits()}
	if q.usedUp() >= 0 {
		q.Reached = RateLimitReached
	}
	if f.read > 1 {
		f.thin(&q)
	}
	return q, nil
}

func (f *Fake) signedOut() bool {
	return f.script == ScriptSignedOut || f.traps[AccountSwitch] && f.read == 3
}

// move is what a read does to the windows.
func (f *Fake) move(now time.Time) {
	for i := range f.windows {
		w := &f.windows[i]
		for !now.Before(w.ResetsAt) { // a second time only where more than 292 years have gone by, which is what a Duration holds
			w.UsedPercent = 0
			w.ResetsAt = w.ResetsAt.Add(now.Sub(w.ResetsAt).Truncate(w.period())).Add(w.period())
		}
		w.UsedPercent = min(most, w.UsedPercent+1)
	}
}

// shown are the windows as the read says them.
func (f *Fake) shown(now time.Time) []Window {
	out := slices.Clone(f.windows)
	for i := range out {
		w := &out[i]
		if f.traps[EdgePercents] {
			w.UsedPercent = edges[(f.read-1)%len(edges)]
		}
		switch {
		case f.traps[NoResetTime] && w.DurationMins == sessionMins:
			w.ResetsAt = time.Time{}
		case f.traps[PastReset]:
			w.ResetsAt = now.Add(-time.Hour)
		case f.traps[ResetMovesBack] && f.read%2 == 0 && w.DurationMins > sessionMins:
			w.ResetsAt = w.ResetsAt.Add(-2 * day)
		}
	}
	if f.traps[WeeklyFirst] {
		slices.Reverse(out)
	}
	return out
}

func (f *Fake) credits() *ResetCredits {
	r := &ResetCredits{Available: len(creditIDs) - f.spent, Credits: make([]Credit, len(creditIDs))}
	for i, id := range creditIDs {
		r.Credits[i] = Credit{ID: id, Status: CreditAvailable, GrantedAt: f.granted}
		if i < f.spent {
			r.Credits[i].Status = CreditRedeemed
		}
	}
	return r
}

// thin leaves out of an answer what an update does not say.
func (f *Fake) thin(q *Quota) {
	update := Quota{Status: q.Status, AsOf: q.AsOf, Reached: q.Reached, Sparse: true}
	switch {
	case f.traps[SparseWindow]:
		i := f.read % len(q.Windows)
		update.Windows = q.Windows[i : i+1]
	case f.traps[SparseStatus]:
	case f.traps[SparseNulls]:
		update.Windows = q.Windows
		for i, w := range update.Windows {
			update.Windows[i] = Window{ID: w.ID, UsedPercent: w.UsedPercent}
		}
	default:
		return
	}
	*q = update
}

func (f *Fake) redeem(key string) (Outcome, error) {
	switch {
	case f.signedOut():
		return "", fmt.Errorf("usagefake: nobody is signed in who could redeem: %w, %w", ErrSignedOut, ErrUnsupported)
	case f.script != ScriptAvailable && f.script != ScriptRateLimited:
		return "", fmt.Errorf("usagefake: the script %s has nothing to redeem; use %s: %w", f.script, list(windowed, " or "), ErrUnsupported)
	case f.keys[key]:
		return AlreadyRedeemed, nil
	case f.spent == len(creditIDs):
		return NoCredit, nil
	case f.traps[OneWindowFails]:
		return "", fmt.Errorf("usagefake: trap %s: an account with one window cannot redeem; nothing was spent", OneWindowFails)
	}
	f.spent++
	f.counts.Spent++
	f.windows[0].UsedPercent = 0
	if key != "" {
		f.keys[key] = true
	}
	if f.traps[LostReply] && f.counts.Spent == 1 {
		return "", lost("RedeemQuotaReset")
	}
	return Reset, nil
}
