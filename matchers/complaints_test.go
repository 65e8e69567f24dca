package matchers_test

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.uber.org/mock/gomock"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
)

// screen is a mock of something that shows items, as mockgen would write it.
type screen struct{ ctrl *gomock.Controller }

func (s *screen) Show(what any)                      { s.ctrl.T.Helper(); s.ctrl.Call(s, "Show", what) }
func (s *screen) EXPECT() *screenRecorder            { return &screenRecorder{s} }
func (r *screenRecorder) Show(what any) *gomock.Call { return r.s.ctrl.RecordCall(r.s, "Show", what) }

type screenRecorder struct{ s *screen }

// mockTest is a test that a spec can look into. Fatalf panics, so that the caller stops as with a real one.
type mockTest struct{}

func (mockTest) Helper()                           {}
func (mockTest) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (mockTest) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// mocked is what gomock fails a test with.
func mocked(f func(s *screen)) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = fmt.Sprint(r)
		}
	}()
	f(&screen{gomock.NewController(mockTest{})})
	return ""
}

// What people complain about most, where tests print what they wanted and what they got.
var _ = Describe("What is known to go wrong with assertions:", func() {
	ugly := Or(ContainSubstring("%!"), ContainSubstring("0xc0"), ContainSubstring("&{"), ContainSubstring("0x0"))

	Describe("nested matchers that print as pointers and %!s(…)", func() { // onsi/gomega#366
		foreign := BeToolCall(Or(Equal("Edit"), And(HavePrefix("Multi"), Not(BeEmpty()))), WithError(ContainSubstring("space")))
		It("do not, neither ours in Gomega's nor Gomega's in ours", func() {
			for _, m := range []OmegaMatcher{foreign, Or(foreign, EndCompleted()), And(foreign, Not(foreign)), Not(Or(foreign, foreign)),
				ContainElement(foreign), ConsistOf(foreign)} {
				for _, actual := range []any{wrote, timeline.Items{wrote}} {
					Expect(failure(actual, m)).NotTo(ugly)
					Expect(negated(actual, m)).NotTo(ugly)
				}
			}
			Expect(failure(timeline.Items{wrote}, HaveItems(foreign))).NotTo(ugly)
		})
	})

	Describe("dumps that are cut before the point", func() { // onsi/gomega#37, onsi/ginkgo#1166, kubernetes/kubernetes#113384
		It("begin with it here, in one line, and the table shows the place", func() {
			items := numbered(2_000)
			items[1_234] = tested
			message := failure(items, HaveItems(anys(numbered(2_000))...))
			line, rest, _ := strings.Cut(message, "\n")
			Expect(line).To(Equal(`item 1234: it is tool_call Bash "npm test" failed: exit code 1, want assistant_message "message 1234"`))
			Expect(rest).To(ContainSubstring("\n    1234 tool_call Bash \"npm test\" failed: exit code 1\n"))
			Expect(message).NotTo(ContainSubstring("Gomega truncated"))
		})
	})

	Describe("an Expect inside of Eventually that fails at once", func() { // onsi/gomega#460
		It("is not needed: a reader and a matcher are enough, and with func(g Gomega) it is retried", func(ctx SpecContext) {
			host := timelinekit.NewHost(GinkgoT())
			t := host.StartPrompt(ctx, `[{"say":"first"},{"hold":"here"},{"say":"second"}]`)
			Expect(t.Gate("here").AwaitHeld(ctx)).To(Succeed())
			time.AfterFunc(30*time.Millisecond, t.Gate("here").Release)
			Eventually(host.TimelineOf(t.AgentID)).Should(ContainItems(BeAssistantMessage("second")))
			Eventually(func(g Gomega) {
				g.Expect(host.AgentTimeline(t.AgentID)).To(ContainItems(BeAssistantMessage("second")))
			}).Should(Succeed())
		})
	})

	Describe("an assertion in a handler, on another goroutine, that is lost or ends the wrong thing", func() { // onsi/gomega#100, #453
		It("need not be one: a matcher is asked, and answers", func() {
			answers := make(chan error)
			go func() {
				ok, err := BeAssistantMessage("done").Match(thought)
				if err == nil && !ok {
					err = fmt.Errorf("400 bad request: %s", BeAssistantMessage("done").Got(thought))
				}
				answers <- err
			}()
			Eventually(answers).Should(Receive(MatchError(HavePrefix("400 bad request: it is reasoning \"hm\", want to be"))))
		})
	})

	Describe("a deadlock, since the mock formats what it got under its lock", func() { // uber-go/mock#116, golang/mock#489
		It("does not come of our matchers, of which none calls back", func(ctx SpecContext) {
			host := timelinekit.NewHost(GinkgoT())
			t := host.StartFakeAgentTurn(ctx, script.New(script.Say("hi")))
			t.Wait(ctx)
			done := make(chan string)
			go func() {
				done <- mocked(func(s *screen) {
					s.EXPECT().Show(EndCanceled())
					s.Show(t)
				})
			}()
			Eventually(done).WithTimeout(10 * time.Second).Should(Receive(And(
				ContainSubstring("Got: the turn ended completed, want canceled\n    turn "+t.TurnID), ContainSubstring("\nWant: end canceled"))))
		})
	})

	Describe("a data race, since the mock prints live arguments", func() { // stretchr/testify#1597, #1693, #625, #423
		It("does not come of ours: a timeline is a snapshot, and so is what was printed of it", func() {
			l := timeline.NewLog("e")
			l.Append(at, "T1", "", user)
			var all sync.WaitGroup
			snapshot := l.Snapshot()
			all.Go(func() {
				for range 1_000 {
					l.Append(at, "T1", "a", timeline.AssistantMessage{Text: "more"})
				}
			})
			all.Go(func() {
				for range 100 {
					Expect(mocked(func(s *screen) {
						s.EXPECT().Show(HaveItems())
						s.Show(snapshot)
					})).To(ContainSubstring("    0 user_message \"fix it\"  <- T1\nWant: have no items"))
				}
			})
			all.Wait()
		})
	})

	Describe("a panic of go-cmp at unexported fields", func() { // google/go-cmp#249, #130, #38, #233
		It("is spared by one option for all of our types", func() {
			Expect(cmp.Diff(turn(completed, said), turn(completed, thought), CmpOptions())).To(And(ContainSubstring("done"), ContainSubstring("hm")))
		})
	})

	Describe("a Gomega matcher that gomock compares as a value", func() {
		It("is no trap in ours, which may hold one", func() {
			Expect(mocked(func(s *screen) {
				s.EXPECT().Show(BeAssistantMessage(HavePrefix("do")))
				s.Show(said)
			})).To(BeEmpty())
			message := mocked(func(s *screen) {
				s.EXPECT().Show(BeAssistantMessage(HavePrefix("x")))
				s.Show(said)
			})
			Expect(message).To(HaveSuffix("Got: text is \"done\", want HavePrefix {Prefix:\"x\"}\n    assistant_message \"done\"\nWant: be an assistant message HavePrefix {Prefix:\"x\"}"))
			Expect(mocked(func(s *screen) {
				s.EXPECT().Show(BeAssistantMessage("x"))
				s.ctrl.Finish()
			})).To(ContainSubstring(`Show(be an assistant message "x")`))
		})
	})
})
