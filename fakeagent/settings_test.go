package fakeagent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/usagefake"
)

// bySchema is what the schema of configurations says of one.
func bySchema(text string) error {
	GinkgoHelper()
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(string(fakeagent.ConfigSchema())))
	Expect(err).NotTo(HaveOccurred())
	c := jsonschema.NewCompiler()
	Expect(c.AddResource("config.json", schema)).To(Succeed())
	compiled, err := c.Compile("config.json")
	Expect(err).NotTo(HaveOccurred())
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	Expect(err).NotTo(HaveOccurred())
	return compiled.Validate(v)
}

var _ = Describe("A configuration in JSON", func() {
	It("has a key for each setting", func() {
		const text = `{"script":"lane","replyText":"r","streamChunks":1,"streamIntervalMs":2,"previewHoldMs":3,"holdMs":4,"replayEventsPath":"/e.json",
			"replayStepMs":5,"replayTaskHoldMs":6,"replayAllow":["item.*"],"playbookPath":"/p.json","leadingBlocks":["<a>"],"usageScript":"balance","builtInServer":"b","openBothApprovals":true,
			"cancelCalls":true,"allowShell":true,"instant":true,"seed":7,"speed":2.5}`
		var cfg fakeagent.Config
		Expect(json.Unmarshal([]byte(text), &cfg)).To(Succeed())
		Expect(cfg).To(Equal(fakeagent.Config{
			Script: "lane", ReplyText: "r", StreamChunks: number(1), StreamIntervalMs: number(2), PreviewHoldMs: number(3), HoldMs: number(4),
			ReplayEventsPath: "/e.json", ReplayStepMs: number(5), ReplayTaskHoldMs: number(6), ReplayAllow: []string{"item.*"},
			PlaybookPath: "/p.json", LeadingBlocks: []string{"<a>"},
			UsageScript: usagefake.ScriptBalance, BuiltInServer: "b", OpenBothApprovals: true, CancelCalls: true, AllowShell: true, Instant: true, Seed: 7, Speed: 2.5,
		}))
		Expect(bySchema(text)).To(Succeed())
		var schema struct{ Properties map[string]any }
		Expect(json.Unmarshal(fakeagent.ConfigSchema(), &schema)).To(Succeed())
		var given map[string]any
		Expect(json.Unmarshal([]byte(text), &given)).To(Succeed())
		for key := range schema.Properties {
			Expect(given).To(HaveKey(key))
		}
	})

	It("changes what it names, and leaves the rest", func() {
		cfg := fakeagent.Config{Script: "stream", ReplyText: "r", Now: time.Now}
		Expect(json.Unmarshal([]byte(` {"replyText":"s"} `), &cfg)).To(Succeed())
		Expect(cfg).To(And(HaveField("Script", "stream"), HaveField("ReplyText", "s"), HaveField("Now", Not(BeNil()))))
	})

	DescribeTable("is refused with what is wrong and what would be right, and changes nothing", func(text, why string) {
		cfg := fakeagent.Config{ReplyText: "r"}
		err := json.Unmarshal([]byte(text), &cfg)
		Expect(err).To(MatchError("fakeagent: config: " + why))
		Expect(cfg).To(Equal(fakeagent.Config{ReplyText: "r"}))
		if !strings.Contains(why, "twice") && !strings.Contains(why, "300 digits") {
			Expect(bySchema(text)).NotTo(Succeed())
		}
	},
		Entry("an unknown key", `{"replyText":"s","replyTxt":"x"}`, `unknown key "replyTxt", did you mean "replyText"?`),
		Entry("a key in other letters", `{"REPLYTEXT":"x"}`, `unknown key "REPLYTEXT", did you mean "replyText"?`),
		Entry("a key twice", `{"replyText":"s","replyText":"x"}`, `key "replyText" stands there twice`),
		Entry("no object", `["plain"]`, `must be an object, is ["plain"]`),
		Entry("a text that is a number", `{"script":3}`, `script must be a string, is 3`),
		Entry("a number that is a text", `{"streamChunks":"3"}`, `streamChunks must be a whole number, is "3"`),
		Entry("a number with a fraction", `{"holdMs":1.5}`, `holdMs must be a whole number, is 1.5`),
		Entry("null", `{"holdMs":null}`, `holdMs must be a whole number, is null`),
		Entry("a flag that is a text", `{"instant":"yes"}`, `instant must be true or false, is "yes"`),
		Entry("a negative seed", `{"seed":-1}`, `seed must be a whole number, 0 or more, is -1`),
		Entry("a speed of 0", `{"speed":0}`, `speed must be above 0, is 0; instant plays without waiting`),
		Entry("a negative speed", `{"speed":-2}`, `speed must be above 0, is -2; instant plays without waiting`),
		Entry("a list that is a text", `{"replayAllow":"item.*"}`, `replayAllow must be an array of strings, is "item.*"`),
	)

	It("is refused when the instance is made, where the numbers cannot be", func() {
		for text, why := range map[string]string{
			`{"streamChunks":0}`:      "streamChunks is 0; use 1 or more",
			`{"streamChunks":-1}`:     "streamChunks is -1; use 1 or more",
			`{"streamIntervalMs":-1}`: "streamIntervalMs is -1; use 0 or more",
			`{"previewHoldMs":-1}`:    "previewHoldMs is -1; use 0 or more",
			`{"holdMs":-1}`:           "holdMs is -1; use 0 or more",
			`{"usageScript":"none"}`:  "",
			`{"script":"sing"}`:       "",
		} {
			var cfg fakeagent.Config
			Expect(json.Unmarshal([]byte(text), &cfg)).To(Succeed())
			_, err := fakeagent.New(cfg)
			Expect(err).To(MatchError(HavePrefix("fakeagent: "+why)), text)
			if text != `{"script":"sing"}` {
				Expect(bySchema(text)).NotTo(Succeed(), text)
			}
		}
	})

	It("of replay has wrong numbers only for the turns that need them", func() {
		var cfg fakeagent.Config
		Expect(json.Unmarshal([]byte(`{"script":"replay","replayStepMs":-1,"replayEventsPath":"relative.json"}`), &cfg)).To(Succeed())
		_, err := fakeagent.New(cfg)
		Expect(err).NotTo(HaveOccurred())
	})

	It("names a file of scripts, which must be there and be one", func() {
		_, err := fakeagent.New(fakeagent.Config{Script: "nowhere/x.json"})
		Expect(err).To(MatchError("fakeagent: Script: open nowhere/x.json: no such file or directory; give the path of a file of scripts, or one of " +
			"plain, approval-tool, async-question, stream, replay, mcp-send, visualize, lane, steps"))
		path := filepath.Join(GinkgoT().TempDir(), "x.json")
		Expect(os.WriteFile(path, []byte("[\n  {\"slep\":1}]"), 0o600)).To(Succeed())
		_, err = fakeagent.New(fakeagent.Config{Script: path})
		Expect(err).To(MatchError("fakeagent: Script: " + path + ":2:4: step 1: unknown key \"slep\", did you mean \"sleep\"?"))
	})
})

// The settings that a user sees have labels, for which there are texts.
func ExampleConfigSchema() {
	var schema struct {
		Properties map[string]struct {
			Form *struct{ Label, Description string } `json:"x-ycodium-form"`
		}
	}
	if err := json.Unmarshal(fakeagent.ConfigSchema(), &schema); err != nil {
		panic(err)
	}
	texts, err := fakeagent.Texts("zh-CN")
	if err != nil {
		panic(err)
	}
	for key, setting := range schema.Properties {
		if setting.Form != nil {
			fmt.Println(key, texts[setting.Form.Label])
		}
	}
	// Output: replyText 回复
}
