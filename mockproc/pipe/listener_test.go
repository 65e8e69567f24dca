package pipe_test

import (
	"context"
	"net"
	"syscall"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/mockproc/pipe"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// accepted is what Accept returns.
type accepted struct {
	conn net.Conn
	err  error
}

func accept(l net.Listener) <-chan accepted {
	done := make(chan accepted, 1)
	go func() {
		c, err := l.Accept()
		done <- accepted{c, err}
	}()
	return done
}

var _ = Describe("A listener", bubble.InBubble, func() {
	var l *pipe.Listener
	BeforeEach(func() { l = pipe.Listen(4) })

	dial := func() net.Conn {
		GinkgoHelper()
		c, err := l.Dial()
		Expect(err).NotTo(HaveOccurred())
		return c
	}

	It("accepts who dials, while the clock of a bubble goes on", func() {
		server := accept(l)
		time.Sleep(time.Hour)
		client := dial()
		got := <-server
		Expect(got.err).NotTo(HaveOccurred())
		put(client, "abcd")
		Expect(take(got.conn, 4)).To(Equal("abcd"))
		put(got.conn, "1234")
		Expect(take(client, 4)).To(Equal("1234"))
	})
	It("can be dialed before anybody accepts, as often as one likes, and written to; they are accepted in their order", func() {
		const many = 1000
		for i := range many {
			put(dial(), string(rune('a'+i%26)))
		}
		for i := range many {
			c, err := l.Accept()
			Expect(err).NotTo(HaveOccurred())
			Expect(take(c, 1)).To(Equal(string(rune('a' + i%26))))
		}
	})
	It("wakes as many as accept", func() {
		one, other := accept(l), accept(l)
		synctest.Wait()
		dial()
		dial()
		Expect((<-one).err).NotTo(HaveOccurred())
		Expect((<-other).err).NotTo(HaveOccurred())
	})
	It("has connections that hold so many bytes in each direction", func() {
		client := dial()
		waits := write(client, "abcdef")
		synctest.Wait()
		Expect(waits).NotTo(Receive())
		server := (<-accept(l)).conn
		Expect(take(server, 6)).To(Equal("abcdef"))
		Expect((<-waits).err).NotTo(HaveOccurred())
		waits = write(server, "abcdef")
		synctest.Wait()
		Expect(waits).NotTo(Receive())
		Expect(take(client, 6)).To(Equal("abcdef"))
	})
	It("has an address that can stand in a URL", func() {
		Expect(l.Addr().Network()).To(Equal("pipe"))
		Expect(l.Addr().String()).To(Equal("pipe"))
	})
	It("cannot be dialed with a context that is over", func(ctx SpecContext) {
		over, cancel := context.WithCancel(ctx)
		cancel()
		_, err := l.DialContext(over, "tcp", "example.com:80")
		Expect(result{err: err}).To(failed("dial", context.Canceled))
	})

	Describe("that is closed", func() {
		It("accepts nothing any more, and ends whoever waits for that", func() {
			one, other := accept(l), accept(l)
			synctest.Wait()
			Expect(l.Close()).To(Succeed())
			Expect(result{err: (<-one).err}).To(failed("accept", net.ErrClosed))
			Expect(result{err: (<-other).err}).To(failed("accept", net.ErrClosed))
			Expect(result{err: (<-accept(l)).err}).To(failed("accept", net.ErrClosed))
			Expect(l.Close()).To(Succeed())
		})
		It("refuses who dials", func() {
			l.Close()
			_, err := l.Dial()
			Expect(result{err: err}).To(failed("dial", syscall.ECONNREFUSED))
		})
		It("resets what nobody has accepted", func() {
			client := dial()
			reads, writes := read(client, 1), write(client, "abcdef")
			synctest.Wait()
			l.Close()
			Expect(<-reads).To(failed("read", syscall.ECONNRESET))
			Expect(<-writes).To(failed("write", syscall.ECONNRESET))
			Expect(result{err: (<-accept(l)).err}).To(failed("accept", net.ErrClosed))
		})
		It("leaves those alone that were accepted", func() {
			client := dial()
			server := (<-accept(l)).conn
			l.Close()
			put(client, "ab")
			Expect(take(server, 2)).To(Equal("ab"))
		})
	})
})
