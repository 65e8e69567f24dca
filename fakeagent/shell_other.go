//go:build !unix

package fakeagent

import (
	"os"
	"os/exec"
)

// Without a Unix shell OSShell fails to start, which fails the step's tool call.

func ownGroup(*exec.Cmd) (kill func()) { return func() {} }

func signalOf(*os.ProcessState) string { return "" }
