package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/understudy-go/understudy/fakeagent"
)

// Client is what the client offers to the agent.
type Client struct {
	Name         string // of clientInfo
	Capabilities ClientCapabilities

	conn *conn
}

// ClientCapabilities are those that this agent looks at.
type ClientCapabilities struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
	Session  struct {
		ConfigOptions struct {
			Boolean any `json:"boolean"`
		} `json:"configOptions"`
		Notices    any `json:"notices"`
		Compaction any `json:"compaction"`
	} `json:"session"`
	Elicitation struct {
		Form any `json:"form"`
	} `json:"elicitation"`
}

// Files reads and writes through the client what it offers to read and write, and the rest through other. It is for
// [fakeagent.Config.Files].
func (c *Client) Files(other fakeagent.Files) fakeagent.Files {
	if !c.Capabilities.FS.ReadTextFile && !c.Capabilities.FS.WriteTextFile {
		return other
	}
	if other == nil {
		other = fakeagent.OSFiles{}
	}
	return files{c, other}
}

// Shell runs commands in the client's terminals, if it offers any, or is other. It is for [fakeagent.Config.Shell].
func (c *Client) Shell(other fakeagent.Shell) fakeagent.Shell {
	if !c.Capabilities.Terminal {
		return other
	}
	return shell{c}
}

type files struct {
	client *Client
	other  fakeagent.Files
}

func (f files) ReadFile(ctx context.Context, s fakeagent.SessionConfig, path string) ([]byte, error) {
	if !f.client.Capabilities.FS.ReadTextFile {
		return f.other.ReadFile(ctx, s, path)
	}
	raw, err := f.client.conn.call(ctx, "fs/read_text_file", f.params(s, path).raw(`}`), nil)
	if isCode(err, ResourceNotFound) {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	} else if err != nil {
		return nil, fmt.Errorf("the client could not read %s: %w", path, err)
	}
	var r struct {
		Content *string `json:"content"`
	}
	if err := json.Unmarshal(raw, &r); err != nil || r.Content == nil {
		return nil, fmt.Errorf("the client answered fs/read_text_file with %.80s, without a content", raw)
	}
	return []byte(*r.Content), nil
}

func (f files) WriteFile(ctx context.Context, s fakeagent.SessionConfig, path string, data []byte, follow bool) error {
	if !f.client.Capabilities.FS.WriteTextFile {
		return f.other.WriteFile(ctx, s, path, data, follow)
	}
	if !utf8.Valid(data) {
		return fmt.Errorf("%s is no text, and the client writes nothing else", path)
	}
	if _, err := f.client.conn.call(ctx, "fs/write_text_file", f.params(s, path).raw(`,"content":`).str(string(data)).raw(`}`), nil); err != nil {
		return fmt.Errorf("the client could not write %s: %w", path, err)
	}
	return nil
}

func (f files) params(s fakeagent.SessionConfig, path string) frame {
	return frame(`{"sessionId":`).str(s.ThreadID).raw(`,"path":`).str(filepath.Join(s.Cwd, filepath.FromSlash(path)))
}

type shell struct{ client *Client }

// killLimit is how long a client may take to end a command.
const killLimit = 5 * time.Second

func (s shell) Run(ctx context.Context, session fakeagent.SessionConfig, command string) (r fakeagent.ShellResult, err error) {
	conn := s.client.conn
	f := frame(`{"sessionId":`).str(session.ThreadID).raw(`,"command":"/bin/sh","args":["-c",`).str(command).raw(`],"cwd":`).str(session.Cwd).raw(`,"env":[`)
	for i, k := range slices.Sorted(maps.Keys(session.Env)) {
		if i > 0 {
			f = f.raw(`,`)
		}
		f = f.raw(`{"name":`).str(k).raw(`,"value":`).str(session.Env[k]).raw(`}`)
	}
	terminal := func(id string) frame {
		return frame(`{"sessionId":`).str(session.ThreadID).raw(`,"terminalId":`).str(id).raw(`}`)
	}
	release := func(id string) { conn.ask("terminal/release", terminal(id), func(json.RawMessage, *Error) {}) }
	raw, err := conn.call(ctx, "terminal/create", f.raw(`],"outputByteLimit":65536}`), func(late json.RawMessage) {
		if id := terminalID(late); id != "" {
			release(id)
		}
	})
	if err != nil {
		return r, fmt.Errorf("the client made no terminal: %w", err)
	}
	id := terminalID(raw)
	if id == "" {
		return r, fmt.Errorf("the client answered terminal/create with %.80s, without a terminalId", raw)
	}
	defer release(id)
	in := terminal(id)
	// When ctx ends the command is killed, and what it said before is asked for all the same.
	after, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		conn.ask("terminal/kill", in, func(json.RawMessage, *Error) {})
		limit := time.NewTimer(killLimit)
		defer limit.Stop()
		select {
		case <-limit.C:
			cancel()
		case <-after.Done():
		}
	})()
	if raw, err = conn.call(after, "terminal/wait_for_exit", in, nil); err != nil {
		return r, fmt.Errorf("terminal/wait_for_exit: %w", err)
	}
	var exit struct {
		ExitCode *int
		Signal   string
	}
	_ = json.Unmarshal(raw, &exit)
	if raw, err = conn.call(after, "terminal/output", in, nil); err != nil {
		return r, fmt.Errorf("terminal/output: %w", err)
	}
	var said struct{ Output string }
	_ = json.Unmarshal(raw, &said)
	r = fakeagent.ShellResult{Output: said.Output, Signal: exit.Signal}
	if exit.ExitCode != nil {
		r.ExitCode, r.Signal = *exit.ExitCode, ""
	}
	return r, nil
}

func terminalID(answer json.RawMessage) string {
	var made struct {
		TerminalID string `json:"terminalId"`
	}
	_ = json.Unmarshal(answer, &made)
	return made.TerminalID
}
