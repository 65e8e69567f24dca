package usagefake_test

import (
	"context"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/timelinekit/bubble"
	"github.com/understudy-go/understudy/usagefake"
)

func TestUsagefake(t *testing.T) {
	bubble.Suite(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "Quota and token usage")
}

var _ = leak.Check()

// noon is when the clock of most specs stands.
var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// subject is a fake, and the clock that it looks at.
type subject struct {
	*usagefake.Fake
	now time.Time
}

func fakeOf(cfg usagefake.Config) *subject {
	GinkgoHelper()
	s := &subject{now: noon}
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return s.now }
	}
	f, err := usagefake.New(cfg)
	Expect(err).NotTo(HaveOccurred())
	s.Fake = f
	return s
}

func trapped(script usagefake.Script, traps ...usagefake.Trap) *subject {
	GinkgoHelper()
	return fakeOf(usagefake.Config{Script: script, Traps: traps})
}

func (s *subject) read() usagefake.Quota {
	GinkgoHelper()
	q, err := s.ReadQuota(context.Background())
	Expect(err).NotTo(HaveOccurred())
	return q
}

func (s *subject) records() []usagefake.TokenRecord {
	GinkgoHelper()
	r, err := s.ReadTokenUsage(context.Background())
	Expect(err).NotTo(HaveOccurred())
	return r
}

func (s *subject) redeem(key string) usagefake.Outcome {
	GinkgoHelper()
	r, err := s.RedeemQuotaReset(context.Background(), key)
	Expect(err).NotTo(HaveOccurred())
	return r.Outcome
}

// together has many do something at once, and waits for them.
func together(many int, do func(i int)) {
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			<-start
			do(i)
		})
	}
	close(start)
	all.Wait()
}

// percents are those of the windows, in their order.
func percents(q usagefake.Quota) (out []float64) {
	for _, w := range q.Windows {
		out = append(out, w.UsedPercent)
	}
	return out
}

func ids(q usagefake.Quota) (out []string) {
	for _, w := range q.Windows {
		out = append(out, w.ID)
	}
	return out
}

func resets(q usagefake.Quota) (out []time.Time) {
	for _, w := range q.Windows {
		out = append(out, w.ResetsAt)
	}
	return out
}
