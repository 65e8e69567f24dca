package matchers

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/understudy-go/understudy/fakeagent/event"
)

// EmitEvents matches events that have these in this order, whatever stands between them. Each expected value is a type, such as
// "turn.started"; a payload, which must be equal; an [event.Event], whose fields must be equal where they are set; or a matcher, which gets
// the event.
func EmitEvents(want ...any) Matcher {
	return events("EmitEvents", "emit these events in this order:", "emit any events, or none", want, inOrder)
}

// EmitExactly matches events that are these and no others; see [EmitEvents].
func EmitExactly(want ...any) Matcher {
	return events("EmitExactly", "emit exactly these events:", "emit no events", want, exactly)
}

func events(name, description, none string, want []any, test func(list[event.Event], []expected[event.Event]) (verdict, error)) Matcher {
	return lists(name, description, none, "event", want, expectedEvent, func(actual any, want []expected[event.Event]) (verdict, error) {
		got, err := eventsOf(name, actual)
		if err != nil {
			return verdict{}, err
		}
		return test(list[event.Event]{"event", "among the events", got, event.Line}, want)
	})
}

func eventsOf(name string, actual any) ([]event.Event, error) {
	got, ok := actual.([]event.Event)
	if !ok {
		return nil, unexpected(name, "events ([]event.Event)", actual)
	}
	for i, e := range got {
		if e.Payload == nil {
			return nil, fmt.Errorf("%s: event %d has no payload", name, i)
		}
	}
	return got, nil
}

func expectedEvent(what string, w any) (e expected[event.Event], err error) {
	e.value = w
	switch w := w.(type) {
	case string:
		if w == "" {
			return e, errors.New(what + ` is "", want a type such as "turn.started"`)
		}
		e.value = eventType(w)
		e.test = func(got event.Event) (differs, error) {
			if got.Payload.Type() != w {
				return otherEvent(got, w), nil
			}
			return nil, nil
		}
	case event.Payload:
		if isPointer(w) {
			return e, pointer(what, w)
		}
		says := event.Line(event.Event{Payload: w})
		e.value = eventType(says)
		e.test = func(got event.Event) (differs, error) { return comparePayload(got, w, says), nil }
		e.near = func(got event.Event) bool { return got.Payload.Type() == w.Type() }
	case event.Event:
		says := eventWanted(w)
		e.value = eventType(says)
		e.test = func(got event.Event) (differs, error) { return compareEvent(got, w, says), nil }
		e.near = func(got event.Event) bool { return w.Payload != nil && got.Payload.Type() == w.Payload.Type() }
	default:
		return expectedByMatcher(what, `a type such as "turn.started", a payload, an event or a matcher`, w, event.Line)
	}
	return e, nil
}

// eventType is an expected event as messages have it.
type eventType string

func (t eventType) String() string { return string(t) }

func otherEvent(got event.Event, want string) differs {
	return func() string { return "it is " + event.Line(got) + ", want " + want }
}

func comparePayload(got event.Event, want event.Payload, says string) differs {
	switch {
	case reflect.DeepEqual(got.Payload, want):
		return nil
	case got.Payload.Type() != want.Type():
		return otherEvent(got, says)
	}
	return func() string {
		if said := compareJSON(it, payloadJSON(got.Payload), payloadJSON(want)); said != "" {
			return said
		}
		return whyNot(it, got.Payload, want)
	}
}

// compareEvent looks at the fields that are set.
func compareEvent(got, want event.Event, says string) differs {
	if want.Payload != nil {
		if d := comparePayload(got, want.Payload, says); d != nil {
			return d
		}
	}
	is := fieldsOf(got)
	for i, w := range fieldsOf(want) {
		if w.value != "" && is[i].value != w.value {
			return say("%s is %q, want %q", w.name, is[i].value, w.value)
		}
	}
	return nil
}

type field struct{ name, value string }

// fieldsOf are the fields of an event beside the payload, "" where they are not set.
func fieldsOf(e event.Event) []field {
	var seq, at string
	if e.Seq != 0 {
		seq = strconv.FormatUint(e.Seq, 10)
	}
	if !e.Time.IsZero() {
		at = e.Time.UTC().Format(time.RFC3339Nano)
	}
	return []field{
		{"thread", e.ThreadID}, {"turn", e.TurnID}, {"item", e.ItemID}, {"request", e.RequestID},
		{"provider", e.Provider}, {"seq", seq}, {"time", at},
	}
}

// eventWanted is an expected event with all that it asks for.
func eventWanted(e event.Event) string {
	out := "any event"
	if e.Payload != nil {
		out = event.Line(event.Event{Payload: e.Payload})
	}
	for _, f := range fieldsOf(e) {
		if f.value != "" {
			out += " " + f.name + " " + f.value
		}
	}
	return out
}
