package standin_test

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/standin"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("Replies", bubble.InBubble, func() {
	It("are for sessions, turns, texts, and whatever a function says", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		one, two := c.session(), c.session()
		s.Reply(script.New(script.Say("of two")), standin.InSession(two["uid"].(string)), standin.Nth(2))
		s.Reply(script.New(script.Say("tea")), standin.Text("tea"))
		s.Reply(script.New(script.Say("long")), standin.When(func(t standin.Turn) bool { return len(t.Text) > 20 }))
		Expect(c.chat(one, "tea").text()).To(Equal("tea"))
		Expect(c.chat(two, "first").text()).To(ContainSubstring("first"))
		Expect(c.chat(two, "second").text()).To(Equal("of two"))
		Expect(c.chat(one, "something that is rather long").text()).To(Equal("long"))
	})

	It("are played as often as they are told to, one after the other", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		session := c.session()
		s.Reply(script.New(script.Say("one"))).Times(2)
		s.Reply(script.New(script.Say("two")))
		for _, want := range []string{"one", "one", "two"} {
			Expect(c.chat(session, "go").text()).To(Equal(want))
		}
	})

	It("may have any step: what the client cannot answer is answered, and noted", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		s.Reply(script.New(
			script.QuestionStep{Blocking: true, Questions: []script.Question{{ID: "q", Header: "h", Question: "ok?", Options: []script.QuestionOption{{Label: "yes"}}}}},
			script.ToolStep{Name: "look", Input: json.RawMessage(`{"at":"it"}`), Error: "there is none"},
			script.Say("done"),
		))
		got := c.chat(c.session(), "go")
		Expect(got.types()).To(ContainElement("finish"))
		Expect(got.frames).To(ContainElement(And(HaveKeyWithValue("type", "tool-result"), HaveKeyWithValue("isError", true))))
		Expect(s.Turns()[0].Notes).To(HaveExactElements(ContainSubstring("user-input.requested was answered at once")))
		s.Reply(script.New(script.ApprovalStep{Approvals: []script.Approval{{Title: "rm", Allow: []script.Step{script.Say("allowed")}}}}))
		Expect(c.chat(c.session(), "go").types()).NotTo(ContainElements("text-delta", "finish"))
		Expect(s.Turns()[1]).To(And(HaveField("Status", standin.Stopped), HaveField("Notes", HaveExactElements(ContainSubstring("request.opened was answered at once")))))
	})

	It("that nobody asked for are told at the end, with failures, requests without a route, and turns that still run", func() {
		s, err := standin.NewUnstarted()
		Expect(err).NotTo(HaveOccurred())
		c := clientOf(s)
		session := c.session()
		s.HoldReplies()
		ctx, cancel := context.WithCancel(context.Background())
		r := c.start(ctx, session, "hello")
		r.until("reasoning-end")
		Expect(s.AwaitHeld(ctx, session["uid"].(string))).To(Succeed())
		s.Reply(script.New(script.Say("x")), standin.Text("tea"))
		s.Reply(script.New(script.Say("y"))).Always()
		s.FailNextTurn("")
		Expect(c.platform("GET", "/api/v1/nowhere/", nil).Status).To(Equal(404))
		Expect(s.Left()).To(And(
			ContainSubstring(`a reply was not asked for: {"steps":[{"say":"x"}]} (for a message with "tea")`), ContainSubstring(`{"steps":[{"say":"y"}]}`),
			ContainSubstring("a failure was not asked for"), ContainSubstring("there is no route for GET https://platform.stand-in.test/api/v1/nowhere/, which was answered with 404"),
			ContainSubstring(`turn 1, of session `+session["uid"].(string)+`, for "hello", is still held`)))
		cancel()
		Expect(s.Close()).To(Succeed())
	})

	It("that are two for one turn are told", func() {
		s := standin.New(GinkgoT(), standin.WithoutChecks())
		c := clientOf(s)
		s.Reply(script.New(script.Say("x")), standin.Text("tea"))
		s.Reply(script.New(script.Say("y")), standin.Nth(1))
		Expect(c.chat(c.session(), "tea").text()).To(Equal("x"))
		Expect(s.Left()).To(ContainSubstring(`turn 1 fits the replies {"steps":[{"say":"x"}]} (for a message with "tea") and {"steps":[{"say":"y"}]} (for turn 1 of a session)`))
	})
})
