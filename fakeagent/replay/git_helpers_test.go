package replay_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

// needGit skips a spec where there is no git. On CI it fails.
func needGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err == nil {
		return
	}
	const reason = "This needs git, which is not on the PATH."
	if os.Getenv("CI") == "true" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// gitRunner runs commands on this machine, without the configuration of whoever tests. It knows what it ran.
type gitRunner struct {
	env map[string]string

	// around runs a command, or does something else.
	around func(ctx context.Context, c replay.Command, run func(context.Context, replay.Command) (replay.Result, error)) (replay.Result, error)

	mu  sync.Mutex
	ran []replay.Command
}

func (r *gitRunner) Run(ctx context.Context, c replay.Command) (replay.Result, error) {
	r.mu.Lock()
	r.ran = append(r.ran, c)
	r.mu.Unlock()
	c.Env = maps.Clone(c.Env)
	maps.Copy(c.Env, r.env)
	if r.around != nil {
		return r.around(ctx, c, replay.OSRunner{}.Run)
	}
	return replay.OSRunner{}.Run(ctx, c)
}

// commands are the commands of git that were run, without their options.
func (r *gitRunner) commands() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.ran {
		names = append(names, gitCommand(c))
	}
	return names
}

// gitCommand is which command of git a command runs.
func gitCommand(c replay.Command) string {
	for i := 1; i < len(c.Args); i++ {
		switch arg := c.Args[i]; {
		case arg == "-c":
			i++
		case !strings.HasPrefix(arg, "-"):
			return arg
		}
	}
	return ""
}

// repo is a git repository, and a work tree of it.
type repo struct {
	t      testing.TB
	dir    string
	runner *gitRunner
}

// newRepo is a repository without commits. options are those of git init.
func newRepo(t testing.TB, options ...string) *repo {
	t.Helper()
	r := newHome(t)
	r.git(slices.Concat([]string{"init", "-q", "-b", "main"}, options)...)
	return r
}

// newHome is a directory for a repository, of a user without configuration.
func newHome(t testing.TB) *repo {
	t.Helper()
	needGit(t)
	home := t.TempDir()
	dir := filepath.Join(home, "work")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return &repo{t, dir, &gitRunner{env: map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_NOSYSTEM": "1"}}}
}

// clone is a clone of a repository as it was at a revision. Its HEAD is on a branch.
func (r *repo) clone(revision string, options ...string) *repo {
	r.t.Helper()
	c := newHome(r.t)
	c.git(slices.Concat([]string{"clone", "-q", "--no-checkout"}, options, []string{r.dir, c.dir})...)
	c.git("reset", "-q", "--hard", revision)
	return c
}

// at is the same for another directory.
func (r *repo) at(dir string) *repo { return &repo{r.t, dir, r.runner} }

// git is what a command of git prints, without the white space at its end.
func (r *repo) git(args ...string) string {
	r.t.Helper()
	return r.gitIn("", args...)
}

// gitIn is the same with something to read.
func (r *repo) gitIn(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stdin)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	for name, value := range r.runner.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		cmd.Env = append(cmd.Env, "GIT_"+who+"_NAME=Kit Base", "GIT_"+who+"_EMAIL=base@example.test", "GIT_"+who+"_DATE=@1700000000 +0000")
	}
	out, err := cmd.Output()
	if err != nil {
		message := ""
		if exit, ok := err.(*exec.ExitError); ok {
			message = string(exit.Stderr)
		}
		r.t.Fatalf("git %q: %v\n%s", args, err, message)
	}
	return strings.TrimRight(string(out), "\n")
}

// config configures the repository.
func (r *repo) config(settings ...string) {
	r.t.Helper()
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		r.git("config", name, value)
	}
}

// path is where a file is.
func (r *repo) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// write writes a file.
func (r *repo) write(name, text string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o777); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path(name), []byte(text), 0o666); err != nil {
		r.t.Fatal(err)
	}
}

// read is what a file has, or "(none)".
func (r *repo) read(name string) string {
	text, err := os.ReadFile(r.path(name))
	if err != nil {
		return "(none)"
	}
	return string(text)
}

// commit commits what is in the work tree, and is the id of the commit.
func (r *repo) commit(message string) string {
	r.t.Helper()
	r.git("add", "-A")
	return r.commitStaged(message)
}

// commitStaged commits what is in the index. The message is kept as it is.
func (r *repo) commitStaged(message string) string {
	r.t.Helper()
	args := []string{"commit-tree", r.git("write-tree")}
	if r.born() {
		args = append(args, "-p", "HEAD")
	}
	return r.move(r.gitIn(message, args...))
}

// commitRaw makes a commit of an object in which {tree} and {parent} stand for those of now.
func (r *repo) commitRaw(object string) string {
	r.t.Helper()
	object = strings.NewReplacer("{tree}", r.git("write-tree"), "{parent}", r.head()).Replace(object)
	return r.move(r.gitIn(object, "hash-object", "-t", "commit", "-w", "--literally", "--stdin"))
}

// commitFile writes a file and commits it.
func (r *repo) commitFile(name, text string) string {
	r.t.Helper()
	r.write(name, text)
	return r.commit("Write " + name + "\n")
}

func (r *repo) move(oid string) string {
	r.t.Helper()
	r.git("update-ref", "HEAD", oid)
	return oid
}

func (r *repo) born() bool {
	r.t.Helper()
	return r.git("rev-list", "--max-count=1", "--all") != ""
}

func (r *repo) head() string {
	r.t.Helper()
	return r.git("rev-parse", "HEAD")
}

// files are the tracked files with their modes and what HEAD has of them.
func (r *repo) files() []string {
	r.t.Helper()
	return strings.Split(r.git("ls-tree", "-r", "HEAD"), "\n")
}

// state is all that a step must leave as it was: HEAD, refs, the index, and the files with what they have.
func (r *repo) state() string {
	r.t.Helper()
	var b strings.Builder
	b.WriteString(r.git("rev-parse", "HEAD") + "\n" + r.git("for-each-ref") + "\n" + r.git("ls-files", "--stage") + "\n")
	err := filepath.WalkDir(r.dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git":
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, _ := os.ReadFile(path)
		b.WriteString(path[len(r.dir):] + " " + info.Mode().String() + " " + string(text) + "\n")
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return b.String()
}

// recorded is what was committed since a revision.
func (r *repo) recorded(since string) replay.Changes {
	r.t.Helper()
	base := replay.Revision{Commit: r.git("rev-parse", since), Tree: r.git("rev-parse", since+"^{tree}")}
	return replay.RecordCommits(context.Background(), r.runner, r.dir, base)
}

// greetingChanges are the commits of the example journal.
func greetingChanges(t testing.TB) *replay.Changes {
	t.Helper()
	x, err := replay.Extract(replay.Entries(t, "testdata/greeting.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return x.Turns[len(x.Turns)-1].Changes
}

const (
	greetingBase = "82ae32a463c2b72862ee59918ba074eb8a407e4a"
	greetingEnd  = "28587bae663141a7c2318653e7cc44571fdc544f"
	greetingOne  = "ee9ddef315450b51363faf79b0f26cac281d0a25"
)

// greetingRepo is what the commits of the example were made on.
func greetingRepo(t testing.TB) *repo {
	t.Helper()
	r := newRepo(t)
	r.write("greet.txt", "hello\n")
	if r.commit("Start\n") != greetingBase {
		t.Fatalf("the base is %s", r.head())
	}
	return r
}

// rebuilt is what came of a rebuild.
type rebuilt struct {
	made     []string
	err      error
	diverged []replay.Divergence
	warnings []string
}

// rebuild makes commits, and goes on where nothing is as recorded.
func (r *repo) rebuild(c *replay.Changes, how ...func(*replay.Workspace)) rebuilt {
	r.t.Helper()
	return r.rebuildUntil(nil, c, how...)
}

// rebuildStrictly makes commits, and ends where something is not as recorded.
func (r *repo) rebuildStrictly(c *replay.Changes, how ...func(*replay.Workspace)) rebuilt {
	r.t.Helper()
	return r.rebuildUntil(func(d *replay.Divergence) error { return d }, c, how...)
}

func (r *repo) rebuildUntil(policy func(*replay.Divergence) error, c *replay.Changes, how ...func(*replay.Workspace)) (b rebuilt) {
	r.t.Helper()
	w := replay.Workspace{Runner: r.runner, Dir: r.dir}
	for _, h := range how {
		h(&w)
	}
	b.made, b.err = w.Rebuild(context.Background(), c, func(d *replay.Divergence) error {
		b.diverged = append(b.diverged, *d)
		if policy == nil {
			return nil
		}
		return policy(d)
	}, func(text string) { b.warnings = append(b.warnings, text) })
	return b
}

func unclean(w *replay.Workspace)    { w.Unclean = true }
func keepFailed(w *replay.Workspace) { w.KeepFailed = true }

// kinds are those of the divergences, in their order.
func (b rebuilt) kinds() (kinds []replay.Kind) {
	for _, d := range b.diverged {
		kinds = append(kinds, d.Kind)
	}
	return kinds
}
