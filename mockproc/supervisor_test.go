package mockproc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/mockproc/pipe"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// What the test of a supervisor looks like. The supervisor is in supervisor_helper_test.go, and all of it that a test replaces is the function
// that starts a process. So one body of specs holds for mocks, on virtual time, where a pause of five minutes costs nothing and is five
// minutes to the nanosecond, and for real processes, on real time.
var _ = Describe("A supervisor", func() {
	Context("of mocks", bubble.InBubble, func() {
		supervisorSpecs(mockAgents{})

		It("does not wait for whoever else has the stdout of an agent that has exited", func(ctx SpecContext) {
			scenario := playing(script.Say("at work"), script.Exit(1))
			scenario.Faults = []mockproc.Fault{mockproc.OpenAfterExit} // there is no real process to leave it to
			s := supervise(mockAgents{}, scenario)
			defer s.Shutdown()
			began := time.Now()
			_, err := s.Prompt(ctx, "go")
			Expect(err).To(MatchError("the agent exited with code 1"))
			Expect(time.Since(began)).To(Equal(drainLimit))
		})
	})
	Context("of real processes", func() {
		BeforeEach(func() {
			if runtime.GOOS == "windows" {
				Skip("needs signals, which processes get on Unix")
			}
		})
		supervisorSpecs(childAgents{})
	})
})

// agentSource is where agents come from.
type agentSource interface {
	// program makes an agent that plays the scenario, and returns what starts it.
	program(mockproc.Scenario) func() (mockproc.Process, error)

	wait(time.Duration) time.Duration       // how long to wait for what will not happen
	limit(time.Duration) time.Duration      // how long to wait at most for what will
	took(time.Duration) types.GomegaMatcher // matches how long that took
}

// mockAgents are agents in this process.
type mockAgents struct{}

func (mockAgents) program(s mockproc.Scenario) func() (mockproc.Process, error) {
	t := GinkgoT()
	return func() (mockproc.Process, error) { return mockproc.Start(t, s, mockproc.PipeSize(pipe.OSSize)), nil }
}

func (mockAgents) wait(d time.Duration) time.Duration       { return d }
func (mockAgents) limit(d time.Duration) time.Duration      { return d }
func (mockAgents) took(d time.Duration) types.GomegaMatcher { return Equal(d) }

// childAgents are agents in processes of their own: the test binary, under another name. They play a thousand times as fast, and so everyone
// waits a thousandth.
type childAgents struct{}

const childSpeed = 1000

func (childAgents) program(s mockproc.Scenario) func() (mockproc.Process, error) {
	agent := mockproc.Install(GinkgoT(), "my-agent", s, mockproc.NoPATH(), mockproc.WithAgent(fakeagent.Config{Speed: childSpeed}))
	return func() (mockproc.Process, error) {
		p, err := mockproc.Exec(exec.Command(agent.Path(), "--acp", "--stdio"))
		if err != nil {
			return nil, err
		}
		return &tappedProcess{Process: p, stdin: &stdinTap{WriteCloser: p.Stdin()}}, nil
	}
}

func (childAgents) wait(d time.Duration) time.Duration { return d / childSpeed }
func (childAgents) limit(time.Duration) time.Duration  { return time.Minute }
func (childAgents) took(d time.Duration) types.GomegaMatcher {
	return BeNumerically(">=", d/childSpeed)
}

// tappedProcess is a real process that keeps what it is told, for HaveSentRequest. A mock does so itself.
type tappedProcess struct {
	mockproc.Process
	stdin *stdinTap
}

func (o *tappedProcess) Stdin() io.WriteCloser { return o.stdin }

func (o *tappedProcess) HostRequests() (methods []string, params []json.RawMessage) {
	o.stdin.mu.Lock()
	defer o.stdin.mu.Unlock()
	return o.stdin.said.HostRequests()
}

type stdinTap struct {
	io.WriteCloser
	mu   sync.Mutex
	said acp.Transcript
}

func (h *stdinTap) Write(line []byte) (int, error) {
	h.mu.Lock()
	h.said = append(h.said, acp.Message{Time: time.Now(), From: acp.Host, Line: string(bytes.TrimSpace(line))})
	h.mu.Unlock()
	return h.WriteCloser.Write(line)
}

// supervised is a supervisor with what it did.
type supervised struct {
	*supervisor
	updates  chan agentUpdate
	backoffs chan time.Duration

	mu      sync.Mutex
	started []mockproc.Process
}

// supervise makes a supervisor whose nth process plays the nth scenario; the last one repeats.
func supervise(with agentSource, scenarios ...mockproc.Scenario) *supervised {
	s := &supervised{updates: make(chan agentUpdate, 1000), backoffs: make(chan time.Duration, 10)}
	var programs []func() (mockproc.Process, error)
	for _, scenario := range scenarios {
		programs = append(programs, with.program(scenario))
	}
	s.supervisor = newSupervisor("agent-1", os.TempDir(), func() (mockproc.Process, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		p, err := programs[min(len(s.started), len(programs)-1)]()
		if err == nil {
			s.started = append(s.started, p)
		}
		return p, err
	})
	for i, d := range s.backoff {
		s.backoff[i] = with.wait(d)
	}
	s.random = func() float64 { return 0.5 } // neither more nor less
	s.eofGrace, s.termGrace = with.limit(s.eofGrace), with.limit(s.termGrace)
	s.onUpdate = func(u agentUpdate) { s.updates <- u }
	s.onBackoff = func(d time.Duration) { s.backoffs <- d }
	return s
}

// processes are all that were started, in order.
func (s *supervised) processes() []mockproc.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]mockproc.Process(nil), s.started...)
}

// exited are the same, when all of them have.
func (s *supervised) exited() []mockproc.Process {
	all := s.processes()
	for _, p := range all {
		<-p.Exited()
	}
	return all
}

// said is all that the agent has said, and done, so far.
func (s *supervised) said() (text string, updates []agentUpdate) {
	for {
		select {
		case u := <-s.updates:
			updates = append(updates, u)
			if u.SessionUpdate == "agent_message_chunk" {
				text += u.text()
			}
		default:
			return text, updates
		}
	}
}

// turnOutcome is what came of a prompt.
type turnOutcome struct {
	stopReason string
	err        error
}

// beginTurn plays a turn beside the spec, which goes on when something has come from that channel: after the first update the agent is at
// work.
func beginTurn[T any](ctx context.Context, s *supervised, from <-chan T) <-chan turnOutcome {
	over := make(chan turnOutcome, 1)
	go func() {
		stopReason, err := s.Prompt(ctx, "go")
		over <- turnOutcome{stopReason, err}
	}()
	select {
	case <-from:
	case o := <-over: // it will not come any more
		over <- o
	}
	return over
}

func theScenario(name string) mockproc.Scenario {
	GinkgoHelper()
	s, err := mockproc.Named(name)
	Expect(err).NotTo(HaveOccurred())
	return s
}

func playing(steps ...script.Step) mockproc.Scenario { return mockproc.Turns(script.New(steps...)) }

// turnsAway is an agent that has had too many prompts, says so in these words, and stays.
func turnsAway(message string, code int) mockproc.Scenario {
	return playing(script.FailStep{Message: message, Code: code})
}

func supervisorSpecs(with agentSource) {
	const allSaid = "All done. I looked around, made the change, and checked it."
	var began time.Time
	BeforeEach(func() { began = time.Now() })
	elapsed := func() time.Duration { return time.Since(began) }

	Describe("whose agent plays a scenario that comes with the kit", func() {
		It("sees a turn that goes well, and the agent exit after it", func(ctx SpecContext) {
			s := supervise(with, mockproc.Scenario{})
			defer s.Shutdown()
			Expect(s.Prompt(ctx, "tidy up")).To(Equal("end_turn"))
			Expect(elapsed()).To(with.took(4 * time.Second))

			text, updates := s.said()
			Expect(text).To(Equal(allSaid))
			Expect(updates).To(HaveLen(16))
			for i, want := range []struct {
				kind string
				at   time.Duration
			}{
				{"agent_thought_chunk", 500 * time.Millisecond}, {"plan", time.Second}, {"tool_call", 1500 * time.Millisecond},
				{"tool_call_update", 2500 * time.Millisecond}, {"agent_message_chunk", 2800 * time.Millisecond}, {"agent_message_chunk", 2900 * time.Millisecond},
			} {
				Expect(updates[i].SessionUpdate).To(Equal(want.kind))
				Expect(updates[i].At.Sub(began)).To(with.took(want.at), want.kind)
			}

			Expect(s.exited()).To(HaveExactElements(HaveExited(0)))
			agent := s.processes()[0]
			Expect(agent).To(HaveSentRequest("session/new", HaveKeyWithValue("cwd", os.TempDir())))
			Expect(agent).To(HaveSentRequest("session/prompt", HaveKeyWithValue("prompt", ConsistOf(HaveKeyWithValue("text", "tidy up")))))
			Expect(agent.Killed()).To(BeFalse())
		})

		It("waits for a slow one", func(ctx SpecContext) {
			s := supervise(with, theScenario("slow"))
			defer s.Shutdown()
			Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"))
			Expect(elapsed()).To(with.took(12 * time.Second))
			Expect(s.exited()).To(HaveExactElements(HaveExited(0)))
		})

		It("does not wait for an answer when the agent has exited, and does not try again", func(ctx SpecContext) {
			s := supervise(with, theScenario("error"))
			defer s.Shutdown()
			_, err := s.Prompt(ctx, "go")
			Expect(err).To(MatchError("the agent exited with code 1"))
			Expect(elapsed()).To(with.took(2500 * time.Millisecond))
			Expect(s.processes()).To(HaveExactElements(HaveExited(1)))
			_, updates := s.said()
			Expect(updates[len(updates)-1].Status).To(Equal("failed"))
		})

		It("tries a rate limit three times again, each time with a new process, and then gives up", func(ctx SpecContext) {
			s := supervise(with, theScenario("rate_limit"))
			defer s.Shutdown()
			_, err := s.Prompt(ctx, "go")
			Expect(err).To(MatchError("rate limit exceeded: too many requests"))
			Expect(elapsed()).To(with.took(4*2500*time.Millisecond + time.Minute + 2*time.Minute + 5*time.Minute))
			Expect(s.exited()).To(HaveExactElements(HaveExited(1), HaveExited(1), HaveExited(1), HaveExited(1)))
			Expect(s.processes()).To(HaveEach(HaveSentRequest("session/prompt")))
		})

		It("has an answer in the end, when the rate limit is over", func(ctx SpecContext) {
			s := supervise(with, theScenario("rate_limit"), theScenario("happy"))
			defer s.Shutdown()
			Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"))
			Expect(elapsed()).To(with.took(2500*time.Millisecond + time.Minute + 4*time.Second))
			Expect(s.exited()).To(HaveExactElements(HaveExited(1), HaveExited(0)))
			text, _ := s.said()
			Expect(text).To(Equal(allSaid))
		})

		It("allows what a mock of the origin asks", func(ctx SpecContext) {
			s := supervise(with, theScenario("seed/happy"))
			defer s.Shutdown()
			Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"))
			Expect(elapsed()).To(with.took(4110 * time.Millisecond))
			Expect(s.exited()).To(HaveExactElements(HaveExited(0)))
			text, updates := s.said()
			Expect(text).To(Equal(allSaid))
			Expect(updates).To(ContainElement(HaveField("Status", "completed")))
		})

		DescribeTable("knows how a mock of the origin ends", func(ctx SpecContext, name string, want types.GomegaMatcher, takes time.Duration, codes ...any) {
			s := supervise(with, theScenario("seed/"+name))
			defer s.Shutdown()
			_, err := s.Prompt(ctx, "go")
			Expect(err).To(want)
			Expect(elapsed()).To(with.took(takes))
			Expect(s.exited()).To(HaveExactElements(codes...))
		},
			Entry("slow", "slow", Not(HaveOccurred()), 12310*time.Millisecond, HaveExited(0)),
			Entry("error", "error", MatchError("the agent exited with code 1"), 2410*time.Millisecond, HaveExited(1)),
			Entry("rate_limit", "rate_limit", MatchError(ContainSubstring("too many requests")), 4*2410*time.Millisecond+8*time.Minute,
				HaveExited(1), HaveExited(1), HaveExited(1), HaveExited(1)),
		)
	})

	Describe("that shuts down", func() {
		It("closes stdin, at which an agent exits at once", func(ctx SpecContext) {
			s := supervise(with, playing(script.Say("hello")))
			Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"))
			s.Shutdown()
			Expect(s.processes()[0]).To(HaveExited(0))
			Expect(s.processes()[0].Killed()).To(BeFalse())
			Expect(elapsed()).To(with.took(0))
		})

		It("terminates an agent that does not mind the end of its stdin", func(ctx SpecContext) {
			deaf := playing(script.Say("hello"))
			deaf.Ignore = []string{"EOF"}
			s := supervise(with, deaf)
			s.eofGrace = with.wait(usualGrace)
			Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"))
			s.Shutdown()
			Expect(s.processes()[0]).To(BeKilledBy(syscall.SIGTERM))
			Expect(s.processes()[0].Killed()).To(BeTrue())
			Expect(elapsed()).To(with.took(2 * time.Second))
		})

		It("kills an agent that does not mind SIGTERM either", func(ctx SpecContext) {
			deaf := playing(script.Say("hello"))
			deaf.Ignore = []string{"EOF", "SIGTERM"}
			s := supervise(with, deaf)
			s.eofGrace, s.termGrace = with.wait(usualGrace), with.wait(usualGrace)
			Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"))
			s.Shutdown()
			Expect(s.processes()[0]).To(BeKilledBy(os.Kill))
			Expect(elapsed()).To(with.took(4 * time.Second))
		})

		It("ends a turn that would never end", func(ctx SpecContext) {
			s := supervise(with, playing(script.Say("at work"), script.Hold("for ever")))
			turn := beginTurn(ctx, s, s.updates)
			s.Shutdown()
			Expect((<-turn).err).To(MatchError("the agent exited with code 0"))
			Expect(s.processes()).To(HaveExactElements(HaveExited(0)))
		})

		It("ends a pause before the next attempt", func(ctx SpecContext) {
			s := supervise(with, turnsAway("rate limit", 429))
			s.backoff = []time.Duration{with.limit(time.Minute)} // which would be noticed
			turn := beginTurn(ctx, s, s.backoffs)
			s.Shutdown()
			Expect((<-turn).err).To(MatchError(errShutdown))
			Expect(elapsed()).To(And(with.took(0), BeNumerically("<", 30*time.Second)))
			Expect(s.processes()).To(HaveExactElements(HaveExited(0)))
		})

		It("starts nothing any more", func(ctx SpecContext) {
			s := supervise(with, playing(script.Say("hello")))
			s.Shutdown()
			_, err := s.Prompt(ctx, "go")
			Expect(err).To(MatchError(errShutdown))
			Expect(s.processes()).To(HaveExactElements(HaveExited(0)))
		})
	})

	Describe("whose agent exits", func() {
		It("starts another one for the next turn", func(ctx SpecContext) {
			once := playing(script.Say("hello"))
			once.AfterTurn = "exit"
			s := supervise(with, once)
			defer s.Shutdown()
			for range 2 {
				Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"))
				Expect(s.exited()).To(HaveEach(HaveExited(0)))
			}
			Expect(s.processes()).To(HaveLen(2))
		})

		It("keeps one that stays", func(ctx SpecContext) {
			s := supervise(with, playing(script.Say("hello")))
			defer s.Shutdown()
			for range 2 {
				Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"))
			}
			Expect(s.processes()).To(HaveLen(1))
		})

		It("shows the last three lines of its stderr", func(ctx SpecContext) {
			s := supervise(with, playing(script.Stderr("one\ntwo\n\nthree\n  \nfour"), script.Exit(3)))
			defer s.Shutdown()
			_, err := s.Prompt(ctx, "go")
			Expect(err).To(MatchError("the agent exited with code 3\ntwo\nthree\nfour"))
			Expect(s.processes()).To(HaveExactElements(HaveExited(3)))
		})

		It("takes a rate limit from there, too", func(ctx SpecContext) {
			s := supervise(with, playing(script.Stderr("HTTP 429 from upstream\n"), script.Exit(1)), playing(script.Say("hello")))
			defer s.Shutdown()
			Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"))
			Expect(s.backoffs).To(Receive(Equal(with.wait(time.Minute))))
		})

		It("sees it crash", func(ctx SpecContext) {
			s := supervise(with, playing(script.Say("at work"), script.ExitStep{Signal: "SIGKILL"}))
			defer s.Shutdown()
			_, err := s.Prompt(ctx, "go")
			Expect(err).To(MatchError(`the agent was ended by signal "killed"`))
			Expect(s.processes()).To(HaveExactElements(BeKilledBy(os.Kill)))
			Expect(s.processes()[0].Killed()).To(BeFalse(), "nobody has killed it but itself")
		})

		It("sees somebody else kill it during a turn", func(ctx SpecContext) {
			s := supervise(with, playing(script.Say("at work"), script.Hold("for ever")))
			defer s.Shutdown()
			turn := beginTurn(ctx, s, s.updates)
			Expect(s.processes()[0].Kill(os.Kill)).To(BeTrue())
			Expect((<-turn).err).To(MatchError(`the agent was ended by signal "killed"`))
			Expect(s.processes()).To(HaveExactElements(And(BeKilledBy(os.Kill), HaveExited(137))))
			Expect(s.processes()[0].Kill(os.Kill)).To(BeFalse(), "it is gone")
		})
	})

	Describe("that reads", func() {
		It("takes what the agent asks as a question, whatever its id", func(ctx SpecContext) {
			question := script.Approval{Title: "May I?", Allow: []script.Step{script.Say("yes ")}, Deny: []script.Step{script.Say("no ")}}
			s := supervise(with, playing(script.Ask(question), script.Ask(question), script.Ask(question), script.Say("done")))
			defer s.Shutdown()
			Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"), "the id of the third question is that of the prompt, which is open")
			text, _ := s.said()
			Expect(text).To(Equal("yes yes yes done"))
		})

		DescribeTable("answers a question", func(ctx SpecContext, options []string, want string) {
			question := script.Approval{Title: "May I?", Options: options, Allow: []script.Step{script.Say("yes")}, Deny: []script.Step{script.Say("no")}}
			s := supervise(with, playing(script.Ask(question)))
			defer s.Shutdown()
			stopReason, err := s.Prompt(ctx, "go")
			Expect(err).NotTo(HaveOccurred())
			text, _ := s.said()
			Expect(stopReason + " " + text).To(Equal(want))
		},
			Entry("with yes, for good", []string{"accept", "acceptForSession", "decline"}, "end_turn yes"),
			Entry("with yes, for once", []string{"decline", "accept"}, "end_turn yes"),
			Entry("with nothing, where it cannot be yes", []string{"decline"}, "cancelled "),
		)

		It("reads stderr as well, so that an agent that writes a lot there is not held up", func(ctx SpecContext) {
			s := supervise(with, playing(script.Stderr(strings.Repeat("x", pipe.OSSize)+"\n"), script.Say("hello"), script.Stderr("bye"), script.Exit(1)))
			defer s.Shutdown()
			_, err := s.Prompt(ctx, "go")
			text, _ := s.said()
			Expect(text).To(Equal("hello"))
			Expect(err).To(MatchError("the agent exited with code 1\n"+strings.Repeat("x", 4<<10-len("\nbye"))+"\nbye"), "of which it keeps four kilobytes")
		})

		It("passes over lines that are none of the protocol's", func(ctx SpecContext) {
			s := supervise(with, playing(script.Raw("npm warn deprecated\n[]\n{}\n\n"), script.Say("hello")))
			defer s.Shutdown()
			Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"))
			text, _ := s.said()
			Expect(text).To(Equal("hello"))
		})
	})

	Describe("that has a turn running", func() {
		It("refuses another one", func(ctx SpecContext) {
			s := supervise(with, playing(script.Say("at work"), script.Hold("for ever")))
			turn := beginTurn(ctx, s, s.updates)
			_, err := s.Prompt(ctx, "me too")
			Expect(err).To(MatchError(errBusy))
			s.Shutdown()
			Expect((<-turn).err).To(HaveOccurred())
			Expect(s.processes()[0]).NotTo(HaveSentRequest("session/prompt", HaveKeyWithValue("prompt", ConsistOf(HaveKeyWithValue("text", "me too")))))
		})

		It("cancels it when its context ends", func(ctx SpecContext) {
			s := supervise(with, playing(script.Say("at work"), script.Hold("for ever")))
			defer s.Shutdown()
			turnCtx, cancel := context.WithCancel(ctx)
			turn := beginTurn(turnCtx, s, s.updates)
			cancel()
			Expect(<-turn).To(Equal(turnOutcome{stopReason: "cancelled"}))
			Expect(s.processes()[0]).To(HaveSentRequest("session/cancel", map[string]string{"sessionId": s.running.session}))
			Expect(s.processes()[0]).NotTo(HaveExited(0))
		})
	})

	Describe("that was turned away", func() {
		DescribeTable("knows a rate limit by its words", func(ctx SpecContext, message string, code int, isLimit bool) {
			s := supervise(with, turnsAway(message, code), playing(script.Say("hello")))
			defer s.Shutdown()
			stopReason, err := s.Prompt(ctx, "go")
			if isLimit {
				Expect(stopReason, err).To(Equal("end_turn"))
				Expect(elapsed()).To(with.took(time.Minute))
			} else {
				Expect(err).To(MatchError(message))
				Expect(s.processes()).To(HaveLen(1))
			}
		},
			Entry("rate limit", "You hit a Rate Limit", -32000, true),
			Entry("rate-limit", "rate-limited", -32000, true),
			Entry("429", "HTTP 429", -32000, true),
			Entry("quota exceeded", "Quota exceeded for today", -32000, true),
			Entry("too many requests", "too many requests", -32000, true),
			Entry("a code alone does not count", "Overloaded", 429, false),
			Entry("nor does 429 in another number", "request 14290 failed", -32000, false),
		)

		DescribeTable("pauses a tenth less or more", func(ctx SpecContext, random float64, pause time.Duration) {
			s := supervise(with, turnsAway("rate limit", 429), playing(script.Say("hello")))
			defer s.Shutdown()
			s.random = func() float64 { return random }
			Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"))
			Expect(s.backoffs).To(Receive(Equal(with.wait(pause))))
			Expect(elapsed()).To(with.took(pause))
		},
			Entry("at the least", 0.0, 54*time.Second),
			Entry("at the most", 1.0, 66*time.Second),
		)

		It("does not wait for an agent that stays after it has said no", func(ctx SpecContext) {
			s := supervise(with, turnsAway("rate limit", 429), playing(script.Say("hello")))
			defer s.Shutdown()
			Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"))
			Expect(s.processes()).To(HaveExactElements(HaveExited(0), Not(HaveExited(0))))
		})

		It("with nine others does not come back with them", func(ctx SpecContext) {
			jitter := rand.New(rand.NewPCG(1, 2))
			var all [10]*supervised
			for i := range all {
				all[i] = supervise(with, theScenario("rate_limit"), theScenario("happy"))
				defer all[i].Shutdown()
				r := jitter.Float64()
				all[i].random = func() float64 { return r }
			}
			var turns sync.WaitGroup
			var outcomes [10]turnOutcome
			var took [10]time.Duration
			for i, s := range all {
				turns.Go(func() {
					outcomes[i].stopReason, outcomes[i].err = s.Prompt(ctx, "go")
					took[i] = elapsed()
				})
			}
			turns.Wait()
			Expect(outcomes).To(HaveEach(turnOutcome{stopReason: "end_turn"}))
			pauses := map[time.Duration]bool{}
			for i, s := range all {
				pause := <-s.backoffs
				pauses[pause] = true
				Expect(pause).To(And(BeNumerically(">=", with.wait(54*time.Second)), BeNumerically("<=", with.wait(66*time.Second))))
				Expect(took[i]).To(BeNumerically(">=", pause))
			}
			Expect(pauses).To(HaveLen(10))
		})
	})

	// One level below: what a supervisor must not do.
	Describe("whose agent was turned away", func() {
		It("is not left waiting if it asks a process again that has exited", func(ctx SpecContext) {
			p, err := with.program(theScenario("rate_limit"))()
			Expect(err).NotTo(HaveOccurred())
			a := attach(p, func(agentUpdate) {}, func() {})
			Expect(a.handshake(ctx, os.TempDir())).To(Succeed())
			_, err = a.prompt(ctx, "go")
			Expect(err).To(MatchError(ContainSubstring("too many requests")))
			<-a.gone
			_, err = a.prompt(ctx, "go")
			Expect(err).To(MatchError("the agent exited with code 1"))
			_, err = p.Stdin().Write([]byte("anybody there?\n"))
			Expect(err).To(MatchError(syscall.EPIPE))
		})

		It("may ask one again that stays", func(ctx SpecContext) {
			flaky, err := mockproc.ParseScenario([]byte(`{
				"name": "flaky",
				"routes": [{"when": {"attempt": 1}, "steps": [{"fail": {"message": "rate limit", "code": 429}}]}],
				"turns":  [{"steps": [{"say": "done"}]}]
			}`))
			Expect(err).NotTo(HaveOccurred())
			p, err := with.program(flaky)()
			Expect(err).NotTo(HaveOccurred())
			a := attach(p, func(agentUpdate) {}, func() {})
			defer a.end(with.limit(time.Second), with.limit(time.Second))
			Expect(a.handshake(ctx, os.TempDir())).To(Succeed())
			_, err = a.prompt(ctx, "go")
			Expect(err).To(MatchError("rate limit"))
			Expect(a.prompt(ctx, "go")).To(Equal("end_turn"))
		})
	})

	Describe("that crashed, and left a file of its agents,", func() {
		var pids *pidFile
		var list func() []int
		BeforeEach(func() {
			pids = &pidFile{path: filepath.Join(GinkgoT().TempDir(), "pids.json")}
			list = func() (list []int) {
				all, err := pids.load()
				Expect(err).NotTo(HaveOccurred())
				for pid := range all {
					list = append(list, pid)
				}
				return list
			}
		})

		// kill is how the next host reaches a process: it never lets the PID of a mock out of this test.
		kill := func(s *supervised) func(pid int) error {
			return func(pid int) error {
				for _, p := range s.processes() {
					if p.PID() == pid && p.Kill(os.Kill) {
						return nil
					}
				}
				return fmt.Errorf("process %d is none of ours", pid)
			}
		}
		// dead is the PID of a process that has exited.
		dead := func(ctx context.Context) int {
			s := supervise(with, playing(script.Say("hello")))
			Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"))
			s.Shutdown()
			return s.processes()[0].PID()
		}

		It("had written down those that run, and only those", func(ctx SpecContext) {
			s := supervise(with, playing(script.Say("hello")))
			s.pids = pids
			Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"))
			all, err := pids.load()
			Expect(err).NotTo(HaveOccurred())
			pid := s.processes()[0].PID()
			Expect(all).To(HaveLen(1))
			Expect(all[pid]).To(And(HaveField("AgentID", "agent-1"), HaveField("ParentPID", os.Getpid()), HaveField("SpawnedAt", BeTemporally(">=", began))))
			Expect(mockproc.IsProcessAlive(pid)).To(BeTrue())
			s.Shutdown()
			Expect(list()).To(BeEmpty())
			Expect(mockproc.IsProcessAlive(pid)).To(BeFalse())
		})

		It("has the next one kill those that still run", func(ctx SpecContext) {
			s := supervise(with, playing(script.Say("at work"), script.Hold("for ever")))
			turn := beginTurn(ctx, s, s.updates)
			orphan := s.processes()[0]
			Expect(pids.add(pidEntry{PID: orphan.PID(), AgentID: "agent-1", ParentPID: dead(ctx)})).To(Succeed())
			Expect(pids.reap(mockproc.IsProcessAlive, kill(s))).To(Succeed())
			Expect((<-turn).err).To(MatchError(`the agent was ended by signal "killed"`))
			Expect(orphan).To(BeKilledBy(os.Kill))
			Expect(list()).To(BeEmpty())
		})

		It("has the next one leave those alone that are dead", func(ctx SpecContext) {
			Expect(pids.add(pidEntry{PID: dead(ctx), ParentPID: dead(ctx)})).To(Succeed())
			Expect(pids.reap(mockproc.IsProcessAlive, func(pid int) error { return fmt.Errorf("process %d was killed", pid) })).To(Succeed())
			Expect(list()).To(BeEmpty())
		})

		It("has the next one leave those alone that belong to a host that runs", func(ctx SpecContext) {
			s := supervise(with, playing(script.Say("hello")))
			defer s.Shutdown()
			s.pids = pids
			Expect(s.Prompt(ctx, "go")).To(Equal("end_turn"))
			foreign := pidEntry{PID: os.Getppid(), AgentID: "agent-2", ParentPID: os.Getpid()}
			Expect(pids.add(foreign)).To(Succeed())
			Expect(pids.reap(mockproc.IsProcessAlive, kill(s))).To(Succeed())
			Expect(list()).To(ConsistOf(s.processes()[0].PID(), foreign.PID))
			Expect(s.processes()[0].Killed()).To(BeFalse())
			Expect(s.Prompt(ctx, "still there?")).To(Equal("end_turn"))
		})

		It("has the next one keep in mind those that it could not kill", func(ctx SpecContext) {
			s := supervise(with, playing(script.Say("hello")))
			defer s.Shutdown()
			foreign := pidEntry{PID: os.Getppid(), ParentPID: dead(ctx)}
			Expect(pids.add(foreign)).To(Succeed())
			Expect(pids.reap(mockproc.IsProcessAlive, kill(s))).To(MatchError(fmt.Sprintf("process %d is none of ours", foreign.PID)))
			Expect(list()).To(ConsistOf(foreign.PID))
		})
	})
}
