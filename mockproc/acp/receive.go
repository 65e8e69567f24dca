package acp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// callFields are the members of a tool call, in an update or a permission. What is not there is as it was.
type callFields struct {
	ToolCallID string  `json:"toolCallId"`
	Title      *string `json:"title"`
	Name       *string `json:"name"`
	Kind       *string `json:"kind"`
	Status     *string `json:"status"`
	Content    *[]struct {
		Type    string  `json:"type"`
		Path    string  `json:"path"`
		Content block   `json:"content"`
		OldText *string `json:"oldText"`
		NewText *string `json:"newText"`
	} `json:"content"`
	Locations *[]struct {
		Path string `json:"path"`
	} `json:"locations"`
	RawInput  json.RawMessage `json:"rawInput"`
	RawOutput json.RawMessage `json:"rawOutput"`
	Meta      struct {
		Ours *struct {
			Name   string          `json:"name"`
			Detail json.RawMessage `json:"detail"`
			Error  string          `json:"error"`
			Task   json.RawMessage `json:"task"` // the payload of a task's event
		} `json:"understudy"`
	} `json:"_meta"`
}

func (f callFields) title() string { return value(f.Title) }

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// merge takes what an update says.
func (f *callFields) merge(u callFields) {
	f.ToolCallID = u.ToolCallID
	f.Title, f.Name, f.Kind = cmp.Or(u.Title, f.Title), cmp.Or(u.Name, f.Name), cmp.Or(u.Kind, f.Kind)
	f.Status, f.Content, f.Locations = cmp.Or(u.Status, f.Status), cmp.Or(u.Content, f.Content), cmp.Or(u.Locations, f.Locations)
	f.Meta.Ours = cmp.Or(u.Meta.Ours, f.Meta.Ours)
	if u.RawInput != nil {
		f.RawInput = u.RawInput
	}
	if u.RawOutput != nil {
		f.RawOutput = u.RawOutput
	}
}

// item is the call as an event has it.
func (f callFields) item() event.Item {
	i := event.Item{ItemType: event.DynamicToolCall, Status: event.InProgress}
	switch value(f.Status) {
	case "completed":
		i.Status = event.Completed
	case "failed":
		i.Status = event.Failed
	}
	if ours := f.Meta.Ours; ours != nil {
		i.Title, i.Error = ours.Name, ours.Error
		if d, err := timeline.DecodeDetail(ours.Detail); err == nil {
			i.Data = d
		}
	}
	if i.Data == nil {
		i.Data = f.detail()
		i.Title = cmp.Or(value(f.Name), usualName(i.Data), f.title())
		if i.Status == event.Failed {
			i.Error = cmp.Or(f.text(), "failed")
		}
	}
	switch i.Data.(type) {
	case timeline.Shell:
		i.ItemType = event.CommandExecution
	case timeline.Write, timeline.Edit:
		i.ItemType = event.FileChange
	case timeline.Unknown:
		if strings.HasPrefix(i.Title, "mcp__") {
			i.ItemType = event.MCPToolCall
		}
	}
	return i
}

// usualName is what a tool of that kind is called where its agent does not say.
func usualName(d timeline.Detail) string {
	switch d.(type) {
	case timeline.Shell:
		return "Bash"
	case timeline.Read:
		return "Read"
	case timeline.Write:
		return "Write"
	case timeline.Edit:
		return "Edit"
	}
	return ""
}

// text is what the call shows as text.
func (f callFields) text() string {
	if f.Content == nil {
		return ""
	}
	var all []string
	for _, c := range *f.Content {
		if c.Type == "content" {
			all = append(all, c.Content.says())
		}
	}
	return strings.Join(all, "\n")
}

// detail is made of what real agents send: the kind, and by habit some members of rawInput and rawOutput.
func (f callFields) detail() timeline.Detail {
	var in struct {
		Command  any
		Path     string
		FilePath string  `json:"file_path"`
		Content  *string // of what is written
		Old      *string `json:"old_string"`
		New      *string `json:"new_string"`
		Query    string
		Pattern  string
		URL      string
	}
	_ = json.Unmarshal(f.RawInput, &in)
	path := cmp.Or(in.Path, in.FilePath)
	if f.Locations != nil && len(*f.Locations) > 0 {
		path = cmp.Or(path, (*f.Locations)[0].Path)
	}
	switch value(f.Kind) {
	case "execute":
		command, _ := in.Command.(string)
		if list, ok := in.Command.([]any); ok {
			words := make([]string, len(list))
			for i, w := range list {
				words[i], _ = w.(string)
			}
			command = strings.Join(words, " ")
		}
		var out struct {
			Output    *string
			ExitCode  timeline.ExitCode `json:"exitCode"`
			ExitCode2 timeline.ExitCode `json:"exit_code"`
		}
		_ = json.Unmarshal(f.RawOutput, &out)
		d := timeline.Shell{Command: cmp.Or(command, f.title()), Output: f.text(), ExitCode: cmp.Or(out.ExitCode, out.ExitCode2)}
		if out.Output != nil {
			d.Output = *out.Output
		}
		return d
	case "edit":
		if f.Content != nil {
			for _, c := range *f.Content {
				switch {
				case c.Type != "diff" || c.NewText == nil:
				case c.OldText == nil:
					return timeline.Write{FilePath: c.Path, Content: *c.NewText}
				default:
					return timeline.Edit{FilePath: c.Path, OldString: *c.OldText, NewString: *c.NewText}
				}
			}
		}
		switch {
		case path == "":
		case in.Content != nil:
			return timeline.Write{FilePath: path, Content: *in.Content}
		default:
			return timeline.Edit{FilePath: path, OldString: value(in.Old), NewString: value(in.New)}
		}
	case "read":
		if path != "" {
			return timeline.Read{FilePath: path, Content: f.text()}
		}
	case "search":
		if q := cmp.Or(in.Query, in.Pattern); q != "" {
			return timeline.Search{Query: q, Content: f.text()}
		}
	case "fetch":
		if in.URL != "" {
			return timeline.Fetch{URL: in.URL, Result: f.text()}
		}
	}
	d := timeline.Unknown{Input: compact(f.RawInput), Output: compact(f.RawOutput)}
	if text := f.text(); d.Output == nil && text != "" {
		d.Output = json.RawMessage(frame(nil).str(text))
	}
	return d
}

// compact is JSON as details have it; null is none.
func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if len(raw) == 0 || string(raw) == "null" || json.Compact(&b, raw) != nil {
		return nil
	}
	return b.Bytes()
}

// call is the turn's call with these fields, and with what was said of it before.
func (t *turn) call(u callFields) *call {
	c := t.calls[u.ToolCallID]
	if c == nil {
		c = &call{id: t.own(u.ToolCallID)}
		t.calls[u.ToolCallID] = c
		t.order = append(t.order, u.ToolCallID)
		c.fields.merge(u)
		c.begins(t)
		return c
	}
	c.fields.merge(u)
	return c
}

// begins, goesOn and ends are the events of a call, or of a task, which is one of our own.

func (c *call) begins(t *turn) {
	if p := (event.TaskStarted{}); c.task(&p) {
		p.TaskID = c.id
		t.emit("", p)
		return
	}
	item := c.fields.item()
	item.Status, item.Error = event.InProgress, ""
	t.emit(c.id, event.ItemStarted{Item: item})
}

func (c *call) goesOn(t *turn, item event.Item) {
	if p := (event.TaskProgress{}); c.task(&p) {
		p.TaskID = c.id
		t.emit("", p)
		return
	}
	t.emit(c.id, event.ItemUpdated{Item: item})
}

func (c *call) ends(t *turn, item event.Item) {
	c.over = true
	if p := (event.TaskCompleted{}); c.task(&p) {
		switch p.TaskID = c.id; {
		case p.Status != "":
		case item.Error == string(timeline.Canceled):
			p.Status = event.TaskStopped
		default: // the turn has ended before it
			p.Status, p.Summary = event.TaskFailed, item.Error
		}
		t.emit("", p)
		return
	}
	t.emit(c.id, event.ItemCompleted{Item: item})
}

// task reads the payload of the task's last event, if the call is one.
func (c *call) task(into any) bool {
	ours := c.fields.Meta.Ours
	return ours != nil && len(ours.Task) > 0 && json.Unmarshal(ours.Task, into) == nil
}

// emit is an event of the turn. th.mu is locked.
func (t *turn) emit(itemID string, p event.Payload) {
	t.th.emit(event.Event{TurnID: t.id, ItemID: itemID, Payload: p})
}

// update takes what the agent says it does.
func (th *thread) update(raw json.RawMessage) {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.take(raw)
}

// take is update where th.mu is locked.
func (th *thread) take(raw json.RawMessage) {
	var u struct {
		SessionUpdate string          `json:"sessionUpdate"`
		MessageID     string          `json:"messageId"`
		Content       json.RawMessage `json:"content"`
		Entries       []struct {
			Content  string `json:"content"`
			Priority string `json:"priority"`
			Status   string `json:"status"`
		} `json:"entries"`
		Used         int     `json:"used"`
		Size         int     `json:"size"`
		Title        *string `json:"title"`
		Severity     string  `json:"severity"`
		CompactionID string  `json:"compactionId"`
		Status       string  `json:"status"`
		Meta         struct {
			Ours struct {
				Usage     *event.TokenUsage
				Questions []event.Question
			} `json:"understudy"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &u); err != nil {
		th.c.log.dropped(Host, "an update: "+plain(err))
		return
	}
	t := th.turn
	switch u.SessionUpdate {
	case "usage_update", "notice", "session_info_update": // of the session
		if !th.open { // or of one whose past is told
			th.c.log.dropped(Host, u.SessionUpdate+" of a session that is not open")
			return
		}
		if t == nil {
			t = &turn{th: th}
		}
	default:
		if t == nil { // late, early, or of a session whose past is told
			th.c.log.dropped(Host, u.SessionUpdate+" outside of a turn")
			return
		}
	}
	switch u.SessionUpdate {
	case "agent_message_chunk", "agent_thought_chunk":
		var c block
		if err := json.Unmarshal(u.Content, &c); err != nil {
			th.c.log.dropped(Host, u.SessionUpdate+": "+plain(err))
			return
		}
		if asked := u.Meta.Ours.Questions; len(asked) > 0 { // which this text is in words
			th.emit(event.Event{TurnID: t.id, RequestID: th.nextRequest(), Payload: event.UserInputRequested{Questions: asked, ResponseMode: "message"}})
			return
		}
		stream := event.AssistantText
		if u.SessionUpdate == "agent_thought_chunk" {
			stream = event.ReasoningText
		}
		t.emit(t.messageID(stream, u.MessageID), event.Delta{Stream: stream, Text: c.says()})
	case "tool_call", "tool_call_update":
		var f callFields
		if err := json.Unmarshal(raw, &f); err != nil {
			th.c.log.dropped(Host, u.SessionUpdate+": "+plain(err))
			return
		}
		if f.ToolCallID == "" {
			th.c.log.dropped(Host, u.SessionUpdate+" without a toolCallId")
			return
		}
		t.saying = ""
		known := t.calls[f.ToolCallID] != nil
		c := t.call(f)
		switch item := c.fields.item(); {
		case c.over:
			th.c.log.dropped(Host, u.SessionUpdate+" of a call that is over")
		case item.Status != event.InProgress:
			c.ends(t, item)
		case known:
			c.goesOn(t, item)
		}
	case "plan":
		t.saying = ""
		var steps []event.PlanStep
		for _, e := range u.Entries {
			if e.Status == "in_progress" {
				e.Status = string(event.InProgress)
			}
			steps = append(steps, event.PlanStep{Step: e.Content, Status: e.Status, Priority: e.Priority})
		}
		t.emit("", event.PlanUpdated{Plan: steps})
	case "usage_update":
		tokens := event.TokenUsage{UsedTokens: u.Used, MaxTokens: u.Size}
		if u.Meta.Ours.Usage != nil {
			tokens = *u.Meta.Ours.Usage
		}
		t.emit("", event.TokenUsageUpdated{Usage: tokens})
	case "notice":
		if u.Severity == "error" {
			t.emit("", event.RuntimeError{Message: value(u.Title)})
		} else {
			t.emit("", event.Raw{Name: "runtime.warning", JSON: json.RawMessage(frame(`{"message":`).str(value(u.Title)).raw(`}`))})
		}
	case "compaction_summary_chunk":
		var c block
		if json.Unmarshal(u.Content, &c) == nil {
			if t.summary == nil {
				t.summary = map[string]string{}
			}
			t.summary[u.CompactionID] += c.says()
		}
	case "compaction_update":
		item := event.Item{ItemType: event.Compaction, Status: event.InProgress}
		if u.Status == "in_progress" {
			t.emit(t.own(u.CompactionID), event.ItemStarted{Item: item})
			break
		}
		item.Status, item.Detail = event.Completed, t.summary[u.CompactionID]
		delete(t.summary, u.CompactionID)
		if u.Status != "completed" { // a compaction in the timeline is one that was done
			th.c.log.dropped(Host, "a compaction that is "+u.Status)
			return
		}
		t.emit(t.own(u.CompactionID), event.ItemCompleted{Item: item})
	case "session_info_update":
		if u.Title != nil {
			t.emit("", event.Raw{Name: "thread.metadata.updated", JSON: json.RawMessage(frame(`{"name":`).str(*u.Title).raw(`}`))})
		}
	default:
		th.c.log.dropped(Host, u.SessionUpdate)
	}
}

// messageID tells one message from the next, also of an agent that does not.
func (t *turn) messageID(stream event.Stream, given string) string {
	switch {
	case given != "":
		t.saying = t.own(given)
	case t.saying == "" || t.stream != stream:
		t.messages++
		t.saying = nth("m-"+nth("", t.n)+"-", t.messages)
	}
	t.stream = stream
	return t.saying
}
