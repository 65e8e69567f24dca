package timeline_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// FuzzDecodeItem holds that what is accepted has a form that says the same.
func FuzzDecodeItem(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		item, err := timeline.DecodeItem(data)
		if err != nil {
			return
		}
		first := timeline.AppendJSON(nil, item)
		if !json.Valid(first) {
			t.Fatalf("%#v encodes as %q, which is no JSON", item, first)
		}
		again, err := timeline.DecodeItem(first)
		if err != nil {
			t.Fatalf("%s was written, but is refused: %v", first, err)
		}
		if !reflect.DeepEqual(again, item) {
			t.Fatalf("%s decodes to\n%#v, was\n%#v", first, again, item)
		}
		if second := timeline.AppendJSON(nil, again); string(second) != string(first) {
			t.Fatalf("encoded first as\n%s, then as\n%s", first, second)
		}
		_, _ = timeline.Line(item), timeline.LogLine(item) // must not panic
	})
}
