package script_test

import (
	"strings"
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
	{because: "a route is taken no times", json: `{"routes":[{"steps":[],"times":▸0}]}`, reason: "route 1: times must be 1 or more, is 0"},
	{because: "a when is a string", json: `{"routes":[{"when":▸"x","steps":[]}]}`, reason: `route 1: when: must be an object, is "x"`},
	{because: "a when has an unknown key", json: `{"routes":[{"when":{▸"promt":"x"},"steps":[]}]}`, reason: `route 1: when: unknown key "promt", did you mean "prompt"?`},
	{because: "a when is the zeroth turn", json: `{"routes":[{"when":{"turn":▸0},"steps":[]}]}`, reason: "route 1: when: turn must be 1 or more, is 0"},
	{because: "a when is a negative attempt", json: `{"routes":[{"when":{"attempt":▸-1},"steps":[]}]}`, reason: "route 1: when: attempt must be 1 or more, is -1"},
	{because: "a prompt is a number", json: `{"routes":[{"when":{"prompt":▸5},"steps":[]}]}`, reason: "route 1: when: prompt: must be a string, or an object, is 5"},
	{because: "a prompt is empty, which all would contain", json: `{"routes":[{"when":{"prompt":▸""},"steps":[]}]}`, reason: "route 1: when: prompt: text must not be empty"},
	{because: "a prompt has a text and a regular expression", json: `{"routes":[{"when":{"prompt":{"regexp":"x","text":▸"x"}},"steps":[]}]}`, reason: "route 1: when: prompt: text and regexp exclude each other"},
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
