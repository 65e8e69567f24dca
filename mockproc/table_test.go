package mockproc_test

import (
	"io"
	"os/exec"
	"runtime"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// The table that the in-process host plays, with the timelines that are written there. Its events are those of an instance; a client makes
// its own from what comes over the wire.
const table = "../testdata/scenarios"

var _ = Describe("The scenario table, over the protocol,", func() {
	for name, s := range timelinekit.Scenarios(table) {
		if name == "process-only" { // which shows that the other door cannot play what this one can
			continue
		}
		It("plays "+name+" in a mock, on virtual time", bubble.InBubble, func(ctx SpecContext) {
			if needsShell(s) {
				Skip("needs a Unix shell")
			}
			mock := mockproc.Start(GinkgoT(), mockproc.Scripted(), mockproc.WithAgent(fakeagent.Config{AllowShell: true}))
			host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("agent", acp.NewProvider(mock)))
			s.Without("events").Run(ctx, host)
		})

		It("plays "+name+" in a process of its own", func(ctx SpecContext) {
			if needsShell(s) {
				Skip("needs a Unix shell")
			}
			agent := mockproc.Install(GinkgoT(), "my-agent", mockproc.Scripted(), mockproc.WithAgent(fakeagent.Config{AllowShell: true, Instant: true}))
			child, err := mockproc.Exec(exec.Command(agent.Path()))
			Expect(err).NotTo(HaveOccurred())
			go func() { _, _ = io.Copy(io.Discard, child.Stderr()) }()
			provider := acp.NewProvider(child)
			DeferCleanup(func() {
				Expect(provider.Close()).To(Succeed())
				if name != "exit" {
					Expect(child.ExitCode()).To(Equal(0))
				}
			})
			host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("agent", provider))
			s.Without("events").Run(ctx, host)
		})
	}
})

func needsShell(s timelinekit.Scenario) bool {
	return runtime.GOOS == "windows" && strings.Contains(strings.Join(s.Prompts, ""), `"run":true`)
}
