package standin

import "fmt"

// catalog is which models there are, and whether one is signed in to their providers.
type catalog struct {
	providers []*provider
}

type provider struct {
	name          string
	authenticated bool
	models        []string
}

func builtInCatalog() catalog {
	return catalog{[]*provider{
		{"stand-in-cloud", true, []string{"swift-1", "deep-1"}},
		{"stand-in-labs", false, []string{"labs-preview"}},
	}}
}

const (
	defaultProvider = "stand-in-cloud"
	defaultModel    = "swift-1"
	defaultThinking = "medium"
)

// find is a provider that has a model.
func (c *catalog) find(provider, model string) *provider {
	for _, p := range c.providers {
		if p.name != provider {
			continue
		}
		for _, m := range p.models {
			if m == model {
				return p
			}
		}
	}
	return nil
}

// refuses is why no turn can be played on a model; "" is that one can.
func (c *catalog) refuses(provider, model string) string {
	switch p := c.find(provider, model); {
	case p == nil:
		return fmt.Sprintf("The model %s/%s is not in the catalog.", provider, model)
	case !p.authenticated:
		return fmt.Sprintf("The model provider %s is not signed in.", provider)
	}
	return ""
}
