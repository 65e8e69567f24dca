package script_test

import (
	"encoding/json"
	"time"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// form is a step in Go, the JSON that is written for it, and other JSON that means the same.
type form struct {
	does string
	step script.Step
	json string
	also []string
}

// forms has every kind of step, with few and with all of its settings.
var forms = []form{
	{
		"reasons", script.Think("hm"),
		`{"think":"hm"}`, []string{`{"think":{"text":"hm"}}`, `{ "think" : "\u0068m" }`},
	},
	{
		"reasons in pieces", script.ThinkStep{Text: "hm, so", Chunks: 3, Interval: 20 * time.Millisecond},
		`{"think":{"text":"hm, so","chunks":3,"intervalMs":20}}`, nil,
	},
	{
		"says something", script.Say("done"),
		`{"say":"done"}`, []string{`{"say":{"text":"done"}}`, `{"say":{"text":"done","intervalMs":0}}`},
	},
	{
		"calls an MCP tool", script.MCP("my-tools", "show", map[string]any{"b": "<x>", "a": 1}),
		`{"mcp":{"server":"my-tools","tool":"show","arguments":{"a":1,"b":"<x>"}}}`, nil,
	},
	{
		"calls an MCP tool of every server, without arguments", script.MCP("*", "ping", nil),
		`{"mcp":{"server":"*","tool":"ping"}}`, []string{`{"mcp":{"tool":"ping","server":"*"}}`},
	},
	{
		"calls an MCP tool with all that a call can have", script.MCPStep{
			Server: "s", Tool: "t", Arguments: json.RawMessage(`{"a":[{}]}`), ID: "first call",
			Row:  &script.MCPRow{Name: "visualize", ItemType: "mcp_tool_call", Hold: 300 * time.Millisecond},
			Then: []script.Step{script.Say("ok"), script.MCP("s", "u", nil)}, Else: []script.Step{script.Fail("no")},
		},
		`{"mcp":{"server":"s","tool":"t","arguments":{"a":[{}]},"id":"first call","row":{"name":"visualize","itemType":"mcp_tool_call","holdMs":300},` +
			`"then":[{"say":"ok"},{"mcp":{"server":"s","tool":"u"}}],"else":[{"fail":"no"}]}}`,
		nil,
	},
	{
		"calls an MCP tool in a row of its own", script.MCPStep{Server: "s", Tool: "t", Row: &script.MCPRow{Name: "r"}},
		`{"mcp":{"server":"s","tool":"t","row":{"name":"r"}}}`, []string{`{"mcp":{"server":"s","tool":"t","row":{"name":"r","holdMs":0},"then":[],"else":[]}}`},
	},
	{
		"calls a tool of the built-in MCP server", script.MCP("", "show", nil),
		`{"mcp":{"tool":"show"}}`, []string{`{"mcp":{"tool":"show","report":false}}`},
	},
	{
		"calls an MCP tool and reports what came of it", script.MCPStep{Tool: "t", ID: "i", Report: true, Row: &script.MCPRow{Name: "r"}},
		`{"mcp":{"tool":"t","id":"i","report":true,"row":{"name":"r"}}}`, nil,
	},
	{
		"waits for a tool of the built-in MCP server", script.WaitStep{Tool: "create"},
		`{"wait":"create"}`, []string{`{"wait":{"tool":"create"}}`},
	},
	{
		"waits for a tool of another MCP server, not for long", script.WaitStep{Tool: "mcp__s__t", Server: "s", Timeout: 1500 * time.Millisecond},
		`{"wait":{"tool":"mcp__s__t","server":"s","timeoutMs":1500}}`, []string{`{"wait":{"timeoutMs":1.5e3,"server":"s","tool":"mcp__s__t"}}`},
	},
	{
		"waits for any result of an MCP tool", script.WaitForStep{Tool: "list"},
		`{"waitFor":{"tool":"list","path":"","atLeast":0}}`, []string{`{"waitFor":{"atLeast":0,"path":"","tool":"list"}}`},
	},
	{
		"waits for a result of an MCP tool with all that such a wait can have", script.WaitForStep{
			Tool: "list", Path: "items[by=me].files", AtLeast: 2, Arguments: json.RawMessage(`{"all":true}`), ID: "listed", Server: "s", Timeout: time.Minute,
		},
		`{"waitFor":{"tool":"list","path":"items[by=me].files","atLeast":2,"arguments":{"all":true},"id":"listed","server":"s","timeoutMs":60000}}`, nil,
	},
	{
		"waits for a steer", script.AwaitSteerStep{},
		`{"awaitSteer":true}`, []string{`{"awaitSteer":{}}`, `{"awaitSteer":{"continueOnTimeout":false}}`},
	},
	{
		"waits for a steer a while, and goes on without one", script.AwaitSteerStep{Timeout: time.Second, Continue: true},
		`{"awaitSteer":{"timeoutMs":1000,"continueOnTimeout":true}}`, nil,
	},
	{
		"waits for a steer as long as always, and goes on without one", script.AwaitSteerStep{Continue: true},
		`{"awaitSteer":{"continueOnTimeout":true}}`, nil,
	},
	{
		"expects a text in the prompt", script.ExpectInputStep{Text: "run {{input}}"},
		`{"expectInput":"run {{input}}"}`, []string{`{"expectInput":{"text":"run {{input}}"}}`},
	},
	{
		"asks a question", script.QuestionStep{Questions: []script.Question{{ID: "q", Header: "H", Question: "Q?"}}},
		`{"question":{"questions":[{"id":"q","header":"H","question":"Q?"}]}}`,
		[]string{`{"question":{"blocking":false,"questions":[{"question":"Q?","header":"H","id":"q","options":[],"multiSelect":false}]}}`},
	},
	{
		"asks two questions and waits for the answers", script.QuestionStep{
			Questions: []script.Question{
				{ID: "color", Header: "Color", Question: "Which?", Options: []script.QuestionOption{{Label: "blue", Description: "as it was"}, {Label: "green"}}},
				{ID: "sizes", Header: "Sizes", Question: "Which ones?", Options: []script.QuestionOption{{Label: "S"}}, MultiSelect: true},
			},
			Blocking: true,
		},
		`{"question":{"questions":[{"id":"color","header":"Color","question":"Which?","options":[{"label":"blue","description":"as it was"},{"label":"green"}]},` +
			`{"id":"sizes","header":"Sizes","question":"Which ones?","options":[{"label":"S"}],"multiSelect":true}],"blocking":true}}`,
		nil,
	},
	{
		"has a sub-agent do a task", script.TaskStep{Description: "look around", Type: "explorer", Steps: []script.Step{script.Think("hm"), script.BashRun("ls")}},
		`{"task":{"description":"look around","type":"explorer","steps":[{"think":"hm"},{"bash":{"command":"ls","run":true}}]}}`, nil,
	},
	{
		"has a sub-agent do a task without steps", script.TaskStep{Description: "rest"},
		`{"task":{"description":"rest","steps":[]}}`, nil,
	},
	{
		"emits an event", script.EventStep{Type: "turn.diff.updated", ItemID: "i", RequestID: "r", Payload: json.RawMessage(`{"unifiedDiff":"<none>"}`)},
		`{"event":{"type":"turn.diff.updated","itemId":"i","requestId":"r","payload":{"unifiedDiff":"<none>"}}}`,
		[]string{`{"event":{"payload":{ "unifiedDiff" : "<none>" },"requestId":"r","itemId":"i","type":"turn.diff.updated"}}`},
	},
	{
		"emits an event that is its type alone", script.EventStep{Type: "x"},
		`{"event":{"type":"x"}}`, nil,
	},
	{
		"says nothing", script.Say(""),
		`{"say":""}`, []string{`{"say":{"text":""}}`},
	},
	{
		"says something in pieces", script.SayStep{Text: "abc", Chunks: 3, Interval: time.Second},
		`{"say":{"text":"abc","chunks":3,"intervalMs":1000}}`,
		[]string{`{"say":{"intervalMs":1000,"chunks":3,"text":"abc"}}`, `{"say":{"text":"abc","chunks":3.0,"intervalMs":1e3}}`},
	},
	{
		"says something in one piece", script.SayStep{Text: "abc", Chunks: 1},
		`{"say":{"text":"abc","chunks":1}}`, nil,
	},
	{
		"says what HTML and JavaScript would escape", script.Say("a < b && c > d \u2028 \"é\" \\ 👋"),
		`{"say":"a < b && c > d \u2028 \"é\" \\ 👋"}`, []string{`{"say":"a \u003c b \u0026\u0026 c \u003e d \u2028 \"\u00e9\" \\ \ud83d\udc4b"}`},
	},
	{
		"writes a file", script.Write("src/a.ts", "export const a = 1;\n"),
		`{"write":{"path":"src/a.ts","content":"export const a = 1;\n"}}`,
		[]string{`{"write":{"content":"export const a = 1;\n","path":"src\/a.ts"}}`},
	},
	{
		"writes an empty file", script.Write("empty", ""),
		`{"write":{"path":"empty","content":""}}`, nil,
	},
	{
		"edits a file", script.Edit("src/a.ts", "1", "2"),
		`{"edit":{"path":"src/a.ts","old":"1","new":"2"}}`, []string{`{"edit":{"path":"src/a.ts","old":"1","new":"2","unique":false}}`},
	},
	{
		"deletes the only such text of a file", script.EditStep{Path: "a", Old: "x", Unique: true},
		`{"edit":{"path":"a","old":"x","new":"","unique":true}}`, nil,
	},
	{
		"claims that a command did well", script.Bash("true", "", 0),
		`{"bash":{"command":"true"}}`, []string{`{"bash":{"command":"true","output":"","exitCode":0}}`, `{"bash":{"command":"true","run":false}}`},
	},
	{
		"claims that a command failed", script.Bash("npm test", "1 failed", 1),
		`{"bash":{"command":"npm test","output":"1 failed","exitCode":1}}`, []string{`{"bash":{"command":"npm test","output":"1 failed","exitCode":10e-1}}`},
	},
	{
		"claims a negative exit code", script.Bash("x", "", -1),
		`{"bash":{"command":"x","exitCode":-1}}`, nil,
	},
	{
		"runs a command", script.BashRun("cat a"),
		`{"bash":{"command":"cat a","run":true}}`, []string{`{"bash":{"run":true,"command":"cat a"}}`},
	},
	{
		"fails the turn", script.Fail("tests failed"),
		`{"fail":"tests failed"}`, []string{`{"fail":{"message":"tests failed"}}`, `{"fail":{"message":"tests failed","code":0}}`},
	},
	{
		"fails the turn with a code", script.FailStep{Message: "busy", Code: -32000},
		`{"fail":{"message":"busy","code":-32000}}`, nil,
	},
	{
		"ends the agent's process with an exit code", script.Exit(3),
		`{"exit":3}`, []string{`{"exit":{"code":3}}`, `{"exit":3.0}`},
	},
	{
		"ends the agent's process well", script.Exit(0),
		`{"exit":{}}`, []string{`{"exit":0}`, `{"exit":{"code":0}}`},
	},
	{
		"ends the agent's process with the largest exit code", script.Exit(255),
		`{"exit":255}`, nil,
	},
	{
		"has the agent's process killed by a signal", script.ExitStep{Signal: "SIGKILL"},
		`{"exit":{"signal":"SIGKILL"}}`, nil,
	},
	{
		"complains on standard error", script.Stderr("warning: <none>\n"),
		`{"stderr":"warning: <none>\n"}`, []string{`{"stderr":{"text":"warning: \u003cnone>\n"}}`},
	},
	{
		"writes text between the lines of the protocol", script.Raw("é\x00{\n"),
		`{"raw":"é\u0000{\n"}`, []string{`{"raw":{"text":"é\u0000{\n"}}`, `{"raw":{"base64":"w6kAewo="}}`, `{"raw":{"base64":"w6kA\newo=\r\n"}}`},
	},
	{
		"writes bytes that are no text between the lines of the protocol", script.Raw("a\xff\n"),
		`{"raw":{"base64":"Yf8K"}}`, nil,
	},
	{
		"waits", script.Sleep(1500 * time.Millisecond),
		`{"sleep":1500}`, []string{`{"sleep":{"ms":1500}}`, `{"sleep":1.5e3}`, `{"sleep":{"ms":1500,"steers":false}}`},
	},
	{
		"waits and takes steers meanwhile", script.SleepStep{Duration: time.Second, Steers: true},
		`{"sleep":{"ms":1000,"steers":true}}`, []string{`{"sleep":{"steers":true,"ms":1e3}}`},
	},
	{
		"waits no time", script.Sleep(0),
		`{"sleep":0}`, []string{`{"sleep":-0}`, `{"sleep":0.0}`},
	},
	{
		"waits as long as a Duration can", script.Sleep(9223372036854 * time.Millisecond),
		`{"sleep":9223372036854}`, nil,
	},
	{
		"waits at a gate", script.Hold("ready"),
		`{"hold":"ready"}`, []string{`{"hold":{"name":"ready"}}`, `{"hold":{"name":"ready","open":false}}`},
	},
	{
		"waits at a gate that is open", script.HoldStep{Name: "ready", Open: true},
		`{"hold":{"name":"ready","open":true}}`, nil,
	},
	{
		"waits at a gate and is steered there", script.HoldStep{Name: "ready", Steers: true},
		`{"hold":{"name":"ready","steers":true}}`, nil,
	},
	{
		"plans", script.PlanStep{Entries: []script.PlanEntry{{Text: "read"}, {Text: "write", Priority: "high", Status: "in_progress"}}},
		`{"plan":[{"text":"read"},{"text":"write","priority":"high","status":"in_progress"}]}`,
		[]string{`{"plan":{"entries":[{"text":"read"},{"status":"in_progress","priority":"high","text":"write"}]}}`},
	},
	{
		"empties the plan", script.PlanStep{},
		`{"plan":[]}`, []string{`{"plan":{"entries":[]}}`},
	},
	{
		"claims a tool call", script.ToolStep{Name: "Search"},
		`{"tool":{"name":"Search"}}`, []string{`{"tool":{"name":"Search","input":null,"output":null}}`},
	},
	{
		"claims a tool call that failed", script.ToolStep{
			Name: "Search", Input: json.RawMessage(`{"query":"<a>"}`), Output: json.RawMessage(`[1,2.50,"x y"]`),
			Status: "failed", Error: "no such page", Hold: 250 * time.Millisecond,
		},
		`{"tool":{"name":"Search","input":{"query":"<a>"},"output":[1,2.50,"x y"],"status":"failed","error":"no such page","holdMs":250}}`,
		[]string{`{"tool":{"holdMs":250,"error":"no such page","status":"failed","output":[ 1, 2.50, "x y" ],"input":{ "query" : "<a>" },"name":"Search"}}`},
	},
	{
		"claims a tool call that the timeline knows", script.ToolStep{Name: "Read", Detail: json.RawMessage(`{"type":"read","filePath":"/a"}`), Status: "completed"},
		`{"tool":{"name":"Read","detail":{"type":"read","filePath":"/a"},"status":"completed"}}`, nil,
	},
	{
		"asks for an approval", script.Ask(script.Approval{Title: "rm -rf build"}),
		`{"approval":{"title":"rm -rf build"}}`,
		[]string{`{"approval":[{"title":"rm -rf build"}]}`, `{"approval":{"title":"rm -rf build","type":"","options":[],"allow":[],"deny":[],"timeoutMs":0}}`},
	},
	{
		"asks for an approval with all that one can have", script.Ask(script.Approval{
			Title: "write a", Type: "file_change_approval",
			Tool:    &script.ApprovalTool{Name: "Write", Detail: json.RawMessage(`{"type":"write","filePath":"a"}`), Hold: 1500 * time.Millisecond},
			Options: []string{"accept", "decline"},
			Allow:   []script.Step{script.Write("a", "x"), script.Ask(script.Approval{Title: "again", Deny: []script.Step{script.Fail("no")}})},
			Deny:    []script.Step{script.Say("as you wish")},
			Timeout: 30 * time.Second,
		}),
		`{"approval":{"title":"write a","type":"file_change_approval","tool":{"name":"Write","detail":{"type":"write","filePath":"a"},"holdMs":1500},` +
			`"options":["accept","decline"],"allow":[{"write":{"path":"a","content":"x"}},{"approval":{"title":"again","deny":[{"fail":"no"}]}}],` +
			`"deny":[{"say":"as you wish"}],"timeoutMs":30000}}`,
		nil,
	},
	{
		"asks for two approvals at once", script.Ask(
			script.Approval{Title: "one", Tool: &script.ApprovalTool{Name: "T", Input: json.RawMessage(`1`), Output: json.RawMessage(`"2"`)}},
			script.Approval{Title: "two"},
		),
		`{"approval":[{"title":"one","tool":{"name":"T","input":1,"output":"2"}},{"title":"two"}]}`, nil,
	},
	{
		"tells that nothing was used", script.UsageStep{},
		`{"usage":{"usedTokens":0}}`, []string{`{"usage":{"usedTokens":0,"maxTokens":0,"compactsAutomatically":false}}`},
	},
	{
		"tells all that was used", script.UsageStep{
			UsedTokens: 1, MaxTokens: 2, TotalProcessedTokens: 3, InputTokens: 4, CachedInputTokens: 5, OutputTokens: 6,
			ReasoningOutputTokens: 7, LastUsedTokens: 8, LastInputTokens: 9, LastCachedInputTokens: 10, LastOutputTokens: 11,
			LastReasoningOutputTokens: 12, ToolUses: 13, DurationMs: 14, CompactsAutomatically: true,
		},
		`{"usage":{"usedTokens":1,"maxTokens":2,"totalProcessedTokens":3,"inputTokens":4,"cachedInputTokens":5,"outputTokens":6,` +
			`"reasoningOutputTokens":7,"lastUsedTokens":8,"lastInputTokens":9,"lastCachedInputTokens":10,"lastOutputTokens":11,` +
			`"lastReasoningOutputTokens":12,"toolUses":13,"durationMs":14,"compactsAutomatically":true}}`,
		nil,
	},
}
