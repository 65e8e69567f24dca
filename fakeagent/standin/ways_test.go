package standin_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/standin"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// plays plays a session by a client, from the URL of a platform on: what is handed out is what is asked next.
func plays(s *standin.Server, c *http.Client, base string) (runtime, icon string) {
	GinkgoHelper()
	by := client{s, c}
	ask := func(method, url, token string, body any) answer {
		return by.do(request(context.Background(), method, url, token, body))
	}
	one := ask("POST", base+startPath, "t", nil).Body
	access := ask("POST", base+path(one, "resolve-runtime-access/"), "t", nil).Body
	runtime = access["rpc_url"].(string)
	res, err := c.Do(request(context.Background(), "POST", runtime+"/api/chat", access["token"].(string), message(one, "hello")))
	Expect(err).NotTo(HaveOccurred())
	stream, err := io.ReadAll(res.Body)
	Expect(err).NotTo(HaveOccurred())
	Expect(res.Body.Close()).To(Succeed())
	Expect(string(stream)).To(HaveSuffix("data: [DONE]\n\n"))
	icon = ask("GET", base+"/api/v1/command-center/agents/?organization_environment_uid="+environment, "t", nil).list()[0].(object)["commandCenterIcon"].(object)["url"].(string)
	Expect(ask("GET", icon, "t", nil).Text).To(HavePrefix("<svg "))
	Expect(ask("GET", base+path(one, "history/"), "t", nil).Body["messages"]).To(HaveLen(2))
	return runtime, icon
}

var _ = Describe("A way in", func() {
	It("is a client in memory, on virtual time", bubble.InBubble, func() {
		s := standin.New(GinkgoT(), standin.WithFrameDelay(time.Minute))
		began := time.Now()
		runtime, icon := plays(s, s.Client(), platformURL)
		Expect(time.Since(began)).To(Equal(time.Duration(len(replied)) * time.Minute))
		Expect(runtime).To(Equal(runtimeURL))
		Expect(icon).To(HavePrefix(platformURL + "/api/v1/"))
	})

	It("is a round tripper for a client of one's own, which leaves the request as it is", bubble.InBubble, func() {
		s := standin.New(GinkgoT())
		plays(s, &http.Client{Transport: s.RoundTripper()}, "http://any.test/__platform__")
		r := &http.Request{Method: "GET", URL: request(context.Background(), "GET", platformURL+listPath, "", nil).URL}
		res, err := s.RoundTripper().RoundTrip(r)
		Expect(err).NotTo(HaveOccurred())
		Expect(res.Body.Close()).To(Succeed())
		Expect(res.StatusCode).To(Equal(http.StatusUnauthorized))
		Expect(res.Request).To(BeIdenticalTo(r))
		Expect(r.Header).To(BeNil())
		Expect(r.URL.Scheme).To(Equal("https"))
	})

	It("refuses what is not HTTP, and everything when the server is closed", bubble.InBubble, func() {
		s, err := standin.NewUnstarted()
		Expect(err).NotTo(HaveOccurred())
		_, err = s.Client().Get("ftp://any.test/api/v1/x")
		Expect(err).To(MatchError(ContainSubstring("http")))
		Expect(s.Close()).To(Succeed())
		_, err = s.Client().Get(platformURL + listPath)
		Expect(err).To(MatchError(ContainSubstring("closed")))
		_, err = s.Listen("127.0.0.1:0")
		Expect(err).To(MatchError(ContainSubstring("closed")))
		Expect(s.Close()).To(Succeed())
	})

	It("is for many clients at once, none of whom gets what is another one's", bubble.InBubble, func() {
		s := standin.New(GinkgoT(), standin.WithFrameDelay(time.Millisecond))
		c := clientOf(s)
		var all sync.WaitGroup
		for n := range 64 {
			one, text := c.session(), fmt.Sprintf("<message %d>", n)
			all.Go(func() {
				defer GinkgoRecover()
				Expect(c.chat(one, text).text()).To(ContainSubstring(text))
				messages := c.platform("GET", path(one, "history/"), nil).Body["messages"].([]any)
				Expect(messages).To(HaveLen(2))
				Expect(fmt.Sprint(messages[0])).To(ContainSubstring(text))
			})
		}
		all.Wait()
		Expect(s.Requests()).To(HaveLen(3 * 64))
	})

	It("is closed in the end, though a client has stopped reading", bubble.InBubble, func(ctx SpecContext) {
		s, err := standin.NewUnstarted()
		Expect(err).NotTo(HaveOccurred())
		c := clientOf(s)
		s.Reply(script.New(script.SayStep{Text: strings.Repeat("long ", 1<<17), Chunks: 100}))
		r := c.start(ctx, c.session(), "hello")
		r.until("text-start")
		synctest.Wait()
		began := time.Now()
		Expect(s.Close()).To(MatchError(context.DeadlineExceeded))
		Expect(time.Since(began)).To(BeNumerically("<", time.Minute))
		Expect(s.Turns()).To(HaveExactElements(HaveField("Status", standin.Stopped)))
		r.rest()
		Expect(r.done).To(BeFalse())
	})

	It("is a handler, mounted where a test wants it", func() {
		s := standin.New(GinkgoT())
		web := httptest.NewServer(s.Handler())
		defer web.Close()
		runtime, icon := plays(s, web.Client(), web.URL)
		Expect(runtime).To(HavePrefix(web.URL))
		Expect(icon).To(HavePrefix(web.URL))
	})

	It("is a handler behind TLS", func() {
		s := standin.New(GinkgoT())
		web := httptest.NewTLSServer(s)
		defer web.Close()
		runtime, _ := plays(s, web.Client(), web.URL+"/__platform__")
		Expect(runtime).To(HavePrefix("https://"))
	})

	It("is a handler whose runtime is where its identity says", func() {
		var s *standin.Server
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.ServeHTTP(w, r) }))
		defer web.Close()
		s = standin.New(GinkgoT(), standin.WithIdentity(standin.Identity{RuntimeURL: web.URL + "/agent"}))
		runtime, _ := plays(s, web.Client(), web.URL)
		Expect(runtime).To(Equal(web.URL + "/agent"))
	})

	It("is a socket: all that it hands out reaches itself, by the name by which it was asked", func() {
		s := standin.New(GinkgoT(), standin.WithIdentity(standin.Identity{RuntimeURL: "https://runtime.test/x"}))
		Expect(s.URL()).To(BeEmpty())
		url := s.Start()
		Expect(s.URL()).To(Equal(url))
		Expect(url).To(HavePrefix("http://127.0.0.1:"))
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		for _, base := range []string{url, url + "/__platform__", strings.Replace(url, "127.0.0.1", "localhost", 1)} {
			runtime, icon := plays(s, &http.Client{Transport: transport}, base)
			Expect(runtime).To(HavePrefix(strings.TrimSuffix(base, "/__platform__")))
			Expect(icon).To(HavePrefix(base + "/api/v1/"))
		}
		runtime, _ := plays(s, s.Client(), platformURL)
		Expect(runtime).To(Equal("https://runtime.test/x"), "who comes in memory is not sent to the socket")
		Expect(func() { s.Start() }).To(PanicWith(ContainSubstring("listens already, on " + url)))
		_, err := s.Listen("127.0.0.1:0")
		Expect(err).To(MatchError(ContainSubstring("listens already")))
	})

	It("is a socket that never passes to itself what is for nobody", func() {
		s := standin.New(GinkgoT(), standin.WithoutChecks(), standin.WithPassThrough(http.DefaultTransport))
		defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		url := s.Start()
		for _, at := range []string{url, strings.Replace(url, "127.0.0.1", "localhost", 1)} {
			res, err := http.Get(at + "/favicon.ico")
			Expect(err).NotTo(HaveOccurred())
			Expect(res.Body.Close()).To(Succeed())
			Expect(res.StatusCode).To(Equal(http.StatusNotFound))
		}
		Expect(s.UnhandledRequests()).To(HaveLen(2))
	})
})

var _ = Describe("A server that closes", bubble.InBubble, func() {
	It("does not wait for who waits for it, and begins no turn any more", func(ctx SpecContext) {
		s, err := standin.NewUnstarted(standin.WithLatency(time.Hour))
		Expect(err).NotTo(HaveOccurred())
		c := clientOf(s)
		answered := make(chan answer, 1)
		go func() {
			defer GinkgoRecover()
			answered <- c.platform("GET", "/api/v1/model-providers/", nil)
		}()
		synctest.Wait()
		began := time.Now()
		Expect(s.Close()).To(Succeed())
		Expect(time.Since(began)).To(BeNumerically("<", time.Minute))
		Expect((<-answered).Status).To(Equal(http.StatusOK))
	})

	It("refuses a chat", func(ctx SpecContext) {
		s, err := standin.NewUnstarted()
		Expect(err).NotTo(HaveOccurred())
		session := clientOf(s).session()
		late := clientOf(s).chatRequest(ctx, session, "hello")
		Expect(s.Close()).To(Succeed())
		w := httptest.NewRecorder()
		s.ServeHTTP(w, late)
		Expect(w.Code).To(Equal(http.StatusServiceUnavailable))
		Expect(s.Close()).To(Succeed(), "once more")
	})
})
