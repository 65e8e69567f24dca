package main

import (
	"os/exec"
	"testing"
)

// BenchmarkRunSay is a whole process, from its start to its exit.
func BenchmarkRunSay(b *testing.B) {
	dir := b.TempDir()
	binary, err := build(dir)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := exec.Command(binary, "run", "--cwd", dir, `[{"say":"hello"}]`).Run(); err != nil {
			b.Fatal(err)
		}
	}
}
