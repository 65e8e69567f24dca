package fakeagent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// values are what came of the steps of a turn, for the placeholders of later ones.
type values struct {
	answers  map[string]any // to the last question
	decision Decision       // of the last approval
	err      string         // of the last call that failed
}

// result is what a call returned.
type result struct {
	id   string // "" is none
	json script.Doc
	past bool // it is one of those that "*" looks through
}

// template plays a step with its placeholders filled in.
func (t *turn) template(s script.TemplateStep) error {
	step, err := s.Fill(t.value)
	if err == nil {
		err = checkDetail(step)
	}
	if errors.As(err, new(unresolved)) && t.skips(s.Bare(), err) {
		return nil
	}
	if err != nil {
		return t.invalid(fmt.Errorf("step %d (%s): %w", t.branch.Load().index.Load()+1, s.Key(), err))
	}
	return t.step(step)
}

// value is what a placeholder stands for.
func (t *turn) value(name string) (script.Doc, error) {
	switch name {
	case "input":
		return asJSON(t.input.Text), nil
	case "steers":
		t.th.mu.Lock()
		defer t.th.mu.Unlock()
		var all strings.Builder
		for _, s := range t.steers {
			all.WriteString(" + " + s)
		}
		return asJSON(all.String()), nil
	case "attachments":
		names := make([]string, len(t.input.Attachments))
		for i, a := range t.input.Attachments {
			names[i] = a.Name
		}
		if len(names) == 0 {
			names = []string{"none"}
		}
		return asJSON(strings.Join(names, ", ")), nil
	case "thread":
		return asJSON(t.th.id), nil
	case "model":
		return asJSON(t.th.in.role.probe.model()), nil
	case "answers":
		if t.values.answers == nil {
			return "{}", nil
		}
		return asJSON(t.values.answers), nil
	case "decision":
		return asJSON(t.values.decision), nil
	case "error":
		return asJSON(t.values.err), nil
	}
	if key, ok := strings.CutPrefix(name, "config."); ok {
		return t.th.in.cfg.value(key)
	}
	if id, path, ok := script.StepReference(name); ok {
		if v, ok := t.th.kept(id, path); ok {
			return v, nil
		}
	}
	return "", unresolved(name)
}

// unresolved is a placeholder that stands for nothing.
type unresolved string

func (u unresolved) Error() string { return fmt.Sprintf("unresolved placeholder {{%s}}", string(u)) }

// skips leaves a step out that would report what came of it, and reports why.
func (t *turn) skips(s script.Step, why error) bool {
	var u unresolved
	errors.As(why, &u)
	var server, tool, before string
	switch s := s.(type) {
	case script.MCPStep:
		if server, tool = s.Server, s.Tool; !s.Report {
			return false
		}
	case script.WaitForStep:
		server, tool = s.Server, s.Tool
	case script.WaitStep:
		server, tool, before = s.Server, s.Tool, "wait "
	default:
		return false
	}
	t.reports(before+t.toolName(t.serverName(server), cmp.Or(tool, "{{…}}")), " failed: ", u.Error()) // a name that has a placeholder is not known
	return true
}

// kept is what the newest result of an id has at a path; "*" is the newest call that has something there.
func (th *thread) kept(id, path string) (script.Doc, bool) {
	th.mu.Lock()
	defer th.mu.Unlock()
	for _, r := range slices.Backward(th.results) {
		if id == "*" && r.past {
			if v, ok := r.json.Lookup(path); ok {
				return v, true
			}
		} else if r.id == id && id != "" {
			return r.json.Lookup(path)
		}
	}
	return "", false
}

// keep is a result, from now on.
func (th *thread) keep(r result) {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.results = append(th.results, r)
}

func asJSON(v any) script.Doc {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // texts, and answers that came in JSON or will be refused
	return script.Doc(strings.TrimSuffix(b.String(), "\n"))
}

// model is provider/model of the default model.
func (p Probe) model() string {
	for _, m := range p.Models {
		if m.Default {
			return p.ID + "/" + m.ID
		}
	}
	return p.ID
}
