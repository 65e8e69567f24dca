package matchers

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/onsi/gomega/format"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/usagefake"
)

// table is a list of things, a numbered line each. It may be long, so a line is made only when it is needed.
type table struct {
	head string // above the lines
	what string // a line is about: item, row, event
	len  int
	line func(i int) string
}

// part is the head, and of the lines those around one that have room in size bytes. All is indented.
func (t table) part(at, size int) string {
	out := ""
	if t.head != "" {
		out = format.IndentString(t.head, 1) + "\n"
	}
	if t.len == 0 {
		return out + format.Indent + "(no " + plural(0, t.what) + ")"
	}
	size -= len(out) + len(t.more(t.len, "above")) + len(t.more(t.len, "below"))
	line := func(i int) string {
		l := fmt.Sprintf("%s%3d %s\n", format.Indent, i, cut(t.line(i), 250))
		size -= len(l)
		return l
	}
	lo := min(at, t.len-1) // the lines from lo on and before hi are shown
	hi := lo + 1
	above, below := []string{}, []string{line(lo)}
	for size >= 0 && (lo > 0 || hi < t.len) {
		if hi < t.len {
			if l := line(hi); size >= 0 {
				below, hi = append(below, l), hi+1
			}
		}
		if lo > 0 && size >= 0 {
			if l := line(lo - 1); size >= 0 {
				above, lo = append(above, l), lo-1
			}
		}
	}
	if lo > 0 {
		above = append(above, t.more(lo, "above"))
	}
	slices.Reverse(above)
	if hi < t.len {
		below = append(below, t.more(t.len-hi, "below"))
	}
	return strings.TrimSuffix(out+strings.Join(above, "")+strings.Join(below, ""), "\n")
}

func (t table) more(n int, where string) string {
	return fmt.Sprintf("%s    … %d more %s %s\n", format.Indent, n, plural(n, t.what), where)
}

// line1 is the list on one line.
func (t table) line1() string {
	const most = 400
	out := "["
	for i := range t.len {
		line := t.line(i)
		if i > 0 {
			out += ", "
		}
		if len(out)+len(line) > min(most, limit()) {
			return fmt.Sprintf("%s… %d more]", out, t.len-i)
		}
		out += line
	}
	return out + "]"
}

// plural is a noun as it goes with a number.
func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	if y, ok := strings.CutSuffix(what, "y"); ok && !strings.HasSuffix(y, "a") {
		return y + "ies"
	}
	return what + "s"
}

// limit is how long a failure message may be.
func limit() int {
	if format.MaxLength <= 0 {
		return math.MaxInt
	}
	return format.MaxLength
}

// cut shortens a text to n bytes, at a rune's border, unless there is no limit.
func cut(s string, n int) string {
	if len(s) <= n || limit() == math.MaxInt {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// clip is cut that says by how much.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head := cut(s, n)
	return fmt.Sprintf("%s\n… %d more bytes", head, len(s)-len(head)+len("…"))
}

// quote is a text as a message has it.
func quote(s string) string {
	const most = 300
	if short := cut(s, most); short != s {
		return fmt.Sprintf("%q (%d bytes)", short, len(s))
	}
	return fmt.Sprintf("%q", s)
}

// tableOf is what the matchers for several things see of an actual, unless it is one thing, or nothing of ours.
func tableOf(actual any) (t table, ok bool) {
	var items timeline.Items
	switch a := actual.(type) {
	case timeline.Run:
		t.head, items = headOf(a), a.Items()
	case turn:
		if isNilPointer(a) {
			return t, false
		}
		run, over := a.Ended()
		t.head, items = headOf(run), run.Items()
		if !over {
			t.head = strings.Replace(t.head, ") ended ", ") has not ended", 1)
		}
	case timeline.Timeline:
		return table{"", "item", a.Len(), func(i int) string {
			turn := ""
			if i == 0 || a.TurnOf(i-1) != a.TurnOf(i) {
				turn = a.TurnOf(i)
			}
			return marked(timeline.Line(a.At(i)), turn)
		}}, true
	case []timeline.Row:
		return table{"", "row", len(a), func(i int) string { return rowLine(a, i) }}, true
	case []timeline.Plugin:
		return table{"", "plugin row", len(a), func(i int) string { return timeline.Line(a[i]) }}, true
	case []usagefake.TokenRecord:
		return table{"", "record", len(a), func(i int) string { return a[i].String() }}, true
	case []event.Event:
		return table{"", "event", len(a), func(i int) string {
			turn := ""
			if i == 0 || a[i-1].TurnID != a[i].TurnID {
				turn = a[i].TurnID
			}
			return marked(event.Line(a[i]), turn)
		}}, true
	case timeline.Items:
		items = a
	case []timeline.Item:
		items = a
	default:
		return t, false
	}
	t.what, t.len, t.line = "item", len(items), func(i int) string { return timeline.Line(items[i]) }
	return t, true
}

// marked has a turn behind the line that it begins with.
func marked(line, turn string) string {
	if turn == "" {
		return line
	}
	return cut(line, 200) + "  <- " + turn
}

// headOf is what a run prints above its items.
func headOf(r timeline.Run) string {
	r.Timeline = timeline.Timeline{}
	return strings.TrimSuffix(r.String(), "\n"+r.Timeline.String())
}

// rowLine is a row, with its number in the history where it is not the one that follows.
func rowLine(rows []timeline.Row, i int) string {
	r, before := rows[i], timeline.Row{}
	if i > 0 {
		before = rows[i-1]
	}
	line := timeline.Line(r.Item)
	if r.Seq != before.Seq+1 {
		line += fmt.Sprintf(" (seq %d)", r.Seq)
	}
	if r.TurnID == before.TurnID {
		return line
	}
	return marked(line, r.TurnID)
}

// payloadJSON is what a payload says.
func payloadJSON(p event.Payload) json.RawMessage {
	var text json.RawMessage
	if raw, ok := p.(event.Raw); ok {
		text = raw.JSON
	} else if b, err := timeline.JSON(p); err == nil {
		text = b
	}
	if text == nil {
		return json.RawMessage("{}")
	}
	return text
}

// show is the actual as a failure message has it, with the part around a line where it is long.
func show(actual any, at, size int) string {
	if t, ok := tableOf(actual); ok {
		return t.part(at, size)
	}
	if one, ok := oneLine(actual); ok {
		return format.Indent + cut(one, size)
	}
	if text, ok := ownWords(actual); ok {
		return format.IndentString(clip(text, size), 1)
	}
	return format.Object(actual, 1)
}

// brief is the actual in a few words.
func brief(actual any) string {
	if t, ok := tableOf(actual); ok {
		if t.head != "" {
			return t.head
		}
		return fmt.Sprintf("%d %s", t.len, plural(t.len, t.what))
	}
	if one, ok := oneLine(actual); ok {
		return one
	}
	if text, ok := ownWords(actual); ok {
		line, _, _ := strings.Cut(text, "\n")
		return line
	}
	return describe(actual)
}

// ownWords is what has a text of several lines.
func ownWords(actual any) (string, bool) {
	switch a := actual.(type) {
	case usagefake.Quota:
		return a.String(), true
	case usagefake.Source:
		return sourceLine(a), !isNilPointer(a)
	}
	return processText(actual)
}

// oneLine is one thing of ours.
func oneLine(actual any) (string, bool) {
	if err, ok := actual.(error); ok && !isNilPointer(err) {
		return "error " + quote(err.Error()), true
	}
	if isPointer(actual) {
		return "", false
	}
	switch a := actual.(type) {
	case timeline.Row:
		return rowLine([]timeline.Row{a}, 0), true
	case event.Event:
		return event.Line(a), true
	case timeline.Todo:
		return todoLine(a), true
	case timeline.Item:
		return timeline.Line(a), true
	case timeline.Ending:
		return a.String(), true
	case usagefake.Window:
		return a.String(), true
	case usagefake.TokenRecord:
		return a.String(), true
	}
	return "", false
}
