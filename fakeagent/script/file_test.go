package script_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// refusedFiles are files that ParseFile refuses. The arrow stands where the error is.
var refusedFiles = []refused{
	{because: "it is null", json: `▸null`, reason: "must be an array, or an object, is null"},
	{because: "it is empty", json: `▸{}`, reason: "needs turns, routes or steps"},
	{because: "it has a delay and nothing to delay", json: `▸{"stepDelayMs":5}`, reason: "needs turns, routes or steps"},
	{because: "it has no turns", json: `{"turns":▸[]}`, reason: "turns needs at least one turn"},
	{because: "it has no turns beside its routes", json: `{"turns":▸[],"routes":[{"steps":[]}]}`, reason: "turns needs at least one turn"},
	{because: "its turns are null", json: `{"turns":▸null}`, reason: "turns must be an array, is null"},
	{because: "its turns are an object", json: `{"turns":▸{"steps":[]}}`, reason: `turns must be an array, is {"steps":[]}`},
	{because: "it has turns twice", json: `{"turns":[[]],▸"turns":[[]]}`, reason: `key "turns" stands there twice`},
	{because: "it has turns and steps", json: `{"steps":[],"turns":▸[[]]}`, reason: "turns and steps exclude each other"},
	{because: "it has routes and steps", json: `{"routes":▸[],"steps":[]}`, reason: "routes and steps exclude each other"},
	{because: "it has turns and a delay that belongs to a turn", json: `{"stepDelayMs":5,"turns":▸[[]]}`, reason: "turns and stepDelayMs exclude each other"},
	{because: "it has an unknown key like turns", json: `{▸"turn":[]}`, reason: `unknown key "turn", did you mean "turns"?`},
	{because: "it has an unknown key like routes", json: `{"turns":[[]],▸"route":[]}`, reason: `unknown key "route", did you mean "routes"?`},
	{because: "it has an unknown key like steps", json: `{▸"step":[]}`, reason: `unknown key "step", did you mean "steps"?`},
	{because: "it is a script with an unknown key", json: `{"steps":[],▸"stepDelayMS":5}`, reason: `unknown key "stepDelayMS", did you mean "stepDelayMs"?`},
	{because: "it is a script with a wrong step", json: `[{▸"sya":"x"}]`, reason: `step 1: unknown key "sya", did you mean "say"?`},
	{because: "a turn is a string", json: `{"turns":[▸"x"]}`, reason: `turn 1: must be an array, or an object, is "x"`},
	{because: "a turn is a step", json: `{"turns":[{▸"say":"x"}]}`, reason: `turn 1: unknown key "say", did you mean "steps"?`},
	{because: "a turn has no steps", json: `{"turns":[[],▸{"stepDelayMs":1}]}`, reason: "turn 2: steps is missing"},
	{because: "a step of a turn is wrong", json: `{"turns":[[],{"steps":[{"say":"x"},{"write":{"path":▸"","content":""}}]}]}`, reason: "turn 2: step 2 (write): path must not be empty"},
	{because: "a route has no steps", json: `{"routes":[▸{"when":{"turn":1}}]}`, reason: "route 1: steps is missing"},
	{because: "a route has an unknown key", json: `{"routes":[{"steps":[]},{"steps":[],▸"time":1}]}`, reason: `route 2: unknown key "time", did you mean "times"?`},
	{because: "a step of a route is wrong", json: `{"routes":[{"steps":[▸{}]}]}`, reason: "route 1: step 1 must have exactly one key, has none"},
	{because: "a wait for a steer is not the last step of a turn", json: `{"turns":[[{"awaitSteer":true}],[▸{"awaitSteer":true},{"say":"x"}]]}`, reason: "turn 2: step 1: awaitSteer must come last, and not inside another step"},
	{because: "a text is expected behind a step of a route", json: `{"routes":[{"steps":[{"expectInput":"x"},▸{"expectInput":"y"}]}]}`, reason: "route 1: step 2: expectInput must come first, and not inside another step"},
	{because: "a route is taken no times", json: `{"routes":[{"steps":[],"times":▸0}]}`, reason: "route 1: times must be 1 or more, is 0"},
	{because: "a when is a string", json: `{"routes":[{"when":▸"x","steps":[]}]}`, reason: `route 1: when: must be an object, is "x"`},
	{because: "a when has an unknown key", json: `{"routes":[{"when":{▸"promt":"x"},"steps":[]}]}`, reason: `route 1: when: unknown key "promt", did you mean "prompt"?`},
	{because: "a when is the zeroth turn", json: `{"routes":[{"when":{"turn":▸0},"steps":[]}]}`, reason: "route 1: when: turn must be 1 or more, is 0"},
	{because: "a when is a negative attempt", json: `{"routes":[{"when":{"attempt":▸-1},"steps":[]}]}`, reason: "route 1: when: attempt must be 1 or more, is -1"},
	{because: "a prompt is a number", json: `{"routes":[{"when":{"prompt":▸5},"steps":[]}]}`, reason: "route 1: when: prompt: must be a string, or an object, is 5"},
	{because: "a prompt is empty, which all would contain", json: `{"routes":[{"when":{"prompt":▸""},"steps":[]}]}`, reason: "route 1: when: prompt: text must not be empty"},
	{because: "a prompt has a text and a regular expression", json: `{"routes":[{"when":{"prompt":{"regexp":"x","text":▸"x"}},"steps":[]}]}`, reason: "route 1: when: prompt: text and regexp exclude each other"},
	{because: "a prompt says nothing", json: `{"routes":[{"when":{"prompt":▸{}},"steps":[]}]}`, reason: "route 1: when: prompt: needs text, regexp or object"},
	{because: "a prompt is no object", json: `{"routes":[{"when":{"prompt":{"object":▸false}},"steps":[]}]}`, reason: "route 1: when: prompt: object must be true, is false"},
	{because: "a prompt is an object in words", json: `{"routes":[{"when":{"prompt":{"object":▸"yes"}},"steps":[]}]}`, reason: `route 1: when: prompt: object must be true or false, is "yes"`},
	{because: "a prompt is an object and has a text", json: `{"routes":[{"when":{"prompt":{"text":▸"x","object":true}},"steps":[]}]}`, reason: "route 1: when: prompt: text and object exclude each other"},
	{because: "a prompt is an object and has a regular expression", json: `{"routes":[{"when":{"prompt":{"object":true,"regexp":▸"x"}},"steps":[]}]}`, reason: "route 1: when: prompt: regexp and object exclude each other"},
	{because: "a when is a placeholder", json: `{"routes":[{"when":{"turn":▸"{{config.turn}}"},"steps":[]}]}`, reason: `route 1: when: turn must be a whole number, is "{{config.turn}}"`},
	{because: "a delay is a placeholder", json: `{"turns":[{"steps":[],"stepDelayMs":▸"{{config.delay}}"}]}`, reason: "turn 1: stepDelayMs " + milliseconds + `, is "{{config.delay}}"`},
	{because: "a step is wrong beside its placeholders", json: `{"turns":[[{"say":"{{input}}"},{"bash":{"command":"{{input}}","exitCode":▸1.5}}]]}`, reason: "turn 1: step 2 (bash): exitCode must be a whole number, is 1.5"},
	{because: "a prompt has an unknown key", json: `{"routes":[{"when":{"prompt":{▸"regex":"x"}},"steps":[]}]}`, reason: `route 1: when: prompt: unknown key "regex", did you mean "regexp"?`},
	{because: "a regular expression is broken", json: `{"routes":[{"when":{"prompt":{"regexp":▸"a("}},"steps":[]}]}`, reason: "route 1: when: prompt: regexp does not compile: missing closing ): `a(`"},
}

var _ = Describe("A file of scripts", func() {
	// plays is what the agent says in the turn that the request picks.
	plays := func(f script.File, r script.Request, taken map[int]int) string {
		GinkgoHelper()
		s, _, ok := f.Pick(r, taken)
		Expect(ok).To(BeTrue())
		Expect(s.Steps).To(HaveLen(1))
		return s.Steps[0].(script.SayStep).Text
	}

	It("has a script for each turn; the last one repeats", func() {
		f := parseFile(`{"turns":[{"steps":[{"say":"one"}],"stepDelayMs":5},[{"say":"two"}]]}`)
		Expect(f).To(Equal(script.File{Turns: []script.Script{
			{Steps: []script.Step{script.Say("one")}, StepDelay: 5 * time.Millisecond},
			script.New(script.Say("two")),
		}}))
		for turn, want := range []string{"one", "two", "two", "two"} {
			Expect(plays(f, script.Request{Prompt: "go", Turn: turn + 1}, nil)).To(Equal(want), "turn %d", turn+1)
		}
	})

	It("may have a turn without steps", func() {
		s, route, ok := parseFile(`{"turns":[[]]}`).Pick(script.Request{Turn: 1}, nil)
		Expect(s).To(Equal(script.New()))
		Expect(route).To(Equal(-1))
		Expect(ok).To(BeTrue())
	})

	DescribeTable("may be a script, which every turn plays",
		func(text string, want script.Script) {
			Expect(parseFile(text)).To(Equal(script.File{Turns: []script.Script{want}}))
		},
		Entry("as an array", `[{"say":"x"}]`, script.New(script.Say("x"))),
		Entry("as an object", ` {"steps":[{"say":"x"}],"stepDelayMs":1000} `, script.Script{Steps: []script.Step{script.Say("x")}, StepDelay: time.Second}),
		Entry("without steps", `[]`, script.New()),
	)

	DescribeTable("has routes that a turn takes",
		func(when string, r script.Request, taken bool) {
			f := parseFile(`{"routes":[{"when":` + when + `,"steps":[{"say":"route"}]}],"turns":[[{"say":"turn"}]]}`)
			Expect(plays(f, r, nil)).To(Equal(map[bool]string{true: "route", false: "turn"}[taken]))
		},
		Entry("whatever it is like, if nothing is asked", `{}`, script.Request{Prompt: "x", Turn: 3, Attempt: 2}, true),
		Entry("if the prompt contains the text", `{"prompt":"the test"}`, script.Request{Prompt: "<wrapped>fix the tests</wrapped>", Turn: 1}, true),
		Entry("if it contains the text of the long form", `{"prompt":{"text":"the test"}}`, script.Request{Prompt: "fix the tests", Turn: 1}, true),
		Entry("but not if the text is in other letters", `{"prompt":"The Test"}`, script.Request{Prompt: "fix the tests", Turn: 1}, false),
		Entry("but not if the text only matches as a regular expression", `{"prompt":"t.e"}`, script.Request{Prompt: "fix the tests", Turn: 1}, false),
		Entry("if the regular expression matches somewhere", `{"prompt":{"regexp":"t[he]+"}}`, script.Request{Prompt: "fix the tests", Turn: 1}, true),
		Entry("but not if it matches nowhere", `{"prompt":{"regexp":"^the"}}`, script.Request{Prompt: "fix the tests", Turn: 1}, false),
		Entry("if the prompt is an object in JSON", `{"prompt":{"object":true}}`, script.Request{Prompt: " {\"a\": 1}\n", Turn: 1}, true),
		Entry("but not if it is a list", `{"prompt":{"object":true}}`, script.Request{Prompt: `[{}]`, Turn: 1}, false),
		Entry("but not if it only begins as an object", `{"prompt":{"object":true}}`, script.Request{Prompt: `{a}`, Turn: 1}, false),
		Entry("but not if an object is only in it", `{"prompt":{"object":true}}`, script.Request{Prompt: `{} {}`, Turn: 1}, false),
		Entry("if it is that turn of the agent", `{"turn":2}`, script.Request{Prompt: "x", Turn: 2, Attempt: 1}, true),
		Entry("but not if it is another", `{"turn":2}`, script.Request{Prompt: "x", Turn: 1, Attempt: 2}, false),
		Entry("if the agent gets this prompt for that time", `{"attempt":2}`, script.Request{Prompt: "x", Turn: 5, Attempt: 2}, true),
		Entry("but not if it gets it for another", `{"attempt":2}`, script.Request{Prompt: "x", Turn: 2, Attempt: 1}, false),
		Entry("if all conditions hold", `{"prompt":"x","turn":2,"attempt":1}`, script.Request{Prompt: "x", Turn: 2, Attempt: 1}, true),
		Entry("but not if only the prompt fits", `{"prompt":"x","turn":2,"attempt":1}`, script.Request{Prompt: "x", Turn: 3, Attempt: 1}, false),
		Entry("but not if only the numbers fit", `{"prompt":"x","turn":2,"attempt":1}`, script.Request{Prompt: "y", Turn: 2, Attempt: 1}, false),
	)

	It("has its routes tried in order, and before its turns", func() {
		f := parseFile(`{"turns":[[{"say":"turn"}]],"routes":[
			{"when":{"prompt":"ab"},"steps":[{"say":"first"}]},
			{"when":{"prompt":"a"},"steps":[{"say":"second"}]}]}`)
		for prompt, want := range map[string]string{"abc": "first", "a": "second", "b": "turn"} {
			Expect(plays(f, script.Request{Prompt: prompt, Turn: 1}, nil)).To(Equal(want), prompt)
		}
	})

	It("has routes that are taken so many times, then passed over", func() {
		f := parseFile(`{"routes":[
			{"when":{"prompt":"go"},"times":2,"steps":[{"say":"twice"}]},
			{"when":{"prompt":"go"},"steps":[{"say":"any number"}]}]}`)
		taken := map[int]int{}
		for turn, want := range []int{0, 0, 1, 1, 1} {
			_, route, ok := f.Pick(script.Request{Prompt: "go", Turn: turn + 1}, taken)
			Expect(ok).To(BeTrue())
			Expect(route).To(Equal(want), "turn %d", turn+1)
			taken[route]++
		}
	})

	It("has nothing for a turn that fits no route where there are no turns", func() {
		s, route, ok := parseFile(`{"routes":[{"when":{"prompt":"go"},"steps":[]}]}`).Pick(script.Request{Prompt: "stop", Turn: 1}, nil)
		Expect(ok).To(BeFalse())
		Expect(route).To(Equal(-1))
		Expect(s).To(BeZero())
		_, _, ok = script.File{}.Pick(script.Request{Turn: 1}, nil)
		Expect(ok).To(BeFalse())
	})

	var entries []TableEntry
	for _, r := range refusedFiles {
		entries = append(entries, Entry(r.because, r))
	}
	DescribeTable("is refused with a reason that names the turn or route, and with its place, because", func(r refused) {
		f, err := script.ParseFile([]byte(r.text()))
		Expect(err).To(MatchError(r.reason))
		Expect(refusal(err).Offset).To(Equal(strings.Index(r.json, arrow)), "the place")
		Expect(f).To(BeZero())
	}, entries)

	It("is refused with line and column where it is no JSON", func() {
		_, err := script.ParseFile([]byte("{\n  \"turns\": [\n    [{\"say\": \"x\"}],\n  ]\n}\n"))
		Expect(err).To(MatchError("invalid character ']' looking for beginning of value (line 4, column 3)"))
		Expect(refusal(err).Syntax).To(BeTrue())
	})
})

var _ = Describe("A file of scripts in Go and in JSON", func() {
	written := func(f script.File) string {
		GinkgoHelper()
		b, err := f.MarshalJSON()
		Expect(err).NotTo(HaveOccurred())
		return string(b)
	}

	DescribeTable("has",
		func(f script.File, text string) {
			Expect(written(f)).To(Equal(text))
			Expect(parseFile(text)).To(Equal(f))
		},
		Entry("a turn as a bare array, and one with a delay as an object",
			script.File{Turns: []script.Script{script.New(script.Say("a < b")), {Steps: []script.Step{script.Exit(1)}, StepDelay: time.Second}}},
			`{"turns":[[{"say":"a < b"}],{"stepDelayMs":1000,"steps":[{"exit":1}]}]}`),
		Entry("a turn without steps", script.File{Turns: []script.Script{{}}}, `{"turns":[[]]}`),
		Entry("a route that any turn takes, which is an object all the same",
			script.File{Routes: []script.Route{{Script: script.New(script.Say("x"))}}}, `{"routes":[{"steps":[{"say":"x"}]}]}`),
		Entry("routes with all that one can have",
			script.File{Routes: []script.Route{
				{When: script.When{Prompt: script.Pattern{Text: "fix"}, Turn: 2, Attempt: 3}, Times: 4, Script: script.Script{StepDelay: time.Millisecond}},
				{When: script.When{Prompt: script.Pattern{Regexp: regexp.MustCompile(`(?i)\bfix\b`)}}},
				{When: script.When{Prompt: script.Pattern{Object: true}}},
			}},
			`{"routes":[{"when":{"prompt":"fix","turn":2,"attempt":3},"times":4,"stepDelayMs":1,"steps":[]},{"when":{"prompt":{"regexp":"(?i)\\bfix\\b"}},"steps":[]},`+
				`{"when":{"prompt":{"object":true}},"steps":[]}]}`),
		Entry("turns and routes", script.File{Turns: []script.Script{{}}, Routes: []script.Route{{When: script.When{Turn: 1}}}},
			`{"turns":[[]],"routes":[{"when":{"turn":1},"steps":[]}]}`),
		Entry("nothing, which is no routes", script.File{}, `{"routes":[]}`),
	)

	It("survives the way to JSON and back, whatever is in it, but that what looks like a placeholder in Go is one in the file", func() {
		for seed := range uint64(1000) {
			f := generatedFile(seed)
			text := written(f)
			back, err := script.ParseFile([]byte(text))
			Expect(err).NotTo(HaveOccurred(), "seed %d: %s", seed, text)
			Expect(back).To(Equal(withTemplates(f)), "seed %d: %s", seed, text)
			Expect(written(back)).To(Equal(text), "seed %d", seed)
		}
	})

	It("is a field of other JSON, in both directions and as strictly; a file that was there stays", func() {
		type job struct {
			File script.File `json:"file"`
		}
		in := job{script.File{Routes: []script.Route{{Times: 1, Script: script.New(script.Say("x"))}}}}
		b, err := json.Marshal(in)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(b)).To(Equal(`{"file":{"routes":[{"times":1,"steps":[{"say":"x"}]}]}}`))
		var out job
		Expect(json.Unmarshal(b, &out)).To(Succeed())
		Expect(out).To(Equal(in))
		Expect(json.Unmarshal([]byte(`{"file":{"turn":[]}}`), &out)).To(MatchError(`unknown key "turn", did you mean "turns"?`))
		Expect(out).To(Equal(in))
	})

	It("is not changed by being written, which several may do at once", func() {
		re := regexp.MustCompile("x")
		f := script.File{Routes: []script.Route{{When: script.When{Prompt: script.Pattern{Regexp: re}}}}}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { _, _ = f.MarshalJSON() })
		}
		all.Wait()
		Expect(f.Routes[0].When.Prompt.Regexp).To(BeIdenticalTo(re))
	})

	deep := script.New(script.Say("x"))
	for range 20 {
		deep = script.New(script.Ask(script.Approval{Title: "t", Allow: deep.Steps}))
	}
	DescribeTable("is refused where JSON has no words for it:",
		func(f script.File, reason string) {
			b, err := f.MarshalJSON()
			Expect(err).To(MatchError(reason))
			Expect(*refusal(err)).To(Equal(script.Error{Reason: reason}), "it has no place")
			Expect(b).To(BeNil())
		},
		Entry("a wrong step of a turn", script.File{Turns: []script.Script{{}, script.New(script.Hold(""))}}, "turn 2: step 1 (hold): name must not be empty"),
		Entry("a wrong step of a route", script.File{Routes: []script.Route{{Script: script.New(script.Raw(""))}}}, "route 1: step 1 (raw): text must not be empty"),
		Entry("a route that is taken less than no times", script.File{Routes: []script.Route{{Times: -1}}}, "route 1: times must be 1 or more, is -1"),
		Entry("a turn before the first one", script.File{Routes: []script.Route{{When: script.When{Turn: -1}}}}, "route 1: when: turn must be 1 or more, is -1"),
		Entry("a prompt that is an object and has a text", script.File{Routes: []script.Route{{When: script.When{Prompt: script.Pattern{Text: "x", Object: true}}}}},
			"route 1: when: prompt: text and object exclude each other"),
		Entry("a prompt with a text and a regular expression", script.File{Routes: []script.Route{{When: script.When{Prompt: script.Pattern{Text: "x", Regexp: regexp.MustCompile("x")}}}}},
			"route 1: when: prompt: text and regexp exclude each other"),
		Entry("an empty regular expression, which no file can have", script.File{Routes: []script.Route{{When: script.When{Prompt: script.Pattern{Regexp: regexp.MustCompile("")}}}}},
			"route 1: when: prompt: regexp must not be empty"),
		Entry("a text that is no UTF-8", script.File{Routes: []script.Route{{When: script.When{Prompt: script.Pattern{Text: "\xff"}}}}},
			`route 1: when: prompt: text is not valid UTF-8, which JSON could not carry: "\xff"`),
		Entry("branches in branches that nobody could follow", script.File{Turns: []script.Script{deep}}, "turn 1: steps are nested more than 20 deep"),
		Entry("more than may be parsed", script.File{Turns: []script.Script{script.New(script.Say(strings.Repeat("x", script.MaxSize)))}}, "it is 4194328 bytes long; the limit is 4194304"),
	)
})

var _ = Describe("A file with fields of whoever reads it", func() {
	var got map[string]string
	BeforeEach(func() { got = map[string]string{} })
	field := func(key string) script.Field {
		return script.Field{Key: key, Read: func(value []byte) error {
			if got[key] = string(value); got[key] == `"bad"` {
				return errors.New("must be good")
			}
			return nil
		}}
	}
	read := func(text string) (script.File, error) {
		return script.ParseFile([]byte(text), field("agent"), field("stdout"))
	}

	It("has them beside its scripts, in any order, and hands over each one's JSON as it stands", func() {
		Expect(read(`{"stdout": { "a" : [1,2] }, "turns": [[{"say": "x"}]], "agent" : "me"}`)).To(Equal(script.File{Turns: []script.Script{script.New(script.Say("x"))}}))
		Expect(got).To(Equal(map[string]string{"agent": `"me"`, "stdout": `{ "a" : [1,2] }`}))
	})
	DescribeTable("may have any JSON there", func(value string) {
		_, err := read(`{"routes":[],"agent":` + value + `}`)
		Expect(err).NotTo(HaveOccurred())
		Expect(got).To(Equal(map[string]string{"agent": value}))
	}, Entry("null", "null"), Entry("a flag", "false"), Entry("a number", "-1.50"), Entry("a text", `"x"`), Entry("an array", "[]"), Entry("an object", "{}"))
	It("need not have them", func() {
		Expect(read(`{"steps":[]}`)).To(Equal(script.File{Turns: []script.Script{{}}}))
		Expect(read(`[{"say":"x"}]`)).To(Equal(script.File{Turns: []script.Script{script.New(script.Say("x"))}}))
		Expect(got).To(BeEmpty())
	})
	It("need not have any scripts either", func() {
		Expect(read(`{"agent":1}`)).To(Equal(script.File{}))
		Expect(read(`{}`)).To(Equal(script.File{}))
		Expect(got).To(Equal(map[string]string{"agent": "1"}))
	})
	It("may have them beside the steps of the one turn", func() {
		Expect(read(`{"stepDelayMs":5,"steps":[],"agent":1}`)).To(Equal(script.File{Turns: []script.Script{{StepDelay: 5 * time.Millisecond}}}))
	})

	DescribeTable("is as strict as any other:", func(marked, reason string) {
		text := strings.Replace(marked, arrow, "", 1)
		f, err := read(text)
		Expect(err).To(MatchError(reason))
		before := marked[:strings.Index(marked, arrow)]
		Expect(*refusal(err)).To(Equal(script.Error{
			Reason: reason, Offset: len(before), Line: 1 + strings.Count(before, "\n"), Column: len(before) - strings.LastIndex(before, "\n"),
		}))
		Expect(f).To(BeZero())
	},
		Entry("a value that is wrong for its reader", "{\"turns\": [[]],\n \"agent\": ▸\"bad\"}", "agent must be good"),
		Entry("an unknown key like one of them", `{▸"agnet":1}`, `unknown key "agnet", did you mean "agent"?`),
		Entry("an unknown key like one of the language", `{"agent":1,▸"turn":[]}`, `unknown key "turn", did you mean "turns"?`),
		Entry("one of them twice", `{"agent":1,▸"agent":2}`, `key "agent" stands there twice`),
		Entry("one of them in a turn", `{"turns":[{"steps":[],▸"agent":1}]}`, `turn 1: unknown key "agent", did you mean "steps"?`),
		Entry("turns and steps", `{"agent":1,"turns":▸[[]],"steps":[]}`, "turns and steps exclude each other"),
		Entry("no turns in turns", `{"agent":1,"turns":▸[]}`, "turns needs at least one turn"),
		Entry("a delay and nothing to delay", `▸{"agent":1,"stepDelayMs":5}`, "needs turns, routes or steps"),
		Entry("null", `▸null`, "must be an array, or an object, is null"),
		Entry("a text", `▸"x"`, `must be an array, or an object, is "x"`),
	)
	It("asks no reader where an earlier key is wrong", func() {
		_, err := read(`{"turns":5,"agent":1}`)
		Expect(err).To(MatchError("turns must be an array, is 5"))
		Expect(got).To(BeEmpty())
	})
	It("has them in no other file: without them their keys are unknown", func() {
		_, err := script.ParseFile([]byte(`{"turns":[[]],"agent":1}`))
		Expect(err).To(MatchError(`unknown key "agent", did you mean "steps"?`))
	})
})
