package pipe

import (
	"context"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Conn is one end of a connection, which is a pipe in each direction. Its errors, but for [io.EOF], are inside of a [*net.OpError].
type Conn struct {
	r *Reader
	w *Writer
}

var _ net.Conn = (*Conn)(nil)

// Duplex makes a connection and returns its two ends. Each direction holds size bytes, as with [New].
func Duplex(size int) (a, b *Conn) {
	ra, wb := New(size)
	rb, wa := New(size)
	return &Conn{ra, wa}, &Conn{rb, wb}
}

// Read is as [Reader.Read], but the error is [net.ErrClosed] when this end is closed.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	return n, opError("read", err)
}

// Write is as [Writer.Write], but the error is [net.ErrClosed] when this end is closed.
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	return n, opError("write", err)
}

// Close closes both directions. The other end reads what was written before, and then [io.EOF]; its Writes return [syscall.EPIPE].
// Close itself returns nil.
func (c *Conn) Close() error {
	_ = c.w.Close()
	return c.r.Close()
}

// CloseWrite says that this end has written everything. The other end reads all of it, and then [io.EOF]. This end can still read.
// It returns nil.
func (c *Conn) CloseWrite() error { return c.w.Close() }

// LocalAddr is an address whose network and text are both "pipe", as is RemoteAddr.
func (c *Conn) LocalAddr() net.Addr { return addr{} }

// RemoteAddr is as LocalAddr.
func (c *Conn) RemoteAddr() net.Addr { return addr{} }

// SetDeadline is SetReadDeadline and SetWriteDeadline together.
func (c *Conn) SetDeadline(t time.Time) error {
	_ = c.w.SetWriteDeadline(t) // which is no error after CloseWrite
	return c.SetReadDeadline(t)
}

// SetReadDeadline is as [Reader.SetReadDeadline], but the error is [net.ErrClosed].
func (c *Conn) SetReadDeadline(t time.Time) error { return opError("set", c.r.SetReadDeadline(t)) }

// SetWriteDeadline is as [Writer.SetWriteDeadline], but the error is [net.ErrClosed].
func (c *Conn) SetWriteDeadline(t time.Time) error { return opError("set", c.w.SetWriteDeadline(t)) }

// Listener gets connections that are dialed with its own methods.
type Listener struct {
	size int

	mu      sync.Mutex
	changed sync.Cond
	closed  bool
	backlog []*Conn // dialed, and not accepted yet
}

var _ net.Listener = (*Listener)(nil)

// Listen makes a listener. Each direction of its connections holds size bytes, as with [New].
func Listen(size int) *Listener {
	l := &Listener{size: size}
	l.changed.L = &l.mu
	return l
}

// Accept waits for the next connection, in the order in which they were dialed. When the listener is closed it returns [net.ErrClosed].
func (l *Listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		switch {
		case l.closed:
			return nil, opError("accept", net.ErrClosed)
		case len(l.backlog) > 0:
			c := l.backlog[0]
			l.backlog = slices.Delete(l.backlog, 0, 1)
			return c, nil
		}
		l.changed.Wait()
	}
}

// DialContext makes a connection to the listener. It has the signature that [net/http.Transport] wants; what network and address are
// does not matter.
//
// As with a kernel it does not wait for Accept: the connection can be written to at once. There is no limit to how many are waiting.
// The error is [syscall.ECONNREFUSED] when the listener is closed, and the context's if that is over.
func (l *Listener) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, opError("dial", err)
	}
	client, server := Duplex(l.size)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, opError("dial", syscall.ECONNREFUSED)
	}
	l.backlog = append(l.backlog, server)
	l.changed.Signal()
	return client, nil
}

// Dial is DialContext where nothing can be chosen.
func (l *Listener) Dial() (net.Conn, error) { return l.DialContext(context.Background(), "", "") }

// Close closes the listener. Connections that nobody has accepted fail with [syscall.ECONNRESET]; others go on. It returns nil.
func (l *Listener) Close() error {
	l.mu.Lock()
	l.closed = true // nobody touches the backlog any more
	l.changed.Broadcast()
	l.mu.Unlock()
	for _, c := range l.backlog {
		_ = c.w.CloseWithError(syscall.ECONNRESET)
		_ = c.r.CloseWithError(syscall.ECONNRESET)
	}
	return nil
}

// Addr is as [Conn.LocalAddr]. So http://pipe/ is a URL of a server that listens here.
func (l *Listener) Addr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "pipe" }
func (addr) String() string  { return "pipe" }

func opError(op string, err error) error {
	switch err {
	case nil, io.EOF:
		return err
	case os.ErrClosed:
		err = net.ErrClosed
	}
	return &net.OpError{Op: op, Net: "pipe", Err: err}
}
