package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/standin"
)

var _ = Describe("The stream of a stand-in for a chat back end, as assistant-stream reads it,", func() {
	for _, library := range []string{"assistant-stream", "assistant-stream-024"} {
		Describe(map[string]string{"assistant-stream": "as it is now", "assistant-stream-024": "as it was before it knew a second dialect"}[library], func() {
			var (
				s    *standin.Server
				chat func(ctx context.Context, text, part string) chatted
				uid  string
			)
			BeforeEach(func(ctx SpecContext) {
				s = standin.New(GinkgoT())
				url := s.Start()
				session := postJSON(ctx, url+"/api/v1/agents/"+standin.DefaultIdentity().AgentUID+"/start-new-session/", "a token", nil)
				uid = session["uid"].(string)
				access := postJSON(ctx, url+"/api/v1/agent-sessions/"+uid+"/resolve-runtime-access/", "a token", nil)
				chat = func(ctx context.Context, text, part string) chatted {
					GinkgoHelper()
					return streamClient(ctx, library, part, map[string]any{"url": access["rpc_url"].(string) + "/api/chat", "token": access["token"], "body": map[string]any{
						"runtime_session_uid": uid, "session": session,
						"messages": []any{map[string]any{"role": "user", "parts": []any{map[string]any{"type": "text", "text": text}}}},
					}})
				}
			})
			// transcribed is what the session has of the answer.
			transcribed := func() []standin.Part {
				GinkgoHelper()
				transcript := s.Sessions()[0].Transcript
				Expect(transcript).To(HaveExactElements(HaveField("Role", "user"), HaveField("Role", "assistant")))
				return transcript[1].Content
			}

			It("is a message that has all of the transcript: reasoning, a call with its arguments and its result, text, and the data part besides", func(ctx SpecContext) {
				got := chat(ctx, "What <is> \"this\"?\n\ndata: [DONE]\n\n", "")
				Expect(got.Error).To(BeEmpty())
				Expect(got.parts()).To(Equal(normal(transcribed())))
				Expect(got.Message.Parts).To(HaveExactElements(HaveField("Type", "reasoning"), HaveField("Type", "tool-call"), HaveField("Type", "text")))
				Expect(got.Message.Status).To(MatchJSON(`{"type":"complete","reason":"stop"}`))
				Expect(got.Message.Metadata.Data).To(HaveExactElements(MatchJSON(
					`{"name":"sources","data":{"sources":[{"title":"Stand-in page","detail":"What the stand-in knows of it"}]}}`)))
			})

			It("has the finish reason and the usage, in the step and at the end", func(ctx SpecContext) {
				s.Reply(script.New(script.UsageStep{UsedTokens: 1, InputTokens: 1234, OutputTokens: 567}, script.Say("hi")))
				got := chat(ctx, "hello", "")
				Expect(got.Error).To(BeEmpty())
				last := got.Message.Metadata.Steps[len(got.Message.Metadata.Steps)-1]
				Expect(last).To(MatchJSON(`{"state":"finished","messageId":"message-2","finishReason":"stop","usage":{"inputTokens":1234,"outputTokens":567},"isContinued":false}`))
				Expect(got.Finish).To(MatchJSON(`{"finishReason":"stop","usage":{"inputTokens":1234,"outputTokens":567}}`))
				Expect(s.Sessions()[0].Transcript[1].ID).To(Equal("message-2"))
			})

			It("loses nothing of long texts in many pieces, of calls that fail, and of calls between texts", func(ctx SpecContext) {
				long := strings.Repeat("Grüße 👩‍👩‍👧 \u2028 \u0000 \r\n: event: x\n\n", 200)
				s.Reply(script.New(
					script.ThinkStep{Text: long, Chunks: 500},
					script.ToolStep{Name: "look <up>", Input: []byte(`{"text":"👩‍👩‍👧","deep":{"list":[1,2.5,null,true]}}`), Output: []byte(`{"found":["ü",{"n":-1e3}]}`)},
					script.SayStep{Text: long, Chunks: 500},
					script.ToolStep{Name: "look", Input: []byte(`{}`), Error: "out of luck"},
					script.Bash("make", "out", 2),
					script.Think("hm"),
					script.SayStep{Text: "a b", Chunks: 3},
				))
				got := chat(ctx, "hello", "")
				Expect(got.Error).To(BeEmpty())
				parts := got.parts()
				Expect(parts).To(Equal(normal(transcribed())))
				Expect(parts).To(HaveLen(7))
				Expect(parts[0].Text).To(Equal(long))
				Expect(parts[3].IsError).To(BeTrue())
			})

			It("has the error of a turn that fails, and what came before", func(ctx SpecContext) {
				s.Reply(script.New(script.Say("so far"), script.Fail("out of luck")))
				got := chat(ctx, "hello", "")
				Expect(got.Error).To(BeEmpty())
				Expect(got.parts()).To(Equal([]standin.Part{{Type: "text", Text: "so far"}}))
				if library == "assistant-stream" {
					Expect(got.Message.Status).To(MatchJSON(`{"type":"incomplete","reason":"error","error":{"code":"unknown","message":"out of luck"}}`))
				} else {
					Expect(got.Message.Status).To(MatchJSON(`{"type":"incomplete","reason":"error","error":"out of luck"}`))
				}
				Expect(s.Turns()).To(HaveExactElements(HaveField("Status", standin.Failed)))
			})

			It("ends well where the turn is stopped by the route for it, without a finish", func(ctx SpecContext) {
				s.HoldReplies()
				canceled := make(chan map[string]any, 1)
				go func() {
					defer GinkgoRecover()
					defer close(canceled)
					if s.AwaitHeld(ctx, uid) == nil {
						canceled <- postJSON(ctx, s.URL()+"/__runtime__/api/chat/session/cancel", standin.DefaultIdentity().RuntimeToken, map[string]any{"runtime_session_uid": uid})
					}
				}()
				got := chat(ctx, "hello", "")
				Expect(<-canceled).To(HaveKeyWithValue("status", "cancelled"))
				Expect(got.Error).To(BeEmpty())
				Expect(got.Finish).To(BeNil())
				Expect(got.Message.Status).To(MatchJSON(`{"type":"complete","reason":"unknown"}`))
				Expect(got.parts()).To(And(HaveExactElements(HaveField("Type", "reasoning")), Equal(normal(transcribed()))))
			})

			It("may be left by the client, and the transcript has no less than the client has read", func(ctx SpecContext) {
				s.HoldReplies()
				got := chat(ctx, "hello", "reasoning")
				Expect(got.Left).To(BeTrue())
				turn, err := s.AwaitTurn(ctx, 1, standin.Stopped)
				Expect(err).NotTo(HaveOccurred())
				Expect(turn.Abort).To(HaveValue(HaveField("By", "socket")))
				kept := transcribed()
				Expect(kept).To(HaveLen(1))
				Expect(got.parts()).To(HaveExactElements(HaveField("Type", "reasoning")))
				Expect(kept[0].Text).To(HavePrefix(got.parts()[0].Text))
			})
		})
	}
})

// chatted is what clients/stream-client.mjs prints.
type chatted struct {
	Message struct {
		Status json.RawMessage
		Parts  []struct {
			Type, Text                     string
			ToolCallID, ToolName, ArgsText string
			Args, Result                   json.RawMessage
			IsError                        bool
		}
		Metadata struct {
			Steps []json.RawMessage
			Data  []json.RawMessage `json:"unstable_data"`
		}
	}
	Finish json.RawMessage
	Left   bool
	Error  string
}

// parts are those of the message as a transcript would have them. The arguments are read twice by the library, and must be the same.
func (c chatted) parts() (all []standin.Part) {
	GinkgoHelper()
	for _, p := range c.Message.Parts {
		part := standin.Part{Type: p.Type, Text: p.Text, ToolCallID: p.ToolCallID, ToolName: p.ToolName, Result: p.Result, IsError: p.IsError}
		if p.Type == "tool-call" {
			part.Args = json.RawMessage(p.ArgsText)
			var args map[string]any // the library adds a symbol of its own to the object, which JSON has not
			Expect(json.Unmarshal(p.Args, &args)).To(Succeed())
			Expect(json.Marshal(args)).To(MatchJSON(p.ArgsText))
		}
		all = append(all, part)
	}
	return normal(all)
}

// normal has results in the one form that all JSON of the same meaning has.
func normal(parts []standin.Part) []standin.Part {
	GinkgoHelper()
	all := append([]standin.Part(nil), parts...)
	for i, p := range all {
		if p.Result == nil {
			continue
		}
		var v any
		Expect(json.Unmarshal(p.Result, &v)).To(Succeed())
		text, err := json.Marshal(v)
		Expect(err).NotTo(HaveOccurred())
		all[i].Result = text
	}
	return all
}

// streamClient has a library read a reply, and go away at the first part of a type, if that is not "".
func streamClient(ctx context.Context, library, part string, task map[string]any) (got chatted) {
	GinkgoHelper()
	node, _ := peer(library + "/dist/index.js")
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	input, err := json.Marshal(task)
	Expect(err).NotTo(HaveOccurred())
	cmd := exec.CommandContext(ctx, node, "clients/stream-client.mjs", library, part)
	cmd.Stdin = bytes.NewReader(input)
	out, code := output(ctx, cmd)
	Expect(code).To(BeZero(), out)
	Expect(json.Unmarshal([]byte(out), &got)).To(Succeed(), out)
	return got
}

// postJSON asks a server, and returns the object that it answers with.
func postJSON(ctx context.Context, url, token string, body any) (answer map[string]any) {
	GinkgoHelper()
	text, err := json.Marshal(body)
	Expect(err).NotTo(HaveOccurred())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	Expect(err).NotTo(HaveOccurred())
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	Expect(err).NotTo(HaveOccurred())
	defer res.Body.Close()
	Expect(res.StatusCode).To(BeNumerically("<", 300))
	Expect(json.NewDecoder(res.Body).Decode(&answer)).To(Succeed())
	return answer
}
