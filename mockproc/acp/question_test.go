package acp_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// What is asked in these specs.
var (
	color = event.Question{ID: "color", Header: "Color", Question: `Which "color"?`, Options: []event.Option{{Label: "Blue", Description: "as it was"}, {Label: "Green"}}}
	sizes = event.Question{ID: "sizes", Header: "Sizes", Question: "Which sizes?", MultiSelect: true, Options: []event.Option{{Label: "S"}, {Label: "M"}}}
	name  = event.Question{ID: "name", Header: "Name", Question: "Which name?"}
)

// asksUser has the agent ask, in the turn that runs.
func (s *stub) asksUser(requestID string, p event.UserInputRequested) {
	s.tell(event.Event{ThreadID: "sess-1", TurnID: "turn-1", RequestID: requestID, Payload: p})
}

func (s *stub) resolves(requestID string, answers map[string]any) {
	s.tell(event.Event{ThreadID: "sess-1", TurnID: "turn-1", RequestID: requestID, Payload: event.UserInputResolved{Answers: answers}})
}

func questions(q ...event.Question) event.UserInputRequested {
	return event.UserInputRequested{Questions: q}
}

// The lines of a client without forms that is asked for a color, as the nth question of req-1 and the request with that id.
func colorCall(n int) string {
	return update(fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"req-1-%d","title":"Which \"color\"?","kind":"other"%s}`, n, text(`Which \"color\"?\n- Blue: as it was\n- Green`)))
}

func colorAsked(id string, n int) string {
	return request(id, "session/request_permission", fmt.Sprintf(`{"sessionId":"sess-1","toolCall":{"toolCallId":"req-1-%d","title":"Which \"color\"?","status":"pending"},`+
		`"options":[{"optionId":"answer-1","name":"Blue","kind":"allow_once"},{"optionId":"answer-2","name":"Green","kind":"allow_once"}]}`, n))
}

func settled(call, status, says string) string {
	return update(`{"sessionUpdate":"tool_call_update","toolCallId":"` + call + `","status":"` + status + `"` + text(says) + `}`)
}

func selected(id, option string) string {
	return answered(id, `{"outcome":{"outcome":"selected","optionId":"`+option+`"}}`)
}

var _ = Describe("A question to a client without forms", bubble.InBubble, func() {
	It("is a permission of a call of its own, whose options are the answers", func() {
		c, agent := playing(`{}`)
		agent.asksUser("req-1", questions(color))
		c.hears(colorCall(1), colorAsked("0", 1))
		c.quiet()
		Expect(agent.given()).To(BeEmpty())
		c.say(selected("0", "answer-2"))
		c.hears(settled("req-1-1", "completed", "Green"))
		c.quiet()
		Expect(agent.given()).To(Equal([]string{`req-1 {"color":"Green"}`}))
		agent.resolves("req-1", map[string]any{"color": "Green"})
		agent.end("sess-1", event.TurnCompleted{State: event.TurnEndCompleted})
		c.hears(answered("2", `{"stopReason":"end_turn"}`))
		c.quiet()
		Expect(notes(c.log.Transcript())).To(BeEmpty())
		Expect(acp.Problems(c.log.Transcript())).To(BeEmpty())
	})

	It("is asked after the one before it is answered, is said where it has no options, and of several answers gets one", func() {
		c, agent := playing(`{}`)
		agent.asksUser("req-1", questions(color, name, sizes))
		c.hears(colorCall(1), colorAsked("0", 1))
		c.quiet()
		c.say(selected("0", "answer-1"))
		c.hears(settled("req-1-1", "completed", "Blue"),
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Which name?\n\n"},"messageId":"req-1-2"}`),
			update(`{"sessionUpdate":"tool_call","toolCallId":"req-1-3","title":"Which sizes?","kind":"other"`+text(`Which sizes?\n- S\n- M`)+`}`),
			request("1", "session/request_permission", `{"sessionId":"sess-1","toolCall":{"toolCallId":"req-1-3","title":"Which sizes?","status":"pending"},`+
				`"options":[{"optionId":"answer-1","name":"S","kind":"allow_once"},{"optionId":"answer-2","name":"M","kind":"allow_once"}]}`))
		c.quiet()
		Expect(agent.given()).To(BeEmpty())
		c.say(selected("1", "answer-2"))
		c.hears(settled("req-1-3", "completed", "M"))
		c.quiet()
		Expect(agent.given()).To(Equal([]string{`req-1 {"color":"Blue","sizes":["M"]}`}))
		Expect(notes(c.log.Transcript())).To(Equal([]string{"dropped: the answer to question name, which has no options, and the client offers no forms"}))
	})

	It("that has no options is said, and the turn goes on without an answer", func() {
		c, agent := playing(`{}`)
		agent.asksUser("req-1", questions(name))
		c.hears(update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Which name?\n\n"},"messageId":"req-1-1"}`))
		c.quiet()
		Expect(agent.given()).To(Equal([]string{`req-1 {}`}))
	})

	DescribeTable("has no answer, and the turn goes on, where the client says", func(says string) {
		c, agent := playing(`{}`)
		agent.asksUser("req-1", questions(color))
		c.line()
		c.line()
		c.say(`{"jsonrpc":"2.0","id":0,` + says + `}`)
		c.hears(settled("req-1-1", "failed", "not answered"))
		c.quiet()
		Expect(agent.given()).To(Equal([]string{`req-1 {}`}))
	},
		Entry("what was not offered", `"result":{"outcome":{"outcome":"selected","optionId":"allow-once"}}`),
		Entry("an outcome that there is not", `"result":{"outcome":{"outcome":"maybe","optionId":"answer-1"}}`),
		Entry("nothing", `"result":{}`),
		Entry("an error", `"error":{"code":-32603,"message":"no UI"}`),
	)

	It("that is cancelled interrupts the turn, and nothing more is asked", func() {
		c, agent := playing(`{}`)
		agent.asksUser("req-1", questions(color, sizes))
		c.line()
		c.line()
		c.say(answered("0", `{"outcome":{"outcome":"cancelled"}}`))
		c.hears(settled("req-1-1", "failed", "canceled"), answered("2", `{"stopReason":"cancelled"}`))
		c.quiet()
		Expect(agent.given()).To(BeEmpty())
	})

	DescribeTable("is over with the prompt that the client cancels, and nothing more is asked; it answers", func(late string, problems int) {
		in := instance(fakeagent.Config{})
		c := serve(provides(in))
		c.say(hello, request("1", "session/new", `{"cwd":"/","mcpServers":[]}`))
		c.line()
		c.line()
		c.say(prompt("2", `[{"question":{"blocking":true,"questions":[{"id":"a","header":"A","question":"a?","options":[{"label":"x"}]},{"id":"b","header":"B","question":"b?","options":[{"label":"y"}]}]}},{"say":"never"}]`))
		c.line()
		c.line()
		c.say(notification("session/cancel", `{"sessionId":"sess-1"}`), answered("0", late))
		c.hears(settled("req-1-1", "failed", "canceled"), answered("2", `{"stopReason":"cancelled"}`))
		c.say(prompt("3", `[{"question":{"blocking":true,"questions":[{"id":"a","header":"A","question":"a?","options":[{"label":"x"}]}]}},{"say":"again"}]`))
		c.line()
		c.line()
		c.say(selected("1", "answer-1"))
		c.hears(settled("req-2-1", "completed", "x"))
		Expect(c.line()).To(ContainSubstring("again"))
		c.hears(answered("3", `{"stopReason":"end_turn"}`))
		c.quiet()
		Expect(acp.Problems(c.log.Transcript())).To(HaveLen(problems))
		Expect(notes(c.log.Transcript())).To(BeEmpty())
	},
		Entry("as cancelled", `{"outcome":{"outcome":"cancelled"}}`, 0),
		Entry("with a choice, which is none any more", `{"outcome":{"outcome":"selected","optionId":"answer-1"}}`, 1),
	)

	It("is withdrawn where somebody else has answered it", func() {
		c, agent := playing(`{}`)
		agent.asksUser("req-1", questions(color, sizes))
		c.line()
		c.line()
		agent.resolves("req-2", nil) // another one
		agent.resolves("req-1", map[string]any{"color": "Red"})
		c.hears(settled("req-1-1", "failed", "answered by somebody else"), notification("$/cancel_request", `{"requestId":0}`))
		c.say(selected("0", "answer-1"))
		c.quiet()
		Expect(agent.given()).To(BeEmpty())
	})

	It("is over when its turn ends, before the answer to the prompt", func() {
		c, agent := playing(`{}`)
		agent.asksUser("req-1", questions(color))
		agent.asksUser("req-2", questions(sizes))
		for range 4 {
			c.line()
		}
		agent.end("sess-1", event.TurnCompleted{State: event.TurnEndCompleted})
		c.hears(settled("req-1-1", "failed", "the turn ended"), notification("$/cancel_request", `{"requestId":0}`),
			settled("req-2-1", "failed", "the turn ended"), notification("$/cancel_request", `{"requestId":1}`),
			answered("2", `{"stopReason":"end_turn"}`))
	})

	DescribeTable("is not withdrawn where the client stops what it blocks:", func(line, answer string) {
		c, agent := playing(`{}`)
		agent.asksUser("req-1", questions(color))
		c.line()
		c.line()
		c.say(line)
		c.hears(settled("req-1-1", "failed", "the turn ended"), answered("2", `{"stopReason":"cancelled"}`))
		if answer != "" {
			c.hears(answer)
		}
		c.quiet()
	},
		Entry("the prompt", notification("session/cancel", `{"sessionId":"sess-1"}`), ""),
		Entry("the request that it is", notification("$/cancel_request", `{"requestId":2}`), ""),
		Entry("the session", request("3", "session/close", `{"sessionId":"sess-1"}`), answered("3", `{}`)),
	)

	It("may be one of two at once, which are answered in any order", func() {
		c, agent := playing(`{}`)
		agent.asksUser("req-1", questions(color))
		agent.asksUser("req-2", questions(sizes))
		for range 4 {
			c.line()
		}
		c.say(selected("1", "answer-1"), selected("0", "answer-1"))
		c.hears(settled("req-2-1", "completed", "S"), settled("req-1-1", "completed", "Blue"))
		c.quiet()
		Expect(agent.given()).To(Equal([]string{`req-2 {"sizes":["S"]}`, `req-1 {"color":"Blue"}`}))
	})

	It("has in the profile seed a call that counts as others do", func() {
		c, agent := playingAs(acp.Seed, `{}`)
		agent.emit("c", event.ItemStarted{Item: event.Item{ItemType: event.CommandExecution, Title: "Bash"}})
		c.line()
		agent.asksUser("req-1", questions(color))
		Expect(c.line()).To(ContainSubstring(`"toolCallId":"tc_2","title":"Which \"color\"?","kind":"other"`))
		Expect(c.line()).To(And(HavePrefix(`{"jsonrpc":"2.0","id":100,`), ContainSubstring(`"toolCallId":"tc_2"`)))
		c.say(selected("100", "answer-1"))
		c.hears(settled("tc_2", "completed", "Blue"))
	})

	It("leaves nobody waiting for a client that does not read, when the connection ends, but who writes", func() {
		agent, stuck := newStub(), make(chan bool)
		ctx, end := context.WithCancel(context.Background())
		w, in, _ := newWire()
		served := make(chan error)
		go func() {
			served <- acp.Serve(ctx, in, writer(func(b []byte) (int, error) {
				if strings.Contains(string(b), "tool_call") {
					<-stuck
				}
				return len(b), nil
			}), provides(agent))
		}()
		w.say(hello, request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`), prompt("2", "x"))
		synctest.Wait()
		done := make(chan bool, 2)
		for range 2 {
			go func() {
				agent.asksUser("req-1", questions(color))
				done <- true
			}()
		}
		synctest.Wait()
		Expect(done).To(BeEmpty())
		end()
		synctest.Wait()
		Expect(done).To(HaveLen(1))
		close(stuck)
		synctest.Wait()
		Expect(done).To(HaveLen(2))
		_ = w.in.Close()
		Expect(<-served).To(Succeed())
	})

	It("leaves nobody waiting when the connection ends", func() {
		c, agent := playing(`{}`)
		agent.asksUser("req-1", questions(color))
		c.line()
		c.line()
		c.end()
		synctest.Wait()
		agent.asksUser("req-2", questions(color))
		agent.resolves("req-1", nil)
		agent.end("sess-1", event.TurnCompleted{State: event.TurnEndInterrupted})
		c.quiet()
		Expect(agent.given()).To(BeEmpty())
	})
})

var _ = Describe("A question to a client that offers forms", bubble.InBubble, func() {
	const forms = `{"elicitation":{"form":{}}}`

	It("is a form, with all that is asked", func() {
		c, agent := playing(forms)
		agent.asksUser("req-1", questions(color, sizes, name, event.Question{ID: "color", Question: "again?"}, event.Question{ID: "tags", MultiSelect: true}))
		c.hears(request("0", "elicitation/create", `{"mode":"form","sessionId":"sess-1","message":"Which \"color\"?\nWhich sizes?\nWhich name?\nagain?\n","requestedSchema":{"type":"object","properties":{`+
			`"color":{"type":"string","title":"Color","description":"Which \"color\"?","oneOf":[{"const":"Blue","title":"Blue","description":"as it was"},{"const":"Green","title":"Green"}]},`+
			`"sizes":{"type":"array","title":"Sizes","description":"Which sizes?","items":{"anyOf":[{"const":"S","title":"S"},{"const":"M","title":"M"}]}},`+
			`"name":{"type":"string","title":"Name","description":"Which name?"},"tags":{"type":"string"}}}}`))
		c.quiet()
		c.say(answered("0", `{"action":"accept","content":{"name":"Ann","sizes":["S","M"],"color":"Blue","size":7}}`))
		c.quiet()
		Expect(agent.given()).To(Equal([]string{`req-1 {"color":"Blue","name":"Ann","sizes":["S","M"]}`}))
		Expect(notes(c.log.Transcript())).To(BeEmpty())
	})

	DescribeTable("has no answer, and the turn goes on, where the client", func(says string) {
		c, agent := playing(forms)
		agent.asksUser("req-1", questions(color))
		c.line()
		c.say(`{"jsonrpc":"2.0","id":0,` + says + `}`)
		c.quiet()
		Expect(agent.given()).To(Equal([]string{`req-1 {}`}))
	},
		Entry("declines", `"result":{"action":"decline"}`),
		Entry("sends it away", `"result":{"action":"cancel"}`),
		Entry("accepts it empty", `"result":{"action":"accept","content":{}}`),
		Entry("accepts it without a content", `"result":{"action":"accept"}`),
		Entry("answers with null", `"result":{"action":"accept","content":{"color":null}}`),
		Entry("answers with what it was not asked", `"result":{"action":"accept","content":{"colour":"Blue"}}`),
		Entry("does something else", `"result":{"action":"_later","content":{"color":"Blue"}}`),
		Entry("answers with nonsense", `"result":{"action":"accept","content":"Blue"}`),
		Entry("has an error", `"error":{"code":-32601,"message":"no forms"}`),
	)

	DescribeTable("is as to one without, where it offers", func(capabilities string) {
		c, agent := playing(capabilities)
		agent.asksUser("req-1", questions(color))
		c.hears(colorCall(1), colorAsked("0", 1))
	},
		Entry("no kind of forms", `{"elicitation":{}}`),
		Entry("pages only", `{"elicitation":{"url":{}}}`),
		Entry("null", `{"elicitation":{"form":null}}`),
	)

	It("is withdrawn when it is over before it is answered, but not by a cancel", func() {
		c, agent := playing(forms)
		agent.asksUser("req-1", questions(color))
		agent.asksUser("req-2", questions(color))
		c.line()
		c.line()
		agent.resolves("req-1", nil)
		c.hears(notification("$/cancel_request", `{"requestId":0}`))
		c.say(notification("session/cancel", `{"sessionId":"sess-1"}`))
		c.hears(answered("2", `{"stopReason":"cancelled"}`))
		c.say(answered("1", `{"action":"cancel"}`))
		c.quiet()
		Expect(agent.given()).To(BeEmpty())
	})
})

var _ = Describe("A question that does not block its turn", bubble.InBubble, func() {
	p := event.UserInputRequested{Questions: []event.Question{color, name}, ResponseMode: "message"}
	const says = `"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Which \"color\"?\n- Blue: as it was\n- Green\n\nWhich name?\n\n"}`

	DescribeTable("is a message, whatever the client offers", func(capabilities string) {
		c, agent := playing(capabilities)
		agent.asksUser("req-1", p)
		c.hears(update(`{` + says + `,"messageId":"req-1","_meta":{"understudy":{"questions":[` +
			`{"id":"color","header":"Color","question":"Which \"color\"?","options":[{"label":"Blue","description":"as it was"},{"label":"Green","description":""}]},` +
			`{"id":"name","header":"Name","question":"Which name?","options":null}]}}}`))
		c.quiet()
		agent.end("sess-1", event.TurnCompleted{State: event.TurnEndCompleted})
		c.hears(answered("2", `{"stopReason":"end_turn"}`))
		Expect(notes(c.log.Transcript())).To(BeEmpty())
	},
		Entry(nil, `{}`), Entry(nil, `{"elicitation":{"form":{}}}`))

	It("is nothing but a message in the profile seed", func() {
		c, agent := playingAs(acp.Seed, `{}`)
		agent.asksUser("req-1", p)
		c.hears(update(`{` + says + `}`))
	})
})

var _ = Describe("A form over a process", bubble.InBubble, func() {
	create := func(id, schema string) string {
		return request(id, "elicitation/create", `{"sessionId":"s-1","mode":"form","message":"Well?","requestedSchema":`+schema+`}`)
	}
	const one = `{"type":"object","properties":{"color":{"type":"string","title":"Color","description":"Which?","oneOf":[{"const":"Blue","title":"Blue","description":"x"}]}}}`

	It("is a question that blocks the turn, and is answered once", func(ctx SpecContext) {
		d := prompted(canNothing)
		d.say(create("7", one))
		Expect(d.news()).To(Equal([]string{`1 user-input.requested req-1 {"questions":[{"id":"color","header":"Color","question":"Which?","options":[{"label":"Blue","description":"x"}]}]}`}))
		Expect(d.RespondToRequest(ctx, "th", "req-1", fakeagent.Accept)).To(MatchError(fakeagent.ErrUnknownRequest))
		answers := map[string]any{"color": "Blue"}
		Expect(d.RespondToUserInput(ctx, "th", "req-1", answers)).To(Succeed())
		answers["color"] = "changed"
		d.hears(answered("7", `{"action":"accept","content":{"color":"Blue"}}`))
		Expect(d.news()).To(Equal([]string{`1 user-input.resolved req-1 {"answers":{"color":"Blue"}}`}))
		Expect(d.RespondToUserInput(ctx, "th", "req-1", answers)).To(MatchError(`acp: no open request "req-1" in thread th`))
		Expect(errors.Is(d.RespondToUserInput(ctx, "x", "req-1", answers), fakeagent.ErrNoSession)).To(BeTrue())
		Expect(acp.Problems(d.Transcript())).To(BeEmpty())
	})

	DescribeTable("of agents in the field asks", func(ctx SpecContext, property, asked string, answer any, says string) {
		d := prompted(canNothing)
		var got event.UserInputRequested
		d.Subscribe(func(e event.Event) { got, _ = e.Payload.(event.UserInputRequested) })
		d.say(create("7", `{"properties":{"b":`+property+`,"a":{"type":"string"}},"required":["b"]}`))
		synctest.Wait()
		Expect(got).To(Equal(questions(questionOf(asked), event.Question{ID: "a", Header: "a", Question: "Well?"})))
		Expect(d.RespondToUserInput(ctx, "th", "req-1", map[string]any{"b": answer})).To(Succeed())
		d.hears(answered("7", `{"action":"accept","content":{"b":`+says+`}}`))
	},
		Entry("for a text", `{"type":"string","title":"B"}`, "B: Well?", "x", `"x"`),
		Entry("for a text, and gets a number's", `{"type":"string"}`, "b: Well?", "7", `"7"`),
		Entry("for a text with null members", `{"type":"string","title":null,"oneOf":null,"enum":null}`, "b: Well?", "x", `"x"`),
		Entry("for one of some", `{"type":"string","enum":["x","y"],"description":"d"}`, "b: d x y", "y", `"y"`),
		Entry("for one of some, by their titles", `{"type":"string","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0"}]}`, "b: Well? Red #0f0", "Red", `"#f00"`),
		Entry("for one of some, and gets another one", `{"type":"string","enum":["x","y"]}`, "b: Well? x y", "z", `"z"`),
		Entry("for several", `{"type":"array","items":{"type":"string","enum":["x","y"]}}`, "*b: Well? x y", []string{"x", "y"}, `["x","y"]`),
		Entry("for several, by their titles", `{"type":"array","items":{"anyOf":[{"const":"1","title":"x"}]}}`, "*b: Well? x", []any{"x", "z"}, `["1","z"]`),
		Entry("for several, and gets one", `{"type":"array","items":{"enum":["x","y"]}}`, "*b: Well? x y", "x", `["x"]`),
		Entry("whether", `{"type":"boolean"}`, "b: Well? true false", "true", `true`),
		Entry("whether, and is told so", `{"type":"boolean"}`, "b: Well? true false", false, `false`),
		Entry("whether, and is told something else", `{"type":"boolean"}`, "b: Well? true false", "maybe", `"maybe"`),
		Entry("for a number", `{"type":"number"}`, "b: Well?", "1.50", `1.50`),
		Entry("for a whole number", `{"type":"integer"}`, "b: Well?", 7, `7`),
		Entry("for a number, and is told something else", `{"type":"integer"}`, "b: Well?", "+7", `"+7"`),
		Entry("for what nobody knows", `{"type":"_file","pages":3}`, "b: Well?", "x", `"x"`),
	)

	It("without anything to fill in asks whether it is accepted", func(ctx SpecContext) {
		d := prompted(canNothing)
		d.say(create("7", `{}`), create("8", `{"properties":null}`))
		Expect(d.news()).To(Equal([]string{
			`1 user-input.requested req-1 {"questions":[{"id":"","header":"","question":"Well?","options":null}]}`,
			`1 user-input.requested req-2 {"questions":[{"id":"","header":"","question":"Well?","options":null}]}`,
		}))
		Expect(d.RespondToUserInput(ctx, "th", "req-2", map[string]any{})).To(Succeed())
		d.hears(answered("8", `{"action":"accept","content":{}}`))
		Expect(d.RespondToUserInput(ctx, "th", "req-1", nil)).To(Succeed())
		d.hears(answered("7", `{"action":"decline"}`))
		Expect(d.news()).To(Equal([]string{`1 user-input.resolved req-2 {"answers":null}`, `1 user-input.resolved req-1 {"answers":null}`}))
	})

	DescribeTable("does not take", func(ctx SpecContext, answers map[string]any, why string) {
		d := prompted(canNothing)
		d.say(create("7", one))
		d.news()
		Expect(d.RespondToUserInput(ctx, "th", "req-1", answers)).To(MatchError(why))
		Expect(d.RespondToUserInput(ctx, "th", "req-1", nil)).To(Succeed(), "it is open still")
	},
		Entry("the answer to another question", map[string]any{"colour": "Blue"}, `acp: request req-1 has no question "colour"; it asks color`),
		Entry("an object", map[string]any{"color": map[string]any{"a": 1}}, `acp: request req-1 is answered map[a:1] for color; the protocol has texts, numbers, true and false, and lists of texts`),
		Entry("a list of anything", map[string]any{"color": []any{1}}, `acp: request req-1 is answered [1] for color; the protocol has texts, numbers, true and false, and lists of texts`),
		Entry("null", map[string]any{"color": nil}, `acp: request req-1 is answered <nil> for color; the protocol has texts, numbers, true and false, and lists of texts`),
		Entry("what has no JSON", map[string]any{"color": func() {}}, `acp: the answers to request req-1 have no JSON form: json: unsupported type: func()`),
	)

	DescribeTable("is refused:", func(params, why string) {
		d := prompted(canNothing)
		d.say(request("7", "elicitation/create", params))
		d.hears(refused("7", -32602, "Invalid params: "+why))
		Expect(d.news()).To(BeEmpty())
	},
		Entry("a page", `{"sessionId":"s-1","mode":"url","message":"x","elicitationId":"1","url":"http://x"}`, `mode is "url", and this client offers form`),
		Entry("one of no session", `{"requestId":1,"mode":"form","message":"x","requestedSchema":{}}`, `no prompt of session "" runs`),
		Entry("one of another session", `{"sessionId":"s-2","mode":"form","message":"x","requestedSchema":{}}`, `no prompt of session "s-2" runs`),
		Entry("one without a form", `{"sessionId":"s-1","mode":"form","message":"x"}`, `requestedSchema is missing`),
		Entry("a form that is none", `{"sessionId":"s-1","mode":"form","message":"x","requestedSchema":7}`, `requestedSchema: must be an object, is number`),
		Entry("properties that are none", `{"sessionId":"s-1","mode":"form","message":"x","requestedSchema":{"properties":[]}}`, `requestedSchema: properties must be an object, is []`),
		Entry("a property that is none", `{"sessionId":"s-1","mode":"form","message":"x","requestedSchema":{"properties":{"a":"string"}}}`, `requestedSchema: property "a": must be an object, is string`),
		Entry("a message that is none", `{"sessionId":"s-1","mode":"form","message":7,"requestedSchema":{}}`, `message must be a string, is number`),
	)

	It("is refused where no prompt runs", func() {
		d := opened(canNothing)
		d.say(create("7", one))
		d.hears(refused("7", -32602, `Invalid params: no prompt of session "s-1" runs`))
	})

	It("is sent away when the prompt is cancelled, in order with the permissions", func(ctx SpecContext) {
		d := prompted(canNothing)
		d.say(create("7", one), request("8", "session/request_permission", `{"sessionId":"s-1","toolCall":{"toolCallId":"c"},"options":[]}`))
		d.news()
		Expect(d.RespondToUserInput(ctx, "th", "req-2", nil)).To(MatchError(fakeagent.ErrUnknownRequest), "it is a permission")
		Expect(d.InterruptTurn(ctx, "th", "")).To(Succeed())
		d.hears(notification("session/cancel", `{"sessionId":"s-1"}`), answered("7", `{"action":"cancel"}`), answered("8", `{"outcome":{"outcome":"cancelled"}}`))
		Expect(d.news()).To(Equal([]string{`1 user-input.resolved req-1 {"answers":null}`, `1 request.resolved c req-2 {"requestType":"dynamic_tool_call_approval","decision":"cancel"}`}))
		Expect(acp.Problems(d.Transcript())).To(BeEmpty())
	})

	It("is sent away when the prompt is answered, and when the agent withdraws it", func() {
		d := prompted(canNothing)
		d.say(create("7", one), create("8", one), notification("$/cancel_request", `{"requestId":8}`))
		d.hears(answered("8", `{"action":"cancel"}`))
		d.say(answered("2", `{"stopReason":"end_turn"}`))
		d.hears(answered("7", `{"action":"cancel"}`))
		Expect(d.news()[2:]).To(Equal([]string{`1 user-input.resolved req-2 {"answers":null}`, `1 user-input.resolved req-1 {"answers":null}`, `1 turn.completed {"state":"completed"}`}))
	})

	It("has a question beside it that does not block, which a message of ours is", func() {
		d := prompted(canNothing)
		d.does(chunk("Well?", `,"messageId":"m","_meta":{"understudy":{"questions":[{"id":"a","header":"A","question":"Well?","options":null}]}}`))
		d.say(create("7", one))
		Expect(d.news()).To(HaveExactElements(
			`1 user-input.requested req-1 {"questions":[{"id":"a","header":"A","question":"Well?","options":null}],"responseMode":"message"}`,
			HavePrefix(`1 user-input.requested req-2 `)))
	})
})

// questionOf is a question in short: its header, with a star before it if several may be chosen, its text, and its options.
func questionOf(short string) (q event.Question) {
	head, rest, _ := strings.Cut(short, ": ")
	words := strings.Fields(rest)
	q = event.Question{ID: "b", Header: strings.TrimPrefix(head, "*"), Question: words[0], MultiSelect: head[0] == '*'}
	for _, w := range words[1:] {
		q.Options = append(q.Options, event.Option{Label: w})
	}
	return q
}

var _ = Describe("Tasks over a process", bubble.InBubble, func() {
	tasks := func(kind, status, task string) string {
		return `{"sessionUpdate":"` + kind + `","toolCallId":"task-1"` + status + `,"title":"find it","kind":"think","_meta":{"understudy":{"name":"Task","detail":{"type":"sub_agent","log":""},"task":` + task + `}}}`
	}
	begins := tasks("tool_call", "", `{"taskId":"x","description":"find it","taskType":"scout"}`)

	It("are tasks again", func() {
		d := prompted(canNothing)
		d.does(begins, tasks("tool_call_update", `,"status":"in_progress"`, `{"taskId":"x","description":"","summary":"half"}`),
			tasks("tool_call_update", `,"status":"failed"`, `{"taskId":"x","status":"stopped"}`), begins)
		Expect(d.news()).To(Equal([]string{
			`1 task.started {"taskId":"task-1","description":"find it","taskType":"scout"}`,
			`1 task.progress {"taskId":"task-1","description":"","summary":"half"}`,
			`1 task.completed {"taskId":"task-1","status":"stopped"}`,
		}))
		Expect(notes(d.Transcript())).To(Equal([]string{"dropped: tool_call of a call that is over"}))
	})

	DescribeTable("that are open at the end of their turn are closed:", func(end, want string) {
		d := prompted(canNothing)
		d.does(begins)
		d.news()
		d.say(end)
		Expect(d.news()[0]).To(Equal("1 task.completed " + want))
	},
		Entry("completed", answered("2", `{"stopReason":"end_turn"}`), `{"taskId":"task-1","status":"failed","summary":"the turn ended before the call did"}`),
		Entry("cancelled", answered("2", `{"stopReason":"cancelled"}`), `{"taskId":"task-1","status":"stopped"}`),
		Entry("failed", refused("2", 1, "oh"), `{"taskId":"task-1","status":"failed","summary":"oh"}`),
	)

	It("are calls where what is said of them is not understood", func() {
		d := prompted(canNothing)
		d.does(tasks("tool_call", "", `7`), tasks("tool_call", `,"status":"completed"`, `7`))
		Expect(d.news()).To(HaveExactElements(HavePrefix(`1 item.started task-1 `), HavePrefix(`1 item.completed task-1 `)))
	})
})

var _ = Describe("A steer over a process", bubble.InBubble, func() {
	It("is refused, as a second turn is, and both may come again", func(ctx SpecContext) {
		d := prompted(canNothing)
		for turn, why := range map[string]string{
			"":          "agent th already has an active turn",
			"th-turn-1": "agent th does not take a steer now: the protocol has no steers",
			"th-turn-9": "agent th does not take a steer now: the protocol has no steers",
		} {
			_, err := d.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "th", TurnID: turn, Text: "more"})
			Expect(err).To(MatchError(why))
			var rejected *fakeagent.RejectedError
			Expect(errors.As(err, &rejected)).To(BeTrue())
			Expect(errors.Is(err, fakeagent.ErrNotSteered)).To(Equal(turn != ""))
		}
		d.quiet()
		d.say(answered("2", `{"stopReason":"end_turn"}`))
		d.news()
		_, err := d.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "th", TurnID: "th-turn-1", Text: "more"})
		Expect(err).To(MatchError(fakeagent.ErrNotSteered), "also where nothing runs")
		d.quiet()
	})
})

var _ = Describe("Both sides together", bubble.InBubble, func() {
	It("ask and answer, and tell of tasks, as the agent alone does", func(ctx SpecContext) {
		const script = `[
			{"question":{"questions":[{"id":"later","header":"Later","question":"And later?"}]}},
			{"question":{"blocking":true,"questions":[
				{"id":"color","header":"Color","question":"Which?","options":[{"label":"Blue","description":"x"},{"label":"Green"}]},
				{"id":"sizes","header":"Sizes","question":"Which sizes?","multiSelect":true,"options":[{"label":"S"},{"label":"M"}]},
				{"id":"name","header":"Name","question":"Who?"}]}},
			{"task":{"description":"find it","type":"scout","steps":[
				{"event":{"type":"task.progress","payload":{"taskId":"task-1-1","description":"","summary":"half","lastToolName":"Grep"}}},
				{"say":"found"}]}},
			{"event":{"type":"novel","payload":{"a":1}}},
			{"task":{"description":"fail","steps":[{"fail":"no more"}]}}]`
		answers := map[string]any{"color": "Green", "sizes": []string{"S", "M"}, "name": "Ann"}
		play := func(p fakeagent.Provider) []string {
			var s seen
			p.Subscribe(func(e event.Event) {
				s.see(e)
				if asked, ok := e.Payload.(event.UserInputRequested); ok && asked.ResponseMode == "" {
					Expect(p.RespondToUserInput(ctx, "th", e.RequestID, answers)).To(Succeed())
				}
			})
			Expect(p.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "th", Cwd: "/"})).To(Succeed())
			_, err := p.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: "th", Text: script})
			Expect(err).NotTo(HaveOccurred())
			return s.news()
		}
		const unknown = `1 novel {"a":1}`
		alone := play(instance(fakeagent.Config{}))
		Expect(alone).To(ContainElements(HavePrefix(`1 user-input.resolved req-2 {"answers":{"color":"Green",`), HavePrefix("1 task.progress"), unknown))
		d := together(instance(fakeagent.Config{}))
		Expect(play(d)).To(Equal(slices.DeleteFunc(alone, func(line string) bool { return line == unknown })))
		Expect(acp.Problems(d.Transcript())).To(BeEmpty())
	})
})
