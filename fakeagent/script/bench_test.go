package script_test

import (
	"encoding/json"
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
			if _, err := step.Fill(func(string) (json.RawMessage, error) { return json.RawMessage(`"hello"`), nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
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
