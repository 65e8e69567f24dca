package mockproc

import "sync"

// PIDs of mocks.
const (
	firstPID = 900_000
	maxPID   = 1 << 22 // no process of Linux has one that is not below
)

// table is which mocks there are.
type table struct {
	mu     sync.Mutex
	byPID  map[int][]*Mock
	byTest map[any]int // how many it has
}

var fakes = table{byPID: map[int][]*Mock{}, byTest: map[any]int{}}

// pidOf is the PID of the nth process of a test, from 1.
func pidOf(seed uint64, n int, aboveMax bool) int {
	pid := firstPID + 1000*int(seed%1000) + n - 1
	if aboveMax {
		pid += maxPID
	}
	return pid
}

// add gives a mock its PID.
func (f *table) add(m *Mock, o options) (pid int, forget func()) {
	var test any = m.t
	if named, ok := m.t.(interface{ Name() string }); ok { // Ginkgo makes a new T each time that it is asked for one
		test = named.Name()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byTest[test]++
	pid = pidOf(o.agent.Seed, f.byTest[test], o.aboveMaxPID)
	f.byPID[pid] = append(f.byPID[pid], m)
	return pid, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.byTest, test)
		if others := without(f.byPID[pid], m); others != nil {
			f.byPID[pid] = others
		} else {
			delete(f.byPID, pid)
		}
	}
}

func without(all []*Mock, m *Mock) (others []*Mock) {
	for _, o := range all {
		if o != m {
			others = append(others, o)
		}
	}
	return others
}

// alive says whether a mock of that PID runs, and whether there is one.
func (f *table) alive(pid int) (alive, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.byPID[pid] {
		alive = alive || m.ExitCode() < 0 // its channel may be that of another bubble
	}
	return alive, len(f.byPID[pid]) > 0
}
