package mockproc_test

import (
	"context"
	"os"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("At the end of a test a mock", bubble.InBubble, func() {
	begin := func(s mockproc.Scenario, opts ...mockproc.Option) (*client, *mockproc.Mock, *recorder.T) {
		t := aTest()
		m := mockproc.Start(t, s, opts...)
		return newClient(m), m, t
	}
	asks := mockproc.Turns(script.New(script.Ask(script.Approval{Title: "rm"})))

	It("has nothing to say when all went well", func() {
		c, _, t := begin(named("happy"))
		c.open()
		c.prompt("go")
		c.rest()
		Expect(t.End()).To(BeEmpty())
	})
	It("says in one message what it is, what was wrong and what was said", func() {
		c, _, t := begin(asks)
		c.open()
		c.prompt("go")
		id, _ := c.permission()
		c.allow(id, "allow-everything")
		c.until("failed")
		Expect(t.End()).To(ConsistOf(MatchRegexp(`^mockproc: process 900000 \(turns\), at the end of the test:
  the process still ran at the end of the test; close its stdin, or kill it
  message \d+: session/request_permission \(id 0\) was answered "allow-everything", which was not offered: allow-once, allow-always, reject-once
what was said:
.*-> \{"jsonrpc":"2.0","id":0,"method":"initialize"(?s:.*)was killed by SIGKILL\)$`)))
	})
	DescribeTable("names", func(host func(c *client, m *mockproc.Mock), s mockproc.Scenario, want ...string) {
		c, m, t := begin(s)
		host(c, m)
		began := time.Now()
		said := strings.Join(t.End(), "\n")
		Expect(said).NotTo(BeEmpty())
		Expect(time.Since(began)).To(BeNumerically("<", time.Second), "it waits for nothing that does not come")
		Expect(m.Violations()).To(BeEmpty(), "they were told")
		for _, w := range want {
			Expect(said).To(ContainSubstring(w))
		}
		head, _, _ := strings.Cut(said, "\nwhat was said:")
		Expect(strings.Count(head, "\n")).To(Equal(len(want)), said)
	},
		Entry("a process that nobody has ended", func(c *client, m *mockproc.Mock) {}, mockproc.Scenario{},
			"the process still ran at the end of the test; close its stdin, or kill it"),
		Entry("one that ignores the end of its stdin", func(c *client, m *mockproc.Mock) { _ = m.Stdin().Close() }, mockproc.Scenario{Ignore: []string{"EOF"}},
			"the process still ran at the end of the test"),
		Entry("a gate at which it is held", func(c *client, m *mockproc.Mock) {
			c.open()
			c.prompt("go")
			Expect(m.Gate("", "here").AwaitHeld(GinkgoT().Context())).To(Succeed())
		}, mockproc.Turns(script.New(script.Hold("here"))),
			`session mock_sess_900000 is still held at gate "here"; call Release on it, or cancel the prompt`, "the process still ran"),
		Entry("a request that was never answered, where the agent went on without it", func(c *client, m *mockproc.Mock) {
			c.open()
			prompt := c.prompt("go")
			c.permission()
			c.cancel()
			c.answer(prompt)
			_ = m.Stdin().Close()
			c.rest()
		}, asks, "session/request_permission (id 0) was never answered"),
		Entry("a request that is open when the test has ended", func(c *client, m *mockproc.Mock) {
			c.open()
			c.prompt("go")
			c.permission()
		}, asks, "session/request_permission (id 0) was never answered", "the process still ran"),
		Entry("a line that is no message", func(c *client, m *mockproc.Mock) {
			c.say("hello agent")
			c.open()
			m.Kill(os.Kill)
		}, mockproc.Scenario{}, "hello agent"),
	)
	It("says nothing of what the test has looked at", func() {
		c, m, t := begin(mockproc.Scenario{})
		c.say("hello")
		c.open()
		Expect(m.Violations()).To(HaveLen(1))
		Expect(m.Violations()).To(BeEmpty())
		m.Kill(os.Kill)
		Expect(t.End()).To(BeEmpty())
	})
	It("does not call a request unanswered that still may be answered", func() {
		c, m, t := begin(asks)
		c.open()
		prompt := c.prompt("go")
		id, _ := c.permission()
		Expect(m.Violations()).To(BeEmpty())
		c.cancel()
		c.answer(prompt)
		Expect(m.Violations()).To(BeEmpty())
		c.allow(id, "cancelled")
		synctest.Wait()
		m.Kill(os.Kill)
		Expect(t.End()).To(BeEmpty())
	})
	It("does not mind a gate at which it was killed, or at which its stdin ended", func(ctx SpecContext) {
		for _, end := range []func(*mockproc.Mock){func(m *mockproc.Mock) { m.Kill(os.Kill) }, func(m *mockproc.Mock) { _ = m.Stdin().Close() }} {
			c, m, t := begin(mockproc.Turns(script.New(script.Hold("here"))))
			c.open()
			c.prompt("go")
			Expect(m.Gate("", "here").AwaitHeld(ctx)).To(Succeed())
			end(m)
			<-m.Exited()
			Expect(t.End()).To(BeEmpty())
		}
	})
	It("is no orphan where its stdin was closed, or it has said its last, however short ago", func() {
		for range 200 {
			_, m, t := begin(mockproc.Scenario{})
			Expect(m.Stdin().Close()).To(Succeed())
			Expect(t.End()).To(BeEmpty())
			Expect(m.ExitCode()).To(Equal(0))
		}
		for range 200 {
			c, m, t := begin(parsed(`{"name":"x","afterTurn":"exit","turns":[{"steps":[{"say":"done"}]}]}`))
			c.open()
			c.answer(c.prompt("go"))
			Expect(t.End()).To(BeEmpty())
			Expect(m.ExitCode()).To(Equal(0))
		}
	})
	It("does not wait for somebody who reads what it said last", func() {
		c, m, t := begin(parsed(`{"name":"x","afterTurn":"exit","turns":[{"steps":[]}]}`), mockproc.PipeSize(1))
		c.open()
		c.prompt("go")
		synctest.Wait()
		Expect(m.Exited()).NotTo(BeClosed(), "its answer does not fit")
		began := time.Now()
		Expect(t.End()).To(BeEmpty())
		Expect(time.Since(began)).To(BeNumerically("<", time.Second))
		Expect(m.ExitCode()).To(Equal(0))

		c, m, t = begin(mockproc.Scenario{}, mockproc.PipeSize(1))
		c.ask("initialize", `{"protocolVersion":1}`)
		Expect(m.Stdin().Close()).To(Succeed())
		synctest.Wait()
		began = time.Now()
		Expect(t.End()).To(BeEmpty())
		Expect(time.Since(began)).To(BeNumerically("<", time.Second))
	})
	It("runs what it was given to clean up first, the last one first", func() {
		_, m, t := begin(mockproc.Scenario{})
		var order []string
		m.Cleanup(func() { m.Kill(os.Kill); order = append(order, "one") })
		m.Cleanup(func() { order = append(order, "two") })
		Expect(t.End()).To(BeEmpty())
		Expect(order).To(Equal([]string{"two", "one"}))
	})
	It("waits until what its script runs has ended, and not for ever", func() {
		for takes, said := range map[time.Duration]string{time.Second: "", time.Hour: "the agent has not ended within 10s"} {
			shell := slow{began: make(chan struct{}), takes: takes, ended: make(chan struct{})}
			c, m, t := begin(mockproc.Turns(script.New(script.BashRun("make"))), mockproc.WithAgent(fakeagent.Config{Shell: shell}))
			c.open()
			c.prompt("go")
			<-shell.began
			m.Kill(os.Kill)
			began := time.Now()
			errors := strings.Join(t.End(), "\n")
			Expect(time.Since(began)).To(Equal(min(takes, 10*time.Second)))
			Expect(errors).To(ContainSubstring(said))
			Expect(errors == "").To(Equal(said == ""), errors)
			<-shell.ended
		}
	})
	It("shows no more of a long talk than its end", func() {
		c, _, t := begin(mockproc.Turns(script.New(script.SayStep{Text: strings.Repeat("x", 500), Chunks: 500})))
		c.open()
		c.answer(c.prompt("go"))
		said := t.End()
		Expect(said).To(HaveLen(1))
		Expect(strings.Count(said[0], "\n")).To(BeNumerically("<", 40))
	})
})

// slow is a shell whose commands take their time to end.
type slow struct {
	began chan struct{}
	takes time.Duration
	ended chan struct{}
}

func (s slow) Run(ctx context.Context, _ fakeagent.SessionConfig, _ string) (fakeagent.ShellResult, error) {
	close(s.began)
	<-ctx.Done()
	time.Sleep(s.takes)
	close(s.ended)
	return fakeagent.ShellResult{}, nil
}
