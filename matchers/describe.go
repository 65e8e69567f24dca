package matchers

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// wanted is describe after the word want: want "x", want to be reasoning "x".
func wanted(want any) string {
	if ours, ok := want.(matcher); ok {
		return "to " + ours.description
	}
	return describe(want)
}

// describe is what a failure message calls an expected value. It has no pointers: Gomega's ContainSubstring("x") is
// ContainSubstring {Substr:"x"}.
func describe(want any) string { return describeValue(reflect.ValueOf(want), 0) }

func describeValue(v reflect.Value, depth int) string {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return "nil"
	}
	switch w := v.Interface().(type) {
	case interface{ GomegaString() string }:
		return w.GomegaString()
	case fmt.Stringer:
		return w.String()
	case error:
		return fmt.Sprintf("%q", w.Error())
	case timeline.Item:
		return timeline.Line(w)
	}
	if depth == 20 { // a value that holds itself
		return "…"
	}
	var parts []string
	switch v.Kind() {
	case reflect.String:
		return quote(v.String())
	case reflect.Pointer:
		return describeValue(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return fmt.Sprintf("%q", v.Interface())
		}
		for i := range v.Len() {
			parts = append(parts, describeValue(v.Index(i), depth+1))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case reflect.Map:
		for key, value := range v.Seq2() {
			parts = append(parts, describeValue(key, depth+1)+":"+describeValue(value, depth+1))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			if v.Type().Field(i).IsExported() && (f.Kind() != reflect.Slice || f.Len() > 0) {
				parts = append(parts, v.Type().Field(i).Name+":"+describeValue(f, depth+1))
			}
		}
		name := strings.TrimSuffix(strings.TrimPrefix(v.Type().String(), "matchers."), "Matcher")
		if parts == nil {
			return name
		}
		return name + " {" + strings.Join(parts, ", ") + "}"
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return v.Type().String()
	}
	return fmt.Sprint(v.Interface())
}
