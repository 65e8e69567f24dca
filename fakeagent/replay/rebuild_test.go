package replay_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/replay"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

type runs = func(context.Context, replay.Command) (replay.Result, error)

// failing has one command of git fail.
func failing(command string) func(context.Context, replay.Command, runs) (replay.Result, error) {
	return func(ctx context.Context, c replay.Command, run runs) (replay.Result, error) {
		if gitCommand(c) == command {
			return replay.Result{ExitCode: 128, Stderr: []byte("fatal: it\nfailed\n")}, nil
		}
		return run(ctx, c)
	}
}

var _ = Describe("Rebuilding the commits of the example", func() {
	var r *repo
	BeforeEach(func() { r = greetingRepo(GinkgoTB()) })

	It("makes the very commits that were recorded, and leaves a clean workspace", func() {
		b := r.rebuildStrictly(greetingChanges(GinkgoTB()))
		Expect(b.err).NotTo(HaveOccurred())
		Expect(b.made).To(Equal([]string{greetingOne, greetingEnd}))
		Expect(b.warnings).To(BeEmpty())
		Expect(r.git("rev-list", "--reverse", greetingBase+"..HEAD")).To(Equal(greetingOne + "\n" + greetingEnd))
		Expect(r.read("greet.txt")).To(Equal("good day\n"))
		Expect(r.read("bye.txt")).To(Equal("farewell\n"))
		Expect(r.git("status", "--porcelain")).To(BeEmpty())
		Expect(r.git("symbolic-ref", "HEAD")).To(Equal("refs/heads/main"))
	})

	DescribeTable("also does so in a copy of the workspace",
		func(copied func(from, to string) error) {
			dir := filepath.Join(GinkgoT().TempDir(), "copy")
			Expect(copied(r.dir, dir)).To(Succeed())
			b := r.at(dir).rebuildStrictly(greetingChanges(GinkgoTB()))
			Expect(b.err).NotTo(HaveOccurred())
			Expect(r.at(dir).head()).To(Equal(greetingEnd))
		},
		Entry("whose files have new times", func(from, to string) error { return os.CopyFS(to, os.DirFS(from)) }),
		Entry("whose files have the old times", func(from, to string) error {
			if err := os.CopyFS(to, os.DirFS(from)); err != nil {
				return err
			}
			return filepath.WalkDir(from, func(path string, _ os.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := os.Stat(path)
				if err != nil {
					return err
				}
				return os.Chtimes(to+path[len(from):], info.ModTime(), info.ModTime())
			})
		}),
	)

	It("also does so in a workspace whose files were touched", func() {
		Expect(os.Chtimes(r.path("greet.txt"), time.Unix(1, 0), time.Unix(1, 0))).To(Succeed())
		Expect(r.rebuildStrictly(greetingChanges(GinkgoTB())).made).To(HaveLen(2))
	})

	It("also does so where HEAD is on no branch", func() {
		r.git("checkout", "-q", "--detach")
		Expect(r.rebuildStrictly(greetingChanges(GinkgoTB())).made).To(Equal([]string{greetingOne, greetingEnd}))
		Expect(r.git("rev-parse", "HEAD", "main")).To(Equal(greetingEnd + "\n" + greetingBase))
	})

	It("also does so in a second work tree of the repository, and leaves the first one alone", func() {
		second := filepath.Join(GinkgoT().TempDir(), "second")
		r.git("worktree", "add", "-q", "-b", "side", second)
		before := r.git("ls-files", "--stage")
		Expect(r.at(second).rebuildStrictly(greetingChanges(GinkgoTB())).made).To(Equal([]string{greetingOne, greetingEnd}))
		Expect(r.git("rev-parse", "side", "main")).To(Equal(greetingEnd + "\n" + greetingBase))
		Expect(r.git("ls-files", "--stage")).To(Equal(before))
	})

	It("makes the same trees with the same words on another commit with the same files", func() {
		r.git("commit", "-q", "--amend", "-m", "Another start")
		b := r.rebuildStrictly(greetingChanges(GinkgoTB()))
		Expect(b.err).NotTo(HaveOccurred())
		Expect(b.made).To(And(HaveLen(2), Not(ContainElement(greetingEnd))))
		Expect(b.warnings).To(BeEmpty(), "nothing is lost")
		Expect(r.git("rev-parse", "HEAD^{tree}", "HEAD~1^{tree}")).
			To(Equal("931ef76b6da2d1e2848f27120ea372cc16581033\n71cad18ad3c886e3c1fc7e763fe10e0804d2f556"))
		Expect(r.git("log", "-1", "--format=%an|%ae|%ad|%cn|%ce|%cd|%B", "--date=raw")).
			To(Equal("Kit Agent|agent@example.test|1700000200 +0100|Kit Host|host@example.test|1700000205 +0100|Add farewell"))
	})

	It("needs few processes: five for all, and four for each commit", func() {
		r.rebuildStrictly(greetingChanges(GinkgoTB()))
		step := []string{"apply", "write-tree", "hash-object", "update-ref"}
		Expect(r.runner.commands()).To(Equal(slices.Concat([]string{"rev-parse", "update-index", "status", "apply", "ls-files"}, step, step)))
	})

	It("makes nothing of no commits, whatever lies around", func() {
		r.write("bye.txt", "mine")
		r.write("greet.txt", "mine")
		c := greetingChanges(GinkgoTB())
		c.Commits = nil
		before := r.state()
		b := r.rebuildStrictly(c)
		Expect(b.err).NotTo(HaveOccurred())
		Expect(b.made).To(BeEmpty())
		Expect(r.state()).To(Equal(before))
	})
})

var _ = Describe("A workspace that is not as recorded", func() {
	var r *repo
	BeforeEach(func() { r = greetingRepo(GinkgoTB()) })

	changed := func() { r.commitFile("greet.txt", "good day\n") }
	more := func() { r.commitFile("z.txt", "z\n") }
	staged := func() { r.write("z.txt", "z\n"); r.git("add", "z.txt") }
	inTheWay := func() { r.write("bye.txt", "mine") }

	It("has another tree: the divergence has both", func() {
		more()
		b := r.rebuildStrictly(greetingChanges(GinkgoTB()))
		Expect(b.err).To(Equal(&replay.Divergence{Kind: replay.KindBaseline, Commit: greetingBase,
			Expected: "56ef077a153a22a552fb32288831d723bbc3e26c", Actual: r.git("rev-parse", "HEAD^{tree}")}))
	})

	It("is none for a change that is not staged, in a file that no commit has, and that stays as it is", func() {
		base := r.commitFile("y.txt", "y\n")
		end := r.commitFile("bye.txt", "bye\n")
		changes := r.recorded(base)
		r.git("reset", "-q", "--hard", base)
		r.write("y.txt", "mine")
		Expect(r.rebuildStrictly(&changes).made).To(Equal([]string{end}))
		Expect(r.read("y.txt")).To(Equal("mine"))
	})

	DescribeTable("ends a strict rebuild, which leaves all as it was",
		func(mutate func(), want replay.Kind, how ...func(*replay.Workspace)) {
			mutate()
			before := r.state()
			b := r.rebuildStrictly(greetingChanges(GinkgoTB()), how...)
			Expect(b.kinds()).To(Equal([]replay.Kind{want}))
			Expect(b.err).To(BeAssignableToTypeOf(&replay.Divergence{}))
			Expect(b.made).To(BeEmpty())
			Expect(r.state()).To(Equal(before))
		},
		Entry("if a file has other text in the commit that it is on", func() { changed() }, replay.KindBaseline),
		Entry("if that has one file more", func() { more() }, replay.KindBaseline),
		Entry("if something is staged", func() { staged() }, replay.KindDirty),
		Entry("if something is staged and nobody looks, since the tree is another one", func() { staged() }, replay.KindTree, unclean),
		Entry("if a file was changed", func() { r.write("greet.txt", "hi") }, replay.KindDirty),
		Entry("if a file was removed", func() { Expect(os.Remove(r.path("greet.txt"))).To(Succeed()) }, replay.KindDirty),
		Entry("if there is a file that a commit makes", func() { inTheWay() }, replay.KindDirty),
		Entry("also if git ignores it", func() {
			inTheWay()
			r.write(".git/info/exclude", "bye.txt\n")
		}, replay.KindDirty),
		Entry("if there is a directory with files where a commit makes a file", func() { r.write("bye.txt/mine", "mine") }, replay.KindDirty),
	)

	It("may have files that no commit makes", func() {
		r.write("other.txt", "mine")
		Expect(r.rebuildStrictly(greetingChanges(GinkgoTB())).made).To(HaveLen(2))
		Expect(r.git("status", "--porcelain")).To(Equal("?? other.txt"))
	})

	It("may have them also where a commit makes one whose name could be a pattern", func() {
		r.commitFile("*", "all")
		changes := r.recorded(greetingBase)
		w := r.clone(greetingBase)
		w.write("other.txt", "mine")
		Expect(w.rebuildStrictly(&changes).err).NotTo(HaveOccurred())
		Expect(w.git("status", "--porcelain")).To(Equal("?? other.txt"))
	})

	// text is a change of a file that its patch has as text, with a space at the end of a line.
	text := func() *replay.Changes {
		r.write(".git/info/attributes", "* diff\n")
		r.commitFile("greet.txt", "hello\nall \n")
		r.commitFile("bye.txt", "farewell \n")
		c := r.recorded(greetingBase)
		return &c
	}

	It("has files in the way also where git takes the spaces of a patch for errors", func() {
		changes := text()
		w := r.clone(greetingBase)
		w.config("apply.whitespace=error")
		w.write("bye.txt", "mine")
		Expect(w.rebuildStrictly(changes).kinds()).To(Equal([]replay.Kind{replay.KindDirty}))
	})

	It("has another text also where git is to leave spaces out of account", func() {
		r.commitFile("greet.txt", "good day\n")
		base := r.head()
		r.write(".git/info/attributes", "* diff\n")
		r.commitFile("greet.txt", "good day\nall\n")
		changes := r.recorded(base)
		w := r.clone(greetingBase)
		w.config("apply.ignoreWhitespace=change")
		w.commitFile("greet.txt", "good   day\n")
		b := w.rebuild(&changes)
		Expect(b.kinds()).To(Equal([]replay.Kind{replay.KindBaseline, replay.KindTree}))
		Expect(b.err).To(HaveField("Hard", true))
	})

	// converted is a workspace with a file that git takes for changed when it looks closely, since it would not write its line breaks as they are.
	converted := func() (*repo, *replay.Changes) {
		r := newRepo(GinkgoTB())
		r.commitFile("a.txt", "a\r\n")
		r.write(".gitattributes", "*.txt text\n")
		r.git("add", ".gitattributes")
		base := r.commitStaged("Attributes\n")
		r.git("add", "--renormalize", ".")
		r.commitStaged("Renormalised\n")
		changes := r.recorded(base)
		w := r.clone(base)
		Expect(os.Chtimes(w.path("a.txt"), time.Unix(1, 0), time.Unix(1, 0))).To(Succeed())
		Expect(w.git("status", "--porcelain")).To(Equal(" M a.txt"))
		return w, &changes
	}

	It("is one that has been changed, not one whose line breaks git would change", func() {
		w, changes := converted()
		b := w.rebuildStrictly(changes)
		Expect(b.err).NotTo(HaveOccurred())
		Expect(b.made).To(Equal([]string{changes.Commits[0].OID}))
		Expect(w.git("diff-files", "--name-only")).To(BeEmpty(), "git knows its files")
	})

	It("keeps a file that the user makes meanwhile, beside one whose line breaks git would change", func() {
		w, _ := converted()
		base := w.head()
		w.git("add", "--renormalize", ".")
		w.write("new", "new")
		w.git("add", "new")
		w.commitStaged("Renormalised, and more\n")
		changes := w.recorded(base)
		w.git("reset", "-q", "--hard", base)
		Expect(os.Chtimes(w.path("a.txt"), time.Unix(1, 0), time.Unix(1, 0))).To(Succeed())
		w.runner.around = func(ctx context.Context, c replay.Command, run runs) (replay.Result, error) {
			if slices.Contains(c.Args, "--index") {
				w.write("new", "mine")
			}
			return run(ctx, c)
		}
		Expect(w.rebuild(&changes).err).To(HaveField("Hard", true))
		Expect(w.read("new")).To(Equal("mine"))
		Expect(w.head()).To(Equal(base))
	})

	It("is not one with line breaks of Windows, which git has written for attributes that are gone by now", func() {
		r := newRepo(GinkgoTB())
		r.write(".gitattributes", "*.txt text eol=crlf\n")
		r.write("a.txt", "a\n")
		base := r.commit("Base\n")
		r.git("rm", "-q", ".gitattributes")
		r.commitStaged("No attributes\n")
		r.commitFile("a.txt", "b\n")
		changes := r.recorded(base)
		w := r.clone(base)
		Expect(w.read("a.txt")).To(Equal("a\r\n"))
		w.runner.around = func(ctx context.Context, c replay.Command, run runs) (replay.Result, error) {
			if slices.Contains(c.Args, "--index") { // so that git looks closely
				Expect(os.Chtimes(w.path("a.txt"), time.Unix(1, 0), time.Unix(1, 0))).To(Succeed())
			}
			return run(ctx, c)
		}
		Expect(w.rebuildStrictly(&changes).err).NotTo(HaveOccurred())
		Expect(w.head()).To(Equal(r.head()))
		Expect(w.read("a.txt")).To(Equal("b\n"))
	})

	DescribeTable("has its index back where a file cannot be written whose line breaks git would change", func(left string, how ...func(*replay.Workspace)) {
		w, changes := converted()
		w.runner.around = func(ctx context.Context, c replay.Command, run runs) (replay.Result, error) {
			if gitCommand(c) == "checkout-index" && slices.Contains(c.Args, "--index") {
				return replay.Result{ExitCode: 128, Stderr: []byte("fatal: full\n")}, nil
			}
			return run(ctx, c)
		}
		Expect(w.rebuildStrictly(changes, how...).err).To(MatchError("replay: git checkout-index: exit code 128: fatal: full"))
		Expect(w.git("diff", "--cached", "--name-only")).To(Equal(left))
		Expect(w.read("a.txt")).To(Equal("a\r\n"))
	},
		Entry("and nothing else is wanted", ""),
		Entry("but not if that is to be kept", "a.txt", keepFailed),
	)

	It("loses a file whose line breaks git would change, if a commit removes it", func() {
		w, _ := converted()
		base := w.head()
		w.git("rm", "-q", "--cached", "a.txt")
		w.commitStaged("Gone\n")
		changes := w.recorded(base)
		w.git("reset", "-q", "--hard", base)
		Expect(os.Chtimes(w.path("a.txt"), time.Unix(1, 0), time.Unix(1, 0))).To(Succeed())
		Expect(w.rebuildStrictly(&changes).err).NotTo(HaveOccurred())
		Expect(w.read("a.txt")).To(Equal("(none)"))
	})

	It("is also one of which a mode has been changed, and no line break", func() {
		w, changes := converted()
		Expect(os.Chmod(w.path("a.txt"), 0o755)).To(Succeed())
		Expect(w.rebuildStrictly(changes).kinds()).To(Equal([]replay.Kind{replay.KindDirty}))
	})

	It("is also one with a link that leads elsewhere, even if what the old one led to is written there", func() {
		link := func(r *repo, to string) {
			_ = os.Remove(r.path("link"))
			Expect(os.Symlink(to, r.path("link"))).To(Succeed())
		}
		link(r, "one")
		base := r.commit("Link\n")
		link(r, "two")
		r.commit("Another one\n")
		changes := r.recorded(base)
		w := r.clone(base)
		w.write("mine", "one")
		link(w, "mine")
		Expect(w.rebuildStrictly(&changes).kinds()).To(Equal([]replay.Kind{replay.KindDirty}))
		Expect(os.Readlink(w.path("link"))).To(Equal("mine"))
	})

	DescribeTable("is gone on with where that is possible",
		func(mutate func(), kinds []replay.Kind, made int, how ...func(*replay.Workspace)) {
			mutate()
			b := r.rebuild(greetingChanges(GinkgoTB()), how...)
			Expect(b.kinds()).To(Equal(kinds))
			Expect(b.made).To(HaveLen(made))
			if made == 2 {
				Expect(b.err).NotTo(HaveOccurred())
				Expect(r.git("status", "--porcelain")).To(BeEmpty())
			} else {
				Expect(b.err).To(And(BeAssignableToTypeOf(&replay.Divergence{}), HaveField("Hard", true), HaveField("Kind", replay.KindTree)))
				Expect(b.diverged).To(HaveLen(len(kinds)))
			}
		},
		Entry("not if a patch does not fit its file", func() { changed() }, []replay.Kind{"baseline", "tree"}, 0),
		Entry("if there is one file more, which each commit then has", func() { more() }, []replay.Kind{"baseline", "tree", "tree"}, 2),
		Entry("if something is staged, which each commit then has", func() { staged() }, []replay.Kind{"dirty", "tree", "tree"}, 2),
		Entry("also if nobody looks", func() { staged() }, []replay.Kind{"tree", "tree"}, 2, unclean),
		Entry("if there is a file that a commit makes, but only up to that", func() { inTheWay() }, []replay.Kind{"dirty", "tree"}, 1),
		Entry("also if nobody looks", func() { inTheWay() }, []replay.Kind{"tree"}, 1, unclean),
	)

	It("has its own files in the commits where it is gone on with", func() {
		staged()
		b := r.rebuild(greetingChanges(GinkgoTB()))
		Expect(r.files()).To(ContainElement("100644 blob b68025345d5301abad4d9ec9166f455243a0d746\tz.txt"))
		Expect(b.diverged[1]).To(Equal(replay.Divergence{
			Kind: replay.KindTree, Commit: greetingOne, Expected: "71cad18ad3c886e3c1fc7e763fe10e0804d2f556", Actual: r.git("rev-parse", "HEAD~1^{tree}")}))
	})

	It("is told by a few of its paths", func() {
		r.write("greet.txt", "hi")
		inTheWay()
		for _, name := range strings.Split("a b c d e f g", " ") {
			r.write(name, "")
			r.git("add", name)
		}
		Expect(r.rebuildStrictly(greetingChanges(GinkgoTB())).diverged[0]).To(Equal(replay.Divergence{
			Kind:     replay.KindDirty,
			Expected: "a workspace in which nothing is staged, and no file that the commits change or make is anybody's",
			Actual:   `changed: "a", "b", "c", "d", "e", and 3 more; not tracked: "bye.txt"`,
		}))
	})

	It("has what git says where a patch does not fit, and not what the user has it tell of itself", func() {
		inTheWay()
		r.git("config", "--global", "trace2.normalTarget", "2")
		b := r.rebuild(greetingChanges(GinkgoTB()))
		Expect(b.err).To(Equal(&replay.Divergence{
			Kind: replay.KindTree, Hard: true, Commit: greetingEnd, Expected: "931ef76b6da2d1e2848f27120ea372cc16581033",
			Actual: "error: bye.txt: already exists in working directory"}))
		Expect(r.read("bye.txt")).To(Equal("mine"))
		Expect(r.head()).To(Equal(greetingOne))
		Expect(r.git("status", "--porcelain")).To(Equal("?? bye.txt"))
	})
})

var _ = Describe("A step that fails", func() {
	var r *repo
	BeforeEach(func() { r = greetingRepo(GinkgoTB()) })

	for _, command := range []string{"write-tree", "hash-object", "update-ref"} {
		It("is undone when git "+command+" does, which is told", func() {
			r.runner.around = failing(command)
			before := r.state()
			b := r.rebuildStrictly(greetingChanges(GinkgoTB()))
			Expect(b.err).To(And(MatchError("replay: git "+command+": exit code 128: fatal: it; failed"), ofCode(replay.Process)))
			Expect(b.made).To(BeEmpty())
			Expect(r.state()).To(Equal(before))
			Expect(r.git("status", "--porcelain")).To(BeEmpty())
		})
	}

	It("stays as it is if it is to be kept", func() {
		r.runner.around = failing("update-ref")
		b := r.rebuildStrictly(greetingChanges(GinkgoTB()), keepFailed)
		Expect(b.err).To(ofCode(replay.Process))
		Expect(r.git("status", "--porcelain")).To(Equal("M  greet.txt"))
	})

	It("is undone when somebody else commits meanwhile", func() {
		var other string
		r.runner.around = func(ctx context.Context, c replay.Command, run runs) (replay.Result, error) {
			if gitCommand(c) == "update-ref" {
				other = r.move(r.gitIn("Mine", "commit-tree", "HEAD^{tree}", "-p", "HEAD"))
			}
			return run(ctx, c)
		}
		b := r.rebuildStrictly(greetingChanges(GinkgoTB()))
		Expect(b.err).To(And(MatchError(ContainSubstring("replay: git update-ref: exit code 128: fatal: update_ref failed")), ofCode(replay.Process)))
		Expect(r.head()).To(Equal(other))
		Expect(r.git("status", "--porcelain")).To(BeEmpty())
		Expect(r.read("greet.txt")).To(Equal("hello\n"))
	})

	It("is undone when its context ends, and the commits before it stay", func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		trees := 0
		r.runner.around = func(running context.Context, c replay.Command, run runs) (replay.Result, error) {
			if gitCommand(c) == "write-tree" {
				if trees++; trees == 2 {
					cancel()
				}
			}
			return run(running, c)
		}
		w := replay.Workspace{Runner: r.runner, Dir: r.dir}
		made, err := w.Rebuild(ctx, greetingChanges(GinkgoTB()), func(d *replay.Divergence) error { return d }, nil)
		Expect(made).To(Equal([]string{greetingOne}))
		Expect(err).To(And(MatchError(context.Canceled), MatchError("replay: the work on the workspace was ended: context canceled"), ofCode(replay.Aborted)))
		Expect(r.head()).To(Equal(greetingOne))
		Expect(r.git("status", "--porcelain")).To(BeEmpty())
		Expect(r.read("bye.txt")).To(Equal("(none)"))
	})

	It("is undone where git breaks off while it writes, and what is the user's stays", func() {
		r.write("dir/kept.txt", "kept")
		base := r.commit("More\n")
		r.write("a-new.txt", "new")
		r.write("greet.txt", "other")
		r.write("dir/sub/file", "file")
		r.write("zz/new/deep.txt", "deep")
		r.commit("All at once\n")
		changes := r.recorded(base)
		r.git("reset", "-q", "--hard", base)

		r.write("zz/new/deep.txt/mine", "mine") // a directory where there is to be a file: git sees it when it has written all before
		before := r.state()
		b := r.rebuild(&changes, unclean)
		Expect(b.err).To(And(BeAssignableToTypeOf(&replay.Divergence{}), HaveField("Hard", true)))
		Expect(r.state()).To(Equal(before))
	})

	It("leaves a file alone that the user changes meanwhile", func() {
		r.runner.around = func(ctx context.Context, c replay.Command, run runs) (replay.Result, error) {
			if slices.Contains(c.Args, "--index") {
				r.write("greet.txt", "mine by now")
			}
			return run(ctx, c)
		}
		b := r.rebuild(greetingChanges(GinkgoTB()))
		Expect(b.err).To(HaveField("Actual", "error: greet.txt: does not match index"))
		Expect(r.read("greet.txt")).To(Equal("mine by now"))
	})

	It("leaves what is the user's alone when another git gets the index first", func() {
		r.write("greet.txt", "mine")
		r.write("bye.txt", "mine, too")
		r.runner.around = func(ctx context.Context, c replay.Command, run runs) (replay.Result, error) {
			if slices.Contains(c.Args, "--index") {
				r.write(".git/index.lock", "")
			}
			return run(ctx, c)
		}
		before := r.state()
		b := r.rebuild(greetingChanges(GinkgoTB()), unclean)
		Expect(b.err).To(And(ofCode(replay.Process), MatchError(ContainSubstring("index.lock': File exists"))))
		Expect(r.state()).To(Equal(before))
	})

	It("says so if it cannot be undone", func() {
		tree := 0
		r.runner.around = func(ctx context.Context, c replay.Command, run runs) (replay.Result, error) {
			if gitCommand(c) == "write-tree" {
				tree++
				r.write("greet.txt", "mine by now")
				return replay.Result{ExitCode: 1, Stderr: []byte("broken\n")}, nil
			}
			return run(ctx, c)
		}
		b := r.rebuildStrictly(greetingChanges(GinkgoTB()))
		Expect(b.err).To(And(ofCode(replay.Process), MatchError("replay: replay: git write-tree: exit code 1: broken; "+
			"and what it has written cannot be taken back: error: greet.txt: does not match index")))
		Expect(r.read("greet.txt")).To(Equal("mine by now"))
	})

	It("is one with a patch that git cannot read, which writes nothing", func() {
		c := greetingChanges(GinkgoTB())
		c.Commits[1].Patch = strings.Replace(c.Commits[1].Patch, "QcmYdG", "Q?mYdG", 1) + "x"
		r.write("bye.txt", "mine")
		b := r.rebuild(c, unclean)
		Expect(b.err).To(And(BeAssignableToTypeOf(&replay.Divergence{}), HaveField("Hard", true), HaveField("Actual", ContainSubstring("patch"))))
		Expect(r.head()).To(Equal(greetingOne))
		Expect(r.read("bye.txt")).To(Equal("mine"))
		Expect(r.git("status", "--porcelain")).To(Equal("?? bye.txt"))
	})
})

// scripted is a runner without a git: each command has the result that is scripted for it, or is done.
type scripted map[string]func(ctx context.Context, c replay.Command) (replay.Result, error)

func (s scripted) Run(ctx context.Context, c replay.Command) (replay.Result, error) {
	if run := s[gitCommand(c)]; run != nil {
		return run(ctx, c)
	}
	return replay.Result{}, nil
}

var _ = Describe("The time that git has", bubble.InBubble, func() {
	// hangs waits for its context, and takes the time.
	var took time.Duration
	hangs := func(ctx context.Context) (replay.Result, error) {
		began := time.Now()
		<-ctx.Done()
		took = time.Since(began)
		return replay.Result{}, ctx.Err()
	}
	base := greetingBase + "\n56ef077a153a22a552fb32288831d723bbc3e26c\n"
	top := func(context.Context, replay.Command) (replay.Result, error) {
		return replay.Result{Stdout: []byte("/work\n\n" + base)}, nil
	}

	It("is five seconds more when the context ends, since a git that is killed leaves its locks behind", func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		w := replay.Workspace{Dir: "/work", Runner: scripted{"rev-parse": top, "update-index": func(running context.Context, c replay.Command) (replay.Result, error) {
			cancel()
			return hangs(running)
		}}}
		_, err := w.Rebuild(ctx, greetingChanges(GinkgoTB()), nil, nil)
		Expect(err).To(ofCode(replay.Aborted))
		Expect(took).To(Equal(5 * time.Second))
	})

	It("is none more for a recording, which holds no lock", func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r := scripted{"rev-parse": func(running context.Context, c replay.Command) (replay.Result, error) {
			cancel()
			return hangs(running)
		}}
		_, err := replay.Baseline(ctx, r, "/work")
		Expect(err).To(ofCode(replay.Aborted))
		Expect(took).To(BeZero())
	})

	It("is fifteen seconds for a step that is undone", func() {
		w := replay.Workspace{Dir: "/work", Runner: scripted{"rev-parse": top,
			"write-tree": func(context.Context, replay.Command) (replay.Result, error) { return replay.Result{ExitCode: 1}, nil },
			"apply": func(running context.Context, c replay.Command) (replay.Result, error) {
				if slices.Contains(c.Args, "-R") {
					return hangs(running)
				}
				return replay.Result{}, nil
			}}}
		_, err := w.Rebuild(context.Background(), greetingChanges(GinkgoTB()), nil, nil)
		Expect(err).To(And(ofCode(replay.Process), MatchError(ContainSubstring("write-tree")), MatchError(ContainSubstring("cannot be taken back"))))
		Expect(took).To(Equal(15 * time.Second))
	})
})

var _ = Describe("A rebuild", func() {
	DescribeTable("is refused",
		func(prepare func() (r *repo, dir string), message string) {
			r, dir := prepare()
			b := r.at(dir).rebuildStrictly(greetingChanges(GinkgoTB()))
			Expect(b.err).To(And(ofCode(replay.Process), MatchError(MatchRegexp("(?s)^replay: "+message))))
			Expect(b.err.Error()).NotTo(ContainSubstring("\n"))
		},
		Entry("in a directory below the top level, whose path it names", func() (*repo, string) {
			r := greetingRepo(GinkgoTB())
			r.write("sub/x", "")
			return r, r.path("sub")
		}, `".*sub" is not the top level of its git work tree; use ".*work"$`),
		Entry("where there is no repository", func() (*repo, string) {
			r := newHome(GinkgoTB())
			return r, r.dir
		}, `".*" is not a git repository; use the top level of a git work tree, or leave the commits out by WithoutWorkspace`),
		Entry("where nothing was committed yet", func() (*repo, string) {
			r := newRepo(GinkgoTB())
			return r, r.dir
		}, `the git repository ".*" has no commit yet$`),
		Entry("in a repository without a work tree", func() (*repo, string) {
			r := greetingRepo(GinkgoTB())
			r.git("config", "core.bare", "true")
			return r, r.dir
		}, `git rev-parse: exit code 128: fatal: this operation must be run in a work tree`),
		Entry("in a directory that is not there", func() (*repo, string) {
			r := greetingRepo(GinkgoTB())
			return r, r.path("nowhere")
		}, `git rev-parse: there is no folder ".*nowhere" to run git in`),
		Entry("while another git has the index", func() (*repo, string) {
			r := greetingRepo(GinkgoTB())
			r.write(".git/index.lock", "")
			return r, r.dir
		}, `git (update-index|apply): exit code 128: fatal: Unable to create '.*index.lock': File exists`), // the first only if it finds something to refresh
		Entry("while another git has taken the index meanwhile", func() (*repo, string) {
			r := greetingRepo(GinkgoTB())
			r.runner.around = func(running context.Context, c replay.Command, run runs) (replay.Result, error) {
				if slices.Contains(c.Args, "--index") {
					r.write(".git/index.lock", "")
				}
				return run(running, c)
			}
			return r, r.dir
		}, `git apply: exit code 128: fatal: Unable to create '.*index.lock': File exists`),
	)

	It("writes files as they were committed, also in a workspace whose line breaks are converted", func() {
		r := newRepo(GinkgoTB())
		r.write("lf", "1\n2\n")
		r.write("crlf", "1\r\n2\r\n")
		r.write("same", "1\n")
		base := r.commit("Base\n")
		r.write("lf", "3\n4\n")
		r.write("crlf", "3\r\n4\r\n")
		r.write("new", "5\n6\r\n")
		end := r.commit("Changed\n")
		changes := r.recorded(base)

		w := r.clone(base, "--config", "core.autocrlf=true")
		Expect(w.read("lf")).To(Equal("1\r\n2\r\n"))
		b := w.rebuildStrictly(&changes)
		Expect(b.err).NotTo(HaveOccurred())
		Expect(b.made).To(Equal([]string{end}))
		Expect([]string{w.read("lf"), w.read("crlf"), w.read("new"), w.read("same")}).To(Equal([]string{"3\n4\n", "3\r\n4\r\n", "5\n6\r\n", "1\r\n"}))
		Expect(w.git("status", "--porcelain")).To(BeEmpty())
	})

	It("gives a workspace whose line breaks are converted back as it was when a step fails", func() {
		r := newRepo(GinkgoTB())
		r.write("lf", "1\n2\n")
		base := r.commit("Base\n")
		r.write("lf", "3\n4\n")
		r.write("new", "5\n")
		r.commit("Changed\n")
		changes := r.recorded(base)

		w := r.clone(base, "--config", "core.autocrlf=true")
		w.runner.around = failing("update-ref")
		before := w.state()
		Expect(w.rebuildStrictly(&changes).err).To(ofCode(replay.Process))
		Expect(w.state()).To(Equal(before))
	})

	It("does not begin when its context has ended", func() {
		r := greetingRepo(GinkgoTB())
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errors.New("enough"))
		_, err := replay.Workspace{Runner: r.runner, Dir: r.dir}.Rebuild(ctx, greetingChanges(GinkgoTB()), nil, nil)
		Expect(err).To(And(ofCode(replay.Aborted), MatchError("replay: the work on the workspace was ended: enough")))
		Expect(r.runner.commands()).To(BeEmpty())
	})

	It("has the host's environment for its commands, without what is git's", func() {
		r := greetingRepo(GinkgoTB())
		b := r.rebuildStrictly(greetingChanges(GinkgoTB()), func(w *replay.Workspace) {
			w.Env = map[string]string{"COLOUR": "red", "GIT_DIR": "/nowhere", "LC_ALL": "de_DE"}
		})
		Expect(b.err).NotTo(HaveOccurred())
		Expect(r.runner.ran).To(HaveEach(And(
			HaveField("Env", And(HaveKeyWithValue("COLOUR", "red"), Not(HaveKey("GIT_DIR")), HaveKeyWithValue("LC_ALL", "C"), HaveKeyWithValue("GIT_TERMINAL_PROMPT", "0"))),
			HaveField("Unset", ContainElement("GIT_*")),
			HaveField("Dir", r.dir))))
	})
})
