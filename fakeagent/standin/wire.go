package standin

import (
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync"
)

// Wire is how the bytes of a stream are written, and what is wrong with them. The zero value is a stream as it should be.
type Wire struct {
	CutAtFrame int  `json:"cutAtFrame,omitempty"` // the stream ends before this frame, from 1, and without [DONE]; 0: it does not
	CutAtByte  int  `json:"cutAtByte,omitempty"`  // likewise behind so many bytes
	Reset      bool `json:"reset,omitempty"`      // where it is cut the connection breaks, rather than ends
	ChunkBytes int  `json:"chunkBytes,omitempty"` // each write has so many bytes, at most; 0: all that there is
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

// appendEvent appends an event of a stream.
func (w *Wire) appendEvent(b []byte, data []byte) []byte {
	from := len(b)
	if w.Comments {
		b = append(b, ": stand-in\n"...)
	}
	if w.Event {
		b = append(b, "event: message\n"...)
	}
	b = append(append(append(b, "data: "...), data...), "\n\n"...)
	if w.CRLF {
		b = append(b[:from], strings.ReplaceAll(string(b[from:]), "\n", "\r\n")...)
	}
	return b
}

// streamAhead is how many bytes a turn may be ahead of what was written to its client.
const streamAhead = 64 << 10

// stream is what a client reads. The turn leaves frames in it, and the goroutine of the request writes what there is: frames that come at once are
// written at once, and one that comes alone does not wait for another.
type stream struct {
	w    http.ResponseWriter
	wire Wire
	some chan struct{} // has a token when there is something to write
	done chan struct{} // closed when nothing more is left in it
	end  chan struct{} // closed when the client wants no more
	once sync.Once

	closing <-chan struct{} // closed when the server is about to be

	frames int // left so far; the turn alone looks

	mu      sync.Mutex
	pending []byte
	room    chan struct{} // closed when something was taken; nil: nobody waits for that
	bytes   int           // left so far
	cut     bool          // nothing more is left, by a fault
	broken  error         // the client has gone
}

func newStream(w http.ResponseWriter, wire Wire, closing <-chan struct{}) *stream {
	return &stream{w: w, wire: wire, closing: closing, some: make(chan struct{}, 1), done: make(chan struct{}), end: make(chan struct{})}
}

// stop says that the client wants no more.
func (s *stream) stop() { s.once.Do(func() { close(s.end) }) }

// write leaves a frame. It waits while the client is far behind.
func (s *stream) write(f Frame) {
	s.frames++
	for room := s.leave(f, false); room != nil; {
		select {
		case <-room:
			room = s.leave(f, false)
		case <-s.end:
			room = s.leave(f, true)
		}
	}
	select {
	case s.some <- struct{}{}:
	default: // there is a token already
	}
}

// finish leaves the end of the stream.
func (s *stream) finish() {
	if !s.wire.NoDone {
		s.leave([]byte("[DONE]"), true)
	}
}

// leave leaves an event, unless the client is far behind and it is not the last: then there may be room when a channel is closed.
func (s *stream) leave(data []byte, last bool) (room <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frames > 0 && s.frames == s.wire.CutAtFrame {
		s.cut = true
	}
	switch {
	case s.cut, s.broken != nil:
		return nil
	case len(s.pending) > streamAhead && !last:
		if s.room == nil {
			s.room = make(chan struct{})
		}
		return s.room
	}
	from := len(s.pending)
	s.pending = s.wire.appendEvent(s.pending, data)
	s.bytes += len(s.pending) - from
	if over := s.bytes - s.wire.CutAtByte; s.wire.CutAtByte > 0 && over >= 0 {
		s.pending, s.cut = s.pending[:len(s.pending)-over], true
	}
	return nil
}

// take is what there is to write, for which room is given back.
func (s *stream) take(room []byte) []byte {
	taken := s.pending
	s.pending = room
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
	return taken
}

// serve writes what is left in the stream, until nothing more is. It calls gone when the client has gone; an error is that something was not written,
// or not to be. The last of it is written when the request ends, together with what ends an answer.
func (s *stream) serve(leaves <-chan struct{}, gone func()) error {
	runtime.Gosched() // the turn has mostly something to say already, and need not be seen to have begun without
	client := leaves
	var taken []byte
	ends := func(err error) error { // or stays open
		if err == nil && s.wire.KeepOpen {
			select {
			case <-client:
			case <-s.end:
			case <-s.closing:
			}
		}
		return err
	}
	for over := false; ; {
		select {
		case <-s.done:
			over = true
		default:
		}
		s.mu.Lock()
		taken = s.take(taken[:0])
		err, cut := s.broken, s.cut
		s.mu.Unlock()
		torn := cut && s.wire.Reset
		if err == nil && len(taken) > 0 {
			err = s.put(taken)
		}
		if err == nil && (!over || cut || s.wire.KeepOpen) {
			err = s.flush()
		}
		switch {
		case err == nil && torn:
			return http.ErrAbortHandler
		case err == nil && cut: // whatever the turn still has to say
			return ends(nil)
		case over:
			return ends(err)
		case err != nil:
			s.mu.Lock()
			s.broken = err
			s.take(nil)
			s.mu.Unlock()
		}
		select {
		case <-s.some:
		case <-s.done:
		case <-leaves:
			leaves = nil
			gone()
		}
	}
}

// put writes bytes, in pieces if that is wanted.
func (s *stream) put(data []byte) error {
	for size := s.wire.ChunkBytes; size > 0 && len(data) > size; data = data[size:] {
		if _, err := s.w.Write(data[:size]); err != nil {
			return err
		}
		if err := s.flush(); err != nil {
			return err
		}
	}
	_, err := s.w.Write(data)
	return err
}

func (s *stream) flush() error {
	if err := http.NewResponseController(s.w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
