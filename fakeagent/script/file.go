package script

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// File gives an agent its script turn by turn, as .fake-agent.json does:
//
//	{"turns":  [{"steps": [{"say": "first"}]}, {"steps": [{"say": "every later turn"}]}],
//	 "routes": [{"when": {"prompt": "test"}, "steps": [{"bash": {"command": "npm test"}}], "times": 1}]}
//
// It has turns, routes, or both. A file that is a script, with steps or as a bare array, is a file of that one turn.
type File struct {
	Turns  []Script
	Routes []Route
}

// Route is a script for the turns that When fits.
type Route struct {
	When   When
	Times  int // how many turns may take the route, 0 for any number
	Script Script
}

// When is what a turn must be like. All conditions that are set must hold.
type When struct {
	Prompt  Pattern
	Turn    int // the agent's Nth turn, from 1
	Attempt int // the Nth time that the agent got this very prompt, from 1
}

// Pattern is a text that a prompt must contain, or a regular expression that must match somewhere in it, or says that the prompt must be an
// object in JSON.
type Pattern struct {
	Text   string
	Regexp *regexp.Regexp
	Object bool
}

// Request is a turn that wants a script.
type Request struct {
	Prompt  string
	Turn    int // from 1
	Attempt int // from 1
}

// Field is a key beside turns and routes that belongs to whoever reads the file, as a process's exit code does in a scenario of one.
type Field struct {
	Key  string
	Read func(value []byte) error // its error completes the sentence that begins with the key, such as: must be a string
}

// ParseFile reads a file of scripts, whose steps may have placeholders: see [TemplateStep]. It is as strict as [Parse]. A file that may have
// fields of the caller's need not have any scripts.
func ParseFile(data []byte, fields ...Field) (File, error) {
	var f File
	err := parseText(string(data), MaxSize, func(o *object) {
		f.shape(o)
		for _, field := range fields {
			o.foreign(field)
		}
		if len(fields) > 0 && o.member("stepDelayMs") == nil { // which would have no steps to delay
			o.missing = nil
		}
	}, templated)
	if err != nil {
		return File{}, err
	}
	return f, nil
}

func (o *object) foreign(f Field) {
	if o.mode == describing {
		o.add(f.Key, 0, "", nil)
	} else if v, ok := o.take(f.Key, 0, "any JSON", isAny); ok {
		if err := f.Read([]byte(v.raw())); err != nil {
			o.fail(f.Key, "%v", err)
		}
	}
}

// MarshalJSON is the file's JSON, in its form with turns and routes. The error of one that JSON cannot carry is an [*Error];
// [ParseFile] would refuse the same file for the same reason.
func (f File) MarshalJSON() ([]byte, error) {
	b, err := write(f.shape)
	if err == nil {
		err = tooLong(len(b), MaxSize)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// UnmarshalJSON is [ParseFile] for encoding/json.
func (f *File) UnmarshalJSON(data []byte) error {
	out, err := ParseFile(data)
	if err == nil {
		*f = out
	}
	return err
}

// Pick is the script of a turn: that of the first route that fits, else that of the turn's number, the last one for every turn
// past the end. taken counts how often this agent has taken each route; the route that was picked is its index, or -1. Nothing
// is picked, and ok is false, if no route fits and there are no turns.
func (f File) Pick(r Request, taken map[int]int) (s Script, route int, ok bool) {
	for i, rt := range f.Routes {
		if rt.When.fits(r) && (rt.Times == 0 || taken[i] < rt.Times) {
			return rt.Script, i, true
		}
	}
	if len(f.Turns) == 0 {
		return Script{}, -1, false
	}
	return f.Turns[min(max(r.Turn, 1), len(f.Turns))-1], -1, true
}

func (w When) fits(r Request) bool {
	return strings.Contains(r.Prompt, w.Prompt.Text) &&
		(w.Prompt.Regexp == nil || w.Prompt.Regexp.MatchString(r.Prompt)) &&
		(!w.Prompt.Object || strings.HasPrefix(strings.TrimSpace(r.Prompt), "{") && json.Valid([]byte(r.Prompt))) &&
		(w.Turn == 0 || w.Turn == r.Turn) &&
		(w.Attempt == 0 || w.Attempt == r.Attempt)
}

func (f *File) shape(o *object) {
	var one Script
	var some flags
	if o.mode != writing {
		one.shape(o)
	} else if len(f.Turns) == 0 {
		some = must // a file says one or the other, and turns must not be empty
	}
	list(o, &f.Turns, "turns", filled, "the scripts of the agent's turns; the last one repeats", "turn")
	list(o, &f.Routes, "routes", some, "scripts for turns that fit, tried before turns", "route")
	for _, key := range []string{"turns", "routes"} {
		o.apart(key, "steps")
		o.apart(key, "stepDelayMs")
	}
	switch {
	case o.mode != parsing:
	case o.val.first() == '[' || o.member("steps") != nil:
		f.Turns = []Script{one}
	case o.member("turns") == nil && o.member("routes") == nil:
		o.missing = &Error{Reason: "needs turns, routes or steps", Offset: o.val.pos}
	default:
		o.missing = nil // steps, which a script must have
	}
}

func (r *Route) shape(o *object) {
	nested(o, &r.When, r.When != When{}, "when", "what a turn must be like; all conditions must hold")
	o.number(&r.Times, "times", 0, 1, "how many turns may take this route, any number by default")
	r.Script.shape(o)
	switch {
	case o.mode == parsing && o.val.first() == '[':
		o.fail("", "must be an object with when and steps, is %s", o.val.excerpt())
	case o.mode == writing:
		o.only = nil // steps alone are no route
	}
}

func (w *When) shape(o *object) {
	nested(o, &w.Prompt, w.Prompt != Pattern{}, "prompt", "a text that the prompt contains, or a regular expression")
	o.number(&w.Turn, "turn", 0, 1, "the agent's Nth turn")
	o.number(&w.Attempt, "attempt", 0, 1, "the Nth time that the agent got this very prompt")
}

func (p *Pattern) shape(o *object) {
	o.text(&p.Text, "text", short|filled, "a text that the prompt contains")
	var expr string
	f := filled
	if p.Regexp != nil {
		expr, f = p.Regexp.String(), must|filled
	}
	if o.text(&expr, "regexp", f, "a regular expression in the syntax of Go's package regexp") && o.mode == parsing {
		re, err := regexp.Compile(expr)
		if err != nil {
			o.fail("regexp", "does not compile: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
		p.Regexp = re
	}
	o.flag(&p.Object, "object", "true: the prompt is an object in JSON")
	if o.mode == parsing && o.member("object") != nil && !p.Object {
		o.fail("object", "must be true, is false") // which would say nothing, and seem to say the opposite
	}
	o.oneOf("text", "regexp", "object")
}

// FromPrompt is the script that a prompt carries: the body of its one fenced block whose language is fake-agent, else the whole
// prompt if it begins with a brace or a bracket. ok is false for a prompt that carries none.
func FromPrompt(prompt string) (s Script, ok bool, err error) {
	if body, n := fenced(prompt); n == 1 {
		s, err = parseScript(body)
		return s, true, err
	} else if n > 1 {
		return s, true, &Error{Reason: fmt.Sprintf("%d fenced blocks, expected 1", n)}
	}
	if p := strings.TrimSpace(prompt); p != "" && (p[0] == '{' || p[0] == '[') {
		s, err = parseScript(p)
		return s, true, err
	}
	return s, false, nil
}

// fenced finds the fenced code blocks of a prompt as CommonMark has them, and returns the body of the last one whose language is
// fake-agent, and how many of these there are.
func fenced(prompt string) (body string, n int) {
	if !strings.Contains(prompt, "fake-agent") {
		return "", 0
	}
	var (
		fence  string // of the block that is open
		indent int    // of its opening line
		ours   bool
		lines  strings.Builder
	)
	for line := range strings.Lines(prompt) {
		text := strings.TrimRight(line, "\r\n")
		bare := strings.TrimLeft(text, " ")
		in := len(text) - len(bare)
		mark := bare[:len(bare)-len(strings.TrimLeft(bare, firstOf(bare)))]
		switch {
		case fence == "":
			info := bare[len(mark):]
			if in > 3 || len(mark) < 3 || mark[0] == '`' && strings.Contains(info, "`") {
				continue
			}
			words := strings.Fields(info)
			fence, indent, ours = mark, in, len(words) > 0 && words[0] == "fake-agent"
			if ours {
				n++
				lines.Reset()
			}
		case in <= 3 && len(mark) >= len(fence) && mark[0] == fence[0] && strings.Trim(bare[len(mark):], " \t") == "":
			fence = ""
			if ours {
				body = lines.String()
			}
		case ours:
			lines.WriteString(line[min(in, indent):])
		}
	}
	if fence != "" && ours {
		body = lines.String() // a block that is never closed runs to the end
	}
	return body, n
}

// firstOf is the character that a fence on this line would be made of.
func firstOf(line string) string {
	if line != "" && (line[0] == '`' || line[0] == '~') {
		return line[:1]
	}
	return ""
}
