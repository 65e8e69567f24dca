package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("the process on a terminal", func() {
	onTerminal := func(env ...string) string {
		ours, theirs := pty()
		cmd := exec.Command(binary, "run", "--allow-shell", "--cwd", GinkgoT().TempDir(), `[{"bash":{"command":"sleep 0","run":true}}]`)
		cmd.Env = append(append(os.Environ(), "NO_COLOR=", "TERM=xterm"), env...)
		cmd.Stdout = theirs
		Expect(cmd.Start()).To(Succeed())
		Expect(theirs.Close()).To(Succeed())
		out, _ := io.ReadAll(ours) // ends with EIO when nobody has the other side
		Expect(cmd.Wait()).To(Succeed())
		return string(out)
	}

	It("colours its log, and shows the step that runs", func() {
		Expect(onTerminal()).To(HaveSuffix("\x1b[?7l\x1b[2m… [Shell] sleep 0\x1b[0m\x1b[?7h\r\x1b[K\x1b[36m[Shell]\x1b[0m sleep 0\r\n"))
	})

	DescribeTable("is plain",
		func(env string) {
			Expect(onTerminal(env)).To(And(HaveSuffix("\n[Shell] sleep 0\r\n"), Not(ContainSubstring("\x1b"))))
		},
		Entry("if colours are not wanted", "NO_COLOR=1"),
		Entry("if the terminal knows none", "TERM=dumb"),
	)
})

// pty is a new terminal: the side of its screen, and the side of its programs.
func pty() (ours, theirs *os.File) {
	GinkgoHelper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(ours.Close)
	var n, unlock int32
	for request, arg := range map[uintptr]*int32{syscall.TIOCGPTN: &n, syscall.TIOCSPTLCK: &unlock} {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, ours.Fd(), request, uintptr(unsafe.Pointer(arg)))
		Expect(errno).To(BeZero())
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	Expect(err).NotTo(HaveOccurred())
	return ours, theirs
}
