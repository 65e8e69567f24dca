package playbook_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/understudy-go/understudy/fakeagent/playbook"
	"github.com/understudy-go/understudy/fakeagent/script"
)

func pick[V any](r *rapid.T, what string, from ...V) V { return rapid.SampledFrom(from).Draw(r, what) }

func several(r *rapid.T, what string, least, most int) int {
	return rapid.IntRange(least, most).Draw(r, what)
}

// drawBook has lines that contend for the same threads. The tool of each batch tells the line and the batch.
func drawBook(r *rapid.T) *playbook.Playbook {
	p := &playbook.Playbook{}
	for i := range several(r, "lines", 0, 4) {
		m := playbook.Match{Title: pick(r, "title", "", "", "X", "XY")}
		if expr := pick(r, "threadId", "a", "b", "^a$", "[ab]", "c|^$", ""); expr != "" || m.Title == "" {
			m.ThreadID = regexp.MustCompile(expr)
		}
		l := playbook.Line{Match: m}
		expects := pick(r, "expects", []string{""}, []string{"", "p", "q", "pq"}, []string{"p", "q", "pq"})
		for j := range several(r, "batches", 0, 4) {
			var b playbook.Batch
			if text := pick(r, "expectInput", expects...); text != "" {
				b = append(b, script.ExpectInputStep{Text: text})
			}
			l.Batches = append(l.Batches, append(b, script.MCPStep{Tool: tool(i, j), Report: true}))
		}
		p.Lines = append(p.Lines, l)
	}
	return p
}

func tool(line, batch int) string { return fmt.Sprintf("line%d.batch%d", line, batch) }

// request is what a cast is asked.
type request struct {
	thread playbook.Thread
	input  string
	inVain bool // a steer was awaited
}

func drawRequest(r *rapid.T, ids ...string) request {
	return request{
		playbook.Thread{ID: pick(r, "id", ids...), Title: pick(r, "title", "", "X", "XY", "Z")},
		pick(r, "input", "", "p", "q", "pq", "pxq"),
		pick(r, "in vain", false, false, false, false, true),
	}
}

// ask is the tool of what was picked, "" if nothing was.
func (q request) ask(c *playbook.Cast) string {
	var b playbook.Batch
	var ok bool
	if q.inVain {
		b, ok = c.PickNext(q.thread)
	} else {
		b, ok = c.Pick(q.thread, q.input)
	}
	if !ok {
		return ""
	}
	return b[len(b)-1].(script.MCPStep).Tool
}

// model is a cast that is as simple as can be: batches that were played are taken out.
type model struct {
	free  []*modelLine
	lines map[string]*modelLine // of a thread; nil if it has none
}

type modelLine struct {
	match playbook.Match
	left  []playbook.Batch
}

func newModel(p *playbook.Playbook) *model {
	m := &model{lines: map[string]*modelLine{}}
	for _, l := range p.Lines {
		m.free = append(m.free, &modelLine{l.Match, slices.Clone(l.Batches)})
	}
	return m
}

func (m *model) ask(q request) string {
	l, known := m.lines[q.thread.ID]
	if !known {
		at := slices.IndexFunc(m.free, func(l *modelLine) bool {
			byID := l.match.ThreadID == nil || l.match.ThreadID.FindStringIndex(q.thread.ID) != nil
			return byID && strings.Count(q.thread.Title, l.match.Title) > 0
		})
		if at >= 0 {
			l = m.free[at]
			m.free = slices.Delete(m.free, at, at+1)
		}
		m.lines[q.thread.ID] = l
	}
	if l == nil {
		return ""
	}
	var may []int
	for i, b := range l.left {
		switch expect, ok := b[0].(script.ExpectInputStep); {
		case ok && strings.Count(q.input, expect.Text) > 0, !ok && i == 0:
			may = append(may, i)
		}
	}
	if q.inVain && len(l.left) > 0 {
		may = []int{0}
	}
	if len(may) == 0 {
		return ""
	}
	b := l.left[may[0]]
	l.left = slices.Delete(slices.Clone(l.left), may[0], may[0]+1)
	return b[len(b)-1].(script.MCPStep).Tool
}

// took is a request, and the tool of what was picked.
type took struct {
	request
	tool string
}

// broken says which promises a cast broke. Of one thread all that was picked must be there, and in order, unless disorder is said to be.
func broken(p *playbook.Playbook, picks []took, disorder func(thread string) bool) (promises []string) {
	owner, lineOf, played := map[int]string{}, map[string]int{}, map[string]bool{}
	complain := func(format string, args ...any) { promises = append(promises, fmt.Sprintf(format, args...)) }
	for _, t := range picks {
		if t.tool == "" {
			continue
		}
		var line, batch int
		_, _ = fmt.Sscanf(t.tool, "line%d.batch%d", &line, &batch)
		if played[t.tool] {
			complain("%s was picked twice", t.tool)
		}
		if other, ok := owner[line]; ok && other != t.thread.ID {
			complain("line %d is that of %q and of %q", line, other, t.thread.ID)
		}
		if other, ok := lineOf[t.thread.ID]; ok && other != line {
			complain("%q has the lines %d and %d", t.thread.ID, other, line)
		}
		owner[line], lineOf[t.thread.ID] = t.thread.ID, line
		batches := p.Lines[line].Batches
		expect, expects := batches[batch][0].(script.ExpectInputStep)
		if expects && !t.inVain && !strings.Contains(t.input, expect.Text) {
			complain("%s expects %q, and was picked for %q", t.tool, expect.Text, t.input)
		}
		before := 0
		for j := range batch {
			if played[tool(line, j)] {
				before++
			}
		}
		if !disorder(t.thread.ID) && before < batch {
			if !expects {
				complain("%s expects nothing, and was picked before what is before it", t.tool)
			}
			if !slices.ContainsFunc(batches, func(b playbook.Batch) bool { _, ok := b[0].(script.ExpectInputStep); return ok }) {
				complain("%s was picked out of order", t.tool)
			}
		}
		played[t.tool] = true
	}
	return promises
}

// left is what a cast says was not played, by tool.
func left(c *playbook.Cast) []string {
	return regexp.MustCompile(`line\d\.batch\d`).FindAllString(c.Left(), -1)
}

// without is what of a playbook nobody picked.
func without(p *playbook.Playbook, picks []took) (tools []string) {
	for i, l := range p.Lines {
		for j := range l.Batches {
			if !slices.ContainsFunc(picks, func(t took) bool { return t.tool == tool(i, j) }) {
				tools = append(tools, tool(i, j))
			}
		}
	}
	return tools
}

// Whatever the playbook is and whoever comes with what, a cast picks what the model picks, and keeps its promises.
func TestCast(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawBook(r)
		c, m := playbook.NewCast(p), newModel(p)
		var picks []took
		for range several(r, "requests", 0, 20) {
			q := drawRequest(r, "a", "b", "ab", "c", "")
			got := q.ask(c)
			picks = append(picks, took{q, got})
			if want := m.ask(q); got != want {
				r.Fatalf("picked %q, not %q", got, want)
			}
		}
		for _, promise := range broken(p, picks, func(string) bool { return false }) {
			r.Error(promise)
		}
		if got, want := left(c), without(p, picks); !slices.Equal(got, want) {
			r.Errorf("what is left is %q, not %q:\n%s", got, want, c.Left())
		}
	})
}

// A cast keeps them when threads come at once, even with two turns of one thread.
func TestCastAtOnce(t *testing.T) {
	const goroutines, shared = 8, "ab"
	rapid.Check(t, func(r *rapid.T) {
		p := drawBook(r)
		c := playbook.NewCast(p)
		picks := make([][]took, goroutines)
		for i := range picks {
			for range 8 {
				picks[i] = append(picks[i], took{request: drawRequest(r, fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i), shared)})
			}
		}
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range picks {
			wg.Go(func() {
				<-start
				for j := range picks[i] {
					picks[i][j].tool = picks[i][j].ask(c)
					_ = c.Left()
				}
			})
		}
		close(start)
		wg.Wait()
		all := slices.Concat(picks...)
		for _, promise := range broken(p, all, func(thread string) bool { return thread == shared }) {
			r.Error(promise)
		}
		if got, want := left(c), without(p, all); !slices.Equal(got, want) {
			r.Errorf("what is left is %q, not %q:\n%s", got, want, c.Left())
		}
	})
}

// orders plays a line in all orders that inputs may bring about, and tells which batches had been played when one is picked.
func orders(l playbook.Line, visit func(played []bool, batch int)) {
	seen := map[string]bool{}
	var from func(played []bool)
	from = func(played []bool) {
		if seen[fmt.Sprint(played)] {
			return
		}
		seen[fmt.Sprint(played)] = true
		for _, input := range []string{"", "0", "1", "2", "3", "01", "02", "03", "12", "13", "23", "012", "013", "023", "123", "0123"} {
			for _, inVain := range []bool{false, true} {
				m := newModel(&playbook.Playbook{Lines: []playbook.Line{{Match: l.Match}}})
				for i, b := range l.Batches {
					if !played[i] {
						m.free[0].left = append(m.free[0].left, b)
					}
				}
				next := m.ask(request{playbook.Thread{Title: l.Match.Title}, input, inVain})
				if i := slices.IndexFunc(l.Batches, func(b playbook.Batch) bool { return next != "" && b[len(b)-1].(script.MCPStep).Tool == next }); i >= 0 {
					visit(played, i)
					then := slices.Clone(played)
					then[i] = true
					from(then)
				}
			}
		}
	}
	from(make([]bool, len(l.Batches)))
}

// Lint finds the placeholders of results that are there in no order of the inputs, and no others.
func TestLint(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := playbook.Line{Match: playbook.Match{Title: "x"}}
		alike := rapid.Bool().Draw(r, "alike") // batches may expect the same, and then Lint need not find all
		for i := range several(r, "batches", 1, 4) {
			var b playbook.Batch
			if pick(r, "expects", true, true, false) {
				text := fmt.Sprint(i)
				if alike {
					text = pick(r, "expectInput", "0", "1")
				}
				b = append(b, script.ExpectInputStep{Text: text})
			}
			for range several(r, "calls", 0, 2) {
				arguments := pick(r, "arguments", `{}`, `{"x":"{{step:a}}"}`, `{"x":"{{step:b}} {{step:c}}"}`, `{"x":"{{step:*d}}"}`)
				b = append(b, script.MCPStep{Tool: "t", Report: true, ID: pick(r, "id", "", "a", "b", "c"), Arguments: json.RawMessage(arguments)})
			}
			l.Batches = append(l.Batches, append(b, script.MCPStep{Tool: tool(0, i), Report: true}))
		}
		filled := map[string]bool{} // by the path of the text and the id: whether there is an order in which the result is there
		orders(l, func(played []bool, batch int) {
			there := map[string]bool{}
			plays := func(b playbook.Batch, path func(step int) string) {
				for k, s := range b {
					call, ok := s.(script.MCPStep)
					if !ok {
						continue
					}
					for _, id := range []string{"a", "b", "c", "*"} {
						if path != nil && strings.Contains(string(call.Arguments), "{{step:"+id) {
							filled[path(k)+" "+id] = filled[path(k)+" "+id] || there[id]
						}
					}
					there[call.ID], there["*"] = true, true
				}
			}
			for i, b := range l.Batches {
				if played[i] {
					plays(b, nil)
				}
			}
			plays(l.Batches[batch], func(step int) string { return fmt.Sprintf("threads[0].turns[%d][%d].arguments.x", batch, step) })
		})
		text, err := playbook.Playbook{Lines: []playbook.Line{l}}.MarshalJSON()
		if err != nil {
			r.Fatal(err)
		}
		found := map[string]bool{}
		for _, e := range playbook.Lint(text) {
			path, has, _ := strings.Cut(e.Reason, ": has {{step:")
			found[path+" "+has[:1]] = true
		}
		for at, ok := range filled {
			if ok && found[at] {
				r.Errorf("of %s it says that it cannot be filled, which is not so: %s", at, text)
			}
			if !ok && !found[at] && !alike {
				r.Errorf("of %s it does not say that it cannot be filled: %s", at, text)
			}
		}
	})
}
