package main

import (
	"context"

	"github.com/understudy-go/understudy/fakeagent/script"
)

type schemaCommand struct{}

func (*schemaCommand) run(_ context.Context, c console) int {
	if _, err := c.out.Write(script.Schema()); err != nil {
		c.complain("fakeagent: the output could not be written: %v", err)
		return exitFailed
	}
	return exitOK
}
