package pipe_test

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudy-go/understudy/mockproc/pipe"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// model is a pipe as simple as can be: nobody waits in it, who cannot go on is asked again after each step.
type model struct {
	size            int
	held            string
	writes          []*call // the first one's turn it is
	read            *call   // at most one, because of several that wait any may be the first
	ended, broken   error
	readBy, writeBy time.Time
}

// call is a Read or a Write of the pipe, and what the model wants of it.
type call struct {
	name string
	got  <-chan result
	text string // what is yet to be written
	most int    // what is to be read
	want result
	over bool
}

func passed(deadline time.Time) bool { return !deadline.IsZero() && !time.Now().Before(deadline) }

// settle lets all go on until nobody can.
func (m *model) settle() {
	for m.goOnWriting() || m.goOnReading() {
	}
}

func (m *model) goOnWriting() bool {
	if len(m.writes) == 0 {
		return false
	}
	c := m.writes[0]
	switch {
	case m.ended != nil:
		c.want.err = os.ErrClosed
	case m.broken != nil:
		c.want.err = m.broken
	case passed(m.writeBy):
		c.want.err = os.ErrDeadlineExceeded
	default:
		room := len(c.text)
		if m.size > 0 {
			room = min(room, m.size-len(m.held))
		}
		m.held += c.text[:room]
		c.text = c.text[room:]
		c.want.n += room
		if c.text != "" {
			return room > 0
		}
	}
	c.over = true
	m.writes = m.writes[1:]
	return true
}

func (m *model) goOnReading() bool {
	c := m.read
	switch {
	case c == nil:
		return false
	case m.broken != nil:
		c.want.err = os.ErrClosed
	case passed(m.readBy):
		c.want.err = os.ErrDeadlineExceeded
	case c.most == 0:
	case m.held != "":
		n := min(c.most, len(m.held))
		c.want.text, c.want.n = m.held[:n], n
		m.held = m.held[n:]
	case m.ended != nil:
		c.want.err = m.ended
	default:
		return false
	}
	c.over = true
	m.read = nil
	return true
}

// The kinds of steps, which are the lower three bits of a byte. The others are a number.
const (
	doWrite = iota
	doRead
	doCloseWriter // with an error, if the number is odd
	doCloseReader
	doReadBy // a deadline in so many seconds; none if the number is 31
	doWriteBy
	doSleep // for so many seconds
)

// FuzzPipe does to a pipe and to the model the same, and compares after each step who has returned what. The first byte is the pipe's size, of
// which there is none if it is 0, and each other one is a step.
func FuzzPipe(f *testing.F) {
	step := func(kind, n int) byte { return byte(n<<3 | kind) }
	f.Add([]byte{4, step(doWrite, 6), step(doWrite, 3), step(doRead, 3), step(doRead, 9), step(doRead, 9), step(doCloseWriter, 0), step(doRead, 9)})
	f.Add([]byte{4, step(doWrite, 9), step(doWrite, 2), step(doWriteBy, 3), step(doSleep, 2), step(doRead, 1), step(doSleep, 1), step(doRead, 9), step(doRead, 9)})
	f.Add([]byte{1, step(doRead, 3), step(doReadBy, 5), step(doSleep, 9), step(doWrite, 3), step(doRead, 3), step(doReadBy, 31), step(doRead, 3)})
	f.Add([]byte{2, step(doWrite, 9), step(doWrite, 9), step(doCloseReader, 1), step(doWrite, 1), step(doRead, 1), step(doCloseReader, 0), step(doWrite, 0)})
	f.Add([]byte{3, step(doRead, 3), step(doCloseWriter, 1), step(doRead, 1), step(doWrite, 1), step(doCloseReader, 0), step(doRead, 0), step(doWrite, 0)})
	f.Add([]byte{0, step(doWrite, 31), step(doWrite, 31), step(doRead, 5), step(doWrite, 31), step(doRead, 31), step(doRead, 31), step(doRead, 31)})
	f.Add([]byte{7, step(doWrite, 5), step(doRead, 4), step(doWrite, 6), step(doRead, 3), step(doWrite, 5), step(doRead, 9), step(doWrite, 0), step(doRead, 0)})
	f.Add([]byte{7, step(doWriteBy, 0), step(doWrite, 1), step(doWriteBy, 9), step(doWriteBy, 31), step(doSleep, 31), step(doWrite, 1), step(doRead, 9)})
	f.Fuzz(func(t *testing.T, plan []byte) {
		if len(plan) > 0 && len(plan) < 200 {
			bubble.Test(t, func(t *testing.T) { follow(t, int(plan[0]), plan[1:]) })
		}
	})
}

func follow(t *testing.T, size int, plan []byte) {
	r, w := pipe.New(size)
	m := &model{size: size}
	var calls []*call
	letters := 0
	did := fmt.Sprint("size ", size)
	settle := func() {
		synctest.Wait()
		m.settle()
		waiting := calls[:0]
		for _, c := range calls {
			select {
			case got := <-c.got:
				if !c.over {
					t.Fatalf("%s\n%s has returned %+v and ought to wait", did, c.name, got)
				}
				if got != c.want {
					t.Fatalf("%s\n%s has returned %+v, not %+v", did, c.name, got, c.want)
				}
			default:
				if c.over {
					t.Fatalf("%s\n%s waits and ought to return %+v", did, c.name, c.want)
				}
				waiting = append(waiting, c)
			}
		}
		calls = waiting
	}
	defer func() {
		_ = w.Close()
		_ = r.Close()
	}()
	for _, step := range plan {
		kind, n := int(step&7), int(step>>3)
		err := []error{nil, errDied}[n%2]
		by := time.Now().Add(time.Duration(n) * time.Second)
		if n == 31 {
			by = time.Time{}
		}
		switch kind {
		case doWrite:
			b := make([]byte, n)
			for i := range b {
				b[i] = byte('a' + letters%26)
				letters++
			}
			c := &call{name: fmt.Sprintf("Write(%q)", b), text: string(b), got: write(w, string(b))}
			calls = append(calls, c)
			if n == 0 { // it waits for nobody
				m.writes = append([]*call{c}, m.writes...)
			} else {
				m.writes = append(m.writes, c)
			}
			did += ", " + c.name
		case doRead:
			if m.read == nil {
				m.read = &call{name: fmt.Sprintf("Read(%d)", n), most: n, got: read(r, n)}
				calls = append(calls, m.read)
				did += ", " + m.read.name
			}
		case doCloseWriter:
			_ = w.CloseWithError(err)
			if m.ended == nil {
				m.ended = err
				if err == nil {
					m.ended = io.EOF
				}
			}
			did += fmt.Sprintf(", Writer.CloseWithError(%v)", err)
		case doCloseReader:
			_ = r.CloseWithError(err)
			if m.broken == nil {
				m.broken, m.held = err, ""
				if err == nil {
					m.broken = syscall.EPIPE
				}
			}
			did += fmt.Sprintf(", Reader.CloseWithError(%v)", err)
		case doReadBy:
			_ = r.SetReadDeadline(by)
			m.readBy = by
			did += fmt.Sprintf(", SetReadDeadline(%d)", n)
		case doWriteBy:
			_ = w.SetWriteDeadline(by)
			m.writeBy = by
			did += fmt.Sprintf(", SetWriteDeadline(%d)", n)
		case doSleep:
			time.Sleep(time.Duration(n) * time.Second)
			did += fmt.Sprintf(", Sleep(%d)", n)
		}
		settle()
	}
}
