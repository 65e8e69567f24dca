package replay

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// patcher applies patches to the index of a work tree and to its files.
type patcher struct {
	git
	own        map[string]bool // the paths that the user has changed or made; nil: nobody knows
	keepFailed bool            // what failed is left as it is
}

// exact has git write files as they are committed, but for what attributes say.
const exact = "core.autocrlf=false"

// refused is the exit code of a git apply that has written nothing. With another one it may have failed while it wrote.
const refused = 1

// patch applies a patch to the index and to the files, or takes it back, or does nothing. The result is that of git apply.
func (p patcher) patch(ctx context.Context, g git, patch string, reverse bool) (Result, error) {
	r, err := g.run(ctx, patch, apply(reverse, "--index")...)
	switch {
	case err == nil && r.ExitCode == 0:
		return r, nil
	case err == nil && r.ExitCode == refused:
		if !strings.Contains(string(r.Stderr), "does not match index") {
			return r, nil
		}
		return p.convertible(ctx, patch, reverse, r)
	}
	return r, p.restored(ctx, patch, err)
}

func apply(reverse bool, options ...string) []string {
	args := []string{"apply", "--binary", "--whitespace=nowarn"}
	if reverse {
		args = append(args, "-R")
	}
	return append(append(args, options...), "-")
}

// convertible applies a patch that git has refused, if the files are as they should be all the same. Git takes a file that nobody has touched
// for changed when it would convert its line breaks by now: after a commit that brings attributes, or since we do not have it convert any. It
// looks so closely only in the second in which the file was written, so that the same journal would play on one day, and not on the next.
func (p patcher) convertible(ctx context.Context, patch string, reverse bool, refusal Result) (Result, error) {
	paths, _, err := p.touched(ctx, patch)
	if err != nil {
		return Result{}, err
	}
	if same, err := p.untouched(ctx, paths); err != nil || !same {
		return refusal, err
	}
	r, err := p.run(ctx, patch, apply(reverse, "--cached")...)
	if err != nil || r.ExitCode != 0 {
		return r, err
	}
	if err = p.write(ctx, paths); err != nil {
		err = p.restored(ctx, patch, err, apply(!reverse, "--cached")...)
	}
	return r, err
}

// untouched is whether files are what the index has, and whether there are no others in their way.
func (p patcher) untouched(ctx context.Context, paths []string) (bool, error) {
	if p.own == nil || slices.ContainsFunc(paths, func(path string) bool { return p.own[path] }) {
		return false, nil
	}
	if others, err := p.untracked(ctx, paths); err != nil || len(others) > 0 {
		return false, err
	}
	changed, err := p.changed(ctx, paths)
	return len(changed) == 0, err
}

// changed are the files that are not what the index has. Git takes more for changed: those that it would not write as they are, be it that
// nobody has touched them since it wrote them.
func (g git) changed(ctx context.Context, paths []string) (changed []string, err error) {
	out, err := g.list(ctx, paths, "diff-files", "--ignore-submodules=dirty", "--raw", "--no-abbrev", "-z")
	if err != nil {
		return nil, err
	}
	for pair := range slices.Chunk(out, 2) { // ":<mode> <mode> <id> <id> <what>", and the path
		entry, path := strings.Fields(pair[0]), pair[len(pair)-1]
		same := len(entry) == 5 && entry[0] == ":"+entry[1] && strings.HasPrefix(entry[1], "100") // a link is not what it links to
		if same {
			if same, _, err = g.written(ctx, path, entry[2]); err != nil {
				return nil, err
			}
		}
		if !same {
			changed = append(changed, path)
		}
	}
	return changed, nil
}

// written is whether a file is what git writes for an object, whatever attributes it had at that time: byte for byte, or with line breaks of
// Windows. there is whether it can be read at all.
func (g git) written(ctx context.Context, path, oid string) (same, there bool, err error) {
	r, err := g.run(ctx, "", "hash-object", "--no-filters", "--", path)
	if err != nil || r.ExitCode != 0 {
		return false, false, err
	}
	is := strings.TrimSpace(string(r.Stdout))
	if is == oid {
		return true, true, nil
	}
	text, err := g.output(ctx, "", "cat-file", "blob", oid)
	if err != nil {
		return false, true, err
	}
	windows := strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	converted, err := g.line(ctx, windows, "hash-object", "--stdin")
	return is == converted, true, err
}

// write makes files what the index has.
func (p patcher) write(ctx context.Context, paths []string) error {
	tracked, err := p.list(ctx, paths, "ls-files", "-z")
	if err != nil {
		return err
	}
	gone := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return slices.Contains(tracked, path) })
	if err := p.remove(ctx, gone); err != nil {
		return err
	}
	_, err = p.with(exact).output(ctx, strings.Join(tracked, "\x00"), "checkout-index", "--force", "--index", "-z", "--stdin")
	return err
}

// restored takes back what was written of a patch that failed, unless failures are to stay. index is what takes it out of the index first, if it
// is there. It returns the failure, and what could not be taken back.
func (p patcher) restored(ctx context.Context, patch string, failure error, index ...string) error {
	if p.keepFailed {
		return failure
	}
	ctx, cancel := undoing(ctx)
	defer cancel()
	if index != nil {
		if _, err := p.output(ctx, patch, index...); err != nil {
			return after(failure, err)
		}
	}
	return after(failure, p.restore(ctx, patch))
}

// undoing is a context for what is taken back, also when the one before has ended.
func undoing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
}

// after is a failure, and what of it could not be undone.
func after(failure, undo error) error {
	switch {
	case undo == nil:
		return failure
	case failure == nil:
		return process("what a patch has written before it failed cannot be taken back: %w", undo)
	}
	return process("%w; and what it has written cannot be taken back: %v", failure, undo)
}

// restore gives the files of a patch what the index has, where the patch has written them. What the user had changed or made it cannot have
// written.
func (p patcher) restore(ctx context.Context, patch string) error {
	paths, readable, err := p.touched(ctx, patch)
	if err != nil || !readable { // what git cannot read it has not applied
		return err
	}
	if p.own == nil {
		return process("nobody knows which of its files are the user's")
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return p.own[path] })
	// It complains of those that are not in the index, which are those that the patch would make.
	if _, err := p.run(ctx, strings.Join(paths, "\x00"), "checkout-index", "--force", "--quiet", "-z", "--stdin"); err != nil {
		return err
	}
	left, err := p.changed(ctx, paths)
	for _, path := range left { // it ends at the first one whose filter fails
		_, failed := p.output(ctx, "", "checkout-index", "--force", "--", path)
		err = cmp.Or(err, failed)
	}
	return cmp.Or(err, p.remove(ctx, paths))
}

// remove removes those of some files that are not tracked.
func (p patcher) remove(ctx context.Context, paths []string) error {
	files, err := p.untracked(ctx, paths)
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(file string) bool { return !slices.Contains(paths, file) }) // is in a directory of that name
	_, err = p.list(ctx, files, "clean", "--force", "-x", "--quiet")
	return err
}

// touched are the paths that patches change, in no order that means anything. ok is false where git cannot read them.
func (g git) touched(ctx context.Context, patches string) (paths []string, ok bool, err error) {
	r, err := g.run(ctx, patches, "apply", "--numstat", "-z", "-")
	if err != nil || r.ExitCode != 0 {
		return nil, false, err
	}
	for _, line := range fields(string(r.Stdout)) {
		if counts := strings.SplitN(line, "\t", 3); len(counts) == 3 {
			paths = append(paths, counts[2])
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), true, nil
}

// untracked are the files of those paths that git does not track. Where a path is a directory, they are those in it.
func (g git) untracked(ctx context.Context, paths []string) ([]string, error) {
	return g.list(ctx, paths, "ls-files", "--others", "-z")
}

// list is what a command prints with -z for some paths. They are given to it a part at a time: a command line has an end, on Windows after
// 32767 characters.
func (g git) list(ctx context.Context, paths []string, args ...string) (all []string, err error) {
	const room = 16 << 10
	for len(paths) > 0 {
		n, size := 1, len(paths[0])
		for n < len(paths) && size+len(paths[n]) < room {
			size += len(paths[n]) + 1
			n++
		}
		out, err := g.output(ctx, "", slices.Concat(args, []string{"--"}, paths[:n])...)
		if err != nil {
			return nil, err
		}
		all, paths = append(all, fields(out)...), paths[n:]
	}
	return all, nil
}

// fields are what a command has printed with -z.
func fields(out string) []string {
	if out == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
}
