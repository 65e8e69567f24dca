package standin

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Wire is how the bytes of a stream are written, and what is wrong with them. The zero value is a stream as it should be.
type Wire struct {
	CutAtFrame int  `json:"cutAtFrame,omitempty"` // the stream ends before this frame, from 1, and without [DONE]; 0: it does not
	CutAtByte  int  `json:"cutAtByte,omitempty"`  // likewise behind so many bytes
	Reset      bool `json:"reset,omitempty"`      // where it is cut the connection breaks, rather than ends
	ChunkBytes int  `json:"chunkBytes,omitempty"` // each write has so many bytes, at most; 0: a frame
	CRLF       bool `json:"crlf,omitempty"`       // lines end in a carriage return and a line feed
	Comments   bool `json:"comments,omitempty"`   // a comment stands before each frame
	Event      bool `json:"event,omitempty"`      // each frame has a line "event: message"
	NoDone     bool `json:"noDone,omitempty"`     // [DONE] is left out
	KeepOpen   bool `json:"keepOpen,omitempty"`   // the connection stays open after the end, until the client goes
}

// Wire has the reply's streams written so.
func (r *Reply) Wire(w Wire) *Reply {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.wire = w
	return r
}

// stream is what a client reads.
type stream struct {
	w       io.Writer
	control *http.ResponseController
	wire    Wire
	done    chan struct{} // closed when nothing more is written
	end     chan struct{} // closed when the client wants no more
	once    sync.Once

	frames, bytes int  // written
	cut           bool // nothing more is written, by a fault
	broken        bool // the client has gone
}

func newStream(w http.ResponseWriter) *stream {
	return &stream{w: w, control: http.NewResponseController(w), done: make(chan struct{}), end: make(chan struct{})}
}

// stop says that the client wants no more.
func (s *stream) stop() { s.once.Do(func() { close(s.end) }) }

// write writes a frame.
func (s *stream) write(f Frame) {
	if s.frames++; s.frames == s.wire.CutAtFrame {
		s.cut = true
	}
	s.event(string(f))
}

// finish writes the end of a stream.
func (s *stream) finish() {
	if !s.wire.NoDone {
		s.event("[DONE]")
	}
}

// event writes an event of the stream.
func (s *stream) event(data string) {
	text := "data: " + data + "\n\n"
	if s.wire.Event {
		text = "event: message\n" + text
	}
	if s.wire.Comments {
		text = ": stand-in\n" + text
	}
	if s.wire.CRLF {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	size := s.wire.ChunkBytes
	if size <= 0 {
		size = len(text)
	}
	for ; text != "" && !s.cut && !s.broken; text = text[min(size, len(text)):] {
		s.put(text[:min(size, len(text))])
	}
}

// put writes bytes, up to where the stream is cut.
func (s *stream) put(text string) {
	if at := s.wire.CutAtByte; at > 0 && s.bytes+len(text) >= at {
		text, s.cut = text[:at-s.bytes], true
	}
	n, err := io.WriteString(s.w, text)
	s.bytes += n
	if err != nil {
		s.broken = true
		return
	}
	s.flush()
}

func (s *stream) flush() {
	if err := s.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.broken = true
	}
}
