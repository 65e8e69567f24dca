package standin_test

import (
	"context"
	"fmt"
	"log"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/standin"
	chat "github.com/understudy-go/understudy/fakeagent/standin/client"
)

// A client in Go sends a message, and is answered as the test says. In a test, New(t) takes the place of NewUnstarted.
func Example() {
	back, err := standin.NewUnstarted()
	if err != nil {
		log.Fatal(err)
	}
	defer back.Close()
	back.Reply(script.New(script.Think("which one?"), script.Say("Tea it is.")), standin.Text("tea"))

	ctx, id := context.Background(), back.Identity()
	c, err := chat.New(chat.Config{PlatformURL: id.PlatformURL, Token: "any", EnvironmentUID: id.EnvironmentUID, HTTP: back.Client()})
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
	reply, err := c.Chat(ctx, access, session, "Tea or coffee? I would like tea.")
	if err != nil {
		log.Fatal(err)
	}
	defer reply.Close()
	for reply.Next() {
		fmt.Println(reply.Frame().Type())
	}
	if err := reply.Err(); err != nil {
		log.Fatal(err)
	}
	turn, err := back.AwaitTurn(ctx, 1, standin.Completed)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(turn.Status, "after", len(turn.Frames), "frames")
	// Output:
	// start
	// start-step
	// reasoning-start
	// reasoning-delta
	// reasoning-end
	// text-start
	// text-delta
	// text-end
	// finish-step
	// finish
	// completed after 10 frames
}
