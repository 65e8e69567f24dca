package timelinekit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// statuses are those that the agents of a host take from now on.
type statuses struct {
	mu   sync.Mutex
	seen []timeline.AgentStatus
}

func watch(host *timelinekit.Host) *statuses {
	s := &statuses{}
	host.WatchStatus(func(_ string, status timeline.AgentStatus) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen = append(s.seen, status)
	})
	return s
}

func (s *statuses) all() []timeline.AgentStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// messages are what the user said to an agent, each with the turn that has it.
func messages(host *timelinekit.Host, agentID string) (out []string) {
	for _, row := range host.AgentRows(agentID) {
		if m, ok := row.Item.(timeline.UserMessage); ok {
			out = append(out, row.TurnID+": "+m.Text)
		}
	}
	return out
}

const (
	initializing = timeline.AgentInitializing
	idle         = timeline.AgentIdle
	running      = timeline.AgentRunning
	broken       = timeline.AgentError
	closed       = timeline.AgentClosed
)

var _ = Describe("Steering a turn", bubble.InBubble, func() {
	var (
		t    *recorder.T
		host *timelinekit.Host
	)
	BeforeEach(func() {
		t = &recorder.T{}
		host = timelinekit.NewHost(t)
		DeferCleanup(func() { Expect(t.End()).To(BeEmpty(), "no spec leaves a violation that it has not looked at") })
	})
	// listening is a turn in a step that takes steers for a second, and then says what it took.
	listening := func(ctx context.Context) *timelinekit.Turn {
		GinkgoHelper()
		dir := GinkgoT().TempDir()
		Expect(os.WriteFile(filepath.Join(dir, ".fake-agent.json"), []byte(`{"routes": [{"when": {"turn": 1}, "steps": [
			{"say": "I listen"}, {"sleep": {"ms": 1000, "steers": true}}, {"say": "done{{steers}}"}]}]}`), 0o600)).To(Succeed())
		turn := host.StartPrompt(ctx, "go", timelinekit.Cwd(dir))
		synctest.Wait()
		return turn
	}
	// deaf is a turn at a gate, where it takes none.
	deaf := func(ctx context.Context, more ...script.Step) *timelinekit.Turn {
		GinkgoHelper()
		turn := host.StartFakeAgentTurn(ctx, script.New(append([]script.Step{script.Hold("g")}, more...)...))
		Expect(turn.Gate("g").AwaitHeld(ctx)).To(Succeed())
		return turn
	}
	steer := func(ctx context.Context, agentID, text string) *timelinekit.Turn {
		GinkgoHelper()
		turn, err := host.Steer(ctx, agentID, text)
		Expect(err).NotTo(HaveOccurred())
		return turn
	}

	It("that takes it makes the text one of the turn's own messages, where it came", func(ctx SpecContext) {
		turn := listening(ctx)
		Expect(turn.Steer(ctx, "hurry")).To(Succeed())
		Expect(steer(ctx, turn.AgentID, "please")).To(BeIdenticalTo(turn), "the turn that has the text")
		run := turn.Wait(ctx)
		Expect(run.Timeline).To(HaveItems(BeUserMessage("go"), BeAssistantMessage("I listen"), BeUserMessage("hurry"), BeUserMessage("please"),
			BeAssistantMessage("done + hurry + please")))
		Expect(run.Status).To(Equal(idle))
		Expect(messages(host, turn.AgentID)).To(Equal([]string{"agent-1-turn-1: go", "agent-1-turn-1: hurry", "agent-1-turn-1: please"}))
	})
	It("that refuses it leaves the text waiting, which is the next turn; the running one is unharmed, and the agent is never idle in between", func(ctx SpecContext) {
		seen := watch(host)
		turn := deaf(ctx, script.Say("unharmed"))
		next := steer(ctx, turn.AgentID, `[{"say":"at last"}]`)
		Expect(next).NotTo(BeIdenticalTo(turn))
		time.Sleep(time.Minute)
		Expect(next.Done()).NotTo(BeClosed())
		Expect(messages(host, turn.AgentID)).To(HaveLen(1), "nothing is in the timeline before it starts")
		turn.Gate("g").Release()
		Expect(turn.Wait(ctx)).To(And(EndCompleted(), HaveItems(BeAssistantMessage("unharmed")), HaveField("Status", running)))
		Expect(next.Wait(ctx)).To(And(EndCompleted(), HaveItems(BeAssistantMessage("at last")),
			HaveField("TurnID", "agent-1-turn-2"), HaveField("Status", idle)))
		Expect(next.TurnID).To(Equal("agent-1-turn-2"))
		Expect(seen.all()).To(Equal([]timeline.AgentStatus{initializing, idle, running, idle}))
	})
	It("that refuses several leaves them in order, whoever sent them, each a turn of its own", func(ctx SpecContext) {
		seen := watch(host)
		turn := deaf(ctx)
		Expect(turn.Steer(ctx, "one")).To(Succeed())
		two := steer(ctx, turn.AgentID, "two")
		Expect(turn.Steer(ctx, "three")).To(Succeed())
		Expect(two.Steer(ctx, "four")).To(Succeed(), "a turn that waits takes nothing")
		five := steer(ctx, turn.AgentID, "five")
		turn.Gate("g").Release()
		Expect(five.Wait(ctx)).To(HaveItems(BeAssistantMessage("fake-agent received: five")))
		Expect(messages(host, turn.AgentID)[1:]).To(Equal([]string{
			"agent-1-turn-2: one", "agent-1-turn-3: two", "agent-1-turn-4: three", "agent-1-turn-5: four", "agent-1-turn-6: five"}))
		Expect(two.Wait(ctx).TurnID).To(Equal("agent-1-turn-3"))
		Expect(seen.all()).To(Equal([]timeline.AgentStatus{initializing, idle, running, idle}))
	})
	It("may take a later text while an earlier one waits", func(ctx SpecContext) {
		turn := host.StartPrompt(ctx, `[{"hold":"g"},{"sleep":{"ms":1000,"steers":true}}]`)
		first := steer(ctx, turn.AgentID, "first")
		turn.Gate("g").Release()
		synctest.Wait()
		Expect(steer(ctx, turn.AgentID, "second")).To(BeIdenticalTo(turn))
		first.Wait(ctx)
		Expect(messages(host, turn.AgentID)[1:]).To(Equal([]string{"agent-1-turn-1: second", "agent-1-turn-2: first"}))
	})
	It("that fails then is followed by what waits: the failure is seen, idle is not", func(ctx SpecContext) {
		seen := watch(host)
		turn := deaf(ctx, script.Fail("no quota"))
		next := steer(ctx, turn.AgentID, "again")
		turn.Gate("g").Release()
		Expect(turn.Wait(ctx)).To(And(EndFailed("no quota"), HaveField("Status", broken)))
		Expect(next.Wait(ctx)).To(EndCompleted())
		Expect(seen.all()).To(Equal([]timeline.AgentStatus{initializing, idle, running, broken, running, idle}))
	})
	It("that is interrupted then is followed by what waits", func(ctx SpecContext) {
		turn := deaf(ctx)
		next := steer(ctx, turn.AgentID, `[{"hold":"h"}]`)
		Expect(host.Interrupt(ctx, turn.AgentID)).To(Succeed())
		Expect(turn.Wait(ctx)).To(And(EndCanceled(), HaveField("Status", running)))
		Expect(next.Gate("h").AwaitHeld(ctx)).To(Succeed())
		Expect(turn.Interrupt(ctx)).To(Succeed(), "an old turn does not touch the next one")
		next.Gate("h").Release()
		Expect(next.Wait(ctx)).To(EndCompleted())
	})
	It("that is over begins the next turn with the text, at once or when another one has ended", func(ctx SpecContext) {
		turn := host.StartPrompt(ctx, "hello")
		turn.Wait(ctx)
		Expect(turn.Steer(ctx, `[{"sleep":{"ms":1000,"steers":true}},{"say":"x"}]`)).To(Succeed())
		Expect(host.WaitFor(ctx, turn.AgentID, ContainItems(BeUserMessage(ContainSubstring("sleep"))))).To(Succeed())
		synctest.Wait()
		Expect(turn.Steer(ctx, "too late for the first")).To(Succeed())
		Expect(host.WaitFor(ctx, turn.AgentID, ContainItems(BeAssistantMessage("fake-agent received: too late for the first")))).To(Succeed())
		Expect(messages(host, turn.AgentID)).To(HaveExactElements(
			"agent-1-turn-1: hello", HavePrefix("agent-1-turn-2: "), "agent-1-turn-3: too late for the first"))
	})
	It("of an agent that does nothing begins a turn", func(ctx SpecContext) {
		id, err := host.CreateAgent(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(steer(ctx, id, "hello").Wait(ctx)).To(And(EndCompleted(), HaveItems(BeAssistantMessage("fake-agent received: hello"))))
		Expect(steer(ctx, id, "again").Wait(ctx)).To(EndCompleted())
	})

	Describe("whose text waits", func() {
		It("keeps the agent busy for others", func(ctx SpecContext) {
			turn := deaf(ctx)
			next := steer(ctx, turn.AgentID, `[{"hold":"h"}]`)
			off := host.WatchStatus(func(id string, s timeline.AgentStatus) { panic("no status changes: " + s) })
			turn.Gate("g").Release()
			turn.Wait(ctx)
			_, err := host.SendTurn(ctx, turn.AgentID, "me first")
			Expect(err).To(And(MatchError(fakeagent.ErrBusy), MatchError("timelinekit: agent agent-1 already has an active turn")))
			Expect(next.Gate("h").AwaitHeld(ctx)).To(Succeed())
			off()
			next.Gate("h").Release()
			Expect(next.Wait(ctx)).To(EndCompleted())
		})
		It("gives a turn that can be asked and waited for before it starts", func(ctx SpecContext) {
			turn := deaf(ctx)
			_, err := host.Use(timelinekit.NewPlugin("p"))
			Expect(err).NotTo(HaveOccurred())
			_, _, err = host.AppendRow(ctx, turn.AgentID, "", timeline.Plugin{PluginID: "p", ID: "1", Kind: "of no turn", Version: 1, Data: []byte("{}")})
			Expect(err).NotTo(HaveOccurred())
			next := steer(ctx, turn.AgentID, `[{"approval":{"title":"rm"}}]`)
			run, over := next.Ended()
			Expect(over).To(BeFalse())
			Expect(run).To(And(HaveField("TurnID", ""), HaveField("Status", running), HaveItems()))
			Expect(next).NotTo(EndCompleted())
			Expect(fmt.Sprintf("%#v", next)).To(Equal(`the turn of "[{\"approval\":{\"title\":\"rm\"}}]"`))
			Expect(next.String()).To(HavePrefix(`the turn of "[{\"approval\":{\"title\":\"rm\"}}]" has not started; call Wait first:` + "\nagent agent-1 is running, in step 1 "))
			Expect(host.Dump()).To(HaveSuffix("\n    the message \"[{\\\"approval\\\":{\\\"title\\\":\\\"rm\\\"}}]\" waits"))

			soon, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err = next.Await(soon)
			Expect(err).To(And(MatchError(context.DeadlineExceeded), MatchError(HavePrefix(`timelinekit: the turn of "[{`)), MatchError(ContainSubstring(`}]" has not started (context deadline exceeded):`))))
			_, err = next.AwaitRequest(soon)
			Expect(err).To(MatchError(ContainSubstring(`}]" has asked nothing (context deadline exceeded):`)))

			asked := make(chan timelinekit.Request, 1)
			go func() {
				request, _ := next.AwaitRequest(ctx)
				asked <- request
			}()
			synctest.Wait()
			turn.Gate("g").Release()
			request := <-asked
			Expect(host.Respond(ctx, next.AgentID, request.ID, fakeagent.Accept)).To(Succeed())
			Eventually(ctx, next).Should(EndCompleted())
			Expect(request.TurnID).To(Equal(next.TurnID))
		})
		It("can be told to take it back, as long as it waits: the turn ends canceled and never starts", func(ctx SpecContext) {
			turn := deaf(ctx)
			first, second := steer(ctx, turn.AgentID, "first"), steer(ctx, turn.AgentID, "second")
			Expect(first.Interrupt(ctx)).To(Succeed())
			Expect(first.Interrupt(ctx)).To(Succeed())
			Expect(first.Wait(ctx)).To(And(EndCanceled(), HaveItems(), HaveField("TurnID", "")))
			Expect(turn.Done()).NotTo(BeClosed())
			turn.Gate("g").Release()
			Expect(second.Wait(ctx)).To(EndCompleted())
			Expect(messages(host, turn.AgentID)[1:]).To(Equal([]string{"agent-1-turn-2: second"}))
			Expect(second.Interrupt(ctx)).To(Succeed())
		})
		It("outlives the context that it came with", func(ctx SpecContext) {
			turn := deaf(ctx)
			call, cancel := context.WithCancel(ctx)
			next := steer(call, turn.AgentID, "next")
			cancel()
			for range 10 {
				_, err := host.Steer(call, turn.AgentID, "x")
				Expect(err).To(And(MatchError(context.Canceled), MatchError("timelinekit: agent agent-1 not steered: context canceled")))
				Expect(turn.Steer(call, "x")).To(MatchError(context.Canceled))
			}
			turn.Gate("g").Release()
			Expect(next.Wait(ctx)).To(EndCompleted())
			Expect(messages(host, turn.AgentID)).To(HaveLen(2))
		})
		It("has the hooks told of each turn, and of a steer nothing", func(ctx SpecContext) {
			log := &timelinekit.Recorder{}
			_, err := host.Use(log)
			Expect(err).NotTo(HaveOccurred())
			turn := host.StartPrompt(ctx, `[{"sleep":{"ms":1000,"steers":true}},{"hold":"g"}]`)
			synctest.Wait()
			Expect(turn.Steer(ctx, "taken")).To(Succeed())
			Expect(turn.Gate("g").AwaitHeld(ctx)).To(Succeed())
			next := steer(ctx, turn.AgentID, "refused")
			turn.Gate("g").Release()
			next.Wait(ctx)
			Expect(host.HooksSettled(ctx)).To(Succeed())
			Expect(log.String()).To(HaveSuffix(`agent.created of agent-1
agent.turn_started of agent-1-turn-1
agent.turn_ended of agent-1-turn-1, completed
agent.turn_started of agent-1-turn-2
agent.turn_ended of agent-1-turn-2, completed`))
			ends := timelinekit.Recorded[timelinekit.TurnEnded](log)
			Expect(ends).To(HaveExactElements(HaveField("Agent.Status", running), HaveField("Agent.Status", idle)))
			Expect(ends[0].Timeline).To(HaveItems(BeUserMessage(ContainSubstring("sleep")), BeUserMessage("taken")))
		})
		It("may have come from a hook, or from one who watches", func(ctx SpecContext) {
			var once sync.Once
			_, err := host.Use(timelinekit.NewPlugin("p", timelinekit.On(func(ctx context.Context, e timelinekit.TurnStarted) (err error) {
				once.Do(func() { _, err = host.Steer(ctx, e.Agent.ID, "from the hook") })
				return err
			})))
			Expect(err).NotTo(HaveOccurred())
			turn := deaf(ctx)
			Expect(host.HooksSettled(ctx)).To(Succeed())
			host.WatchStatus(func(id string, s timeline.AgentStatus) {
				defer GinkgoRecover()
				if s == broken {
					Expect(turn.Steer(ctx, "from the watcher")).To(Succeed())
				}
			})
			last := steer(ctx, turn.AgentID, `[{"fail":"no"}]`)
			turn.Gate("g").Release()
			Expect(last.Wait(ctx)).To(EndFailed("no"))
			Expect(host.WaitFor(ctx, turn.AgentID, ContainItems(BeAssistantMessage("fake-agent received: from the watcher")))).To(Succeed())
			Expect(messages(host, turn.AgentID)).To(HaveExactElements(HaveSuffix("hold\":\"g\"}]}"),
				"agent-1-turn-2: from the hook", HavePrefix("agent-1-turn-3: "), "agent-1-turn-4: from the watcher"))
		})
	})

	Describe("whose agent comes to its end", func() {
		It("by being archived says so to who waits for the text", func(ctx SpecContext) {
			turn := deaf(ctx)
			next := steer(ctx, turn.AgentID, "never")
			Expect(turn.Steer(ctx, "nobody's")).To(Succeed())
			Expect(host.ArchiveAgent(ctx, turn.AgentID)).To(Succeed())
			_, err := next.Await(ctx)
			Expect(err).To(And(MatchError(fakeagent.ErrNoSession), MatchError(
				`timelinekit: agent agent-1: the message "never" never became a turn: the agent was archived: no open session`)))
			Expect(next.String()).To(Equal(err.Error()))
			Expect(next.AwaitRequest(ctx)).Error().To(Equal(err))
			Expect(next).To(EndFailed("the agent was archived: no open session"))
			Expect(turn.Wait(ctx)).To(EndCanceled())
			Expect(messages(host, turn.AgentID)).To(HaveLen(1))
			Expect(host.Violations()).To(Equal([]string{
				`agent agent-1: the message "nobody's" never became a turn: the agent was archived: no open session`}), "which nobody waits for")
			Expect(turn.Steer(ctx, "x")).To(And(MatchError(fakeagent.ErrNoSession), MatchError("timelinekit: agent agent-1 is archived: no open session")))
		})
		It("by the end of its session says so to who waits for the text", func(ctx SpecContext) {
			seen := watch(host)
			turn := deaf(ctx, script.Exit(3))
			next := steer(ctx, turn.AgentID, "never")
			turn.Gate("g").Release()
			_, err := next.Await(ctx)
			Expect(err).To(And(MatchError(fakeagent.ErrNoSession), MatchError(MatchRegexp(`never became a turn: .*no open session`))))
			Expect(turn.Wait(ctx)).To(EndFailed("the agent exited with code 3"))
			Expect(host.WaitFor(ctx, turn.AgentID, Not(BeNil()))).To(Succeed())
			Eventually(ctx, seen.all).Should(HaveLen(5))
			Expect(seen.all()).To(Equal([]timeline.AgentStatus{initializing, idle, running, broken, closed}))
			_, err = host.Steer(ctx, turn.AgentID, "x")
			Expect(err).To(MatchError("timelinekit: agent agent-1 is closed: no open session"))
		})
		It("with the test makes each text that still waits a violation", func(ctx SpecContext) {
			t := &recorder.T{}
			host = timelinekit.NewHost(t)
			turn := host.StartPrompt(ctx, `[{"sleep":3600000}]`)
			Expect(turn.Steer(ctx, "one")).To(Succeed())
			two := steer(ctx, turn.AgentID, "two")
			Expect(t.End()).To(Equal([]string{"timelinekit: at the end of the test:\n" +
				`  agent agent-1: the message "one" never became a turn: the test is over` + "\n" +
				`  agent agent-1: the message "two" never became a turn: the test is over`}))
			Expect(turn.Wait(ctx)).To(EndCanceled())
			_, err := two.Await(ctx)
			Expect(err).To(MatchError(`timelinekit: agent agent-1: the message "two" never became a turn: the test is over`))
			_, err = host.Steer(ctx, turn.AgentID, "three")
			Expect(err).To(MatchError("timelinekit: the host is closed, as its test is over"))
		})
	})

	It("is refused where there is no such agent", func(ctx SpecContext) {
		_, err := host.Steer(ctx, "nobody", "x")
		Expect(err).To(MatchError(`timelinekit: no agent "nobody"; this host has: none`))
	})
})

// refusal is an error of somebody who does not know this kit.
type refusal string

func (r refusal) Error() string { return string(r) }
func (r refusal) Code() string  { return "provider-rejected" }

// coded has another code.
type coded string

func (c coded) Error() string { return "refused: " + string(c) }
func (c coded) Code() string  { return string(c) }

var _ = Describe("Steering a turn of somebody's own provider", bubble.InBubble, func() {
	var (
		p    *puppet
		t    *recorder.T
		host *timelinekit.Host
		seen *statuses
	)
	completed := event.TurnCompleted{State: event.TurnEndCompleted}
	BeforeEach(func() {
		p, t = &puppet{}, &recorder.T{}
		host = puppetHost(t, p)
		seen = watch(host)
		DeferCleanup(func() { Expect(t.End()).To(BeEmpty()) })
	})
	takes := func(in fakeagent.TurnInput) (string, error) { return in.TurnID, nil }

	It("has the text before what the agent does with it, however fast that is", func(ctx SpecContext) {
		p.onSteer = func(in fakeagent.TurnInput) (string, error) {
			p.emit(in.ThreadID, in.TurnID, event.Delta{Stream: event.AssistantText, Text: "done"})
			return in.TurnID, nil
		}
		turn := host.StartPrompt(ctx, "x")
		Expect(turn.Steer(ctx, "y")).To(Succeed())
		Expect(host.AgentTimeline(turn.AgentID)).To(HaveItems(BeUserMessage("x"), BeUserMessage("y"), BeAssistantMessage("done")))
		p.emit(turn.AgentID, "T1", completed)
		Expect(turn.Wait(ctx)).To(EndCompleted())
	})

	It("sends the text with the id of the turn that runs, and the host's own context", func(ctx SpecContext) {
		var got fakeagent.TurnInput
		p.onSteer = func(in fakeagent.TurnInput) (string, error) { got = in; return in.TurnID, nil }
		turn := host.StartPrompt(ctx, "x")
		Expect(turn.Steer(ctx, "y")).To(Succeed())
		Expect(got).To(Equal(fakeagent.TurnInput{ThreadID: "agent-1", TurnID: "T1", Text: "y"}))
		p.emit(turn.AgentID, "T1", completed)
		Expect(turn.Wait(ctx).Timeline).To(HaveItems(BeUserMessage("x"), BeUserMessage("y")))

		c := &contexts{puppet: &puppet{onSteer: takes}}
		_, err := host.Register("contexts", c)
		Expect(err).NotTo(HaveOccurred())
		turn = host.StartPrompt(ctx, "x", timelinekit.Provider("contexts"))
		c.turn = nil
		call, cancel := context.WithCancel(ctx)
		Expect(turn.Steer(call, "y")).To(Succeed())
		cancel()
		Expect(c.turn.Err()).NotTo(HaveOccurred())
	})
	DescribeTable("knows a refusal by its code, whatever its type:",
		func(ctx SpecContext, refused error) {
			p.onSteer = func(fakeagent.TurnInput) (string, error) { return "", refused }
			turn := host.StartPrompt(ctx, "x")
			next, err := host.Steer(ctx, turn.AgentID, "y")
			Expect(err).NotTo(HaveOccurred())
			p.emit(turn.AgentID, "T1", completed)
			synctest.Wait()
			p.emit(turn.AgentID, "T2", completed)
			Expect(next.Wait(ctx)).To(And(EndCompleted(), HaveField("TurnID", "T2")))
			Expect(seen.all()).To(Equal([]timeline.AgentStatus{initializing, idle, running, idle}))
		},
		Entry("its own", refusal("no")),
		Entry("wrapped", fmt.Errorf("the agent: %w", fmt.Errorf("its server: %w", refusal("no")))),
		Entry("joined", errors.Join(errors.New("http 409"), refusal("no"))),
		Entry("the kit's", fakeagent.Rejected(fakeagent.ErrBusy)),
	)
	DescribeTable("returns any other error, and the text is nowhere:",
		func(ctx SpecContext, answer func(fakeagent.TurnInput) (string, error), want string) {
			p.onSteer = answer
			turn := host.StartPrompt(ctx, "x")
			_, err := host.Steer(ctx, turn.AgentID, "y")
			Expect(err).To(MatchError(HavePrefix("timelinekit: agent agent-1 not steered: " + want)))
			Expect(turn.Steer(ctx, "y")).To(MatchError(HavePrefix("timelinekit: agent agent-1 not steered: " + want)))
			p.emit(turn.AgentID, "T1", completed)
			Expect(turn.Wait(ctx)).To(And(EndCompleted(), HaveField("Status", idle)))
			Expect(messages(host, turn.AgentID)).To(Equal([]string{"T1: x"}))
		},
		Entry("one without a code", func(fakeagent.TurnInput) (string, error) { return "", errors.New("no credit left") }, "no credit left"),
		Entry("one that is busy, but does not say that nothing has happened", func(fakeagent.TurnInput) (string, error) { return "", fakeagent.ErrBusy }, "already has an active turn"),
		Entry("one with another code", func(fakeagent.TurnInput) (string, error) { return "", coded("internal") }, "refused: internal"),
		Entry("a panic", func(fakeagent.TurnInput) (string, error) { panic("no credit left") }, "provider puppet: it panicked: no credit left\n"),
		Entry("the id of another turn", func(fakeagent.TurnInput) (string, error) { return "T9", nil }, `the provider was to take it into turn T1, but returned turn "T9"`),
	)
	It("returns the error of one who does not answer, when the caller's time is over, and of one who has no time", func(ctx SpecContext) {
		release := make(chan struct{})
		defer close(release)
		p.onSteer = func(fakeagent.TurnInput) (string, error) { <-release; return "", refusal("no") }
		turn := host.StartPrompt(ctx, "x")
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		Expect(turn.Steer(soon, "y")).To(MatchError("timelinekit: agent agent-1 not steered: provider puppet: context deadline exceeded"))
		began := time.Now()
		Expect(turn.Steer(ctx, "y")).To(MatchError(HavePrefix("timelinekit: agent agent-1 not steered: provider puppet: gave up after 30s")))
		Expect(time.Since(began)).To(Equal(30 * time.Second))
		p.emit(turn.AgentID, "T1", completed)
		Expect(turn.Wait(ctx)).To(HaveField("Status", idle))
	})

	Describe("that ends the turn before it answers", func() {
		// late ends the turn inside of the call, and then answers.
		late := func(answer func(fakeagent.TurnInput) (string, error)) {
			p.onSteer = func(in fakeagent.TurnInput) (string, error) {
				p.emit(in.ThreadID, in.TurnID, completed)
				time.Sleep(time.Second)
				return answer(in)
			}
		}
		It("with a refusal has the text start as the next turn, and the agent is not idle in between", func(ctx SpecContext) {
			late(func(fakeagent.TurnInput) (string, error) { return "", refusal("too late") })
			turn := host.StartPrompt(ctx, "x")
			var next *timelinekit.Turn
			var steered sync.WaitGroup
			steered.Go(func() { next, _ = host.Steer(ctx, turn.AgentID, "y") })
			Expect(turn.Wait(ctx)).To(HaveField("Status", running))
			_, err := host.SendTurn(ctx, turn.AgentID, "z")
			Expect(err).To(MatchError(fakeagent.ErrBusy), "somebody was first")
			steered.Wait()
			synctest.Wait()
			p.emit(turn.AgentID, "T2", completed)
			Expect(next.Wait(ctx)).To(HaveField("TurnID", "T2"))
			Expect(seen.all()).To(Equal([]timeline.AgentStatus{initializing, idle, running, idle}))
		})
		It("with a yes has the text in the turn that took it, and becomes idle then", func(ctx SpecContext) {
			late(takes)
			turn := host.StartPrompt(ctx, "x")
			Expect(host.Steer(ctx, turn.AgentID, "y")).To(BeIdenticalTo(turn))
			Expect(turn.Wait(ctx)).To(EndCompleted())
			Expect(messages(host, turn.AgentID)).To(Equal([]string{"T1: x", "T1: y"}))
			Expect(host.Agent(turn.AgentID)).To(HaveField("Status", idle))
			Expect(seen.all()).To(Equal([]timeline.AgentStatus{initializing, idle, running, idle}))
			Expect(host.SendTurn(ctx, turn.AgentID, "z")).NotTo(BeNil())
			p.emit(turn.AgentID, "T2", completed)
		})
		It("with another error becomes idle then", func(ctx SpecContext) {
			late(func(fakeagent.TurnInput) (string, error) { return "", errors.New("broken") })
			turn := host.StartPrompt(ctx, "x")
			Expect(turn.Steer(ctx, "y")).To(MatchError("timelinekit: agent agent-1 not steered: broken"))
			Expect(host.Agent(turn.AgentID)).To(HaveField("Status", idle))
			Expect(seen.all()).To(Equal([]timeline.AgentStatus{initializing, idle, running, idle}))
		})
		It("has later texts wait for that answer, to keep their order", func(ctx SpecContext) {
			release := make(chan struct{})
			p.onSteer = func(in fakeagent.TurnInput) (string, error) {
				if in.Text == "one" {
					<-release
				}
				return "", refusal("no")
			}
			turn := host.StartPrompt(ctx, "x")
			var one *timelinekit.Turn
			var steered sync.WaitGroup
			steered.Go(func() { one, _ = host.Steer(ctx, turn.AgentID, "one") })
			synctest.Wait()
			two, err := host.Steer(ctx, turn.AgentID, "two")
			Expect(err).NotTo(HaveOccurred())
			p.emit(turn.AgentID, "T1", completed)
			synctest.Wait()
			Expect(messages(host, turn.AgentID)).To(HaveLen(1))
			close(release)
			steered.Wait()
			for _, next := range []*timelinekit.Turn{one, two} {
				synctest.Wait()
				p.emit(turn.AgentID, fmt.Sprint("T", len(messages(host, turn.AgentID))), completed)
				Expect(next.Wait(ctx)).To(EndCompleted())
			}
			Expect(messages(host, turn.AgentID)).To(Equal([]string{"T1: x", "T2: one", "T3: two"}))
			Expect(seen.all()).To(Equal([]timeline.AgentStatus{initializing, idle, running, idle}))
		})
		It("and the session has no turn for the text, but an error", func(ctx SpecContext) {
			p.onSteer = func(in fakeagent.TurnInput) (string, error) {
				p.emit(in.ThreadID, "", event.SessionExited{Reason: "crashed"})
				return "", refusal("no")
			}
			turn := host.StartPrompt(ctx, "x")
			Expect(turn.Steer(ctx, "y")).To(And(MatchError(fakeagent.ErrNoSession), MatchError("timelinekit: agent agent-1 is closed: no open session")))
			Expect(turn.Wait(ctx)).To(EndFailed("the session exited: crashed"))
			Expect(messages(host, turn.AgentID)).To(HaveLen(1))
		})
	})

	Describe("before it has started the turn", func() {
		It("waits until there is a turn to steer, and keeps the text behind the prompt", func(ctx SpecContext) {
			p.onSteer = takes
			p.onSend = func(p *puppet, in fakeagent.TurnInput, id string) error {
				time.Sleep(time.Second)
				time.AfterFunc(time.Second, func() { p.emit(in.ThreadID, id, event.TurnStarted{}) })
				return nil
			}
			id, err := host.CreateAgent(ctx)
			Expect(err).NotTo(HaveOccurred())
			began := time.Now()
			var turn, steered *timelinekit.Turn
			var all sync.WaitGroup
			all.Go(func() { turn, _ = host.SendTurn(ctx, id, "x") })
			synctest.Wait()
			all.Go(func() { steered, _ = host.Steer(ctx, id, "y") })
			all.Wait()
			Expect(time.Since(began)).To(Equal(time.Second))
			Expect(steered).To(BeIdenticalTo(turn))
			Expect(host.AgentRows(id)).To(BeEmpty())
			time.Sleep(time.Second)
			synctest.Wait()
			Expect(messages(host, id)).To(Equal([]string{"T1: x", "T1: y"}))
			p.emit(id, "T1", completed)
			Expect(turn.Wait(ctx)).To(EndCompleted())
		})
		It("keeps a text that it refuses", func(ctx SpecContext) {
			p.onSteer = func(fakeagent.TurnInput) (string, error) { return "", refusal("no turn runs yet") }
			p.onSend = func(*puppet, fakeagent.TurnInput, string) error { return nil }
			turn := host.StartPrompt(ctx, "x")
			next, err := host.Steer(ctx, turn.AgentID, "y")
			Expect(err).NotTo(HaveOccurred())
			for _, id := range []string{"T1", "T2"} {
				time.Sleep(5 * time.Second)
				p.emit(turn.AgentID, id, event.TurnStarted{})
				p.emit(turn.AgentID, id, completed)
			}
			Expect(next.Wait(ctx)).To(EndCompleted())
			Expect(messages(host, turn.AgentID)).To(Equal([]string{"T1: x", "T2: y"}))
		})
		It("which it then does not accept: the text is a turn of its own", func(ctx SpecContext) {
			p.onSend = func(p *puppet, in fakeagent.TurnInput, id string) error {
				if in.Text == "x" {
					time.Sleep(time.Second)
					return errors.New("bad prompt")
				}
				p.emit(in.ThreadID, id, event.TurnStarted{})
				p.emit(in.ThreadID, id, completed)
				return nil
			}
			id, err := host.CreateAgent(ctx)
			Expect(err).NotTo(HaveOccurred())
			var next *timelinekit.Turn
			var all sync.WaitGroup
			all.Go(func() {
				defer GinkgoRecover()
				_, err := host.SendTurn(ctx, id, "x")
				Expect(err).To(MatchError("timelinekit: turn not accepted: bad prompt"))
			})
			synctest.Wait()
			all.Go(func() { next, _ = host.Steer(ctx, id, "y") })
			all.Wait()
			Expect(next.Wait(ctx)).To(EndCompleted())
			Expect(messages(host, id)).To(Equal([]string{"T2: y"}))
			Expect(seen.all()).To(Equal([]timeline.AgentStatus{initializing, idle, running, idle}))
		})
		It("has no time for ever", func(ctx SpecContext) {
			release := make(chan struct{})
			p.onSend = func(*puppet, fakeagent.TurnInput, string) error { <-release; return errors.New("no") }
			id, err := host.CreateAgent(ctx)
			Expect(err).NotTo(HaveOccurred())
			var sent sync.WaitGroup
			sent.Go(func() { _, _ = host.SendTurn(ctx, id, "x") })
			synctest.Wait()
			soon, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err = host.Steer(soon, id, "y")
			Expect(err).To(MatchError("timelinekit: agent agent-1 not steered: context deadline exceeded"))
			close(release)
			sent.Wait()
		})
	})

	Describe("that does not accept what waited", func() {
		BeforeEach(func() { p.onSteer = func(fakeagent.TurnInput) (string, error) { return "", refusal("no") } })
		// accepts only some texts as turns.
		accepts := func(texts ...string) {
			p.onSend = func(p *puppet, in fakeagent.TurnInput, id string) error {
				if !slices.Contains(texts, in.Text) {
					return errors.New("no credit left")
				}
				p.emit(in.ThreadID, id, event.TurnStarted{})
				return nil
			}
		}
		It("has the error told to who waits; the next text has its turn, and after the last one the agent is idle", func(ctx SpecContext) {
			accepts("x", "two")
			turn := host.StartPrompt(ctx, "x")
			var next []*timelinekit.Turn
			for _, text := range []string{"one", "two", "three"} {
				t, err := host.Steer(ctx, turn.AgentID, text)
				Expect(err).NotTo(HaveOccurred())
				next = append(next, t)
			}
			p.emit(turn.AgentID, "T1", completed)
			_, err := next[0].Await(ctx)
			Expect(err).To(MatchError(`timelinekit: agent agent-1: the message "one" never became a turn: no credit left`))
			Expect(host.WaitFor(ctx, turn.AgentID, ContainItems(BeUserMessage("two")))).To(Succeed())
			p.emit(turn.AgentID, "T3", completed)
			Expect(next[1].Wait(ctx)).To(EndCompleted())
			_, err = next[2].Await(ctx)
			Expect(err).To(MatchError(ContainSubstring("no credit left")))
			Expect(messages(host, turn.AgentID)).To(Equal([]string{"T1: x", "T3: two"}))
			Expect(seen.all()).To(Equal([]timeline.AgentStatus{initializing, idle, running, idle}))
		})
		It("is a violation where nobody waits", func(ctx SpecContext) {
			accepts("x")
			turn := host.StartPrompt(ctx, "x")
			Expect(turn.Steer(ctx, "y")).To(Succeed())
			p.emit(turn.AgentID, "T1", completed)
			synctest.Wait()
			Expect(host.Violations()).To(Equal([]string{`agent agent-1: the message "y" never became a turn: no credit left`}))
			Expect(host.Agent(turn.AgentID)).To(HaveField("Status", idle))
		})
		It("is not asked to interrupt that", func(ctx SpecContext) {
			p.onSend = func(p *puppet, in fakeagent.TurnInput, id string) error {
				if in.Text == "y" {
					time.Sleep(time.Second)
					return errors.New("no credit left")
				}
				p.emit(in.ThreadID, id, event.TurnStarted{})
				return nil
			}
			asked := false
			p.onInterrupt = func(string, string) error { asked = true; return nil }
			turn := host.StartPrompt(ctx, "x")
			next, err := host.Steer(ctx, turn.AgentID, "y")
			Expect(err).NotTo(HaveOccurred())
			p.emit(turn.AgentID, "T1", completed)
			Expect(next.Interrupt(ctx)).To(Succeed())
			Expect(asked).To(BeFalse())
			_, err = next.Await(ctx)
			Expect(err).To(MatchError(ContainSubstring("no credit left")))
		})
		It("although it started it keeps the turn", func(ctx SpecContext) {
			p.onSend = func(p *puppet, in fakeagent.TurnInput, id string) error {
				p.emit(in.ThreadID, id, event.TurnStarted{})
				if in.Text == "y" {
					return errors.New("no")
				}
				return nil
			}
			turn := host.StartPrompt(ctx, "x")
			next, err := host.Steer(ctx, turn.AgentID, "y")
			Expect(err).NotTo(HaveOccurred())
			p.emit(turn.AgentID, "T1", completed)
			synctest.Wait()
			p.emit(turn.AgentID, "T2", completed)
			Expect(next.Wait(ctx)).To(EndCompleted())
			Expect(host.Violations()).To(Equal([]string{"agent agent-1: SendTurn failed (no), but the turn started"}))
		})
	})
	It("whose session ends while it is sent what waited has that told", func(ctx SpecContext) {
		p.onSteer = func(fakeagent.TurnInput) (string, error) { return "", refusal("no") }
		p.onSend = func(p *puppet, in fakeagent.TurnInput, id string) error {
			if in.Text == "y" {
				p.emit(in.ThreadID, "", event.SessionExited{Reason: "crashed"})
				return errors.New("gone")
			}
			p.emit(in.ThreadID, id, event.TurnStarted{})
			return nil
		}
		turn := host.StartPrompt(ctx, "x")
		next, err := host.Steer(ctx, turn.AgentID, "y")
		Expect(err).NotTo(HaveOccurred())
		Expect(turn.Steer(ctx, "z")).To(Succeed())
		p.emit(turn.AgentID, "T1", completed)
		_, err = next.Await(ctx)
		Expect(err).To(MatchError(`timelinekit: agent agent-1: the message "y" never became a turn: the session exited: crashed: no open session`))
		Expect(host.Agent(turn.AgentID)).To(HaveField("Status", closed))
		Expect(host.Violations()).To(Equal([]string{`agent agent-1: the message "z" never became a turn: the session exited: crashed: no open session`}))
		Expect(seen.all()).To(Equal([]timeline.AgentStatus{initializing, idle, running, closed}))
	})
	It("may start and end a turn that waited before SendTurn has returned, and the one behind it", func(ctx SpecContext) {
		p.onSteer = func(fakeagent.TurnInput) (string, error) { return "", refusal("no") }
		p.onSend = func(p *puppet, in fakeagent.TurnInput, id string) error {
			p.emit(in.ThreadID, id, event.TurnStarted{})
			if in.Text != "x" {
				p.emit(in.ThreadID, id, completed)
			}
			return nil
		}
		turn := host.StartPrompt(ctx, "x")
		Expect(turn.Steer(ctx, "y")).To(Succeed())
		last, err := host.Steer(ctx, turn.AgentID, "z")
		Expect(err).NotTo(HaveOccurred())
		p.emit(turn.AgentID, "T1", completed)
		Expect(last.Wait(ctx)).To(EndCompleted())
		Expect(messages(host, turn.AgentID)).To(Equal([]string{"T1: x", "T2: y", "T3: z"}))
		Expect(seen.all()).To(Equal([]timeline.AgentStatus{initializing, idle, running, idle}))
	})
	It("that does not let the agent be archived goes on with what waits", func(ctx SpecContext) {
		p.onSteer = func(fakeagent.TurnInput) (string, error) { return "", refusal("no") }
		refuse, meanwhile := true, []string(nil)
		p.onStop = func(threadID string) error {
			if refuse {
				p.emit(threadID, "T1", completed)
				synctest.Wait()
				meanwhile = messages(host, threadID)
				return errors.New("not now")
			}
			p.emit(threadID, "", event.SessionExited{})
			return nil
		}
		turn := host.StartPrompt(ctx, "x")
		next, err := host.Steer(ctx, turn.AgentID, "y")
		Expect(err).NotTo(HaveOccurred())
		Expect(host.ArchiveAgent(ctx, turn.AgentID)).To(MatchError("timelinekit: agent agent-1 was not archived: not now"))
		Expect(meanwhile).To(Equal([]string{"T1: x"}), "nothing starts before it is known")
		synctest.Wait()
		Expect(messages(host, turn.AgentID)).To(Equal([]string{"T1: x", "T2: y"}))
		p.emit(turn.AgentID, "T2", completed)
		Expect(next.Wait(ctx)).To(EndCompleted())
		refuse = false
	})
	Describe("that does not return when it is sent what waited", func() {
		var release chan struct{}
		BeforeEach(func(ctx SpecContext) {
			release = make(chan struct{})
			p.onSteer = func(fakeagent.TurnInput) (string, error) { return "", refusal("no") }
			p.onStop = func(string) error { return fakeagent.ErrNoSession }
			p.onSend = func(p *puppet, in fakeagent.TurnInput, id string) error {
				if in.Text == "y" {
					<-release
					return nil
				}
				p.emit(in.ThreadID, id, event.TurnStarted{})
				return nil
			}
			turn := host.StartPrompt(ctx, "x")
			Expect(turn.Steer(ctx, "y")).To(Succeed())
			p.emit(turn.AgentID, "T1", completed)
			synctest.Wait()
		})
		const named = "timelinekit: at the end of the test:\n" +
			"  the turn of agent agent-1 has not ended within 10s of the test's end\n" +
			`  agent agent-1: the message "y" never became a turn: provider puppet: context canceled`

		It("is named at the test's end, where those who watch are waited for", func() {
			host.WatchStatus(func(string, timeline.AgentStatus) { time.Sleep(time.Second) })
			began := time.Now()
			Expect(t.End()).To(Equal([]string{named}))
			Expect(time.Since(began)).To(Equal(11 * time.Second))
			close(release)
			t = &recorder.T{}
		})
		It("is named there together with one who watches and does not return", func() {
			host.WatchStatus(func(string, timeline.AgentStatus) { <-release })
			began := time.Now()
			Expect(t.End()).To(Equal([]string{named + "\n  agent agent-1: a function that watches statuses has not returned within 10s of the test's end"}))
			Expect(time.Since(began)).To(Equal(20 * time.Second))
			close(release)
			t = &recorder.T{}
		})
	})
	It("has a panic of one who watches recorded, and all others told all the same", func(ctx SpecContext) {
		p.onSteer = func(fakeagent.TurnInput) (string, error) { return "", refusal("no") }
		p.onSend = func(p *puppet, in fakeagent.TurnInput, id string) error {
			if in.Text == "y" {
				return errors.New("no credit left")
			}
			p.emit(in.ThreadID, id, event.TurnStarted{})
			return nil
		}
		turn := host.StartPrompt(ctx, "x")
		next, err := host.Steer(ctx, turn.AgentID, "y")
		Expect(err).NotTo(HaveOccurred())
		off := host.WatchStatus(func(_ string, s timeline.AgentStatus) { panic("watcher: " + s) })
		p.emit(turn.AgentID, "T1", completed)
		_, err = next.Await(ctx)
		Expect(err).To(MatchError(ContainSubstring("no credit left")))
		synctest.Wait()
		Expect(host.Violations()).To(HaveExactElements(HavePrefix("agent agent-1: a function that watches statuses did not return: it panicked: watcher: idle\n")))
		off()
		again, err := host.SendTurn(ctx, turn.AgentID, "x")
		Expect(err).NotTo(HaveOccurred())
		Expect(seen.all()).To(Equal([]timeline.AgentStatus{initializing, idle, running, idle, running}))

		first, err := host.Steer(ctx, turn.AgentID, "first")
		Expect(err).NotTo(HaveOccurred())
		second, err := host.Steer(ctx, turn.AgentID, "second")
		Expect(err).NotTo(HaveOccurred())
		host.WatchStatus(func(_ string, s timeline.AgentStatus) { panic("watcher: " + s) })
		Expect(func() { p.emit(turn.AgentID, "", event.SessionExited{}) }).To(PanicWith(timeline.AgentStatus("watcher: closed")))
		for _, t := range []*timelinekit.Turn{again, first, second} {
			Expect(t.Done()).To(BeClosed())
		}
	})
})

var _ = Describe("A steer at the very end of a turn", func() {
	const agents, turns = 10, 100 // a thousand

	// once says that a text is in one place alone, and that it is the turn which Steer returned.
	once := func(host *timelinekit.Host, agentID, text string, in timelinekit.Run) {
		GinkgoHelper()
		var found []string
		for _, m := range messages(host, agentID) {
			if strings.HasSuffix(m, ": "+text) {
				found = append(found, m)
			}
		}
		Expect(found).To(Equal([]string{in.TurnID + ": " + text}))
	}
	// race has every agent run its turns, each of which ends while a text comes.
	race := func(ctx context.Context, host *timelinekit.Host, turn func(id string, i int) *timelinekit.Turn, end func(*timelinekit.Turn)) {
		GinkgoHelper()
		var all sync.WaitGroup
		for range agents {
			all.Go(func() {
				defer GinkgoRecover()
				id, err := host.CreateAgent(ctx)
				Expect(err).NotTo(HaveOccurred())
				for i := range turns {
					t := turn(id, i)
					var ended sync.WaitGroup
					ended.Go(func() { end(t) })
					text := fmt.Sprintf("text %d", i)
					got, err := host.Steer(ctx, id, text)
					Expect(err).NotTo(HaveOccurred())
					ended.Wait()
					Expect(t.Await(ctx)).To(EndCompleted())
					run, err := got.Await(ctx)
					Expect(err).NotTo(HaveOccurred())
					Expect(run).To(EndCompleted())
					once(host, id, text, run)
				}
				Expect(host.Agent(id)).To(HaveField("Status", idle))
			})
		}
		all.Wait()
	}
	// alternating says that every agent was idle and running in turns, and nothing else.
	alternating := func(host *timelinekit.Host) func() {
		var mu sync.Mutex
		last, wrong := map[string]timeline.AgentStatus{}, []string{}
		host.WatchStatus(func(id string, s timeline.AgentStatus) {
			mu.Lock()
			defer mu.Unlock()
			if s == last[id] || s != running && s != idle && s != initializing {
				wrong = append(wrong, fmt.Sprintf("%s: %s after %s", id, s, last[id]))
			}
			last[id] = s
		})
		return func() {
			GinkgoHelper()
			mu.Lock()
			defer mu.Unlock()
			Expect(wrong).To(BeEmpty())
		}
	}

	It("ends up in one place, a thousand times: where the agent never takes one", func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		defer alternating(host)()
		race(ctx, host, func(id string, _ int) *timelinekit.Turn {
			t, err := host.SendTurn(ctx, id, `[{"hold":"g"}]`)
			Expect(err).NotTo(HaveOccurred())
			Expect(t.Gate("g").AwaitHeld(ctx)).To(Succeed())
			return t
		}, func(t *timelinekit.Turn) { t.Gate("g").Release() })
	})
	It("ends up in one place, a thousand times: where it takes them at a gate, until that opens", func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		defer alternating(host)()
		race(ctx, host, func(id string, _ int) *timelinekit.Turn {
			t, err := host.SendTurn(ctx, id, `[{"hold":{"name":"g","steers":true}}]`)
			Expect(err).NotTo(HaveOccurred())
			Expect(t.Gate("g").AwaitHeld(ctx)).To(Succeed())
			return t
		}, func(t *timelinekit.Turn) { t.Gate("g").Release() })
	})
	It("ends up in one place, a thousand times: where it takes them until that very instant", bubble.InBubble, func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		defer alternating(host)()
		long, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		race(long, host, func(id string, _ int) *timelinekit.Turn {
			t, err := host.SendTurn(long, id, `[{"sleep":{"ms":1000,"steers":true}}]`)
			Expect(err).NotTo(HaveOccurred())
			time.Sleep(time.Second)
			return t
		}, func(*timelinekit.Turn) {})
	})
	It("ends up in one place, a thousand times: where a provider answers as it likes", func(ctx SpecContext) {
		p := &puppet{onSteer: func(in fakeagent.TurnInput) (string, error) {
			if rand.IntN(2) == 0 {
				return "", refusal("no")
			}
			return in.TurnID, nil
		}}
		var n atomic.Int64
		p.onSend = func(p *puppet, in fakeagent.TurnInput, id string) error {
			n.Add(1)
			go func() {
				p.emit(in.ThreadID, id, event.TurnStarted{})
				if strings.HasPrefix(in.Text, "text") {
					p.emit(in.ThreadID, id, event.TurnCompleted{State: event.TurnEndCompleted})
				}
			}()
			return nil
		}
		host := puppetHost(GinkgoT(), p)
		defer alternating(host)()
		race(ctx, host, func(id string, i int) *timelinekit.Turn {
			t, err := host.SendTurn(ctx, id, fmt.Sprint("x", i))
			Expect(err).NotTo(HaveOccurred())
			Expect(host.WaitFor(ctx, id, ContainItems(BeUserMessage(fmt.Sprint("x", i))))).To(Succeed())
			return t
		}, func(t *timelinekit.Turn) {
			p.emit(t.AgentID, t.TurnID, event.TurnCompleted{State: event.TurnEndCompleted})
		})
		Expect(n.Load()).To(BeNumerically(">", agents*turns), "some were refused")
		Expect(n.Load()).To(BeNumerically("<", 2*agents*turns), "and some were not")
	})
})

var _ = Describe("A steer that comes too late", func() {
	It("is a turn that has been sent when Steer returns, so that none is lost where the test ends right after it", func(ctx SpecContext) {
		for range 100 {
			t := &recorder.T{}
			host := timelinekit.NewHost(t)
			turn := host.StartFakeAgentTurn(ctx, script.New(script.Say("done")))
			turn.Wait(ctx)
			Expect(turn.Steer(ctx, "one more thing")).To(Succeed())
			Expect(t.End()).To(BeEmpty())
		}
	})
})
