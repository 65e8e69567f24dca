package script_test

import (
	"encoding/json"
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
		["p", "q"]
	],
	"caf\u00e9": "\u00fc"
} `

var _ = Describe("A part of JSON", func() {
	DescribeTable("is found by",
		func(path, want string) {
			got, ok := script.Lookup(json.RawMessage(result), path)
			Expect(ok).To(BeTrue())
			Expect(string(got)).To(Equal(want))
		},
		Entry("the name of a member", "id", `"r1"`),
		Entry("a name that is a number", "0", `"zero"`),
		Entry("a name that JSON has escaped", "café", `"\u00fc"`),
		Entry("a name that is there twice, the last time", "last", `[2]`),
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
	)

	find := func(data, path string) string {
		GinkgoHelper()
		got, ok := script.Lookup(json.RawMessage(data), path)
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

	DescribeTable("is not found by",
		func(path string) {
			got, ok := script.Lookup(json.RawMessage(result), path)
			Expect(ok).To(BeFalse())
			Expect(got).To(BeNil())
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
			_, ok := script.Lookup(json.RawMessage(text), "")
			Expect(ok).To(BeFalse(), text)
		}
		_, ok := script.Lookup(nil, "a")
		Expect(ok).To(BeFalse())
	})

	It("is found in JSON of any length", func() {
		long := `{"a":"` + strings.Repeat("x", script.MaxSize) + `","b":[5]}`
		Expect(find(long, "b.0")).To(Equal("5"))
	})

	It("does not share memory with the whole", func() {
		data := json.RawMessage(`{"a":[1]}`)
		got, _ := script.Lookup(data, "a")
		got[1] = '2'
		Expect(string(data)).To(Equal(`{"a":[1]}`))
	})
})
