package matchers

import (
	"fmt"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// HaveAssistantText matches by all that the agent said, a string or a matcher: the assistant messages as a reader sees them, each on a
// line of its own. Of rows the pieces of one message are put together.
func HaveAssistantText(text any) Matcher {
	w := textWant("HaveAssistantText", "the text", text)
	return matcher{description: "have the assistant text " + w.description, wrong: w.wrong, test: func(actual any) (v verdict, err error) {
		got, err := itemsOf("HaveAssistantText", actual)
		if err != nil {
			return v, err
		}
		if rows, ok := actual.([]timeline.Row); ok {
			var p timeline.Projection
			for _, r := range rows {
				p.Add(r.TurnID, r.ItemID, r.Item)
			}
			got = p.Snapshot().Items()
		}
		var said []string
		for _, it := range got {
			if m, ok := it.(timeline.AssistantMessage); ok {
				said = append(said, m.Text)
			}
		}
		return w.verdict(strings.Join(said, "\n"))
	}}
}

// HaveToolCall matches what has a tool call as [BeToolCall] wants it, anywhere. A failure shows how those differ that have the name.
func HaveToolCall(name any, opts ...ToolCallOption) Matcher {
	m := one("HaveToolCall", named("HaveToolCall", name).called("be a tool call "), opts)
	call, _ := expectedByMatcher("", "", any(m), timeline.Line)
	return matcher{description: "have " + strings.TrimPrefix(m.description, "be "), wrong: m.wrong, test: func(actual any) (v verdict, err error) {
		got, err := itemsOf("HaveToolCall", actual)
		if err != nil {
			return v, err
		}
		l := list[timeline.Item]{"item", "in the timeline", got, timeline.Line}
		return l.has(call, "there is no "+strings.TrimPrefix(m.description, "be a "), "there are calls of", callName)
	}}
}

func callName(it timeline.Item) string {
	c, _ := it.(timeline.ToolCall)
	return c.Name
}

// HaveNoFailedToolCalls matches what has no tool call that failed. A failure names each that did.
func HaveNoFailedToolCalls() Matcher {
	return matcher{description: "have no failed tool calls", test: func(actual any) (v verdict, err error) {
		got, err := itemsOf("HaveNoFailedToolCalls", actual)
		if err != nil {
			return v, err
		}
		var failed []finding
		for i, it := range got {
			if c, ok := it.(timeline.ToolCall); ok && c.Status == timeline.Failed {
				failed = append(failed, finding{i, fmt.Sprintf("item %d: %s", i, timeline.Line(c))})
			}
		}
		return findings(failed, "tool calls failed"), nil
	}}
}

// finding is something that is wrong in one line of the actual.
type finding struct {
	line int
	says string
}

// findings is the verdict that has them all. are says what they are, of several.
func findings(all []finding, are string) (v verdict) {
	switch len(all) {
	case 0:
		return v
	case 1:
		return verdict{differs: all[0].says, got: all[0].line}
	}
	says := make([]string, len(all))
	for i, f := range all {
		says[i] = f.says
	}
	return verdict{differs: fmt.Sprintf("%d %s:\n    %s", len(all), are, strings.Join(says, "\n    ")), got: all[0].line}
}
