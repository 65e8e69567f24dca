package fakeagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// fromFile is an agent whose scripts are in a file.
func fromFile(text string, cfg fakeagent.Config) *agent {
	GinkgoHelper()
	cfg.Script = filepath.Join(GinkgoT().TempDir(), "script.json")
	Expect(os.WriteFile(cfg.Script, []byte(text), 0o600)).To(Succeed())
	return executor(cfg)
}

// answering is an MCP whose tools answer what the test says.
type answering map[string]fakeagent.MCPResult

func (a answering) Connect(context.Context, fakeagent.MCPConnect) (fakeagent.MCPClient, error) {
	return a, nil
}
func (answering) ListTools(context.Context) ([]string, error) { return nil, nil }
func (a answering) Close() error                              { return nil }

func (a answering) CallTool(_ context.Context, tool string, arguments json.RawMessage) (fakeagent.MCPResult, error) {
	if tool == "echo" {
		return fakeagent.MCPResult{JSON: json.RawMessage(`{"structuredContent":` + string(arguments) + `}`), Text: "echo"}, nil
	}
	r, ok := a[tool]
	if !ok {
		return r, errors.New("no such tool")
	}
	return r, nil
}

var _ = Describe("A placeholder in a script from a file", func() {
	It("stands for the input, the thread, the model, the attachments and the configuration", func(ctx SpecContext) {
		a := fromFile(`[{"say":"{{input}}|{{thread}}|{{model}}|{{attachments}}|{{config.replyText}}|{{config.holdMs}}|{{config.allowShell}}|{{other}}"}]`,
			fakeagent.Config{AllowShell: true})
		id, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: `a "b" {{thread}}`, Attachments: []fakeagent.Attachment{{Name: "x.png"}}})
		Expect(err).NotTo(HaveOccurred())
		Expect(a.wait(id)).To(HaveAssistantText(`a "b" {{thread}}|a|fake/fake|x.png|fake turn complete|15000|true|{{other}}`))
	})

	It("stands for the last decision, the last answers and the last error", bubble.InBubble, func() {
		a := fromFile(`[{"say":"{{decision}}|{{answers}}|{{error}}"},{"approval":{"title":"x"}},{"say":"{{error}}"},
			{"question":{"questions":[{"id":"color","header":"C","question":"?"}],"blocking":true}},
			{"mcp":{"server":"ycodium","tool":"none"}},{"say":"{{decision}}|{{answers}}|{{error}}"}]`, fakeagent.Config{MCP: answering{}}).answers(fakeagent.Decline)
		a.run("go")
		Expect(a.deltas()).To(Equal([]string{"|{}|", "declined by the user", `decline|{"color":"Blue"}|no such tool`}))
		By("which the next turn knows nothing of")
		a.run("go")
		Expect(a.deltas()[3]).To(Equal("|{}|"))
	})

	It("stands for what an mcp step with an id returned, in this turn and in later ones of the thread, and takes its type", bubble.InBubble, func(ctx SpecContext) {
		a := fromFile(`{"turns":[
			[{"mcp":{"server":"ycodium","tool":"list","id":"l"}},
			 {"mcp":{"server":"ycodium","tool":"text","id":"t"}},{"mcp":{"server":"ycodium","tool":"json","id":"j"}},
			 {"say":"{{step:l.items.0.id}} {{step:l.items[name=b.c].id}} {{step:t}} {{step:j.n}} {{step:*.n}} {{step:*items.0.id}} {{step:*items[name=b.c].id}} {{step:*}}"}],
			[{"mcp":{"server":"ycodium","tool":"echo","arguments":{"id":"{{step:l.items.1.id}}","all":"{{step:l}}","text":"id {{step:l.items.1.id}}"},"id":"e"}},
			 {"say":"{{step:e}}"}]]}`, fakeagent.Config{MCP: answering{
			"list": {JSON: json.RawMessage(`{"content":[{"type":"text","text":"no"}],"structuredContent":{"items":[{"id":7,"name":"a"},{"id":8,"name":"b.c"}]}}`)},
			"text": {JSON: json.RawMessage(`{"content":[{"type":"text","text":"plain"},{"type":"text","text":"more"}]}`), Text: "plain\nmore"},
			"json": {JSON: json.RawMessage(`{"content":[{"type":"text","text":"{\"n\":[1]}"}]}`), Text: `{"n":[1]}`},
		}})
		Expect(a.run("go")).To(HaveAssistantText(`7 8 plain [1] [1] 7 8 {"n":[1]}`))
		Expect(a.StopSession(ctx, "a")).To(Succeed())
		synctest.Wait() // until its servers are closed
		Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a", MCPServers: []fakeagent.MCPServer{{Name: "ycodium"}}})).To(Succeed())
		Expect(a.run("go")).To(HaveAssistantText(`{"id":8,"all":{"items":[{"id":7,"name":"a"},{"id":8,"name":"b.c"}]},"text":"id 8"}`))
	})

	It("that stands for nothing fails the turn, and says which", func() {
		a := fromFile(`[{"say":"x"},{"say":"{{step:l.items}}"},{"say":"never"}]`, fakeagent.Config{})
		Expect(a.run("go")).To(And(EndFailed("fake-agent: invalid script: step 2 (say): text: unresolved placeholder {{step:l.items}}"), HaveAssistantText("x")))
		a = fromFile(`[{"sleep":"{{config.holdms}}"}]`, fakeagent.Config{})
		Expect(a.run("go")).To(EndFailed(`fake-agent: invalid script: step 1 (sleep): ms: {{config.holdms}}: unknown key "holdms", did you mean "holdMs"?`))
	})

	It("makes a step that is held to the rules when it starts", func() {
		a := fromFile(`[{"event":{"type":"{{input}}"}}]`, fakeagent.Config{})
		Expect(a.run("hook.started")).To(EndCompleted())
		Expect(a.run("turn.started")).To(EndFailed(HavePrefix("fake-agent: invalid script: step 1 (event): event turn.started belongs to")))
		a = fromFile(`[{"say":{"text":"{{input}}","chunks":3}}]`, fakeagent.Config{})
		Expect(a.run("abc")).To(EndCompleted())
		Expect(a.run("ab")).To(EndFailed("fake-agent: invalid script: step 1 (say): chunks is 3, but the text has only 2 characters"))
	})

	It("is text in a script that came in a prompt, whoever chose it", func() {
		const prompt = `[{"say":"{{input}}"}]`
		Expect(scripted().run(prompt)).To(HaveAssistantText("{{input}}"))
		byFile := executor(fakeagent.Config{Choose: fakeagent.FromFile(func(fakeagent.Input) (script.File, error) {
			return script.ParseFile([]byte(`[{"say":"file: {{input}}"}]`))
		})})
		Expect(byFile.run(prompt)).To(HaveAssistantText("{{input}}"))
		Expect(byFile.run("hello")).To(HaveAssistantText("file: hello"))
	})

	It("is one in a script that a function chose", func() {
		steps := []script.Step{script.Say("{{input}} in {{thread}}"), script.Say("{{none}}")}
		a := executor(fakeagent.Config{Choose: func(fakeagent.Input) (script.Script, error) { return script.New(steps...), nil }})
		for _, prompt := range []string{"first", "second", `[{"say":"own"}]`} {
			a.run(prompt)
		}
		Expect(a.deltas()).To(Equal([]string{"first in a", "{{none}}", "second in a", "{{none}}", `[{"say":"own"}] in a`, "{{none}}"}))
		Expect(steps[0]).To(Equal(script.Say("{{input}} in {{thread}}")), "and the script is left as it was")
	})
})

var _ = Describe("An mcp step", func() {
	mcp := answering{"fine": {JSON: json.RawMessage(`{"content":[{"type":"text","text":"well"}]}`), Text: "well"},
		"bad": {JSON: json.RawMessage(`{"isError":true}`), Text: "I will not", IsError: true}}

	It("plays then when the call succeeded, and else when it failed", func() {
		a := fromFile(`[{"mcp":{"server":"ycodium","tool":"{{input}}","then":[{"say":"then {{error}}"}],"else":[{"say":"else {{error}}"}]}},{"say":"on"}]`,
			fakeagent.Config{MCP: mcp})
		a.run("fine")
		a.run("bad")
		a.run("missing")
		Expect(a.deltas()).To(Equal([]string{"then ", "on", "else I will not", "on", "else no such tool", "on"}))
		Expect(a.seen()).To(BeWellFormed())
	})

	It("for every server plays else if one of them failed", func() {
		a := fromFile(`[{"mcp":{"server":"*","tool":"fine","then":[{"say":"then"}],"else":[{"say":"else"}]}}]`, fakeagent.Config{MCP: mcp})
		Expect(a.run("go")).To(HaveAssistantText("then"))
		a = fromFile(`[{"mcp":{"server":"gone","tool":"fine","then":[{"say":"then"}],"else":[{"say":"else: {{error}}"}]}}]`, fakeagent.Config{MCP: mcp})
		Expect(a.run("go")).To(HaveAssistantText(`else: no MCP server "gone" in the session config (have: ycodium)`))
	})

	It("keeps no result that is an error", func() {
		a := fromFile(`[{"mcp":{"server":"ycodium","tool":"bad","id":"x"}},{"say":"{{step:x}}"}]`, fakeagent.Config{MCP: mcp})
		Expect(a.run("go")).To(EndFailed(ContainSubstring("unresolved placeholder {{step:x}}")))
	})

	It("may have a row of its own, whose output is the text that came back", func() {
		a := fromFile(`[{"mcp":{"server":"ycodium","tool":"fine","arguments":{"a":1},"row":{"name":"Draw","itemType":"image_view"}}}]`, fakeagent.Config{MCP: mcp})
		Expect(a.run("go")).To(HaveItems(BeToolCall("Draw", WithInput(map[string]int{"a": 1}), WithOutput("well"))))
		Expect(a.seen()).To(EmitEvents(HaveField("Payload", HaveField("ItemType", event.ItemType("image_view")))))
	})
})
