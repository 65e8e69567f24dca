package playbook

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// goesOn is whether the name of a placeholder is only the beginning of one.
func goesOn(known string) bool { return strings.HasSuffix(known, ".") || strings.HasSuffix(known, ":") }

// inBraces yields what stands between {{ and }}.
func inBraces(text string) func(yield func(name string) bool) {
	return func(yield func(string) bool) {
		for {
			before, rest, ok := strings.Cut(text, "}}")
			if !ok {
				return
			}
			if i := strings.LastIndex(before, "{{"); i >= 0 && !yield(before[i+len("{{"):]) {
				return
			}
			text = rest
		}
	}
}

func isPlaceholder(name string) bool {
	return slices.ContainsFunc(script.PlaceholderNames(), func(known string) bool {
		return name == known && !goesOn(known) || goesOn(known) && len(name) > len(known) && strings.HasPrefix(name, known)
	})
}

func hasPlaceholder(text string) bool {
	for name := range inBraces(text) {
		if isPlaceholder(name) {
			return true
		}
	}
	return false
}

// slipOf is the placeholder that was meant, "" if the name is one, or is not much like one.
func slipOf(name string) string {
	if isPlaceholder(name) {
		return ""
	}
	name = strings.TrimSpace(name)
	word, then, rest := name, "", ""
	if i := strings.IndexAny(name, ".:"); i >= 0 {
		word, then, rest = name[:i], name[i:i+1], name[i+1:]
	}
	meant, fewest := "", slip+1
	for _, known := range script.PlaceholderNames() {
		like, more := known, goesOn(known)
		if more {
			like = known[:len(known)-1]
		}
		// Many a word is like step, and {{item.name}} may be for somebody else to fill.
		if _, changes := script.Nearest(word, []string{like}); changes < fewest && (!more || changes == 0 || like+then == known) {
			if meant, fewest = known, changes; more {
				meant += cmp.Or(rest, "…")
			}
		}
	}
	return meant
}

// slip is in how many letters a word may differ from the one that was meant.
const slip = 2

// quoted is a placeholder in a message of one line.
func quoted(name string) string { return oneLine.Replace("{{" + short(name) + "}}") }

func short(text string) string {
	const enough = 60
	if utf8.RuneCountInString(text) <= enough {
		return text
	}
	return string([]rune(text)[:enough]) + "…"
}
