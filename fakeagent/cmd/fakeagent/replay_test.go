package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

const greeting = "../../replay/testdata/greeting.jsonl"

// played is what the example looks like.
const played = "[User] Make the greeting polite.\nRewriting greet.txt. \n[write] {\"path\":\"greet.txt\"}\nDone. <done/>\n"

var _ = Describe("fakeagent replay", func() {
	It("plays a journal with the prompts that it has", func() {
		Expect(invoke("replay", greeting)).To(Equal(outcome{Out: played}))
	})

	It("holds the prompts that it is given against those, and says where one differs", func() {
		Expect(invoke("replay", greeting, "--prompt", "Make the greeting polite.")).To(Equal(outcome{Out: played}))
		got := invoke("replay", greeting, "--prompt", "Make the greeting polite, please.", "--prompt", "which is not sent")
		Expect(got).To(And(HaveField("Code", 1), HaveField("Out", And(ContainSubstring("[System Error] replay: turn 1"), Not(ContainSubstring("Rewriting")), Not(ContainSubstring("not sent")))), HaveField("Err", "")))
	})

	It("says what was not played", func() {
		file := filepath.Join(GinkgoT().TempDir(), "two.jsonl")
		write(file, `{"kind":"prompt","source":"agent","text":"one"}`+"\n"+read(greeting))
		Expect(invoke("replay", file, "--divergence", "warn", "--prompt", "one")).To(And(HaveField("Code", 1), HaveField("Err", HavePrefix("fakeagent: replay: 2 of 3 turns were not played; the next one is for \"Make the greeting polite.\""))))
	})

	It("goes on with a warning where it is told to", func() {
		got := invoke("replay", greeting, "--divergence", "warn", "--prompt", "Make it polite.")
		Expect(got).To(And(HaveField("Code", 0), HaveField("Out", ContainSubstring("Done. <done/>")), HaveField("Err", And(
			HavePrefix("fakeagent: replay: turn 1: the prompt is not the recorded one; it differs at line 1, column 6 (byte 5)\n  recorded: \"Make the greeting polite.\"\n  sent:     \"Make it polite.\"\n"), HaveSuffix("     ^\n")))))
	})

	It("prints items as JSON, and writes a report, where it is told to", func() {
		report := filepath.Join(GinkgoT().TempDir(), "report.json")
		got := invoke("replay", greeting, "--json", "--report", report)
		Expect(got).To(succeed())
		Expect(got.lines()).To(HaveLen(4))
		for _, line := range got.lines() {
			Expect(json.Valid([]byte(line))).To(BeTrue(), line)
		}
		var r replay.Report
		Expect(json.Unmarshal([]byte(read(report)), &r)).To(Succeed())
		Expect(r).To(And(HaveField("Turns", 2), HaveField("Remaining", 0), HaveField("Divergences", BeEmpty())))
	})

	It("says what is wrong with a journal before anything is played", func() {
		dir := GinkgoT().TempDir()
		text := strings.Replace(read(greeting), `"output":8`, `"output":-8`, 1)
		Expect(invoke("replay", write(filepath.Join(dir, "bad.jsonl"), text))).To(And(HaveField("Code", 2), HaveField("Out", ""),
			HaveField("Err", HavePrefix("fakeagent: replay: entry 8 (usage): tokens.output"))))
		Expect(invoke("replay", filepath.Join(dir, "missing.jsonl"))).To(And(HaveField("Code", 2), HaveField("Err", ContainSubstring("missing.jsonl"))))
		Expect(invoke("replay", write(filepath.Join(dir, "other.jsonl"), `{"type":"session"}`+"\n"))).To(And(HaveField("Code", 2), HaveField("Out", "")))
		Expect(invoke("replay", greeting, "--divergence", "ignore")).To(Equal(outcome{Code: 2, Err: "fakeagent: --divergence: \"ignore\" is no policy; use fail or warn\n"}))
	})

	It("plays what it can of one that was cut off, and says so", func() {
		text := read(greeting)
		text = text[:strings.Index(text, `"kind":"dispatch-finished"`)+10]
		got := invoke("replay", write(filepath.Join(GinkgoT().TempDir(), "torn.jsonl"), text))
		Expect(got).To(And(HaveField("Code", 0), HaveField("Out", played)))
		Expect(got.Err).To(And(ContainSubstring("torn.jsonl"), ContainSubstring("line 16")))
	})
})

var _ = Describe("fakeagent replay in a work tree", func() {
	It("makes the recorded commits there, and only there", func() {
		dir := GinkgoT().TempDir()
		git := func(args ...string) string {
			GinkgoHelper()
			cmd := exec.Command("git", args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=Kit Base", "GIT_AUTHOR_EMAIL=base@example.test", "GIT_AUTHOR_DATE=@1700000000 +0000",
				"GIT_COMMITTER_NAME=Kit Base", "GIT_COMMITTER_EMAIL=base@example.test", "GIT_COMMITTER_DATE=@1700000000 +0000")
			out, err := cmd.Output()
			Expect(err).NotTo(HaveOccurred())
			return strings.TrimSpace(string(out))
		}
		git("init", "-q")
		write(filepath.Join(dir, "greet.txt"), "hello\n")
		git("add", ".")
		git("commit", "-q", "-m", "Start")
		base := git("rev-parse", "HEAD")
		Expect(invoke("replay", greeting)).To(succeed())
		Expect(git("rev-parse", "HEAD")).To(Equal(base))
		Expect(invoke("replay", greeting, "--cwd", dir)).To(Equal(outcome{Out: played}))
		Expect(git("rev-parse", "HEAD")).To(Equal("28587bae663141a7c2318653e7cc44571fdc544f"))
		again := invoke("replay", greeting, "--cwd", dir)
		Expect(again).To(And(HaveField("Code", 1), HaveField("Out", ContainSubstring("the workspace begins with other files"))))
	})
})

var _ = Describe("acp with a journal", func() {
	It("plays it, whoever drives it", func() {
		cmd := exec.Command(binary, "acp", "--journal", greeting)
		stdin, err := cmd.StdinPipe()
		Expect(err).NotTo(HaveOccurred())
		stdout, err := cmd.StdoutPipe()
		Expect(err).NotTo(HaveOccurred())
		Expect(cmd.Start()).To(Succeed())
		fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
		fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
		out := bufio.NewScanner(stdout)
		var said []string
		for len(said) < 2 && out.Scan() {
			said = append(said, out.Text())
		}
		var session struct{ Result struct{ SessionID string } }
		Expect(json.Unmarshal([]byte(said[1]), &session)).To(Succeed())
		fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"Make the greeting polite."}]}}`+"\n", session.Result.SessionID)
		for out.Scan() {
			said = append(said, out.Text())
			if strings.Contains(out.Text(), `"id":2`) {
				break
			}
		}
		Expect(stdin.Close()).To(Succeed())
		Expect(cmd.Wait()).To(Succeed())
		Expect(frames(strings.Join(said, "\n"))).To(Equal([]string{"result 0", "result 1", "agent_message_chunk", "tool_call", "tool_call_update", "usage_update", "agent_message_chunk", "usage_update", "error 2"}))
		Expect(said[len(said)-1]).To(ContainSubstring("not a git repository"), "its commits were recorded, and there is no repository for them")
	})

	It("is not to be told what to say", func() {
		Expect(invoke("acp", "--journal", greeting, "--stream")).To(Equal(outcome{Code: 2, Err: "fakeagent: acp: --stream sends a prompt of its own, which is not the journal's; leave it out\n"}))
		Expect(invoke("acp", "--journal", greeting, "--scenario", "happy")).To(Equal(outcome{Code: 2, Err: "fakeagent: acp: --journal and --scenario both say what it plays; give one of them\n"}))
		Expect(invoke("acp", "--journal", "missing.jsonl")).To(And(HaveField("Code", 2), HaveField("Err", ContainSubstring("missing.jsonl"))))
	})
})

var _ = Describe("lint of journals", func() {
	It("is silent about one that is right, one a line or in an array", func() {
		array := "[" + strings.Join(strings.Split(strings.TrimSpace(read(greeting)), "\n"), ",\n") + "]"
		Expect(invoke("lint", greeting, write(filepath.Join(GinkgoT().TempDir(), "array.json"), array))).To(Equal(outcome{}))
	})
	It("names the line of an entry that is wrong, and of what cannot be read", func() {
		dir := GinkgoT().TempDir()
		text := read(greeting)
		file := write(filepath.Join(dir, "bad.jsonl"), strings.Replace(text, `"output":8`, `"output":-8`, 1))
		Expect(invoke("lint", file)).To(And(HaveField("Code", 1), HaveField("Out", HavePrefix(file+":9:1: entry 8 (usage): tokens.output"))))
		file = write(filepath.Join(dir, "torn.jsonl"), text[:len(text)-20])
		Expect(invoke("lint", file)).To(And(HaveField("Code", 1), HaveField("Out", HavePrefix(file+":16:1: "))))
		file = write(filepath.Join(dir, "glued.jsonl"), strings.Replace(text, "}\n{", "}{", 1))
		Expect(invoke("lint", file)).To(And(HaveField("Code", 1), HaveField("Out", HavePrefix(file+":1:1: "))))
	})
})
