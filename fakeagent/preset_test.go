package fakeagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
	"github.com/understudy-go/understudy/timelinekit/golden"
)

// executor is an agent of one thread that plays a script by its name.
func executor(cfg fakeagent.Config) *agent {
	GinkgoHelper()
	if cfg.MCP == nil {
		cfg.MCP = &drawing{}
	}
	a := startWith(cfg, fakeagent.SessionConfig{ThreadID: "a", MCPServers: []fakeagent.MCPServer{{Name: "ycodium"}}})
	DeferCleanup(a.Close)
	return a
}

// drawing is an MCP whose only tool confirms what it was given.
type drawing struct {
	fails string // why it does, if it does
	calls []string
}

func (d *drawing) Connect(context.Context, fakeagent.MCPConnect) (fakeagent.MCPClient, error) {
	return d, nil
}
func (*drawing) ListTools(context.Context) ([]string, error) { return nil, nil }
func (d *drawing) Close() error                              { return nil }

func (d *drawing) CallTool(_ context.Context, tool string, arguments json.RawMessage) (fakeagent.MCPResult, error) {
	d.calls = append(d.calls, tool+" "+string(arguments))
	if d.fails != "" {
		return fakeagent.MCPResult{}, errors.New(d.fails)
	}
	return fakeagent.MCPResult{JSON: json.RawMessage(`{"content":[{"type":"text","text":"It is drawn."}]}`), Text: "It is drawn."}, nil
}

// asked are the requests so far.
func (a *agent) asked() (out []event.Event) {
	for _, e := range a.seen() {
		switch e.Payload.(type) {
		case event.RequestOpened, event.UserInputRequested:
			out = append(out, e)
		}
	}
	return out
}

// answers has everything answered as soon as it is asked.
func (a *agent) answers(d fakeagent.Decision) *agent {
	a.Subscribe(func(e event.Event) {
		switch p := e.Payload.(type) {
		case event.RequestOpened:
			Expect(a.RespondToRequest(context.Background(), a.id, e.RequestID, d)).To(Succeed())
		case event.UserInputRequested:
			if p.ResponseMode == "" {
				Expect(a.RespondToUserInput(context.Background(), a.id, e.RequestID, map[string]any{"color": "Blue"})).To(Succeed())
			}
		}
	})
	return a
}

func number(n int) *int { return &n }

var _ = Describe("The script plain", func() {
	It("is that of a config without settings, and answers any input with one piece of text", bubble.InBubble, func() {
		a := executor(fakeagent.Config{})
		for range 2 {
			Expect(a.run(`[{"say":"this is text here"}]`)).To(And(EndCompleted(), HaveItems(BeAssistantMessage("fake turn complete"))))
		}
		Expect(a.types()).To(Equal([]string{
			"session.started", "turn.started", "content.delta", "turn.completed", "turn.started", "content.delta", "turn.completed"}))
	})

	It("answers what the config says", func() {
		Expect(executor(fakeagent.Config{Script: "plain", ReplyText: "Hello {{input}}."}).run("x")).
			To(HaveItems(BeAssistantMessage("Hello {{input}}.")), "which is text")
	})
})

var _ = Describe("The script approval-tool", func() {
	// row is a tool call that the user was asked about.
	type row struct{ kind, status string }
	settled := func(a *agent) (rows []row) {
		for _, e := range a.seen() {
			if p, ok := e.Payload.(event.ItemCompleted); ok {
				rows = append(rows, row{string(p.ItemType), string(p.Status)})
			}
		}
		return rows
	}

	It("asks twice, one after the other, and answers when both are answered", bubble.InBubble, func(ctx SpecContext) {
		a := executor(fakeagent.Config{Script: "approval-tool"})
		id := a.send("go")
		synctest.Wait()
		Expect(a.asked()).To(HaveLen(1))
		Expect(a.RespondToRequest(ctx, "a", "req-1", fakeagent.Accept)).To(Succeed())
		synctest.Wait()
		Expect(a.asked()).To(HaveLen(2))
		Expect(a.deltas()).To(BeEmpty())
		Expect(a.RespondToRequest(ctx, "a", "req-2", fakeagent.AcceptForSession)).To(Succeed())
		Expect(a.wait(id)).To(And(EndCompleted(), HaveAssistantText("fake turn complete")))
		Expect(a.seen()).To(And(BeWellFormed(), EmitEvents(
			event.RequestOpened{RequestType: "command_execution_approval", Detail: "npm test"},
			event.RequestResolved{RequestType: "command_execution_approval", Decision: "accept"},
			event.RequestOpened{RequestType: "file_change_approval", Detail: "src/a.ts"},
			event.RequestResolved{RequestType: "file_change_approval", Decision: "acceptForSession"},
			"content.delta", "turn.completed",
		)))
		Expect(settled(a)).To(Equal([]row{{"command_execution", "completed"}, {"dynamic_tool_call", "completed"}}))
	})

	It("answers the same when it was refused, and its rows are declined", func() {
		a := executor(fakeagent.Config{Script: "approval-tool", ReplyText: "done"}).answers(fakeagent.Decline)
		Expect(a.run("go")).To(And(EndCompleted(), HaveAssistantText("done")))
		Expect(settled(a)).To(Equal([]row{{"command_execution", "declined"}, {"dynamic_tool_call", "declined"}}))
	})

	It("ends the turn as interrupted where one is canceled", func() {
		a := executor(fakeagent.Config{Script: "approval-tool"}).answers(fakeagent.Cancel)
		Expect(a.run("go")).To(And(EndCanceled(), HaveAssistantText("")))
		Expect(a.asked()).To(HaveLen(1))
	})

	It("asks both at once, if the config says so", bubble.InBubble, func(ctx SpecContext) {
		a := executor(fakeagent.Config{Script: "approval-tool", OpenBothApprovals: true})
		id := a.send("go")
		synctest.Wait()
		Expect(a.asked()).To(HaveLen(2))
		for _, request := range []string{"req-2", "req-1"} {
			Expect(a.deltas()).To(BeEmpty())
			Expect(a.RespondToRequest(ctx, "a", request, fakeagent.Accept)).To(Succeed())
		}
		Expect(a.wait(id)).To(And(EndCompleted(), HaveAssistantText("fake turn complete")))
	})
})

var _ = Describe("The script async-question", func() {
	It("asks on a thread's first turn, and does not wait; later turns only answer", bubble.InBubble, func(ctx SpecContext) {
		a := executor(fakeagent.Config{Script: "async-question"})
		for range 3 {
			Expect(a.run("go")).To(And(EndCompleted(), HaveItems(BeAssistantMessage("fake turn complete"))))
		}
		Expect(a.seen()).To(EmitEvents("turn.started", "user-input.requested", "content.delta", "turn.completed", "turn.started", "content.delta"))
		Expect(a.asked()).To(HaveExactElements(HaveField("Payload", And(
			HaveField("ResponseMode", "message"), HaveField("Questions", HaveExactElements(HaveField("Question", "Which color should it have?")))))))
		By("which is answered by a prompt, and in no other way")
		Expect(a.RespondToUserInput(ctx, "a", "req-1", nil)).To(MatchError(fakeagent.ErrUnknownRequest))
	})

	It("counts turns in each thread, and goes on counting when the session was stopped", bubble.InBubble, func(ctx SpecContext) {
		a := executor(fakeagent.Config{Script: "async-question"})
		a.run("go")
		Expect(a.StopSession(ctx, "a")).To(Succeed())
		Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a"})).To(Succeed())
		a.run("go")
		Expect(a.asked()).To(HaveLen(1))
		b := startWith(fakeagent.Config{Script: "async-question"}, fakeagent.SessionConfig{ThreadID: "b"})
		DeferCleanup(b.Close)
		b.run("go")
		Expect(b.asked()).To(HaveLen(1))
	})
})

var _ = Describe("The script stream", func() {
	It("answers in 200 pieces of Markdown, one every 30 ms", bubble.InBubble, func() {
		a := executor(fakeagent.Config{Script: "stream"})
		began := time.Now()
		run := a.run("go")
		Expect(time.Since(began)).To(Equal(199 * 30 * time.Millisecond))
		Expect(a.deltas()).To(And(HaveLen(200), HaveEach(Not(BeEmpty()))))
		Expect(run).To(HaveAssistantText(And(HavePrefix("# "), ContainSubstring("```"), ContainSubstring("| file |"))))
		var at []time.Duration
		for _, e := range a.seen() {
			if _, ok := e.Payload.(event.Delta); ok {
				at = append(at, e.Time.Sub(began))
			}
		}
		Expect([]time.Duration{at[0], at[1], at[199]}).To(Equal([]time.Duration{0, 30 * time.Millisecond, 199 * 30 * time.Millisecond}))
	})

	It("has as many pieces as the config says, and the same text for the same number", bubble.InBubble, func() {
		cfg := fakeagent.Config{Script: "stream", StreamChunks: number(5_000), StreamIntervalMs: number(0)}
		began := time.Now()
		a, b := executor(cfg), executor(cfg)
		Expect(a.run("go").Timeline.Items()).To(Equal(b.run("go").Timeline.Items()))
		Expect(a.deltas()).To(And(HaveLen(5_000), HaveEach(Not(BeEmpty()))))
		Expect(time.Since(began)).To(BeZero())
		one := executor(fakeagent.Config{Script: "stream", StreamChunks: number(1)})
		one.run("go")
		Expect(one.deltas()).To(HaveLen(1))
	})
})

var _ = Describe("The script visualize", func() {
	It("shows a row in progress, holds it, calls the tool, and says that the figure is there", bubble.InBubble, func() {
		mcp := &drawing{}
		a := executor(fakeagent.Config{Script: "visualize", PreviewHoldMs: number(700), MCP: mcp})
		began := time.Now()
		run := a.run("draw something")
		Expect(time.Since(began)).To(Equal(700 * time.Millisecond))
		Expect(run).To(And(EndCompleted(), HaveItems(
			BeToolCall("visualize", WithInput(map[string]string{"title": "Figure", "svg": "<svg/>"}), WithOutput("It is drawn.")),
			BeAssistantMessage("The figure is in the card above."),
		)))
		Expect(mcp.calls).To(Equal([]string{`visualize_visualize {"title":"Figure","svg":"<svg/>"}`}))
		Expect(a.seen()).To(EmitEvents("turn.started", "item.started", "item.completed", "content.delta", "turn.completed"))
		Expect(a.seen()[2].Payload).To(HaveField("ItemType", event.DynamicToolCall))
	})

	DescribeTable("gives the tool the input, if it is an object, and a figure of its own else", func(input, want string) {
		mcp := &drawing{}
		Expect(executor(fakeagent.Config{Script: "visualize", MCP: mcp}).run(input)).To(EndCompleted())
		Expect(mcp.calls).To(Equal([]string{"visualize_visualize " + want}))
	},
		Entry("an object", ` {"title":"Mine", "svg":"<svg>1</svg>"} `, `{"title":"Mine","svg":"<svg>1</svg>"}`),
		Entry("an array", `[1]`, `{"title":"Figure","svg":"<svg/>"}`),
		Entry("what begins like an object", `{"title":`, `{"title":"Figure","svg":"<svg/>"}`),
		Entry("nothing", ``, `{"title":"Figure","svg":"<svg/>"}`),
	)

	It("says why it failed, and completes", func() {
		a := executor(fakeagent.Config{Script: "visualize", MCP: &drawing{fails: "no ink"}})
		Expect(a.run("draw")).To(And(EndCompleted(), HaveItems(
			BeToolCall("visualize", WithError("no ink")), BeAssistantMessage("visualize failed: no ink"))))
		other := executor(fakeagent.Config{Script: "visualize", BuiltInServer: "elsewhere"})
		Expect(other.run("draw")).To(And(EndCompleted(), HaveAssistantText(
			`visualize failed: no MCP server "elsewhere" in the session config (have: ycodium)`)))
	})
})

var _ = Describe("The script lane", func() {
	It("does what the first lane of the prompt says, and is plain without one", bubble.InBubble, func() {
		a := executor(fakeagent.Config{Script: "lane", ReplyText: "reply", StreamChunks: number(3)}).answers(fakeagent.Accept)
		for prompt, want := range map[string]string{
			"lane:plain": "reply", "hello": "reply", "lane:sing": "reply", "xlane:approve": "reply", "lane:": "reply",
			"please lane:approve, not lane:attach": "approved",
			"lane:question":                        `answered: {"color":"Blue"}`,
			"lane:attach":                          "attachments: none",
			"lane:hold":                            "reply",
		} {
			Expect(a.run(prompt)).To(And(EndCompleted(), HaveAssistantText(want)), prompt)
		}
		a.run("lane:stream")
		Expect(a.deltas()[len(a.deltas())-3]).To(HavePrefix("# "))
	})

	It("says what was declined, and which attachments there are", func(ctx SpecContext) {
		a := executor(fakeagent.Config{Script: "lane"}).answers(fakeagent.Decline)
		Expect(a.run("lane:approve")).To(HaveAssistantText("declined"))
		id, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "lane:attach", Attachments: []fakeagent.Attachment{{Name: "a.png"}, {Name: "b.txt"}}})
		Expect(err).NotTo(HaveOccurred())
		Expect(a.wait(id)).To(HaveAssistantText("attachments: a.png, b.txt"))
	})

	It("holds for 15 seconds, or as long as the config says", bubble.InBubble, func() {
		for want, cfg := range map[time.Duration]fakeagent.Config{
			15 * time.Second: {Script: "lane"}, 50 * time.Millisecond: {Script: "lane", HoldMs: number(50)}, 0: {Script: "lane", Instant: true},
			1500 * time.Millisecond: {Script: "lane", Speed: 10},
		} {
			began := time.Now()
			Expect(executor(cfg).run("lane:hold")).To(HaveAssistantText("fake turn complete"))
			Expect(time.Since(began)).To(Equal(want))
		}
	})
})

var _ = Describe("The scripts that have a name", func() {
	It("are files, one each, to be copied", bubble.InBubble, func() {
		files, err := filepath.Glob("presets/*.json")
		Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, f := range files {
			names = append(names, strings.TrimSuffix(filepath.Base(f), ".json"))
		}
		Expect(names).To(ConsistOf("plain", "approval-tool", "approval-tool-both", "async-question", "stream", "visualize",
			"lane-plain", "lane-stream", "lane-approve", "lane-question", "lane-attach", "lane-hold"))
	})

	DescribeTable("play the same events from a copy", bubble.InBubble, func(name string) {
		data, err := os.ReadFile(filepath.Join("presets", name+".json"))
		Expect(err).NotTo(HaveOccurred())
		copied := filepath.Join(GinkgoT().TempDir(), "mine.json")
		Expect(os.WriteFile(copied, data, 0o600)).To(Succeed())
		Expect(playedBy(fakeagent.Config{Script: copied, Instant: true}, "go")).To(Equal(playedBy(fakeagent.Config{Script: name, Instant: true}, "go")))
	},
		Entry("plain", "plain"), Entry("approval-tool", "approval-tool"), Entry("async-question", "async-question"), Entry("stream", "stream"),
		Entry("visualize", "visualize"),
	)

	DescribeTable("play the same events each time, which are in a file:", bubble.InBubble, func(file string, cfg fakeagent.Config, prompt string) {
		cfg.StreamChunks, cfg.ReplayEventsPath = number(5), recording(subAgent)
		events := playedBy(cfg, prompt)
		path := filepath.Join("testdata", "presets", file+".txtar")
		kept, err := golden.Read(path)
		if err != nil && !golden.Update() {
			Fail(err.Error())
		}
		want, _ := kept.Section("events")
		if events != want.Text && golden.Update() {
			Expect(golden.Rewrite(path, golden.Section{Name: "events", Text: events})).To(Succeed())
		}
		Expect(events).To(Equal(want.Text), "%s; if that is right, -understudy.update writes it", path)
	},
		Entry("plain", "plain", fakeagent.Config{}, "go"),
		Entry("approval-tool", "approval-tool", fakeagent.Config{Script: "approval-tool"}, "go"),
		Entry("approval-tool, both at once", "approval-tool-both", fakeagent.Config{Script: "approval-tool", OpenBothApprovals: true}, "go"),
		Entry("async-question", "async-question", fakeagent.Config{Script: "async-question"}, "go"),
		Entry("stream", "stream", fakeagent.Config{Script: "stream"}, "go"),
		Entry("visualize", "visualize", fakeagent.Config{Script: "visualize"}, "go"),
		Entry("replay", "replay", fakeagent.Config{Script: "replay"}, "go"),
		Entry("lane:plain", "lane-plain", fakeagent.Config{Script: "lane"}, "lane:plain"),
		Entry("lane:stream", "lane-stream", fakeagent.Config{Script: "lane"}, "lane:stream"),
		Entry("lane:approve", "lane-approve", fakeagent.Config{Script: "lane"}, "lane:approve"),
		Entry("lane:question", "lane-question", fakeagent.Config{Script: "lane"}, "lane:question"),
		Entry("lane:attach", "lane-attach", fakeagent.Config{Script: "lane"}, "lane:attach"),
		Entry("lane:hold", "lane-hold", fakeagent.Config{Script: "lane"}, "lane:hold"),
	)

	It("begin every turn with turn.started and end it with one turn.completed, and start no process", bubble.InBubble, func() {
		for _, name := range []string{"plain", "approval-tool", "async-question", "stream", "visualize", "lane", "replay"} {
			cfg := fakeagent.Config{Script: name, ReplayEventsPath: recording(subAgent), AllowShell: true}
			cfg.Spawn = func(cmd *exec.Cmd) error {
				Fail("a process starts: " + cmd.String())
				return nil
			}
			a := executor(cfg).answers(fakeagent.Accept)
			for _, prompt := range []string{"go", "lane:approve", "lane:question", "lane:hold"} {
				Expect(a.run(prompt)).To(EndCompleted())
			}
			Expect(a.seen()).To(BeWellFormed(), name)
			Expect(a.seen()[0].Payload).To(Equal(event.SessionStarted{}))
		}
	})
})

// playedBy are the events of two turns in JSON, as a host gets them that answers everything.
func playedBy(cfg fakeagent.Config, prompt string) string {
	GinkgoHelper()
	a := executor(cfg).answers(fakeagent.Accept)
	for range 2 {
		Expect(a.run(prompt)).To(EndCompleted())
	}
	var b strings.Builder
	for _, e := range a.seen() {
		line, err := json.Marshal(e)
		Expect(err).NotTo(HaveOccurred())
		b.Write(append(line, '\n'))
	}
	return b.String()
}

var _ = Describe("An interrupt, and the end of the turn's context,", func() {
	type place struct {
		cfg    fakeagent.Config
		prompt string
		after  time.Duration
	}
	for name, p := range map[string]place{
		"an approval":       {cfg: fakeagent.Config{Script: "approval-tool"}},
		"both approvals":    {cfg: fakeagent.Config{Script: "approval-tool", OpenBothApprovals: true}},
		"a question":        {cfg: fakeagent.Config{Script: "lane"}, prompt: "lane:question"},
		"a stream":          {cfg: fakeagent.Config{Script: "stream"}, after: 100 * time.Millisecond},
		"a row in progress": {cfg: fakeagent.Config{Script: "visualize", PreviewHoldMs: number(60_000)}},
		"a lane that holds": {cfg: fakeagent.Config{Script: "lane"}, prompt: "lane:hold", after: time.Second},
	} {
		It("ends the turn at once in "+name, bubble.InBubble, func(ctx SpecContext) {
			for _, end := range []string{"interrupt", "context"} {
				a := executor(p.cfg)
				own, cancel := context.WithCancel(ctx)
				id, err := a.SendTurn(own, fakeagent.TurnInput{ThreadID: "a", Text: p.prompt})
				Expect(err).NotTo(HaveOccurred())
				time.Sleep(p.after)
				began := time.Now()
				if end == "interrupt" {
					Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
				} else {
					cancel()
				}
				Expect(a.wait(id)).To(EndCanceled())
				cancel()
				Expect(time.Since(began)).To(BeZero())
				n := len(a.seen())
				time.Sleep(time.Hour)
				Expect(a.seen()).To(And(HaveLen(n), BeWellFormed()), "nothing comes after it")
				if q := a.asked(); len(q) > 0 {
					Expect(a.RespondToUserInput(ctx, "a", q[0].RequestID, nil)).To(MatchError(fakeagent.ErrUnknownRequest))
					Expect(a.RespondToRequest(ctx, "a", q[0].RequestID, fakeagent.Accept)).To(MatchError(fakeagent.ErrUnknownRequest))
				}
			}
		})
	}
})

var _ = Describe("A steer", func() {
	steer := func(a *agent, turnID, text string) (string, error) {
		return a.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: "a", TurnID: turnID, Text: text})
	}
	rejected := func(err error) {
		GinkgoHelper()
		var coded interface{ Code() string }
		Expect(errors.As(err, &coded)).To(BeTrue(), "%v", err)
		Expect(coded.Code()).To(Equal("provider-rejected"))
		Expect(err).To(MatchError(fakeagent.ErrNotSteered))
	}

	It("is folded into the reply of the turn that holds, which stays one turn", bubble.InBubble, func(ctx SpecContext) {
		a := executor(fakeagent.Config{Script: "lane", ReplyText: "reply"})
		id := a.send("lane:hold")
		synctest.Wait()
		for _, text := range []string{"faster", "and {{thread}}"} {
			Expect(steer(a, id, text)).To(Equal(id))
		}
		Expect(a.wait(id)).To(And(EndCompleted(), HaveAssistantText("reply + faster + and {{thread}}")))
		Expect(a.seen()).To(EmitExactly("session.started", "turn.started", "content.delta", "turn.completed"))
		thread, err := a.ReadThread(ctx, "a")
		Expect(err).NotTo(HaveOccurred())
		Expect(thread.Turns[0].Items).To(HaveItems(BeUserMessage("lane:hold"), BeUserMessage("faster"), BeUserMessage("and {{thread}}"),
			BeAssistantMessage("reply + faster + and {{thread}}")))
		By("and the next turn begins without them")
		Expect(a.run("lane:hold")).To(HaveAssistantText("reply"))
	})

	It("is refused when its turn is over, is another one, or never was, and emits nothing", bubble.InBubble, func() {
		a := executor(fakeagent.Config{Script: "lane"})
		_, err := steer(a, "a-turn-1", "early")
		rejected(err)
		a.run("lane:hold")
		n := len(a.seen())
		_, err = steer(a, "a-turn-1", "late")
		rejected(err)
		Expect(err).To(MatchError("agent a does not take a steer now: turn a-turn-1 does not run"))
		Expect(a.seen()).To(HaveLen(n))
		second := a.send("lane:hold")
		_, err = steer(a, "a-turn-1", "astray")
		rejected(err)
		Expect(a.wait(second)).To(HaveAssistantText("fake turn complete"))
	})

	It("is refused by a turn that takes none, which goes on", bubble.InBubble, func() {
		a := executor(fakeagent.Config{Script: "stream"})
		id := a.send("go")
		synctest.Wait()
		_, err := steer(a, id, "faster")
		rejected(err)
		Expect(err).To(MatchError(HavePrefix(`agent a does not take a steer now: turn a-turn-1 is in step 1 {"say":{"text":"{{markdown}}"`)))
		Expect(a.wait(id)).To(EndCompleted())
	})

	It("is refused by a turn that was interrupted, even where it has not ended yet", func(ctx SpecContext) {
		a := fromFile(`[{"hold":{"name":"here","steers":true}},{"say":"done{{steers}}"}]`, fakeagent.Config{})
		for range 100 { // which of the two is faster is nobody's to say
			id := a.send("go")
			Expect(a.Gate("a", "here").AwaitHeld(ctx)).To(Succeed())
			Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
			_, err := steer(a, id, "late")
			rejected(err)
			Expect(a.wait(id)).To(EndCanceled())
		}
	})

	It("waits at a gate for the test to steer it, where the script says so", func(ctx SpecContext) {
		a := fromFile(`[{"hold":{"name":"here","steers":true}},{"say":"done{{steers}}"}]`, fakeagent.Config{})
		id := a.send("go")
		Expect(a.Gate("a", "here").AwaitHeld(ctx)).To(Succeed())
		Expect(steer(a, id, "faster")).To(Equal(id))
		a.Gate("a", "here").Release()
		Expect(a.wait(id)).To(HaveAssistantText("done + faster"))
	})

	It("is not what a second turn is, which is refused with the same code", bubble.InBubble, func(ctx SpecContext) {
		a := executor(fakeagent.Config{Script: "lane"})
		id := a.send("lane:hold")
		_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "next"})
		Expect(err).To(MatchError(fakeagent.ErrBusy))
		Expect(err).To(HaveField("Code()", "provider-rejected"))
		Expect(a.wait(id)).To(EndCompleted())
	})

	It("that comes at the very end is in the reply, or refused", func() {
		a := executor(fakeagent.Config{Script: "lane", HoldMs: number(1)})
		for range 300 {
			id := a.send("lane:hold")
			accepted := 0
			for len(a.ended) == 0 {
				if _, err := steer(a, id, "more"); err == nil {
					accepted++
				} else {
					rejected(err)
				}
				runtime.Gosched()
			}
			Expect(a.wait(id)).To(HaveAssistantText("fake turn complete" + strings.Repeat(" + more", accepted)))
		}
	})
})

var _ = Describe("A subscriber that is slow", func() {
	It("holds up its own thread alone, and none if a log of events stands in for it", bubble.InBubble, func(ctx SpecContext) {
		agent := fakeagent.NewT(GinkgoT(), fakeagent.Config{})
		release := make(chan struct{})
		var log event.Log
		ended := map[string]chan bool{"slow": make(chan bool, 1), "quick": make(chan bool, 1)}
		agent.Subscribe(log.Append)
		agent.Subscribe(func(e event.Event) {
			if _, over := e.Payload.(event.TurnCompleted); over {
				ended[e.ThreadID] <- true
			} else if e.ThreadID == "slow" && e.TurnID != "" {
				<-release
			}
		})
		for _, id := range []string{"slow", "quick"} {
			Expect(agent.StartSession(ctx, fakeagent.SessionConfig{ThreadID: id})).To(Succeed())
			_, err := agent.SendTurn(ctx, fakeagent.TurnInput{ThreadID: id})
			Expect(err).NotTo(HaveOccurred())
		}
		synctest.Wait()
		Expect(ended["quick"]).To(Receive())
		Expect(ended["slow"]).NotTo(Receive())
		Expect(log.Wait(ctx, 2)).NotTo(BeEmpty())
		close(release)
		Expect(<-ended["slow"]).To(BeTrue())
		Expect(log.After(0)).To(HaveLen(8))
	})
})

var _ = Describe("In a host's timeline", func() {
	// run is one turn on a host that answers what is asked.
	run := func(ctx context.Context, cfg fakeagent.Config, prompt string, d fakeagent.Decision) (timelinekit.Run, []timeline.Row) {
		GinkgoHelper()
		cfg.MCP = &drawing{}
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("fake", fakeagent.NewT(GinkgoT(), cfg)))
		turn := host.StartPrompt(ctx, prompt, timelinekit.MCPServers(fakeagent.MCPServer{Name: "ycodium"}))
		for {
			request, err := turn.AwaitRequest(ctx)
			if err != nil || !request.Blocking {
				break // the turn is over, or does not wait
			}
			if len(request.Questions) > 0 {
				Expect(host.Answer(ctx, turn.AgentID, request.ID, map[string]any{"color": "Blue"})).To(Succeed())
			} else {
				Expect(host.Respond(ctx, turn.AgentID, request.ID, d)).To(Succeed())
			}
		}
		return turn.Wait(ctx), host.AgentRows(turn.AgentID)
	}

	It("approvals are tool calls that completed, or were declined", bubble.InBubble, func(ctx SpecContext) {
		for _, both := range []bool{false, true} {
			r, rows := run(ctx, fakeagent.Config{Script: "approval-tool", OpenBothApprovals: both}, "go", fakeagent.Accept)
			Expect(r).To(And(EndCompleted(), HaveItems(
				BeShellCall("npm test", WithStatus(timeline.Completed)), BeToolCall("file_change", WithStatus(timeline.Completed)), BeAssistantMessage("fake turn complete"))))
			Expect(rows).To(BeWellFormed())
		}
		r, _ := run(ctx, fakeagent.Config{Script: "approval-tool"}, "go", fakeagent.Decline)
		Expect(r).To(And(EndCompleted(), ContainItems(BeShellCall("npm test", WithError(ContainSubstring("declined"))), BeAssistantMessage("fake turn complete"))))
		r, _ = run(ctx, fakeagent.Config{Script: "approval-tool"}, "go", fakeagent.Cancel)
		Expect(r).To(EndCanceled())
	})

	It("a figure is a tool call, a stream one message, and an answer is in the reply", bubble.InBubble, func(ctx SpecContext) {
		r, _ := run(ctx, fakeagent.Config{Script: "visualize"}, "go", "")
		Expect(r).To(And(EndCompleted(), HaveItems(BeToolCall("visualize", WithOutput("It is drawn.")), BeAssistantMessage("The figure is in the card above."))))
		r, rows := run(ctx, fakeagent.Config{Script: "stream"}, "go", "")
		Expect(r).To(And(EndCompleted(), HaveItems(BeAssistantMessage(HavePrefix("# What was done")))))
		Expect(rows).To(And(HaveLen(201), BeWellFormed()))
		r, _ = run(ctx, fakeagent.Config{Script: "lane"}, "lane:question", "")
		Expect(r).To(And(EndCompleted(), HaveItems(BeAssistantMessage(`answered: {"color":"Blue"}`))))
		r, _ = run(ctx, fakeagent.Config{Script: "async-question"}, "go", "")
		Expect(r).To(And(EndCompleted(), HaveItems(BeAssistantMessage("fake turn complete"))))
	})
})
