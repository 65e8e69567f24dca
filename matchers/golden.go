package matchers

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/timelinekit/golden"
)

// MatchGolden matches what is the same as in the file testdata/NAME.txtar, below the folder of the test:
//
//	What the agent does when it is asked for a constant.
//	-- timeline --
//	{"type":"tool_call","callId":"t-1-1","name":"Write","detail":{"type":"write","filePath":"<cwd>/a.ts","content":"1\n"},"status":"completed","error":null}
//	{"type":"assistant_message","text":"done","messageId":"a-1-2"}
//	{"ending":"completed"}
//
// Of a run or a turn the section timeline has the items of that turn, without the user's message, and then its ending; of a timeline or of
// items it has all of them. Rows are in the section rows, events in the section events. What else is in the file is for people, or for
// other tests.
//
// A line is an item as canonical JSON. It is not the table that failures show, since the table cuts texts and leaves out fields, and
// what is not written down can change without anybody noticing. And it is not JSON that is spread over lines, since then a diff would say
// that "failed" has become "completed", but not of what. What fakeagent run --json prints has the same form.
//
// Some of it differs from run to run. It is replaced before anything is compared: by the rules of [Scrub] that are given, and then by
// those of [golden.Volatile], so that the agent's folder becomes <cwd>, a time <time>, and so on. A failure shows which ones that were.
//
// With the flag -understudy.update an assertion that fails writes what it failed with, and fails all the same: what it says last is
// what it wrote. It makes the file, or adds the section; prose and other sections stay as they are. Eventually fails when its time is
// over, and so it writes what was there in the end, and not what was there when it began. NotTo, Or and a gomock expectation write
// nothing. Without the flag a file or a section that is not there is an error.
func MatchGolden(name string, rules ...golden.Rule) Matcher {
	path := filepath.Join("testdata", filepath.FromSlash(name)+".txtar")
	m := goldenMatcher{path: path, rules: rules}
	_, _, wrong := golden.Scrub("", rules...)
	switch {
	case strings.HasPrefix(name, "testdata/"), strings.HasSuffix(name, ".txtar"):
		wrong = fmt.Errorf("MatchGolden: %q has testdata/ or .txtar in it; leave them away, as in turn or cards/summary", name)
	case !filepath.IsLocal(filepath.FromSlash(name)):
		wrong = fmt.Errorf("MatchGolden: %q cannot be the name of a file below testdata; give one such as turn or cards/summary", name)
	case wrong != nil:
		wrong = fmt.Errorf("MatchGolden: Scrub: %w", wrong)
	}
	m.matcher = matcher{description: "match " + path, wrong: wrong, test: func(actual any) (v verdict, err error) {
		v.differs, _, err = m.compare(actual)
		return v, err
	}}
	return m
}

// Scrub replaces what matches a regular expression before [MatchGolden] compares. In the replacement $1 is what the first group matched.
// The rule applies to lines of JSON.
func Scrub(pattern, replacement string) golden.Rule {
	return golden.Rule{Pattern: pattern, Replacement: replacement}
}

// goldenMatcher is a matcher whose failure may rewrite the file.
type goldenMatcher struct {
	matcher
	path  string
	rules []golden.Rule
}

func (m goldenMatcher) FailureMessage(actual any) string {
	message := m.matcher.FailureMessage(actual)
	if _, changed, err := m.compare(actual); err == nil {
		message += golden.Settle(m.path, changed)
	}
	return message
}

func (m goldenMatcher) compare(actual any) (differs string, changed []golden.Section, err error) {
	if t, ok := actual.(turn); ok && !isNilPointer(t) {
		run, over := t.Ended()
		if !over {
			return "the turn has not ended", nil, nil
		}
		actual = run
	}
	result, err := resultOf(actual)
	if err != nil {
		return "", nil, err
	}
	file, err := golden.Read(m.path)
	_, there := file.Section(result.Name)
	const update = "; run the test with -understudy.update, which writes it"
	switch {
	case errors.Is(err, fs.ErrNotExist) && !golden.Update():
		return "", nil, fmt.Errorf("MatchGolden: there is no file %s%s", m.path, update)
	case errors.Is(err, fs.ErrNotExist):
		file.Path = m.path
	case err != nil:
		return "", nil, fmt.Errorf("MatchGolden: %w", err)
	case !there && !golden.Update():
		return "", nil, fmt.Errorf("MatchGolden: %s has no section %s%s", m.path, result.Name, update)
	}
	return file.Compare([]golden.Section{result}, m.rules...)
}

// resultOf is what a golden file has of an actual.
func resultOf(actual any) (result golden.Section, err error) {
	switch a := actual.(type) {
	case timeline.Run:
		result.Name = "timeline"
		result.Text, err = golden.Run(a)
	case []timeline.Row:
		result.Name = "rows"
		if a, err = rowsOf("MatchGolden", a); err == nil {
			result.Text, err = golden.Rows(a)
		}
	case []event.Event:
		result.Name = "events"
		if a, err = eventsOf("MatchGolden", a); err == nil {
			result.Text, err = golden.Events(a)
		}
	default:
		result.Name = "timeline"
		var items timeline.Items
		if items, err = itemsOf("MatchGolden", actual); err == nil {
			result.Text, err = golden.Items(items)
		}
	}
	return result, err
}
