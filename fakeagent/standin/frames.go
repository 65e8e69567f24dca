package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// Frame is a frame of a stream, as its JSON says. Its members are in the order in which they were written.
type Frame = json.RawMessage

// frame is a frame that is being made.
type frame struct {
	Type string
	rest []any // names and values in turn
}

func (f frame) json() Frame {
	b := append(make([]byte, 0, 128), `{"type":`...)
	b = appendJSON(b, f.Type)
	for i := 0; i < len(f.rest); i += 2 {
		b = append(b, ',')
		b = appendJSON(b, f.rest[i])
		b = append(b, ':')
		b = appendJSON(b, f.rest[i+1])
	}
	return append(b, '}')
}

// appendJSON appends a text, a number, or JSON that is valid. Most of what is in a frame is a text with nothing to escape.
func appendJSON(b []byte, v any) []byte {
	if text, ok := v.(string); ok && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return append(append(append(b, '"'), text...), '"')
	}
	if v, ok := v.(bool); ok {
		return strconv.AppendBool(b, v)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

// blockEnd is an event of scripts that ends the text or the reasoning that is open, which else ends when something else begins: behind the reasoning
// of a reply that is held, for one.
const blockEnd = "block.end"

func makeFrame(kind string, rest ...any) frame { return frame{kind, rest} }

// dialect makes the frames of a turn of its events.
type dialect struct {
	messageID string
	number    int // of the turn, in the ids

	open    string // the kind of the block that is open: text or reasoning; "" is none
	block   string // its id
	item    string // its item
	begun   bool   // the step has
	counts  map[string]int
	calls   map[string]string // the ids of calls, by those of their items
	said    int               // characters
	usage   *event.TokenUsage
	prompt  string
	dropped map[string]int
}

func newDialect(messageID string, number int, prompt string) *dialect {
	return &dialect{messageID: messageID, number: number, prompt: prompt, counts: map[string]int{}, calls: map[string]string{}, dropped: map[string]int{}}
}

// id counts the ids of a kind: the first is that of the turn alone.
func (d *dialect) id(kind string) string {
	d.counts[kind]++
	if n := d.counts[kind]; n > 1 {
		return fmt.Sprintf("%s-%d-%d", kind, d.number, n)
	}
	return fmt.Sprintf("%s-%d", kind, d.number)
}

// frames are those of an event. Those that end a turn are not among them.
func (d *dialect) frames(e event.Event) (out []frame) {
	switch p := e.Payload.(type) {
	case event.TurnStarted:
		return []frame{makeFrame("start", "messageId", d.messageID)}
	case event.Delta:
		switch p.Stream {
		case event.AssistantText:
			d.said += utf8.RuneCountInString(p.Text)
			return append(d.begin("text", e.ItemID), makeFrame("text-delta", "id", d.block, "textDelta", p.Text))
		case event.ReasoningText:
			return append(d.begin("reasoning", e.ItemID), makeFrame("reasoning-delta", "id", d.block, "delta", p.Text))
		}
	case event.ItemStarted:
		if p.Item.ItemType.IsTool() {
			return d.callBegins(e.ItemID, p.Item)
		}
	case event.ItemCompleted:
		if p.Item.ItemType.IsTool() {
			return d.callEnds(e.ItemID, p.Item)
		}
		if p.Item.ItemType == event.AssistantMessage {
			return nil // it came in pieces
		}
	case event.TokenUsageUpdated:
		d.usage = &p.Usage
		return nil
	case event.Raw:
		if p.Name == blockEnd {
			return d.step()
		}
		if strings.HasPrefix(p.Name, "data-") {
			return append(d.step(), makeFrame(p.Name, "data", p.JSON))
		}
	}
	if !event.IsLifecycle(e) {
		d.dropped[e.Payload.Type()]++
	}
	return nil
}

// step begins the step, if it has not begun, and ends the block that is open.
func (d *dialect) step() (out []frame) {
	if !d.begun {
		d.begun = true
		out = append(out, makeFrame("start-step"))
	}
	if d.open != "" {
		out = append(out, makeFrame(d.open+"-end", "id", d.block))
		d.open = ""
	}
	return out
}

// begin has a block of a kind open.
func (d *dialect) begin(kind, item string) (out []frame) {
	if d.open == kind && d.item == item {
		return nil
	}
	out = d.step()
	d.open, d.item, d.block = kind, item, d.id(kind)
	return append(out, makeFrame(kind+"-start", "id", d.block))
}

func (d *dialect) callBegins(item string, call event.Item) []frame {
	out := d.step()
	id := d.id("call")
	d.calls[item] = id
	args := argumentsOf(call)
	half := len(args) / 2
	for half > 0 && !utf8.RuneStart(args[half]) {
		half--
	}
	return append(out,
		makeFrame("tool-call-start", "id", id, "toolCallId", id, "toolName", call.Title),
		makeFrame("tool-call-delta", "toolCallId", id, "argsText", args[:half]),
		makeFrame("tool-call-delta", "toolCallId", id, "argsText", args[half:]),
		makeFrame("tool-call-end", "toolCallId", id))
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

func (d *dialect) callEnds(item string, call event.Item) []frame {
	var out []frame
	if d.calls[item] == "" {
		out = d.callBegins(item, call)
	}
	text, details := call.Error, json.RawMessage(nil)
	if u, ok := call.Data.(timeline.Unknown); ok && text == "" && u.Output != nil {
		details = u.Output
		if json.Unmarshal(u.Output, &text) != nil {
			text = string(u.Output)
		}
	} else if text == "" {
		details, _ = json.Marshal(call.Data)
	}
	type content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	result := struct {
		Content []content       `json:"content"`
		Details json.RawMessage `json:"details"`
	}{[]content{{"text", text}}, details}
	return append(out, makeFrame("tool-result", "toolCallId", d.calls[item], "result", result, "isError", call.Status != event.Completed))
}

// end are the frames of a turn that is over; of one that was stopped there are none.
func (d *dialect) end(e event.TurnCompleted) (out []frame) {
	switch e.State {
	case event.TurnEndCompleted:
		out = d.step()
		in, said := tokens(utf8.RuneCountInString(d.prompt)), tokens(d.said)
		if d.usage != nil {
			in, said = d.usage.InputTokens, d.usage.OutputTokens
		}
		usage := struct {
			Input  int `json:"inputTokens"`
			Output int `json:"outputTokens"`
		}{in, said}
		return append(out, makeFrame("finish-step", "finishReason", "stop", "usage", usage, "isContinued", false), makeFrame("finish", "finishReason", "stop", "usage", usage))
	case event.TurnEndFailed:
		return []frame{makeFrame("error", "errorText", e.Ending().Message)}
	}
	return nil
}

// tokens is how many tokens some characters are taken for.
func tokens(characters int) int { return (characters + 3) / 4 }
