package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Policy is what a replay does where the host, or its workspace, is not as recorded.
type Policy string

const (
	Fail Policy = "fail" // ends with a [*Divergence]
	Warn Policy = "warn" // tells of it, and goes on where that is possible
)

// Kind is what a [Divergence] is about.
type Kind string

const (
	KindPrompt     Kind = "prompt"     // the host sent another prompt
	KindExhausted  Kind = "exhausted"  // the host sent one more than was recorded; never a warning
	KindUnrecorded Kind = "unrecorded" // the commits were not recorded
	KindDirty      Kind = "dirty"      // the workspace has changes or files of its own that commits would carry off or run into
	KindBaseline   Kind = "baseline"   // the workspace begins with other files
	KindTree       Kind = "tree"       // a commit has other files; where its patch does not apply it is never a warning
)

// Divergence is something that was not as recorded. In JSON it is a report for programs.
type Divergence struct {
	Kind Kind `json:"kind"`
	Turn int  `json:"turn"` // from 1

	// What was recorded, and what there is: the prompts, after redaction; the trees; of a patch that does not apply what Git says of it; of a
	// workspace that is not clean the paths. Where the commits were not recorded, Expected is why.
	Expected string `json:"expected,omitempty"`
	Actual   string `json:"actual,omitempty"`

	Commit string `json:"commit,omitempty"` // the recorded id of the commit that could not be made as it was, or that the journal begins with
	Hard   bool   `json:"hard,omitempty"`   // there is no going on, whatever the policy

	// Of a prompt: the rules that were applied to both, what they have made of them if that is something else, and where that differs first.
	Normalisers        []Normaliser `json:"normalisers,omitempty"`
	ExpectedNormalised string       `json:"expectedNormalised,omitempty"`
	ActualNormalised   string       `json:"actualNormalised,omitempty"`
	Difference         *Difference  `json:"difference,omitempty"`

	Unredacted bool         `json:"unredacted,omitempty"` // what was recorded has been redacted, and what was sent has not
	Remedy     []Normaliser `json:"remedy,omitempty"`     // the built-in rules that would have made both prompts alike after the others, if there are such
}

// Difference is the first place in which two texts differ.
type Difference struct {
	Offset   int    `json:"offset"`   // in bytes, from 0; up to here they are equal
	Line     int    `json:"line"`     // from 1
	Column   int    `json:"column"`   // in characters, from 1
	Expected string `json:"expected"` // what was recorded from here on, at most 60 characters of it
	Actual   string `json:"actual"`   // what was sent
}

// Code is "replay", by which a host may tell such an error from others without this package.
func (d *Divergence) Code() string { return string(Replay) }

// Error says what differs, and what to do. Its first line can stand alone; the others show the place, with what cannot be seen written as in Go.
// Long texts are cut; the fields have all of them.
func (d *Divergence) Error() string {
	head := "replay: "
	if d.Turn > 0 {
		head = fmt.Sprintf("replay: turn %d: ", d.Turn)
	}
	return head + strings.Join(d.lines(), "\n  ")
}

func (d *Divergence) lines() []string {
	switch d.Kind {
	case KindPrompt:
		return d.promptLines()
	case KindExhausted:
		return []string{"the journal has " + countOf(d.Turn-1, "turn") + ", and the host wants one more; record it anew, or make a new agent to play it again"}
	case KindUnrecorded:
		return []string{fmt.Sprintf("the commits were not recorded: %s; record the journal anew, or use Warn to go on without them", clipped(d.Expected))}
	case KindDirty:
		return []string{fmt.Sprintf("the workspace is not clean: %s; commit or remove what the recorded commits would carry off or run into", clipped(d.Actual))}
	case KindBaseline:
		begin := "the commit"
		if d.Commit != "" {
			begin = "commit " + abbreviated(d.Commit)
		}
		return d.treeLines("the workspace begins with other files", "check out "+begin+", on which the recorded commits were made")
	case KindTree:
		if d.Hard {
			return d.patchLines()
		}
		return d.treeLines("commit "+abbreviated(d.Commit)+" has come to other files", "begin with the recorded files, and with nothing else that is staged")
	default:
		return []string{clipped(string(d.Kind))}
	}
}

// treeLines are what is wrong with a tree and what to do, and then the whole ids.
func (d *Divergence) treeLines(wrong, do string) []string {
	return []string{
		fmt.Sprintf("%s: its tree is %s, not %s; %s", wrong, abbreviated(d.Actual), abbreviated(d.Expected), do),
		"recorded: tree " + clipped(d.Expected),
		"found:    tree " + clipped(d.Actual),
	}
}

// patchLines have no more of what Git says than one can read. It has a line for each file.
func (d *Divergence) patchLines() []string {
	const most = 6
	said := strings.Split(strings.TrimSpace(d.Actual), "\n")
	lines := []string{"the patch of commit " + abbreviated(d.Commit) + " does not apply; the files that it changes must be as recorded"}
	for _, s := range said[:min(most, len(said))] {
		lines = append(lines, clipped(s))
	}
	if more := len(said) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("… and %s more", countOf(more, "line")))
	}
	return lines
}

func (d *Divergence) promptLines() []string {
	head := "the prompt is not the recorded one"
	if len(d.Normalisers) > 0 {
		head += ", also after " + inWords(ruleNames(d.Normalisers))
	}
	want, got := d.compared()
	diff := firstDifference(want, got)
	if diff == nil {
		return []string{head}
	}
	head += fmt.Sprintf("; it differs at line %d, column %d (byte %d)", diff.Line, diff.Column, diff.Offset)
	switch diff.Offset {
	case len(want):
		head += ", where the recorded one ends"
	case len(got):
		head += ", where the sent one ends"
	}
	lines := append([]string{head}, excerpts(want, got, diff.Offset)...)
	if len(d.Remedy) > 0 {
		lines = append(lines, "with "+inWords(ruleNames(d.Remedy))+" they would be alike; see WithNormalisers")
	}
	if d.Unredacted {
		lines = append(lines, "what was recorded has been redacted; give the same redaction by WithRedaction")
	}
	return lines
}

// compared are the texts that were compared in the end. They differ, so not both are empty.
func (d *Divergence) compared() (want, got string) {
	if d.ExpectedNormalised != "" || d.ActualNormalised != "" {
		return d.ExpectedNormalised, d.ActualNormalised
	}
	return d.Expected, d.Actual
}

// promptDivergence is how a prompt differs from the recorded one, after redaction and then after rules, each by its own side. nil: it does
// not, as one never does that is the same before the rules. redact may be nil.
// The recorded one was redacted when it was recorded, and is redacted once more only if it differs, for a redaction may find something
// in what it has made.
func promptDivergence(turn int, recorded, live string, rules []Normaliser, recordedSide, liveSide side, redact func(string) string) *Divergence {
	if redact != nil {
		live, liveSide = redact(live), side{redact(liveSide.cwd), redact(liveSide.branch)}
	}
	if recorded == live {
		return nil
	}
	normalised := func(rules []Normaliser) (want, got string) {
		return normalise(rules, recordedSide, recorded), normalise(rules, liveSide, live)
	}
	want, got := normalised(rules)
	if want != got && redact != nil {
		recorded = redact(recorded)
		want, got = normalised(rules)
	}
	if want == got {
		return nil
	}
	d := &Divergence{Kind: KindPrompt, Turn: turn, Expected: recorded, Actual: live, Normalisers: slices.Clone(rules), Difference: firstDifference(want, got)}
	d.Unredacted = redact == nil && redactionMark.MatchString(recorded)
	if want != recorded || got != live {
		d.ExpectedNormalised, d.ActualNormalised = want, got
	}
	d.Remedy = remedy(rules, func(more []Normaliser) bool {
		want, got := normalised(inOrder(slices.Concat(rules, more)))
		return want == got
	})
	return d
}

// remedy is the fewest built-in rules that help, in the order in which they are best applied.
func remedy(rules []Normaliser, helps func([]Normaliser) bool) []Normaliser {
	more := slices.DeleteFunc(Normalisers(), func(n Normaliser) bool { return slices.Contains(rules, n) })
	if !helps(more) {
		return nil
	}
	for i := len(more) - 1; i >= 0; i-- {
		if fewer := slices.Delete(slices.Clone(more), i, i+1); helps(fewer) {
			more = fewer
		}
	}
	return more
}

// firstDifference is where two texts differ first; nil: nowhere. It is at the beginning of a character in both.
func firstDifference(want, got string) *Difference {
	if want == got {
		return nil
	}
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	inside := func(text string) bool { return at < len(text) && !utf8.RuneStart(text[at]) }
	for back := 1; back < utf8.UTFMax && at > 0 && (inside(want) || inside(got)); back++ {
		at--
	}
	before := want[:at]
	return &Difference{
		Offset:   at,
		Line:     1 + strings.Count(before, "\n"),
		Column:   1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]),
		Expected: firstRunes(want[at:], 60),
		Actual:   firstRunes(got[at:], 60),
	}
}

// excerpts show the place in two texts, one below the other, and a caret below it.
func excerpts(want, got string, at int) []string {
	const before, after = 30, 40
	begin := at
	for range before {
		_, size := utf8.DecodeLastRuneInString(want[:begin])
		begin -= size
	}
	lead := `"`
	if begin > 0 {
		lead = `…"`
	}
	lead += visible(want[begin:at])
	line := func(label, text string) string {
		rest := firstRunes(text[at:], after)
		end := `"`
		if at+len(rest) < len(text) {
			end = `"…`
		}
		return label + lead + visible(rest) + end
	}
	const recorded, sent = "recorded: ", "sent:     "
	caret := strings.Repeat(" ", len(recorded)+width(lead)) + "^"
	r, _ := utf8.DecodeRuneInString(want[at:])
	s, _ := utf8.DecodeRuneInString(got[at:])
	if at < len(want) && at < len(got) && max(r, s) >= utf8.RuneSelf && min(r, s) != utf8.RuneError { // they may look the same
		caret += fmt.Sprintf(" recorded %U, sent %U", r, s)
	}
	return []string{line(recorded, want), line(sent, got), caret}
}

// firstRunes is the beginning of a text.
func firstRunes(text string, characters int) string {
	for i := range text {
		if characters == 0 {
			return text[:i]
		}
		characters--
	}
	return text
}

// visible writes as an escape what cannot be seen or is easily taken for something else: control characters, white space but the blank,
// marks that join with the letter before them, and bytes that are no character.
func visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		if unicode.Is(unicode.M, r) {
			b.WriteString(strings.Trim(strconv.QuoteToASCII(string(r)), `"`))
			continue
		}
		quoted := strconv.Quote(text[i : i+size])
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// width is how many columns a text takes in a terminal.
func width(text string) (columns int) {
	for _, r := range text {
		columns++
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r >= 0x1f300 && r < 0x1fb00 || r >= 0xff01 && r <= 0xff60 {
			columns++
		}
	}
	return columns
}

// abbreviated is an object id as one reads it.
func abbreviated(oid string) string { return clipped(firstRunes(oid, 12)) }

// clipped is a text on one line, no longer than one can read.
func clipped(text string) string {
	const most = 200
	text = strings.TrimSpace(text)
	begin := firstRunes(text, most)
	if len(begin) < len(text) {
		begin += "…"
	}
	return lineEndEscapes.Replace(begin)
}

var lineEndEscapes = strings.NewReplacer("\n", `\n`, "\r", `\r`)

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// inWords is words in a sentence.
func inWords(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
