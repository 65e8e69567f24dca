package standin_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/standin"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// list is an answer that is an array, or the results of one that has pages.
func (a answer) list() []any {
	GinkgoHelper()
	if a.Body != nil {
		return a.Body["results"].([]any)
	}
	var all []any
	Expect(a.Text).To(HavePrefix("["))
	decode(a.Text, &all)
	return all
}

func uids(a answer) (all []string) {
	GinkgoHelper()
	Expect(a.Status).To(Equal(http.StatusOK), a.Text)
	for _, one := range a.list() {
		all = append(all, one.(object)["uid"].(string))
	}
	return all
}

// path is that of a session.
func path(session object, below string) string {
	return sessionsPath + session["uid"].(string) + "/" + below
}

var _ = Describe("Sessions", bubble.InBubble, func() {
	var (
		s *standin.Server
		c client
	)
	BeforeEach(func() {
		s = standin.New(GinkgoT())
		c = clientOf(s)
	})
	uid := func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-1%011d", n) }

	Describe("in a list", func() {
		It("are the newest first, and of those of one instant the later one", func() {
			c.session()
			c.session()
			time.Sleep(time.Second)
			c.session()
			Expect(uids(c.platform("GET", listPath, nil))).To(Equal([]string{uid(3), uid(2), uid(1)}))
			Expect(uids(c.platform("GET", listPath+"&ordering=-started_at", nil))).To(Equal([]string{uid(3), uid(2), uid(1)}))
		})

		It("are in the order in which they were put away, if that is asked for", func() {
			for range 3 {
				c.session()
			}
			for _, n := range []int{2, 1} {
				time.Sleep(time.Second)
				c.platform("POST", sessionsPath+uid(n)+"/archive/", nil)
			}
			Expect(uids(c.platform("GET", listPath+"&ordering=-archived_at", nil))).To(Equal([]string{uid(1), uid(2), uid(3)}))
		})

		It("can be those that are put away, those of an agent, and those that have a text", func() {
			one, two := c.session(), c.session()
			other := c.platform("POST", "/api/v1/agents/other/start-new-session/", nil).Body
			s.Reply(script.New(script.Say("Tea is GREEN")))
			c.chat(one, "hello")
			c.platform("POST", path(two, "archive/"), nil)
			for query, want := range map[string][]object{
				"":                              {other, two, one},
				"&is_archived=true":             {two},
				"&is_archived=False":            {other, one},
				"&agent_uid=other":              {other},
				"&agent_id=" + agentUID:         {two, one},
				"&agent_id=x&agent_uid=other":   {other},
				"&q=green":                      {one},
				"&q=HELLO":                      {one},
				"&q=session+2":                  {two},
				"&q=green&agent_uid=other":      {},
				"&is_archived=0&agent_id=other": {other},
			} {
				all := []string{}
				for _, w := range want {
					all = append(all, w["uid"].(string))
				}
				Expect(append([]string{}, uids(c.platform("GET", listPath+query, nil))...)).To(Equal(all), query)
			}
		})

		It("come in pages, each with the addresses of those beside it", func() {
			for range 5 {
				c.session()
			}
			from := "https://app.test/__platform__" + listPath + "&limit=2"
			get := func(url any) answer { return c.do(request(context.Background(), "GET", url.(string), "a token", nil)) }
			one := get(from)
			Expect(one.Body).To(And(HaveKeyWithValue("count", 5.0), HaveKeyWithValue("previous", BeNil()), HaveKeyWithValue("next", HavePrefix("https://app.test/__platform__/api/v1/"))))
			two := get(one.Body["next"])
			three := get(two.Body["next"])
			Expect(append(append(uids(one), uids(two)...), uids(three)...)).To(Equal([]string{uid(5), uid(4), uid(3), uid(2), uid(1)}))
			Expect(three.Body["next"]).To(BeNil())
			Expect(uids(get(three.Body["previous"]))).To(Equal(uids(two)))
			Expect(uids(get(two.Body["previous"]))).To(Equal(uids(one)))
			Expect(uids(get(from + "&offset=9"))).To(BeEmpty())
		})

		It("are 20 unless a limit says otherwise, which is from 1 to 100", func() {
			for range 101 {
				c.session()
			}
			for limit, want := range map[string]int{"": 20, "&limit=0": 1, "&limit=-3": 1, "&limit=7": 7, "&limit=1000": 100} {
				Expect(uids(c.platform("GET", listPath+limit, nil))).To(HaveLen(want), limit)
			}
		})

		It("are refused for a query that is wrong, with the name of what is", func() {
			Expect(c.platform("GET", sessionsPath, nil)).To(And(HaveField("Status", http.StatusBadRequest), HaveField("Body", HaveKeyWithValue("organization_environment_uid", HaveLen(1)))))
			for _, name := range []string{"ordering", "limit", "offset", "is_archived"} {
				a := c.platform("GET", listPath+"&"+name+"=x", nil)
				Expect(a.Status).To(Equal(http.StatusBadRequest))
				Expect(a.Body).To(HaveKeyWithValue(name, HaveExactElements(BeAssignableToTypeOf(""))))
			}
		})
	})

	It("begin with the default model, under any agent, and are there again by their id", func() {
		a := c.platform("POST", "/api/v1/agents/whoever/start-new-session/", nil)
		Expect(a.Status).To(Equal(http.StatusCreated))
		Expect(a.Body).To(And(
			HaveLen(14), HaveKeyWithValue("agent_uid", "whoever"), HaveKeyWithValue("status", "idle"), HaveKeyWithValue("is_archived", false), HaveKeyWithValue("archived_at", BeNil()),
			HaveKeyWithValue("llm_provider", "stand-in-cloud"), HaveKeyWithValue("llm_model", "swift-1"), HaveKeyWithValue("llm_thinking", "medium")))
		Expect(c.platform("GET", path(a.Body, ""), nil).Body).To(Equal(a.Body))
		Expect(s.Sessions()).To(HaveExactElements(And(HaveField("UID", uid(1)), HaveField("AgentUID", "whoever"))))
	})

	It("that there are not are not found, on any route", func() {
		for _, r := range s.Routes() {
			if strings.Contains(r.Path, "{session}") {
				a := c.platform(r.Method, strings.ReplaceAll(r.Path, "{session}", "nobody"), nil)
				Expect(a).To(And(HaveField("Status", http.StatusNotFound), HaveField("Body", object{"detail": "Not found."})), r.Path)
			}
		}
		Expect(s.UnhandledRequests()).To(BeEmpty())
	})

	Describe("and their model", func() {
		It("is changed, and with it how much they think, if that is said", func() {
			one := c.session()
			time.Sleep(time.Second)
			a := c.platform("PATCH", path(one, ""), object{"llm_provider": "stand-in-cloud", "llm_model": "deep-1"})
			Expect(a.Status).To(Equal(http.StatusOK))
			Expect(a.Body).To(And(HaveKeyWithValue("llm_model", "deep-1"), HaveKeyWithValue("llm_thinking", "medium"), HaveKeyWithValue("updated_at", Not(Equal(one["updated_at"])))))
			a = c.platform("PATCH", path(one, ""), object{"llm_provider": "stand-in-cloud", "llm_model": "swift-1", "llm_thinking": "high"})
			Expect(a.Body).To(And(HaveKeyWithValue("llm_model", "swift-1"), HaveKeyWithValue("llm_thinking", "high")))
		})

		It("stays if the request is wrong, and each field says what is", func() {
			one := c.session()
			for _, wrong := range []struct {
				body any
				want []string
			}{
				{nil, []string{"llm_provider", "llm_model"}},
				{object{"llm_model": "deep-1"}, []string{"llm_provider"}},
				{object{"llm_provider": "stand-in-cloud", "llm_model": "swift-9"}, []string{"llm_model"}},
				{object{"llm_provider": "stand-in-cloud", "llm_model": 4}, []string{"llm_model"}},
				{"[]", []string{"non_field_errors"}},
				{"null", []string{"non_field_errors"}},
				{`{"llm_model`, []string{"detail"}},
			} {
				a := c.platform("PATCH", path(one, ""), wrong.body)
				Expect(a.Status).To(Equal(http.StatusBadRequest))
				Expect(a.Body).To(HaveLen(len(wrong.want)), a.Text)
				for _, name := range wrong.want {
					Expect(a.Body).To(HaveKey(name))
				}
				Expect(a.Text).NotTo(Or(ContainSubstring("struct"), ContainSubstring("Go ")))
			}
			Expect(c.platform("GET", path(one, ""), nil).Body).To(Equal(one))
		})

		It("stays while a turn runs", func(ctx SpecContext) {
			s.HoldReplies()
			one := c.session()
			r := c.start(ctx, one, "hello")
			Expect(s.AwaitHeld(ctx, uid(1))).To(Succeed())
			a := c.platform("PATCH", path(one, ""), object{"llm_provider": "stand-in-cloud", "llm_model": "deep-1"})
			Expect(a.Status).To(Equal(http.StatusConflict))
			Expect(a.Body).To(And(HaveKey("detail"), HaveKeyWithValue("error_code", "agent_session_selection_runtime_active")))
			Expect(c.platform("GET", path(one, ""), nil).Body).To(HaveKeyWithValue("status", "running"))
			s.ReleaseReplies()
			r.rest()
			Expect(c.platform("PATCH", path(one, ""), object{"llm_provider": "stand-in-cloud", "llm_model": "deep-1"}).Status).To(Equal(http.StatusOK))
		})
	})

	Describe("that are deleted", func() {
		It("are gone", func() {
			one, two := c.session(), c.session()
			c.chat(one, "hello")
			a := c.platform("DELETE", path(one, ""), nil)
			Expect(a).To(And(HaveField("Status", http.StatusNoContent), HaveField("Text", "")))
			Expect(c.platform("GET", path(one, ""), nil).Status).To(Equal(http.StatusNotFound))
			Expect(uids(c.platform("GET", listPath, nil))).To(Equal([]string{two["uid"].(string)}))
			Expect(c.do(c.chatRequest(context.Background(), one, "again")).Status).To(Equal(http.StatusNotFound))
			Expect(s.Turns()).To(HaveExactElements(HaveField("Status", standin.Completed)))
		})

		It("have their turn stopped first: its stream is over when the answer comes, and its record says who it was", func(ctx SpecContext) {
			s.HoldReplies()
			one := c.session()
			r := c.start(ctx, one, "hello")
			Expect(s.AwaitHeld(ctx, uid(1))).To(Succeed())
			Expect(c.platform("DELETE", path(one, ""), nil).Status).To(Equal(http.StatusNoContent))
			turn := s.Turns()[0]
			Expect(turn.Status).To(Equal(standin.Stopped))
			Expect(turn.Abort).To(HaveValue(Equal(standin.Abort{By: "delete", AtFrame: len(turn.Frames)})))
			r.rest()
			Expect(r.done).To(BeTrue())
			Expect(r.frames).To(HaveLen(len(turn.Frames)))
			Expect(r.types()).NotTo(ContainElement("finish"))
			Expect(s.Left()).To(BeEmpty())
		})

		It("keep nobody waiting who has given up, though the stream is not read", func(ctx SpecContext) {
			s.Reply(script.New(script.SayStep{Text: strings.Repeat("long ", 1<<17), Chunks: 100}))
			one := c.session()
			r := c.start(ctx, one, "hello")
			r.until("text-start")
			synctest.Wait() // until there is no more room for what is not read
			patience, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := c.Do(request(patience, "DELETE", platformURL+path(one, ""), "t", nil))
			Expect(err).To(MatchError(context.DeadlineExceeded))
			synctest.Wait()
			Expect(s.FindRequests("DELETE", path(one, ""))).To(HaveExactElements(HaveField("Status", http.StatusNoContent)))
			Expect(s.Turns()[0].Abort).To(HaveValue(HaveField("By", "delete")))
			Expect(s.Turns()[0].Status).To(Equal(standin.Stopped))
			r.rest()
			Expect(r.done).To(BeTrue())
		})
	})

	It("are put away, and taken out again", func() {
		one := c.session()
		time.Sleep(time.Second)
		a := c.platform("POST", path(one, "archive/"), nil)
		Expect(a.Status).To(Equal(http.StatusOK))
		Expect(a.Body).To(And(HaveKeyWithValue("is_archived", true), HaveKeyWithValue("archived_at", a.Body["updated_at"])))
		Expect(a.Body["updated_at"]).NotTo(Equal(one["updated_at"]))
		a = c.platform("POST", path(one, "unarchive/"), nil)
		Expect(a.Body).To(And(HaveKeyWithValue("is_archived", false), HaveKeyWithValue("archived_at", BeNil())))
	})

	Describe("by a handle", func() {
		const by = "/api/v1/agents/" + agentUID + "/sessions/get-or-create-session/"

		It("are made once for each agent and environment", func() {
			a := c.platform("POST", by, object{"handle_unique_id": "h", "llm_provider": "stand-in-cloud", "llm_model": "deep-1"})
			Expect(a.Status).To(Equal(http.StatusCreated))
			Expect(a.Body).To(And(HaveKeyWithValue("handle_unique_id", "h"), HaveKeyWithValue("llm_model", "deep-1")))
			Expect(c.platform("POST", by, object{"handle_unique_id": "h"})).To(And(HaveField("Status", http.StatusOK), HaveField("Body", a.Body)))
			Expect(c.platform("POST", by, object{"handle_unique_id": "i"}).Status).To(Equal(http.StatusCreated))
			Expect(c.platform("POST", strings.Replace(by, agentUID, "other", 1), object{"handle_unique_id": "h"}).Status).To(Equal(http.StatusCreated))
			c.platform("GET", sessionsPath+"?organization_environment_uid=elsewhere", nil)
			Expect(c.platform("POST", by, object{"handle_unique_id": "h"}).Status).To(Equal(http.StatusCreated))
			Expect(s.Sessions()).To(HaveLen(4))
		})

		It("or by their id are found, but not under another agent", func() {
			one := c.session()
			Expect(c.platform("POST", by, object{"session_uid": one["uid"]})).To(And(HaveField("Status", http.StatusOK), HaveField("Body", one)))
			Expect(c.platform("POST", strings.Replace(by, agentUID, "other", 1), object{"session_uid": one["uid"]}).Status).To(Equal(http.StatusNotFound))
			Expect(c.platform("POST", by, object{"session_uid": "nobody"}).Status).To(Equal(http.StatusNotFound))
		})

		It("are refused with both or none, and with a model that there is not", func() {
			one := c.session()
			for _, body := range []object{{}, {"session_uid": one["uid"], "handle_unique_id": "h"}, {"session_uid": nil, "handle_unique_id": ""}} {
				Expect(c.platform("POST", by, body)).To(And(HaveField("Status", http.StatusBadRequest), HaveField("Body", HaveKeyWithValue("non_field_errors", HaveLen(1)))))
			}
			for _, body := range []object{{"handle_unique_id": "h", "llm_provider": "stand-in-cloud", "llm_model": "x"}, {"handle_unique_id": "h", "llm_model": "swift-1"},
				{"session_uid": one["uid"], "llm_provider": "x", "llm_model": "swift-1"}} {
				Expect(c.platform("POST", by, body)).To(And(HaveField("Status", http.StatusBadRequest), HaveField("Body", HaveKey("llm_model"))))
			}
			Expect(s.Sessions()).To(HaveLen(1))
		})
	})

	It("have a history, of the session and its messages", func() {
		one := c.session()
		Expect(c.platform("GET", path(one, "history/"), nil).Status).To(Equal(http.StatusNotFound))
		c.chat(one, "hello")
		c.chat(one, "hello")
		a := c.platform("GET", path(one, "history/"), nil)
		Expect(a.Body).To(And(HaveLen(4), HaveKeyWithValue("version", 1.0), HaveKeyWithValue("inProgressMessage", BeNil())))
		Expect(a.Body["session"]).To(And(HaveLen(9), HaveKeyWithValue("agentName", "Stand-in Agent"), HaveKeyWithValue("agentUid", agentUID), HaveKeyWithValue("agentSessionUid", uid(1)),
			HaveKeyWithValue("status", "idle"), HaveKeyWithValue("error", BeNil())))
		for i, m := range a.Body["messages"].([]any) {
			Expect(m).To(And(HaveKeyWithValue("id", fmt.Sprintf("message-%d", i+1)), HaveKeyWithValue("role", []string{"user", "assistant"}[i%2]),
				HaveKey("createdAt"), HaveKeyWithValue("content", Not(BeEmpty())), HaveKeyWithValue("provenance", And(HaveKey("origin"), HaveKeyWithValue("targetAgentUid", agentUID)))))
		}
		Expect(a.Body["messages"]).To(HaveLen(4))
	})

	It("have insights, as soon as there is something to look into", func() {
		one := c.session()
		Expect(c.platform("GET", path(one, "insights/"), nil).Body).To(Equal(object{"has_insights": false}))
		s.Reply(script.New(script.Say(strings.Repeat("é", 5121))))
		c.chat(one, "hello")
		Expect(c.platform("GET", path(one, "insights/"), nil).Body).To(And(
			HaveKeyWithValue("has_insights", true), HaveKeyWithValue("model", And(HaveKeyWithValue("provider", "stand-in-cloud"), HaveKeyWithValue("model", "swift-1"))),
			HaveKeyWithValue("usage", And(HaveKeyWithValue("inputTokens", 2.0), HaveKeyWithValue("outputTokens", 1281.0))),
			HaveKeyWithValue("context", HaveKeyWithValue("percentOfContextWindow", 1.0)), HaveKeyWithValue("session", HaveKeyWithValue("toolCalls", 0.0))))
		c.chat(one, "hello")
		Expect(c.platform("GET", path(one, "insights/"), nil).Body).To(HaveKeyWithValue("session", HaveKeyWithValue("toolCalls", 1.0)))
	})

	It("have insights by the window of their model, of which nobody may know", func() {
		c.added(customProvider(object{"models": []any{customModel("small", object{"is_default": true, "context_window": 1000}), customModel("unknown", nil)}}))
		one := c.session()
		s.Reply(script.New(script.Say(strings.Repeat("a", 392))))
		c.chat(one, "ab cd ef")
		for model, want := range map[string]object{"small": {"contextWindow": 1000.0, "usedTokens": 100.0, "percentOfContextWindow": 10.0}, "unknown": {"contextWindow": nil, "usedTokens": 100.0, "percentOfContextWindow": nil}} {
			Expect(c.platform("PATCH", path(one, ""), object{"llm_provider": "acme", "llm_model": model}).Status).To(Equal(http.StatusOK))
			Expect(c.platform("GET", path(one, "insights/"), nil).Body["context"]).To(Equal(want))
		}
	})
})

var _ = Describe("A runtime", bubble.InBubble, func() {
	access := func(c client, session object) object {
		GinkgoHelper()
		a := c.platform("POST", path(session, "resolve-runtime-access/"), nil)
		Expect(a.Status).To(Equal(http.StatusOK))
		return a.Body
	}

	It("serves, at the address and with the token that are handed out", func() {
		c := clientOf(standin.New(GinkgoT()))
		one := c.session()
		got := access(c, one)
		Expect(got["runtime_presence"]).To(HaveKey("observed_at"))
		delete(got["runtime_presence"].(object), "observed_at")
		Expect(got).To(Equal(object{
			"session_uid": one["uid"], "mode": "token", "rpc_url": runtimeURL, "token": "stand-in-runtime-token", "is_ready": true,
			"runtime_interaction": object{"state": "ready", "can_submit": true, "notice": nil, "operation": nil, "retry_after_ms": nil},
			"runtime_presence":    object{"phase": "serving", "replicas": object{"desired": 1.0, "actual": 1.0}, "detail": nil, "wake": nil},
		}))
		Expect(c.do(request(context.Background(), "GET", got["rpc_url"].(string)+"/api/chat", got["token"].(string), nil)).Body).
			To(Equal(object{"status": "ready", "protocol": "ui-message-stream"}))
	})

	It("is as far as the test says, in all sessions or in some", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		one, two := c.session(), c.session()
		by := time.Now().Add(time.Minute)
		Expect(s.SetPresence(standin.Presence{Phase: "starting", Desired: 1, Detail: "It pulls.", Wake: &standin.Wake{State: "in_progress", Deadline: by}})).To(Succeed())
		Expect(s.SetInteraction(standin.Interaction{State: "waking", Notice: "Soon.", Operation: object{"kind": "wake"}, RetryAfter: 1500 * time.Millisecond}, two["uid"].(string))).To(Succeed())
		Expect(access(c, one)).To(And(HaveKeyWithValue("is_ready", true), HaveKeyWithValue("runtime_presence", And(
			HaveKeyWithValue("phase", "starting"), HaveKeyWithValue("replicas", object{"desired": 1.0, "actual": 0.0}), HaveKeyWithValue("detail", "It pulls."),
			HaveKeyWithValue("wake", object{"state": "in_progress", "deadline": by.UTC().Format("2006-01-02T15:04:05.000Z")})))))
		Expect(access(c, two)).To(And(HaveKeyWithValue("is_ready", false), HaveKeyWithValue("runtime_presence", HaveKeyWithValue("phase", "starting")), HaveKeyWithValue("runtime_interaction",
			object{"state": "waking", "can_submit": false, "notice": "Soon.", "operation": object{"kind": "wake"}, "retry_after_ms": 1500.0})))

		Expect(s.SetPresence(standin.Presence{Phase: "serving"})).To(Succeed())
		Expect(s.SetInteraction(standin.Interaction{State: "warning"})).To(Succeed())
		Expect(access(c, two)).To(And(HaveKeyWithValue("is_ready", true), HaveKeyWithValue("runtime_presence", HaveKeyWithValue("phase", "serving"))))
		no := false
		Expect(s.SetInteraction(standin.Interaction{State: "ready", CanSubmit: &no})).To(Succeed())
		Expect(access(c, two)).To(And(HaveKeyWithValue("is_ready", false), HaveKeyWithValue("runtime_interaction", HaveKeyWithValue("can_submit", false))))
	})

	It("has every state that a client knows, and no other", func() {
		s := standin.New(GinkgoT())
		one := clientOf(s).session()
		for _, phase := range []string{"not_deployed", "observing", "idle", "provisioning", "pulling_image", "starting", "serving", "redeploying", "failed"} {
			Expect(s.SetPresence(standin.Presence{Phase: phase})).To(Succeed())
		}
		for _, wake := range []string{"requested", "in_progress", "serving", "failed", "expired", "superseded"} {
			Expect(s.SetPresence(standin.Presence{Phase: "idle", Wake: &standin.Wake{State: wake}})).To(Succeed())
		}
		for _, state := range []string{"ready", "warning", "checking", "starting", "waking", "update_required", "updating", "update_failed", "unavailable"} {
			Expect(s.SetInteraction(standin.Interaction{State: state})).To(Succeed())
		}
		for _, p := range []standin.Presence{{}, {Phase: "ready"}, {Phase: "serving", Actual: -1}, {Phase: "idle", Wake: &standin.Wake{State: "idle"}}} {
			Expect(s.SetPresence(p)).To(MatchError(ContainSubstring("must be")))
		}
		for _, i := range []standin.Interaction{{}, {State: "serving"}, {State: "ready", RetryAfter: -1}, {State: "ready", Notice: func() {}}} {
			Expect(s.SetInteraction(i)).To(MatchError(ContainSubstring("must be")))
		}
		Expect(s.SetPresence(standin.Presence{Phase: "failed"}, "nobody")).To(MatchError(ContainSubstring(`no session "nobody"`)))
		Expect(access(clientOf(s), one)).To(And(HaveKeyWithValue("runtime_interaction", HaveKeyWithValue("state", "unavailable")),
			HaveKeyWithValue("runtime_presence", HaveKeyWithValue("wake", object{"state": "superseded", "deadline": nil}))))
	})
})
