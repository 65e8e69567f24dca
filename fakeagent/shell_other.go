//go:build !unix

package fakeagent

import (
	"io"
	"os"
	"os/exec"
)

// Without a Unix shell OSShell fails to start, which fails the step's tool call.

func ownGroup(*exec.Cmd) (kill func()) { return func() {} }

func drain(*os.File, io.Writer) {}

func signalOf(*os.ProcessState) string { return "" }
