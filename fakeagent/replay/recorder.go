package replay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// RecorderConfig says what a journal is recorded of.
type RecorderConfig struct {
	Dir         string              // the workspace, whose commits are recorded; "" is none
	Runner      Runner              // runs git in it; nil is [OSRunner]
	Normalisers []Normaliser        // that replays are to apply to prompts
	Redact      func(string) string // what is not to be in the journal, see [RedactValues]; replays need the same one, by [WithRedaction]
	Label       string              // of all entries; "" is none
}

// Recorder writes the journal of a run while that happens. Its methods may be called from any goroutine. What goes wrong with it never
// changes the run: [Recorder.Close] tells.
type Recorder struct {
	cfg  RecorderConfig
	name string

	mu        sync.Mutex // not held while anything is recorded
	warnings  []string
	providers []*recorded

	order    turnstile // of what follows: entries come one at a time, and wait while git works for those before them
	file     *os.File
	out      *bufio.Writer
	seq      int
	pass     int // prompts so far
	turns    int // and steers that resume
	usage    Usage
	findings []Finding
	failed   error // the first one

	base      Revision // of the workspace, when the turn began
	running   bool     // a turn is
	resumed   bool     // by a steer, and nothing has come since: a prompt is what the host made of it
	committed bool     // the journal has commits
}

// turnstile lets one through at a time. Who waits at it, unlike at a mutex, lets virtual time go on.
type turnstile chan struct{}

func newTurnstile() turnstile { return make(turnstile, 1) }

func (t turnstile) enter() { t <- struct{}{} }
func (t turnstile) leave() { <-t }

// SecretError is a journal that was not saved, since something in it has the shape of a secret.
type SecretError struct {
	Name     string // of the file
	Findings []Finding
}

func (e *SecretError) Error() string {
	const most = 10
	all := "replay: " + e.Name + " was not saved, since it would have what looks like a secret; replace such values by RecorderConfig.Redact"
	for _, f := range e.Findings[:min(most, len(e.Findings))] {
		all += "\n  " + f.String()
	}
	if more := len(e.Findings) - most; more > 0 {
		all += fmt.Sprintf("\n  … and %d more", more)
	}
	return all
}

// NewRecorder begins a journal in a file. Until it is closed the file has .partial behind its name. It can be read when a process dies; only a message
// that was not over is not in it. What is there under that name is replaced.
func NewRecorder(ctx context.Context, name string, cfg RecorderConfig) (*Recorder, error) {
	if cfg.Runner == nil {
		cfg.Runner = OSRunner{}
	}
	if cfg.Redact == nil {
		cfg.Redact = func(text string) string { return text }
	}
	for _, n := range cfg.Normalisers {
		if err := n.check(); err != nil {
			return nil, err
		}
	}
	r := &Recorder{cfg: cfg, name: name, order: newTurnstile()}
	if cfg.Dir != "" {
		base, err := Baseline(ctx, cfg.Runner, cfg.Dir)
		if err != nil {
			return nil, err
		}
		r.base = base
	}
	file, err := os.OpenFile(r.partial(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, configuration("the journal cannot be written: %w", err)
	}
	r.file, r.out = file, bufio.NewWriter(file)
	h := map[string]any{"schema": newestSchema}
	if len(cfg.Normalisers) > 0 {
		h["normalisers"] = cfg.Normalisers
	}
	if cfg.Dir != "" {
		h["cwd"] = cfg.Dir
	}
	r.order.enter()
	defer r.order.leave()
	r.put(newEvent(headerKind, h).raw, headerKind)
	r.add("sandbox", "dispatch-start", nil)
	return r, nil
}

func (r *Recorder) partial() string { return r.name + ".partial" }

// Add adds an entry: who was observed, such as agent or git, what kind of entry it is, and its own members. The rest of it, such as the time, is
// the recorder's. A prompt begins a turn and a summary ends one; the commits of a turn are recorded when it ends, or else when the next one begins.
// The tokens of a usage are a [Usage].
func (r *Recorder) Add(source Source, kind string, fields map[string]any) {
	r.order.enter()
	defer r.order.leave()
	agents := source.ofAgent()
	switch resumption := kind == "steer" && fields["mode"] == resumed; {
	case agents && kind == "prompt" && !r.resumed, agents && resumption && r.running && !r.resumed:
		r.begin(kind)
	}
	if u, ok := fields["tokens"].(Usage); ok && kind == "usage" {
		r.usage = r.usage.plus(u)
	}
	r.add(source, kind, maps.Clone(fields))
	if agents {
		r.resumed = r.running && kind == "steer" && fields["mode"] == resumed
	}
	if kind == "summary" {
		r.end(context.Background())
	}
}

// addAt adds an entry of something that was before now.
func (r *Recorder) addAt(at time.Time, source Source, kind string, fields map[string]any) {
	r.order.enter()
	defer r.order.leave()
	r.entry(at, source, kind, fields)
}

// mayCut is whether the pieces of a text have nothing of what must not be in a journal, as they are redacted and searched one by one. What was said
// before of the same message is in the journal already: if that cuts something in two, nothing can be saved.
func (r *Recorder) mayCut(pieces []piece, whole, before string) bool {
	r.order.enter()
	defer r.order.leave()
	if before != "" && (r.cfg.Redact(before+whole) != r.cfg.Redact(before)+r.cfg.Redact(whole) || hidden(before+whole) > hidden(before)+hidden(whole)) {
		r.findings = append(r.findings, Finding{fmt.Sprintf("behind entry %d", r.seq), "what is to be hidden, in a message that something else has cut in two"})
	}
	var redacted strings.Builder
	for _, p := range pieces {
		redacted.WriteString(r.cfg.Redact(p.Text))
	}
	return len(pieces) < 2 || redacted.String() == r.cfg.Redact(whole) && hidden(whole) == 0
}

// hidden is how many secrets seem to be in a text.
func hidden(text string) int { return len(findSecrets(quoteJSON(text))) }

// settle ends a turn that has no summary.
func (r *Recorder) settle() {
	r.order.enter()
	defer r.order.leave()
	r.end(context.Background())
}

// begin begins a turn, as those who read journals count them: with a prompt, or with the steer that resumes the one before.
func (r *Recorder) begin(kind string) {
	r.end(context.Background())
	if kind == "prompt" {
		r.pass++
	}
	r.turns++
	r.running = true
	if r.cfg.Dir == "" {
		return
	}
	base, err := Baseline(context.Background(), r.cfg.Runner, r.cfg.Dir)
	r.base = base // without a commit where there is none, which is then the reason that the commits are not recorded
	if err != nil {
		r.warn(err.Error())
	}
}

// end records what a turn has committed.
func (r *Recorder) end(ctx context.Context) {
	if !r.running {
		return
	}
	r.running = false
	if r.cfg.Dir == "" {
		return
	}
	if head, err := Baseline(ctx, r.cfg.Runner, r.cfg.Dir); err != nil || head != r.base {
		changes := RecordCommits(ctx, r.cfg.Runner, r.cfg.Dir, r.base)
		r.changes(&changes)
	}
}

// envelope is what each entry has. Its members come first, for whoever reads the file.
type envelope struct {
	Kind   string    `json:"kind"`
	Seq    int       `json:"seq"`
	At     time.Time `json:"at"`
	Source Source    `json:"source"`
	Scope  scope     `json:"scope"`
	Label  string    `json:"label,omitempty"`
	Pass   int       `json:"pass,omitempty"`
}

type scope struct {
	DispatchID string `json:"dispatchId"`
	Pass       int    `json:"pass,omitempty"`
}

// add adds an entry of now, and begins and ends no turn. The caller has entered order.
func (r *Recorder) add(source Source, kind string, fields map[string]any) {
	r.entry(time.Now(), source, kind, fields)
}

// entry adds one. The caller has entered order.
func (r *Recorder) entry(at time.Time, source Source, kind string, fields map[string]any) {
	r.seq++
	e := envelope{Kind: kind, Seq: r.seq, At: at.UTC().Truncate(time.Millisecond), Source: source, Scope: scope{DispatchID: "d1"}, Label: r.cfg.Label}
	if source.ofAgent() {
		e.Pass, e.Scope.Pass = r.pass, r.pass
	}
	entry, err := compose(e, fields)
	if err != nil {
		r.fails(r.unrecordable(kind, err))
		return
	}
	r.put(string(entry), kind)
}

func (r *Recorder) unrecordable(kind string, err error) error {
	return fmt.Errorf("replay: entry %d (%s) cannot be recorded: %w", r.seq, kind, err)
}

// put writes an entry, redacted, unless there is a secret in it.
func (r *Recorder) put(text, kind string) {
	entry, err := redactEntry(Entry(text), r.cfg.Redact)
	if err != nil {
		r.fails(r.unrecordable(kind, err))
		return
	}
	if found := findSecrets(entry); len(found) > 0 {
		for _, f := range found {
			f.Path = fmt.Sprintf("entry %d (%s): %s", r.seq, kind, f.Path)
			r.findings = append(r.findings, f)
		}
		return // not even into the file that is not saved
	}
	r.write(string(entry))
	if kind != commitsKind {
		return
	}
	if o := objectOf(entry); o.str("unavailable") != "" { // be it that a redaction has made them so
		why := fmt.Sprintf("the commits of turn %d: %s", r.turns, o.str("unavailable"))
		r.warn(why)
		r.add("git", "warning", map[string]any{"message": why})
	}
}

// compose is an entry of its envelope and its members.
func compose(e envelope, fields map[string]any) (Entry, error) {
	head, err := marshal(e)
	if err != nil {
		return nil, err
	}
	delete(fields, "kind")
	for _, key := range envelopeKeys {
		delete(fields, key)
	}
	rest, err := marshal(fields)
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 {
		return head, nil
	}
	return slices.Concat(head[:len(head)-1], []byte{','}, rest[1:]), nil
}

// marshal is JSON as people write it.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (r *Recorder) write(line string) {
	if r.out == nil {
		return
	}
	_, err := r.out.WriteString(line + "\n")
	if err == nil {
		err = r.out.Flush() // a process may die at any time
	}
	r.fails(err)
}

func (r *Recorder) fails(err error) {
	if r.failed == nil {
		r.failed = err
	}
}

// Warnings are what could not be recorded, such as commits that nobody could make anew.
func (r *Recorder) Warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.warnings)
}

func (r *Recorder) warn(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warnings = append(r.warnings, why)
}

func (r *Recorder) changes(c *Changes) {
	r.committed = true
	fields := map[string]any{}
	if r.turns > 0 {
		fields["turn"] = r.turns
	}
	text, err := marshal(c)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	r.fails(err)
	r.add("git", commitsKind, fields)
}

// Close ends the journal, with how the run ended: nil is well. Then the journal has its name. The error is what went wrong with the recorder, and
// then nothing was saved; a [*SecretError] says that something looks like a secret.
func (r *Recorder) Close(ctx context.Context, run error) error {
	r.mu.Lock()
	providers := r.providers
	r.mu.Unlock()
	for _, p := range providers {
		p.unsubscribe()
		p.flush()
	}
	r.order.enter()
	defer r.order.leave()
	if r.file == nil {
		return errors.New("replay: the recorder is closed already")
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit) // a run that was canceled has commits, too
	defer cancel()
	r.end(late)
	if r.cfg.Dir != "" && !r.committed {
		r.changes(&Changes{Baseline: &r.base, Commits: []Commit{}})
	}
	end := map[string]any{"status": "done", "completed": run == nil, "usage": r.usage}
	if run != nil {
		end["status"], end["error"] = "failed", failureOf(run)
		if errors.Is(run, context.Canceled) {
			end["status"] = "cancelled"
		}
	}
	r.add("sandbox", finishedKind, end)
	r.fails(r.file.Close())
	r.file, r.out = nil, nil
	switch {
	case len(r.findings) > 0:
		_ = os.Remove(r.partial())
		return &SecretError{r.name, r.findings}
	case r.failed != nil:
		return r.failed
	}
	return os.Rename(r.partial(), r.name)
}

// failureOf is a failure in the words of journals.
func failureOf(err error) Failure {
	f := Failure{Code: Process, Message: err.Error()}
	var coded interface{ Code() string }
	failure, wrong := (*Failure)(nil), (*Error)(nil)
	switch {
	case errors.As(err, &failure):
		return Failure{failure.Code, err.Error(), failure.Status}
	case errors.As(err, &wrong):
		f.Code = wrong.Code
	case errors.Is(err, context.Canceled):
		f.Code = Aborted
	case errors.As(err, &coded) && slices.Contains(codes, Code(coded.Code())):
		f.Code = Code(coded.Code())
	}
	return f
}
