package script_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/understudy-go/understudy/fakeagent/script"
)

// offline has nothing but what the compiler brings along, which are the drafts.
type offline struct{}

func (offline) Load(url string) (any, error) {
	return nil, &jsonschema.UnsupportedURLSchemeError{}
}

var compiled = sync.OnceValue(func() *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(script.Schema()))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(offline{})
	if err := c.AddResource("script.json", doc); err != nil {
		panic(err)
	}
	return c.MustCompile("script.json")
})

// bySchema is what the schema has against a text.
func bySchema(text string) error {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return compiled().Validate(v)
}

var _ = Describe("The JSON Schema of the language", func() {
	It("is itself valid, by the draft that it names", func() {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(script.Schema()))
		Expect(err).NotTo(HaveOccurred())
		Expect(doc).To(HaveKeyWithValue("$schema", "https://json-schema.org/draft/2020-12/schema"))
		c := jsonschema.NewCompiler()
		c.UseLoader(offline{})
		meta, err := c.Compile("https://json-schema.org/draft/2020-12/schema")
		Expect(err).NotTo(HaveOccurred())
		Expect(meta.Validate(doc)).To(Succeed())
	})

	It("has every kind of step, and no other, with a description of each and of all its keys", func() {
		var root struct {
			OneOf []any
			Defs  struct {
				Step struct {
					OneOf []struct {
						Description string
						Properties  map[string]any
					}
				}
			} `json:"$defs"`
		}
		Expect(json.Unmarshal(script.Schema(), &root)).To(Succeed())
		described := map[string]bool{}
		for _, s := range root.Defs.Step.OneOf {
			Expect(s.Description).NotTo(BeEmpty())
			Expect(s.Properties).To(HaveLen(1))
			for key, shape := range s.Properties {
				described[key] = true
				Expect(undescribed(shape)).To(BeEmpty(), key)
			}
		}
		known := map[string]bool{}
		for _, f := range forms {
			known[f.step.Key()] = true
		}
		Expect(described).To(Equal(known))
		Expect(undescribed(root.OneOf)).To(BeEmpty())
	})

	It("is indented, ends with a line end, and is the same each time", func() {
		Expect(string(script.Schema())).To(And(HavePrefix("{\n  \"$defs\": {\n"), HaveSuffix("\n}\n")))
		Expect(script.Schema()).To(Equal(script.Schema()))
	})

	var valid, invalid, beyond []TableEntry
	for _, f := range forms {
		valid = append(valid, Entry(f.does, f))
	}
	for _, r := range refusals {
		if r.schemaAccepts {
			beyond = append(beyond, Entry(r.because, r))
		} else {
			invalid = append(invalid, Entry(r.because, r))
		}
	}
	DescribeTable("accepts, as the parser does, a script that", func(f form) {
		for _, text := range append([]string{f.json}, f.also...) {
			Expect(bySchema("["+text+"]")).To(Succeed(), text)
			Expect(bySchema(`{"stepDelayMs":1,"steps":[`+text+`]}`)).To(Succeed(), text)
		}
	}, valid)
	DescribeTable("refuses, as the parser does, a script because", func(r refused) {
		Expect(bySchema(r.text())).NotTo(Succeed())
	}, invalid)
	DescribeTable("accepts, as JSON Schema has no words for it, a script that the parser refuses because", func(r refused) {
		Expect(bySchema(r.text())).To(Succeed())
	}, beyond)

	DescribeTable("accepts, as the parser of files does, a placeholder in place of",
		func(step string) {
			Expect(bySchema("[" + step + "]")).To(Succeed())
			template(step)
		},
		Entry("a number", `{"bash":{"command":"x","exitCode":"{{config.code}}"}}`),
		Entry("a number that stands alone", `{"exit":"{{step:a[b=c].d}}"}`),
		Entry("a time", `{"tool":{"name":"x","holdMs":"{{config.holdMs}}"}}`),
		Entry("a time that stands alone", `{"sleep":"{{input}}"}`),
		Entry("a flag", `{"hold":{"name":"x","open":"{{config.a\nb}}"}}`),
		Entry("an object", `{"mcp":{"server":"s","tool":"t","arguments":"{{input}}"}}`),
		Entry("a tool call detail", `{"approval":{"title":"x","tool":{"name":"y","detail":"{{step:a}}"}}}`),
		Entry("a word", `{"plan":[{"text":"x","status":"{{config.status}}"}]}`),
		Entry("a part of a word", `{"exit":{"signal":"SIG{{config.signal}}"}}`),
		Entry("one of several words", `{"approval":{"title":"x","options":["accept","{{config.more}}"]}}`),
		Entry("how much a result must have, and where", `{"waitFor":{"tool":"t","path":"{{config.path}}","atLeast":"{{step:a.n}}"}}`),
		Entry("the arguments of a wait", `{"waitFor":{"tool":"t","path":"","atLeast":1,"arguments":"{{step:a}}"}}`),
		Entry("how long something is waited for", `{"wait":{"tool":"t","timeoutMs":"{{config.timeoutMs}}"}}`),
		Entry("how long a steer is waited for, and what then", `{"awaitSteer":{"timeoutMs":"{{config.timeoutMs}}","continueOnTimeout":"{{config.on}}"}}`),
		Entry("whether a call is reported", `{"mcp":{"tool":"t","report":"{{config.report}}"}}`),
		Entry("all that a text has", `{"hold":"{{steers}}"}`),
	)
	DescribeTable("refuses, as the parser of files does, a placeholder",
		func(text, reason string) {
			Expect(bySchema(text)).NotTo(Succeed())
			_, err := script.ParseFile([]byte(text))
			Expect(err).To(MatchError(ContainSubstring(reason)))
		},
		Entry("that is none, for a number", `[{"sleep":"{{inputs}}"}]`, "whole number"),
		Entry("in a text, for a number", `[{"sleep":"{{input}}0"}]`, "whole number"),
		Entry("that is none, for a flag", `[{"hold":{"name":"x","open":"{{config.}}"}}]`, "true or false"),
		Entry("that is none, for a word", `[{"plan":[{"text":"x","status":"{{x}}"}]}]`, "must be pending"),
		Entry("that is none, for one of several words", `[{"approval":{"title":"x","options":["{{x}}"]}}]`, "must hold accept"),
		Entry("for an array", `[{"plan":"{{input}}"}]`, "must be an array"),
		Entry("for a tool", `[{"approval":{"title":"x","tool":"{{input}}"}}]`, "must be an object with name"),
		Entry("for the true of a wait for a steer", `[{"awaitSteer":"{{config.on}}"}]`, "must be true, or an object"),
		Entry("in a text, for a timeout", `[{"wait":{"tool":"t","timeoutMs":"{{input}}0"}}]`, "1 or more"),
		Entry("for a step", `["{{input}}"]`, "must be an object with one key"),
		Entry("for a delay", `{"steps":[],"stepDelayMs":"{{config.delay}}"}`, "stepDelayMs must be a whole number"),
	)

	It("accepts what is written for any script", func() {
		for seed := range uint64(200) {
			s := generated(seed).String()
			Expect(bySchema(s)).To(Succeed(), "seed %d: %s", seed, s)
		}
	})
})

// undescribed are the keys of a schema that have no description.
func undescribed(v any) (keys []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			keys = append(keys, undescribed(e)...)
		}
	case map[string]any:
		props, _ := v["properties"].(map[string]any)
		for key, p := range props {
			if p.(map[string]any)["description"] == nil {
				keys = append(keys, key)
			}
		}
		for _, e := range v {
			keys = append(keys, undescribed(e)...)
		}
	}
	return keys
}
