package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/understudy-go/understudy/fakeagent/standin"
	"github.com/understudy-go/understudy/fakeagent/standin/client"
)

// A session is started, its runtime is found, and a reply is read frame by frame.
func Example() {
	ctx := context.Background()
	server, err := standin.NewUnstarted()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	id := server.Identity()
	c, err := client.New(client.Config{PlatformURL: id.PlatformURL, Token: "anything", EnvironmentUID: id.EnvironmentUID, HTTP: server.Client()})
	if err != nil {
		log.Fatal(err)
	}

	session, err := c.StartSession(ctx, id.AgentUID)
	if err != nil {
		log.Fatal(err)
	}
	access, err := c.RuntimeAccess(ctx, session.UID)
	if err != nil {
		log.Fatal(err)
	}
	stream, err := c.Chat(ctx, access, session, "What is this?")
	if err != nil {
		log.Fatal(err)
	}
	for stream.Next() {
		switch f := stream.Frame().(type) {
		case client.TextDelta:
			fmt.Print(f.Delta)
		case client.ToolCallStart:
			fmt.Printf("[%s]\n", f.ToolName)
		case client.Finish:
			fmt.Printf("\n[%s]\n", f.Reason)
		}
	}
	if err := stream.Err(); err != nil {
		log.Fatal(err)
	}
	_, err = c.GetSession(ctx, "nobody")
	fmt.Println(err)
	// Output:
	// [stand_in_search]
	// You said: What is this?
	//
	// I am stand-in-cloud/swift-1, and this is what I found.
	// [stop]
	// client: GET /api/v1/agent-sessions/{session}/: https://platform.stand-in.test/api/v1/agent-sessions/nobody/: 404: Not found.
}
