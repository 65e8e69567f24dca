package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// frames are lines of the protocol, each as what it is: a method, an update's kind, or the answer to which id.
func frames(out string) (all []string) {
	GinkgoHelper()
	for line := range strings.Lines(out) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Update struct{ SessionUpdate string }
			}
			Error *struct{ Code int }
		}
		Expect(json.Unmarshal([]byte(line), &m)).To(Succeed(), "%s", line)
		switch {
		case m.Params.Update.SessionUpdate != "":
			all = append(all, m.Params.Update.SessionUpdate)
		case m.Method != "":
			all = append(all, m.Method)
		case m.Error != nil:
			all = append(all, "error "+string(m.ID))
		default:
			all = append(all, "result "+string(m.ID))
		}
	}
	return all
}

const chunks = 12

func happy() []string {
	all := []string{"result 0", "result 1", "agent_thought_chunk", "plan", "tool_call", "tool_call_update"}
	for range chunks {
		all = append(all, "agent_message_chunk")
	}
	return append(all, "result 2")
}

var _ = Describe("acp --stream", func() {
	It("writes the agent's side of a whole session, and reads nothing", func() {
		got := invoke("acp", "--stream", "--speed", "0")
		Expect(got).To(succeed())
		Expect(frames(got.Out)).To(Equal(happy()))
		Expect(got.lines()[1]).To(ContainSubstring(`"sessionId":"mock_sess_900000"`))
	})

	It("is the same each time, and another one with a seed", func() {
		args := []string{"acp", "--stream", "--speed", "0"}
		one, seven := invoke(args...).Out, invoke(append(args, "--seed", "7")...).Out
		Expect(invoke(args...).Out).To(Equal(one))
		Expect(invoke(append(args, "--seed", "7")...).Out).To(Equal(seven))
		Expect(frames(seven)).To(Equal(frames(one)))
		Expect(seven).To(And(ContainSubstring(`"sessionId":"mock_sess_907000"`), Not(Equal(strings.ReplaceAll(one, "900000", "907000")))))
	})

	DescribeTable("plays a scenario to its end, and exits as its agent does",
		func(name string, code int, last string) {
			got := invoke("acp", "--stream", "--speed", "0", "--scenario", name)
			Expect(got.Code).To(Equal(code))
			Expect(got.Err).To(BeEmpty())
			all := frames(got.Out)
			Expect(all[len(all)-1]).To(Equal(last))
		},
		Entry(nil, "slow", 0, "result 2"),
		Entry(nil, "error", 1, "tool_call_update"),
		Entry(nil, "rate_limit", 1, "error 2"),
		Entry(nil, "scripted", 0, "result 2"),
		Entry(nil, "seed/happy", 0, "result 2"),
	)

	It("answers what the agent asks, by the first option that it offers", func() {
		got := invoke("acp", "--stream", "--speed", "0", "--scenario", "happy", "--profile", "seed")
		Expect(got).To(succeed())
		Expect(frames(got.Out)).To(ContainElements("tool_call", "session/request_permission", "tool_call_update"))
		Expect(got.Out).To(ContainSubstring(`"status":"completed"`))
	})

	It("adds faults to a scenario", func() {
		got := invoke("acp", "--stream", "--speed", "0", "--fault", "earlyUpdate")
		Expect(frames(got.Out)[:3]).To(Equal([]string{"result 0", "available_commands_update", "result 1"}))
	})
})

var _ = Describe("acp", func() {
	const (
		initialize = `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":1}}` + "\n"
		open       = `{"jsonrpc":"2.0","id":"b","method":"session/new","params":{"cwd":"CWD","mcpServers":[]}}` + "\n"
		prompt     = `{"jsonrpc":"2.0","id":"c","method":"session/prompt","params":{"sessionId":"mock_sess_900000","prompt":[{"type":"text","text":PROMPT}]}}` + "\n"
	)

	It("is an agent on stdio that plays the script a prompt carries, where it is told to", func() {
		cwd := GinkgoT().TempDir()
		cmd := exec.Command(binary, "acp")
		stdin, err := cmd.StdinPipe()
		Expect(err).NotTo(HaveOccurred())
		stdout, err := cmd.StdoutPipe()
		Expect(err).NotTo(HaveOccurred())
		var errs bytes.Buffer
		cmd.Stderr = &errs
		Expect(cmd.Start()).To(Succeed())
		DeferCleanup(func() { _ = cmd.Process.Kill() })

		script := `"[{\"write\":{\"path\":\"a.txt\",\"content\":\"hi\"}},{\"stderr\":\"hm\\n\"},{\"say\":\"done\"}]"`
		text := initialize + strings.ReplaceAll(open, "CWD", filepath.ToSlash(cwd)) + strings.ReplaceAll(prompt, "PROMPT", script)
		if runtime.GOOS == "windows" {
			text = strings.ReplaceAll(text, filepath.ToSlash(cwd), strings.ReplaceAll(cwd, `\`, `\\`))
		}
		_, err = io.WriteString(stdin, text)
		Expect(err).NotTo(HaveOccurred())
		var out strings.Builder
		for lines := bufio.NewReader(stdout); !strings.Contains(out.String(), `"id":"c"`); {
			line, err := lines.ReadString('\n')
			Expect(err).NotTo(HaveOccurred(), "it said\n%s%s", &out, &errs)
			out.WriteString(line)
		}
		Expect(stdin.Close()).To(Succeed())
		Expect(cmd.Wait()).To(Succeed())

		Expect(frames(out.String())).To(Equal([]string{`result "a"`, `result "b"`, "tool_call", "tool_call_update", "agent_message_chunk", `result "c"`}))
		Expect(read(filepath.Join(cwd, "a.txt"))).To(Equal("hi"))
		Expect(errs.String()).To(Equal("hm\n"))
	})

	It("exits with 0 when nobody has anything to say", func() {
		out, err := exec.Command(binary, "acp").CombinedOutput() // whose stdin is at its end
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(BeEmpty())
	})

	It("plays a scenario of one's own, and its exit code is the process's", func() {
		file := write(filepath.Join(GinkgoT().TempDir(), "mine.json"), `{"name":"mine","turns":[[{"say":"bye"},{"exit":7}]]}`)
		got := invoke("acp", "--stream", "--scenario", file)
		Expect(got.Code).To(Equal(7))
		Expect(frames(got.Out)).To(Equal([]string{"result 0", "result 1", "agent_message_chunk"}))
	})

	DescribeTable("says on one line what is wrong, and exits with 2",
		func(want string, args ...string) {
			Expect(invoke(append([]string{"acp"}, args...)...)).To(Equal(outcome{Code: 2, Err: "fakeagent: " + want + "\n"}))
		},
		Entry("an unknown scenario", `acp: there is no scenario "hapy", did you mean "happy"? There are error, happy, rate_limit, scripted, `+
			`seed/error, seed/happy, seed/rate_limit, seed/slow, slow`, "--scenario", "hapy"),
		Entry("an unknown profile", `--profile: there is no profile "x"; use plain or seed`, "--profile", "x"),
		Entry("an unknown fault", `--fault: has "earlyUpdat", did you mean "earlyUpdate"? There are authRequired, earlyUpdate, openAfterExit, sameSessionId`, "--fault", "earlyUpdat"),
		Entry("a speed that is none", `--speed: "-1" is no speed; use 0 to play without waiting, 1 for real time, 10 for ten times as fast`, "--speed", "-1"),
		Entry("an argument", `unexpected argument hi; see fakeagent acp --help`, "hi"),
	)

	It("says where a scenario file is wrong", func() {
		file := write(filepath.Join(GinkgoT().TempDir(), "mine.json"), "{\"name\":\"mine\",\n \"turns\":[[{\"sy\":1}]]}")
		Expect(invoke("acp", "--scenario", file)).To(Equal(outcome{Code: 2, Err: "fakeagent: acp: " + file + `:2:13: turn 1: step 1: unknown key "sy", did you mean "say"?` + "\n"}))
		Expect(os.Remove(file)).To(Succeed())
	})
})

var _ = Describe("mock", func() {
	It("plays agents at once, one prompt each, the last of which repeats", func() {
		got := invoke("mock", "-n", "3", "--speed", "0", "--cwd", GinkgoT().TempDir(), "one", "two")
		Expect(got).To(succeed())
		for agent, prompt := range map[string]string{"[1] ": "one", "[2] ": "two", "[3] ": "two"} {
			var said []string
			for _, line := range got.lines() {
				if text, ok := strings.CutPrefix(line, agent); ok {
					said = append(said, text)
				}
			}
			Expect(said).To(Equal([]string{
				"[User] " + prompt, "[Thought] Analyzing...", "[Tasks] 0 of 3 done", "[Shell] ls -la",
				"All done. I looked around, made the change, and checked it.",
			}), agent)
		}
		Expect(got.lines()).To(HaveLen(15))
	})

	DescribeTable("exits with 1 where an agent did not end well, and says how it ended",
		func(scenario, last string) {
			got := invoke("mock", "--speed", "0", "--cwd", GinkgoT().TempDir(), "--scenario", scenario, "x")
			Expect(got.Code).To(Equal(1))
			Expect(got.Err).To(BeEmpty())
			Expect(got.lines()).To(ContainElement("[1] [Error] " + last))
		},
		Entry(nil, "error", "the agent exited with code 1"),
		Entry(nil, "rate_limit", "rate limit exceeded: too many requests"),
	)

	It("plays as many agents as there are prompts", func() {
		got := invoke("mock", "--speed", "0", "--cwd", GinkgoT().TempDir(), "one", "two")
		Expect(got.lines()).To(ContainElements("[1] [User] one", "[2] [User] two"))
	})

	It("accepts what its agents ask", func() {
		got := invoke("mock", "--speed", "0", "--cwd", GinkgoT().TempDir(), "--scenario", "seed/happy", "x")
		Expect(got).To(succeed())
		Expect(got.lines()).To(ContainElement("[1] [Shell] ls -la"))
	})

	DescribeTable("says on one line what is wrong, and exits with 2",
		func(want string, args ...string) {
			Expect(invoke(append([]string{"mock"}, args...)...)).To(Equal(outcome{Code: 2, Err: "fakeagent: " + want + "\n"}))
		},
		Entry("an unknown scenario", `mock: there is no scenario "nothing"; use error, happy, rate_limit, scripted, `+
			`seed/error, seed/happy, seed/rate_limit, seed/slow, slow`, "--scenario", "nothing", "x"),
		Entry("fewer agents than prompts", `mock: -n is 1, and each agent gets one prompt; use 2 or more`, "-n", "1", "x", "y"),
		Entry("no prompt", `mock: no prompt; use fakeagent mock <prompt> ... [flags]`),
	)
})
