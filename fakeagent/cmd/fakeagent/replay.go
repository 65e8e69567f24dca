package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/replay"
	"github.com/understudy-go/understudy/timelinekit"
)

type replayCommand struct {
	Journal    journal  `arg:"" help:"A file of entries, one a line, or an array of them."`
	Prompts    []string `name:"prompt" sep:"none" placeholder:"TEXT" help:"The turns, instead of those recorded; may be given several times."`
	Cwd        folder   `placeholder:"DIR" help:"A git work tree, to make the recorded commits in; without it none are made."`
	Divergence policy   `placeholder:"fail" default:"fail" help:"What a difference does: fail, or warn and go on."`
	Speed      speed    `placeholder:"F" default:"0" help:"0 does not wait, 1 waits as recorded, 10 a tenth of that."`
	JSON       bool     `name:"json" help:"Print canonical timeline items, one a line."`
	Report     string   `placeholder:"FILE" help:"Write what came of it there, as JSON."`
}

func (*replayCommand) Help() string {
	return "It plays a recorded run as the turns of one agent, and holds the prompts against those recorded. " +
		"The exit code is that of the worst turn: 0 completed, 1 failed, 130 canceled; and 1 where turns are left."
}

// journal is a file that can be read as one.
type journal struct {
	name string
	*replay.Journal
}

func (j *journal) Decode(ctx *kong.DecodeContext) (err error) {
	if j.name, err = valueOf(ctx); err != nil {
		return err
	}
	j.Journal, err = replay.ReadFile(j.name)
	return err
}

// warn tells what is not as it should be with it.
func (j *journal) warn(c console) {
	for _, w := range j.Warnings {
		c.complain("fakeagent: %s: %s", j.name, w)
	}
}

// policy is what a divergence does.
type policy replay.Policy

func (p *policy) Decode(ctx *kong.DecodeContext) error {
	value, err := valueOf(ctx)
	if err != nil {
		return err
	}
	if *p = policy(value); *p != policy(replay.Fail) && *p != policy(replay.Warn) {
		return fmt.Errorf("%q is no policy; use %s or %s", value, replay.Fail, replay.Warn)
	}
	return nil
}

func (r *replayCommand) run(ctx context.Context, c console) (code int) {
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	r.Journal.warn(c)
	opts := []replay.Option{
		replay.WithDivergence(replay.Policy(r.Divergence)), replay.WithSpeed(float64(r.Speed)),
		replay.WithWarnings(func(err error) { c.explain("fakeagent: %v", err) }),
	}
	if r.Cwd == "" {
		opts = append(opts, replay.WithoutWorkspace())
	}
	agent, err := replay.New(r.Journal.Entries, opts...)
	if err != nil {
		c.complain("fakeagent: %v", err)
		return exitUsage
	}
	t := &stage{console: c}
	defer t.close(&code)
	t.Cleanup(func() { _ = agent.Close() })
	host := timelinekit.NewHost(t, timelinekit.WithProvider(agent.Name(), agent))
	out := &printer{out: c.out, json: r.JSON, terminal: c.terminal && !r.JSON, reasons: true}
	agent.Subscribe(func(e event.Event) {
		_, over := e.Payload.(event.TurnCompleted)
		out.update(host.AgentTimeline(e.ThreadID), over)
	})
	id, err := host.CreateAgent(context.Background(), timelinekit.Cwd(string(r.Cwd)))
	if err != nil {
		t.Fatalf("%v", err)
	}
	prompts, diverged := r.Prompts, false
	if len(prompts) == 0 {
		prompts = recordedPrompts(agent.Turns())
	}
	for _, prompt := range prompts {
		if ctx.Err() != nil {
			code = max(code, exitCanceled)
			break
		}
		code = max(code, play(ctx, t, host, id, prompt))
		if diverged = failed(agent.Report()); diverged {
			break // what comes next is out of step
		}
	}
	if out.failed != nil {
		t.Errorf("fakeagent: the output could not be written: %v", out.failed)
	}
	report := agent.Report()
	if report.Remaining > 0 && ctx.Err() == nil && !diverged {
		t.Errorf("fakeagent: replay: %d of %d turns were not played; the next one is for %.80q", report.Remaining, report.Turns, agent.Turns()[report.Turns-report.Remaining].Prompt)
	}
	if r.Report != "" {
		text, _ := json.MarshalIndent(report, "", "  ") // of texts and numbers
		if err := os.WriteFile(r.Report, append(text, '\n'), 0o644); err != nil {
			t.Errorf("fakeagent: replay: the report cannot be written: %v", err)
		}
	}
	return code
}

// failed is whether a divergence has ended a turn.
func failed(r replay.Report) bool {
	return slices.ContainsFunc(r.Divergences, func(d *replay.Divergence) bool { return d.Hard || r.Policy == replay.Fail })
}

// recordedPrompts are those that a host sent: a turn that goes on with the one before was played with that.
func recordedPrompts(turns []replay.Turn) (prompts []string) {
	for i, t := range turns {
		if t.ResumedBy == nil && (i == 0 || turns[i-1].Handover == nil) {
			prompts = append(prompts, t.Prompt)
		}
	}
	return prompts
}
