//go:build unix

package fakeagent

import (
	"io"
	"os"
	"syscall"
	"time"
)

// drain reads what is in a pipe, without waiting for more.
func drain(r *os.File, to io.Writer) {
	conn, err := r.SyscallConn()
	if err != nil {
		return
	}
	_ = r.SetReadDeadline(time.Time{})
	buf := make([]byte, 64<<10)
	for range 16 { // a pipe holds no more, and a child that goes on writing must not keep us
		n := 0
		_ = conn.Read(func(fd uintptr) bool {
			n, _ = syscall.Read(int(fd), buf) // the pipe is non-blocking, as all of package os are
			return true
		})
		if n <= 0 {
			return
		}
		_, _ = to.Write(buf[:n])
	}
}

// signalOf is the name of the signal that ended a process, or "".
func signalOf(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return signalName(ws.Signal())
	}
	return ""
}

func signalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGABRT: "SIGABRT", syscall.SIGALRM: "SIGALRM", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
		syscall.SIGHUP: "SIGHUP", syscall.SIGILL: "SIGILL", syscall.SIGINT: "SIGINT", syscall.SIGKILL: "SIGKILL",
		syscall.SIGPIPE: "SIGPIPE", syscall.SIGQUIT: "SIGQUIT", syscall.SIGSEGV: "SIGSEGV", syscall.SIGTERM: "SIGTERM",
		syscall.SIGTRAP: "SIGTRAP", syscall.SIGUSR1: "SIGUSR1", syscall.SIGUSR2: "SIGUSR2", syscall.SIGXCPU: "SIGXCPU",
	}
	if name, ok := names[s]; ok {
		return name
	}
	return s.String()
}
