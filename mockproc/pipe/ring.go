package pipe

// kept is how much room an empty ring keeps, in bytes: enough for most lines, so that they need no new memory each time, and little enough
// for thousands of pipes that are idle.
const kept = 1 << 10

// ring is a queue of bytes. The zero value is empty, and has no room yet.
type ring struct {
	room  []byte
	first int // where in room the first byte is
	n     int // how many there are; they go on at the start of room
}

// put adds all of b, which is not empty.
func (r *ring) put(b []byte) {
	if need := r.n + len(b); need > len(r.room) {
		bigger := make([]byte, max(need, 2*len(r.room)))
		*r = ring{room: bigger, n: r.take(bigger)}
	}
	n := copy(r.room[(r.first+r.n)%len(r.room):], b)
	copy(r.room, b[n:])
	r.n += len(b)
}

// take moves the first bytes to b, as many as there are and b can hold, and tells how many.
func (r *ring) take(b []byte) int {
	n := copy(b, r.room[r.first:min(r.first+r.n, len(r.room))])
	n += copy(b[n:], r.room[:r.n-n])
	r.first += n
	if r.first >= len(r.room) {
		r.first -= len(r.room)
	}
	r.n -= n
	if r.n == 0 && len(r.room) > kept {
		*r = ring{}
	}
	return n
}
