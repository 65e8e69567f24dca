package matchers

import (
	"fmt"

	"github.com/onsi/gomega/format"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// EndCompleted matches a run, or an ending, that is completed: the script was played to its end. Tool calls may have failed.
func EndCompleted() Matcher { return ending("EndCompleted", timeline.Completed, "", nil) }

// EndFailed matches one that failed, with a message that is a string or matches.
func EndFailed(message any) Matcher {
	return ending("EndFailed", timeline.Failed, " with message "+describe(message), textArgument("EndFailed", "message", message),
		func(e timeline.Ending) (string, error) { return compare("message", e.Message, message) })
}

// EndCanceled matches one that was interrupted.
func EndCanceled() Matcher { return ending("EndCanceled", timeline.Canceled, "", nil) }

// ending is a matcher for one kind of ending, and for what more is tested of it.
func ending(name string, kind timeline.Status, more string, wrong error, tests ...func(timeline.Ending) (string, error)) Matcher {
	return matcher{"end " + string(kind) + more, wrong, func(actual any) (string, error) {
		var e timeline.Ending
		switch a := actual.(type) {
		case timeline.Run:
			e = a.Ending
		case timeline.Ending:
			e = a
		case *timeline.Run, *timeline.Ending:
			return "", pointer(name+": the actual", actual)
		default:
			return "", fmt.Errorf("%s expects a run or an ending.  Got:\n%s", name, format.Object(actual, 1))
		}
		if e.Kind != kind {
			return fmt.Sprintf("the turn ended %s, want %s%s", e, kind, more), nil
		}
		return first(e, tests)
	}}
}
