package mockproc_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// asksColor is a scenario in a file, whose questions block the turn or do not, and which says what the answers were.
func asksColor(blocking bool) mockproc.Scenario {
	GinkgoHelper()
	return parsed(fmt.Sprintf(`{
		"name": "asks",
		"turns": [
			{"steps": [
				{"question": {"blocking": %v, "questions": [
					{"id": "color", "header": "Color", "question": "Which color?", "options": [{"label": "Blue", "description": "as it was"}, {"label": "Green"}]},
					{"id": "size", "header": "Size", "question": "Which size?", "options": [{"label": "S"}, {"label": "M"}]}
				]}},
				{"say": "answered: {{answers}}"}
			]},
			{"steps": [{"say": "and now {{input}}"}]}
		]}`, blocking))
}

// told are the kinds of what was heard from the nth line on, and texts as they are.
func (c *client) told(from int) []string {
	GinkgoHelper()
	out := c.kinds(from)
	for i, h := range c.heard[from:] {
		var m struct {
			Params struct {
				Update struct {
					SessionUpdate string
					Content       json.RawMessage
				}
			}
		}
		if json.Unmarshal([]byte(h.line), &m) == nil && m.Params.Update.SessionUpdate == "agent_message_chunk" {
			var text struct{ Text string }
			Expect(json.Unmarshal(m.Params.Update.Content, &text)).To(Succeed())
			out[i] = text.Text
		}
	}
	return out
}

var _ = Describe("A mock that asks its user", bubble.InBubble, func() {
	It("asks a client without forms one after the other, as permissions, and goes on with the answers", func() {
		c, m := start(asksColor(true))
		c.open()
		prompt := c.prompt("go")
		id, options := c.permission()
		Expect(options).To(Equal("answer-1 answer-2"))
		time.Sleep(time.Hour) // a host may take its time
		c.allow(id, "answer-2")
		id, _ = c.permission()
		c.allow(id, "answer-1")
		c.answer(prompt)
		Expect(c.told(2)).To(Equal([]string{
			"tool_call", "session/request_permission", "tool_call_update completed", "tool_call", "session/request_permission", "tool_call_update completed",
			`answered: {"color":"Green","size":"S"}`, "end_turn"}))
		Expect(m.Violations()).To(BeEmpty())
		m.Kill(os.Kill)
	})

	DescribeTable("obeys the outcome", func(outcome string, want ...string) {
		c, m := start(asksColor(true))
		c.open()
		prompt := c.prompt("go")
		id, _ := c.permission()
		from := len(c.heard)
		c.allow(id, outcome)
		if outcome != "cancelled" {
			id, _ = c.permission()
			c.allow(id, "answer-2")
		}
		c.answer(prompt)
		Expect(c.told(from)).To(Equal(want))
		Expect(m.Exited()).NotTo(BeClosed())
		m.Violations()
		m.Kill(os.Kill)
	},
		Entry("cancelled, which cancels the turn", "cancelled", "tool_call_update failed", "cancelled"),
		Entry("an answer that was not offered, which is none", "allow-once",
			"tool_call_update failed", "tool_call", "session/request_permission", "tool_call_update completed", `answered: {"size":"M"}`, "end_turn"),
	)

	It("asks a client with forms for all at once", func() {
		c, m := start(asksColor(true))
		c.answer(c.ask("initialize", `{"protocolVersion":1,"clientCapabilities":{"elicitation":{"form":{}}}}`))
		c.newSession(os.TempDir())
		prompt := c.prompt("go")
		Expect(c.until(`"elicitation/create"`)).To(ContainSubstring(`"properties":{"color":{"type":"string",`))
		c.say(`{"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"size":"M"}}}`)
		c.answer(prompt)
		Expect(c.told(2)).To(Equal([]string{"elicitation/create", `answered: {"size":"M"}`, "end_turn"}))
		Expect(m.Violations()).To(BeEmpty())
		m.Kill(os.Kill)
	})

	It("reports a host that chooses what was not on the form, or never answers it", func() {
		c, m := start(asksColor(true))
		c.answer(c.ask("initialize", `{"protocolVersion":1,"clientCapabilities":{"elicitation":{"form":{}}}}`))
		c.newSession(os.TempDir())
		prompt := c.prompt("go")
		c.until(`"elicitation/create"`)
		c.say(`{"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"size":"XL"}}}`)
		c.answer(prompt)
		c.newSession(os.TempDir())
		prompt = c.prompt("go")
		c.until(`"elicitation/create"`)
		c.cancel()
		c.answer(prompt)
		_ = m.Stdin().Close()
		c.rest()
		Expect(m.Violations()).To(HaveExactElements(
			ContainSubstring("elicitation/create (id 0) was answered XL for size, which was not offered: S, M"), ContainSubstring("elicitation/create (id 1) was never answered")))
	})

	It("waits for nothing where the answer is the next prompt", func() {
		c, m := start(asksColor(false))
		c.open()
		c.answer(c.prompt("go"))
		c.answer(c.prompt("Green"))
		Expect(c.told(2)).To(Equal([]string{"Which color?\n- Blue: as it was\n- Green\n\nWhich size?\n- S\n- M\n\n", "answered: {}", "end_turn", "and now Green", "end_turn"}))
		Expect(m.Violations()).To(BeEmpty())
		m.Kill(os.Kill)
	})

	It("is canceled while it asks, and whatever is answered then is ignored", func() {
		c, m := start(asksColor(true))
		c.open()
		prompt := c.prompt("go")
		id, _ := c.permission()
		c.cancel()
		c.answer(prompt)
		Expect(c.told(4)).To(Equal([]string{"tool_call_update failed", "cancelled"}))
		c.allow(id, "cancelled")
		synctest.Wait()
		Expect(pending(m)).To(BeEmpty())
		Expect(m.Violations()).To(BeEmpty())
		m.Kill(os.Kill)
	})

	It("ends while it asks, at once, with nothing left behind", func() {
		for _, end := range []func(*mockproc.Mock){func(m *mockproc.Mock) { m.Kill(os.Kill) }, func(m *mockproc.Mock) { _ = m.Stdin().Close() }} {
			c, m := start(asksColor(true))
			c.open()
			c.prompt("go")
			c.permission()
			end(m)
			c.rest()
			Expect(m.Violations()).To(BeEmpty())
		}
	})
})

var _ = Describe("A mock", bubble.InBubble, func() {
	It("tells of a task as of a tool call, around what happens meanwhile", func() {
		c, m := start(mockproc.Turns(script.New(
			script.TaskStep{Description: "find it", Type: "scout", Steps: []script.Step{script.Bash("grep", "", 0), script.Sleep(time.Second)}},
			script.TaskStep{Description: "wait", Steps: []script.Step{script.Hold("here")}})))
		c.open()
		prompt := c.prompt("go")
		c.until(`"title":"wait"`)
		c.cancel()
		c.answer(prompt)
		Expect(c.kinds(2)).To(Equal([]string{"tool_call", "tool_call", "tool_call_update completed", "tool_call_update completed", "tool_call", "tool_call_update failed", "cancelled"}))
		Expect(c.heard[2].line).To(ContainSubstring(`"toolCallId":"task-1-1","title":"find it","kind":"think"`))
		Expect(c.heard[5].at - c.heard[4].at).To(Equal(time.Second))
		m.Kill(os.Kill)
	})

	It("tells of an event that the protocol has a place for, and notes one that it has not", func() {
		c, m := start(mockproc.Turns(script.New(
			script.EventStep{Type: "content.delta", ItemID: "a-9", Payload: []byte(`{"streamKind":"assistant_text","delta":"hi"}`)},
			script.EventStep{Type: "turn.diff.updated", Payload: []byte(`{"unifiedDiff":"+a"}`)},
			script.EventStep{Type: "content.delta", Payload: []byte(`{"streamKind":"command_output","delta":"x"}`)},
			script.Say("done"))))
		c.open()
		c.answer(c.prompt("go"))
		Expect(c.told(2)).To(Equal([]string{"hi", "done", "end_turn"}))
		var dropped []string
		for _, line := range m.Transcript() {
			if line.From == acp.Agent && line.Note != "" {
				dropped = append(dropped, line.Note)
			}
		}
		Expect(dropped).To(Equal([]string{"dropped: turn.diff.updated", "dropped: text of the stream command_output"}))
		m.Kill(os.Kill)
	})

	It("does not let an event hang its client: a question that nobody waits for ends with the turn", func() {
		c, m := start(mockproc.Turns(script.New(
			script.EventStep{Type: "user-input.requested", RequestID: "q", Payload: []byte(`{"questions":[{"id":"a","header":"A","question":"a?","options":[{"label":"x"}]}]}`)})))
		c.open()
		prompt := c.prompt("go")
		c.answer(prompt)
		Expect(c.told(2)).To(Equal([]string{"tool_call", "session/request_permission", "tool_call_update failed", "$/cancel_request", "end_turn"}))
		c.allow(0, "answer-1")
		Expect(c.answer(c.prompt("again"))).To(ContainSubstring("end_turn"))
		c.allow(1, "answer-1")
		synctest.Wait()
		Expect(m.Violations()).To(BeEmpty())
		m.Kill(os.Kill)
	})

	It("takes no steers, which the protocol has not: what comes during a turn is refused, and that turn goes on", func() {
		c, m := start(mockproc.Turns(script.New(script.SleepStep{Duration: time.Minute, Steers: true}, script.Say("rested"))))
		c.open()
		prompt := c.prompt("go")
		Expect(c.answer(c.prompt("and this"))).To(ContainSubstring(`"code":-32600`))
		Expect(c.answer(prompt)).To(ContainSubstring("end_turn"))
		Expect(c.told(2)[1:]).To(Equal([]string{"rested", "end_turn"}))
		Expect(m.Violations()).To(HaveExactElements(ContainSubstring("whose last prompt (id 2) is not answered yet")))
		m.Kill(os.Kill)
	})
})

var _ = Describe("An installed agent", func() {
	It("asks, does tasks, and has placeholders filled in, like any other", func() {
		c := spawn(parsed(`{
			"name": "all",
			"turns": [{"steps": [
				{"task": {"description": "{{input}}", "steps": [
					{"question": {"blocking": true, "questions": [{"id": "a", "header": "A", "question": "a or b?", "options": [{"label": "a"}, {"label": "b"}]}]}},
					{"event": {"type": "content.delta", "payload": {"streamKind": "assistant_text", "delta": "chose {{answers}}"}}}
				]}},
				{"question": {"questions": [{"id": "b", "header": "B", "question": "And {{thread}}?"}]}},
				{"sleep": {"ms": 1, "steers": true}}
			]}]}`))
		c.open()
		prompt := c.prompt("look")
		id, _ := c.permission()
		c.allow(id, "answer-2")
		c.answer(prompt)
		Expect(c.told(2)).To(Equal([]string{
			"tool_call", "tool_call", "session/request_permission", "tool_call_update completed", `chose {"a":"b"}`, "tool_call_update completed", "And mock_sess_900000?\n\n", "end_turn"}))
		Expect(c.heard[2].line).To(ContainSubstring(`"title":"look"`))
		Expect(c.p.Stdin().Close()).To(Succeed())
		c.rest()
		Expect(c.last()).To(Equal("exit 0"))
	})
})
