//go:build unix

package playbook_test

import (
	"os"
	"path/filepath"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/playbook"
)

var _ = Describe("The file of a playbook", func() {
	It("must not be a pipe, to which nobody may ever write", func() {
		path := filepath.Join(GinkgoT().TempDir(), "pipe")
		Expect(syscall.Mkfifo(path, 0o600)).To(Succeed())
		DeferCleanup(func() { // lets go who waits for it nevertheless
			writer, err := os.OpenFile(path, os.O_RDWR, 0)
			Expect(err).NotTo(HaveOccurred())
			Expect(writer.Close()).To(Succeed())
		})
		opened := make(chan error, 1)
		go func() {
			_, err := playbook.Open(path)
			opened <- err
		}()
		Eventually(opened).Should(Receive(MatchError(path + " is no regular file")))
	})
})
