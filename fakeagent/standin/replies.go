package standin

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
)

// gate is where the default reply of a turn waits, behind its reasoning, if it is to. It has one of its own, so that nothing is left of it for another
// turn.
func (t *turn) gate() *fakeagent.Gate { return t.s.agent.Gate(t.session.UID, t.gateName()) }

func (t *turn) gateName() string { return fmt.Sprintf("reply-%d", t.number) }

//go:embed reply.json
var defaultReply []byte

// Match is for which turns a reply or a failure is.
type Match struct {
	what string
	own  bool // nobody can tell it from another one by its words
	fits func(t *turn) bool
}

// InSession is for the turns of a session.
func InSession(uid string) Match {
	return Match{"in session " + uid, false, func(t *turn) bool { return t.session.UID == uid }}
}

// Nth is for the nth turn of a session, from 1.
func Nth(n int) Match {
	return Match{fmt.Sprintf("for turn %d of a session", n), false, func(t *turn) bool { return t.nth == n }}
}

// Text is for the turns whose message has a text in it.
func Text(part string) Match {
	return Match{fmt.Sprintf("for a message with %q", part), false, func(t *turn) bool { return strings.Contains(t.text, part) }}
}

// When is for the turns that a function says. It is called with the server locked, and must not call it.
func When(fits func(Turn) bool) Match {
	return Match{"for what a function says", true, func(t *turn) bool { return fits(t.public()) }}
}

func fitting(matches []Match, t *turn) bool {
	for _, m := range matches {
		if !m.fits(t) {
			return false
		}
	}
	return true
}

func wordsOf(matches []Match) string {
	var words []string
	for _, m := range matches {
		words = append(words, m.what)
	}
	return strings.Join(words, ", ")
}

// Reply is a script for turns.
type Reply struct {
	s       *Server
	script  script.Script
	matches []Match
	times   int // that it is still for, unless it is for always
	always  bool
	used    bool
	wire    Wire
	dialect Dialect // "" is the server's
}

// reply is what a turn plays.
type reply struct {
	script  script.Script
	wire    Wire
	dialect Dialect
	failure Failure
	err     error
}

func (r *Reply) String() string {
	if len(r.matches) == 0 {
		return fmt.Sprint(r.script)
	}
	return fmt.Sprintf("%s (%s)", r.script, wordsOf(r.matches))
}

// Reply has the next turn that fits play a script, instead of the default one. Of several replies that fit, the one with the most matches is played,
// and of those the oldest. Placeholders in the script are filled in.
func (s *Server) Reply(reply script.Script, matches ...Match) *Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Reply{s: s, script: reply, matches: matches, times: 1}
	s.replies = append(s.replies, r)
	return r
}

// Times has it played by so many turns.
func (r *Reply) Times(n int) *Reply {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.times = n
	return r
}

// In has the reply written in a dialect, instead of the server's. It panics at one that there is not.
func (r *Reply) In(d Dialect) *Reply {
	if err := d.check(); err != nil {
		panic(err)
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.dialect = d
	return r
}

// Always has it played by all turns that fit. It is left if there was none.
func (r *Reply) Always() *Reply {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.times, r.always = 0, true
	return r
}

// Failure is why a turn fails, as the client is told. What is "" or 0 is left out of the frame.
type Failure struct {
	Text    string // "" is one of the stand-in's own
	Code    string
	Detail  string
	Source  string
	Status  int
	AgentID string
}

// failure is a turn that is to fail.
type failure struct {
	Failure
	matches []Match
}

// defaultFailure is why a turn fails that nobody has given a reason.
const defaultFailure = "The stand-in was told to fail this turn."

// FailNextTurn has the next turn that fits fail, with a text that the client is told; "" is one of the stand-in's own. It comes before any reply.
func (s *Server) FailNextTurn(text string, matches ...Match) {
	s.FailNextTurnAs(Failure{Text: text}, matches...)
}

// FailNextTurnAs is [Server.FailNextTurn] with all that a client may be told.
func (s *Server) FailNextTurnAs(f Failure, matches ...Match) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Text = cmp.Or(f.Text, defaultFailure)
	s.failures = append(s.failures, failure{f, matches})
}

// HoldReplies has default replies wait behind their reasoning, until [Server.ReleaseReplies].
func (s *Server) HoldReplies() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding = true
	for _, t := range s.current {
		t.gate().Close()
	}
}

// ReleaseReplies lets go all replies that are held, and holds none from now on.
func (s *Server) ReleaseReplies() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding = false
	for _, t := range s.current {
		t.gate().Release()
	}
}

// Gate is where the hold steps of a name wait in a session, in the scripts of replies.
func (s *Server) Gate(sessionUID, name string) *fakeagent.Gate { return s.agent.Gate(sessionUID, name) }

// AwaitHeld waits until the reply of a session is held by [Server.HoldReplies]. It need not have been asked for yet.
func (s *Server) AwaitHeld(ctx context.Context, sessionUID string) error {
	ctx, cancel := fakeagent.Patience(ctx)
	defer cancel()
	for {
		var t *turn
		err := s.await(ctx, func() string { return "no turn of session " + sessionUID + " runs" }, func() bool {
			t = s.running(sessionUID)
			return t != nil
		})
		if err != nil {
			return err
		}
		if err = t.awaitHeld(ctx); err == nil || !t.isSettled() {
			return err
		}
	}
}

// awaitHeld is [Server.AwaitTurn] for a turn that is held.
func (s *Server) awaitHeld(ctx context.Context, n int) (got Turn, err error) {
	ctx, cancel := fakeagent.Patience(ctx)
	defer cancel()
	var t *turn
	err = s.await(ctx, func() string { return fmt.Sprintf("there is no turn %d yet", n) }, func() bool {
		if n <= len(s.turns) {
			t = s.turns[n-1]
		}
		return t != nil
	})
	if err != nil {
		return got, err
	}
	err = t.awaitHeld(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if got = t.public(); got.Status == Held {
		return got, nil
	}
	return got, cmp.Or(err, fmt.Errorf("standin: turn %d is %s, and so never %s", n, got.Status, Held))
}

// awaitHeld waits until the turn is held at its gate, or over.
func (t *turn) awaitHeld(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	defer func() {
		cancel(nil)
		<-watched
	}()
	go func() {
		defer close(watched)
		select {
		case <-t.settled:
			cancel(fmt.Errorf("turn %d is over", t.number))
		case <-ctx.Done():
		}
	}()
	return t.gate().AwaitHeld(ctx)
}

func (t *turn) isSettled() bool {
	select {
	case <-t.settled:
		return true
	default:
		return false
	}
}

// choose is what a turn plays, for the agent.
func (s *Server) choose(in fakeagent.Input) (script.Script, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.running(in.ThreadID)
	if t == nil {
		return script.Script{}, fmt.Errorf("session %s has no turn that runs", in.ThreadID)
	}
	return t.reply.script, t.reply.err
}

// pick is what a turn is to play, and in which dialect. It is decided when it is asked for: so of two turns the one that was first has the first failure. s.mu is
// locked.
func (s *Server) pick(t *turn) (r reply) {
	defer func() { r.dialect = cmp.Or(r.dialect, s.dialect) }()
	for i, f := range s.failures {
		if fitting(f.matches, t) {
			s.failures = slices.Delete(s.failures, i, i+1)
			return reply{script: script.New(script.Fail(f.Text)), failure: f.Failure}
		}
	}
	if why := s.catalog.refuses(t.provider, t.model); why != "" {
		return reply{script: script.New(script.Fail(why))}
	}
	var best []*Reply
	for _, r := range s.replies {
		switch {
		case !r.always && r.times <= 0 || !fitting(r.matches, t):
		case len(best) == 0 || len(r.matches) > len(best[0].matches):
			best = []*Reply{r}
		case len(r.matches) == len(best[0].matches):
			best = append(best, r)
		}
	}
	if best == nil {
		return s.byDefault(t)
	}
	first := best[0]
	for _, other := range best[1:] {
		if own := func(m Match) bool { return m.own }; len(first.matches) > 0 && (slices.ContainsFunc(first.matches, own) || wordsOf(other.matches) != wordsOf(first.matches)) {
			s.ambiguous = append(s.ambiguous, fmt.Sprintf("turn %d fits the replies %s and %s; the first was played", t.number, first, other))
		}
	}
	first.used = true
	if !first.always {
		first.times--
	}
	return reply{script: first.script, wire: first.wire, dialect: first.dialect}
}

// byDefault is the default reply, by the model of the turn.
func (s *Server) byDefault(t *turn) (r reply) {
	name, err := json.Marshal(t.provider + "/" + t.model)
	if err != nil {
		return reply{err: err}
	}
	if s.holding {
		t.gate().Close()
	}
	text := bytes.ReplaceAll(defaultReply, []byte("<model>"), name[1:len(name)-1])
	file, err := script.ParseFile(bytes.ReplaceAll(text, []byte("<gate>"), []byte(t.gateName())))
	if err != nil {
		return reply{err: err}
	}
	r.script, _, _ = file.Pick(script.Request{Turn: 1}, map[int]int{})
	return r
}
