package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/understudy-go/understudy/fakeagent/script"
)

type lintCommand struct {
	Files []string `arg:"" name:"file" help:"A script, or turns and routes as in .fake-agent.json."`
}

func (*lintCommand) Help() string {
	return "Problems are printed as file:line:column: reason. The exit code is 1 if there are any."
}

func (l *lintCommand) run(_ context.Context, c console) (code int) {
	texts := make([][]byte, len(l.Files))
	for i, name := range l.Files { // all, before the first word
		var err error
		if texts[i], err = os.ReadFile(name); err != nil {
			c.complain("fakeagent: lint: %v; give a script, or a file of turns or routes", err)
			return exitUsage
		}
	}
	for i, text := range texts {
		if _, err := script.ParseFile(text); err != nil {
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
