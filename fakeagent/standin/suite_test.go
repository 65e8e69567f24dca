package standin_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

func TestStandIn(t *testing.T) {
	RegisterFailHandler(Fail)
	bubble.Suite(t)
	RunSpecs(t, "The stand-in")
}

var _ = leak.Check()
