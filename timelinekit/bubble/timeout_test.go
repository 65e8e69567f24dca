package bubble_test

import (
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/bubble"
)

const soon = 50 * time.Millisecond

var _ = play("timeouts", bubble.InBubble, func() {
	AfterEach(func() { note("AfterEach") })
	It("polling with its context", SpecTimeout(soon), func(ctx SpecContext) {
		Eventually(ctx, func() int { return 1 }).Should(Equal(2))
	})
	It("polling without a context", NodeTimeout(soon), func(SpecContext) {
		c := make(chan int)
		DeferCleanup(func() {
			close(c)
			note("cleanup")
		})
		for open := true; open; {
			select {
			case <-c:
				open = false
			case <-time.After(time.Second):
			}
		}
	}, GracePeriod(soon))
	It("stuck", NodeTimeout(soon), GracePeriod(soon), func(SpecContext) {
		DeferCleanup(note, "cleanup")
		var mu sync.Mutex
		mu.Lock()
		mu.Lock()
	})
	It("stuck, with time to say so", NodeTimeout(soon), func(SpecContext) {
		var mu sync.Mutex
		mu.Lock()
		mu.Lock()
	})
	It("computing", NodeTimeout(soon), GracePeriod(soon), func(SpecContext) {
		var stop atomic.Bool
		for !stop.Load() {
		}
	})
	Context("of a container", Ordered, ContinueOnFailure, func() {
		It("first", NodeTimeout(soon), GracePeriod(soon), func(SpecContext) {
			for {
				time.Sleep(time.Second)
			}
		})
		It("second", func() {})
	})
	It("after", body)
})

var _ = Describe("A timeout", Ordered, func() {
	var p played
	BeforeAll(func() { p = perform("timeouts") })

	It("ends a node that heeds its context, on real time", func() {
		r := p.spec("polling with its context")
		Expect(r.State.String()).To(Equal("timedout"))
		Expect(messages(r)).To(ConsistOf("A spec timeout occurred"))
		Expect(r.Failure.AdditionalFailure.Failure.Message).To(ContainSubstring("Context was cancelled"))
		Expect(notes(r)).To(HaveExactElements(HavePrefix("AfterEach A ")))
	})
	It("leaves the bubble to the nodes that clean up, when the node goes on", func() {
		r := p.spec("polling without a context")
		Expect(messages(r)).To(ConsistOf("A node timeout occurred"))
		Expect(notes(r)).To(HaveExactElements(HavePrefix("AfterEach A "), HavePrefix("cleanup A ")))
	})
	It("may come before a stall is certain, which fails the next node then", func() {
		r := p.spec("stuck")
		Expect(messages(r)).To(HaveExactElements("A node timeout occurred", And(
			HavePrefix("bubble: a node that ran into its timeout still keeps the bubble\n\nVirtual time does not move"),
			ContainSubstring("1 goroutine in sync.Mutex.Lock"),
			HaveSuffix("because they might touch it."))))
		Expect(notes(r)).To(BeEmpty())
	})
	It("may come with a stall", func() {
		r := p.spec("stuck, with time to say so")
		Expect(messages(r)).To(ConsistOf("A node timeout occurred"))
		Expect(r.Failure.AdditionalFailure.Failure.Message).To(ContainSubstring("\nbubble: virtual time has stood still for 300ms"))
		Expect(notes(r)).To(BeEmpty())
	})
	It("is the only end of a node that computes for ever", func() {
		Expect(messages(p.spec("computing"))).To(HaveExactElements("A node timeout occurred", HavePrefix("bubble: a node that ran into its timeout still keeps the bubble")))
	})
	It("is blamed once, and not again for what it leaves behind", func() {
		Expect(messages(p.spec("container first"))).To(ConsistOf("A node timeout occurred"))
		Expect(messages(p.spec("container second"))).To(BeEmpty())
	})
	It("is none of a later spec", func() {
		Expect(notes(p.spec("after"))).To(Equal([]string{"body A 1s", "AfterEach A 1s"}))
	})
})
