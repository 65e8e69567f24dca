package fakeagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// orchestrator is a host that knows agents by the contract of provider adapters alone: verbs, and one stream of events in JSON, from which it
// makes what a user sees. It has no types of ours in what it keeps.
type orchestrator struct {
	adapter *fakeagent.Instance

	mu      sync.Mutex
	threads map[string]*conversation
	changed chan struct{} // closed by the next event
}

type conversation struct {
	status    string // ready, running, error, stopped
	turn      string // the active one
	lastError string
	messages  []message
	buffers   map[string]string // of messages that are not complete, by their ids
	pending   map[string]string // requests that wait for the user, by what they ask
	asides    []string          // questions that wait for nobody
	tools     map[string]string // the status of each, by its title
	queue     []string          // what the user said and no turn has taken
	turns     int
}

type message struct{ role, text string }

// arrival is an event as it arrives.
type arrival struct {
	Type, EventID, ThreadID, TurnID, ItemID, RequestID, CreatedAt string
	Payload                                                       map[string]any
}

func newOrchestrator(cfg fakeagent.Config) *orchestrator {
	GinkgoHelper()
	if cfg.MCP == nil {
		cfg.MCP = &drawing{}
	}
	o := &orchestrator{adapter: fakeagent.NewT(GinkgoT(), cfg), threads: map[string]*conversation{}, changed: make(chan struct{})}
	o.adapter.Subscribe(func(e event.Event) {
		text, err := json.Marshal(e)
		Expect(err).NotTo(HaveOccurred())
		var w arrival
		Expect(json.Unmarshal(text, &w)).To(Succeed())
		Expect([]string{w.Type, w.EventID, w.ThreadID, w.CreatedAt}).NotTo(ContainElement(BeEmpty()), "every event has these")
		o.ingest(w)
	})
	return o
}

func (o *orchestrator) start(ctx context.Context, thread string) {
	GinkgoHelper()
	o.threads[thread] = &conversation{buffers: map[string]string{}, pending: map[string]string{}, tools: map[string]string{}}
	Expect(o.adapter.StartSession(ctx, fakeagent.SessionConfig{ThreadID: thread, MCPServers: []fakeagent.MCPServer{{Name: "ycodium"}}})).To(Succeed())
}

// ingest is what a host makes of an event. It ends a turn only by the id that is active.
func (o *orchestrator) ingest(w arrival) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	c := o.threads[w.ThreadID]
	if c == nil {
		return
	}
	text := func(key string) string { s, _ := w.Payload[key].(string); return s }
	switch w.Type {
	case "session.started":
		c.status = "ready"
	case "session.exited":
		c.status, c.turn, c.buffers = "stopped", "", map[string]string{}
	case "turn.started":
		if c.turn == "" {
			c.turn, c.status = w.TurnID, "running"
			c.turns++
		}
	case "turn.completed":
		if w.TurnID != c.turn {
			return
		}
		for _, id := range slices.Sorted(maps.Keys(c.buffers)) {
			c.messages = append(c.messages, message{"assistant", c.buffers[id]})
		}
		c.buffers, c.turn, c.status = map[string]string{}, "", "ready"
		if text("state") == "failed" {
			c.status, c.lastError = "error", text("errorMessage")
		}
	case "runtime.error":
		c.status = "error"
	case "content.delta":
		if text("streamKind") == "assistant_text" {
			id := w.ItemID
			if id == "" {
				id = w.TurnID
			}
			c.buffers[id] += text("delta")
		}
	case "item.started", "item.completed":
		c.tools[text("title")] = text("status")
	case "request.opened":
		c.pending[w.RequestID] = text("requestType")
	case "user-input.requested":
		question := w.Payload["questions"].([]any)[0].(map[string]any)["question"].(string)
		if text("responseMode") == "message" {
			c.asides = append(c.asides, question)
		} else {
			c.pending[w.RequestID] = question
		}
	case "request.resolved", "user-input.resolved":
		delete(c.pending, w.RequestID)
	}
}

// say is what the user says: a turn of its own, a steer of the one that runs, or something for later.
func (o *orchestrator) say(ctx context.Context, thread, text string) {
	GinkgoHelper()
	o.mu.Lock()
	c := o.threads[thread]
	turn := c.turn
	before := len(c.messages)
	c.messages = append(c.messages, message{"user", text}) // before the provider has it, as the answer may be quick
	o.mu.Unlock()
	id, err := o.adapter.SendTurn(ctx, fakeagent.TurnInput{ThreadID: thread, TurnID: turn, Text: text})
	o.mu.Lock()
	defer o.mu.Unlock()
	var coded interface{ Code() string }
	switch {
	case errors.As(err, &coded) && coded.Code() == "provider-rejected":
		c.messages = slices.Delete(c.messages, before, before+1)
		c.queue = append(c.queue, text)
	case err != nil:
		Fail(err.Error())
	default:
		Expect(turn == "" || id == turn).To(BeTrue(), "a steer is no turn of its own")
	}
}

// settled is what the user sees when nothing moves any more. Whatever was asked was answered by answer.
func (o *orchestrator) settled(thread string, answer func(request, asks string)) conversation {
	for {
		synctest.Wait()
		o.mu.Lock()
		c := *o.threads[thread]
		pending, changed := maps.Clone(c.pending), o.changed
		o.mu.Unlock()
		switch {
		case len(pending) > 0:
			for id, asks := range pending {
				answer(id, asks)
			}
		case c.status == "running":
			<-changed
		default:
			return c
		}
	}
}

var _ = Describe("A host that knows agents by the contract of provider adapters", func() {
	const reply = "fake turn complete"
	accept := func(ctx context.Context, o *orchestrator, thread string) func(request, asks string) {
		return func(request, asks string) {
			if err := o.adapter.RespondToRequest(ctx, thread, request, fakeagent.Accept); errors.Is(err, fakeagent.ErrUnknownRequest) {
				Expect(o.adapter.RespondToUserInput(ctx, thread, request, map[string]any{"color": "Green"})).To(Succeed(), asks)
			}
		}
	}

	DescribeTable("drives each script to its end", bubble.InBubble, func(ctx SpecContext, cfg fakeagent.Config, prompt, want string) {
		o := newOrchestrator(cfg)
		for _, thread := range []string{"a", "b"} {
			o.start(ctx, thread)
			for range 2 {
				o.say(ctx, thread, prompt)
				c := o.settled(thread, accept(ctx, o, thread))
				Expect([]string{c.status, c.turn, c.lastError}).To(Equal([]string{"ready", "", ""}))
				Expect(c.pending).To(BeEmpty())
			}
			c := o.settled(thread, nil)
			Expect(c.turns).To(Equal(2))
			Expect(c.tools).To(Or(BeEmpty(), HaveEach("completed")))
			Expect(c.messages).To(HaveLen(4))
			for i, m := range c.messages {
				if i%2 == 0 {
					Expect(m).To(Equal(message{"user", prompt}))
					continue
				}
				Expect(m.role).To(Equal("assistant"))
				Expect(m.text).To(HavePrefix(want))
			}
			if cfg.Script == "async-question" {
				Expect(c.asides).To(Equal([]string{"Which color should it have?"}))
			}
		}
	},
		Entry("plain", fakeagent.Config{}, "go", reply),
		Entry("approval-tool", fakeagent.Config{Script: "approval-tool"}, "go", reply),
		Entry("approval-tool, both at once", fakeagent.Config{Script: "approval-tool", OpenBothApprovals: true}, "go", reply),
		Entry("async-question", fakeagent.Config{Script: "async-question"}, "go", reply),
		Entry("stream", fakeagent.Config{Script: "stream"}, "go", "# What was done\n\n## Part 1\n"),
		Entry("visualize", fakeagent.Config{Script: "visualize", PreviewHoldMs: number(500)}, "go", "The figure is in the card above."),
		Entry("lane:plain", fakeagent.Config{Script: "lane"}, "lane:plain", reply),
		Entry("lane:stream", fakeagent.Config{Script: "lane"}, "lane:stream", "# What was done"),
		Entry("lane:approve", fakeagent.Config{Script: "lane"}, "lane:approve", "approved"),
		Entry("lane:question", fakeagent.Config{Script: "lane"}, "lane:question", `answered: {"color":"Green"}`),
		Entry("lane:attach", fakeagent.Config{Script: "lane"}, "lane:attach", "attachments: none"),
		Entry("lane:hold", fakeagent.Config{Script: "lane"}, "lane:hold", reply),
	)

	It("steers a turn that holds, and keeps for later what another one does not take", bubble.InBubble, func(ctx SpecContext) {
		o := newOrchestrator(fakeagent.Config{Script: "lane"})
		o.start(ctx, "a")
		o.say(ctx, "a", "lane:hold")
		synctest.Wait()
		o.say(ctx, "a", "faster")
		c := o.settled("a", nil)
		Expect(c.messages).To(Equal([]message{{"user", "lane:hold"}, {"user", "faster"}, {"assistant", reply + " + faster"}}))
		o.say(ctx, "a", "lane:stream")
		synctest.Wait()
		o.say(ctx, "a", "lane:attach")
		c = o.settled("a", nil)
		Expect(c.queue).To(Equal([]string{"lane:attach"}))
		o.say(ctx, "a", c.queue[0])
		c = o.settled("a", nil)
		Expect(c.turns).To(Equal(3))
		Expect(c.messages[len(c.messages)-1]).To(Equal(message{"assistant", "attachments: none"}))
	})

	It("interrupts any of them, and can go on", bubble.InBubble, func(ctx SpecContext) {
		for _, prompt := range []string{"lane:stream", "lane:approve", "lane:question", "lane:hold"} {
			o := newOrchestrator(fakeagent.Config{Script: "lane"})
			o.start(ctx, "a")
			o.say(ctx, "a", prompt)
			synctest.Wait()
			Expect(o.adapter.InterruptTurn(ctx, "a", "")).To(Succeed())
			c := o.settled("a", func(_, asks string) { Fail(asks + " is still open") })
			Expect(c.status).To(Equal("ready"), prompt)
			Expect(c.turns).To(Equal(1), prompt)
			o.say(ctx, "a", "lane:plain")
			c = o.settled("a", nil)
			Expect(c.messages[len(c.messages)-1]).To(Equal(message{"assistant", reply}))
			Expect(o.adapter.StopSession(ctx, "a")).To(Succeed())
			synctest.Wait()
			Expect(o.settled("a", nil).status).To(Equal("stopped"))
		}
	})

	It("reads what an agent has kept of a thread, and which models it offers", bubble.InBubble, func(ctx SpecContext) {
		o := newOrchestrator(fakeagent.Config{Script: "lane"})
		o.start(ctx, "a")
		o.say(ctx, "a", "lane:hold")
		synctest.Wait()
		o.say(ctx, "a", "faster")
		o.settled("a", nil)
		thread, err := o.adapter.ReadThread(ctx, "a")
		Expect(err).NotTo(HaveOccurred())
		text, err := json.Marshal(thread.Turns[0].Items)
		Expect(err).NotTo(HaveOccurred())
		Expect(text).To(MatchJSON(`[{"type":"user_message","text":"lane:hold"},{"type":"user_message","text":"faster"},
			{"type":"assistant_message","text":"fake turn complete + faster","messageId":"a-1-1"}]`))
		probe, err := o.adapter.Probe(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(probe.Models).To(HaveExactElements(HaveField("ID", "fake"), HaveField("ID", "fake-large")))
	})
})
