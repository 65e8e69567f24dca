// Package event holds the executor events that a playing script emits, their JSON form, and the fold that turns them into
// timeline items.
//
// Names and fields mirror the provider runtime contract of T3 Code: an envelope with ids and a payload for each type. Beyond the
// contract are seq in the envelope, error in an item's payload, errorCode in turn.completed, and the process events.
package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent/internal/jsonerr"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// Event is one executor event. An event that was encoded and decoded again equals the first one, and the payload of one that was decoded and
// encoded again says what it said.
type Event struct {
	Seq       uint64 // counts the events of a thread from 1; 0 in an event of foreign origin
	Provider  string // the kind of provider, such as "fake-agent"
	ThreadID  string
	TurnID    string // "" outside a turn
	ItemID    string
	RequestID string
	Time      time.Time // UTC, without a monotonic part
	Payload   Payload
	Recorded  *Recorded // what its JSON says beyond that; nil: nothing
}

// Recorded is what the JSON of an event says that the other fields of [Event] have no room for. A decoded event has one where that is so, and
// it is what is written again. Who changes the payload of such an event drops it.
type Recorded struct {
	Payload      json.RawMessage // the whole payload as it was, compact; nil where [Event.Payload] says the same
	ProviderRefs json.RawMessage // the ids that things have at the provider itself; nil: none
}

// Line describes an event on one line, for tables and failure messages, without what tells when and where it came.
func Line(e Event) string {
	if e.Payload == nil {
		return "(no payload)"
	}
	line := e.Payload.Type()
	for _, id := range []string{e.ItemID, e.RequestID} {
		if id != "" {
			line += " " + id
		}
	}
	says, _ := timeline.JSON(e.Payload)
	if raw, ok := e.Payload.(Raw); ok {
		says = raw.JSON
	}
	if e.Recorded != nil && e.Recorded.Payload != nil {
		says = e.Recorded.Payload
	}
	switch text := string(says); {
	case text == "" || text == "{}":
		return line
	case len(text) > 120:
		return line + " " + strings.ToValidUTF8(text[:120], "") + "…"
	default:
		return line + " " + text
	}
}

// GomegaString is how a failure message shows the event.
func (e Event) GomegaString() string { return Line(e) }

// Payload is what an event says. Its types are the structs of this package; [Raw] is a type that this version does not know.
type Payload interface {
	Type() string // the event's "type"
	payload()
}

// Stream says what kind of text a [Delta] is a piece of.
type Stream string

const (
	AssistantText Stream = "assistant_text"
	ReasoningText Stream = "reasoning_text"
	// ReasoningSummary is the short form some providers send beside or instead of ReasoningText.
	ReasoningSummary Stream = "reasoning_summary_text"
)

// ItemType says what kind of thing an item event is about.
type ItemType string

const (
	UserMessage      ItemType = "user_message"
	AssistantMessage ItemType = "assistant_message"
	Reasoning        ItemType = "reasoning"
	ErrorItem        ItemType = "error"
	Compaction       ItemType = "context_compaction"

	// The rest are tool calls; so is every type that is not named here. See [ItemType.IsTool].

	CommandExecution ItemType = "command_execution"
	FileChange       ItemType = "file_change"
	MCPToolCall      ItemType = "mcp_tool_call"
	DynamicToolCall  ItemType = "dynamic_tool_call"
)

// IsTool says that an item of this type is a tool call.
func (t ItemType) IsTool() bool {
	switch t {
	case UserMessage, AssistantMessage, Reasoning, ErrorItem, Compaction:
		return false
	}
	return true
}

// ItemStatus is where an item stands.
type ItemStatus string

const (
	InProgress ItemStatus = "inProgress"
	Completed  ItemStatus = "completed"
	Failed     ItemStatus = "failed"
	Declined   ItemStatus = "declined"
)

// TurnState is how a turn ended.
type TurnState string

const (
	TurnEndCompleted   TurnState = "completed"
	TurnEndFailed      TurnState = "failed"
	TurnEndInterrupted TurnState = "interrupted"
	TurnEndCancelled   TurnState = "cancelled" // some providers say this for interrupted
)

// TaskStatus is how a task ended.
type TaskStatus string

const (
	TaskDone    TaskStatus = "completed"
	TaskFailed  TaskStatus = "failed"
	TaskStopped TaskStatus = "stopped"
)

type (
	// SessionStarted opens a thread's session.
	SessionStarted struct{}

	// SessionExited closes it, and with it whatever ran. ExitKind is "graceful" or "error".
	SessionExited struct {
		Reason   string `json:"reason,omitempty"`
		ExitKind string `json:"exitKind,omitempty"`
	}

	// TurnStarted is a turn's first event.
	TurnStarted struct{}

	// TurnCompleted is a turn's last event, however it ended.
	TurnCompleted struct {
		State        TurnState `json:"state"`
		ErrorMessage string    `json:"errorMessage,omitempty"`
		ErrorCode    int       `json:"errorCode,omitempty"`
	}

	// Delta is a piece of text. Pieces with one ItemID are one message.
	Delta struct {
		Stream Stream `json:"streamKind"`
		Text   string `json:"delta"`
	}

	// Item is what the three item events carry. Title is a tool's name, Detail a text for people.
	Item struct {
		ItemType ItemType        `json:"itemType"`
		Status   ItemStatus      `json:"status,omitempty"`
		Title    string          `json:"title,omitempty"`
		Detail   string          `json:"detail,omitempty"`
		Data     timeline.Detail `json:"data,omitempty"`
		Error    string          `json:"error,omitempty"`
	}
	ItemStarted   struct{ Item }
	ItemUpdated   struct{ Item }
	ItemCompleted struct{ Item }

	// PlanUpdated replaces the agent's plan.
	PlanUpdated struct {
		Plan []PlanStep `json:"plan"`
	}
	// PlanStep is a line of a plan. Status is pending, inProgress or completed.
	PlanStep struct {
		Step     string `json:"step"`
		Status   string `json:"status"`
		Priority string `json:"priority,omitempty"`
	}

	// RequestOpened asks for an approval of the tool call whose id is the event's ItemID.
	RequestOpened struct {
		RequestType string   `json:"requestType"`
		Detail      string   `json:"detail,omitempty"`
		Options     []string `json:"options,omitzero"` // the decisions that are offered; none named: all
	}
	// RequestResolved says that the request of that RequestID is over.
	RequestResolved struct {
		RequestType string `json:"requestType"`
		Decision    string `json:"decision,omitempty"`
	}

	// UserInputRequested asks the user questions. ResponseMode "message" does not block the turn: the answer is the next message.
	UserInputRequested struct {
		Questions    []Question `json:"questions"`
		ResponseMode string     `json:"responseMode,omitempty"`
	}
	Question struct {
		ID          string   `json:"id"`
		Header      string   `json:"header"`
		Question    string   `json:"question"`
		Options     []Option `json:"options"`
		MultiSelect bool     `json:"multiSelect,omitempty"`
	}
	Option struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	}
	// UserInputResolved says that the questions of that RequestID are answered.
	UserInputResolved struct {
		Answers map[string]any `json:"answers"`
	}

	// TaskStarted begins a task that a sub-agent does.
	TaskStarted struct {
		TaskID      string `json:"taskId"`
		Description string `json:"description,omitempty"`
		TaskType    string `json:"taskType,omitempty"`
	}
	// TaskProgress tells how far it is.
	TaskProgress struct {
		TaskID       string `json:"taskId"`
		Description  string `json:"description"`
		Summary      string `json:"summary,omitempty"`
		LastToolName string `json:"lastToolName,omitempty"`
	}
	// TaskCompleted ends it, however it went.
	TaskCompleted struct {
		TaskID  string     `json:"taskId"`
		Status  TaskStatus `json:"status"`
		Summary string     `json:"summary,omitempty"`
	}

	// TokenUsageUpdated tells what a thread has used.
	TokenUsageUpdated struct {
		Usage TokenUsage `json:"usage"`
	}
	// TokenUsage counts tokens. Cached input is part of input, reasoning is part of output. Zero is left out, but for UsedTokens.
	TokenUsage struct {
		UsedTokens                int  `json:"usedTokens"`
		MaxTokens                 int  `json:"maxTokens,omitempty"` // the size of the context window
		TotalProcessedTokens      int  `json:"totalProcessedTokens,omitempty"`
		InputTokens               int  `json:"inputTokens,omitempty"`
		CachedInputTokens         int  `json:"cachedInputTokens,omitempty"`
		OutputTokens              int  `json:"outputTokens,omitempty"`
		ReasoningOutputTokens     int  `json:"reasoningOutputTokens,omitempty"`
		LastUsedTokens            int  `json:"lastUsedTokens,omitempty"` // last: of the last call to the model
		LastInputTokens           int  `json:"lastInputTokens,omitempty"`
		LastCachedInputTokens     int  `json:"lastCachedInputTokens,omitempty"`
		LastOutputTokens          int  `json:"lastOutputTokens,omitempty"`
		LastReasoningOutputTokens int  `json:"lastReasoningOutputTokens,omitempty"`
		ToolUses                  int  `json:"toolUses,omitempty"`
		DurationMs                int  `json:"durationMs,omitempty"`
		CompactsAutomatically     bool `json:"compactsAutomatically,omitempty"`
	}

	// RuntimeError is a fault of the provider outside or inside a turn.
	RuntimeError struct {
		Message string `json:"message"`
	}

	// ProcessExit says that the agent ends its process now, with a code or by a signal such as "SIGKILL".
	ProcessExit struct {
		Code   int    `json:"code,omitempty"`
		Signal string `json:"signal,omitempty"`
	}
	// ProcessStderr is text for the standard error of the agent's process.
	ProcessStderr struct {
		Text string `json:"text"`
	}
	// ProcessRaw are bytes for its standard output, as they are.
	ProcessRaw struct {
		Bytes []byte `json:"base64"`
	}

	// Raw is an event of a type that this version does not know.
	Raw struct {
		Name string
		JSON json.RawMessage // the payload
	}
)

func (SessionStarted) Type() string     { return "session.started" }
func (SessionExited) Type() string      { return "session.exited" }
func (TurnStarted) Type() string        { return "turn.started" }
func (TurnCompleted) Type() string      { return "turn.completed" }
func (Delta) Type() string              { return "content.delta" }
func (ItemStarted) Type() string        { return "item.started" }
func (ItemUpdated) Type() string        { return "item.updated" }
func (ItemCompleted) Type() string      { return "item.completed" }
func (PlanUpdated) Type() string        { return "turn.plan.updated" }
func (RequestOpened) Type() string      { return "request.opened" }
func (RequestResolved) Type() string    { return "request.resolved" }
func (UserInputRequested) Type() string { return "user-input.requested" }
func (UserInputResolved) Type() string  { return "user-input.resolved" }
func (TaskStarted) Type() string        { return "task.started" }
func (TaskProgress) Type() string       { return "task.progress" }
func (TaskCompleted) Type() string      { return "task.completed" }
func (TokenUsageUpdated) Type() string  { return "thread.token-usage.updated" }
func (RuntimeError) Type() string       { return "runtime.error" }
func (ProcessExit) Type() string        { return "process.exit" }
func (ProcessStderr) Type() string      { return "process.stderr" }
func (ProcessRaw) Type() string         { return "process.raw" }
func (r Raw) Type() string              { return r.Name }

func (SessionStarted) payload()     {}
func (SessionExited) payload()      {}
func (TurnStarted) payload()        {}
func (TurnCompleted) payload()      {}
func (Delta) payload()              {}
func (ItemStarted) payload()        {}
func (ItemUpdated) payload()        {}
func (ItemCompleted) payload()      {}
func (PlanUpdated) payload()        {}
func (RequestOpened) payload()      {}
func (RequestResolved) payload()    {}
func (UserInputRequested) payload() {}
func (UserInputResolved) payload()  {}
func (TaskStarted) payload()        {}
func (TaskProgress) payload()       {}
func (TaskCompleted) payload()      {}
func (TokenUsageUpdated) payload()  {}
func (RuntimeError) payload()       {}
func (ProcessExit) payload()        {}
func (ProcessStderr) payload()      {}
func (ProcessRaw) payload()         {}
func (Raw) payload()                {}

// FirstOptions are answers for whoever has no opinion: to each question its first option, and to one without options an empty text.
func FirstOptions(questions []Question) map[string]any {
	answers := map[string]any{}
	for _, q := range questions {
		answers[q.ID] = ""
		if len(q.Options) > 0 {
			answers[q.ID] = q.Options[0].Label
		}
	}
	return answers
}

// String is what is said of the agent, such as: the agent exited with code 1.
func (p ProcessExit) String() string {
	if p.Signal != "" {
		return "the agent was killed by " + p.Signal
	}
	return "the agent exited with code " + strconv.Itoa(p.Code)
}

var payloadTypes = map[string]func([]byte) (Payload, error){
	"session.started":            decode[SessionStarted],
	"session.exited":             decode[SessionExited],
	"turn.started":               decode[TurnStarted],
	"turn.completed":             decode[TurnCompleted],
	"content.delta":              decode[Delta],
	"item.started":               decode[ItemStarted],
	"item.updated":               decode[ItemUpdated],
	"item.completed":             decode[ItemCompleted],
	"turn.plan.updated":          decode[PlanUpdated],
	"request.opened":             decode[RequestOpened],
	"request.resolved":           decode[RequestResolved],
	"user-input.requested":       decode[UserInputRequested],
	"user-input.resolved":        decode[UserInputResolved],
	"task.started":               decode[TaskStarted],
	"task.progress":              decode[TaskProgress],
	"task.completed":             decode[TaskCompleted],
	"thread.token-usage.updated": decode[TokenUsageUpdated],
	"runtime.error":              decode[RuntimeError],
	"process.exit":               decode[ProcessExit],
	"process.stderr":             decode[ProcessStderr],
	"process.raw":                decode[ProcessRaw],
}

func decode[T Payload](data []byte) (Payload, error) {
	var v T
	err := json.Unmarshal(data, &v)
	return v, err
}

// envelope is the JSON form of an event.
type envelope struct {
	Type      string    `json:"type"`
	EventID   string    `json:"eventId"`
	Provider  string    `json:"provider"`
	ThreadID  string    `json:"threadId"`
	CreatedAt time.Time `json:"createdAt"`
	Seq       uint64    `json:"seq,omitempty"`
	TurnID    string    `json:"turnId,omitempty"`
	ItemID    string    `json:"itemId,omitempty"`
	RequestID string    `json:"requestId,omitempty"`

	ProviderRefs json.RawMessage `json:"providerRefs,omitempty"`
	Payload      any             `json:"payload"`
}

// MarshalJSON writes the event with the contract's field names. The eventId is made from thread and seq.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.Payload == nil {
		return nil, fmt.Errorf("event: no payload in event %d of thread %q", e.Seq, e.ThreadID)
	}
	w := envelope{
		Type: e.Payload.Type(), EventID: e.ThreadID + ":" + strconv.FormatUint(e.Seq, 10), Provider: e.Provider,
		ThreadID: e.ThreadID, CreatedAt: e.Time, Seq: e.Seq, TurnID: e.TurnID, ItemID: e.ItemID, RequestID: e.RequestID,
	}
	if r := e.Recorded; r != nil {
		w.ProviderRefs = r.ProviderRefs
		if r.Payload != nil {
			w.Payload = r.Payload
		}
	}
	if w.Payload == nil {
		w.Payload = body(e.Payload)
	}
	return timeline.JSON(w)
}

// body is what is encoded of a payload: the contract has empty lists and objects where Go has nil.
func body(p Payload) any {
	switch p := p.(type) {
	case Raw:
		if p.JSON == nil {
			return struct{}{}
		}
		return p.JSON
	case PlanUpdated:
		return PlanUpdated{notNil(p.Plan)}
	case UserInputRequested:
		p.Questions = notNil(slices.Clone(p.Questions))
		for i := range p.Questions {
			p.Questions[i].Options = notNil(p.Questions[i].Options)
		}
		return p
	case UserInputResolved:
		if p.Answers == nil {
			return UserInputResolved{map[string]any{}}
		}
	}
	return p
}

func notNil[S ~[]E, E any](s S) S {
	if s == nil {
		return S{}
	}
	return s
}

func nilIfEmpty[S ~[]E, E any](s S) S {
	if len(s) == 0 {
		return nil
	}
	return s
}

// UnmarshalJSON reads one event. A type that it does not know becomes a [Raw]; a known one with a wrong value is an error. What else a payload
// says is kept as [Recorded].
func (e *Event) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return errors.New(`event: want an object with a "type"`)
	}
	var payload json.RawMessage
	w := envelope{Payload: &payload}
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("event: %w", jsonerr.Plain(err))
	}
	if w.Type == "" {
		return errors.New(`event: no "type"`)
	}
	if payload == nil {
		return fmt.Errorf(`event: %s: no "payload"`, w.Type)
	}
	if payload[0] != '{' {
		return fmt.Errorf("event: %s: payload must be an object, is %.60s", w.Type, payload)
	}
	if y := w.CreatedAt.UTC().Year(); y < 0 || y > 9999 {
		return fmt.Errorf("event: %s: createdAt is in the year %d, which JSON has no form for", w.Type, y)
	}
	out := Event{Seq: w.Seq, Provider: w.Provider, ThreadID: w.ThreadID, TurnID: w.TurnID, ItemID: w.ItemID, RequestID: w.RequestID, Time: w.CreatedAt.UTC()}
	compact, err := timeline.JSON(payload)
	if err != nil {
		return fmt.Errorf("event: %s: %w", w.Type, err)
	}
	refs, err := timeline.JSON(w.ProviderRefs)
	if err != nil {
		return fmt.Errorf("event: %s: %w", w.Type, err)
	}
	rec := Recorded{ProviderRefs: refs}
	out.Payload = Raw{w.Type, compact}
	if known := payloadTypes[w.Type]; known != nil {
		if out.Payload, err = known(payload); err != nil {
			return fmt.Errorf("event: %s: %w", w.Type, jsonerr.Plain(err))
		}
		out.Payload = unencoded(out.Payload)
		if says, err := timeline.JSON(body(out.Payload)); err != nil || !same(says, compact) {
			rec.Payload = compact
		}
	}
	if rec.Payload != nil || rec.ProviderRefs != nil {
		out.Recorded = &rec
	}
	*e = out
	return nil
}

// unencoded is a payload as in an event that nobody encoded.
func unencoded(p Payload) Payload {
	switch p := p.(type) {
	case PlanUpdated:
		return PlanUpdated{nilIfEmpty(p.Plan)}
	case UserInputRequested:
		for i := range p.Questions {
			p.Questions[i].Options = nilIfEmpty(p.Questions[i].Options)
		}
		p.Questions = nilIfEmpty(p.Questions)
		return p
	case UserInputResolved:
		if len(p.Answers) == 0 {
			return UserInputResolved{}
		}
	}
	return p
}

// same says that two values of JSON say the same, whatever the order of their keys and the escapes in their texts.
func same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	value := func(text []byte) (v any) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber() // as they are written: 1.50 is not 1.5
		_ = d.Decode(&v)
		return v
	}
	return reflect.DeepEqual(value(a), value(b))
}

// UnmarshalJSON reads an item's payload. Data that is no canonical detail becomes the input of a [timeline.Unknown].
func (i *Item) UnmarshalJSON(data []byte) error {
	type bare Item
	w := struct {
		*bare
		Data json.RawMessage `json:"data"`
	}{bare: (*bare)(i)}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	if len(w.Data) == 0 || string(w.Data) == "null" {
		return nil
	}
	d, err := timeline.DecodeDetail(w.Data)
	if err != nil {
		in, err := timeline.JSON(w.Data)
		if err != nil {
			return err
		}
		d = timeline.Unknown{Input: in}
	}
	i.Data = d
	return nil
}
