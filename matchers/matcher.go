// Package matchers says what a correct turn is, in Gomega matchers:
//
//	Expect(run).To(EndCompleted())
//	Expect(run).To(HaveItems(
//		BeReasoning(ContainSubstring("check")),
//		BeWriteCall("src/a.ts"),
//		BeShellCall("npm test", WithExitCode(0)),
//		BeAssistantMessage("done"),
//	))
//
// A failure begins with the one thing that differs, then shows the timeline as a table, then what was expected:
//
//	item 2: exit code is 1, want 0
//
//	Expected
//	    turn turn-1 of agent-1 (now idle) ended completed
//	      0 reasoning "let me check"
//	      1 tool_call Write "a.ts" completed
//	      2 tool_call Bash "npm test" failed: exit code 1
//	      3 assistant_message "done"
//	to have exactly these items:
//	      …
//
// # What goes in
//
//   - How a turn ended: [EndCompleted], [EndFailed], [EndCanceled], of a Run, a *timelinekit.Turn, or an Ending.
//   - One item, or the row that holds it: the matchers whose names begin with Be, such as [BeToolCall], with options such as [WithStatus].
//     They go into those for lists, and into Gomega's ContainElement and ConsistOf.
//   - All that was done: [HaveItems] in full, [ContainItems] in part, [HaveToolCall], [HaveNoFailedToolCalls], [HaveAssistantText], of a
//     Run, a *timelinekit.Turn, a Timeline, items, rows or plugin rows. Of a run or a turn they see that turn without the user's message.
//   - Rows as they are stored: [HaveRow]. Events: [EmitEvents], [EmitExactly]. Both: [BeWellFormed].
//   - A process that plays an agent: [HaveExited], [BeKilledBy], and of what the host sent it [HaveSentRequest]. It is whatever has the
//     methods that these ask for.
//   - What a source of usage says: of a quota [HaveQuotaWindow], [HaveBalance], [HaveResetCredits] and, also of an error, [BeRateLimited],
//     [BeSignedOut], [BeUnsupported]; of token records [HaveTokenTotals], [HaveDailyRecords], [BePriced], [BeUnpriced]; of both
//     [BeWellFormed]; of the source itself [AnswerAlike].
//
// A text, such as a command line, is given as a string, which must be equal, or as any matcher: of this package, of Gomega, or one's own. A
// JSON value is given as a value, which must be the same JSON, or as any matcher.
//
// An item of another type does not match. What is no item, timeline, process or quota at all is an error, with To and with NotTo, and so is a
// wrong argument of a matcher: a slip of that kind cannot make a NotTo pass.
//
// # Waiting
//
// Eventually takes a function that reads, and calls it, or a turn, or a process:
//
//	Eventually(host.TimelineOf(id)).Should(ContainItems(BePluginRow("turn-summary")))
//	Eventually(turn).Should(EndCompleted())
//	Eventually(proc).Should(HaveExited(0))
//
// If the turn has ended, or the process has exited, the last two do not wait: they fail at once, and say how. So they do inside And, Or,
// Not and WithTransform. There is no such early end where Eventually has a function, nor inside of ContainElement, since Gomega does not
// ask there. What hooks append after a turn's end is no longer the turn's: wait for it on the timeline.
//
// # Without Gomega, and with others
//
// Each matcher is also one of go.uber.org/mock, and is an argument of an expectation as it is:
//
//	show.EXPECT().Show(BeAssistantMessage("done"))
//
// [Assert] is for tests without Gomega, [CmpOptions] for go-cmp. [New] makes a matcher of one's own, with all of this.
//
// # Long messages
//
// A failure message is no longer than about format.MaxLength, 4,000 bytes: of a long table it shows what stands around the place that
// differs, and how much it left out. With format.MaxLength = 0 (package github.com/onsi/gomega/format) it shows all.
//
// # Goroutines
//
// Matchers of this package are immutable: one value may be shared by many goroutines. One with somebody else's matcher inside may not,
// unless that one may: Gomega's And and Or keep state. [AnswerAlike] keeps what it said last, since reading the sources again would be
// another question.
package matchers

import (
	"errors"
	"fmt"

	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// Matcher is a matcher for Gomega and for go.uber.org/mock that describes itself.
type Matcher interface {
	types.GomegaMatcher

	// MatchMayChangeInTheFuture is false for a turn that has ended, and for a process that has exited. Gomega's Eventually asks it.
	MatchMayChangeInTheFuture(actual any) bool

	Matches(actual any) bool // for gomock: an error is no match
	Got(actual any) string   // for gomock: what differs, and the actual

	String() string       // on one line, such as: be a tool call "Write"
	GomegaString() string // the same, with a line for each item of a list: for failure messages of matchers around this one
}

// matcher is the one implementation.
type matcher struct {
	description string
	list        table // what the description ends with, if it is about several things
	wrong       error // of an argument: no actual can be right
	test        func(actual any) (verdict, error)
	entry       func(actual any) (differs, error) // the same where it stands among others; may be nil
	near        func(actual any) bool             // that it is probably the one that was meant; may be nil
	sees        func(actual any) (table, bool)    // what messages show of the actual, if not what show does; may be nil
	kept        *keptVerdict                      // where asking changes the actual; may be nil
}

// differs says what differs. It is nil where nothing does. It is asked right after the test, since a foreign matcher may keep state, or
// never: who looks for something in a long list tests often, and tells once.
type differs func() string

func say(format string, args ...any) differs {
	return func() string { return fmt.Sprintf(format, args...) }
}

// verdict is what differs, or "" for a match, and in which line of the tables of the actual and of what is expected.
type verdict struct {
	differs   string
	got, want int
}

func asDiffers(v verdict, err error) (differs, error) {
	if v.differs == "" {
		return nil, err
	}
	return func() string { return v.differs }, nil
}

// New is a matcher of one's own. The description completes the sentence "I expect it to …", such as: cite a source. test gets the actual
// as it is: the item where the matcher stands in [HaveItems], the turn where it stands behind Eventually(turn). Its error is one for To and
// for NotTo; in [ContainItems] it passes an item by.
func New(description string, test func(actual any) (bool, error)) Matcher {
	m := matcher{description: description}
	if description == "" {
		m.wrong = errors.New("New: the description is empty; it completes the sentence: I expect it to …")
	} else if test == nil {
		m.wrong = errors.New("New: there is no test")
	}
	m.test = func(actual any) (v verdict, err error) {
		ok, err := test(actual)
		if !ok && err == nil {
			v.differs = "it is " + brief(actual) + ", want to " + description
		}
		return v, err
	}
	return m
}

// judge is the test, unless an argument is wrong.
func (m matcher) judge(actual any) (verdict, error) {
	if m.wrong != nil {
		return verdict{}, m.wrong
	}
	return m.test(actual)
}

// asEntry is the test among others.
func (m matcher) asEntry() func(any) (differs, error) {
	if m.entry != nil {
		return m.entry
	}
	return func(actual any) (differs, error) { return asDiffers(m.test(actual)) }
}

func (m matcher) Match(actual any) (bool, error) {
	v, err := m.judge(actual)
	if m.kept != nil {
		m.kept.put(actual, v, err)
	}
	return v.differs == "" && err == nil, err
}

// judgement is that of the last Match where it may not be asked again.
func (m matcher) judgement(actual any) (verdict, error) {
	if m.kept != nil {
		if v, err, ok := m.kept.of(actual); ok {
			return v, err
		}
	}
	return m.judge(actual)
}

func (m matcher) Matches(actual any) bool {
	ok, _ := m.Match(actual)
	return ok
}

// MatchMayChangeInTheFuture is also asked about nil, through WithTransform before its first Match.
func (m matcher) MatchMayChangeInTheFuture(actual any) bool {
	if m.wrong != nil {
		return false
	}
	switch a := actual.(type) {
	case turn:
		if isNilPointer(a) {
			return false
		}
		_, over := a.Ended()
		return !over
	case process:
		return !isNilPointer(a) && !hasExited(a)
	}
	return true
}

// turn is a turn that may still run. A *timelinekit.Turn is one.
type turn interface {
	// Ended does not wait. While the turn runs, the run is what it did so far.
	Ended() (run timeline.Run, over bool)
}

func (m matcher) String() string {
	if m.list.len == 0 {
		return m.description
	}
	return m.description + " " + m.list.line1()
}

func (m matcher) GomegaString() string { return m.expected(0, limit()/2) } // the actual stands beside it

// expected is the description with a part of the list.
func (m matcher) expected(at, size int) string {
	if m.list.len == 0 {
		return cut(m.description, size)
	}
	return m.description + "\n" + m.list.part(at, size)
}

func (m matcher) FailureMessage(actual any) string {
	v, err := m.judgement(actual)
	switch {
	case err != nil:
		return err.Error()
	case v.differs == "": // the actual is a turn that went on, or a process
		v.differs = "it did not match when it was asked, but now it does"
	}
	return m.message(v.differs, actual, v, "to ")
}

func (m matcher) NegatedFailureMessage(actual any) string {
	return m.message("", actual, verdict{}, "not to ")
}

// message keeps to limit. What differs has the first claim, and what is expected must leave as much to the actual as it takes itself.
func (m matcher) message(said string, actual any, v verdict, to string) string {
	const least = 200 // of a table, however little is allowed
	if said != "" {
		said = clip(said, limit()/2) + "\n\n"
	}
	left := limit() - len(said)
	wanted := m.expected(v.want, max(least, left/2))
	shown := m.show(actual, v.got, max(least, left-len(wanted)))
	return said + "Expected\n" + shown + "\n" + to + wanted
}

func (m matcher) Got(actual any) string {
	v, err := m.judgement(actual)
	if err != nil {
		return err.Error()
	}
	if v.differs != "" {
		v.differs = clip(v.differs, limit()/2) + "\n"
	}
	return v.differs + m.show(actual, v.got, limit()/2)
}

func (m matcher) show(actual any, at, size int) string {
	if m.sees != nil {
		if t, ok := m.sees(actual); ok {
			return t.part(at, size)
		}
	}
	return show(actual, at, size)
}
