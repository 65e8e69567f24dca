package golden_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/timelinekit/golden"
)

var _ = leak.Check()

func TestGolden(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Golden files")
}

// file writes a file into a folder of its own.
func file(text string) (path string) {
	GinkgoHelper()
	path = filepath.Join(GinkgoT().TempDir(), "a.txtar")
	Expect(os.WriteFile(path, []byte(text), 0o644)).To(Succeed())
	return path
}

// parsed is the text as a file named a.txtar.
func parsed(text string) golden.File {
	GinkgoHelper()
	f, err := golden.Read(file(text))
	Expect(err).NotTo(HaveOccurred())
	f.Path = "a.txtar"
	return f
}

func content(path string) string {
	GinkgoHelper()
	text, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// compared is what Compare says of one section.
func compared(f golden.File, section, text string, rules ...golden.Rule) string {
	GinkgoHelper()
	differs, changed, err := f.Compare([]golden.Section{{Name: section, Text: text}}, rules...)
	Expect(err).NotTo(HaveOccurred())
	if differs == "" {
		Expect(changed).To(BeEmpty())
	} else {
		Expect(changed).To(HaveExactElements(HaveField("Name", section)))
	}
	return differs
}

var _ = Describe("A file", func() {
	It("has prose and sections, and knows the lines that they stand in", func() {
		f := parsed("One.\nTwo.\n-- a --\n1\n2\n-- b/c.txt --\n-- d --\n3")
		Expect(f.Prose).To(Equal("One.\nTwo.\n"))
		Expect(f.Sections).To(Equal([]golden.Section{{"a", "1\n2\n", 3}, {"b/c.txt", "", 6}, {"d", "3\n", 7}}))
		s, ok := f.Section("d")
		Expect(s).To(Equal(golden.Section{Name: "d", Text: "3\n", Line: 7}))
		Expect(ok).To(BeTrue())
		_, ok = f.Section("c")
		Expect(ok).To(BeFalse())
	})

	It("is the same when Git has given it Windows's line ends, and keeps those that only one section has", func() {
		Expect(parsed("One.\r\n-- a --\r\n1\r\n").Sections).To(Equal([]golden.Section{{"a", "1\n", 2}}))
		Expect(parsed("One.\n-- a --\n1\r\n").Sections).To(Equal([]golden.Section{{"a", "1\r\n", 2}}))
	})

	It("is refused with two sections of one name", func() {
		path := file("One.\n-- a --\n-- b --\n1\n-- a --\n")
		_, err := golden.Read(path)
		Expect(err).To(MatchError(path + ":5: there is a section a already, in line 2; give each its own name"))
	})

	It("is refused when it does not exist", func() {
		_, err := golden.Read("no/such.txtar")
		Expect(err).To(MatchError(os.ErrNotExist))
	})
})

var _ = Describe("Comparing", func() {
	const text = "-- a --\none\ntwo\nthree\n"

	It("finds nothing where nothing differs", func() {
		Expect(compared(parsed(text), "a", "one\ntwo\nthree\n")).To(BeEmpty())
		Expect(compared(parsed("-- a --\n"), "a", "")).To(BeEmpty())
	})

	DescribeTable("begins with the first line that differs, and its place in the file",
		func(got, want string) { Expect(compared(parsed(text), "a", got)).To(Equal(want)) },
		Entry("another line", "one\n2\nthree\n", "a.txtar:3: section a, line 2 is\n    2\nwant\n    two\n\n"+
			"All that differs (- want, + got):\n      one\n    - two\n    + 2\n      three"),
		Entry("a line too few", "one\ntwo\n", "a.txtar:4: section a, line 3 is missing:\n    three\n\n"+
			"All that differs (- want, + got):\n      one\n      two\n    - three"),
		Entry("a line too many", "one\ntwo\nthree\nfour\n", "a.txtar:5: section a, line 4 is one too many:\n    four\n\n"+
			"All that differs (- want, + got):\n      two\n      three\n    + four"),
		Entry("a line more in the middle", "one\nthree halves\ntwo\nthree\n", "a.txtar:3: section a, line 2 is\n    three halves\nwant\n    two\n\n"+
			"All that differs (- want, + got):\n      one\n    + three halves\n      two\n      three"),
		Entry("a line less in the middle", "one\nthree\n", "a.txtar:3: section a, line 2 is\n    three\nwant\n    two\n\n"+
			"All that differs (- want, + got):\n      one\n    - two\n      three"),
		Entry("nothing at all", "", "a.txtar:2: section a, line 1 is missing:\n    one\n\n"+
			"All that differs (- want, + got):\n    - one\n    - two\n    - three"),
	)

	It("shows a section that is empty, or is not there, by what should be in it", func() {
		Expect(compared(parsed("One.\n-- a --\n"), "a", "1\n")).To(Equal("a.txtar:2: section a is empty\n\nAll that differs (- want, + got):\n    + 1"))
		Expect(compared(parsed("One.\n"), "a", "1\n")).To(Equal("a.txtar: there is no section a\n\nAll that differs (- want, + got):\n    + 1"))
		Expect(compared(parsed("One.\n"), "a", "")).To(HavePrefix("a.txtar: there is no section a"))
	})

	It("shows of a long line the place where it differs", func() {
		line := strings.Repeat("ä", 200)
		said := compared(parsed("-- a --\n"+line+"x"+line+"\n"), "a", line+"y"+line+"\n")
		first, _, _ := strings.Cut(said, "\n\n")
		Expect(strings.Split(first, "\n")).To(HaveExactElements(
			HaveSuffix("line 1 is"), MatchRegexp(`^    …ä{26}yä{53}…$`), "want", MatchRegexp(`^    …ä{26}xä{53}…$`)))
		short := strings.Repeat("x", 150)
		Expect(compared(parsed("-- a --\n"+short+"y\n"), "a", short+"z\n")).To(ContainSubstring("is\n    " + short + "z\nwant\n    " + short + "y\n\n"))
		Expect(compared(parsed("-- a --\n"+line+"\n"), "a", line+line+"\n")).To(ContainSubstring("want\n    …" + strings.Repeat("ä", 26) + "\n\n"))
	})

	It("spells out what a reader would not see", func() {
		Expect(compared(parsed("-- a --\nx\n"), "a", "x \n")).To(ContainSubstring("is\n    \"x \"\nwant\n    x\n"))
		Expect(compared(parsed("-- a --\nx\n"), "a", "\n")).To(ContainSubstring("is\n    \"\"\nwant\n    x\n"))
		Expect(compared(parsed("-- a --\nx\n"), "a", "x\r\n")).To(ContainSubstring(`    "x\r"` + "\n"))
		Expect(compared(parsed("-- a --\nx\n"), "a", "\x1b[1mx\n")).To(ContainSubstring(`    "\x1b[1mx"` + "\n"))
	})

	It("leaves out lines that are equal, and all but the first of very many that differ", func() {
		var want, got strings.Builder
		for i := range 100 {
			fmt.Fprintln(&want, i)
			if i == 20 || i == 80 {
				fmt.Fprint(&got, "not ")
			}
			fmt.Fprintln(&got, i)
		}
		_, all, _ := strings.Cut(compared(parsed("-- a --\n"+want.String()), "a", got.String()), "got):\n")
		Expect(strings.Split(all, "\n")).To(HaveExactElements(
			"      18", "      19", "    - 20", "    + not 20", "      21", "      22", "      …",
			"      78", "      79", "    - 80", "    + not 80", "      81", "      82", "      …"))
		_, all, _ = strings.Cut(compared(parsed("-- a --\n"+want.String()), "a", ""), "got):\n")
		Expect(strings.Split(all, "\n")).To(And(HaveLen(25), ContainElements("    - 0", "    - 23", "      … and 76 more lines")))
	})

	It("takes no memory to speak of for a long text that is altogether another one", func() {
		var before, after runtime.MemStats
		f, got := parsed("-- a --\n0\n"+strings.Repeat("a\n", 6000)), "0\n"+strings.Repeat("b\n", 6000)
		runtime.ReadMemStats(&before)
		Expect(compared(f, "a", got)).To(ContainSubstring("      0\n    - a\n"))
		runtime.ReadMemStats(&after)
		Expect(after.TotalAlloc - before.TotalAlloc).To(BeNumerically("<", 50<<20)) // a table of all pairs of lines would take 288 MB
	})

	It("compares several sections, and says which ones differ", func() {
		differs, changed, err := parsed("-- a --\n1\n-- b --\n2\n-- c --\n3\n").Compare([]golden.Section{{Name: "a", Text: "x\n"}, {Name: "b", Text: "2\n"}, {Name: "c", Text: "y\n"}})
		Expect(err).NotTo(HaveOccurred())
		Expect(differs).To(MatchRegexp(`(?s)^a.txtar:2: section a.*    \+ x\n\na.txtar:6: section c.*    \+ y$`))
		Expect(changed).To(Equal([]golden.Section{{Name: "a", Text: "x\n"}, {Name: "c", Text: "y\n"}}))
	})

	It("replaces what is volatile, and says what changed something", func() {
		f := parsed("-- a --\nport <n> at <time>\n")
		port := golden.Rule{Pattern: `(port) \d+`, Replacement: "$1 <n>"}
		unused := golden.Rule{Pattern: "nothing", Replacement: "x"}
		Expect(compared(f, "a", "port 8080 at 2026-11-30T12:00:00Z\n", unused, port)).To(BeEmpty())
		Expect(compared(f, "a", "ports 8080 at 2026-11-30T12:00:00Z\n", unused, port)).To(Equal(`a.txtar:2: section a, line 1 is
    ports 8080 at <time>
want
    port <n> at <time>

Replaced before that:
    \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d) -> <time>

All that differs (- want, + got):
    - port <n> at <time>
    + ports 8080 at <time>`))
		Expect(compared(f, "a", "port 1\n", port)).To(ContainSubstring("\n\nReplaced before that:\n    (port) \\d+ -> $1 <n>\n\n"))
	})

	It("refuses a rule that is no regular expression", func() {
		_, _, err := parsed(text).Compare([]golden.Section{{Name: "a"}}, golden.Rule{Pattern: "("})
		Expect(err).To(MatchError("error parsing regexp: missing closing ): `(`"))
	})
})

var _ = Describe("Scrubbing", func() {
	DescribeTable("replaces",
		func(text, want string) {
			temp := strings.TrimRight(filepath.ToSlash(os.TempDir()), "/")
			got, applied, err := golden.Scrub(strings.ReplaceAll(text, "TEMP", temp))
			Expect(err).NotTo(HaveOccurred())
			Expect(got).To(Equal(want))
			Expect(applied).To(HaveLen(min(1, strings.Count(want, "<"))))
		},
		Entry("the folder of an agent", `{"cwd":"TEMP/understudy-7-ABC234/agent-12"}`, `{"cwd":"<cwd>"}`),
		Entry("a file in it", `"TEMP/understudy-12345-QX7/workspace-1/src/a.ts"`, `"<cwd>/src/a.ts"`),
		Entry("it where macOS really has it", `/privateTEMP/understudy-1-A/agent-1/a`, `<cwd>/a`),
		Entry("a path of Windows, in JSON", strings.ReplaceAll(`"TEMP/understudy-1-A/agent-1/src/a.ts\n"`, "1/src/a.ts", `1\\src\\a.ts`), `"<cwd>/src/a.ts\n"`),
		Entry("the folder of a host", `TEMP/understudy-7-ABC/x`, `<temp>/x`),
		Entry("the folder of a Go test", `TEMP/TestX1234567/001/a.txt`, `<temp>/a.txt`),
		Entry("the folder of a Ginkgo spec", `TEMP/ginkgo1234567/a.txt`, `<temp>/a.txt`),
		Entry("a time", `"createdAt":"2000-01-01T00:00:00Z"`, `"createdAt":"<time>"`),
		Entry("a time somewhere else", `at 2026-11-30T12:00:00.123456789+01:00.`, `at <time>.`),
		Entry("an epoch", `{"epoch":"epoch-1","seq":1}`, `{"epoch":"<epoch>","seq":1}`),
		Entry("a duration", `{"durationMs":12.5e+3,"x":1}`, `{"durationMs":"<duration>","x":1}`),
		Entry("another duration", `{"durationSeconds":0}`, `{"durationSeconds":"<duration>"}`),
		Entry("no line break after a folder", `"TEMP/understudy-1-A/agent-1\n"`, `"<cwd>\n"`),
		Entry("no folder that has a name", `TEMP/notes/a.txt`, strings.TrimRight(filepath.ToSlash(os.TempDir()), "/")+`/notes/a.txt`),
		Entry("no other numbers", `{"ms":12,"port":8080,"seq":1,"date":"2026-11-30"}`, `{"ms":12,"port":8080,"seq":1,"date":"2026-11-30"}`),
	)

	It("applies one's own rules before the others, and leaves the list of them alone", func() {
		rules := make([]golden.Rule, 1, 10)
		rules[0] = golden.Rule{Pattern: `2026-11-30T\S+`, Replacement: "today"}
		got, applied, err := golden.Scrub("2026-11-30T12:00:00Z 2026-12-01T12:00:00Z", rules...)
		Expect(err).NotTo(HaveOccurred())
		Expect(got).To(Equal("today <time>"))
		Expect(applied).To(HaveLen(2))
		Expect(rules[:2][1]).To(BeZero())
	})
})

var _ = Describe("The text of", func() {
	wrote := timeline.ToolCall{CallID: "t-1-1", Name: "Write", Detail: timeline.Write{FilePath: "/a", Content: "<b>\n"}, Status: timeline.Completed}

	It("a run is its items, without what the user said, and its ending", func() {
		var p timeline.Projection
		p.Add("T", "", timeline.UserMessage{Text: "fix it"})
		p.Add("T", "", wrote)
		run := timeline.Run{Timeline: p.Snapshot(), Ending: timeline.Ending{Kind: timeline.Failed, Message: "no quota", Code: -3}}
		Expect(golden.Run(run)).To(Equal(`{"type":"tool_call","callId":"t-1-1","name":"Write","detail":{"type":"write","filePath":"/a","content":"<b>\n"},"status":"completed","error":null}
{"ending":"failed","message":"no quota","code":-3}
`))
		Expect(golden.Run(timeline.Run{Ending: timeline.Ending{Kind: timeline.Completed}})).To(Equal("{\"ending\":\"completed\"}\n"))
	})

	It("items and rows is one line each, whatever is in them", func() {
		card := timeline.Plugin{ID: "c", PluginID: "p", Kind: "k", Version: 1, Data: []byte("{\n \"a\": 1\n}")}
		Expect(golden.Items(timeline.Items{card, timeline.Reasoning{Text: "a\nb"}})).To(Equal(
			`{"type":"plugin","id":"c","pluginId":"p","kind":"k","version":1,"data":{"a":1}}` + "\n" + `{"type":"reasoning","text":"a\nb"}` + "\n"))
		Expect(golden.Rows([]timeline.Row{{Seq: 1, Epoch: "e", TurnID: "T", Item: timeline.Reasoning{Text: "a"}}})).To(Equal(
			`{"seq":1,"epoch":"e","timestamp":"0001-01-01T00:00:00Z","turnId":"T","item":{"type":"reasoning","text":"a"}}` + "\n"))
		_, err := golden.Items(timeline.Items{timeline.Plugin{Data: []byte("{")}})
		Expect(err).To(HaveOccurred())
		_, err = golden.Run(timeline.Run{Timeline: snapshot(timeline.Plugin{Data: []byte("{")})})
		Expect(err).To(HaveOccurred())
	})

	It("events is what they say, and of which item and request", func() {
		e := event.Event{Seq: 7, Provider: "fake", ThreadID: "agent-1", TurnID: "T", Time: time.Now()}
		started, opened := e, e
		started.Payload = event.TurnStarted{}
		opened.ItemID, opened.RequestID, opened.Payload = "t-1-1", "req-1", event.RequestOpened{RequestType: "x", Detail: "<a>"}
		Expect(golden.Events([]event.Event{started, opened})).To(Equal(
			`{"type":"turn.started"}` + "\n" + `{"type":"request.opened","itemId":"t-1-1","requestId":"req-1","payload":{"requestType":"x","detail":"<a>"}}` + "\n"))
		_, err := golden.Events([]event.Event{e})
		Expect(err).To(HaveOccurred())
	})
})

func snapshot(items ...timeline.Item) timeline.Timeline {
	var p timeline.Projection
	for _, it := range items {
		p.Add("T", "", it)
	}
	return p.Snapshot()
}

var _ = Describe("Rewriting", func() {
	DescribeTable("changes a section and not one byte more",
		func(before, section, text, after string) {
			path := file(before)
			Expect(golden.Rewrite(path, golden.Section{Name: section, Text: text})).To(Succeed())
			Expect(content(path)).To(Equal(after))
		},
		Entry("in the middle", "P \n\n-- a --\n1\n--  b  --\n2\n-- c --\n 3", "b", "x\ny\n", "P \n\n-- a --\n1\n--  b  --\nx\ny\n-- c --\n 3"),
		Entry("at the end", "-- a --\n1", "a", "2\n", "-- a --\n2\n"),
		Entry("at the end, empty", "-- a --", "a", "2\n", "-- a --\n2\n"),
		Entry("to nothing", "-- a --\n1\n-- b --\n", "a", "", "-- a --\n-- b --\n"),
		Entry("to a text whose last line does not end", "-- a --\n-- b --\n", "a", "1", "-- a --\n1\n-- b --\n"),
		Entry("that is not there", "P", "a", "1\n", "P\n-- a --\n1\n"),
		Entry("that is not there, in an empty file", "", "a", "1\n", "-- a --\n1\n"),
		Entry("in a file of Windows", "P\r\n-- a --\r\n1\r\n-- b --\r\n", "a", "x\ny\n", "P\r\n-- a --\r\nx\r\ny\r\n-- b --\r\n"),
		Entry("that is not there, in a file of Windows", "P\r\n-- a --\r\n", "b", "x\n", "P\r\n-- a --\r\n-- b --\r\nx\r\n"),
		Entry("whose neighbour has Windows's line ends", "-- a --\n1\r\n2\r\n-- b --\n3\n", "b", "4\n", "-- a --\n1\r\n2\r\n-- b --\n4\n"),
	)

	It("changes several sections at once", func() {
		path := file("P\n-- a --\n1\n-- b --\n2\n")
		Expect(golden.Rewrite(path, golden.Section{Name: "b", Text: "two\nlines\n"}, golden.Section{Name: "a"}, golden.Section{Name: "c", Text: "3\n"})).To(Succeed())
		Expect(content(path)).To(Equal("P\n-- a --\n-- b --\ntwo\nlines\n-- c --\n3\n"))
	})

	It("makes the file and its folder", func() {
		path := filepath.Join(GinkgoT().TempDir(), "deep", "down", "a.txtar")
		Expect(golden.Rewrite(path, golden.Section{Name: "a", Text: "1\n"})).To(Succeed())
		Expect(content(path)).To(Equal("-- a --\n1\n"))
	})

	It("keeps the file's mode, and leaves nothing else behind", func() {
		path := file("-- a --\n")
		Expect(os.Chmod(path, 0o640)).To(Succeed())
		Expect(golden.Rewrite(path, golden.Section{Name: "a", Text: "1\n"})).To(Succeed())
		info, err := os.Stat(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Mode().Perm()).To(BeEquivalentTo(0o640))
		Expect(os.ReadDir(filepath.Dir(path))).To(HaveLen(1))
	})

	It("puts another file in its place, so that nobody ever reads half of one", func() {
		path := file("-- a --\n1\n")
		before, err := os.Stat(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(golden.Rewrite(path, golden.Section{Name: "a", Text: "2\n"})).To(Succeed())
		after, err := os.Stat(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.SameFile(before, after)).To(BeFalse())
	})

	It("loses no section when many goroutines rewrite theirs", func() {
		path := file("P\n-- n0 --\n")
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				defer GinkgoRecover()
				name := fmt.Sprint("n", i)
				Expect(golden.Rewrite(path, golden.Section{Name: name, Text: name + "\n"})).To(Succeed())
			})
		}
		all.Wait()
		f, err := golden.Read(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(f.Sections).To(HaveLen(20))
		for _, s := range f.Sections {
			Expect(s.Text).To(Equal(s.Name + "\n"))
		}
	})

	It("refuses a text that would begin another section, and changes nothing", func() {
		path := file("-- a --\n1\n")
		err := golden.Rewrite(path, golden.Section{Name: "b", Text: "2\n"}, golden.Section{Name: "a", Text: "x\n-- y --\n"})
		Expect(err).To(MatchError(path + `: section a cannot be written: its line "-- y --" would begin another section`))
		Expect(content(path)).To(Equal("-- a --\n1\n"))
	})

	It("refuses a file that is wrong, and one that cannot be written", func() {
		path := file("-- a --\n-- a --\n")
		Expect(golden.Rewrite(path, golden.Section{Name: "a"})).To(MatchError(ContainSubstring("there is a section a already")))
		Expect(golden.Rewrite(filepath.Dir(path), golden.Section{Name: "a"})).To(MatchError(HavePrefix("read ")), "what cannot be read is not replaced")
		Expect(golden.Rewrite(filepath.Join(path, "x", "a.txtar"), golden.Section{Name: "a"})).NotTo(Succeed())
		Expect(os.ReadDir(filepath.Dir(path))).To(HaveLen(1))
		folder := filepath.Join(filepath.Dir(path), "folder")
		Expect(golden.Rewrite(folder+string(filepath.Separator), golden.Section{Name: "a"})).NotTo(Succeed())
		Expect(os.ReadDir(folder)).To(BeEmpty(), "a new file that could not take the old one's place")
	})
})

var _ = Describe("The flag -understudy.update", func() {
	It("is one of the test binary, and off", func() {
		Expect(flag.Lookup("understudy.update").DefValue).To(Equal("false"))
		update(false)
		Expect(golden.Update()).To(BeFalse())
		update(true)
		Expect(golden.Update()).To(BeTrue())
	})

	changed := []golden.Section{{Name: "a", Text: "2\n"}, {Name: "b", Text: "3\n"}}

	It("decides whether what ends a failure message writes the file, or says how to", func() {
		path := file("-- a --\n1\n")
		update(false)
		Expect(golden.Settle(path, nil)).To(BeEmpty())
		Expect(golden.Settle(path, changed)).To(Equal("\n\nIf that is right, -understudy.update writes it into " + path + ": a, b"))
		Expect(content(path)).To(Equal("-- a --\n1\n"))

		update(true)
		Expect(golden.Settle(path, nil)).To(BeEmpty())
		Expect(golden.Settle(path, changed)).To(Equal("\n\n-understudy.update has written it into " + path + ": a, b\n" +
			"Look at what has changed there, and run the test without the flag."))
		Expect(content(path)).To(Equal("-- a --\n2\n-- b --\n3\n"))
	})

	It("says why it could not be written", func() {
		update(true)
		path := file("-- a --\n-- a --\n")
		Expect(golden.Settle(path, changed)).To(Equal("\n\n-understudy.update: " + path + ":2: there is a section a already, in line 1; give each its own name"))
	})
})

// update sets the flag until the spec ends.
func update(on bool) {
	GinkgoHelper()
	const name = "understudy.update"
	before := flag.Lookup(name).Value.String()
	Expect(flag.Set(name, fmt.Sprint(on))).To(Succeed())
	DeferCleanup(func() { Expect(flag.Set(name, before)).To(Succeed()) })
}
