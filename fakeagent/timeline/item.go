package timeline

import "encoding/json"

// Item is one entry of a timeline. Its types are [UserMessage], [AssistantMessage], [Reasoning], [ToolCall], [Todo],
// [ErrorItem], [Compaction], [Notification], [Plugin], and [Raw] for what this version does not know.
type Item interface {
	json.Marshaler
	Type() string // the "type" of the JSON form
	item()
}

// Status is where a tool call stands. A turn's [Ending] uses the last three.
type Status string

const (
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Canceled  Status = "canceled"
)

// UserMessage is what the user said. The host writes it, once a turn has started; providers emit none.
type UserMessage struct {
	Text            string `json:"text"`
	MessageID       string `json:"messageId,omitempty"`
	ClientMessageID string `json:"clientMessageId,omitempty"`
}

// AssistantMessage is what the agent said. In a row it may be one chunk; in a projection it is the whole message.
type AssistantMessage struct {
	Text      string `json:"text"`
	MessageID string `json:"messageId,omitempty"`
}

// Reasoning is what the agent thought. In a row it may be one chunk.
type Reasoning struct {
	Text string `json:"text"`
}

// ToolCall is one use of a tool. Rows with the same CallID are states of one call.
type ToolCall struct {
	CallID   string
	Name     string
	Detail   Detail          // what the call was about; never nil in a decoded item
	Metadata json.RawMessage // a JSON object, or nil
	Status   Status
	// Error says why a call failed: a string, or a json.RawMessage that holds any other JSON value but null. It goes with
	// Failed and only with Failed: elsewhere it is nil, and the JSON form has null whatever stands here.
	Error any
}

// Todo is the agent's plan.
type Todo struct {
	Items []TodoEntry `json:"items"`
}

// TodoEntry is one line of a plan.
type TodoEntry struct {
	Text       string `json:"text"`
	Completed  bool   `json:"completed"`
	ID         string `json:"id,omitempty"`
	Status     string `json:"status,omitempty"` // pending, in_progress or completed
	ActiveForm string `json:"activeForm,omitempty"`
}

// ErrorItem says why a turn failed.
type ErrorItem struct {
	Message string `json:"message"`
}

// Compaction marks that the agent shortened its context.
type Compaction struct {
	Status    string `json:"status"`            // loading or completed
	Trigger   string `json:"trigger,omitempty"` // auto or manual
	PreTokens int    `json:"preTokens,omitempty"`
}

// Notification is a notice to the user.
type Notification struct {
	Level   string `json:"level"` // info, warning or error
	Message string `json:"message"`
}

// Plugin is a plugin row, also called a timeline card. The latest row of one PluginID and ID is the one that is shown.
type Plugin struct {
	ID       string          `json:"id"`
	PluginID string          `json:"pluginId"`
	Kind     string          `json:"kind"`
	Version  int             `json:"version"`
	Data     json.RawMessage `json:"data"`
}

// Raw is an item or a detail of a type that this version does not know, as it came.
type Raw struct {
	JSON json.RawMessage // an object with a string "type"
}

func (UserMessage) Type() string      { return "user_message" }
func (AssistantMessage) Type() string { return "assistant_message" }
func (Reasoning) Type() string        { return "reasoning" }
func (ToolCall) Type() string         { return "tool_call" }
func (Todo) Type() string             { return "todo" }
func (ErrorItem) Type() string        { return "error" }
func (Compaction) Type() string       { return "compaction" }
func (Notification) Type() string     { return "notification" }
func (Plugin) Type() string           { return "plugin" }
func (r Raw) Type() string            { t, _ := typeOf(r.JSON); return t }

func (UserMessage) item()      {}
func (AssistantMessage) item() {}
func (Reasoning) item()        {}
func (ToolCall) item()         {}
func (Todo) item()             {}
func (ErrorItem) item()        {}
func (Compaction) item()       {}
func (Notification) item()     {}
func (Plugin) item()           {}
func (Raw) item()              {}

// How a failure message of Gomega shows an item: on one line, see [Line].

func (i UserMessage) GomegaString() string      { return Line(i) }
func (i AssistantMessage) GomegaString() string { return Line(i) }
func (i Reasoning) GomegaString() string        { return Line(i) }
func (i ToolCall) GomegaString() string         { return Line(i) }
func (i Todo) GomegaString() string             { return Line(i) }
func (i ErrorItem) GomegaString() string        { return Line(i) }
func (i Compaction) GomegaString() string       { return Line(i) }
func (i Notification) GomegaString() string     { return Line(i) }
func (i Plugin) GomegaString() string           { return Line(i) }
func (i Raw) GomegaString() string              { return Line(i) }
