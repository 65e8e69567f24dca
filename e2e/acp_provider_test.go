package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/timelinekit"
)

// The authors of two SDKs wrote the same agent as an example. Its turn is always the same: it reads a file, asks whether it may write another one,
// and says that it did, or that it did not. A turn takes five seconds, so that there are few of them here.
var _ = Describe("acp.NewProvider drives the example agent of", func() {
	for _, x := range []example{
		{"the Go SDK,", goExample, "ACP Go Example Agent — demo only (no AI model)."},
		{"the TypeScript SDK,", typeScriptExample, ""},
	} {
		Describe(x.name, func() {
			var d *driven
			BeforeEach(func() { d = drive(x.command()...) })

			It("which does for two agents at once what each of them may, and which goes when the provider is closed", func(ctx SpecContext) {
				first, second := d.host.StartPrompt(ctx, "hello"), d.host.StartPrompt(ctx, "hello")
				d.decides(ctx, first, fakeagent.Accept)
				d.decides(ctx, second, fakeagent.Decline)
				accepted, declined := first.Wait(ctx), second.Wait(ctx)
				Expect(accepted).To(And(EndCompleted(), HaveItems(x.accepted()...)))
				Expect(declined).To(And(EndCompleted(), HaveItems(x.declined()...)))

				Expect(d.provider.Close()).To(Succeed())
				Expect(d.process).To(HaveExited(0))
				for _, run := range []timelinekit.Run{accepted, declined} {
					Eventually(d.events(run.AgentID)).Should(EmitEvents( // its thread tells of the exit on a goroutine of its own
						event.TurnCompleted{State: event.TurnEndCompleted},
						event.SessionExited{Reason: "the agent exited with code 0", ExitKind: "graceful"},
					))
					d.isWellFormed(run.AgentID)
				}
			})

			It("which ends a turn in the middle of a tool call, and then plays a whole one, whose calls are others though it gives them the same ids", func(ctx SpecContext) {
				turn := d.host.StartPrompt(ctx, "hello")
				Expect(d.host.WaitFor(ctx, turn.AgentID, ContainItems(BeToolCall("Read", WithStatus(timeline.Running))))).To(Succeed())
				Expect(turn.Interrupt(ctx)).To(Succeed())
				Expect(turn.Wait(ctx)).To(And(EndCanceled(), HaveItems(x.canceled()...)))

				next, err := d.host.SendTurn(ctx, turn.AgentID, "again")
				Expect(err).NotTo(HaveOccurred())
				d.decides(ctx, next, fakeagent.Accept)
				Expect(next.Wait(ctx)).To(And(EndCompleted(), HaveItems(x.accepted()...)))
				Expect(d.host.AgentTimeline(turn.AgentID)).To(HaveItems(
					slices.Concat([]any{BeUserMessage("hello")}, x.canceled(), []any{BeUserMessage("again")}, x.accepted())...))
				d.isWellFormed(turn.AgentID)
			})
		})
	}
})

var _ = Describe("acp.NewProvider and fakeagent acp", func() {
	It("play a scenario: the timeline is what the scenario says, and the process exits as it says", func(ctx SpecContext) {
		agent := fakeagentACP("--scenario", "happy", "--speed", "0")
		process, err := mockproc.Exec(exec.Command(agent[0], agent[1:]...))
		Expect(err).NotTo(HaveOccurred())
		provider := acp.NewProvider(process)
		DeferCleanup(provider.Close)
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("agent", provider))

		run := host.RunPrompt(ctx, "make the change")
		Expect(run).To(And(EndCompleted(), HaveItems(
			BeReasoning("Analyzing..."),
			BeTodo("Look around", "Make the change", "Check it"),
			BeShellCall("ls -la", WithOutput("README.md\nsrc\n"), WithExitCode(0)),
			BeAssistantMessage("All done. I looked around, made the change, and checked it."),
		)))
		Eventually(process).Should(HaveExited(0))
	})

	for _, way := range []struct {
		name  string
		serve func(ctx context.Context, name string) fakeagent.MCPServer
	}{
		{"over stdio", everythingOnStdio},
		{"over streamable HTTP", everythingOverHTTP},
	} {
		It("call the tools of an MCP server "+way.name+" that the agent was created with, and their results are in the timeline", func(ctx SpecContext) {
			server := way.serve(ctx, "everything")
			d := drive(fakeagentACP("--speed", "0")...)
			run := d.host.RunFakeAgentTurn(ctx, script.New(
				script.MCP("everything", "echo", map[string]any{"message": "hello, <world>"}),
				script.MCP("everything", "no-such-tool", nil),
				script.Say("never mind"),
			), timelinekit.MCPServers(server))

			Expect(run).To(And(EndCompleted(), HaveItems(
				BeMCPCall("everything", "echo"),
				BeMCPCall("everything", "no-such-tool", WithError(ContainSubstring("no-such-tool not found"))),
				BeAssistantMessage("never mind"),
			)))
			echo := calls(run)[0]
			Expect(json.Marshal(echo)).To(MatchJSON(`{
				"type": "tool_call", "callId": "` + echo.CallID + `", "name": "mcp__everything__echo",
				"detail": {
					"type": "unknown",
					"input": {"message": "hello, <world>"},
					"output": {"content": [{"type": "text", "text": "Echo: hello, <world>"}]}
				},
				"status": "completed", "error": null
			}`))
			d.isWellFormed(run.AgentID)
		})
	}

	It("call the tools of an MCP server that a plugin puts into the session", func(ctx SpecContext) {
		own, injected := everythingOverHTTP(ctx, "own"), everythingOnStdio(ctx, "injected")
		d := drive(fakeagentACP("--speed", "0")...)
		_, err := d.host.Use(timelinekit.NewPlugin("injector", timelinekit.Before(
			func(_ context.Context, r timelinekit.AgentCreate) (*timelinekit.AgentCreate, error) {
				r.MCPServers = append(r.MCPServers, injected)
				return &r, nil
			})))
		Expect(err).NotTo(HaveOccurred())
		run := d.host.RunFakeAgentTurn(ctx, script.New(script.MCP("*", "echo", map[string]any{"message": "hi"})), timelinekit.MCPServers(own))

		Expect(run).To(And(EndCompleted(), HaveItems(BeMCPCall("own", "echo"), BeMCPCall("injected", "echo"))))
		for _, c := range calls(run) {
			Expect(said(c)).To(Equal("Echo: hi"))
		}
	})
})

// An example is an agent of an SDK's authors.
type example struct {
	name    string
	command func() []string
	hello   string // what it says before what both of them say
}

// start is what it does before it asks, with the tool call in that status.
func (x example) start(read types.GomegaMatcher) []any {
	return []any{
		BeAssistantMessage(x.hello + "I'll help you with that. Let me start by reading some files to understand the current situation."),
		read,
	}
}

func (x example) canceled() []any { return x.start(BeToolCall("Read", WithError("canceled"))) }

func (x example) accepted() []any { return x.whole(timeline.Completed, " Perfect! I've successfully") }

// declined has a call that failed: the agent says nothing about it any more.
func (x example) declined() []any {
	return x.whole(timeline.Failed, " I understand you prefer not to make that change.")
}

func (x example) whole(write timeline.Status, end string) []any {
	return append(
		x.start(BeToolCall("Read", WithStatus(timeline.Completed),
			WithDetail(timeline.Read{FilePath: "/project/README.md", Content: "# My Project\n\nThis is a sample project..."}))),
		BeAssistantMessage(" Now I understand the project structure. I need to make some changes to improve it."),
		BeToolCall("Write", WithStatus(write),
			// This is the path that it asks for. Before that it has another one.
			WithDetail(timeline.Write{FilePath: "/home/user/project/config.json", Content: `{"database": {"host": "new-host"}}`})),
		BeAssistantMessage(HavePrefix(end)),
	)
}

// goExample builds the agent from the module that the specs require anyway. Without it the spec is skipped; on CI it fails.
func goExample() []string {
	GinkgoHelper()
	path, err := builtExample()
	if err != nil {
		missing := Skip
		if os.Getenv("CI") == "true" {
			missing = Fail
		}
		missing("There is no example agent of the Go SDK: " + err.Error())
	}
	return []string{path}
}

var builtExample = sync.OnceValues(func() (path string, err error) {
	if _, err := built(); err != nil { // which has made the folder
		return "", err
	}
	return buildGo(builtIn, "github.com/coder/acp-go-sdk/example/agent")
})

func typeScriptExample() []string {
	GinkgoHelper()
	node, program := peer("acp-sdk-1.9/dist/examples/agent.js")
	return []string{node, program}
}

// A driven is a process that speaks the protocol, behind a host.
type driven struct {
	process  mockproc.Process
	provider *acp.Provider
	host     *timelinekit.Host

	mu  sync.Mutex
	all map[string][]event.Event // of a thread
}

// drive starts a process, which is closed when the host is, and does not outlive the spec.
func drive(argv ...string) *driven {
	GinkgoHelper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = GinkgoWriter
	process, err := mockproc.Exec(cmd)
	Expect(err).NotTo(HaveOccurred())
	d := &driven{process: process, provider: acp.NewProvider(process), all: map[string][]event.Event{}}
	DeferCleanup(func() {
		defer func() { // for one that does not go
			process.Kill(os.Kill)
			<-process.Exited()
		}()
		Expect(d.provider.Close()).To(Succeed())
		AddReportEntry("wire", d.provider.Transcript().String(), ReportEntryVisibilityFailureOrVerbose)
	})
	d.provider.Subscribe(func(e event.Event) { // before the host does, so that what it has seen is here
		d.mu.Lock()
		defer d.mu.Unlock()
		d.all[e.ThreadID] = append(d.all[e.ThreadID], e)
	})
	d.host = timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("agent", d.provider))
	return d
}

// events are those of an agent so far. It is made for Eventually.
func (d *driven) events(agentID string) func() []event.Event {
	return func() []event.Event {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.Clone(d.all[agentID])
	}
}

// isWellFormed looks at both that there is of an agent: what the provider told, and what the host has kept of it.
func (d *driven) isWellFormed(agentID string) {
	GinkgoHelper()
	Expect(d.events(agentID)()).To(BeWellFormed())
	Expect(d.host.AgentRows(agentID)).To(BeWellFormed())
	Expect(d.host.Violations()).To(BeEmpty())
}

// decides answers the one question that an example's turn asks.
func (d *driven) decides(ctx context.Context, turn *timelinekit.Turn, decision fakeagent.Decision) {
	GinkgoHelper()
	asked, err := turn.AwaitRequest(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(asked).To(And(
		HaveField("Type", "file_change_approval"),
		HaveField("Title", "Modifying critical configuration file"),
		HaveField("Options", ConsistOf(fakeagent.Accept, fakeagent.Decline)),
	))
	running, _ := turn.Ended()
	Expect(running).To(HaveToolCall("Write", WithCallID(asked.CallID), WithStatus(timeline.Running)), "it is about no call that there is")
	Expect(d.host.Respond(ctx, turn.AgentID, asked.ID, decision)).To(Succeed())
	Expect(d.host.Requests(turn.AgentID)).To(ContainElement(And(
		HaveField("ID", asked.ID), HaveField("Open", false), HaveField("Decision", string(decision)), HaveField("Reason", "answered"))))
}
