package event_test

import (
	"bytes"
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
		if said := payload(data); said != nil && !reflect.DeepEqual(payload(first), said) {
			t.Fatalf("the payload of\n%s became that of\n%s", data, first)
		}
		new(event.Fold).Item(e) // must not panic
		_ = event.Line(e)
	})
}

// payload is what the payload of an event says; nil where it has null for a second one, which is none.
func payload(data []byte) any {
	var w struct {
		Payload any `json:"payload"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	_ = d.Decode(&w)
	return w.Payload
}
