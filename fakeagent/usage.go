package fakeagent

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/understudy-go/understudy/usagefake"
)

// Usage is the quota and the token usage of the agent's account, which is as [Config].UsageScript says. Turns use nothing of it up.
func (in *Instance) Usage() usagefake.Source { return in.usage }

//go:embed locales
var locales embed.FS

// Texts are the words, in a language, for the keys that the kit uses in their place: in the labels and reasons of a quota. The languages are en
// and zh-CN, and have the same keys.
func Texts(language string) (map[string]string, error) {
	data, err := locales.ReadFile("locales/" + language + ".json")
	if err != nil {
		return nil, fmt.Errorf("fakeagent: there are no texts in %q; there are %s", language, strings.Join(languages(), " and "))
	}
	var texts map[string]string
	if err := json.Unmarshal(data, &texts); err != nil {
		return nil, fmt.Errorf("fakeagent: texts in %s: %w", language, err)
	}
	return texts, nil
}

func languages() (all []string) {
	files, _ := locales.ReadDir("locales") // it is in the binary
	for _, f := range files {
		all = append(all, strings.TrimSuffix(f.Name(), path.Ext(f.Name())))
	}
	return all
}
