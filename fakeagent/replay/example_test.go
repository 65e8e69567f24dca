package replay_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/replay"
)

// recorded is what a host has recorded of a short run.
const recorded = `{"kind":"journal","schema":1,"normalisers":["uuid"]}
{"kind":"prompt","source":"agent","text":"Greet 550e8400-e29b-41d4-a716-446655440000."}
{"kind":"text","source":"agent","text":"Hello!"}
{"kind":"tool","source":"agent","name":"wave","callId":"t1","input":{"hand":"left"}}
{"kind":"tool-result","source":"agent","name":"wave","callId":"t1","isError":false,"preview":"waved","characters":5}
{"kind":"summary","source":"agent","durationMs":950,"status":0,"tokens":{"input":40,"cached":10,"output":8}}
{"kind":"dispatch-finished","source":"sandbox","status":"done","completed":true}
`

// A host that runs turns by itself has the journal played turn by turn. Its id is another one than that of the recording, which is no difference by
// the rules that the journal has.
func Example() {
	journal, err := replay.Read(strings.NewReader(recorded))
	if err != nil {
		log.Fatal(err)
	}
	agent, err := replay.New(journal.Entries)
	if err != nil {
		log.Fatal(err)
	}
	played, err := agent.Play(context.Background(), replay.Request{
		Prompt:  "Greet 7d444840-9dc0-11d1-b245-5ffdce74fad2.",
		Observe: func(o replay.Observation) { fmt.Println(string(o.Event.JSON())) },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q, %d tokens in and %d out\n", played.Text, played.Usage.Input, played.Usage.Output)
	// Output:
	// {"kind":"text","text":"Hello!"}
	// {"kind":"tool","name":"wave","callId":"t1","input":{"hand":"left"}}
	// {"kind":"tool-result","name":"wave","callId":"t1","isError":false,"preview":"waved","characters":5}
	// "Hello!", 40 tokens in and 8 out
}

// A host that has changed since is told where.
func ExampleDivergence() {
	journal, err := replay.Read(strings.NewReader(recorded))
	if err != nil {
		log.Fatal(err)
	}
	agent, err := replay.New(journal.Entries)
	if err != nil {
		log.Fatal(err)
	}
	_, err = agent.Play(context.Background(), replay.Request{Prompt: "Greet 7d444840-9dc0-11d1-b245-5ffdce74fad2, please."})
	fmt.Println(err)
	if d := (*replay.Divergence)(nil); errors.As(err, &d) {
		fmt.Println(d.Kind, d.Turn, d.Difference.Line, d.Difference.Column)
	}
	// Output:
	// replay: turn 1: the prompt is not the recorded one, also after uuid; it differs at line 1, column 15 (byte 14)
	//   recorded: "Greet <uuid-1>."
	//   sent:     "Greet <uuid-1>, please."
	//                            ^
	// prompt 1 1 15
}

// What an agent does for a host is recorded on its way, and then played without that agent.
func ExampleRecorder() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "hello.jsonl")
	recorder, err := replay.NewRecorder(ctx, name, replay.RecorderConfig{})
	if err != nil {
		log.Fatal(err)
	}
	real, err := fakeagent.New(fakeagent.Scripted()) // or any provider
	if err != nil {
		log.Fatal(err)
	}
	hello(ctx, recorder.Provider(real), `[{"say":"hello"}]`)
	_ = real.Close()
	if err := recorder.Close(ctx, nil); err != nil {
		log.Fatal(err) // such as a *SecretError
	}

	journal, err := replay.ReadFile(name)
	if err != nil {
		log.Fatal(err)
	}
	agent, err := replay.New(journal.Entries)
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()
	hello(ctx, agent, `[{"say":"hello"}]`)
	fmt.Println(agent.RemainingTurns(), "turns are left")
	// Output:
	// assistant_text hello
	// completed
	// assistant_text hello
	// completed
	// 0 turns are left
}

// hello has a provider play one turn, and prints it.
func hello(ctx context.Context, p fakeagent.Provider, prompt string) {
	over := make(chan bool)
	p.Subscribe(func(e event.Event) {
		switch v := e.Payload.(type) {
		case event.Delta:
			fmt.Println(v.Stream, v.Text)
		case event.TurnCompleted:
			fmt.Println(v.State)
			close(over)
		}
	})
	if err := p.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a"}); err != nil {
		log.Fatal(err)
	}
	if _, err := p.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: prompt}); err != nil {
		log.Fatal(err)
	}
	<-over
}
