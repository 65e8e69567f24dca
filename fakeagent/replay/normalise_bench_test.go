package replay_test

import (
	"strings"
	"testing"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

// BenchmarkNormalise tells what each built-in rule costs for 10 KB, all of whose lines have something for it.
func BenchmarkNormalise(b *testing.B) {
	line := "In /home/u/proj on outpost/fix-1 at 2026-01-02T03:04:05Z the run " + someID + " wrote /tmp/run-1/log.\r\n"
	text := strings.Repeat(line, 10<<10/len(line))
	for _, rule := range replay.Normalisers() {
		b.Run(rule.Name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_ = replay.Normalise([]replay.Normaliser{rule}, thisSide, text)
			}
		})
	}
}
