package script_test

import (
	"fmt"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// A script made in Go prints as the JSON that is sent to an agent as its prompt.
func Example() {
	fmt.Println(script.New(
		script.Think("add a constant, then check it"),
		script.Write("src/a.ts", "export const a = 1;\n"),
		script.BashRun("cat src/a.ts"),
		script.Say("done"),
	))
	// Output:
	// {"steps":[{"think":"add a constant, then check it"},{"write":{"path":"src/a.ts","content":"export const a = 1;\n"}},{"bash":{"command":"cat src/a.ts","run":true}},{"say":"done"}]}
}

// An error says which step is wrong, what is wrong in it, and where.
func ExampleParse() {
	_, err := script.Parse([]byte(`[
  {"say": "starting"},
  {"write": {"path": "a.txt", "contnet": "hi"}}
]`))
	fmt.Println(err)
	if e, ok := err.(*script.Error); ok {
		fmt.Printf("script.json:%d:%d\n", e.Line, e.Column)
	}
	// Output:
	// step 2 (write): unknown key "contnet", did you mean "content"?
	// script.json:3:31
}

// A file's steps may have placeholders. Whoever plays the step has the values.
func ExampleTemplateStep_Fill() {
	f, err := script.ParseFile([]byte(`[{"mcp": {"server": "notes", "tool": "add", "arguments": {"text": "Told: {{input}}", "tags": "{{step:first.tags}}"}}}]`))
	if err != nil {
		panic(err)
	}
	step, err := f.Turns[0].Steps[0].(script.TemplateStep).Fill(func(name string) (script.Doc, error) {
		switch name {
		case "input":
			return `"buy milk"`, nil
		case "step:first.tags":
			return script.NewDoc([]byte(`["home", "urgent"]`))
		}
		return "", fmt.Errorf("there is no %s", name)
	})
	fmt.Println(script.New(step), err)
	// Output:
	// {"steps":[{"mcp":{"server":"notes","tool":"add","arguments":{"text":"Told: buy milk","tags":["home","urgent"]}}}]} <nil>
}

// A part of a result is named by members, numbers and selectors.
func ExampleDoc_Lookup() {
	result, err := script.NewDoc([]byte(`{"items": [{"title": "v1.0", "files": ["a.txt"]}, {"title": "v1.1", "files": ["b.txt", "c.txt"]}]}`))
	if err != nil {
		panic(err)
	}
	for _, path := range []string{"items.0.title", "items[title=v1.1].files", "items[title=v1.1].files.1", "items.2"} {
		part, ok := result.Lookup(path)
		fmt.Printf("%s: %s %v\n", path, part, ok)
	}
	// Output:
	// items.0.title: "v1.0" true
	// items[title=v1.1].files: ["b.txt","c.txt"] true
	// items[title=v1.1].files.1: "c.txt" true
	// items.2:  false
}

// A file has a script for each turn, and routes for prompts that fit.
func ExampleFile_Pick() {
	f, err := script.ParseFile([]byte(`{
  "turns": [
    [{"say": "first turn"}],
    [{"say": "every later turn"}]
  ],
  "routes": [
    {"when": {"prompt": "run the tests"}, "steps": [{"bash": {"command": "npm test", "output": "ok"}}]}
  ]
}`))
	if err != nil {
		panic(err)
	}
	for i, prompt := range []string{"hello", "please run the tests", "thanks"} {
		s, _, _ := f.Pick(script.Request{Prompt: prompt, Turn: i + 1, Attempt: 1}, nil)
		fmt.Println(s)
	}
	// Output:
	// {"steps":[{"say":"first turn"}]}
	// {"steps":[{"bash":{"command":"npm test","output":"ok"}}]}
	// {"steps":[{"say":"every later turn"}]}
}
