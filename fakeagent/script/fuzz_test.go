package script_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// checkRefusal fails if the error of a parser does not say where in the text it is.
func checkRefusal(t *testing.T, text string, err error) {
	t.Helper()
	var e *script.Error
	if !errors.As(err, &e) {
		t.Fatalf("the error is a %T: %v", err, err)
	}
	if e.Reason == "" || e.Offset < 0 || e.Offset > len(text) || e.Line < 1 || e.Column < 1 {
		t.Errorf("the error has no place in the text: %#v", e)
	}
}

// checkScript fails if a script that was parsed cannot be written and parsed again.
func checkScript(t *testing.T, s script.Script) {
	t.Helper()
	again, err := s.AppendJSON(nil)
	if err != nil {
		t.Fatalf("a script that was parsed cannot be written: %v", err)
	}
	if back, err := script.Parse(again); err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("%s\nis another script than the one it was written for: %v %v", again, back, err)
	}
	if err := bySchema(string(again)); err != nil {
		t.Errorf("the schema refuses what was written: %v\n%s", err, again)
	}
}

func FuzzParse(f *testing.F) {
	for _, form := range forms {
		f.Add("[" + form.json + "]")
	}
	for _, r := range refusals {
		f.Add(r.text())
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := script.Parse([]byte(text))
		if err != nil {
			checkRefusal(t, text, err)
			return
		}
		checkScript(t, s)
		if err := bySchema(text); err != nil {
			t.Errorf("the schema refuses what the parser accepts: %v", err)
		}
	})
}

func FuzzParseFile(f *testing.F) {
	for _, r := range refusedFiles {
		f.Add(r.text())
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := script.ParseFile([]byte(text))
		if err != nil {
			checkRefusal(t, text, err)
			return
		}
		for _, s := range file.Turns {
			checkScript(t, s)
		}
		for _, r := range file.Routes {
			checkScript(t, r.Script)
		}
		again, err := file.MarshalJSON()
		if err != nil {
			t.Fatalf("a file that was parsed cannot be written: %v", err)
		}
		if back, err := script.ParseFile(again); err != nil || !reflect.DeepEqual(back, file) {
			t.Errorf("%s\nis another file than the one it was written for: %v %v", again, back, err)
		}
		_, route, ok := file.Pick(script.Request{Prompt: text, Turn: 1, Attempt: 1}, nil)
		if ok != (route >= 0 || len(file.Turns) > 0) || route >= len(file.Routes) {
			t.Errorf("picked route %d (%v) of %d, with %d turns", route, ok, len(file.Routes), len(file.Turns))
		}
	})
}

func FuzzFromPrompt(f *testing.F) {
	f.Add("hello")
	f.Fuzz(func(t *testing.T, prompt string) {
		s, ok, err := script.FromPrompt(prompt)
		switch {
		case err != nil:
			var e *script.Error
			if !ok || !errors.As(err, &e) || e.Offset > len(prompt) {
				t.Errorf("an error without a script: %v, %#v", ok, err)
			}
		case ok:
			checkScript(t, s)
		case len(s.Steps) > 0:
			t.Errorf("a script without being one: %v", s)
		}
		if err == nil && ok {
			fenced, ok, err := script.FromPrompt("Please:\n~~~~~~~~fake-agent\n" + s.String() + "\n~~~~~~~~\n")
			if !ok || err != nil || !reflect.DeepEqual(fenced, s) {
				t.Errorf("in a block it is another: %v %v %v", fenced, ok, err)
			}
		}
	})
}
