package timelinekit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

func TestTimelinekit(t *testing.T) {
	bubble.Suite(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "The in-process host")
}

var _ = leak.Check()

// aTest is a recorder that ends with the spec.
func aTest() *recorder.T {
	t := &recorder.T{}
	DeferCleanup(func() { t.End() })
	return t
}

// puppet is a provider whose every move the spec makes. Turns are T1, T2, and so on.
type puppet struct {
	mu   sync.Mutex
	subs []func(event.Event)
	sent int

	onStart     func(fakeagent.SessionConfig) error
	onSend      func(p *puppet, in fakeagent.TurnInput, turnID string) error
	onSteer     func(in fakeagent.TurnInput) (turnID string, err error)
	onInterrupt func(threadID, turnID string) error
	onRespond   func(requestID string) error
	onStop      func(threadID string) error
	onRead      func()
}

var _ fakeagent.Provider = (*puppet)(nil)

func (p *puppet) emit(threadID, turnID string, payload event.Payload) {
	p.send(event.Event{ThreadID: threadID, TurnID: turnID, Payload: payload})
}

func (p *puppet) send(e event.Event) {
	p.mu.Lock()
	subs := p.subs
	p.mu.Unlock()
	for _, fn := range subs {
		fn(e)
	}
}

func (p *puppet) Subscribe(fn func(event.Event)) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subs = append(p.subs, fn)
	return func() {}
}

func (p *puppet) StartSession(_ context.Context, s fakeagent.SessionConfig) error {
	if p.onStart != nil {
		return p.onStart(s)
	}
	return nil
}

func (p *puppet) SendTurn(_ context.Context, in fakeagent.TurnInput) (string, error) {
	if in.TurnID != "" {
		return p.onSteer(in)
	}
	p.mu.Lock()
	p.sent++
	id := fmt.Sprint("T", p.sent)
	p.mu.Unlock()
	if p.onSend != nil {
		return id, p.onSend(p, in, id)
	}
	p.emit(in.ThreadID, id, event.TurnStarted{})
	return id, nil
}

func (p *puppet) InterruptTurn(_ context.Context, threadID, turnID string) error {
	if p.onInterrupt != nil {
		return p.onInterrupt(threadID, turnID)
	}
	p.emit(threadID, turnID, event.TurnCompleted{State: event.TurnEndInterrupted})
	return nil
}

func (p *puppet) StopSession(_ context.Context, threadID string) error {
	if p.onStop != nil {
		return p.onStop(threadID)
	}
	p.emit(threadID, "", event.SessionExited{})
	return nil
}

func (p *puppet) RespondToRequest(_ context.Context, _, requestID string, _ fakeagent.Decision) error {
	if p.onRespond != nil {
		return p.onRespond(requestID)
	}
	return nil
}

func (p *puppet) RespondToUserInput(_ context.Context, _, requestID string, _ map[string]any) error {
	return p.RespondToRequest(context.Background(), "", requestID, "")
}

func (p *puppet) ReadThread(context.Context, string) (fakeagent.Thread, error) {
	if p.onRead != nil {
		p.onRead()
	}
	return fakeagent.Thread{}, nil
}

func (p *puppet) Probe(context.Context) (fakeagent.Probe, error) {
	return fakeagent.Probe{Label: "Puppet", Models: []fakeagent.Model{{ID: "wood", Label: "Wood"}}}, nil
}

// puppetHost is a host whose only provider is a puppet.
func puppetHost(t timelinekit.T, p *puppet) *timelinekit.Host {
	GinkgoHelper()
	return timelinekit.NewHost(t, timelinekit.WithProvider("puppet", p))
}
