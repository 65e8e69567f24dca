package mockproc_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/mockproc"
)

// needsUnix skips a spec that has no place on Windows.
func needsUnix() {
	GinkgoHelper()
	if runtime.GOOS == "windows" {
		Skip("needs a Unix shell, or signals")
	}
}

// instant plays without waiting.
var instant = mockproc.WithAgent(fakeagent.Config{Instant: true})

// spawn starts an installed agent, as a client's process.
func spawn(s mockproc.Scenario, opts ...mockproc.Option) *client {
	GinkgoHelper()
	agent := mockproc.Install(GinkgoT(), "agent", s, append(opts, mockproc.NoPATH())...)
	return execute(exec.Command(agent.Path()))
}

func execute(cmd *exec.Cmd) *client {
	GinkgoHelper()
	child, err := mockproc.Exec(cmd)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		child.Kill(os.Kill)
		<-child.Exited()
	})
	return newClient(child)
}

func sh(command string) *client {
	GinkgoHelper()
	needsUnix()
	return execute(exec.Command("/bin/sh", "-c", command))
}

var _ = Describe("A real process", func() {
	It("is there from the start: three pipes, a PID, and no exit", func() {
		c := spawn(mockproc.Scripted())
		Expect(c.p.PID()).To(BeNumerically(">", 0))
		Expect(c.p.ExitCode()).To(Equal(-1))
		Expect(c.p.ExitSignal()).To(BeNil())
		Expect(c.p.Killed()).To(BeFalse())
		Expect(c.p.Exited()).NotTo(BeClosed())
		Expect(c.p).NotTo(gexec.Exit())
		text := c.p.(interface{ GomegaString() string }).GomegaString
		Expect(text()).To(Equal(fmt.Sprintf("process %d still runs", c.p.PID())))
		c.open()
		Expect(c.p.Stdin().Close()).To(Succeed())
		c.rest()
		Expect(c.last()).To(Equal("exit 0"))
		Expect(c.p).To(gexec.Exit(0))
		Expect(all(c.p.Stderr())).To(BeEmpty())
		Expect(text()).To(Equal(fmt.Sprintf("process %d exited with code 0", c.p.PID())))
	})
	It("has the code that it exits with, and its two outputs", func() {
		c := sh("echo out; echo err >&2; exit 3")
		<-c.p.Exited()
		Expect(all(c.p.Stdout())).To(Equal("out\n"), "also after the exit")
		Expect(all(c.p.Stderr())).To(Equal("err\n"))
		Expect(c.p.ExitCode()).To(Equal(3))
		Expect(c.p.ExitSignal()).To(BeNil())
		Expect(c.p.Kill(os.Kill)).To(BeFalse())
		Expect(c.p.Killed()).To(BeFalse())
	})
	It("reads what is written to its stdin, and has a broken one when it is dead", func() {
		c := sh("read line; echo got $line")
		c.say("this")
		Expect(c.read()).To(Equal("got this"))
		c.rest()
		Expect(c.write("that")).To(MatchError(syscall.EPIPE))
	})
	DescribeTable("that is killed has the code of a shell and the signal", func(s os.Signal, code int) {
		c := sh("echo ready; exec sleep 3600")
		c.until("ready")
		Expect(c.p.Kill(syscall.Signal(0))).To(BeTrue(), "which asks")
		Expect(c.p.Killed()).To(BeFalse())
		Expect(c.p.Kill(nil)).To(BeFalse())
		Expect(c.p.Kill(s)).To(BeTrue())
		Expect(c.p.Killed()).To(BeTrue())
		c.rest()
		Expect(c.p.ExitCode()).To(Equal(code))
		Expect(c.p.ExitSignal()).To(Equal(s))
		Expect(c.p.Kill(s)).To(BeFalse())
	},
		Entry("SIGKILL", os.Kill, 137),
		Entry("SIGTERM", syscall.SIGTERM, 143),
	)
	It("is known to be killed as soon as its exit is seen", func() {
		needsUnix()
		for range 50 {
			c := sh("exec sleep 3600")
			go c.p.Kill(os.Kill)
			<-c.p.Exited()
			Expect(c.p.Killed()).To(BeTrue())
		}
	})
	It("that says its last and exits in the same instant loses nothing of it, two hundred times", func() {
		last := parsed(`{"name":"last","afterTurn":"exit","turns":[{"steps":[{"say":"done"}]}]}`)
		agent := mockproc.Install(GinkgoT(), "agent", last, mockproc.NoPATH(), instant)
		// All lines at once, so that the host can begin to read whenever it likes.
		whole := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}
{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":` + quoted(os.TempDir()) + `,"mcpServers":[]}}
{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"mock_sess_900000","prompt":[{"type":"text","text":"go"}]}}
`
		once := func(after bool) error {
			child, err := mockproc.Exec(exec.Command(agent.Path()))
			if err != nil {
				return err
			}
			if _, err := io.WriteString(child.Stdin(), whole); err != nil {
				return err
			}
			if after {
				<-child.Exited()
			}
			out, err := io.ReadAll(child.Stdout())
			<-child.Exited()
			switch {
			case err != nil:
				return err
			case child.ExitCode() != 0:
				return fmt.Errorf("exit code %d", child.ExitCode())
			case !bytes.HasSuffix(out, []byte(`{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`+"\n")):
				return fmt.Errorf("the output ends with %q", out[max(0, len(out)-80):])
			}
			return nil
		}
		results := make(chan error, 200)
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				for i := range cap(results) / 4 {
					results <- once(i%2 == 0)
				}
			})
		}
		workers.Wait()
		close(results)
		for err := range results {
			Expect(err).NotTo(HaveOccurred())
		}
	})
	It("exits as its last turn says, also where the host closes its stdin as soon as it has the answer", func() {
		agent := mockproc.Install(GinkgoT(), "agent", named("rate_limit"), mockproc.NoPATH(), instant)
		for range 30 {
			c := execute(exec.Command(agent.Path())).open()
			c.answer(c.prompt("go"))
			_ = c.p.Stdin().Close()
			<-c.p.Exited()
			Expect(exitOf(c.p)).To(Equal("1"))
		}
	})
	It("is seen to exit although a process of its own still has its output", func() {
		c := sh("sleep 3600 & echo $!")
		grandchild, err := strconv.Atoi(c.read())
		Expect(err).NotTo(HaveOccurred())
		<-c.p.Exited()
		Expect(c.p.ExitCode()).To(Equal(0))
		p, err := os.FindProcess(grandchild)
		Expect(err).NotTo(HaveOccurred())
		Expect(p.Signal(syscall.Signal(0))).To(Succeed(), "it still runs")
		Expect(p.Kill()).To(Succeed())
		Expect(c.read()).To(Equal("EOF"))
	})
	It("ends with its command's context", func() {
		needsUnix()
		ctx, cancel := context.WithCancel(context.Background())
		c := execute(exec.CommandContext(ctx, "/bin/sh", "-c", "echo ready; exec sleep 3600"))
		c.until("ready")
		cancel()
		c.rest()
		Expect(c.p.ExitSignal()).To(Equal(os.Kill))
		Expect(c.p.ExitCode()).To(Equal(137))
		Expect(c.p.Killed()).To(BeFalse(), "by whoever started it")
	})
	It("has no pipes in the place of what its command has already", func() {
		needsUnix()
		var out, errs bytes.Buffer
		cmd := exec.Command("/bin/sh", "-c", "cat; echo err >&2")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("in"), &out, &errs
		child, err := mockproc.Exec(cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(child.Stdin()).To(BeNil())
		Expect(child.Stdout()).To(BeNil())
		Expect(child.Stderr()).To(BeNil())
		<-child.Exited()
		Expect(out.String()).To(Equal("in"))
		Expect(errs.String()).To(Equal("err\n"))
	})
	It("that there is no command for is an error, which leaves no pipes open", func() {
		before := openFiles()
		for range 50 {
			child, err := mockproc.Exec(exec.Command("no-such-agent"))
			Expect(err).To(MatchError(And(HavePrefix("mockproc: "), ContainSubstring("no-such-agent"))))
			Expect(err).To(MatchError(exec.ErrNotFound))
			Expect(child).To(BeNil())
		}
		Expect(openFiles()).To(BeNumerically("<", before+50), "where the garbage collector has not closed them")
	})
	It("whose SIGTERM is ignored goes on", func() {
		needsUnix()
		c := spawn(parsed(`{"name":"x","ignore":["SIGTERM"],"turns":[{"steps":[{"say":"still here"}]}]}`))
		c.open()
		Expect(c.p.Kill(syscall.SIGTERM)).To(BeTrue())
		Expect(c.p.Killed()).To(BeTrue())
		c.answer(c.prompt("go"))
		Expect(c.p.Stdin().Close()).To(Succeed())
		c.rest()
		Expect(c.last()).To(Equal("exit 0"))
	})
	It("whose end of stdin is ignored goes on until it is killed", func() {
		needsUnix()
		c := spawn(parsed(`{"name":"x","ignore":["EOF"],"turns":[{"steps":[{"say":"still here"}]}]}`))
		c.open()
		id := c.prompt("go")
		Expect(c.p.Stdin().Close()).To(Succeed())
		c.answer(id)
		Expect(c.p.Exited()).NotTo(BeClosed())
		Expect(c.p.Kill(syscall.SIGTERM)).To(BeTrue())
		c.rest()
		Expect(c.last()).To(Equal("exit 143 terminated"))
	})
	DescribeTable("that a signal or the end of its stdin ends says nothing any more of the turn that this interrupts", func(end func(mockproc.Process), exit string) {
		needsUnix()
		agent := mockproc.Install(GinkgoT(), "agent", mockproc.Turns(script.New(script.Say("before"), script.Sleep(time.Hour))), mockproc.NoPATH())
		for range 20 {
			c := execute(exec.Command(agent.Path()))
			c.open()
			c.prompt("go")
			c.until("before")
			end(c.p)
			c.rest()
			Expect(c.kinds(2)).To(Equal([]string{"agent_message_chunk", "EOF", "exit " + exit}))
		}
	},
		Entry("SIGTERM", func(p mockproc.Process) { p.Kill(syscall.SIGTERM) }, "143 terminated"),
		Entry("SIGINT", func(p mockproc.Process) { p.Kill(os.Interrupt) }, "130 interrupt"),
		Entry("SIGHUP", func(p mockproc.Process) { p.Kill(syscall.SIGHUP) }, "129 hangup"),
		Entry("SIGKILL", func(p mockproc.Process) { p.Kill(os.Kill) }, "137 killed"),
		Entry("the end of stdin", func(p mockproc.Process) { _ = p.Stdin().Close() }, "0"),
	)
	It("in the profile seed is killed by SIGTERM when its stdin ends", func() {
		needsUnix()
		c := spawn(named("seed/happy"))
		Expect(c.p.Stdin().Close()).To(Succeed())
		c.rest()
		Expect(c.last()).To(Equal("exit 143 terminated"), "a real process cannot have code 0 and a signal")
	})
	It("ends although nobody reads what it says", func() {
		needsUnix()
		c := spawn(mockproc.Turns(script.New(script.Say("first"), script.Say(strings.Repeat("x", 1<<20)))))
		c.open()
		c.prompt("go")
		c.until("first")
		Expect(c.p.Kill(syscall.SIGTERM)).To(BeTrue())
		<-c.p.Exited()
		Expect(exitOf(c.p)).To(Equal("143 terminated"))
	})
})

// openFiles is how many files this process has open, where the system can tell.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
