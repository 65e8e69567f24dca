package usagefake_test

import (
	"math"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/usagefake"
)

var _ = Describe("Token usage", func() {
	It("has fourteen records, one a day, the last of which is of today", func() {
		records := trapped(usagefake.ScriptAvailable).records()
		Expect(records).To(HaveLen(14))
		for i, r := range records {
			on := noon.AddDate(0, 0, i-13)
			Expect(r.Day).To(Equal(on.Format("2006-01-02")))
			Expect(r.At).To(Equal(on), "at noon")
		}
	})
	It("alternates, day by day, between a model with a price and one without", func() {
		for i, r := range trapped(usagefake.ScriptAvailable).records() {
			Expect(r.Priced).To(Equal(i%2 == 0))
			if r.Priced {
				Expect(r.Model).To(Equal(usagefake.PricedModel))
				Expect(r.CostUSD).To(BeNumerically(">", 0))
			} else {
				Expect(r.Model).To(Equal(usagefake.UnpricedModel))
				Expect(r.CostUSD).To(BeZero())
			}
		}
	})
	It("adds up, on each of a thousand days", func() {
		s := trapped(usagefake.ScriptAvailable)
		for range 1000 / 14 {
			s.now = s.now.AddDate(0, 0, 14)
			for _, r := range s.records() {
				Expect(r.Total).To(Equal(r.Input + r.Output))
				Expect(r.CacheRead).To(BeNumerically(">", 0))
				Expect(r.CacheWrite).To(BeNumerically(">", 0))
				Expect(r.CacheRead+r.CacheWrite).To(BeNumerically("<", r.Input), "they are in the input")
				Expect(r.Reasoning).To(And(BeNumerically(">", 0), BeNumerically("<", r.Output)), "it is in the output")
				Expect(r.Input).To(BeNumerically("<", 200_000), "from where on price lists have another price")
				if r.Priced {
					micros := r.CostUSD * 1e6
					want := float64(r.Input-r.CacheRead-r.CacheWrite)*3 + float64(r.Output)*15 + float64(r.CacheRead)*0.3 + float64(r.CacheWrite)*3.75
					Expect(micros).To(BeNumerically("~", want, 1e-6), "%s", r)
					Expect(r.CostUSD).To(Equal(math.Round(micros) / 1e6))
				}
			}
		}
	})
	It("has days that are not all alike", func() {
		totals := map[int64]bool{}
		for _, r := range trapped(usagefake.ScriptAvailable).records() {
			totals[r.Total] = true
		}
		Expect(totals).To(HaveLen(14))
	})
	It("does not change a day that is over, whenever it is read", func() {
		s := trapped(usagefake.ScriptAvailable)
		today := s.records()
		s.now = s.now.Add(25*time.Hour + 17*time.Minute)
		tomorrow := s.records()
		Expect(tomorrow[:13]).To(Equal(today[1:]))
		s.now = s.now.Add(-8*time.Hour - 17*time.Minute - 1) // and back, into the morning
		Expect(s.records()[:13]).To(Equal(tomorrow[:13]))
	})
	It("is never of the future: in the morning today's record is of now, to the millisecond", func() {
		s := trapped(usagefake.ScriptAvailable)
		s.now = noon.Add(-3*time.Hour + 1234567*time.Nanosecond)
		records := s.records()
		Expect(records[13].At).To(Equal(noon.Add(-3*time.Hour + time.Millisecond)))
		Expect(records[12].At).To(Equal(noon.AddDate(0, 0, -1)))
	})
	It("does not depend on the script, nor on reads before", func() {
		want := trapped(usagefake.ScriptAvailable).records()
		for _, script := range usagefake.Scripts() {
			s := trapped(script)
			s.read()
			s.records()
			Expect(s.records()).To(Equal(want))
		}
	})
	It("counts days in UTC", func() {
		s := trapped(usagefake.ScriptAvailable)
		s.now = time.Date(2026, 7, 2, 1, 30, 0, 0, time.FixedZone("east", 2*3600)) // 23:30 of the day before
		records := s.records()
		Expect(records[13].Day).To(Equal("2026-07-01"))
		Expect(records[13].At).To(Equal(noon))
	})
	It("is there before 1970 and at the end of February", func() {
		s := trapped(usagefake.ScriptAvailable)
		s.now = time.Date(1904, 3, 1, 0, 0, 0, 0, time.UTC)
		records := s.records()
		Expect(records[12].Day).To(Equal("1904-02-29"))
		Expect(records[12].Priced).NotTo(Equal(records[13].Priced))
	})
	It("gives each reader records of its own", func() {
		s := fakeOf(usagefake.Config{Tokens: []usagefake.Answer[[]usagefake.TokenRecord]{usagefake.Say(trapped("").records()), {}}})
		for range 2 {
			s.records()[0].Total = 0
		}
		Expect(s.records()[0].Total).NotTo(BeZero())
	})
})

var _ = Describe("The sum of records", func() {
	It("has every number of them, the costs to a billionth, and how many have no price", func() {
		Expect(usagefake.Sum(nil)).To(BeZero())
		r := usagefake.TokenRecord{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 4, Reasoning: 5, Total: 6}
		a, b := r, r
		a.Priced, a.CostUSD, b.Priced, b.CostUSD = true, 0.1, true, 0.2
		t := usagefake.Sum([]usagefake.TokenRecord{a, b, r})
		Expect(t).To(Equal(usagefake.Totals{Input: 3, CacheRead: 6, CacheWrite: 9, Output: 12, Reasoning: 15, Total: 18, CostUSD: 0.3, Unpriced: 1}))
		Expect(t.GomegaString()).To(Equal("input 3 (6 read from cache, 9 written), output 12 (15 reasoning), total 18, $0.3, and 1 unpriced"))
		Expect(usagefake.Sum([]usagefake.TokenRecord{a}).String()).To(HaveSuffix("total 6, $0.1"))
	})
})

var _ = Describe("A trap of token usage", func() {
	It("unpricedEndpoint has a vendor's model every day, and never a price", func() {
		records, plain := trapped(usagefake.ScriptCustomEndpoint, usagefake.UnpricedEndpoint).records(), trapped(usagefake.ScriptCustomEndpoint).records()
		for i, r := range records {
			Expect(r.Model).To(Equal(usagefake.PricedModel))
			Expect(r.Priced).To(BeFalse())
			Expect(r.CostUSD).To(BeZero())
			Expect(r.Total).To(Equal(plain[i].Total))
		}
	})
	It("zoneBorder has records at both ends of their days, which are other days in other zones", func() {
		records := trapped(usagefake.ScriptAvailable, usagefake.ZoneBorder).records()
		east, west := time.FixedZone("east", 3600), time.FixedZone("west", -3600)
		for i, r := range records {
			Expect(r.At.Format("2006-01-02")).To(Equal(r.Day))
			Expect(r.At.After(noon)).To(BeFalse(), "none is in the future")
			if i%2 == 1 {
				Expect(r.At.Format("15:04:05.000")).To(Equal("00:00:00.000"))
				Expect(r.At.In(west).Format("2006-01-02")).NotTo(Equal(r.Day))
			} else {
				Expect(r.At.Format("15:04:05.000")).To(Equal("23:59:59.999"))
				Expect(r.At.In(east).Format("2006-01-02")).NotTo(Equal(r.Day))
			}
		}
	})
	It("idleDay leaves out the day a week ago", func() {
		records := trapped(usagefake.ScriptAvailable, usagefake.IdleDay).records()
		plain := trapped(usagefake.ScriptAvailable).records()
		Expect(records).To(Equal(append(plain[:6:6], plain[7:]...)))
		Expect(plain[6].Day).To(Equal("2026-06-24"))
	})
})
