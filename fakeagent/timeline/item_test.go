package timeline_test

import (
	"encoding/json"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

var _ = Describe("The JSON form of an item", func() {
	DescribeTable("is exact, down to the order of the keys, and decodes to an equal item:",
		func(item timeline.Item, want string) {
			Expect(encoded(item)).To(Equal(want))
			decoded, err := timeline.DecodeItem([]byte(want))
			Expect(err).NotTo(HaveOccurred())
			Expect(decoded).To(Equal(item)) // by reflect.DeepEqual
			Expect(cmp.Diff(item, decoded)).To(BeEmpty())
			Expect(encoded(decoded)).To(Equal(want))
		},
		Entry("what the user said", timeline.UserMessage{Text: "hi"}, `{"type":"user_message","text":"hi"}`),
		Entry("what the user said, with both ids", timeline.UserMessage{Text: "hi", MessageID: "m-1", ClientMessageID: "c-1"},
			`{"type":"user_message","text":"hi","messageId":"m-1","clientMessageId":"c-1"}`),
		Entry("what the agent said", timeline.AssistantMessage{Text: "done", MessageID: "a-1-1"},
			`{"type":"assistant_message","text":"done","messageId":"a-1-1"}`),
		Entry("an agent's message without an id", timeline.AssistantMessage{Text: "done"}, `{"type":"assistant_message","text":"done"}`),
		Entry("what the agent thought", timeline.Reasoning{Text: "hm"}, `{"type":"reasoning","text":"hm"}`),
		Entry("an empty text, which is not left out", timeline.Reasoning{}, `{"type":"reasoning","text":""}`),
		Entry("a running tool call", timeline.ToolCall{CallID: "t-1-1", Name: "Read", Detail: timeline.Read{FilePath: "/w/a"}, Status: timeline.Running},
			`{"type":"tool_call","callId":"t-1-1","name":"Read","detail":{"type":"read","filePath":"/w/a"},"status":"running","error":null}`),
		Entry("a tool call with metadata", timeline.ToolCall{
			CallID: "t-1-1", Name: "Plan", Detail: timeline.Plan{Text: "1."}, Metadata: json.RawMessage(`{"b":1,"a":2}`), Status: timeline.Completed,
		}, `{"type":"tool_call","callId":"t-1-1","name":"Plan","detail":{"type":"plan","text":"1."},"metadata":{"b":1,"a":2},"status":"completed","error":null}`),
		Entry("a tool call that failed with a text", timeline.ToolCall{
			CallID: "t-1-1", Name: "Bash", Detail: timeline.Shell{Command: "false", ExitCode: timeline.Exited(1)}, Status: timeline.Failed, Error: "exit code 1",
		}, `{"type":"tool_call","callId":"t-1-1","name":"Bash","detail":{"type":"shell","command":"false","output":"","exitCode":1},"status":"failed","error":"exit code 1"}`),
		Entry("a tool call that failed with an object", timeline.ToolCall{
			CallID: "t-1-1", Name: "x", Detail: timeline.Plan{}, Status: timeline.Failed, Error: json.RawMessage(`{"code":7}`),
		}, `{"type":"tool_call","callId":"t-1-1","name":"x","detail":{"type":"plan","text":""},"status":"failed","error":{"code":7}}`),
		Entry("a plan", timeline.Todo{Items: []timeline.TodoEntry{
			{Text: "look", Completed: true}, {Text: "fix", ID: "2", Status: "in_progress", ActiveForm: "fixing"},
		}}, `{"type":"todo","items":[{"text":"look","completed":true},{"text":"fix","completed":false,"id":"2","status":"in_progress","activeForm":"fixing"}]}`),
		Entry("a plan with nothing in it, whose list is empty and not null", timeline.Todo{}, `{"type":"todo","items":[]}`),
		Entry("why a turn failed", timeline.ErrorItem{Message: "no quota"}, `{"type":"error","message":"no quota"}`),
		Entry("a compaction", timeline.Compaction{Status: "completed", Trigger: "auto", PreTokens: 9000},
			`{"type":"compaction","status":"completed","trigger":"auto","preTokens":9000}`),
		Entry("a compaction under way", timeline.Compaction{Status: "loading"}, `{"type":"compaction","status":"loading"}`),
		Entry("a notice", timeline.Notification{Level: "warning", Message: "slow"}, `{"type":"notification","level":"warning","message":"slow"}`),
		Entry("a plugin row", timeline.Plugin{ID: "card", PluginID: "stats", Kind: "chart", Version: 2, Data: json.RawMessage(`{"z":1,"a":[]}`)},
			`{"type":"plugin","id":"card","pluginId":"stats","kind":"chart","version":2,"data":{"z":1,"a":[]}}`),
		Entry("a plugin row without data", timeline.Plugin{ID: "card", PluginID: "stats", Kind: "chart", Version: 1},
			`{"type":"plugin","id":"card","pluginId":"stats","kind":"chart","version":1,"data":null}`),
	)

	It("keeps <, > and & as they are, also deep inside a tool call", func() {
		Expect(encoded(timeline.Reasoning{Text: "a < b && c > d"})).To(Equal(`{"type":"reasoning","text":"a < b && c > d"}`))
		call := timeline.ToolCall{
			CallID: "c", Name: "x", Detail: timeline.Unknown{Input: json.RawMessage(`"<in>"`), Output: json.RawMessage(`"&"`)},
			Metadata: json.RawMessage(`{"<":">"}`), Status: timeline.Failed, Error: "<&>",
		}
		Expect(encoded(call)).To(Equal(
			`{"type":"tool_call","callId":"c","name":"x","detail":{"type":"unknown","input":"<in>","output":"&"},"metadata":{"<":">"},"status":"failed","error":"<&>"}`))
		Expect(encoded(timeline.Items{timeline.Reasoning{Text: "<"}})).To(Equal(`[{"type":"reasoning","text":"<"}]`))
	})

	It("is appended to what is there", func() {
		Expect(string(timeline.AppendJSON([]byte("item: "), timeline.Reasoning{Text: "x"}))).To(Equal(`item: {"type":"reasoning","text":"x"}`))
	})

	It("has the item's type as its first key, and that is what Type says", func() {
		Expect(timeline.ErrorItem{}.Type()).To(Equal("error"))
		Expect(encoded(timeline.ErrorItem{})).To(HavePrefix(`{"type":"error"`))
		Expect(timeline.Raw{JSON: json.RawMessage(`{"a":1,"type":"novel"}`)}.Type()).To(Equal("novel"))
	})

	It("may be spread over lines when it is read", func() {
		Expect(timeline.DecodeItem([]byte("\n{ \"text\" : \"a  b\",\n\t\"type\" : \"reasoning\" }\n"))).To(Equal(timeline.Reasoning{Text: "a  b"}))
	})

	It("may have keys that nobody knows, which are dropped", func() {
		Expect(timeline.DecodeItem([]byte(`{"type":"reasoning","text":"x","phase":"final"}`))).To(Equal(timeline.Reasoning{Text: "x"}))
	})
})

var _ = Describe("An item of a type that this version does not know", func() {
	It("survives byte for byte as Raw", func() {
		const novel = `{"text":"<\u003c&>","type":"hologram","n":1.50,"deep":{"b":[],"a":null}}`
		item, err := timeline.DecodeItem([]byte(novel))
		Expect(err).NotTo(HaveOccurred())
		Expect(item).To(Equal(timeline.Raw{JSON: json.RawMessage(novel)}))
		Expect(item.Type()).To(Equal("hologram"))
		Expect(encoded(item)).To(Equal(novel))
	})

	It("loses only the white space between its values", func() {
		item, err := timeline.DecodeItem([]byte(`{ "type" : "hologram", "text" : "a  b" }`))
		Expect(err).NotTo(HaveOccurred())
		Expect(encoded(item)).To(Equal(`{"type":"hologram","text":"a  b"}`))
	})

	It("does not change when the caller writes over the bytes it came in", func() {
		data := []byte(`{"type":"hologram"}`)
		item, err := timeline.DecodeItem(data)
		Expect(err).NotTo(HaveOccurred())
		clear(data)
		Expect(encoded(item)).To(Equal(`{"type":"hologram"}`))
	})
})

var _ = Describe("The status and the error of a tool call", func() {
	const detail = `"detail":{"type":"plan","text":""}`

	DescribeTable("go together strictly, so decoding refuses",
		func(status, want string) {
			_, err := timeline.DecodeItem([]byte(`{"type":"tool_call","callId":"t-1-1","name":"x",` + detail + `,` + status + `}`))
			Expect(err).To(MatchError(want))
		},
		Entry("a running call with an error", `"status":"running","error":"boom"`,
			`timeline: tool_call "t-1-1": status is running, so error must be null, is "boom"`),
		Entry("a completed call with an error", `"status":"completed","error":"boom"`,
			`timeline: tool_call "t-1-1": status is completed, so error must be null, is "boom"`),
		Entry("a canceled call with an error", `"status":"canceled","error":{"code":1}`,
			`timeline: tool_call "t-1-1": status is canceled, so error must be null, is {"code":1}`),
		Entry("a completed call whose error is an empty text", `"status":"completed","error":""`,
			`timeline: tool_call "t-1-1": status is completed, so error must be null, is ""`),
		Entry("a failed call whose error is null", `"status":"failed","error":null`,
			`timeline: tool_call "t-1-1": status is failed, so error must say why, is null`),
		Entry("a failed call without an error", `"status":"failed"`,
			`timeline: tool_call "t-1-1": status is failed, so error must say why, is null`),
		Entry("a status of its own", `"status":"paused","error":null`,
			`timeline: tool_call "t-1-1": status is "paused", want running, completed, failed or canceled`),
		Entry("no status", `"error":null`,
			`timeline: tool_call "t-1-1": status is "", want running, completed, failed or canceled`),
	)

	DescribeTable("are fine when the error is null or absent, as long as nothing failed:",
		func(status string) {
			for _, err := range []string{`,"error":null`, ``} {
				Expect(timeline.DecodeItem([]byte(`{"type":"tool_call","callId":"c","name":"x",` + detail + `,"status":"` + status + `"` + err + `}`))).
					To(Equal(timeline.ToolCall{CallID: "c", Name: "x", Detail: timeline.Plan{}, Status: timeline.Status(status)}))
			}
		},
		Entry("running", "running"), Entry("completed", "completed"), Entry("canceled", "canceled"),
	)

	DescribeTable("accept as the error of a failed call any JSON but null:",
		func(in string, want any) {
			item, err := timeline.DecodeItem([]byte(`{"type":"tool_call","callId":"c","name":"x",` + detail + `,"status":"failed","error":` + in + `}`))
			Expect(err).NotTo(HaveOccurred())
			Expect(item.(timeline.ToolCall).Error).To(Equal(want))
			Expect(encoded(item)).To(HaveSuffix(`"error":` + in + `}`))
		},
		Entry("a text", `"boom"`, "boom"),
		Entry("an empty text", `""`, ""),
		Entry("an object", `{"message":"<boom>"}`, json.RawMessage(`{"message":"<boom>"}`)),
		Entry("a list", `["a",1]`, json.RawMessage(`["a",1]`)),
		Entry("a number", `7`, json.RawMessage(`7`)),
		Entry("false", `false`, json.RawMessage(`false`)),
	)

	DescribeTable("are put right when a call is encoded that was built wrongly:",
		func(status timeline.Status, err any, want string) {
			call := timeline.ToolCall{CallID: "c", Name: "x", Detail: timeline.Plan{}, Status: status, Error: err}
			Expect(encoded(call)).To(HaveSuffix(want))
			Expect(timeline.DecodeItem([]byte(encoded(call)))).NotTo(BeNil())
		},
		Entry("an error beside completed is dropped", timeline.Completed, "boom", `"status":"completed","error":null}`),
		Entry("a failed call without an error gets an empty one", timeline.Failed, nil, `"status":"failed","error":""}`),
		Entry("a failed call whose error is an empty raw message gets one too", timeline.Failed, json.RawMessage(nil), `"status":"failed","error":""}`),
		Entry("and so does one whose error is null", timeline.Failed, json.RawMessage("null"), `"status":"failed","error":""}`),
	)
})

var _ = Describe("Decoding an item", func() {
	DescribeTable("refuses what is no object with a type:",
		func(in string) {
			_, err := timeline.DecodeItem([]byte(in))
			Expect(err).To(MatchError(`timeline: item: want an object with a "type"`))
		},
		Entry("null", `null`), Entry("a number", `5`), Entry("a text", `"reasoning"`), Entry("a list", `[{"type":"reasoning"}]`),
		Entry("an object without a type", `{"text":"x"}`), Entry("a type that is empty", `{"type":""}`), Entry("a type that is no text", `{"type":1}`),
	)

	DescribeTable("refuses what is no JSON:",
		func(in, want string) {
			_, err := timeline.DecodeItem([]byte(in))
			Expect(err).To(MatchError("timeline: item: " + want))
		},
		Entry("nothing", ``, "unexpected end of JSON input"),
		Entry("an object that was cut", `{"type":"reasoning"`, "unexpected end of JSON input"),
		Entry("two items", `{"type":"reasoning"}{"type":"reasoning"}`, "invalid character '{' after top-level value"),
	)

	DescribeTable("names the type and the field of a wrong value:",
		func(in, typ, field string) {
			_, err := timeline.DecodeItem([]byte(in))
			Expect(err).To(MatchError(SatisfyAll(HavePrefix("timeline: "+typ+": "), ContainSubstring(field+" must be "))))
		},
		Entry("a text that is a number", `{"type":"reasoning","text":1}`, "reasoning", "text"),
		Entry("a call id that is a number", `{"type":"tool_call","callId":1}`, "tool_call", "callId"),
		Entry("a plan whose items are an object", `{"type":"todo","items":{}}`, "todo", "items"),
		Entry("an entry of a plan", `{"type":"todo","items":[{"text":"x","completed":"yes"}]}`, "todo", "items.completed"),
		Entry("a count that is a fraction", `{"type":"compaction","status":"completed","preTokens":1.5}`, "compaction", "preTokens"),
		Entry("a version that is a text", `{"type":"plugin","version":"1"}`, "plugin", "version"),
		Entry("a detail's field", `{"type":"tool_call","callId":"c","status":"running","detail":{"type":"read","offset":"1"}}`, `tool_call "c": read`, "offset"),
	)

	DescribeTable("refuses a tool call that does not say what it is about:",
		func(detail, want string) {
			_, err := timeline.DecodeItem([]byte(`{"type":"tool_call","callId":"c","name":"x","status":"running"` + detail + `}`))
			Expect(err).To(MatchError(`timeline: tool_call "c": ` + want))
		},
		Entry("no detail", ``, "detail is missing"),
		Entry("a detail that is null", `,"detail":null`, "detail is missing"),
		Entry("a detail that is no object", `,"detail":"ls"`, `detail: want an object with a "type"`),
		Entry("a detail without a type", `,"detail":{"command":"ls"}`, `detail: want an object with a "type"`),
	)
})

var _ = Describe("A list of items", func() {
	items := timeline.Items{
		timeline.UserMessage{Text: "hi"},
		timeline.ToolCall{CallID: "c", Name: "Bash", Detail: timeline.Shell{Command: "ls"}, Status: timeline.Running},
		timeline.Raw{JSON: json.RawMessage(`{"type":"hologram"}`)},
	}
	const list = `[{"type":"user_message","text":"hi"},` +
		`{"type":"tool_call","callId":"c","name":"Bash","detail":{"type":"shell","command":"ls"},"status":"running","error":null},` +
		`{"type":"hologram"}]`

	It("is a JSON array, and reads back equal", func() {
		Expect(encoded(items)).To(Equal(list))
		var back timeline.Items
		Expect(json.Unmarshal([]byte(list), &back)).To(Succeed())
		Expect(back).To(Equal(items))
	})

	It("is [] when it is empty, or was never made", func() {
		Expect(encoded(timeline.Items{})).To(Equal(`[]`))
		Expect(encoded(timeline.Items(nil))).To(Equal(`[]`))
	})

	It("says which item it could not read, counting from 0, and keeps what it held", func() {
		back := slices.Clone(items)
		Expect(json.Unmarshal([]byte(`[{"type":"reasoning","text":"x"},{"type":"tool_call","callId":"c"}]`), &back)).
			To(MatchError(`timeline: item 1: tool_call "c": status is "", want running, completed, failed or canceled`))
		Expect(back).To(Equal(items))
	})

	It("is refused when it is no array", func() {
		var back timeline.Items
		Expect(json.Unmarshal([]byte(`{"type":"reasoning"}`), &back)).To(MatchError(HavePrefix("timeline: items: ")))
	})
})

var _ = Describe("A text", func() {
	asJSON := func(s string) string {
		b, err := timeline.JSON(s)
		Expect(err).NotTo(HaveOccurred())
		return string(b)
	}
	It("is escaped as encoding/json does it, whatever is in it", func() {
		for _, s := range []string{"", "plain <b> & 'x'", "a\"b\\c", "\n", "one\r\ntwo\tthree\n", "\x00", "\b\f\x1f\x7f", "é", "日本\u2028\u2029", "\xff", "a\n\xffb", "\n日\n"} {
			Expect(string(timeline.AppendText([]byte("x:"), s))).To(Equal("x:"+asJSON(s)), "%q", s)
		}
		for b := range 256 {
			for _, s := range []string{string([]byte{byte(b)}), "a" + string([]byte{byte(b)}) + "\n"} {
				Expect(string(timeline.AppendText(nil, s))).To(Equal(asJSON(s)), "%q", s)
			}
		}
	})
})
