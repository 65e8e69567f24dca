//go:build !unix

// Package procgroup gives a child process a group of its own, so that all that it starts ends with it.
package procgroup

import "os/exec"

// Own does nothing here: only Unix has process groups of this kind. The command itself ends with its context.
func Own(cmd *exec.Cmd) (kill func()) {
	return func() {
		if cmd.Process != nil {
			_ = cmd.Process.Kill()
		}
	}
}
