package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/internal/jsonscan"
)

// place is where a string stands in JSON. Its name is made only when it is needed, which is seldom.
type place struct {
	in    *place // nil: at the top
	key   string // of an object
	index int    // of an array, or -1
}

// fold makes a name of the keys. clean may change them.
func (p *place) fold(clean func(key string) string) string {
	if p == nil {
		return ""
	}
	path := p.in.fold(clean)
	switch {
	case p.index >= 0:
		return path + "[" + strconv.Itoa(p.index) + "]"
	case path == "":
		return clean(p.key)
	default:
		return path + "." + clean(p.key)
	}
}

func (p *place) String() string { return p.fold(func(key string) string { return key }) }

// nearestKey is the name of a value, or of the list that it is in.
func (p *place) nearestKey() string {
	for p != nil && p.index >= 0 {
		p = p.in
	}
	if p == nil {
		return ""
	}
	return p.key
}

// top is the member of the outermost object that a place is in.
func (p *place) top() string {
	for p.in != nil {
		p = p.in
	}
	return p.key
}

// stringWalk goes through the strings of JSON that is valid. encoding/json would lose the order of members and the spelling of numbers.
type stringWalk struct {
	text  string
	key   func(at *place)                              // of a member, before its value; may be nil
	value func(at *place, text string, begin, end int) // that is no key, and where it stands
}

// walk goes through the value that begins at i. It returns the index behind it.
func (w *stringWalk) walk(at *place, i int) int {
	switch w.text[i] {
	case '"':
		end := jsonscan.Past(w.text, i)
		w.value(at, w.string(i, end), i, end)
		return end
	case '{':
		for i = jsonscan.Space(w.text, i+1); w.text[i] != '}'; {
			end := jsonscan.Past(w.text, i)
			p := &place{at, w.string(i, end), -1}
			if w.key != nil {
				w.key(p)
			}
			i = jsonscan.Comma(w.text, w.walk(p, jsonscan.Colon(w.text, end)))
		}
		return i + 1
	case '[':
		i = jsonscan.Space(w.text, i+1)
		for n := 0; w.text[i] != ']'; n++ {
			i = jsonscan.Comma(w.text, w.walk(&place{at, "", n}, i))
		}
		return i + 1
	}
	return jsonscan.Past(w.text, i)
}

// string is what stands between two places. It shares the memory of the text if it has no escapes.
func (w *stringWalk) string(begin, end int) string {
	if in := w.text[begin+1 : end-1]; strings.IndexByte(in, '\\') < 0 {
		return in
	}
	return textOf([]byte(w.text[begin:end]))
}

// quoteJSON is a string as JSON, in which what is no problem there is not escaped.
func quoteJSON(text string) []byte {
	quoted, _ := marshal(text) // a text always can be
	return quoted
}

// entryObject is the text of an entry, which must be an object.
func entryObject(e Entry) (string, error) {
	if trimmed := bytes.TrimLeft(e, " \t\r\n"); !json.Valid(e) || trimmed[0] != '{' {
		return "", fmt.Errorf("an entry must be a JSON object, is %.60q", e)
	}
	return string(e), nil
}
