package playbook_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/understudy-go/understudy/fakeagent/playbook"
	"github.com/understudy-go/understudy/fakeagent/script"
)

// checkError fails if an error does not say what is wrong in a text, and where.
func checkError(t *testing.T, text string, e *script.Error) {
	t.Helper()
	if e.Reason == "" || e.Offset < 0 || e.Offset > len(text) {
		t.Fatalf("the error says nothing, or is outside of the text: %#v", e)
	}
	if strings.ContainsAny(e.Reason, "\r\n") {
		t.Errorf("it is more than one line: %q", e.Reason)
	}
	before := text[:e.Offset]
	if line, column := 1+strings.Count(before, "\n"), len(before)-strings.LastIndex(before, "\n"); e.Line != line || e.Column != column {
		t.Errorf("it is at line %d, column %d, and says %d and %d", line, column, e.Line, e.Column)
	}
	if path := script.PathTo([]byte(text), e.Offset); !strings.HasPrefix(e.Reason, strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(path)) {
		t.Errorf("it does not begin with %s: %s", path, e.Reason)
	}
}

func addSeeds(f *testing.F) {
	for _, r := range append(refusals, slips...) {
		f.Add(r.text())
	}
	for seed := range 20 {
		if text, err := rapid.Custom(drawBook).Example(seed).MarshalJSON(); err == nil {
			f.Add(string(text))
		}
	}
	f.Add(lead(`[{"expectInput":"a"},{"tool":"t","id":"{{thread}}","arguments":{"a":["{{step:a.b}}","{{input}}"]}},{"waitFor":{"tool":"t","path":"","atLeast":1}},{"awaitSteer":{"continueOnTimeout":true}}]`))
	f.Add(lead(`[{"approval":[{"title":"{{step:*x}}","allow":[{"mcp":{"tool":"{{config.t}}","id":"a","then":[{"say":"{{step:a}}"}]}}]}]},{"task":{"description":"d","steps":[{"say":"{{step:a}}"}]}}]`))
	f.Add(file(line(`"threadId":"(?i)^\\ba(b|$)*\\x{10FFFF}.?\\z"`), line(`"threadId":"^\\Qa^b\\E$"`), line(`"threadId":"(?<=[a\\1])"`)))
}

// sameBook is whether two playbooks are equal, but for what their expressions have found out about themselves.
func sameBook(a, b *playbook.Playbook) bool {
	if len(a.Lines) != len(b.Lines) {
		return false
	}
	for i, l := range a.Lines {
		m := b.Lines[i]
		if l.Match.String() != m.Match.String() || !reflect.DeepEqual(l.Batches, m.Batches) {
			return false
		}
	}
	return true
}

func FuzzParse(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := playbook.Parse([]byte(text))
		if err != nil {
			var e *script.Error
			if !errors.As(err, &e) {
				t.Fatalf("the error is a %T: %v", err, err)
			}
			checkError(t, text, e)
			return
		}
		again, err := p.MarshalJSON()
		if err != nil {
			t.Fatalf("a playbook that was parsed cannot be written: %v", err)
		}
		if back, err := playbook.Parse(again); err != nil || !sameBook(p, back) {
			t.Errorf("%s\nis another playbook than the one it was written for: %v", again, err)
		}
		c := playbook.NewCast(p)
		for range 3 {
			c.PickNext(playbook.Thread{ID: "worker:1", Title: text})
		}
		_ = c.Left()
	})
}

func FuzzLint(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		found := playbook.Lint([]byte(text))
		for i, e := range found {
			checkError(t, text, e)
			if i > 0 && e.Offset < found[i-1].Offset {
				t.Errorf("%s\ncomes before what it stands behind: %s", found[i-1].Reason, e.Reason)
			}
		}
		p, err := playbook.Parse([]byte(text))
		if err != nil {
			if len(found) != 1 || found[0].Reason != err.Error() && !found[0].Syntax {
				t.Errorf("of a file that cannot be read, %v, it says %v", err, found)
			}
			return
		}
		for _, e := range found {
			var line int
			_, _ = fmt.Sscanf(e.Reason, "threads[%d]", &line)
			if strings.HasPrefix(e.Reason, fmt.Sprintf("threads[%d].match.threadId: no thread gets this line: ", line)) {
				for _, id := range []string{text, "", "a", "worker:1", "a\nb", "\xff", p.Lines[line].Match.ThreadID.String()} {
					checkLost(t, p, line, id)
				}
			}
		}
		if len(found) > 0 && !strings.Contains(text, "threadId") && !strings.Contains(text, "{{") && !strings.Contains(text, `\u`) {
			t.Errorf("there is nothing in it that could be wrong: %v", found)
		}
	})
}

// checkLost fails if a thread gets a line.
func checkLost(t *testing.T, p *playbook.Playbook, line int, id string) {
	t.Helper()
	var only playbook.Playbook
	for i, l := range p.Lines {
		only.Lines = append(only.Lines, playbook.Line{Match: l.Match, Batches: []playbook.Batch{{script.Exit(i)}}})
	}
	b, ok := playbook.NewCast(&only).Pick(playbook.Thread{ID: id, Title: p.Lines[line].Match.Title}, "")
	if ok && b[0] == script.Exit(line) {
		t.Errorf("%q gets the line threads[%d]", id, line)
	}
}
