package matchers_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/understudy-go/understudy/matchers"
)

// record are the requests of a host; without params where they are "".
type record []struct{ method, params string }

func (r record) HostRequests() (methods []string, params []json.RawMessage) {
	for _, sent := range r {
		var p json.RawMessage
		if sent.params != "" {
			p = json.RawMessage(sent.params)
		}
		methods, params = append(methods, sent.method), append(params, p)
	}
	return methods, params
}

// untidy is a record that has forgotten the params.
type untidy struct{}

func (untidy) HostRequests() ([]string, []json.RawMessage) { return []string{"initialize"}, nil }

var _ = Describe("HaveSentRequest", func() {
	sent := record{
		{"initialize", `{"protocolVersion":1}`},
		{"session/new", `{"cwd":"/w","mcpServers":[]}`},
		{"session/prompt", `{"sessionId":"s1","prompt":[{"type":"text","text":"hi"}]}`},
		{"session/prompt", `{"sessionId":"s2","prompt":[]}`},
		{"ping", ""},
	}

	It("looks for a request by its method, a string or any matcher, wherever it stands", func() {
		Expect(sent).To(HaveSentRequest("initialize"))
		Expect(sent).To(HaveSentRequest("ping"))
		Expect(sent).To(HaveSentRequest(HavePrefix("session/")))
		Expect(sent).NotTo(HaveSentRequest("session"))
		Expect(sent).NotTo(HaveSentRequest(HaveSuffix("/cancel")))
		Expect(record{}).NotTo(HaveSentRequest(Not(BeNil())))
	})

	It("wants params that are the same JSON as the whole value", func() {
		Expect(sent).To(HaveSentRequest("session/new", map[string]any{"mcpServers": []string{}, "cwd": "/w"}))
		Expect(sent).To(HaveSentRequest("session/new", json.RawMessage(`{ "mcpServers": [], "cwd": "/w" }`)))
		Expect(sent).NotTo(HaveSentRequest("session/new", map[string]any{"cwd": "/w"}))
	})

	It("gives a matcher what encoding/json reads of the params, or the text", func() {
		Expect(sent).To(HaveSentRequest("session/new", HaveKeyWithValue("cwd", "/w")))
		Expect(sent).To(HaveSentRequest("session/new", MatchJSON(`{"mcpServers":[],"cwd":"/w"}`)))
		Expect(sent).NotTo(HaveSentRequest("session/new", HaveKey("sessionId")))
	})

	It("wants one request to have all of several params", func() {
		Expect(sent).To(HaveSentRequest("session/prompt", HaveKeyWithValue("sessionId", "s1"), HaveKeyWithValue("prompt", HaveLen(1))))
		Expect(sent).NotTo(HaveSentRequest("session/prompt", HaveKeyWithValue("sessionId", "s2"), HaveKeyWithValue("prompt", HaveLen(1))),
			"either is another request's")
	})

	It("looks further where the first request of that method has other params", func() {
		Expect(sent).To(HaveSentRequest("session/prompt", HaveKeyWithValue("sessionId", "s2")))
	})

	It("takes params that there are not for null", func() {
		Expect(sent).To(HaveSentRequest("ping", nil))
		Expect(sent).To(HaveSentRequest("ping", BeNil()))
		Expect(sent).To(HaveSentRequest("ping", MatchJSON("null")))
		Expect(sent).NotTo(HaveSentRequest("initialize", nil))
		Expect(record{{"ping", "null"}}).To(HaveSentRequest("ping", nil))
	})

	It("says what was sent, if there is no request of that method", func() {
		Expect(failure(sent, HaveSentRequest("session/cancel"))).
			To(Equal(`the host sent no request "session/cancel"; it sent "initialize", "session/new", "session/prompt", "ping"

Expected
      0 initialize {"protocolVersion":1}
      1 session/new {"cwd":"/w","mcpServers":[]}
      2 session/prompt {"sessionId":"s1","prompt":[{"type":"text","text":"hi"}]}
      3 session/prompt {"sessionId":"s2","prompt":[]}
      4 ping
to have the host's request "session/cancel"`))
		Expect(failure(sent, HaveSentRequest("session/cancel", HaveKey("x")))).
			To(HavePrefix(`the host sent no request "session/cancel" with params HaveKey {Key:"x"}; it sent "initialize", "session/new", `))
	})

	It("says how those differ that are of that method", func() {
		Expect(failure(sent, HaveSentRequest("session/prompt", map[string]any{"sessionId": "s3", "prompt": []any{}}))).
			To(Equal(`the host sent no request "session/prompt" with params {"prompt":[],"sessionId":"s3"}
request 2 is not the one: params.sessionId is "s1", want "s3"
    params.prompt[0] is {"text":"hi","type":"text"}, want none
request 3 is not the one: params.sessionId is "s2", want "s3"

Expected
      0 initialize {"protocolVersion":1}
      1 session/new {"cwd":"/w","mcpServers":[]}
      2 session/prompt {"sessionId":"s1","prompt":[{"type":"text","text":"hi"}]}
      3 session/prompt {"sessionId":"s2","prompt":[]}
      4 ping
to have the host's request "session/prompt" with params {"prompt":[],"sessionId":"s3"}`))
		Expect(failure(sent, HaveSentRequest("session/new", HaveKey("cwd"), HaveKey("id")))).To(HavePrefix(
			`the host sent no request "session/new" with params HaveKey {Key:"cwd"} and params HaveKey {Key:"id"}
request 1 is not the one: params is {"cwd":"/w","mcpServers":[]}, want HaveKey {Key:"id"}:
    Expected
`))
	})

	It("says that there are no params, rather than that they are null", func() {
		Expect(failure(record{{"ping", ""}, {"ping", "null"}}, HaveSentRequest("ping", 1))).To(Equal(`the host sent no request "ping" with params 1
request 0 is not the one: there are no params, want 1
request 1 is not the one: params is null, want 1

Expected
      0 ping
      1 ping null
to have the host's request "ping" with params 1`))
	})

	It("says which request there should not be", func() {
		Expect(negated(sent[:1], HaveSentRequest("initialize", HaveKey("protocolVersion")))).To(Equal(`Expected
      0 initialize {"protocolVersion":1}
not to have the host's request "initialize" with params HaveKey {Key:"protocolVersion"}`))
	})

	It("has a line for each request, whatever was sent", func() {
		Expect(failure(record{{"a", "{\n  \"b\": 1\n}"}, {"c", "no\nJSON"}}, HaveSentRequest("x"))).To(HaveSuffix(`
      0 a {"b":1}
      1 c "no\nJSON"
to have the host's request "x"`))
		Expect(failure(record{{"c", "no\nJSON"}}, HaveSentRequest("c", HaveKey("d")))).
			To(ContainSubstring("\nrequest 0 is not the one: params is no\nJSON, which is not JSON ("))
	})

	It("shows the requests around the one that is nearly it, if there are many", func() {
		many := make(record, 1_000)
		for i := range many {
			many[i].method = "session/update"
		}
		many[700] = sent[2]
		message := failure(many, HaveSentRequest("session/prompt", 1))
		Expect(message).To(And(ContainSubstring("\n    700 session/prompt {"), ContainSubstring(" more requests above\n")))
		Expect(HaveSentRequest("session/prompt", 1).Got(many)).To(ContainSubstring("\n    700 session/prompt {"))
	})

	It("shows the process above the requests, in the first line of its words", func() {
		p := exitedWith(1)
		p.record = sent[:1]
		Expect(p).To(HaveSentRequest("initialize"))
		Expect(failure(p, HaveSentRequest("ping"))).To(HaveSuffix(`
Expected
    process 7 exited with code 1
      0 initialize {"protocolVersion":1}
to have the host's request "ping"`))
		Expect(negated(wordy{p, "my-agent\nit said hello"}, HaveSentRequest("initialize"))).To(HavePrefix(`Expected
    my-agent
      0 initialize {"protocolVersion":1}
not to`))
	})

	It("is refused with a wrong argument", func() {
		Expect(refusal(sent, HaveSentRequest(1))).To(Equal("HaveSentRequest: method is of type int, want a string or a matcher"))
		Expect(refusal(sent, HaveSentRequest("ping", nil, make(chan int)))).
			To(HavePrefix("HaveSentRequest: params: chan int has no JSON form: "))
		Expect(refusal(sent, HaveSentRequest("ping", EndFailed(3)))).
			To(Equal("HaveSentRequest: params: EndFailed: message is of type int, want a string or a matcher"))
	})

	It("passes by the error of a matcher for one request, and has it if no other matches", func() {
		Expect(sent).To(HaveSentRequest(Not(BeNil()), HaveKeyWithValue("sessionId", "s2"))) // ping has no keys: an error
		Expect(refusal(sent, HaveSentRequest("ping", HaveKey("sessionId")))).
			To(HavePrefix(`the host sent no request "ping" with params HaveKey {Key:"sessionId"}: request 4, ping: HaveKey matcher expects a map`))
	})

	It("has an error for a record that does not tell the params of each", func() {
		Expect(refusal(untidy{}, HaveSentRequest("initialize"))).
			To(Equal("HaveSentRequest: HostRequests returned 1 methods and the params of 0"))
	})
})
