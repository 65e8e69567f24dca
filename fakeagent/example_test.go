package fakeagent_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
	"github.com/understudy-go/understudy/fakeagent/playbook"
	"github.com/understudy-go/understudy/fakeagent/script"
)

// A host of one's own drives the agent through the Provider interface and listens to its events.
func Example() {
	ctx := context.Background()
	agent, err := fakeagent.New(fakeagent.Scripted())
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()

	over := make(chan bool)
	agent.Subscribe(func(e event.Event) {
		switch p := e.Payload.(type) {
		case event.Delta:
			fmt.Printf("%s %s: %s\n", e.Payload.Type(), e.ItemID, p.Text)
		case event.ItemCompleted:
			fmt.Printf("%s %s: %s %s %s\n", e.Payload.Type(), e.ItemID, p.Title, p.Status, p.Error)
		case event.TurnCompleted:
			fmt.Printf("%s: %s\n", e.Payload.Type(), p.State)
			close(over)
		}
	})
	if err := agent.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a"}); err != nil {
		log.Fatal(err)
	}
	prompt := `[{"say":"hello"},{"bash":{"command":"npm test","exitCode":1}}]`
	if _, err := agent.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: prompt}); err != nil {
		log.Fatal(err)
	}
	<-over
	// Output:
	// content.delta a-1-1: hello
	// item.completed t-1-2: Bash failed exit code 1
	// turn.completed: completed
}

// Two agents share a list of items through the host's own MCP server, by one playbook. It may be in a file, too, by PlaybookPath.
func ExampleConfig_playbook() {
	ctx := context.Background()
	book, err := playbook.Parse([]byte(`{"version": 1, "threads": [
		{"match": {"threadId": "^worker$"}, "turns": [
			[{"id": "list", "tool": "list_items"}, {"tool": "claim_item", "arguments": {"item": "{{step:list.items.0}}", "by": "{{thread}}"}}]]},
		{"match": {"title": "Lead"}, "turns": [
			[{"expectInput": "claimed"}, {"tool": "list_items"}]]}]}`))
	if err != nil {
		log.Fatal(err)
	}

	type claim struct {
		Item string `json:"item"`
		By   string `json:"by"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "team", Version: "1"}, nil)
	items := map[string][]string{"items": {"docs", "tests"}}
	mcp.AddTool(server, &mcp.Tool{Name: "list_items"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, items, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "claim_item"}, func(_ context.Context, _ *mcp.CallToolRequest, in claim) (*mcp.CallToolResult, any, error) {
		items["items"] = slices.DeleteFunc(items["items"], func(item string) bool { return item == in.Item })
		return nil, in, nil
	})

	agent, err := fakeagent.New(fakeagent.Config{
		Script: "mcp-send", Playbook: book, WholePlaybook: true,
		BuiltInServer: "team", MCP: mcpcall.New(mcpcall.Serve("team", server)),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()
	over := make(chan bool)
	agent.Subscribe(func(e event.Event) {
		switch p := e.Payload.(type) {
		case event.Delta:
			fmt.Printf("%s: %s\n", e.ThreadID, p.Text)
		case event.TurnCompleted:
			over <- true
		}
	})
	for _, wakeUp := range []struct{ thread, title, prompt string }{{"worker", "", "there is work"}, {"a", "Lead", "one was claimed"}} {
		team := []fakeagent.MCPServer{{Name: "team"}}
		if err := agent.StartSession(ctx, fakeagent.SessionConfig{ThreadID: wakeUp.thread, Title: wakeUp.title, MCPServers: team}); err != nil {
			log.Fatal(err)
		}
		if _, err := agent.SendTurn(ctx, fakeagent.TurnInput{ThreadID: wakeUp.thread, Text: wakeUp.prompt}); err != nil {
			log.Fatal(err)
		}
		<-over
	}
	fmt.Printf("left: %q\n", agent.PlaybookLeft())
	// Output:
	// worker: mcp-send list_items: {"items":["docs","tests"]}
	// mcp-send claim_item: {"item":"docs","by":"worker"}
	// a: mcp-send list_items: {"items":["tests"]}
	// left: ""
}

// What a turn plays may be chosen by a function: by the prompt, by the turn's number, by anything.
func ExampleConfig() {
	ctx := context.Background()
	agent, err := fakeagent.New(fakeagent.Config{
		Choose: func(in fakeagent.Input) (script.Script, error) {
			return script.New(script.Say(fmt.Sprintf("turn %d, you said %q", in.Turn, in.Prompt))), nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()

	over := make(chan bool)
	agent.Subscribe(func(e event.Event) {
		switch p := e.Payload.(type) {
		case event.Delta:
			fmt.Println(p.Text)
		case event.TurnCompleted:
			over <- true
		}
	})
	if err := agent.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a"}); err != nil {
		log.Fatal(err)
	}
	for _, prompt := range []string{"good morning", "good night"} {
		if _, err := agent.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: prompt}); err != nil {
			log.Fatal(err)
		}
		<-over
	}
	// Output:
	// turn 1, you said "good morning"
	// turn 2, you said "good night"
}

// parrot is a provider of one's own on this engine: what it says is a script, and whatever else a host asks of it the engine answers.
type parrot struct{ *fakeagent.Instance }

func newParrot() (parrot, error) {
	in, err := fakeagent.New(fakeagent.Config{Choose: func(in fakeagent.Input) (script.Script, error) {
		return script.New(script.Think("what was that?"), script.Say(strings.ToUpper(in.Prompt))), nil
	}})
	return parrot{in}, err
}

// Probe is its own.
func (parrot) Probe(context.Context) (fakeagent.Probe, error) {
	return fakeagent.Probe{ID: "parrot", Label: "Parrot", Models: []fakeagent.Model{{ID: "grey", Label: "Grey", Default: true}}}, nil
}

// A provider of one's own needs little more than a rule for what its turns play.
func ExampleProvider() {
	ctx := context.Background()
	agent, err := newParrot()
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()
	var provider fakeagent.Provider = agent
	over := make(chan bool)
	provider.Subscribe(func(e event.Event) {
		if d, ok := e.Payload.(event.Delta); ok {
			fmt.Println(d.Stream, d.Text)
		} else if _, ok := e.Payload.(event.TurnCompleted); ok {
			close(over)
		}
	})
	if err := provider.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a"}); err != nil {
		log.Fatal(err)
	}
	if _, err := provider.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "hello"}); err != nil {
		log.Fatal(err)
	}
	<-over
	probe, _ := provider.Probe(ctx)
	fmt.Println(probe.Label)
	// Output:
	// reasoning_text what was that?
	// assistant_text HELLO
	// Parrot
}

// Where no script can say what happens, since it depends on something outside, a turn is played in Go.
func ExampleConfig_perform() {
	ctx := context.Background()
	deployed := make(chan string, 1)
	agent, err := fakeagent.New(fakeagent.Config{
		Perform: func(ctx context.Context, p *fakeagent.Performance) error {
			if err := p.Play(script.Say("waiting for the deployment")); err != nil {
				return err
			}
			select {
			case version := <-deployed:
				return p.Play(script.Say(version + " is live"))
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()

	over := make(chan bool)
	agent.Subscribe(func(e event.Event) {
		switch p := e.Payload.(type) {
		case event.Delta:
			fmt.Println(p.Text)
			if p.Text == "waiting for the deployment" {
				deployed <- "v2"
			}
		case event.TurnCompleted:
			fmt.Println(p.State)
			close(over)
		}
	})
	if err := agent.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a"}); err != nil {
		log.Fatal(err)
	}
	if _, err := agent.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "deploy"}); err != nil {
		log.Fatal(err)
	}
	<-over
	// Output:
	// waiting for the deployment
	// v2 is live
	// completed
}
