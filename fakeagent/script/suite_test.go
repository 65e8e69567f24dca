package script_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/fakeagent/script"
)

func TestScript(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "The script language")
}

var _ = leak.Check()

func parse(text string) script.Script {
	GinkgoHelper()
	s, err := script.Parse([]byte(text))
	Expect(err).NotTo(HaveOccurred())
	return s
}

func parseFile(text string) script.File {
	GinkgoHelper()
	f, err := script.ParseFile([]byte(text))
	Expect(err).NotTo(HaveOccurred())
	return f
}

// refusal is the error of Parse and its kin, which is always of the same type.
func refusal(err error) *script.Error {
	GinkgoHelper()
	Expect(err).To(BeAssignableToTypeOf(&script.Error{}))
	return err.(*script.Error)
}
