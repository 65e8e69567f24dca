package standin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/standin"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// unchecked is a server some of whose requests have no route.
func unchecked(opts ...standin.Option) *standin.Server {
	return standin.New(GinkgoT(), append(opts, standin.WithoutChecks())...)
}

func (c client) get(url string) answer {
	GinkgoHelper()
	return c.do(request(context.Background(), "GET", url, "", nil))
}

// tripper is a function that is a round tripper.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var _ = Describe("A request", bubble.InBubble, func() {
	It("is the runtime's on its origin, below its path; else the platform's below /api/v1/ on any origin; else nobody's", func() {
		s := unchecked(standin.WithIdentity(standin.Identity{RuntimeURL: "https://runtime.test/at/"}))
		c := clientOf(s)
		type kind struct {
			target     standin.Target
			path, base string
		}
		for url, want := range map[string]kind{
			"https://runtime.test/at/chats":                      {standin.AgentRuntime, "/chats", ""},
			"https://RUNTIME.test:443/at/chats":                  {standin.AgentRuntime, "/chats", ""},
			"https://runtime.test/at":                            {standin.AgentRuntime, "/", ""},
			"https://runtime.test/at/api/v1/x":                   {standin.AgentRuntime, "/api/v1/x", ""},
			"https://runtime.test/api/v1/x":                      {standin.Platform, "/api/v1/x", "https://runtime.test"},
			"https://runtime.test/attic":                         {standin.Other, "/attic", ""},
			"http://runtime.test/at/chats":                       {standin.Other, "/at/chats", ""},
			"https://runtime.test:444/at/chats":                  {standin.Other, "/at/chats", ""},
			"http://any.test:81/api/v1/x?a=b":                    {standin.Platform, "/api/v1/x", "http://any.test:81"},
			"https://any.test/__platform__/api/v1/x":             {standin.Platform, "/api/v1/x", "https://any.test/__platform__"},
			"https://any.test/__platform__/api/chat":             {standin.Other, "/__platform__/api/chat", ""},
			"https://any.test/api/v1":                            {standin.Other, "/api/v1", ""},
			"https://any.test/a/__platform__/api/v1/x":           {standin.Other, "/a/__platform__/api/v1/x", ""},
			"https://any.test/__platform__x/api/v1/x":            {standin.Other, "/__platform__x/api/v1/x", ""},
			"https://any.test/__platform__/__platform__/api/v1/": {standin.Other, "/__platform__/__platform__/api/v1/", ""},
		} {
			Expect(c.get(url).Status).To(Equal(http.StatusNotFound))
			all := s.UnhandledRequests()
			got := all[len(all)-1]
			Expect(got.URL).To(Equal(url))
			Expect(kind{got.Target, got.Path, got.Base}).To(Equal(want), url)
		}
	})

	It("is the runtime's by any scheme, if a handler is not told by which it was asked", func() {
		s := unchecked()
		ask := func(scheme string) int {
			r := httptest.NewRequest("GET", "/api/chat", nil)
			r.Host = "agent-runtime.stand-in.test"
			r.Header.Set("Authorization", "Bearer stand-in-runtime-token")
			if scheme != "" {
				r.Header.Set("X-Forwarded-Proto", scheme)
			}
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			return w.Code
		}
		Expect(ask("")).To(Equal(http.StatusOK))
		Expect(ask("https")).To(Equal(http.StatusOK))
		Expect(ask("http")).To(Equal(http.StatusNotFound))
	})

	It("for which there is no route is told so before its token is looked at", func() {
		s := unchecked()
		c := clientOf(s)
		Expect(c.get(platformURL + "/api/v1/nothing/")).To(And(HaveField("Status", http.StatusNotFound), HaveField("Body", HaveKey("detail"))))
		a := c.do(request(context.Background(), "PUT", platformURL+sessionsPath+"x/", "", nil))
		Expect(a.Status).To(Equal(http.StatusMethodNotAllowed))
		Expect(a.Header.Get("Allow")).To(Equal("GET, PATCH, DELETE"))
		Expect(a.Body).To(HaveKey("detail"))
		Expect(s.UnhandledRequests()).To(HaveExactElements(HaveField("Status", http.StatusNotFound), HaveField("Status", http.StatusMethodNotAllowed)))
		Expect(s.Requests()).To(Equal(s.UnhandledRequests()))
	})

	It("needs a token: any for the platform, and the right one for the runtime", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		ask := func(url, header string) int {
			r := request(context.Background(), "GET", url, "", nil)
			if header != "" {
				r.Header.Set("Authorization", header)
			}
			a := c.do(r)
			if a.Status == http.StatusUnauthorized {
				Expect(a.Body).To(And(HaveLen(1), HaveKeyWithValue("detail", Not(BeEmpty()))))
			}
			return a.Status
		}
		for header, ok := range map[string]bool{"": false, "Bearer": false, "Bearer  ": false, "Basic eDp5": false, "x": false, "Bearer x": true, "bearer x": true, "Bearer stand-in-runtime-token": true} {
			Expect(ask(platformURL+listPath, header) == http.StatusOK).To(Equal(ok), header)
		}
		for header, ok := range map[string]bool{"": false, "Bearer x": false, "Bearer stand-in-runtime-tokens": false, "Bearer stand-in-runtime-token": true} {
			Expect(ask(runtimeURL+"/api/chat", header) == http.StatusOK).To(Equal(ok), header)
		}
		Expect(s.UnhandledRequests()).To(BeEmpty())
		Expect(s.FindRequests("GET", "/api/chat")).To(HaveLen(4))
	})

	It("is not served if who asks has gone already", func() {
		s := standin.New(GinkgoT())
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, request(ctx, "GET", platformURL+"/api/v1/nothing/", "", nil))
		Expect(w.Body.String()).To(BeEmpty())
		Expect(s.Requests()).To(BeEmpty())
	})

	It("that is given up while the answer is late has no answer, and is recorded", func() {
		s := standin.New(GinkgoT(), standin.WithLatency(time.Minute))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := s.Client().Do(request(ctx, "POST", platformURL+startPath, "t", nil))
		Expect(err).To(MatchError(context.DeadlineExceeded))
		synctest.Wait()
		Expect(s.Requests()).To(HaveExactElements(HaveField("Status", 0)))
		Expect(s.Sessions()).To(BeEmpty())
	})

	It("for a stream that is refused is late as all others", func() {
		c := clientOf(standin.New(GinkgoT(), standin.WithLatency(time.Minute)))
		began := time.Now()
		Expect(c.do(request(context.Background(), "POST", runtimeURL+"/api/chat", "x", nil)).Status).To(Equal(http.StatusUnauthorized))
		Expect(time.Since(began)).To(Equal(time.Minute))
	})

	It("with too long a body is refused, and recorded", func() {
		s := standin.New(GinkgoT())
		a := clientOf(s).platform("POST", startPath, strings.Repeat("x", 16<<20+1))
		Expect(a).To(And(HaveField("Status", http.StatusRequestEntityTooLarge), HaveField("Body", HaveKey("detail"))))
		Expect(s.Requests()).To(HaveExactElements(HaveField("Status", http.StatusRequestEntityTooLarge)))
		Expect(s.Sessions()).To(BeEmpty())
	})

	Describe("of a page", func() {
		It("may be asked for on every route, and its answer may be read", func() {
			s := standin.New(GinkgoT())
			c := clientOf(s)
			for _, route := range s.Routes() {
				origin := platformURL
				if route.Target == standin.AgentRuntime {
					origin = runtimeURL
				}
				r := request(context.Background(), "OPTIONS", origin+route.Path, "", nil)
				r.Header.Set("Origin", "https://page.test")
				r.Header.Set("Access-Control-Request-Method", route.Method)
				r.Header.Set("Access-Control-Request-Headers", "authorization, x-test-id")
				a := c.do(r)
				Expect(a.Status).To(Equal(http.StatusNoContent))
				Expect(a.Header.Get("Access-Control-Allow-Origin")).To(Equal("https://page.test"))
				Expect(a.Header.Get("Access-Control-Allow-Methods")).To(ContainSubstring(route.Method))
				Expect(a.Header.Get("Access-Control-Allow-Headers")).To(Equal("authorization, x-test-id"))
			}
			Expect(s.Requests()).To(BeEmpty())
			r := request(context.Background(), "GET", platformURL+listPath, "", nil)
			r.Header.Set("Origin", "https://page.test")
			a := c.do(r)
			Expect(a.Status).To(Equal(http.StatusUnauthorized))
			Expect(a.Header.Get("Access-Control-Allow-Origin")).To(Equal("https://page.test"))
			Expect(a.Header.Get("Access-Control-Expose-Headers")).To(And(ContainSubstring("Retry-After"), ContainSubstring("ETag"), ContainSubstring("X-Agent-Session-Uid")))
			Expect(a.Header.Values("Vary")).To(ContainElement("Origin"))
		})
	})
})

var _ = Describe("The record of requests", bubble.InBubble, func() {
	It("has all of them, in their order, with what they said and how they were answered", func() {
		s := unchecked()
		c := clientOf(s)
		r := request(context.Background(), "POST", "https://app.test/__platform__"+startPath+"?a=1&a=2", "tok", `{"n": 12345678901234567890}`)
		r.Header.Set("X-Own", "mine")
		r.Header.Set("X-Forwarded-Proto", "gopher")
		Expect(c.do(r).Status).To(Equal(http.StatusCreated))
		c.get(platformURL + listPath)
		c.get(runtimeURL + "/nothing")
		c.get("https://nobody.test/")
		got := s.Requests()
		Expect(got).To(HaveExactElements(HaveField("Status", http.StatusCreated), HaveField("Status", http.StatusUnauthorized), HaveField("Status", http.StatusNotFound)))
		Expect(got[0]).To(And(
			HaveField("Method", "POST"), HaveField("URL", "https://app.test/__platform__"+startPath+"?a=1&a=2"), HaveField("Target", standin.Platform),
			HaveField("Path", startPath), HaveField("Base", "https://app.test/__platform__"), HaveField("Query", url.Values{"a": {"1", "2"}}),
			HaveField("Header", And(HaveKeyWithValue("X-Own", []string{"mine"}), HaveKeyWithValue("X-Forwarded-Proto", []string{"gopher"}), HaveKeyWithValue("Authorization", []string{"Bearer tok"}),
				Not(HaveKey("X-Understudy-Scheme"))))))
		Expect(fmt.Sprint(got[0].Body)).To(Equal("map[n:12345678901234567890]"))
		Expect(s.UnhandledRequests()).To(HaveExactElements(HaveField("URL", runtimeURL+"/nothing"), And(HaveField("URL", "https://nobody.test/"), HaveField("Target", standin.Other))))
		got[0].Header.Set("X-Own", "changed")
		got[0].Query.Set("a", "3")
		Expect(s.Requests()[0]).To(And(HaveField("Header", HaveKeyWithValue("X-Own", []string{"mine"})), HaveField("Query", url.Values{"a": {"1", "2"}})))
	})

	DescribeTable("has a body as what it says", func(body string, want any) {
		s := standin.New(GinkgoT())
		clientOf(s).platform("POST", startPath, body)
		if want == nil {
			Expect(s.Requests()[0].Body).To(BeNil())
		} else {
			Expect(s.Requests()[0].Body).To(Equal(want))
		}
	},
		Entry("JSON", ` {"a": [true, null]} `, object{"a": []any{true, nil}}),
		Entry("a string", `"a"`, "a"),
		Entry("text", "a=b", "a=b"),
		Entry("JSON and more", `{} ]`, "{} ]"),
		Entry("two of them", `{} {}`, "{} {}"),
		Entry("bytes", "\xff\x00", "\xff\x00"),
		Entry("nothing", "", nil),
		Entry("blanks", " \n", nil),
	)

	It("says how a stream was answered while it streams", func(ctx SpecContext) {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		s.HoldReplies()
		r := c.start(ctx, c.session(), "hello")
		Expect(s.FindRequests("POST", "/api/chat")).To(HaveExactElements(HaveField("Status", http.StatusOK)))
		s.ReleaseReplies()
		r.rest()
	})

	It("is searched by method and path, or by an expression", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		one := c.session()
		c.platform("GET", path(one, ""), nil)
		c.platform("PATCH", path(one, ""), nil)
		c.platform("GET", path(one, "insights/"), nil)
		Expect(s.FindRequests("GET", path(one, ""))).To(HaveLen(1))
		Expect(s.FindRequests("", path(one, ""))).To(HaveExactElements(HaveField("Method", "GET"), HaveField("Method", "PATCH")))
		Expect(s.FindRequests("GET", sessionsPath)).To(BeEmpty())
		Expect(s.FindRequestsMatching("GET", regexp.MustCompile(`/insights/$|-100000000001/$`))).To(HaveLen(2))
		Expect(s.FindRequestsMatching("", regexp.MustCompile("^"+sessionsPath))).To(HaveLen(3))
	})

	It("keeps the newest ten thousand, and says how many it has dropped", func() {
		s := unchecked()
		for n := range 10_003 {
			s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", fmt.Sprintf("%s/api/v1/%d", platformURL, n), nil))
		}
		Expect(s.DroppedRequests()).To(Equal(3))
		for _, all := range [][]standin.Request{s.Requests(), s.UnhandledRequests()} {
			Expect(all).To(HaveLen(10_000))
			Expect(all[0].Path).To(Equal("/api/v1/3"))
			Expect(all[9_999]).To(And(HaveField("Path", "/api/v1/10002"), HaveField("Status", http.StatusNotFound)))
		}
	})
})

var _ = Describe("The end of a test", bubble.InBubble, func() {
	It("fails it for all that nobody was there for or that nobody asked for, in one message", func(ctx SpecContext) {
		t := &recorder.T{}
		s := standin.New(t)
		c := clientOf(s)
		s.HoldReplies()
		r := c.start(ctx, c.session(), "hello")
		Expect(s.AwaitHeld(ctx, s.Sessions()[0].UID)).To(Succeed())
		c.get("https://nobody.test/x")
		c.platform("PUT", startPath, nil)
		s.Reply(script.New(script.Say("never")))
		s.FailNextTurn("bad luck")
		Expect(s.FailNextRequests(2, standin.Fault{Method: "POST", Path: "/api/chat", Status: 503})).To(Succeed())
		Expect(s.FailNextRequests(standin.Always, standin.Fault{Status: 401, Token: "old"})).To(Succeed())
		began := time.Now()
		got := t.End()
		Expect(time.Since(began)).To(BeNumerically("<", time.Second), "a held turn is ended, and not waited for")
		Expect(got).To(HaveExactElements(And(
			ContainSubstring("GET https://nobody.test/x, which was answered with 404"), ContainSubstring("PUT "+platformURL+startPath+", which was answered with 405"),
			ContainSubstring("never"), ContainSubstring(`"bad luck"`), ContainSubstring("503 2 times more for POST /api/chat"), ContainSubstring("401 always for any request"),
			ContainSubstring("turn 1,"))))
		r.rest()
		Expect(r.done).To(BeTrue())
		Expect(s.Turns()).To(HaveExactElements(And(HaveField("Status", standin.Stopped), HaveField("Abort", HaveValue(HaveField("By", "close"))))))
	})

	It("says nothing if all was well, or if it is not to look", func() {
		t := &recorder.T{}
		c := clientOf(standin.New(t))
		c.chat(c.session(), "hello")
		Expect(t.End()).To(BeEmpty())
		c = clientOf(standin.New(t, standin.WithoutChecks()))
		c.get("https://nobody.test/")
		Expect(t.End()).To(BeEmpty())
	})
})

var _ = Describe("What is for nobody here", bubble.InBubble, func() {
	It("is not found, and is kept beside the record", func() {
		s := unchecked()
		a := clientOf(s).get("https://nobody.test/a?b=c")
		Expect(a).To(And(HaveField("Status", http.StatusNotFound), HaveField("Body", HaveKeyWithValue("detail", ContainSubstring("https://nobody.test/a?b=c")))))
		Expect(s.Requests()).To(BeEmpty())
		Expect(s.UnhandledRequests()).To(HaveLen(1))
	})

	It("is passed through if that is wanted, as it is; what is for somebody here never is", func() {
		var got []*http.Request
		var bodies []string
		s := unchecked(standin.WithPassThrough(tripper(func(r *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(r.Body)
			got, bodies = append(got, r), append(bodies, string(body))
			return &http.Response{StatusCode: http.StatusTeapot, Header: http.Header{"Access-Control-Allow-Origin": {"*"}, "X-Theirs": {"yes"}}, Body: io.NopCloser(strings.NewReader("tea"))}, nil
		})))
		c := clientOf(s)
		r := request(context.Background(), "POST", "https://nobody.test/a%2Fb?c=d;e", "tok", "hello")
		r.Header.Set("Origin", "https://page.test")
		a := c.do(r)
		Expect(a).To(And(HaveField("Status", http.StatusTeapot), HaveField("Text", "tea"), HaveField("Header", And(HaveKeyWithValue("X-Theirs", []string{"yes"}), HaveKeyWithValue("Access-Control-Allow-Origin", []string{"*"})))))
		Expect(got[0].URL.String()).To(Equal("https://nobody.test/a%2Fb?c=d;e"))
		Expect(got[0].Header).To(And(HaveKeyWithValue("Authorization", []string{"Bearer tok"}), Not(HaveKey("X-Understudy-Scheme"))))
		Expect(bodies[0]).To(Equal("hello"))

		r = request(context.Background(), "OPTIONS", "https://nobody.test/", "", nil)
		r.Header.Set("Origin", "https://page.test")
		r.Header.Set("Access-Control-Request-Method", "PUT")
		Expect(c.do(r).Status).To(Equal(http.StatusTeapot))
		Expect(got).To(HaveLen(2))
		Expect(s.Requests()).To(BeEmpty())
		Expect(s.UnhandledRequests()).To(BeEmpty())

		Expect(c.get(platformURL + "/api/v1/nothing/").Status).To(Equal(http.StatusNotFound))
		Expect(c.get(runtimeURL + "/nothing").Status).To(Equal(http.StatusNotFound))
		Expect(c.do(request(context.Background(), "POST", "https://nobody.test/", "", strings.Repeat("x", 16<<20+1))).Status).To(Equal(http.StatusRequestEntityTooLarge))
		Expect(got).To(HaveLen(2))
	})

	It("has an answer even if the one to whom it is passed has none", func() {
		s := unchecked(standin.WithPassThrough(tripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("no such host") })))
		Expect(clientOf(s).get("https://nobody.test/a")).To(And(HaveField("Status", http.StatusBadGateway), HaveField("Body", HaveKeyWithValue("detail", ContainSubstring("no such host")))))
	})
})

var _ = Describe("A fault", bubble.InBubble, func() {
	It("is the answer to the next requests that fit, and then all is well again", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		one := c.session()
		Expect(s.FailNextRequests(2, standin.Fault{Method: "GET", Path: "/api/v1/agent-sessions/{session}/", Status: 429, RetryAfter: 1500 * time.Millisecond, More: object{"error_code": "slow_down"}})).To(Succeed())
		Expect(c.platform("PATCH", path(one, ""), nil).Status).To(Equal(http.StatusBadRequest))
		Expect(c.platform("GET", listPath, nil).Status).To(Equal(http.StatusOK))
		for range 2 {
			a := c.platform("GET", path(one, ""), nil)
			Expect(a.Status).To(Equal(http.StatusTooManyRequests))
			Expect(a.Header.Get("Retry-After")).To(Equal("2"))
			Expect(a.Body).To(Equal(object{"detail": "Too Many Requests.", "error_code": "slow_down"}))
		}
		Expect(c.platform("GET", path(one, ""), nil)).To(And(HaveField("Status", http.StatusOK), HaveField("Header", Not(HaveKey("Retry-After")))))
		Expect(s.FindRequests("GET", path(one, ""))).To(HaveExactElements(HaveField("Status", 429), HaveField("Status", 429), HaveField("Status", 200)))
		Expect(s.UnhandledRequests()).To(BeEmpty())
	})

	It("can begin in the middle of a session: a token ends, and the next one is good", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		Expect(s.FailNextRequests(standin.Always, standin.Fault{Token: "old", After: 2, Status: 401, Detail: "The token has ended."})).To(Succeed())
		for n, want := range []int{200, 200, 401, 401, 401} {
			Expect(c.as("old", "GET", listPath, nil).Status).To(Equal(want), "request %d", n)
			Expect(c.as("new", "GET", listPath, nil).Status).To(Equal(200))
		}
		Expect(c.as("old", "GET", listPath, nil).Body).To(Equal(object{"detail": "The token has ended."}))
	})

	It("can be on any route: a turn that gets one has not begun", func() {
		s := standin.New(GinkgoT())
		c := clientOf(s)
		one := c.session()
		Expect(s.FailNextRequests(1, standin.Fault{Method: "POST", Path: "/api/chat", Status: 503})).To(Succeed())
		Expect(c.do(c.chatRequest(context.Background(), one, "hello"))).To(And(HaveField("Status", 503), HaveField("Body", HaveKey("detail"))))
		Expect(s.Turns()).To(BeEmpty())
		Expect(c.chat(one, "hello").types()).To(Equal(replied))
		for _, r := range s.Routes() {
			Expect(s.FailNextRequests(1, standin.Fault{Method: r.Method, Path: r.Path, Status: 403})).To(Succeed())
			from, token := platformURL, "t"
			if r.Target == standin.AgentRuntime {
				from, token = runtimeURL, "stand-in-runtime-token"
			}
			Expect(c.do(request(context.Background(), r.Method, from+r.Path, token, nil)).Status).To(Equal(403), r.Method+" "+r.Path)
		}
	})

	It("is not for who has no token, or no route; of two that fit the older one comes first", func() {
		s := unchecked()
		c := clientOf(s)
		Expect(s.FailNextRequests(1, standin.Fault{Status: 500})).To(Succeed())
		Expect(s.FailNextRequests(1, standin.Fault{Path: sessionsPath, Status: 502})).To(Succeed())
		Expect(c.get(platformURL + listPath).Status).To(Equal(401))
		Expect(c.platform("GET", "/api/v1/nothing/", nil).Status).To(Equal(404))
		Expect(c.platform("GET", listPath, nil).Status).To(Equal(500))
		Expect(c.platform("GET", listPath, nil).Status).To(Equal(502))
		Expect(c.platform("GET", listPath, nil).Status).To(Equal(200))
	})

	It("is refused if it can never be", func() {
		s := standin.New(GinkgoT())
		for _, wrong := range []struct {
			n int
			f standin.Fault
		}{
			{0, standin.Fault{Status: 500}}, {-2, standin.Fault{Status: 500}}, {1, standin.Fault{}}, {1, standin.Fault{Status: 200}}, {1, standin.Fault{Status: 600}},
			{1, standin.Fault{Status: 500, After: -1}}, {1, standin.Fault{Status: 500, RetryAfter: -1}},
			{1, standin.Fault{Status: 500, Path: "/api/v1/nothing/"}}, {1, standin.Fault{Status: 500, Method: "PUT", Path: sessionsPath}}, {1, standin.Fault{Status: 500, Method: "get"}},
		} {
			Expect(s.FailNextRequests(wrong.n, wrong.f)).To(MatchError(HavePrefix("standin: ")), "%+v", wrong)
		}
		Expect(s.FailNextRequests(1, standin.Fault{Status: 500, Path: sessionsPath + "some/history/"})).To(Succeed())
		Expect(s.Left()).To(ContainSubstring("/history/"))
		clientOf(s).platform("GET", sessionsPath+"some/history/", nil)
		Expect(s.Left()).To(BeEmpty())
	})
})
