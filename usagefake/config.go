package usagefake

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Config says which account a [Fake] is. The zero value is the script available, on the real clock.
//
// It decodes from JSON with the keys script, traps, quotas, tokens and redemptions. That is strict: an unknown key is an error which names the
// nearest known one.
type Config struct {
	// Script is what kind of account it is; "" is [ScriptAvailable].
	Script Script `json:"script"`

	// Traps are what the provider does that a host might not expect.
	Traps []Trap `json:"traps"`

	// Quotas are answers to the first calls of ReadQuota, one a call; Tokens and Redemptions are those of the other two methods. A call beyond
	// the list is answered by the script, and so is one whose answer is the zero [Answer].
	Quotas      []Answer[Quota]         `json:"quotas"`
	Tokens      []Answer[[]TokenRecord] `json:"tokens"`
	Redemptions []Answer[Redemption]    `json:"redemptions"`

	// Now is the clock; nil is time.Now. It is asked once a call, under the fake's lock, so it must not call the fake.
	Now func() time.Time `json:"-"`
}

// Script is the name of a kind of account. The documentation of this package says what each one answers.
type Script string

// The scripts that there are.
const (
	ScriptAvailable      Script = "available"
	ScriptBalance        Script = "balance"
	ScriptRateLimited    Script = "rate-limited"
	ScriptCustomEndpoint Script = "custom-endpoint"
	ScriptSignedOut      Script = "signed-out"
)

// Scripts are all that there are.
func Scripts() []Script {
	return []Script{ScriptAvailable, ScriptBalance, ScriptRateLimited, ScriptCustomEndpoint, ScriptSignedOut}
}

// Trap is something that a provider does and that a host might not expect.
type Trap string

// Traps of windows, for the scripts available and rate-limited.
const (
	// WeeklyOnly leaves the session's window out, so that the weekly one comes first, alone. Under rate-limited that is the one at 100, and
	// redeeming sets it to 0.
	WeeklyOnly Trap = "weeklyOnly"
	// MonthlyOnly has one window, of 30 days. Else it is as WeeklyOnly.
	MonthlyOnly Trap = "monthlyOnly"
	// WeeklyFirst has the same windows in the other order.
	WeeklyFirst Trap = "weeklyFirst"
	// ModelWindow adds a weekly window of one model.
	ModelWindow Trap = "modelWindow"
	// NoResetTime does not say when the session's window resets.
	NoResetTime Trap = "noResetTime"
	// EdgePercents has the windows at 0, 1, 99, 100 and 130 percent, one read each in turn, whatever was redeemed. For the script available.
	EdgePercents Trap = "edgePercents"
	// PastReset has reset times of an hour ago, and nothing has been reset.
	PastReset Trap = "pastReset"
	// ResetMovesBack has the reset times of long windows two days earlier in every second read.
	ResetMovesBack Trap = "resetMovesBack"
)

// Traps of updates, for the scripts available and rate-limited. The first read says everything, and so does the one after a reset credit was spent;
// the others are [Quota].Sparse.
const (
	// SparseWindow updates one window, each in turn.
	SparseWindow Trap = "sparseWindow"
	// SparseStatus says that all is well, or that a limit is reached, and no more.
	SparseStatus Trap = "sparseStatus"
	// SparseNulls updates the percentages and leaves out when the windows reset and how long they are.
	SparseNulls Trap = "sparseNulls"
)

// Traps of accounts.
const (
	// AccountSwitch answers two reads for one account, says in the third that nobody is signed in, and goes on with another account, whose
	// session begins at 40 percent, and week at 60. For the scripts available and rate-limited.
	AccountSwitch Trap = "accountSwitch"
	// Throttled refuses reads within a minute of the last answer, with a [*ThrottledError]. A read that is refused moves nothing. For the
	// scripts available, rate-limited and balance.
	Throttled Trap = "throttled"
	// BalanceUnavailable has money that cannot be spent. For the script balance.
	BalanceUnavailable Trap = "balanceUnavailable"
)

// Traps of redemptions, for the scripts available and rate-limited.
const (
	// LostReply spends the first credit and then fails with [ErrLost].
	LostReply Trap = "lostReply"
	// OneWindowFails refuses to redeem where there is only one window, and spends nothing. It goes with WeeklyOnly or MonthlyOnly.
	OneWindowFails Trap = "oneWindowFails"
)

// Traps of token usage, for every script.
const (
	// UnpricedEndpoint has a vendor's model answer at somebody else's endpoint: all records are of [PricedModel], and none has a price.
	UnpricedEndpoint Trap = "unpricedEndpoint"
	// ZoneBorder has records in the first and in the last millisecond of their days, which are other days in other zones.
	ZoneBorder Trap = "zoneBorder"
	// IdleDay leaves a day out.
	IdleDay Trap = "idleDay"
)

// trapRow is what a trap needs, and what it contradicts.
type trapRow struct {
	trap    Trap
	scripts []Script // nil: all
	with    []Trap   // one of these
	without []Trap
}

var (
	windowed = []Script{ScriptAvailable, ScriptRateLimited}

	trapTable = []trapRow{
		{trap: WeeklyOnly, scripts: windowed, without: []Trap{MonthlyOnly, WeeklyFirst}},
		{trap: MonthlyOnly, scripts: windowed, without: []Trap{WeeklyFirst, ModelWindow}},
		{trap: WeeklyFirst, scripts: windowed},
		{trap: ModelWindow, scripts: windowed, without: []Trap{OneWindowFails}},
		{trap: NoResetTime, scripts: windowed, without: []Trap{WeeklyOnly, MonthlyOnly}},
		{trap: EdgePercents, scripts: []Script{ScriptAvailable}, without: []Trap{AccountSwitch}},
		{trap: PastReset, scripts: windowed, without: []Trap{ResetMovesBack}},
		{trap: ResetMovesBack, scripts: windowed, without: []Trap{SparseWindow, SparseStatus, SparseNulls}},
		{trap: SparseWindow, scripts: windowed, without: []Trap{SparseStatus, SparseNulls, AccountSwitch}},
		{trap: SparseStatus, scripts: windowed, without: []Trap{SparseNulls, AccountSwitch}},
		{trap: SparseNulls, scripts: windowed, without: []Trap{AccountSwitch}},
		{trap: AccountSwitch, scripts: windowed},
		{trap: Throttled, scripts: []Script{ScriptAvailable, ScriptRateLimited, ScriptBalance}},
		{trap: BalanceUnavailable, scripts: []Script{ScriptBalance}},
		{trap: LostReply, scripts: windowed, without: []Trap{OneWindowFails}},
		{trap: OneWindowFails, scripts: windowed, with: []Trap{WeeklyOnly, MonthlyOnly}},
		{trap: UnpricedEndpoint},
		{trap: ZoneBorder},
		{trap: IdleDay},
	}
)

// Traps are all that there are.
func Traps() []Trap {
	out := make([]Trap, len(trapTable))
	for i, r := range trapTable {
		out[i] = r.trap
	}
	return out
}

// traps are those that are set.
type traps []Trap

func (t traps) has(trap Trap) bool { return len(t) > 0 && slices.Contains(t, trap) }

// Answer is what one call gets. The zero value is whatever the script says. Else one of Say, Fail, Hang, Lost and Malformed is set; with all
// of them but Lost the call moves nothing.
//
// In JSON the keys are say, unchecked, fail, hang, lost and malformed. There fail is "signed-out", "unsupported", "throttled", which says to
// come back in a minute, or the message of another error, which must not look like one of these words.
type Answer[T any] struct {
	// Say is the answer; the function [Say] makes one of a value. A quota's Status is [OK] where it is not said, and its AsOf is now.
	Say *T
	// Unchecked lets Say be what no provider should say, such as a percentage below 0. Without it that is an error of [New].
	Unchecked bool
	// Fail is the error that the call returns.
	Fail error
	// Hang lets the call wait until its context is over.
	Hang bool
	// Lost carries the call out, and then fails with [ErrLost].
	Lost bool
	// Malformed is what a server sends in place of the answer. In Go it is a [*MalformedError].
	Malformed string
}

// Say is the answer v.
func Say[T any](v T) Answer[T] { return Answer[T]{Say: &v} }

type answerJSON[T any] struct {
	Say       *T      `json:"say"`
	Unchecked bool    `json:"unchecked"`
	Fail      failure `json:"fail"`
	Hang      bool    `json:"hang"`
	Lost      bool    `json:"lost"`
	Malformed string  `json:"malformed"`
}

func (*Answer[T]) shape() reflect.Type { return reflect.TypeFor[answerJSON[T]]() }

// UnmarshalJSON is strict, as that of [Config].
func (a *Answer[T]) UnmarshalJSON(data []byte) error {
	var in answerJSON[T]
	if err := strict(data, &in); err != nil {
		return fmt.Errorf("usagefake: answer: %w", err)
	}
	*a = Answer[T]{in.Say, in.Unchecked, in.Fail.error, in.Hang, in.Lost, in.Malformed}
	return nil
}

// failure is an error as JSON has it: a word, or a message.
type failure struct{ error }

var failures = map[string]error{"signed-out": ErrSignedOut, "unsupported": ErrUnsupported, "throttled": &ThrottledError{time.Minute}}

// failureWord is the word that a text is, or was meant to be.
func failureWord(text string) string { return nearest(text, slices.Sorted(maps.Keys(failures))) }

// UnmarshalText takes no message that was meant to be a word.
func (f *failure) UnmarshalText(data []byte) error {
	text := string(data)
	switch word := failureWord(text); {
	case word != "" && word != text:
		return fmt.Errorf("did you mean %q?", word)
	case word != "":
		f.error = failures[word]
	case text != "":
		f.error = errors.New(text)
	}
	return nil
}

// UnmarshalJSON is strict. What the values must be is checked by [New].
func (c *Config) UnmarshalJSON(data []byte) error {
	type bare Config // has no methods, so this does not call itself
	var in bare
	if err := strict(data, &in); err != nil {
		return fmt.Errorf("usagefake: %w", err)
	}
	in.Now = c.Now
	*c = Config(in)
	return nil
}

// check finds what is wrong.
func (c Config) check(now time.Time) error {
	if !slices.Contains(Scripts(), c.script()) {
		return unknown("script", c.Script, Scripts())
	}
	if err := c.checkTraps(); err != nil {
		return err
	}
	return errors.Join(
		checkAnswers("quotas", c.Quotas, func(q Quota) error {
			if q.AsOf.IsZero() && !q.Sparse {
				q.AsOf = now // or later, when it is said
			}
			return q.Check()
		}),
		checkAnswers("tokens", c.Tokens, checkTokens),
		checkAnswers("redemptions", c.Redemptions, checkRedemption),
	)
}

func (c Config) checkTraps() error {
	script, set := c.script(), traps(c.Traps)
	for i, t := range set {
		row := slices.IndexFunc(trapTable, func(r trapRow) bool { return r.trap == t })
		if row < 0 {
			return unknown("trap", t, Traps())
		}
		r := trapTable[row]
		switch {
		case set[:i].has(t):
			return fmt.Errorf("usagefake: trap %s stands there twice", t)
		case r.scripts != nil && !slices.Contains(r.scripts, script):
			return fmt.Errorf("usagefake: trap %s is not for the script %s; it is for %s", t, script, list(r.scripts, " or "))
		case r.with != nil && !slices.ContainsFunc(r.with, set.has):
			return fmt.Errorf("usagefake: trap %s does nothing without %s", t, list(r.with, " or "))
		}
		if w := slices.IndexFunc(r.without, set.has); w >= 0 {
			return fmt.Errorf("usagefake: the traps %s and %s contradict each other; set one of them", t, r.without[w])
		}
	}
	return nil
}

func (c Config) script() Script {
	if c.Script == "" {
		return ScriptAvailable
	}
	return c.Script
}

func unknown[S ~string](what string, got S, known []S) error {
	end := "."
	if best := nearest(got, known); best != "" {
		end = fmt.Sprintf(", did you mean %q?", best)
	}
	return fmt.Errorf("usagefake: there is no %s %.40q%s There are %s", what, got, end, list(known, ", "))
}

func list[S ~string](all []S, between string) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = string(s)
	}
	return strings.Join(words, between)
}
