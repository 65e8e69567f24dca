package replay_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

const (
	treeA      = "56ef077a153a22a552fb32288831d723bbc3e26c"
	treeB      = "71cad18ad3c886e3c1fc7e763fe10e0804d2f556"
	someCommit = "ee9ddef315450b51363faf79b0f26cac281d0a25"
)

// message is the lines of an error, which begin at the first column.
func message(lines ...string) string { return strings.Join(lines, "\n") }

var _ = Describe("A divergence", func() {
	DescribeTable("of a prompt shows where it differs first, and",
		func(recorded, live string, rules []replay.Normaliser, want ...string) {
			Expect(replay.PromptDivergence(recorded, live, rules...)).To(MatchError(message(want...)))
		},
		Entry("what stands there", "one\ntwo\nadd a farewell.", "one\ntwo\nadd a farewell! And more", nil,
			`replay: turn 2: the prompt is not the recorded one; it differs at line 3, column 15 (byte 22)`,
			`  recorded: "one\ntwo\nadd a farewell."`,
			`  sent:     "one\ntwo\nadd a farewell! And more"`,
			`                                     ^`),
		Entry("a blank at the end", "add a farewell.", "add a farewell. ", nil,
			`replay: turn 2: the prompt is not the recorded one; it differs at line 1, column 16 (byte 15), where the recorded one ends`,
			`  recorded: "add a farewell."`,
			`  sent:     "add a farewell. "`,
			`                            ^`),
		Entry("that nothing was sent", "a", "", nil,
			`replay: turn 2: the prompt is not the recorded one; it differs at line 1, column 1 (byte 0), where the sent one ends`,
			`  recorded: "a"`,
			`  sent:     ""`,
			`             ^`),
		Entry("no more of long texts than one can read", strings.Repeat("a", 5000)+"b"+strings.Repeat("c", 5000), strings.Repeat("a", 5000)+strings.Repeat("c", 5000), nil,
			`replay: turn 2: the prompt is not the recorded one; it differs at line 1, column 5001 (byte 5000)`,
			`  recorded: …"`+strings.Repeat("a", 30)+"b"+strings.Repeat("c", 39)+`"…`,
			`  sent:     …"`+strings.Repeat("a", 30)+strings.Repeat("c", 40)+`"…`,
			`                                            ^`),
		Entry("other line ends, and what helps against them", "a\nb", "a\r\nb", nil,
			`replay: turn 2: the prompt is not the recorded one; it differs at line 1, column 2 (byte 1)`,
			`  recorded: "a\nb"`,
			`  sent:     "a\r\nb"`,
			`              ^`,
			`  with crlf they would be alike; see WithNormalisers`),
		Entry("a tab", "a\tb", "a b", nil,
			`replay: turn 2: the prompt is not the recorded one; it differs at line 1, column 2 (byte 1)`,
			`  recorded: "a\tb"`,
			`  sent:     "a b"`,
			`              ^`),
		Entry("a blank that does not break", "a b", "a\u00a0b", nil,
			`replay: turn 2: the prompt is not the recorded one; it differs at line 1, column 2 (byte 1)`,
			`  recorded: "a b"`,
			`  sent:     "a\u00a0b"`,
			`              ^ recorded U+0020, sent U+00A0`),
		Entry("a character that has no width", "ab", "a\u200bb", nil,
			`replay: turn 2: the prompt is not the recorded one; it differs at line 1, column 2 (byte 1)`,
			`  recorded: "ab"`,
			`  sent:     "a\u200bb"`,
			`              ^ recorded U+0062, sent U+200B`),
		Entry("a letter that is made of two", "caf\u00e9!", "cafe\u0301!", nil,
			`replay: turn 2: the prompt is not the recorded one; it differs at line 1, column 4 (byte 3)`,
			`  recorded: "café!"`,
			`  sent:     "cafe\u0301!"`,
			`                ^ recorded U+00E9, sent U+0065`),
		Entry("a letter of another script that looks the same", "a", "\u0430", nil,
			`replay: turn 2: the prompt is not the recorded one; it differs at line 1, column 1 (byte 0)`,
			`  recorded: "a"`,
			`  sent:     "а"`,
			`             ^ recorded U+0061, sent U+0430`),
		Entry("characters that differ in their last byte as what they are", "aé", "aè", nil,
			`replay: turn 2: the prompt is not the recorded one; it differs at line 1, column 2 (byte 1)`,
			`  recorded: "aé"`,
			`  sent:     "aè"`,
			`              ^ recorded U+00E9, sent U+00E8`),
		Entry("bytes that are no character", "a\xff", "a\xfe", nil,
			`replay: turn 2: the prompt is not the recorded one; it differs at line 1, column 2 (byte 1)`,
			`  recorded: "a\xff"`,
			`  sent:     "a\xfe"`,
			`              ^`),
		Entry("the place below characters of two columns", "漢字a", "漢字b", nil,
			`replay: turn 2: the prompt is not the recorded one; it differs at line 1, column 3 (byte 6)`,
			`  recorded: "漢字a"`,
			`  sent:     "漢字b"`,
			`                 ^`),
		Entry("the texts that were compared after rules", "id "+someID+" a", "id "+otherID+" b", []replay.Normaliser{replay.CRLF, replay.UUIDs, replay.Pattern("x", "y")},
			`replay: turn 2: the prompt is not the recorded one, also after crlf, uuid and "x"; it differs at line 1, column 13 (byte 12)`,
			`  recorded: "id <uuid-1> a"`,
			`  sent:     "id <uuid-1> b"`,
			`                         ^`),
		Entry("ids that have changed places", someID+" "+otherID+" "+someID, otherID+" "+someID+" "+someID, []replay.Normaliser{replay.UUIDs},
			`replay: turn 2: the prompt is not the recorded one, also after uuid; it differs at line 1, column 25 (byte 24)`,
			`  recorded: "<uuid-1> <uuid-2> <uuid-1>"`,
			`  sent:     "<uuid-1> <uuid-2> <uuid-2>"`,
			`                                     ^`),
		Entry("all rules that are needed to help", "a\n/tmp/a", "a\r\n/tmp/b", []replay.Normaliser{replay.UUIDs},
			`replay: turn 2: the prompt is not the recorded one, also after uuid; it differs at line 1, column 2 (byte 1)`,
			`  recorded: "a\n/tmp/a"`,
			`  sent:     "a\r\n/tmp/b"`,
			`              ^`,
			`  with crlf and tempdir they would be alike; see WithNormalisers`),
	)

	It("of a prompt is none if both are alike after the rules, each by its own side", func() {
		recorded := replay.SideOf(`C:\w`, "outpost/a1")
		Expect(replay.SidedDivergence(`in C:\w on outpost/a1`, "in /home/u/proj on outpost/fix-1", recorded, thisSide, replay.Paths, replay.Branches)).To(BeNil())
		Expect(replay.SidedDivergence(`in C:\w on outpost/a1`, "in /home/u/proj on outpost/a1", recorded, thisSide, replay.Paths, replay.Branches)).NotTo(BeNil())
		Expect(replay.SidedDivergence("the main part", "the main part", replay.SideOf("", "main"), thisSide, replay.Branches)).To(BeNil(), "a branch that is a word of both")
	})

	It("of a prompt is one for every byte if there are no rules", func() {
		Expect(replay.PromptDivergence("a", "a")).To(BeNil())
		Expect(replay.PromptDivergence("", "")).To(BeNil())
		Expect(replay.PromptDivergence("a\r\n", "a\n").Difference.Offset).To(Equal(1))
		Expect(replay.PromptDivergence("a", "a\x00").Difference.Offset).To(Equal(1))
	})

	It("keeps the prompts as they were, and what rules have made of them", func() {
		d := replay.PromptDivergence("id "+someID+" a", "id "+otherID+" b", replay.UUIDs)
		Expect([]string{d.Expected, d.Actual}).To(Equal([]string{"id " + someID + " a", "id " + otherID + " b"}))
		Expect([]string{d.ExpectedNormalised, d.ActualNormalised}).To(Equal([]string{"id <uuid-1> a", "id <uuid-1> b"}))
		d = replay.PromptDivergence("a", "b", replay.UUIDs)
		Expect(d.ExpectedNormalised + d.ActualNormalised).To(BeEmpty())
		d = replay.PromptDivergence("a", someID, replay.UUIDs)
		Expect([]string{d.ExpectedNormalised, d.ActualNormalised}).To(Equal([]string{"a", "<uuid-1>"}))
	})

	It("has rules of its own, which are not those of the next one", func() {
		rules := []replay.Normaliser{replay.CRLF}
		replay.PromptDivergence("a", "b", rules...).Normalisers[0] = replay.UUIDs
		Expect(rules).To(Equal([]replay.Normaliser{replay.CRLF}))
	})

	It("of a prompt is told of the redacted texts alone", func() {
		redact := replay.RedactValues("s3cr3t", "t0ken")
		d := replay.RedactedDivergence("key <redacted-1>", "key s3cr3t, t0ken", redact)
		Expect([]string{d.Expected, d.Actual}).To(Equal([]string{"key <redacted-1>", "key <redacted-1>, <redacted-2>"}))
		Expect(replay.RedactedDivergence("key <redacted-1>", "key s3cr3t", redact)).To(BeNil())
		Expect(replay.RedactedDivergence("key s3cr3t", "key s3cr3t", redact)).To(BeNil(), "a journal that was recorded without it")
	})

	It("of a prompt says so if only what was recorded has been redacted", func() {
		Expect(replay.RedactedDivergence("key <redacted-1>", "key s3cr3t", nil)).To(MatchError(HaveSuffix("\n  what was recorded has been redacted; give the same redaction by WithRedaction")))
		Expect(replay.RedactedDivergence("key <redacted-1>", "kay s3cr3t", replay.RedactValues("s3cr3t"))).To(MatchError(Not(ContainSubstring("WithRedaction"))))
	})

	DescribeTable("says what to do about",
		func(d *replay.Divergence, want ...string) { Expect(d).To(MatchError(message(want...))) },
		Entry("a journal that is over", &replay.Divergence{Kind: replay.KindExhausted, Turn: 3, Hard: true},
			`replay: turn 3: the journal has 2 turns, and the host wants one more; record it anew, or make a new agent to play it again`),
		Entry("a journal of one turn that is over", &replay.Divergence{Kind: replay.KindExhausted, Turn: 2, Hard: true},
			`replay: turn 2: the journal has 1 turn, and the host wants one more; record it anew, or make a new agent to play it again`),
		Entry("commits that were not recorded", &replay.Divergence{Kind: replay.KindUnrecorded, Turn: 2, Expected: "the history is not linear"},
			`replay: turn 2: the commits were not recorded: the history is not linear; record the journal anew, or use Warn to go on without them`),
		Entry("a workspace that is not clean", &replay.Divergence{Kind: replay.KindDirty, Turn: 2, Expected: "a clean workspace", Actual: "bye.txt\nz.txt"},
			`replay: turn 2: the workspace is not clean: bye.txt\nz.txt; commit or remove what the recorded commits would carry off or run into`),
		Entry("a workspace that begins with other files", &replay.Divergence{Kind: replay.KindBaseline, Turn: 2, Expected: treeA, Actual: treeB},
			`replay: turn 2: the workspace begins with other files: its tree is 71cad18ad3c8, not 56ef077a153a; check out the commit, on which the recorded commits were made`,
			`  recorded: tree `+treeA, `  found:    tree `+treeB),
		Entry("a workspace that begins with another commit", &replay.Divergence{Kind: replay.KindBaseline, Turn: 2, Expected: treeA, Actual: treeB, Commit: someCommit},
			`replay: turn 2: the workspace begins with other files: its tree is 71cad18ad3c8, not 56ef077a153a; check out commit ee9ddef31545, on which the recorded commits were made`,
			`  recorded: tree `+treeA, `  found:    tree `+treeB),
		Entry("a commit that has other files", &replay.Divergence{Kind: replay.KindTree, Turn: 2, Expected: treeA, Actual: treeB, Commit: someCommit},
			`replay: turn 2: commit ee9ddef31545 has come to other files: its tree is 71cad18ad3c8, not 56ef077a153a; begin with the recorded files, and with nothing else that is staged`,
			`  recorded: tree `+treeA, `  found:    tree `+treeB),
		Entry("a patch that does not apply", &replay.Divergence{Kind: replay.KindTree, Turn: 2, Expected: treeA, Actual: "error: bye.txt: already exists in working directory\n", Commit: someCommit, Hard: true},
			`replay: turn 2: the patch of commit ee9ddef31545 does not apply; the files that it changes must be as recorded`, `  error: bye.txt: already exists in working directory`),
		Entry("a patch of many files that do not apply", &replay.Divergence{Kind: replay.KindTree, Turn: 2, Actual: "1\n2\n3\n4\n5\n6\n7\n" + strings.Repeat("8", 5000), Commit: someCommit, Hard: true},
			`replay: turn 2: the patch of commit ee9ddef31545 does not apply; the files that it changes must be as recorded`, "  1", "  2", "  3", "  4", "  5", "  6", "  … and 2 lines more"),
		Entry("a step that is in no turn yet", &replay.Divergence{Kind: replay.KindDirty, Actual: "a"},
			`replay: the workspace is not clean: a; commit or remove what the recorded commits would carry off or run into`),
		Entry("a kind of its own", &replay.Divergence{Kind: "other", Turn: 1}, `replay: turn 1: other`),
		Entry("prompts that nobody has compared", &replay.Divergence{Kind: replay.KindPrompt, Turn: 1}, `replay: turn 1: the prompt is not the recorded one`),
	)

	It("cuts what is too long for a person, which a program gets whole", func() {
		long := strings.Repeat("é", 5000)
		for _, kind := range []replay.Kind{replay.KindPrompt, replay.KindUnrecorded, replay.KindDirty, replay.KindBaseline, replay.KindTree, "other"} {
			for _, hard := range []bool{false, true} {
				d := &replay.Divergence{Kind: kind, Turn: 1, Expected: long, Actual: "a" + long + "\n" + long, Commit: long, Hard: hard}
				Expect(len(d.Error())).To(BeNumerically("<", 1800), string(kind))
				Expect(utf8.ValidString(d.Error())).To(BeTrue())
				Expect(json.Marshal(d)).To(ContainSubstring(long))
			}
		}
	})

	It("can be told from other errors, with this package and without", func() {
		err := fmt.Errorf("host: %w", replay.PromptDivergence("a", "b"))
		var d *replay.Divergence
		Expect(errors.As(err, &d)).To(BeTrue())
		Expect(d.Kind).To(Equal(replay.KindPrompt))
		var coded interface{ Code() string }
		Expect(errors.As(err, &coded)).To(BeTrue())
		Expect(coded.Code()).To(Equal("replay"))
	})

	Context("in JSON", func() {
		It("is a report on a prompt, with the place", func() {
			d := replay.PromptDivergence("x\nid "+someID+" a", "x\nid "+otherID+" b", replay.UUIDs, replay.Pattern("x+", "y"))
			Expect(json.Marshal(d)).To(MatchJSON(`{
				"kind": "prompt", "turn": 2,
				"expected": "x\nid ` + someID + ` a", "actual": "x\nid ` + otherID + ` b",
				"normalisers": ["uuid", {"pattern": "x+", "replace": "y"}],
				"expectedNormalised": "y\nid <uuid-1> a", "actualNormalised": "y\nid <uuid-1> b",
				"difference": {"offset": 14, "line": 2, "column": 13, "expected": "a", "actual": "b"}
			}`))
		})

		It("has what would help", func() {
			Expect(json.Marshal(replay.PromptDivergence("a\n", "a\r\n"))).To(MatchJSON(`{"kind": "prompt", "turn": 2, "expected": "a\n", "actual": "a\r\n",
				"difference": {"offset": 1, "line": 1, "column": 2, "expected": "\n", "actual": "\r\n"}, "remedy": ["crlf"]}`))
		})

		It("is a report on a commit", func() {
			Expect(json.Marshal(&replay.Divergence{Kind: replay.KindTree, Turn: 1, Expected: treeA, Actual: "no", Commit: someCommit, Hard: true})).To(
				MatchJSON(`{"kind": "tree", "turn": 1, "expected": "` + treeA + `", "actual": "no", "commit": "` + someCommit + `", "hard": true}`))
		})

		It("comes back as the same error", func() {
			for _, d := range []*replay.Divergence{
				replay.PromptDivergence("a\n"+someID, "a\r\n"+otherID, replay.UUIDs), replay.PromptDivergence("a", "b"),
				{Kind: replay.KindTree, Turn: 1, Actual: "no", Commit: someCommit, Hard: true},
			} {
				written, err := json.Marshal(d)
				Expect(err).NotTo(HaveOccurred())
				var back replay.Divergence
				Expect(json.Unmarshal(written, &back)).To(Succeed())
				Expect(&back).To(Equal(d))
				Expect(&back).To(MatchError(d.Error()))
			}
		})
	})
})

// checkDivergence fails if a divergence of two prompts is not where they differ first, or cannot be read.
func checkDivergence(t interface{ Fatalf(string, ...any) }, recorded, live string, rules []replay.Normaliser) {
	d := replay.SidedDivergence(recorded, live, thisSide, thisSide, rules...)
	want, got := replay.Normalise(rules, thisSide, recorded), replay.Normalise(rules, thisSide, live)
	if d == nil {
		if want != got {
			t.Fatalf("%q and %q are taken for the same", want, got)
		}
		return
	}
	at := d.Difference.Offset
	if want == got || want[:at] != got[:at] {
		t.Fatalf("%q and %q do not differ first at byte %d", want, got, at)
	}
	same := 0
	for same < min(len(want), len(got)) && want[same] == got[same] {
		same++
	}
	if at > same || same-at >= utf8.UTFMax {
		t.Fatalf("%q and %q differ at byte %d, not %d", want, got, same, at)
	}
	if line := 1 + strings.Count(want[:at], "\n"); d.Difference.Line != line {
		t.Fatalf("%q: byte %d is in line %d, not %d", want, at, line, d.Difference.Line)
	}
	if text := d.Error(); !utf8.ValidString(text) || strings.Count(text, "\n") > 4 || len(text) > 2500 || strings.ContainsAny(text, "\r\t\x00") {
		t.Fatalf("nobody can read %q", text)
	}
}

// TestFirstDifference is that two prompts are the same before the place that a divergence names, and are not from there on.
func TestFirstDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		same, a, b := drawPrompt(t), drawPrompt(t), drawPrompt(t)
		rules := rapid.SampledFrom([][]replay.Normaliser{nil, replay.Normalisers()}).Draw(t, "rules")
		checkDivergence(t, same+a, same+b, rules)
	})
}

func FuzzDivergence(f *testing.F) {
	f.Add("a\nb", "a\r\nb")
	f.Add("caf\u00e9", "cafe\u0301")
	f.Add("\x80\x80\x80\x80\x80a", "\x80\x80\x80\x80\x80b")
	f.Add(someID, otherID)
	f.Fuzz(func(t *testing.T, recorded, live string) {
		checkDivergence(t, recorded, live, nil)
		checkDivergence(t, recorded, live, replay.Normalisers())
		for _, kind := range []replay.Kind{replay.KindUnrecorded, replay.KindDirty, replay.KindBaseline, replay.KindTree, replay.KindExhausted, replay.Kind(live)} {
			for _, hard := range []bool{false, true} {
				_ = (&replay.Divergence{Kind: kind, Expected: recorded, Actual: live, Commit: live, Hard: hard}).Error()
			}
		}
	})
}

// BenchmarkPrompt compares two prompts of 10 KB that are the same after all built-in rules, and two that are not.
func BenchmarkPrompt(b *testing.B) {
	line := "In /home/u/proj on outpost/fix-1 at 2026-01-02T03:04:05Z the run " + someID + " wrote /tmp/run-1/log.\r\n"
	recorded := strings.ToUpper(someID) + " " + strings.Repeat(line, 10<<10/len(line))
	for _, c := range []struct{ name, live string }{{"same", someID + recorded[len(someID):]}, {"other", recorded + "!"}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(recorded)))
			b.ReportAllocs()
			for b.Loop() {
				_ = replay.SidedDivergence(recorded, c.live, thisSide, thisSide, replay.Normalisers()...)
			}
		})
	}
}
