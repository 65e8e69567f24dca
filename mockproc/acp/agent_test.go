package acp_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("An agent that is initialized", bubble.InBubble, func() {
	It("says what it is and what it can do", func() {
		serve(provides(newStub())).asks(hello, helloed)
	})

	DescribeTable("answers its own version, whatever the client speaks:", func(version string) {
		c := serve(provides(newStub()))
		c.asks(request("0", "initialize", `{"protocolVersion":`+version+`}`), helloed)
	},
		Entry("the same one", "1"), Entry("a newer one", "2"), Entry("one that there is not", "99"), Entry("one from before the first", "0"))

	DescribeTable("refuses params that say nothing of a version:", func(params, why string) {
		serve(provides(newStub())).asks(request("0", "initialize", params), refused("0", -32602, "Invalid params: "+why))
	},
		Entry("none", `null`, "protocolVersion is missing"),
		Entry("an empty object", `{}`, "protocolVersion is missing"),
		Entry("a text", `{"protocolVersion":"1"}`, "protocolVersion must be a whole number, is string"),
		Entry("half a number", `{"protocolVersion":1.5}`, "protocolVersion must be a whole number, is number 1.5"),
		Entry("an array", `[1]`, "must be an object, is array"))

	It("can be initialized after that was refused, and then only once", func() {
		c := serve(provides(newStub()))
		c.asks(request("0", "initialize", `{}`), refused("0", -32602, "Invalid params: protocolVersion is missing"))
		c.asks(hello, helloed)
		c.asks(strings.Replace(hello, `:0,`, `:1,`, 1), refused("1", -32600, "initialize came twice"))
	})

	It("says why there is no provider", func() {
		c := serve(acp.AgentConfig{Open: func(*acp.Client) (fakeagent.Provider, error) { return nil, errors.New("no model") }})
		c.asks(hello, refused("0", -32603, "no model"))
	})

	It("tells its provider who the client is, and what it offers", func() {
		var got *acp.Client
		c := serve(acp.AgentConfig{Open: func(c *acp.Client) (fakeagent.Provider, error) { got = c; return newStub(), nil }})
		c.asks(request("0", "initialize", `{"protocolVersion":1,"clientInfo":{"name":"ed"},"clientCapabilities":{"fs":{"readTextFile":true},"terminal":true}}`), helloed)
		Expect(got.Name).To(Equal("ed"))
		Expect(got.Capabilities.FS.ReadTextFile).To(BeTrue())
		Expect(got.Capabilities.FS.WriteTextFile).To(BeFalse())
		Expect(got.Capabilities.Terminal).To(BeTrue())
	})

	It("answers nothing else before", func() {
		c := serve(provides(newStub()))
		c.asks(request("7", "session/new", `{"cwd":"/w","mcpServers":[]}`), refused("7", -32600, "session/new came before initialize"))
		c.asks(request("8", "novel", `{}`), refused("8", -32601, `Method not found: "novel"`))
		c.say(notification("session/cancel", `{"sessionId":"sess-1"}`))
		c.quiet()
	})

	It("takes its time where it is told to, and meanwhile reads on", func() {
		cfg := provides(newStub())
		cfg.InitializeDelay = time.Second
		c := serve(cfg)
		began := time.Now()
		c.say(hello)
		c.asks(request("5", "novel", `{}`), refused("5", -32601, `Method not found: "novel"`))
		Expect(time.Since(began)).To(BeZero())
		c.hears(helloed)
		Expect(time.Since(began)).To(Equal(time.Second))
	})

	It("is signed in and out, if the method is the one that it has", func() {
		c := serve(provides(newStub()))
		c.say(hello)
		c.line()
		c.asks(request("1", "authenticate", `{"methodId":"fake-sign-in"}`), answered("1", `{}`))
		c.asks(request("2", "authenticate", `{"methodId":"x"}`), refused("2", -32602, `Invalid params: methodId is "x", use "fake-sign-in"`))
		c.asks(request("3", "authenticate", `{}`), refused("3", -32602, `Invalid params: methodId is missing`))
		c.asks(request("4", "logout", `{}`), answered("4", `{}`))
	})

	It("wants that before a session, if it was told to", func() {
		cfg := provides(newStub())
		cfg.AuthRequired = true
		c := serve(cfg)
		c.say(hello)
		c.line()
		session := `{"cwd":"/w","mcpServers":[]}`
		c.asks(request("1", "session/new", session), refused("1", -32000, "Authentication required"))
		c.asks(request("2", "authenticate", `{"methodId":"fake-sign-in"}`), answered("2", `{}`))
		c.asks(request("3", "session/new", session), answered("3", `{"sessionId":"sess-1",`+state+`}`))
		c.asks(request("4", "logout", `{}`), answered("4", `{}`))
		c.asks(request("5", "session/new", session), refused("5", -32000, "Authentication required"))
	})
})

var _ = Describe("A new session", bubble.InBubble, func() {
	DescribeTable("is refused", func(params, why string) {
		p := newStub()
		c := serve(provides(p))
		c.say(hello)
		c.line()
		c.asks(request("1", "session/new", params), refused("1", -32602, "Invalid params: "+why))
		Expect(p.sessions).To(BeEmpty())
	},
		Entry("without a folder", `{"mcpServers":[]}`, "cwd is missing"),
		Entry("in a relative one", `{"cwd":"w","mcpServers":[]}`, `cwd must be absolute, is "w"`),
		Entry("in a number", `{"cwd":1,"mcpServers":[]}`, `cwd must be a string, is number`),
		Entry("without the list of servers", `{"cwd":"/w"}`, `mcpServers is missing; without servers it is []`),
		Entry("with null for that", `{"cwd":"/w","mcpServers":null}`, `mcpServers is missing; without servers it is []`),
		Entry("with an object for that", `{"cwd":"/w","mcpServers":{}}`, `mcpServers must be an array, is object`),
		Entry("with a server without a name", `{"cwd":"/w","mcpServers":[{"command":"x"}]}`, `mcpServers[0]: name is missing`),
		Entry("with a server that is nothing", `{"cwd":"/w","mcpServers":[{"name":"a","command":"x"},{"name":"b"}]}`, `mcpServers[1] (b): command is missing`),
		Entry("with a server without a url", `{"cwd":"/w","mcpServers":[{"type":"http","name":"a"}]}`, `mcpServers[0] (a): url is missing`),
		Entry("with a server of another kind", `{"cwd":"/w","mcpServers":[{"type":"ws","name":"a","url":"u"}]}`,
			`mcpServers[0] (a): unknown type "ws"; use http, sse, or none for a command`),
		Entry("with a server that is a text", `{"cwd":"/w","mcpServers":["x"]}`, `mcpServers[0]: must be an object, is string`),
		Entry("with arguments that are none", `{"cwd":"/w","mcpServers":[{"name":"a","command":"x","args":[1]}]}`, `mcpServers[0]: args must be a string, is number`),
	)

	It("has the servers that the client names", func() {
		p := newStub()
		c := serve(provides(p))
		c.say(hello)
		c.line()
		c.asks(request("1", "session/new", `{"cwd":"/w","mcpServers":[`+
			`{"name":"a","command":"/bin/a","args":["-x"],"env":[{"name":"K","value":"v"}]},`+
			`{"type":"stdio","name":"b","command":"/bin/b","args":[],"env":[]},`+
			`{"type":"http","name":"c","url":"http://c","headers":[{"name":"H","value":"h"}]},`+
			`{"type":"sse","name":"d","url":"http://d","headers":[]}]}`), answered("1", `{"sessionId":"sess-1",`+state+`}`))
		Expect(p.sessions).To(Equal([]fakeagent.SessionConfig{{ThreadID: "sess-1", Cwd: "/w", MCPServers: []fakeagent.MCPServer{
			{Name: "a", Command: "/bin/a", Args: []string{"-x"}, Env: map[string]string{"K": "v"}},
			{Name: "b", Command: "/bin/b", Args: []string{}},
			{Name: "c", URL: "http://c", Headers: map[string]string{"H": "h"}},
			{Name: "d", URL: "http://d", SSE: true},
		}}}))
	})

	It("is refused in the provider's words, if that refuses it, and is not there then", func() {
		p := newStub()
		p.onStart = func(fakeagent.SessionConfig) error { return errors.New("no room") }
		c := serve(provides(p))
		c.say(hello)
		c.line()
		c.asks(request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`), refused("1", -32602, "Invalid params: no room"))
		c.asks(request("2", "session/list", `{}`), answered("2", `{"sessions":[]}`))
	})

	It("has an id that counts, or the one that it was told", func() {
		cfg := provides(newStub())
		c := serve(cfg)
		c.open()
		c.asks(request("2", "session/new", `{"cwd":"/v","mcpServers":[]}`), answered("2", `{"sessionId":"sess-2",`+state+`}`))
		cfg.SessionID = func(n int) string { return strings.Repeat("x", n) }
		c = serve(cfg)
		c.say(hello)
		c.line()
		c.asks(request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`), answered("1", `{"sessionId":"x",`+state+`}`))
	})

	It("takes the place of an old one with its id, whose prompt is answered first", func() {
		cfg := provides(newStub())
		cfg.SessionID = func(int) string { return "sess-1" }
		c := serve(cfg)
		c.open()
		c.say(prompt("2", "x"))
		c.say(request("3", "session/new", `{"cwd":"/v","mcpServers":[]}`))
		c.hears(answered("2", `{"stopReason":"cancelled"}`), answered("3", `{"sessionId":"sess-1",`+state+`}`))
		c.asks(request("4", "session/list", `{}`), answered("4", `{"sessions":[{"sessionId":"sess-1","cwd":"/v","updatedAt":"2000-01-01T00:00:00Z"}]}`))
	})

	It("has the provider's own models beside the others", func() {
		p := newStub()
		p.probe.Models = []fakeagent.Model{{ID: "m1", Label: "One"}, {ID: "m2", Label: "Two", Default: true}}
		c := serve(provides(p))
		c.say(hello)
		c.line()
		c.say(request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`))
		Expect(c.line()).To(And(ContainSubstring(`"currentValue":"m2"`),
			ContainSubstring(`{"group":"stub","name":"Stub","options":[{"value":"m1","name":"One"},{"value":"m2","name":"Two"}]}`)))
	})

	It("comes after a while, where it was told so, unless the client takes it back", func() {
		cfg := provides(newStub())
		cfg.NewSessionDelay = time.Second
		c := serve(cfg)
		c.say(hello)
		c.line()
		began := time.Now()
		c.say(request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`), request(`"b"`, "session/new", `{"cwd":"/w","mcpServers":[]}`))
		c.say(notification("$/cancel_request", `{"requestId":"b"}`))
		c.hears(refused(`"b"`, -32800, "Request cancelled"))
		Expect(time.Since(began)).To(BeZero())
		c.hears(answered("1", `{"sessionId":"sess-1",`+state+`}`))
		Expect(time.Since(began)).To(Equal(time.Second))
	})

	It("is told of before it is answered, where that is asked for", func() {
		cfg := provides(newStub())
		cfg.EarlyUpdate = true
		c := serve(cfg)
		c.say(hello)
		c.line()
		c.say(request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`))
		c.hears(update(`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"help","description":"Says what it can do"}]}`),
			answered("1", `{"sessionId":"sess-1",`+state+`}`))
	})
})

var _ = Describe("A session", bubble.InBubble, func() {
	DescribeTable("that there is not is refused by", func(method, params string) {
		c := serve(provides(newStub()))
		c.open()
		c.asks(request("2", method, strings.Replace(params, "ID", `"sessionId":"nope"`, 1)),
			`{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params: session \"nope\" does not exist","data":{"sessionId":"nope"}}}`)
		c.asks(request("3", method, strings.Replace(params, "ID", `"x":1`, 1)), refused("3", -32602, "Invalid params: sessionId is missing"))
		c.asks(request("4", method, strings.Replace(params, "ID", `"sessionId":3`, 1)), refused("4", -32602, "Invalid params: sessionId must be a string, is number"))
	},
		Entry(nil, "session/load", `{ID,"cwd":"/w","mcpServers":[]}`),
		Entry(nil, "session/resume", `{ID,"cwd":"/w"}`),
		Entry(nil, "session/close", `{ID}`),
		Entry(nil, "session/delete", `{ID}`),
		Entry(nil, "session/set_mode", `{ID,"modeId":"ask"}`),
		Entry(nil, "session/set_config_option", `{ID,"configId":"mode","value":"ask"}`),
		Entry(nil, "session/prompt", `{ID,"prompt":[]}`),
		Entry(nil, "_understudy/gate", `{ID,"gate":"g","do":"release"}`),
	)

	It("is listed, with its folder and its time, and by its folder alone", func() {
		c := serve(provides(newStub()))
		c.open()
		time.Sleep(time.Minute) // on virtual time, which the list shows
		c.say(request("2", "session/new", `{"cwd":"/v","mcpServers":[]}`))
		c.line()
		one, two := `{"sessionId":"sess-1","cwd":"/w","updatedAt":"2000-01-01T00:00:00Z"}`, `{"sessionId":"sess-2","cwd":"/v","updatedAt":"2000-01-01T00:01:00Z"}`
		c.asks(request("3", "session/list", `{}`), answered("3", `{"sessions":[`+one+`,`+two+`]}`))
		c.asks(request("4", "session/list", `{"cwd":"/v"}`), answered("4", `{"sessions":[`+two+`]}`))
		c.asks(request("5", "session/list", `{"cwd":"/x","cursor":null}`), answered("5", `{"sessions":[]}`))
		c.asks(request("6", "session/list", `{"cursor":"p2"}`), refused("6", -32602, `Invalid params: cursor is "p2", and no list was longer than its first page`))
	})

	It("is listed with the time of its last prompt, or of the end of that", func() {
		p := newStub()
		c := serve(provides(p))
		c.open()
		time.Sleep(time.Minute)
		c.say(prompt("2", "x"))
		c.asks(request("3", "session/list", `{}`), answered("3", `{"sessions":[{"sessionId":"sess-1","cwd":"/w","updatedAt":"2000-01-01T00:01:00Z"}]}`))
		time.Sleep(time.Minute)
		p.end("sess-1", event.TurnCompleted{State: event.TurnEndCompleted})
		c.line()
		c.asks(request("4", "session/list", `{}`), answered("4", `{"sessions":[{"sessionId":"sess-1","cwd":"/w","updatedAt":"2000-01-01T00:02:00Z"}]}`))
		p.emit("", event.Raw{Name: "thread.metadata.updated", JSON: []byte(`{"name":"a"}`)})
		c.line()
		c.asks(request("5", "session/list", `{}`), answered("5", `{"sessions":[{"sessionId":"sess-1","cwd":"/w","title":"a","updatedAt":"2000-01-01T00:02:00Z"}]}`))
	})

	It("that is closed answers its prompt first, is listed, and takes no prompt before it is resumed", func() {
		c := serve(provides(newStub()))
		c.open()
		c.say(prompt("2", "x"))
		c.say(request("3", "session/close", `{"sessionId":"sess-1"}`))
		c.hears(answered("2", `{"stopReason":"cancelled"}`), answered("3", `{}`))
		c.asks(prompt("4", "x"),
			`{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"Invalid params: session \"sess-1\" is closed; load or resume it","data":{"sessionId":"sess-1"}}}`)
		c.asks(request("5", "session/close", `{"sessionId":"sess-1"}`), answered("5", `{}`))
		c.say(request("6", "session/list", `{}`))
		Expect(c.line()).To(ContainSubstring("sess-1"))
		c.asks(request("7", "session/resume", `{"sessionId":"sess-1","cwd":"/v"}`), answered("7", `{`+state+`}`))
		c.say(prompt("8", "x"))
		c.quiet()
	})

	It("that is deleted answers its prompt first, and is gone", func() {
		c := serve(provides(newStub()))
		c.open()
		c.say(prompt("2", "x"))
		c.say(request("3", "session/delete", `{"sessionId":"sess-1"}`))
		c.hears(answered("2", `{"stopReason":"cancelled"}`), answered("3", `{}`))
		c.asks(request("4", "session/list", `{}`), answered("4", `{"sessions":[]}`))
	})

	It("is opened again in the folder and with the servers that the client says then", func() {
		p := newStub()
		c := serve(provides(p))
		c.open()
		c.asks(request("2", "session/load", `{"sessionId":"sess-1","cwd":"/v","mcpServers":[{"name":"a","command":"x"}]}`), answered("2", `{`+state+`}`))
		Expect(p.sessions[1]).To(Equal(fakeagent.SessionConfig{ThreadID: "sess-1", Cwd: "/v", MCPServers: []fakeagent.MCPServer{{Name: "a", Command: "x"}}}))
		c.asks(request("3", "session/load", `{"sessionId":"sess-1","cwd":"/v"}`), refused("3", -32602, "Invalid params: mcpServers is missing; without servers it is []"))
		c.asks(request("4", "session/resume", `{"sessionId":"sess-1","cwd":"v"}`), refused("4", -32602, `Invalid params: cwd must be absolute, is "v"`))
	})

	It("cannot be opened again while its prompt runs", func() {
		c := serve(provides(newStub()))
		c.open()
		c.say(prompt("2", "x"))
		c.asks(request("3", "session/load", `{"sessionId":"sess-1","cwd":"/w","mcpServers":[]}`), refused("3", -32600, "session sess-1 has a prompt that runs"))
	})

	It("takes what is asked of it as a whole one after the other: opened again twice at once, it is open afterwards", func() {
		c := serve(provides(newStub()))
		c.open()
		load := `{"sessionId":"sess-1","cwd":"/w","mcpServers":[]}`
		c.say(request("2", "session/load", load), request("3", "session/load", load), request("4", "session/close", `{"sessionId":"sess-1"}`), request("5", "session/resume", load))
		c.hears(answered("2", `{`+state+`}`), answered("3", `{`+state+`}`), answered("4", `{}`), answered("5", `{`+state+`}`))
		c.asks(request("6", "session/resume", load), answered("6", `{`+state+`}`))
		c.say(prompt("7", "x"))
		c.quiet()
	})

	It("that is deleted is not there for those who had to wait for that", func() {
		c := serve(provides(newStub()))
		c.open()
		load, id := `{"sessionId":"sess-1","cwd":"/w","mcpServers":[]}`, `{"sessionId":"sess-1"}`
		c.say(request("2", "session/close", id), request("3", "session/delete", id), request("4", "session/load", load), request("5", "session/resume", load),
			request("6", "session/close", id), request("7", "session/delete", id))
		gone := func(id string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32602,"message":"Invalid params: session \"sess-1\" does not exist","data":{"sessionId":"sess-1"}}}`
		}
		// Those that are read when it is gone already need not wait.
		Expect([]string{c.line(), c.line(), c.line(), c.line(), c.line(), c.line()}).To(ConsistOf(answered("2", `{}`), answered("3", `{}`), gone("4"), gone("5"), gone("6"), gone("7")))
	})

	It("is replaced by one after the other", func() {
		cfg := provides(instance(fakeagent.Config{}))
		cfg.SessionID = func(int) string { return "sess-1" }
		c := serve(cfg)
		c.say(hello)
		c.line()
		one := `{"cwd":"/","mcpServers":[]}`
		c.say(request("1", "session/new", one), request("2", "session/new", one), request("3", "session/new", one), request("4", "session/new", one))
		for _, id := range []string{"1", "2", "3", "4"} {
			Expect(c.line()).To(HavePrefix(`{"jsonrpc":"2.0","id":` + id + `,"result":{"sessionId":"sess-1",`))
		}
		c.say(request("5", "session/list", `{}`))
		Expect(c.line()).To(ContainSubstring(`"sessions":[{"sessionId":"sess-1",`))
		c.say(prompt("6", `[{"say":"a"}]`))
		Expect(c.line()).To(ContainSubstring("agent_message_chunk"))
		c.hears(answered("6", `{"stopReason":"end_turn"}`))
	})

	It("is not closed twice at once while the provider takes its time", func() {
		p := newStub()
		stops := 0
		p.onStop = func(string) error { stops++; return nil }
		c := serve(provides(p))
		c.open()
		c.say(request("2", "session/close", `{"sessionId":"sess-1"}`), request("3", "session/delete", `{"sessionId":"sess-1"}`))
		c.quiet()
		Expect(stops).To(Equal(1))
		c.say(notification("$/cancel_request", `{"requestId":3}`))
		c.hears(refused("3", -32800, "Request cancelled"))
		p.emit("", event.SessionExited{})
		c.hears(answered("2", `{}`))
	})

	It("whose provider does not stop it is not opened again, and the client can take that back", func() {
		p := newStub()
		p.onStop = func(string) error { return nil }
		c := serve(provides(p))
		c.open()
		c.say(request("2", "session/resume", `{"sessionId":"sess-1","cwd":"/w"}`))
		c.quiet()
		c.say(notification("$/cancel_request", `{"requestId":2}`))
		c.hears(refused("2", -32800, "Request cancelled"))
		Expect(p.sessions).To(HaveLen(1))
	})

	It("that is loaded tells its past before the answer", func() {
		p := newStub()
		p.thread = fakeagent.Thread{Turns: []fakeagent.Turn{
			{ID: "turn-1", Items: timeline.Items{
				timeline.UserMessage{Text: "do \"it\""},
				timeline.Reasoning{Text: "hm"},
				timeline.ToolCall{CallID: "c1", Name: "Bash", Detail: timeline.Shell{Command: "ls", Output: "a\n", ExitCode: timeline.Exited(0)}, Status: timeline.Completed},
				timeline.ToolCall{CallID: "c2", Name: "Read", Detail: timeline.Read{FilePath: "a"}, Status: timeline.Failed, Error: "gone"},
				timeline.ToolCall{CallID: "c3", Name: "x", Status: timeline.Canceled},
				timeline.ToolCall{CallID: "c4", Name: "x", Detail: timeline.Unknown{}, Status: timeline.Running},
				timeline.Todo{Items: []timeline.TodoEntry{{Text: "a", Completed: true}, {Text: "b", Status: "in_progress"}, {Text: "c"}}},
				timeline.ErrorItem{Message: "oh"},
				timeline.AssistantMessage{Text: "done", MessageID: "m1"},
			}},
			{ID: "turn-2", Items: timeline.Items{timeline.UserMessage{Text: "more"}, timeline.AssistantMessage{Text: "no"}}},
		}}
		c := serve(provides(p))
		c.open()
		c.say(request("2", "session/load", `{"sessionId":"sess-1","cwd":"/w","mcpServers":[]}`))
		c.hears(
			update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"do \"it\""},"messageId":"turn-1-0"}`),
			update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"},"messageId":"turn-1-1"}`),
			update(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"ls","kind":"execute","name":"Bash","rawInput":{"command":"ls"},"status":"completed",`+
				`"content":[{"type":"content","content":{"type":"text","text":"a\n"}}],"rawOutput":{"output":"a\n","exitCode":0},`+
				`"_meta":{"understudy":{"name":"Bash","detail":{"type":"shell","command":"ls","output":"a\n","exitCode":0}}}}`),
			update(`{"sessionUpdate":"tool_call","toolCallId":"c2","title":"Read a","kind":"read","name":"Read","locations":[{"path":"/w/a"}],"rawInput":{"path":"a"},"status":"failed",`+
				`"content":[{"type":"content","content":{"type":"text","text":"gone"}}],"_meta":{"understudy":{"name":"Read","detail":{"type":"read","filePath":"a"},"error":"gone"}}}`),
			update(`{"sessionUpdate":"tool_call","toolCallId":"c3","title":"x","kind":"other","name":"x","status":"failed",`+
				`"content":[{"type":"content","content":{"type":"text","text":"canceled"}}],"_meta":{"understudy":{"name":"x","detail":{"type":"unknown","input":null,"output":null},"error":"canceled"}}}`),
			update(`{"sessionUpdate":"tool_call","toolCallId":"c4","title":"x","kind":"other","name":"x","status":"in_progress",`+
				`"_meta":{"understudy":{"name":"x","detail":{"type":"unknown","input":null,"output":null}}}}`),
			update(`{"sessionUpdate":"plan","entries":[{"content":"a","priority":"medium","status":"completed"},{"content":"b","priority":"medium","status":"in_progress"},{"content":"c","priority":"medium","status":"pending"}]}`),
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"done"},"messageId":"m1"}`),
			update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"more"},"messageId":"turn-2-0"}`),
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"no"},"messageId":"turn-2-1"}`),
			answered("2", `{`+state+`}`))
		Expect(notes(c.log.Transcript())).To(ConsistOf(HavePrefix("dropped: an item of a session that is loaded: ")))
	})
})

var _ = Describe("The settings of a session", bubble.InBubble, func() {
	asking := strings.Replace(mode, `"currentValue":"code"`, `"currentValue":"ask"`, 1)

	It("are its mode, which is an option, too: the updates follow the answer", func() {
		c := serve(provides(newStub()))
		c.open()
		c.say(request("2", "session/set_mode", `{"sessionId":"sess-1","modeId":"ask"}`))
		c.hears(answered("2", `{}`),
			update(`{"sessionUpdate":"config_option_update","configOptions":[`+asking+`,`+model+`]}`),
			update(`{"sessionUpdate":"current_mode_update","currentModeId":"ask"}`))
		c.say(request("3", "session/set_config_option", `{"sessionId":"sess-1","configId":"mode","value":"code"}`))
		c.hears(answered("3", `{"configOptions":[`+mode+`,`+model+`]}`),
			update(`{"sessionUpdate":"config_option_update","configOptions":[`+mode+`,`+model+`]}`),
			update(`{"sessionUpdate":"current_mode_update","currentModeId":"code"}`))
	})

	It("are its model", func() {
		c := serve(provides(newStub()))
		c.open()
		opus := strings.Replace(model, `"currentValue":"gpt-5"`, `"currentValue":"claude-opus"`, 1)
		c.say(request("2", "session/set_config_option", `{"sessionId":"sess-1","configId":"model","value":"claude-opus"}`))
		c.hears(answered("2", `{"configOptions":[`+mode+`,`+opus+`]}`), update(`{"sessionUpdate":"config_option_update","configOptions":[`+mode+`,`+opus+`]}`))
	})

	It("are true or false where the client knows such options", func() {
		c := serve(provides(newStub()))
		c.openAs(`{"session":{"configOptions":{"boolean":{}}}}`)
		on := `{"id":"verbose","name":"Verbose","type":"boolean","currentValue":true}`
		c.say(request("2", "session/set_config_option", `{"sessionId":"sess-1","configId":"verbose","type":"boolean","value":true}`))
		c.hears(answered("2", `{"configOptions":[`+mode+`,`+model+`,`+on+`]}`), update(`{"sessionUpdate":"config_option_update","configOptions":[`+mode+`,`+model+`,`+on+`]}`))
		c.asks(request("3", "session/set_config_option", `{"sessionId":"sess-1","configId":"verbose","value":"yes"}`),
			refused("3", -32602, "Invalid params: config option verbose cannot be yes; it is true or false"))
	})

	DescribeTable("refuse", func(method, params, why string) {
		c := serve(provides(newStub()))
		c.open()
		c.asks(request("2", method, `{"sessionId":"sess-1"`+params+`}`), refused("2", -32602, "Invalid params: "+why))
		c.quiet()
	},
		Entry("a mode that there is not", "session/set_mode", `,"modeId":"yolo"`, "config option mode cannot be yolo; it has ask, code"),
		Entry("no mode", "session/set_mode", ``, "modeId is missing"),
		Entry("an option that there is not", "session/set_config_option", `,"configId":"x","value":"y"`, `there is no config option "x"`),
		Entry("one that is true or false, of a client that knows none", "session/set_config_option", `,"configId":"verbose","value":true`, `there is no config option "verbose"`),
		Entry("no option", "session/set_config_option", `,"value":"y"`, `configId is missing`),
		Entry("a value that there is not", "session/set_config_option", `,"configId":"model","value":"gpt-2"`,
			"config option model cannot be gpt-2; it has gpt-5, gpt-5-mini, claude-sonnet, claude-opus"),
		Entry("a value of another type", "session/set_config_option", `,"configId":"mode","value":true`, "config option mode cannot be true; it has ask, code"),
		Entry("no value", "session/set_config_option", `,"configId":"mode"`, "config option mode cannot be <nil>; it has ask, code"),
	)
})

var _ = Describe("A prompt", bubble.InBubble, func() {
	It("reaches the provider as its text, as the client cut it, and what goes with it", func() {
		p := newStub()
		c := serve(provides(p))
		c.open()
		c.say(request("2", "session/prompt", `{"sessionId":"sess-1","prompt":[`+
			`{"type":"text","text":"look "},{"type":"image","data":"AQI=","mimeType":"image/png","uri":"file:///i.png"},{"type":"text","text":"here"},`+
			`{"type":"audio","data":"Aw==","mimeType":"audio/wav"},{"type":"resource_link","uri":"file:///a","name":"a","mimeType":"text/plain"},`+
			`{"type":"resource","resource":{"uri":"file:///b","text":"bb","mimeType":"text/x"}},{"type":"resource","resource":{"uri":"file:///c","blob":"BA=="}}]}`))
		c.quiet()
		Expect(p.inputs).To(Equal([]fakeagent.TurnInput{{ThreadID: "sess-1", Text: "look here", Attachments: []fakeagent.Attachment{
			{MediaType: "image/png", URI: "file:///i.png", Data: []byte{1, 2}},
			{MediaType: "audio/wav", Data: []byte{3}},
			{Name: "a", MediaType: "text/plain", URI: "file:///a"},
			{MediaType: "text/x", URI: "file:///b", Data: []byte("bb")},
			{URI: "file:///c", Data: []byte{4}},
		}}}))
	})

	DescribeTable("is refused with", func(block, why string) {
		p := newStub()
		c := serve(provides(p))
		c.open()
		c.asks(request("2", "session/prompt", `{"sessionId":"sess-1","prompt":`+block+`}`), refused("2", -32602, "Invalid params: "+why))
		Expect(p.inputs).To(BeEmpty())
		c.say(prompt("3", "x")) // and the session is free
		c.quiet()
	},
		Entry("nothing", `null`, "prompt is missing"),
		Entry("a text for the list", `"x"`, "prompt must be an array, is string"),
		Entry("a text without text", `[{"type":"text","text":"a"},{"type":"text"}]`, "prompt[1] (text): text is missing"),
		Entry("an image without data", `[{"type":"image","mimeType":"image/png"}]`, "prompt[0] (image): needs data and mimeType"),
		Entry("an image without a type", `[{"type":"image","data":""}]`, "prompt[0] (image): needs data and mimeType"),
		Entry("a sound without data", `[{"type":"audio","mimeType":"audio/wav"}]`, "prompt[0] (audio): needs data and mimeType"),
		Entry("data that is no base64", `[{"type":"image","data":"?","mimeType":"image/png"}]`, "prompt[0] (image): is no base64: illegal base64 data at input byte 0"),
		Entry("a link without a uri", `[{"type":"resource_link","name":"a"}]`, "prompt[0] (resource_link): needs uri and name"),
		Entry("a link without a name", `[{"type":"resource_link","uri":"a"}]`, "prompt[0] (resource_link): needs uri and name"),
		Entry("a resource without one", `[{"type":"resource"}]`, "prompt[0] (resource): needs a resource with uri, and text or blob"),
		Entry("a resource without uri", `[{"type":"resource","resource":{"text":"a"}}]`, "prompt[0] (resource): needs a resource with uri, and text or blob"),
		Entry("a resource without content", `[{"type":"resource","resource":{"uri":"a"}}]`, "prompt[0] (resource): needs a resource with uri, and text or blob"),
		Entry("a resource with two contents", `[{"type":"resource","resource":{"uri":"a","text":"","blob":""}}]`, "prompt[0] (resource): needs a resource with uri, and text or blob"),
		Entry("a kind that there is not", `[{"type":"video"}]`, `prompt[0]: unknown type "video"; use text, image, audio, resource_link or resource`),
		Entry("a number for a text", `[{"type":"text","text":1}]`, `prompt.text must be a string, is number`),
	)

	DescribeTable("is answered when its turn ends:", func(end event.TurnCompleted, answer string) {
		p := newStub()
		c := serve(provides(p))
		c.open()
		c.say(prompt("2", "x"))
		c.quiet()
		p.end("sess-1", end)
		c.hears(answer)
	},
		Entry("completed", event.TurnCompleted{State: event.TurnEndCompleted}, answered("2", `{"stopReason":"end_turn"}`)),
		Entry("interrupted", event.TurnCompleted{State: event.TurnEndInterrupted}, answered("2", `{"stopReason":"cancelled"}`)),
		Entry("cancelled", event.TurnCompleted{State: event.TurnEndCancelled}, answered("2", `{"stopReason":"cancelled"}`)),
		Entry("failed", event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: "oh"}, refused("2", -32603, "oh")),
		Entry("failed without a reason", event.TurnCompleted{State: event.TurnEndFailed}, refused("2", -32603, "the provider gave no reason")),
		Entry("failed with a code", event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: "slow down", ErrorCode: 429}, refused("2", 429, "slow down")),
	)

	It("is refused while one of that session runs, but not of another", func() {
		p := newStub()
		c := serve(provides(p))
		c.open()
		c.say(request("2", "session/new", `{"cwd":"/w","mcpServers":[]}`))
		c.line()
		c.say(prompt("3", "x"))
		c.asks(prompt("4", "y"), refused("4", -32600, "session sess-1 has a prompt that runs; wait for its answer, or cancel it"))
		c.say(strings.Replace(prompt("5", "z"), "sess-1", "sess-2", 1))
		c.quiet()
		p.end("sess-1", event.TurnCompleted{State: event.TurnEndCompleted})
		c.hears(answered("3", `{"stopReason":"end_turn"}`))
		c.say(prompt("6", "again"))
		c.quiet()
		Expect(p.inputs).To(HaveLen(3))
	})

	DescribeTable("is cancelled by", func(notification string) {
		c := serve(provides(newStub()))
		c.open()
		c.say(prompt(`"p 1"`, "x"))
		c.say(notification)
		c.hears(answered(`"p 1"`, `{"stopReason":"cancelled"}`))
	},
		Entry("session/cancel", notification("session/cancel", `{"sessionId":"sess-1"}`)),
		Entry("$/cancel_request", notification("$/cancel_request", `{"requestId":"p 1"}`)),
	)

	DescribeTable("is not cancelled by", func(line string) {
		c := serve(provides(newStub()))
		c.open()
		c.say(prompt("2", "x"), line)
		c.quiet()
	},
		Entry("a cancel of another session", notification("session/cancel", `{"sessionId":"sess-2"}`)),
		Entry("a cancel of none", notification("session/cancel", `{}`)),
		Entry("a cancel that is wrong", notification("session/cancel", `{"sessionId":1}`)),
		Entry("$/cancel_request of another id", notification("$/cancel_request", `{"requestId":3}`)),
		Entry("$/cancel_request of the same digits as a text", notification("$/cancel_request", `{"requestId":"2"}`)),
		Entry("$/cancel_request of none", notification("$/cancel_request", `{}`)),
		Entry("a notification that there is not", notification("novel", `{"sessionId":"sess-1"}`)),
	)

	It("that the provider refuses is answered in its words, and the session is free", func() {
		p := newStub()
		p.onSend = func(fakeagent.TurnInput) error { return errors.New("not today") }
		c := serve(provides(p))
		c.open()
		c.asks(prompt("2", "x"), refused("2", -32603, "not today"))
		p.onSend = nil
		c.say(prompt("3", "x"))
		c.quiet()
	})
})

var _ = Describe("A provider that panics", bubble.InBubble, func() {
	It("is the answer to the request, and the log has the stack", func() {
		p := newStub()
		p.onSend = func(fakeagent.TurnInput) error { panic("boom") }
		c := serve(provides(p))
		c.open()
		c.asks(prompt("2", "x"), refused("2", -32603, "the provider panicked: boom"))
		Expect(notes(c.log.Transcript())).To(ConsistOf(And(HavePrefix("the provider panicked: boom\n"), ContainSubstring("agent_test.go"))))
		p.onSend = nil
		c.say(prompt("3", "x"))
		c.quiet()
	})

	It("is so where the answer comes later, too", func() {
		p := newStub()
		p.onStop = func(string) error { panic("boom") }
		c := serve(provides(p))
		c.open()
		c.asks(request("2", "session/close", `{"sessionId":"sess-1"}`), refused("2", -32603, "the provider panicked: boom"))
		c.asks(request("3", "session/close", `{"sessionId":"sess-1"}`), refused("3", -32603, "the provider panicked: boom"))
	})
})

var _ = Describe("Lines", bubble.InBubble, func() {
	DescribeTable("that are no messages are ignored, and the log says why:", func(line, note string) {
		c := serve(provides(newStub()))
		c.say(line)
		c.asks(hello, helloed)
		Expect(notes(c.log.Transcript())).To(Equal([]string{note}))
	},
		Entry("garbage", `hello?`, "ignored: no JSON"),
		Entry("half a message", `{"jsonrpc":"2.0","id":1,`, "ignored: no JSON"),
		Entry("a batch", `[`+hello+`]`, "ignored: no object"),
		Entry("a number", `7`, "ignored: no object"),
		Entry("a message without anything", `{"jsonrpc":"2.0"}`, "ignored: neither a method nor an id"),
		Entry("a method that is none", `{"jsonrpc":"2.0","id":1,"method":7}`, "ignored: no message of JSON-RPC: method must be a string, is number"),
		Entry("an error without an id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`, "ignored: it answers no open request"),
		Entry("an answer to nothing", `{"jsonrpc":"2.0","id":12,"result":{}}`, "ignored: it answers no open request"),
		Entry("an answer to a text", `{"jsonrpc":"2.0","id":"0","result":{}}`, "ignored: it answers no open request"),
	)

	DescribeTable("are read however they come:", func(text string) {
		c := serve(provides(newStub()))
		_, err := io.WriteString(c.in, text)
		Expect(err).NotTo(HaveOccurred())
		Expect(c.in.Close()).To(Succeed())
		c.hears(helloed)
		Expect(notes(c.log.Transcript())).To(BeEmpty())
	},
		Entry("after blank ones", "\n \r\n\t\n"+hello+"\n"), Entry("with CRLF", hello+"\r\n"), Entry("with a BOM", "\uFEFF"+hello+"\n"),
		Entry("with blanks around", "  "+hello+" \n"), Entry("without an end", hello), Entry("without jsonrpc", strings.Replace(hello, `"jsonrpc":"2.0",`, ``, 1)+"\n"))

	It("may be in pieces", func() {
		c := serve(provides(newStub()))
		for _, b := range []byte(hello + "\n") {
			_, err := c.in.Write([]byte{b})
			Expect(err).NotTo(HaveOccurred())
			synctest.Wait()
		}
		c.hears(helloed)
	})

	It("may be longer than what is read at once, one after the other", func() {
		p := newStub()
		c := serve(provides(p))
		c.open()
		for i, n := range []int{4096, 5000, 10000, 1} {
			c.say(prompt("2", strings.Repeat("x", n)))
			synctest.Wait()
			Expect(p.inputs[i].Text).To(HaveLen(n))
			p.end("sess-1", event.TurnCompleted{State: event.TurnEndCompleted})
			c.line()
		}
	})

	It("may be as long as 10 MiB", func() {
		p := newStub()
		c := serve(provides(p))
		c.open()
		text := strings.Repeat("0123456789abcdef", 10<<16)
		c.say(prompt("2", text))
		c.quiet()
		Expect(p.inputs[0].Text == text).To(BeTrue())
	})

	It("that are longer than 64 MiB are ignored, and the next one is read", func() {
		c := serve(provides(newStub()))
		block := strings.Repeat("x", 1<<20)
		for range 65 {
			_, err := io.WriteString(c.in, block)
			Expect(err).NotTo(HaveOccurred())
			synctest.Wait()
		}
		c.say("")
		c.asks(hello, helloed)
		Expect(c.log.Transcript()[0]).To(And(HaveField("Note", "ignored: longer than 64 MiB"), HaveField("Line", strings.Repeat("x", 100))))
	})

	DescribeTable("have ids that are given back as they came:", func(id string) {
		c := serve(provides(newStub()))
		c.asks(request(id, "novel", `{}`), refused(id, -32601, `Method not found: "novel"`))
	},
		Entry(nil, `7`), Entry(nil, `"7"`), Entry(nil, `"a b"`), Entry(nil, `"\u00e9\/"`), Entry(nil, `-1`), Entry(nil, `1.50`), Entry(nil, `1e3`),
		Entry(nil, `123456789012345678901234567890`), Entry(nil, `""`))

	It("with an id that is null are notifications", func() {
		c := serve(provides(newStub()))
		c.say(request("null", "novel", `{}`), request("null", "initialize", `{"protocolVersion":1}`))
		c.quiet()
	})

	It("name a method that there is not", func() {
		c := serve(provides(newStub()))
		c.open()
		c.asks(request("2", `a\"b`, `{}`), `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found: \"a\\\"b\""}}`)
		c.say(notification("novel", `{}`), notification("_vendor/x", `[1]`))
		c.quiet()
	})
})

var _ = Describe("Serve", bubble.InBubble, func() {
	It("returns when the input ends, and what plays goes on until its context ends", func() {
		p := newStub()
		c := serve(provides(p))
		c.open()
		c.say(prompt("2", "x"))
		Expect(c.in.Close()).To(Succeed())
		Expect(<-c.served).To(Succeed())
		c.served <- nil
		p.emit("m", event.Delta{Stream: event.AssistantText, Text: "late"})
		c.hears(update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"late"},"messageId":"m"}`))
		c.end()
		p.emit("m", event.Delta{Stream: event.AssistantText, Text: "too late"}) // at once, before anybody has seen the end
		synctest.Wait()
		p.end("sess-1", event.TurnCompleted{State: event.TurnEndCompleted})
		c.quiet()
		Expect(p.subs).To(HaveEach(BeNil()))
	})

	It("returns the error of the input", func() {
		c := serve(provides(newStub()))
		_ = c.in.CloseWithError(errors.New("torn"))
		Expect(<-c.served).To(MatchError("torn"))
		c.served <- nil
	})

	It("lets go of a provider that was made when its context had ended", func() {
		p := newStub()
		opens := make(chan bool)
		c := serve(acp.AgentConfig{Open: func(*acp.Client) (fakeagent.Provider, error) {
			<-opens
			return p, nil
		}})
		c.say(hello)
		synctest.Wait()
		c.end()
		synctest.Wait()
		close(opens)
		c.quiet()
		Expect(p.subs).To(HaveLen(1))
		Expect(p.subs[0]).To(BeNil())
	})

	It("leaves nobody waiting for a client that does not read, when its context ends, but who writes", func() {
		p := newStub()
		stuck := make(chan bool)
		ctx, end := context.WithCancel(context.Background())
		w, in, _ := newWire()
		served := make(chan error)
		go func() {
			served <- acp.Serve(ctx, in, writer(func(b []byte) (int, error) {
				if strings.Contains(string(b), "chunk") {
					<-stuck
				}
				return len(b), nil
			}), provides(p))
		}()
		w.say(hello, request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`), prompt("2", "x"))
		synctest.Wait()
		done := make(chan bool, 3)
		for range 3 {
			go func() {
				p.emit("m", event.Delta{Stream: event.AssistantText, Text: "x"})
				done <- true
			}()
		}
		synctest.Wait()
		Expect(done).To(BeEmpty())
		end()
		synctest.Wait()
		Expect(done).To(HaveLen(2))
		close(stuck)
		synctest.Wait()
		Expect(done).To(HaveLen(3))
		_ = w.in.Close()
		Expect(<-served).To(Succeed())
	})

	It("writes each line with one call, never two at a time", func() {
		p := newStub()
		c := serve(provides(p))
		c.open()
		c.say(prompt("2", "x"))
		synctest.Wait()
		for range 8 {
			go func() {
				for range 50 {
					p.emit("m", event.Delta{Stream: event.AssistantText, Text: "0123456789"})
				}
			}()
		}
		for range 400 {
			c.hears(update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"0123456789"},"messageId":"m"}`))
		}
	})
})
