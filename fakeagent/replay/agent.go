package replay

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/understudy-go/understudy/fakeagent"
)

// Agent plays a journal, once: its place in it never goes back. It is a [fakeagent.Provider], and whoever runs turns himself calls
// [Agent.Play]. All methods may be called from any goroutine, but turns are played one after the other.
type Agent struct {
	*fakeagent.Instance

	extraction
	options

	mu       sync.Mutex
	at       int // the turn that is next, from 0
	report   Report
	owner    string // the thread that plays the journal
	told     Usage  // to the host, by the thread
	playing  bool
	ids      map[string]int // of the tool calls that a provider was told, and the last number behind one
	reopened bool           // the owner's session is another one than that of the turn before
}

var _ fakeagent.Provider = (*Agent)(nil)

// Option shapes a replay.
type Option func(*options)

type options struct {
	policy      Policy
	workspace   workspace
	noWorkspace bool
	rules       []Normaliser
	redact      func(string) string
	speed       float64
	features    Features
	leftOver    bool
	warned      func(error)
}

// WithDivergence says what happens where the host, or its workspace, is not as recorded; [Fail] by default.
func WithDivergence(p Policy) Option { return func(o *options) { o.policy = p } }

// WithoutCleanCheck does not ask whether the workspace is clean before commits are made in it. What is staged then becomes a part of them.
func WithoutCleanCheck() Option { return func(o *options) { o.workspace.unclean = true } }

// WithoutWorkspace leaves recorded commits out. By default a turn that has some makes them in its folder, which must be a git work tree.
func WithoutWorkspace() Option { return func(o *options) { o.noWorkspace = true } }

// KeepFailed leaves the files of a commit that could not be made as they are, for a look at them. By default they are put back.
func KeepFailed() Option { return func(o *options) { o.workspace.keepFailed = true } }

// WithRunner runs git for the workspace; by default it is [OSRunner].
func WithRunner(r Runner) Option { return func(o *options) { o.workspace.runner = r } }

// WithNormalisers are rules for the comparison of prompts, in addition to those that the journal has itself. The built-in ones are applied first, in
// the order of [Normalisers], and then the others, as they are given.
func WithNormalisers(rules ...Normaliser) Option {
	return func(o *options) { o.rules = append(o.rules, rules...) }
}

// WithRedaction is the function that the journal was recorded with; see [RecorderConfig]. It is applied to each prompt before that is compared.
func WithRedaction(redact func(string) string) Option { return func(o *options) { o.redact = redact } }

// WithSpeed reproduces the time between recorded events: 1 as it was, 10 ten times as fast. By default nothing is waited for, as with 0.
func WithSpeed(factor float64) Option { return func(o *options) { o.speed = factor } }

// WithFeatures is what the agent can do; by default [ReplayFeatures].
func WithFeatures(f Features) Option { return func(o *options) { o.features = f } }

// WithWarnings has fn called with each warning: a [*Divergence] under [Warn], or another error that says what was not quite as recorded. A host
// that uses the agent as a provider has them as events, of the type runtime.warning.
func WithWarnings(fn func(error)) Option { return func(o *options) { o.warned = fn } }

// AllowUnplayed is for [ForTest]: turns that were not played do not fail the test.
func AllowUnplayed() Option { return func(o *options) { o.leftOver = true } }

// New makes an agent of a journal. All of it is checked here, but for what the payload of a recorded event of a provider says: where that cannot
// be, the turn fails that has it. The error is an [*Error] with the code [Configuration], which names the entry that is wrong. The caller closes
// the agent if it is used as a provider; [ForTest] does so for a test.
func New(entries []Entry, opts ...Option) (*Agent, error) {
	return build(entries, opts, func(cfg fakeagent.Config) (*fakeagent.Instance, error) { return fakeagent.New(cfg) })
}

func build(entries []Entry, opts []Option, instance func(fakeagent.Config) (*fakeagent.Instance, error)) (*Agent, error) {
	a := &Agent{options: options{policy: Fail, features: ReplayFeatures(), workspace: workspace{runner: OSRunner{}}}}
	for _, opt := range opts {
		opt(&a.options)
	}
	if err := a.options.check(); err != nil {
		return nil, err
	}
	x, err := extract(entries)
	if err != nil {
		return nil, err
	}
	a.extraction = *x
	a.rules = inOrder(append(slices.Clone(x.normalisers), a.rules...))
	a.Instance, err = instance(a.Config())
	return a, err
}

func (o *options) check() error {
	switch {
	case o.policy != Fail && o.policy != Warn:
		return configuration("the divergence policy is %q; use %q or %q", o.policy, Fail, Warn)
	case !(o.speed >= 0):
		return configuration("the speed is %v; use 0 for no waiting, or a number above it", o.speed)
	case o.workspace.runner == nil:
		return configuration("the runner is nil; leave WithRunner out for git on this machine")
	}
	for _, r := range o.rules {
		if err := r.check(); err != nil {
			return err
		}
	}
	return o.features.Check()
}

// ForTest is [New] for a test. At its end the agent is closed, and the test fails if a turn of the journal was not played, unless it has failed
// before. What was only a warning is logged then.
func ForTest(t fakeagent.T, entries []Entry, opts ...Option) *Agent {
	t.Helper()
	a, err := build(entries, opts, func(cfg fakeagent.Config) (*fakeagent.Instance, error) { return fakeagent.NewT(t, cfg), nil })
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		t.Helper()
		if l, ok := t.(interface{ Logf(string, ...any) }); ok {
			for _, w := range a.warnings() {
				l.Logf("%v", w)
			}
		}
		if f, ok := t.(interface{ Failed() bool }); a.leftOver || ok && f.Failed() {
			return
		}
		if left := a.RemainingTurns(); left > 0 {
			next := len(a.turns) - left
			t.Errorf("replay: the test has ended, and the host has played %d of %d turns; turn %d, whose prompt is %.80q, is next", next, len(a.turns), next+1, a.turns[next].Prompt)
		}
	})
	return a
}

// Kind is [AgentReplay].
func (a *Agent) Kind() AgentKind { return AgentReplay }

// Name is what the agent is called in events and messages: replay, unless its features have another name.
func (a *Agent) Name() string { return a.features.Name }

// Source is who was observed when the journal was recorded.
func (a *Agent) Source() Source { return a.source }

// Divergence is what happens where something is not as recorded.
func (a *Agent) Divergence() Policy { return a.policy }

// Features is what the agent can do.
func (a *Agent) Features() Features { return a.features }

// Turns are all turns of the journal. They are copies.
func (a *Agent) Turns() []Turn {
	turns := make([]Turn, len(a.turns))
	for i, t := range a.turns {
		turns[i] = t.clone()
	}
	return turns
}

// RemainingTurns is how many turns were not taken yet.
func (a *Agent) RemainingTurns() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.turns) - a.at
}

// NextTurn takes the next turn. ok is false when there is none, from then on for ever.
func (a *Agent) NextTurn() (t Turn, ok bool) {
	next, _, ok := a.take()
	if ok {
		t = next.clone()
	}
	return t, ok
}

// take is NextTurn, with the number of the turn, from 1.
func (a *Agent) take() (t *Turn, number int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == len(a.turns) {
		return nil, a.at + 1, false
	}
	a.at++
	return &a.turns[a.at-1], a.at, true
}

// PendingSteering are the instructions of the user that began the next turn, which it does not take. nil: it began otherwise, or there is none.
func (a *Agent) PendingSteering() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == len(a.turns) {
		return nil
	}
	return slices.Clone(a.turns[a.at].ResumedBy)
}

// Report is what a replay has come to so far. It turns into JSON for whoever is no person.
type Report struct {
	Source      Source         `json:"source"`
	Policy      Policy         `json:"policy"`
	Turns       int            `json:"turns"`
	Remaining   int            `json:"remaining"` // turns that were not taken
	Divergences []*Divergence  `json:"divergences"`
	Warnings    []string       `json:"warnings"` // others than divergences
	Commits     []string       `json:"commits"`  // the ids of those that were made
	Dropped     map[string]int `json:"dropped"`  // how many events of each kind a provider has no event for
}

// Report is what the replay has come to so far.
func (a *Agent) Report() Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.report
	r.Source, r.Policy, r.Turns, r.Remaining = a.source, a.policy, len(a.turns), len(a.turns)-a.at
	r.Divergences = append([]*Divergence{}, r.Divergences...)
	r.Warnings = append([]string{}, r.Warnings...)
	r.Commits = append([]string{}, r.Commits...)
	r.Dropped = maps.Clone(r.Dropped)
	if r.Dropped == nil {
		r.Dropped = map[string]int{}
	}
	return r
}

// warnings are all that was wrong and has ended nothing.
func (a *Agent) warnings() (all []error) {
	r := a.Report()
	for _, d := range r.Divergences {
		if a.policy == Warn && !d.Hard {
			all = append(all, d)
		}
	}
	for _, w := range r.Warnings {
		all = append(all, errors.New("replay: "+w))
	}
	return all
}

// note changes the report.
func (a *Agent) note(fn func(*Report)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fn(&a.report)
}

// Dump prints how far the replay is, and what the agent has played as a provider.
func (a *Agent) Dump() string {
	left := a.RemainingTurns()
	text := fmt.Sprintf("replay: %d of %d turns played", len(a.turns)-left, len(a.turns))
	for _, d := range a.Report().Divergences {
		text += "\n" + d.Error()
	}
	return text + "\n" + a.Instance.Dump()
}

// GomegaString is how a failure message shows the agent.
func (a *Agent) GomegaString() string { return a.Dump() }
