package matchers

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega/format"
	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/usagefake"
)

// want is something that is wanted of a T: how a message calls it, what is wrong with it, and the test.
type want[T any] struct {
	description string
	wrong       error
	test        func(T) (differs, error)
}

// of is the same want of whatever has a T.
func of[O, T any](w want[T], get func(O) T) want[O] {
	return want[O]{w.description, w.wrong, func(o O) (differs, error) { return w.test(get(o)) }}
}

// verdict is the test of a T that is the whole actual.
func (w want[T]) verdict(t T) (v verdict, err error) {
	d, err := w.test(t)
	if d != nil {
		v.differs = d()
	}
	return v, err
}

// called is a want with something before its description.
func (w want[T]) called(description string) want[T] {
	w.description = description + w.description
	return w
}

// Option is something more that one thing must be.
type Option[T any] want[T]

// with is a want with options. near is the test without them, or nil if there are none.
func with[T any](w want[T], opts []Option[T]) (all want[T], near func(T) bool) {
	if len(opts) == 0 {
		return w, nil
	}
	all = w
	for i, o := range opts {
		all.description += []string{" with ", " and "}[min(i, 1)] + o.description
		if all.wrong == nil {
			all.wrong = o.wrong
		}
	}
	opts = slices.Clone(opts)
	all.test = func(t T) (differs, error) {
		d, err := w.test(t)
		for i := 0; i < len(opts) && d == nil && err == nil; i++ {
			d, err = opts[i].test(t)
		}
		return d, err
	}
	return all, func(t T) bool {
		d, err := w.test(t)
		return d == nil && err == nil
	}
}

// textWant wants a text that equals a string, or that a matcher matches.
func textWant(name, what string, w any) want[string] {
	out := want[string]{description: describe(w)}
	if s, ok := w.(string); ok {
		out.test = func(got string) (differs, error) { return compare(what, got, s), nil }
		return out
	}
	out.wrong = matcherArgument(name+": "+what, "a string or a matcher", w)
	out.test = func(got string) (differs, error) {
		return ask(w.(types.GomegaMatcher), func() string { return what + " is " + quote(got) }, got)
	}
	return out
}

// compare says how a text differs.
func compare(what, got, want string) differs {
	if got == want {
		return nil
	}
	return func() string {
		if min(len(got), len(want)) >= int(format.TruncateThreshold) && format.TruncatedDiff { // Gomega points to the place in a long text
			return what + " differs:\n" + format.IndentString(format.MessageWithDiff(got, "to equal", want), 1)
		}
		return what + " is " + quote(got) + ", want " + quote(want)
	}
}

// ask asks a matcher about got. One of ours says itself what differs. For any other it is said what got is, and what the matcher says,
// except where that would only be the same again: of a text, a number, a time, a signal.
func ask(m types.GomegaMatcher, is func() string, got any) (differs, error) {
	if ours, ok := m.(matcher); ok {
		return ours.asEntry()(got)
	}
	ok, err := m.Match(got)
	if ok || err != nil {
		return nil, err
	}
	return func() string {
		said := is() + ", want " + wanted(m)
		switch got.(type) {
		case string, int, float64, time.Time, usagefake.Amount, interface{ Signal() }:
			if reflect.Indirect(reflect.ValueOf(m)).Type().PkgPath() == "github.com/onsi/gomega/matchers" {
				return said
			}
		}
		return said + ":\n" + format.IndentString(strings.TrimRight(m.FailureMessage(got), "\n"), 1)
	}, nil
}

// jsonWant wants JSON that is the same as what encoding/json makes of a value, or that a matcher matches. The matcher gets what
// encoding/json reads or, if it has an error for that, the text.
func jsonWant(name, what string, w any) want[json.RawMessage] {
	if m, ok := w.(types.GomegaMatcher); ok {
		test := func(got json.RawMessage) (differs, error) {
			is := func() string { return what + " is " + cut(string(got), 300) }
			var value any
			if err := json.Unmarshal(got, &value); err != nil {
				return func() string { return is() + ", which is not JSON (" + err.Error() + ")" }, nil
			}
			d, err := ask(m, is, value)
			if err != nil {
				if d, textErr := ask(m, is, string(got)); textErr == nil {
					return d, nil
				}
			}
			return d, err
		}
		return want[json.RawMessage]{describe(w), matcherArgument(name, "a value or a matcher", w), test}
	}
	text, err := encode(w)
	if err != nil {
		err = fmt.Errorf("%s: %T has no JSON form: %w", name, w, err)
		return want[json.RawMessage]{description: describe(w), wrong: err}
	}
	return want[json.RawMessage]{cut(string(text), 300), nil, func(got json.RawMessage) (differs, error) {
		if said := compareJSON(what, got, text); said != "" {
			return func() string { return said }, nil
		}
		return nil, nil
	}}
}

// equalWant wants a value that is equal in everything. Differences are told as those of the JSON forms.
func equalWant[T any](what, description string, w T) want[T] {
	return want[T]{description, nil, func(got T) (differs, error) {
		if reflect.DeepEqual(got, w) {
			return nil, nil
		}
		return func() string { return whyNot(what, got, w) }, nil
	}}
}

// whyNot says how two values differ that are not equal.
func whyNot(what string, got, want any) string {
	g, errG := encode(got)
	w, errW := encode(want)
	if errG == nil && errW == nil {
		if differs := compareJSON(what, g, w); differs != "" {
			return differs
		}
	}
	// no detail and an unknown one, for instance
	return fmt.Sprintf("%s is\n    %s\nwant\n    %s", what, cut(fmt.Sprintf("%#v", got), 500), cut(fmt.Sprintf("%#v", want), 500))
}

// matcherArgument is what is wrong with an argument that should be a matcher.
func matcherArgument(what, right string, w any) error {
	m, ok := w.(types.GomegaMatcher)
	switch ours, _ := m.(matcher); {
	case w == nil:
		return fmt.Errorf("%s is nil, want %s", what, right)
	case !ok:
		return fmt.Errorf("%s is of type %T, want %s", what, w, right)
	case isNilPointer(w):
		return fmt.Errorf("%s is a nil %T, want %s", what, w, right)
	case ours.wrong != nil:
		return fmt.Errorf("%s: %w", what, ours.wrong)
	}
	return nil
}

// pointer is the error for a pointer to what should be a value.
func pointer(what string, got any) error {
	if isNilPointer(got) {
		return fmt.Errorf("%s is a nil %T", what, got)
	}
	return fmt.Errorf("%s is a %T, want the value that it points to", what, got)
}

func isPointer(v any) bool { return reflect.ValueOf(v).Kind() == reflect.Pointer }

func isNilPointer(v any) bool { return isPointer(v) && reflect.ValueOf(v).IsNil() }

// unexpected is the error for an actual that is nothing the matcher is for.
func unexpected(name, expects string, actual any) error {
	if v := reflect.ValueOf(actual); v.Kind() == reflect.Func {
		return fmt.Errorf("%s expects %s, and got a %T: call it, or give it to Eventually", name, expects, actual)
	}
	if _, ours := tableOf(actual); ours {
		return fmt.Errorf("%s expects %s.  Got:\n    <%T>\n%s", name, expects, actual, show(actual, 0, limit()/2))
	}
	_, ours := oneLine(actual)
	if _, speaks := ownWords(actual); ours || speaks {
		return fmt.Errorf("%s expects %s.  Got:\n%s", name, expects, show(actual, 0, limit()/2))
	}
	return fmt.Errorf("%s expects %s.  Got:\n%s", name, expects, format.Object(actual, 1))
}
