package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// decode reads JSON into something, and objects to all that is not as the type says; at is where it stands. What has omitempty may be missing, a pointer
// may be null, and what has the tag only is one of some words.
//
// [json.Decoder.DisallowUnknownFields] would not do: to it Uid is uid, null is anything, and what is missing is nothing.
func decode(route, at string, text []byte, into any) error {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err := d.Decode(&v)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = fmt.Errorf("there is more behind it")
		}
	}
	if err != nil {
		return &Mismatch{route, []string{fmt.Sprintf("%.80q is not JSON: %s", text, err)}}
	}
	s := strict{}
	s.value(at, v, reflect.TypeOf(into).Elem(), "")
	if len(s.wrong) > 0 {
		return &Mismatch{route, s.wrong}
	}
	if err := json.Unmarshal(text, into); err != nil {
		return &Mismatch{route, []string{err.Error()}}
	}
	return nil
}

// strict holds JSON against types.
type strict struct{ wrong []string }

func (s *strict) refuse(at, format string, args ...any) {
	if at == "" {
		at = "the whole of it"
	}
	s.wrong = append(s.wrong, strings.TrimPrefix(at, ".")+" "+fmt.Sprintf(format, args...))
}

// union is a type whose members depend on what it says of its type.
type union interface {
	shape(kind string) any // nil: there is no such type
}

var (
	rawType         = reflect.TypeFor[json.RawMessage]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	unionType       = reflect.TypeFor[union]()
)

// value holds a value against a type; only is the tag of its member.
func (s *strict) value(at string, v any, t reflect.Type, only string) {
	switch {
	case t == rawType, t.Kind() == reflect.Interface:
		return
	case t.Kind() == reflect.Pointer:
		if v != nil {
			s.value(at, v, t.Elem(), only)
		}
		return
	case v == nil:
		s.refuse(at, "is null")
		return
	case reflect.PointerTo(t).Implements(unmarshalerType):
		return // it objects by itself
	}
	switch v := v.(type) {
	case map[string]any:
		if t.Kind() == reflect.Struct {
			s.object(at, v, t)
			return
		}
		if t.Kind() == reflect.Map {
			for _, name := range slices.Sorted(maps.Keys(v)) {
				s.value(at+"."+name, v[name], t.Elem(), "")
			}
			return
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for i, one := range v {
				s.value(fmt.Sprintf("%s[%d]", at, i), one, t.Elem(), only)
			}
			return
		}
	case string:
		if t.Kind() == reflect.String {
			s.oneOf(at, v, only)
			return
		}
	case json.Number:
		if t.Kind() == reflect.Float64 || t.Kind() == reflect.Int || t.Kind() == reflect.Int64 {
			s.oneOf(at, v.String(), only)
			return
		}
	case bool:
		if t.Kind() == reflect.Bool {
			return
		}
	}
	s.refuse(at, "is %s, and must be %s", word(v), wordOf(t))
}

func (s *strict) oneOf(at, v, only string) {
	if only != "" && !slices.Contains(strings.Fields(only), v) {
		s.refuse(at, "is %q, and must be one of %s", v, strings.ReplaceAll(only, " ", ", "))
	}
}

// object holds an object against a struct.
func (s *strict) object(at string, v map[string]any, t reflect.Type) {
	if t.Implements(unionType) {
		kind, _ := v["type"].(string)
		shape := reflect.Zero(t).Interface().(union).shape(kind)
		if shape == nil {
			s.refuse(at+".type", "is %q, which there is not", v["type"])
			return
		}
		t = reflect.TypeOf(shape)
	}
	known := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		known[name] = true
		if member, there := v[name]; there {
			s.value(at+"."+name, member, f.Type, f.Tag.Get("only"))
		} else if options != "omitempty" {
			s.refuse(at+"."+name, "is missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if !known[name] {
			s.refuse(at+"."+name, "is not known")
		}
	}
}

// word is what a value is.
func word(v any) string {
	switch v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a text"
	case bool:
		return "true or false"
	}
	return "a number"
}

// wordOf is what a value of a type is.
func wordOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return word(map[string]any{})
	case reflect.Slice:
		return word([]any{})
	case reflect.String:
		return word("")
	case reflect.Bool:
		return word(true)
	}
	return word(json.Number(""))
}
