package standin

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
)

// Identity is what the server, its user and its agent are called.
type Identity struct {
	PlatformURL    string `json:"platformUrl"`
	UserUID        string `json:"userUid"`
	EnvironmentUID string `json:"environmentUid"`
	AgentUID       string `json:"agentUid"`
	AgentName      string `json:"agentName"`
	RuntimeURL     string `json:"runtimeUrl"`   // where the agents' runtime is
	RuntimeToken   string `json:"runtimeToken"` // what it takes, and the platform hands out
}

// DefaultIdentity is that of a server to whom nobody has given another one.
func DefaultIdentity() Identity {
	return Identity{
		PlatformURL:    "https://platform.stand-in.test",
		UserUID:        "00000000-0000-4000-8000-000000000001",
		EnvironmentUID: "00000000-0000-4000-8000-000000000002",
		AgentUID:       "00000000-0000-4000-8000-000000000003",
		AgentName:      "Stand-in Agent",
		RuntimeURL:     "https://agent-runtime.stand-in.test",
		RuntimeToken:   "stand-in-runtime-token",
	}
}

// or is the identity with what another one has where this one has nothing.
func (id Identity) or(other Identity) Identity {
	v, from := reflect.ValueOf(&id).Elem(), reflect.ValueOf(other)
	for i := range v.NumField() {
		if v.Field(i).String() == "" {
			v.Field(i).Set(from.Field(i))
		}
	}
	return id
}

func (id Identity) check() error {
	for _, at := range []struct{ name, url string }{{"PlatformURL", id.PlatformURL}, {"RuntimeURL", id.RuntimeURL}} {
		if u, err := url.Parse(at.url); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("standin: the %s is %.80q; it must be an address such as %q", at.name, at.url, DefaultIdentity().RuntimeURL)
		}
	}
	platform, _ := url.Parse(id.PlatformURL)
	if runtime, _ := url.Parse(id.RuntimeURL); sameOrigin(platform, runtime) && strings.Trim(runtime.Path, "/") == "" {
		return fmt.Errorf("standin: the RuntimeURL is %q, and so all of the platform is below it; it must have a path, or another origin", id.RuntimeURL)
	}
	return nil
}

// sameOrigin is whether two URLs have one origin. A port that goes without saying may be said.
func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && sameHost(a, b) }

func sameHost(a, b *url.URL) bool {
	return strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// Identity is what the server, its user and its agent are called, for all whom no request has named otherwise.
func (s *Server) Identity() Identity { return s.identity }

// idKind is a kind of thing that has an id. Its number is the first digit of the last group of its ids.
type idKind int

const (
	sessionID idKind = iota + 1
	handleID
	customProviderID
	customModelID
	signInID
)

// nextID counts up in each kind. s.mu is locked.
func (s *Server) nextID(kind idKind) string {
	s.ids[kind]++
	return fmt.Sprintf("00000000-0000-4000-8000-%d%011d", kind, s.ids[kind])
}

// person is who asks, and where: as the last list of sessions that was asked for in the same way has named them.
type person struct{ user, environment string }

// caller is what tells those apart who ask: tests that share a server must not take each other's identity.
type caller struct{ token, test string }

// testID is the header by which a test names itself.
const testID = "X-Test-Id"

func (c *call) caller() caller { return caller{c.token, c.r.Header.Get(testID)} }

// adopt keeps whom a request has named. What is "" stays as it was. s.mu is locked.
func (s *Server) adopt(by caller, p person) {
	now := s.whoIs(by)
	if p.user != "" {
		now.user = p.user
	}
	if p.environment != "" {
		now.environment = p.environment
	}
	s.persons[by] = now
}

// whoIs is who asks. s.mu is locked.
func (s *Server) whoIs(by caller) person {
	if p, ok := s.persons[by]; ok {
		return p
	}
	return person{s.identity.UserUID, s.identity.EnvironmentUID}
}

// bearer is the token of an Authorization header; "" is none.
func bearer(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
