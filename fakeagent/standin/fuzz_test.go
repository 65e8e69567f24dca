package standin_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-go/understudy/fakeagent/standin"
)

// FuzzProviders holds that the routes of the model providers survive any bodies, answer with JSON, and change nothing where they refuse; that each
// custom provider has one default model; and that no secret is told. A line of the input is a request: a letter for the route, and the body.
func FuzzProviders(f *testing.F) {
	for _, seed := range []string{
		`b{"provider":"stand-in-labs"}` + "\nc\nc\nd\ne" + `{"provider":"stand-in-labs"}`,
		`g{"identifier":"acme","display_name":"A","base_url":"http://a","api_key":"a-secret","headers":[{"name":"n","value":"a-secret"}],"models":[{"model":"m","display_name":"M","api":"openai-responses","input":["text"],"reasoning":true,"is_default":true,"position":9007199254740992},{"model":"n","display_name":"N","api":"openai-responses","input":["image"],"reasoning":false,"thinking_levels":["off"],"metadata":{"a":[1e400]}}]}` + "\n" +
			`h{"api_key":null,"identifier":"b"}` + "\nj" + `{"model":"o","display_name":"O","api":"openai-completions","input":["text","image"],"reasoning":true,"is_default":true}` + "\n" +
			`k{"is_default":true,"context_window":1.0,"position":-1,"model":"p"}` + "\nl\nK" + `{"is_default":true}` + "\nL\nl\ni\nI\nf",
		"g[]\nhnull\nj7\nk\"\"\nb{\"provider\":[]}\ne{\"provider\":{\"a\":null}}\ng{\"models\":[[],{\"model\":[]},null],\"headers\":[null,{}]}",
		"b{\"provider\":\"\xff\xed\xa0\x80\"}\nh{\"display_name\":\"\xff\"}\nh{\"display_name\":\"\\ud800\",\"metadata\":{}}\nk{\"metadata\":{\"\\ud800\":\"\xff\"}}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		s, err := standin.NewUnstarted()
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		routes := slices.DeleteFunc(s.Routes(), func(r standin.Route) bool { return !strings.Contains(r.Path, "model-provider") })
		ask := func(method, path, body string) (int, string) {
			r := httptest.NewRequest(method, platformURL+path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer a token")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		state := func() string {
			_, catalog := ask("GET", catalogPath, "")
			_, custom := ask("GET", customPath, "")
			checkProviders(t, catalog, custom)
			return catalog + custom
		}
		for _, line := range strings.SplitN(input, "\n", 50) {
			if line == "" {
				continue
			}
			// A small letter is about what was there from the beginning, or is new first; a capital one about the second.
			n := "1"
			letter := line[0]
			if 'A' <= letter && letter <= 'Z' {
				letter, n = letter+'a'-'A', "2"
			}
			route := routes[(int(letter)+len(routes)*16-'a')%len(routes)]
			path := strings.NewReplacer("{provider}", uid("3", n), "{model}", uid("4", n), "{attempt}", uid("5", n)).Replace(route.Path)
			before := state()
			status, answer := ask(route.Method, path, line[1:])
			after := state()
			switch status {
			case http.StatusOK, http.StatusCreated, http.StatusNoContent:
			case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict:
				if before != after {
					t.Errorf("%s %s was refused with %d, and changed\n%s\nto\n%s", route.Method, path, status, before, after)
				}
				checkRefusal(t, answer)
			default:
				t.Errorf("%s %s with %q is answered with %d: %s", route.Method, path, line[1:], status, answer)
			}
			if status != http.StatusNoContent && !json.Valid([]byte(answer)) {
				t.Errorf("%s %s with %q is answered with what is no JSON: %q", route.Method, path, line[1:], answer)
			}
			if route.Method == "PATCH" && status == http.StatusOK && before == after {
				t.Errorf("%s %s has left the digest as it was", route.Method, path)
			}
		}
	})
}

func uid(kind, n string) string { return "00000000-0000-4000-8000-" + kind + "0000000000" + n }

// checkRefusal holds that an answer is a detail, or lists of strings by the names of fields.
func checkRefusal(t *testing.T, answer string) {
	var body map[string]any
	if err := json.Unmarshal([]byte(answer), &body); err != nil || len(body) == 0 {
		t.Errorf("a refusal is %q", answer)
	}
	if _, ok := body["detail"].(string); ok {
		return
	}
	for field, whys := range body {
		list, ok := whys.([]any)
		if !ok || len(list) == 0 {
			t.Errorf("the field %s of a refusal is %v", field, whys)
		}
		for _, why := range list {
			if _, ok := why.(string); !ok {
				t.Errorf("the field %s of a refusal has %v", field, why)
			}
		}
	}
}

// checkProviders holds what is true of all catalogs.
func checkProviders(t *testing.T, catalog, custom string) {
	var listed struct {
		Providers []struct {
			Provider     string
			DefaultModel string `json:"default_model"`
			Models       []struct{ Model string }
		}
	}
	var kept []struct {
		Models []struct {
			Default bool `json:"is_default"`
		}
	}
	if err := json.Unmarshal([]byte(catalog), &listed); err != nil {
		t.Fatalf("the catalog is %q: %v", catalog, err)
	}
	if err := json.Unmarshal([]byte(custom), &kept); err != nil {
		t.Fatalf("the custom providers are %q: %v", custom, err)
	}
	names := map[string]bool{}
	for _, p := range listed.Providers {
		if names[p.Provider] {
			t.Errorf("two providers are %q", p.Provider)
		}
		names[p.Provider] = true
		models := map[string]bool{}
		for _, m := range p.Models {
			if models[m.Model] {
				t.Errorf("two models of %q are %q", p.Provider, m.Model)
			}
			models[m.Model] = true
		}
		if !models[p.DefaultModel] {
			t.Errorf("the default model of %q is %q, which it does not have", p.Provider, p.DefaultModel)
		}
	}
	for _, p := range kept {
		defaults := 0
		for _, m := range p.Models {
			if m.Default {
				defaults++
			}
		}
		if defaults != 1 {
			t.Errorf("%d models of a provider are its default: %s", defaults, custom)
		}
	}
	if strings.Contains(custom, `"api_key"`) || strings.Contains(custom, "stand-in-key") {
		t.Errorf("a secret is told: %s", custom)
	}
}
