package timeline_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

var _ = Describe("Fetching rows from a log", func() {
	var log *timeline.Log
	BeforeEach(func() {
		log = timeline.NewLog("epoch-2")
		for i := range 10 {
			log.Append(noon, "turn-1", "", say(fmt.Sprint(i+1)))
		}
	})
	at := func(seq int) timeline.Cursor { return timeline.Cursor{Epoch: "epoch-2", Seq: seq} }
	seqs := func(p timeline.Page) []int {
		out := []int{}
		for _, r := range p.Rows {
			out = append(out, r.Seq)
		}
		return out
	}

	DescribeTable("from ten rows takes",
		func(q timeline.Query, want []int, older, newer bool) {
			p := log.Fetch(q)
			Expect(seqs(p)).To(Equal(want))
			Expect(p.Epoch).To(Equal("epoch-2"))
			Expect(p.HasOlder).To(Equal(older), "HasOlder")
			Expect(p.HasNewer).To(Equal(newer), "HasNewer")
			Expect(p.Reset || p.Gap).To(BeFalse())
		},
		Entry("all without a question", timeline.Query{}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, false, false),
		Entry("the newest up to a limit", timeline.Query{Limit: 3}, []int{8, 9, 10}, true, false),
		Entry("the newest, asked for by name", timeline.Query{Direction: timeline.Tail, Limit: 1}, []int{10}, true, false),
		Entry("all when the limit is larger", timeline.Query{Limit: 99}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, false, false),
		Entry("those just before a cursor", timeline.Query{Direction: timeline.Before, Cursor: at(6), Limit: 2}, []int{4, 5}, true, true),
		Entry("all before a cursor", timeline.Query{Direction: timeline.Before, Cursor: at(3)}, []int{1, 2}, false, true),
		Entry("none before the first", timeline.Query{Direction: timeline.Before, Cursor: at(1)}, []int{}, false, true),
		Entry("all before the row that comes next", timeline.Query{Direction: timeline.Before, Cursor: at(11), Limit: 2}, []int{9, 10}, true, false),
		Entry("those just after a cursor", timeline.Query{Direction: timeline.After, Cursor: at(6), Limit: 2}, []int{7, 8}, true, true),
		Entry("all after a cursor", timeline.Query{Direction: timeline.After, Cursor: at(8)}, []int{9, 10}, true, false),
		Entry("all after 0, where every reader starts", timeline.Query{Direction: timeline.After, Cursor: at(0)}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, false, false),
		Entry("none after the last", timeline.Query{Direction: timeline.After, Cursor: at(10)}, []int{}, true, false),
	)

	It("goes through a whole history page by page, forward and back", func() {
		var forward, back []int
		for p := log.Fetch(timeline.Query{Direction: timeline.After, Cursor: at(0), Limit: 3}); ; {
			forward = append(forward, seqs(p)...)
			if !p.HasNewer {
				break
			}
			p = log.Fetch(timeline.Query{Direction: timeline.After, Cursor: at(forward[len(forward)-1]), Limit: 3})
		}
		for p := log.Fetch(timeline.Query{Limit: 3}); ; {
			back = append(seqs(p), back...)
			if !p.HasOlder {
				break
			}
			p = log.Fetch(timeline.Query{Direction: timeline.Before, Cursor: at(back[0]), Limit: 3})
		}
		Expect(forward).To(Equal([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}))
		Expect(back).To(Equal(forward))
	})

	DescribeTable("with a cursor of another history gives the tail and says reset:",
		func(d timeline.Direction) {
			p := log.Fetch(timeline.Query{Direction: d, Cursor: timeline.Cursor{Epoch: "epoch-1", Seq: 4}, Limit: 2})
			Expect(seqs(p)).To(Equal([]int{9, 10}))
			Expect(p.Reset).To(BeTrue())
			Expect(p.Gap).To(BeFalse())
			Expect(p.Epoch).To(Equal("epoch-2"))
			Expect(p.HasOlder).To(BeTrue())
		},
		Entry("before", timeline.Before), Entry("after", timeline.After),
	)

	DescribeTable("with a cursor that points past the end gives the tail and says gap:",
		func(d timeline.Direction, seq int) {
			p := log.Fetch(timeline.Query{Direction: d, Cursor: at(seq), Limit: 2})
			Expect(seqs(p)).To(Equal([]int{9, 10}))
			Expect(p.Reset).To(BeTrue())
			Expect(p.Gap).To(BeTrue())
		},
		Entry("after", timeline.After, 11),
		Entry("before", timeline.Before, 12),
		Entry("a number below 0", timeline.After, -1),
	)

	It("does not look at the cursor when it takes the tail", func() {
		p := log.Fetch(timeline.Query{Direction: timeline.Tail, Cursor: timeline.Cursor{Epoch: "epoch-1", Seq: 99}, Limit: 1})
		Expect(seqs(p)).To(Equal([]int{10}))
		Expect(p.Reset).To(BeFalse())
	})

	It("gives an empty page of an empty log", func() {
		Expect(timeline.NewLog("e").Fetch(timeline.Query{Limit: 5})).To(And(
			HaveField("Rows", BeEmpty()), HaveField("Epoch", "e"), HaveField("HasOlder", false), HaveField("HasNewer", false), HaveField("Reset", false)))
		Expect(timeline.NewLog("e").Fetch(timeline.Query{Direction: timeline.After, Cursor: timeline.Cursor{Epoch: "e"}}).Reset).To(BeFalse())
	})

	It("gives a page that stays as it is when more rows come", func() {
		p := log.Fetch(timeline.Query{Limit: 2})
		log.Append(noon, "turn-1", "", say("11"))
		Expect(seqs(p)).To(Equal([]int{9, 10}))
		Expect(append(p.Rows, timeline.Row{Seq: 99})).To(HaveLen(3)) // must not land in the log
		Expect(log.Rows()[10].Seq).To(Equal(11))
	})
})
