package script

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/understudy-go/understudy/fakeagent/internal/jsonscan"
)

// A strict parser must tell two equal keys from one, and say where a value stands. So encoding/json only checks the syntax.

// document is what is being parsed.
type document struct {
	text  string
	free  []*object // walks that are over, to be used again
	depth int       // of steps inside steps

	templates bool                           // {{…}} in a step is a placeholder
	holes     []string                       // those of the step that is read, by their names
	fill      func(name string) (Doc, error) // of the step that is filled, or nil
}

// at is the value at a place.
func (d *document) at(i int) value {
	i = jsonscan.Space(d.text, i)
	return value{d, i, jsonscan.Past(d.text, i)}
}

// value is a JSON value in its document.
type value struct {
	*document
	pos, end int
}

type member struct {
	key    string
	keyPos int
	taken  bool // by a field
	value
}

func (v value) raw() string { return v.text[v.pos:v.end] }
func (v value) first() byte { return v.text[v.pos] }

// open checks the syntax of a document and returns its value.
func open(text string, limit int) (value, *Error) {
	if err := tooLong(len(text), limit); err != nil {
		return value{}, err
	}
	if strings.HasPrefix(text, "\ufeff") {
		return value{}, &Error{Reason: "it begins with a byte order mark; save it as UTF-8 without one", Syntax: true}
	}
	if raw := []byte(text); !json.Valid(raw) {
		var x json.RawMessage
		err := json.Unmarshal(raw, &x)
		e := &Error{Reason: err.Error(), Offset: len(text), Syntax: true}
		if se, ok := err.(*json.SyntaxError); ok && se.Error() != "unexpected end of JSON input" {
			e.Offset = max(0, int(se.Offset)-1)
		}
		return value{}, e
	}
	return (&document{text: text}).at(0), nil
}

// lone is JSON of any length as a value in a document of its own.
func lone(data []byte) (value, error) {
	if !json.Valid(data) {
		return value{}, json.Unmarshal(data, new(json.RawMessage)) // says why
	}
	return (&document{text: strings.ToValidUTF8(string(data), "\ufffd")}).at(0), nil
}

// members appends the members of an object.
func (v value) members(to []member) []member {
	doc := v.text
	for i := jsonscan.Space(doc, v.pos+1); doc[i] != '}'; {
		k := jsonscan.Past(doc, i)
		m := member{key: doc[i+1 : k-1], keyPos: i}
		if strings.IndexByte(m.key, '\\') >= 0 {
			m.key = value{v.document, i, k}.string()
		}
		at := jsonscan.Colon(doc, k)
		m.value = value{v.document, at, jsonscan.Past(doc, at)}
		to = append(to, m)
		i = jsonscan.Comma(doc, m.end)
	}
	return to
}

// elements yields the elements of an array.
func (v value) elements(yield func(value) bool) {
	for i := jsonscan.Space(v.text, v.pos+1); v.text[i] != ']'; {
		e := value{v.document, i, jsonscan.Past(v.text, i)}
		if !yield(e) {
			return
		}
		i = jsonscan.Comma(v.text, e.end)
	}
}

// strings yields the strings at any depth, but not the names of members.
func (v value) strings(yield func(value) bool) {
	for i := v.pos; i < v.end; i++ {
		if v.text[i] != '"' {
			continue
		}
		s := value{v.document, i, jsonscan.Past(v.text, i)}
		i = jsonscan.Space(v.text, s.end)
		if named := i < v.end && v.text[i] == ':'; !named && !yield(s) {
			return
		}
	}
}

// length is the number of elements.
func (v value) length() (n int) {
	for range v.elements {
		n++
	}
	return n
}

// string is the value of a string.
func (v value) string() string { return plain(v.raw()) }

func unquoted(raw string) (s string) {
	_ = json.Unmarshal([]byte(raw), &s) // valid, as the whole document is
	return s
}

// plain is a string as it is, and any other value as JSON on one line.
func (v value) plain() string { return plain(v.raw()) }

func plain(raw string) string {
	switch {
	case jsonscan.First(raw, 0) != '"':
		return string(compact([]byte(raw)))
	case strings.IndexByte(raw, '\\') < 0 && utf8.ValidString(raw) && len(raw) > 1:
		return raw[1 : len(raw)-1]
	}
	return unquoted(raw)
}

// whole is a number without a fraction, in whatever notation.
func (v value) whole() (int64, bool) {
	if n, err := strconv.ParseInt(v.raw(), 10, 64); err == nil {
		return n, true
	}
	r, ok := new(big.Rat).SetString(v.raw()) // exact, as 1.0000000000000000001 is no whole number
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

// excerpt is the value for an error message, on one line.
func (v value) excerpt() string { return excerpt(string(compact([]byte(v.raw())))) }

func excerpt(text string) string {
	if len(text) <= 40 {
		return text
	}
	return strings.ToValidUTF8(text[:40], "") + "…"
}

// compact is JSON, which must be valid, without white space.
func compact(raw []byte) []byte {
	var b bytes.Buffer
	_ = json.Compact(&b, raw)
	return b.Bytes()
}

// closingSoon is [jsonscan.Closing] where a lot is skipped: what holds nothing of its own kind is over at the first bracket that is not in a string, which is
// found without a look at each byte.
func closingSoon(b string, i int, open byte) int {
	if n := strings.IndexByte(b[i:], open+('}'-'{')); n >= 0 {
		if in := b[i : i+n]; strings.IndexByte(in, open) < 0 && strings.IndexByte(in, '\\') < 0 && strings.Count(in, `"`)%2 == 0 {
			return i + n + 1
		}
	}
	return jsonscan.Closing(b, i)
}
