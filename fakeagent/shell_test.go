//go:build unix

package fakeagent_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// shellOf is what the only shell call of a run was about.
func shellOf(run timeline.Run) timeline.Shell {
	GinkgoHelper()
	Expect(run.Items()).To(HaveLen(1))
	return run.Items()[0].(timeline.ToolCall).Detail.(timeline.Shell)
}

var _ = Describe("Shell commands that really run", func() {
	var a *agent
	BeforeEach(func() { a = scripted() })

	It("run with /bin/sh in the agent's folder and report their real output and exit code", func() {
		Expect(os.WriteFile(filepath.Join(a.cwd, "f"), []byte("hello\n"), 0o644)).To(Succeed())
		run := a.play(script.BashRun("cat f && pwd -P"))
		cwd, err := filepath.EvalSymlinks(a.cwd)
		Expect(err).NotTo(HaveOccurred())
		Expect(shellOf(run)).To(Equal(timeline.Shell{
			Command: "cat f && pwd -P", Cwd: a.cwd, Output: "hello\n" + cwd + "\n", ExitCode: timeline.Exited(0)}))
	})
	It("report stdout and stderr as they came", func() {
		Expect(shellOf(a.play(script.BashRun("echo 1; echo 2 >&2; echo 3; echo 4 >&2"))).Output).To(Equal("1\n2\n3\n4\n"))
	})
	It("fail the tool call and not the turn when they exit with another code than 0", func() {
		run := a.play(script.BashRun("echo no; exit 3"))
		Expect(run).To(And(EndCompleted(), HaveItems(BeShellCall("echo no; exit 3", WithError("exit code 3")))))
		Expect(shellOf(run).ExitCode).To(Equal(timeline.Exited(3)))
	})
	It("have no exit code when a signal ends them", func() {
		run := a.play(script.BashRun("kill -TERM $$"))
		Expect(run).To(HaveItems(BeShellCall(Not(BeEmpty()), WithError("signal SIGTERM"))))
		Expect(shellOf(run).ExitCode).To(Equal(timeline.NoExitCode))
	})
	It("cannot be run in a folder that is gone", func() {
		Expect(os.Remove(a.cwd)).To(Succeed())
		Expect(a.play(script.BashRun("ls"))).To(And(EndCompleted(), HaveItems(BeShellCall("ls", WithError(HavePrefix("cannot run /bin/sh in "))))))
	})
	It("tell whoever runs them without an agent how they ended: by an exit code or by a signal", func() {
		in := fakeagent.SessionConfig{Cwd: a.cwd}
		Expect(fakeagent.OSShell{}.Run(context.Background(), in, "exit 3")).To(Equal(fakeagent.ShellResult{ExitCode: 3}))
		Expect(fakeagent.OSShell{}.Run(context.Background(), in, "kill -TERM $$")).To(Equal(fakeagent.ShellResult{Signal: "SIGTERM"}))
	})
	It("may make what is no file, which write and edit do not touch", func() {
		run := a.play(script.BashRun("mkfifo pipe"), script.Write("pipe", "x"), script.Edit("pipe", "x", "y"))
		Expect(run).To(And(EndCompleted(), HaveItems(BeShellCall("mkfifo pipe", WithStatus(timeline.Completed)),
			BeToolCall("Write", WithError("pipe is no regular file")), BeToolCall("Edit", WithError("pipe is no regular file")))))
	})
	It("are not attributed the files that they write", func() {
		Expect(a.play(script.BashRun("echo x > made"))).To(HaveItems(BeShellCall("echo x > made")))
		Expect(filepath.Join(a.cwd, "made")).To(BeAnExistingFile())
	})
	It("see the environment of their session, on top of the test's own", func() {
		cfg := fakeagent.Scripted()
		cfg.AllowShell = true
		env := map[string]string{"GREETING": "hi"}
		a := startWith(cfg, fakeagent.SessionConfig{ThreadID: "a", Cwd: a.cwd, Env: env})
		DeferCleanup(a.Close)
		env["GREETING"] = "changed later"
		GinkgoT().Setenv("INHERITED", "from the test")
		Expect(shellOf(a.play(script.BashRun(`echo "$GREETING $INHERITED"; test -n "$PATH"`)))).To(And(
			HaveField("Output", "hi from the test\n"), HaveField("ExitCode", timeline.Exited(0))))
	})
	It("read nothing from stdin", func() {
		Expect(shellOf(a.play(script.BashRun("cat; echo end"))).Output).To(Equal("end\n"))
	})
	It("have the head of their output kept, with a line that says how much was left out", func() {
		out := shellOf(a.play(script.BashRun("head -c 100000 /dev/zero | tr '\\0' x"))).Output
		Expect(out).To(HavePrefix(strings.Repeat("x", 64<<10)))
		Expect(out).To(HaveSuffix("x\n[34464 more bytes left out]\n"))
		Expect(shellOf(a.play(script.BashRun("head -c 65536 /dev/zero | tr '\\0' x"))).Output).To(Equal(strings.Repeat("x", 64<<10)), "which is all of it")
	})
	It("may print what is no text", func() {
		Expect(shellOf(a.play(script.BashRun(`printf 'a\377b'`))).Output).To(Equal("a\uFFFDb"))
	})

	It("leave no process behind, also none that they put into the background", func() {
		Expect(syscall.Mkfifo(filepath.Join(a.cwd, "pipe"), 0o600)).To(Succeed())
		pipe, err := os.OpenFile(filepath.Join(a.cwd, "pipe"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(pipe.Close)
		began := time.Now()
		run := a.play(script.BashRun("exec 3> pipe; sleep 60 & echo started"))
		Expect(shellOf(run).Output).To(Equal("started\n"))
		Expect(pipe.SetReadDeadline(time.Now().Add(10 * time.Second))).To(Succeed())
		_, err = pipe.Read(make([]byte, 1))
		Expect(err).To(MatchError(io.EOF), "whoever has the pipe is gone")
		Expect(time.Since(began)).To(BeNumerically("<", 30*time.Second))
	})
	It("are not waited for by what left their process group and still holds the output", func() {
		began := time.Now()
		run := a.play(script.BashRun("setsid sh -c 'echo $$ > pid; exec sleep 30' & while ! test -s pid; do sleep 0.01; done; echo out"))
		Expect(shellOf(run).Output).To(Equal("out\n"))
		Expect(time.Since(began)).To(BeNumerically("<", 20*time.Second))
		pid, err := os.ReadFile(filepath.Join(a.cwd, "pid"))
		Expect(err).NotTo(HaveOccurred())
		Expect(exec.Command("kill", strings.TrimSpace(string(pid))).Run()).To(Succeed())
	})
	It("need a folder", func() {
		cfg := fakeagent.Scripted()
		cfg.AllowShell = true
		a := start(cfg, "")
		DeferCleanup(a.Close)
		Expect(a.play(script.BashRun("pwd"))).To(HaveItems(
			BeShellCall("pwd", WithError("the agent has no workspace; start its session with a Cwd"))))
	})
	It("are killed with all that they started when the turn is interrupted", func() {
		id := a.send(script.New(script.BashRun("echo ready > ready; sleep 60 | sleep 60; echo never"), script.Say("never")).String())
		Eventually(filepath.Join(a.cwd, "ready")).WithTimeout(10 * time.Second).Should(BeAnExistingFile())
		Expect(a.InterruptTurn(context.Background(), a.id, "")).To(Succeed())
		run := a.wait(id)
		Expect(run).To(And(EndCanceled(), HaveItems(BeShellCall(ContainSubstring("sleep"), WithError("canceled")))))
		Expect(shellOf(run).ExitCode).To(Equal(timeline.NoExitCode))
	})

	Describe("where the host does not allow them", func() {
		BeforeEach(func() {
			a = start(fakeagent.Scripted(), GinkgoT().TempDir())
			DeferCleanup(a.Close)
		})
		It("fail the turn, say why and how to allow them, and are no tool call", func() {
			run := a.play(script.Say("before"), script.BashRun("touch x"), script.Say("after"))
			Expect(run).To(EndFailed("fake-agent refused to run this command: bash steps with run: true start real processes, " +
				"which this host does not allow; set AllowShell (on the command line: --allow-shell)"))
			Expect(run).To(HaveItems(BeAssistantMessage("before"), BeErrorItem(HavePrefix("fake-agent refused"))))
			Expect(filepath.Join(a.cwd, "x")).NotTo(BeAnExistingFile())
		})
		It("may still claim a result", func() {
			Expect(a.play(script.Bash("touch x", "", 0))).To(EndCompleted())
		})
	})

	It("have a process group of their own, whatever was done to them before they start", func() {
		cfg := fakeagent.Scripted()
		cfg.AllowShell = true
		attributes := &syscall.SysProcAttr{}
		cfg.Spawn = func(cmd *exec.Cmd) error { cmd.SysProcAttr = attributes; return nil }
		a := start(cfg, GinkgoT().TempDir())
		DeferCleanup(a.Close)
		id := a.send(script.New(script.BashRun("touch ready; sleep 60 | sleep 60")).String())
		Eventually(filepath.Join(a.cwd, "ready")).WithTimeout(10 * time.Second).Should(BeAnExistingFile())
		Expect(a.InterruptTurn(context.Background(), a.id, "")).To(Succeed())
		Expect(a.wait(id)).To(EndCanceled())
		Expect(attributes.Setpgid).To(BeTrue(), "what else was set stays")
	})
	It("can be looked at and refused before they start", func() {
		var seen []string
		cfg := fakeagent.Scripted()
		cfg.AllowShell = true
		cfg.Spawn = func(cmd *exec.Cmd) error {
			seen = append(seen, strings.Join(cmd.Args, " ")+" in "+cmd.Dir)
			return errors.New("not today")
		}
		a := start(cfg, GinkgoT().TempDir())
		DeferCleanup(a.Close)
		Expect(a.play(script.Bash("claimed", "", 0), script.BashRun("touch x"))).To(And(EndCompleted(), HaveItems(
			BeShellCall("claimed"), BeShellCall("touch x", WithError("not today")))))
		Expect(seen).To(Equal([]string{"/bin/sh -c touch x in " + a.cwd}), "a claimed command starts nothing")
		Expect(filepath.Join(a.cwd, "x")).NotTo(BeAnExistingFile())
	})

	Describe("a shell of one's own", func() {
		It("runs the commands, and needs no leave", func() {
			cfg := fakeagent.Scripted()
			cfg.Shell = shellFunc(func(_ context.Context, s fakeagent.SessionConfig, command string) (fakeagent.ShellResult, error) {
				return fakeagent.ShellResult{Output: command + " in " + s.Cwd, ExitCode: 2}, nil
			})
			a := start(cfg, a.cwd)
			DeferCleanup(a.Close)
			Expect(shellOf(a.play(script.BashRun("ls")))).To(Equal(timeline.Shell{
				Command: "ls", Cwd: a.cwd, Output: "ls in " + a.cwd, ExitCode: timeline.Exited(2)}))
		})
		It("runs them also where real ones are allowed", func() {
			cfg := fakeagent.Scripted()
			cfg.AllowShell = true
			cfg.Shell = shellFunc(func(context.Context, fakeagent.SessionConfig, string) (fakeagent.ShellResult, error) {
				return fakeagent.ShellResult{Output: "mine"}, nil
			})
			a := start(cfg, a.cwd)
			DeferCleanup(a.Close)
			Expect(shellOf(a.play(script.BashRun("echo real"))).Output).To(Equal("mine"))
		})
		It("has 60 seconds, whatever the speed", bubble.InBubble, func(ctx SpecContext) {
			cfg := fakeagent.Scripted()
			cfg.Instant = true
			cfg.Shell = shellFunc(func(ctx context.Context, _ fakeagent.SessionConfig, _ string) (fakeagent.ShellResult, error) {
				<-ctx.Done()
				return fakeagent.ShellResult{Output: "so far", Signal: "SIGKILL"}, nil
			})
			a := start(cfg, "")
			defer a.Close()
			began := time.Now()
			run := a.play(script.BashRun("sleep 100"), script.Say("on"))
			Expect(time.Since(began)).To(Equal(60 * time.Second))
			Expect(run).To(And(EndCompleted(), HaveItems(
				BeShellCall("sleep 100", WithError("timed out after 60s")), BeAssistantMessage("on"))))
		})
	})
})
