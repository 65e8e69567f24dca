package bubble_test

import (
	"context"
	"regexp"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/bubble"
)

func init() {
	plain["good"] = func(t *testing.T) {
		bubble.Test(t, func(t *testing.T) {
			began := time.Now()
			t.Cleanup(func() { t.Log("cleanup after", time.Since(began)) })
			time.Sleep(12 * time.Second)
			synctest.Wait()
		})
		t.Log("the test goes on")
	}
	plain["bad"] = func(t *testing.T) {
		for name, f := range map[string]func(t *testing.T){
			"fails": func(t *testing.T) {
				t.Error("on purpose")
				t.FailNow()
			},
			"skips":     func(t *testing.T) { t.Skip("on purpose") },
			"deadlocks": func(*testing.T) { <-make(chan int) },
			"leaks": func(t *testing.T) {
				go labelled("understudy.doing", "agent-1-turn-1 is in step 2", func() { select {} })
			},
			"stalls": func(t *testing.T) {
				go labelled("understudy.doing", "agent-1-turn-1 is in step 2", func() { select {} })
				var mu sync.Mutex
				mu.Lock()
				mu.Lock()
			},
			"runs":     func(t *testing.T) { t.Run("sub", func(*testing.T) {}) },
			"parallel": func(t *testing.T) { t.Parallel() },
			"nested":   func(t *testing.T) { bubble.Test(t, func(*testing.T) {}) },
		} {
			t.Run(name, func(t *testing.T) {
				bubble.Test(t, f)
				t.Log(name, "goes on")
			})
		}
		t.Run("cleans", func(t *testing.T) {
			t.Cleanup(func() { bubble.Test(t, func(*testing.T) {}) })
		})
		t.Run("last", func(*testing.T) {})
	}
	plain["panics"] = func(t *testing.T) { bubble.Test(t, func(*testing.T) { panic("on purpose") }) }
	plain["outer context"] = func(t *testing.T) {
		t.Run("first", func(outer *testing.T) {
			bubble.Test(outer, func(*testing.T) { _, cancel := context.WithCancel(outer.Context()); cancel() })
		})
	}
	plain["suites"] = func(t *testing.T) {
		bubble.Suite(t)
		bubble.Suite(t)
		var over *testing.T
		t.Run("second", func(t *testing.T) {
			over = t
			bubble.Suite(t)
		})
		defer func() { t.Log(recover()) }()
		bubble.Suite(over)
	}
	plain["next suite"] = func(t *testing.T) {
		t.Run("first", bubble.Suite)
		t.Run("second", bubble.Suite)
	}
}

var _ = Describe("A plain test", func() {
	It("runs on virtual time", func() {
		p := perform("good", "-test.v")
		Expect(p.err).NotTo(HaveOccurred(), p.output)
		Expect(p.output).To(MatchRegexp(`plain_test.go:\d+: cleanup after 12s\n\s+plain_test.go:\d+: the test goes on\n`))
	})
	It("panics as ever", func() {
		p := perform("panics")
		Expect(p.output).To(And(ContainSubstring("panic: on purpose [recovered"), ContainSubstring("plain_test.go")))
	})
	It("may use the context of the outer test", func() {
		p := perform("outer context")
		Expect(p.err).NotTo(HaveOccurred(), p.output)
	})

	Context("that goes wrong", Ordered, func() {
		var p played
		BeforeAll(func() { p = perform("bad", "-test.v") })
		// said is what the output has of one subtest.
		said := func(name string) string {
			GinkgoHelper()
			Expect(p.output).To(MatchRegexp(`(?s)=== RUN   TestBubble/` + name + "\n.*--- [A-Z]{4}: TestBubble/" + name + " "))
			return regexp.MustCompile(`(?s)=== RUN   TestBubble/` + name + "\n(.*?)(=== RUN|--- )").FindStringSubmatch(p.output)[1]
		}

		It("fails as ever", func() {
			Expect(said("fails")).To(And(MatchRegexp(`plain_test.go:\d+: on purpose`), Not(ContainSubstring("bubble:")), Not(ContainSubstring("goes on"))))
			Expect(p.output).To(ContainSubstring("--- FAIL: TestBubble/fails"))
		})
		It("skips as in synctest.Test", func() {
			Expect(said("skips")).To(And(ContainSubstring("on purpose"), ContainSubstring("skips goes on")))
		})
		It("fails when it deadlocks", func() {
			Expect(said("deadlocks")).To(MatchRegexp(`plain_test.go:\d+: bubble: deadlock: all goroutines wait for something that never comes
\s+The goroutines of the bubble:
\s+1 goroutine in chan receive
\s+\S+/plain_test.go:\d+ bubble_test\.\S+`))
		})
		It("fails when it leaves goroutines behind", func() {
			Expect(said("leaks")).To(And(MatchRegexp(`plain_test.go:\d+: bubble: 1 goroutine is left at the end`), ContainSubstring("agent-1-turn-1 is in step 2\n")))
		})
		It("fails when virtual time stands still", func() {
			Expect(said("stalls")).To(And(MatchRegexp(`plain_test.go:\d+: bubble: virtual time has stood still for 300ms`),
				ContainSubstring("1 goroutine in sync.Mutex.Lock"), ContainSubstring("agent-1-turn-1 is in step 2\n"), ContainSubstring("The bubble is given up")))
		})
		It("fails when it uses what has no place in a bubble", func() {
			Expect(said("runs")).To(ContainSubstring("bubble: t.Run called inside synctest bubble"))
			Expect(said("parallel")).To(ContainSubstring("bubble: t.Parallel called inside synctest bubble"))
			Expect(said("nested")).To(ContainSubstring("bubble.Test was called in a bubble"))
			Expect(said("cleans")).To(ContainSubstring("bubble.Test was called in a cleanup of TestBubble/cleans"))
		})
		It("is none of a later test", func() {
			Expect(p.output).To(ContainSubstring("--- PASS: TestBubble/last"))
		})
	})
})

var _ = Describe("Suite", func() {
	It("is called once, with a t that lives", func() {
		p := perform("suites", "-test.v")
		Expect(p.output).To(And(
			ContainSubstring("bubble.Suite was called with the t of TestBubble before, which is not over yet."),
			ContainSubstring("bubble.Suite: TestBubble/second is over already.")))
	})
	It("may be called again by the next suite", func() {
		Expect(perform("next suite").err).NotTo(HaveOccurred())
	})
})
