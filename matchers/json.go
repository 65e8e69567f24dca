package matchers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// compareJSON says in which places JSON differs from other JSON, the first one first, a line each. The order of keys and the space between
// values do not count.
func compareJSON(what string, got, want json.RawMessage) string {
	if bytes.Equal(got, want) {
		return ""
	}
	g, err := decode(got)
	if err != nil {
		return fmt.Sprintf("%s is %s, which is not JSON (%v)", what, cut(string(got), 300), err)
	}
	w, err := decode(want)
	if err != nil {
		return fmt.Sprintf("%s is %s, want %s", what, cut(string(got), 300), cut(string(want), 300))
	}
	return strings.Join(differences(nil, what, g, w), "\n    ")
}

// decode keeps numbers as they are written: two large ones must not become equal.
func decode(text json.RawMessage) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&v); err == nil && d.More() {
		err = fmt.Errorf("there is more behind the value")
	}
	return v, err
}

// encode is what encoding/json makes of a value, with <, > and & as they are.
func encode(v any) (json.RawMessage, error) {
	text, err := timeline.JSON(v)
	if err == nil && text == nil {
		text = json.RawMessage("null")
	}
	return text, err
}

// absent stands for a value that is not there.
type absent struct{}

func differences(out []string, path string, got, want any) []string {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			keys := maps.Clone(w)
			maps.Copy(keys, g)
			var deep []string // first what one sees at once
			for _, k := range slices.Sorted(maps.Keys(keys)) {
				a, b := member(g, k), member(w, k)
				if isDeep(a) || isDeep(b) {
					deep = differences(deep, within(path, k), a, b)
				} else {
					out = differences(out, within(path, k), a, b)
				}
			}
			return append(out, deep...)
		}
	case []any:
		if g, ok := got.([]any); ok {
			for i := range max(len(g), len(w)) {
				out = differences(out, path+"["+strconv.Itoa(i)+"]", element(g, i), element(w, i))
			}
			return out
		}
	case string:
		if g, ok := got.(string); ok {
			if d := compare(path, g, w); d != nil {
				out = append(out, d())
			}
			return out
		}
	default: // null, true, false, a number
		if got == want {
			return out
		}
	}
	return append(out, path+" is "+valueText(got, "missing")+", want "+valueText(want, "none"))
}

// within is the path of a member. The members of "it" go by their names.
func within(path, key string) string {
	if path == it {
		return key
	}
	return path + "." + key
}

const it = "it"

func isDeep(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func member(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return absent{}
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

func valueText(v any, ifAbsent string) string {
	if v == (absent{}) {
		return ifAbsent
	}
	text, _ := encode(v) // was JSON
	return cut(string(text), 300)
}
