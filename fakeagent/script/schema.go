package script

import "encoding/json"

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
	keys     []string // of props, in order
	props    schema
	required []string
	instead  schema     // what may stand in place of the object
	pairs    [][]string // fields that exclude each other
	needs    [][]string // fields one of which must be there
	whole    schema     // instead of all that
}

func (d *description) add(key string, f flags, doc string, s schema) {
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

func describe(walk func(*object)) schema {
	d := &description{}
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

// Schema is the JSON Schema (draft 2020-12) of a script, indented. [Parse] accepts no script that the schema refuses. Beyond the
// schema Parse refuses equal keys, chunks that a text has not enough characters for, an error that goes with the status
// completed, base64 that is none, whole numbers too large for an int, and more than [MaxSize] bytes.
func Schema() []byte {
	steps := make([]schema, len(kinds))
	for i, k := range kinds {
		steps[i] = schema{
			"type": "object", "description": k.doc, "required": []string{k.key}, "additionalProperties": false,
			"properties": schema{k.key: describe(k.shape)},
		}
	}
	root := describe(new(Script).shape)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Understudy script"
	root["$defs"] = schema{"step": schema{"oneOf": steps}}
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // it is made of maps and strings
	}
	return append(b, '\n')
}
