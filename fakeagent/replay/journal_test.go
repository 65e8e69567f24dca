package replay_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing/iotest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

// greetingText is the file of [greeting].
func greetingText() string {
	GinkgoHelper()
	data, err := os.ReadFile("testdata/greeting.jsonl")
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// inArray is a journal in lines as an array.
func inArray(lines string) string {
	return "[" + strings.Join(strings.Split(strings.TrimSpace(lines), "\n"), ",\n") + "]"
}

// readText reads a journal that can be read.
func readText(text string, opts ...replay.ReadOption) *replay.Journal {
	GinkgoHelper()
	j, err := replay.Read(strings.NewReader(text), opts...)
	Expect(err).NotTo(HaveOccurred())
	return j
}

// unreadable is the error of a journal that cannot be read.
func unreadable(text string, opts ...replay.ReadOption) *replay.ReadError {
	GinkgoHelper()
	j, err := replay.Read(strings.NewReader(text), opts...)
	Expect(j).To(BeNil())
	e := &replay.ReadError{}
	Expect(err).To(BeAssignableToTypeOf(e))
	errors.As(err, &e)
	Expect(e.Reason).NotTo(ContainSubstring("\n"))
	return e
}

// here stands in a text where an error is.
const here = "▸"

// placeOf is where that is, and the text without it.
func placeOf(marked string) (text string, line int, offset int64) {
	GinkgoHelper()
	before, after, there := strings.Cut(marked, here)
	Expect(there).To(BeTrue(), "no arrow in %s", marked)
	return before + after, 1 + strings.Count(before, "\n"), int64(len(before))
}

const (
	aPrompt = `{"kind":"prompt","source":"agent","text":"go"}`
	anEnd   = `{"kind":"dispatch-finished","source":"sandbox"}`
	aHeader = `{"kind":"journal","schema":1}`
)

var _ = Describe("A journal in a file", func() {
	It("has an entry a line, each as it was written", func() {
		j := readText(greetingText())
		Expect(j.Entries).To(HaveLen(16))
		Expect(j.Warnings).To(BeEmpty())
		for i, line := range strings.Split(strings.TrimSpace(greetingText()), "\n") {
			Expect(string(j.Entries[i])).To(Equal(line))
		}
	})

	DescribeTable("may look otherwise",
		func(change func(string) string) {
			j := readText(change(greetingText()))
			Expect(j.Warnings).To(BeEmpty())
			Expect(j.Entries).To(HaveLen(16))
			for i, e := range readText(greetingText()).Entries {
				Expect(j.Entries[i]).To(MatchJSON(e))
			}
		},
		Entry("with line ends of Windows", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }),
		Entry("without a line end at its end", strings.TrimSpace),
		Entry("with blank lines and indented ones", func(s string) string { return " \t\n\r\n" + strings.ReplaceAll(s, "\n", " \n\n \t") + "  " }),
		Entry("as an array", inArray),
		Entry("as an array behind blank lines, with line ends of Windows", func(s string) string { return "\r\n " + strings.ReplaceAll(inArray(s), "\n", "\r\n") + "\r\n" }),
		Entry("as an array over many lines", func(s string) string {
			var b bytes.Buffer
			Expect(json.Indent(&b, []byte(inArray(s)), "", "  ")).To(Succeed())
			return b.String()
		}),
	)

	It("has entries that nobody can change by appending to another one", func() {
		j := readText(greetingText())
		for i := range j.Entries {
			j.Entries[i] = append(j.Entries[i], "xxxxxxxxxxxx"...)[:len(j.Entries[i])]
		}
		Expect(j.Entries).To(Equal(readText(greetingText()).Entries))
	})

	It("says where an entry stands", func() {
		for _, text := range []string{"\n" + aPrompt + "\n\n  " + here + anEnd + "\n", "[\n" + aPrompt + ",\n\n  " + here + anEnd + "]"} {
			text, line, offset := placeOf(text)
			l, o := readText(text).Place(1)
			Expect([]any{l, o}).To(Equal([]any{line, offset}))
		}
		for _, none := range []int{-1, 16} {
			line, _ := readText(greetingText()).Place(none)
			Expect(line).To(BeZero())
		}
	})

	It("has entries of kinds that nobody knows, too", func() {
		Expect(readText(aPrompt + "\n" + `{"kind":"novel"}` + "\n" + anEnd).Entries).To(HaveLen(3))
	})

	It("may begin with a header, with entries of kinds that nobody knows, or with other members first", func() {
		for _, first := range []string{aHeader, `{"kind":"novel"}`, `{"seq":1,"kind":"phase"}`} {
			Expect(readText(first + "\n" + aPrompt + "\n" + anEnd).Entries).To(HaveLen(3))
		}
	})
})

var _ = Describe("A journal that was cut", func() {
	// cuts calls f with all that there may be of a text.
	cuts := func(text string, f func(n int, cut string)) {
		for n := range len(text) {
			f(n, text[:n])
		}
	}

	It("is, at whichever byte, either read up to the tear with a warning, or refused", func() {
		text := greetingText()
		Expect(text).To(HaveLen(3774))
		whole := readText(text).Entries
		cuts(text, func(n int, cut string) {
			begin := strings.LastIndex(cut, "\n") + 1
			lines, rest := strings.Count(cut, "\n"), cut[begin:]
			if lines < len(whole) && rest == string(whole[lines]) {
				lines, rest = lines+1, ""
			}
			if lines == 0 {
				e := unreadable(cut)
				Expect([]any{e.Line, e.Offset}).To(Equal([]any{1, int64(0)}), cut)
				return
			}
			j := readText(cut)
			Expect(j.Entries).To(Equal(whole[:lines]), "cut at %d", n)
			var want []replay.Warning
			if rest != "" {
				want = append(want, replay.Warning{Line: lines + 1, Offset: int64(begin)})
			}
			if lines < len(whole) {
				want = append(want, replay.Warning{Line: 1 + strings.Count(cut, "\n"), Offset: int64(n)})
			}
			for i := range j.Warnings {
				Expect(j.Warnings[i].Message).NotTo(BeEmpty())
				j.Warnings[i].Message = ""
			}
			Expect(j.Warnings).To(Equal(want), "cut at %d", n)
		})
	})

	It("is refused by who is strict, unless nothing but the last line end is missing", func() {
		cuts(greetingText(), func(n int, cut string) {
			if n == 3773 {
				Expect(readText(cut, replay.Strict()).Entries).To(HaveLen(16))
				return
			}
			Expect(unreadable(cut, replay.Strict()).Offset).To(BeNumerically("<=", n))
		})
	})

	It("is refused at every byte if it is an array, and says that it was cut", func() {
		cuts(inArray(greetingText()), func(n int, cut string) {
			e := unreadable(cut)
			Expect(e.Offset).To(Equal(int64(n)))
			if n > 0 {
				Expect(e.Reason).To(Equal("the array is not closed; it was cut"))
			}
		})
	})

	It("may be cut in the middle of a character", func() {
		j := readText(aPrompt + "\n" + anEnd + "\n" + `{"kind":"text","text":"` + "é"[:1])
		Expect(j.Entries).To(HaveLen(2))
		Expect(j.Warnings).To(ConsistOf(HaveField("String()",
			"line 3, byte 95: the last line ends in the middle of an entry, of which 24 bytes are there; it is left out")))
	})

	It("has a warning at its end if the recording has none", func() {
		Expect(readText(aPrompt + "\n").Warnings).To(ConsistOf(HaveField("String()",
			`line 2, byte 47: "dispatch-finished" is missing; the recording was cut, or nobody waited for its end`)))
		Expect(readText("[" + aPrompt + "\n]").Warnings).To(ConsistOf(And(HaveField("Line", 2), HaveField("Offset", int64(49)))))
	})
})

var _ = Describe("A journal that cannot be read", func() {
	DescribeTable("says where, and why, if",
		func(marked, reason string, opts ...replay.ReadOption) {
			text, line, offset := placeOf(marked)
			e := unreadable(text, opts...)
			Expect(e.Error()).To(Equal(fmt.Sprintf("replay: line %d, byte %d: %s", line, offset, reason)))
			Expect([]any{e.Line, e.Offset}).To(Equal([]any{line, offset}))
		},
		Entry("it is empty", here, "there is no entry"),
		Entry("it has nothing but blank lines", here+"\n\n", "there is no entry"),
		Entry("it is an empty array", here+"[]", "there is no entry"),
		Entry("it has nothing but a header", here+aHeader, "there is no entry"),
		Entry("all of it is torn", here+`{"kind":"pro`,
			"there is no whole entry; the last line ends in the middle of an entry, of which 12 bytes are there; it is left out"),
		Entry("its kinds are other ones", "\n"+here+`{"kind":"turn_begin"}`+"\n"+`{"type":"prompt"}`+"\n"+`{"kind":"turn_begin"}`+"\n",
			`no entry is of a kind that a journal has, such as "prompt" or "text"; the kinds here are "turn_begin", "" ("" is none): it is a recording of another form`),
		Entry("its kinds are many other ones", here+`{"kind":"a"}`+"\n"+`{"kind":"b"}`+"\n"+`{"kind":"c"}`+"\n"+`{"kind":"d"}`+"\n"+`{"kind":"`+strings.Repeat("e", 50)+`"}`+"\n"+`{"kind":"f"}`,
			`no entry is of a kind that a journal has, such as "prompt" or "text"; the kinds here are "a", "b", "c", "d", "`+strings.Repeat("e", 40)+`" ("" is none): `+
				"it is a recording of another form"),
		Entry("it begins with a byte order mark", here+"\ufeff"+aPrompt, "it begins with a byte order mark; save it as UTF-8 without one"),
		Entry("it is UTF-16", here+"\xff\xfe{\x00", "it begins with the byte order mark of UTF-16; save it as UTF-8 without one"),
		Entry("it is UTF-16 of the other order", here+"\xfe\xff\x00{", "it begins with the byte order mark of UTF-16; save it as UTF-8 without one"),
		Entry("two entries are glued together", aPrompt+"\n"+anEnd+here+aPrompt+"\n"+aPrompt,
			"another entry begins in the middle of the line; it was appended to one that had no end"),
		Entry("two entries are glued together in the last line, which is torn", aPrompt+"\n"+anEnd+here+`{"kind":"pro`,
			"another entry begins in the middle of the line; it was appended to one that had no end"),
		Entry("an entry is glued to one that was torn in a text", aPrompt+"\n"+`{"kind":"text","text":"ab`+here+anEnd+"\n",
			"another entry begins in the middle of the line; it was appended to one that had no end"),
		Entry("an entry is glued to one that was torn in a key", aPrompt+"\n"+`{"kind":"text","te`+here+anEnd+"\n",
			"another entry begins in the middle of the line; it was appended to one that had no end"),
		Entry("an entry is glued to one that was torn behind a comma", aPrompt+"\n"+`{"kind":"text",`+here+anEnd+"\n",
			"another entry begins in the middle of the line; it was appended to one that had no end"),
		Entry("an entry is glued to one that was torn before a value", aPrompt+"\n"+`{"kind":"tool","input":`+anEnd+here+"\n"+anEnd,
			"the line ends in the middle of an entry; a journal has an entry a line, or is one array"),
		Entry("a line in the middle is torn", aPrompt+"\n"+`{"kind":"te`+here+"\n"+anEnd,
			"the line ends in the middle of an entry; a journal has an entry a line, or is one array"),
		Entry("the last line is torn and has a line end", aPrompt+"\n"+`{"kind":"te`+here+"\n",
			"the line ends in the middle of an entry; a journal has an entry a line, or is one array"),
		Entry("an entry is over more lines than one", aPrompt+"\n{"+here+"\n"+`"kind":"text"}`+"\n",
			"the line ends in the middle of an entry; a journal has an entry a line, or is one array"),
		Entry("NUL bytes stand in a line", aPrompt+"\n"+here+strings.Repeat("\x00", 300)+"\n"+anEnd, "NUL bytes stand here, 300 of them; whoever wrote it was cut off"),
		Entry("NUL bytes stand at its end", aPrompt+"\n"+anEnd+"\n"+here+strings.Repeat("\x00", 300), "NUL bytes stand here, 300 of them; whoever wrote it was cut off"),
		Entry("NUL bytes stand in a text", aPrompt+"\n"+`{"kind":"text","text":"a`+here+"\x00\x00", "NUL bytes stand here, 2 of them; whoever wrote it was cut off"),
		Entry("a line is no JSON", aPrompt+"\n"+`{"kind":"text",`+here+`text":"a"}`+"\n"+anEnd,
			"invalid character 't' looking for beginning of object key string; it is no JSON"),
		Entry("its last line is no JSON, though it has no line end", aPrompt+"\n"+`{"kind":n`+here+`ope`, "invalid character 'o' in literal null (expecting 'u'); it is no JSON"),
		Entry("an entry is no object", aPrompt+"\n"+here+`"text"`+"\n", `an entry must be an object, is "text"`),
		Entry("an entry is an array", aPrompt+"\n"+here+`[1, 2]`+"\n", `an entry must be an object, is [1,2]`),
		Entry("the last line could be no object if it were whole", aPrompt+"\n"+here+`"tex`, `an entry must be an object, is "tex`),
		Entry("an element is no object", "["+aPrompt+", "+here+"5]", `an entry must be an object, is 5`),
		Entry("an array is no JSON", "["+aPrompt+"\n"+here+anEnd+"]", "invalid character '{' after array element"),
		Entry("something follows an array", "["+aPrompt+"]\n"+here+anEnd, "invalid character '{' after top-level value"),
		Entry("a text is not UTF-8", aPrompt+"\n"+`{"kind":"text","text":"é`+here+"\xe9\"}\n"+anEnd, "a byte that is no UTF-8: 0xE9"),
		Entry("the header is not at its begin", aPrompt+"\n"+here+aHeader, "a header must be the first entry; two journals are not one"),
		Entry("it is of a newer form", "\n"+here+`{"kind":"journal","schema":2,"normalisers":5}`+"\n"+`{"kind":"novel"}`,
			"schema is 2: it was written by a newer version, and this one reads no more than 1"),
		Entry("its header is no header", here+`{"kind":"journal"}`, "schema is missing; it must be a whole number from 1 to 9007199254740991"),
		Entry("it has more entries than it may", aPrompt+"\n"+here+anEnd+"\n", "it has more than 1 entries; MaxEntries sets another limit", replay.MaxEntries(1)),
		Entry("it is an array of more entries than it may have", "["+aPrompt+","+here+anEnd+"]", "it has more than 1 entries; MaxEntries sets another limit", replay.MaxEntries(1)),
		Entry("it is longer than it may be", aPrompt[:45]+here+aPrompt[45:], "it is longer than 45 bytes; MaxBytes sets another limit", replay.MaxBytes(45)),
		Entry("who is strict reads one that is torn", aPrompt+"\n"+here+`{"kin`,
			"the last line ends in the middle of an entry, of which 5 bytes are there; it is left out", replay.Strict()),
		Entry("who is strict reads one without an end", aPrompt+"\n"+here,
			`"dispatch-finished" is missing; the recording was cut, or nobody waited for its end`, replay.Strict()),
	)

	It("may be as long as its limits", func() {
		text := aPrompt + "\n" + anEnd + "\n"
		Expect(readText(text, replay.MaxBytes(int64(len(text))), replay.MaxEntries(2)).Entries).To(HaveLen(2))
		Expect(readText(text, replay.MaxBytes(math.MaxInt64)).Entries).To(HaveLen(2))
	})

	It("may have 100,000 entries and 64 MiB, unless somebody sets other limits", func() {
		line := `{"kind":"step"}` + "\n"
		most := strings.Repeat(line, 99_999) + anEnd + "\n"
		Expect(readText(most).Entries).To(HaveLen(100_000))
		Expect(unreadable(most + anEnd).Reason).To(Equal("it has more than 100000 entries; MaxEntries sets another limit"))
		Expect(readText(most+anEnd, replay.MaxEntries(100_001)).Entries).To(HaveLen(100_001))

		long := aPrompt + "\n" + anEnd
		long += strings.Repeat("\n", 64<<20-len(long))
		Expect(readText(long).Entries).To(HaveLen(2))
		Expect(unreadable(long + "\n").Reason).To(Equal("it is longer than 67108864 bytes; MaxBytes sets another limit"))
	})

	It("says how far it came if it cannot be read on", func() {
		gone := errors.New("the disk is gone")
		_, err := replay.Read(io.MultiReader(strings.NewReader(aPrompt+"\n"), iotest.ErrReader(gone)))
		Expect(err).To(MatchError(gone))
		Expect(err).To(MatchError("replay: line 2, byte 47: the disk is gone"))
	})
})

var _ = Describe("The file of a journal", func() {
	It("is read by its name", func() {
		j, err := replay.ReadFile("testdata/greeting.jsonl", replay.Strict())
		Expect(err).NotTo(HaveOccurred())
		Expect(j.Entries).To(HaveLen(16))
	})

	It("is named by what is wrong with it", func() {
		path := filepath.Join(GinkgoT().TempDir(), "torn.jsonl")
		Expect(os.WriteFile(path, []byte(aPrompt+"\n{\n"), 0o600)).To(Succeed())
		_, err := replay.ReadFile(path)
		Expect(err).To(MatchError("replay: " + path + ": line 2, byte 48: the line ends in the middle of an entry; a journal has an entry a line, or is one array"))
	})

	It("must be there", func() {
		_, err := replay.ReadFile("testdata/nothing.jsonl")
		Expect(err).To(MatchError(fs.ErrNotExist))
	})

	It("must not be a folder", func() {
		_, err := replay.ReadFile("testdata")
		Expect(err).To(MatchError("testdata is a folder; give a file"))
	})
})

// deadly is a test that goes on when it should end.
type deadly struct{ said []string }

func (t *deadly) Helper()                      {}
func (t *deadly) Cleanup(func())               {}
func (t *deadly) Errorf(f string, args ...any) { Fail("it goes on") }
func (t *deadly) Fatalf(f string, args ...any) { t.said = append(t.said, fmt.Sprintf(f, args...)) }

var _ = Describe("A journal for a test", func() {
	It("is its entries", func() {
		Expect(replay.Entries(GinkgoT(), "testdata/greeting.jsonl")).To(Equal(readText(greetingText()).Entries))
	})

	It("ends the test if something is wrong with it, or would be a warning", func() {
		path := filepath.Join(GinkgoT().TempDir(), "torn.jsonl")
		Expect(os.WriteFile(path, []byte(aPrompt), 0o600)).To(Succeed())
		t := &deadly{}
		Expect(replay.Entries(t, path)).To(BeNil())
		Expect(t.said).To(ConsistOf("replay: " + path + `: line 1, byte 46: "dispatch-finished" is missing; the recording was cut, or nobody waited for its end`))
	})
})
