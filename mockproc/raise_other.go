//go:build !unix

package mockproc

import "os"

// raise ends this process with the exit code that goes with a signal: here no signal ends one.
func raise(s os.Signal) { os.Exit(codeOf(s)) }

// deadly says that a signal ends a process that does nothing about it.
func deadly(os.Signal) bool { return true }
