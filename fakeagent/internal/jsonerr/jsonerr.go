// Package jsonerr says in the words of JSON what encoding/json says in those of Go.
package jsonerr

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Plain is the error of a value of the wrong type as "filePath must be a string, is a number". Other errors stay as they are.
func Plain(err error) error {
	var e *json.UnmarshalTypeError
	if !errors.As(err, &e) {
		return err
	}
	var want string
	switch e.Type.Kind().String() {
	case "string":
		want = "a string"
	case "bool":
		want = "true or false"
	case "slice":
		want = "an array"
		if e.Type.Elem().Kind() == reflect.Uint8 {
			want = "a string" // of base64
		}
	case "struct", "map":
		want = "an object"
	default:
		want = "a whole number"
		if strings.HasPrefix(e.Type.Kind().String(), "float") {
			want = "a number"
		}
	}
	field := strings.ReplaceAll(e.Field, "bare.", "") // a struct type without methods, which its own type embeds to decode itself
	return fmt.Errorf("%s must be %s, is %s", strings.TrimSpace(field), want, article(e.Value))
}

func article(value string) string {
	kind, literal, _ := strings.Cut(value, " ")
	switch {
	case literal != "":
		return literal
	case kind == "array" || kind == "object":
		return "an " + kind
	case kind == "bool":
		return "true or false"
	}
	return "a " + kind
}
