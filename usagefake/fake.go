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
	told     bool      // everything was said, so that an update may follow
}

// Counts are how often a [Fake] was asked, whatever the answers were, and what was spent. A call whose context was over before is not counted.
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
	credits [2]Credit
	spent   int             // of them
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

var edges = [...]float64{0, 1, 99, 100, 130}

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
	f := &Fake{
		script: cfg.script(), traps: slices.Clone(cfg.Traps), now: cfg.Now,
		quotas:      kept(cfg.Quotas, Quota.clone),
		tokens:      kept(cfg.Tokens, slices.Clone[[]TokenRecord]),
		redemptions: kept(cfg.Redemptions, func(r Redemption) Redemption { return r }),
	}
	if f.now == nil {
		f.now = time.Now
	}
	now := f.clock()
	if err := cfg.check(now); err != nil {
		return nil, err
	}
	f.account = f.open("account-1", now, 10, 20)
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

// open begins an account, on a whole second: a shape without fractions must not have a window reset too early.
func (f *Fake) open(id string, now time.Time, session, long float64) *account {
	now = now.Truncate(time.Second)
	a := &account{id: id, keys: map[string]bool{}, credits: [...]Credit{
		{ID: "credit-1", Status: CreditAvailable, GrantedAt: now}, {ID: "credit-2", Status: CreditAvailable, GrantedAt: now},
	}}
	switch {
	case f.traps.has(MonthlyOnly):
		a.windows = []Window{{ID: "monthly", Label: labelMonthly, UsedPercent: long, DurationMins: monthMins}}
	case f.traps.has(WeeklyOnly):
	default:
		a.windows = []Window{{ID: "session", Label: labelSession, UsedPercent: session, DurationMins: sessionMins}}
	}
	if !f.traps.has(MonthlyOnly) {
		a.windows = append(a.windows, Window{ID: "weekly", Label: labelWeekly, UsedPercent: long, DurationMins: weekMins})
	}
	if f.traps.has(ModelWindow) {
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
func (f *Fake) ReadQuota(ctx context.Context) (q Quota, err error) {
	q, now, err := call(ctx, f, &f.counts.QuotaReads, "ReadQuota", f.quotas, (*Fake).readQuota)
	if err != nil {
		return q, err
	}
	if q.Status == "" && !q.Sparse {
		q.Status = OK
	}
	if q.AsOf.IsZero() {
		q.AsOf = now
	}
	return q, nil
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

// call answers one call of a method, and says when it came: with what stands in the list, or with what the script plays. The clock is read under
// the lock, so that times follow each other as the answers do.
func call[T any](
	ctx context.Context, f *Fake, count *int, method string, answers []Answer[T], play func(*Fake, time.Time) (T, error),
) (v T, now time.Time, err error) {
	if ctx.Err() != nil {
		return v, now, fmt.Errorf("usagefake: %s: %w", method, context.Cause(ctx))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now = f.clock()
	var a Answer[T]
	if *count < len(answers) {
		a = answers[*count]
	}
	*count++
	switch {
	case a.Say != nil:
		return *a.Say, now, nil
	case a.Hang:
		f.mu.Unlock() // it holds up nobody else
		<-ctx.Done()
		f.mu.Lock()
		return v, now, fmt.Errorf("usagefake: %s hung until its context was over: %w", method, context.Cause(ctx))
	case a.Fail != nil:
		return v, now, a.Fail
	case a.Malformed != "":
		return v, now, &MalformedError{a.Malformed}
	}
	if v, err = play(f, now); a.Lost && err == nil {
		return *new(T), now, lost(method)
	}
	return v, now, err
}

func lost(method string) error {
	return fmt.Errorf("usagefake: %s was carried out, and %w", method, ErrLost)
}

// room is where the parts of an answer are: in one piece of memory, as it is memory that a read takes time for.
type room struct {
	windows [2]Window // a third one finds another place
	resets  ResetCredits
	credits [2]Credit
}

// readQuota is what the script says.
func (f *Fake) readQuota(now time.Time) (q Quota, err error) {
	if f.traps.has(Throttled) && f.read > 0 {
		if now.Before(f.answered) {
			f.answered = now // a clock may go back
		}
		if wait := patience - now.Sub(f.answered); wait > 0 {
			return Quota{}, &ThrottledError{wait}
		}
	}
	f.read++
	f.answered = now
	if f.traps.has(AccountSwitch) && f.read == 4 {
		f.account = f.open("account-2", now, 40, 60)
	}
	switch {
	case f.signedOut():
		return Quota{Status: NeedsAuth, Reason: reasonSignedOut, AsOf: now}, nil
	case f.script == ScriptCustomEndpoint:
		return Quota{Status: Unsupported, Reason: reasonCustom, AsOf: now}, nil
	case f.script == ScriptBalance:
		b := &Balance{Label: labelBalance, Currency: "CNY", Total: 8642, Granted: 642, ToppedUp: 8000, Unavailable: f.traps.has(BalanceUnavailable)}
		return Quota{Status: OK, Account: f.id, AsOf: now, Balance: b}, nil
	}
	f.move(now)
	own := &room{credits: f.credits}
	own.resets = ResetCredits{Available: len(own.credits) - f.spent, Credits: own.credits[:]}
	q = Quota{Status: OK, Account: f.id, Plan: plan, AsOf: now, Windows: append(own.windows[:0], f.windows...), Resets: &own.resets}
	f.distort(q.Windows, now)
	if usedUp(q.Windows) >= 0 {
		q.Reached = RateLimitReached
	}
	if f.told {
		f.thin(&q)
	}
	f.told = true
	return q, nil
}

func (f *Fake) signedOut() bool {
	return f.script == ScriptSignedOut || f.traps.has(AccountSwitch) && f.read == 3
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

// distort makes of the windows what the traps make of them.
func (f *Fake) distort(windows []Window, now time.Time) {
	for i := range windows {
		w := &windows[i]
		if f.traps.has(EdgePercents) {
			w.UsedPercent = edges[(f.read-1)%len(edges)]
		}
		switch {
		case f.traps.has(NoResetTime) && w.DurationMins == sessionMins:
			w.ResetsAt = time.Time{}
		case f.traps.has(PastReset):
			w.ResetsAt = now.Add(-time.Hour)
		case f.traps.has(ResetMovesBack) && f.read%2 == 0 && w.DurationMins > sessionMins:
			w.ResetsAt = w.ResetsAt.Add(-2 * day)
		}
	}
	if f.traps.has(WeeklyFirst) {
		slices.Reverse(windows)
	}
}

// thin leaves out of an answer what an update does not say.
func (f *Fake) thin(q *Quota) {
	update := Quota{Status: q.Status, AsOf: q.AsOf, Reached: q.Reached, Sparse: true}
	switch {
	case f.traps.has(SparseWindow):
		i := f.read % len(q.Windows)
		update.Windows = q.Windows[i : i+1]
	case f.traps.has(SparseStatus):
	case f.traps.has(SparseNulls):
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
	case f.spent == len(f.credits):
		return NoCredit, nil
	case f.traps.has(OneWindowFails):
		return "", fmt.Errorf("usagefake: trap %s: an account with one window cannot redeem; nothing was spent", OneWindowFails)
	}
	f.credits[f.spent].Status = CreditRedeemed
	f.spent++
	f.counts.Spent++
	f.told = false // whoever has redeemed reads again, and wants to know all
	f.windows[0].UsedPercent = 0
	if key != "" {
		f.keys[key] = true
	}
	if f.traps.has(LostReply) && f.counts.Spent == 1 {
		return "", lost("RedeemQuotaReset")
	}
	return Reset, nil
}
