package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
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
	i     int
	key   func(at *place)                              // of a member, before its value; may be nil
	value func(at *place, text string, begin, end int) // that is no key, and where it stands
}

func (w *stringWalk) space() byte {
	for strings.IndexByte(" \t\r\n", w.text[w.i]) >= 0 {
		w.i++
	}
	return w.text[w.i]
}

func (w *stringWalk) walk(at *place) {
	switch w.space() {
	case '"':
		begin := w.i
		w.value(at, w.quoted(), begin, w.i)
	case '{':
		w.i++
		for w.space() != '}' {
			p := &place{at, w.quoted(), -1}
			if w.key != nil {
				w.key(p)
			}
			w.space()
			w.i++ // the colon
			w.walk(p)
			w.comma()
		}
		w.i++
	case '[':
		w.i++
		for n := 0; w.space() != ']'; n++ {
			w.walk(&place{at, "", n})
			w.comma()
		}
		w.i++
	default:
		for w.i < len(w.text) && strings.IndexByte(",]} \t\r\n", w.text[w.i]) < 0 {
			w.i++
		}
	}
}

func (w *stringWalk) comma() {
	if w.space() == ',' {
		w.i++
	}
}

// quoted is the string that begins here. It shares the memory of the text if it has no escapes.
func (w *stringWalk) quoted() string {
	begin, escaped := w.i, false
	for w.i++; w.text[w.i] != '"'; w.i++ {
		if w.text[w.i] == '\\' {
			escaped = true
			w.i++
		}
	}
	w.i++
	if !escaped {
		return w.text[begin+1 : w.i-1]
	}
	var text string
	_ = json.Unmarshal([]byte(w.text[begin:w.i]), &text)
	return text
}

// quoteJSON is a string as JSON, in which what is no problem there is not escaped.
func quoteJSON(text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// entryObject is the text of an entry, which must be an object.
func entryObject(e Entry) (string, error) {
	if trimmed := bytes.TrimLeft(e, " \t\r\n"); !json.Valid(e) || trimmed[0] != '{' {
		return "", fmt.Errorf("an entry must be a JSON object, is %.60q", e)
	}
	return string(e), nil
}
