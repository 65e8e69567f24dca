package fakeagentmock_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.uber.org/mock/gomock"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/fakeagentmock"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
	"github.com/understudy-go/understudy/timelinekit/timelinekitmock"
)

func TestMocks(t *testing.T) {
	RegisterFailHandler(Fail)
	bubble.Suite(t)
	RunSpecs(t, "Generated mocks")
}

var _ = leak.Check()

var _ = Describe("A mocked provider", func() {
	It("plays a turn for a host, call by call", func(ctx SpecContext) {
		ctrl, _ := fakeagentmock.NewController(GinkgoT())
		p := fakeagentmock.NewMockProvider(ctrl)
		var tell func(event.Event)
		gomock.InOrder(
			p.EXPECT().Subscribe(gomock.Any()).DoAndReturn(func(fn func(event.Event)) func() { tell = fn; return func() {} }),
			p.EXPECT().StartSession(gomock.Any(), HaveThread("agent-1")),
			p.EXPECT().SendTurn(gomock.Any(), fakeagent.TurnInput{ThreadID: "agent-1", Text: "hello"}).DoAndReturn(
				func(context.Context, fakeagent.TurnInput) (string, error) {
					tell(event.Event{ThreadID: "agent-1", TurnID: "T1", Payload: event.TurnStarted{}})
					tell(event.Event{ThreadID: "agent-1", TurnID: "T1", Payload: event.TurnCompleted{State: event.TurnEndCompleted}})
					return "T1", nil
				}),
			p.EXPECT().StopSession(gomock.Any(), "agent-1").Return(fakeagent.ErrNoSession),
		)
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("mock", p))
		Expect(host.RunPrompt(ctx, "hello")).To(EndCompleted())
	})
	It("that is called as nobody expected makes the host's caller an error, and the test's end says which call it was", func(ctx SpecContext) {
		t := &recorder.T{}
		ctrl, wait := fakeagentmock.NewController(t)
		p := fakeagentmock.NewMockProvider(ctrl)
		p.EXPECT().Subscribe(gomock.Any()).Return(func() {})
		host := timelinekit.NewHost(t, timelinekit.WithProvider("mock", p))
		_, err := host.CreateAgent(ctx)
		Expect(err).To(MatchError("timelinekit: agent agent-1 could not start: provider mock: it called runtime.Goexit, as t.FailNow and t.Fatal do"))
		Expect(context.Cause(wait)).To(MatchError(ContainSubstring("Unexpected call to *fakeagentmock.MockProvider.StartSession(")))
		Expect(t.End()).To(HaveExactElements(And(
			HavePrefix("gomock: at the end of the test:\n  Unexpected call to *fakeagentmock.MockProvider.StartSession("),
			ContainSubstring("there are no expected calls of the method"))))
	})
})

// HaveThread matches a session by its thread.
func HaveThread(id string) gomock.Matcher {
	return gomock.Cond(func(s fakeagent.SessionConfig) bool { return s.ThreadID == id })
}

var _ = Describe("A mocked hook", func() {
	It("is a plugin's hook as its method", func(ctx SpecContext) {
		ctrl, _ := fakeagentmock.NewController(GinkgoT())
		ended := timelinekitmock.NewMockTurnEndedHook(ctrl)
		create := timelinekitmock.NewMockBeforeAgentCreateHook(ctrl)
		gomock.InOrder(
			create.EXPECT().BeforeAgentCreate(gomock.Any(), gomock.Any()).Return(nil, nil),
			ended.EXPECT().TurnEnded(gomock.Any(), gomock.Cond(func(e timelinekit.TurnEnded) bool { return e.TurnID == "agent-1-turn-1" })),
		)
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithPlugins(
			timelinekit.NewPlugin("mock", timelinekit.On(ended.TurnEnded), timelinekit.Before(create.BeforeAgentCreate))))
		host.RunPrompt(ctx, "hello")
		Expect(host.HooksSettled(ctx)).To(Succeed())
	})
	It("that is called as nobody expected hangs neither the barrier nor the test's end, which says which call it was", func(ctx SpecContext) {
		t := &recorder.T{}
		ctrl, _ := fakeagentmock.NewController(t)
		ended := timelinekitmock.NewMockTurnEndedHook(ctrl)
		host := timelinekit.NewHost(t, timelinekit.WithPlugins(timelinekit.NewPlugin("mock", timelinekit.On(ended.TurnEnded))))
		host.RunPrompt(ctx, "hello")
		Expect(host.HooksSettled(ctx)).To(Succeed())
		Expect(t.End()).To(HaveExactElements(
			ContainSubstring("plugin mock: agent.turn_ended of agent-1-turn-1: it called runtime.Goexit"),
			ContainSubstring("Unexpected call to *timelinekitmock.MockTurnEndedHook.TurnEnded(")))
	})
})

var _ = Describe("A controller's bad call", func() {
	controller := func() (t *recorder.T, p *fakeagentmock.MockProvider, ctx context.Context) {
		t = &recorder.T{}
		ctrl, ctx := fakeagentmock.NewController(t)
		return t, fakeagentmock.NewMockProvider(ctrl), ctx
	}
	It("on the goroutine of a node fails it there, with gomock's message", func() {
		t, p, ctx := controller()
		Expect(func() { _, _ = p.Probe(context.Background()) }).To(PanicWith(HavePrefix("Unexpected call to *fakeagentmock.MockProvider.Probe(")))
		Expect(ctx.Err()).NotTo(HaveOccurred())
		Expect(t.End()).To(BeEmpty(), "it has failed already")
	})
	It("on the goroutine of a node in a bubble does so too", bubble.InBubble, func() {
		_, p, _ := controller()
		Expect(func() { _, _ = p.Probe(context.Background()) }).To(PanicWith(HavePrefix("Unexpected call to *fakeagentmock.MockProvider.Probe(")))
	})
	It("on any other one ends the wait of who waits with the context, and is told at the test's end, with the calls that are missing", func() {
		t, p, ctx := controller()
		p.EXPECT().ReadThread(gomock.Any(), "a")
		answered := make(chan string)
		go func() { // a host of somebody else
			id, _ := p.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: "a"})
			answered <- id
		}()
		select {
		case <-answered:
			Fail("the mock answered")
		case <-ctx.Done():
		}
		Expect(context.Cause(ctx)).To(MatchError(HavePrefix("Unexpected call to *fakeagentmock.MockProvider.SendTurn(")))
		Expect(t.End()).To(HaveExactElements(And(
			HavePrefix("gomock: at the end of the test:\n  Unexpected call to *fakeagentmock.MockProvider.SendTurn("),
			ContainSubstring("\n  missing call(s) to *fakeagentmock.MockProvider.ReadThread("))))
	})
	It("after the test ends its goroutine, and nothing else", func() {
		t, p, ctx := controller()
		Expect(t.End()).To(BeEmpty())
		Expect(ctx.Err()).To(MatchError(context.Canceled), "whoever still waits need not")
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _ = p.Probe(context.Background())
		}()
		<-gone
		Expect(t.Errors()).To(BeEmpty())
	})
})

// In a plain test a bad call on another goroutine would leave the test waiting until it times out.
func TestPlainTestWithAMock(t *testing.T) {
	r := &recorder.T{}
	ctrl, ctx := fakeagentmock.NewController(r)
	p := fakeagentmock.NewMockProvider(ctrl)
	go func() { _ = p.StopSession(context.Background(), "a") }()
	<-ctx.Done()
	if errs := r.End(); len(errs) != 1 {
		t.Errorf("want one error, got %q", errs)
	}
	if err := context.Cause(ctx); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("the context ended with %v, want gomock's message", err)
	}
}
