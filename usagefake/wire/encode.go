package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"time"

	"github.com/understudy-go/understudy/usagefake"
)

// Units are how numbers are written where the sources disagree. The zero value is what was measured with real programs.
type Units struct {
	// Percent has the utilization of a rate_limit_event from 0 to 100. Without it that is from 0 to 1.
	Percent bool
	// Millis has the times of a rate_limit_event in milliseconds since 1970. Without it they are seconds.
	Millis bool
	// Numbers has the amounts of a balance as numbers. Without it they are strings.
	Numbers bool
}

func (u Units) amount(a usagefake.Amount) any {
	if u.Numbers {
		return json.Number(a.String())
	}
	return a
}

const (
	fiveHours = 5 * 60
	week      = 7 * 24 * 60
	all       = 100 // percent
)

// minutes are the length of a window. One that is not said is that of its id.
func minutes(w usagefake.Window) int {
	return cmp.Or(w.DurationMins, map[string]int{"session": fiveHours, "weekly": week}[w.ID])
}

// encode is JSON on one line, with <, > and & as they are.
func encode(v any) []byte {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	if err := to.Encode(v); err != nil {
		panic(err) // all types are of this package, and can be encoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// orNull is nil, which is null in JSON, for what was not said.
func orNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// number has no way to write what is none.
func number(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// wholeSeconds are rounded up: who waits so long does not come a moment too soon.
func wholeSeconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }

func seconds(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	s := t.Unix()
	return &s
}

// iso is a time as JavaScript writes it.
func iso(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format("2006-01-02T15:04:05.000Z")
	return &s
}
