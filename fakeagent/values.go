package fakeagent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// values are what came of the steps of a turn, for the placeholders of later ones.
type values struct {
	answers  map[string]any // to the last question
	decision Decision       // of the last approval
	err      string         // of the last call that failed
}

// result is what an mcp step with an id got.
type result struct {
	id   string
	json json.RawMessage
}

// template plays a step with its placeholders filled in.
func (t *turn) template(s script.TemplateStep) error {
	step, err := s.Fill(t.value)
	if err == nil {
		err = checkDetail(step)
	}
	if err != nil {
		return &failure{message: fmt.Sprintf("fake-agent: invalid script: step %d (%s): %v", t.branch.Load().index.Load()+1, s.Key(), err)}
	}
	return t.step(step)
}

// value is what a placeholder stands for.
func (t *turn) value(name string) (json.RawMessage, error) {
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
			return json.RawMessage("{}"), nil
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
	if of, ok := strings.CutPrefix(name, "step:"); ok {
		if v, ok := t.th.kept(of); ok {
			return v, nil
		}
	}
	return nil, fmt.Errorf("unresolved placeholder {{%s}}", name)
}

// kept is what a step's result has at a path, as in id.path. The newest result of that id counts; "*" is the newest one that has something
// there, and needs no dot behind it.
func (th *thread) kept(of string) (json.RawMessage, bool) {
	id, path := of, ""
	if i := strings.IndexAny(of, ".["); strings.HasPrefix(of, "*") {
		id, path = "*", strings.TrimPrefix(of[1:], ".")
	} else if i >= 0 {
		id, path = of[:i], strings.TrimPrefix(of[i:], ".")
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	for i := len(th.results) - 1; i >= 0; i-- {
		if r := th.results[i]; r.id == id || id == "*" {
			if v, ok := script.Lookup(r.json, path); ok || id != "*" {
				return v, ok
			}
		}
	}
	return nil, false
}

// keep is a result, from now on, and takes the place of an earlier one of that id.
func (th *thread) keep(id string, v json.RawMessage) {
	th.mu.Lock()
	defer th.mu.Unlock()
	for i, r := range th.results {
		if r.id == id {
			th.results = append(th.results[:i], th.results[i+1:]...)
			break
		}
	}
	th.results = append(th.results, result{id, v})
}

func asJSON(v any) json.RawMessage {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // texts, and answers that came in JSON or will be refused
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
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
