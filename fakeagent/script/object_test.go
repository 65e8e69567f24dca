package script_test

import (
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// play is a file of another form, whose acts have steps.
type play struct {
	Version int
	Title   string
	Stage   stage
	Acts    []act
}

type stage struct{ Width int }

type act struct {
	Hero, Villain string
	Scenes        []scene
}

type scene []script.Step

func (p *play) shape(o script.Object) {
	o.Number(&p.Version, "version")
	if p.Version > 1 {
		o.Fail("version", "must be 0 or 1, is %d", p.Version)
	}
	o.Text(&p.Title, "title")
	o.Inner("stage", p.Stage.shape)
	script.List(o, &p.Acts, "acts", (*act).shape)
}

func (s *stage) shape(o script.Object) { o.Number(&s.Width, "width") }

func (a *act) shape(o script.Object) {
	o.Text(&a.Hero, "hero")
	o.Text(&a.Villain, "villain")
	o.Needs("hero", "villain")
	script.Batches(o, &a.Scenes, "scenes")
}

func readPlay(text string) (p play, err error) {
	err = script.ReadObject([]byte(text), p.shape)
	return p, err
}

// inScene is a play of one scene.
func inScene(steps string) string {
	return `{"version":1,"stage":{"width":5},"acts":[{"hero":"h","scenes":[` + steps + `]}]}`
}

// only is the play of one scene, with these steps.
func only(steps ...script.Step) play {
	return play{Version: 1, Stage: stage{5}, Acts: []act{{Hero: "h", Scenes: []scene{steps}}}}
}

var _ = Describe("An object with steps in it", func() {
	It("is read into what a shape names, in any order of its keys, and written in the shape's order", func() {
		const text = ` {"acts": [{"scenes": [[{"say": "a"}, {"tool": "t"}], []], "villain": "v", "hero": "h"}, {"scenes": [], "villain": "w"}], "stage": {"width": 1e1}, "title": "T", "version": 0} `
		want := play{Title: "T", Stage: stage{10}, Acts: []act{
			{Hero: "h", Villain: "v", Scenes: []scene{{script.Say("a"), script.MCPStep{Tool: "t", Report: true}}, {}}}, {Villain: "w"},
		}}
		Expect(readPlay(text)).To(Equal(want))
		const written = `{"version":0,"title":"T","stage":{"width":10},"acts":[{"hero":"h","villain":"v","scenes":[[{"say":"a"},{"tool":"t"}],[]]},{"villain":"w","scenes":[]}]}`
		Expect(script.WriteObject(want.shape)).To(BeEquivalentTo(written))
		Expect(readPlay(written)).To(Equal(want))
		Expect(script.WriteObject(new(play).shape)).To(BeEquivalentTo(`{"version":0,"stage":{"width":0},"acts":[]}`))
	})

	It("tells its shape whether it is read", func() {
		var reading []bool
		shape := func(o script.Object) { reading = append(reading, o.Reading()) }
		Expect(script.ReadObject([]byte("{}"), shape)).To(Succeed())
		Expect(script.WriteObject(shape)).To(BeEquivalentTo("{}"))
		Expect(script.ReadObject([]byte(`{"x":1}`), func(o script.Object) { shape(o); o.Text(new(string), "y") })).To(MatchError(`unknown key "x", did you mean "y"?`))
		Expect(reading).To(Equal([]bool{true, false, true, false}), "the last one to find out which keys there are")
	})

	DescribeTable("has steps, and calls that stand for themselves:",
		func(step script.Step, text string, also ...string) {
			p := only(step)
			Expect(script.WriteObject(p.shape)).To(BeEquivalentTo(inScene("[" + text + "]")))
			for _, t := range append(also, text) {
				Expect(readPlay(inScene(" [ "+t+" ] "))).To(Equal(p), t)
			}
		},
		Entry("a call", script.MCPStep{Tool: "t", Report: true}, `{"tool":"t"}`, `{"mcp":{"tool":"t","report":true}}`, `{"mcp":{"report":true,"tool":"t","then":[]}}`),
		Entry("a call with all that one can have", script.MCPStep{Server: "s", Tool: "t", Arguments: json.RawMessage(`{"a":[1]}`), ID: "i", Report: true},
			`{"server":"s","tool":"t","arguments":{"a":[1]},"id":"i"}`, `{"id":"i","arguments":{ "a" : [1] },"tool":"t","server":"s"}`),
		Entry("a call of every server, which is not for a call that stands for itself", script.MCPStep{Server: "*", Tool: "t", Report: true}, `{"mcp":{"server":"*","tool":"t","report":true}}`),
		Entry("a call that is not reported", script.MCPStep{Tool: "t"}, `{"mcp":{"tool":"t"}}`),
		Entry("a call with a row", script.MCPStep{Tool: "t", Report: true, Row: &script.MCPRow{Name: "r"}}, `{"mcp":{"tool":"t","report":true,"row":{"name":"r"}}}`),
		Entry("a call with what follows", script.MCPStep{Tool: "t", Report: true, Then: []script.Step{script.Say("x")}}, `{"mcp":{"tool":"t","report":true,"then":[{"say":"x"}]}}`),
		Entry("a call with what follows when it fails", script.MCPStep{Tool: "t", Report: true, Else: []script.Step{script.Say("x")}}, `{"mcp":{"tool":"t","report":true,"else":[{"say":"x"}]}}`),
		Entry("a claimed tool call, which is a step", script.ToolStep{Name: "T"}, `{"tool":{"name":"T"}}`),
		Entry("any other step", script.BashRun("ls"), `{"bash":{"command":"ls","run":true}}`),
		Entry("a step with steps inside", script.TaskStep{Description: "d", Steps: []script.Step{script.Say("x")}}, `{"task":{"description":"d","steps":[{"say":"x"}]}}`),
		Entry("a text that is expected", script.ExpectInputStep{Text: "x"}, `{"expectInput":"x"}`),
		Entry("a wait for a steer", script.AwaitSteerStep{}, `{"awaitSteer":true}`, `{"awaitSteer":{}}`),
	)

	It("may have placeholders in its steps and calls, each of which has its own", func() {
		p, err := readPlay(inScene(`[{"tool":"t","arguments":{"a":"{{step:i.x}}"},"server":"{{config.s}}"},{"say":"x"},{"say":"{{thread}}"},{"tool":"{{input}}","id":"i"},{"tool":"u"}]`))
		Expect(err).NotTo(HaveOccurred())
		steps := p.Acts[0].Scenes[0]
		call := steps[0].(script.TemplateStep)
		Expect(call.Key()).To(Equal("mcp"))
		Expect(call.Placeholders()).To(Equal([]string{"config.s", "step:i.x"}))
		Expect(call.Bare()).To(Equal(script.MCPStep{Tool: "t", Report: true}))
		Expect(call.Fill(values{"config.s": `"s"`, "step:i.x": "[5]"}.get)).To(Equal(script.MCPStep{Server: "s", Tool: "t", Arguments: json.RawMessage(`{"a":[5]}`), Report: true}))
		Expect(steps[1]).To(Equal(script.Say("x")))
		Expect(steps[2]).To(Equal(template(`{"say":"{{thread}}"}`)))
		Expect(steps[3].(script.TemplateStep).Placeholders()).To(Equal([]string{"input"}))
		Expect(steps[4]).To(Equal(script.MCPStep{Tool: "u", Report: true}))
	})

	It("writes a call with placeholders as it was, and one that is more than a call as the step that it is", func() {
		for _, scene := range []string{
			`[{"tool":"t","arguments":{"a":"{{input}}"}}]`,
			`[{"mcp":{"report":true,"tool":"t","arguments":{"a":"{{input}}"},"then":[{"say":"x"}]}}]`,
			`[{"mcp":{"tool":"t","arguments":{"a":"{{input}}"}}}]`,
		} {
			p, err := readPlay(inScene(scene))
			Expect(err).NotTo(HaveOccurred())
			Expect(script.WriteObject(p.shape)).To(BeEquivalentTo(inScene(scene)))
		}
	})

	It("has placeholders in steps only: elsewhere the same is text", func() {
		p, err := readPlay(`{"version":1,"title":"{{input}}","stage":{"width":1},"acts":[{"hero":"{{thread}}","scenes":[[{"say":"{{input}}"}]]}]}`)
		Expect(err).NotTo(HaveOccurred())
		Expect([]string{p.Title, p.Acts[0].Hero}).To(Equal([]string{"{{input}}", "{{thread}}"}))
		_, err = readPlay(`{"version":"{{config.v}}","stage":{"width":1},"acts":[]}`)
		Expect(err).To(MatchError(`version must be a whole number, is "{{config.v}}"`))
	})

	It("survives the way to JSON and back, whatever its steps are", func() {
		for seed := range uint64(300) {
			s := generated(seed)
			p := only(s.Steps...)
			text, err := script.WriteObject(p.shape)
			Expect(err).NotTo(HaveOccurred(), "seed %d", seed)
			read, err := readPlay(string(text))
			Expect(err).NotTo(HaveOccurred(), "seed %d: %s", seed, text)
			templates, err := s.Templates()
			Expect(err).NotTo(HaveOccurred())
			Expect(script.New(read.Acts[0].Scenes[0]...).String()).To(Equal(script.New(templates.Steps...).String()), "seed %d", seed)
			again, err := script.WriteObject(read.shape)
			Expect(err).NotTo(HaveOccurred())
			Expect(readPlay(string(again))).To(Equal(read), "seed %d: %s", seed, again)
		}
	})

	const deepest = `[{"task":{"description":"d","steps":`
	DescribeTable("is refused with a reason, and with a place that has a path:",
		func(text, path, reason string) {
			before, _, _ := strings.Cut(text, arrow)
			text = strings.Replace(text, arrow, "", 1)
			_, err := readPlay(text)
			Expect(err).To(MatchError(reason))
			Expect(*refusal(err)).To(Equal(script.Error{
				Reason: reason, Offset: len(before), Line: 1 + strings.Count(before, "\n"), Column: len(before) - strings.LastIndex(before, "\n"),
			}))
			Expect(script.PathTo([]byte(text), len(before))).To(Equal(path))
		},
		Entry("an array", `▸[]`, "", "must be an object with version and stage and acts, is []"),
		Entry("a key that nobody knows", "{\n▸\"titel\":\"T\"}", "titel", `unknown key "titel", did you mean "title"?`),
		Entry("a key that stands there twice", `{"title":"a",▸"title":"b"}`, "title", `key "title" stands there twice`),
		Entry("a number that is missing", ` ▸{"stage":{"width":1},"acts":[]}`, "", "version is missing"),
		Entry("a number that is a text", `{"version":▸"1"}`, "version", `version must be a whole number, is "1"`),
		Entry("a number that is negative", `{"version":▸-1}`, "version", "version must be 0 or more, is -1"),
		Entry("a number that the shape refuses", `{"version":▸2,"stage":5}`, "version", "version must be 0 or 1, is 2"),
		Entry("a text that is a number", `{"version":1,"title":▸5}`, "title", "title must be a string, is 5"),
		Entry("a text that is empty", `{"version":1,"title":▸""}`, "title", "title must not be empty"),
		Entry("an object inside that is missing", `▸{"version":1,"acts":[]}`, "", "stage is missing"),
		Entry("an object inside that is a number", `{"version":1,"stage":▸5}`, "stage", "must be an object with width, is 5"),
		Entry("a key of the object inside that nobody knows", `{"version":1,"stage":{"width":1,▸"height":2}}`, "stage.height", `unknown key "height", did you mean "width"?`),
		Entry("a value of the object inside", `{"version":1,"stage":{"width":▸0.5}}`, "stage.width", "width must be a whole number, is 0.5"),
		Entry("a list that is missing", `▸{"version":1,"stage":{"width":1}}`, "", "acts is missing"),
		Entry("a list that is an object", `{"version":1,"stage":{"width":1},"acts":▸{}}`, "acts", "acts must be an array, is {}"),
		Entry("an element of a list that is a text", `{"version":1,"stage":{"width":1},"acts":[{"hero":"h","scenes":[]},▸"x"]}`, "acts[1]", `must be an object with scenes, is "x"`),
		Entry("an element of a list that is null", `{"version":1,"stage":{"width":1},"acts":[▸null]}`, "acts[0]", "must be an object with scenes, is null"),
		Entry("an element of a list that lacks one of two keys", `{"version":1,"stage":{"width":1},"acts":[▸{"scenes":[]}]}`, "acts[0]", "needs hero or villain"),
		Entry("an element of a list that has the key in other letters", `{"version":1,"stage":{"width":1},"acts":[{▸"Hero":"h","scenes":[]}]}`, "acts[0].Hero", `unknown key "Hero", did you mean "hero"?`),
		Entry("scenes that are missing", `{"version":1,"stage":{"width":1},"acts":[▸{"hero":"h"}]}`, "acts[0]", "scenes is missing"),
		Entry("scenes that are an object", `{"version":1,"stage":{"width":1},"acts":[{"hero":"h","scenes":▸{}}]}`, "acts[0].scenes", "scenes must be an array, is {}"),

		Entry("a batch that is a step", inScene(`▸{"say":"x"}`), "acts[0].scenes[0]", `a batch must be an array of steps, is {"say":"x"}`),
		Entry("a batch that is null", inScene(`[],▸null`), "acts[0].scenes[1]", "a batch must be an array of steps, is null"),
		Entry("a batch that is a text", inScene(`▸"say"`), "acts[0].scenes[0]", `a batch must be an array of steps, is "say"`),
		Entry("a step that is a text", inScene(`[{"say":"x"},▸"say"]`), "acts[0].scenes[0][1]", `must be an object with one key, is "say"`),
		Entry("a step that is a batch", inScene(`[▸[]]`), "acts[0].scenes[0][0]", "must be an object with one key, is []"),
		Entry("a step of nothing", inScene(`[▸{}]`), "acts[0].scenes[0][0]", "must be a call, with a tool, or a step with exactly one key; has none"),
		Entry("a step of two keys", inScene(`[▸{"say":"x","think":"y"}]`), "acts[0].scenes[0][0]", `must be a call, with a tool, or a step with exactly one key; has "say" and "think"`),
		Entry("a step that nobody knows", inScene(`[{▸"sya":"x"}]`), "acts[0].scenes[0][0].sya", `unknown key "sya", did you mean "say"?`),
		Entry("a step's value", inScene(`[{"say":▸5}]`), "acts[0].scenes[0][0].say", "(say): must be a string, or an object, is 5"),
		Entry("a step's setting", inScene("[],\n [{\"say\":{\"text\":\"x\",\"chunks\":▸2}}]"), "acts[0].scenes[1][0].say.chunks", "(say): chunks is 2, but the text has only 1 characters"),
		Entry("a step inside of a step", inScene(`[{"task":{"description":"d","steps":[{"hold":▸""}]}}]`), "acts[0].scenes[0][0].task.steps[0].hold", "(task): step 1 (hold): name must not be empty"),
		Entry("a call inside of a step, where it does not stand for itself", inScene(`[{"mcp":{"tool":"t","then":[{"tool":▸"u"}]}}]`), "acts[0].scenes[0][0].mcp.then[0].tool", `(mcp): then step 1 (tool): must be an object with name, is "u"`),
		Entry("a call of nothing", inScene(`[{"tool":▸""}]`), "acts[0].scenes[0][0].tool", "tool must not be empty"),
		Entry("a call of a number", inScene(`[{"tool":▸5}]`), "acts[0].scenes[0][0].tool", "tool must be a string, is 5"),
		Entry("a call of null", inScene(`[{"tool":▸null}]`), "acts[0].scenes[0][0].tool", "tool must be a string, is null"),
		Entry("a call of what is a claimed tool call", inScene(`[{"tool":▸{"name":"T"},"id":"i"}]`), "acts[0].scenes[0][0].tool", `tool must be a string, is {"name":"T"}`),
		Entry("a claimed tool call", inScene(`[{"tool":{▸"nmae":"T"}}]`), "acts[0].scenes[0][0].tool.nmae", `(tool): unknown key "nmae", did you mean "name"?`),
		Entry("a call's arguments", inScene(`[{"tool":"t","arguments":▸[1]}]`), "acts[0].scenes[0][0].arguments", "arguments must be an object, is [1]"),
		Entry("a call's id", inScene(`[{"id":▸"a.b","tool":"t"}]`), "acts[0].scenes[0][0].id", `id must not hold a dot, a bracket, a brace or a star, is "a.b"`),
		Entry("a call's server", inScene(`[{"tool":"t","server":▸""}]`), "acts[0].scenes[0][0].server", "server must not be empty"),
		Entry("a call's key that nobody knows", inScene(`[{"tool":"t",▸"argumnets":{}}]`), "acts[0].scenes[0][0].argumnets", `unknown key "argumnets", did you mean "arguments"?`),
		Entry("a call's key that only the step has", inScene(`[{"tool":"t",▸"then":[]}]`), "acts[0].scenes[0][0].then", `unknown key "then", did you mean "tool"?`),
		Entry("a call's key that stands there twice", inScene(`[{"tool":"t",▸"tool":"u"}]`), "acts[0].scenes[0][0].tool", `key "tool" stands there twice`),
		Entry("a call with a placeholder", inScene(`[{"tool":"{{input}}","id":▸5}]`), "acts[0].scenes[0][0].id", "id must be a string, is 5"),
		Entry("a text that is expected behind a step", inScene(`[{"tool":"t"},▸{"expectInput":"x"}]`), "acts[0].scenes[0][1]", "expectInput must come first, and not inside another step"),
		Entry("a wait for a steer before a call", inScene(`[▸{"awaitSteer":true}, {"tool":"t"}]`), "acts[0].scenes[0][0]", "awaitSteer must come last, and not inside another step"),
		Entry("a wait for a steer inside of a step", inScene(`[{"task":{"description":"d","steps":[▸{"awaitSteer":true}]}}]`), "acts[0].scenes[0][0].task.steps[0]", "(task): step 1: awaitSteer must come last, and not inside another step"),
		Entry("steps that are nested too deep", inScene(strings.Repeat(deepest, 19)+`[{"task":▸{"description":"d","steps":[]}}]`+strings.Repeat("}}]", 19)),
			"acts[0].scenes[0]"+strings.Repeat("[0].task.steps", 19)+"[0].task", "(task): "+strings.Repeat("step 1 (task): ", 19)+"steps are nested more than 20 deep"),
	)

	It("is refused where it is no JSON, or too long, though it may be longer than a script", func() {
		_, err := readPlay("{\n")
		Expect(*refusal(err)).To(Equal(script.Error{Reason: "unexpected end of JSON input", Offset: 2, Line: 2, Column: 1, Syntax: true}))
		Expect(readPlay(inScene("[]") + strings.Repeat(" ", script.MaxSize))).To(Equal(only([]script.Step{}...)))
		_, err = readPlay(inScene("[]") + strings.Repeat(" ", script.MaxObject))
		Expect(err).To(MatchError(MatchRegexp(`^it is \d+ bytes long; the limit is 67108864$`)))
	})

	// wrong is a batch with a second step that is wrong.
	wrong := func(s script.Step) play { return only(script.Say("x"), s) }
	nested := []script.Step{script.Say("x")}
	for range 20 {
		nested = []script.Step{script.TaskStep{Description: "d", Steps: nested}}
	}
	DescribeTable("cannot be written where it could not be read, for the same reason, behind the way to it:",
		func(p play, where, reason string, also ...string) {
			b, err := script.WriteObject(p.shape)
			Expect(err).To(MatchError(where + reason))
			Expect(*refusal(err)).To(Equal(script.Error{Reason: where + reason}), "it has no place")
			Expect(b).To(BeNil())
			for _, text := range also {
				_, err := readPlay(text)
				Expect(err).To(MatchError(reason), text)
			}
		},
		Entry("a number that is negative", play{Version: -1}, "", "version must be 0 or more, is -1", `{"version":-1}`),
		Entry("a number that the shape refuses", play{Version: 2}, "", "version must be 0 or 1, is 2", `{"version":2}`),
		Entry("a text that is no UTF-8", play{Title: "\xff"}, "", `title is not valid UTF-8, which JSON could not carry: "\xff"`),
		Entry("an object inside", play{Stage: stage{-1}}, "stage: ", "width must be 0 or more, is -1", `{"version":1,"stage":{"width":-1}}`),
		Entry("an element that lacks one of two keys", play{Acts: []act{{Hero: "h"}, {}}}, "acts[1]: ", "needs hero or villain", `{"version":1,"stage":{"width":1},"acts":[{"scenes":[]}]}`),
		Entry("a call of nothing", wrong(script.MCPStep{Report: true}), "acts[0].scenes[0][1]: ", "tool must not be empty", inScene(`[{"tool":""}]`)),
		Entry("a call's arguments", wrong(script.MCPStep{Tool: "t", Report: true, Arguments: json.RawMessage("[1]")}), "acts[0].scenes[0][1]: ", "arguments must be an object, is [1]", inScene(`[{"tool":"t","arguments":[1]}]`)),
		Entry("a step of nothing", wrong(nil), "acts[0].scenes[0][1]: ", "must be the value of a step, is <nil>"),
		Entry("a pointer to a step", wrong(&script.SayStep{}), "acts[0].scenes[0][1]: ", "must be the value of a step, is *script.SayStep"),
		Entry("a step's setting", wrong(script.Hold("")), "acts[0].scenes[0][1]: ", "(hold): name must not be empty", inScene(`[{"hold":""}]`)),
		Entry("a step inside of a step", wrong(script.TaskStep{Description: "d", Steps: []script.Step{script.Hold("")}}), "acts[0].scenes[0][1]: ", "(task): step 1 (hold): name must not be empty",
			inScene(`[{"task":{"description":"d","steps":[{"hold":""}]}}]`)),
		Entry("a text that is expected behind a step", wrong(script.ExpectInputStep{Text: "x"}), "acts[0].scenes[0][1]: ", "expectInput must come first, and not inside another step", inScene(`[{"say":"x"},{"expectInput":"x"}]`)),
		Entry("a wait for a steer before a call", only(script.AwaitSteerStep{}, script.MCPStep{Tool: "t", Report: true}), "acts[0].scenes[0][0]: ", "awaitSteer must come last, and not inside another step", inScene(`[{"awaitSteer":true},{"tool":"t"}]`)),
		Entry("steps that are nested too deep", only(nested...), "acts[0].scenes[0]: ", "steps are nested more than 20 deep"),
		Entry("what is wrong first, of two", play{Stage: stage{-1}, Acts: []act{{}}}, "stage: ", "width must be 0 or more, is -1"),
		Entry("more than may be read", play{Title: strings.Repeat("x", script.MaxObject)}, "", "it is 67108918 bytes long; the limit is 67108864"),
	)
})

var _ = Describe("A place in JSON", func() {
	const text = "{\"threads\": [\n {\"match\": {\"a.b\": 1}}, [true, \"x\"]],\n \"\": {\"caf\\u00e9\": null}} "
	at := func(part string) int {
		GinkgoHelper()
		Expect(text).To(ContainSubstring(part))
		return strings.Index(text, part)
	}

	DescribeTable("has a path, and an error about it has its line and column:",
		func(value, path string) {
			place := at(value)
			Expect(script.PathTo([]byte(text), place)).To(Equal(path))
			before := text[:place]
			Expect(script.ErrorAt([]byte(text), place, "is wrong")).To(Equal(&script.Error{
				Reason: "is wrong", Offset: place, Line: 1 + strings.Count(before, "\n"), Column: place - strings.LastIndex(before, "\n"),
			}))
		},
		Entry("the whole", "{\"threads", ""),
		Entry("a member", "[\n", "threads"),
		Entry("an element", `{"match`, "threads[0]"),
		Entry("a member of an element", `{"a.b`, "threads[0].match"),
		Entry("a member whose name has a dot", `1`, "threads[0].match.a.b"),
		Entry("an array in an array", `[true`, "threads[1]"),
		Entry("the last element of it", `"x"`, "threads[1][1]"),
		Entry("a member without a name", `{"caf`, ""),
		Entry("a member whose name JSON has escaped", `null`, ".café"),
	)

	DescribeTable("is a name, and has the path of what is called so:",
		func(name, path string) { Expect(script.PathTo([]byte(text), at(name))).To(Equal(path)) },
		Entry("of the outermost object", `"threads"`, "threads"),
		Entry("of one inside", `"match"`, "threads[0].match"),
		Entry("of the innermost", `"a.b"`, "threads[0].match.a.b"),
		Entry("in the middle of it", `tch": {`, "threads[0].match"),
	)

	It("has the path of what is around it where nothing begins", func() {
		Expect(script.PathTo([]byte(text), at(" [true"))).To(Equal("threads"))
		Expect(script.PathTo([]byte(text), at("rue"))).To(Equal("threads[1][0]"))
		Expect(script.PathTo([]byte(text), at(",\n \"\""))).To(BeEmpty())
		Expect(script.PathTo([]byte(" 5 "), 1)).To(BeEmpty())
	})

	It("has no path outside of the text, or in what is no JSON", func() {
		for _, place := range []int{-1, len(text), len(text) + 5} {
			Expect(script.PathTo([]byte(text), place)).To(BeEmpty())
		}
		for _, broken := range []string{"", "{", `{"a":[1}`} {
			Expect(script.PathTo([]byte(broken), 1)).To(BeEmpty())
		}
	})
})
