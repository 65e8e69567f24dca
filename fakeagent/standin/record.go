package standin

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sync"
)

// keptRequests is how many requests are kept, and of the unhandled as many. Of more, the newest are.
const keptRequests = 10_000

// Target is whom a request is for.
type Target string

const (
	Platform     Target = "platform"
	AgentRuntime Target = "agent-runtime"
	Other        Target = "other" // neither
)

// Request is a request that came, whatever the answer was.
type Request struct {
	Method string
	URL    string // as it was asked for
	Target Target
	Path   string // of the route: of the runtime what is below its URL, of the platform what is behind the base
	Base   string // what the platform's path hangs from: an origin, or one with the prefix /__platform__
	Query  url.Values
	Header http.Header
	Body   any // what its JSON says, or else its text; nil: none
	Status int // of the answer; 0: it has none yet

	raw *rawBody
}

// rawBody is a body that nobody has looked into yet: most of them nobody ever does.
type rawBody struct {
	once sync.Once
	data []byte
	says any
}

// value is what the body says.
func (b *rawBody) value() any {
	b.once.Do(func() { b.says, b.data = bodyOf(b.data), nil })
	return b.says
}

// Requests are the requests to the platform and to the runtime, in the order in which they came. Of more than 10,000 they are the newest.
func (s *Server) Requests() []Request {
	return clones(s.recordedNow())
}

func (s *Server) recordedNow() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.recorded)
}

// DroppedRequests is how many requests are not among [Server.Requests] any more.
func (s *Server) DroppedRequests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// FindRequests are those of [Server.Requests] with a method and a path; "" is any method.
func (s *Server) FindRequests(method, path string) []Request {
	return s.find(method, func(p string) bool { return p == path })
}

// FindRequestsMatching is [Server.FindRequests] for paths in which an expression is found.
func (s *Server) FindRequestsMatching(method string, path *regexp.Regexp) []Request {
	return s.find(method, path.MatchString)
}

func (s *Server) find(method string, path func(string) bool) []Request {
	return clones(slices.DeleteFunc(s.recordedNow(), func(r Request) bool { return method != "" && r.Method != method || !path(r.Path) }))
}

// UnhandledRequests are those that there was no route for, with the status 404 or 405, and those to nobody here that were not passed through.
func (s *Server) UnhandledRequests() []Request {
	s.mu.Lock()
	all := slices.Clone(s.unhandled)
	s.mu.Unlock()
	return clones(all)
}

// clones are for somebody else, with their bodies.
func clones(requests []Request) []Request {
	for i := range requests {
		r := &requests[i]
		r.Query, r.Header, r.Body, r.raw = cloneValues(r.Query), r.Header.Clone(), r.raw.value(), nil
		r.Header.Del(askedScheme)
	}
	return requests
}

func cloneValues(v url.Values) url.Values { return url.Values(http.Header(v).Clone()) }

// record keeps a request. It returns what sets its status.
func (s *Server) record(r Request) (answered func(status int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.recorded) == keptRequests {
		s.recorded = withoutFirst(s.recorded)
		s.dropped++
	}
	s.recorded = append(s.recorded, r)
	number := len(s.recorded) + s.dropped
	return func(status int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if i := number - s.dropped - 1; i >= 0 && s.recorded[i].Status == 0 {
			s.recorded[i].Status = status
		}
	}
}

// withoutFirst moves nothing: the room is given back when more is appended.
func withoutFirst(requests []Request) []Request {
	requests[0] = Request{}
	return requests[1:]
}

// noRoute keeps a request that nobody has answered.
func (s *Server) noRoute(r Request, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Status = status
	if len(s.unhandled) == keptRequests {
		s.unhandled = withoutFirst(s.unhandled)
	}
	s.unhandled = append(s.unhandled, r)
}

// bodyOf is what a body says.
func bodyOf(body []byte) any {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	var v anyJSON
	if json.Unmarshal(body, &v) != nil {
		return string(body)
	}
	return v.value
}
