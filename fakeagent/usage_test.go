package fakeagent_test

import (
	"context"
	"fmt"
	"log"
	"maps"
	"regexp"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/usagefake"
)

var _ = Describe("An agent's usage", func() {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	account := func(script usagefake.Script) usagefake.Source {
		GinkgoHelper()
		return fakeagent.NewT(GinkgoT(), fakeagent.Config{UsageScript: script, Now: func() time.Time { return now }}).Usage()
	}

	It("is that of an account that has used little, unless the config says another script", func(ctx SpecContext) {
		Expect(account("").ReadQuota(ctx)).To(HaveQuotaWindow("session", UsedPercent(11), ResetsAt(now.Add(5*time.Hour))))
		for _, script := range usagefake.Scripts() {
			other, err := usagefake.New(usagefake.Config{Script: script, Now: func() time.Time { return now }})
			Expect(err).NotTo(HaveOccurred())
			Expect(account(script)).To(AnswerAlike(other), string(script))
		}
	})

	It("is one account, however often one asks for it, and its instance's own", func(ctx SpecContext) {
		a, b := fakeagent.NewT(GinkgoT(), fakeagent.Config{}), fakeagent.NewT(GinkgoT(), fakeagent.Config{})
		for n := 11.0; n < 14; n++ {
			Expect(a.Usage().ReadQuota(ctx)).To(HaveQuotaWindow("session", UsedPercent(n)))
		}
		Expect(b.Usage().ReadQuota(ctx)).To(HaveQuotaWindow("session", UsedPercent(11)))
	})

	It("is as of now where the config has no clock", func(ctx SpecContext) {
		q, err := fakeagent.NewT(GinkgoT(), fakeagent.Config{}).Usage().ReadQuota(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(q.AsOf).To(BeTemporally("~", time.Now(), time.Minute))
	})

	It("has no script that there is not", func() {
		_, err := fakeagent.New(fakeagent.Config{UsageScript: "balanced"})
		Expect(err).To(MatchError(`fakeagent: UsageScript: there is no script "balanced", did you mean "balance"? ` +
			`There are available, balance, rate-limited, custom-endpoint, signed-out`))
	})
})

var _ = Describe("The texts for keys", func() {
	It("are there in each language for every label and reason of a quota and every setting that users see, and for nothing else", func() {
		keys := usagefake.LocaleKeys()
		for _, m := range regexp.MustCompile(`"(?:label|description)": "(config\.[^"]+)"`).FindAllSubmatch(fakeagent.ConfigSchema(), -1) {
			keys = append(keys, string(m[1]))
		}
		slices.Sort(keys)
		for _, language := range []string{"en", "zh-CN"} {
			texts, err := fakeagent.Texts(language)
			Expect(err).NotTo(HaveOccurred())
			Expect(slices.Sorted(maps.Keys(texts))).To(Equal(keys), language)
			for key, text := range texts {
				Expect(text).NotTo(BeEmpty(), "%s in %s", key, language)
			}
		}
	})

	It("are not there in other languages", func() {
		for _, language := range []string{"fr", "", "../locales/en"} {
			_, err := fakeagent.Texts(language)
			Expect(err).To(MatchError(fmt.Sprintf(`fakeagent: there are no texts in %q; there are en and zh-CN`, language)))
		}
	})
})

// A label is a key, and the host has the words for it.
func ExampleTexts() {
	agent, err := fakeagent.New(fakeagent.Config{UsageScript: usagefake.ScriptBalance})
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()
	quota, _ := agent.Usage().ReadQuota(context.Background())
	for _, language := range []string{"en", "zh-CN"} {
		texts, err := fakeagent.Texts(language)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(texts[quota.Balance.Label], quota.Balance.Total, quota.Balance.Currency)
	}
	// Output:
	// Account balance 86.42 CNY
	// 账户余额 86.42 CNY
}
