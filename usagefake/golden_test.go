package usagefake_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/golden"
	"github.com/understudy-go/understudy/usagefake"
)

const tenReads = 10

// told is what a script says in ten reads, an hour apart, with a redemption after the fifth one; and its token usage.
func told(script usagefake.Script) (out []golden.Section) {
	GinkgoHelper()
	s := trapped(script)
	lines := func(name string, values ...any) {
		var b strings.Builder
		for _, v := range values {
			text, err := json.Marshal(v)
			Expect(err).NotTo(HaveOccurred())
			b.Write(append(text, '\n'))
		}
		out = append(out, golden.Section{Name: name, Text: b.String()})
	}
	var reads, redeemed []any
	for n := range tenReads {
		s.now = noon.Add(time.Duration(n) * time.Hour)
		reads = append(reads, s.read())
		if n == 4 {
			r, err := s.RedeemQuotaReset(GinkgoT().Context(), "key-1")
			if err != nil {
				Expect(errors.Is(err, usagefake.ErrUnsupported)).To(BeTrue())
				redeemed = []any{map[string]string{"error": err.Error()}}
			} else {
				redeemed = []any{r}
			}
		}
	}
	lines("quota", reads...)
	lines("redemption after the fifth read", redeemed...)
	var records []any
	for _, r := range s.records() {
		records = append(records, r)
	}
	lines("tokens", records...)
	return out
}

var _ = Describe("What a script says in ten reads", func() {
	for _, script := range usagefake.Scripts() {
		It("is in a file: "+string(script), func() {
			path := filepath.Join("testdata", string(script)+".txtar")
			file, err := golden.Read(path)
			if err != nil && !golden.Update() {
				Fail(err.Error())
			}
			for _, s := range told(script) {
				want, _ := file.Section(s.Name)
				if s.Text != want.Text && golden.Update() {
					Expect(golden.Rewrite(path, s)).To(Succeed())
				}
				// As it is, with its times, which are no accident here.
				Expect(s.Text).To(Equal(want.Text), "%s, section %s; if that is right, -understudy.update writes it", path, s.Name)
			}
		})
	}
	It("is the same in another process", func() {
		const another = "UNDERSTUDY_USAGEFAKE_TELL"
		var all strings.Builder
		for _, script := range usagefake.Scripts() {
			for _, s := range told(script) {
				all.WriteString(s.Text)
			}
		}
		if path := os.Getenv(another); path != "" {
			Expect(os.WriteFile(path, []byte(all.String()), 0o600)).To(Succeed())
			return
		}
		path := filepath.Join(GinkgoT().TempDir(), "told")
		cmd := exec.Command(os.Args[0], "-test.run=TestUsagefake", "-ginkgo.focus=is the same in another process")
		cmd.Env = append(os.Environ(), another+"="+path, "TZ=Asia/Tokyo")
		cmd.Stdout = io.Discard
		Expect(cmd.Run()).To(Succeed())
		Expect(os.ReadFile(path)).To(BeEquivalentTo(all.String()))
	})
})
