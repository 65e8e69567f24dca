package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/mockproc"
)

type lintCommand struct {
	Files []string `arg:"" name:"file" help:"A script, turns and routes as in .fake-agent.json, a scenario, or an agent's configuration."`
}

func (*lintCommand) Help() string {
	return "Problems are printed as file:line:column: reason. The exit code is 1 if there are any."
}

func (l *lintCommand) run(_ context.Context, c console) (code int) {
	texts := make([][]byte, len(l.Files))
	for i, name := range l.Files { // all, before the first word
		var err error
		if texts[i], err = os.ReadFile(name); err != nil {
			c.complain("fakeagent: lint: %v; give a script, a file of turns or routes, a scenario, or a configuration", err)
			return exitUsage
		}
	}
	for i, text := range texts {
		if err := check(text); err != nil {
			code = exitFailed
			var e *script.Error
			if !errors.As(err, &e) {
				e = &script.Error{Reason: err.Error(), Line: 1, Column: 1}
			}
			fmt.Fprintf(c.out, "%s:%d:%d: %s\n", l.Files[i], e.Line, e.Column, e.Reason)
		}
	}
	return code
}

// check reads a file as what it is: a scenario and an agent's configuration have keys that scripts have not.
func check(text []byte) error {
	var keys map[string]json.RawMessage
	_ = json.Unmarshal(text, &keys)
	for _, key := range []string{"script", "replyText", "usageScript", "streamChunks", "replayEventsPath"} {
		if _, ok := keys[key]; ok {
			var cfg fakeagent.Config
			err := json.Unmarshal(text, &cfg)
			if err == nil {
				_, err = fakeagent.New(cfg)
			}
			if err != nil {
				err = errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "fakeagent: "), "config: "))
			}
			return err
		}
	}
	for _, key := range []string{"name", "handshake", "profile", "dialect", "faults", "ignore", "afterTurn"} {
		if _, ok := keys[key]; ok {
			_, err := mockproc.ParseScenario(text)
			return err
		}
	}
	_, err := script.ParseFile(text)
	return err
}
