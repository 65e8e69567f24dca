package fakeagent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/playbook"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// twoAgents is a recording of a lead, who is told more while it works, and of a worker, who wakes up twice.
const twoAgents = `{"name": "two agents", "events": [
	{"type": "session.started", "threadId": "lead", "payload": {}},
	{"type": "session.started", "threadId": "worker:1", "payload": {}},
	{"type": "turn.started", "threadId": "lead", "turnId": "L1", "payload": {"model": "big"}},
	{"type": "item.completed", "threadId": "lead", "turnId": "L1", "itemId": "m1", "payload": {"itemType": "user_message", "detail": "Begin with the docs."}},
	{"type": "content.delta", "threadId": "lead", "turnId": "L1", "itemId": "a1", "payload": {"streamKind": "assistant_text", "delta": "I will."}},
	{"type": "item.started", "threadId": "lead", "turnId": "L1", "itemId": "c1", "payload": {"itemType": "mcp_tool_call", "status": "inProgress",
		"title": "mcp__ycodium__send_message", "data": {"input": {"threadId": "worker:1", "message": "the docs, please"}}}},
	{"type": "turn.started", "threadId": "worker:1", "turnId": "W1", "payload": {}},
	{"type": "item.completed", "threadId": "worker:1", "turnId": "W1", "itemId": "m2", "payload": {"itemType": "user_message", "detail": "the docs, please"}},
	{"type": "item.completed", "threadId": "lead", "turnId": "L1", "itemId": "c1", "payload": {"itemType": "mcp_tool_call", "status": "completed",
		"title": "mcp__ycodium__send_message", "data": {"input": {"threadId": "worker:1", "message": "the docs, please"}, "output": {"sent": true}}}},
	{"type": "item.started", "threadId": "worker:1", "turnId": "W1", "itemId": "c2", "payload": {"itemType": "mcp_tool_call",
		"data": {"server": "files", "tool": "list", "arguments": {}}}},
	{"type": "item.completed", "threadId": "lead", "turnId": "L1", "itemId": "m3", "payload": {"itemType": "user_message", "detail": "And the tests."}},
	{"type": "turn.completed", "threadId": "worker:1", "turnId": "W1", "payload": {"state": "completed"}},
	{"type": "item.started", "threadId": "lead", "turnId": "L1", "itemId": "c3", "payload": {"itemType": "mcp_tool_call",
		"title": "mcp__ycodium__send_message", "data": {"input": {"threadId": "worker:1", "message": "then the tests"}}}},
	{"type": "turn.completed", "threadId": "lead", "turnId": "L1", "payload": {"state": "completed"}},
	{"type": "turn.started", "threadId": "worker:1", "turnId": "W2", "payload": {}},
	{"type": "item.completed", "threadId": "worker:1", "turnId": "W2", "itemId": "m4", "payload": {"itemType": "user_message", "detail": "then the tests"}},
	{"type": "turn.completed", "threadId": "worker:1", "turnId": "W2", "payload": {"state": "completed"}}
]}`

// twoAgentsPlay is the playbook of that.
const twoAgentsPlay = `{"version":1,"threads":[` +
	`{"match":{"threadId":"^lead$"},"turns":[` +
	`[{"expectInput":"Begin with the docs."},{"tool":"send_message","arguments":{"threadId":"worker:1","message":"the docs, please"}},{"awaitSteer":true}],` +
	`[{"expectInput":"And the tests."},{"tool":"send_message","arguments":{"threadId":"worker:1","message":"then the tests"}}]]},` +
	`{"match":{"threadId":"^worker:1$"},"turns":[` +
	`[{"expectInput":"the docs, please"},{"server":"files","tool":"list"}],` +
	`[{"expectInput":"then the tests"}]]}]}`

var _ = Describe("A playbook of a recording in which a message is part of another one", func() {
	It("says which batches may be taken for each other", func() {
		message := func(turn, text string) string {
			return fmt.Sprintf(`{"type":"item.completed","threadId":"a","turnId":%q,"itemId":%[1]q,"payload":{"itemType":"user_message","detail":%q}}`, turn, text)
		}
		_, notes, err := fakeagent.PlaybookFromRecording([]byte(message("1", "go")+"\n"+message("2", "stop")+"\n"+message("3", "go on")+"\n"+message("4", "stop")), fakeagent.FromRecording{})
		Expect(err).NotTo(HaveOccurred())
		Expect(notes).To(Equal([]string{"threads[0].turns[0] expects what is a part of what turns[2] expects; if that one's message comes first, it plays this one"}))
	})
})

// took is a recording of events in short: the thread and the turn, the type, the item, and the payload. A hyphen is none.
func took(events ...string) string {
	all := make([]string, len(events))
	for i, e := range events {
		parts := append(strings.SplitN(e, " ", 4), "-", "{}")
		if len(parts) > 4 {
			parts = parts[:4]
		}
		if parts[3] == "-" {
			parts[3] = "{}"
		}
		thread, turn, _ := strings.Cut(parts[0], "/")
		all[i] = fmt.Sprintf(`{"type":%q,"payload":%s`, parts[1], parts[3])
		for key, id := range map[string]string{"threadId": thread, "turnId": turn, "itemId": parts[2]} {
			if id != "-" && id != "" {
				all[i] += fmt.Sprintf(`,%q:%q`, key, id)
			}
		}
		all[i] += "}"
	}
	return "[" + strings.Join(all, ",\n") + "]"
}

// saying is an event of a message.
func saying(where, item, text string) string {
	return fmt.Sprintf(`%s item.completed %s {"itemType":"user_message","detail":%q}`, where, item, text)
}

// calling is the start of a call of a tool, of the built-in server.
func calling(where, item, tool string) string {
	return fmt.Sprintf(`%s item.started %s {"itemType":"mcp_tool_call","title":"mcp__ycodium__%s","data":{"input":{}}}`, where, item, tool)
}

// adapted is the JSON of the playbook of a recording, and the notes that came with it.
func adapted(text string, how ...fakeagent.FromRecording) (book string, notes []string) {
	GinkgoHelper()
	p, notes, err := fakeagent.PlaybookFromRecording([]byte(text), append(how, fakeagent.FromRecording{})[0])
	Expect(err).NotTo(HaveOccurred())
	b, err := p.MarshalJSON()
	Expect(err).NotTo(HaveOccurred())
	return string(b), notes
}

// batchesOf are those of the only thread, of a recording that can tell all of it.
func batchesOf(text string, how ...fakeagent.FromRecording) string {
	GinkgoHelper()
	book, notes := adapted(text, how...)
	Expect(notes).To(BeEmpty())
	return onlyLine(book)
}

// onlyLine are the batches of the only line of a playbook.
func onlyLine(book string) string {
	GinkgoHelper()
	var file struct {
		Threads []struct{ Turns json.RawMessage }
	}
	Expect(json.Unmarshal([]byte(book), &file)).To(Succeed())
	Expect(file.Threads).To(HaveLen(1))
	return string(file.Threads[0].Turns)
}

var _ = Describe("A playbook from a recording", func() {
	It("has a line for each thread, a batch for each turn and each steer, and the calls", func() {
		book, notes := adapted(twoAgents)
		Expect(book).To(Equal(twoAgentsPlay))
		Expect(notes).To(BeEmpty())
	})

	It("comes of a bare array of events, too", func() {
		Expect(batchesOf(took(saying("a/1", "m", "go"), calling("a/1", "c", "x")))).To(Equal(`[[{"expectInput":"go"},{"tool":"x"}]]`))
	})

	It("is itself again when it plays and the host records that", bubble.InBubble, func(ctx SpecContext) {
		path := filepath.Join(GinkgoT().TempDir(), "playbook.json")
		Expect(os.WriteFile(path, []byte(twoAgentsPlay), 0o600)).To(Succeed())
		in := fakeagent.NewT(GinkgoT(), fakeagent.Config{Script: "mcp-send", PlaybookPath: path, WholePlaybook: true, MCP: &notebook{}})
		var events []json.RawMessage
		record := func(e event.Event) {
			b, err := timeline.JSON(e)
			Expect(err).NotTo(HaveOccurred())
			events = append(events, b)
		}
		message := func(thread, turn, text string) {
			record(event.Event{ThreadID: thread, TurnID: turn, ItemID: fmt.Sprintf("m%d", len(events)),
				Payload: event.ItemCompleted{Item: event.Item{ItemType: event.UserMessage, Detail: text}}})
		}
		prompt := ""
		in.Subscribe(func(e event.Event) {
			record(e)
			if e.Payload.Type() == "turn.started" {
				message(e.ThreadID, e.TurnID, prompt)
			}
		})
		for _, id := range []string{"lead", "worker:1"} {
			Expect(in.StartSession(ctx, fakeagent.SessionConfig{ThreadID: id, MCPServers: []fakeagent.MCPServer{{Name: "ycodium"}, {Name: "files"}}})).To(Succeed())
		}
		send := func(thread, text, turn string) (turnID string) {
			if prompt = text; turn != "" {
				message(thread, turn, text) // while the turn waits for it
			}
			turnID, err := in.SendTurn(ctx, fakeagent.TurnInput{ThreadID: thread, TurnID: turn, Text: text})
			Expect(err).NotTo(HaveOccurred())
			synctest.Wait()
			return turnID
		}
		lead := send("lead", "Begin with the docs.", "")
		send("worker:1", "the docs, please", "")
		send("lead", "And the tests.", lead)
		send("worker:1", "then the tests", "")

		again, err := json.Marshal(events)
		Expect(err).NotTo(HaveOccurred())
		book, notes := adapted(string(again))
		Expect(book).To(Equal(twoAgentsPlay))
		Expect(notes).To(BeEmpty())
	})

	Describe("for threads", func() {
		It("has their lines in the order in which they first came", func() {
			book, _ := adapted(took("b/- session.started", "a/1 turn.started", "b/1 turn.started", "c/1 turn.started"))
			Expect(book).To(MatchRegexp(`"\^b\$".*"\^a\$".*"\^c\$"`))
		})

		It("has a line that fits its own thread and no other, whatever it is called", func() {
			const id = "w.1+(x)[^$|"
			p, _, err := fakeagent.PlaybookFromRecording([]byte(took(saying(id+"/1", "m", "go"))), fakeagent.FromRecording{})
			Expect(err).NotTo(HaveOccurred())
			match := p.Lines[0].Match
			Expect(match.Title).To(BeEmpty())
			Expect(match.ThreadID.MatchString(id)).To(BeTrue())
			for _, other := range []string{"x" + id, id + "x", "wx1+(x)[^$|", id + "\n" + id} {
				Expect(match.ThreadID.MatchString(other)).To(BeFalse(), other)
			}
		})

		It("has an empty line for one without a turn, and says so", func() {
			book, notes := adapted(took("a/- session.started"))
			Expect(onlyLine(book)).To(Equal("[]"))
			Expect(notes).To(Equal([]string{`threads[0] (thread "a") has no turns`}))
		})

		It("leaves out what is of no thread, and says how much that is", func() {
			book, notes := adapted(`[{"type":"turn.started","threadId":5,"turnId":"1","payload":{}},` + took(calling("-/1", "c", "x"), calling("⟨undefined⟩/1", "c", "x"))[1:])
			Expect(book).To(Equal(`{"version":1,"threads":[]}`))
			Expect(notes).To(Equal([]string{"events without a threadId are left out: 3"}))
		})
	})

	Describe("for turns", func() {
		It("has their batches in the order in which they began", func() {
			Expect(batchesOf(took("a/1 turn.started", saying("a/2", "m", "two"), saying("a/1", "m", "one"), calling("a/2", "c", "y"), calling("a/1", "c", "x")))).
				To(Equal(`[[{"expectInput":"one"},{"tool":"x"}],[{"expectInput":"two"},{"tool":"y"}]]`))
		})

		It("takes turn.started for the beginning, whatever came before it", func() {
			Expect(batchesOf(took(saying("a/2", "m", "two"), saying("a/1", "m", "one"), "a/1 turn.started", "a/2 turn.started", "a/1 turn.started"))).
				To(Equal(`[[{"expectInput":"one"}],[{"expectInput":"two"}]]`))
		})

		It("has an empty batch for one of which only beginning and end are known", func() {
			book, notes := adapted(took("a/1 turn.started", "a/1 turn.completed"))
			Expect(onlyLine(book)).To(Equal("[[]]"))
			Expect(notes).To(HaveLen(1))
		})

		It("takes an event that names none for one of the turn that runs, and a turn.started that names none for a new one", func() {
			Expect(batchesOf(took(
				"a/- turn.started", saying("a/-", "m", "one"), calling("a/-", "c", "x"), "a/- turn.completed",
				"a/- turn.started", saying("a/-", "m", "two"), calling("a/-", "c", "y"), "a/- turn.aborted",
				"a/3 turn.started", saying("a/-", "m", "three"), calling("a/-", "c", "z")))).
				To(Equal(`[[{"expectInput":"one"},{"tool":"x"}],[{"expectInput":"two"},{"tool":"y"}],[{"expectInput":"three"},{"tool":"z"}]]`))
		})

		It("leaves out what came while none ran, and says so", func() {
			book, notes := adapted(took(saying("a/-", "m", "early"), "a/1 turn.started", saying("a/1", "m", "go"), "a/1 turn.completed", calling("a/-", "c", "x"),
				calling("a/-", "-", "x"), "a/- item.completed f {\"itemType\":\"file_change\"}"))
			Expect(onlyLine(book)).To(Equal(`[[{"expectInput":"go"}]]`))
			Expect(notes).To(Equal([]string{`thread "a": a message in no turn is left out`, `thread "a": a call in no turn is left out (item "c")`,
				`thread "a": a call in no turn is left out`}))
		})

		It("goes on with the one that runs when another one's late event comes", func() {
			Expect(batchesOf(took(saying("a/1", "m", "one"), "a/1 turn.completed", saying("a/2", "m", "two"), "a/1 item.completed f {\"itemType\":\"file_change\"}",
				"a/1 turn.completed", calling("a/-", "c", "y")))).
				To(Equal(`[[{"expectInput":"one"}],[{"expectInput":"two"},{"tool":"y"}]]`))
		})
	})

	Describe("for the message that began a turn", func() {
		DescribeTable("finds its text wherever recorders put it", func(payload string) {
			Expect(batchesOf(took(`a/1 item.completed m {"itemType":"user_message",` + payload + `}`))).To(Equal(`[[{"expectInput":"go on"}]]`))
		},
			Entry("for people", `"detail":"go on","data":{"text":"no"}`),
			Entry("as the data's text", `"data":{"text":"go on","message":"no"}`),
			Entry("as the data's message", `"data":{"message":"go on"}`),
			Entry("as that of the provider's own item", `"data":{"threadId":"x","item":{"text":"go on"}}`),
			Entry("as the content of the provider's own item", `"title":"User message","data":{"item":{"content":[{"type":"image","url":"x"},{"type":"text","text":"go on"}]}}`),
			Entry("where the others are undefined, or no text", `"detail":"⟨undefined⟩","data":{"text":{"no":1},"message":"go on"}`),
		)

		It("joins the texts of a content", func() {
			Expect(batchesOf(took(`a/1 item.completed m {"itemType":"user_message","data":{"item":{"content":[{"text":"one"},{"text":""},{"text":"two"}]}}}`))).
				To(Equal(`[[{"expectInput":"one\ntwo"}]]`))
		})

		It("takes an item that began and ended for one message, and its text from the end", func() {
			Expect(batchesOf(took(
				`a/1 item.started m {"itemType":"user_message","detail":"dra"}`, `a/1 item.updated m {"itemType":"user_message","detail":"draft"}`,
				`a/1 item.completed m {"itemType":"user_message","detail":"done"}`, `a/1 item.updated m {"itemType":"user_message","detail":"late"}`))).
				To(Equal(`[[{"expectInput":"done"}]]`))
		})

		It("takes the last text of one that did not end, or ended without", func() {
			Expect(batchesOf(took(
				`a/1 item.started m {"itemType":"user_message","detail":"dra"}`, `a/1 item.updated m {"itemType":"user_message","detail":"draft"}`,
				`a/1 item.completed m {"itemType":"user_message"}`,
				`a/2 item.started m {"itemType":"user_message","detail":"begun"}`))).
				To(Equal(`[[{"expectInput":"draft"}],[{"expectInput":"begun"}]]`))
		})

		It("takes nothing in it for a placeholder", func() {
			p, notes, err := fakeagent.PlaybookFromRecording([]byte(took(saying("a/1", "m", "say {{thread}} & <{{step:x.y}}>"))), fakeagent.FromRecording{})
			Expect(err).NotTo(HaveOccurred())
			Expect(notes).To(BeEmpty())
			Expect(p.Lines[0].Batches).To(Equal([]playbook.Batch{{script.ExpectInputStep{Text: "say {{thread}} & <{{step:x.y}}>"}}}))
		})

		DescribeTable("expects nothing without it, and says so", func(events ...string) {
			book, notes := adapted(took(append([]string{saying("a/0", "m", "first")}, events...)...))
			Expect(onlyLine(book)).To(Equal(`[[{"expectInput":"first"}],[{"tool":"x"}]]`))
			Expect(notes).To(Equal([]string{`threads[0].turns[1] (thread "a", turn "1"): no text of the message that began it is recorded, so it has no expectInput`}))
		},
			Entry("none is recorded", calling("a/1", "c", "x")),
			Entry("it has no text", `a/1 item.completed m {"itemType":"user_message","data":{"item":{"content":"?"}}}`, calling("a/1", "c", "x")),
			Entry("it has nothing but white space", saying("a/1", "m", " \n"), calling("a/1", "c", "x")),
			Entry("it is not the user's", `a/1 item.completed m {"itemType":"assistant_message","detail":"go"}`, calling("a/1", "c", "x")),
		)
	})

	Describe("for steers", func() {
		steered := took("a/1 turn.started", calling("a/1", "c0", "w"), saying("a/1", "m1", "go"), calling("a/1", "c1", "x"), saying("a/1", "m2", "and"),
			calling("a/1", "c2", "y"), saying("a/1", "m3", "then"), "a/1 turn.completed", saying("a/2", "m4", "more"), calling("a/2", "c3", "z"))

		It("awaits each where the agent took it, and nowhere else", func() {
			Expect(batchesOf(steered)).To(Equal(`[[{"expectInput":"go"},{"tool":"w"},{"tool":"x"},{"awaitSteer":true}],` +
				`[{"expectInput":"and"},{"tool":"y"},{"awaitSteer":true}],[{"expectInput":"then"}],[{"expectInput":"more"},{"tool":"z"}]]`))
		})

		It("goes on without them on member machines, and says which batches rely on steps that are not recorded", func() {
			book, notes := adapted(steered, fakeagent.FromRecording{MemberMachines: true})
			const await = `{"awaitSteer":{"timeoutMs":60000,"continueOnTimeout":true}}`
			Expect(onlyLine(book)).To(Equal(`[[{"expectInput":"go"},{"tool":"w"},{"tool":"x"},` + await + `],` +
				`[{"expectInput":"and"},{"tool":"y"},` + await + `],[{"expectInput":"then"}],[{"expectInput":"more"},{"tool":"z"}]]`))
			const why = ` (thread "a", turn "1"): when no steer comes it plays all the same; what it must wait for then no recording can tell: ` +
				`give it waitFor steps, behind its expectInput`
			Expect(notes).To(Equal([]string{"threads[0].turns[1]" + why, "threads[0].turns[2]" + why}))
		})

		It("has a batch for one without a text, too", func() {
			book, notes := adapted(took(saying("a/1", "m1", "go"), `a/1 item.started m2 {"itemType":"user_message"}`, calling("a/1", "c", "x")))
			Expect(onlyLine(book)).To(Equal(`[[{"expectInput":"go"},{"awaitSteer":true}],[{"tool":"x"}]]`))
			Expect(notes).To(ConsistOf(HavePrefix("threads[0].turns[1]")))
		})

		It("tells messages without an id apart by where they end", func() {
			Expect(batchesOf(took(`a/1 item.started - {"itemType":"user_message","detail":"go"}`, saying("a/1", "-", "go"), saying("a/1", "-", "and"),
				`a/1 item.started - {"itemType":"user_message","detail":"th"}`, saying("a/1", "-", "then")))).
				To(Equal(`[[{"expectInput":"go"},{"awaitSteer":true}],[{"expectInput":"and"},{"awaitSteer":true}],[{"expectInput":"then"}]]`))
		})
	})

	Describe("for calls", func() {
		DescribeTable("finds server, tool and arguments wherever recorders put them", func(payload string) {
			Expect(batchesOf(took(saying("a/1", "m", "go"), `a/1 item.started c {"itemType":"mcp_tool_call",`+payload+`}`))).
				To(Equal(`[[{"expectInput":"go"},{"server":"s","tool":"t__u","arguments":{"n":1}}]]`))
		},
			Entry("in the title", `"title":"mcp__s__t__u","data":{"input":{"n":1}}`),
			Entry("in the data", `"title":"s · t__u","data":{"server":"s","tool":"t__u","arguments":{"n":1}}`),
			Entry("in the data, rather than in the title", `"title":"mcp__x__y","data":{"server":"s","tool":"t__u","arguments":{"n":1}}`),
			Entry("in the data's name", `"title":"MCP tool call","data":{"toolName":"mcp__s__t__u","input":{"n":1}}`),
			Entry("in the tool's name, which names the server", `"data":{"tool":"mcp__s__t__u","server":"x","arguments":{"n":1}}`),
			Entry("in the provider's own item", `"title":"MCP tool call","data":{"item":{"server":"s","tool":"t__u","arguments":{"n":1}}}`),
			Entry("in its input", `"data":{"item":{"server":"s","tool":"t__u","input":{"n":1}}}`),
			Entry("half here, half there", `"title":"mcp__s__t__u","data":{"server":"s","input":[1],"arguments":{"n":1}}`),
		)

		It("has them in the order in which they began", func() {
			Expect(batchesOf(took(saying("a/1", "m", "go"), calling("a/1", "c1", "x"), calling("a/1", "c2", "y"),
				strings.Replace(calling("a/1", "c2", "y"), "started", "completed", 1), strings.Replace(calling("a/1", "c1", "x"), "started", "completed", 1)))).
				To(Equal(`[[{"expectInput":"go"},{"tool":"x"},{"tool":"y"}]]`))
		})

		It("takes what later events tell of one, which are no other calls", func() {
			Expect(batchesOf(took(saying("a/1", "m", "go"), `a/1 item.started c {"itemType":"mcp_tool_call","data":{"input":{}}}`, calling("a/1", "d", "y"),
				`a/1 item.updated c {"itemType":"mcp_tool_call","title":"mcp__ycodium__x","data":{"input":{"n":1}}}`,
				`a/1 item.updated c {"itemType":"mcp_tool_call","data":{"input":{"n":2}}}`,
				`a/1 item.completed c {"itemType":"mcp_tool_call","status":"failed","title":"MCP tool call","data":{"input":{}}}`))).
				To(Equal(`[[{"expectInput":"go"},{"tool":"x","arguments":{"n":2}},{"tool":"y"}]]`))
		})

		It("tells those without an id apart by what they are called, and where they end", func() {
			call := func(typ, tool string, n int) string {
				return fmt.Sprintf(`a/1 item.%s - {"itemType":"mcp_tool_call","title":"mcp__ycodium__%s","data":{"input":{"n":%d}}}`, typ, tool, n)
			}
			Expect(batchesOf(took(saying("a/1", "m", "go"), call("started", "x", 0), call("started", "y", 0), call("started", "x", 0), call("updated", "x", 1),
				call("completed", "y", 3), call("completed", "x", 1), call("completed", "x", 2), call("completed", "x", 4)))).
				To(Equal(`[[{"expectInput":"go"},{"tool":"x","arguments":{"n":1}},{"tool":"y","arguments":{"n":3}},{"tool":"x","arguments":{"n":2}},{"tool":"x","arguments":{"n":4}}]]`))
		})

		It("tells apart the items of two turns, and of two types, that have the same id", func() {
			Expect(batchesOf(took(saying("a/1", "i", "go"), calling("a/1", "i", "x"), saying("a/2", "i", "on"), calling("a/2", "i", "y")))).
				To(Equal(`[[{"expectInput":"go"},{"tool":"x"}],[{"expectInput":"on"},{"tool":"y"}]]`))
		})

		It("names no server that is the built-in one, which may be another one, and may have a name of that kind", func() {
			call := `a/1 item.started c {"itemType":"mcp_tool_call","title":"mcp__my__host__x","data":{"input":{}}}`
			Expect(batchesOf(took(saying("a/1", "m", "go"), call))).To(Equal(`[[{"expectInput":"go"},{"server":"my","tool":"host__x"}]]`))
			Expect(batchesOf(took(saying("a/1", "m", "go"), call), fakeagent.FromRecording{BuiltInServer: "my__host"})).To(Equal(`[[{"expectInput":"go"},{"tool":"x"}]]`))
			Expect(batchesOf(took(saying("a/1", "m", "go"), calling("a/1", "c", "x")), fakeagent.FromRecording{BuiltInServer: "my__host"})).
				To(Equal(`[[{"expectInput":"go"},{"server":"ycodium","tool":"x"}]]`))
		})

		It("has no arguments where there were none", func() {
			Expect(batchesOf(took(saying("a/1", "m", "go"), `a/1 item.started c {"itemType":"mcp_tool_call","title":"mcp__ycodium__x","data":{"arguments":null}}`,
				`a/1 item.started d {"itemType":"mcp_tool_call","title":"mcp__ycodium__y","data":{"arguments":{"a":"⟨undefined⟩"}}}`))).
				To(Equal(`[[{"expectInput":"go"},{"tool":"x"},{"tool":"y"}]]`))
		})

		It("has the arguments as they were recorded, but for what is undefined", func() {
			Expect(batchesOf(took(saying("a/1", "m", "go"), `a/1 item.started c {"itemType":"mcp_tool_call","title":"mcp__ycodium__x","data":{"input":`+
				`{ "z": 1.50, "a": 12345678901234567890, "no": "⟨undefined⟩", "in": ["⟨undefined⟩", {"no": "⟨undefined⟩"}], "t": "<&> ⟨undefined⟩!", "id": "w-1", "nil": null, "yes": true}}}`))).
				To(Equal(`[[{"expectInput":"go"},{"tool":"x","arguments":{"z":1.50,"a":12345678901234567890,"in":[{}],"t":"<&> ⟨undefined⟩!","id":"w-1","nil":null,"yes":true}}]]`))
		})

		It("says where a text would be filled in when it plays", func() {
			p, notes, err := fakeagent.PlaybookFromRecording([]byte(took(saying("a/0", "m", "first"), saying("a/1", "m", "go"), calling("a/1", "b", "w"),
				`a/1 item.started c {"itemType":"mcp_tool_call","title":"mcp__ycodium__x","data":{"input":{"text":"{{thread}}, {{step:a.b}} and {{thread}}, {{other}}"}}}`)),
				fakeagent.FromRecording{})
			Expect(err).NotTo(HaveOccurred())
			Expect(notes).To(Equal([]string{`threads[0].turns[1][2] (thread "a"): what is text in the recording is a placeholder here: {{step:a.b}}, {{thread}}`}))
			Expect(p.Lines[0].Batches[1][2]).To(BeAssignableToTypeOf(script.TemplateStep{}))
		})

		DescribeTable("leaves out one of which too little is known, and says so", func(payload, why string) {
			book, notes := adapted(took(saying("a/1", "m", "go"), `a/1 item.started c {"itemType":"mcp_tool_call",`+payload+`}`,
				`a/1 item.completed - {"itemType":"mcp_tool_call",`+payload+`}`, calling("a/1", "d", "y")))
			Expect(onlyLine(book)).To(Equal(`[[{"expectInput":"go"},{"tool":"y"}]]`))
			why = `threads[0].turns[0] (thread "a", turn "1"): a call ` + why + ` recorded`
			Expect(notes).To(Equal([]string{why + ` (item "c")`, why}))
		},
			Entry("no name of that kind", `"title":"t","data":{"toolName":"t","input":{}}`, "is left out, since its tool is not"),
			Entry("no server", `"data":{"tool":"t","input":{}}`, "is left out, since its tool is not"),
			Entry("no tool", `"data":{"server":"s","input":{}}`, "is left out, since its tool is not"),
			Entry("nothing behind the server", `"title":"mcp__s__","data":{"input":{}}`, "is left out, since its tool is not"),
			Entry("nothing behind the built-in server", `"title":"mcp__ycodium__","data":{"input":{}}`, "is left out, since its tool is not"),
			Entry("nothing before the tool", `"title":"mcp____t","data":{"input":{}}`, "is left out, since its tool is not"),
			Entry("a server that would be all of them", `"title":"mcp__*__t","data":{"input":{}}`, "is left out, since its tool is not"),
			Entry("no data", `"title":"mcp__s__t"`, "of t is left out, since its arguments are not"),
			Entry("arguments that are no object", `"title":"mcp__s__t","data":{"input":"{}","arguments":[]}`, "of t is left out, since its arguments are not"),
			Entry("arguments that are undefined", `"title":"mcp__s__t","data":{"input":"⟨undefined⟩"}`, "of t is left out, since its arguments are not"),
		)

		It("has no other tools than those of MCP servers", func() {
			Expect(batchesOf(took(saying("a/1", "m", "go"), `a/1 item.started c {"itemType":"dynamic_tool_call","title":"mcp__ycodium__x","data":{"input":{}}}`))).
				To(Equal(`[[{"expectInput":"go"}]]`))
		})
	})

	DescribeTable("is refused in the words of a replay", func(text string) {
		a := replayer(text)
		end := a.run("go").Ending
		p, notes, err := fakeagent.PlaybookFromRecording([]byte(text), fakeagent.FromRecording{})
		Expect(err).To(MatchError(MatchRegexp(`.`)))
		Expect(end.Message).To(MatchRegexp(`^replay: /\S*recording\.json: .`))
		Expect(end.Message).To(HaveSuffix("recording.json: " + err.Error()))
		Expect(p).To(BeNil())
		Expect(notes).To(BeNil())
	},
		Entry("no JSON", "[{]"),
		Entry("neither an array nor an object", `"events"`),
		Entry("an object without events", `{"event":[]}`),
		Entry("events that are no array", `{"events":{}}`),
		Entry("an event without a payload", "[\n{\"type\":\"turn.started\",\"threadId\":\"a\"}]"),
		Entry("an event whose item's id is no text", `[{"type":"turn.started","itemId":5,"payload":{}}]`),
	)

	It("is refused where arguments are nested as deep as JSON may be, and would be deeper in it", func() {
		deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
		from := func(n int) error {
			_, _, err := fakeagent.PlaybookFromRecording([]byte(took(`a/1 item.started c {"itemType":"mcp_tool_call","title":"mcp__s__t","data":{"input":{"in":`+deep(n)+`}}}`)),
				fakeagent.FromRecording{})
			return err
		}
		Expect(from(9000)).To(Succeed())
		Expect(from(9995)).To(MatchError(HavePrefix("its playbook: invalid character '[' exceeded max depth (line 1, ")))
	})
})

// FuzzPlaybookFromRecording holds that the playbook of any recording is one, and has each call once, unless a note says that it is left out.
func FuzzPlaybookFromRecording(f *testing.F) {
	for _, text := range []string{
		twoAgents, subAgent, "[]", `{"events":[]}`, "[5]", `[{"type":"item.started","payload":{}}]`,
		took(saying("a/1", "m", "go {{thread}}"), calling("a/1", "-", "x"), saying("a/1", "-", ""), calling("a/1", "c", "{{thread}}")),
		took("a/- turn.started", calling("a/-", "c", "x"), "a/- turn.completed", calling("a/-", "c", "x"), "a/1 turn.started", calling("a/1", "c", "x"), calling("a/2", "c", "")),
		took(`a/1 item.started c {"itemType":"mcp_tool_call","data":{"item":{"server":"*","tool":"mcp__\ud800__x","arguments":{"{{input}}":"{{config.x}}⟨undefined⟩"}}}}`),
		took(calling("a/1", "c", "")),
		took(`a/1 item.completed c {"itemType":"mcp_tool_call","data":{"server":"s","tool":"{{step:*.a[b=c]}}","input":null}}`),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, member := range []bool{false, true} {
			p, notes, err := fakeagent.PlaybookFromRecording(data, fakeagent.FromRecording{MemberMachines: member})
			if err != nil {
				if p != nil {
					t.Fatalf("a playbook with the error %v", err)
				}
				continue
			}
			written, err := p.MarshalJSON()
			if err != nil {
				t.Fatalf("a playbook that has no JSON: %v", err)
			}
			again, err := playbook.Parse(written)
			if err != nil {
				t.Fatalf("a playbook that is refused: %v\n%s", err, written)
			}
			if twice, err := again.MarshalJSON(); err != nil || string(twice) != string(written) {
				t.Fatalf("a playbook that changes: %v\n%s\n%s", err, written, twice)
			}
			calls, left := 0, 0
			for _, l := range p.Lines {
				for _, b := range l.Batches {
					for _, s := range b {
						if s.Key() == (script.MCPStep{}).Key() {
							calls++
						}
					}
				}
			}
			for _, n := range notes {
				if strings.Contains(n, ": a call ") && strings.Contains(n, " left out") {
					left++
				}
			}
			if least, most := callsOf(data); calls+left < least || calls+left > most {
				t.Fatalf("%d calls, and %d left out, of at least %d and at most %d", calls, left, least, most)
			}
		}
	})
}

// callsOf is how many calls a recording has: those that have all ids, and up to as many more as there are events of others.
func callsOf(data []byte) (least, most int) {
	var events []map[string]json.RawMessage
	if json.Unmarshal(data, &events) != nil {
		var whole map[string]json.RawMessage
		_ = json.Unmarshal(data, &whole)
		_ = json.Unmarshal(whole["events"], &events)
	}
	seen, more := map[[3]string]bool{}, 0
	for _, e := range events {
		text := func(raw []byte) (s string) {
			_ = json.Unmarshal(raw, &s)
			if s == "⟨undefined⟩" {
				return ""
			}
			return s
		}
		payload, _ := script.NewDoc(e["payload"])
		itemType, _ := payload.Lookup("itemType")
		typ := text(e["type"])
		if typ != "item.started" && typ != "item.updated" && typ != "item.completed" || text([]byte(itemType)) != "mcp_tool_call" || text(e["threadId"]) == "" {
			continue
		}
		if ids := [3]string{text(e["threadId"]), text(e["turnId"]), text(e["itemId"])}; ids[1] != "" && ids[2] != "" {
			seen[ids] = true
		} else {
			more++
		}
	}
	return len(seen), len(seen) + more
}
