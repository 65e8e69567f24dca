package mcpcall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
)

// inPages is a server with few tools on a page.
func inPages() *mcp.Server { return newTools(&mcp.ServerOptions{PageSize: 4}) }

const listed = `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"greet","inputSchema":{"type":"object"}}],"nextCursor":%q}}`

// listManners are bad ways to list tools.
var listManners = map[string]manner{
	"no answer":      to("tools/list", nothingAtAll),
	"garbage":        to("tools/list", garbage),
	"half an answer": to("tools/list", halfOfIt),
	"a wrong id":     to("tools/list", wrongID),
	"an error":       to("tools/list", anError),
	"10 MB": to("tools/list", func(m message, says string) string {
		return fmt.Sprintf(listed, m.ID, says+strings.Repeat("x", 10<<20))
	}),
	"the same page again": to("tools/list", func(m message, says string) string { return fmt.Sprintf(listed, m.ID, says) }),
	"no such method": func(m message, says string) string {
		switch m.Method {
		case "initialize":
			return strings.Replace(politely(m), `"tools":{}`, "", 1)
		case "tools/list":
			return fmt.Sprintf(refuse, m.ID, -32601, "method not found; "+says)
		}
		return politely(m)
	},
}

// listServers are servers on stdio that list tools.
var listServers = map[string]func(){
	"in pages":          func() { _ = inPages().Run(context.Background(), &mcp.StdioTransport{}) },
	"exits at the list": dying("tools/list", exit3),
}

func init() {
	for name, answer := range listManners {
		listServers["lists: "+name] = func() { onStdio(answer) }
	}
}

var _ = Describe("The list of a server's tools", func() {
	all := []string{"add", "hello", "refuse", "refuse silently", "sleep", "where"}
	inMemory := fakeagent.MCPServer{Name: "house"}

	// hearing serves a server of this process, and has the methods that it hears, but for cancellations.
	hearing := func(s *mcp.Server) (heard func() []string, serve mcpcall.Option) {
		var mu sync.Mutex
		var methods []string
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method != "notifications/cancelled" { // nobody waits for it
					mu.Lock()
					methods = append(methods, method)
					mu.Unlock()
				}
				return next(ctx, method, req)
			}
		})
		heard = func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(methods)
		}
		return heard, mcpcall.Serve("house", s)
	}

	type reach = func() (fakeagent.MCPServer, []mcpcall.Option)
	reaches := []any{
		Entry("on stdio", func() (fakeagent.MCPServer, []mcpcall.Option) { return itself("house", "in pages"), nil }),
		Entry("over HTTP, in JSON", func() (fakeagent.MCPServer, []mcpcall.Option) {
			return overHTTP("house", mcp.NewStreamableHTTPHandler(always(inPages()), &mcp.StreamableHTTPOptions{JSONResponse: true})), nil
		}),
		Entry("over HTTP, in a stream", func() (fakeagent.MCPServer, []mcpcall.Option) {
			return overHTTP("house", mcp.NewStreamableHTTPHandler(always(inPages()), nil)), nil
		}),
		Entry("over HTTP, by the older transport", func() (fakeagent.MCPServer, []mcpcall.Option) {
			server := overHTTP("house", mcp.NewSSEHandler(always(inPages()), nil))
			server.SSE = true
			return server, nil
		}),
		Entry("over HTTP, by the newest version", func() (fakeagent.MCPServer, []mcpcall.Option) {
			server := overHTTP("house", mcp.NewStreamableHTTPHandler(always(inPages()), &mcp.StreamableHTTPOptions{Stateless: true}))
			return server, []mcpcall.Option{mcpcall.Newest()}
		}),
		Entry("over memory", func() (fakeagent.MCPServer, []mcpcall.Option) {
			return inMemory, []mcpcall.Option{mcpcall.Serve("house", inPages())}
		}),
	}

	DescribeTable("has the names on all of its pages", append([]any{func(ctx SpecContext, reach reach) {
		server, opts := reach()
		Expect(connect(ctx, server, opts...).ListTools(ctx)).To(Equal(all))
	}}, reaches...)...)

	DescribeTable("and calls have a session that stays open when the context ends with which it was opened", append([]any{func(ctx SpecContext, reach reach) {
		server, opts := reach()
		opening, cancel := context.WithCancel(ctx)
		client := connect(opening, server, opts...)
		Expect(client.ListTools(opening)).To(Equal(all))
		cancel()
		Expect(client.ListTools(ctx)).To(Equal(all))
		r, err := client.CallTool(ctx, "hello", json.RawMessage(`{}`))
		Expect(err).NotTo(HaveOccurred())
		Expect(r.Text).To(HavePrefix("hello"))
	}}, reaches...)...)

	It("takes a request a page, in the session that calls have", func(ctx SpecContext) {
		heard, serve := hearing(inPages())
		client := connect(ctx, inMemory, serve)
		Expect(client.ListTools(ctx)).To(HaveLen(6))
		_, err := client.CallTool(ctx, "hello", json.RawMessage(`{}`))
		Expect(err).NotTo(HaveOccurred())
		Expect(heard()).To(Equal([]string{"initialize", "notifications/initialized", "tools/list", "tools/list", "tools/call"}))
	})

	DescribeTable("is asked for anew each time", func(ctx SpecContext, opts ...mcpcall.Option) {
		server := newTools(&mcp.ServerOptions{PageSize: 4, SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs = int(time.Hour.Milliseconds()) }})
		client := connect(ctx, inMemory, append(opts, mcpcall.Serve("house", server))...)
		Expect(client.ListTools(ctx)).To(Equal(all))
		server.RemoveTools("add", "where")
		Expect(client.ListTools(ctx)).To(Equal([]string{"hello", "refuse", "refuse silently", "sleep"}))
		server.AddTool(&mcp.Tool{Name: "zip", InputSchema: map[string]any{"type": "object"}}, nil)
		Expect(client.ListTools(ctx)).To(Equal([]string{"hello", "refuse", "refuse silently", "sleep", "zip"}))
	},
		Entry("by the version that is asked for by default"),
		Entry("by the newest one, by which a client may keep it for as long as the server says", mcpcall.Newest()),
	)

	It("opens a session where the last one broke", func(ctx SpecContext) {
		server := itself("bad", "dies once")
		server.Env[onceVariable] = filepath.Join(GinkgoT().TempDir(), "once")
		client := connect(ctx, server)
		_, err := client.CallTool(ctx, "greet", json.RawMessage(`{}`))
		Expect(err).To(MatchError(HaveSuffix("the process ended (exit status 3)")))
		Expect(client.ListTools(ctx)).To(Equal([]string{"greet"}))
	})

	Describe("of a server that did not say that it has tools", func() {
		It("is empty with an error, and has what the server gets later", func(ctx SpecContext) {
			server := mcp.NewServer(&mcp.Implementation{Name: "house", Version: "1"}, nil)
			heard, serve := hearing(server)
			client := connect(ctx, inMemory, serve)
			_, err := client.ListTools(ctx)
			Expect(err).To(MatchError(`MCP server "house" has no tools: it lists none, and its answer to initialize does not say that it can have any`))
			server.AddTool(&mcp.Tool{Name: "zip", InputSchema: map[string]any{"type": "object"}}, nil)
			Expect(client.ListTools(ctx)).To(Equal([]string{"zip"}))
			Expect(heard()).To(HaveExactElements("initialize", "notifications/initialized", "tools/list", "tools/list"))
		})

		It("is an error that says so, where the server does not know what is asked", func(ctx SpecContext) {
			_, err := connect(ctx, serving(asJSONBody(listManners["no such method"], disk))).ListTools(ctx)
			Expect(err).To(MatchError(`MCP server "bad" failed the request for its tools: it answered with an error: method not found; no space left on device (JSON-RPC error -32601)`))
		})
	})

	It("is empty without an error, where the server said that it has tools and has none now", func(ctx SpecContext) {
		server := mcp.NewServer(&mcp.Implementation{Name: "house", Version: "1"}, &mcp.ServerOptions{HasTools: true})
		Expect(connect(ctx, inMemory, mcpcall.Serve("house", server)).ListTools(ctx)).To(BeEmpty())
	})

	DescribeTable("of a bad server on stdio is an error", func(ctx SpecContext, server, want string) {
		_, err := connect(ctx, itself("bad", server)).ListTools(ctx)
		Expect(err).To(MatchError(`MCP server "bad" ` + want))
	},
		Entry("that dies", "exits at the list", "did not answer the request for its tools: the process ended (exit status 3)"),
		Entry("that does not answer", "lists: no answer", "did not answer the request for its tools: "+noAnswer),
		Entry("that logs to stdout", "lists: garbage", "did not answer the request for its tools: it wrote a line to stdout that is no message of the protocol (what it logs belongs on stderr): Listening. no space left on device"),
		Entry("that sends half an answer", "lists: half an answer", `did not answer the request for its tools: it wrote a line to stdout that is no message of the protocol (what it logs belongs on stderr): {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"no space left on device"`),
		Entry("that mistakes the id", "lists: a wrong id", "did not answer the request for its tools: it answered with the id 99, which no request has"),
		Entry("that refuses", "lists: an error", "failed the request for its tools: it answered with an error: no space left on device (JSON-RPC error -32603)"),
		Entry("that answers 10 MB", "lists: 10 MB", "did not answer the request for its tools: its answer is longer than 4194304 bytes, the limit"),
		Entry("that goes in a circle", "lists: the same page again", `listed its tools without end: its last page still names a next one, "no space left on device"; the last of all must name none`),
	)

	DescribeTable("of a bad server over HTTP is an error", func(name, asJSON, inStream, bySSE string) {
		virtually(func(ctx context.Context, t *testing.T) {
			for _, by := range []struct {
				h    http.HandlerFunc
				sse  bool
				want string
			}{{asJSONBody(listManners[name], disk), false, asJSON}, {asStream(listManners[name], disk), false, inStream}, {asSSE(listManners[name], disk), true, bySSE}} {
				s := servingInMemory(t, by.h)
				s.SSE = by.sse
				client, err := mcpcall.New().Connect(ctx, fakeagent.MCPConnect{Server: s})
				Expect(err).NotTo(HaveOccurred())
				began, took := time.Now(), time.Duration(0)
				if strings.HasSuffix(by.want, noAnswer) {
					took = 10 * time.Second
				}
				_, err = client.ListTools(ctx)
				Expect(err).To(MatchError(`MCP server "bad" ` + by.want))
				Expect(time.Since(began)).To(Equal(took))
				Expect(client.Close()).To(Succeed())
			}
		})
	},
		same("that does not answer", "no answer", "did not answer the request for its tools: "+noAnswer),
		same("that sends garbage", "garbage", "did not answer the request for its tools: its answer is no message of the protocol"),
		same("that mistakes the id", "a wrong id", "did not answer the request for its tools: "+noAnswer,
			"did not answer the request for its tools: it ended its event stream before the answer", "did not answer the request for its tools: "+noAnswer),
		same("that refuses", "an error", "failed the request for its tools: it answered with an error: no space left on device (JSON-RPC error -32603)"),
		same("that answers 10 MB", "10 MB", "did not answer the request for its tools: its answer is longer than 4194304 bytes, the limit"),
		same("that goes in a circle", "the same page again", `listed its tools without end: its last page still names a next one, "no space left on device"; the last of all must name none`),
	)

	Describe("on virtual time", func() {
		// turning is a server whose pages lead to others by a way of its own.
		turning := func(next func(cursor string) string) *mcp.Server {
			s := newTools(nil)
			s.AddReceivingMiddleware(func(handle mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					p, ok := req.GetParams().(*mcp.ListToolsParams)
					if !ok {
						return handle(ctx, method, req)
					}
					var cursor string
					if p != nil {
						cursor = p.Cursor
					}
					return &mcp.ListToolsResult{Tools: []*mcp.Tool{}, NextCursor: next(cursor)}, nil
				}
			})
			return s
		}
		counting := func(cursor string) string {
			n, _ := strconv.Atoi(cursor)
			return strconv.Itoa(n + 1)
		}

		DescribeTable("ends where its pages do not", func(next func(string) string, last string, requests int) {
			virtually(func(ctx context.Context, _ *testing.T) {
				heard, serve := hearing(turning(next))
				client, err := mcpcall.New(serve).Connect(ctx, fakeagent.MCPConnect{Server: inMemory})
				Expect(err).NotTo(HaveOccurred())
				_, err = client.ListTools(ctx)
				Expect(err).To(MatchError(fmt.Sprintf(`MCP server "house" listed its tools without end: its last page still names a next one, %q; the last of all must name none`, last)))
				Expect(heard()).To(HaveLen(2+requests), "with the handshake")
				_, err = client.CallTool(ctx, "hello", json.RawMessage(`{}`))
				Expect(err).NotTo(HaveOccurred())
				Expect(client.Close()).To(Succeed())
			})
		},
			Entry("in a page that is its own next one", func(string) string { return "again" }, "again", 2),
			Entry("in two pages that are each other's", func(cursor string) string {
				if cursor == "a" {
					return "b"
				}
				return "a"
			}, "b", 1000),
			Entry("in ever new ones", counting, "1000", 1000),
		)

		It("has 10 seconds for all of its pages, and leaves the session open when they are over", func() {
			virtually(func(ctx context.Context, _ *testing.T) {
				heard, serve := hearing(turning(func(cursor string) string {
					time.Sleep(4 * time.Second)
					return counting(cursor)
				}))
				client, err := mcpcall.New(serve).Connect(ctx, fakeagent.MCPConnect{Server: inMemory})
				Expect(err).NotTo(HaveOccurred())
				began := time.Now()
				_, err = client.ListTools(ctx)
				Expect(err).To(MatchError(`MCP server "house" did not answer the request for its tools: no answer within 10s`))
				Expect(time.Since(began)).To(Equal(10 * time.Second))
				_, err = client.CallTool(ctx, "hello", json.RawMessage(`{}`))
				Expect(err).NotTo(HaveOccurred())
				Expect(heard()).To(Equal([]string{"initialize", "notifications/initialized", "tools/list", "tools/list", "tools/list", "tools/call"}))
				Expect(client.Close()).To(Succeed())
			})
		})
	})

	It("may be given up, and leaves the session open", func(ctx SpecContext) {
		server := newTools(nil)
		asked, cancel := context.WithCancel(ctx)
		defer cancel()
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/list" && asked.Err() == nil {
					cancel()
					<-ctx.Done()
				}
				return next(ctx, method, req)
			}
		})
		heard, serve := hearing(server)
		client := connect(ctx, inMemory, serve)
		_, err := client.ListTools(asked)
		Expect(err).To(MatchError(`MCP server "house" did not answer the request for its tools: canceled`))
		Expect(client.ListTools(ctx)).To(Equal(all))
		Expect(heard()).To(HaveExactElements("initialize", "notifications/initialized", "tools/list", "tools/list"))
	})

	DescribeTable("gives no secret away in an error", func(ctx SpecContext, name string) {
		server := withSecrets(serving(asJSONBody(listManners[name], echo)))
		_, err := connect(ctx, server).ListTools(ctx)
		Expect(err).To(MatchError(ContainSubstring("[redacted]")))
		for _, secret := range addresses(server) {
			Expect(err.Error()).NotTo(ContainSubstring(secret))
		}
	},
		Entry("of the server", "an error"),
		Entry("about a page", "the same page again"),
	)
})
