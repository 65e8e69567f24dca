package playbook_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/playbook"
	"github.com/understudy-go/understudy/fakeagent/script"
)

// reasons are what Lint says of a playbook.
func reasons(text string) (all []string) {
	for _, e := range playbook.Lint([]byte(text)) {
		all = append(all, e.Reason)
	}
	return all
}

// slips are playbooks that can be read, in which Lint finds one thing.
var slips = []refused{
	{"an id has a beginning behind something", file(line(`"threadId":▸"a^b"`)), `threads[0].match.threadId: no thread gets this line: it matches no id; ^ and \A stand for the beginning of an id, $ and \z for its end`},
	{"an id has something behind its end", file(line(`"title":"x"`), line(`"title":"x","threadId":▸"$x|y\\zz+|$\\Bx"`)), `threads[1].match.threadId: no thread gets this line: it matches no id; ^ and \A stand for the beginning of an id, $ and \z for its end`},
	{"an id has a character that is none", file(line(`"threadId":▸"a[^\\x00-\\x{10FFFF}]|b[^\\s\\S]"`)), `threads[0].match.threadId: no thread gets this line: it matches no id`},
	{"an id is that of an earlier line", file(line(`"threadId":"^a$"`), line(`"title":"x"`), line(`"threadId":▸"^a$"`)), `threads[2].match.threadId: no thread gets this line: it is for "a" alone, which gets threads[0] before it`},
	{"an id is that of an earlier line in other words", file(line(`"threadId":"^worker\\.1$"`), line(`"threadId":▸"\\Aworker[.]1\\z"`)), `threads[1].match.threadId: no thread gets this line: it is for "worker.1" alone, which gets threads[0] before it`},
	{"an id is that of an earlier line for any title", file(line(`"threadId":"^a$"`), line(`"title":"Lead","threadId":▸"^a$"`)), `threads[1].match.threadId: no thread gets this line: it is for "a" alone, which gets threads[0] before it`},
	{"an id is that of an earlier line for more titles", file(line(`"threadId":"^a$","title":"x"`), line(`"threadId":"^a$","title":"ea"`), line(`"title":"Lead","threadId":▸"^a$"`)), `threads[2].match.threadId: no thread gets this line: it is for "a" alone, which gets threads[1] before it`},

	{"no step has an id", lead(`[{"tool":"t","id":"other"},{"tool":"t","arguments":{"a":▸"{{step:list.items.0}}"}}]`), `threads[0].turns[0][1].arguments.a: has {{step:list.items.0}}, but no step has the id "list"`},
	{"no step has an id, but one has a similar one", lead(`[{"tool":"t","id":"last"},{"tool":"t","id":"list"}]`, `[{"say":▸"{{step:lists}}"}]`), `threads[0].turns[1][0].say: has {{step:lists}}, but no step has the id "lists", did you mean "list"?`},
	{"no step has an id, and a similar one comes later", lead(`[{"say":▸"{{step:lists}}"},{"tool":"t","id":"list"}]`), `threads[0].turns[0][0].say: has {{step:lists}}, but no step has the id "lists"`},
	{"no step has an id, and all words of one letter are similar", lead(`[{"tool":"t","id":"a"},{"say":▸"{{step:b}}"}]`), `threads[0].turns[0][1].say: has {{step:b}}, but no step has the id "b"`},
	{"the step with an id is in another line", file(line(`"title":"x"`, `[{"tool":"t","id":"list"}]`), line(`"title":"y"`, `[{"say":▸"{{step:list}}"}]`)), `threads[1].turns[0][0].say: has {{step:list}}, but no step has the id "list"`},
	{"the step with an id comes later in a batch", lead(`[{"say":▸"{{step:list}}"},{"tool":"t","id":"list"}]`), `threads[0].turns[0][0].say: has {{step:list}}, but no step with the id "list" comes before it`},
	{"the step with an id comes in a later batch", lead(`[{"expectInput":"x"}]`, `[{"say":▸"{{step:list}}"}]`, `[{"tool":"t","id":"list"}]`), `threads[0].turns[1][0].say: has {{step:list}}, but no step with the id "list" comes before it`},
	{"the step with an id is in a later batch that expects an input, and so does none before it", lead(`[{"say":▸"{{step:list}}"}]`, `[{"expectInput":"x"},{"tool":"t","id":"list"}]`), `threads[0].turns[0][0].say: has {{step:list}}, but no step with the id "list" comes before it`},
	{"a call uses its own result", lead(`[{"tool":"t","id":"list","arguments":{"a":[{"b":▸"{{step:list}}"}]}}]`), `threads[0].turns[0][0].arguments.a[0].b: has {{step:list}}, but the result of a call is not known before the call`},
	{"a wait uses its own result", lead(`[{"waitFor":{"tool":"t","id":"list","path":▸"{{step:list}}","atLeast":1}}]`), `threads[0].turns[0][0].waitFor.path: has {{step:list}}, but the result of a call is not known before the call`},
	{"a step needs any call, and there is none", lead(`[{"waitFor":{"tool":"t","id":"list","path":"","atLeast":1}},{"tool":"t","arguments":{"a":▸"{{step:*items}}"}}]`), `threads[0].turns[0][1].arguments.a: has {{step:*items}}, but no call comes before it`},
	{"a step needs any call before all calls", lead(`[{"say":▸"{{step:*[a=b].c}}"},{"tool":"t"}]`), `threads[0].turns[0][0].say: has {{step:*[a=b].c}}, but no call comes before it`},
	{"a step inside a step needs a later one", lead(`[{"task":{"description":"d","steps":[{"say":▸"{{step:a}}"}]}},{"tool":"t","id":"a"}]`), `threads[0].turns[0][0].task.steps[0].say: has {{step:a}}, but no step with the id "a" comes before it`},
	{"a step needs what is inside of it", lead(`[{"task":{"description":▸"{{step:a}}","steps":[{"mcp":{"tool":"t","id":"a"}}]}}]`), `threads[0].turns[0][0].task.description: has {{step:a}}, but no step with the id "a" comes before it`},
	{"one of several approvals needs a later step", lead(`[{"approval":[{"title":"x"},{"title":▸"{{step:a}}","allow":[{"mcp":{"tool":"t","id":"a"}}]}]}]`), `threads[0].turns[0][0].approval[1].title: has {{step:a}}, but no step with the id "a" comes before it`},
	{"an id has no letters", lead(`[{"tool":"t","id":"a"},{"say":▸"{{step:.b}}"}]`), `threads[0].turns[0][1].say: has {{step:.b}}, but no step has the id ""`},
	{"a placeholder has two lines", lead(`[{"say":▸"{{step:a\nb}}"}]`), `threads[0].turns[0][0].say: has {{step:a\nb}}, but no step has the id "a\nb"`},
	{"a placeholder is long", lead(`[{"say":▸"{{step:` + strings.Repeat("é", 99) + `}}"}]`), `threads[0].turns[0][0].say: has {{step:` + strings.Repeat("é", 55) + `…}}, but no step has the id "` + strings.Repeat("é", 60) + `…"`},
	{"the name of a member has two lines", lead(`[{"tool":"t","arguments":{"a\nb":▸"{{step:a}}"}}]`), `threads[0].turns[0][0].arguments.a\nb: has {{step:a}}, but no step has the id "a"`},
	{"the first of two members of one name is wrong", lead(`[{"tool":"t","arguments":{"a":▸"{{step:a}}","a":""}}]`), `threads[0].turns[0][0].arguments.a: has {{step:a}}, but no step has the id "a"`},

	{"letters are left out", lead(`[{"tool":"t","arguments":{"a":▸"for {{thrd}}"}}]`), "threads[0].turns[0][0].arguments.a: has {{thrd}}, which is text and no placeholder, did you mean {{thread}}?"},
	{"letters have changed places", lead(`[{"mcp":{"tool":"t","arguments":{"a":["{",▸"{{{inptu}}}"]}}}]`), "threads[0].turns[0][0].mcp.arguments.a[1]: has {{inptu}}, which is text and no placeholder, did you mean {{input}}?"},
	{"a letter is a capital", lead(`[{"waitFor":{"tool":"t","path":"a","atLeast":1,"arguments":{"a":▸"{{Error}}"}}}]`), "threads[0].turns[0][0].waitFor.arguments.a: has {{Error}}, which is text and no placeholder, did you mean {{error}}?"},
	{"there is one letter too many", lead(`[{"tool":"t","arguments":{"a":▸"{{steer}}"}}]`), "threads[0].turns[0][0].arguments.a: has {{steer}}, which is text and no placeholder, did you mean {{steers}}?"},
	{"there are spaces", lead(`[{"tool":"t","arguments":{"a":▸"{{    model   }}"}}]`), "threads[0].turns[0][0].arguments.a: has {{    model   }}, which is text and no placeholder, did you mean {{model}}?"},
	{"there are spaces around a step", lead(`[{"tool":"t","arguments":{"a":▸"{{ step:list.id }}"}}]`), "threads[0].turns[0][0].arguments.a: has {{ step:list.id }}, which is text and no placeholder, did you mean {{step:list.id}}?"},
	{"a word is another that stands before a colon", lead(`[{"tool":"t","arguments":{"a":▸"{{setp:list.id}}"}}]`), "threads[0].turns[0][0].arguments.a: has {{setp:list.id}}, which is text and no placeholder, did you mean {{step:list.id}}?"},
	{"a word with a colon is as near to one without", lead(`[{"tool":"t","arguments":{"a":▸"{{steps:list.id}}"}}]`), "threads[0].turns[0][0].arguments.a: has {{steps:list.id}}, which is text and no placeholder, did you mean {{step:list.id}}?"},
	{"a dot stands for the colon", lead(`[{"tool":"t","arguments":{"a":▸"{{step.list.id}}"}}]`), "threads[0].turns[0][0].arguments.a: has {{step.list.id}}, which is text and no placeholder, did you mean {{step:list.id}}?"},
	{"a colon stands for the dot", lead(`[{"tool":"t","arguments":{"a":▸"{{config:holdMs}}"}}]`), "threads[0].turns[0][0].arguments.a: has {{config:holdMs}}, which is text and no placeholder, did you mean {{config.holdMs}}?"},
	{"a key of the configuration has a slip before it", lead(`[{"tool":"t","arguments":{"a":▸"{{conf.holdMs}}"}}]`), "threads[0].turns[0][0].arguments.a: has {{conf.holdMs}}, which is text and no placeholder, did you mean {{config.holdMs}}?"},
	{"a step has no name", lead(`[{"tool":"t","arguments":{"a":▸"{{step:}}"}}]`), "threads[0].turns[0][0].arguments.a: has {{step:}}, which is text and no placeholder, did you mean {{step:…}}?"},
	{"a configuration has no key", lead(`[{"tool":"t","arguments":{"a":▸"{{config}}"}}]`), "threads[0].turns[0][0].arguments.a: has {{config}}, which is text and no placeholder, did you mean {{config.…}}?"},
	{"the id of a step stands alone", lead(`[{"id":"list","tool":"l"},{"tool":"t","arguments":{"a":▸"{{list.items.0.id}}"}}]`), "threads[0].turns[0][1].arguments.a: has {{list.items.0.id}}, which is text and no placeholder, did you mean {{step:list.items.0.id}}?"},
	{"a word has a part that it cannot have", lead(`[{"tool":"t","arguments":{"a":▸"{{answers.name}}"}}]`), "threads[0].turns[0][0].arguments.a: has {{answers.name}}, which is text and no placeholder, did you mean {{answers}}?"},
}

var _ = Describe("Lint", func() {
	Context("says what nobody can mean, if", func() {
		for _, r := range slips {
			It(r.because, func() {
				Expect(parse(r.text())).NotTo(BeNil())
				found := playbook.Lint([]byte(r.text()))
				Expect(found).To(HaveLen(1))
				Expect(found[0].Reason).To(Equal(r.reason))
				r.expectPlace(found[0])
			})
		}
	})

	It("says why a file cannot be read, and nothing else", func() {
		for _, r := range refusals {
			_, err := playbook.Parse([]byte(r.text()))
			Expect(playbook.Lint([]byte(r.text()))).To(Equal([]*script.Error{refusal(err)}), r.because)
		}
	})

	It("says all that it finds, in the order in which it stands there", func() {
		text := `{"version": 1, "threads": [
  {"turns": [[{"tool": "t", "arguments": {"a": "{{step:x}} {{step:y}} {{inptu}}", "b": "{{step:x}}"}}],
    [{"say": "{{step:x}}"}]], "match": {"threadId": "$x"}},
  {"match": {"threadId": "^a$"}, "turns": [[{"tool": "t", "arguments": {"a": "{{thraed}}"}}]]},

  {"match": {"threadId": "^a$"}, "turns": []}
]}`
		var found []string
		for _, e := range playbook.Lint([]byte(text)) {
			where, _, _ := strings.Cut(e.Reason, ": ")
			_, has, _ := strings.Cut(e.Reason, " has ")
			has, _, _ = strings.Cut(has, ",")
			found = append(found, fmt.Sprintf("%d:%d %s %s", e.Line, e.Column, where, has))
		}
		Expect(found).To(HaveExactElements(
			"2:48 threads[0].turns[0][0].arguments.a {{step:x}}",
			"2:48 threads[0].turns[0][0].arguments.a {{step:y}}",
			"2:48 threads[0].turns[0][0].arguments.a {{inptu}}",
			"2:88 threads[0].turns[0][0].arguments.b {{step:x}}",
			"3:14 threads[0].turns[1][0].say {{step:x}}",
			"3:53 threads[0].match.threadId ",
			"4:78 threads[1].turns[0][0].arguments.a {{thraed}}",
			"6:26 threads[2].match.threadId ",
		))
	})

	DescribeTable("says nothing of a line that a thread may get:",
		func(lines ...string) { Expect(reasons(file(lines...))).To(BeEmpty()) },
		Entry("one for the beginning of an id", line(`"threadId":"^a"`)),
		Entry("one for its end", line(`"threadId":"a$"`)),
		Entry("one for the beginning, behind what may be nothing", line(`"threadId":"a*^b"`)),
		Entry("one for the end, before what may be nothing", line(`"threadId":"a$b?"`)),
		Entry("one for the beginning, twice", line(`"threadId":"^^a$$"`)),
		Entry("one for the beginning in one case of two", line(`"threadId":"b(^a|c)"`)),
		Entry("one for the beginning of a line", line(`"threadId":"(?m)a\n^b"`)),
		Entry("one for the end of a line", line(`"threadId":"(?m)a$\nb"`)),
		Entry("one that does not begin a word", line(`"threadId":"\\Ba\\b"`)),
		Entry("one for nothing", line(`"threadId":"^$"`)),
		Entry("one for a character that is no other", line(`"threadId":"[^a][^\\x00-\\x{10FFFE}]"`)),
		Entry("one whose title alone is that of an earlier line", line(`"title":"a"`), line(`"title":"a"`)),
		Entry("one for the same ids, of which there may be many", line(`"threadId":"^a"`), line(`"threadId":"^a"`)),
		Entry("one for the same ids, in all letters", line(`"threadId":"(?i)^a$"`), line(`"threadId":"(?i)^a$"`)),
		Entry("one for the same line of an id", line(`"threadId":"(?m)^a$"`), line(`"threadId":"(?m)^a$"`)),
		Entry("one for the same of two ids", line(`"threadId":"^a[bc]$"`), line(`"threadId":"^a[bc]$"`)),
		Entry("one for the same id, which is any that is no text", line(`"threadId":"^\\x{FFFD}$"`), line(`"threadId":"^\\x{FFFD}$"`)),
		Entry("one for another id", line(`"threadId":"^a$"`), line(`"threadId":"^b$"`)),
		Entry("one for the same id with another title", line(`"threadId":"^a$","title":"Lead"`), line(`"threadId":"^a$","title":"lead"`)),
		Entry("one for the same id with more titles", line(`"threadId":"^a$","title":"Lead"`), line(`"threadId":"^a$","title":"Le"`)),
		Entry("one for the same id with any title", line(`"threadId":"^a$","title":"Lead"`), line(`"threadId":"^a$"`)),
		Entry("one before the one that is for the same id", line(`"threadId":"^a$","title":"Lead"`), line(`"threadId":"a"`)),
	)

	DescribeTable("says nothing of a placeholder that may be filled:",
		func(batches ...string) { Expect(reasons(lead(batches...))).To(BeEmpty()) },
		Entry("by a step before it", `[{"tool":"t","id":"a"},{"say":"{{step:a.b}}"}]`),
		Entry("by a wait before it", `[{"waitFor":{"tool":"t","id":"a","path":"","atLeast":1}},{"tool":"t","arguments":{"b":"{{step:a}}"}}]`),
		Entry("by a step of an earlier batch", `[{"tool":"t","id":"a"}]`, `[]`, `[{"say":"{{step:a[b=c.d].e}}"}]`),
		Entry("by a step of an earlier batch that expects an input", `[{"expectInput":"x"},{"tool":"t","id":"a"}]`, `[{"say":"{{step:a}}"}]`),
		Entry("by a step of a later batch, which an input may pick before", `[{"expectInput":"x"},{"say":"{{step:a}}"}]`, `[]`, `[{"expectInput":"y"},{"tool":"t","id":"a"}]`),
		Entry("by a step of a later batch, while an earlier one waits for its input", `[{"expectInput":"x"}]`, `[{"say":"{{step:a}}"}]`, `[{"expectInput":"y"},{"tool":"t","id":"a"}]`),
		Entry("by a call of the same id that comes before it", `[{"tool":"t","id":"a"},{"tool":"t","id":"a","arguments":{"b":"{{step:a}}"}}]`),
		Entry("by the call that it follows", `[{"mcp":{"tool":"t","id":"a","then":[{"say":"{{step:a}}"}],"else":[{"say":"{{step:a}}"}]}}]`),
		Entry("by a step inside an earlier one", `[{"task":{"description":"d","steps":[{"mcp":{"tool":"t","id":"a"}}]}},{"say":"{{step:a}}"}]`),
		Entry("by a step inside one of several approvals", `[{"approval":[{"title":"x"},{"title":"y","deny":[{"mcp":{"tool":"t","id":"a"}}]}]},{"say":"{{step:a}}"}]`),
		Entry("by a step that follows a call inside an approval", `[{"approval":{"title":"x","allow":[{"mcp":{"tool":"t","then":[{"mcp":{"tool":"t","id":"a"}}]}},{"say":"{{step:a}}"}]}}]`),
		Entry("by a step whose id is a placeholder", `[{"tool":"t","id":"{{config.id}}"},{"say":"{{step:a}}"}]`),
		Entry("by any call", `[{"tool":"t"},{"say":"{{step:*items}} {{step:*.items}} {{step:*}}"}]`),
		Entry("by any call of an earlier batch", `[{"mcp":{"tool":"t"}}]`, `[{"say":"{{step:*items}}"}]`),
		Entry("by any call of a later batch, which an input may pick before", `[{"expectInput":"x"},{"say":"{{step:*items}}"}]`, `[{"expectInput":"y"},{"tool":"t"}]`),
		Entry("by something else than a step", `[{"tool":"t","arguments":{"a":"{{input}}{{steers}}{{attachments}}{{thread}}{{model}}{{answers}}{{decision}}{{error}}{{markdown}}{{config.a b}}"}}]`),
	)

	DescribeTable("says nothing of a text that is no placeholder:",
		func(batches ...string) { Expect(reasons(lead(batches...))).To(BeEmpty()) },
		Entry("an input that is expected", `[{"expectInput":"{{step:a}} {{inptu}}"}]`),
		Entry("the name of a member", `[{"tool":"t","arguments":{"{{step:a}}":"","{{inptu}}":""}}]`),
		Entry("one that nobody closes", `[{"tool":"t","arguments":{"a":"{{step:a} }","b":"{{inptu"}}]`),
		Entry("one that nobody opens", `[{"tool":"t","arguments":{"a":"step:a}}","b":"{inptu}}"}}]`),
		Entry("a word that is like none", `[{"tool":"t","arguments":{"a":"{{name}} {{x}} {{}} {{ }} {{user.id}}"}}]`),
		Entry("a word that is like step, where step would mean nothing", `[{"tool":"t","arguments":{"a":"{{item}} {{item.name}} {{stop}}"}}]`),
		Entry("a slip in what is no argument of a call", `[{"say":"{{inptu}}"},{"tool":{"name":"T","input":{"a":"{{inptu}}"}}},{"event":{"type":"x","payload":{"arguments":{"a":"{{inptu}}"}}}}]`),
		Entry("a number, a flag and null", `[{"tool":"t","arguments":{"a":[1e999,true,null,{},[]]}}]`),
	)

	It("knows all placeholders that steps may have, and no others", func() {
		names := []string{"input", "steers", "attachments", "thread", "model", "answers", "decision", "error", "markdown", "config.a", "step:a", "config.", "config", "step:", "step", "input.", "Input", " input", ""}
		for _, name := range names {
			text := lead(fmt.Sprintf(`[{"tool":"t","id":"a"},{"tool":"t","arguments":{"a":"{{%s}}"}}]`, name))
			_, placeholder := parse(text).Lines[0].Batches[0][1].(script.TemplateStep)
			slip := len(playbook.Lint([]byte(text))) > 0
			Expect(slip).To(Equal(!placeholder && name != ""), "%q", name)
		}
	})

	It("looks at the steps inside of all steps that have some", func() {
		inside := []script.Step{script.Say("{{step:x}}")}
		for _, s := range []script.Step{
			script.TaskStep{Description: "d", Steps: inside}, script.MCPStep{Tool: "t", Then: inside}, script.MCPStep{Tool: "t", Else: inside},
			script.Ask(script.Approval{Title: "x", Allow: inside}), script.Ask(script.Approval{Title: "x"}, script.Approval{Title: "x", Deny: inside}),
		} {
			Expect(script.Branches(s)).To(ContainElement(inside))
			text, err := playbook.Playbook{Lines: []playbook.Line{{Match: playbook.Match{Title: "x"}, Batches: []playbook.Batch{{s}}}}}.MarshalJSON()
			Expect(err).NotTo(HaveOccurred())
			Expect(reasons(string(text))).To(HaveExactElements(HaveSuffix(`[0].say: has {{step:x}}, but no step has the id "x"`)), "%s", text)
		}
	})
})
