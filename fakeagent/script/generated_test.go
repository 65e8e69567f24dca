package script_test

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"time"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// generator makes valid scripts, the same ones for the same seed.
type generator struct{ *rand.Rand }

func generated(seed uint64) script.Script {
	g := generator{rand.New(rand.NewPCG(seed, 0))}
	return g.script(3)
}

// generatedFile is a file of such scripts.
func generatedFile(seed uint64) (f script.File) {
	g := generator{rand.New(rand.NewPCG(seed, 1))}
	for range g.IntN(3) {
		f.Turns = append(f.Turns, g.script(2))
	}
	for range g.IntN(3) {
		f.Routes = append(f.Routes, script.Route{
			When: script.When{
				Prompt: pick(g, script.Pattern{}, script.Pattern{Text: g.filled()}, script.Pattern{Object: true}, script.Pattern{Regexp: regexp.MustCompile(pick(g, `(?i)\bfix\b`, "<&>", `\x{1F44B}`))}),
				Turn:   g.IntN(3), Attempt: g.IntN(3),
			},
			Times:  g.IntN(3),
			Script: g.script(2),
		})
	}
	return f
}

// withTemplates is the file with placeholders in place of texts that look like some.
func withTemplates(f script.File) (out script.File) {
	templates := func(s script.Script) script.Script {
		s, err := s.Templates()
		if err != nil {
			panic(err) // it was written
		}
		return s
	}
	for _, s := range f.Turns {
		out.Turns = append(out.Turns, templates(s))
	}
	for _, r := range f.Routes {
		r.Script = templates(r.Script)
		out.Routes = append(out.Routes, r)
	}
	return out
}

func pick[V any](g generator, from ...V) V { return from[g.IntN(len(from))] }

func (g generator) text() string {
	var s string
	for range g.IntN(5) {
		s += pick(g, "a", " ", "\n", "\r\n", `"`, `\`, "<&>", "é", "e\u0301", "👨‍👩‍👧", "\u2028", "\x00", "{{input}}", "{{config.a b}}", "{{x}}", "```")
	}
	return s
}

func (g generator) filled() string { return g.text() + "x" }

func (g generator) delay() time.Duration {
	return pick(g, 0, time.Millisecond, time.Hour, 1234*time.Millisecond)
}

func (g generator) json() json.RawMessage {
	return pick(g, nil, json.RawMessage(`{}`), json.RawMessage(`[1,{"a":"b"},null]`), json.RawMessage(`"x"`), json.RawMessage(`0.10`), json.RawMessage(`false`))
}

func (g generator) object() json.RawMessage {
	return pick(g, nil, json.RawMessage(`{}`), json.RawMessage(`{"a":[null,"{{thread}}"]}`), json.RawMessage(`{"\u007b{input}}":"\u007b{input}}"}`))
}

func (g generator) question() script.Question {
	q := script.Question{ID: g.filled(), Header: g.filled(), Question: g.filled(), MultiSelect: pick(g, true, false)}
	for range g.IntN(3) {
		q.Options = append(q.Options, script.QuestionOption{Label: g.filled(), Description: g.text()})
	}
	return q
}

func (g generator) said() script.SayStep {
	s := script.SayStep{Text: g.text(), Interval: g.delay()}
	if n := script.Characters(s.Text); n > 0 {
		s.Chunks = g.IntN(n + 1)
	}
	return s
}

func (g generator) call() (name string, detail, input, output json.RawMessage) {
	if g.IntN(2) == 0 {
		return g.filled(), json.RawMessage(`{"type":"plain_text","text":"x"}`), nil, nil
	}
	return g.filled(), nil, g.json(), g.json()
}

func (g generator) approval(depth int) script.Approval {
	a := script.Approval{
		Title: g.filled(), Type: pick(g, "", "file_change_approval"), Timeout: g.delay(),
		Options: pick(g, nil, []string{"accept"}, []string{"decline", "cancel"}), Allow: g.steps(depth - 1), Deny: g.steps(depth - 1),
	}
	if g.IntN(2) == 0 {
		a.Tool = &script.ApprovalTool{Hold: g.delay()}
		a.Tool.Name, a.Tool.Detail, a.Tool.Input, a.Tool.Output = g.call()
	}
	return a
}

// script may begin and end with the steps that may stand nowhere else.
func (g generator) script(depth int) script.Script {
	steps := g.steps(depth)
	if g.IntN(4) == 0 {
		steps = append([]script.Step{script.ExpectInputStep{Text: g.filled()}}, steps...)
	}
	if g.IntN(4) == 0 {
		steps = append(steps, script.AwaitSteerStep{Timeout: g.delay(), Continue: pick(g, true, false)})
	}
	return script.Script{Steps: steps, StepDelay: g.delay()}
}

func (g generator) steps(depth int) []script.Step {
	if depth == 0 {
		return nil
	}
	var steps []script.Step
	for range g.IntN(5) {
		steps = append(steps, g.step(depth))
	}
	return steps
}

func (g generator) step(depth int) script.Step {
	switch g.IntN(21) {
	case 0:
		return script.ThinkStep(g.said())
	case 1:
		return g.said()
	case 2:
		return script.Write(g.filled(), g.text())
	case 3:
		return script.EditStep{Path: g.filled(), Old: g.filled(), New: g.text(), Unique: pick(g, true, false)}
	case 4:
		return pick(g, script.BashRun(g.filled()), script.Bash(g.filled(), g.text(), g.IntN(5)-1))
	case 5:
		return script.FailStep{Message: g.text(), Code: g.IntN(5) - 2}
	case 6:
		return script.SleepStep{Duration: g.delay(), Steers: pick(g, true, false)}
	case 7:
		return script.HoldStep{Name: g.filled(), Open: pick(g, true, false), Steers: pick(g, true, false)}
	case 8:
		var p script.PlanStep
		for range g.IntN(3) {
			p.Entries = append(p.Entries, script.PlanEntry{Text: g.text(), Priority: pick(g, "", "high", "low"), Status: pick(g, "", "pending", "completed")})
		}
		return p
	case 9:
		s := script.ToolStep{Hold: g.delay(), Error: g.text()}
		s.Name, s.Detail, s.Input, s.Output = g.call()
		if s.Status = pick(g, "", "failed"); s.Error == "" {
			s.Status = pick(g, "", "failed", "completed")
		}
		return s
	case 10:
		s := script.ApprovalStep{Approvals: []script.Approval{g.approval(depth)}}
		for range g.IntN(2) {
			s.Approvals = append(s.Approvals, g.approval(depth))
		}
		return s
	case 11:
		return script.MCPStep{
			Server: pick(g, "", "*", g.filled()), Tool: g.filled(), Arguments: g.object(), ID: pick(g, "", "id"), Report: pick(g, true, false),
			Then: g.steps(depth - 1), Else: g.steps(depth - 1),
			Row: pick(g, nil, &script.MCPRow{Name: g.filled(), ItemType: pick(g, "", "x"), Hold: g.delay()}),
		}
	case 12:
		return pick(g, script.Exit(g.IntN(256)), script.Step(script.ExitStep{Signal: pick(g, "SIGKILL", "SIGTERM")}))
	case 13:
		return script.Stderr(g.filled())
	case 14:
		return script.Raw(g.text() + pick(g, "x", "\xff", "\xed\xa0\x80", "\u2029"))
	case 15:
		s := script.QuestionStep{Questions: []script.Question{g.question()}, Blocking: pick(g, true, false)}
		for range g.IntN(2) {
			second := g.question()
			second.ID = s.Questions[0].ID + "2"
			s.Questions = append(s.Questions, second)
		}
		return s
	case 16:
		return script.TaskStep{Description: g.filled(), Type: pick(g, "", "x"), Steps: g.steps(depth - 1)}
	case 17:
		return script.EventStep{Type: g.filled(), ItemID: pick(g, "", "x"), RequestID: pick(g, "", "x"), Payload: g.object()}
	case 18:
		return script.WaitStep{Tool: g.filled(), Server: pick(g, "", g.filled()), Timeout: g.delay()}
	case 19:
		return script.WaitForStep{
			Tool: g.filled(), Path: g.text(), AtLeast: g.IntN(3), Arguments: g.object(), ID: pick(g, "", "id"), Server: pick(g, "", g.filled()), Timeout: g.delay(),
		}
	}
	return script.UsageStep{UsedTokens: g.IntN(1e6), MaxTokens: g.IntN(3), ToolUses: g.IntN(3), CompactsAutomatically: pick(g, true, false)}
}
