package usagefake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// strict decodes JSON, and refuses what encoding/json passes over: keys that nobody knows, or that are written in other letters, or twice, and
// null. Its errors begin with where in the document they are.
func strict(data []byte, v any) error {
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return err
	}
	if err := conforms("", data, reflect.TypeOf(v).Elem()); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// shaped is a type whose JSON is that of another one.
type shaped interface{ shape() reflect.Type }

// conforms says where valid JSON is not that of a type.
func conforms(path string, data []byte, t reflect.Type) error {
	data = bytes.TrimSpace(data)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := reflect.New(t).Interface().(shaped); ok {
		t = s.shape()
	}
	want := ""
	switch {
	case t == reflect.TypeFor[time.Time]():
		want = `a time such as "2026-07-01T12:00:00Z"`
	case t == reflect.TypeFor[failure]():
		want = "a string"
		if word := failureWord(strings.Trim(string(data), `"`)); word != "" {
			want = strconv.Quote(word)
		}
	case t == reflect.TypeFor[Amount]():
		want = `an amount such as "86.42"`
	case t.Kind() == reflect.Struct:
		if data[0] == '{' {
			return members(path, data, t)
		}
		want = "an object"
	case t.Kind() == reflect.Slice:
		var elements []json.RawMessage
		if json.Unmarshal(data, &elements) == nil && elements != nil {
			for i, e := range elements {
				if err := conforms(fmt.Sprintf("%s[%d]", path, i), e, t.Elem()); err != nil {
					return err
				}
			}
			return nil
		}
		want = "an array"
	case t.Kind() == reflect.String:
		want = "a string"
	case t.Kind() == reflect.Bool:
		want = "true or false"
	case t.Kind() == reflect.Float64:
		want = "a number"
	default:
		want = "a whole number"
	}
	if string(data) == "null" || json.Unmarshal(data, reflect.New(t).Interface()) != nil {
		if path == "" {
			path = "it"
		}
		return fmt.Errorf("%s must be %s, is %.40s", path, want, data)
	}
	return nil
}

// members are those of an object.
func members(path string, data []byte, t reflect.Type) error {
	fields := map[string]reflect.Type{} // those that are not there yet
	var known []string
	for i := range t.NumField() {
		if key, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); key != "-" {
			fields[key] = t.Field(i).Type
			known = append(known, key)
		}
	}
	where, dot := path, "."
	if path == "" {
		dot = ""
	} else {
		where += ": "
	}
	d := json.NewDecoder(bytes.NewReader(data))
	_, _ = d.Token() // the document is valid
	for d.More() {
		token, _ := d.Token()
		key, _ := token.(string)
		var value json.RawMessage
		_ = d.Decode(&value)
		field, ok := fields[key]
		switch {
		case !ok:
			if best := nearest(key, known); best != "" {
				return fmt.Errorf("%sunknown key %q, did you mean %q?", where, key, best)
			}
			return fmt.Errorf("%sunknown key %.40q; there are %s", where, key, list(known, ", "))
		case field == nil:
			return fmt.Errorf("%skey %q stands there twice", where, key)
		}
		fields[key] = nil
		if err := conforms(path+dot+key, value, field); err != nil {
			return err
		}
	}
	return nil
}

// nearest is the known word that becomes the given one with the fewest letters changed, or "" where that is more than two.
func nearest[S ~string](word S, known []S) (best S) {
	fewest := 3
	for _, k := range known {
		if d := distance([]rune(string(word)), []rune(string(k))); d < fewest {
			best, fewest = k, d
		}
	}
	return best
}

// distance is how many letters are to be added, left out or changed.
func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		corner := row[0]
		row[0] = i + 1
		for j, y := range b {
			d := corner
			if x != y {
				d = 1 + min(corner, row[j], row[j+1])
			}
			corner, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
