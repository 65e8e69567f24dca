package script_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/understudy-go/understudy/fakeagent/script"
)

var tenSteps = []byte(`{"steps":[{"think":"look around first"},{"say":"I start with the tests"},` +
	`{"bash":{"command":"npm test","output":"1 failed","exitCode":1}},{"tool":{"name":"Read","input":{"path":"src/a.ts"},"output":"export const a = 1;"}},` +
	`{"plan":[{"text":"fix it","status":"in_progress"},{"text":"test it"}]},{"think":"one is wrong"},{"bash":{"command":"sed -i s/1/2/ src/a.ts"}},` +
	`{"bash":{"command":"npm test","output":"ok"}},{"plan":[{"text":"fix it","status":"completed"},{"text":"test it","status":"completed"}]},{"say":"a is 2 now"}]}`)

func BenchmarkTemplates(b *testing.B) {
	plain, err := script.Parse(tenSteps)
	if err != nil {
		b.Fatal(err)
	}
	said := script.New(script.Say("you said: {{input}}"))
	template, err := said.Templates()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("of a script without any", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := plain.Templates(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("filled", func(b *testing.B) {
		b.ReportAllocs()
		step := template.Steps[0].(script.TemplateStep)
		for b.Loop() {
			if _, err := step.Fill(func(string) (script.Doc, error) { return script.Doc(`"hello"`), nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// hundred is a result of 10 KB that a call has left behind.
func hundred(b *testing.B) script.Doc {
	var items []string
	for i := range 100 {
		items = append(items, fmt.Sprintf(`{"workItemId": "wi-%03d", "title": "the %dth thing to do", "state": "open", "priority": %d, "tags": ["a", "b"]}`, i, i, i%5))
	}
	d, err := script.NewDoc([]byte(`{"items": [` + strings.Join(items, ", ") + `]}`))
	if err != nil {
		b.Fatal(err)
	}
	return d
}

func BenchmarkPlaceholder(b *testing.B) {
	kept := hundred(b)
	for _, part := range []struct{ name, path string }{
		{"path", ".items.0.workItemId"},
		{"selector that fits in the middle", ".items[workItemId=wi-050].workItemId"},
		{"selector that fits at the end", ".items[workItemId=wi-099].workItemId"},
		{"whole result", ""},
	} {
		b.Run(part.name, func(b *testing.B) {
			f, err := script.ParseFile([]byte(`[{"mcp": {"tool": "claim", "arguments": {"workItemId": "{{step:list` + part.path + `}}", "by": "{{thread}}"}}}]`))
			if err != nil {
				b.Fatal(err)
			}
			call := f.Turns[0].Steps[0].(script.TemplateStep)
			b.ReportAllocs()
			for b.Loop() {
				_, err := call.Fill(func(name string) (script.Doc, error) {
					if _, path, ok := script.StepReference(name); ok {
						if part, ok := kept.Lookup(path); ok {
							return part, nil
						}
						return "", fmt.Errorf("there is no %s", name)
					}
					return `"thread-1"`, nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(kept)), "bytes")
		})
	}
}

func BenchmarkParse(b *testing.B) {
	b.Run("script", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := script.Parse(tenSteps); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v struct{ Steps []map[string]json.RawMessage }
			if err := json.Unmarshal(tenSteps, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
