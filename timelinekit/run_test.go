package timelinekit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("Running turns", func() {
	var host *timelinekit.Host
	BeforeEach(func() { host = timelinekit.NewHost(GinkgoT()) })

	It("plays a script on a new agent and waits for its end", func(ctx SpecContext) {
		run := host.RunFakeAgentTurn(ctx, script.New(script.Write("notes.md", "hi"), script.Say("done")))
		Expect(run).To(And(EndCompleted(), HaveItems(BeToolCall("Write"), BeAssistantMessage("done"))))
		Expect(run).To(And(HaveField("AgentID", "agent-1"), HaveField("Status", timeline.AgentIdle)))
	})
	It("sends the next turn to an agent that is known", func(ctx SpecContext) {
		run := host.RunFakeAgentTurn(ctx, script.New(script.Write("todo.md", "- one\n")))
		run = host.SendFakeAgentTurn(ctx, run.AgentID, script.New(script.Edit("todo.md", "one", "one, done"), script.BashRun("cat todo.md")))
		Expect(run).To(HaveItems(BeToolCall("Edit"), BeShellCall("cat todo.md", WithStatus(timeline.Completed))))
		Expect(host.AgentTimeline(run.AgentID).Len()).To(Equal(5), "two user messages and three tool calls")
	})
	It("makes the script as JSON the prompt, and so the user's message", func(ctx SpecContext) {
		run := host.RunFakeAgentTurn(ctx, script.New(script.Say("<hi>")))
		Expect(run.Timeline).To(HaveItems(BeUserMessage(`{"steps":[{"say":"<hi>"}]}`), BeAssistantMessage("<hi>")))
	})
	It("takes any other prompt too", func(ctx SpecContext) {
		run := host.RunPrompt(ctx, "hello")
		Expect(run).To(HaveItems(BeAssistantMessage("fake-agent received: hello")))
		Expect(host.SendPrompt(ctx, run.AgentID, "again")).To(HaveItems(BeAssistantMessage("fake-agent received: again")))
	})

	It("shows the turns of a conversation that a file in the agent's folder scripts", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		Expect(os.WriteFile(filepath.Join(dir, ".fake-agent.json"), []byte(`{
			"turns": [
				{ "steps": [{ "write": { "path": "todo.md", "content": "- one\n" } }, { "say": "wrote todo.md" }] },
				{ "steps": [{ "edit": { "path": "todo.md", "old": "one", "new": "one, done" } }, { "say": "updated todo.md" }] }
			]
		}`), 0o644)).To(Succeed())
		id := host.RunPrompt(ctx, "start the todo list", timelinekit.Cwd(dir)).AgentID
		host.SendPrompt(ctx, id, "and again")
		run := host.SendPrompt(ctx, id, "once more")
		var log []string
		for _, it := range host.AgentTimeline(id).All() {
			log = append(log, strings.ReplaceAll(timeline.LogLine(it), dir, "DIR"))
		}
		Expect(log).To(Equal([]string{
			"[User] start the todo list", "[Write] DIR/todo.md", "wrote todo.md",
			"[User] and again", "[Edit] DIR/todo.md", "updated todo.md",
			"[User] once more", "[Edit] DIR/todo.md", "updated todo.md",
		}))
		Expect(run).To(ContainItems(BeToolCall("Edit", WithStatus(timeline.Completed))), "the text is still there, a second time")
		Expect(os.ReadFile(filepath.Join(dir, "todo.md"))).To(BeEquivalentTo("- one, done, done\n"))
	})

	Describe("a turn that fails", func() {
		It("has an error item, and behind it the host's own words; the agent's status is error, and its next turn works", func(ctx SpecContext) {
			run := host.RunFakeAgentTurn(ctx, script.New(script.Say("starting"), script.Fail("tests failed")))
			Expect(run).To(And(EndFailed("tests failed"), HaveItems(
				BeAssistantMessage("starting"), BeErrorItem("tests failed"), BeAssistantMessage("[System Error] tests failed"))))
			Expect(run.Status).To(Equal(timeline.AgentError))
			run = host.SendFakeAgentTurn(ctx, run.AgentID, script.New(script.Say("fine")))
			Expect(run).To(And(EndCompleted(), HaveField("Status", timeline.AgentIdle)))
		})
		It("has the time of its end on the host's own words", func(ctx SpecContext) {
			rows := host.AgentRows(host.RunFakeAgentTurn(ctx, script.New(script.Fail("no"))).AgentID)
			Expect(rows).To(HaveLen(3))
			Expect(rows[2].Time).To(And(Equal(rows[1].Time), BeTemporally("~", time.Now(), time.Minute)))
		})
		It("is one whose prompt carries a script that does not parse", func(ctx SpecContext) {
			run := host.RunPrompt(ctx, `[{"sey":"x"}]`)
			message := `fake-agent: invalid script: step 1: unknown key "sey", did you mean "say"?`
			Expect(run).To(And(EndFailed(message), HaveItems(BeErrorItem(message), BeAssistantMessage("[System Error] "+message))))
		})
	})

	Describe("without waiting", func() {
		It("lets the test look at an agent in the middle of its turn", func(ctx SpecContext) {
			turn := host.StartFakeAgentTurn(ctx, script.New(script.Say("before"), script.Hold("here"), script.Say("after")))
			Expect(turn.Gate("here").AwaitHeld(ctx)).To(Succeed())
			Expect(host.AgentTimeline(turn.AgentID)).To(ContainItems(BeAssistantMessage("before")))
			Expect(host.Agent(turn.AgentID)).To(HaveField("Status", timeline.AgentRunning))
			turn.Gate("here").Release()
			Expect(turn.Wait(ctx)).To(And(EndCompleted(), ContainItems(BeAssistantMessage("after"))))
		})
		It("gives the run to everyone who waits, also after the end", func(ctx SpecContext) {
			turn := host.StartPrompt(ctx, "hello")
			first := turn.Wait(ctx)
			again, err := turn.Await(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(again).To(Equal(first))
			over, cancel := context.WithCancel(ctx)
			cancel()
			Expect(turn.Await(over)).To(Equal(first), "a turn that is over needs no waiting")
		})
		It("can stand behind a context in Eventually, while it runs: what prints its fields for that gets none to see", func(ctx SpecContext) {
			host := timelinekit.NewHost(GinkgoT())
			turn := host.StartFakeAgentTurn(ctx, script.New(script.SayStep{Text: "ten pieces", Chunks: 10, Interval: time.Millisecond}))
			Eventually(ctx, turn).Should(EndCompleted())
			Expect([]string{fmt.Sprintf("%#v", turn), fmt.Sprintf("%#v", host)}).To(Equal([]string{"turn " + turn.TurnID, "the host"}))
		})
		It("prints as what it is doing, and after its end as its run", func(ctx SpecContext) {
			turn := host.StartFakeAgentTurn(ctx, script.New(script.Hold("here")))
			Expect(turn.Gate("here").AwaitHeld(ctx)).To(Succeed())
			Expect(turn.String()).To(HavePrefix("turn agent-1-turn-1 has not ended; call Wait first:\nagent agent-1 is running, in step 1 {\"hold\":\"here\"}\n"))
			turn.Gate("here").Release()
			Expect(turn.String()).To(Or(HavePrefix("turn agent-1-turn-1 has"), Equal(turn.Wait(ctx).String())))
			Expect(turn.GomegaString()).To(Equal(turn.Wait(ctx).String()))
		})
		It("has a twin for every other goroutine, which returns an error instead of failing the test", func(ctx SpecContext) {
			id, err := host.CreateAgent(ctx)
			Expect(err).NotTo(HaveOccurred())
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for i := range 5 {
						if turn, err := host.SendTurn(ctx, id, fmt.Sprint(i)); err == nil {
							_, _ = turn.Await(ctx)
						} else if !errors.Is(err, fakeagent.ErrBusy) {
							panic(err)
						}
					}
				})
			}
			all.Wait()
		})
		It("refuses a second prompt while a turn runs", func(ctx SpecContext) {
			turn := host.StartFakeAgentTurn(ctx, script.New(script.Hold("g")))
			_, err := host.SendTurn(ctx, turn.AgentID, "second")
			Expect(err).To(And(MatchError(fakeagent.ErrBusy), MatchError("timelinekit: agent agent-1 already has an active turn")))
			turn.Gate("g").Release()
			Expect(turn.Wait(ctx)).To(EndCompleted())
		})
		It("sends nothing once the caller's context has ended, but a turn outlives the context that it was sent with", func(ctx SpecContext) {
			call, cancel := context.WithCancel(ctx)
			turn := host.StartFakeAgentTurn(call, script.New(script.Hold("g")))
			cancel()
			_, err := host.SendTurn(call, turn.AgentID, "x")
			Expect(err).To(MatchError(context.Canceled))
			Expect(turn.Gate("g").AwaitHeld(ctx)).To(Succeed())
			turn.Gate("g").Release()
			Expect(turn.Wait(ctx)).To(EndCompleted())
		})
	})

	Describe("interrupting", func() {
		It("returns when the turn has ended canceled; the agent is idle again", func(ctx SpecContext) {
			turn := host.StartFakeAgentTurn(ctx, script.New(script.Say("before"), script.Sleep(time.Hour), script.Say("after")))
			Expect(turn.Interrupt(ctx)).To(Succeed())
			run := turn.Wait(ctx)
			Expect(run).To(And(EndCanceled(), Not(ContainItems(BeAssistantMessage("after")))))
			Expect(run.Status).To(Equal(timeline.AgentIdle))
			Expect(host.SendPrompt(ctx, run.AgentID, "next")).To(EndCompleted())
		})
		It("kills a running command, whose tool call fails", func(ctx SpecContext) {
			turn := host.StartFakeAgentTurn(ctx, script.New(script.BashRun("sleep 60")))
			Expect(host.WaitFor(ctx, turn.AgentID, ContainItems(BeShellCall("sleep 60")))).To(Succeed())
			Expect(host.Interrupt(ctx, turn.AgentID)).To(Succeed())
			Expect(turn.Wait(ctx)).To(And(EndCanceled(), HaveItems(BeShellCall("sleep 60", WithError("canceled")))))
		})
		It("leaves an agent alone that does nothing", func(ctx SpecContext) {
			run := host.RunPrompt(ctx, "hello")
			Expect(host.Interrupt(ctx, run.AgentID)).To(Succeed())
			Expect(host.AgentTimeline(run.AgentID).Len()).To(Equal(2))
		})
		It("does not touch the agent's next turn with an old one", func(ctx SpecContext) {
			old := host.StartPrompt(ctx, "hello")
			old.Wait(ctx)
			turn, err := host.SendTurn(ctx, old.AgentID, `[{"hold":"g"}]`)
			Expect(err).NotTo(HaveOccurred())
			Expect(old.Interrupt(ctx)).To(Succeed())
			turn.Gate("g").Release()
			Expect(turn.Wait(ctx)).To(EndCompleted())
		})
	})

	Describe("waiting in vain", func() {
		It("gives up after 30 seconds where the context has no deadline, and shows the timeline and the step the agent is in", bubble.InBubble, func(ctx SpecContext) {
			t := aTest()
			host := timelinekit.NewHost(t)
			began := time.Now()
			turn := host.StartFakeAgentTurn(ctx, script.New(script.Say("hello"), script.Sleep(time.Hour)))
			_, err := turn.Await(ctx)
			Expect(time.Since(began)).To(Equal(30 * time.Second))
			Expect(err).To(And(MatchError(context.DeadlineExceeded), MatchError(strings.Trim(`
timelinekit: turn agent-1-turn-1 has not ended (gave up after 30s; give a context with a deadline to wait longer or shorter: context deadline exceeded):
agent agent-1 is running, in step 2 {"sleep":3600000}
  0 user_message "{\"steps\":[{\"say\":\"hello\"},{\"sleep\":3600000}]}"  <- agent-1-turn-1
  1 assistant_message "hello"`, "\n"))))
			Expect(func() { turn.Wait(ctx) }).To(PanicWith(HavePrefix("timelinekit: turn agent-1-turn-1 has not ended")), "which fails the test")
			Expect(turn.Interrupt(ctx)).To(Succeed())
		})
		It("gives up when the caller's context ends", bubble.InBubble, func(ctx SpecContext) {
			t := aTest()
			host := timelinekit.NewHost(t)
			turn := host.StartFakeAgentTurn(ctx, script.New(script.Sleep(time.Hour)))
			soon, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			_, err := turn.Await(soon)
			Expect(err).To(MatchError(context.DeadlineExceeded))
		})
	})

	Describe("statuses", func() {
		It("can be watched, every one of them", func(ctx SpecContext) {
			var mu sync.Mutex
			var seen []string
			off := host.WatchStatus(func(id string, s timeline.AgentStatus) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, id+" "+string(s))
			})
			run := host.RunPrompt(ctx, "hello")
			host.SendFakeAgentTurn(ctx, run.AgentID, script.New(script.Fail("no")))
			host.SendPrompt(ctx, run.AgentID, "again")
			off()
			host.RunPrompt(ctx, "unseen")
			Expect(seen).To(Equal([]string{
				"agent-1 initializing", "agent-1 idle", "agent-1 running", "agent-1 idle",
				"agent-1 running", "agent-1 error", "agent-1 running", "agent-1 idle"}))
		})
		It("need not be watched any longer, from inside one of them as well, which the others get all the same", func(ctx SpecContext) {
			var off func()
			var others []string
			off = host.WatchStatus(func(string, timeline.AgentStatus) { off() })
			for _, name := range []string{"b", "c"} {
				host.WatchStatus(func(_ string, s timeline.AgentStatus) { others = append(others, name+" "+string(s)) })
			}
			_, err := host.CreateAgent(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(others).To(Equal([]string{"b initializing", "c initializing", "b idle", "c idle"}))
		})
		It("are told before the turn is over for those who wait for it, so that a watcher may send the next one", func(ctx SpecContext) {
			turns := make(chan *timelinekit.Turn, 1)
			failing := host.StartFakeAgentTurn(ctx, script.New(script.Hold("g"), script.Fail("no")))
			host.WatchStatus(func(id string, s timeline.AgentStatus) {
				if s == timeline.AgentError {
					defer GinkgoRecover()
					Expect(failing.Done()).NotTo(BeClosed())
					turn, err := host.SendTurn(ctx, id, "repair")
					Expect(err).NotTo(HaveOccurred())
					turns <- turn
				}
			})
			failing.Gate("g").Release()
			var turn *timelinekit.Turn
			Eventually(turns).Should(Receive(&turn))
			Expect(turn.Wait(ctx)).To(HaveItems(BeAssistantMessage("fake-agent received: repair")))
		})
	})

	Describe("agents", func() {
		It("each have a fresh folder of their own, made when it is first used and gone after the test", func(ctx SpecContext) {
			t := &recorder.T{}
			host := timelinekit.NewHost(t)
			a, b := host.RunPrompt(ctx, "hello"), host.RunFakeAgentTurn(ctx, script.New(script.BashRun("pwd")))
			infoA, err := host.Agent(a.AgentID)
			Expect(err).NotTo(HaveOccurred())
			infoB, err := host.Agent(b.AgentID)
			Expect(err).NotTo(HaveOccurred())
			Expect(infoA.Cwd).NotTo(Equal(infoB.Cwd))
			Expect(infoA.Cwd).NotTo(BeADirectory(), "nothing was done there")
			Expect(infoB.Cwd).To(BeADirectory())
			Expect(os.Stat(infoB.Cwd)).To(HaveField("Mode()", os.ModeDir|0o700), "nobody else's business")
			Expect(t.End()).To(BeEmpty())
			Expect(filepath.Dir(infoB.Cwd)).NotTo(BeADirectory())
		})
		It("work in the folder that they are given", func(ctx SpecContext) {
			dir := GinkgoT().TempDir()
			host.RunFakeAgentTurn(ctx, script.New(script.Write("a", "x")), timelinekit.Cwd(dir))
			Expect(filepath.Join(dir, "a")).To(BeAnExistingFile())
		})
		It("cannot work in a folder that is not there", func(ctx SpecContext) {
			_, err := host.CreateAgent(ctx, timelinekit.Cwd("no/such"))
			Expect(err).To(MatchError(MatchRegexp(`^timelinekit: cwd "/.*/no/such" cannot be used \(no such file or directory\); create the folder first$`)))
			file := filepath.Join(GinkgoT().TempDir(), "f")
			Expect(os.WriteFile(file, nil, 0o644)).To(Succeed())
			_, err = host.CreateAgent(ctx, timelinekit.Cwd(file))
			Expect(err).To(MatchError(ContainSubstring("it is a file")))
		})
		It("may be given an id, which does not lead their folder astray", func(ctx SpecContext) {
			run := host.RunFakeAgentTurn(ctx, script.New(script.Write("a", "x")), timelinekit.AgentID(".."))
			Expect(run).To(And(EndCompleted(), HaveField("AgentID", "..")))
			Expect(run.Timeline.At(1)).To(HaveField("Detail.FilePath", HaveSuffix("agent-1/a")))
			_, err := host.CreateAgent(ctx, timelinekit.AgentID(".."))
			Expect(err).To(MatchError(`timelinekit: there is an agent ".." already; use another id`))
		})
		It("that nobody made are an error which names those there are", func(ctx SpecContext) {
			_, err := host.SendTurn(ctx, "agent-9", "x")
			Expect(err).To(MatchError(`timelinekit: no agent "agent-9"; this host has: none`))
			host.RunPrompt(ctx, "hello")
			t := &recorder.T{}
			other := timelinekit.NewHost(t)
			other.RunPrompt(ctx, "hello")
			Expect(func() { other.AgentTimeline("agent-2") }).To(PanicWith(`timelinekit: no agent "agent-2"; this host has: agent-1`))
			t.End()
		})
		It("that nobody made are an error to everything that asks for one", func(ctx SpecContext) {
			unknown := MatchError(`timelinekit: no agent "agent-9"; this host has: none`)
			_, err := host.Requests("agent-9")
			Expect(err).To(unknown)
			_, err = host.FetchRows("agent-9", timeline.Query{})
			Expect(err).To(unknown)
			_, err = host.Agent("agent-9")
			Expect(err).To(unknown)
			Expect(host.Respond(ctx, "agent-9", "r", fakeagent.Accept)).To(unknown)
			Expect(host.Interrupt(ctx, "agent-9")).To(unknown)
			Expect(host.WaitFor(ctx, "agent-9", BeNil())).To(unknown)
		})
		It("that nobody made are an error which names ten of those there are, where there are more", func(ctx SpecContext) {
			for range 12 {
				_, err := host.CreateAgent(ctx)
				Expect(err).NotTo(HaveOccurred())
			}
			_, err := host.Agent("agent-0")
			Expect(err).To(MatchError(HaveSuffix("this host has: agent-1, agent-2, agent-3, agent-4, agent-5, agent-6, agent-7, agent-8, agent-9, agent-10")))
		})
	})

	It("shares nothing with another host", func(ctx SpecContext) {
		other := timelinekit.NewHost(GinkgoT())
		a, b := host.RunPrompt(ctx, "hello"), other.RunPrompt(ctx, "other")
		Expect(a.AgentID).To(Equal(b.AgentID))
		Expect(other.AgentTimeline(b.AgentID)).To(HaveItems(BeUserMessage("other"), BeAssistantMessage(ContainSubstring("other"))))
	})

	It("refuses a script that JSON cannot carry", func(ctx SpecContext) {
		t := &recorder.T{}
		host := timelinekit.NewHost(t)
		Expect(func() { host.RunFakeAgentTurn(ctx, script.New(script.Sleep(time.Microsecond))) }).To(PanicWith(
			"timelinekit: invalid script: step 1 (sleep): ms must be a whole number of milliseconds, 0 or more, is 1µs"))
		t.End()
	})

	It("takes milliseconds for a scenario of twelve seconds on virtual time", bubble.InBubble, func(ctx SpecContext) {
		t := aTest()
		began := time.Now()
		host := timelinekit.NewHost(t)
		Expect(host.RunFakeAgentTurn(ctx, script.New(script.Sleep(12*time.Second), script.Say("x")))).To(EndCompleted())
		Expect(time.Since(began)).To(Equal(12 * time.Second))
	})
})
