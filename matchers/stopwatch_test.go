package matchers_test

import (
	"slices"
	"time"
)

// stopwatch takes the time of batches, so that two things can be measured in turns on a machine whose speed changes.
type stopwatch struct{ batches []float64 }

// time runs f n times.
func (s *stopwatch) time(n int, f func()) {
	began := time.Now()
	for range n {
		f()
	}
	s.batches = append(s.batches, float64(time.Since(began))/float64(n))
}

// median is that of all batches, in nanoseconds a run.
func (s *stopwatch) median() float64 {
	slices.Sort(s.batches)
	return s.batches[len(s.batches)/2]
}
