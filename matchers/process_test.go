package matchers_test

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/understudy-go/understudy/matchers"
)

// process is one that a spec ends. Its code and its signal are for whoever has seen that it exited: before, reading them is a data race.
type process struct {
	exited chan struct{}
	code   int
	signal os.Signal
	looks  atomic.Int64 // how often somebody looked whether it has exited
	atLook func(n int64)
	record
}

func (p *process) Exited() <-chan struct{} {
	if n := p.looks.Add(1); p.atLook != nil {
		p.atLook(n)
	}
	return p.exited
}
func (p *process) ExitCode() int         { return p.code }
func (p *process) ExitSignal() os.Signal { return p.signal }
func (p *process) PID() int              { return 7 }

func (p *process) exit(code int, signal os.Signal) *process {
	p.code, p.signal = code, signal
	close(p.exited)
	return p
}

// running is a process that still runs. What its code and its signal are is not to be believed yet.
func running() *process {
	return &process{exited: make(chan struct{}), code: 2, signal: os.Interrupt}
}

// exitingAt is a process that still runs when somebody looks, and has exited with code 1 when it is looked at for the nth time.
func exitingAt(n int64) *process {
	p := running()
	p.atLook = func(look int64) {
		if look == n {
			p.exit(1, nil)
		}
	}
	return p
}

func exitedWith(code int) *process { return running().exit(code, nil) }
func killedBy(signal os.Signal) *process {
	return running().exit(128+int(signal.(syscall.Signal)), signal)
}

// wordy is a process with words of its own.
type wordy struct {
	*process
	words string
}

func (p wordy) GomegaString() string { return p.words }

// plain is a process of which little is known.
type plain struct{ p *process }

func (p plain) Exited() <-chan struct{} { return p.p.Exited() }

// coded is one of which the exit code is known, too.
type coded struct{ plain }

func (p coded) ExitCode() int { return p.p.code }

var right = New("be right", func(any) (bool, error) { return false, nil })

var _ = Describe("HaveExited", func() {
	It("takes a code as an int, which must be equal, or as any matcher", func() {
		Expect(exitedWith(3)).To(HaveExited(3))
		Expect(exitedWith(3)).NotTo(Or(HaveExited(0), HaveExited(4)))
		Expect(exitedWith(3)).To(HaveExited(BeNumerically(">", 0)))
		Expect(exitedWith(0)).NotTo(HaveExited(Not(BeZero())))
		Expect(exitedWith(3)).To(HaveExited(New("be an int", func(actual any) (bool, error) { _, ok := actual.(int); return ok, nil })))
	})

	It("says which code it is instead", func() {
		Expect(failure(exitedWith(1), HaveExited(0))).To(Equal(`exit code is 1, want 0

Expected
    process 7 exited with code 1
to have exited with code 0`))
		Expect(negated(exitedWith(1), HaveExited(1))).To(Equal(`Expected
    process 7 exited with code 1
not to have exited with code 1`))
		Expect(failure(exitedWith(1), HaveExited(BeNumerically(">", 1)))).To(Equal(`exit code is 1, want BeNumerically {Comparator:">", CompareTo:[1]}

Expected
    process 7 exited with code 1
to have exited with code BeNumerically {Comparator:">", CompareTo:[1]}`), "and not once more what Gomega says of it")
		Expect(failure(exitedWith(1), HaveExited(right))).To(HavePrefix("it is 1, want to be right\n\n"))
	})

	It("does not match a process that still runs, whatever the code", func() {
		Expect(running()).NotTo(Or(HaveExited(0), HaveExited(2), HaveExited(Not(BeNil()))))
		Expect(failure(running(), HaveExited(BeNumerically(">", 1)))).
			To(HavePrefix("the process still runs, want exit code BeNumerically {Comparator:\">\", CompareTo:[1]}\n\n"))
	})

	It("matches a process that a signal killed by the code that a shell gives it, and names the signal where it does not", func() {
		Expect(killedBy(os.Kill)).To(HaveExited(137))
		Expect(failure(killedBy(os.Kill), HaveExited(0))).To(Equal(`exit code is 137 (killed by signal "killed"), want 0

Expected
    process 7 was killed by signal "killed"
to have exited with code 0`))
		Expect(failure(killedBy(os.Interrupt), HaveExited(BeZero()))).
			To(HavePrefix("exit code is 130 (killed by signal \"interrupt\"), want BeZero\n\n"))
		Expect(failure(exitedWith(137), HaveExited(0))).To(HavePrefix("exit code is 137, want 0\n\n"), "a code does not make a signal")
	})

	It("needs to know nothing else of a process", func() {
		Expect(coded{plain{exitedWith(1)}}).To(HaveExited(1))
		Expect(failure(coded{plain{exitedWith(1)}}, HaveExited(0))).To(Equal(`exit code is 1, want 0

Expected
    process exited with code 1
to have exited with code 0`))
	})

	It("has an error for an exit code that does not tell whether the process still runs", func() {
		Expect(refusal(&os.ProcessState{}, HaveExited(0))).
			To(HavePrefix("HaveExited expects a process, with the methods Exited and ExitCode.  Got:\n    <*os.ProcessState | 0x"))
		Expect(refusal(plain{exitedWith(0)}, HaveExited(0))).
			To(Equal("HaveExited expects a process, with the methods Exited and ExitCode.  Got:\n    process has exited"))
	})

	It("is refused with what is neither an int nor a matcher, and with a code that there is not", func() {
		Expect(refusal(exitedWith(0), HaveExited("0"))).To(Equal("HaveExited: code is of type string, want an int or a matcher"))
		Expect(refusal(exitedWith(0), HaveExited(nil))).To(Equal("HaveExited: code is nil, want an int or a matcher"))
		Expect(refusal(running(), HaveExited(-1))).To(Equal("HaveExited: code is -1, want one that a process can exit with: 0 or more"))
		Expect(refusal(running(), HaveExited(EndFailed(3)))).
			To(Equal("HaveExited: code: EndFailed: message is of type int, want a string or a matcher"))
	})

	It("has the error of a matcher that is not for ints", func() {
		Expect(refusal(exitedWith(0), HaveExited(HavePrefix("0")))).To(HavePrefix("HavePrefix matcher requires a string or stringer."))
	})
})

var _ = Describe("BeKilledBy", func() {
	It("takes a signal, which must be equal, or any matcher", func() {
		Expect(killedBy(syscall.SIGTERM)).To(BeKilledBy(syscall.SIGTERM))
		Expect(killedBy(syscall.SIGTERM)).NotTo(BeKilledBy(os.Kill))
		Expect(killedBy(os.Kill)).To(BeKilledBy(BeElementOf(os.Interrupt, os.Kill)))
		Expect(killedBy(os.Kill)).NotTo(BeKilledBy(Not(Equal(os.Kill))))
	})

	It("says which signal it was instead", func() {
		Expect(failure(killedBy(syscall.SIGTERM), BeKilledBy(os.Kill))).To(Equal(`signal is "terminated", want "killed"

Expected
    process 7 was killed by signal "terminated"
to be killed by signal "killed"`))
		Expect(negated(killedBy(os.Kill), BeKilledBy(os.Kill))).To(Equal(`Expected
    process 7 was killed by signal "killed"
not to be killed by signal "killed"`))
		Expect(failure(killedBy(syscall.SIGTERM), BeKilledBy(Equal(os.Kill)))).To(Equal(`signal is "terminated", want Equal {Expected:killed}

Expected
    process 7 was killed by signal "terminated"
to be killed by signal Equal {Expected:killed}`))
		Expect(failure(killedBy(os.Kill), BeKilledBy(right))).To(HavePrefix("it is killed, want to be right\n\n"))
	})

	It("does not match a process that exited by itself, even with the code that a shell gives a killed one", func() {
		Expect(failure(exitedWith(137), BeKilledBy(os.Kill))).To(Equal(`the process exited with code 137, want it killed by signal "killed"

Expected
    process 7 exited with code 137
to be killed by signal "killed"`))
		Expect(exitedWith(0)).NotTo(BeKilledBy(Not(BeNil())))
		Expect(exitedWith(0)).NotTo(BeKilledBy(BeNil()), "the matcher is for signals")
	})

	It("does not match a process that still runs, whatever the signal", func() {
		Expect(running()).NotTo(Or(BeKilledBy(os.Interrupt), BeKilledBy(Not(BeNil()))))
		Expect(failure(running(), BeKilledBy(BeNil()))).To(HavePrefix("the process still runs, want it killed by signal BeNil\n\n"))
	})

	It("has an error for a process that does not tell its signal", func() {
		Expect(refusal(coded{plain{exitedWith(3)}}, BeKilledBy(os.Kill))).
			To(Equal("BeKilledBy expects a process, with the methods Exited and ExitSignal.  Got:\n    process exited with code 3"))
	})

	It("is refused with what is neither a signal nor a matcher", func() {
		Expect(refusal(killedBy(os.Kill), BeKilledBy("SIGKILL"))).
			To(Equal("BeKilledBy: signal is of type string, want an os.Signal, such as os.Kill, or a matcher"))
		Expect(refusal(killedBy(os.Kill), BeKilledBy(9))).
			To(Equal("BeKilledBy: signal is of type int, want an os.Signal, such as os.Kill, or a matcher"))
		Expect(refusal(killedBy(os.Kill), BeKilledBy(nil))).To(Equal("BeKilledBy: signal is nil, want an os.Signal, such as os.Kill, or a matcher"))
	})
})

var _ = Describe("A process in a message", func() {
	mine := wordy{running(), "my-agent, on its way\n  it said hello"}

	It("has its own words, if it has some", func() {
		Expect(failure(mine, HaveExited(0))).To(Equal(`the process still runs, want exit code 0

Expected
    my-agent, on its way
      it said hello
to have exited with code 0`))
		Expect(refusal(mine, EndCompleted())).
			To(Equal("EndCompleted expects a run, a turn or an ending.  Got:\n    my-agent, on its way\n      it said hello"))
	})

	It("has the first line of them where one line is all there is room for", func() {
		Expect(failure(mine, right)).To(HavePrefix("it is my-agent, on its way, want to be right\n\nExpected\n    my-agent, on its way\n      it said"))
	})

	It("is cut where its words are many", func() {
		long := make([]byte, 10_000)
		for i := range long {
			long[i] = 'x'
		}
		Expect(failure(wordy{running(), string(long)}, HaveExited(0))).
			To(And(MatchRegexp(`x…\n    … \d+ more bytes\nto have exited with code 0$`), WithTransform(length, BeNumerically("<", 4_100))))
	})

	DescribeTable("says else how it is:", func(p any, line string) {
		Expect(failure(p, right)).To(Equal("it is " + line + ", want to be right\n\nExpected\n    " + line + "\nto be right"))
	},
		Entry("one that runs", running(), "process 7 still runs"),
		Entry("one that exited", exitedWith(1), "process 7 exited with code 1"),
		Entry("one that was killed", killedBy(os.Kill), `process 7 was killed by signal "killed"`),
		Entry("one without a signal and an id", coded{plain{exitedWith(1)}}, "process exited with code 1"),
		Entry("one without a code", plain{exitedWith(1)}, "process has exited"),
		Entry("one that has nothing and runs", plain{running()}, "process still runs"),
	)
})

func length(s string) int { return len(s) }

var _ = Describe("A process that may still run", func() {
	all := []Matcher{HaveExited(0), BeKilledBy(os.Kill), HaveSentRequest("initialize"), right}

	It("can change as long as it runs, and not when it has exited", func() {
		for _, m := range all {
			Expect(m.MatchMayChangeInTheFuture(running())).To(BeTrue())
			Expect(m.MatchMayChangeInTheFuture(plain{running()})).To(BeTrue())
			Expect(m.MatchMayChangeInTheFuture(exitedWith(0))).To(BeFalse())
			Expect(m.MatchMayChangeInTheFuture(killedBy(os.Kill))).To(BeFalse())
			Expect(m.MatchMayChangeInTheFuture(plain{exitedWith(0)})).To(BeFalse())
		}
	})

	It("that has exited is not waited for, and the failure says how it exited", func() {
		Expect(patiently(exitedWith(1), HaveExited(0))).To(MatchRegexp(`^No future change is possible.  Bailing out early after 0\.\d\d\ds\.
exit code is 1, want 0

Expected
    process 7 exited with code 1
to have exited with code 0$`))
	})

	DescribeTable("that has exited is not waited for, wherever the matcher stands:", func(m OmegaMatcher) {
		Expect(patiently(exitedWith(1), m)).To(ContainSubstring("No future change is possible."))
	},
		Entry("a code", HaveExited(0)),
		Entry("a signal", BeKilledBy(os.Kill)),
		Entry("a request", HaveSentRequest("session/new")),
		Entry("one of one's own", right),
		Entry("And", And(HaveExited(1), BeKilledBy(os.Kill))),
		Entry("Or", Or(HaveExited(0), BeKilledBy(os.Kill))),
		Entry("Not", Not(HaveExited(1))),
		Entry("WithTransform", WithTransform(func(p *process) *process { return p }, HaveExited(0))),
		Entry("all of them", Or(Not(And(HaveExited(1), Not(HaveSentRequest("session/new")))),
			WithTransform(func(p *process) any { return p }, BeKilledBy(os.Kill)))),
	)

	// Each poll looks twice or more: whether a match may come, and whether it is one. The process exits before, between and after.
	DescribeTable("is waited for as long as it runs, and not any longer:", func(m OmegaMatcher, says string) {
		for n := range int64(6) {
			Expect(patiently(exitingAt(n+4), m)).To(And(HavePrefix("No future change is possible."), ContainSubstring(says)))
		}
	},
		Entry("for a code", HaveExited(0), "\nexit code is 1, want 0\n"),
		Entry("for a signal", BeKilledBy(os.Kill), "\nthe process exited with code 1, want it killed by signal \"killed\"\n"),
		Entry("for a request", HaveSentRequest("session/new"), "\nthe host sent no request \"session/new\", nor any other\n"),
		Entry("inside of others", Or(HaveExited(0), BeKilledBy(os.Kill)), "\nTo satisfy at least one of these matchers: [have exited with code 0 be killed by"),
	)

	It("matches as soon as it has exited as it should", func() {
		for n := range int64(6) {
			Expect(patiently(exitingAt(n+4), And(HaveExited(1), Not(BeKilledBy(os.Kill)), HaveExited(BeNumerically(">", 0))))).To(BeEmpty())
		}
	})

	It("is asked by many goroutines while it exits", func() {
		p := running()
		done := make(chan string)
		for range 4 {
			go func() { done <- patiently(p, HaveExited(0)) }()
			go func() { done <- HaveExited(1).Got(p) + HaveExited(1).FailureMessage(p) }()
		}
		p.exit(0, nil)
		for range 8 {
			Eventually(done).WithTimeout(10 * time.Second).Should(Receive())
		}
	})

	It("that has exited is asked once by Consistently", func() {
		began := time.Now()
		Consistently(exitedWith(0)).WithTimeout(time.Minute).Should(HaveExited(0))
		Expect(time.Since(began)).To(BeNumerically("<", 10*time.Second))
	})

	It("is an error where it is nil, which no wait changes", func() {
		var none *process
		Expect(refusal(none, HaveExited(0))).To(Equal("HaveExited: the actual is a nil *matchers_test.process"))
		Expect(refusal(none, BeKilledBy(os.Kill))).To(Equal("BeKilledBy: the actual is a nil *matchers_test.process"))
		Expect(refusal(none, HaveSentRequest("initialize"))).To(Equal("HaveSentRequest: the actual is a nil *matchers_test.process"))
		for _, m := range all[:3] {
			Expect(patiently(none, m)).To(ContainSubstring("the actual is a nil *matchers_test.process"))
		}
		Expect(failure(none, right)).To(HavePrefix("it is nil, want to be right\n\nExpected\n    <*matchers_test.process | 0x0>: nil"))
	})
})
