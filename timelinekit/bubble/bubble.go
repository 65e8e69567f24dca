package bubble

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onsi/ginkgo/v2"
)

// stallAfter is how much real time a bubble may stand still. It is long, because a slow machine must never be taken for a stall.
var stallAfter = 10 * time.Second

// looks is how often a bubble must have been found standing still, and always in the same place, before that is called a stall.
const looks = 10

// grow makes a new goroutine's stack as large as a test needs, at once. It would double again and again otherwise, and be copied each time,
// which is a tenth of what a short test costs.
//
//go:noinline
func grow() {
	var room [12 << 10]byte
	runtime.KeepAlive(&room)
}

// bubble is a synctest bubble, as it is seen from outside.
type bubble struct {
	head   atomic.Pointer[[128]byte] // how the stack of a goroutine inside begins, which has the bubble's name
	nodes  chan *node                // made outside: waiting for it is not durable, so the clock stands still between nodes
	over   chan struct{}             // closed when synctest.Test has returned
	dead   any                       // what synctest.Test panicked with
	failed bool                      // the *testing.T inside has failed
}

// start makes a bubble that is over when main has returned and all that it started is gone.
func start(t *testing.T, main func(*bubble, *testing.T)) *bubble {
	b := &bubble{nodes: make(chan *node), over: make(chan struct{})}
	t.Context().Done() // makes the channel out here. Whoever asks first makes it, and it would be closed from outside of a bubble.
	go func() {        // on a goroutine of its own, which can be left alone with a bubble that is stuck
		defer close(b.over)
		defer func() { b.dead = recover() }() // a deadlock
		b.failed = true
		synctest.Test(t, func(t *testing.T) {
			var head [128]byte
			runtime.Stack(head[:], false)
			b.head.Store(&head)
			grow()
			main(b, t)
		})
		b.failed = false // not reached where synctest.Test has called t.FailNow
	}()
	return b
}

// wait returns when done is closed, or the bubble is over, and reports whether the bubble stalled before that.
// It does not return to one whom nobody waits for any more, because left is closed.
func (b *bubble) wait(done, left <-chan struct{}) (stalled bool) {
	tick := time.NewTicker(stallAfter / looks)
	defer tick.Stop()
	watch := watch{b: b}
	for {
		select {
		case <-done:
			return false
		case <-b.over:
			return false
		case <-left:
			select {} // Ginkgo would take the failure of the node that runs now for that of the one that returns late
		case <-tick.C:
			if watch.stalled() {
				return true
			}
		}
	}
}

// give hands the bubble its next node, or its end. It waits for one that was left, but not for ever.
func (b *bubble) give(n *node, left bool) (taken bool) {
	var late <-chan time.Time
	if left {
		late = time.After(stallAfter)
	}
	select {
	case b.nodes <- n:
		return true
	case <-b.over:
		return false
	case <-late:
		return false
	}
}

// node is a Ginkgo node that plays in a bubble. Its channels are made outside, so that both sides may use them.
type node struct {
	body       func(context.Context)
	ctx        context.Context // from Ginkgo; only its values may get inside
	canceled   <-chan struct{} // of ctx
	left       chan struct{}   // closed when Ginkgo has gone on without waiting for the node's end
	over       chan struct{}   // closed when the bubble is ready for the next node
	deadlocked bool            // to be read when over is closed
}

// serve plays nodes until it is given nil.
func (b *bubble) serve() {
	for n := range b.nodes {
		if n == nil {
			return
		}
		n.play()
		close(n.over)
	}
}

// beats is how often play looks up. The first time is after a minute, and each takes an eighth longer than the one before: 30 years in all.
const beats = 123

// play runs the node on a goroutine of its own, and looks up from time to time on virtual time. So a bubble in which all wait for each
// other does not die: when the last beat has come, nothing else can come any more, and the nodes that clean up still have their bubble.
func (n *node) play() {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(n.ctx)) // made inside, or its channel would not be of the bubble
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel(nil)
		grow()
		n.run(ctx)
	}()
	pause := time.Minute
	for range beats {
		select {
		case <-ended:
			return
		case <-time.After(pause):
			pause += pause / 8
		}
		select {
		case <-n.canceled: // such as by a SpecTimeout, while the node polls for ever
			cancel(context.Cause(n.ctx))
		default:
		}
		select {
		case <-n.left:
			return
		default:
		}
	}
	n.deadlocked = true
}

// run runs the body, and leaves to Ginkgo what it panics with.
func (n *node) run(ctx context.Context) {
	returned := false
	defer func() {
		if !returned {
			failHere("bubble: the node was ended by runtime.Goexit, as FailNow, Fatal and SkipNow of a *testing.T do. " +
				"In a spec call Fail, Skip, or GinkgoT() and its methods.")
		}
	}()
	func() {
		defer ginkgo.GinkgoRecover()
		n.body(context.WithValue(ctx, inside{}, true))
	}()
	returned = true
}

// inside is the key of a context's value by which code knows that it is in a bubble already.
type inside struct{}

// failHere fails the spec at the line that is about to be left, while the deferred functions of a runtime.Goexit run.
func failHere(message string) {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	skip := 0
	for {
		f, more := frames.Next()
		if !more || !hasAnyPrefix(f.Function, own, "runtime.", "testing.") {
			break
		}
		skip++
	}
	func() {
		defer func() { _ = recover() }() // Fail panics when it has recorded the failure
		ginkgo.Fail(message, skip+1)
	}()
}
