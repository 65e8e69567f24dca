//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("the process", func() {
	var cwd string

	BeforeEach(func() { cwd = GinkgoT().TempDir() })

	DescribeTable("ends the turn at a signal, and with it the command that runs",
		func(sent os.Signal) {
			if signal.Ignored(sent) {
				Skip("it is ignored here, as nohup has it, and so it is by the process")
			}
			alive := filepath.Join(cwd, "alive") // a pipe that the command has open for writing as long as it lives
			Expect(syscall.Mkfifo(alive, 0o600)).To(Succeed())
			either := open(alive, os.O_RDWR)
			var out, errs bytes.Buffer
			cmd := exec.Command(binary, "run", "--allow-shell", "--verbose",
				`[{"say":"one"},{"bash":{"command":"exec 3>alive; echo yes >&3; sleep 60 & wait","run":true}},{"say":"two"}]`, "never")
			cmd.Dir, cmd.Stdout, cmd.Stderr = cwd, &out, &errs
			Expect(cmd.Start()).To(Succeed())
			DeferCleanup(func() { _ = cmd.Process.Kill() })
			Expect(bufio.NewReader(either).ReadString('\n')).To(Equal("yes\n"))
			end := open(alive, os.O_RDONLY)
			Expect(either.Close()).To(Succeed())

			Expect(cmd.Process.Signal(sent)).To(Succeed())
			_ = cmd.Wait()
			Expect(cmd.ProcessState.ExitCode()).To(Equal(130))
			Expect(strings.Split(out.String(), "\n")[1:]).To(HaveExactElements(
				"one",
				"[Shell] exec 3>alive; echo yes >&3; sleep 60 & wait (failed: canceled)",
				"",
			))
			Expect(errs.String()).To(BeEmpty())
			Expect(io.ReadAll(end)).To(BeEmpty()) // to the end, so nobody is left
		},
		Entry("interrupt", os.Interrupt),
		Entry("terminate", syscall.SIGTERM),
		Entry("hangup", syscall.SIGHUP),
	)

	It("is plain in a pipe, whatever the terminal", func() {
		cmd := exec.Command(binary, "run", "--cwd", cwd, `[{"think":"hm"},{"bash":{"command":"false","exitCode":1}},{"fail":"no"}]`)
		cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=")
		out, err := cmd.Output()
		Expect(err).To(HaveField("ExitCode()", 1))
		Expect(strings.Split(string(out), "\n")[1:]).To(HaveExactElements(
			"[Thought] hm", "[Shell] false", "[Error] no", "[System Error] no", "",
		))
	})

	It("works where it was started, if nobody says otherwise", func() {
		cmd := exec.Command(binary, "run", `[{"write":{"path":"a.txt","content":"hi"}}]`)
		cmd.Dir = cwd
		Expect(cmd.Run()).To(Succeed())
		Expect(read(filepath.Join(cwd, "a.txt"))).To(Equal("hi"))
	})

	It("outlives the terminal if nohup says so", func() {
		cmd := exec.Command("sh", "-c", `trap '' HUP; exec "$0" "$@"`, binary, "run", "--allow-shell", `[{"bash":{"command":"kill -HUP $PPID","run":true}},{"say":"still here"}]`)
		cmd.Dir = cwd
		out, err := cmd.Output()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(out)).To(HaveSuffix("\nstill here\n"))
	})

	It("exits with 2 where it was called wrong", func() {
		_, err := exec.Command(binary, "run", "--frobnicate", "hi").Output()
		exit, ok := err.(*exec.ExitError)
		Expect(ok).To(BeTrue(), "%v", err)
		Expect(exit.ExitCode()).To(Equal(2))
		Expect(string(exit.Stderr)).To(Equal("fakeagent: unknown flag --frobnicate; see fakeagent run --help\n"))
	})
})

// open opens a named pipe without waiting for its other side. A read from it gives up after a while.
func open(path string, flag int) *os.File {
	GinkgoHelper()
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, 0)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _ = f.Close() })
	Expect(f.SetReadDeadline(time.Now().Add(20 * time.Second))).To(Succeed())
	return f
}
