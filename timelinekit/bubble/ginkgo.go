package bubble

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

// mu guards suite, current and the fields of scopes. Ginkgo runs one node after the other, but does not wait for one that is out of time.
var mu sync.Mutex

// suite is the t of the suite that runs.
var suite *testing.T

// Suite remembers the suite's t, which the bubbles of its specs need. Call it once, in the function that calls RunSpecs, and before that:
//
//	func TestMyHost(t *testing.T) {
//		bubble.Suite(t)
//		RegisterFailHandler(Fail)
//		RunSpecs(t, "My host")
//	}
//
// It fails t when another suite is still running, and panics when t is over already.
func Suite(t *testing.T) {
	t.Helper()
	mu.Lock()
	other := suite
	mu.Unlock()
	switch {
	case over(t):
		panic("bubble.Suite: " + t.Name() + " is over already. Call Suite in the function that calls RunSpecs, before that.")
	case other != nil && other != t && !over(other):
		t.Fatalf("bubble.Suite was called with the t of %s before, which is not over yet. Call it once, with the t that RunSpecs gets.", other.Name())
	}
	mu.Lock()
	suite = t
	mu.Unlock()
}

// over is whether the test has ended, so that it can have no bubble any more.
func over(t *testing.T) bool { return t.Context().Err() != nil }

// InBubble makes a spec run on virtual time. It decorates a container, a table, an Entry or an It:
//
//	var _ = Describe("a reminder", bubble.InBubble, func() { … })
//
// All nodes of one spec share one bubble: BeforeEach, the body, AfterEach, DeferCleanup, GinkgoT().Cleanup and so on, as far as they are
// in the decorated container. Each attempt of FlakeAttempts or MustPassRepeatedly has a new one. All specs of an Ordered container share
// one, from its first decorated node to its last cleanup. A second InBubble further inside changes nothing.
//
// Virtual time stands still between two nodes. ReportBeforeEach and ReportAfterEach run outside, on real time.
//
// A node's context keeps the values of Ginkgo's. When that one is canceled, which a SpecTimeout does in real time, the node's own is
// canceled as soon as at least a minute of virtual time has gone by.
//
// Decorate the container whose BeforeEach makes the channels, timers and contexts that the spec uses, not only the It.
// Go ends the whole program when a channel or timer that was made in a bubble is used outside, and nothing can prevent that.
var InBubble = ginkgo.AroundNode(around)

// scope is what shares a bubble: one attempt of a spec, or an Ordered container.
type scope struct {
	holds  int // cleanups of ours that have yet to run, the last of which ends the bubble
	bubble *bubble
	last   *node  // the one that was played last, or is being played
	blamed bool   // the spec has failed in a way that leaves goroutines behind
	lost   string // why the bubble cannot be used any more
}

// current is the scope of the spec that runs. Ginkgo runs one at a time in a process.
var current *scope

// ours is the location of nodes that belong to this package and run outside.
var ours = types.NewCustomCodeLocation("bubble.InBubble")

// Ginkgo calls this once for each attempt of a spec, or for an Ordered container, and runs its cleanup when the container is through.
// No other node knows that of a container that has no BeforeAll.
var _ = ginkgo.BeforeEach(func() {
	mu.Lock()
	stale := current
	current = nil
	mu.Unlock()
	if stale != nil { // of an Ordered container whose BeforeAll has called Skip: Ginkgo runs our cleanup with those of this spec then
		stale.end()
	}
	if ginkgo.CurrentSpecReport().IsInOrderedContainer {
		mu.Lock()
		defer mu.Unlock()
		current = &scope{}
		current.hold()
	}
}, ginkgo.OncePerOrdered, ours)

// hold keeps the bubble until a cleanup of the running node has run. Ginkgo runs the cleanups backwards, so this one comes after all others
// that the node will register.
func (s *scope) hold() {
	s.holds++
	ginkgo.DeferCleanup(s.release, ours)
}

func (s *scope) release() {
	mu.Lock()
	s.holds--
	last := s.holds == 0
	if last && current == s {
		current = nil
	}
	mu.Unlock()
	if !last {
		return
	}
	// What a spec leaves behind is no news when it was not played to its end.
	if complaint := s.end(); complaint != "" && ginkgo.CurrentSpecReport().State == types.SpecStatePassed {
		ginkgo.Fail(complaint)
	}
}

var (
	oncePerOrdered = types.NodeTypeBeforeAll | types.NodeTypeAfterAll
	withoutCleanup = types.NodeTypeCleanupAfterEach | types.NodeTypeCleanupAfterAll | types.NodeTypesForOnFailure
	reports        = types.NodeTypeReportBeforeEach | types.NodeTypeReportAfterEach | types.NodeTypeReportBeforeSuite | types.NodeTypeReportAfterSuite
)

// around runs a node in the bubble of its scope.
func around(ctx context.Context, body func(context.Context)) {
	node := running()
	if ctx.Value(inside{}) != nil || node.CodeLocation == ours || node.NodeType.Is(reports) {
		body(ctx)
		return
	}
	mu.Lock()
	t := suite
	mu.Unlock()
	switch {
	case node.NodeType.Is(types.NodeTypesForSuiteLevelNodes | types.NodeTypeCleanupAfterSuite):
		ginkgo.Fail(fmt.Sprintf("bubble.InBubble is on a %s, which belongs to no spec. Put it on containers, tables and specs.", node.NodeType))
	case t == nil || over(t):
		ginkgo.Fail("bubble.InBubble has no t to make a bubble with. Call bubble.Suite(t) in the function that calls RunSpecs, before that.")
	}

	s, alone := enter(node.NodeType)
	complaint := s.play(t, ctx, body)
	if alone {
		complaint = cmp.Or(complaint, s.end())
	}
	if complaint != "" {
		ginkgo.Fail(complaint)
	}
}

// running is the node that Ginkgo runs.
func running() types.SpecEvent {
	events := ginkgo.CurrentSpecReport().SpecEvents
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].SpecEventType == types.SpecEventNodeStart {
			return events[i]
		}
	}
	return types.SpecEvent{}
}

// enter returns the scope of a node. Where there is none, and the node cannot register the cleanup that ends one, it is alone in its own.
func enter(kind types.NodeType) (s *scope, alone bool) {
	mu.Lock()
	defer mu.Unlock()
	switch {
	case current == nil && kind.Is(withoutCleanup):
		return &scope{}, true
	case current == nil:
		current = &scope{}
		current.hold()
	case kind.Is(oncePerOrdered): // its cleanups run after all those of other nodes
		current.hold()
	}
	return current, false
}

// play plays a node inside, and returns what is wrong with the bubble.
func (s *scope) play(t *testing.T, ctx context.Context, body func(context.Context)) (complaint string) {
	n := &node{body: body, ctx: ctx, canceled: ctx.Done(), left: make(chan struct{}), over: make(chan struct{})}
	mu.Lock()
	b, lost := s.bubble, s.lost
	if b == nil && lost == "" {
		b = start(t, func(b *bubble, _ *testing.T) { b.serve() })
		s.bubble = b
	}
	left := s.leave(n)
	mu.Unlock()
	if lost != "" {
		ginkgo.Skip(lost)
	}

	if !b.give(n, left) {
		return s.lose(b.unready())
	}
	stalled := b.wait(n.over, n.left)
	switch {
	case stalled:
		return s.lose(b.stall())
	case n.deadlocked:
		mu.Lock()
		s.blamed = true
		mu.Unlock()
		return b.deadlock()
	}
	return ""
}

// leave tells the last node that Ginkgo has gone on, and reports whether that one is still at it, which happens after a timeout.
func (s *scope) leave(next *node) (left bool) {
	if last := s.last; last != nil {
		close(last.left)
		select {
		case <-last.over:
		default:
			left = true
			s.blamed = true
		}
	}
	s.last = next
	return left
}

// lose gives the bubble up, so that no other node of the spec runs into it.
func (s *scope) lose(complaint string) string {
	mu.Lock()
	defer mu.Unlock()
	s.bubble = nil
	s.lost = "bubble: not run, because the bubble is stuck since an earlier node"
	return complaint + "\n\n" + givenUp
}

// end ends the bubble, and returns what it leaves behind. It does so once.
func (s *scope) end() (complaint string) {
	mu.Lock()
	b := s.bubble
	s.bubble = nil
	if b == nil {
		mu.Unlock()
		return ""
	}
	left := s.leave(nil)
	blamed := s.blamed
	mu.Unlock()
	switch {
	case !b.give(nil, left):
		complaint = b.unready()
	case b.wait(b.over, nil):
		complaint = b.stall()
	default:
		complaint = b.leavings()
	}
	if blamed {
		return ""
	}
	return complaint
}
