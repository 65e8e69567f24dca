package wire_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/bubble"
	"github.com/understudy-go/understudy/usagefake"
	"github.com/understudy-go/understudy/usagefake/wire"
)

type quotaAnswers = []usagefake.Answer[usagefake.Quota]

const consume = "/account/rateLimitResetCredit/consume"

func ask(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func post(h http.Handler, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, consume, strings.NewReader(body)))
	return w
}

var _ = Describe("The handler", func() {
	DescribeTable("serves", func(path string, script usagefake.Script, body func() []byte) {
		w := ask(wire.Handler(fakeOf(usagefake.Config{Script: script}), wire.Units{}), path)
		Expect(w.Code).To(Equal(http.StatusOK))
		Expect(w.Header().Get("Content-Type")).To(Equal("application/json"))
		Expect(w.Body.String()).To(BeEquivalentTo(body()))
	},
		Entry("Claude's usage", "/api/oauth/usage", usagefake.ScriptAvailable, func() []byte { return wire.ClaudeUsage(first(usagefake.ScriptAvailable)) }),
		Entry("Codex's usage", "/backend-api/wham/usage", usagefake.ScriptAvailable, func() []byte { return wire.CodexWeb(first(usagefake.ScriptAvailable)) }),
		Entry("Codex's rate limits", "/account/rateLimits/read", usagefake.ScriptAvailable, func() []byte { return wire.CodexRateLimits(first(usagefake.ScriptAvailable)) }),
		Entry("DeepSeek's balance", "/user/balance", usagefake.ScriptBalance, func() []byte { return wire.DeepSeekBalance(first(usagefake.ScriptBalance), wire.Units{}) }),
		Entry("the rows of ccusage", "/ccusage/daily", usagefake.ScriptSignedOut, func() []byte { return wire.CCUsageDaily(records()) }),
		Entry("a report", "/report", usagefake.ScriptAvailable, func() []byte { return wire.Report(first(usagefake.ScriptAvailable), nil) }),
		Entry("a report of what is not there", "/report", usagefake.ScriptSignedOut, func() []byte { return wire.Report(first(usagefake.ScriptSignedOut), nil) }),
	)
	It("has amounts in the units that it is given", func() {
		w := ask(wire.Handler(fakeOf(usagefake.Config{Script: usagefake.ScriptBalance}), wire.Units{Numbers: true}), "/user/balance")
		Expect(dig(w.Body.Bytes(), "balance_infos", 0, "total_balance")).To(Equal(86.42))
	})
	It("says Codex's percentages and credits in headers, too", func() {
		w := ask(wire.Handler(fakeOf(usagefake.Config{}), wire.Units{}), "/backend-api/wham/usage")
		Expect(w.Header()).To(And(HaveKeyWithValue("X-Codex-Primary-Used-Percent", []string{"11"}), HaveKeyWithValue("X-Codex-Secondary-Used-Percent", []string{"21"})))
		Expect(w.Header()).NotTo(HaveKey("X-Codex-Credits-Balance"))
		w = ask(wire.Handler(fakeOf(usagefake.Config{Script: usagefake.ScriptBalance}), wire.Units{}), "/backend-api/wham/usage")
		Expect(w.Header()).To(HaveKeyWithValue("X-Codex-Credits-Balance", []string{"86.42"}))
		Expect(w.Header()).NotTo(HaveKey("X-Codex-Primary-Used-Percent"))
	})
	It("makes one call of the source for a request", func() {
		f := fakeOf(usagefake.Config{})
		h := wire.Handler(f, wire.Units{})
		for _, path := range []string{"/api/oauth/usage", "/backend-api/wham/usage", "/account/rateLimits/read", "/user/balance", "/report", "/ccusage/daily"} {
			ask(h, path)
		}
		post(h, `{"idempotencyKey":"key-1"}`)
		Expect(f.Counts()).To(Equal(usagefake.Counts{QuotaReads: 5, TokenReads: 1, Redemptions: 1, Spent: 1}))
	})
	It("redeems, once for a key", func() {
		f := fakeOf(usagefake.Config{})
		h := wire.Handler(f, wire.Units{})
		Expect(post(h, `{"idempotencyKey":"key-1","creditId":null}`).Body.String()).To(Equal(`{"outcome":"reset"}`))
		Expect(post(h, `{"idempotencyKey":"key-1"}`).Body.String()).To(Equal(`{"outcome":"alreadyRedeemed"}`))
		Expect(f.Counts().Spent).To(Equal(1))
	})
	It("redeems nothing without a key", func() {
		f := fakeOf(usagefake.Config{})
		for _, body := range []string{"", "{}", `{"idempotencyKey":""}`, `{"idempotencyKey":1}`, "[]"} {
			w := post(wire.Handler(f, wire.Units{}), body)
			Expect(w.Code).To(Equal(http.StatusBadRequest))
			Expect(w.Body.String()).To(MatchJSON(
				`{"error":{"type":"invalid_request_error","message":"the body must be an object with an idempotencyKey, such as {\"idempotencyKey\":\"key-1\"}"}}`))
		}
		Expect(f.Counts()).To(BeZero())
	})
	DescribeTable("says what is wrong by a status:", func(cfg usagefake.Config, path string, status int, kind, message string) {
		w := ask(wire.Handler(fakeOf(cfg), wire.Units{}), path)
		Expect(w.Code).To(Equal(status))
		Expect(dig(w.Body.Bytes(), "error")).To(Equal(map[string]any{"type": kind, "message": message}))
		Expect(w.Header()).NotTo(HaveKey("Retry-After"))
	},
		Entry("signed out", usagefake.Config{Script: usagefake.ScriptSignedOut}, "/api/oauth/usage", 401, "authentication_error", "usagefake: signed out (usage.reason.signed-out)"),
		Entry("signed out, by an error", usagefake.Config{Tokens: []usagefake.Answer[[]usagefake.TokenRecord]{{Fail: usagefake.ErrSignedOut}}}, "/ccusage/daily", 401, "authentication_error", "signed out"),
		Entry("unsupported", usagefake.Config{Script: usagefake.ScriptCustomEndpoint}, "/backend-api/wham/usage", 404, "not_found_error", "usagefake: unsupported (usage.reason.custom-endpoint)"),
		Entry("no balance", usagefake.Config{}, "/user/balance", 404, "not_found_error", "this account has no balance"),
		Entry("anything else", usagefake.Config{Quotas: quotaAnswers{{Fail: errors.New("disk full")}}}, "/account/rateLimits/read", 500, "api_error", "disk full"),
	)
	It("says 404 to who redeems where nothing can be, and 401 where nobody is signed in", func() {
		Expect(post(wire.Handler(fakeOf(usagefake.Config{Script: usagefake.ScriptBalance}), wire.Units{}), `{"idempotencyKey":"k"}`).Code).To(Equal(404))
		Expect(post(wire.Handler(fakeOf(usagefake.Config{Script: usagefake.ScriptSignedOut}), wire.Units{}), `{"idempotencyKey":"k"}`).Code).To(Equal(401))
	})
	It("says 429 and when to come back, in whole seconds and not a moment too soon, and then goes on", func() {
		now := noon
		h := wire.Handler(fakeOf(usagefake.Config{Traps: []usagefake.Trap{usagefake.Throttled}, Now: func() time.Time { return now }}), wire.Units{})
		Expect(ask(h, "/api/oauth/usage").Code).To(Equal(200))
		now = now.Add(1500 * time.Millisecond)
		w := ask(h, "/api/oauth/usage")
		Expect(w.Code).To(Equal(429))
		Expect(w.Header().Get("Retry-After")).To(Equal("59"))
		Expect(dig(w.Body.Bytes(), "error", "type")).To(Equal("rate_limit_error"))
		Expect(ask(h, "/report").Body.String()).To(HavePrefix(`{"status":"error"`))
		now = now.Add(59 * time.Second)
		Expect(dig(ask(h, "/api/oauth/usage").Body.Bytes(), "five_hour", "utilization")).To(Equal(12.0))
	})
	It("sends a malformed answer as it is", func() {
		h := wire.Handler(fakeOf(usagefake.Config{Quotas: quotaAnswers{{Malformed: "<html>"}, {Malformed: "{"}}}), wire.Units{})
		for _, want := range []string{"<html>", "{"} {
			w := ask(h, map[string]string{"<html>": "/api/oauth/usage", "{": "/report"}[want])
			Expect(w.Code).To(Equal(200))
			Expect(w.Body.String()).To(Equal(want))
		}
	})
	It("merges updates, as HTTP has none", func() {
		h := wire.Handler(fakeOf(usagefake.Config{Traps: []usagefake.Trap{usagefake.SparseWindow}}), wire.Units{})
		var last []byte
		for range 3 {
			last = ask(h, "/account/rateLimits/read").Body.Bytes()
		}
		Expect(dig(last, "rateLimits", "primary", "usedPercent")).To(Equal(12.0))
		Expect(dig(last, "rateLimits", "secondary", "usedPercent")).To(Equal(23.0))
		Expect(dig(last, "rateLimits", "planType")).To(Equal("plus"))
	})
	It("forgets an account when another is there", func() {
		h := wire.Handler(fakeOf(usagefake.Config{Traps: []usagefake.Trap{usagefake.AccountSwitch}}), wire.Units{})
		var codes []int
		var last []byte
		for range 4 {
			w := ask(h, "/api/oauth/usage")
			codes, last = append(codes, w.Code), w.Body.Bytes()
		}
		Expect(codes).To(Equal([]int{200, 200, 401, 200}))
		Expect(dig(last, "five_hour", "utilization")).To(Equal(41.0))
	})
	It("does not know other paths and other methods", func() {
		h := wire.Handler(fakeOf(usagefake.Config{}), wire.Units{})
		Expect(ask(h, "/").Code).To(Equal(404))
		Expect(ask(h, consume).Code).To(Equal(405))
	})
	It("serves any source, to many at once", func() {
		f := fakeOf(usagefake.Config{})
		h := wire.Handler(f, wire.Units{})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { ask(h, "/api/oauth/usage") })
			all.Go(func() { ask(h, "/report") })
			all.Go(func() { post(h, `{"idempotencyKey":"key-1"}`) })
		}
		all.Wait()
		Expect(f.Counts()).To(Equal(usagefake.Counts{QuotaReads: 100, Redemptions: 50, Spent: 1}))
	})
})

var _ = Describe("A server", func() {
	serve := func(cfg usagefake.Config) (string, *usagefake.Fake) {
		f := fakeOf(cfg)
		server := httptest.NewServer(wire.Handler(f, wire.Units{}))
		DeferCleanup(func() {
			http.DefaultClient.CloseIdleConnections()
			server.Close()
		})
		return server.URL, f
	}
	It("breaks the connection after an answer that was lost, and the credit is spent", func() {
		url, f := serve(usagefake.Config{Traps: []usagefake.Trap{usagefake.LostReply}})
		_, err := http.Post(url+consume, "application/json", strings.NewReader(`{"idempotencyKey":"key-1"}`))
		Expect(err).To(MatchError(io.EOF))
		Expect(f.Counts().Spent).To(Equal(1))
		again, err := http.Post(url+consume, "application/json", strings.NewReader(`{"idempotencyKey":"key-1"}`))
		Expect(err).NotTo(HaveOccurred())
		Expect(io.ReadAll(again.Body)).To(BeEquivalentTo(`{"outcome":"alreadyRedeemed"}`))
		Expect(again.Body.Close()).To(Succeed())
	})
	It("hangs until the client goes away", func(ctx SpecContext) {
		url, f := serve(usagefake.Config{Quotas: quotaAnswers{{Hang: true}}})
		leaving, leave := context.WithCancel(ctx)
		request, err := http.NewRequestWithContext(leaving, http.MethodGet, url+"/report", nil)
		Expect(err).NotTo(HaveOccurred())
		failed := make(chan error, 1)
		go func() { _, err := http.DefaultClient.Do(request); failed <- err }()
		Eventually(f.Counts).Should(HaveField("QuotaReads", 1))
		Consistently(failed, "20ms").ShouldNot(Receive())
		leave()
		Eventually(failed).Should(Receive(MatchError(context.Canceled)))
	})
})

var _ = Describe("A handler on virtual time", bubble.InBubble, func() {
	It("hangs for an hour, and breaks off", func(ctx SpecContext) {
		h := wire.Handler(fakeOf(usagefake.Config{Quotas: quotaAnswers{{Hang: true}}}), wire.Units{})
		limited, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		began := time.Now()
		Expect(func() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(limited, http.MethodGet, "/api/oauth/usage", nil))
		}).To(PanicWith(http.ErrAbortHandler))
		Expect(time.Since(began)).To(Equal(time.Hour))
	})
})
