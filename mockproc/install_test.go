package mockproc_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/mockproc"
)

var _ = Describe("An installed agent", func() {
	It("is found on PATH by its name, before any other, and not any more when the test is over", func() {
		before := os.Getenv("PATH")
		t := aTest()
		agent := mockproc.Install(t, "go", mockproc.Turns(script.New(script.Say("hello"))))
		Expect(filepath.IsAbs(agent.Path())).To(BeTrue())
		Expect(exec.LookPath("go")).To(Equal(agent.Path()))
		c := execute(exec.Command("go", "--acp", "--stdio", "-h"))
		c.open()
		c.answer(c.prompt("go"))
		Expect(c.kinds(2)).To(Equal([]string{"agent_message_chunk", "end_turn"}))
		Expect(c.p.Stdin().Close()).To(Succeed())
		c.rest()

		Expect(os.Getenv("PATH")).To(Equal(filepath.Dir(agent.Path()) + string(os.PathListSeparator) + before))
		Expect(t.End()).To(BeEmpty())
		Expect(os.Getenv("PATH")).To(Equal(before))
		Expect(filepath.Dir(agent.Path())).NotTo(BeADirectory())
	})
	It("leaves a PATH alone that others have, if it is told to", func() {
		before := os.Getenv("PATH")
		agent := mockproc.Install(aTest(), "my-agent", mockproc.Scenario{}, mockproc.NoPATH())
		Expect(os.Getenv("PATH")).To(Equal(before))
		Expect(agent.Path()).To(BeARegularFile())
		_, err := exec.LookPath("my-agent")
		Expect(err).To(MatchError(exec.ErrNotFound))
	})
	It("is the only thing on PATH where there was none", func() {
		GinkgoT().Setenv("PATH", "")
		t := aTest()
		agent := mockproc.Install(t, "my-agent", mockproc.Scenario{})
		Expect(os.Getenv("PATH")).To(Equal(filepath.Dir(agent.Path())))

		Expect(os.Unsetenv("PATH")).To(Succeed())
		other := aTest()
		mockproc.Install(other, "my-agent", mockproc.Scenario{})
		other.End()
		_, is := os.LookupEnv("PATH")
		Expect(is).To(BeFalse())
		t.End()
	})
	It("sets PATH as the test does, which knows whether it may", func() {
		t := &ownEnvironment{}
		agent := mockproc.Install(t, "my-agent", mockproc.Scenario{})
		defer t.End()
		Expect(t.set).To(ConsistOf(HavePrefix("PATH=" + filepath.Dir(agent.Path()))))
	})
	It("needs no environment, nor a place to be started from", func() {
		agent := mockproc.Install(GinkgoT(), "my-agent", mockproc.Turns(script.New(script.Say("hello"))), mockproc.NoPATH())
		cmd := exec.Command(agent.Path())
		cmd.Env = []string{}
		cmd.Dir = GinkgoT().TempDir()
		if runtime.GOOS == "windows" {
			cmd.Env = nil // where no process can do without
		}
		c := execute(cmd)
		c.open()
		Expect(c.answer(c.prompt("go"))).To(ContainSubstring("end_turn"))
		Expect(c.p.Stdin().Close()).To(Succeed())
		c.rest()
		Expect(c.last()).To(Equal("exit 0"))
	})
	It("stands beside others, and each plays its own", func() {
		play := func(name string) (*client, string) {
			c := execute(exec.Command(name))
			c.open()
			prompt := c.prompt("go")
			said := c.until("agent_message_chunk")
			c.answer(prompt)
			Expect(c.p.Stdin().Close()).To(Succeed())
			c.rest()
			return c, said
		}
		mockproc.Install(GinkgoT(), "one", mockproc.Turns(script.New(script.Say("I am one"))))
		mockproc.Install(GinkgoT(), "two", mockproc.Turns(script.New(script.Say("I am two"))), mockproc.WithAgent(fakeagent.Config{Seed: 7}))
		mockproc.Install(GinkgoT(), "three", mockproc.Turns(script.New(script.Say("I am three"))), mockproc.AboveMaxPID())
		c, said := play("one")
		Expect(said).To(ContainSubstring("I am one"))
		Expect(c.session).To(Equal("mock_sess_900000"))
		c, said = play("two")
		Expect(said).To(ContainSubstring("I am two"))
		Expect(c.session).To(Equal("mock_sess_907000"), "as the first mock of a test with that seed, whatever the real PID is")
		c, said = play("three")
		Expect(said).To(ContainSubstring("I am three"))
		Expect(c.session).To(Equal(fmt.Sprintf("mock_sess_%d", 900_000+1<<22)))
	})
	It("has the agent's speed, and its leave to run commands", func() {
		needsUnix()
		slow := mockproc.Turns(script.New(script.Sleep(1_000_000_000_000), script.BashRun("echo really")))
		c := spawn(slow, mockproc.WithAgent(fakeagent.Config{Speed: 1e9, AllowShell: true}))
		c.open()
		id := c.prompt("go")
		Expect(c.until("tool_call_update")).To(ContainSubstring("really"))
		c.answer(id)
		Expect(c.p.Stdin().Close()).To(Succeed())
		c.rest()
	})
	It("can be copied while children are started, and run at once", func() {
		needsUnix()
		dir := GinkgoT().TempDir()
		stop, started := make(chan struct{}), make(chan struct{})
		var forks sync.WaitGroup
		for range 4 {
			forks.Go(func() {
				for first := true; ; first = false {
					_ = exec.Command("/bin/true").Run()
					if first {
						started <- struct{}{}
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
			<-started
		}
		for i := range 200 {
			path := filepath.Join(dir, strconv.Itoa(i))
			Expect(mockproc.Clone("/bin/true", path)).To(Succeed())
			Expect(exec.Command(path).Run()).To(Succeed())
		}
		close(stop)
		forks.Wait()
		Expect(mockproc.Clone("/bin/true", filepath.Join(dir, "0"))).NotTo(Succeed(), "what is there already")
		Expect(mockproc.Clone(filepath.Join(dir, "none"), filepath.Join(dir, "x"))).NotTo(Succeed())
	})
	It("works as a copy, as on another file system", func() {
		agent := mockproc.Install(GinkgoT(), "my-agent", mockproc.Turns(script.New(script.Say("hello"))), mockproc.NoPATH())
		data, err := os.ReadFile(agent.Path() + mockproc.OrdersFile)
		Expect(err).NotTo(HaveOccurred())
		copied := filepath.Join(GinkgoT().TempDir(), filepath.Base(agent.Path()))
		Expect(mockproc.Clone(agent.Path(), copied)).To(Succeed())
		Expect(os.WriteFile(copied+mockproc.OrdersFile, data, 0o600)).To(Succeed())
		c := execute(exec.Command(copied))
		c.open()
		Expect(c.answer(c.prompt("go"))).To(ContainSubstring("end_turn"))
		Expect(c.p.Stdin().Close()).To(Succeed())
		c.rest()
	})
	It("lies on another file system, where the temporary folder does", func() {
		const memory = "/dev/shm"
		if dir, err := os.MkdirTemp(memory, "understudy-spec-"); err != nil {
			Skip("needs " + memory)
		} else {
			DeferCleanup(os.RemoveAll, dir)
			GinkgoT().Setenv("TMPDIR", dir)
		}
		agent := mockproc.Install(GinkgoT(), "my-agent", mockproc.Scripted(), mockproc.NoPATH())
		Expect(agent.Path()).To(HavePrefix(memory))
		child, err := mockproc.Exec(exec.Command(agent.Path()))
		if os.IsPermission(err) {
			Skip("nothing can be run in " + memory)
		}
		Expect(err).NotTo(HaveOccurred())
		Expect(child.Stdin().Close()).To(Succeed())
		<-child.Exited()
		Expect(child.ExitCode()).To(Equal(0))
	})

	DescribeTable("that there cannot be fails the test", func(name string, s mockproc.Scenario, reason string, opts ...mockproc.Option) {
		before := os.Getenv("PATH")
		t := &recorder.T{}
		defer t.End()
		Expect(func() { mockproc.Install(t, name, s, opts...) }).To(PanicWith("mockproc: Install " + name + ": " + reason))
		Expect(os.Getenv("PATH")).To(Equal(before))
	},
		Entry("with a folder in its name", "bin/x", mockproc.Scenario{}, "the name must be that of a file, without a folder"),
		Entry("without a name", "", mockproc.Scenario{}, "the name must be that of a file, without a folder"),
		Entry("with the name of a folder", "..", mockproc.Scenario{}, "the name must be that of a file, without a folder"),
		Entry("with a scenario that is wrong", "x", mockproc.Scenario{Name: "x", AfterTurn: "rest"},
			`mockproc: scenario x: afterTurn has "rest"; there are stay, exit`),
		Entry("with a fault of mocks", "x", mockproc.Scenario{Faults: []mockproc.Fault{mockproc.OpenAfterExit}},
			"mockproc: scenario happy: the fault openAfterExit is for mocks; the output of a real process ends with it"),
		Entry("with the pipes of a mock", "x", mockproc.Scenario{}, "PipeSize is for mocks; the pipes of another process are those of the system", mockproc.PipeSize(1)),
		Entry("with a speed that is none", "x", mockproc.Scenario{}, "fakeagent: Speed is -1; use a number above 0, or Instant for no waiting",
			mockproc.WithAgent(fakeagent.Config{Speed: -1})),
		Entry("with Files", "x", mockproc.Scenario{}, foreign, mockproc.WithAgent(fakeagent.Config{Files: fakeagent.OSFiles{}})),
		Entry("with a Shell", "x", mockproc.Scenario{}, foreign, mockproc.WithAgent(fakeagent.Config{Shell: fakeagent.OSShell{}})),
		Entry("with Spawn", "x", mockproc.Scenario{}, foreign, mockproc.WithAgent(fakeagent.Config{Spawn: func(*exec.Cmd) error { return nil }})),
		Entry("with Perform", "x", mockproc.Scenario{}, foreign, mockproc.WithAgent(fakeagent.Config{Perform: func(context.Context, *fakeagent.Performance) error { return nil }})),
		Entry("with a Logger", "x", mockproc.Scenario{}, foreign, mockproc.WithAgent(fakeagent.Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})),
	)
	It("does not change the PATH of a test that runs in parallel to others", func() {
		t := &parallelT{}
		DeferCleanup(func() { t.End() })
		Expect(func() { mockproc.Install(t, "my-agent", mockproc.Scenario{}) }).To(PanicWith(
			"mockproc: Install my-agent: a test that runs in parallel cannot change PATH; give NoPATH, and Installed.Path to who starts it"))
		Expect(mockproc.Install(t, "my-agent", mockproc.Scenario{}, mockproc.NoPATH()).Path()).To(BeAnExistingFile())
	})
	It("says on its stderr what it cannot do, and exits with 2", func() {
		agent := mockproc.Install(GinkgoT(), "my-agent", mockproc.Scenario{}, mockproc.NoPATH())
		orders := agent.Path() + mockproc.OrdersFile
		Expect(os.WriteFile(orders, []byte(`{"Scenario":{"name":"x","faults":["none"]}}`), 0o600)).To(Succeed())
		c := execute(exec.Command(agent.Path()))
		c.rest()
		Expect(c.last()).To(Equal("exit 2"))
		Expect(all(c.p.Stderr())).To(Equal("mockproc: " + orders + `: faults has "none"; there are authRequired, earlyUpdate, openAfterExit, sameSessionId` + "\n"))

		Expect(os.WriteFile(orders, []byte(`{"Scenario":{"name":"x","faults":["openAfterExit"],"turns":[{"steps":[{"say":"hi"}]}]}}`), 0o600)).To(Succeed())
		c = execute(exec.Command(agent.Path()))
		c.rest()
		Expect(c.last()).To(Equal("exit 2"))
		Expect(all(c.p.Stderr())).To(Equal("mockproc: scenario x: the fault openAfterExit is for mocks; the output of a real process ends with it\n"))
		Expect(os.WriteFile(orders, []byte(`{"Scenario":{"name":"x"},"Speed":-1}`), 0o600)).To(Succeed())
		c = execute(exec.Command(agent.Path()))
		c.rest()
		Expect(c.last()).To(Equal("exit 2"))
		Expect(all(c.p.Stderr())).To(HavePrefix("fakeagent: Speed is -1"))
	})

	DescribeTable("that is killed takes the command with it that it runs", func(s os.Signal) {
		needsUnix()
		dir := GinkgoT().TempDir()
		fifo := filepath.Join(dir, "pid")
		if err := exec.Command("mkfifo", fifo).Run(); err != nil {
			Skip("needs mkfifo")
		}
		c := spawn(mockproc.Turns(script.New(script.BashRun("echo $$ >pid; exec sleep 3600"))), mockproc.WithAgent(fakeagent.Config{AllowShell: true}))
		c.initialize()
		c.newSession(dir)
		c.prompt("go")
		text, err := os.ReadFile(fifo) // waits for it to be written
		Expect(err).NotTo(HaveOccurred())
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		Expect(err).NotTo(HaveOccurred())
		Expect(mockproc.IsProcessAlive(pid)).To(BeTrue())
		if s == nil {
			Expect(c.p.Stdin().Close()).To(Succeed())
		} else {
			Expect(c.p.Kill(s)).To(BeTrue())
		}
		c.rest()
		Expect(mockproc.IsProcessAlive(pid)).To(BeFalse())
	},
		Entry("by SIGTERM", syscall.SIGTERM),
		Entry("by an interrupt", os.Interrupt),
		Entry("by the end of its stdin", nil),
	)
	DescribeTable("that its script kills is seen to be killed", func(name string, s syscall.Signal) {
		needsUnix()
		c := spawn(parsed(fmt.Sprintf(`{"name":"x","ignore":["SIGTERM"],"turns":[{"steps":[{"say":"bye"},{"exit":{"signal":%q}}]}]}`, name)))
		c.open()
		c.prompt("go")
		c.rest()
		Expect(c.kinds(2)).To(Equal([]string{"agent_message_chunk", "EOF", fmt.Sprintf("exit %d %v", 128+int(s), s)}))
		Expect(c.p.Killed()).To(BeFalse())
		Expect(all(c.p.Stderr())).To(BeEmpty())
	},
		Entry(nil, "SIGABRT", syscall.SIGABRT), Entry(nil, "SIGHUP", syscall.SIGHUP), Entry(nil, "SIGINT", syscall.SIGINT), Entry(nil, "SIGKILL", syscall.SIGKILL),
		Entry(nil, "SIGPIPE", syscall.SIGPIPE), Entry(nil, "SIGQUIT", syscall.SIGQUIT), Entry(nil, "SIGSEGV", syscall.SIGSEGV), Entry(nil, "SIGTERM", syscall.SIGTERM),
	)
	It("that its script ends has its code, and has written all that comes before", func() {
		c := spawn(mockproc.Turns(script.New(script.StderrStep{Text: "oh no\n"}, script.RawStep{Text: "panic!"}, script.ExitStep{Code: 7})))
		c.open()
		c.prompt("go")
		<-c.p.Exited()
		Expect(all(c.stdout)).To(Equal("panic!"))
		Expect(all(c.p.Stderr())).To(Equal("oh no\n"))
		Expect(exitOf(c.p)).To(Equal("7"))
	})
	It("has its permissions and its gates like any other", func() {
		c := spawn(mockproc.Turns(script.New(script.Ask(script.Approval{Title: "rm", Allow: []script.Step{script.Say("removed")}}))))
		c.open()
		prompt := c.prompt("go")
		id, _ := c.permission()
		c.allow(id, "allow-once")
		c.until("removed")
		c.answer(prompt)
		Expect(c.p.Stdin().Close()).To(Succeed())
		c.rest()
	})
})

const foreign = "an agent in another process cannot have the Files, Shell, MCP, Spawn, Logger or Perform of this one"

// ownEnvironment is a test that sets variables by itself.
type ownEnvironment struct {
	recorder.T
	set []string
}

func (t *ownEnvironment) Setenv(key, value string) { t.set = append(t.set, key+"="+value) }

// parallelT is a test that runs in parallel to others.
type parallelT struct{ recorder.T }

func (*parallelT) Setenv(string, string) { panic("testing: t.Setenv called after t.Parallel") }
