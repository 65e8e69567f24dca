package bubble

import "time"

// StallAfter makes stalls short in specs.
func StallAfter(d time.Duration) { stallAfter = d }

// Head tells what the first line of a goroutine's stack says.
func Head(line string) (state string, durable bool, bubble string, labels map[string]string) {
	g := parseHead(line)
	return g.state, g.durable, g.bubble, g.labels
}
