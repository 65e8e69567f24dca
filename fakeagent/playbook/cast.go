package playbook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// Cast says which thread has which line, and what of each was played. Its methods may be called from any goroutine.
type Cast struct {
	book *Playbook

	mu      sync.Mutex
	played  [][]bool         // by line and batch
	owner   map[int]string   // of each line that has one
	claimed map[string]int   // the line of each thread that has had a turn; -1 is none
	playing map[string]int   // the batch that each thread was given last
	missed  map[int][]string // the inputs that a line had no batch for, while it had some left
	without []Thread         // those that no line was for
}

// Thread is a thread that has a turn.
type Thread struct {
	ID    string
	Title string // "" is none
}

// NewCast is a cast in which nobody has a line yet.
func NewCast(p *Playbook) *Cast {
	c := &Cast{book: p, owner: map[int]string{}, claimed: map[string]int{}, playing: map[string]int{}, missed: map[int][]string{}}
	for _, l := range p.Lines {
		c.played = append(c.played, make([]bool, len(l.Batches)))
	}
	return c
}

// Pick is the batch for an input of a thread: the earliest one not yet played that expects something which the input contains, or that
// expects nothing and has none before it. It is played from then on. A thread's first input claims its line. There is no batch for a thread
// that has no line, and for an input that none of those left is for.
func (c *Cast) Pick(t Thread, input string) (Batch, bool) {
	return c.pick(t, func(batches []Batch, played []bool, earliest int) int {
		for i, b := range batches {
			if want := b.expects(); !played[i] && (want == "" && i == earliest || want != "" && strings.Contains(input, want)) {
				return i
			}
		}
		line := c.claimed[t.ID]
		c.missed[line] = few(append(c.missed[line], input))
		return -1
	})
}

// PickNext is the batch for a thread that waited for a steer in vain: the earliest one left, whatever it expects.
func (c *Cast) PickNext(t Thread) (Batch, bool) {
	return c.pick(t, func(_ []Batch, _ []bool, earliest int) int { return earliest })
}

// pick is the batch that is chosen of those of a line that has some left, if one is. c.mu is locked meanwhile.
func (c *Cast) pick(t Thread, choose func(batches []Batch, played []bool, earliest int) int) (Batch, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line := c.claim(t)
	if line < 0 {
		return nil, false
	}
	batches, played := c.book.Lines[line].Batches, c.played[line]
	earliest := slices.Index(played, false)
	if earliest < 0 {
		return nil, false
	}
	i := choose(batches, played, earliest)
	if i < 0 {
		return nil, false
	}
	played[i], c.playing[t.ID] = true, i
	return batches[i], true
}

// Playing is where in the file the batch stands that a thread was given last, such as threads[0].turns[2]; "" where it was given none.
func (c *Cast) Playing(threadID string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.playing[threadID]
	if !ok {
		return ""
	}
	return fmt.Sprintf("threads[%d].turns[%d]", c.claimed[threadID], i)
}

// claim is the line of a thread, or -1. c.mu is locked.
func (c *Cast) claim(t Thread) int {
	line, known := c.claimed[t.ID]
	if known {
		return line
	}
	line = -1
	for i, l := range c.book.Lines {
		if _, taken := c.owner[i]; !taken && l.Match.fits(t) {
			line, c.owner[i] = i, t.ID
			break
		}
	}
	if c.claimed[t.ID] = line; line < 0 {
		c.without = append(c.without, t)
	}
	return line
}

// Left is a tree of the batches that were not played, by line, or "". It has the inputs that such a line had nothing for, and the threads that
// no line was for, since one of them may have been meant.
func (c *Cast) Left() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	left, all := 0, 0
	for i, l := range c.book.Lines {
		all += len(l.Batches)
		if !slices.Contains(c.played[i], false) {
			continue
		}
		by := "no thread has claimed it"
		if owner, ok := c.owner[i]; ok {
			by = "claimed by " + owner
		}
		fmt.Fprintf(&b, "\n  threads[%d] %s: %s", i, l.Match, by)
		for j, batch := range l.Batches {
			if !c.played[i][j] {
				left++
				fmt.Fprintf(&b, "\n    turns[%d] %s", j, batch)
			}
		}
		for _, input := range c.missed[i] {
			fmt.Fprintf(&b, "\n    none of them was for the input %.80q", input)
		}
	}
	if left == 0 {
		return ""
	}
	for _, t := range few(c.without) {
		fmt.Fprintf(&b, "\n  no line was for the thread %s", t)
	}
	return fmt.Sprintf("%d of %d batches were not played%s", left, all, b.String())
}

// few are the last ones, of which there may be many.
func few[S any](all []S) []S { return all[max(0, len(all)-5):] }

func (t Thread) String() string {
	if t.Title == "" {
		return t.ID + ", which has no title"
	}
	return fmt.Sprintf("%s, whose title is %q", t.ID, t.Title)
}

// String is the batch in a few words.
func (b Batch) String() string {
	var words []string
	for _, s := range b {
		if t, ok := s.(script.TemplateStep); ok {
			s = t.Bare()
		}
		switch s := s.(type) {
		case script.ExpectInputStep:
			words = append(words, fmt.Sprintf("expects %.60q", s.Text))
		case script.MCPStep:
			words = append(words, known(s.Tool))
		case script.WaitStep:
			words = append(words, "wait "+known(s.Tool))
		case script.WaitForStep:
			words = append(words, fmt.Sprintf("waitFor %s %s >= %d", known(s.Tool), s.Path, s.AtLeast))
		default:
			words = append(words, s.Key())
		}
	}
	if words == nil {
		return "(no steps)"
	}
	return strings.Join(words, ", ")
}

// known is a text that is not empty unless a placeholder stands in it.
func known(text string) string { return cmp.Or(text, "{{…}}") }
