package playbook

import (
	"bytes"
	"encoding/json"
	"strings"
)

// tree is JSON with the places of its values. It is read in one go, however many of them somebody asks for.
type tree struct {
	at     int
	text   string // of a string
	isText bool
	names  []string // of the members of an object
	inner  []tree   // members, or elements of an array
}

// readTree reads JSON that is valid.
func readTree(data []byte) tree {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return nextTree(d, data)
}

func nextTree(d *json.Decoder, data []byte) (t tree) {
	t.at = int(d.InputOffset())
	for strings.IndexByte(" \t\r\n,:", data[t.at]) >= 0 {
		t.at++
	}
	token, _ := d.Token()
	switch token := token.(type) {
	case string:
		t.text, t.isText = token, true
	case json.Delim:
		for d.More() {
			if token == '{' {
				name, _ := d.Token()
				t.names = append(t.names, name.(string))
			}
			t.inner = append(t.inner, nextTree(d, data))
		}
		_, _ = d.Token()
	}
	return t
}

// member is one of an object, the zero value where there is none.
func (t tree) member(name string) tree {
	for i, n := range t.names {
		if n == name {
			return t.inner[i]
		}
	}
	return tree{}
}

// texts goes through the strings, but not the names of members.
func (t tree) texts(path string, visit func(text string, at int, path string)) {
	if t.isText {
		visit(t.text, t.at, path)
	}
	for i, inner := range t.inner {
		if t.names != nil {
			inner.texts(member(path, t.names[i]), visit)
		} else {
			inner.texts(element(path, i), visit)
		}
	}
}
