// Package signals has the names of the signals that end a process.
package signals

import (
	"os"
	"syscall"
)

var known = map[string]syscall.Signal{
	"SIGABRT": syscall.SIGABRT,
	"SIGHUP":  syscall.SIGHUP,
	"SIGINT":  syscall.SIGINT,
	"SIGKILL": syscall.SIGKILL,
	"SIGPIPE": syscall.SIGPIPE,
	"SIGQUIT": syscall.SIGQUIT,
	"SIGSEGV": syscall.SIGSEGV,
	"SIGTERM": syscall.SIGTERM,
}

// Named is the signal of a name such as SIGKILL.
func Named(name string) (s syscall.Signal, ok bool) {
	s, ok = known[name]
	return s, ok
}

// Name is the name of a signal. One that is not known has the text that the system has for it.
func Name(s os.Signal) string {
	for name, k := range known {
		if os.Signal(k) == s {
			return name
		}
	}
	return s.String()
}
