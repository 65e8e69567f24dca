package main

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/timelinekit"
)

type mockCommand struct {
	N        *int     `short:"n" placeholder:"N" help:"How many agents; as many as there are prompts by default."`
	Scenario string   `placeholder:"NAME or FILE" default:"happy" help:"What they play; happy by default."`
	Cwd      folder   `placeholder:"DIR" default:"." help:"Where they work; here by default."`
	Speed    speed    `placeholder:"F" default:"1" help:"0 does not wait, 1 is real time, 10 ten times as fast."`
	Prompts  []string `arg:"" name:"prompt" help:"What each agent gets; the last one repeats."`
}

func (*mockCommand) Help() string {
	return "Each agent is a mock process, which a small client drives over ACP, and accepts what it asks. Lines begin with the agent's number. " +
		"Scenarios: " + strings.Join(mockproc.Scenarios(), ", ") + ". The exit code is 0 if every agent ended well, else 1."
}

func (m *mockCommand) run(ctx context.Context, c console) (code int) {
	s, err := scenario(m.Scenario, "")
	switch {
	case err != nil:
		c.complain("fakeagent: mock: %v", err)
		return exitUsage
	case m.N != nil && *m.N < len(m.Prompts):
		c.complain("fakeagent: mock: -n is %d, and each agent gets one prompt; use %d or more", *m.N, len(m.Prompts))
		return exitUsage
	}
	n := len(m.Prompts)
	if m.N != nil {
		n = *m.N
	}
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	t := &stage{console: c}
	defer t.close(&code)

	host := timelinekit.NewHost(t)
	cfg := fakeagent.Config{Speed: float64(m.Speed), Instant: m.Speed == 0, MCP: mcpcall.New()}
	var all sync.WaitGroup
	var line sync.Mutex
	codes := make([]int, n)
	for i := range n {
		process := mockproc.Start(t, s, mockproc.WithAgent(cfg))
		agent := acp.NewProvider(process)
		name := "agent-" + strconv.Itoa(i+1)
		if _, err := host.Register(name, agent); err != nil {
			t.Fatalf("%v", err)
		}
		out := &printer{out: &prefixed{to: c.out, prefix: "[" + strconv.Itoa(i+1) + "] ", line: &line}, reasons: true}
		agent.Subscribe(func(e event.Event) { // after the host, whose timeline has the event already
			_, over := e.Payload.(event.TurnCompleted)
			out.update(host.AgentTimeline(name), over)
			switch asked := e.Payload.(type) { // one that is over needs no answer
			case event.RequestOpened:
				_ = agent.RespondToRequest(context.Background(), e.ThreadID, e.RequestID, accept.to(asked))
			case event.UserInputRequested:
				_ = agent.RespondToUserInput(context.Background(), e.ThreadID, e.RequestID, event.FirstOptions(asked.Questions))
			}
		})
		id, err := host.CreateAgent(ctx, timelinekit.AgentID(name), timelinekit.Provider(name), timelinekit.Cwd(string(m.Cwd)))
		if err != nil {
			t.Fatalf("%v", err)
		}
		prompt := m.Prompts[min(i, len(m.Prompts)-1)]
		all.Go(func() {
			codes[i] = play(ctx, t, host, id, prompt)
			out.update(host.AgentTimeline(name), true) // the host knows of the end before those who watch
		})
	}
	all.Wait()
	return min(slices.Max(codes), exitFailed)
}

// prefixed puts something in front of each line. A line is written whole.
type prefixed struct {
	to     io.Writer
	prefix string
	line   *sync.Mutex // one at a time
}

func (p *prefixed) Write(b []byte) (int, error) {
	p.line.Lock()
	defer p.line.Unlock()
	text := bytes.ReplaceAll(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"), []byte("\n"+p.prefix))
	if _, err := p.to.Write([]byte(p.prefix + string(text) + "\n")); err != nil {
		return 0, err
	}
	return len(b), nil
}
