package fakeagent_test

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("A turn", func() {
	var a *agent
	ctx := context.Background()
	BeforeEach(func() { a = scripted() })

	Describe("as events", func() {
		It("begins with turn.started and ends with exactly one turn.completed", func() {
			a.play(script.Say("x"), script.Bash("ls", "", 0), script.PlanStep{Entries: []script.PlanEntry{{Text: "x"}}})
			Expect(a.types()).To(Equal([]string{"session.started", "turn.started", "content.delta", "item.started", "item.completed", "turn.plan.updated", "turn.completed"}))
		})
		It("has one id, that SendTurn returned, on every event of it", func() {
			id := a.send(`[{"say":"x"},{"bash":{"command":"ls"}}]`)
			a.wait(id)
			for _, e := range a.seen()[1:] {
				Expect(e.TurnID).To(Equal(id))
			}
		})
		It("counts the events of a thread and gives them its name, its provider and their time", func() {
			a.play(script.Say("x"))
			a.play(script.Say("y"))
			for i, e := range a.seen() {
				Expect(e.Seq).To(BeEquivalentTo(i + 1))
				Expect(e.ThreadID).To(Equal("a"))
				Expect(e.Provider).To(Equal("fake-agent"))
				Expect(e.Time).To(BeTemporally("~", time.Now(), time.Minute))
			}
		})
		It("is the same after it was encoded and decoded, and folds to the same items", func() {
			cfg := fakeagent.Scripted()
			cfg.DoorSteps = []string{"stderr", "raw"}
			a := start(cfg, GinkgoT().TempDir())
			DeferCleanup(a.Close)
			a.run(`[{"stderr":"<oh>\n"},{"raw":{"base64":"/wA="}},{"say":{"text":"<a> & b","chunks":3}},{"think":"hm"},{"write":{"path":"x","content":"\u2028"}},{"bash":{"command":"x","exitCode":2}},
				{"tool":{"name":"t","input":{"a":1},"output":[{"b":"<"}]}},{"plan":[{"text":"p"}]},{"usage":{"usedTokens":3}},{"fail":{"message":"no","code":7}}]`)
			a.run(`[{"exit":{"signal":"SIGINT"}}]`)
			var live, again event.Fold
			for _, e := range a.seen() {
				b, err := e.MarshalJSON()
				Expect(err).NotTo(HaveOccurred())
				var decoded event.Event
				Expect(decoded.UnmarshalJSON(b)).To(Succeed())
				Expect(decoded).To(Equal(e))
				item, _, ok := live.Item(e)
				same, _, _ := again.Item(decoded)
				if ok {
					Expect(same).To(Equal(item))
				}
			}
		})
	})

	Describe("ends", func() {
		It("completed when every step ran", func() { Expect(a.play(script.Say("x"))).To(EndCompleted()) })
		It("completed when there is no step", func() { Expect(a.play()).To(And(EndCompleted(), HaveItems())) })
		It("failed when a step says so; the next turn works normally", func() {
			Expect(a.play(script.Fail("no"))).To(EndFailed("no"))
			Expect(a.play(script.Say("x"))).To(EndCompleted())
		})
		It("canceled when it was interrupted; the remaining steps do not run, and the next turn works normally", func() {
			id := a.send(`[{"say":"before"},{"hold":"g"},{"say":"after"}]`)
			Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
			Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
			Expect(a.wait(id)).To(And(EndCanceled(), HaveItems(BeAssistantMessage("before"))))
			Expect(a.play(script.Say("x"))).To(EndCompleted())
		})
	})

	Describe("is interrupted at once", func() {
		// Each script waits for an hour; on virtual time the turn must end at the very instant of the interrupt.
		DescribeTable("in every waiting place", bubble.InBubble,
			func(ctx SpecContext, prompt string, items ...any) {
				cfg := fakeagent.Scripted()
				cfg.Shell = shellFunc(func(ctx context.Context, _ fakeagent.SessionConfig, _ string) (fakeagent.ShellResult, error) {
					<-ctx.Done()
					return fakeagent.ShellResult{Signal: "SIGKILL"}, nil
				})
				a := start(cfg, "")
				defer a.Close()
				began := time.Now()
				id := a.send(prompt)
				time.Sleep(time.Second)
				Expect(a.InterruptTurn(ctx, "a", "")).To(Succeed())
				run := a.wait(id)
				Expect(time.Since(began)).To(Equal(time.Second))
				Expect(run).To(And(EndCanceled(), HaveItems(items...)))
			},
			Entry("sleep", `[{"sleep":3600000},{"say":"x"}]`),
			Entry("the pause before a step", `{"stepDelayMs":3600000,"steps":[{"say":"x"}]}`),
			Entry("between two chunks", `[{"say":{"text":"ab","chunks":2,"intervalMs":3600000}}]`, BeAssistantMessage("a")),
			Entry("a tool that is held", `[{"tool":{"name":"t","holdMs":3600000}},{"say":"x"}]`, BeToolCall("t", WithError("canceled"))),
			Entry("a shell command", `[{"bash":{"command":"x","run":true}},{"say":"x"}]`, BeShellCall("x", WithError("canceled"))),
			Entry("a gate", `[{"hold":"g"},{"say":"x"}]`),
			Entry("an approval", `[{"approval":{"title":"rm"}},{"say":"x"}]`, BeShellCall("rm", WithError("canceled"))),
			Entry("an approval whose tool is held", `[{"approval":{"title":"rm","tool":{"name":"t","holdMs":3600000},"allow":[{"say":"x"}]}}]`, BeToolCall("t", WithError("canceled"))),
			Entry("a list of approvals", `[{"approval":[{"title":"rm"},{"title":"mv","timeoutMs":3600000}]}]`,
				BeShellCall("rm", WithError("canceled")), BeShellCall("mv", WithError("canceled"))),
			Entry("a sleep in the branch of an approval that is already answered", `[{"approval":[{"title":"rm","timeoutMs":100}]},{"sleep":3600000}]`,
				BeShellCall("rm", WithError("no answer to the approval after 100ms"))),
		)
		It("by the end of the context that SendTurn got", func() {
			turn, cancel := context.WithCancel(ctx)
			id, err := a.SendTurn(turn, fakeagent.TurnInput{ThreadID: "a", Text: `[{"hold":"g"}]`})
			Expect(err).NotTo(HaveOccurred())
			Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
			cancel()
			Expect(a.wait(id)).To(EndCanceled())
		})
		It("before its first step, from inside the event that starts it", func() {
			var said error
			a.Subscribe(func(e event.Event) {
				if _, ok := e.Payload.(event.TurnStarted); ok {
					said = a.InterruptTurn(ctx, "a", e.TurnID)
				}
			})
			Expect(a.play(script.Say("x"))).To(And(EndCanceled(), HaveItems()))
			Expect(said).NotTo(HaveOccurred())
			Expect(a.run(`[{"sey":"x"}]`)).To(EndCanceled(), "its script is not even looked at")
		})
		It("while its last step plays", func() {
			a.Subscribe(func(e event.Event) {
				if _, ok := e.Payload.(event.Delta); ok {
					_ = a.InterruptTurn(ctx, "a", e.TurnID)
				}
			})
			Expect(a.play(script.Say("x"))).To(And(EndCanceled(), HaveItems(BeAssistantMessage("x"))))
		})
	})

	Describe("an interrupt", func() {
		It("of an agent that does nothing does nothing, and is no error", func() {
			Expect(a.InterruptTurn(ctx, "a", "")).To(Succeed())
			Expect(a.types()).To(Equal([]string{"session.started"}))
			Expect(a.play(script.Say("x"))).To(EndCompleted())
		})
		It("of another turn than the one that runs does nothing", func() {
			old := a.send(`[]`)
			a.wait(old)
			id := a.send(`[{"hold":"g"}]`)
			Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
			Expect(a.InterruptTurn(ctx, "a", old)).To(Succeed())
			a.Gate("a", "g").Release()
			Expect(a.wait(id)).To(EndCompleted())
		})
		It("of a thread that is not open is an error", func() {
			Expect(a.InterruptTurn(ctx, "b", "")).To(MatchError(fakeagent.ErrNoSession))
		})
	})

	It("is refused while another one runs, and that one is unharmed", func() {
		id := a.send(`[{"hold":"g"},{"say":"x"}]`)
		_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "second"})
		Expect(err).To(And(MatchError(fakeagent.ErrBusy), MatchError("agent a already has an active turn")))
		a.Gate("a", "g").Release()
		Expect(a.wait(id)).To(And(EndCompleted(), HaveItems(BeAssistantMessage("x"))))
	})
	It("may be followed by the next one from inside its last event", func() {
		next := make(chan string, 1)
		a.Subscribe(func(e event.Event) {
			if _, ok := e.Payload.(event.TurnCompleted); ok && e.TurnID == "a-turn-1" {
				id, _ := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: `[{"say":"second"}]`})
				next <- id
			}
		})
		a.send(`[{"say":"first"}]`)
		<-a.ended
		Expect(a.wait(<-next)).To(And(EndCompleted(), HaveItems(BeAssistantMessage("second"))))
	})
	It("does not run ahead of those who watch it, also where it was sent from inside an event", func() {
		a.Subscribe(func(e event.Event) {
			switch e.Payload.(type) {
			case event.TurnCompleted:
				if e.TurnID == "a-turn-1" {
					_, _ = a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: `[{"write":{"path":"ahead","content":""}}]`})
				}
			case event.TurnStarted:
				if e.TurnID == "a-turn-2" {
					_ = a.InterruptTurn(ctx, "a", e.TurnID)
				}
			}
		})
		a.send(`[]`)
		<-a.ended
		Expect(a.wait("a-turn-2")).To(And(EndCanceled(), HaveItems()))
		Expect(filepath.Join(a.cwd, "ahead")).NotTo(BeAnExistingFile())
	})

	It("waits for them however long they take, while one of them has an event of the turn before", bubble.InBubble, func(ctx SpecContext) {
		a := start(fakeagent.Scripted(), "")
		defer a.Close()
		a.Subscribe(func(e event.Event) {
			if _, ok := e.Payload.(event.TurnCompleted); ok && e.TurnID == "a-turn-1" {
				_, _ = a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: `[{"say":"ahead"}]`})
				time.Sleep(time.Hour)
				_ = a.InterruptTurn(ctx, "a", "a-turn-2")
			}
		})
		a.send(`[]`)
		<-a.ended
		Expect(a.wait("a-turn-2")).To(And(EndCanceled(), HaveItems()))
	})

	It("tells which step it is in", func() {
		doing := func() string {
			GinkgoHelper()
			th, err := a.ReadThread(ctx, "a")
			Expect(err).NotTo(HaveOccurred())
			return th.Doing
		}
		Expect(doing()).To(BeEmpty())
		id := a.send(`[{"say":"x"},{"hold":"g"},{"approval":{"title":"rm","allow":[{"hold":"inner"}]}},{"hold":"last"}]`)
		Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
		Expect(doing()).To(Equal(`step 2 {"hold":"g"}`))
		a.Subscribe(func(e event.Event) {
			if _, ok := e.Payload.(event.RequestOpened); ok {
				_ = a.RespondToRequest(ctx, "a", e.RequestID, fakeagent.Accept)
			}
		})
		a.Gate("a", "g").Release()
		Expect(a.Gate("a", "inner").AwaitHeld(ctx)).To(Succeed())
		Expect(doing()).To(Equal(`step 3 (approval), its step 1 {"hold":"inner"}`))
		a.Gate("a", "inner").Release()
		Expect(a.Gate("a", "last").AwaitHeld(ctx)).To(Succeed())
		Expect(doing()).To(Equal(`step 4 {"hold":"last"}`))
		a.Gate("a", "last").Release()
		Expect(a.wait(id)).To(EndCompleted())
	})

	It("tells of a long step only how it begins, in whole characters", func() {
		id := a.send(`[{"approval":{"title":"x` + strings.Repeat("ä", 100) + `"}}]`)
		Eventually(a.types).Should(ContainElement("request.opened"))
		Expect(a.ReadThread(ctx, "a")).To(HaveField("Doing", `step 1 {"approval":{"title":"x`+strings.Repeat("ä", 28)+"…"))
		Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
		a.wait(id)
	})

	It("runs beside those of other threads", func() {
		const threads = 50
		done := make(chan timeline.Status, threads)
		a.Subscribe(func(e event.Event) {
			if end, ok := e.Payload.(event.TurnCompleted); ok && e.ThreadID != "a" {
				done <- end.Ending().Kind
			}
		})
		for i := range threads {
			id := "other" + string(rune('A'+i))
			Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: id})).To(Succeed())
			_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: id, Text: `[{"say":"x"},{"bash":{"command":"ls"}},{"say":"y"}]`})
			Expect(err).NotTo(HaveOccurred())
		}
		for range threads {
			Expect(<-done).To(Equal(timeline.Completed))
		}
	})
})
