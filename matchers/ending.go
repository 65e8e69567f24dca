package matchers

import (
	"fmt"

	"github.com/onsi/gomega/format"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// EndCompleted matches a run, or an ending, that is completed: every step ran.
func EndCompleted() Matcher { return ending(timeline.Completed, nil) }

// EndFailed matches one that failed, with a message that is a string or matches.
func EndFailed(message any) Matcher { return ending(timeline.Failed, message) }

// EndCanceled matches one that was interrupted.
func EndCanceled() Matcher { return ending(timeline.Canceled, nil) }

func ending(kind timeline.Status, message any) Matcher {
	description := "end " + string(kind)
	if message != nil {
		description += " with " + describe(message)
	}
	return matcher{description, func(actual any) (string, error) {
		var e timeline.Ending
		switch a := actual.(type) {
		case timeline.Run:
			e = a.Ending
		case timeline.Ending:
			e = a
		default:
			return "", fmt.Errorf("a matcher to %s expects a run or an ending.  Got:\n%s", description, format.Object(actual, 1))
		}
		if e.Kind != kind {
			return fmt.Sprintf("it ended %s, want %s", e, kind), nil
		}
		if message == nil {
			return "", nil
		}
		return text("message", e.Message, message)
	}}
}
