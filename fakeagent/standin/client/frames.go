package client

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Frame is a frame of a stream: a [Start], a [TextDelta] or another one of the types here.
type Frame interface {
	Type() string // such as text-delta
}

// Kind is the type of a frame.
type Kind string

// Type is of [Frame].
func (k Kind) Type() string { return string(k) }

type (
	// Start begins a message.
	Start struct {
		Kind      `json:"type"`
		MessageID string `json:"messageId"` // that it gets in the history
	}
	// StepStart begins a step of it.
	StepStart struct {
		Kind `json:"type"`
	}
	// BlockStart begins a text or a reasoning.
	BlockStart struct {
		Kind `json:"type"`
		ID   string `json:"id"`
	}
	// ReasoningDelta is a piece of a reasoning.
	ReasoningDelta struct {
		Kind  `json:"type"`
		ID    string `json:"id"`
		Delta string `json:"delta"`
	}
	// TextDelta is a piece of a text.
	TextDelta struct {
		Kind  `json:"type"`
		ID    string `json:"id"`
		Delta string `json:"textDelta"`
	}
	// BlockEnd ends a text or a reasoning.
	BlockEnd struct {
		Kind `json:"type"`
		ID   string `json:"id"`
	}
	// ToolCallStart begins the call of a tool.
	ToolCallStart struct {
		Kind       `json:"type"`
		ID         string `json:"id"`
		ToolCallID string `json:"toolCallId"`
		ToolName   string `json:"toolName"`
	}
	// ToolCallDelta is a piece of the arguments of a call, which are JSON when they are put together.
	ToolCallDelta struct {
		Kind       `json:"type"`
		ToolCallID string `json:"toolCallId"`
		ArgsText   string `json:"argsText"`
	}
	// ToolCallEnd ends the arguments of a call.
	ToolCallEnd struct {
		Kind       `json:"type"`
		ToolCallID string `json:"toolCallId"`
	}
	// ToolResult is what came of a call.
	ToolResult struct {
		Kind       `json:"type"`
		ToolCallID string `json:"toolCallId"`
		Result     Result `json:"result"`
		IsError    bool   `json:"isError"`
	}
	// Sources is where an answer comes from.
	Sources struct {
		Kind `json:"type"`
		Data struct {
			Sources []Source `json:"sources"`
		} `json:"data"`
	}
	// Data is a frame for what the client shows in its own way. Its type begins with data-.
	Data struct {
		Kind `json:"type"`
		JSON json.RawMessage `json:"data"`
	}
	// StepFinish ends a step.
	StepFinish struct {
		Kind        `json:"type"`
		Reason      string `json:"finishReason"`
		Usage       Usage  `json:"usage"`
		IsContinued bool   `json:"isContinued"`
	}
	// Finish ends a message.
	Finish struct {
		Kind   `json:"type"`
		Reason string `json:"finishReason"`
		Usage  Usage  `json:"usage"`
	}
	// Failure is why there is no more of a message.
	Failure struct {
		Kind        `json:"type"`
		Text        string `json:"errorText"`
		Code        string `json:"error_code,omitempty"`
		Detail      string `json:"error_detail,omitempty"`
		ErrorSource string `json:"error_source,omitempty"`
		Source      string `json:"source,omitempty"`
		Status      int    `json:"status,omitempty"`
		AgentID     string `json:"agent_id,omitempty"`
	}
)

// Source is a page that an answer comes from.
type Source struct {
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

// Usage is how many tokens a step or a message has used.
type Usage struct {
	InputTokens  int `json:"inputTokens"`
	OutputTokens int `json:"outputTokens"`
}

// kinds are the frames by their types.
var kinds = map[string]reflect.Type{
	"start":           reflect.TypeFor[Start](),
	"start-step":      reflect.TypeFor[StepStart](),
	"reasoning-start": reflect.TypeFor[BlockStart](),
	"reasoning-delta": reflect.TypeFor[ReasoningDelta](),
	"reasoning-end":   reflect.TypeFor[BlockEnd](),
	"text-start":      reflect.TypeFor[BlockStart](),
	"text-delta":      reflect.TypeFor[TextDelta](),
	"text-end":        reflect.TypeFor[BlockEnd](),
	"tool-call-start": reflect.TypeFor[ToolCallStart](),
	"tool-call-delta": reflect.TypeFor[ToolCallDelta](),
	"tool-call-end":   reflect.TypeFor[ToolCallEnd](),
	"tool-result":     reflect.TypeFor[ToolResult](),
	"data-sources":    reflect.TypeFor[Sources](),
	"finish-step":     reflect.TypeFor[StepFinish](),
	"finish":          reflect.TypeFor[Finish](),
	"error":           reflect.TypeFor[Failure](),
}

// decodeFrame reads a frame, by its type.
func decodeFrame(route string, text []byte) (Frame, error) {
	var of struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return nil, &Mismatch{route, []string{fmt.Sprintf("the frame %.80q cannot be read: %s", text, err)}}
	}
	t := kinds[of.Type]
	if t == nil && strings.HasPrefix(of.Type, "data-") {
		t = reflect.TypeFor[Data]()
	}
	if t == nil {
		return nil, &Mismatch{route, []string{fmt.Sprintf("there is no frame of the type %q", of.Type)}}
	}
	into := reflect.New(t)
	if err := decode(route, of.Type, text, into.Interface()); err != nil {
		return nil, err
	}
	return into.Elem().Interface().(Frame), nil
}
