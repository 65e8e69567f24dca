package main

import (
	"encoding/json"
	"io"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/usagefake"
)

// told is what usage prints, apart from its order, which is that of keys.
type told struct {
	keys       []string
	quotas     []usagefake.Quota
	records    []usagefake.TokenRecord
	redeemed   []usagefake.Redemption
	complaints []string
}

func usage(args ...string) (t told) {
	GinkgoHelper()
	got := invoke(append([]string{"usage", "--now", "2026-07-01T14:00:00+02:00"}, args...)...)
	Expect(got).To(succeed())
	for _, text := range got.lines() {
		var line struct {
			Quota      *usagefake.Quota
			Record     *usagefake.TokenRecord
			Redemption *usagefake.Redemption
			Error      string
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		Expect(d.Decode(&line)).To(Succeed(), text)
		key, _, _ := strings.Cut(text, ":")
		t.keys = append(t.keys, strings.Trim(key, `{"`))
		switch {
		case line.Quota != nil:
			t.quotas = append(t.quotas, *line.Quota)
		case line.Record != nil:
			t.records = append(t.records, *line.Record)
		case line.Redemption != nil:
			t.redeemed = append(t.redeemed, *line.Redemption)
		default:
			t.complaints = append(t.complaints, line.Error)
		}
	}
	return t
}

var _ = Describe("fakeagent usage", func() {
	It("prints one read of the quota, and the records of fourteen days", func() {
		t := usage()
		Expect(t.keys[:2]).To(Equal([]string{"quota", "record"}))
		Expect(t.quotas).To(ConsistOf(And(BeWellFormed(), HaveQuotaWindow("session", UsedPercent(11)), HaveQuotaWindow("weekly", UsedPercent(21)))))
		Expect(t.records).To(And(BeWellFormed(), HaveDailyRecords(14)))
		Expect(t.records[13].Day).To(Equal("2026-07-01"))
		Expect(t.records[:2]).To(ConsistOf(BePriced(), BeUnpriced()))
	})

	It("reads as often as it is told to, and no quota at all with 0", func() {
		t := usage("--reads", "3")
		Expect(t.quotas).To(HaveLen(3))
		Expect(t.quotas[2]).To(HaveQuotaWindow("session", UsedPercent(13)))
		Expect(usage("--reads=0").keys).To(HaveEach("record"))
	})

	It("redeems each time with another key, and reads what came of it", func() {
		t := usage("--script", "rate-limited", "--redeem", "3")
		Expect(t.keys[:8]).To(Equal([]string{"quota", "redemption", "quota", "redemption", "quota", "redemption", "quota", "record"}))
		Expect(t.quotas[0]).To(And(BeRateLimited(), HaveResetCredits(2)))
		Expect(t.quotas[1]).To(And(Not(BeRateLimited()), HaveResetCredits(1), HaveQuotaWindow("session", UsedPercent(1))))
		Expect(t.redeemed).To(HaveExactElements(
			HaveField("Outcome", usagefake.Reset), HaveField("Outcome", usagefake.Reset), HaveField("Outcome", usagefake.NoCredit)))
	})

	It("prints an error as a line, and goes on", func() {
		t := usage("--script", "balance", "--redeem", "1")
		Expect(t.keys[:4]).To(Equal([]string{"quota", "error", "quota", "record"}))
		Expect(t.complaints).To(ConsistOf("usagefake: the script balance has nothing to redeem; use available or rate-limited: unsupported"))
		Expect(t.quotas).To(HaveEach(HaveBalance("CNY", "86.42")))
	})

	It("knows each script", func() {
		Expect(usage("--script", "custom-endpoint").quotas).To(ConsistOf(BeUnsupported()))
		Expect(usage("--script", "signed-out").quotas).To(ConsistOf(BeSignedOut()))
	})

	It("prints the same bytes in two processes with one --now", func() {
		for _, script := range usagefake.Scripts() {
			var outputs []string
			for range 2 {
				cmd := exec.Command(binary, "usage", "--script", string(script), "--reads", "10", "--redeem", "3", "--now", "2026-07-01T12:00:00Z")
				out, err := cmd.Output()
				Expect(err).NotTo(HaveOccurred())
				outputs = append(outputs, string(out))
			}
			Expect(outputs[0]).To(Equal(outputs[1]))
			Expect(outputs[0]).To(HavePrefix(`{"quota":`))
		}
	})

	It("fails where nothing can be written", func() {
		r, w := io.Pipe()
		Expect(r.Close()).To(Succeed())
		var errs strings.Builder
		Expect(run(GinkgoT().Context(), []string{"usage"}, console{w, &errs, false})).To(Equal(1))
		Expect(errs.String()).To(Equal("fakeagent: the output could not be written: io: read/write on closed pipe\n"))
	})
})
