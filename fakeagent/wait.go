package fakeagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// pollEvery is how often a step looks that waits for a server.
const pollEvery = 250 * time.Millisecond

// waitStep waits until a server has a tool.
func (t *turn) waitStep(s script.WaitStep) error {
	server := t.serverName(s.Server)
	prefix := "mcp__" + server + "__"
	want := strings.TrimPrefix(s.Tool, prefix)
	came, err := t.poll(cmp.Or(s.Timeout, script.WaitTimeout), server, func(ctx context.Context, c MCPClient) bool {
		tools, err := c.ListTools(ctx)
		return err == nil && slices.ContainsFunc(tools, func(name string) bool { return strings.TrimPrefix(name, prefix) == want })
	})
	what := "wait " + t.toolName(server, s.Tool)
	return t.waited(came, err, what, what)
}

// waitFor calls a tool until its result has enough at a path.
func (t *turn) waitFor(s script.WaitForStep) error {
	server := t.serverName(s.Server)
	arguments := orNone(s.Arguments)
	came, err := t.poll(cmp.Or(s.Timeout, script.WaitTimeout), server, func(ctx context.Context, c MCPClient) bool {
		r, err := c.CallTool(ctx, s.Tool, arguments)
		if err != nil || r.IsError {
			return false
		}
		value, _ := r.value()
		there, ok := value.Lookup(s.Path)
		if !ok || amount(there) < float64(s.AtLeast) {
			return false
		}
		if s.ID != "" {
			t.th.keep(result{id: s.ID, json: value})
		}
		return true
	})
	tool := t.toolName(server, s.Tool)
	return t.waited(came, err, fmt.Sprintf("waitFor %s %s >= %d", tool, s.Path, s.AtLeast), tool)
}

// amount is what a waitFor counts: the length of an array, a number, and 1 for anything else.
func amount(v script.Doc) float64 {
	var list []json.RawMessage
	if v[0] == '[' && json.Unmarshal([]byte(v), &list) == nil {
		return float64(len(list))
	}
	if n, err := strconv.ParseFloat(string(v), 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return n
	}
	return 1
}

// poll looks at a server until there is what is looked for, or the time is over. A server that cannot be reached has it not yet.
func (t *turn) poll(timeout time.Duration, server string, look func(context.Context, MCPClient) bool) (came bool, err error) {
	defer t.waits()()
	start, tick := time.Now(), time.NewTicker(pollEvery)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
	defer cancel()
	for time.Since(start) < timeout {
		client, err := t.th.connect(ctx, server)
		if errors.As(err, new(*unknownServer)) || errors.Is(err, errNoMCP) {
			return false, err
		}
		if err == nil && look(ctx, client) {
			return true, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		if t.ctx.Err() != nil {
			return false, errCanceled
		}
	}
	return false, nil
}

// waited reports how a wait ended: what it was for, or which tool could not be called at all.
func (t *turn) waited(came bool, err error, what, tool string) error {
	switch {
	case errors.Is(err, errCanceled):
		return err
	case err != nil:
		t.reports(tool, " failed: ", reason(err))
	case came:
		t.reports(what, ": ", "ready")
	default:
		t.reports(what, " failed: ", "timeout")
	}
	return t.pause(0)
}

// reports adds a line to what the turn says at its end.
func (t *turn) reports(what, how, text string) {
	t.report = append(t.report, "mcp-send "+what+how+oneLine.Replace(text))
}

var oneLine = strings.NewReplacer("\r", `\r`, "\n", `\n`)

// toolName is what a report calls a tool.
func (t *turn) toolName(server, tool string) string {
	if server == t.serverName("") {
		return tool
	}
	return server + "/" + tool
}

// reason is what a report says of an error.
func reason(err error) string {
	if u := (*unknownServer)(nil); errors.As(err, &u) {
		return "unknown server " + u.name
	}
	return err.Error()
}
