package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
)

const chatPath = "/api/chat"

// chatRoutes are the runtime's.
func chatRoutes() []route {
	return []route{
		AgentRuntime.on("GET", chatPath, (*call).ready),
		AgentRuntime.on("POST", chatPath, (*call).chat),
		AgentRuntime.on("POST", chatPath+"/session/cancel", (*call).cancel),
	}
}

// table are all routes.
func (s *Server) table() []route {
	if s.profile == ProfileLocal {
		return localRoutes()
	}
	return slices.Concat(sessionRoutes(), agentRoutes(), providerRoutes(), customProviderRoutes(), chatRoutes())
}

// Status is how far a turn is.
type Status string

const (
	Streaming Status = "streaming"
	Held      Status = "held" // at a gate, or until the client has answered what it is asked
	Completed Status = "completed"
	Failed    Status = "failed"
	Stopped   Status = "stopped"
)

// Turn is a turn of a chat.
type Turn struct {
	Number     int // over all sessions, from 1
	SessionUID string
	Nth        int    // of its session, from 1
	Text       string // of the message
	Body       any    // of the request
	Status     Status
	Frames     []Frame  // that were streamed so far
	Abort      *Abort   // nil: nobody has stopped it
	Notes      []string // what the agent did that the client was not told
}

// Abort is how a turn was stopped.
type Abort struct {
	By      string // socket, cancel, delete or close
	AtFrame int    // how many frames had been streamed
}

const (
	stoppedBySocket = "socket"
	stoppedByCancel = "cancel"
	stoppedByDelete = "delete"
)

// turn is a turn that is kept.
type turn struct {
	s               *Server
	session         *session
	number, nth     int
	text            string
	body            *rawBody
	provider, model string
	pieces          *pieces
	out             *stream
	reply           reply
	timer           *time.Timer   // of the frames, one after the other; nil: there was none yet
	settled         chan struct{} // closed when its end was told, too
	ended           chan struct{} // closed when the last byte of a response was written

	// With the server locked:
	status   Status // Streaming until all is settled, though the last frames may still be written then
	frames   []Frame
	parts    []Part
	began    string
	abort    *Abort
	failed   string // why, of one that has
	question string // the request for an approval that it waits for, behind a response that is over; "": it does not
	notes    []string
}

// over is whether all is settled. s.mu is locked.
func (t *turn) over() bool { return t.status != Streaming }

// shown is the status of a turn from outside. s.mu is locked.
func (t *turn) shown() Status {
	if !t.over() && (t.question != "" || t.s.agent.HeldAt(t.session.UID) != "") {
		return Held
	}
	return t.status
}

// public is what a turn looks like from outside. s.mu is locked.
func (t *turn) public() Turn {
	return Turn{t.number, t.session.UID, t.nth, t.text, t.body.value(), t.shown(), slices.Clone(t.frames), t.abort, slices.Clone(t.notes)}
}

// Turns are all turns, in the order in which they began.
func (s *Server) Turns() []Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Turn, len(s.turns))
	for i, t := range s.turns {
		all[i] = t.public()
	}
	return all
}

// AwaitTurn waits until a turn has a status, such as [Completed]. It is an error at once if it cannot have it any more. n is its number, from 1. A turn
// that is held at a gate of its script's own is waited for by [Server.Gate].
func (s *Server) AwaitTurn(ctx context.Context, n int, status Status) (Turn, error) {
	var got Turn
	over := false
	if n < 1 {
		return got, fmt.Errorf("standin: there is no turn %d; they are counted from 1", n)
	}
	if status == Held {
		return s.awaitHeld(ctx, n)
	}
	err := s.await(ctx, func() string { return fmt.Sprintf("turn %d is not %s, but %q", n, status, got.Status) }, func() bool {
		if n > len(s.turns) {
			return false
		}
		got, over = s.turns[n-1].public(), s.turns[n-1].over()
		return over || got.Status == status
	})
	if err == nil && got.Status != status {
		err = fmt.Errorf("standin: turn %d is %s, and so never %s", n, got.Status, status)
	}
	return got, err
}

func (c *call) ready() error {
	c.json(http.StatusOK, map[string]any{"status": "ready", "protocol": "ui-message-stream"})
	return nil
}

// chatRequest is what a client sends.
type chatRequest struct {
	Messages       chatMessages `json:"messages"`
	RuntimeSession string       `json:"runtime_session_uid"`
	Session        struct {
		UID      string `json:"uid"`
		Provider string `json:"llm_provider"`
		Model    string `json:"llm_model"`
	} `json:"session"`
}

// chatMessages are the messages of a client.
type chatMessages []struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Parts   json.RawMessage `json:"parts"`
}

// text is that of the newest message of the user.
func (messages chatMessages) text() string {
	for _, m := range slices.Backward(messages) {
		if m.Role != "user" {
			continue
		}
		for _, raw := range []json.RawMessage{m.Parts, m.Content} {
			if len(raw) == 0 {
				continue
			}
			var text string
			var parts []struct{ Type, Text string }
			if raw[0] == '"' && json.Unmarshal(raw, &text) == nil && text != "" {
				return text
			}
			if raw[0] == '[' && json.Unmarshal(raw, &parts) == nil {
				var all []string
				for _, p := range parts {
					if p.Type == "text" {
						all = append(all, p.Text)
					}
				}
				if text = strings.Join(all, "\n"); text != "" {
					return text
				}
			}
		}
		return ""
	}
	return ""
}

func (c *call) chat() error {
	var in chatRequest
	if err := c.decode(&in); err != nil {
		return err
	}
	if t, question, d := c.answered(in.RuntimeSession, in.Messages); t != nil {
		return c.goOn(t, question, d)
	}
	t, err := c.beginTurn(&in)
	if err != nil {
		return err
	}
	return c.stream(t, func(ctx context.Context) error { return c.play(ctx, t) })
}

// stream has a turn played, and answers with its stream.
func (c *call) stream(t *turn, play func(context.Context) error) error {
	maps.Copy(c.w.Header(), dialects[t.reply.dialect].header)
	c.w.WriteHeader(http.StatusOK)
	out := t.out
	defer close(t.ended)
	if err := play(context.Background()); err != nil { // in a context of its own: what ends a turn is an interrupt
		t.settle(event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: err.Error()})
	}
	if err := out.serve(c.r.Context().Done(), func() { t.stop(stoppedBySocket) }); err != nil {
		panic(http.ErrAbortHandler) // which breaks the connection
	}
	return nil
}

// play has the agent play a turn, in the thread of its session.
func (c *call) play(ctx context.Context, t *turn) error {
	uid := t.session.UID
	if t.nth == 1 {
		if err := c.agent.StartSession(ctx, fakeagent.SessionConfig{ThreadID: uid}); err != nil {
			return err
		}
	}
	if _, err := c.agent.SendTurn(ctx, fakeagent.TurnInput{ThreadID: uid, Text: t.text}); err != nil {
		return err
	}
	c.mu.Lock()
	stopped := t.abort != nil
	c.mu.Unlock()
	if stopped { // before there was anything to interrupt
		_ = c.agent.InterruptTurn(ctx, uid, "")
	}
	return nil
}

// beginTurn makes the turn that a request asks for.
func (c *call) beginTurn(in *chatRequest) (*turn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one, text := c.session(in.RuntimeSession), in.Messages.text()
	switch {
	case c.closed:
		return nil, refuse(http.StatusServiceUnavailable, "The server is closing.")
	case one == nil:
		return nil, refuse(http.StatusNotFound, "There is no such session.")
	case in.Session.UID != one.UID:
		return nil, refuse(http.StatusBadRequest, "session.uid is not runtime_session_uid.")
	case text == "":
		return nil, refuse(http.StatusBadRequest, "The newest message of the user has no text.")
	case c.running(one.UID) != nil:
		return nil, refuse(http.StatusConflict, "The session is answering already.")
	}
	return c.begin(one, text, in.Session.Provider, in.Session.Model), nil
}

// begin makes a turn. From then on its session has its message. s.mu is locked.
func (c *call) begin(one *session, text, provider, model string) *turn {
	one.turns++
	t := &turn{s: c.Server, session: one, number: len(c.turns) + 1, nth: one.turns, text: text, body: c.request.raw, provider: provider, model: model,
		settled: make(chan struct{}), ended: make(chan struct{}), status: Streaming, frames: make([]Frame, 0, 8), began: timeText(time.Now())}
	one.Transcript = append(one.Transcript, one.message("user", t.began, []Part{{Type: "text", Text: text}}))
	one.messages++ // of the answer
	t.pieces = newPieces(fmt.Sprintf("message-%d", one.messages), t.number, text)
	t.reply = c.pick(t)
	t.out = newStream(c.w, t.reply.wire, c.closing)
	one.Status = working
	one.touch()
	c.turns = append(c.turns, t)
	c.current[one.UID] = t
	c.notify()
	return t
}

// message is the next message of a session.
func (s *session) message(role, at string, content []Part) Message {
	s.messages++
	return Message{fmt.Sprintf("message-%d", s.messages), role, at, content, Provenance{"agent-session", s.AgentUID}}
}

// message is what there is of the answer of a turn that runs. s.mu is locked.
func (t *turn) message() *Message {
	return &Message{t.pieces.messageID, "assistant", t.began, append([]Part{}, t.parts...), Provenance{"agent-session", t.session.AgentUID}}
}

// hear streams what comes of an event. It is called by the turn itself, which waits for it.
func (t *turn) hear(e event.Event) {
	if end, over := e.Payload.(event.TurnCompleted); over {
		t.settle(end)
		return
	}
	pieces, told := t.pieces.of(e)
	for _, p := range pieces {
		t.write(p)
	}
	if !told {
		t.respond(e)
	}
}

// respond answers what the agent asks, which a client of this dialect cannot: an approval is canceled, a question has no answers.
func (t *turn) respond(e event.Event) {
	ctx := context.Background()
	var err error
	switch p := e.Payload.(type) {
	case event.RequestOpened:
		if t.asks(e) {
			return
		}
		err = t.s.agent.RespondToRequest(ctx, e.ThreadID, e.RequestID, fakeagent.Cancel)
	case event.UserInputRequested:
		if p.ResponseMode != "message" {
			err = t.s.agent.RespondToUserInput(ctx, e.ThreadID, e.RequestID, map[string]any{})
		}
	default:
		t.note(e.Payload.Type() + " has no frame in this dialect")
		return
	}
	note := e.Payload.Type() + " was answered at once, since the client has no form for it"
	if err != nil {
		note = e.Payload.Type() + " could not be answered: " + err.Error()
	}
	t.note(note)
}

func (t *turn) note(text string) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.notes = append(t.notes, text)
}

// write streams a piece, unless the turn was stopped.
func (t *turn) write(p piece) {
	text := t.frame(p)
	if text == nil {
		return
	}
	if !t.pause() {
		return
	}
	t.s.mu.RLock()
	if t.abort != nil {
		t.s.mu.RUnlock()
		return
	}
	if n := len(t.frames); n == cap(t.frames) {
		t.frames = slices.Grow(t.frames, 2*n)
	}
	t.frames = append(t.frames, text)
	t.parts = appendPart(t.parts, p)
	t.s.mu.RUnlock()
	t.out.write(text)
}

// pause waits before a frame; false: the client wants none any more.
func (t *turn) pause() bool {
	d := t.s.frameDelay
	if d <= 0 {
		return true
	}
	if t.timer == nil {
		t.timer = time.NewTimer(d)
	} else {
		t.timer.Reset(d)
	}
	select {
	case <-t.timer.C:
		return true
	case <-t.out.end:
		t.timer.Stop()
		return false
	}
}

// frame is a piece in the dialect of the turn; nil: it has none for that.
func (t *turn) frame(p piece) Frame { return dialects[t.reply.dialect].frame(p) }

// settle ends the turn: all that can be asked for says so before the client reads the last bytes.
func (t *turn) settle(end event.TurnCompleted) {
	defer close(t.settled)
	last := t.pieces.end(end)
	if n := len(last); n > 0 {
		for _, p := range last[:n-1] {
			t.write(p)
		}
		last = last[n-1:]
		t.pause() // before the end, and not between that and who asks for it
	}
	t.s.mu.Lock()
	delete(t.s.current, t.session.UID)
	switch {
	case end.State == event.TurnEndFailed && t.abort == nil:
		t.status, t.failed = Failed, end.Ending().Message
	case end.State == event.TurnEndCompleted && t.abort == nil:
		t.status = Completed
	default:
		t.status, last = Stopped, nil
	}
	from := len(t.frames)
	for _, p := range last {
		p.why = t.reply.failure
		if f := t.frame(p); f != nil {
			t.frames = append(t.frames, f)
		}
	}
	texts := t.frames[from:]
	one := t.session
	if t.status != Failed && len(t.parts) > 0 {
		one.Transcript = append(one.Transcript, *t.message())
	}
	one.Status = idle
	one.touch()
	bySocket, waited := t.abort != nil && t.abort.By == stoppedBySocket, t.question != ""
	t.s.notify()
	t.s.mu.Unlock()
	if waited { // then nobody reads a stream
		return
	}
	for _, text := range texts {
		t.out.write(text)
	}
	if !bySocket {
		t.out.finish()
	}
	close(t.out.done)
}

// stop stops the turn, if it runs.
func (t *turn) stop(by string) {
	t.s.mu.Lock()
	over := t.over()
	if !over && t.abort == nil {
		t.abort = &Abort{by, len(t.frames)}
		t.out.stop()
	}
	t.s.mu.Unlock()
	if !over {
		_ = t.s.agent.InterruptTurn(context.Background(), t.session.UID, "")
	}
}

func (c *call) cancel() error {
	var in struct {
		Session string `json:"runtime_session_uid"`
	}
	if err := c.decode(&in); err != nil {
		return err
	}
	c.mu.Lock()
	one := c.session(in.Session)
	var t *turn
	if one != nil {
		t = c.running(one.UID)
	}
	c.mu.Unlock()
	status := idle
	switch {
	case one == nil:
		return refuse(http.StatusNotFound, "There is no such session.")
	case t != nil:
		t.stop(stoppedByCancel)
		<-t.settled
		status = "cancelled"
	}
	c.json(http.StatusOK, map[string]any{"runtime_session_uid": in.Session, "status": status})
	return nil
}
