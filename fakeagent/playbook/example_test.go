package playbook_test

import (
	"fmt"

	"github.com/understudy-go/understudy/fakeagent/playbook"
	"github.com/understudy-go/understudy/fakeagent/script"
)

// team is the playbook of the package's documentation.
const team = `{"version": 1, "threads": [
  {"match": {"threadId": "^worker:[^:]+$"}, "turns": [
    [{"id": "list", "tool": "list_items"}],
    [{"tool": "claim_item", "arguments": {"item": "{{step:list.items.0.id}}", "by": "{{thread}}"}}]
  ]},
  {"match": {"title": "Lead"}, "turns": [
    [{"tool": "post", "arguments": {"text": "begin"}}, {"wait": {"tool": "summary"}}, {"awaitSteer": true}],
    [{"expectInput": "all done"}, {"tool": "summary"}]
  ]}
]}`

// Threads get their lines when they have their first turns. An input picks a batch, which is a script.
func Example() {
	p, err := playbook.Parse([]byte(team))
	if err != nil {
		panic(err)
	}
	cast := playbook.NewCast(p)
	worker := playbook.Thread{ID: "worker:1"}
	for _, input := range []string{"what is there to do?", "go on", "anything else?"} {
		batch, ok := cast.Pick(worker, input)
		fmt.Println(ok, script.New(batch...))
	}
	fmt.Println(cast.Left())
	// Output:
	// true {"steps":[{"mcp":{"tool":"list_items","id":"list","report":true}}]}
	// true {"steps":[{"mcp":{"report":true,"tool":"claim_item","arguments":{"item":"{{step:list.items.0.id}}","by":"{{thread}}"}}}]}
	// false {"steps":[]}
	// 2 of 4 batches were not played
	//   threads[1] title "Lead": no thread has claimed it
	//     turns[0] post, wait summary, awaitSteer
	//     turns[1] expects "all done", summary
}

// A batch that expects an input is picked when that comes, in whatever order the inputs are.
func ExampleCast_Pick() {
	p, err := playbook.Parse([]byte(`{"version": 1, "threads": [{"match": {"title": "Lead"}, "turns": [
  [{"expectInput": "tests"}, {"tool": "run_tests"}],
  [{"expectInput": "docs"}, {"tool": "write_docs"}],
  [{"tool": "report"}]
]}]}`))
	if err != nil {
		panic(err)
	}
	cast := playbook.NewCast(p)
	for _, input := range []string{"the docs, please", "thanks", "and the tests", "thanks"} {
		batch, ok := cast.Pick(playbook.Thread{ID: "a", Title: "Lead"}, input)
		fmt.Println(ok, batch)
	}
	// Output:
	// true expects "docs", write_docs
	// false (no steps)
	// true expects "tests", run_tests
	// true report
}

// Lint finds what can be read and is hardly meant.
func ExampleLint() {
	for _, e := range playbook.Lint([]byte(`{"version": 1, "threads": [
  {"match": {"threadId": "worker:^1$"}, "turns": [
    [{"id": "list", "tool": "list_items"}],
    [{"tool": "claim_item", "arguments": {"item": "{{step:lsit.items.0.id}}", "by": "{{ thread }}"}}]
  ]}
]}`)) {
		fmt.Printf("%d:%d: %s\n", e.Line, e.Column, e.Reason)
	}
	// Output:
	// 2:26: threads[0].match.threadId: no thread gets this line: it matches no id; ^ and \A stand for the beginning of an id, $ and \z for its end
	// 4:51: threads[0].turns[1][0].arguments.item: has {{step:lsit.items.0.id}}, but no step has the id "lsit", did you mean "list"?
	// 4:85: threads[0].turns[1][0].arguments.by: has {{ thread }}, which is text and no placeholder, did you mean {{thread}}?
}
