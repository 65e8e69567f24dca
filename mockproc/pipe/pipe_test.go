package pipe_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
	"weak"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/mockproc/pipe"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var errDied = errors.New("the process died")

var _ = Describe("A pipe", bubble.InBubble, func() {
	var r *pipe.Reader
	var w *pipe.Writer
	BeforeEach(func() { r, w = pipe.New(4) })

	Describe("carries bytes", func() {
		It("in the order in which they were written", func() {
			put(w, "ab")
			put(w, "cd")
			Expect(take(r, 4)).To(Equal("abcd"))
		})
		It("round and round", func() {
			for i := range 1000 {
				text := fmt.Sprint(i)
				put(w, text)
				Expect(take(r, len(text))).To(Equal(text))
			}
		})
		It("as a copy: who has written may use the memory for something else", func() {
			b := []byte("ab")
			_, err := w.Write(b)
			Expect(err).NotTo(HaveOccurred())
			copy(b, "xx")
			Expect(take(r, 2)).To(Equal("ab"))
		})
		It("as testing/iotest wants a reader to", func() {
			text := strings.Repeat("a line\n", 1000)
			written := write(w, text)
			go func() {
				<-written
				w.Close()
			}()
			Expect(iotest.TestReader(r, []byte(text))).To(Succeed())
		})
	})

	Describe("is read", func() {
		It("as soon as there is something, and for no more than there is", func() {
			got := read(r, 10)
			synctest.Wait()
			Expect(got).NotTo(Receive())
			put(w, "ab")
			Expect(<-got).To(Equal(result{text: "ab", n: 2}))
		})
		It("in pieces as small as the reader wants", func() {
			put(w, "abc")
			Expect(take(r, 1) + take(r, 1) + take(r, 1)).To(Equal("abc"))
		})
		It("by several readers, each of whom gets other bytes", func() {
			one, other := read(r, 1), read(r, 1)
			put(w, "ab")
			Expect([]string{(<-one).text, (<-other).text}).To(ConsistOf("a", "b"))
		})
		It("without waiting, when nothing is wanted", func() {
			Expect(r.Read(nil)).To(BeZero())
			w.Close()
			Expect(r.Read(nil)).To(BeZero())
		})
	})

	Describe("is written to", func() {
		It("without waiting, as long as there is room", func() {
			put(w, "abcd")
		})
		It("with waiting, when it is full, until all is in it", func() {
			put(w, "abcd")
			written := write(w, "efghij")
			Expect(take(r, 4)).To(Equal("abcd"))
			synctest.Wait()
			Expect(written).NotTo(Receive())
			Expect(take(r, 2)).To(Equal("ef"))
			Expect(<-written).To(Equal(result{n: 6}))
			Expect(take(r, 4)).To(Equal("ghij"))
		})
		It("into the room that a small Read makes", func() {
			put(w, "abcd")
			written := write(w, "e")
			Expect(take(r, 1)).To(Equal("a"))
			Expect(<-written).To(Equal(result{n: 1}))
		})
		It("without ever waiting, when it has no limit", func() {
			for _, size := range []int{0, -1} {
				r, w := pipe.New(size)
				long := strings.Repeat("abc", 1<<20)
				put(w, long)
				put(w, "d")
				Expect(take(r, len(long)+1) == long+"d").To(BeTrue())
			}
		})
		It("without waiting, when there is nothing to write, even if others wait", func() {
			put(w, "abcd")
			written := write(w, "e")
			synctest.Wait()
			Expect(w.Write(nil)).To(BeZero())
			Expect(take(r, 4)).To(Equal("abcd"))
			<-written
		})
		It("one after the other: the bytes of each Write stay together, in the order in which the Writes came", func() {
			const writers = 20
			for i := range writers {
				write(w, strings.Repeat(string(rune('a'+i)), 9))
				synctest.Wait()
			}
			for i := range writers {
				Expect(take(r, 9)).To(Equal(strings.Repeat(string(rune('a'+i)), 9)))
			}
		})
		It("by two at once, while the clock of a bubble goes on", func() {
			one, other := write(w, strings.Repeat("a", 40)), write(w, strings.Repeat("b", 40))
			began := time.Now()
			var got string
			for range 80 {
				time.Sleep(time.Second) // with io.Pipe it would never be over
				got += take(r, 1)
			}
			Expect(time.Since(began)).To(Equal(80 * time.Second))
			Expect(got).To(Or(Equal(strings.Repeat("a", 40)+strings.Repeat("b", 40)), Equal(strings.Repeat("b", 40)+strings.Repeat("a", 40))))
			<-one
			<-other
		})
	})

	Describe("whose writer is closed", func() {
		It("is read to its end, which is io.EOF, again and again", func() {
			put(w, "ab")
			Expect(w.Close()).To(Succeed())
			Expect(io.ReadAll(r)).To(Equal([]byte("ab")))
			Expect(<-read(r, 1)).To(Equal(result{err: io.EOF}))
		})
		It("ends a Read that waits", func() {
			got := read(r, 1)
			synctest.Wait()
			w.Close()
			Expect(<-got).To(Equal(result{err: io.EOF}))
		})
		It("tells the reader another error after the last byte, if there is one", func() {
			put(w, "ab")
			Expect(w.CloseWithError(errDied)).To(Succeed())
			Expect(take(r, 2)).To(Equal("ab"))
			Expect(<-read(r, 1)).To(Equal(result{err: errDied}))
		})
		It("lets nobody write any more; what a Write has written before stays", func() {
			waits := write(w, "abcdef")
			synctest.Wait()
			w.Close()
			Expect(<-waits).To(Equal(result{n: 4, err: os.ErrClosed}))
			Expect(<-write(w, "x")).To(Equal(result{err: os.ErrClosed}))
			Expect(<-write(w, "")).To(Equal(result{err: os.ErrClosed}))
			Expect(io.ReadAll(r)).To(Equal([]byte("abcd")))
		})
		It("has the error of the first time that it was closed", func() {
			w.Close()
			Expect(w.CloseWithError(errDied)).To(Succeed())
			Expect(<-read(r, 1)).To(Equal(result{err: io.EOF}))
		})
	})

	Describe("whose reader is closed", func() {
		It("is broken for those who write, as one of the system is", func() {
			waits := write(w, "abcdef")
			synctest.Wait()
			queued := write(w, "x")
			synctest.Wait()
			Expect(r.Close()).To(Succeed())
			Expect(<-waits).To(Equal(result{n: 4, err: syscall.EPIPE}))
			Expect(<-queued).To(Equal(result{err: syscall.EPIPE}))
			Expect(<-write(w, "x")).To(Equal(result{err: syscall.EPIPE}))
		})
		It("tells them another error, if there is one", func() {
			Expect(r.CloseWithError(errDied)).To(Succeed())
			Expect(<-write(w, "x")).To(Equal(result{err: errDied}))
		})
		It("lets nobody read any more, not even what it holds", func() {
			put(w, "ab")
			r.Close()
			Expect(<-read(r, 1)).To(Equal(result{err: os.ErrClosed}))
			Expect(<-read(r, 0)).To(Equal(result{err: os.ErrClosed}))
		})
		It("ends a Read that waits", func() {
			got := read(r, 1)
			synctest.Wait()
			r.Close()
			Expect(<-got).To(Equal(result{err: os.ErrClosed}))
		})
		It("has the error of the first time that it was closed", func() {
			r.Close()
			Expect(r.CloseWithError(errDied)).To(Succeed())
			Expect(<-write(w, "x")).To(Equal(result{err: syscall.EPIPE}))
		})
		It("is closed for its writer when that is closed as well", func() {
			r.Close()
			Expect(w.Close()).To(Succeed())
			Expect(<-write(w, "x")).To(Equal(result{err: os.ErrClosed}))
		})
	})

	Describe("with a deadline for reading", func() {
		It("fails Reads from that instant on, those that wait and those that come, whatever it holds", func() {
			began := time.Now()
			Expect(r.SetReadDeadline(began.Add(3 * time.Second))).To(Succeed())
			Expect(<-read(r, 1)).To(Equal(result{err: os.ErrDeadlineExceeded}))
			Expect(time.Since(began)).To(Equal(3 * time.Second))
			put(w, "ab")
			Expect(<-read(r, 1)).To(Equal(result{err: os.ErrDeadlineExceeded}))
		})
		It("fails them at once when it is in the past", func() {
			waits := read(r, 1)
			synctest.Wait()
			Expect(r.SetReadDeadline(time.Now())).To(Succeed())
			Expect(<-waits).To(Equal(result{err: os.ErrDeadlineExceeded}))
		})
		It("is read again when there is another deadline, or none", func() {
			Expect(r.SetReadDeadline(time.Now())).To(Succeed())
			Expect(<-read(r, 1)).To(Equal(result{err: os.ErrDeadlineExceeded}))
			put(w, "ab")
			Expect(r.SetReadDeadline(time.Now().Add(time.Second))).To(Succeed())
			Expect(take(r, 1)).To(Equal("a"))
			Expect(r.SetReadDeadline(time.Now())).To(Succeed())
			Expect(r.SetReadDeadline(time.Time{})).To(Succeed())
			Expect(take(r, 1)).To(Equal("b"))
		})
		It("knows only the latest one", func() {
			began := time.Now()
			Expect(r.SetReadDeadline(began.Add(time.Second))).To(Succeed())
			Expect(r.SetReadDeadline(began.Add(time.Hour))).To(Succeed())
			Expect(<-read(r, 1)).To(Equal(result{err: os.ErrDeadlineExceeded}))
			Expect(time.Since(began)).To(Equal(time.Hour))
		})
		It("has none any more when its reader is closed", func() {
			Expect(r.SetReadDeadline(time.Now())).To(Succeed())
			r.Close()
			Expect(<-read(r, 1)).To(Equal(result{err: os.ErrClosed}))
			Expect(r.SetReadDeadline(time.Now())).To(MatchError(os.ErrClosed))
		})
		It("is written to as ever", func() {
			Expect(r.SetReadDeadline(time.Now())).To(Succeed())
			put(w, "ab")
		})
	})

	Describe("with a deadline for writing", func() {
		It("fails Writes from that instant on, and tells what they have written", func() {
			began := time.Now()
			Expect(w.SetWriteDeadline(began.Add(3 * time.Second))).To(Succeed())
			first := write(w, "abcdef")
			synctest.Wait()
			second := write(w, "x")
			Expect(<-first).To(Equal(result{n: 4, err: os.ErrDeadlineExceeded}))
			Expect(<-second).To(Equal(result{err: os.ErrDeadlineExceeded}))
			Expect(time.Since(began)).To(Equal(3 * time.Second))
			Expect(take(r, 4)).To(Equal("abcd"))
			Expect(<-write(w, "x")).To(Equal(result{err: os.ErrDeadlineExceeded}))
		})
		It("is written to again when there is none any more", func() {
			Expect(w.SetWriteDeadline(time.Now())).To(Succeed())
			Expect(<-write(w, "x")).To(Equal(result{err: os.ErrDeadlineExceeded}))
			Expect(w.SetWriteDeadline(time.Time{})).To(Succeed())
			put(w, "ab")
			Expect(take(r, 2)).To(Equal("ab"))
		})
		It("has none any more when its writer is closed", func() {
			w.Close()
			Expect(w.SetWriteDeadline(time.Now())).To(MatchError(os.ErrClosed))
			Expect(<-write(w, "x")).To(Equal(result{err: os.ErrClosed}))
		})
		It("is read as ever", func() {
			put(w, "ab")
			Expect(w.SetWriteDeadline(time.Now())).To(Succeed())
			Expect(take(r, 2)).To(Equal("ab"))
		})
		It("counts what was written when the error is another one", func() {
			Expect(w.SetWriteDeadline(time.Now().Add(time.Hour))).To(Succeed())
			waits := write(w, "abcdef")
			synctest.Wait()
			Expect(w.Close()).To(Succeed())
			Expect(<-waits).To(Equal(result{n: 4, err: os.ErrClosed}))
		})
	})
})

var _ = Describe("A pipe on the real clock", func() {
	It("mixes no lines, whoever writes and reads how fast", func() {
		for _, size := range []int{1, 7, 100, pipe.OSSize, 0} {
			r, w := pipe.New(size)
			var writers sync.WaitGroup
			for id := range 8 {
				writers.Go(func() {
					for i := range 50 {
						_, err := fmt.Fprintf(w, "%d %d %s\n", id, i, strings.Repeat("x", i))
						if err != nil {
							panic(err)
						}
					}
				})
			}
			go func() {
				writers.Wait()
				w.Close()
			}()
			all, err := io.ReadAll(iotest.HalfReader(r))
			Expect(err).NotTo(HaveOccurred())
			next := map[int]int{}
			for line := range bytes.Lines(all) {
				var id, i int
				var text string
				_, err := fmt.Sscanf(strings.Replace(string(line), " \n", " -\n", 1), "%d %d %s", &id, &i, &text)
				Expect(err).NotTo(HaveOccurred(), "%q", line)
				Expect(i).To(Equal(next[id]))
				Expect(strings.TrimPrefix(text, "-")).To(Equal(strings.Repeat("x", i)))
				next[id]++
			}
			Expect(next).To(HaveLen(8))
			Expect(next).To(HaveEach(50))
		}
	})
	It("costs no allocations for lines that come and go", func() {
		r, w := pipe.New(pipe.OSSize)
		buf := make([]byte, len(line))
		Expect(testing.AllocsPerRun(1000, func() {
			_, _ = w.Write(line)
			_, _ = r.Read(buf)
		})).To(BeZero())
	})
	It("takes memory in few large pieces, even if it is filled in small ones", func() {
		Expect(testing.AllocsPerRun(10, func() {
			_, w := pipe.New(0)
			for range 10_000 {
				_, _ = w.Write(line[:1])
			}
		})).To(BeNumerically("<", 30))
	})
	It("costs next to nothing while it is idle, whatever has gone through it", func() {
		Expect(idle(0)).To(BeNumerically("<", 400))
		Expect(idle(len(line))).To(BeNumerically("<", 600))
		Expect(idle(10_000)).To(BeNumerically("<", 400))
	})
	It("is forgotten when it is closed, even if its deadlines are far away", func() {
		const many = 1000
		var pipes [many]weak.Pointer[pipe.Reader]
		tomorrow := time.Now().Add(24 * time.Hour)
		for i := range pipes {
			r, w := pipe.New(0)
			Expect(r.SetReadDeadline(tomorrow)).To(Succeed())
			Expect(w.SetWriteDeadline(tomorrow)).To(Succeed())
			r.Close()
			w.Close()
			pipes[i] = weak.Make(r)
		}
		Eventually(func() (known int) {
			runtime.GC()
			for _, p := range pipes {
				if p.Value() != nil {
					known++
				}
			}
			return known
		}).Should(BeNumerically("<", many/2)) // the runtime remembers some stopped timers for a while
	})
	It("knows nothing of a deadline that was lifted, even if it has just passed", func() {
		r, w := pipe.New(0)
		b := make([]byte, 1)
		for i := range 5000 {
			put(w, "a")
			Expect(r.SetReadDeadline(time.Now().Add(time.Duration(i)))).To(Succeed()) // now, or within some microseconds
			Expect(r.SetReadDeadline(time.Time{})).To(Succeed())
			runtime.Gosched()
			Expect(r.Read(b)).To(Equal(1))
		}
	})
	It("gives back at once what its reader does not want any more", func() {
		var readers []*pipe.Reader
		Expect(grows(func() {
			for range 10 {
				r, w := pipe.New(0)
				put(w, strings.Repeat("x", 1<<20))
				r.Close()
				readers = append(readers, r)
			}
		})).To(BeNumerically("<", 1<<20))
		Expect(readers).To(HaveLen(10))
	})
	It("is read in small pieces as cheaply as ever, however much it holds", func() {
		r, w := pipe.New(0)
		put(w, strings.Repeat("x", 16<<20))
		b := make([]byte, 1)
		for range 50_000 { // or 800 GB would be moved
			_, _ = r.Read(b)
		}
		w.Close()
		Expect(io.Copy(io.Discard, r)).To(BeNumerically("==", 16<<20-50_000))
	})
})
