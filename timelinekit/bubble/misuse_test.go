package bubble_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = play("forgotten", func() {
	It("spec", bubble.InBubble, body)
	It("after", func() {})
})

var _ = stage != "suite nodes" || BeforeSuite(func() {}, bubble.InBubble)
var _ = stage != "suite nodes" || ReportAfterSuite("report", func(Report) {}, bubble.InBubble)
var _ = play("suite nodes", func() { It("spec", func() {}) })

var _ = stage != "whole suite" || BeforeEach(func() {
	note("top BeforeEach")
	DeferCleanup(note, "top cleanup")
})
var _ = play("whole suite", func() {
	BeforeEach(func() { note("BeforeEach") })
	It("spec", body)
	Context("ordered", Ordered, func() {
		It("first", body)
		It("second", body)
	})
})

var _ = play("old timers", bubble.InBubble, func() { It("spec", body) })

var _ = Describe("Misuse", func() {
	It("is a suite that has not said bubble.Suite(t)", func() {
		p := perform("forgotten")
		Expect(messages(p.spec("spec"))).To(ConsistOf("bubble.InBubble has no t to make a bubble with. " +
			"Call bubble.Suite(t) in the function that calls RunSpecs, before that."))
		Expect(p.spec("after").State.String()).To(Equal("passed"))
	})
	It("is a bubble for a node that belongs to no spec", func() {
		p := perform("suite nodes")
		Expect(messages(p.report.SpecReports[0])).To(ConsistOf("bubble.InBubble is on a BeforeSuite, which belongs to no spec. " +
			"Put it on containers, tables and specs."))
		for _, r := range p.report.SpecReports[1:] {
			Expect(messages(r)).To(BeEmpty())
		}
	})
	It("is not to put the word on a whole suite", func() {
		p := perform("whole suite")
		Expect(p.err).NotTo(HaveOccurred(), p.output)
		Expect(notes(p.spec("suite spec"))).To(Equal([]string{"top BeforeEach A 0s", "BeforeEach A 0s", "body A 1s", "top cleanup A 1s"}))
		Expect(notes(p.spec("first"), p.spec("second"))).To(Equal([]string{"top BeforeEach A 0s", "BeforeEach A 0s", "body A 1s", "top cleanup A 1s",
			"top BeforeEach A 1s", "BeforeEach A 1s", "body A 2s", "top cleanup A 2s"}))
	})
	It("is a setting of Go with which there are no bubbles", func() {
		GinkgoT().Setenv("GODEBUG", "asynctimerchan=1")
		Expect(messages(perform("old timers").spec("spec"))).To(ConsistOf(HavePrefix("bubble: synctest.Run not supported with asynctimerchan!=0")))
	})
})
