package fakeagent_test

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

var _ = Describe("Files", func() {
	var a *agent
	BeforeEach(func() { a = scripted() })

	path := func(name string) string { return filepath.Join(a.cwd, filepath.FromSlash(name)) }
	file := func(name, content string) {
		GinkgoHelper()
		Expect(os.MkdirAll(filepath.Dir(path(name)), 0o755)).To(Succeed())
		Expect(os.WriteFile(path(name), []byte(content), 0o644)).To(Succeed())
	}
	content := func(name string) string {
		GinkgoHelper()
		b, err := os.ReadFile(path(name))
		Expect(err).NotTo(HaveOccurred())
		return string(b)
	}
	link := func(target, name string) {
		GinkgoHelper()
		Expect(os.Symlink(target, path(name))).To(Succeed())
	}

	Describe("write", func() {
		It("writes a file below the agent's folder and makes the folders it needs", func() {
			Expect(a.play(script.Write("src/deep/a.ts", "x"))).To(HaveItems(BeToolCall("Write", WithStatus(timeline.Completed))))
			Expect(content("src/deep/a.ts")).To(Equal("x"))
		})
		It("gives what it makes the modes that any program would", func() {
			file("mine/f", "")
			a.play(script.Write("its/f", ""))
			for _, name := range []string{"/f", ""} {
				mine, err := os.Stat(path("mine" + name))
				Expect(err).NotTo(HaveOccurred())
				Expect(os.Stat(path("its" + name))).To(HaveField("Mode()", mine.Mode()))
			}
		})
		It("replaces what was there, and keeps the file's mode", func() {
			file("run.sh", "old content, longer")
			Expect(os.Chmod(path("run.sh"), 0o755)).To(Succeed())
			a.play(script.Write("run.sh", "new"))
			Expect(content("run.sh")).To(Equal("new"))
			Expect(os.Stat(path("run.sh"))).To(HaveField("Mode()", os.FileMode(0o755)))
		})
		It("takes an absolute path inside the folder", func() {
			a.play(script.Write(path("a.ts"), "x"))
			Expect(content("a.ts")).To(Equal("x"))
			run := a.play(script.Write(path(".")+"/none/../b.ts", "x"))
			Expect(run.Items()).To(HaveExactElements(HaveField("Detail.FilePath", path("b.ts"))), "however it is written")
			Expect(content("b.ts")).To(Equal("x"))
		})
		It("replaces a link itself, wherever it points", func() {
			outside := filepath.Join(GinkgoT().TempDir(), "secret")
			Expect(os.WriteFile(outside, []byte("untouched"), 0o644)).To(Succeed())
			link(outside, "l")
			Expect(a.play(script.Write("l", "mine"))).To(HaveItems(BeToolCall("Write", WithStatus(timeline.Completed))))
			Expect(content("l")).To(Equal("mine"))
			Expect(os.ReadFile(outside)).To(BeEquivalentTo("untouched"))
		})
		It("fails where a folder is in the way", func() {
			Expect(os.Mkdir(path("d"), 0o755)).To(Succeed())
			Expect(a.play(script.Write("d", "x"))).To(And(EndCompleted(), HaveItems(BeToolCall("Write", WithError("d: is a directory")))))
		})
		It("fails where a file is in the way of a folder", func() {
			file("f", "x")
			Expect(a.play(script.Write("f/g", "x"))).To(HaveItems(BeToolCall("Write", WithError("f: file exists"))))
		})
	})

	Describe("edit", func() {
		It("replaces the first place that holds the old text", func() {
			file("a", "one one")
			Expect(a.play(script.Edit("a", "one", "two"))).To(HaveItems(BeToolCall("Edit", WithStatus(timeline.Completed))))
			Expect(content("a")).To(Equal("two one"))
		})
		It("may ask for exactly one place", func() {
			file("a", "one one")
			Expect(a.play(script.EditStep{Path: "a", Old: "one", New: "two", Unique: true})).To(HaveItems(
				BeToolCall("Edit", WithError(`a contains "one" 2 times, and the edit wants it once`))))
			Expect(content("a")).To(Equal("one one"))
		})
		It("finds that place where there is one", func() {
			file("a", "one two")
			Expect(a.play(script.EditStep{Path: "a", Old: "one", New: "two", Unique: true})).To(HaveItems(BeToolCall("Edit", WithStatus(timeline.Completed))))
			Expect(content("a")).To(Equal("two two"))
		})
		It("fails where the text is not there, and leaves the file alone", func() {
			file("a", "one")
			Expect(a.play(script.Edit("a", "three", "x"))).To(And(EndCompleted(), HaveItems(BeToolCall("Edit", WithError(`a does not contain "three"`)))))
			Expect(content("a")).To(Equal("one"))
		})
		It("fails where there is no such file", func() {
			Expect(a.play(script.Edit("none", "a", "b"))).To(HaveItems(BeToolCall("Edit", WithError("none does not exist"))))
		})
		It("keeps the line ends of a file that has CRLF", func() {
			file("a", "one\r\ntwo\r\nthree\r\n")
			run := a.play(script.Edit("a", "one\ntwo\n", "1\n2\n"), script.Edit("a", "three", "3\n4"), script.Edit("a", "2\r\n3", "2\r\n3"))
			Expect(content("a")).To(Equal("1\r\n2\r\n3\r\n4\r\n"))
			Expect(run.Items()).To(HaveEach(BeToolCall("Edit", WithStatus(timeline.Completed))), "also for a script that has CRLF itself")
		})
		It("takes the line ends of a file that has both kinds as they are", func() {
			file("a", "one\r\ntwo\n")
			Expect(a.play(script.Edit("a", "two\n", "2\n"))).To(HaveItems(BeToolCall("Edit", WithStatus(timeline.Completed))))
			Expect(content("a")).To(Equal("one\r\n2\n"))
		})
		It("follows a link inside the folder", func() {
			file("real", "one")
			link("real", "l")
			a.play(script.Edit("l", "one", "two"))
			Expect(content("real")).To(Equal("two"))
			Expect(os.Readlink(path("l"))).To(Equal("real"))
		})
		It("fails at a link that leads out", func() {
			outside := filepath.Join(GinkgoT().TempDir(), "secret")
			Expect(os.WriteFile(outside, []byte("one"), 0o644)).To(Succeed())
			link(outside, "l")
			Expect(a.play(script.Edit("l", "one", "two"))).To(HaveItems(
				BeToolCall("Edit", WithError(`path "l" leaves the workspace by a link; use a path below cwd`))))
			Expect(os.ReadFile(outside)).To(BeEquivalentTo("one"))
		})
	})

	DescribeTable("a path that leaves the folder is a failed tool call, and the turn goes on",
		func(name, reason string) {
			outside := GinkgoT().TempDir()
			link(outside, "out")
			for _, step := range []script.Step{script.Write(name, "x"), script.Edit(name, "x", "y")} {
				Expect(a.play(step, script.Say("on"))).To(And(EndCompleted(), HaveItems(
					BeToolCall(Or(Equal("Write"), Equal("Edit")), WithError(reason)), BeAssistantMessage("on"))))
			}
			Expect(os.ReadDir(outside)).To(BeEmpty())
			Expect(filepath.Join(filepath.Dir(a.cwd), "x")).NotTo(BeAnExistingFile())
		},
		Entry("by ..", "../x", `path "../x" leaves the workspace; use a path below cwd`),
		Entry("by .. further inside", "a/../../x", `path "a/../../x" leaves the workspace; use a path below cwd`),
		Entry("by being absolute", "/etc/understudy", `path "/etc/understudy" leaves the workspace; use a path below cwd`),
		Entry("by a folder that is a link out", "out/x", `path "out/x" leaves the workspace by a link; use a path below cwd`),
		Entry("by a NUL byte", "a\x00b", `path "a\x00b" holds a NUL byte`),
		Entry("by naming the folder itself", ".", `path "." is the workspace itself; name a file below it`),
	)

	It("need a folder: an agent without one fails the call", func() {
		a := start(fakeagent.Scripted(), "")
		DeferCleanup(a.Close)
		Expect(a.play(script.Write("x", ""))).To(HaveItems(
			BeToolCall("Write", WithError(`path "x": the agent has no workspace; start its session with a Cwd`))))
	})

	DescribeTable("a session does not start in a folder that cannot be used",
		func(cwd func() string, want string) {
			err := a.StartSession(context.Background(), fakeagent.SessionConfig{ThreadID: "b", Cwd: cwd()})
			Expect(err).To(MatchError(MatchRegexp(want)))
			_, err = a.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: "b", Text: "x"})
			Expect(err).To(MatchError(fakeagent.ErrNoSession))
		},
		Entry("one that does not exist", func() string { return path("none") }, `^fakeagent: cwd ".*none" cannot be used \(no such file or directory\); create it first$`),
		Entry("a file", func() string { file("f", ""); return path("f") }, `^fakeagent: cwd ".*f" is a file; give a folder$`),
		Entry("a relative one", func() string { return "some/where" }, `^fakeagent: cwd "some/where" is relative; give an absolute path$`),
	)

	It("may be somebody else's: an implementation of Files gets the reads and writes", func() {
		files := memory{}
		cfg := fakeagent.Scripted()
		cfg.Files = files
		a := start(cfg, "/nowhere")
		DeferCleanup(a.Close)
		Expect(a.play(script.Write("a/b.ts", "one"), script.Edit("a/b.ts", "one", "two"))).To(EndCompleted())
		Expect(files).To(Equal(memory{"a/b.ts": "two"}))
	})
	It("give such an implementation a context that ends with the turn", func() {
		files := &contexts{memory: memory{}}
		cfg := fakeagent.Scripted()
		cfg.Files = files
		a := start(cfg, "/nowhere")
		DeferCleanup(a.Close)
		Expect(a.play(script.Write("x", ""))).To(EndCompleted())
		Eventually(files.last.Done()).Should(BeClosed())
	})
})

// contexts is a Files that keeps the context of the last write.
type contexts struct {
	memory
	last context.Context
}

func (c *contexts) WriteFile(ctx context.Context, s fakeagent.SessionConfig, path string, data []byte, follow bool) error {
	c.last = ctx
	return c.memory.WriteFile(ctx, s, path, data, follow)
}

// memory is a Files of its own.
type memory map[string]string

func (m memory) ReadFile(_ context.Context, _ fakeagent.SessionConfig, path string) ([]byte, error) {
	if s, ok := m[path]; ok {
		return []byte(s), nil
	}
	return nil, os.ErrNotExist
}

func (m memory) WriteFile(_ context.Context, _ fakeagent.SessionConfig, path string, data []byte, _ bool) error {
	m[path] = string(data)
	return nil
}
