package timelinekit_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("An agent's timeline", func() {
	var host *timelinekit.Host
	BeforeEach(func() { host = timelinekit.NewHost(GinkgoT()) })

	It("is stored in rows that count up and are never changed; a later state of a tool call is a later row", func(ctx SpecContext) {
		run := host.RunFakeAgentTurn(ctx, script.New(script.SayStep{Text: "ab", Chunks: 2}, script.Bash("ls", "", 1)))
		rows := host.AgentRows(run.AgentID)
		var seen []string
		for i, r := range rows {
			Expect(r.Seq).To(Equal(i + 1))
			Expect(r.Epoch).To(Equal("epoch-1"))
			Expect(r.TurnID).To(Equal(run.TurnID))
			Expect(r.Time).To(BeTemporally("~", time.Now(), time.Minute))
			seen = append(seen, strings.TrimSpace(r.ItemID+" "+timeline.Line(r.Item)))
		}
		Expect(seen[1:]).To(Equal([]string{
			`a-1-1 assistant_message "a"`, `a-1-1 assistant_message "b"`,
			`t-1-2 tool_call Bash "ls" running`, `t-1-2 tool_call Bash "ls" failed: exit code 1`}))
	})
	It("is shown with the states of a call and the pieces of a message as one item", func(ctx SpecContext) {
		run := host.RunFakeAgentTurn(ctx, script.New(script.SayStep{Text: "ab", Chunks: 2}, script.Bash("ls", "", 1), script.Think("x"), script.Think("y")))
		Expect(run).To(HaveItems(BeAssistantMessage("ab"), BeShellCall("ls", WithError("exit code 1")), BeReasoning("x"), BeReasoning("y")))
	})
	It("has an epoch of its own; epochs count up", func(ctx SpecContext) {
		a, b := host.RunPrompt(ctx, "hello"), host.RunPrompt(ctx, "hello")
		Expect(a.Timeline.Epoch()).To(Equal("epoch-1"))
		Expect(b.Timeline.Epoch()).To(Equal("epoch-2"))
	})
	It("is read as a snapshot that does not change afterwards", func(ctx SpecContext) {
		turn := host.StartFakeAgentTurn(ctx, script.New(script.ToolStep{Name: "a"}, script.Hold("g"), script.Say("later")))
		Expect(turn.Gate("g").AwaitHeld(ctx)).To(Succeed())
		before := host.AgentTimeline(turn.AgentID)
		turn.Gate("g").Release()
		turn.Wait(ctx)
		Expect(before).To(HaveItems(BeUserMessage(Not(BeEmpty())), BeToolCall("a")))
		Expect(host.AgentTimeline(turn.AgentID).Len()).To(Equal(3))
	})
	It("can be polled", func(ctx SpecContext) {
		turn := host.StartFakeAgentTurn(ctx, script.New(script.Sleep(20*time.Millisecond), script.Say("here")))
		Eventually(ctx, host.TimelineOf(turn.AgentID)).Should(ContainItems(BeAssistantMessage("here")))
		turn.Wait(ctx)
	})
	It("can be divided by turns", func(ctx SpecContext) {
		run := host.RunPrompt(ctx, "one")
		host.SendPrompt(ctx, run.AgentID, "two")
		tl := host.AgentTimeline(run.AgentID)
		Expect(tl.Turn(run.TurnID)).To(HaveItems(BeUserMessage("one"), BeAssistantMessage(HaveSuffix("one"))))
		Expect(tl.Len()).To(Equal(4))
	})

	Describe("waiting for it", func() {
		It("looks first at what is there", func(ctx SpecContext) {
			run := host.RunPrompt(ctx, "hello")
			Expect(host.WaitFor(ctx, run.AgentID, ContainItems(BeUserMessage("hello")))).To(Succeed())
		})
		It("then returns at the very moment when it matches, without polling", bubble.InBubble, func(ctx SpecContext) {
			t := aTest()
			host := timelinekit.NewHost(t)
			began := time.Now()
			turn := host.StartFakeAgentTurn(ctx, script.New(script.Sleep(7*time.Second), script.Say("here"), script.Sleep(time.Second)))
			Expect(host.WaitFor(ctx, turn.AgentID, ContainItems(BeAssistantMessage("here")))).To(Succeed())
			Expect(time.Since(began)).To(Equal(7 * time.Second))
			turn.Wait(ctx)
		})
		It("says at the end of its context what did not match, and shows the timeline so far", bubble.InBubble, func(ctx SpecContext) {
			t := aTest()
			host := timelinekit.NewHost(t)
			run := host.RunPrompt(ctx, "hello")
			soon, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			Expect(host.WaitFor(soon, run.AgentID, ContainItems(BeReasoning("x")))).To(And(
				MatchError(context.DeadlineExceeded),
				MatchError(HavePrefix("timelinekit: the timeline of agent agent-1 never matched (context deadline exceeded):\n"+
					"expected item 0 is not in the timeline: want to be reasoning \"x\"\n")),
				MatchError(HaveSuffix("agent agent-1 is idle\n"+
					"  0 user_message \"hello\"  <- agent-1-turn-1\n"+
					"  1 assistant_message \"fake-agent received: hello\""))))
		})
		It("ends at once with a matcher that cannot look at timelines", func(ctx SpecContext) {
			run := host.RunPrompt(ctx, "hello")
			Expect(host.WaitFor(ctx, run.AgentID, HaveField("Nope", 1))).To(MatchError(ContainSubstring("Nope")))
		})
	})

	Describe("fetching rows by cursor, as a client does that was away", func() {
		var id string
		BeforeEach(func(ctx SpecContext) {
			id = host.RunFakeAgentTurn(ctx, script.New(script.Say("a"), script.Say("b"), script.Say("c"), script.Say("d"))).AgentID
		})
		fetch := func(q timeline.Query) (texts string, p timeline.Page) {
			GinkgoHelper()
			p, err := host.FetchRows(id, q)
			Expect(err).NotTo(HaveOccurred())
			for _, r := range p.Rows {
				if m, ok := r.Item.(timeline.AssistantMessage); ok {
					texts += m.Text
				} else {
					texts += "u"
				}
			}
			return texts, p
		}
		at := func(seq int) timeline.Cursor { return timeline.Cursor{Epoch: "epoch-1", Seq: seq} }

		It("gives the newest rows, those before a cursor, or those after it", func() {
			texts, p := fetch(timeline.Query{Limit: 2})
			Expect(texts).To(Equal("cd"))
			Expect(p.HasOlder).To(BeTrue())
			Expect(p.HasNewer).To(BeFalse())
			texts, p = fetch(timeline.Query{Direction: timeline.Before, Cursor: at(4), Limit: 2})
			Expect(texts).To(Equal("ab"))
			Expect(p.HasOlder && p.HasNewer).To(BeTrue())
			texts, p = fetch(timeline.Query{Direction: timeline.After, Cursor: at(3)})
			Expect(texts).To(Equal("cd"))
			Expect(p.HasNewer).To(BeFalse())
		})
		It("gives the tail for a cursor of another history, and says reset", func() {
			texts, p := fetch(timeline.Query{Direction: timeline.After, Cursor: timeline.Cursor{Epoch: "epoch-0", Seq: 3}})
			Expect(texts).To(Equal("uabcd"))
			Expect(p.Reset).To(BeTrue())
			Expect(p.Gap).To(BeFalse())
		})
		It("says gap for a cursor behind the last row", func() {
			_, p := fetch(timeline.Query{Direction: timeline.After, Cursor: at(99)})
			Expect(p.Reset && p.Gap).To(BeTrue())
		})
	})

	It("prints with the whole host", func(ctx SpecContext) {
		turn := host.StartFakeAgentTurn(ctx, script.New(script.Ask(script.Approval{Title: "rm -rf build"})))
		req, err := turn.AwaitRequest(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(host.Dump()).To(Equal(`agent agent-1 is running, in step 1 {"approval":{"title":"rm -rf build"}}
  0 user_message "{\"steps\":[{\"approval\":{\"title\":\"rm -rf build\"}}]}"  <- agent-1-turn-1
  1 tool_call Bash "rm -rf build" running
    command_execution_approval req-1 "rm -rf build" is open`))
		Expect(format.Object(host, 0)).To(ContainSubstring("agent agent-1 is running, in step 1"), "so does a matcher that fails")
		Expect(host.Respond(ctx, turn.AgentID, req.ID, "accept")).To(Succeed())
		turn.Wait(ctx)
	})
})
