package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

const people = "author A <a@b> 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000\n"

// overJournal is what comes of changes that are written and read again.
func overJournal(c replay.Changes) *replay.Changes {
	GinkgoHelper()
	read := &replay.Changes{}
	Expect(json.Unmarshal(must(json.Marshal(c)), read)).To(Succeed())
	return read
}

// history are changes of a workspace, which begin with a commit of their own.
type history struct {
	text string
	base func(r *repo)
	make func(r *repo)
	git  []string // options of git init
}

var histories = []history{
	{text: "files that are new, changed, and gone", base: func(r *repo) { r.write("old", "1"); r.write("dir/gone", "2") },
		make: func(r *repo) {
			r.commitFile("dir/sub/new", "new")
			r.commitFile("old", "3\n4\n")
			r.git("rm", "-q", "dir/gone")
			r.commitStaged("Gone")
		}},
	{text: "files that are moved and copied", base: func(r *repo) { r.write("a", strings.Repeat("line\n", 50)) },
		make: func(r *repo) {
			r.git("mv", "a", "b")
			r.commitFile("c", strings.Repeat("line\n", 50))
		}},
	{text: "a name of which only the case changes", base: func(r *repo) { r.write("Readme/File", "x") },
		make: func(r *repo) {
			r.git("mv", "Readme", "tmp")
			r.git("mv", "tmp", "README")
			r.commitStaged("Case")
		}},
	{text: "bytes that are no text, and text with line breaks of Windows, without one at its end, and empty", make: func(r *repo) {
		r.commitFile("binary", "\x00\xff\xfe"+strings.Repeat("\x01\x80", 5000))
		r.commitFile("binary", "\x00\xff\xfe"+strings.Repeat("\x01\x80", 4999)+"!")
		r.commitFile("latin", "caf\xe9\n")
		r.commitFile("crlf", "a\r\nb\r\n")
		r.commitFile("mixed", "a\r\nb\n")
		r.commitFile("open", "no end")
		r.commitFile("empty", "")
	}},
	{text: "modes and links", base: func(r *repo) { r.write("run", "#!/bin/sh\n"); r.write("plain", "x") },
		make: func(r *repo) {
			Expect(os.Chmod(r.path("run"), 0o755)).To(Succeed())
			r.commit("Executable")
			Expect(os.Symlink("run", r.path("link"))).To(Succeed())
			r.commit("Link")
			Expect(os.Remove(r.path("plain"))).To(Succeed())
			Expect(os.Symlink("nowhere\u00fc", r.path("plain"))).To(Succeed())
			r.commit("A file becomes a link")
		}},
	{text: "a file that becomes a directory, and a directory that becomes a file", base: func(r *repo) { r.write("file", "1"); r.write("dir/a", "2") },
		make: func(r *repo) {
			Expect(os.Remove(r.path("file"))).To(Succeed())
			Expect(os.RemoveAll(r.path("dir"))).To(Succeed())
			r.write("file/a", "3")
			r.write("dir", "4")
			r.commit("Other way round")
		}},
	{text: "names that are odd", make: func(r *repo) {
		for _, name := range []string{"a b", "ü/é", `quo"te`, "new\nline", "tab\t", "*", ":(glob)x", "-n", "back\\slash", "HEAD", "a/b c/d => e", "inval\xffid"} {
			r.write(name, name)
		}
		r.commit("Odd")
	}},
	{text: "commits that change nothing", make: func(r *repo) { r.commitStaged("Nothing"); r.commitStaged("") }},
	{text: "messages that are odd", make: func(r *repo) {
		for i, message := range []string{"", "\n", " \n\n x \n\n\n", "no end", "ü \U0001f600\r\nx\r\n", "# not a comment\n---\ndiff --git a/x b/x\n", strings.Repeat("long ", 20000)} {
			r.write("f", fmt.Sprint(i))
			r.commit(message)
		}
	}},
	{text: "people that git would not take, and times that it would read in its own way", make: func(r *repo) {
		for _, person := range []string{
			"Bob Jr. <b@c> 1 +0000", " <> 0 -0000", "<b@c> 12345678 +9999", "\"Q\" <'q'> 1700000000 -1130", ".x, <a b> 99999999999 +0545", "a <b> c <d@e> 1 +0000",
		} {
			r.commitRaw("tree {tree}\nparent {parent}\nauthor " + person + "\ncommitter Y <> 1 +0000\n\nPeople\n")
		}
	}},
	{text: "signatures, and headers of anybody", make: func(r *repo) {
		r.commitRaw("tree {tree}\nparent {parent}\n" + people +
			"gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\nx-mine yes\n\nSigned\n\nand more")
	}},
	{text: "attributes that come with a commit, and files that then are to be converted", base: func(r *repo) { r.write("a.txt", "a\r\n"); r.write("b.txt", "b\n") },
		make: func(r *repo) {
			r.write(".gitattributes", "*.txt text\n")
			r.git("add", ".gitattributes")
			r.commitStaged("Attributes")
			r.git("add", "--renormalize", ".")
			r.commitStaged("Renormalised")
			r.write("a.txt", "a\nc\n")
			r.commit("Changed")
			r.write(".gitattributes", "*.txt text eol=crlf\n")
			r.write("new.txt", "new\r\n")
			r.commit("Line breaks of Windows")
		}},
	{text: "attributes that make text of patches", base: func(r *repo) { r.write(".gitattributes", "*.txt diff\n") },
		make: func(r *repo) {
			r.commitFile("a.txt", "ü \r\nno end  ")
			r.commitFile("a.txt", "ü \r\n\n\n+x\n-y\n"+strings.Repeat("0", 40)+"\n")
		}},
	{text: "submodules, and files beside them", base: func(r *repo) { r.write("a", "1"); r.write("z", "\xff") }, make: func(r *repo) {
		link := func(name, digit string) {
			r.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat(digit, 40)+","+name)
		}
		files := func(text string) {
			r.write("a", text)
			r.write("z", "\xff"+text)
			r.git("add", "a", "z")
		}
		link("m", "1")
		link("n", "2")
		r.commitStaged("Submodules")
		link("m", "3")
		files("2")
		r.commitStaged("Another one")
		link("n", "4")
		r.git("rm", "-q", "--cached", "m")
		files("3")
		r.commitStaged("One is gone")
	}},
	{text: "object ids that are longer", git: []string{"--object-format=sha256"}, make: func(r *repo) { r.commitFile("a", "1"); r.commitFile("a", "2") }},
	{text: "more of them than are read at once", make: func(r *repo) {
		for i := range 40 {
			r.commitFile("counter", fmt.Sprint(i))
		}
	}},
}

// begin makes the repository of a history, and is the commit that it begins with.
func (h history) begin(r *repo) string {
	r.t.Helper()
	if h.base != nil {
		h.base(r)
	}
	return r.commit("Base\n")
}

var _ = Describe("What was recorded of a workspace", func() {
	for _, h := range histories {
		It("makes the very same commits elsewhere: "+h.text, func() {
			r := newRepo(GinkgoTB(), h.git...)
			base := h.begin(r)
			h.make(r)
			before := r.state()
			changes := r.recorded(base)
			Expect(changes.Unavailable).To(BeEmpty())
			Expect(r.state()).To(Equal(before))
			want := r.git("rev-list", "--reverse", base+"..HEAD")

			elsewhere := r.clone(base)
			b := elsewhere.rebuildStrictly(overJournal(changes))
			Expect(b.err).NotTo(HaveOccurred())
			Expect(b.warnings).To(BeEmpty())
			Expect(strings.Join(b.made, "\n")).To(Equal(want))
			Expect(elsewhere.git("rev-list", "--reverse", base+"..HEAD")).To(Equal(want))
			Expect(elsewhere.git("diff", "--cached", "--name-only", "HEAD", "--")).To(BeEmpty())
			Expect(elsewhere.git("fsck", "--connectivity-only", "--no-dangling")).To(BeEmpty())
		})
	}

	It("makes them without the objects, too, if people are as git has them", func() {
		r := newRepo(GinkgoTB())
		base := r.commit("Base\n")
		r.commitRaw("tree {tree}\nparent {parent}\nauthor Bob Jr. <> 0 -0000\ncommitter  <.x> 12345678 +9999\n\nü \n\n")
		changes := r.recorded(base)
		changes.Commits[0].Raw = nil
		b := r.clone(base).rebuildStrictly(&changes)
		Expect(b.err).NotTo(HaveOccurred())
		Expect(b.made).To(Equal([]string{r.head()}))
	})

	It("has names that are not UTF-8, where git is not to quote them", func() {
		r := greetingRepo(GinkgoTB())
		r.config("core.quotePath=false")
		r.git("update-index", "--add", "--cacheinfo", "100644,"+r.git("rev-parse", "HEAD:greet.txt")+",inval\xffid")
		r.commitStaged("Odd")
		Expect(r.recorded(greetingBase)).To(And(HaveField("Unavailable", BeEmpty()), HaveField("Commits", HaveLen(1))))
	})

	It("has submodules that git is to take no notice of", func() {
		r := greetingRepo(GinkgoTB())
		r.write(".gitmodules", "[submodule \"m\"]\n\tpath = m\n\turl = /nowhere\n\tignore = all\n")
		r.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",m")
		r.git("add", ".gitmodules")
		base := r.commitStaged("Submodule\n")
		r.git("update-index", "--cacheinfo", "160000,"+strings.Repeat("2", 40)+",m")
		r.commitStaged("Another one\n")
		changes := r.recorded(base)
		Expect(changes.Unavailable).To(BeEmpty())
		Expect(r.clone(base).rebuildStrictly(&changes).made).To(Equal([]string{r.head()}))
	})

	It("has the commits, the oldest first, with all that is in them", func() {
		r := greetingRepo(GinkgoTB())
		Expect(r.rebuildStrictly(greetingChanges(GinkgoTB())).err).NotTo(HaveOccurred())
		changes, want := r.recorded(greetingBase), greetingChanges(GinkgoTB())
		for i := range want.Commits {
			want.Commits[i].Raw = []byte(r.git("cat-file", "commit", want.Commits[i].OID) + "\n")
		}
		Expect(&changes).To(Equal(want))
	})

	It("is a list, if it is one of no commits", func() {
		r := greetingRepo(GinkgoTB())
		r.write("greet.txt", "not committed")
		changes := r.recorded("HEAD")
		Expect(string(must(json.Marshal(changes)))).To(Equal(
			`{"baseline":{"commit":"` + greetingBase + `","tree":"56ef077a153a22a552fb32288831d723bbc3e26c"},"commits":[]}`))
	})

	DescribeTable("is as it was whatever lies around, and nothing of that changes", func(options ...string) {
		r := greetingRepo(GinkgoTB())
		r.config(options...)
		r.commitFile("greet.txt", "good day\n")
		r.write("greet.txt", "changed")
		r.write("staged", "staged")
		r.git("add", "staged")
		r.write("other", "other")
		r.git("checkout", "-q", "--detach")
		files := func() (all map[string]string) {
			all = map[string]string{}
			Expect(filepath.WalkDir(filepath.Join(r.dir, ".git"), func(path string, d os.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					text, _ := os.ReadFile(path)
					all[path] = string(text)
				}
				return err
			})).To(Succeed())
			return all
		}
		before, all := r.state(), files()
		changes := r.recorded(greetingBase)
		Expect(changes.Commits).To(HaveLen(1))
		Expect(r.state()).To(Equal(before))
		Expect(files()).To(Equal(all))
	},
		Entry("in a plain repository"),
		Entry("in one with an index of two parts", "core.splitIndex=true"),
	)

	It("needs few processes: seven for all, and two for each commit", func() {
		r := greetingRepo(GinkgoTB())
		r.commitFile("a", "1")
		r.commitFile("a", "2")
		r.recorded(greetingBase)
		Expect(r.runner.commands()).To(Equal([]string{
			"rev-parse", "rev-list", "rev-parse", "read-tree", "cat-file", "diff-tree", "apply", "write-tree", "apply", "write-tree", "understudy-drop"}))
	})
})

var _ = Describe("Commits cannot be recorded, and it says why,", func() {
	const base = "[0-9a-f]{40}"
	DescribeTable("",
		func(make func(r *repo, base string), reason string) {
			r := newRepo(GinkgoTB())
			r.write("greet.txt", "hello\n")
			began := r.commit("Base\n")
			make(r, began)
			before := r.state()
			changes := r.recorded(began)
			Expect(changes.Unavailable).To(MatchRegexp("^" + reason + "$"))
			Expect(changes.Unavailable).NotTo(ContainSubstring("\n"))
			Expect(changes.Baseline).To(HaveField("Commit", began))
			Expect(changes.Commits).To(BeEmpty())
			Expect(r.state()).To(Equal(before))
			Expect(filepath.Glob(r.path(".git/understudy-*"))).To(BeEmpty())
		},
		Entry("if two lines were merged", func(r *repo, base string) {
			side := r.commitFile("side", "")
			r.git("reset", "-q", "--hard", base)
			r.commitFile("main", "")
			r.git("merge", "-q", "--no-edit", side)
		}, `the commits are not in a line.*`),
		Entry("if the commit that they began with was written anew", func(r *repo, base string) {
			r.git("commit", "-q", "--amend", "-m", "Other")
		}, `the commits are not in a line: commit `+base+` has 0 parents`),
		Entry("if HEAD went back", func(r *repo, base string) {
			older := r.gitIn("Older", "commit-tree", "HEAD^{tree}")
			r.git("reset", "-q", "--hard", r.gitIn("x", "commit-tree", "HEAD^{tree}", "-p", older))
			r.git("replace", "--graft", base, r.head())
			r.git("reset", "-q", "--hard", older)
		}, `the commits are not in a line.*`),
		Entry("if they are too large", func(r *repo, base string) {
			noise := make([]byte, replay.CommitsLimit)
			seed := uint32(1)
			for i := range noise {
				seed = seed*1664525 + 1013904223
				noise[i] = byte(seed >> 24)
			}
			r.commitFile("large", string(noise))
		}, `the commits have more than 8 MiB`),
		Entry("if a commit has another encoding", func(r *repo, base string) {
			r.commitRaw("tree {tree}\nparent {parent}\n" + people + "encoding ISO-8859-1\n\ncaf\xe9\n")
		}, `commit `+base+` has another encoding than UTF-8: "ISO-8859-1"`),
		Entry("if a message is not UTF-8", func(r *repo, base string) {
			r.commitRaw("tree {tree}\nparent {parent}\n" + people + "\ncaf\xe9\n")
		}, `commit `+base+` has text that is not UTF-8`),
		Entry("if a name is not UTF-8", func(r *repo, base string) {
			r.commitRaw("tree {tree}\nparent {parent}\n" + strings.Replace(people, "A", "\xc4", 1) + "\nx\n")
		}, `commit `+base+` has text that is not UTF-8`),
		Entry("if the header of a commit is broken", func(r *repo, base string) {
			r.commitRaw("tree {tree}\nparent {parent}\nauthor A <a@b> yesterday\ncommitter A <a@b> 1 +0000\n\nx\n")
		}, `commit `+base+` cannot be read: its author is "A <a@b> yesterday", which must be like "Name <email> 1700000100 \+0100"`),
		Entry("if a commit has no committer", func(r *repo, base string) {
			r.commitRaw("tree {tree}\nparent {parent}\nauthor A <a@b> 1 +0000\n\nx\n")
		}, `commit `+base+` cannot be read: it must have a tree, an author and a committer`),
		Entry("if an attribute makes a patch of a file that is not UTF-8", func(r *repo, base string) {
			r.write(".gitattributes", "*.txt diff\n")
			r.commitFile("greet.txt", "caf\xe9\n")
		}, `the patch of commit `+base+` is not UTF-8: an attribute of the repository has git take a file for text`),
		Entry("if git would not apply a patch as it is", func(r *repo, base string) {
			r.commitFile("a", "1")
			r.runner.around = func(ctx context.Context, c replay.Command, run runs) (replay.Result, error) {
				if gitCommand(c) == "apply" {
					return replay.Result{ExitCode: 1, Stderr: []byte("error: no\n")}, nil
				}
				return run(ctx, c)
			}
		}, `the patch of commit `+base+` does not apply to its parent: error: no`),
		Entry("if a patch makes another tree", func(r *repo, base string) {
			r.commitFile("a", "1")
			r.runner.around = func(ctx context.Context, c replay.Command, run runs) (replay.Result, error) {
				if gitCommand(c) == "write-tree" {
					return replay.Result{Stdout: []byte("other\n")}, nil
				}
				return run(ctx, c)
			}
		}, `the patch of commit `+base+` makes the tree other, not `+base+`: .*`),
	)

	It("if HEAD went back to where it was before the agent began", func() {
		r := greetingRepo(GinkgoTB())
		since := r.commitFile("a", "1")
		r.git("reset", "-q", "--hard", greetingBase)
		Expect(r.recorded(since).Unavailable).To(Equal("HEAD was moved back: " + greetingBase + " is older than the commit that it began with"))
	})

	DescribeTable("without what they began with, if that could not be read:",
		func(since string, prepare func(r *repo), reason string) {
			r := greetingRepo(GinkgoTB())
			if prepare != nil {
				prepare(r)
			}
			changes := replay.RecordCommits(context.Background(), r.runner, r.dir, replay.Revision{Commit: since})
			Expect(changes).To(And(HaveField("Baseline", BeNil()), HaveField("Commits", BeEmpty()), HaveField("Unavailable", MatchRegexp("^the commits could not be read: replay: "+reason))))
		},
		Entry("a commit that is not there", strings.Repeat("1", 40), nil, "git rev-list: exit code 128: fatal: .*"),
		Entry("something that is no commit", "--output=x", nil, `the commit "--output=x" is no object id, which has 40 or 64 hexadecimal digits$`),
		Entry("a workspace without a repository", greetingBase, func(r *repo) { Expect(os.RemoveAll(r.path(".git"))).To(Succeed()) }, `".*" is not a git repository; `),
		Entry("a git that fails", greetingBase, func(r *repo) { r.commitFile("a", "1"); r.runner.around = failing("cat-file") }, `git cat-file: exit code 128: fatal: it; failed`),
	)

	It("if its context ends, with nothing left behind", func() {
		r := greetingRepo(GinkgoTB())
		r.commitFile("a", "1")
		ctx, cancel := context.WithCancel(context.Background())
		r.runner.around = func(running context.Context, c replay.Command, run runs) (replay.Result, error) {
			if gitCommand(c) == "apply" {
				cancel()
			}
			return run(running, c)
		}
		changes := replay.RecordCommits(ctx, r.runner, r.dir, *greetingChanges(GinkgoTB()).Baseline)
		Expect(changes.Unavailable).To(Equal("the commits could not be read: replay: the work on the workspace was ended: context canceled"))
		Expect(filepath.Glob(r.path(".git/understudy-*"))).To(BeEmpty())
	})
})

var _ = Describe("A commit object that was recorded", func() {
	const signature = "gpgsig -----BEGIN\n \n abc\n -----END\n"
	// signed is a commit with a signature, as it was recorded, and a workspace with its baseline.
	signed := func() (*repo, *replay.Changes) {
		r := greetingRepo(GinkgoTB())
		r.write("a", "1")
		r.git("add", "a")
		r.commitRaw("tree {tree}\nparent {parent}\n" + people + signature + "x-mine yes\nx-lines 1\n 2\n\nSigned\n")
		c := r.recorded(greetingBase)
		return r.clone(greetingBase), &c
	}

	It("is written as it is where all is as it was", func() {
		r, c := signed()
		Expect(r.rebuildStrictly(c).warnings).To(BeEmpty())
		Expect(r.git("cat-file", "commit", "HEAD")).To(ContainSubstring(signature))
	})

	DescribeTable("loses its signature, which is told, and nothing else, on another",
		func(other func(r *repo)) {
			r, c := signed()
			other(r)
			parent := r.head()
			b := r.rebuild(c)
			Expect(b.err).NotTo(HaveOccurred())
			Expect(b.warnings).To(ConsistOf(`commit "` + c.Commits[0].OID + `" has lost its signature, which is not one of what the commit is here: its tree or its parent is another one`))
			Expect(r.git("cat-file", "commit", "HEAD")).To(Equal("tree " + r.git("rev-parse", "HEAD^{tree}") + "\nparent " + parent + "\n" + people +
				"x-mine yes\nx-lines 1\n 2\n\nSigned"))
		},
		Entry("parent", func(r *repo) { r.git("commit", "-q", "--amend", "-m", "Other") }),
		Entry("tree", func(r *repo) { r.commitFile("z", "") }),
	)

	It("is not needed, but it is told if the commit is then another one", func() {
		r, c := signed()
		c.Commits[0].Raw = nil
		b := r.rebuildStrictly(c)
		Expect(b.warnings).To(ConsistOf(HavePrefix(`commit "` + c.Commits[0].OID + `" was made as ` + b.made[0] + ", though")))
	})

	It("is made of its parts if it is none, which is told", func() {
		r, c := signed()
		c.Commits[0].Raw = []byte("tree x\n\n")
		b := r.rebuildStrictly(c)
		Expect(b.err).NotTo(HaveOccurred())
		Expect(b.warnings).To(ContainElement(`commit "` + c.Commits[0].OID + `" was made of its parts, since its object is none: it must have a tree, an author and a committer`))
		Expect(r.git("cat-file", "commit", "HEAD")).To(HaveSuffix(people + "\nSigned"))
	})

	DescribeTable("is not made of parts that no commit can have",
		func(who replay.Identity) {
			r, c := signed()
			c.Commits[0].Raw, c.Commits[0].Author = nil, who
			before := r.state()
			b := r.rebuildStrictly(c)
			Expect(b.err).To(And(ofCode(replay.Configuration), MatchError(ContainSubstring("its author"))))
			Expect(r.state()).To(Equal(before))
		},
		Entry("such as a name with a line break", replay.Identity{Name: "a\nparent b", Email: "a@b", Date: "1 +0000"}),
		Entry("an email with one", replay.Identity{Name: "a", Email: "a\nb", Date: "1 +0000"}),
		Entry("an email with a bracket", replay.Identity{Name: "a", Email: "a>b", Date: "1 +0000"}),
		Entry("and a date that is none", replay.Identity{Name: "a", Email: "a@b", Date: "now"}),
	)
})
