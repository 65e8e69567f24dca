package fakeagent

import (
	"strings"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// record is what a thread keeps of its turns: items, and no events. Of a message that comes in pieces it makes an item when somebody looks, or
// when something else comes: an item for each piece would cost more than the piece itself.
type record struct {
	fold  event.Fold
	items timeline.Projection // of the turn that runs
	past  []Turn

	message event.Event // whose pieces wait, without their text; its Payload is nil if there are none
	pieces  strings.Builder
}

func (r *record) add(e event.Event) {
	d, isText := e.Payload.(event.Delta)
	if isText && r.message.Payload != nil {
		if r.message.ItemID == e.ItemID && r.message.TurnID == e.TurnID && r.message.Payload.(event.Delta).Stream == d.Stream {
			r.pieces.WriteString(d.Text)
			return
		}
	}
	r.settle()
	if isText {
		r.message = e
		r.pieces.WriteString(d.Text)
		return
	}
	r.take(e)
	if _, over := e.Payload.(event.TurnCompleted); over {
		r.past = append(r.past, Turn{e.TurnID, r.items.Snapshot().Items()})
		r.items.Reset()
	}
}

// settle makes an item of the pieces that wait.
func (r *record) settle() {
	if r.message.Payload == nil {
		return
	}
	e := r.message
	e.Payload = event.Delta{Stream: e.Payload.(event.Delta).Stream, Text: r.pieces.String()}
	r.message, r.pieces = event.Event{}, strings.Builder{}
	r.take(e)
}

func (r *record) take(e event.Event) {
	item, itemID, ok := r.fold.Item(e)
	if _, echo := item.(timeline.UserMessage); ok && !echo { // what the user says is known
		r.items.Add(e.TurnID, itemID, item)
	}
}

// says is what the user says in a turn.
func (r *record) says(turnID, text string) {
	r.settle()
	r.items.Add(turnID, "", timeline.UserMessage{Text: text})
}

// running are the items of the turn that runs.
func (r *record) running() timeline.Items {
	r.settle()
	return r.items.Snapshot().Items()
}
