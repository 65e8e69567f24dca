// Package matchers says what a correct turn is, in Gomega matchers:
//
//	Expect(run).To(EndCompleted())
//	Expect(run).To(HaveItems(
//		BeReasoning(ContainSubstring("check")),
//		BeToolCall("Write"),
//		BeShellCall("npm test", WithStatus(timeline.Failed)),
//		BeAssistantMessage("done"),
//	))
//
// A failure begins with the one thing that differs, and then shows the timeline as a table. Matchers are immutable: one value may
// be shared by many goroutines.
package matchers

import (
	"fmt"

	"github.com/onsi/gomega/format"
	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// Matcher is a Gomega matcher that describes itself.
type Matcher interface {
	types.GomegaMatcher
	String() string       // such as: be tool call "Write"
	GomegaString() string // the same, for failure messages of matchers around this one
}

// matcher is the one implementation. test says what differs, or "" for a match.
type matcher struct {
	description string
	test        func(actual any) (differs string, err error)
}

func (m matcher) Match(actual any) (bool, error) {
	differs, err := m.test(actual)
	return differs == "" && err == nil, err
}

func (m matcher) String() string       { return m.description }
func (m matcher) GomegaString() string { return m.description }

func (m matcher) FailureMessage(actual any) string {
	differs, _ := m.test(actual)
	return differs + "\n\nExpected\n" + show(actual) + "\nto " + m.description
}

func (m matcher) NegatedFailureMessage(actual any) string {
	return "Expected\n" + show(actual) + "\nnot to " + m.description
}

func show(actual any) string {
	if it, ok := actual.(timeline.Item); ok {
		return format.IndentString(timeline.Line(it), 1)
	}
	return format.Object(actual, 1)
}

// describe is what a failure message calls an expected value.
func describe(want any) string {
	switch w := want.(type) {
	case interface{ GomegaString() string }:
		return w.GomegaString()
	case fmt.Stringer:
		return w.String()
	case string:
		return fmt.Sprintf("%q", w)
	case timeline.Item:
		return timeline.Line(w)
	}
	return format.Object(want, 0)
}

// text compares a text with a string, which it must equal, or a matcher.
func text(what, got string, want any) (differs string, err error) {
	switch w := want.(type) {
	case string:
		if got != w {
			return fmt.Sprintf("%s is %q, want %q", what, got, w), nil
		}
		return "", nil
	case types.GomegaMatcher:
		return by(w, what, got)
	}
	return "", fmt.Errorf("%s: want a string or a matcher, got %T", what, want)
}

// by asks a matcher. One of ours says what differs; of any other its failure message is shown.
func by(m types.GomegaMatcher, what string, got any) (differs string, err error) {
	if ours, ok := m.(matcher); ok {
		return ours.test(got)
	}
	ok, err := m.Match(got)
	if ok || err != nil {
		return "", err
	}
	return what + ": " + m.FailureMessage(got), nil
}
