package timelinekit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var ask = script.New(script.Ask(script.Approval{Title: "rm -rf build", Allow: []script.Step{script.Say("gone")}}))

// Where the time runs must make no difference.
var (
	_ = Describe("Event hooks", eventHooks)
	_ = Describe("Event hooks on virtual time", bubble.InBubble, eventHooks)
)

func eventHooks() {
	var (
		t    *recorder.T
		host *timelinekit.Host
	)
	BeforeEach(func() {
		t = &recorder.T{}
		host = timelinekit.NewHost(t)
		DeferCleanup(func() { Expect(t.End()).To(BeEmpty(), "no spec leaves a violation that it has not looked at") })
	})
	use := func(id string, hooks ...timelinekit.Hook) (remove func()) {
		GinkgoHelper()
		remove, err := host.Use(timelinekit.NewPlugin(id, hooks...))
		Expect(err).NotTo(HaveOccurred())
		return remove
	}
	// settled is the barrier before a look at what hooks have done.
	settled := func(ctx context.Context) {
		GinkgoHelper()
		settledOn(ctx, host)
	}

	It("tell a plugin everything that happens to workspaces, agents, turns and requests, in order", func(ctx SpecContext) {
		log := &timelinekit.Recorder{}
		_, err := host.Use(log)
		Expect(err).NotTo(HaveOccurred())
		dir := GinkgoT().TempDir()
		w, err := host.CreateWorkspace(ctx, timelinekit.WorkspaceCreate{Cwd: dir, Title: "the shop"})
		Expect(err).NotTo(HaveOccurred())
		turn := host.StartFakeAgentTurn(ctx, ask, timelinekit.Workspace(w.ID), timelinekit.Title("builder"))
		request, err := turn.AwaitRequest(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(host.Respond(ctx, turn.AgentID, request.ID, fakeagent.Accept)).To(Succeed())
		turn.Wait(ctx)
		settled(ctx)
		request.Open, request.Decision, request.Reason = false, "accept", "answered"
		Expect(timelinekit.Recorded[timelinekit.PermissionResolved](log)).To(HaveExactElements(HaveField("Request", request)))
		Expect(host.SendFakeAgentTurn(ctx, turn.AgentID, script.New(script.Fail("no quota")))).To(EndFailed("no quota"))
		_, err = host.CreateAgent(ctx, timelinekit.ChildOf(turn.AgentID), timelinekit.Cwd(dir))
		Expect(err).NotTo(HaveOccurred())
		Expect(host.ArchiveWorkspace(ctx, w.ID)).To(Succeed())
		settled(ctx)

		// A before hook is called at once, an event hook later. So each kind is in order by itself.
		var events, requests []string
		for _, c := range log.Calls() {
			if _, before := c.With.(fmt.Formatter); before || c.Hook == "workspace.create" {
				requests = append(requests, c.String())
			} else {
				events = append(events, c.String())
			}
		}
		Expect(requests).To(Equal([]string{
			fmt.Sprintf("workspace.create: { the shop %s}", dir),
			fmt.Sprintf(`agent.create: agent in %q on fake-agent, titled "builder"`, dir),
			fmt.Sprintf("agent.session_open: session of agent-1 in %q on fake-agent", dir),
			fmt.Sprintf("agent.create: agent in %q on fake-agent", dir),
			fmt.Sprintf("agent.session_open: session of agent-2 in %q on fake-agent", dir),
		}))
		Expect(events).To(Equal([]string{
			"workspace.created of workspace-1",
			"agent.created of agent-1",
			"agent.turn_started of agent-1-turn-1",
			`agent.permission_requested of agent-1-turn-1, command_execution_approval req-1 "rm -rf build" is open`,
			`agent.permission_resolved of agent-1-turn-1, command_execution_approval req-1 "rm -rf build" is closed (answered) accept`,
			"agent.turn_ended of agent-1-turn-1, completed",
			"agent.turn_started of agent-1-turn-2",
			"agent.turn_ended of agent-1-turn-2, failed: no quota",
			"agent.created of agent-2",
			"agent.archived of agent-1",
			"agent.archived of agent-2",
			"workspace.archived of workspace-1",
		}))
	})
	It("say which agent and which workspace they are about", func(ctx SpecContext) {
		log := &timelinekit.Recorder{}
		_, err := host.Use(log)
		Expect(err).NotTo(HaveOccurred())
		w, err := host.CreateWorkspace(ctx, timelinekit.WorkspaceCreate{})
		Expect(err).NotTo(HaveOccurred())
		parent, err := host.CreateAgent(ctx, timelinekit.AgentID("parent"))
		Expect(err).NotTo(HaveOccurred())
		_, err = host.CreateAgent(ctx, timelinekit.Workspace(w.ID), timelinekit.ChildOf(parent), timelinekit.Title("helper"))
		Expect(err).NotTo(HaveOccurred())
		settled(ctx)
		Expect(timelinekit.Recorded[timelinekit.WorkspaceCreated](log)).To(Equal([]timelinekit.WorkspaceCreated{{
			Workspace: timelinekit.WorkspaceInfo{ID: "workspace-1", ProjectID: "project-1", Name: "workspace-1", Cwd: w.Cwd}}}))
		Expect(timelinekit.Recorded[timelinekit.AgentCreated](log)).To(HaveExactElements(
			HaveField("Agent.ID", "parent"),
			Equal(timelinekit.AgentCreated{Agent: timelinekit.AgentInfo{ID: "agent-2", WorkspaceID: "workspace-1", ParentAgentID: "parent",
				Provider: "fake-agent", Cwd: w.Cwd, Title: "helper", Status: timeline.AgentIdle}})))
		Expect(w.Cwd).To(BeADirectory())
	})
	It("get the whole timeline at a turn's end, with the turns before it, as it is at that moment", func(ctx SpecContext) {
		log := &timelinekit.Recorder{}
		_, err := host.Use(log)
		Expect(err).NotTo(HaveOccurred())
		run := host.RunFakeAgentTurn(ctx, script.New(script.Say("one")))
		host.SendFakeAgentTurn(ctx, run.AgentID, script.New(script.Say("two")))
		settled(ctx)
		ends := timelinekit.Recorded[timelinekit.TurnEnded](log)
		Expect(ends).To(HaveLen(2))
		Expect(ends[0].Timeline).To(HaveItems(BeUserMessage(ContainSubstring("one")), BeAssistantMessage("one")))
		Expect(ends[0].Timeline).To(Equal(run.Timeline), "it does not change when the next turn comes")
		Expect(ends[1].Timeline.Turn(ends[1].TurnID)).To(HaveItems(BeUserMessage(ContainSubstring("two")), BeAssistantMessage("two")))
		Expect(ends[1].Timeline.Len()).To(Equal(4))
		Expect(ends[1].Agent.Status).To(Equal(timeline.AgentIdle))
	})
	It("say how a turn ended: completed, failed or canceled", func(ctx SpecContext) {
		log := &timelinekit.Recorder{}
		_, err := host.Use(log)
		Expect(err).NotTo(HaveOccurred())
		host.RunPrompt(ctx, "x")
		host.RunFakeAgentTurn(ctx, script.New(script.Fail("no quota")))
		Expect(host.StartFakeAgentTurn(ctx, script.New(script.Hold("g"))).Interrupt(ctx)).To(Succeed())
		settled(ctx)
		var ends []timeline.Ending
		for _, e := range timelinekit.Recorded[timelinekit.TurnEnded](log) {
			ends = append(ends, e.Ending)
		}
		Expect(ends).To(ConsistOf(EndCompleted(), EndFailed("no quota"), EndCanceled()))
	})
	It("say why a request was closed that nobody answered, before they say that the turn ended", func(ctx SpecContext) {
		log := &timelinekit.Recorder{}
		_, err := host.Use(log)
		Expect(err).NotTo(HaveOccurred())
		p := &puppet{}
		_, err = host.Register("puppet", p)
		Expect(err).NotTo(HaveOccurred())
		turn := host.StartPrompt(ctx, "x", timelinekit.Provider("puppet"))
		p.send(event.Event{ThreadID: turn.AgentID, TurnID: "T1", RequestID: "q1", Payload: event.UserInputRequested{Questions: []event.Question{{ID: "color"}}}})
		p.emit(turn.AgentID, "T1", event.TurnCompleted{State: event.TurnEndCompleted})
		settled(ctx)
		Expect(log.String()).To(HaveSuffix(`
agent.permission_requested of T1, question q1 is open
agent.permission_resolved of T1, question q1 is closed (turn ended) decline
agent.turn_ended of T1, completed`))
	})
	It("show a request as the host lists it, also while an answer is on its way", func(ctx SpecContext) {
		log := &timelinekit.Recorder{}
		_, err := host.Use(log)
		Expect(err).NotTo(HaveOccurred())
		p := &puppet{}
		_, err = host.Register("puppet", p)
		Expect(err).NotTo(HaveOccurred())
		turn := host.StartPrompt(ctx, "x", timelinekit.Provider("puppet"))
		tell := func(payload event.Payload) {
			p.send(event.Event{ThreadID: turn.AgentID, TurnID: "T1", RequestID: "r1", Payload: payload})
		}
		tell(event.RequestOpened{RequestType: "file_change_approval", Options: []string{"accept"}})
		p.onRespond = func(string) error { tell(event.RequestResolved{Decision: "accept"}); return nil }
		Expect(host.Respond(ctx, turn.AgentID, "r1", fakeagent.Accept)).To(Succeed())
		p.emit(turn.AgentID, "T1", event.TurnCompleted{State: event.TurnEndCompleted})
		settled(ctx)
		listed, err := host.Requests(turn.AgentID)
		Expect(err).NotTo(HaveOccurred())
		resolved := timelinekit.Recorded[timelinekit.PermissionResolved](log)
		Expect(resolved).To(HaveExactElements(HaveField("Request", listed[0])))
		listed[0].Options[0] = "changed"
		Expect(host.Requests(turn.AgentID)).To(HaveExactElements(HaveField("Options", HaveExactElements(fakeagent.Accept))), "a copy, which changes nothing")
	})
	It("never make the agent wait", func(ctx SpecContext) {
		release := make(chan struct{})
		use("slow", timelinekit.On(func(context.Context, timelinekit.TurnStarted) error { <-release; return nil }))
		run := host.RunPrompt(ctx, "x")
		Expect(host.SendPrompt(ctx, run.AgentID, "y")).To(EndCompleted(), "while the hook of the first turn's start still runs")
		close(release)
	})
	It("are called one at a time within a plugin, in the order of the events", func(ctx SpecContext) {
		var mu sync.Mutex
		var seen []string
		at := func(s string) {
			if !mu.TryLock() {
				Fail("two hooks of one plugin run at once")
			}
			defer mu.Unlock()
			runtime.Gosched()
			seen = append(seen, s)
		}
		use("one", timelinekit.On(func(_ context.Context, e timelinekit.TurnStarted) error { at("> " + e.TurnID); return nil }),
			timelinekit.On(func(_ context.Context, e timelinekit.TurnEnded) error { at("< " + e.TurnID); return nil }))
		id := host.RunPrompt(ctx, "x").AgentID
		for range 20 {
			host.SendPrompt(ctx, id, "y")
		}
		settled(ctx)
		var want []string
		for i := range 21 {
			want = append(want, fmt.Sprint("> agent-1-turn-", i+1), fmt.Sprint("< agent-1-turn-", i+1))
		}
		Expect(seen).To(Equal(want))
	})
	It("of different plugins overlap", func(ctx SpecContext) {
		meet := make(chan string)
		use("a", timelinekit.On(func(context.Context, timelinekit.TurnEnded) error { meet <- "here"; return nil }))
		use("b", timelinekit.On(func(context.Context, timelinekit.TurnEnded) error { <-meet; return nil }))
		host.RunPrompt(ctx, "x")
		settled(ctx)
	})
	It("may send a turn and wait for it, answer a request, and append a row", func(ctx SpecContext) {
		use("busy",
			timelinekit.On(func(ctx context.Context, e timelinekit.PermissionRequested) error {
				return host.Respond(ctx, e.Agent.ID, e.Request.ID, fakeagent.Decline)
			}),
			timelinekit.On(func(ctx context.Context, e timelinekit.TurnEnded) error {
				if e.Ending.Kind == timeline.Failed {
					return nil
				}
				turn, err := host.SendTurn(ctx, e.Agent.ID, `[{"fail":"enough"}]`)
				if err != nil {
					return err
				}
				run, err := turn.Await(ctx)
				if err != nil {
					return err
				}
				_, _, err = host.AppendRow(ctx, e.Agent.ID, run.TurnID, timeline.Plugin{ID: "end", Kind: "note", Version: 1, Data: []byte(`"` + run.Ending.Message + `"`)})
				return err
			}))
		run := host.RunFakeAgentTurn(ctx, ask)
		settled(ctx)
		Expect(run).To(HaveItems(BeShellCall("rm -rf build", WithError("declined by the user"))))
		Expect(host.AgentTimeline(run.AgentID)).To(ContainItems(BeErrorItem("enough"), BePluginRow("note", WithData("enough"), WithPlugin("busy"))))
	})
	It("are not called for what the host drops, nor for a turn that never started", func(ctx SpecContext) {
		log := &timelinekit.Recorder{}
		_, err := host.Use(log)
		Expect(err).NotTo(HaveOccurred())
		p := &puppet{onSend: func(*puppet, fakeagent.TurnInput, string) error { return nil }}
		_, err = host.Register("puppet", p)
		Expect(err).NotTo(HaveOccurred())
		turn := host.StartPrompt(ctx, "x", timelinekit.Provider("puppet"))
		p.emit(turn.AgentID, "T9", event.TurnStarted{})
		p.emit(turn.AgentID, "T9", event.RequestOpened{})
		p.emit(turn.AgentID, "T9", event.TurnCompleted{State: event.TurnEndCompleted})
		p.emit(turn.AgentID, "", event.SessionExited{})
		turn.Wait(ctx)
		settled(ctx)
		Expect(log.Calls()).To(HaveExactElements(HaveField("Hook", "agent.create"), HaveField("Hook", "agent.session_open"), HaveField("Hook", "agent.created")))
		Expect(host.Violations()).To(HaveLen(3))
	})
	It("stop when the plugin is removed; those that were fired before are still called", func(ctx SpecContext) {
		release := make(chan struct{})
		var ends []string
		remove := use("p", timelinekit.On(func(_ context.Context, e timelinekit.TurnEnded) error {
			<-release
			ends = append(ends, e.TurnID)
			return nil
		}))
		id := host.RunPrompt(ctx, "x").AgentID
		host.SendPrompt(ctx, id, "y")
		remove()
		remove()
		host.SendPrompt(ctx, id, "z")
		close(release)
		settled(ctx)
		Expect(ends).To(Equal([]string{"agent-1-turn-1", "agent-1-turn-2"}))
		use("p")
		remove()
		_, err := host.Use(timelinekit.NewPlugin("p"))
		Expect(err).To(HaveOccurred(), "the remover of the first p has nothing to do with the second one")
	})

	It("find an environment to put something into, also where there is none yet", func(ctx SpecContext) {
		var kept []map[string]string
		use("env",
			timelinekit.Before(func(_ context.Context, r timelinekit.AgentCreate) (*timelinekit.AgentCreate, error) {
				kept = append(kept, r.Env)
				return nil, nil
			}),
			timelinekit.Before(func(_ context.Context, r timelinekit.SessionOpen) (*timelinekit.SessionOpen, error) {
				kept = append(kept, r.Env)
				return nil, nil
			}))
		_, err := host.CreateAgent(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(kept).To(HaveExactElements(Not(BeNil()), Not(BeNil())))
	})
	It("that go wrong are logged when they do, where the test has a log: what fails because of them may be all that is shown", func(ctx SpecContext) {
		loud := &loud{T: &recorder.T{}}
		host := timelinekit.NewHost(loud, timelinekit.WithPlugins(timelinekit.NewPlugin("bad",
			timelinekit.On(func(context.Context, timelinekit.TurnEnded) error { return errors.New("disk full") }))))
		host.RunPrompt(ctx, "x")
		settledOn(ctx, host)
		Expect(loud.logged).To(Equal([]string{"timelinekit: plugin bad: agent.turn_ended of agent-1-turn-1: disk full"}))
		Expect(loud.End()).To(HaveLen(1))
	})

	Describe("that go wrong", func() {
		// after lets another plugin see every turn's end, too.
		var seen []string
		BeforeEach(func() { seen = nil })
		after := func() {
			use("after", timelinekit.On(func(_ context.Context, e timelinekit.TurnEnded) error { seen = append(seen, e.TurnID); return nil }))
		}
		// twice runs two turns while a hook goes wrong at each end.
		twice := func(ctx context.Context, hook func() error) []string {
			use("bad", timelinekit.On(func(context.Context, timelinekit.TurnEnded) error { return hook() }))
			after()
			id := host.RunPrompt(ctx, "x").AgentID
			host.SendPrompt(ctx, id, "y")
			settled(ctx)
			Expect(seen).To(Equal([]string{"agent-1-turn-1", "agent-1-turn-2"}), "other plugins do not notice")
			return host.Violations()
		}

		It("by an error are named at the test's end", func(ctx SpecContext) {
			Expect(twice(ctx, func() error { return errors.New("card not written") })).To(Equal([]string{
				"plugin bad: agent.turn_ended of agent-1-turn-1: card not written",
				"plugin bad: agent.turn_ended of agent-1-turn-2: card not written"}))
		})
		It("by a panic are named with the place, and the plugin goes on", func(ctx SpecContext) {
			Expect(twice(ctx, func() error { panic("no such card") })).To(HaveExactElements(
				And(HavePrefix("plugin bad: agent.turn_ended of agent-1-turn-1: it panicked: no such card\n"), ContainSubstring("hook_test.go:")),
				HavePrefix("plugin bad: agent.turn_ended of agent-1-turn-2: it panicked: no such card\n")))
		})
		It("by failing the test on their own goroutine are named, the plugin goes on, and the test's end does not hang", func(ctx SpecContext) {
			Expect(twice(ctx, func() error { runtime.Goexit(); return nil })).To(HaveExactElements(
				"plugin bad: agent.turn_ended of agent-1-turn-1: it called runtime.Goexit, as t.FailNow and t.Fatal do, and so do methods of the host "+
					"that return no error; a hook returns its error, and uses those that return one, such as SendTurn and Await",
				HavePrefix("plugin bad: agent.turn_ended of agent-1-turn-2: it called runtime.Goexit")))
		})
	})
}

var _ = Describe("An event hook that takes more than 30 seconds", bubble.InBubble, func() {
	It("loses its context, and is named", func(ctx SpecContext) {
		t := &recorder.T{}
		host := timelinekit.NewHost(t, timelinekit.WithPlugins(timelinekit.NewPlugin("bad",
			timelinekit.On(func(ctx context.Context, _ timelinekit.TurnEnded) error { <-ctx.Done(); return context.Cause(ctx) }))))
		host.RunPrompt(ctx, "x")
		longer, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		began := time.Now()
		Expect(host.HooksSettled(longer)).To(Succeed())
		Expect(time.Since(began)).To(Equal(30 * time.Second))
		Expect(t.End()).To(Equal([]string{"timelinekit: at the end of the test:\n" +
			"  plugin bad: agent.turn_ended of agent-1-turn-1 has not returned within 30s; its context was canceled"}))
	})
	It("does not have the plugin's next hook called beside it, where it does not look at its context", func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		var ends []time.Duration
		began := time.Now()
		_, err := host.Use(timelinekit.NewPlugin("bad", timelinekit.On(func(context.Context, timelinekit.TurnEnded) error {
			time.Sleep(40 * time.Second)
			ends = append(ends, time.Since(began))
			return nil
		})))
		Expect(err).NotTo(HaveOccurred())
		id := host.RunPrompt(ctx, "x").AgentID
		host.SendPrompt(ctx, id, "y")
		longer, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		Expect(host.HooksSettled(longer)).To(Succeed())
		Expect(ends).To(Equal([]time.Duration{40 * time.Second, 80 * time.Second}))
		Expect(host.Violations()).To(HaveLen(2))
	})
})

var _ = Describe("An event hook that returns the error of a provider which ended its own goroutine", bubble.InBubble, func() {
	It("has the plugin's next hooks called one at a time all the same", func(ctx SpecContext) {
		t := &recorder.T{}
		host := puppetHost(t, &puppet{onStart: func(s fakeagent.SessionConfig) error {
			if s.ThreadID == "agent-2" {
				runtime.Goexit()
			}
			return nil
		}, onSend: func(p *puppet, in fakeagent.TurnInput, id string) error {
			p.emit(in.ThreadID, id, event.TurnStarted{})
			p.emit(in.ThreadID, id, event.TurnCompleted{State: event.TurnEndCompleted})
			return nil
		}})
		running, most, calls := 0, 0, 0
		var mu sync.Mutex
		count := func(n int) (call int) {
			mu.Lock()
			defer mu.Unlock()
			running += n
			most = max(most, running)
			calls += max(n, 0)
			return calls
		}
		_, err := host.Use(timelinekit.NewPlugin("bad", timelinekit.On(func(ctx context.Context, e timelinekit.TurnEnded) error {
			defer count(-1)
			if count(1) == 1 {
				_, err := host.CreateAgent(ctx)
				return err
			}
			time.Sleep(time.Second)
			return nil
		})))
		Expect(err).NotTo(HaveOccurred())
		id := host.RunPrompt(ctx, "x").AgentID
		host.SendPrompt(ctx, id, "y")
		host.SendPrompt(ctx, id, "z")
		Expect(host.HooksSettled(ctx)).To(Succeed())
		Expect(calls).To(Equal(3))
		Expect(most).To(Equal(1))
		Expect(t.End()).To(Equal([]string{"timelinekit: at the end of the test:\n  plugin bad: agent.turn_ended of T1: " +
			"timelinekit: agent agent-2 could not start: provider puppet: it called runtime.Goexit, as t.FailNow and t.Fatal do"}))
	})
})

// loud is a test with a log.
type loud struct {
	*recorder.T
	logged []string
}

func (l *loud) Logf(format string, args ...any) {
	l.logged = append(l.logged, fmt.Sprintf(format, args...))
}

func settledOn(ctx context.Context, host *timelinekit.Host) {
	GinkgoHelper()
	Expect(host.HooksSettled(ctx)).To(Succeed())
}

// Misspelt is a plugin with a method that is nearly a hook.
type (
	Misspelt      struct{ named }
	Renamed       struct{ named }
	WrongArgument struct{ named }
	WrongResult   struct{ named }
	ByPointer     struct{ named }
	HasHelpers    struct{ named }
	named         struct{}
)

func (named) ID() string                                                       { return "mine" }
func (Misspelt) TurnEnd(context.Context, timelinekit.TurnEnded) error          { return nil }
func (Renamed) Summarize(context.Context, timelinekit.TurnEnded) error         { return nil }
func (WrongArgument) TurnEnded(context.Context, timelinekit.TurnStarted) error { return nil }
func (WrongResult) BeforeAgentCreate(context.Context, timelinekit.AgentCreate) error {
	return nil
}
func (*ByPointer) TurnEnded(context.Context, timelinekit.TurnEnded) error { return nil }
func (HasHelpers) Close() error                                           { return nil }
func (HasHelpers) Turns() int                                             { return 0 }
func (HasHelpers) Summary(timeline.Timeline) string                       { return "" }

var _ = Describe("Registering a plugin", func() {
	DescribeTable("is an error that says what would be right, for", func(p timelinekit.Plugin, want string) {
		host := timelinekit.NewHost(GinkgoT())
		_, err := host.Use(p)
		Expect(err).To(MatchError(want))
	},
		Entry("a hook that is misspelt", Misspelt{}, "timelinekit: plugin mine: its method TurnEnd looks like a hook, but is none; "+
			"name it TurnEnded, with func(context.Context, timelinekit.TurnEnded) error, or do not export it"),
		Entry("a hook under another name", Renamed{}, "timelinekit: plugin mine: its method Summarize looks like a hook, but is none; "+
			"name it TurnEnded, with func(context.Context, timelinekit.TurnEnded) error, or do not export it"),
		Entry("a hook with a wrong argument", WrongArgument{}, "timelinekit: plugin mine: its TurnEnded is "+
			"func(context.Context, timelinekit.TurnStarted) error, want func(context.Context, timelinekit.TurnEnded) error"),
		Entry("a hook with a wrong result", WrongResult{}, "timelinekit: plugin mine: its BeforeAgentCreate is "+
			"func(context.Context, timelinekit.AgentCreate) error, want func(context.Context, timelinekit.AgentCreate) (*timelinekit.AgentCreate, error)"),
		Entry("a value whose hooks are methods of its pointer", ByPointer{}, "timelinekit: plugin mine: TurnEnded is a method of "+
			"*timelinekit_test.ByPointer, and this is a timelinekit_test.ByPointer; give a pointer"),
		Entry("two functions for one hook", timelinekit.NewPlugin("mine",
			timelinekit.On(func(context.Context, timelinekit.TurnEnded) error { return nil }),
			timelinekit.On(func(context.Context, timelinekit.TurnEnded) error { return nil })), "timelinekit: plugin mine: it has two functions for agent.turn_ended"),
		Entry("a plugin without an id", timelinekit.NewPlugin(""), "timelinekit: a plugin needs an id; let its ID method return one"),
		Entry("no plugin", nil, "timelinekit: a plugin needs an id; let its ID method return one"),
	)
	It("is no error where a plugin has no hooks, or other methods besides", func() {
		host := timelinekit.NewHost(GinkgoT())
		_, err := host.Use(HasHelpers{})
		Expect(err).NotTo(HaveOccurred())
		_, err = host.Use(timelinekit.NewPlugin("other"))
		Expect(err).NotTo(HaveOccurred())
		_, err = host.Use(&ByPointer{})
		Expect(err).To(MatchError("timelinekit: there is a plugin mine already; remove it first, or give this one another id"))
	})
	It("is refused once the test is over, and may be done when the host is made", func(ctx SpecContext) {
		t := &recorder.T{}
		log := &timelinekit.Recorder{}
		host := timelinekit.NewHost(t, timelinekit.WithPlugins(log, timelinekit.NewPlugin("other")))
		host.RunPrompt(ctx, "x")
		Expect(host.HooksSettled(ctx)).To(Succeed())
		Expect(timelinekit.Recorded[timelinekit.TurnEnded](log)).To(HaveLen(1))
		Expect(func() { timelinekit.NewHost(t, timelinekit.WithPlugins(log, log)) }).To(PanicWith("timelinekit: there is a plugin recorder already; remove it first, or give this one another id"))
		Expect(t.End()).To(BeEmpty())
		_, err := host.Use(timelinekit.NewPlugin("late"))
		Expect(err).To(MatchError("timelinekit: the host is closed, as its test is over"))
	})
})

var _ = Describe("Before hooks", func() {
	var host *timelinekit.Host
	BeforeEach(func() { host = timelinekit.NewHost(GinkgoT()) })
	use := func(id string, hooks ...timelinekit.Hook) {
		GinkgoHelper()
		_, err := host.Use(timelinekit.NewPlugin(id, hooks...))
		Expect(err).NotTo(HaveOccurred())
	}
	type create = timelinekit.AgentCreate
	beforeCreate := func(fn func(ctx context.Context, r create) (*create, error)) timelinekit.Hook {
		return timelinekit.Before(fn)
	}

	It("are called in the order in which the plugins were registered; each gets what the one before it returned, and nil keeps it", func(ctx SpecContext) {
		var seen []string
		next := func(id, title string) {
			use(id, beforeCreate(func(_ context.Context, r create) (*create, error) {
				seen = append(seen, id+" got "+r.Title)
				if title == "" {
					return nil, nil
				}
				r.Title = title
				return &r, nil
			}))
		}
		next("z", "one")
		next("m", "")
		next("a", "two")
		id, err := host.CreateAgent(ctx, timelinekit.Title("none"))
		Expect(err).NotTo(HaveOccurred())
		Expect(seen).To(Equal([]string{"z got none", "m got one", "a got one"}))
		Expect(host.Agent(id)).To(HaveField("Title", "two"))
	})
	It("get copies: whatever a plugin does to what it got or returned, later, changes nothing", func(ctx SpecContext) {
		server := fakeagent.MCPServer{Name: "files", Command: "none", Args: []string{"a"}, Env: map[string]string{"K": "v"}, Headers: map[string]string{"H": "v"}}
		var kept []*create
		use("keeper", beforeCreate(func(_ context.Context, r create) (*create, error) {
			r.Env = map[string]string{"A": "1"}
			kept = append(kept, &r)
			return &r, nil
		}))
		use("vandal", beforeCreate(func(_ context.Context, r create) (*create, error) {
			kept[0].Env["A"], kept[0].MCPServers[0].Args[0] = "broken", "broken"
			r.Env["A"], r.MCPServers[0].Args[0], r.MCPServers[0].Env["K"], r.MCPServers[0].Headers["H"] = "broken", "broken", "broken", "broken"
			return nil, nil
		}), timelinekit.Before(func(_ context.Context, r timelinekit.SessionOpen) (*timelinekit.SessionOpen, error) {
			r.Env["A"] = "broken"
			return nil, nil
		}))
		var last create
		var opened timelinekit.SessionOpen
		use("last", beforeCreate(func(_ context.Context, r create) (*create, error) { last = r; return nil, nil }),
			timelinekit.Before(func(_ context.Context, r timelinekit.SessionOpen) (*timelinekit.SessionOpen, error) {
				opened = r
				return nil, nil
			}))
		_, err := host.CreateAgent(ctx, timelinekit.MCPServers(server))
		Expect(err).NotTo(HaveOccurred())
		Expect(last.Env).To(Equal(map[string]string{"A": "1"}))
		Expect(opened.Env).To(Equal(map[string]string{"A": "1"}))
		Expect(last.MCPServers[0].Args).To(Equal([]string{"a"}))
		Expect(server.Args).To(Equal([]string{"a"}), "nor does it reach what the test gave")
		Expect(server.Env).To(Equal(map[string]string{"K": "v"}))
		Expect(server.Headers).To(Equal(map[string]string{"H": "v"}))
	})
	It("may choose another provider, and servers and environment of the session", func(ctx SpecContext) {
		var opened fakeagent.SessionConfig
		_, err := host.Register("puppet", &puppet{onStart: func(s fakeagent.SessionConfig) error { opened = s; return nil }})
		Expect(err).NotTo(HaveOccurred())
		use("p", beforeCreate(func(_ context.Context, r create) (*create, error) {
			return &create{Provider: "puppet", Cwd: r.Cwd, Env: map[string]string{"A": "1"}, MCPServers: []fakeagent.MCPServer{{Name: "s", URL: "http://127.0.0.1:1"}}}, nil
		}), timelinekit.Before(func(_ context.Context, r timelinekit.SessionOpen) (*timelinekit.SessionOpen, error) {
			r.Env["B"] = "2"
			return &r, nil
		}))
		id, err := host.CreateAgent(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(host.Agent(id)).To(HaveField("Provider", "puppet"))
		Expect(opened.Env).To(Equal(map[string]string{"A": "1", "B": "2"}))
		Expect(opened.MCPServers).To(HaveExactElements(HaveField("Name", "s")))
	})
	It("are not asked about what is wrong from the start", func(ctx SpecContext) {
		use("guard", beforeCreate(func(context.Context, create) (*create, error) { panic("it was called") }))
		_, err := host.CreateAgent(ctx, timelinekit.Provider("claude"))
		Expect(err).To(MatchError(`timelinekit: no provider "claude"; this host has: fake-agent`))
	})
	It("may make an agent themselves, but the id that is taken then is an error", func(ctx SpecContext) {
		first := true
		use("eager", beforeCreate(func(ctx context.Context, _ create) (*create, error) {
			if first {
				first = false
				_, err := host.CreateAgent(ctx, timelinekit.AgentID("a"))
				return nil, err
			}
			return nil, nil
		}))
		_, err := host.CreateAgent(ctx, timelinekit.AgentID("a"))
		Expect(err).To(MatchError(`timelinekit: there is an agent "a" already; use another id`))
	})
	It("set the environment of the session, which its commands see", func(ctx SpecContext) {
		use("env", timelinekit.Before(func(_ context.Context, r timelinekit.SessionOpen) (*timelinekit.SessionOpen, error) {
			r.Env = map[string]string{"UNDERSTUDY_COLOR": "green"}
			return &r, nil
		}))
		run := host.RunFakeAgentTurn(ctx, script.New(script.BashRun("echo $UNDERSTUDY_COLOR")))
		Expect(run.Items()[0].(timeline.ToolCall).Detail).To(HaveField("Output", "green\n"))
	})
	It("may change everything about a workspace", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		use("mover", timelinekit.Before(func(_ context.Context, r timelinekit.WorkspaceCreate) (*timelinekit.WorkspaceCreate, error) {
			return &timelinekit.WorkspaceCreate{ProjectID: "other", Title: "moved", Cwd: dir}, nil
		}))
		Expect(host.CreateWorkspace(ctx, timelinekit.WorkspaceCreate{Title: "mine"})).To(Equal(
			timelinekit.WorkspaceInfo{ID: "workspace-1", ProjectID: "other", Name: "moved", Cwd: dir}))
	})
	It("find the agent's folder there already, so that they can put something into it", func(ctx SpecContext) {
		use("seed", timelinekit.Before(func(_ context.Context, r timelinekit.SessionOpen) (*timelinekit.SessionOpen, error) {
			return nil, os.WriteFile(filepath.Join(r.Cwd, "seed.txt"), []byte("seed"), 0o644)
		}))
		run := host.RunFakeAgentTurn(ctx, script.New(script.Edit("seed.txt", "seed", "tree")))
		Expect(run).To(HaveItems(BeToolCall("Edit", WithStatus(timeline.Completed))))
	})

	Describe("stop what was about to be done", func() {
		refuse := errors.New("not on a Sunday")
		It("by an error, which the caller gets with the plugin and the hook; later hooks are not called, and nothing is left", func(ctx SpecContext) {
			use("guard", beforeCreate(func(context.Context, create) (*create, error) { return nil, refuse }))
			use("later", beforeCreate(func(context.Context, create) (*create, error) { panic("it was called") }))
			_, err := host.CreateAgent(ctx, timelinekit.AgentID("a"))
			Expect(err).To(MatchError("timelinekit: agent a was not created: plugin guard stopped agent.create: not on a Sunday"))
			Expect(err).To(MatchError(refuse))
			var stopped *timelinekit.HookError
			Expect(errors.As(err, &stopped)).To(BeTrue())
			Expect(*stopped).To(Equal(timelinekit.HookError{Plugin: "guard", Hook: "agent.create", Err: refuse}))
			Expect(host.Dump()).To(BeEmpty())
		})
		It("when a session would be opened: there is no agent then either", func(ctx SpecContext) {
			use("guard", timelinekit.Before(func(context.Context, timelinekit.SessionOpen) (*timelinekit.SessionOpen, error) { return nil, refuse }))
			_, err := host.CreateAgent(ctx)
			Expect(err).To(MatchError("timelinekit: agent agent-1 could not start: plugin guard stopped agent.session_open: not on a Sunday"))
			Expect(host.Dump()).To(BeEmpty())
		})
		It("when a workspace would be created", func(ctx SpecContext) {
			use("guard", timelinekit.Before(func(context.Context, timelinekit.WorkspaceCreate) (*timelinekit.WorkspaceCreate, error) {
				return nil, refuse
			}))
			_, err := host.CreateWorkspace(ctx, timelinekit.WorkspaceCreate{})
			Expect(err).To(MatchError("timelinekit: the workspace was not created: plugin guard stopped workspace.create: not on a Sunday"))
			Expect(host.Workspaces()).To(BeEmpty())
		})
		It("by a panic", func(ctx SpecContext) {
			use("guard", beforeCreate(func(context.Context, create) (*create, error) { panic("no list") }))
			_, err := host.CreateAgent(ctx)
			Expect(err).To(MatchError(And(HavePrefix("timelinekit: agent agent-1 was not created: plugin guard stopped agent.create: it panicked: no list\n"),
				ContainSubstring("hook_test.go:"))))
		})
		It("by failing the test on their own goroutine", func(ctx SpecContext) {
			use("guard", beforeCreate(func(context.Context, create) (*create, error) { runtime.Goexit(); return nil, nil }))
			_, err := host.CreateAgent(ctx)
			Expect(err).To(MatchError(HavePrefix("timelinekit: agent agent-1 was not created: plugin guard stopped agent.create: it called runtime.Goexit")))
		})
		DescribeTable("by a result that cannot be used:", func(ctx SpecContext, change func(r *create), want string) {
			use("guard", beforeCreate(func(_ context.Context, r create) (*create, error) { change(&r); return &r, nil }))
			_, err := host.CreateAgent(ctx, timelinekit.Cwd("/"))
			Expect(err).To(MatchError("timelinekit: agent agent-1 was not created: plugin guard stopped agent.create: what it returned cannot be used: " + want))
			Expect(host.Dump()).To(BeEmpty())
		},
			Entry("another folder", func(r *create) { r.Cwd = "/tmp" }, `it changed Cwd from "/" to "/tmp"; an agent's folder is set by who creates it`),
			Entry("a provider that the host does not have", func(r *create) { r.Provider = "claude" }, `no provider "claude"; this host has: fake-agent`),
			Entry("no provider", func(r *create) { r.Provider = "" }, `no provider ""; this host has: fake-agent`),
			Entry("a server without a name", func(r *create) { r.MCPServers = []fakeagent.MCPServer{{Command: "x"}} }, `MCP server 1 has no Name; scripts and agents call it by that`),
			Entry("two servers of one name", func(r *create) { r.MCPServers = []fakeagent.MCPServer{{Name: "a"}, {Name: "a"}} }, `there are two MCP servers "a"; give each a Name of its own`),
			Entry("a server of two kinds", func(r *create) { r.MCPServers = []fakeagent.MCPServer{{Name: "a", Command: "x", URL: "y"}} },
				`MCP server "a" has a Command and a URL; it can be only one of them`),
			Entry("a name that no variable can have", func(r *create) { r.Env = map[string]string{"A=B": "secret"} },
				`"A=B" cannot be an environment variable; a name is not empty and has no =, and neither name nor value has a NUL`),
		)
		It("by changing more of a session than its environment", func(ctx SpecContext) {
			use("guard", timelinekit.Before(func(_ context.Context, r timelinekit.SessionOpen) (*timelinekit.SessionOpen, error) {
				r.Cwd = "/"
				return &r, nil
			}))
			_, err := host.CreateAgent(ctx)
			Expect(err).To(MatchError(HaveSuffix("what it returned cannot be used: it changed more than Env, and nothing else may be changed")))
		})
		It("by giving a workspace a folder that is not there", func(ctx SpecContext) {
			use("guard", timelinekit.Before(func(_ context.Context, r timelinekit.WorkspaceCreate) (*timelinekit.WorkspaceCreate, error) {
				r.Cwd = "/no/such/folder"
				return &r, nil
			}))
			_, err := host.CreateWorkspace(ctx, timelinekit.WorkspaceCreate{})
			Expect(err).To(MatchError(HaveSuffix(`what it returned cannot be used: timelinekit: cwd "/no/such/folder" cannot be used (no such file or directory); create the folder first`)))
		})
	})
	It("print what they were asked without the secrets in it", func(ctx SpecContext) {
		secret := "hunter2"
		r := create{Provider: "p", Cwd: "/w", Env: map[string]string{"TOKEN": secret}, MCPServers: []fakeagent.MCPServer{{Name: "s", URL: "http://" + secret, Headers: map[string]string{"A": secret}}}}
		o := timelinekit.SessionOpen{AgentID: "a", Provider: "p", Cwd: "/w", Env: map[string]string{"TOKEN": secret}}
		for _, s := range []string{fmt.Sprint(r), fmt.Sprintf("%#v", r), format.Object(r, 0), fmt.Sprintf("%+v", o), fmt.Sprintf("%#v", o), format.Object(o, 0),
			format.Object(timelinekit.HookCall{Hook: "agent.create", With: r}, 0)} {
			Expect(s).To(ContainSubstring("TOKEN set"))
			Expect(s).NotTo(ContainSubstring(secret))
		}
	})
})

var _ = Describe("Before hooks that take too long", bubble.InBubble, func() {
	var host *timelinekit.Host
	BeforeEach(func() { host = timelinekit.NewHost(GinkgoT()) })
	use := func(hook func(context.Context, timelinekit.AgentCreate) (*timelinekit.AgentCreate, error)) {
		GinkgoHelper()
		_, err := host.Use(timelinekit.NewPlugin("guard", timelinekit.Before(hook)))
		Expect(err).NotTo(HaveOccurred())
	}
	stuck := func() (release chan struct{}) {
		release = make(chan struct{})
		use(func(context.Context, timelinekit.AgentCreate) (*timelinekit.AgentCreate, error) {
			<-release
			return nil, nil
		})
		return release
	}
	It("stop it after 30 seconds, also where they do not look at their context", func(ctx SpecContext) {
		defer close(stuck())
		began := time.Now()
		_, err := host.CreateAgent(ctx)
		Expect(err).To(MatchError("timelinekit: agent agent-1 was not created: plugin guard stopped agent.create: has not returned within 30s"))
		Expect(time.Since(began)).To(Equal(30 * time.Second))
	})
	It("stop it when the caller's context ends", func(ctx SpecContext) {
		defer close(stuck())
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := host.CreateAgent(soon)
		Expect(err).To(MatchError("timelinekit: agent agent-1 was not created: plugin guard stopped agent.create: context deadline exceeded"))
	})
	It("have a context that ends as well", func(ctx SpecContext) {
		var cause error
		use(func(ctx context.Context, _ timelinekit.AgentCreate) (*timelinekit.AgentCreate, error) {
			<-ctx.Done()
			cause = ctx.Err()
			return nil, cause
		})
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		began := time.Now()
		_, err := host.CreateAgent(soon)
		Expect(err).To(HaveOccurred())
		Expect(time.Since(began)).To(Equal(time.Second))
	})
})

var _ = Describe("HooksSettled", func() {
	It("returns at once where no hook was fired", bubble.InBubble, func() {
		Expect(timelinekit.NewHost(GinkgoT()).HooksSettled(context.Background())).To(Succeed())
	})
	It("waits for every hook that was fired so far, and for none that is fired later", bubble.InBubble, func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		for i, id := range []string{"a", "b"} {
			_, err := host.Use(timelinekit.NewPlugin(id, timelinekit.On(func(context.Context, timelinekit.TurnEnded) error {
				time.Sleep(time.Duration(i+1) * time.Second)
				return nil
			})))
			Expect(err).NotTo(HaveOccurred())
		}
		began := time.Now()
		id := host.RunPrompt(ctx, "x").AgentID
		time.AfterFunc(1500*time.Millisecond, func() { _, _ = host.SendTurn(ctx, id, "y") })
		Expect(host.HooksSettled(ctx)).To(Succeed())
		Expect(time.Since(began)).To(Equal(2 * time.Second))
		Expect(host.HooksSettled(ctx)).To(Succeed())
		Expect(time.Since(began)).To(Equal(4 * time.Second))
	})
	It("gives up with its context, or after 30 seconds, and names the hooks that run and those that wait for them", bubble.InBubble, func(ctx SpecContext) {
		t := &recorder.T{}
		host := timelinekit.NewHost(t)
		release := make(chan struct{})
		_, err := host.Use(timelinekit.NewPlugin("p", timelinekit.On(func(context.Context, timelinekit.TurnEnded) error { <-release; return nil })))
		Expect(err).NotTo(HaveOccurred())
		id := host.RunPrompt(ctx, "x").AgentID
		host.SendPrompt(ctx, id, "y")
		began := time.Now()
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		Expect(host.HooksSettled(soon)).To(MatchError("timelinekit: hooks have not returned (context deadline exceeded):\n" +
			"  plugin p: agent.turn_ended of agent-1-turn-1 still runs\n  plugin p: agent.turn_ended of agent-1-turn-2 was not called yet"))
		Expect(time.Since(began)).To(Equal(time.Second))
		Expect(host.HooksSettled(ctx)).To(MatchError(ContainSubstring("gave up after 30s")))
		Expect(time.Since(began)).To(Equal(31 * time.Second))
		close(release)
		Expect(host.HooksSettled(ctx)).To(Succeed())
		Expect(host.Violations()).To(HaveLen(1), "the hook took longer than it may")
		Expect(t.End()).To(BeEmpty())
	})
	It("called by a hook is an error at once, since that would wait for itself", func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		got := make(chan error, 1)
		_, err := host.Use(timelinekit.NewPlugin("p", timelinekit.On(func(ctx context.Context, _ timelinekit.TurnEnded) error { got <- host.HooksSettled(ctx); return nil })))
		Expect(err).NotTo(HaveOccurred())
		host.RunPrompt(ctx, "x")
		Expect(<-got).To(MatchError("timelinekit: HooksSettled was called by a hook of plugin p, for which it would wait; call it from the test"))
	})
})

var _ = Describe("Hooks at the end of a test", func() {
	It("that were fired are waited for, and may still use the host", bubble.InBubble, func(ctx SpecContext) {
		t := &recorder.T{}
		host := timelinekit.NewHost(t)
		var rows int
		_, err := host.Use(timelinekit.NewPlugin("p", timelinekit.On(func(ctx context.Context, e timelinekit.TurnEnded) error {
			time.Sleep(4 * time.Second)
			if _, err := host.SendTurn(ctx, e.Agent.ID, "one more"); err != nil {
				return err
			}
			rows++
			return nil
		})))
		Expect(err).NotTo(HaveOccurred())
		id := host.RunPrompt(ctx, "x").AgentID
		host.SendPrompt(ctx, id, "y")
		Expect(t.End()).To(BeEmpty())
		Expect(rows).To(Equal(2), "the hook of each turn, and no hook of the turn that it sent itself: that would never end")
	})
	It("that do not return within 10 seconds are named, and their context ends", bubble.InBubble, func(ctx SpecContext) {
		t := &recorder.T{}
		host := timelinekit.NewHost(t)
		ended := make(chan error, 2)
		_, err := host.Use(timelinekit.NewPlugin("p", timelinekit.On(func(ctx context.Context, _ timelinekit.TurnEnded) error {
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		})))
		Expect(err).NotTo(HaveOccurred())
		id := host.RunPrompt(ctx, "x").AgentID
		host.SendPrompt(ctx, id, "y")
		began := time.Now()
		Expect(t.End()).To(Equal([]string{"timelinekit: at the end of the test:\n  hooks have not returned (within 10s of the test's end):\n" +
			"  plugin p: agent.turn_ended of agent-1-turn-1 still runs\n  plugin p: agent.turn_ended of agent-1-turn-2 was not called yet"}))
		Expect(time.Since(began)).To(Equal(10 * time.Second))
		Expect(<-ended).To(MatchError(context.Canceled))
		synctest.Wait()
		Expect(ended).To(BeEmpty(), "the one that waited is not called any more")
	})
	It("that were asked before something is done are waited for as well", bubble.InBubble, func(ctx SpecContext) {
		t := &recorder.T{}
		host := timelinekit.NewHost(t, timelinekit.WithPlugins(timelinekit.NewPlugin("p", timelinekit.Before(
			func(context.Context, timelinekit.AgentCreate) (*timelinekit.AgentCreate, error) {
				time.Sleep(4 * time.Second)
				return nil, nil
			}))))
		created := make(chan error, 1)
		began := time.Now()
		go func() {
			_, err := host.CreateAgent(ctx)
			created <- err
		}()
		synctest.Wait()
		Expect(t.End()).To(BeEmpty())
		Expect(time.Since(began)).To(Equal(4 * time.Second))
		<-created
	})
	It("are not fired for the turns that it interrupts", func(ctx SpecContext) {
		t := &recorder.T{}
		log := &timelinekit.Recorder{}
		host := timelinekit.NewHost(t, timelinekit.WithPlugins(log))
		turn := host.StartFakeAgentTurn(ctx, script.New(script.Sleep(time.Hour)))
		Expect(host.WaitFor(ctx, turn.AgentID, ContainItems(BeUserMessage(Not(BeEmpty()))))).To(Succeed())
		Expect(t.End()).To(BeEmpty())
		Expect(turn.Wait(ctx)).To(EndCanceled())
		Expect(timelinekit.Recorded[timelinekit.TurnStarted](log)).To(HaveLen(1))
		Expect(timelinekit.Recorded[timelinekit.TurnEnded](log)).To(BeEmpty())
	})
})
