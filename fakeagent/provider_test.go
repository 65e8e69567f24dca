package fakeagent_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("The scripted agent as a provider", func() {
	var a *agent
	ctx := context.Background()
	BeforeEach(func() { a = scripted() })

	restart := func() error { return a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a", Cwd: a.cwd}) }

	Describe("a session", func() {
		It("begins with session.started and ends with session.exited", func() {
			Expect(a.StopSession(ctx, "a")).To(Succeed())
			Expect(a.types()).To(Equal([]string{"session.started", "session.exited"}))
			Expect(a.seen()[1].Payload).To(Equal(event.SessionExited{Reason: "stopped", ExitKind: "graceful"}))
		})
		It("interrupts the turn that runs when it is stopped, and ends after it", func() {
			a.send(`[{"hold":"g"}]`)
			Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
			Expect(a.StopSession(ctx, "a")).To(Succeed())
			Eventually(a.types).Should(Equal([]string{"session.started", "turn.started", "turn.completed", "session.exited"}))
			Expect(<-a.ended).To(Equal(event.TurnCompleted{State: event.TurnEndInterrupted}))
		})
		It("takes no turn once it is stopped", func() {
			Expect(a.StopSession(ctx, "a")).To(Succeed())
			_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "x"})
			Expect(err).To(And(MatchError(fakeagent.ErrNoSession), MatchError(`fakeagent: no open session of thread "a"`)))
			Expect(a.StopSession(ctx, "a")).To(MatchError(fakeagent.ErrNoSession))
		})
		It("takes none either while it is being stopped, also from inside the last event of its turn", func() {
			again := make(chan error, 1)
			a.Subscribe(func(e event.Event) {
				if _, ok := e.Payload.(event.TurnCompleted); ok {
					_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "x"})
					again <- err
				}
			})
			a.send(`[{"hold":"g"}]`)
			Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
			Expect(a.StopSession(ctx, "a")).To(Succeed())
			Expect(<-again).To(MatchError(fakeagent.ErrNoSession))
			Eventually(a.types).Should(HaveExactElements("session.started", "turn.started", "turn.completed", "session.exited"))
		})
		It("may be opened again, and goes on with its history and its numbering", func() {
			a.play(script.Say("one"))
			Expect(a.StopSession(ctx, "a")).To(Succeed())
			Expect(restart()).To(Succeed())
			Expect(lines(a.play(script.Say("two")), a.cwd)).To(HaveExactElements(`{"type":"assistant_message","text":"two","messageId":"a-2-1"}`))
			th, err := a.ReadThread(ctx, "a")
			Expect(err).NotTo(HaveOccurred())
			Expect(th.Turns).To(HaveLen(2))
		})
		It("ends once, however many stop it", func() {
			for range 200 {
				var all sync.WaitGroup
				for range 4 {
					all.Go(func() { _ = a.StopSession(ctx, "a") })
				}
				all.Wait()
				Expect(restart()).To(Succeed())
			}
			for i, typ := range a.types() {
				Expect(typ).To(Equal([]string{"session.started", "session.exited"}[i%2]))
			}
		})
		It("cannot be opened twice", func() {
			Expect(restart()).To(MatchError("fakeagent: session a is open already; stop it first and wait for its session.exited"))
		})
		It("needs an id", func() {
			Expect(a.StartSession(ctx, fakeagent.SessionConfig{})).To(MatchError("fakeagent: StartSession: ThreadID is empty; give each agent an id of its own"))
		})
		It("may be stopped from inside any event of it", func() {
			a.Subscribe(func(e event.Event) {
				if _, ok := e.Payload.(event.Delta); ok {
					_ = a.StopSession(ctx, "a")
				}
			})
			a.send(`[{"say":"x"},{"say":"y"}]`)
			Eventually(a.types).Should(Equal([]string{"session.started", "turn.started", "content.delta", "turn.completed", "session.exited"}))
		})
	})

	It("ends a session that is stopped only after the turn that was sent from inside the last event of another", func() {
		a.Subscribe(func(e event.Event) {
			if _, ok := e.Payload.(event.TurnCompleted); ok && e.TurnID == "a-turn-1" {
				_, _ = a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: `[{"hold":"g"}]`})
				_ = a.StopSession(ctx, "a")
			}
		})
		a.send(`[]`)
		Eventually(a.types).Should(ContainElement("session.exited"))
		Expect(a.Close()).To(Succeed())
		Expect(a.types()).To(Equal([]string{"session.started", "turn.started", "turn.completed", "turn.started", "turn.completed", "session.exited"}))
	})

	Describe("reading a thread", func() {
		It("gives its turns with their items, the user's message first", func() {
			first := a.send(`[{"say":{"text":"abc","chunks":3}},{"bash":{"command":"ls"}}]`)
			a.wait(first)
			second := a.send("hello")
			a.wait(second)
			th, err := a.ReadThread(ctx, "a")
			Expect(err).NotTo(HaveOccurred())
			Expect(th.Turns).To(HaveExactElements(HaveField("ID", first), HaveField("ID", second)))
			Expect(th.Turns[0].Items).To(HaveItems(BeUserMessage(ContainSubstring("abc")), BeAssistantMessage("abc"), BeShellCall("ls")))
			Expect(th.Turns[1].Items).To(HaveItems(BeUserMessage("hello"), BeAssistantMessage("fake-agent received: hello")))
		})
		It("gives it as it is at that moment, whatever comes later", func() {
			for range 3 {
				a.run(`[]`)
			}
			id := a.send(`[{"hold":"g"},{"say":"later"}]`)
			Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
			th, err := a.ReadThread(ctx, "a")
			Expect(err).NotTo(HaveOccurred())
			a.Gate("a", "g").Release()
			a.wait(id)
			Expect(th.Turns).To(HaveLen(4))
			Expect(th.Turns[3].Items).To(HaveItems(BeUserMessage(ContainSubstring("later"))))
		})
		It("works after its session is over, and not for one that never was", func() {
			a.play(script.Say("x"))
			Expect(a.StopSession(ctx, "a")).To(Succeed())
			Expect(a.ReadThread(ctx, "a")).To(HaveField("Turns", HaveLen(1)))
			_, err := a.ReadThread(ctx, "b")
			Expect(err).To(MatchError(fakeagent.ErrNoSession))
		})
	})

	Describe("subscribing", func() {
		It("gets the events of a thread in order and one at a time, while threads overlap", func() {
			var mu sync.Mutex
			last := map[string]uint64{}
			inside := map[string]*atomic.Int32{}
			const threads, turns = 8, 20
			for i := range threads {
				inside[fmt.Sprint("t", i)] = new(atomic.Int32)
			}
			done := make(chan struct{}, threads*turns)
			a.Subscribe(func(e event.Event) {
				defer GinkgoRecover()
				if e.ThreadID == "a" {
					return
				}
				Expect(inside[e.ThreadID].Add(1)).To(BeEquivalentTo(1), "one at a time")
				mu.Lock()
				Expect(e.Seq).To(Equal(last[e.ThreadID] + 1))
				last[e.ThreadID] = e.Seq
				mu.Unlock()
				inside[e.ThreadID].Add(-1)
				if _, ok := e.Payload.(event.TurnCompleted); ok {
					done <- struct{}{}
				}
			})
			for i := range threads {
				id := fmt.Sprint("t", i)
				Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: id})).To(Succeed())
				go func() {
					defer GinkgoRecover()
					for range turns {
						Eventually(func() error {
							_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: id, Text: `[{"say":{"text":"abc","chunks":3}},{"bash":{"command":"ls"}}]`})
							return err
						}).Should(Succeed())
					}
				}()
			}
			for range threads * turns {
				<-done
			}
		})
		It("holds up its own thread only: a slow function does not stop another agent", func() {
			slow := make(chan struct{})
			a.Subscribe(func(e event.Event) {
				if e.ThreadID == "slow" {
					<-slow
				}
			})
			started := make(chan error, 1)
			go func() { started <- a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "slow"}) }()
			Expect(a.play(script.Say("x"))).To(EndCompleted())
			close(slow)
			Expect(<-started).To(Succeed())
		})
		It("survives a function that panics, or that fails its test on this goroutine; both are recorded, and others get all events", func() {
			a.Subscribe(func(e event.Event) {
				if _, ok := e.Payload.(event.Delta); ok {
					switch e.TurnID {
					case "a-turn-1":
						panic("oh")
					case "a-turn-2":
						runtime.Goexit()
					}
				}
			})
			n := 0
			a.Subscribe(func(event.Event) { n++ })
			Expect(a.play(script.Say("x"), script.Say("y"))).To(EndCompleted())
			Expect(a.play(script.Say("x"))).To(EndFailed(ContainSubstring("Goexit")))
			Expect(a.play(script.Say("x"))).To(EndCompleted())
			Expect(a.Close()).To(Succeed(), "which waits for every subscriber")
			Expect(n).To(Equal(len(a.seen()) - 1))
			Expect(a.Violations()).To(HaveExactElements(
				HavePrefix("a subscriber panicked at a-turn-1 content.delta: oh\n"), HavePrefix("a subscriber panicked"),
				HavePrefix("a subscriber called runtime.Goexit at a-turn-2 content.delta"), ContainSubstring("Goexit")))
		})
		It("records a function that does not return from an event of the session as well", func() {
			a.Subscribe(func(e event.Event) {
				if e.ThreadID == "b" {
					panic("oh")
				}
			})
			Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "b"})).To(Succeed())
			Expect(a.Violations()).To(HaveExactElements(HavePrefix("a subscriber panicked at session.started: oh\n")))
		})
		It("may end from inside an event, which the others get all the same", func() {
			var off func()
			var others []string
			off = a.Subscribe(func(event.Event) { off() })
			for _, name := range []string{"b", "c"} {
				a.Subscribe(func(e event.Event) { others = append(others, name+" "+e.Payload.Type()) })
			}
			a.run(`[]`)
			Expect(a.Close()).To(Succeed())
			Expect(others).To(Equal([]string{"b turn.started", "c turn.started", "b turn.completed", "c turn.completed"}))
			Expect(a.Violations()).To(BeEmpty())
		})
		It("ends when it is told to", func() {
			var said []string
			off := a.Subscribe(func(e event.Event) {
				if d, ok := e.Payload.(event.Delta); ok {
					said = append(said, d.Text)
				}
			})
			a.play(script.Say("x"))
			off()
			off()
			a.play(script.Say("y"))
			Expect(said).To(Equal([]string{"x"}))
		})
	})

	Describe("closing", func() {
		It("interrupts every turn, waits for its end, and takes nothing more", func() {
			a.send(`[{"sleep":3600000}]`)
			Expect(a.Close()).To(Succeed())
			Expect(<-a.ended).To(Equal(event.TurnCompleted{State: event.TurnEndInterrupted}))
			_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "x"})
			Expect(err).To(MatchError(fakeagent.ErrClosed))
			Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "b"})).To(MatchError(fakeagent.ErrClosed))
			Expect(a.Close()).To(Succeed())
		})
		It("has nothing against a hold whose turn was interrupted, even one that has not left it yet", func() {
			a.send(`[{"hold":"g"}]`)
			Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
			Expect(a.InterruptTurn(ctx, "a", "")).To(Succeed())
			Expect(a.Close()).To(Succeed())
			Expect(a.Violations()).To(BeEmpty())
		})
		It("waits for a subscriber that still has an event, also where another one has ended the goroutine that brought it", bubble.InBubble, func(ctx SpecContext) {
			a := start(fakeagent.Scripted(), "")
			inside := make(chan struct{})
			a.Subscribe(func(event.Event) { runtime.Goexit() })
			a.Subscribe(func(event.Event) { close(inside); time.Sleep(time.Hour) })
			began := time.Now()
			go func() { _ = a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "b"}) }()
			<-inside
			Expect(a.Close()).To(Succeed())
			Expect(time.Since(began)).To(Equal(time.Hour))
			Expect(a.Violations()).To(HaveExactElements(HavePrefix("a subscriber called runtime.Goexit at session.started, as")))
		})
		It("records a hold that nobody released, once", func() {
			id := a.send(`[{"hold":"g"}]`)
			Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
			Expect(a.Close()).To(Succeed())
			Expect(a.Violations()).To(Equal([]string{id + ` is still held at gate "g"; call Release on it, or interrupt the turn`}))
			Expect(a.Violations()).To(BeEmpty(), "what a test has looked at no longer fails it")
		})
		It("leaves nothing behind in a bubble, wherever the agent was", bubble.InBubble, func(ctx SpecContext) {
			for _, prompt := range []string{
				`[{"sleep":3600000}]`, `[{"hold":"g"}]`, `[{"approval":{"title":"x","timeoutMs":3600000}}]`,
				`[{"say":{"text":"ab","chunks":2,"intervalMs":3600000}}]`, `[{"tool":{"name":"t","holdMs":3600000}}]`,
			} {
				a := start(fakeagent.Scripted(), "")
				a.send(prompt)
				time.Sleep(time.Second)
				Expect(a.Close()).To(Succeed())
				a.Violations()
			}
		})
	})

	Describe("for a test", func() {
		It("closes itself at the test's end and reports the violations, all in one message", func() {
			t := &recorder.T{}
			in := fakeagent.NewT(t, fakeagent.Scripted())
			want := "fakeagent: at the end of the test:"
			for _, id := range []string{"b", "c", "d"} {
				want += "\n  " + id + "-turn-1 is still held at gate \"g\"; call Release on it, or interrupt the turn"
			}
			for _, id := range []string{"c", "d", "b"} {
				Expect(in.StartSession(ctx, fakeagent.SessionConfig{ThreadID: id})).To(Succeed())
				_, err := in.SendTurn(ctx, fakeagent.TurnInput{ThreadID: id, Text: `[{"hold":"g"}]`})
				Expect(err).NotTo(HaveOccurred())
				Expect(in.Gate(id, "g").AwaitHeld(ctx)).To(Succeed())
			}
			t.End()
			Expect(t.Errors()).To(Equal([]string{want}))
		})
		It("does not wait for ever for a subscriber that never returns, and says where the agent is", bubble.InBubble, func(ctx SpecContext) {
			t := &recorder.T{}
			in := fakeagent.NewT(t, fakeagent.Scripted())
			stuck := make(chan struct{})
			in.Subscribe(func(e event.Event) {
				if _, ok := e.Payload.(event.TurnStarted); ok {
					<-stuck
				}
			})
			Expect(in.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "b"})).To(Succeed())
			_, err := in.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "b", Text: "x"})
			Expect(err).NotTo(HaveOccurred())
			began := time.Now()
			t.End()
			Expect(time.Since(began)).To(Equal(10 * time.Second))
			Expect(t.Errors()).To(HaveExactElements(ContainSubstring("it has not ended within 10s; does a subscriber not return? The turn waits for it\nthread b is in")))
			close(stuck)
		})
		It("says nothing where nothing is wrong", func() {
			t := &recorder.T{}
			fakeagent.NewT(t, fakeagent.Scripted())
			t.End()
			Expect(t.Errors()).To(BeEmpty())
		})
		It("fails the test at once when its configuration is wrong", func() {
			t := &recorder.T{}
			Expect(func() { fakeagent.NewT(t, fakeagent.Config{Script: "nope"}) }).To(PanicWith("fakeagent: unknown script \"nope\"; use plain, approval-tool, async-question, stream, replay, mcp-send, visualize, lane, steps, or the path of a file that ends in .json"))
		})
	})

	It("prints every thread with its turns and the step it is in", func() {
		a.play(script.Say("x"))
		id := a.send(`[{"hold":"g"}]`)
		Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
		Expect(a.Dump()).To(Equal(strings.TrimSpace(`
thread a is in step 1 {"hold":"g"}
  a-turn-1
    0 user_message "{\"steps\":[{\"say\":\"x\"}]}"
    1 assistant_message "x"
  a-turn-2
    0 user_message "[{\"hold\":\"g\"}]"`)))
		Expect(format.Object(a.Instance, 0)).To(ContainSubstring("thread a is in step 1"), "so does a matcher that fails")
		a.Gate("a", "g").Release()
		a.wait(id)
	})

	It("prints the threads in the order of their ids", func() {
		for _, id := range []string{"h", "c", "f", "b", "g", "d", "e"} {
			Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: id})).To(Succeed())
		}
		Expect(a.Dump()).To(Equal("thread a\nthread b\nthread c\nthread d\nthread e\nthread f\nthread g\nthread h"))
	})
	It("logs what happens, and only through the logger that it was given", func() {
		var out bytes.Buffer
		cfg := fakeagent.Scripted()
		cfg.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		a := start(cfg, "")
		a.play(script.Say("x"))
		Expect(a.Close()).To(Succeed())
		Expect(strings.Split(strings.TrimSpace(out.String()), "\n")).To(HaveExactElements(
			HaveSuffix(`level=DEBUG msg="turn started" thread=a turn=a-turn-1 steps=1`),
			HaveSuffix(`level=DEBUG msg="turn ended" thread=a turn=a-turn-1 state=completed`)))
	})

	It("shares nothing with another instance", func() {
		b := scripted()
		b.Gate("a", "g").Release()
		a.play(script.Say("x"))
		Expect(lines(b.play(script.Say("y")), b.cwd)).To(HaveExactElements(ContainSubstring("a-1-1")))
		id := a.send(`[{"hold":"g"}]`)
		Expect(a.Gate("a", "g").AwaitHeld(ctx)).To(Succeed())
		a.Gate("a", "g").Release()
		a.wait(id)
	})

	It("gives the same events for the same prompts, times apart, in every run", func() {
		record := func() []event.Event {
			a := scripted()
			a.run(`[{"say":{"text":"abc","chunks":2}},{"tool":{"name":"t","input":{"b":1,"a":2}}},{"approval":{"title":"x","timeoutMs":1}},{"fail":"no"}]`)
			events := a.seen()
			for i := range events {
				events[i].Time = time.Time{}
				if c, ok := events[i].Payload.(event.ItemStarted); ok {
					c.Data = nil // holds the folder
					events[i].Payload = c
				}
				if c, ok := events[i].Payload.(event.ItemCompleted); ok {
					c.Data = nil
					events[i].Payload = c
				}
			}
			return events
		}
		Expect(record()).To(Equal(record()))
	})
})
