package client

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Error is an answer by which the server refuses something.
type Error struct {
	Route      string // such as GET /api/v1/agent-sessions/{session}/
	URL        string // that was asked for
	Status     int
	Detail     string                     // "" where fields are wrong
	Fields     map[string][]string        // what is wrong with each; non_field_errors is what is wrong with several
	Code       string                     // such as provider_signin_in_progress
	Attempt    *SignInAttempt             // that runs already
	RetryAfter time.Duration              // 0: the server does not say
	Extra      map[string]json.RawMessage // what else the server says, which it is free to
}

func (e *Error) Error() string {
	words := []string{}
	if e.Detail != "" {
		words = append(words, e.Detail)
	}
	if e.Code != "" {
		words = append(words, "("+e.Code+")")
	}
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		words = append(words, name+": "+strings.Join(e.Fields[name], " "))
	}
	return fmt.Sprintf("client: %s: %s: %d: %s", e.Route, e.URL, e.Status, strings.Join(words, " "))
}

// Mismatch is an answer that is not as this client knows it.
type Mismatch struct {
	Route string
	What  []string // is not as it should be
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("client: the answer to %s is not as it should be: %s", m.Route, strings.Join(m.What, "; "))
}

// refusal reads the answer of a server that refuses something.
func refusal(route string, res *http.Response) error {
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("client: %s: %w", route, err)
	}
	e := &Error{Route: route, URL: res.Request.URL.String(), Status: res.StatusCode}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	if res.StatusCode < 400 {
		return &Mismatch{route, []string{fmt.Sprintf("the status is %d", res.StatusCode)}}
	}
	if err := mediaType(route, res, "application/json"); err != nil {
		return fmt.Errorf("%w, and the status is %d", err, res.StatusCode)
	}
	var members map[string]json.RawMessage
	if err := decode(route, "", text, &members); err != nil {
		return err
	}
	detail, ok := members["detail"]
	if !ok {
		return e.readFields(text)
	}
	if err := decode(route, "detail", detail, &e.Detail); err != nil {
		return err
	}
	delete(members, "detail")
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var into any
		switch name {
		case "code", "error_code":
			into = &e.Code
		case "attempt":
			into = &e.Attempt
		default:
			continue
		}
		if err := decode(route, name, members[name], into); err != nil {
			return err
		}
		delete(members, name)
	}
	if len(members) > 0 {
		e.Extra = members
	}
	return e
}

// readFields reads what is wrong with the fields of the request.
func (e *Error) readFields(text []byte) error {
	if err := decode(e.Route, "", text, &e.Fields); err != nil {
		return err
	}
	if len(e.Fields) == 0 {
		return &Mismatch{e.Route, []string{fmt.Sprintf("the status is %d, and there is no detail", e.Status)}}
	}
	return e
}
