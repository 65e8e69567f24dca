package mcpcall_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
)

// goodServers are servers on stdio that behave.
var goodServers = map[string]func(){
	"tools":      serveTools,
	"strict":     serveStrictly,
	"as written": func() { onStdio(returning(asWritten)) },
}

// logVariable names a file in which a server on stdio tells what happened to it.
const logVariable = "UNDERSTUDY_TEST_LOG"

// serveTools is the server of [newTools] on stdio. Its log says when a session was opened, and when it ended.
func serveTools() {
	opened := func(context.Context, *mcp.InitializedRequest) { logLine("opened") }
	_ = newTools(&mcp.ServerOptions{InitializedHandler: opened}).Run(context.Background(), &mcp.StdioTransport{})
	logLine("ended")
}

func logLine(line string) {
	name := os.Getenv(logVariable)
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

// newTools is a server made with the official SDK.
func newTools(opts *mcp.ServerOptions) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, opts)
	type none struct{}
	type numbers struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	type sum struct {
		Sum int `json:"sum"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "add"}, func(_ context.Context, _ *mcp.CallToolRequest, in numbers) (*mcp.CallToolResult, sum, error) {
		return nil, sum{in.A + in.B}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "hello"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return said("hello", `<b>you & me</b> \u003c`), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "refuse"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("the disk is full")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "refuse silently"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{IsError: true}, nil, nil
	})
	type variables struct {
		Names []string `json:"names"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "where"}, func(_ context.Context, _ *mcp.CallToolRequest, in variables) (*mcp.CallToolResult, any, error) {
		dir, err := os.Getwd()
		texts := []string{dir}
		for _, name := range in.Names {
			texts = append(texts, name+"="+os.Getenv(name))
		}
		return said(texts...), nil, err
	})
	type seconds struct {
		Seconds int `json:"seconds"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "sleep"}, func(ctx context.Context, _ *mcp.CallToolRequest, in seconds) (*mcp.CallToolResult, any, error) {
		select {
		case <-time.After(time.Duration(in.Seconds) * time.Second):
			return said("rested"), nil, nil
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	})
	return s
}

// said is a result of several texts.
func said(texts ...string) *mcp.CallToolResult {
	r := &mcp.CallToolResult{}
	for _, t := range texts {
		r.Content = append(r.Content, &mcp.TextContent{Text: t})
	}
	return r
}

// overHTTP is the server behind a URL on loopback.
func overHTTP(name string, h http.Handler) fakeagent.MCPServer {
	s := httptest.NewServer(h)
	DeferCleanup(s.Close)
	return fakeagent.MCPServer{Name: name, URL: s.URL + "/mcp"}
}

// always is the server for every request of an SDK handler.
func always(s *mcp.Server) func(*http.Request) *mcp.Server {
	return func(*http.Request) *mcp.Server { return s }
}

// only is a list of one server.
func only(s fakeagent.MCPServer) []fakeagent.MCPServer { return []fakeagent.MCPServer{s} }

// asJSON are the items of a run in their canonical form.
func asJSON(run timelinekit.Run) []string {
	var out []string
	for _, it := range run.Items() {
		out = append(out, string(timeline.AppendJSON(nil, it)))
	}
	return out
}

// adding is a step that makes 3 of 1 and 2.
func adding(server string) script.Step {
	return script.MCP(server, "add", map[string]any{"a": 1, "b": 2})
}

// driven is an instance that a spec drives itself, to stop its sessions.
type driven struct {
	*fakeagent.Instance
	ended  chan event.TurnCompleted
	exited chan string // what atExit returned
}

// drive makes an instance. atExit is called at each session.exited, before anybody hears of it.
func drive(client fakeagent.MCP, spawn func(*exec.Cmd) error, atExit func() string) *driven {
	GinkgoHelper()
	cfg := fakeagent.Scripted()
	cfg.MCP, cfg.Spawn = client, spawn
	in, err := fakeagent.New(cfg)
	Expect(err).NotTo(HaveOccurred())
	d := &driven{in, make(chan event.TurnCompleted, 10), make(chan string, 10)}
	DeferCleanup(d.Close)
	d.Subscribe(func(e event.Event) {
		switch p := e.Payload.(type) {
		case event.TurnCompleted:
			d.ended <- p
		case event.SessionExited:
			d.exited <- atExit()
		}
	})
	return d
}

func nothing() string { return "" }

// play runs a turn in an open session, and returns its items but for the prompt.
func (d *driven) play(ctx context.Context, thread string, steps ...script.Step) timeline.Items {
	GinkgoHelper()
	_, err := d.SendTurn(context.WithoutCancel(ctx), fakeagent.TurnInput{ThreadID: thread, Text: script.New(steps...).String()})
	Expect(err).NotTo(HaveOccurred())
	Eventually(ctx, d.ended).Should(Receive(HaveField("State", event.TurnEndCompleted)))
	th, err := d.ReadThread(ctx, thread)
	Expect(err).NotTo(HaveOccurred())
	return th.Turns[len(th.Turns)-1].Items[1:]
}

// stop stops a session, waits for its session.exited, and returns what atExit did.
func (d *driven) stop(ctx context.Context, thread string) (found string) {
	GinkgoHelper()
	Expect(d.StopSession(ctx, thread)).To(Succeed())
	Eventually(ctx, d.exited).Should(Receive(&found))
	return found
}

var _ = Describe("A call of an MCP server's tool", func() {
	Describe("reaches a server made with the official SDK", func() {
		type reach = func() (fakeagent.MCPServer, []mcpcall.Option)
		DescribeTable("", func(ctx SpecContext, reach reach) {
			server, opts := reach()
			run := call(ctx, GinkgoT(), adding("calc"), only(server), opts...)
			Expect(run).To(EndCompleted())
			Expect(asJSON(run)).To(HaveExactElements(`{"type":"tool_call","callId":"t-1-1","name":"mcp__calc__add",` +
				`"detail":{"type":"unknown","input":{"a":1,"b":2},"output":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}},` +
				`"status":"completed","error":null}`))
		},
			Entry("that is a command and speaks on stdio", func() (fakeagent.MCPServer, []mcpcall.Option) {
				return itself("calc", "tools"), nil
			}),
			Entry("over streamable HTTP, answering with JSON", func() (fakeagent.MCPServer, []mcpcall.Option) {
				return overHTTP("calc", mcp.NewStreamableHTTPHandler(always(newTools(nil)), &mcp.StreamableHTTPOptions{JSONResponse: true})), nil
			}),
			Entry("over streamable HTTP, answering with an event stream", func() (fakeagent.MCPServer, []mcpcall.Option) {
				return overHTTP("calc", mcp.NewStreamableHTTPHandler(always(newTools(nil)), nil)), nil
			}),
			Entry("over streamable HTTP without sessions", func() (fakeagent.MCPServer, []mcpcall.Option) {
				return overHTTP("calc", mcp.NewStreamableHTTPHandler(always(newTools(nil)), &mcp.StreamableHTTPOptions{Stateless: true})), nil
			}),
			Entry("over the older HTTP transport with server-sent events", func() (fakeagent.MCPServer, []mcpcall.Option) {
				server := overHTTP("calc", mcp.NewSSEHandler(always(newTools(nil)), nil))
				server.SSE = true
				return server, nil
			}),
			Entry("over memory, in the test's own process", func() (fakeagent.MCPServer, []mcpcall.Option) {
				return fakeagent.MCPServer{Name: "calc"}, []mcpcall.Option{mcpcall.Serve("calc", newTools(nil))}
			}),
		)
	})

	Describe("is an item", func() {
		var serve mcpcall.Option
		BeforeEach(func() { serve = mcpcall.Serve("house", newTools(nil)) })
		house := only(fakeagent.MCPServer{Name: "house"})

		It("named for the server and the tool, with the arguments as its input and the whole result as its output", func(ctx SpecContext) {
			run := call(ctx, GinkgoT(), script.MCP("house", "hello", nil), house, serve)
			Expect(asJSON(run)).To(HaveExactElements(`{"type":"tool_call","callId":"t-1-1","name":"mcp__house__hello",` +
				`"detail":{"type":"unknown","input":{},"output":{"content":[{"type":"text","text":"hello"},{"type":"text","text":"<b>you & me</b> \\u003c"}]}},` +
				`"status":"completed","error":null}`))
		})
		It("that failed, with the tool's own text, if the tool says so; the turn goes on", func(ctx SpecContext) {
			run := call(ctx, GinkgoT(), script.MCP("house", "refuse", nil), house, serve)
			Expect(run).To(EndCompleted())
			Expect(asJSON(run)).To(HaveExactElements(`{"type":"tool_call","callId":"t-1-1","name":"mcp__house__refuse",` +
				`"detail":{"type":"unknown","input":{},"output":{"content":[{"type":"text","text":"the disk is full"}],"isError":true}},` +
				`"status":"failed","error":"the disk is full"}`))
		})
		It("that failed, also if the tool says that without a word", func(ctx SpecContext) {
			run := call(ctx, GinkgoT(), script.MCP("house", "refuse silently", nil), house, serve)
			Expect(run).To(HaveItems(BeToolCall("mcp__house__refuse silently", WithError("the tool says that it failed"))))
		})
		It("for each server of the session, in their order, where the step says *", func(ctx SpecContext) {
			servers := []fakeagent.MCPServer{{Name: "two"}, {Name: "one"}, {Name: "three"}}
			run := call(ctx, GinkgoT(), adding("*"), servers,
				mcpcall.Serve("one", newTools(nil)), mcpcall.Serve("two", newTools(nil)), mcpcall.Serve("three", newTools(nil)))
			Expect(run).To(And(EndCompleted(), HaveItems(
				BeToolCall("mcp__two__add", WithStatus(timeline.Completed)),
				BeToolCall("mcp__one__add", WithStatus(timeline.Completed)),
				BeToolCall("mcp__three__add", WithStatus(timeline.Completed)))))
		})
		It("for none of them, where the step says * and there is none", func(ctx SpecContext) {
			Expect(call(ctx, GinkgoT(), adding("*"), nil)).To(And(EndCompleted(), HaveItems()))
		})
	})

	Describe("on virtual time", func() {
		clock := only(fakeagent.MCPServer{Name: "clock"})
		sleeping := func(seconds int) script.Step {
			return script.MCP("clock", "sleep", map[string]any{"seconds": seconds})
		}

		It("takes as long as the tool does", func() {
			virtually(func(ctx context.Context, t *testing.T) {
				began := time.Now()
				run := call(ctx, t, sleeping(9), clock, mcpcall.Serve("clock", newTools(nil)))
				Expect(time.Since(began)).To(Equal(9 * time.Second))
				Expect(run).To(And(EndCompleted(), HaveItems(BeToolCall("mcp__clock__sleep", WithStatus(timeline.Completed)))))
			})
		})
		It("gives up after 10 seconds; the tool hears of it", func() {
			virtually(func(ctx context.Context, t *testing.T) {
				server, gaveUp := newTools(nil), make(chan time.Time, 1)
				mcp.AddTool(server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
					<-ctx.Done()
					gaveUp <- time.Now()
					return nil, nil, ctx.Err()
				})
				began := time.Now()
				run := call(ctx, t, script.MCP("clock", "wait", nil), clock, mcpcall.Serve("clock", server))
				Expect(time.Since(began)).To(Equal(10 * time.Second))
				Expect(run).To(And(EndCompleted(), HaveItems(
					BeToolCall("mcp__clock__wait", WithError(`MCP server "clock" did not answer the call of wait: no answer within 10s`)))))
				Expect((<-gaveUp).Sub(began)).To(Equal(10 * time.Second))
			})
		})
		It("may be one of many: each has 10 seconds, and a call that got none leaves the session open for the next", func() {
			virtually(func(ctx context.Context, t *testing.T) {
				opened := 0
				server := newTools(&mcp.ServerOptions{InitializedHandler: func(context.Context, *mcp.InitializedRequest) { opened++ }})
				cfg := fakeagent.Scripted()
				cfg.MCP = mcpcall.New(mcpcall.Serve("clock", server))
				host := timelinekit.NewHost(t, timelinekit.WithProvider("fake-agent", fakeagent.NewT(t, cfg)))
				began := time.Now()
				run := host.RunFakeAgentTurn(ctx, script.New(sleeping(9), sleeping(60), sleeping(9)), timelinekit.MCPServers(clock...))
				Expect(time.Since(began)).To(Equal(28 * time.Second))
				Expect(run).To(And(EndCompleted(), HaveItems(
					BeToolCall("mcp__clock__sleep", WithStatus(timeline.Completed)),
					BeToolCall("mcp__clock__sleep", WithStatus(timeline.Failed)),
					BeToolCall("mcp__clock__sleep", WithStatus(timeline.Completed)))))
				Expect(opened).To(Equal(1))
			})
		})
		It("is not cut short by an interrupt, which ends the turn after it", func() {
			virtually(func(ctx context.Context, t *testing.T) {
				cfg := fakeagent.Scripted()
				cfg.MCP = mcpcall.New(mcpcall.Serve("clock", newTools(nil)))
				host := timelinekit.NewHost(t, timelinekit.WithProvider("fake-agent", fakeagent.NewT(t, cfg)))
				began := time.Now()
				turn := host.StartFakeAgentTurn(ctx, script.New(sleeping(9), script.Say("never")), timelinekit.MCPServers(clock...))
				time.Sleep(3 * time.Second)
				Expect(turn.Interrupt(ctx)).To(Succeed())
				run := turn.Wait(ctx)
				Expect(time.Since(began)).To(Equal(9 * time.Second))
				Expect(run).To(And(EndCanceled(), HaveItems(BeToolCall("mcp__clock__sleep", WithStatus(timeline.Completed)))))
			})
		})
		It("is canceled by an interrupt where the config says so, and the next turn calls again", func() {
			virtually(func(ctx context.Context, t *testing.T) {
				cfg := fakeagent.Scripted()
				cfg.CancelCalls = true
				cfg.MCP = mcpcall.New(mcpcall.Serve("clock", newTools(nil)))
				host := timelinekit.NewHost(t, timelinekit.WithProvider("fake-agent", fakeagent.NewT(t, cfg)))
				began := time.Now()
				turn := host.StartFakeAgentTurn(ctx, script.New(sleeping(9), script.Say("never")), timelinekit.MCPServers(clock...))
				time.Sleep(3 * time.Second)
				Expect(turn.Interrupt(ctx)).To(Succeed())
				run := turn.Wait(ctx)
				Expect(time.Since(began)).To(Equal(3 * time.Second))
				Expect(run).To(And(EndCanceled(), HaveItems(BeToolCall("mcp__clock__sleep", WithError("canceled")))))
				Expect(host.SendFakeAgentTurn(ctx, turn.AgentID, script.New(sleeping(1)))).To(And(
					EndCompleted(), HaveItems(BeToolCall("mcp__clock__sleep", WithStatus(timeline.Completed)))))
			})
		})
	})

	Describe("uses one client for a server and a session", func() {
		var (
			log    string
			server fakeagent.MCPServer
		)
		BeforeEach(func() {
			log = filepath.Join(GinkgoT().TempDir(), "log")
			server = itself("calc", "tools")
			server.Env[logVariable] = log
		})
		logged := func() string {
			b, err := os.ReadFile(log)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				panic(err)
			}
			return string(b)
		}
		open := func(ctx context.Context, d *driven, threads ...string) {
			GinkgoHelper()
			for _, id := range threads {
				Expect(d.StartSession(ctx, fakeagent.SessionConfig{ThreadID: id, MCPServers: only(server)})).To(Succeed())
			}
		}

		It("that further calls find open, in the same turn and in later ones", func(ctx SpecContext) {
			d := drive(mcpcall.New(), nil, nothing)
			open(ctx, d, "a")
			Expect(d.play(ctx, "a", adding("calc"), adding("calc"))).To(HaveLen(2))
			d.play(ctx, "a", adding("calc"))
			Expect(logged()).To(Equal("opened\n"))
		})
		It("that another session does not share", func(ctx SpecContext) {
			d := drive(mcpcall.New(), nil, nothing)
			open(ctx, d, "a", "b")
			d.play(ctx, "a", adding("calc"))
			d.play(ctx, "b", adding("calc"))
			Expect(logged()).To(Equal("opened\nopened\n"))
		})
		It("that is opened by the first call only: where nobody calls, no command is started", func(ctx SpecContext) {
			started := 0
			d := drive(mcpcall.New(), func(*exec.Cmd) error { started++; return nil }, nothing)
			open(ctx, d, "a")
			d.play(ctx, "a", script.Say("no calls"))
			Expect(started).To(BeZero())
			d.stop(ctx, "a")
			Expect(logged()).To(BeEmpty())
		})
		It("that StopSession closes: the server sees its session end, and only then comes session.exited", func(ctx SpecContext) {
			d := drive(mcpcall.New(), nil, logged)
			open(ctx, d, "a", "b")
			d.play(ctx, "a", adding("calc"))
			d.play(ctx, "b", adding("calc"))
			Expect(d.stop(ctx, "a")).To(Equal("opened\nopened\nended\n"), "b's goes on")
			d.play(ctx, "b", adding("calc"))
			Expect(logged()).To(Equal("opened\nopened\nended\n"))
		})
		It("that is a new one after the session was opened again", func(ctx SpecContext) {
			d := drive(mcpcall.New(), nil, logged)
			for range 2 {
				open(ctx, d, "a")
				d.play(ctx, "a", adding("calc"))
				d.stop(ctx, "a")
			}
			Expect(logged()).To(Equal("opened\nended\nopened\nended\n"))
		})
		It("that the instance's Close closes", func(ctx SpecContext) {
			d := drive(mcpcall.New(), nil, nothing)
			open(ctx, d, "a")
			d.play(ctx, "a", adding("calc"))
			Expect(d.Close()).To(Succeed())
			Expect(logged()).To(Equal("opened\nended\n"))
		})
		It("that is closed over HTTP too", func(ctx SpecContext) {
			inner := mcp.NewStreamableHTTPHandler(always(newTools(nil)), nil)
			var (
				mu      sync.Mutex
				methods []string
			)
			server = overHTTP("calc", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				methods = append(methods, r.Method)
				mu.Unlock()
				inner.ServeHTTP(w, r)
			}))
			d := drive(mcpcall.New(), nil, nothing)
			open(ctx, d, "a")
			d.play(ctx, "a", adding("calc"), adding("calc"))
			d.stop(ctx, "a")
			Expect(methods).To(Equal([]string{"POST", "POST", "POST", "POST", "DELETE"}))
		})
		It("that is closed over memory too", func(ctx SpecContext) {
			sdk := newTools(nil)
			sessions := func() string { return fmt.Sprint(len(slices.Collect(sdk.Sessions())), " open") }
			d := drive(mcpcall.New(mcpcall.Serve("calc", sdk)), nil, sessions)
			open(ctx, d, "a")
			Expect(sessions()).To(Equal("0 open"))
			d.play(ctx, "a", adding("calc"), adding("calc"))
			Expect(sessions()).To(Equal("1 open"))
			Expect(d.stop(ctx, "a")).To(Equal("0 open"))
		})
	})

	Describe("gives the server what the session has for it:", func() {
		It("headers, with every request over HTTP", func(ctx SpecContext) {
			inner := mcp.NewStreamableHTTPHandler(always(newTools(nil)), nil)
			var (
				mu   sync.Mutex
				seen []string
			)
			server := overHTTP("calc", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				seen = append(seen, r.Method+" "+r.Header.Get("Authorization")+" "+r.Header.Get("X-Tenant"))
				mu.Unlock()
				inner.ServeHTTP(w, r)
			}))
			server.Headers = map[string]string{"Authorization": "Bearer opensesame", "x-tenant": "acme"}
			d := drive(mcpcall.New(), nil, nothing)
			Expect(d.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a", MCPServers: only(server)})).To(Succeed())
			d.play(ctx, "a", adding("calc"))
			Expect(d.Close()).To(Succeed())
			Expect(seen).To(HaveExactElements(
				"POST Bearer opensesame acme", "POST Bearer opensesame acme", "POST Bearer opensesame acme", "DELETE Bearer opensesame acme"))
		})
		It("the session's folder and environment, and its own environment before that, to a command", func(ctx SpecContext) {
			dir, err := filepath.EvalSymlinks(GinkgoT().TempDir())
			Expect(err).NotTo(HaveOccurred())
			server := itself("calc", "tools")
			server.Env["OF_SERVER"], server.Env["OF_BOTH"] = "server", "server wins"
			d := drive(mcpcall.New(), nil, nothing)
			Expect(d.StartSession(ctx, fakeagent.SessionConfig{
				ThreadID: "a", Cwd: dir,
				Env:        map[string]string{"OF_SESSION": "session", "OF_BOTH": "session"},
				MCPServers: only(server),
			})).To(Succeed())
			where := script.MCP("calc", "where", map[string]any{"names": []string{"OF_SERVER", "OF_SESSION", "OF_BOTH"}})
			var result struct{ Content []struct{ Text string } }
			got := d.play(ctx, "a", where)[0].(timeline.ToolCall)
			Expect(json.Unmarshal(got.Detail.(timeline.Unknown).Output, &result)).To(Succeed())
			Expect(result.Content).To(HaveExactElements(
				HaveField("Text", dir), HaveField("Text", "OF_SERVER=server"), HaveField("Text", "OF_SESSION=session"), HaveField("Text", "OF_BOTH=server wins")))
		})
	})

	Describe("shows Spawn the command of a server before it starts", func() {
		server := itself("calc", "tools")
		server.Args = []string{"-some", "flag"}

		It("which may change it", func(ctx SpecContext) {
			dir := GinkgoT().TempDir()
			var seen []string
			d := drive(mcpcall.New(), func(cmd *exec.Cmd) error {
				seen = append([]string{cmd.Path, cmd.Dir}, cmd.Args[1:]...)
				cmd.Env = append(cmd.Env, logVariable+"="+filepath.Join(dir, "log"))
				return nil
			}, nothing)
			Expect(d.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a", Cwd: dir, MCPServers: only(server)})).To(Succeed())
			d.play(ctx, "a", adding("calc"))
			Expect(seen).To(Equal([]string{server.Command, dir, "-some", "flag"}))
			Expect(os.ReadFile(filepath.Join(dir, "log"))).To(BeEquivalentTo("opened\n"))
		})
		It("and which may refuse it: the call fails with its words, and is tried anew by the next one", func(ctx SpecContext) {
			refused := 0
			d := drive(mcpcall.New(), func(*exec.Cmd) error {
				if refused++; refused == 1 {
					return errors.New("no children today")
				}
				return nil
			}, nothing)
			Expect(d.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a", MCPServers: only(server)})).To(Succeed())
			Expect(d.play(ctx, "a", adding("calc"), adding("calc"))).To(HaveExactElements(
				BeToolCall("mcp__calc__add", WithError(`MCP server "calc" cannot be reached: no children today`)),
				BeToolCall("mcp__calc__add", WithStatus(timeline.Completed))))
		})
	})
})
