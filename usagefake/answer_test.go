package usagefake_test

import (
	"context"
	"errors"
	"math"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/bubble"
	"github.com/understudy-go/understudy/usagefake"
)

type quotaAnswers = []usagefake.Answer[usagefake.Quota]

var _ = Describe("A list of answers", func() {
	It("is what the first reads get, one each, and then the script begins", func(ctx SpecContext) {
		broken := errors.New("socket closed")
		s := fakeOf(usagefake.Config{Quotas: quotaAnswers{
			usagefake.Say(usagefake.Quota{Plan: "pro"}),
			{Fail: broken},
			{Malformed: "<html>"},
			{Lost: true},
			{},
		}})
		Expect(s.read()).To(Equal(usagefake.Quota{Status: usagefake.OK, Plan: "pro", AsOf: noon}), "a status of its own it need not say")
		_, err := s.ReadQuota(ctx)
		Expect(err).To(BeIdenticalTo(broken))
		_, err = s.ReadQuota(ctx)
		Expect(err).To(Equal(&usagefake.MalformedError{Body: "<html>"}))
		Expect(err).To(MatchError(`usagefake: the answer is malformed: "<html>"`))
		q, err := s.ReadQuota(ctx)
		Expect(q).To(BeZero())
		Expect(err).To(MatchError(usagefake.ErrLost))
		Expect(percents(s.read())).To(Equal([]float64{12, 22}), "of those before, only the one that was lost has moved the windows")
		Expect(percents(s.read())).To(Equal([]float64{13, 23}))
	})
	It("may have updates, which a host has to merge", func() {
		s := fakeOf(usagefake.Config{Quotas: quotaAnswers{{}, usagefake.Say(usagefake.Quota{Sparse: true, Windows: []usagefake.Window{{ID: "weekly", UsedPercent: 55}}})}})
		first := s.read()
		s.now = noon.Add(time.Minute)
		update := s.read()
		Expect(update).To(Equal(usagefake.Quota{Sparse: true, AsOf: s.now, Windows: []usagefake.Window{{ID: "weekly", UsedPercent: 55}}}), "it says no status for it")
		merged := first.Merge(update)
		Expect(percents(merged)).To(Equal([]float64{11, 55}))
		Expect(merged.Windows[1].ResetsAt).To(Equal(first.Windows[1].ResetsAt))
	})
	It("may say what no provider should, where nobody checks it", func() {
		s := fakeOf(usagefake.Config{Quotas: quotaAnswers{{Unchecked: true, Say: &usagefake.Quota{Windows: []usagefake.Window{
			{ID: "session", UsedPercent: math.Inf(1)}, {ID: "session", UsedPercent: -4}}}}}})
		Expect(percents(s.read())).To(Equal([]float64{math.Inf(1), -4}))
	})
	It("keeps when it was said", func() {
		s := fakeOf(usagefake.Config{Quotas: quotaAnswers{usagefake.Say(usagefake.Quota{AsOf: noon.Add(-time.Hour)})}})
		Expect(s.read().AsOf).To(Equal(noon.Add(-time.Hour)))
	})
	It("belongs to the fake: nobody changes it, before or after it was said", func() {
		said := usagefake.Quota{Windows: []usagefake.Window{{ID: "w", UsedPercent: 5}}, Balance: &usagefake.Balance{Currency: "USD"},
			Resets: &usagefake.ResetCredits{Available: 1, Credits: []usagefake.Credit{{ID: "c", Status: usagefake.CreditAvailable}}}}
		answers := quotaAnswers{usagefake.Say(said), usagefake.Say(said)}
		s := fakeOf(usagefake.Config{Quotas: answers})
		spoil := func(q usagefake.Quota) {
			q.Windows[0].UsedPercent = 99
			q.Balance.Currency = "EUR"
			q.Resets.Credits[0].Status = usagefake.CreditRedeemed
		}
		spoil(said)
		answers[1] = usagefake.Answer[usagefake.Quota]{Fail: usagefake.ErrSignedOut}
		for range 2 {
			q := s.read()
			Expect(q.GomegaString()).To(Equal("ok, as of 2026-07-01T12:00:00Z\n  w: 5%, reset time unknown\n" +
				"  balance: 0.00 USD (0.00 granted, 0.00 topped up)\n  reset credits: 1 (c available)"))
			spoil(q)
		}
	})
	It("of token usage and of redemptions belongs to the fake as well, and so do the traps", func(ctx SpecContext) {
		record := usagefake.TokenRecord{Day: "2026-07-01", At: noon, Model: "m"}
		records, done := []usagefake.TokenRecord{record}, usagefake.Redemption{Outcome: usagefake.NothingToReset}
		cfg := usagefake.Config{
			Traps:       []usagefake.Trap{usagefake.WeeklyOnly},
			Tokens:      []usagefake.Answer[[]usagefake.TokenRecord]{{Say: &records}, {Say: &records}, {Say: &records}},
			Redemptions: []usagefake.Answer[usagefake.Redemption]{{Say: &done}, {Say: &done}},
		}
		s := fakeOf(cfg)
		records[0].Model, done.Outcome = "spoilt", "spoilt"
		records, cfg.Traps[0] = nil, usagefake.SparseStatus
		cfg.Tokens[1], cfg.Redemptions[1] = usagefake.Answer[[]usagefake.TokenRecord]{Hang: true}, usagefake.Answer[usagefake.Redemption]{Hang: true}
		for range 3 {
			read := s.records()
			Expect(read).To(Equal([]usagefake.TokenRecord{record}))
			read[0].Model = "spoilt"
		}
		for range 2 {
			Expect(s.redeem("key-1")).To(Equal(usagefake.NothingToReset))
			Expect(ids(s.read())).To(Equal([]string{"weekly"}))
		}
	})
	It("of redemptions says nothingToReset, which no script does, and spends nothing", func(ctx SpecContext) {
		s := fakeOf(usagefake.Config{Redemptions: []usagefake.Answer[usagefake.Redemption]{
			usagefake.Say(usagefake.Redemption{Outcome: usagefake.NothingToReset, Warning: "already at 0"}), {Lost: true}, {Fail: usagefake.ErrSignedOut}}})
		r, err := s.RedeemQuotaReset(ctx, "key-1")
		Expect(err).NotTo(HaveOccurred())
		Expect(r.GomegaString()).To(Equal("nothingToReset, warning: already at 0"))
		Expect(s.Counts().Spent).To(BeZero())
		_, err = s.RedeemQuotaReset(ctx, "key-1")
		Expect(err).To(MatchError(usagefake.ErrLost))
		Expect(s.Counts().Spent).To(Equal(1), "the one whose answer was lost was carried out")
		_, err = s.RedeemQuotaReset(ctx, "key-1")
		Expect(err).To(MatchError(usagefake.ErrSignedOut))
		Expect(s.redeem("key-1")).To(Equal(usagefake.AlreadyRedeemed))
	})
	It("that loses an answer is no match for an error of the script", func(ctx SpecContext) {
		s := fakeOf(usagefake.Config{Script: usagefake.ScriptBalance, Redemptions: []usagefake.Answer[usagefake.Redemption]{{Lost: true}}})
		_, err := s.RedeemQuotaReset(ctx, "key-1")
		Expect(err).To(MatchError(usagefake.ErrUnsupported))
	})
	It("of token usage may be somebody's own records", func(ctx SpecContext) {
		own := []usagefake.TokenRecord{{Day: "2026-07-01", At: noon, Model: "m", Input: 5, CacheRead: 2, CacheWrite: 1, Output: 3, Reasoning: 3, Total: 8}}
		s := fakeOf(usagefake.Config{Tokens: []usagefake.Answer[[]usagefake.TokenRecord]{usagefake.Say(own), {Fail: errors.New("disk")}}})
		Expect(s.records()).To(Equal(own))
		_, err := s.ReadTokenUsage(ctx)
		Expect(err).To(MatchError("disk"))
		Expect(s.records()).To(HaveLen(14))
	})
})

var _ = Describe("A call that hangs", bubble.InBubble, func() {
	It("returns when its context is over, and holds up nobody else", func(ctx SpecContext) {
		f, err := usagefake.New(usagefake.Config{
			Quotas:      quotaAnswers{{Hang: true}},
			Tokens:      []usagefake.Answer[[]usagefake.TokenRecord]{{Hang: true}},
			Redemptions: []usagefake.Answer[usagefake.Redemption]{{Hang: true}},
		})
		Expect(err).NotTo(HaveOccurred())
		began := time.Now()
		limited, cancel := context.WithTimeoutCause(ctx, time.Hour, errors.New("enough"))
		defer cancel()
		failed := make(chan error, 3)
		go func() { _, err := f.ReadQuota(limited); failed <- err }()
		go func() { _, err := f.ReadTokenUsage(limited); failed <- err }()
		go func() { _, err := f.RedeemQuotaReset(limited, "key-1"); failed <- err }()
		time.Sleep(time.Minute)
		q, err := f.ReadQuota(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(percents(q)).To(Equal([]float64{11, 21}), "what hangs has moved nothing")
		Expect([]string{(<-failed).Error(), (<-failed).Error(), (<-failed).Error()}).To(ConsistOf(
			"usagefake: ReadQuota hung until its context was over: enough",
			"usagefake: ReadTokenUsage hung until its context was over: enough",
			"usagefake: RedeemQuotaReset hung until its context was over: enough"))
		Expect(time.Since(began)).To(Equal(time.Hour))
		Expect(f.Counts()).To(Equal(usagefake.Counts{QuotaReads: 2, TokenReads: 1, Redemptions: 1}))
	})
})
