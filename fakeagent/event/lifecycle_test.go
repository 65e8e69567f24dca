package event_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/event"
)

// lifecycle are all types of events that providers have, with those that begin, end or move a session, a thread or a turn.
var lifecycle = []struct {
	lifecycle bool
	types     []string
}{
	{true, []string{"session.started", "session.configured", "session.state.changed", "session.exited", "session.health"}},
	{true, []string{"thread.started", "thread.state.changed", "thread.metadata.updated"}},
	{true, []string{"thread.realtime.started", "thread.realtime.item-added", "thread.realtime.audio.delta", "thread.realtime.error", "thread.realtime.closed"}},
	{true, []string{"turn.started", "turn.completed", "turn.aborted", "turn.steered"}},
	{true, []string{"runtime.error", "process.exit", "process.stderr", "process.raw"}},

	{false, []string{"thread.token-usage.updated"}},
	{false, []string{"turn.plan.updated", "turn.tasks.updated", "turn.proposed.delta", "turn.proposed.completed", "turn.diff.updated"}},
	{false, []string{"item.started", "item.updated", "item.completed", "content.delta"}},
	{false, []string{"request.opened", "request.resolved", "user-input.requested", "user-input.resolved"}},
	{false, []string{"task.started", "task.progress", "task.updated", "task.completed"}},
	{false, []string{"hook.started", "hook.progress", "hook.completed", "tool.progress", "tool.summary", "tool.denied"}},
	{false, []string{"auth.status", "account.updated", "account.rate-limits.updated", "mcp.status.updated", "mcp.oauth.completed"}},
	{false, []string{"model.rerouted", "config.warning", "deprecation.notice", "files.persisted", "runtime.warning"}},
	{false, []string{"vcs.state.changed", "event.unmapped"}},
	{false, []string{"session", "sessions.started", "thread", "threads.started", "turn", "turn.started.late", "runtime.errors", ""}},
}

var _ = Describe("Whether an event is of the lifecycle", func() {
	for _, group := range lifecycle {
		for _, typ := range group.types {
			is := map[bool]string{true: "is", false: "is not"}[group.lifecycle]
			It(typ+" "+is, func() {
				Expect(event.IsLifecycle(event.Event{Payload: event.Raw{Name: typ}})).To(Equal(group.lifecycle))
			})
		}
	}
	DescribeTable("does not depend on whether this version knows its payload:", func(p event.Payload, want bool) {
		Expect(event.IsLifecycle(live("", p))).To(Equal(want))
	},
		Entry("a session begins", event.SessionStarted{}, true),
		Entry("a session is over", event.SessionExited{}, true),
		Entry("a turn begins", event.TurnStarted{}, true),
		Entry("a turn ends", event.TurnCompleted{}, true),
		Entry("a fault of the provider", event.RuntimeError{}, true),
		Entry("the end of a process", event.ProcessExit{}, true),
		Entry("a piece of text", event.Delta{}, false),
		Entry("a task begins", event.TaskStarted{}, false),
		Entry("a plan", event.PlanUpdated{}, false),
		Entry("what was used of tokens", event.TokenUsageUpdated{}, false),
	)
	It("is no for an event without a payload, which is none", func() {
		Expect(event.IsLifecycle(event.Event{})).To(BeFalse())
	})
})
