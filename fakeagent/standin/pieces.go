package standin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// pieceKind is what a piece is.
type pieceKind int

const (
	begins pieceKind = iota
	stepBegins
	blockBegins
	blockGoesOn
	blockEnds
	callBegins
	callGoesOn
	callEnds
	resultOf
	dataPart
	asks
	stepEnds
	ends
	fails
)

// piece is a piece of a reply. A dialect makes frames of pieces, and the transcript parts.
type piece struct {
	kind   pieceKind
	id     string          // of the message, of a block, or of a call
	name   string          // text or reasoning, of a block; of a tool; of a data part; the id of an approval; why a response ends
	text   string          // more of a block, or of the arguments of a call; all of them, where they end; why a call or the turn has failed
	json   json.RawMessage // a data part, or what a tool has put out
	failed bool
	why    Failure // of a turn
	usage  usage
}

// usage is what a turn has used.
type usage struct {
	Input  int `json:"inputTokens"`
	Output int `json:"outputTokens"`
}

// pieces makes those of a turn of its events.
type pieces struct {
	messageID string
	number    int // of the turn, in the ids
	prompt    string

	block string // the kind of the block that is open: text or reasoning; "" is none
	id    string // its id
	item  string // its item
	begun bool   // the step has
	ids   struct{ text, reasoning, call int }
	calls map[string]string // the ids of calls, by those of their items; nil: there were none
	said  int               // characters
	usage *event.TokenUsage
	room  [1]piece // for those of the next event: mostly there is one
}

func newPieces(messageID string, number int, prompt string) *pieces {
	return &pieces{messageID: messageID, number: number, prompt: prompt}
}

// nextID counts the ids of a kind: the first is that of the turn alone.
func (p *pieces) nextID(kind string) string {
	n := &p.ids.call
	switch kind {
	case "text":
		n = &p.ids.text
	case "reasoning":
		n = &p.ids.reasoning
	}
	*n++
	if *n > 1 {
		return fmt.Sprintf("%s-%d-%d", kind, p.number, *n)
	}
	return kind + "-" + strconv.Itoa(p.number)
}

// blockEnd is an event of scripts that ends the text or the reasoning that is open, which else ends when something else begins: behind the reasoning
// of a reply that is held, for one.
const blockEnd = "block.end"

// of are those of an event, until the next is asked for. Those that end a turn are not among them. told is false of what no dialect has a frame for.
func (p *pieces) of(e event.Event) (out []piece, told bool) {
	switch v := e.Payload.(type) {
	case event.TurnStarted:
		return append(p.room[:0], piece{kind: begins, id: p.messageID}), true
	case event.Delta:
		switch v.Stream {
		case event.AssistantText:
			p.said += utf8.RuneCountInString(v.Text)
			return p.more("text", e.ItemID, v.Text), true
		case event.ReasoningText:
			return p.more("reasoning", e.ItemID, v.Text), true
		}
	case event.ItemStarted:
		if v.Item.ItemType.IsTool() {
			return p.call(e.ItemID, v.Item), true
		}
	case event.ItemCompleted:
		if v.Item.ItemType.IsTool() {
			return p.result(e.ItemID, v.Item), true
		}
		return nil, v.Item.ItemType == event.AssistantMessage // which came in pieces
	case event.RequestResolved, event.UserInputResolved: // of what was noted when it was asked
		return nil, true
	case event.TokenUsageUpdated:
		p.usage = &v.Usage
		return nil, true
	case event.Raw:
		if v.Name == blockEnd {
			return p.step(), true
		}
		if name, is := strings.CutPrefix(v.Name, "data-"); is {
			return append(p.step(), piece{kind: dataPart, name: name, json: v.JSON}), true
		}
	}
	return nil, event.IsLifecycle(e)
}

// step begins the step, if it has not begun, and ends the block that is open.
func (p *pieces) step() (out []piece) {
	out = p.room[:0]
	if !p.begun {
		p.begun = true
		out = append(out, piece{kind: stepBegins})
	}
	if p.block != "" {
		out = append(out, piece{kind: blockEnds, name: p.block, id: p.id})
		p.block = ""
	}
	return out
}

// more is more of a block, which begins if it is not the one that is open.
func (p *pieces) more(block, item, text string) (out []piece) {
	out = p.room[:0]
	if p.block != block || p.item != item {
		out = p.step()
		p.block, p.item, p.id = block, item, p.nextID(block)
		out = append(out, piece{kind: blockBegins, name: block, id: p.id})
	}
	return append(out, piece{kind: blockGoesOn, name: block, id: p.id, text: text})
}

// call is a call whose arguments come in two halves.
func (p *pieces) call(item string, call event.Item) []piece {
	out := p.step()
	id := p.nextID("call")
	if p.calls == nil {
		p.calls = map[string]string{}
	}
	p.calls[item] = id
	args := argumentsOf(call)
	half := len(args) / 2
	for half > 0 && !utf8.RuneStart(args[half]) {
		half--
	}
	return append(out,
		piece{kind: callBegins, id: id, name: call.Title},
		piece{kind: callGoesOn, id: id, text: args[:half]},
		piece{kind: callGoesOn, id: id, text: args[half:]},
		piece{kind: callEnds, id: id, name: call.Title, text: args})
}

// argumentsOf are those of a call, as JSON.
func argumentsOf(call event.Item) string {
	data, err := json.Marshal(call.Data)
	if u, ok := call.Data.(timeline.Unknown); ok {
		data, err = u.Input, nil
	}
	if err != nil || len(data) == 0 {
		return "{}"
	}
	return string(data)
}

func (p *pieces) result(item string, call event.Item) (out []piece) {
	out = p.room[:0]
	if p.calls[item] == "" {
		out = p.call(item, call)
	}
	result := piece{kind: resultOf, id: p.calls[item], failed: call.Status != event.Completed, text: call.Error}
	if u, ok := call.Data.(timeline.Unknown); ok {
		result.json = u.Output
	} else if !result.failed {
		result.json, _ = json.Marshal(call.Data)
	}
	return append(out, result)
}

// end are the pieces of a turn that is over; of one that was stopped there are none.
func (p *pieces) end(e event.TurnCompleted) []piece {
	switch e.State {
	case event.TurnEndCompleted:
		return p.rest("stop")
	case event.TurnEndFailed:
		return []piece{{kind: fails, text: e.Ending().Message}}
	}
	return nil
}

// rest are the pieces that end a response, and why it ends.
func (p *pieces) rest(reason string) []piece {
	u := usage{tokens(utf8.RuneCountInString(p.prompt)), tokens(p.said)}
	if p.usage != nil {
		u = usage{p.usage.InputTokens, p.usage.OutputTokens}
	}
	out := append(p.step(), piece{kind: stepEnds, name: reason, usage: u}, piece{kind: ends, name: reason, usage: u})
	p.begun = false // what comes behind it is another step
	return out
}

// ask asks for an approval of a call.
func (p *pieces) ask(requestID, callID string) []piece {
	return append(p.step(), piece{kind: asks, id: callID, name: requestID})
}

// tokens is how many tokens some characters are taken for.
func tokens(characters int) int { return (characters + 3) / 4 }

// appendPart adds to the parts of a message what a piece says.
func appendPart(parts []Part, p piece) []Part {
	call := func() *Part {
		for i := range slices.Backward(parts) {
			if parts[i].ToolCallID == p.id {
				return &parts[i]
			}
		}
		return &Part{}
	}
	switch p.kind {
	case blockBegins:
		return append(parts, Part{Type: p.name})
	case blockGoesOn:
		parts[len(parts)-1].Text += p.text
	case callBegins:
		return append(parts, Part{Type: "tool-call", ToolCallID: p.id, ToolName: p.name})
	case callEnds: // half of the arguments are no JSON
		call().Args = json.RawMessage(p.text)
	case resultOf:
		one := call()
		one.Result, _ = json.Marshal(p.content())
		one.IsError = p.failed
	}
	return parts
}

// content is the result of a tool as the platform has it.
func (p piece) content() any {
	text, details := p.text, json.RawMessage(nil)
	if text == "" && p.json != nil {
		details = p.json
		if json.Unmarshal(p.json, &text) != nil {
			text = string(p.json)
		}
	}
	type content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	return struct {
		Content []content       `json:"content"`
		Details json.RawMessage `json:"details"`
	}{[]content{{"text", text}}, details}
}
