package replay

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// Normaliser is a rule that makes alike, in prompts, what differs from run to run. It is applied to the recorded prompt and to the live one
// before they are compared. It is one of those that are built in, such as [UUIDs], or one of [Pattern]. In JSON the first is its name, and the
// other {"pattern": "…", "replace": "…"}.
type Normaliser struct {
	Name    string // of a built-in one; "" is one of its own
	Pattern string // a regular expression, as package regexp has them
	Replace string // what stands for it; ${1} is what the first group has
}

// The built-in normalisers. What they put into a text begins with < and ends with >. A text that has been normalised stays as it is.
//
// None of them touches a date without a time, or a bare number, which may be a count as well as a time. Use [Pattern] for what such a prompt has.
var (
	// CRLF makes a line feed of a carriage return and a line feed.
	CRLF = Normaliser{Name: "crlf"}

	// Paths puts <workspace> in the place of the workspace of each side, with slashes or backslashes. It comes before [TempDirs], for a
	// workspace may be a temporary folder.
	Paths = Normaliser{Name: "path"}

	// TempDirs puts <tempdir-1> in the place of the first folder or file below the usual roots of temporary files, on any system: /tmp,
	// /var/tmp, /var/folders/…/T, $TMPDIR, %TEMP%, AppData\Local\Temp and Windows\Temp. What comes below it stays. Others have other numbers.
	TempDirs = Normaliser{Name: "tempdir"}

	// Branches puts <branch> in the place of the branch of each side, where it stands as a word. One that is a word of the prompt too, such as
	// main, may make more differ than alike.
	Branches = Normaliser{Name: "branch"}

	// UUIDs puts <uuid-1> in the place of the first UUID of a text, <uuid-2> in that of the next other one, and so on. So two prompts that mix
	// up ids still differ.
	UUIDs = Normaliser{Name: "uuid"}

	// Timestamps puts <timestamp> in the place of a date with a time, as RFC 3339 has it, or RFC 1123, the command date, Git, the log of Go or
	// the names of files.
	Timestamps = Normaliser{Name: "timestamp"}
)

// Normalisers are all that are built in, in an order in which none takes from another what is its own.
func Normalisers() []Normaliser {
	return []Normaliser{CRLF, Paths, TempDirs, Branches, UUIDs, Timestamps}
}

// inOrder are rules as they are applied: each built-in one once, where it takes from no other what is its own, and then the others.
func inOrder(rules []Normaliser) (ordered []Normaliser) {
	for _, n := range Normalisers() {
		if slices.Contains(rules, n) {
			ordered = append(ordered, n)
		}
	}
	return append(ordered, slices.DeleteFunc(slices.Clone(rules), func(n Normaliser) bool { return n.Name != "" })...)
}

// Pattern is a normaliser of your own, for what matches a regular expression. In its replacement ${1} is what the first group has, as
// [regexp.Regexp.ReplaceAllString] has it.
func Pattern(expression, replace string) Normaliser {
	return Normaliser{Pattern: expression, Replace: replace}
}

// String is the name of a built-in one, and the expression of another.
func (n Normaliser) String() string {
	if n.Name != "" {
		return n.Name
	}
	return fmt.Sprintf("%.60q", n.Pattern)
}

// ownRule is how one of [Pattern] is written.
type ownRule struct {
	Pattern string `json:"pattern"`
	Replace string `json:"replace"`
}

// MarshalJSON is of [json.Marshaler].
func (n Normaliser) MarshalJSON() ([]byte, error) {
	var written any = n.Name
	if n.Name == "" {
		written = ownRule{n.Pattern, n.Replace}
	}
	return marshal(written) // a placeholder is to be read
}

// UnmarshalJSON is of [json.Unmarshaler]. It refuses an unknown name, an unknown key and an expression that does not compile.
func (n *Normaliser) UnmarshalJSON(data []byte) error {
	const want = `a normaliser must be a name, or an object with "pattern" and "replace"`
	*n = Normaliser{}
	switch data[0] {
	case '"':
		_ = json.Unmarshal(data, &n.Name)
		if n.Name == "" {
			return errors.New(want + `, is ""`)
		}
	case '{':
		var members map[string]json.RawMessage
		_ = json.Unmarshal(data, &members)
		into := map[string]*string{"pattern": &n.Pattern, "replace": &n.Replace}
		for _, key := range slices.Sorted(maps.Keys(members)) {
			text := into[key]
			if text == nil {
				nearest, _ := script.Nearest(fmt.Sprintf("%.60s", key), []string{"pattern", "replace"})
				return fmt.Errorf("unknown key %.60q of a normaliser, did you mean %q?", key, nearest)
			}
			if members[key][0] != '"' || json.Unmarshal(members[key], text) != nil {
				return fmt.Errorf("the %s of a normaliser must be a string, is %s", key, briefly(members[key]))
			}
		}
	default:
		return fmt.Errorf("%s, is %s", want, briefly(data))
	}
	return n.wrong()
}

// briefly is JSON for a message.
func briefly(value []byte) string { return clipped(firstRunes(string(value), 60)) }

// check is what is wrong with a rule, with the code configuration.
func (n Normaliser) check() error {
	if err := n.wrong(); err != nil {
		return configuration("%w", err)
	}
	return nil
}

// groupReference is a reference to a group in a replacement, or a dollar sign that stands for itself.
var groupReference = regexp.MustCompile(`\$(?:\$|(\w+)|\{(\w+)\})`)

func (n Normaliser) wrong() error {
	switch {
	case n.Name != "" && n.Pattern+n.Replace != "":
		return fmt.Errorf("the normaliser %.60q has a pattern too; it must have either a name or a pattern", n.Name)
	case n.Name != "":
		if builtIn[n.Name] == nil {
			return unknownOf("normaliser", n.Name, ruleNames(Normalisers()))
		}
		return nil
	case n.Pattern == "":
		return errors.New("a normaliser has neither a name nor a pattern")
	}
	re, err := regexp.Compile(n.Pattern)
	if err != nil {
		return fmt.Errorf("the pattern %.60q of a normaliser does not compile: %.120q", n.Pattern, err.Error())
	}
	for _, m := range groupReference.FindAllStringSubmatch(n.Replace, -1) {
		name := m[1] + m[2]
		if number, err := strconv.Atoi(name); err == nil && number <= re.NumSubexp() || name == "" || re.SubexpIndex(name) >= 0 {
			continue
		}
		return fmt.Errorf("the replacement %.60q of a normaliser has %.60s, which is no group of its pattern; write ${1} for a group, and $$ for a dollar sign",
			n.Replace, m[0])
	}
	return nil
}

// unknownOf is an error about a word that is none of those there are.
func unknownOf(what, word string, known []string) error {
	hint := "; use"
	if nearest, changes := script.Nearest(fmt.Sprintf("%.60s", word), known); changes <= 2 {
		hint = fmt.Sprintf(", did you mean %q? There are", nearest)
	}
	return fmt.Errorf("unknown %s %.60q%s %s", what, word, hint, strings.Join(known, ", "))
}

func ruleNames(rules []Normaliser) (all []string) {
	for _, n := range rules {
		all = append(all, n.String())
	}
	return all
}

// side is one of the two that a normaliser is applied to: the recorded one or the live one.
type side struct {
	cwd    string // the workspace; "" where it is not known
	branch string // its branch; "" where it is not known
}

// normalise applies rules, which are right, to a text, in their order.
func normalise(rules []Normaliser, s side, text string) string {
	for _, n := range rules {
		if n.Name != "" {
			text = builtIn[n.Name](s, text)
		} else {
			text = regexp.MustCompile(n.Pattern).ReplaceAllString(text, n.Replace)
		}
	}
	return text
}

// builtIn are the built-in rules by their names. Each leaves alone what it has made itself.
var builtIn = map[string]func(s side, text string) string{
	CRLF.Name: func(_ side, text string) string { return lineEnds.ReplaceAllString(text, "\n") },
	Paths.Name: func(s side, text string) string {
		return replaceNames(text, spellings(s.cwd), "<workspace>", func(_, after string) bool { return true })
	},
	TempDirs.Name: func(_ side, text string) string {
		var n numbers
		return replaceMatches(text, matchesAt(text, tempDirs, 1000, mayBeTempDir), func(before, match, _ string) (string, bool) {
			return "<tempdir-" + n.of(strings.TrimPrefix(match, "/private")) + ">", !endsInFolder.MatchString(before[max(0, len(before)-40):])
		})
	},
	Branches.Name: normaliseBranch,
	UUIDs.Name: func(_ side, text string) string {
		var n numbers
		return replaceMatches(text, uuids(text), func(before, match, after string) (string, bool) {
			return "<uuid-" + n.of(strings.ToLower(match)) + ">", alone(before, after)
		})
	},
	Timestamps.Name: func(_ side, text string) string {
		return replaceMatches(text, matchesAt(text, timestamps, 50, mayBeTimestamp), func(before, _, after string) (string, bool) {
			return "<timestamp>", alone(before, after)
		})
	},
}

// lineEnds has more than one carriage return, for else a second time would find one that the first has left.
var lineEnds = regexp.MustCompile(`\r+\n`)

var timestamps = func() *regexp.Regexp {
	const (
		clock = `\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?`
		zone  = `(?: ?(?:[Zz]|UTC|GMT|[+-]\d{2}:?\d{2}))?`
		day   = `(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)`
		month = `(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)`
	)
	return regexp.MustCompile(`^(?:` + strings.Join([]string{
		`\d{4}-\d{2}-\d{2}[Tt ]` + clock + zone,
		`\d{4}-\d{2}-\d{2}[T_]\d{2}-\d{2}-\d{2}`, // in the name of a file
		`\d{4}/\d{2}/\d{2} ` + clock + zone,
		`\d{8}T\d{6}Z?`,
		day + `, \d{2} ` + month + ` \d{4} ` + clock + zone,
		day + ` ` + month + ` [ \d]\d ` + clock + `(?: [A-Z]{3,4})? \d{4}`,
		`1\d{9} [+-](?:0\d|1[0-4])[0-5]\d`, // of Git; without a zone a number may be anything
	}, "|") + `)`)
}()

const decimals = "0123456789"

func mayBeTimestamp(rest string) bool {
	switch rest[0] {
	case 'M', 'T', 'W', 'F', 'S':
		return len(rest) > 4 && (rest[3] == ',' || rest[3] == ' ')
	default:
		return strings.IndexByte(decimals, rest[0]) >= 0 && len(rest) >= 4 && strings.Trim(rest[:4], decimals) == ""
	}
}

// placeholder is what a rule or a redaction has put into a text.
const placeholder = `<(?:workspace|branch|timestamp|(?:tempdir|uuid|redacted)-\d+)>`

var (
	redactionMark = regexp.MustCompile(`<redacted-\d+>`)
	isPlaceholder = regexp.MustCompile(`^` + placeholder + `$`)
	endsInFolder  = regexp.MustCompile(`(?:` + placeholder + `|[\pL\pN_.~})-]|(?:^|[^:/])/+)$`) // or in a variable, such as ${HOME}; not so file://
)

var tempDirs = func() *regexp.Regexp {
	const (
		sep  = `(?:\\{1,2}|/)`
		user = `[^\\/:*?"<>|\r\n]+`
		char = `(?:[\pL\pN_@+~-]|` + placeholder + `)`
	)
	roots := []string{
		`(?:/private)?/(?:tmp|var/tmp|var/folders/[^/\s]+/[^/\s]+/[TC])/`,
		`(?:\$TMPDIR|\$\{TMPDIR\})/`,
		`(?i:%TE?MP%` + sep + `)`,
		`(?i:[a-z]:` + sep + `(?:Users` + sep + user + sep + `AppData` + sep + `Local|Windows)` + sep + `Temp` + sep + `)`,
	}
	return regexp.MustCompile(`^(?:` + strings.Join(roots, "|") + `)(?:` + char + `|\.)*` + char) // the dot at the end is that of a sentence
}()

func mayBeTempDir(rest string) bool {
	switch rest[0] {
	case '/':
		return strings.HasPrefix(rest, "/tmp/") || strings.HasPrefix(rest, "/var/") || strings.HasPrefix(rest, "/private/")
	case '$', '%':
		return true
	default:
		return len(rest) > 2 && rest[1] == ':' && (rest[2] == '/' || rest[2] == '\\')
	}
}

// matchesAt are the matches of an expression at its beginning, at the places where there may be one. The expression alone would have to look
// at every place, which is far slower.
func matchesAt(text string, re *regexp.Regexp, longest int, may func(rest string) bool) (places [][]int) {
	for i := 0; i < len(text); i++ {
		if !may(text[i:]) {
			continue
		}
		if m := re.FindStringIndex(text[i:min(len(text), i+longest)]); m != nil {
			places = append(places, []int{i, i + m[1]})
			i += m[1] - 1
		}
	}
	return places
}

// replaceMatches puts something else in the place of matches, but of those that it refuses.
func replaceMatches(text string, matches [][]int, replace func(before, match, after string) (string, bool)) string {
	if len(matches) == 0 {
		return text
	}
	var b strings.Builder
	done := 0
	for _, m := range matches {
		if with, ok := replace(text[:m[0]], text[m[0]:m[1]], text[m[1]:]); ok {
			b.WriteString(text[done:m[0]])
			b.WriteString(with)
			done = m[1]
		}
	}
	b.WriteString(text[done:])
	return b.String()
}

// numbers gives each text a number, from 1.
type numbers struct{ known map[string]string }

func (n *numbers) of(text string) string {
	if n.known == nil {
		n.known = map[string]string{}
	}
	if n.known[text] == "" {
		n.known[text] = strconv.Itoa(len(n.known) + 1)
	}
	return n.known[text]
}

// uuids are the places of what has the form of a UUID. An expression is far slower.
func uuids(text string) (places [][]int) {
	const length, first = 36, 8
	for i := 0; i+length <= len(text); i++ {
		dash := strings.IndexByte(text[i:], '-')
		if dash < 0 {
			break
		}
		if start := i + dash - first; start >= 0 && start+length <= len(text) && isUUID(text[start:start+length]) {
			places = append(places, []int{start, start + length})
			i = start + length - 1
		} else {
			i += dash
		}
	}
	return places
}

func isUUID(text string) bool {
	for i := range len(text) {
		switch i {
		case 8, 13, 18, 23:
			if text[i] != '-' {
				return false
			}
		default:
			if c := text[i] | 0x20; (text[i] < '0' || text[i] > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// alone is whether no word goes on before or after what stands between two texts.
func alone(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	return !isLetter(last) && !isLetter(next)
}

func isLetter(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

func isNameRune(r rune) bool { return isLetter(r) || r == '_' || r == '-' }

// endsInName is whether the name of a file or a branch goes on behind a text.
func endsInName(before string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	return isNameRune(last) || last == '.' || last == '~'
}

// beginsInName is whether a text goes on with the name before it. A dot does so only if it is not the end of a sentence.
func beginsInName(after string) bool {
	next, size := utf8.DecodeRuneInString(after)
	if next == '.' {
		next, _ = utf8.DecodeRuneInString(after[size:])
	}
	return isNameRune(next)
}

// spellings are the ways in which a folder may be written, the longest first. A root has none: it is in every path.
func spellings(cwd string) (all []string) {
	cwd = strings.TrimRight(cwd, `/\`)
	if !strings.ContainsAny(cwd, `/\`) || strings.ContainsAny(redactionMark.ReplaceAllString(cwd, ""), "<>") {
		return nil
	}
	slashed := strings.ReplaceAll(cwd, `\`, "/")
	folders := []string{slashed}
	if rest, ok := strings.CutPrefix(slashed, "/private/"); ok { // to which macOS links
		folders = append(folders, "/"+rest)
	} else if strings.HasPrefix(slashed, "/var/") || strings.HasPrefix(slashed, "/tmp/") {
		folders = append(folders, "/private"+slashed)
	} else if slashed[1] == ':' {
		folders = []string{strings.ToLower(slashed[:1]) + slashed[1:], strings.ToUpper(slashed[:1]) + slashed[1:]}
	}
	for _, f := range folders {
		all = append(all, f, strings.ReplaceAll(f, "/", `\`), strings.ReplaceAll(f, "/", `\\`)) // the last is that in JSON
	}
	all = append(all, cwd)
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(all)
}

func normaliseBranch(s side, text string) string {
	if s.branch == "" || strings.ContainsAny(s.branch, "<>") {
		return text
	}
	like := isPlaceholder.MatchString("<" + s.branch + ">")
	return replaceNames(text, []string{s.branch}, "<branch>", func(before, after string) bool {
		inside := like && strings.HasSuffix(before, "<") && strings.HasPrefix(after, ">")
		return !inside && !strings.HasPrefix(after, "/")
	})
}

// replaceNames puts a placeholder in the place of names that stand alone, and may. Names without anything between them stand alone together, or
// none of them does: else what is made of one would let another stand alone.
func replaceNames(text string, names []string, placeholder string, may func(before, after string) bool) string {
	var quoted []string
	for _, name := range names {
		if utf8.ValidString(name) { // no prompt of a journal has another one
			quoted = append(quoted, regexp.QuoteMeta(name))
		}
	}
	if len(quoted) == 0 {
		return text
	}
	one := regexp.MustCompile(strings.Join(quoted, "|"))
	several := regexp.MustCompile("(?:" + one.String() + ")+")
	return replaceMatches(text, several.FindAllStringIndex(text, -1), func(before, match, after string) (string, bool) {
		return one.ReplaceAllLiteralString(match, placeholder), !endsInName(before) && !beginsInName(after) && may(before, after)
	})
}
