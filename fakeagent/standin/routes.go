package standin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent/internal/jsonerr"
)

// maxBody is how long a body may be.
const maxBody = 16 << 20

// Route is a route of the server.
type Route struct {
	Method string
	Target Target
	Path   string // with {names} in the place of what varies
}

// route is a Route that is served.
type route struct {
	Route
	serve func(*call) error
}

// on is a route of a target.
func (t Target) on(method, path string, serve func(*call) error) route {
	return route{Route{method, t, path}, serve}
}

// Routes are all routes, in the order in which they are looked for.
func (s *Server) Routes() []Route {
	all := make([]Route, len(s.routes))
	for i, r := range s.routes {
		all[i] = r.Route
	}
	return all
}

// call is a request that is served.
type call struct {
	*Server
	w       http.ResponseWriter
	r       *http.Request
	request Request
	body    []byte
	tooLong bool // there is more of it
	vars    map[string]string
	token   string

	status     int    // of the answer, if that is no stream and no icon
	answerBody []byte // JSON; nil: none
}

// problem is an error with an answer of its own.
type problem struct {
	status int
	body   map[string]any
}

func (p *problem) Error() string { return fmt.Sprint(p.body["detail"]) }

// refuse is a problem with a detail, and some members more: names and values in turn.
func refuse(status int, detail string, more ...any) error {
	body := map[string]any{"detail": detail}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return &problem{status, body}
}

// invalid is a problem of fields: the names of fields and what is wrong with each, in turn.
func invalid(fields ...string) error {
	body := map[string]any{}
	for i := 0; i+1 < len(fields); i += 2 {
		body[fields[i]] = []string{fields[i+1]}
	}
	return &problem{http.StatusBadRequest, body}
}

// ServeHTTP is of [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Context().Err() != nil {
		return // who asked has gone
	}
	c := &call{Server: s, w: w, r: r, request: s.classify(r), token: bearer(r.Header.Get("Authorization"))}
	passed := c.request.Target == Other && s.passThrough != nil && !own(r)
	if !passed { // what others answer has their own headers
		cors(w, r)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	c.body, c.tooLong = read(r)
	c.request.raw = &rawBody{data: c.body}
	switch {
	case passed && c.tooLong:
		c.refuse(bodyTooLong())
	case passed:
		s.pass(c)
		return
	case c.request.Target == Other:
		s.noRoute(c.request, http.StatusNotFound)
		c.refuse(refuse(http.StatusNotFound, fmt.Sprintf("Nobody here is %s, and it is not passed on.", c.request.URL)))
	default:
		c.w = &statusWriter{ResponseWriter: w, answered: s.record(c.request)}
		c.refuse(c.answer())
	}
	c.send()
}

// refuse answers with what has gone wrong, if anything has.
func (c *call) refuse(err error) {
	if p := (*problem)(nil); errors.As(err, &p) {
		c.json(p.status, p.body)
	} else if err != nil {
		c.json(http.StatusInternalServerError, map[string]any{"detail": err.Error()})
	}
}

func bodyTooLong() error {
	return refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("The body is longer than %d bytes.", maxBody))
}

// answer serves the request, after the latency. Only a stream has none, so what is refused instead of one has it afterwards.
func (c *call) answer() error {
	route, allowed := c.route()
	streams := route != nil && route.Method == http.MethodPost && route.Path == chatPath
	if !streams {
		c.wait()
	}
	err := c.serve(route, allowed)
	if streams && err != nil {
		c.wait()
	}
	return err
}

// serve serves the request. The order of the checks is that of the platform: a route that there is not comes before a token that is wrong.
func (c *call) serve(route *route, allowed []string) error {
	switch {
	case route == nil && allowed != nil:
		c.noRoute(c.request, http.StatusMethodNotAllowed)
		c.w.Header().Set("Allow", strings.Join(allowed, ", "))
		return refuse(http.StatusMethodNotAllowed, fmt.Sprintf("Method %q not allowed.", c.r.Method))
	case route == nil:
		c.noRoute(c.request, http.StatusNotFound)
		return refuse(http.StatusNotFound, "Not found.")
	case !c.admitted():
		return refuse(http.StatusUnauthorized, "Authentication credentials were not provided, or are not right.")
	case c.tooLong:
		return bodyTooLong()
	}
	if err := c.fault(); err != nil {
		return err
	}
	return route.serve(c)
}

// admitted is whether the token is good. A local runtime looks at none: a page on the same machine has none.
func (c *call) admitted() bool {
	return c.profile == ProfileLocal || c.token != "" && (c.request.Target != AgentRuntime || c.token == c.identity.RuntimeToken)
}

// wait is the latency, which a server that closes does not have any more.
func (c *call) wait() {
	if c.latency <= 0 {
		return
	}
	timer := time.NewTimer(c.latency)
	defer timer.Stop()
	ctx := c.r.Context()
	select {
	case <-timer.C:
		return
	case <-c.closing:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		panic(http.ErrAbortHandler) // who asked has gone, or is to see that nobody answers
	}
}

// route finds the route. Without one, allowed are the methods that the path has; nil: it has none.
func (c *call) route() (found *route, allowed []string) {
	for i := range c.routes {
		r := &c.routes[i]
		vars, ok := match(r.Path, c.request.Path)
		if r.Target != c.request.Target || !ok {
			continue
		}
		if r.Method == c.r.Method {
			c.vars = vars
			return r, nil
		}
		allowed = append(allowed, r.Method)
	}
	return nil, allowed
}

// match holds a path against that of a route.
func match(pattern, path string) (vars map[string]string, ok bool) {
	for {
		want, patternRest, more := strings.Cut(pattern, "/")
		got, pathRest, moreOfPath := strings.Cut(path, "/")
		switch name, isVar := strings.CutPrefix(want, "{"); {
		case more != moreOfPath:
			return nil, false
		case isVar && got != "":
			if vars == nil {
				vars = map[string]string{}
			}
			vars[strings.TrimSuffix(name, "}")] = got
		case want != got:
			return nil, false
		}
		if !more {
			return vars, true
		}
		pattern, path = patternRest, pathRest
	}
}

// classify is whom a request is for.
func (s *Server) classify(r *http.Request) Request {
	u, sure := address(r)
	header := r.Header
	if wayOf(r) == "" { // whoever calls the handler may use the request again, which net/http does not
		header = header.Clone()
	}
	origin := u.Scheme + "://" + u.Host
	out := Request{Method: r.Method, URL: u.String(), Target: Other, Path: u.Path, Query: u.Query(), Header: header}
	if s.profile == ProfileLocal {
		if path, ok := below(u.Path, s.local.path); ok {
			out.Target, out.Path = AgentRuntime, path
		}
		return out
	}
	rest, prefixed := strings.CutPrefix(u.Path, "/__platform__")
	if runtime, ok := s.runtimePath(r, &u, sure); ok {
		out.Target, out.Path = AgentRuntime, runtime
	} else if strings.HasPrefix(rest, "/api/v1/") {
		out.Target, out.Path, out.Base = Platform, rest, origin
		if prefixed {
			out.Base += "/__platform__"
		}
	}
	return out
}

// runtimePath is what is below a URL of the runtime. A handler behind a proxy does not see by which scheme it was asked; then any will do.
func (s *Server) runtimePath(r *http.Request, u *url.URL, sure bool) (path string, ok bool) {
	for _, at := range []string{s.identity.RuntimeURL, s.runtimeURL(r)} {
		runtime, err := url.Parse(at)
		if err != nil {
			continue
		}
		if !sure {
			runtime.Scheme = u.Scheme
		}
		if rest, ok := below(u.Path, strings.TrimSuffix(runtime.Path, "/")); ok && sameOrigin(runtime, u) {
			return rest, true
		}
	}
	return "", false
}

// believedBody is how much room is made for a body that is said to be so long.
const believedBody = 64 << 10

// read reads a body to its end, or to the most that is read of one. It is kept, so it has no more room than it needs.
func read(r *http.Request) (data []byte, tooLong bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, false
	}
	body := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), believedBody)+bytes.MinRead)) // which has room for the end, too
	_, _ = body.ReadFrom(io.LimitReader(r.Body, maxBody+1))
	data = bytes.Clone(body.Bytes())
	if len(data) > maxBody {
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, maxBody))
		return data[:maxBody], true
	}
	return data, false
}

// decode reads the body, which must be an object, into something.
func (c *call) decode(into any) error {
	body := bytes.TrimSpace(c.body)
	if len(body) == 0 {
		body = []byte("{}")
	}
	err := json.Unmarshal(body, into)
	if wrong := (*json.SyntaxError)(nil); errors.As(err, &wrong) {
		return refuse(http.StatusBadRequest, "JSON parse error - "+err.Error())
	}
	if body[0] != '{' {
		return invalid("non_field_errors", "The body must be an object.")
	}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return invalid(wrong.Field, jsonerr.Plain(err).Error())
	}
	return err
}

// json makes the answer. It is sent when nothing is locked any more: a client may be slow.
func (c *call) json(status int, body any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		b.Reset()
		status = http.StatusInternalServerError
		fmt.Fprintf(&b, "{\"detail\":%q}\n", err)
	}
	c.status, c.answerBody = status, b.Bytes()
}

// nothing makes an answer that says nothing, which is sent likewise.
func (c *call) nothing() { c.status = http.StatusNoContent }

func (c *call) send() {
	if c.status == 0 {
		return
	}
	if c.answerBody != nil {
		c.w.Header().Set("Content-Type", "application/json")
	}
	c.w.WriteHeader(c.status)
	_, _ = c.w.Write(c.answerBody)
}

// cors lets a page of any origin ask.
func cors(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Credentials", "true")
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS")
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	h.Set("Access-Control-Expose-Headers", "*, ETag, Retry-After, X-Agent-Session-Uid, X-Vercel-Ai-Ui-Message-Stream") // to a page that sends cookies * is a name like others
}

// statusWriter tells the status of its answer, before the client can know it.
type statusWriter struct {
	http.ResponseWriter
	answered func(status int)
}

func (w *statusWriter) WriteHeader(status int) {
	w.answered(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
