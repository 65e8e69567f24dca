package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// workspace is a git work tree.
type workspace struct {
	runner     Runner
	dir        string
	env        map[string]string // of the host, for its commands; those of git, which begin with GIT_, are left out
	unclean    bool              // whether it is clean is not looked at
	keepFailed bool              // what failed is left as it is
}

const (
	commandGrace = 5 * time.Second  // for a command of git whose context has ended
	undoLimit    = 10 * time.Second // for a step that is undone
)

// rebuild makes the commits of a turn. diverged is told what is not as recorded, with its Turn still 0; what it returns ends the matter, and
// nil goes on, but for what is Hard. warn is told what is lost. It returns the ids of the commits that were made, also with an error.
//
// A commit that cannot be made is undone: the index and the files are then what they were before it, with the commits before it made.
func (w workspace) rebuild(ctx context.Context, c *Changes, diverged func(*Divergence) error, warn func(string)) (made []string, err error) {
	g := newGit(w.runner, w.dir, w.env)
	g.grace = commandGrace
	b := rebuilding{patcher: patcher{git: g, keepFailed: w.keepFailed}, unclean: w.unclean, changes: c, diverged: diverged, warn: warn}
	if err := b.begin(ctx); err != nil {
		return nil, err
	}
	parent := c.Baseline.Commit
	for i := range c.Commits {
		if err := b.step(ctx, &c.Commits[i], parent); err != nil {
			return b.made, err
		}
		parent = c.Commits[i].OID
	}
	return b.made, nil
}

// rebuilding is a rebuild that goes on.
type rebuilding struct {
	patcher
	unclean  bool // whether it is clean is not looked at
	changes  *Changes
	diverged func(*Divergence) error
	warn     func(string)

	head string // what HEAD is
	made []string
}

// begin looks whether the workspace is as it was.
func (b *rebuilding) begin(ctx context.Context) error {
	head, err := b.git.head(ctx)
	if err != nil {
		return err
	}
	b.head = head.Commit
	if err := b.refresh(ctx); err != nil {
		return err
	}
	if base := b.changes.Baseline; head.Tree != base.Tree {
		if err := b.diverged(&Divergence{Kind: KindBaseline, Expected: base.Tree, Actual: head.Tree, Commit: base.Commit}); err != nil {
			return err
		}
	}
	if len(b.changes.Commits) == 0 {
		return nil
	}
	return b.look(ctx)
}

// refresh has git look at the files again: in a workspace that was copied or touched it would take all of them for changed.
func (b *rebuilding) refresh(ctx context.Context) error {
	const changes = 1 // the exit code if some are changed indeed; the option that makes 0 of it hides why git fails, too
	if r, err := b.run(ctx, "", "update-index", "--refresh"); err != nil || r.ExitCode > changes {
		return cmp.Or(err, r.failure("update-index"))
	}
	return nil
}

// look finds what the user has in the workspace that is not committed.
func (b *rebuilding) look(ctx context.Context) error {
	staged, edited, err := b.uncommitted(ctx)
	if err != nil {
		return err
	}
	var patches strings.Builder
	for _, c := range b.changes.Commits {
		patches.WriteString(c.Patch + "\n")
	}
	paths, readable, err := b.touched(ctx, patches.String())
	if err != nil {
		return err
	}
	inTheWay, hidden, err := b.known(ctx, paths)
	if err != nil {
		return err
	}
	changed := slices.Concat(staged, edited)
	if readable {
		b.own = map[string]bool{}
		for _, path := range slices.Concat(changed, inTheWay, hidden) {
			b.own[path] = true
		}
		// What is not staged, and not in a commit, stays as it is.
		changed = append(staged, slices.DeleteFunc(edited, func(path string) bool { return !slices.Contains(paths, path) })...)
	}
	if b.unclean || len(changed)+len(inTheWay) == 0 {
		return nil
	}
	actual := slices.DeleteFunc([]string{some("changed", changed), some("not tracked", inTheWay)}, func(s string) bool { return s == "" })
	return b.diverged(&Divergence{
		Kind:     KindDirty,
		Expected: "a workspace in which nothing is staged, and no file that the commits change or make is anybody's",
		Actual:   strings.Join(actual, "; "),
	})
}

// known are the files of those paths that git does not track, and those that it has been told not to look at, and that were changed: it would
// take them for what the index has.
func (b *rebuilding) known(ctx context.Context, paths []string) (untracked, hidden []string, err error) {
	out, err := b.list(ctx, paths, "ls-files", "--others", "--stage", "-v", "-z")
	if err != nil {
		return nil, nil, err
	}
	for _, line := range out { // "? <path>", or "<tag> <mode> <id> <stage>", a tab, and the path
		tag, rest := line[0], line[len("? "):]
		if tag == '?' {
			untracked = append(untracked, rest)
			continue
		}
		entry, path, _ := strings.Cut(rest, "\t")
		if tag != 'S' && (tag < 'a' || tag > 'z') || !slices.Contains(paths, path) {
			continue
		}
		object := strings.Fields(entry)
		same, there, err := b.written(ctx, path, object[1])
		if err != nil {
			return nil, nil, err
		}
		if file := strings.HasPrefix(object[0], "100"); !file || there && !same { // in a sparse workspace most are not there
			hidden = append(hidden, path)
		}
	}
	return untracked, hidden, nil
}

// uncommitted are the tracked files that differ in the index or in the work tree.
func (b *rebuilding) uncommitted(ctx context.Context) (staged, edited []string, err error) {
	out, err := b.output(ctx, "", "status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty", "--no-renames")
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range fields(out) {
		if path := entry[len("XY "):]; entry[0] == ' ' {
			edited = append(edited, path)
		} else {
			staged = append(staged, path)
		}
	}
	edited, err = b.changed(ctx, edited)
	return staged, edited, err
}

// some names the first few paths.
func some(what string, paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	const few = 5
	var names []string
	for _, path := range paths[:min(few, len(paths))] {
		names = append(names, fmt.Sprintf("%.60q", path))
	}
	if more := len(paths) - few; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return what + ": " + strings.Join(names, ", ")
}

// step makes a commit, or nothing. recordedParent is what it was made on when it was recorded.
func (b *rebuilding) step(ctx context.Context, c *Commit, recordedParent string) (err error) {
	if err := ended(ctx); err != nil {
		return err
	}
	moved := false
	if c.Patch != "" {
		if err := b.apply(ctx, c); err != nil {
			return err
		}
		defer func() {
			if err != nil && !moved && !b.keepFailed {
				err = b.undo(ctx, c, err)
			}
		}()
	}
	tree, err := b.line(ctx, "", "write-tree")
	if err != nil {
		return err
	}
	if tree != c.Tree {
		if err := b.diverged(&Divergence{Kind: KindTree, Expected: c.Tree, Actual: tree, Commit: c.OID}); err != nil {
			return err
		}
	}
	object, err := b.object(c, tree)
	if err != nil {
		return err
	}
	// Literally, since git has made, and takes, commits that its own checks refuse: those without a name, for one.
	oid, err := b.line(ctx, object, "hash-object", "-t", "commit", "-w", "--literally", "--stdin")
	if err != nil {
		return err
	}
	_, failed := b.output(ctx, "", "update-ref", "-m", "commit (replayed)", "HEAD", oid, b.head)
	if failed != nil && !b.moved(ctx, oid) {
		return failed
	}
	moved = true
	if oid != c.OID && tree == c.Tree && b.head == recordedParent {
		b.warn(fmt.Sprintf("commit %.64q was made as %s, though nothing that it is made on differs: what was recorded of it is not all of it", c.OID, oid))
	}
	b.head = oid
	b.made = append(b.made, oid)
	return failed
}

// moved is whether HEAD is a commit by now: a command that was broken off may have done what it was to do.
func (b *rebuilding) moved(ctx context.Context, oid string) bool {
	ctx, cancel := undoing(ctx)
	defer cancel()
	head, err := b.line(ctx, "", "rev-parse", "--verify", "HEAD")
	return err == nil && head == oid
}

// object is the commit object for a tree on HEAD.
func (b *rebuilding) object(c *Commit, tree string) (string, error) {
	if c.Raw == nil {
		return c.compose(tree, b.head)
	}
	object, unsigned, err := rewrite(c.Raw, tree, b.head)
	if err != nil {
		b.warn(fmt.Sprintf("commit %.64q was made of its parts, since its object is none: %v", c.OID, err))
		return c.compose(tree, b.head)
	}
	if unsigned {
		b.warn(fmt.Sprintf("commit %.64q has lost its signature, which is not one of what the commit is here: its tree or its parent is another one", c.OID))
	}
	return object, nil
}

// apply applies the patch of a commit to the index and to the files.
func (b *rebuilding) apply(ctx context.Context, c *Commit) error {
	// What is written is what was recorded, wherever the user's attributes do not say otherwise.
	r, err := b.patch(ctx, b.with(exact), c.Patch, false)
	switch {
	case err != nil || r.ExitCode == 0:
		return err
	case strings.Contains(string(r.Stderr), "index.lock"): // another git has it
		return r.failure("apply")
	}
	d := &Divergence{Kind: KindTree, Expected: c.Tree, Actual: strings.TrimSpace(string(r.Stderr)), Commit: c.OID, Hard: true}
	if err := b.diverged(d); err != nil {
		return err
	}
	return d
}

// undo takes back the patch of a commit that failed, and never more: a reset would take what is the user's, too.
func (b *rebuilding) undo(ctx context.Context, c *Commit, failure error) error {
	ctx, cancel := undoing(ctx)
	defer cancel()
	r, err := b.patch(ctx, b.git, c.Patch, true)
	if err == nil && r.ExitCode != 0 {
		err = errors.New(oneLine(r.Stderr))
	}
	return after(failure, err)
}
