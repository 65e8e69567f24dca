package script

import (
	"fmt"
	"strings"
)

const (
	// MaxSize is how long the JSON of a script may be, in bytes.
	MaxSize = 4 << 20
	// MaxObject is how long that of an [Object] may be, which may hold many scripts.
	MaxObject = 64 << 20
)

// Error says what is wrong with a script or a file of scripts, and where.
type Error struct {
	Reason string // what and in which step, such as: step 3 (write): unknown key "pth", did you mean "path"?
	Offset int    // in bytes from the start of what was parsed; 0 for a script that was made in Go
	Line   int    // from 1; 0 for a script that was made in Go
	Column int    // in bytes, from 1
	Syntax bool   // it is no JSON at all

	cause error
	where string // in what WriteObject writes
}

func (e *Error) Error() string {
	if e.Syntax {
		return fmt.Sprintf("%s (line %d, column %d)", e.Reason, e.Line, e.Column)
	}
	return e.Reason
}

// Unwrap is the error of whoever was asked for a placeholder's value, in one of [TemplateStep.Fill].
func (e *Error) Unwrap() error { return e.cause }

// behind puts where in front of the reason.
func (e *Error) behind(where string) *Error {
	if e != nil {
		e.Reason = where + e.Reason
	}
	return e
}

// inside puts a part of the way to e before the rest of it.
func (e *Error) inside(where string) *Error {
	e.where = where + e.where
	return e
}

// located is e as an error, with its line and column.
func (e *Error) located(text string) error {
	if e == nil {
		return nil
	}
	before := text[:min(e.Offset, len(text))]
	e.Line = 1 + strings.Count(before, "\n")
	e.Column = len(before) - strings.LastIndexByte(before, '\n')
	return e
}

func tooLong(size, limit int) *Error {
	if size <= limit {
		return nil
	}
	return &Error{Reason: fmt.Sprintf("it is %d bytes long; the limit is %d", size, limit)}
}

// Parse reads a script: an object with steps, or a bare array of steps. It is strict: every error is an [*Error] that names the
// step, the key, and for an unknown key the nearest known one. What looks like a placeholder is text here; see [Script.Templates].
func Parse(data []byte) (Script, error) { return parseScript(string(data)) }

func parseScript(text string) (Script, error) {
	var s Script
	if err := parseText(text, MaxSize, s.shape, literal); err != nil {
		return Script{}, err
	}
	return s, nil
}

const (
	literal   = false // {{…}} is text
	templated = true
)

func parseText(text string, limit int, walk func(*object), templates bool) error {
	v, err := open(text, limit)
	if err == nil {
		v.templates = templates
		err = parse(v, walk)
	}
	return err.located(text)
}

// AppendJSON appends the script as JSON, with its fields in the order of the language and without escaping <, > and &. The
// error of a script that JSON cannot carry is an [*Error]; [Parse] would refuse the same script for the same reason.
func (s Script) AppendJSON(dst []byte) ([]byte, error) {
	o := object{mode: writing, output: &output{}}
	s.shape(&o)
	if o.err == nil {
		o.err = tooLong(len(o.out)+len("{}"), MaxSize)
	}
	if o.err != nil {
		return dst, o.err
	}
	return append(append(append(dst, '{'), o.out...), '}'), nil
}

// MarshalJSON is AppendJSON for encoding/json.
func (s Script) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil) }

// UnmarshalJSON is [Parse] for encoding/json.
func (s *Script) UnmarshalJSON(data []byte) error {
	out, err := Parse(data)
	if err == nil {
		*s = out
	}
	return err
}

// Validate is nil for a script that JSON can carry.
func (s Script) Validate() error {
	_, err := s.AppendJSON(nil)
	return err
}

// String is the script as JSON, or what is wrong with it.
func (s Script) String() string {
	b, err := s.AppendJSON(nil)
	if err != nil {
		return "invalid script: " + err.Error()
	}
	return string(b)
}

// depth is how many lists of steps stand inside each other.
func depth(steps []Step) int {
	inner := 0
	for _, s := range steps {
		for _, branch := range Branches(s) {
			inner = max(inner, depth(branch))
		}
	}
	return inner + 1
}

// Branches are the lists of steps that stand inside a step, with placeholders or without.
func Branches(s Step) (all [][]Step) {
	switch s := s.(type) {
	case ApprovalStep:
		for _, a := range s.Approvals {
			all = append(all, a.Allow, a.Deny)
		}
	case MCPStep:
		all = append(all, s.Then, s.Else)
	case TaskStep:
		all = append(all, s.Steps)
	case TemplateStep:
		all = Branches(s.bare)
	}
	return all
}

func either(options []string) string {
	last := len(options) - 1
	return strings.Join(options[:last], ", ") + " or " + options[last]
}

func unknownKey(key string, known []string) string {
	key = excerpt(key)
	best, _ := Nearest(key, known)
	return fmt.Sprintf("unknown key %q, did you mean %q?", key, best)
}

// Nearest is the known word that is most like the given one, for error messages, and how many letters must change to make it of that.
func Nearest(word string, known []string) (nearest string, changes int) {
	changes = 1 << 30
	for _, k := range known {
		if d := distance(word, k); d < changes {
			nearest, changes = k, d
		}
	}
	return nearest, changes
}

// distance is how many letters must change to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
