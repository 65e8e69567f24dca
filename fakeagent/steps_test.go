package fakeagent_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// lines are the items of a run as canonical JSON, with the agent's folder as CWD.
func lines(run timeline.Run, cwd string) []string {
	var out []string
	for _, it := range run.Items() {
		out = append(out, strings.ReplaceAll(string(timeline.AppendJSON(nil, it)), cwd, "CWD"))
	}
	return out
}

var _ = Describe("The steps of a script", func() {
	var a *agent
	BeforeEach(func() { a = scripted() })

	It("play one after another, and each is an item of the timeline", func() {
		run := a.run(`{"steps":[
			{"think":"add a constant, then check it"},
			{"write":{"path":"src/a.ts","content":"export const a = 1;\n"}},
			{"edit":{"path":"src/a.ts","old":"1","new":"2"}},
			{"bash":{"command":"cat src/a.ts","run":true}},
			{"bash":{"command":"npm test","output":"1 failed","exitCode":1}},
			{"say":"a is 2 now"}]}`)
		Expect(run).To(EndCompleted(), "a failed tool call does not fail the turn")
		Expect(lines(run, a.cwd)).To(HaveExactElements(
			`{"type":"reasoning","text":"add a constant, then check it"}`,
			`{"type":"tool_call","callId":"t-1-1","name":"Write","detail":{"type":"write","filePath":"CWD/src/a.ts","content":"export const a = 1;\n"},"status":"completed","error":null}`,
			`{"type":"tool_call","callId":"t-1-2","name":"Edit","detail":{"type":"edit","filePath":"CWD/src/a.ts","oldString":"1","newString":"2"},"status":"completed","error":null}`,
			`{"type":"tool_call","callId":"t-1-3","name":"Bash","detail":{"type":"shell","command":"cat src/a.ts","cwd":"CWD","output":"export const a = 2;\n","exitCode":0},"status":"completed","error":null}`,
			`{"type":"tool_call","callId":"t-1-4","name":"Bash","detail":{"type":"shell","command":"npm test","cwd":"CWD","output":"1 failed","exitCode":1},"status":"failed","error":"exit code 1"}`,
			`{"type":"assistant_message","text":"a is 2 now","messageId":"a-1-5"}`,
		))
	})

	It("have ids that count the agent's turns, and in them tool calls and messages together", func() {
		a.play(script.Say("first turn"))
		run := a.play(script.Think("no number"), script.Say("x"), script.Bash("ls", "", 0), script.Say("y"))
		Expect(lines(run, a.cwd)).To(HaveExactElements(
			ContainSubstring("reasoning"),
			ContainSubstring(`"messageId":"a-2-1"`), ContainSubstring(`"callId":"t-2-2"`), ContainSubstring(`"messageId":"a-2-3"`),
		))
	})

	Describe("say and think", func() {
		It("are one piece of text by default", func() {
			a.play(script.Say("hello"), script.Think("hm"))
			Expect(a.deltas()).To(Equal([]string{"hello", "hm"}))
		})
		It("stay two items where two of them follow each other", func() {
			Expect(a.play(script.Think("one"), script.Think("two"))).To(HaveItems(BeReasoning("one"), BeReasoning("two")))
		})
		DescribeTable("are sent in exactly as many chunks as they say, cut between characters as a reader sees them",
			func(text string, chunks int, want ...string) {
				run := a.play(script.SayStep{Text: text, Chunks: chunks})
				Expect(a.deltas()).To(Equal(want))
				Expect(run).To(HaveItems(BeAssistantMessage(text)), "it is one message all the same")
			},
			Entry("in even pieces", "abcdef", 3, "ab", "cd", "ef"),
			Entry("in uneven pieces", "abcde", 3, "a", "bc", "de"),
			Entry("one a character", "abc", 3, "a", "b", "c"),
			Entry("with a family of four, which is one character", "x👨‍👩‍👧‍👦y", 3, "x", "👨‍👩‍👧‍👦", "y"),
			Entry("with an accent of its own", "e\u0301a", 2, "e\u0301", "a"),
			Entry("with a line end of two bytes", "a\r\nb", 3, "a", "\r\n", "b"),
		)
		It("send the first chunk at once and the others an interval apart", bubble.InBubble, func(ctx SpecContext) {
			a := start(fakeagent.Scripted(), "")
			defer a.Close()
			began := time.Now()
			a.play(script.SayStep{Text: "abcd", Chunks: 4, Interval: 250 * time.Millisecond})
			Expect(time.Since(began)).To(Equal(750 * time.Millisecond))
		})
	})

	It("fail ends the turn as failed, with an error item; no later step runs", func() {
		run := a.play(script.Say("starting"), script.Fail("tests failed"), script.Say("never said"))
		Expect(run).To(And(EndFailed("tests failed"), HaveItems(BeAssistantMessage("starting"), BeErrorItem("tests failed"))))
	})
	It("fail carries a code for protocols that have one", func() {
		Expect(a.play(script.FailStep{Message: "slow down", Code: 429}).Ending).To(Equal(
			timeline.Ending{Kind: timeline.Failed, Message: "slow down", Code: 429}))
	})

	It("bash claims a result without running anything", func() {
		run := a.play(script.Bash("touch here", "done", 0))
		Expect(run).To(HaveItems(BeShellCall("touch here", WithStatus(timeline.Completed))))
		Expect(filepath.Join(a.cwd, "here")).NotTo(BeAnExistingFile())
	})

	It("plan is a todo list", func() {
		run := a.run(`[{"plan":[{"text":"write","status":"completed","priority":"high"},{"text":"test","status":"in_progress"},{"text":"ship"}]}]`)
		Expect(lines(run, a.cwd)).To(HaveExactElements(
			`{"type":"todo","items":[{"text":"write","completed":true,"status":"completed"},{"text":"test","completed":false,"status":"in_progress"},{"text":"ship","completed":false,"status":"pending"}]}`))
		Expect(a.seen()).To(ContainElement(HaveField("Payload", event.PlanUpdated{Plan: []event.PlanStep{
			{Step: "write", Status: "completed", Priority: "high"}, {Step: "test", Status: "inProgress"}, {Step: "ship", Status: "pending"}}})), "a priority is only in the event")
	})

	Describe("tool", func() {
		It("claims a call of any tool, with any JSON in and out", func() {
			run := a.run(`[{"tool":{"name":"lookup","input":{"q":"<x>"},"output":[1,null]}}]`)
			Expect(lines(run, a.cwd)).To(HaveExactElements(
				`{"type":"tool_call","callId":"t-1-1","name":"lookup","detail":{"type":"unknown","input":{"q":"<x>"},"output":[1,null]},"status":"completed","error":null}`))
		})
		It("claims any detail that the timeline has", func() {
			run := a.run(`[{"tool":{"name":"Read","detail":{"type":"read","filePath":"/x","limit":10}}}]`)
			Expect(lines(run, a.cwd)).To(HaveExactElements(
				`{"type":"tool_call","callId":"t-1-1","name":"Read","detail":{"type":"read","filePath":"/x","limit":10},"status":"completed","error":null}`))
		})
		It("fails when it says so, or has an error", func() {
			Expect(a.play(
				script.ToolStep{Name: "x", Status: "failed"},
				script.ToolStep{Name: "y", Error: "no such thing"},
			)).To(HaveItems(BeToolCall("x", WithError("failed")), BeToolCall("y", WithError("no such thing"))))
		})
		It("keeps its row in progress as long as it says", bubble.InBubble, func(ctx SpecContext) {
			a := start(fakeagent.Scripted(), "")
			defer a.Close()
			began := time.Now()
			a.play(script.ToolStep{Name: "slow", Hold: 3 * time.Second, Output: json.RawMessage(`"ok"`)})
			Expect(time.Since(began)).To(Equal(3 * time.Second))
			Expect(a.types()).To(ContainElements("item.started", "item.completed"))
		})
	})

	It("usage is a token usage event and no item", func() {
		run := a.play(script.UsageStep{UsedTokens: 1200, MaxTokens: 200_000, InputTokens: 1000, OutputTokens: 200})
		Expect(run).To(HaveItems())
		Expect(a.seen()).To(ContainElement(HaveField("Payload", event.TokenUsageUpdated{
			Usage: event.TokenUsage{UsedTokens: 1200, MaxTokens: 200_000, InputTokens: 1000, OutputTokens: 200}})))
	})

	Describe("waiting", bubble.InBubble, func() {
		timed := func(cfg func(*fakeagent.Config), prompt string) time.Duration {
			GinkgoHelper()
			c := fakeagent.Scripted()
			cfg(&c)
			a := start(c, "")
			defer a.Close()
			began := time.Now()
			Expect(a.run(prompt)).To(EndCompleted())
			return time.Since(began)
		}
		realTime := func(*fakeagent.Config) {}
		const script = `{"stepDelayMs":1000,"steps":[{"sleep":4000},{"say":{"text":"abc","chunks":3,"intervalMs":500}},{"tool":{"name":"x","holdMs":2000}}]}`

		It("takes as long as sleep says", func() {
			Expect(timed(realTime, `[{"sleep":12000}]`)).To(Equal(12 * time.Second))
		})
		It("comes before every step with stepDelayMs", func() {
			Expect(timed(realTime, `{"stepDelayMs":300,"steps":[{"say":"a"},{"say":"b"}]}`)).To(Equal(600 * time.Millisecond))
		})
		It("adds up over a script", func() {
			Expect(timed(realTime, script)).To(Equal(10 * time.Second))
		})
		It("is divided by the speed", func() {
			Expect(timed(func(c *fakeagent.Config) { c.Speed = 10 }, script)).To(Equal(time.Second))
			Expect(timed(func(c *fakeagent.Config) { c.Speed = 0.5 }, script)).To(Equal(20 * time.Second))
		})
		It("is as good as endless at a speed of next to nothing, and can be interrupted like any other", func(ctx SpecContext) {
			cfg := fakeagent.Scripted()
			cfg.Speed = 1e-300
			a := start(cfg, "")
			defer a.Close()
			id := a.send(`[{"sleep":1},{"say":"never"}]`)
			time.Sleep(24 * time.Hour)
			Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
			Expect(a.wait(id)).To(And(EndCanceled(), HaveItems()))
		})
		It("is left out altogether when the agent plays instantly", func() {
			Expect(timed(func(c *fakeagent.Config) { c.Instant = true }, script)).To(BeZero())
		})
	})
})
