package fakeagent_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	. "github.com/understudy-go/understudy/matchers"
)

var _ = Describe("Which script a prompt runs", func() {
	var a *agent
	BeforeEach(func() { a = scripted() })

	turns := func(content string) {
		GinkgoHelper()
		Expect(os.WriteFile(filepath.Join(a.cwd, ".fake-agent.json"), []byte(content), 0o644)).To(Succeed())
	}

	Describe("a prompt that carries a script", func() {
		It("is one with a fenced block whose language is fake-agent, whatever stands around it", func() {
			run := a.run("Please do this:\n\n```fake-agent\n[{\"say\":\"from the block\"}]\n```\n\nThank you. {not json}")
			Expect(run).To(And(EndCompleted(), HaveItems(BeAssistantMessage("from the block"))))
		})
		It("is one that is JSON as a whole: an object with steps, or a bare array", func() {
			Expect(a.run(` {"steps":[{"say":"object"}]} `)).To(HaveItems(BeAssistantMessage("object")))
			Expect(a.run(` [{"say":"array"}] `)).To(HaveItems(BeAssistantMessage("array")))
		})
		It("prefers the block to the file of turns", func() {
			turns(`{"turns":[[{"say":"from the file"}]]}`)
			Expect(a.run("```fake-agent\n[{\"say\":\"from the block\"}]\n```")).To(HaveItems(BeAssistantMessage("from the block")))
		})
		It("must carry one that parses; nothing of a broken one runs, and the turn fails with what is wrong", func() {
			run := a.run(`[{"write":{"path":"a","content":"x"}},{"wirte":{"path":"b","content":"x"}}]`)
			Expect(run).To(EndFailed(`fake-agent: invalid script: step 2: unknown key "wirte", did you mean "write"?`))
			Expect(run).To(HaveItems(BeErrorItem(run.Ending.Message)))
			Expect(filepath.Join(a.cwd, "a")).NotTo(BeAnExistingFile())
		})
		It("must carry one block only", func() {
			Expect(a.run("```fake-agent\n[]\n```\n```fake-agent\n[]\n```")).To(EndFailed("fake-agent: invalid script: 2 fenced blocks, expected 1"))
		})
		DescribeTable("fails the turn when the script is broken, and the next turn works",
			func(prompt, reason string) {
				Expect(a.run(prompt)).To(EndFailed("fake-agent: invalid script: " + reason))
				Expect(a.run("hello")).To(And(EndCompleted(), HaveItems(BeAssistantMessage("fake-agent received: hello"))))
			},
			Entry("broken JSON", `{"steps":[`, "unexpected end of JSON input (line 1, column 11)"),
			Entry("two keys in a step", `[{"say":"x","think":"y"}]`, `step 1 must have exactly one key, has "say" and "think"`),
			Entry("a key beside steps", `{"steps":[],"stepDelay":5}`, `unknown key "stepDelay", did you mean "stepDelayMs"?`),
			Entry("a negative delay", `{"steps":[],"stepDelayMs":-5}`, "stepDelayMs must be a whole number of milliseconds, 0 or more, is -5"),
			Entry("a detail that the timeline cannot have", `[{"tool":{"name":"Read","detail":{"type":"read","filePath":5}}}]`,
				"step 1 (tool): timeline: read: filePath must be a string, is a number"),
			Entry("such a detail where the answer is yes", `[{"approval":{"title":"x","timeoutMs":1,"allow":[{"tool":{"name":"Read","detail":{"type":"read","filePath":5}}}]}}]`,
				"step 1 (approval): step 1 (tool): timeline: read: filePath must be a string, is a number"),
			Entry("such a detail where the answer is no", `[{"approval":{"title":"x","timeoutMs":1,"deny":[{"tool":{"name":"Read","detail":{"type":"read","filePath":5}}}]}}]`,
				"step 1 (approval): step 1 (tool): timeline: read: filePath must be a string, is a number"),
			Entry("such a detail of what is asked for", `[{"approval":{"title":"x","timeoutMs":1,"tool":{"name":"Read","detail":{"type":"read","filePath":5}}}}]`,
				"step 1 (approval): timeline: read: filePath must be a string, is a number"),
			Entry("ten megabytes", `[{"say":"`+strings.Repeat("x", 10<<20)+`"}]`, "it is 10485772 bytes long; the limit is 4194304"),
		)
	})

	Describe("a plain prompt where the agent's folder has a .fake-agent.json", func() {
		It("runs the script of the turn's number; the last one repeats", func() {
			turns(`{"turns":[{"steps":[{"say":"one"}]},[{"say":"two"}]]}`)
			Expect(a.run("go")).To(HaveItems(BeAssistantMessage("one")))
			Expect(a.run("on")).To(HaveItems(BeAssistantMessage("two")))
			Expect(a.run("and on")).To(HaveItems(BeAssistantMessage("two")))
		})
		It("counts all turns of the agent, whoever picked their script", func() {
			turns(`{"turns":[[{"say":"one"}],[{"say":"two"}]]}`)
			a.run(`[]`)
			Expect(a.run("go")).To(HaveItems(BeAssistantMessage("two")))
		})
		It("reads the file at each turn", func() {
			turns(`{"turns":[[{"say":"one"}]]}`)
			a.run("go")
			turns(`{"turns":[[{"say":"one"}],[{"say":"changed"}]]}`)
			Expect(a.run("go")).To(HaveItems(BeAssistantMessage("changed")))
		})
		It("is a completed turn where the steps are empty", func() {
			turns(`{"turns":[[]]}`)
			Expect(a.run("go")).To(And(EndCompleted(), HaveItems()))
		})
		It("fails the turn where the file is broken, as a broken prompt does", func() {
			turns(`{"turns":[{"steps":[{"sey":"x"}]}]}`)
			Expect(a.run("go")).To(EndFailed(`fake-agent: invalid script: .fake-agent.json: turn 1: step 1: unknown key "sey", did you mean "say"?`))
			turns(`{"turns":[]}`)
			Expect(a.run("go")).To(EndFailed("fake-agent: invalid script: .fake-agent.json: turns needs at least one turn"))
		})
		It("does not follow the file out of the folder", func() {
			outside := filepath.Join(GinkgoT().TempDir(), "turns.json")
			Expect(os.WriteFile(outside, []byte(`[]`), 0o644)).To(Succeed())
			Expect(os.Symlink(outside, filepath.Join(a.cwd, ".fake-agent.json"))).To(Succeed())
			Expect(a.run("go")).To(EndFailed(ContainSubstring("leaves the workspace")))
		})
		It("takes the first route that fits before it looks at the turns", func() {
			turns(`{
				"routes": [
					{"when": {"prompt": "retry", "attempt": 2}, "steps": [{"say": "second try"}]},
					{"when": {"prompt": {"regexp": "^fix .*now$"}}, "steps": [{"say": "fixing"}], "times": 1},
					{"when": {"turn": 5}, "steps": [{"say": "turn five"}]}
				],
				"turns": [[{"say": "from turns"}]]
			}`)
			Expect(a.run("please retry")).To(HaveItems(BeAssistantMessage("from turns")))
			Expect(a.run("please retry")).To(HaveItems(BeAssistantMessage("second try")))
			Expect(a.run("fix it now")).To(HaveItems(BeAssistantMessage("fixing")))
			Expect(a.run("fix it now")).To(HaveItems(BeAssistantMessage("from turns")), "the route may be taken once")
			Expect(a.run("anything")).To(HaveItems(BeAssistantMessage("turn five")))
		})
		It("takes a route no more often than it says, the first one too", func() {
			turns(`{"routes":[{"when":{"prompt":"go"},"steps":[{"say":"twice"}],"times":2}]}`)
			Expect(a.run("go")).To(HaveItems(BeAssistantMessage("twice")))
			Expect(a.run("go")).To(HaveItems(BeAssistantMessage("twice")))
			Expect(a.run("go")).To(HaveItems(BeAssistantMessage("fake-agent received: go")))
		})
		It("answers with the prompt where only routes stand there and none fits", func() {
			turns(`{"routes":[{"when":{"prompt":"x"},"steps":[]}]}`)
			Expect(a.run("go")).To(HaveItems(BeAssistantMessage("fake-agent received: go")))
		})
	})

	It("is not looked up in a file where the agent has no folder", func() {
		cfg := fakeagent.Scripted()
		cfg.Files = memory{".fake-agent.json": `{"turns":[[{"say":"from somebody's file"}]]}`}
		a := start(cfg, "")
		DeferCleanup(a.Close)
		Expect(a.run("go")).To(HaveItems(BeAssistantMessage("fake-agent received: go")))
	})
	It("answers any other prompt with one message that repeats it", func() {
		Expect(a.run("hello there")).To(And(EndCompleted(), HaveItems(BeAssistantMessage("fake-agent received: hello there"))))
	})

	Describe("the agent's own choice", func() {
		choosing := func(choose func(fakeagent.Input) (script.Script, error)) *agent {
			a := start(fakeagent.Config{Choose: choose}, "")
			DeferCleanup(a.Close)
			return a
		}
		It("is a function that gets the prompt, the turn's number and how often the prompt came before", func() {
			var got []fakeagent.Input
			a := choosing(func(in fakeagent.Input) (script.Script, error) {
				got = append(got, in)
				return script.New(script.Say("chosen")), nil
			})
			Expect(a.run("x")).To(HaveItems(BeAssistantMessage("chosen")))
			a.run("y")
			a.run("x")
			Expect(got).To(Equal([]fakeagent.Input{
				{ThreadID: "a", Prompt: "x", Turn: 1, Attempt: 1},
				{ThreadID: "a", Prompt: "y", Turn: 2, Attempt: 1},
				{ThreadID: "a", Prompt: "x", Turn: 3, Attempt: 2},
			}))
		})
		It("is held to the rules of the language each time, also where one script shares its steps with another", func() {
			steps := []script.Step{script.Say("one"), script.SayStep{Text: "two", Chunks: 9}}
			scripts := []script.Script{
				{Steps: steps[:1]}, {Steps: steps}, {Steps: steps[:1], StepDelay: time.Microsecond}, {StepDelay: time.Microsecond}, {Steps: steps[:1]},
			}
			a := choosing(func(in fakeagent.Input) (script.Script, error) { return scripts[in.Turn-1], nil })
			Expect(a.run("x")).To(HaveItems(BeAssistantMessage("one")))
			Expect(a.run("x")).To(EndFailed("fake-agent: invalid script: step 2 (say): chunks is 9, but the text has only 3 characters"))
			delay := "fake-agent: invalid script: stepDelayMs must be a whole number of milliseconds, 0 or more, is 1µs"
			Expect(a.run("x")).To(EndFailed(delay))
			Expect(a.run("x")).To(EndFailed(delay))
			Expect(a.run("x")).To(HaveItems(BeAssistantMessage("one")))
		})
		It("is told the agent's folder", func() {
			var got fakeagent.Input
			folder := a.cwd
			a := start(fakeagent.Config{Choose: func(in fakeagent.Input) (script.Script, error) { got = in; return script.New(), nil }}, folder)
			DeferCleanup(a.Close)
			a.run("x")
			Expect(got).To(Equal(fakeagent.Input{ThreadID: "a", Cwd: folder, Prompt: "x", Turn: 1, Attempt: 1}))
		})
		It("is what the turn does while it is made", func() {
			var doing string
			var a *agent
			a = choosing(func(fakeagent.Input) (script.Script, error) {
				th, err := a.ReadThread(context.Background(), "a")
				doing = th.Doing
				return script.New(), err
			})
			Expect(a.run("x")).To(EndCompleted())
			Expect(doing).To(Equal("the choice of its script"))
		})
		It("fails the turn with its error", func() {
			a := choosing(func(fakeagent.Input) (script.Script, error) { return script.Script{}, errors.New("no idea") })
			Expect(a.run("x")).To(EndFailed("fake-agent: no script was chosen: no idea"))
		})
		It("fails the turn when it panics or ends its goroutine, and the agent goes on", func() {
			a := choosing(func(in fakeagent.Input) (script.Script, error) {
				switch in.Prompt {
				case "panic":
					panic("oh")
				case "exit":
					runtime.Goexit()
				}
				return script.New(), nil
			})
			Expect(a.run("panic")).To(EndFailed("fake-agent: Choose, Perform, Files, Shell, MCP or Spawn panicked at turn a-turn-1: oh"))
			Expect(a.run("exit")).To(EndFailed(HavePrefix("fake-agent: Choose, Perform, Files, Shell, MCP or Spawn called runtime.Goexit at turn a-turn-2, as t.FailNow and t.Fatal do")))
			Expect(a.run("fine")).To(EndCompleted())
			Expect(a.Violations()).To(HaveExactElements(ContainSubstring("choose_test.go"), ContainSubstring("Goexit")))
		})
		It("is told what goes with the prompt, as it was when the turn was sent", func() {
			var got []fakeagent.Attachment
			a := choosing(func(in fakeagent.Input) (script.Script, error) { got = in.Attachments; return script.New(), nil })
			sent := []fakeagent.Attachment{{Name: "a.png", MediaType: "image/png", Data: []byte("\x89PNG")}, {URI: "file:///b.txt"}}
			want := slices.Clone(sent)
			release := make(chan struct{})
			a.Subscribe(func(e event.Event) {
				if _, ok := e.Payload.(event.TurnStarted); ok {
					<-release
				}
			})
			id, err := a.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: "a", Text: "look", Attachments: sent})
			Expect(err).NotTo(HaveOccurred())
			sent[0] = fakeagent.Attachment{Name: "another"}
			close(release)
			a.wait(id)
			Expect(got).To(Equal(want))
			a.run("look again")
			Expect(got).To(BeEmpty())
		})
		DescribeTable("fails the turn as a broken prompt does, where its error is one of a script",
			func(err error, reason string) {
				a := choosing(func(fakeagent.Input) (script.Script, error) { return script.New(script.Hold("")), err })
				Expect(a.run("x")).To(EndFailed("fake-agent: invalid script: " + reason))
			},
			Entry("as it is", &script.Error{Reason: "step 1 (hold): name must not be empty"}, "step 1 (hold): name must not be empty"),
			Entry("with its place", &script.Error{Reason: "unexpected end of JSON input", Line: 3, Column: 5, Syntax: true}, "unexpected end of JSON input (line 3, column 5)"),
			Entry("inside another one", fmt.Errorf("my.json: %w", &script.Error{Reason: "turn 1: steps is missing"}), "my.json: turn 1: steps is missing"),
		)
		It("is held to the rules of the language", func() {
			a := choosing(func(fakeagent.Input) (script.Script, error) {
				return script.New(script.Say("never said"), script.SayStep{Text: "ab", Chunks: 3}), nil
			})
			run := a.run("x")
			Expect(run).To(EndFailed("fake-agent: invalid script: step 2 (say): chunks is 3, but the text has only 2 characters"))
			Expect(run).NotTo(ContainItems(BeAssistantMessage("never said")))
		})
	})

	Describe("the choice from a file of the caller's", func() {
		const file = `{"turns":[[{"say":"turn one"}],[{"say":"later turn"}]],
			"routes":[{"when":{"prompt":"go"},"times":2,"steps":[{"say":"route"}]},{"when":{"attempt":2},"steps":[{"say":"second time"}]}]}`
		from := func(text string) func(fakeagent.Input) (script.File, error) {
			return func(fakeagent.Input) (script.File, error) { return script.ParseFile([]byte(text)) }
		}
		with := func(file func(fakeagent.Input) (script.File, error)) *agent {
			GinkgoHelper()
			a := start(fakeagent.Config{Choose: fakeagent.FromFile(file)}, "")
			DeferCleanup(a.Close)
			return a
		}

		It("is what the prompt carries, else the first route that fits, else the turn of that number, the last of which repeats", func() {
			a := with(from(file))
			Expect(a.run("x")).To(HaveItems(BeAssistantMessage("turn one")))
			Expect(a.run(`[{"say":"from the prompt"}]`)).To(HaveItems(BeAssistantMessage("from the prompt")))
			Expect(a.run("go\n```fake-agent\n[{\"say\":\"from the block\"}]\n```")).To(HaveItems(BeAssistantMessage("from the block")))
			Expect(a.run("go on")).To(HaveItems(BeAssistantMessage("route")))
			Expect(a.run("x")).To(HaveItems(BeAssistantMessage("second time")))
			Expect(a.run("x")).To(HaveItems(BeAssistantMessage("later turn")))
		})
		It("is the answer that repeats the prompt where the file has nothing for it, or nothing at all", func() {
			Expect(with(from(`{"routes":[{"when":{"prompt":"go"},"steps":[]}]}`)).run("x")).To(HaveItems(BeAssistantMessage("fake-agent received: x")))
			Expect(with(func(fakeagent.Input) (script.File, error) { return script.File{}, nil }).run("x")).To(HaveItems(BeAssistantMessage("fake-agent received: x")))
		})
		It("takes a route no more often than the file says, in each thread", func() {
			a := with(from(`{"routes":[{"when":{"prompt":"go"},"times":2,"steps":[{"say":"route"}]}]}`))
			other := &agent{Instance: a.Instance, id: "b", ended: make(chan event.TurnCompleted, 10)}
			a.Subscribe(func(e event.Event) {
				if end, ok := e.Payload.(event.TurnCompleted); ok && e.ThreadID == "b" {
					other.ended <- end
				}
			})
			Expect(a.StartSession(context.Background(), fakeagent.SessionConfig{ThreadID: "b"})).To(Succeed())
			for _, want := range []string{"route", "route", "fake-agent received: go", "fake-agent received: go"} {
				Expect(a.run("go")).To(HaveItems(BeAssistantMessage(want)))
				Expect(other.run("go")).To(HaveItems(BeAssistantMessage(want)))
			}
		})
		It("asks for the file at each turn that needs it, and says which turn that is", func() {
			var got []fakeagent.Input
			a := with(func(in fakeagent.Input) (script.File, error) {
				got = append(got, in)
				return script.ParseFile([]byte(fmt.Sprintf(`[{"say":"file %d"}]`, len(got))))
			})
			Expect(a.run("x")).To(HaveItems(BeAssistantMessage("file 1")))
			Expect(a.run(`[]`)).To(HaveItems())
			Expect(a.run("x")).To(HaveItems(BeAssistantMessage("file 2")))
			Expect(got).To(Equal([]fakeagent.Input{
				{ThreadID: "a", Prompt: "x", Turn: 1, Attempt: 1}, {ThreadID: "a", Prompt: "x", Turn: 3, Attempt: 2},
			}))
		})
		DescribeTable("fails the turn that has none",
			func(file func(fakeagent.Input) (script.File, error), prompt, reason string) {
				Expect(with(file).run(prompt)).To(EndFailed("fake-agent: " + reason))
			},
			Entry("since the file does not parse", from(`{"turns":[{"steps":[{"sey":"x"}]}]}`), "x",
				`invalid script: turn 1: step 1: unknown key "sey", did you mean "say"?`),
			Entry("since the file is no JSON", from("{\n\"turns\": ["), "x", "invalid script: unexpected end of JSON input (line 2, column 11)"),
			Entry("since the prompt does not parse", from(file), `[{"sey":"x"}]`, `invalid script: step 1: unknown key "sey", did you mean "say"?`),
			Entry("since the prompt has two blocks", from(file), "```fake-agent\n[]\n```\n```fake-agent\n[]\n```", "invalid script: 2 fenced blocks, expected 1"),
			Entry("since there is no file", func(fakeagent.Input) (script.File, error) { return script.File{}, errors.New("no such file") }, "x",
				"no script was chosen: no such file"),
			Entry("since a turn that was made in Go is wrong", func(fakeagent.Input) (script.File, error) {
				return script.File{Turns: []script.Script{script.New(script.Raw(""))}}, nil
			}, "x", "invalid script: step 1 (raw): text must not be empty"),
		)
		It("serves any number of threads at once", func() {
			const threads, turns = 20, 6
			in := fakeagent.NewT(GinkgoT(), fakeagent.Config{Choose: fakeagent.FromFile(from(
				`{"routes":[{"when":{"prompt":"go"},"times":2,"steps":[{"say":"first"}]},{"when":{"prompt":"go"},"times":1,"steps":[{"say":"then"}]}]}`))})
			var mu sync.Mutex
			said := map[string][]string{}
			over := make(chan string, threads*turns)
			in.Subscribe(func(e event.Event) {
				switch p := e.Payload.(type) {
				case event.Delta:
					mu.Lock()
					said[e.ThreadID] = append(said[e.ThreadID], p.Text)
					mu.Unlock()
				case event.TurnCompleted:
					over <- e.ThreadID
				}
			})
			send := func(id string) {
				GinkgoHelper()
				_, err := in.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: id, Text: "go"})
				Expect(err).NotTo(HaveOccurred())
			}
			for i := range threads {
				id := fmt.Sprint("thread ", i)
				Expect(in.StartSession(context.Background(), fakeagent.SessionConfig{ThreadID: id})).To(Succeed())
				send(id)
			}
			left := map[string]int{}
			for range threads * turns {
				id := <-over
				if left[id]++; left[id] < turns {
					send(id)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			Expect(said).To(And(HaveLen(threads), HaveEach(Equal(
				[]string{"first", "first", "then", "fake-agent received: go", "fake-agent received: go", "fake-agent received: go"}))))
		})
	})

	It("calls itself fake-agent and has one model, labelled Scripted", func() {
		for range 2 {
			probe, err := a.Probe(context.Background())
			Expect(err).NotTo(HaveOccurred())
			Expect(probe).To(Equal(fakeagent.Probe{
				ID: "fake-agent", Label: "Fake agent", Models: []fakeagent.Model{{ID: "scripted", Label: "Scripted", Default: true}},
			}))
			probe.Models[0].Label = "changed" // which is the caller's own affair
		}
	})

	Describe("a configuration without settings", func() {
		It("is an agent that answers every prompt with one short message", func() {
			plain := start(fakeagent.Config{}, "")
			DeferCleanup(plain.Close)
			Expect(plain.run(`[{"say":"this is no script here"}]`)).To(HaveItems(BeAssistantMessage("fake turn complete")))
			Expect(plain.Probe(context.Background())).To(Equal(fakeagent.Probe{
				ID: "fake", Label: "Fake", Models: []fakeagent.Model{{ID: "fake", Label: "Fake", Default: true}, {ID: "fake-large", Label: "Fake large"}},
			}))
		})
		It("refuses a script that it does not know, and names the ones it does", func() {
			_, err := fakeagent.New(fakeagent.Config{Script: "stepps"})
			Expect(err).To(MatchError(`fakeagent: unknown script "stepps", did you mean "steps"? There are plain, approval-tool, async-question, stream, replay, mcp-send, visualize, lane, steps, or the path of a file that ends in .json`))
		})
		It("refuses a speed that is negative or no number", func() {
			_, err := fakeagent.New(fakeagent.Config{Speed: -1})
			Expect(err).To(MatchError("fakeagent: Speed is -1; use a number above 0, or Instant for no waiting"))
			_, err = fakeagent.New(fakeagent.Config{Speed: math.NaN()})
			Expect(err).To(MatchError("fakeagent: Speed is NaN; use a number above 0, or Instant for no waiting"))
		})
	})
})
