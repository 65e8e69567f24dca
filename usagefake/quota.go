package usagefake

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Status is whether there is a quota to read.
type Status string

// The statuses that there are.
const (
	OK          Status = "ok"
	NeedsAuth   Status = "needs-auth"  // nobody is signed in
	Unsupported Status = "unsupported" // this account has none, and clears what was shown
)

var statuses = []Status{OK, NeedsAuth, Unsupported}

// RateLimitReached is what [Quota].Reached says where a window is used up.
const RateLimitReached = "rate_limit_reached"

// Quota is how much of an account's quota is used, at one time. Where its status is not [OK] it has no account and no numbers.
type Quota struct {
	Status  Status        `json:"status,omitempty"`
	Reason  string        `json:"reason,omitempty"`  // why the status is not OK: a locale key
	Account string        `json:"account,omitempty"` // whose numbers these are; another one's must not be shown
	Plan    string        `json:"plan,omitempty"`
	AsOf    time.Time     `json:"asOf,omitzero"`     // when the provider said so
	Windows []Window      `json:"windows,omitempty"` // in the provider's order, which says nothing about what they are
	Reached string        `json:"reached,omitempty"` // which limit is reached, if any is
	Balance *Balance      `json:"balance,omitempty"` // nil: the account does not pay by use
	Resets  *ResetCredits `json:"resets,omitempty"`  // nil: it has no such thing

	// Sparse says that this is an update of the answer before: it has what has changed, and the rest is still as it was. See [Quota.Merge].
	Sparse bool `json:"sparse,omitempty"`
}

// Window is a span of time in which only so much may be used.
type Window struct {
	ID           string    `json:"id"`                     // session, weekly and such; one of each in an answer
	Label        string    `json:"label,omitempty"`        // a locale key
	UsedPercent  float64   `json:"usedPercent"`            // 0 is nothing, 1 is one percent, 100 is all; a provider may say more
	DurationMins int       `json:"durationMins,omitempty"` // in minutes: 300 is five hours, 10080 a week; 0 is unknown
	ResetsAt     time.Time `json:"resetsAt,omitzero"`      // zero: not known
	Scope        string    `json:"scope,omitempty"`        // the only model that it counts; "" is all of them
}

// Balance is money that is left to pay with.
type Balance struct {
	Label    string `json:"label,omitempty"` // a locale key
	Currency string `json:"currency"`        // CNY, USD and such
	Total    Amount `json:"total"`
	Granted  Amount `json:"granted"`  // of the total, what was a gift
	ToppedUp Amount `json:"toppedUp"` // of the total, what was paid in

	// Unavailable says that the provider accepts no requests for this balance, although there may be money left.
	Unavailable bool `json:"unavailable,omitempty"`
}

// Amount is money, in hundredths: 8642 is 86.42. Its JSON is a string, "86.42".
type Amount int64

// String has always two decimals.
func (a Amount) String() string {
	sign, cents := "", uint64(a)
	if a < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}

// MarshalText makes the JSON of an amount a string.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what [Amount.String] writes. It may have fewer decimals.
func (a *Amount) UnmarshalText(text []byte) error {
	number, negative := strings.CutPrefix(string(text), "-")
	units, cents, point := strings.Cut(number, ".")
	if digits(units) && len(cents) <= 2 && (!point || digits(cents)) {
		sign := ""
		if negative {
			sign = "-"
		}
		if n, err := strconv.ParseInt(sign+units+(cents + "00")[:2], 10, 64); err == nil {
			*a = Amount(n)
			return nil
		}
	}
	return fmt.Errorf("usagefake: %.40q is no amount; write it as \"86.42\"", text)
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// ResetCredits are what [Source].RedeemQuotaReset spends.
type ResetCredits struct {
	Available int `json:"available"`

	// Credits may be fewer than Available, and include spent ones. nil: only the number is known.
	Credits []Credit `json:"credits"`
}

// Credit is one reset credit.
type Credit struct {
	ID        string       `json:"id"`
	Status    CreditStatus `json:"status"`
	GrantedAt time.Time    `json:"grantedAt,omitzero"`
	ExpiresAt time.Time    `json:"expiresAt,omitzero"` // zero: never
}

// CreditStatus is what has become of a credit.
type CreditStatus string

// The statuses of credits that there are.
const (
	CreditAvailable CreditStatus = "available"
	CreditRedeeming CreditStatus = "redeeming"
	CreditRedeemed  CreditStatus = "redeemed"
	CreditUnknown   CreditStatus = "unknown"
)

var creditStatuses = []CreditStatus{CreditAvailable, CreditRedeeming, CreditRedeemed, CreditUnknown}

// Limit is what a turn that begins now fails with, a [*LimitError], or nil. Of several windows that are used up it is the one that resets last.
// Those of a single model are left out.
func (q Quota) Limit() error {
	i := usedUp(q.Windows)
	if i < 0 {
		return nil
	}
	return &LimitError{q.Windows[i]}
}

// usedUp is the index of that window, or -1.
func usedUp(windows []Window) int {
	last := -1
	for i := range windows {
		w := &windows[i]
		if w.UsedPercent >= most && w.Scope == "" && (last < 0 || w.ResetsAt.After(windows[last].ResetsAt)) {
			last = i
		}
	}
	return last
}

// LimitReached is whether the provider says so, or a window that counts all models is used up.
func (q Quota) LimitReached() bool { return q.Reached != "" || usedUp(q.Windows) >= 0 }

// nobodys is whether the status is that of no account.
func (q Quota) nobodys() bool { return q.Status != "" && q.Status != OK }

// Merge is this answer after an update: what a host should show. An update that is not [Quota].Sparse takes its place. Else whatever the
// update says counts, and what it does not say stays. Windows are told apart by their ids; the percentage of one counts always, and a balance
// and reset credits are replaced as a whole. A status says as well whether a limit is reached, and why it is not [OK]. Numbers stay with
// whom they are of: there are none where the status is not OK, and an update that names another account begins anew. Both are left as they are.
func (q Quota) Merge(update Quota) Quota {
	update = update.clone()
	if !update.Sparse {
		return update
	}
	if update.Account != "" && update.Account != q.Account {
		q = Quota{}
	}
	out := q.clone()
	if update.Status != "" {
		out.Status, out.Reason, out.Reached = update.Status, "", ""
	}
	set(&out.Reason, update.Reason)
	set(&out.Reached, update.Reached)
	set(&out.Account, update.Account)
	set(&out.Plan, update.Plan)
	set(&out.AsOf, update.AsOf)
	set(&out.Balance, update.Balance)
	set(&out.Resets, update.Resets)
	for _, w := range update.Windows {
		i := slices.IndexFunc(out.Windows, func(old Window) bool { return old.ID == w.ID })
		if i < 0 {
			out.Windows = append(out.Windows, w)
			continue
		}
		old := &out.Windows[i]
		old.UsedPercent = w.UsedPercent
		set(&old.Label, w.Label)
		set(&old.DurationMins, w.DurationMins)
		set(&old.ResetsAt, w.ResetsAt)
		set(&old.Scope, w.Scope)
	}
	if out.nobodys() {
		return Quota{Status: out.Status, Reason: out.Reason, AsOf: out.AsOf}
	}
	return out
}

// set assigns what was said.
func set[T comparable](dst *T, v T) {
	if v != *new(T) {
		*dst = v
	}
}

func (q Quota) clone() Quota {
	q.Windows = slices.Clone(q.Windows)
	if q.Balance != nil {
		b := *q.Balance
		q.Balance = &b
	}
	if q.Resets != nil {
		r := *q.Resets
		r.Credits = slices.Clone(r.Credits)
		q.Resets = &r
	}
	return q
}
