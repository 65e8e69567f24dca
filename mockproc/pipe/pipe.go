package pipe

import (
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// OSSize is how many bytes a pipe of Linux holds.
const OSSize = 64 << 10

// New makes a pipe. What is written to the one end is read from the other.
//
// The pipe holds size bytes, and a Write waits while it is full. If size is 0 or less there is no limit, and no Write ever waits.
// A pipe takes memory for what it holds, and gives it back when all of that has been read.
func New(size int) (*Reader, *Writer) {
	w := &Writer{Reader{pipe{size: size}}}
	w.r.p.changed.L = &w.r.p.mu
	return &w.r, w
}

// Reader is the end of a pipe that is read from. [New] makes it.
type Reader struct{ p pipe }

// Writer is the end of a pipe that is written to. [New] makes it.
type Writer struct {
	r Reader // so that both ends are one piece of memory
}

type pipe struct {
	size int // 0 or less is no limit

	mu      sync.Mutex
	changed sync.Cond // broadcast at each change that somebody may wait for
	held    ring
	writes  []uint64 // the numbers of the Writes that go on; it is the first one's turn
	last    uint64   // number of the latest Write
	ended   error    // the writer is closed: what Read returns when nothing is held any more
	broken  error    // the reader is closed: what Write returns
	readBy  deadline
	writeBy deadline
}

// Read waits until the pipe holds something, and returns the first of it, at least one byte. If b is empty it returns at once.
//
// When the writer is closed and everything has been read, it returns [io.EOF], or the error that the writer was closed with. When the reader
// itself is closed it returns [os.ErrClosed], and when its deadline has passed [os.ErrDeadlineExceeded], whatever the pipe holds.
func (r *Reader) Read(b []byte) (int, error) {
	p := &r.p
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.broken != nil:
			return 0, os.ErrClosed
		case p.readBy.passed:
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		case p.held.n > 0:
			p.changed.Broadcast()
			return p.held.take(b), nil
		case p.ended != nil:
			return 0, p.ended
		}
		p.changed.Wait()
	}
}

// Write writes all of b, and waits for room where it must. Bytes of several Writes are never mixed: one begins when those before it are
// done, in the order in which they were called. If b is empty it returns at once.
//
// When the reader is closed it returns [syscall.EPIPE], on every system, or the error that the reader was closed with. When the writer itself
// is closed it returns [os.ErrClosed], and when its deadline has passed [os.ErrDeadlineExceeded], even if there is room. A Write that has waited
// also tells how many of its bytes are in the pipe; these stay there.
func (w *Writer) Write(b []byte) (n int, err error) {
	p := &w.r.p
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	me := p.last
	p.writes = append(p.writes, me)
	defer func() { // what lets this one return has woken the others, who look when it is gone
		i := slices.Index(p.writes, me)
		p.writes = slices.Delete(p.writes, i, i+1)
	}()
	for {
		room := len(b)
		if p.size > 0 {
			room = min(room, p.size-p.held.n)
		}
		switch {
		case p.ended != nil:
			return n, os.ErrClosed
		case p.broken != nil:
			return n, p.broken
		case p.writeBy.passed:
			return n, os.ErrDeadlineExceeded
		case len(b) == 0:
			return n, nil
		case room > 0 && p.writes[0] == me:
			p.held.put(b[:room])
			n, b = n+room, b[room:]
			p.changed.Broadcast()
		default:
			p.changed.Wait()
		}
	}
}

// Close closes the reader. What the pipe still holds is lost, and all Writes, those that wait too, return [syscall.EPIPE]. It returns nil.
func (r *Reader) Close() error { return r.CloseWithError(nil) }

// CloseWithError is Close with another error for the Writes; nil is [syscall.EPIPE]. Only the first call of either has an effect.
func (r *Reader) CloseWithError(err error) error {
	if err == nil {
		err = syscall.EPIPE
	}
	p := &r.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken == nil {
		p.broken = err
		p.held = ring{}
		p.readBy.clear()
		p.changed.Broadcast()
	}
	return nil
}

// Close closes the writer. Reads return what the pipe still holds, and then [io.EOF]. A Write that waits returns [os.ErrClosed]. Close itself
// returns nil.
func (w *Writer) Close() error { return w.CloseWithError(nil) }

// CloseWithError is Close with another error for the Reads; nil is [io.EOF]. Only the first call of either has an effect.
func (w *Writer) CloseWithError(err error) error {
	if err == nil {
		err = io.EOF
	}
	p := &w.r.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		p.ended = err
		p.writeBy.clear()
		p.changed.Broadcast()
	}
	return nil
}

// SetReadDeadline makes Reads fail from t on, also those that wait then, until another deadline is set. The zero time is none.
// It returns [os.ErrClosed] if the reader is closed.
func (r *Reader) SetReadDeadline(t time.Time) error {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	return r.p.set(&r.p.readBy, t, r.p.broken)
}

// SetWriteDeadline makes Writes fail from t on, also those that wait then, until another deadline is set. The zero time is none.
// It returns [os.ErrClosed] if the writer is closed.
func (w *Writer) SetWriteDeadline(t time.Time) error {
	w.r.p.mu.Lock()
	defer w.r.p.mu.Unlock()
	return w.r.p.set(&w.r.p.writeBy, t, w.r.p.ended)
}

// deadline is that of one end. The lock of its pipe guards it.
type deadline struct {
	timer  *time.Timer
	passed bool
}

func (d *deadline) clear() {
	if d.timer != nil {
		d.timer.Stop()
	}
	*d = deadline{}
}

// set sets the deadline of an end that is closed if there is an error. p.mu is locked.
func (p *pipe) set(d *deadline, t time.Time, closed error) error {
	if closed != nil {
		return os.ErrClosed
	}
	d.clear()
	if t.IsZero() {
		return nil
	}
	left := time.Until(t)
	if left <= 0 {
		d.passed = true
		p.changed.Broadcast()
		return nil
	}
	var timer *time.Timer
	timer = time.AfterFunc(left, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if d.timer == timer { // or there is a newer deadline, and Stop came too late
			d.passed = true
			p.changed.Broadcast()
		}
	})
	d.timer = timer
	return nil
}
