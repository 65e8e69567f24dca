package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
	"github.com/understudy-go/understudy/fakeagent/replay"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/mockproc/acp"
)

type acpCommand struct {
	Scenario   string   `placeholder:"NAME or FILE" help:"What it plays; without one, the script that each prompt carries, and with --stream happy."`
	Profile    profile  `placeholder:"NAME" help:"How it behaves: plain, or seed with the quirks of the origin."`
	Speed      speed    `placeholder:"F" default:"1" help:"0 does not wait, 1 is real time, 10 ten times as fast."`
	Seed       uint64   `placeholder:"N" help:"Varies texts, times and ids, in the same way each time."`
	Fault      []fault  `sep:"none" placeholder:"NAME" help:"Something that goes wrong; may be given several times."`
	Stream     bool     `help:"Write the agent's side of a whole session, without reading stdin."`
	Journal    *journal `placeholder:"FILE" help:"Play a recorded run, instead of scripts."`
	AllowShell bool     `help:"Let bash steps with run start real processes."`
}

func (*acpCommand) Help() string {
	return "It speaks the Agent Client Protocol on stdin and stdout. Scenarios: " + strings.Join(mockproc.Scenarios(), ", ") + "."
}

// profile is one that there is.
type profile acp.Profile

func (p *profile) Decode(ctx *kong.DecodeContext) error {
	value, err := valueOf(ctx)
	if err != nil {
		return err
	}
	if *p = profile(value); *p != profile(acp.Plain) && *p != profile(acp.Seed) {
		return fmt.Errorf("there is no profile %q; use %s or %s", value, acp.Plain, acp.Seed)
	}
	return nil
}

// fault is one that a scenario may have.
type fault mockproc.Fault

func (f *fault) Decode(ctx *kong.DecodeContext) error {
	value, err := valueOf(ctx)
	if err != nil {
		return err
	}
	*f = fault(value)
	_, err = mockproc.ParseScenario([]byte(`{"name":"any","faults":[` + quoted(value) + `]}`))
	if e := (*script.Error)(nil); errors.As(err, &e) {
		return errors.New(strings.TrimPrefix(e.Reason, "faults "))
	}
	return err
}

func (a *acpCommand) run(_ context.Context, c console) int {
	name := a.Scenario
	if name == "" {
		if name = "scripted"; a.Stream {
			name = "happy"
		}
	}
	s, err := scenario(name, acp.Profile(a.Profile))
	if err != nil {
		c.complain("fakeagent: acp: %v", err)
		return exitUsage
	}
	for _, f := range a.Fault {
		s.Faults = append(s.Faults, mockproc.Fault(f))
	}
	cfg := fakeagent.Config{Seed: a.Seed, Speed: float64(a.Speed), Instant: a.Speed == 0, AllowShell: a.AllowShell, MCP: mcpcall.New()}
	if a.Journal != nil {
		a.Journal.warn(c)
		agent, err := replay.New(a.Journal.Entries)
		switch {
		case err == nil && a.Stream:
			err = errors.New("--stream sends a prompt of its own, which is not the journal's; leave it out")
		case err == nil && a.Scenario != "":
			err = errors.New("--journal and --scenario both say what it plays; give one of them")
		}
		if err != nil {
			c.complain("fakeagent: acp: %v", err)
			return exitUsage
		}
		cfg.Perform = agent.Config().Perform
	}
	if a.Stream {
		return stream(s, cfg, c)
	}
	mockproc.Main(s, mockproc.WithAgent(cfg))
	return exitOK
}

// scenario is one that comes with the kit, in the profile if there is one of it, or a file.
func scenario(name string, profile acp.Profile) (s mockproc.Scenario, err error) {
	if inProfile := string(profile) + "/" + name; slices.Contains(mockproc.Scenarios(), inProfile) {
		name = inProfile
	}
	s, err = mockproc.Named(name)
	if err != nil {
		if file, wrong := mockproc.ReadScenario(name); !errors.Is(wrong, fs.ErrNotExist) {
			s, err = file, wrong
		}
	}
	if err != nil {
		return s, errors.New(strings.TrimPrefix(err.Error(), "mockproc: "))
	}
	if profile != "" {
		s.Profile = profile
	}
	return s, nil
}

// stream plays the client, and writes what the agent says.
func stream(s mockproc.Scenario, cfg fakeagent.Config, c console) (code int) {
	t := &stage{console: c}
	defer t.close(&code)
	m := mockproc.Start(t, s, mockproc.WithAgent(cfg))
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatalf("fakeagent: acp: %v", err)
	}
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(m.Stdin(), format+"\n", args...) } // of a dead agent its stdout tells
	say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"stream","version":"1.0.0"}}}`)
	for in := bufio.NewReader(m.Stdout()); ; {
		line, err := in.ReadBytes('\n')
		if _, err := c.out.Write(line); err != nil {
			t.Fatalf("fakeagent: the output could not be written: %v", err)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		var said struct {
			ID     json.RawMessage
			Method string
			Params struct{ Options []struct{ OptionID string } }
			Result struct{ SessionID string }
		}
		switch _ = json.Unmarshal(line, &said); {
		case said.Method != "" && len(said.Params.Options) > 0:
			say(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":%s}}}`, said.ID, quoted(said.Params.Options[0].OptionID))
		case said.Method != "" && said.ID != nil:
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, said.ID)
		case said.Method != "":
		case string(said.ID) == "0":
			say(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%s,"mcpServers":[]}}`, quoted(cwd))
		case string(said.ID) == "1" && said.Result.SessionID != "":
			say(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%s,"prompt":[{"type":"text","text":"go"}]}}`, quoted(said.Result.SessionID))
		default:
			_ = m.Stdin().Close()
		}
	}
	<-m.Exited()
	return m.ExitCode()
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string cannot fail
	return string(b)
}
