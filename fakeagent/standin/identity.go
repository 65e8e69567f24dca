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
	for name, text := range map[string]string{"PlatformURL": id.PlatformURL, "RuntimeURL": id.RuntimeURL} {
		if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("standin: the %s is %.80q; it must be an address such as %q", name, text, DefaultIdentity().RuntimeURL)
		}
	}
	return nil
}

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

// person is who asks, and where: as the last read of sessions that came with the same token has named them.
type person struct{ user, environment string }

// adopt keeps whom a request has named. What is "" stays as it was. s.mu is locked.
func (s *Server) adopt(token string, p person) {
	now := s.whoIs(token)
	if p.user != "" {
		now.user = p.user
	}
	if p.environment != "" {
		now.environment = p.environment
	}
	s.persons[token] = now
}

// whoIs is who comes with a token. s.mu is locked.
func (s *Server) whoIs(token string) person {
	if p, ok := s.persons[token]; ok {
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
