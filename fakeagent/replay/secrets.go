package replay

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/understudy-go/understudy/fakeagent/internal/jsonscan"
)

// Finding is a text that has the shape of a secret. It does not have the text.
type Finding struct {
	Path string // of the value in the entry, such as input.headers.authorization; "" is all of it
	What string // what it looks like, such as "an AWS access key id"
}

// String is the place and the shape, on one line.
func (f Finding) String() string {
	if f.Path == "" {
		return "the entry has " + f.What
	}
	return f.Path + " has " + f.What
}

// findSecrets looks for secrets in an entry: in all strings, in JSON that stands in strings, and in the files of patches. It goes by what they look
// like, or what they are named, so it does not find everything.
func findSecrets(e Entry) (all []Finding) {
	var s secretSearch
	if json.Valid(e) {
		s.json(nil, string(e))
	} else {
		s.text(nil, string(e))
	}
	for _, h := range s.hits {
		if f := s.finding(h); !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}

// secretSearch is a search through an entry.
type secretSearch struct {
	hits []hit
	name string // of the last pair of a name and a value, as lists of headers and variables have them
	pair *place
}

type hit struct {
	at           *place
	file         string // of a patch
	what, secret string
}

// finding takes out of the path what has a secret in it, or looks like one.
func (s *secretSearch) finding(h hit) Finding {
	leaks := func(text string) bool {
		return slices.ContainsFunc(s.hits, func(h hit) bool { return strings.Contains(text, h.secret) })
	}
	clean := func(key string) string {
		if leaks(key) {
			return "…"
		}
		if begin := firstRunes(key, 40); begin != key {
			key = begin + "…"
		}
		return visible(key)
	}
	path := h.at.fold(clean)
	if h.file != "" {
		path += " (" + clean(h.file) + ")"
	}
	if leaks(path) {
		path = "…"
	}
	return Finding{path, h.what}
}

func (s *secretSearch) json(in *place, text string) {
	w := stringWalk{text: text, key: s.key, value: s.value}
	w.walk(in, jsonscan.Space(text, 0))
}

// key looks into keys that are no words, as those are of a map by something.
func (s *secretSearch) key(at *place) {
	if len(at.key) >= 16 {
		s.text(at, at.key)
	}
}

func (s *secretSearch) value(at *place, text string, _, _ int) {
	key := at.nearestKey()
	switch {
	case at == nil:
	case at.key == "name":
		s.name, s.pair = text, at.in
	case at.key == "value" && at.in == s.pair:
		key = s.name
	case key == "patch" && at.top() == "commits":
		s.patch(at, text)
		return
	}
	if isSecretName(key) {
		s.named(at, key, text)
	}
	if nested := strings.TrimSpace(text); nested != "" && strings.IndexByte(`{["`, nested[0]) >= 0 && json.Valid([]byte(nested)) {
		s.json(at, nested)
		return
	}
	s.text(at, text)
}

func (s *secretSearch) patch(at *place, patch string) {
	lines, contents := patchTexts(patch)
	s.text(at, lines)
	for _, c := range contents {
		begin := len(s.hits)
		s.text(at, c.text)
		for i := range s.hits[begin:] {
			s.hits[begin+i].file = c.file
		}
	}
}

func (s *secretSearch) hit(at *place, what, secret string) {
	if secret != "" {
		s.hits = append(s.hits, hit{at: at, what: what, secret: secret})
	}
}

// text looks for secrets in a text that is no JSON.
func (s *secretSearch) text(at *place, text string) {
	if len(text) < shortest {
		return
	}
	small := strings.ToLower(text)
	for _, sh := range secretShapes {
		if !slices.ContainsFunc(sh.anchors, func(a string) bool { return strings.Contains(small, a) }) {
			continue
		}
		for _, m := range sh.text.FindAllStringSubmatchIndex(text, -1) {
			if alone(text[:m[0]], text[m[1]:]) {
				s.hit(at, sh.what, sh.secret(text[m[0]:m[1]], text[m[2]:m[3]]))
			}
		}
	}
	s.settings(at, text)
}

// secretShape is a kind of secret that shows by what it looks like.
type secretShape struct {
	what    string
	anchors []string // in small letters; without any of them a text has no such secret, which is quickly told
	text    *regexp.Regexp
	secret  func(all, group string) string // what is secret in a match; "" is nothing
}

func looksLike(what, expression string, secret func(all, group string) string, anchors ...string) secretShape {
	return secretShape{what, anchors, regexp.MustCompile(expression), secret}
}

const authorization = "what stands in an Authorization header"

var secretShapes = []secretShape{
	looksLike("an AWS access key id", `((?:AKIA|ASIA)[A-Z0-9]{16})`, random, "akia", "asia"),
	looksLike("a GitHub token", `(gh[opusr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})`, random, "gho_", "ghp_", "ghu_", "ghs_", "ghr_", "github_pat_"),
	looksLike("a GitLab token", `(glpat-[A-Za-z0-9_-]{20,})`, random, "glpat-"),
	looksLike("a Slack token", `(xox[a-z]-[A-Za-z0-9-]{10,})`, random, "xox"),
	looksLike("a Slack webhook", `(hooks\.slack\.com/services/[A-Za-z0-9/]{20,})`, random, "hooks.slack.com"),
	looksLike("an Anthropic key", `(sk-ant-[A-Za-z0-9_-]{20,})`, random, "sk-ant-"),
	looksLike("an OpenAI key", `(sk-[A-Za-z0-9_-]{20,})`, func(all, _ string) string {
		if strings.HasPrefix(all, "sk-ant-") || !hasRune(all, unicode.IsUpper) || !hasRune(all, unicode.IsDigit) { // the names of styles may begin so
			return ""
		}
		return random(all, all)
	}, "sk-"),
	looksLike("a Google API key", `(AIza[A-Za-z0-9_-]{35})`, random, "aiza"),
	looksLike("a Stripe key", `([rs]k_live_[A-Za-z0-9]{16,})`, random, "k_live_"),
	looksLike("an npm token", `(npm_[A-Za-z0-9]{36})`, random, "npm_"),
	looksLike("a PyPI token", `(pypi-[A-Za-z0-9_-]{50,})`, random, "pypi-"),
	looksLike("a JSON web token", `(eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})`, random, "eyj"),
	looksLike("a private key", `-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----[^-]{0,200}?([A-Za-z0-9+/=]{40,})`, random, "private key"),
	looksLike("a password in a URL", `[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>\\]*:([^\s/@"'<>\\]+)@[^\s/"'<>\\]+`, func(_, group string) string {
		return genuine(group)
	}, "://"),
	looksLike(authorization, `(?i)bearer\s+([A-Z0-9._~+/-]{8,}=*)`, func(_, group string) string { return mixed(group) }, "bearer"),
	looksLike(authorization, `(?i)basic\s+([A-Z0-9+/]{8,}=*)`, func(_, group string) string {
		pair, err := base64.StdEncoding.DecodeString(group)
		_, password, ok := strings.Cut(string(pair), ":")
		if err != nil || !ok || genuine(password) == "" {
			return ""
		}
		return group
	}, "basic"),
}

// random is a secret that nobody has typed: it is no example, and has more than a few characters again and again.
func random(_, group string) string {
	different := map[rune]bool{}
	for _, r := range group {
		different[r] = true
	}
	if len(different) < 10 {
		return ""
	}
	return genuine(group)
}

// notGenuine is what stands for a secret: a variable, an example, a blank to fill in.
var notGenuine = regexp.MustCompile(`(?i)^[$<{%\[(*]|\*\*\*|\.\.\.|…|\$\{|\{\{|<redacted|xxxx|example|placeholder|change.?me|dummy|your[-_]` +
	`|^(?:pass(?:word|wd)?|pwd|secret|token|key|user|test|none|null|true|false|x*)\d*$`)

func genuine(text string) string {
	if notGenuine.MatchString(text) {
		return ""
	}
	return text
}

func hasRune(text string, class func(rune) bool) bool { return strings.ContainsFunc(text, class) }

// mixed is a secret if it has letters and digits, as words of a language have not.
func mixed(text string) string {
	if !hasRune(text, unicode.IsLetter) || !hasRune(text, unicode.IsDigit) {
		return ""
	}
	return genuine(text)
}

// shortest is how long a secret is at least.
const shortest = 6

// settings looks for names with values, such as those of headers, variables, and parameters of a URL, and those in code that is cut out of JSON.
func (s *secretSearch) settings(at *place, text string) {
	for i := 0; i < len(text); i++ {
		next := strings.IndexAny(text[i:], ":=")
		if next < 0 {
			return
		}
		i += next
		if name := lastName(text[:i]); isSecretName(name) {
			s.named(at, name, assigned(text[i:]))
		}
	}
}

const quotes = "\"'`\\"

// lastName is the name at the end of a text, which may be quoted.
func lastName(text string) string {
	text = strings.TrimRight(strings.TrimSuffix(text, ":"), quotes+" \t")
	return text[strings.LastIndexFunc(text, func(r rune) bool { return !isNameRune(r) && r != '.' })+1:]
}

// assigned is what stands behind a colon or an equals sign. It is "" where that is code.
func assigned(text string) string {
	sign, rest := text[0], strings.TrimPrefix(text[1:], ">")
	value := strings.TrimLeft(rest, " \t")
	bare := strings.TrimLeft(value, quotes)
	switch {
	case len(bare) < len(value):
		value = bare[:upTo(bare, quotes+"\r\n")]
	case sign == '=' && value != rest:
		value = ""
	default:
		value = bare[:upTo(bare, "\r\n")]
		if i := upTo(value, "([{"); i < len(value) && upTo(value, " ") > i {
			value = ""
		}
	}
	return value
}

// upTo is where a text has the first of some characters.
func upTo(text, characters string) int {
	if i := strings.IndexAny(text, characters); i >= 0 {
		return i
	}
	return len(text)
}

var (
	secretNames = []string{
		"password", "passwd", "pwd", "passphrase", "secret", "apikey", "accesskey", "secretkey", "privatekey", "token", "credential", "credentials",
		"authorization", "cookie",
	}
	otherNames = []string{"pagetoken", "nexttoken", "continuationtoken", "synctoken", "stoptoken", "eostoken", "cancellationtoken"}
)

// lettersOf is a name as one compares it: apiKey, API_KEY and api-key are one.
func lettersOf(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

func isSecretName(name string) bool {
	letters := lettersOf(name)
	ends := func(with string) bool { return strings.HasSuffix(letters, with) }
	return slices.ContainsFunc(secretNames, ends) && !slices.ContainsFunc(otherNames, ends)
}

var (
	scheme  = regexp.MustCompile(`^(?i:bearer|basic|token|digest)\s+`)
	digest  = regexp.MustCompile(`^(?i:[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)
	noValue = regexp.MustCompile(`^[/~.]|://|^sha\d+[:-]` + // a file, an address, the hash of a secret
		`|^[A-Z][A-Z0-9]*_[A-Z0-9_]*$|^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$`) // a variable
)

// named is a value that is secret because of its name, if it is not a word.
func (s *secretSearch) named(at *place, name, value string) {
	letters := lettersOf(name)
	switch {
	case strings.HasSuffix(letters, "cookie"):
		for _, part := range strings.Split(value, ";") {
			_, value, _ := strings.Cut(part, "=")
			s.hit(at, "a cookie", keyed(value, 8))
		}
	case strings.HasSuffix(letters, "authorization"):
		value = value[len(scheme.FindString(value)):]
		s.hit(at, authorization, keyed(value[:upTo(value, " ,;")], 8))
	case strings.HasSuffix(letters, "token"):
		if value = keyed(value, 12); !digest.MatchString(value) { // such a token is often just an id
			s.hit(at, "a value with the name of a secret", value)
		}
	default:
		s.hit(at, "a value with the name of a secret", keyed(value, shortest))
	}
}

// keyed is what a value has up to the end of a word, if it may be secret.
func keyed(value string, least int) string {
	value = value[:upTo(value, " \t,;&)}]>")]
	if len(value) < least || noValue.MatchString(value) {
		return ""
	}
	return mixed(value)
}
