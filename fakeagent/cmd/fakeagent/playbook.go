package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/playbook"
)

type playbookCommand struct {
	FromRecording fromRecordingCommand `cmd:"" help:"Print a playbook that calls what the agents of a recording called."`
}

type fromRecordingCommand struct {
	File           string `arg:"" name:"file" help:"Recorded events: an array, an object that has one as events, or an event a line."`
	MemberMachines bool   `help:"The threads are on other machines: what awaits a steer goes on without one after a minute."`
	BuiltIn        string `placeholder:"NAME" default:"ycodium" help:"The MCP server of the host, which calls need not name; ycodium by default."`
}

func (*fromRecordingCommand) Help() string {
	return "What a recording cannot tell is said on stderr, a line each. Arguments stay as they were recorded: where one came of an earlier call, " +
		"such as an id, put {{step:id.path}} in its place."
}

func (f *fromRecordingCommand) run(_ context.Context, c console) int {
	data, err := os.ReadFile(f.File)
	if err != nil {
		c.complain("fakeagent: playbook: %v; give a file of recorded events", err)
		return exitUsage
	}
	p, notes, err := fakeagent.PlaybookFromRecording(data, fakeagent.FromRecording{BuiltInServer: f.BuiltIn, MemberMachines: f.MemberMachines})
	if err != nil {
		c.complain("fakeagent: playbook: %s: %v", f.File, err)
		return exitUsage
	}
	for _, n := range notes {
		c.complain("fakeagent: playbook: %s", n)
	}
	text, err := stepByStep(p)
	if err == nil {
		_, err = io.WriteString(c.out, text)
	}
	if err != nil {
		c.complain("fakeagent: the output could not be written: %v", err)
		return exitFailed
	}
	return exitOK
}

// stepByStep is the file of a playbook, with each step on a line of its own.
func stepByStep(p *playbook.Playbook) (string, error) {
	compact, err := p.MarshalJSON()
	if err != nil {
		return "", err
	}
	var file struct {
		Version int
		Threads []struct {
			Match json.RawMessage
			Turns [][]json.RawMessage
		}
	}
	if err := json.Unmarshal(compact, &file); err != nil {
		return "", err
	}
	var lines []string
	for _, th := range file.Threads {
		var batches []string
		for _, steps := range th.Turns {
			batches = append(batches, list(steps, "        "))
		}
		lines = append(lines, fmt.Sprintf("{\n      \"match\": %s,\n      \"turns\": %s\n    }", th.Match, list(batches, "      ")))
	}
	return fmt.Sprintf("{\n  \"version\": %d,\n  \"threads\": %s\n}\n", file.Version, list(lines, "  ")), nil
}

// list is an array with each of its values on a line of its own.
func list[S ~string | ~[]byte](values []S, indent string) string {
	if len(values) == 0 {
		return "[]"
	}
	lines := make([]string, len(values))
	for i, v := range values {
		lines[i] = "\n  " + indent + string(v)
	}
	return "[" + strings.Join(lines, ",") + "\n" + indent + "]"
}
