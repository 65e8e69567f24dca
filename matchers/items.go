package matchers

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/onsi/gomega/format"
	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// HaveItems matches a whole timeline, in order. Each expected value is an item, which must be equal, or a matcher. Of a run it looks at
// the turn without the user's message.
func HaveItems(want ...any) Matcher {
	return matcher{"have these items and no others" + list(want), func(actual any) (string, error) {
		got, err := itemsOf("HaveItems", actual)
		if err != nil {
			return "", err
		}
		for i, w := range want {
			if i == len(got) {
				return fmt.Sprintf("item %d is missing: want to %s", i, describe(w)), nil
			}
			if differs, err := item(got[i], w); differs != "" || err != nil {
				return fmt.Sprintf("item %d differs: %s", i, differs), err
			}
		}
		if len(got) > len(want) {
			return fmt.Sprintf("item %d is one too many: %s", len(want), timeline.Line(got[len(want)])), nil
		}
		return "", nil
	}}
}

// ContainItems matches a timeline that has these items in this order, whatever stands between them; see [HaveItems].
func ContainItems(want ...any) Matcher {
	return matcher{"contain these items in this order" + list(want), func(actual any) (string, error) {
		got, err := itemsOf("ContainItems", actual)
		if err != nil {
			return "", err
		}
		next := 0
		for i, w := range want {
			for found := false; !found; next++ {
				if next == len(got) {
					where := "in the timeline"
					if i > 0 {
						where = "behind the one before it"
					}
					return fmt.Sprintf("expected item %d is not %s: want to %s", i, where, describe(w)), nil
				}
				differs, err := item(got[next], w)
				if err != nil {
					return "", err
				}
				found = differs == ""
			}
		}
		return "", nil
	}}
}

func list(want []any) string {
	var b strings.Builder
	for _, w := range want {
		b.WriteString("\n    " + describe(w))
	}
	return b.String()
}

func itemsOf(name string, actual any) (timeline.Items, error) {
	switch a := actual.(type) {
	case timeline.Run:
		return a.Items(), nil
	case timeline.Timeline:
		return a.Items(), nil
	case timeline.Items:
		return a, nil
	case []timeline.Item:
		return a, nil
	}
	return nil, fmt.Errorf("%s expects a run, a timeline or items.  Got:\n%s", name, format.Object(actual, 1))
}

// item compares an item with an item or a matcher.
func item(got timeline.Item, want any) (differs string, err error) {
	switch w := want.(type) {
	case types.GomegaMatcher:
		return by(w, timeline.Line(got), got)
	case timeline.Item:
		if !reflect.DeepEqual(got, w) {
			return fmt.Sprintf("it is\n%s\nwant\n%s", timeline.AppendJSON(nil, got), timeline.AppendJSON(nil, w)), nil
		}
		return "", nil
	}
	return "", fmt.Errorf("want an item or a matcher, got %T", want)
}
