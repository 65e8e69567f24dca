package bubble_test

import (
	"context"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// labelled runs f with a label that says what it does.
func labelled(key, value string, f func()) {
	pprof.Do(context.Background(), pprof.Labels(key, value), func(context.Context) { f() })
}

var _ = play("deadlocks", bubble.InBubble, func() {
	Context("with cleanups", func() {
		var c chan int
		BeforeEach(func() {
			c = make(chan int)
			DeferCleanup(func() {
				close(c)
				note("cleanup")
			})
		})
		It("in the body", func() { <-c })
		AfterEach(func() { note("AfterEach") })
	})
	It("with others", func() {
		go labelled("understudy.doing", "agent-3-turn-1 is in step 3", func() { select {} })
		<-make(chan int)
	})
	It("with a ticker", func() {
		t := time.NewTicker(24 * time.Hour)
		defer t.Stop()
		<-make(chan int)
	})
	Context("in a cleanup", func() {
		It("too", func() {
			DeferCleanup(note, "cleanup")
			DeferCleanup(func() { <-make(chan int) })
			<-make(chan int)
		})
	})
	Context("of a container", Ordered, ContinueOnFailure, func() {
		It("first", func() { <-make(chan int) })
		It("second", func() {})
	})
	It("not in ten years", func() { time.Sleep(10 * 365 * 24 * time.Hour) })
	It("after", body)
})

var _ = play("leaks", bubble.InBubble, func() {
	It("some", func() {
		for range 3 {
			go labelled("understudy.doing", `agent-1-turn-1 is in step 2 {"hold":"gate"}`, func() { <-make(chan int) })
		}
		go labelled("understudy.doing", "agent-2-turn-1 is in step 7", func() { time.Sleep(time.Second) })
	})
	It("one that panics", func() {
		go labelled("understudy.doing", "agent-3-turn-1 panics", func() {
			defer func() {
				<-make(chan int)
				_ = recover()
			}()
			panic("not seen")
		})
	})
	It("many", func() {
		in := func(f func()) { go f() }
		c := make(chan int)
		for _, f := range manyPlaces(c) {
			in(f)
		}
	})
	It("something stuck", func() {
		var mu sync.Mutex
		mu.Lock()
		go mu.Lock()
	})
	It("after", body)
})

// manyPlaces are functions that wait in different places.
func manyPlaces(c chan int) (out []func()) {
	var nested func(depth int)
	nested = func(depth int) {
		if depth == 0 {
			<-c
			return
		}
		nested(depth - 1)
	}
	for i := range 25 {
		out = append(out, func() { nested(i) })
	}
	return out
}

var _ = play("stalls", bubble.InBubble, func() {
	It("by a lock", func() {
		DeferCleanup(note, "cleanup")
		var mu sync.Mutex
		go labelled("understudy.doing", "agent-1-turn-1 sleeps with a lock", func() {
			mu.Lock()
			time.Sleep(time.Hour)
			mu.Unlock()
		})
		time.Sleep(time.Second)
		mu.Lock()
	})
	AfterEach(func() { note("AfterEach") })
	It("by a pipe", func() {
		r, w, err := os.Pipe()
		Expect(err).NotTo(HaveOccurred())
		defer w.Close()
		_, _ = r.Read(make([]byte, 1))
	})
	It("by a context from outside", func() { <-suiteT.Context().Done() })
	It("after", body)
	Context("of a container", Ordered, ContinueOnFailure, func() {
		It("first", func() { <-suiteT.Context().Done() })
		It("second", body)
	})
})

var _ = Describe("A bubble that is stuck", func() {
	Context("because all in it wait for each other", Ordered, func() {
		var p played
		BeforeAll(func() { p = perform("deadlocks") })

		It("fails the spec, and says who waits where", func() {
			r := p.spec("with others")
			Expect(r.State.String()).To(Equal("failed"))
			Expect(messages(r)).To(ConsistOf(MatchRegexp(`^bubble: deadlock: the node waits for something that never comes

30 years of virtual time have gone by. The goroutines of the bubble:
  1 goroutine in chan receive
    \S+/stuck_test.go:\d+ bubble_test\.\S+
  1 goroutine in select \(no cases\)
    \S+/stuck_test.go:\d+ bubble_test\.\S+
    \S+/stuck_test.go:\d+ bubble_test\.labelled\.func1
    \S+/stuck_test.go:\d+ bubble_test\.labelled
    started at \S+/stuck_test.go:\d+ bubble_test\.\S+

What is going on:
  agent-3-turn-1 is in step 3$`)))
		})
		It("lives on, so that the spec can clean up", func() {
			r := p.spec("in the body")
			Expect(messages(r)).To(ConsistOf(HavePrefix("bubble: deadlock")))
			Expect(notes(r)).To(HaveExactElements(MatchRegexp(`^AfterEach A 26\d{4}h`), MatchRegexp(`^cleanup A 26\d{4}h`)))
			Expect(messages(p.spec("in a cleanup too"))).To(HaveExactElements(HavePrefix("bubble: deadlock"), HavePrefix("bubble: deadlock")))
			Expect(notes(p.spec("in a cleanup too"))).To(HaveLen(1))
		})
		It("is found although a ticker ticks", func() {
			Expect(messages(p.spec("with a ticker"))).To(ConsistOf(HavePrefix("bubble: deadlock")))
		})
		It("is not one that only waits long", func() {
			Expect(p.spec("not in ten years").State.String()).To(Equal("passed"))
		})
		It("is blamed once, and not again for what it leaves behind", func() {
			Expect(messages(p.spec("container first"))).To(ConsistOf(HavePrefix("bubble: deadlock")))
			Expect(messages(p.spec("container second"))).To(BeEmpty())
		})
		It("is none of a later spec", func() {
			Expect(p.spec("after").State.String()).To(Equal("passed"))
			Expect(notes(p.spec("after"))).To(Equal([]string{"body A 1s"}))
		})
	})

	Context("because goroutines are left at its end", Ordered, func() {
		var p played
		BeforeAll(func() { p = perform("leaks") })

		It("fails the spec, and says where they are", func() {
			r := p.spec("some")
			Expect(r.State.String()).To(Equal("failed"))
			Expect(messages(r)).To(ConsistOf(MatchRegexp(`^bubble: 4 goroutines are left at the end

No virtual time comes any more, and nothing else that could end them:
  3 goroutines in chan receive
    \S+/stuck_test.go:\d+ bubble_test\.\S+
    \S+/stuck_test.go:\d+ bubble_test\.labelled\.func1
    \S+/stuck_test.go:\d+ bubble_test\.labelled
    started at \S+/stuck_test.go:\d+ bubble_test\.\S+
  1 goroutine in sleep
    \S+/time.go:\d+ time.Sleep
    \S+/stuck_test.go:\d+ bubble_test\.\S+
    \S+/stuck_test.go:\d+ bubble_test\.labelled\.func1
    \S+/stuck_test.go:\d+ bubble_test\.labelled
    started at \S+/stuck_test.go:\d+ bubble_test\.\S+

What is going on:
  agent-1-turn-1 is in step 2 {"hold":"gate"}
  agent-2-turn-1 is in step 7

Let the test or a cleanup end what it has started, and wait until that is so.$`)))
		})
		It("finds the label of a goroutine that panics too", func() {
			Expect(messages(p.spec("one that panics"))).To(ConsistOf(ContainSubstring("What is going on:\n  agent-3-turn-1 panics\n")))
		})
		It("names twenty places at most", func() {
			Expect(messages(p.spec("many"))).To(ConsistOf(And(HavePrefix("bubble: 25 goroutines are left"), ContainSubstring("\n  and 5 other places\n"))))
			Expect(strings.Count(messages(p.spec("many"))[0], "\n  1 goroutine in")).To(Equal(20))
		})
		It("may stall at its end", func() {
			Expect(messages(p.spec("something stuck"))).To(ConsistOf(And(HavePrefix("bubble: virtual time has stood still for 300ms"), ContainSubstring("1 goroutine in sync.Mutex.Lock"))))
		})
		It("is none of a later spec", func() {
			Expect(notes(p.spec("after"))).To(Equal([]string{"body A 1s"}))
		})
	})

	Context("because something waits for what is not virtual", Ordered, func() {
		var p played
		BeforeAll(func() { p = perform("stalls") })

		It("fails the spec, and says what the agents do and who waits where", func() {
			r := p.spec("by a lock")
			Expect(r.State.String()).To(Equal("failed"))
			Expect(messages(r)).To(ConsistOf(MatchRegexp(`^bubble: virtual time has stood still for 300ms

It moves on only when all goroutines of the bubble wait for it or for each other. This waits for something else:
  1 goroutine in sync.Mutex.Lock
    \S+/mutex.go:\d+ sync.\(\*Mutex\).Lock
    \S+/stuck_test.go:\d+ bubble_test\.\S+

What is going on:
  agent-1-turn-1 sleeps with a lock

The others, one of which may hold a lock:
  1 goroutine in sleep
    \S+/time.go:\d+ time.Sleep
    \S+/stuck_test.go:\d+ bubble_test\.\S+
    \S+/stuck_test.go:\d+ bubble_test\.labelled\.func1
    \S+/stuck_test.go:\d+ bubble_test\.labelled
    started at \S+/stuck_test.go:\d+ bubble_test\.\S+

Hold no lock while waiting, and wait for no socket, process or channel from outside. Who must do so labels himself understudy.external.

The bubble is given up as it is: its goroutines stay, and the spec's other nodes and cleanups are not run, because they might touch it.$`)))
		})
		It("is not touched by the nodes that are left", func() {
			Expect(notes(p.spec("by a lock"))).To(BeEmpty())
		})
		It("may wait for a file or a context", func() {
			Expect(messages(p.spec("by a pipe"))).To(ConsistOf(ContainSubstring("1 goroutine in IO wait\n")))
			Expect(messages(p.spec("by a context from outside"))).To(ConsistOf(ContainSubstring("1 goroutine in chan receive\n")))
		})
		It("reads the labels from the stacks where the runtime prints them", func() {
			GinkgoT().Setenv("GODEBUG", "tracebacklabels=1")
			Expect(messages(perform("stalls", "-ginkgo.focus=by a lock").spec("by a lock"))).To(ConsistOf(ContainSubstring("What is going on:\n  agent-1-turn-1 sleeps with a lock\n")))
		})
		It("is none of a later spec, unless the two share it", func() {
			Expect(notes(p.spec("stalls after"))).To(Equal([]string{"body A 1s", "AfterEach A 1s"}))
			Expect(messages(p.spec("container first"))).To(ConsistOf(HavePrefix("bubble: virtual time has stood still")))
			Expect(p.spec("container second").State.String()).To(Equal("skipped"))
			Expect(messages(p.spec("container second"))).To(ConsistOf(HavePrefix("bubble: not run")))
		})
	})
})

var _ = Describe("A bubble that takes its time", func() {
	const stall = 50 * time.Millisecond
	var later chan struct{}
	var late *atomic.Bool
	BeforeEach(func() {
		bubble.StallAfter(stall)
		DeferCleanup(bubble.StallAfter, 10*time.Second)
		c, b := make(chan struct{}), new(atomic.Bool) // made outside, and told in real time when a stall would have been found
		DeferCleanup(time.AfterFunc(10*stall, func() {
			b.Store(true)
			close(c)
		}).Stop)
		later, late = c, b
	})

	It("may compute", bubble.InBubble, func() {
		for !late.Load() {
		}
	})
	It("may say that it waits for something real", bubble.InBubble, func() {
		labelled("understudy.external", "a shell command", func() { <-later })
	})
	It("may leave that to a goroutine of its own", bubble.InBubble, func() {
		done := make(chan struct{})
		labelled("understudy.external", "a shell command", func() {
			go func() { <-later; close(done) }()
		})
		<-done
	})
	It("may have to do with many things from outside, one after the other", bubble.InBubble, func() {
		var n atomic.Int32
		for range 20 {
			ping := make(chan struct{})
			go func() { n.Add(1); close(ping) }()
			<-ping
		}
		Expect(n.Load()).To(BeEquivalentTo(20))
	})
})
