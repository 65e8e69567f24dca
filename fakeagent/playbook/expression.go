package playbook

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// foreign is what begins so in other dialects of regular expressions.
var foreign = []struct{ begin, name string }{
	{"(?=", "look-ahead"}, {"(?!", "look-ahead"}, {"(?<=", "look-behind"}, {"(?<!", "look-behind"},
	{"(?>", "atomic groups"}, {"(?(", "conditions"}, {"(?|", "branch reset"}, {"(?#", "comments"},
	{"(?R", "recursion"}, {"(?0", "recursion"}, {"(?1", "recursion"}, {"(?&", "recursion"}, {"(?P>", "recursion"},
	{`\u`, `\u; write \x{…}`}, {`\Z`, `\Z; write \z`},
}

// whyNot says why an expression does not compile, and if it is one of another dialect, what of that Go has not.
func whyNot(expr string, err error) string {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	why := oneLine.Replace(fmt.Sprintf("%s: `%.60s`", e.Code, e.Expr))
	if name := foreignIn(expr, e); name != "" {
		why += "; the syntax is that of Go (RE2), which has no " + name
	}
	return why
}

var (
	possessive    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([*+?]|\{.*\})\+$`) })
	backReference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\\[1-9k]|^\(\?P=`) })
)

func foreignIn(expr string, e *syntax.Error) string {
	if e.Code == syntax.ErrInvalidRepeatOp && possessive().MatchString(e.Expr) {
		return "possessive quantifiers"
	}
	rest, class := where(expr, e)
	if !class && backReference().MatchString(rest) { // in a class it is a character to others
		return "back references"
	}
	for _, f := range foreign {
		if strings.HasPrefix(rest, f.begin) {
			return f.name
		}
	}
	return ""
}

// where is an expression from the place on that an error is about, and whether that is in a class. It is the last one that looks like it and has
// no such error before it.
func where(expr string, e *syntax.Error) (rest string, class bool) {
	const long = 1000 // nobody writes as much, and each place costs a look at all before it
	if len(expr) > long {
		return "", false
	}
	for at := range len(expr) {
		if strings.HasPrefix(expr[at:], e.Expr) {
			before := errorIn(expr[:at])
			if before == e.Code {
				break
			}
			rest, class = expr[at:], before == syntax.ErrMissingBracket
		}
	}
	return rest, class
}

// errorIn is what is wrong with an expression, "" if nothing is.
func errorIn(expr string) syntax.ErrorCode {
	_, err := syntax.Parse(expr, syntax.Perl)
	if e := (*syntax.Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

const (
	anchored   = true
	unanchored = false // the beginning and the end of a text may be anywhere
)

// matches is whether there may be a text that an expression matches. Borders of lines and of words count as being wherever they are wanted.
func matches(expr string, anchors bool) bool {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return true
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return true
	}
	type state struct {
		pc    uint32
		begin bool // nothing is before it
		end   bool // nothing may come any more
	}
	todo := []state{{uint32(prog.Start), true, false}, {uint32(prog.Start), false, false}}
	seen := map[state]bool{}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		in, next := prog.Inst[s.pc], s
		next.pc = in.Out
		switch in.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstFail:
			continue
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, state{in.Arg, s.begin, s.end})
		case syntax.InstEmptyWidth:
			op := syntax.EmptyOp(in.Arg)
			if anchors && op&syntax.EmptyBeginText != 0 && !s.begin {
				continue
			}
			next.end = s.end || anchors && op&syntax.EmptyEndText != 0
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if s.end || in.Op == syntax.InstRune && len(in.Rune) == 0 {
				continue
			}
			next.begin = false
		}
		todo = append(todo, next)
	}
	return false
}

// only is the one id that an expression matches, if it is that simple.
func only(expr string) (id string, ok bool) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil || re.Op != syntax.OpConcat || len(re.Sub) != 3 {
		return "", false
	}
	text := re.Sub[1]
	if re.Sub[0].Op != syntax.OpBeginText || text.Op != syntax.OpLiteral || text.Flags&syntax.FoldCase != 0 || re.Sub[2].Op != syntax.OpEndText {
		return "", false
	}
	return string(text.Rune), !slices.Contains(text.Rune, utf8.RuneError) // which matches any byte that is no UTF-8
}
