package matchers

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/onsi/gomega/format"
	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// HaveItems matches a whole timeline, in order. Each expected value is an item, which must be equal, or a matcher. Of a run it looks at
// the turn without the user's message.
func HaveItems(want ...any) Matcher {
	description := "have exactly these items:"
	if len(want) == 0 {
		description = "have no items"
	}
	return items("HaveItems", description, want, func(got timeline.Items, want []any) (string, error) {
		for i, w := range want {
			if i == len(got) {
				return fmt.Sprintf("item %d is missing: want %s", i, wanted(w)), nil
			}
			differs, err := item(got[i], w)
			if err != nil {
				return "", at(i, got[i], err)
			}
			if differs != "" {
				return fmt.Sprintf("item %d: %s", i, differs), nil
			}
		}
		if len(got) > len(want) {
			return fmt.Sprintf("item %d: it is %s, want no more items", len(want), timeline.Line(got[len(want)])), nil
		}
		return "", nil
	})
}

// ContainItems matches a timeline that has these items in this order, whatever stands between them; see [HaveItems].
// A matcher that has an error for one item, because it is for items of another type, passes it by.
func ContainItems(want ...any) Matcher {
	return items("ContainItems", "contain these items in this order:", want, func(got timeline.Items, want []any) (string, error) {
		next := 0
		for i, w := range want {
			missing := fmt.Sprintf("expected item %d is not in the timeline", i)
			if i > 0 {
				missing += fmt.Sprintf(" after item %d", next-1)
			}
			missing += ": want " + wanted(w)
			var failed error
			for found := false; !found; next++ {
				if next == len(got) {
					return missing, failed
				}
				differs, err := item(got[next], w)
				if err != nil && failed == nil {
					failed = fmt.Errorf("%s: %w", missing, at(next, got[next], err))
				}
				found = differs == "" && err == nil
			}
		}
		return "", nil
	})
}

// items is a matcher for lists of items.
func items(name, description string, want []any, test func(timeline.Items, []any) (string, error)) Matcher {
	want = slices.Clone(want)
	var wrong error
	for i, w := range want {
		description += fmt.Sprintf("\n    %3d %s", i, strings.TrimPrefix(describe(w), "be "))
		if wrong == nil {
			wrong = itemArgument(fmt.Sprintf("%s: expected item %d", name, i), w)
		}
	}
	return matcher{description, wrong, func(actual any) (string, error) {
		got, err := itemsOf(name, actual)
		if err != nil {
			return "", err
		}
		return test(got, want)
	}}
}

// itemArgument is what is wrong with an argument that should be an item or a matcher.
func itemArgument(what string, want any) error {
	if _, ok := want.(timeline.Item); !ok {
		return matcherArgument(what, "an item or a matcher", want)
	}
	if reflect.ValueOf(want).Kind() == reflect.Pointer {
		return pointer(what, want)
	}
	return nil
}

func itemsOf(name string, actual any) (got timeline.Items, err error) {
	switch a := actual.(type) {
	case timeline.Run:
		got = a.Items()
	case timeline.Timeline:
		got = a.Items()
	case timeline.Items:
		got = a
	case []timeline.Item:
		got = a
	case *timeline.Run, *timeline.Timeline, *timeline.Items, *[]timeline.Item:
		return nil, pointer(name+": the actual", actual)
	default:
		return nil, fmt.Errorf("%s expects a run, a timeline or items.  Got:\n%s", name, format.Object(actual, 1))
	}
	for i, it := range got {
		if it == nil {
			return nil, fmt.Errorf("%s: item %d is nil", name, i)
		}
		if reflect.ValueOf(it).Kind() == reflect.Pointer {
			return nil, pointer(fmt.Sprintf("%s: item %d", name, i), it)
		}
	}
	return got, nil
}

// item compares an item with an item or a matcher.
func item(got timeline.Item, want any) (differs string, err error) {
	w, ok := want.(timeline.Item)
	if !ok {
		return ask(want.(types.GomegaMatcher), "it is "+timeline.Line(got), got)
	}
	if reflect.DeepEqual(got, w) {
		return "", nil
	}
	if got.Type() != w.Type() {
		return fmt.Sprintf("it is %s, want %s", timeline.Line(got), timeline.Line(w)), nil
	}
	is, wants := string(timeline.AppendJSON(nil, got)), string(timeline.AppendJSON(nil, w))
	if is == wants { // no detail and an unknown one, for instance
		is, wants = fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", w)
	}
	return fmt.Sprintf("it is\n    %s\nwant\n    %s", is, wants), nil
}

// at tells which item an error is about.
func at(i int, it timeline.Item, err error) error {
	return fmt.Errorf("item %d, %s: %w", i, timeline.Line(it), err)
}
