package fakeagent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// turnsFile gives the agent of its folder a script for each turn.
const turnsFile = ".fake-agent.json"

// scriptFor is the rule of [Scripted].
func (th *thread) scriptFor(in Input) (script.Script, error) {
	if s, ok, err := script.FromPrompt(in.Prompt); ok || err != nil {
		return s, err
	}
	file, err := TurnsFile(th.in.cfg.Files, th.session)
	if err != nil {
		return script.Script{}, err
	}
	return th.pick(file, in), nil
}

// pick counts for the thread how often it took each route.
func (th *thread) pick(f script.File, in Input) script.Script {
	if th.taken == nil && f.Routes != nil {
		th.taken = map[int]int{} // only ever touched by the turn that runs
	}
	return pick(f, in, th.taken)
}

// FromFile is a rule for [Config.Choose]: that of [Scripted], with a file of the caller's in place of .fake-agent.json. file is called
// for each turn whose prompt carries no script. The rule counts for each thread how often its routes were taken; an instance that is to
// count for itself needs a rule of its own.
func FromFile(file func(Input) (script.File, error)) func(Input) (script.Script, error) {
	var mu sync.Mutex
	taken := map[string]map[int]int{} // how often each route was taken, by thread
	return func(in Input) (script.Script, error) {
		if s, ok, err := script.FromPrompt(in.Prompt); ok || err != nil {
			return s, err
		}
		f, err := file(in)
		if err != nil {
			return script.Script{}, err
		}
		mu.Lock()
		defer mu.Unlock()
		if taken[in.ThreadID] == nil {
			taken[in.ThreadID] = map[int]int{}
		}
		return pick(f, in, taken[in.ThreadID]), nil
	}
}

// pick is what the file says, or the answer of an agent that has no script.
func pick(f script.File, in Input, taken map[int]int) script.Script {
	s, route, ok := f.Pick(script.Request{Prompt: in.Prompt, Turn: in.Turn, Attempt: in.Attempt}, taken)
	if !ok {
		return script.New(script.Say("fake-agent received: " + in.Prompt))
	}
	if route >= 0 {
		taken[route]++
	}
	return s
}

// TurnsFile is the .fake-agent.json in the folder of a session, read anew. Without one it is empty.
func TurnsFile(files Files, s SessionConfig) (f script.File, err error) {
	if s.Cwd == "" {
		return f, nil
	}
	data, err := files.ReadFile(context.Background(), s, turnsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	} else if err == nil {
		f, err = script.ParseFile(data)
	}
	if err != nil {
		return f, fmt.Errorf("%s: %w", turnsFile, err)
	}
	return f, nil
}
