package mockproc_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/mockproc"
)

// What parses is written and parses to the same; what does not says why and where.
func FuzzParseScenario(f *testing.F) {
	for _, r := range refusedScenarios {
		f.Add([]byte(r.text))
	}
	for _, pattern := range []string{"scenarios/*.json", "scenarios/seed/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	for seed := range uint64(20) {
		data, err := json.Marshal(generatedScenario(seed))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := mockproc.ParseScenario(data)
		if err != nil {
			var e *script.Error
			if !errors.As(err, &e) {
				t.Fatalf("the error is a %T: %v", err, err)
			}
			if e.Reason == "" || e.Offset < 0 || e.Offset > len(data) || e.Line < 1 || e.Column < 1 {
				t.Errorf("the error has no place in the text: %#v", e)
			}
			if !reflect.ValueOf(s).IsZero() {
				t.Errorf("there is a scenario beside the error: %+v", s)
			}
			return
		}
		again, err := s.MarshalJSON()
		if err != nil {
			t.Fatalf("a scenario that was parsed cannot be written: %v", err)
		}
		back, err := mockproc.ParseScenario(again)
		if err != nil {
			t.Fatalf("%s\nwas written, and is refused: %v", again, err)
		}
		// A regular expression is not equal to another one of the same text, so what is compared is their text.
		if twice, err := back.MarshalJSON(); err != nil || string(twice) != string(again) {
			t.Errorf("%s\nis another scenario than the one it was written for: %v\n%s", again, err, twice)
		}
	})
}
