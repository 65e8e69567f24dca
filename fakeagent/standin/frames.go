package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Frame is a frame of a stream, as its JSON says. Its members are in the order in which they were written.
type Frame = json.RawMessage

// Dialect is how a reply is written in frames.
type Dialect string

const (
	PlatformDialect Dialect = "platform" // that of the platform's own chat
	AISDK5          Dialect = "aisdk5"   // the UI message stream of the AI SDK, version 5
	AISDK6          Dialect = "aisdk6"
	AISDK7          Dialect = "aisdk7"
)

// dialect is what a dialect has of its own.
type dialect struct {
	header http.Header
	frame  func(piece) Frame // nil: it has none for that
}

var dialects = func() map[Dialect]dialect {
	sdk := dialect{http.Header{
		"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache"}, "Connection": {"keep-alive"},
		"X-Vercel-Ai-Ui-Message-Stream": {"v1"}, "X-Accel-Buffering": {"no"},
	}, sdkFrame}
	return map[Dialect]dialect{
		PlatformDialect: {http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}, "Cache-Control": {"no-cache"}}, platformFrame},
		AISDK5:          sdk, AISDK6: sdk, AISDK7: sdk,
	}
}()

func (d Dialect) check() error {
	if _, ok := dialects[d]; !ok {
		return fmt.Errorf("standin: there is no dialect %q; use %s, %s, %s or %s", d, PlatformDialect, AISDK5, AISDK6, AISDK7)
	}
	return nil
}

// WithDialect is how replies are written; [PlatformDialect] by default.
func WithDialect(d Dialect) Option { return func(o *options) { o.dialect = d } }

func platformFrame(p piece) Frame {
	switch p.kind {
	case begins:
		return frame("start", "messageId", p.id)
	case stepBegins:
		return frame("start-step")
	case blockBegins:
		return frame(p.name+"-start", "id", p.id)
	case blockGoesOn:
		if p.name == "text" {
			return frame("text-delta", "id", p.id, "textDelta", p.text)
		}
		return frame("reasoning-delta", "id", p.id, "delta", p.text)
	case blockEnds:
		return frame(p.name+"-end", "id", p.id)
	case callBegins:
		return frame("tool-call-start", "id", p.id, "toolCallId", p.id, "toolName", p.name)
	case callGoesOn:
		return frame("tool-call-delta", "toolCallId", p.id, "argsText", p.text)
	case callEnds:
		return frame("tool-call-end", "toolCallId", p.id)
	case resultOf:
		return frame("tool-result", "toolCallId", p.id, "result", p.content(), "isError", p.failed)
	case dataPart:
		return frame("data-"+p.name, "data", p.json)
	case stepEnds:
		return frame("finish-step", "finishReason", p.name, "usage", p.usage, "isContinued", false)
	case ends:
		return frame("finish", "finishReason", p.name, "usage", p.usage)
	case fails:
		return failureFrame(p)
	}
	return nil
}

// failureFrame has what there is to tell.
func failureFrame(p piece) Frame {
	rest := []any{"errorText", p.text}
	for _, more := range [][2]string{{"error_code", p.why.Code}, {"error_detail", p.why.Detail}, {"source", p.why.Source}, {"agent_id", p.why.AgentID}} {
		if more[1] != "" {
			rest = append(rest, more[0], more[1])
		}
	}
	if p.why.Status != 0 {
		rest = append(rest, "status", p.why.Status)
	}
	return frame("error", rest...)
}

func sdkFrame(p piece) Frame {
	switch p.kind {
	case begins, stepBegins, blockBegins, blockEnds, dataPart, fails:
		return platformFrame(p)
	case blockGoesOn:
		return frame(p.name+"-delta", "id", p.id, "delta", p.text)
	case callBegins:
		return frame("tool-input-start", "toolCallId", p.id, "toolName", p.name)
	case callGoesOn:
		return frame("tool-input-delta", "toolCallId", p.id, "inputTextDelta", p.text)
	case callEnds:
		return frame("tool-input-available", "toolCallId", p.id, "toolName", p.name, "input", json.RawMessage(p.text))
	case resultOf:
		if p.failed {
			return frame("tool-output-error", "toolCallId", p.id, "errorText", p.text)
		}
		output := p.json
		if output == nil {
			output = json.RawMessage("null")
		}
		return frame("tool-output-available", "toolCallId", p.id, "output", output)
	case asks:
		return frame("tool-approval-request", "approvalId", p.name, "toolCallId", p.id)
	case stepEnds:
		return frame("finish-step")
	case ends:
		return frame("finish", "finishReason", p.name)
	}
	return nil
}

// frame is a frame of a type, with names and values in turn. It is kept, so it has the room that it mostly needs.
func frame(kind string, rest ...any) Frame {
	size := len(`{"type":""}`) + len(kind)
	for _, v := range rest {
		if text, ok := v.(string); ok {
			size += len(text) + len(`"",`) // a name and its value have a comma and a colon
		}
	}
	b := append(make([]byte, 0, size), `{"type":`...)
	b = appendJSON(b, kind)
	for i := 0; i < len(rest); i += 2 {
		b = append(b, ',')
		b = appendJSON(b, rest[i])
		b = append(b, ':')
		b = appendJSON(b, rest[i+1])
	}
	return append(b, '}')
}

// appendJSON appends a text, a number, or JSON that is valid. Most of what is in a frame is a text with nothing to escape.
func appendJSON(b []byte, v any) []byte {
	if text, ok := v.(string); ok && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return append(append(append(b, '"'), text...), '"')
	}
	if v, ok := v.(bool); ok {
		return strconv.AppendBool(b, v)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}
