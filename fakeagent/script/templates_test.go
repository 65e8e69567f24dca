package script_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// template is the only step of a file.
func template(step string) script.TemplateStep {
	GinkgoHelper()
	f := parseFile("[" + step + "]")
	Expect(f.Turns[0].Steps).To(HaveLen(1))
	Expect(f.Turns[0].Steps[0]).To(BeAssignableToTypeOf(script.TemplateStep{}))
	return f.Turns[0].Steps[0].(script.TemplateStep)
}

// values are the JSON of each placeholder; there are no others.
type values map[string]string

func (v values) get(name string) (script.Doc, error) {
	raw, ok := v[name]
	if !ok {
		return "", fmt.Errorf("%w {{%s}}", errUnresolved, name)
	}
	return script.NewDoc([]byte(raw))
}

var errUnresolved = errors.New("unresolved placeholder")

// filled is a step of a file with the value in place of {{config.v}}.
func filled(step, value string) (script.Step, error) {
	GinkgoHelper()
	return template(step).Fill(values{"config.v": value}.get)
}

var _ = Describe("A step of a file with placeholders", func() {
	It("waits for their values, and is filled when it starts", func() {
		s := template(`{"say":"you said: {{input}}"}`)
		Expect(s.Key()).To(Equal("say"))
		Expect(s.Fill(values{"input": `"hello"`}.get)).To(Equal(script.Say("you said: hello")))
		Expect(s.Fill(values{"input": `"bye"`}.get)).To(Equal(script.Say("you said: bye")), "the next time")
	})

	It("is a step of its kind from the beginning if it has none", func() {
		f := parseFile(`{"turns":[[{"say":"a"},{"say":"{{input}}"},{"tool":{"name":"T","input":{"a":["{{x}}"]}}}]]}`)
		Expect(f.Turns[0].Steps[0]).To(Equal(script.Say("a")))
		Expect(f.Turns[0].Steps[1]).To(BeAssignableToTypeOf(script.TemplateStep{}))
		Expect(f.Turns[0].Steps[2]).To(Equal(script.ToolStep{Name: "T", Input: json.RawMessage(`{"a":["{{x}}"]}`)}))
	})

	It("may stand in turns, in routes and in a file that is a script", func() {
		for _, text := range []string{`[{"say":"{{input}}"}]`, `{"steps":[{"say":"{{input}}"}]}`, `{"turns":[[{"say":"{{input}}"}]]}`, `{"routes":[{"steps":[{"say":"{{input}}"}]}]}`} {
			s, _, ok := parseFile(text).Pick(script.Request{Turn: 1}, nil)
			Expect(ok).To(BeTrue())
			Expect(s.Steps).To(HaveExactElements(BeAssignableToTypeOf(script.TemplateStep{})), text)
		}
	})

	DescribeTable("is text where it comes in a prompt or as a script by itself:",
		func(read func(string) (script.Script, error)) {
			Expect(read(`[{"say":"{{input}}"}]`)).To(Equal(script.New(script.Say("{{input}}"))))
			_, err := read(`[{"sleep":"{{config.v}}"}]`)
			Expect(err).To(MatchError("step 1 (sleep): " + milliseconds + `, or an object, is "{{config.v}}"`))
		},
		Entry("parsed", func(text string) (script.Script, error) { return script.Parse([]byte(text)) }),
		Entry("from JSON", func(text string) (s script.Script, err error) { return s, json.Unmarshal([]byte(text), &s) }),
		Entry("a prompt", func(text string) (script.Script, error) { s, _, err := script.FromPrompt(text); return s, err }),
		Entry("a block of a prompt", func(text string) (script.Script, error) {
			s, _, err := script.FromPrompt("```fake-agent\n" + text + "\n```")
			return s, err
		}),
	)

	DescribeTable("has a placeholder for",
		func(name string) {
			s := template(`{"say":"<{{` + name + `}}>"}`)
			Expect(s.Fill(values{name: `"x"`}.get)).To(Equal(script.Say("<x>")))
		},
		Entry("the prompt", "input"),
		Entry("steers", "steers"),
		Entry("attachments", "attachments"),
		Entry("the thread", "thread"),
		Entry("the model", "model"),
		Entry("answers", "answers"),
		Entry("a decision", "decision"),
		Entry("an error", "error"),
		Entry("what is configured", "config.replyText"),
		Entry("the result of a step", "step:first"),
		Entry("a part of the result of a step", "step:first.items[title=a.b].id"),
		Entry("a part of the result of any step", "step:*.items.0"),
		Entry("a part of the result of any step, right away", "step:*items[a={b}]"),
	)

	DescribeTable("has text that only looks like a placeholder:",
		func(text string) {
			Expect(parseFile(`[` + script.New(script.Say(text)).String()[len(`{"steps":[`):len(script.New(script.Say(text)).String())-len(`]}`)] + `]`)).
				To(Equal(script.File{Turns: []script.Script{script.New(script.Say(text))}}))
		},
		Entry("another name", "{{inputs}}"),
		Entry("no name", "{{}}"),
		Entry("a name in other letters", "{{Input}}"),
		Entry("a name with white space around it", "{{ input }}"),
		Entry("a key that is missing", "{{config.}}"),
		Entry("a step that is missing", "{{step:}}"),
		Entry("one brace", "{input}"),
		Entry("a brace too few", "{{input}"),
		Entry("a brace between", "{ {input}}"),
		Entry("one that is never closed", "{{input"),
		Entry("one that was never opened", "}}input}}"),
	)

	DescribeTable("has placeholders anywhere in a text,",
		func(text, want string) {
			Expect(template(`{"say":"` + text + `"}`).Fill(values{"input": `"in"`, "config.v": `5`, "step:a": `{ "b" : [ 1 ] }`}.get)).To(Equal(script.Say(want)))
		},
		Entry("in the middle", "a{{input}}b", "ainb"),
		Entry("at the beginning", "{{input}}b", "inb"),
		Entry("at the end", "a{{input}}", "ain"),
		Entry("twice", "{{input}} and {{input}}", "in and in"),
		Entry("side by side", "{{input}}{{config.v}}", "in5"),
		Entry("in a brace", "{{{input}}}", "{in}"),
		Entry("in braces", "{{{{input}}}}", "{{in}}"),
		Entry("in another that is none", "{{ {{input}} }}", "{{ in }}"),
		Entry("in another that would be one", "{{config.{{input}}}}", "{{config.in}}"),
		Entry("behind text that looks like one", "{{x}}{{input}}", "{{x}}in"),
		Entry("behind one that is not closed", "{{input {{input}}", "{{input in"),
		Entry("with a number, as JSON", "n={{config.v}}", "n=5"),
		Entry("with an object, as JSON without white space", "o={{step:a}}", `o={"b":[1]}`),
	)

	DescribeTable("has a string that is one placeholder and no more, which takes the type of the value:",
		func(step, value string, want script.Step) {
			Expect(filled(step, value)).To(Equal(want))
		},
		Entry("a number", `{"bash":{"command":"x","exitCode":"{{config.v}}"}}`, `3`, script.Bash("x", "", 3)),
		Entry("a number that may stand alone", `{"exit":"{{config.v}}"}`, `3`, script.Exit(3)),
		Entry("a time", `{"tool":{"name":"T","holdMs":"{{config.v}}"}}`, `1e3`, script.ToolStep{Name: "T", Hold: time.Second}),
		Entry("a time that may stand alone", `{"sleep":"{{config.v}}"}`, `250`, script.Sleep(250*time.Millisecond)),
		Entry("a timeout", `{"awaitSteer":{"timeoutMs":"{{config.v}}","continueOnTimeout":true}}`, `1500`, script.AwaitSteerStep{Timeout: 1500 * time.Millisecond, Continue: true}),
		Entry("a path, also where it is a number", `{"waitFor":{"tool":"t","path":"{{config.v}}","atLeast":1}}`, `0`, script.WaitForStep{Tool: "t", Path: "0", AtLeast: 1}),
		Entry("a flag", `{"hold":{"name":"g","open":"{{config.v}}"}}`, `true`, script.HoldStep{Name: "g", Open: true}),
		Entry("a flag that is false", `{"hold":{"name":"g","open":"{{config.v}}"}}`, `false`, script.Hold("g")),
		Entry("an object", `{"mcp":{"server":"s","tool":"t","arguments":"{{config.v}}"}}`, ` { "a" : "{{input}}" } `, script.MCPStep{Server: "s", Tool: "t", Arguments: json.RawMessage(`{"a":"{{input}}"}`)}),
		Entry("a text", `{"say":"{{config.v}}"}`, `"a\nb"`, script.Say("a\nb")),
		Entry("a text that is a number, as JSON", `{"say":"{{config.v}}"}`, `1.50`, script.Say("1.50")),
		Entry("a text that is a flag, as JSON", `{"say":"{{config.v}}"}`, `false`, script.Say("false")),
		Entry("a text that is nothing, as JSON", `{"say":"{{config.v}}"}`, `null`, script.Say("null")),
		Entry("a text that is an object, as JSON", `{"say":"{{config.v}}"}`, `{ "a": 1 }`, script.Say(`{"a":1}`)),
		Entry("any JSON that is a text", `{"tool":{"name":"T","input":"{{config.v}}"}}`, `"a\"b"`, script.ToolStep{Name: "T", Input: json.RawMessage(`"a\"b"`)}),
		Entry("any JSON that is a text like JSON", `{"tool":{"name":"T","input":"{{config.v}}"}}`, `"{\"a\":1}"`, script.ToolStep{Name: "T", Input: json.RawMessage(`"{\"a\":1}"`)}),
		Entry("any JSON that is an array", `{"tool":{"name":"T","input":"{{config.v}}"}}`, `[1, {}]`, script.ToolStep{Name: "T", Input: json.RawMessage(`[1,{}]`)}),
		Entry("any JSON that is null, which is none", `{"tool":{"name":"T","input":"{{config.v}}"}}`, `null`, script.ToolStep{Name: "T"}),
		Entry("JSON inside of any JSON", `{"tool":{"name":"T","input":{"a":["{{config.v}}",{"b":"{{config.v}}"}]}}}`, `[5]`, script.ToolStep{Name: "T", Input: json.RawMessage(`{"a":[[5],{"b":[5]}]}`)}),
		Entry("null inside of any JSON", `{"tool":{"name":"T","output":["{{config.v}}"]}}`, `null`, script.ToolStep{Name: "T", Output: json.RawMessage(`[null]`)}),
		Entry("a number inside of an object", `{"event":{"type":"x","payload":{"n":"{{config.v}}","s":"n={{config.v}}"}}}`, `5`, script.EventStep{Type: "x", Payload: json.RawMessage(`{"n":5,"s":"n=5"}`)}),
		Entry("a word", `{"plan":[{"text":"x","status":"{{config.v}}"}]}`, `"pending"`, script.PlanStep{Entries: []script.PlanEntry{{Text: "x", Status: "pending"}}}),
		Entry("one of several words", `{"approval":{"title":"x","options":["accept","{{config.v}}"]}}`, `"decline"`, script.Ask(script.Approval{Title: "x", Options: []string{"accept", "decline"}})),
	)

	DescribeTable("takes a text that is JSON for what is wanted as that, such as a prompt that is",
		func(step, value string, want script.Step) {
			Expect(filled(step, value)).To(Equal(want))
		},
		Entry("an object", `{"mcp":{"server":"s","tool":"t","arguments":"{{config.v}}"}}`, `"{\"a\": 1}\n"`, script.MCPStep{Server: "s", Tool: "t", Arguments: json.RawMessage(`{"a":1}`)}),
		Entry("a number", `{"sleep":{"ms":"{{config.v}}"}}`, `" 5 "`, script.Sleep(5*time.Millisecond)),
		Entry("a flag", `{"sleep":{"ms":1,"steers":"{{config.v}}"}}`, `"true"`, script.SleepStep{Duration: time.Millisecond, Steers: true}),
	)

	It("is filled where it is deep inside: in entries, in a tool, in questions and their options, in a row", func() {
		v := values{"config.v": `"V"`, "config.n": `7`, "config.f": `true`}
		fill := func(step string) script.Step {
			GinkgoHelper()
			s, err := template(step).Fill(v.get)
			Expect(err).NotTo(HaveOccurred())
			return s
		}
		Expect(fill(`{"plan":[{"text":"a"},{"text":"{{config.v}}"}]}`)).To(Equal(script.PlanStep{Entries: []script.PlanEntry{{Text: "a"}, {Text: "V"}}}))
		Expect(fill(`{"approval":{"title":"a","tool":{"name":"b","input":"{{config.v}}"}}}`)).
			To(Equal(script.Ask(script.Approval{Title: "a", Tool: &script.ApprovalTool{Name: "b", Input: json.RawMessage(`"V"`)}})))
		Expect(fill(`{"approval":[{"title":"a","tool":{"name":"b","holdMs":"{{config.n}}"}},{"title":"c"}]}`)).
			To(Equal(script.Ask(script.Approval{Title: "a", Tool: &script.ApprovalTool{Name: "b", Hold: 7 * time.Millisecond}}, script.Approval{Title: "c"})))
		Expect(fill(`{"question":{"questions":[{"id":"a","header":"b","question":"c","options":[{"label":"{{config.v}}"}]},{"id":"d","header":"e","question":"f","multiSelect":"{{config.f}}"}]}}`)).
			To(Equal(script.QuestionStep{Questions: []script.Question{
				{ID: "a", Header: "b", Question: "c", Options: []script.QuestionOption{{Label: "V"}}}, {ID: "d", Header: "e", Question: "f", MultiSelect: true},
			}}))
		Expect(fill(`{"mcp":{"server":"s","tool":"t","id":"{{config.v}}","row":{"name":"r","holdMs":"{{config.n}}"}}}`)).
			To(Equal(script.MCPStep{Server: "s", Tool: "t", ID: "V", Row: &script.MCPRow{Name: "r", Hold: 7 * time.Millisecond}}))
	})

	It("does not look again at what was filled in", func() {
		v := values{"input": `"{{thread}}"`, "config.a": `"{{in"`, "config.b": `"put}}"`, "step:a": `{"b":"{{thread}}"}`}
		Expect(template(`{"say":"{{input}}, {{config.a}}{{config.b}}"}`).Fill(v.get)).To(Equal(script.Say("{{thread}}, {{input}}")))
		Expect(template(`{"tool":{"name":"T","input":{"a":"{{input}}"},"output":"{{step:a}}"}}`).Fill(v.get)).
			To(Equal(script.ToolStep{Name: "T", Input: json.RawMessage(`{"a":"{{thread}}"}`), Output: json.RawMessage(`{"b":"{{thread}}"}`)}))
	})

	It("has names of members that are never filled", func() {
		Expect(parseFile(`[{"tool":{"name":"T","input":{"{{input}}":[{"{{input}}" : 1}]}}}]`)).
			To(Equal(script.File{Turns: []script.Script{script.New(script.ToolStep{Name: "T", Input: json.RawMessage(`{"{{input}}":[{"{{input}}":1}]}`)})}}))
		Expect(template(`{"tool":{"name":"T","input":{"{{input}}": "{{input}}","a\"":"b"}}}`).Fill(values{"input": `"x"`}.get)).
			To(Equal(script.ToolStep{Name: "T", Input: json.RawMessage(`{"{{input}}":"x","a\"":"b"}`)}))
		_, err := script.ParseFile([]byte(`[{"say":{"{{input}}":"x"}}]`))
		Expect(err).To(MatchError(`step 1 (say): unknown key "{{input}}", did you mean "text"?`))
	})

	It("has what stands in a route's conditions as text", func() {
		f := parseFile(`{"routes":[{"when":{"prompt":"{{input}}"},"steps":[]},{"when":{"prompt":{"regexp":"^{{input}}$"}},"steps":[]}]}`)
		Expect(f.Routes[0].When).To(Equal(script.When{Prompt: script.Pattern{Text: "{{input}}"}}))
		Expect(f.Routes[1].When.Prompt.Regexp.String()).To(Equal("^{{input}}$"))
	})

	It("may have steps inside, which keep their placeholders until they start themselves", func() {
		v := values{"input": `"in"`}
		for _, one := range []struct {
			json string
			want func(inner ...script.Step) script.Step
		}{
			{`{"approval":{"title":"{{input}}","allow":[{"say":"{{error}}"},{"say":"a"}]}}`, func(in ...script.Step) script.Step { return script.Ask(script.Approval{Title: "in", Allow: in}) }},
			{`{"approval":{"title":"{{input}}","deny":[{"say":"{{error}}"},{"say":"a"}]}}`, func(in ...script.Step) script.Step { return script.Ask(script.Approval{Title: "in", Deny: in}) }},
			{`{"mcp":{"server":"{{input}}","tool":"t","then":[{"say":"{{error}}"},{"say":"a"}]}}`, func(in ...script.Step) script.Step { return script.MCPStep{Server: "in", Tool: "t", Then: in} }},
			{`{"mcp":{"server":"{{input}}","tool":"t","else":[{"say":"{{error}}"},{"say":"a"}]}}`, func(in ...script.Step) script.Step { return script.MCPStep{Server: "in", Tool: "t", Else: in} }},
			{`{"task":{"steps":[{"say":"{{error}}"},{"say":"a"}],"description":"{{input}}"}}`, func(in ...script.Step) script.Step { return script.TaskStep{Description: "in", Steps: in} }},
		} {
			inner := template(`{"say":"{{error}}"}`)
			s := template(one.json)
			Expect(s.Fill(v.get)).To(Equal(one.want(inner, script.Say("a"))))
			Expect(script.Branches(s)).To(ContainElement([]script.Step{inner, script.Say("a")}), "it says what stands inside before it starts, too")
		}
	})

	It("is around steps with placeholders a step of its kind", func() {
		s := parseFile(`[{"task":{"description":"d","steps":[{"mcp":{"server":"s","tool":"t","then":[{"sleep":"{{config.v}}"}]}}]}}]`).Turns[0].Steps[0].(script.TaskStep)
		inner := s.Steps[0].(script.MCPStep).Then[0]
		Expect(inner).To(Equal(template(`{"sleep":"{{config.v}}"}`)))
		Expect(inner.(script.TemplateStep).Fill(values{"config.v": "5"}.get)).To(Equal(script.Sleep(5 * time.Millisecond)))
	})

	It("is counted where steps stand too deep inside of steps", func() {
		deep := []script.Step{script.Say("x")}
		for range 19 {
			deep = []script.Step{script.TaskStep{Description: "{{input}}", Steps: deep}}
		}
		s, err := script.New(deep...).Templates()
		Expect(err).NotTo(HaveOccurred())
		Expect(s.Steps).To(HaveExactElements(BeAssignableToTypeOf(script.TemplateStep{})))
		Expect(script.New(script.TaskStep{Description: "d", Steps: s.Steps}).Validate()).To(MatchError("steps are nested more than 20 deep"))
	})

	It("asks for no more values than it needs", func() {
		var asked []string
		_, err := template(`{"say":{"text":"{{input}}{{thread}}{{x}}","chunks":"{{config.v}}"}}`).Fill(func(name string) (script.Doc, error) {
			asked = append(asked, name)
			return `"2"`, nil
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(asked).To(Equal([]string{"input", "thread", "config.v"}))
	})

	Describe("and {{markdown}}", func() {
		It("has a text of as many characters as there are chunks, or more", func() {
			for _, chunks := range []int{1, 100, 5000} {
				n := fmt.Sprint(chunks)
				for _, step := range []string{`{"say":{"text":"{{markdown}}","chunks":` + n + `}}`, `{"say":{"chunks":"{{config.v}}","text":"{{markdown}}"}}`, `{"say":{"text":"{{markdown}}","chunks":"{{config.v}}"}}`} {
					s, err := template(step).Fill(values{"config.v": n}.get)
					Expect(err).NotTo(HaveOccurred(), step)
					Expect(s).To(Equal(script.SayStep{Text: script.Markdown(chunks), Chunks: chunks}), step)
				}
				Expect(filled(`{"think":{"text":"{{markdown}}","chunks":"{{config.v}}"}}`, `"`+n+`"`)).
					To(Equal(script.ThinkStep{Text: script.Markdown(chunks), Chunks: chunks}), "a number as text")
			}
		})
		It("may have it anywhere in a text, and where there are no chunks", func() {
			Expect(template(`{"say":"a\n{{markdown}}"}`).Fill(nil)).To(Equal(script.Say("a\n" + script.Markdown(1))))
			Expect(template(`{"write":{"path":"a.md","content":"{{markdown}}"}}`).Fill(nil)).To(Equal(script.Write("a.md", script.Markdown(1))))
			Expect(template(`{"tool":{"name":"T","input":{"chunks":5000},"output":"{{markdown}}"}}`).Fill(nil)).To(HaveField("Output", HaveLen(len(script.New(script.Say(script.Markdown(1))).String())-len(`{"steps":[{"say":}]}`))))
		})
		It("is refused where there are more chunks than any text could have characters", func() {
			_, err := template(`{"say":{"text":"{{markdown}}","chunks":1000000000000}}`).Fill(nil)
			Expect(err).To(MatchError(MatchRegexp(`^chunks is 1000000000000, but the text has only \d+ characters$`)))
		})
	})

	DescribeTable("is refused while it is read where no value could make it right:",
		func(step, reason string) {
			at := strings.Index(step, arrow)
			step = strings.Replace(step, arrow, "", 1)
			_, err := script.ParseFile([]byte("{\"turns\": [\n  [" + step + "]]}"))
			Expect(err).To(MatchError("turn 1: step 1 " + reason))
			Expect(*refusal(err)).To(Equal(script.Error{Reason: "turn 1: step 1 " + reason, Offset: len("{\"turns\": [\n  [") + at, Line: 2, Column: len("  [") + at + 1}))
		},
		Entry("an array", `{"plan":▸"{{config.v}}"}`, `(plan): must be an array, or an object, is "{{config.v}}"`),
		Entry("a text around a number", `{"sleep":▸"{{config.v}}0"}`, "(sleep): "+milliseconds+`, or an object, is "{{config.v}}0"`),
		Entry("a text around a flag", `{"hold":{"name":"x","open":▸" {{config.v}}"}}`, `(hold): open must be true or false, is " {{config.v}}"`),
		Entry("a text that looks like a placeholder for an object", `{"event":{"type":"x","payload":▸"{{inputs}}"}}`, `(event): payload must be an object, is "{{inputs}}"`),
		Entry("a step", `{"task":{"description":"x","steps":[▸"{{config.v}}"]}}`, `(task): step 1 must be an object with one key, is "{{config.v}}"`),
		Entry("a tool", `{"approval":{"title":"x","tool":▸"{{config.v}}"}}`, `(approval): tool: must be an object with name, is "{{config.v}}"`),
		Entry("what a step is, where it must have more", `{"write":▸"{{config.v}}"}`, `(write): must be an object with path and content, is "{{config.v}}"`),
		Entry("two settings that exclude each other", `{"bash":{"command":"x","run":▸"{{config.v}}","output":"{{input}}"}}`, "(bash): run and output exclude each other"),
		Entry("a text and base64", `{"raw":{"base64":"{{config.v}}","text":▸"{{input}}"}}`, "(raw): text and base64 exclude each other"),
		Entry("a setting that is missing", `{"mcp":▸{"server":"{{config.v}}"}}`, "(mcp): tool is missing"),
		Entry("an unknown key", `{"say":{"text":"{{input}}",▸"chunk":1}}`, `(say): unknown key "chunk", did you mean "chunks"?`),
		Entry("a number beside them", `{"say":{"text":"{{input}}","chunks":▸0}}`, "(say): chunks must be 1 or more, is 0"),
		Entry("chunks of a text that is known", `{"say":{"text":"abc","chunks":▸4,"intervalMs":"{{config.v}}"}}`, "(say): chunks is 4, but the text has only 3 characters"),
		Entry("a word beside them", `{"plan":[{"text":"{{input}}","status":▸"done"}]}`, `(plan): entry 1: status must be pending, in_progress or completed, is "done"`),
		Entry("a timeout beside them", `{"wait":{"tool":"{{input}}","timeoutMs":▸0}}`, "(wait): timeoutMs "+someTime+", is 0"),
		Entry("the true of a wait for a steer", `{"awaitSteer":▸"{{config.v}}"}`, `(awaitSteer): must be true, or an object, is "{{config.v}}"`),
		Entry("a step inside of it that stands in the wrong place", `{"task":{"description":"{{input}}","steps":[▸{"expectInput":"x"}]}}`, "(task): step 1: expectInput must come first, and not inside another step"),
		Entry("a step inside of it", `{"task":{"description":"{{input}}","steps":[{"hold":▸""}]}}`, "(task): step 1 (hold): name must not be empty"),
	)

	DescribeTable("is refused when it is filled, with a reason that names the key,",
		func(step, value, reason string) {
			s, err := filled(step, value)
			Expect(err).To(MatchError(reason))
			Expect(refusal(err)).To(HaveValue(And(HaveField("Offset", 0), HaveField("Line", 0), HaveField("Column", 0))), "it has no place")
			Expect(s).To(BeNil())
		},
		Entry("where there are more chunks than characters", `{"say":{"text":"{{config.v}}","chunks":3}}`, `"ab"`, "chunks is 3, but the text has only 2 characters"),
		Entry("where there are too many chunks for a text", `{"say":{"text":"abc","chunks":"{{config.v}}"}}`, `4`, "chunks is 4, but the text has only 3 characters"),
		Entry("where there are no chunks", `{"say":{"text":"{{markdown}}","chunks":"{{config.v}}"}}`, `0`, "chunks must be 1 or more, is 0"),
		Entry("where there are chunks that are no number", `{"say":{"text":"{{markdown}}","chunks":"{{config.v}}"}}`, `"many"`, `chunks must be a whole number, is "many"`),
		Entry("where a word is none of those that it may be", `{"plan":[{"text":"x"},{"text":"x","priority":"{{config.v}}"}]}`, `"urgent"`, `entry 2: priority must be high, medium or low, is "urgent"`),
		Entry("where a word is none", `{"exit":{"signal":"{{config.v}}"}}`, `9`, `signal must be SIGABRT, SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGQUIT, SIGSEGV or SIGTERM, is "9"`),
		Entry("where one of several words is none of those that it may be", `{"approval":{"title":"x","options":["{{config.v}}"]}}`, `"maybe"`, `options must hold accept, acceptForSession, decline or cancel, holds "maybe"`),
		Entry("where something must not be empty", `{"hold":"{{config.v}}"}`, `""`, "name must not be empty"),
		Entry("where something in it must not be empty", `{"approval":{"title":"x","tool":{"name":"{{config.v}}"}}}`, `""`, "tool: name must not be empty"),
		Entry("where a number is negative", `{"usage":{"usedTokens":1,"toolUses":"{{config.v}}"}}`, `-1`, "toolUses must be 0 or more, is -1"),
		Entry("where a number is too large", `{"exit":"{{config.v}}"}`, `256`, "code must be 255 or less, is 256"),
		Entry("where a number is a fraction", `{"fail":{"message":"x","code":"{{config.v}}"}}`, `1.5`, "code must be a whole number, is 1.5"),
		Entry("where a number is an object", `{"usage":{"usedTokens":"{{config.v}}"}}`, `{"a": 1}`, `usedTokens must be a whole number, is {"a":1}`),
		Entry("where a number is a text in a text", `{"usage":{"usedTokens":"{{config.v}}"}}`, `"\"5\""`, `usedTokens must be a whole number, is "\"5\""`),
		Entry("where a time is negative", `{"sleep":"{{config.v}}"}`, `-5`, "ms "+milliseconds+", is -5"),
		Entry("where a time is a text", `{"sleep":"{{config.v}}"}`, `"5s"`, "ms "+milliseconds+`, is "5s"`),
		Entry("where a time is an object, though the step may be one", `{"sleep":"{{config.v}}"}`, `{"ms":5}`, "ms "+milliseconds+`, is {"ms":5}`),
		Entry("where a timeout is no time", `{"wait":{"tool":"t","timeoutMs":"{{config.v}}"}}`, `0`, "timeoutMs "+someTime+", is 0"),
		Entry("where a timeout is no time in a text", `{"awaitSteer":{"timeoutMs":"{{config.v}}"}}`, `"0"`, "timeoutMs "+someTime+", is 0"),
		Entry("where less than no result is waited for", `{"waitFor":{"tool":"t","path":"","atLeast":"{{config.v}}"}}`, `-1`, "atLeast must be 0 or more, is -1"),
		Entry("where a tool that is waited for has no name", `{"wait":"{{config.v}}"}`, `""`, "tool must not be empty"),
		Entry("where a flag is a number", `{"sleep":{"ms":1,"steers":"{{config.v}}"}}`, `1`, "steers must be true or false, is 1"),
		Entry("where an object is a text", `{"mcp":{"server":"s","tool":"t","arguments":"{{config.v}}"}}`, `"fix it"`, `arguments must be an object, is "fix it"`),
		Entry("where an object is a list", `{"event":{"type":"x","payload":"{{config.v}}"}}`, `[1, 2]`, "payload must be an object, is [1,2]"),
		Entry("where an object is null", `{"event":{"type":"x","payload":"{{config.v}}"}}`, `null`, "payload must be an object, is null"),
		Entry("where an id has a dot", `{"mcp":{"server":"s","tool":"t","id":"{{config.v}}"}}`, `1.5`, `id must not hold a dot, a bracket, a brace or a star, is "1.5"`),
		Entry("where base64 is none", `{"raw":{"base64":"{{config.v}}"}}`, `"!"`, "base64 does not decode: illegal base64 data at input byte 0"),
		Entry("where a tool completed and has an error", `{"tool":{"name":"x","status":"completed","error":"{{config.v}}"}}`, `"no"`, "error goes with the status failed only"),
		Entry("where JSON would be too deep", `{"tool":{"name":"x","input":["{{config.v}}"]}}`, strings.Repeat("[", 10000)+strings.Repeat("]", 10000), "input: it is nested too deep with what is filled in"),
	)

	It("is right where a value makes it so, whatever it looked like", func() {
		Expect(filled(`{"tool":{"name":"x","status":"completed","error":"{{config.v}}"}}`, `""`)).To(Equal(script.ToolStep{Name: "x", Status: "completed"}))
		Expect(filled(`{"raw":{"base64":"{{config.v}}"}}`, `"/w=="`)).To(Equal(script.Raw("\xff")))
		Expect(filled(`{"raw":"{{config.v}}"}`, `"\\xff"`)).To(Equal(script.Raw(`\xff`)))
	})

	DescribeTable("says why there is no value, with an error that wraps the one it got, in",
		func(step, where string) {
			s, err := template(step).Fill(values{}.get)
			Expect(err).To(MatchError(where + "unresolved placeholder {{step:a.b}}"))
			Expect(err).To(MatchError(errUnresolved))
			Expect(refusal(err).Offset).To(BeZero(), "it has no place")
			Expect(s).To(BeNil())
		},
		Entry("a text", `{"say":"x {{step:a.b}}"}`, "text: "),
		Entry("a number", `{"sleep":{"ms":"{{step:a.b}}"}}`, "ms: "),
		Entry("a number that stands alone", `{"exit":"{{step:a.b}}"}`, "code: "),
		Entry("a flag", `{"edit":{"path":"a","old":"b","new":"c","unique":"{{step:a.b}}"}}`, "unique: "),
		Entry("an object", `{"mcp":{"server":"s","tool":"t","arguments":"{{step:a.b}}"}}`, "arguments: "),
		Entry("a text inside of an object", `{"mcp":{"server":"s","tool":"t","arguments":{"a":["x {{step:a.b}}"]}}}`, "arguments: "),
		Entry("a value inside of an object", `{"mcp":{"server":"s","tool":"t","arguments":{"a":"{{step:a.b}}"}}}`, "arguments: "),
		Entry("a word", `{"plan":{"entries":[{"text":"a","status":"{{step:a.b}}"}]}}`, "entry 1: status: "),
		Entry("one of several words", `{"approval":[{"title":"a"},{"title":"b","options":["{{step:a.b}}","accept"]}]}`, "approval 2: options: "),
		Entry("a tool", `{"approval":{"title":"a","tool":{"name":"{{step:a.b}}"}}}`, "tool: name: "),
		Entry("chunks", `{"say":{"text":"{{markdown}}","chunks":"{{step:a.b}}"}}`, "chunks: "),
	)

	It("says that a value is none where it got neither one nor an error", func() {
		for _, step := range []string{`{"say":"{{input}}"}`, `{"sleep":"{{input}}"}`, `{"tool":{"name":"T","input":"{{input}}"}}`, `{"tool":{"name":"T","input":["{{input}}"]}}`} {
			_, err := template(step).Fill(func(string) (script.Doc, error) { return "", nil })
			Expect(err).To(MatchError(HaveSuffix("{{input}} is no JSON")), step)
		}
	})

	It("is filled without a panic with what only looks like JSON, as nobody checks that again", func() {
		for _, text := range templateFiles {
			f := parseFile(text)
			for _, route := range f.Routes {
				f.Turns = append(f.Turns, route.Script)
			}
			for _, turn := range f.Turns {
				for _, step := range turn.Steps {
					step, ok := step.(script.TemplateStep)
					if !ok { // an expectInput
						continue
					}
					for _, doc := range []script.Doc{`"`, `"\`, `"\"`, `"a`, "{", "[", "}", "]", ",", "-", "x", `{"a"`, "\x00", "\xff", "tru", "n"} {
						Expect(func() { _, _ = step.Fill(func(string) (script.Doc, error) { return doc, nil }) }).NotTo(Panic(), "%s in %s", doc, text)
					}
				}
			}
		}
	})

	It("is its kind of step from the beginning, but for what the placeholders stand for", func() {
		t := template(`{"waitFor":{"tool":"list","path":"items[by={{thread}}]","atLeast":"{{config.v}}","arguments":{"a":"{{input}}"},"server":"s"}}`)
		Expect(t.Bare()).To(Equal(script.WaitForStep{Tool: "list", Server: "s"}))
		t = template(`{"plan":[{"text":"a"},{"text":"{{input}}","status":"pending"}]}`)
		Expect(t.Bare()).To(Equal(script.PlanStep{Entries: []script.PlanEntry{{Text: "a"}, {Status: "pending"}}}))
		inner := template(`{"say":"{{error}}"}`)
		Expect(template(`{"mcp":{"tool":"{{input}}","else":[{"say":"{{error}}"}]}}`).Bare()).To(Equal(script.MCPStep{Else: []script.Step{inner}}), "steps inside keep theirs")
		Expect(script.TemplateStep{}.Bare()).To(BeNil())
		Expect(script.TemplateStep{}.Key()).To(BeEmpty())
	})

	DescribeTable("says which placeholders it has, by their names:",
		func(step string, names ...string) { Expect(template(step).Placeholders()).To(Equal(names)) },
		Entry("one", `{"say":"{{input}}"}`, "input"),
		Entry("several in a text, each as often as it stands there", `{"say":"{{input}}{{x}}{{step:a.b[c=d].0}} {{input}}"}`, "input", "step:a.b[c=d].0", "input"),
		Entry("one for a number and one for a flag", `{"sleep":{"ms":"{{config.ms}}","steers":"{{config.on}}"}}`, "config.ms", "config.on"),
		Entry("in the order of the settings, not in that of the text", `{"say":{"intervalMs":"{{config.ms}}","text":"{{thread}}"}}`, "thread", "config.ms"),
		Entry("in JSON, but for names of members", `{"tool":{"name":"T","input":{"{{model}}":["{{thread}} {{input}}"]},"output":"{{answers}}"}}`, "thread", "input", "answers"),
		Entry("in one of several words", `{"approval":{"title":"x","options":["accept","{{config.more}}"]}}`, "config.more"),
		Entry("in entries", `{"plan":[{"text":"a"},{"text":"{{input}}","status":"{{config.s}}"}]}`, "input", "config.s"),
		Entry("of its own, and none of those of the steps inside", `{"task":{"description":"{{input}}","steps":[{"say":"{{error}}"},{"task":{"description":"{{thread}}","steps":[]}}],"type":"{{model}}"}}`, "input", "model"),
	)

	It("gives its placeholders away as a list of their own", func() {
		t := template(`{"say":"{{input}}"}`)
		t.Placeholders()[0] = "x"
		Expect(t.Placeholders()).To(Equal([]string{"input"}))
		Expect(script.TemplateStep{}.Placeholders()).To(BeEmpty())
	})

	DescribeTable("may refer to the result of a step:",
		func(name, id, path string) {
			gotID, gotPath, ok := script.StepReference(name)
			Expect([]any{gotID, gotPath, ok}).To(Equal([]any{id, path, true}))
			Expect(template(`{"say":"{{` + name + `}}"}`).Placeholders()).To(Equal([]string{name}))
		},
		Entry("all of it", "step:list", "list", ""),
		Entry("a member", "step:list.items", "list", "items"),
		Entry("a path with a selector", "step:a b.items[by=x.y].0", "a b", "items[by=x.y].0"),
		Entry("a selector right away", "step:list[by=x].id", "list", "[by=x].id"),
		Entry("a path that begins with a name that is empty", "step:list..x", "list", ".x"),
		Entry("a part that is named by nothing", "step:list.", "list", ""),
		Entry("of whichever has something there", "step:*.items.0", "*", "items.0"),
		Entry("of whichever has something there, without a dot", "step:*items.0", "*", "items.0"),
		Entry("of whichever has something there, by a selector", "step:*[a=b]", "*", "[a=b]"),
		Entry("of any at all", "step:*", "*", ""),
	)
	It("refers to no step by any other placeholder", func() {
		for _, name := range []string{"input", "config.step:a", "steps:a", ""} {
			id, path, ok := script.StepReference(name)
			Expect([]any{id, path, ok}).To(Equal([]any{"", "", false}), name)
		}
	})

	It("is never a text that is expected, in which nothing is a placeholder", func() {
		Expect(parseFile(`[{"expectInput":"{{input}}"},{"say":"x"}]`)).
			To(Equal(script.File{Turns: []script.Script{script.New(script.ExpectInputStep{Text: "{{input}}"}, script.Say("x"))}}))
		Expect(script.New(script.ExpectInputStep{Text: "{{input}}"}).Templates()).To(Equal(script.New(script.ExpectInputStep{Text: "{{input}}"})))
	})

	It("stands where a step of its kind may", func() {
		Expect(template(`{"awaitSteer":{"timeoutMs":"{{config.v}}"}}`).Key()).To(Equal("awaitSteer"))
		_, err := script.ParseFile([]byte(`[{"awaitSteer":{"timeoutMs":"{{config.v}}"}},{"say":"x"}]`))
		Expect(err).To(MatchError("step 1: awaitSteer must come last, and not inside another step"))
		last := template(`{"awaitSteer":{"timeoutMs":"{{config.v}}"}}`)
		Expect(script.New(script.Say("x"), last).Validate()).To(Succeed())
		Expect(script.New(last, script.Say("x")).Validate()).To(MatchError("step 1: awaitSteer must come last, and not inside another step"))
	})

	It("may have values of any length, and such as are not quite UTF-8", func() {
		long := strings.Repeat("x", script.MaxSize)
		Expect(filled(`{"say":"{{config.v}}"}`, `"`+long+`"`)).To(Equal(script.Say(long)))
		s, err := filled(`{"say":"{{config.v}}"}`, "{\"a\":\"\xff\"}")
		Expect(err).NotTo(HaveOccurred())
		Expect(s).To(Equal(script.Say("{\"a\":\"\ufffd\"}")))
		Expect(script.New(s).Validate()).To(Succeed())
	})

	It("is written as it stood there, without white space, and read again from a file", func() {
		const text = `{"turns":[[{"say":{ "text" : "{{input}}" }},{"sleep":"{{config.v}}"},{"task":{"description":"{{input}}","steps":[{"say": "<{{error}}>"}]}}]]}`
		const want = `[{"say":{"text":"{{input}}"}},{"sleep":"{{config.v}}"},{"task":{"description":"{{input}}","steps":[{"say":"<{{error}}>"}]}}]`
		f := parseFile(text)
		s := f.Turns[0]
		Expect(s.Validate()).To(Succeed())
		Expect(s.String()).To(Equal(`{"steps":` + want + `}`))
		Expect(json.Marshal(f)).To(BeEquivalentTo(strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(`{"turns":[` + want + `]}`)))
		Expect(parseFile(s.String())).To(Equal(f))
	})

	It("comes of a file or a script alone: the zero value is none", func() {
		const reason = "is empty: a template comes of ParseFile or Script.Templates"
		Expect(script.New(script.TemplateStep{}).Validate()).To(MatchError("step 1 (): " + reason))
		_, err := script.TemplateStep{}.Fill(nil)
		Expect(err).To(MatchError(reason))
		Expect(script.Branches(script.TemplateStep{})).To(BeEmpty())
	})

	It("is what it was if each placeholder stands for itself, whatever the step is", func() {
		itself := func(name string) (script.Doc, error) {
			text, err := json.Marshal("{{" + name + "}}")
			return script.Doc(text), err
		}
		for seed := range uint64(200) {
			s := generated(seed)
			out, err := s.Templates()
			Expect(err).NotTo(HaveOccurred())
			for i, step := range out.Steps {
				if t, ok := step.(script.TemplateStep); ok {
					filled, err := t.Fill(itself)
					Expect(err).NotTo(HaveOccurred(), "seed %d: %s", seed, s)
					Expect(filled).To(BeAssignableToTypeOf(s.Steps[i]))
					Expect(script.New(filled).String()).To(MatchJSON(script.New(s.Steps[i]).String()), "seed %d", seed)
				} else if len(script.Branches(step)) == 0 {
					Expect(step).To(Equal(s.Steps[i]))
				}
			}
		}
	})

	It("is read and filled in good time whatever its size", func(ctx SpecContext) {
		const much = 1 << 20
		for _, text := range []string{
			strings.Repeat("{", much) + "}}", strings.Repeat("{{config.", much/9) + "}}", strings.Repeat("{{x}}", much/5), strings.Repeat("{{", much/2), strings.Repeat("}}", much/2),
		} {
			f := parseFile(script.New(script.Say(text)).String())
			Expect(f.Turns[0].Steps[0].Key()).To(Equal("say"))
		}
		deep := strings.Repeat("[", 9000) + `"` + strings.Repeat("x", much) + `{{input}}"` + strings.Repeat("]", 9000)
		s, err := template(`{"tool":{"name":"T","input":` + deep + `}}`).Fill(values{"input": `"y"`}.get)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(s.(script.ToolStep).Input)).To(HaveSuffix(`xy"` + strings.Repeat("]", 9000)))
		Expect(ctx.Err()).NotTo(HaveOccurred())
	}, SpecTimeout(time.Minute))
})

var _ = Describe("A script in Go with texts that look like placeholders", func() {
	It("has them as text, until it is asked for templates", func() {
		s := script.Script{Steps: []script.Step{script.Say("{{input}}"), script.Say("a"), script.TaskStep{Description: "d", Steps: []script.Step{script.Hold("{{thread}}")}}}, StepDelay: time.Second}
		Expect(s.Steps[0]).To(Equal(script.Say("{{input}}")))
		out, err := s.Templates()
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(Equal(script.Script{
			Steps:     []script.Step{template(`{"say":"{{input}}"}`), script.Say("a"), script.TaskStep{Description: "d", Steps: []script.Step{template(`{"hold":"{{thread}}"}`)}}},
			StepDelay: time.Second,
		}))
		Expect(out.String()).To(Equal(s.String()))
		Expect(s.Steps[0]).To(Equal(script.Say("{{input}}")), "the script that was asked is as it was")
		Expect(out.Templates()).To(Equal(out), "once is enough")
	})

	It("has them in JSON, too, however that writes a brace", func() {
		s, err := script.New(script.ToolStep{Name: "T", Input: json.RawMessage(`"\u007b\u007Binput}}"`)}).Templates()
		Expect(err).NotTo(HaveOccurred())
		Expect(s.Steps).To(HaveExactElements(BeAssignableToTypeOf(script.TemplateStep{})))
		Expect(s.Steps[0].(script.TemplateStep).Fill(values{"input": "1"}.get)).To(Equal(script.ToolStep{Name: "T", Input: json.RawMessage("1")}))
	})

	It("is returned as it is if it has none", func() {
		s := script.New(script.Say("{a}}"), script.ToolStep{Name: "T", Input: json.RawMessage(` {"a":{"b":{}}} `)})
		out, err := s.Templates()
		Expect(err).NotTo(HaveOccurred())
		Expect(&out.Steps[0]).To(BeIdenticalTo(&s.Steps[0]))
	})

	It("is the same script if it has only text that looks a little like one", func() {
		s := script.New(script.Say("{{x}}"))
		Expect(s.Templates()).To(Equal(s))
	})

	It("is refused where it is wrong", func() {
		s := script.New(script.Say("{{input}}"), script.Hold(""))
		out, err := s.Templates()
		Expect(err).To(MatchError("step 2 (hold): name must not be empty"))
		Expect(*refusal(err)).To(Equal(script.Error{Reason: "step 2 (hold): name must not be empty"}), "it has no place")
		Expect(out).To(Equal(s))
	})
})
