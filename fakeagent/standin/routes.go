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
	vars    map[string]string
	token   string

	status     int // of the answer, if that is JSON
	answerBody []byte
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
	cors(w, r)
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	c := &call{Server: s, w: w, r: r, request: s.classify(r), token: bearer(r.Header.Get("Authorization"))}
	tooLong := false
	c.body, tooLong = read(r.Body)
	c.request.Body = bodyOf(c.body)
	if c.request.Target == Other {
		s.other(c)
		return
	}
	answered := s.record(c.request)
	status := &statusWriter{ResponseWriter: w}
	c.w = status
	defer func() { answered(status.status) }()
	err := c.answer(tooLong)
	if p := (*problem)(nil); errors.As(err, &p) {
		c.json(p.status, p.body)
	} else if err != nil {
		c.json(http.StatusInternalServerError, map[string]any{"detail": err.Error()})
	}
	c.send()
}

// answer serves the request. The order of the checks is that of the platform: a route that there is not comes before a token that is wrong.
func (c *call) answer(tooLong bool) error {
	route, allowed := c.route()
	if err := c.wait(route); err != nil {
		return nil //nolint:nilerr // who asked has gone
	}
	switch {
	case route == nil && allowed != nil:
		c.noRoute(c.request, http.StatusMethodNotAllowed)
		c.w.Header().Set("Allow", strings.Join(allowed, ", "))
		return refuse(http.StatusMethodNotAllowed, fmt.Sprintf("Method %q not allowed.", c.r.Method))
	case route == nil:
		c.noRoute(c.request, http.StatusNotFound)
		return refuse(http.StatusNotFound, "Not found.")
	case c.token == "", c.request.Target == AgentRuntime && c.token != c.identity.RuntimeToken:
		return refuse(http.StatusUnauthorized, "Authentication credentials were not provided, or are not right.")
	case tooLong:
		return refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("The body is longer than %d bytes.", maxBody))
	}
	if err := c.fault(); err != nil {
		return err
	}
	return route.serve(c)
}

// wait is the latency, which a stream does not have.
func (c *call) wait(to *route) error {
	if c.latency <= 0 || to != nil && to.Method == http.MethodPost && to.Path == chatPath {
		return nil
	}
	return sleep(c.r.Context().Done(), c.latency)
}

// errGone is that who asked has gone.
var errGone = errors.New("who asked has gone")

// sleep waits, unless something ends it.
func sleep(end <-chan struct{}, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-end:
		return errGone
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
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	vars = map[string]string{}
	for i, w := range want {
		switch name, isVar := strings.CutPrefix(w, "{"); {
		case isVar && got[i] != "":
			vars[strings.TrimSuffix(name, "}")] = got[i]
		case w != got[i]:
			return nil, false
		}
	}
	return vars, true
}

// classify is whom a request is for.
func (s *Server) classify(r *http.Request) Request {
	u := *r.URL
	if u.Host == "" {
		u.Scheme, u.Host = "http", r.Host
	}
	if scheme := r.Header.Get(forwarded); scheme != "" {
		u.Scheme = scheme
	}
	origin := u.Scheme + "://" + u.Host
	out := Request{Method: r.Method, URL: u.String(), Target: Other, Path: u.Path, Query: u.Query(), Header: r.Header.Clone()}
	rest, prefixed := strings.CutPrefix(u.Path, "/__platform__")
	if runtime, ok := s.runtimePath(r, u); ok {
		out.Target, out.Path = AgentRuntime, runtime
	} else if strings.HasPrefix(rest, "/api/v1/") {
		out.Target, out.Path, out.Base = Platform, rest, origin
		if prefixed {
			out.Base += "/__platform__"
		}
	}
	return out
}

// runtimePath is what is below the runtime's URL.
func (s *Server) runtimePath(r *http.Request, u url.URL) (path string, ok bool) {
	runtime, err := url.Parse(s.runtimeURL(r))
	if err != nil || runtime.Host != u.Host {
		return "", false
	}
	below, ok := strings.CutPrefix(u.Path, strings.TrimSuffix(runtime.Path, "/"))
	if !ok || below != "" && below[0] != '/' {
		return "", false
	}
	if below == "" {
		below = "/"
	}
	return below, true
}

// other answers what is neither the platform's nor the runtime's.
func (s *Server) other(c *call) {
	if s.passThrough == nil {
		s.noRoute(c.request, http.StatusNotFound)
		c.json(http.StatusNotFound, map[string]any{"detail": fmt.Sprintf("Nobody here is %s, and it is not passed on.", c.request.URL)})
		c.send()
		return
	}
	s.pass(c)
}

// read reads a body to its end, or to the most that is read of one.
func read(body io.Reader) (data []byte, tooLong bool) {
	if body == nil {
		return nil, false
	}
	data, _ = io.ReadAll(io.LimitReader(body, maxBody+1))
	if len(data) > maxBody {
		_, _ = io.Copy(io.Discard, io.LimitReader(body, maxBody))
		return data[:maxBody], true
	}
	return data, false
}

// decode reads the body, which must be an object, into something.
func (c *call) decode(into any) error {
	if len(c.body) == 0 {
		c.body = []byte("{}")
	}
	if err := json.Unmarshal(c.body, into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return invalid(wrong.Field, fmt.Sprintf("Not a valid %s.", wrong.Type))
		}
		return refuse(http.StatusBadRequest, "JSON parse error - "+err.Error())
	}
	return nil
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

func (c *call) send() {
	if c.status == 0 {
		return
	}
	c.w.Header().Set("Content-Type", "application/json")
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
	h.Set("Access-Control-Expose-Headers", "*")
}

// statusWriter knows the status of its answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
