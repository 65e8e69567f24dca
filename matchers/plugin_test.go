package matchers_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/understudy-go/understudy/matchers"
)

var _ = Describe("A plugin row", func() {
	It("matches by its kind, its plugin, its version and its data", func() {
		Expect(card).To(BePluginRow("turn-summary"))
		Expect(card).To(BePluginRow(HavePrefix("turn-"), WithPlugin("summary"), WithVersion(2),
			WithData(map[string]any{"by": []string{"me"}, "files": 2})))
		Expect(card).NotTo(BePluginRow("turn-summary", WithVersion(1)))
		Expect(card).NotTo(BePluginRow("turn-summary", WithPlugin("other")))
	})

	It("has data that is the same JSON as a value, whatever the value is made of and in whatever order", func() {
		Expect(card).To(BePluginRow("turn-summary", WithData(struct {
			By    []string `json:"by"`
			Files int      `json:"files"`
		}{[]string{"me"}, 2})))
		Expect(card).To(BePluginRow("turn-summary", WithData(json.RawMessage(` {"by":["me"],"files":2}`))))
		Expect(card).NotTo(BePluginRow("turn-summary", WithData(map[string]int{"files": 2})), "all of it")
		Expect(card).NotTo(BePluginRow("turn-summary", WithData(`{"files": 2, "by": ["me"]}`)), "a string is a JSON string")
		big := card
		big.Data = []byte(`{"n":9007199254740993}`)
		Expect(big).NotTo(BePluginRow("turn-summary", WithData(map[string]int{"n": 9007199254740992})), "no number is rounded")
	})

	It("has data that a matcher gets as a value, or as text if it is a matcher for JSON text", func() {
		Expect(card).To(BePluginRow("turn-summary", WithData(HaveKeyWithValue("files", 2.0))))
		Expect(card).To(BePluginRow("turn-summary", WithData(MatchJSON(`{"by":["me"],"files":2}`))))
		Expect(card).NotTo(BePluginRow("turn-summary", WithData(HaveKey("lines"))))
		Expect(card).NotTo(BePluginRow("turn-summary", WithData(MatchJSON(`{}`))))
	})

	It("is told with what differs", func() {
		Expect(failure(card, BePluginRow("turn-summary", WithVersion(1)))).To(Equal(`version is 2, want 1

Expected
    plugin summary/s1 turn-summary v2 {"files": 2, "by": ["me"]}
to be a plugin row "turn-summary" with version 1`))
		Expect(failure(card, BePluginRow("turn-summary", WithData(map[string]int{"files": 3})))).To(HavePrefix(
			"data.files is 2, want 3\n    data.by is [\"me\"], want none\n\n"))
		Expect(failure(card, BePluginRow("turn-summary", WithData(HaveKey("lines"))))).To(HavePrefix(
			"data is {\"files\": 2, \"by\": [\"me\"]}, want HaveKey {Key:\"lines\"}:\n    Expected\n"))
		broken := card
		broken.Data = []byte("{")
		Expect(failure(broken, BePluginRow("turn-summary", WithData(1)))).To(HavePrefix("data is {, which is not JSON (unexpected EOF)\n\n"))
	})

	It("is an error for any item, with a wrong option", func() {
		for _, item := range mixed {
			Expect(refusal(item, BePluginRow("x", WithPlugin(1)))).To(Equal("WithPlugin: plugin is of type int, want a string or a matcher"))
			Expect(refusal(item, BePluginRow("x", WithData(func() {})))).To(Equal("WithData: func() has no JSON form: json: unsupported type: func()"))
			Expect(refusal(item, BePluginRow("x", WithData(BePluginRow(1))))).
				To(Equal("WithData: BePluginRow: kind is of type int, want a string or a matcher"))
		}
		empty := card
		empty.Data = []byte("{}")
		Expect(refusal(empty, BePluginRow("turn-summary", WithData(BeNumerically(">", 1))))).
			To(HavePrefix("Expected a number.  Got:\n    <map[string]interface {} | len:0>"))
	})
})
