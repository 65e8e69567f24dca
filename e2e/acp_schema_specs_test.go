package e2e_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// The schema's checker is what tells that our agent is right, so it must tell what is wrong.
var _ = Describe("The check against the protocol's schema", func() {
	const (
		started = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`
		ready   = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}`
		asked   = `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}}`
	)
	update := func(update string) frame {
		return frame{"agent", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + update + `}}`}
	}
	whats := func(problems []problem) (out []string) {
		for _, p := range problems {
			out = append(out, fmt.Sprintf("%d %s: %s", p.Line, p.Method, p.What))
		}
		return out
	}

	It("finds nothing wrong with a turn as it should be", func() {
		turn := []frame{
			{"client", started},
			{"agent", ready},
			{"client", `{"jsonrpc":"2.0","id":"x","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`},
			{"agent", `{"jsonrpc":"2.0","id":"x","result":{"sessionId":"s"}}`},
			{"client", asked},
			update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"},"_meta":{"any":"thing"}}`),
			update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"ls","kind":"execute","rawInput":{"command":"ls"}}`),
			// Each side counts its own requests, so this is no second request 1.
			{"agent", `{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","name":"A","kind":"allow_once"}]}}`},
			{"client", `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"a"}}}`},
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`),
			{"client", `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`},
			{"agent", `{"jsonrpc":"2.0","method":"_vendor/anything","params":[1]}`},
			{"agent", `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}`},
			{"client", `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`},
			{"agent", `{"jsonrpc":"2.0","id":2,"error":{"code":429,"message":"rate limit","data":{"any":"thing"}}}`},
			{"agent", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`},
		}
		Expect(officialSchema().check(turn)).To(BeEmpty())
		Expect(olderSchema().check(turn)).To(BeEmpty())
	})

	DescribeTable("names what is wrong with", func(line frame, method, what string) {
		problems := officialSchema().check([]frame{{"client", started}, {"agent", ready}, {"client", asked}, line})
		Expect(whats(problems)).To(HaveExactElements("4 " + method + ": " + what))
	},
		Entry("an update of an unknown kind", update(`{"sessionUpdate":"frobnicate"}`),
			"session/update", unknown+`update.sessionUpdate is "frobnicate"`),
		Entry("a content without its type", update(`{"sessionUpdate":"agent_thought_chunk","content":{"text":"x"}}`),
			"session/update", "at '/update/content': missing property 'type'"),
		Entry("a member that it lacks", update(`{"sessionUpdate":"current_mode_update","modeId":"code"}`),
			"session/update", "at '/update': missing property 'currentModeId'"),
		Entry("a value that it has no word for", update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"done"}`),
			"session/update", "at '/update/status': value must be one of 'pending', 'in_progress', 'completed', 'failed'"),
		Entry("a custom member", update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"failed","error":"no"}`),
			"session/update", "update.error is custom; custom members belong in a _meta"),
		Entry("a custom member deep inside", update(`{"sessionUpdate":"plan","entries":[{"content":"a","priority":"low","status":"pending","id":1}]}`),
			"session/update", "update.entries.0.id is custom; custom members belong in a _meta"),
		Entry("a custom member of the message", frame{"agent", `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"},"time":1}`},
			"session/prompt", `"time" is no member of a JSON-RPC message`),
		Entry("a result that is not the method's", frame{"agent", `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"banana"}}`},
			"session/prompt", "at '/stopReason': value must be one of 'end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled'"),
		Entry("a result that is none", frame{"agent", `{"jsonrpc":"2.0","id":1,"result":null}`},
			"session/prompt", "at '': got null, want object"),
		Entry("an error without a message", frame{"agent", `{"jsonrpc":"2.0","id":1,"error":{"code":429}}`},
			"session/prompt", "at '': missing property 'message'"),
		Entry("an answer that is neither", frame{"agent", `{"jsonrpc":"2.0","id":1}`},
			"session/prompt", "an answer has either a result or an error"),
		Entry("an answer nobody waits for", frame{"agent", `{"jsonrpc":"2.0","id":"1","result":{"stopReason":"end_turn"}}`},
			"no message", "nobody waits for an answer with the id 1"),
		Entry("an answer to oneself", frame{"client", `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`},
			"no message", "nobody waits for an answer with the id 1"),
		Entry("an id that is in use", frame{"client", asked},
			"session/prompt", "the id 1 is that of a session/prompt which was not answered yet"),
		Entry("a request to oneself", frame{"agent", `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`},
			"session/prompt", "the agent is who handles this, and not who sends it"),
		Entry("a method that does not exist", frame{"agent", `{"jsonrpc":"2.0","method":"session/frob"}`},
			"session/frob", unknown+"the method session/frob"),
		Entry("a message without its version", frame{"agent", `{"id":1,"result":{"stopReason":"end_turn"}}`},
			"session/prompt", `"jsonrpc" is not "2.0"`),
		Entry("a batch", frame{"agent", `[{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}]`},
			"no message", "not an object; the protocol has no batches either"),
		Entry("a line of a log", frame{"agent", `Loading…`},
			"no message", "not a JSON value: invalid character 'L' looking for beginning of value"),
	)

	It("says of what a schema is too old for that it does not know it, and neither accepts nor rejects it", func() {
		Expect(whats(olderSchema().check([]frame{
			update(`{"sessionUpdate":"usage_update","used":1,"size":2}`),
			update(`{"sessionUpdate":"notice","severity":"info","title":"hi"}`),
			update(`{"sessionUpdate":"config_option_update","configOptions":[{"id":"a","name":"A","type":"boolean","currentValue":true}]}`),
			{"agent", `{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{}}`},
			{"client", `{"jsonrpc":"2.0","id":0,"result":{"action":"decline"}}`},
			update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"ls","name":"bash"}`), // a member that came later, which any client ignores
		}))).To(HaveExactElements(
			"1 session/update: "+unknown+`update.sessionUpdate is "usage_update"`,
			"2 session/update: "+unknown+`update.sessionUpdate is "notice"`,
			"3 session/update: "+unknown+`update.configOptions.0.type is "boolean"`,
			"4 elicitation/create: "+unknown+"the method elicitation/create",
			"5 elicitation/create: "+unknown+"the answer to elicitation/create",
		))
	})
})
