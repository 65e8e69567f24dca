package usagefake_test

import (
	"context"
	"testing"

	"github.com/understudy-go/understudy/usagefake"
)

func benchmark(b *testing.B, cfg usagefake.Config, call func(*usagefake.Fake) error) {
	f, err := usagefake.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := call(f); err != nil {
			b.Fatal(err)
		}
	}
}

var manyTraps = usagefake.Config{Traps: []usagefake.Trap{usagefake.WeeklyFirst, usagefake.ModelWindow, usagefake.NoResetTime,
	usagefake.EdgePercents, usagefake.SparseNulls}}

func readQuota(f *usagefake.Fake) error {
	_, err := f.ReadQuota(context.Background())
	return err
}

// BenchmarkReadQuota reads under each script, and with as many traps as go together.
func BenchmarkReadQuota(b *testing.B) {
	for _, script := range usagefake.Scripts() {
		b.Run(string(script), func(b *testing.B) { benchmark(b, usagefake.Config{Script: script}, readQuota) })
	}
	b.Run("traps", func(b *testing.B) { benchmark(b, manyTraps, readQuota) })
}

// BenchmarkReadTokenUsage has the records of fourteen days.
func BenchmarkReadTokenUsage(b *testing.B) {
	benchmark(b, usagefake.Config{}, func(f *usagefake.Fake) error {
		_, err := f.ReadTokenUsage(context.Background())
		return err
	})
}

// BenchmarkRedeem repeats a key.
func BenchmarkRedeem(b *testing.B) {
	benchmark(b, usagefake.Config{}, func(f *usagefake.Fake) error {
		_, err := f.RedeemQuotaReset(context.Background(), "key-1")
		return err
	})
}

// BenchmarkReadQuotaParallel has readers on all processors.
func BenchmarkReadQuotaParallel(b *testing.B) {
	f, err := usagefake.New(usagefake.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_ = readQuota(f)
		}
	})
}

func TestReadQuotaAllocations(t *testing.T) {
	configs := []usagefake.Config{manyTraps}
	for _, script := range usagefake.Scripts() {
		configs = append(configs, usagefake.Config{Script: script})
	}
	for _, cfg := range configs {
		f, err := usagefake.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { _ = readQuota(f) }); n > 3 {
			t.Errorf("a read of %+v allocates %v times, want 3 at most", cfg, n)
		}
	}
}
