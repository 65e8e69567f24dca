package acp_test

import (
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/mockproc/acp"
)

// transcript is one of lines that begin with > from the host, < from the agent, and # for the end of the agent.
func transcript(lines ...string) (t acp.Transcript) {
	for i, line := range lines {
		m := acp.Message{Time: time.Unix(0, 0).Add(time.Duration(i) * 1500 * time.Millisecond), From: acp.Host, Line: line[2:]}
		switch line[0] {
		case '<':
			m.From = acp.Agent
		case '#':
			m = acp.Message{Time: m.Time, From: acp.Agent, Note: line[2:], End: true}
		}
		t = append(t, m)
	}
	return t
}

const (
	hostHello = `> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`
	hostSays  = `> {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s"}}`
	agentAsks = `< {"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","options":[{"optionId":"y"},{"optionId":"n"}]}}`
	hostYes   = `> {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}`
	hostNone  = `> {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}`
	hostStops = `> {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`
	agentEnds = `< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`
	died      = `# exited with code 1`

	agentForm = `< {"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"sessionId":"s","mode":"form","message":"?","requestedSchema":{"properties":{"one":{"type":"string","oneOf":[{"const":"y"},{"const":"n"}]},"many":{"type":"array","items":{"enum":["a","b"]}},"sure":{"type":"boolean"},"any":{"type":"string"}}}}}`
	hostFills = `> {"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"one":"y","many":["a","b"],"sure":true,"any":"thing","more":1}}}`
)

var _ = Describe("Problems", func() {
	DescribeTable("finds none where a host", func(lines ...string) {
		Expect(acp.Problems(transcript(lines...))).To(BeEmpty())
	},
		Entry("says nothing"),
		Entry("does it well", hostHello, `< {"jsonrpc":"2.0","id":0,"result":{}}`, hostSays, agentAsks, hostYes, agentEnds, strings.Replace(hostSays, ":2,", ":3,", 1), `# was killed by SIGKILL`),
		Entry("cancels, and answers as cancelled", hostHello, hostSays, agentAsks, hostStops, hostNone, strings.Replace(agentEnds, "end_turn", "cancelled", 1), strings.Replace(hostSays, ":2,", ":3,", 1)),
		Entry("answers as cancelled, and cancels", hostHello, hostSays, agentAsks, hostNone, hostStops),
		Entry("cancels twice, closes, deletes, and uses what begins with _", hostHello, hostSays, hostStops, hostStops,
			`> {"jsonrpc":"2.0","id":3,"method":"session/close","params":{"sessionId":"s"}}`, `> {"jsonrpc":"2.0","id":4,"method":"session/delete","params":{"sessionId":"s"}}`,
			`> {"jsonrpc":"2.0","id":5,"method":"_understudy/gate","params":{"sessionId":"s"}}`),
		Entry("cancels where nothing runs, and goes on", hostHello, hostStops, hostSays),
		Entry("cancels one session, and talks to another", hostHello, hostSays, hostStops, `> {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"t"}}`),
		Entry("has two prompts in two sessions", hostHello, hostSays, `> {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"t"}}`),
		Entry("has not answered yet", hostHello, hostSays, agentAsks),
		Entry("cannot answer any more", hostHello, hostSays, agentAsks, died),
		Entry("answers with an error", hostHello, hostSays, agentAsks, `> {"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"x"}}`, agentEnds),
		Entry("answers what was withdrawn with anything", hostHello, hostSays, agentAsks, `< {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}`,
			`> {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"?"}}}`),
		Entry("answers what is asked under a text", hostHello, hostSays, `< {"jsonrpc":"2.0","id":"a","method":"fs/read_text_file","params":{"sessionId":"s"}}`, `> {"jsonrpc":"2.0","id":"a","result":{}}`, agentEnds),
		Entry("answers two requests with one id", hostHello, hostSays, agentAsks, agentAsks, hostYes, hostNone, agentEnds),
		Entry("says that a line was no message", hostHello, `< oops`, `> {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`),
		Entry("fills in a form", hostHello, hostSays, agentForm, hostFills, agentEnds),
		Entry("leaves out all of a form", hostHello, hostSays, agentForm, `> {"jsonrpc":"2.0","id":0,"result":{"action":"accept"}}`, agentEnds),
		Entry("declines a form", hostHello, hostSays, agentForm, `> {"jsonrpc":"2.0","id":0,"result":{"action":"decline"}}`, agentEnds),
		Entry("cancels with a form open", hostHello, hostSays, agentForm, hostStops, `> {"jsonrpc":"2.0","id":0,"result":{"action":"cancel"}}`, agentEnds),
		Entry("answers a form that was withdrawn with anything", hostHello, hostSays, agentForm, `< {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}`,
			`> {"jsonrpc":"2.0","id":0,"result":{}}`),
		Entry("answers a request among the bytes of a script", hostHello, hostSays, agentAsks+"\n"+strings.Replace(agentAsks[2:], `"id":0`, `"id":1`, 1), hostYes, strings.Replace(hostYes, `"id":0`, `"id":1`, 1), agentEnds),
	)

	DescribeTable("finds one where a host", func(problem string, lines ...string) {
		Expect(acp.Problems(transcript(lines...))).To(Equal([]string{problem}))
	},
		Entry("does not begin with initialize", `message 1: session/new came before initialize`, `> {"jsonrpc":"2.0","id":0,"method":"session/new","params":{}}`, hostHello),
		Entry("writes garbage", `message 2: no JSON: oops`, hostHello, `> oops`),
		Entry("writes a batch", `message 2: no object: [{}]`, hostHello, `> [{}]`),
		Entry("writes an object that is nothing", `message 2: neither a method nor an id: {}`, hostHello, `> {}`),
		Entry("forgets jsonrpc", `message 1: jsonrpc is missing, must be "2.0": {"id":0,"method":"initialize"}`, `> {"id":0,"method":"initialize"}`),
		Entry("does not wait for the answer to a prompt", `message 3: session/prompt to session s, whose last prompt (id 2) is not answered yet`, hostHello, hostSays, strings.Replace(hostSays, ":2,", ":3,", 1),
			`< {"jsonrpc":"2.0","id":3,"error":{}}`, agentEnds),
		Entry("does not answer", `message 3: session/request_permission (id 0) was never answered`, hostHello, hostSays, agentAsks, agentEnds),
		Entry("does not answer, and the agent ends later", `message 3: session/request_permission (id 0) was never answered`, hostHello, hostSays, agentAsks, agentEnds, died),
		Entry("does not answer, and goes on", `message 3: session/request_permission (id 0) was never answered`, hostHello, hostSays, agentAsks, agentEnds, strings.Replace(hostSays, ":2,", ":3,", 1)),
		Entry("does not answer what is asked outside of a prompt", `message 2: fs/read_text_file (id 4) was never answered`, hostHello, `< {"jsonrpc":"2.0","id":4,"method":"fs/read_text_file","params":{"sessionId":"s"}}`),
		Entry("does not answer one of two", `message 4: session/request_permission (id 0) was never answered`, hostHello, hostSays, agentAsks, agentAsks, hostYes, agentEnds),
		Entry("answers twice", `message 5: it answers no open request: 0`, hostHello, hostSays, agentAsks, hostYes, hostYes, agentEnds),
		Entry("answers what nobody asked", `message 2: it answers no open request: 9`, hostHello, `> {"jsonrpc":"2.0","id":9,"result":{}}`),
		Entry("answers nobody", `message 2: it answers no open request: null`, hostHello, `> {"jsonrpc":"2.0","id":null,"result":{}}`),
		Entry("answers nothing", `message 4: the answer to session/request_permission (id 0) has neither a result nor an error`, hostHello, hostSays, agentAsks, `> {"jsonrpc":"2.0","id":0}`, agentEnds),
		Entry("answers nonsense", `message 4: the answer to session/request_permission (id 0): outcome must be an object, is string`, hostHello, hostSays, agentAsks, `> {"jsonrpc":"2.0","id":0,"result":{"outcome":"selected"}}`, agentEnds),
		Entry("has an outcome of its own", `message 4: the outcome of session/request_permission (id 0) is "", must be selected or cancelled`, hostHello, hostSays, agentAsks, `> {"jsonrpc":"2.0","id":0,"result":{}}`, agentEnds),
		Entry("selects what was not offered", `message 4: session/request_permission (id 0) was answered "allow", which was not offered: y, n`, hostHello, hostSays, agentAsks, strings.Replace(hostYes, `"y"`, `"allow"`, 1), agentEnds),
		Entry("allows after a cancel, when the prompt is over already", `message 6: session/request_permission (id 0) was answered "y" after session/cancel, must be cancelled`, hostHello, hostSays, agentAsks, hostStops, agentEnds, hostYes),
		Entry("allows after a cancel", `message 5: session/request_permission (id 0) was answered "y" after session/cancel, must be cancelled`, hostHello, hostSays, agentAsks, hostStops, hostYes, agentEnds),
		Entry("chooses what was not offered", `message 4: elicitation/create (id 0) was answered maybe for one, which was not offered: y, n`, hostHello, hostSays, agentForm, strings.Replace(hostFills, `"y"`, `"maybe"`, 1), agentEnds),
		Entry("chooses several where one was asked for", `message 4: elicitation/create (id 0) was answered [y n] for one, which was not offered: y, n`, hostHello, hostSays, agentForm, strings.Replace(hostFills, `"y"`, `["y","n"]`, 1), agentEnds),
		Entry("chooses one where several were asked for", `message 4: elicitation/create (id 0) was answered a for many, which was not offered: a, b`, hostHello, hostSays, agentForm, strings.Replace(hostFills, `["a","b"]`, `"a"`, 1), agentEnds),
		Entry("chooses one of several that was not offered", `message 4: elicitation/create (id 0) was answered [a c] for many, which was not offered: a, b`, hostHello, hostSays, agentForm, strings.Replace(hostFills, `["a","b"]`, `["a","c"]`, 1), agentEnds),
		Entry("does neither accept nor decline a form", `message 4: the action of elicitation/create (id 0) is "later", must be accept, decline or cancel`, hostHello, hostSays, agentForm, strings.Replace(hostFills, "accept", "later", 1), agentEnds),
		Entry("answers a form with nonsense", `message 4: the answer to elicitation/create (id 0): content must be an object, is string`, hostHello, hostSays, agentForm, `> {"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":"y"}}`, agentEnds),
		Entry("does not answer a form", `message 3: elicitation/create (id 0) was never answered`, hostHello, hostSays, agentForm, agentEnds),
		Entry("goes on after a cancel", `message 4: session/set_mode to session s, which was canceled and has not answered its prompt yet`, hostHello, hostSays, hostStops, `> {"jsonrpc":"2.0","id":3,"method":"session/set_mode","params":{"sessionId":"s"}}`),
	)

	It("tells several in order, those that were not answered last, and cuts long lines", func() {
		Expect(acp.Problems(transcript(`> `+strings.Repeat("x", 100), agentAsks, `> []`))).To(Equal([]string{
			"message 1: no JSON: " + strings.Repeat("x", 80), "message 3: no object: []", "message 2: session/request_permission (id 0) was never answered"}))
	})

	It("does not mind what this side notes", func() {
		Expect(acp.Problems(acp.Transcript{{From: acp.Host, Note: "dropped: novel"}, {From: acp.Agent, Note: "dropped: novel"}})).To(BeEmpty())
	})
})

var _ = Describe("A transcript", func() {
	It("prints a line for each message, with its time and its number", func() {
		t := transcript(hostHello, `< {"jsonrpc":"2.0","id":0,"result":{}}`, `> `+strings.Repeat("é", 200), died)
		t[1].Note = "ignored: x"
		Expect(t.String()).To(Equal(`      0s   1 -> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}
    1.5s   2 <- {"jsonrpc":"2.0","id":0,"result":{}} (ignored: x)
      3s   3 -> ` + strings.Repeat("é", 100) + `…
    4.5s   4 <- (exited with code 1)`))
		Expect(t.GomegaString()).To(Equal(t.String()))
		Expect(t.Tail(1)).To(Equal("       … (3 messages before)\n    4.5s   4 <- (exited with code 1)"))
		Expect(acp.Transcript(nil).String()).To(BeEmpty())
	})

	It("has what the host sent by itself", func() {
		t := transcript(hostHello, agentAsks, hostYes, `> {"jsonrpc":"2.0","method":"x"}`, `> oops`, died)
		t[4].Note = "ignored: no JSON"
		methods, params := t.HostRequests()
		Expect(methods).To(Equal([]string{"initialize", "x"}))
		Expect(params).To(Equal([]json.RawMessage{json.RawMessage(`{"protocolVersion":1}`), nil}))
	})

	It("ends with the end of the agent", func() {
		var l acp.Log
		l.End(acp.Agent, "exited with code 1")
		l.End(acp.Host, "twice")
		Expect(l.Transcript()).To(HaveExactElements(HaveField("Note", "exited with code 1")))
	})

	It("is empty of a log that there is not", func() {
		var l *acp.Log
		l.End(acp.Agent, "x")
		Expect(l.Transcript()).To(BeNil())
	})
})
