package usagefake

//go:generate go tool mockgen -typed -write_command_comment=false -package=usagefakemock -destination=usagefakemock/source.go . Source

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Source answers for one account of one provider. [Fake] is one. Each method may be called by many at once, and returns when its context is
// over.
type Source interface {
	// ReadQuota is how much of the account's quota is used. That there is no quota to read is an answer, whose Status says why; an error is
	// that there was no answer, so that whoever has an older one keeps it.
	ReadQuota(ctx context.Context) (Quota, error)

	// ReadTokenUsage has the tokens that were used, oldest first.
	ReadTokenUsage(ctx context.Context) ([]TokenRecord, error)

	// RedeemQuotaReset spends a reset credit and sets the session's window to 0. Whoever does not know what became of a call repeats it with
	// the same key, which spends nothing a second time. Where there is nothing to redeem the error is [ErrUnsupported].
	RedeemQuotaReset(ctx context.Context, key string) (Redemption, error)
}

var (
	// ErrUnsupported is that an account does not have what was asked for.
	ErrUnsupported = errors.New("unsupported")
	// ErrSignedOut is that nobody is signed in.
	ErrSignedOut = errors.New("signed out")
	// ErrLost is that a call was carried out and its answer has not arrived.
	ErrLost = errors.New("the answer was lost")
)

// ThrottledError is that the provider refuses to say anything so soon after the last time: its status 429. It says nothing about the login, nor
// about the quota.
type ThrottledError struct {
	RetryAfter time.Duration // from now on
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("usagefake: the usage endpoint is throttled; try again in %v", e.RetryAfter)
}

// MalformedError is that the provider has sent what is none of its answers.
type MalformedError struct {
	Body string
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("usagefake: the answer is malformed: %.60q", e.Body)
}

// LimitError is what a turn fails with while a window is used up. See [Quota.Limit].
type LimitError struct {
	Window Window
}

func (e *LimitError) Error() string {
	text := fmt.Sprintf("usagefake: usage limit reached: window %s is at %s", e.Window.ID, percent(e.Window.UsedPercent))
	if !e.Window.ResetsAt.IsZero() {
		text += ", and resets at " + stamp(e.Window.ResetsAt)
	}
	return text
}

// Outcome is what became of a redemption.
type Outcome string

// The outcomes that there are.
const (
	Reset           Outcome = "reset"           // a credit was spent, and the window is at 0
	NothingToReset  Outcome = "nothingToReset"  // nothing was spent, as nothing was used; a Fake says this only where [Config] does
	NoCredit        Outcome = "noCredit"        // there is none left
	AlreadyRedeemed Outcome = "alreadyRedeemed" // this key has spent one before, and no other now
)

var outcomes = []Outcome{Reset, NothingToReset, NoCredit, AlreadyRedeemed}

// Redemption is the answer to a redemption.
type Redemption struct {
	Outcome Outcome `json:"outcome"`
	Warning string  `json:"warning,omitempty"` // what the user should know besides
}
