package replay_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

// loud is a redaction that changes every text.
func loud(text string) string { return "<" + text + ">" }

func redactedEntry(entry string, redact func(string) string) string {
	GinkgoHelper()
	e, err := replay.RedactEntry(replay.Entry(entry), redact)
	Expect(err).NotTo(HaveOccurred())
	return string(e)
}

var _ = Describe("The redaction of values", func() {
	DescribeTable("makes",
		func(values []string, text, want string) {
			redact := replay.RedactValues(values...)
			Expect(redact(text)).To(Equal(want))
			Expect(redact(want)).To(Equal(want))
		},
		func(_ []string, text, want string) string { return want + " of " + text },
		Entry(nil, []string{"s3cr3t", "t0ken"}, "t0ken and s3cr3t, t0ken", "<redacted-2> and <redacted-1>, <redacted-2>"),
		Entry(nil, []string{"abc", "abcd", "bcde"}, "abcde abc", "<redacted-2>e <redacted-1>"),
		Entry(nil, []string{"", "a"}, "cab", "c<redacted-2>b"),
		Entry(nil, []string{"1", "red"}, "1 red <redacted-1>", "<redacted-1> <redacted-2> <redacted-1>"),
		Entry(nil, []string{`a"b\c`}, `a"b\c and {"x":"a\"b\\c"}`, `<redacted-1> and {"x":"<redacted-1>"}`),
		Entry(nil, []string{"p/w d&"}, "https://a:p%2Fw%20d&@b ?p=p%2Fw+d%26", "https://a:<redacted-1>@b ?p=<redacted-1>"),
		Entry(nil, []string{}, "a", "a"),
	)
})

var _ = Describe("A redacted entry", func() {
	It("has every value redacted, and else is what it was, to the letter", func() {
		Expect(redactedEntry(` { "kind" : "tool" , "seq":1.50,"input":{"b":"s3","a":["x s3",null,true,1e3,"\u0041"],"s3":{}},"name":"\u0073\u0033","z":"é<s3>"}`, replay.RedactValues("s3"))).To(Equal(
			` { "kind" : "tool" , "seq":1.50,"input":{"b":"<redacted-1>","a":["x <redacted-1>",null,true,1e3,"\u0041"],"s3":{}},"name":"<redacted-1>","z":"é<<redacted-1>>"}`))
	})

	DescribeTable("keeps what a journal needs:",
		func(entry, want string) { Expect(redactedEntry(entry, loud)).To(Equal(want)) },
		Entry("what kind it is, and whose", `{"kind":"tool","at":"1","source":"agent","scope":{"dispatchId":"d","x":["y"]},"label":"l","callId":"c","parentCallId":"p","subagentId":"s","name":"n"}`,
			`{"kind":"tool","at":"1","source":"agent","scope":{"dispatchId":"d","x":["y"]},"label":"<l>","callId":"c","parentCallId":"p","subagentId":"s","name":"<n>"}`),
		Entry("but not what only has the same name", `{"kind":"tool","input":{"kind":"a","callId":"b"},"scoped":"c","mode":"d","reason":"e","status":"f"}`,
			`{"kind":"tool","input":{"kind":"<a>","callId":"<b>"},"scoped":"<c>","mode":"<d>","reason":"<e>","status":"<f>"}`),
		Entry("the mode of a steer", `{"kind":"steer","mode":"resumed","text":"a"}`, `{"kind":"steer","mode":"resumed","text":"<a>"}`),
		Entry("why it was stopped", `{"kind":"stopped","reason":"steered"}`, `{"kind":"stopped","reason":"steered"}`),
		Entry("why another agent went on", `{"kind":"fallback","failure":"quota","message":"a","from":{"name":"b"}}`, `{"kind":"fallback","failure":"quota","message":"<a>","from":{"name":"<b>"}}`),
		Entry("how it ended", `{"kind":"dispatch-finished","status":"failed","error":{"code":"process","message":"a"},"branch":"b"}`,
			`{"kind":"dispatch-finished","status":"failed","error":{"code":"process","message":"<a>"},"branch":"<b>"}`),
		Entry("how an operation ended", `{"kind":"operation","status":"finished","name":"a"}`, `{"kind":"operation","status":"finished","name":"<a>"}`),
		Entry("how a decision ended", `{"kind":"decision","status":"failed","code":"guard","model":"a"}`, `{"kind":"decision","status":"failed","code":"guard","model":"<a>"}`),
		Entry("the channel of an output", `{"kind":"command-output","channel":"stderr","text":"a"}`, `{"kind":"command-output","channel":"stderr","text":"<a>"}`),
		Entry("the rules of a journal", `{"kind":"journal","normalisers":["uuid",{"pattern":"a"}],"cwd":"b"}`, `{"kind":"journal","normalisers":["uuid",{"pattern":"a"}],"cwd":"<b>"}`),
		Entry("the envelope of an event, and what must be one of a few words", `{"kind":"event","event":{"type":"item.started","threadId":"t","providerRefs":{"a":"b"},"payload":{"itemType":"x","title":"a","data":{"itemType":"b"}}}}`,
			`{"kind":"event","event":{"type":"item.started","threadId":"t","providerRefs":{"a":"<b>"},"payload":{"itemType":"x","title":"<a>","data":{"itemType":"<b>"}}}}`),
		Entry("a kind that is written with escapes", `{"kind":"s\u0074eer","mode":"resumed"}`, `{"kind":"s\u0074eer","mode":"resumed"}`),
		Entry("a kind that is none", `{"kind":["a"],"text":"a"}`, `{"kind":["a"],"text":"<a>"}`),
	)

	Context("of commits", func() {
		commit := replay.Commit{
			OID: someCommit, Tree: treeA, Author: replay.Identity{Name: "Ann", Email: "ann@a.test", Date: "1 +0000"}, Committer: replay.Identity{Name: "Host", Email: "host@a.test", Date: "1 +0000"},
			Message: "Be polite\n", Patch: binaryPatch("a.txt", "literal", "one two\n"), Raw: []byte("tree " + treeA + "\nauthor Ann <ann@a.test> 1 +0000\ngpgsig abc\n\nBe polite\n"),
		}
		entry := func(c replay.Commit) string {
			e, err := json.Marshal(struct {
				Kind     string          `json:"kind"`
				Baseline replay.Revision `json:"baseline"`
				Commits  []replay.Commit `json:"commits"`
				Label    string          `json:"label"`
			}{"workspace-commits", replay.Revision{Commit: someCommit, Tree: treeB}, []replay.Commit{commit, c}, "s3"})
			Expect(err).NotTo(HaveOccurred())
			return string(e)
		}

		It("is as it was if there is nothing to redact in them, for a patch must be exact", func() {
			Expect(redactedEntry(entry(commit), replay.RedactValues("s3"))).To(Equal(strings.Replace(entry(commit), `"s3"`, `"<redacted-1>"`, 1)))
			ids := regexp.MustCompile(`[0-9a-f]{40}`)
			Expect(redactedEntry(entry(commit), func(s string) string { return ids.ReplaceAllString(s, "x") })).To(Equal(entry(commit)), "ids are no secrets")
		})

		DescribeTable("has none, and says why, if there is something in",
			func(change func(*replay.Commit)) {
				c := commit
				change(&c)
				Expect(redactedEntry(entry(c), replay.RedactValues("s3"))).To(Equal(`{"kind":"workspace-commits","baseline":{"commit":"` + someCommit + `","tree":"` + treeB +
					`"},"unavailable":"a commit has something in it that is redacted","label":"<redacted-1>"}`))
			},
			Entry("the message", func(c *replay.Commit) { c.Message = "with s3" }),
			Entry("the name of the author", func(c *replay.Commit) { c.Author.Name = "s3" }),
			Entry("the address of the author", func(c *replay.Commit) { c.Author.Email = "s3@a.test" }),
			Entry("the name of the committer", func(c *replay.Commit) { c.Committer.Name = "s3" }),
			Entry("the address of the committer", func(c *replay.Commit) { c.Committer.Email = "s3@a.test" }),
			Entry("a header of the commit", func(c *replay.Commit) { c.Raw = []byte("tree x\nauthor Ann <> 1 +0000\nnote s3\n\n") }),
			Entry("a file", func(c *replay.Commit) { c.Patch = binaryPatch("a.txt", "literal", "KEY=s3\n") }),
			Entry("what a delta inserts", func(c *replay.Commit) { c.Patch = binaryPatch("a.txt", "delta", "\x09\x09\x04=s3\n") }),
			Entry("the name of a file", func(c *replay.Commit) { c.Patch = binaryPatch("s3.txt", "literal", "a") }),
			Entry("a line of a patch of text", func(c *replay.Commit) { c.Patch = "diff --git a/a b/a\n+s3\n" }),
		)

		It("says why there are none as before", func() {
			Expect(redactedEntry(`{"kind":"workspace-commits","unavailable":"the remote s3 is gone"}`, replay.RedactValues("s3"))).To(Equal(
				`{"kind":"workspace-commits","unavailable":"the remote <redacted-1> is gone"}`))
		})
	})

	DescribeTable("must be an object, which it is not if it is",
		func(entry string) {
			_, err := replay.RedactEntry(replay.Entry(entry), loud)
			Expect(err).To(MatchError(HavePrefix("an entry must be a JSON object, is ")))
		},
		func(entry string) string { return fmt.Sprintf("%q", entry) },
		Entry(nil, `[]`), Entry(nil, `{"a":`), Entry(nil, ``), Entry(nil, `5`),
	)
})

// TestRedactedMatches is that a prompt is still the recorded one after something in it was redacted, whatever the redaction does.
func TestRedactedMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prompt := drawPrompt(t)
		redact := rapid.SampledFrom([]func(string) string{
			replay.RedactValues(rapid.SliceOfN(rapid.StringN(0, 4, -1), 0, 4).Draw(t, "values")...), replay.RedactValues("1", "red", "<", someID, "e"), loud, strings.ToUpper,
			func(s string) string { return strings.ReplaceAll(s, "a", "aa") },
		}).Draw(t, "redact")
		if d := replay.RedactedDivergence(redact(prompt), prompt, redact); d != nil {
			t.Fatal(d)
		}
	})
}

// TestRedactEntry is that all of an entry is what it was, but for strings that are redacted.
func TestRedactEntry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := drawValue(t, 3)
		entry, err := json.Marshal(map[string]any{"kind": "raw", "value": value})
		if err != nil {
			t.Fatal(err)
		}
		same, err := replay.RedactEntry(entry, func(s string) string { return s })
		if err != nil || string(same) != string(entry) {
			t.Fatalf("%s has become %s: %v", entry, same, err)
		}
		changed, err := replay.RedactEntry(entry, loud)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(map[string]any{"kind": "raw", "value": loudly(value)})
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(changed, &a) != nil || json.Unmarshal(want, &b) != nil || !equalJSON(a, b) {
			t.Fatalf("%s has become %s, not %s", entry, changed, want)
		}
	})
}

func equalJSON(a, b any) bool {
	left, _ := json.Marshal(a)
	right, _ := json.Marshal(b)
	return string(left) == string(right)
}

// drawValue is any JSON.
func drawValue(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 3+min(depth, 1)*2).Draw(t, "kind"); kind {
	case 0:
		return rapid.SampledFrom([]any{nil, true, 1.5, -2e300, 0}).Draw(t, "plain")
	case 1, 2, 3:
		return rapid.SampledFrom([]string{"", "a", "\"", "\\", "é\u2028", "<&>", "\x00\n", "😀", `{"a":1}`}).Draw(t, "string")
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			object[rapid.StringN(0, 3, -1).Draw(t, "key")] = drawValue(t, depth-1)
		}
		return object
	}
}

// loudly is a value with all strings redacted by loud.
func loudly(value any) any {
	switch v := value.(type) {
	case string:
		return loud(v)
	case []any:
		list := []any{}
		for _, e := range v {
			list = append(list, loudly(e))
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for key, e := range v {
			object[key] = loudly(e)
		}
		return object
	}
	return value
}
