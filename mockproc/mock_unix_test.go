//go:build unix

package mockproc_test

import (
	"os"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("A signal that ends no process", bubble.InBubble, func() {
	DescribeTable("does not end a mock, which was sent one all the same", func(s syscall.Signal) {
		c, m := start(named("happy"))
		c.open()
		c.prompt("go")
		Expect(m.Kill(s)).To(BeTrue())
		Expect(m.Killed()).To(BeTrue())
		c.rest()
		Expect(c.last()).To(Equal("exit 0"))
		Expect(m.Kill(s)).To(BeFalse(), "it has exited")

		_, other := start(mockproc.Scenario{})
		Expect(other.Stdin().Close()).To(Succeed())
		<-other.Exited()
		Expect(other.Kill(s)).To(BeFalse())
		Expect(other.Killed()).To(BeFalse())
	},
		Entry(nil, syscall.SIGCHLD), Entry(nil, syscall.SIGCONT), Entry(nil, syscall.SIGSTOP), Entry(nil, syscall.SIGTSTP),
		Entry(nil, syscall.SIGTTIN), Entry(nil, syscall.SIGTTOU), Entry(nil, syscall.SIGURG), Entry(nil, syscall.SIGWINCH),
	)
	It("is no such as SIGUSR1", func() {
		_, m := start(mockproc.Scenario{})
		Expect(m.Kill(syscall.SIGUSR1)).To(BeTrue())
		Expect(m.ExitSignal()).To(Equal(syscall.SIGUSR1))
	})
})

var _ = Describe("Whether somebody else's process is alive", func() {
	It("is not asked of a whole group of them", func() {
		Expect(mockproc.IsProcessAlive(-syscall.Getpgrp())).To(BeFalse())
	})
	It("is known although it cannot be signalled", func() {
		if os.Getuid() == 0 {
			Skip("there is nobody whom root cannot signal")
		}
		Expect(mockproc.IsProcessAlive(1)).To(BeTrue())
	})
})
