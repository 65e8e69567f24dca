package replay

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/internal/jsonscan"
)

// RedactValues is a redaction that puts <redacted-1> in the place of the first value, <redacted-2> in that of the second, and so on: as they are,
// as they are in JSON and as they are in a URL. Where one begins like another the longer one counts. Empty values are left out, but count. So
// name the same secrets in the same order when a journal is recorded and when it is played, where their values may be others.
func RedactValues(values ...string) func(string) string {
	type pair struct{ from, to string }
	var pairs []pair
	for i, v := range values {
		if v == "" {
			continue
		}
		inJSON := string(quoteJSON(v))
		for _, form := range []string{v, inJSON[1 : len(inJSON)-1], url.QueryEscape(v), url.PathEscape(v)} {
			pairs = append(pairs, pair{form, fmt.Sprintf("<redacted-%d>", i+1)})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return len(b.from) - len(a.from) })
	var replacements []string
	for i := range values { // which are taken for nothing else, so that a second time changes nothing
		mark := fmt.Sprintf("<redacted-%d>", i+1)
		replacements = append(replacements, mark, mark)
	}
	for _, p := range pairs {
		replacements = append(replacements, p.from, p.to)
	}
	return strings.NewReplacer(replacements...).Replace
}

// structural are the members of entries that a journal needs as they are, with all that is in them, by the kind of entry; "" is any.
var structural = map[string][]string{
	"":               {"kind", "source", "at", "scope", "callId", "parentCallId", "subagentId", "itemId"},
	headerKind:       {"normalisers"},
	"steer":          {"mode"},
	"stopped":        {"reason"},
	"fallback":       {"failure"},
	"operation":      {"status"},
	"decision":       {"status", "code"},
	"command-output": {"channel"},
	commitsKind:      {"baseline", "commits"},
	finishedKind:     {"status", "error.code"},
}

// ofPayload are those of the payload of an event. Beside the payload all is structural.
var ofPayload = []string{"state", "streamKind", "itemType", "status", "requestType", "decision", "exitKind", "responseMode", "taskId", "taskType"}

func isStructural(kind string, at *place) bool {
	path := at.String()
	within := func(member string) bool {
		rest, ok := strings.CutPrefix(path, member)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	if within("event") && !within("event.providerRefs") {
		member, inPayload := strings.CutPrefix(path, "event.payload.")
		return !inPayload && !within("event.payload") || slices.Contains(ofPayload, member)
	}
	return slices.ContainsFunc(structural[""], within) || slices.ContainsFunc(structural[kind], within)
}

// redactEntry is an entry whose strings are redacted, but for keys and for what a journal needs as it is. All else stays as it is written. A
// patch must be exact, so commits that have something to redact become unavailable, all of them: those before would end somewhere else.
func redactEntry(e Entry, redact func(string) string) (Entry, error) {
	text, err := entryObject(e)
	if err != nil {
		return nil, err
	}
	var is struct {
		Kind    any      `json:"kind"`
		Commits []Commit `json:"commits"`
	}
	_ = json.Unmarshal(e, &is) // what is not as it must be is for those to tell who play it
	kind, _ := is.Kind.(string)
	if kind == commitsKind && slices.ContainsFunc(is.Commits, func(c Commit) bool { return hasMore(c, redact) }) {
		text = withoutCommits(text)
	}
	var b []byte
	done := 0
	w := stringWalk{text: text, value: func(at *place, was string, begin, end int) {
		if is := redact(was); is != was && !isStructural(kind, at) {
			b = append(append(b, text[done:begin]...), quoteJSON(is)...)
			done = end
		}
	}}
	w.walk(nil, jsonscan.Space(text, 0))
	return append(b, text[done:]...), nil
}

// hasMore is whether a redaction would change a commit.
func hasMore(c Commit, redact func(string) string) bool {
	lines, contents := patchTexts(c.Patch)
	_, raw, _ := strings.Cut(string(c.Raw), "\nauthor ") // before it there are ids
	texts := []string{c.Author.Name, c.Author.Email, c.Committer.Name, c.Committer.Email, c.Message, lines, raw}
	for _, p := range contents {
		texts = append(texts, p.text)
	}
	return slices.ContainsFunc(texts, func(text string) bool { return redact(text) != text })
}

// withoutCommits is an entry that says why it has no commits, in their place.
func withoutCommits(entry string) string {
	const why = "a commit has something in it that is redacted"
	var members []string
	o := objectOf([]byte(entry))
	for _, m := range o.members {
		if string(m.key) == "commits" {
			members = append(members, `"unavailable":`+string(quoteJSON(why)))
		} else {
			members = append(members, entry[m.from:m.end])
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}
