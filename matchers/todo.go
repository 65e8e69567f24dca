package matchers

import (
	"fmt"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// BeTodo matches a todo list, the agent's plan, by all its entries in order. Each is the text, a string or a matcher, or a
// [timeline.TodoEntry], which must be equal. Without any it matches every todo list.
func BeTodo(entries ...any) Matcher {
	w := want[timeline.Todo]{description: "be a todo list"}
	texts := make([]string, len(entries))
	want := make([]expected[timeline.TodoEntry], len(entries))
	for i, e := range entries {
		entry := expectedEntry(fmt.Sprintf("entry %d", i), e)
		texts[i] = entry.description
		if w.wrong == nil {
			w.wrong = entry.wrong
		}
		want[i] = expected[timeline.TodoEntry]{value: e, test: entry.test}
	}
	if len(entries) > 0 {
		w.description += " [" + strings.Join(texts, ", ") + "]"
	}
	w.test = func(t timeline.Todo) (differs, error) {
		if len(want) == 0 {
			return nil, nil
		}
		return asDiffers(exactly(list[timeline.TodoEntry]{"entry", "in the list", t.Items, entryLine}, want))
	}
	return one("BeTodo", w, nil)
}

func expectedEntry(what string, e any) want[timeline.TodoEntry] {
	if entry, ok := e.(timeline.TodoEntry); ok {
		return equalWant(it, entryLine(entry), entry)
	}
	return of(textWant("BeTodo: "+what, "text", e), func(e timeline.TodoEntry) string { return e.Text })
}

// todoLine is a todo list with all its entries.
func todoLine(t timeline.Todo) string {
	line := timeline.Line(t)
	for i, e := range t.Items {
		line += []string{": ", ", "}[min(i, 1)] + entryLine(e)
	}
	return cut(line, 500)
}

func entryLine(e timeline.TodoEntry) string {
	line := quote(e.Text)
	switch {
	case e.Status != "":
		line += " (" + e.Status + ")"
	case e.Completed:
		line += " (completed)"
	}
	return line
}
