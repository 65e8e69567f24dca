package event

import (
	"cmp"
	"slices"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// Fold turns the events of one thread into the rows of a timeline. It takes them in order, one at a time. The zero value is ready.
//
// What it returns is appended to a [timeline.Log]. Its snapshots show one item for all states of a tool call and all pieces of a message.
type Fold struct {
	begun []begun                      // the messages and tool calls of this turn
	shown string                       // the last error of this turn
	tasks map[string]timeline.SubAgent // those that run
}

type begun struct {
	kind ItemType // tool for every tool call
	id   string
}

const tool ItemType = ""

// Item is what an event adds to the timeline, if anything, with the id that tells rows of one message from others.
//
//   - A delta is a piece of a message or of reasoning. A later item.completed that repeats the whole text adds nothing.
//   - item.started and item.completed are states of a tool call. A declined one is a failed call.
//   - turn.plan.updated is a todo list.
//   - A task is a tool call of a sub-agent. A stopped one is a canceled call.
//   - A turn that failed, and a runtime.error, is an error item; the same message twice in a turn is one.
//   - A user_message of a provider is a user message. A host that writes its own drops it.
func (f *Fold) Item(e Event) (item timeline.Item, itemID string, ok bool) {
	id := e.ItemID
	switch p := e.Payload.(type) {
	case TurnStarted:
		f.begun, f.shown = f.begun[:0], ""
	case Delta:
		if id == "" {
			id = e.TurnID
		}
		switch p.Stream {
		case AssistantText:
			f.came(AssistantMessage, id)
			return timeline.AssistantMessage{Text: p.Text, MessageID: e.ItemID}, id, true
		case ReasoningText, ReasoningSummary:
			f.came(Reasoning, id)
			return timeline.Reasoning{Text: p.Text}, id, true
		}
	case ItemStarted:
		if p.ItemType.IsTool() {
			return f.call(e, p.Item, timeline.Running)
		}
	case ItemUpdated:
		if p.ItemType.IsTool() {
			return f.call(e, p.Item, timeline.Running)
		}
	case ItemCompleted:
		return f.completed(e, p.Item)
	case TaskStarted:
		return f.task(e, p.TaskID, timeline.SubAgent{SubAgentType: p.TaskType, Description: p.Description}, timeline.Running, "")
	case TaskProgress:
		return f.task(e, p.TaskID, timeline.SubAgent{Description: p.Description, Log: p.Summary}, timeline.Running, "")
	case TaskCompleted:
		status, err := timeline.Completed, ""
		if p.Status != TaskDone {
			status, err = timeline.Failed, cmp.Or(p.Summary, string(p.Status), string(TaskFailed))
		}
		if p.Status == TaskStopped {
			status, err = timeline.Canceled, ""
		}
		return f.task(e, p.TaskID, timeline.SubAgent{Log: p.Summary}, status, err)
	case PlanUpdated:
		var todo timeline.Todo
		for _, s := range p.Plan {
			status := s.Status
			if status == string(InProgress) {
				status = "in_progress"
			}
			todo.Items = append(todo.Items, timeline.TodoEntry{Text: s.Step, Completed: status == "completed", Status: status})
		}
		return todo, id, true
	case RuntimeError:
		if e.TurnID == "" {
			return timeline.ErrorItem{Message: p.Message}, "", true
		}
		return f.err(p.Message)
	case TurnCompleted:
		if p.State == TurnEndFailed && (p.ErrorMessage != "" || f.shown == "") {
			return f.err(p.Ending().Message)
		}
	}
	return nil, "", false
}

// came says whether it is the first time in this turn.
func (f *Fold) came(kind ItemType, id string) (first bool) {
	b := begun{kind, id}
	if n := len(f.begun); n > 0 && f.begun[n-1] == b { // as the pieces of one message are
		return false
	}
	if first = !slices.Contains(f.begun, b); first {
		f.begun = append(f.begun, b)
	}
	return first
}

func (f *Fold) err(message string) (timeline.Item, string, bool) {
	if message == f.shown {
		return nil, "", false
	}
	f.shown = message
	return timeline.ErrorItem{Message: message}, "", true
}

func (f *Fold) completed(e Event, p Item) (timeline.Item, string, bool) {
	id := e.ItemID
	fresh := !slices.Contains(f.begun, begun{p.ItemType, cmp.Or(id, e.TurnID)})
	switch p.ItemType {
	case UserMessage:
		return timeline.UserMessage{Text: p.Detail}, id, true
	case AssistantMessage:
		return timeline.AssistantMessage{Text: p.Detail, MessageID: id}, id, fresh
	case Reasoning:
		return timeline.Reasoning{Text: p.Detail}, id, fresh
	case ErrorItem:
		return f.err(p.Detail)
	case Compaction:
		return timeline.Compaction{Status: "completed"}, id, true
	}
	return f.call(e, p, timeline.Completed)
}

// call is a state of a tool call. What a later event leaves out is left to what an earlier one said.
func (f *Fold) call(e Event, p Item, status timeline.Status) (timeline.Item, string, bool) {
	id := cmp.Or(e.ItemID, e.TurnID)
	c := timeline.ToolCall{CallID: id, Name: p.Title, Detail: p.Data, Status: status}
	first := f.came(tool, id)
	if c.Name == "" && first {
		c.Name = string(p.ItemType)
	}
	if c.Detail == nil {
		c.Detail = timeline.Unknown{}
		if first && p.Detail != "" {
			c.Detail = timeline.PlainText{Text: p.Detail}
		}
	}
	switch p.Status {
	case InProgress:
		c.Status = timeline.Running
	case Completed:
		c.Status = timeline.Completed
	case Failed, Declined:
		c.Status, c.Error = timeline.Failed, cmp.Or(p.Error, string(p.Status))
	}
	return c, id, true
}

// task is a state of a task, which is a tool call of its own.
func (f *Fold) task(e Event, id string, d timeline.SubAgent, status timeline.Status, err string) (timeline.Item, string, bool) {
	id = cmp.Or(id, e.ItemID, e.TurnID)
	f.came(tool, id)
	before := f.tasks[id] // of which only changes are told
	if _, starts := e.Payload.(TaskStarted); starts {
		before = timeline.SubAgent{} // one of an earlier turn, whose end nobody told
	}
	d = timeline.SubAgent{
		SubAgentType: cmp.Or(d.SubAgentType, before.SubAgentType), Description: cmp.Or(d.Description, before.Description), Log: cmp.Or(d.Log, before.Log),
	}
	if f.tasks == nil {
		f.tasks = map[string]timeline.SubAgent{}
	}
	f.tasks[id] = d
	if status != timeline.Running {
		delete(f.tasks, id)
	}
	c := timeline.ToolCall{CallID: id, Name: "Task", Detail: d, Status: status}
	if err != "" {
		c.Error = err
	}
	return c, id, true
}

// Ending is how the turn ended, in the words of the timeline.
func (p TurnCompleted) Ending() timeline.Ending {
	e := timeline.Ending{Kind: timeline.Completed, Message: p.ErrorMessage, Code: p.ErrorCode}
	switch p.State {
	case TurnEndFailed:
		e.Kind = timeline.Failed
		if e.Message == "" {
			e.Message = "the provider gave no reason"
		}
	case TurnEndInterrupted, TurnEndCancelled:
		e.Kind = timeline.Canceled
	}
	return e
}
