package main

import (
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("wrong arguments", func() {
	const (
		speeds      = `use 0 to play without waiting, 1 for real time, 10 for ten times as fast`
		notLoopback = `not a loopback address, and it serves this machine alone; use 127.0.0.1:8080, [::1]:8080 or localhost:8080`
	)

	DescribeTable("get one line that says what is wrong and what would be right",
		func(line string, args ...string) {
			Expect(invoke(args...)).To(Equal(outcome{Code: 2, Err: "fakeagent: " + line + "\n"}))
		},
		Entry("no command", `no command; begin with one of run, exec, acp, mock, serve, usage, playbook, replay, lint, schema`),
		Entry("a command with a slip", `unknown command lnit, did you mean "lint"?`, "lnit", "a.json"),
		Entry("a command that resembles none", `unknown command frobnicate; begin with one of run, exec, acp, mock, serve, usage, playbook, replay, lint, schema`, "frobnicate"),
		Entry("a flag before the command", `unknown flag --json; begin with one of run, exec, acp, mock, serve, usage, playbook, replay, lint, schema`, "--json", "run", "hi"),
		Entry("a flag with a slip", `unknown flag --jsno, did you mean "--json"?`, "run", "--jsno", "hi"),
		Entry("a flag that resembles none", `unknown flag --frobnicate; see fakeagent run --help`, "run", "--frobnicate", "hi"),
		Entry("no prompt", `run: no prompt; use fakeagent run <prompt> ... [flags]`, "run", "--json"),
		Entry("a flag amid prompts", `unexpected argument b; flags stand before or behind all prompts`, "run", "a", "--json", "b"),
		Entry("a cwd that is not there", `--cwd: there is no folder "nowhere"; create it first`, "run", "--cwd", "nowhere", "hi"),
		Entry("a cwd that is a file", `--cwd: there is no folder "main.go"; create it first`, "run", "--cwd", "main.go", "hi"),
		Entry("a cwd that was forgotten", `--cwd: the value is missing; see fakeagent run --help`, "run", "hi", "--cwd"),
		Entry("a negative speed", `--speed: "-1" is no speed; `+speeds, "run", "--speed", "-1", "hi"),
		Entry("a negative speed with =", `--speed: "-1" is no speed; `+speeds, "run", "--speed=-1", "hi"),
		Entry("a speed that is no number", `--speed: "fast" is no speed; `+speeds, "run", "--speed", "fast", "hi"),
		Entry("a speed that no number is", `--speed: "NaN" is no speed; `+speeds, "run", "--speed", "NaN", "hi"),
		Entry("a speed without end", `--speed: "inf" is no speed; `+speeds, "run", "--speed", "inf", "hi"),
		Entry("a script of usage that there is not",
			`usage: there is no script "rate-limit", did you mean "rate-limited"? There are available, balance, rate-limited, custom-endpoint, signed-out`,
			"usage", "--script", "rate-limit"),
		Entry("a negative number of reads", `--reads: "-1" is no number of times; use 0 or more`, "usage", "--reads", "-1"),
		Entry("a number that is none", `--redeem: "x" is no number of times; use 0 or more`, "usage", "--redeem=x"),
		Entry("a time without a zone", `--now: "2026-07-01T12:00:00" is no time; use one such as 2026-07-01T12:00:00Z`,
			"usage", "--now", "2026-07-01T12:00:00"),
		Entry("an argument of usage", `unexpected argument balance; see fakeagent usage --help`, "usage", "balance"),
		Entry("an address that is none", `--addr: "8080" is no address; use HOST:PORT, such as 127.0.0.1:8080`, "serve", "--addr", "8080"),
		Entry("a port that is none", `--addr: "127.0.0.1:http" is no address; use HOST:PORT, such as 127.0.0.1:8080`, "serve", "--addr", "127.0.0.1:http"),
		Entry("an address that others can reach", `--addr: "0.0.0.0:8080" is `+notLoopback, "serve", "--addr", "0.0.0.0:8080"),
		Entry("every address", `--addr: ":8080" is `+notLoopback, "serve", "--addr", ":8080"),
		Entry("every address, in the other way", `--addr: "[::]:8080" is `+notLoopback, "serve", "--addr", "[::]:8080"),
		Entry("a name", `--addr: "localhost.example:8080" is `+notLoopback, "serve", "--addr", "localhost.example:8080"),
		Entry("a latency without a unit", `--latency: "150" is no time to wait; use one such as 150ms, or 0 for none`, "serve", "--latency", "150"),
		Entry("a negative frame delay", `--frame-delay: "-1ms" is no time to wait; use one such as 150ms, or 0 for none`, "serve", "--frame-delay", "-1ms"),
		Entry("an argument of serve", `unexpected argument 8080; see fakeagent serve --help`, "serve", "8080"),
		Entry("no command of playbook", `playbook: no command; use fakeagent playbook from-recording <file> [flags]`, "playbook"),
		Entry("a command of playbook with a slip", `unknown command from-recordng, did you mean "from-recording"?`, "playbook", "from-recordng", "a.json"),
		Entry("a command of playbook that resembles none", `unknown command frobnicate; see fakeagent playbook --help`, "playbook", "frobnicate"),
		Entry("no recording", `playbook from-recording: no file; use fakeagent playbook from-recording <file> [flags]`, "playbook", "from-recording"),
		Entry("two recordings", `unexpected argument b; see fakeagent playbook from-recording --help`, "playbook", "from-recording", "a", "b"),
		Entry("a flag of a command of playbook that resembles none", `unknown flag --frobnicate; see fakeagent playbook from-recording --help`,
			"playbook", "from-recording", "--frobnicate", "a"),
		Entry("no file", `lint: no file; use fakeagent lint <file> ...`, "lint"),
		Entry("an argument too many", `unexpected argument json; see fakeagent schema --help`, "schema", "json"),
		Entry("an argument with control characters", `unknown command \x1b[31m x; begin with one of run, exec, acp, mock, serve, usage, playbook, replay, lint, schema`, "\x1b[31m\nx"),
	)

	It("do nothing else", func() {
		cwd := GinkgoT().TempDir()
		got := invoke("run", "--cwd", cwd, `[{"write":{"path":"proof","content":""}}]`, "--frobnicate")
		Expect(got.Code).To(Equal(2))
		Expect(filepath.Join(cwd, "proof")).NotTo(BeAnExistingFile())
	})
})

var _ = DescribeTable("--help is short and fits 80 columns",
	func(about string, args ...string) {
		GinkgoT().Setenv("COLUMNS", "200")
		got := invoke(append(args, "--help")...)
		Expect(got).To(succeed())
		Expect(got.Out).To(HavePrefix("Usage: fakeagent " + strings.Join(append(args, ""), " ")))
		Expect(got.Out).To(ContainSubstring(about))
		Expect(len(got.lines())).To(BeNumerically("<", 24))
		for _, line := range got.lines() {
			Expect(len(line)).To(BeNumerically("<=", 80), line)
		}
	},
	Entry("for all commands", "Print the JSON Schema of the script language."),
	Entry("for run", "--allow-shell", "run"),
	Entry("for lint", "file:line:column", "lint"),
	Entry("for usage", "custom-endpoint", "usage"),
	Entry("for playbook from-recording", "{{step:id.path}}", "playbook", "from-recording"),
	Entry("for exec", "--thread", "exec"),
	Entry("for serve", "apiBaseUrl", "serve"),
)
