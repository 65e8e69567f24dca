package playbook_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/playbook"
	"github.com/understudy-go/understudy/fakeagent/script"
)

var _ = Describe("The file of a playbook", func() {
	var path string

	BeforeEach(func() { path = filepath.Join(GinkgoT().TempDir(), "team.json") })

	write := func(text string) {
		GinkgoHelper()
		Expect(os.WriteFile(path, []byte(text), 0o644)).To(Succeed())
	}

	It("has what is in it", func() {
		write(lead(`[{"tool":"t"}]`))
		Expect(playbook.Open(path)).To(Equal(parse(lead(`[{"tool":"t"}]`))))
	})

	It("says where in it something is wrong, and what", func() {
		write("{\n  \"version\": 2, \"threads\": []\n}")
		_, err := playbook.Open(path)
		Expect(err).To(MatchError(path + ":2:14: version must be 1, is 2"))
		var e *script.Error
		Expect(errors.As(err, &e)).To(BeTrue(), "it is for programs, too")
		Expect(e.Offset).To(Equal(15))
	})

	It("says only once where it is no JSON", func() {
		write("\ufeff" + lead())
		_, err := playbook.Open(path)
		Expect(err).To(MatchError(path + ":1:1: it begins with a byte order mark; save it as UTF-8 without one"))
	})

	It("must be there", func() {
		_, err := playbook.Open(path)
		Expect(err).To(MatchError(fs.ErrNotExist))
		Expect(err).To(MatchError(HavePrefix("open " + path + ": ")))
	})

	It("must not be a folder", func() {
		_, err := playbook.Open(filepath.Dir(path))
		Expect(err).To(MatchError(filepath.Dir(path) + " is a folder; give a file"))
	})

	It("has an absolute path, as nobody knows where a relative one begins", func() {
		write(lead())
		here, err := os.Getwd()
		Expect(err).NotTo(HaveOccurred())
		relative, err := filepath.Rel(here, path)
		Expect(err).NotTo(HaveOccurred())
		_, err = playbook.Open(relative)
		Expect(err).To(MatchError(fmt.Sprintf("the path %q is relative; give an absolute one", relative)))
		_, err = playbook.Open("")
		Expect(err).To(MatchError(`the path "" is relative; give an absolute one`))
	})

	It("is not read if it is too long", func() {
		write(lead())
		Expect(os.Truncate(path, script.MaxObject+1)).To(Succeed())
		_, err := playbook.Open(path)
		Expect(err).To(MatchError(fmt.Sprintf("%s is %d bytes long; the limit is %d", path, script.MaxObject+1, script.MaxObject)))
	})
})
