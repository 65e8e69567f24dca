package matchers

import (
	"fmt"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/usagefake"
)

// BePriced matches a [usagefake.TokenRecord] whose price is known. For several there is Gomega's HaveEach and ContainElement.
func BePriced() Matcher { return priced("BePriced", "be priced", true) }

// BeUnpriced matches a [usagefake.TokenRecord] whose price nobody knows, and which therefore costs nothing in a sum.
func BeUnpriced() Matcher { return priced("BeUnpriced", "be unpriced", false) }

func priced(name, description string, want bool) Matcher {
	return matcher{description: description, test: func(actual any) (v verdict, err error) {
		r, ok := actual.(usagefake.TokenRecord)
		if _, isPointer := actual.(*usagefake.TokenRecord); isPointer {
			return v, pointer(name+": the actual", actual)
		}
		switch {
		case !ok:
			return v, unexpected(name, "one token record (usagefake.TokenRecord); for several put it into HaveEach or ContainElement", actual)
		case !r.Priced && r.CostUSD != 0:
			v.differs = fmt.Sprintf("it has no price, and yet costs $%v", r.CostUSD)
		case r.Priced != want && want:
			v.differs = "nobody knows its price"
		case r.Priced != want:
			v.differs = fmt.Sprintf("it costs $%v", r.CostUSD)
		}
		return v, nil
	}}
}

// HaveTokenTotals matches token records, a []usagefake.TokenRecord, by what they come to: a [usagefake.Totals], which must be equal, or a
// matcher, which gets one.
func HaveTokenTotals(totals any) Matcher {
	w := want[usagefake.Totals]{description: describe(totals)}
	if t, ok := totals.(usagefake.Totals); ok {
		w = equalWant(it, t.String(), t)
	} else {
		w.wrong = matcherArgument("HaveTokenTotals: totals", "a usagefake.Totals or a matcher", totals)
		w.test = func(got usagefake.Totals) (differs, error) {
			return ask(totals.(types.GomegaMatcher), func() string { return "the total is " + got.String() }, got)
		}
	}
	return matcher{description: "have the total " + w.description, wrong: w.wrong, test: func(actual any) (v verdict, err error) {
		records, err := recordsOf("HaveTokenTotals", actual)
		if err != nil {
			return v, err
		}
		return w.verdict(usagefake.Sum(records))
	}}
}

// HaveDailyRecords matches token records, a []usagefake.TokenRecord, of so many days that follow each other, the oldest first. There may be
// several of a day.
func HaveDailyRecords(days int) Matcher {
	m := matcher{description: fmt.Sprintf("have records of %d %s that follow each other", days, plural(days, "day"))}
	if days < 1 {
		m.wrong = fmt.Errorf("HaveDailyRecords: days is %d, want 1 or more", days)
	}
	m.test = func(actual any) (v verdict, err error) {
		records, err := recordsOf("HaveDailyRecords", actual)
		if err != nil {
			return v, err
		}
		wrong, n := checkDays(records)
		if wrong == nil && n != days {
			v.differs = fmt.Sprintf("there are records of %d %s, want %d", n, plural(n, "day"), days)
			return v, nil
		}
		return findings(wrong, "things are wrong"), nil
	}
	return m
}

// checkDays notes which days of records do not follow each other, and counts them.
func checkDays(records []usagefake.TokenRecord) (wrong []finding, days int) {
	for i, r := range records {
		if i == 0 || r.Day != records[i-1].Day {
			days++
		}
		if i == 0 || r.Day == records[i-1].Day {
			continue
		}
		before, err := time.Parse(time.DateOnly, records[i-1].Day)
		if _, wrong := time.Parse(time.DateOnly, r.Day); err != nil || wrong != nil {
			continue // Check says so
		}
		switch next := before.AddDate(0, 0, 1).Format(time.DateOnly); {
		case r.Day < next:
			wrong = append(wrong, finding{i, fmt.Sprintf("record %d is of %s, after %s: the oldest comes first", i, r.Day, records[i-1].Day)})
		case r.Day > next:
			wrong = append(wrong, finding{i, fmt.Sprintf("record %d is of %s, after %s: there is none of %s", i, r.Day, records[i-1].Day, next)})
		}
	}
	return wrong, days
}

// checkRecords notes what is wrong with records.
func checkRecords(records []usagefake.TokenRecord) []finding {
	c := check{about: func(i int) string { return fmt.Sprintf("record %d, %s", i, records[i]) }}
	for i, r := range records {
		if err := r.Check(); err != nil {
			c.wrong(i, "%v", err)
		}
	}
	days, _ := checkDays(records)
	c.found = append(c.found, days...)
	return c.all()
}

func recordsOf(name string, actual any) ([]usagefake.TokenRecord, error) {
	switch a := actual.(type) {
	case []usagefake.TokenRecord:
		return a, nil
	case *[]usagefake.TokenRecord:
		return nil, pointer(name+": the actual", actual)
	}
	return nil, unexpected(name, "token records ([]usagefake.TokenRecord)", actual)
}
