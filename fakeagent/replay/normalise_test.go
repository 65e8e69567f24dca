package replay_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

const (
	someID  = "550e8400-e29b-41d4-a716-446655440000"
	otherID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
)

// thisSide is the side of a workspace in somebody's home.
var thisSide = replay.SideOf("/home/u/proj", "outpost/fix-1")

type normalised struct {
	because, text, to string
	side              replay.Side
}

func itNormalises(rule replay.Normaliser, cases []normalised) {
	GinkgoHelper()
	for _, c := range cases {
		It(c.because, func() {
			Expect(replay.Normalise([]replay.Normaliser{rule}, c.side, c.text)).To(Equal(c.to))
		})
	}
}

var _ = Describe("The normaliser", func() {
	Context("crlf", func() {
		itNormalises(replay.CRLF, []normalised{
			{"makes a line feed of a carriage return and a line feed", "a\r\nb\r\n", "a\nb\n", thisSide},
			{"leaves a carriage return that ends no line", "a\rb", "a\rb", thisSide},
			{"leaves none of several before a line feed", "a\r\r\nb", "a\nb", thisSide},
		})
	})

	Context("uuid", func() {
		itNormalises(replay.UUIDs, []normalised{
			{"gives each UUID a number, and the same one the same", "a " + someID + " b " + otherID + " c " + someID, "a <uuid-1> b <uuid-2> c <uuid-1>", thisSide},
			{"takes capitals for small letters", someID + "=" + strings.ToUpper(someID), "<uuid-1>=<uuid-1>", thisSide},
			{"finds one in the name of a file", "log_" + someID + "-1.txt", "log_<uuid-1>-1.txt", thisSide},
			{"leaves what goes on before or behind it", "a" + someID + " " + someID + "0", "a" + someID + " " + someID + "0", thisSide},
			{"leaves what has other digits or dashes", "550e8400-e29b-41d4-a716-44665544000g 550e8400-e29b-41d4-a7160446655440000", "550e8400-e29b-41d4-a716-44665544000g 550e8400-e29b-41d4-a7160446655440000", thisSide},
			{"finds one behind what begins like one", "550e8400-e29b-" + someID, "550e8400-e29b-<uuid-1>", thisSide},
			{"leaves what is cut off", someID[:35], someID[:35], thisSide},
		})
	})

	Context("timestamp", func() {
		for _, at := range []string{
			"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456789+01:00", "2026-01-02 03:04:05", "2026-01-02 03:04:05,123", "2026-01-02T03:04", "2026-01-02 03:04:05 UTC",
			"2026-01-02t03:04:05z", "2026-01-02 03:04:05 +0100", "2026/01/02 03:04:05", "2026/01/02 03:04:05.000001", "20260102T030405Z", "2026-01-02T03-04-05", "2026-01-02_03-04-05",
			"Fri, 02 Jan 2026 03:04:05 GMT", "Fri, 02 Jan 2026 03:04:05 -0700", "Fri Jan  2 03:04:05 2026", "Fri Jan  2 03:04:05 UTC 2026", "1700000100 +0100",
		} {
			It("finds "+at, func() {
				Expect(replay.Normalise([]replay.Normaliser{replay.Timestamps}, thisSide, "at "+at+", "+at)).To(Equal("at <timestamp>, <timestamp>"))
			})
		}
		for _, no := range []string{
			"2026-01-02", "03:04:05", "1700000100", "1700000100123", "1073741824 bytes", "v2026-01-02T03:04:05Z", "2026-01-02T03:04:05Zulu", "1234567890 -1500", "1700000100 +9999", "1.2.3",
		} {
			It("leaves "+no, func() {
				Expect(replay.Normalise([]replay.Normaliser{replay.Timestamps}, thisSide, no)).To(Equal(no))
			})
		}
	})

	Context("tempdir", func() {
		itNormalises(replay.TempDirs, []normalised{
			{"stands for the first folder below a root, and leaves what is below it", "see /tmp/TestA123/001/x.go", "see <tempdir-1>/001/x.go", thisSide},
			{"gives each folder a number, and the same one the same", "/tmp/a/b /tmp/c /tmp/a", "<tempdir-1>/b <tempdir-2> <tempdir-1>", thisSide},
			{"leaves the end of a sentence", "It is /tmp/a. Then /tmp/a.txt.", "It is <tempdir-1>. Then <tempdir-2>.", thisSide},
			{"knows the folders of macOS, and where they really are", "/var/folders/zz/zyx_0n/T/x1/y /private/var/folders/zz/zyx_0n/T/x1 /private/tmp/b /tmp/b", "<tempdir-1>/y <tempdir-1> <tempdir-2> <tempdir-2>", thisSide},
			{"knows the folders of Windows", `C:\Users\Ann Lee\AppData\Local\Temp\x1\y c:/windows/temp/x2`, `<tempdir-1>\y <tempdir-2>`, thisSide},
			{"knows them in JSON too", `"C:\\Users\\u\\AppData\\Local\\Temp\\x1\\y"`, `"<tempdir-1>\\y"`, thisSide},
			{"knows the variables", `$TMPDIR/a ${TMPDIR}/a %TEMP%\b %tmp%\c`, `<tempdir-1> <tempdir-2> <tempdir-3> <tempdir-4>`, thisSide},
			{"knows /var/tmp", "/var/tmp/a", "<tempdir-1>", thisSide},
			{"finds one in an address, and behind a sign", "file:///tmp/a 2>/tmp/b", "file://<tempdir-1> 2><tempdir-2>", thisSide},
			{"leaves a folder of that name in another one", "/home/u/tmp/a ./tmp/a ~/tmp/a ${HOME}/tmp/a <workspace>/tmp/a", "/home/u/tmp/a ./tmp/a ~/tmp/a ${HOME}/tmp/a <workspace>/tmp/a", thisSide},
			{"leaves a root alone", "in /tmp or /tmp/", "in /tmp or /tmp/", thisSide},
			{"takes a placeholder for a part of the name", "/tmp/run-<uuid-1>/x", "<tempdir-1>/x", thisSide},
		})
	})

	Context("path", func() {
		itNormalises(replay.Paths, []normalised{
			{"stands for the workspace", "in /home/u/proj, /home/u/proj/a.go and file:///home/u/proj.", "in <workspace>, <workspace>/a.go and file://<workspace>.", thisSide},
			{"leaves a folder whose name goes on", "/home/u/project /home/u/proj-2 /home/u/proj.old /home/u/proj_x", "/home/u/project /home/u/proj-2 /home/u/proj.old /home/u/proj_x", thisSide},
			{"leaves a longer path that ends so", "/mnt/home/u/proj", "/mnt/home/u/proj", thisSide},
			{"finds it with backslashes", `C:\work\proj\a.go C:/work/proj "C:\\work\\proj\\a.go" c:\work\proj`, `<workspace>\a.go <workspace> "<workspace>\\a.go" <workspace>`, replay.SideOf(`C:\work\proj`, "")},
			{"finds it with backslashes where the workspace has slashes", `\home\u\proj`, `<workspace>`, thisSide},
			{"does not mind a slash at the end of the workspace", "/home/u/proj/a", "<workspace>/a", replay.SideOf("/home/u/proj/", "")},
			{"finds where macOS really has a temporary folder", "/private/var/folders/a/b/T/x /var/folders/a/b/T/x", "<workspace> <workspace>", replay.SideOf("/var/folders/a/b/T/x", "")},
			{"finds where macOS seems to have a temporary folder", "/private/tmp/x /tmp/x", "<workspace> <workspace>", replay.SideOf("/private/tmp/x", "")},
			{"stands for nothing where the workspace is not known", "/home/u/proj", "/home/u/proj", replay.SideOf("", "")},
			{"stands for nothing where the workspace is a root", "/home/u C:/x", "/home/u C:/x", replay.SideOf("/", "")},
			{"finds one that comes to stand alone", "/home/u/proj/home/u/proj", "<workspace><workspace>", thisSide},
		})
	})

	Context("branch", func() {
		itNormalises(replay.Branches, []normalised{
			{"stands for the branch", "on outpost/fix-1, origin/outpost/fix-1 and refs/heads/outpost/fix-1.", "on <branch>, origin/<branch> and refs/heads/<branch>.", thisSide},
			{"leaves a branch whose name goes on", "outpost/fix-12 outpost/fix-1-b outpost/fix-1/c my-outpost/fix-1 outpost/fix-1.2", "outpost/fix-12 outpost/fix-1-b outpost/fix-1/c my-outpost/fix-1 outpost/fix-1.2", thisSide},
			{"leaves a part of a word", "the mainframe on main, domain", "the mainframe on <branch>, domain", replay.SideOf("", "main")},
			{"leaves a placeholder that has the name of the branch", "<branch> branch <workspace>", "<branch> <branch> <workspace>", replay.SideOf("", "branch")},
			{"stands for nothing where there is no branch", "main", "main", thisSide},
		})
	})

	It("of your own puts something else in the place of what an expression matches", func() {
		rules := []replay.Normaliser{replay.Pattern(`outpost/([a-z]+)-\d+`, "<$1>"), replay.Pattern("fix", "done")}
		Expect(replay.Normalise(rules, thisSide, "on outpost/fix-1")).To(Equal("on <done>"))
	})

	It("for paths leaves to the one for temporary folders what is none of its own", func() {
		temporary := replay.SideOf("/tmp/ws1", "main")
		Expect(replay.Normalise(replay.Normalisers(), temporary, "/tmp/ws1/a /tmp/b\r\n on main "+someID+" 2026-01-02T03:04:05Z")).
			To(Equal("<workspace>/a <tempdir-1>\n on <branch> <uuid-1> <timestamp>"))
	})

	DescribeTable("in JSON",
		func(rule replay.Normaliser, written string) {
			Expect(json.Marshal(rule)).To(MatchJSON(written))
			var back replay.Normaliser
			Expect(json.Unmarshal([]byte(written), &back)).To(Succeed())
			Expect(back).To(Equal(rule))
		},
		func(_ replay.Normaliser, written string) string { return "is " + written },
		Entry(nil, replay.UUIDs, `"uuid"`),
		Entry(nil, replay.CRLF, `"crlf"`),
		Entry(nil, replay.Pattern(`o/[a-z]+`, "<o>"), `{"pattern":"o/[a-z]+","replace":"<o>"}`),
		Entry(nil, replay.Pattern(`\s+$`, ""), `{"pattern":"\\s+$","replace":""}`),
	)

	DescribeTable("is refused, if",
		func(written, why string) {
			var rules []replay.Normaliser
			Expect(json.Unmarshal([]byte("["+written+"]"), &rules)).To(MatchError(why))
		},
		Entry("there is none of its name", `"uid"`, `unknown normaliser "uid", did you mean "uuid"? There are crlf, path, tempdir, branch, uuid, timestamp`),
		Entry("its name is like none", `"whitespace"`, `unknown normaliser "whitespace"; use crlf, path, tempdir, branch, uuid, timestamp`),
		Entry("its name is a hundred letters long", `"`+strings.Repeat("é", 100)+`"`, `unknown normaliser "`+strings.Repeat("é", 60)+`"; use crlf, path, tempdir, branch, uuid, timestamp`),
		Entry("it is a number", `5`, `a normaliser must be a name, or an object with "pattern" and "replace", is 5`),
		Entry("it is nothing", `null`, `a normaliser must be a name, or an object with "pattern" and "replace", is null`),
		Entry("it is a list of two lines", "[\n\"uuid\"]", `a normaliser must be a name, or an object with "pattern" and "replace", is [\n"uuid"]`),
		Entry("its pattern is an object of two lines", "{\"pattern\":{\n}}", `the pattern of a normaliser must be a string, is {\n}`),
		Entry("it is empty", `""`, `a normaliser must be a name, or an object with "pattern" and "replace", is ""`),
		Entry("it has an unknown key", `{"pattern":"a","replce":"b"}`, `unknown key "replce" of a normaliser, did you mean "replace"?`),
		Entry("a key is a capital", `{"Pattern":"a"}`, `unknown key "Pattern" of a normaliser, did you mean "pattern"?`),
		Entry("it has no pattern", `{"replace":"b"}`, `a normaliser has neither a name nor a pattern`),
		Entry("its pattern is a number", `{"pattern":1}`, `the pattern of a normaliser must be a string, is 1`),
		Entry("its replacement is null", `{"pattern":"a","replace":null}`, `the replace of a normaliser must be a string, is null`),
		Entry("its pattern does not compile", `{"pattern":"a(\n"}`, "the pattern \"a(\\n\" of a normaliser does not compile: \"error parsing regexp: missing closing ): `a(\\n`\""),
		Entry("its replacement has a group that is none", `{"pattern":"(a)","replace":"$1x"}`, `the replacement "$1x" of a normaliser has $1x, which is no group of its pattern; write ${1} for a group, and $$ for a dollar sign`),
		Entry("its replacement has one group too many", `{"pattern":"(a)","replace":"${2}"}`, `the replacement "${2}" of a normaliser has ${2}, which is no group of its pattern; write ${1} for a group, and $$ for a dollar sign`),
	)

	It("has groups by number and by name, and a dollar sign, in its replacement", func() {
		rule := replay.Pattern(`(a)(?P<rest>b)`, "${1}-$rest-$$-${0}")
		Expect(rule.Check()).To(Succeed())
		Expect(replay.Normalise([]replay.Normaliser{rule}, thisSide, "ab")).To(Equal("a-b-$-ab"))
	})

	It("that is wrong is an error of the configuration", func() {
		for _, rule := range []replay.Normaliser{{}, {Name: "x"}, {Pattern: "("}, {Name: "uuid", Pattern: "a"}} {
			err := rule.Check()
			Expect(err).To(BeAssignableToTypeOf(&replay.Error{}))
			Expect(err.(*replay.Error).Code).To(Equal(replay.Configuration))
			Expect(err.Error()).To(HavePrefix("replay: "))
		}
		for _, rule := range replay.Normalisers() {
			Expect(rule.Check()).To(Succeed())
		}
	})
})

// drawPrompt is a text of pieces that mean something to normalisers.
func drawPrompt(t *rapid.T) string {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{someID, otherID, "2026-01-02T03:04:05Z", "1700000100 +0100", "/tmp/", "/tmp/a", "/private", "/var/folders/a/b/T/", "$TMPDIR/x", `C:\Users\u\AppData\Local\Temp\x`,
			"/home/u/proj", `\home\u\proj`, "outpost/fix-1", "branch", "main", "!", "\r", "\n", "\r\n", " ", "-", "_", ".", "/", "<", ">", "<uuid-1>", "<branch>", "<workspace>", "<timestamp>", "é", "e\u0301", "\xff", "0", "x"}),
		rapid.StringN(0, 3, -1),
	)
	return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
}

func drawSide(t *rapid.T) replay.Side {
	return replay.SideOf(
		rapid.SampledFrom([]string{"", "/home/u/proj", "/tmp/a", "/private/tmp/a", `C:\w`, "/a!", "/<workspace>", "/"}).Draw(t, "cwd"),
		rapid.SampledFrom([]string{"", "main", "outpost/fix-1", "branch", "workspace", "x!", "!x", "uuid-1", "a<"}).Draw(t, "branch"))
}

// TestNormalisedStays is that a built-in rule, alone and with the others, changes nothing in what it has made.
func TestNormalisedStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, side := drawPrompt(t), drawSide(t)
		for _, rule := range replay.Normalisers() {
			once := replay.Normalise([]replay.Normaliser{rule}, side, text)
			if again := replay.Normalise([]replay.Normaliser{rule}, side, once); again != once {
				t.Fatalf("%s makes %q of %q, and then %q", rule, once, text, again)
			}
		}
	})
}

// TestNormalisersInAnyOrder is that those which look for different things need no order.
func TestNormalisersInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SampledFrom([]string{someID, otherID, "2026-01-02T03:04:05Z", "/tmp/a/b", "/home/u/proj/c", "outpost/fix-1", "a\r\nb", "text"})
		text := strings.Join(rapid.SliceOf(words).Draw(t, "words"), " ")
		want := replay.Normalise(replay.Normalisers(), thisSide, text)
		rules := rapid.Permutation(replay.Normalisers()).Draw(t, "rules")
		if got := replay.Normalise(rules, thisSide, text); got != want {
			t.Fatalf("%v makes %q of %q, and the usual order %q", rules, got, text, want)
		}
	})
}

func FuzzNormalise(f *testing.F) {
	f.Add("a\r\n"+someID+" /tmp/a 2026-01-02T03:04:05Z", "/home/u/proj", "main")
	f.Add("/a!/a!", "/a!", "x!")
	f.Add("<branch> branch", `C:\x`, "branch")
	f.Fuzz(func(t *testing.T, text, cwd, branch string) {
		side := replay.SideOf(cwd, branch)
		for _, rule := range replay.Normalisers() {
			once := replay.Normalise([]replay.Normaliser{rule}, side, text)
			if again := replay.Normalise([]replay.Normaliser{rule}, side, once); again != once {
				t.Errorf("%s makes %q of %q, and then %q", rule, once, text, again)
			}
		}
		var rules []replay.Normaliser
		if json.Unmarshal([]byte(text), &rules) != nil {
			return
		}
		written, err := json.Marshal(rules)
		if err != nil {
			t.Fatal(err)
		}
		var back []replay.Normaliser
		if err := json.Unmarshal(written, &back); err != nil || !slices.Equal(back, rules) {
			t.Errorf("%s is read as %v, and not as %v: %v", written, back, rules, err)
		}
	})
}
