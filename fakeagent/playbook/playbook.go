// Package playbook is a file that says what the agents of many threads do, turn by turn:
//
//	{"version": 1, "threads": [
//	  {"match": {"threadId": "^worker:[^:]+$"}, "turns": [
//	    [{"id": "list", "tool": "list_items"}],
//	    [{"tool": "claim_item", "arguments": {"item": "{{step:list.items.0.id}}", "by": "{{thread}}"}}]
//	  ]},
//	  {"match": {"title": "Lead"}, "turns": [
//	    [{"tool": "post", "arguments": {"text": "begin"}}, {"wait": {"tool": "summary"}}, {"awaitSteer": true}],
//	    [{"expectInput": "all done"}, {"tool": "summary"}]
//	  ]}
//	]}
//
// Each entry of threads is a [Line], which one thread gets for itself: the first that matches and is free, when the thread has its first turn.
// Each of its turns is a [Batch] of steps, of which a turn plays one, whatever its input is, unless the batch has an expectInput. A step is
// the call of a tool, or any step of package script; a call, a wait and a waitFor add a line to what the agent answers.
//
// [fakeagent.Config] has PlaybookPath to play one. [Lint] finds what is hardly meant in one that can be read.
//
// [fakeagent.Config]: https://pkg.go.dev/github.com/understudy-go/understudy/fakeagent#Config
package playbook

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// Playbook is a file of lines.
type Playbook struct {
	Lines []Line
}

// Line is what one thread does.
type Line struct {
	Match   Match
	Batches []Batch
}

// Match says which threads a line is for. All that is set must hold.
type Match struct {
	ThreadID *regexp.Regexp // which must match somewhere in the thread's id
	Title    string         // which must stand somewhere in the thread's title; a thread without one does not match
}

// Batch is what one turn plays, or one steer. Where it is for a certain input, its first step is a [script.ExpectInputStep]; where the turn
// takes steers, its last one is a [script.AwaitSteerStep].
type Batch []script.Step

// expects is what an input must contain, "" being anything.
func (b Batch) expects() string {
	if len(b) > 0 {
		if e, ok := b[0].(script.ExpectInputStep); ok {
			return e.Text
		}
	}
	return ""
}

// version is the only one there is.
const version = 1

// Open reads a file of an absolute path. Its error says where in the file something is wrong.
func Open(path string) (*Playbook, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("the path %q is relative; give an absolute one", path)
	}
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	p, err := Parse(data)
	if e := (*script.Error)(nil); errors.As(err, &e) {
		return nil, &fileError{path, e}
	}
	return p, nil
}

// read reads a file that ends: no pipe that somebody may write to some day.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return os.ReadFile(path) // whose error does not speak of stat
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; give a file", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	case info.Size() > script.MaxObject:
		return nil, fmt.Errorf("%s is %d bytes long; the limit is %d", path, info.Size(), script.MaxObject)
	}
	return os.ReadFile(path)
}

// fileError is what is wrong in a file.
type fileError struct {
	path string
	what *script.Error
}

func (e *fileError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.path, e.what.Line, e.what.Column, e.what.Reason)
}

func (e *fileError) Unwrap() error { return e.what }

// Parse reads a playbook. It is strict: every error is a [*script.Error], whose reason begins with the path of the value that is wrong, such
// as threads[0].turns[1][2].arguments.
func Parse(data []byte) (*Playbook, error) {
	p := &Playbook{}
	err := script.ReadObject(data, p.shape)
	if e := (*script.Error)(nil); errors.As(err, &e) {
		return nil, placed(data, e)
	}
	return p, nil
}

// position is what a reason says of the place of a step.
var position = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\(\w+\): |(\w+ )?\w+ \d+( \(\w+\))?: )+`) })

// placed has the path of the value in front of the reason, in place of what the reason says of it.
func placed(data []byte, e *script.Error) *script.Error {
	path := pathAt(data, e.Offset)
	if path == "" {
		return e
	}
	why := strings.TrimPrefix(e.Reason, position().FindString(e.Reason))
	if rest, ok := strings.CutPrefix(why, path[strings.LastIndexByte(path, '.')+1:]+" "); ok {
		e.Reason = path + " " + rest
	} else {
		e.Reason = path + ": " + why
	}
	return e
}

func pathAt(data []byte, offset int) string { return oneLine.Replace(script.PathTo(data, offset)) }

// oneLine is for what others named or wrote.
var oneLine = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// MarshalJSON is the file's JSON. The error is a [*script.Error]; [Parse] would refuse the same playbook for the same reason.
func (p Playbook) MarshalJSON() ([]byte, error) { return script.WriteObject(p.shape) }

// UnmarshalJSON is [Parse] for encoding/json.
func (p *Playbook) UnmarshalJSON(data []byte) error {
	out, err := Parse(data)
	if err == nil {
		*p = *out
	}
	return err
}

func (p *Playbook) shape(o script.Object) {
	v := version
	o.Number(&v, "version")
	if v != version {
		o.Fail("version", "must be %d, is %d", version, v)
	}
	script.List(o, &p.Lines, "threads", (*Line).shape)
}

func (l *Line) shape(o script.Object) {
	o.Inner("match", l.Match.shape)
	script.Batches(o, &l.Batches, "turns")
}

func (m *Match) shape(o script.Object) {
	var expr string
	if m.ThreadID != nil {
		expr = m.ThreadID.String()
	}
	o.Text(&expr, "threadId")
	o.Text(&m.Title, "title")
	o.Needs("threadId", "title")
	if o.Reading() && expr != "" {
		re, err := regexp.Compile(expr)
		if err != nil {
			o.Fail("threadId", "does not compile: %s", whyNot(expr, err))
		}
		m.ThreadID = re
	}
}

// fits is whether the line is for a thread.
func (m Match) fits(t Thread) bool {
	return (m.ThreadID == nil || m.ThreadID.MatchString(t.ID)) &&
		(m.Title == "" || strings.Contains(t.Title, m.Title))
}

func (m Match) String() string {
	var parts []string
	if m.ThreadID != nil {
		parts = append(parts, fmt.Sprintf("threadId %s", m.ThreadID))
	}
	if m.Title != "" {
		parts = append(parts, fmt.Sprintf("title %q", m.Title))
	}
	return strings.Join(parts, ", ")
}
