// Package leak fails a spec that leaves something of ours behind: a goroutine, a child process, a temporary file.
package leak

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// Check looks after every spec of a suite. Suites call it once, at the top level.
//
// A goroutine that has told others that it is over may need a moment to be gone, so Check gives it one.
func Check() bool {
	return ginkgo.BeforeEach(func() {
		before := found()
		ginkgo.DeferCleanup(func() { // registered first, so it runs after the spec's own cleanup
			gomega.Eventually(func() []string {
				return slices.DeleteFunc(found(), func(s string) bool { return slices.Contains(before, s) })
			}).WithTimeout(5*time.Second).Should(gomega.BeEmpty(), "the spec left something behind")
		})
	})
}

func found() []string { return slices.Concat(goroutines(), children(), files()) }

// goroutines are those that run code of this module, but for the specs' own, and what holds the bubble of an Ordered container, which
// lives from spec to spec.
func goroutines() []string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var out []string
	for _, g := range strings.Split(string(buf), "\n\n") {
		head, stack, _ := strings.Cut(g, "\n")
		if !strings.Contains(stack, "understudy-go/understudy/") || strings.Contains(stack, "e2e/leak.") || strings.Contains(stack, "ginkgo/v2/internal") ||
			strings.Contains(stack, "internal/synctest.Run") || strings.Contains(stack, "testing.tRunner") {
			continue
		}
		id, _, _ := strings.Cut(head, " [")
		out = append(out, id+"\n"+stack)
	}
	return out
}

// children are the processes whose parent is this one, where the system can tell.
func children() []string {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	var out []string
	for _, list := range lists {
		pids, _ := os.ReadFile(list)
		for _, pid := range strings.Fields(string(pids)) {
			name, _ := os.ReadFile("/proc/" + pid + "/comm")
			out = append(out, fmt.Sprintf("process %s %s", pid, name))
		}
	}
	return out
}

// files are the temporary ones that this process made.
func files() []string {
	out, _ := filepath.Glob(filepath.Join(os.TempDir(), fmt.Sprintf("understudy-%d-*", os.Getpid())))
	return out
}
