package fakeagent_test

import (
	"context"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

const poll = 250 * time.Millisecond

var _ = Describe("A step that waits", bubble.InBubble, func() {
	// play plays steps as a batch, and says how long that took.
	var took time.Duration
	play := func(t *troupe) string {
		GinkgoHelper()
		began := time.Now()
		reply := t.replies("a", "x")
		took = time.Since(began)
		return reply
	}

	Describe("for a tool", func() {
		It("looks every 250 milliseconds whether the server has it, and then goes on", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"wait":{"tool":"my-plugin_hello"}},{"tool":"my-plugin_hello"}]`))
			time.AfterFunc(3*poll+time.Millisecond, func() { t.define("my-plugin_hello") })
			Expect(play(t)).To(Equal(reports("wait my-plugin_hello: ready", `my-plugin_hello: {"hello":"my-plugin_hello"}`)))
			Expect(took).To(Equal(4 * poll))
			Expect(t.threads["a"].types()).To(HaveExactElements("session.started", "turn.started", "item.started", "item.completed", "content.delta", "turn.completed"),
				"the wait is no item")
		})

		It("does not wait for one that is there", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"wait":"echo"}]`))
			Expect(play(t)).To(Equal(reports("wait echo: ready")))
			Expect(took).To(BeZero())
		})

		DescribeTable("takes either form of its name:",
			func(listed, wanted string) {
				t := playing(fakeagent.Config{}, forAll(`[{"wait":"`+wanted+`"}]`))
				t.define(listed)
				Expect(play(t)).To(Equal(reports("wait " + wanted + ": ready")))
			},
			Entry("listed in full", "mcp__ycodium__hello", "hello"),
			Entry("wanted in full", "hello", "mcp__ycodium__hello"),
			Entry("both in full", "mcp__ycodium__hello", "mcp__ycodium__hello"),
		)

		DescribeTable("gives up after a time, and the batch goes on:",
			func(step string, after time.Duration) {
				t := playing(fakeagent.Config{Speed: 100}, forAll(`[`+step+`,{"tool":"echo"}]`))
				t.define("hell")
				time.AfterFunc(after, func() { t.define("hello") }) // when nobody looks any more
				Expect(play(t)).To(Equal(reports("wait hello failed: timeout", "echo: {}")))
				Expect(took).To(Equal(after))
			},
			Entry("half a minute", `{"wait":"hello"}`, 30*time.Second),
			Entry("the time that it says", `{"wait":{"tool":"hello","timeoutMs":600}}`, 600*time.Millisecond),
			Entry("a time in which it looks once", `{"wait":{"tool":"hello","timeoutMs":250}}`, poll),
		)
	})

	Describe("for something in a result", func() {
		const inbox = `"tool":"message_inbox_peek"`
		It("calls the tool every 250 milliseconds until there is enough, on one session, and then goes on", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"waitFor":{`+inbox+`,"path":"items","atLeast":2}},{"tool":"echo"}]`))
			time.AfterFunc(poll/2, func() { t.arrives("one") })
			time.AfterFunc(2*poll+1, func() { t.arrives("two") })
			Expect(play(t)).To(Equal(reports("waitFor message_inbox_peek items >= 2: ready", "echo: {}")))
			Expect(t.when()).To(Equal([]time.Duration{0, poll, 2 * poll, 3 * poll, 3 * poll}))
			Expect(t.sessions()).To(Equal(1))
			Expect(t.threads["a"].types()).To(HaveExactElements("session.started", "turn.started", "item.started", "item.completed", "content.delta", "turn.completed"),
				"the polls are no items")
		})

		DescribeTable("counts",
			func(result, path string, atLeast string, ready bool) {
				t := playing(fakeagent.Config{}, forAll(`[{"waitFor":{"tool":"echo","arguments":`+result+`,"path":"`+path+`","atLeast":`+atLeast+`,"timeoutMs":1}}]`))
				how := " failed: timeout"
				if ready {
					how = ": ready"
				}
				Expect(play(t)).To(Equal(reports("waitFor echo " + path + " >= " + atLeast + how)))
			},
			Entry("the elements of an array", `{"a":[1,2]}`, "a", "2", true),
			Entry("too few of them", `{"a":[1,2]}`, "a", "3", false),
			Entry("none", `{"a":[]}`, "a", "1", false),
			Entry("none where that is enough", `{"a":[]}`, "a", "0", true),
			Entry("a number as itself", `{"a":5}`, "a", "5", true),
			Entry("one that is too small", `{"a":4.9}`, "a", "5", false),
			Entry("one with an exponent", `{"a":1e3}`, "a", "1000", true),
			Entry("one below zero", `{"a":-1}`, "a", "0", false),
			Entry("a text as one", `{"a":"50"}`, "a", "1", true),
			Entry("a text as no more than one", `{"a":"50"}`, "a", "2", false),
			Entry("an object as one", `{"a":{"x":1,"y":2}}`, "a", "1", true),
			Entry("false and null as one", `{"a":[false,null]}`, "a.1", "1", true),
			Entry("an entry that is selected as one", `{"items":[{"title":"v1.2 x"}]}`, "items[title=v1.2 x]", "1", true),
			Entry("nothing as not ready, whatever is wanted", `{"a":1}`, "b", "0", false),
			Entry("the whole result", `{"a":1}`, "", "1", true),
		)

		It("takes a call that fails for one that is not ready", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"waitFor":{"tool":"hello","path":"hello","atLeast":1}},{"waitFor":{"tool":"refuse","path":"","atLeast":0,"timeoutMs":300}}]`))
			time.AfterFunc(poll-1, func() { t.define("hello") })
			Expect(play(t)).To(Equal(reports("waitFor hello hello >= 1: ready", "waitFor refuse  >= 0 failed: timeout")))
			Expect(took).To(Equal(poll + 300*time.Millisecond))
		})

		It("gives up after half a minute, or the time that it says; nothing is asked in that instant", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"waitFor":{`+inbox+`,"path":"items","atLeast":1}},{"waitFor":{`+inbox+`,"path":"count","atLeast":1,"timeoutMs":500}},{"tool":"echo"}]`))
			Expect(play(t)).To(Equal(reports("waitFor message_inbox_peek items >= 1 failed: timeout", "waitFor message_inbox_peek count >= 1 failed: timeout", "echo: {}")))
			Expect(took).To(Equal(30*time.Second + 500*time.Millisecond))
			Expect(t.polls).To(Equal(4*30 + 2))
		})

		It("fills in its arguments and its path; with what stands for nothing it does not ask at all", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"id":"e","tool":"echo","arguments":{"key":"k"}},
				{"waitFor":{"tool":"echo","arguments":{"k":"{{thread}}"},"path":"{{step:e.key}}","atLeast":1}},
				{"waitFor":{"tool":"echo","arguments":{"k":"{{step:none}}"},"path":"k","atLeast":1}},{"tool":"say","arguments":{"text":"on"}}]`))
			Expect(play(t)).To(Equal(reports(`echo: {"key":"k"}`, "waitFor echo k >= 1: ready", "echo failed: unresolved placeholder {{step:none}}", "say: on")))
			Expect(t.called()).To(Equal([]string{`echo {"key":"k"}`, `echo {"k":"a"}`, `say {"text":"on"}`}))
		})

		It("keeps the result that was ready under its id, but not among those of calls", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"waitFor":{`+inbox+`,"path":"count","atLeast":1,"id":"in"}},
				{"tool":"echo","arguments":{"first":"{{step:in.items.0.title}}"}},{"tool":"echo","arguments":{"x":"{{step:*items.0.title}}"}}]`))
			time.AfterFunc(1, func() { t.arrives("hello") })
			Expect(play(t)).To(HaveSuffix(reports(`echo: {"first":"hello"}`, "echo failed: unresolved placeholder {{step:*items.0.title}}")))
		})
	})

	It("has until its time is over, also for a server that does not answer", func() {
		o := newOffice()
		o.tool("slow", func(map[string]any) (any, error) { <-o.held; return nil, nil })
		a := o.hires(fakeagent.Config{PlaybookPath: aPlaybook(forAll(`[{"waitFor":{"tool":"slow","path":"","atLeast":0,"timeoutMs":700}}]`))})
		began := time.Now()
		Expect(a.run("x")).To(HaveItems(BeAssistantMessage(reports("waitFor slow  >= 0 failed: timeout"))))
		Expect(time.Since(began)).To(Equal(700 * time.Millisecond))
		close(o.held)
	})

	It("waits for a server that cannot be reached yet", func() {
		t := &lateMCP{MCP: newOffice().in(fakeagent.Config{}).MCP, from: time.Now().Add(600 * time.Millisecond)}
		a := startWith(fakeagent.Config{Script: "mcp-send", MCP: t, PlaybookPath: aPlaybook(forAll(`[{"wait":"echo"}]`))}, session("a", ""))
		DeferCleanup(a.Close)
		began := time.Now()
		Expect(a.run("x")).To(HaveItems(BeAssistantMessage(reports("wait echo: ready"))))
		Expect(time.Since(began)).To(Equal(3 * poll))
	})

	It("does not wait without a client", func() {
		a := startWith(fakeagent.Config{Script: "mcp-send", PlaybookPath: aPlaybook(forAll(`[{"wait":"echo"},{"waitFor":{"tool":"echo","path":"","atLeast":0}}]`))}, session("a", ""))
		DeferCleanup(a.Close)
		began := time.Now()
		const no = " failed: no MCP client: set Config.MCP to mcpcall.New()"
		Expect(a.run("x")).To(HaveItems(BeAssistantMessage(reports("wait echo"+no, "echo"+no))))
		Expect(time.Since(began)).To(BeZero())
	})

	It("may stand in any script, and says at its end what came of it", func() {
		o := newOffice()
		cfg := o.in(fakeagent.Config{})
		cfg.Script = "steps"
		a := startWith(cfg, session("a", ""))
		DeferCleanup(a.Close)
		Expect(a.run(`[{"wait":{"server":"ycodium","tool":"echo"}},{"say":"one"},{"mcp":{"tool":"echo"}},{"mcp":{"tool":"echo","report":true}},
			{"waitFor":{"tool":"echo","path":"a","atLeast":1,"timeoutMs":1}}]`)).To(And(EndCompleted(), HaveItems(
			BeAssistantMessage("one"), BeToolCall("mcp__ycodium__echo"), BeToolCall("mcp__ycodium__echo"),
			BeAssistantMessage(reports("wait echo: ready", "echo: {}", "waitFor echo a >= 1 failed: timeout")))))
	})
})

// lateMCP cannot connect before a time.
type lateMCP struct {
	fakeagent.MCP
	from time.Time
}

func (l *lateMCP) Connect(ctx context.Context, to fakeagent.MCPConnect) (fakeagent.MCPClient, error) {
	if time.Now().Before(l.from) {
		return nil, context.DeadlineExceeded
	}
	return l.MCP.Connect(ctx, to)
}

var _ = Describe("A script that ends by awaiting a steer", bubble.InBubble, func() {
	It("has the steer played as a prompt is, in the same turn", func(ctx SpecContext) {
		a := scripted()
		id := a.send(`[{"say":"one"},{"awaitSteer":true}]`)
		for _, text := range []string{`[{"say":"two"},{"awaitSteer":true}]`, "three"} {
			synctest.Wait()
			_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", TurnID: id, Text: text})
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(a.wait(id)).To(And(EndCompleted(), HaveItems(BeAssistantMessage("one"), BeAssistantMessage("two"), BeAssistantMessage("fake-agent received: three"))))
	})

	It("has its file asked again: a steer counts as a turn, and its routes fit the steer", func(ctx SpecContext) {
		a := fromFile(`{"turns":[[{"say":"first: {{input}}"},{"awaitSteer":true}],[{"say":"second: {{input}}"}],[{"say":"third"}]],
			"routes":[{"when":{"prompt":"special"},"steps":[{"say":"routed"},{"awaitSteer":{"timeoutMs":5}}]}]}`, fakeagent.Config{})
		id := a.send("x")
		for _, text := range []string{"special", "y"} {
			synctest.Wait()
			_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", TurnID: id, Text: text})
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(a.wait(id)).To(HaveItems(BeAssistantMessage("first: x"), BeAssistantMessage("routed"), BeAssistantMessage("third")))
	})

	It("tells Choose that it is a steer, or the same prompt again when none came", func(ctx SpecContext) {
		var got []fakeagent.Input
		a := executor(fakeagent.Config{Choose: func(in fakeagent.Input) (script.Script, error) {
			got = append(got, in)
			if len(got) == 3 {
				return script.New(script.Say("done")), nil
			}
			return script.New(script.AwaitSteerStep{Timeout: time.Second, Continue: true}), nil
		}})
		id, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "x", Attachments: []fakeagent.Attachment{{Name: "n"}}})
		Expect(err).NotTo(HaveOccurred())
		synctest.Wait()
		_, err = a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", TurnID: id, Text: "y"})
		Expect(err).NotTo(HaveOccurred())
		a.wait(id)
		Expect(got).To(HaveExactElements(
			fakeagent.Input{ThreadID: "a", Prompt: "x", Turn: 1, Attempt: 1, Attachments: []fakeagent.Attachment{{Name: "n"}}},
			fakeagent.Input{ThreadID: "a", Prompt: "y", Turn: 2, Attempt: 1, Steer: true},
			fakeagent.Input{ThreadID: "a", Prompt: "x", Turn: 3, Attempt: 2, Attachments: []fakeagent.Attachment{{Name: "n"}}},
		))
	})

	It("has all steers of the turn in {{steers}}, those of a hold, too", func(ctx SpecContext) {
		a := fromFile(`{"turns":[[{"hold":{"name":"g","steers":true}},{"say":"1{{steers}}"},{"awaitSteer":true}],[{"say":"2{{steers}}"}]]}`, fakeagent.Config{})
		id := a.send("x")
		Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
		_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", TurnID: id, Text: "y"})
		Expect(err).NotTo(HaveOccurred())
		a.Gate("a", "g").Release()
		Expect(a.wait(id)).To(HaveItems(BeAssistantMessage("1 + y"), BeAssistantMessage("2 + y")))
	})
})

var _ = Describe("A script that expects something of its prompt", func() {
	It("means the steer, where it plays for one", bubble.InBubble, func(ctx SpecContext) {
		a := scripted()
		id := a.send(`[{"awaitSteer":true}]`)
		synctest.Wait()
		_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", TurnID: id, Text: `[{"expectInput":"in the steer alone"},{"say":"done"}]`})
		Expect(err).NotTo(HaveOccurred())
		Expect(a.wait(id)).To(And(EndCompleted(), HaveItems(BeAssistantMessage("done"))))
	})

	It("plays where it is there, and fails the turn where it is not", func() {
		a := fromFile(`[{"expectInput":"{{thread}} now"},{"say":"done"}]`, fakeagent.Config{})
		Expect(a.run("go {{thread}} now")).To(And(EndCompleted(), HaveItems(BeAssistantMessage("done"))))
		Expect(a.run("go a now")).To(EndFailed(`fake-agent: expectInput: there is no "{{thread}} now" in the input "go a now"`))
	})
})
