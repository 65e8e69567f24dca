package bubble

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// The labels that this package reads. The package's documentation says what they mean.
const (
	doing    = "understudy.doing"
	external = "understudy.external"
)

const givenUp = "The bubble is given up as it is: its goroutines stay, and the spec's other nodes and cleanups are not run, because they might touch it."

// stall is what is wrong when virtual time stands still.
func (b *bubble) stall() string {
	gs := b.goroutines()
	outside, inside := split(gs)
	return report(fmt.Sprintf("bubble: virtual time has stood still for %v", stallAfter),
		"It moves on only when all goroutines of the bubble wait for it or for each other. This waits for something else:", list(outside),
		"What is going on:", doings(gs),
		"The others, one of which may hold a lock:", list(inside),
		"Hold no lock while waiting, and wait for no socket, process or channel from outside. Who must do so labels himself "+external+".")
}

// deadlock is what is wrong when a node does not end in any time.
func (b *bubble) deadlock() string {
	gs := b.goroutines()
	return report("bubble: deadlock: the node waits for something that never comes",
		"30 years of virtual time have gone by. The goroutines of the bubble:", list(gs),
		"What is going on:", doings(gs))
}

// leavings is what is wrong with a bubble that is over, or "".
func (b *bubble) leavings() string {
	if b.dead == nil {
		if b.failed {
			return "bubble: the race detector has found a race, and has printed it"
		}
		return ""
	}
	gs := b.goroutines()
	switch said := fmt.Sprint(b.dead); {
	case strings.HasPrefix(said, "deadlock: main"):
		return report(fmt.Sprintf("bubble: %s left at the end", count(len(gs), "goroutine is", "goroutines are")),
			"No virtual time comes any more, and nothing else that could end them:", list(gs),
			"What is going on:", doings(gs),
			"Let the test or a cleanup end what it has started, and wait until that is so.")
	case strings.HasPrefix(said, "deadlock: all"):
		return report("bubble: deadlock: all goroutines wait for something that never comes",
			"The goroutines of the bubble:", list(gs),
			"What is going on:", doings(gs))
	default:
		return "bubble: " + said
	}
}

// unready is what is wrong with a bubble that does not take the next node.
func (b *bubble) unready() string {
	select {
	case <-b.over:
		return fmt.Sprintf("bubble: %v", b.dead)
	default:
	}
	gs := b.goroutines()
	return report("bubble: a node that ran into its timeout still keeps the bubble",
		"Virtual time does not move, so the node cannot be stopped. The goroutines of the bubble:", list(gs),
		"What is going on:", doings(gs))
}

// report writes a title, and paragraphs that are a heading and a text by turns. A heading without text is left out, but for the last one.
func report(title string, parts ...string) string {
	out := title
	for pair := range slices.Chunk(parts, 2) {
		if text := strings.Join(pair, "\n"); !strings.HasSuffix(text, ":\n") {
			out += "\n\n" + text
		}
	}
	return out
}

// split parts the goroutines that keep virtual time from moving from those that do not.
func split(gs []goroutine) (outside, inside []goroutine) {
	for _, g := range gs {
		if g.durable {
			inside = append(inside, g)
		} else {
			outside = append(outside, g)
		}
	}
	return outside, inside
}

// doings are the lines with which code in the bubble says what it is doing.
func doings(gs []goroutine) string {
	var out []string
	for _, v := range values(gs, doing) {
		out = append(out, "  "+v)
	}
	return strings.Join(out, "\n")
}

// most is how many different stacks are printed.
const most = 20

// list prints the goroutines, those in the same place together. What runs the test comes first.
func list(gs []goroutine) string {
	var texts []string
	counts := map[string]int{}
	mains := map[string]bool{}
	for _, g := range gs {
		text := g.String()
		if counts[text]++; counts[text] == 1 {
			texts = append(texts, text)
		}
		mains[text] = mains[text] || slices.ContainsFunc(g.frames, func(f frame) bool { return strings.HasPrefix(f.function, own) })
	}
	slices.SortFunc(texts, func(a, b string) int {
		switch {
		case mains[a] && !mains[b]:
			return -1
		case mains[b] && !mains[a]:
			return 1
		}
		return strings.Compare(a, b) // the runtime has them in any order
	})
	more := len(texts) - most
	texts = texts[:min(len(texts), most)]
	for i, text := range texts {
		texts[i] = "  " + count(counts[text], "goroutine", "goroutines") + " in " + text
	}
	if more > 0 {
		texts = append(texts, fmt.Sprintf("  and %d other places", more))
	}
	return strings.Join(texts, "\n")
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// String is what the goroutine does and where, without the frames that every goroutine has.
func (g goroutine) String() string {
	frames := g.frames
	if i := slices.IndexFunc(frames, func(f frame) bool {
		return hasAnyPrefix(f.function, own, "github.com/onsi/ginkgo/v2/internal.", "testing.tRunner")
	}); i > 0 {
		frames = frames[:i]
	}
	out := g.state
	for _, f := range frames {
		if !isRuntime(f.function) && !hasAnyPrefix(f.function, "internal/", "runtime/pprof.") {
			out += "\n    " + f.place + " " + path.Base(f.function)
		}
	}
	if f := g.origin; f.function != "" && !strings.HasPrefix(f.function, own) && len(frames) == len(g.frames) {
		out += "\n    started at " + f.place + " " + path.Base(f.function)
	}
	return out
}
