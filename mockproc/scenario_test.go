package mockproc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// refusedScenario is the text of a scenario that is none, and what is wrong with it where.
type refusedScenario struct {
	name, text, reason string
	line, column       int
}

// head is a scenario with a member more.
func head(member string) string { return "{\"name\": \"x\",\n  " + member + "}" }

var refusedScenarios = []refusedScenario{
	{"no JSON", `{"name"`, "unexpected end of JSON input", 1, 8},
	{"no object", `"happy"`, `must be an array, or an object, is "happy"`, 1, 1},
	{"without a name", "\n\n  {\"steps\": []}", "name is missing", 3, 3},
	{"with an empty name", `{"name":""}`, `name must be a string that is not empty, is ""`, 1, 9},
	{"with a name that is none", `{"name":7}`, `name must be a string that is not empty, is 7`, 1, 9},
	{"with an unknown key", head(`"afterTurns": 1`), `unknown key "afterTurns", did you mean "afterTurn"?`, 2, 3},
	{"with a key twice", head(`"name": "y"`), `key "name" stands there twice`, 2, 3},
	{"with a handshake that is none", head(`"handshake": 100`), "handshake must be an object with initializeMs and newSessionMs, is 100", 2, 16},
	{"with a handshake of nothing", head(`"handshake": null`), "handshake must be an object with initializeMs and newSessionMs, is null", 2, 16},
	{"with an unknown key in the handshake", head(`"handshake": {"newSession": 1}`), `handshake has the unknown key "newSession", did you mean "newSessionMs"?`, 2, 16},
	{"with a key of other letters in the handshake", head(`"handshake": {"newsessionms": 1}`), `handshake has the unknown key "newsessionms", did you mean "newSessionMs"?`, 2, 16},
	{"with a key twice in the handshake", head(`"handshake": {"newSessionMs": 1, "newSessionMs": 2}`), `handshake has "newSessionMs" twice`, 2, 16},
	{"with a wait below nothing", head(`"handshake": {"initializeMs": -1}`), "handshake has initializeMs, which must be a whole number of milliseconds, 0 or more, is -1", 2, 16},
	{"with a wait of half a millisecond", head(`"handshake": {"newSessionMs": 0.5}`), "handshake has newSessionMs, which must be a whole number of milliseconds, 0 or more, is 0.5", 2, 16},
	{"with a wait that is too long", head(`"handshake": {"newSessionMs": 1e300}`), "handshake has newSessionMs, which must be a whole number of milliseconds, 0 or more, is 1e300", 2, 16},
	{"with a wait in words", head(`"handshake": {"newSessionMs": "1s"}`), `handshake has newSessionMs, which must be a whole number of milliseconds, 0 or more, is "1s"`, 2, 16},
	{"with an unknown profile", head(`"profile": "sead"`), `profile has "sead", did you mean "seed"? There are plain, seed`, 2, 14},
	{"with a profile that is none", head(`"profile": 1`), "profile must be plain or seed, is 1", 2, 14},
	{"with an unknown dialect", head(`"dialect": "lsp"`), `dialect must be acp, is "lsp"`, 2, 14},
	{"with an unknown fault", head(`"faults": ["earlyUpdate", "authRequird"]`), `faults has "authRequird", did you mean "authRequired"? There are authRequired, earlyUpdate, openAfterExit, sameSessionId`, 2, 13},
	{"with faults that are no list", head(`"faults": "earlyUpdate"`), `faults must be an array of names, is "earlyUpdate"`, 2, 13},
	{"with faults of nothing", head(`"faults": null`), "faults must be an array of names, is null", 2, 13},
	{"with a fault that is no name", head(`"faults": [1]`), "faults must be authRequired or earlyUpdate or openAfterExit or sameSessionId, is 1", 2, 13},
	{"with a signal that cannot be ignored", head(`"ignore": ["SIGKILL"]`), `ignore has "SIGKILL"; there are EOF, SIGTERM`, 2, 13},
	{"with an unknown end", head(`"afterTurn": "leave"`), `afterTurn has "leave"; there are stay, exit`, 2, 16},
	{"with a turn that is wrong", head(`"turns": [{"steps": [{"say": 1}]}]`), "turn 1: step 1 (say): must be a string, or an object, is 1", 2, 32},
	{"with a route that is wrong", head(`"routes": [{"when": {"attemp": 1}, "steps": []}]`), `route 1: when: unknown key "attemp", did you mean "attempt"?`, 2, 24},
}

var _ = Describe("The file of a scenario", func() {
	DescribeTable("is refused, with the reason and the place", func(r refusedScenario) {
		s, err := mockproc.ParseScenario([]byte(r.text))
		Expect(s).To(BeZero())
		var e *script.Error
		Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
		Expect(e.Reason).To(Equal(r.reason))
		Expect([]int{e.Line, e.Column}).To(Equal([]int{r.line, r.column}))
		var again mockproc.Scenario
		if json.Valid([]byte(r.text)) {
			Expect(json.Unmarshal([]byte(r.text), &again)).To(MatchError(err.Error()))
			Expect(again).To(BeZero())
		}
	}, func() (entries []TableEntry) {
		for _, r := range refusedScenarios {
			entries = append(entries, Entry(r.name, r))
		}
		return entries
	}())

	It("says all that a process is", func() {
		s := parsed(`{
			"name":      "flaky",
			"handshake": {"initializeMs": 20, "newSessionMs": 1e2},
			"profile":   "seed",
			"dialect":   "acp",
			"faults":    ["earlyUpdate", "sameSessionId"],
			"ignore":    ["SIGTERM", "EOF"],
			"afterTurn": "exit",
			"routes":    [{"when": {"attempt": 1}, "steps": [{"fail": {"message": "rate limit", "code": 429}}]}],
			"turns":     [{"steps": [{"say": "done"}]}]
		}`)
		Expect(s).To(Equal(mockproc.Scenario{
			Name: "flaky", Handshake: mockproc.Handshake{Initialize: 20 * time.Millisecond, NewSession: 100 * time.Millisecond}, Profile: acp.Seed,
			Faults: []mockproc.Fault{mockproc.EarlyUpdate, mockproc.SameSessionID}, Ignore: []string{"SIGTERM", "EOF"}, AfterTurn: "exit",
			File: script.File{
				Routes: []script.Route{{When: script.When{Attempt: 1}, Script: script.New(script.FailStep{Message: "rate limit", Code: 429})}},
				Turns:  []script.Script{script.New(script.Say("done"))},
			},
		}))
	})
	It("may be a single script, as that of an agent", func() {
		Expect(parsed(`{"name":"x","steps":[{"say":"hi"}]}`).Turns).To(Equal([]script.Script{script.New(script.Say("hi"))}))
	})
	It("is written as it was read, each member in its place", func() {
		for _, text := range []string{
			`{"name":"x"}`,
			`{"name":"<&>","handshake":{"initializeMs":1,"newSessionMs":2},"profile":"seed","faults":["authRequired"],"ignore":["EOF"],"afterTurn":"stay","turns":[[{"say":"<&>"}]]}`,
			`{"name":"x","handshake":{"newSessionMs":2},"turns":[[{"say":"a"}]],"routes":[{"when":{"prompt":"a"},"times":2,"steps":[]}]}`,
		} {
			b, err := parsed(text).MarshalJSON()
			Expect(err).NotTo(HaveOccurred())
			Expect(string(b)).To(Equal(text))
		}
	})
	It("is the same scenario when it was written and read again, whatever is in it", func() {
		for seed := range uint64(2000) {
			s := generatedScenario(seed)
			b, err := json.Marshal(s)
			Expect(err).NotTo(HaveOccurred())
			var again mockproc.Scenario
			Expect(json.Unmarshal(b, &again)).To(Succeed(), "%s", b)
			Expect(again).To(Equal(s), "%s", b)
		}
	})
	DescribeTable("cannot be written of what could not be read", func(s mockproc.Scenario, reason string) {
		_, err := s.MarshalJSON()
		Expect(err).To(MatchError("mockproc: scenario x: " + reason))
	},
		Entry("an unknown profile", mockproc.Scenario{Name: "x", Profile: "sead"}, `profile has "sead", did you mean "seed"? There are plain, seed`),
		Entry("an unknown fault", mockproc.Scenario{Name: "x", Faults: []mockproc.Fault{"none"}},
			`faults has "none"; there are authRequired, earlyUpdate, openAfterExit, sameSessionId`),
		Entry("something that cannot be ignored", mockproc.Scenario{Name: "x", Ignore: []string{"SIGKILL"}}, `ignore has "SIGKILL"; there are EOF, SIGTERM`),
		Entry("an unknown end", mockproc.Scenario{Name: "x", AfterTurn: "go"}, `afterTurn has "go"; there are stay, exit`),
		Entry("a wait below nothing", mockproc.Scenario{Name: "x", Handshake: mockproc.Handshake{Initialize: -time.Second}},
			"handshake has initializeMs, which must be a whole number of milliseconds, 0 or more, is -1000"),
		Entry("a wait that is no whole millisecond", mockproc.Scenario{Name: "x", Handshake: mockproc.Handshake{NewSession: time.Microsecond}},
			"handshake has newSessionMs, which must be a whole number of milliseconds, 0 or more, is 1µs"),
		Entry("a step that is wrong", mockproc.Scenario{Name: "x", File: script.File{Turns: []script.Script{script.New(script.SleepStep{Duration: -1})}}},
			"turn 1: step 1 (sleep): ms must be a whole number of milliseconds, 0 or more, is -1ns"),
	)
	It("has a name in valid UTF-8", func() {
		_, err := mockproc.Scenario{Name: "\xff"}.MarshalJSON()
		Expect(err).To(MatchError(ContainSubstring(`name must be valid UTF-8, is "\xff"`)))
	})
	It("has a place for what is wrong in a file, and none for what was made in Go", func() {
		_, err := mockproc.Scenario{Name: "x", AfterTurn: "go"}.MarshalJSON()
		var e *script.Error
		Expect(errors.As(err, &e)).To(BeTrue())
		Expect(e.Line).To(BeZero())
	})
})

var _ = Describe("The scenarios that come with the kit", func() {
	It("have these names, and know them", func() {
		Expect(mockproc.Scenarios()).To(Equal([]string{
			"error", "happy", "rate_limit", "scripted", "seed/error", "seed/happy", "seed/rate_limit", "seed/slow", "slow"}))
		for _, name := range mockproc.Scenarios() {
			s := named(name)
			Expect(s.Name).To(Equal(name))
			Expect(s.Profile == acp.Seed).To(Equal(strings.HasPrefix(name, "seed/")))
		}
	})
	const all = " error, happy, rate_limit, scripted, seed/error, seed/happy, seed/rate_limit, seed/slow, slow"
	DescribeTable("are all that there are", func(name, says string) {
		s, err := mockproc.Named(name)
		Expect(s).To(BeZero())
		Expect(err).To(MatchError(fmt.Sprintf("mockproc: there is no scenario %q%s%s", name, says, all)))
	},
		Entry(nil, "hapy", `, did you mean "happy"? There are`), Entry(nil, "Happy", `, did you mean "happy"? There are`),
		Entry(nil, "", "; use"), Entry(nil, "../mock", "; use"), Entry(nil, "seed", "; use"),
	)
	It("are not had by their name alone, which plays what a prompt carries in any other scenario", func() {
		t := aTest()
		Expect(func() { mockproc.Start(t, mockproc.Scenario{Name: "rate_limit"}) }).To(PanicWith(
			`mockproc: scenario rate_limit: there are neither turns nor routes; the one that comes with the kit is Named("rate_limit")`))
	})
	It("are read from a file, whose errors say where", func() {
		file := filepath.Join(GinkgoT().TempDir(), "mine.json")
		Expect(os.WriteFile(file, []byte("{\"name\":\"mine\",\n \"turns\":[[{\"sya\":1}]]}"), 0o600)).To(Succeed())
		_, err := mockproc.ReadScenario(file)
		Expect(err).To(MatchError(file + `:2:13: turn 1: step 1: unknown key "sya", did you mean "say"?`))
		Expect(os.WriteFile(file, []byte(`{"name":"mine"}`), 0o600)).To(Succeed())
		Expect(mockproc.ReadScenario(file)).To(HaveField("Name", "mine"))
		_, err = mockproc.ReadScenario(file + "x")
		Expect(err).To(MatchError(And(HavePrefix("mockproc: open "), HaveSuffix("no such file or directory"))))
		Expect(errors.Is(err, fs.ErrNotExist)).To(BeTrue())
	})
	It("are files that can be copied and changed", func() {
		data, err := os.ReadFile("scenarios/happy.json")
		Expect(err).NotTo(HaveOccurred())
		s := parsed(strings.Replace(string(data), `"newSessionMs": 100`, `"newSessionMs": 50`, 1))
		Expect(s.Handshake.NewSession).To(Equal(50 * time.Millisecond))
		s.Handshake = named("happy").Handshake
		Expect(s).To(Equal(named("happy")))
	})
})

var _ = Describe("A scenario", bubble.InBubble, func() {
	It("of nothing is happy, and so is one that says only how", func() {
		Expect(played(mockproc.Scenario{}).lines()).To(Equal(played(named("happy")).lines()))
		written, err := json.Marshal(mockproc.Scenario{})
		Expect(err).NotTo(HaveOccurred())
		Expect(parsed(string(written))).To(Equal(named("happy")))

		c := played(mockproc.Scenario{Handshake: mockproc.Handshake{Initialize: time.Second}})
		Expect(c.times()[:3]).To(Equal([]string{"1000 answer 0", "1100 answer 1", "1500 agent_thought_chunk"}), "what is not said is as in happy")
		stays, m := start(mockproc.Scenario{AfterTurn: "stay"})
		stays.open()
		stays.answer(stays.prompt("go"))
		time.Sleep(time.Hour)
		Expect(m.Exited()).NotTo(BeClosed())
		m.Kill(os.Kill)
	})
	It("of nothing but the origin's profile is the origin's happy", func() {
		c, m := start(mockproc.Scenario{Profile: acp.Seed})
		c.open()
		c.prompt("go")
		c.permission()
		Expect(c.times()).To(HaveLen(6))
		Expect(c.last()).To(ContainSubstring("tc_1"))
		m.Kill(os.Kill)
		s, m := start(mockproc.Scenario{Profile: acp.Plain})
		s.open()
		s.prompt("go")
		s.rest()
		Expect(s.times()[len(s.heard)-1]).To(Equal("4000 exit 0"))
		Expect(m.Killed()).To(BeFalse())
	})
	It("of scripts plays them turn by turn, and then the last one again", func() {
		c, m := start(mockproc.Turns(script.New(script.Say("one")), script.New(script.Say("two"))))
		c.open()
		for _, want := range []string{"one", "two", "two"} {
			id := c.prompt("go")
			Expect(c.until("agent_message_chunk")).To(ContainSubstring(`"text":"` + want + `"`))
			c.answer(id)
		}
		m.Kill(os.Kill)
		Expect(m.Dump()).To(ContainSubstring("(turns)"))
	})
	It("of scripts that has no name has that of one of scripts", func() {
		c, m := start(mockproc.Scenario{File: script.File{Turns: []script.Script{script.New(script.Say("one"))}}})
		c.open()
		c.answer(c.prompt("go"))
		m.Kill(os.Kill)
		Expect(m.Dump()).To(ContainSubstring("(turns)"))
	})
	It("of no scripts plays what each prompt carries, or the file in the agent's folder, or repeats the prompt", func() {
		dir := GinkgoT().TempDir()
		for _, s := range []mockproc.Scenario{mockproc.Scripted(), named("scripted"), {Name: "mine", File: script.File{Turns: []script.Script{}, Routes: []script.Route{}}}} {
			Expect(os.RemoveAll(dir + "/.fake-agent.json")).To(Succeed())
			c, m := start(s)
			c.initialize()
			c.newSession(dir)
			says := func(prompt string) string {
				id := c.prompt(prompt)
				said := c.until("agent_message_chunk")
				c.answer(id)
				return said
			}
			Expect(says(`[{"say":"hi"}]`)).To(ContainSubstring(`"text":"hi"`))
			Expect(says("```fake-agent\n[{\"say\":\"fenced\"}]\n```")).To(ContainSubstring(`"text":"fenced"`))
			Expect(says("tests, please")).To(ContainSubstring("fake-agent received: tests, please"))
			Expect(os.WriteFile(dir+"/.fake-agent.json", []byte(`{"steps":[{"say":"from the folder"}]}`), 0o644)).To(Succeed())
			Expect(says("tests, please")).To(ContainSubstring("from the folder"))
			m.Kill(os.Kill)
		}
	})
	It("of scripts plays what a prompt carries in their place, and does not look into the folder", func() {
		dir := GinkgoT().TempDir()
		Expect(os.WriteFile(dir+"/.fake-agent.json", []byte(`{"steps":[{"say":"from the folder"}]}`), 0o644)).To(Succeed())
		c, m := start(mockproc.Turns(script.New(script.Say("planned"))))
		c.initialize()
		c.newSession(dir)
		id := c.prompt("go")
		Expect(c.until("agent_message_chunk")).To(ContainSubstring("planned"))
		c.answer(id)
		id = c.prompt(`[{"say":"carried"}]`)
		Expect(c.until("agent_message_chunk")).To(ContainSubstring("carried"))
		c.answer(id)
		m.Kill(os.Kill)
	})
	It("of a user's file takes its routes, by prompt, by attempt, and as often as they may be taken", func() {
		c, m := start(parsed(`{
			"name": "flaky",
			"routes": [
				{"when": {"prompt": "deploy", "attempt": 1}, "steps": [{"fail": {"message": "rate limit", "code": 429}}]},
				{"when": {"prompt": {"regexp": "(?i)^test"}}, "times": 2, "steps": [{"say": "tested"}]},
				{"when": {"turn": 5}, "steps": [{"say": "the fifth"}]}
			],
			"turns": [{"steps": [{"say": "else"}]}]
		}`))
		c.open()
		says := func(prompt string) string {
			from := len(c.heard)
			c.answer(c.prompt(prompt))
			line := c.heard[from].line
			if _, text, ok := strings.Cut(line, `"text":"`); ok {
				text, _, _ = strings.Cut(text, `"`)
				return text
			}
			return kindOf(line)
		}
		Expect(says("deploy it")).To(Equal("error 429"))
		Expect(says("deploy it")).To(Equal("else"))
		Expect(says("Test it")).To(Equal("tested"))
		Expect(says("test that")).To(Equal("tested"))
		Expect(says("test it all")).To(Equal("the fifth"), "the second route was taken twice")
		Expect(says("test it all")).To(Equal("else"))

		c.newSession(os.TempDir())
		Expect(says("test it")).To(Equal("tested"), "each session counts for itself")
		m.Kill(os.Kill)
	})
	It("is that of the one process: another one begins anew", func() {
		s := parsed(`{"name":"x","routes":[{"when":{"turn":1},"times":1,"steps":[{"say":"first"}]}],"turns":[{"steps":[{"say":"later"}]}]}`)
		for range 3 {
			c, m := start(s)
			c.open()
			id := c.prompt("go")
			Expect(c.until("agent_message_chunk")).To(ContainSubstring("first"))
			c.answer(id)
			m.Kill(os.Kill)
		}
	})
})

// generatedScenario is a scenario with this and that.
func generatedScenario(seed uint64) mockproc.Scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	ms := func() time.Duration { return []time.Duration{0, time.Millisecond, 100 * time.Hour}[r.IntN(3)] }
	text := func() string { return []string{"x", "<&>", "\u2028 \"é\\", "😀\n\t"}[r.IntN(4)] }
	s := mockproc.Scenario{
		Name: text(), Handshake: mockproc.Handshake{Initialize: ms(), NewSession: ms()}, Profile: []acp.Profile{"", acp.Seed}[r.IntN(2)],
		AfterTurn: []string{"", "stay", "exit"}[r.IntN(3)],
	}
	for range r.IntN(3) {
		s.Faults = append(s.Faults, []mockproc.Fault{mockproc.OpenAfterExit, mockproc.SameSessionID, mockproc.EarlyUpdate, mockproc.AuthRequired}[r.IntN(4)])
		s.Ignore = append(s.Ignore, []string{"EOF", "SIGTERM"}[r.IntN(2)])
	}
	some := func() script.Script {
		return script.Script{StepDelay: ms(), Steps: []script.Step{
			script.Say(text()), script.FailStep{Message: text(), Code: r.IntN(500)}, script.ExitStep{Code: r.IntN(256)}, script.RawStep{Text: text()},
			script.StderrStep{Text: text()}, script.SleepStep{Duration: ms()},
		}[r.IntN(6):]}
	}
	for range r.IntN(3) {
		s.Turns = append(s.Turns, some())
	}
	for range r.IntN(3) {
		s.Routes = append(s.Routes, script.Route{When: script.When{Prompt: script.Pattern{Text: text()}, Attempt: r.IntN(3)}, Times: r.IntN(3), Script: some()})
	}
	return s
}
