package replay_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

func addJournals(f *testing.F) {
	example, err := os.ReadFile("testdata/greeting.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	text := string(example)
	for _, s := range []string{text, text[:2000], text[:len(text)-1], inArray(text), inArray(text)[:1500], strings.ReplaceAll(text, "\n", "\r\n"), "", "[]", "\ufeff", "{}",
		aPrompt + anEnd, aPrompt + "\n" + `{"kind":"text","text":"` + anEnd, aPrompt + "\n\x00\x00\n", aPrompt + "\n[1]", aPrompt + "\n\"\xff\"", aHeader + "\n" + aPrompt, `{"kind":"journal","schema":2}`,
		`{"k\u0069nd":"prompt","source":"agent","text":"\ud83d"}`} {
		f.Add(s)
	}
	for seed := range 20 {
		f.Add(strings.Join(rapid.Custom(drawJournal).Example(seed), "\n"))
	}
}

func FuzzRead(f *testing.F) {
	addJournals(f)
	f.Fuzz(func(t *testing.T, text string) {
		inside := func(line int, offset int64, message string) {
			if offset < 0 || offset > int64(len(text)) || line != 1+strings.Count(text[:offset], "\n") || message == "" || strings.ContainsAny(message, "\r\n") {
				t.Errorf("line %d, byte %d: %q", line, offset, message)
			}
		}
		j, err := replay.Read(strings.NewReader(text))
		_, strictly := replay.Read(strings.NewReader(text), replay.Strict())
		if err != nil {
			e := &replay.ReadError{}
			if !errors.As(err, &e) {
				t.Fatalf("the error is a %T: %v", err, err)
			}
			inside(e.Line, e.Offset, e.Reason)
			if strictly == nil {
				t.Errorf("who is strict has nothing against it: %v", err)
			}
			return
		}
		for _, w := range j.Warnings {
			inside(w.Line, w.Offset, w.Message)
		}
		if (len(j.Warnings) > 0) != (strictly != nil) {
			t.Errorf("the warnings are %v, and who is strict says %v", j.Warnings, strictly)
		}
		var written bytes.Buffer
		for i, e := range j.Entries {
			if _, at := j.Place(i); !strings.HasPrefix(text[at:], string(e)) {
				t.Errorf("entry %d does not stand at %d", i, at)
			}
			if json.Compact(&written, e) != nil {
				t.Errorf("entry %d is no JSON", i)
			}
			written.WriteByte('\n')
		}
		again, err := replay.Read(bytes.NewReader(written.Bytes()))
		if err != nil || len(again.Entries) != len(j.Entries) {
			t.Fatalf("what was written cannot be read: %v\n%s", err, written.String())
		}
		for i, e := range again.Entries {
			var compact bytes.Buffer
			if _ = json.Compact(&compact, j.Entries[i]); compact.String() != string(e) {
				t.Errorf("entry %d was %s, and is %s", i, j.Entries[i], e)
			}
		}
	})
}

func FuzzExtract(f *testing.F) {
	addJournals(f)
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		x, err := replay.Extract(entriesOf(lines))
		if err != nil {
			e := &replay.Error{}
			if !errors.As(err, &e) {
				t.Fatalf("the error is a %T: %v", err, err)
			}
			if e.Entry >= len(lines) || e.Entry < 0 && !strings.HasPrefix(e.Reason, "there is no turn") || strings.ContainsAny(e.Error(), "\r\n") {
				t.Errorf("entry %d of %d: %q", e.Entry, len(lines), e)
			}
			return
		}
		var again []string
		for _, l := range lines {
			var compact bytes.Buffer
			_ = json.Compact(&compact, []byte(l))
			again = append(again, compact.String())
		}
		y, err := replay.Extract(entriesOf(again))
		sameEvents := cmp.Comparer(func(a, b replay.Event) bool {
			return a.Kind() == b.Kind() && a.Text() == b.Text() && a.At().Equal(b.At()) && string(a.JSON()) == string(b.JSON()) && (a.Executor() == "") == (b.Executor() == "")
		})
		if diff := fmt.Sprint(err) + cmp.Diff(x, y, sameEvents); diff != "<nil>" {
			t.Errorf("written again it is another journal: %s", diff)
		}
		for _, turn := range x.Turns {
			for _, n := range []int64{turn.Usage.Input, turn.Usage.Cached, turn.Usage.Output} {
				if n < 0 {
					t.Errorf("the usage is %+v", turn.Usage)
				}
			}
			for _, e := range turn.Events {
				if !json.Valid(e.JSON()) {
					t.Errorf("an event is no JSON: %s", e.JSON())
				}
			}
		}
	})
}
