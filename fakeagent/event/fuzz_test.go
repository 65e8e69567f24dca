package event_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// FuzzDecodeEvent holds that what is accepted has a form that says the same.
func FuzzDecodeEvent(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		var e, again event.Event
		if json.Unmarshal(data, &e) != nil {
			return
		}
		first, err := timeline.JSON(e)
		if err != nil {
			t.Fatalf("%#v was decoded, but does not encode: %v", e, err)
		}
		if err := json.Unmarshal(first, &again); err != nil {
			t.Fatalf("%s was written, but is refused: %v", first, err)
		}
		if !reflect.DeepEqual(again, e) {
			t.Fatalf("%s decodes to\n%#v, was\n%#v", first, again, e)
		}
		if second, err := timeline.JSON(again); err != nil || string(second) != string(first) {
			t.Fatalf("encoded first as\n%s, then as\n%s, %v", first, second, err)
		}
		new(event.Fold).Item(e) // must not panic
	})
}
