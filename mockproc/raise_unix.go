//go:build unix

package mockproc

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// raise ends this process by a signal, as far as whoever waits for it can tell.
func raise(s os.Signal) {
	n := s.(syscall.Signal)
	if n != syscall.SIGKILL {
		// Go has plans of its own for some signals, such as to print all stacks, and others may have been ignored before it began. A signal
		// that it listens to does what it should in the program that takes its place.
		signal.Notify(make(chan os.Signal, 1), n)
		_ = syscall.Exec("/bin/sh", []string{"sh", "-c", "ulimit -c 0; kill -" + strconv.Itoa(int(n)) + " $$"}, nil)
		signal.Reset(n)
	}
	_ = syscall.Kill(os.Getpid(), n)
	time.Sleep(time.Second) // it is on its way
	os.Exit(codeOf(s))
}

// deadly says that a signal ends a process that does nothing about it.
func deadly(s os.Signal) bool {
	switch s {
	case syscall.SIGCHLD, syscall.SIGCONT, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGURG, syscall.SIGWINCH:
		return false
	}
	return true
}
