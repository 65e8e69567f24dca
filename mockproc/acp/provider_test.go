package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
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

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"session":{"notices":{},"compaction":{}},"elicitation":{"form":{}}},"clientInfo":{"name":"understudy","version":"1.0.0"}}}`
	canAll     = `{"protocolVersion":1,"agentInfo":{"name":"stub","version":"1"},"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{},"close":{}}}}`
	canNothing = `{"protocolVersion":1}`
)

// driven is an agent that the spec plays by hand, and that a provider drives.
type driven struct {
	*process
	*acp.Provider
	seen
}

// seen are events, a line each: the turn's number, and what the event says.
type seen struct {
	mu  sync.Mutex
	all []string
}

func (s *seen) see(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := strings.TrimPrefix(e.TurnID, e.ThreadID+"-turn-")
	s.all = append(s.all, strings.TrimSpace(turn+" "+event.Line(e)))
}

// news are the events since the last time that it was called.
func (s *seen) news() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	s.all = nil
	return all
}

func drive() *driven {
	d := &driven{process: newProcess()}
	d.Provider = acp.NewProvider(d.process)
	d.Subscribe(d.see)
	DeferCleanup(func() {
		d.die(0, nil)
		Expect(d.Provider.Close()).To(Succeed())
	})
	return d
}

// starts starts a session, on a goroutine of its own.
func (d *driven) starts(ctx context.Context, thread string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- d.StartSession(ctx, fakeagent.SessionConfig{ThreadID: thread, Cwd: "/w"}) }()
	return done
}

// opened has the thread th open as the session s-1.
func opened(can string) *driven {
	GinkgoHelper()
	d := drive()
	started := d.starts(context.Background(), "th")
	d.asks(answered("0", can), request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`))
	d.say(answered("1", `{"sessionId":"s-1"}`))
	Expect(<-started).To(Succeed())
	Expect(d.news()).To(Equal([]string{"session.started"}))
	return d
}

// asks answers initialize, and expects what comes next.
func (d *driven) asks(answer, next string) {
	GinkgoHelper()
	d.hears(initialize)
	d.say(answer)
	d.hears(next)
}

// prompted has a prompt run, whose request has the id 2.
func prompted(can string) *driven {
	GinkgoHelper()
	d := opened(can)
	d.send("2", "hi")
	return d
}

func (d *driven) send(id, text string) string {
	GinkgoHelper()
	turn, err := d.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: "th", Text: text})
	Expect(err).NotTo(HaveOccurred())
	d.hears(request(id, "session/prompt", `{"sessionId":"s-1","prompt":[{"type":"text","text":"`+text+`"}]}`))
	Expect(d.news()).To(Equal([]string{strings.TrimPrefix(turn, "th-turn-") + " turn.started"}))
	return turn
}

// does writes updates of the session.
func (d *driven) does(updates ...string) {
	GinkgoHelper()
	for _, u := range updates {
		d.say(notification("session/update", `{"sessionId":"s-1","update":`+u+`}`))
	}
}

func chunk(text, more string) string {
	return `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}` + more + `}`
}

var _ = Describe("A provider over a process", bubble.InBubble, func() {
	It("is an agent of that name, once it is connected", func(ctx SpecContext) {
		d := drive()
		probed := begin(func() (fakeagent.Probe, error) { return d.Probe(ctx) })
		d.hears(initialize)
		d.say(answered("0", `{"protocolVersion":1,"agentInfo":{"name":"x","title":"The X"}}`))
		Expect((<-probed).value).To(Equal(fakeagent.Probe{ID: "x", Label: "The X"}))
		Expect(d.Probe(ctx)).To(HaveField("ID", "x"))
		d.quiet()
	})

	DescribeTable("does not start with", func(ctx SpecContext, answer, why string) {
		d := drive()
		started := d.starts(ctx, "th")
		d.hears(initialize)
		d.say(answer)
		Expect(<-started).To(MatchError(why))
		Expect(<-d.starts(ctx, "th")).To(MatchError(why))
		d.quiet()
	},
		Entry("an agent of another version", answered("0", `{"protocolVersion":2}`), "acp: the agent speaks version 2 of the protocol, and this client 1"),
		Entry("an agent that says none", answered("0", `{}`), "acp: the agent speaks version 0 of the protocol, and this client 1"),
		Entry("an agent that refuses", refused("0", -32603, "no"), "acp: initialize: no (code -32603)"),
		Entry("an agent that answers nonsense", answered("0", `[]`), "acp: the answer to initialize: must be an object, is array"))

	It("says how the agent ended, if it did before it was connected", func(ctx SpecContext) {
		d := drive()
		started := d.starts(ctx, "th")
		d.line()
		d.die(127, nil)
		err := <-started
		Expect(err).To(MatchError("acp: initialize was not answered: the agent exited with code 127"))
		Expect(err).To(MatchError(fakeagent.ErrClosed))
	})

	It("quotes what a program says that is no agent", func(ctx SpecContext) {
		d := drive()
		started := d.starts(ctx, "th")
		d.line()
		d.say("usage: foo [flags]")
		d.die(0, nil)
		Expect(<-started).To(MatchError(`acp: initialize was not answered: the agent exited with code 0; it said "usage: foo [flags]" (ignored: no JSON)`))
	})

	It("notes an MCP server that the agent does not say it can use, and names it all the same", func(ctx SpecContext) {
		d := drive()
		servers := []fakeagent.MCPServer{{Name: "web", URL: "http://x"}, {Name: "old", URL: "http://y", SSE: true}, {Name: "cmd", Command: "z"}}
		started := begin(func() (struct{}, error) {
			return struct{}{}, d.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "th", Cwd: "/w", MCPServers: servers})
		})
		d.hears(initialize)
		d.say(answered("0", `{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"sse":true}}}`))
		Expect(d.line()).To(And(ContainSubstring(`"name":"web"`), ContainSubstring(`"name":"old"`), ContainSubstring(`"name":"cmd"`)))
		d.say(answered("1", `{"sessionId":"s"}`))
		Expect((<-started).err).NotTo(HaveOccurred())
		var notes []string
		for _, m := range d.Transcript() {
			if m.Note != "" {
				notes = append(notes, m.Note)
			}
		}
		Expect(notes).To(Equal([]string{"dropped: MCP server web, by an agent that does not offer mcpCapabilities.http"}))
		Expect(acp.Problems(d.Transcript())).To(BeEmpty())
	})

	It("stops waiting when the context ends, also while another one connects", func() {
		d := drive()
		ctx, cancel := context.WithCancelCause(context.Background())
		one, two := d.starts(ctx, "a"), d.starts(ctx, "b")
		d.line()
		cancel(errors.New("enough"))
		Expect(<-one).To(MatchError("acp: initialize is not answered: enough"))
		Expect(<-two).To(MatchError("acp: initialize is not answered: enough"))
	})

	It("needs an id and an absolute folder", func(ctx SpecContext) {
		d := drive()
		Expect(d.StartSession(ctx, fakeagent.SessionConfig{Cwd: "/w"})).To(MatchError("acp: StartSession: ThreadID is empty; give each agent an id of its own"))
		Expect(d.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "th", Cwd: "w"})).To(MatchError(`acp: StartSession: Cwd is "w"; the protocol wants an absolute folder`))
	})

	It("tells the agent of the servers of a session", func(ctx SpecContext) {
		d := drive()
		go func() {
			_ = d.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "th", Cwd: "/w", MCPServers: []fakeagent.MCPServer{
				{Name: "a", Command: "x", Args: []string{"1"}, Env: map[string]string{"B": "2", "A": "1"}}, {Name: "b", Command: "y"},
				{Name: "c", URL: "http://c", Headers: map[string]string{"H": "h"}}, {Name: "d", URL: "http://d", SSE: true},
			}})
		}()
		d.asks(answered("0", canNothing), request("1", "session/new", `{"cwd":"/w","mcpServers":[`+
			`{"name":"a","command":"x","args":["1"],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]},{"name":"b","command":"y","args":[],"env":[]},`+
			`{"name":"c","type":"http","url":"http://c","headers":[{"name":"H","value":"h"}]},{"name":"d","type":"sse","url":"http://d","headers":[]}]}`))
	})

	DescribeTable("has no session that the agent does not give:", func(ctx SpecContext, answer, why string) {
		d := drive()
		started := d.starts(ctx, "th")
		d.asks(answered("0", canNothing), request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`))
		d.say(answer)
		err := <-started
		Expect(err).To(MatchError(why))
		Expect(d.news()).To(BeEmpty())
		_, err = d.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "th"})
		Expect(err).To(MatchError(fakeagent.ErrNoSession))
		again := d.starts(ctx, "th") // it may be tried again
		d.hears(request("2", "session/new", `{"cwd":"/w","mcpServers":[]}`))
		d.say(answered("2", `{"sessionId":"s-1"}`))
		Expect(<-again).To(Succeed())
	},
		Entry("an error", refused("1", -32000, "Authentication required"), "acp: session/new: Authentication required (code -32000)"),
		Entry("no id", answered("1", `{"x":1}`), `acp: session/new: the answer has no sessionId: {"x":1}`),
		Entry("nothing", answered("1", `null`), `acp: session/new: the answer has no sessionId: null`),
	)

	It("has errors whose code can be read", func(ctx SpecContext) {
		d := drive()
		started := d.starts(ctx, "th")
		d.asks(answered("0", canNothing), request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`))
		d.say(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m","data":{"a":1}}}`)
		var e *acp.Error
		Expect(errors.As(<-started, &e)).To(BeTrue())
		Expect(*e).To(Equal(acp.Error{Code: acp.AuthRequired, Message: "m", Data: json.RawMessage(`{"a":1}`)}))
	})

	It("opens a thread once", func(ctx SpecContext) {
		d := opened(canNothing)
		Expect(<-d.starts(ctx, "th")).To(MatchError("acp: session th is open already; stop it first and wait for its session.exited"))
		other := d.starts(ctx, "other")
		d.line()
		Expect(<-d.starts(ctx, "other")).To(MatchError(ContainSubstring("session other is open already")))
		d.say(answered("2", `{"sessionId":"s-2"}`))
		Expect(<-other).To(Succeed())
	})

	DescribeTable("closes a session that nobody wants any more when it comes:", func(can string, closes bool) {
		d := drive()
		ctx, cancel := context.WithCancel(context.Background())
		started := d.starts(ctx, "th")
		d.asks(answered("0", can), request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`))
		cancel()
		Expect(<-started).To(MatchError(context.Canceled))
		d.hears(notification("$/cancel_request", `{"requestId":1}`))
		d.say(answered("1", `{"sessionId":"s-1"}`))
		if closes {
			d.hears(request("2", "session/close", `{"sessionId":"s-1"}`))
		}
		d.quiet()
		Expect(d.news()).To(BeEmpty())
		_, err := d.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: "th"})
		Expect(err).To(MatchError(fakeagent.ErrNoSession))
	},
		Entry("if the agent can", canAll, true), Entry("or forgets it", canNothing, false))
})

var _ = Describe("A turn over a process", bubble.InBubble, func() {
	It("has turn.started first, then what the agent does in order, and the end last", func() {
		d := prompted(canNothing)
		d.does(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`, chunk("a", ""), chunk("b", ""))
		d.does(`{"sessionUpdate":"plan","entries":[{"content":"x","priority":"high","status":"in_progress"}]}`, chunk("c", ""))
		d.say(answered("2", `{"stopReason":"end_turn"}`))
		d.does(chunk("late", ""))
		Expect(d.news()).To(Equal([]string{
			`1 content.delta m-1-1 {"streamKind":"reasoning_text","delta":"hm"}`,
			`1 content.delta m-1-2 {"streamKind":"assistant_text","delta":"a"}`,
			`1 content.delta m-1-2 {"streamKind":"assistant_text","delta":"b"}`,
			`1 turn.plan.updated {"plan":[{"step":"x","status":"inProgress","priority":"high"}]}`,
			`1 content.delta m-1-3 {"streamKind":"assistant_text","delta":"c"}`,
			`1 turn.completed {"state":"completed"}`,
		}))
		Expect(notes(d.Transcript())).To(Equal([]string{"dropped: agent_message_chunk outside of a turn"}))
	})

	DescribeTable("ends as the agent says:", func(answer, want string) {
		d := prompted(canNothing)
		d.say(answer)
		Expect(d.news()).To(Equal([]string{"1 turn.completed " + want}))
	},
		Entry("end_turn", answered("2", `{"stopReason":"end_turn"}`), `{"state":"completed"}`),
		Entry("cancelled", answered("2", `{"stopReason":"cancelled"}`), `{"state":"interrupted"}`),
		Entry("refusal", answered("2", `{"stopReason":"refusal"}`), `{"state":"failed","errorMessage":"the agent stopped: refusal"}`),
		Entry("max_tokens", answered("2", `{"stopReason":"max_tokens"}`), `{"state":"failed","errorMessage":"the agent stopped: max_tokens"}`),
		Entry("max_turn_requests", answered("2", `{"stopReason":"max_turn_requests"}`), `{"state":"failed","errorMessage":"the agent stopped: max_turn_requests"}`),
		Entry("a reason that there is not", answered("2", `{"stopReason":"bored"}`), `{"state":"failed","errorMessage":"the agent stopped: bored"}`),
		Entry("no reason", answered("2", `{}`), `{"state":"failed","errorMessage":"the agent stopped: no stop reason"}`),
		Entry("null", answered("2", `null`), `{"state":"failed","errorMessage":"the agent stopped: no stop reason"}`),
		Entry("nonsense", answered("2", `[1]`), `{"state":"failed","errorMessage":"the agent answered its prompt with [1]"}`),
		Entry("neither result nor error", `{"jsonrpc":"2.0","id":2}`, `{"state":"failed","errorMessage":"the agent answered its prompt with "}`),
		Entry("an error", refused("2", -32603, "oh"), `{"state":"failed","errorMessage":"oh"}`),
		Entry("an error with a code", refused("2", 429, "slow down"), `{"state":"failed","errorMessage":"slow down","errorCode":429}`),
		Entry("a cancel that nobody asked for", refused("2", -32800, "Request cancelled"), `{"state":"failed","errorMessage":"Request cancelled","errorCode":-32800}`),
		Entry("an error that is none", `{"jsonrpc":"2.0","id":2,"error":"429"}`, `{"state":"failed","errorMessage":"an error that is none of JSON-RPC: \"429\""}`),
		Entry("an error beside a result", `{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"},"error":{"code":1,"message":"oh"}}`, `{"state":"failed","errorMessage":"oh","errorCode":1}`),
		Entry("an error that is null, beside a result", `{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"},"error":null}`, `{"state":"completed"}`),
	)

	DescribeTable("is not ended by", func(line string) {
		d := prompted(canNothing)
		d.say(line)
		Expect(d.news()).To(BeEmpty())
		d.say(answered("2", `{"stopReason":"end_turn"}`))
		Expect(d.news()).To(HaveLen(1))
	},
		Entry("an answer to another id", answered("9", `{"stopReason":"end_turn"}`)),
		Entry("an answer to the id as a text", answered(`"2"`, `{"stopReason":"end_turn"}`)),
		Entry("an answer to what was answered", answered("1", `{"stopReason":"end_turn"}`)),
		Entry("garbage", "Loaded cached credentials."), Entry("a batch", `[`+answered("2", `{"stopReason":"end_turn"}`)+`]`),
		Entry("half a line", `{"jsonrpc":"2.0","id":2,`), Entry("a line of another", `{"type":"log"}`),
		Entry("a notification that there is not", notification("novel", `{}`)), Entry("one with params of another kind", notification("novel", `[]`)),
		Entry("an update without anything", notification("session/update", `{}`)),
		Entry("an update that is wrong", notification("session/update", `{"sessionId":"s-1","update":7}`)),
		Entry("an update of another session", notification("session/update", `{"sessionId":"s-2","update":`+chunk("a", "")+`}`)),
	)

	It("has one at a time in a thread, and none in one that is not open", func(ctx SpecContext) {
		d := prompted(canNothing)
		_, err := d.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "th"})
		Expect(err).To(MatchError(fakeagent.ErrBusy))
		_, err = d.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "x"})
		Expect(err).To(MatchError(fakeagent.ErrNoSession))
		Expect(d.InterruptTurn(ctx, "x", "")).To(MatchError(fakeagent.ErrNoSession))
		Expect(d.StopSession(ctx, "x")).To(MatchError(fakeagent.ErrNoSession))
		Expect(d.RespondToRequest(ctx, "x", "r", fakeagent.Accept)).To(MatchError(fakeagent.ErrNoSession))
		Expect(d.RespondToRequest(ctx, "th", "r", fakeagent.Accept)).To(MatchError(fakeagent.ErrUnknownRequest))
		Expect(d.RespondToUserInput(ctx, "th", "r", nil)).To(MatchError(fakeagent.ErrUnknownRequest))
		_, err = d.ReadThread(ctx, "x")
		Expect(err).To(MatchError(fakeagent.ErrNoSession))
	})

	It("is interrupted by its id or as whatever runs, once, and not by the id of another one", func(ctx SpecContext) {
		d := prompted(canNothing)
		Expect(d.InterruptTurn(ctx, "th", "th-turn-0")).To(Succeed())
		d.quiet()
		Expect(d.InterruptTurn(ctx, "th", "th-turn-1")).To(Succeed())
		d.hears(notification("session/cancel", `{"sessionId":"s-1"}`))
		Expect(d.InterruptTurn(ctx, "th", "")).To(Succeed())
		d.quiet()
		d.does(chunk("still", ""))
		d.say(answered("2", `{"stopReason":"cancelled"}`))
		Expect(d.news()).To(Equal([]string{`1 content.delta m-1-1 {"streamKind":"assistant_text","delta":"still"}`, `1 turn.completed {"state":"interrupted"}`}))
		Expect(d.InterruptTurn(ctx, "th", "")).To(Succeed())
		d.quiet()
	})

	It("that a subscriber interrupts when it begins is cancelled after its prompt", func(ctx SpecContext) {
		d := opened(canNothing)
		interrupted := make(chan bool)
		d.Subscribe(func(e event.Event) {
			if _, ok := e.Payload.(event.TurnStarted); ok {
				Expect(d.InterruptTurn(ctx, "th", e.TurnID)).To(Succeed())
				Expect(d.InterruptTurn(ctx, "th", "")).To(Succeed())
				close(interrupted)
			}
		})
		long := strings.Repeat("x", 4<<20) // so that the subscriber is faster than who writes this
		_, err := d.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "th", Text: long})
		Expect(err).NotTo(HaveOccurred())
		<-interrupted
		Expect(d.line()).To(HavePrefix(`{"jsonrpc":"2.0","id":2,"method":"session/prompt",`))
		d.hears(notification("session/cancel", `{"sessionId":"s-1"}`))
		d.quiet()
	})

	DescribeTable("that was interrupted ends as the agent says:", func(ctx SpecContext, answer, want string) {
		d := prompted(canNothing)
		Expect(d.InterruptTurn(ctx, "th", "")).To(Succeed())
		d.line()
		d.say(answer)
		Expect(d.news()).To(Equal([]string{"1 turn.completed " + want}))
	},
		Entry("it was faster", answered("2", `{"stopReason":"end_turn"}`), `{"state":"completed"}`),
		Entry("with the error for that", refused("2", -32800, "Request cancelled"), `{"state":"interrupted"}`))

	It("is interrupted when its context ends", func() {
		d := opened(canNothing)
		ctx, cancel := context.WithCancel(context.Background())
		_, err := d.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "th", Text: "x"})
		Expect(err).NotTo(HaveOccurred())
		d.line()
		cancel()
		d.hears(notification("session/cancel", `{"sessionId":"s-1"}`))
		d.say(answered("2", `{"stopReason":"cancelled"}`))
		d.news()
		d.send("3", "more")
		d.quiet()
	})

	It("is not touched when the context of an earlier one ends", func() {
		d := opened(canNothing)
		ctx, cancel := context.WithCancel(context.Background())
		_, err := d.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "th", Text: "x"})
		Expect(err).NotTo(HaveOccurred())
		d.line()
		d.say(answered("2", `{"stopReason":"end_turn"}`))
		d.news()
		d.send("3", "more")
		cancel()
		d.quiet()
	})

	It("sends what goes with the prompt", func(ctx SpecContext) {
		d := opened(canNothing)
		_, err := d.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "th", Attachments: []fakeagent.Attachment{
			{MediaType: "image/png", Data: []byte{1}}, {MediaType: "audio/wav", Data: []byte{2}}, {URI: "file:///a", MediaType: "text/x"}, {Name: "n", URI: "file:///a"},
			{URI: "file:///b", MediaType: "text/x", Data: []byte("b")}, {URI: "file:///c", MediaType: "application/json", Data: []byte("{}")}, {URI: "file:///d", Data: []byte{4}},
		}})
		Expect(err).NotTo(HaveOccurred())
		d.hears(request("2", "session/prompt", `{"sessionId":"s-1","prompt":[`+
			`{"type":"image","data":"AQ==","mimeType":"image/png"},{"type":"audio","data":"Ag==","mimeType":"audio/wav"},`+
			`{"type":"resource_link","uri":"file:///a","name":"file:///a","mimeType":"text/x"},{"type":"resource_link","uri":"file:///a","name":"n"},`+
			`{"type":"resource","resource":{"uri":"file:///b","text":"b","mimeType":"text/x"}},{"type":"resource","resource":{"uri":"file:///c","text":"{}","mimeType":"application/json"}},`+
			`{"type":"resource","resource":{"uri":"file:///d","blob":"BA=="}}]}`))
		d.say(answered("2", `{"stopReason":"end_turn"}`))
		_, err = d.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "th"})
		if err != nil { // the answer may not have been read yet
			synctest.Wait()
			_, err = d.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "th"})
		}
		Expect(err).NotTo(HaveOccurred())
		d.hears(request("3", "session/prompt", `{"sessionId":"s-1","prompt":[{"type":"text","text":""}]}`))
	})

	It("can be read while it runs, and afterwards", func(ctx SpecContext) {
		d := prompted(canNothing)
		d.does(chunk("a", ""))
		d.news()
		th, err := d.ReadThread(ctx, "th")
		Expect(err).NotTo(HaveOccurred())
		items := timeline.Items{timeline.UserMessage{Text: "hi"}, timeline.AssistantMessage{Text: "a", MessageID: "m-1-1"}}
		Expect(th).To(Equal(fakeagent.Thread{ID: "th", Doing: "a prompt that the agent has not answered yet", Turns: []fakeagent.Turn{{ID: "th-turn-1", Items: items}}}))
		d.say(answered("2", `{"stopReason":"end_turn"}`))
		d.news()
		Expect(d.ReadThread(ctx, "th")).To(Equal(fakeagent.Thread{ID: "th", Turns: []fakeagent.Turn{{ID: "th-turn-1", Items: items}}}))
	})

	It("waits for no agent that does not read: commands return at once", func(ctx SpecContext) {
		d := &driven{process: silent()}
		d.Provider = acp.NewProvider(&deaf{d.process, &stuck{closed: make(chan struct{})}})
		d.Subscribe(d.see)
		DeferCleanup(func() {
			d.die(0, nil)
			Expect(d.Provider.Close()).To(Succeed())
		})
		started := d.starts(ctx, "th")
		synctest.Wait()
		d.say(answered("0", canNothing))
		synctest.Wait()
		d.say(answered("1", `{"sessionId":"s-1"}`))
		Expect(<-started).To(Succeed())
		began := time.Now()
		_, err := d.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "th"})
		Expect(err).NotTo(HaveOccurred())
		d.say(request("7", "session/request_permission", `{"sessionId":"s-1","toolCall":{"toolCallId":"c"},"options":[{"optionId":"y","kind":"allow_once"}]}`), request("8", "novel", `{}`))
		d.news()
		Expect(d.RespondToRequest(ctx, "th", "req-1", fakeagent.Accept)).To(Succeed())
		Expect(d.InterruptTurn(ctx, "th", "")).To(Succeed())
		d.say(answered("2", `{"stopReason":"cancelled"}`))
		Expect(d.news()).To(ContainElement(`1 turn.completed {"state":"interrupted"}`))
		Expect(time.Since(began)).To(BeZero())
	})
})

// deaf is a process whose stdin nobody reads.
type deaf struct {
	*process
	stdin io.WriteCloser
}

func (d *deaf) Stdin() io.WriteCloser { return d.stdin }

type stuck struct {
	once   sync.Once
	closed chan struct{}
}

func (s *stuck) Write([]byte) (int, error) {
	<-s.closed
	return 0, os.ErrClosed
}

func (s *stuck) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

var _ = Describe("Updates", bubble.InBubble, func() {
	DescribeTable("become events:", func(updates []string, want ...string) {
		d := prompted(canNothing)
		d.does(updates...)
		for i, w := range want {
			want[i] = "1 " + w
		}
		Expect(d.news()).To(Equal(want))
	},
		Entry("a message with an id", []string{chunk("a", `,"messageId":"x"`), chunk("b", `,"messageId":"x"`), chunk("c", `,"messageId":"y"`)},
			`content.delta x {"streamKind":"assistant_text","delta":"a"}`, `content.delta x {"streamKind":"assistant_text","delta":"b"}`, `content.delta y {"streamKind":"assistant_text","delta":"c"}`),
		Entry("a thought without a type", []string{`{"sessionUpdate":"agent_thought_chunk","content":{"text":"hm"}}`}, `content.delta m-1-1 {"streamKind":"reasoning_text","delta":"hm"}`),
		Entry("a message that is no text", []string{
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"AQ==","mimeType":"image/png"}}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","uri":"u","name":"n"}}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":{"uri":"u","text":"t"}}}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":{"uri":"u","blob":"AQ=="}}}`},
			`content.delta m-1-1 {"streamKind":"assistant_text","delta":"[image image/png]"}`, `content.delta m-1-1 {"streamKind":"assistant_text","delta":"[n](u)"}`,
			`content.delta m-1-1 {"streamKind":"assistant_text","delta":"t"}`, `content.delta m-1-1 {"streamKind":"assistant_text","delta":"[resource]"}`),
		Entry("usage, which does not part a message", []string{chunk("a", ""), `{"sessionUpdate":"usage_update","used":5,"size":9,"cost":{"amount":1,"currency":"USD"}}`, chunk("b", "")},
			`content.delta m-1-1 {"streamKind":"assistant_text","delta":"a"}`, `thread.token-usage.updated {"usage":{"usedTokens":5,"maxTokens":9}}`, `content.delta m-1-1 {"streamKind":"assistant_text","delta":"b"}`),
		Entry("a call, which parts a message", []string{chunk("a", ""), `{"sessionUpdate":"tool_call","toolCallId":"c","title":"x"}`, chunk("b", "")},
			`content.delta m-1-1 {"streamKind":"assistant_text","delta":"a"}`,
			`item.started c {"itemType":"dynamic_tool_call","status":"inProgress","title":"x","data":{"type":"unknown","input":null,"output":null}}`,
			`content.delta m-1-2 {"streamKind":"assistant_text","delta":"b"}`),
		Entry("usage as we tell it", []string{`{"sessionUpdate":"usage_update","used":5,"size":9,"_meta":{"understudy":{"usage":{"usedTokens":5,"inputTokens":3}}}}`},
			`thread.token-usage.updated {"usage":{"usedTokens":5,"inputTokens":3}}`),
		Entry("notices", []string{`{"sessionUpdate":"notice","severity":"error","title":"oh"}`, `{"sessionUpdate":"notice","severity":"info","title":"well"}`},
			`runtime.error {"message":"oh"}`, `runtime.warning {"message":"well"}`),
		Entry("a title", []string{`{"sessionUpdate":"session_info_update","title":"a"}`, `{"sessionUpdate":"session_info_update","updatedAt":"x"}`}, `thread.metadata.updated {"name":"a"}`),
		Entry("a compaction", []string{
			`{"sessionUpdate":"compaction_update","compactionId":"c","status":"in_progress"}`,
			`{"sessionUpdate":"compaction_summary_chunk","compactionId":"c","content":{"type":"text","text":"a"}}`,
			`{"sessionUpdate":"compaction_summary_chunk","compactionId":"c","content":{"type":"text","text":"b"}}`,
			`{"sessionUpdate":"compaction_update","compactionId":"c","status":"completed"}`},
			`item.started c {"itemType":"context_compaction","status":"inProgress"}`, `item.completed c {"itemType":"context_compaction","status":"completed","detail":"ab"}`),
		Entry("a call that begins with an update", []string{`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","title":"x"}`},
			`item.started c {"itemType":"dynamic_tool_call","status":"inProgress","title":"x","data":{"type":"unknown","input":null,"output":null}}`,
			`item.completed c {"itemType":"dynamic_tool_call","status":"completed","title":"x","data":{"type":"unknown","input":null,"output":null}}`),
		Entry("a call that is told piece by piece", []string{
			`{"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","kind":"execute","status":"pending"}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"c","content":[{"type":"content","content":{"type":"text","text":"a"}}],"title":null}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed"}`},
			`item.started c {"itemType":"command_execution","status":"inProgress","title":"Bash","data":{"type":"shell","command":"ls"}}`,
			`item.updated c {"itemType":"command_execution","status":"inProgress","title":"Bash","data":{"type":"shell","command":"ls","output":"a"}…`,
			`item.completed c {"itemType":"command_execution","status":"failed","title":"Bash","data":{"type":"shell","command":"ls","output":"a"},"er…`),
	)

	DescribeTable("are dropped, which the transcript says:", func(u, note string) {
		d := prompted(canNothing)
		d.does(u)
		Expect(d.news()).To(BeEmpty())
		Expect(notes(d.Transcript())).To(Equal([]string{"dropped: " + note}))
	},
		Entry(nil, `{"sessionUpdate":"novel"}`, "novel"), Entry(nil, `{"sessionUpdate":"available_commands_update","availableCommands":[]}`, "available_commands_update"),
		Entry(nil, `{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hi"}}`, "user_message_chunk"),
		Entry(nil, `{"sessionUpdate":7}`, "an update: sessionUpdate must be a string, is number"), Entry(nil, `7`, "an update: must be an object, is number"),
		Entry(nil, `{"sessionUpdate":"agent_message_chunk","content":"a"}`, "agent_message_chunk: must be an object, is string"),
		Entry(nil, `{"sessionUpdate":"tool_call","title":"x"}`, "tool_call without a toolCallId"),
		Entry(nil, `{"sessionUpdate":"tool_call","toolCallId":"c","content":7}`, "tool_call: content must be an array, is number"),
		Entry(nil, `{"sessionUpdate":"compaction_update","compactionId":"c","status":"failed"}`, "a compaction that is failed"),
	)

	It("of a call that is over change nothing any more", func() {
		d := prompted(canNothing)
		d.does(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"x","status":"completed"}`)
		Expect(d.news()).To(HaveLen(2))
		d.does(`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed"}`)
		Expect(d.news()).To(BeEmpty())
		Expect(notes(d.Transcript())).To(Equal([]string{"dropped: tool_call_update of a call that is over"}))
	})

	It("of other things under the ids of an earlier turn are of other things", func(ctx SpecContext) {
		d := prompted(canNothing)
		both := func() {
			d.does(chunk("a", `,"messageId":"m"`), chunk("b", `,"messageId":"m"`), `{"sessionUpdate":"tool_call","toolCallId":"c","title":"x"}`, `{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"y"}`)
			d.say(request("7", "session/request_permission", `{"sessionId":"s-1","toolCall":{"toolCallId":"c"},"options":[]}`))
		}
		ids := func() (all []string) {
			for _, e := range d.news() {
				all = append(all, strings.Fields(e)[2])
			}
			return all
		}
		both()
		Expect(ids()).To(Equal([]string{"m", "m", "c", "c", "c"}))
		d.say(answered("2", `{"stopReason":"end_turn"}`))
		d.line()
		d.news()
		d.send("3", "hi")
		both()
		Expect(ids()).To(Equal([]string{"m~2", "m~2", "c~2", "c~2", "c~2"}))
		d.say(answered("3", `{"stopReason":"end_turn"}`))
		Expect(ids()).To(HaveExactElements("c~2", "c~2", "{\"state\":\"completed\"}"))
	})

	It("about the session may come between turns", func() {
		d := opened(canNothing)
		d.does(`{"sessionUpdate":"session_info_update","title":"a"}`, `{"sessionUpdate":"usage_update","used":5,"size":9}`, `{"sessionUpdate":"notice","severity":"error","title":"oh"}`, chunk("a", ""))
		Expect(d.news()).To(Equal([]string{`thread.metadata.updated {"name":"a"}`, `thread.token-usage.updated {"usage":{"usedTokens":5,"maxTokens":9}}`, `runtime.error {"message":"oh"}`}))
		d.send("2", "hi")
		th, err := d.ReadThread(context.Background(), "th")
		Expect(err).NotTo(HaveOccurred())
		Expect(th.Turns[0].Items).To(Equal(timeline.Items{timeline.UserMessage{Text: "hi"}}))
	})

	It("may come before the session is answered, and are told after its beginning", func(ctx SpecContext) {
		d := drive()
		started := d.starts(ctx, "th")
		d.asks(answered("0", canNothing), request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`))
		d.does(`{"sessionUpdate":"session_info_update","title":"a"}`, `{"sessionUpdate":"available_commands_update","availableCommands":[]}`)
		d.say(answered("1", `{"sessionId":"s-1"}`))
		Expect(<-started).To(Succeed())
		Expect(d.news()).To(Equal([]string{"session.started", `thread.metadata.updated {"name":"a"}`}))
	})

	It("of sessions that nobody opens are forgotten after the first thousand", func(ctx SpecContext) {
		d := drive()
		started := d.starts(ctx, "th")
		d.asks(answered("0", canNothing), request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`))
		d.does(`{"sessionUpdate":"session_info_update"}`, `{"sessionUpdate":"session_info_update"}`) // which count no more when it is opened
		d.say(answered("1", `{"sessionId":"s-1"}`))
		Expect(<-started).To(Succeed())
		for i := range 1003 {
			d.say(notification("session/update", fmt.Sprintf(`{"sessionId":"x-%d","update":{}}`, i)))
		}
		d.news()
		Expect(notes(d.Transcript())).To(Equal([]string{
			`dropped: an update of session "x-1000", which nobody has opened`, `dropped: an update of session "x-1001", which nobody has opened`, `dropped: an update of session "x-1002", which nobody has opened`}))
	})

	DescribeTable("of agents in the field become", func(call string, want timeline.ToolCall) {
		d := prompted(canNothing)
		want.CallID = "c"
		d.does(`{"sessionUpdate":"tool_call","toolCallId":"c",` + call + `}`)
		d.news()
		th, err := d.ReadThread(context.Background(), "th")
		Expect(err).NotTo(HaveOccurred())
		Expect(th.Turns[0].Items[1]).To(Equal(want))
	},
		Entry("a command in rawInput", `"title":"Run ls","kind":"execute","rawInput":{"command":"ls"}`, timeline.ToolCall{Name: "Bash", Detail: timeline.Shell{Command: "ls"}, Status: timeline.Running}),
		Entry("a command in words", `"title":"Run ls","kind":"execute","rawInput":{"command":["ls","-l"]}`, timeline.ToolCall{Name: "Bash", Detail: timeline.Shell{Command: "ls -l"}, Status: timeline.Running}),
		Entry("a command in the title", `"title":"ls","kind":"execute","name":"shell"`, timeline.ToolCall{Name: "shell", Detail: timeline.Shell{Command: "ls"}, Status: timeline.Running}),
		Entry("a command with its output and code", `"title":"ls","kind":"execute","status":"completed","rawOutput":{"output":"a","exitCode":0}`,
			timeline.ToolCall{Name: "Bash", Detail: timeline.Shell{Command: "ls", Output: "a", ExitCode: timeline.Exited(0)}, Status: timeline.Completed}),
		Entry("a command with its output as content", `"title":"ls","kind":"execute","status":"failed","rawOutput":{"exit_code":1},"content":[{"type":"content","content":{"type":"text","text":"a"}},{"type":"terminal","terminalId":"t"},{"type":"content","content":{"type":"text","text":"b"}}]`,
			timeline.ToolCall{Name: "Bash", Detail: timeline.Shell{Command: "ls", Output: "a\nb", ExitCode: timeline.Exited(1)}, Status: timeline.Failed, Error: "a\nb"}),
		Entry("reading a location", `"title":"Read a","kind":"read","status":"completed","locations":[{"path":"/a","line":1}],"content":[{"type":"content","content":{"type":"text","text":"x"}}]`,
			timeline.ToolCall{Name: "Read", Detail: timeline.Read{FilePath: "/a", Content: "x"}, Status: timeline.Completed}),
		Entry("reading a path", `"title":"Read a","kind":"read","rawInput":{"path":"/a"},"locations":[]`, timeline.ToolCall{Name: "Read", Detail: timeline.Read{FilePath: "/a"}, Status: timeline.Running}),
		Entry("reading who knows what", `"title":"Look","kind":"read"`, timeline.ToolCall{Name: "Look", Detail: timeline.Unknown{}, Status: timeline.Running}),
		Entry("a file that is new", `"title":"x","kind":"edit","content":[{"type":"diff","path":"/a","oldText":null,"newText":"x"}]`, timeline.ToolCall{Name: "Write", Detail: timeline.Write{FilePath: "/a", Content: "x"}, Status: timeline.Running}),
		Entry("a file that changes", `"title":"x","kind":"edit","content":[{"type":"content","content":{"type":"text","text":"."}},{"type":"diff","path":"/a","oldText":"1","newText":"2"}]`,
			timeline.ToolCall{Name: "Edit", Detail: timeline.Edit{FilePath: "/a", OldString: "1", NewString: "2"}, Status: timeline.Running}),
		Entry("a file in rawInput", `"title":"x","kind":"edit","rawInput":{"file_path":"/a","old_string":"1","new_string":"2"}`, timeline.ToolCall{Name: "Edit", Detail: timeline.Edit{FilePath: "/a", OldString: "1", NewString: "2"}, Status: timeline.Running}),
		Entry("a new file in rawInput", `"title":"x","kind":"edit","rawInput":{"file_path":"/a","content":"1"}`, timeline.ToolCall{Name: "Write", Detail: timeline.Write{FilePath: "/a", Content: "1"}, Status: timeline.Running}),
		Entry("a change of which only the place is known", `"title":"x","kind":"edit","locations":[{"path":"/a"}]`, timeline.ToolCall{Name: "Edit", Detail: timeline.Edit{FilePath: "/a"}, Status: timeline.Running}),
		Entry("a change of which nothing is known", `"title":"x","kind":"edit"`, timeline.ToolCall{Name: "x", Detail: timeline.Unknown{}, Status: timeline.Running}),
		Entry("a search", `"title":"Find","kind":"search","rawInput":{"pattern":"q"},"content":[{"type":"content","content":{"type":"text","text":"x"}}]`, timeline.ToolCall{Name: "Find", Detail: timeline.Search{Query: "q", Content: "x"}, Status: timeline.Running}),
		Entry("a search for a query", `"title":"Find","kind":"search","rawInput":{"query":"q"}`, timeline.ToolCall{Name: "Find", Detail: timeline.Search{Query: "q"}, Status: timeline.Running}),
		Entry("a page", `"title":"Get","kind":"fetch","rawInput":{"url":"u"},"content":[{"type":"content","content":{"type":"text","text":"x"}}]`, timeline.ToolCall{Name: "Get", Detail: timeline.Fetch{URL: "u", Result: "x"}, Status: timeline.Running}),
		Entry("anything else, as it came", `"title":"Do","kind":"other","rawInput":{ "a": 1 },"rawOutput":null,"content":[{"type":"content","content":{"type":"text","text":"x"}}]`,
			timeline.ToolCall{Name: "Do", Detail: timeline.Unknown{Input: json.RawMessage(`{"a":1}`), Output: json.RawMessage(`"x"`)}, Status: timeline.Running}),
		Entry("a kind that there is not", `"title":"Do","kind":"dance","rawInput":"x","rawOutput":[ 1 ],"status":"completed"`,
			timeline.ToolCall{Name: "Do", Detail: timeline.Unknown{Input: json.RawMessage(`"x"`), Output: json.RawMessage(`[1]`)}, Status: timeline.Completed}),
		Entry("what failed without a word", `"title":"Do","status":"failed"`, timeline.ToolCall{Name: "Do", Detail: timeline.Unknown{}, Status: timeline.Failed, Error: "failed"}),
		Entry("what we have told ourselves", `"title":"x","kind":"read","status":"failed","_meta":{"understudy":{"name":"T","detail":{"type":"plan","text":"1."},"error":"oh"}}`,
			timeline.ToolCall{Name: "T", Detail: timeline.Plan{Text: "1."}, Status: timeline.Failed, Error: "oh"}),
		Entry("what we have told in a way that is not known", `"title":"x","kind":"read","_meta":{"understudy":{"name":"T","detail":7}}`, timeline.ToolCall{Name: "x", Detail: timeline.Unknown{}, Status: timeline.Running}),
		Entry("a tool of a server", `"title":"mcp__a__b","_meta":null`, timeline.ToolCall{Name: "mcp__a__b", Detail: timeline.Unknown{}, Status: timeline.Running}),
	)

	DescribeTable("leave calls open, which the end of the turn closes:", func(end, status string) {
		d := prompted(canNothing)
		d.does(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","kind":"execute"}`, `{"sessionUpdate":"tool_call","toolCallId":"b","title":"x"}`)
		d.news()
		d.say(end)
		d.news()
		th, err := d.ReadThread(context.Background(), "th")
		Expect(err).NotTo(HaveOccurred())
		Expect(th.Turns[0].Items[1:3]).To(HaveEach(HaveField("Error", status)))
	},
		Entry("completed", answered("2", `{"stopReason":"end_turn"}`), "the turn ended before the call did"),
		Entry("cancelled", answered("2", `{"stopReason":"cancelled"}`), "canceled"),
		Entry("failed", refused("2", 1, "oh"), "oh"),
	)
})

var _ = Describe("A permission over a process", bubble.InBubble, func() {
	ask := func(id, options string) string {
		return request(id, "session/request_permission", `{"sessionId":"s-1","toolCall":{"toolCallId":"c","title":"rm x","kind":"execute"},"options":[`+options+`]}`)
	}
	const three = `{"optionId":"y","name":"Y","kind":"allow_once"},{"optionId":"yy","name":"YY","kind":"allow_always"},{"optionId":"n","name":"N","kind":"reject_once"}`

	DescribeTable("is answered with the option of that kind:", func(ctx SpecContext, options, offered string, decision fakeagent.Decision, outcome string) {
		d := prompted(canNothing)
		d.say(ask("7", options))
		Expect(d.news()).To(ContainElement(`1 request.opened c req-1 {"requestType":"command_execution_approval","detail":"rm x","options":[` + offered + `]}`))
		Expect(d.RespondToRequest(ctx, "th", "req-1", decision)).To(Succeed())
		d.hears(answered("7", `{"outcome":`+outcome+`}`))
		d.quiet()
		Expect(d.news()).To(Equal([]string{`1 request.resolved c req-1 {"requestType":"command_execution_approval","decision":"` + string(decision) + `"}`}))
		Expect(d.RespondToRequest(ctx, "th", "req-1", decision)).To(MatchError(fakeagent.ErrUnknownRequest))
	},
		Entry("accept", three, `"accept","acceptForSession","decline"`, fakeagent.Accept, `{"outcome":"selected","optionId":"y"}`),
		Entry("always", three, `"accept","acceptForSession","decline"`, fakeagent.AcceptForSession, `{"outcome":"selected","optionId":"yy"}`),
		Entry("decline", three, `"accept","acceptForSession","decline"`, fakeagent.Decline, `{"outcome":"selected","optionId":"n"}`),
		Entry("decline for ever", `{"optionId":"nn","kind":"reject_always"}`, `"decline"`, fakeagent.Decline, `{"outcome":"selected","optionId":"nn"}`),
		Entry("decline once rather", `{"optionId":"nn","kind":"reject_always"},{"optionId":"n","kind":"reject_once"}`, `"decline"`, fakeagent.Decline, `{"outcome":"selected","optionId":"n"}`),
		Entry("a kind that there is not, which is taken for a refusal", `{"optionId":"?","kind":"allow_sometimes"}`, `"decline"`, fakeagent.Decline, `{"outcome":"selected","optionId":"?"}`),
		Entry("the first of two of a kind", `{"optionId":"1","kind":"allow_once"},{"optionId":"2","kind":"allow_once"}`, `"accept"`, fakeagent.Accept, `{"outcome":"selected","optionId":"1"}`),
		Entry("an id that is empty", `{"optionId":"","kind":"allow_once"}`, `"accept"`, fakeagent.Accept, `{"outcome":"selected","optionId":""}`),
	)

	It("that is declined ends a call about which the agent says no more", func(ctx SpecContext) {
		d := prompted(canNothing)
		d.say(ask("7", three))
		d.news()
		Expect(d.RespondToRequest(ctx, "th", "req-1", fakeagent.Decline)).To(Succeed())
		d.line()
		d.news()
		d.say(answered("2", `{"stopReason":"end_turn"}`))
		Expect(d.news()).To(HaveExactElements(
			And(HavePrefix(`1 item.completed c {"itemType":"command_execution","status":"declined"`), ContainSubstring(`"error":"dec`)),
			`1 turn.completed {"state":"completed"}`,
		))
	})

	It("fails the call as canceled where the turn was, also if the agent says that it went well", func(ctx SpecContext) {
		d := prompted(canNothing)
		d.say(ask("7", three))
		d.news()
		Expect(d.InterruptTurn(ctx, "th", "")).To(Succeed())
		d.line()
		d.line()
		d.news()
		d.say(answered("2", `{"stopReason":"end_turn"}`))
		Expect(d.news()[0]).To(ContainSubstring(`"error":"cance`))
	})

	It("shows what it is about before it asks, where that is something else than the call was so far", func() {
		d := prompted(canNothing)
		d.does(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"Edit","kind":"edit","locations":[{"path":"/before"}]}`)
		d.news()
		d.say(request("7", "session/request_permission", `{"sessionId":"s-1","toolCall":{"toolCallId":"c","locations":[{"path":"/after"}]},"options":[]}`))
		Expect(d.news()).To(HaveExactElements(
			And(HavePrefix("1 item.updated c "), ContainSubstring(`"filePath":"/after"`)),
			HavePrefix("1 request.opened c req-1 "),
		))
		d.say(request("8", "session/request_permission", `{"sessionId":"s-1","toolCall":{"toolCallId":"c","status":"pending"},"options":[]}`))
		Expect(d.news()).To(HaveExactElements(HavePrefix("1 request.opened c req-2 ")))
	})

	It("refuses a decision that is not offered, and stays open", func(ctx SpecContext) {
		d := prompted(canNothing)
		d.say(ask("7", `{"optionId":"n","kind":"reject_once"},{"optionId":"y","kind":"allow_once"}`))
		d.news()
		Expect(d.RespondToRequest(ctx, "th", "req-1", fakeagent.AcceptForSession)).To(MatchError(`acp: request req-1 offers decline, accept, cancel, not "acceptForSession"`))
		Expect(d.RespondToRequest(ctx, "th", "req-1", fakeagent.Accept)).To(Succeed())
	})

	It("that is cancelled cancels the prompt", func(ctx SpecContext) {
		d := prompted(canNothing)
		d.say(ask("7", ``))
		Expect(d.news()).To(ContainElement(HaveSuffix(`"options":["cancel"]}`)))
		Expect(d.RespondToRequest(ctx, "th", "req-1", fakeagent.Cancel)).To(Succeed())
		d.hears(answered("7", `{"outcome":{"outcome":"cancelled"}}`), notification("session/cancel", `{"sessionId":"s-1"}`))
	})

	It("is cancelled with the prompt, with all others, in order", func(ctx SpecContext) {
		d := prompted(canNothing)
		for i := range 12 {
			d.say(ask(fmt.Sprint(i), three))
		}
		d.news()
		Expect(d.InterruptTurn(ctx, "th", "")).To(Succeed())
		d.hears(notification("session/cancel", `{"sessionId":"s-1"}`))
		for i := range 12 {
			d.hears(answered(fmt.Sprint(i), `{"outcome":{"outcome":"cancelled"}}`))
		}
		d.say(answered("2", `{"stopReason":"cancelled"}`))
		Expect(d.news()).To(HaveLen(14)) // and the call, and the end
	})

	It("that is open when the prompt is answered is cancelled before the end of the turn", func() {
		d := prompted(canNothing)
		d.say(ask("7", three))
		d.news()
		d.say(answered("2", `{"stopReason":"end_turn"}`))
		d.hears(answered("7", `{"outcome":{"outcome":"cancelled"}}`))
		Expect(d.news()).To(HaveExactElements(HavePrefix("1 request.resolved"), HavePrefix("1 item.completed c"), `1 turn.completed {"state":"completed"}`))
	})

	It("can be withdrawn by the agent", func(ctx SpecContext) {
		d := prompted(canNothing)
		d.say(ask("7", three), notification("$/cancel_request", `{"requestId":8}`), notification("$/cancel_request", `{"requestId":7}`))
		d.hears(answered("7", `{"outcome":{"outcome":"cancelled"}}`))
		Expect(d.news()).To(ContainElement(`1 request.resolved c req-1 {"requestType":"command_execution_approval","decision":"timeout"}`))
		Expect(d.RespondToRequest(ctx, "th", "req-1", fakeagent.Accept)).To(MatchError(fakeagent.ErrUnknownRequest))
	})

	It("is told from another one with its id, and from our own request with its id", func(ctx SpecContext) {
		d := prompted(canNothing)
		d.say(ask("2", `{"optionId":"a","kind":"allow_once"}`), ask("2", `{"optionId":"b","kind":"allow_once"}`))
		d.news()
		Expect(d.RespondToRequest(ctx, "th", "req-2", fakeagent.Accept)).To(Succeed())
		Expect(d.RespondToRequest(ctx, "th", "req-1", fakeagent.Accept)).To(Succeed())
		d.hears(answered("2", `{"outcome":{"outcome":"selected","optionId":"b"}}`), answered("2", `{"outcome":{"outcome":"selected","optionId":"a"}}`))
		d.say(answered("2", `{"stopReason":"end_turn"}`))
		Expect(d.news()).To(ContainElement(`1 turn.completed {"state":"completed"}`))
	})

	DescribeTable("is for a call of a kind:", func(call, want string) {
		d := prompted(canNothing)
		d.say(request("7", "session/request_permission", `{"sessionId":"s-1","toolCall":{"toolCallId":"c",`+call+`},"options":[{"optionId":"y","kind":"allow_once"}]}`))
		Expect(d.news()).To(ContainElement(ContainSubstring(`"requestType":"` + want + `"`)))
	},
		Entry(nil, `"kind":"edit","locations":[{"path":"/a"}]`, "file_change_approval"), Entry(nil, `"title":"x"`, "dynamic_tool_call_approval"))

	DescribeTable("is refused:", func(params, why string) {
		d := opened(canNothing)
		d.say(request("7", "session/request_permission", params))
		d.hears(refused("7", -32602, "Invalid params: "+why))
	},
		Entry("of a session that there is not", `{"sessionId":"x"}`, `no prompt of session "x" runs`),
		Entry("while no prompt runs", `{"sessionId":"s-1","toolCall":{"toolCallId":"c"}}`, `no prompt of session "s-1" runs`),
		Entry("without a call", `{"sessionId":"s-1"}`, `toolCall.toolCallId is missing`),
		Entry("with wrong options", `{"sessionId":"s-1","toolCall":{"toolCallId":"c"},"options":7}`, `options must be an array, is number`),
		Entry("with wrong params", `[]`, `must be an object, is array`),
	)

	It("is all that an agent may ask for", func() {
		d := prompted(canNothing)
		d.say(request(`"a"`, "fs/read_text_file", `{"sessionId":"s-1","path":"/a"}`), notification("session/request_permission", `{"sessionId":"s-1"}`))
		d.hears(refused(`"a"`, -32601, `Method not found: "fs/read_text_file"`))
		d.quiet()
	})
})

var _ = Describe("The end of an agent's process", bubble.InBubble, func() {
	DescribeTable("ends the turn, and the session:", func(how func(*driven), after time.Duration, why string) {
		d := prompted(canNothing)
		began := time.Now()
		how(d)
		time.Sleep(after) // the exact time, on virtual time
		Expect(d.news()).To(Equal([]string{`1 turn.completed {"state":"failed","errorMessage":"` + why + `"}`, `session.exited {"reason":"` + why + `","exitKind":"error"}`}))
		Expect(time.Since(began)).To(Equal(after))
		_, err := d.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: "th"})
		Expect(err).To(MatchError(fakeagent.ErrNoSession))
		Expect(<-d.starts(context.Background(), "th")).To(MatchError("acp: " + why))
	},
		Entry("an exit", func(d *driven) { d.die(1, nil) }, time.Duration(0), "the agent exited with code 1"),
		Entry("an exit with success", func(d *driven) { d.die(0, nil) }, time.Duration(0), "the agent exited with code 0"),
		Entry("a signal", func(d *driven) { d.die(137, syscall.SIGKILL) }, time.Duration(0), "the agent was killed by SIGKILL"),
		Entry("an exit that leaves the output open", func(d *driven) { d.exit(3, nil) }, 2*time.Second, "the agent exited with code 3"),
		Entry("an output that ends, of a process that lives on", func(d *driven) { _ = d.in.Close() }, 2*time.Second, "the agent closed its output"),
		Entry("an output that ends, and an exit a second later", func(d *driven) {
			_ = d.in.Close()
			time.AfterFunc(time.Second, func() { d.exit(4, nil) })
		}, time.Second, "the agent exited with code 4"),
	)

	It("closes both pipes, so that no goroutine is left, and what is still written goes nowhere", func() {
		d := prompted(canNothing)
		d.exit(3, nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		_, err := io.WriteString(d.in, "x")
		Expect(err).To(MatchError(syscall.EPIPE))
		_, err = d.stdin.Write([]byte("x"))
		Expect(err).To(MatchError(os.ErrClosed))
	})

	It("comes after what was written before it", func() {
		d := prompted(canNothing)
		d.does(chunk("a", ""))
		d.say(answered("2", `{"stopReason":"end_turn"}`))
		d.die(1, nil)
		Expect(d.news()).To(HaveExactElements(HavePrefix("1 content.delta"), `1 turn.completed {"state":"completed"}`, HavePrefix("session.exited")))
	})

	It("may come behind an answer without a line end", func() {
		d := prompted(canNothing)
		_, err := io.WriteString(d.in, answered("2", `{"stopReason":"end_turn"}`))
		Expect(err).NotTo(HaveOccurred())
		d.die(0, nil)
		Expect(d.news()).To(HaveExactElements(`1 turn.completed {"state":"completed"}`, HavePrefix("session.exited")))
	})

	It("is an error between turns, too, unless it was asked for", func() {
		d := opened(canNothing)
		d.die(1, nil)
		Expect(d.news()).To(Equal([]string{`session.exited {"reason":"the agent exited with code 1","exitKind":"error"}`}))

		d = opened(canNothing)
		d.die(0, nil)
		Expect(d.news()).To(Equal([]string{`session.exited {"reason":"the agent exited with code 0","exitKind":"error"}`}))

		d = opened(canNothing)
		closed := begin(func() (int, error) { return 0, d.Provider.Close() })
		synctest.Wait()
		d.die(0, nil)
		Expect((<-closed).err).NotTo(HaveOccurred())
		Expect(d.news()).To(Equal([]string{`session.exited {"reason":"the agent exited with code 0","exitKind":"graceful"}`}))
	})

	It("closes the permissions that are open", func() {
		d := prompted(canNothing)
		d.say(request("7", "session/request_permission", `{"sessionId":"s-1","toolCall":{"toolCallId":"c","title":"x"},"options":[]}`))
		d.news()
		d.die(1, nil)
		Expect(d.news()).To(HaveExactElements(HavePrefix("1 request.resolved"), HavePrefix("1 item.completed"), HavePrefix("1 turn.completed"), HavePrefix("session.exited")))
	})

	It("while a session is opened is the answer to that", func(ctx SpecContext) {
		d := opened(canNothing)
		started := d.starts(ctx, "other")
		d.line()
		d.die(1, nil)
		Expect(<-started).To(MatchError("acp: session/new: the agent exited with code 1"))
	})

	It("while a session is stopped ends it, once", func(ctx SpecContext) {
		d := opened(canAll)
		Expect(d.StopSession(ctx, "th")).To(Succeed())
		d.line()
		d.die(1, nil)
		Expect(d.news()).To(HaveExactElements(HavePrefix("session.exited")))

		d = prompted(canAll)
		Expect(d.StopSession(ctx, "th")).To(Succeed())
		d.line()
		d.die(1, nil)
		Expect(d.news()).To(HaveExactElements(HavePrefix("1 turn.completed"), `session.exited {"reason":"the agent exited with code 1","exitKind":"error"}`))
	})
})

var _ = Describe("Close", bubble.InBubble, func() {
	It("writes what is to be written, closes stdin, and waits for the exit", func(ctx SpecContext) {
		d := opened(canAll)
		Expect(d.StopSession(ctx, "th")).To(Succeed())
		closed := begin(func() (int, error) { return 0, d.Provider.Close() })
		d.hears(request("2", "session/close", `{"sessionId":"s-1"}`))
		_, more := <-d.lines
		Expect(more).To(BeFalse())
		synctest.Wait()
		Expect(closed).NotTo(Receive())
		began := time.Now()
		time.AfterFunc(3*time.Second, func() { d.die(0, nil) })
		Expect((<-closed).err).NotTo(HaveOccurred())
		Expect(time.Since(began)).To(Equal(3 * time.Second))
		Expect(d.Provider.Close()).To(Succeed())
	})

	It("waits for the exit also of an agent that has closed its output long before", func() {
		d := opened(canNothing)
		_ = d.in.Close()
		began := time.Now()
		time.AfterFunc(5*time.Second, func() { d.exit(0, nil) })
		Expect(d.Provider.Close()).To(Succeed())
		Expect(time.Since(began)).To(Equal(5 * time.Second))
	})

	It("gives up after 10 seconds", func() {
		d := opened(canNothing)
		began := time.Now()
		Expect(d.Provider.Close()).To(MatchError("acp: the agent has not exited 10s after its stdin was closed"))
		Expect(time.Since(began)).To(Equal(10 * time.Second))
	})

	It("is done at the end of the test, where the process knows that", func() {
		p := &cleaning{process: newProcess()}
		acp.NewProvider(p)
		Expect(p.fns).To(HaveLen(1))
		time.AfterFunc(time.Second, func() { p.die(0, nil) })
		p.fns[0]()
		Expect(p.stdin.Close()).To(Succeed())
		synctest.Wait()
		_, more := <-p.lines
		Expect(more).To(BeFalse())
	})
})

type cleaning struct {
	*process
	fns []func()
}

func (c *cleaning) Cleanup(fn func()) { c.fns = append(c.fns, fn) }

var _ = Describe("A session over a process", bubble.InBubble, func() {
	DescribeTable("is stopped, and opened again under its old id, if the agent can:", func(ctx SpecContext, can string, closes bool, method string) {
		d := opened(can)
		Expect(d.StopSession(ctx, "th")).To(Succeed())
		next := 2
		if closes {
			d.hears(request("2", "session/close", `{"sessionId":"s-1"}`))
			Expect(d.news()).To(BeEmpty())
			_, err := d.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "th"})
			Expect(err).To(MatchError(fakeagent.ErrNoSession))
			Expect(d.StopSession(ctx, "th")).To(Succeed())
			d.quiet()
			d.say(answered("2", `{}`))
			next++
		}
		Expect(d.news()).To(Equal([]string{`session.exited {"reason":"stopped","exitKind":"graceful"}`}))
		Expect(d.StopSession(ctx, "th")).To(MatchError(fakeagent.ErrNoSession))
		started := d.starts(ctx, "th")
		params := `{"cwd":"/w","mcpServers":[]`
		if method != "session/new" {
			params += `,"sessionId":"s-1"`
		}
		d.hears(request(fmt.Sprint(next), method, params+`}`))
		d.does(chunk("the past", ""), `{"sessionUpdate":"session_info_update","title":"the past"}`)
		d.say(answered(fmt.Sprint(next), `{"sessionId":"s-1"}`))
		Expect(<-started).To(Succeed())
		Expect(d.news()).To(Equal([]string{"session.started"}))
		Expect(d.send(fmt.Sprint(next+1), "x")).To(Equal("th-turn-1"))
	},
		Entry("close and resume", canAll, true, "session/resume"),
		Entry("load", `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`, false, "session/load"),
		Entry("nothing", canNothing, false, "session/new"),
	)

	It("that is stopped in a turn interrupts that first", func(ctx SpecContext) {
		d := prompted(canAll)
		Expect(d.StopSession(ctx, "th")).To(Succeed())
		d.hears(notification("session/cancel", `{"sessionId":"s-1"}`))
		Expect(d.StopSession(ctx, "th")).To(Succeed())
		d.quiet()
		d.say(answered("2", `{"stopReason":"cancelled"}`))
		d.hears(request("3", "session/close", `{"sessionId":"s-1"}`))
		d.say(refused("3", -32603, "no"))
		Expect(d.news()).To(Equal([]string{`1 turn.completed {"state":"interrupted"}`, `session.exited {"reason":"stopped","exitKind":"graceful"}`}))
	})

	It("has its history after it was opened again", func(ctx SpecContext) {
		d := prompted(canNothing)
		d.say(answered("2", `{"stopReason":"end_turn"}`))
		d.news()
		Expect(d.StopSession(ctx, "th")).To(Succeed())
		d.news()
		started := d.starts(ctx, "th")
		d.line()
		d.say(answered("3", `{"sessionId":"s-2"}`))
		Expect(<-started).To(Succeed())
		turn, err := d.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "th", Text: "x"})
		Expect(err).NotTo(HaveOccurred())
		Expect(turn).To(Equal("th-turn-2"))
		Expect(d.ReadThread(ctx, "th")).To(HaveField("Turns", HaveLen(2)))
	})
})

var _ = Describe("Subscribers", bubble.InBubble, func() {
	It("may call the provider: what they cause comes after they have returned", func(ctx SpecContext) {
		d := drive()
		var order []string
		d.Subscribe(func(e event.Event) {
			order = append(order, "in "+e.Payload.Type())
			if _, ok := e.Payload.(event.SessionStarted); ok {
				_, err := d.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: "th", Text: "hi"})
				Expect(err).NotTo(HaveOccurred())
			}
			order = append(order, "out")
		})
		started := d.starts(ctx, "th")
		d.asks(answered("0", canNothing), request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`))
		d.say(answered("1", `{"sessionId":"s-1"}`))
		Expect(<-started).To(Succeed())
		d.hears(request("2", "session/prompt", `{"sessionId":"s-1","prompt":[{"type":"text","text":"hi"}]}`))
		d.news()
		Expect(order).To(Equal([]string{"in session.started", "out", "in turn.started", "out"}))
	})

	It("get events one at a time, in order, and may stop listening", func() {
		d := prompted(canNothing)
		var seqs []uint64
		busy := false
		off := d.Subscribe(func(e event.Event) {
			Expect(busy).To(BeFalse())
			busy = true
			seqs = append(seqs, e.Seq)
			busy = false
		})
		for range 500 {
			d.does(chunk("x", ""))
		}
		d.news()
		Expect(seqs).To(HaveLen(500))
		for i, n := range seqs {
			Expect(n).To(Equal(uint64(i + 3)))
		}
		off()
		d.does(chunk("x", ""))
		Expect(d.news()).To(HaveLen(1))
		Expect(seqs).To(HaveLen(500))
	})

	It("do not hold up each other, or the agent, when one ends its goroutine", func() {
		d := prompted(canNothing)
		calls := 0
		d.Subscribe(func(event.Event) {
			if calls++; calls == 1 {
				runtime.Goexit()
			}
		})
		var last seen
		d.Subscribe(last.see)
		d.does(chunk("a", ""), chunk("b", ""))
		Expect(d.news()).To(HaveLen(2))
		Expect(last.news()).To(HaveLen(2))
		Expect(calls).To(Equal(2))
	})
})

var _ = Describe("A gate over a process", bubble.InBubble, func() {
	It("is the agent's, and says if that has none", func(ctx SpecContext) {
		d := prompted(canNothing)
		gate := d.Gate("th", `a "gate"`)
		held := begin(func() (int, error) { return 0, gate.AwaitHeld(ctx) })
		d.hears(request("3", "_understudy/gate", `{"sessionId":"s-1","gate":"a \"gate\"","do":"await"}`))
		d.say(refused("3", -32601, "Method not found"))
		Expect((<-held).err).To(MatchError(`acp: gate "a \"gate\"" of thread th: Method not found (code -32601)`))
		gate.Release()
		gate.Close()
		d.hears(request("4", "_understudy/gate", `{"sessionId":"s-1","gate":"a \"gate\"","do":"release"}`), request("5", "_understudy/gate", `{"sessionId":"s-1","gate":"a \"gate\"","do":"close"}`))
	})

	It("may be used before there is a session", func(ctx SpecContext) {
		d := drive()
		d.Gate("th", "g").Close()
		d.Gate("th", "g").Release()
		d.quiet()
		started := d.starts(ctx, "th")
		d.asks(answered("0", canNothing), request("1", "session/new", `{"cwd":"/w","mcpServers":[]}`))
		d.say(answered("1", `{"sessionId":"s-1"}`))
		Expect(<-started).To(Succeed())
		d.hears(request("2", "_understudy/gate", `{"sessionId":"s-1","gate":"g","do":"close"}`), request("3", "_understudy/gate", `{"sessionId":"s-1","gate":"g","do":"release"}`))
	})

	It("is not waited for any more when the context ends, or the agent does", func() {
		d := prompted(canNothing)
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errors.New("enough"))
		defer cancel()
		Expect(d.Gate("th", "g").AwaitHeld(ctx)).To(MatchError(`acp: gate "g" of thread th: enough`))
		d.line()
		d.hears(notification("$/cancel_request", `{"requestId":3}`))
		held := begin(func() (int, error) { return 0, d.Gate("th", "g").AwaitHeld(context.Background()) })
		d.line()
		d.die(1, nil)
		Expect((<-held).err).To(MatchError(`acp: gate "g" of thread th: the agent exited with code 1`))
	})
})

// together is a provider over Serve, in one process.
func together(p fakeagent.Provider) *driven {
	d := &driven{process: silent()}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_ = acp.Serve(ctx, d.theirs, d.in, provides(p))
		cancel()
		d.die(0, nil)
	}()
	d.Provider = acp.NewProvider(d.process)
	d.Subscribe(d.see)
	DeferCleanup(func() { Expect(d.Provider.Close()).To(Succeed()) })
	return d
}

var _ = Describe("Both sides together", bubble.InBubble, func() {
	It("play a script as the agent alone does", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		script := `[{"think":"hm"},{"plan":[{"text":"a","status":"in_progress"}]},{"write":{"path":"a","content":"1"}},{"edit":{"path":"a","old":"1","new":"2"}},` +
			`{"edit":{"path":"b","old":"1","new":"2"}},{"bash":{"command":"ls","output":"a","exitCode":1}},{"tool":{"name":"x","detail":{"type":"search","query":"q"}}},` +
			`{"approval":{"title":"rm","deny":[{"say":"no"}]}},{"usage":{"usedTokens":1}},{"say":{"text":"a b c","chunks":3,"intervalMs":100}},{"fail":{"message":"oh","code":7}}]`
		play := func(p fakeagent.Provider) (timeline.Items, []string) {
			Expect(os.RemoveAll(filepath.Join(dir, "a"))).To(Succeed())
			var s seen
			off := p.Subscribe(func(e event.Event) {
				s.see(e)
				if _, ok := e.Payload.(event.RequestOpened); ok {
					Expect(p.RespondToRequest(ctx, "th", e.RequestID, fakeagent.Decline)).To(Succeed())
				}
			})
			defer off()
			Expect(p.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "th", Cwd: dir})).To(Succeed())
			_, err := p.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: "th", Text: script})
			Expect(err).NotTo(HaveOccurred())
			time.Sleep(time.Minute) // on virtual time
			synctest.Wait()
			th, err := p.ReadThread(ctx, "th")
			Expect(err).NotTo(HaveOccurred())
			return th.Turns[0].Items, s.news()
		}
		alone, events := play(instance(fakeagent.Config{}))
		over, overEvents := play(together(instance(fakeagent.Config{})))
		Expect(over).To(Equal(alone))
		for i, e := range events { // the wire has no word for declined, and its permissions are named for their call
			events[i] = strings.NewReplacer(`"declined"`, `"failed"`, `{"requestType"`, `{"requestType"`).Replace(e)
		}
		Expect(overEvents).To(HaveLen(len(events)))
		Expect(overEvents[len(overEvents)-1]).To(Equal(events[len(events)-1]))
	})

	It("give the agent what goes with a prompt", func(ctx SpecContext) {
		p := newStub()
		d := together(p)
		Expect(d.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "th", Cwd: "/w", MCPServers: []fakeagent.MCPServer{{Name: "a", URL: "u", SSE: true}}})).To(Succeed())
		with := []fakeagent.Attachment{{MediaType: "image/png", Data: []byte{1}}, {Name: "n", URI: "u", MediaType: "x/y"}, {URI: "v", MediaType: "text/x", Data: []byte("é")}, {URI: "v", Data: []byte{0xff}}}
		_, err := d.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "th", Text: "look", Attachments: with})
		Expect(err).NotTo(HaveOccurred())
		synctest.Wait()
		Expect(p.inputs).To(Equal([]fakeagent.TurnInput{{ThreadID: "sess-1", Text: "look", Attachments: with}}))
		Expect(p.sessions[0].MCPServers).To(Equal([]fakeagent.MCPServer{{Name: "a", URL: "u", SSE: true}}))
		Expect(d.InterruptTurn(ctx, "th", "")).To(Succeed())
	})

	It("hold at a gate, release it, and stop", func(ctx SpecContext) {
		d := together(instance(fakeagent.Config{}))
		Expect(d.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "th", Cwd: GinkgoT().TempDir()})).To(Succeed())
		_, err := d.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: "th", Text: `[{"sleep":3600000},{"hold":"g"},{"say":"a"},{"hold":"h"}]`})
		Expect(err).NotTo(HaveOccurred())
		long, cancel := context.WithTimeout(context.Background(), 2*time.Hour)
		defer cancel()
		Expect(d.Gate("th", "g").AwaitHeld(long)).To(Succeed())
		d.Gate("th", "g").Release()
		Expect(d.Gate("th", "h").AwaitHeld(long)).To(Succeed())
		Expect(d.StopSession(ctx, "th")).To(Succeed())
		Expect(d.news()).To(HaveExactElements("session.started", "1 turn.started", HavePrefix("1 content.delta"), `1 turn.completed {"state":"interrupted"}`, HavePrefix("session.exited")))
		Expect(d.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "th", Cwd: GinkgoT().TempDir()})).To(Succeed())
		Expect(acp.Problems(d.Transcript())).To(BeEmpty())
	})
})
