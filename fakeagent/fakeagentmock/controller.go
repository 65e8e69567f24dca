package fakeagentmock

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"go.uber.org/mock/gomock"

	"github.com/understudy-go/understudy/fakeagent"
)

// NewController is gomock.NewController for mocks that a host calls on goroutines of its own, where a bad call would end that goroutine and
// leave the test waiting for it, with not a word of why.
//
// A bad call on a goroutine of the test, or of a Ginkgo node, fails it there, as usual. On any other one it ends that goroutine, and the
// context, whose cause is then gomock's message. So whoever waits does so with that context. When the test ends all bad calls are
// reported, with those that are missing; a call that comes later than that ends its goroutine and nothing else.
func NewController(t fakeagent.T) (*gomock.Controller, context.Context) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &reporter{T: t, cancel: cancel}
	t.Cleanup(r.end) // registered first, so it comes after the controller's own
	return gomock.NewController(r), ctx
}

// reporter is what a controller tells.
type reporter struct {
	fakeagent.T
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	wrong []string
	over  bool
}

// Errorf records. gomock calls it at the end only, for calls that are missing.
func (r *reporter) Errorf(format string, args ...any) { r.record(fmt.Sprintf(format, args...)) }

// Fatalf does not return.
func (r *reporter) Fatalf(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	r.mu.Lock()
	ending := r.over
	r.mu.Unlock()
	if !ending && ofTest() {
		r.T.Helper()
		r.T.Fatalf("%s", message)
	}
	r.record(message)
	runtime.Goexit()
}

func (r *reporter) record(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = append(r.wrong, message)
	r.cancel(errors.New(message))
}

// end reports.
func (r *reporter) end() {
	r.mu.Lock()
	wrong := r.wrong
	r.over = true
	r.mu.Unlock()
	r.cancel(nil)
	if len(wrong) > 0 {
		r.T.Helper()
		r.T.Errorf("gomock: at the end of the test:\n  %s", strings.Join(wrong, "\n  "))
	}
}

// ofTest says that this goroutine was started by who runs tests, and not by what is tested.
func ofTest() bool {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	root := ""
	for {
		f, more := frames.Next()
		if f.Function != "runtime.goexit" {
			root = f.Function
		}
		if !more {
			break
		}
	}
	for _, runner := range []string{"testing.", "github.com/onsi/ginkgo/v2/", "github.com/understudy-go/understudy/timelinekit/bubble."} {
		if strings.HasPrefix(root, runner) {
			return true
		}
	}
	return false
}
