package playbook_test

import (
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/fakeagent/playbook"
	"github.com/understudy-go/understudy/fakeagent/script"
)

func TestPlaybook(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Playbooks")
}

var _ = leak.Check()

// file is a playbook of these lines.
func file(lines ...string) string {
	return `{"version":1,"threads":[` + strings.Join(lines, ",") + `]}`
}

// line is one for a match, of these batches.
func line(match string, batches ...string) string {
	return `{"match":{` + match + `},"turns":[` + strings.Join(batches, ",") + `]}`
}

// lead is a file of one line, for threads whose title has Lead in it.
func lead(batches ...string) string { return file(line(`"title":"Lead"`, batches...)) }

func parse(text string) *playbook.Playbook {
	GinkgoHelper()
	p, err := playbook.Parse([]byte(text))
	Expect(err).NotTo(HaveOccurred())
	return p
}

// refusal is the error of a playbook that cannot be read.
func refusal(err error) *script.Error {
	GinkgoHelper()
	Expect(err).To(BeAssignableToTypeOf(&script.Error{}))
	return err.(*script.Error)
}

// refused is a playbook that Parse refuses. The arrow stands where the error is.
type refused struct{ because, json, reason string }

const arrow = "▸"

func (r refused) text() string { return strings.Replace(r.json, arrow, "", 1) }

// expectPlace fails if the error is about another place than that of the arrow.
func (r refused) expectPlace(e *script.Error) {
	GinkgoHelper()
	before, _, there := strings.Cut(r.json, arrow)
	Expect(there).To(BeTrue(), "no arrow in %s", r.json)
	Expect([]int{e.Offset, e.Line, e.Column}).To(Equal([]int{len(before), 1 + strings.Count(before, "\n"), len(before) - strings.LastIndex(before, "\n")}))
}
