package matchers_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
)

// writes is a write call of a file.
func writes(path string) timeline.ToolCall {
	return timeline.ToolCall{Name: "Write", Detail: timeline.Write{FilePath: path}, Status: timeline.Completed}
}

// first is the first part of a failure message: what differs.
func first(message string) string {
	before, _, _ := strings.Cut(message, "\n\nExpected\n")
	return before
}

var _ = Describe("A file that was written or edited", func() {
	It("is given as its whole path, or as the end of it that a script has", func() {
		for _, path := range []string{"/w/src/a.ts", "src/a.ts", "a.ts", "./src/a.ts", "src//a.ts", "lib/../src/a.ts", `src\a.ts`} {
			Expect(writes("/w/src/a.ts")).To(BeWriteCall(path), path)
			Expect(timeline.ToolCall{Detail: timeline.Edit{FilePath: "/w/src/a.ts"}}).To(BeEditCall(path), path)
		}
	})

	It("is another one where only letters are the same, where the path is absolute, and where there is none", func() {
		for _, path := range []string{"c/a.ts", ".ts", "/src/a.ts", "/a.ts", "src/a", "/w/src", "", "/"} {
			Expect(writes("/w/src/a.ts")).NotTo(BeWriteCall(path), path)
		}
		Expect(writes("")).To(BeWriteCall(""))
	})

	It("is the same on Windows", func() {
		Expect(writes(`C:\w\src\a.ts`)).To(BeWriteCall("src/a.ts"))
		Expect(writes(`C:\w\src\a.ts`)).To(BeWriteCall(`C:\w\src\a.ts`))
		Expect(writes(`C:\w\src\a.ts`)).To(BeWriteCall("C:/w/src/a.ts"))
		Expect(writes(`C:\w\src\a.ts`)).To(BeWriteCall(HaveSuffix("/src/a.ts")), "a matcher gets slashes")
	})

	It("is told with its whole path", func() {
		Expect(first(failure(writes("/w/src/a.ts"), BeWriteCall("src/b.ts")))).To(Equal(`path is "/w/src/a.ts", want "src/b.ts"`))
	})

	It("is not the other kind of call", func() {
		Expect(wrote).NotTo(BeEditCall("a.ts"))
		Expect(edited).NotTo(BeWriteCall("a.ts"))
	})
})

var _ = Describe("A call of an MCP tool", func() {
	named := func(name string) timeline.ToolCall { return timeline.ToolCall{Name: name, Detail: timeline.Unknown{}} }

	It("has a server and a tool", func() {
		Expect(called).To(BeMCPCall("files", "read_file"))
		Expect(called).To(BeMCPCall(HavePrefix("fi"), HaveSuffix("_file")))
		Expect(called).NotTo(BeMCPCall("files", "write_file"))
		Expect(called).NotTo(BeMCPCall("file", "read_file"))
	})

	It("may have the separator in the name of either", func() {
		Expect(named("mcp__my__files__read")).To(BeMCPCall("my__files", "read"))
		Expect(named("mcp__my__files__read")).To(BeMCPCall("my", "files__read"))
	})

	It("is no call of another tool", func() {
		for _, name := range []string{"Bash", "files__read", "mcp__files", "mcp__"} {
			Expect(first(failure(named(name), BeMCPCall(Not(BeNil()), Not(BeNil()))))).To(HavePrefix("it is tool_call " + name))
		}
	})

	It("is refused with a wrong argument, whichever it is", func() {
		Expect(refusal(called, BeMCPCall(1, "x"))).To(Equal("BeMCPCall: server is of type int, want a string or a matcher"))
		Expect(refusal(called, BeMCPCall("x", nil))).To(Equal("BeMCPCall: tool is nil, want a string or a matcher"))
	})

	It("has an input and an output, which are JSON", func() {
		Expect(called).To(BeMCPCall("files", "read_file", WithInput(map[string]any{"limit": 3, "path": "a.ts"})))
		Expect(called).To(BeMCPCall("files", "read_file", WithInput(HaveKeyWithValue("path", "a.ts"))))
		Expect(called).To(BeMCPCall("files", "read_file", WithOutput(ContainSubstring(`"hi"`))), "a matcher for text gets the text")
		Expect(first(failure(called, BeMCPCall("files", "read_file", WithInput(map[string]any{"path": "b.ts"}))))).
			To(Equal("input.limit is 3, want none\n    input.path is \"a.ts\", want \"b.ts\""))
		Expect(named("mcp__files__read")).To(BeMCPCall("files", "read", WithInput(nil), WithOutput(BeNil())))
	})
})

var _ = Describe("An option of a tool call", func() {
	shell := func(code timeline.ExitCode, output string) timeline.ToolCall {
		return timeline.ToolCall{CallID: "c1", Name: "Bash", Detail: timeline.Shell{Command: "ls", Output: output, ExitCode: code},
			Status: timeline.Completed}
	}

	DescribeTable("tells what differs:", func(call timeline.ToolCall, o ToolCallOption, want string) {
		Expect(first(failure(call, BeToolCall(Not(BeNil()), o)))).To(Equal(want))
	},
		Entry("another exit code", shell(timeline.Exited(1), ""), WithExitCode(0), "exit code is 1, want 0"),
		Entry("no exit code yet", shell(timeline.ExitCode{}, ""), WithExitCode(0), "there is no exit code, since none was told; want 0"),
		Entry("no exit code for ever", shell(timeline.NoExitCode, ""), WithExitCode(0),
			"there is no exit code, since a signal ended the command; want 0"),
		Entry("an exit code of what is no command", wrote, WithExitCode(0), "there is no exit code, since it is no shell call; want 0"),
		Entry("another output of a command", shell(timeline.Exited(0), "1 failed"), WithOutput("ok"), `output is "1 failed", want "ok"`),
		Entry("an output that does not match", shell(timeline.Exited(0), "<1 failed>"), WithOutput(HavePrefix("ok")),
			`output is "<1 failed>", want HavePrefix {Prefix:"ok"}`),
		Entry("an output of what has none", wrote, WithOutput("ok"), `there is no output in a detail of type write; want "ok"`),
		Entry("an input of what has none", tested, WithInput("ok"), `there is no input in a detail of type shell; want "ok"`),
		Entry("an output that is nothing", timeline.ToolCall{}, WithOutput("ok"), `output is null, want "ok"`),
		Entry("another detail of the type", wrote, WithDetail(timeline.Write{FilePath: "/w/a.ts", Content: "1"}), `detail.content is "", want "1"`),
		Entry("a detail of another type", wrote, WithDetail(timeline.Plan{Text: "1"}),
			`detail is {"type":"write","filePath":"/w/a.ts","content":""}, want {"type":"plan","text":"1"}`),
		Entry("no detail", timeline.ToolCall{}, WithDetail(timeline.Plan{}), `detail is none, want {"type":"plan","text":""}`),
		Entry("a detail that does not match", wrote, WithDetail(HaveField("Content", "1")),
			"it is {\"type\":\"write\",\"filePath\":\"/w/a.ts\",\"content\":\"\"}, want HaveField {Field:\"Content\", Expected:\"1\"}:\n"+
				"    Value for field 'Content' failed to satisfy matcher.\n    Expected\n        <string>: \n    to equal\n        <string>: 1"),
		Entry("another id", wrote, WithCallID("c2"), `call id is "c1", want "c2"`),
		Entry("another status", wrote, WithStatus(timeline.Running), `status is completed, want running`),
	)

	It("passes where it is so", func() {
		Expect(shell(timeline.Exited(2), "1 failed")).
			To(BeShellCall("ls", WithExitCode(2), WithOutput("1 failed"), WithCallID("c1"), WithStatus(timeline.Completed)))
		Expect(shell(timeline.Exited(0), "")).To(BeShellCall("ls", WithExitCode(0), WithOutput(BeEmpty())))
		Expect(wrote).To(BeToolCall("Write", WithDetail(timeline.Write{FilePath: "/w/a.ts"}), WithDetail(HaveField("Content", ""))))
		search := timeline.ToolCall{Detail: timeline.Search{Query: "x", FilePaths: []string{"a"}}}
		Expect(search).To(BeToolCall("", WithDetail(timeline.Search{Query: "x", FilePaths: []string{"a"}})))
	})

	It("is described", func() {
		Expect(BeShellCall("ls", WithExitCode(1), WithOutput("<x>"), WithCallID("c1"), WithStatus(timeline.Failed)).String()).
			To(Equal(`be a shell call "ls" with exit code 1 and output "<x>" and call id "c1" and status failed`))
		Expect(BeToolCall("x", WithDetail(timeline.Plan{Text: "1"}), WithInput(1)).String()).
			To(Equal(`be a tool call "x" with detail {"type":"plan","text":"1"} and input 1`))
	})

	It("is refused where its argument is wrong", func() {
		for option, want := range map[string]ToolCallOption{
			"WithDetail: detail is of type string, want a detail or a matcher":                     WithDetail("x"),
			"WithDetail: detail is nil, want a detail or a matcher":                                WithDetail(nil),
			"WithDetail: detail is a *timeline.Plan, want the value that it points to":             WithDetail(&timeline.Plan{}),
			"WithInput: func() has no JSON form: json: unsupported type: func()":                   WithInput(func() {}),
			"WithOutput: chan int has no JSON form: json: unsupported type: chan int":              WithOutput(make(chan int)),
			"WithCallID: call id is of type int, want a string or a matcher":                       WithCallID(1),
			"WithOutput: BeReasoning: text is of type int, want a string or a matcher":             WithOutput(BeReasoning(1)),
			"WithDetail: detail: BeReasoning: text is of type int, want a string or a matcher":     WithDetail(BeReasoning(1)),
			"WithOutput is a nil *matchers_test.PoliteMatcher, want a value or a matcher":          WithOutput((*PoliteMatcher)(nil)),
			"WithDetail: detail is a nil *matchers_test.PoliteMatcher, want a detail or a matcher": WithDetail((*PoliteMatcher)(nil)),
		} {
			Expect(refusal(said, BeToolCall("x", want))).To(Equal(option))
		}
	})

	It("is told of as the first thing that is wrong", func() {
		Expect(refusal(said, BeToolCall(1, WithError(2), WithStatus(timeline.Failed)))).
			To(Equal("BeToolCall: name is of type int, want a string or a matcher"))
		Expect(refusal(said, BeToolCall("x", WithError(2), WithCallID(3)))).To(Equal("WithError: error is of type int, want a string or a matcher"))
	})

	It("keeps what it was made of, whatever becomes of that", func() {
		input := map[string]any{"path": "a.ts", "limit": 3}
		opts := []ToolCallOption{WithInput(input)}
		m := BeToolCall(called.Name, opts...)
		input["path"], opts[0] = "b.ts", WithStatus(timeline.Failed)
		Expect(called).To(m)
	})
})

var _ = Describe("A todo list", func() {
	plan := timeline.Todo{Items: []timeline.TodoEntry{{Text: "fix it", Status: "completed", Completed: true},
		{Text: "test it", Status: "pending"}}}

	It("matches by all its entries, in order", func() {
		Expect(plan).To(BeTodo("fix it", HavePrefix("test")))
		Expect(plan).To(BeTodo(timeline.TodoEntry{Text: "fix it", Status: "completed", Completed: true}, "test it"))
		Expect(plan).NotTo(BeTodo("test it", "fix it"))
		Expect(plan).NotTo(BeTodo("fix it"))
		Expect(plan).NotTo(BeTodo("fix it", "test it", "ship it"))
	})

	It("matches whatever it has, without any", func() {
		Expect(plan).To(BeTodo())
		Expect(timeline.Todo{}).To(BeTodo())
		Expect(said).NotTo(BeTodo())
		Expect(BeTodo().String()).To(Equal("be a todo list"))
	})

	It("is told with the entry that differs, and shown with all", func() {
		Expect(BeTodo("one", timeline.TodoEntry{Text: "two", Completed: true}).String()).To(Equal(`be a todo list ["one", "two" (completed)]`))
		Expect(failure(plan, BeTodo("fix it", timeline.TodoEntry{Text: "test it", Status: "completed", Completed: true}))).
			To(Equal(`entry 1: completed is false, want true
    status is "pending", want "completed"

Expected
    todo 1 of 2 done: "fix it" (completed), "test it" (pending)
to be a todo list ["fix it", "test it" (completed)]`))
		Expect(first(failure(plan, BeTodo("fix it")))).To(Equal(`entry 1: it is "test it" (pending), want no more entries`))
		Expect(first(failure(plan, BeTodo("fix it", "test it", "ship it")))).To(Equal(`entry 2 is missing: want "ship it"`))
	})

	It("is refused with a wrong entry", func() {
		Expect(refusal(plan, BeTodo(3, "x"))).To(Equal("BeTodo: entry 0: text is of type int, want a string or a matcher"))
		Expect(refusal(plan, BeTodo("x", 3))).To(Equal("BeTodo: entry 1: text is of type int, want a string or a matcher"))
	})
})
