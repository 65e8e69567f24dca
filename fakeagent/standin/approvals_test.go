package standin_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/standin"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("An approval", bubble.InBubble, func() {
	asking := script.New(script.ApprovalStep{Approvals: []script.Approval{{Title: "rm -rf", Allow: []script.Step{script.Say("gone")}, Deny: []script.Step{script.Say("kept")}}}}, script.Say("done"))

	for _, dialect := range []standin.Dialect{standin.AISDK6, standin.AISDK7} {
		It("ends the response in the dialect "+string(dialect)+", and the next request that answers it continues the turn", func() {
			for approved, text := range map[bool]string{true: "gonedone", false: "keptdone"} {
				s := standin.New(GinkgoT(), standin.WithDialect(dialect))
				c := clientOf(s)
				session := c.session()
				s.Reply(asking)
				first := c.chat(session, "clean up")
				Expect(first.done).To(BeTrue())
				Expect(first.types()).To(Equal([]string{"start", "start-step", "tool-input-start", "tool-input-delta", "tool-input-delta", "tool-input-available",
					"tool-approval-request", "finish-step", "finish"}))
				Expect(first.frames[8]).To(HaveKeyWithValue("finishReason", "tool-calls"))
				Expect(s.Turns()).To(HaveExactElements(HaveField("Status", standin.Held)))
				Expect(c.do(c.chatRequest(context.Background(), session, "hello?")).Status).To(Equal(http.StatusConflict), "it waits for the answer")

				answer := message(session, "clean up")
				answer["messages"] = append(answer["messages"].([]object), object{"role": "assistant", "parts": []object{{"type": "dynamic-tool", "state": "approval-responded",
					"approval": object{"id": first.frames[6]["approvalId"], "approved": approved}}}})
				second := c.read(runtimeRequest(context.Background(), "/api/chat", answer))
				second.rest()
				Expect(second.done).To(BeTrue())
				Expect(second.frames[0]).To(Equal(first.frames[0]), "it is the same message")
				Expect(second.sdkText()).To(Equal(text))
				Expect(second.types()[len(second.frames)-2:]).To(Equal([]string{"finish-step", "finish"}))
				Expect(s.Turns()).To(HaveExactElements(And(HaveField("Status", standin.Completed), HaveField("Notes", BeEmpty()))))
				Expect(s.Sessions()[0].Transcript).To(HaveLen(2))
			}
		})
	}

	It("that nobody answers ends with the turn, which may be stopped", func() {
		s := standin.New(GinkgoT(), standin.WithDialect(standin.AISDK6))
		c := clientOf(s)
		session := c.session()
		s.Reply(asking)
		c.chat(session, "clean up")
		Expect(c.cancel(session["uid"]).Body).To(HaveKeyWithValue("status", "cancelled"))
		Expect(s.Turns()).To(HaveExactElements(And(HaveField("Status", standin.Stopped), HaveField("Abort", HaveValue(HaveField("By", "cancel"))))))
		Expect(c.chat(session, "again").done).To(BeTrue())
	})
})
