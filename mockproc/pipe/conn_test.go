package pipe_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/mockproc/pipe"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// failed is a result with an error of package net.
func failed(op string, err error) types.GomegaMatcher {
	return WithTransform(func(r result) error { return r.err },
		And(BeAssignableToTypeOf(&net.OpError{}), HaveField("Op", op), HaveField("Net", "pipe"), MatchError(err)))
}

// timedOut is an empty result whose error tells by the interface of package net that it was too late.
var timedOut = Satisfy(func(r result) bool {
	e, ok := r.err.(net.Error)
	return ok && e.Timeout() && errors.Is(e, os.ErrDeadlineExceeded) && r.n == 0
})

var _ = Describe("A connection", bubble.InBubble, func() {
	var a, b *pipe.Conn
	BeforeEach(func() { a, b = pipe.Duplex(4) })

	It("carries bytes both ways, and no direction waits for the other", func() {
		put(a, "abcd")
		put(b, "1234")
		Expect(take(a, 4) + take(b, 4)).To(Equal("1234abcd"))
	})
	It("has addresses that say what it is", func() {
		Expect(a.LocalAddr().Network()).To(Equal("pipe"))
		Expect(a.RemoteAddr().String()).To(Equal("pipe"))
	})

	Describe("one end of which is closed", func() {
		It("is over for this end, in both directions", func() {
			reads, writes := read(a, 1), write(a, "abcdef")
			synctest.Wait()
			Expect(a.Close()).To(Succeed())
			Expect(<-reads).To(failed("read", net.ErrClosed))
			Expect(<-writes).To(failed("write", net.ErrClosed))
			Expect(a.SetDeadline(time.Now())).To(MatchError(net.ErrClosed))
			Expect(a.SetReadDeadline(time.Now())).To(MatchError(net.ErrClosed))
			Expect(a.SetWriteDeadline(time.Now())).To(MatchError(net.ErrClosed))
			Expect(a.Close()).To(Succeed())
		})
		It("is read to its end by the other one, who cannot write any more", func() {
			put(a, "ab")
			waits := write(b, "abcdef")
			synctest.Wait()
			a.Close()
			Expect(<-waits).To(failed("write", syscall.EPIPE))
			Expect(take(b, 2)).To(Equal("ab"))
			Expect(<-read(b, 1)).To(Equal(result{err: io.EOF}))
			Expect(b.Close()).To(Succeed())
		})
	})
	Describe("one direction of which is closed", func() {
		It("can be used in the other one", func() {
			put(a, "ab")
			Expect(a.CloseWrite()).To(Succeed())
			Expect(io.ReadAll(b)).To(Equal([]byte("ab")))
			put(b, "cd")
			Expect(a.SetDeadline(time.Now().Add(time.Second))).To(Succeed())
			Expect(take(a, 2)).To(Equal("cd"))
			Expect(<-read(a, 1)).To(timedOut)
			Expect(<-write(a, "x")).To(failed("write", net.ErrClosed))
		})
	})

	// What golang.org/x/net/nettest asks of every net.Conn.
	Describe("is a net.Conn, which", func() {
		trip := func() {
			GinkgoHelper()
			Expect(a.SetDeadline(time.Time{})).To(Succeed())
			write(a, "Hello, world!")
			Expect(take(a, 13)).To(Equal("Hello, world!"))
		}

		It("carries a megabyte unchanged", func() {
			a, b := pipe.Duplex(1000)
			want := make([]byte, 1<<20)
			_, _ = rand.NewChaCha8([32]byte{}).Read(want)
			go func() {
				_, _ = io.Copy(a, bytes.NewReader(want))
				a.Close()
			}()
			got, err := io.ReadAll(b)
			Expect(err).NotTo(HaveOccurred())
			Expect(bytes.Equal(got, want)).To(BeTrue())
		})
		It("plays ping-pong", func() {
			player := func(c net.Conn) <-chan uint32 {
				last := make(chan uint32, 1)
				go func() {
					defer c.Close()
					buf := make([]byte, 4)
					for {
						if _, err := io.ReadFull(c, buf); err != nil {
							last <- 0
							return
						}
						v := binary.LittleEndian.Uint32(buf)
						binary.LittleEndian.PutUint32(buf, v+1)
						if _, err := c.Write(buf); err != nil || v >= 1000 {
							last <- v
							return
						}
					}
				}()
				return last
			}
			one, other := player(a), player(b)
			put(a, "\x00\x00\x00\x00")
			Expect([]uint32{<-one, <-other}).To(ConsistOf(uint32(1001), uint32(1000)))
		})
		It("fails at a deadline for reading, and is written to", func() {
			go func() { _, _ = io.Copy(io.Discard, b) }()
			Expect(a.SetReadDeadline(time.Now())).To(Succeed())
			Expect(<-read(a, 1)).To(timedOut)
			put(a, "abcdef")
			a.Close()
		})
		It("fails at a deadline for writing, and is read", func() {
			Expect(a.SetWriteDeadline(time.Now())).To(Succeed())
			Expect(<-write(a, "x")).To(timedOut)
			put(b, "ab")
			Expect(take(a, 2)).To(Equal("ab"))
		})
		It("fails at once at a deadline in the past, and works when it is lifted", func() {
			go io.Copy(b, b)
			defer a.Close()
			trip()
			Expect(a.SetDeadline(time.Unix(1, 0))).To(Succeed())
			Expect(<-write(a, "x")).To(timedOut)
			Expect(<-read(a, 1)).To(timedOut)
			trip()
		})
		It("ends at once what waits, at a deadline in the past", func() {
			put(a, "abcd")
			reads, writes := read(a, 1), write(a, "x")
			time.Sleep(time.Second)
			Expect(a.SetDeadline(time.Unix(1, 0))).To(Succeed())
			Expect(<-reads).To(timedOut)
			Expect(<-writes).To(timedOut)
		})
		It("ends what waits when its time has come, and works when the deadline is lifted", func() {
			began := time.Now()
			put(a, "abcd")
			Expect(a.SetDeadline(began.Add(time.Minute))).To(Succeed())
			reads, writes := read(a, 1), write(a, "x")
			Expect(<-reads).To(timedOut)
			Expect(<-writes).To(timedOut)
			Expect(time.Since(began)).To(Equal(time.Minute))
			take(b, 4)
			go io.Copy(b, b)
			defer a.Close()
			trip()
		})
	})
})

var _ = Describe("A connection on the real clock", func() {
	It("bears all its methods at once, at any time", func() {
		a, b := pipe.Duplex(100)
		echoed := make(chan struct{})
		go func() {
			defer close(echoed)
			_, _ = io.Copy(b, b)
		}()
		var users, others sync.WaitGroup
		for i := range 100 {
			users.Go(func() {
				buf := make([]byte, 30)
				_, _ = a.Read(buf)
				clear(buf) // or the race detector finds it still in use
			})
			users.Go(func() {
				buf := make([]byte, 30)
				_, _ = a.Write(buf)
				clear(buf)
			})
			others.Go(func() { _ = a.SetDeadline(time.Now().Add(time.Duration(i) * time.Microsecond)) })
			others.Go(func() { _ = a.SetReadDeadline(time.Now()) })
			others.Go(func() { _ = a.SetWriteDeadline(time.Time{}) })
			others.Go(func() { a.LocalAddr() })
			others.Go(func() { a.RemoteAddr() })
		}
		others.Wait()
		Expect(a.SetDeadline(time.Now())).To(Succeed())
		users.Wait()
		a.Close()
		<-echoed
	})
})
