package timeline

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Detail says what a tool call was about. Its types are [Shell], [Read], [Edit], [Write], [Search], [Fetch],
// [WorktreeSetup], [SubAgent], [PlainText], [Plan] and [Unknown], which the contract has for a tool of no known kind, and
// [Raw] for a type that this version does not know.
//
// Empty optional fields are left out of the JSON form, except where empty is an answer: a write's content, the two strings of
// an edit, the output of a shell command that has ended, a list that is not nil.
type Detail interface {
	json.Marshaler
	Type() string
	detail()
}

// Shell is a command line. Cwd is absolute. Output holds stdout and stderr as they came.
type Shell struct {
	Command  string   `json:"command"`
	Cwd      string   `json:"cwd,omitempty"`
	Output   string   `json:"output,omitempty"`
	ExitCode ExitCode `json:"exitCode,omitzero"`
}

// Read is a file that was read, from line Offset on and Limit lines at most.
type Read struct {
	FilePath string `json:"filePath"`
	Content  string `json:"content,omitempty"`
	Offset   int    `json:"offset,omitempty"`
	Limit    int    `json:"limit,omitempty"`
}

// Edit is a replacement in a file, given as two strings or as a diff.
type Edit struct {
	FilePath    string `json:"filePath"`
	OldString   string `json:"oldString,omitempty"`
	NewString   string `json:"newString,omitempty"`
	UnifiedDiff string `json:"unifiedDiff,omitempty"`
}

// Write is a file that was written whole.
type Write struct {
	FilePath string `json:"filePath"`
	Content  string `json:"content"`
}

// Search is a search in files or on the web.
type Search struct {
	Query           string          `json:"query"`
	ToolName        string          `json:"toolName,omitempty"` // search, grep, glob or web_search
	Content         string          `json:"content,omitempty"`
	FilePaths       []string        `json:"filePaths,omitzero"`
	WebResults      []WebResult     `json:"webResults,omitzero"`
	Annotations     json.RawMessage `json:"annotations,omitempty"`
	NumFiles        int             `json:"numFiles,omitempty"`
	NumMatches      int             `json:"numMatches,omitempty"`
	DurationMs      float64         `json:"durationMs,omitempty"`
	DurationSeconds float64         `json:"durationSeconds,omitempty"`
	Truncated       bool            `json:"truncated,omitempty"`
	Mode            string          `json:"mode,omitempty"` // content, files_with_matches or count
}

// WebResult is one hit of a web search.
type WebResult struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// Fetch is a page that was fetched. Code is the HTTP status.
type Fetch struct {
	URL        string  `json:"url"`
	Prompt     string  `json:"prompt,omitempty"`
	Result     string  `json:"result,omitempty"`
	Code       int     `json:"code,omitempty"`
	CodeText   string  `json:"codeText,omitempty"`
	Bytes      int     `json:"bytes,omitempty"`
	DurationMs float64 `json:"durationMs,omitempty"`
}

// WorktreeSetup is the making of a git worktree.
type WorktreeSetup struct {
	WorktreePath string            `json:"worktreePath"`
	BranchName   string            `json:"branchName"`
	Log          string            `json:"log"`
	Commands     []WorktreeCommand `json:"commands"`
	Truncated    bool              `json:"truncated,omitempty"`
}

// WorktreeCommand is one command of a [WorktreeSetup]. Index counts from 1.
type WorktreeCommand struct {
	Index      int      `json:"index"`
	Command    string   `json:"command"`
	Cwd        string   `json:"cwd"`
	Log        string   `json:"log"`
	Status     string   `json:"status"` // running, completed or failed
	ExitCode   ExitCode `json:"exitCode,omitzero"`
	DurationMs float64  `json:"durationMs,omitempty"`
}

// SubAgent is a task that another agent does.
type SubAgent struct {
	SubAgentType   string           `json:"subAgentType,omitempty"`
	Description    string           `json:"description,omitempty"`
	ChildSessionID string           `json:"childSessionId,omitempty"`
	Log            string           `json:"log"`
	Actions        []SubAgentAction `json:"actions,omitzero"`
}

// SubAgentAction is one tool that a sub-agent used. Index counts from 1.
type SubAgentAction struct {
	Index    int    `json:"index"`
	ToolName string `json:"toolName"`
	Summary  string `json:"summary,omitempty"`
}

// PlainText is a tool call of which only a text is known.
type PlainText struct {
	Label string `json:"label,omitempty"`
	Text  string `json:"text,omitempty"`
	Icon  string `json:"icon,omitempty"`
}

// Plan is a plan that the agent proposes.
type Plan struct {
	Text string `json:"text"`
}

// Unknown is a tool of no known kind, an MCP tool for one: any JSON in, any JSON out. Nil is null.
type Unknown struct {
	Input  json.RawMessage `json:"input"`
	Output json.RawMessage `json:"output"`
}

func (Shell) Type() string         { return "shell" }
func (Read) Type() string          { return "read" }
func (Edit) Type() string          { return "edit" }
func (Write) Type() string         { return "write" }
func (Search) Type() string        { return "search" }
func (Fetch) Type() string         { return "fetch" }
func (WorktreeSetup) Type() string { return "worktree_setup" }
func (SubAgent) Type() string      { return "sub_agent" }
func (PlainText) Type() string     { return "plain_text" }
func (Plan) Type() string          { return "plan" }
func (Unknown) Type() string       { return "unknown" }

func (Shell) detail()         {}
func (Read) detail()          {}
func (Edit) detail()          {}
func (Write) detail()         {}
func (Search) detail()        {}
func (Fetch) detail()         {}
func (WorktreeSetup) detail() {}
func (SubAgent) detail()      {}
func (PlainText) detail()     {}
func (Plan) detail()          {}
func (Unknown) detail()       {}
func (Raw) detail()           {}

// ExitCode is what is known of a command's exit: nothing yet (the zero value, absent in JSON), that there is no number
// because a signal ended the command ([NoExitCode], null in JSON), or a number ([Exited]).
type ExitCode struct {
	state exitState
	code  int
}

type exitState uint8

const (
	exitAbsent exitState = iota
	exitNull
	exitNumber
)

// NoExitCode is the exit code of a command that a signal ended.
var NoExitCode = ExitCode{state: exitNull}

// Exited is the exit code n.
func Exited(n int) ExitCode { return ExitCode{exitNumber, n} }

// Code is the number, if there is one.
func (c ExitCode) Code() (n int, ok bool) { return c.code, c.state == exitNumber }

// IsZero says that nothing is known.
func (c ExitCode) IsZero() bool { return c == ExitCode{} }

// Equal lets go-cmp compare exit codes.
func (c ExitCode) Equal(d ExitCode) bool { return c == d }

func (c ExitCode) String() string {
	switch c.state {
	case exitNumber:
		return strconv.Itoa(c.code)
	case exitNull:
		return "null"
	}
	return "absent"
}

func (c ExitCode) MarshalJSON() ([]byte, error) {
	if c.state == exitNumber {
		return strconv.AppendInt(nil, int64(c.code), 10), nil
	}
	return []byte("null"), nil
}

func (c *ExitCode) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*c = NoExitCode
		return nil
	}
	n, err := strconv.Atoi(string(b))
	if err != nil {
		return fmt.Errorf("exitCode is %.20s, want a whole number or null", b)
	}
	*c = Exited(n)
	return nil
}
