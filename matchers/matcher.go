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
// A failure begins with the one thing that differs, then shows the timeline as a table, then what was expected. An item of another type
// does not match; what is no item or timeline at all is an error, with To and with NotTo, and so is a wrong argument of a matcher.
//
// Matchers of this package are immutable: one value may be shared by many goroutines. One with somebody else's matcher inside may not,
// unless that one may: Gomega's And and Or keep state.
package matchers

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/onsi/gomega/format"
	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// Matcher is a Gomega matcher that describes itself.
type Matcher interface {
	types.GomegaMatcher
	String() string       // such as: be a tool call "Write"
	GomegaString() string // the same, for failure messages of matchers around this one
}

// matcher is the one implementation. test says what differs, or "" for a match.
type matcher struct {
	description string
	wrong       error // of an argument: no actual can be right
	test        func(actual any) (differs string, err error)
}

func (m matcher) Match(actual any) (bool, error) {
	if m.wrong != nil {
		return false, m.wrong
	}
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

// show is the actual as a failure message has it. Of a run it has the items that HaveItems counts.
func show(actual any) string {
	switch a := actual.(type) {
	case timeline.Run:
		head := strings.TrimSuffix(a.String(), a.Timeline.String())
		return format.IndentString(head+a.Items().String(), 1)
	case []timeline.Item:
		return show(timeline.Items(a))
	case timeline.Item:
		return format.IndentString(timeline.Line(a), 1)
	}
	return format.IndentString(fmt.Sprint(actual), 1)
}

// compare compares a text with a string, which it must equal, or a matcher.
func compare(what, got string, want any) (differs string, err error) {
	w, ok := want.(string)
	switch {
	case !ok:
		return ask(want.(types.GomegaMatcher), fmt.Sprintf("%s is %q", what, got), got)
	case got == w:
		return "", nil
	case min(len(got), len(w)) >= int(format.TruncateThreshold): // Gomega points to the place in a long text
		return what + " differs:\n" + format.IndentString(format.MessageWithDiff(got, "to equal", w), 1), nil
	}
	return fmt.Sprintf("%s is %q, want %q", what, got, w), nil
}

// ask asks a matcher about got. One of ours says itself what differs. For any other it is said what got is, and what the matcher says,
// except where that would only be the same again.
func ask(m types.GomegaMatcher, is string, got any) (differs string, err error) {
	if ours, ok := m.(matcher); ok {
		return ours.test(got)
	}
	ok, err := m.Match(got)
	if ok || err != nil {
		return "", err
	}
	differs = is + ", want " + wanted(m)
	if _, ok := got.(string); ok && reflect.Indirect(reflect.ValueOf(m)).Type().PkgPath() == "github.com/onsi/gomega/matchers" {
		return differs, nil
	}
	return differs + ":\n" + format.IndentString(strings.TrimRight(m.FailureMessage(got), "\n"), 1), nil
}

// first is what the first of some tests says that has anything to say.
func first[T any](actual T, tests []func(T) (string, error)) (differs string, err error) {
	for _, test := range tests {
		if differs, err = test(actual); differs != "" || err != nil {
			break
		}
	}
	return differs, err
}

// textArgument is what is wrong with an argument that should be a string or a matcher.
func textArgument(name, what string, want any) error {
	if _, ok := want.(string); ok {
		return nil
	}
	return matcherArgument(name+": "+what, "a string or a matcher", want)
}

func matcherArgument(what, right string, want any) error {
	m, ok := want.(types.GomegaMatcher)
	switch ours, _ := m.(matcher); {
	case want == nil:
		return fmt.Errorf("%s is nil, want %s", what, right)
	case !ok:
		return fmt.Errorf("%s is of type %T, want %s", what, want, right)
	case isNilPointer(reflect.ValueOf(want)):
		return fmt.Errorf("%s is a nil %T, want %s", what, want, right)
	case ours.wrong != nil:
		return fmt.Errorf("%s: %w", what, ours.wrong)
	}
	return nil
}
