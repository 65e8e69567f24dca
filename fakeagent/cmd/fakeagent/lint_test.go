package main

import (
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("lint", func() {
	var dir string

	BeforeEach(func() { dir = GinkgoT().TempDir() })

	DescribeTable("says where a file is wrong, and why",
		func(content, want string) {
			file := write(filepath.Join(dir, "script.json"), content)
			Expect(invoke("lint", file)).To(Equal(outcome{Code: 1, Out: file + want + "\n"}))
		},
		Entry("an unknown step", "[\n  {\"say\": \"hi\"},\n  {\"wirte\": {}}\n]", `:3:4: step 2: unknown key "wirte", did you mean "write"?`),
		Entry("an unknown key in a step", `[{"write":{"pth":"a","content":""}}]`, `:1:12: step 1 (write): unknown key "pth", did you mean "path"?`),
		Entry("a turn of several", "{\"turns\":[[],\n[{\"say\":7}]]}", `:2:9: turn 2: step 1 (say): must be a string, or an object, is 7`),
		Entry("a scenario", "{\"name\":\"x\",\n \"afterTurn\":\"exti\",\"turns\":[[]]}", `:2:14: afterTurn has "exti", did you mean "exit"? There are stay, exit`),
		Entry("a scenario without a name", `{"afterTurn":"exit","turns":[[]]}`, `:1:1: name is missing`),
		Entry("a scenario's script", `{"name":"x","turns":[[{"sya":1}]]}`, `:1:24: turn 1: step 1: unknown key "sya", did you mean "say"?`),
		Entry("a configuration", `{"script":"stream","streamChunk":3}`, `:1:1: unknown key "streamChunk", did you mean "streamChunks"?`),
		Entry("a number in a configuration", `{"streamChunks":0}`, `:1:1: streamChunks is 0; use 1 or more`),
		Entry("a configuration whose playbook is not there", `{"script":"mcp-send","playbookPath":"p.json"}`, `:1:1: playbookPath: the path "p.json" is relative; give an absolute one`),
		Entry("a configuration whose playbook nobody plays", `{"playbookPath":"/p.json"}`, `:1:1: playbookPath has no effect: it is for the script mcp-send`),
		Entry("a playbook", "{\"version\":1,\n \"threads\":[{\"match\":{\"threadId\":\"(?=a)\"},\"turns\":[]}]}", ":2:34: threads[0].match.threadId does not compile: invalid or unsupported Perl syntax: `(?=`; the syntax is that of Go (RE2), which has no look-ahead"),
		Entry("a playbook without a version", `{"threads":[]}`, `:1:1: version is missing`),
		Entry("a playbook without threads", `{"version":2}`, `:1:12: version must be 1, is 2`),
		Entry("a playbook with the key of a scenario", `{"threads":[],"version":1,"name":"x"}`, `:1:27: name: unknown key "name", did you mean "threads"?`),
		Entry("a playbook with the key of a configuration", `{"threads":[],"version":1,"script":"x"}`, `:1:27: script: unknown key "script", did you mean "version"?`),
		Entry("a scenario with a version", `{"version":1,"name":"x"}`, `:1:2: unknown key "version", did you mean "steps"?`),
		Entry("a configuration with a version", `{"version":1,"script":"plain"}`, `:1:1: unknown key "version", did you mean "script"?`),
		Entry("turns with threads", `{"threads":[],"turns":[[]]}`, `:1:2: unknown key "threads", did you mean "turns"?`),
		Entry("no JSON", "[\n  {\"say\": }\n]", `:2:11: invalid character '}' looking for beginning of value`),
		Entry("nothing", "", `:1:1: unexpected end of JSON input`),
	)

	It("is silent about files that are right", func() {
		Expect(invoke("lint",
			write(filepath.Join(dir, "script.json"), `{"steps":[{"say":"hi"}],"stepDelayMs":5}`),
			write(filepath.Join(dir, "bare.json"), `[]`),
			write(filepath.Join(dir, "turns.json"), `{"turns":[[{"say":"hi"}]]}`),
			write(filepath.Join(dir, "routes.json"), `{"routes":[{"when":{"prompt":"test"},"steps":[]}]}`),
			write(filepath.Join(dir, "scenario.json"), `{"name":"mine","profile":"seed","turns":[[{"stderr":"hm\n"}]]}`),
			write(filepath.Join(dir, "config.json"), `{"script":"lane","holdMs":5}`),
			write(filepath.Join(dir, "playbook.json"), `{"version":1,"threads":[{"match":{"title":"Lead"},"turns":[[{"tool":"post"}]]}]}`),
		)).To(Equal(outcome{}))
	})

	It("says all that is wrong with a playbook, a line each", func() {
		file := write(filepath.Join(dir, "playbook.json"), `{"version":1,"threads":[{"match":{"threadId":"$a"},"turns":[
			[{"tool":"post","arguments":{"text":"{{inptu}} {{step:x}}"}}]
		]}]}`)
		Expect(invoke("lint", file)).To(Equal(outcome{Code: 1, Out: strings.ReplaceAll(
			`FILE:1:46: threads[0].match.threadId: no thread gets this line: it matches no id; ^ and \A stand for the beginning of an id, $ and \z for its end
FILE:2:40: threads[0].turns[0][0].arguments.text: has {{step:x}}, but no step has the id "x"
FILE:2:40: threads[0].turns[0][0].arguments.text: has {{inptu}}, which is text and no placeholder, did you mean {{input}}?
`, "FILE", file)}))
	})

	It("looks at every file, in order", func() {
		good := write(filepath.Join(dir, "good.json"), `[]`)
		bad := write(filepath.Join(dir, "bad.json"), `[{}]`)
		worse := write(filepath.Join(dir, "worse.json"), `{`)
		got := invoke("lint", worse, good, bad)
		Expect(got.Code).To(Equal(1))
		Expect(got.lines()).To(HaveExactElements(HavePrefix(worse+":1:"), HavePrefix(bad+":1:")))
	})

	It("begins only if it can read all files", func() {
		bad := write(filepath.Join(dir, "bad.json"), `[{}]`)
		missing := filepath.Join(dir, "missing.json")
		got := invoke("lint", bad, missing)
		Expect(got.Code).To(Equal(2))
		Expect(got.Out).To(BeEmpty())
		Expect(got.Err).To(And(HavePrefix("fakeagent: lint: open "+missing+": "), HaveSuffix("; give a script, a file of turns or routes, a scenario, a playbook, a journal, or a configuration\n")))
	})
})
