package replay_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

// expectCoded fails if an error is none of a code, with this text.
func expectCoded(err error, code replay.Code, text string) {
	GinkgoHelper()
	Expect(err).To(And(ofCode(code), MatchError(text)))
}

func inputUsage(input int64) *replay.Usage { return &replay.Usage{Input: input} }

func incomplete(u replay.Usage) replay.Usage {
	u.Complete = new(bool)
	return u
}

var _ = Describe("Features", func() {
	agent := func(change func(*replay.Features)) replay.Features {
		f := replay.Features{Name: "demo"}
		if change != nil {
			change(&f)
		}
		return f
	}

	It("of a replay are those of an agent that reports its usage, goes on with a conversation, and neither keeps nor forks one", func() {
		f := replay.ReplayFeatures()
		Expect(f).To(Equal(replay.Features{Name: "replay", Usage: replay.UsageEvents, Capture: replay.No, Resumable: replay.Yes, Forkable: replay.No}))
		Expect(f.Check()).To(Succeed())
		Expect([]replay.AgentKind{replay.AgentCLI, replay.AgentCustom, replay.AgentReplay}).To(Equal([]replay.AgentKind{"cli", "custom", "replay"}))
	})

	It("are right if nothing but the name is known", func() {
		Expect(agent(nil).Check()).To(Succeed())
	})

	It("name any agent that a host can install", func() {
		for _, name := range []string{"claude", "codex", "copilot", "cursor", "gemini", "kimi", "opencode", "antigravity"} {
			Expect(agent(func(f *replay.Features) { f.Bootstrap = name }).Check()).To(Succeed())
		}
	})

	DescribeTable("are refused, if",
		func(change func(*replay.Features), why string) {
			expectCoded(agent(change).Check(), replay.Configuration, why)
		},
		Entry("there is no name", func(f *replay.Features) { f.Name = "" }, `replay: an agent has no name; set Name`),
		Entry("nobody can install the agent", func(f *replay.Features) { f.Bootstrap = "codx" },
			`replay: the agent "demo": unknown Bootstrap "codx", did you mean "codex"? There are antigravity, claude, codex, copilot, cursor, gemini, kimi, opencode`),
		Entry("there is no such mode of usage", func(f *replay.Features) { f.Usage = "stream" },
			`replay: the agent "demo": unknown Usage "stream"; use events, session, unavailable`),
		Entry("sessions are to be stored nowhere", func(f *replay.Features) { f.Capture = replay.Yes },
			`replay: the agent "demo": Capture is Yes, but there is nothing to store sessions in; set Storage`),
		Entry("a variable has no name", func(f *replay.Features) { f.Variables = map[string]string{"": "x"} },
			`replay: the agent "demo": Variables has "", which cannot be set; a name has one character or more and no =, and neither it nor its value has a NUL`),
		Entry("a variable has the name of two", func(f *replay.Features) { f.Variables = map[string]string{"A": "", "B=C": "x"} },
			`replay: the agent "demo": Variables has "B=C", which cannot be set; a name has one character or more and no =, and neither it nor its value has a NUL`),
		Entry("a variable has a value that ends early", func(f *replay.Features) { f.Variables = map[string]string{"A": "s3cr3t\x00"} },
			`replay: the agent "demo": Variables has "A", which cannot be set; a name has one character or more and no =, and neither it nor its value has a NUL`),
	)

	DescribeTable("let sessions be stored",
		func(capture replay.Choice, storage replay.Storage, want bool) {
			Expect(replay.Features{Capture: capture, Storage: storage}.Captures()).To(Equal(want))
		},
		Entry("whenever there is a storage, if nobody says so", replay.Unset, storage{}, true),
		Entry("if somebody says so", replay.Yes, storage{}, true),
		Entry("not if somebody says no", replay.No, storage{}, false),
		Entry("not without a storage", replay.Unset, nil, false),
	)

	Context("before anything has been started", func() {
		It("refuse to go on with a conversation only if somebody says no", func() {
			for _, c := range []replay.Choice{replay.Unset, replay.Yes} {
				Expect(replay.Features{Resumable: c}.CheckContinuation(false)).To(Succeed())
			}
			expectCoded(agent(func(f *replay.Features) { f.Resumable = replay.No }).CheckContinuation(false), replay.Configuration,
				`replay: the agent "demo": it cannot go on with a conversation; begin a new one, or set Resumable to Yes`)
		})

		It("refuse to go on in another workspace without a storage", func() {
			Expect(replay.Features{Storage: storage{}}.CheckContinuation(true)).To(Succeed())
			expectCoded(agent(nil).CheckContinuation(true), replay.Configuration,
				`replay: the agent "demo": it cannot go on with a conversation in another workspace, for its sessions are not kept; set Storage`)
		})

		It("refuse a fork only if somebody says no", func() {
			for _, c := range []replay.Choice{replay.Unset, replay.Yes} {
				Expect(replay.Features{Forkable: c}.CheckFork()).To(Succeed())
			}
			expectCoded(replay.ReplayFeatures().CheckFork(), replay.Configuration,
				`replay: the agent "replay": it cannot fork a conversation; begin a new one, or set Forkable to Yes`)
		})
	})

	Context("have variables", func() {
		f := replay.Features{Name: "demo", Variables: map[string]string{"A": "agent", "KEY": "s3cr3t"}}

		It("above those of the host", func() {
			base := map[string]string{"A": "base", "B": "base"}
			Expect(f.MergeEnv(base, map[string]string{"C": "provider"})).To(Equal(map[string]string{"A": "agent", "B": "base", "KEY": "s3cr3t"}))
			Expect(base).To(Equal(map[string]string{"A": "base", "B": "base"}))
			Expect(replay.Features{}.MergeEnv(nil, nil)).To(BeEmpty())
		})

		It("none of which the provider of the workspace may set, and no value is told", func() {
			_, err := f.MergeEnv(nil, map[string]string{"KEY": "t0ken", "A": "x"})
			expectCoded(err, replay.Configuration, `replay: the agent "demo": Variables has "A", which the provider of the workspace sets too; let only one of them set it`)
			_, err = f.MergeEnv(nil, map[string]string{"KEY": "t0ken"})
			Expect(err).To(MatchError(And(ContainSubstring("KEY"), Not(ContainSubstring("s3cr3t")), Not(ContainSubstring("t0ken")))))
		})
	})

	finds := func(text string) (replay.Usage, bool) { return replay.Usage{Input: int64(len(text))}, text != "none" }

	DescribeTable("say where usage comes from:",
		func(mode replay.UsageMode, transcriptUsage func(string) (replay.Usage, bool), reported *replay.Usage, transcript string, want replay.Usage) {
			Expect(replay.Features{Usage: mode, TranscriptUsage: transcriptUsage}.TurnUsage(reported, transcript)).To(Equal(want))
		},
		Entry("what is reported counts", replay.UsageEvents, nil, inputUsage(7), "", *inputUsage(7)),
		Entry("what is not reported is missing", replay.UsageEvents, nil, nil, "", incomplete(replay.Usage{})),
		Entry("where there is no mode, what is reported counts", replay.UsageMode(""), nil, inputUsage(7), "", *inputUsage(7)),
		Entry("where there is no mode, nothing is missing", replay.UsageMode(""), nil, nil, "", replay.Usage{}),
		Entry("what the transcript says wins", replay.UsageEvents, finds, inputUsage(7), "abc", *inputUsage(3)),
		Entry("what the transcript says wins where there is no mode, too", replay.UsageMode(""), finds, inputUsage(7), "abc", *inputUsage(3)),
		Entry("what the transcript says is all there is to a report that is missing", replay.UsageEvents, finds, nil, "abc", *inputUsage(3)),
		Entry("a transcript that says nothing leaves what is reported", replay.UsageEvents, finds, inputUsage(7), "none", *inputUsage(7)),
		Entry("without a transcript nobody looks into it", replay.UsageEvents, func(string) (replay.Usage, bool) { panic("no transcript") }, inputUsage(7), "", *inputUsage(7)),
		Entry("the session has it", replay.UsageSession, finds, inputUsage(7), "abc", *inputUsage(3)),
		Entry("what the session has not is missing, whatever is reported", replay.UsageSession, finds, inputUsage(7), "none", incomplete(*inputUsage(7))),
		Entry("where none can be had there is none, and nothing is missing", replay.UsageUnavailable, finds, inputUsage(7), "abc", replay.Usage{}),
	)

	It("do not change what is reported", func() {
		reported := inputUsage(7)
		_ = replay.Features{Usage: replay.UsageSession}.TurnUsage(reported, "")
		Expect(reported).To(Equal(inputUsage(7)))
	})

	Context("may require an event at the end", func() {
		f := replay.Features{Name: "demo", RequiresFinishedEvent: replay.Yes}

		It("without which a turn has failed, whatever the status is", func() {
			events := []replay.Event{replay.EventOf("text"), replay.EventOf("usage")}
			expectCoded(f.Finished(events, 0), replay.Process, `replay: the agent "demo" ended with status 0 and without the event "finished", so its turn is not whole`)
			expectCoded(f.Finished(nil, 3), replay.Process, `replay: the agent "demo" ended with status 3 and without the event "finished", so its turn is not whole`)
		})

		It("with which it has not", func() {
			Expect(f.Finished([]replay.Event{replay.EventOf("finished"), replay.EventOf("usage")}, 0)).To(Succeed())
		})

		It("and do not if nobody says so", func() {
			for _, c := range []replay.Choice{replay.Unset, replay.No} {
				Expect(replay.Features{RequiresFinishedEvent: c}.Finished(nil, 0)).To(Succeed())
			}
		})
	})
})
