package playbook

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// Lint is what is wrong with a playbook, by place. It is the error of [Parse], alone, or what nobody can mean who wrote a playbook that can be
// read: lines that no thread ever gets, placeholders for results of steps that cannot have played before, and texts in the arguments of calls
// that were to be placeholders, but for a slip. It says nothing that is not so, and does not find everything. A call that a prompt asks for
// is in no playbook, and does not count as one that played.
func Lint(data []byte) []*script.Error {
	p, err := Parse(data)
	if e := (*script.Error)(nil); errors.As(err, &e) {
		return []*script.Error{e}
	}
	l := &linter{}
	threads := readTree(data).member("threads").inner
	for i, t := range threads {
		l.line(p.Lines, i, t.member("match").member("threadId"))
		l.results(p.Lines[i].Batches, t.member("turns").inner, fmt.Sprintf("threads[%d].turns", i))
	}
	return l.located(string(data))
}

type linter struct {
	first map[string][]int // the lines for exactly one id
	found []*script.Error
}

func (l *linter) complain(path string, at int, format string, args ...any) {
	l.found = append(l.found, &script.Error{Reason: oneLine.Replace(path) + ": " + fmt.Sprintf(format, args...), Offset: at})
}

// located is what was found, in order, with lines and columns.
func (l *linter) located(text string) []*script.Error {
	slices.SortStableFunc(l.found, func(a, b *script.Error) int { return cmp.Compare(a.Offset, b.Offset) })
	line, begin := 1, 0
	for _, e := range l.found {
		for n := strings.IndexByte(text[begin:e.Offset], '\n'); n >= 0; n = strings.IndexByte(text[begin:e.Offset], '\n') {
			line, begin = line+1, begin+n+1
		}
		e.Line, e.Column = line, e.Offset-begin+1
	}
	return l.found
}

// line finds out whether a thread may get a line.
func (l *linter) line(lines []Line, i int, expression tree) {
	m := lines[i].Match
	if m.ThreadID == nil {
		return
	}
	path := fmt.Sprintf("threads[%d].match.threadId", i)
	expr := m.ThreadID.String()
	if !matches(expr, anchored) {
		why := ""
		if matches(expr, unanchored) {
			why = `; ^ and \A stand for the beginning of an id, $ and \z for its end`
		}
		l.complain(path, expression.at, "no thread gets this line: it matches no id%s", why)
		return
	}
	id, ok := only(expr)
	if !ok {
		return
	}
	for _, earlier := range l.first[id] {
		if strings.Contains(m.Title, lines[earlier].Match.Title) {
			l.complain(path, expression.at, "no thread gets this line: it is for %q alone, which gets threads[%d] before it", short(id), earlier)
			return
		}
	}
	if l.first == nil {
		l.first = map[string][]int{}
	}
	l.first[id] = append(l.first[id], i)
}

// results finds placeholders of a line that nothing can fill, and texts that were to be some.
func (l *linter) results(batches []Batch, turns []tree, path string) {
	all, later := kept{}, kept{} // of the line; of the batches that come later, but may be played before
	for j, turn := range turns {
		walk(turn, "", func(s step) {
			all.add(s, 1)
			if batches[j].expects() != "" {
				later.add(s, 1)
			}
		})
	}
	earlier := kept{}
	before := []kept{earlier}
	for j, turn := range turns {
		if batches[j].expects() != "" { // from here on an input may pick a later one, whose results are there then
			before = []kept{earlier, later}
			walk(turn, "", func(s step) { later.add(s, -1) })
		}
		walk(turn, element(path, j), func(s step) {
			s.own.texts(s.path, func(text string, at int, path string) {
				for name := range inBraces(text) {
					id, _, ok := script.StepReference(name)
					if !ok || !isPlaceholder(name) {
						continue
					}
					if why := unfilled(id, s, before, all); why != "" {
						l.complain(path, at, "has %s, but %s", quoted(name), why)
					}
				}
			})
			s.arguments.texts(s.path+".arguments", func(text string, at int, path string) {
				for name := range inBraces(text) {
					if id := name[:end(name)]; len(id) < len(name) && all[id] > 0 && !isPlaceholder(name) {
						l.complain(path, at, "has %s, which is text and no placeholder, did you mean %s?", quoted(name), quoted("step:"+name))
					} else if meant := slipOf(name); meant != "" {
						l.complain(path, at, "has %s, which is text and no placeholder, did you mean %s?", quoted(name), quoted(meant))
					}
				}
			})
			earlier.add(s, 1)
		})
	}
}

// end is where the word ends that a placeholder begins with.
func end(name string) int {
	if i := strings.IndexAny(name, ".["); i >= 0 {
		return i
	}
	return len(name)
}

// kept is how many results there are of each id. Those of calls count as "*" too, and those that have a placeholder for an id as "".
type kept map[string]int

func (k kept) add(s step, n int) {
	if s.call {
		k["*"] += n
	}
	switch {
	case s.id == "":
	case hasPlaceholder(s.id):
		k[""] += n
	default:
		k[s.id] += n
	}
}

func (k kept) has(id string) bool { return k[id] > 0 || id != "*" && k[""] > 0 }

// unfilled says why there is no result for a placeholder, "" if there may be one.
func unfilled(id string, s step, before []kept, all kept) string {
	has := func(id string) bool {
		return slices.ContainsFunc(before, func(k kept) bool { return k.has(id) })
	}
	switch {
	case has(id):
		return ""
	case id == "*":
		return "no call comes before it"
	case id == s.id && id != "":
		return "the result of a call is not known before the call"
	case all.has(id):
		return fmt.Sprintf("no step with the id %q comes before it", short(id))
	}
	var similar []string
	for _, k := range before {
		for known := range k {
			if known != "*" && has(known) && alike(known, id) {
				similar = append(similar, known)
			}
		}
	}
	slices.Sort(similar)
	why := fmt.Sprintf("no step has the id %q", short(id))
	if near, changes := script.Nearest(id, similar); changes <= slip && changes < len(id) {
		why += fmt.Sprintf(", did you mean %q?", near)
	}
	return why
}

// alike is whether two words may be near each other; to find out how near they are takes long for long ones.
func alike(a, b string) bool {
	return max(len(a), len(b)) <= 100 && max(len(a)-len(b), len(b)-len(a)) <= slip
}

// step is one as it stands in the file.
type step struct {
	path      string
	own       tree // what stands behind its key, without steps inside of it
	arguments tree // of a call
	id        string
	call      bool
}

// walk goes through steps, and those inside of each after it.
func walk(steps tree, path string, visit func(step)) {
	for i, t := range steps.inner {
		s, key := step{path: element(path, i), own: t}, "mcp"
		if tool := t.member("tool"); len(t.inner) == 1 && !tool.isText {
			key = t.names[0]
			s.path, s.own = member(s.path, key), t.inner[0]
		}
		if key == (script.ExpectInputStep{}).Key() { // in which nothing is a placeholder
			continue
		}
		inside := s.branches(key)
		if key == "mcp" || key == "waitFor" {
			s.arguments, s.id, s.call = s.own.member("arguments"), s.own.member("id").text, key == "mcp"
		}
		visit(s)
		for _, b := range inside {
			walk(b.steps, b.path, visit)
		}
	}
}

type branch struct {
	path  string
	steps tree
}

// branchesOf are the keys of what [script.Branches] returns, by the key of the step.
var branchesOf = map[string][]string{"mcp": {"then", "else"}, "approval": {"allow", "deny"}, "task": {"steps"}}

// branches takes the steps out of it that stand inside.
func (s *step) branches(key string) (inside []branch) {
	names := branchesOf[key]
	take := func(from tree, path string) (rest tree) {
		rest.at = from.at
		for i, name := range from.names {
			if slices.Contains(names, name) {
				inside = append(inside, branch{member(path, name), from.inner[i]})
			} else {
				rest.names, rest.inner = append(rest.names, name), append(rest.inner, from.inner[i])
			}
		}
		return rest
	}
	if names == nil {
		return nil
	}
	if s.own.names != nil {
		s.own = take(s.own, s.path)
		return inside
	}
	several := s.own.inner
	s.own.inner = nil
	for i, one := range several {
		s.own.inner = append(s.own.inner, take(one, element(s.path, i)))
	}
	return inside
}

func element(path string, i int) string      { return path + "[" + strconv.Itoa(i) + "]" }
func member(path string, name string) string { return path + "." + name }
