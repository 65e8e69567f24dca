package matchers

import (
	"encoding/json"
	"fmt"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// PluginRowOption is something more that a plugin row must be.
type PluginRowOption = Option[timeline.Plugin]

// BePluginRow matches a plugin row, also called a timeline card, by its kind, a string or a matcher.
func BePluginRow(kind any, opts ...PluginRowOption) Matcher {
	w := of(textWant("BePluginRow", "kind", kind), func(p timeline.Plugin) string { return p.Kind })
	return one("BePluginRow", w.called("be a plugin row "), opts)
}

// WithPlugin wants a row of the plugin with that id, a string or a matcher.
func WithPlugin(id any) PluginRowOption {
	w := of(textWant("WithPlugin", "plugin", id), func(p timeline.Plugin) string { return p.PluginID })
	return PluginRowOption(w.called("plugin "))
}

// WithVersion wants a version of the kind.
func WithVersion(v int) PluginRowOption {
	return PluginRowOption{fmt.Sprint("version ", v), nil, func(p timeline.Plugin) (differs, error) {
		if p.Version != v {
			return say("version is %d, want %d", p.Version, v), nil
		}
		return nil, nil
	}}
}

// WithData wants data that is the same JSON as want, a value that encoding/json writes, or that a matcher matches. The matcher gets what
// encoding/json reads, such as a map[string]any or, if it is one for JSON text such as MatchJSON, the text.
func WithData(want any) PluginRowOption {
	w := of(jsonWant("WithData", "data", want), func(p timeline.Plugin) json.RawMessage { return p.Data })
	return PluginRowOption(w.called("data "))
}
