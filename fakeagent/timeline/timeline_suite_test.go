package timeline_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

var _ = leak.Check()

func TestTimeline(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Timeline")
}

func encoded(v json.Marshaler) string { return string(timeline.AppendJSON(nil, v)) }
