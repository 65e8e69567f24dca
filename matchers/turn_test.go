package matchers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
)

// patiently is Eventually with a time that no spec lasts: what does not stop early is seen to.
func patiently(actual any, m OmegaMatcher) (message string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer GinkgoRecover()
		NewGomega(func(s string, _ ...int) { message = s }).Eventually(actual).WithTimeout(time.Minute).Should(m)
	}()
	Eventually(done).WithTimeout(10*time.Second).Should(BeClosed(), "it waits for what cannot come any more")
	return message
}

var _ = Describe("A turn that may still run", func() {
	var host *timelinekit.Host
	BeforeEach(func() { host = timelinekit.NewHost(GinkgoT()) })

	held := func(ctx SpecContext) *timelinekit.Turn {
		GinkgoHelper()
		t := host.StartPrompt(ctx, `[{"say":"first"},{"hold":"here"},{"say":"second"}]`)
		Expect(t.Gate("here").AwaitHeld(ctx)).To(Succeed())
		return t
	}
	over := func(ctx SpecContext, steps ...script.Step) *timelinekit.Turn {
		GinkgoHelper()
		t := host.StartFakeAgentTurn(ctx, script.New(steps...))
		t.Wait(ctx)
		return t
	}

	It("has the items so far, and no ending", func(ctx SpecContext) {
		t := held(ctx)
		run, ended := t.Ended()
		Expect(ended).To(BeFalse())
		Expect(run.TurnID).To(Equal(t.TurnID))
		Expect(run.Ending).To(BeZero())

		Expect(t).To(HaveItems(BeAssistantMessage("first")))
		Expect(t).NotTo(Or(EndCompleted(), EndFailed(Not(BeNil())), EndCanceled()))
		Expect(t).To(HaveAssistantText("first"))
		Expect(t).To(HaveNoFailedToolCalls())
		Expect(failure(t, EndCompleted())).To(Equal(`the turn has not ended, want completed

Expected
    turn ` + t.TurnID + ` of agent-1 (now running) has not ended
      0 assistant_message "first"
to end completed`))
		Expect(failure(t, EndFailed("no quota"))).To(HavePrefix("the turn has not ended, want failed with message \"no quota\"\n\n"))
		Expect(failure(t, HaveItems())).
			To(HavePrefix("item 0: it is assistant_message \"first\", want no more items\n\nExpected\n    turn " + t.TurnID + " of"))

		t.Gate("here").Release()
		Eventually(t).Should(And(EndCompleted(), HaveItems(BeAssistantMessage("first"), BeAssistantMessage("second"))))
		run, ended = t.Ended()
		Expect(ended).To(BeTrue())
		Expect(run).To(EndCompleted())
		Expect(run.Status).To(Equal(timeline.AgentIdle))
	})

	It("has its own items, and not those of an earlier turn", func(ctx SpecContext) {
		run := host.RunPrompt(ctx, `[{"say":"earlier"}]`)
		t, err := host.SendTurn(ctx, run.AgentID, `[{"say":"first"},{"hold":"here"}]`)
		Expect(err).NotTo(HaveOccurred())
		Expect(t.Gate("here").AwaitHeld(ctx)).To(Succeed())
		Expect(t).To(HaveItems(BeAssistantMessage("first")))
		t.Gate("here").Release()
		t.Wait(ctx)
	})

	It("can change as long as it runs, and not when it has ended", func(ctx SpecContext) {
		t := held(ctx)
		for _, m := range []Matcher{EndCompleted(), HaveItems(), HaveToolCall("Bash"),
			New("be right", func(any) (bool, error) { return true, nil })} {
			Expect(m.MatchMayChangeInTheFuture(t)).To(BeTrue())
		}
		t.Gate("here").Release()
		run := t.Wait(ctx)
		for _, m := range []Matcher{EndCompleted(), HaveItems(), HaveToolCall("Bash"),
			New("be right", func(any) (bool, error) { return true, nil })} {
			Expect(m.MatchMayChangeInTheFuture(t)).To(BeFalse())
			Expect(m.MatchMayChangeInTheFuture(run)).To(BeTrue(), "a function may return another run the next time")
		}
	})

	It("that has ended is not waited for, and the failure says how it ended", func(ctx SpecContext) {
		t := over(ctx, script.Fail("no quota"))
		Expect(patiently(t, EndCompleted())).To(MatchRegexp(`^No future change is possible.  Bailing out early after 0\.0\d\ds\.
the turn ended failed: no quota, want completed

Expected
    turn .* of agent-1 \(now error\) ended failed: no quota
      0 error "no quota"
`))
	})

	DescribeTable("that has ended is not waited for, wherever the matcher stands:", func(ctx SpecContext, m OmegaMatcher) {
		Expect(patiently(over(ctx, script.Say("hi")), m)).To(ContainSubstring("No future change is possible."))
	},
		Entry("an ending", EndCanceled()),
		Entry("items", HaveItems()),
		Entry("some items", ContainItems(BeToolCall("Bash"))),
		Entry("a text", HaveAssistantText("bye")),
		Entry("a tool call", HaveToolCall("Bash")),
		Entry("one of one's own", New("be right", func(any) (bool, error) { return false, nil })),
		Entry("And", And(EndCompleted(), EndCanceled())),
		Entry("Or", Or(EndFailed("x"), EndCanceled())),
		Entry("Not", Not(EndCompleted())),
		Entry("WithTransform", WithTransform(func(t *timelinekit.Turn) *timelinekit.Turn { return t }, EndCanceled())),
		Entry("all of them", Or(Not(And(EndCompleted(), HaveItems(BeAssistantMessage("hi")))),
			WithTransform(func(t *timelinekit.Turn) any { return t }, EndCanceled()))),
	)

	It("is not waited for with a wrong argument, and neither is anything else", func(ctx SpecContext) {
		t := held(ctx)
		for _, actual := range []any{t, completed} {
			Expect(patiently(actual, EndFailed(3))).To(ContainSubstring("EndFailed: message is of type int, want a string or a matcher"))
		}
		t.Gate("here").Release()
	})

	It("is waited for as long as it runs, also by WithTransform, which asks before there is anything to ask about", func(ctx SpecContext) {
		t := held(ctx)
		time.AfterFunc(30*time.Millisecond, t.Gate("here").Release)
		Eventually(t).Should(WithTransform(func(t *timelinekit.Turn) *timelinekit.Turn { return t }, EndCompleted()))
	})

	It("that has ended is asked once by Consistently", func(ctx SpecContext) {
		began := time.Now()
		Consistently(over(ctx, script.Say("hi"))).WithTimeout(time.Minute).Should(EndCompleted())
		Expect(time.Since(began)).To(BeNumerically("<", 10*time.Second))
	})

	It("is waited for to the end where a function returns it: Gomega does not ask then", func(ctx SpecContext) {
		t := over(ctx, script.Say("hi"))
		var message string
		NewGomega(func(s string, _ ...int) { message = s }).
			Eventually(func() *timelinekit.Turn { return t }).WithTimeout(20 * time.Millisecond).Should(EndCanceled())
		Expect(message).To(HavePrefix("Timed out after 0.0"))
		Expect(message).To(ContainSubstring("the turn ended completed, want canceled\n"))
	})

	It("is an error where it is nil, which no wait changes", func() {
		var none *timelinekit.Turn
		Expect(refusal(none, EndCompleted())).To(Equal("EndCompleted: the actual is a nil *timelinekit.Turn"))
		Expect(refusal(none, HaveItems())).To(Equal("HaveItems: the actual is a nil *timelinekit.Turn"))
		Expect(patiently(none, EndCompleted())).To(ContainSubstring("the actual is a nil *timelinekit.Turn"))
		Expect(failure(none, New("be right", func(any) (bool, error) { return false, nil }))).
			To(HavePrefix("it is nil, want to be right\n\nExpected\n    <*timelinekit.Turn | 0x0>: nil"))
	})

	It("is no item", func(ctx SpecContext) {
		t := over(ctx, script.Say("hi"))
		Expect(refusal(t, BeAssistantMessage("hi"))).
			To(HavePrefix("BeAssistantMessage expects " + oneItem + ".  Got:\n    <*timelinekit.Turn>\n    turn " + t.TurnID))
	})
})

var _ = Describe("What a host hands out", func() {
	It("is what the matchers take: timelines, rows, plugin rows, turns and runs", func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		_, err := host.Use(timelinekit.NewPlugin("summary"))
		Expect(err).NotTo(HaveOccurred())
		run := host.RunFakeAgentTurn(ctx, script.New(script.Write("src/a.ts", "1"), script.Edit("src/a.ts", "1", "2"), script.BashRun("echo hi"),
			script.Say("done")))
		id := run.AgentID
		_, _, err = host.AppendRow(ctx, id, run.TurnID,
			timeline.Plugin{PluginID: "summary", ID: "x", Kind: "turn-summary", Version: 1, Data: []byte("{}")})
		Expect(err).NotTo(HaveOccurred())

		Expect(run).To(HaveItems(
			BeWriteCall("src/a.ts"), BeEditCall("src/a.ts"),
			BeShellCall("echo hi", WithOutput("hi\n"), WithExitCode(0)), BeAssistantMessage("done"),
		))
		Expect(host.AgentTimeline(id)).To(ContainItems(BeUserMessage(Not(BeEmpty())), BePluginRow("turn-summary")))
		Eventually(host.TimelineOf(id)).Should(ContainItems(BePluginRow("turn-summary")))
		Eventually(host.RowsOf(id, "turn-summary")).Should(HaveItems(BePluginRow("turn-summary")))
		Expect(host.RowsOf(id, "turn-summary")()).To(ContainElement(BePluginRow("turn-summary")))
		Expect(host.AgentRows(id)).To(HaveRow(BeShellCall("echo hi", WithStatus(timeline.Running)), WithTurn(run.TurnID)))
		Expect(host.AgentRows(id)).To(ContainElement(BeAssistantMessage("done")))
		Expect(host.AgentRows(id)).To(BeWellFormed())
		Expect(host.WaitFor(ctx, id, HaveNoFailedToolCalls())).To(Succeed())
	})
})
