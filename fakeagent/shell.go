package fakeagent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent/event"
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
	r, err := shell.Run(ctx, t.th.session, command)
	r.Output = strings.ToValidUTF8(r.Output, "\uFFFD") // as JSON will have it
	switch {
	case t.ctx.Err() != nil:
		return r, errCanceled
	case context.Cause(ctx) == errShellLimit:
		return r, errShellLimit
	}
	return r, err
}

// OSShell runs commands with /bin/sh -c. stdin is empty. Of the output the first 64 KiB are kept. When the command is over, or
// the context ends, its process group is killed, so that nothing it started in the background is left.
type OSShell struct {
	Spawn func(*exec.Cmd) error // see Config.Spawn
}

func (sh OSShell) Run(ctx context.Context, s SessionConfig, command string) (ShellResult, error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Dir = s.Cwd
	if len(s.Env) > 0 {
		cmd.Env = os.Environ()
		for k, v := range s.Env {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
		slices.Sort(cmd.Env[len(cmd.Env)-len(s.Env):])
	}
	kill := ownGroup(cmd)
	if sh.Spawn != nil {
		if err := sh.Spawn(cmd); err != nil {
			return ShellResult{}, err
		}
	}
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
		_, _ = out.ReadFrom(r)
	}()
	err = cmd.Wait()
	kill()
	select {
	case <-read:
	case <-time.After(time.Second): // a child that left the group still has the pipe
		r.Close()
		<-read
	}
	result := ShellResult{Output: out.String(), Signal: signalOf(cmd.ProcessState)}
	if result.Signal == "" {
		result.ExitCode = cmd.ProcessState.ExitCode()
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) || ctx.Err() != nil {
		err = nil // how it ended is in the result
	}
	return result, err
}

// capped keeps the head of what it reads.
type capped struct {
	head bytes.Buffer
	size int
}

func (c *capped) ReadFrom(r *os.File) (int64, error) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		c.size += n
		c.head.Write(buf[:min(n, outputLimit-c.head.Len())])
		if err != nil {
			return int64(c.size), err
		}
	}
}

func (c *capped) String() string {
	if c.size <= outputLimit {
		return c.head.String()
	}
	head := strings.ToValidUTF8(c.head.String(), "")
	return fmt.Sprintf("%s\n[%d more bytes left out]\n", head, c.size-outputLimit)
}
