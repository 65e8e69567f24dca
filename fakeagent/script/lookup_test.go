package script_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
)

const result = ` {
	"id": "r1", "0": "zero", "": {"": "nothing"}, "a.b": 1, "last": 1, "last": [2],
	"list": [10, [20, 21], {"x": null}],
	"items": [
		{"title": "one", "n": 1, "open": true},
		"two",
		{"title": "v1.2 [beta", "n": 2.50, "open": false, "parts": [{"k": "a", "v": "first"}, {"k": "b", "v": "second"}, {"k": "b", "v": "third"}]},
		{"title": "", "n": null, "at": {"x": {"y" : 1}}},
		{"title": "a=b"},
		["p", "q"],
		{"t\u0069tle": "\u00fc", "n": 7},
		{"title": "twin", "title": "sister", "n": 8}
	],
	"caf\u00e9": "\u00fc"
} `

// lookup finds a part of JSON, which may be none.
func lookup(data, path string) (script.Doc, bool) {
	d, err := script.NewDoc([]byte(data))
	if err != nil {
		return "", false
	}
	return d.Lookup(path)
}

var _ = Describe("A part of JSON", func() {
	DescribeTable("is found by",
		func(path, want string) {
			got, ok := lookup(result, path)
			Expect(ok).To(BeTrue())
			Expect(string(got)).To(Equal(want))
		},
		Entry("the name of a member", "id", `"r1"`),
		Entry("a name that is a number", "0", `"zero"`),
		Entry("a name that JSON has escaped", "café", `"\u00fc"`),
		Entry("a name that is there twice, the first time", "last", `1`),
		Entry("names that are empty, with a dot between", ".", `"nothing"`),
		Entry("the number of an element, from 0", "list.0", `10`),
		Entry("numbers of elements of elements", "list.1.1", `21`),
		Entry("a name behind a number, also where the value is null", "list.2.x", `null`),
		Entry("a number behind a selector", "items[title=one].n", `1`),
		Entry("a selector at the end", "items[title=a=b]", `{"title":"a=b"}`),
		Entry("a selector with a dot and a bracket in its value", "items[title=v1.2 [beta].n", `2.50`),
		Entry("a selector whose value is nothing", "items[title=].at.x.y", `1`),
		Entry("a selector whose value is a number, as it is written", "items[n=2.50].open", `false`),
		Entry("a selector whose value is a flag", "items[open=true].title", `"one"`),
		Entry("a selector whose value is null", "items[n=null].title", `""`),
		Entry("a selector whose value is an object, as JSON without white space", `items[at={"x":{"y":1}}].title`, `""`),
		Entry("a selector that several fit, the first one", "items[title=v1.2 [beta].parts[k=b].v", `"second"`),
		Entry("a selector whose member is a number of an element", "items[0=p].1", `"q"`),
		Entry("a selector whose name and value JSON has escaped", "items[title=ü].n", `7`),
		Entry("a selector of a name that is there twice, the first time", "items[title=twin].n", `8`),
	)

	find := func(data, path string) string {
		GinkgoHelper()
		got, ok := lookup(data, path)
		Expect(ok).To(BeTrue())
		return string(got)
	}

	It("is the whole, without white space, for the empty path", func() {
		Expect(find(" [ 1, {\"a\" : 2} ]\n", "")).To(Equal(`[1,{"a":2}]`))
		Expect(find(`"x"`, "")).To(Equal(`"x"`))
	})

	It("is selected from the whole by a path that begins with a selector, and from an array in an array", func() {
		Expect(find(`[{"a":1,"b":"x"},{"a":2,"b":"y"}]`, "[a=2].b")).To(Equal(`"y"`))
		Expect(find(`[[{"a":1}],[{"a":2,"c":3}]]`, "1[a=2].c")).To(Equal(`3`))
		Expect(find(`[[5,{"a":1}],[6,{"a":2}]]`, "[0=6].1.a")).To(Equal(`2`))
		Expect(find(`[[{"k":"x"},"x"],[{"k":"z"},"y"]]`, "[1=y][k=z].k")).To(Equal(`"z"`))
	})

	It("is selected from behind elements of any kind, whatever brackets, quotes and backslashes they have", func() {
		const objects = `[{"k":"a","s":"}"},{"k":"b","s":"\"}"},{"k":"c","o":{"p":{}}},{"k":"d","l":["}",{"k":"z"}]},{"s":"{","k":"e","t":"\\"},"k",["k","z"],{},{"k":"z","v":5}]`
		Expect(find(objects, "[k=z].v")).To(Equal("5"))
		Expect(find(objects, "[k=e].t")).To(Equal(`"\\"`))
		const arrays = `[["a","]"],["b",["]",[]]],["c",{"0":"d"}],["[","\"]"],[],{"0":"e"},["d",4]]`
		Expect(find(arrays, "[0=d].1")).To(Equal("4"))
		Expect(find(arrays, "[0=e].0")).To(Equal(`"e"`))
	})

	It("is selected by any member of any element", func() {
		for seed := range uint64(100) {
			g := generator{rand.New(rand.NewPCG(seed, 2))}
			var elements []map[string]any
			for i := range 8 {
				elements = append(elements, map[string]any{"a": g.text() + "[{}]", "b": []any{g.text(), map[string]any{"k": g.text()}}, "k": fmt.Sprint(g.text(), i), "z": g.json()})
			}
			text, err := json.Marshal(elements)
			Expect(err).NotTo(HaveOccurred())
			for i, e := range elements {
				var got string
				Expect(json.Unmarshal([]byte(find(string(text), fmt.Sprintf("[k=%s].k", e["k"]))), &got)).To(Succeed())
				Expect(got).To(Equal(e["k"]), "%d of seed %d: %s", i, seed, text)
			}
		}
	})

	DescribeTable("is not found by",
		func(path string) {
			got, ok := lookup(result, path)
			Expect(ok).To(BeFalse())
			Expect(got).To(BeEmpty())
		},
		Entry("a name that is not there", "nope"),
		Entry("a name in other letters", "ID"),
		Entry("a name with a dot in it", "a.b"),
		Entry("a name in a text", "id.x"),
		Entry("a number in a text", "id.0"),
		Entry("a name in an array", "list.x"),
		Entry("a number past the end", "list.3"),
		Entry("a number before the beginning", "list.-1"),
		Entry("a number in another notation", "list.00"),
		Entry("a number that is none before the dot", "list.+1"),
		Entry("a number that no array could have", "list.99999999999999999999"),
		Entry("a path that begins with a dot", ".id"),
		Entry("a path that ends with a dot", "id."),
		Entry("a selector that nothing fits", "items[title=none]"),
		Entry("a selector in other letters", "items[title=One]"),
		Entry("a selector of a name that is there twice, the second time", "items[title=sister]"),
		Entry("a selector of a text, in quotes", `items[title="one"]`),
		Entry("a selector of a number that is longer", "items[n=70]"),
		Entry("a selector whose number is written in another way", "items[n=2.5]"),
		Entry("a selector of an object", "[id=r1]"),
		Entry("a selector of a text", "id[a=b]"),
		Entry("a selector that is not closed", "items[title=one"),
		Entry("a selector without a value", "items[title]"),
		Entry("a selector that is empty", "items[]"),
		Entry("a name behind a selector without a dot", "items[title=one]n"),
	)

	It("is not found in what is no JSON", func() {
		for _, text := range []string{"", " ", "x", `{"a":1`, `{"a":1} {}`, "\ufeff{}"} {
			_, ok := lookup(text, "")
			Expect(ok).To(BeFalse(), text)
		}
		_, ok := script.Doc("").Lookup("a")
		Expect(ok).To(BeFalse())
	})

	It("is found in JSON of any length", func() {
		long := `{"a":"` + strings.Repeat("x", script.MaxSize) + `","b":[5]}`
		Expect(find(long, "b.0")).To(Equal("5"))
	})

	It("is found without a look at what comes behind it", func() {
		for _, path := range []string{"a.1", "b[k=v].w", "b.1"} {
			_, ok := script.Doc(`{"a":[1,2],"b":[{"k":"v","w":3},4 and no more JSON`).Lookup(path)
			Expect(ok).To(BeTrue(), path)
		}
	})

	It("is looked for in what is no JSON without a panic, and comes to an end", func() {
		texts := []string{""}
		for range 5 {
			for _, text := range texts {
				for _, more := range []string{"{", "}", "[", "]", `"`, `"a"`, ":", ",", "1", `\`, "\x01"} {
					texts = append(texts, text+more)
				}
			}
			texts = texts[len(texts)-min(len(texts), 11*11*11*11*11):]
			for _, text := range texts {
				for _, path := range []string{"", "a", "1", "a.0", "[a=1]", "0[1=1]", "a[a=1].b", "999999999"} {
					_, _ = script.Doc(text).Lookup(path)
				}
			}
		}
	})
})

var _ = Describe("JSON that is looked at often", func() {
	It("has no white space, and is UTF-8", func() {
		Expect(script.NewDoc([]byte(" { \"a\" : [ 1,\n2 ], \"b\": \"x\xffy\" }\n"))).To(Equal(script.Doc(`{"a":[1,2],"b":"x�y"}`)))
		Expect(script.NewDoc([]byte("null"))).To(Equal(script.Doc("null")))
	})

	It("does not share memory with the text that it was made of", func() {
		text := []byte(`{"a":1}`)
		d, err := script.NewDoc(text)
		Expect(err).NotTo(HaveOccurred())
		text[5] = '2'
		Expect(d).To(Equal(script.Doc(`{"a":1}`)))
	})

	DescribeTable("is nothing else, and the error says why not:",
		func(text, reason string) {
			d, err := script.NewDoc([]byte(text))
			Expect(err).To(MatchError(reason))
			Expect(d).To(BeEmpty())
		},
		Entry("nothing", "", "unexpected end of JSON input"),
		Entry("a text without quotes", "hello", "invalid character 'h' looking for beginning of value"),
		Entry("two values", "1 2", "invalid character '2' after top-level value"),
	)
})
