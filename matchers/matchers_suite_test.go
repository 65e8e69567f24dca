package matchers_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = leak.Check()

func TestMatchers(t *testing.T) {
	RegisterFailHandler(Fail)
	bubble.Suite(t)
	RunSpecs(t, "Matchers")
}

// failure is what a user reads when Expect(actual).To(m) fails.
func failure(actual any, m OmegaMatcher) (message string) {
	NewGomega(func(s string, _ ...int) { message = s }).Expect(actual).To(m)
	return message
}

// negated is what a user reads when Expect(actual).NotTo(m) fails.
func negated(actual any, m OmegaMatcher) (message string) {
	NewGomega(func(s string, _ ...int) { message = s }).Expect(actual).NotTo(m)
	return message
}

// refusal is the error that both Expect(actual).To(m) and Expect(actual).NotTo(m) fail with.
func refusal(actual any, m OmegaMatcher) string {
	GinkgoHelper()
	_, err := m.Match(actual)
	Expect(err).To(HaveOccurred())
	Expect(failure(actual, m)).To(Equal(err.Error()))
	Expect(negated(actual, m)).To(Equal(err.Error()))
	return err.Error()
}

// turn is a run of one turn, in which the user said "fix it".
func turn(ending timeline.Ending, items ...timeline.Item) timeline.Run {
	var p timeline.Projection
	p.Add("turn-1", "", timeline.UserMessage{Text: "fix it"})
	for _, it := range items {
		p.Add("turn-1", "", it)
	}
	return timeline.Run{AgentID: "agent-1", TurnID: "turn-1", Status: timeline.AgentIdle, Ending: ending, Timeline: p.Snapshot()}
}
