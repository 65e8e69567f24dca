package matchers

import (
	"fmt"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// EndCompleted matches a run, a turn, or an ending, that is completed: the script was played to its end. Tool calls may have failed; see
// [HaveNoFailedToolCalls].
func EndCompleted() Matcher {
	return ending("EndCompleted", timeline.Completed, want[timeline.Ending]{})
}

// EndFailed matches one that failed, with a message that is a string or matches.
func EndFailed(message any) Matcher {
	w := of(textWant("EndFailed", "message", message), func(e timeline.Ending) string { return e.Message })
	return ending("EndFailed", timeline.Failed, w.called(" with message "))
}

// EndCanceled matches one that was interrupted.
func EndCanceled() Matcher {
	return ending("EndCanceled", timeline.Canceled, want[timeline.Ending]{})
}

// ending is a matcher for one kind of ending, and for what more is wanted of it.
func ending(name string, kind timeline.Status, more want[timeline.Ending]) Matcher {
	return matcher{description: "end " + string(kind) + more.description, wrong: more.wrong, test: func(actual any) (v verdict, err error) {
		var e timeline.Ending
		switch a := actual.(type) {
		case timeline.Run:
			e = a.Ending
		case timeline.Ending:
			e = a
		case turn:
			if isNilPointer(a) {
				return v, pointer(name+": the actual", actual)
			}
			run, over := a.Ended()
			if !over {
				v.differs = fmt.Sprintf("the turn has not ended, want %s%s", kind, more.description)
				return v, nil
			}
			e = run.Ending
		case *timeline.Run, *timeline.Ending:
			return v, pointer(name+": the actual", actual)
		default:
			return v, unexpected(name, "a run, a turn or an ending", actual)
		}
		if e.Kind != kind {
			v.differs = fmt.Sprintf("the turn ended %s, want %s%s", e, kind, more.description)
		} else if more.test != nil {
			return more.verdict(e)
		}
		return v, nil
	}}
}
