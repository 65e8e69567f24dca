package matchers

import (
	"encoding/json"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// CmpOptions lets go-cmp compare whatever holds values of this module, runs and timelines too. A timeline is compared by its items, and
// JSON by what it says, whatever the order of its keys and the space between values:
//
//	if diff := cmp.Diff(want, run, matchers.CmpOptions()); diff != "" {
//		t.Errorf("the run differs (-want +got):\n%s", diff)
//	}
func CmpOptions() cmp.Option {
	return cmp.Options{
		cmp.Transformer("Items", timeline.Timeline.Items),
		cmp.FilterValues(func(a, b json.RawMessage) bool { return isJSON(a) && isJSON(b) }, cmp.Transformer("JSON", func(text json.RawMessage) any {
			v, _ := decode(text)
			return v
		})),
	}
}

func isJSON(text json.RawMessage) bool {
	_, err := decode(text)
	return err == nil
}
