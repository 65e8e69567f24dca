//go:build unix

// Package procgroup gives a child process a group of its own, so that all that it starts ends with it.
package procgroup

import (
	"os/exec"
	"syscall"
)

// Own has the command start in a group of its own, which is killed when the command's context ends. kill ends what is left of the group.
func Own(cmd *exec.Cmd) (kill func()) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	killGroup := func() error {
		if cmd.Process == nil {
			return nil
		}
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	cmd.Cancel = killGroup
	return func() { _ = killGroup() } // mostly there is nothing left, which is an error
}
