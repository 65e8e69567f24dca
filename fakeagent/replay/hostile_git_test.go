package replay_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

// hosts are repositories and work trees that are not as git makes them by default.
var hosts = map[string]func(from *repo, base string) *repo{
	"whose line breaks are converted":         func(from *repo, base string) *repo { return from.clone(base, "--config", "core.autocrlf=true") },
	"whose line breaks are converted one way": func(from *repo, base string) *repo { return from.clone(base, "--config", "core.autocrlf=input") },
	"whose line breaks are those of Windows":  func(from *repo, base string) *repo { return from.clone(base, "--config", "core.eol=crlf") },
	"that has no modes":                       func(from *repo, base string) *repo { return from.clone(base, "--config", "core.fileMode=false") },
	"that has no links":                       func(from *repo, base string) *repo { return from.clone(base, "--config", "core.symlinks=false") },
	"whose index has two parts":               func(from *repo, base string) *repo { return from.clone(base, "--config", "core.splitIndex=true") },
	"that knows what is not tracked":          func(from *repo, base string) *repo { return from.clone(base, "--config", "core.untrackedCache=true") },
	"that takes files for unchanged":          func(from *repo, base string) *repo { return from.clone(base, "--config", "core.ignoreStat=true") },
	"that has only the last commit": func(from *repo, base string) *repo {
		from.git("branch", "begin", base)
		c := newHome(from.t)
		c.git("clone", "-q", "--depth=1", "--branch=begin", "file://"+from.dir, c.dir)
		return c
	},
	"that has only some of the files in its directory": func(from *repo, base string) *repo {
		c := from.clone(base)
		c.git("sparse-checkout", "set", "--no-cone", "/none-of-these")
		return c
	},
	"that is a second work tree": func(from *repo, base string) *repo {
		c := from.clone(base)
		second := filepath.Join(filepath.Dir(c.dir), "second")
		c.git("worktree", "add", "-q", "-b", "side", second)
		return c.at(second)
	},
}

// likely are the histories that such a workspace could have trouble with.
var likely = []string{"modes and links", "bytes that are no text, and", "attributes that come with"}

var _ = Describe("A workspace", func() {
	for text, host := range hosts {
		for _, h := range histories {
			if !slices.ContainsFunc(likely, func(begin string) bool { return strings.HasPrefix(h.text, begin) }) {
				continue
			}
			It(text+" has the very same commits, which are the same when they are recorded: "+h.text, func() {
				r := newRepo(GinkgoTB(), h.git...)
				base := h.begin(r)
				h.make(r)
				changes := r.recorded(base)
				w := host(r, base)
				Expect(w.rebuildStrictly(&changes).err).NotTo(HaveOccurred())
				Expect(w.head()).To(Equal(r.head()))
				Expect(w.git("diff", "--cached", "--name-only", "HEAD", "--")).To(BeEmpty())
				Expect(w.recorded(base)).To(Equal(changes))
			})
		}
	}

	DescribeTable("keeps what the user has hidden from git, and changed", func(bit string) {
		r := greetingRepo(GinkgoTB())
		r.git("update-index", "--"+bit, "greet.txt")
		r.write("greet.txt", "mine")
		before := r.state()
		b := r.rebuild(greetingChanges(GinkgoTB()))
		Expect(b.err).To(HaveField("Actual", "error: greet.txt: does not match index"))
		Expect(r.state()).To(Equal(before))

		r.runner.around = func(ctx context.Context, c replay.Command, run runs) (replay.Result, error) {
			if slices.Contains(c.Args, "--index") {
				r.write(".git/index.lock", "")
			}
			return run(ctx, c)
		}
		Expect(r.rebuild(greetingChanges(GinkgoTB())).err).To(And(ofCode(replay.Process), MatchError(ContainSubstring("index.lock': File exists"))))
		Expect(r.state()).To(Equal(before))
	},
		Entry("as what never changes", "assume-unchanged"),
		Entry("as what is not there", "skip-worktree"),
	)

	It("has no grafts", func() {
		r := greetingRepo(GinkgoTB())
		Expect(r.rebuildStrictly(greetingChanges(GinkgoTB())).err).NotTo(HaveOccurred())
		r.write(".git/info/grafts", greetingEnd+"\n")
		changes := r.recorded(greetingBase)
		Expect(changes.Unavailable).To(BeEmpty())
		Expect(changes.Commits).To(HaveLen(2))
	})

	DescribeTable("has its files converted", func(attributes, config, base, changed string) {
		r := newRepo(GinkgoTB())
		if config != "" {
			r.config(strings.Split(config, "|")...)
		}
		r.write(".gitattributes", attributes+"\n")
		r.write("a.txt", base)
		r.write("b.txt", base)
		began := r.commit("Base\n")
		r.write("a.txt", changed)
		r.write("new.txt", changed)
		r.commit("Changed\n")
		Expect(os.Remove(r.path("b.txt"))).To(Succeed())
		r.write("a.txt", changed+changed)
		r.commit("Changed again\n")
		changes := r.recorded(began)
		Expect(changes.Unavailable).To(BeEmpty())
		w := r.clone(began)
		if config != "" {
			w.config(strings.Split(config, "|")...)
			w.git("rm", "-q", "--cached", "-r", ".")
			w.git("reset", "-q", "--hard")
		}
		before := w.state()
		w.runner.around = failing("update-ref")
		Expect(w.rebuildStrictly(&changes).err).To(ofCode(replay.Process))
		Expect(w.state()).To(Equal(before))
		w.runner.around = nil
		Expect(w.rebuildStrictly(&changes).err).NotTo(HaveOccurred())
		Expect(w.head()).To(Equal(r.head()))
		Expect(w.git("status", "--porcelain")).To(BeEmpty())
		written := w.state()
		w.git("rm", "-q", "-r", ".")
		w.git("reset", "-q", "--hard")
		Expect(w.state()).To(Equal(written))
	},
		Entry("with a filter", "*.txt filter=case", "filter.case.clean=tr a-z A-Z|filter.case.smudge=tr A-Z a-z|filter.case.required=true", "one\n", "two\n"),
		Entry("with the id of the file in it", "*.txt ident", "", "$Id$ 1\n", "$Id$ 2\n"),
		Entry("with another encoding", "*.txt text working-tree-encoding=UTF-16LE", "", "o\x00\n\x00", "\xfc\x00\n\x00"),
	)

	It("is told where a filter fails that must not, and has its other files back", func() {
		r := newRepo(GinkgoTB())
		for _, name := range []string{"a", "b", "c"} {
			r.write(name, "1")
		}
		r.write(".gitattributes", "b filter=broken\n")
		began := r.commit("Base\n")
		for _, name := range []string{"a", "b", "c", "new"} {
			r.write(name, "2")
		}
		r.commit("Changed\n")
		changes := r.recorded(began)
		w := r.clone(began)
		w.config("filter.broken.clean=cat", "filter.broken.smudge=false", "filter.broken.required=true")
		b := w.rebuildStrictly(&changes)
		Expect(b.err).To(And(ofCode(replay.Process), MatchError(And(ContainSubstring("cannot be taken back"), ContainSubstring("b: smudge filter broken failed")))))
		Expect([]string{w.read("a"), w.read("b"), w.read("c"), w.read("new")}).To(Equal([]string{"1", "(none)", "1", "(none)"}))
	})

	It("keeps a commit that git made though it was broken off, with its files", func() {
		r := greetingRepo(GinkgoTB())
		r.runner.around = func(ctx context.Context, c replay.Command, run runs) (replay.Result, error) {
			result, err := run(ctx, c)
			if gitCommand(c) == "update-ref" {
				err = errors.New("the line is dead")
			}
			return result, err
		}
		b := r.rebuildStrictly(greetingChanges(GinkgoTB()))
		Expect(b.err).To(And(ofCode(replay.Process), MatchError(ContainSubstring("the line is dead"))))
		Expect(b.made).To(Equal([]string{greetingOne}))
		Expect(r.head()).To(Equal(greetingOne))
		Expect(r.git("status", "--porcelain")).To(BeEmpty())
	})

	It("has its files back where a directory cannot be written", func() {
		if os.Geteuid() == 0 {
			Skip("Root can write all of them.")
		}
		r := newRepo(GinkgoTB())
		r.write("a", "1")
		r.write("closed/b", "1")
		began := r.commit("Base\n")
		r.write("a", "2")
		r.write("closed/b", "2")
		r.commit("Changed\n")
		changes := r.recorded(began)
		w := r.clone(began)
		Expect(os.Chmod(w.path("closed"), 0o555)).To(Succeed())
		DeferCleanup(os.Chmod, w.path("closed"), os.FileMode(0o755))
		before := w.state()
		b := w.rebuildStrictly(&changes)
		Expect(b.err).To(HaveField("Actual", ContainSubstring("Permission denied")))
		Expect(w.state()).To(Equal(before))
	})

	It("is not recorded by a driver that shows files in its own way", func() {
		r := greetingRepo(GinkgoTB())
		r.config("diff.mine.command=false", "diff.mine.textconv=false")
		r.write(".git/info/attributes", "* diff=mine\n")
		Expect(r.rebuildStrictly(greetingChanges(GinkgoTB())).made).To(HaveLen(2))
		changes := r.recorded(greetingBase)
		Expect(changes.Unavailable).To(BeEmpty())
		Expect(r.clone(greetingBase).rebuildStrictly(&changes).made).To(Equal([]string{greetingOne, greetingEnd}))
	})

	It("is refused where git does not trust its owner, in one line that says what to do", func() {
		r := greetingRepo(GinkgoTB())
		r.runner.env["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"
		_, err := replay.Baseline(context.Background(), r.runner, r.dir)
		Expect(err).To(And(ofCode(replay.Process), MatchError(And(ContainSubstring("dubious ownership"), ContainSubstring("git config --global --add safe.directory"), Not(ContainSubstring("\n"))))))
	})
})
