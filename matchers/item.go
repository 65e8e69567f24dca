package matchers

import (
	"errors"
	"fmt"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// BeUserMessage matches what the user said. text is a string or a matcher.
func BeUserMessage(text any) Matcher {
	return message("BeUserMessage", "be a user message ", "text", text, func(i timeline.UserMessage) string { return i.Text })
}

// BeAssistantMessage matches what the agent said. text is a string or a matcher.
func BeAssistantMessage(text any) Matcher {
	return message("BeAssistantMessage", "be an assistant message ", "text", text, func(i timeline.AssistantMessage) string { return i.Text })
}

// BeReasoning matches what the agent thought. text is a string or a matcher.
func BeReasoning(text any) Matcher {
	return message("BeReasoning", "be reasoning ", "text", text, func(i timeline.Reasoning) string { return i.Text })
}

// BeErrorItem matches an error item by its message, a string or a matcher.
func BeErrorItem(text any) Matcher {
	return message("BeErrorItem", "be an error item ", "message", text, func(i timeline.ErrorItem) string { return i.Message })
}

// message is a matcher for items that are little more than a text.
func message[I timeline.Item](name, description, what string, text any, get func(I) string) Matcher {
	return one(name, of(textWant(name, what, text), get).called(description), nil)
}

// one is a matcher for one item, or the row that holds it. An item of another type does not match; what is no item at all is an error.
func one[I timeline.Item](name string, w want[I], opts []Option[I]) matcher {
	w, near := with(w, opts)
	m := matcher{description: w.description, wrong: w.wrong, entry: func(actual any) (differs, error) {
		i, ok := actual.(I)
		if !ok {
			it, err := itemOf(name, actual)
			if err != nil {
				return nil, err
			}
			if i, ok = it.(I); !ok {
				return isOther(it, w.description), nil
			}
		}
		return w.test(i)
	}}
	m.test = want[any]{test: m.entry}.verdict
	if near != nil {
		m.near = func(actual any) bool {
			it, err := itemOf(name, actual)
			i, ok := it.(I)
			return err == nil && ok && near(i)
		}
	}
	return m
}

// isOther says that an item is another one.
func isOther(it timeline.Item, description string) differs {
	return func() string { return "it is " + timeline.Line(it) + ", want to " + description }
}

// itemOf is an item, or that of a row.
func itemOf(name string, actual any) (timeline.Item, error) {
	it, ok := actual.(timeline.Item)
	if r, isRow := actual.(timeline.Row); isRow {
		it, ok = r.Item, true
	}
	if _, isRow := actual.(*timeline.Row); isRow {
		return nil, pointer(name+": the actual", actual)
	}
	if !ok {
		return nil, unexpected(name, "one item; for a run, a timeline or rows put it into HaveItems or ContainItems", actual)
	}
	if err := itemError(it); err != nil {
		return nil, fmt.Errorf("%s: the actual is %w", name, err)
	}
	return it, nil
}

// itemError is what is wrong with an item.
func itemError(it timeline.Item) error {
	switch {
	case it == nil:
		return errors.New("nil")
	case isPointer(it):
		return fmt.Errorf("a %T, want the value that it points to", it)
	}
	return nil
}
