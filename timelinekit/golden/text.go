package golden

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// Run is a turn: its items without what the user said, and then how it ended.
func Run(r timeline.Run) (string, error) {
	items, err := Items(r.Items())
	if err != nil {
		return "", err
	}
	type ending struct {
		Kind    timeline.Status `json:"ending"`
		Message string          `json:"message,omitempty"`
		Code    int             `json:"code,omitempty"`
	}
	end, err := lines([]ending{ending(r.Ending)})
	return items + end, err
}

// Items are items as canonical JSON, one a line, as fakeagent run --json prints them.
func Items(items timeline.Items) (string, error) { return lines(items) }

// Rows are rows as JSON, one a line.
func Rows(rows []timeline.Row) (string, error) { return lines(rows) }

// Events are events as JSON, one a line: type, item, request and payload. Whose they are, of which thread and turn, and when they came is
// left out.
func Events(events []event.Event) (string, error) {
	type said struct {
		Type      string          `json:"type"`
		ItemID    string          `json:"itemId,omitempty"`
		RequestID string          `json:"requestId,omitempty"`
		Payload   json.RawMessage `json:"payload,omitempty"`
	}
	out := make([]said, len(events))
	for i, e := range events {
		b, err := timeline.JSON(e)
		if err == nil {
			err = json.Unmarshal(b, &out[i])
		}
		if err != nil {
			return "", err
		}
		if string(out[i].Payload) == "{}" {
			out[i].Payload = nil
		}
	}
	return lines(out)
}

func lines[V any](values []V) (string, error) {
	var b strings.Builder
	for _, v := range values {
		line, err := timeline.JSON(v)
		if err != nil {
			return "", err
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// Rule replaces what differs from one run to the next.
type Rule struct {
	Pattern     string // a regular expression in the syntax of Go's package regexp
	Replacement string // $1 is what the first group of the pattern matched
}

func (r Rule) String() string { return r.Pattern + " -> " + r.Replacement }

// Volatile are the rules that Scrub has for every text. Folders that a timelinekit.Host made for its agents become <cwd>, other temporary
// folders <temp>, times <time>, epochs <epoch>, and durations <duration>.
func Volatile() []Rule {
	temp := strings.ReplaceAll(regexp.QuoteMeta(filepath.ToSlash(filepath.Clean(os.TempDir()))), "/", separator)
	temp = "(?:/private)?" + temp + separator // where macOS really has it
	return []Rule{
		{temp + `understudy-\d+-[A-Z2-7]+` + separator + `(?:agent|workspace)-\d+`, "<cwd>"},
		{temp + `(?:understudy-\d+-[A-Z2-7]+|[^/\\\s"]*\d{4}[^/\\\s"]*(?:` + separator + `\d{3}\b)?)`, "<temp>"},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`, "<time>"},
		{`"epoch":"[^"]*"`, `"epoch":"<epoch>"`},
		{`"(duration(?:Ms|Seconds))":[-+.\deE]+`, `"$1":"<duration>"`},
	}
}

// separator is what stands between the names of a path, as it is or in JSON.
const separator = `[/\\]+`

// below are paths as Windows has them, in JSON. It is compiled when there is a text, and not when a process starts.
var below = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<(?:cwd|temp)>(?:\\\\[^/\\\s"]+)+`) })

// Scrub applies rules to a text, and after them those that are [Volatile]. applied are those that changed it. The paths that this leaves have
// slashes on every system.
func Scrub(text string, rules ...Rule) (scrubbed string, applied []Rule, err error) {
	for _, r := range append(rules[:len(rules):len(rules)], Volatile()...) {
		re, err := regexp.Compile(r.Pattern)
		if err != nil {
			return "", nil, err
		}
		if out := re.ReplaceAllString(text, r.Replacement); out != text {
			text, applied = out, append(applied, r)
		}
	}
	return below().ReplaceAllStringFunc(text, func(path string) string { return strings.ReplaceAll(path, `\\`, "/") }), applied, nil
}
