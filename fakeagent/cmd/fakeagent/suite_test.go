package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
)

func TestFakeagent(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "fakeagent, the command")
}

var _ = leak.Check()

// binary is the command as a user has it, for what only a process can show.
var binary string

var _ = BeforeSuite(func() {
	var err error
	binary, err = build(GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
})

func build(dir string) (path string, err error) {
	path = filepath.Join(dir, "fakeagent.exe")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, ".")
	cmd.Stderr = os.Stderr
	return path, cmd.Run()
}

// outcome is what a user sees of a command that is over.
type outcome struct {
	Code     int
	Out, Err string
}

func (o outcome) lines() []string { return strings.Split(strings.TrimSuffix(o.Out, "\n"), "\n") }

// invoke runs the command in this process, as if its output went into a pipe.
func invoke(args ...string) outcome { return show(false, args...) }

// show runs the command in this process. On a terminal, or as if its output went into a pipe.
func show(terminal bool, args ...string) outcome {
	var out, errs bytes.Buffer
	code := run(context.Background(), args, console{&out, &errs, terminal})
	return outcome{code, out.String(), errs.String()}
}

// succeed matches a command that says nothing on stderr and exits with 0.
func succeed() OmegaMatcher {
	return And(HaveField("Err", BeEmpty()), HaveField("Code", 0))
}

func write(path, content string) string {
	GinkgoHelper()
	Expect(os.WriteFile(path, []byte(content), 0o644)).To(Succeed())
	return path
}

func read(path string) string {
	GinkgoHelper()
	data, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}

func needsShell() {
	if runtime.GOOS == "windows" {
		Skip("needs a Unix shell")
	}
}
