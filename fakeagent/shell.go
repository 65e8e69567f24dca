package fakeagent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/internal/procgroup"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

const (
	shellLimit  = 60 * time.Second
	outputLimit = 64 << 10
)

var errShellLimit = fmt.Errorf("timed out after %.0fs", shellLimit.Seconds())

func (t *turn) bash(s script.BashStep) error {
	d := timeline.Shell{Command: s.Command, Cwd: t.th.session.Cwd}
	shell := t.th.in.cfg.Shell
	if s.Run && shell == nil {
		return &failure{message: "fake-agent refused to run this command: bash steps with run: true start real processes, " +
			"which this host does not allow; set AllowShell (on the command line: --allow-shell)"}
	}
	item := event.Item{ItemType: event.CommandExecution, Title: "Bash", Data: d}
	return t.call(item, func(item *event.Item) error {
		r := ShellResult{Output: s.Output, ExitCode: s.ExitCode}
		var err error
		if s.Run {
			r, err = t.run(shell, s.Command)
		}
		d.Output = r.Output
		if r.Signal != "" {
			d.ExitCode = timeline.NoExitCode
		} else if err == nil {
			d.ExitCode = timeline.Exited(r.ExitCode)
		}
		item.Data = d
		switch {
		case err != nil:
			return err
		case r.Signal != "":
			return fmt.Errorf("signal %s", r.Signal)
		case r.ExitCode != 0:
			return fmt.Errorf("exit code %d", r.ExitCode)
		}
		return nil
	})
}

func (t *turn) run(shell Shell, command string) (ShellResult, error) {
	ctx, cancel := context.WithTimeoutCause(t.ctx, shellLimit, errShellLimit)
	defer cancel()
	over := t.waits(externalLabel, "command")
	r, err := shell.Run(ctx, t.th.session, command)
	over()
	r.Output = strings.ToValidUTF8(r.Output, "\uFFFD") // as JSON will have it
	switch {
	case t.ctx.Err() != nil:
		return r, errCanceled
	case context.Cause(ctx) == errShellLimit:
		return r, errShellLimit
	}
	return r, err
}

// OSShell runs commands with /bin/sh -c. stdin is empty. Of the output the first 64 KiB are kept. When the command is over, or the
// context ends, its process group is killed, so that nothing is left that it started in the background, but for what left the
// group by itself, as setsid does.
type OSShell struct {
	Spawn func(*exec.Cmd) error // see Config.Spawn
}

func (sh OSShell) Run(ctx context.Context, s SessionConfig, command string) (ShellResult, error) {
	if s.Cwd == "" {
		return ShellResult{}, errors.New("the agent has no workspace; start its session with a Cwd")
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Dir = s.Cwd
	if len(s.Env) > 0 {
		cmd.Env = os.Environ()
		for _, k := range slices.Sorted(maps.Keys(s.Env)) {
			cmd.Env = append(cmd.Env, k+"="+s.Env[k])
		}
	}
	if sh.Spawn != nil {
		if err := sh.Spawn(cmd); err != nil {
			return ShellResult{}, err
		}
	}
	kill := procgroup.Own(cmd)
	r, w, err := os.Pipe()
	if err != nil {
		return ShellResult{}, err
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w // one pipe, so that both come in the order in which they were written
	err = cmd.Start()
	w.Close()
	if err != nil {
		return ShellResult{}, fmt.Errorf("cannot run /bin/sh in %q: %w", s.Cwd, err)
	}
	var out capped
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&out, r)
	}()
	err = cmd.Wait()
	kill()
	_ = r.SetReadDeadline(time.Unix(1, 0)) // there may be no end: a child that left the group still has the pipe
	<-read
	drain(r, &out)
	result := ShellResult{Output: out.String(), Signal: signalOf(cmd.ProcessState)}
	if result.Signal == "" {
		result.ExitCode = cmd.ProcessState.ExitCode()
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) || ctx.Err() != nil {
		err = nil // how it ended is in the result
	}
	return result, err
}

// capped keeps the head of what is written to it.
type capped struct {
	head bytes.Buffer
	size int
}

func (c *capped) Write(p []byte) (int, error) {
	c.size += len(p)
	c.head.Write(p[:min(len(p), outputLimit-c.head.Len())])
	return len(p), nil
}

func (c *capped) String() string {
	if c.size <= outputLimit {
		return c.head.String()
	}
	head := strings.ToValidUTF8(c.head.String(), "")
	return fmt.Sprintf("%s\n[%d more bytes left out]\n", head, c.size-outputLimit)
}
