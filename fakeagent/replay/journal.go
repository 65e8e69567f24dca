package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/internal/jsonscan"
)

// Entry is an entry of a journal: a JSON object with a "kind". [Read] has them from a file; json.Unmarshal makes a []Entry of an array.
type Entry = json.RawMessage

// Journal is a journal that was read.
type Journal struct {
	Entries  []Entry   // in the order of the file; they share the memory that it was read into
	Warnings []Warning // what was left out, or is not as it should be

	data   []byte
	starts []int64 // the offset of each entry
}

// Warning is something about a journal that does not keep it from being played.
type Warning struct {
	Line    int   // from 1
	Offset  int64 // in bytes, from 0
	Message string
}

func (w Warning) String() string { return placeOf(w.Line, w.Offset) + ": " + w.Message }

// ReadError is why a journal cannot be read.
type ReadError struct {
	Name   string // of the file; "" where there is none
	Line   int    // from 1
	Offset int64  // in bytes, from 0
	Reason string
	Err    error // what kept the file from being read on; nil: something is wrong in it
}

func (e *ReadError) Error() string {
	name := ""
	if e.Name != "" {
		name = e.Name + ": "
	}
	return "replay: " + name + placeOf(e.Line, e.Offset) + ": " + e.Reason
}

func (e *ReadError) Unwrap() error { return e.Err }

func placeOf(line int, offset int64) string { return fmt.Sprintf("line %d, byte %d", line, offset) }

// ReadOption shapes how a journal is read.
type ReadOption func(*reading)

// Strict makes an error of every warning.
func Strict() ReadOption { return func(r *reading) { r.strict = true } }

// MaxEntries is how many entries a journal may have; 100000 by default. A longer one is an error.
func MaxEntries(n int) ReadOption { return func(r *reading) { r.maxEntries = n } }

// MaxBytes is how long it may be; 64 MiB by default. A longer one is an error.
func MaxBytes(n int64) ReadOption { return func(r *reading) { r.maxBytes = n } }

// Read reads a journal to its end. It may have an entry a line, or be a JSON array of them. It must be whole: what is damaged, glued together or
// foreign is a [*ReadError] that says where. Two things are warnings: a last line that was not written to its end, which is left out, and
// that no "dispatch-finished" came, so that it may have been cut between two lines. The fields of its entries are checked by whoever plays it.
func Read(r io.Reader, opts ...ReadOption) (*Journal, error) { return newReading("", opts).read(r) }

// ReadFile reads the journal in a file.
func ReadFile(name string, opts ...ReadOption) (*Journal, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder; give a file", name)
	}
	return newReading(name, opts).read(f)
}

// Entries are those of the journal in a file, for a test: what is wrong with it fails the test, and so does what would be a warning.
func Entries(t fakeagent.T, name string) []Entry {
	t.Helper()
	j, err := ReadFile(name, Strict())
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	return j.Entries
}

// Place is where an entry, counted from 0, stands in what was read: the line from 1, the offset in bytes from 0. Of an entry that is not there it
// is line 0.
func (j *Journal) Place(entry int) (line int, offset int64) {
	if entry < 0 || entry >= len(j.starts) {
		return 0, 0
	}
	return lineAt(j.data, j.starts[entry]), j.starts[entry]
}

func lineAt(data []byte, offset int64) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }

// reading is a journal that is being read.
type reading struct {
	name       string
	strict     bool
	maxEntries int
	maxBytes   int64

	journal  Journal
	scanned  object // what the members of each entry are put into
	known    bool   // an entry of a known kind came
	finished bool   // so did the end of the recording
	foreign  []string
}

func newReading(name string, opts []ReadOption) *reading {
	r := &reading{name: name, maxEntries: 100_000, maxBytes: 64 << 20}
	for _, o := range opts {
		o(r)
	}
	return r
}

func (r *reading) read(in io.Reader) (*Journal, error) {
	data, err := io.ReadAll(io.LimitReader(in, min(r.maxBytes, math.MaxInt64-1)+1))
	r.journal.data = data
	end := int64(len(data))
	switch {
	case err != nil:
		e := r.refuse(end, "%v", err)
		e.Err = err
		return nil, e
	case end > r.maxBytes:
		return nil, r.refuse(max(0, r.maxBytes), "it is longer than %d bytes; MaxBytes sets another limit", r.maxBytes)
	case bytes.HasPrefix(data, []byte("\ufeff")):
		return nil, r.refuse(0, "it begins with a byte order mark; save it as UTF-8 without one")
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return nil, r.refuse(0, "it begins with the byte order mark of UTF-16; save it as UTF-8 without one")
	}
	if first := jsonscan.Space(data, 0); first < len(data) && data[first] == '[' {
		err = orNil(r.array())
	} else {
		err = orNil(r.lines())
	}
	if err == nil {
		err = orNil(r.judge())
	}
	if err != nil {
		return nil, err
	}
	return &r.journal, nil
}

func orNil(e *ReadError) error {
	if e == nil {
		return nil
	}
	return e
}

// lines reads an entry a line.
func (r *reading) lines() *ReadError {
	data := r.journal.data
	for at := 0; at < len(data); {
		n := bytes.IndexByte(data[at:], '\n')
		last := n < 0
		if last {
			n = len(data) - at
		}
		from := jsonscan.Space(data[:at+n], at)
		line := bytes.TrimRight(data[from:at+n], " \t\r")
		at += n + 1
		if len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			if err := r.damaged(from, line, last); err != nil {
				return err
			}
		} else if err := r.entry(from, len(line)); err != nil {
			return err
		}
	}
	return nil
}

// damaged says what is wrong with a line. That the last one was not written to its end is what a crash leaves, and nothing else is lost.
func (r *reading) damaged(from int, line []byte, last bool) *ReadError {
	at, why, cut := syntaxError(line)
	there := int64(from + at)
	switch other := gluedAt(line, at); {
	case cut && line[0] != '{':
		return r.refuse(int64(from), "an entry must be an object, is %s", excerpt(line))
	case cut && last:
		return r.warn(int64(from), fmt.Sprintf("the last line ends in the middle of an entry, of which %d bytes are there; it is left out", len(line)))
	case cut:
		return r.refuse(there, "the line ends in the middle of an entry; a journal has an entry a line, or is one array")
	case line[at] == 0:
		n := len(line[at:]) - len(bytes.TrimLeft(line[at:], "\x00"))
		return r.refuse(there, "NUL bytes stand here, %d of them; whoever wrote it was cut off", n)
	case other > 0:
		return r.refuse(int64(from+other), "another entry begins in the middle of the line; it was appended to one that had no end")
	}
	return r.refuse(there, "%s; it is no JSON", why)
}

// gluedAt is where in a line another entry seems to begin, 0 if none does. Where the first one was torn in a string, the error comes behind the
// first quote of the other.
func gluedAt(line []byte, at int) int {
	for _, begin := range []int{at, at - 2} {
		if begin > 0 && bytes.HasPrefix(line[begin:], []byte(`{"`)) {
			return begin
		}
	}
	return 0
}

// array reads the entries of an array, which was either written to its end or is worth nothing.
func (r *reading) array() *ReadError {
	data := r.journal.data
	if !json.Valid(data) {
		at, why, cut := syntaxError(data)
		if cut {
			why = "the array is not closed; it was cut"
		}
		return r.refuse(int64(at), "%s", why)
	}
	for at, e := range elements(data) {
		if err := r.entry(at, len(e)); err != nil {
			return err
		}
	}
	return nil
}

// entry takes the valid JSON at an offset.
func (r *reading) entry(at, length int) *ReadError {
	end := at + length
	e, there := Entry(r.journal.data[at:end:end]), int64(at)
	switch n := len(r.journal.Entries); {
	case e[0] != '{':
		return r.refuse(there, "an entry must be an object, is %s", excerpt(e))
	case n >= r.maxEntries:
		return r.refuse(there, "it has more than %d entries; MaxEntries sets another limit", r.maxEntries)
	}
	if bad := invalidUTF8(e); bad >= 0 {
		return r.refuse(there+int64(bad), "a byte that is no UTF-8: 0x%02X", e[bad])
	}
	r.scanned.read(e)
	if err := r.kind(len(r.journal.Entries)); err != nil {
		return r.refuse(there, "%v", err)
	}
	r.journal.Entries = append(r.journal.Entries, e)
	r.journal.starts = append(r.journal.starts, there)
	return nil
}

// kind takes note of the kind of an entry. A header is read at once, as of a journal in a newer form nothing else can be said.
func (r *reading) kind(number int) error {
	kind := r.scanned.str("kind")
	if kind == headerKind {
		_, err := parseHeader(&r.scanned, number)
		return err
	}
	r.finished = r.finished || kind == finishedKind
	if entryKinds[kind] != nil {
		r.known = true
	} else if name := fmt.Sprintf("%.40q", kind); !r.known && len(r.foreign) < 5 && !slices.Contains(r.foreign, name) {
		r.foreign = append(r.foreign, name)
	}
	return nil
}

// judge says what the whole is worth.
func (r *reading) judge() *ReadError {
	j := &r.journal
	switch {
	case r.known && r.finished:
		return nil
	case r.known:
		return r.warn(int64(len(j.data)), strconv.Quote(finishedKind)+" is missing; the recording was cut, or nobody waited for its end")
	case len(j.Warnings) > 0:
		w := j.Warnings[0]
		return r.refuse(w.Offset, "there is no whole entry; %s", w.Message)
	case r.foreign != nil:
		return r.refuse(j.starts[0], `no entry is of a kind that a journal has, such as "prompt" or "text"; the kinds here are %s ("" is none): `+
			"it is a recording of another form", strings.Join(r.foreign, ", "))
	}
	return r.refuse(0, "there is no entry")
}

// warn takes note of something, or makes an error of it.
func (r *reading) warn(offset int64, message string) *ReadError {
	if r.strict {
		return r.refuse(offset, "%s", message)
	}
	r.journal.Warnings = append(r.journal.Warnings, Warning{lineAt(r.journal.data, offset), offset, message})
	return nil
}

func (r *reading) refuse(offset int64, format string, args ...any) *ReadError {
	return &ReadError{Name: r.name, Line: lineAt(r.journal.data, offset), Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// invalidUTF8 is where a text is not UTF-8, or -1.
func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
}
