package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
)

var _ = Describe("fakeagent acp, driven by", func() {
	for _, c := range []client{typeScript, goSDK, acpx} {
		Describe(c.name+",", func() {
			It("plays happy: a thought, a plan, a tool call and a message in twelve pieces, and then it goes", func(ctx SpecContext) {
				a := c.run(ctx, scenario("happy"))
				Expect(a.told).To(happy(c))
				Expect(a.session).To(Equal("mock_sess_900000"))
			})

			It("plays slow, which is happy with longer waits", func(ctx SpecContext) {
				Expect(c.run(ctx, scenario("slow")).told).To(happy(c))
			})

			It("plays error: the tool call fails, and the agent goes without an answer", func(ctx SpecContext) {
				a := c.run(ctx, scenario("error"))
				Expect(a.answered()).To(BeFalse())
				Expect(a.told).To(tells(greeting, analysis, "tool_call_update: failed", lost(c)))
			})

			It("plays rate_limit: nothing but an error that says so, and then it goes", func(ctx SpecContext) {
				Expect(c.run(ctx, scenario("rate_limit")).told).To(tells(greeting,
					And(HavePrefix("error 429: "), ContainSubstring("rate limit"), ContainSubstring("too many requests")), exits(c, 1, 1)))
			})

			It("plays a script that is the prompt, and does in the session's folder what the client does not offer to do", func(ctx SpecContext) {
				cwd := GinkgoT().TempDir()
				a := c.run(ctx, task{agent: fakeagentACP("--speed", "0"), cwd: cwd, prompts: []string{everyStep}, tooNew: []string{"usage_update"}})
				Expect(a.told).To(tells(greeting,
					"thought: hm",
					"plan: high completed, low pending",
					HavePrefix("tool_call: edit "), "tool_call_update: completed",
					HavePrefix("tool_call: edit "), "tool_call_update: completed",
					"tool_call: execute make", "tool_call_update: completed",
					"tool_call: execute make test", "tool_call_update: failed",
					"usage_update",
					"message: all ", "message: done",
					"stop: end_turn", exits(c, 0, 0)))
				Expect(os.ReadFile(filepath.Join(cwd, "src", "a.txt"))).To(BeEquivalentTo("two\n"))
			})

			It("says what the prompt was, where it is no script", func(ctx SpecContext) {
				a := c.run(ctx, task{agent: fakeagentACP("--speed", "0"), prompts: []string{"hello"}})
				Expect(a.told).To(tells(greeting, "message: fake-agent received: hello", "stop: end_turn", exits(c, 0, 0)))
			})

			It("answers with an error where a script fails", func(ctx SpecContext) {
				a := c.run(ctx, task{agent: fakeagentACP("--speed", "0"), prompts: []string{`[{"say":"a"},{"fail":{"message":"no more","code":-32050}}]`}})
				Expect(a.told).To(tells(greeting, "message: a", "error -32050: no more", exits(c, 0, 1)))
			})

			It("asks a question as a permission, has a task as a tool call, and leaves out what the protocol has no words for", func(ctx SpecContext) {
				a := c.run(ctx, task{agent: fakeagentACP("--speed", "0"), prompts: []string{`[
					{"question":{"blocking":true,"questions":[{"id":"c","header":"C","question":"Which color?","options":[{"label":"Blue"},{"label":"Green"}]}]}},
					{"task":{"description":"look around","steps":[{"say":"found"}]}},
					{"event":{"type":"vcs.state.changed","payload":{"cwd":"/x"}}},{"say":"done"}]`}})
				Expect(a.told).To(tells(greeting,
					"tool_call: other Which color?", "ask: allow_once, allow_once", "tool_call_update: completed",
					"tool_call: think look around", "message: found", "tool_call_update: completed", "message: done", "stop: end_turn", exits(c, 0, 0)))
			})

			for _, answer := range c.answers {
				It("asks before it does something, and obeys the answer "+answer, func(ctx SpecContext) {
					a := c.run(ctx, task{agent: fakeagentACP("--speed", "0"), prompts: []string{approval}, permission: answer})
					want := map[string][]any{
						"allow-once":   {"message: Gone.", "tool_call_update: completed", "message: Next.", "stop: end_turn", exits(c, 0, 0)},
						"allow-always": {"message: Gone.", "tool_call_update: completed", "message: Next.", "stop: end_turn", exits(c, 0, 0)},
						"reject":       {"message: Then not.", "tool_call_update: failed", "message: Next.", "stop: end_turn", exits(c, 0, 5)}, // 5: "permission denied"
						"cancel":       {"tool_call_update: failed", "stop: cancelled", exits(c, 0, 0)},
					}[answer]
					Expect(a.told).To(tells(greeting, "tool_call: execute rm -rf build", "ask: allow_once, allow_always, reject_once", want))
				})
			}
		})
	}

	for _, c := range []client{typeScript, goSDK} {
		Describe(c.name+",", func() {
			It("ends a turn that is cancelled while it waits, and plays the next one", func(ctx SpecContext) {
				a := c.run(ctx, task{
					agent:       fakeagentACP(), // with all its waiting
					prompts:     []string{`[{"say":"before"},{"sleep":3600000},{"say":"after"}]`, `[{"say":"next"}]`},
					cancelAfter: 1,
				})
				Expect(a.told).To(tells(greeting, "message: before", "stop: cancelled", "message: next", "stop: end_turn", exits(c, 0, 0)))
			})

			It("leaves files to a client that offers to keep them", func(ctx SpecContext) {
				cwd := GinkgoT().TempDir()
				a := c.run(ctx, task{
					agent: fakeagentACP("--speed", "0"), cwd: cwd, fs: true,
					prompts: []string{`[{"write":{"path":"src/a.txt","content":"one\n"}},{"edit":{"path":"src/a.txt","old":"one","new":"two"}}]`},
				})
				Expect(a.told).To(tells(greeting,
					HavePrefix("tool_call: edit "), "fs/write_text_file: src/a.txt", "tool_call_update: completed",
					HavePrefix("tool_call: edit "), "fs/read_text_file: src/a.txt", "fs/write_text_file: src/a.txt", "tool_call_update: completed",
					"stop: end_turn", exits(c, 0, 0)))
				Expect(a.files).To(Equal(map[string]string{"src/a.txt": "two\n"}))
				Expect(os.ReadDir(cwd)).To(BeEmpty(), "the agent wrote to the disk as well")
			})

			It("has a failed tool call where the client refuses, and the turn goes on", func(ctx SpecContext) {
				a := c.run(ctx, task{
					agent: fakeagentACP("--speed", "0"), fs: true,
					prompts: []string{`[{"edit":{"path":"none.txt","old":"one","new":"two"}},{"say":"well"}]`},
				})
				Expect(a.told).To(tells(greeting,
					HavePrefix("tool_call: edit "), "fs/read_text_file: none.txt", "tool_call_update: failed", "message: well", "stop: end_turn", exits(c, 0, 0)))
			})

			It("runs commands in a terminal of a client that offers one, and releases it", func(ctx SpecContext) {
				a := c.run(ctx, task{
					agent: fakeagentACP("--speed", "0", "--allow-shell"), terminal: true,
					prompts: []string{`[{"bash":{"command":"touch here","run":true}},{"say":"well"}]`},
				})
				// It need not wait until the terminal is released, so what else happens meanwhile is compared without the requests.
				Expect(a.requests()).To(HaveExactElements("terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release"))
				others := slices.DeleteFunc(slices.Clone(a.told), func(line string) bool { return strings.HasPrefix(line, "terminal/") })
				Expect(others).To(tells(greeting, "tool_call: execute touch here", "tool_call_update: completed", "message: well", "stop: end_turn", exits(c, 0, 0)))
				Expect(a.sent("terminal/create")).To(ConsistOf(ContainSubstring("touch here")))
				Expect(a.sent("session/update")).To(ContainElement(And(ContainSubstring("completed"), MatchRegexp("ran .*touch here"))),
					"what the terminal printed is not in the tool call")
			})

			It("is as wrong as its model in the profile seed, and that is all that is wrong", func(ctx SpecContext) {
				t := scenario("happy", "--profile", "seed")
				t.wrong = []string{"at '/update/content': missing property 'type'"}
				a := c.run(ctx, t)
				thought := map[string]string{"the TypeScript SDK": "dropped 1 updates", "the Go SDK": "thought: Analyzing..."}[c.name]
				Expect(a.told).To(And(ContainElement(thought), ContainElement("ask: allow_once, allow_always, reject_once"), ContainElement("stop: end_turn")))
			})
		})
	}

	It("acpx with all that it offers, plays a script whose files and commands are the client's", func(ctx SpecContext) {
		if runtime.GOOS == "windows" {
			Skip("needs a Unix shell")
		}
		cwd := GinkgoT().TempDir()
		a := acpx.run(ctx, task{
			agent: fakeagentACP("--speed", "0", "--allow-shell"), cwd: cwd, fs: true, terminal: true,
			prompts: []string{`[{"write":{"path":"a.txt","content":"one\n"}},{"edit":{"path":"a.txt","old":"one","new":"two"}},{"bash":{"command":"cp a.txt b.txt","run":true}}]`},
		})
		Expect(a.told).To(ContainElements("fs/write_text_file: a.txt", "fs/read_text_file: a.txt", "terminal/create", "terminal/release", "stop: end_turn", "acpx exits: 0"))
		Expect(os.ReadFile(filepath.Join(cwd, "b.txt"))).To(BeEquivalentTo("two\n"))
	})
})

var _ = Describe("fakeagent acp --stream", func() {
	DescribeTable("is the agent's side of a whole session, and valid after the requests that it answers: that of",
		func(ctx SpecContext, name string, exit int, answered bool) {
			agent := fakeagentACP("--stream", "--speed", "0", "--scenario", name)
			out, code := output(ctx, exec.CommandContext(ctx, agent[0], agent[1:]...))
			Expect(code).To(Equal(exit))
			wire := []frame{
				{"client", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`},
				{"client", `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`},
				{"client", `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`},
			}
			for line := range strings.Lines(out) {
				Expect(line).To(HaveSuffix("\n"), "the last line has no end")
				wire = append(wire, frame{"agent", strings.TrimSuffix(line, "\n")})
			}
			Expect(officialSchema().check(wire)).To(BeEmpty())
			Expect(account{wire: wire}.answered()).To(Equal(answered))
		},
		Entry("happy", "happy", 0, true),
		Entry("slow", "slow", 0, true),
		Entry("error", "error", 1, false),
		Entry("rate_limit", "rate_limit", 1, true),
	)
})

// everyStep is a script of the steps that need nothing from a client.
const everyStep = `[
	{"think":"hm"},
	{"plan":[{"text":"first","priority":"high","status":"completed"},{"text":"second","priority":"low"}]},
	{"write":{"path":"src/a.txt","content":"one\n"}},
	{"edit":{"path":"src/a.txt","old":"one","new":"two"}},
	{"bash":{"command":"make","output":"ok\n"}},
	{"bash":{"command":"make test","output":"1 failed\n","exitCode":1}},
	{"usage":{"usedTokens":1200,"maxTokens":200000}},
	{"say":{"text":"all done","chunks":2}}
]`

const approval = `[
	{"approval":{"title":"rm -rf build","allow":[{"say":"Gone."}],"deny":[{"say":"Then not."}]}},
	{"say":"Next."}
]`

// greeting is how each session begins.
var greeting = []any{"initialize: protocol 1", "session/new"}

// analysis is how the scenarios happy, slow and error begin.
var analysis = []any{"thought: Analyzing...", "plan: high pending, high pending, medium pending", "tool_call: execute ls -la"}

// scenario is a task for an agent that plays one of its built-in scenarios, without waiting, and goes when that is over.
func scenario(name string, args ...string) task {
	GinkgoHelper()
	return task{agent: fakeagentACP(slices.Concat([]string{"--scenario", name, "--speed", "0"}, args)...), untilExit: true}
}

// tells matches an account's lines: all of them, in their order. Lists among what is wanted are taken apart.
func tells(want ...any) types.GomegaMatcher {
	var flat []any
	for _, w := range want {
		if list, ok := w.([]any); ok {
			flat = append(flat, list...)
		} else {
			flat = append(flat, w)
		}
	}
	return HaveExactElements(flat...)
}

func happy(c client) types.GomegaMatcher {
	pieces := slices.Repeat([]any{MatchRegexp("(?s)^message: .+")}, 12)
	return tells(greeting, analysis, "tool_call_update: completed", pieces, "stop: end_turn", exits(c, 0, 0))
}

// exits is how the client tells that the agent has gone: with its exit code. acpx tells only its own.
func exits(c client, agents, acpxs int) string {
	if c.name == acpx.name {
		return fmt.Sprint("acpx exits: ", acpxs)
	}
	return fmt.Sprint("exit: ", agents)
}

// lost is how the client tells that the agent has gone without an answer. acpx prints nothing about it.
func lost(c client) []any {
	if c.name == acpx.name {
		return []any{exits(c, 1, 1)}
	}
	return []any{"lost", exits(c, 1, 1)}
}

// requests are the methods that the agent called and waits for an answer of, in their order on the wire.
func (a account) requests() (methods []string) {
	for _, f := range a.wire {
		var msg struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal([]byte(f.line), &msg)
		if f.from == "agent" && msg.ID != nil && msg.Method != "" {
			methods = append(methods, msg.Method)
		}
	}
	return methods
}

// sent are the messages of a method that the agent sent, as they were on the wire.
func (a account) sent(method string) (out []string) {
	for _, f := range a.wire {
		if f.from == "agent" && member(json.RawMessage(f.line), "method") == method {
			out = append(out, f.line)
		}
	}
	return out
}
