package timeline

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Line describes an item on one line, for tables and failure messages: the type and what tells it from others, long texts cut.
func Line(it Item) string {
	switch v := it.(type) {
	case nil:
		return "(none)"
	case UserMessage:
		return "user_message " + quote(v.Text)
	case AssistantMessage:
		return "assistant_message " + quote(v.Text)
	case Reasoning:
		return "reasoning " + quote(v.Text)
	case ErrorItem:
		return "error " + quote(v.Message)
	case ToolCall:
		s := "tool_call " + v.Name
		if about := summary(v); about != "" {
			s += " " + quote(about)
		}
		s += " " + string(v.Status)
		if v.Error != nil {
			s += ": " + oneLine(ErrorText(v.Error), 80)
		}
		return s
	case Todo:
		return "todo " + done(v)
	case Compaction:
		return "compaction " + v.Status
	case Notification:
		return "notification " + v.Level + " " + quote(v.Message)
	case Plugin:
		return fmt.Sprintf("plugin %s/%s %s v%d %s", v.PluginID, v.ID, v.Kind, v.Version, oneLine(string(v.Data), 80))
	}
	return oneLine(string(AppendJSON(nil, it)), 120)
}

func tableLine(i int, it Item) string { return fmt.Sprintf("%3d %s", i, Line(it)) }

func quote(s string) string { return strconv.Quote(cut(s, 80)) }

func oneLine(s string, n int) string { return strings.Join(strings.Fields(cut(s, n)), " ") }

// cut shortens s to about n bytes, at a rune border.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// ErrorText is the error of a tool call as text.
func ErrorText(err any) string {
	switch e := err.(type) {
	case nil:
		return ""
	case string:
		return e
	case json.RawMessage:
		return string(e)
	}
	return fmt.Sprint(err)
}

// summary is what a tool call was about, in a few words.
func summary(c ToolCall) string {
	switch d := c.Detail.(type) {
	case Shell:
		return d.Command
	case Read:
		return base(d.FilePath)
	case Edit:
		return base(d.FilePath)
	case Write:
		return base(d.FilePath)
	}
	_, about := label(c)
	return about
}

// base is a path's last element, on every system the same.
func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

func done(t Todo) string {
	n := 0
	for _, e := range t.Items {
		if e.Completed {
			n++
		}
	}
	return fmt.Sprintf("%d of %d done", n, len(t.Items))
}

// LogLine is an item as a text log has it: "[User] prompt", "[Thought] text", "[Write] path", "[Shell] command",
// "[MCP] server/tool", "[Tasks] 1 of 3 done", "[Error] message", an assistant's text bare. Texts are given in full. It is ""
// for an item that text logs leave out, as a plugin row.
func LogLine(it Item) string {
	switch v := it.(type) {
	case UserMessage:
		return "[User] " + v.Text
	case AssistantMessage:
		return v.Text
	case Reasoning:
		return "[Thought] " + v.Text
	case ToolCall:
		name, about := label(v)
		return strings.TrimRight("["+name+"] "+about, " ")
	case Todo:
		return "[Tasks] " + done(v)
	case ErrorItem:
		return "[Error] " + v.Message
	case Compaction:
		return "[Compacted]"
	case Notification:
		return "[Notice] " + v.Message
	}
	return ""
}

// label is how a log calls a tool call, and what it was about.
func label(c ToolCall) (name, about string) {
	switch d := c.Detail.(type) {
	case Shell:
		return "Shell", d.Command
	case Read:
		return "Read", d.FilePath
	case Edit:
		return "Edit", d.FilePath
	case Write:
		return "Write", d.FilePath
	case Search:
		return "Search", d.Query
	case Fetch:
		return "Fetch", d.URL
	case Plan:
		return "Plan", d.Text
	case WorktreeSetup:
		return "Worktree", d.BranchName
	case SubAgent:
		if d.SubAgentType != "" {
			return d.SubAgentType, d.Description
		}
		return "Task", d.Description
	case PlainText:
		if d.Label != "" {
			return c.Name, d.Label
		}
		return c.Name, d.Text
	case Unknown:
		if server, tool, ok := strings.Cut(strings.TrimPrefix(c.Name, "mcp__"), "__"); ok && strings.HasPrefix(c.Name, "mcp__") {
			return "MCP", server + "/" + tool
		}
		return c.Name, cut(string(d.Input), 400)
	}
	return c.Name, ""
}
