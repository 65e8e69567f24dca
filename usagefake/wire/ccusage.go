package wire

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/understudy-go/understudy/usagefake"
)

type ccusageTokens struct {
	Input         int64 `json:"inputTokens"` // without what a cache has read or written
	Output        int64 `json:"outputTokens"`
	CacheCreation int64 `json:"cacheCreationTokens"`
	CacheRead     int64 `json:"cacheReadTokens"`
}

func (t *ccusageTokens) add(r usagefake.TokenRecord) {
	t.Input += r.Input - r.CacheRead - r.CacheWrite
	t.Output += r.Output
	t.CacheCreation += r.CacheWrite
	t.CacheRead += r.CacheRead
}

type ccusageModel struct {
	Name string `json:"modelName"`
	ccusageTokens
	Cost           dollars `json:"cost"`
	MissingPricing bool    `json:"missingPricing,omitempty"`
}

type ccusageRow struct {
	Date string `json:"date"`
	ccusageTokens
	Total  int64          `json:"totalTokens"`
	Cost   dollars        `json:"totalCost"`
	Names  []string       `json:"modelsUsed"`
	Models []ccusageModel `json:"modelBreakdowns"`
}

type ccusageTotals struct {
	ccusageTokens
	Total    int64    `json:"totalTokens"`
	Cost     dollars  `json:"totalCost"`
	Unpriced []string `json:"unpricedModels,omitempty"`
}

// dollars are null where they are no number.
type dollars float64

func (d dollars) MarshalJSON() ([]byte, error) { return json.Marshal(number(float64(d))) }

// CCUsageDaily is what ccusage claude daily --json prints. Its input leaves out what was read from a cache or written to one, which it has by
// itself. Its days are those of the records, in UTC, and one without a record has no row. The names of a day's models are in the order of the
// records, and its breakdown has the dearest first. Whether a model has a price is what the record says; ccusage itself goes by the name.
func CCUsageDaily(records []usagefake.TokenRecord) []byte {
	out := struct {
		Daily  []ccusageRow  `json:"daily"`
		Totals ccusageTotals `json:"totals"`
	}{Daily: []ccusageRow{}}
	for _, r := range records {
		row := at(&out.Daily, func(row ccusageRow) bool { return row.Date == r.Day })
		row.Date = r.Day
		row.add(r)
		row.Total += r.Input + r.Output
		row.Cost += dollars(r.CostUSD)

		model := at(&row.Models, func(m ccusageModel) bool { return m.Name == r.Model })
		if model.Name = r.Model; !slices.Contains(row.Names, r.Model) {
			row.Names = append(row.Names, r.Model)
		}
		model.add(r)
		model.Cost += dollars(r.CostUSD)
		model.MissingPricing = model.MissingPricing || !r.Priced

		totals := &out.Totals
		totals.add(r)
		totals.Total += r.Input + r.Output
		totals.Cost += dollars(r.CostUSD)
		if !r.Priced && !slices.Contains(totals.Unpriced, r.Model) {
			totals.Unpriced = append(totals.Unpriced, r.Model)
		}
	}
	for _, row := range out.Daily {
		slices.SortStableFunc(row.Models, func(a, b ccusageModel) int { return cmp.Compare(b.Cost, a.Cost) })
	}
	slices.SortStableFunc(out.Daily, func(a, b ccusageRow) int { return cmp.Compare(a.Date, b.Date) })
	slices.Sort(out.Totals.Unpriced)
	return encode(out)
}

// at is the element that is meant, which is a new one where there is none.
func at[T any](list *[]T, meant func(T) bool) *T {
	i := slices.IndexFunc(*list, meant)
	if i < 0 {
		i = len(*list)
		*list = append(*list, *new(T))
	}
	return &(*list)[i]
}
