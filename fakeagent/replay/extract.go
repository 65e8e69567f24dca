package replay

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent/internal/jsonscan"
)

const (
	headerKind   = "journal"
	commitsKind  = "workspace-commits"
	finishedKind = "dispatch-finished"
	eventKind    = "event"

	resumed = "resumed" // the mode of a steer that begins a turn
)

// header is what a journal says about itself.
type header struct {
	schema      int // 0: the source's form, which has no header
	normalisers []Normaliser
	cwd         string // the workspace that it was recorded in
}

// newestSchema is that of the journals that are read.
const newestSchema = 1

// extraction is what a journal has, in the form in which it is played.
type extraction struct {
	header
	source Source
	turns  []Turn
	branch string // of the workspace; "" if nobody says
}

// extract validates all entries and makes turns of them. The error is an [*Error] with the code configuration.
func extract(entries []Entry) (*extraction, error) {
	x := extractor{out: extraction{source: SourceAgent}}
	for i, e := range entries {
		if err := x.take(i, e); err != nil {
			return nil, x.wrong(i, err)
		}
	}
	if i, err := x.attachChanges(); err != nil {
		return nil, x.wrong(i, err)
	}
	if x.drafts == nil {
		return nil, configuration(`there is no turn in the %d entries; one begins with a "prompt" whose source is "agent" or "harness"`, len(entries))
	}
	return x.finish(), nil
}

// extractor goes over the entries once.
type extractor struct {
	out     extraction
	entry   object // the one that is looked at
	name    string // its kind, as far as that is known
	drafts  []*draft
	current *draft // the turn that is open, or nil
	failure *Failure
	changes []attachment
}

// draft is a turn that is being put together.
type draft struct {
	Turn
	before    Usage  // of the parts of the pass that came before, where a steer has cut it
	observed  Usage  // by its usage events
	total     *Usage // of the pass, by its summary
	continued bool   // in the next turn, by a steer
	aborted   bool   // by the user, and then it was over
}

// attachment is what was recorded of the commits of a turn.
type attachment struct {
	entry int
	turn  int64 // from 1; 0: before any
	*Changes
}

func (x *extractor) wrong(entry int, err error) *Error {
	e := configuration("%w", err)
	e.Entry, e.Kind = entry, x.name
	return e
}

// take takes an entry. The order of its cases is that in which the ones who write journals read them.
func (x *extractor) take(number int, e Entry) error {
	kind, err := x.open(number, e)
	if err != nil {
		return err
	}
	source := Source(x.entry.str("source"))
	switch {
	case x.name == commitsKind:
		return x.workspaceCommits(number)
	case x.name == finishedKind:
		x.dispatchFinished()
	case source == sourceDecision:
		if kind != nil && x.current != nil {
			x.decision(kind, e)
		}
	case source.ofAgent():
		if source == SourceHarness {
			x.out.source = source
		}
		if kind != nil && kind.agent {
			x.agentEvent(kind, e)
		}
	}
	return nil
}

// open validates an entry. Its kind is nil where nobody knows it.
func (x *extractor) open(number int, e Entry) (*entryKind, error) {
	x.name = ""
	begin := jsonscan.Space(e, 0)
	switch {
	case !json.Valid(e):
		_, why, _ := syntaxError(e)
		return nil, fmt.Errorf("it is no JSON: %s", why)
	case e[begin] != '{':
		return nil, fmt.Errorf("it is %s; an entry must be an object", excerpt(e))
	}
	x.entry.read(e)
	if m := x.entry.check(entryFields); m != nil {
		return nil, m
	}
	name := x.entry.str("kind")
	if name == headerKind {
		h, err := parseHeader(&x.entry, number)
		x.name, x.out.header = name, h
		return nil, err
	}
	kind := entryKinds[name]
	if kind == nil || name == eventKind && x.out.schema == 0 {
		return nil, nil
	}
	x.name = name
	return kind, x.validate(kind)
}

// validate checks the fields of an entry. Kinds of the agent mean something else where they come from others, such as a conversation that is
// stored somewhere.
func (x *extractor) validate(kind *entryKind) error {
	if source := Source(x.entry.str("source")); kind.agent && !source.ofAgent() && source != sourceDecision {
		return nil
	}
	if m := x.entry.check(kind.fields); m != nil {
		return m
	}
	if kind.name == "decision" {
		return unknownDecision(&x.entry)
	}
	if kind.agent && x.out.schema > 0 && x.entry.get(eventKind) != nil {
		v := x.entry.get(eventKind)
		if m := anObject.check(v); m != nil {
			return m.in(eventKind)
		}
		if m := anExecutorEvent.check(v); m != nil {
			return fmt.Errorf("event is no event of a provider: %w", m)
		}
	}
	return nil
}

// parseHeader is what the first entry of a journal says about it.
func parseHeader(o *object, number int) (h header, err error) {
	if number > 0 {
		return h, errors.New("a header must be the first entry; two journals are not one")
	}
	if m := o.check(headerFields[:1]); m != nil {
		return h, m
	}
	if schema := o.count("schema"); schema > newestSchema {
		return h, fmt.Errorf("schema is %d: it was written by a newer version, and this one reads no more than %d", schema, newestSchema)
	}
	if m := o.check(headerFields); m != nil {
		return h, m
	}
	h.schema, h.cwd = newestSchema, o.str("cwd")
	if list := o.get("normalisers"); list != nil {
		for _, v := range elements(list) {
			n := readNormaliser(v)
			if err := n.wrong(); err != nil {
				return h, fmt.Errorf("normalisers[%d]: %w", len(h.normalisers), err)
			}
			h.normalisers = append(h.normalisers, n)
		}
	}
	return h, nil
}

func readNormaliser(v []byte) Normaliser {
	if isText(v) {
		return Normaliser{Name: textOf(v)}
	}
	o := objectOf(v)
	return Normaliser{Pattern: o.str("pattern"), Replace: o.str("replace")}
}

// workspaceCommits takes the commits of a turn: of the one that the entry names, or else of the last one, which is over then.
func (x *extractor) workspaceCommits(number int) error {
	changes, err := readChanges(&x.entry)
	if err != nil {
		return err
	}
	a := attachment{number, int64(len(x.drafts)), changes}
	if x.entry.get("turn") != nil {
		a.turn = x.entry.count("turn")
	} else {
		x.current = nil
	}
	x.changes = append(x.changes, a)
	return nil
}

// attachChanges gives the turns their commits, which only now are all there. An error is about the entry.
func (x *extractor) attachChanges() (entry int, err error) {
	for _, a := range x.changes {
		if a.turn > int64(len(x.drafts)) {
			x.name = commitsKind
			return a.entry, fmt.Errorf("turn is %d; the journal has %d", a.turn, len(x.drafts))
		}
		if a.turn > 0 {
			x.drafts[a.turn-1].Changes = a.Changes
		}
	}
	return 0, nil
}

func readChanges(o *object) (*Changes, error) {
	c := &Changes{Unavailable: o.str("unavailable")}
	if v := o.get("baseline"); v != nil {
		b := objectOf(v)
		c.Baseline = &Revision{b.str("commit"), b.str("tree")}
	}
	if c.Unavailable != "" {
		return c, nil
	}
	if m := o.check([]field{has("baseline", aRevision), has("commits", theCommits)}); m != nil {
		return nil, fmt.Errorf(`%w, as there is no "unavailable"`, m)
	}
	c.Commits = []Commit{}
	for _, v := range elements(o.get("commits")) {
		c.Commits = append(c.Commits, readCommit(v))
	}
	return c, nil
}

func readCommit(v []byte) Commit {
	o := objectOf(v)
	c := Commit{
		OID: o.str("oid"), Tree: o.str("tree"), Message: o.str("message"), Patch: o.str("patch"),
		Author: readIdentity(o.get("author")), Committer: readIdentity(o.get("committer")),
	}
	if raw := o.get("raw"); raw != nil {
		c.Raw, _ = base64.StdEncoding.DecodeString(textOf(raw)) // it was checked
	}
	return c
}

func readIdentity(v []byte) Identity {
	o := objectOf(v)
	return Identity{o.str("name"), o.str("email"), o.str("date")}
}

// dispatchFinished takes the end of the recording.
func (x *extractor) dispatchFinished() {
	x.current = nil
	if branch := x.entry.str("branch"); branch != "" {
		x.out.branch = branch
	}
	v := x.entry.get("error")
	if v == nil {
		return
	}
	o := objectOf(v)
	x.failure = &Failure{Code(o.str("code")), o.str("message"), int(o.count("status"))}
	if !slices.Contains(codes, x.failure.Code) {
		x.failure.Code = Process
	}
}

// decision takes what the host decided while a turn was open.
func (x *extractor) decision(kind *entryKind, e Entry) {
	d := Decision{Before: len(x.current.Events), Subagent: x.entry.str("subagentId"), Event: x.event(kind, e)}
	if scope := x.entry.get("scope"); scope != nil && scope[0] == '{' && d.Subagent == "" {
		o := objectOf(scope)
		d.Subagent = o.str("subagentId")
	}
	x.current.Decisions = append(x.current.Decisions, d)
}

// agentEvent takes an entry of the agent.
func (x *extractor) agentEvent(kind *entryKind, e Entry) {
	t := x.current
	switch {
	case kind.name == "prompt":
		x.prompt(x.entry.str("text"))
		x.current.Began = x.time()
	case t == nil: // it is nobody's
	case kind.name == "fallback":
		t.Handover = readHandover(&x.entry)
		t.Handover.Event = x.event(kind, e)
		x.current = nil
	case kind.name == "summary":
		total := readUsage(x.entry.get("tokens"))
		t.total, t.Metered = &total, true
		x.current = nil
	case kind.name == "steer" && x.entry.str("mode") == resumed:
		x.resumed(x.entry.str("text"))
	case kind.stored:
		x.store(kind, e)
	}
}

func (x *extractor) begin(prompt string) *draft {
	x.current = &draft{Turn: Turn{Prompt: prompt}}
	x.drafts = append(x.drafts, x.current)
	return x.current
}

// prompt begins a turn, unless it is only the words in which a host has passed on the instruction that began the open one.
func (x *extractor) prompt(text string) {
	if t := x.current; t != nil && t.resumedOnly() {
		t.Prompt = text
		return
	}
	x.begin(text)
}

// resumed begins a turn by an instruction of the user, or adds to the instructions that have begun the open one.
func (x *extractor) resumed(instruction string) {
	t := x.current
	if t.resumedOnly() {
		t.ResumedBy = append(t.ResumedBy, instruction)
		t.Prompt = strings.Join(t.ResumedBy, "\n\n")
		return
	}
	t.continued = true
	next := x.begin(instruction)
	next.ResumedBy, next.Began = []string{instruction}, x.time()
	next.before = t.before.plus(t.observed)
}

// resumedOnly is whether it has nothing but the instructions that began it.
func (t *draft) resumedOnly() bool { return t.ResumedBy != nil && len(t.Events) == 0 }

// store makes an entry an event of the open turn.
func (x *extractor) store(kind *entryKind, e Entry) {
	t := x.current
	t.Events = append(t.Events, x.event(kind, e))
	switch kind.name {
	case "conversation":
		t.Conversation = x.entry.str("id")
	case "stopped":
		t.Interrupted = t.Interrupted || x.entry.str("reason") == "steered"
		t.aborted = x.entry.str("reason") == "aborted"
	case "usage":
		t.Metered = true
		tokens := readUsage(x.entry.get("tokens"))
		if x.entry.flag("cumulative") {
			t.observed = tokens.minus(t.before) // it counts from the beginning of the pass
		} else {
			t.observed = t.observed.plus(tokens)
		}
	}
}

func (x *extractor) event(kind *entryKind, e Entry) Event {
	ev := Event{kind: kind.name, raw: string(e)}
	text := func(key string) string { // which is often a part of raw
		m := x.entry.member(key)
		switch {
		case m == nil || e[m.at] != '"':
			return ""
		case plainText(e[m.at:m.end]):
			return ev.raw[m.at+1 : m.end-1]
		}
		return textOf(e[m.at:m.end])
	}
	if kind.says {
		ev.text = text("text")
		if x.out.schema > 0 {
			ev.item = text("itemId")
		}
	}
	if m := x.entry.member(eventKind); m != nil && kind.agent && x.out.schema > 0 {
		ev.executor = ev.raw[m.at:m.end]
	}
	ev.at = x.time()
	return ev
}

// time is when the entry was recorded. One that nobody understands is none: nothing hangs on it.
func (x *extractor) time() time.Time {
	at, _ := time.Parse(time.RFC3339, x.entry.str("at"))
	return at
}

func readHandover(o *object) *Handover {
	return &Handover{
		From: readCandidate(o.get("from")), To: readCandidate(o.get("to")),
		Failure: o.str("failure"), Message: o.str("message"), ResetAt: o.str("resetAt"),
	}
}

func readCandidate(v []byte) Candidate {
	o := objectOf(v)
	return Candidate{int(o.count("index")), o.str("name"), o.str("model")}
}

func readUsage(v []byte) Usage {
	o := objectOf(v)
	u := Usage{Input: o.count("input"), Cached: o.count("cached"), Output: o.count("output")}
	if o.get("cacheCreated") != nil {
		u.CacheCreated = pointerTo(o.count("cacheCreated"))
	}
	if c := o.get("complete"); c != nil {
		u.Complete = pointerTo(c[0] == 't')
	}
	return u
}

// finish makes turns of all drafts.
func (x *extractor) finish() *extraction {
	if withoutWorkspace := x.out.schema > 0 && x.out.cwd == ""; len(x.changes) == 0 && !withoutWorkspace {
		why := "the journal was not recorded as replayable"
		if x.out.schema > 0 {
			why = "the recording has none; it was cut, or nobody closed it"
		}
		x.drafts[len(x.drafts)-1].Changes = &Changes{Unavailable: why}
	}
	for _, d := range x.drafts {
		x.out.turns = append(x.out.turns, d.finish(x.failure, x.out.schema > 0))
	}
	return &x.out
}

// finish is the turn. One that has no end has failed as the whole recording has. ours is one of our own journals.
func (t *draft) finish(failure *Failure, ours bool) Turn {
	t.Text = t.said()
	switch {
	case t.total != nil:
		t.Usage = t.total.minus(t.before)
	case t.continued || t.Handover != nil:
		t.Usage = t.observed
	default:
		t.Failure = t.whyFailed(failure, ours)
	}
	return t.Turn
}

// whyFailed is why a turn has no end. A journal of our own knows that of each turn; else what ended the recording counts before what the agent said.
func (t *draft) whyFailed(failure *Failure, ours bool) *Failure {
	own := t.lastFailure()
	switch {
	case ours && t.aborted:
		return &Failure{Code: Aborted, Message: "the turn was interrupted when it was recorded"}
	case failure != nil && (own == nil || !ours):
		return pointerTo(*failure)
	case own != nil:
		return own
	}
	return &Failure{Code: Process, Message: "the recorded turn did not finish"}
}

// said is what the agent gave as its result, or else what it said, or else its raw output.
func (t *draft) said() string {
	if texts := t.all("result"); texts != nil {
		return strings.Join(texts, "\n")
	}
	if texts := t.all("text"); texts != nil {
		return strings.Join(texts, "")
	}
	var raw []string
	for _, e := range t.Events {
		if e.kind == "raw" {
			raw = append(raw, e.member("value"))
		}
	}
	return strings.Join(raw, "\n")
}

// all are the texts of a kind.
func (t *draft) all(kind string) (texts []string) {
	for _, e := range t.Events {
		if e.kind == kind {
			texts = append(texts, e.text)
		}
	}
	return texts
}

func (t *draft) lastFailure() *Failure {
	for _, e := range slices.Backward(t.Events) {
		if e.kind == "failure" {
			o := objectOf([]byte(e.raw))
			return &Failure{Process, o.str("message"), int(o.count("status"))}
		}
	}
	return nil
}
