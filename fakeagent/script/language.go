package script

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// This file is the language: each shape says once what stands behind a step's key, and is walked to parse it, to write it and to
// describe it in the schema.

var kinds = []kind{
	kindOf[ThinkStep]("reasoning"),
	kindOf[SayStep]("a message of the assistant"),
	kindOf[WriteStep]("writes a file, making folders as needed"),
	kindOf[EditStep]("replaces text in a file"),
	kindOf[BashStep]("a shell command: claimed, or really run"),
	kindOf[FailStep]("ends the turn as failed"),
	kindOf[SleepStep]("waits; an interrupt ends it at once"),
	kindOf[HoldStep]("waits at a gate until the test lets it through"),
	kindOf[PlanStep]("replaces the agent's plan"),
	kindOf[ToolStep]("a claimed tool call"),
	kindOf[ApprovalStep]("asks for approvals, all at once, and waits for the answers"),
	kindOf[MCPStep]("calls a tool of an MCP server of the session"),
	kindOf[WaitStep]("waits until an MCP server has a tool"),
	kindOf[WaitForStep]("calls a tool of an MCP server until its result has enough at a path"),
	kindOf[ExpectInputStep]("what the prompt must contain; the first step of a script"),
	kindOf[AwaitSteerStep]("waits for a steer; the last step of a script"),
	kindOf[UsageStep]("tells what the thread has used, in tokens"),
	kindOf[QuestionStep]("asks the user"),
	kindOf[TaskStep]("a task of a sub-agent, around steps"),
	kindOf[EventStep]("one event, as given"),
	kindOf[ExitStep]("ends the agent's process, and with it the turn"),
	kindOf[StderrStep]("writes to the standard error of the agent's process"),
	kindOf[RawStep]("writes bytes to the standard output of the agent's process, between the lines of the protocol"),
}

func (s *Script) shape(o *object) {
	if o.mode == writing && depth(s.Steps) > deepest {
		o.fail("", tooNested, deepest)
	}
	o.millis(&s.StepDelay, "stepDelayMs", 0, "a pause before every step")
	o.steps(&s.Steps, "steps", must|short|outmost, "what the turn does, in order")
}

func (s *ThinkStep) shape(o *object) { (*SayStep)(s).shape(o) }

func (s *SayStep) shape(o *object) {
	known := o.text(&s.Text, "text", must|short, "what is said")
	o.number(&s.Chunks, "chunks", 0, 1, "in how many pieces it is sent, 1 by default; no more than it has characters")
	o.millis(&s.Interval, "intervalMs", 0, "the time between two pieces")
	if known && s.Chunks > 1 {
		if n := Characters(s.Text); s.Chunks > n {
			o.fail("chunks", "is %d, but the text has only %d characters", s.Chunks, n)
		}
	}
}

// Characters counts what a reader sees as one character, a grapheme cluster.
func Characters(text string) (n int) {
	for it := graphemes.FromString(text); it.Next(); {
		n++
	}
	return n
}

func (s *WriteStep) shape(o *object) {
	o.text(&s.Path, "path", must|filled, "the file, below the agent's cwd")
	o.text(&s.Content, "content", must, "all that it holds afterwards")
}

func (s *EditStep) shape(o *object) {
	o.text(&s.Path, "path", must|filled, "the file, below the agent's cwd")
	o.text(&s.Old, "old", must|filled, "the text that is replaced, where it stands first")
	o.text(&s.New, "new", must, "the text in its place")
	o.flag(&s.Unique, "unique", "fails if old stands there more than once")
}

func (s *BashStep) shape(o *object) {
	o.text(&s.Command, "command", must|filled, "the command line")
	o.text(&s.Output, "output", 0, "the output it claims, none by default")
	o.number(&s.ExitCode, "exitCode", 0, anyNumber, "the exit code it claims, 0 by default")
	o.flag(&s.Run, "run", "runs the command with /bin/sh in the agent's cwd, if the host allows it")
	o.apart("run", "output")
	o.apart("run", "exitCode")
}

func (s *FailStep) shape(o *object) {
	o.text(&s.Message, "message", must|short, "why")
	o.number(&s.Code, "code", 0, anyNumber, "a number for protocols that carry one, such as a JSON-RPC error code")
}

const steersDoc = "takes steers meanwhile: what is sent with the running turn's id"

func (s *SleepStep) shape(o *object) {
	o.millis(&s.Duration, "ms", must|short, "how long")
	o.flag(&s.Steers, "steers", steersDoc)
}

func (s *HoldStep) shape(o *object) {
	o.text(&s.Name, "name", must|short|filled, "the gate")
	o.flag(&s.Open, "open", "waits only if the test closed the gate before")
	o.flag(&s.Steers, "steers", steersDoc)
}

func (s *PlanStep) shape(o *object) {
	list(o, &s.Entries, "entries", must|short, "all lines of the plan", "entry")
}

func (s *PlanEntry) shape(o *object) {
	o.text(&s.Text, "text", must, "the task")
	o.choice(&s.Priority, "priority", "how urgent it is", "high", "medium", "low")
	o.choice(&s.Status, "status", "where it stands, pending by default", "pending", "in_progress", "completed")
}

func (s *ToolStep) shape(o *object) {
	tool(o, &s.Name, &s.Detail, &s.Input, &s.Output)
	o.choice(&s.Status, "status", "how it ends; failed by default if there is an error, else completed", "completed", "failed")
	o.text(&s.Error, "error", 0, "why it failed")
	o.millis(&s.Hold, "holdMs", 0, "how long its row is in progress")
	if s.Status == "completed" && s.Error != "" {
		o.fail("error", "goes with the status failed only")
	}
}

func tool(o *object, name *string, detail, input, output *json.RawMessage) {
	o.text(name, "name", must|filled, "the tool")
	o.json(detail, "detail", "a tool call detail of the timeline, instead of input and output", true)
	o.json(input, "input", "what it was given, any JSON", false)
	o.json(output, "output", "what it returned, any JSON", false)
	o.apart("detail", "input")
	o.apart("detail", "output")
}

func (s *ApprovalStep) shape(o *object) { oneOrMore(o, &s.Approvals, "approval") }

func (s *Approval) shape(o *object) {
	o.text(&s.Title, "title", must|filled, "what the user is asked to allow")
	o.text(&s.Type, "type", 0, "the kind of request, command_execution_approval by default")
	optional(o, &s.Tool, "tool", "the tool call that it is about")
	o.words(&s.Options, "options", "the decisions on offer, all by default", "accept", "acceptForSession", "decline", "cancel")
	o.steps(&s.Allow, "allow", 0, "plays when it is accepted")
	o.steps(&s.Deny, "deny", 0, "plays when it is declined")
	o.millis(&s.Timeout, "timeoutMs", 0, "how long it waits for the answer, 0 for ever; then the call fails and the turn goes on")
}

func (s *ApprovalTool) shape(o *object) {
	tool(o, &s.Name, &s.Detail, &s.Input, &s.Output)
	o.millis(&s.Hold, "holdMs", 0, "how long its row is in progress before the question comes")
}

func (s *ExitStep) shape(o *object) {
	o.within(&s.Code, "code", short, 0, 255, "the exit code, 0 by default")
	o.choice(&s.Signal, "signal", "the signal that kills it, instead of a code",
		"SIGABRT", "SIGHUP", "SIGINT", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSEGV", "SIGTERM")
	o.apart("code", "signal")
}

func (s *StderrStep) shape(o *object) {
	o.text(&s.Text, "text", must|short|filled, "what is written, as it is")
}

func (s *RawStep) shape(o *object) {
	if o.mode == writing { // one of the two: whatever a JSON string can carry is text
		if utf8.ValidString(s.Text) {
			o.text(&s.Text, "text", must|short|filled, "")
		} else {
			o.put("base64", 0, encoded(base64.StdEncoding.EncodeToString([]byte(s.Text))))
		}
		return
	}
	o.text(&s.Text, "text", short|filled, "what is written, as it is")
	var code string
	if o.text(&code, "base64", filled, "the same as base64, for bytes that are no text") {
		b, err := base64.StdEncoding.DecodeString(code)
		switch s.Text = string(b); {
		case err != nil:
			o.fail("base64", "does not decode: %v", err)
		case s.Text == "":
			o.fail("base64", "must not be empty") // but for line ends, which decode to nothing
		}
	}
	o.oneOf("text", "base64")
}

func (s *MCPStep) shape(o *object) {
	o.text(&s.Server, "server", filled, "the server's name in the session, or * for every one; the built-in one by default")
	s.call(o)
	o.flag(&s.Report, "report", "a line of the turn's report says what came of it")
	optional(o, &s.Row, "row", "the row that it has, instead of that of an MCP call")
	o.steps(&s.Then, "then", 0, "plays when the call succeeded")
	o.steps(&s.Else, "else", 0, "plays when it failed")
}

// call is what all calls have.
func (s *MCPStep) call(o *object) {
	o.text(&s.Tool, "tool", must|filled, "the tool")
	o.arguments(&s.Arguments)
	o.id(&s.ID)
}

func (o *object) arguments(dst *json.RawMessage) {
	o.json(dst, "arguments", "what it is given, {} by default", true)
}

func (o *object) id(dst *string) {
	o.text(dst, "id", filled, "what {{step:id}} calls its result")
	if strings.ContainsAny(*dst, ".[}*") {
		o.fail("id", "must not hold a dot, a bracket, a brace or a star, is %q", excerpt(*dst))
	}
}

const oneServer = "the server's name in the session; the built-in one by default"

// server is the name of one server.
func (o *object) server(dst *string) {
	if o.mode == describing {
		o.add("server", 0, oneServer, schema{"type": "string", "minLength": 1, "not": schema{"const": "*"}})
	} else if o.text(dst, "server", filled, ""); *dst == "*" {
		o.fail("server", "must name one server, is *; an mcp step may mean every one")
	}
}

func (s *WaitStep) shape(o *object) {
	o.text(&s.Tool, "tool", must|short|filled, "the tool's name, or mcp__server__tool")
	o.server(&s.Server)
	o.timeout(&s.Timeout, WaitTimeout)
}

func (s *WaitForStep) shape(o *object) {
	o.text(&s.Tool, "tool", must|filled, "the tool, which should change nothing: each look is a call")
	o.text(&s.Path, "path", must, "where its result must have something: items.0.id or items[name=value]")
	o.number(&s.AtLeast, "atLeast", must, 0, "how long the array there must be, or how large the number; anything else is 1")
	o.arguments(&s.Arguments)
	o.id(&s.ID)
	o.server(&s.Server)
	o.timeout(&s.Timeout, WaitTimeout)
}

func (s *AwaitSteerStep) shape(o *object) {
	o.timeout(&s.Timeout, SteerTimeout)
	o.flag(&s.Continue, "continueOnTimeout", "when the time is over, the turn goes on as if its own prompt had come again; else it ends")
	o.trueAlone()
}

func (s *ExpectInputStep) shape(o *object) {
	o.text(&s.Text, "text", must|short|filled|verbatim, "what the prompt contains")
}

func (r *MCPRow) shape(o *object) {
	o.text(&r.Name, "name", must|filled, "the tool that it names")
	o.text(&r.ItemType, "itemType", filled, "the item's type, dynamic_tool_call by default")
	o.millis(&r.Hold, "holdMs", 0, "how long it is in progress before the call")
}

func (s *QuestionStep) shape(o *object) {
	list(o, &s.Questions, "questions", must|filled, "what is asked, all at once", "question")
	for i, q := range s.Questions {
		if q.ID != "" && slices.ContainsFunc(s.Questions[:i], func(p Question) bool { return p.ID == q.ID }) {
			o.fail("questions", "has two with the id %q", excerpt(q.ID))
		}
	}
	o.flag(&s.Blocking, "blocking", "waits for the answers; else the answer is the next prompt")
}

func (q *Question) shape(o *object) {
	o.text(&q.ID, "id", must|filled, "what its answer is called")
	o.text(&q.Header, "header", must|filled, "a word or two above it")
	o.text(&q.Question, "question", must|filled, "the question")
	list(o, &q.Options, "options", 0, "what may be chosen", "option")
	o.flag(&q.MultiSelect, "multiSelect", "more than one may be chosen")
}

func (q *QuestionOption) shape(o *object) {
	o.text(&q.Label, "label", must|filled, "the choice")
	o.text(&q.Description, "description", 0, "what it means")
}

func (s *TaskStep) shape(o *object) {
	o.text(&s.Description, "description", must|filled, "what the sub-agent does")
	o.text(&s.Type, "type", filled, "the kind of sub-agent")
	o.steps(&s.Steps, "steps", must, "what happens meanwhile")
}

func (s *EventStep) shape(o *object) {
	o.text(&s.Type, "type", must|filled, "the event's type")
	o.text(&s.ItemID, "itemId", filled, "the item that it is about")
	o.text(&s.RequestID, "requestId", filled, "the request that it is about")
	o.json(&s.Payload, "payload", "what it says, {} by default", true)
}

func (s *UsageStep) shape(o *object) {
	o.number(&s.UsedTokens, "usedTokens", must, 0, "in the context window now")
	o.number(&s.MaxTokens, "maxTokens", 0, 0, "the size of the context window")
	o.number(&s.TotalProcessedTokens, "totalProcessedTokens", 0, 0, "in and out since the session began")
	o.number(&s.InputTokens, "inputTokens", 0, 0, "in, cached ones included")
	o.number(&s.CachedInputTokens, "cachedInputTokens", 0, 0, "in from the cache")
	o.number(&s.OutputTokens, "outputTokens", 0, 0, "out, reasoning included")
	o.number(&s.ReasoningOutputTokens, "reasoningOutputTokens", 0, 0, "out as reasoning")
	o.number(&s.LastUsedTokens, "lastUsedTokens", 0, 0, "of the last call to the model")
	o.number(&s.LastInputTokens, "lastInputTokens", 0, 0, "of the last call to the model")
	o.number(&s.LastCachedInputTokens, "lastCachedInputTokens", 0, 0, "of the last call to the model")
	o.number(&s.LastOutputTokens, "lastOutputTokens", 0, 0, "of the last call to the model")
	o.number(&s.LastReasoningOutputTokens, "lastReasoningOutputTokens", 0, 0, "of the last call to the model")
	o.number(&s.ToolUses, "toolUses", 0, 0, "how many tools were called")
	o.number(&s.DurationMs, "durationMs", 0, 0, "how long the turn took")
	o.flag(&s.CompactsAutomatically, "compactsAutomatically", "the agent shortens its context by itself")
}
