package bubble

import "time"

// StallAfter makes stalls short in specs.
func StallAfter(d time.Duration) { stallAfter = d }

// Stuck tells whether goroutines with these heads keep virtual time from moving.
func Stuck(lines ...string) bool {
	var gs []goroutine
	for _, line := range lines {
		gs = append(gs, parseHead(line))
	}
	return stuck(gs) != ""
}

// Head tells what the first line of a goroutine's stack says.
func Head(line string) (state string, durable bool, bubble string, labels map[string]string) {
	g := parseHead(line)
	return g.state, g.durable, g.bubble, g.labels
}
