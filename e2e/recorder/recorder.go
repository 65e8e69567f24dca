// Package recorder has a test that a spec can look into, for what the kit does to the test of its user.
package recorder

import (
	"fmt"
	"slices"
	"sync"
)

// T is such a test. The zero value is ready. Fatalf panics, so that the caller stops as with a real one.
type T struct {
	mu       sync.Mutex
	errors   []string
	cleanups []func()
}

func (t *T) Helper() {}

func (t *T) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

func (t *T) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (t *T) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// Cleanups is how many there are.
func (t *T) Cleanups() int { return len(t.cleanups) }

// Errors are what the test was failed with so far.
func (t *T) Errors() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.errors)
}

// End runs the cleanups, once, and returns what the test was failed with.
func (t *T) End() []string {
	for _, f := range slices.Backward(t.cleanups) {
		f()
	}
	t.cleanups = nil
	return t.Errors()
}
