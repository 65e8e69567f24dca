package matchers

import (
	"fmt"
	"reflect"

	"github.com/onsi/gomega/format"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// of is a matcher for items of one type. An item of another type does not match; what is no item at all is an error.
func of[I timeline.Item](name, description string, wrong error, test func(I) (differs string, err error)) Matcher {
	return matcher{description, wrong, func(actual any) (string, error) {
		it, ok := actual.(timeline.Item)
		switch {
		case !ok:
			return "", fmt.Errorf("%s expects one item; for a run or a timeline put it into HaveItems or ContainItems.  Got:\n%s",
				name, format.Object(actual, 1))
		case reflect.ValueOf(it).Kind() == reflect.Pointer:
			return "", pointer(name+": the actual", it)
		}
		if i, ok := it.(I); ok {
			return test(i)
		}
		return fmt.Sprintf("it is %s, want to %s", timeline.Line(it), description), nil
	}}
}

// pointer is the error for a pointer to what should be a value.
func pointer(what string, got any) error {
	return fmt.Errorf("%s is a %T, want the value that it points to", what, got)
}

// text is a matcher for items that are little more than a text.
func text[I timeline.Item](name, description, what string, want any, get func(I) string) Matcher {
	return of(name, description+" "+describe(want), textArgument(name, what, want), func(i I) (string, error) {
		return compare(what, get(i), want)
	})
}

// BeUserMessage matches what the user said. want is a string or a matcher.
func BeUserMessage(want any) Matcher {
	return text("BeUserMessage", "be a user message", "text", want, func(i timeline.UserMessage) string { return i.Text })
}

// BeAssistantMessage matches what the agent said. want is a string or a matcher.
func BeAssistantMessage(want any) Matcher {
	return text("BeAssistantMessage", "be an assistant message", "text", want, func(i timeline.AssistantMessage) string { return i.Text })
}

// BeReasoning matches what the agent thought. want is a string or a matcher.
func BeReasoning(want any) Matcher {
	return text("BeReasoning", "be reasoning", "text", want, func(i timeline.Reasoning) string { return i.Text })
}

// BeErrorItem matches an error item by its message. want is a string or a matcher.
func BeErrorItem(want any) Matcher {
	return text("BeErrorItem", "be an error item", "message", want, func(i timeline.ErrorItem) string { return i.Message })
}

// Option is something more that an item must be.
type Option[I timeline.Item] struct {
	description string
	wrong       error
	test        func(I) (differs string, err error)
}

// ToolCallOption is something more that a tool call must be.
type ToolCallOption = Option[timeline.ToolCall]

// WithStatus wants a status.
func WithStatus(s timeline.Status) ToolCallOption {
	return ToolCallOption{"status " + string(s), nil, func(c timeline.ToolCall) (string, error) {
		if c.Status != s {
			return fmt.Sprintf("status is %s, want %s", statusOf(c), s), nil
		}
		return "", nil
	}}
}

// WithError wants a failed call whose error is a string or matches.
func WithError(want any) ToolCallOption {
	return ToolCallOption{"error " + describe(want), textArgument("WithError", "error", want), func(c timeline.ToolCall) (string, error) {
		if c.Status != timeline.Failed {
			return fmt.Sprintf("status is %s, want failed with error %s", c.Status, describe(want)), nil
		}
		return compare("error", timeline.ErrorText(c.Error), want)
	}}
}

// statusOf is the status of a tool call and, if it failed, why.
func statusOf(c timeline.ToolCall) string {
	if c.Error == nil {
		return string(c.Status)
	}
	return fmt.Sprintf("%s (%s)", c.Status, timeline.ErrorText(c.Error))
}

// BeToolCall matches a tool call by the tool's name, a string or a matcher.
func BeToolCall(name any, opts ...ToolCallOption) Matcher {
	return toolCall("BeToolCall", "be a tool call", "name", name, opts, func(c timeline.ToolCall) (string, error) {
		return compare("name", c.Name, name)
	})
}

// BeShellCall matches a tool call that is a shell command, by the command line, a string or a matcher.
func BeShellCall(command any, opts ...ToolCallOption) Matcher {
	description := "be a shell call " + describe(command)
	return toolCall("BeShellCall", "be a shell call", "command", command, opts, func(c timeline.ToolCall) (string, error) {
		d, ok := c.Detail.(timeline.Shell)
		if !ok {
			return fmt.Sprintf("it is %s, want to %s", timeline.Line(c), description), nil
		}
		return compare("command", d.Command, command)
	})
}

func toolCall(name, description, what string, want any, opts []ToolCallOption, test func(timeline.ToolCall) (string, error)) Matcher {
	return withOptions(name, description+" "+describe(want), textArgument(name, what, want), opts, test)
}

// withOptions is a matcher for items of one type that must be more.
func withOptions[I timeline.Item](name, description string, wrong error, opts []Option[I], test func(I) (differs string, err error)) Matcher {
	tests := []func(I) (string, error){test}
	for i, o := range opts {
		description += []string{" with ", " and "}[min(i, 1)] + o.description
		if wrong == nil {
			wrong = o.wrong
		}
		tests = append(tests, o.test)
	}
	return of(name, description, wrong, func(i I) (string, error) { return first(i, tests) })
}
