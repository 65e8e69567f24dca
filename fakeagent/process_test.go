package fakeagent_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

// said are the events so far, each on one line.
func (a *agent) said() []string {
	var out []string
	for _, e := range a.seen() {
		out = append(out, event.Line(e))
	}
	return out
}

var _ = Describe("An agent whose process ends", func() {
	var a *agent
	var exited chan string // each session.exited of thread a
	ctx := context.Background()
	watch := func() {
		a.Subscribe(func(e event.Event) {
			if _, ok := e.Payload.(event.SessionExited); ok && e.ThreadID == "a" {
				exited <- event.Line(e)
			}
		})
	}
	BeforeEach(func() {
		a, exited = scripted(), make(chan string, 10)
		watch()
	})

	It("fails its turn, plays no later step, and closes its session behind the turn", func() {
		run := a.run(`[{"say":"before"},{"exit":3},{"say":"never"}]`)
		Expect(run).To(And(EndFailed("the agent exited with code 3"),
			HaveItems(BeAssistantMessage("before"), BeErrorItem("the agent exited with code 3"))))
		<-exited
		Expect(a.said()).To(Equal([]string{
			"session.started",
			"turn.started",
			`content.delta a-1-1 {"streamKind":"assistant_text","delta":"before"}`,
			`process.exit {"code":3}`,
			`turn.completed {"state":"failed","errorMessage":"the agent exited with code 3"}`,
			`session.exited {"reason":"the agent exited with code 3","exitKind":"error"}`,
		}))
		for _, e := range a.seen()[1:5] {
			Expect(e.TurnID).To(Equal(run.TurnID))
		}
		Expect(a.seen()[5].TurnID).To(BeEmpty())
		Expect(a.Violations()).To(BeEmpty())
	})
	DescribeTable("says how",
		func(exit script.Step, payload, how string) {
			Expect(a.play(exit)).To(EndFailed(how))
			Expect(<-exited).To(ContainSubstring(`{"reason":"` + how + `","exitKind":"error"}`))
			Expect(a.said()).To(ContainElement("process.exit" + payload))
		},
		Entry("with a code", script.Exit(255), ` {"code":255}`, "the agent exited with code 255"),
		Entry("with the code of success, which fails the turn all the same", script.Exit(0), "", "the agent exited with code 0"),
		Entry("by a signal", script.ExitStep{Signal: "SIGKILL"}, ` {"signal":"SIGKILL"}`, "the agent was killed by SIGKILL"),
	)
	It("may be started again, and goes on with its history and its numbering", func() {
		a.play(script.Exit(1))
		<-exited
		_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "x"})
		Expect(err).To(MatchError(fakeagent.ErrNoSession))
		Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a"})).To(Succeed())
		Expect(lines(a.play(script.Say("again")), a.cwd)).To(HaveExactElements(`{"type":"assistant_message","text":"again","messageId":"a-2-1"}`))
		Expect(a.StopSession(ctx, "a")).To(Succeed())
		Expect(<-exited).To(Equal(`session.exited {"reason":"stopped","exitKind":"graceful"}`), "a session is told how it ended, not how an earlier one did")
	})
	It("may be started again from inside its session's last event", func() {
		again := make(chan error, 1)
		a.Subscribe(func(e event.Event) {
			if _, ok := e.Payload.(event.SessionExited); ok {
				again <- a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a"})
			}
		})
		a.play(script.Exit(1))
		Expect(<-again).To(Succeed())
		Expect(a.play(script.Say("again"))).To(EndCompleted())
	})
	It("takes no turn before that, not even from inside the last event of the turn that it ended in", func() {
		next := make(chan error, 1)
		a.Subscribe(func(e event.Event) {
			if _, ok := e.Payload.(event.TurnCompleted); ok {
				_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "x"})
				next <- err
			}
		})
		a.play(script.Exit(1))
		Expect(<-next).To(MatchError(fakeagent.ErrNoSession))
		<-exited
	})
	DescribeTable("closes its session once, and says why, whoever stops or interrupts it at that moment",
		func(stop func() error) {
			said := make(chan error, 1)
			a.Subscribe(func(e event.Event) {
				if _, ok := e.Payload.(event.ProcessExit); ok {
					said <- stop()
				}
			})
			Expect(a.play(script.Exit(1))).To(EndFailed("the agent exited with code 1"))
			Expect(<-said).To(Succeed())
			Expect(<-exited).To(Equal(`session.exited {"reason":"the agent exited with code 1","exitKind":"error"}`))
			Expect(a.Close()).To(Succeed())
			Expect(exited).To(BeEmpty())
		},
		Entry("with StopSession", func() error { return a.StopSession(ctx, "a") }),
		Entry("with InterruptTurn", func() error { return a.InterruptTurn(ctx, "a", "") }),
	)
	It("leaves the other threads alone", func() {
		ended := make(chan event.TurnCompleted, 1)
		a.Subscribe(func(e event.Event) {
			if end, ok := e.Payload.(event.TurnCompleted); ok && e.ThreadID == "b" {
				ended <- end
			}
		})
		Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "b"})).To(Succeed())
		_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "b", Text: `[{"hold":"g"}]`})
		Expect(err).NotTo(HaveOccurred())
		Expect(a.Gate("b", "g").AwaitHeld(ctx)).To(Succeed())
		a.play(script.Exit(1))
		<-exited
		a.Gate("b", "g").Release()
		Expect(<-ended).To(Equal(event.TurnCompleted{State: event.TurnEndCompleted}))
		_, err = a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "b", Text: `[]`})
		Expect(err).NotTo(HaveOccurred())
		Expect((<-ended).State).To(Equal(event.TurnEndCompleted))
	})
	It("settles the rows of the approval in whose branch that happens", func() {
		a.Subscribe(func(e event.Event) {
			if _, ok := e.Payload.(event.RequestOpened); ok && e.RequestID == "req-2" {
				_ = a.RespondToRequest(ctx, "a", "req-1", fakeagent.Accept)
				_ = a.RespondToRequest(ctx, "a", "req-2", fakeagent.Accept)
			}
		})
		run := a.run(`[{"approval":[{"title":"one","allow":[{"exit":{"signal":"SIGSEGV"}},{"say":"never"}]},{"title":"two"}]},{"say":"never"}]`)
		Expect(run).To(And(EndFailed("the agent was killed by SIGSEGV"), HaveItems(
			BeShellCall("one", WithError("the agent was killed by SIGSEGV")), BeShellCall("two", WithError("canceled")),
			BeErrorItem("the agent was killed by SIGSEGV"))))
		<-exited
		Expect(a.types()).To(Equal([]string{
			"session.started", "turn.started", "item.started", "request.opened", "item.started", "request.opened", "request.resolved", "request.resolved",
			"process.exit", "item.completed", "item.completed", "turn.completed", "session.exited",
		}))
		Expect(a.seen()).To(BeWellFormed())
	})
	It("is disconnected from its MCP servers first", func() {
		servers := &notebook{}
		cfg := fakeagent.Scripted()
		cfg.MCP = servers
		a = startWith(cfg, fakeagent.SessionConfig{ThreadID: "a", MCPServers: []fakeagent.MCPServer{{Name: "s", Command: "x"}}})
		DeferCleanup(a.Close)
		a.Subscribe(func(e event.Event) {
			if _, ok := e.Payload.(event.SessionExited); ok {
				servers.note("exited")
			}
		})
		watch()
		Expect(a.run(`[{"mcp":{"server":"s","tool":"t"}},{"exit":1}]`)).To(EndFailed("the agent exited with code 1"))
		<-exited
		Expect(servers.notes).To(Equal([]string{"connect s", "call s t {}", "close s", "exited"}))
	})
})

var _ = Describe("Steps that only some doors can play", func() {
	const all = `[{"stderr":"oh\n"},{"raw":"{not json\n"},{"raw":{"base64":"/wA="}},{"say":"end"}]`
	with := func(keys ...string) *agent {
		GinkgoHelper()
		cfg := fakeagent.Scripted()
		cfg.DoorSteps = keys
		a := start(cfg, "")
		DeferCleanup(a.Close)
		return a
	}

	DescribeTable("fail the turn where nobody has said that he plays them; no later step runs, and the next turn works normally",
		func(prompt, step string) {
			a := with()
			a.Subscribe(func(e event.Event) {
				if _, ok := e.Payload.(event.RequestOpened); ok {
					_ = a.RespondToRequest(context.Background(), "a", e.RequestID, fakeagent.Decline)
				}
			})
			run := a.run(prompt)
			Expect(run.Ending).To(Equal(timeline.Ending{Kind: timeline.Failed, Message: "fake-agent: " + step + ": not supported by this door"}))
			Expect(run).NotTo(ContainItems(BeAssistantMessage("never")))
			Expect(a.types()).NotTo(ContainElement(HavePrefix("process.")))
			Expect(a.play(script.Say("x"))).To(EndCompleted())
		},
		Entry("stderr", `[{"say":"before"},{"stderr":"oh\n"},{"say":"never"}]`, `step 2 {"stderr":"oh\n"}`),
		Entry("raw", `[{"raw":"{"},{"say":"never"}]`, `step 1 {"raw":"{"}`),
		Entry("raw bytes", `[{"raw":{"base64":"/w=="}},{"say":"never"}]`, `step 1 {"raw":{"base64":"/w=="}}`),
		Entry("one in a branch", `[{"approval":{"title":"x","deny":[{"stderr":"x"},{"say":"never"}]}}]`, `step 1 (approval), its step 1 {"stderr":"x"}`),
	)
	It("are events where somebody has, in their place among the others, and no items", func() {
		a := with("stderr", "raw")
		Expect(a.run(all)).To(And(EndCompleted(), HaveItems(BeAssistantMessage("end"))))
		Expect(a.said()).To(Equal([]string{
			"session.started",
			"turn.started",
			`process.stderr {"text":"oh\n"}`,
			`process.raw {"base64":"e25vdCBqc29uCg=="}`,
			`process.raw {"base64":"/wA="}`,
			`content.delta a-1-1 {"streamKind":"assistant_text","delta":"end"}`,
			`turn.completed {"state":"completed"}`,
		}))
		Expect(a.seen()[4]).To(And(HaveField("TurnID", "a-turn-1"), HaveField("Payload", event.ProcessRaw{Bytes: []byte{0xff, 0}})))
	})
	It("are refused one by one", func() {
		Expect(with("raw").run(all)).To(EndFailed(`fake-agent: step 1 {"stderr":"oh\n"}: not supported by this door`))
		a := with("stderr")
		Expect(a.run(all)).To(EndFailed(`fake-agent: step 2 {"raw":"{not json\n"}: not supported by this door`))
		Expect(a.types()).To(ContainElement("process.stderr"))
	})
	DescribeTable("are no others: a name that is none of them is an error",
		func(key string) {
			_, err := fakeagent.New(fakeagent.Config{DoorSteps: []string{"raw", key}})
			Expect(err).To(MatchError(`fakeagent: DoorSteps has "` + key + `"; only stderr and raw can be there`))
		},
		Entry("a misspelt one", "stdrr"), Entry("one that every door plays", "exit"), Entry("nothing", ""),
	)
})
