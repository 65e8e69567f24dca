package script_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// lines makes a prompt readable: one string a line.
func lines(all ...string) string { return strings.Join(all, "\n") }

var _ = Describe("A prompt", func() {
	const body = `[{"say":"x"}]`
	said := script.New(script.Say("x"))

	DescribeTable("carries a script",
		func(prompt string) {
			s, ok, err := script.FromPrompt(prompt)
			Expect(err).NotTo(HaveOccurred())
			Expect(ok).To(BeTrue())
			Expect(s).To(Equal(said))
		},
		Entry("in a block fenced by backticks", lines("Please:", "", "```fake-agent", body, "```", "Thanks.")),
		Entry("in a block fenced by tildes", lines("~~~fake-agent", body, "~~~")),
		Entry("in a block with a longer fence", lines("`````fake-agent", body, "`````")),
		Entry("in a block that a longer fence closes", lines("```fake-agent", body, "`````", "more")),
		Entry("in a block that a fence with white space behind it closes", lines("```fake-agent", body, "``` \t", "more")),
		Entry("in a block whose closing fence is indented otherwise", lines("```fake-agent", body, "   ```", "more")),
		Entry("in a block that interrupts a paragraph", lines("do this", "```fake-agent", body, "```", "and that")),
		Entry("in a block with a space before its language", lines("``` fake-agent", body, "```")),
		Entry("in a block with more words behind its language", lines("```fake-agent title=one {x}", body, "```")),
		Entry("in a block with a tab behind its language", lines("```fake-agent\ttitle", body, "```")),
		Entry("in a block with backticks behind the language, where the fence is of tildes", lines("~~~fake-agent `x` ~~~", body, "~~~")),
		Entry("in an indented block", lines("   ```fake-agent", "   "+body, "   ```")),
		Entry("in a block that is never closed", lines("```fake-agent", body)),
		Entry("in a block that is never closed and ends with a line end", lines("```fake-agent", body, "")),
		Entry("in a block with Windows line ends", "Please:\r\n```fake-agent\r\n[\r\n{\"say\":\"x\"}]\r\n```\r\nThanks.\r\n"),
		Entry("in a block beside blocks of other languages", lines("```json", "{}", "```", "```fake-agent", body, "```", "```", "[]", "```")),
		Entry("in a block of more than one line, one of them empty", lines("```fake-agent", "[", "", `{"say":"x"}`, "]", "```")),
		Entry("in a block in a prompt that begins as JSON does", lines("[note] {x}", "```fake-agent", body, "```")),
		Entry("in a block behind four spaces that are no fence", lines("    ```", "```fake-agent", body, "```")),
		Entry("in a block behind backticks that are no fence", lines("```a`b", "```fake-agent", body, "```")),
		Entry("as a whole", body),
		Entry("as a whole, as an object", `{"steps":[{"say":"x"}]}`),
		Entry("as a whole with white space around it", "\n\t "+body+" \r\n\n"),
	)

	DescribeTable("carries none",
		func(prompt string) {
			s, ok, err := script.FromPrompt(prompt)
			Expect(err).NotTo(HaveOccurred())
			Expect(ok).To(BeFalse())
			Expect(s).To(BeZero())
		},
		Entry("if it is empty", ""),
		Entry("if it is white space", " \n\t"),
		Entry("if it is words", "fix the tests"),
		Entry("if JSON is not all of it", "run "+body),
		Entry("if it only speaks of the language", "write a ```fake-agent block"),
		Entry("if its block has no language", lines("```", body, "```")),
		Entry("if its block has another language", lines("```json", body, "```")),
		Entry("if its block's language only begins like it", lines("```fake-agents", body, "```")),
		Entry("if its block's language is in capitals", lines("```Fake-Agent", body, "```")),
		Entry("if the language is not the first word", lines("```json fake-agent", body, "```")),
		Entry("if the fence is too short", lines("``fake-agent", body, "``")),
		Entry("if the fence is indented by four spaces", lines("    ```fake-agent", "    "+body, "    ```")),
		Entry("if the fence is indented by a tab", lines("\t```fake-agent", "\t"+body, "\t```")),
		Entry("if the fence does not begin its line", lines("so: ```fake-agent", body, "```")),
		Entry("if there are backticks behind a fence of backticks", lines("```fake-agent `x`", body, "```")),
		Entry("if the block is text of a longer fence", lines("````markdown", "```fake-agent", body, "```", "````")),
		Entry("if the block is text of a fence of tildes", lines("~~~", "```fake-agent", body, "```", "~~~")),
		Entry("if the block is text of a block that is never closed", lines("```text", "not closed by this: ```", "```fake-agent", body)),
	)

	DescribeTable("takes what looks like a fence in its block for text",
		func(inner string) {
			_, ok, err := script.FromPrompt(lines("````fake-agent", "[", inner, "]", "````"))
			Expect(ok).To(BeTrue())
			e := refusal(err)
			Expect(e.Syntax).To(BeTrue(), "the block went on to a place that is no JSON")
			Expect([]int{e.Line, e.Column}).To(Equal([]int{2, 1 + strings.IndexAny(inner, "`~")}))
		},
		Entry("if it is shorter", "```"),
		Entry("if it is of the other kind", "~~~~"),
		Entry("if it is indented by four spaces", "    ````"),
		Entry("if it has words behind it", "````fake-agent"),
	)

	DescribeTable("has its block's lines moved left by the indentation of the fence, no further",
		func(line string, column int) {
			_, _, err := script.FromPrompt(lines("  ```fake-agent", "[", line, "  ```"))
			Expect(refusal(err).Column).To(Equal(column))
		},
		Entry("a line with less", " x", 1),
		Entry("a line with as much", "  x", 1),
		Entry("a line with more", "    x", 3),
	)

	It("must not have two blocks, closed or not, and whether they are equal or not", func() {
		for _, prompt := range []string{
			lines("```fake-agent", body, "```", "", "```fake-agent", body, "```"),
			lines("```fake-agent", body, "```", "~~~fake-agent", "broken"),
		} {
			_, ok, err := script.FromPrompt(prompt)
			Expect(ok).To(BeTrue())
			Expect(*refusal(err)).To(Equal(script.Error{Reason: "2 fenced blocks, expected 1"}))
		}
	})

	It("must carry a script that parses; the error counts from the script's own beginning", func() {
		_, ok, err := script.FromPrompt(lines("Please:", "```fake-agent", "[", `{"sya":"x"}]`, "```"))
		Expect(ok).To(BeTrue())
		Expect(*refusal(err)).To(Equal(script.Error{Reason: `step 1: unknown key "sya", did you mean "say"?`, Offset: 3, Line: 2, Column: 2}))

		_, ok, err = script.FromPrompt(" [ ] fix this, and that")
		Expect(ok).To(BeTrue(), "a bracket begins a script")
		Expect(err).To(MatchError("invalid character 'f' after top-level value (line 1, column 5)"))

		_, ok, err = script.FromPrompt("```fake-agent\n```")
		Expect(ok).To(BeTrue())
		Expect(err).To(MatchError("unexpected end of JSON input (line 1, column 1)"))
	})

	It("has no placeholders: double braces in its script are text", func() {
		s, _, err := script.FromPrompt(`[{"say":"{{input}}"}]`)
		Expect(err).NotTo(HaveOccurred())
		Expect(s).To(Equal(script.New(script.Say("{{input}}"))))
	})
})
