package fakeagent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/understudy-go/understudy/e2e/stopwatch"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
)

// benchServer has a tool that lists items, in 10 KB, and one that claims one of them.
func benchServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	var items []any
	for i := range 100 {
		items = append(items, map[string]any{"workItemId": fmt.Sprintf("item-%d", i), "title": fmt.Sprintf("Item number %d of many", i), "state": "open", "size": i})
	}
	add := func(name string, result any) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: result}, nil
			})
	}
	add("list", map[string]any{"items": items})
	add("claim", map[string]any{"claimed": true, "state": "in progress", "next": []any{"review", "done"}})
	return s
}

// atOnce is how many of them make their calls at the same time. With a thousand, a call may wait its turn for as long as a client has patience.
const atOnce = 100

// BenchmarkPlaybook has 1,000 threads make 100 calls each of a server in memory, by a playbook, and by the SDK alone. Both are done in turn; the
// throughput of the first in relation to the second is the metric playbook/sdk.
func BenchmarkPlaybook(b *testing.B) {
	const threads, calls = 1000, 100
	claims := strings.Repeat(`,{"tool":"claim","arguments":{"workItemId":"{{step:list.items.0.workItemId}}","by":"{{thread}}"}}`, calls-1)
	line := `{"match":{"threadId":"."},"turns":[[{"id":"list","tool":"list"}` + claims + `]]}`
	path := filepath.Join(b.TempDir(), "playbook.json")
	book := `{"version":1,"threads":[` + line + strings.Repeat(","+line, threads-1) + `]}`
	if err := os.WriteFile(path, []byte(book), 0o600); err != nil {
		b.Fatal(err)
	}
	var direct, played stopwatch.Stopwatch
	for b.Loop() {
		direct.Time(1, func() { callDirectly(b, threads, calls) })
		played.Time(1, func() { callByPlaybook(b, path, threads) })
	}
	b.ReportMetric(direct.Median()/(threads*calls), "ns/sdk-call")
	b.ReportMetric(played.Median()/(threads*calls), "ns/playbook-call")
	b.ReportMetric(direct.Median()/played.Median(), "playbook/sdk")
}

func callDirectly(b *testing.B, threads, calls int) {
	server, ctx := benchServer(), context.Background()
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range threads {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			client, end := mcp.NewInMemoryTransports()
			ss, err := server.Connect(ctx, end, nil)
			if err != nil {
				b.Error(err)
				return
			}
			defer ss.Close()
			cs, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, client, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
			if err != nil {
				b.Error(err)
				return
			}
			defer cs.Close()
			call := func(tool, arguments string) {
				if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}); err != nil {
					b.Error(err)
				}
			}
			call("list", "{}")
			for range calls - 1 {
				call("claim", fmt.Sprintf(`{"workItemId":"item-0","by":"thread-%d"}`, i))
			}
		})
	}
	all.Wait()
}

func callByPlaybook(b *testing.B, path string, threads int) {
	ctx := context.Background()
	in, err := fakeagent.New(fakeagent.Config{Script: "mcp-send", PlaybookPath: path, WholePlaybook: true, MCP: mcpcall.New(mcpcall.Serve("ycodium", benchServer()))})
	if err != nil {
		b.Fatal(err)
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	in.Subscribe(func(e event.Event) {
		switch p := e.Payload.(type) {
		case event.ItemCompleted:
			if p.Status != event.Completed {
				b.Errorf("a call failed: %s", p.Error)
			}
		case event.TurnCompleted:
			all.Go(func() { // a session ends when nobody waits for its events
				_ = in.StopSession(ctx, e.ThreadID)
				<-slots
			})
		}
	})
	for i := range threads {
		slots <- struct{}{}
		s := fakeagent.SessionConfig{ThreadID: fmt.Sprintf("thread-%d", i), MCPServers: []fakeagent.MCPServer{{Name: "ycodium"}}}
		if err := in.StartSession(ctx, s); err != nil {
			b.Fatal(err)
		}
		if _, err := in.SendTurn(ctx, fakeagent.TurnInput{ThreadID: s.ThreadID, Text: "go"}); err != nil {
			b.Fatal(err)
		}
	}
	for range atOnce {
		slots <- struct{}{}
	}
	all.Wait()
	_ = in.Close()
	if v := in.Violations(); v != nil {
		b.Error(v)
	}
}
