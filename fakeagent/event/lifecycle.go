package event

import "strings"

// IsLifecycle is whether an event begins, ends or moves a session, a thread or a turn, is a process's, or is a runtime.error, which a host turns
// into an error of the session. Such events are the provider's own: no script emits them, and no recording is replayed with them.
func IsLifecycle(e Event) bool {
	if e.Payload == nil {
		return false
	}
	switch t := e.Payload.Type(); t {
	case "turn.started", "turn.completed", "turn.aborted", "turn.steered", "runtime.error":
		return true
	case "thread.token-usage.updated":
		return false
	default:
		return strings.HasPrefix(t, "session.") || strings.HasPrefix(t, "thread.") || strings.HasPrefix(t, "process.")
	}
}
