package pipe_test

import (
	"io"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

func TestPipe(t *testing.T) {
	bubble.Suite(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "Pipes in memory")
}

var _ = leak.Check()

// result is what a Read or a Write has returned.
type result struct {
	text string // that was read
	n    int
	err  error
}

// write writes on a goroutine of its own.
func write(w io.Writer, text string) <-chan result {
	done := make(chan result, 1)
	go func() {
		n, err := w.Write([]byte(text))
		done <- result{n: n, err: err}
	}()
	return done
}

// read reads once, at most n bytes, on a goroutine of its own.
func read(r io.Reader, n int) <-chan result {
	done := make(chan result, 1)
	go func() {
		b := make([]byte, n)
		n, err := r.Read(b)
		done <- result{text: string(b[:n]), n: n, err: err}
	}()
	return done
}

// take reads exactly n bytes, which must be there.
func take(r io.Reader, n int) string {
	GinkgoHelper()
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	Expect(err).NotTo(HaveOccurred())
	return string(b)
}

// put writes text, for which there must be room.
func put(w io.Writer, text string) {
	GinkgoHelper()
	Expect(w.Write([]byte(text))).To(Equal(len(text)))
}
