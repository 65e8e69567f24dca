package timelinekit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
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

func (m slowMCP) ListTools(context.Context) ([]string, error) {
	time.Sleep(m.call)
	return nil, nil
}

func (slowMCP) Close() error { return nil }

// growing is a client of one server, which gets more with each look at it: a tool, and an item of its list.
type growing struct {
	answer time.Duration // how long each look takes

	mu    sync.Mutex
	began time.Time
	looks []time.Duration // when they began
}

func (g *growing) Connect(context.Context, fakeagent.MCPConnect) (fakeagent.MCPClient, error) {
	g.began = time.Now()
	return g, nil
}

// look is which one it is, from 1.
func (g *growing) look(ctx context.Context) (int, error) {
	g.mu.Lock()
	g.looks = append(g.looks, time.Since(g.began))
	n := len(g.looks)
	g.mu.Unlock()
	if g.answer == 0 {
		return n, nil
	}
	select {
	case <-time.After(g.answer):
		return n, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (g *growing) ListTools(ctx context.Context) (tools []string, err error) {
	n, err := g.look(ctx)
	for i := range n {
		tools = append(tools, fmt.Sprint("tool", i+1))
	}
	return tools, err
}

func (g *growing) CallTool(ctx context.Context, _ string, _ json.RawMessage) (fakeagent.MCPResult, error) {
	n, err := g.look(ctx)
	list := "[" + strings.TrimSuffix(strings.Repeat("0,", n), ",") + "]"
	return fakeagent.MCPResult{JSON: json.RawMessage(`{"structuredContent":{"items":` + list + `}}`)}, err
}

func (*growing) Close() error { return nil }

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
		Entry("a steer that nobody sends", `[{"awaitSteer":{"timeoutMs":5000}}]`, 5*time.Second),
		Entry("a steer that nobody sends, as long as one waits who does not say", `[{"awaitSteer":true}]`, time.Minute),
		Entry("an MCP server that is slow to connect and to answer", `[{"mcp":{"server":"slow","tool":"x"}},{"mcp":{"server":"slow","tool":"x"}}]`, 5*time.Second),
	)

	const quarter = 250 * time.Millisecond
	looks := func(n int, every time.Duration) (all []time.Duration) {
		for i := range n {
			all = append(all, time.Duration(i)*every)
		}
		return all
	}
	played := func(ctx SpecContext, g *growing, prompt string) *timelinekit.Turn {
		cfg := fakeagent.Scripted()
		cfg.MCP = g
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("fake-agent", fakeagent.NewT(GinkgoT(), cfg)))
		return host.StartPrompt(ctx, prompt, timelinekit.MCPServers(fakeagent.MCPServer{Name: "ycodium"}))
	}
	DescribeTable("an MCP server that is looked at again and again:",
		func(ctx SpecContext, step string, answer, want time.Duration, report string, looked []time.Duration) {
			g := &growing{answer: answer}
			turn := played(ctx, g, "["+step+`,{"say":"on it goes"}]`)
			longer, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			Expect(turn.Await(longer)).To(And(EndCompleted(), HaveItems(BeAssistantMessage("on it goes"), BeAssistantMessage("mcp-send "+report))))
			Expect(took()).To(Equal(want))
			Expect(g.looks).To(Equal(looked))
		},
		Entry("wait, for a tool that is there", `{"wait":"tool1"}`, 0*time.Second, 0*time.Second, "wait tool1: ready", looks(1, 0)),
		Entry("wait, for a tool that is there at the third look", `{"wait":"tool3"}`, 0*time.Second, 500*time.Millisecond, "wait tool3: ready", looks(3, quarter)),
		Entry("wait, for a tool that is there at the last look", `{"wait":{"tool":"tool4","timeoutMs":1000}}`, 0*time.Second, 750*time.Millisecond, "wait tool4: ready", looks(4, quarter)),
		Entry("wait, for a tool that would be there when the time is over, and no look then", `{"wait":{"tool":"tool5","timeoutMs":1000}}`, 0*time.Second, time.Second, "wait tool5 failed: timeout", looks(4, quarter)),
		Entry("wait, for a time between two looks", `{"wait":{"tool":"tool5","timeoutMs":600}}`, 0*time.Second, 600*time.Millisecond, "wait tool5 failed: timeout", looks(3, quarter)),
		Entry("wait, for less than the time to the second look", `{"wait":{"tool":"tool2","timeoutMs":1}}`, 0*time.Second, time.Millisecond, "wait tool2 failed: timeout", looks(1, 0)),
		Entry("wait, as long as one waits who does not say", `{"wait":"tool1000"}`, 0*time.Second, 30*time.Second, "wait tool1000 failed: timeout", looks(120, quarter)),
		Entry("wait, for a server that answers late, which is asked again as soon as it has", `{"wait":"tool3"}`, 300*time.Millisecond, 900*time.Millisecond, "wait tool3: ready", looks(3, 300*time.Millisecond)),
		Entry("wait, for a server that would answer when the time is over", `{"wait":{"tool":"tool3","timeoutMs":1000}}`, 400*time.Millisecond, time.Second, "wait tool3 failed: timeout", looks(3, 400*time.Millisecond)),
		Entry("waitFor, for a result that is there", `{"waitFor":{"tool":"tool1","path":"items","atLeast":1}}`, 0*time.Second, 0*time.Second, "waitFor tool1 items >= 1: ready", looks(1, 0)),
		Entry("waitFor, for a result that is there at the third look", `{"waitFor":{"tool":"tool1","path":"items","atLeast":3}}`, 0*time.Second, 500*time.Millisecond, "waitFor tool1 items >= 3: ready", looks(3, quarter)),
		Entry("waitFor, for a result that would be there when the time is over, and no call then", `{"waitFor":{"tool":"tool1","path":"items.4","atLeast":1,"timeoutMs":1000}}`, 0*time.Second, time.Second, "waitFor tool1 items.4 >= 1 failed: timeout", looks(4, quarter)),
		Entry("waitFor, as long as one waits who does not say", `{"waitFor":{"tool":"tool1","path":"items","atLeast":1000}}`, 0*time.Second, 30*time.Second, "waitFor tool1 items >= 1000 failed: timeout", looks(120, quarter)),
	)
	DescribeTable("the end of a wait that is interrupted, which comes at once:",
		func(ctx SpecContext, step string, answer time.Duration) {
			g := &growing{answer: answer}
			turn := played(ctx, g, "["+step+`]`)
			time.Sleep(1100 * time.Millisecond)
			Expect(turn.Interrupt(ctx)).To(Succeed())
			Expect(turn.Wait(ctx)).To(And(EndCanceled(), HaveItems()), "nothing is reported")
			Expect(took()).To(Equal(1100 * time.Millisecond))
		},
		Entry("wait", `{"wait":"tool1000"}`, time.Duration(0)),
		Entry("wait, in the middle of a look", `{"wait":"tool1000"}`, time.Minute),
		Entry("waitFor", `{"waitFor":{"tool":"tool1","path":"items","atLeast":1000}}`, time.Duration(0)),
		Entry("waitFor, in the middle of a call", `{"waitFor":{"tool":"tool1","path":"items","atLeast":1000}}`, time.Minute),
		Entry("awaitSteer", `{"awaitSteer":true}`, time.Duration(0)),
	)
	It("a steer, which plays in the same turn", func(ctx SpecContext) {
		turn := timelinekit.NewHost(GinkgoT()).StartPrompt(ctx, `[{"sleep":1000},{"say":"Anything else?"},{"awaitSteer":true}]`)
		time.Sleep(3 * time.Second)
		Expect(turn.Steer(ctx, `[{"say":"Wait."},{"sleep":2000},{"awaitSteer":{"timeoutMs":60000}}]`)).To(Succeed())
		time.Sleep(time.Second)
		Expect(turn.Steer(ctx, `[{"say":"That is all."}]`)).To(Succeed(), "one that comes before it is waited for is not waited for")
		Expect(turn.Wait(ctx)).To(And(EndCompleted(), HaveField("Timeline", HaveItems(
			BeUserMessage(HavePrefix("[")), BeAssistantMessage("Anything else?"), BeUserMessage(ContainSubstring("Wait.")), BeAssistantMessage("Wait."),
			BeUserMessage(ContainSubstring("That is all.")), BeAssistantMessage("That is all.")))))
		Expect(took()).To(Equal(5 * time.Second))
	})
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
