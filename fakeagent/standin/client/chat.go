package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Readiness is whether a runtime serves.
type Readiness struct {
	Status   string `json:"status" only:"ready"`
	Protocol string `json:"protocol" only:"ui-message-stream"`
}

// Ready is whether a runtime serves.
func (c *Client) Ready(ctx context.Context, at RuntimeAccess) (r Readiness, err error) {
	_, err = c.ask(ctx, request{route: "GET /api/chat", at: &at}, &r)
	return r, err
}

// chatBody is what a message is sent with.
type chatBody struct {
	SessionUID string        `json:"runtime_session_uid"`
	ThreadID   string        `json:"threadId"`
	UserUID    string        `json:"user_uid"`
	Session    Session       `json:"session"`
	Messages   []chatMessage `json:"messages"`
}

type chatMessage struct {
	Role    string    `json:"role"`
	Content []Content `json:"content"`
}

const chatRoute = "POST /api/chat"

// Chat sends a message to a session, which answers by the model that its record here names. The stream must be read to its end, or closed; the context
// ends it, too.
func (c *Client) Chat(ctx context.Context, at RuntimeAccess, session Session, text string) (*Stream, error) {
	body := chatBody{session.UID, session.UID, session.UserUID, session, []chatMessage{{"user", []Content{{"text", text}}}}}
	res, err := c.send(ctx, request{route: chatRoute, at: &at, body: body})
	if err != nil {
		return nil, err
	}
	if err := mediaType(chatRoute, res, "text/event-stream"); err != nil {
		_ = res.Body.Close()
		return nil, err
	}
	return &Stream{body: res.Body, in: bufio.NewReader(res.Body)}, nil
}

// Stream is an answer that is read frame by frame.
type Stream struct {
	body  io.Closer
	in    *bufio.Reader
	frame Frame
	err   error
	over  bool
}

// Next reads the next frame. It is false where there is none any more: behind [DONE], or because of an error.
func (s *Stream) Next() bool {
	if s.over {
		return false
	}
	data, err := s.event()
	if err == nil && data != "[DONE]" {
		if s.frame, err = decodeFrame(chatRoute, []byte(data)); err == nil {
			return true
		}
	}
	s.over, s.frame = true, nil
	if err != nil {
		s.err = err
	}
	_ = s.body.Close() // which says to a server that it need not go on
	return false
}

// Frame is the frame that [Stream.Next] has read.
func (s *Stream) Frame() Frame { return s.frame }

// Err is why the stream has ended; nil: it is not over, or it ended with [DONE]. One that was cut is [io.ErrUnexpectedEOF].
func (s *Stream) Err() error { return s.err }

// Close ends the stream, which stops the turn if it runs. It need not be called behind the end.
func (s *Stream) Close() error {
	s.over = true
	return s.body.Close()
}

// ReadAll reads the frames that are left, and closes the stream.
func (s *Stream) ReadAll() (all []Frame, err error) {
	for s.Next() {
		all = append(all, s.Frame())
	}
	return all, s.Err()
}

// event reads the data of the next event.
func (s *Stream) event() (string, error) {
	var data []string
	for {
		line, err := s.in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the stream ends without [DONE]: %w", io.ErrUnexpectedEOF)
		}
		if err != nil {
			return "", fmt.Errorf("client: %s: %w", chatRoute, err)
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && data != nil:
			return strings.Join(data, "\n"), nil
		case line == "", name == "", name == "id", name == "retry", name == "event" && value == "message":
		case name == "data":
			data = append(data, value)
		default:
			return "", &Mismatch{chatRoute, []string{fmt.Sprintf("a line of the stream is %.80q", line)}}
		}
	}
}

// cancelPatience is how long [Client.Cancel] waits: who cancels does not want to wait for what hangs.
const cancelPatience = 10 * time.Second

// Cancellation is which turn is stopped, and why.
type Cancellation struct {
	SessionUID string `json:"runtime_session_uid"`
	ThreadID   string `json:"thread_id,omitempty"`
	UserUID    string `json:"user_uid,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Message    string `json:"message,omitempty"`
}

// Canceled is what came of a [Cancellation].
type Canceled struct {
	SessionUID string `json:"runtime_session_uid"`
	Status     string `json:"status" only:"cancelled idle"` // idle: there was no turn
}

// Cancel stops the turn of a session. It waits for 10 seconds at most.
func (c *Client) Cancel(ctx context.Context, at RuntimeAccess, what Cancellation) (was Canceled, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cancelPatience, fmt.Errorf("nothing came for %s: %w", cancelPatience, context.DeadlineExceeded))
	defer cancel()
	_, err = c.ask(ctx, request{route: chatRoute + "/session/cancel", at: &at, body: what}, &was)
	return was, err
}
