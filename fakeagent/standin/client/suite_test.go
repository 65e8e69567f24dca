package client_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

func TestClient(t *testing.T) {
	RegisterFailHandler(Fail)
	bubble.Suite(t)
	RunSpecs(t, "The client of a chat back end")
}

var _ = leak.Check()
