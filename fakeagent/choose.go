package fakeagent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// turnsFile gives the agent of its folder a script for each turn.
const turnsFile = ".fake-agent.json"

// scriptFor is the rule of [Scripted].
func (th *thread) scriptFor(in Input) (script.Script, error) {
	if s, ok, err := script.FromPrompt(in.Prompt); ok || err != nil {
		return s, err
	}
	file, err := th.turnsFile()
	if err != nil {
		return script.Script{}, fmt.Errorf("%s: %w", turnsFile, err)
	}
	s, route, ok := file.Pick(script.Request{Prompt: in.Prompt, Turn: in.Turn, Attempt: in.Attempt}, th.taken)
	if !ok {
		return script.New(script.Say("fake-agent received: " + in.Prompt)), nil
	}
	if route >= 0 {
		if th.taken == nil {
			th.taken = map[int]int{} // only ever touched by the turn that runs
		}
		th.taken[route]++
	}
	return s, nil
}

// turnsFile reads the file anew at each turn. Without one it is empty.
func (th *thread) turnsFile() (script.File, error) {
	if th.session.Cwd == "" {
		return script.File{}, nil
	}
	data, err := th.in.cfg.Files.ReadFile(context.Background(), th.session, turnsFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return script.File{}, nil
	case err != nil:
		return script.File{}, err
	}
	return script.ParseFile(data)
}
