package playbook_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/playbook"
	"github.com/understudy-go/understudy/fakeagent/script"
)

var refusals = []refused{
	{"it is empty", "▸", "unexpected end of JSON input"},
	{"it is cut off", `{"version":1,"threads":[▸`, "unexpected end of JSON input"},
	{"it is no JSON", "{\n  \"version\": 1,\n  ▸}", "invalid character '}' looking for beginning of object key string"},
	{"it begins with a byte order mark", arrow + "\ufeff{}", "it begins with a byte order mark; save it as UTF-8 without one"},
	{"it is null", `▸null`, "must be an object with version and threads, is null"},
	{"it is an array", `▸[]`, "must be an object with version and threads, is []"},
	{"it has an unknown key", `{"version":1,▸"thread":[]}`, `thread: unknown key "thread", did you mean "threads"?`},
	{"it has an unknown key of two lines", `{"version":1,"threads":[],▸"a\nb":1}`, `a\nb: unknown key "a\nb", did you mean "threads"?`},
	{"it has a key twice", `{"version":1,▸"version":1,"threads":[]}`, `version: key "version" stands there twice`},
	{"it has no version", `▸{"threads":[]}`, "version is missing"},
	{"its version is one that is to come", `{"version":▸2,"threads":[]}`, "version must be 1, is 2"},
	{"its version is nothing", `{"version":▸0,"threads":[]}`, "version must be 1, is 0"},
	{"its version is a text", `{"version":▸"1","threads":[]}`, `version must be a whole number, is "1"`},
	{"its version is a fraction", `{"version":▸1.5,"threads":[]}`, "version must be a whole number, is 1.5"},
	{"its version is a placeholder", `{"version":▸"{{config.v}}","threads":[]}`, `version must be a whole number, is "{{config.v}}"`},
	{"it has no threads", `▸{"version":1}`, "threads is missing"},
	{"its threads are an object", `{"version":1,"threads":▸{}}`, "threads must be an array, is {}"},
	{"a line is a number", file(line(`"title":"a"`), `▸5`), "threads[1]: must be an object with match and turns, is 5"},
	{"a line has an unknown key", file(`{"match":{"title":"a"},▸"turn":[]}`), `threads[0].turn: unknown key "turn", did you mean "turns"?`},
	{"a line has no match", file(`▸{"turns":[]}`), "threads[0]: match is missing"},
	{"a line has no turns", file(`▸{"match":{"title":"a"}}`), "threads[0]: turns is missing"},
	{"a match is a text", file(`{"match":▸"worker","turns":[]}`), `threads[0].match: must be an object, is "worker"`},
	{"a match says nothing", file(line(`"title":"a"`), `{"match":▸{},"turns":[]}`), "threads[1].match: needs threadId or title"},
	{"a match has an unknown key", file(line(`▸"threadID":"a"`)), `threads[0].match.threadID: unknown key "threadID", did you mean "threadId"?`},
	{"an id is empty, which all contain", file(line(`"threadId":▸""`)), "threads[0].match.threadId must not be empty"},
	{"an id is a number", file(line(`"threadId":▸7`)), "threads[0].match.threadId must be a string, is 7"},
	{"a title is empty, which all contain", file(line(`"threadId":"a","title":▸""`)), "threads[0].match.title must not be empty"},
	{"a title is null", file(line(`"title":▸null`)), "threads[0].match.title must be a string, is null"},
	{"an id does not compile", file(line(`"threadId":▸"worker("`)), "threads[0].match.threadId does not compile: missing closing ): `worker(`"},
	{"an id is of two lines, too", file(line(`"threadId":▸"a\n(b"`)), "threads[0].match.threadId does not compile: missing closing ): `a\\n(b`"},
	{"turns are an object", file(`{"match":{"title":"a"},"turns":▸{}}`), "threads[0].turns must be an array, is {}"},
	{"a batch is a step", lead(`[]`, `▸{"tool":"t"}`), `threads[0].turns[1]: a batch must be an array of steps, is {"tool":"t"}`},
	{"a step has no key", lead(`[{"say":"a"},▸{}]`), "threads[0].turns[0][1]: must be a call, with a tool, or a step with exactly one key; has none"},
	{"a step has two keys, and no tool", lead(`[▸{"say":"a","id":"b"}]`), `threads[0].turns[0][0]: must be a call, with a tool, or a step with exactly one key; has "say" and "id"`},
	{"a step is unknown", lead(`[{▸"tol":"t"}]`), `threads[0].turns[0][0].tol: unknown key "tol", did you mean "tool"?`},
	{"a step has an unknown key", lead(`[{"wait":{"tool":"t",▸"timeout":5}}]`), `threads[0].turns[0][0].wait.timeout: unknown key "timeout", did you mean "timeoutMs"?`},
	{"a step inside a step is wrong", lead(`[{"mcp":{"tool":"t","then":[{"say":"a"},{"write":{"path":▸"","content":"c"}}]}}]`), "threads[0].turns[0][0].mcp.then[1].write.path must not be empty"},
	{"a step inside of two steps is wrong", lead(`[{"approval":[{"title":"a"},{"title":"b","deny":[{"task":{"description":"d","steps":[{"sleep":▸-1}]}}]}]}]`), "threads[0].turns[0][0].approval[1].deny[0].task.steps[0].sleep: ms must be a whole number of milliseconds, 0 or more, is -1"},
	{"a call has an unknown key", lead(`[{"tool":"t",▸"argument":{}}]`), `threads[0].turns[0][0].argument: unknown key "argument", did you mean "arguments"?`},
	{"a call has no name for its tool", lead(`[{"tool":▸"","arguments":{}}]`), "threads[0].turns[0][0].tool must not be empty"},
	{"the arguments of a call are a list", lead(`[{"tool":"t","arguments":▸[]}]`), "threads[0].turns[0][0].arguments must be an object, is []"},
	{"the id of a call has a dot in it", lead(`[{"tool":"t","id":▸"a.b"}]`), `threads[0].turns[0][0].id must not hold a dot, a bracket, a brace or a star, is "a.b"`},
	{"an expected input is empty", lead(`[{"expectInput":▸""}]`), "threads[0].turns[0][0].expectInput: text must not be empty"},
	{"an expected input is in second place", lead(`[{"say":"a"},▸{"expectInput":"b"}]`), "threads[0].turns[0][1]: expectInput must come first, and not inside another step"},
	{"an expected input is inside a step", lead(`[{"task":{"description":"d","steps":[▸{"expectInput":"b"}]}}]`), "threads[0].turns[0][0].task.steps[0]: expectInput must come first, and not inside another step"},
	{"a steer is awaited, and not at last", lead(`[▸{"awaitSteer":true},{"say":"a"}]`), "threads[0].turns[0][0]: awaitSteer must come last, and not inside another step"},
	{"a steer is awaited, and there is none", lead(`[{"awaitSteer":▸false}]`), "threads[0].turns[0][0].awaitSteer: must be true, or an object, is false"},
	{"a steer is awaited for no time", lead(`[{"awaitSteer":{"timeoutMs":▸0}}]`), "threads[0].turns[0][0].awaitSteer.timeoutMs must be a whole number of milliseconds, 1 or more, is 0"},
}

var _ = Describe("A playbook", func() {
	const text = `{"version": 1, "threads": [
  {"match": {"threadId": "^worker:[^:]+$", "title": "Review"}, "turns": [
    [{"id": "list", "tool": "list_items"}, {"tool": "claim", "arguments": {"by": "me"}, "server": "board"}],
    []
  ]},
  {"match": {"title": "Lead"}, "turns": [[{"expectInput": "all done"}, {"say": "fine"}, {"awaitSteer": true}]]}
]}`

	It("has lines for threads, each of which has batches of calls and steps", func() {
		Expect(parse(text)).To(Equal(&playbook.Playbook{Lines: []playbook.Line{
			{Match: playbook.Match{ThreadID: regexp.MustCompile("^worker:[^:]+$"), Title: "Review"}, Batches: []playbook.Batch{
				{script.MCPStep{ID: "list", Tool: "list_items", Report: true}, script.MCPStep{Tool: "claim", Arguments: json.RawMessage(`{"by":"me"}`), Server: "board", Report: true}},
				{},
			}},
			{Match: playbook.Match{Title: "Lead"}, Batches: []playbook.Batch{
				{script.ExpectInputStep{Text: "all done"}, script.Say("fine"), script.AwaitSteerStep{}},
			}},
		}}))
	})

	It("may have no lines, and a line no batches", func() {
		Expect(parse(file())).To(Equal(&playbook.Playbook{}))
		Expect(parse(lead()).Lines[0].Batches).To(BeEmpty())
	})

	It("has placeholders in its steps, and nowhere else", func() {
		l := parse(file(line(`"title":"{{input}}"`, `[{"expectInput":"{{input}}"},{"tool":"t","arguments":{"text":"{{input}}"}}]`))).Lines[0]
		Expect(l.Match.Title).To(Equal("{{input}}"))
		Expect(l.Batches[0]).To(HaveExactElements(Equal(script.ExpectInputStep{Text: "{{input}}"}), BeAssignableToTypeOf(script.TemplateStep{})))
	})

	Context("is refused, with what is wrong and where, if", func() {
		for _, r := range refusals {
			It(r.because, func() {
				_, err := playbook.Parse([]byte(r.text()))
				e := refusal(err)
				Expect(e.Reason).To(Equal(r.reason))
				r.expectPlace(e)
			})
		}
	})

	It("is refused if it is too long", func() {
		_, err := playbook.Parse([]byte(file() + strings.Repeat(" ", script.MaxObject)))
		Expect(err).To(MatchError(fmt.Sprintf("it is %d bytes long; the limit is %d", len(file())+script.MaxObject, script.MaxObject)))
	})

	DescribeTable("says which part of an expression belongs to another dialect:",
		func(expr, part, has string) {
			_, err := playbook.Parse([]byte(file(line(fmt.Sprintf(`"threadId":%q`, expr)))))
			Expect(err).To(MatchError(And(
				HavePrefix("threads[0].match.threadId does not compile: "), ContainSubstring(": `"+part+"`; "), HaveSuffix("; the syntax is that of Go (RE2), which has no "+has))))
		},
		Entry("an expression before others", `^(?=worker)`, `(?=`, "look-ahead"),
		Entry("one that must not match", `^(?!worker)`, `(?!`, "look-ahead"),
		Entry("an expression behind others", `(?<=worker):1`, `(?<=worker):1`, "look-behind"),
		Entry("one that must not stand behind", `(?<!worker):1`, `(?<!worker):1`, "look-behind"),
		Entry("one that is never closed", `(?<!worker`, `(?<!worker`, "look-behind"),
		Entry("a group that is repeated", `(a)\1`, `\1`, "back references"),
		Entry("a named group that is repeated", `(?<n>a)\k<n>`, `\k`, "back references"),
		Entry("a named group that is repeated, as in Python", `(?P<n>a)(?P=n)`, `(?P`, "back references"),
		Entry("a group that gives nothing back", `(?>a*)a`, `(?>`, "atomic groups"),
		Entry("a star that gives nothing back", `a*+`, `*+`, "possessive quantifiers"),
		Entry("a plus that gives nothing back", `a++`, `++`, "possessive quantifiers"),
		Entry("a question mark that gives nothing back", `a?+`, `?+`, "possessive quantifiers"),
		Entry("a count that gives nothing back", `a{2,3}+`, `{2,3}+`, "possessive quantifiers"),
		Entry("a condition", `(a)?(?(1)b|c)`, `(?(`, "conditions"),
		Entry("the expression in itself", `a(?R)?b`, `(?R`, "recursion"),
		Entry("a named group in itself", `(?P<n>a(?P>n)?b)`, `(?P`, "recursion"),
		Entry("groups of one number", `(?|(a)|(b))`, `(?|`, "branch reset"),
		Entry("a comment", `a(?#b)`, `(?#`, "comments"),
		Entry("a code point", `\u0041`, `\u`, `\u; write \x{…}`),
		Entry("a code point in a class", `[\u0041]`, `\u`, `\u; write \x{…}`),
		Entry("the end, before a line's", `a\Z`, `\Z`, `\Z; write \z`),
		Entry("the first of two", `a++(?=b)`, `++`, "possessive quantifiers"),
		Entry("the first of two that begin alike", `(?P=n)(?P>n)`, `(?P`, "back references"),
		Entry("one before a class with the same in it", `(\1)[\1]`, `\1`, "back references"),
		Entry("one behind a class with the same in it", `[(?<=a)](?<=a)`, `(?<=a)`, "look-behind"),
		Entry("one behind the same with a backslash", `\\1(a)\1`, `\1`, "back references"),
	)

	DescribeTable("says nothing of other dialects about an expression that is wrong for another reason:",
		func(expr, why string) {
			_, err := playbook.Parse([]byte(file(line(fmt.Sprintf(`"threadId":%q`, expr)))))
			Expect(err).To(MatchError("threads[0].match.threadId does not compile: " + why))
		},
		Entry("look-ahead in a class", `[(?=](`, "missing closing ): `[(?=](`"),
		Entry("look-ahead with a backslash", `\(?=(`, "missing closing ): `\\(?=(`"),
		Entry("a plus behind a plus with a backslash", `\++(`, "missing closing ): `\\++(`"),
		Entry("a digit with a backslash, which is a character in a class", `[\1]`, "invalid escape sequence: `\\1`"),
		Entry("the same behind a backslash with one", `\\1[\1]`, "invalid escape sequence: `\\1`"),
		Entry("stars that mean nothing to anybody", `a**`, "invalid nested repetition operator: `**`"),
		Entry("a quantifier that asks for little, and is repeated", `a*?+`, "invalid nested repetition operator: `*?+`"),
		Entry("a range from behind", `[z-a]`, "invalid character class range: `z-a`"),
		Entry("a very long one", strings.Repeat("a", 1000)+"(?=", "invalid or unsupported Perl syntax: `(?=`"),
	)

	It("survives the way to JSON and back", func() {
		p := parse(text)
		Expect(json.Marshal(p)).To(MatchJSON(text))
		Expect(json.Marshal(*p)).To(MatchJSON(text), "as a value")
		var back playbook.Playbook
		Expect(json.Unmarshal([]byte(text), &back)).To(Succeed())
		Expect(&back).To(Equal(p))
		Expect(json.Unmarshal([]byte(`{"version":2}`), &back)).To(MatchError("version must be 1, is 2"))
		Expect(&back).To(Equal(p), "as it was before")
	})

	It("is written in the order of its language, with <, > and & as they are", func() {
		p := playbook.Playbook{Lines: []playbook.Line{{
			Match:   playbook.Match{Title: "<&>", ThreadID: regexp.MustCompile("<a>")},
			Batches: []playbook.Batch{{script.MCPStep{Tool: "t", Report: true}, script.MCPStep{Tool: "quiet"}}, nil},
		}}}
		Expect(p.MarshalJSON()).To(BeEquivalentTo(`{"version":1,"threads":[{"match":{"threadId":"<a>","title":"<&>"},"turns":[[{"tool":"t"},{"mcp":{"tool":"quiet"}}],[]]}]}`))
		Expect(new(playbook.Playbook).MarshalJSON()).To(BeEquivalentTo(`{"version":1,"threads":[]}`))
	})

	DescribeTable("that was made in Go cannot be written if it could not be read:",
		func(l playbook.Line, why string) {
			_, err := playbook.Playbook{Lines: []playbook.Line{{Match: playbook.Match{Title: "Lead"}}, l}}.MarshalJSON()
			Expect(refusal(err).Reason).To(Equal("threads[1]" + why))
		},
		Entry("a line for everybody", playbook.Line{}, ".match: needs threadId or title"),
		Entry("a title that is no text", playbook.Line{Match: playbook.Match{Title: "\xff"}}, `.match: title is not valid UTF-8, which JSON could not carry: "\xff"`),
		Entry("a step that says too little", playbook.Line{Match: playbook.Match{Title: "a"}, Batches: []playbook.Batch{{}, {script.Say("a"), script.Write("", "")}}}, ".turns[1][1]: (write): path must not be empty"),
		Entry("an expected input in second place", playbook.Line{Match: playbook.Match{Title: "a"}, Batches: []playbook.Batch{{script.Say("a"), script.ExpectInputStep{Text: "b"}}}}, ".turns[0][1]: expectInput must come first, and not inside another step"),
		Entry("no step at all", playbook.Line{Match: playbook.Match{Title: "a"}, Batches: []playbook.Batch{{nil}}}, ".turns[0][0]: must be the value of a step, is <nil>"),
	)
})
