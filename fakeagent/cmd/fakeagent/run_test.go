package main

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
)

var _ = Describe("run", func() {
	var cwd string

	BeforeEach(func() { cwd = GinkgoT().TempDir() })

	// path is a file below cwd as it stands in JSON.
	path := func(name string) string {
		quoted, _ := json.Marshal(filepath.Join(cwd, name))
		return string(quoted)
	}

	Describe("a turn, end to end", func() {
		const prompt = `{"steps":[
  {"think":"add a constant, then check it"},
  {"write":{"path":"src/a.ts","content":"export const a = 1;\n"}},
  {"edit":{"path":"src/a.ts","old":"1","new":"2"}},
  {"bash":{"command":"cat src/a.ts","run":true}},
  {"bash":{"command":"npm test","output":"1 failed","exitCode":1}},
  {"say":"a is 2 now"}]}`

		BeforeEach(needsShell)

		It("prints canonical items with --json: the user's message, and then what the agent did", func() {
			got := invoke("run", "--json", "--allow-shell", "--cwd", cwd, prompt)
			Expect(got).To(succeed())
			said, _ := json.Marshal(prompt)
			dir, _ := json.Marshal(cwd)
			Expect(got.lines()).To(HaveExactElements(
				`{"type":"user_message","text":`+string(said)+`}`,
				`{"type":"reasoning","text":"add a constant, then check it"}`,
				`{"type":"tool_call","callId":"t-1-1","name":"Write","detail":{"type":"write","filePath":`+path("src/a.ts")+`,"content":"export const a = 1;\n"},"status":"completed","error":null}`,
				`{"type":"tool_call","callId":"t-1-2","name":"Edit","detail":{"type":"edit","filePath":`+path("src/a.ts")+`,"oldString":"1","newString":"2"},"status":"completed","error":null}`,
				`{"type":"tool_call","callId":"t-1-3","name":"Bash","detail":{"type":"shell","command":"cat src/a.ts","cwd":`+string(dir)+`,"output":"export const a = 2;\n","exitCode":0},"status":"completed","error":null}`,
				`{"type":"tool_call","callId":"t-1-4","name":"Bash","detail":{"type":"shell","command":"npm test","cwd":`+string(dir)+`,"output":"1 failed","exitCode":1},"status":"failed","error":"exit code 1"}`,
				`{"type":"assistant_message","text":"a is 2 now","messageId":"a-1-5"}`,
			))
			Expect(read(filepath.Join(cwd, "src", "a.ts"))).To(Equal("export const a = 2;\n"))
		})

		It("prints a text log without it, the script on one line", func() {
			got := invoke("run", "--allow-shell", "--cwd", cwd, prompt)
			Expect(got).To(succeed())
			Expect(got.lines()).To(HaveExactElements(
				`[User] {"steps":[{"think":"add a constant, then check it"},{"write":{"path":"src/a.ts","content":"export const a = 1;\n"}},{"edit":{"path":"src/a.ts","old":"1","new":"2"}},{"bash":{"command":"cat src/a.ts","run":true}},{"bash":{"command":"npm test","output":"1 failed","exitCode":1}},{"say":"a is 2 now"}]}`,
				"[Thought] add a constant, then check it",
				"[Write] "+filepath.Join(cwd, "src", "a.ts"),
				"[Edit] "+filepath.Join(cwd, "src", "a.ts"),
				"[Shell] cat src/a.ts",
				"[Shell] npm test",
				"a is 2 now",
			))
		})
	})

	Describe("several turns", func() {
		It("are those of one agent, which goes through .fake-agent.json and then repeats the last one", func() {
			write(filepath.Join(cwd, ".fake-agent.json"), `{
  "turns": [
    { "steps": [{ "write": { "path": "todo.md", "content": "- one\n" } }, { "say": "wrote todo.md" }] },
    { "steps": [{ "edit": { "path": "todo.md", "old": "one", "new": "one, done" } }, { "say": "updated todo.md" }] }
  ]
}`)
			todo := filepath.Join(cwd, "todo.md")
			got := invoke("run", "--cwd", cwd, "start the todo list", "and again", "once more")
			Expect(got).To(succeed())
			Expect(got.lines()).To(HaveExactElements(
				"[User] start the todo list",
				"[Write] "+todo,
				"wrote todo.md",
				"[User] and again",
				"[Edit] "+todo,
				"updated todo.md",
				"[User] once more",
				"[Edit] "+todo,
				"updated todo.md",
			))
			Expect(strings.TrimSpace(read(todo))).To(Equal("- one, done, done"))
		})

		It("all run, also after one that failed", func() {
			got := invoke("run", "--cwd", cwd, `[{"say":"starting"},{"fail":"tests failed"}]`, "still there?")
			Expect(got.lines()).To(HaveExactElements(
				`[User] [{"say":"starting"},{"fail":"tests failed"}]`,
				"starting",
				"[Error] tests failed",
				"[System Error] tests failed",
				"[User] still there?",
				"fake-agent received: still there?",
			))
		})
	})

	DescribeTable("exits with the code of the worst turn",
		func(code int, prompts ...string) {
			got := invoke(append([]string{"run", "--cwd", cwd}, prompts...)...)
			Expect(got.Code).To(Equal(code))
			Expect(got.Err).To(BeEmpty())
		},
		Entry("completed", 0, "hello"),
		Entry("completed, with a tool call that failed", 0, `[{"bash":{"command":"npm test","exitCode":1}}]`),
		Entry("failed by a step", 1, `[{"fail":"no"}]`),
		Entry("failed by a script that does not parse", 1, `[{"sya":"hello"}]`),
		Entry("failed first, completed last", 1, `[{"fail":"no"}]`, "hello"),
		Entry("completed first, failed last", 1, "hello", `[{"fail":"no"}]`),
	)

	Describe("commands", func() {
		It("do not run without --allow-shell, and the refusal says so", func() {
			got := invoke("run", "--cwd", cwd, `[{"bash":{"command":"echo x > proof","run":true}}]`)
			Expect(got.Code).To(Equal(1))
			Expect(got.Out).To(ContainSubstring("[System Error] fake-agent refused to run this command"))
			Expect(got.Out).To(ContainSubstring("--allow-shell"))
			Expect(filepath.Join(cwd, "proof")).NotTo(BeAnExistingFile())
		})
	})

	DescribeTable("plays as fast as --speed says",
		func(args []string, sleepMs int, atLeast, below time.Duration) {
			start := time.Now()
			got := invoke(append([]string{"run", "--cwd", cwd, `[{"sleep":` + strconv.Itoa(sleepMs) + `}]`}, args...)...)
			Expect(got).To(succeed())
			Expect(time.Since(start)).To(And(BeNumerically(">=", atLeast), BeNumerically("<", below)))
		},
		Entry("in real time by default", nil, 40, 40*time.Millisecond, 5*time.Second),
		Entry("ten times as fast", []string{"--speed", "10"}, 3_000, 300*time.Millisecond, 2900*time.Millisecond),
		Entry("without waiting", []string{"--speed", "0"}, 60_000, time.Duration(0), 5*time.Second),
	)

	Describe("the text log", func() {
		It("gives other prompts than JSON as they are, also those with a script inside", func() {
			prompt := "please\n\n```fake-agent\n[ {\"say\": \"hi\"} ]\n```"
			Expect(invoke("run", "--cwd", cwd, prompt).Out).To(Equal("[User] " + prompt + "\nhi\n"))
		})

		It("takes a prompt that begins with a hyphen behind --", func() {
			Expect(invoke("run", "--cwd", cwd, "--", "--json").Out).To(Equal("[User] --json\nfake-agent received: --json\n"))
		})

		It("says why a call failed only with --verbose", func() {
			prompt := `[{"bash":{"command":"npm test","exitCode":1}},{"edit":{"path":"a","old":"1","new":"2"}}]`
			edit := "[Edit] " + filepath.Join(cwd, "a")
			Expect(invoke("run", "--cwd", cwd, prompt).lines()[1:]).To(HaveExactElements("[Shell] npm test", edit))
			Expect(invoke("run", "--cwd", cwd, "--verbose", prompt).lines()[1:]).To(HaveExactElements(
				"[Shell] npm test (failed: exit code 1)",
				edit+" (failed: a does not exist)",
			))
		})

		It("has no control characters, whatever the agent says", func() {
			got := invoke("run", "--cwd", cwd, "--verbose", "one\r\ntwo",
				`[{"say":"\u001b[31mred\u009b"},{"tool":{"name":"x","error":"\u0007"}},{"fail":"\u0000"}]`)
			Expect(got.lines()).To(HaveExactElements(
				"[User] one",
				"two",
				"fake-agent received: one",
				"two",
				HavePrefix("[User] [{"),
				`\x1b[31mred\x9b`,
				`[x] (failed: \x07)`,
				`[Error] \x00`,
				`[System Error] \x00`,
			))
		})
	})

	DescribeTable("answers approvals, as there is nobody to ask",
		func(options, said string) {
			got := invoke("run", "--cwd", cwd, `[{"approval":{"title":"rm -rf build"`+options+`,"allow":[{"say":"gone"}],"deny":[{"say":"left"}]}}]`)
			Expect(got).To(succeed())
			Expect(got.lines()[1:]).To(HaveExactElements("[Shell] rm -rf build", said))
		},
		Entry("with accept", "", "gone"),
		Entry("with accept wherever it stands", `,"options":["decline","accept"]`, "gone"),
		Entry("with the first one on offer, if accept is not", `,"options":["decline","cancel"]`, "left"),
	)

	Describe("while a turn runs", func() {
		var (
			out, errs *gbytes.Buffer
			interrupt context.CancelFunc
			code      chan int
		)
		// start returns while the command runs.
		start := func(terminal bool, prompts ...string) {
			var ctx context.Context
			ctx, interrupt = context.WithCancel(context.Background())
			DeferCleanup(interrupt)
			out, errs, code = gbytes.NewBuffer(), gbytes.NewBuffer(), make(chan int, 1)
			go func() {
				code <- run(ctx, append([]string{"run", "--cwd", cwd}, prompts...), console{out, errs, terminal})
			}()
		}

		It("prints items as they become final: a message when something follows it", func() {
			start(false, `[{"say":"one"},{"say":{"text":"two","chunks":3}},{"sleep":60000},{"say":"three"}]`)
			Eventually(out).WithTimeout(5 * time.Second).Should(gbytes.Say(`\none\n$`))
			Consistently(out).WithTimeout(20 * time.Millisecond).ShouldNot(gbytes.Say("."))
			interrupt()
			Eventually(code).WithTimeout(5 * time.Second).Should(Receive(Equal(exitCanceled)))
			Expect(out).To(gbytes.Say(`^two\n$`))
		})

		It("ends the turn at an interrupt, and plays no other", func() {
			start(false, `[{"say":"one"},{"tool":{"name":"Wait","holdMs":60000}},{"say":"two"}]`, "never")
			Eventually(out).WithTimeout(5 * time.Second).Should(gbytes.Say("one\n"))
			interrupt()
			Eventually(code).WithTimeout(5 * time.Second).Should(Receive(Equal(exitCanceled)))
			Expect(out).To(gbytes.Say(`^\[Wait\]\n$`))
			Expect(errs.Contents()).To(BeEmpty())
		})

		It("plays nothing if it was interrupted before", func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			out := gbytes.NewBuffer()
			Expect(run(ctx, []string{"run", "--cwd", cwd, "hello"}, console{out, out, false})).To(Equal(exitCanceled))
			Expect(out.Contents()).To(BeEmpty())
		})

		It("shows on a terminal what is not final, and replaces it", func() {
			start(true, `[{"tool":{"name":"Wait","holdMs":60000,"detail":{"type":"plain_text","text":"for\nnothing"}}}]`)
			Eventually(out).WithTimeout(5 * time.Second).Should(gbytes.Say(`… \[Wait\] for\x1b\[0m\x1b\[\?7h$`))
			interrupt()
			Eventually(code).WithTimeout(5 * time.Second).Should(Receive(Equal(exitCanceled)))
			Expect(out).To(gbytes.Say(`^\r\x1b\[K\x1b\[36m\[Wait\]\x1b\[0m for\nnothing\x1b\[31m \(failed: canceled\)\x1b\[0m\n$`))
		})
	})

	Describe("on a terminal", func() {
		It("shows the step that waits where no item does", func() {
			out := gbytes.NewBuffer()
			ctx, interrupt := context.WithCancel(context.Background())
			code := make(chan int, 1)
			go func() {
				code <- run(ctx, []string{"run", "--cwd", cwd, `[{"hold":"g"}]`}, console{out, out, true})
			}()
			Eventually(out).WithTimeout(5 * time.Second).Should(gbytes.Say(`… step 1 {"hold":"g"}`))
			interrupt()
			Eventually(code).WithTimeout(5 * time.Second).Should(Receive(Equal(exitCanceled)))
		})

		It("colours the tags, and says why a call failed", func() {
			got := show(true, "run", "--cwd", cwd, `[{"bash":{"command":"npm test","exitCode":1}},{"say":"[hm] so"},{"fail":"no"}]`)
			final := []string{}
			for _, line := range got.lines() {
				final = append(final, line[strings.LastIndex(line, "\r\x1b[K")+1:])
			}
			Expect(final).To(HaveExactElements(
				"\x1b[1m[User]\x1b[0m "+`[{"bash":{"command":"npm test","exitCode":1}},{"say":"[hm] so"},{"fail":"no"}]`,
				"\x1b[K\x1b[36m[Shell]\x1b[0m npm test\x1b[31m (failed: exit code 1)\x1b[0m",
				"\x1b[K[hm] so",
				"\x1b[31m[Error]\x1b[0m no",
				"[System Error] no",
			))
		})

		It("leaves --json as it is", func() {
			args := []string{"run", "--json", "--cwd", cwd, `[{"bash":{"command":"npm test","exitCode":1}},{"say":"so"}]`}
			Expect(show(true, args...)).To(Equal(invoke(args...)))
		})
	})

	It("fails if its output cannot be written", func() {
		errs := gbytes.NewBuffer()
		code := run(context.Background(), []string{"run", "--cwd", cwd, "hello"}, console{brokenWriter{}, errs, false})
		Expect(code).To(Equal(1))
		Expect(errs).To(gbytes.Say(`^fakeagent: the output could not be written: disk full\n$`))
	})
})

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

var _ = Describe("the stand-in for a test", func() {
	var (
		errs *gbytes.Buffer
		s    *stage
		code int
	)

	BeforeEach(func() {
		errs, code = gbytes.NewBuffer(), 0
		s = &stage{console: console{err: errs}}
	})

	It("prints what went wrong on one line, cleans up in reverse, and fails", func() {
		var order []int
		s.Cleanup(func() { order = append(order, 1) })
		s.Cleanup(func() { order = append(order, 2) })
		s.Errorf("at the end:\n  %s\n  %s", "one thing", "another")
		s.close(&code)
		Expect(errs).To(gbytes.Say(`^at the end: one thing another\n$`))
		Expect(order).To(HaveExactElements(2, 1))
		Expect(code).To(Equal(1))
	})

	It("stops what cannot go on without a stack trace, and lets other panics be", func() {
		func() {
			defer s.close(&code)
			s.Fatalf("no host")
		}()
		Expect(errs).To(gbytes.Say(`^no host\n$`))
		Expect(code).To(Equal(1))
		Expect(func() { defer s.close(&code); panic("a bug") }).To(PanicWith("a bug"))
	})

	It("says nothing if nothing went wrong", func() {
		code = 130
		s.close(&code)
		Expect(code).To(Equal(130))
		Expect(errs.Contents()).To(BeEmpty())
	})
})
