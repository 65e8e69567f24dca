package timelinekit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// TurnSummary is a plugin as its author writes it: a card at the end of each turn that says how many files the turn wrote.
type TurnSummary struct {
	Host  *timelinekit.Host
	Delay time.Duration // as if it asked somebody
}

func (*TurnSummary) ID() string { return "summary" }

func (p *TurnSummary) TurnEnded(ctx context.Context, e timelinekit.TurnEnded) error {
	files := map[string]bool{}
	for _, it := range e.Timeline.Turn(e.TurnID).All() {
		if call, ok := it.(timeline.ToolCall); ok && call.Status == timeline.Completed {
			if w, ok := call.Detail.(timeline.Write); ok {
				files[w.FilePath] = true
			}
		}
	}
	select {
	case <-time.After(p.Delay):
	case <-ctx.Done():
		return ctx.Err()
	}
	data, err := json.Marshal(map[string]int{"files": len(files)})
	if err != nil {
		return err
	}
	_, _, err = p.Host.AppendRow(ctx, e.Agent.ID, e.TurnID, timeline.Plugin{ID: "summary-" + e.TurnID, Kind: "turn-summary", Version: 1, Data: data})
	return err
}

var writesTwo = script.New(script.Write("a.txt", "1"), script.Write("b.txt", "2"), script.Write("a.txt", "3"), script.Write("../c.txt", "never"))

// Outside of a bubble and inside of one a spec reads the same.
var (
	_ = Describe("A turn-summary card", turnSummary)
	_ = Describe("A turn-summary card on virtual time", bubble.InBubble, turnSummary)
)

func turnSummary() {
	var host *timelinekit.Host
	BeforeEach(func() {
		host = timelinekit.NewHost(GinkgoT())
		_, err := host.Use(&TurnSummary{Host: host, Delay: 20 * time.Millisecond})
		Expect(err).NotTo(HaveOccurred())
	})

	It("counts the files that a turn wrote; the spec waits for the hook", func(ctx SpecContext) {
		run := host.RunFakeAgentTurn(ctx, writesTwo)
		Expect(host.HooksSettled(ctx)).To(Succeed())
		Expect(host.RowsOf(run.AgentID, "turn-summary")()).To(HaveExactElements(
			BePluginRow("turn-summary", WithPlugin("summary"), WithVersion(1), WithData(map[string]int{"files": 2}))))
	})
	It("appears after a while; the spec polls for it", func(ctx SpecContext) {
		run := host.RunFakeAgentTurn(ctx, writesTwo)
		Eventually(host.RowsOf(run.AgentID, "turn-summary")).Should(ContainElement(BePluginRow("turn-summary", WithData(HaveKeyWithValue("files", 2.0)))))
		Consistently(host.RowsOf(run.AgentID, "turn-summary")).WithTimeout(100*time.Millisecond).Should(HaveLen(1), "no second card")
	})
	It("appears after a while; the spec waits for the timeline, without polling", func(ctx SpecContext) {
		run := host.RunFakeAgentTurn(ctx, writesTwo)
		Expect(host.WaitFor(ctx, run.AgentID, ContainItems(BePluginRow("turn-summary")))).To(Succeed())
	})
	It("is one a turn, each about its own, also where it comes when the next turn has begun", func(ctx SpecContext) {
		first := host.RunFakeAgentTurn(ctx, writesTwo)
		turn, err := host.SendTurn(ctx, first.AgentID, `[{"hold":"here"}]`)
		Expect(err).NotTo(HaveOccurred())
		Expect(turn.Gate("here").AwaitHeld(ctx)).To(Succeed())
		Expect(host.HooksSettled(ctx)).To(Succeed())
		Expect(host.AgentTimeline(first.AgentID).Turn(first.TurnID)).To(ContainItems(BePluginRow("turn-summary")))
		Expect(host.AgentTimeline(first.AgentID).Turn(turn.TurnID)).To(HaveItems(BeUserMessage(`[{"hold":"here"}]`)))
		rows := host.AgentRows(first.AgentID)
		Expect(rows[len(rows)-1]).To(And(HaveField("TurnID", first.TurnID), HaveField("Seq", len(rows))), "it stands at the end all the same")
		turn.Gate("here").Release()
		turn.Wait(ctx)
		Expect(host.HooksSettled(ctx)).To(Succeed())
		Expect(host.RowsOf(first.AgentID, "turn-summary")()).To(HaveExactElements(WithTransform(func(p timeline.Plugin) string { return p.ID }, Equal("summary-"+first.TurnID)),
			BePluginRow("turn-summary", WithData(map[string]int{"files": 0}))))
	})
}

var _ = Describe("Plugin rows", func() {
	var (
		host *timelinekit.Host
		id   string
	)
	row := timeline.Plugin{ID: "r1", PluginID: "notes", Kind: "note", Version: 1, Data: []byte(`{"n":1}`)}
	BeforeEach(func(ctx SpecContext) {
		host = timelinekit.NewHost(GinkgoT(), timelinekit.WithPlugins(timelinekit.NewPlugin("notes"), timelinekit.NewPlugin("other")))
		id = host.RunPrompt(ctx, "x").AgentID
	})
	appended := func(ctx context.Context, turnID string, p timeline.Plugin) (seq int) {
		GinkgoHelper()
		seq, epoch, err := host.AppendRow(ctx, id, turnID, p)
		Expect(err).NotTo(HaveOccurred())
		Expect(epoch).To(Equal("epoch-1"))
		return seq
	}

	It("stand at the end of the timeline, and say where", func(ctx SpecContext) {
		Expect(appended(ctx, "", row)).To(Equal(3))
		Expect(host.AgentRows(id)[2].Item).To(Equal(row))
		Expect(host.AgentTimeline(id)).To(HaveItems(BeUserMessage("x"), BeAssistantMessage("fake-agent received: x"), row))
	})
	It("of one plugin and id are shown once, the latest at the place of the first; the raw rows have them all", func(ctx SpecContext) {
		appended(ctx, "", row)
		host.SendPrompt(ctx, id, "y")
		later := row
		later.Data = []byte(`{"n":2}`)
		Expect(appended(ctx, "", later)).To(Equal(6))
		foreign := row
		foreign.PluginID = "other"
		appended(ctx, "", foreign)
		Expect(host.RowsOf(id, "note")()).To(Equal([]timeline.Plugin{later, foreign}), "another plugin's row of the same id is another row")
		Expect(host.AgentTimeline(id).At(2)).To(Equal(later))
		var raw []timeline.Item
		for _, r := range host.AgentRows(id) {
			raw = append(raw, r.Item)
		}
		Expect(raw).To(ContainElements(row, later, foreign))
	})
	It("are picked by kind, or all of them", func(ctx SpecContext) {
		appended(ctx, "", row)
		chart := timeline.Plugin{ID: "c", PluginID: "other", Kind: "chart", Version: 2, Data: []byte(`[]`)}
		appended(ctx, "", chart)
		Expect(timelinekit.PluginRows(host.AgentTimeline(id), "note")).To(Equal([]timeline.Plugin{row}))
		Expect(timelinekit.PluginRows(host.AgentTimeline(id), "")).To(Equal([]timeline.Plugin{row, chart}))
		Expect(timelinekit.PluginRows(host.AgentTimeline(id), "card")).To(BeEmpty())
	})
	It("survive a refetch, and are left out of text logs", func(ctx SpecContext) {
		seq := appended(ctx, "", row)
		page, err := host.FetchRows(id, timeline.Query{Direction: timeline.After, Cursor: timeline.Cursor{Epoch: "epoch-1", Seq: seq - 1}})
		Expect(err).NotTo(HaveOccurred())
		Expect(page.Rows).To(HaveExactElements(HaveField("Item", row)))
		Expect(timeline.LogLine(row)).To(BeEmpty())
	})
	It("are the host's own: what the plugin does to its data later changes nothing", func(ctx SpecContext) {
		mine := row
		mine.Data = slices.Clone(row.Data)
		appended(ctx, "", mine)
		mine.Data[0] = 'x'
		Expect(host.RowsOf(id, "note")()).To(Equal([]timeline.Plugin{row}))
	})
	It("are of the plugin whose hook appends them, whatever it calls itself", func(ctx SpecContext) {
		got := make(chan error, 2)
		_, err := host.Use(timelinekit.NewPlugin("hook", timelinekit.On(func(ctx context.Context, e timelinekit.TurnEnded) error {
			stamped := row
			stamped.PluginID = ""
			_, _, err := host.AppendRow(ctx, e.Agent.ID, e.TurnID, stamped)
			got <- err
			_, _, err = host.AppendRow(ctx, e.Agent.ID, e.TurnID, row)
			got <- err
			return nil
		})))
		Expect(err).NotTo(HaveOccurred())
		host.SendPrompt(ctx, id, "y")
		Expect(<-got).NotTo(HaveOccurred())
		Expect(<-got).To(MatchError(`timelinekit: plugin row "r1" for agent agent-1: it says that it is of plugin notes, but a hook of plugin hook appends it; leave PluginID empty`))
		Expect(host.RowsOf(id, "note")()).To(HaveExactElements(BePluginRow("note", WithPlugin("hook"))))
	})

	It("are not of a plugin of another host, whose hook appends them", func(ctx SpecContext) {
		other := timelinekit.NewHost(GinkgoT())
		got := make(chan error, 1)
		_, err := other.Use(timelinekit.NewPlugin("hook", timelinekit.On(func(ctx context.Context, _ timelinekit.TurnEnded) error {
			mine := row
			mine.PluginID = ""
			_, _, err := host.AppendRow(ctx, id, "", mine)
			got <- err
			return nil
		})))
		Expect(err).NotTo(HaveOccurred())
		other.RunPrompt(ctx, "x")
		Expect(<-got).To(MatchError(ContainSubstring("whose is it?")))
	})

	DescribeTable("are refused, and nothing is added:", func(ctx SpecContext, agentID, turnID string, change func(*timeline.Plugin), want string) {
		p := row
		change(&p)
		_, _, err := host.AppendRow(ctx, agentID, turnID, p)
		Expect(err).To(MatchError(want))
		Expect(host.AgentRows(id)).To(HaveLen(2))
	},
		Entry("for an agent that is not there", "agent-9", "", func(*timeline.Plugin) {}, `timelinekit: no agent "agent-9"; this host has: agent-1`),
		Entry("about a turn that is not there", "agent-1", "agent-1-turn-9", func(*timeline.Plugin) {},
			`timelinekit: plugin row "r1" for agent agent-1: the agent has no turn "agent-1-turn-9"; give the TurnID of a hook's event or of a Run`),
		Entry("of nobody", "agent-1", "", func(p *timeline.Plugin) { p.PluginID = "" },
			`timelinekit: plugin row "r1" for agent agent-1: whose is it? Pass on the context that the hook got or, outside of a hook, set PluginID`),
		Entry("of a plugin that is not there", "agent-1", "", func(p *timeline.Plugin) { p.PluginID = "nots" },
			`timelinekit: plugin row "r1" for agent agent-1: there is no plugin "nots"; register it with Use`),
		Entry("without an id", "agent-1", "", func(p *timeline.Plugin) { p.ID = "" },
			`timelinekit: plugin row "" for agent agent-1: it has no ID; a later row with the same ID takes its place`),
		Entry("without a kind", "agent-1", "", func(p *timeline.Plugin) { p.Kind = "" },
			`timelinekit: plugin row "r1" for agent agent-1: it has no Kind, which says who can draw it`),
		Entry("with version 0", "agent-1", "", func(p *timeline.Plugin) { p.Version = 0 },
			`timelinekit: plugin row "r1" for agent agent-1: its Version is 0; the first one is 1`),
		Entry("with data that is not JSON", "agent-1", "", func(p *timeline.Plugin) { p.Data = []byte("{n:1}") },
			`timelinekit: plugin row "r1" for agent agent-1: its Data is not JSON: invalid character 'n' looking for beginning of object key string`),
		Entry("without data", "agent-1", "", func(p *timeline.Plugin) { p.Data = nil },
			`timelinekit: plugin row "r1" for agent agent-1: its Data is not JSON: unexpected end of JSON input`),
		Entry("with more than 64 KiB of data", "agent-1", "", func(p *timeline.Plugin) { p.Data = dataOf(64<<10 + 1) },
			`timelinekit: plugin row "r1" for agent agent-1: its Data is 65537 bytes long, and 65536 is the most; it is not cut, as it would no longer be JSON`),
	)
	It("with exactly 64 KiB of data are taken", func(ctx SpecContext) {
		p := row
		p.Data = dataOf(64 << 10)
		appended(ctx, "", p)
	})
	It("are refused once the test is over", func(ctx SpecContext) {
		t := &recorder.T{}
		host := timelinekit.NewHost(t, timelinekit.WithPlugins(timelinekit.NewPlugin("notes")))
		id := host.RunPrompt(ctx, "x").AgentID
		t.End()
		_, _, err := host.AppendRow(ctx, id, "", row)
		Expect(err).To(MatchError("timelinekit: the host is closed, as its test is over"))
	})
	It("may be appended by many at once", func(ctx SpecContext) {
		errs := make(chan error)
		for i := range 50 {
			go func() {
				p := row
				p.ID = fmt.Sprint("r", i)
				_, _, err := host.AppendRow(ctx, id, "", p)
				errs <- err
			}()
		}
		var all error
		for range 50 {
			all = errors.Join(all, <-errs)
		}
		Expect(all).NotTo(HaveOccurred())
		Expect(host.RowsOf(id, "note")()).To(HaveLen(50))
		for i, r := range host.AgentRows(id) {
			Expect(r.Seq).To(Equal(i + 1))
		}
	})
})

// dataOf is a JSON string of so many bytes.
func dataOf(size int) json.RawMessage { return []byte(`"` + strings.Repeat("x", size-2) + `"`) }
