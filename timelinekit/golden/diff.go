package golden

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Compare says how results differ from the sections of their names, and which they are, as the file would have to hold them. It applies
// [Scrub] to them first, and says which rules changed something. A section that is not there differs from whatever should be in it.
func (f File) Compare(results []Section, rules ...Rule) (differs string, changed []Section, err error) {
	var all []string
	for _, r := range results {
		text, applied, err := Scrub(r.Text, rules...)
		if err != nil {
			return "", nil, err
		}
		if d := f.differs(r.Name, text, applied); d != "" {
			all = append(all, d)
			changed = append(changed, Section{Name: r.Name, Text: text})
		}
	}
	return strings.Join(all, "\n\n"), changed, nil
}

// Settle is how a failure message ends: it says how to rewrite what has changed or, with the flag, that this was done.
func Settle(path string, changed []Section) string {
	if len(changed) == 0 {
		return ""
	}
	names := make([]string, len(changed))
	for i, s := range changed {
		names[i] = s.Name
	}
	what := strings.Join(names, ", ")
	if !Update() {
		return "\n\nIf that is right, -understudy.update writes it into " + path + ": " + what
	}
	if err := Rewrite(path, changed...); err != nil {
		return "\n\n-understudy.update: " + err.Error()
	}
	return "\n\n-understudy.update has written it into " + path + ": " + what + "\nLook at what has changed there, and run the test without the flag."
}

// differs begins with the first line that does.
func (f File) differs(section, got string, applied []Rule) string {
	s, ok := f.Section(section)
	want, is := slices.Collect(strings.Lines(s.Text)), slices.Collect(strings.Lines(got))
	i := alike(want, is)
	out := fmt.Sprintf("%s:%d: section %s, line %d ", f.Path, s.Line+1+i, section, i+1)
	switch {
	case !ok:
		out = fmt.Sprintf("%s: there is no section %s", f.Path, section)
	case len(want) == 0 && len(is) > 0:
		out = fmt.Sprintf("%s:%d: section %s is empty", f.Path, s.Line, section)
	case i < len(want) && i < len(is):
		from := window(want[i], is[i])
		out += "is\n    " + visible(is[i], from) + "\nwant\n    " + visible(want[i], from)
	case i < len(want):
		out += "is missing:\n    " + visible(want[i], 0)
	case i < len(is):
		out += "is one too many:\n    " + visible(is[i], 0)
	default:
		return ""
	}
	if len(applied) > 0 {
		out += "\n\nReplaced before that:"
	}
	for _, r := range applied {
		out += "\n    " + r.String()
	}
	return out + "\n\nAll that differs (- want, + got):\n" + diff(want, is)
}

const (
	widest  = 160 // bytes of a line
	around  = 2   // equal lines beside those that differ
	longest = 24  // lines of a diff
)

// alike is how long two lists are equal from their beginning on.
func alike[E comparable](a, b []E) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// window is where to begin with two lines so that one sees where they differ.
func window(a, b string) (from int) {
	if max(len(a), len(b)) <= widest {
		return 0
	}
	return max(0, alike([]byte(a), []byte(b))-widest/3)
}

// visible is a line, from a byte on and not all of a long one. What a reader would not see is spelled out.
func visible(line string, from int) string {
	line = strings.TrimSuffix(line, "\n")
	if line == "" || strings.TrimSpace(line) != line || strings.ContainsFunc(line, unicode.IsControl) {
		line = fmt.Sprintf("%q", line)
	}
	head, tail := "", ""
	if from > 0 {
		head = "…"
	}
	if line = line[from:]; len(line) > widest {
		line, tail = line[:widest], "…"
	}
	return head + strings.ToValidUTF8(line, "") + tail
}

// diff shows the lines that differ, and a few around them.
func diff(want, got []string) string {
	type line struct {
		mark, text string
		from       int
	}
	var all []line
	i, j := 0, 0
	for _, both := range append(common(want, got), [2]int{len(want), len(got)}) { // the last one is no line, but the end
		less, more := want[i:both[0]], got[j:both[1]]
		from := func(n int) int { // where a line has one that it has probably become
			if n < min(len(less), len(more)) {
				return window(less[n], more[n])
			}
			return 0
		}
		for n, text := range less {
			all = append(all, line{"- ", text, from(n)})
		}
		for n, text := range more {
			all = append(all, line{"+ ", text, from(n)})
		}
		if i, j = both[0]+1, both[1]+1; i <= len(want) {
			all = append(all, line{"  ", want[i-1], 0})
		}
	}

	near := func(i int) bool {
		lo, hi := max(0, i-around), min(len(all), i+around+1)
		return slices.ContainsFunc(all[lo:hi], func(l line) bool { return l.mark != "  " })
	}
	var out []string
	for i, l := range all {
		switch {
		case near(i):
			out = append(out, "    "+l.mark+visible(l.text, l.from))
		case i > 0 && near(i-1):
			out = append(out, "      …")
		}
	}
	if more := len(out) - longest; more > 0 {
		out = append(out[:longest], fmt.Sprintf("      … and %d more lines", more))
	}
	return strings.Join(out, "\n")
}

// common are the indexes of the lines that two texts have in common, as many as there can be.
func common(a, b []string) (pairs [][2]int) {
	head := alike(a, b)
	for i := range head {
		pairs = append(pairs, [2]int{i, i})
	}
	a, b = a[head:], b[head:]
	if len(a)*len(b) > 1<<22 {
		return pairs // that the rest differs is all that anyone would see of it
	}
	rest := make([][]int, len(a)+1) // how many lines a[i:] and b[j:] have in common
	for i := len(a); i >= 0; i-- {
		rest[i] = make([]int, len(b)+1)
		for j := len(b) - 1; j >= 0 && i < len(a); j-- {
			if rest[i][j] = max(rest[i+1][j], rest[i][j+1]); a[i] == b[j] {
				rest[i][j] = rest[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			pairs = append(pairs, [2]int{head + i, head + j})
			i, j = i+1, j+1
		case rest[i+1][j] >= rest[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}
