package acp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/event"
)

// field is a property of the form of elicitation/create. A question is one whose values are the labels of its options.
type field struct {
	event.Question
	kind   string   // string, number, integer, boolean, array, or one that is not known
	values []string // of the options
}

// writeForm is "requestedSchema" for questions.
func writeForm(f frame, questions []event.Question) frame {
	f = f.raw(`"requestedSchema":{"type":"object","properties":{`)
	for i, q := range questions {
		if slices.ContainsFunc(questions[:i], func(before event.Question) bool { return before.ID == q.ID }) {
			continue // an object has no key twice
		}
		if i > 0 {
			f = f.raw(`,`)
		}
		kind, before, after := "string", `,"oneOf":[`, `]`
		if q.MultiSelect && len(q.Options) > 0 {
			kind, before, after = "array", `,"items":{"anyOf":[`, `]}`
		}
		f = f.str(q.ID).raw(`:{"type":`).str(kind).field("title", q.Header).field("description", q.Question)
		if len(q.Options) > 0 {
			f = f.raw(before)
			for i, o := range q.Options {
				if i > 0 {
					f = f.raw(`,`)
				}
				f = f.raw(`{"const":`).str(o.Label).raw(`,"title":`).str(o.Label).field("description", o.Description).raw(`}`)
			}
			f = f.raw(after)
		}
		f = f.raw(`}`)
	}
	return f.raw(`}}`)
}

// readForm reads a "requestedSchema", whose properties are in the order in which they are asked. message is what stands above them: the
// question, where a field has none of its own.
func readForm(schema json.RawMessage, message string) (form []field, err error) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
	}
	if len(schema) == 0 {
		return nil, errors.New("requestedSchema is missing")
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("requestedSchema: %s", plain(err))
	}
	d := json.NewDecoder(bytes.NewReader(s.Properties))
	if t, _ := d.Token(); t != json.Delim('{') {
		if compact(s.Properties) == nil { // a form with nothing to fill in
			return nil, nil
		}
		return nil, fmt.Errorf("requestedSchema: properties must be an object, is %.40s", s.Properties)
	}
	for d.More() {
		key, _ := d.Token() // it was parsed before, so there is no error
		var raw json.RawMessage
		_ = d.Decode(&raw)
		var p struct {
			Type        string       `json:"type"`
			Title       string       `json:"title"`
			Description string       `json:"description"`
			Enum        []string     `json:"enum"`
			OneOf       []formOption `json:"oneOf"`
			Items       struct {
				Enum  []string     `json:"enum"`
				AnyOf []formOption `json:"anyOf"`
			} `json:"items"`
		}
		id, _ := key.(string)
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, fmt.Errorf("requestedSchema: property %q: %s", id, plain(err))
		}
		q := field{kind: p.Type, Question: event.Question{
			ID: id, Header: cmp.Or(p.Title, id), Question: cmp.Or(p.Description, message), MultiSelect: p.Type == "array",
		}}
		options := append(p.OneOf, p.Items.AnyOf...)
		for _, v := range append(p.Enum, p.Items.Enum...) {
			options = append(options, formOption{Const: v})
		}
		if p.Type == "boolean" {
			options = []formOption{{Const: "true"}, {Const: "false"}}
		}
		for _, o := range options {
			q.values = append(q.values, o.Const)
			q.Options = append(q.Options, event.Option{Label: cmp.Or(o.Title, o.Const), Description: o.Description})
		}
		form = append(form, q)
	}
	return form, nil
}

type formOption struct {
	Const       string `json:"const"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// filled is what the client answers to a form.
type filled struct {
	Action  string         `json:"action"` // accept, decline or cancel
	Content map[string]any `json:"content"`
}

// fill is the content of a form that is answered so. answers are as from JSON.
func fill(form []field, answers map[string]any) (frame, error) {
	f := frame(`{`)
	for i, id := range slices.Sorted(maps.Keys(answers)) {
		at := slices.IndexFunc(form, func(q field) bool { return q.ID == id })
		if at < 0 {
			ids := make([]string, len(form))
			for i, q := range form {
				ids[i] = q.ID
			}
			return nil, fmt.Errorf("has no question %q; it asks %s", id, strings.Join(ids, ", "))
		}
		if i > 0 {
			f = f.raw(`,`)
		}
		var ok bool
		if f, ok = form[at].fill(f.str(id).raw(`:`), answers[id]); !ok {
			return nil, fmt.Errorf("is answered %.80v for %s; the protocol has texts, numbers, true and false, and lists of texts", answers[id], id)
		}
	}
	return f.raw(`}`), nil
}

// fill is the value of an answer. A text is one also where the form wants a number, or true or false.
func (q field) fill(f frame, answer any) (_ frame, ok bool) {
	switch v := answer.(type) {
	case string:
		if q.kind == "array" {
			return q.fill(f, []any{v})
		}
		_, err := strconv.ParseFloat(v, 64)
		number := err == nil && json.Valid([]byte(v)) && (q.kind == "number" || q.kind == "integer")
		if number || q.kind == "boolean" && slices.Contains(q.values, v) {
			return f.raw(v), true
		}
		return f.str(q.value(v)), true
	case bool, float64:
		return f.json(v), true
	case []any:
		f = f.raw(`[`)
		for i, one := range v {
			text, ok := one.(string)
			if !ok {
				return nil, false
			}
			if i > 0 {
				f = f.raw(`,`)
			}
			f = f.str(q.value(text))
		}
		return f.raw(`]`), true
	}
	return nil, false
}

// value is what the form has for a choice of the user's.
func (q field) value(label string) string {
	if i := slices.IndexFunc(q.Options, func(o event.Option) bool { return o.Label == label }); i >= 0 {
		return q.values[i]
	}
	return label
}

// offers says whether a value of an answer is one that could be chosen.
func (q field) offers(value any) bool {
	if len(q.values) == 0 || q.kind == "boolean" {
		return true
	}
	list, many := value.([]any)
	if !many {
		list = []any{value}
	}
	for _, v := range list {
		if text, ok := v.(string); !ok || !slices.Contains(q.values, text) {
			return false
		}
	}
	return many == (q.kind == "array")
}
