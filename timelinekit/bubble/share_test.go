package bubble_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// everyNode registers a node of each kind, which notes where it runs and takes a second.
func everyNode() {
	second := func(what string) func() {
		return func() {
			time.Sleep(time.Second)
			note(what)
		}
	}
	BeforeEach(func() {
		second("BeforeEach")()
		DeferCleanup(second("DeferCleanup"))
		GinkgoT().Cleanup(second("Cleanup"))
	})
	JustBeforeEach(second("JustBeforeEach"))
	JustAfterEach(second("JustAfterEach"))
	AfterEach(second("AfterEach"))
}

var allNodes = []string{"BeforeEach A 1s", "JustBeforeEach A 2s", "body A 3s", "JustAfterEach A 4s", "AfterEach A 5s", "Cleanup A 6s", "DeferCleanup A 7s"}

func body() {
	time.Sleep(time.Second)
	note("body")
}

var _ = play("shares", func() {
	Context("container", bubble.InBubble, func() {
		everyNode()
		It("a spec", body)
		It("another", body)
		Context("again", bubble.InBubble, func() { It("decorated", bubble.InBubble, body) })
		It("repeated", MustPassRepeatedly(2), body)
		n := 0
		It("flaky", FlakeAttempts(2), func() {
			body()
			n++
			Expect(n).To(Equal(2))
		})
		ReportBeforeEach(func(SpecReport) { Expect(where()).To(Equal("outside")) })
		ReportAfterEach(func(SpecReport) { Expect(where()).To(Equal("outside")) })
		It("pending", Pending, body)
		It("labelled", Label("a"), SpecTimeout(time.Minute), func(SpecContext) { body() })
	})
	Context("inner nodes", func() {
		BeforeEach(func() { note("BeforeEach") })
		AfterEach(func() { note("AfterEach") })
		It("decorated", bubble.InBubble, func() {
			body()
			DeferCleanup(note, "DeferCleanup")
		})
		It("undecorated", func() { note("body") })
		Context("container", bubble.InBubble, func() {
			BeforeEach(func() { note("inner BeforeEach") })
			It("below", body)
		})
	})
	DescribeTable("table", bubble.InBubble, func(d time.Duration) {
		time.Sleep(d)
		note("body")
	}, Entry("minute", time.Minute), Entry("hour", time.Hour))
	DescribeTable("entries", func() { note("body") }, Entry("in", bubble.InBubble), Entry("out"))
	Context("only AfterEach", func() {
		It("is decorated", func() {})
		AfterEach(bubble.InBubble, func() { DeferCleanup(note, "cleanup") })
	})
	Context("GinkgoT", bubble.InBubble, func() {
		BeforeEach(func() {
			dir := GinkgoT().TempDir()
			Expect(os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)).To(Succeed())
			GinkgoT().Setenv("UNDERSTUDY_BUBBLE_DIR", dir)
		})
		It("has a folder", func() { Expect(os.Getenv("UNDERSTUDY_BUBBLE_DIR")).To(BeADirectory()) })
		ReportAfterEach(func(SpecReport) { Expect(os.Getenv("UNDERSTUDY_BUBBLE_DIR")).To(BeEmpty()) })
	})
	It("only a cleanup is decorated", func() {
		DeferCleanup(func() { note("first") }, bubble.InBubble)
		DeferCleanup(func() { note("second") }, bubble.InBubble)
	})
	It("afterwards", func() { note(fmt.Sprint(bubbles(), " bubbles")) })
})

var _ = play("a thousand attempts", bubble.InBubble, MustPassRepeatedly(1000), func() {
	var c chan int
	BeforeEach(func() {
		c = make(chan int)
		DeferCleanup(func() { close(c) })
		done := make(chan struct{})
		go func() { time.Sleep(time.Second); c <- 1; close(done) }()
		DeferCleanup(func() { <-done })
	})
	It("all pass", func(ctx SpecContext) { Eventually(ctx, c).Within(time.Minute).Should(Receive(Equal(1))) })
	AfterEach(func() { Expect(when()).To(Or(Equal("1s"), Equal("1.01s"))) })
})

var _ = Describe("A bubble", func() {
	It("is made a thousand times in a row", func() {
		r := perform("a thousand attempts").spec("all pass")
		Expect(messages(r)).To(BeEmpty())
		Expect(r.NumAttempts).To(Equal(1000))
	})
	Context("of a spec", Ordered, func() {
		var p played
		BeforeAll(func() {
			p = perform("shares")
			Expect(p.err).NotTo(HaveOccurred(), p.output)
		})
		It("is shared by all its nodes and cleanups", func() {
			Expect(notes(p.spec("container a spec"))).To(Equal(allNodes))
		})
		It("is no other spec's", func() {
			Expect(notes(p.spec("container a spec"), p.spec("container another"))[7]).To(Equal("BeforeEach B 1s"))
		})
		It("is one, however often the word is said", func() {
			Expect(notes(p.spec("again decorated"))).To(Equal(allNodes))
		})
		It("is that of one attempt", func() {
			Expect(notes(p.spec("repeated"))).To(HaveExactElements(append(anys(allNodes), "BeforeEach B 1s", "JustBeforeEach B 2s", "body B 3s",
				"JustAfterEach B 4s", "AfterEach B 5s", "Cleanup B 6s", "DeferCleanup B 7s")...))
			Expect(notes(p.spec("flaky"))).To(HaveLen(14))
			Expect(notes(p.spec("flaky"))).To(ContainElement("body B 3s"))
		})
		It("goes with timeouts and labels", func() {
			Expect(notes(p.spec("labelled"))).To(Equal(allNodes))
		})
		It("holds the decorated nodes only", func() {
			Expect(notes(p.spec("inner nodes decorated"))).To(Equal([]string{"BeforeEach outside now", "body A 1s", "AfterEach outside now", "DeferCleanup A 1s"}))
			Expect(notes(p.spec("inner nodes undecorated"))).To(Equal([]string{"BeforeEach outside now", "body outside now", "AfterEach outside now"}))
			Expect(notes(p.spec("below"))).To(Equal([]string{"BeforeEach outside now", "inner BeforeEach A 0s", "body A 1s", "AfterEach outside now"}))
		})
		It("is for tables and entries too", func() {
			Expect(notes(p.spec("minute"), p.spec("hour"))).To(Equal([]string{"body A 1m0s", "body B 1h0m0s"}))
			Expect(notes(p.spec("entries in"), p.spec("entries out"))).To(Equal([]string{"body A 0s", "body outside now"}))
		})
		It("has the methods of GinkgoT()", func() {
			Expect(p.spec("has a folder").State.String()).To(Equal("passed"))
		})
		It("may begin in a node that cleans up", func() {
			Expect(notes(p.spec("only AfterEach is decorated"))).To(Equal([]string{"cleanup A 0s"}))
			Expect(notes(p.spec("only a cleanup is decorated"))).To(Equal([]string{"second A 0s", "first B 0s"}))
		})
		It("is over with its spec", func() {
			Expect(notes(p.spec("afterwards"))).To(Equal([]string{"0 bubbles outside now"}))
		})
	})
})

func anys[T any](in []T) (out []any) {
	for _, v := range in {
		out = append(out, v)
	}
	return out
}
