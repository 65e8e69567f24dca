package fakeagent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// subAgent is a recording of a turn in which a sub-agent looks for something, with all that a recorder may have written.
const subAgent = `{"name": "a sub-agent looks", "recordedWith": 3, "events": [
	{"type": "turn.started", "eventId": "e1", "provider": "rec", "threadId": "T", "turnId": "U", "createdAt": "2019-05-05T05:05:05Z", "payload": {"model": "big"}},
	{"type": "item.started", "eventId": "e2", "provider": "rec", "threadId": "T", "turnId": "U", "createdAt": "2019-05-05T05:05:06Z", "itemId": "tool-A",
		"providerRefs": {"providerItemId": "tool-A", "providerTurnId": "native"}, "raw": {"source": "x", "payload": {"secret": "s"}},
		"payload": {"itemType": "collab_agent_tool_call", "status": "inProgress", "title": "Agent", "data": {"toolUseId": "use-B", "input": {"prompt": "find it"}}}},
	{"type": "task.started", "eventId": "e3", "provider": "rec", "threadId": "T", "turnId": "U", "createdAt": "2019-05-05T06:05:06Z",
		"payload": {"taskId": "task-C", "toolUseId": "use-B", "description": "find it", "taskType": "explorer"}},
	{"type": "tool.progress", "eventId": "e4", "provider": "rec", "threadId": "T", "turnId": "U", "createdAt": "2019-05-05T06:05:07Z",
		"payload": {"toolUseId": "use-B", "toolName": "Grep", "elapsedSeconds": 1.50}},
	{"type": "task.progress", "eventId": "e5", "provider": "rec", "threadId": "T", "turnId": "U", "createdAt": "2019-05-05T06:05:07Z",
		"payload": {"taskId": "task-C", "description": "find it", "summary": "looked in a.go", "usage": {"total_tokens": 5}}},
	{"type": "task.completed", "eventId": "e6", "provider": "rec", "threadId": "T", "turnId": "U", "createdAt": "2019-05-05T06:05:08Z",
		"payload": {"taskId": "task-C", "status": "completed", "summary": "it is in b.go"}},
	{"type": "item.completed", "eventId": "e7", "provider": "rec", "threadId": "T", "turnId": "U", "createdAt": "2019-05-05T06:05:08Z", "itemId": "tool-A",
		"payload": {"itemType": "collab_agent_tool_call", "status": "completed", "title": "Agent", "data": {"result": ["b.go"], "from": ["task-C", "x task-C"]}}},
	{"type": "content.delta", "eventId": "e8", "provider": "rec", "threadId": "T", "turnId": "U", "createdAt": "2019-05-05T06:05:09Z", "itemId": "msg-D",
		"payload": {"streamKind": "assistant_text", "delta": "In b.go", "contentIndex": 0}},
	{"type": "turn.completed", "eventId": "e9", "provider": "rec", "threadId": "T", "turnId": "U", "createdAt": "2019-05-05T06:05:10Z", "payload": {"state": "completed"}}
]}`

// recording is a file of its own with this text.
func recording(text string) (path string) {
	GinkgoHelper()
	path = filepath.Join(GinkgoT().TempDir(), "recording.json")
	Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	return path
}

// recorded is a recording of events in short: a type and, behind a space, the payload.
func recorded(events ...string) string {
	var all []string
	for _, e := range events {
		typ, payload, ok := strings.Cut(e, " ")
		if !ok {
			payload = "{}"
		}
		all = append(all, fmt.Sprintf(`{"type":%q,"payload":%s}`, typ, payload))
	}
	return "[" + strings.Join(all, ",\n") + "]"
}

// replayer is an agent that replays a recording of this text at once, unless a change of its config says otherwise.
func replayer(text string, changes ...func(*fakeagent.Config)) *agent {
	GinkgoHelper()
	cfg := fakeagent.Config{Script: "replay", ReplayEventsPath: recording(text), Instant: true}
	for _, change := range changes {
		change(&cfg)
	}
	a := start(cfg, "")
	DeferCleanup(a.Close)
	return a
}

func paced(c *fakeagent.Config) { c.Instant = false }

// pace is so many milliseconds between events, and after a task.started.
func pace(step, hold int) func(*fakeagent.Config) {
	return func(c *fakeagent.Config) { c.Instant, c.ReplayStepMs, c.ReplayTaskHoldMs = false, &step, &hold }
}

func allow(types ...string) func(*fakeagent.Config) {
	return func(c *fakeagent.Config) { c.ReplayAllow = types }
}

// played are the events of the last turn, without its first and its last.
func (a *agent) played() []event.Event {
	GinkgoHelper()
	all := a.seen()
	begin := len(all) - 1
	Expect(all[begin].Payload.Type()).To(Equal("turn.completed"))
	for all[begin].Payload.Type() != "turn.started" {
		begin--
	}
	return all[begin+1 : len(all)-1]
}

// wire is an event in short, as whoever reads its JSON sees it: type, ids, payload.
func wire(e event.Event) string {
	GinkgoHelper()
	b, err := timeline.JSON(e)
	Expect(err).NotTo(HaveOccurred())
	var w struct {
		Type, ItemID, RequestID string
		ProviderRefs, Payload   json.RawMessage
	}
	Expect(json.Unmarshal(b, &w)).To(Succeed())
	out := w.Type
	for _, more := range []string{w.ItemID, w.RequestID, string(w.ProviderRefs), string(w.Payload)} {
		if more != "" {
			out += " " + more
		}
	}
	return out
}

func onWire(events []event.Event) []string {
	GinkgoHelper()
	out := []string{}
	for _, e := range events {
		out = append(out, wire(e))
	}
	return out
}

// offsets are how long after its turn began each event of the only turn came.
func (a *agent) offsets() (out []string) {
	events := a.seen()[1:]
	for _, e := range events {
		out = append(out, e.Payload.Type()+" "+e.Time.Sub(events[0].Time).String())
	}
	return out
}

var _ = Describe("The script replay", func() {
	It("plays the recorded events of a turn between a first and a last one of its own", func() {
		a := replayer(subAgent)
		Expect(a.run("go")).To(EndCompleted())
		Expect(a.types()).To(Equal([]string{"session.started", "turn.started", "item.started", "task.started", "tool.progress", "task.progress",
			"task.completed", "item.completed", "content.delta", "turn.completed"}))
		Expect(a.seen()).To(BeWellFormed())
	})

	It("takes an array of events as well", func() {
		a := replayer(` [ {"type":"content.delta","payload":{"streamKind":"assistant_text","delta":"x"}} ] `)
		Expect(a.run("go")).To(And(EndCompleted(), HaveItems(BeAssistantMessage("x"))))
	})

	It("takes an event a line, as the command line prints them", func() {
		a := replayer("\n" + `{"type":"item.updated","payload":{"itemType":"error"}}` + "\r\n\n" + ` {"type":"turn.plan.updated","payload":{"plan":[]}}` + "\n")
		Expect(a.run("x")).To(EndCompleted())
		Expect(a.played()).To(HaveLen(2))
		Expect(replayer(`{"type":"turn.plan.updated","payload":{"plan":[]}}`).run("x")).To(EndCompleted())
	})

	DescribeTable("plays nothing, and is no failure, where there is", func(text string) {
		a := replayer(text)
		Expect(a.run("go")).To(And(EndCompleted(), HaveItems()))
		Expect(a.played()).To(BeEmpty())
	},
		Entry("no event", `[]`),
		Entry("no event in an object", `{"events":[]}`),
		Entry("none to play", `[{"type":"turn.completed","payload":{"state":"failed"}},{"type":"novel","payload":{}}]`),
	)

	It("is set up by JSON as it stands", bubble.InBubble, func() {
		var cfg fakeagent.Config
		Expect(json.Unmarshal([]byte(`{"script":"replay","replayEventsPath":"/absolute/path/to/recorded-events.json","replayStepMs":50,"replayTaskHoldMs":4000}`), &cfg)).To(Succeed())
		Expect(cfg.ReplayEventsPath).To(Equal("/absolute/path/to/recorded-events.json"))
		cfg.ReplayEventsPath = recording(recorded("item.updated", "task.started", "item.updated"))
		a := start(cfg, "")
		DeferCleanup(a.Close)
		Expect(a.run("go")).To(EndCompleted())
		Expect(a.offsets()).To(Equal([]string{"turn.started 0s", "item.updated 0s", "task.started 50ms", "item.updated 4.1s", "turn.completed 4.1s"}))
	})

	It("is one agent with two models, as the other scripts are", func(ctx SpecContext) {
		Expect(replayer(subAgent).Probe(ctx)).To(And(HaveField("ID", "fake"), HaveField("Models", HaveLen(2))))
	})

	It("gives way to a Choose", func() {
		a := replayer(subAgent, func(c *fakeagent.Config) {
			c.Choose = func(fakeagent.Input) (script.Script, error) { return script.New(script.Say("chosen")), nil }
		})
		Expect(a.run("go")).To(HaveItems(BeAssistantMessage("chosen")))
	})

	It("reads the file where the agent runs, not through the Files of its folder", func() {
		a := replayer(subAgent, func(c *fakeagent.Config) { c.Files = noFiles{} })
		Expect(a.run("go")).To(HaveAssistantText("In b.go"))
	})

	It("reads the file anew on every turn", func() {
		var path string
		a := replayer(recorded(`content.delta {"streamKind":"assistant_text","delta":"before"}`), func(c *fakeagent.Config) { path = c.ReplayEventsPath })
		Expect(a.run("go")).To(HaveAssistantText("before"))
		Expect(os.WriteFile(path, []byte(recorded(`content.delta {"streamKind":"assistant_text","delta":"after"}`)), 0o600)).To(Succeed())
		Expect(a.run("go")).To(HaveAssistantText("after"))
	})

	It("has read all of the file before its first event, whatever becomes of the file then", bubble.InBubble, func() {
		var path string
		a := replayer(subAgent, paced, func(c *fakeagent.Config) { path = c.ReplayEventsPath })
		id := a.send("go")
		synctest.Wait()
		Expect(os.Remove(path)).To(Succeed())
		Expect(a.wait(id)).To(And(EndCompleted(), HaveAssistantText("In b.go")))
	})

	It("plays a file of ten megabytes", func() {
		const n = 2000
		events := make([]string, n)
		for i := range events {
			events[i] = fmt.Sprintf(`content.delta {"streamKind":"assistant_text","delta":"%d %s ","contentIndex":%d}`, i, strings.Repeat("x", 5000), i)
		}
		text := recorded(events...)
		Expect(len(text)).To(BeNumerically(">", 10_000_000))
		a := replayer(text)
		Expect(a.run("go")).To(EndCompleted())
		Expect(a.played()).To(HaveLen(n))
		Expect(wire(a.played()[n-1])).To(HaveSuffix(`"contentIndex":1999}`))
	})

	It("plays values as deep as JSON may be, and refuses deeper ones", func() {
		deep := func(n int) string {
			return recorded(`item.started {"itemType":"mcp_tool_call","data":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`)
		}
		a := replayer(deep(9997))
		Expect(a.run("go")).To(EndCompleted())
		Expect(a.played()).To(HaveLen(1))
		Expect(wire(a.played()[0])).To(HaveLen(len(`item.started {"itemType":"mcp_tool_call","data":}`) + 2*9997))
		Expect(replayer(deep(100_000)).run("go")).To(EndFailed(HaveSuffix(`line 1, byte 10067: invalid character '[' exceeded max depth; ` + wantEvents)))
	})
})

// noFiles is a folder that cannot be read.
type noFiles struct{}

func (noFiles) ReadFile(context.Context, fakeagent.SessionConfig, string) ([]byte, error) {
	return nil, errors.New("no")
}
func (noFiles) WriteFile(context.Context, fakeagent.SessionConfig, string, []byte, bool) error {
	return errors.New("no")
}

var _ = Describe("The pace of a replay", bubble.InBubble, func() {
	DescribeTable("is so long between two events, and so much longer after a task.started:",
		func(change func(*fakeagent.Config), first, second, third string) {
			a := replayer(recorded("item.updated", "task.started", "item.updated"), paced, change)
			Expect(a.run("go")).To(EndCompleted())
			Expect(a.offsets()).To(Equal([]string{"turn.started 0s", "item.updated " + first, "task.started " + second, "item.updated " + third, "turn.completed " + third}))
		},
		Entry("by default", func(*fakeagent.Config) {}, "0s", "30ms", "3.06s"),
		Entry("as the config says", pace(1, 10), "0s", "1ms", "12ms"),
		Entry("without the time between", pace(0, 10), "0s", "0s", "10ms"),
		Entry("without the hold", pace(7, 0), "0s", "7ms", "14ms"),
		Entry("without any", pace(0, 0), "0s", "0s", "0s"),
		Entry("ten times as fast", func(c *fakeagent.Config) { c.Speed = 10 }, "0s", "3ms", "306ms"),
		Entry("at once", func(c *fakeagent.Config) { c.Instant = true }, "0s", "0s", "0s"),
		Entry("up to a tenth more or less with a seed", func(c *fakeagent.Config) { c.Seed = 7 }, "0s", "32.248214ms", "3.347198895s"),
	)

	It("holds after the last event, too, and after each of several tasks", func() {
		a := replayer(recorded("task.started", "task.started"), pace(1, 100))
		Expect(a.run("go")).To(EndCompleted())
		Expect(a.offsets()).To(Equal([]string{"turn.started 0s", "task.started 0s", "task.started 101ms", "turn.completed 201ms"}))
	})

	It("counts only what is played", func() {
		a := replayer(recorded("turn.started", "task.started", "turn.completed", "novel", "item.updated"), pace(1, 100), allow("item.*"))
		Expect(a.run("go")).To(EndCompleted())
		Expect(a.offsets()).To(Equal([]string{"turn.started 0s", "item.updated 0s", "turn.completed 0s"}))
	})

	It("does not ask when the events were recorded", func() {
		a := replayer(subAgent, pace(1, 100)) // an hour lies between the first and the last
		Expect(a.run("go")).To(EndCompleted())
		Expect(a.offsets()).To(Equal([]string{"turn.started 0s", "item.started 0s", "task.started 1ms", "tool.progress 102ms", "task.progress 103ms",
			"task.completed 104ms", "item.completed 105ms", "content.delta 106ms", "turn.completed 106ms"}))
	})

	It("is as slow as a clock can be, and no faster, where the number is too large for it", func(ctx SpecContext) {
		a := replayer(recorded("item.updated", "item.updated"), pace(math.MaxInt, 0))
		id := a.send("go")
		time.Sleep(20 * 365 * 24 * time.Hour)
		Expect(a.types()).To(HaveLen(3))
		Expect(a.InterruptTurn(ctx, "a", "")).To(Succeed())
		Expect(a.wait(id)).To(EndCanceled())
	})
})

var _ = Describe("What a replay plays", func() {
	// types are those that the config lets through of all that a recording has.
	types := func(a *agent) []string {
		GinkgoHelper()
		Expect(a.run("go")).To(EndCompleted())
		out := []string{}
		for _, e := range a.played() {
			out = append(out, e.Payload.Type())
		}
		return out
	}
	inTurn := []string{
		"item.started", "item.updated", "item.completed", "content.delta", "turn.plan.updated", "turn.proposed.delta", "turn.proposed.completed", "turn.diff.updated",
		"task.started", "task.progress", "task.updated", "task.completed", "request.opened", "request.resolved", "user-input.requested", "user-input.resolved",
		"hook.started", "hook.progress", "hook.completed", "tool.progress", "tool.summary", "tool.denied", "thread.token-usage.updated",
		"account.rate-limits.updated", "model.rerouted", "files.persisted", "runtime.warning",
	}
	lifecycle := []string{
		"session.started", "session.configured", "session.state.changed", "session.exited", "session.health",
		"thread.started", "thread.state.changed", "thread.metadata.updated", "thread.realtime.started", "thread.realtime.closed",
		"turn.started", "turn.completed", "turn.aborted", "turn.steered", "runtime.error", "process.exit", "process.stderr", "process.raw",
	}
	others := []string{
		"auth.status", "account.updated", "mcp.status.updated", "mcp.oauth.completed", "config.warning", "deprecation.notice", "turn.tasks.updated",
		"vcs.state.changed", "event.unmapped", "novel",
		"item", "items.started", "xitem.started", "content.delta.x", "content.deltas", "turn.plan.updated.x", "turn.proposed",
	}
	all := recorded(slices.Concat(lifecycle, inTurn, others)...)

	It("is by default what belongs to a turn; what is unknown, and what begins and ends things, is dropped", func() {
		Expect(types(replayer(all))).To(Equal(inTurn))
	})

	DescribeTable("is by a list of the config's", func(list []string, want ...string) {
		Expect(types(replayer(all, allow(list...)))).To(Equal(append([]string{}, want...)))
	},
		Entry("a type", []string{"content.delta"}, "content.delta"),
		Entry("types, in the order of the recording", []string{"novel", "item.updated"}, "item.updated", "novel"),
		Entry("all that begin so", []string{"task.*"}, "task.started", "task.progress", "task.updated", "task.completed"),
		Entry("all below a name of two parts", []string{"turn.proposed.*"}, "turn.proposed.delta", "turn.proposed.completed"),
		Entry("nothing that is not named in full", []string{"task", "task.", "hook*", "*"}),
		Entry("the lifecycle, of which nothing is played", append([]string{"session.*", "thread.*", "turn.*", "runtime.*", "process.*"}, lifecycle...),
			"turn.plan.updated", "turn.proposed.delta", "turn.proposed.completed", "turn.diff.updated", "thread.token-usage.updated", "runtime.warning",
			"turn.tasks.updated", "turn.plan.updated.x", "turn.proposed"),
	)

	It("is nothing where the list is there and empty", func() {
		a := replayer(all, func(c *fakeagent.Config) { Expect(json.Unmarshal([]byte(`{"replayAllow":[]}`), c)).To(Succeed()) })
		Expect(types(a)).To(BeEmpty())
	})

	It("is by a list that belongs to whoever asks for it", func() {
		fakeagent.ReplayDefault()[0] = "novel"
		Expect(fakeagent.ReplayDefault()).To(And(HaveLen(15), ContainElement("item.*"), Not(ContainElement("novel"))))
	})

	It("cannot end the turn, the session or the process, or make an error of them", func() {
		a := replayer(recorded(
			`turn.completed {"state":"failed","errorMessage":"no"}`, `turn.aborted {"reason":"no"}`, `session.exited {"exitKind":"error"}`,
			`runtime.error {"message":"no"}`, `process.exit {"code":1}`, `session.state.changed {"state":"error"}`,
			`content.delta {"streamKind":"assistant_text","delta":"still here"}`,
		), allow("turn.*", "session.*", "runtime.*", "process.*", "content.delta"))
		for range 2 {
			Expect(a.run("go")).To(And(EndCompleted(), HaveItems(BeAssistantMessage("still here"))))
		}
		Expect(a.types()).To(Equal([]string{"session.started", "turn.started", "content.delta", "turn.completed", "turn.started", "content.delta", "turn.completed"}))
		Expect(a.Violations()).To(BeEmpty())
	})
})

var _ = Describe("A replayed event", func() {
	It("says in JSON what was recorded, whatever this version knows of it, without what is not its own", func() {
		a := replayer(subAgent)
		a.run("go")
		Expect(onWire(a.played())).To(Equal([]string{
			`item.started replay-1-1 {"providerItemId":"replay-1-1","providerTurnId":"native"} ` +
				`{"itemType":"collab_agent_tool_call","status":"inProgress","title":"Agent","data":{"toolUseId":"replay-1-2","input":{"prompt":"find it"}}}`,
			`task.started {"taskId":"replay-1-3","toolUseId":"replay-1-2","description":"find it","taskType":"explorer"}`,
			`tool.progress {"toolUseId":"replay-1-2","toolName":"Grep","elapsedSeconds":1.50}`,
			`task.progress {"taskId":"replay-1-3","description":"find it","summary":"looked in a.go","usage":{"total_tokens":5}}`,
			`task.completed {"taskId":"replay-1-3","status":"completed","summary":"it is in b.go"}`,
			`item.completed replay-1-1 {"itemType":"collab_agent_tool_call","status":"completed","title":"Agent","data":{"result":["b.go"],"from":["replay-1-3","x task-C"]}}`,
			`content.delta replay-1-4 {"streamKind":"assistant_text","delta":"In b.go","contentIndex":0}`,
		}))
		for _, e := range a.seen() {
			Expect(timeline.JSON(e)).NotTo(WithTransform(func(b json.RawMessage) string { return string(b) },
				Or(ContainSubstring("secret"), ContainSubstring(`"rec"`), ContainSubstring(`"T"`), ContainSubstring(`"U"`), ContainSubstring("2019"))))
		}
	})

	It("has the payload of its type for whoever switches on that", func() {
		a := replayer(subAgent)
		a.run("go")
		Expect(a.played()).To(EmitExactly(
			event.ItemStarted{Item: event.Item{ItemType: "collab_agent_tool_call", Status: event.InProgress, Title: "Agent",
				Data: timeline.Unknown{Input: json.RawMessage(`{"toolUseId":"replay-1-2","input":{"prompt":"find it"}}`)}}},
			event.TaskStarted{TaskID: "replay-1-3", Description: "find it", TaskType: "explorer"},
			event.Raw{Name: "tool.progress", JSON: json.RawMessage(`{"toolUseId":"replay-1-2","toolName":"Grep","elapsedSeconds":1.50}`)},
			event.TaskProgress{TaskID: "replay-1-3", Description: "find it", Summary: "looked in a.go"},
			event.TaskCompleted{TaskID: "replay-1-3", Status: event.TaskDone, Summary: "it is in b.go"},
			event.ItemCompleted{Item: event.Item{ItemType: "collab_agent_tool_call", Status: event.Completed, Title: "Agent",
				Data: timeline.Unknown{Input: json.RawMessage(`{"result":["b.go"],"from":["replay-1-3","x task-C"]}`)}}},
			event.Delta{Stream: event.AssistantText, Text: "In b.go"},
		))
	})

	It("is of this turn and this time, with the next number and the agent's own name", bubble.InBubble, func() {
		a := replayer(subAgent, paced)
		began := time.Now()
		id := a.send("go")
		a.wait(id)
		for i, e := range a.seen() {
			Expect(e.Seq).To(BeEquivalentTo(i + 1))
			Expect([]string{e.ThreadID, e.Provider}).To(Equal([]string{"a", "fake"}))
			Expect(e.Time).To(And(BeTemporally(">=", began), BeTemporally("<=", time.Now())))
			if i > 0 {
				Expect(e.TurnID).To(Equal(id))
			}
		}
	})

	It("is the same after it was encoded and decoded", func() {
		a := replayer(subAgent)
		a.run("go")
		for _, e := range a.seen() {
			b, err := timeline.JSON(e)
			Expect(err).NotTo(HaveOccurred())
			var again event.Event
			Expect(again.UnmarshalJSON(b)).To(Succeed())
			Expect(again).To(Equal(e))
		}
	})

	DescribeTable("whose values are not what its type says has that type, without what Go knows of it:", bubble.InBubble,
		func(recording, want string, hold time.Duration) {
			a := replayer("["+recording+"]", pace(0, 1000))
			began := time.Now()
			Expect(a.run("go")).To(EndCompleted())
			Expect(time.Since(began)).To(Equal(hold))
			Expect(a.played()).To(HaveExactElements(HaveField("Payload", BeAssignableToTypeOf(event.Raw{}))))
			Expect(wire(a.played()[0])).To(Equal(want))
		},
		Entry("a piece of text", `{"type":"content.delta","payload":{"streamKind":"assistant_text","delta":["x"]}}`, `content.delta {"streamKind":"assistant_text","delta":["x"]}`, 0*time.Second),
		Entry("an item", `{"type":"item.started","itemId":"x","payload":{"itemType":"novel","detail":{"of":"x"}}}`, `item.started replay-1-1 {"itemType":"novel","detail":{"of":"replay-1-1"}}`, 0*time.Second),
		Entry("a task, which holds all the same", `{"type":"task.started","payload":{"taskId":5}}`, `task.started {"taskId":5}`, time.Second),
		Entry("with ids of the provider", `{"type":"item.started","providerRefs":{"a":"b"},"payload":{"itemType":7}}`, `item.started {"a":"b"} {"itemType":7}`, 0*time.Second),
	)

	DescribeTable("leaves out what was undefined:", func(recorded, want string) {
		a := replayer("[" + recorded + "]")
		Expect(a.run("go")).To(EndCompleted())
		Expect(onWire(a.played())).To(Equal([]string{want}))
	},
		Entry("fields", `{"type":"task.started","payload":{"a":"⟨undefined⟩","taskId":"t","b":"⟨undefined⟩"}}`, `task.started {"taskId":"replay-1-1"}`),
		Entry("all fields", `{"type":"hook.started","payload":{"a":"⟨undefined⟩"}}`, `hook.started {}`),
		Entry("fields at any depth", `{"type":"hook.started","payload":{"a":{"b":[{"c":"⟨undefined⟩","d":1}]}}}`, `hook.started {"a":{"b":[{"d":1}]}}`),
		Entry("elements", `{"type":"hook.started","payload":{"a":["⟨undefined⟩",1,"⟨undefined⟩",[2,"⟨undefined⟩"],["⟨undefined⟩"]]}}`, `hook.started {"a":[1,[2],[]]}`),
		Entry("however it is written", `{"type":"hook.started","payload":{"a":"\u27e8undef\u0069ned⟩","b":1}}`, `hook.started {"b":1}`),
		Entry("ids", `{"type":"hook.started","itemId":"⟨undefined⟩","requestId":"⟨undefined⟩","providerRefs":"⟨undefined⟩","payload":{}}`, `hook.started {}`),
		Entry("ids in a payload, which are then none", `{"type":"hook.started","payload":{"taskId":"⟨undefined⟩","b":1}}`, `hook.started {"b":1}`),
		Entry("ids of the provider", `{"type":"hook.started","providerRefs":{"a":"⟨undefined⟩","b":"c"},"payload":{}}`, `hook.started {"b":"c"} {}`),
		Entry("not a text that has more than that", `{"type":"hook.started","payload":{"a":"x⟨undefined⟩","b":"⟨undefined⟩ "}}`, `hook.started {"a":"x⟨undefined⟩","b":"⟨undefined⟩ "}`),
		Entry("not what has it as a name", `{"type":"hook.started","payload":{"⟨undefined⟩":1}}`, `hook.started {"⟨undefined⟩":1}`),
		Entry("not null, false and nothing", `{"type":"hook.started","payload":{"a":null,"b":false,"c":"","d":[],"e":{},"f":0,"g":true}}`,
			`hook.started {"a":null,"b":false,"c":"","d":[],"e":{},"f":0,"g":true}`),
	)
})

var _ = Describe("The ids of a replay", func() {
	It("are others each time, of which each thing has one, so that all links hold", func() {
		a := replayer(subAgent)
		a.run("go")
		first := onWire(a.played())
		a.run("go")
		again := onWire(a.played())
		Expect(again).NotTo(Equal(first))
		for i, l := range again {
			Expect(l).NotTo(ContainSubstring("replay-1-"))
			Expect(strings.ReplaceAll(l, "replay-2-", "replay-1-")).To(Equal(first[i]))
		}
		Expect(a.seen()).To(BeWellFormed())
	})

	It("count up in each turn of each thread, whatever others play", func(ctx SpecContext) {
		a := replayer(subAgent)
		Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "b"})).To(Succeed())
		ended := make(chan event.TurnState, 1)
		a.Subscribe(func(e event.Event) {
			if p, ok := e.Payload.(event.TurnCompleted); ok && e.ThreadID == "b" {
				ended <- p.State
			}
		})
		_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "b", Text: "go"})
		Expect(err).NotTo(HaveOccurred())
		Expect(a.run("go")).To(HaveItems(BeToolCall("Agent", WithCallID("replay-1-1")), BeToolCall("Task", WithCallID("replay-1-3")), BeAssistantMessage("In b.go")))
		Expect(<-ended).To(Equal(event.TurnEndCompleted))
	})

	DescribeTable("stand wherever a text is one that the recording has", func(recorded, want string) {
		a := replayer("[" + recorded + "]")
		Expect(a.run("go")).To(EndCompleted())
		Expect(strings.Join(onWire(a.played()), "\n")).To(Equal(want))
	},
		Entry("as an item", `{"type":"hook.started","itemId":"x","payload":{"of":"x"}}`, `hook.started replay-1-1 {"of":"replay-1-1"}`),
		Entry("as a request", `{"type":"hook.started","requestId":"x","payload":{"of":"x"}}`, `hook.started replay-1-1 {"of":"replay-1-1"}`),
		Entry("as a task", `{"type":"hook.started","payload":{"of":"x","taskId":"x"}}`, `hook.started {"of":"replay-1-1","taskId":"replay-1-1"}`),
		Entry("as the use of a tool", `{"type":"hook.started","payload":{"of":"x","toolUseId":"x"}}`, `hook.started {"of":"replay-1-1","toolUseId":"replay-1-1"}`),
		Entry("as an item in a payload", `{"type":"hook.started","payload":{"of":"x","itemId":"x"}}`, `hook.started {"of":"replay-1-1","itemId":"replay-1-1"}`),
		Entry("as a request in a payload", `{"type":"hook.started","payload":{"of":"x","requestId":"x"}}`, `hook.started {"of":"replay-1-1","requestId":"replay-1-1"}`),
		Entry("in the data of an item", `{"type":"item.updated","payload":{"itemType":"novel","data":{"toolUseId":"x","of":"x"}}}`,
			`item.updated {"itemType":"novel","data":{"toolUseId":"replay-1-1","of":"replay-1-1"}}`),
		Entry("in one place and another, which is then one thing", `{"type":"hook.started","itemId":"x","requestId":"x","payload":{"taskId":"x","toolUseId":"x"}}`,
			`hook.started replay-1-1 replay-1-1 {"taskId":"replay-1-1","toolUseId":"replay-1-1"}`),
		Entry("in other events, later ones and such that are not played", `{"type":"hook.started","payload":{"of":["x",{"y":"y"}]}},{"type":"hook.started","itemId":"y","payload":{}},{"type":"turn.completed","itemId":"x","payload":{}}`,
			`hook.started {"of":["replay-1-1",{"y":"replay-1-2"}]}`+"\n"+`hook.started replay-1-2 {}`),
		Entry("in the ids of the provider", `{"type":"hook.started","itemId":"x","providerRefs":{"providerItemId":"x","more":["x","z"]},"payload":{}}`,
			`hook.started replay-1-1 {"providerItemId":"replay-1-1","more":["replay-1-1","z"]} {}`),
		Entry("however it is written", `{"type":"hook.started","itemId":"\u0078é","payload":{"of":"x\u00e9"}}`, `hook.started replay-1-1 {"of":"replay-1-1"}`),
		Entry("but not as a key, in a longer text or as a number", `{"type":"hook.started","itemId":"7","payload":{"7":"77","n":7,"s":" 7","l":["7"]}}`,
			`hook.started replay-1-1 {"7":"77","n":7,"s":" 7","l":["replay-1-1"]}`),
		Entry("but not where only what a tool was given looks like one", `{"type":"item.updated","payload":{"itemType":"novel","data":{"input":{"taskId":"1"}},"detail":"1"}}`,
			`item.updated {"itemType":"novel","data":{"input":{"taskId":"1"}},"detail":"1"}`),
		Entry("but not where it is no text", `{"type":"hook.started","itemId":null,"payload":{"taskId":5,"toolUseId":null,"of":"5"}}`, `hook.started {"taskId":5,"toolUseId":null,"of":"5"}`),
		Entry("but not where it is empty", `{"type":"hook.started","itemId":"","payload":{"taskId":"","of":""}}`, `hook.started {"taskId":"","of":""}`),
		Entry("from an earlier replay, which it is a recording of", `{"type":"hook.started","itemId":"replay-1-2","payload":{"of":"replay-1-1"}},{"type":"hook.started","itemId":"replay-1-1","payload":{}}`,
			`hook.started replay-1-1 {"of":"replay-1-2"}`+"\n"+`hook.started replay-1-2 {}`),
		Entry("twice, which is one thing", `{"type":"hook.started","itemId":"x","payload":{}},{"type":"hook.started","itemId":"x","payload":{}}`,
			"hook.started replay-1-1 {}\nhook.started replay-1-1 {}"),
	)
})

// TestReplaysAreTheSame is no spec because it needs two bubbles, which begin at the same time.
func TestReplaysAreTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recording.json")
	if err := os.WriteFile(path, []byte(subAgent), 0o600); err != nil {
		t.Fatal(err)
	}
	var all [2]bytes.Buffer
	for i := range all {
		bubble.Test(t, func(t *testing.T) {
			in := fakeagent.NewT(t, fakeagent.Config{Script: "replay", ReplayEventsPath: path, Seed: 3})
			ended := make(chan bool, 1)
			in.Subscribe(func(e event.Event) {
				if err := json.NewEncoder(&all[i]).Encode(e); err != nil {
					t.Error(err)
				}
				if _, over := e.Payload.(event.TurnCompleted); over {
					ended <- true
				}
			})
			if err := in.StartSession(t.Context(), fakeagent.SessionConfig{ThreadID: "a"}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := in.SendTurn(t.Context(), fakeagent.TurnInput{ThreadID: "a", Text: "go"}); err != nil {
					t.Fatal(err)
				}
				<-ended
			}
		})
	}
	if n := bytes.Count(all[0].Bytes(), []byte("\n")); n != 19 {
		t.Errorf("%d events, want 19", n)
	}
	if !bytes.Equal(all[0].Bytes(), all[1].Bytes()) {
		t.Errorf("two replays differ:\n%s\n%s", &all[0], &all[1])
	}
}

var _ = Describe("Who watches a replay", func() {
	It("finds what it has said in the thread", func(ctx SpecContext) {
		a := replayer(subAgent)
		a.run("find it")
		th, err := a.ReadThread(ctx, "a")
		Expect(err).NotTo(HaveOccurred())
		Expect(th.Turns).To(HaveLen(1))
		Expect(th.Turns[0].Items).To(HaveExactElements(
			BeUserMessage("find it"),
			BeToolCall("Agent", WithStatus(timeline.Completed), WithCallID("replay-1-1"), WithInput(map[string]any{"result": []any{"b.go"}, "from": []any{"replay-1-3", "x task-C"}})),
			BeToolCall("Task", WithStatus(timeline.Completed), WithCallID("replay-1-3"),
				WithDetail(timeline.SubAgent{SubAgentType: "explorer", Description: "find it", Log: "it is in b.go"})),
			BeAssistantMessage("In b.go"),
		))
	})

	It("knows where it is, while it waits", bubble.InBubble, func(ctx SpecContext) {
		a := replayer(recorded(`item.updated {"itemType":"novel"}`, `task.started {"taskId":"x"}`, "item.updated"), paced)
		id := a.send("go")
		doing := func() string {
			GinkgoHelper()
			synctest.Wait()
			th, err := a.ReadThread(ctx, "a")
			Expect(err).NotTo(HaveOccurred())
			return th.Doing
		}
		Expect(doing()).To(Equal(`step 2 {"event":{"type":"task.started","payload":{"taskId":"x"}}}`))
		Expect(labels()).To(ContainElement(ContainSubstring("a-turn-1 is in step 2 (event task.started)")))
		time.Sleep(30 * time.Millisecond)
		Expect(doing()).To(Equal(`step 2 {"event":{"type":"task.started","payload":{"taskId":"x"}}}`), "it holds")
		time.Sleep(3 * time.Second)
		Expect(doing()).To(Equal(`step 3 {"event":{"type":"item.updated","payload":{}}}`))
		Expect(labels()).To(ContainElement(ContainSubstring("a-turn-1 is in step 3 (event item.updated)")))
		a.wait(id)
		Expect(doing()).To(BeEmpty())
	})

	It("knows where it was interrupted, and that it is over", bubble.InBubble, func(ctx SpecContext) {
		a := replayer(recorded("hook.started", `task.started {"taskId":"x"}`), paced)
		said := map[string]string{}
		var after []string
		a.Subscribe(func(e event.Event) {
			th, err := a.ReadThread(ctx, "a")
			Expect(err).NotTo(HaveOccurred())
			said[e.Payload.Type()] = th.Doing
			after = labels()
		})
		id := a.send("go")
		time.Sleep(time.Second)
		Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
		a.wait(id)
		synctest.Wait()
		Expect(said).To(HaveKeyWithValue("task.completed", `step 2 {"event":{"type":"task.started","payload":{"taskId":"x"}}}`))
		Expect(said).To(HaveKeyWithValue("turn.completed", ""))
		Expect(after).To(And(ContainElement(ContainSubstring("a-turn-1")), Not(ContainElement(ContainSubstring("a-turn-1 is in")))))
	})

	It("is told of it by the logger", func() {
		var out strings.Builder
		a := replayer(subAgent, func(c *fakeagent.Config) {
			c.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		a.run("go")
		Expect(out.String()).To(ContainSubstring(`msg="turn started" thread=a turn=a-turn-1 events=7`))
	})

	It("is asked what the recording asks, but cannot answer, and is not waited for", bubble.InBubble, func(ctx SpecContext) {
		a := replayer(`[{"type":"request.opened","requestId":"r","payload":{"requestType":"file_change_approval"}},
			{"type":"user-input.requested","requestId":"q","payload":{"questions":[]}},
			{"type":"request.resolved","requestId":"r","payload":{"requestType":"file_change_approval","decision":"accept"}},
			{"type":"user-input.resolved","requestId":"q","payload":{"answers":{}}}]`, pace(1000, 0))
		id := a.send("go")
		time.Sleep(1500 * time.Millisecond)
		for _, request := range []string{"replay-1-1", "replay-1-2", "r", "q"} {
			Expect(a.RespondToRequest(ctx, "a", request, fakeagent.Accept)).To(MatchError(fakeagent.ErrUnknownRequest))
			Expect(a.RespondToUserInput(ctx, "a", request, nil)).To(MatchError(fakeagent.ErrUnknownRequest))
		}
		Expect(a.wait(id)).To(EndCompleted())
		Expect(a.offsets()).To(Equal([]string{"turn.started 0s", "request.opened 0s", "user-input.requested 1s", "request.resolved 2s", "user-input.resolved 3s", "turn.completed 3s"}))
		Expect(a.seen()).To(BeWellFormed())
	})

	It("cannot steer it, or send a second turn", bubble.InBubble, func(ctx SpecContext) {
		a := replayer(subAgent, paced)
		id := a.send("go")
		synctest.Wait()
		_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", TurnID: id, Text: "faster"})
		Expect(err).To(MatchError(fakeagent.ErrNotSteered))
		Expect(err).To(HaveField("Code()", "provider-rejected"))
		_, err = a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "another"})
		Expect(err).To(MatchError(fakeagent.ErrBusy))
		Expect(a.wait(id)).To(EndCompleted())
		Expect(a.types()).To(HaveLen(10))
	})

	Describe("from inside a host", bubble.InBubble, func() {
		var host *timelinekit.Host
		BeforeEach(func() {
			agent := fakeagent.NewT(GinkgoT(), fakeagent.Config{Script: "replay", ReplayEventsPath: recording(subAgent)})
			host = timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("recorded", agent))
		})
		task := timeline.SubAgent{SubAgentType: "explorer", Description: "find it", Log: "it is in b.go"}

		It("sees a timeline of it", func(ctx SpecContext) {
			began := time.Now()
			run := host.RunPrompt(ctx, "find it")
			Expect(run).To(And(EndCompleted(), HaveItems(
				BeToolCall("Agent", WithStatus(timeline.Completed)),
				BeToolCall("Task", WithStatus(timeline.Completed), WithDetail(task)),
				BeAssistantMessage("In b.go"),
			)))
			Expect(host.SendPrompt(ctx, run.AgentID, "once more")).To(And(EndCompleted(), HaveAssistantText("In b.go")))
			Expect(time.Since(began)).To(Equal(2 * (6*30*time.Millisecond + 3*time.Second)))
			Expect(host.Violations()).To(BeEmpty())
		})

		It("sees the sub-agent at work for a while", func(ctx SpecContext) {
			turn := host.StartPrompt(ctx, "find it")
			time.Sleep(time.Second)
			Expect(host.AgentTimeline(turn.AgentID).Items()).To(HaveExactElements(
				BeUserMessage("find it"),
				BeToolCall("Agent", WithStatus(timeline.Running)),
				BeToolCall("Task", WithStatus(timeline.Running), WithDetail(timeline.SubAgent{SubAgentType: "explorer", Description: "find it"})),
			))
			turn.Wait(ctx)
		})

		It("sees one that was interrupted end as any other turn does", func(ctx SpecContext) {
			turn := host.StartPrompt(ctx, "find it")
			time.Sleep(time.Second)
			Expect(turn.Interrupt(ctx)).To(Succeed())
			Expect(turn.Wait(ctx)).To(And(EndCanceled(), HaveItems(BeToolCall("Agent", WithError("canceled")), BeToolCall("Task", WithStatus(timeline.Canceled)))))
			Expect(host.Violations()).To(BeEmpty())
		})
	})
})

var _ = Describe("A replay that is interrupted", bubble.InBubble, func() {
	DescribeTable("ends at once", func(ctx SpecContext, text string, change func(*fakeagent.Config), after time.Duration, want ...string) {
		for name, interrupt := range map[string]func(*agent, context.CancelFunc){
			"by InterruptTurn": func(a *agent, _ context.CancelFunc) { Expect(a.InterruptTurn(ctx, "a", "")).To(Succeed()) },
			"by its context":   func(_ *agent, cancel context.CancelFunc) { cancel() },
			"by StopSession":   func(a *agent, _ context.CancelFunc) { Expect(a.StopSession(ctx, "a")).To(Succeed()) },
			"by Close":         func(a *agent, _ context.CancelFunc) { Expect(a.Close()).To(Succeed()) },
		} {
			a := replayer(text, change)
			turn, cancel := context.WithCancel(ctx)
			id, err := a.SendTurn(turn, fakeagent.TurnInput{ThreadID: "a", Text: "go"})
			Expect(err).NotTo(HaveOccurred())
			time.Sleep(after)
			interrupt(a, cancel)
			Expect(a.wait(id)).To(EndCanceled(), name)
			synctest.Wait()
			events := slices.DeleteFunc(a.offsets(), func(e string) bool { return strings.HasPrefix(e, "session.exited") })
			Expect(events).To(Equal(append(slices.Clone(want), "turn.completed "+after.String())), name)
			cancel()
		}
	},
		Entry("between two events", recorded("hook.started", "task.started"), pace(1000, 0), 700*time.Millisecond, "turn.started 0s", "hook.started 0s"),
		Entry("after a task.started", recorded("task.started", "item.updated"), pace(1, 3000), time.Second, "turn.started 0s", "task.started 0s", "task.completed 1s"),
		Entry("after the last event", recorded("task.started"), pace(1, 3000), time.Second, "turn.started 0s", "task.started 0s", "task.completed 1s"),
	)

	DescribeTable("notices it where no time is to pass, too:", func(ctx SpecContext, at string, want ...string) {
		a := replayer(recorded("hook.started", "hook.completed", "item.started"))
		a.Subscribe(func(e event.Event) {
			if e.Payload.Type() == at {
				Expect(a.InterruptTurn(ctx, "a", e.TurnID)).To(Succeed())
			}
		})
		Expect(a.run("go")).To(EndCanceled())
		Expect(a.types()).To(Equal(slices.Concat([]string{"session.started", "turn.started"}, want, []string{"turn.completed"})))
	},
		Entry("before the first event", "turn.started"),
		Entry("between two events", "hook.started", "hook.started"),
		Entry("after the last event, which it then ends", "item.started", "hook.started", "hook.completed", "item.started", "item.completed"),
	)

	It("ends what it has begun as scripts do, the newest first, and nothing else", func(ctx SpecContext) {
		a := replayer(`[
			{"type":"item.started","itemId":"done","payload":{"itemType":"command_execution","title":"Bash"}},
			{"type":"item.completed","itemId":"done","payload":{"itemType":"command_execution","status":"completed"}},
			{"type":"item.started","itemId":"gone","payload":{"itemType":"command_execution"}},
			{"type":"item.updated","itemId":"gone","payload":{"itemType":"command_execution","status":"failed"}},
			{"type":"item.started","itemId":"said","payload":{"itemType":"assistant_message"}},
			{"type":"item.started","itemId":"runs","payload":{"itemType":"mcp_tool_call","title":"look","data":{"q":1}}},
			{"type":"item.updated","itemId":"runs","payload":{"itemType":"mcp_tool_call","status":"inProgress"}},
			{"type":"item.updated","itemId":"late","payload":{"itemType":"web_search","status":"inProgress"}},
			{"type":"item.updated","itemId":"late","payload":{"itemType":"web_search"}},
			{"type":"task.started","payload":{"taskId":"over"}},
			{"type":"task.started","payload":{"taskId":"goes on","description":"d"}},
			{"type":"task.completed","payload":{"taskId":"over","status":"completed"}},
			{"type":"request.opened","itemId":"runs","requestId":"answered","payload":{"requestType":"x"}},
			{"type":"request.opened","itemId":"runs","requestId":"open","payload":{"requestType":"y"}},
			{"type":"request.resolved","itemId":"runs","requestId":"answered","payload":{"requestType":"x","decision":"accept"}},
			{"type":"user-input.requested","requestId":"chat","payload":{"questions":[],"responseMode":"message"}},
			{"type":"user-input.requested","requestId":"told","payload":{"questions":[]}},
			{"type":"user-input.requested","requestId":"asked","payload":{"questions":[]}},
			{"type":"user-input.resolved","requestId":"told","payload":{"answers":{}}},
			{"type":"hook.started","payload":{}},
			{"type":"hook.started","payload":{"never":"played"}}
		]`, pace(1000, 0))
		id := a.send("go")
		time.Sleep(19500 * time.Millisecond)
		Expect(a.InterruptTurn(ctx, "a", "")).To(Succeed())
		Expect(a.wait(id)).To(EndCanceled())
		Expect(onWire(a.played()[20:])).To(Equal([]string{
			`user-input.resolved replay-1-12 {"answers":{}}`,
			`request.resolved replay-1-4 replay-1-9 {"requestType":"y","decision":"cancel"}`,
			`task.completed {"taskId":"replay-1-7","status":"stopped"}`,
			`item.completed replay-1-5 {"itemType":"web_search","status":"failed","error":"canceled"}`,
			`item.completed replay-1-4 {"itemType":"mcp_tool_call","status":"failed","title":"look","data":{"type":"unknown","input":{"q":1},"output":null},"error":"canceled"}`,
		}))
		Expect(a.run("once more")).To(EndCompleted(), "and the next one is played to its end")
		Expect(a.played()).To(HaveLen(21))
	})
})

// wantEvents is how the errors of a file end that has no events.
const wantEvents = `a recording is an array of events, an object that has one as "events", or an event a line`

var _ = Describe("A recording that cannot be played", func() {
	DescribeTable("fails the turn, which says where and why, before any of it is played:", func(text, want string) {
		var path string
		a := replayer(text, func(c *fakeagent.Config) { path = c.ReplayEventsPath })
		Expect(a.run("go")).To(And(EndFailed("replay: "+path+": "+want), HaveItems(BeErrorItem(HavePrefix("replay: ")))))
		Expect(a.types()).To(Equal([]string{"session.started", "turn.started", "turn.completed"}))

		Expect(os.WriteFile(path, []byte(subAgent), 0o600)).To(Succeed())
		Expect(a.run("go")).To(And(EndCompleted(), HaveAssistantText("In b.go")), "as soon as it is right")
	},
		Entry("an empty file", "", `line 1, byte 0: unexpected end of JSON input; `+wantEvents),
		Entry("no JSON", "oh no", `line 1, byte 1: invalid character 'o' looking for beginning of value; `+wantEvents),
		Entry("JSON that ends early", "[\n{\"type\"", `line 2, byte 9: unexpected end of JSON input; `+wantEvents),
		Entry("JSON that goes on", "[]\n\n\n]", `line 4, byte 6: invalid character ']' after top-level value; `+wantEvents),
		Entry("a mistake in JSON, behind events that are right", recorded("item.updated", "item.updated")+"\n]", `line 3, byte 78: invalid character ']' after top-level value; `+wantEvents),
		Entry("a line that ends in a text", "[\n\"a\nb\"]", `line 2, byte 5: invalid character '\n' in string literal; `+wantEvents),
		Entry("a line that is no event, behind one that is", "{\"type\":\"x\",\"payload\":{}}\n\n{}", `line 3: no "type"; an event has a "type" and a "payload"`),
		Entry("a line that is no JSON, behind an event", "{\"type\":\"x\",\"payload\":{}}\n{\"type\"", `line 2: it is no JSON: {"type"`),
		Entry("a text", ` "x" `, `it is "x"; `+wantEvents),
		Entry("null", "null", `it is null; `+wantEvents),
		Entry("an object without events", `{"Events":[]}`, `no "events"; `+wantEvents),
		Entry("events that are no array", "{\"events\":{ \"a\":\n1 }}", `"events" must be an array, is {"a":1}; `+wantEvents),
		Entry("events that are undefined", `{"events":"⟨undefined⟩"}`, `"events" must be an array, is "⟨undefined⟩"; `+wantEvents),

		Entry("an event that is a text", "[\n\n\"x\"]", `events[0], line 3: it must be an object with a "type" and a "payload", is "x"`),
		Entry("an event that is undefined", `["⟨undefined⟩"]`, `events[0], line 1: it must be an object with a "type" and a "payload", is "⟨undefined⟩"`),
		Entry("an event that is null", `[null]`, `events[0], line 1: it must be an object with a "type" and a "payload", is null`),
		Entry("an event that is a list", `[["type"]]`, `events[0], line 1: it must be an object with a "type" and a "payload", is ["type"]`),
		Entry("an event without a type", "{\n\"name\":1,\n\"events\":\n[\n{\"type\":\"x\",\"payload\":{}},\n{\"payload\":{}}]}", `events[1], line 6: no "type"; an event has a "type" and a "payload"`),
		Entry("a type in other letters", `[{"Type":"x","payload":{}}]`, `events[0], line 1: no "type"; an event has a "type" and a "payload"`),
		Entry("a type that is undefined", `[{"type":"⟨undefined⟩","payload":{}}]`, `events[0], line 1: no "type"; an event has a "type" and a "payload"`),
		Entry("a type that is empty", `[{"type":"","payload":{}}]`, `events[0], line 1: type must be a string that is not empty, is ""`),
		Entry("a type that is null", `[{"type":null,"payload":{}}]`, `events[0], line 1: type must be a string that is not empty, is null`),
		Entry("a type that is a number", `[{"type":5,"payload":{}}]`, `events[0], line 1: type must be a string that is not empty, is 5`),
		Entry("no payload, behind an event that is right", `[{"type":"x","payload":{}},{"type":"content.delta"}]`, `events[1] (content.delta), line 1: no "payload"; an event has a "type" and a "payload"`),
		Entry("a payload that is undefined", `[{"type":"x","payload":"⟨undefined⟩"}]`, `events[0] (x), line 1: no "payload"; an event has a "type" and a "payload"`),
		Entry("a payload that is null", `[{"type":"x","payload":null}]`, `events[0] (x), line 1: payload must be an object, is null`),
		Entry("a payload that is a list, also of an event that is not played", `[{"type":"turn.completed","payload":[ 1 ]}]`, `events[0] (turn.completed), line 1: payload must be an object, is [1]`),
		Entry("a payload that is a long text", `[{"type":"x","payload":"`+strings.Repeat("é", 100)+`"}]`, `events[0] (x), line 1: payload must be an object, is "`+strings.Repeat("é", 59)+"…"),
		Entry("an item that is a number", `[{"type":"x","itemId":7,"payload":{}}]`, `events[0] (x), line 1: itemId must be a string, is 7`),
		Entry("a request that is a number", `[{"type":"x","requestId":7,"payload":{}}]`, `events[0] (x), line 1: requestId must be a string, is 7`),
		Entry("ids of the provider that are a text", `[{"type":"x","providerRefs":"p","payload":{}}]`, `events[0] (x), line 1: providerRefs must be an object, is "p"`),
	)

	DescribeTable("is none that lacks all but a type and a payload, or has anything in what is not played:", func(event string) {
		a := replayer("[" + event + "]")
		Expect(a.run("go")).To(EndCompleted())
		Expect(onWire(a.played())).To(Equal([]string{"hook.started {}"}))
	},
		Entry("nothing", `{"type":"hook.started","payload":{}}`),
		Entry("null", `{"type":"hook.started","itemId":null,"requestId":null,"providerRefs":null,"threadId":null,"payload":{}}`),
		Entry("anything", `{"type":"hook.started","eventId":1,"provider":[],"threadId":{},"turnId":5,"createdAt":"yesterday","seq":-1,"raw":"x","more":1,"payload":{}}`),
		Entry("things that are there twice, of which the last one counts", `{"type":"x","payload":[],"payload":{},"type":"hook.started"}`),
	)

	DescribeTable("may be one that the config has wrong:", func(change func(*fakeagent.Config), want string) {
		a := replayer(subAgent, change)
		for range 2 {
			Expect(a.run("go")).To(EndFailed(want))
		}
		Expect(a.types()).To(Equal([]string{"session.started", "turn.started", "turn.completed", "turn.started", "turn.completed"}))
	},
		Entry("without a path", func(c *fakeagent.Config) { c.ReplayEventsPath = "" }, "replay: replayEventsPath is empty; give the absolute path of a file of recorded events"),
		Entry("with a relative path", func(c *fakeagent.Config) { c.ReplayEventsPath = "testdata/x.json" }, `replay: replayEventsPath "testdata/x.json" is relative; give an absolute path`),
		Entry("with a step that is negative", pace(-1, 0), "replay: replayStepMs is -1; use 0 or more"),
		Entry("with a hold that is negative", pace(0, -3000), "replay: replayTaskHoldMs is -3000; use 0 or more"),
	)

	It("may be a file that is not there, a folder or a device", func() {
		folder := GinkgoT().TempDir()
		missing := filepath.Join(folder, "missing.json")
		a := replayer(subAgent, func(c *fakeagent.Config) { c.ReplayEventsPath = missing })
		Expect(a.run("go")).To(EndFailed(And(HavePrefix("replay: "), ContainSubstring(missing), HaveSuffix("; replayEventsPath must be a file of recorded events that the agent can read"))))
		Expect(os.WriteFile(missing, []byte(subAgent), 0o600)).To(Succeed())
		Expect(a.run("go")).To(EndCompleted())
		for _, path := range []string{folder, os.DevNull} {
			a := replayer(subAgent, func(c *fakeagent.Config) { c.ReplayEventsPath = path })
			Expect(a.run("go")).To(EndFailed("replay: " + path + " is no regular file; replayEventsPath must be a file of recorded events that the agent can read"))
		}
	})

	It("fails no turn of another thread", bubble.InBubble, func(ctx SpecContext) {
		var path string
		a := replayer(subAgent, paced, func(c *fakeagent.Config) { path = c.ReplayEventsPath })
		id := a.send("go")
		synctest.Wait()
		Expect(os.WriteFile(path, []byte("broken"), 0o600)).To(Succeed())
		Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "b"})).To(Succeed())
		_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "b", Text: "go"})
		Expect(err).NotTo(HaveOccurred())
		synctest.Wait()
		th, err := a.ReadThread(ctx, "b")
		Expect(err).NotTo(HaveOccurred())
		Expect(th.Turns).To(HaveExactElements(HaveField("Items", ContainElement(BeErrorItem(HavePrefix("replay: "))))))
		Expect(a.wait(id)).To(And(EndCompleted(), HaveAssistantText("In b.go")))
	})
})

// FuzzReplay holds that any file is played or refused in one way: nothing is played that may not be, what is played has JSON, and an error says
// that it is the recording's.
func FuzzReplay(f *testing.F) {
	for _, text := range []string{
		subAgent, "", "null", "[]", `{"events":[]}`, `{"events":{},"events":[{"type":"hook.started","payload":{}}]}`, "[{}]", "[5]", "\xef\xbb\xbf[]",
		recorded("content.delta {\"streamKind\":\"assistant_text\",\"delta\":\"\xff\\ud800⟨undefined⟩\"}", `turn.completed {"state":"failed"}`, `task.started {"taskId":1e400}`),
		`[{"type":"item.started","itemId":"a","requestId":"a","providerRefs":{"a":["a"]},"payload":{"a":"a","data":{"data":{"toolUseId":"b"}},"of":"b"}}]`,
		`[{"type":"user-input.requested","payload":{"questions":null,"⟨undefined⟩":["⟨undefined⟩",[["⟨undefined⟩"]]]}}]`,
		`[{"type":"item.completed","payload":{"itemType":"x","data":{"type":"shell","exitCode":1.5}}},{"type":"turn.plan.updated","payload":{"plan":{}}}]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "recording.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		in := fakeagent.NewT(t, fakeagent.Config{Script: "replay", ReplayEventsPath: path, Instant: true})
		var events []event.Event
		ended := make(chan event.TurnCompleted, 1)
		in.Subscribe(func(e event.Event) {
			if end, over := e.Payload.(event.TurnCompleted); over {
				ended <- end
			} else if e.TurnID != "" && e.Payload.Type() != "turn.started" {
				events = append(events, e)
			}
		})
		if err := in.StartSession(t.Context(), fakeagent.SessionConfig{ThreadID: "a"}); err != nil {
			t.Fatal(err)
		}
		if _, err := in.SendTurn(t.Context(), fakeagent.TurnInput{ThreadID: "a", Text: "go"}); err != nil {
			t.Fatal(err)
		}
		switch end := <-ended; {
		case end.State == event.TurnEndFailed && strings.HasPrefix(end.ErrorMessage, "replay: "):
			if len(events) > 0 {
				t.Fatalf("%d events of a recording that is refused (%s)", len(events), end.ErrorMessage)
			}
		case end.State != event.TurnEndCompleted:
			t.Fatalf("it ended %v", end)
		}
		for _, e := range events {
			b, err := timeline.JSON(e)
			if err != nil {
				t.Fatalf("%s has no JSON: %v", event.Line(e), err)
			}
			if event.IsLifecycle(e) {
				t.Fatalf("%s was played", b)
			}
			var again struct{ ProviderRefs, Payload any }
			d := json.NewDecoder(bytes.NewReader(b))
			d.UseNumber()
			if err := d.Decode(&again); err != nil {
				t.Fatalf("%s: %v", b, err)
			}
			if stays(again.ProviderRefs) || stays(again.Payload) {
				t.Fatalf("%s still has what is undefined", b)
			}
		}
	})
}

// stays says that a value is, or has, what a recorder wrote for none.
func stays(v any) bool {
	switch v := v.(type) {
	case string:
		return v == "⟨undefined⟩"
	case []any:
		return slices.ContainsFunc(v, stays)
	case map[string]any:
		for _, one := range v {
			if stays(one) {
				return true
			}
		}
	}
	return false
}
