package main

import (
	"context"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("run --mcp", func() {
	const show = `[{"mcp":{"server":"*","tool":"show","arguments":{"title":"hi"}}}]`

	It("gives the agent an MCP server by its URL, and shows the call", func() {
		server := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "show"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			Title string `json:"title"`
		}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "shown: " + in.Title}}}, nil, nil
		})
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
		DeferCleanup(web.Close)

		Expect(invoke("run", "--mcp", "tools="+web.URL, show)).To(Equal(outcome{0, "[User] " + show + "\n[MCP] tools/show\n", ""}))
		got := invoke("run", "--json", "--mcp", "tools="+web.URL, show)
		Expect(got.lines()[1]).To(Equal(`{"type":"tool_call","callId":"t-1-1","name":"mcp__tools__show","detail":{"type":"unknown","input":{"title":"hi"},` +
			`"output":{"content":[{"type":"text","text":"shown: hi"}]}},"status":"completed","error":null}`))
	})
	It("gives it several, also commands, in the order of the flags", func() {
		got := invoke("run", "--verbose", "--mcp", "b=no-such-command --with flags", "--mcp", "a=http://127.0.0.1:1/", show)
		Expect(got.Code).To(Equal(0))
		Expect(got.lines()[1:]).To(HaveExactElements(
			HavePrefix("[MCP] b/show (failed: "), HavePrefix("[MCP] a/show (failed: ")))
		Expect(got.Out).To(And(ContainSubstring("no-such-command"), Not(ContainSubstring("127.0.0.1"))))
	})
	DescribeTable("is refused without a name, or without a server",
		func(value string) {
			Expect(invoke("run", "--mcp", value, "x")).To(Equal(outcome{exitUsage, "", "fakeagent: --mcp: an MCP server is given as NAME=URL or NAME=CMD; see fakeagent run --help\n"}))
		},
		Entry("no equals sign", "tools"), Entry("nothing behind it", "tools="), Entry("nothing before it", "=http://127.0.0.1:1/"),
	)
})
