package replay_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

func TestReplay(t *testing.T) {
	bubble.Suite(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "Journals")
}

var _ = leak.Check()
