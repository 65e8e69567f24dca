package timelinekit_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

const table = "../testdata/scenarios"

var _ = Describe("The scenario table", bubble.InBubble, func() {
	for name, s := range timelinekit.Scenarios(table) {
		It(name, func(ctx SpecContext) {
			if needsShell(s) {
				Skip("needs a Unix shell")
			}
			s.Run(ctx, timelinekit.NewHost(GinkgoT()))
		})
	}
})

// The same in plain tests.
func TestScenarios(t *testing.T) {
	for name, s := range timelinekit.Scenarios(table) {
		t.Run(name, func(t *testing.T) {
			if needsShell(s) {
				t.Skip("needs a Unix shell")
			}
			bubble.Test(t, func(t *testing.T) { s.Run(t.Context(), timelinekit.NewHost(t)) })
		})
	}
}

// The same on another provider, as whoever has an agent of his own would run it. This one does not wait, so it needs no virtual time.
func TestScenariosOnAnotherProvider(t *testing.T) {
	for name, s := range timelinekit.Scenarios(table) {
		t.Run(name, func(t *testing.T) {
			if needsShell(s) {
				t.Skip("needs a Unix shell")
			}
			cfg := fakeagent.Scripted()
			cfg.AllowShell, cfg.Instant = true, true
			host := timelinekit.NewHost(t, timelinekit.WithProvider("plain", fakeagent.NewT(t, fakeagent.Config{})), timelinekit.WithProvider("mine", fakeagent.NewT(t, cfg)))
			s.Run(t.Context(), host, timelinekit.Provider("mine"))
		})
	}
}

func needsShell(s timelinekit.Scenario) bool {
	return runtime.GOOS == "windows" && strings.Contains(strings.Join(s.Prompts, ""), `"run":true`)
}

var _ = Describe("The scenario table as a whole", func() {
	It("has every step of the language", func() {
		var schema struct {
			Defs struct {
				Step struct {
					OneOf []struct{ Required []string }
				}
			} `json:"$defs"`
		}
		Expect(json.Unmarshal(script.Schema(), &schema)).To(Succeed())
		missing := map[string]bool{}
		for _, step := range schema.Defs.Step.OneOf {
			missing[step.Required[0]] = true
		}
		Expect(missing).To(HaveLen(23), "the steps of the language")
		for _, s := range timelinekit.Scenarios(table) {
			for _, text := range append(slices.Collect(maps.Values(s.Files)), s.Prompts...) {
				one, _, _ := script.FromPrompt(text)
				for _, step := range one.Steps {
					delete(missing, step.Key())
				}
			}
		}
		Expect(missing).To(BeEmpty(), "steps that no scenario has")
	})

	It("has more than twenty scenarios, each with prose and a name of its own", func() {
		names := map[string]bool{}
		for name, s := range timelinekit.Scenarios(table) {
			Expect(s.Name).To(Equal(name))
			Expect(len(s.Prose)).To(BeNumerically(">", 80), name)
			names[name] = true
		}
		Expect(len(names)).To(BeNumerically(">", 20))
	})

	It("has no section that anybody could have left wrong: -understudy.update writes all of them again as they are", func(ctx SpecContext) {
		update(true)
		copies := GinkgoT().TempDir()
		originals, err := filepath.Glob(table + "/*.txtar")
		Expect(err).NotTo(HaveOccurred())
		for _, file := range originals {
			text, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			Expect(os.WriteFile(filepath.Join(copies, filepath.Base(file)), spoilt(text), 0o644)).To(Succeed())
		}
		cfg := fakeagent.Scripted()
		cfg.AllowShell, cfg.Instant = true, true
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("mine", fakeagent.NewT(GinkgoT(), cfg)))
		for name, s := range timelinekit.Scenarios(copies) {
			if !needsShell(s) {
				Expect(s.Check(ctx, host)).To(MatchError(ContainSubstring("-understudy.update has written it into")), name)
				Expect(text(copies, name)).To(Equal(text(table, name)))
			}
		}
		update(false)
		for name, s := range timelinekit.Scenarios(copies) {
			if !needsShell(s) {
				Expect(s.Check(ctx, host)).To(Succeed(), name)
			}
		}
	})
})

// spoilt is a scenario all of whose expected sections say something else.
func spoilt(scenario []byte) []byte {
	var out strings.Builder
	expected := false
	for line := range strings.Lines(string(scenario)) {
		if strings.HasPrefix(line, "-- ") {
			_, rest, _ := strings.Cut(line, " ")
			expected = slices.ContainsFunc([]string{"want/", "timeline", "events", "log"}, func(s string) bool { return strings.HasPrefix(rest, s) })
			out.WriteString(line)
			if expected {
				out.WriteString("something else\n")
			}
		} else if !expected {
			out.WriteString(line)
		}
	}
	return []byte(out.String())
}

func text(dir, name string) string {
	GinkgoHelper()
	b, err := os.ReadFile(filepath.Join(dir, name+".txtar"))
	Expect(err).NotTo(HaveOccurred())
	return string(b)
}

// update sets the flag until the spec ends.
func update(on bool) {
	GinkgoHelper()
	const name = "understudy.update"
	before := flag.Lookup(name).Value.String()
	Expect(flag.Set(name, fmt.Sprint(on))).To(Succeed())
	DeferCleanup(func() { Expect(flag.Set(name, before)).To(Succeed()) })
}

var _ = Describe("A scenario", func() {
	BeforeEach(func() { update(false) })

	// scenario is one whose file is x.txtar, in a folder of its own.
	scenario := func(text string) (s timelinekit.Scenario, dir string) {
		GinkgoHelper()
		dir = GinkgoT().TempDir()
		Expect(os.WriteFile(filepath.Join(dir, "x.txtar"), []byte(text), 0o644)).To(Succeed())
		for _, s = range timelinekit.Scenarios(dir) {
		}
		return s, dir
	}
	// complaint is the error of a scenario. Its file is x.txtar.
	complaint := func(ctx context.Context, host *timelinekit.Host, text string, opts ...timelinekit.RunOption) string {
		GinkgoHelper()
		s, dir := scenario(text)
		err := s.Check(ctx, host, opts...)
		Expect(err).To(HaveOccurred())
		return strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
	}
	const say = "It speaks.\n-- script.json --\n[{\"say\": \"hello\"}]\n"
	const said = `{"type":"assistant_message","text":"hello","messageId":"a-1-1"}` + "\n" + `{"ending":"completed"}` + "\n"
	const completed = " (now idle) ended completed\n  0 user_message \"{\\\"steps\\\":[{\\\"say\\\":\\\"hello\\\"}]}\"  <- agent-1-turn-1\n  1 assistant_message \"hello\"\n"

	It("is a value with what the file says", func() {
		s, _ := scenario("It is\nwrong.\n\n-- answers --\naccept\n none \n{\"id\": 1}\n-- prompts --\nfirst\nprompt\n\n---\n\nsecond\n-- files/a/b.txt --\nb\n-- log --\n")
		Expect(s.Name).To(Equal("x"))
		Expect(s.Prose).To(Equal("It is\nwrong."))
		Expect(s.Prompts).To(Equal([]string{"first\nprompt", "second"}))
		Expect(s.Answers).To(Equal([]string{"accept", "none", `{"id": 1}`}))
		Expect(s.Files).To(Equal(map[string]string{"a/b.txt": "b\n"}))
		s, _ = scenario(say + "-- log --\n")
		Expect(s.Prompts).To(Equal([]string{`{"steps":[{"say":"hello"}]}`}))
		Expect(s.Answers).To(BeNil())
	})

	It("comes in the order of the names, from files that end with .txtar, and as many as one takes", func() {
		dir := GinkgoT().TempDir()
		for _, name := range []string{"b.txtar", "a.txtar", "README.md", "c.txtar"} {
			Expect(os.WriteFile(filepath.Join(dir, name), nil, 0o644)).To(Succeed())
		}
		var names []string
		for name := range timelinekit.Scenarios(dir) {
			names = append(names, name)
			if name == "b" {
				break
			}
		}
		Expect(names).To(Equal([]string{"a", "b"}))
	})

	It("fails its test, and the test goes on", func(ctx SpecContext) {
		t := aTest()
		s, _ := scenario(say + "-- log --\nbye\n")
		s.Run(ctx, timelinekit.NewHost(t))
		Expect(t.End()).To(HaveExactElements(HavePrefix("timelinekit: scenario x differs:\n")))
		t = aTest()
		s, _ = scenario(say + "-- log --\nhello\n")
		s.Run(ctx, timelinekit.NewHost(t))
		Expect(t.End()).To(BeEmpty())
	})

	Context("that is wrong", func() {
		DescribeTable("says where, and what would be right",
			func(ctx SpecContext, text, want string) {
				Expect(complaint(ctx, timelinekit.NewHost(GinkgoT()), text)).To(Equal("timelinekit: " + want))
			},
			Entry("without prose", "-- script.json --\n[]\n-- log --\n", "x.txtar:1: the scenario does not say what it shows; begin with a sentence or two, above the first section"),
			Entry("empty", "", "x.txtar:1: the scenario does not say what it shows; begin with a sentence or two, above the first section"),
			Entry("without a turn", "It.\n-- log --\n", "x.txtar:1: the scenario has no turn; add a section script.json, or prompts"),
			Entry("without anything expected", say, "x.txtar:1: the scenario expects nothing; add a section timeline, log, events or want/PATH, which -understudy.update fills in"),
			Entry("with two kinds of turns", say+"-- log --\n-- prompts --\nx\n", "x.txtar:5: section prompts stands beside section script.json; a scenario has one of the two"),
			Entry("with an unknown section", say+"-- timline --\n", `x.txtar:4: unknown section "timline", did you mean "timeline"?`),
			Entry("with another one", say+"-- script.js --\n", `x.txtar:4: unknown section "script.js", did you mean "script.json"?`),
			Entry("with a misspelt folder", say+"-- wants/a.txt --\n", `x.txtar:4: unknown section "wants/a.txt", did you mean "want/PATH"?`),
			Entry("with a folder but no file", say+"-- file --\n", `x.txtar:4: unknown section "file", did you mean "files/PATH"?`),
			Entry("with a section that has no files below it", say+"-- log/a --\n", `x.txtar:4: unknown section "log/a", did you mean "log"?`),
			Entry("with a section twice", say+"-- log --\n-- log --\n", "x.txtar:5: there is a section log already, in line 4; give each its own name"),
			Entry("with a script that does not parse", "It.\n\n-- script.json --\n[\n {\"say\": \"x\"},\n {\"sya\": \"x\"}]\n-- log --\n",
				`x.txtar:6: script.json: step 2: unknown key "sya", did you mean "say"?`),
			Entry("with a script that is no JSON", "It.\n-- script.json --\n-- log --\n", "x.txtar:3: script.json: unexpected end of JSON input"),
			Entry("with an empty prompt", "It.\n-- prompts --\n\nx\n---\n\n-- log --\n", "x.txtar:2: prompts: prompt 2 is empty"),
			Entry("with no prompt", "It.\n-- prompts --\n-- log --\n", "x.txtar:2: prompts: prompt 1 is empty"),
			Entry("with an unknown answer", say+"-- answers --\naccept\nallow\n", `x.txtar:6: answers: unknown answer "allow", did you mean "accept"?`),
			Entry("with an answer to a question that is no JSON", say+"-- answers --\naccept\n{\"id\" \"x\"}\n", `x.txtar:6: answers: to a question: invalid character '"' after object key`),
			Entry("with a misspelt answer", say+"-- answers --\nacept\n", `x.txtar:5: answers: unknown answer "acept", did you mean "accept"?`),
			Entry("with a wanted file outside", say+"-- want/../a.txt --\n",
				`x.txtar:4: section "want/../a.txt": the path leaves the agent's folder, or is not the shortest; write one such as src/a.ts`),
			Entry("with a file outside", say+"-- files//etc/passwd --\n",
				`x.txtar:4: section "files//etc/passwd": the path leaves the agent's folder, or is not the shortest; write one such as src/a.ts`),
			Entry("with a path that has another one", say+"-- want/a/./b --\n",
				`x.txtar:4: section "want/a/./b": the path leaves the agent's folder, or is not the shortest; write one such as src/a.ts`),
			Entry("with the folder itself", say+"-- want/. --\n",
				`x.txtar:4: section "want/.": the path leaves the agent's folder, or is not the shortest; write one such as src/a.ts`),
			Entry("with no path", say+"-- files/ --\n",
				`x.txtar:4: section "files/": the path leaves the agent's folder, or is not the shortest; write one such as src/a.ts`),
		)

		It("is one scenario that fails, where the folder has none or does not exist", func(ctx SpecContext) {
			host, dir := timelinekit.NewHost(GinkgoT()), GinkgoT().TempDir()
			n := 0
			for name, s := range timelinekit.Scenarios(dir) {
				n++
				Expect(name).To(Equal(dir))
				Expect(s.Check(ctx, host)).To(MatchError("timelinekit: there are no scenarios: " + dir + " has no files that end with .txtar"))
			}
			for name, s := range timelinekit.Scenarios("no/such/folder") {
				n++
				Expect(name).To(Equal("no/such/folder"))
				Expect(s.Check(ctx, host)).To(And(MatchError(os.ErrNotExist), MatchError(HavePrefix("timelinekit: there are no scenarios: open no/such/folder: "))))
			}
			Expect(n).To(Equal(2))
		})
	})

	Context("that differs", func() {
		It("says all of it in one message, and how to accept it", func(ctx SpecContext) {
			host := timelinekit.NewHost(GinkgoT())
			Expect(complaint(ctx, host, `It writes, edits and runs something.
-- script.json --
[{"write": {"path": "new.txt", "content": "new\n"}},
 {"edit": {"path": "a.txt", "old": "one", "new": "two"}},
 {"bash": {"command": "npm test", "output": "1 failed", "exitCode": 1}}]
-- files/a.txt --
one
-- want/a.txt --
three
-- want/b.txt --
-- timeline --
{"type":"tool_call","callId":"t-1-1","name":"Write","detail":{"type":"write","filePath":"<cwd>/new.txt","content":"new\n"},"status":"completed","error":null}
{"type":"tool_call","callId":"t-1-2","name":"Edit","detail":{"type":"edit","filePath":"<cwd>/a.txt","oldString":"one","newString":"two"},"status":"completed","error":null}
{"type":"tool_call","callId":"t-1-3","name":"Bash","detail":{"type":"shell","command":"npm test","cwd":"<cwd>","output":"1 failed","exitCode":0},"status":"completed","error":null}
{"ending":"completed"}
-- log --
[Write] <cwd>/new.txt
[Edit] <cwd>/a.txt
[Shell] npm test
-- events --
`)).To(MatchRegexp(`(?s)^timelinekit: scenario x differs:

x.txtar:10: section want/b.txt: there is no such file afterwards

x.txtar:14: section timeline, line 3 is
    …m test","cwd":"<cwd>","output":"1 failed","exitCode":1},"status":"failed","error":"exit code 1"}
want
    …m test","cwd":"<cwd>","output":"1 failed","exitCode":0},"status":"completed","error":null}

Replaced before that:
    [^\n]* -> <cwd>

All that differs \(- want, \+ got\):
      {"type":"tool_call","callId":"t-1-1","name":"Write"[^\n]*
      {"type":"tool_call","callId":"t-1-2","name":"Edit"[^\n]*
    - …m test","cwd":"<cwd>","output":"1 failed","exitCode":0},"status":"completed","error":null}
    \+ …m test","cwd":"<cwd>","output":"1 failed","exitCode":1},"status":"failed","error":"exit code 1"}
      {"ending":"completed"}

x.txtar:20: section events is empty

.*

x.txtar:9: section want/a.txt, line 1 is
    two
want
    three

All that differs \(- want, \+ got\):
    - three
    \+ two

x.txtar: there is no section want/new.txt

All that differs \(- want, \+ got\):
    \+ new

What it played:
turn agent-1-turn-1 of agent-1 \(now idle\) ended completed
  0 user_message [^\n]*
  1 tool_call Write "new.txt" completed
  2 tool_call Edit "a.txt" completed
  3 tool_call Bash "npm test" failed: exit code 1

If that is right, -understudy.update writes it into x.txtar: timeline, events, want/a.txt, want/new.txt$`))
		})

		It("may be one line", func(ctx SpecContext) {
			Expect(complaint(ctx, timelinekit.NewHost(GinkgoT()), say+"-- timeline --\n"+strings.Replace(said, "hello", "Hello", 1))).To(Equal(
				`timelinekit: scenario x differs:

x.txtar:5: section timeline, line 1 is
    {"type":"assistant_message","text":"hello","messageId":"a-1-1"}
want
    {"type":"assistant_message","text":"Hello","messageId":"a-1-1"}

All that differs (- want, + got):
    - {"type":"assistant_message","text":"Hello","messageId":"a-1-1"}
    + {"type":"assistant_message","text":"hello","messageId":"a-1-1"}
      {"ending":"completed"}

What it played:
turn agent-1-turn-1 of agent-1` + completed + `
If that is right, -understudy.update writes it into x.txtar: timeline`))
		})

		It("is a file that is gone, and nothing to accept then", func(ctx SpecContext) {
			cwd := ""
			host := puppetHost(GinkgoT(), &puppet{
				onStart: func(s fakeagent.SessionConfig) error { cwd = s.Cwd; return nil },
				onSend: func(p *puppet, in fakeagent.TurnInput, turnID string) error {
					p.emit(in.ThreadID, turnID, event.TurnStarted{})
					err := os.Remove(filepath.Join(cwd, "sub", "a.txt"))
					p.emit(in.ThreadID, turnID, event.TurnCompleted{State: event.TurnEndCompleted})
					return err
				},
			})
			Expect(complaint(ctx, host, "It.\n-- prompts --\nhello\n-- files/sub/a.txt --\n-- log --\n[User] hello\n")).To(Equal(
				"timelinekit: scenario x differs:\n\nx.txtar:4: section files/sub/a.txt: there is no such file afterwards\n\n" +
					"What it played:\nturn T1 of agent-1 (now idle) ended completed\n  0 user_message \"hello\"  <- T1"))
		})

		It("is a file that was changed and has no section", func(ctx SpecContext) {
			host := timelinekit.NewHost(GinkgoT())
			const edit = "It.\n-- script.json --\n[{\"edit\": {\"path\": \"a.txt\", \"old\": \"one\", \"new\": \"two\"}}]\n-- files/a.txt --\none\n-- files/b.txt --\nb\n"
			Expect(complaint(ctx, host, edit+"-- log --\n[Edit] <cwd>/a.txt\n")).To(ContainSubstring("\nx.txtar: there is no section want/a.txt\n"))
			s, _ := scenario(edit + "-- want/a.txt --\ntwo")
			Expect(s.Check(ctx, host)).To(Succeed(), "what was not changed needs no section")
		})
	})

	It("does not tell a file that ends without a newline from one with it", func(ctx SpecContext) {
		s, _ := scenario("It.\n-- script.json --\n[{\"write\": {\"path\": \"a.txt\", \"content\": \"a\"}}]\n-- want/a.txt --\na\n")
		Expect(s.Check(ctx, timelinekit.NewHost(GinkgoT()))).To(Succeed())
	})

	It("has its own agent each time, in a folder with its files and no others", func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		s, _ := scenario("It.\n-- prompts --\nhello\n-- files/.fake-agent.json --\n[{\"write\": {\"path\": \"a.txt\", \"content\": \"a\"}}]\n-- want/a.txt --\na\n-- timeline --\n" +
			`{"type":"tool_call","callId":"t-1-1","name":"Write","detail":{"type":"write","filePath":"<cwd>/a.txt","content":"a"},"status":"completed","error":null}` + "\n{\"ending\":\"completed\"}\n")
		for range 2 {
			Expect(s.Check(ctx, host)).To(Succeed())
		}
	})

	Context("with answers", func() {
		const ask = "It asks.\n-- script.json --\n[{\"approval\": [{\"title\": \"ls\"}, {\"title\": \"rm\"}]}, {\"say\": \"x\"}]\n-- log --\n[Shell] ls\n[Shell] rm\nx\n"

		It("accepts everything without them", func(ctx SpecContext) {
			s, _ := scenario(ask)
			Expect(s.Check(ctx, timelinekit.NewHost(GinkgoT()))).To(Succeed())
		})

		It("needs one for each approval, or the turn is interrupted", func(ctx SpecContext) {
			host := timelinekit.NewHost(GinkgoT())
			Expect(complaint(ctx, host, ask+"-- answers --\naccept\n")).To(Equal(
				`timelinekit: scenario x (x.txtar): answers: there is none for command_execution_approval "rm"; add a line`))
			Expect(host.Agent("agent-1")).To(HaveField("Status", timeline.AgentIdle))
			Expect(complaint(ctx, timelinekit.NewHost(GinkgoT()), ask+"-- answers --\n")).To(Equal(
				`timelinekit: scenario x (x.txtar): answers: there is none for command_execution_approval "ls"; add a line`))
		})

		It("needs an approval for each", func(ctx SpecContext) {
			Expect(complaint(ctx, timelinekit.NewHost(GinkgoT()), ask+"-- answers --\naccept\ndecline\ncancel\nnone\n")).To(MatchRegexp(
				`^timelinekit: scenario x \(x.txtar\): answers: the agent asked only 2 times, and \["cancel" "none"\] was not used:\n  0 user_message .*`))
		})

		It("says when the agent does not offer one", func(ctx SpecContext) {
			Expect(complaint(ctx, timelinekit.NewHost(GinkgoT()), "It.\n-- script.json --\n[{\"approval\": {\"title\": \"ls\", \"options\": [\"accept\"]}}]\n-- log --\n-- answers --\ndecline\n")).To(Equal(
				`timelinekit: scenario x (x.txtar): timelinekit: agent agent-1: fakeagent: request req-1 offers accept, cancel, not "decline"`))
		})

		// question is a scenario whose questions are these, and whose last words are the answers.
		question := func(more string, questions ...string) string {
			return "It asks.\n-- prompts --\nhello\n-- files/.fake-agent.json --\n[" + strings.Join(questions, ",") + ", {\"say\": \"{{answers}}\"}]\n" + more
		}
		const (
			blocking = `{"question": {"blocking": true, "questions": [
				{"id": "a", "header": "A", "question": "Which?", "options": [{"label": "Blue"}, {"label": "Green"}]}, {"id": "b", "header": "B", "question": "What else?"}]}}`
			open = `{"question": {"questions": [{"id": "c", "header": "C", "question": "Or what?"}]}}`
		)

		It("gives a question that blocks its first options without them, and nothing where there are none", func(ctx SpecContext) {
			s, _ := scenario(question("-- log --\n[User] hello\n{\"a\":\"Blue\",\"b\":\"\"}\n", open, blocking))
			Expect(s.Check(ctx, timelinekit.NewHost(GinkgoT()))).To(Succeed())
		})

		It("needs an object for each question that blocks, and none for others, in order with the approvals", func(ctx SpecContext) {
			const ls = `{"approval": {"title": "ls", "deny": [{"say": "no ls"}]}}`
			s, _ := scenario(question("-- answers --\n{\"a\": \"Green\"}\ndecline\n{\"b\": 2}\n-- log --\n[User] hello\n[Shell] ls\nno ls\n{\"b\":2}\n", open, blocking, ls, open, blocking))
			Expect(s.Check(ctx, timelinekit.NewHost(GinkgoT()))).To(Succeed())
			const which = `timelinekit: scenario x (x.txtar): answers: `
			Expect(complaint(ctx, timelinekit.NewHost(GinkgoT()), question("-- answers --\n-- log --\n", blocking))).To(Equal(
				which + `there is none for question "Which?" (a) and "What else?" (b); add a line`))
			Expect(complaint(ctx, timelinekit.NewHost(GinkgoT()), question("-- answers --\naccept\n-- log --\n", blocking))).To(Equal(
				which + `question "Which?" (a) and "What else?" (b) got accept; an approval is answered by a word such as accept, a question by an object such as {"id": "text"}`))
			Expect(complaint(ctx, timelinekit.NewHost(GinkgoT()), question("-- answers --\n{}\n-- log --\n", ls))).To(Equal(
				which + `command_execution_approval "ls" got {}; an approval is answered by a word such as accept, a question by an object such as {"id": "text"}`))
			Expect(complaint(ctx, timelinekit.NewHost(GinkgoT()), question("-- answers --\n{\"z\": 1}\n-- log --\n", blocking))).To(HaveSuffix(
				`request req-1 has no question "z"; it asks a, b`))
		})

		It("may leave a question open", bubble.InBubble, func(ctx SpecContext) {
			Expect(complaint(ctx, timelinekit.NewHost(GinkgoT()), question("-- answers --\nnone\n-- log --\n", blocking))).To(MatchRegexp(
				`(?s)^timelinekit: scenario x \(x.txtar\): timelinekit: turn agent-1-turn-1 has not ended \(gave up after 30s.*question req-1 is open`))
		})

		It("gives up on one that is left open and has no timeout, and shows where", bubble.InBubble, func(ctx SpecContext) {
			began, host := time.Now(), timelinekit.NewHost(GinkgoT())
			Expect(complaint(ctx, host, ask+"-- answers --\naccept\nnone\n")).To(MatchRegexp(
				`(?s)^timelinekit: scenario x \(x.txtar\): timelinekit: turn agent-1-turn-1 has not ended \(gave up after 30s.*req-2 "rm" is open`))
			Expect(host.Agent("agent-1")).To(HaveField("Status", timeline.AgentIdle))
			Expect(time.Since(began)).To(Equal(30 * time.Second))
		})
	})

	Context("on another provider", func() {
		It("needs gates where it holds", func(ctx SpecContext) {
			Expect(complaint(ctx, puppetHost(GinkgoT(), &puppet{}), "It.\n-- prompts --\nhello\n-- files/.fake-agent.json --\n{\"turns\":[[], [{\"hold\":\"gate\"}]]}\n-- log --\n")).To(HaveSuffix(
				"provider puppet has no gates, and the scenario has holds"))
			for _, inside := range []string{`"approval": {"title": "x", "deny": [%s]}`, `"task": {"description": "x", "steps": [%s]}`, `"mcp": {"server": "x", "tool": "x", "else": [%s]}`} {
				prompt := "[{" + fmt.Sprintf(inside, `{"hold": "gate"}`) + "}]"
				Expect(complaint(ctx, puppetHost(GinkgoT(), &puppet{}), "It.\n-- prompts --\n"+prompt+"\n-- log --\n")).To(Equal(
					"timelinekit: scenario x (x.txtar): provider puppet has no gates, and the scenario has holds"))
			}
			Expect(complaint(ctx, puppetHost(GinkgoT(), &puppet{}), "It.\n-- prompts --\nhello\n-- files/.fake-agent.json --\n{\"routes\":[{\"when\":{},\"steps\":[{\"hold\":\"gate\"}]}]}\n-- log --\n")).To(HaveSuffix(
				"provider puppet has no gates, and the scenario has holds"))
		})

		It("leaves nothing behind in it: no subscriber, and nobody who waits at a gate", func(ctx SpecContext) {
			agent := &counted{Instance: fakeagent.NewT(GinkgoT(), fakeagent.Scripted())}
			host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("counted", agent))
			s, _ := scenario("It.\n-- script.json --\n[{\"hold\": \"gate\"}]\n-- log --\n")
			for range 20 {
				Expect(s.Check(ctx, host)).To(Succeed())
				stacks := make([]byte, 1<<20)
				Expect(string(stacks[:runtime.Stack(stacks, true)])).NotTo(ContainSubstring("AwaitHeld"))
			}
			Expect(agent.subscribers.Load()).To(BeEquivalentTo(1), "the host itself")
		})

		It("waits for its last event, which the host may have before the scenario", bubble.InBubble, func(ctx SpecContext) {
			host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("slow", &slow{Instance: fakeagent.NewT(GinkgoT(), fakeagent.Scripted())}))
			s, _ := scenario("It.\n-- script.json --\n[]\n-- events --\n{\"type\":\"turn.started\"}\n{\"type\":\"turn.completed\",\"payload\":{\"state\":\"completed\"}}\n")
			Expect(s.Check(ctx, host)).To(Succeed())
		})

		It("may leave a link in the folder, which is no file", func(ctx SpecContext) {
			host := puppetHost(GinkgoT(), &puppet{
				onStart: func(s fakeagent.SessionConfig) error { return os.Symlink(s.Cwd, filepath.Join(s.Cwd, "link")) },
				onSend: func(p *puppet, in fakeagent.TurnInput, turnID string) error {
					p.emit(in.ThreadID, turnID, event.TurnStarted{})
					p.emit(in.ThreadID, turnID, event.TurnCompleted{State: event.TurnEndCompleted})
					return nil
				},
			})
			if runtime.GOOS == "windows" {
				Skip("links need rights there")
			}
			s, _ := scenario("It.\n-- prompts --\nhello\n-- log --\n[User] hello\n")
			Expect(s.Check(ctx, host)).To(Succeed())
		})

		It("takes a session that exits for the end of the turn", func(ctx SpecContext) {
			host := puppetHost(GinkgoT(), &puppet{onSend: func(p *puppet, in fakeagent.TurnInput, turnID string) error {
				p.emit(in.ThreadID, turnID, event.TurnStarted{})
				p.emit("another thread", "T", event.TurnStarted{})
				p.emit(in.ThreadID, "", event.SessionExited{Reason: "crashed"})
				return nil
			}})
			s, _ := scenario("It.\n-- prompts --\nhello\n-- log --\n[User] hello\n[Error] the session exited: crashed\n[System Error] the session exited: crashed\n-- events --\n" +
				`{"type":"turn.started"}` + "\n" + `{"type":"session.exited","payload":{"reason":"crashed"}}` + "\n")
			Expect(s.Check(ctx, host)).To(Succeed())
		})

		It("has the host's error when a session does not start, or a turn is not accepted", func(ctx SpecContext) {
			broken := errors.New("no credit")
			Expect(complaint(ctx, puppetHost(GinkgoT(), &puppet{onStart: func(fakeagent.SessionConfig) error { return broken }}), say+"-- log --\n")).To(Equal(
				"timelinekit: scenario x (x.txtar): timelinekit: agent agent-1 could not start: no credit"))
			Expect(complaint(ctx, puppetHost(GinkgoT(), &puppet{onSend: func(*puppet, fakeagent.TurnInput, string) error { return broken }}), say+"-- log --\n")).To(Equal(
				"timelinekit: scenario x (x.txtar): timelinekit: turn not accepted: no credit"))
			Expect(complaint(ctx, timelinekit.NewHost(GinkgoT()), say+"-- log --\n", timelinekit.Cwd(GinkgoT().TempDir()))).To(ContainSubstring("exclude each other"))
		})
	})

	Context("with -understudy.update", func() {
		BeforeEach(func() { update(true) })

		It("writes what is expected, and nothing else, says so, and passes the next time", func(ctx SpecContext) {
			host := timelinekit.NewHost(GinkgoT())
			const before = "  It writes. \n\n--  log  --\nold\n-- script.json --\n[{\"write\": {\"path\": \"b.txt\", \"content\": \"b\"}}]\n-- files/a.txt --\na\n-- events --"
			s, dir := scenario(before)
			Expect(s.Check(ctx, host)).To(MatchError(HaveSuffix("\n\n-understudy.update has written it into " + filepath.Join(dir, "x.txtar") +
				": log, events, want/b.txt\nLook at what has changed there, and run the test without the flag.")))
			Expect(text(dir, "x")).To(And(
				HavePrefix(strings.Replace(strings.TrimSuffix(before, "-- events --"), "old\n", "[Write] <cwd>/b.txt\n", 1)+"-- events --\n{\"type\":\"turn.started\"}\n"),
				HaveSuffix("\n-- want/b.txt --\nb\n")))
			for _, s := range timelinekit.Scenarios(dir) {
				Expect(s.Check(ctx, host)).To(Succeed())
			}
		})

		It("leaves a file alone that is right, or that is wrong in another way", func(ctx SpecContext) {
			host := timelinekit.NewHost(GinkgoT())
			for file, want := range map[string]string{
				say + "-- log --\nhello\n":                       "",
				say + "-- log --\n-- answers --\naccept\n":       "asked only 0 times",
				say + "-- log --\nhello\n-- want/never.txt --\n": "section want/never.txt: there is no such file afterwards\n\nWhat it played:\nturn agent",
				say + "-- logg --\n":                             `did you mean "log"?`,
			} {
				s, dir := scenario(file)
				err := s.Check(ctx, host)
				if want == "" {
					Expect(err).NotTo(HaveOccurred())
				} else {
					Expect(err).To(MatchError(And(ContainSubstring(want), Not(ContainSubstring("-understudy")))))
				}
				Expect(text(dir, "x")).To(Equal(file))
			}
		})
	})
})

// counted counts who listens.
type counted struct {
	*fakeagent.Instance
	subscribers atomic.Int64
}

func (c *counted) Subscribe(fn func(event.Event)) (unsubscribe func()) {
	off := c.Instance.Subscribe(fn)
	c.subscribers.Add(1)
	return func() { off(); c.subscribers.Add(-1) }
}

// slow tells all but the first subscriber a second later.
type slow struct {
	*fakeagent.Instance
	first atomic.Bool
}

func (s *slow) Subscribe(fn func(event.Event)) (unsubscribe func()) {
	if s.first.CompareAndSwap(false, true) {
		return s.Instance.Subscribe(fn)
	}
	return s.Instance.Subscribe(func(e event.Event) {
		time.Sleep(time.Second)
		fn(e)
	})
}
