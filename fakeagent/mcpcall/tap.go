package mcpcall

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tap is a transport, and its connection, from which the results of tools can be had as they came over the wire. The SDK has them as Go
// values only, whose keys have lost their order and whose numbers are float64.
//
// The SDK tells its own connection over streamable HTTP which version of the protocol was agreed on, for the headers of later messages. It
// cannot tell a tap, so these are left to [web].
type tap struct {
	mcp.Connection
	transport mcp.Transport

	mu     sync.Mutex
	call   jsonrpc.ID // of the call that waits for its answer; those before it may still get one, which nobody wants any more
	result json.RawMessage
}

func (t *tap) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	t.Connection = c
	return t, nil
}

func (t *tap) Write(ctx context.Context, msg jsonrpc.Message) error {
	if r, ok := msg.(*jsonrpc.Request); ok && r.Method == "tools/call" {
		t.mu.Lock()
		t.call = r.ID
		t.mu.Unlock()
	} else if ok && !r.IsCall() {
		ctx = context.WithValue(ctx, notification{}, r.Method)
	}
	return t.Connection.Write(ctx, msg)
}

// notification is the key of the method that a notification has, while it is sent.
type notification struct{}

func (t *tap) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := t.Connection.Read(ctx)
	if r, ok := msg.(*jsonrpc.Response); ok {
		t.mu.Lock()
		if t.call.IsValid() && r.ID == t.call {
			t.call, t.result = jsonrpc.ID{}, r.Result // the SDK, too, takes no second answer
		}
		t.mu.Unlock()
	}
	return msg, err
}

// take is the result of the call that has just succeeded, for one time.
func (t *tap) take() json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	result := t.result
	t.result = nil
	return result
}

// tidy makes JSON, which the SDK has found to be valid, what canonical items have: without white space around its tokens, in UTF-8, and with
// <, > and & as they are, since servers in Go and others escape these for HTML. The rest stays as it is written. It works in place.
func tidy(raw []byte) []byte {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	kept, rest := raw[:0], 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case ' ', '\t', '\r', '\n':
			kept = append(kept, raw[rest:i]...)
			rest = i + 1
		case '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] != '\\' {
					continue
				}
				if c := unescaped(raw[i:]); c != "" {
					kept = append(append(kept, raw[rest:i]...), c...)
					rest = i + len(`\u003c`)
					i = rest - 1
				} else {
					i++ // it may be a backslash, which begins nothing
				}
			}
		}
	}
	if rest == 0 {
		return raw
	}
	return append(kept, raw[rest:]...)
}

// unescaped is the character that an escape stands for, if it is there for HTML.
func unescaped(escape []byte) string {
	if len(escape) < len(`\u003c`) {
		return ""
	}
	switch string(escape[:len(`\u003c`)]) {
	case `\u003c`, `\u003C`:
		return "<"
	case `\u003e`, `\u003E`:
		return ">"
	case `\u0026`:
		return "&"
	}
	return ""
}
