package bubble

import (
	"bytes"
	"reflect"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
)

// own is what the names of this package's functions begin with.
var own = reflect.TypeFor[bubble]().PkgPath() + "."

// goroutine is one as runtime.Stack prints it.
type goroutine struct {
	id      string
	state   string // what it does, in the runtime's words
	durable bool   // it waits for the bubble's clock or for other goroutines of the bubble
	bubble  string
	labels  map[string]string // only where the runtime prints them
	frames  []frame           // innermost first
	origin  frame             // what started it
}

type frame struct{ function, place string }

// goroutines are those of a bubble, but for those that hold it together.
func (b *bubble) goroutines() (out []goroutine) {
	head := b.head.Load()
	if head == nil {
		return nil
	}
	line, _, _ := strings.Cut(string(head[:]), "\n")
	name := parseHead(line).bubble
	buf := make([]byte, 64<<10)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	for text := range strings.SplitSeq(string(buf[:n]), "\n\n") {
		head, stack, _ := strings.Cut(text, "\n")
		g := parseHead(head)
		if g.bubble == "" || g.bubble != name {
			continue
		}
		g.parseStack(stack)
		if !slices.ContainsFunc(g.frames, isScaffold) {
			out = append(out, g)
		}
	}
	return out
}

// isScaffold is whether a goroutine with this frame belongs to synctest.Test or waits for Ginkgo's nodes.
func isScaffold(f frame) bool {
	return strings.HasPrefix(f.function, "testing/synctest.") || f.function == own+"(*bubble).serve"
}

// parseHead reads a line such as this, whose labels are missing in most versions of Go:
//
//	goroutine 7 [chan receive (durable), 2 minutes, synctest bubble 3 labels:{"a": "b"}]:
func parseHead(line string) (g goroutine) {
	id, rest, found := strings.Cut(strings.TrimPrefix(line, "goroutine "), " [")
	if !found {
		return g
	}
	rest, labels, _ := strings.Cut(rest, " labels:{")
	g.labels = parseLabels(labels)
	g.id, _, _ = strings.Cut(id, " ")
	says := strings.Split(strings.TrimSuffix(rest, "]:"), ", ")
	g.state, g.durable = strings.CutSuffix(says[0], " (durable)")
	for _, s := range says[1:] {
		if strings.HasPrefix(s, "synctest bubble ") {
			g.bubble = s
		}
	}
	return g
}

// parseStack reads pairs of lines such as
//
//	example.com/host.(*Host).wait(0xc000012345, {0x1, 0x2})
//		/home/me/host/host.go:12 +0x34
func (g *goroutine) parseStack(text string) {
	function := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		place, isPlace := strings.CutPrefix(line, "\t")
		if !isPlace {
			function = line
			continue
		}
		place, _, _ = strings.Cut(place, " +0x")
		if origin, found := strings.CutPrefix(function, "created by "); found {
			origin, _, _ = strings.Cut(origin, " in goroutine ")
			g.origin = frame{origin, place}
			continue
		}
		if i := strings.LastIndexByte(function, '('); i > 0 {
			function = function[:i]
		}
		g.frames = append(g.frames, frame{function, place})
	}
}

// parseLabels reads "k": "v", and so on, up to a closing brace.
func parseLabels(s string) map[string]string {
	var labels map[string]string
	for {
		var pair [2]string
		for i := range pair {
			s = strings.TrimLeft(s, "{, :")
			quoted, err := strconv.QuotedPrefix(s)
			if err != nil {
				return labels
			}
			s = s[len(quoted):]
			pair[i], _ = strconv.Unquote(quoted)
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[pair[0]] = pair[1]
	}
}

// computes is whether the goroutine is at work, or will be as soon as the machine finds time. What is not known to wait is taken for busy.
func (g goroutine) computes() bool {
	return !g.durable && !hasAnyPrefix(g.state, "chan ", "select", "sync.", "semacquire", "IO wait", "syscall")
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// isRuntime is whether a function is the runtime's own, of which the two kinds of stacks do not show the same ones.
func isRuntime(function string) bool {
	return hasAnyPrefix(function, "runtime.", "internal/runtime/") || function == "panic"
}

// key is the goroutine's stack in a form that those of pprof have too.
func (g goroutine) key() string {
	var key []string
	for _, f := range g.frames {
		if !isRuntime(f.function) {
			key = append(key, f.place)
		}
	}
	return stackKey(key)
}

// stackKey takes the innermost frames only, because runtime.Stack leaves out the middle of a long stack.
func stackKey(places []string) string { return strings.Join(places[:min(len(places), 40)], "\n") }

// labelsByStack are the labels of all goroutines that have some. The profile that has the labels knows neither goroutines nor bubbles, and
// the stacks that know these have no labels before Go 1.27. A stack is what the two have in common.
func labelsByStack() map[string][]map[string]string {
	var profile bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 1)
	out := map[string][]map[string]string{}
	for text := range strings.SplitSeq(profile.String(), "\n\n") {
		var labels map[string]string
		var places []string
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if s, found := strings.CutPrefix(line, "# labels: "); found {
				labels = parseLabels(s)
			} else if columns := strings.FieldsFunc(line, func(r rune) bool { return r == '\t' }); len(columns) == 4 && !isRuntime(columns[2]) {
				places = append(places, columns[3])
			}
		}
		if labels != nil {
			key := stackKey(places)
			out[key] = append(out[key], labels)
		}
	}
	return out
}

// values are the different values of a label that goroutines have, sorted.
func values(gs []goroutine, label string) (out []string) {
	byStack := labelsByStack()
	for _, g := range gs {
		sets := byStack[g.key()]
		if g.labels != nil {
			sets = []map[string]string{g.labels}
		}
		for _, labels := range sets {
			if v, found := labels[label]; found {
				out = append(out, v)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// watch looks at a bubble again and again.
type watch struct {
	b     *bubble
	seen  string
	still int
}

// stalled is whether the bubble stood still, and for the same reason, as often as it takes.
func (w *watch) stalled() bool {
	gs := w.b.goroutines()
	now := stuck(gs)
	switch {
	case now == "", now != w.seen:
		w.seen, w.still = now, 0
	case len(values(gs, external)) > 0:
		w.still = 0
	default:
		w.still++
	}
	return w.still == looks
}

// stuck describes goroutines of which nobody computes, while the clock cannot move because somebody's waiting is not durable. Else it is "".
func stuck(gs []goroutine) string {
	var all strings.Builder
	keepsClock := false
	for _, g := range gs {
		if g.computes() {
			return ""
		}
		keepsClock = keepsClock || !g.durable
		all.WriteString(g.id + " " + g.state + "\n" + g.key() + "\n")
	}
	if !keepsClock {
		return ""
	}
	return all.String()
}
