package acp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
)

// conn is what both sides of a connection do: they write lines one at a time, ask, and wait for answers.
type conn struct {
	side Side // whose end this is
	out  io.Writer
	log  *Log
	slot chan struct{} // who has it writes; not a mutex, since whoever waits for a full pipe would stop the clock of a bubble

	life context.Context // nothing is written any more when it ends; of two contexts that are made from it either may be the first to know
	ctx  context.Context // ends with it, or when the connection is closed
	stop context.CancelFunc

	mu    sync.Mutex
	shut  bool
	next  int // id of the next request
	calls map[int]func(json.RawMessage, *Error)
}

func newConn(ctx context.Context, side Side, out io.Writer, log *Log, firstID int) *conn {
	c := &conn{side: side, out: out, log: log, slot: make(chan struct{}, 1), next: firstID, calls: map[int]func(json.RawMessage, *Error){}}
	c.life = ctx
	c.ctx, c.stop = context.WithCancel(ctx)
	return c
}

var errGone = &Error{Code: InternalError, Message: "the connection is closed"}

// send writes a line.
func (c *conn) send(f frame) { c.write(append(f, '\n'), "") }

// write writes bytes, in one call. note is for bytes that are no message.
func (c *conn) write(b []byte, note string) {
	select {
	case c.slot <- struct{}{}:
		defer func() { <-c.slot }()
	case <-c.ctx.Done(): // who writes may do so for ever
		return
	}
	if c.life.Err() != nil || c.ctx.Err() != nil {
		return
	}
	c.log.add(c.side, b, note) // before, since the answer may come before Write returns
	_, _ = c.out.Write(b)      // of a closed pipe the reader will tell
}

// close answers what was asked, and has nothing written any more.
func (c *conn) close() {
	c.stop()
	c.mu.Lock()
	c.shut = true
	calls := c.calls
	c.calls = nil
	c.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		calls[id](nil, errGone)
	}
}

// ask sends a request. answer is called once, by the goroutine that reads, or with errGone by another one; params is an object.
func (c *conn) ask(method string, params frame, answer func(json.RawMessage, *Error)) (id int) {
	id = c.number(answer)
	c.post(id, method, params)
	return id
}

// number is the id of a request that is about to be posted.
func (c *conn) number(answer func(json.RawMessage, *Error)) (id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id = c.next
	c.next++
	if c.shut {
		go answer(nil, errGone)
		return id
	}
	c.calls[id] = answer
	return id
}

func (c *conn) post(id int, method string, params frame) {
	f := make(frame, 0, len(params)+80).raw(`{"jsonrpc":"2.0","id":`).raw(strconv.Itoa(id)).raw(`,"method":`).str(method)
	c.send(f.raw(`,"params":`).raw(string(params)).raw(`}`))
}

func (c *conn) notify(method string, params frame) {
	c.send(frame(`{"jsonrpc":"2.0","method":`).str(method).raw(`,"params":`).raw(string(params)).raw(`}`))
}

// call is ask that waits. When ctx ends it takes the request back; what is answered all the same goes to late, if there is one, nil for an
// error.
func (c *conn) call(ctx context.Context, method string, params frame, late func(json.RawMessage)) (json.RawMessage, error) {
	type reply struct {
		result json.RawMessage
		err    *Error
	}
	answered := make(chan reply, 1)
	var mu sync.Mutex // of gaveUp, and of what is sent on answered
	gaveUp := false
	id := c.ask(method, params, func(r json.RawMessage, e *Error) {
		mu.Lock()
		defer mu.Unlock()
		if !gaveUp {
			answered <- reply{r, e}
		} else if late != nil {
			go late(r)
		}
	})
	var r reply
	select {
	case r = <-answered:
	case <-ctx.Done():
		mu.Lock()
		gaveUp = len(answered) == 0
		mu.Unlock()
		if gaveUp {
			c.cancel(id)
			return nil, context.Cause(ctx)
		}
		r = <-answered
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.result, nil
}

// cancel asks the other side to give up a request of ours. It still answers.
func (c *conn) cancel(id int) {
	c.notify("$/cancel_request", frame(`{"requestId":`).raw(strconv.Itoa(id)).raw(`}`))
}

// read hands requests and notifications to handle, and answers to who asked, until in ends.
func (c *conn) read(in io.Reader, handle func(message)) error {
	buffer := 4 << 10 // an agent says much, a host little
	if c.side == Agent {
		buffer = 1 << 10
	}
	return lines(in, buffer, func(line []byte, tooLong bool) {
		if tooLong {
			c.log.add(c.side.other(), line[:min(len(line), beginning)], "ignored: longer than 64 MiB")
			return
		}
		m, note := parse(line)
		var answer func(json.RawMessage, *Error)
		if note == "" && m.Method == "" {
			if answer = c.asked(m.ID); answer == nil {
				note = "ignored: it answers no open request"
			}
		}
		c.log.add(c.side.other(), line, note)
		switch {
		case note != "":
		case answer == nil:
			handle(m)
		case m.failure() != nil:
			answer(nil, m.failure())
		default:
			answer(m.Result, nil)
		}
	})
}

// asked is who waits for the answer of that id.
func (c *conn) asked(id json.RawMessage) func(json.RawMessage, *Error) {
	n, err := strconv.Atoi(string(id))
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := c.calls[n]
	delete(c.calls, n)
	return answer
}

// isCode says that an error is one of that code.
func isCode(err error, code int) bool {
	e := (*Error)(nil)
	return errors.As(err, &e) && e.Code == code
}

// queue is a writer that nobody waits for: what is written to it is written on, in order, by a goroutine that exists only while there is
// something to write.
type queue struct {
	out io.Writer

	mu      sync.Mutex
	waiting [][]byte
	writing bool
	drained chan struct{} // closed when nothing is left to write
}

func (q *queue) Write(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, b)
	if !q.writing {
		q.writing, q.drained = true, make(chan struct{})
		go q.drain()
	}
	return len(b), nil
}

func (q *queue) drain() {
	for {
		q.mu.Lock()
		next := q.waiting
		q.waiting = nil
		if next == nil {
			q.writing = false
			close(q.drained)
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		for _, b := range next {
			_, _ = q.out.Write(b)
		}
	}
}

// empty is closed when all is written.
func (q *queue) empty() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.writing {
		none := make(chan struct{})
		close(none)
		return none
	}
	return q.drained
}
