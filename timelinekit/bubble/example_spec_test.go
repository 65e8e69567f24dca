package bubble_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// The container is decorated, not only its specs, because its BeforeEach starts something.
var _ = Describe("A reminder", bubble.InBubble, func() {
	var reminders chan time.Time
	BeforeEach(func() {
		reminders = make(chan time.Time, 100)
		DeferCleanup(remind(25*time.Minute, func() { reminders <- time.Now() }))
	})

	It("comes twice an hour", func() {
		time.Sleep(time.Hour)
		Expect(reminders).To(HaveLen(2))
	})

	It("comes on the minute", func(ctx SpecContext) {
		began := time.Now()
		Eventually(ctx, reminders).WithPolling(time.Minute).Should(Receive(Equal(began.Add(25 * time.Minute))))
	})
})

func Example() {
	// The specs above run on virtual time, as their container is decorated with bubble.InBubble.
}
