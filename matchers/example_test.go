package matchers_test

import (
	"fmt"

	"github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/matchers"
)

// g prints what a failing test would print. In a test it is NewWithT(t), or with Ginkgo nothing at all.
var g = gomega.NewGomega(func(message string, _ ...int) { fmt.Println(message) })

// a turn as a host stored it
var work = timeline.Items{
	timeline.Reasoning{Text: "let me check"},
	timeline.ToolCall{Name: "Write", Detail: timeline.Write{FilePath: "/work/a.ts"}, Status: timeline.Completed},
	timeline.ToolCall{Name: "Bash", Detail: timeline.Shell{Command: "npm test"}, Status: timeline.Failed, Error: "exit code 1"},
	timeline.AssistantMessage{Text: "The tests fail."},
}

func Example() {
	g.Expect(work).To(matchers.HaveItems(
		matchers.BeReasoning(gomega.ContainSubstring("check")),
		matchers.BeToolCall("Write"),
		matchers.BeShellCall("npm test", matchers.WithStatus(timeline.Completed)),
		matchers.BeAssistantMessage("done"),
	))
	// Output:
	// item 2: status is failed (exit code 1), want completed
	//
	// Expected
	//       0 reasoning "let me check"
	//       1 tool_call Write "a.ts" completed
	//       2 tool_call Bash "npm test" failed: exit code 1
	//       3 assistant_message "The tests fail."
	// to have exactly these items:
	//       0 reasoning ContainSubstring {Substr:"check"}
	//       1 a tool call "Write"
	//       2 a shell call "npm test" with status completed
	//       3 an assistant message "done"
}

func ExampleHaveItems() {
	g.Expect(work[:2]).To(matchers.HaveItems(matchers.BeReasoning("let me check")))
	// Output:
	// item 1: it is tool_call Write "a.ts" completed, want no more items
	//
	// Expected
	//       0 reasoning "let me check"
	//       1 tool_call Write "a.ts" completed
	// to have exactly these items:
	//       0 reasoning "let me check"
}

func ExampleContainItems() {
	g.Expect(work).To(matchers.ContainItems(matchers.BeShellCall("npm test"), matchers.BeToolCall("Write")))
	// Output:
	// expected item 1 is not in the timeline after item 2: want to be a tool call "Write"
	//
	// Expected
	//       0 reasoning "let me check"
	//       1 tool_call Write "a.ts" completed
	//       2 tool_call Bash "npm test" failed: exit code 1
	//       3 assistant_message "The tests fail."
	// to contain these items in this order:
	//       0 a shell call "npm test"
	//       1 a tool call "Write"
}

// A matcher for one item goes into Gomega's matchers for lists, too.
func ExampleMatcher() {
	g.Expect(work[:1]).To(gomega.ContainElement(matchers.BeToolCall("Write")))
	// Output:
	// Expected
	//     <timeline.Items | len:1, cap:4>:   0 reasoning "let me check"
	// to contain element matching
	//     <matchers.matcher>: be a tool call "Write"
}

func ExampleEndCompleted() {
	// A whole run fits as well as its ending.
	g.Expect(timeline.Ending{Kind: timeline.Failed, Message: "no quota"}).To(matchers.EndCompleted())
	// Output:
	// the turn ended failed: no quota, want completed
	//
	// Expected
	//     failed: no quota
	// to end completed
}

func ExampleEndFailed() {
	ending := timeline.Ending{Kind: timeline.Failed, Message: "no quota until Monday"}
	g.Expect(ending).To(matchers.EndFailed(gomega.HavePrefix("no quota")))
	g.Expect(ending).To(matchers.EndFailed("no quota"))
	// Output:
	// message is "no quota until Monday", want "no quota"
	//
	// Expected
	//     failed: no quota until Monday
	// to end failed with message "no quota"
}

func ExampleEndCanceled() {
	g.Expect(timeline.Ending{Kind: timeline.Completed}).To(matchers.EndCanceled())
	// Output:
	// the turn ended completed, want canceled
	//
	// Expected
	//     completed
	// to end canceled
}

func ExampleBeUserMessage() {
	g.Expect(timeline.UserMessage{Text: "fix it"}).To(matchers.BeUserMessage(gomega.HavePrefix("please")))
	// Output:
	// text is "fix it", want HavePrefix {Prefix:"please"}
	//
	// Expected
	//     user_message "fix it"
	// to be a user message HavePrefix {Prefix:"please"}
}

func ExampleBeAssistantMessage() {
	g.Expect(timeline.AssistantMessage{Text: "The tests fail."}).NotTo(matchers.BeAssistantMessage(gomega.ContainSubstring("fail")))
	// Output:
	// Expected
	//     assistant_message "The tests fail."
	// not to be an assistant message ContainSubstring {Substr:"fail"}
}

func ExampleBeReasoning() {
	g.Expect(timeline.AssistantMessage{Text: "The tests fail."}).To(matchers.BeReasoning("The tests fail."))
	// Output:
	// it is assistant_message "The tests fail.", want to be reasoning "The tests fail."
	//
	// Expected
	//     assistant_message "The tests fail."
	// to be reasoning "The tests fail."
}

func ExampleBeErrorItem() {
	g.Expect(timeline.ErrorItem{Message: "no quota"}).To(matchers.BeErrorItem("no credit"))
	// Output:
	// message is "no quota", want "no credit"
	//
	// Expected
	//     error "no quota"
	// to be an error item "no credit"
}

func ExampleBeToolCall() {
	write := timeline.ToolCall{Name: "Write", Detail: timeline.Write{FilePath: "/work/a.ts"}, Status: timeline.Completed}
	g.Expect(write).To(matchers.BeToolCall(gomega.Or(gomega.Equal("Edit"), gomega.Equal("MultiEdit"))))
	// Output:
	// name is "Write", want Or {Matchers:[Equal {Expected:"Edit"}, Equal {Expected:"MultiEdit"}]}
	//
	// Expected
	//     tool_call Write "a.ts" completed
	// to be a tool call Or {Matchers:[Equal {Expected:"Edit"}, Equal {Expected:"MultiEdit"}]}
}

func ExampleBeShellCall() {
	write := timeline.ToolCall{Name: "Write", Detail: timeline.Write{FilePath: "/work/a.ts"}, Status: timeline.Completed}
	g.Expect(write).To(matchers.BeShellCall("npm test"))
	// Output:
	// it is tool_call Write "a.ts" completed, want to be a shell call "npm test"
	//
	// Expected
	//     tool_call Write "a.ts" completed
	// to be a shell call "npm test"
}

func ExampleWithStatus() {
	test := timeline.ToolCall{Name: "Bash", Detail: timeline.Shell{Command: "npm test"}, Status: timeline.Running}
	g.Expect(test).To(matchers.BeShellCall("npm test", matchers.WithStatus(timeline.Completed)))
	// Output:
	// status is running, want completed
	//
	// Expected
	//     tool_call Bash "npm test" running
	// to be a shell call "npm test" with status completed
}

func ExampleWithError() {
	test := timeline.ToolCall{Name: "Bash", Detail: timeline.Shell{Command: "npm test"}, Status: timeline.Failed, Error: "exit code 1"}
	g.Expect(test).To(matchers.BeShellCall("npm test", matchers.WithError("exit code 2")))
	// Output:
	// error is "exit code 1", want "exit code 2"
	//
	// Expected
	//     tool_call Bash "npm test" failed: exit code 1
	// to be a shell call "npm test" with error "exit code 2"
}
