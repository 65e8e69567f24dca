package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// fields are the members of a body, which are read one by one, so that an answer names all that are wrong. A member that is not there leaves what it
// would be read into as it is.
type fields struct {
	in    map[string]any
	wrong map[string]any // lists of strings
}

// anyJSON is JSON with its numbers as they were written.
type anyJSON struct{ value any }

// UnmarshalJSON is of [json.Unmarshaler].
func (v *anyJSON) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(&v.value)
}

// fields are those of the body.
func (c *call) fields() (*fields, error) {
	var body anyJSON
	if err := c.decode(&body); err != nil {
		return nil, err
	}
	f, ok := fieldsOf(body.value)
	if !ok {
		return nil, invalid("non_field_errors", "The body must be an object.")
	}
	return f, nil
}

// fieldsOf are those of a value, if it is an object.
func fieldsOf(value any) (f *fields, ok bool) {
	in, ok := value.(map[string]any)
	return &fields{in, map[string]any{}}, ok
}

// problem is what is wrong with the fields; nil: nothing.
func (f *fields) problem() error {
	if len(f.wrong) == 0 {
		return nil
	}
	return &problem{http.StatusBadRequest, f.wrong}
}

// refuse says what is wrong with a field.
func (f *fields) refuse(name, why string) {
	all, _ := f.wrong[name].([]string)
	f.wrong[name] = append(all, why)
}

// require refuses fields that are not there.
func (f *fields) require(names ...string) {
	for _, name := range names {
		if _, there := f.in[name]; !there {
			f.refuse(name, "This field is required.")
		}
	}
}

// text reads a string that is not blank.
func (f *fields) text(name string, into *string) {
	value, there := f.in[name]
	text, ok := value.(string)
	switch {
	case !there:
	case !ok:
		f.refuse(name, "Not a valid string.")
	case strings.TrimSpace(text) == "":
		f.refuse(name, "This field may not be blank.")
	default:
		*into = text
	}
}

// member reads a member as something says, or says why it cannot be that.
func member[T any](f *fields, name, why string, into *T, as func(value any) (T, bool)) {
	value, there := f.in[name]
	if !there {
		return
	}
	if v, ok := as(value); ok {
		*into = v
	} else {
		f.refuse(name, why)
	}
}

func itself[T any](value any) (v T, ok bool) {
	v, ok = value.(T)
	return v, ok
}

// secret reads a string, or null, which is none.
func (f *fields) secret(name string, into *string) {
	member(f, name, "Not a valid string, nor null.", into, func(value any) (string, bool) {
		text, ok := value.(string)
		return text, ok || value == nil
	})
}

// truth reads true or false.
func (f *fields) truth(name string, into *bool) {
	member(f, name, "Must be true or false.", into, itself)
}

// whole reads a whole number.
func (f *fields) whole(name string, into *int64) {
	member(f, name, "Must be a whole number.", into, wholeNumber)
}

// count reads a whole number above 0, or null.
func (f *fields) count(name string, into **int64) {
	member(f, name, "Must be a whole number above 0, or null.", into, func(value any) (*int64, bool) {
		if value == nil {
			return nil, true
		}
		n, ok := wholeNumber(value)
		return &n, ok && n > 0
	})
}

// maxWhole is up to where all whole numbers are told apart by clients, too.
const maxWhole = 1 << 53

func wholeNumber(value any) (n int64, ok bool) {
	text, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	if n, err := strconv.ParseInt(text.String(), 10, 64); err == nil {
		return n, -maxWhole <= n && n <= maxWhole
	}
	x, err := text.Float64() // 1e3 and 1.0 are whole
	if err != nil || math.Abs(x) > maxWhole || x != math.Trunc(x) {
		return 0, false
	}
	return int64(x), true
}

// choice reads one of some strings.
func (f *fields) choice(name string, into *string, of []string) {
	member(f, name, fmt.Sprintf("Must be one of %s.", strings.Join(of, ", ")), into, func(value any) (string, bool) {
		text, ok := value.(string)
		return text, ok && slices.Contains(of, text)
	})
}

// choices reads a list of some of some strings.
func (f *fields) choices(name string, into *[]string, of []string, atLeast int) {
	value, there := f.in[name]
	if !there {
		return
	}
	list, ok := value.([]any)
	chosen := []string{}
	for _, one := range list {
		text, isText := one.(string)
		ok = ok && isText && slices.Contains(of, text)
		chosen = append(chosen, text)
	}
	switch {
	case !ok:
		f.refuse(name, fmt.Sprintf("Must be a list of %s.", strings.Join(of, ", ")))
	case len(chosen) < atLeast:
		f.refuse(name, fmt.Sprintf("Must have at least one of %s.", strings.Join(of, ", ")))
	default:
		*into = chosen
	}
}

// object reads an object.
func (f *fields) object(name string, into *map[string]any) {
	member(f, name, "Must be an object.", into, itself)
}
