package matchers

import (
	"fmt"
	"reflect"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// HaveItems matches all that somebody did, in order. Each expected value is an item, which must be equal, or a matcher. Of a run it looks
// at the turn without the user's message; of rows at each of them.
func HaveItems(want ...any) Matcher {
	return items("HaveItems", "have exactly these items:", "have no items", want, exactly)
}

// ContainItems matches what has these items in this order, whatever stands between them; see [HaveItems]. A matcher that has an error for
// one item, because it is for items of another type, passes it by.
func ContainItems(want ...any) Matcher {
	return items("ContainItems", "contain these items in this order:", "contain any items, or none", want, inOrder)
}

func items(name, description, none string, want []any, test func(list[timeline.Item], []expected[timeline.Item]) (verdict, error)) Matcher {
	return lists(name, description, none, "item", want, expectedItem, func(actual any, want []expected[timeline.Item]) (verdict, error) {
		got, err := itemsOf(name, actual)
		if err != nil {
			return verdict{}, err
		}
		return test(list[timeline.Item]{"item", "in the timeline", got, timeline.Line}, want)
	})
}

// expectedItem is an item, which must be equal, or a matcher.
func expectedItem(what string, w any) (expected[timeline.Item], error) {
	i, ok := w.(timeline.Item)
	if !ok {
		return expectedByMatcher(what, "an item or a matcher", w, timeline.Line)
	}
	if isPointer(w) {
		return expected[timeline.Item]{}, pointer(what, w)
	}
	return expected[timeline.Item]{value: w, test: func(got timeline.Item) (differs, error) {
		if equal(got, i) {
			return nil, nil
		}
		return func() string {
			if got.Type() != i.Type() {
				return "it is " + timeline.Line(got) + ", want " + timeline.Line(i)
			}
			return whyNot(it, got, i)
		}, nil
	}}, nil
}

// equal is reflect.DeepEqual, which is slower, for items.
func equal(a, b timeline.Item) bool {
	switch a := a.(type) {
	case timeline.UserMessage, timeline.AssistantMessage, timeline.Reasoning, timeline.ErrorItem, timeline.Compaction, timeline.Notification:
		return a == b
	case timeline.ToolCall:
		b, ok := b.(timeline.ToolCall)
		return ok && a.CallID == b.CallID && a.Name == b.Name && a.Status == b.Status && equalDetails(a.Detail, b.Detail) &&
			(a.Error == nil && b.Error == nil || reflect.DeepEqual(a.Error, b.Error)) &&
			(a.Metadata == nil && b.Metadata == nil || reflect.DeepEqual(a.Metadata, b.Metadata))
	}
	return reflect.DeepEqual(a, b)
}

func equalDetails(a, b timeline.Detail) bool {
	switch a := a.(type) {
	case timeline.Shell, timeline.Read, timeline.Edit, timeline.Write, timeline.Fetch, timeline.PlainText, timeline.Plan:
		return a == b
	}
	return reflect.DeepEqual(a, b)
}

const manyItems = "a run, a turn, a timeline, items or rows"

// itemsOf are the items of all that may be a list of them.
func itemsOf(name string, actual any) (got timeline.Items, err error) {
	switch a := actual.(type) {
	case timeline.Run:
		got = a.Items()
	case turn:
		if isNilPointer(a) {
			return nil, pointer(name+": the actual", actual)
		}
		run, _ := a.Ended()
		got = run.Items()
	case timeline.Timeline:
		got = a.Items()
	case timeline.Items:
		got = a
	case []timeline.Item:
		got = a
	case []timeline.Row:
		got = make(timeline.Items, len(a))
		for i, r := range a {
			got[i] = r.Item
		}
	case []timeline.Plugin:
		got = make(timeline.Items, len(a))
		for i, p := range a {
			got[i] = p
		}
	case *timeline.Run, *timeline.Timeline, *timeline.Items, *[]timeline.Item, *[]timeline.Row, *[]timeline.Plugin:
		return nil, pointer(name+": the actual", actual)
	default:
		return nil, unexpected(name, manyItems, actual)
	}
	for i, it := range got {
		if err := itemError(it); err != nil {
			return nil, fmt.Errorf("%s: item %d is %w", name, i, err)
		}
	}
	return got, nil
}
