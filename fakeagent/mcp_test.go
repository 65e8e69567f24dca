package fakeagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

// notebook is an MCP that writes down what it is asked. Its servers answer with the name of the tool.
type notebook struct {
	mu     sync.Mutex
	notes  []string
	refuse bool              // to connect
	during func(tool string) // what happens while a tool is called
}

func (n *notebook) note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notes = append(n.notes, fmt.Sprintf(format, args...))
}

func (n *notebook) Connect(_ context.Context, to fakeagent.MCPConnect) (fakeagent.MCPClient, error) {
	n.note("connect %s", to.Server.Name)
	if n.refuse {
		return nil, errors.New("nobody there")
	}
	return page{n, to.Server.Name}, nil
}

type page struct {
	*notebook
	server string
}

func (p page) ListTools(context.Context) ([]string, error) {
	p.note("list %s", p.server)
	return []string{"add"}, nil
}

func (p page) CallTool(ctx context.Context, tool string, arguments json.RawMessage) (fakeagent.MCPResult, error) {
	if p.during != nil {
		p.during(tool)
	}
	p.note("call %s %s %s", p.server, tool, arguments)
	switch {
	case ctx.Err() != nil:
		return fakeagent.MCPResult{}, ctx.Err()
	case tool == "break":
		return fakeagent.MCPResult{}, errors.New("it broke")
	case tool == "refuse":
		return fakeagent.MCPResult{JSON: json.RawMessage(`{"isError":true}`), Text: "I will not", IsError: true}, nil
	}
	return fakeagent.MCPResult{JSON: json.RawMessage(`{"from":"` + p.server + `"}`)}, nil
}

func (p page) Close() error {
	p.note("close %s", p.server)
	return nil
}

var _ = Describe("The mcp step", func() {
	var (
		book *notebook
		a    *agent
	)
	ctx := context.Background()
	session := func(mcp fakeagent.MCP, names ...string) *agent {
		cfg := fakeagent.Scripted()
		cfg.MCP = mcp
		s := fakeagent.SessionConfig{ThreadID: "a"}
		for _, name := range names {
			s.MCPServers = append(s.MCPServers, fakeagent.MCPServer{Name: name, Command: name})
		}
		a := startWith(cfg, s)
		DeferCleanup(a.Close)
		return a
	}
	BeforeEach(func() {
		book = &notebook{}
		a = session(book, "one", "two")
	})

	It("calls the tool of a server, and is a tool call with the arguments in and the result out", func() {
		Expect(lines(a.play(script.MCP("two", "show", map[string]any{"title": "<hi>"})), "no folder")).To(HaveExactElements(
			`{"type":"tool_call","callId":"t-1-1","name":"mcp__two__show","detail":{"type":"unknown","input":{"title":"<hi>"},"output":{"from":"two"}},"status":"completed","error":null}`))
		Expect(a.seen()).To(ContainElement(HaveField("Payload", HaveField("ItemType", event.MCPToolCall))))
	})
	It("gives the tool an empty object where the script gives no arguments", func() {
		a.play(script.MCP("one", "show", nil))
		Expect(book.notes).To(ContainElement("call one show {}"))
	})
	It("calls every server, in the order of the session, where the server is *; each is a tool call of its own", func() {
		Expect(a.play(script.MCP("*", "show", nil))).To(HaveItems(BeToolCall("mcp__one__show"), BeToolCall("mcp__two__show")))
		Expect(book.notes).To(Equal([]string{"connect one", "call one show {}", "connect two", "call two show {}"}))
	})
	It("does nothing for * where the session has no server", func() {
		Expect(session(book).play(script.MCP("*", "show", nil), script.Say("on"))).To(HaveItems(BeAssistantMessage("on")))
	})
	It("is a failed call for a server that the session does not have, and the turn goes on", func() {
		Expect(a.play(script.MCP("nope", "t", nil), script.Say("on"))).To(And(EndCompleted(), HaveItems(
			BeToolCall("mcp__nope__t", WithError(`no MCP server "nope" in the session config (have: one, two)`)), BeAssistantMessage("on"))))
		Expect(session(book).play(script.MCP("nope", "t", nil))).To(HaveItems(
			BeToolCall("mcp__nope__t", WithError(`no MCP server "nope" in the session config (have: none)`))))
		Expect(book.notes).To(BeEmpty())
	})
	It("is a failed call where the tool says that it failed, with its text, and where there is no result", func() {
		run := a.play(script.MCP("one", "refuse", nil), script.MCP("one", "break", nil))
		Expect(run).To(And(EndCompleted(), HaveItems(
			BeToolCall("mcp__one__refuse", WithError("I will not")), BeToolCall("mcp__one__break", WithError("it broke")))))
		Expect(run.Items()[0]).To(HaveField("Detail", timeline.Unknown{Input: json.RawMessage("{}"), Output: json.RawMessage(`{"isError":true}`)}))
	})
	It("is a failed call where the agent has no client, and says how to get one", func() {
		Expect(session(nil, "one").play(script.MCP("one", "t", nil))).To(HaveItems(
			BeToolCall("mcp__one__t", WithError("no MCP client: set Config.MCP to mcpcall.New()"))))
	})

	Describe("opens a session with the server", func() {
		It("at the first call, and keeps it for the agent's later turns", func() {
			a.play(script.Say("no call"))
			Expect(book.notes).To(BeEmpty())
			a.play(script.MCP("one", "t", nil), script.MCP("one", "t", nil))
			a.play(script.MCP("one", "t", nil))
			Expect(book.notes).To(Equal([]string{"connect one", "call one t {}", "call one t {}", "call one t {}"}))
		})
		It("again at the next call where it could not be opened", func() {
			book.refuse = true
			Expect(a.play(script.MCP("one", "t", nil))).To(HaveItems(BeToolCall("mcp__one__t", WithError("nobody there"))))
			book.refuse = false
			Expect(a.play(script.MCP("one", "t", nil))).To(HaveItems(BeToolCall("mcp__one__t", WithStatus(timeline.Completed))))
		})
		It("that ends with the agent's, before session.exited", func() {
			a.play(script.MCP("*", "t", nil))
			a.Subscribe(func(e event.Event) { book.note("%s", e.Payload.Type()) })
			Expect(a.StopSession(ctx, "a")).To(Succeed())
			Eventually(func() []string {
				book.mu.Lock()
				defer book.mu.Unlock()
				return append([]string(nil), book.notes[4:]...)
			}).Should(HaveExactElements(HavePrefix("close"), HavePrefix("close"), Equal("session.exited")))
		})
		It("that ends with the agent's when it is stopped in the middle of a turn", func() {
			id := a.send(`[{"mcp":{"server":"one","tool":"t"}},{"hold":"g"}]`)
			Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
			Expect(a.StopSession(ctx, "a")).To(Succeed())
			Eventually(a.types).Should(ContainElement("session.exited"))
			Expect(<-a.ended).To(Equal(event.TurnCompleted{State: event.TurnEndInterrupted}))
			Expect(book.notes).To(ContainElement("close one"))
			_ = id
		})
		It("that ends when the instance is closed", func() {
			a.play(script.MCP("one", "t", nil))
			Expect(a.Close()).To(Succeed())
			Expect(book.notes).To(ContainElement("close one"))
		})
		It("for each agent", func() {
			a.play(script.MCP("one", "t", nil))
			Expect(a.StopSession(ctx, "a")).To(Succeed())
			Eventually(a.types).Should(ContainElement("session.exited"))
			Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a", MCPServers: []fakeagent.MCPServer{{Name: "one", Command: "x"}}})).To(Succeed())
			a.play(script.MCP("one", "t", nil))
			Expect(book.notes).To(Equal([]string{"connect one", "call one t {}", "close one", "connect one", "call one t {}"}))
		})
	})

	It("finishes a call in flight at an interrupt, emits it, and calls nothing more", func() {
		book.during = func(tool string) {
			if tool == "slow" {
				_ = a.InterruptTurn(ctx, "a", "")
			}
		}
		run := a.run(`[{"mcp":{"server":"*","tool":"slow"}},{"say":"never"}]`)
		Expect(run).To(And(EndCanceled(), HaveItems(BeToolCall("mcp__one__slow", WithStatus(timeline.Completed)))))
	})

	It("has servers that print without their secrets", func() {
		server := fakeagent.MCPServer{Name: "mine", URL: "http://secret", Headers: map[string]string{"secret": "secret"}, Env: map[string]string{"secret": "secret"}}
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
			Expect(fmt.Sprintf(format, server)).To(Equal("MCP server mine (http)"))
			Expect(fmt.Sprintf(format, fakeagent.SessionConfig{MCPServers: []fakeagent.MCPServer{server}})).NotTo(ContainSubstring("secret"))
		}
	})
})
