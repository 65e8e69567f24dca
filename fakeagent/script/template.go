package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// TemplateStep is a step with placeholders, such as {{input}}, which are filled in when it starts. It comes of [ParseFile] and of
// [Script.Templates]; in a script that came in a prompt the same text is text.
//
// In a text a placeholder may stand anywhere. A string that is one placeholder, and no more, takes the type of its value, and so it may stand
// for a number, a flag or an object; a text that is JSON for what is wanted there counts as that. Values are
//
//	{{input}}         the text of the turn's prompt, or of the steer that plays
//	{{steers}}        what was added to it while the turn ran: " + " and the text, for each; else nothing
//	{{attachments}}   the names of what is attached to it, with commas between; none
//	{{thread}}        the id of the thread
//	{{model}}         provider/model
//	{{answers}}       those to the last question, an object
//	{{decision}}      the answer to the last approval
//	{{error}}         why the last tool call failed
//	{{config.key}}    what the configuration has for a key, or the default
//	{{step:id.path}}  what the mcp or waitFor step with that id returned, or a part of it; see [Doc.Lookup]
//	{{step:*path}}    what the newest call returned that has something there, with an id or without
//	{{markdown}}      [Markdown] of at least as many characters as the step has chunks
//
// What is filled in is not looked at again, any other {{…}} is text, and so are the names of members.
type TemplateStep struct {
	bare      Step     // it, but for what its placeholders stand for
	json      string   // what stands behind the key
	holes     []string // the names of its placeholders
	arguments string   // those of a call whose placeholders are all there, so that nothing else must be read again; or ""
}

// templateOf is a step that was read, but for its placeholders, and what stands behind its key.
func templateOf(s Step, v value) TemplateStep {
	t := TemplateStep{bare: s, json: string(compact([]byte(v.raw()))), holes: v.holes}
	switch s.(type) {
	case MCPStep, WaitForStep:
		if a, ok := v.part("arguments"); ok && a.first() == '{' && len(a.holesIn()) == len(v.holes) && !slices.Contains(v.holes, markdown) {
			t.arguments = string(compact([]byte(a.raw())))
		}
	}
	return t
}

// Key is that of the step that it becomes.
func (s TemplateStep) Key() string {
	if s.bare == nil {
		return ""
	}
	return s.bare.Key()
}

// Bare is the step without what placeholders stand for: texts, numbers and so on that have some are zero.
func (s TemplateStep) Bare() Step { return s.bare }

func (s TemplateStep) shaped() shaper { return &s }

// empty is what is wrong with the zero value, the only one that others can make.
const empty = "is empty: a template comes of ParseFile or Script.Templates"

// Placeholders are the names of its placeholders, such as input or step:id.path, in the order of its settings; those of steps inside of it are theirs.
func (s TemplateStep) Placeholders() []string { return slices.Clone(s.holes) }

// StepReference takes apart the name of a placeholder for the result of a step: the step's id, or "*" for whichever has something there, and
// the path for [Doc.Lookup].
func StepReference(placeholder string) (id, path string, ok bool) {
	of, ok := strings.CutPrefix(placeholder, "step:")
	if !ok {
		return "", "", false
	}
	end := strings.IndexAny(of, ".[")
	if strings.HasPrefix(of, "*") { // needs no dot
		end = len("*")
	} else if end < 0 {
		end = len(of)
	}
	return of[:end], strings.TrimPrefix(of[end:], "."), true
}

// shape is for writing alone: no step is read as a TemplateStep.
func (s *TemplateStep) shape(o *object) {
	if s.json == "" {
		o.fail("", empty)
		return
	}
	o.only = []byte(s.json)
}

// Fill is the step with the values in it; steps inside of it keep their placeholders. value gets a name, such as input or step:id.path, and
// returns JSON. The error is an [*Error], which says what is wrong with the step then. One that value returned is wrapped in it.
func (s TemplateStep) Fill(value func(name string) (Doc, error)) (Step, error) {
	k := kindCalled(s.Key())
	if k == nil {
		return nil, &Error{Reason: empty}
	}
	doc := &document{text: s.json, templates: true, depth: 1}
	if s.arguments != "" {
		doc.text, doc.fill = s.arguments, value
		return s.fillArguments(doc)
	}
	doc.fill = func(name string) (Doc, error) {
		if name == markdown { // as long as it must be, but no longer than any text could be
			return Doc(encoded(Markdown(min(doc.chunks(), MaxSize)))), nil
		}
		return value(name)
	}
	step, err := k.parse(doc.at(0))
	if err != nil {
		return nil, &Error{Reason: err.Reason, cause: err.cause} // its place is one in a text that nobody has
	}
	return step, nil
}

// fillArguments is the call with the values in its arguments.
func (s TemplateStep) fillArguments(doc *document) (Step, error) {
	raw, err := doc.at(0).fillJSON()
	if err != nil {
		return nil, &Error{Reason: "arguments: " + err.Error(), cause: err}
	}
	switch step := s.bare.(type) {
	case MCPStep:
		step.Arguments = raw
		return step, nil
	case WaitForStep:
		step.Arguments = raw
		return step, nil
	}
	panic("unreachable")
}

// chunks is how many the step has that is filled.
func (d *document) chunks() int {
	v, ok := d.at(0).part("chunks")
	if ok && v.stands(isNumber) {
		var err error
		v, err = v.insert(isNumber)
		ok = err == nil
	}
	if !ok {
		return 0
	}
	n, _ := v.whole()
	return int(n)
}

// Templates is the script with placeholders in place of texts that look like some, as if it came from a file. A script of no such text is
// returned as it is. The error is that of [Script.Validate].
func (s Script) Templates() (Script, error) {
	text, err := s.AppendJSON(nil)
	if err != nil || !bytes.Contains(text, []byte("{{")) && !bytes.Contains(text, []byte(`\u007`)) { // which may be a brace
		return s, err
	}
	var out Script
	if err := parseText(string(text), MaxSize, out.shape, templated); err != nil {
		return s, err
	}
	return out, nil
}

const markdown = "markdown"

var (
	placeholders = []string{"input", "steers", "attachments", "thread", "model", "answers", "decision", "error", markdown}
	families     = []string{"config.", "step:"} // whose names go on
)

// placeholder finds the first one of a text from a place on: {{name}} is text[start:end]. What comes before it is looked at once, however many
// braces there are.
func placeholder(text string, from int) (start, end int, name string, ok bool) {
	for {
		n := strings.Index(text[from:], "}}")
		if n < 0 {
			return 0, 0, "", false
		}
		end = from + n
		if i := strings.LastIndex(text[from:end], "{{"); i >= 0 { // {{{input}} is a brace and a placeholder
			start = from + i
			name = text[start+len("{{") : end]
			if slices.Contains(placeholders, name) || slices.ContainsFunc(families, func(f string) bool { return len(name) > len(f) && strings.HasPrefix(name, f) }) {
				return start, end + len("}}"), name, true
			}
		}
		from = end + len("}}")
	}
}

// PlaceholderNames are the names of all placeholders. One that ends in a dot or a colon goes on, as step:id does.
func PlaceholderNames() []string { return slices.Concat(placeholders, families) }

func hasPlaceholder(text string) bool {
	_, _, _, ok := placeholder(text, 0)
	return ok
}

// whole is the name of the placeholder that a text is.
func whole(text string) (name string, ok bool) {
	start, end, name, ok := placeholder(text, 0)
	return name, ok && start == 0 && end == len(text)
}

// templated is whether {{…}} in this value is a placeholder.
func (v value) templated() bool { return v.templates && v.depth > 0 }

// filling is whether values are at hand. A step inside of the one that is filled waits for its own turn.
func (v value) filling() bool { return v.fill != nil && v.depth == 1 }

// stands is whether this is a placeholder where something is wanted that is no string, and begins so.
func (v value) stands(begin string) bool {
	if !v.templated() || v.first() != '"' || begin != isNumber && begin != isFlag && begin != isObject {
		return false
	}
	_, ok := whole(v.string())
	return ok
}

// insert is the value of a placeholder that stands for what begins so. A text that is JSON for it counts as that.
func (v value) insert(begin string) (value, error) {
	name, _ := whole(v.string())
	out, err := v.named(name)
	if err != nil || out.first() != '"' {
		return out, err
	}
	if inner, err := lone([]byte(out.string())); err == nil && strings.IndexByte(begin, inner.first()) >= 0 {
		return inner, nil
	}
	return out, nil
}

// named is the value of a placeholder, in a document of its own, where nothing is one.
func (d *document) named(name string) (value, error) {
	doc, err := d.fill(name)
	if err == nil && doc == "" {
		err = fmt.Errorf("{{%s}} is no JSON", name)
	}
	if err != nil {
		return value{}, err
	}
	return value{&document{text: string(doc)}, 0, len(doc)}, nil
}

// fillText is a text with the values in it.
func (d *document) fillText(text string) (string, error) {
	var b strings.Builder
	at := 0
	for {
		start, end, name, ok := placeholder(text, at)
		if !ok {
			b.WriteString(text[at:])
			return b.String(), nil
		}
		v, err := d.named(name)
		if err != nil {
			return "", err
		}
		b.WriteString(text[at:start])
		b.WriteString(v.plain())
		at = end
	}
}

// fillJSON is JSON with the values in its strings.
func (v value) fillJSON() ([]byte, error) {
	var out []byte
	at := v.pos
	for s := range v.strings {
		text := s.string()
		if !hasPlaceholder(text) {
			continue
		}
		out = append(out, v.text[at:s.pos]...)
		at = s.end
		if name, ok := whole(text); ok {
			in, err := v.named(name)
			if err != nil {
				return nil, err
			}
			out = append(slices.Grow(out, len(in.text)+v.end-at), in.text...)
			continue
		}
		text, err := v.fillText(text)
		if err != nil {
			return nil, err
		}
		out = append(out, encoded(text)...)
	}
	if out = append(out, v.text[at:v.end]...); tooDeep(out) {
		return nil, errors.New("it is nested too deep with what is filled in")
	}
	return out, nil
}

// tooDeep is whether values of what was valid JSON before stand inside each other so that nobody reads it any more.
func tooDeep(out []byte) bool {
	const deepestJSON = 10000 // of encoding/json
	return bytes.Count(out, []byte("["))+bytes.Count(out, []byte("{")) > deepestJSON && !json.Valid(out)
}

// holesIn are the names of the placeholders in its strings.
func (v value) holesIn() (names []string) {
	for s := range v.strings {
		names = append(names, holesIn(s.string())...)
	}
	return names
}

func holesIn(text string) (names []string) {
	for at := 0; ; {
		_, end, name, ok := placeholder(text, at)
		if !ok {
			return names
		}
		names, at = append(names, name), end
	}
}
