package mockproc

//go:generate go tool mockgen -typed -write_command_comment=false -package=mockprocmock -destination=mockprocmock/process.go . Process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"github.com/understudy-go/understudy/mockproc/internal/signals"
)

// Process is a process that a supervisor has started: a [Mock], or a real one by [Exec]. A supervisor that is written for it cannot tell
// which.
type Process interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Stderr() io.Reader

	// PID is the process's id. That of a mock is no real one; see [IsProcessAlive].
	PID() int

	// Kill sends a signal, and says whether there was a process to get it. Which one it is decides what happens: [os.Interrupt], SIGTERM
	// and the like end a mock, unless it ignores them, and os.Kill always does. Signals that end no process, such as SIGCONT, do nothing,
	// and a mock cannot be stopped by SIGSTOP. The signal 0 only asks. A mock is dead when Kill has returned, and a second one is false; a real
	// process may still be there to get it.
	Kill(os.Signal) bool

	// Killed says that Kill has sent a signal. The process may still run.
	Killed() bool

	// Exited is closed when the process has exited. What it wrote before can still be read.
	Exited() <-chan struct{}

	// ExitCode is -1 until the process has exited, and 128+n if signal n ended it. (In the profile seed it is 0 then.)
	ExitCode() int

	// ExitSignal is the signal that ended the process, or nil.
	ExitSignal() os.Signal
}

// IsProcessAlive says whether a process runs, be it real or a mock of this test binary. A supervisor that cleans up after itself takes it
// as its way to ask, since the id of a mock may be that of somebody else's process. Of mocks with the same id, which those of tests that
// run in parallel have unless their seeds differ, one that runs counts.
func IsProcessAlive(pid int) bool {
	if alive, known := fakes.alive(pid); known {
		return alive
	}
	if pid <= 0 { // which is no process, but a group of them
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	if runtime.GOOS == "windows" {
		return true
	}
	err = p.Signal(ask)
	return err == nil || errors.Is(err, syscall.EPERM) // somebody else's
}

// ask is the signal that is none.
const ask = syscall.Signal(0)

// exit is how a process ended.
type exit struct {
	code   int
	signal os.Signal
	sent   bool // the signal was that of who started it
	orphan bool // nobody would have ended it
}

func (e exit) String() string {
	if e.signal != nil {
		return "was killed by " + signals.Name(e.signal)
	}
	return fmt.Sprintf("exited with code %d", e.code)
}

// describe is a line about a process.
func describe(p Process) string {
	select {
	case <-p.Exited():
	default:
		return fmt.Sprintf("process %d still runs", p.PID())
	}
	return fmt.Sprintf("process %d %s", p.PID(), exit{code: p.ExitCode(), signal: p.ExitSignal()})
}

// codeOf is the exit code that a shell gives to a process that a signal ended.
func codeOf(s os.Signal) int {
	if s, ok := s.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 128
}
