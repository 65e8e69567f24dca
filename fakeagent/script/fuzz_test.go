package script_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// checkRefusal fails if the error of a parser does not say where in the text it is.
func checkRefusal(t *testing.T, text string, err error) {
	t.Helper()
	var e *script.Error
	if !errors.As(err, &e) {
		t.Fatalf("the error is a %T: %v", err, err)
	}
	_ = script.PathTo([]byte(text), e.Offset) // which must not panic
	if e.Reason == "" || e.Offset < 0 || e.Offset > len(text) || e.Line < 1 || e.Column < 1 {
		t.Errorf("the error has no place in the text: %#v", e)
	}
}

// checkScript fails if a script that was parsed cannot be written and parsed again.
func checkScript(t *testing.T, s script.Script, parse func([]byte) (script.Script, error)) {
	t.Helper()
	again, err := s.AppendJSON(nil)
	if err != nil {
		t.Fatalf("a script that was parsed cannot be written: %v", err)
	}
	if back, err := parse(again); err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("%s\nis another script than the one it was written for: %v %v", again, back, err)
	}
	if err := bySchema(string(again)); err != nil {
		t.Errorf("the schema refuses what was written: %v\n%s", err, again)
	}
}

// parseTurn reads a file that is a script.
func parseTurn(data []byte) (script.Script, error) {
	f, err := script.ParseFile(data)
	if err != nil {
		return script.Script{}, err
	}
	return f.Turns[0], nil
}

func FuzzParse(f *testing.F) {
	for _, form := range forms {
		f.Add("[" + form.json + "]")
	}
	for _, r := range refusals {
		f.Add(r.text())
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := script.Parse([]byte(text))
		if err != nil {
			checkRefusal(t, text, err)
			return
		}
		checkScript(t, s, script.Parse)
		if templates, err := s.Templates(); err != nil {
			t.Errorf("it has no templates: %v", err)
		} else {
			checkScript(t, templates, parseTurn)
		}
		if err := bySchema(text); err != nil {
			t.Errorf("the schema refuses what the parser accepts: %v", err)
		}
	})
}

// scriptsOf are the scripts of a file that was parsed, as they stand there.
func scriptsOf(text string) (scripts []string) {
	var f struct {
		Turns  []json.RawMessage
		Routes []map[string]json.RawMessage
	}
	if json.Unmarshal([]byte(text), &f) != nil || f.Turns == nil && f.Routes == nil {
		return []string{text}
	}
	for _, s := range f.Turns {
		scripts = append(scripts, string(s))
	}
	for _, r := range f.Routes {
		delete(r, "when")
		delete(r, "times")
		s, _ := json.Marshal(r)
		scripts = append(scripts, string(s))
	}
	return scripts
}

func FuzzParseFile(f *testing.F) {
	for _, r := range refusedFiles {
		f.Add(r.text())
	}
	for _, text := range templateFiles {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := script.ParseFile([]byte(text))
		if err != nil {
			checkRefusal(t, text, err)
			return
		}
		for _, s := range file.Turns {
			checkScript(t, s, parseTurn)
		}
		for _, r := range file.Routes {
			checkScript(t, r.Script, parseTurn)
		}
		for _, s := range scriptsOf(text) {
			if err := bySchema(s); err != nil {
				t.Errorf("the schema refuses what the parser accepts: %v\n%s", err, s)
			}
		}
		again, err := file.MarshalJSON()
		if err != nil {
			t.Fatalf("a file that was parsed cannot be written: %v", err)
		}
		if back, err := script.ParseFile(again); err != nil || !reflect.DeepEqual(back, file) {
			t.Errorf("%s\nis another file than the one it was written for: %v %v", again, back, err)
		}
		_, route, ok := file.Pick(script.Request{Prompt: text, Turn: 1, Attempt: 1}, nil)
		if ok != (route >= 0 || len(file.Turns) > 0) || route >= len(file.Routes) {
			t.Errorf("picked route %d (%v) of %d, with %d turns", route, ok, len(file.Routes), len(file.Turns))
		}
	})
}

func FuzzFromPrompt(f *testing.F) {
	f.Add("hello")
	f.Fuzz(func(t *testing.T, prompt string) {
		s, ok, err := script.FromPrompt(prompt)
		switch {
		case err != nil:
			var e *script.Error
			if !ok || !errors.As(err, &e) || e.Offset > len(prompt) {
				t.Errorf("an error without a script: %v, %#v", ok, err)
			}
		case ok:
			checkScript(t, s, script.Parse)
		case len(s.Steps) > 0:
			t.Errorf("a script without being one: %v", s)
		}
		if err == nil && ok {
			fenced, ok, err := script.FromPrompt("Please:\n~~~~~~~~fake-agent\n" + s.String() + "\n~~~~~~~~\n")
			if !ok || err != nil || !reflect.DeepEqual(fenced, s) {
				t.Errorf("in a block it is another: %v %v %v", fenced, ok, err)
			}
		}
	})
}

// templateFiles have a placeholder wherever one may stand.
var templateFiles = []string{
	`[{"say":"{{{input}}} {{x}} {{steers}}{{attachments}}"},{"think":{"text":"{{markdown}}","chunks":"{{config.chunks}}","intervalMs":"{{config.interval}}"}}]`,
	`[{"sleep":"{{config.holdMs}}"},{"sleep":{"ms":"{{config.holdMs}}","steers":"{{config.steers}}"}},{"exit":"{{config.code}}"},{"exit":{"signal":"SIG{{config.s}}"}}]`,
	`{"turns":[[{"tool":{"name":"{{model}}","input":{"{{input}}":["{{input}}",{"a":"<{{answers}}>"}]},"output":"{{step:a.b[c=d].0}}","status":"{{config.s}}","error":"{{error}}"}}]]}`,
	`{"routes":[{"when":{"prompt":"{{input}}"},"steps":[{"tool":{"name":"x","detail":"{{input}}","holdMs":"{{config.h}}"}},{"raw":"{{input}}"},{"raw":{"base64":"{{input}}"}}]}]}`,
	`[{"mcp":{"server":"{{config.s}}","tool":"t","arguments":"{{input}}","id":"{{thread}}","row":{"name":"{{input}}","holdMs":"{{config.h}}"},"then":[{"say":"{{error}}"}],"else":[{"hold":"{{input}}"}]}}]`,
	`[{"approval":[{"title":"{{input}}","tool":{"name":"{{input}}","input":"{{input}}"},"options":["accept","{{decision}}"],"allow":[{"task":{"description":"{{input}}","type":"{{model}}","steps":[{"say":"{{input}}"}]}}]}]}]`,
	`[{"question":{"questions":[{"id":"{{input}}","header":"h","question":"q","options":[{"label":"{{input}}"}],"multiSelect":"{{config.m}}"}],"blocking":"{{config.b}}"}}]`,
	`[{"event":{"type":"{{input}}","itemId":"{{step:*a}}","payload":{"a":"{{input}}"}}},{"usage":{"usedTokens":"{{config.u}}"}},{"plan":[{"text":"{{input}}","priority":"{{config.p}}"}]}]`,
	`[{"expectInput":"{{input}}"},{"wait":{"tool":"{{input}}","server":"{{config.s}}","timeoutMs":"{{config.t}}"}},{"mcp":{"tool":"t","report":"{{config.r}}"}},{"awaitSteer":{"timeoutMs":"{{config.t}}","continueOnTimeout":"{{config.c}}"}}]`,
	`[{"waitFor":{"tool":"{{input}}","path":"{{config.p}}","atLeast":"{{step:a.n}}","arguments":{"a":["{{input}}"]},"id":"{{thread}}","timeoutMs":"{{config.t}}"}},{"wait":"{{config.tool}}"}]`,
	`[{"edit":{"path":"{{input}}","old":"{{input}}","new":"{{input}}","unique":"{{config.u}}"}},{"bash":{"command":"{{input}}","exitCode":"{{config.e}}"}},{"fail":{"message":"{{error}}","code":"{{config.c}}"}}]`,
}

// fillings are values of all kinds, and what is none.
var fillings = []string{
	`"x"`, `""`, `"5"`, `5`, `-1`, `0.5`, `1e400`, `true`, `null`, `{"a": "{{input}}"}`, `[1, []]`, `"{\"a\":1}"`, `"{{input}}"`, `"failed"`, "\"\xff\"", "{\"\xff\":\"\xff\"}",
	``, `x`, `"`,
}

// checkFilled fills a step of a file, and those inside of it, with a value in place of every placeholder.
func checkFilled(t *testing.T, step script.Step, value string) {
	if template, ok := step.(script.TemplateStep); ok {
		broken := false
		filled, err := template.Fill(func(string) (script.Doc, error) {
			broken = broken || !json.Valid([]byte(value))
			return script.NewDoc([]byte(value))
		})
		_, _ = template.Fill(func(string) (script.Doc, error) { return script.Doc(value), nil }) // which must not panic, whatever it is
		if err != nil {
			var e *script.Error
			if !errors.As(err, &e) || e.Reason == "" || e.Offset != 0 || e.Line != 0 || e.Column != 0 {
				t.Errorf("the error is %#v", err)
			}
			return
		}
		if broken {
			t.Errorf("%v is filled with %q, which is no JSON", template, value)
		}
		if filled.Key() != template.Key() {
			t.Errorf("%v became a %s", template, filled.Key())
		}
		if !reflect.DeepEqual(script.Branches(filled), script.Branches(template)) {
			t.Errorf("the steps inside of %v are others than in %v", template, filled)
		}
		step = filled
		s := script.New(step)
		if text, err := s.AppendJSON(nil); err != nil {
			if !strings.HasPrefix(err.Error(), "it is ") { // too long
				t.Errorf("%v filled with %s cannot be written: %v", template, value, err)
			}
		} else if err := bySchema(string(text)); err != nil {
			t.Errorf("the schema refuses %s: %v", text, err)
		} else if !slices.ContainsFunc(script.Branches(step), func(b []script.Step) bool { return len(b) > 0 }) {
			checkScript(t, s, script.Parse)
		}
	}
	for _, branch := range script.Branches(step) {
		for _, inner := range branch {
			checkFilled(t, inner, value)
		}
	}
}

func FuzzFill(f *testing.F) {
	for _, text := range templateFiles {
		for _, v := range fillings {
			f.Add(text, v)
		}
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		file, err := script.ParseFile([]byte(text))
		if err != nil {
			return
		}
		for _, r := range file.Routes {
			file.Turns = append(file.Turns, r.Script)
		}
		for _, s := range file.Turns {
			for _, step := range s.Steps {
				checkFilled(t, step, value)
			}
		}
	})
}

// FuzzObject reads objects with steps in them.
func FuzzObject(f *testing.F) {
	for _, form := range forms {
		f.Add(inScene("[" + form.json + "]"))
	}
	for _, steps := range []string{`[{"tool":"t","id":"i"},{"tool":"{{input}}","arguments":{"a":"{{input}}"}}]`, `[{"tool":{"name":"T"}}],[]`, `[{"tool":{},"id":"x"}]`, `5`, `[{}]`} {
		f.Add(inScene(steps))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := readPlay(text)
		if err != nil {
			checkRefusal(t, text, err)
			return
		}
		again, err := script.WriteObject(p.shape)
		if err != nil {
			t.Fatalf("an object that was read cannot be written: %v", err)
		}
		if back, err := readPlay(string(again)); err != nil || !reflect.DeepEqual(back, p) {
			t.Errorf("%s\nis another object than the one it was written for: %v %v", again, back, err)
		}
	})
}

// naive is Lookup for a path of names and numbers with dots between them.
func naive(data []byte, path string) (any, bool) {
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if !json.Valid(data) || d.Decode(&v) != nil {
		return nil, false
	}
	if path == "" {
		return v, true
	}
	for _, part := range strings.Split(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			inner, ok := in[part]
			if !ok {
				return nil, false
			}
			v = inner
		case []any:
			var n int
			if _, err := fmt.Sscanf(part, "%d", &n); err != nil || fmt.Sprint(n) != part || n < 0 || n >= len(in) {
				return nil, false
			}
			v = in[n]
		default:
			return nil, false
		}
	}
	return v, true
}

// hasTwins is whether an object in the next value has two members that are called alike, of which the first one counts here.
func hasTwins(d *json.Decoder) (twins bool) {
	open, _ := d.Token()
	names := map[string]bool{}
	for (open == json.Delim('{') || open == json.Delim('[')) && d.More() {
		if open == json.Delim('{') {
			name, _ := d.Token()
			key, _ := name.(string)
			twins = twins || names[key]
			names[key] = true
		}
		twins = hasTwins(d) || twins
	}
	if open == json.Delim('{') || open == json.Delim('[') {
		_, _ = d.Token()
	}
	return twins
}

func FuzzLookup(f *testing.F) {
	for _, path := range []string{"", ".", "id", "0", "last.0", "list.1.1", "list.2.x", "items[title=v1.2 [beta].parts[k=b].v", "items[n=2.50].open", "[", "items[", "items[]", "items[=]x", "list.00", "list.-1", "..a."} {
		f.Add(result, path)
		for _, broken := range []string{`[}`, `[{"a"`, "[\x01", `{"a":1]`, `"`} {
			f.Add(broken, path)
		}
	}
	f.Fuzz(func(t *testing.T, data, path string) {
		got, ok := lookup(data, path)
		if ok && !json.Valid([]byte(got)) || !ok && got != "" {
			t.Errorf("found %q, %v", got, ok)
		}
		_, _ = script.Doc(data).Lookup(path) // which must not panic, whatever it is
		if strings.ContainsAny(path, "[]") || !utf8.ValidString(data) || json.Valid([]byte(data)) && hasTwins(json.NewDecoder(strings.NewReader(data))) {
			return
		}
		want, there := naive([]byte(data), path)
		if ok != there {
			t.Fatalf("found %v, but a walk over the decoded value %v", ok, there)
		}
		if found, _ := naive([]byte(got), ""); ok && !reflect.DeepEqual(found, want) {
			t.Errorf("found %s, but a walk over the decoded value %v", got, want)
		}
	})
}
