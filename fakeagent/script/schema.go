package script

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// schema is a JSON Schema; encoding/json prints its keys in order.
type schema map[string]any

func (s schema) with(if_ bool, key string, v any) schema {
	if if_ {
		s[key] = v
	}
	return s
}

// description collects what a shape says of its fields.
type description struct {
	step     bool     // it is part of a step, where placeholders may stand
	keys     []string // of props, in order
	props    schema
	required []string
	instead  schema     // what may stand in place of the object
	pairs    [][]string // fields that exclude each other
	needs    [][]string // fields one of which must be there
	whole    schema     // instead of all that
}

func (d *description) add(key string, f flags, doc string, s schema) {
	if t := s["type"]; t == "integer" || t == "boolean" || t == "object" && s["properties"] == nil {
		s = d.or("placeholder", s)
	}
	if f&short != 0 {
		d.instead = s
	}
	if d.props == nil {
		d.props = schema{}
	}
	full := schema{"description": doc}
	for k, v := range s {
		full[k] = v
	}
	d.props[key] = full
	d.keys = append(d.keys, key)
	if f&must != 0 {
		d.required = append(d.required, key)
	}
}

// or is what may be a placeholder, or hold one, instead.
func (d *description) or(placeholder string, s schema) schema {
	if !d.step {
		return s
	}
	return schema{"anyOf": []schema{s, {"$ref": "#/$defs/" + placeholder}}}
}

func (d *description) choices(options []string) schema {
	return d.or("template", schema{"enum": slices.Clone(options)})
}

func (d *description) describe(walk func(*object)) schema { return describe(walk, d.step) }

func describe(walk func(*object), step bool) schema {
	d := &description{step: step}
	walk(&object{mode: describing, description: d})
	if d.whole != nil {
		return d.whole
	}
	s := schema{"type": "object", "properties": d.props, "additionalProperties": false}
	s.with(d.required != nil, "required", d.required)
	var all []schema
	for _, pair := range d.pairs {
		all = append(all, schema{"not": schema{"required": pair}})
	}
	for _, keys := range d.needs {
		var any []schema
		for _, key := range keys {
			any = append(any, schema{"required": []string{key}})
		}
		all = append(all, schema{"anyOf": any})
	}
	s.with(all != nil, "allOf", all)
	if d.instead != nil {
		return schema{"oneOf": []schema{d.instead, s}}
	}
	return s
}

// Schema is the JSON Schema (draft 2020-12) of a script, indented. [Parse] and [ParseFile] accept no script that the schema refuses. Beyond
// the schema they refuse equal keys, chunks that a text has not enough characters for, an error that goes with the status completed, two
// questions with one id, base64 that is none, an id with a dot, bracket, brace or star, an expectInput that is not the first step and an awaitSteer
// that is not the last one, or either inside a step, whole numbers too large for an int, steps nested too deep, and more than [MaxSize] bytes; and
// Parse refuses a placeholder where no text may stand.
func Schema() []byte {
	steps := make([]schema, len(kinds))
	for i, k := range kinds {
		steps[i] = schema{
			"type": "object", "description": k.doc, "required": []string{k.key}, "additionalProperties": false,
			"properties": schema{k.key: describe(k.shape, true)},
		}
	}
	root := describe(new(Script).shape, false)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Understudy script"
	some := make([]string, len(families))
	for i, f := range families {
		some[i] = regexp.QuoteMeta(f) + `[\s\S]+`
	}
	hole := `\{\{(` + strings.Join(slices.Concat(placeholders, some), "|") + `)\}\}`
	root["$defs"] = schema{
		"step":        schema{"oneOf": steps},
		"placeholder": schema{"type": "string", "pattern": "^" + hole + "$", "description": "a placeholder, in scripts that come from a file"},
		"template":    schema{"type": "string", "pattern": hole, "description": "a text with placeholders, in scripts that come from a file"},
	}
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // it is made of maps and strings
	}
	return append(b, '\n')
}
