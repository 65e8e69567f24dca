package standin_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/standin"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// as asks the platform with a token.
func (c client) as(token, method, path string, body any) answer {
	GinkgoHelper()
	return c.do(request(context.Background(), method, platformURL+path, token, body))
}

const (
	sessionsPath = "/api/v1/agent-sessions/"
	startPath    = "/api/v1/agents/" + agentUID + "/start-new-session/"
	listPath     = sessionsPath + "?organization_environment_uid=" + environment
)

var _ = Describe("The identity", bubble.InBubble, func() {
	It("is one that nobody has, unless the test says otherwise, member by member", func() {
		Expect(standin.New(GinkgoT()).Identity()).To(Equal(standin.Identity{
			PlatformURL: platformURL, UserUID: "00000000-0000-4000-8000-000000000001", EnvironmentUID: environment, AgentUID: agentUID,
			AgentName: "Stand-in Agent", RuntimeURL: runtimeURL, RuntimeToken: "stand-in-runtime-token",
		}))
		s := standin.New(GinkgoT(), standin.WithIdentity(standin.Identity{AgentName: "Ada", RuntimeURL: "https://runtime.test/a"}), standin.WithIdentity(standin.Identity{UserUID: "u"}))
		want := standin.DefaultIdentity()
		want.AgentName, want.RuntimeURL, want.UserUID = "Ada", "https://runtime.test/a", "u"
		Expect(s.Identity()).To(Equal(want))
		Expect(clientOf(s).session()).To(HaveKeyWithValue("created_by_user_uid", "u"))
	})

	It("is refused if its addresses are none, or if all of the platform is below the runtime's", func() {
		for _, wrong := range []standin.Identity{
			{PlatformURL: "platform.test"}, {RuntimeURL: "ftp://runtime.test"}, {RuntimeURL: "https://"}, {RuntimeURL: "https://runtime.test?a=b"},
			{RuntimeURL: "https://me:secret@runtime.test"}, {PlatformURL: "https://one.test", RuntimeURL: "https://ONE.test:443/"},
		} {
			_, err := standin.NewUnstarted(standin.WithIdentity(wrong))
			Expect(err).To(MatchError(ContainSubstring("it must ")), "%+v", wrong)
		}
	})

	It("is that of the last list that was asked for with a token, for this token and this test alone", func() {
		c := clientOf(standin.New(GinkgoT()))
		made := func(token, test string) object {
			r := request(context.Background(), "POST", platformURL+startPath, token, nil)
			r.Header.Set("X-Test-Id", test)
			return c.do(r).Body
		}
		r := request(context.Background(), "GET", platformURL+sessionsPath+"?organization_environment_uid=e1&created_by_user_uid=u1", "one", nil)
		r.Header.Set("X-Test-Id", "t1")
		Expect(c.do(r).Status).To(Equal(http.StatusOK))
		Expect(made("one", "t1")).To(And(HaveKeyWithValue("created_by_user_uid", "u1"), HaveKeyWithValue("organization_environment_uid", "e1")))
		for _, other := range []object{made("one", "t2"), made("two", "t1"), made("two", "")} {
			Expect(other).To(And(HaveKeyWithValue("created_by_user_uid", "00000000-0000-4000-8000-000000000001"), HaveKeyWithValue("organization_environment_uid", environment)))
		}
	})

	It("keeps what a list does not name, and all of it if the list is refused", func() {
		c := clientOf(standin.New(GinkgoT()))
		c.as("t", "GET", sessionsPath+"?organization_environment_uid=e1&created_by_user_uid=u1", nil)
		c.as("t", "GET", sessionsPath+"?organization_environment_uid=e2", nil)
		Expect(c.as("t", "GET", sessionsPath+"?organization_environment_uid=e3&created_by_user_uid=u3&ordering=name", nil).Status).To(Equal(http.StatusBadRequest))
		Expect(c.as("t", "POST", startPath, nil).Body).To(And(HaveKeyWithValue("created_by_user_uid", "u1"), HaveKeyWithValue("organization_environment_uid", "e2")))
	})

	It("has ids that count up in each kind", func() {
		c := clientOf(standin.New(GinkgoT()))
		one, two := c.session(), c.session()
		Expect(one).To(And(HaveKeyWithValue("uid", "00000000-0000-4000-8000-100000000001"), HaveKeyWithValue("handle_unique_id", "00000000-0000-4000-8000-200000000001")))
		Expect(two).To(And(HaveKeyWithValue("uid", "00000000-0000-4000-8000-100000000002"), HaveKeyWithValue("handle_unique_id", "00000000-0000-4000-8000-200000000002")))
	})
})

var _ = Describe("Agents", bubble.InBubble, func() {
	const agents = "/api/v1/command-center/agents/"

	It("are all that somebody has named, with icons below the base that was asked", func() {
		c := clientOf(standin.New(GinkgoT()))
		c.platform("POST", "/api/v1/agents/other%20one/start-new-session/", nil)
		c.platform("POST", startPath, nil)
		for _, base := range []string{platformURL, "http://elsewhere.test:81", "https://app.test/__platform__"} {
			a := c.do(request(context.Background(), "GET", base+agents+"?organization_environment_uid="+environment, "t", nil))
			Expect(a.Status).To(Equal(http.StatusOK))
			icon := func(uid string) object { return object{"rendering": "image", "url": base + agents + uid + "/icon/"} }
			Expect(a.list()).To(HaveExactElements(
				object{"agentUid": agentUID, "commandCenterIcon": icon(agentUID)}, object{"agentUid": "other one", "commandCenterIcon": icon("other%20one")}))
			url := a.list()[1].(object)["commandCenterIcon"].(object)["url"].(string)
			Expect(c.do(request(context.Background(), "GET", url, "t", nil)).Status).To(Equal(http.StatusOK))
		}
	})

	It("have an icon each, which a client that has it is not sent again", func() {
		c := clientOf(standin.New(GinkgoT()))
		c.platform("POST", "/api/v1/agents/other/start-new-session/", nil)
		icon := c.platform("GET", agents+agentUID+"/icon/", nil)
		Expect(icon.Header).To(And(HaveKeyWithValue("Content-Type", []string{"image/svg+xml"}), HaveKeyWithValue("Cache-Control", []string{"private, no-cache"})))
		Expect(icon.Text).To(And(HavePrefix("<svg "), Not(ContainSubstring("colour"))))
		Expect(c.platform("GET", agents+"other/icon/", nil).Text).NotTo(Equal(icon.Text))

		r := request(context.Background(), "GET", platformURL+agents+agentUID+"/icon/", "t", nil)
		r.Header.Set("If-None-Match", `"something", W/`+icon.Header.Get("ETag"))
		Expect(c.do(r)).To(And(HaveField("Status", http.StatusNotModified), HaveField("Text", ""), HaveField("Header", HaveKeyWithValue("Etag", icon.Header.Values("ETag")))))
		r.Header.Set("If-None-Match", `"something"`)
		Expect(c.do(r).Status).To(Equal(http.StatusOK))
	})

	It("have none if nobody has named them", func() {
		c := clientOf(standin.New(GinkgoT()))
		c.platform("GET", "/api/v1/agent-sessions/?organization_environment_uid=e&agent_uid=other", nil)
		Expect(c.platform("GET", agents+"other/icon/", nil)).To(And(HaveField("Status", http.StatusNotFound), HaveField("Body", HaveKey("detail"))))
	})
})
