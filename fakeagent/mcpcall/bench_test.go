package mcpcall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/timelinekit"
)

// BenchmarkCall compares mcp steps on an open session over memory, in turns of one and of a hundred, with bare calls by the SDK on an
// open session of its own. ×sdk is what a step takes, in such calls: the median of pairs of batches, since the machine's speed changes.
func BenchmarkCall(b *testing.B) {
	for _, steps := range []int{1, 100} {
		b.Run(fmt.Sprintf("steps=%d", steps), func(b *testing.B) {
			ctx := context.Background()
			cfg := fakeagent.Scripted()
			cfg.MCP = mcpcall.New(mcpcall.Serve("calc", newTools(nil)))
			host := timelinekit.NewHost(b, timelinekit.WithProvider("fake-agent", fakeagent.NewT(b, cfg)))
			prompt := script.New(slices.Repeat([]script.Step{adding("calc")}, steps)...).String()
			run := host.RunPrompt(ctx, prompt, timelinekit.MCPServers(fakeagent.MCPServer{Name: "calc"}))
			if n := len(run.Items()); n != steps {
				b.Fatalf("%d items, want %d", n, steps)
			}
			turn := func() { host.SendPrompt(ctx, run.AgentID, prompt) }

			sdk := bare(b, newTools(nil))
			floor := func() {
				_, err := sdk.CallTool(ctx, &mcp.CallToolParams{Name: "add", Arguments: json.RawMessage(`{"a":1,"b":2}`)})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			batch := max(1, 20/steps)
			var ratios []float64
			for b.Loop() {
				b.StopTimer()
				theirs := timeOf(batch*steps, floor)
				ratios = append(ratios, float64(timeOf(batch, turn))/float64(theirs))
				b.StartTimer()
				turn()
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "×sdk")
		})
	}
}

// BenchmarkClient compares the client with bare calls by the SDK, in sessions of their own with one server over memory, for results with so
// many bytes of structured content, and for a list of tools. ×sdk is the median of pairs of batches.
func BenchmarkClient(b *testing.B) {
	ctx := context.Background()
	compare := func(name string, s *mcp.Server, sdk func(*mcp.ClientSession) error, ours func(fakeagent.MCPClient) error) {
		session := bare(b, s)
		client, err := mcpcall.New(mcpcall.Serve("bad", s)).Connect(ctx, fakeagent.MCPConnect{Server: fakeagent.MCPServer{Name: "bad"}})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = client.Close() })
		do := func(b *testing.B, err error) {
			if err != nil {
				b.Fatal(err)
			}
		}
		b.Run(name+"/sdk", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do(b, sdk(session))
			}
		})
		b.Run(name+"/mcpcall", func(b *testing.B) {
			b.ReportAllocs()
			const batch = 20
			var ratios []float64
			for n := 0; b.Loop(); n++ {
				do(b, ours(client))
				if n%batch > 0 {
					continue
				}
				b.StopTimer()
				var times [2]time.Duration
				for i := range times {
					if which := (i + n/batch) % 2; which == 0 { // each comes first as often as the other, as the collector has just run
						times[which] = timeOf(batch, func() { do(b, sdk(session)) })
					} else {
						times[which] = timeOf(batch, func() { do(b, ours(client)) })
					}
				}
				ratios = append(ratios, float64(times[1])/float64(times[0]))
				b.StartTimer()
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "×sdk")
		})
	}
	for _, size := range []int{100, 10_000} {
		content := structured(size)
		s := returns(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}, StructuredContent: content})
		compare(fmt.Sprintf("bytes=%d", size), s, func(session *mcp.ClientSession) error {
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "greet", Arguments: json.RawMessage(`{}`)})
			return err
		}, func(client fakeagent.MCPClient) error {
			_, err := client.CallTool(ctx, "greet", json.RawMessage(`{}`))
			return err
		})
	}
	compare("list", newTools(nil), func(session *mcp.ClientSession) error {
		_, err := session.ListTools(ctx, nil)
		return err
	}, func(client fakeagent.MCPClient) error {
		_, err := client.ListTools(ctx)
		return err
	})
}

// structured is an object of about so many bytes, as a tool may return it.
func structured(size int) json.RawMessage {
	content := []byte(`{"rows":[{"id":0}`)
	for n := 1; len(content) < size; n++ {
		content = fmt.Appendf(content, `,{"id":%d,"name":"row number %d","open":true,"price":%d.5}`, n, n, n)
	}
	return append(content, "]}"...)
}

// bare is a session with a server that the SDK opened, with the protocol version that mcpcall opens it with.
func bare(b *testing.B, s *mcp.Server) *mcp.ClientSession {
	ctx := context.Background()
	client, server := mcp.NewInMemoryTransports()
	if _, err := s.Connect(ctx, server, nil); err != nil {
		b.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, nil).
		Connect(ctx, client, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = session.Close() })
	return session
}

// timeOf is how long n runs of f take.
func timeOf(n int, f func()) time.Duration {
	began := time.Now()
	for range n {
		f()
	}
	return time.Since(began)
}
