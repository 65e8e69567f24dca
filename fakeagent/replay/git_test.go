package replay_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

var _ = Describe("Commands on this machine", func() {
	var dir string
	BeforeEach(func() {
		if runtime.GOOS == "windows" {
			Skip("Windows has no shell that these could be written for.")
		}
		dir = GinkgoT().TempDir()
	})
	sh := func(script string) replay.Command {
		return replay.Command{Dir: dir, Args: []string{"/bin/sh", "-c", script}}
	}
	run := func(c replay.Command) replay.Result {
		GinkgoHelper()
		r, err := replay.OSRunner{}.Run(context.Background(), c)
		Expect(err).NotTo(HaveOccurred())
		return r
	}

	It("run in their directory, read what they are given, and have all that they print, and how they ended", func() {
		c := sh("pwd; cat; printf 'oh\\000no' >&2; exit 3")
		c.Stdin = []byte("in\x00put")
		r := run(c)
		Expect(filepath.EvalSymlinks(strings.SplitN(string(r.Stdout), "\n", 2)[0])).To(Equal(must(filepath.EvalSymlinks(dir))))
		Expect(string(r.Stdout)).To(HaveSuffix("\nin\x00put"))
		Expect(string(r.Stderr)).To(Equal("oh\x00no"))
		Expect(r.ExitCode).To(Equal(3))
	})

	It("have more output than a pipe holds", func() {
		Expect(run(sh("head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2"))).To(And(HaveField("Stdout", HaveLen(300000)), HaveField("Stderr", HaveLen(200000))))
	})

	It("have this process's environment, without what is taken out of it, and with what is added", func() {
		for _, name := range []string{"UNDERSTUDY_KEPT", "UNDERSTUDY_OUT", "UNDERSTUDY_ALL_1", "UNDERSTUDY_ALL_2", "UNDERSTUDY_ALL"} {
			GinkgoT().Setenv(name, "old")
		}
		c := sh("env | grep ^UNDERSTUDY_ | sort")
		c.Unset = []string{"UNDERSTUDY_OUT", "UNDERSTUDY_ALL_*"}
		c.Env = map[string]string{"UNDERSTUDY_NEW": "new", "UNDERSTUDY_KEPT": "other", "UNDERSTUDY_ALL_2": "set"}
		Expect(string(run(c).Stdout)).To(Equal("UNDERSTUDY_ALL=old\nUNDERSTUDY_ALL_2=set\nUNDERSTUDY_KEPT=other\nUNDERSTUDY_NEW=new\n"))
	})

	// holders has a pipe, a function that waits until somebody has it open, and one that waits until nobody has.
	holders := func() (pipe string, taken, left func()) {
		pipe = filepath.Join(dir, "pipe")
		Expect(exec.Command("mkfifo", pipe).Run()).To(Succeed())
		opened, closed := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(closed)
			f, err := os.Open(pipe) // which waits
			close(opened)
			if err == nil {
				defer f.Close()
				_, _ = io.Copy(io.Discard, f)
			}
		}()
		return pipe, func() { <-opened }, func() { <-closed }
	}

	It("end when their context does, with all that they have started", func() {
		pipe, taken, left := holders()
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() {
			taken()
			cancel(errors.New("enough"))
		}()
		_, err := replay.OSRunner{}.Run(ctx, sh("sleep 600 > "+pipe+" & wait"))
		Expect(err).To(MatchError("/bin/sh was ended: enough"))
		left()
	})

	It("leave nothing behind when they are over", func() {
		pipe, _, left := holders()
		run(sh("exec 3> " + pipe + "; sleep 600 >&3 2>&3 &"))
		left()
	})

	DescribeTable("that cannot be run are an error",
		func(program, dir, message string) {
			_, err := replay.OSRunner{}.Run(context.Background(), replay.Command{Dir: dir, Args: []string{program}})
			Expect(err).To(MatchError(HavePrefix(message)))
		},
		Entry("if there is no such program", "understudy-no-such-program", "/", "there is no understudy-no-such-program in PATH; install it: "),
		Entry("if there is no such directory", "true", "/no/such/directory", `there is no folder "/no/such/directory" to run true in`),
	)
})

func must[V any](v V, err error) V {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return v
}

// hostile are settings that change what git does. Each is one that somebody has, or could have.
var hostile = []string{
	"core.hooksPath=hooks", "core.fsmonitor=hooks/fsmonitor", "core.quotePath=false", "core.safecrlf=true", "core.abbrev=4", "core.editor=false", "core.pager=false",
	"core.untrackedCache=true", "core.splitIndex=true", "core.ignoreStat=true", "core.trustctime=false", "core.checkStat=minimal",
	"apply.whitespace=error", "apply.ignoreWhitespace=change", "commit.gpgSign=true", "gpg.program=false", "i18n.commitEncoding=ISO-8859-1", "i18n.logOutputEncoding=ISO-8859-1",
	"log.showSignature=true", "log.decorate=full", "diff.external=false", "diff.noprefix=true", "diff.mnemonicPrefix=true", "diff.renames=copies", "diff.algorithm=patience",
	"diff.context=0", "diff.interHunkContext=9", "diff.orderFile=order", "diff.submodule=log", "diff.ignoreSubmodules=all", "diff.wsErrorHighlight=all",
	"diff.colorMoved=zebra", "diff.default.binary=false", "diff.srcPrefix=x/", "diff.relative=true", "color.ui=always", "color.diff=always", "color.status=always", "index.version=4",
	"status.relativePaths=false", "status.short=true", "status.branch=true", "status.showUntrackedFiles=all", "status.showStash=true", "alias.apply=!false", "alias.drop=!false",
	"user.useConfigOnly=true", "gc.auto=1", "maintenance.auto=true", "advice.detachedHead=false", "core.logAllRefUpdates=always", "trace2.normalTarget=2",
	"feature.manyFiles=true", "core.commentChar=;", "clean.requireForce=true", "submodule.recurse=true", "core.warnAmbiguousRefs=true",
}

var _ = Describe("Whatever the user has configured", func() {
	var r *repo
	BeforeEach(func() {
		r = greetingRepo(GinkgoTB())
		r.git("checkout", "-q", "-b", "HEAD2")
	})
	// plays makes the commits of the example, and records what was made.
	plays := func() {
		GinkgoHelper()
		b := r.rebuildStrictly(greetingChanges(GinkgoTB()))
		Expect(b.err).NotTo(HaveOccurred())
		Expect(b.made).To(Equal([]string{greetingOne, greetingEnd}))
		Expect(r.read("greet.txt")).To(Equal("good day\n"))
		Expect(r.read("bye.txt")).To(Equal("farewell\n"))
		want := greetingChanges(GinkgoTB())
		again := replay.RecordCommits(context.Background(), r.runner, r.dir, *want.Baseline)
		for i := range again.Commits {
			again.Commits[i].Raw = nil
		}
		Expect(&again).To(Equal(want))
	}

	DescribeTable("the same commits come of it, and the same journal", func(settings []string) {
		r.write(".git/order", "bye.txt\n")
		r.config(settings...)
		plays()
		Expect(r.git("status", "--porcelain", "--no-branch", "--no-show-stash")).To(BeEmpty())
	},
		Entry("in Git's defaults", nil),
		Entry("in Git for Windows, where line breaks are converted", []string{"core.autocrlf=true", "core.fileMode=false", "core.symlinks=false", "core.ignoreCase=true"}),
		Entry("with line breaks that are converted one way", []string{"core.autocrlf=input"}),
		Entry("with line breaks of Windows", []string{"core.eol=crlf", "core.autocrlf=false"}),
		Entry("all at once", hostile),
	)

	It("its hooks do not run", func() {
		for _, hook := range []string{"reference-transaction", "post-index-change", "fsmonitor", "post-checkout"} {
			name := r.path(".git/hooks/" + hook)
			r.write(".git/hooks/"+hook, "#!/bin/sh\necho "+hook+" >> "+r.path(".git/ran")+"\nexit 1\n")
			Expect(os.Chmod(name, 0o755)).To(Succeed())
		}
		r.config("core.hooksPath="+r.path(".git/hooks"), "core.fsmonitor="+r.path(".git/hooks/fsmonitor"))
		plays()
		Expect(r.read(".git/ran")).To(Equal("(none)"))
	})

	It("its attributes for all repositories do not make text of patches", func() {
		attributes := filepath.Join(GinkgoT().TempDir(), "attributes")
		Expect(os.WriteFile(attributes, []byte("* diff\n"), 0o666)).To(Succeed())
		r.config("core.attributesFile=" + attributes)
		plays()
	})

	It("its replacements of objects do not count", func() {
		r.git("replace", greetingBase, r.gitIn("Other", "commit-tree", r.git("mktree")))
		plays()
	})

	It("variables of git in the environment do not count either", func() {
		for name, value := range map[string]string{
			"GIT_DIR": "/nowhere", "GIT_WORK_TREE": "/nowhere", "GIT_INDEX_FILE": "/nowhere/index", "GIT_OBJECT_DIRECTORY": "/nowhere", "GIT_CONFIG_PARAMETERS": "'core.bare=true'",
			"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.bare", "GIT_CONFIG_VALUE_0": "true", "GIT_EXTERNAL_DIFF": "false", "GIT_NAMESPACE": "other", "GIT_DIFF_OPTS": "-u0",
			"GIT_AUTHOR_NAME": "Other", "GIT_COMMITTER_DATE": "@1 +0000", "GIT_TRACE": "1", "GIT_TRACE2": "1", "GIT_GLOB_PATHSPECS": "1", "GIT_PREFIX": "sub/", "GIT_DEFAULT_HASH": "sha256",
			"LANGUAGE": "de", "LC_ALL": "de_DE.UTF-8",
		} {
			GinkgoT().Setenv(name, value)
		}
		plays()
	})
})

var _ = Describe("The baseline of a workspace", func() {
	It("is its commit, and the tree of that", func() {
		r := greetingRepo(GinkgoTB())
		Expect(replay.Baseline(context.Background(), r.runner, r.dir)).To(Equal(*greetingChanges(GinkgoTB()).Baseline))
	})

	It("is found where the name of the directory has odd characters", func() {
		r := greetingRepo(GinkgoTB())
		odd := filepath.Join(filepath.Dir(r.dir), "a\nb \"ü\"\n")
		Expect(os.Rename(r.dir, odd)).To(Succeed())
		Expect(replay.Baseline(context.Background(), r.runner, odd)).To(Equal(*greetingChanges(GinkgoTB()).Baseline))
	})

	It("is found through a link to the workspace", func() {
		r := greetingRepo(GinkgoTB())
		link := filepath.Join(filepath.Dir(r.dir), "link")
		Expect(os.Symlink(r.dir, link)).To(Succeed())
		Expect(replay.Baseline(context.Background(), r.runner, link)).To(Equal(*greetingChanges(GinkgoTB()).Baseline))
	})

	It("is an error without a git, which says what to install", func() {
		r := greetingRepo(GinkgoTB())
		GinkgoT().Setenv("PATH", "")
		_, err := replay.Baseline(context.Background(), replay.OSRunner{}, r.dir)
		Expect(err).To(And(ofCode(replay.Process), MatchError(HavePrefix("replay: git rev-parse: there is no git in PATH; install it: "))))
	})
})
