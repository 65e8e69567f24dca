package matchers

import (
	"fmt"

	"github.com/onsi/gomega/format"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// of is a matcher for items of one type. An item of another type does not match; what is no item at all is an error.
func of[I timeline.Item](description string, test func(I) (differs string, err error)) Matcher {
	return matcher{description, func(actual any) (string, error) {
		it, ok := actual.(timeline.Item)
		if !ok {
			return "", fmt.Errorf("a matcher to %s expects an item of a timeline.  Got:\n%s", description, format.Object(actual, 1))
		}
		if i, ok := it.(I); ok {
			return test(i)
		}
		return fmt.Sprintf("it is %s, want to %s", timeline.Line(it), description), nil
	}}
}

// BeUserMessage matches what the user said. text is a string or a matcher.
func BeUserMessage(want any) Matcher {
	return of("be user message "+describe(want), func(i timeline.UserMessage) (string, error) { return text("text", i.Text, want) })
}

// BeAssistantMessage matches what the agent said. text is a string or a matcher.
func BeAssistantMessage(want any) Matcher {
	return of("be assistant message "+describe(want), func(i timeline.AssistantMessage) (string, error) { return text("text", i.Text, want) })
}

// BeReasoning matches what the agent thought. text is a string or a matcher.
func BeReasoning(want any) Matcher {
	return of("be reasoning "+describe(want), func(i timeline.Reasoning) (string, error) { return text("text", i.Text, want) })
}

// BeErrorItem matches an error item. message is a string or a matcher.
func BeErrorItem(want any) Matcher {
	return of("be error "+describe(want), func(i timeline.ErrorItem) (string, error) { return text("message", i.Message, want) })
}

// ToolCallOption is something more that a tool call must be.
type ToolCallOption struct {
	description string
	test        func(timeline.ToolCall) (differs string, err error)
}

// WithStatus wants a status.
func WithStatus(s timeline.Status) ToolCallOption {
	return ToolCallOption{"with status " + string(s), func(c timeline.ToolCall) (string, error) {
		return text("status", string(c.Status), string(s))
	}}
}

// WithError wants a failed call whose error is a string or matches.
func WithError(want any) ToolCallOption {
	return ToolCallOption{"with error " + describe(want), func(c timeline.ToolCall) (string, error) {
		if c.Status != timeline.Failed {
			return fmt.Sprintf("status is %s, want an error", c.Status), nil
		}
		return text("error", timeline.ErrorText(c.Error), want)
	}}
}

// BeToolCall matches a tool call by the tool's name, a string or a matcher.
func BeToolCall(name any, opts ...ToolCallOption) Matcher {
	return toolCall("tool call "+describe(name), func(c timeline.ToolCall) (string, error) { return text("name", c.Name, name) }, opts)
}

// BeShellCall matches a tool call that is a shell command, by the command line, a string or a matcher.
func BeShellCall(command any, opts ...ToolCallOption) Matcher {
	return toolCall("shell call "+describe(command), func(c timeline.ToolCall) (string, error) {
		d, ok := c.Detail.(timeline.Shell)
		if !ok {
			return fmt.Sprintf("it is %s, no shell call", timeline.Line(c)), nil
		}
		return text("command", d.Command, command)
	}, opts)
}

func toolCall(what string, test func(timeline.ToolCall) (string, error), opts []ToolCallOption) Matcher {
	for _, o := range opts {
		what += " " + o.description
	}
	return of("be "+what, func(c timeline.ToolCall) (string, error) {
		differs, err := test(c)
		for _, o := range opts {
			if differs != "" || err != nil {
				break
			}
			differs, err = o.test(c)
		}
		return differs, err
	})
}
