package timeline_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

var _ = Describe("The JSON form of what a tool call was about", func() {
	DescribeTable("is exact, down to the order of the keys, and decodes to an equal detail:",
		func(detail timeline.Detail, want string) {
			Expect(encoded(detail)).To(Equal(want))
			decoded, err := timeline.DecodeDetail([]byte(want))
			Expect(err).NotTo(HaveOccurred())
			Expect(decoded).To(Equal(detail)) // by reflect.DeepEqual
			Expect(cmp.Diff(detail, decoded)).To(BeEmpty())
			Expect(encoded(decoded)).To(Equal(want))
		},
		Entry("a command that runs", timeline.Shell{Command: "npm test", Cwd: "/w"}, `{"type":"shell","command":"npm test","cwd":"/w"}`),
		Entry("a command that runs and has said something", timeline.Shell{Command: "npm test", Output: "1..2\n"},
			`{"type":"shell","command":"npm test","output":"1..2\n"}`),
		Entry("a command that has ended", timeline.Shell{Command: "a < b", Cwd: "/w", Output: "no such file\n", ExitCode: timeline.Exited(1)},
			`{"type":"shell","command":"a < b","cwd":"/w","output":"no such file\n","exitCode":1}`),
		Entry("a command that has ended in silence, which is an answer", timeline.Shell{Command: "true", ExitCode: timeline.Exited(0)},
			`{"type":"shell","command":"true","output":"","exitCode":0}`),
		Entry("a file that was read", timeline.Read{FilePath: "/w/a", Content: "x\n", Offset: 10, Limit: 5},
			`{"type":"read","filePath":"/w/a","content":"x\n","offset":10,"limit":5}`),
		Entry("an edit as two strings", timeline.Edit{FilePath: "/w/a", OldString: "1", NewString: "2"},
			`{"type":"edit","filePath":"/w/a","oldString":"1","newString":"2"}`),
		Entry("an edit that deletes, whose new string is there", timeline.Edit{FilePath: "/w/a", OldString: "1"},
			`{"type":"edit","filePath":"/w/a","oldString":"1","newString":""}`),
		Entry("an edit as a diff", timeline.Edit{FilePath: "/w/a", UnifiedDiff: "@@ -1 +1 @@\n-1\n+2\n"},
			`{"type":"edit","filePath":"/w/a","unifiedDiff":"@@ -1 +1 @@\n-1\n+2\n"}`),
		Entry("a file that was written", timeline.Write{FilePath: "/w/a", Content: "<b>&</b>\n"},
			`{"type":"write","filePath":"/w/a","content":"<b>&</b>\n"}`),
		Entry("a file that was written empty, which is an answer", timeline.Write{FilePath: "/w/a"}, `{"type":"write","filePath":"/w/a","content":""}`),
		Entry("a search of which only the query is known", timeline.Search{Query: "TODO"}, `{"type":"search","query":"TODO"}`),
		Entry("a search with everything", timeline.Search{
			Query: "TODO", ToolName: "grep", Content: "a:1", FilePaths: []string{"a"}, WebResults: []timeline.WebResult{{Title: "T", URL: "https://x?a&b"}},
			Annotations: json.RawMessage(`[{"z":1}]`), NumFiles: 1, NumMatches: 2, DurationMs: 1.5, DurationSeconds: 0.0015, Truncated: true, Mode: "content",
		}, `{"type":"search","query":"TODO","toolName":"grep","content":"a:1","filePaths":["a"],"webResults":[{"title":"T","url":"https://x?a&b"}],`+
			`"annotations":[{"z":1}],"numFiles":1,"numMatches":2,"durationMs":1.5,"durationSeconds":0.0015,"truncated":true,"mode":"content"}`),
		Entry("a search that found no file, which is an answer", timeline.Search{Query: "TODO", FilePaths: []string{}},
			`{"type":"search","query":"TODO","filePaths":[]}`),
		Entry("a page that was fetched", timeline.Fetch{URL: "https://x", Prompt: "sum up", Result: "x", Code: 200, CodeText: "OK", Bytes: 12, DurationMs: 3},
			`{"type":"fetch","url":"https://x","prompt":"sum up","result":"x","code":200,"codeText":"OK","bytes":12,"durationMs":3}`),
		Entry("a worktree", timeline.WorktreeSetup{WorktreePath: "/w", BranchName: "b", Log: "ok", Truncated: true, Commands: []timeline.WorktreeCommand{
			{Index: 1, Command: "npm ci", Cwd: "/w", Log: "…", Status: "completed", ExitCode: timeline.Exited(0), DurationMs: 8},
			{Index: 2, Command: "make", Cwd: "/w", Status: "running"},
		}}, `{"type":"worktree_setup","worktreePath":"/w","branchName":"b","log":"ok","commands":[`+
			`{"index":1,"command":"npm ci","cwd":"/w","log":"…","status":"completed","exitCode":0,"durationMs":8},`+
			`{"index":2,"command":"make","cwd":"/w","log":"","status":"running"}],"truncated":true}`),
		Entry("a worktree without commands, whose list is empty and not null", timeline.WorktreeSetup{WorktreePath: "/w", BranchName: "b"},
			`{"type":"worktree_setup","worktreePath":"/w","branchName":"b","log":"","commands":[]}`),
		Entry("another agent's task", timeline.SubAgent{
			SubAgentType: "explorer", Description: "look", ChildSessionID: "s", Log: "…", Actions: []timeline.SubAgentAction{{Index: 1, ToolName: "Read", Summary: "a"}},
		}, `{"type":"sub_agent","subAgentType":"explorer","description":"look","childSessionId":"s","log":"…","actions":[{"index":1,"toolName":"Read","summary":"a"}]}`),
		Entry("another agent's task of which nothing is known", timeline.SubAgent{}, `{"type":"sub_agent","log":""}`),
		Entry("a text", timeline.PlainText{Label: "Look", Text: "at this", Icon: "eye"}, `{"type":"plain_text","label":"Look","text":"at this","icon":"eye"}`),
		Entry("no text at all", timeline.PlainText{}, `{"type":"plain_text"}`),
		Entry("a proposed plan", timeline.Plan{Text: "1. look"}, `{"type":"plan","text":"1. look"}`),
		Entry("a tool of no known kind", timeline.Unknown{Input: json.RawMessage(`{"b":1,"a":2}`), Output: json.RawMessage(`[1]`)},
			`{"type":"unknown","input":{"b":1,"a":2},"output":[1]}`),
		Entry("a tool of no known kind without input and output", timeline.Unknown{}, `{"type":"unknown","input":null,"output":null}`),
	)

	It("is the one named unknown when a tool call has none", func() {
		call := timeline.ToolCall{CallID: "c", Name: "x", Status: timeline.Running}
		Expect(encoded(call)).To(Equal(
			`{"type":"tool_call","callId":"c","name":"x","detail":{"type":"unknown","input":null,"output":null},"status":"running","error":null}`))
	})

	It("refuses what is no object with a type", func() {
		for _, in := range []string{`null`, `"shell"`, `[]`, `{}`, `{"type":""}`} {
			_, err := timeline.DecodeDetail([]byte(in))
			Expect(err).To(MatchError(`timeline: detail: want an object with a "type"`), in)
		}
	})
})

var _ = Describe("A detail of a type that this version does not know", func() {
	const novel = `{"x":"<\u003c>","type":"telepathy","n":1.50}`

	It("survives byte for byte as Raw, inside its tool call too", func() {
		detail, err := timeline.DecodeDetail([]byte(novel))
		Expect(err).NotTo(HaveOccurred())
		Expect(detail).To(Equal(timeline.Raw{JSON: json.RawMessage(novel)}))
		Expect(detail.Type()).To(Equal("telepathy"))

		const call = `{"type":"tool_call","callId":"c","name":"x","detail":` + novel + `,"status":"completed","error":null}`
		item, err := timeline.DecodeItem([]byte(call))
		Expect(err).NotTo(HaveOccurred())
		Expect(item).To(HaveField("Detail", detail))
		Expect(encoded(item)).To(Equal(call))
	})

	It("is another thing than the detail named unknown, which has an input and an output", func() {
		Expect(timeline.DecodeDetail([]byte(`{"type":"unknown","input":1,"output":null}`))).To(Equal(timeline.Unknown{Input: json.RawMessage(`1`)}))
	})
})

var _ = Describe("The exit code of a command", func() {
	DescribeTable("is one of three things:",
		func(in string, want timeline.ExitCode, text string) {
			detail, err := timeline.DecodeDetail([]byte(`{"type":"shell","command":"x","output":"o"` + in + `}`))
			Expect(err).NotTo(HaveOccurred())
			Expect(detail).To(Equal(timeline.Shell{Command: "x", Output: "o", ExitCode: want}))
			Expect(want.String()).To(Equal(text))
			Expect(encoded(detail)).To(Equal(`{"type":"shell","command":"x","output":"o"` + in + `}`))
		},
		Entry("absent, while nothing is known", ``, timeline.ExitCode{}, "absent"),
		Entry("null, when a signal ended the command", `,"exitCode":null`, timeline.NoExitCode, "null"),
		Entry("a number", `,"exitCode":0`, timeline.Exited(0), "0"),
		Entry("a number below 0, as some systems have it", `,"exitCode":-1`, timeline.Exited(-1), "-1"),
	)

	It("gives its number only when it has one", func() {
		n, ok := timeline.Exited(3).Code()
		Expect(n).To(Equal(3))
		Expect(ok).To(BeTrue())
		for _, none := range []timeline.ExitCode{{}, timeline.NoExitCode} {
			_, ok := none.Code()
			Expect(ok).To(BeFalse())
		}
		Expect(timeline.Exited(0).IsZero()).To(BeFalse())
		Expect(timeline.NoExitCode.IsZero()).To(BeFalse())
		Expect(timeline.ExitCode{}.IsZero()).To(BeTrue())
	})

	It("is compared by go-cmp without an option", func() {
		Expect(cmp.Equal(timeline.Exited(1), timeline.Exited(1))).To(BeTrue())
		Expect(cmp.Equal(timeline.Exited(0), timeline.NoExitCode)).To(BeFalse())
		Expect(cmp.Equal(timeline.NoExitCode, timeline.ExitCode{})).To(BeFalse())
	})

	DescribeTable("is refused when it is",
		func(in, want string) {
			_, err := timeline.DecodeDetail([]byte(`{"type":"shell","command":"x","exitCode":` + in + `}`))
			Expect(err).To(MatchError("timeline: shell: exitCode is " + want + ", want a whole number or null"))
		},
		Entry("a text", `"1"`, `"1"`), Entry("a fraction", `1.5`, `1.5`), Entry("true", `true`, `true`), Entry("an object", `{"code":1}`, `{"code":1}`),
	)
})
