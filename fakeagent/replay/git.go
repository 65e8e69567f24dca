package replay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent/internal/procgroup"
)

// Runner runs the commands of a host. A host whose workspaces are somewhere else, such as in a container, has one of its own; [OSRunner] is
// for those on this machine.
type Runner interface {
	// Run runs a command to its end. An exit code that is not 0 is no error. When ctx ends, the command is to be ended.
	Run(ctx context.Context, c Command) (Result, error)
}

// Command is a command for a [Runner].
type Command struct {
	Dir   string            // absolute
	Args  []string          // the program first, which is looked up in PATH
	Env   map[string]string // added to the environment of the workspace
	Unset []string          // taken out of it, before Env is added; a name that ends in * is every one that begins so
	Stdin []byte
}

// Result is how a command ended.
type Result struct {
	Stdout, Stderr []byte
	ExitCode       int
}

// OSRunner runs commands on this machine. A command has this process's environment, and a process group of its own, which is killed when the
// command is over or its context ends.
type OSRunner struct{}

// outputDelay is how long the output of a command that is over is waited for: what it left running may hold on to it.
const outputDelay = 2 * time.Second

// Run is of [Runner]. A command that a signal ended has the exit code -1.
func (OSRunner) Run(ctx context.Context, c Command) (Result, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.Dir, environment(os.Environ(), c), bytes.NewReader(c.Stdin)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, outputDelay
	kill := procgroup.Own(cmd)
	err := cmd.Run()
	kill()
	switch exit := (*exec.ExitError)(nil); {
	case err != nil && ctx.Err() != nil:
		return Result{}, fmt.Errorf("%s was ended: %w", c.Args[0], context.Cause(ctx))
	case errors.Is(err, exec.ErrNotFound):
		return Result{}, fmt.Errorf("there is no %s in PATH; install it: %w", c.Args[0], err)
	case err != nil && !folder(c.Dir):
		return Result{}, fmt.Errorf("there is no folder %.200q to run %s in", c.Dir, c.Args[0])
	case err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		return Result{}, fmt.Errorf("cannot run %s in %.60q: %w", c.Args[0], c.Dir, err)
	}
	return Result{stdout.Bytes(), stderr.Bytes(), cmd.ProcessState.ExitCode()}, nil
}

func folder(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// environment is what a command makes of one.
func environment(env []string, c Command) []string {
	fold := func(name string) string { return name }
	if runtime.GOOS == "windows" {
		fold = strings.ToUpper
	}
	env = slices.DeleteFunc(env, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.ContainsFunc(c.Unset, func(unset string) bool {
			begin, all := strings.CutSuffix(fold(unset), "*")
			return fold(name) == begin || all && strings.HasPrefix(fold(name), begin)
		})
	})
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		env = append(env, name+"="+c.Env[name])
	}
	return env
}

// git runs git in a work tree, in such a way that neither the configuration nor the environment of anybody changes what comes of it.
type git struct {
	runner Runner
	dir    string
	env    map[string]string
	config []string
	grace  time.Duration // how long a command goes on when its context ends; one that is killed leaves its locks behind
}

func newGit(r Runner, dir string, env map[string]string) git {
	g := git{runner: r, dir: dir, env: map[string]string{}}
	for name, value := range env {
		if !strings.HasPrefix(strings.ToUpper(name), "GIT_") {
			g.env[name] = value
		}
	}
	g.env["LC_ALL"] = "C" // its errors are shown, and compared
	for _, off := range []string{"GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE2_PERF"} {
		g.env[off] = "0"
	}
	g.env["GIT_NO_REPLACE_OBJECTS"] = "1"
	g.env["GIT_GRAFT_FILE"] = "/dev/null"
	return g.with("core.hooksPath="+os.DevNull, "core.fsmonitor=false", "core.safecrlf=false", "core.quotePath=true", "i18n.commitEncoding=UTF-8",
		"advice.graftFileDeprecated=false", // it would be told of the file above
		"apply.whitespace=nowarn", "apply.ignoreWhitespace=no")
}

// with has some configuration more.
func (g git) with(config ...string) git {
	g.config = slices.Concat(g.config, config)
	return g
}

// withEnv has one variable more.
func (g git) withEnv(name, value string) git {
	g.env = maps.Clone(g.env)
	g.env[name] = value
	return g
}

// run runs a command of git. An exit code that is not 0 is no error.
func (g git) run(ctx context.Context, stdin string, args ...string) (Result, error) {
	if err := ended(ctx); err != nil {
		return Result{}, err
	}
	c := Command{Dir: g.dir, Args: []string{"git", "--literal-pathspecs"}, Env: g.env, Unset: []string{"GIT_*"}, Stdin: []byte(stdin)}
	for _, setting := range g.config {
		c.Args = append(c.Args, "-c", setting)
	}
	c.Args = append(c.Args, args...)
	running, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() {
		if g.grace > 0 {
			select {
			case <-time.After(g.grace):
			case <-running.Done():
			}
		}
		cancel(context.Cause(ctx))
	})
	defer stop()
	r, err := g.runner.Run(running, c)
	switch over := ended(ctx); {
	case err == nil:
		return r, nil
	case over != nil:
		return r, over
	}
	return r, process("git %s: %w", args[0], err)
}

// output is all that a command of git prints.
func (g git) output(ctx context.Context, stdin string, args ...string) (string, error) {
	r, err := g.run(ctx, stdin, args...)
	switch {
	case err != nil:
		return "", err
	case r.ExitCode != 0:
		return "", r.failure(args[0])
	}
	return string(r.Stdout), nil
}

// line is the same without the line break at its end.
func (g git) line(ctx context.Context, stdin string, args ...string) (string, error) {
	out, err := g.output(ctx, stdin, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// failure is the error of a command of git that has failed.
func (r Result) failure(command string) error {
	return process("git %s: exit code %d: %s", command, r.ExitCode, oneLine(r.Stderr))
}

// ended is the error of a context that has ended.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	cause := context.Cause(ctx)
	return newError(Aborted, fmt.Errorf("the work on the workspace was ended: %w", cause))
}

// oneLine is what a command says, for an error.
func oneLine(stderr []byte) string {
	text := strings.Join(strings.FieldsFunc(string(stderr), func(c rune) bool { return c == '\n' || c == '\r' }), "; ")
	if runes := []rune(text); len(runes) > 300 {
		text = string(runes[:300]) + "…"
	}
	return cmp.Or(text, "it does not say why")
}

// head is what HEAD is, in a directory that is the top level of a work tree: git apply would leave out what is not below its directory, and
// say nothing of it.
func (g git) head(ctx context.Context) (Revision, error) {
	out, err := g.line(ctx, "", "rev-parse", "--show-toplevel", "--show-cdup", "HEAD^{commit}", "HEAD^{tree}")
	switch {
	case err != nil && strings.Contains(err.Error(), "not a git repository"):
		return Revision{}, process("%.200q is not a git repository; use the top level of a git work tree, or leave the commits out by WithoutWorkspace", g.dir)
	case err != nil && strings.Contains(err.Error(), "unknown revision"):
		return Revision{}, process("the git repository %.200q has no commit yet", g.dir)
	case err != nil:
		return Revision{}, err
	}
	lines := strings.Split(out, "\n") // the first of which is several where the name has a line break
	n := len(lines)
	if n < 4 {
		return Revision{}, process("git rev-parse: it printed %.60q, which should be four lines", out)
	}
	if lines[n-3] != "" {
		top := strings.Join(lines[:n-3], "\n")
		return Revision{}, process("%.60q is not the top level of its git work tree; use %q", g.dir, top)
	}
	return Revision{Commit: lines[n-2], Tree: lines[n-1]}, nil
}

// branch is the one that is checked out, or "".
func (g git) branch(ctx context.Context) string {
	name, err := g.line(ctx, "", "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return ""
	}
	return name
}
