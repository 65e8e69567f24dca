package timelinekit_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("Workspaces", func() {
	var host *timelinekit.Host
	BeforeEach(func() { host = timelinekit.NewHost(GinkgoT()) })

	It("are folders that agents share; one without a folder of its own gets a fresh one", func(ctx SpecContext) {
		w, err := host.CreateWorkspace(ctx, timelinekit.WorkspaceCreate{})
		Expect(err).NotTo(HaveOccurred())
		host.RunFakeAgentTurn(ctx, script.New(script.Write("plan.md", "one")), timelinekit.Workspace(w.ID))
		run := host.RunFakeAgentTurn(ctx, script.New(script.Edit("plan.md", "one", "two")), timelinekit.Workspace(w.ID))
		Expect(run).To(HaveItems(BeToolCall("Edit", WithStatus(timeline.Completed))))
		Expect(host.Agent(run.AgentID)).To(And(HaveField("WorkspaceID", "workspace-1"), HaveField("Cwd", w.Cwd)))
	})
	It("are listed in the order in which they were made, archived or not", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		_, err := host.CreateWorkspace(ctx, timelinekit.WorkspaceCreate{Title: "shop", ProjectID: "web", Cwd: dir})
		Expect(err).NotTo(HaveOccurred())
		_, err = host.CreateWorkspace(ctx, timelinekit.WorkspaceCreate{})
		Expect(err).NotTo(HaveOccurred())
		Expect(host.ArchiveWorkspace(ctx, "workspace-2")).To(Succeed())
		Expect(host.Workspaces()).To(HaveExactElements(
			timelinekit.WorkspaceInfo{ID: "workspace-1", ProjectID: "web", Name: "shop", Cwd: dir},
			And(HaveField("Name", "workspace-2"), HaveField("ArchivedAt", BeTemporally("~", time.Now(), time.Minute)))))
	})
	It("that are archived have their agents archived before, each once", func(ctx SpecContext) {
		log := &timelinekit.Recorder{}
		_, err := host.Use(log)
		Expect(err).NotTo(HaveOccurred())
		w, err := host.CreateWorkspace(ctx, timelinekit.WorkspaceCreate{})
		Expect(err).NotTo(HaveOccurred())
		inside, err := host.CreateAgent(ctx, timelinekit.Workspace(w.ID))
		Expect(err).NotTo(HaveOccurred())
		outside, err := host.CreateAgent(ctx)
		Expect(err).NotTo(HaveOccurred())
		for range 2 {
			Expect(host.ArchiveWorkspace(ctx, w.ID)).To(Succeed())
		}
		Expect(host.Agent(inside)).To(HaveField("Status", timeline.AgentClosed))
		Expect(host.Agent(outside)).To(HaveField("Status", timeline.AgentIdle))
		Expect(host.HooksSettled(ctx)).To(Succeed())
		Expect(timelinekit.Recorded[timelinekit.AgentArchived](log)).To(HaveExactElements(HaveField("Agent.ID", inside)))
		Expect(timelinekit.Recorded[timelinekit.WorkspaceArchived](log)).To(HaveExactElements(HaveField("Workspace.ArchivedAt", Not(BeZero()))))
	})
	It("are not archived while an agent in them cannot be", func(ctx SpecContext) {
		t := &recorder.T{}
		p := &puppet{onStop: func(string) error { return errors.New("busy") }}
		host := puppetHost(t, p)
		w, err := host.CreateWorkspace(ctx, timelinekit.WorkspaceCreate{})
		Expect(err).NotTo(HaveOccurred())
		_, err = host.CreateAgent(ctx, timelinekit.Workspace(w.ID))
		Expect(err).NotTo(HaveOccurred())
		Expect(host.ArchiveWorkspace(ctx, w.ID)).To(MatchError("timelinekit: agent agent-1 was not archived: busy"))
		Expect(host.Workspaces()[0].ArchivedAt).To(BeZero())
		p.onStop = nil
		Expect(t.End()).To(BeEmpty())
	})
	It("must be there, and have a folder that is", func(ctx SpecContext) {
		_, err := host.CreateWorkspace(ctx, timelinekit.WorkspaceCreate{Cwd: "/no/such/folder"})
		Expect(err).To(MatchError(ContainSubstring(`cwd "/no/such/folder" cannot be used`)))
		_, err = host.CreateAgent(ctx, timelinekit.Workspace("workspace-1"))
		Expect(err).To(MatchError(`timelinekit: no workspace "workspace-1"; this host has: none`))
		w, err := host.CreateWorkspace(ctx, timelinekit.WorkspaceCreate{})
		Expect(err).NotTo(HaveOccurred())
		Expect(host.ArchiveWorkspace(ctx, "shop")).To(MatchError(`timelinekit: no workspace "shop"; this host has: workspace-1`))
		_, err = host.CreateAgent(ctx, timelinekit.Workspace(w.ID), timelinekit.Cwd("/"))
		Expect(err).To(MatchError(`timelinekit: an agent works in a workspace or in a folder of its own: Workspace("workspace-1") and Cwd("/") exclude each other`))
	})
	It("are no longer made once the test is over", func(ctx SpecContext) {
		t := &recorder.T{}
		host := timelinekit.NewHost(t)
		t.End()
		_, err := host.CreateWorkspace(ctx, timelinekit.WorkspaceCreate{})
		Expect(err).To(MatchError("timelinekit: the host is closed, as its test is over"))
	})
})

var _ = Describe("Archiving an agent", func() {
	It("ends what it does and closes it; its timeline stays, and it takes no more turns", func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		turn := host.StartFakeAgentTurn(ctx, script.New(script.Say("here"), script.Sleep(time.Hour)))
		Expect(host.WaitFor(ctx, turn.AgentID, ContainItems(BeAssistantMessage("here")))).To(Succeed())
		Expect(host.ArchiveAgent(ctx, turn.AgentID)).To(Succeed())
		Expect(turn.Wait(ctx)).To(EndCanceled())
		info, err := host.Agent(turn.AgentID)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Status).To(Equal(timeline.AgentClosed))
		Expect(host.AgentTimeline(turn.AgentID)).To(ContainItems(BeAssistantMessage("here")))
		_, err = host.SendTurn(ctx, turn.AgentID, "x")
		Expect(err).To(And(MatchError(fakeagent.ErrNoSession), MatchError("timelinekit: agent agent-1 is archived: no open session")))
		Expect(host.ArchiveAgent(ctx, turn.AgentID)).To(Succeed(), "and a second time nothing happens")
		Expect(host.Agent(turn.AgentID)).To(Equal(info))
		Expect(host.ArchiveAgent(ctx, "agent-9")).To(MatchError(`timelinekit: no agent "agent-9"; this host has: agent-1`))
	})
	It("archives its children as well, and theirs", func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		for _, opts := range [][]timelinekit.RunOption{nil, {timelinekit.ChildOf("agent-1")}, {timelinekit.ChildOf("agent-2")}, nil} {
			_, err := host.CreateAgent(ctx, opts...)
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(host.ArchiveAgent(ctx, "agent-1")).To(Succeed())
		var open []string
		for _, id := range []string{"agent-1", "agent-2", "agent-3", "agent-4"} {
			if info, err := host.Agent(id); err == nil && info.ArchivedAt.IsZero() {
				open = append(open, id)
			}
		}
		Expect(open).To(Equal([]string{"agent-4"}))
		_, err := host.CreateAgent(ctx, timelinekit.ChildOf("nobody"))
		Expect(err).To(MatchError(HavePrefix(`timelinekit: no agent "nobody"`)))
	})
	It("is content with one whose session is over already", func(ctx SpecContext) {
		t := &recorder.T{}
		p := &puppet{onStop: func(string) error { return errors.New("it was asked") }}
		host := puppetHost(t, p)
		id, err := host.CreateAgent(ctx)
		Expect(err).NotTo(HaveOccurred())
		p.emit(id, "", event.SessionExited{})
		Expect(host.ArchiveAgent(ctx, id)).To(Succeed())
		Expect(host.Agent(id)).To(HaveField("ArchivedAt", Not(BeZero())))
		Expect(t.End()).To(BeEmpty())
	})
	Describe("waits until its session is over", bubble.InBubble, func() {
		It("also where the provider says that it is gone, and tells of the end a moment later", func(ctx SpecContext) {
			t := &recorder.T{}
			p := &puppet{}
			p.onStop = func(id string) error {
				time.AfterFunc(time.Second, func() { p.emit(id, "", event.SessionExited{}) })
				return fakeagent.ErrNoSession
			}
			host := puppetHost(t, p)
			id, err := host.CreateAgent(ctx)
			Expect(err).NotTo(HaveOccurred())
			began := time.Now()
			Expect(host.ArchiveAgent(ctx, id)).To(Succeed())
			Expect(time.Since(began)).To(Equal(time.Second))
			Expect(t.End()).To(BeEmpty())
		})
		It("and is an error where that does not come", func(ctx SpecContext) {
			t := &recorder.T{}
			p := &puppet{onStop: func(string) error { return nil }}
			host := puppetHost(t, p)
			id, err := host.CreateAgent(ctx)
			Expect(err).NotTo(HaveOccurred())
			began := time.Now()
			Expect(host.ArchiveAgent(ctx, id)).To(And(MatchError(context.DeadlineExceeded), MatchError(And(
				HavePrefix("timelinekit: agent agent-1 was not archived: its session has not ended (gave up after 30s"), HaveSuffix("agent agent-1 is idle\n(no items)")))))
			Expect(time.Since(began)).To(Equal(30 * time.Second))
			Expect(host.Agent(id)).To(HaveField("ArchivedAt", BeZero()))
			p.onStop = nil
			t.End()
		})
	})
})
