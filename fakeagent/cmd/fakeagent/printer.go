package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// isTerminal says that colours and a line that changes are welcome.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// printer prints a timeline while it grows.
type printer struct {
	out      io.Writer
	json     bool
	terminal bool
	reasons  bool // of failed tool calls

	mu      sync.Mutex
	printed int    // items
	live    string // the line that is replaced by the next one
	waiting bool   // live comes from wait
	failed  error  // the first one
}

// update prints the items that have become final. Afterwards a terminal shows the one that has not.
func (p *printer) update(tl timeline.Timeline, turnOver bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; p.printed < tl.Len(); p.printed++ {
		it := tl.At(p.printed)
		if last := p.printed == tl.Len()-1; !turnOver && grows(it, last) {
			if p.terminal {
				p.show(printable(logLine(it)))
			}
			return
		}
		p.print(it)
	}
}

// grows says that an item may change until its turn is over.
func grows(it timeline.Item, last bool) bool {
	switch it := it.(type) {
	case timeline.ToolCall:
		return it.Status == timeline.Running
	case timeline.AssistantMessage, timeline.Reasoning:
		return last
	}
	return false
}

func (p *printer) print(it timeline.Item) {
	if p.json {
		p.write(string(timeline.AppendJSON(nil, it)) + "\n")
		return
	}
	if line := p.line(it); line != "" {
		p.write(line + "\n")
	}
}

// wait shows what the agent is in the middle of where no item does: a step that waits makes none.
func (p *printer) wait(doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if doing != "" && (p.live == "" || p.waiting) {
		p.show(printable(doing))
		p.waiting = true
	}
}

// show prints the first line of what is not final. Without line wrap, which one could not take back, it is cut off at the edge.
func (p *printer) show(text string) {
	p.waiting = false
	first, _, _ := strings.Cut(text, "\n")
	if live := "… " + first; live != p.live {
		p.write("\x1b[?7l" + paint(dim, live) + "\x1b[?7h")
		p.live = live
	}
}

func (p *printer) write(s string) {
	if p.live != "" {
		s, p.live = "\r\x1b[K"+s, ""
	}
	if _, err := io.WriteString(p.out, s); err != nil && p.failed == nil {
		p.failed = err
	}
}

// line is an item in the text log; "" for one that it leaves out.
func (p *printer) line(it timeline.Item) string {
	line, reason := printable(logLine(it)), ""
	call, _ := it.(timeline.ToolCall)
	if call.Status == timeline.Failed && p.reasons {
		reason = printable(fmt.Sprintf(" (failed: %s)", timeline.ErrorText(call.Error)))
	}
	if !p.terminal {
		return line + reason
	}
	if tag, rest, ok := strings.Cut(line, "] "); ok {
		line = paint(colour(it), tag+"]") + " " + rest
	}
	return line + paint(red, reason)
}

// logLine is an item in the text log.
func logLine(it timeline.Item) string {
	if user, ok := it.(timeline.UserMessage); ok {
		it = timeline.UserMessage{Text: compact(user.Text)}
	}
	return timeline.LogLine(it)
}

// compact is a prompt that is JSON without its white space, so that it takes one line. Any other prompt stays as it is.
func compact(prompt string) string {
	var b bytes.Buffer
	trimmed := strings.TrimSpace(prompt)
	if strings.IndexAny(trimmed, "{[") != 0 || json.Compact(&b, []byte(trimmed)) != nil {
		return prompt
	}
	return b.String()
}

// printable spells out the control characters, which a terminal would obey.
func printable(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if strings.IndexFunc(text, obeyed) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if obeyed(r) {
			fmt.Fprintf(&b, `\x%02x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func obeyed(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// Colours of a terminal.
const (
	bold = "1"
	dim  = "2"
	red  = "31"
	cyan = "36"
)

func paint(code, s string) string {
	if code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// colour is that of an item's tag. What an assistant says has none, and may hold anything.
func colour(it timeline.Item) string {
	switch it.(type) {
	case timeline.UserMessage:
		return bold
	case timeline.Reasoning:
		return dim
	case timeline.ErrorItem:
		return red
	case timeline.AssistantMessage:
		return ""
	}
	return cyan
}
