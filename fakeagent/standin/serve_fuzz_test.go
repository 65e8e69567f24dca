package standin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/understudy-go/understudy/fakeagent/standin"
)

// FuzzServeHTTP holds that every request has an answer, that this is JSON unless the route has another form, and that it is recorded with its status.
// A line of headers is a name and a value; what has no colon is left out.
func FuzzServeHTTP(f *testing.F) {
	const chat = `{"runtime_session_uid":"00000000-0000-4000-8000-100000000001","session":{"uid":"00000000-0000-4000-8000-100000000001","llm_provider":"stand-in-cloud","llm_model":"swift-1"},"messages":[{"role":"user","content":"hi"}]}`
	const bearer = "Authorization: Bearer stand-in-runtime-token\n"
	f.Add("GET", "platform.stand-in.test", listPath, bearer, "")
	f.Add("GET", "a b%", listPath+"&limit=1&offset=1&is_archived=0&q=x&ordering=-archived_at&agent_id="+agentUID, bearer, "")
	f.Add("POST", "agent-runtime.stand-in.test", "/api/chat", bearer, chat)
	f.Add("POST", "agent-runtime.stand-in.test", "/api/chat", bearer, `{"messages":[{"role":"user","parts":[{"type":"text","text":4}]}]}`)
	f.Add("POST", "agent-runtime.stand-in.test:443", "/api/chat/session/cancel", bearer, chat)
	f.Add("PATCH", "x", path(object{"uid": "00000000-0000-4000-8000-100000000001"}, ""), bearer, `{"llm_provider":"stand-in-cloud","llm_model":"deep-1"}`)
	f.Add("DELETE", "x", path(object{"uid": "00000000-0000-4000-8000-100000000001"}, ""), bearer, "[")
	f.Add("POST", "x", "/api/v1/agents/%2f/sessions/get-or-create-session/", bearer, `{"handle_unique_id":"\ud800"}`)
	f.Add("GET", "x", "/__platform__/api/v1/command-center/agents/"+agentUID+"/icon/", bearer+"If-None-Match: *", "\xff")
	f.Add("GET", "x", "/__platform__/api/v1/command-center/agents/", bearer+"X-Forwarded-Proto: https", "null")
	f.Add("OPTIONS", "", "*", "Origin: null\nAccess-Control-Request-Method: GET", "")
	f.Add("CONNECT", "::", "", "X-Understudy-Scheme: ://", "\x00")
	f.Fuzz(func(t *testing.T, method, host, target, headers, body string) {
		s, err := standin.NewUnstarted()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		header := http.Header{}
		for line := range strings.Lines(headers) {
			if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":"); ok {
				header.Add(name, strings.TrimSpace(value))
			}
		}
		rawPath, query, _ := strings.Cut(target, "?")
		address := &url.URL{Path: rawPath, RawQuery: query}
		if decoded, err := url.PathUnescape(rawPath); err == nil {
			address.Path, address.RawPath = decoded, rawPath
		}
		first := httptest.NewRequest("POST", platformURL+startPath, nil)
		first.Header.Set("Authorization", "Bearer x")
		s.ServeHTTP(httptest.NewRecorder(), first)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, &http.Request{Method: method, Host: host, URL: address, Header: header, Body: io.NopCloser(strings.NewReader(body)), RemoteAddr: "x"})

		kind, text := w.Header().Get("Content-Type"), w.Body.Bytes()
		switch {
		case w.Code == http.StatusNoContent || w.Code == http.StatusNotModified:
			if len(text) > 0 {
				t.Errorf("%d, and yet there is %q", w.Code, text)
			}
		case strings.HasPrefix(kind, "text/event-stream"):
			if !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
				t.Errorf("a stream ends with %q", text)
			}
		case kind == "image/svg+xml":
		case kind != "application/json" || !json.Valid(text):
			t.Errorf("%d, with %s: %q", w.Code, kind, text)
		}
		if w.Code >= 500 {
			t.Errorf("%d: %s", w.Code, text)
		}
		if method == http.MethodOptions && w.Code == http.StatusNoContent {
			return
		}
		recorded, unhandled := s.Requests()[1:], s.UnhandledRequests()
		noRoute := len(unhandled) == 1 && unhandled[0].Status == w.Code
		switch {
		case len(recorded) == 1 && recorded[0].Status == w.Code && len(unhandled) == 0:
		case len(recorded) == 1 && recorded[0].Status == w.Code && noRoute && unhandled[0].Target != standin.Other:
		case len(recorded) == 0 && noRoute && unhandled[0].Target == standin.Other:
		default:
			t.Errorf("after %d, recorded are %+v, unhandled %+v", w.Code, recorded, unhandled)
		}
	})
}
