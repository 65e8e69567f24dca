package mcpcall

import "time"

// Shorten sets the limit of a call and the grace of a command that ends, for specs that wait for them.
func Shorten(call, end time.Duration) (restore func()) {
	l, g := limit, grace
	limit, grace = call, end
	return func() { limit, grace = l, g }
}
