package timelinekit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/timelinekit/golden"
)

// Scenario is a conversation with an agent, and what must come of it, in a txtar file:
//
//	An edit replaces text in a file that is there.
//	-- script.json --
//	[{"edit": {"path": "greeting.txt", "old": "Hello", "new": "Goodbye"}}]
//	-- files/greeting.txt --
//	Hello, world
//	-- want/greeting.txt --
//	Goodbye, world
//	-- log --
//	[Edit] <cwd>/greeting.txt
//
// It begins with prose that says what it shows. Then come sections, in any order:
//
//   - script.json is the script of its one turn, or prompts are the prompts of its turns, with a line --- between two of them.
//   - files/PATH is a file in the agent's folder before the first turn.
//   - answers has a line for each approval that the agent asks for: accept, acceptForSession, decline or cancel; and one for each question
//     that blocks the turn: a JSON object with a member for each thing asked, by its id. The line none leaves either open. Without the
//     section each approval is accepted, and each question gets its first option. A question that does not block is answered by the next
//     prompt.
//   - want/PATH is a file in the agent's folder after the last turn. A file that is as it was needs no such section; one that was changed
//     or made does.
//   - timeline has the items of all turns, without what the user said, as canonical JSON, one a line. Behind each turn it has the turn's ending.
//   - log is the text log of all turns, as fakeagent run prints it; see [timeline.LogLine]. Of a script.json it has no line [User], which would
//     be the script once more.
//   - events has the provider's events, as JSON, one a line: type, item, request and payload. Providers that play the same script may
//     differ in them.
//
// At least one of the last four must be there. Paths, times and durations that differ from run to run are replaced as by [golden.Scrub].
// A card that a hook appends when a turn has ended is not among its items. Holds are released as soon as the agent arrives there. Nobody
// steers. A txtar file cannot tell a file that ends without a newline from one with it, and so a scenario does not.
//
// With the flag -understudy.update those of the last four that differ are rewritten, and want/PATH is added where it is missing; see package
// golden. So a new scenario begins with a timeline, log or events that is empty.
type Scenario struct {
	Name    string            // the file's, without .txtar
	Prose   string            // what it shows
	Prompts []string          // of its turns; a script.json is one
	Files   map[string]string // in the agent's folder before, by their paths, with slashes
	Answers []string          // the lines of the section, in order; nil where there is none

	file  golden.File
	skip  []string // sections that are not compared
	gates []string
	err   error // why it cannot be played
}

// noAnswer is the line of what is left open.
const noAnswer = "none"

// Scenarios are those of a folder, by name. From them a loop makes specs, or tests:
//
//	for name, s := range timelinekit.Scenarios("testdata/scenarios") {
//		It(name, func(ctx SpecContext) { s.Run(ctx, timelinekit.NewHost(GinkgoT())) })
//	}
//	for name, s := range timelinekit.Scenarios("testdata/scenarios") {
//		t.Run(name, func(t *testing.T) { s.Run(t.Context(), timelinekit.NewHost(t)) })
//	}
//
// A file that is wrong is a scenario that fails with the reason when it is run, and so is a folder that has none.
func Scenarios(dir string) iter.Seq2[string, Scenario] {
	return func(yield func(string, Scenario) bool) {
		entries, err := os.ReadDir(dir)
		none := true
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), ".txtar")
			if !ok {
				continue
			}
			none = false
			if !yield(name, readScenario(name, filepath.Join(dir, e.Name()))) {
				return
			}
		}
		if err == nil {
			err = fmt.Errorf("%s has no files that end with .txtar", dir)
		}
		if none {
			yield(dir, Scenario{Name: dir, err: fmt.Errorf("timelinekit: there are no scenarios: %w", err)})
		}
	}
}

func readScenario(name, file string) Scenario {
	s := Scenario{Name: name}
	s.file, s.err = golden.Read(file)
	if s.err == nil {
		s.err = s.parse()
	}
	if s.err != nil {
		s.err = fmt.Errorf("timelinekit: %w", s.err)
	}
	return s
}

func (s *Scenario) parse() error {
	if s.Prose = strings.TrimSpace(s.file.Prose); s.Prose == "" {
		return s.wrong(1, "the scenario does not say what it shows; begin with a sentence or two, above the first section")
	}
	expects, first := false, golden.Section{}
	for _, sec := range s.file.Sections {
		kind, path, inside := strings.Cut(sec.Name, "/")
		if inside {
			kind += "/"
		}
		var err error
		switch kind {
		case "prompts", "script.json":
			if first.Name != "" {
				return s.wrong(sec.Line, "section %s stands beside section %s; a scenario has one of the two", sec.Name, first.Name)
			}
			if first = sec; kind == "prompts" {
				err = s.parsePrompts(sec)
			} else {
				err = s.parseScript(sec)
			}
		case "answers":
			err = s.parseAnswers(sec)
		case "files/":
			if s.Files == nil {
				s.Files = map[string]string{}
			}
			s.Files[path], err = sec.Text, s.checkPath(sec, path)
		case "want/":
			expects, err = true, s.checkPath(sec, path)
		case "timeline", "events", "log":
			expects = true
		default:
			nearest, _ := script.Nearest(kind, []string{"prompts", "script.json", "answers", "files/", "want/", "timeline", "events", "log"})
			if strings.HasSuffix(nearest, "/") {
				nearest += "PATH"
			}
			return s.wrong(sec.Line, "unknown section %q, did you mean %q?", sec.Name, nearest)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case first.Name == "":
		return s.wrong(1, "the scenario has no turn; add a section script.json, or prompts")
	case !expects:
		return s.wrong(1, "the scenario expects nothing; add a section timeline, log, events or want/PATH, which -understudy.update fills in")
	}
	s.gates = s.holds()
	return nil
}

func (s *Scenario) wrong(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", s.file.Path, line, fmt.Errorf(format, args...))
}

func (s *Scenario) parseScript(sec golden.Section) error {
	parsed, err := script.Parse([]byte(sec.Text))
	if e := (*script.Error)(nil); errors.As(err, &e) {
		return s.wrong(sec.Line+e.Line, "script.json: %s", e.Reason)
	}
	s.Prompts = []string{parsed.String()}
	return nil
}

func (s *Scenario) parsePrompts(sec golden.Section) error {
	s.Prompts = []string{""}
	for line := range strings.Lines(sec.Text) {
		if line == "---\n" {
			s.Prompts = append(s.Prompts, "")
			continue
		}
		s.Prompts[len(s.Prompts)-1] += line
	}
	for i, prompt := range s.Prompts {
		if s.Prompts[i] = strings.Trim(prompt, "\n"); s.Prompts[i] == "" {
			return s.wrong(sec.Line, "prompts: prompt %d is empty", i+1)
		}
	}
	return nil
}

func (s *Scenario) parseAnswers(sec golden.Section) error {
	known := []string{string(fakeagent.Accept), string(fakeagent.AcceptForSession), string(fakeagent.Decline), string(fakeagent.Cancel), noAnswer}
	s.Answers = []string{}
	for answer := range strings.Lines(sec.Text) {
		answer = strings.TrimSpace(answer)
		if line := sec.Line + 1 + len(s.Answers); strings.HasPrefix(answer, "{") {
			if err := json.Unmarshal([]byte(answer), &map[string]any{}); err != nil {
				return s.wrong(line, "answers: to a question: %w", err)
			}
		} else if !slices.Contains(known, answer) {
			nearest, _ := script.Nearest(answer, known)
			return s.wrong(line, "answers: unknown answer %q, did you mean %q?", answer, nearest)
		}
		s.Answers = append(s.Answers, answer)
	}
	return nil
}

func (s *Scenario) checkPath(sec golden.Section, name string) error {
	if path.Clean(name) != name || name == "." || !filepath.IsLocal(filepath.FromSlash(name)) {
		return s.wrong(sec.Line, "section %q: the path leaves the agent's folder, or is not the shortest; write one such as src/a.ts", sec.Name)
	}
	return nil
}

// holds are the names of all gates in the scenario's scripts.
func (s *Scenario) holds() (names []string) {
	var walk func([]script.Step)
	walk = func(steps []script.Step) {
		for _, step := range steps {
			if hold, ok := step.(script.HoldStep); ok {
				names = append(names, hold.Name)
			}
			for _, branch := range script.Branches(step) {
				walk(branch)
			}
		}
	}
	for _, prompt := range s.Prompts {
		one, _, _ := script.FromPrompt(prompt) // one that is wrong holds nowhere
		walk(one.Steps)
	}
	for _, text := range s.Files { // of which one may be .fake-agent.json
		file, _ := script.ParseFile([]byte(text))
		for _, turn := range file.Turns {
			walk(turn.Steps)
		}
		for _, route := range file.Routes {
			walk(route.Script.Steps)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Without is the scenario with these of its sections left out of what is compared. So an agent behind a wire plays one that has events: its
// client makes events of its own.
func (s Scenario) Without(sections ...string) Scenario {
	s.skip = append(slices.Clone(s.skip), sections...)
	return s
}

// Run plays the scenario on a host, with a new agent in a workspace of its own, and fails the test with all that differs. [Provider] picks
// who plays it, where that is not the host's default.
func (s Scenario) Run(ctx context.Context, h *Host, opts ...RunOption) {
	h.t.Helper()
	if err := s.Check(ctx, h, opts...); err != nil {
		h.t.Errorf("%v", err)
	}
}

// Check is [Scenario.Run] that returns what differs, or why the scenario cannot be played.
func (s Scenario) Check(ctx context.Context, h *Host, opts ...RunOption) error {
	if s.err != nil {
		return s.err
	}
	p, err := s.play(ctx, h, opts)
	if err != nil {
		return fmt.Errorf("timelinekit: scenario %s (%s): %w", s.Name, s.file.Path, err)
	}
	return s.compare(p)
}

// played is what came of a scenario.
type played struct {
	runs   []Run
	events []event.Event
	files  map[string]string
}

func (s Scenario) play(ctx context.Context, h *Host, opts []RunOption) (p played, err error) {
	ctx, cancel := fakeagent.Patience(ctx)
	defer cancel()
	w, err := h.CreateWorkspace(ctx, WorkspaceCreate{Title: s.Name})
	if err != nil {
		return p, err
	}
	for name, text := range s.Files {
		file := filepath.Join(w.Cwd, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			return p, err
		}
	}
	id, err := h.CreateAgent(ctx, append(opts, Workspace(w.ID))...)
	if err != nil {
		return p, err
	}
	a, err := h.agent(id)
	if err != nil {
		return p, err
	}
	r := recording{agent: id, over: make(chan struct{}, 1)}
	defer a.provider.Subscribe(r.on)()
	answers := s.Answers
	for _, prompt := range s.Prompts {
		run, err := s.turn(ctx, h, a, prompt, &answers)
		if err != nil {
			return p, err
		}
		p.runs = append(p.runs, run)
		select {
		case <-r.over: // the host may know before the recording does
		case <-ctx.Done():
			return p, context.Cause(ctx)
		}
	}
	if len(answers) > 0 {
		return p, fmt.Errorf("answers: the agent asked only %d times, and %q was not used:\n%s", len(s.Answers)-len(answers), answers, h.AgentTimeline(id))
	}
	p.events = r.taken()
	p.files, err = filesIn(w.Cwd)
	return p, err
}

// turn runs one turn, answers what it asks, and lets it through its gates.
func (s Scenario) turn(ctx context.Context, h *Host, a *agent, prompt string, answers *[]string) (run Run, err error) {
	t, err := h.SendTurn(ctx, a.id, prompt)
	if err != nil {
		return run, err
	}
	gates, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for _, name := range s.gates {
		p, ok := a.provider.Provider.(gated)
		if !ok {
			err = fmt.Errorf("provider %s has no gates, and the scenario has holds", a.provider.id)
			break
		}
		gate := p.Gate(a.id, name)
		all.Go(func() {
			for gate.AwaitHeld(gates) == nil {
				gate.Release()
			}
		})
	}
	for seen := 0; err == nil; {
		a.mu.Lock()
		asked, change := slices.Clone(a.asked(t.TurnID)), a.next()
		a.mu.Unlock()
		for ; seen < len(asked) && err == nil; seen++ {
			err = answer(ctx, h, asked[seen], s.Answers == nil, answers)
		}
		if err != nil {
			break
		}
		select {
		case <-t.done:
			return t.run, err
		case <-change:
		case <-ctx.Done():
			_, err = t.Await(ctx)
		}
	}
	_ = t.Interrupt(context.WithoutCancel(ctx))
	return run, err
}

// gated is a provider with gates.
type gated interface {
	Gate(threadID, name string) *fakeagent.Gate
}

// answer gives the next answer, or where there are none the one that is most likely.
func answer(ctx context.Context, h *Host, r *Request, likely bool, answers *[]string) error {
	asks := r.Type == question
	if asks && !r.Blocking {
		return nil // the next prompt is the answer
	}
	next := string(fakeagent.Accept)
	switch {
	case likely && asks:
		return h.Answer(ctx, r.AgentID, r.ID, event.FirstOptions(r.Questions))
	case likely:
	case len(*answers) == 0:
		return fmt.Errorf("answers: there is none for %s; add a line", r.summary())
	default:
		next, *answers = (*answers)[0], (*answers)[1:]
	}
	var members map[string]any
	switch {
	case next == noAnswer:
		return nil
	case asks != strings.HasPrefix(next, "{"):
		return fmt.Errorf("answers: %s got %s; an approval is answered by a word such as accept, a question by an object such as {\"id\": \"text\"}", r.summary(), next)
	case !asks:
		return h.Respond(ctx, r.AgentID, r.ID, fakeagent.Decision(next))
	}
	_ = json.Unmarshal([]byte(next), &members) // which it could before
	return h.Answer(ctx, r.AgentID, r.ID, members)
}

// summary is what is asked.
func (r *Request) summary() string {
	if r.Type != question {
		return fmt.Sprintf("%s %q", r.Type, r.Title)
	}
	var ids []string
	for _, q := range r.Questions {
		ids = append(ids, fmt.Sprintf("%q (%s)", q.Question, q.ID))
	}
	return question + " " + strings.Join(ids, " and ")
}

// recording takes the events of one agent.
type recording struct {
	agent string
	over  chan struct{} // gets one for each turn

	mu     sync.Mutex
	events []event.Event
}

func (r *recording) on(e event.Event) {
	if e.ThreadID != r.agent {
		return
	}
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	switch e.Payload.(type) {
	case event.TurnCompleted, event.SessionExited:
		select {
		case r.over <- struct{}{}:
		default: // of a session that has ended after the last turn
		}
	}
}

func (r *recording) taken() []event.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events
}

// filesIn are the files below a folder, but for links.
func filesIn(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if rel, bad := filepath.Rel(dir, name); bad == nil {
			files[filepath.ToSlash(rel)] = string(text)
		}
		return err
	})
	return files, err
}

// compare is nil if all is as expected.
func (s Scenario) compare(p played) error {
	var results []golden.Section
	for _, sec := range s.file.Sections {
		if slices.Contains(s.skip, sec.Name) {
			continue
		}
		text, err := s.text(sec.Name, p)
		if err != nil {
			return err
		}
		if text != nil {
			results = append(results, golden.Section{Name: sec.Name, Text: *text})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		text := ended(p.files[name])
		_, wanted := s.file.Section("want/" + name)
		before, was := s.Files[name]
		if wanted || !was || text != before {
			results = append(results, golden.Section{Name: "want/" + name, Text: text})
		}
	}
	differs, changed, err := s.file.Compare(results)
	if err != nil {
		return err
	}
	gone := s.gone(p.files)
	if gone == "" && differs == "" {
		return nil
	}
	out := "timelinekit: scenario " + s.Name + " differs:\n\n" + strings.TrimSpace(gone+differs) + "\n\nWhat it played:"
	for _, run := range p.runs {
		out += "\n" + run.String()
	}
	return errors.New(out + golden.Settle(s.file.Path, changed))
}

// text is what a section should hold; nil for one that is compared in another way, or not at all.
func (s Scenario) text(section string, p played) (text *string, err error) {
	var all strings.Builder
	switch section {
	case "timeline":
		for _, run := range p.runs {
			text, err := golden.Run(run)
			if err != nil {
				return nil, err
			}
			all.WriteString(text)
		}
	case "events":
		text, err := golden.Events(p.events)
		if err != nil {
			return nil, err
		}
		all.WriteString(text)
	case "log":
		_, scripted := s.file.Section("script.json")
		for _, run := range p.runs {
			items := run.Timeline.Items()
			if scripted {
				items = run.Items()
			}
			for _, item := range items {
				all.WriteString(ended(timeline.LogLine(item)))
			}
		}
	default:
		return nil, nil
	}
	out := all.String()
	return &out, nil
}

// gone says which files should be there and are not.
func (s Scenario) gone(files map[string]string) (out string) {
	for _, sec := range s.file.Sections {
		kind, name, _ := strings.Cut(sec.Name, "/")
		if _, ok := files[name]; !ok && (kind == "want" || kind == "files") {
			out += fmt.Sprintf("%s:%d: section %s: there is no such file afterwards\n\n", s.file.Path, sec.Line, sec.Name)
		}
	}
	return out
}

// ended is a text whose last line ends.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
