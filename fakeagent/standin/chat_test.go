package standin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/standin"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// replied are the types of the frames of the default reply.
var replied = []string{"start", "start-step", "reasoning-start", "reasoning-delta", "reasoning-delta", "reasoning-end",
	"tool-call-start", "tool-call-delta", "tool-call-delta", "tool-call-end", "tool-result", "data-sources",
	"text-start", "text-delta", "text-delta", "text-delta", "text-end", "finish-step", "finish"}

var _ = Describe("A chat", bubble.InBubble, func() {
	It("is streamed, frame by frame: reasoning, a search, sources, and a text that has the message and the model", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		session := c.session()
		got := c.chat(session, "What <is> this?")
		Expect(got.res.Header).To(And(HaveKeyWithValue("Content-Type", []string{"text/event-stream; charset=utf-8"}), HaveKeyWithValue("Cache-Control", []string{"no-cache"})))
		Expect(got.done).To(BeTrue())
		Expect(got.types()).To(Equal(replied))
		Expect(got.text()).To(And(ContainSubstring("What <is> this?"), ContainSubstring("stand-in-cloud/swift-1")))
		Expect(got.frames[0]).To(Equal(object{"type": "start", "messageId": "message-2"}))
		Expect(got.frames[2]).To(HaveKeyWithValue("id", "reasoning-1"))
		Expect(got.frames[6]).To(Equal(object{"type": "tool-call-start", "id": "call-1", "toolCallId": "call-1", "toolName": "stand_in_search"}))
		Expect(got.frames[7]["argsText"].(string) + got.frames[8]["argsText"].(string)).To(MatchJSON(`{"query":"What <is> this?"}`))
		Expect(got.frames[10]).To(And(HaveKeyWithValue("isError", false), HaveKeyWithValue("result", HaveKey("content"))))
		Expect(got.frames[18]).To(HaveKeyWithValue("finishReason", "stop"))
		Expect(s.Turns()).To(HaveExactElements(And(HaveField("Status", standin.Completed), HaveField("Text", "What <is> this?"), HaveField("Frames", HaveLen(len(replied))))))
	})

	It("is in the history, which says all of it to who has read the end", func() {
		c := clientOf(standin.New(GinkgoT()))
		session := c.session()
		history := "/api/v1/agent-sessions/" + session["uid"].(string) + "/history/"
		Expect(c.platform("GET", history, nil).Status).To(Equal(http.StatusNotFound))
		c.chat(session, "hello")
		got := c.platform("GET", history, nil)
		Expect(got.Status).To(Equal(http.StatusOK))
		Expect(got.Body["messages"]).To(HaveExactElements(
			And(HaveKeyWithValue("id", "message-1"), HaveKeyWithValue("role", "user")),
			And(HaveKeyWithValue("id", "message-2"), HaveKeyWithValue("content", HaveExactElements(
				HaveKeyWithValue("type", "reasoning"), And(HaveKeyWithValue("type", "tool-call"), HaveKeyWithValue("args", object{"query": "hello"})), HaveKeyWithValue("type", "text"))))))
		Expect(got.Body["inProgressMessage"]).To(BeNil())
	})

	It("has a message in progress at each of its frames, and a history also if it is stopped there", func(ctx SpecContext) {
		for n := range len(replied) - 1 { // with the last frame all is settled
			s := standin.New(GinkgoT(), standin.WithFrameDelay(time.Second))
			c := clientOf(s)
			session := c.session()
			r := c.start(ctx, session, "hello")
			for range n + 1 {
				Expect(r.next()).To(BeTrue())
			}
			got := c.platform("GET", path(session, "history/"), nil)
			Expect(got.Status).To(Equal(http.StatusOK), got.Text)
			Expect(got.Body["inProgressMessage"]).To(HaveKeyWithValue("content", Not(BeNil())))
			Expect(c.cancel(session["uid"]).Status).To(Equal(http.StatusOK))
			r.rest()
			Expect(c.platform("GET", path(session, "history/"), nil).Status).To(Equal(http.StatusOK))
		}
	})

	It("is held behind its reasoning, where the test says, and has a message in progress meanwhile", func(ctx SpecContext) {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		s.HoldReplies()
		session := c.session()
		uid := session["uid"].(string)
		r := c.start(ctx, session, "hello")
		Expect(s.AwaitHeld(ctx, uid)).To(Succeed())
		Expect(s.Turns()).To(HaveExactElements(HaveField("Status", standin.Held)))
		Expect(c.platform("GET", "/api/v1/agent-sessions/"+uid+"/history/", nil).Body["inProgressMessage"]).To(HaveKeyWithValue("id", "message-2"))
		busy := c.do(c.chatRequest(ctx, session, "again"))
		Expect(busy.Status).To(Equal(http.StatusConflict))
		s.ReleaseReplies()
		r.rest()
		Expect(r.types()).To(Equal(replied))
	})

	It("is held again, and let go again, as often as the test says", func(ctx SpecContext) {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		session := c.session()
		for range 2 {
			s.HoldReplies()
			r := c.start(ctx, session, "hello")
			Expect(s.AwaitHeld(ctx, session["uid"].(string))).To(Succeed())
			s.ReleaseReplies()
			r.rest()
			Expect(r.types()).To(Equal(replied))
			Expect(c.chat(session, "and now?").types()).To(Equal(replied))
		}
	})

	It("is waited for before it is asked for", func(ctx SpecContext) {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		session := c.session()
		s.HoldReplies()
		held := make(chan error, 1)
		go func() { held <- s.AwaitHeld(ctx, session["uid"].(string)) }()
		synctest.Wait()
		r := c.start(ctx, session, "hello")
		Expect(<-held).To(Succeed())
		s.ReleaseReplies()
		r.rest()
	})

	It("fails where the test says, in the session that it says, and the transcript has the message alone", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		one, two := c.session(), c.session()
		s.FailNextTurn("out of luck", standin.InSession(two["uid"].(string)))
		Expect(c.chat(one, "hello").types()).To(Equal(replied))
		got := c.chat(two, "hello")
		Expect(got.frames).To(HaveExactElements(HaveKeyWithValue("type", "start"), object{"type": "error", "errorText": "out of luck"}))
		Expect(got.done).To(BeTrue())
		Expect(s.Turns()[1].Status).To(Equal(standin.Failed))
		Expect(s.Sessions()[1].Transcript).To(HaveLen(1))
	})

	It("fails with all that a client may be told, in the order of the messages that were sent", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		session := c.session()
		s.FailNextTurnAs(standin.Failure{Text: "slow down", Code: "rate_limit", Detail: "too many", Source: "provider", Status: 429, AgentID: "a-1"})
		s.FailNextTurn("")
		Expect(c.chat(session, "one").frames[1]).To(Equal(object{"type": "error", "errorText": "slow down", "error_code": "rate_limit", "error_detail": "too many", "source": "provider", "agent_id": "a-1", "status": 429.0}))
		Expect(c.chat(session, "two").frames[1]).To(Equal(object{"type": "error", "errorText": "The stand-in was told to fail this turn."}))
	})

	It("is stopped by the socket: nothing is produced any more, and what was streamed stays", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		s.HoldReplies()
		session := c.session()
		ctx, cancel := context.WithCancel(context.Background())
		r := c.start(ctx, session, "hello")
		r.until("reasoning-delta")
		cancel()
		turn, err := s.AwaitTurn(context.Background(), 1, standin.Stopped)
		Expect(err).NotTo(HaveOccurred())
		Expect(turn.Abort).To(HaveValue(HaveField("By", "socket")))
		Expect(turn.Frames).To(HaveLen(turn.Abort.AtFrame))
		Expect(s.Sessions()[0].Transcript).To(HaveExactElements(HaveField("Role", "user"), HaveField("Content", HaveExactElements(HaveField("Type", "reasoning")))))
	})

	It("is stopped by the route for it: the stream ends with [DONE], and without a finish", func(ctx SpecContext) {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		s.HoldReplies()
		session := c.session()
		r := c.start(ctx, session, "hello")
		Expect(s.AwaitHeld(ctx, session["uid"].(string))).To(Succeed())
		Expect(c.cancel(session["uid"]).Body).To(HaveKeyWithValue("status", "cancelled"))
		r.rest()
		Expect(r.done).To(BeTrue())
		Expect(r.types()).NotTo(ContainElement("finish"))
		Expect(c.cancel(session["uid"]).Body).To(HaveKeyWithValue("status", "idle"))
	})

	It("plays the script that fits best", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		session := c.session()
		s.Reply(script.New(script.Say("anything"))).Always()
		s.Reply(script.New(script.Say("you asked for {{input}}")), standin.Text("tea"))
		Expect(c.chat(session, "coffee").text()).To(Equal("anything"))
		Expect(c.chat(session, "tea").text()).To(Equal("you asked for tea"))
		Expect(c.chat(session, "tea").text()).To(Equal("anything"))
	})

	It("takes its time, if it is told to", func() {
		s := standin.New(GinkgoT(), standin.WithFrameDelay(time.Second), standin.WithLatency(time.Minute))
		c := clientOf(s)
		began := time.Now()
		session := c.session()
		Expect(time.Since(began)).To(Equal(time.Minute))
		began = time.Now()
		c.chat(session, "hello")
		Expect(time.Since(began)).To(Equal(time.Duration(len(replied)) * time.Second))
	})

	It("has an error for a model that there is not, and for one that is not signed in", func() {
		c := clientOf(standin.New(GinkgoT()))
		session := c.session()
		for model, want := range map[[2]string]string{{"stand-in-labs", "labs-preview"}: "not signed in", {"stand-in-cloud", "swift-9"}: "not in the catalog"} {
			session["llm_provider"], session["llm_model"] = model[0], model[1]
			Expect(c.chat(session, "hello").frames).To(ContainElement(HaveKeyWithValue("errorText", ContainSubstring(want))))
		}
	})
})

var _ = Describe("A turn that is stopped as soon as it is asked for", func() {
	It("ends, though the agent had not begun it", bubble.InBubble, func() {
		s := standin.New(GinkgoT())
		s.HoldReplies()
		session := clientOf(s).session()
		deleted := make(chan int, 1)
		early := &hurried{ResponseRecorder: httptest.NewRecorder()}
		early.before = func() {
			go func() {
				w := httptest.NewRecorder()
				s.ServeHTTP(w, request(context.Background(), "DELETE", platformURL+path(session, ""), "a token", nil))
				deleted <- w.Code
			}()
			synctest.Wait()
		}
		s.ServeHTTP(early, clientOf(s).chatRequest(context.Background(), session, "hello"))
		Expect(<-deleted).To(Equal(http.StatusNoContent))
		Expect(s.Turns()).To(HaveExactElements(And(HaveField("Status", standin.Stopped), HaveField("Abort", HaveValue(HaveField("By", "delete"))))))
	})
})

// hurried does something before an answer begins.
type hurried struct {
	*httptest.ResponseRecorder
	before func()
}

func (r *hurried) WriteHeader(status int) {
	r.before()
	r.ResponseRecorder.WriteHeader(status)
}
