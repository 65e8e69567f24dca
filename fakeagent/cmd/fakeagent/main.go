// Command fakeagent plays scripts on the command line, checks them, and prints the schema of their language. It also serves a
// chat back end, and shows the usage of an account that nobody has.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// The exit codes. Of several turns the highest one counts.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitCanceled = 130
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], console{os.Stdout, os.Stderr, isTerminal(os.Stdout)}))
}

// console is where a command writes.
type console struct {
	out, err io.Writer
	terminal bool // out is one
}

// complain prints one line, whatever the message has.
func (c console) complain(format string, args ...any) {
	lines := strings.Split(fmt.Sprintf(format, args...), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	fmt.Fprintln(c.err, printable(strings.Join(lines, " ")))
}

// explain prints a message on as many lines as it has.
func (c console) explain(format string, args ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		fmt.Fprintln(c.err, printable(line))
	}
}

// command is one subcommand, with its flags set. It returns the exit code.
type command interface {
	run(ctx context.Context, c console) int
}

type commands struct {
	Run      runCommand  `cmd:"" help:"Play each prompt as the next turn of one agent."`
	Exec     execCommand `cmd:"" help:"Play an executor agent, and print its events."`
	agent    `embed:""`
	Mock     mockCommand     `cmd:"" help:"Play agents at once, one prompt each."`
	Serve    serveCommand    `cmd:"" help:"Be a chat back end on a port of this machine."`
	Usage    usageCommand    `cmd:"" help:"Print the quota and token usage of an account that nobody has."`
	Playbook playbookCommand `cmd:"" help:"Make a playbook."`
	Replay   replayCommand   `cmd:"" help:"Play a recorded run."`
	Lint     lintCommand     `cmd:"" help:"Check scripts, scenarios, playbooks, journals and configurations."`
	Schema   schemaCommand   `cmd:"" help:"Print the JSON Schema of the script language."`
}

// agent is the command that a host starts over and over, and waits for.
type agent struct {
	ACP acpCommand `cmd:"" name:"acp" help:"Be an agent that speaks ACP on stdin and stdout."`
}

// grammar is that of all commands or, since a tenth of an agent's start would go by until kong has read it, of the agent alone.
func grammar(args []string) any {
	if len(args) > 0 && args[0] == "acp" {
		return &agent{}
	}
	return &commands{}
}

// run is the whole program, apart from the process around it. When ctx ends it interrupts the turn that runs.
func run(ctx context.Context, args []string, c console) int {
	if len(args) == 1 && args[0] == "acp" { // a host waits for this one, and there is nothing to parse
		return (&acpCommand{Speed: 1}).run(ctx, c)
	}
	helped := false
	parser, err := kong.New(grammar(args),
		kong.Name("fakeagent"),
		kong.Description("A coding agent that plays scripts, and costs nothing."),
		kong.Writers(c.out, c.err),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 80}),
		kong.Exit(func(int) { helped = true }),
	)
	if err != nil {
		c.complain("fakeagent: %v", err)
		return exitUsage
	}
	parsed, err := parser.Parse(args)
	switch {
	case helped:
		return exitOK
	case err != nil:
		c.complain("fakeagent: %s", advice(err))
		return exitUsage
	}
	return parsed.Selected().Target.Addr().Interface().(command).run(ctx, c)
}

// advice is what is wrong with the arguments, and what would be right.
func advice(err error) string {
	what := err.Error()
	parse := (*kong.ParseError)(nil)
	if !errors.As(err, &parse) {
		return what
	}
	at := parse.Context.Selected()
	switch {
	case at == nil && strings.HasPrefix(what, "expected"):
		what = "no command"
	case at != nil && len(at.Children) > 0 && strings.HasPrefix(what, "expected"):
		return fmt.Sprintf("%s: no command; use fakeagent %s", at.Path(), at.Children[0].Summary())
	case at == nil || len(at.Children) > 0:
		what = strings.Replace(what, "unexpected argument", "unknown command", 1)
	case strings.HasPrefix(what, "expected"):
		return fmt.Sprintf("%s: no %s; use fakeagent %s", at.Path(), at.Positional[0].Name, at.Summary())
	case strings.HasPrefix(what, "unexpected argument") && len(at.Positional) > 0 && at.Positional[0].IsCumulative():
		return fmt.Sprintf("%s; flags stand before or behind all %ss", what, at.Positional[0].Name)
	}
	switch {
	case strings.Contains(what, "did you mean") || strings.Contains(what, "; "):
		return what
	case at != nil:
		return fmt.Sprintf("%s; see fakeagent %s --help", what, at.Path())
	}
	var names []string
	for _, n := range parse.Context.Model.Children {
		names = append(names, n.Name)
	}
	return fmt.Sprintf("%s; begin with one of %s", what, strings.Join(names, ", "))
}
