package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/replay"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
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
			Expect(got).To(haveItemsOf(run))
			Expect(got.Ending).To(Equal(run.Ending))
		}
	})

	// again is a run of the journal that was recorded.
	again := func(ctx SpecContext, prompt string, opts ...replay.Option) (timeline.Run, []event.Event) {
		GinkgoHelper()
		a := replay.ForTest(GinkgoT(), read(), opts...)
		all := &told{}
		a.Subscribe(all.hear)
		return timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("replay", a)).RunPrompt(ctx, prompt, timelinekit.AgentID("a")), all.events
	}
	// performed is a run of an agent that emits events, recorded.
	performed := func(ctx SpecContext, err error, events ...event.Event) (timeline.Run, []event.Event) {
		GinkgoHelper()
		r := record(replay.RecorderConfig{})
		run, all := emits(ctx, r, err, events...)
		Expect(r.Close(ctx, errors.New("the disk is full"))).To(Succeed())
		return run, all
	}
	piece := func(stream event.Stream, id, text string) event.Event {
		return event.Event{ItemID: id, Payload: event.Delta{Stream: stream, Text: text}}
	}
	usage := func(u event.TokenUsage) event.Event { return event.Event{Payload: event.TokenUsageUpdated{Usage: u}} }
	whole := event.Event{ItemID: "m", Payload: event.ItemCompleted{Item: event.Item{ItemType: event.AssistantMessage, Status: event.Completed, Detail: "hello"}}}

	DescribeTable("has what a replay plays again, event by event:",
		func(ctx SpecContext, failure error, events ...event.Event) {
			run, told := performed(ctx, failure, events...)
			got, toldAgain := again(ctx, "go")
			Expect(got).To(haveItemsOf(run))
			Expect(got.Ending).To(Equal(run.Ending))
			Expect(toldAgain).To(HaveLen(len(told)))
			for i, e := range told {
				Expect(toldAgain[i].ItemID).To(Equal(e.ItemID))
				if _, counted := e.Payload.(event.TokenUsageUpdated); !counted {
					Expect(toldAgain[i].Payload).To(Equal(e.Payload))
				}
			}
		},
		Entry("a message in pieces, a thought, and the rest of the message", nil, piece(event.AssistantText, "m", "he"), piece(event.ReasoningText, "r", "x"), piece(event.AssistantText, "m", "llo")),
		Entry("thoughts that are two", nil, piece(event.ReasoningText, "r1", "one"), piece(event.ReasoningText, "r2", "two")),
		Entry("text of other kinds", nil, piece("command_output", "t", "out"), piece("plan_text", "p", "plan"), piece(event.ReasoningSummary, "r", "in short"), piece("command_output", "t", "more")),
		Entry("a message in pieces that then comes whole", nil, piece(event.AssistantText, "m", "hel"), piece(event.AssistantText, "m", "lo"), whole),
		Entry("a message that only comes whole", nil, whole),
		Entry("usage right behind a message", nil, piece(event.AssistantText, "m", "he"), usage(event.TokenUsage{UsedTokens: 3, InputTokens: 3}), piece(event.AssistantText, "m", "llo"), usage(event.TokenUsage{UsedTokens: 5, InputTokens: 5})),
		Entry("usage behind a call", nil, piece(event.AssistantText, "m", "hello"), event.Event{ItemID: "c", Payload: event.ItemCompleted{Item: event.Item{ItemType: event.DynamicToolCall, Title: "x", Status: event.Completed}}}, usage(event.TokenUsage{UsedTokens: 3, InputTokens: 3})),
		Entry("why a turn failed, though the run did for another reason", errors.New("rate limit"), piece(event.AssistantText, "m", "oh")),
		Entry("a warning and a request", nil, event.Event{Payload: event.Raw{Name: "runtime.warning", JSON: []byte(`{"message":"m"}`)}},
			event.Event{RequestID: "q", Payload: event.RequestOpened{RequestType: "command_execution_approval"}},
			event.Event{RequestID: "q", Payload: event.RequestResolved{RequestType: "command_execution_approval", Decision: "accept"}}),
	)

	It("has a message as one, though usage came between its pieces", func(ctx SpecContext) {
		run, _ := performed(ctx, nil, piece(event.AssistantText, "m", "he"), usage(event.TokenUsage{UsedTokens: 3, InputTokens: 2, OutputTokens: 1}), piece(event.AssistantText, "m", "llo"))
		got, _ := again(ctx, "go")
		Expect(got).To(And(haveItemsOf(run), HaveItems(BeAssistantMessage("hello"))))
	})

	It("has a message as the text of its turn, also if it came whole, whatever came before under that id", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		pieces := true
		agent := fakeagent.NewT(GinkgoT(), fakeagent.Config{Perform: func(_ context.Context, p *fakeagent.Performance) error {
			first := piece(event.AssistantText, "m", "")
			if pieces {
				first = piece(event.AssistantText, "m", "hello")
			}
			pieces = false
			if err := p.Emit(first); err != nil {
				return err
			}
			return p.Emit(whole)
		}})
		p := r.Provider(agent)
		over := make(chan bool, 2)
		p.Subscribe(func(e event.Event) {
			if _, ended := e.Payload.(event.TurnCompleted); ended {
				over <- true
			}
		})
		Expect(p.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a"})).To(Succeed())
		for range 2 {
			Expect(p.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "go"})).NotTo(BeEmpty())
			<-over
		}
		Expect(r.Close(ctx, nil)).To(Succeed())
		a := agentOf(read())
		Expect(a.Turns()).To(HaveExactElements(HaveField("Text", "hello"), HaveField("Text", "hello")))
	})

	It("knows when each piece of a message came", bubble.InBubble, func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		run := recordedHost(r).RunFakeAgentTurn(ctx, script.New(script.SayStep{Text: "in pieces, as it comes", Chunks: 3, Interval: time.Second}, script.Sleep(time.Second)))
		Expect(r.Close(ctx, nil)).To(Succeed())
		a := replay.ForTest(GinkgoT(), read(), replay.WithSpeed(1))
		began := time.Now()
		var came []time.Duration
		_, err := a.Play(ctx, replay.Request{Prompt: run.Timeline.Items()[0].(timeline.UserMessage).Text, Observe: func(o replay.Observation) {
			if o.Event.Kind() == "text-delta" {
				came = append(came, time.Since(began))
			}
		}})
		Expect(err).NotTo(HaveOccurred())
		Expect(came).To(Equal([]time.Duration{0, time.Second, 2 * time.Second}))
	})

	It("keeps the code of an ending, also where the reason was told before", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		l := &lost{}
		p := r.Provider(l)
		_, _ = p.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "go"})
		for _, e := range []event.Payload{event.RuntimeError{Message: "rate limit"}, event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: "rate limit", ErrorCode: 429}} {
			l.hear(event.Event{ThreadID: "a", TurnID: "t", Payload: e})
		}
		Expect(r.Close(ctx, nil)).To(Succeed())
		got, _ := again(ctx, "go")
		Expect(got.Ending).To(Equal(timeline.Ending{Kind: timeline.Failed, Message: "rate limit", Code: 429}))
	})

	It("has nothing that is missing where a provider tells the same sum twice", func(ctx SpecContext) {
		performed(ctx, nil, usage(event.TokenUsage{UsedTokens: 5, InputTokens: 5}), usage(event.TokenUsage{UsedTokens: 5, InputTokens: 5}), usage(event.TokenUsage{UsedTokens: 2, InputTokens: 2}))
		a := agentOf(read())
		Expect(a.Turns()).To(HaveEach(HaveField("Usage", replay.Usage{Input: 7})), "it began to count anew")
	})

	It("counts what was used in each turn, where a provider tells the sum of all", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		used := 0
		agent := fakeagent.NewT(GinkgoT(), fakeagent.Config{Perform: func(_ context.Context, p *fakeagent.Performance) error {
			for range 2 {
				used += 5
				if err := p.Emit(usage(event.TokenUsage{UsedTokens: used, InputTokens: used})); err != nil {
					return err
				}
			}
			return nil
		}})
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("fake", r.Provider(agent)))
		host.RunPrompt(ctx, "one", timelinekit.AgentID("a"))
		host.SendPrompt(ctx, "a", "two")
		Expect(r.Close(ctx, nil)).To(Succeed())
		a := agentOf(read())
		Expect(a.Turns()).To(HaveEach(HaveField("Usage", replay.Usage{Input: 10})))
	})

	It("does not take for nothing what was used if nobody says of which kind", func(ctx SpecContext) {
		performed(ctx, nil, usage(event.TokenUsage{UsedTokens: 100}))
		a := agentOf(read())
		Expect(a.Turns()).To(HaveEach(HaveField("Usage.Complete", HaveValue(BeFalse()))))
	})

	It("has a turn that the user steered, and one that the user interrupted, as they ended", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		host := recordedHost(r)
		steered := host.StartFakeAgentTurn(ctx, script.New(script.Say("before"), script.HoldStep{Name: "here", Steers: true}, script.Say("after")), timelinekit.AgentID("a"))
		Expect(steered.Gate("here").AwaitHeld(ctx)).To(Succeed())
		Expect(steered.Steer(ctx, "left")).To(Succeed())
		steered.Gate("here").Release()
		steered.Wait(ctx)
		turn, err := host.SendTurn(ctx, "a", script.New(script.Say("wait"), script.Hold("there")).String())
		Expect(err).NotTo(HaveOccurred())
		Expect(turn.Gate("there").AwaitHeld(ctx)).To(Succeed())
		Expect(turn.Interrupt(ctx)).To(Succeed())
		turn.Wait(ctx)
		Expect(r.Close(ctx, nil)).To(Succeed())

		a := replay.ForTest(GinkgoT(), read())
		host = timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("replay", a))
		Expect(host.RunPrompt(ctx, a.Turns()[0].Prompt, timelinekit.AgentID("a"))).To(And(EndCompleted(), HaveItems(BeAssistantMessage("before"), BeAssistantMessage("after"))))
		Expect(host.SendPrompt(ctx, "a", a.Turns()[1].Prompt)).To(And(EndCanceled(), HaveItems(BeAssistantMessage("wait"))))
	})

	It("has the message that an agent is in when the recorder is closed", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		turn := recordedHost(r).StartFakeAgentTurn(ctx, script.New(script.Say("wait"), script.Hold("here")))
		Expect(turn.Gate("here").AwaitHeld(ctx)).To(Succeed())
		Expect(r.Close(ctx, nil)).To(Succeed())
		turn.Gate("here").Release()
		turn.Wait(ctx)
		a := agentOf(read())
		Expect(a.Turns()).To(HaveExactElements(And(HaveField("Text", "wait"), HaveField("Failure.Message", "the recorded turn did not finish"))))
	})

	It("keeps the order of prompts, whatever SendTurn returns", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		p := r.Provider(&lost{})
		_, err := p.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "go"})
		Expect(err).To(MatchError("the reply was lost"))
		Expect(r.Close(ctx, nil)).To(Succeed())
		Expect(string(must(os.ReadFile(path)))).To(ContainSubstring(`"text":"go"`))
	})

	It("tells its warnings, and lets virtual time go on, while git works", bubble.InBubble, func(ctx SpecContext) {
		base := "/work\n\n" + greetingBase + "\n56ef077a153a22a552fb32288831d723bbc3e26c\n"
		r := record(replay.RecorderConfig{Dir: "/work", Runner: scripted{"rev-parse": func(context.Context, replay.Command) (replay.Result, error) {
			time.Sleep(time.Second)
			return replay.Result{Stdout: []byte(base)}, nil
		}}})
		began := time.Now()
		var all sync.WaitGroup
		all.Go(func() { r.Add(replay.SourceAgent, "prompt", map[string]any{"text": "go"}) })
		time.Sleep(time.Millisecond)
		all.Go(func() { r.Add(replay.SourceAgent, "text", map[string]any{"text": "gone"}) })
		Expect(r.Warnings()).To(BeEmpty())
		Expect(time.Since(began)).To(Equal(time.Millisecond))
		all.Wait()
		Expect(time.Since(began)).To(Equal(time.Second))
		Expect(r.Close(ctx, nil)).To(Succeed())
		Expect(agentOf(read()).Turns()).To(HaveExactElements(And(HaveField("Prompt", "go"), HaveField("Text", "gone"))))
	})

	It("passes on prompts one by one, on virtual time, too", bubble.InBubble, func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		p := r.Provider(slow{})
		began := time.Now()
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { _, _ = p.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "go"}) })
		}
		all.Wait()
		Expect(time.Since(began)).To(Equal(2 * time.Second))
		Expect(r.Close(ctx, nil)).To(Succeed())
	})

	It("does not take a thread for the one that it records that was refused", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		p := r.Provider(fakeagent.NewT(GinkgoT(), fakeagent.Scripted()))
		_, err := p.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "nobody", Text: "x"})
		Expect(err).To(MatchError(fakeagent.ErrNoSession))
		timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("fake", p)).RunPrompt(ctx, "go", timelinekit.AgentID("a"))
		Expect(r.Close(ctx, nil)).To(Succeed())
		got, _ := again(ctx, "go")
		Expect(got).To(EndCompleted())
	})

	DescribeTable("has the code of the error that ended the run",
		func(ctx SpecContext, run error, want string) {
			r := record(replay.RecorderConfig{})
			r.Add(replay.SourceAgent, "prompt", map[string]any{"text": "go"})
			Expect(r.Close(ctx, run)).To(Succeed())
			Expect(string(must(os.ReadFile(path)))).To(ContainSubstring(`"error":{"code":"` + want))
		},
		Entry("of a replay's failure", &replay.Failure{Code: "timeout", Message: "late", Status: 504}, `timeout","message":"late","status":504}`),
		Entry("of a replay's error", &replay.Error{Code: replay.Configuration, Entry: -1, Reason: "x"}, "configuration"),
		Entry("of a divergence", &replay.Divergence{Kind: replay.KindExhausted, Turn: 1}, "replay"),
		Entry("of a host's own", coded("limit"), "limit"),
		Entry("of one with a code that no journal has", coded("novel"), "process"),
		Entry("of a run that was canceled", context.Canceled, "aborted"),
	)

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
		a := agentOf(read())
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
		a := agentOf(read())
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
		a := agentOf(entries)
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
			Expect(err.Error()).To(And(HavePrefix("replay: "+path+" was not saved, since it would have what looks like a secret; replace such values by RecorderConfig.Redact\n  entry 2 (prompt): text"), Not(ContainSubstring(secret))))
			Expect(filepath.Glob(filepath.Dir(path) + "/*")).To(BeEmpty())
		})

		It("does not even write it until then", func(ctx SpecContext) {
			r := record(replay.RecorderConfig{})
			play(ctx, r)
			Expect(string(must(os.ReadFile(path + ".partial")))).To(And(ContainSubstring("dispatch-start"), Not(ContainSubstring(secret))))
			Expect(r.Close(ctx, nil)).NotTo(Succeed())
		})

		It("sees it in the workspace, too", func(ctx SpecContext) {
			r := newHome(GinkgoTB())
			dir := filepath.Join(r.dir, secret)
			Expect(os.Mkdir(dir, 0o777)).To(Succeed())
			r = r.at(dir)
			r.git("init", "-q")
			r.commitFile("a", "1")
			rec := record(replay.RecorderConfig{Dir: dir, Runner: r.runner})
			Expect(rec.Close(ctx, nil)).To(MatchError(ContainSubstring("entry 0 (journal): cwd")))
			rec = record(replay.RecorderConfig{Dir: dir, Runner: r.runner, Redact: replay.RedactValues(secret)})
			Expect(rec.Close(ctx, nil)).To(Succeed())
			Expect(string(must(os.ReadFile(path)))).NotTo(ContainSubstring(secret))
		})

		It("sees it where the pieces of a text cut it", func(ctx SpecContext) {
			cut := func(stream event.Stream) []event.Event {
				return []event.Event{piece(stream, "m", "the token is "+secret[:11]), piece(stream, "m", secret[11:])}
			}
			for _, stream := range []event.Stream{event.AssistantText, event.ReasoningText, "command_output"} {
				r := record(replay.RecorderConfig{})
				emits(ctx, r, nil, cut(stream)...)
				Expect(r.Close(ctx, nil)).To(BeAssignableToTypeOf(&replay.SecretError{}))
				r = record(replay.RecorderConfig{Redact: replay.RedactValues(secret)})
				emits(ctx, r, nil, cut(stream)...)
				Expect(r.Close(ctx, nil)).To(Succeed())
				Expect(string(must(os.ReadFile(path)))).To(And(ContainSubstring("the token is <redacted-1>"), Not(ContainSubstring(secret[:11])), Not(ContainSubstring(secret[11:]))))
			}
		})

		It("replaces what is cut, also if it does not look like a secret, and saves nothing where it cannot", func(ctx SpecContext) {
			r := record(replay.RecorderConfig{Redact: replay.RedactValues("Lisbon")})
			emits(ctx, r, nil, piece(event.AssistantText, "m", "the code is Lis"), piece(event.AssistantText, "m", "bon"))
			Expect(r.Close(ctx, nil)).To(Succeed())
			Expect(string(must(os.ReadFile(path)))).To(And(ContainSubstring("the code is <redacted-1>"), Not(ContainSubstring("Lis")), Not(ContainSubstring("bon"))))
			r = record(replay.RecorderConfig{Redact: replay.RedactValues("Lisbon")})
			emits(ctx, r, nil, piece(event.AssistantText, "m", "the code is Lis"), piece(event.ReasoningText, "r", "hm"), piece(event.AssistantText, "m", "bon"))
			Expect(r.Close(ctx, nil)).To(And(BeAssignableToTypeOf(&replay.SecretError{}), MatchError(ContainSubstring("something else has cut in two"))))
		})

		It("leaves ids as they are, which belong together", func(ctx SpecContext) {
			r := record(replay.RecorderConfig{Redact: replay.RedactValues("kit")})
			emits(ctx, r, nil, piece(event.AssistantText, "kit-1", "hello"), event.Event{ItemID: "kit-1", Payload: event.ItemCompleted{Item: event.Item{ItemType: event.AssistantMessage, Status: event.Completed, Detail: "hello"}}})
			Expect(r.Close(ctx, nil)).To(Succeed())
			got, _ := again(ctx, "go")
			Expect(got).To(HaveItems(BeAssistantMessage("hello")))
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
			a := agentOf(journal.Entries)
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

	It("hears no more of a provider when it is closed", func(ctx SpecContext) {
		r := record(replay.RecorderConfig{})
		l := &lost{}
		r.Provider(l)
		Expect(l.hear).NotTo(BeNil())
		Expect(r.Close(ctx, nil)).To(Succeed())
		Expect(l.hear).To(BeNil())
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

// haveItemsOf is a run with the same items as another one, with the same ids.
func haveItemsOf(run timeline.Run) OmegaMatcher {
	return WithTransform(func(r timeline.Run) timeline.Timeline { return r.Timeline }, BeComparableTo(run.Timeline, CmpOptions()))
}

// emits has an agent emit events while it is recorded.
func emits(ctx context.Context, r *replay.Recorder, failure error, events ...event.Event) (timeline.Run, []event.Event) {
	GinkgoHelper()
	agent := fakeagent.NewT(GinkgoT(), fakeagent.Config{Perform: func(_ context.Context, p *fakeagent.Performance) error {
		for _, e := range events {
			if err := p.Emit(e); err != nil {
				return err
			}
		}
		return failure
	}})
	all := &told{}
	agent.Subscribe(all.hear)
	run := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("fake", r.Provider(agent))).RunPrompt(ctx, "go", timelinekit.AgentID("a"))
	return run, all.events
}

// lost is a provider whose replies are lost.
type lost struct {
	fakeagent.Provider
	hear func(event.Event)
}

func (l *lost) Subscribe(fn func(event.Event)) func() {
	l.hear = fn
	return func() { l.hear = nil }
}

func (l *lost) SendTurn(context.Context, fakeagent.TurnInput) (string, error) {
	l.hear(event.Event{ThreadID: "a", TurnID: "t", Payload: event.TurnStarted{}})
	return "", errors.New("the reply was lost")
}

// slow is a provider that takes its time to accept a turn.
type slow struct{ fakeagent.Provider }

func (slow) Subscribe(func(event.Event)) func() { return func() {} }

func (slow) SendTurn(context.Context, fakeagent.TurnInput) (string, error) {
	time.Sleep(time.Second)
	return "t", nil
}

// coded is an error with a code.
type coded string

func (c coded) Error() string { return "the error " + string(c) }
func (c coded) Code() string  { return string(c) }
