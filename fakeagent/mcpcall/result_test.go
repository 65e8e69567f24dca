package mcpcall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
)

// asWritten is a result in which the SDK's Go values would lose something everywhere, and tidied is what has to be left of it.
const (
	asWritten = `{ "_meta": {"z/last": 9007199254740993, "a/first": [ ]},	"structuredContent" : {"z":9007199254740993,"a":1e2, "y":-0.0,` +
		` "b":100.00,"digits":123456789012345678901234567890}, "later":{"of":"a newer protocol"},  "content":[{"type":"text","text":"a  b"}] }`
	tidied = `{"_meta":{"z/last":9007199254740993,"a/first":[]},"structuredContent":{"z":9007199254740993,"a":1e2,"y":-0.0,` +
		`"b":100.00,"digits":123456789012345678901234567890},"later":{"of":"a newer protocol"},"content":[{"type":"text","text":"a  b"}]}`
)

// returning answers every call with a result.
func returning(result string) manner {
	return to("tools/call", func(m message, _ string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	})
}

// connect is a client of one server for as long as the spec runs.
func connect(ctx context.Context, server fakeagent.MCPServer, opts ...mcpcall.Option) fakeagent.MCPClient {
	GinkgoHelper()
	client, err := mcpcall.New(opts...).Connect(ctx, fakeagent.MCPConnect{Server: server})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(client.Close)
	return client
}

// returns is a server whose only tool has that result.
func returns(result *mcp.CallToolResult) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "bad", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "greet", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return result, nil
	})
	return s
}

var _ = Describe("The result of a call", func() {
	greet := func(ctx context.Context, client fakeagent.MCPClient) fakeagent.MCPResult {
		GinkgoHelper()
		r, err := client.CallTool(ctx, "greet", json.RawMessage(`{}`))
		Expect(err).NotTo(HaveOccurred())
		return r
	}

	DescribeTable("keeps the order of keys, the digits of numbers, _meta, and what the SDK does not know, but no white space", func(ctx SpecContext, server func() fakeagent.MCPServer) {
		client := connect(ctx, server())
		for range 2 {
			r := greet(ctx, client)
			Expect(string(r.JSON)).To(Equal(tidied))
			Expect(r.Text).To(Equal("a  b"))
			Expect(r.IsError).To(BeFalse())
		}
	},
		Entry("on stdio", func() fakeagent.MCPServer { return itself("bad", "as written") }),
		Entry("over HTTP, in JSON", func() fakeagent.MCPServer { return serving(asJSONBody(returning(asWritten), disk)) }),
		Entry("over HTTP, in JSON of many lines", func() fakeagent.MCPServer {
			return serving(asJSONBody(returning(strings.ReplaceAll(asWritten, ", ", ",\r\n\t")), disk))
		}),
		Entry("over HTTP, in a stream", func() fakeagent.MCPServer { return serving(asStream(returning(asWritten), disk)) }),
		Entry("over HTTP, by the older transport", func() fakeagent.MCPServer {
			s := serving(asSSE(returning(asWritten), disk))
			s.SSE = true
			return s
		}),
	)

	It("keeps as much of what a server in memory returns", func(ctx SpecContext) {
		r := greet(ctx, connect(ctx, fakeagent.MCPServer{Name: "bad"}, mcpcall.Serve("bad", returns(&mcp.CallToolResult{
			Meta:              mcp.Meta{"n": json.Number("9007199254740993")},
			Content:           []mcp.Content{&mcp.TextContent{Text: "one"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("x")}, &mcp.TextContent{Text: "two"}},
			StructuredContent: json.RawMessage(`{"z": 9007199254740993, "a": 1e2, "html": "<&>"}`),
			IsError:           true,
		}))))
		Expect(string(r.JSON)).To(And(
			ContainSubstring(`"structuredContent":{"z":9007199254740993,"a":1e2,"html":"<&>"}`),
			ContainSubstring(`"_meta":{"n":9007199254740993}`)))
		Expect(r.Text).To(Equal("one\ntwo"))
		Expect(r.IsError).To(BeTrue())
	})

	DescribeTable("has strings as the server wrote them", func(ctx SpecContext, wire, want string) {
		r := greet(ctx, connect(ctx, serving(asJSONBody(returning(`{"content":[],"structuredContent":`+wire+`}`), disk))))
		Expect(string(r.JSON)).To(Equal(`{"content":[],"structuredContent":` + want + `}`))
	},
		Entry("with white space", `" a\tb  "`, `" a\tb  "`),
		Entry("with escapes that JSON asks for, and others", `"\u0001\"\/\u00e9\u2028\ud83d\ude00"`, `"\u0001\"\/\u00e9\u2028\ud83d\ude00"`),
		Entry("with what is escaped for HTML as it is", `"<b>Q&A</b>"`, `"<b>Q&A</b>"`),
		Entry("without the escapes for HTML", `"\u003cb\u003eQ\u0026A\u003C/b\u003E"`, `"<b>Q&A</b>"`),
		Entry("without the escapes for HTML in keys", `{"\u003c":1,"a":"\u003e"}`, `{"<":1,"a":">"}`),
		Entry("with a backslash before what looks like an escape", `"\\u003c"`, `"\\u003c"`),
		Entry("with a backslash before an escape", `"\\\u003c"`, `"\\<"`),
		Entry("with a backslash at the end", `["\\", "\u0026"]`, `["\\","&"]`),
		Entry("with a quote that does not end it", `"\" , \u003c \"" `, `"\" , < \""`),
		Entry("of other characters beyond ASCII", `"é😀"`, `"é😀"`),
		Entry("but for what is no UTF-8", "\"a\xffb\"", "\"a\uFFFDb\""),
		Entry("of no length", `["", "" ]`, `["",""]`),
	)

	It("is nothing but what the server sends for it", func(ctx SpecContext) {
		r := greet(ctx, connect(ctx, serving(asJSONBody(returning(`{}`), disk))))
		Expect(r).To(Equal(fakeagent.MCPResult{JSON: json.RawMessage(`{}`)}))
	})

	It("is not the late answer to a call before, which was given up", func(ctx SpecContext) {
		client := connect(ctx, itself("bad", "answers late"))
		_, err := client.CallTool(ctx, "greet", json.RawMessage(`{}`))
		Expect(err).To(MatchError(HaveSuffix(noAnswer)))
		for range 2 {
			Expect(string(greet(ctx, client).JSON)).To(Equal(`{"content":[{"type":"text","text":"hello"}]}`))
		}
	})

	It("is the first answer, if there are two", func(ctx SpecContext) {
		ours, theirs := mcp.NewInMemoryTransports()
		tapped, take := mcpcall.Tap(ours)
		client, err := tapped.Connect(ctx)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(client.Close)
		server, err := theirs.Connect(ctx)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(server.Close)
		id, err := jsonrpc.MakeID(1.0)
		Expect(err).NotTo(HaveOccurred())
		go func() {
			defer GinkgoRecover()
			_, err := server.Read(ctx)
			Expect(err).NotTo(HaveOccurred())
			for _, result := range []string{`"first"`, `"second"`} {
				Expect(server.Write(ctx, &jsonrpc.Response{ID: id, Result: json.RawMessage(result)})).To(Succeed())
			}
		}()
		Expect(client.Write(ctx, &jsonrpc.Request{ID: id, Method: "tools/call"})).To(Succeed())
		for range 2 {
			_, err := client.Read(ctx)
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(string(take())).To(Equal(`"first"`))
	})

	It("has a largest size, without white space", func(ctx SpecContext) {
		const most = 4 << 20
		fits := `"` + strings.Repeat("x", most-len(`{"content":[],"structuredContent":""}`)) + `"`
		long := fits[:1] + "x" + fits[1:]
		result := func(text string) mcpcall.Option {
			return mcpcall.Serve("bad", returns(&mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: json.RawMessage(text)}))
		}
		server := fakeagent.MCPServer{Name: "bad"}
		Expect(greet(ctx, connect(ctx, server, result(fits))).JSON).To(HaveLen(most))
		client := connect(ctx, server, result(long))
		_, err := client.CallTool(ctx, "greet", json.RawMessage(`{}`))
		Expect(err).To(MatchError(`MCP server "bad" returned too much: the result is 4194305 bytes long; the limit is 4194304`))
	})

	Describe("does not change what a server over HTTP is told in headers", func() {
		// tell serves, and tells of each message the headers that the protocol has for it.
		tell := func(heard chan<- string, h http.Handler) fakeagent.MCPServer {
			GinkgoHelper()
			return overHTTP("calc", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				heard <- strings.TrimSpace(fmt.Sprint(r.Method, " ", r.Header.Get("Mcp-Protocol-Version"), " ", r.Header.Get("Mcp-Method")))
				h.ServeHTTP(w, r)
			}))
		}

		It("which is the version, once there is one", func(ctx SpecContext) {
			heard := make(chan string, 10)
			client := connect(ctx, tell(heard, mcp.NewStreamableHTTPHandler(always(newTools(nil)), nil)))
			_, err := client.CallTool(ctx, "hello", json.RawMessage(`{}`))
			Expect(err).NotTo(HaveOccurred())
			Expect(client.Close()).To(Succeed())
			close(heard)
			var all []string
			for h := range heard {
				all = append(all, h)
			}
			Expect(all).To(Equal([]string{"POST", "POST 2025-11-25", "POST 2025-11-25", "DELETE 2025-11-25"}))
		})

		It("which is the version and the method by the newest version, also of a call that is given up", func(ctx SpecContext) {
			tools, heard, givenUp := newTools(nil), make(chan string, 10), make(chan bool)
			release := sync.OnceFunc(func() { close(givenUp) })
			defer release()
			waiting, cancel := context.WithCancel(ctx)
			defer cancel()
			mcp.AddTool(tools, &mcp.Tool{Name: "wait"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
				cancel()
				<-givenUp
				return nil, nil, nil
			})
			client := connect(ctx, tell(heard, mcp.NewStreamableHTTPHandler(always(tools), &mcp.StreamableHTTPOptions{Stateless: true})), mcpcall.Newest())
			_, err := client.CallTool(waiting, "wait", json.RawMessage(`{}`))
			Expect(err).To(MatchError(`MCP server "calc" did not answer the call of wait: canceled`))
			for _, want := range []string{"server/discover", "tools/call", "notifications/cancelled"} {
				Expect(<-heard).To(Equal("POST 2026-07-28 " + want))
			}
			release()
			r, err := client.CallTool(ctx, "hello", json.RawMessage(`{}`))
			Expect(err).NotTo(HaveOccurred())
			Expect(r.Text).To(HavePrefix("hello"))
		})
	})
})
