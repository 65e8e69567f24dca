//go:build race

package bubble_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// race is one that the detector cannot miss.
func race() {
	n := 0
	done := make(chan struct{}, 2)
	for range 2 {
		go func() {
			n++
			done <- struct{}{}
		}()
	}
	<-done
	<-done
}

var _ = play("races", bubble.InBubble, func() {
	It("racing", race)
	It("after", body)
})

func init() {
	plain["race"] = func(t *testing.T) { bubble.Test(t, func(*testing.T) { race() }) }
}

var _ = Describe("The race detector", func() {
	It("fails the spec that races", func() {
		p := perform("races")
		Expect(messages(p.spec("racing"))).To(ConsistOf("bubble: the race detector has found a race, and has printed it"))
		Expect(messages(p.spec("after"))).To(BeEmpty())
	})
	It("fails the test that races", func() {
		Expect(perform("race").output).To(And(ContainSubstring("WARNING: DATA RACE"), ContainSubstring("--- FAIL: TestBubble")))
	})
})
