package standin_test

import (
	"context"
	"io"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/standin"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("The bytes of a stream", bubble.InBubble, func() {
	// streamed is all that a client reads of a reply that says hello.
	streamed := func(w standin.Wire) (text string, err error) {
		GinkgoHelper()
		s := standin.New(GinkgoT())
		c := clientOf(s)
		s.Reply(script.New(script.Say("hello"))).Wire(w)
		res, err := c.Do(c.chatRequest(context.Background(), c.session(), "go"))
		Expect(err).NotTo(HaveOccurred())
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		_, failed := s.AwaitTurn(context.Background(), 1, standin.Completed) // which goes on when its stream is cut
		Expect(failed).NotTo(HaveOccurred())
		return string(b), err
	}
	const whole = `data: {"type":"start","messageId":"message-2"}

data: {"type":"start-step"}

data: {"type":"text-start","id":"text-1"}

data: {"type":"text-delta","id":"text-1","textDelta":"hello"}

data: {"type":"text-end","id":"text-1"}

data: {"type":"finish-step","finishReason":"stop","usage":{"inputTokens":1,"outputTokens":2},"isContinued":false}

data: {"type":"finish","finishReason":"stop","usage":{"inputTokens":1,"outputTokens":2}}

`
	const done = "data: [DONE]\n\n"

	It("are a frame after the other, and [DONE]", func() {
		Expect(streamed(standin.Wire{})).To(Equal(whole + done))
	})

	DescribeTable("may be written in other ways that are right, or nearly",
		func(w standin.Wire, change func(string) string) { Expect(streamed(w)).To(Equal(change(whole + done))) },
		Entry("a byte at a time", standin.Wire{ChunkBytes: 1}, func(s string) string { return s }),
		Entry("with the line ends of Windows", standin.Wire{CRLF: true}, func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }),
		Entry("with comments", standin.Wire{Comments: true}, func(s string) string { return strings.ReplaceAll(s, "data: ", ": stand-in\ndata: ") }),
		Entry("with the name of the event", standin.Wire{Event: true}, func(s string) string { return strings.ReplaceAll(s, "data: ", "event: message\ndata: ") }),
		Entry("without [DONE]", standin.Wire{NoDone: true}, func(s string) string { return strings.TrimSuffix(s, done) }),
	)

	It("may end too early: before a frame, or in the middle of one", func() {
		Expect(streamed(standin.Wire{CutAtFrame: 4})).To(Equal(whole[:strings.Index(whole, `data: {"type":"text-delta"`)]))
		Expect(streamed(standin.Wire{CutAtByte: 60})).To(Equal(whole[:60]))
		Expect(streamed(standin.Wire{CutAtByte: 60, ChunkBytes: 7})).To(Equal(whole[:60]))
	})

	It("may break off", func() {
		text, err := streamed(standin.Wire{CutAtFrame: 3, Reset: true})
		Expect(err).To(HaveOccurred())
		Expect(whole).To(HavePrefix(text))
	})

	It("may end, while the connection stays open until the client goes", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		s.Reply(script.New(script.Say("hello"))).Wire(standin.Wire{KeepOpen: true})
		ctx, cancel := context.WithCancel(context.Background())
		r := c.start(ctx, c.session(), "go")
		r.until("finish")
		Expect(s.AwaitTurn(ctx, 1, standin.Completed)).Error().NotTo(HaveOccurred())
		ended := make(chan bool)
		go func() {
			defer close(ended)
			r.rest()
		}()
		Consistently(ended).ShouldNot(BeClosed())
		cancel()
		Eventually(ended).Should(BeClosed())
		Expect(r.err).To(MatchError(context.Canceled))
	})
})
