package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/kong"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
	"github.com/understudy-go/understudy/fakeagent/playbook"
)

type execCommand struct {
	Config  agentConfig `required:"" placeholder:"FILE" help:"What the agent is: a JSON file, such as {\"script\":\"stream\"}."`
	Speed   *speed      `placeholder:"F" help:"0 does not wait, 1 is real time, 10 ten times as fast; as the config says by default."`
	Answer  decision    `placeholder:"accept" default:"accept" help:"To approvals: accept, decline or cancel."`
	MCP     []server    `name:"mcp" sep:"none" placeholder:"NAME=URL or CMD" help:"An MCP server; may be given several times."`
	Thread  string      `placeholder:"ID" default:"thread-1" help:"What the thread is called; thread-1 by default."`
	Title   string      `placeholder:"TEXT" help:"The thread's title; none by default."`
	Steer   bool        `help:"Further prompts go to the turn that awaits one."`
	Prompts []string    `arg:"" name:"prompt" help:"The turns of one thread; any text."`
}

func (*execCommand) Help() string {
	return "It prints every event of the agent, as JSON, a line each. A question that blocks the turn gets its first options. " +
		"The exit code is that of the worst turn: 0 completed, 1 failed, 130 canceled."
}

// agentConfig is one in a file.
type agentConfig struct{ fakeagent.Config }

func (a *agentConfig) Decode(ctx *kong.DecodeContext) error {
	value, err := valueOf(ctx)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(value)
	if err != nil {
		return fmt.Errorf("%w; give a JSON file, such as one with {}", err)
	}
	if err := json.Unmarshal(data, &a.Config); err != nil {
		return fmt.Errorf("%s: %s", value, strings.TrimPrefix(err.Error(), "fakeagent: config: "))
	}
	return nil
}

// newAgent is the agent of a configuration. A test is told by every turn what is wrong with a playbook; who sits at a terminal is told at once.
func newAgent(cfg fakeagent.Config) (*fakeagent.Instance, error) {
	if cfg.Script == "mcp-send" && cfg.PlaybookPath != "" {
		if _, err := playbook.Open(cfg.PlaybookPath); err != nil {
			return nil, fmt.Errorf("playbookPath: %w", err)
		}
	}
	agent, err := fakeagent.New(cfg)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "fakeagent: "))
	}
	return agent, nil
}

// decision is the answer to an approval.
type decision fakeagent.Decision

func (d *decision) Decode(ctx *kong.DecodeContext) error {
	value, err := valueOf(ctx)
	if err != nil {
		return err
	}
	*d = decision(value)
	if !slices.Contains([]decision{"accept", "decline", "cancel"}, *d) {
		return fmt.Errorf("%q is no answer; use accept, decline or cancel", value)
	}
	return nil
}

// accept is the answer where there is nobody to ask.
const accept = decision(fakeagent.Accept)

// to is the answer to one approval. Where it is not on offer the first one that is takes its place.
func (d decision) to(asked event.RequestOpened) fakeagent.Decision {
	answer := fakeagent.Decision(d)
	if len(asked.Options) > 0 && answer != fakeagent.Cancel && !slices.Contains(asked.Options, string(d)) {
		answer = fakeagent.Decision(asked.Options[0])
	}
	return answer
}

func (x *execCommand) run(ctx context.Context, c console) (code int) {
	cfg := x.Config.Config
	cfg.MCP = mcpcall.New()
	if x.Speed != nil {
		cfg.Speed, cfg.Instant = float64(*x.Speed), *x.Speed == 0
	}
	agent, err := newAgent(cfg)
	if err != nil {
		c.complain("fakeagent: exec: %v", err)
		return exitUsage
	}
	ctx, stop := untilInterrupted(ctx)
	defer stop()

	t := &stage{console: c}
	defer t.close(&code)
	t.Cleanup(func() { _ = agent.Close() })
	var broken sync.Once
	over := make(chan event.TurnCompleted, 1)
	agent.Subscribe(func(e event.Event) {
		line, err := json.Marshal(e)
		if err == nil {
			_, err = c.out.Write(append(line, '\n'))
		}
		if err != nil {
			broken.Do(func() { t.Errorf("fakeagent: the output could not be written: %v", err) })
		}
		switch p := e.Payload.(type) {
		case event.RequestOpened:
			_ = agent.RespondToRequest(context.Background(), e.ThreadID, e.RequestID, x.Answer.to(p)) // a recorded one is open to nobody
		case event.UserInputRequested:
			_ = agent.RespondToUserInput(context.Background(), e.ThreadID, e.RequestID, event.FirstOptions(p.Questions))
		case event.TurnCompleted:
			over <- p
		}
	})
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatalf("fakeagent: exec: %v", err)
	}
	session := fakeagent.SessionConfig{ThreadID: x.Thread, Title: x.Title, Cwd: cwd}
	for _, m := range x.MCP {
		session.MCPServers = append(session.MCPServers, m.MCPServer)
	}
	if err := agent.StartSession(ctx, session); err != nil {
		t.Fatalf("%v", err)
	}
	for left := x.Prompts; len(left) > 0; {
		if ctx.Err() != nil {
			return max(code, exitCanceled)
		}
		in := fakeagent.TurnInput{ThreadID: x.Thread, Text: left[0]}
		turn, err := agent.SendTurn(ctx, in)
		if err != nil {
			t.Fatalf("%v", err)
		}
		for left = left[1:]; x.Steer && len(left) > 0; left = left[1:] {
			in.TurnID, in.Text = turn, left[0]
			if _, err := agent.SendTurn(ctx, in); err != nil {
				break // then it is a turn of its own
			}
		}
		switch (<-over).State {
		case event.TurnEndCompleted:
		case event.TurnEndFailed:
			code = max(code, exitFailed)
		default:
			code = max(code, exitCanceled)
		}
	}
	return code
}
