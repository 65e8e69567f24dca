package wire_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/timelinekit/bubble"
	"github.com/understudy-go/understudy/usagefake"
)

func TestWire(t *testing.T) {
	bubble.Suite(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "Usage as vendors send it")
}

var _ = leak.Check()

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func fakeOf(cfg usagefake.Config) *usagefake.Fake {
	GinkgoHelper()
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return noon }
	}
	f, err := usagefake.New(cfg)
	Expect(err).NotTo(HaveOccurred())
	return f
}

// first is what the first read of a script says, with traps.
func first(script usagefake.Script, traps ...usagefake.Trap) usagefake.Quota {
	GinkgoHelper()
	return read(fakeOf(usagefake.Config{Script: script, Traps: traps}))
}

func read(src usagefake.Source) usagefake.Quota {
	GinkgoHelper()
	q, err := src.ReadQuota(context.Background())
	Expect(err).NotTo(HaveOccurred())
	return q
}

func records(traps ...usagefake.Trap) []usagefake.TokenRecord {
	GinkgoHelper()
	r, err := fakeOf(usagefake.Config{Traps: traps}).ReadTokenUsage(context.Background())
	Expect(err).NotTo(HaveOccurred())
	return r
}

// dig follows keys and indices into JSON.
func dig(data []byte, path ...any) any {
	GinkgoHelper()
	var v any
	Expect(json.Unmarshal(data, &v)).To(Succeed(), "%s", data)
	for _, p := range path {
		switch p := p.(type) {
		case string:
			Expect(v).To(HaveKey(p))
			v = v.(map[string]any)[p]
		case int:
			v = v.([]any)[p]
		}
	}
	return v
}
