package replay

import (
	"context"
	"encoding/json"
)

// Extraction is what was extracted, for specs.
type Extraction struct {
	Schema      int
	Normalisers []Normaliser
	CWD         string
	Source      Source
	Turns       []Turn
	Branch      string
}

// Extract is extract.
func Extract(entries []Entry) (*Extraction, error) {
	x, err := extract(entries)
	if err != nil {
		return nil, err
	}
	return &Extraction{x.schema, x.normalisers, x.cwd, x.source, x.turns, x.branch}, nil
}

// Executor and Raw are what an event has inside.
func (e Event) Executor() string { return e.executor }
func (e Event) Raw() string      { return e.raw }

func (t Turn) Clone() Turn          { return t.clone() }
func (u Usage) Plus(v Usage) Usage  { return u.plus(v) }
func (u Usage) Minus(v Usage) Usage { return u.minus(v) }

// KnownKinds are the kinds that entries may have: those of the agent, and all others.
func KnownKinds() (agent, others []string) {
	for name, k := range entryKinds {
		if k.agent {
			agent = append(agent, name)
		} else {
			others = append(others, name)
		}
	}
	return agent, others
}

// KnownCodes are the codes that a recorded failure may have.
func KnownCodes() []Code { return codes }

// Side is one of the two that a normaliser is applied to.
type Side = side

func SideOf(cwd, branch string) Side { return side{cwd, branch} }

func Normalise(rules []Normaliser, s Side, text string) string { return normalise(rules, s, text) }

func (n Normaliser) Check() error { return n.check() }

// PromptDivergence compares two prompts of the same workspace in turn 2.
func PromptDivergence(recorded, live string, rules ...Normaliser) *Divergence {
	return promptDivergence(2, recorded, live, rules, side{}, side{}, nil)
}

// SidedDivergence compares two prompts of two workspaces.
func SidedDivergence(recorded, live string, recordedSide, liveSide Side, rules ...Normaliser) *Divergence {
	return promptDivergence(2, recorded, live, rules, recordedSide, liveSide, nil)
}

// RedactedDivergence compares a prompt as it was recorded with one that is still to be redacted.
func RedactedDivergence(recorded, live string, redact func(string) string) *Divergence {
	return promptDivergence(2, recorded, live, nil, side{}, side{}, redact)
}

var (
	FindSecrets = findSecrets
	RedactEntry = redactEntry
	PatchTexts  = patchTexts
)

// FileName is that of a file in a patch.
func (p patched) FileName() string { return p.file }

// Text is the content.
func (p patched) Text() string { return p.text }

// SecretTexts are the texts for which FindSecrets has a finding.
func SecretTexts(e Entry) (all []string) {
	var s secretSearch
	if json.Valid(e) {
		s.json(nil, string(e))
	} else {
		s.text(nil, string(e))
	}
	for _, h := range s.hits {
		all = append(all, h.secret)
	}
	return all
}

// EventOf is an event of a kind.
func EventOf(kind string) Event { return Event{kind: kind} }

// Workspace is a workspace whose commits are rebuilt.
type Workspace struct {
	Runner              Runner
	Dir                 string
	Env                 map[string]string
	Unclean, KeepFailed bool
}

// Rebuild is the one that an agent does.
func (w Workspace) Rebuild(ctx context.Context, c *Changes, diverged func(*Divergence) error, warn func(string)) ([]string, error) {
	return workspace{w.Runner, w.Dir, w.Env, w.Unclean, w.KeepFailed}.rebuild(ctx, c, diverged, warn)
}

// CommitsLimit is how many bytes are recorded.
const CommitsLimit = commitsLimit
