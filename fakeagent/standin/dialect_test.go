package standin_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/standin"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("A dialect", bubble.InBubble, func() {
	reply := func() script.Script {
		return script.New(script.Think("hm"), script.ToolStep{Name: "look", Input: json.RawMessage(`{"at":"it"}`), Output: json.RawMessage(`{"n":1}`)},
			script.ToolStep{Name: "look", Input: json.RawMessage(`{}`), Error: "there is none"}, script.Say("<done>"))
	}

	It("is the server's, or that of a reply, and changes nothing but the frames", func() {
		s := standin.New(GinkgoT(), standin.WithDialect(standin.AISDK5))
		c := clientOf(s)
		session := c.session()
		s.Reply(reply())
		s.Reply(reply()).In(standin.PlatformDialect)
		sdk, platform := c.chat(session, "one"), c.chat(session, "two")
		Expect(sdk.types()).To(Equal([]string{"start", "start-step", "reasoning-start", "reasoning-delta", "reasoning-end",
			"tool-input-start", "tool-input-delta", "tool-input-delta", "tool-input-available", "tool-output-available",
			"tool-input-start", "tool-input-delta", "tool-input-delta", "tool-input-available", "tool-output-error",
			"text-start", "text-delta", "text-end", "finish-step", "finish"}))
		Expect(sdk.frames).To(ContainElements(
			object{"type": "tool-input-available", "toolCallId": "call-1", "toolName": "look", "input": object{"at": "it"}},
			object{"type": "tool-output-available", "toolCallId": "call-1", "output": object{"n": 1.0}},
			object{"type": "tool-output-error", "toolCallId": "call-1-2", "errorText": "there is none"},
			object{"type": "text-delta", "id": "text-1", "delta": "<done>"}))
		Expect(sdk.res.Header).To(And(HaveKeyWithValue("X-Vercel-Ai-Ui-Message-Stream", []string{"v1"}), HaveKeyWithValue("X-Accel-Buffering", []string{"no"})))
		Expect(platform.types()).To(ContainElements("tool-call-start", "tool-result"))
		transcript := s.Sessions()[0].Transcript
		for i, p := range transcript[1].Content {
			other := transcript[3].Content[i]
			p.ToolCallID, other.ToolCallID = "", ""
			Expect(p).To(Equal(other))
		}
	})

	It("is refused, if there is none of that name", func() {
		_, err := standin.NewUnstarted(standin.WithDialect("klingon"))
		Expect(err).To(MatchError(`standin: there is no dialect "klingon"; use platform, aisdk5, aisdk6 or aisdk7`))
	})
})
