package timeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/understudy-go/understudy/fakeagent/internal/jsonerr"
)

// AppendJSON appends the canonical JSON form of an item or a detail: keys in the order of the contract, no white space, and
// <, > and & as they are (encoding/json would escape them).
// A json.RawMessage in it that is no JSON makes the whole of it null.
func AppendJSON(dst []byte, v json.Marshaler) []byte {
	b, err := v.MarshalJSON()
	if err != nil {
		b = []byte("null")
	}
	return append(dst, b...)
}

// tagged encodes body, an object, with its type as the first key.
func tagged(typ string, body any) ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteString(`{"type":"` + typ + `",`)
	start := buf.Len() // where body's brace is
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, fmt.Errorf("timeline: %s: %w", typ, err)
	}
	b := buf.Bytes()[:buf.Len()-1] // without the newline
	if b[start+1] == '}' {
		return append(b[:start-1], '}'), nil
	}
	return append(b[:start], b[start+1:]...), nil
}

// Each MarshalJSON hands over a copy of its struct type without methods, so that encoding/json does not come back here.

func (i UserMessage) MarshalJSON() ([]byte, error) {
	type bare UserMessage
	return tagged(i.Type(), bare(i))
}
func (i AssistantMessage) MarshalJSON() ([]byte, error) {
	type bare AssistantMessage
	return tagged(i.Type(), bare(i))
}
func (i Reasoning) MarshalJSON() ([]byte, error) {
	type bare Reasoning
	return tagged(i.Type(), bare(i))
}
func (i ErrorItem) MarshalJSON() ([]byte, error) {
	type bare ErrorItem
	return tagged(i.Type(), bare(i))
}
func (i Compaction) MarshalJSON() ([]byte, error) {
	type bare Compaction
	return tagged(i.Type(), bare(i))
}
func (i Notification) MarshalJSON() ([]byte, error) {
	type bare Notification
	return tagged(i.Type(), bare(i))
}
func (i Plugin) MarshalJSON() ([]byte, error) { type bare Plugin; return tagged(i.Type(), bare(i)) }

func (r Raw) MarshalJSON() ([]byte, error) {
	if r.JSON == nil {
		return []byte("null"), nil
	}
	return r.JSON, nil
}

func (i Todo) MarshalJSON() ([]byte, error) {
	type bare Todo
	if i.Items == nil {
		i.Items = []TodoEntry{} // [] and not null
	}
	return tagged(i.Type(), bare(i))
}

func (d Read) MarshalJSON() ([]byte, error)     { type bare Read; return tagged(d.Type(), bare(d)) }
func (d Write) MarshalJSON() ([]byte, error)    { type bare Write; return tagged(d.Type(), bare(d)) }
func (d Search) MarshalJSON() ([]byte, error)   { type bare Search; return tagged(d.Type(), bare(d)) }
func (d Fetch) MarshalJSON() ([]byte, error)    { type bare Fetch; return tagged(d.Type(), bare(d)) }
func (d SubAgent) MarshalJSON() ([]byte, error) { type bare SubAgent; return tagged(d.Type(), bare(d)) }
func (d PlainText) MarshalJSON() ([]byte, error) {
	type bare PlainText
	return tagged(d.Type(), bare(d))
}
func (d Plan) MarshalJSON() ([]byte, error)    { type bare Plan; return tagged(d.Type(), bare(d)) }
func (d Unknown) MarshalJSON() ([]byte, error) { type bare Unknown; return tagged(d.Type(), bare(d)) }

func (d WorktreeSetup) MarshalJSON() ([]byte, error) {
	type bare WorktreeSetup
	if d.Commands == nil {
		d.Commands = []WorktreeCommand{}
	}
	return tagged(d.Type(), bare(d))
}

func (d Edit) MarshalJSON() ([]byte, error) {
	type bare Edit
	if d.UnifiedDiff != "" {
		return tagged(d.Type(), bare(d))
	}
	return tagged(d.Type(), struct {
		FilePath  string `json:"filePath"`
		OldString string `json:"oldString"`
		NewString string `json:"newString"`
	}{d.FilePath, d.OldString, d.NewString})
}

// MarshalJSON is written by hand, since most calls of most agents are commands.
func (d Shell) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 80+len(d.Command)+len(d.Cwd)+len(d.Output))
	b = AppendText(append(b, `{"type":"shell","command":`...), d.Command)
	if d.Cwd != "" {
		b = AppendText(append(b, `,"cwd":`...), d.Cwd)
	}
	if d.Output != "" || !d.ExitCode.IsZero() {
		b = AppendText(append(b, `,"output":`...), d.Output)
	}
	if !d.ExitCode.IsZero() {
		b = append(append(b, `,"exitCode":`...), d.ExitCode.String()...)
	}
	return append(b, '}'), nil
}

// AppendText appends a text as encoding/json would, without escaping <, > and &.
func AppendText(dst []byte, s string) []byte {
	begin := len(dst)
	dst = append(dst, '"')
	done := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			continue
		}
		escaped := escapes[c]
		if escaped == 0 { // what is not plain is left to who knows all of it
			b, _ := JSON(s) // a string cannot fail
			return append(dst[:begin], b...)
		}
		dst = append(append(dst, s[done:i]...), '\\', escaped)
		done = i + 1
	}
	return append(append(dst, s[done:]...), '"')
}

// escapes are the letters that stand for the characters of most texts that have a short escape.
var escapes = [256]byte{'"': '"', '\\': '\\', '\n': 'n', '\r': 'r', '\t': 't'}

// callJSON is the JSON form of a tool call.
type callJSON struct {
	CallID   string          `json:"callId"`
	Name     string          `json:"name"`
	Detail   json.RawMessage `json:"detail"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Status   Status          `json:"status"`
	Error    json.RawMessage `json:"error"`
}

func (i ToolCall) MarshalJSON() ([]byte, error) {
	w := callJSON{CallID: i.CallID, Name: i.Name, Metadata: i.Metadata, Status: i.Status}
	if i.Detail == nil {
		i.Detail = Unknown{}
	}
	var err error
	if w.Detail, err = i.Detail.MarshalJSON(); err != nil {
		return nil, err
	}
	if i.Status == Failed {
		if w.Error, err = JSON(i.Error); err != nil {
			return nil, err
		}
		if w.Error == nil {
			w.Error = json.RawMessage(`""`)
		}
	}
	return tagged(i.Type(), w)
}

// JSON encodes any value as canonical items hold it: compact, without escaping <, > and &, and nil for null.
func JSON(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return orNil(bytes.TrimSpace(buf.Bytes())), nil
}

func orNil(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

var itemTypes = map[string]func(typ string, data []byte) (Item, error){
	"user_message":      decode[UserMessage, Item],
	"assistant_message": decode[AssistantMessage, Item],
	"reasoning":         decode[Reasoning, Item],
	"tool_call":         decodeCall,
	"todo":              decode[Todo, Item],
	"error":             decode[ErrorItem, Item],
	"compaction":        decode[Compaction, Item],
	"notification":      decode[Notification, Item],
	"plugin":            decode[Plugin, Item],
}

var detailTypes = map[string]func(typ string, data []byte) (Detail, error){
	"shell":          decode[Shell, Detail],
	"read":           decode[Read, Detail],
	"edit":           decode[Edit, Detail],
	"write":          decode[Write, Detail],
	"search":         decode[Search, Detail],
	"fetch":          decode[Fetch, Detail],
	"worktree_setup": decode[WorktreeSetup, Detail],
	"sub_agent":      decode[SubAgent, Detail],
	"plain_text":     decode[PlainText, Detail],
	"plan":           decode[Plan, Detail],
	"unknown":        decode[Unknown, Detail],
}

// DecodeItem reads one item from its JSON form. A type that it does not know becomes a [Raw]; a known type with a wrong value
// is an error that names both. White space between the values is dropped.
func DecodeItem(data []byte) (Item, error) {
	data, typ, err := opened("item", data)
	if err != nil {
		return nil, err
	}
	if known := itemTypes[typ]; known != nil {
		return known(typ, data)
	}
	return Raw{data}, nil
}

// DecodeDetail reads the detail of a tool call; see [DecodeItem].
func DecodeDetail(data []byte) (Detail, error) {
	data, typ, err := opened("detail", data)
	if err != nil {
		return nil, err
	}
	if known := detailTypes[typ]; known != nil {
		return known(typ, data)
	}
	return Raw{data}, nil
}

// opened returns a compact copy of an object and its type.
func opened(what string, data []byte) (json.RawMessage, string, error) {
	var buf bytes.Buffer
	if err := json.Compact(&buf, data); err != nil {
		return nil, "", fmt.Errorf("timeline: %s: %w", what, err)
	}
	typ, err := typeOf(buf.Bytes())
	if err != nil {
		return nil, "", fmt.Errorf("timeline: %s: %w", what, err)
	}
	return buf.Bytes(), typ, nil
}

func typeOf(data []byte) (string, error) {
	var w struct {
		Type *string `json:"type"`
	}
	if err := json.Unmarshal(data, &w); err != nil || w.Type == nil || *w.Type == "" {
		return "", errors.New(`want an object with a "type"`)
	}
	return *w.Type, nil
}

// decode reads a T, which is one of the union U.
func decode[T, U any](typ string, data []byte) (u U, err error) {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return u, fmt.Errorf("timeline: %s: %w", typ, jsonerr.Plain(err))
	}
	return any(v).(U), nil
}

func (d *Unknown) UnmarshalJSON(data []byte) error {
	type bare Unknown
	err := json.Unmarshal(data, (*bare)(d))
	d.Input, d.Output = orNil(d.Input), orNil(d.Output)
	return err
}

func (i *Plugin) UnmarshalJSON(data []byte) error {
	type bare Plugin
	err := json.Unmarshal(data, (*bare)(i))
	i.Data = orNil(i.Data)
	return err
}

func (i *Todo) UnmarshalJSON(data []byte) error {
	type bare Todo
	err := json.Unmarshal(data, (*bare)(i))
	if len(i.Items) == 0 {
		i.Items = nil // as in an item that nobody encoded
	}
	return err
}

func (d *WorktreeSetup) UnmarshalJSON(data []byte) error {
	type bare WorktreeSetup
	err := json.Unmarshal(data, (*bare)(d))
	if len(d.Commands) == 0 {
		d.Commands = nil
	}
	return err
}

func decodeCall(typ string, data []byte) (Item, error) {
	w, err := decode[callJSON, callJSON](typ, data)
	if err != nil {
		return nil, err
	}
	w.Detail, w.Metadata, w.Error = orNil(w.Detail), orNil(w.Metadata), orNil(w.Error)
	c := ToolCall{CallID: w.CallID, Name: w.Name, Metadata: w.Metadata, Status: w.Status}
	bad := func(format string, a ...any) (Item, error) {
		return nil, fmt.Errorf("timeline: tool_call %q: "+format, append([]any{w.CallID}, a...)...)
	}
	switch {
	case !slices.Contains([]Status{Running, Completed, Failed, Canceled}, w.Status):
		return bad("status is %q, want running, completed, failed or canceled", w.Status)
	case w.Status != Failed && w.Error != nil:
		return bad("status is %s, so error must be null, is %.60s", w.Status, w.Error)
	case w.Status == Failed && w.Error == nil:
		return bad("status is failed, so error must say why, is null")
	case w.Detail == nil:
		return bad("detail is missing")
	}
	if w.Error != nil {
		c.Error = w.Error
		var s string
		if json.Unmarshal(w.Error, &s) == nil {
			c.Error = s
		}
	}
	if c.Detail, err = DecodeDetail(w.Detail); err != nil {
		return bad("%s", strings.TrimPrefix(err.Error(), "timeline: "))
	}
	return c, nil
}

// Items is a list of items with a JSON form.
type Items []Item

func (s Items) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, it := range s {
		if i > 0 {
			b = append(b, ',')
		}
		one, err := it.MarshalJSON()
		if err != nil {
			return nil, err
		}
		b = append(b, one...)
	}
	return append(b, ']'), nil
}

func (s *Items) UnmarshalJSON(data []byte) error {
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return fmt.Errorf("timeline: items: %w", err)
	}
	out := make(Items, len(raws))
	for i, raw := range raws {
		it, err := DecodeItem(raw)
		if err != nil {
			return fmt.Errorf("timeline: item %d: %s", i, strings.TrimPrefix(err.Error(), "timeline: "))
		}
		out[i] = it
	}
	*s = out
	return nil
}
