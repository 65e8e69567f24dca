package standin

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Always is for all requests that fit.
const Always = -1

// Fault is an answer that requests get in the place of that of their route.
type Fault struct {
	Method string // "" is any
	Path   string // of a route, as [Request] has it; what stands in {braces} may be anything. "" is any
	Token  string // that the requests come with, so that a token ends and a new one is good; "" is any
	After  int    // how many that fit are served before

	Status     int            // from 400 to 599
	Detail     string         // "" is what the status is called
	More       map[string]any // members of the answer beside the detail, such as error_code
	RetryAfter time.Duration  // in the header Retry-After, in whole seconds, rounded up; 0 is none
}

// fault is a fault that is kept.
type fault struct {
	Fault
	left int
	used bool
}

func (f *fault) String() string {
	times := "always"
	if f.left != Always {
		times = fmt.Sprintf("%d times more", f.left)
	}
	words := []string{strconv.Itoa(f.Status), times, "for"}
	for _, w := range []string{f.Method, f.Path} {
		if w != "" {
			words = append(words, w)
		}
	}
	if f.Method == "" && f.Path == "" {
		words = append(words, "any request")
	}
	return strings.Join(words, " ")
}

// FailNextRequests has the next n requests that fit get a fault, or all from now on if n is [Always]. Those that there is no route for, and those
// that come with no token or a wrong one, get what they always get and do not count. Of several faults that fit, the oldest is taken. It is an error
// if no request can fit.
func (s *Server) FailNextRequests(n int, f Fault) error {
	switch {
	case n < 1 && n != Always:
		return fmt.Errorf("standin: a fault for the next %d requests; it must be for 1 or more, or Always", n)
	case f.Status < 400 || f.Status > 599:
		return fmt.Errorf("standin: a fault with the status %d; it must be from 400 to 599", f.Status)
	case f.After < 0 || f.RetryAfter < 0:
		return fmt.Errorf("standin: a fault with less than nothing: After is %d, RetryAfter %s", f.After, f.RetryAfter)
	case !slices.ContainsFunc(s.routes, func(r route) bool {
		return (f.Method == "" || f.Method == r.Method) && (f.Path == "" || meet(r.Path, f.Path))
	}):
		return fmt.Errorf("standin: there is no route %s for a fault; Routes says which there are", strings.TrimSpace(f.Method+" "+f.Path))
	}
	f.More = maps.Clone(f.More)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{Fault: f, left: n})
	return nil
}

// meet is whether there are paths that fit both.
func meet(one, other string) bool {
	a, b := strings.Split(one, "/"), strings.Split(other, "/")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !isVar(a[i]) && !isVar(b[i]) {
			return false
		}
	}
	return true
}

func isVar(part string) bool { return strings.HasPrefix(part, "{") }

// fault is what a request gets in the place of an answer; nil: nothing.
func (c *call) fault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.faults {
		if f.left == 0 || f.Method != "" && f.Method != c.request.Method || f.Token != "" && f.Token != c.token {
			continue
		}
		if _, ok := match(f.Path, c.request.Path); f.Path != "" && !ok {
			continue
		}
		if f.After > 0 {
			f.After--
			continue
		}
		f.used = true
		if f.left != Always {
			f.left--
		}
		if f.RetryAfter > 0 {
			c.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
		}
		body := map[string]any{"detail": cmp.Or(f.Detail, http.StatusText(f.Status)+".")}
		maps.Copy(body, f.More)
		return &problem{f.Status, body}
	}
	return nil
}
