package usagefake

import (
	"math"
	"time"
)

// The models of the token records. The first is one that price lists know, at 3 USD for a million tokens of input, 15 of output, 0.30 read from a
// cache and 3.75 written to one. Nobody knows a price for the second.
const (
	PricedModel   = "claude-sonnet-4-5"
	UnpricedModel = "fake-large"
)

// TokenRecord is what one model has used on one day.
type TokenRecord struct {
	Day        string    `json:"day"` // 2026-07-01, in UTC
	At         time.Time `json:"at"`  // when on that day; in another zone it may be another day
	Model      string    `json:"model"`
	Input      int64     `json:"input"`      // all of it, from a cache or not
	CacheRead  int64     `json:"cacheRead"`  // of the input
	CacheWrite int64     `json:"cacheWrite"` // of the input
	Output     int64     `json:"output"`     // all of it
	Reasoning  int64     `json:"reasoning"`  // of the output
	Total      int64     `json:"total"`      // input and output
	Priced     bool      `json:"priced"`
	CostUSD    float64   `json:"costUSD"` // 0 if it is not priced, which does not mean that it was free
}

// Totals are what token records come to.
type Totals struct {
	Input      int64   `json:"input"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Output     int64   `json:"output"`
	Reasoning  int64   `json:"reasoning"`
	Total      int64   `json:"total"`
	CostUSD    float64 `json:"costUSD"`  // of those that have a price, to a billionth of a dollar
	Unpriced   int     `json:"unpriced"` // how many have none
}

// Sum adds records up.
func Sum(records []TokenRecord) (t Totals) {
	for _, r := range records {
		t.Input += r.Input
		t.CacheRead += r.CacheRead
		t.CacheWrite += r.CacheWrite
		t.Output += r.Output
		t.Reasoning += r.Reasoning
		t.Total += r.Total
		t.CostUSD += r.CostUSD
		if !r.Priced {
			t.Unpriced++
		}
	}
	t.CostUSD = math.Round(t.CostUSD*1e9) / 1e9 // so that it is what somebody else writes down
	return t
}

const (
	daysOfUsage = 14
	day         = 24 * time.Hour
	idleDay     = 7 // days ago
)

// records are those of the days up to now. They are of noon, and today's is not of the future.
func records(now time.Time, t traps) []TokenRecord {
	out := make([]TokenRecord, 0, daysOfUsage)
	today := now.Truncate(day)
	for ago := daysOfUsage - 1; ago >= 0; ago-- {
		if ago == idleDay && t.has(IdleDay) {
			continue
		}
		start := today.AddDate(0, 0, -ago)
		r := recordOf(start, t.has(UnpricedEndpoint))
		switch r.At = start.Add(day / 2); {
		case t.has(ZoneBorder) && ago%2 == 0:
			r.At = start
		case t.has(ZoneBorder):
			r.At = start.Add(day - time.Millisecond)
		case now.Before(r.At):
			r.At = now.Truncate(time.Millisecond)
		}
		out = append(out, r)
	}
	return out
}

// recordOf depends on the date alone, so that a day does not change when it is over.
func recordOf(start time.Time, unpriced bool) TokenRecord {
	n := start.Unix() / int64(day/time.Second)
	bits := mix(uint64(n))
	pick := func(from, below int64) int64 { // a number of the next ten bits
		v := from + (below-from)*int64(bits&1023)/1024
		bits >>= 10
		return v
	}
	fresh := pick(10_000, 40_000) // with the rest below 200,000, from where on price lists have another price
	r := TokenRecord{
		Day:        start.Format(time.DateOnly),
		Model:      PricedModel,
		CacheRead:  pick(5_000, 13_000) * 10, // of a price with tenths and one with quarters, so that a cost has six decimals
		CacheWrite: pick(1_000, 5_000) * 4,
		Output:     pick(4_000, 16_000),
	}
	r.Input = fresh + r.CacheRead + r.CacheWrite
	r.Reasoning = r.Output * pick(1, 50) / 100
	r.Total = r.Input + r.Output
	switch {
	case n%2 != 0:
		r.Model = UnpricedModel
	case !unpriced:
		r.Priced = true
		r.CostUSD = float64(fresh*3+r.Output*15+r.CacheRead*3/10+r.CacheWrite*15/4) / 1e6
	}
	if unpriced {
		r.Model = PricedModel
	}
	return r
}

// mix makes of a number another one that looks like chance.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
