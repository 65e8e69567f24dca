package mockproc_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

func TestMockproc(t *testing.T) {
	t.Setenv("GORACE", "atexit_sleep_ms=0") // else each child that has the race detector sleeps for a second when it exits
	bubble.Suite(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "Mock agent processes")
}

var _ = leak.Check()

// aTest is a recorder that ends with the spec.
func aTest() *recorder.T {
	t := &recorder.T{}
	DeferCleanup(func() { t.End() })
	return t
}
