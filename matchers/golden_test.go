package matchers_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/timelinekit/golden"
)

var _ = Describe("MatchGolden, with the files of this package", func() {
	It("matches a turn on a real host, whose folder has another name each time", func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		run := host.RunFakeAgentTurn(ctx, script.New(script.Write("src/a.ts", "export const a = 1;\n"), script.Bash("npm test", "1 failed", 1), script.Say("done")))
		Expect(run).To(MatchGolden("turn"))
		Expect(host.AgentRows(run.AgentID)).To(MatchGolden("turn"))
		Expect(run.Items()).NotTo(MatchGolden("turn"), "items have no ending")
	})

	It("matches under Eventually", func(ctx SpecContext) {
		host := timelinekit.NewHost(GinkgoT())
		turn := host.StartFakeAgentTurn(ctx, script.New(script.Write("a.ts", "1"), script.Hold("gate"), script.Say("done")))
		Expect(turn.Gate("gate").AwaitHeld(ctx)).To(Succeed())
		Consistently(host.TimelineOf(turn.AgentID)).WithTimeout(30 * time.Millisecond).ShouldNot(MatchGolden("held"))
		Expect(failure(turn, MatchGolden("held"))).To(HavePrefix("the turn has not ended\n\nExpected\n    turn agent-1-turn-1"))
		turn.Gate("gate").Release()
		Eventually(host.TimelineOf(turn.AgentID)).Should(MatchGolden("held"))
		Expect(turn.Wait(ctx)).NotTo(MatchGolden("held"), "a run has an ending, and no message of the user")
	})
})

var _ = Describe("MatchGolden", func() {
	path := filepath.Join("testdata", "turn.txtar")
	BeforeEach(func() {
		GinkgoT().Chdir(GinkgoT().TempDir())
		update(false)
	})
	write := func(text string) {
		GinkgoHelper()
		Expect(os.MkdirAll("testdata", 0o755)).To(Succeed())
		Expect(os.WriteFile(path, []byte(text), 0o644)).To(Succeed())
	}
	content := func() string {
		GinkgoHelper()
		text, err := os.ReadFile(path)
		Expect(err).NotTo(HaveOccurred())
		return string(text)
	}
	const prose, lines = "What it shows.\n-- notes --\n x \n", "{\"type\":\"reasoning\",\"text\":\"hm\"}\n{\"type\":\"assistant_message\",\"text\":\"done\",\"messageId\":\"m\"}\n"
	items := timeline.Items{timeline.Reasoning{Text: "hm"}, timeline.AssistantMessage{Text: "done", MessageID: "m"}}
	other := timeline.Items{timeline.Reasoning{Text: "hm"}, timeline.AssistantMessage{Text: "oops", MessageID: "m"}}
	run := turn(completed, items...)
	rows := []timeline.Row{{Seq: 1, Epoch: "e", Item: items[0]}}
	events := []event.Event{{Payload: event.TurnStarted{}}, {ItemID: "i", Payload: event.Delta{Stream: event.AssistantText, Text: "x"}}}

	It("takes whatever there is, each in its section", func() {
		write(prose + "-- timeline --\n" + lines + "-- rows --\n" +
			`{"seq":1,"epoch":"<epoch>","timestamp":"<time>","item":{"type":"reasoning","text":"hm"}}` + "\n-- events --\n" +
			`{"type":"turn.started"}` + "\n" + `{"type":"content.delta","itemId":"i","payload":{"streamKind":"assistant_text","delta":"x"}}` + "\n")
		var p timeline.Projection
		for _, it := range items {
			p.Add("T", "", it)
		}
		for _, actual := range []any{items, []timeline.Item(items), p.Snapshot(), rows, events} {
			Expect(actual).To(MatchGolden("turn"))
		}
		Expect(run).NotTo(MatchGolden("turn"))
		Expect(other).NotTo(MatchGolden("turn"))
		Expect(rows[:0]).NotTo(MatchGolden("turn"))
		Expect(events[:1]).NotTo(MatchGolden("turn"))
		write("-- timeline --\n" + lines + "{\"ending\":\"completed\"}\n")
		Expect(run).To(MatchGolden("turn"))
		Expect(turn(timeline.Ending{Kind: timeline.Canceled}, items...)).NotTo(MatchGolden("turn"))
	})

	It("looks into folders below testdata", func() {
		Expect(os.MkdirAll("testdata/cards", 0o755)).To(Succeed())
		Expect(os.WriteFile("testdata/cards/summary.txtar", []byte("-- timeline --\n"+lines), 0o644)).To(Succeed())
		Expect(items).To(MatchGolden("cards/summary"))
	})

	It("says which line differs, what was replaced, what was expected, and how to accept what came", func() {
		write(prose + "-- timeline --\n" + lines)
		said := timeline.Items{items[0], timeline.AssistantMessage{Text: "done in 12 ms", MessageID: "m"}}
		Expect(failure(said, MatchGolden("turn", Scrub(`\d+ ms`, "<n> ms")))).To(Equal(`testdata/turn.txtar:6: section timeline, line 2 is
    {"type":"assistant_message","text":"done in <n> ms","messageId":"m"}
want
    {"type":"assistant_message","text":"done","messageId":"m"}

Replaced before that:
    \d+ ms -> <n> ms

All that differs (- want, + got):
      {"type":"reasoning","text":"hm"}
    - {"type":"assistant_message","text":"done","messageId":"m"}
    + {"type":"assistant_message","text":"done in <n> ms","messageId":"m"}

Expected
      0 reasoning "hm"
      1 assistant_message "done in 12 ms"
to match testdata/turn.txtar

If that is right, -understudy.update writes it into testdata/turn.txtar: timeline`))
		Expect(negated(items, MatchGolden("turn"))).To(Equal(`Expected
      0 reasoning "hm"
      1 assistant_message "done"
not to match testdata/turn.txtar`))
		Expect(MatchGolden("turn").String()).To(Equal("match testdata/turn.txtar"))
		Expect(MatchGolden("turn").Matches(items)).To(BeTrue())
		Expect(MatchGolden("turn").Got(other)).To(HavePrefix("testdata/turn.txtar:6: section timeline, line 2 is\n"))
	})

	It("takes what its rules make of it", func() {
		write("-- timeline --\n" + `{"type":"reasoning","text":"port <n>, pid <pid>"}` + "\n")
		Expect(timeline.Items{timeline.Reasoning{Text: "port 8080, pid 12"}}).To(MatchGolden("turn", Scrub(`(port) \d+`, "$1 <n>"), Scrub(`(pid) \d+`, "$1 <pid>")))
	})

	It("refuses, without the flag, a file and a section that are not there, with To and with NotTo", func() {
		Expect(refusal(items, MatchGolden("turn"))).To(Equal(
			"MatchGolden: there is no file testdata/turn.txtar; run the test with -understudy.update, which writes it"))
		write(prose)
		Expect(refusal(rows, MatchGolden("turn"))).To(Equal(
			"MatchGolden: testdata/turn.txtar has no section rows; run the test with -understudy.update, which writes it"))
		write("-- a --\n-- a --\n")
		Expect(refusal(items, MatchGolden("turn"))).To(Equal(
			"MatchGolden: testdata/turn.txtar:2: there is a section a already, in line 1; give each its own name"))
	})

	It("refuses arguments and actuals that are wrong", func() {
		Expect(refusal(items, MatchGolden("../turn"))).To(Equal(
			`MatchGolden: "../turn" cannot be the name of a file below testdata; give one such as turn or cards/summary`))
		for _, name := range []string{"testdata/turn", "turn.txtar"} {
			Expect(refusal(said, MatchGolden(name))).To(Equal(
				`MatchGolden: "` + name + `" has testdata/ or .txtar in it; leave them away, as in turn or cards/summary`))
		}
		Expect(refusal(items, MatchGolden(""))).To(HavePrefix(`MatchGolden: "" cannot be the name`))
		Expect(refusal(items, MatchGolden("turn", Scrub("(", "")))).To(Equal("MatchGolden: Scrub: error parsing regexp: missing closing ): `(`"))
		write("-- timeline --\n-- rows --\n-- events --\n")
		Expect(refusal(3, MatchGolden("turn"))).To(HavePrefix("MatchGolden expects "))
		Expect(refusal(timeline.Items{nil}, MatchGolden("turn"))).To(Equal("MatchGolden: item 0 is nil"))
		Expect(refusal([]timeline.Row{{}}, MatchGolden("turn"))).To(Equal("MatchGolden: the item of row 0 is nil"))
		Expect(refusal([]event.Event{{}}, MatchGolden("turn"))).To(Equal("MatchGolden: event 0 has no payload"))
		Expect(refusal((*timelinekit.Turn)(nil), MatchGolden("turn"))).To(ContainSubstring("*timelinekit.Turn"))
	})

	Context("with -understudy.update", func() {
		BeforeEach(func() { update(true) })

		It("makes the file, fails with what it wrote, and passes the next time", func() {
			Expect(failure(items, MatchGolden("turn"))).To(Equal(`testdata/turn.txtar: there is no section timeline

All that differs (- want, + got):
    + {"type":"reasoning","text":"hm"}
    + {"type":"assistant_message","text":"done","messageId":"m"}

Expected
      0 reasoning "hm"
      1 assistant_message "done"
to match testdata/turn.txtar

-understudy.update has written it into testdata/turn.txtar: timeline
Look at what has changed there, and run the test without the flag.`))
			Expect(content()).To(Equal("-- timeline --\n" + lines))
			Expect(items).To(MatchGolden("turn"))
		})

		It("rewrites its own section and leaves all else as it was", func() {
			write(prose + "-- timeline --\nold\n-- more --\n y")
			Expect(failure(items, MatchGolden("turn"))).NotTo(BeEmpty())
			Expect(content()).To(Equal(prose + "-- timeline --\n" + lines + "-- more --\n y"))
		})

		It("adds a section, with what was replaced in it", func() {
			write(prose)
			Expect(failure(rows, MatchGolden("turn", Scrub("hm", "<hm>")))).NotTo(BeEmpty())
			Expect(content()).To(Equal(prose + "-- rows --\n" + `{"seq":1,"epoch":"<epoch>","timestamp":"<time>","item":{"type":"reasoning","text":"<hm>"}}` + "\n"))
		})

		It("writes nothing that matches, that should not match, or that another matcher has a say in", func() {
			write("-- timeline --\n" + lines)
			before, err := os.Stat(path)
			Expect(err).NotTo(HaveOccurred())
			Expect(items).To(MatchGolden("turn"))
			Expect(other).NotTo(MatchGolden("turn"))
			Expect(negated(items, MatchGolden("turn"))).NotTo(BeEmpty())
			Expect(other).To(Or(MatchGolden("turn"), MatchGolden("new"), HaveLen(2)))
			Expect(failure(other, Or(MatchGolden("turn"), HaveLen(3)))).NotTo(BeEmpty())
			Expect(MatchGolden("turn").Matches(other)).To(BeFalse())
			Expect(MatchGolden("turn").Got(other)).NotTo(BeEmpty())
			after, err := os.Stat(path)
			Expect(err).NotTo(HaveOccurred())
			Expect(os.SameFile(before, after)).To(BeTrue())
			Expect(os.ReadDir("testdata")).To(HaveLen(1))
		})

		It("writes, under Eventually, what was there in the end, and not what was there at first", func() {
			n := 0
			grows := func() timeline.Items { n++; return items[:min(n, 2)] }
			var said string
			NewGomega(func(s string, _ ...int) { said = s }).Eventually(grows).WithTimeout(50 * time.Millisecond).WithPolling(time.Millisecond).Should(MatchGolden("turn"))
			Expect(said).To(ContainSubstring("-understudy.update has written it"))
			Expect(n).To(BeNumerically(">", 2))
			Expect(content()).To(Equal("-- timeline --\n" + lines))
		})

		It("writes nothing of a turn that has not ended", func(ctx SpecContext) {
			turn := timelinekit.NewHost(GinkgoT()).StartFakeAgentTurn(ctx, script.New(script.Hold("gate")))
			Expect(turn.Gate("gate").AwaitHeld(ctx)).To(Succeed())
			Expect(failure(turn, MatchGolden("turn"))).To(HavePrefix("the turn has not ended\n\n"))
			Expect("testdata").NotTo(BeADirectory())
			turn.Gate("gate").Release()
			turn.Wait(ctx)
			Expect(failure(turn, MatchGolden("turn"))).To(HavePrefix("testdata/turn.txtar: there is no section timeline\n"))
			Expect(content()).To(Equal("-- timeline --\n{\"ending\":\"completed\"}\n"))
		})

		It("loses nothing when goroutines write sections of one file", func() {
			var all sync.WaitGroup
			for _, actual := range []any{items, rows, events} {
				all.Go(func() { failure(actual, MatchGolden("turn")) })
			}
			all.Wait()
			for _, section := range []string{"timeline", "rows", "events"} {
				Expect(content()).To(ContainSubstring(fmt.Sprintf("-- %s --\n{", section)))
			}
			Expect(strings.Count(content(), "\n")).To(Equal(2 + 1 + 2 + 3))
		})

		It("says why it cannot write", func() {
			Expect(os.WriteFile("testdata", nil, 0o644)).To(Succeed())
			m := MatchGolden("turn")
			Expect(refusal(items, m)).To(HavePrefix("MatchGolden: open testdata/turn.txtar: "))
			Expect(os.Remove("testdata")).To(Succeed())
			Expect(os.Mkdir("testdata", 0o555)).To(Succeed())
			if os.Getuid() == 0 {
				Skip("root may write anywhere")
			}
			Expect(failure(items, m)).To(ContainSubstring("\n\n-understudy.update: "))
		})
	})
})

func ExampleMatchGolden() {
	port := timeline.Items{timeline.AssistantMessage{Text: "I listen on port 40123."}}
	if g.Expect(port).To(MatchGolden("example", Scrub(`port \d+`, "port <n>"))) {
		fmt.Println("as in testdata/example.txtar")
	}
	// Output: as in testdata/example.txtar
}

func ExampleScrub() {
	text, _, err := golden.Scrub("The build took 12.5s.", Scrub(`(took) [\d.]+s`, "$1 <time>"))
	fmt.Println(text, err)
	// Output: The build took <time>. <nil>
}

// update sets the flag until the spec ends.
func update(on bool) {
	GinkgoHelper()
	const name = "understudy.update"
	before := flag.Lookup(name).Value.String()
	Expect(flag.Set(name, fmt.Sprint(on))).To(Succeed())
	DeferCleanup(func() { Expect(flag.Set(name, before)).To(Succeed()) })
}
