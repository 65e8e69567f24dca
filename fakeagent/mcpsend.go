package fakeagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// LeadingBlocksDefault are the expressions of [Config.LeadingBlocks] where it has none: <name …>…</name> for skill, skills, memory,
// tool-guidance and system-reminder.
func LeadingBlocksDefault() []string {
	var all []string
	for _, name := range []string{"skill", "skills", "memory", "tool-guidance", "system-reminder"} {
		all = append(all, fmt.Sprintf(`(?s)<%s(\s[^>]*)?>.*?</%[1]s>`, name)) // RE2 cannot say: the same name again
	}
	return all
}

// mcpSend chooses the calls that a prompt is, or else what plain plays.
func (c Config) mcpSend() (func(*thread, Input) (script.Script, error), error) {
	plain, err := preset("plain")
	if err != nil {
		return nil, err
	}
	blocks := c.LeadingBlocks
	if blocks == nil {
		blocks = LeadingBlocksDefault()
	}
	leading := make([]*regexp.Regexp, len(blocks))
	for i, expr := range blocks {
		if leading[i], err = regexp.Compile(`\A(?:` + expr + `)`); err != nil {
			return nil, fmt.Errorf("fakeagent: leadingBlocks[%d]: %w", i, err)
		}
	}
	return func(th *thread, in Input) (script.Script, error) {
		if calls := callsIn(withoutLeading(in.Prompt, leading)); calls != nil {
			return script.New(calls...), nil
		}
		return th.pick(plain, in), nil
	}, nil
}

// withoutLeading is a prompt without the blocks before it.
func withoutLeading(prompt string, leading []*regexp.Regexp) string {
	for {
		text, end := prompt, 0
		for line, rest, ok := strings.Cut(text, "\n"); ok && strings.TrimSpace(line) == ""; line, rest, ok = strings.Cut(text, "\n") {
			text = rest
		}
		for _, re := range leading {
			if at := re.FindStringIndex(text); at != nil {
				end = max(end, at[1])
			}
		}
		if end == 0 {
			return prompt
		}
		if prompt = text[end:]; text[end-1] == '\n' {
			continue
		}
		line, rest, _ := strings.Cut(prompt, "\n")
		if strings.TrimSpace(line) != "" {
			return prompt
		}
		prompt = rest
	}
}

// callsIn are the calls that a prompt asks for, nil if it does not.
func callsIn(prompt string) []script.Step {
	text := []byte(strings.TrimSpace(prompt))
	if len(text) == 0 || !json.Valid(text) {
		return nil
	}
	switch text[0] {
	case '{':
		return []script.Step{script.MCPStep{Tool: "send_message", Arguments: text, Report: true}}
	case '[':
		var calls []struct {
			Tool      string
			Arguments json.RawMessage
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if d.Decode(&calls) != nil {
			return nil
		}
		var steps []script.Step
		for _, c := range calls {
			if string(c.Arguments) == "null" {
				c.Arguments = nil
			}
			if c.Tool == "" || c.Arguments != nil && kind(c.Arguments) != '{' {
				return nil
			}
			steps = append(steps, script.MCPStep{Tool: c.Tool, Arguments: c.Arguments, Report: true})
		}
		return steps
	}
	return nil
}
