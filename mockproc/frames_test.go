package mockproc_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/timelinekit/bubble"
	"github.com/understudy-go/understudy/timelinekit/golden"
)

// patience is how long the host of these specs takes to answer a permission.
const patience = 250 * time.Millisecond

// played is a whole session with a host that waits for nothing but the permission.
func played(s mockproc.Scenario, opts ...mockproc.Option) *client {
	GinkgoHelper()
	t := &recorder.T{}
	c := newClient(mockproc.Start(t, s, opts...))
	c.open()
	c.prompt("make a change")
	if strings.HasPrefix(s.Name, "seed/") && (s.Name == "seed/happy" || s.Name == "seed/slow") {
		id, _ := c.permission()
		time.Sleep(patience) // on virtual time: it is what the host takes
		c.allow(id, "allow-once")
	}
	c.rest()
	Expect(t.End()).To(BeEmpty())
	return c
}

// every is n lines of a kind, each some milliseconds after the one before.
func every(from, ms, n int, kind string) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%d %s", from+i*ms, kind))
	}
	return out
}

func together(parts ...any) (out []string) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			out = append(out, p)
		case []string:
			out = append(out, p...)
		}
	}
	return out
}

var _ = Describe("The scenarios", bubble.InBubble, func() {
	// The times are those of a host that never waits: a prompt comes in the instant in which its session is there.
	DescribeTable("have their frames at these milliseconds", func(name string, times []string) {
		Expect(played(named(name)).times()).To(Equal(times))
	},
		Entry("happy", "happy", together("0 answer 0", "100 answer 1",
			"500 agent_thought_chunk", "1000 plan", "1500 tool_call", "2500 tool_call_update completed",
			every(2800, 100, 12, "agent_message_chunk"), "4000 end_turn", "4000 EOF", "4000 exit 0")),
		Entry("slow, which is happy three times as slow", "slow", together("0 answer 0", "300 answer 1",
			"1500 agent_thought_chunk", "3000 plan", "4500 tool_call", "7500 tool_call_update completed",
			every(8400, 300, 12, "agent_message_chunk"), "12000 end_turn", "12000 EOF", "12000 exit 0")),
		Entry("error, which never answers its prompt", "error", together("0 answer 0", "100 answer 1",
			"500 agent_thought_chunk", "1000 plan", "1500 tool_call", "2500 tool_call_update failed", "2500 EOF", "2500 exit 1")),
		Entry("rate_limit, which says nothing before its error", "rate_limit", together("0 answer 0", "100 answer 1",
			"2500 error 429", "2500 EOF", "2500 exit 1")),
		Entry("seed/happy, with what the host takes for its answer", "seed/happy", together("0 answer 0", "0 answer 1",
			"410 agent_thought_chunk", "910 plan", "1410 tool_call", "2410 session/request_permission", "2660 tool_call_update completed",
			every(2960, 100, 12, "agent_message_chunk"), "4360 end_turn", "4360 EOF", "4360 exit 0")),
		Entry("seed/slow, whose first ten milliseconds are not slower", "seed/slow", together("0 answer 0", "0 answer 1",
			"1210 agent_thought_chunk", "2710 plan", "4210 tool_call", "7210 session/request_permission", "7460 tool_call_update completed",
			every(8360, 300, 12, "agent_message_chunk"), "12560 end_turn", "12560 EOF", "12560 exit 0")),
		Entry("seed/error", "seed/error", together("0 answer 0", "0 answer 1",
			"410 agent_thought_chunk", "910 plan", "1410 tool_call", "2410 tool_call_update failed", "2410 EOF", "2410 exit 1")),
		Entry("seed/rate_limit", "seed/rate_limit", together("0 answer 0", "0 answer 1", "2410 error 429", "2410 EOF", "2410 exit 1")),
	)

	It("have these frames, byte for byte", func() {
		const path = "testdata/frames.txtar"
		var sections []golden.Section
		for _, name := range mockproc.Scenarios() {
			if name == "scripted" { // which plays what it is told
				continue
			}
			sections = append(sections, golden.Section{Name: name, Text: strings.Join(played(named(name)).lines(), "\n") + "\n"})
		}
		file, err := golden.Read(path)
		Expect(err).NotTo(HaveOccurred())
		differs, changed, err := file.Compare(sections)
		Expect(err).NotTo(HaveOccurred())
		if differs != "" {
			Fail(differs + golden.Settle(path, changed))
		}
		Expect(file.Sections).To(HaveLen(len(sections)), "a section that no scenario has")
	})

	It("are divided by the speed, handshake and all, but not in what the host takes", func() {
		Expect(played(named("seed/happy"), mockproc.WithAgent(fakeagent.Config{Speed: 10})).times()).To(ContainElements(
			"41 agent_thought_chunk", "241 session/request_permission", "491 tool_call_update completed", "661 end_turn"))
		c := played(named("happy"), mockproc.WithAgent(fakeagent.Config{Speed: 2}))
		Expect(c.times()).To(ContainElements("50 answer 1", "250 agent_thought_chunk", "2000 exit 0"))
	})
	It("play at once without waiting", func() {
		c := played(named("slow"), mockproc.WithAgent(fakeagent.Config{Instant: true}))
		Expect(c.times()).To(And(HaveLen(21), HaveEach(HavePrefix("0 "))))
	})
	It("count from the prompt, however long the host has waited before", func() {
		c, _ := start(named("happy"))
		c.open()
		time.Sleep(time.Hour) // on virtual time
		c.prompt("go")
		c.rest()
		Expect(c.heard[2].at).To(Equal(time.Hour + 500*time.Millisecond))
	})
	It("have the origin's quirks in the profile seed, and none in plain", func() {
		seed := strings.Join(played(named("seed/error")).lines(), "\n")
		Expect(seed).To(ContainSubstring(`"agentCapabilities":{}`))
		Expect(seed).To(ContainSubstring(`"content":{"text":"Analyzing..."}`), "a thought without a type")
		Expect(seed).To(ContainSubstring(`"toolCallId":"tc_1"`))
		Expect(seed).To(ContainSubstring(`"status":"failed","error":"Permission denied"`), "a root field of its own")
		Expect(seed).NotTo(ContainSubstring("_meta"))
		plain := strings.Join(played(named("error")).lines(), "\n")
		Expect(plain).To(ContainSubstring(`"content":{"type":"text","text":"Analyzing..."}`))
		Expect(plain).To(ContainSubstring(`"toolCallId":"t-1-1"`))
		Expect(plain).NotTo(ContainSubstring(`"status":"failed","error"`))
		Expect(plain).To(ContainSubstring("_meta"))
	})
	It("tell of a plan with three entries, and of a rate limit in words as well as by its code", func() {
		plan := played(named("happy")).heard[3].line
		Expect(strings.Count(plan, `"status":"pending"`)).To(Equal(3))
		Expect(strings.Count(plan, `"priority":"high"`)).To(Equal(2))
		Expect(strings.Count(plan, `"priority":"medium"`)).To(Equal(1))
		limit := played(named("rate_limit")).heard[2].line
		Expect(limit).To(And(ContainSubstring(`"code":429`), ContainSubstring("rate limit"), ContainSubstring("too many requests")))
	})
	It("write nothing to stderr", func() {
		for _, name := range []string{"happy", "error", "rate_limit", "seed/error"} {
			c := played(named(name))
			Expect(all(c.p.Stderr())).To(BeEmpty(), name)
		}
	})

	Describe("with a seed", func() {
		with := func(seed uint64) mockproc.Option { return mockproc.WithAgent(fakeagent.Config{Seed: seed}) }
		text := func(seed uint64) string { return strings.Join(played(named("seed/slow"), with(seed)).lines(), "\n") }

		It("are the same in every byte and every nanosecond, however many processors there are, and beside others", func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
			once := text(7)
			for procs := range 4 {
				runtime.GOMAXPROCS(procs + 1)
				for range 10 {
					Expect(text(7)).To(Equal(once))
				}
			}
			var others sync.WaitGroup
			all := make([]string, 20)
			for i := range all {
				others.Go(func() { all[i] = text(7) })
			}
			others.Wait()
			Expect(all).To(HaveEach(once))
		})
		It("differ in their cuts, their waits, their PID and their session from those with another one", func() {
			a, b := played(named("happy"), with(7)), played(named("happy"), with(8))
			Expect(a.p.PID()).To(Equal(907_000))
			Expect(b.p.PID()).To(Equal(908_000))
			Expect(a.session).To(Equal("mock_sess_907000"))
			Expect(b.session).To(Equal("mock_sess_908000"))
			Expect(chunks(a)).NotTo(Equal(chunks(b)), "where the text is cut")
			Expect(strings.Join(chunks(a), "")).To(Equal(strings.Join(chunks(b), "")))
			Expect(a.heard[2].at).NotTo(Equal(b.heard[2].at), "when the first thought comes")
			for _, c := range []*client{a, b} {
				Expect(c.heard[2].at).To(BeNumerically("~", 500*time.Millisecond, 40*time.Millisecond))
			}
		})
		It("are exact where it is 0", func() {
			Expect(text(0)).To(Equal(strings.Join(played(named("seed/slow")).lines(), "\n")))
		})
	})
})

// chunks are the pieces of the agent's message.
func chunks(c *client) (out []string) {
	for _, h := range c.heard {
		if _, text, ok := strings.Cut(h.line, `"agent_message_chunk","content":{"type":"text","text":"`); ok {
			text, _, _ = strings.Cut(text, `"`)
			out = append(out, text)
		}
	}
	return out
}
