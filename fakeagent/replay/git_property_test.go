package replay_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

// dozens has a property tried less often than others are: each try starts some dozens of processes.
func dozens(t *testing.T) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	if n, err := strconv.Atoi(before); err == nil && n == 100 { // the default
		if err := checks.Value.Set("24"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = checks.Value.Set(before) })
	}
}

var (
	drawName    = rapid.SampledFrom([]string{"a", "b", "B", "d/e", "d/f g", "d", "x/y/z", "ü", `q"t`, "new\nline", "a.txt", "x/b.txt"})
	drawText    = rapid.SampledFrom([]string{"", "1\n", "2\n", "1\r\n2\r\n", "1\n2\r\n", "no end", "\x00\xff\x01", "caf\xe9\n", strings.Repeat("long\n", 300)})
	drawMode    = rapid.SampledFrom([]string{"100644", "100644", "100644", "100755", "120000"})
	drawWho     = rapid.SampledFrom([]string{"A <a@b> 1700000000 +0000", "Bob Jr. <> 1 -0000", "\"Q\" <.x> 99999999 +1130", " <a b> 0 -0730"})
	drawMessage = rapid.SampledFrom([]string{"Plain\n", "", "no end", "\n\n x \n\n", "ü\r\n", "diff --git a/x b/x\n"})
)

// drawCommit is a commit, as git fast-import reads it. attributes are what .gitattributes may have.
func drawCommit(r *rapid.T, attributes ...string) string {
	var b strings.Builder
	data := func(text string) { fmt.Fprintf(&b, "data %d\n%s\n", len(text), text) }
	fmt.Fprintf(&b, "commit refs/heads/main\nauthor %s\ncommitter %s\n", drawWho.Draw(r, "author"), drawWho.Draw(r, "committer"))
	data(drawMessage.Draw(r, "message"))
	for range rapid.IntRange(0, 4).Draw(r, "changes") {
		name := quoted(drawName.Draw(r, "name"))
		switch rapid.SampledFrom([]string{"write", "write", "delete", "attributes"}).Draw(r, "change") {
		case "write":
			mode, text := drawMode.Draw(r, "mode"), drawText.Draw(r, "text")
			if mode == "120000" && (text == "" || strings.Contains(text, "\x00") || len(text) > 255) {
				text = "target" // no link has the first two, and git apply looks for attributes behind it, for which the third is too long
			}
			fmt.Fprintf(&b, "M %s inline %s\n", mode, name)
			data(text)
		case "delete":
			fmt.Fprintf(&b, "D %s\n", name)
		case "attributes":
			if len(attributes) > 0 {
				b.WriteString("M 100644 inline .gitattributes\n")
				data(rapid.SampledFrom(attributes).Draw(r, "attributes"))
			}
		}
	}
	return b.String()
}

// quoted is a name as git quotes it.
func quoted(name string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(name) + `"`
}

// drawHistory is a repository, and the commit that its history begins with.
func drawHistory(t *testing.T, r *rapid.T, attributes ...string) (_ *repo, base string) {
	h := newRepo(t)
	commits := rapid.IntRange(1, 4).Draw(r, "commits")
	stream := drawCommit(r, attributes...)
	for range commits {
		stream += drawCommit(r, attributes...)
	}
	h.gitIn(stream, "fast-import", "--quiet", "--force")
	h.git("reset", "-q", "--hard")
	return h, h.git("rev-parse", fmt.Sprintf("HEAD~%d", commits))
}

// Whatever a history is, its commits are the same where they are made anew.
func TestRecordedCommits(t *testing.T) {
	needGit(t)
	dozens(t)
	rapid.Check(t, func(r *rapid.T) {
		h, base := drawHistory(t, r, "* text\n", "*.txt text eol=crlf\n", "* text=auto\n", "* -text\n", "a* diff\n", "")
		changes := h.recorded(base)
		if changes.Unavailable != "" {
			if !strings.Contains(changes.Unavailable, "is not UTF-8: an attribute") {
				r.Fatal(changes.Unavailable)
			}
			return
		}
		workspace := h.clone(base)
		raw := rapid.Bool().Draw(r, "with the objects")
		for i := range changes.Commits {
			if !raw {
				changes.Commits[i].Raw = nil
			}
		}
		b := workspace.rebuildStrictly(&changes)
		if want := h.head(); b.err != nil || workspace.head() != want || len(b.warnings) > 0 {
			r.Fatalf("HEAD is %s, not %s; warnings: %q; %v %+v", workspace.head(), want, b.warnings, b.err, b.diverged)
		}
		if left := workspace.git("diff", "--cached", "--name-only", "HEAD", "--"); left != "" {
			r.Fatalf("the index has other files than HEAD: %s", left)
		}
	})
}

// files are those of a work tree, without those of git.
func workFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, _ := os.ReadFile(path)
		if d.Type()&os.ModeSymlink != 0 {
			target, _ := os.Readlink(path)
			text = []byte(target)
		}
		all[filepath.ToSlash(path[len(dir)+1:])] = info.Mode().String() + " " + string(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// drawMutation changes something in a workspace, as far as that can be done there.
func drawMutation(r *rapid.T, w *repo) {
	name := drawName.Draw(r, "mutated")
	switch rapid.SampledFrom([]string{"write", "write", "stage", "remove", "mode", "commit"}).Draw(r, "mutation") {
	case "write":
		if os.MkdirAll(filepath.Dir(w.path(name)), 0o777) == nil {
			_ = os.WriteFile(w.path(name), []byte("mine "+name), 0o666)
		}
	case "stage":
		if os.MkdirAll(filepath.Dir(w.path(name)), 0o777) == nil && os.WriteFile(w.path(name), []byte("mine, staged"), 0o666) == nil {
			w.git("--literal-pathspecs", "add", "-A", "--", name)
		}
	case "remove":
		_ = os.Remove(w.path(name))
	case "mode":
		_ = os.Chmod(w.path(name), 0o755)
	case "commit":
		w.git("commit", "-q", "--allow-empty", "-m", "Mine")
	}
}

// Whatever is in a workspace, a rebuild leaves alone what is the user's: what was not committed, and what no commit changes. If it makes no
// commit, all is as it was.
func TestUsersFiles(t *testing.T) {
	needGit(t)
	dozens(t)
	rapid.Check(t, func(r *rapid.T) {
		h, base := drawHistory(t, r, "* -text\n", "")
		changes := h.recorded(base)
		if changes.Unavailable != "" {
			r.Fatal(changes.Unavailable)
		}
		w := h.clone(base)
		for range rapid.IntRange(1, 3).Draw(r, "mutations") {
			drawMutation(r, w)
		}
		mine := map[string]bool{}
		for _, line := range strings.Split(w.git("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"), "\x00") {
			if line != "" {
				mine[line[3:]] = true
			}
		}
		touched := map[string]bool{}
		for name := range strings.SplitSeq(h.git("log", "--format=", "--name-only", "-z", "--no-renames", base+"..HEAD"), "\x00") {
			touched[name] = true
		}
		before, state := workFiles(t, w.dir), w.state()

		policy := rapid.SampledFrom([]func(*replay.Divergence) error{nil, func(d *replay.Divergence) error { return d }}).Draw(r, "policy")
		b := w.rebuildUntil(policy, &changes, func(w *replay.Workspace) { w.Unclean = rapid.Bool().Draw(r, "unclean") })
		after := workFiles(t, w.dir)
		for _, name := range slices.Sorted(maps.Keys(before)) {
			if (mine[name] || !touched[name]) && after[name] != before[name] {
				r.Errorf("%q was %.60q, is %.60q; %v", name, before[name], after[name], b.err)
			}
		}
		if len(b.made) == 0 && w.state() != state {
			r.Errorf("no commit was made (%v), and the workspace was\n%s\nand is\n%s", b.err, state, w.state())
		}
		if last := append([]string{base}, b.made...); len(b.made) > 0 && w.head() != last[len(last)-1] {
			r.Errorf("HEAD is %s, and the commits that were made are %q", w.head(), b.made)
		}
	})
}

// BenchmarkRebuild is what a commit costs that is made anew.
func BenchmarkRebuild(b *testing.B) {
	benchmarkCommits(b, func(r *repo, base string, changes *replay.Changes) int {
		w := r.clone(base)
		b.StartTimer()
		defer b.StopTimer()
		if got := w.rebuildStrictly(changes); got.err != nil {
			b.Fatal(got.err)
		}
		return len(w.runner.commands())
	})
}

// BenchmarkRecordCommits is what a commit costs that is recorded.
func BenchmarkRecordCommits(b *testing.B) {
	benchmarkCommits(b, func(r *repo, base string, changes *replay.Changes) int {
		r.runner.ran = nil
		b.StartTimer()
		defer b.StopTimer()
		if got := replay.RecordCommits(context.Background(), r.runner, r.dir, *changes.Baseline); got.Unavailable != "" {
			b.Fatal(got.Unavailable)
		}
		return len(r.runner.commands())
	})
}

// benchmarkCommits does something with twenty commits. It reports the processes that one of them takes, and the time of one.
func benchmarkCommits(b *testing.B, do func(r *repo, base string, changes *replay.Changes) (processes int)) {
	const commits = 20
	r := greetingRepo(b)
	for i := range commits {
		r.commitFile("counter", fmt.Sprint(i))
	}
	changes := r.recorded(greetingBase)
	processes := 0
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		processes = do(r, greetingBase, &changes)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N*commits), "ms/commit")
	b.ReportMetric(float64(processes)/commits, "processes/commit")
}
