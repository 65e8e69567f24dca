package script

import (
	"strconv"
	"strings"
)

// Markdown is an answer that a renderer has something to do with: headings, lists, code, a table, a quote, links. It is the same for the same
// number, and has at least so many characters as a reader sees them.
func Markdown(atLeast int) string {
	const section = "The agent looked at **part {n}** of the work, and found `value{n}` in [the notes](https://example.com/{n}).\n\n" +
		"- first it read, *slowly*\n- then it wrote\n  1. a test\n  2. what the test wants\n\n" +
		"```go\nfunc part{n}() int {\n\treturn {n}\n}\n```\n\n" +
		"| file | lines |\n|---|---:|\n| `part{n}.go` | {n} |\n\n> Nothing else has changed.\n\n"
	var b strings.Builder
	b.WriteString("# What was done\n\n")
	for n := 1; n == 1 || b.Len() < atLeast; n++ { // every character of it is a byte
		number := strconv.Itoa(n)
		b.WriteString("## Part " + number + "\n\n")
		b.WriteString(strings.ReplaceAll(section, "{n}", number))
	}
	b.WriteString("That is all.\n")
	return b.String()
}
