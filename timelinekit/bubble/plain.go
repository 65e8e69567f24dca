package bubble

import (
	"strings"
	"testing"
	"time"
)

// Test runs f as the test t, on virtual time. It is synctest.Test, but where that ends or hangs the whole program, Test fails t and says
// what waits where: in a deadlock, when f leaves goroutines behind, and when virtual time stands still for ten seconds of real time.
//
// As in synctest.Test, f and the cleanups of its own t run in the bubble, and that t has no Run, Parallel and Deadline.
// After a stall f is left running. What it does with its t later, when t is over, ends the program.
func Test(t *testing.T, f func(*testing.T)) {
	if now := time.Now(); now == now.Round(0) { // it has no monotonic clock
		t.Helper()
		t.Fatal("bubble.Test was called in a bubble. It is on virtual time already: call the function itself.")
	}
	if over(t) {
		t.Helper()
		t.Fatal("bubble.Test was called in a cleanup of " + t.Name() + ". Call it in the test, or in a bubble's own cleanup the function itself.")
	}
	b := start(t, func(_ *bubble, t *testing.T) {
		defer explain(t)
		f(t)
	})
	switch stalled := b.wait(b.over, nil); {
	case stalled:
		t.Helper()
		t.Fatal(b.stall() + "\n\n" + givenUp)
	case b.dead != nil:
		t.Helper()
		t.Fatal(b.leavings())
	case b.failed:
		t.FailNow()
	}
}

// explain makes a failure of t of what testing would end the program with.
func explain(t *testing.T) {
	e := recover()
	said, _ := e.(string)
	switch {
	case e == nil:
	case strings.HasPrefix(said, "testing: t.") && strings.HasSuffix(said, "called inside synctest bubble"):
		t.Fatalf("bubble: %s\nCall it on the t outside of bubble.Test.", strings.TrimPrefix(said, "testing: "))
	default:
		panic(e)
	}
}
