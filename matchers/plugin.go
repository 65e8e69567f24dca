package matchers

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// PluginRowOption is something more that a plugin row must be.
type PluginRowOption = Option[timeline.Plugin]

// BePluginRow matches a plugin row, also called a timeline card, by its kind, a string or a matcher.
func BePluginRow(kind any, opts ...PluginRowOption) Matcher {
	return withOptions("BePluginRow", "be a plugin row "+describe(kind), textArgument("BePluginRow", "kind", kind), opts, func(p timeline.Plugin) (string, error) {
		return compare("kind", p.Kind, kind)
	})
}

// WithPlugin wants a row of the plugin with that id, a string or a matcher.
func WithPlugin(id any) PluginRowOption {
	return PluginRowOption{"plugin " + describe(id), textArgument("WithPlugin", "plugin", id), func(p timeline.Plugin) (string, error) {
		return compare("plugin", p.PluginID, id)
	}}
}

// WithVersion wants a version of the kind.
func WithVersion(v int) PluginRowOption {
	return PluginRowOption{fmt.Sprint("version ", v), nil, func(p timeline.Plugin) (string, error) {
		if p.Version != v {
			return fmt.Sprintf("version is %d, want %d", p.Version, v), nil
		}
		return "", nil
	}}
}

// WithData wants data that is the same JSON as want, a value that encoding/json writes, or that a matcher matches. The matcher gets what
// encoding/json reads, such as a map[string]any or, if it is one for JSON text such as MatchJSON, the text.
func WithData(want any) PluginRowOption {
	text, wrong := jsonArgument("WithData", want)
	return PluginRowOption{"data " + text, wrong, func(p timeline.Plugin) (string, error) { return compareJSON("data", p.Data, want) }}
}

// jsonArgument is what a failure message calls a JSON value, and what is wrong with it.
func jsonArgument(what string, want any) (text string, wrong error) {
	if _, ok := want.(types.GomegaMatcher); ok {
		return describe(want), matcherArgument(what, "a value or a matcher", want)
	}
	b, err := json.Marshal(want)
	if err != nil {
		return describe(want), fmt.Errorf("%s: %T has no JSON form: %w", what, want, err)
	}
	return string(b), nil
}

// compareJSON compares JSON with a value, which it must equal, or a matcher.
func compareJSON(what string, got json.RawMessage, want any) (differs string, err error) {
	is := fmt.Sprintf("%s is %s", what, got)
	var value any
	if err := json.Unmarshal(got, &value); err != nil {
		return fmt.Sprintf("%s, which is not JSON (%v)", is, err), nil
	}
	if m, ok := want.(types.GomegaMatcher); ok {
		if differs, err = ask(m, is, value); err != nil {
			if d, textErr := ask(m, is, string(got)); textErr == nil {
				return d, nil
			}
		}
		return differs, err
	}
	wanted, err := json.Marshal(want)
	if err != nil {
		return "", err
	}
	if same(got, wanted) {
		return "", nil
	}
	return fmt.Sprintf("%s, want %s", is, wanted), nil
}

// same says that two texts are the same JSON, whatever the order of their keys and the space between them.
func same(a, b json.RawMessage) bool {
	return bytes.Equal(canonical(a), canonical(b))
}

func canonical(text json.RawMessage) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return text
	}
	b, _ := json.Marshal(v) // was JSON
	return b
}
