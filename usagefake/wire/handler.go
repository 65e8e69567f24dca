package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/understudy-go/understudy/usagefake"
)

// Handler serves what a source answers, to a host that takes it for a vendor:
//
//	GET  /api/oauth/usage                        ClaudeUsage
//	GET  /claude/rate_limit_events               ClaudeRateLimitEvents, a line each
//	GET  /backend-api/wham/usage                 CodexWeb, with its headers x-codex-…-used-percent and x-codex-credits-balance
//	GET  /account/rateLimits/read                CodexRateLimits
//	POST /account/rateLimitResetCredit/consume   CodexConsume, for {"idempotencyKey":"…"}
//	GET  /user/balance                           DeepSeekBalance
//	GET  /ccusage/daily                          CCUsageDaily
//	GET  /report                                 Report, with the status 200 whatever it is
//
// The two paths of the Codex app server are methods of its protocol, which has no HTTP, and Claude's events are lines of its stream; they are
// here for a host that puts a transport of its own in between. Which credit is redeemed is not for the client to say: a creditId is refused.
//
// Each request is one call of the source. It needs no credentials. Errors have the JSON {"error":{"type","message"}} and these statuses: 401
// signed out; 404 unsupported, no balance, or no such path; 405 another method, of which HEAD is one; 400 a body that is none, and 413 one of more
// than 64 KiB; 429 throttled, with Retry-After in whole seconds; 500 anything else. A malformed answer has the status 200. After an answer that was
// lost the connection breaks, and a call that hangs does so until the client goes away. Each answer has a connection of its own, as Go's client
// repeats a GET that fails on one which it has used before.
//
// HTTP has no updates. Where the source answers with one, it is merged into the answer before. One that is of an earlier time than that, as a later
// one has overtaken it, is left out.
func Handler(src usagefake.Source, u Units) http.Handler {
	h := &handler{src: src}
	quota := func(serve func(http.ResponseWriter, usagefake.Quota)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if q, ok := h.quota(w, r); ok {
				serve(w, q)
			}
		}
	}
	h.routes = map[string]http.HandlerFunc{
		"GET /api/oauth/usage":         quota(func(w http.ResponseWriter, q usagefake.Quota) { send(w, http.StatusOK, ClaudeUsage(q)) }),
		"GET /account/rateLimits/read": quota(func(w http.ResponseWriter, q usagefake.Quota) { send(w, http.StatusOK, CodexRateLimits(q)) }),
		"GET /claude/rate_limit_events": quota(func(w http.ResponseWriter, q usagefake.Quota) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			for _, event := range ClaudeRateLimitEvents(q, u) {
				_, _ = w.Write(append(event, '\n'))
			}
		}),
		"GET /backend-api/wham/usage": quota(func(w http.ResponseWriter, q usagefake.Quota) {
			codexHeaders(w.Header(), q)
			send(w, http.StatusOK, CodexWeb(q))
		}),
		"GET /user/balance": quota(func(w http.ResponseWriter, q usagefake.Quota) {
			if q.Balance == nil {
				refuse(w, http.StatusNotFound, notFound, "this account has no balance")
				return
			}
			send(w, http.StatusOK, DeepSeekBalance(q, u))
		}),
		"GET /report": func(w http.ResponseWriter, r *http.Request) {
			q, err := h.read(r)
			if err == nil || !h.breaks(w, r, err) {
				send(w, http.StatusOK, Report(q, err))
			}
		},
		"GET /ccusage/daily": func(w http.ResponseWriter, r *http.Request) {
			records, err := src.ReadTokenUsage(r.Context())
			if err != nil {
				h.fail(w, r, err)
				return
			}
			send(w, http.StatusOK, CCUsageDaily(records))
		},
		"POST /account/rateLimitResetCredit/consume": h.consume,
	}
	return h
}

type handler struct {
	src    usagefake.Source
	routes map[string]http.HandlerFunc // by method and path

	mu   sync.Mutex
	last usagefake.Quota
}

// ServeHTTP does what http.ServeMux would, whose errors have another form, and which takes HEAD for GET.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	path := r.URL.Path
	if serve := h.routes[r.Method+" "+path]; serve != nil {
		serve(w, r)
		return
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if h.routes[method+" "+path] != nil {
			w.Header().Set("Allow", method)
			refuse(w, http.StatusMethodNotAllowed, badRequest, path+" is for "+method)
			return
		}
	}
	refuse(w, http.StatusNotFound, notFound, "there is no "+path)
}

func (h *handler) read(r *http.Request) (usagefake.Quota, error) {
	q, err := h.src.ReadQuota(r.Context())
	if err != nil {
		return q, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if late := q.Sparse && !q.AsOf.IsZero() && q.AsOf.Before(h.last.AsOf); !late {
		h.last = h.last.Merge(q)
	}
	return h.last, nil // the next merge makes another
}

// quota answers itself where there is none.
func (h *handler) quota(w http.ResponseWriter, r *http.Request) (usagefake.Quota, bool) {
	q, err := h.read(r)
	switch {
	case err != nil:
	case q.Status == usagefake.NeedsAuth:
		err = because(usagefake.ErrSignedOut, q.Reason)
	case q.Status == usagefake.Unsupported:
		err = because(usagefake.ErrUnsupported, q.Reason)
	}
	if err != nil {
		h.fail(w, r, err)
	}
	return q, err == nil
}

func because(err error, reason string) error {
	if reason == "" {
		return err
	}
	return fmt.Errorf("usagefake: %w (%s)", err, reason)
}

func (h *handler) consume(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largest))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		refuse(w, http.StatusRequestEntityTooLarge, "request_too_large", fmt.Sprintf("the body must have at most %d bytes", tooLarge.Limit))
		return
	}
	in, key := members(body), ""
	switch {
	case err != nil || json.Unmarshal(in["idempotencyKey"], &key) != nil || key == "":
		refuse(w, http.StatusBadRequest, badRequest, `the body must be an object with an idempotencyKey, such as {"idempotencyKey":"key-1"}`)
		return
	case in["creditId"] != nil && string(in["creditId"]) != "null":
		refuse(w, http.StatusBadRequest, badRequest, "creditId must be null or left out: it is the back end that picks a credit")
		return
	}
	done, err := h.src.RedeemQuotaReset(r.Context(), key)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	send(w, http.StatusOK, CodexConsume(done))
}

// largest is how many bytes a body may have.
const largest = 64 << 10

// members are those of a JSON object. Where it is none, or has one twice, there are none. encoding/json itself would take a key in other letters, and
// the last one of two.
func members(data []byte) map[string]json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(data))
	if begin, _ := d.Token(); begin != json.Delim('{') || !json.Valid(data) {
		return nil
	}
	out := map[string]json.RawMessage{}
	for d.More() {
		key, _ := d.Token()
		name, _ := key.(string)
		var value json.RawMessage
		if _ = d.Decode(&value); out[name] != nil {
			return nil
		}
		out[name] = value
	}
	return out
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
		w.Header().Set("Retry-After", strconv.FormatInt(max(0, wholeSeconds(throttled.RetryAfter)), 10))
		refuse(w, http.StatusTooManyRequests, "rate_limit_error", err.Error())
	case errors.Is(err, usagefake.ErrSignedOut):
		refuse(w, http.StatusUnauthorized, "authentication_error", err.Error())
	case errors.Is(err, usagefake.ErrUnsupported):
		refuse(w, http.StatusNotFound, notFound, err.Error())
	default:
		refuse(w, http.StatusInternalServerError, "api_error", err.Error())
	}
}

// Types of errors, as Claude has them.
const (
	badRequest = "invalid_request_error"
	notFound   = "not_found_error"
)

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
