package acp

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strconv"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// metaKey is under what in _meta a tool call has what the protocol has no place for.
const metaKey = "understudy"

// toolCall is a state of a tool call, on both sides of the wire.
type toolCall struct {
	id     string
	cwd    string // of its session: the protocol's paths are absolute
	name   string
	detail timeline.Detail
	failed string // why, if it did
	done   bool
	task   event.Payload // of the task that it is; nil where it is none
}

// callOf is a call as an event has it. What a later event leaves out is as an earlier one said. over: the item is completed.
func callOf(before toolCall, p event.Item, over bool) toolCall {
	c := toolCall{id: before.id, cwd: before.cwd, name: cmp.Or(p.Title, before.name, string(p.ItemType)), detail: p.Data}
	switch {
	case c.detail != nil:
	case before.detail != nil:
		c.detail = before.detail
	case p.Detail != "":
		c.detail = timeline.PlainText{Text: p.Detail}
	default:
		c.detail = timeline.Unknown{}
	}
	switch p.Status {
	case event.Completed:
		c.done = true
	case event.Failed, event.Declined:
		c.done, c.failed = true, cmp.Or(p.Error, string(p.Status))
	case "":
		c.done = over
	}
	return c
}

// pastCall is a call of a session that is loaded.
func pastCall(t timeline.ToolCall) toolCall {
	c := toolCall{id: t.CallID, name: t.Name, detail: t.Detail, done: t.Status != timeline.Running}
	if c.detail == nil {
		c.detail = timeline.Unknown{}
	}
	switch t.Status {
	case timeline.Failed:
		c.failed = string(timeline.Failed)
		switch e := t.Error.(type) {
		case string:
			c.failed = cmp.Or(e, c.failed)
		case json.RawMessage:
			c.failed = string(e)
		}
	case timeline.Canceled: // for which the protocol has no status
		c.failed = string(timeline.Canceled)
	}
	return c
}

// shown is how a call appears to the user.
func (c toolCall) shown() (kind, title, path string) {
	title = c.name
	switch d := c.detail.(type) {
	case timeline.Shell:
		return "execute", cmp.Or(d.Command, title), ""
	case timeline.Read:
		return "read", c.name + " " + d.FilePath, c.abs(d.FilePath)
	case timeline.Write:
		return "edit", c.name + " " + d.FilePath, c.abs(d.FilePath)
	case timeline.Edit:
		return "edit", c.name + " " + d.FilePath, c.abs(d.FilePath)
	case timeline.Search:
		return "search", cmp.Or(d.Query, title), ""
	case timeline.Fetch:
		return "fetch", cmp.Or(d.URL, title), ""
	case timeline.SubAgent:
		return "think", cmp.Or(d.Description, title), ""
	case timeline.PlainText:
		return "other", cmp.Or(d.Text, d.Label, title), ""
	}
	return "other", title, ""
}

func (c toolCall) abs(path string) string {
	if path == "" || c.cwd == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.cwd, filepath.FromSlash(path))
}

// input is "rawInput", what the tool was given, if that is known.
func (c toolCall) input(f frame) frame {
	switch d := c.detail.(type) {
	case timeline.Shell:
		return f.raw(`,"rawInput":{"command":`).str(d.Command).raw(`}`)
	case timeline.Read:
		return f.raw(`,"rawInput":{"path":`).str(d.FilePath).raw(`}`)
	case timeline.Write:
		return f.raw(`,"rawInput":{"content":`).str(d.Content).raw(`,"path":`).str(d.FilePath).raw(`}`)
	case timeline.Edit:
		return f.raw(`,"rawInput":{"newText":`).str(d.NewString).raw(`,"oldText":`).str(d.OldString).raw(`,"path":`).str(d.FilePath).raw(`}`)
	case timeline.Search:
		return f.raw(`,"rawInput":{"query":`).str(d.Query).raw(`}`)
	case timeline.Fetch:
		return f.raw(`,"rawInput":{"url":`).str(d.URL).raw(`}`)
	case timeline.Unknown:
		if d.Input != nil {
			return f.raw(`,"rawInput":`).json(d.Input)
		}
	}
	return f
}

// describe has the members of a call that say what it is, for tool_call and for a permission.
func (c toolCall) describe(f frame, p Profile) frame {
	kind, title, path := c.shown()
	f = f.raw(`"toolCallId":`).str(c.id).raw(`,"title":`).str(title).raw(`,"kind":`).str(kind)
	if p != Seed {
		f = f.raw(`,"name":`).str(c.name)
	}
	if path != "" {
		f = f.raw(`,"locations":[{"path":`).str(path).raw(`}]`)
	}
	return c.input(f)
}

// meta is what the protocol has no place for.
func (c toolCall) meta(f frame, p Profile) frame {
	if p == Seed {
		return f
	}
	f = f.raw(`,"_meta":{"` + metaKey + `":{"name":`).str(c.name).raw(`,"detail":`).own(c.detail)
	if f = f.field("error", c.failed); c.task != nil {
		f = f.raw(`,"task":`).json(c.task)
	}
	return f.raw(`}}`)
}

func (c toolCall) begin(f frame, p Profile) frame {
	return c.meta(c.describe(f.raw(`{"sessionUpdate":"tool_call",`), p), p).raw(`}`)
}

// past is a call of a session that is loaded: all of it at once.
func (c toolCall) past(f frame, p Profile) frame {
	return c.meta(c.outcome(c.describe(f.raw(`{"sessionUpdate":"tool_call",`), p)), p).raw(`}`)
}

func (c toolCall) end(f frame, p Profile) frame {
	f = f.raw(`{"sessionUpdate":"tool_call_update","toolCallId":`).str(c.id)
	if p == Seed {
		f = f.raw(`,"status":`).str(c.status())
		return f.field("error", c.failed).raw(`}`) // a root field that the schema does not have: a quirk of the origin
	}
	return c.meta(c.outcome(f), p).raw(`}`)
}

func (c toolCall) status() string {
	switch {
	case c.failed != "":
		return "failed"
	case c.done:
		return "completed"
	}
	return "in_progress"
}

// outcome has the members of a call that say what came of it.
func (c toolCall) outcome(f frame) frame {
	f = f.raw(`,"status":`).str(c.status())
	text := c.failed
	var output frame
	switch d := c.detail.(type) {
	case timeline.Shell:
		text = cmp.Or(d.Output, text)
		output = frame(`{"output":`).str(d.Output)
		if n, ok := d.ExitCode.Code(); ok {
			output = strconv.AppendInt(output.raw(`,"exitCode":`), int64(n), 10)
		} else if !d.ExitCode.IsZero() { // a signal has ended it
			output = output.raw(`,"exitCode":null`)
		}
		output = output.raw(`}`)
	case timeline.Write:
		if text == "" {
			return f.raw(`,"content":[{"type":"diff","path":`).str(c.abs(d.FilePath)).raw(`,"newText":`).str(d.Content).raw(`}]`)
		}
	case timeline.Edit:
		if text = cmp.Or(text, d.UnifiedDiff); text == "" || c.failed == "" && d.OldString+d.NewString != "" {
			return f.raw(`,"content":[{"type":"diff","path":`).str(c.abs(d.FilePath)).raw(`,"oldText":`).str(d.OldString).
				raw(`,"newText":`).str(d.NewString).raw(`}]`)
		}
	case timeline.Read:
		text = cmp.Or(text, d.Content)
	case timeline.Search:
		text = cmp.Or(text, d.Content)
	case timeline.Fetch:
		text = cmp.Or(text, d.Result)
	case timeline.SubAgent:
		text = cmp.Or(text, d.Log)
	case timeline.Unknown:
		if d.Output != nil {
			output = frame(nil).json(d.Output)
			_ = json.Unmarshal(d.Output, &text) // an output that is a text
		}
	}
	f = withText(f, text)
	if output != nil {
		f = append(f.raw(`,"rawOutput":`), output...)
	}
	return f
}

// withText is the content of a call that is a text, if there is one.
func withText(f frame, text string) frame {
	if text == "" {
		return f
	}
	return f.raw(`,"content":[{"type":"content","content":{"type":"text","text":`).str(text).raw(`}}]`)
}

// chunk is a piece of a message.
func chunk(f frame, kind, messageID, text string, p Profile) frame {
	f = f.raw(`{"sessionUpdate":"`).raw(kind).raw(`","content":{`)
	if p != Seed || kind != "agent_thought_chunk" { // whose content has no type: a quirk of the origin
		f = f.raw(`"type":"text",`)
	}
	f = f.raw(`"text":`).str(text).raw(`}`)
	if p != Seed {
		f = f.field("messageId", messageID)
	}
	return f.raw(`}`)
}

func plan(f frame, steps []event.PlanStep) frame {
	f = f.raw(`{"sessionUpdate":"plan","entries":[`)
	for i, s := range steps {
		if i > 0 {
			f = f.raw(`,`)
		}
		status := cmp.Or(s.Status, "pending")
		if status == string(event.InProgress) {
			status = "in_progress"
		}
		f = f.raw(`{"content":`).str(s.Step).raw(`,"priority":`).str(cmp.Or(s.Priority, "medium")).raw(`,"status":`).str(status).raw(`}`)
	}
	return f.raw(`]}`)
}

// todo is the plan of a session that is loaded.
func todo(t timeline.Todo) (steps []event.PlanStep) {
	for _, e := range t.Items {
		status := cmp.Or(e.Status, "pending")
		if e.Completed {
			status = "completed"
		}
		steps = append(steps, event.PlanStep{Step: e.Text, Status: status})
	}
	return steps
}

func usage(f frame, u event.TokenUsage, p Profile) frame {
	f = f.raw(`{"sessionUpdate":"usage_update","used":`).raw(strconv.Itoa(u.UsedTokens)).raw(`,"size":`).raw(strconv.Itoa(u.MaxTokens))
	if p != Seed {
		f = f.raw(`,"_meta":{"` + metaKey + `":{"usage":`).json(u).raw(`}}`)
	}
	return f.raw(`}`)
}
