// Package stopwatch takes the time of batches, so that benchmarks can measure two things in turns on a machine whose speed changes.
package stopwatch

import (
	"slices"
	"time"
)

// Stopwatch has the times of one thing. The zero value is ready.
type Stopwatch struct{ batches []float64 }

// Time runs f n times.
func (s *Stopwatch) Time(n int, f func()) {
	began := time.Now()
	for range n {
		f()
	}
	s.batches = append(s.batches, float64(time.Since(began))/float64(n))
}

// Median is that of all batches, in nanoseconds a run.
func (s *Stopwatch) Median() float64 {
	sorted := slices.Sorted(slices.Values(s.batches))
	return sorted[len(sorted)/2]
}
