package mockproc_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("A mock that asks for a permission", bubble.InBubble, func() {
	asks := func(timeout time.Duration) mockproc.Scenario {
		return mockproc.Turns(script.New(
			script.Ask(script.Approval{
				Title: "rm -rf build", Timeout: timeout,
				Allow: []script.Step{script.Say("removed")}, Deny: []script.Step{script.Say("left alone")},
			}),
			script.Say("done"),
		))
	}
	// turn is what comes after the question, up to the answer to the prompt.
	turn := func(c *client, prompt, from int) []string {
		GinkgoHelper()
		c.answer(prompt)
		out := c.kinds(from)
		for i, h := range c.heard[from:] {
			for _, text := range []string{"removed", "left alone", "done"} {
				if strings.Contains(h.line, `"text":"`+text+`"`) {
					out[i] = text
				}
			}
		}
		return out
	}

	DescribeTable("obeys the outcome", func(outcome string, want []string) {
		c, m := start(asks(0))
		c.open()
		prompt := c.prompt("go")
		id, options := c.permission()
		Expect(options).To(Equal("allow-once allow-always reject-once"))
		time.Sleep(time.Hour) // a host may take its time
		if strings.HasPrefix(outcome, "{") {
			c.say(`{"jsonrpc":"2.0","id":%d,%s`, id, outcome[1:])
		} else {
			c.allow(id, outcome)
		}
		Expect(turn(c, prompt, 4)).To(Equal(want))
		Expect(m.Exited()).NotTo(BeClosed())
		m.Violations()
		m.Kill(os.Kill)
	},
		Entry("allow once", "allow-once", []string{"removed", "tool_call_update completed", "done", "end_turn"}),
		Entry("allow always", "allow-always", []string{"removed", "tool_call_update completed", "done", "end_turn"}),
		Entry("reject", "reject-once", []string{"left alone", "tool_call_update failed", "done", "end_turn"}),
		Entry("cancelled, which cancels the turn", "cancelled", []string{"tool_call_update failed", "cancelled"}),
		Entry("an option that was not offered, which allows nothing", "allow-everything", []string{"left alone", "tool_call_update failed", "done", "end_turn"}),
		Entry("an error: the client could not ask", `{"error":{"code":-32603,"message":"no window"}}`, []string{"left alone", "tool_call_update failed", "done", "end_turn"}),
		Entry("nonsense", `{"result":{"outcome":{}}}`, []string{"left alone", "tool_call_update failed", "done", "end_turn"}),
	)
	It("withdraws its question when it has waited long enough, and goes on", func() {
		c, m := start(asks(5 * time.Second))
		c.open()
		prompt := c.prompt("go")
		id, _ := c.permission()
		asked := c.heard[len(c.heard)-1].at
		Expect(turn(c, prompt, 4)).To(Equal([]string{"$/cancel_request", "tool_call_update failed", "done", "end_turn"}))
		Expect(c.heard[4].at - asked).To(Equal(5 * time.Second))
		Expect(c.heard[4].line).To(ContainSubstring(fmt.Sprintf(`"requestId":%d`, id)))
		c.allow(id, "allow-once") // too late, and no harm
		synctest.Wait()
		Expect(m.Violations()).To(BeEmpty())
		m.Kill(os.Kill)
	})
	It("waits five seconds in the origin's scenario, at whatever speed", func() {
		c, m := start(named("seed/happy"), mockproc.WithAgent(fakeagent.Config{Speed: 100}))
		c.open()
		prompt := c.prompt("go")
		id, _ := c.permission()
		asked := c.heard[len(c.heard)-1].at
		c.until("$/cancel_request")
		Expect(c.heard[len(c.heard)-1].at - asked).To(Equal(5 * time.Second))
		c.allow(id, "cancelled") // also what was withdrawn is to be answered
		c.answer(prompt)
		c.rest()
		Expect(c.last()).To(Equal("exit 0"))
		Expect(m.Violations()).To(BeEmpty())
	})
})

var _ = Describe("A process whose turns are played in Go", bubble.InBubble, func() {
	It("plays that, whatever its scenario has, and the rest is the scenario's", func() {
		c, m := start(named("happy"), mockproc.WithAgent(fakeagent.Config{Perform: func(_ context.Context, p *fakeagent.Performance) error {
			return p.Play(script.Say("you said " + p.Prompt))
		}}))
		c.open()
		prompt := c.prompt("go")
		Expect(c.answer(prompt)).To(HaveSuffix(`"result":{"stopReason":"end_turn"}}`))
		Expect(c.heard[len(c.heard)-2].line).To(ContainSubstring("you said go"))
		c.rest()
		Expect(c.last()).To(Equal("exit 0"))
		Expect(m.Violations()).To(BeEmpty())
	})
})

var _ = Describe("A prompt that is canceled", bubble.InBubble, func() {
	happy := func() (c *client, m *mockproc.Mock, prompt int) {
		GinkgoHelper()
		c, m = start(named("happy"))
		c.open()
		return c, m, c.prompt("go")
	}

	DescribeTable("is answered as cancelled, at once, and its process stays", func(until string, at int, kinds ...string) {
		c, m, prompt := happy()
		if until != "" {
			c.until(until)
		} else {
			time.Sleep(5 * time.Millisecond) // within the first steps of the origin, where it has lost the prompt
		}
		from := len(c.heard)
		c.cancel()
		Expect(c.answer(prompt)).To(HaveSuffix(`"result":{"stopReason":"cancelled"}}`))
		Expect(c.heard[len(c.heard)-1].at).To(Equal(time.Duration(at) * time.Millisecond))
		Expect(c.kinds(from)).To(Equal(append(kinds, "cancelled")))
		time.Sleep(time.Hour)
		Expect(m.Exited()).NotTo(BeClosed())
		Expect(pending(m)).To(BeEmpty(), "nothing comes after the answer")

		c.prompt("again") // which has a turn of its own
		c.rest()
		Expect(c.last()).To(Equal("exit 0"))
		Expect(m.Violations()).To(BeEmpty())
	},
		Entry("before the first update", "", 105),
		Entry("in the middle of a tool call, which fails", `"tool_call"`, 1500, "tool_call_update failed"),
		Entry("after the last piece of the message", "d it.", 3900),
	)
	It("is answered once where the cancel crosses the answer, and nothing is wrong with either", func() {
		c, m := start(mockproc.Turns(script.New(script.Say("done"))))
		c.open()
		prompt := c.prompt("go")
		synctest.Wait() // the answer is under way
		c.cancel()
		Expect(c.answer(prompt)).To(ContainSubstring("end_turn"))
		synctest.Wait()
		Expect(pending(m)).To(BeEmpty())
		Expect(c.answer(c.prompt("again"))).To(ContainSubstring("end_turn"), "the cancel was not for this one")
		Expect(m.Violations()).To(BeEmpty())
		m.Kill(os.Kill)
	})
	It("is not canceled by a cancel for another session", func() {
		c, m, prompt := happy()
		other := c.session
		c.session = "mock_sess_1"
		c.cancel()
		c.session = other
		Expect(c.answer(prompt)).To(ContainSubstring("end_turn"))
		Expect(m.Violations()).To(BeEmpty())
	})
	It("ends while it asks, and whatever is answered then is ignored", func() {
		c, m := start(mockproc.Turns(script.New(script.Ask(script.Approval{Title: "rm"}), script.Say("done"))))
		c.open()
		prompt := c.prompt("go")
		id, _ := c.permission()
		c.cancel()
		c.answer(prompt)
		Expect(c.kinds(4)).To(Equal([]string{"tool_call_update failed", "cancelled"}))
		c.allow(id, "cancelled")
		synctest.Wait()
		Expect(pending(m)).To(BeEmpty())
		Expect(m.Violations()).To(BeEmpty())
		m.Kill(os.Kill)
	})
	It("in one session leaves that of another alone", func() {
		c, m := start(mockproc.Turns(script.New(script.Sleep(time.Second), script.Say("done"))))
		c.open()
		one := c.prompt("go")
		first := c.session
		c.newSession(os.TempDir())
		two := c.prompt("go")
		c.session = first
		c.cancel()
		Expect(c.answer(one)).To(ContainSubstring("cancelled"))
		Expect(c.answer(two)).To(ContainSubstring("end_turn"))
		m.Kill(os.Kill)
	})
})
