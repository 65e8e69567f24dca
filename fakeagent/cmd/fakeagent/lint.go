package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/playbook"
	"github.com/understudy-go/understudy/fakeagent/replay"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/mockproc"
)

type lintCommand struct {
	Files []string `arg:"" name:"file" help:"A script, turns and routes as in .fake-agent.json, a scenario, a playbook, a journal, or an agent's configuration."`
}

func (*lintCommand) Help() string {
	return "Problems are printed as file:line:column: reason. The exit code is 1 if there are any."
}

func (l *lintCommand) run(_ context.Context, c console) (code int) {
	texts := make([][]byte, len(l.Files))
	for i, name := range l.Files { // all, before the first word
		var err error
		if texts[i], err = os.ReadFile(name); err != nil {
			c.complain("fakeagent: lint: %v; give a script, a file of turns or routes, a scenario, a playbook, a journal, or a configuration", err)
			return exitUsage
		}
	}
	for i, text := range texts {
		for _, e := range problems(text) {
			code = exitFailed
			fmt.Fprintf(c.out, "%s:%d:%d: %s\n", l.Files[i], e.Line, e.Column, e.Reason)
		}
	}
	return code
}

// problems are what is wrong with a file. Only that of a playbook is looked at any further when it can be read.
func problems(text []byte) []*script.Error {
	switch {
	case isJournal(text):
		return journalProblems(text)
	case isPlaybook(text):
		return playbook.Lint(text)
	}
	err := check(text)
	var e *script.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return []*script.Error{e}
	}
	return []*script.Error{{Reason: err.Error(), Line: 1, Column: 1}}
}

// keys are what an object has.
type keys map[string]json.RawMessage

func keysOf(text []byte) (k keys) {
	_ = json.Unmarshal(text, &k) // nothing else has any
	return k
}

func (k keys) any(of ...string) bool {
	return slices.ContainsFunc(of, func(key string) bool { _, ok := k[key]; return ok })
}

// The keys that only files of a kind have.
var (
	ofScripts   = []string{"steps", "stepDelayMs", "turns", "routes"}
	ofConfigs   = []string{"script", "replyText", "usageScript", "streamChunks", "replayEventsPath", "playbookPath"}
	ofScenarios = []string{"name", "handshake", "profile", "dialect", "faults", "ignore", "afterTurn"}
)

// isPlaybook is whether a file is one, or was to be one.
func isPlaybook(text []byte) bool {
	has := keysOf(text)
	if has.any(ofScripts...) {
		return false
	}
	return has.any("threads") || has.any("version") && !has.any(ofConfigs...) && !has.any(ofScenarios...)
}

// isJournal is whether a file is one: entries have a kind, be they one a line or in an array.
func isJournal(text []byte) bool {
	var first struct{ Kind *string }
	d := json.NewDecoder(bytes.NewReader(bytes.TrimLeft(text, " \t\r\n[")))
	return d.Decode(&first) == nil && first.Kind != nil
}

// journalProblems are what is wrong with a journal, where it can be read, and else why it cannot.
func journalProblems(text []byte) (all []*script.Error) {
	j, err := replay.Read(bytes.NewReader(text))
	if e := (*replay.ReadError)(nil); errors.As(err, &e) {
		return []*script.Error{{Reason: e.Reason, Line: e.Line, Column: 1}}
	} else if err != nil {
		return []*script.Error{{Reason: err.Error(), Line: 1, Column: 1}}
	}
	for _, w := range j.Warnings {
		all = append(all, &script.Error{Reason: w.Message, Line: w.Line, Column: 1})
	}
	agent, err := replay.New(j.Entries)
	if e := (*replay.Error)(nil); errors.As(err, &e) {
		line, _ := j.Place(max(e.Entry, 0))
		all = append(all, &script.Error{Reason: strings.TrimPrefix(e.Error(), "replay: "), Line: line, Column: 1})
	}
	if err == nil {
		_ = agent.Close()
	}
	return all
}

// check reads a file as what it is: a scenario and an agent's configuration have keys that scripts have not.
func check(text []byte) error {
	has := keysOf(text)
	switch {
	case has.any(ofConfigs...):
		var cfg fakeagent.Config
		err := json.Unmarshal(text, &cfg)
		if err != nil {
			return errors.New(strings.TrimPrefix(err.Error(), "fakeagent: config: "))
		}
		if cfg.PlaybookPath != "" && cfg.Script != "mcp-send" {
			return errors.New(`playbookPath has no effect: it is for the script mcp-send`)
		}
		_, err = newAgent(cfg)
		return err
	case has.any(ofScenarios...):
		_, err := mockproc.ParseScenario(text)
		return err
	}
	_, err := script.ParseFile(text)
	return err
}
