package script

import (
	"strconv"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/internal/jsonscan"
)

// Doc is JSON that is looked at often: it is valid and has no white space, and nothing checks that again. In a text that is none nothing is found
// that makes sense.
type Doc string

// NewDoc is JSON that is checked. What is not UTF-8 in it is replaced.
func NewDoc(data []byte) (Doc, error) {
	v, err := lone(data)
	if err != nil {
		return "", err
	}
	return Doc(compact([]byte(v.raw()))), nil
}

// Lookup is a part of it. A path has parts with dots between them: the name of a member, the number of an element from 0, or
// name[member=value], which is the first element of an array whose member has that value, compared as text. The value runs to the bracket, dots
// and all; without a name it is an element of the value itself. The empty path is the whole value. Of two members that are called alike the first
// one counts. It goes from the left to the right, and no further than to the end of what it finds.
func (d Doc) Lookup(path string) (part Doc, ok bool) {
	if path == "" {
		return d, d != ""
	}
	b, i := string(d), 0
	for more := path != ""; more; {
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		name, ok := path[:end], true
		if path = path[end:]; name != "" || !strings.HasPrefix(path, "[") {
			i, ok = partAt(b, i, name)
		}
		for ok && strings.HasPrefix(path, "[") {
			var selector string
			if selector, path, ok = strings.Cut(path[1:], "]"); ok {
				i, ok = selected(b, i, selector)
			}
		}
		if path, more = strings.CutPrefix(path, "."); !ok || !more && path != "" {
			return "", false
		}
	}
	if i >= len(b) {
		return "", false
	}
	return Doc(b[i:jsonscan.Past(b, i)]), true
}

// partAt is where a member of an object begins, or an element of an array.
func partAt(b string, i int, name string) (at int, ok bool) {
	switch jsonscan.First(b, i) {
	case '{':
		i, _, ok = memberAt(b, i, name)
		return i, ok
	case '[':
		n, err := strconv.Atoi(name)
		if err != nil || strconv.Itoa(n) != name {
			return 0, false
		}
		for i = jsonscan.Space(b, i+1); jsonscan.First(b, i) != ']' && i < len(b); i = jsonscan.Comma(b, jsonscan.Past(b, i)) {
			if n == 0 {
				return i, true
			}
			n--
		}
	}
	return 0, false
}

// memberAt is where the value of a member of an object begins. Without one it is where the object ends.
func memberAt(b string, i int, name string) (at, end int, ok bool) {
	for i = jsonscan.Space(b, i+1); jsonscan.First(b, i) == '"'; {
		k := jsonscan.Past(b, i)
		key := b[i+1 : max(k-1, i+1)]
		if strings.IndexByte(key, '\\') >= 0 {
			key = unquoted(b[i:k])
		}
		at = jsonscan.Colon(b, k)
		if key == name {
			return at, 0, true
		}
		i = jsonscan.Comma(b, jsonscan.Past(b, at))
	}
	return 0, i + 1, false
}

// selected is where the first element of an array begins whose member is what the selector says.
func selected(b string, i int, selector string) (at int, ok bool) {
	name, want, ok := strings.Cut(selector, "=")
	if !ok || jsonscan.First(b, i) != '[' {
		return 0, false
	}
	for i = jsonscan.Space(b, i+1); jsonscan.First(b, i) != ']' && i < len(b); {
		end := 0
		if jsonscan.First(b, i) == '{' {
			at, end, ok = memberAt(b, i, name)
		} else {
			at, ok = partAt(b, i, name)
		}
		if ok {
			if end = jsonscan.Past(b, at); says(b[at:end], want) {
				return i, true
			}
			end = closingSoon(b, end, b[i])
		} else if end == 0 {
			end = jsonscan.Past(b, i)
		}
		i = jsonscan.Comma(b, end)
	}
	return 0, false
}

// says is whether a value is this text, or is written like that.
func says(raw, want string) bool {
	if jsonscan.First(raw, 0) == '"' && strings.IndexByte(raw, '\\') < 0 {
		return len(raw) == len(want)+2 && raw[1:len(raw)-1] == want
	}
	return plain(raw) == want
}

// part is a member of an object, or an element of an array.
func (v value) part(name string) (value, bool) {
	i, ok := partAt(v.text, v.pos, name)
	if !ok {
		return value{}, false
	}
	return v.at(i), true
}
