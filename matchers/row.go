package matchers

import (
	"fmt"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// RowOption is something more that a row must be.
type RowOption = Option[timeline.Row]

// WithTurn wants a row of the turn with that id, a string or a matcher.
func WithTurn(id any) RowOption {
	w := of(textWant("WithTurn", "turn", id), func(r timeline.Row) string { return r.TurnID })
	return RowOption(w.called("turn "))
}

// HaveRow matches stored rows that have one with an item that equals the expected one, or that a matcher matches. Rows are every state of a
// tool call and every piece of a message, where a timeline has the tool call and the message once. A matcher that has an error for an item,
// because it is for items of another type, passes it by.
func HaveRow(item any, opts ...RowOption) Matcher {
	e, wrong := expectedItem("HaveRow: the expected item", item)
	description := "have a row of " + strings.TrimPrefix(describe(item), "be ")
	w, near := with(want[timeline.Row]{description, wrong, func(r timeline.Row) (differs, error) { return e.test(r.Item) }}, opts)
	row := expected[timeline.Row]{test: w.test, near: func(r timeline.Row) bool {
		return e.near != nil && e.near(r.Item) || near != nil && near(r)
	}}
	return matcher{description: w.description, wrong: w.wrong, test: func(actual any) (v verdict, err error) {
		rows, err := rowsOf("HaveRow", actual)
		if err != nil {
			return v, err
		}
		l := list[timeline.Row]{"row", "", rows, func(r timeline.Row) string { return timeline.Line(r.Item) }}
		at, err := l.find(0, row)
		if at >= 0 {
			return v, nil
		}
		return l.missing("there is no row"+strings.TrimPrefix(w.description, "have a row"), 0, row, err)
	}}
}

func rowsOf(name string, actual any) ([]timeline.Row, error) {
	rows, ok := actual.([]timeline.Row)
	if !ok {
		return nil, unexpected(name, "rows, such as those of AgentRows", actual)
	}
	for i, r := range rows {
		if err := itemError(r.Item); err != nil {
			return nil, fmt.Errorf("%s: the item of row %d is %w", name, i, err)
		}
	}
	return rows, nil
}
