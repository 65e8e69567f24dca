package standin

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// catalog is which model providers there are, with their models, and who is signing in to them.
type catalog struct {
	builtIn  []*provider
	custom   []*customProvider
	attempts []*signInAttempt
	changes  int // of which the digest is made
}

// provider is a model provider, as the catalog lists it.
type provider struct {
	Name            string     `json:"provider"`
	DisplayName     string     `json:"display_name"`
	AuthMethods     []string   `json:"auth_methods"`
	SignInAvailable bool       `json:"sign_in_available"`
	Known           bool       `json:"known"`
	Enabled         bool       `json:"enabled"`
	Authenticated   bool       `json:"authenticated"`
	Credential      credential `json:"credential_status"`
	DefaultModel    string     `json:"default_model"`
	Models          []model    `json:"models"`
}

// model is a model, as the catalog lists it.
type model struct {
	Model          string   `json:"model"`
	DisplayName    string   `json:"display_name"`
	API            string   `json:"api"`
	Input          []string `json:"input"`
	Reasoning      bool     `json:"reasoning"`
	ThinkingLevels []string `json:"thinking_levels"`
	ContextWindow  *int64   `json:"context_window"` // nil: nobody knows
	MaxTokens      *int64   `json:"max_tokens"`
}

// credential is whether one is signed in to a provider.
type credential string

const (
	active  credential = "active"
	revoked credential = "revoked"
	absent  credential = "missing"
)

// What a model may be said to speak, to read, and to think.
var (
	modelAPIs      = []string{"openai-completions", "openai-responses"}
	modelInputs    = []string{"text", "image"}
	thinkingLevels = []string{"off", "minimal", "low", "medium", "high", "xhigh"}
)

const (
	defaultProvider = "stand-in-cloud"
	defaultModel    = "swift-1"
	defaultThinking = "medium"
)

// newCatalog is the catalog that a server begins with. It has a custom provider, so that a client has both kinds to show.
func (s *Server) newCatalog() catalog {
	window, most, now := int64(128_000), int64(16_000), timeText(time.Now())
	builtIn := func(name, displayName string, status credential, models ...model) *provider {
		for i := range models {
			models[i].ContextWindow, models[i].MaxTokens = &window, &most
		}
		return &provider{name, displayName, []string{"oauth"}, true, true, true, status == active, status, models[0].Model, models}
	}
	alpha := customModel{
		UID: s.nextID(customModelID), IsDefault: true, Metadata: map[string]any{}, CreatedBy: s.identity.UserUID, CreatedAt: now, UpdatedAt: now,
		model: model{"alpha", "Alpha", "openai-completions", []string{"text"}, true, []string{"off", "high"}, &window, &most},
	}
	return catalog{
		builtIn: []*provider{
			builtIn(defaultProvider, "Stand-in Cloud", active,
				model{Model: defaultModel, DisplayName: "Swift 1", API: "openai-responses", Input: []string{"text", "image"}, Reasoning: true, ThinkingLevels: []string{"low", defaultThinking, "high"}},
				model{Model: "deep-1", DisplayName: "Deep 1", API: "openai-responses", Input: []string{"text"}, Reasoning: true, ThinkingLevels: []string{"medium", "high", "xhigh"}}),
			builtIn("stand-in-labs", "Stand-in Labs", absent,
				model{Model: "labs-preview", DisplayName: "Labs Preview", API: "openai-completions", Input: []string{"text"}, ThinkingLevels: []string{}}),
		},
		custom: []*customProvider{{
			UID: s.nextID(customProviderID), Identifier: "stand-in-models", DisplayName: "Stand-in Models", BaseURL: "https://models.stand-in.test/v1", apiKey: "stand-in-key",
			Models: []customModel{alpha}, CreatedBy: s.identity.UserUID, CreatedAt: now, UpdatedAt: now,
		}},
		changes: 1,
	}
}

// providers are all providers, in the order of the catalog.
func (c *catalog) providers() []*provider {
	all := slices.Clone(c.builtIn)
	for _, p := range c.custom {
		all = append(all, p.listed())
	}
	return all
}

// digest is another one after each change. A client only compares it, so that counting does.
func (c *catalog) digest() string { return fmt.Sprintf("sha256:%064x", c.changes) }

// find is a provider that has a model.
func (c *catalog) find(provider, model string) *provider {
	p, _ := c.lookUp(provider, model)
	return p
}

// lookUp is a model, and its provider; nil: there is none.
func (c *catalog) lookUp(provider, name string) (*provider, *model) {
	for _, p := range c.providers() {
		for i := range p.Models {
			if m := &p.Models[i]; p.Name == provider && m.Model == name {
				return p, m
			}
		}
	}
	return nil, nil
}

// refuses is why no turn can be played on a model; "" is that one can.
func (c *catalog) refuses(provider, model string) string {
	switch p := c.find(provider, model); {
	case p == nil:
		return fmt.Sprintf("The model %s/%s is not in the catalog.", provider, model)
	case !p.Authenticated:
		return fmt.Sprintf("The model provider %s is not signed in.", provider)
	}
	return ""
}

// known is a provider that one can sign in to; nil: there is none.
func (c *catalog) known(name string) *provider {
	for _, p := range c.builtIn {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// sign has one signed in to a provider, or not.
func (c *catalog) sign(p *provider, to credential) {
	if p.Credential != to {
		p.Credential, p.Authenticated = to, to == active
		c.changes++
	}
}

// SignIn has the user signed in to a model provider from now on. It is an error if nobody can sign in to that: custom providers need no sign-in.
func (s *Server) SignIn(provider string) error { return s.sign(provider, active) }

// SignOut is the contrary of [Server.SignIn]: the credential is revoked.
func (s *Server) SignOut(provider string) error { return s.sign(provider, revoked) }

func (s *Server) sign(name string, to credential) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.catalog.known(name)
	if p == nil {
		var names []string
		for _, p := range s.catalog.builtIn {
			names = append(names, p.Name)
		}
		return fmt.Errorf("standin: nobody can sign in to or out of the model provider %.80q; the providers for that are %s", name, strings.Join(names, ", "))
	}
	s.catalog.sign(p, to)
	return nil
}
