package script

import (
	"bytes"
	"encoding/json"
	"time"
)

// Script is what one turn plays.
type Script struct {
	Steps     []Step
	StepDelay time.Duration // a pause before every step, in whole milliseconds
}

// New is a script of these steps.
func New(steps ...Step) Script { return Script{Steps: steps} }

// Step is one step of a script: a value, not a pointer, of one of the struct types of this package whose name ends in Step.
type Step interface {
	Key() string // the step's key in JSON
	// shaped is a pointer to a copy, for the walk over the JSON form.
	shaped() shaper
}

// SayStep is a message of the assistant. With Chunks it is sent in that many pieces, cut between characters as a reader sees
// them, the first at once and the others Interval apart.
type SayStep struct {
	Text     string
	Chunks   int // 0 is 1; no more than the text has characters
	Interval time.Duration
}

// ThinkStep is reasoning; its fields mean what those of [SayStep] do.
type ThinkStep SayStep

// WriteStep writes a file below the agent's cwd, making folders as needed.
type WriteStep struct {
	Path    string
	Content string
}

// EditStep replaces the first place in a file that holds Old. With Unique it must be the only one.
type EditStep struct {
	Path   string
	Old    string
	New    string
	Unique bool
}

// BashStep is a shell command. Without Run nothing runs, and Output and ExitCode are what the agent claims.
type BashStep struct {
	Command  string
	Output   string
	ExitCode int
	Run      bool
}

// FailStep ends the turn as failed. Code goes with it where a protocol has room for one.
type FailStep struct {
	Message string
	Code    int
}

// SleepStep waits. An interrupt ends it at once. With Steers the turn takes steers meanwhile.
type SleepStep struct {
	Duration time.Duration
	Steers   bool
}

// HoldStep waits at a gate until the test lets it through. With Open it waits only if the test closed the gate before. With Steers the turn
// takes steers meanwhile.
type HoldStep struct {
	Name   string
	Open   bool
	Steers bool
}

// PlanStep replaces the agent's plan.
type PlanStep struct {
	Entries []PlanEntry
}

// PlanEntry is a line of a plan.
type PlanEntry struct {
	Text     string
	Priority string // high, medium or low; "" is none
	Status   string // pending, in_progress or completed; "" is pending
}

// ToolStep is a claimed tool call: a row in progress, and its end Hold later. What the call is about is Detail, a tool call
// detail of the timeline as JSON, or else Input and Output.
type ToolStep struct {
	Name   string
	Detail json.RawMessage
	Input  json.RawMessage
	Output json.RawMessage
	Status string // completed or failed; "" is failed if there is an Error, else completed
	Error  string
	Hold   time.Duration
}

// ApprovalStep asks for approvals, all at once, and waits until each is answered.
type ApprovalStep struct {
	Approvals []Approval
}

// Approval is one request of an [ApprovalStep]. Its tool's row opens before it and settles after the branch that the answer picks.
type Approval struct {
	Title   string
	Type    string        // such as command_execution_approval, which is the default, or file_change_approval
	Tool    *ApprovalTool // nil: a call named by Type's tool with Title as its text
	Options []string      // decisions on offer: accept, acceptForSession, decline, cancel; none is all
	Allow   []Step        // plays when accepted
	Deny    []Step        // plays when declined
	Timeout time.Duration // 0 waits for ever; then the call fails and the turn goes on
}

// ApprovalTool is the tool call that an approval is about. Its row is in progress for Hold before the question comes.
type ApprovalTool struct {
	Name   string
	Detail json.RawMessage
	Input  json.RawMessage
	Output json.RawMessage
	Hold   time.Duration
}

// MCPStep calls a tool of an MCP server of the session, or, where Server is "*", of every one of them.
type MCPStep struct {
	Server    string // "" is the built-in one of the agent's configuration
	Tool      string
	Arguments json.RawMessage // an object; nil is {}
	ID        string          // what {{step:id}} calls the result, without dot, bracket and brace; "" has no name for it
	Report    bool            // a line of the turn's report says what came of it
	Row       *MCPRow         // nil: mcp__server__tool
	Then      []Step          // plays when the call succeeded
	Else      []Step          // plays when it failed
}

// MCPRow is a row of its own for an [MCPStep]. It opens Hold before the call, and its output is the text that came back.
type MCPRow struct {
	Name     string
	ItemType string // "" is dynamic_tool_call
	Hold     time.Duration
}

// WaitStep asks an MCP server every 250 milliseconds which tools it has, until it has one. A line of the turn's report says whether it had; the
// turn goes on in any case.
type WaitStep struct {
	Server  string        // "" is the built-in one of the agent's configuration
	Tool    string        // its name, or mcp__server__tool
	Timeout time.Duration // 0 is 30 seconds
}

// WaitForStep calls a tool of an MCP server every 250 milliseconds, until its result has enough at a path: an array of that length, a number as
// large, or anything else, which counts as 1. Each is a real call, so the tool should change nothing. A call that fails is one that is not
// ready. A line of the turn's report says what came of it; the turn goes on in any case.
type WaitForStep struct {
	Server    string // "" is the built-in one of the agent's configuration
	Tool      string
	Arguments json.RawMessage // an object; nil is {}
	Path      string          // see [Doc.Lookup]
	AtLeast   int
	ID        string        // what {{step:id}} calls the result that was ready; "" keeps none
	Timeout   time.Duration // 0 is 30 seconds
}

// AwaitSteerStep waits for a steer, and is the last step of a script. While such a script plays, the turn takes steers. Each then has a script
// of its own, which plays in the same turn, as if the steer were a prompt.
//
// With Continue the turn goes on when the time is over, as if its own prompt had come again: a script that is chosen for that anew goes on for
// ever. Without, it ends.
type AwaitSteerStep struct {
	Timeout  time.Duration // 0 is a minute
	Continue bool
}

// ExpectInputStep says what the prompt, or the steer, of a script must contain, and is the first step of it. A turn with another prompt fails. In
// a playbook it picks the batch for the prompt instead. A script that came in a prompt always has what it expects.
type ExpectInputStep struct {
	Text string // in which nothing is a placeholder
}

// How long steps wait that do not say.
const (
	WaitTimeout  = 30 * time.Second // a [WaitStep] and a [WaitForStep]
	SteerTimeout = time.Minute      // an [AwaitSteerStep]
)

// QuestionStep asks the user. With Blocking it waits for the answers; without, the turn goes on, and the answer is the next prompt: no event
// says that such a question is over.
type QuestionStep struct {
	Questions []Question
	Blocking  bool
}

// Question is one question of a [QuestionStep].
type Question struct {
	ID          string // what its answer is called
	Header      string
	Question    string
	Options     []QuestionOption
	MultiSelect bool
}

// QuestionOption is what may be chosen.
type QuestionOption struct {
	Label       string
	Description string
}

// TaskStep is a task that a sub-agent does, around steps. When one of them fails the turn, it fails the task.
type TaskStep struct {
	Description string
	Type        string // the kind of sub-agent; may be ""
	Steps       []Step
}

// EventStep is one event as given, with the ids and the time of the turn. The event must be one that may stand inside a turn: not turn.started
// and such.
type EventStep struct {
	Type      string
	ItemID    string
	RequestID string
	Payload   json.RawMessage // an object; nil is {}
}

// UsageStep tells what the thread has used, in tokens. Zero is left out, but for UsedTokens.
type UsageStep struct {
	UsedTokens                int
	MaxTokens                 int
	TotalProcessedTokens      int
	InputTokens               int
	CachedInputTokens         int
	OutputTokens              int
	ReasoningOutputTokens     int
	LastUsedTokens            int
	LastInputTokens           int
	LastCachedInputTokens     int
	LastOutputTokens          int
	LastReasoningOutputTokens int
	ToolUses                  int
	DurationMs                int
	CompactsAutomatically     bool
}

// ExitStep ends the agent's process with an exit code, or by a signal such as SIGKILL, and with it the turn, which fails. Where the agent
// is no process it ends the session in the same way.
type ExitStep struct {
	Code   int // 0 to 255
	Signal string
}

// StderrStep writes to the standard error of the agent's process, as it is: a line ends where the text has a newline. An agent that is no
// process cannot play it.
type StderrStep struct {
	Text string
}

// RawStep writes any bytes to the standard output of the agent's process, between the lines of the protocol and as they are. An agent
// that is no process cannot play it.
type RawStep struct {
	Text string // need not be UTF-8; what is not is base64 in JSON
}

// Think is a [ThinkStep].
func Think(text string) Step { return ThinkStep{Text: text} }

// Say is a [SayStep].
func Say(text string) Step { return SayStep{Text: text} }

// Write is a [WriteStep].
func Write(path, content string) Step { return WriteStep{Path: path, Content: content} }

// Edit is an [EditStep].
func Edit(path, old, new string) Step { return EditStep{Path: path, Old: old, New: new} }

// Bash is a [BashStep] that claims a result.
func Bash(command, output string, exitCode int) Step {
	return BashStep{Command: command, Output: output, ExitCode: exitCode}
}

// BashRun is a [BashStep] that really runs, if the host allows it.
func BashRun(command string) Step { return BashStep{Command: command, Run: true} }

// Fail is a [FailStep].
func Fail(message string) Step { return FailStep{Message: message} }

// Sleep is a [SleepStep]. d is a whole number of milliseconds, since JSON could not carry less.
func Sleep(d time.Duration) Step { return SleepStep{Duration: d} }

// Hold is a [HoldStep].
func Hold(name string) Step { return HoldStep{Name: name} }

// MCP is an [MCPStep]. The server "*" is every one of the session.
func MCP(server, tool string, arguments map[string]any) Step {
	var raw json.RawMessage
	if arguments != nil {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(arguments); err != nil {
			b.WriteString(err.Error()) // which is no JSON, as whoever plays or prints the script will be told
		}
		raw = bytes.TrimSpace(b.Bytes())
	}
	return MCPStep{Server: server, Tool: tool, Arguments: raw}
}

// Exit is an [ExitStep].
func Exit(code int) Step { return ExitStep{Code: code} }

// Stderr is a [StderrStep].
func Stderr(text string) Step { return StderrStep{text} }

// Raw is a [RawStep].
func Raw(text string) Step { return RawStep{text} }

// Ask is an [ApprovalStep].
func Ask(approvals ...Approval) Step { return ApprovalStep{approvals} }

func (SayStep) Key() string         { return "say" }
func (ThinkStep) Key() string       { return "think" }
func (WriteStep) Key() string       { return "write" }
func (EditStep) Key() string        { return "edit" }
func (BashStep) Key() string        { return "bash" }
func (FailStep) Key() string        { return "fail" }
func (SleepStep) Key() string       { return "sleep" }
func (HoldStep) Key() string        { return "hold" }
func (PlanStep) Key() string        { return "plan" }
func (ToolStep) Key() string        { return "tool" }
func (ApprovalStep) Key() string    { return "approval" }
func (MCPStep) Key() string         { return "mcp" }
func (UsageStep) Key() string       { return "usage" }
func (QuestionStep) Key() string    { return "question" }
func (TaskStep) Key() string        { return "task" }
func (EventStep) Key() string       { return "event" }
func (ExitStep) Key() string        { return "exit" }
func (StderrStep) Key() string      { return "stderr" }
func (RawStep) Key() string         { return "raw" }
func (WaitStep) Key() string        { return "wait" }
func (WaitForStep) Key() string     { return "waitFor" }
func (AwaitSteerStep) Key() string  { return "awaitSteer" }
func (ExpectInputStep) Key() string { return "expectInput" }

func (s SayStep) shaped() shaper         { return &s }
func (s ThinkStep) shaped() shaper       { return &s }
func (s WriteStep) shaped() shaper       { return &s }
func (s EditStep) shaped() shaper        { return &s }
func (s BashStep) shaped() shaper        { return &s }
func (s FailStep) shaped() shaper        { return &s }
func (s SleepStep) shaped() shaper       { return &s }
func (s HoldStep) shaped() shaper        { return &s }
func (s PlanStep) shaped() shaper        { return &s }
func (s ToolStep) shaped() shaper        { return &s }
func (s ApprovalStep) shaped() shaper    { return &s }
func (s MCPStep) shaped() shaper         { return &s }
func (s UsageStep) shaped() shaper       { return &s }
func (s QuestionStep) shaped() shaper    { return &s }
func (s TaskStep) shaped() shaper        { return &s }
func (s EventStep) shaped() shaper       { return &s }
func (s ExitStep) shaped() shaper        { return &s }
func (s StderrStep) shaped() shaper      { return &s }
func (s RawStep) shaped() shaper         { return &s }
func (s WaitStep) shaped() shaper        { return &s }
func (s WaitForStep) shaped() shaper     { return &s }
func (s AwaitSteerStep) shaped() shaper  { return &s }
func (s ExpectInputStep) shaped() shaper { return &s }
