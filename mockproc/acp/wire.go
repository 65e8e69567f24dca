package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// Error is the error of an answer.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// Codes of an [Error].
const (
	InvalidRequest   = -32600
	MethodNotFound   = -32601
	InvalidParams    = -32602
	InternalError    = -32603
	RequestCancelled = -32800
	AuthRequired     = -32000
	ResourceNotFound = -32002
)

// message is one line of the protocol.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// hasID says that there is an id, which null is not.
func (m message) hasID() bool { return len(m.ID) > 0 && string(m.ID) != "null" }

// isRequest says that somebody waits for an answer; else a message with a method is a notification.
func (m message) isRequest() bool { return m.Method != "" && m.hasID() }

// failure is the error of an answer, or nil. One that is no error of JSON-RPC is one all the same: whoever waits for the answer gets no
// other.
func (m message) failure() *Error {
	if len(m.Error) == 0 || string(m.Error) == "null" {
		return nil
	}
	e := new(Error)
	if json.Unmarshal(m.Error, e) != nil {
		return &Error{Code: InternalError, Message: fmt.Sprintf("an error that is none of JSON-RPC: %.200s", m.Error)}
	}
	return e
}

// parse reads a line. note says why it is no message.
func parse(line []byte) (m message, note string) {
	if len(line) == 0 || line[0] != '{' {
		if json.Valid(line) {
			return m, "ignored: no object"
		}
		return m, "ignored: no JSON"
	}
	if err := json.Unmarshal(line, &m); err != nil {
		if json.Valid(line) {
			return message{}, "ignored: no message of JSON-RPC: " + plain(err)
		}
		return message{}, "ignored: no JSON"
	}
	if m.Method == "" && len(m.ID) == 0 {
		return message{}, "ignored: neither a method nor an id"
	}
	return m, ""
}

// plain says what is wrong with a JSON value in the words of JSON.
func plain(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	want := wrong.Type.String()
	switch wrong.Type.Kind().String() {
	case "struct", "map", "ptr":
		want = "an object"
	case "slice":
		want = "an array"
	case "int":
		want = "a whole number"
	case "string":
		want = "a string"
	case "bool":
		want = "true or false"
	}
	if wrong.Field == "" {
		return fmt.Sprintf("must be %s, is %s", want, wrong.Value)
	}
	return fmt.Sprintf("%s must be %s, is %s", wrong.Field, want, wrong.Value)
}

// longest is how long a line may be, with its end.
const longest = 64 << 20

// lines calls fn with each line that is not blank, without its end, until in ends. Of one that is too long it is the beginning. fn must not
// keep the line.
func lines(in io.Reader, buffer int, fn func(line []byte, tooLong bool)) error {
	r := bufio.NewReaderSize(in, buffer)
	var long []byte
	size := 0 // of a line so far, also of what is not kept
	for {
		part, err := r.ReadSlice('\n')
		if size += len(part); err == bufio.ErrBufferFull || long != nil {
			if size <= longest {
				long = append(long, part...)
			} else if len(long) > beginning {
				long = slices.Clone(long[:beginning]) // which gives back the rest
			}
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		line := part
		if long != nil {
			line = long
		}
		if line = bytes.TrimSpace(bytes.TrimPrefix(line, bom)); len(line) > 0 {
			fn(line, size > longest)
		}
		long, size = nil, 0
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// beginning is how much is kept of a line that is too long.
const beginning = 100

var bom = []byte("\uFEFF")

// frame is a message that is written by hand: most of what an agent sends is text, and a turn has hundreds of them.
type frame []byte

func (f frame) raw(s string) frame { return append(f, s...) }

func (f frame) str(s string) frame { return timeline.AppendText(f, s) }

// json is any value that has a JSON form.
func (f frame) json(v any) frame {
	b, err := timeline.JSON(v)
	if err != nil {
		return append(f, "null"...)
	}
	return append(f, b...)
}

// own is a value that makes its JSON itself, as we would.
func (f frame) own(v json.Marshaler) frame {
	b, err := v.MarshalJSON()
	if err != nil {
		return append(f, "null"...)
	}
	return append(f, b...)
}

// field is a member with a text, if there is one.
func (f frame) field(key, s string) frame {
	if s == "" {
		return f
	}
	return f.raw(`,"`).raw(key).raw(`":`).str(s)
}

func result(id json.RawMessage, value string) frame {
	return frame(`{"jsonrpc":"2.0","id":`).raw(string(id)).raw(`,"result":`).raw(value).raw(`}`)
}

func failure(id json.RawMessage, e *Error) frame {
	return frame(`{"jsonrpc":"2.0","id":`).raw(string(id)).raw(`,"error":`).json(e).raw(`}`)
}

// frames are those that were written, for the next ones.
var frames = sync.Pool{New: func() any { f := make(frame, 0, 1<<10); return &f }}

// update sends a session/update that says what. It is for the agent's side: a queue keeps what is written to it.
func (c *conn) update(session string, what func(frame) frame) {
	p := frames.Get().(*frame)
	f := (*p)[:0].raw(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`).str(session).raw(`,"update":`)
	f = what(f).raw(`}}`).raw("\n")
	c.write(f, "")
	if *p = f; cap(f) <= 64<<10 {
		frames.Put(p)
	}
}

func sentence(format string, args ...any) string {
	return strings.TrimSpace(fmt.Sprintf(format, args...))
}
