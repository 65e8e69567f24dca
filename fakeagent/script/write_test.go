package script_test

import (
	"bytes"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
)

var _ = Describe("A script in Go and in JSON", func() {
	var entries []TableEntry
	for _, f := range forms {
		entries = append(entries, Entry(f.does, f))
	}
	DescribeTable("has a step that", func(f form) {
		Expect(script.New(f.step).String()).To(Equal(`{"steps":[` + f.json + `]}`))
		Expect(parse(`{"steps":[` + f.json + `]}`)).To(Equal(script.New(f.step)))
		for _, other := range f.also {
			Expect(parse("["+other+"]")).To(Equal(script.New(f.step)), other)
		}
	}, entries)

	DescribeTable("is built from short functions, each for a literal of its step's type",
		func(built, literal script.Step) { Expect(built).To(Equal(literal)) },
		Entry("Think", script.Think("t"), script.ThinkStep{Text: "t"}),
		Entry("Say", script.Say("t"), script.SayStep{Text: "t"}),
		Entry("Write", script.Write("p", "c"), script.WriteStep{Path: "p", Content: "c"}),
		Entry("Edit", script.Edit("p", "o", "n"), script.EditStep{Path: "p", Old: "o", New: "n"}),
		Entry("Bash", script.Bash("c", "o", 2), script.BashStep{Command: "c", Output: "o", ExitCode: 2}),
		Entry("BashRun", script.BashRun("c"), script.BashStep{Command: "c", Run: true}),
		Entry("Fail", script.Fail("m"), script.FailStep{Message: "m"}),
		Entry("Sleep", script.Sleep(time.Second), script.SleepStep{Duration: time.Second}),
		Entry("Hold", script.Hold("n"), script.HoldStep{Name: "n"}),
		Entry("Exit", script.Exit(3), script.ExitStep{Code: 3}),
		Entry("Stderr", script.Stderr("t"), script.StderrStep{Text: "t"}),
		Entry("Raw", script.Raw("t\xff"), script.RawStep{Text: "t\xff"}),
		Entry("Ask", script.Ask(script.Approval{Title: "a"}, script.Approval{Title: "b"}),
			script.ApprovalStep{Approvals: []script.Approval{{Title: "a"}, {Title: "b"}}}),
	)

	It("may be a bare array of steps, or an object that has a delay before every step as well", func() {
		Expect(parse(`[{"say":"a"},{"say":"b"}]`)).To(Equal(script.New(script.Say("a"), script.Say("b"))))
		slow := script.Script{Steps: []script.Step{script.Say("a")}, StepDelay: 1500 * time.Millisecond}
		Expect(parse(` { "steps" : [ {"say":"a"} ] , "stepDelayMs" : 1500 } `)).To(Equal(slow))
		Expect(slow.String()).To(Equal(`{"stepDelayMs":1500,"steps":[{"say":"a"}]}`))
	})

	It("may have no steps", func() {
		for _, text := range []string{`[]`, `{"steps":[]}`, " \r\n\t[ ]\n"} {
			Expect(parse(text)).To(Equal(script.New()))
		}
		Expect(script.New().String()).To(Equal(`{"steps":[]}`))
		Expect(script.Script{}.String()).To(Equal(`{"steps":[]}`))
	})

	It("is appended to what is there already, which an error leaves as it was", func() {
		Expect(script.New(script.Say("x")).AppendJSON([]byte("data: "))).To(Equal([]byte(`data: {"steps":[{"say":"x"}]}`)))
		b, err := script.New(script.Write("", "")).AppendJSON([]byte("data: "))
		Expect(err).To(HaveOccurred())
		Expect(b).To(Equal([]byte("data: ")))
	})

	It("is a field of other JSON, in both directions", func() {
		type job struct {
			Name   string        `json:"name"`
			Script script.Script `json:"script"`
		}
		in := job{"j", script.New(script.Say("a < b"), script.Sleep(time.Second))}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		Expect(enc.Encode(in)).To(Succeed())
		Expect(b.String()).To(Equal(`{"name":"j","script":{"steps":[{"say":"a < b"},{"sleep":1000}]}}` + "\n"))
		var out job
		Expect(json.Unmarshal(b.Bytes(), &out)).To(Succeed())
		Expect(out).To(Equal(in))
	})

	It("is as strict inside other JSON, and a script that was there stays", func() {
		var s script.Script
		Expect(json.Unmarshal([]byte(`[{"say":"first"}]`), &s)).To(Succeed())
		Expect(json.Unmarshal([]byte(`[{"sya":"second"}]`), &s)).To(MatchError(`step 1: unknown key "sya", did you mean "say"?`))
		Expect(s).To(Equal(script.New(script.Say("first"))))
		Expect(json.Unmarshal([]byte(`null`), &s)).To(MatchError("must be an array, or an object, is null"))
		_, err := json.Marshal(script.New(script.Sleep(time.Microsecond)))
		Expect(err).To(MatchError(ContainSubstring("step 1 (sleep): ms must be a whole number of milliseconds")))
	})

	It("does not share memory with the JSON that it was parsed from", func() {
		text := []byte(`[{"say":"abc"},{"tool":{"name":"T","input":{"a":1}}}]`)
		s, err := script.Parse(text)
		Expect(err).NotTo(HaveOccurred())
		before := s.String()
		for i := range text {
			text[i] = 'x'
		}
		Expect(s.String()).To(Equal(before))
	})

	It("prints what is wrong with it where JSON cannot carry it", func() {
		Expect(script.New(script.Write("", "x")).String()).To(Equal("invalid script: step 1 (write): path must not be empty"))
	})

	It("survives the way to JSON and back, whatever its steps are", func() {
		for seed := range uint64(1000) {
			s := generated(seed)
			text, err := s.AppendJSON(nil)
			Expect(err).NotTo(HaveOccurred(), "seed %d", seed)
			Expect(script.Parse(text)).To(Equal(s), "seed %d: %s", seed, text)
		}
	})

	DescribeTable("counts characters as a reader sees them",
		func(text string, n int) { Expect(script.Characters(text)).To(Equal(n)) },
		Entry("none", "", 0),
		Entry("letters", "abc", 3),
		Entry("a letter and a combining accent", "e\u0301", 1),
		Entry("a family of four, joined", "👨‍👩‍👧‍👦", 1),
		Entry("two flags", "🇨🇭🇯🇵", 2),
		Entry("a thumb with a skin tone", "👍🏽", 1),
		Entry("a Windows line end", "a\r\nb", 3),
		Entry("bytes that are no UTF-8", "\xff\xfe", 2),
	)
})
