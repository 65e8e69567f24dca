package standin_test

import (
	"context"
	"net/http"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/standin"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("A turn", bubble.InBubble, func() {
	It("is waited for until it is held, and is none that there cannot be", func(ctx SpecContext) {
		s := standin.New(GinkgoT(), standin.WithFrameDelay(time.Second))
		c := clientOf(s)
		session := c.session()
		s.HoldReplies()
		r := c.start(ctx, session, "hello")
		Expect(s.AwaitTurn(ctx, 1, standin.Held)).To(HaveField("Status", standin.Held))
		_, err := s.AwaitTurn(ctx, 0, standin.Completed)
		Expect(err).To(MatchError("standin: there is no turn 0; they are counted from 1"))
		s.ReleaseReplies()
		r.rest()
		_, err = s.AwaitTurn(ctx, 1, standin.Held)
		Expect(err).To(HaveOccurred())
		Expect(s.Turns()).To(HaveLen(1), "nothing is locked")
	})

	It("that was past its gate is not the one that is waited for", func(ctx SpecContext) {
		s := standin.New(GinkgoT(), standin.WithFrameDelay(time.Second))
		c := clientOf(s)
		session := c.session()
		r := c.start(ctx, session, "hello")
		r.until("text-start")
		s.HoldReplies()
		held := make(chan error, 1)
		go func() { held <- s.AwaitHeld(ctx, session["uid"].(string)) }()
		synctest.Wait()
		r.rest()
		again := c.start(ctx, session, "again")
		Expect(<-held).To(Succeed())
		s.ReleaseReplies()
		again.rest()
	})

	It("may be stopped up to its last frame, and is then as far as the client has read", func() {
		for n := range len(replied) - 1 {
			s := standin.New(GinkgoT(), standin.WithFrameDelay(time.Second))
			c := clientOf(s)
			session := c.session()
			ctx, cancel := context.WithCancel(context.Background())
			r := c.start(ctx, session, "hello")
			for range n + 1 {
				Expect(r.next()).To(BeTrue())
			}
			Expect(c.do(c.chatRequest(context.Background(), session, "too soon")).Status).To(Equal(http.StatusConflict))
			cancel()
			turn, err := s.AwaitTurn(context.Background(), 1, standin.Stopped)
			Expect(err).NotTo(HaveOccurred())
			Expect(turn.Abort).To(HaveValue(Equal(standin.Abort{By: "socket", AtFrame: n + 1})))
			Expect(turn.Frames).To(HaveLen(n + 1))
		}
	})

	It("goes on when its stream is cut", func(ctx SpecContext) {
		s := standin.New(GinkgoT(), standin.WithFrameDelay(time.Minute))
		c := clientOf(s)
		session := c.session()
		s.Reply(script.New(script.Say("a"), script.Think("x"), script.Say("b"))).Wire(standin.Wire{CutAtFrame: 3})
		began := time.Now()
		r := c.chat(session, "hello")
		Expect(r.types()).To(Equal([]string{"start", "start-step"}))
		Expect(time.Since(began)).To(Equal(3*time.Minute), "when the frame was due")
		Expect(s.Turns()).To(HaveExactElements(HaveField("Status", standin.Streaming)))
		long, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		_, err := s.AwaitTurn(long, 1, standin.Completed)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.Sessions()[0].Transcript).To(HaveLen(2))
	})

	It("whose connection stays open keeps no server from closing, and no session from being deleted", func(ctx SpecContext) {
		s, err := standin.NewUnstarted()
		Expect(err).NotTo(HaveOccurred())
		c := clientOf(s)
		s.Reply(script.New(script.Say("a"))).Wire(standin.Wire{KeepOpen: true}).Always()
		one, two := c.session(), c.session()
		for _, session := range []object{one, two} {
			c.start(ctx, session, "hello").until("finish")
		}
		Expect(c.platform("DELETE", path(one, ""), nil).Status).To(Equal(http.StatusNoContent))
		began := time.Now()
		Expect(s.Close()).To(Succeed())
		Expect(time.Since(began)).To(BeNumerically("<", time.Second))
	})

	It("that two functions fit is told, since nobody knows whether they are the same", func() {
		s := standin.New(GinkgoT(), standin.WithoutChecks())
		c := clientOf(s)
		s.Reply(script.New(script.Say("x")), standin.When(func(standin.Turn) bool { return true }))
		s.Reply(script.New(script.Say("y")), standin.When(func(t standin.Turn) bool { return t.Nth == 1 }))
		Expect(c.chat(c.session(), "tea").text()).To(Equal("x"))
		Expect(s.Left()).To(ContainSubstring("turn 1 fits the replies"))
	})

	It("has the number of all sessions in its ids, the newest message of the user, and the oldest failure", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		one, two := c.session(), c.session()
		s.FailNextTurn("first")
		s.FailNextTurn("second")
		Expect(c.chat(one, "a").frames[1]).To(HaveKeyWithValue("errorText", "first"))
		Expect(c.chat(two, "b").frames[1]).To(HaveKeyWithValue("errorText", "second"))
		body := message(two, "older")
		body["messages"] = append(body["messages"].([]object), object{"role": "assistant", "content": "well"}, object{"role": "user", "content": "newer"})
		r := c.read(runtimeRequest(context.Background(), "/api/chat", body))
		r.rest()
		Expect(r.text()).To(And(ContainSubstring("newer"), Not(ContainSubstring("older"))))
		Expect(r.frames[2]).To(HaveKeyWithValue("id", "reasoning-3"))
	})

	DescribeTable("is refused", func(change func(body object), status int, detail string) {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		body := message(c.session(), "hello")
		change(body)
		got := c.do(runtimeRequest(context.Background(), "/api/chat", body))
		Expect(got.Status).To(Equal(status))
		Expect(got.Body).To(HaveKeyWithValue("detail", ContainSubstring(detail)))
		Expect(s.Turns()).To(BeEmpty())
	},
		Entry("in a session that there is not", func(b object) { b["runtime_session_uid"] = "nobody" }, 404, "no such session"),
		Entry("with the record of another session", func(b object) { b["session"] = object{"uid": "another"} }, 400, "is not runtime_session_uid"),
		Entry("without a text", func(b object) { b["messages"] = []object{{"role": "user", "content": []object{}}} }, 400, "has no text"),
	)

	It("is not canceled in a session that there is not", func() {
		c := clientOf(standin.New(GinkgoT()))
		Expect(c.cancel("nobody").Status).To(Equal(http.StatusNotFound))
	})
})
