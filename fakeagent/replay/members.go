package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/understudy-go/understudy/fakeagent/internal/jsonscan"
)

// Entries come by the hundred thousand, and encoding/json makes a map of each, in which nobody finds where a member stands. So it only checks the
// syntax.

// member is a member of an object, and where in the text of that it stands.
type member struct {
	key  []byte // without escapes
	from int    // of the key
	at   int    // of the value
	end  int
}

// object has its members in their order.
type object struct {
	text    []byte
	members []member
}

// objectOf is the object that a text is.
func objectOf(text []byte) (o object) {
	o.read(text)
	return o
}

// read makes it the object that another text is, in the memory that it has.
func (o *object) read(text []byte) {
	o.text, o.members = text, o.members[:0]
	for i := jsonscan.Space(text, jsonscan.Space(text, 0)+1); text[i] != '}'; {
		m := member{from: i}
		end := jsonscan.Past(text, i)
		if m.key = text[i+1 : end-1]; bytes.IndexByte(m.key, '\\') >= 0 {
			m.key = []byte(textOf(text[i:end]))
		}
		m.at = jsonscan.Colon(text, end)
		m.end = jsonscan.Past(text, m.at)
		o.members = append(o.members, m)
		i = jsonscan.Comma(text, m.end)
	}
}

// get is the value of a member, or nil. Of equal keys the last counts, as it does for most parsers.
func (o *object) get(key string) []byte {
	if m := o.member(key); m != nil {
		return o.text[m.at:m.end]
	}
	return nil
}

func (o *object) member(key string) *member {
	for i := len(o.members) - 1; i >= 0; i-- {
		if string(o.members[i].key) == key {
			return &o.members[i]
		}
	}
	return nil
}

// str is the text of a member, "" where it has none.
func (o *object) str(key string) string {
	if v := o.get(key); isText(v) {
		return textOf(v)
	}
	return ""
}

// flag is whether a member is true.
func (o *object) flag(key string) bool {
	v := o.get(key)
	return len(v) > 0 && v[0] == 't'
}

// count is the number of a member that has the shape of one.
func (o *object) count(key string) int64 {
	n, _ := wholeNumber(o.get(key))
	return n
}

// elements are those of the array that a text is, and where in it they stand.
func elements(text []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for i := jsonscan.Space(text, jsonscan.Space(text, 0)+1); text[i] != ']'; {
			end := jsonscan.Past(text, i)
			if !yield(i, text[i:end]) {
				return
			}
			i = jsonscan.Comma(text, end)
		}
	}
}

func isText(v []byte) bool { return len(v) > 0 && v[0] == '"' }

// textOf is the text that a JSON string stands for.
func textOf(v []byte) (text string) {
	if plainText(v) {
		return string(v[1 : len(v)-1])
	}
	_ = json.Unmarshal(v, &text) // it is valid
	return text
}

// plainText is whether a JSON string is between its quotes what it stands for.
func plainText(v []byte) bool { return bytes.IndexByte(v, '\\') < 0 && utf8.Valid(v) }

// excerpt is a value for a message: short, and on one line.
func excerpt(v []byte) string {
	const most = 60
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		b.Reset()
		b.Write(v)
	}
	text := b.String()
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(lineEndEscapes.Replace(text), "\ufffd")
}

// syntaxError is where a text is not JSON, and why; cut is whether it would be if more came.
func syntaxError(text []byte) (at int, why string, cut bool) {
	err := json.Unmarshal(text, new(json.RawMessage))
	var e *json.SyntaxError
	if !errors.As(err, &e) || e.Error() == "unexpected end of JSON input" {
		return len(text), "it ends in the middle", true
	}
	at = max(0, int(e.Offset)-1)
	// In the middle of a literal or an escape, the end is a blank to encoding/json, which then complains of that.
	if at == len(text)-1 && strings.HasPrefix(e.Error(), "invalid character ' ' in ") {
		return len(text), "it ends in the middle", true
	}
	return at, e.Error(), false
}
