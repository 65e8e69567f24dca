package e2e_test

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The README", func() {
	It("has a first command that plays a turn on a machine which has nothing but Go", func() {
		if runtime.GOOS == "windows" {
			Skip("needs a Unix shell")
		}
		readme, err := os.ReadFile("../README.md")
		Expect(err).NotTo(HaveOccurred())
		block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(readme)
		Expect(block).NotTo(BeNil(), "there is no block of shell commands in the README")

		cmd := exec.Command("/bin/sh", "-e")
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), "TMPDIR="+GinkgoT().TempDir())
		cmd.Stdin = strings.NewReader(string(block[1]))
		out, err := cmd.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", out)
		Expect(strings.Split(strings.TrimSpace(string(out)), "\n")).To(HaveExactElements(
			HavePrefix(`[User] {"steps":[{"think":"add a constant, then check it"},{"write":`),
			"[Thought] add a constant, then check it",
			MatchRegexp(`^\[Write\] /.*/src/a\.ts$`),
			MatchRegexp(`^\[Edit\] /.*/src/a\.ts$`),
			"[Shell] cat src/a.ts",
			"[Shell] npm test",
			"a is 2 now",
		))
	})
})
