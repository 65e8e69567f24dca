package script

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Lookup is a part of a JSON value, without white space. A path has parts with dots between them: the name of a member, the number of an
// element from 0, or name[member=value], which is the first element of an array whose member has that value, compared as text. The value runs to
// the bracket, dots and all; without a name it is an element of the value itself. The empty path is the whole value.
func Lookup(data json.RawMessage, path string) (json.RawMessage, bool) {
	v, err := lone(data)
	if err != nil {
		return nil, false
	}
	for more := path != ""; more; {
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		name, ok := path[:end], true
		if path = path[end:]; name != "" || !strings.HasPrefix(path, "[") {
			v, ok = v.part(name)
		}
		for ok && strings.HasPrefix(path, "[") {
			var selector string
			if selector, path, ok = strings.Cut(path[1:], "]"); ok {
				v, ok = v.selected(selector)
			}
		}
		if path, more = strings.CutPrefix(path, "."); !ok || !more && path != "" {
			return nil, false
		}
	}
	return compact([]byte(v.raw())), true
}

// part is a member of an object, or an element of an array.
func (v value) part(name string) (value, bool) {
	switch v.first() {
	case '{':
		found, ok := value{}, false
		for _, m := range v.members(nil) { // of two that are called alike the last one counts, as in encoding/json
			if m.key == name {
				found, ok = m.value, true
			}
		}
		return found, ok
	case '[':
		n, err := strconv.Atoi(name)
		if err != nil || strconv.Itoa(n) != name {
			return value{}, false
		}
		for e := range v.elements {
			if n == 0 {
				return e, true
			}
			n--
		}
	}
	return value{}, false
}

// selected is the first element of an array whose member is what the selector says.
func (v value) selected(selector string) (value, bool) {
	name, want, ok := strings.Cut(selector, "=")
	if !ok || v.first() != '[' {
		return value{}, false
	}
	for e := range v.elements {
		if got, ok := e.part(name); ok && got.plain() == want {
			return e, true
		}
	}
	return value{}, false
}
