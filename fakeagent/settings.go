package fakeagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/usagefake"
)

// setting is a key of a [Config] in JSON.
type setting struct {
	key, doc  string
	at        func(*Config) any // a pointer to the field
	byDefault any
	least     int  // of a whole number
	late      bool // what is wrong with it is told by the turns that need it, and not by New
	inForm    bool // a user sees it
}

var settings = []setting{
	{key: "script", doc: "what the turns play: a name, or the path of a file of scripts that ends in .json", byDefault: "plain",
		at: func(c *Config) any { return &c.Script }},
	{key: "replyText", doc: "what the agent answers", byDefault: "fake turn complete", inForm: true,
		at: func(c *Config) any { return &c.ReplyText }},
	{key: "streamChunks", doc: "stream: in how many pieces it answers", byDefault: 200, least: 1,
		at: func(c *Config) any { return &c.StreamChunks }},
	{key: "streamIntervalMs", doc: "stream: the time between two pieces", byDefault: 30,
		at: func(c *Config) any { return &c.StreamIntervalMs }},
	{key: "previewHoldMs", doc: "visualize: how long its row is in progress before the call", byDefault: 0,
		at: func(c *Config) any { return &c.PreviewHoldMs }},
	{key: "holdMs", doc: "lane:hold: how long it waits", byDefault: 15000,
		at: func(c *Config) any { return &c.HoldMs }},
	{key: "replayEventsPath", doc: "replay: the absolute path of a file of recorded events",
		at: func(c *Config) any { return &c.ReplayEventsPath }},
	{key: "replayStepMs", doc: "replay: the time between two events", byDefault: 30, late: true,
		at: func(c *Config) any { return &c.ReplayStepMs }},
	{key: "replayTaskHoldMs", doc: "replay: the time after each task.started, besides", byDefault: 3000, late: true,
		at: func(c *Config) any { return &c.ReplayTaskHoldMs }},
	{key: "replayAllow", doc: "replay: the types of events that are kept; one that ends in .* is all that begin so",
		at: func(c *Config) any { return &c.ReplayAllow }},
	{key: "playbookPath", doc: "mcp-send: the absolute path of a playbook",
		at: func(c *Config) any { return &c.PlaybookPath }},
	{key: "leadingBlocks", doc: "mcp-send: regular expressions, anchored, for what stands before a prompt and is not looked at",
		at: func(c *Config) any { return &c.LeadingBlocks }, byDefault: LeadingBlocksDefault()},
	{key: "usageScript", doc: "what kind of account the agent has", byDefault: usagefake.ScriptAvailable,
		at: func(c *Config) any { return &c.UsageScript }},
	{key: "builtInServer", doc: "the name of the MCP server that the host hands to each session", byDefault: "ycodium",
		at: func(c *Config) any { return &c.BuiltInServer }},
	{key: "openBothApprovals", doc: "approval-tool: asks both at once", byDefault: false,
		at: func(c *Config) any { return &c.OpenBothApprovals }},
	{key: "cancelCalls", doc: "an interrupt cancels an MCP call in flight", byDefault: false,
		at: func(c *Config) any { return &c.CancelCalls }},
	{key: "allowShell", doc: "bash steps with run start real processes", byDefault: false,
		at: func(c *Config) any { return &c.AllowShell }},
	{key: "instant", doc: "plays without any scripted wait", byDefault: false,
		at: func(c *Config) any { return &c.Instant }},
	{key: "seed", doc: "varies what a script leaves open", byDefault: uint64(0),
		at: func(c *Config) any { return &c.Seed }},
	{key: "speed", doc: "divides every scripted wait", byDefault: 1.0,
		at: func(c *Config) any { return &c.Speed }},
}

// UnmarshalJSON is strict: an unknown key is an error that names the nearest known one. What is not said stays as it was. What the values must
// be is checked by [New].
func (c *Config) UnmarshalJSON(data []byte) error {
	out := *c
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil {
		return fmt.Errorf("fakeagent: config: %w", err)
	} else if open != json.Delim('{') {
		return fmt.Errorf("fakeagent: config: must be an object, is %.40s", bytes.TrimSpace(data))
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return fmt.Errorf("fakeagent: config: %w", err)
		}
		key, _ := token.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("fakeagent: config: %s: %w", key, err)
		}
		s, err := settingOf(key)
		if err != nil {
			return fmt.Errorf("fakeagent: config: %w", err)
		}
		if seen[key] {
			return fmt.Errorf("fakeagent: config: key %q stands there twice", key)
		}
		seen[key] = true
		if err := json.Unmarshal(value, s.at(&out)); err != nil || string(value) == "null" {
			return fmt.Errorf("fakeagent: config: %s must be %s, is %.40s", key, s.kind().want, value)
		}
		if key == "speed" && !(out.Speed > 0) {
			return fmt.Errorf("fakeagent: config: speed must be above 0, is %s; instant plays without waiting", value)
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("fakeagent: config: %w", err)
	}
	*c = out
	return nil
}

func settingOf(key string) (setting, error) {
	known := make([]string, len(settings))
	for i, s := range settings {
		if s.key == key {
			return s, nil
		}
		known[i] = s.key
	}
	nearest, _ := script.Nearest(key, known)
	return setting{}, fmt.Errorf("unknown key %.40q, did you mean %q?", key, nearest)
}

// value is what the config has for a key, for placeholders.
func (c Config) value(key string) (script.Doc, error) {
	s, err := settingOf(key)
	if err != nil {
		return "", fmt.Errorf("{{config.%s}}: %w", key, err)
	}
	return asJSON(s.of(&c)), nil
}

// of is the value of the setting, or its default.
func (s setting) of(c *Config) any {
	v := reflect.ValueOf(s.at(c)).Elem()
	if v.IsZero() && s.byDefault != nil {
		return s.byDefault
	}
	return reflect.Indirect(v).Interface()
}

// number is the value of a setting that is a whole number.
func (c *Config) number(key string) int {
	s, _ := settingOf(key)
	n, _ := s.of(c).(int)
	return n
}

// text is the value of a setting that is a text.
func (c *Config) text(key string) string {
	s, _ := settingOf(key)
	text, _ := s.of(c).(string)
	return text
}

// kind is what the values of a setting are.
func (s setting) kind() (k struct{ want, schema string }) {
	switch s.at(&Config{}).(type) {
	case **int:
		k.want, k.schema = "a whole number", "integer"
	case *uint64:
		k.want, k.schema = "a whole number, 0 or more", "integer"
	case *float64:
		k.want, k.schema = "a number", "number"
	case *bool:
		k.want, k.schema = "true or false", "boolean"
	case *[]string:
		k.want, k.schema = "an array of strings", "array"
	default:
		k.want, k.schema = "a string", "string"
	}
	return k
}

// check is what [New] refuses.
func (c Config) check() error {
	if !(c.Speed >= 0) { // NaN is not either
		return fmt.Errorf("fakeagent: Speed is %v; use a number above 0, or Instant for no waiting", c.Speed)
	}
	for _, s := range settings {
		if n, ok := s.of(&c).(int); ok && n < s.least && !s.late {
			return fmt.Errorf("fakeagent: %s is %d; use %d or more", s.key, n, s.least)
		}
	}
	return nil
}

// ConfigSchema is the JSON Schema (draft 2020-12) of a [Config], indented. A setting that users see has an x-ycodium-form, whose label and
// description are keys of [Texts].
func ConfigSchema() []byte {
	props := map[string]any{}
	for _, s := range settings {
		p := map[string]any{"type": s.kind().schema, "description": s.doc}
		switch s.at(&Config{}).(type) {
		case **int, *uint64:
			p["minimum"] = s.least
		case *float64:
			p["exclusiveMinimum"] = 0
		case *[]string:
			p["items"] = map[string]any{"type": "string"}
		case *usagefake.Script:
			p["enum"] = usagefake.Scripts()
		}
		if s.byDefault != nil {
			p["default"] = s.byDefault
		}
		if s.inForm {
			p["x-ycodium-form"] = map[string]string{"label": "config." + s.key + ".label", "description": "config." + s.key + ".description"}
		}
		props[s.key] = p
	}
	b, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Understudy agent",
		"type": "object", "properties": props, "additionalProperties": false,
	}, "", "  ")
	if err != nil {
		panic(err) // it is made of maps and strings
	}
	return append(b, '\n')
}
