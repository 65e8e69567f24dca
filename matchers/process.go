package matchers

import (
	"fmt"
	"os"
	"reflect"

	"github.com/onsi/gomega/format"
	"github.com/onsi/gomega/types"
)

// HaveExited matches a process that has exited with a code, an int or a matcher. A process that still runs has not, whatever the code. One
// that a signal killed has the code that a shell gives it, 137 after a kill; see [BeKilledBy].
//
// A process is whatever has Exited() <-chan struct{}, which is closed when it has exited, and ExitCode() int. An exit code alone, such as
// that of an *os.ProcessState, does not tell whether the process still runs.
func HaveExited(code any) Matcher {
	w := codeWant(code)
	return matcher{description: "have exited with code " + w.description, wrong: w.wrong, test: func(actual any) (v verdict, err error) {
		p, ok := actual.(withExitCode)
		switch {
		case !ok:
			return v, unexpected("HaveExited", "a process, with the methods Exited and ExitCode", actual)
		case isNilPointer(p):
			return v, pointer("HaveExited: the actual", actual)
		case !hasExited(p):
			v.differs = "the process still runs, want exit code " + w.description
			return v, nil
		}
		return w.verdict(exit{p.ExitCode(), signalOf(p)})
	}}
}

// BeKilledBy matches a process that a signal killed: an [os.Signal], such as os.Kill or syscall.SIGTERM, which must be equal, or a matcher,
// which gets the signal. A process that was sent one and exited by itself was not killed.
//
// A process is whatever has Exited() <-chan struct{}, which is closed when it has exited, and ExitSignal() os.Signal, which is nil if it
// exited by itself.
func BeKilledBy(signal any) Matcher {
	w := signalWant(signal)
	return matcher{description: "be killed by signal " + w.description, wrong: w.wrong, test: func(actual any) (v verdict, err error) {
		p, ok := actual.(withExitSignal)
		switch {
		case !ok:
			return v, unexpected("BeKilledBy", "a process, with the methods Exited and ExitSignal", actual)
		case isNilPointer(p):
			return v, pointer("BeKilledBy: the actual", actual)
		case !hasExited(p):
			v.differs = "the process still runs, want it killed by signal " + w.description
			return v, nil
		case p.ExitSignal() == nil:
			v.differs = "the process " + endOf(p) + ", want it killed by signal " + w.description
			return v, nil
		}
		return w.verdict(p.ExitSignal())
	}}
}

// process is a process that may still run. A *mockproc.Mock is one.
type process interface{ Exited() <-chan struct{} } // closed when it has exited; what else there is to ask does not change any more

type withExitCode interface {
	process
	ExitCode() int
}

type withExitSignal interface {
	process
	ExitSignal() os.Signal // nil if it exited by itself
}

func hasExited(p process) bool {
	select {
	case <-p.Exited():
		return true
	default:
		return false
	}
}

// signalOf is the signal that killed a process that has exited, or nil.
func signalOf(p process) os.Signal {
	if p, ok := p.(withExitSignal); ok {
		return p.ExitSignal()
	}
	return nil
}

// exit is how a process exited.
type exit struct {
	code   int
	signal os.Signal
}

func (e exit) String() string {
	says := fmt.Sprint("exit code is ", e.code)
	if e.signal != nil {
		says += " (killed by signal " + quote(e.signal.String()) + ")"
	}
	return says
}

func codeWant(w any) want[exit] {
	out := want[exit]{description: describe(w)}
	if code, ok := w.(int); ok {
		if code < 0 { // it would never match, so NotTo would pass
			out.wrong = fmt.Errorf("HaveExited: code is %d, want one that a process can exit with: 0 or more", code)
		}
		out.test = func(got exit) (differs, error) {
			if got.code != code {
				return say("%s, want %d", got, code), nil
			}
			return nil, nil
		}
		return out
	}
	out.wrong = matcherArgument("HaveExited: code", "an int or a matcher", w)
	out.test = func(got exit) (differs, error) { return ask(w.(types.GomegaMatcher), got.String, got.code) }
	return out
}

func signalWant(w any) want[os.Signal] {
	if s, ok := w.(os.Signal); ok {
		return want[os.Signal]{quote(s.String()), nil, func(got os.Signal) (differs, error) {
			if !reflect.DeepEqual(got, s) {
				return say("signal is %s, want %s", quote(got.String()), quote(s.String())), nil
			}
			return nil, nil
		}}
	}
	wrong := matcherArgument("BeKilledBy: signal", "an os.Signal, such as os.Kill, or a matcher", w)
	return want[os.Signal]{describe(w), wrong, func(got os.Signal) (differs, error) {
		return ask(w.(types.GomegaMatcher), func() string { return "signal is " + quote(got.String()) }, got)
	}}
}

// processText is a process as a failure message has it: in its own words, if it has some. Its fields are not looked at: it may still run,
// and write to them.
func processText(actual any) (text string, ok bool) {
	p, ok := actual.(process)
	if !ok || isNilPointer(p) {
		return "", false
	}
	if own, ok := actual.(format.GomegaStringer); ok {
		return own.GomegaString(), true
	}
	name := "process"
	if p, ok := actual.(interface{ PID() int }); ok {
		name = fmt.Sprint("process ", p.PID())
	}
	return name + " " + endOf(p), true
}

// endOf completes the sentence "the process …".
func endOf(p process) string {
	if !hasExited(p) {
		return "still runs"
	}
	if s := signalOf(p); s != nil {
		return "was killed by signal " + quote(s.String())
	}
	if p, ok := p.(withExitCode); ok {
		return fmt.Sprint("exited with code ", p.ExitCode())
	}
	return "has exited"
}
