package matchers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// HaveSentRequest matches if the host sent the agent a JSON-RPC request or notification of a method, a string or a matcher, with params
// that are all that is given here: a JSON value, which the whole params must be, or a matcher, as in [WithData]. No params are null.
// A failure shows how those requests differ that have the method.
//
// It looks at what a process or a transcript has recorded: at whatever has HostRequests() (methods []string, params []json.RawMessage).
func HaveSentRequest(method any, params ...any) Matcher {
	m := of(textWant("HaveSentRequest", "method", method), func(r request) string { return r.method })
	opts := make([]Option[request], len(params))
	for i, p := range params {
		opts[i] = withParams(p)
	}
	w, near := with(m.called("request "), opts)
	test := func(actual any) (v verdict, err error) {
		got, err := requestsOf("HaveSentRequest", actual)
		if err != nil {
			return v, err
		}
		l := list[request]{"request", "", got, request.String}
		e := expected[request]{test: w.test, near: near}
		return l.has(e, "the host sent no "+w.description, "it sent", func(r request) string { return r.method })
	}
	return matcher{description: "have the host's " + w.description, wrong: w.wrong, sees: requestTable, test: test}
}

func withParams(params any) Option[request] {
	w := jsonWant("HaveSentRequest: params", "params", params)
	return Option[request]{"params " + w.description, w.wrong, func(r request) (differs, error) {
		if r.params != nil {
			return w.test(r.params)
		}
		d, err := w.test(json.RawMessage("null"))
		if d != nil {
			d = say("there are no params, want %s", w.description)
		}
		return d, err
	}}
}

// request is a JSON-RPC request or notification.
type request struct {
	method string
	params json.RawMessage // nil if there were none
}

func (r request) String() string {
	if r.params == nil {
		return r.method
	}
	var line bytes.Buffer
	if json.Compact(&line, r.params) != nil {
		return r.method + " " + quote(string(r.params)) // no JSON
	}
	return r.method + " " + line.String()
}

// requestsOf are the requests of a host that an actual has recorded.
func requestsOf(name string, actual any) ([]request, error) {
	recorder, ok := actual.(interface {
		HostRequests() (methods []string, params []json.RawMessage)
	})
	switch {
	case !ok:
		return nil, unexpected(name, "the record of a host's requests, with the method HostRequests", actual)
	case isNilPointer(recorder):
		return nil, pointer(name+": the actual", actual)
	}
	methods, params := recorder.HostRequests()
	if len(methods) != len(params) {
		return nil, fmt.Errorf("%s: HostRequests returned %d methods and the params of %d", name, len(methods), len(params))
	}
	requests := make([]request, len(methods))
	for i := range requests {
		requests[i] = request{methods[i], params[i]}
	}
	return requests, nil
}

// requestTable is what [HaveSentRequest] sees of an actual.
func requestTable(actual any) (t table, ok bool) {
	requests, err := requestsOf("", actual)
	if err != nil {
		return t, false
	}
	text, _ := processText(actual)
	head, _, _ := strings.Cut(text, "\n")
	return table{head, "request", len(requests), func(i int) string { return requests[i].String() }}, true
}
