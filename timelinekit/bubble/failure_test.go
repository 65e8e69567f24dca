package bubble_test

import (
	"context"
	"errors"
	"runtime"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = play("failures", bubble.InBubble, func() {
	It("assertion", func() { Expect(1).To(Equal(2), "of numbers") })
	It("assertion, with a goroutine left", func() {
		leaves()
		Expect(1).To(Equal(2), "of numbers")
	})
	It("skip, with a goroutine left", func() {
		leaves()
		Skip("on purpose")
	})
	It("panic", func() { panic("on purpose") })
	It("Goexit", func() { runtime.Goexit() })
	It("Fatal", func() { suiteT.Fatal("on purpose") })
	It("GinkgoT", func() { GinkgoT().Fatalf("on purpose") })
	It("goroutine", func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer GinkgoRecover()
			Fail("on purpose")
		}()
		<-done
	})
	Context("nodes", func() {
		BeforeEach(func() {
			DeferCleanup(func() { Fail("in the cleanup") })
			Fail("in BeforeEach")
		})
		AfterEach(func() { Fail("in AfterEach") })
		It("around", func() { Fail("not reached") })
	})
	It("a bubble in the bubble", func() { synctest.Test(suiteT, nil) })
	It("after", body)
})

var _ = Describe("In a bubble", Ordered, func() {
	var p played
	line := func(r SpecReport) int { return r.Failure.Location.LineNumber - r.LeafNodeLocation.LineNumber }
	BeforeAll(func() { p = perform("failures") })

	It("a failed assertion is the one failure, at its line", func() {
		r := p.spec("assertion")
		Expect(r.State.String()).To(Equal("failed"))
		Expect(messages(r)).To(ConsistOf(HavePrefix("of numbers\nExpected")))
		Expect(r.Failure.Location.FileName).To(HaveSuffix("failure_test.go"))
		Expect(line(r)).To(Equal(0))
		Expect(messages(p.spec("assertion, with a goroutine left"))).To(ConsistOf(HavePrefix("of numbers\nExpected")))
		Expect(line(p.spec("assertion, with a goroutine left"))).To(Equal(2))
		Expect(messages(p.spec("GinkgoT"))).To(ConsistOf("on purpose"))
		Expect(messages(p.spec("goroutine"))).To(ConsistOf("on purpose"))
	})
	It("a skipped spec is skipped", func() {
		r := p.spec("skip, with a goroutine left")
		Expect(r.State.String()).To(Equal("skipped"))
		Expect(messages(r)).To(ConsistOf("on purpose"))
	})
	It("a panic is reported as Ginkgo does", func() {
		r := p.spec("panic")
		Expect(r.State.String()).To(Equal("panicked"))
		Expect(r.Failure.ForwardedPanic).To(Equal("on purpose"))
		Expect(r.Failure.Location.FullStackTrace).To(ContainSubstring("failure_test.go"))
		Expect(p.spec("a bubble in the bubble").Failure.ForwardedPanic).To(ContainSubstring("called from within a synctest bubble"))
	})
	It("Goexit and the methods that call it are failures, at their line", func() {
		for _, r := range []SpecReport{p.spec("Goexit"), p.spec("Fatal")} {
			Expect(r.State.String()).To(Equal("failed"))
			Expect(messages(r)).To(ConsistOf(HavePrefix("bubble: the node was ended by runtime.Goexit")))
			Expect(r.Failure.Location.FileName).To(HaveSuffix("failure_test.go"))
			Expect(line(r)).To(Equal(0))
		}
	})
	It("each node may fail", func() {
		Expect(messages(p.spec("nodes around"))).To(Equal([]string{"in BeforeEach", "in AfterEach", "in the cleanup"}))
	})
	It("a failure is none of a later spec", func() {
		Expect(p.spec("after").State.String()).To(Equal("passed"))
	})
})

type key struct{}

var _ = Describe("The context of a node in a bubble", func() {
	value := AroundNode(func(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, "value") })
	canceled := AroundNode(func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(errors.New("from outside"))
		return ctx
	})
	It("has the values of Ginkgo's", value, bubble.InBubble, func(ctx SpecContext) {
		Expect(ctx.Value(key{})).To(Equal("value"))
		Expect(ctx.SpecReport().LeafNodeText).To(Equal("has the values of Ginkgo's"))
	})
	It("is canceled a minute of virtual time after Ginkgo's, and not from outside", canceled, bubble.InBubble, func(ctx SpecContext) {
		began := time.Now()
		Expect(ctx.Err()).NotTo(HaveOccurred())
		<-ctx.Done()
		Expect(time.Since(began)).To(Equal(time.Minute))
		Expect(context.Cause(ctx)).To(MatchError("from outside"))
	})
	It("is what Eventually polls with, on virtual time", bubble.InBubble, func(ctx SpecContext) {
		began := time.Now()
		Eventually(ctx, func() time.Duration { return time.Since(began) }).WithPolling(time.Second).Should(BeNumerically(">=", 12*time.Second))
		Expect(time.Since(began)).To(Equal(12 * time.Second))
	})
	It("ends with the node", bubble.InBubble, func(ctx SpecContext) {
		DeferCleanup(func() { Expect(ctx.Err()).To(HaveOccurred()) })
	})
})
