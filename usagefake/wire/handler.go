package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/understudy-go/understudy/usagefake"
)

// Handler serves what a source answers, to a host that takes it for a vendor:
//
//	GET  /api/oauth/usage                        ClaudeUsage
//	GET  /backend-api/wham/usage                 CodexWeb, with its headers x-codex-…-used-percent and x-codex-credits-balance
//	GET  /account/rateLimits/read                CodexRateLimits
//	POST /account/rateLimitResetCredit/consume   CodexConsume, for {"idempotencyKey":"…"}
//	GET  /user/balance                           DeepSeekBalance
//	GET  /ccusage/daily                          CCUsageDaily
//	GET  /report                                 Report, with the status 200 whatever it is
//
// The two paths of the Codex app server are methods of its protocol, which has no HTTP; they are here for a host that puts a transport of its
// own in between.
//
// Each request is one call of the source. It needs no credentials. Its errors have the JSON {"error":{"type","message"}} and these statuses:
// signed out 401; unsupported, and a balance where there is none, 404; throttled 429 with Retry-After, in whole seconds; anything else 500. A
// malformed answer has the status 200. After an answer that was lost the connection breaks, and a call that hangs does so until the client
// goes away.
//
// HTTP has no updates. Where the source answers with one, it is merged into the answer before.
func Handler(src usagefake.Source, u Units) http.Handler {
	h := &handler{src: src}
	mux := http.NewServeMux()
	for path, encode := range map[string]func(usagefake.Quota) []byte{
		"/api/oauth/usage":         ClaudeUsage,
		"/account/rateLimits/read": CodexRateLimits,
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			if q, ok := h.quota(w, r); ok {
				send(w, http.StatusOK, encode(q))
			}
		})
	}
	mux.HandleFunc("GET /backend-api/wham/usage", func(w http.ResponseWriter, r *http.Request) {
		if q, ok := h.quota(w, r); ok {
			codexHeaders(w.Header(), q)
			send(w, http.StatusOK, CodexWeb(q))
		}
	})
	mux.HandleFunc("GET /user/balance", func(w http.ResponseWriter, r *http.Request) {
		q, ok := h.quota(w, r)
		switch {
		case !ok:
		case q.Balance == nil:
			refuse(w, http.StatusNotFound, "not_found_error", "this account has no balance")
		default:
			send(w, http.StatusOK, DeepSeekBalance(q, u))
		}
	})
	mux.HandleFunc("GET /report", func(w http.ResponseWriter, r *http.Request) {
		q, err := h.read(r)
		if err == nil || !h.breaks(w, r, err) {
			send(w, http.StatusOK, Report(q, err))
		}
	})
	mux.HandleFunc("GET /ccusage/daily", func(w http.ResponseWriter, r *http.Request) {
		records, err := src.ReadTokenUsage(r.Context())
		if err != nil {
			h.fail(w, r, err)
			return
		}
		send(w, http.StatusOK, CCUsageDaily(records))
	})
	mux.HandleFunc("POST /account/rateLimitResetCredit/consume", h.consume)
	return mux
}

type handler struct {
	src usagefake.Source

	mu   sync.Mutex
	last usagefake.Quota
}

func (h *handler) read(r *http.Request) (usagefake.Quota, error) {
	q, err := h.src.ReadQuota(r.Context())
	if err != nil {
		return q, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = h.last.Merge(q)
	return h.last, nil // the next merge makes another
}

// quota answers itself where there is none.
func (h *handler) quota(w http.ResponseWriter, r *http.Request) (usagefake.Quota, bool) {
	q, err := h.read(r)
	switch {
	case err != nil:
		h.fail(w, r, err)
	case q.Status == usagefake.NeedsAuth:
		h.fail(w, r, fmt.Errorf("usagefake: %w (%s)", usagefake.ErrSignedOut, q.Reason))
	case q.Status == usagefake.Unsupported:
		h.fail(w, r, fmt.Errorf("usagefake: %w (%s)", usagefake.ErrUnsupported, q.Reason))
	default:
		return q, true
	}
	return q, false
}

func (h *handler) consume(w http.ResponseWriter, r *http.Request) {
	var in struct {
		IdempotencyKey string `json:"idempotencyKey"`
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &in) != nil || in.IdempotencyKey == "" {
		refuse(w, http.StatusBadRequest, "invalid_request_error", `the body must be an object with an idempotencyKey, such as {"idempotencyKey":"key-1"}`)
		return
	}
	done, err := h.src.RedeemQuotaReset(r.Context(), in.IdempotencyKey)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	send(w, http.StatusOK, CodexConsume(done))
}

// breaks is where there is no status for an error, as the answer has not arrived, or is none.
func (h *handler) breaks(w http.ResponseWriter, r *http.Request, err error) bool {
	if errors.Is(err, usagefake.ErrLost) || r.Context().Err() != nil {
		panic(http.ErrAbortHandler)
	}
	var malformed *usagefake.MalformedError
	if errors.As(err, &malformed) {
		send(w, http.StatusOK, []byte(malformed.Body))
		return true
	}
	return false
}

func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var throttled *usagefake.ThrottledError
	switch {
	case h.breaks(w, r, err):
	case errors.As(err, &throttled):
		after := (throttled.RetryAfter + time.Second - 1) / time.Second // not a moment too soon
		w.Header().Set("Retry-After", strconv.FormatInt(int64(after), 10))
		refuse(w, http.StatusTooManyRequests, "rate_limit_error", err.Error())
	case errors.Is(err, usagefake.ErrSignedOut):
		refuse(w, http.StatusUnauthorized, "authentication_error", err.Error())
	case errors.Is(err, usagefake.ErrUnsupported):
		refuse(w, http.StatusNotFound, "not_found_error", err.Error())
	default:
		refuse(w, http.StatusInternalServerError, "api_error", err.Error())
	}
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	type detail struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	send(w, status, encode(map[string]detail{"error": {kind, message}}))
}

func send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have gone
}

func codexHeaders(h http.Header, q usagefake.Quota) {
	windows := slots(q, "")
	for i, name := range []string{"primary", "secondary"} {
		if windows[i] != nil {
			if n := whole(windows[i].UsedPercent); n != nil {
				h.Set("x-codex-"+name+"-used-percent", strconv.FormatInt(*n, 10))
			}
		}
	}
	if q.Balance != nil {
		h.Set("x-codex-credits-balance", q.Balance.Total.String())
	}
}
