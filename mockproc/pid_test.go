package mockproc_test

import (
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("The PID of a mock", func() {
	seed := func(n uint64) mockproc.Option { return mockproc.WithAgent(fakeagent.Config{Seed: n}) }

	It("counts the mocks of a test, from 900000 on, and a thousand later with each seed", func() {
		t := aTest()
		pid := func(opts ...mockproc.Option) int {
			m := mockproc.Start(t, mockproc.Scenario{}, opts...)
			m.Kill(os.Kill)
			return m.PID()
		}
		Expect(pid()).To(Equal(900_000))
		Expect(pid()).To(Equal(900_001))
		Expect(pid(seed(3))).To(Equal(903_002))
		Expect(pid(seed(1003))).To(Equal(903_003))
		Expect(pid(mockproc.AboveMaxPID())).To(Equal(900_004 + 1<<22))
		Expect(pid(mockproc.AboveMaxPID(), seed(999))).To(Equal(1_899_005 + 1<<22))
		Expect(t.End()).To(BeEmpty())

		_, other := start(mockproc.Scenario{})
		Expect(other.PID()).To(Equal(900_000), "another test counts for itself")
		other.Kill(os.Kill)
	})
	It("counts for a test that is known by its name, as Ginkgo's are", func() {
		one, two := mockproc.Start(GinkgoT(), mockproc.Scenario{}), mockproc.Start(GinkgoT(), mockproc.Scenario{})
		Expect([]int{one.PID(), two.PID()}).To(Equal([]int{900_000, 900_001}))
		one.Kill(os.Kill)
		two.Kill(os.Kill)
	})
	It("begins anew when a test of the same name does", func() {
		for range 3 {
			t := &namedTest{}
			m := mockproc.Start(t, mockproc.Scenario{})
			Expect(m.PID()).To(Equal(900_000))
			m.Kill(os.Kill)
			Expect(t.End()).To(BeEmpty())
		}
	})
	It("is alive as long as the mock is, and nobody else's", func() {
		t := aTest()
		m, other := mockproc.Start(t, mockproc.Scenario{}), mockproc.Start(t, mockproc.Scenario{})
		Expect(mockproc.IsProcessAlive(m.PID())).To(BeTrue())
		m.Kill(os.Kill)
		Expect(mockproc.IsProcessAlive(m.PID())).To(BeFalse())
		Expect(mockproc.IsProcessAlive(other.PID())).To(BeTrue())
		Expect(other.Stdin().Close()).To(Succeed())
		<-other.Exited()
		Expect(mockproc.IsProcessAlive(other.PID())).To(BeFalse())
		Expect(t.End()).To(BeEmpty())
		Expect(mockproc.IsProcessAlive(m.PID())).To(BeFalse(), "nobody has it any more")
	})
	It("may be that of several mocks of different tests, and then one that runs counts", func() {
		_, one := start(mockproc.Scenario{})
		_, two := start(mockproc.Scenario{})
		_, three := start(mockproc.Scenario{})
		Expect([]int{one.PID(), two.PID()}).To(HaveEach(three.PID()))
		one.Kill(os.Kill)
		Expect(mockproc.IsProcessAlive(one.PID())).To(BeTrue())
		three.Kill(os.Kill)
		Expect(mockproc.IsProcessAlive(one.PID())).To(BeTrue())
		two.Kill(os.Kill)
		Expect(mockproc.IsProcessAlive(one.PID())).To(BeFalse())
	})
})

// A supervisor that has many agents looks at the PIDs of all of them, also at those of tests that run at the same time, on another clock.
func TestPIDOfAnotherBubble(t *testing.T) {
	started, asked := make(chan int), make(chan bool)
	go func() { asked <- mockproc.IsProcessAlive(<-started) }()
	bubble.Test(t, func(t *testing.T) {
		m := mockproc.Start(t, mockproc.Scenario{})
		defer m.Kill(os.Kill)
		started <- m.PID()
		if !<-asked {
			t.Errorf("process %d is not alive, as it is seen from outside of its bubble", m.PID())
		}
	})
}

var _ = Describe("Whether a process is alive", func() {
	It("is known of this one, of a child, and of what there cannot be", func() {
		Expect(mockproc.IsProcessAlive(os.Getpid())).To(BeTrue())
		Expect(mockproc.IsProcessAlive(1 << 30)).To(BeFalse())
		Expect(mockproc.IsProcessAlive(0)).To(BeFalse(), "which would be all of this group")
		Expect(mockproc.IsProcessAlive(-os.Getpid())).To(BeFalse())

		agent := mockproc.Install(GinkgoT(), "agent", mockproc.Scripted(), mockproc.NoPATH())
		child, err := mockproc.Exec(exec.Command(agent.Path()))
		Expect(err).NotTo(HaveOccurred())
		Expect(mockproc.IsProcessAlive(child.PID())).To(BeTrue())
		Expect(child.Stdin().Close()).To(Succeed())
		<-child.Exited()
		Expect(mockproc.IsProcessAlive(child.PID())).To(BeFalse())
	})
	It("is asked without a signal", bubble.InBubble, func() {
		c, m := start(mockproc.Scenario{})
		for range 10 {
			Expect(mockproc.IsProcessAlive(m.PID())).To(BeTrue())
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		Expect(m.Killed()).To(BeFalse())
		Expect(m.Stdin().Close()).To(Succeed())
		c.rest()
		Expect(m.ExitSignal()).To(BeNil())
	})
})

// namedTest is a test with a name.
type namedTest struct{ recorder.T }

func (*namedTest) Name() string { return "TestAgain" }
