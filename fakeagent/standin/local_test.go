package standin_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/standin"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

const pageURL = "https://page.test"

func localServer(opts ...standin.Option) *standin.Server {
	return standin.New(GinkgoT(), append(opts, standin.WithProfile(standin.ProfileLocal))...)
}

// local asks a local runtime, as a page does: with no token.
func (c client) local(method, path string, body any) answer {
	GinkgoHelper()
	return c.do(request(context.Background(), method, pageURL+"/__agent__"+path, "", body))
}

// said is the body of a message to a local runtime.
func said(session, text string) object {
	return object{"runtime_session_uid": session, "threadId": session, "messages": []object{{"role": "user", "content": []object{{"type": "text", "text": text}}}}}
}

// say sends a message to a local runtime.
func (c client) say(ctx context.Context, session, text string) *reading {
	GinkgoHelper()
	return c.read(request(ctx, "POST", pageURL+"/__agent__/api/chat", "", said(session, text)))
}

// told is the whole reply to a message.
func (c client) told(session, text string) *reading {
	GinkgoHelper()
	r := c.say(context.Background(), session, text)
	r.rest()
	return r
}

var _ = Describe("A local runtime", bubble.InBubble, func() {
	const list = "/api/local/v1/chat-sessions"
	var (
		s *standin.Server
		c client
	)
	BeforeEach(func() {
		s = localServer()
		c = clientOf(s)
	})
	hold := func(ctx context.Context, session, text string) *reading {
		GinkgoHelper()
		s.HoldReplies()
		r := c.say(ctx, session, text)
		Expect(s.AwaitHeld(ctx, session)).To(Succeed())
		r.until("reasoning-delta")
		return r
	}
	release := func(r *reading) {
		s.ReleaseReplies()
		r.rest()
	}
	listed := func(query string) (sessions []any, next any) {
		GinkgoHelper()
		a := c.local("GET", list+query, nil)
		Expect(a.Status).To(Equal(http.StatusOK), a.Text)
		Expect(a.Body).To(HaveLen(2))
		return a.Body["sessions"].([]any), a.Body["nextCursor"]
	}
	history := func(session string) object {
		GinkgoHelper()
		a := c.local("GET", list+"/"+session+"/history", nil)
		Expect(a.Status).To(Equal(http.StatusOK), a.Text)
		return a.Body
	}

	It("is ready, for whoever asks", func() {
		Expect(c.local("GET", "/ready", nil)).To(And(HaveField("Status", http.StatusOK), HaveField("Body", And(HaveKeyWithValue("ok", true), HaveKeyWithValue("startup_ready", true)))))
	})

	It("says of its health that it is a local one", func() {
		Expect(c.local("GET", "/health", nil)).To(And(HaveField("Status", http.StatusOK), HaveField("Body", And(HaveKeyWithValue("ok", true), HaveKeyWithValue("mode", "local")))))
	})

	It("says that it can chat", func() {
		Expect(c.local("GET", "/api/chat", nil)).To(And(HaveField("Status", http.StatusOK), HaveField("Body", HaveKeyWithValue("protocol", "ui-message-stream"))))
	})

	It("is not ready for as long as a fault says", func() {
		Expect(s.FailNextRequests(1, standin.Fault{Path: "/ready", Status: http.StatusServiceUnavailable, Detail: "starting"})).To(Succeed())
		Expect(c.local("GET", "/ready", nil)).To(And(HaveField("Status", http.StatusServiceUnavailable), HaveField("Body", object{"detail": "starting"})))
		Expect(c.local("GET", "/ready", nil).Status).To(Equal(http.StatusOK))
	})

	It("is recorded below its path, and takes a page's word for any origin", func() {
		c.get("http://other.test:81/__agent__/ready?a=1")
		Expect(s.Requests()).To(HaveExactElements(And(
			HaveField("Target", standin.AgentRuntime), HaveField("Path", "/ready"), HaveField("URL", "http://other.test:81/__agent__/ready?a=1"), HaveField("Query", url.Values{"a": {"1"}}))))
	})

	Describe("that is sent a message", func() {
		It("streams the reply that the platform's runtime has, and says in which session", func() {
			got := c.told("local-a", "What <is> this?")
			Expect(got.res.Header).To(And(
				HaveKeyWithValue("Content-Type", []string{"text/event-stream; charset=utf-8"}), HaveKeyWithValue("Cache-Control", []string{"no-cache"}),
				HaveKeyWithValue("X-Vercel-Ai-Ui-Message-Stream", []string{"v1"}), HaveKeyWithValue("X-Agent-Session-Uid", []string{"local-a"})))
			Expect(got.types()).To(Equal(replied))
			Expect(got.done).To(BeTrue())
			Expect(got.text()).To(And(ContainSubstring("What <is> this?"), ContainSubstring("stand-in-cloud/swift-1")))
			Expect(s.Sessions()).To(HaveExactElements(And(HaveField("UID", "local-a"), HaveField("Name", "What <is> this?"), HaveField("AgentUID", agentUID), HaveField("Transcript", HaveLen(2)))))
			Expect(s.Turns()).To(HaveExactElements(And(HaveField("Status", standin.Completed), HaveField("SessionUID", "local-a"))))
		})

		It("takes it as a text alone, too", func() {
			a := c.local("POST", "/api/chat", object{"sessionUid": "local-a", "message": "tea?"})
			Expect(a.Status).To(Equal(http.StatusOK))
			Expect(s.Turns()).To(HaveExactElements(HaveField("Text", "tea?")))
		})

		It("plays the script and the failure that are for it", func() {
			s.Reply(script.New(script.Say("you asked for {{input}}")), standin.InSession("local-b"))
			s.FailNextTurn("out of luck", standin.InSession("local-a"))
			Expect(c.told("local-b", "tea").text()).To(Equal("you asked for tea"))
			Expect(c.told("local-a", "tea").frames).To(ContainElement(object{"type": "error", "errorText": "out of luck"}))
			Expect(s.Sessions()[1].Transcript).To(HaveExactElements(HaveField("Role", "user")))
		})

		It("knows the session by a name that fits into a path, which is the same for the same one", func() {
			uid := func(body object) string {
				body["message"] = "hello"
				return c.local("POST", "/api/chat", body).Header.Get("X-Agent-Session-Uid")
			}
			mine := uid(object{"sessionUid": "mine / or yours?"})
			Expect(mine).To(MatchRegexp(`^local-[\w-]+$`))
			Expect(uid(object{"runtime_session_uid": "mine / or yours?"})).To(Equal(mine))
			Expect(uid(object{"agent_session_uid": mine})).To(Equal(mine))
			Expect(uid(object{"sessionUid": "mine"})).NotTo(Equal(mine))
			Expect(uid(object{"sessionUid": "local-\r\nX: y"})).To(MatchRegexp(`^local-[\w-]+$`))
			none := uid(object{})
			Expect(none).To(HaveSuffix("-default"))
			Expect(uid(object{"sessionUid": "default", "runtime_session_uid": "mine"})).To(Equal(none))
			Expect(s.Sessions()).To(HaveLen(4))
		})

		It("refuses one that has no text, with 422, and makes no session of it", func() {
			for _, body := range []any{nil, object{}, said("local-a", " \n"), object{"messages": []object{{"role": "assistant", "content": "x"}}},
				object{"messages": "x"}, object{"sessionUid": 4, "message": "x"}, "[]", `{"message`, "hello"} {
				a := c.local("POST", "/api/chat", body)
				Expect(a.Status).To(Equal(http.StatusUnprocessableEntity), fmt.Sprint(body))
				Expect(a.Body).To(And(HaveLen(1), HaveKeyWithValue("detail", Not(Or(BeEmpty(), ContainSubstring("struct"), ContainSubstring(".sessionUid"))))), a.Text)
			}
			Expect(s.Sessions()).To(BeEmpty())
		})

		It("refuses one while it answers in the same session, and in no other", func(ctx SpecContext) {
			r := hold(ctx, "local-a", "hello")
			Expect(c.local("POST", "/api/chat", said("local-a", "again"))).To(And(HaveField("Status", http.StatusConflict), HaveField("Body", And(HaveKey("detail"), HaveKeyWithValue("error", "session_busy")))))
			other := c.say(ctx, "local-b", "hello")
			release(r)
			other.rest()
			Expect(other.types()).To(Equal(replied))
		})

		It("takes its time, if it is told to", func() {
			c = clientOf(localServer(standin.WithFrameDelay(time.Second), standin.WithLatency(time.Minute)))
			began := time.Now()
			c.told("local-a", "hello")
			Expect(time.Since(began)).To(Equal(time.Duration(len(replied)) * time.Second))
		})
	})

	It("stops a turn, and says so when all is settled", func(ctx SpecContext) {
		r := hold(ctx, "local-a", "hello")
		cancel := func(session string) answer {
			return c.local("POST", "/api/chat/session/cancel", object{"sessionUid": session, "message": "user_requested"})
		}
		Expect(cancel("local-a")).To(And(HaveField("Status", http.StatusOK),
			HaveField("Body", object{"ok": true, "sessionUid": "local-a", "agentSessionUid": "local-a", "state": "cancelled", "working": false})))
		Expect(s.Turns()).To(HaveExactElements(And(HaveField("Status", standin.Stopped), HaveField("Abort", HaveValue(HaveField("By", "cancel"))))))
		Expect(cancel("local-a").Body).To(HaveKeyWithValue("state", "not_running"))
		Expect(cancel("local-b").Body).To(And(HaveKeyWithValue("state", "not_running"), HaveKeyWithValue("sessionUid", "local-b")))
		Expect(c.local("POST", "/api/chat/session/cancel", object{"runtime_session_uid": "local-c"}).Body).To(HaveKeyWithValue("sessionUid", "local-c"))
		Expect(c.local("POST", "/api/chat/session/cancel", "[]").Status).To(Equal(http.StatusUnprocessableEntity))
		r.rest()
		Expect(r.done).To(BeTrue())
		Expect(r.types()).NotTo(ContainElement("finish"))
		Expect(history("local-a")["session"]).To(HaveKeyWithValue("status", "completed"))
	})

	It("stops a turn whose client has gone", func(ctx SpecContext) {
		reads, leave := context.WithCancel(ctx)
		hold(reads, "local-a", "hello")
		leave()
		turn, err := s.AwaitTurn(ctx, 1, standin.Stopped)
		Expect(err).NotTo(HaveOccurred())
		Expect(turn.Abort).To(HaveValue(HaveField("By", "socket")))
	})

	Describe("and the model of a session", func() {
		const path = "/api/chat/session-model"
		selection := func(model string) object {
			return object{"sessionUid": "local-a", "provider": "stand-in-cloud", "model": model, "thinkingLevel": "high"}
		}
		get := func() any { return c.local("GET", path+"?sessionUid=local-a", nil).Body["model"] }
		first := object{"provider": "stand-in-cloud", "model": "swift-1", "thinkingLevel": nil}

		It("is told", func() {
			c.told("local-a", "hello")
			Expect(c.local("GET", path+"?sessionUid=local-a", nil)).To(And(HaveField("Status", http.StatusOK), HaveField("Body", object{"sessionUid": "local-a", "model": first})))
		})

		It("is changed, and the next turn has it", func() {
			c.told("local-a", "hello")
			want := object{"provider": "stand-in-cloud", "model": "deep-1", "thinkingLevel": "high"}
			Expect(c.local("PUT", path, selection("deep-1"))).To(And(HaveField("Status", http.StatusOK), HaveField("Body", object{"sessionUid": "local-a", "model": want})))
			Expect(get()).To(Equal(want))
			Expect(c.told("local-a", "hello").text()).To(ContainSubstring("stand-in-cloud/deep-1"))
			next := selection("deep-1")
			next["thinkingLevel"] = nil
			Expect(c.local("PUT", path, next).Body["model"]).To(HaveKeyWithValue("thinkingLevel", BeNil()))
		})

		It("is an error in the stream, if nobody is signed in for it", func() {
			c.told("local-a", "hello")
			Expect(c.local("PUT", path, object{"sessionUid": "local-a", "provider": "stand-in-labs", "model": "labs-preview"}).Status).To(Equal(http.StatusOK))
			Expect(c.told("local-a", "hello").frames).To(ContainElement(HaveKeyWithValue("errorText", ContainSubstring("not signed in"))))
		})

		It("is not found of one that nobody has written to", func() {
			for _, a := range []answer{c.local("GET", path+"?sessionUid=local-a", nil), c.local("GET", path, nil), c.local("PUT", path, selection("deep-1"))} {
				Expect(a).To(And(HaveField("Status", http.StatusNotFound), HaveField("Body", And(HaveKey("detail"), HaveKeyWithValue("error", "session_not_found")))))
			}
		})

		It("stays while a turn runs", func(ctx SpecContext) {
			r := hold(ctx, "local-a", "hello")
			Expect(c.local("PUT", path, selection("deep-1"))).To(And(HaveField("Status", http.StatusConflict), HaveField("Body", HaveKey("detail"))))
			Expect(get()).To(Equal(first))
			release(r)
			Expect(c.local("PUT", path, selection("deep-1")).Status).To(Equal(http.StatusOK))
		})

		It("stays if the request is wrong, which has 422", func() {
			c.told("local-a", "hello")
			for _, body := range []any{selection("swift-9"), selection(""), object{"sessionUid": "local-a", "model": "deep-1"}, object{"sessionUid": "local-a", "provider": 1}, `{"sess`} {
				Expect(c.local("PUT", path, body)).To(And(HaveField("Status", http.StatusUnprocessableEntity), HaveField("Body", HaveKeyWithValue("detail", Not(BeEmpty())))), fmt.Sprint(body))
			}
			Expect(get()).To(Equal(first))
		})
	})

	It("lists the model providers that the platform lists", func() {
		a := c.local("GET", "/api/chat/model-providers", nil)
		Expect(a.Status).To(Equal(http.StatusOK))
		Expect(a.Body).To(Equal(clientOf(standin.New(GinkgoT())).platform("GET", "/api/v1/model-providers/", nil).Body))
	})

	It("says what its agent is called", func() {
		c = clientOf(localServer(standin.WithIdentity(standin.Identity{AgentName: "Tea"})))
		Expect(c.local("GET", "/api/local/v1/agent", nil)).To(And(HaveField("Status", http.StatusOK),
			HaveField("Body", And(HaveLen(3), HaveKeyWithValue("name", "Tea"), HaveKeyWithValue("displayName", "Tea"), HaveKey("description")))))
	})

	Describe("lists its sessions", func() {
		It("with a title, the newest text, and whether a turn runs", func(ctx SpecContext) {
			Expect(c.local("GET", list, nil).Body).To(Equal(object{"sessions": []any{}, "nextCursor": nil}))
			long := strings.Repeat("ä", 100)
			s.Reply(script.New(script.Say("green tea")))
			c.told("local-a", long)
			sessions, next := listed("")
			Expect(next).To(BeNil())
			began := s.Sessions()[0]
			Expect(sessions).To(HaveExactElements(object{"sessionUid": "local-a", "title": long[:160], "messageCount": 2.0, "latestMessagePreview": "green tea",
				"createdAt": began.StartedAt, "updatedAt": began.UpdatedAt, "working": false}))
			time.Sleep(time.Second)
			r := hold(ctx, "local-a", "again")
			sessions, _ = listed("")
			Expect(sessions).To(HaveExactElements(And(HaveKeyWithValue("working", true), HaveKeyWithValue("messageCount", 4.0), HaveKeyWithValue("latestMessagePreview", "again"),
				HaveKeyWithValue("title", long[:160]), HaveKeyWithValue("createdAt", began.StartedAt), HaveKeyWithValue("updatedAt", Not(Equal(began.UpdatedAt))))))
			release(r)
		})

		It("of which that one is the first in which something was done last, in pages that stay apart", func() {
			uids := func(sessions []any) (all []string) {
				for _, one := range sessions {
					all = append(all, one.(object)["sessionUid"].(string))
				}
				return all
			}
			for _, uid := range []string{"local-a", "local-b", "local-c", "local-d", "local-a"} {
				c.told(uid, "hello")
			}
			time.Sleep(time.Second)
			c.told("local-c", "hello")
			all, _ := listed("")
			Expect(uids(all)).To(Equal([]string{"local-c", "local-a", "local-d", "local-b"}))
			one, next := listed("?limit=2")
			Expect(uids(one)).To(Equal([]string{"local-c", "local-a"}))
			time.Sleep(time.Second)
			c.told("local-e", "hello") // which would push local-a to the next page
			two, last := listed("?limit=2&cursor=" + url.QueryEscape(next.(string)))
			Expect(uids(two)).To(Equal([]string{"local-d", "local-b"}))
			Expect(last).To(BeNil())
		})

		It("but not for a limit or a cursor that is none", func() {
			for _, limit := range []string{"0", "101", "x"} {
				Expect(c.local("GET", list+"?limit="+limit, nil)).To(And(HaveField("Status", http.StatusUnprocessableEntity), HaveField("Body", HaveKey("detail"))))
			}
			for _, cursor := range []string{"x", "eA", "!"} {
				Expect(c.local("GET", list+"?cursor="+cursor, nil)).To(And(HaveField("Status", http.StatusBadRequest), HaveField("Body", HaveKey("detail"))))
			}
		})
	})

	Describe("tells the history of a session", func() {
		It("as the platform does", func() {
			c.told("mine", "hello")
			uid := s.Sessions()[0].UID
			got := history("mine")
			Expect(got).To(And(HaveLen(4), HaveKeyWithValue("version", 1.0), HaveKeyWithValue("inProgressMessage", BeNil())))
			Expect(got["session"]).To(And(HaveLen(9), HaveKeyWithValue("sessionId", uid), HaveKeyWithValue("agentSessionUid", uid), HaveKeyWithValue("agentName", "Stand-in Agent"),
				HaveKeyWithValue("status", "completed"), HaveKeyWithValue("error", BeNil()), HaveKeyWithValue("startedAt", s.Sessions()[0].StartedAt)))
			Expect(got["messages"]).To(HaveExactElements(
				And(HaveKeyWithValue("id", "message-1"), HaveKeyWithValue("role", "user"), HaveKeyWithValue("content", []any{object{"type": "text", "text": "hello"}})),
				And(HaveKeyWithValue("id", "message-2"), HaveKeyWithValue("content", HaveExactElements(
					HaveKeyWithValue("type", "reasoning"), HaveKeyWithValue("type", "tool-call"), HaveKeyWithValue("type", "text"))))))
			Expect(history(uid)).To(Equal(got))
		})

		It("with the message that is in progress", func(ctx SpecContext) {
			r := hold(ctx, "local-a", "hello")
			got := history("local-a")
			Expect(got["session"]).To(HaveKeyWithValue("status", "running"))
			Expect(got["messages"]).To(HaveExactElements(HaveKeyWithValue("role", "user")))
			Expect(got["inProgressMessage"]).To(And(HaveKeyWithValue("id", "message-2"), HaveKeyWithValue("content", HaveExactElements(HaveKeyWithValue("type", "reasoning")))))
			release(r)
		})

		It("with the error of a turn that has failed, until the next one", func() {
			c.told("local-b", "hello")
			s.FailNextTurn("out of luck")
			c.told("local-a", "hello")
			Expect(history("local-a")["session"]).To(And(HaveKeyWithValue("status", "error"), HaveKeyWithValue("error", "out of luck")))
			Expect(history("local-b")["session"]).To(HaveKeyWithValue("status", "completed"))
			c.told("local-a", "hello")
			Expect(history("local-a")["session"]).To(And(HaveKeyWithValue("status", "completed"), HaveKeyWithValue("error", BeNil())))
		})

		It("that nobody has written to yet, which is empty", func() {
			got := history("default")
			Expect(got).To(And(HaveKeyWithValue("messages", BeEmpty()), HaveKeyWithValue("messages", Not(BeNil())), HaveKeyWithValue("inProgressMessage", BeNil())))
			Expect(got["session"]).To(And(HaveKeyWithValue("status", "completed"), HaveKeyWithValue("startedAt", BeNil())))
			Expect(s.Sessions()).To(BeEmpty())
		})
	})

	It("that is an older one has neither a list nor histories, and its clients may ask for them", func() {
		s = localServer(standin.WithoutSessionList())
		c = clientOf(s)
		Expect(c.told("local-a", "hello").types()).To(Equal(replied))
		for _, path := range []string{list, list + "/local-a/history"} {
			Expect(c.local("GET", path, nil)).To(And(HaveField("Status", http.StatusNotFound), HaveField("Body", HaveKey("detail"))))
		}
		Expect(c.local("GET", "/api/local/v1/agent", nil).Status).To(Equal(http.StatusOK))
		Expect(s.UnhandledRequests()).To(BeEmpty())
	})

	It("has no other routes, and nothing of a platform", func() {
		s = localServer(standin.WithoutChecks())
		c = clientOf(s)
		Expect(c.local("GET", "/api/chat/nothing", nil).Status).To(Equal(http.StatusNotFound))
		wrong := c.local("DELETE", "/api/chat/session-model", nil)
		Expect(wrong.Status).To(Equal(http.StatusMethodNotAllowed))
		Expect(wrong.Header.Get("Allow")).To(Equal("GET, PUT"))
		for _, url := range []string{platformURL + listPath, runtimeURL + "/api/chat", pageURL + "/__agent__s/ready", pageURL + "/ready"} {
			Expect(c.get(url).Status).To(Equal(http.StatusNotFound), url)
		}
		Expect(s.UnhandledRequests()).To(HaveLen(6))
		Expect(s.UnhandledRequests()[5]).To(And(HaveField("Target", standin.Other), HaveField("Path", "/ready")))
	})

	It("stands beside a platform, to whom it passes on what is not its own", func() {
		platform := standin.New(GinkgoT())
		c = clientOf(localServer(standin.WithPassThrough(platform.RoundTripper())))
		Expect(c.chat(c.session(), "hello").types()).To(Equal(replied))
		Expect(c.told("local-a", "hello").types()).To(Equal(replied))
		Expect(platform.Turns()).To(HaveLen(1))
	})

	It("tells at the end of a test what is left", func(ctx SpecContext) {
		s, err := standin.NewUnstarted(standin.WithProfile(standin.ProfileLocal))
		Expect(err).NotTo(HaveOccurred())
		s.Reply(script.New(script.Say("x")), standin.Text("tea"))
		s.HoldReplies()
		r := clientOf(s).say(ctx, "local-a", "hello")
		Expect(s.AwaitHeld(ctx, "local-a")).To(Succeed())
		clientOf(s).local("GET", "/nothing", nil)
		Expect(s.Left()).To(And(ContainSubstring("a reply was not asked for"), ContainSubstring("there is no route for GET "+pageURL+"/__agent__/nothing"),
			ContainSubstring(`turn 1, of session local-a, for "hello", is still held`)))
		Expect(s.Close()).To(Succeed())
		r.rest()
	})

	DescribeTable("is below the path that it is told", func(path, at string) {
		s := localServer(standin.WithLocalPath(path))
		Expect(clientOf(s).get(pageURL + at + "/ready").Status).To(Equal(http.StatusOK))
		Expect(s.FindRequests("GET", "/ready")).To(HaveLen(1))
	},
		Entry("one", "/agents/one", "/agents/one"),
		Entry("one with a slash at its end", "/agent/", "/agent"),
		Entry("all", "/", ""),
	)

	DescribeTable("is not made", func(want string, opts ...standin.Option) {
		_, err := standin.NewUnstarted(opts...)
		Expect(err).To(MatchError(ContainSubstring(want)))
	},
		Entry("below what is no path", `"agent"; it must be one such as "/__agent__"`, standin.WithProfile(standin.ProfileLocal), standin.WithLocalPath("agent")),
		Entry("below another host", `"//a/b"`, standin.WithProfile(standin.ProfileLocal), standin.WithLocalPath("//a/b")),
		Entry("below a query", `"/a?b"`, standin.WithProfile(standin.ProfileLocal), standin.WithLocalPath("/a?b")),
		Entry("by a name that there is not", `there is no profile "locale"; use platform or local`, standin.WithProfile("locale")),
		Entry("with a path, if a platform is wanted", "for WithProfile(ProfileLocal)", standin.WithLocalPath("/a")),
		Entry("older, if a platform is wanted", "for WithProfile(ProfileLocal)", standin.WithoutSessionList(), standin.WithProfile(standin.ProfilePlatform)),
	)
})
