package mockproc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/mockproc/pipe"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("A mock process", bubble.InBubble, func() {
	forever := mockproc.Turns(script.New(script.Sleep(24 * time.Hour)))

	It("is there from the start: three pipes, a PID, and no exit", func() {
		_, m := start(mockproc.Scenario{})
		var p mockproc.Process = m
		Expect(p.PID()).To(Equal(900_000))
		Expect(p.Killed()).To(BeFalse())
		Expect(p.ExitCode()).To(Equal(-1))
		Expect(p.ExitSignal()).To(BeNil())
		Expect(p.Exited()).NotTo(BeClosed())
		Expect(m.GomegaString()).To(Equal("process 900000 still runs"))
		m.Kill(os.Kill)
		Expect(m.GomegaString()).To(Equal("process 900000 was killed by SIGKILL"))
	})
	It("ends its outputs when it exits, and keeps what it has said", func() {
		c, m := start(named("happy"))
		c.open()
		c.prompt("go")
		<-m.Exited()
		Expect(time.Since(c.began)).To(Equal(4 * time.Second))
		Expect(all(m.Stderr())).To(BeEmpty())
		Expect(strings.Count(all(m.Stdout()), "\n")).To(Equal(17)) // what it has said since the handshake was read before
		Expect(m.ExitCode()).To(Equal(0))
		Expect(m.ExitSignal()).To(BeNil())
		Expect(m.Killed()).To(BeFalse())
	})

	Describe("that is killed", func() {
		DescribeTable("has the code of a shell and the signal", func(s os.Signal, code int) {
			c, m := start(forever)
			c.open()
			c.prompt("go")
			time.Sleep(time.Second)
			Expect(m.Kill(s)).To(BeTrue())
			Expect(m.Killed()).To(BeTrue())
			c.rest()
			Expect(time.Since(c.began)).To(Equal(time.Second), "at once")
			Expect(m.ExitCode()).To(Equal(code))
			Expect(m.ExitSignal()).To(Equal(s))
			Expect(c.kinds(2)).To(Equal([]string{"EOF", fmt.Sprintf("exit %d %s", code, s)}), "the prompt is never answered")
		},
			Entry("SIGKILL", os.Kill, 137),
			Entry("SIGTERM", syscall.SIGTERM, 143),
			Entry("SIGINT", os.Interrupt, 130),
			Entry("SIGHUP", syscall.SIGHUP, 129),
		)
		It("cannot be killed again, by whatever signal", func() {
			_, m := start(forever)
			Expect(m.Kill(os.Kill)).To(BeTrue())
			Expect(m.Kill(os.Kill)).To(BeFalse())
			Expect(m.Kill(syscall.SIGTERM)).To(BeFalse())
			Expect(m.Kill(syscall.Signal(0))).To(BeFalse())
			Expect(m.ExitSignal()).To(Equal(os.Kill))
		})
		It("is killed once, by however many at once", func() {
			for range 100 {
				_, m := start(forever)
				killed := make(chan bool, 10)
				for range cap(killed) {
					go func() { killed <- m.Kill(os.Kill) }()
				}
				hits := 0
				for range cap(killed) {
					if <-killed {
						hits++
					}
				}
				Expect(hits).To(Equal(1))
			}
		})
		It("is known to be killed as soon as its exit is seen", func() {
			for range 100 {
				_, m := start(forever)
				go m.Kill(os.Kill)
				<-m.Exited()
				Expect(m.Killed()).To(BeTrue())
				Expect(m.ExitCode()).To(Equal(137))
			}
		})
		It("is not killed by the signal 0, which asks, nor by none", func() {
			_, m := start(forever)
			Expect(m.Kill(syscall.Signal(0))).To(BeTrue())
			Expect(m.Kill(nil)).To(BeFalse())
			Expect(m.Killed()).To(BeFalse())
			Expect(m.Exited()).NotTo(BeClosed())
			m.Kill(os.Kill)
		})
		It("gives up a permission that it waits for", func() {
			c, m := start(mockproc.Turns(script.New(script.Ask(script.Approval{Title: "rm"}))))
			c.open()
			c.prompt("go")
			id, _ := c.permission()
			m.Kill(syscall.SIGTERM)
			c.rest()
			Expect(c.kinds(len(c.heard) - 2)).To(Equal([]string{"EOF", "exit 143 terminated"}))
			Expect(c.write(`{"jsonrpc":"2.0","id":%d,"result":{"outcome":{"outcome":"cancelled"}}}`, id)).To(MatchError(syscall.EPIPE))
			Expect(m.Violations()).To(BeEmpty(), "nobody need answer the dead")
		})
	})

	It("cannot be killed when it has exited by itself", func() {
		c, m := start(mockproc.Scenario{})
		Expect(m.Stdin().Close()).To(Succeed())
		c.rest()
		Expect(m.Kill(os.Kill)).To(BeFalse())
		Expect(m.Killed()).To(BeFalse())
		Expect(m.ExitCode()).To(Equal(0))
	})
	It("writes whole lines up to its end and nothing after it, whenever it is killed", func() {
		talk := mockproc.Turns(script.New(script.SayStep{Text: strings.Repeat("x", 400), Chunks: 400}))
		for after := range 200 {
			c, m := start(talk, mockproc.PipeSize(pipe.OSSize))
			c.open()
			c.prompt("go")
			for range after {
				c.read()
			}
			go m.Kill(os.Kill)
			for {
				line, err := c.stdout.ReadString('\n')
				if err != nil {
					Expect(err).To(Equal(io.EOF))
					break
				}
				Expect(line).To(HaveSuffix("\n"))
			}
			<-m.Exited()
			synctest.Wait()
			_, err := c.stdout.ReadByte()
			Expect(err).To(Equal(io.EOF))
		}
	})
	It("says nothing any more of a turn that its exit interrupts, even where its output stays open", func() {
		for range 100 {
			c, m := start(parsed(`{"name":"x","faults":["openAfterExit"],"turns":[{"steps":[{"sleep":1000}]}]}`))
			c.open()
			c.prompt("go")
			time.Sleep(time.Millisecond)
			m.Kill(os.Kill)
			synctest.Wait()
			Expect(pending(m)).To(BeEmpty())
		}
	})

	Describe("whose stdin ends", func() {
		It("exits with 0 at once, before anything was said", func() {
			c, m := start(mockproc.Scenario{})
			Expect(m.Stdin().Close()).To(Succeed())
			c.rest()
			Expect(c.times()).To(Equal([]string{"0 EOF", "0 exit 0"}))
		})
		It("exits with 0 at once in the middle of a turn, whose prompt it does not answer", func() {
			c, m := start(named("happy"))
			c.open()
			c.prompt("go")
			time.Sleep(time.Second)
			Expect(m.Stdin().Close()).To(Succeed())
			c.rest()
			Expect(c.times()[2:]).To(Equal([]string{"1100 agent_thought_chunk", "1100 plan", "1100 EOF", "1100 exit 0"}))
			Expect(m.Killed()).To(BeFalse())
		})
		It("exits with 0 at once while its first answers wait", func() {
			c, m := start(parsed(`{"name":"x","handshake":{"initializeMs":5000},"turns":[{"steps":[{"say":"hi"}]}]}`))
			c.ask("initialize", `{"protocolVersion":1}`)
			time.Sleep(time.Second)
			Expect(m.Stdin().Close()).To(Succeed())
			c.rest()
			Expect(c.times()).To(Equal([]string{"1000 EOF", "1000 exit 0"}))
		})
		It("takes the last line although that has no end", func() {
			c, m := start(mockproc.Scenario{})
			_, err := io.WriteString(m.Stdin(), `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
			Expect(err).NotTo(HaveOccurred())
			Expect(m.Stdin().Close()).To(Succeed())
			c.rest()
			Expect(c.times()).To(Equal([]string{"0 answer 0", "0 EOF", "0 exit 0"}))
		})
		It("goes on where it ignores that, until it is killed", func() {
			c, m := start(parsed(`{"name":"x","ignore":["EOF"],"turns":[{"steps":[{"sleep":1000},{"say":"still here"}]}]}`))
			c.open()
			id := c.prompt("go")
			Expect(m.Stdin().Close()).To(Succeed())
			c.answer(id)
			Expect(c.times()[2:]).To(Equal([]string{"1000 agent_message_chunk", "1000 end_turn"}))
			time.Sleep(time.Hour)
			Expect(m.Exited()).NotTo(BeClosed())
			Expect(m.Kill(syscall.SIGTERM)).To(BeTrue())
			c.rest()
			Expect(m.ExitCode()).To(Equal(143))
		})
	})

	It("goes on after SIGTERM where it ignores that, and knows that it was sent one", func() {
		c, m := start(mockproc.Scenario{Ignore: []string{"SIGTERM"}})
		c.open()
		c.prompt("go")
		Expect(m.Kill(syscall.SIGTERM)).To(BeTrue())
		Expect(m.Killed()).To(BeTrue())
		Expect(m.Kill(syscall.SIGTERM)).To(BeTrue())
		c.rest()
		Expect(c.times()).To(HaveLen(21))
		Expect(m.ExitCode()).To(Equal(0))
		Expect(m.Kill(syscall.SIGTERM)).To(BeFalse())

		_, stubborn := start(mockproc.Scenario{Ignore: []string{"SIGTERM"}})
		Expect(stubborn.Kill(os.Interrupt)).To(BeTrue(), "another signal ends it")
		Expect(stubborn.ExitCode()).To(Equal(130))
	})

	Describe("in the profile seed", func() {
		seed := parsedLater(`{"name":"x","profile":"seed","turns":[{"steps":[{"sleep":1000}]}]}`)

		It("has the code 0 and the signal when it is killed, as no real process has, but for SIGKILL", func() {
			_, m := start(seed())
			Expect(m.Kill(syscall.SIGTERM)).To(BeTrue())
			Expect(exitOf(m)).To(Equal("0 terminated"))
			_, m = start(seed())
			Expect(m.Kill(os.Kill)).To(BeTrue())
			Expect(exitOf(m)).To(Equal("137 killed"))
		})
		It("is as good as sent SIGTERM when its stdin ends", func() {
			c, m := start(seed())
			Expect(m.Stdin().Close()).To(Succeed())
			c.rest()
			Expect(exitOf(m)).To(Equal("0 terminated"))
			Expect(m.Killed()).To(BeFalse())
		})
		It("counts its own requests from 100", func() {
			c, m := start(named("seed/happy"))
			c.open()
			c.prompt("go")
			id, options := c.permission()
			Expect(id).To(Equal(100))
			Expect(options).To(Equal("allow-once allow-always reject-once"))
			m.Kill(os.Kill)
		})
	})

	Describe("whose output stays open after its exit", func() {
		It("is seen to exit, and its output ends with the test", func() {
			t := aTest()
			m := mockproc.Start(t, mockproc.Scenario{Faults: []mockproc.Fault{mockproc.OpenAfterExit}})
			c := newClient(m)
			c.open()
			id := c.prompt("go")
			c.answer(id)
			c.exit()
			Expect(m.ExitCode()).To(Equal(0))
			Expect(c.last()).To(Equal("exit 0"))
			synctest.Wait()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = io.Copy(io.Discard, c.stdout)
			}()
			time.Sleep(time.Hour)
			Expect(ended).NotTo(BeClosed())
			Expect(t.End()).To(BeEmpty())
			<-ended
		})
	})

	It("numbers its sessions after its PID", func() {
		c, m := start(mockproc.Scenario{})
		c.open()
		Expect(c.session).To(Equal("mock_sess_900000"))
		Expect(c.newSession(os.TempDir())).To(Equal("mock_sess_900000_2"))
		Expect(c.newSession(os.TempDir())).To(Equal("mock_sess_900000_3"))
		m.Kill(os.Kill)
	})
	It("gives every session the same id, where that is its fault", func() {
		c, m := start(mockproc.Scenario{Faults: []mockproc.Fault{mockproc.SameSessionID}})
		c.open()
		Expect(c.newSession(os.TempDir())).To(Equal("mock_sess_900000"))
		c.prompt("the new one plays")
		c.rest()
		Expect(m.ExitCode()).To(Equal(0))
	})
	It("tells of its commands before the client knows the session, where that is its fault", func() {
		c, m := start(mockproc.Scenario{Faults: []mockproc.Fault{mockproc.EarlyUpdate}})
		c.open()
		Expect(c.times()).To(Equal([]string{"0 answer 0", "100 available_commands_update", "100 answer 1"}))
		Expect(c.heard[1].line).To(ContainSubstring(`"sessionId":"mock_sess_900000"`))
		m.Kill(os.Kill)
	})
	It("has no session without a login, where that is its fault", func() {
		c, m := start(mockproc.Scenario{Faults: []mockproc.Fault{mockproc.AuthRequired}})
		c.initialize()
		id := c.ask("session/new", `{"cwd":`+quoted(os.TempDir())+`,"mcpServers":[]}`)
		Expect(c.answer(id)).To(ContainSubstring(`"code":-32000`))
		id = c.ask("authenticate", `{"methodId":"fake-sign-in"}`)
		Expect(c.answer(id)).To(ContainSubstring(`"result"`))
		Expect(c.newSession(os.TempDir())).NotTo(BeEmpty())
		m.Kill(os.Kill)
	})

	Describe("with pipes of a size", func() {
		// A hundred pieces of 4 KiB, a millisecond apart.
		long := mockproc.Turns(script.New(script.SayStep{Text: strings.Repeat("x", 400<<10), Chunks: 100, Interval: time.Millisecond}))

		It("waits for a host that does not read, and goes on when it does", func() {
			c, m := start(long, mockproc.PipeSize(pipe.OSSize))
			c.open()
			id := c.prompt("go")
			time.Sleep(time.Hour)
			c.answer(id)
			said := 0
			for _, message := range m.Transcript()[5:] {
				if message.Time.Sub(c.began) < time.Hour {
					said++
				}
			}
			Expect(said).To(Equal(16), "as many lines as fit into 64 KiB, and the one that does not")
			Expect(c.heard[len(c.heard)-1].at).To(Equal(time.Hour + 84*time.Millisecond))
			m.Kill(os.Kill)
		})
		It("waits for nobody by default", func() {
			c, m := start(long)
			c.open()
			id := c.prompt("go")
			time.Sleep(time.Hour)
			c.answer(id)
			transcript := m.Transcript()
			Expect(transcript[len(transcript)-1].Time.Sub(c.began)).To(Equal(99 * time.Millisecond))
			m.Kill(os.Kill)
		})
		It("can be killed while it waits, and leaves what fits", func() {
			c, m := start(long, mockproc.PipeSize(pipe.OSSize))
			c.open()
			c.prompt("go")
			time.Sleep(time.Hour)
			Expect(m.Kill(os.Kill)).To(BeTrue())
			<-m.Exited()
			Expect(all(c.stdout)).To(HaveLen(pipe.OSSize))
		})
		It("waits for whoever reads stderr as well", func() {
			c, m := start(mockproc.Turns(script.New(script.StderrStep{Text: "12345"}, script.Say("done"))), mockproc.PipeSize(1<<20))
			c.open()
			c.answer(c.prompt("go"))
			m.Kill(os.Kill)
			Expect(all(m.Stderr())).To(Equal("12345"))

			c, m = start(mockproc.Turns(script.New(script.StderrStep{Text: strings.Repeat("x", 1<<20)}, script.Say("done"))), mockproc.PipeSize(1<<19))
			c.open()
			id := c.prompt("go")
			time.Sleep(time.Hour)
			Expect(pending(m)).To(BeEmpty())
			read := make([]byte, 1<<20)
			_, err := io.ReadFull(m.Stderr(), read)
			Expect(err).NotTo(HaveOccurred())
			c.answer(id)
			m.Kill(os.Kill)
		})
	})

	It("has a broken stdin when it is dead, and a closed one when the host has closed it", func() {
		_, m := start(mockproc.Scenario{})
		m.Kill(os.Kill)
		_, err := io.WriteString(m.Stdin(), "hello\n")
		Expect(err).To(MatchError(syscall.EPIPE))
		Expect(m.Stdin().Close()).To(Succeed())
		_, err = io.WriteString(m.Stdin(), "hello\n")
		Expect(err).To(MatchError(os.ErrClosed))
	})

	Describe("that a script ends", func() {
		It("exits with its code, and does not answer the prompt", func() {
			c, m := start(mockproc.Turns(script.New(script.Say("bye"), script.ExitStep{Code: 7}, script.Say("never"))))
			c.open()
			c.prompt("go")
			c.rest()
			Expect(c.kinds(2)).To(Equal([]string{"agent_message_chunk", "EOF", "exit 7"}))
			Expect(m.Killed()).To(BeFalse())
		})
		It("is killed by its signal, which nobody has sent", func() {
			c, m := start(mockproc.Turns(script.New(script.ExitStep{Signal: "SIGSEGV"})))
			c.open()
			c.prompt("go")
			c.rest()
			Expect(m.ExitCode()).To(Equal(139))
			Expect(m.ExitSignal()).To(Equal(syscall.SIGSEGV))
			Expect(m.Killed()).To(BeFalse())
		})
		It("writes what is no line of the protocol, and to stderr, in their order", func() {
			c, m := start(mockproc.Turns(script.New(script.RawStep{Text: "warning: "}, script.StderrStep{Text: "one\n"}, script.RawStep{Text: "old node\n"}, script.ExitStep{})))
			c.open()
			c.prompt("go")
			c.rest()
			Expect(c.heard[2].line).To(Equal("warning: old node"))
			Expect(all(m.Stderr())).To(Equal("one\n"))
		})
	})

	Describe("after a turn", func() {
		const three = `{"name":"x","afterTurn":%q,"turns":[{"steps":[{"sleep":1000},%s]},{"steps":[{"say":"again"}]}]}`

		DescribeTable("exits, where that is said, with what became of it", func(step, becomes, exit string) {
			c, _ := start(parsed(fmt.Sprintf(three, "exit", step)))
			c.open()
			c.prompt("go")
			c.rest()
			Expect(c.times()[len(c.heard)-3:]).To(Equal([]string{"1000 " + becomes, "1000 EOF", "1000 exit " + exit}))
		},
			Entry("with 0 where it completed", `{"say":"done"}`, "end_turn", "0"),
			Entry("with 1 where it failed", `{"fail":"no"}`, "error -32603", "1"),
		)
		It("stays after one that was canceled: the client wants something else", func() {
			c, m := start(parsed(fmt.Sprintf(three, "exit", `{"say":"done"}`)))
			c.open()
			id := c.prompt("go")
			c.cancel()
			Expect(c.answer(id)).To(ContainSubstring("cancelled"))
			synctest.Wait()
			Expect(m.Exited()).NotTo(BeClosed())
			c.prompt("go on")
			c.rest()
			Expect(c.kinds(3)).To(Equal([]string{"agent_message_chunk", "end_turn", "EOF", "exit 0"}))
		})
		DescribeTable("stays, by default and where that is said", func(after, step, becomes string) {
			c, m := start(parsed(strings.Replace(fmt.Sprintf(three, after, step), `"afterTurn":"",`, "", 1)))
			c.open()
			id := c.prompt("go")
			c.answer(id)
			Expect(c.times()[len(c.heard)-1]).To(Equal("1000 " + becomes))
			Expect(c.answer(c.prompt("go"))).To(ContainSubstring("end_turn"))
			time.Sleep(time.Hour)
			Expect(m.Exited()).NotTo(BeClosed())
			m.Kill(os.Kill)
		},
			Entry("completed", "stay", `{"say":"done"}`, "end_turn"),
			Entry("failed", "stay", `{"fail":"no"}`, "error -32603"),
			Entry("completed, and nothing is said", "", `{"say":"done"}`, "end_turn"),
			Entry("failed, and nothing is said", "", `{"fail":"no"}`, "error -32603"),
		)
	})

	Describe("with a gate", func() {
		hold := mockproc.Turns(script.New(script.Say("before"), script.Hold("here"), script.Say("after")))

		It("is held there until the test lets it through, and the gate may be used before there is anything", func(ctx SpecContext) {
			c, m := start(hold)
			gate := m.Gate("mock_sess_900000", "here")
			held := make(chan error, 1)
			go func() { held <- gate.AwaitHeld(ctx) }()
			synctest.Wait()
			Expect(held).NotTo(Receive())
			c.open()
			id := c.prompt("go")
			Expect(<-held).To(Succeed())
			c.until("before")
			gate.Release()
			c.answer(id)
			Expect(c.kinds(2)).To(Equal([]string{"agent_message_chunk", "agent_message_chunk", "end_turn"}))
			m.Kill(os.Kill)
		})
		It("that was released before passes at once; without a session it is that of the first one", func(ctx SpecContext) {
			c, m := start(hold)
			m.Gate("", "here").Release()
			c.open()
			Expect(c.answer(c.prompt("go"))).To(ContainSubstring("end_turn"))
			c.prompt("again")
			Expect(m.Gate("", "here").AwaitHeld(ctx)).To(Succeed())
			m.Kill(os.Kill)
		})
		It("passes a hold that is open, unless the gate was closed before", func(ctx SpecContext) {
			c, m := start(mockproc.Turns(script.New(script.HoldStep{Name: "here", Open: true})))
			m.Gate("", "here").Close()
			c.open()
			id := c.prompt("go")
			Expect(m.Gate("", "here").AwaitHeld(ctx)).To(Succeed())
			m.Gate("", "here").Release()
			c.answer(id)
			m.Kill(os.Kill)
		})
		It("says why nothing is held there", func(ctx SpecContext) {
			c, m := start(hold)
			soon, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			Expect(m.Gate("", "here").AwaitHeld(soon)).To(MatchError(
				`mockproc: nothing is held at gate "here" (context deadline exceeded): the client has not called initialize`))
			c.open()
			later, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			Expect(m.Gate("", "here").AwaitHeld(later)).To(MatchError(And(ContainSubstring("no turn of it runs"), ContainSubstring(`gate "here"`))))

			gone := make(chan error, 1)
			go func() { gone <- m.Gate("", "there").AwaitHeld(ctx) }()
			synctest.Wait()
			m.Kill(os.Kill)
			const killed = `mockproc: nothing is held at gate "%s": process 900000 was killed by SIGKILL`
			Expect(<-gone).To(MatchError(fmt.Sprintf(killed, "there")))
			Expect(time.Since(c.began)).To(Equal(2*time.Second), "at once")
			Expect(m.Gate("", "here").AwaitHeld(ctx)).To(MatchError(fmt.Sprintf(killed, "here")))
			_, other := start(hold)
			other.Kill(os.Interrupt)
			Expect(other.Gate("", "here").AwaitHeld(ctx)).To(MatchError(HaveSuffix("was killed by SIGINT")), "one that never spoke")
		})
	})

	It("prints itself, what was said and what its agent does", func() {
		c, m := start(mockproc.Turns(script.New(script.Say("hello"), script.Hold("here"))))
		Expect(m.Dump()).To(Equal("process 900000 still runs (turns)\n"))
		c.open()
		c.prompt("go")
		c.until("hello")
		synctest.Wait()
		Expect(m.Dump()).To(And(
			HavePrefix("process 900000 still runs (turns)\n"),
			ContainSubstring(`"method":"initialize"`),
			ContainSubstring(`thread mock_sess_900000 is in step 2 {"hold":"here"}`),
			ContainSubstring(`assistant_message "hello"`),
		))
		m.Kill(os.Kill)
		Expect(m.Dump()).To(HavePrefix("process 900000 was killed by SIGKILL (turns)\n"))
	})
	It("keeps what host and agent said, and what the host wanted", func() {
		c, m := start(named("rate_limit"))
		c.open()
		c.prompt("go")
		c.rest()
		methods, params := m.HostRequests()
		Expect(methods).To(Equal([]string{"initialize", "session/new", "session/prompt"}))
		Expect(params[2]).To(MatchJSON(`{"sessionId":"mock_sess_900000","prompt":[{"type":"text","text":"go"}]}`))
		transcript := m.Transcript()
		Expect(transcript).To(HaveLen(7))
		Expect(transcript[6].End).To(BeTrue())
		Expect(transcript[6].Note).To(Equal("exited with code 1"))
	})
	It("plays no prompt twice at once, and the first one as if there had been no other", func() {
		c, m := start(named("happy"))
		c.open()
		first := c.prompt("one")
		second := c.prompt("two")
		Expect(c.answer(second)).To(ContainSubstring(fmt.Sprintf(`"code":%d`, -32600)))
		Expect(c.answer(first)).To(ContainSubstring("end_turn"))
		Expect(m.Violations()).To(ConsistOf(ContainSubstring("session/prompt to session mock_sess_900000, whose last prompt (id 2) is not answered yet")))
	})
	It("answers what it does not know, and ignores what no answer is due to", func() {
		c, m := start(mockproc.Scripted())
		c.say(`hello`)
		c.say(`[1]`)
		c.say(`{"jsonrpc":"2.0","id":77,"result":{}}`)
		c.say(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`)
		c.say(`{"jsonrpc":"2.0","method":"session/unheard"}`)
		c.open()
		Expect(c.answer(c.ask("session/unheard", `{}`))).To(ContainSubstring(`"code":-32601`))
		option := func(id, value string) string {
			return c.answer(c.ask("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%s}`, c.session, id, value)))
		}
		Expect(option("colour", `"red"`)).To(ContainSubstring(`"code":-32602`))
		Expect(option("mode", `"dance"`)).To(ContainSubstring(`"code":-32602`))
		Expect(option("mode", `"ask"`)).To(And(ContainSubstring(`"configOptions":[{"id":"mode"`), ContainSubstring(`"currentValue":"ask"`)))
		Expect(kindOf(c.read())).To(Equal("config_option_update"))
		m.Violations()
		m.Kill(os.Kill)
	})

	It("works with the matchers of gexec and gbytes", func() {
		c, m := start(named("happy"))
		Expect(m).NotTo(gexec.Exit())
		out := gbytes.BufferReader(m.Stdout())
		c.ask("initialize", `{"protocolVersion":1}`)
		Eventually(out).Should(gbytes.Say(`"protocolVersion":1`))
		c.ask("session/new", `{"cwd":`+quoted(os.TempDir())+`,"mcpServers":[]}`)
		Eventually(out).Should(gbytes.Say(`"sessionId":"mock_sess_\d+"`))
		c.session = "mock_sess_900000"
		c.prompt("go")
		Eventually(out).WithTimeout(time.Minute).Should(gbytes.Say("end_turn"))
		Eventually(m).Should(gexec.Exit(0))
	})
	It("is one of a thousand that play at once in one test", func() {
		t := aTest()
		var everybody sync.WaitGroup
		pids := make([]int, 1000)
		failed := make(chan error, len(pids))
		began := time.Now()
		for i := range pids {
			m := mockproc.Start(t, named("slow"))
			pids[i] = m.PID()
			everybody.Go(func() {
				if err := playOnce(m); err != nil {
					failed <- err
				}
			})
		}
		everybody.Wait()
		Expect(time.Since(began)).To(Equal(12 * time.Second))
		Expect(failed).NotTo(Receive())
		for i, pid := range pids {
			Expect(pid).To(Equal(900_000 + i))
		}
		Expect(t.End()).To(BeEmpty())
	})
	It("prints as a line, while it runs and afterwards", func() {
		c, m := start(named("happy"))
		c.open()
		for _, verb := range []string{"%v", "%s", "%#v"} {
			Expect(fmt.Sprintf(verb, m)).To(Equal("process 900000 still runs"))
		}
		Expect(m.Stdin().Close()).To(Succeed())
		c.rest()
		Expect(fmt.Sprint(m)).To(Equal("process 900000 exited with code 0"))
	})
	It("logs what was said at the end of a test that has failed for a reason of its own", func() {
		t := &loggingT{}
		m := mockproc.Start(t, mockproc.Scenario{})
		c := newClient(m)
		c.open()
		m.Kill(os.Kill)
		t.failed = true
		Expect(t.End()).To(BeEmpty())
		Expect(t.logged).To(ConsistOf(And(HavePrefix("mockproc: process 900000 was killed by SIGKILL (happy); what was said:\n"), ContainSubstring("session/new"))))

		t = &loggingT{}
		mockproc.Start(t, mockproc.Scenario{}).Kill(os.Kill)
		Expect(t.End()).To(BeEmpty())
		Expect(t.logged).To(BeEmpty(), "all went well")
	})
	It("does not start with a scenario or an agent that there cannot be", func() {
		fails := func(s mockproc.Scenario, opts ...mockproc.Option) any {
			t := &recorder.T{}
			defer t.End()
			var said any
			func() {
				defer func() { said = recover() }()
				mockproc.Start(t, s, opts...)
			}()
			return said
		}
		Expect(fails(mockproc.Scenario{Name: "x", Ignore: []string{"SIGKILL"}})).To(Equal(
			`mockproc: scenario x: ignore has "SIGKILL"; there are EOF, SIGTERM`))
		Expect(fails(mockproc.Scenario{}, mockproc.WithAgent(fakeagent.Config{Speed: -1}))).To(ContainSubstring("Speed is -1"))
		Expect(fails(mockproc.Scenario{}, mockproc.WithAgent(fakeagent.Config{Script: "nonsense", DoorSteps: []string{"say"}}))).To(BeNil(), "nobody looks at these")
	})
})

// parsedLater is for scenarios that several specs have.
func parsedLater(text string) func() mockproc.Scenario {
	return func() mockproc.Scenario {
		GinkgoHelper()
		return parsed(text)
	}
}

// pending is what can be read of stdout without waiting.
func pending(m *mockproc.Mock) string {
	GinkgoHelper()
	r := m.Stdout().(*pipe.Reader)
	Expect(r.SetReadDeadline(time.Now().Add(time.Nanosecond))).To(Succeed())
	defer func() { Expect(r.SetReadDeadline(time.Time{})).To(Succeed()) }()
	b, err := io.ReadAll(r)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		Expect(err).NotTo(HaveOccurred())
	}
	return string(b)
}

// playOnce is the least that a host does. It asserts nothing, so that it can run on any goroutine.
func playOnce(m *mockproc.Mock) error {
	out := bufio.NewReader(m.Stdout())
	session := fmt.Sprintf("mock_sess_%d", m.PID())
	for i, line := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":` + quoted(os.TempDir()) + `,"mcpServers":[]}}`,
		`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"` + session + `","prompt":[{"type":"text","text":"go"}]}}`,
	} {
		if _, err := io.WriteString(m.Stdin(), line+"\n"); err != nil {
			return err
		}
		for {
			said, err := out.ReadString('\n')
			if err != nil {
				return err
			}
			if strings.HasPrefix(said, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result"`, i)) {
				break
			}
		}
	}
	<-m.Exited()
	if m.ExitCode() != 0 {
		return fmt.Errorf("process %d exited with code %d", m.PID(), m.ExitCode())
	}
	return nil
}

// loggingT is a test that may have failed, and that logs.
type loggingT struct {
	recorder.T
	failed bool
	logged []string
}

func (t *loggingT) Failed() bool { return t.failed }
func (t *loggingT) Logf(format string, args ...any) {
	t.logged = append(t.logged, fmt.Sprintf(format, args...))
}
