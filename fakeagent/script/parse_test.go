package script_test

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// refused is a script that Parse refuses. The arrow stands where the error is.
type refused struct {
	because, json, reason string
	schemaAccepts         bool // JSON Schema has no words for this
}

const arrow = "▸"

func (r refused) text() string { return strings.Replace(r.json, arrow, "", 1) }

const (
	milliseconds = "must be a whole number of milliseconds, 0 or more"
	someTime     = "must be a whole number of milliseconds, 1 or more"
	keyTwice     = `key "%s" stands there twice`
)

var refusals = []refused{
	{because: "it is null", json: `▸null`, reason: "must be an array, or an object, is null"},
	{because: "it is a string", json: ` ▸"[]"`, reason: `must be an array, or an object, is "[]"`},
	{because: "it has no steps", json: `▸{"stepDelayMs":5}`, reason: "steps is missing"},
	{because: "its steps are an object", json: `{"steps":▸{"say":"x"}}`, reason: `steps must be an array, is {"say":"x"}`},
	{because: "it has a key beside steps that nobody knows", json: `{"steps":[],▸"stepDelay":5}`, reason: `unknown key "stepDelay", did you mean "stepDelayMs"?`},
	{because: "it has a key in other letters", json: `{▸"Steps":[]}`, reason: `unknown key "Steps", did you mean "steps"?`},
	{because: "it has a file's key", json: `{▸"turns":[]}`, reason: `unknown key "turns", did you mean "steps"?`},
	{because: "it has steps twice", json: `{"steps":[],▸"steps":[]}`, reason: fmt.Sprintf(keyTwice, "steps"), schemaAccepts: true},
	{because: "it has steps twice, once escaped", json: `{"steps":[],▸"st\u0065ps":[]}`, reason: fmt.Sprintf(keyTwice, "steps"), schemaAccepts: true},
	{because: "its delay is negative", json: `{"steps":[],"stepDelayMs":▸-5}`, reason: "stepDelayMs " + milliseconds + ", is -5"},
	{because: "its delay is a fraction", json: `{"steps":[],"stepDelayMs":▸0.5}`, reason: "stepDelayMs " + milliseconds + ", is 0.5"},
	{because: "its delay is a string", json: `{"steps":[],"stepDelayMs":▸"5"}`, reason: "stepDelayMs " + milliseconds + `, is "5"`},
	{because: "its delay is null", json: `{"steps":[],"stepDelayMs":▸null}`, reason: "stepDelayMs " + milliseconds + `, is null`},
	{because: "its delay is longer than a Duration can be", json: `{"steps":[],"stepDelayMs":▸9223372036855}`, reason: "stepDelayMs " + milliseconds + ", is 9223372036855"},
	{because: "its delay is huge", json: `{"steps":[],"stepDelayMs":▸1e400}`, reason: "stepDelayMs " + milliseconds + ", is 1e400"},

	{because: "a step is null", json: `[{"say":"x"},▸null]`, reason: "step 2 must be an object with one key, is null"},
	{because: "a step is a string", json: `[▸"say"]`, reason: `step 1 must be an object with one key, is "say"`},
	{because: "a step is a list", json: `[▸["say","x"]]`, reason: `step 1 must be an object with one key, is ["say","x"]`},
	{because: "a step has no key", json: `[▸{}]`, reason: "step 1 must have exactly one key, has none"},
	{because: "a step has two keys", json: `[▸{"say":"x","think":"y"}]`, reason: `step 1 must have exactly one key, has "say" and "think"`},
	{because: "a step has one key twice", json: `[▸{"say":"x","say":"y"}]`, reason: `step 1 must have exactly one key, has "say" and "say"`, schemaAccepts: true},
	{because: "a step has many keys", json: `[▸{"say":"x","text":"y","chunks":2,"intervalMs":1}]`, reason: `step 1 must have exactly one key, has "say", "text", "chunks" and more`},
	{because: "a step has an unknown key", json: `[{"say":"x"},{"say":"y"},{▸"wirte":{}}]`, reason: `step 3: unknown key "wirte", did you mean "write"?`},
	{because: "a step is of a kind that is not there yet", json: `[{▸"data":{}}]`, reason: `step 1: unknown key "data", did you mean "say"?`},
	{because: "an unknown key is long", json: `[{▸"` + strings.Repeat("é", 100) + `":1}]`, reason: `step 1: unknown key "` + strings.Repeat("é", 20) + `…", did you mean "think"?`},

	{because: "a key behind a step's key is unknown", json: `[{"write":{▸"pth":"a","content":""}}]`, reason: `step 1 (write): unknown key "pth", did you mean "path"?`},
	{because: "a key behind a step's key stands there twice", json: `[{"write":{"path":"a",▸"path":"b","content":""}}]`, reason: "step 1 (write): " + fmt.Sprintf(keyTwice, "path"), schemaAccepts: true},
	{because: "text is a number", json: `[{"say":▸5}]`, reason: `step 1 (say): must be a string, or an object, is 5`},
	{because: "text of the long form is a number", json: `[{"say":{"text":▸5}}]`, reason: `step 1 (say): text must be a string, is 5`},
	{because: "text is a list on many lines", json: "[{\"say\":{\"text\":▸[\n  1,\n  2\n]}}]", reason: `step 1 (say): text must be a string, is [1,2]`},
	{because: "text is a long list", json: `[{"say":▸["` + strings.Repeat("é", 100) + `"]}]`, reason: `step 1 (say): must be a string, or an object, is ["` + strings.Repeat("é", 19) + "…"},
	{because: "the long form has no text", json: `[{"think":▸{"chunks":2}}]`, reason: "step 1 (think): text is missing"},
	{because: "the long form has a text by another name", json: `[{"say":{▸"txet":"abc","chunks":2}}]`, reason: `step 1 (say): unknown key "txet", did you mean "text"?`},
	{because: "a flag is a string", json: `[{"hold":{"name":"x","open":▸"yes"}}]`, reason: `step 1 (hold): open must be true or false, is "yes"`},
	{because: "a flag is null", json: `[{"bash":{"command":"x","run":▸null}}]`, reason: `step 1 (bash): run must be true or false, is null`},
	{because: "a sleep takes steers but no time", json: `[{"sleep":▸{"steers":true}}]`, reason: "step 1 (sleep): ms is missing"},
	{because: "a sleep's steers are a number", json: `[{"sleep":{"ms":5,"steers":▸1}}]`, reason: "step 1 (sleep): steers must be true or false, is 1"},
	{because: "a sleep is a string", json: `[{"sleep":▸"5s"}]`, reason: "step 1 (sleep): " + milliseconds + `, or an object, is "5s"`},
	{because: "a sleep is negative", json: `[{"sleep":▸-1}]`, reason: "step 1 (sleep): ms " + milliseconds + ", is -1"},
	{because: "a sleep is a fraction", json: `[{"sleep":{"ms":▸0.001}}]`, reason: "step 1 (sleep): ms " + milliseconds + ", is 0.001"},
	{because: "a sleep is a fraction that a float could not tell from a whole number", json: `[{"sleep":▸1.00000000000000000001}]`, reason: "step 1 (sleep): ms " + milliseconds + ", is 1.00000000000000000001"},
	{because: "a path is empty", json: `[{"write":{"path":▸"","content":"x"}}]`, reason: "step 1 (write): path must not be empty"},
	{because: "a path is missing", json: `[{"write":▸{"content":"x"}}]`, reason: "step 1 (write): path is missing"},
	{because: "a content is missing", json: `[{"write":▸{"path":"x"}}]`, reason: "step 1 (write): content is missing"},
	{because: "a write is a path only", json: `[{"write":▸"a"}]`, reason: `step 1 (write): must be an object with path and content, is "a"`},
	{because: "an edit's old text is empty", json: `[{"edit":{"path":"a","old":▸"","new":"x"}}]`, reason: "step 1 (edit): old must not be empty"},
	{because: "an edit's new text is missing", json: `[{"edit":▸{"path":"a","old":"x"}}]`, reason: "step 1 (edit): new is missing"},
	{because: "a command is empty", json: `[{"bash":{"command":▸""}}]`, reason: "step 1 (bash): command must not be empty"},
	{because: "a command is a string, which could be run or claimed", json: `[{"bash":▸"ls"}]`, reason: `step 1 (bash): must be an object with command, is "ls"`},
	{because: "a command that runs claims an output", json: `[{"bash":{"command":"ls","output":"x","run":▸true}}]`, reason: "step 1 (bash): run and output exclude each other"},
	{because: "a command that runs claims an exit code", json: `[{"bash":{"command":"ls","run":▸true,"exitCode":0}}]`, reason: "step 1 (bash): run and exitCode exclude each other"},
	{because: "an exit code is a fraction", json: `[{"bash":{"command":"ls","exitCode":▸1.5}}]`, reason: "step 1 (bash): exitCode must be a whole number, is 1.5"},
	{because: "a code is larger than an int", json: `[{"fail":{"message":"x","code":▸9223372036854775808}}]`, reason: "step 1 (fail): code must be a whole number, is 9223372036854775808", schemaAccepts: true},
	{because: "a gate has no name", json: `[{"hold":▸""}]`, reason: "step 1 (hold): name must not be empty"},

	{because: "there are no chunks", json: `[{"say":{"text":"x","chunks":▸0}}]`, reason: "step 1 (say): chunks must be 1 or more, is 0"},
	{because: "there are more chunks than letters", json: `[{"say":{"chunks":▸4,"text":"abc"}}]`, reason: "step 1 (say): chunks is 4, but the text has only 3 characters", schemaAccepts: true},
	{because: "there are more chunks than emojis", json: `[{"think":{"text":"👨‍👩‍👧‍👦👍🏽","chunks":▸3}}]`, reason: "step 1 (think): chunks is 3, but the text has only 2 characters", schemaAccepts: true},
	{because: "there are more chunks than accented letters", json: `[{"say":{"text":"e\u0301e\u0301","chunks":▸3}}]`, reason: "step 1 (say): chunks is 3, but the text has only 2 characters", schemaAccepts: true},
	{because: "there are more chunks than line ends", json: `[{"say":{"text":"\r\n\r\n","chunks":▸3}}]`, reason: "step 1 (say): chunks is 3, but the text has only 2 characters", schemaAccepts: true},
	{because: "there are chunks of no text", json: `[{"say":{"text":"","chunks":▸2}}]`, reason: "step 1 (say): chunks is 2, but the text has only 0 characters", schemaAccepts: true},

	{because: "a plan is a string", json: `[{"plan":▸"x"}]`, reason: `step 1 (plan): must be an array, or an object, is "x"`},
	{because: "an entry of a plan is a string", json: `[{"plan":[▸"x"]}]`, reason: `step 1 (plan): entry 1: must be an object with text, is "x"`},
	{because: "an entry of a plan has an unknown key", json: `[{"plan":[{"text":"x"},{"text":"y",▸"state":"pending"}]}]`, reason: `step 1 (plan): entry 2: unknown key "state", did you mean "status"?`},
	{because: "an entry of a plan is urgent in another word", json: `[{"plan":[{"text":"x","priority":▸"urgent"}]}]`, reason: `step 1 (plan): entry 1: priority must be high, medium or low, is "urgent"`},
	{because: "an entry of a plan has an empty status", json: `[{"plan":[{"text":"x","status":▸""}]}]`, reason: `step 1 (plan): entry 1: status must be pending, in_progress or completed, is ""`},

	{because: "a tool has no name", json: `[{"tool":▸{"input":{}}}]`, reason: "step 1 (tool): name is missing"},
	{because: "a tool's detail is null", json: `[{"tool":{"name":"x","detail":▸null}}]`, reason: "step 1 (tool): detail must be an object, is null"},
	{because: "a tool has a detail and an input", json: `[{"tool":{"name":"x","input":{},"detail":▸{}}}]`, reason: "step 1 (tool): detail and input exclude each other"},
	{because: "a tool has a detail and an output", json: `[{"tool":{"name":"x","detail":▸{},"output":null}}]`, reason: "step 1 (tool): detail and output exclude each other"},
	{because: "a tool completed and has an error", json: `[{"tool":{"name":"x","status":"completed","error":▸"no"}}]`, reason: "step 1 (tool): error goes with the status failed only", schemaAccepts: true},

	{because: "there is no approval", json: `[{"approval":▸[]}]`, reason: "step 1 (approval): needs at least one approval"},
	{because: "an approval is a string", json: `[{"approval":▸"x"}]`, reason: `step 1 (approval): must be an array, or an object, is "x"`},
	{because: "an approval has no title", json: `[{"approval":▸{}}]`, reason: "step 1 (approval): title is missing"},
	{because: "an approval has an unknown key", json: `[{"approval":{▸"titel":"x"}}]`, reason: `step 1 (approval): unknown key "titel", did you mean "title"?`},
	{because: "the second approval has an unknown key", json: `[{"approval":[{"title":"x"},{"title":"y",▸"alow":[]}]}]`, reason: `step 1 (approval): approval 2: unknown key "alow", did you mean "allow"?`},
	{because: "an approval's tool is a string", json: `[{"approval":{"title":"x","tool":▸"Bash"}}]`, reason: `step 1 (approval): tool: must be an object with name, is "Bash"`},
	{because: "an approval's tool has a tool's status", json: `[{"approval":{"title":"x","tool":{"name":"Bash",▸"status":"failed"}}}]`, reason: `step 1 (approval): tool: unknown key "status", did you mean "name"?`},
	{because: "an approval offers what nobody can decide", json: `[{"approval":{"title":"x","options":▸["accept","maybe"]}}]`, reason: `step 1 (approval): options must hold accept, acceptForSession, decline or cancel, holds "maybe"`},
	{because: "an approval offers a number", json: `[{"approval":{"title":"x","options":▸[1]}}]`, reason: `step 1 (approval): options must hold accept, acceptForSession, decline or cancel, holds 1`},
	{because: "a branch is no list", json: `[{"approval":{"title":"x","allow":▸{"say":"y"}}}]`, reason: `step 1 (approval): allow must be an array, is {"say":"y"}`},
	{because: "a step of a branch is wrong", json: `[{"say":"x"},{"approval":{"title":"x","deny":[{"say":"y"},{"say":▸1}]}}]`, reason: `step 2 (approval): deny step 2 (say): must be a string, or an object, is 1`},
	{
		because: "a step of a branch of a branch is wrong", json: `[{"approval":[{"title":"x"},{"title":"y","allow":[{"approval":{"title":"z","deny":[{▸"sya":""}]}}]}]}]`,
		reason: `step 1 (approval): approval 2: allow step 1 (approval): deny step 1: unknown key "sya", did you mean "say"?`,
	},

	{because: "an approval's tool is held for less than no time", json: `[{"approval":{"title":"x","tool":{"name":"Bash","holdMs":▸-1}}}]`, reason: `step 1 (approval): tool: holdMs ` + milliseconds + `, is -1`},

	{because: "an exit is null", json: `[{"exit":▸null}]`, reason: "step 1 (exit): must be a whole number, or an object, is null"},
	{because: "an exit is a signal only", json: `[{"exit":▸"SIGKILL"}]`, reason: `step 1 (exit): must be a whole number, or an object, is "SIGKILL"`},
	{because: "an exit code is negative", json: `[{"exit":▸-1}]`, reason: "step 1 (exit): code must be 0 or more, is -1"},
	{because: "an exit code is more than a process can have", json: `[{"exit":{"code":▸256}}]`, reason: "step 1 (exit): code must be 255 or less, is 256"},
	{because: "an exit has a code and a signal", json: `[{"exit":{"signal":"SIGTERM","code":▸0}}]`, reason: "step 1 (exit): code and signal exclude each other"},
	{because: "an exit's signal is not a known one", json: `[{"exit":{"signal":▸"SIGSTOP"}}]`, reason: `step 1 (exit): signal must be SIGABRT, SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGQUIT, SIGSEGV or SIGTERM, is "SIGSTOP"`},
	{because: "an exit's signal is in other letters", json: `[{"exit":{"signal":▸"kill"}}]`, reason: `step 1 (exit): signal must be SIGABRT, SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGQUIT, SIGSEGV or SIGTERM, is "kill"`},
	{because: "an exit's signal is a number", json: `[{"exit":{"signal":▸9}}]`, reason: `step 1 (exit): signal must be a string, is 9`},
	{because: "an exit has an unknown key", json: `[{"exit":{▸"sginal":"SIGTERM"}}]`, reason: `step 1 (exit): unknown key "sginal", did you mean "signal"?`},
	{because: "a complaint is empty", json: `[{"stderr":▸""}]`, reason: "step 1 (stderr): text must not be empty"},
	{because: "a complaint has no text", json: `[{"stderr":▸{}}]`, reason: "step 1 (stderr): text is missing"},
	{because: "a complaint is in base64", json: `[{"stderr":{▸"base64":"eA=="}}]`, reason: `step 1 (stderr): unknown key "base64", did you mean "text"?`},
	{because: "raw bytes are a list", json: `[{"raw":▸[1]}]`, reason: "step 1 (raw): must be a string, or an object, is [1]"},
	{because: "raw bytes are empty", json: `[{"raw":▸""}]`, reason: "step 1 (raw): text must not be empty"},
	{because: "raw bytes are neither text nor base64", json: `[{"raw":▸{}}]`, reason: "step 1 (raw): needs text or base64"},
	{because: "raw bytes are both text and base64", json: `[{"raw":{"base64":"eA==","text":▸"x"}}]`, reason: "step 1 (raw): text and base64 exclude each other"},
	{because: "raw bytes are both, and one of them is wrong", json: `[{"raw":{"text":"x","base64":▸"!"}}]`, reason: "step 1 (raw): base64 does not decode: illegal base64 data at input byte 0"},
	{because: "raw bytes have an unknown key", json: `[{"raw":{▸"base46":"eA=="}}]`, reason: `step 1 (raw): unknown key "base46", did you mean "base64"?`},
	{because: "base64 is a number", json: `[{"raw":{"base64":▸1}}]`, reason: "step 1 (raw): base64 must be a string, is 1"},
	{because: "base64 is empty", json: `[{"raw":{"base64":▸""}}]`, reason: "step 1 (raw): base64 must not be empty"},
	{because: "base64 is empty but for a line end", json: `[{"raw":{"base64":▸"\n"}}]`, reason: "step 1 (raw): base64 must not be empty", schemaAccepts: true},
	{because: "base64 is none", json: `[{"raw":{"base64":▸"eA==x"}}]`, reason: "step 1 (raw): base64 does not decode: illegal base64 data at input byte 4", schemaAccepts: true},
	{because: "base64 has no padding", json: `[{"raw":{"base64":▸"eA"}}]`, reason: "step 1 (raw): base64 does not decode: illegal base64 data at input byte 0", schemaAccepts: true},
	{because: "base64 is the one for URLs", json: `[{"raw":{"base64":▸"_w=="}}]`, reason: "step 1 (raw): base64 does not decode: illegal base64 data at input byte 0", schemaAccepts: true},

	{because: "a call has an empty server", json: `[{"mcp":{"server":▸"","tool":"x"}}]`, reason: "step 1 (mcp): server must not be empty"},
	{because: "a call has no tool", json: `[{"mcp":▸{"server":"s"}}]`, reason: "step 1 (mcp): tool is missing"},
	{because: "a call reports in words", json: `[{"mcp":{"tool":"t","report":▸"yes"}}]`, reason: `step 1 (mcp): report must be true or false, is "yes"`},
	{because: "a call has an empty tool", json: `[{"mcp":{"server":"s","tool":▸""}}]`, reason: "step 1 (mcp): tool must not be empty"},
	{because: "a call's arguments are a list", json: `[{"mcp":{"server":"s","tool":"t","arguments":▸[1]}}]`, reason: "step 1 (mcp): arguments must be an object, is [1]"},
	{because: "a call's id is empty", json: `[{"mcp":{"server":"s","tool":"t","id":▸""}}]`, reason: "step 1 (mcp): id must not be empty"},
	{because: "a call's id has a dot", json: `[{"mcp":{"server":"s","tool":"t","id":▸"a.b"}}]`, reason: `step 1 (mcp): id must not hold a dot, a bracket, a brace or a star, is "a.b"`, schemaAccepts: true},
	{because: "a call's id has a bracket", json: `[{"mcp":{"server":"s","tool":"t","id":▸"a["}}]`, reason: `step 1 (mcp): id must not hold a dot, a bracket, a brace or a star, is "a["`, schemaAccepts: true},
	{because: "a call's id has a brace", json: `[{"mcp":{"server":"s","tool":"t","id":▸"}"}}]`, reason: `step 1 (mcp): id must not hold a dot, a bracket, a brace or a star, is "}"`, schemaAccepts: true},
	{because: "a call's id is like a placeholder", json: `[{"mcp":{"server":"s","tool":"t","id":▸"{{config.id}}"}}]`, reason: `step 1 (mcp): id must not hold a dot, a bracket, a brace or a star, is "{{config.id}}"`, schemaAccepts: true},
	{because: "a call's row is a string", json: `[{"mcp":{"server":"s","tool":"t","row":▸"r"}}]`, reason: `step 1 (mcp): row: must be an object with name, is "r"`},
	{because: "a call's row has no name", json: `[{"mcp":{"server":"s","tool":"t","row":▸{"holdMs":1}}}]`, reason: "step 1 (mcp): row: name is missing"},
	{because: "a call's row has an empty type", json: `[{"mcp":{"server":"s","tool":"t","row":{"name":"r","itemType":▸""}}}]`, reason: "step 1 (mcp): row: itemType must not be empty"},
	{because: "a call's row is held for a fraction", json: `[{"mcp":{"server":"s","tool":"t","row":{"name":"r","holdMs":▸0.5}}}]`, reason: "step 1 (mcp): row: holdMs " + milliseconds + ", is 0.5"},
	{because: "a call's row has an unknown key", json: `[{"mcp":{"server":"s","tool":"t","row":{"name":"r",▸"type":"x"}}}]`, reason: `step 1 (mcp): row: unknown key "type", did you mean "name"?`},
	{because: "a step after a call is wrong", json: `[{"mcp":{"server":"s","tool":"t","then":[{▸"sya":1}]}}]`, reason: `step 1 (mcp): then step 1: unknown key "sya", did you mean "say"?`},
	{because: "a step after a call that failed is wrong", json: `[{"mcp":{"server":"s","tool":"t","else":[{"say":"x"},{"hold":▸""}]}}]`, reason: "step 1 (mcp): else step 2 (hold): name must not be empty"},
	{because: "what follows a call is one step", json: `[{"mcp":{"server":"s","tool":"t","then":▸{"say":"x"}}}]`, reason: `step 1 (mcp): then must be an array, is {"say":"x"}`},

	{because: "a wait is for a time", json: `[{"wait":▸500}]`, reason: "step 1 (wait): must be a string, or an object, is 500"},
	{because: "a wait is for a tool without a name", json: `[{"wait":▸""}]`, reason: "step 1 (wait): tool must not be empty"},
	{because: "a wait has no tool", json: `[{"wait":▸{"server":"s"}}]`, reason: "step 1 (wait): tool is missing"},
	{because: "a wait has an empty server", json: `[{"wait":{"tool":"t","server":▸""}}]`, reason: "step 1 (wait): server must not be empty"},
	{because: "a wait is for every server", json: `[{"wait":{"tool":"t","server":▸"*"}}]`, reason: "step 1 (wait): server must name one server, is *; an mcp step may mean every one"},
	{because: "a wait for a result is for every server", json: `[{"waitFor":{"tool":"t","path":"","atLeast":1,"server":▸"*"}}]`, reason: "step 1 (waitFor): server must name one server, is *; an mcp step may mean every one"},
	{because: "a wait takes no time", json: `[{"wait":{"tool":"t","timeoutMs":▸0}}]`, reason: "step 1 (wait): timeoutMs " + someTime + ", is 0"},
	{because: "a wait takes less than no time", json: `[{"wait":{"tool":"t","timeoutMs":▸-1}}]`, reason: "step 1 (wait): timeoutMs " + someTime + ", is -1"},
	{because: "a wait takes a fraction", json: `[{"wait":{"tool":"t","timeoutMs":▸1.5}}]`, reason: "step 1 (wait): timeoutMs " + someTime + ", is 1.5"},
	{because: "a wait takes as long as it likes", json: `[{"wait":{"tool":"t","timeoutMs":▸null}}]`, reason: "step 1 (wait): timeoutMs " + someTime + ", is null"},
	{because: "a wait takes longer than a Duration can be", json: `[{"wait":{"tool":"t","timeoutMs":▸9223372036855}}]`, reason: "step 1 (wait): timeoutMs " + someTime + ", is 9223372036855"},
	{because: "a wait has an unknown key", json: `[{"wait":{"tool":"t",▸"timeout":5}}]`, reason: `step 1 (wait): unknown key "timeout", did you mean "timeoutMs"?`},
	{because: "a wait for a result is a tool only", json: `[{"waitFor":▸"list"}]`, reason: `step 1 (waitFor): must be an object with tool and path and atLeast, is "list"`},
	{because: "a wait for a result has no tool", json: `[{"waitFor":▸{"path":"","atLeast":1}}]`, reason: "step 1 (waitFor): tool is missing"},
	{because: "a wait for a result has an empty tool", json: `[{"waitFor":{"tool":▸"","path":"","atLeast":1}}]`, reason: "step 1 (waitFor): tool must not be empty"},
	{because: "a wait for a result has no path", json: `[{"waitFor":▸{"tool":"t","atLeast":1}}]`, reason: "step 1 (waitFor): path is missing"},
	{because: "a wait for a result has a path in parts", json: `[{"waitFor":{"tool":"t","path":▸["a",0],"atLeast":1}}]`, reason: `step 1 (waitFor): path must be a string, is ["a",0]`},
	{because: "a wait for a result does not say how much", json: `[{"waitFor":▸{"tool":"t","path":""}}]`, reason: "step 1 (waitFor): atLeast is missing"},
	{because: "a wait is for less than no result", json: `[{"waitFor":{"tool":"t","path":"","atLeast":▸-1}}]`, reason: "step 1 (waitFor): atLeast must be 0 or more, is -1"},
	{because: "a wait is for a part of a result", json: `[{"waitFor":{"tool":"t","path":"","atLeast":▸0.5}}]`, reason: "step 1 (waitFor): atLeast must be a whole number, is 0.5"},
	{because: "a wait for a result has a list of arguments", json: `[{"waitFor":{"tool":"t","path":"","atLeast":1,"arguments":▸[]}}]`, reason: "step 1 (waitFor): arguments must be an object, is []"},
	{because: "a wait for a result has an empty id", json: `[{"waitFor":{"tool":"t","path":"","atLeast":1,"id":▸""}}]`, reason: "step 1 (waitFor): id must not be empty"},
	{because: "a wait for a result has an id with a star", json: `[{"waitFor":{"tool":"t","path":"","atLeast":1,"id":▸"*"}}]`, reason: `step 1 (waitFor): id must not hold a dot, a bracket, a brace or a star, is "*"`, schemaAccepts: true},
	{because: "a wait for a result has an empty server", json: `[{"waitFor":{"tool":"t","path":"","atLeast":1,"server":▸""}}]`, reason: "step 1 (waitFor): server must not be empty"},
	{because: "a wait for a result takes no time", json: `[{"waitFor":{"tool":"t","path":"","atLeast":1,"timeoutMs":▸0.0}}]`, reason: "step 1 (waitFor): timeoutMs " + someTime + ", is 0.0"},
	{because: "a wait for a result has an unknown key", json: `[{"waitFor":{"tool":"t","path":"",▸"atleast":1}}]`, reason: `step 1 (waitFor): unknown key "atleast", did you mean "atLeast"?`},

	{because: "a wait for a steer is switched off", json: `[{"awaitSteer":▸false}]`, reason: "step 1 (awaitSteer): must be true, or an object, is false"},
	{because: "a wait for a steer is null", json: `[{"awaitSteer":▸null}]`, reason: "step 1 (awaitSteer): must be true, or an object, is null"},
	{because: "a wait for a steer is a time", json: `[{"awaitSteer":▸1000}]`, reason: "step 1 (awaitSteer): must be true, or an object, is 1000"},
	{because: "a wait for a steer is true in a string", json: `[{"awaitSteer":▸"true"}]`, reason: `step 1 (awaitSteer): must be true, or an object, is "true"`},
	{because: "a wait for a steer is true in a list", json: `[{"awaitSteer":▸[true]}]`, reason: "step 1 (awaitSteer): must be true, or an object, is [true]"},
	{because: "a wait for a steer takes no time", json: `[{"awaitSteer":{"timeoutMs":▸0}}]`, reason: "step 1 (awaitSteer): timeoutMs " + someTime + ", is 0"},
	{because: "a wait for a steer goes on in words", json: `[{"awaitSteer":{"continueOnTimeout":▸"yes"}}]`, reason: `step 1 (awaitSteer): continueOnTimeout must be true or false, is "yes"`},
	{because: "a wait for a steer has an unknown key", json: `[{"awaitSteer":{▸"timeout":5}}]`, reason: `step 1 (awaitSteer): unknown key "timeout", did you mean "timeoutMs"?`},
	{because: "a wait for a steer is not the last step", json: `[▸{"awaitSteer":true},{"say":"x"}]`, reason: "step 1: awaitSteer must come last, and not inside another step", schemaAccepts: true},
	{because: "there are two waits for a steer", json: "{\"steps\":[{\"say\":\"x\"} , ▸{\"awaitSteer\":{}}\n,\n{\"awaitSteer\":true}]}", reason: "step 2: awaitSteer must come last, and not inside another step", schemaAccepts: true},
	{because: "a wait for a steer is what a task does last", json: `[{"task":{"description":"d","steps":[{"say":"x"},▸{"awaitSteer":true}]}}]`, reason: "step 1 (task): step 2: awaitSteer must come last, and not inside another step", schemaAccepts: true},
	{because: "a wait for a steer is all that follows a call", json: `[{"mcp":{"tool":"t","then":[▸{"awaitSteer":true}]}}]`, reason: "step 1 (mcp): then step 1: awaitSteer must come last, and not inside another step", schemaAccepts: true},
	{
		because: "a wait for a steer stands in a branch of a branch", json: `[{"approval":[{"title":"a"},{"title":"b","deny":[{"mcp":{"tool":"t","else":[▸{"awaitSteer":true}]}}]}]}]`,
		reason: "step 1 (approval): approval 2: deny step 1 (mcp): else step 1: awaitSteer must come last, and not inside another step", schemaAccepts: true,
	},

	{because: "an expected text is empty", json: `[{"expectInput":▸""}]`, reason: "step 1 (expectInput): text must not be empty"},
	{because: "an expected text is a regular expression", json: `[{"expectInput":{▸"regexp":"x"}}]`, reason: `step 1 (expectInput): unknown key "regexp", did you mean "text"?`},
	{because: "an expected text is a list", json: `[{"expectInput":▸["a","b"]}]`, reason: `step 1 (expectInput): must be a string, or an object, is ["a","b"]`},
	{because: "an expected text is missing", json: `[{"expectInput":▸{}}]`, reason: "step 1 (expectInput): text is missing"},
	{because: "an expected text is not the first step", json: `[{"say":"x"},▸{"expectInput":"y"}]`, reason: "step 2: expectInput must come first, and not inside another step", schemaAccepts: true},
	{because: "a text is expected twice", json: `[{"expectInput":"x"},▸{"expectInput":"y"}]`, reason: "step 2: expectInput must come first, and not inside another step", schemaAccepts: true},
	{because: "a text is expected where a steer was awaited", json: `[▸{"awaitSteer":true},{"expectInput":"x"}]`, reason: "step 1: awaitSteer must come last, and not inside another step", schemaAccepts: true},
	{because: "a text is expected by a task", json: `[{"task":{"description":"d","steps":[▸{"expectInput":"x"}]}}]`, reason: "step 1 (task): step 1: expectInput must come first, and not inside another step", schemaAccepts: true},
	{because: "a text is expected by what is allowed", json: `[{"approval":{"title":"t","allow":[▸{"expectInput":"x"}]}}]`, reason: "step 1 (approval): allow step 1: expectInput must come first, and not inside another step", schemaAccepts: true},

	{because: "a question is a string", json: `[{"question":▸"why"}]`, reason: `step 1 (question): must be an object with questions, is "why"`},
	{because: "a question asks nothing", json: `[{"question":{"questions":▸[]}}]`, reason: "step 1 (question): questions needs at least one question"},
	{because: "two questions have one id", json: `[{"question":{"questions":▸[{"id":"q","header":"H","question":"Q?"},{"id":"q","header":"H","question":"R?"}]}}]`,
		reason: `step 1 (question): questions has two with the id "q"`, schemaAccepts: true},
	{because: "a question has no id", json: `[{"question":{"questions":[▸{"header":"H","question":"Q?"}]}}]`, reason: "step 1 (question): question 1: id is missing"},
	{because: "a question's id is empty", json: `[{"question":{"questions":[{"id":▸"","header":"H","question":"Q?"}]}}]`, reason: "step 1 (question): question 1: id must not be empty"},
	{because: "a question has no header", json: `[{"question":{"questions":[▸{"id":"q","question":"Q?"}]}}]`, reason: "step 1 (question): question 1: header is missing"},
	{because: "the second question asks nothing", json: `[{"question":{"questions":[{"id":"a","header":"H","question":"Q?"},{"id":"b","header":"H","question":▸""}]}}]`, reason: "step 1 (question): question 2: question must not be empty"},
	{because: "a question's options are strings", json: `[{"question":{"questions":[{"id":"q","header":"H","question":"Q?","options":[▸"yes"]}]}}]`, reason: `step 1 (question): question 1: option 1: must be an object with label, is "yes"`},
	{because: "an option of a question has an empty label", json: `[{"question":{"questions":[{"id":"q","header":"H","question":"Q?","options":[{"label":"yes"},{"label":▸""}]}]}}]`, reason: "step 1 (question): question 1: option 2: label must not be empty"},
	{because: "a question has an unknown key", json: `[{"question":{"questions":[{"id":"q","header":"H","question":"Q?",▸"multiselect":true}]}}]`, reason: `step 1 (question): question 1: unknown key "multiselect", did you mean "multiSelect"?`},
	{because: "a question blocks in words", json: `[{"question":{"blocking":▸"yes","questions":[{"id":"q","header":"H","question":"Q?"}]}}]`, reason: `step 1 (question): blocking must be true or false, is "yes"`},

	{because: "a task has no steps", json: `[{"task":▸{"description":"x"}}]`, reason: "step 1 (task): steps is missing"},
	{because: "a task has no description", json: `[{"task":▸{"steps":[]}}]`, reason: "step 1 (task): description is missing"},
	{because: "a task has an empty type", json: `[{"task":{"description":"x","type":▸"","steps":[]}}]`, reason: "step 1 (task): type must not be empty"},
	{because: "a task is a list of steps", json: `[{"task":▸[{"say":"x"}]}]`, reason: `step 1 (task): must be an object with description and steps, is [{"say":"x"}]`},
	{because: "a task has a delay before its steps", json: `[{"task":{"description":"x","steps":[],▸"stepDelayMs":1}}]`, reason: `step 1 (task): unknown key "stepDelayMs", did you mean "steps"?`},
	{because: "a step of a task is wrong", json: `[{"say":"x"},{"task":{"description":"x","steps":[{"task":{"description":"y","steps":[▸5]}}]}}]`, reason: "step 2 (task): step 1 (task): step 1 must be an object with one key, is 5"},

	{because: "an event is its type only", json: `[{"event":▸"item.started"}]`, reason: `step 1 (event): must be an object with type, is "item.started"`},
	{because: "an event has no type", json: `[{"event":▸{"payload":{}}}]`, reason: "step 1 (event): type is missing"},
	{because: "an event's payload is a list", json: `[{"event":{"type":"x","payload":▸[]}}]`, reason: "step 1 (event): payload must be an object, is []"},
	{because: "an event's payload is null", json: `[{"event":{"type":"x","payload":▸null}}]`, reason: "step 1 (event): payload must be an object, is null"},
	{because: "an event's item is empty", json: `[{"event":{"type":"x","itemId":▸""}}]`, reason: "step 1 (event): itemId must not be empty"},
	{because: "an event's request is a number", json: `[{"event":{"type":"x","requestId":▸1}}]`, reason: "step 1 (event): requestId must be a string, is 1"},
	{because: "an event has a time of its own", json: `[{"event":{"type":"x",▸"createdAt":"2026-01-01T00:00:00Z"}}]`, reason: `step 1 (event): unknown key "createdAt", did you mean "itemId"?`},

	{because: "a number is a placeholder", json: `[{"sleep":▸"{{config.holdMs}}"}]`, reason: "step 1 (sleep): " + milliseconds + `, or an object, is "{{config.holdMs}}"`, schemaAccepts: true},
	{because: "a number of the long form is a placeholder", json: `[{"sleep":{"ms":▸"{{config.holdMs}}"}}]`, reason: "step 1 (sleep): ms " + milliseconds + `, is "{{config.holdMs}}"`, schemaAccepts: true},
	{because: "a flag is a placeholder", json: `[{"edit":{"path":"a","old":"x","new":"y","unique":▸"{{config.unique}}"}}]`, reason: `step 1 (edit): unique must be true or false, is "{{config.unique}}"`, schemaAccepts: true},
	{because: "an object is a placeholder", json: `[{"mcp":{"server":"s","tool":"t","arguments":▸"{{input}}"}}]`, reason: `step 1 (mcp): arguments must be an object, is "{{input}}"`, schemaAccepts: true},
	{because: "a word is a placeholder", json: `[{"plan":[{"text":"x","status":▸"{{config.status}}"}]}]`, reason: `step 1 (plan): entry 1: status must be pending, in_progress or completed, is "{{config.status}}"`, schemaAccepts: true},
	{because: "one of several words is a placeholder", json: `[{"approval":{"title":"x","options":▸["accept","{{config.more}}"]}}]`, reason: `step 1 (approval): options must hold accept, acceptForSession, decline or cancel, holds "{{config.more}}"`, schemaAccepts: true},
	{because: "a delay is a placeholder", json: `{"steps":[],"stepDelayMs":▸"{{config.delay}}"}`, reason: "stepDelayMs " + milliseconds + `, is "{{config.delay}}"`},

	{because: "a usage is empty", json: `[{"usage":▸{}}]`, reason: "step 1 (usage): usedTokens is missing"},
	{because: "a usage is negative", json: `[{"usage":{"usedTokens":1,"inputTokens":▸-1}}]`, reason: "step 1 (usage): inputTokens must be 0 or more, is -1"},
	{because: "a usage is in another unit", json: `[{"usage":{"usedTokens":1,▸"duration":5}}]`, reason: `step 1 (usage): unknown key "duration", did you mean "durationMs"?`},
}

var _ = Describe("A script that is wrong", func() {
	var entries []TableEntry
	for _, r := range refusals {
		entries = append(entries, Entry(r.because, r))
	}
	DescribeTable("is refused with a reason that names the step and the key, and with its place, because", func(r refused) {
		s, err := script.Parse([]byte(r.text()))
		Expect(err).To(MatchError(r.reason))
		e := refusal(err)
		Expect(e.Offset).To(Equal(strings.Index(r.json, arrow)), "the place")
		Expect(e.Syntax).To(BeFalse())
		Expect(s).To(BeZero())
	}, entries)

	DescribeTable("is told apart where it is no JSON, and the error says line and column",
		func(text string, line, column, offset int, reason string) {
			_, err := script.Parse([]byte(text))
			e := refusal(err)
			Expect(*e).To(Equal(script.Error{Reason: reason, Line: line, Column: column, Offset: offset, Syntax: true}))
			Expect(err).To(MatchError(fmt.Sprintf("%s (line %d, column %d)", reason, line, column)))
		},
		Entry("nothing at all", "", 1, 1, 0, "unexpected end of JSON input"),
		Entry("white space only", " \n ", 2, 2, 3, "unexpected end of JSON input"),
		Entry("a comma too many", `[{"say":"x"},]`, 1, 14, 13, "invalid character ']' looking for beginning of value"),
		Entry("a comma too few", "{\"steps\": [\n  {\"say\": \"a\"}\n  {\"say\": \"b\"}]}", 3, 3, 29, "invalid character '{' after array element"),
		Entry("something behind it", "[]\n\nx", 3, 1, 4, "invalid character 'x' after top-level value"),
		Entry("single quotes", `[{'say':'x'}]`, 1, 3, 2, `invalid character '\'' looking for beginning of object key string`),
		Entry("a line break in a text", "[{\"say\":\"a\nb\"}]", 1, 11, 10, `invalid character '\n' in string literal`),
		Entry("a text that stops in the middle", `{"steps":[`, 1, 11, 10, "unexpected end of JSON input"),
		Entry("a byte order mark", "\ufeff[]", 1, 1, 0, "it begins with a byte order mark; save it as UTF-8 without one"),
		Entry("a comment", "[] // none", 1, 4, 3, "invalid character '/' after top-level value"),
	)

	It("has its place counted in lines and bytes also where it is JSON", func() {
		_, err := script.Parse([]byte("[\n  {\"say\": \"é\"},\r\n  {\"say\": \"é\", \"sya\": 1}\n]"))
		Expect(*refusal(err)).To(Equal(script.Error{Reason: `step 2 must have exactly one key, has "say" and "sya"`, Offset: 22, Line: 3, Column: 3}))
		_, err = script.Parse([]byte("[{\n\"write\": {\"path\": \"é\", \"text\": \"\"}}]"))
		Expect(*refusal(err)).To(Equal(script.Error{Reason: `step 1 (write): unknown key "text", did you mean "path"?`, Offset: 27, Line: 2, Column: 25}))
	})

	It("is refused at once if it is longer than the limit", func() {
		_, err := script.Parse([]byte(`[{"say":"` + strings.Repeat("x", 10<<20) + `"}]`))
		Expect(*refusal(err)).To(Equal(script.Error{Reason: "it is 10485772 bytes long; the limit is 4194304", Line: 1, Column: 1}))
		frame := len(script.New(script.Say("")).String())
		longest := script.New(script.Say(strings.Repeat("x", script.MaxSize-frame)))
		Expect(parse(longest.String())).To(Equal(longest))
	})

	It("is refused in good time whatever its size", func(ctx SpecContext) {
		var wide strings.Builder
		wide.WriteString(`{"steps":[]`)
		for i := 0; wide.Len() < script.MaxSize-20; i++ {
			fmt.Fprintf(&wide, `,"%d":0`, i)
		}
		wide.WriteString("}")
		_, err := script.Parse([]byte(wide.String()))
		Expect(err).To(MatchError(`unknown key "0", did you mean "steps"?`))
		_, err = script.Parse([]byte(`{"` + strings.Repeat("k", script.MaxSize-10) + `":0}`))
		Expect(err).To(MatchError(`unknown key "` + strings.Repeat("k", 40) + `…", did you mean "stepDelayMs"?`))
		Expect(ctx.Err()).NotTo(HaveOccurred())
	}, SpecTimeout(time.Minute))

	It("may have branches inside branches, but not more than anybody could follow", func() {
		nested := func(depth int) string {
			return strings.Repeat(`[{"approval":{"title":"t","allow":`, depth) + `[{"say":"x"}]` + strings.Repeat("}}]", depth)
		}
		fine := nested(19)
		Expect(parse(fine).String()).To(Equal(`{"steps":` + fine + `}`))
		_, err := script.Parse([]byte(nested(20)))
		Expect(err).To(MatchError(strings.Repeat("step 1 (approval): allow ", 19) + "step 1 (approval): steps are nested more than 20 deep"))
		_, err = script.Parse([]byte(nested(5000)))
		Expect(refusal(err).Syntax).To(BeTrue())
		Expect(err).To(MatchError(ContainSubstring("exceeded max depth")))

	})

	DescribeTable("may have steps inside of steps, but no deeper, in",
		func(branch, where string, around func([]script.Step) script.Step) {
			nested := func(depth int) string {
				return strings.Repeat("["+branch, depth) + `[{"say":"x"}]` + strings.Repeat("}}]", depth)
			}
			inside := func(depth int) script.Script {
				steps := []script.Step{script.Say("x")}
				for range depth {
					steps = []script.Step{around(steps)}
				}
				return script.New(steps...)
			}
			Expect(parse(nested(19))).To(Equal(inside(19)))
			Expect(inside(19).String()).To(Equal(`{"steps":` + nested(19) + `}`))
			_, err := script.Parse([]byte(nested(20)))
			last := where[:strings.Index(where, ")")+1]
			Expect(err).To(MatchError(strings.Repeat(where, 19) + last + ": steps are nested more than 20 deep"))
			Expect(inside(20).Validate()).To(MatchError("steps are nested more than 20 deep"))
		},
		Entry("what an approval allows", `{"approval":{"title":"t","allow":`, "step 1 (approval): allow ",
			func(s []script.Step) script.Step { return script.Ask(script.Approval{Title: "t", Allow: s}) }),
		Entry("what an approval denies", `{"approval":{"title":"t","deny":`, "step 1 (approval): deny ",
			func(s []script.Step) script.Step { return script.Ask(script.Approval{Title: "t", Deny: s}) }),
		Entry("what follows a call", `{"mcp":{"server":"s","tool":"t","then":`, "step 1 (mcp): then ",
			func(s []script.Step) script.Step { return script.MCPStep{Server: "s", Tool: "t", Then: s} }),
		Entry("what follows a call that failed", `{"mcp":{"server":"s","tool":"t","else":`, "step 1 (mcp): else ",
			func(s []script.Step) script.Step { return script.MCPStep{Server: "s", Tool: "t", Else: s} }),
		Entry("a task", `{"task":{"description":"d","steps":`, "step 1 (task): ",
			func(s []script.Step) script.Step { return script.TaskStep{Description: "d", Steps: s} }),
	)

	It("says which steps stand inside a step", func() {
		a, b, c, d := []script.Step{script.Say("a")}, []script.Step{script.Say("b")}, []script.Step{script.Say("c")}, []script.Step{script.Say("d")}
		Expect(script.Branches(script.Ask(script.Approval{Title: "1", Allow: a, Deny: b}, script.Approval{Title: "2", Allow: c, Deny: d}))).To(Equal([][]script.Step{a, b, c, d}))
		Expect(script.Branches(script.MCPStep{Then: a, Else: b})).To(Equal([][]script.Step{a, b}))
		Expect(script.Branches(script.TaskStep{Steps: a})).To(Equal([][]script.Step{a}))
		Expect(script.Branches(script.Say("a"))).To(BeEmpty())
	})
})
