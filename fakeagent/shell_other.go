//go:build !unix

package fakeagent

import (
	"io"
	"os"
)

// Without a Unix shell OSShell fails to start, which fails the step's tool call.

func drain(*os.File, io.Writer) {}

func signalOf(*os.ProcessState) string { return "" }
