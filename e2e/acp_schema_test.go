package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// A frame is one line between a client and an agent.
type frame struct {
	from string // client or agent
	line string
}

func (f frame) String() string {
	arrow := map[string]string{"client": "->", "agent": "<-"}[f.from]
	return arrow + " " + f.line
}

// A problem is what is wrong with one line of a transcript.
type problem struct {
	Line   int // counted from 1
	Method string
	What   string
	frame  frame
}

func (p problem) String() string {
	return fmt.Sprintf("line %d, %s: %s\n    %s", p.Line, p.Method, p.What, clip(p.frame.String(), 400))
}

// unknown begins what is said of a line that the schema has no rule for. It is not valid, and not invalid either.
const unknown = "unknown to this schema: "

// An acpSchema checks what goes over the wire against the schema of the protocol's messages.
//
// The schema's root accepts almost any object, because extensions may have any params. What has rules is a definition for each message,
// which says its method and the side that handles it: that side takes the request and gives the response.
type acpSchema struct {
	definitions map[string]any // as they are in the file
	compiled    map[string]*jsonschema.Schema
	message     map[key]string // the name of a message's definition
	strict      bool           // custom members are wrong, unless they are in a _meta
}

// A key says which message a definition is for.
type key struct {
	method, side string
	response     bool
}

// officialSchema is that of the protocol's authors, which their TypeScript SDK ships. A member of an object that it does not know is a problem.
func officialSchema() acpSchema {
	GinkgoHelper()
	_, path := peer("@agentclientprotocol/sdk/schema/v1/schema.json")
	s := readSchema(path)
	s.strict = true
	return s
}

// olderSchema is that of the Go SDK, from before usage updates, notices and boolean options. It knows less of everything, so here
// members that are not in it are fine.
func olderSchema() acpSchema {
	GinkgoHelper()
	dir, err := goModule()
	Expect(err).NotTo(HaveOccurred())
	return readSchema(filepath.Join(dir, "schema", "schema.json"))
}

// goModule is the folder of the Go SDK, which is there because these specs import it.
var goModule = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/coder/acp-go-sdk").Output()
	return strings.TrimSpace(string(out)), err
})

// schemas are those that were read, as compiling one takes a moment.
var schemas = map[string]acpSchema{}

func readSchema(path string) acpSchema {
	GinkgoHelper()
	if s, ok := schemas[path]; ok {
		return s
	}
	file, err := os.Open(path)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }()
	doc, err := jsonschema.UnmarshalJSON(file)
	Expect(err).NotTo(HaveOccurred(), "%s", path)
	compiler := jsonschema.NewCompiler()
	Expect(compiler.AddResource("acp.json", doc)).To(Succeed())

	root, _ := doc.(map[string]any)
	s := acpSchema{compiled: map[string]*jsonschema.Schema{}, message: map[key]string{}}
	s.definitions, _ = root["$defs"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(s.definitions)) {
		def, _ := s.definitions[name].(map[string]any)
		method, _ := def["x-method"].(string)
		if method != "" {
			side, _ := def["x-side"].(string)
			s.message[key{method, side, strings.HasSuffix(name, "Response")}] = name
		}
		if method != "" || name == "Error" {
			s.compiled[name], err = compiler.Compile("acp.json#/$defs/" + name)
			Expect(err).NotTo(HaveOccurred(), "%s in %s", name, path)
		}
	}
	Expect(s.message).NotTo(BeEmpty(), "%s has no definition that says which method it is for", path)
	Expect(s.compiled).To(HaveKey("Error"), "%s does not say what an error is", path)
	schemas[path] = s
	return s
}

// side is who handles a method: client, agent, protocol for both, or "" where the schema does not know it.
func (s acpSchema) side(method string) string {
	for k := range s.message {
		if k.method == method {
			return k.side
		}
	}
	return ""
}

// check finds what is wrong with a transcript from its first line on, in the order of its lines.
func (s acpSchema) check(transcript []frame) (problems []problem) {
	pending := map[string]map[string]string{"client": {}, "agent": {}} // of who asked, and the id, the method
	for i, f := range transcript {
		method, wrong := s.checkFrame(f, pending)
		for _, what := range wrong {
			problems = append(problems, problem{i + 1, method, what, f})
		}
	}
	return problems
}

func (s acpSchema) checkFrame(f frame, pending map[string]map[string]string) (method string, wrong []string) {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(f.line))
	if err != nil {
		return "no message", []string{"not a JSON value: " + err.Error()}
	}
	msg, ok := value.(map[string]any)
	if !ok {
		return "no message", []string{"not an object; the protocol has no batches either"}
	}
	if msg["jsonrpc"] != "2.0" {
		wrong = append(wrong, `"jsonrpc" is not "2.0"`)
	}
	for _, name := range slices.Sorted(maps.Keys(msg)) {
		if !slices.Contains([]string{"jsonrpc", "id", "method", "params", "result", "error"}, name) {
			wrong = append(wrong, fmt.Sprintf("%q is no member of a JSON-RPC message", name))
		}
	}
	id, hasID := msg["id"]
	switch n, isNumber := id.(json.Number); {
	case isNumber && strings.ContainsAny(n.String(), ".eE"):
		wrong = append(wrong, "the id is not a whole number")
	case !isNumber && id != nil:
		if _, isString := id.(string); !isString {
			wrong = append(wrong, "the id is neither a number nor a string")
		}
	}
	name := fmt.Sprintf("%T %v", id, id) // 1 and "1" are two ids

	method, called := msg["method"].(string)
	if called {
		if hasID {
			if other, ok := pending[f.from][name]; ok {
				wrong = append(wrong, fmt.Sprintf("the id %v is that of a %s which was not answered yet", id, other))
			}
			pending[f.from][name] = method
		}
		if msg["result"] != nil || msg["error"] != nil {
			wrong = append(wrong, "a call has no result and no error")
		}
		return method, append(wrong, s.checkCall(f.from, method, msg["params"])...)
	}

	result, succeeded := msg["result"]
	failure, failed := msg["error"]
	asker := map[string]string{"client": "agent", "agent": "client"}[f.from]
	method, asked := pending[asker][name]
	delete(pending[asker], name)
	switch {
	case failed && id == nil && !asked:
		method = "an error about a message whose id was not to be read"
	case !asked:
		return "no message", append(wrong, fmt.Sprintf("nobody waits for an answer with the id %v", id))
	}
	switch {
	case succeeded == failed:
		return method, append(wrong, "an answer has either a result or an error")
	case failed:
		return method, append(wrong, s.validate("Error", failure)...)
	}
	def, ok := s.message[key{method, f.from, true}]
	if !ok {
		return method, append(wrong, unknown+"the answer to "+method)
	}
	return method, append(wrong, s.validate(def, result)...)
}

func (s acpSchema) checkCall(from, method string, params any) []string {
	side := s.side(method)
	def, ok := s.message[key{method, side, false}]
	switch {
	case strings.HasPrefix(method, "_"):
		return nil // an extension, which is free
	case !ok:
		return []string{unknown + "the method " + method}
	case side == from:
		return []string{"the " + from + " is who handles this, and not who sends it"}
	}
	return s.validate(def, params)
}

func (s acpSchema) validate(def string, value any) []string {
	err := s.compiled[def].Validate(value)
	if invalid, ok := err.(*jsonschema.ValidationError); ok {
		return slices.Compact(slices.Sorted(slices.Values(reasons(invalid))))
	} else if err != nil {
		return []string{err.Error()}
	}
	if s.strict {
		return s.custom(s.definitions[def], value, "")
	}
	return nil
}

// reasons are the ends of the tree that the validator returns. Of several shapes that a value may have, only the nearest one is followed: it
// has the label that the value has, and the fewest things wrong. Where no shape has that label, the schema does not know it.
func reasons(err *jsonschema.ValidationError) (out []string) {
	if choice(err) {
		return choices(err)
	}
	for _, c := range err.Causes {
		out = append(out, reasons(c)...)
	}
	if len(err.Causes) == 0 {
		out = append(out, strings.TrimPrefix(err.Error(), "- "))
	}
	return out
}

func choice(err *jsonschema.ValidationError) bool {
	switch err.ErrorKind.(type) {
	case *kind.OneOf, *kind.AnyOf:
		return len(err.Causes) > 0
	}
	return false
}

func choices(err *jsonschema.ValidationError) []string {
	var nearest, words []string
	var foreign *jsonschema.ValidationError
	for _, shape := range err.Causes {
		if word := label(shape, len(err.InstanceLocation)); word != nil {
			words = append(words, fmt.Sprintf("'%v'", word.ErrorKind.(*kind.Const).Want))
		} else if l := label(shape, len(err.InstanceLocation)+1); l != nil {
			foreign = l
		} else if r := reasons(shape); nearest == nil || len(r) < len(nearest) {
			nearest = r
		}
	}
	switch {
	case len(words) > 0:
		return []string{fmt.Sprintf("at '/%s': value must be one of %s", strings.Join(err.InstanceLocation, "/"), strings.Join(words, ", "))}
	case nearest == nil:
		return []string{fmt.Sprintf("%s%s is %q", unknown, strings.Join(foreign.InstanceLocation, "."), foreign.ErrorKind.(*kind.Const).Got)}
	}
	return nearest
}

// label is the end of the tree that says that a value is another word, or has another label, than a shape. A label is a member of the value itself,
// such as sessionUpdate, and so is found at a certain depth.
func label(err *jsonschema.ValidationError, depth int) *jsonschema.ValidationError {
	if _, ok := err.ErrorKind.(*kind.Const); ok && len(err.InstanceLocation) == depth {
		return err
	}
	if choice(err) {
		return nil // which has labels of its own
	}
	for _, c := range err.Causes {
		if l := label(c, depth); l != nil {
			return l
		}
	}
	return nil
}

// custom finds members that a schema does not declare. It allows them, since a client must ignore them; but the protocol forbids an agent to send
// them anywhere but in a _meta.
func (s acpSchema) custom(def, value any, at string) (out []string) {
	switch value := value.(type) {
	case map[string]any:
		members, open := s.members(def, value)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if member, ok := members[name]; ok {
				out = append(out, s.custom(member, value[name], at+"."+name)...)
			} else if !open {
				out = append(out, fmt.Sprintf("%s is custom; custom members belong in a _meta", strings.TrimPrefix(at+"."+name, ".")))
			}
		}
	case []any:
		for i, item := range value {
			out = append(out, s.custom(s.items(def), item, fmt.Sprintf("%s.%d", at, i))...)
		}
	}
	return out
}

// members are what an object may have under a schema, which leaves it open where anything goes.
func (s acpSchema) members(def any, object map[string]any) (members map[string]any, open bool) {
	schema, ok := def.(map[string]any)
	if !ok {
		return nil, true
	}
	members = map[string]any{}
	declared, _ := schema["properties"].(map[string]any)
	maps.Copy(members, declared)
	parts := s.parts(schema)
	open = schema["additionalProperties"] != nil && schema["additionalProperties"] != false
	open = open || len(declared) == 0 && len(parts) == 0 && (schema["type"] == nil || schema["type"] == "object")
	for _, part := range parts {
		if !fits(part, object) {
			continue
		}
		more, free := s.members(part, object)
		maps.Copy(members, more)
		open = open || free
	}
	return members, open
}

// items is the schema of an array's items: any of those that the array's schema has in its parts.
func (s acpSchema) items(def any) any {
	schema, _ := def.(map[string]any)
	var shapes []any
	if items, ok := schema["items"]; ok {
		shapes = append(shapes, items)
	}
	for _, part := range s.parts(schema) {
		shapes = append(shapes, s.items(part))
	}
	return map[string]any{"anyOf": shapes, "type": "array or nothing"} // without shapes it is no object that may have any member
}

// parts are the schemas that a schema is made of.
func (s acpSchema) parts(schema map[string]any) (out []any) {
	if ref, ok := schema["$ref"].(string); ok {
		out = append(out, s.definitions[strings.TrimPrefix(ref, "#/$defs/")])
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[keyword].([]any)
		out = append(out, list...)
	}
	return out
}

// fits tells whether an object has the labels of a shape.
func fits(def any, object map[string]any) bool {
	schema, _ := def.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		p, _ := property.(map[string]any)
		if want, ok := p["const"]; ok && object[name] != want {
			return false
		}
	}
	return true
}

// clip shortens a text for a message.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " …"
}
