package timeline

// Cursor is a place in a history: the row Seq of the timeline Epoch.
type Cursor struct {
	Epoch string
	Seq   int
}

// Direction is where a [Query] reads.
type Direction string

const (
	Tail   Direction = "tail"   // the newest rows
	Before Direction = "before" // the rows just before the cursor
	After  Direction = "after"  // the rows just after the cursor
)

// Query asks a log for rows.
type Query struct {
	Direction Direction // "" is Tail
	Cursor    Cursor    // for Before and After
	Limit     int       // how many rows at most; 0 is all
}

// Page is the answer to a [Query].
type Page struct {
	Epoch    string
	Rows     []Row
	HasOlder bool
	HasNewer bool
	// Reset says that the cursor is of another history, or that rows are missing behind it: whoever sent it forgets what it has,
	// and takes Rows, which are the tail.
	Reset bool
	Gap   bool // the cursor points past the last row
}

// Fetch is a page of rows, oldest first. It copies nothing; the rows must not be changed.
func (l *Log) Fetch(q Query) Page {
	n := len(l.rows)
	p := Page{Epoch: l.epoch}
	lo, hi := 0, n
	switch {
	case q.Direction != Before && q.Direction != After:
		lo = tail(n, q.Limit)
	case q.Cursor.Epoch != l.epoch:
		p.Reset = true
		lo = tail(n, q.Limit)
	case q.Cursor.Seq < 0 || q.Cursor.Seq > n && q.Direction == After || q.Cursor.Seq > n+1:
		p.Reset, p.Gap = true, true
		lo = tail(n, q.Limit)
	case q.Direction == Before:
		hi = max(0, q.Cursor.Seq-1)
		lo = tail(hi, q.Limit)
	default:
		lo = q.Cursor.Seq
		if q.Limit > 0 {
			hi = min(n, lo+q.Limit)
		}
	}
	p.Rows = l.rows[lo:hi:hi]
	p.HasOlder, p.HasNewer = lo > 0, hi < n
	return p
}

func tail(n, limit int) int {
	if limit <= 0 {
		return 0
	}
	return max(0, n-limit)
}
