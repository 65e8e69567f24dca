package fakeagent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
)

// office is a real MCP server of the test's own process, that threads call. It notes what they call, and when.
type office struct {
	server *mcp.Server

	mu      sync.Mutex
	calls   []string        // tool and arguments
	at      []time.Duration // when, since it opened
	inbox   []string
	held    chan struct{} // what slow calls wait for
	opened  time.Time
	polls   int
	claimed map[string]string // by whom, by item
}

// newOffice has the tools that the specs call.
func newOffice() *office {
	o := &office{
		server: mcp.NewServer(&mcp.Implementation{Name: "office", Version: "1"}, nil),
		opened: time.Now(), held: make(chan struct{}), claimed: map[string]string{},
	}
	o.tool("send_message", func(in map[string]any) (any, error) {
		if in["threadId"] == "" {
			return nil, fmt.Errorf("nobody is called that\nat all")
		}
		return map[string]any{"sent": in}, nil
	})
	o.tool("work_list_items", func(map[string]any) (any, error) {
		return map[string]any{"items": []any{
			map[string]any{"workItemId": "w-1", "title": "v1.2 of it", "size": 3, "open": true},
			map[string]any{"workItemId": "w-2", "title": "docs", "size": 12345678901, "open": false},
		}}, nil
	})
	o.tool("work_claim_item", func(in map[string]any) (any, error) {
		item, _ := in["workItemId"].(string)
		by, _ := in["by"].(string)
		o.claimed[item] = by
		return map[string]any{"claimed": item}, nil
	})
	o.tool("echo", func(in map[string]any) (any, error) { return in, nil })
	o.tool("say", func(in map[string]any) (any, error) { return fmt.Sprint(in["text"]), nil })
	o.tool("message_inbox_peek", func(map[string]any) (any, error) {
		o.polls++
		items := []any{}
		for _, m := range o.inbox {
			items = append(items, map[string]any{"title": m})
		}
		return map[string]any{"items": items, "count": len(items)}, nil
	})
	o.tool("refuse", func(map[string]any) (any, error) { return nil, fmt.Errorf("I will not") })
	o.tool("define", func(in map[string]any) (any, error) {
		o.define(fmt.Sprint(in["name"]))
		return map[string]any{"defined": in["name"]}, nil
	})
	return o
}

// define makes a tool available from now on.
func (o *office) define(name string) {
	o.tool(name, func(map[string]any) (any, error) { return map[string]any{"hello": name}, nil })
}

// tool adds a tool. A string that do returns is text; anything else is structured content.
func (o *office) tool(name string, do func(map[string]any) (any, error)) {
	o.server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.calls = append(o.calls, strings.TrimSuffix(name+" "+string(req.Params.Arguments), " {}"))
			o.at = append(o.at, time.Since(o.opened))
			in := map[string]any{}
			if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
				return nil, err
			}
			out, err := do(in)
			if err != nil {
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil
			}
			if text, ok := out.(string); ok {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "for people"}}, StructuredContent: out}, nil
		})
}

// called are the calls so far.
func (o *office) called() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.calls)
}

// when are the times of the calls so far.
func (o *office) when() []time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.at)
}

// sessions is how many are open.
func (o *office) sessions() (n int) {
	for range o.server.Sessions() {
		n++
	}
	return n
}

// arrives puts something into the inbox.
func (o *office) arrives(message string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.inbox = append(o.inbox, message)
}

// in is a configuration of mcp-send whose sessions have the office as ycodium.
func (o *office) in(cfg fakeagent.Config) fakeagent.Config {
	cfg.Script = "mcp-send"
	cfg.MCP = mcpcall.New(mcpcall.Serve("ycodium", o.server), mcpcall.Serve("annex", o.server))
	return cfg
}

// hires is a thread of an agent that has the office as ycodium, and as annex.
func (o *office) hires(cfg fakeagent.Config) *agent {
	GinkgoHelper()
	a := startWith(o.in(cfg), session("a", ""))
	DeferCleanup(a.Close)
	return a
}

func session(id, title string) fakeagent.SessionConfig {
	return fakeagent.SessionConfig{ThreadID: id, Title: title, MCPServers: []fakeagent.MCPServer{{Name: "ycodium"}, {Name: "annex"}}}
}

// reply is all that the agent has said in its last turn.
func (a *agent) reply() string {
	GinkgoHelper()
	texts := a.deltas()
	Expect(texts).NotTo(BeEmpty())
	return texts[len(texts)-1]
}
