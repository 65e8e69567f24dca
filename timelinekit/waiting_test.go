package timelinekit_test

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// slowMCP is a client of servers that take their time, to connect and to answer.
type slowMCP struct{ connect, call time.Duration }

func (m slowMCP) Connect(context.Context, fakeagent.MCPConnect) (fakeagent.MCPClient, error) {
	time.Sleep(m.connect)
	return m, nil
}

func (m slowMCP) CallTool(context.Context, string, json.RawMessage) (fakeagent.MCPResult, error) {
	time.Sleep(m.call)
	return fakeagent.MCPResult{JSON: json.RawMessage("{}")}, nil
}

func (slowMCP) Close() error { return nil }

// Whatever the kit waits for, it waits for on virtual time: to the instant, and in no time at all.
var _ = Describe("Every place where the kit waits", bubble.InBubble, func() {
	var began time.Time
	BeforeEach(func() { began = time.Now() })
	took := func() time.Duration { return time.Since(began) }

	DescribeTable("in a script:", func(ctx SpecContext, prompt string, want time.Duration) {
		cfg := fakeagent.Scripted()
		cfg.MCP = slowMCP{connect: time.Second, call: 2 * time.Second}
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("fake-agent", fakeagent.NewT(GinkgoT(), cfg)))
		longer, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		Expect(host.RunPrompt(longer, prompt, timelinekit.MCPServers(fakeagent.MCPServer{Name: "slow"}))).To(EndCompleted())
		Expect(took()).To(Equal(want))
	},
		Entry("sleep", `[{"sleep":90000}]`, 90*time.Second),
		Entry("the delay before each step", `{"stepDelayMs":1000,"steps":[{"say":"a"},{"think":"b"},{"write":{"path":"../c","content":""}}]}`, 3*time.Second),
		Entry("the chunks of a message", `[{"say":{"text":"abcd","chunks":4,"intervalMs":500}}]`, 1500*time.Millisecond),
		Entry("a tool that runs for a while", `[{"tool":{"name":"Read","holdMs":7000}}]`, 7*time.Second),
		Entry("an approval that nobody answers", `[{"approval":{"title":"rm","timeoutMs":60000}}]`, time.Minute),
		Entry("an MCP server that is slow to connect and to answer", `[{"mcp":{"server":"slow","tool":"x"}},{"mcp":{"server":"slow","tool":"x"}}]`, 5*time.Second),
	)

	It("a hold, on both sides of its gate", func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		turn := host.StartFakeAgentTurn(ctx, script.New(script.Sleep(time.Second), script.Hold("g")))
		Expect(turn.Gate("g").AwaitHeld(ctx)).To(Succeed())
		Expect(took()).To(Equal(time.Second))
		time.AfterFunc(time.Second, turn.Gate("g").Release)
		turn.Wait(ctx)
		Expect(took()).To(Equal(2 * time.Second))
	})
	It("a turn's end, a request, a row, and the end of what is interrupted", func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		turn := host.StartPrompt(ctx, `[{"sleep":1000},{"approval":{"title":"rm"}},{"sleep":1000},{"say":"x"},{"sleep":3600000}]`)
		request, err := turn.AwaitRequest(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(took()).To(Equal(time.Second))
		Expect(host.Respond(ctx, turn.AgentID, request.ID, fakeagent.Accept)).To(Succeed())
		Expect(host.WaitFor(ctx, turn.AgentID, ContainItems(BeAssistantMessage("x")))).To(Succeed())
		Expect(took()).To(Equal(2 * time.Second))
		_, err = turn.Await(ctx)
		Expect(err).To(MatchError(context.DeadlineExceeded))
		Expect(took()).To(Equal(32 * time.Second))
		Expect(turn.Interrupt(ctx)).To(Succeed())
		Expect(took()).To(Equal(32 * time.Second))
	})
	It("hooks, and those who wait for them", func(ctx SpecContext) {
		pause := func() { time.Sleep(time.Second) }
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithPlugins(timelinekit.NewPlugin("p",
			timelinekit.Before(func(context.Context, timelinekit.AgentCreate) (*timelinekit.AgentCreate, error) {
				pause()
				return nil, nil
			}),
			timelinekit.On(func(context.Context, timelinekit.TurnEnded) error { pause(); return nil }))))
		host.RunPrompt(ctx, "x")
		Expect(took()).To(Equal(time.Second))
		Expect(host.HooksSettled(ctx)).To(Succeed())
		Expect(took()).To(Equal(2 * time.Second))
	})
	It("a provider that starts a session, accepts a turn, takes an answer and ends a session, each after a while", func(ctx SpecContext) {
		pause := func() { time.Sleep(time.Second) }
		t := &recorder.T{}
		host := puppetHost(t, &puppet{
			onStart:   func(fakeagent.SessionConfig) error { pause(); return nil },
			onRespond: func(string) error { pause(); return nil },
			onSend: func(p *puppet, in fakeagent.TurnInput, id string) error {
				pause()
				p.emit(in.ThreadID, id, event.TurnStarted{})
				p.send(event.Event{ThreadID: in.ThreadID, TurnID: id, RequestID: "r", Payload: event.RequestOpened{}})
				return nil
			},
			onStop: func(string) error { pause(); return fakeagent.ErrNoSession },
		})
		turn := host.StartPrompt(ctx, "x")
		Expect(took()).To(Equal(2 * time.Second))
		Expect(host.Respond(ctx, turn.AgentID, "r", fakeagent.Accept)).To(Succeed())
		Expect(took()).To(Equal(3 * time.Second))
		Expect(t.End()).To(HaveExactElements(ContainSubstring("the turn of agent agent-1 has not ended within 10s of the test's end")))
		Expect(took()).To(Equal(13*time.Second), "the session that does not end is waited for, too")
	})
})

var _ = Describe("A host of an Ordered container on virtual time", Ordered, bubble.InBubble, func() {
	var (
		host  *timelinekit.Host
		began time.Time
		id    string
	)
	BeforeAll(func(ctx SpecContext) {
		host, began = timelinekit.NewHost(GinkgoT()), time.Now()
		id = host.RunPrompt(ctx, `[{"sleep":1000}]`).AgentID
	})
	It("lives from spec to spec", func(ctx SpecContext) {
		Expect(host.SendPrompt(ctx, id, `[{"sleep":1000}]`)).To(EndCompleted())
	})
	It("and so does its clock, which stands still in between", func(ctx SpecContext) {
		Expect(time.Since(began)).To(Equal(2 * time.Second))
		Expect(host.AgentTimeline(id)).To(HaveItems(BeUserMessage(ContainSubstring("sleep")), BeUserMessage(ContainSubstring("sleep"))))
	})
})

var _ = Describe("A host that was made outside of a bubble", func() {
	var (
		host *timelinekit.Host
		id   string
	)
	BeforeEach(func(ctx SpecContext) {
		host = timelinekit.NewHost(GinkgoT())
		id = host.RunPrompt(ctx, "x").AgentID
	})
	It("says so when it is used inside, where it would wait for ever or end the program", bubble.InBubble, func(ctx SpecContext) {
		const why = "timelinekit: the host was made outside of the bubble that it is used in, or the other way round; " +
			"make it in the same bubble: in Ginkgo decorate the container whose BeforeEach makes it, not only the It"
		_, err := host.CreateAgent(ctx)
		Expect(err).To(MatchError(why))
		_, err = host.SendTurn(ctx, id, "y")
		Expect(err).To(MatchError(why))
	})
})
