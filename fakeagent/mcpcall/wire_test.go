package mcpcall_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

// strictly answers the three messages that a server must expect, and nothing else; "" is no answer.
func strictly(message []byte) (answer string) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.Unmarshal(message, &m); err != nil {
		panic(err)
	}
	switch m.Method {
	case "initialize":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"strict","version":"1"}}}`, m.ID)
	case "tools/call":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"3"}]}}`, m.ID)
	}
	return ""
}

// serveStrictly is a server on stdio that was written by hand. Its log is what it saw.
func serveStrictly() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		logLine(in.Text())
		if answer := strictly(in.Bytes()); answer != "" {
			fmt.Println(answer)
		}
	}
}

// threeMessages are all that a server sees of one call.
func threeMessages() []any {
	return []any{
		MatchJSON(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
			"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"fake-agent","version":"1"}}}`),
		MatchJSON(`{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`),
		MatchJSON(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}`),
	}
}

var _ = Describe("What a server sees of a call", func() {
	added := BeToolCall("mcp__calc__add", WithStatus(timeline.Completed))

	Describe("is initialize, notifications/initialized and tools/call, so that a server which answers nothing else will do", func() {
		It("on stdio", func(ctx SpecContext) {
			server := itself("calc", "strict")
			log := filepath.Join(GinkgoT().TempDir(), "log")
			server.Env[logVariable] = log
			run := call(ctx, GinkgoT(), adding("calc"), only(server))
			Expect(run).To(And(EndCompleted(), HaveItems(added)))
			b, err := os.ReadFile(log)
			Expect(err).NotTo(HaveOccurred())
			Expect(strings.Split(strings.TrimSpace(string(b)), "\n")).To(HaveExactElements(threeMessages()...))
		})

		DescribeTable("over HTTP", func(ctx SpecContext, contentType, format string) {
			var (
				mu                sync.Mutex
				requests, headers []string
			)
			server := overHTTP("calc", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				requests = append(requests, string(body))
				headers = append(headers, strings.Join([]string{r.Method, r.Header.Get("Content-Type"), r.Header.Get("Accept"), r.Header.Get("Mcp-Protocol-Version")}, "|"))
				mu.Unlock()
				if r.Method != http.MethodPost {
					w.WriteHeader(http.StatusMethodNotAllowed)
				} else if answer := strictly(body); answer != "" {
					w.Header().Set("Content-Type", contentType)
					fmt.Fprintf(w, format, answer)
				} else {
					w.WriteHeader(http.StatusAccepted)
				}
			}))
			run := call(ctx, GinkgoT(), adding("calc"), only(server))
			Expect(run).To(And(EndCompleted(), HaveItems(added)))
			Expect(requests).To(HaveExactElements(threeMessages()...))
			const post = "POST|application/json|application/json, text/event-stream|"
			Expect(headers).To(HaveExactElements(HavePrefix(post), post+"2025-11-25", post+"2025-11-25"))
		},
			Entry("answering with JSON", "application/json", "%s"),
			Entry("answering with an event stream", "text/event-stream", "event: message\ndata: %s\n\n"),
		)
	})

	It("begins with server/discover where the newest protocol version is asked for", func(ctx SpecContext) {
		heard := func(opts ...mcpcall.Option) (methods []string) {
			GinkgoHelper()
			server := newTools(nil)
			server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					methods = append(methods, method)
					return next(ctx, method, req)
				}
			})
			run := call(ctx, GinkgoT(), adding("calc"), only(fakeagent.MCPServer{Name: "calc"}), append(opts, mcpcall.Serve("calc", server))...)
			Expect(run).To(And(EndCompleted(), HaveItems(added)))
			return methods
		}
		Expect(heard()).To(Equal([]string{"initialize", "notifications/initialized", "tools/call"}))
		Expect(heard(mcpcall.Newest())).To(Equal([]string{"server/discover", "tools/call"}))
	})
})
