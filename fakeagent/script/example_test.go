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
