package replay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// commitsLimit is how many bytes the commits of a workspace may have together, in their patches and in themselves.
const commitsLimit = 8 << 20

// commitsAtOnce are asked for by one command. More would save little, and their patches are all in memory.
const commitsAtOnce = 32

// cleanupLimit is for what a recording removes when it is over.
const cleanupLimit = 10 * time.Second

// Baseline is what HEAD is in a workspace, which is the top level of a git work tree. It is what [RecordCommits] asks for when the agent is
// done. The error is an [*Error] with the code process, or aborted.
func Baseline(ctx context.Context, r Runner, dir string) (Revision, error) {
	return newGit(r, dir, nil).head(ctx)
}

// RecordCommits is what was committed in a workspace since a revision. It does not fail: what it cannot record is unavailable, and why. It
// can record commits that stand in a line, one on the other, from that revision to HEAD, whose text is UTF-8, and which have no more than 8 MiB
// together. Their patches were tried. What was not committed is not in it. The workspace, its index and its refs stay as they are.
func RecordCommits(ctx context.Context, r Runner, dir string, since Revision) Changes {
	rec := commitRecorder{git: newGit(r, dir, nil).withEnv("GIT_ATTR_NOSYSTEM", "1"), since: since}
	commits, err := rec.record(ctx)
	reason := unrecordable("")
	switch {
	case err == nil:
		return Changes{Baseline: &since, Commits: commits}
	case errors.As(err, &reason):
		return Changes{Baseline: &since, Unavailable: err.Error()}
	}
	return Changes{Unavailable: "the commits could not be read: " + err.Error()}
}

// unrecordable is a reason that is in the commits themselves.
type unrecordable string

func (u unrecordable) Error() string { return string(u) }

func unrecordablef(format string, args ...any) error {
	return unrecordable(fmt.Sprintf(format, args...))
}

// commitRecorder records the commits of a workspace.
type commitRecorder struct {
	git
	since Revision
	size  int // of what is recorded so far
}

func (rec *commitRecorder) record(ctx context.Context) ([]Commit, error) {
	head, err := rec.head(ctx)
	if err != nil {
		return nil, err
	}
	if !isID(rec.since.Commit) {
		return nil, configuration("the commit %.70q is no object id, which has 40 or 64 hexadecimal digits", rec.since.Commit)
	}
	out, err := rec.output(ctx, "", "rev-list", "--reverse", "--topo-order", rec.since.Commit+".."+head.Commit, "--")
	if err != nil {
		return nil, err
	}
	oids := strings.Fields(out)
	if len(oids) == 0 && head.Commit != rec.since.Commit {
		return nil, unrecordablef("HEAD was moved back: %s is older than the commit that it began with", head.Commit)
	}
	commits := []Commit{} // which is written, where none at all is not
	if len(oids) == 0 {
		return commits, nil
	}
	index, remove, err := rec.index(ctx)
	if err != nil {
		return nil, err
	}
	defer remove()
	parent := rec.since.Commit
	for some := range slices.Chunk(oids, commitsAtOnce) {
		part, err := rec.read(ctx, some, parent)
		if err != nil {
			return nil, err
		}
		for i := range part {
			if err := rec.try(ctx, index, &part[i]); err != nil {
				return nil, err
			}
		}
		commits, parent = append(commits, part...), some[len(some)-1]
	}
	return commits, nil
}

// read is what git has of some commits, the first of which is made on parent.
func (rec *commitRecorder) read(ctx context.Context, oids []string, parent string) ([]Commit, error) {
	rest, err := rec.output(ctx, strings.Join(oids, "\n")+"\n", "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	commits := make([]Commit, len(oids))
	for i, oid := range oids {
		size, head := 0, ""
		head, rest, _ = strings.Cut(rest, "\n")
		if _, err := fmt.Sscanf(head, oid+" commit %d", &size); err != nil || size >= len(rest) {
			return nil, process("git cat-file: it printed %.80q for the commit %s", head, oid)
		}
		if commits[i], err = recordable(oid, rest[:size], parent); err != nil {
			return nil, err
		}
		parent, rest = oid, rest[size+1:]
	}
	return commits, rec.diff(ctx, commits)
}

// recordable is a commit that can be recorded, but for its patch.
func recordable(oid, raw, parent string) (Commit, error) {
	o, err := parseObject(raw)
	switch {
	case err != nil:
		return Commit{}, unrecordablef("commit %s cannot be read: %v", oid, err)
	case len(o.parents) != 1:
		return Commit{}, unrecordablef("the commits are not in a line: commit %s has %d parents", oid, len(o.parents))
	case o.parents[0] != parent:
		return Commit{}, unrecordablef("the commits are not in a line from where they began: commit %s is made on %s, not on %s", oid, o.parents[0], parent)
	case o.encoding != "":
		return Commit{}, unrecordablef("commit %s has another encoding than UTF-8: %.40q", oid, o.encoding)
	case !utf8.ValidString(raw[:len(raw)-len(o.message)]) || !utf8.ValidString(o.message):
		return Commit{}, unrecordablef("commit %s has text that is not UTF-8", oid)
	}
	return Commit{OID: oid, Tree: o.tree, Author: o.author, Committer: o.committer, Message: o.message, Raw: []byte(raw)}, nil
}

// diff adds the patches. They are binary ones wherever the attributes of the repository leave the choice to us: those are exact, and ASCII.
func (rec *commitRecorder) diff(ctx context.Context, commits []Commit) error {
	if err := rec.with("diff.default.binary=true").patches(ctx, commits); err != nil {
		return err
	}
	for i := range commits {
		c := &commits[i]
		if submodule.MatchString(c.Patch) {
			text := []Commit{{OID: c.OID}}
			if err := rec.patches(ctx, text); err != nil {
				return err
			}
			c.Patch = withSubmodules(c.Patch, text[0].Patch)
		}
		if !utf8.ValidString(c.Patch) {
			return unrecordablef("the patch of commit %s is not UTF-8: an attribute of the repository has git take a file for text", c.OID)
		}
		if rec.size += len(c.Patch) + len(c.Raw); rec.size > commitsLimit {
			return unrecordablef("the commits have more than %d MiB", commitsLimit>>20)
		}
	}
	return nil
}

// patches adds the patches as git writes them.
func (g git) patches(ctx context.Context, commits []Commit) error {
	var stdin strings.Builder
	for _, c := range commits {
		stdin.WriteString(c.OID + "\n")
	}
	rest, err := g.with("core.attributesFile=/dev/null").output(ctx, stdin.String(), "diff-tree", "--stdin", "--always", "-p", "--binary", "--full-index",
		"--no-renames", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/")
	if err != nil {
		return err
	}
	for i := range commits {
		c, ok := &commits[i], false
		if rest, ok = strings.CutPrefix(rest, c.OID+"\n"); !ok {
			return process("git diff-tree: it printed %.80q, which should begin with the commit %s", rest, c.OID)
		}
		end := len(rest)
		if i+1 < len(commits) {
			end = beginOf(rest, commits[i+1].OID)
		}
		c.Patch, rest = rest[:end], rest[end:]
	}
	return nil
}

// submodule is the line of a patch that says that a path is a submodule.
var submodule = regexp.MustCompile(`(?m)^(?:new file mode|deleted file mode|index [0-9a-f]+\.\.[0-9a-f]+) 160000$`)

// withSubmodules is a patch with its submodules as text, as those are in another one: git cannot apply a binary patch of them.
func withSubmodules(patch, text string) string {
	const begin = "diff --git "
	files, texts := strings.Split("\n"+patch, "\n"+begin), strings.Split("\n"+text, "\n"+begin)
	for i := range files {
		if i < len(texts) && submodule.MatchString(files[i]) {
			files[i] = texts[i]
		}
	}
	return strings.TrimPrefix(strings.Join(files, "\n"+begin), "\n")
}

// beginOf is where a line begins; the end of the text if there is none. No line of a patch is an object id: those of text begin with a sign, and
// those of base 85 have a length that is 1 more than a multiple of 5.
func beginOf(text, line string) int {
	if strings.HasPrefix(text, line+"\n") {
		return 0
	}
	if before, _, found := strings.Cut(text, "\n"+line+"\n"); found {
		return len(before) + 1
	}
	return len(text)
}

// index is git with an index of its own, that has the tree that the commits began with. The file is in the repository: a runner may be on
// another machine, and git is all that we know to be there.
func (rec *commitRecorder) index(ctx context.Context) (_ git, remove func(), err error) {
	dir, err := rec.line(ctx, "", "rev-parse", "--absolute-git-dir")
	if err != nil {
		return git{}, nil, err
	}
	file := path.Join(dir, "understudy-"+rand.Text())
	remove = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
		defer cancel()
		_, _ = rec.with("alias.understudy-drop=!rm -f --").run(ctx, "", "understudy-drop", file, file+".lock") // nobody reads what stays
	}
	index := rec.with("core.splitIndex=false").withEnv("GIT_INDEX_FILE", file)
	if _, err := index.output(ctx, "", "read-tree", rec.since.Commit+"^{tree}"); err != nil {
		remove()
		return git{}, nil, err
	}
	return index, remove, nil
}

// try applies the patch of a commit to an index that has its parent, and so does it with those that come after it.
func (rec *commitRecorder) try(ctx context.Context, index git, c *Commit) error {
	if c.Patch != "" {
		r, err := index.run(ctx, c.Patch, "apply", "--cached", "--binary", "--whitespace=nowarn", "-")
		if err != nil {
			return err
		} else if r.ExitCode != 0 {
			return unrecordablef("the patch of commit %s does not apply to its parent: %s", c.OID, oneLine(r.Stderr))
		}
	}
	tree, err := index.line(ctx, "", "write-tree")
	if err == nil && tree != c.Tree {
		err = unrecordablef("the patch of commit %s makes the tree %s, not %s: an attribute of the repository has git leave out some of it", c.OID, tree, c.Tree)
	}
	return err
}

// commitObject is a commit object.
type commitObject struct {
	tree              string
	parents           []string
	author, committer Identity
	encoding          string // "" is UTF-8
	message           string
}

var (
	id       = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)
	identity = regexp.MustCompile(`^(?:(.*) )?<([^<>\n]*)> ([0-9]+ [+-][0-9]{4})$`)
)

func isID(text string) bool { return id.MatchString(text) }

// parseObject reads a commit object.
func parseObject(raw string) (o commitObject, err error) {
	header, message, ok := strings.Cut(raw, "\n\n")
	if !ok {
		return o, errors.New("it has no empty line before its message")
	}
	o.message = message
	for line := range strings.SplitSeq(header, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "tree":
			o.tree = value
		case "parent":
			o.parents = append(o.parents, value)
		case "author":
			o.author, err = parseIdentity(value)
		case "committer":
			o.committer, err = parseIdentity(value)
		case "encoding":
			o.encoding = value
		}
		if err != nil {
			return o, fmt.Errorf("its %s %w", key, err)
		}
	}
	if !isID(o.tree) || o.author.Date == "" || o.committer.Date == "" {
		return o, errors.New("it must have a tree, an author and a committer")
	}
	return o, nil
}

func parseIdentity(text string) (Identity, error) {
	m := identity.FindStringSubmatch(text)
	if m == nil {
		return Identity{}, fmt.Errorf(`is %.60q, which must be like "Name <email> 1700000100 +0100"`, text)
	}
	return Identity{Name: m[1], Email: m[2], Date: m[3]}, nil
}

// compose is the commit object for a tree on a parent. Git would make others: its commit-tree takes some characters out of names, does not
// know dates of the first years, and reads a time zone in its own way.
func (c *Commit) compose(tree, parent string) (string, error) {
	lines := []string{"tree " + tree, "parent " + parent}
	for _, by := range []struct {
		key string
		Identity
	}{{"author", c.Author}, {"committer", c.Committer}} {
		line := by.Name + " <" + by.Email + "> " + by.Date
		if read, err := parseIdentity(line); err != nil || read != by.Identity {
			return "", configuration("commit %.64q: its %s %.120q is not what a commit can have; a name and an email have no line breaks, and an email no < or >",
				c.OID, by.key, line)
		}
		lines = append(lines, by.key+" "+line)
	}
	return strings.Join(lines, "\n") + "\n\n" + c.Message, nil
}

// rewrite is a commit object for a tree on a parent. If that is another tree or another parent, its signature is not one of it, and left out.
func rewrite(raw []byte, tree, parent string) (object string, unsigned bool, err error) {
	o, err := parseObject(string(raw))
	if err != nil {
		return "", false, err
	}
	if o.tree == tree && slices.Equal(o.parents, []string{parent}) {
		return string(raw), false, nil
	}
	header, message, _ := strings.Cut(string(raw), "\n\n")
	lines := []string{"tree " + tree, "parent " + parent}
	signature := false
	for line := range strings.SplitSeq(header, "\n") {
		key, _, _ := strings.Cut(line, " ")
		switch {
		case key == "tree" || key == "parent":
			continue
		case key == "": // more of the line before
		default:
			signature = key == "gpgsig" || key == "gpgsig-sha256"
		}
		if signature {
			unsigned = true
			continue
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n") + "\n\n" + message, unsigned, nil
}
