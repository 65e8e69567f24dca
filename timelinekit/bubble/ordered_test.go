package bubble_test

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// leaves starts a goroutine that only the bubble's end can find.
func leaves() { go func() { <-make(chan int) }() }

// bubbles counts those that are not over.
func bubbles() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "internal/synctest.Run(")
}

var _ = play("ordered", func() {
	Context("plain", Ordered, bubble.InBubble, func() {
		AfterEach(func() { note("AfterEach") })
		It("first", body)
		It("second", body)
		It("last is pending", Pending, body)
	})
	Context("between", func() { It("one", bubble.InBubble, body) })
	Context("full", Ordered, bubble.InBubble, func() {
		BeforeAll(func() {
			time.Sleep(time.Second)
			note("BeforeAll")
			DeferCleanup(note, "BeforeAll's cleanup")
		})
		AfterAll(func() {
			note("AfterAll")
			DeferCleanup(note, "AfterAll's cleanup")
		})
		BeforeEach(func() {
			note("BeforeEach")
			DeferCleanup(note, "BeforeEach's cleanup")
		})
		It("first", body)
		Context("nested", func() {
			BeforeAll(func() { DeferCleanup(note, "nested cleanup") })
			It("second", body)
		})
	})
	Context("only AfterAll", Ordered, bubble.InBubble, func() {
		It("first", body)
		It("second", body)
		AfterAll(func() { DeferCleanup(note, "AfterAll's cleanup") })
	})
	Context("undecorated", Ordered, func() {
		It("first", bubble.InBubble, body)
		It("second", func() { note("body") })
		It("third", bubble.InBubble, body)
	})
	Context("skipped in BeforeAll", Ordered, bubble.InBubble, func() {
		BeforeAll(func() {
			note("BeforeAll")
			leaves()
			Skip("not here")
		})
		It("first", body)
		It("second", body)
	})
	Context("after", func() {
		It("one", bubble.InBubble, body)
		It("undecorated", func() { note(fmt.Sprint(bubbles(), " bubbles")) })
	})
	Context("flaky", Ordered, bubble.InBubble, func() {
		n := 0
		It("first", body)
		It("second", FlakeAttempts(2), func() {
			body()
			n++
			Expect(n).To(Equal(2))
		})
	})
})

var _ = play("ordered failures", func() {
	Context("leaving", Ordered, bubble.InBubble, func() {
		It("first", leaves)
		It("second", body)
		It("is not run", Label("no"), body)
	})
	Context("going on", Ordered, ContinueOnFailure, bubble.InBubble, func() {
		BeforeAll(func() { DeferCleanup(note, "BeforeAll's cleanup") })
		It("first", func() { Fail("on purpose") })
		It("second", body)
	})
	Context("stopping", Ordered, bubble.InBubble, func() {
		BeforeAll(func() { DeferCleanup(note, "BeforeAll's cleanup") })
		It("first", func() {
			body()
			Fail("on purpose")
		})
		It("second", body)
	})
	It("after", bubble.InBubble, body)
})

var _ = Describe("A bubble of an Ordered container", func() {
	Context("that passes", Ordered, func() {
		var p played
		BeforeAll(func() {
			p = perform("ordered")
			Expect(p.err).NotTo(HaveOccurred(), p.output)
		})
		It("is shared by all its specs, although nothing marks the last one", func() {
			Expect(notes(p.spec("plain first"), p.spec("plain second"), p.spec("between one"))).To(Equal([]string{
				"body A 1s", "AfterEach A 1s", "body A 2s", "AfterEach A 2s", "body B 1s"}))
		})
		It("is there for the cleanups of BeforeAll and AfterAll", func() {
			Expect(notes(p.spec("full first"), p.spec("full nested second"))).To(Equal([]string{
				"BeforeAll A 1s", "BeforeEach A 1s", "body A 2s", "BeforeEach's cleanup A 2s",
				"BeforeEach A 2s", "body A 3s", "AfterAll A 3s", "BeforeEach's cleanup A 3s", "AfterAll's cleanup A 3s", "nested cleanup A 3s",
				"BeforeAll's cleanup A 3s"}))
			Expect(notes(p.spec("only AfterAll first"), p.spec("only AfterAll second"))).To(Equal([]string{"body A 1s", "body A 2s", "AfterAll's cleanup A 2s"}))
		})
		It("holds the decorated specs of an undecorated container", func() {
			Expect(notes(p.spec("undecorated first"), p.spec("undecorated second"), p.spec("undecorated third"))).To(Equal([]string{
				"body A 1s", "body outside now", "body A 2s"}))
		})
		It("is kept by an attempt that fails", func() {
			Expect(notes(p.spec("flaky first"), p.spec("flaky second"))).To(Equal([]string{"body A 1s", "body A 2s", "body A 3s"}))
		})
		It("ends when BeforeAll skips the container", func() {
			Expect(p.spec("skipped in BeforeAll second").State.String()).To(Equal("skipped"))
			Expect(notes(p.spec("skipped in BeforeAll first"), p.spec("after one"), p.spec("after undecorated"))).To(Equal([]string{
				"BeforeAll A 0s", "body B 1s", "0 bubbles outside now"}))
		})
	})

	It("ends with the last spec that runs, and what it leaves behind fails that one", func() {
		p := perform("ordered failures", "-ginkgo.label-filter=play && !no")
		Expect(p.spec("leaving first").State.String()).To(Equal("passed"))
		Expect(messages(p.spec("leaving second"))).To(ConsistOf(HavePrefix("bubble: 1 goroutine is left at the end")))
		Expect(p.spec("leaving second").Failure.FailureNodeType.String()).To(Equal("DeferCleanup (Each)"))
		Expect(messages(p.spec("going on first"))).To(ConsistOf("on purpose"))
		Expect(notes(p.spec("going on first"), p.spec("going on second"))).To(Equal([]string{"body A 1s", "BeforeAll's cleanup A 1s"}))
		Expect(messages(p.spec("stopping first"))).To(ConsistOf("on purpose"))
		Expect(notes(p.spec("stopping first"), p.spec("after"))).To(Equal([]string{"body A 1s", "BeforeAll's cleanup A 1s", "body B 1s"}))
	})
})
