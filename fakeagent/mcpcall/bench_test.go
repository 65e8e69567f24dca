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

			sdk := bare(b)
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

// bare is a session that the SDK opened, with the protocol version that mcpcall opens it with.
func bare(b *testing.B) *mcp.ClientSession {
	ctx := context.Background()
	client, server := mcp.NewInMemoryTransports()
	if _, err := newTools(nil).Connect(ctx, server, nil); err != nil {
		b.Fatal(err)
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, nil).
		Connect(ctx, client, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// timeOf is how long n runs of f take.
func timeOf(n int, f func()) time.Duration {
	began := time.Now()
	for range n {
		f()
	}
	return time.Since(began)
}
