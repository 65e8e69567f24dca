package fakeagent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// part is a batch of a playbook that is drawn, and whether it was played.
type part struct {
	expects  string // "" is anything
	awaits   bool
	goesOn   bool // without a steer
	consumed bool
}

// cue is what the host knows of a thread: its parts, and the turn that waits for a steer.
type cue struct {
	id      string
	parts   []part // nil where no line is for it
	waiting *part  // the last part of the turn that is open
	turn    string
	opening string
	calls   []string // that must have been made
	last    int      // the part that was played last

}

// plays is what must happen with an input: the earliest part that is for it, by the words of the contract.
func (c *cue) plays(input string, inVain bool) *part {
	left := func(p part) bool { return !p.consumed }
	earliest := slices.IndexFunc(c.parts, left)
	pick := slices.IndexFunc(c.parts, func(p part) bool { return left(p) && p.expects != "" && strings.Contains(input, p.expects) })
	if earliest >= 0 && c.parts[earliest].expects == "" && (pick < 0 || earliest < pick) {
		pick = earliest
	}
	if inVain {
		pick = earliest
	}
	if pick < 0 {
		return nil
	}
	if c.last >= 0 {
		c.calls = append(c.calls, fmt.Sprintf(`echo {"prev":%d,"by":"%s"}`, c.last, c.id))
	}
	c.calls = append(c.calls, fmt.Sprintf(`echo {"n":%d,"by":"%s"}`, pick, c.id))
	c.last = pick
	p := &c.parts[pick]
	p.consumed = true
	return p
}

// For any playbook, and whatever the host sends to its threads in any order: each batch plays once at most, the one that must; a steer that is
// refused changes nothing; and no thread sees what another one got.
func TestPlaybookProperties(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		words := rapid.SampledFrom([]string{"", "", "alpha", "beta", "gamma"})
		var lines []string
		var cues []*cue
		for i := range rapid.IntRange(1, 4).Draw(r, "threads") {
			c := &cue{id: fmt.Sprintf("t%d", i), last: -1}
			var batches []string
			for j := range rapid.IntRange(0, 6).Draw(r, "batches") {
				p := part{expects: words.Draw(r, "expects"), awaits: rapid.Bool().Draw(r, "awaits"), goesOn: rapid.Bool().Draw(r, "goes on")}
				steps := []string{`{"tool":"echo","arguments":{"prev":"{{step:*n}}","by":"{{thread}}"}}`, fmt.Sprintf(`{"tool":"echo","arguments":{"n":%d,"by":"{{thread}}"}}`, j)}
				if p.expects != "" {
					steps = append([]string{fmt.Sprintf(`{"expectInput":%q}`, p.expects)}, steps...)
				}
				if p.awaits {
					steps = append(steps, fmt.Sprintf(`{"awaitSteer":{"timeoutMs":1000,"continueOnTimeout":%v}}`, p.goesOn))
				}
				batches = append(batches, "["+strings.Join(steps, ",")+"]")
				c.parts = append(c.parts, p)
			}
			lines = append(lines, fmt.Sprintf(`{"match":{"threadId":"^%s$"},"turns":[%s]}`, c.id, strings.Join(batches, ",")))
			cues = append(cues, c)
		}
		cues = append(cues, &cue{id: "nobody", last: -1})
		lines = rapid.Permutation(lines).Draw(r, "lines")
		var inputs []input
		for range rapid.IntRange(1, 30).Draw(r, "inputs") {
			inputs = append(inputs, input{
				to:   rapid.SampledFrom(cues).Draw(r, "thread"),
				what: rapid.SampledFrom([]string{"prompt", "prompt", "steer", "rush", "wait", "reopen"}).Draw(r, "what"),
				text: words.Draw(r, "one word") + " " + words.Draw(r, "another"),
				more: rapid.SliceOfN(words, 1, 4).Draw(r, "steers at once"),
			})
		}
		var err error
		bubble.Test(t, func(*testing.T) { err = perform(lines, cues, inputs) })
		if err != nil {
			r.Fatal(err)
		}
	})
}

// input is what the host does to a thread.
type input struct {
	to         *cue
	what, text string
	more       []string // of a rush
}

func perform(lines []string, cues []*cue, inputs []input) error {
	s, err := openStage(lines, cues)
	if err != nil {
		return err
	}
	defer s.close()
	for i, in := range inputs {
		switch in.what {
		case "prompt":
			err = s.prompt(in.to, in.text)
		case "steer":
			err = s.steer(in.to, in.text)
		case "rush":
			err = s.rush(in.to, in.text, in.more)
		case "wait":
			s.wait(cues)
		case "reopen":
			err = s.reopen(in.to)
		}
		if err == nil {
			err = s.compare(cues)
		}
		if err != nil {
			return fmt.Errorf("input %d, %s %q to %s: %w", i, in.what, in.text, in.to.id, err)
		}
	}
	return nil
}

// stage is an instance that plays, and the server that its threads call.
type stage struct {
	*fakeagent.Instance
	office *office
	dir    string
}

func openStage(lines []string, cues []*cue) (*stage, error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "playbook.json")
	if err := os.WriteFile(path, []byte(`{"version":1,"threads":[`+strings.Join(lines, ",")+`]}`), 0o600); err != nil {
		return nil, err
	}
	s := &stage{office: newOffice(), dir: dir}
	if s.Instance, err = fakeagent.New(s.office.in(fakeagent.Config{PlaybookPath: path})); err != nil {
		return nil, err
	}
	for _, c := range cues {
		if err := s.start(c); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *stage) close() {
	_ = s.Close()
	_ = os.RemoveAll(s.dir)
}

func (s *stage) start(c *cue) error { return s.StartSession(context.Background(), session(c.id, "")) }

// goesOn is how a turn goes on when a part of it was played.
func (c *cue) goesOn(p *part) {
	if c.waiting = nil; p != nil && p.awaits {
		c.waiting = p
	}
}

func (s *stage) prompt(c *cue, text string) error {
	id, err := s.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: c.id, Text: text})
	if c.waiting != nil {
		if !errors.Is(err, fakeagent.ErrBusy) {
			return fmt.Errorf("a second prompt: %w", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	c.turn, c.opening = id, text
	c.goesOn(c.plays(text, false))
	synctest.Wait()
	return nil
}

func (s *stage) steer(c *cue, text string) error {
	if c.turn == "" {
		return nil // there was none that could be steered
	}
	_, err := s.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: c.id, TurnID: c.turn, Text: text})
	if c.waiting == nil {
		if !errors.Is(err, fakeagent.ErrNotSteered) {
			return fmt.Errorf("a steer of a turn that awaits none: %w", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	c.goesOn(c.plays(text, false))
	synctest.Wait()
	return nil
}

// rush sends a prompt and steers behind it before anything plays, or while it does: who is first is not known, but what was taken must play in
// the order in which it came.
func (s *stage) rush(c *cue, prompt string, steers []string) error {
	if c.waiting != nil {
		return nil
	}
	id, err := s.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: c.id, Text: prompt})
	if err != nil {
		return err
	}
	c.turn, c.opening = id, prompt
	c.goesOn(c.plays(prompt, false))
	awaited := c.waiting != nil
	var taken []string
	for i, text := range steers {
		_, err := s.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: c.id, TurnID: id, Text: text})
		switch {
		case err == nil:
			taken = append(taken, text)
		case !errors.Is(err, fakeagent.ErrNotSteered):
			return err
		}
		if i == 0 && awaited != (err == nil) {
			return fmt.Errorf("the first steer, where one is awaited (%v): %v", awaited, err)
		}
	}
	synctest.Wait()
	for _, text := range taken {
		c.goesOn(c.plays(text, false))
	}
	return nil
}

// wait is until nobody waits for a steer any more.
func (s *stage) wait(cues []*cue) {
	time.Sleep(time.Minute)
	synctest.Wait()
	for _, c := range cues {
		for c.waiting != nil {
			if !c.waiting.goesOn {
				c.waiting = nil
			} else {
				c.goesOn(c.plays(c.opening, true))
			}
		}
	}
}

func (s *stage) reopen(c *cue) error {
	if err := s.StopSession(context.Background(), c.id); err != nil {
		return err
	}
	synctest.Wait()
	c.waiting = nil
	return s.start(c)
}

func (s *stage) compare(cues []*cue) error {
	all := s.office.called()
	for _, c := range cues {
		var got []string
		for _, call := range all {
			if strings.Contains(call, `"by":"`+c.id+`"`) {
				got = append(got, call)
			}
		}
		if !slices.Equal(got, c.calls) {
			return fmt.Errorf("%s has called\n%s\nbut should have called\n%s", c.id, strings.Join(got, "\n"), strings.Join(c.calls, "\n"))
		}
	}
	left := 0
	for _, c := range cues {
		for _, p := range c.parts {
			if !p.consumed {
				left++
			}
		}
	}
	if got := s.PlaybookLeft(); left == 0 && got != "" || left > 0 && !strings.Contains(got, fmt.Sprintf(": %d of ", left)) {
		return fmt.Errorf("%d batches are left, but it says %q", left, got)
	}
	return nil
}
