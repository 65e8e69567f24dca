package event_test

import (
	"context"
	"errors"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/event"
)

var _ = Describe("A log of events", func() {
	event1, event2 := event.Event{Seq: 1, Payload: event.TurnStarted{}}, event.Event{Seq: 2, Payload: event.TurnStarted{}}

	It("has what is behind a reader's cursor", func() {
		var l event.Log
		Expect(l.After(0)).To(BeEmpty())
		l.Append(event1)
		l.Append(event2)
		Expect(l.After(0)).To(Equal([]event.Event{event1, event2}))
		Expect(l.After(1)).To(Equal([]event.Event{event2}))
		Expect(l.After(2)).To(BeEmpty())
		By("and takes a cursor that is astray for the nearest one")
		Expect(l.After(3)).To(BeEmpty())
		Expect(l.After(-1)).To(HaveLen(2))
	})

	It("gives a reader what it read for keeps", func() {
		var l event.Log
		l.Append(event1)
		read := l.After(0)
		_ = append(read, event.Event{Seq: 9})
		l.Append(event2)
		Expect(l.After(0)).To(Equal([]event.Event{event1, event2}))
		Expect(read).To(Equal([]event.Event{event1}))
	})

	It("lets many readers wait, each at its own place, and misses nothing", func(ctx SpecContext) {
		const n = 1_000
		var l event.Log
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				defer GinkgoRecover()
				var read []uint64
				for len(read) < n {
					events, err := l.Wait(ctx, len(read))
					Expect(err).NotTo(HaveOccurred())
					for _, e := range events {
						read = append(read, e.Seq)
					}
				}
				for i, seq := range read {
					Expect(seq).To(BeEquivalentTo(i))
				}
			})
		}
		for i := range n {
			l.Append(event.Event{Seq: uint64(i)})
		}
		all.Wait()
	})

	It("waits no longer than the context", func() {
		var l event.Log
		ctx, cancel := context.WithCancelCause(context.Background())
		why := errors.New("enough")
		cancel(why)
		_, err := l.Wait(ctx, 0)
		Expect(err).To(MatchError(why))
		l.Append(event1)
		Expect(l.Wait(ctx, 0)).To(HaveLen(1), "what is there needs no waiting")
	})
})
