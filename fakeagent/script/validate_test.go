package script_test

import (
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
)

var _ = Describe("A script made in Go", func() {
	var valid []TableEntry
	for _, f := range forms {
		valid = append(valid, Entry(f.does, f.step))
	}
	DescribeTable("is valid when it", func(step script.Step) {
		Expect(script.New(step).Validate()).To(Succeed())
	}, valid)

	DescribeTable("is refused for the same reason as its JSON would be:",
		func(step script.Step, text string) {
			_, parsing := script.Parse([]byte(`[` + text + `]`))
			err := script.New(step).Validate()
			Expect(err).To(MatchError(refusal(parsing).Reason))
			Expect(*refusal(err)).To(Equal(script.Error{Reason: refusal(parsing).Reason}), "it has no place")
		},
		Entry("an empty path to write", script.Write("", "x"), `{"write":{"path":"","content":"x"}}`),
		Entry("an empty path to edit", script.Edit("", "x", "y"), `{"edit":{"path":"","old":"x","new":"y"}}`),
		Entry("nothing to replace", script.Edit("a", "", "y"), `{"edit":{"path":"a","old":"","new":"y"}}`),
		Entry("no command", script.BashRun(""), `{"bash":{"command":"","run":true}}`),
		Entry("a command that runs and claims an output", script.BashStep{Command: "x", Run: true, Output: "y"}, `{"bash":{"command":"x","run":true,"output":"y"}}`),
		Entry("a command that runs and claims an exit code", script.BashStep{Command: "x", Run: true, ExitCode: 1}, `{"bash":{"command":"x","run":true,"exitCode":1}}`),
		Entry("a gate without a name", script.Hold(""), `{"hold":""}`),
		Entry("more chunks than characters", script.SayStep{Text: "👍🏽", Chunks: 2}, `{"say":{"text":"👍🏽","chunks":2}}`),
		Entry("less than one chunk", script.ThinkStep{Text: "x", Chunks: -1}, `{"think":{"text":"x","chunks":-1}}`),
		Entry("an unknown status of a plan's entry", script.PlanStep{Entries: []script.PlanEntry{{Text: "x", Status: "done"}}}, `{"plan":[{"text":"x","status":"done"}]}`),
		Entry("a tool without a name", script.ToolStep{}, `{"tool":{"name":""}}`),
		Entry("a tool with a detail and an input", script.ToolStep{Name: "x", Detail: json.RawMessage(`{}`), Input: json.RawMessage(`{}`)}, `{"tool":{"name":"x","detail":{},"input":{}}}`),
		Entry("a detail that is no object", script.ToolStep{Name: "x", Detail: json.RawMessage(`[ 1 ]`)}, `{"tool":{"name":"x","detail":[1]}}`),
		Entry("a tool that completed with an error", script.ToolStep{Name: "x", Status: "completed", Error: "y"}, `{"tool":{"name":"x","status":"completed","error":"y"}}`),
		Entry("no approval", script.Ask(), `{"approval":[]}`),
		Entry("an approval without a title", script.Ask(script.Approval{}), `{"approval":{"title":""}}`),
		Entry("an approval without a title, but with a tool", script.Ask(script.Approval{Tool: &script.ApprovalTool{Name: "x"}}), `{"approval":{"title":"","tool":{"name":"x"}}}`),
		Entry("an approval whose tool has no name", script.Ask(script.Approval{Title: "x", Tool: &script.ApprovalTool{}}), `{"approval":{"title":"x","tool":{"name":""}}}`),
		Entry("an approval that offers what nobody can decide", script.Ask(script.Approval{Title: "x", Options: []string{"maybe"}}), `{"approval":{"title":"x","options":["maybe"]}}`),
		Entry("a wrong step in a branch of the second approval", script.Ask(script.Approval{Title: "x"}, script.Approval{Title: "y", Deny: []script.Step{script.Hold("")}}),
			`{"approval":[{"title":"x"},{"title":"y","deny":[{"hold":""}]}]}`),
		Entry("a negative exit code of the process", script.Exit(-1), `{"exit":-1}`),
		Entry("an exit code that no process can have", script.Exit(256), `{"exit":256}`),
		Entry("an exit by a code and a signal", script.ExitStep{Code: 1, Signal: "SIGINT"}, `{"exit":{"code":1,"signal":"SIGINT"}}`),
		Entry("an exit by a signal that is none", script.ExitStep{Signal: "9"}, `{"exit":{"signal":"9"}}`),
		Entry("a complaint that says nothing", script.Stderr(""), `{"stderr":""}`),
		Entry("no raw bytes", script.Raw(""), `{"raw":""}`),
		Entry("a wait for no tool", script.WaitStep{}, `{"wait":""}`),
		Entry("a wait for a result of no tool", script.WaitForStep{Path: "a", AtLeast: 1}, `{"waitFor":{"tool":"","path":"a","atLeast":1}}`),
		Entry("a wait for less than no result", script.WaitForStep{Tool: "x", AtLeast: -1}, `{"waitFor":{"tool":"x","path":"","atLeast":-1}}`),
		Entry("a wait for a result with an id that has a dot", script.WaitForStep{Tool: "x", ID: "a.b"}, `{"waitFor":{"tool":"x","path":"","atLeast":0,"id":"a.b"}}`),
		Entry("an expected text that is empty", script.ExpectInputStep{}, `{"expectInput":""}`),
		Entry("an expected text inside of a step", script.TaskStep{Description: "x", Steps: []script.Step{script.ExpectInputStep{Text: "y"}}}, `{"task":{"description":"x","steps":[{"expectInput":"y"}]}}`),
		Entry("a wait for a steer inside of a step", script.TaskStep{Description: "x", Steps: []script.Step{script.AwaitSteerStep{}}}, `{"task":{"description":"x","steps":[{"awaitSteer":true}]}}`),
		Entry("a wait for a steer in a branch of the second approval", script.Ask(script.Approval{Title: "x"}, script.Approval{Title: "y", Deny: []script.Step{script.AwaitSteerStep{}}}),
			`{"approval":[{"title":"x"},{"title":"y","deny":[{"awaitSteer":true}]}]}`),
		Entry("a negative usage", script.UsageStep{ToolUses: -1}, `{"usage":{"usedTokens":0,"toolUses":-1}}`),
	)

	DescribeTable("is refused where it holds what JSON has no words for:",
		func(s script.Script, reason string) {
			Expect(s.Validate()).To(MatchError(reason))
			b, err := s.AppendJSON(nil)
			Expect(err).To(MatchError(reason))
			Expect(b).To(BeEmpty())
		},
		Entry("a sleep under a millisecond", script.New(script.Sleep(500*time.Microsecond)), "step 1 (sleep): ms "+milliseconds+", is 500µs"),
		Entry("a sleep with a part of a millisecond", script.New(script.Sleep(1500*time.Microsecond)), "step 1 (sleep): ms "+milliseconds+", is 1.5ms"),
		Entry("a negative sleep", script.New(script.Say("x"), script.Sleep(-time.Second)), "step 2 (sleep): ms "+milliseconds+", is -1s"),
		Entry("a negative delay before every step", script.Script{StepDelay: -time.Millisecond}, "stepDelayMs "+milliseconds+", is -1ms"),
		Entry("a part of a millisecond between chunks", script.New(script.SayStep{Text: "ab", Chunks: 2, Interval: 1}), "step 1 (say): intervalMs "+milliseconds+", is 1ns"),
		Entry("a negative timeout", script.New(script.Ask(script.Approval{Title: "x", Timeout: -1})), "step 1 (approval): timeoutMs "+milliseconds+", is -1ns"),
		Entry("a negative timeout of a wait", script.New(script.WaitStep{Tool: "x", Timeout: -time.Second}), "step 1 (wait): timeoutMs "+someTime+", is -1s"),
		Entry("a part of a millisecond to wait for a result", script.New(script.WaitForStep{Tool: "x", Timeout: 1}), "step 1 (waitFor): timeoutMs "+someTime+", is 1ns"),
		Entry("a part of a millisecond to wait for a steer", script.New(script.AwaitSteerStep{Timeout: 1500 * time.Microsecond}), "step 1 (awaitSteer): timeoutMs "+someTime+", is 1.5ms"),
		Entry("an expected text that is no UTF-8", script.New(script.ExpectInputStep{Text: "\xff"}), `step 1 (expectInput): text is not valid UTF-8, which JSON could not carry: "\xff"`),
		Entry("arguments of a wait that are no object", script.New(script.WaitForStep{Tool: "x", Arguments: json.RawMessage(" [1] ")}), "step 1 (waitFor): arguments must be an object, is [1]"),
		Entry("a part of a millisecond before a question", script.New(script.Ask(script.Approval{Title: "x", Tool: &script.ApprovalTool{Name: "x", Hold: 1}})), "step 1 (approval): tool: holdMs "+milliseconds+", is 1ns"),
		Entry("text that is no UTF-8", script.New(script.Say("a\xff")), `step 1 (say): text is not valid UTF-8, which JSON could not carry: "a\xff"`),
		Entry("a complaint that is no UTF-8", script.New(script.Stderr("\xff")), `step 1 (stderr): text is not valid UTF-8, which JSON could not carry: "\xff"`),
		Entry("a path that is no UTF-8", script.New(script.Write("\xfe", "")), `step 1 (write): path is not valid UTF-8, which JSON could not carry: "\xfe"`),
		Entry("arguments that JSON has no form for", script.New(script.MCP("s", "t", map[string]any{"x": make(chan int)})), "step 1 (mcp): arguments is no JSON (invalid character 'j' looking for beginning of value): json: unsupported type: chan int"),
		Entry("a pointer to a step", script.New(&script.SayStep{Text: "x"}), "step 1 must be the value of a step, is *script.SayStep"),
		Entry("a step that is nil", script.New(script.Say("x"), nil), "step 2 must be the value of a step, is <nil>"),
		Entry("a step of a branch that is nil", script.New(script.Ask(script.Approval{Title: "x", Allow: []script.Step{nil}})), "step 1 (approval): allow step 1 must be the value of a step, is <nil>"),
		Entry("an input that is no JSON", script.New(script.ToolStep{Name: "x", Input: json.RawMessage(`{"a"`)}), "step 1 (tool): input is no JSON (unexpected end of JSON input): {\"a\""),
		Entry("more than may be parsed", script.New(script.Say(strings.Repeat("x", script.MaxSize))), "it is 4194326 bytes long; the limit is 4194304"),
	)

	DescribeTable("is refused for the same reason as its JSON would be where steps stand in the wrong place:",
		func(text string, steps ...script.Step) {
			_, parsing := script.Parse([]byte(text))
			Expect(script.New(steps...).Validate()).To(MatchError(refusal(parsing).Reason))
		},
		Entry("an expected text behind a step", `[{"say":"x"},{"expectInput":"y"}]`, script.Say("x"), script.ExpectInputStep{Text: "y"}),
		Entry("two expected texts", `[{"expectInput":"x"},{"expectInput":"y"}]`, script.ExpectInputStep{Text: "x"}, script.ExpectInputStep{Text: "y"}),
		Entry("a wait for a steer before a step", `[{"say":"x"},{"awaitSteer":true},{"say":"y"}]`, script.Say("x"), script.AwaitSteerStep{}, script.Say("y")),
		Entry("two waits for a steer", `[{"awaitSteer":true},{"awaitSteer":true}]`, script.AwaitSteerStep{}, script.AwaitSteerStep{}),
		Entry("one that stands before another thing that is wrong", `[{"awaitSteer":true},{"hold":""}]`, script.AwaitSteerStep{}, script.Hold("")),
		Entry("one that stands behind another thing that is wrong", `[{"hold":""},{"expectInput":"x"}]`, script.Hold(""), script.ExpectInputStep{Text: "x"}),
		Entry("one inside of a step, before one outside", `[{"task":{"description":"x","steps":[{"awaitSteer":true}]}},{"expectInput":"x"}]`,
			script.TaskStep{Description: "x", Steps: []script.Step{script.AwaitSteerStep{}}}, script.ExpectInputStep{Text: "x"}),
	)

	It("may begin with a text that it expects, end with a wait for a steer, and have both as its only step", func() {
		for _, s := range []script.Script{
			script.New(script.ExpectInputStep{Text: "x"}, script.Say("y"), script.AwaitSteerStep{}),
			script.New(script.ExpectInputStep{Text: "x"}, script.AwaitSteerStep{}),
			script.New(script.ExpectInputStep{Text: "x"}),
			script.New(script.AwaitSteerStep{}),
		} {
			Expect(s.Validate()).To(Succeed())
			Expect(parse(s.String())).To(Equal(s))
		}
	})

	It("reports the first thing that is wrong", func() {
		Expect(script.New(script.Hold(""), script.Write("", ""), nil).Validate()).To(MatchError("step 1 (hold): name must not be empty"))
	})
})
