package replay

import "fmt"

// Code says what kind of thing went wrong, in the words of journals.
type Code string

const (
	Configuration Code = "configuration" // the journal, an option or a feature is not what it must be
	Process       Code = "process"       // a command failed, or an agent ended without an end
	Replay        Code = "replay"        // the host has drifted from the journal; see [Divergence]
	Aborted       Code = "aborted"
)

// codes are all that a journal may have.
var codes = []Code{
	"stuck", "guard", "rejected", Configuration, Process, "timeout", Aborted, "workspace", "conflict", "prompt", "response", "session", "provider",
	"limit", "quota", Replay, "steering",
}

// Error is something wrong that is no divergence.
type Error struct {
	Code   Code
	Entry  int    // the entry that is wrong, from 0; -1: it is about something else. [Journal.Place] says where that stands in the file
	Kind   string // of that entry; "" where it has none
	Reason string
	Err    error // what caused it; may be nil
}

func (e *Error) Error() string {
	switch {
	case e.Entry < 0:
		return "replay: " + e.Reason
	case e.Kind == "":
		return fmt.Sprintf("replay: entry %d: %s", e.Entry, e.Reason)
	}
	return fmt.Sprintf("replay: entry %d (%s): %s", e.Entry, e.Kind, e.Reason)
}

func (e *Error) Unwrap() error { return e.Err }

func configuration(format string, args ...any) *Error {
	return newError(Configuration, fmt.Errorf(format, args...))
}

func process(format string, args ...any) *Error {
	return newError(Process, fmt.Errorf(format, args...))
}

func newError(code Code, err error) *Error {
	return &Error{Code: code, Entry: -1, Reason: err.Error(), Err: err}
}
