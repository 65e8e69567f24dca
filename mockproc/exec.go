package mockproc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// child is a real process.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	stderr *os.File
	exited chan struct{}

	mu     sync.Mutex
	killed bool
	exit   exit
}

// Exec starts a command, as [Process]. Its stdin, stdout and stderr are pipes, unless cmd has them already: of what cmd has, the
// method is nil. They stay open after the exit, so that nothing that the process wrote is lost; what ends them is the last process that
// has them, or the garbage collector. The command's context ends it as in [exec.CommandContext].
//
// A real process runs on real time: in a bubble the clock stands still while it is waited for.
func Exec(cmd *exec.Cmd) (Process, error) {
	c := &child{cmd: cmd, exited: make(chan struct{}), exit: exit{code: -1}}
	var ours, theirs []*os.File
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err != nil {
			return nil, nil, fmt.Errorf("mockproc: %w", err)
		}
		return r, w, nil
	}
	started := false
	defer func() {
		closeAll(theirs) // which the child has by now, or will never have
		if !started {
			closeAll(ours)
		}
	}()
	if cmd.Stdin == nil {
		r, w, err := pipe()
		if err != nil {
			return nil, err
		}
		cmd.Stdin, c.stdin = r, w
		theirs, ours = append(theirs, r), append(ours, w)
	}
	for _, out := range []struct {
		theirs *io.Writer
		ours   **os.File
	}{{&cmd.Stdout, &c.stdout}, {&cmd.Stderr, &c.stderr}} {
		if *out.theirs != nil {
			continue
		}
		r, w, err := pipe()
		if err != nil {
			return nil, err
		}
		*out.theirs, *out.ours = w, r
		theirs, ours = append(theirs, w), append(ours, r)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("mockproc: %w", err)
	}
	started = true
	go c.wait()
	return c, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

func (c *child) wait() {
	_ = c.cmd.Wait() // how it ended is in the state
	state := c.cmd.ProcessState
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(c.exited)
	c.exit.code = state.ExitCode()
	if state == nil { // where somebody else has waited for it, or nobody can
		return
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		c.exit.code, c.exit.signal = codeOf(ws.Signal()), ws.Signal()
	}
}

func (c *child) Stdin() io.WriteCloser { return c.stdin }

func (c *child) Stdout() io.Reader {
	if c.stdout == nil {
		return nil
	}
	return c.stdout
}

func (c *child) Stderr() io.Reader {
	if c.stderr == nil {
		return nil
	}
	return c.stderr
}

func (c *child) PID() int                { return c.cmd.Process.Pid }
func (c *child) Exited() <-chan struct{} { return c.exited }

func (c *child) Kill(s os.Signal) bool {
	c.mu.Lock() // so that nobody sees the exit before it is known that this was why
	defer c.mu.Unlock()
	if c.cmd.Process.Signal(s) != nil {
		return false
	}
	c.killed = c.killed || s != ask
	return true
}

func (c *child) Killed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.killed
}

func (c *child) ExitCode() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exit.code
}

func (c *child) ExitSignal() os.Signal {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exit.signal
}

// String is a line about the process.
func (c *child) String() string { return describe(c) }

// GomegaString is how a failure message shows the process.
func (c *child) GomegaString() string { return describe(c) }

// GoString is as that of a [Mock].
func (c *child) GoString() string { return describe(c) }
