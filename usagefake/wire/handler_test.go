package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing/iotest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/bubble"
	"github.com/understudy-go/understudy/usagefake"
	"github.com/understudy-go/understudy/usagefake/wire"
)

// saying is a source that says one quota after another.
type saying []usagefake.Quota

func (s *saying) ReadQuota(context.Context) (usagefake.Quota, error) {
	q := (*s)[0]
	*s = (*s)[1:]
	return q, nil
}

func (*saying) ReadTokenUsage(context.Context) ([]usagefake.TokenRecord, error) { return nil, nil }

func (*saying) RedeemQuotaReset(context.Context, string) (usagefake.Redemption, error) {
	return usagefake.Redemption{}, nil
}

// failing is a source with one answer to everything.
type failing struct{ error }

func (f failing) ReadQuota(context.Context) (usagefake.Quota, error) {
	return usagefake.Quota{Status: usagefake.NeedsAuth}, f.error
}

func (f failing) ReadTokenUsage(context.Context) ([]usagefake.TokenRecord, error) {
	return nil, f.error
}

func (f failing) RedeemQuotaReset(context.Context, string) (usagefake.Redemption, error) {
	return usagefake.Redemption{}, f.error
}

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
		Expect(w.Header().Get("Content-Type")).To(Or(Equal("application/json"), Equal("application/x-ndjson")))
		Expect(w.Body.String()).To(BeEquivalentTo(body()))
	},
		Entry("Claude's usage", "/api/oauth/usage", usagefake.ScriptAvailable, func() []byte { return wire.ClaudeUsage(first(usagefake.ScriptAvailable)) }),
		Entry("Codex's usage", "/backend-api/wham/usage", usagefake.ScriptAvailable, func() []byte { return wire.CodexWeb(first(usagefake.ScriptAvailable)) }),
		Entry("Codex's rate limits", "/account/rateLimits/read", usagefake.ScriptAvailable, func() []byte { return wire.CodexRateLimits(first(usagefake.ScriptAvailable)) }),
		Entry("DeepSeek's balance", "/user/balance", usagefake.ScriptBalance, func() []byte { return wire.DeepSeekBalance(first(usagefake.ScriptBalance), wire.Units{}) }),
		Entry("what Claude's stream says", "/claude/rate_limit_events", usagefake.ScriptBalance, func() []byte {
			return append(wire.ClaudeRateLimitEvents(first(usagefake.ScriptBalance), wire.Units{})[0], '\n')
		}),
		Entry("the rows of ccusage", "/ccusage/daily", usagefake.ScriptSignedOut, func() []byte { return wire.CCUsageDaily(records()) }),
		Entry("a report", "/report", usagefake.ScriptAvailable, func() []byte { return wire.Report(first(usagefake.ScriptAvailable), nil) }),
		Entry("a report of what is not there", "/report", usagefake.ScriptSignedOut, func() []byte { return wire.Report(first(usagefake.ScriptSignedOut), nil) }),
	)
	It("has numbers in the units that it is given", func() {
		u := wire.Units{Percent: true, Millis: true, Numbers: true}
		w := ask(wire.Handler(fakeOf(usagefake.Config{Script: usagefake.ScriptBalance}), u), "/user/balance")
		Expect(dig(w.Body.Bytes(), "balance_infos", 0, "total_balance")).To(Equal(86.42))
		w = ask(wire.Handler(fakeOf(usagefake.Config{}), u), "/claude/rate_limit_events")
		Expect(w.Header().Get("Content-Type")).To(Equal("application/x-ndjson"))
		Expect(w.Body.String()).To(BeEquivalentTo(bytes.Join(append(wire.ClaudeRateLimitEvents(first(usagefake.ScriptAvailable), u), nil), []byte("\n"))))
		Expect(w.Body.String()).To(And(ContainSubstring(`"utilization":11`), ContainSubstring("000000,")))
	})
	It("says Codex's percentages and credits in headers, too", func() {
		w := ask(wire.Handler(fakeOf(usagefake.Config{}), wire.Units{}), "/backend-api/wham/usage")
		Expect(w.Header()).To(And(HaveKeyWithValue("X-Codex-Primary-Used-Percent", []string{"11"}), HaveKeyWithValue("X-Codex-Secondary-Used-Percent", []string{"21"})))
		Expect(w.Header()).NotTo(HaveKey("X-Codex-Credits-Balance"))
		w = ask(wire.Handler(fakeOf(usagefake.Config{Script: usagefake.ScriptBalance}), wire.Units{}), "/backend-api/wham/usage")
		Expect(w.Header()).To(HaveKeyWithValue("X-Codex-Credits-Balance", []string{"86.42"}))
		Expect(w.Header()).NotTo(HaveKey("X-Codex-Primary-Used-Percent"))
		w = ask(wire.Handler(fakeOf(usagefake.Config{Quotas: quotaAnswers{{Unchecked: true, Say: &usagefake.Quota{Windows: []usagefake.Window{{UsedPercent: math.NaN()}, {UsedPercent: 7}}}}}}),
			wire.Units{}), "/backend-api/wham/usage")
		Expect(w.Header()).NotTo(HaveKey("X-Codex-Primary-Used-Percent"), "what is no number")
		Expect(w.Header()).To(HaveKeyWithValue("X-Codex-Secondary-Used-Percent", []string{"7"}))
	})
	It("makes one call of the source for a request", func() {
		f := fakeOf(usagefake.Config{})
		h := wire.Handler(f, wire.Units{})
		for _, path := range []string{"/api/oauth/usage", "/claude/rate_limit_events", "/backend-api/wham/usage", "/account/rateLimits/read", "/user/balance", "/report", "/ccusage/daily"} {
			ask(h, path)
		}
		post(h, `{"idempotencyKey":"key-1"}`)
		Expect(f.Counts()).To(Equal(usagefake.Counts{QuotaReads: 6, TokenReads: 1, Redemptions: 1, Spent: 1}))
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
		for _, body := range []string{"", "{}", `{"idempotencyKey":""}`, `{"idempotencyKey":1}`, `{"idempotencyKey":null}`, "[]", "null", strings.Repeat("[", 20000),
			`{"IdempotencyKey":"a"}`, `{"idempotencyKey":"a","idempotencyKey":"a"}`, `{"idempotencyKey":"a","x":1,"x":null}`, `{"idempotencyKey":"a"} {}`, `{"idempotencyKey":"a"`} {
			w := post(wire.Handler(f, wire.Units{}), body)
			Expect(w.Code).To(Equal(http.StatusBadRequest))
			Expect(w.Body.String()).To(MatchJSON(
				`{"error":{"type":"invalid_request_error","message":"the body must be an object with an idempotencyKey, such as {\"idempotencyKey\":\"key-1\"}"}}`))
		}
		w := httptest.NewRecorder()
		wire.Handler(f, wire.Units{}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, consume, io.MultiReader(strings.NewReader(`{"idempotencyKey":"a"}`), iotest.ErrReader(io.ErrUnexpectedEOF))))
		Expect(w.Code).To(Equal(http.StatusBadRequest), "half a body")
		Expect(f.Counts()).To(BeZero())
	})
	It("picks the credit itself, and says so to who would", func() {
		f := fakeOf(usagefake.Config{})
		for _, id := range []string{`"credit-2"`, `5`, `""`, `false`} {
			w := post(wire.Handler(f, wire.Units{}), `{"idempotencyKey":"key-1","creditId":`+id+`}`)
			Expect(w.Code).To(Equal(http.StatusBadRequest))
			Expect(w.Body.String()).To(MatchJSON(`{"error":{"type":"invalid_request_error","message":"creditId must be null or left out: it is the back end that picks a credit"}}`))
		}
		Expect(f.Counts()).To(BeZero())
	})
	It("reads no more of a body than 64 KiB", func() {
		f := fakeOf(usagefake.Config{})
		key := `{"idempotencyKey":"key-1"}`
		w := post(wire.Handler(f, wire.Units{}), key+strings.Repeat(" ", 64<<10-len(key)+1))
		Expect(w.Code).To(Equal(http.StatusRequestEntityTooLarge))
		Expect(w.Body.String()).To(MatchJSON(`{"error":{"type":"request_too_large","message":"the body must have at most 65536 bytes"}}`))
		Expect(f.Counts()).To(BeZero())
		Expect(post(wire.Handler(f, wire.Units{}), key+strings.Repeat(" ", 64<<10-len(key))).Code).To(Equal(http.StatusOK))
	})
	DescribeTable("says what is wrong by a status:", func(cfg usagefake.Config, path string, status int, kind, message string) {
		w := ask(wire.Handler(fakeOf(cfg), wire.Units{}), path)
		Expect(w.Code).To(Equal(status))
		Expect(dig(w.Body.Bytes(), "error")).To(Equal(map[string]any{"type": kind, "message": message}))
		Expect(w.Header()).NotTo(HaveKey("Retry-After"))
	},
		Entry("signed out", usagefake.Config{Script: usagefake.ScriptSignedOut}, "/api/oauth/usage", 401, "authentication_error", "usagefake: signed out (usage.reason.signed-out)"),
		Entry("signed out for no reason", usagefake.Config{Quotas: quotaAnswers{usagefake.Say(usagefake.Quota{Status: usagefake.NeedsAuth})}}, "/api/oauth/usage", 401, "authentication_error", "signed out"),
		Entry("signed out, of a stream", usagefake.Config{Script: usagefake.ScriptSignedOut}, "/claude/rate_limit_events", 401, "authentication_error", "usagefake: signed out (usage.reason.signed-out)"),
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
	DescribeTable("says when to come back,", func(after time.Duration, header string) {
		src := failing{&usagefake.ThrottledError{RetryAfter: after}}
		Expect(ask(wire.Handler(src, wire.Units{}), "/api/oauth/usage").Header().Get("Retry-After")).To(Equal(header))
	},
		Entry("now", time.Duration(0), "0"), Entry("soon", time.Duration(1), "1"), Entry("never", time.Duration(math.MaxInt64), "9223372037"),
		Entry("and not when it was over", -5*time.Second, "0"),
	)
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
	DescribeTable("knows that a limit is over, and a credit spent, where the source has only updates:", func(trap usagefake.Trap) {
		h := wire.Handler(fakeOf(usagefake.Config{Script: usagefake.ScriptRateLimited, Traps: []usagefake.Trap{trap}}), wire.Units{})
		limited := func() any { return dig(ask(h, "/backend-api/wham/usage").Body.Bytes(), "rate_limit", "limit_reached") }
		for range 3 {
			Expect(limited()).To(BeTrue())
		}
		Expect(post(h, `{"idempotencyKey":"key-1"}`).Code).To(Equal(200))
		for range 3 {
			Expect(limited()).To(BeFalse())
		}
		Expect(dig(ask(h, "/account/rateLimits/read").Body.Bytes(), "rateLimitResetCredits", "availableCount")).To(Equal(1.0))
	}, Entry(nil, usagefake.SparseWindow), Entry(nil, usagefake.SparseStatus), Entry(nil, usagefake.SparseNulls))
	It("keeps the last good answer where the source has an error", func() {
		h := wire.Handler(fakeOf(usagefake.Config{Traps: []usagefake.Trap{usagefake.SparseStatus}, Quotas: quotaAnswers{{}, {Fail: errors.New("x")}, {Lost: true}}}), wire.Units{})
		want := ask(h, "/api/oauth/usage").Body.String()
		Expect(ask(h, "/api/oauth/usage").Code).To(Equal(500))
		Expect(func() { ask(h, "/api/oauth/usage") }).To(PanicWith(http.ErrAbortHandler))
		Expect(ask(h, "/api/oauth/usage").Body.String()).To(Equal(want))
	})
	It("leaves out an update which a later one has overtaken", func() {
		at := func(seconds int, percent float64, sparse bool) usagefake.Quota {
			return usagefake.Quota{Sparse: sparse, AsOf: noon.Add(time.Duration(seconds) * time.Second), Windows: []usagefake.Window{{ID: "session", UsedPercent: percent}}}
		}
		unknown := at(0, 14, true)
		unknown.AsOf = time.Time{}
		src := &saying{at(0, 10, false), at(2, 12, true), at(1, 11, true), at(2, 13, true), unknown, at(1, 15, false)}
		h := wire.Handler(src, wire.Units{})
		var said []any
		for range 6 {
			said = append(said, dig(ask(h, "/report").Body.Bytes(), "windows", 0, "usedPct"))
		}
		Expect(said).To(Equal([]any{10.0, 12.0, 12.0, 13.0, 14.0, 15.0}), "an answer that is no update counts whenever it is of")
	})
	It("takes a status beside an error for nothing", func() {
		h := wire.Handler(failing{errors.New("x")}, wire.Units{})
		Expect(ask(h, "/api/oauth/usage").Code).To(Equal(500))
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
		f := fakeOf(usagefake.Config{})
		h := wire.Handler(f, wire.Units{})
		refusal := func(method, path string) []any {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
			Expect(w.Header().Get("Content-Type")).To(Equal("application/json"))
			return []any{w.Code, w.Header().Get("Allow"), dig(w.Body.Bytes(), "error", "type"), dig(w.Body.Bytes(), "error", "message")}
		}
		Expect(refusal("GET", "/")).To(Equal([]any{404, "", "not_found_error", "there is no /"}))
		Expect(refusal("POST", "/reports")).To(Equal([]any{404, "", "not_found_error", "there is no /reports"}))
		Expect(refusal("GET", consume)).To(Equal([]any{405, "POST", "invalid_request_error", consume + " is for POST"}))
		Expect(refusal("HEAD", "/report")).To(Equal([]any{405, "GET", "invalid_request_error", "/report is for GET"}))
		Expect(f.Counts()).To(BeZero())
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
	It("breaks the connection of a read that was lost as well, which the client does not repeat by itself", func() {
		url, f := serve(usagefake.Config{Quotas: quotaAnswers{{}, {Lost: true}}})
		var outcomes []any
		for range 3 {
			r, err := http.Get(url + "/report")
			if err != nil {
				outcomes = append(outcomes, errors.Is(err, io.EOF))
				continue
			}
			outcomes = append(outcomes, r.StatusCode)
			_, _ = io.Copy(io.Discard, r.Body)
			Expect(r.Body.Close()).To(Succeed())
		}
		Expect(outcomes).To(Equal([]any{200, true, 200}))
		Expect(f.Counts().QuotaReads).To(Equal(3))
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
