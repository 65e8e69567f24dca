package script_test

import (
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
)

var _ = Describe("An answer in Markdown", func() {
	It("has at least as many characters as were asked for, and not many more", func() {
		least := script.Characters(script.Markdown(0))
		for _, n := range []int{-1, 0, 1, 2, 300, least - 1, least, least + 1, 1000, 12345} {
			got := script.Characters(script.Markdown(n))
			Expect(got).To(BeNumerically(">=", n))
			Expect(got).To(BeNumerically("<", max(n, 0)+2*least), "for %d", n)
		}
	})

	It("is the same for the same number, and begins in the same way for every other", func() {
		Expect(script.Markdown(5000)).To(Equal(script.Markdown(5000)))
		Expect(script.Markdown(5000)).To(HavePrefix(strings.TrimSuffix(script.Markdown(1), "That is all.\n")))
	})

	It("has characters of one byte only, so that every chunk of it has some", func() {
		text := script.Markdown(3000)
		Expect(script.Characters(text)).To(Equal(len(text)))
	})

	It("has what a renderer must know: headings, emphasis, lists in lists, code, a table, a quote and a link, in each of its parts", func() {
		text := script.Markdown(2000)
		parts := len(regexp.MustCompile(`(?m)^## Part \d+$`).FindAllString(text, -1))
		Expect(parts).To(BeNumerically(">", 2))
		for _, what := range []string{`^# What was done$`, `^That is all\.$`} {
			Expect(regexp.MustCompile(`(?m)`+what).FindAllString(text, -1)).To(HaveLen(1), what)
		}
		for _, what := range []string{
			`\*\*part \d+\*\*`, `\*slowly\*`, "`value\\d+`", `\[the notes\]\(https://example\.com/\d+\)`, `^- first`, `^  1\. a test$`,
			"^```go\nfunc part\\d+\\(\\) int {\n\treturn \\d+\n}\n```$", `^\|---\|---:\|$`, `^> Nothing`,
		} {
			Expect(regexp.MustCompile(`(?m)`+what).FindAllString(text, -1)).To(HaveLen(parts), what)
		}
		Expect(text).NotTo(ContainSubstring("{n}"))
	})
})
