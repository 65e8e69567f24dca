package matchers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"
)

// list is a list that is compared with another one.
type list[T any] struct {
	what string // what an entry is called
	in   string // and what it stands in
	all  []T
	line func(T) string
}

// expected is one entry of the other one.
type expected[T any] struct {
	value any // as it was given
	test  func(T) (differs, error)
	near  func(T) bool // that an entry is probably the one that was meant; may be nil
}

// lists is a matcher for lists of T.
func lists[T any](
	name, description, none, what string, values []any,
	expect func(what string, value any) (expected[T], error), test func(actual any, want []expected[T]) (verdict, error),
) Matcher {
	if len(values) == 0 {
		description = none
	}
	want := make([]expected[T], len(values))
	m := matcher{description: description, list: table{what: what, len: len(want), line: func(i int) string {
		return strings.TrimPrefix(describe(want[i].value), "be ")
	}}}
	for i, v := range values {
		var err error
		want[i], err = expect(fmt.Sprintf("%s: expected %s %d", name, what, i), v)
		if m.wrong == nil {
			m.wrong = err
		}
	}
	m.test = func(actual any) (verdict, error) { return test(actual, want) }
	return m
}

// expectedByMatcher is a matcher among other values that may be expected.
func expectedByMatcher[T any](what, right string, value any, line func(T) string) (expected[T], error) {
	if err := matcherArgument(what, right, value); err != nil {
		return expected[T]{value: value}, err
	}
	if ours, ok := value.(matcher); ok {
		test := ours.asEntry()
		e := expected[T]{value: value, test: func(got T) (differs, error) { return test(got) }}
		if ours.near != nil {
			e.near = func(got T) bool { return ours.near(got) }
		}
		return e, nil
	}
	m := value.(types.GomegaMatcher)
	return expected[T]{value: value, test: func(got T) (differs, error) {
		return ask(m, func() string { return "it is " + line(got) }, got)
	}}, nil
}

// exactly is the test that a list has these entries and no others.
func exactly[T any](got list[T], want []expected[T]) (v verdict, err error) {
	for i, w := range want {
		if i == len(got.all) {
			return verdict{fmt.Sprintf("%s %d is missing: want %s", got.what, i, wanted(w.value)), i, i}, nil
		}
		d, err := w.test(got.all[i])
		if err != nil {
			return v, got.error(i, err)
		}
		if d != nil {
			return verdict{fmt.Sprintf("%s %d: %s", got.what, i, d()), i, i}, nil
		}
	}
	if i := len(want); i < len(got.all) {
		return verdict{fmt.Sprintf("%s %d: it is %s, want no more %s", got.what, i, got.line(got.all[i]), plural(0, got.what)), i, i}, nil
	}
	return v, nil
}

// inOrder is the test that a list has these entries in this order, with others between.
func inOrder[T any](got list[T], want []expected[T]) (v verdict, err error) {
	next := 0
	for i, w := range want {
		at, err := got.find(next, w)
		if at < 0 {
			says := fmt.Sprintf("expected %s %d is not %s", got.what, i, got.in)
			if next > 0 {
				says += fmt.Sprintf(" after %s %d", got.what, next-1)
			}
			v, err = got.missing(says+": want "+wanted(w.value), next, w, err)
			v.want = i
			return v, err
		}
		next = at + 1
	}
	return v, nil
}

// find is the first entry from one on that is the expected one, or -1 and the first error that its test had.
func (l list[T]) find(from int, w expected[T]) (at int, failed error) {
	for i := from; i < len(l.all); i++ {
		switch d, err := w.test(l.all[i]); {
		case err != nil && failed == nil:
			failed = l.error(i, err)
		case err == nil && d == nil:
			return i, nil
		}
	}
	return -1, failed
}

// missing is the verdict that nothing from an entry on is the expected one. It shows how those differ that probably were meant.
func (l list[T]) missing(says string, from int, w expected[T], failed error) (verdict, error) {
	if failed != nil {
		return verdict{}, fmt.Errorf("%s: %w", says, failed)
	}
	const most = 3
	v, n := verdict{differs: says, got: max(0, from-1)}, 0
	for i := from; i < len(l.all) && w.near != nil; i++ {
		if !w.near(l.all[i]) {
			continue
		}
		if n++; n > most {
			v.differs += "\n…"
			break
		}
		if n == 1 {
			v.got = i
		}
		if d, _ := w.test(l.all[i]); d != nil {
			v.differs += fmt.Sprintf("\n%s %d is not the one: %s", l.what, i, d())
		}
	}
	return v, nil
}

// has is the verdict that one entry is the expected one. Of a list that has none that is near it says which others there are, by name.
func (l list[T]) has(w expected[T], none, others string, name func(T) string) (verdict, error) {
	at, err := l.find(0, w)
	if at >= 0 {
		return verdict{}, nil
	}
	v, err := l.missing(none, 0, w, err)
	if v.differs != none {
		return v, err
	}
	var names []string
	for _, e := range l.all {
		if n := name(e); n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if names == nil {
		v.differs += ", nor any other"
	} else {
		v.differs += "; " + others + " " + strings.Trim(describe(names), "[]")
	}
	return v, err
}

// error tells which entry an error is about.
func (l list[T]) error(i int, err error) error {
	return fmt.Errorf("%s %d, %s: %w", l.what, i, l.line(l.all[i]), err)
}
