package matchers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// ToolCallOption is something more that a tool call must be.
type ToolCallOption = Option[timeline.ToolCall]

// BeToolCall matches a tool call by the tool's name, a string or a matcher.
func BeToolCall(name any, opts ...ToolCallOption) Matcher {
	return one("BeToolCall", named("BeToolCall", name).called("be a tool call "), opts)
}

func named(matcher string, name any) want[timeline.ToolCall] {
	return of(textWant(matcher, "name", name), func(c timeline.ToolCall) string { return c.Name })
}

// BeShellCall matches a tool call that is a shell command, by the command line, a string or a matcher.
func BeShellCall(command any, opts ...ToolCallOption) Matcher {
	w := of(textWant("BeShellCall", "command", command), func(d timeline.Shell) string { return d.Command })
	return about("BeShellCall", w.called("be a shell call "), opts)
}

// BeWriteCall matches a tool call that wrote a file. path is a string or a matcher.
//
// A string is the path as a script has it, with slashes: src/a.ts. It is the whole path of the file, or its end: the timeline has absolute
// paths, and src/a.ts is in each of them that ends with /src/a.ts. An absolute path is the whole one. A matcher gets the absolute path, with
// slashes.
func BeWriteCall(path any, opts ...ToolCallOption) Matcher {
	w := of(pathWant("BeWriteCall", path), func(d timeline.Write) string { return d.FilePath })
	return about("BeWriteCall", w.called("be a write call "), opts)
}

// BeEditCall matches a tool call that changed a file. path is as in [BeWriteCall].
func BeEditCall(path any, opts ...ToolCallOption) Matcher {
	w := of(pathWant("BeEditCall", path), func(d timeline.Edit) string { return d.FilePath })
	return about("BeEditCall", w.called("be an edit call "), opts)
}

// about is a matcher for tool calls with a detail of one type.
func about[D timeline.Detail](name string, w want[D], opts []ToolCallOption) Matcher {
	return one(name, want[timeline.ToolCall]{w.description, w.wrong, func(c timeline.ToolCall) (differs, error) {
		d, ok := c.Detail.(D)
		if !ok {
			return isOther(c, w.description), nil
		}
		return w.test(d)
	}}, opts)
}

// pathWant wants a file.
func pathWant(name string, w any) want[string] {
	slashes := func(p string) string { return strings.ReplaceAll(p, `\`, "/") }
	s, ok := w.(string)
	if !ok {
		return of(textWant(name, "path", w), slashes)
	}
	end := path.Clean("/" + slashes(s))
	return want[string]{describe(w), nil, func(got string) (differs, error) {
		if slashes(got) == slashes(s) || s != "" && !path.IsAbs(slashes(s)) && strings.HasSuffix(slashes(got), end) {
			return nil, nil
		}
		return say("path is %s, want %s", quote(got), quote(s)), nil
	}}
}

// BeMCPCall matches a call of a tool of an MCP server. server and tool are strings or matchers.
func BeMCPCall(server, tool any, opts ...ToolCallOption) Matcher {
	s, t := textWant("BeMCPCall", "server", server), textWant("BeMCPCall", "tool", tool)
	description := "be a call of MCP server " + s.description + ", tool " + t.description
	return one("BeMCPCall", want[timeline.ToolCall]{description, cmp.Or(s.wrong, t.wrong), func(c timeline.ToolCall) (differs, error) {
		name, ok := strings.CutPrefix(c.Name, "mcp__")
		gotServer, gotTool, two := strings.Cut(name, "__")
		if want, fixed := server.(string); fixed && strings.HasPrefix(name, want+"__") { // a name may hold the separator
			gotServer, gotTool = want, name[len(want)+len("__"):]
		}
		if !ok || !two {
			return isOther(c, description), nil
		}
		if d, err := s.test(gotServer); d != nil || err != nil {
			return d, err
		}
		return t.test(gotTool)
	}}, opts)
}

// WithStatus wants a status: Running, Completed, Failed or Canceled.
func WithStatus(s timeline.Status) ToolCallOption {
	var wrong error
	switch s {
	case timeline.Running, timeline.Completed, timeline.Failed, timeline.Canceled:
	default:
		wrong = fmt.Errorf("WithStatus: there is no status %q, want running, completed, failed or canceled", s)
	}
	return ToolCallOption{"status " + string(s), wrong, func(c timeline.ToolCall) (differs, error) {
		if c.Status != s {
			return say("status is %s, want %s", statusOf(c), s), nil
		}
		return nil, nil
	}}
}

// statusOf is the status of a tool call and, if it failed, why.
func statusOf(c timeline.ToolCall) string {
	if c.Error == nil {
		return string(c.Status)
	}
	return fmt.Sprintf("%s (%s)", c.Status, timeline.ErrorText(c.Error))
}

// WithError wants a failed call whose error is a string or matches.
func WithError(text any) ToolCallOption {
	w := textWant("WithError", "error", text)
	return ToolCallOption{"error " + w.description, w.wrong, func(c timeline.ToolCall) (differs, error) {
		if c.Status != timeline.Failed {
			return say("status is %s, want failed with error %s", c.Status, w.description), nil
		}
		return w.test(timeline.ErrorText(c.Error))
	}}
}

// WithCallID wants the id of the call, a string or a matcher.
func WithCallID(id any) ToolCallOption {
	w := of(textWant("WithCallID", "call id", id), func(c timeline.ToolCall) string { return c.CallID })
	return ToolCallOption(w.called("call id "))
}

// WithDetail wants a [timeline.Detail], which must be equal, or what a matcher matches.
func WithDetail(want any) ToolCallOption {
	return ToolCallOption(detailWant(want).called("detail "))
}

func detailWant(w any) want[timeline.ToolCall] {
	d, ok := w.(timeline.Detail)
	if !ok {
		e, err := expectedByMatcher("WithDetail: detail", "a detail or a matcher", w, detailLine)
		return want[timeline.ToolCall]{describe(w), err, func(c timeline.ToolCall) (differs, error) { return e.test(c.Detail) }}
	}
	out := want[timeline.ToolCall]{description: detailLine(d)}
	if isPointer(w) {
		out.wrong = pointer("WithDetail: detail", w)
		return out
	}
	out.test = func(c timeline.ToolCall) (differs, error) {
		switch {
		case equalDetails(c.Detail, d):
			return nil, nil
		case reflect.TypeOf(c.Detail) != reflect.TypeOf(d):
			return say("detail is %s, want %s", detailLine(c.Detail), detailLine(d)), nil
		}
		return func() string { return whyNot("detail", c.Detail, d) }, nil
	}
	return out
}

func detailLine(d timeline.Detail) string {
	if d == nil {
		return "none"
	}
	return cut(string(timeline.AppendJSON(nil, d)), 300)
}

// WithExitCode wants a shell command that ended with this code.
func WithExitCode(code int) ToolCallOption {
	return ToolCallOption{fmt.Sprint("exit code ", code), nil, func(c timeline.ToolCall) (differs, error) {
		d, ok := c.Detail.(timeline.Shell)
		switch n, known := d.ExitCode.Code(); {
		case !ok:
			return say("there is no exit code, since it is no shell call; want %d", code), nil
		case !known:
			return say("there is no exit code, since %s; want %d", noExitCode(d), code), nil
		case n != code:
			return say("exit code is %d, want %d", n, code), nil
		}
		return nil, nil
	}}
}

func noExitCode(d timeline.Shell) string {
	if d.ExitCode == timeline.NoExitCode {
		return "a signal ended the command"
	}
	return "none was told"
}

// WithInput wants what the tool got, a JSON value or a matcher as in [WithData]. Tools of no known kind have an input, MCP tools for one.
func WithInput(want any) ToolCallOption {
	return detailJSON("WithInput", "input", want, func(d timeline.Detail) (json.RawMessage, bool) {
		u, ok := d.(timeline.Unknown)
		return u.Input, ok
	})
}

// WithOutput wants what the tool returned, a JSON value or a matcher as in [WithData]; of an MCP tool that is the whole result, with its content
// and structuredContent. Tools of no known kind have an output, MCP tools for
// one. The output of a shell command is a string.
func WithOutput(want any) ToolCallOption {
	return detailJSON("WithOutput", "output", want, func(d timeline.Detail) (out json.RawMessage, ok bool) {
		switch d := d.(type) {
		case timeline.Unknown:
			return d.Output, true
		case timeline.Shell:
			out, err := encode(d.Output)
			return out, err == nil
		}
		return nil, false
	})
}

func detailJSON(name, what string, want any, get func(timeline.Detail) (json.RawMessage, bool)) ToolCallOption {
	w := jsonWant(name, what, want)
	return ToolCallOption{what + " " + w.description, w.wrong, func(c timeline.ToolCall) (differs, error) {
		d := c.Detail
		if d == nil {
			d = timeline.Unknown{} // as in JSON
		}
		got, ok := get(d)
		if !ok {
			return say("there is no %s in a detail of type %s; want %s", what, d.Type(), w.description), nil
		}
		if got == nil {
			got = json.RawMessage("null")
		}
		return w.test(got)
	}}
}
