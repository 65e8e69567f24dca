package fakeagent_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// HaveJSON matches an event whose JSON holds this.
func HaveJSON(part string) types.GomegaMatcher {
	return WithTransform(func(e event.Event) (string, error) {
		b, err := json.Marshal(e)
		return string(b), err
	}, ContainSubstring(part))
}

var _ = Describe("The script mcp-send", bubble.InBubble, func() {
	var (
		o *office
		a *agent
	)
	BeforeEach(func() {
		o = newOffice()
		a = o.hires(fakeagent.Config{})
	})

	It("makes of a prompt that is an object the arguments of send_message, on the host's own server", func() {
		Expect(a.run(` {"threadId":"b", "text":"Continue"} `)).To(And(EndCompleted(), HaveItems(
			BeToolCall("mcp__ycodium__send_message"),
			BeAssistantMessage(`mcp-send send_message: {"sent":{"text":"Continue","threadId":"b"}}`),
		)))
		Expect(o.called()).To(Equal([]string{`send_message {"threadId":"b","text":"Continue"}`}))
	})

	It("makes the calls of a prompt that is an array, one after the other", func() {
		Expect(a.run(`[{"tool":"work_list_items"},{"tool":"echo","arguments":{"n":1}},{"tool":"say","arguments":{"text":"two\nlines"}}]`)).To(HaveItems(
			BeToolCall("mcp__ycodium__work_list_items"), BeToolCall("mcp__ycodium__echo"), BeToolCall("mcp__ycodium__say"),
			BeAssistantMessage(`mcp-send work_list_items: {"items":[{"open":true,"size":3,"title":"v1.2 of it","workItemId":"w-1"},{"open":false,"size":12345678901,"title":"docs","workItemId":"w-2"}]}`+"\n"+
				`mcp-send echo: {"n":1}`+"\n"+
				`mcp-send say: two\nlines`),
		))
		Expect(o.called()).To(Equal([]string{"work_list_items", `echo {"n":1}`, `say {"text":"two\nlines"}`}))
	})

	It("can call a tool that an earlier call has just made", func() {
		a.run(`[{"tool":"hello"},{"tool":"define","arguments":{"name":"hello"}},{"tool":"hello"}]`)
		Expect(a.reply()).To(MatchRegexp(`^mcp-send hello failed: .*unknown tool "hello".*\nmcp-send define: \{"defined":"hello"\}\nmcp-send hello: \{"hello":"hello"\}$`))
	})

	It("takes null for no arguments", func() {
		a.run(`[{"tool":"echo","arguments":null}]`)
		Expect(a.reply()).To(Equal("mcp-send echo: {}"))
	})

	It("goes on after a call that failed, and says on one line why it did", func() {
		Expect(a.run(`[{"tool":"send_message","arguments":{"threadId":""}},{"tool":"echo"}]`)).To(EndCompleted())
		Expect(a.reply()).To(Equal(`mcp-send send_message failed: nobody is called that\nat all` + "\n" + `mcp-send echo: {}`))
	})

	It("says all that as one piece of text, behind the calls", func() {
		a.run(`[{"tool":"echo"},{"tool":"echo"}]`)
		Expect(a.types()).To(Equal([]string{"session.started", "turn.started",
			"item.started", "item.completed", "item.started", "item.completed", "content.delta", "turn.completed"}))
	})

	It("tells of each call in two events of one item, with its name, what it got and what it returned", func() {
		a.run(`[{"tool":"echo","arguments":{"b":1,"a":[2]}}]`)
		var items []event.Event
		for _, e := range a.seen() {
			switch e.Payload.(type) {
			case event.ItemStarted, event.ItemCompleted:
				items = append(items, e)
			}
		}
		Expect(items).To(HaveLen(2))
		Expect(items[0].ItemID).To(And(Not(BeEmpty()), Equal(items[1].ItemID)))
		Expect(items[0]).To(HaveJSON(`"payload":{"itemType":"mcp_tool_call","status":"inProgress","title":"mcp__ycodium__echo","data":{"type":"unknown","input":{"b":1,"a":[2]},"output":null}}`))
		Expect(items[1]).To(HaveJSON(`"payload":{"itemType":"mcp_tool_call","status":"completed","title":"mcp__ycodium__echo",` +
			`"data":{"type":"unknown","input":{"b":1,"a":[2]},"output":{"content":[{"type":"text","text":"for people"}],"structuredContent":{"a":[2],"b":1}}}}`))
	})

	DescribeTable("does not look at what the host puts before the prompt:",
		func(before string) {
			a.run(before + `{"text":"hi"}`)
			Expect(o.called()).To(Equal([]string{`send_message {"text":"hi"}`}))
		},
		Entry("nothing", ""),
		Entry("blank lines", "\n \r\n\t\n"),
		Entry("a skill", "<skill>how to</skill>\n"),
		Entry("skills with attributes", "<skills a=\"b\"\nc>\n{\"a\":1}\n</skills>\n\n"),
		Entry("a memory on the line of the prompt", "<memory>x</memory> "),
		Entry("one after the other, with blank lines between", "\n<memory>x</memory>\n\n<tool-guidance>\ny\n</tool-guidance>\n<system-reminder>z</system-reminder>\n<skill>1</skill>\n<skill>2</skill>\n"),
		Entry("a block that names another one", "<memory></skill><skill></memory>\n"),
	)

	DescribeTable("answers as plain does, and calls nothing, when the prompt is",
		func(prompt string) {
			Expect(a.run(prompt)).To(And(EndCompleted(), HaveItems(BeAssistantMessage("fake turn complete"))))
			Expect(o.called()).To(BeEmpty())
		},
		Entry("empty", ""),
		Entry("text", "do something"),
		Entry("text around an object", `please {"a":1}`),
		Entry("an object and more", `{"a":1} please`),
		Entry("broken", `{"a":`),
		Entry("a number", "5"),
		Entry("an empty array", "[]"),
		Entry("an array of something else", `[{"a":1}]`),
		Entry("an array with something else", `[{"tool":"echo"},5]`),
		Entry("calls with an unknown key", `[{"tool":"echo","argumetns":{}}]`),
		Entry("calls whose arguments are a list", `[{"tool":"echo","arguments":[1]}]`),
		Entry("a call of no tool", `[{"tool":"","arguments":{}}]`),
		Entry("a block that is not closed", "<skill>\n"+`{"a":1}`),
		Entry("a block that does not begin a line", `x <skill>y</skill>{"a":1}`),
		Entry("a second block on the line of the first", `<skill>y</skill><memory>z</memory>{"a":1}`),
		Entry("a block of another name", `<skillet>y</skillet>{"a":1}`),
		Entry("a block that is closed by another name", `<skill>y</memory>{"a":1}`),
	)

	It("can be told what hosts put before a prompt", func() {
		a := o.hires(fakeagent.Config{LeadingBlocks: []string{`#.*\n`, ``}})
		a.run("# one\n# two\n" + `{"text":"hi"}`)
		a.run("x # one\n" + `{"text":"hi"}`)
		a.run("<skill>x</skill>" + `{"text":"hi"}`)
		Expect(o.called()).To(Equal([]string{`send_message {"text":"hi"}`}))
		_, err := fakeagent.New(fakeagent.Config{Script: "mcp-send", LeadingBlocks: []string{"<a>", "<b("}})
		Expect(err).To(MatchError(MatchRegexp(`^fakeagent: leadingBlocks\[1\]: error parsing regexp: missing closing \)`)))
	})

	It("takes the name of the host's server from the configuration", func() {
		a := o.hires(fakeagent.Config{BuiltInServer: "annex"})
		Expect(a.run(`[{"tool":"echo"}]`)).To(HaveItems(BeToolCall("mcp__annex__echo"), BeAssistantMessage("mcp-send echo: {}")))
	})

	It("says so when the session has no such server, or the agent no client", func(ctx SpecContext) {
		Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "alone"})).To(Succeed())
		a.id = "alone"
		a.run(`[{"tool":"echo"}]`)
		Expect(a.reply()).To(Equal("mcp-send echo failed: unknown server ycodium"))
		a = startWith(fakeagent.Config{Script: "mcp-send"}, session("a", ""))
		DeferCleanup(a.Close)
		a.run(`[{"tool":"echo"}]`)
		Expect(a.reply()).To(Equal("mcp-send echo failed: no MCP client: set Config.MCP to mcpcall.New()"))
	})

	It("fills in no placeholder, since a prompt is text", func() {
		a.run(`{"text":"{{thread}} {{step:a}}"}`)
		Expect(o.called()).To(Equal([]string{`send_message {"text":"{{thread}} {{step:a}}"}`}))
	})

	It("refuses a second prompt while a turn runs, and steers", func(ctx SpecContext) {
		o.tool("slow", func(map[string]any) (any, error) { <-o.held; return "done", nil })
		id := a.send(`[{"tool":"slow"}]`)
		_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "x"})
		Expect(err).To(And(MatchError(fakeagent.ErrBusy), HaveField("Code()", "provider-rejected")))
		_, err = a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "x", TurnID: id})
		Expect(err).To(And(MatchError(fakeagent.ErrNotSteered), HaveField("Code()", "provider-rejected")))
		close(o.held)
		a.wait(id)
	})
})
