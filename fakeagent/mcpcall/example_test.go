package mcpcall_test

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
)

// A script calls a tool of a server that lives in the test's own process, and was made with the official SDK.
func Example() {
	type guest struct {
		Name string `json:"name"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "doorman", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.CallToolRequest, in guest) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "welcome, " + in.Name}}}, nil, nil
	})

	cfg := fakeagent.Scripted()
	cfg.MCP = mcpcall.New(mcpcall.Serve("doorman", server))
	agent, err := fakeagent.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()

	over := make(chan bool)
	agent.Subscribe(func(e event.Event) {
		switch p := e.Payload.(type) {
		case event.ItemCompleted:
			item, _ := p.Data.MarshalJSON()
			fmt.Printf("%s %s\n%s\n", p.Title, p.Status, item)
		case event.TurnCompleted:
			close(over)
		}
	})
	ctx := context.Background()
	servers := []fakeagent.MCPServer{{Name: "doorman"}}
	if err := agent.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a", MCPServers: servers}); err != nil {
		log.Fatal(err)
	}
	prompt := `[{"mcp":{"server":"doorman","tool":"greet","arguments":{"name":"Ada"}}}]`
	if _, err := agent.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: prompt}); err != nil {
		log.Fatal(err)
	}
	<-over
	// Output:
	// mcp__doorman__greet completed
	// {"type":"unknown","input":{"name":"Ada"},"output":{"content":[{"type":"text","text":"welcome, Ada"}]}}
}
