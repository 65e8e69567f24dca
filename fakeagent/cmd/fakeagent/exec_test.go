package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/event"
	. "github.com/understudy-go/understudy/matchers"
)

// execute runs exec with a configuration, without waiting.
func execute(config string, args ...string) (outcome, []event.Event) {
	GinkgoHelper()
	path := write(filepath.Join(GinkgoT().TempDir(), "config.json"), config)
	got := invoke(append([]string{"exec", "--config", path, "--speed", "0"}, args...)...)
	var events []event.Event
	for _, line := range got.lines() {
		var e event.Event
		if line != "" {
			Expect(json.Unmarshal([]byte(line), &e)).To(Succeed(), line)
			events = append(events, e)
		}
	}
	return got, events
}

var _ = Describe("fakeagent exec", func() {
	It("plays its prompts as the turns of one thread, and prints the events, a line each", func() {
		got, events := execute(`{}`, "one", "two")
		Expect(got).To(succeed())
		Expect(events).To(And(BeWellFormed(), EmitExactly("session.started", "turn.started", event.Delta{Stream: "assistant_text", Text: "fake turn complete"},
			"turn.completed", "turn.started", "content.delta", "turn.completed")))
	})

	It("has a thread called thread-1 without a title, or as it is told to", func() {
		book := write(filepath.Join(GinkgoT().TempDir(), "playbook.json"),
			`{"version":1,"threads":[{"match":{"threadId":"^thread-1$"},"turns":[[{"say":"one"}]]},{"match":{"title":"Lead"},"turns":[[{"say":"led"}],[{"say":"on"}]]}]}`)
		config := fmt.Sprintf(`{"script":"mcp-send","playbookPath":%q}`, book)
		got, events := execute(config, "go")
		Expect(got).To(succeed())
		Expect(events).To(And(HaveEach(HaveField("ThreadID", "thread-1")), EmitEvents(event.Delta{Stream: "assistant_text", Text: "one"})))
		got, events = execute(config, "--thread", "worker:1", "--title", "The Lead", "go", "go on")
		Expect(got).To(succeed())
		Expect(events).To(And(HaveEach(HaveField("ThreadID", "worker:1")),
			EmitEvents(event.Delta{Stream: "assistant_text", Text: "led"}, event.Delta{Stream: "assistant_text", Text: "on"})))
		_, events = execute(config, "--thread", "worker:1", "go")
		Expect(events).To(EmitEvents(event.Delta{Stream: "assistant_text", Text: "fake turn complete"}), "there is no line for it")
	})

	It("gives prompts to the turn before them, if that awaits one, and it is told to", func() {
		book := write(filepath.Join(GinkgoT().TempDir(), "playbook.json"), `{"version":1,"threads":[{"match":{"threadId":"."},"turns":[
			[{"say":"one"},{"awaitSteer":{"timeoutMs":1}}],[{"say":"two"}],[{"say":"three"}],[{"say":"four"},{"awaitSteer":{"timeoutMs":1}}]]}]}`)
		config := fmt.Sprintf(`{"script":"mcp-send","playbookPath":%q}`, book)
		says := func(texts ...string) (all []any) {
			for _, text := range texts {
				all = append(all, event.Delta{Stream: "assistant_text", Text: text})
			}
			return all
		}
		turns := func(of []event.Event) (n int) {
			for _, e := range of {
				if _, ok := e.Payload.(event.TurnStarted); ok {
					n++
				}
			}
			return n
		}
		got, events := execute(config, "--steer", "a", "b", "c", "d")
		Expect(got).To(succeed())
		Expect(events).To(EmitEvents(says("one", "two", "three", "four")...))
		Expect(turns(events)).To(Equal(1), "all of it was awaited by the first batch")
		got, events = execute(config, "a", "b", "c", "d")
		Expect(got).To(succeed())
		Expect(events).To(EmitEvents(says("one", "two", "three", "four")...))
		Expect(turns(events)).To(Equal(4))
	})

	It("accepts approvals, or answers them as it is told to", func() {
		for answer, want := range map[string]string{"accept": "approved", "decline": "declined", "": "approved"} {
			args := []string{"lane:approve"}
			if answer != "" {
				args = append(args, "--answer", answer)
			}
			got, events := execute(`{"script":"lane"}`, args...)
			Expect(got).To(succeed())
			Expect(events).To(EmitEvents(event.Delta{Stream: "assistant_text", Text: want}))
		}
		got, events := execute(`{"script":"lane"}`, "--answer=cancel", "lane:approve", "lane:plain")
		Expect(got.Code).To(Equal(130), "the worst turn's")
		Expect(events).To(EmitEvents(event.TurnCompleted{State: "interrupted"}, event.TurnCompleted{State: "completed"}))
	})

	It("answers a question that blocks with its first option", func() {
		_, events := execute(`{"script":"lane"}`, "lane:question")
		Expect(events).To(EmitEvents(event.UserInputResolved{Answers: map[string]any{"color": "Blue"}}, "turn.completed"))
	})

	It("has the exit code 1 for a turn that failed", func() {
		got, events := execute(`{"script":"replay"}`, "go")
		Expect(got.Code).To(Equal(1))
		Expect(events).To(EmitEvents(HaveField("Payload", HaveField("ErrorMessage", HavePrefix("replay:")))))
	})

	It("prints the same bytes in two processes, but for the times", func() {
		path := write(filepath.Join(GinkgoT().TempDir(), "config.json"), `{"script":"stream","streamChunks":4,"seed":3}`)
		var outputs []string
		for range 2 {
			out, err := exec.Command(binary, "exec", "--config", path, "--speed=0", "go").Output()
			Expect(err).NotTo(HaveOccurred())
			var b strings.Builder
			for line := range strings.Lines(string(out)) {
				before, rest, _ := strings.Cut(line, `"createdAt":"`)
				_, after, _ := strings.Cut(rest, `"`)
				b.WriteString(before + after)
			}
			outputs = append(outputs, b.String())
		}
		Expect(outputs[0]).To(And(Equal(outputs[1]), ContainSubstring("content.delta")))
	})

	DescribeTable("is refused with one line, and does nothing", func(config string, line string, args ...string) {
		dir := GinkgoT().TempDir()
		path := filepath.Join(dir, "config.json")
		if config != "" {
			write(path, config)
		}
		got := invoke(append([]string{"exec", "--config", path}, args...)...)
		Expect(got).To(Equal(outcome{2, "", "fakeagent: " + strings.ReplaceAll(line, "<file>", path) + "\n"}))
	},
		Entry("a file that is not there", "", "--config: open <file>: no such file or directory; give a JSON file, such as one with {}", "go"),
		Entry("a slip in it", `{"scrpt":"plain"}`, `--config: <file>: unknown key "scrpt", did you mean "script"?`, "go"),
		Entry("no JSON", `{`, `--config: <file>: unexpected end of JSON input; see fakeagent exec --help`, "go"),
		Entry("a script that there is not", `{"script":"sing"}`,
			`exec: unknown script "sing"; use plain, approval-tool, async-question, stream, replay, mcp-send, visualize, lane, steps, or the path of a file that ends in .json`, "go"),
		Entry("a number that cannot be", `{"streamChunks":0}`, `exec: streamChunks is 0; use 1 or more`, "go"),
		Entry("an answer that is none", `{}`, `--answer: "yes" is no answer; use accept, decline or cancel`, "--answer", "yes", "go"),
		Entry("no prompt", `{}`, `exec: no prompt; use fakeagent exec --config=FILE <prompt> ... [flags]`),
	)

	It("needs a config", func() {
		Expect(invoke("exec", "go")).To(Equal(outcome{2, "", "fakeagent: missing flags: --config=FILE; see fakeagent exec --help\n"}))
	})

	It("says at once what is wrong with a playbook", func() {
		dir := GinkgoT().TempDir()
		book := write(filepath.Join(dir, "book.json"), `{"version":2}`)
		config := write(filepath.Join(dir, "config.json"), fmt.Sprintf(`{"script":"mcp-send","playbookPath":%q}`, book))
		Expect(invoke("exec", "--config", config, "x")).To(Equal(outcome{Code: 2, Err: "fakeagent: exec: playbookPath: " + book + ":1:12: version must be 1, is 2\n"}))
	})

	It("fails where nothing can be written", func() {
		path := write(filepath.Join(GinkgoT().TempDir(), "config.json"), `{}`)
		r, w := io.Pipe()
		Expect(r.Close()).To(Succeed())
		var errs strings.Builder
		Expect(run(GinkgoT().Context(), []string{"exec", "--config", path, "go"}, console{w, &errs, false})).To(Equal(1))
		Expect(errs.String()).To(Equal("fakeagent: the output could not be written: io: read/write on closed pipe\n"))
	})

	It("ends the turn at Ctrl-C, and prints its end", func() {
		path := write(filepath.Join(GinkgoT().TempDir(), "config.json"), `{"script":"lane"}`)
		cmd := exec.Command(binary, "exec", "--config", path, "lane:hold", "lane:plain")
		out, err := cmd.StdoutPipe()
		Expect(err).NotTo(HaveOccurred())
		Expect(cmd.Start()).To(Succeed())
		first := make([]byte, 1)
		_, err = io.ReadFull(out, first)
		Expect(err).NotTo(HaveOccurred())
		Expect(cmd.Process.Signal(os.Interrupt)).To(Succeed())
		rest, err := io.ReadAll(out)
		Expect(err).NotTo(HaveOccurred())
		_ = cmd.Wait()
		Expect(cmd.ProcessState.ExitCode()).To(Equal(130))
		if strings.Contains(string(rest), "turn.started") {
			Expect(string(rest)).To(ContainSubstring(`"state":"interrupted"`))
		}
		Expect(string(rest)).NotTo(ContainSubstring("fake turn complete"))
	})
})

var _ = Describe("A question that blocks the turn", func() {
	const prompt = `[{"question":{"blocking":true,"questions":[{"id":"c","header":"C","question":"Which?","options":[{"label":"Blue"}]}]}},` +
		`{"question":{"questions":[{"id":"d","header":"D","question":"And then?"}]}},{"say":"on"}]`

	It("gets its first option from run", func() {
		got := invoke("run", prompt)
		Expect(got).To(succeed())
		Expect(got.lines()).To(ContainElement("on"))
	})

	It("gets its first option from mock, by which the agent is asked over its protocol", func() {
		got := invoke("mock", "--scenario", "scripted", prompt)
		Expect(got).To(succeed())
		Expect(got.Out).To(HaveSuffix("on\n"))
	})
})
