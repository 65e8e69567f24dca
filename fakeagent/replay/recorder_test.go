package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/replay"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
)

// everything is a script of all that a timeline shows.
func everything() script.Script {
	return script.New(
		script.Think("let me see"), script.SayStep{Text: "in pieces, as it comes", Chunks: 4}, script.Write("notes.md", "hi\n"), script.Edit("notes.md", "hi", "ho"),
		script.Bash("npm test", "1 failed", 1), script.PlanStep{Entries: []script.PlanEntry{{Text: "look"}, {Text: "change", Status: "in_progress"}}},
		script.ToolStep{Name: "Search", Input: []byte(`{"q":"<a>"}`), Output: []byte(`{"hits":[1,2]}`)}, script.ToolStep{Name: "Broken", Error: "no such tool"},
		script.TaskStep{Description: "look around", Type: "explore", Steps: []script.Step{script.Say("found it")}},
		script.UsageStep{UsedTokens: 12, InputTokens: 10, OutputTokens: 2}, script.Say("done"),
	)
}

var _ = Describe("A recorder", func() {
	var path string
	BeforeEach(func() { path = filepath.Join(GinkgoT().TempDir(), "run.jsonl") })

	record := func(cfg replay.RecorderConfig) *replay.Recorder {
		GinkgoHelper()
		r, err := replay.NewRecorder(context.Background(), path, cfg)
		Expect(err).NotTo(HaveOccurred())
		return r
	}
	recordedHost := func(r *replay.Recorder) *timelinekit.Host {
		GinkgoHelper()
		agent := fakeagent.NewT(GinkgoT(), fakeagent.Scripted())
		return timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("fake", r.Provider(agent)))
	}
	read := func() []replay.Entry {
		GinkgoHelper()
		return replay.Entries(GinkgoT(), path)
	}

	It("has a run that a replay plays again, to the same timeline", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		host := recordedHost(r)
		runs := []timeline.Run{
			host.RunFakeAgentTurn(ctx, everything(), timelinekit.AgentID("a")),
			host.SendPrompt(ctx, "a", "and what now?"),
			host.SendFakeAgentTurn(ctx, "a", script.New(script.Say("oh"), script.FailStep{Message: "rate limit", Code: 429})),
		}
		Expect(runs[2]).To(EndFailed("rate limit"))
		Expect(r.Close(ctx, nil)).To(Succeed())
		Expect(r.Warnings()).To(BeEmpty())

		again := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("replay", replay.ForTest(GinkgoT(), read())))
		for i, run := range runs {
			items := run.Timeline.Items()
			prompt := items[0].(timeline.UserMessage).Text
			var got timeline.Run
			if i == 0 {
				got = again.RunPrompt(ctx, prompt, timelinekit.AgentID("a"))
			} else {
				got = again.SendPrompt(ctx, "a", prompt)
			}
			Expect(got.Timeline.Items().String()).To(Equal(items.String()))
			Expect(got.Ending.Kind).To(Equal(run.Ending.Kind))
			Expect(got.Ending.Message).To(Equal(run.Ending.Message))
		}
	})

	It("tells what a journal tells of a turn, in the order in which it happened", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{Label: "nightly", Normalisers: []replay.Normaliser{replay.UUIDs}})
		recordedHost(r).RunFakeAgentTurn(ctx, script.New(script.Think("hm"), script.SayStep{Text: "ab", Chunks: 2}, script.ToolStep{Name: "Search", Input: []byte(`{"q":1}`), Output: []byte(`"found"`)},
			script.UsageStep{UsedTokens: 12, LastInputTokens: 10, LastCachedInputTokens: 3, LastOutputTokens: 2}))
		Expect(r.Close(ctx, nil)).To(Succeed())
		entries := read()
		Expect(entries[0]).To(MatchJSON(`{"kind":"journal","schema":1,"normalisers":["uuid"]}`))
		var kinds []string
		var all []map[string]any
		for i, e := range entries[1:] {
			var got map[string]any
			Expect(json.Unmarshal(e, &got)).To(Succeed())
			Expect(got).To(And(HaveKeyWithValue("seq", BeEquivalentTo(i+1)), HaveKeyWithValue("label", "nightly"), HaveKey("at"), HaveKey("source"), HaveKey("scope")))
			kinds, all = append(kinds, got["kind"].(string)), append(all, got)
		}
		Expect(kinds).To(Equal([]string{"dispatch-start", "prompt", "reasoning", "text-delta", "text-delta", "text", "tool", "tool-result", "usage", "summary", "dispatch-finished"}))
		Expect(all[5]).To(And(HaveKeyWithValue("text", "ab"), HaveKeyWithValue("source", "agent"), HaveKeyWithValue("pass", BeEquivalentTo(1))))
		Expect(all[6]).To(And(HaveKeyWithValue("name", "Search"), HaveKeyWithValue("callId", "t-1-2"), HaveKeyWithValue("input", map[string]any{"q": 1.0})))
		Expect(all[7]).To(And(HaveKeyWithValue("isError", false), HaveKeyWithValue("preview", "found"), HaveKeyWithValue("characters", 5.0)))
		Expect(all[8]).To(HaveKeyWithValue("tokens", map[string]any{"input": 10.0, "cached": 3.0, "output": 2.0}))
		Expect(all[9]).To(And(HaveKeyWithValue("status", 0.0), HaveKeyWithValue("tokens", map[string]any{"input": 10.0, "cached": 3.0, "output": 2.0})))
		Expect(all[10]).To(And(HaveKeyWithValue("status", "done"), HaveKeyWithValue("completed", true), HaveKeyWithValue("usage", map[string]any{"input": 10.0, "cached": 3.0, "output": 2.0})))
	})

	It("tells the steers that were taken, and why a turn was stopped", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		turn := recordedHost(r).StartFakeAgentTurn(ctx, script.New(script.HoldStep{Name: "here", Steers: true}))
		Expect(turn.Gate("here").AwaitHeld(ctx)).To(Succeed())
		Expect(turn.Steer(ctx, "left")).To(Succeed())
		Expect(turn.Interrupt(ctx)).To(Succeed())
		Expect(turn.Wait(ctx)).To(EndCanceled())
		Expect(r.Close(ctx, context.Canceled)).To(Succeed())
		text := string(must(os.ReadFile(path)))
		Expect(text).To(And(ContainSubstring(`"mode":"injected","text":"left"`), ContainSubstring(`"kind":"stopped"`), ContainSubstring(`"reason":"aborted"`),
			ContainSubstring(`"status":"cancelled"`), ContainSubstring(`"error":{"code":"aborted","message":"context canceled"}`)))
	})

	It("records one thread, and is no hindrance to others", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		host := recordedHost(r)
		host.RunPrompt(ctx, "first", timelinekit.AgentID("a"))
		Expect(host.RunPrompt(ctx, "second", timelinekit.AgentID("b"))).To(EndCompleted())
		Expect(r.Close(ctx, nil)).To(Succeed())
		a, err := replay.New(read())
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(a.Close)
		Expect(a.Turns()).To(HaveExactElements(HaveField("Prompt", "first")))
	})

	It("records a prompt for each turn also where others were refused meanwhile", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		agent := fakeagent.NewT(GinkgoT(), fakeagent.Scripted())
		p := r.Provider(agent)
		ended := make(chan bool, 1)
		p.Subscribe(func(e event.Event) {
			if _, over := e.Payload.(event.TurnCompleted); over {
				ended <- true
			}
		})
		send := func(text string) error {
			_, err := p.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: text})
			return err
		}
		Expect(send("too early")).To(MatchError(fakeagent.ErrNoSession))
		Expect(p.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a"})).To(Succeed())
		Expect(send(`[{"hold":"here"}]`)).To(Succeed())
		Expect(agent.Gate("a", "here").AwaitHeld(ctx)).To(Succeed())
		Expect(send("too many")).To(MatchError(fakeagent.ErrBusy))
		agent.Gate("a", "here").Release()
		<-ended
		Expect(send("two")).To(Succeed())
		<-ended
		Expect(r.Close(ctx, nil)).To(Succeed())
		a, err := replay.New(read())
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(a.Close)
		Expect(a.Turns()).To(HaveExactElements(HaveField("Prompt", `[{"hold":"here"}]`), HaveField("Prompt", "two")))
	})

	It("is for hosts with events of their own, too", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		r.Add(replay.SourceHarness, "prompt", map[string]any{"text": "go", "kind": "nothing", "seq": -1})
		r.Add(replay.SourceHarness, "text", map[string]any{"text": "gone"})
		r.Add(replay.SourceHarness, "usage", map[string]any{"tokens": replay.Usage{Input: 3, Output: 1}})
		r.Add(replay.SourceHarness, "summary", map[string]any{"durationMs": 1, "status": 0, "tokens": replay.Usage{Input: 3, Output: 1}})
		Expect(r.Close(ctx, errors.New("the disk is full"))).To(Succeed())
		entries := read()
		a, err := replay.New(entries)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(a.Close)
		Expect(a.Source()).To(Equal(replay.SourceHarness))
		Expect(a.PlayTurn(ctx, replay.Request{Prompt: "go"})).To(And(HaveField("Text", "gone"), HaveField("Usage", replay.Usage{Input: 3, Output: 1})))
		Expect(string(entries[len(entries)-1])).To(HaveSuffix(`"completed":false,"error":{"code":"process","message":"the disk is full"},"status":"failed","usage":{"input":3,"cached":0,"output":1}}`))
	})

	It("does not change the caller's members", func() {
		r := record(replay.RecorderConfig{})
		fields := map[string]any{"text": "go", "pass": 3}
		r.Add(replay.SourceAgent, "prompt", fields)
		Expect(fields).To(Equal(map[string]any{"text": "go", "pass": 3}))
		Expect(r.Close(context.Background(), nil)).To(Succeed())
	})

	Describe("of what must not be in a journal", func() {
		const secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
		play := func(ctx SpecContext, r *replay.Recorder) {
			GinkgoHelper()
			recordedHost(r).RunFakeAgentTurn(ctx, script.New(script.ToolStep{Name: "Search", Input: []byte(`{"headers":{"x":"` + secret + `"}}`)}, script.Say("the token is "+secret)))
		}

		It("saves nothing, and says where, but not what", func(ctx SpecContext) {
			r := record(replay.RecorderConfig{})
			play(ctx, r)
			err := r.Close(ctx, nil)
			var found *replay.SecretError
			Expect(errors.As(err, &found)).To(BeTrue())
			Expect(err.Error()).To(And(HavePrefix("replay: the journal was not saved: entry 2 (prompt): text"), ContainSubstring("RecorderConfig.Redact"), Not(ContainSubstring(secret))))
			Expect(filepath.Glob(filepath.Dir(path) + "/*")).To(BeEmpty())
		})

		It("does not even write it until then", func(ctx SpecContext) {
			r := record(replay.RecorderConfig{})
			play(ctx, r)
			Expect(string(must(os.ReadFile(path + ".partial")))).To(And(ContainSubstring("dispatch-start"), Not(ContainSubstring(secret))))
			Expect(r.Close(ctx, nil)).NotTo(Succeed())
		})

		It("replaces what it is told to, and a replay with the same function knows the prompts", func(ctx SpecContext) {
			redact := replay.RedactValues(secret)
			r := record(replay.RecorderConfig{Redact: redact})
			play(ctx, r)
			Expect(r.Close(ctx, nil)).To(Succeed())
			Expect(string(must(os.ReadFile(path)))).NotTo(ContainSubstring(secret))
			a := replay.ForTest(GinkgoT(), read(), replay.WithRedaction(redact))
			host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("replay", a))
			Expect(host.RunFakeAgentTurn(ctx, script.New(script.ToolStep{Name: "Search", Input: []byte(`{"headers":{"x":"` + secret + `"}}`)}, script.Say("the token is "+secret)),
				timelinekit.Provider("replay"))).To(And(EndCompleted(), ContainItems(BeAssistantMessage(ContainSubstring("redacted")))))
		})
	})

	Describe("whose process dies", func() {
		It("leaves all that happened in a file beside the journal's place, which can be read", func(ctx SpecContext) {
			r := record(replay.RecorderConfig{})
			recordedHost(r).RunPrompt(ctx, "go")
			journal, err := replay.ReadFile(path + ".partial")
			Expect(err).NotTo(HaveOccurred())
			Expect(journal.Warnings).To(HaveLen(1), "it has no end")
			Expect(path).NotTo(BeAnExistingFile())
			a, err := replay.New(journal.Entries)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(a.Close)
			Expect(a.Turns()).To(HaveExactElements(HaveField("Text", "fake-agent received: go")))
			Expect(r.Close(ctx, nil)).To(Succeed())
			Expect(path + ".partial").NotTo(BeAnExistingFile())
			Expect(read()).To(HaveLen(len(journal.Entries) + 1))
		})
	})

	It("keeps the journal that was there until it has a new one", func(ctx SpecContext) {
		Expect(os.WriteFile(path, []byte("the old one"), 0o600)).To(Succeed())
		r := record(replay.RecorderConfig{})
		Expect(string(must(os.ReadFile(path)))).To(Equal("the old one"))
		recordedHost(r).RunPrompt(ctx, "go")
		Expect(r.Close(ctx, nil)).To(Succeed())
		Expect(read()).NotTo(BeEmpty())
	})

	It("is closed once", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		Expect(r.Close(ctx, nil)).To(Succeed())
		Expect(r.Close(ctx, nil)).To(MatchError("replay: the recorder is closed already"))
		r.Add(replay.SourceAgent, "text", map[string]any{"text": "too late"})
		Expect(string(must(os.ReadFile(path)))).NotTo(ContainSubstring("too late"))
	})

	It("tells at its end what cannot be recorded, and the run goes on", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		r.Add(replay.SourceAgent, "text", map[string]any{"text": func() {}})
		Expect(r.Close(ctx, nil)).To(MatchError(HavePrefix("replay: entry 2 (text) cannot be recorded: ")))
	})

	It("is refused a file that cannot be written, and rules that there are not", func(ctx SpecContext) {
		_, err := replay.NewRecorder(ctx, filepath.Join(path, "below", "a file"), replay.RecorderConfig{})
		Expect(err).To(ofCode(replay.Configuration))
		_, err = replay.NewRecorder(ctx, path, replay.RecorderConfig{Normalisers: []replay.Normaliser{{Name: "uids"}}})
		Expect(err).To(ofCode(replay.Configuration))
		Expect(filepath.Glob(filepath.Dir(path) + "/*")).To(BeEmpty())
	})
})
