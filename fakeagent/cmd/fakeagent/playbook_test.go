package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/playbook"
	. "github.com/understudy-go/understudy/matchers"
)

// tookNotes is a recording of an agent that takes a note, is told of another one meanwhile, and then has a turn in which it does nothing.
const tookNotes = `[
	{"type": "turn.started", "threadId": "lead", "turnId": "1", "payload": {}},
	{"type": "item.completed", "threadId": "lead", "turnId": "1", "itemId": "m", "payload": {"itemType": "user_message", "detail": "note <this>"}},
	{"type": "item.completed", "threadId": "lead", "turnId": "1", "itemId": "c", "payload": {"itemType": "mcp_tool_call", "title": "mcp__notes__take",
		"data": {"input": {"text": "<this>", "at": [1.50, {}]}}}},
	{"type": "item.completed", "threadId": "lead", "turnId": "1", "itemId": "n", "payload": {"itemType": "user_message", "detail": "and that"}},
	{"type": "turn.started", "threadId": "lead", "turnId": "2", "payload": {}},
	{"type": "session.started", "threadId": "idle", "payload": {}}
]`

// tookNotesPlay is what is printed of it.
const tookNotesPlay = `{
  "version": 1,
  "threads": [
    {
      "match": {"threadId":"^lead$"},
      "turns": [
        [
          {"expectInput":"note <this>"},
          {"server":"notes","tool":"take","arguments":{"text":"<this>","at":[1.50,{}]}},
          {"awaitSteer":true}
        ],
        [
          {"expectInput":"and that"}
        ],
        []
      ]
    },
    {
      "match": {"threadId":"^idle$"},
      "turns": []
    }
  ]
}
`

var _ = Describe("playbook from-recording", func() {
	var dir string

	BeforeEach(func() { dir = GinkgoT().TempDir() })

	from := func(recording string, args ...string) outcome {
		GinkgoHelper()
		return invoke(append([]string{"playbook", "from-recording", write(filepath.Join(dir, "recording.json"), recording)}, args...)...)
	}

	It("prints the playbook, a step a line, and says on stderr what the recording cannot tell", func() {
		Expect(from(tookNotes)).To(Equal(outcome{0, tookNotesPlay,
			`fakeagent: playbook: threads[0].turns[2] (thread "lead", turn "2"): no text of the message that began it is recorded, so it has no expectInput` + "\n" +
				`fakeagent: playbook: threads[1] (thread "idle") has no turns` + "\n"}))
	})

	It("prints what a playbook is read from, and lint finds nothing wrong with", func() {
		p, err := playbook.Parse([]byte(from(tookNotes).Out))
		Expect(err).NotTo(HaveOccurred())
		again, err := stepByStep(p)
		Expect(err).NotTo(HaveOccurred())
		Expect(again).To(Equal(tookNotesPlay))
		Expect(invoke("lint", write(filepath.Join(dir, "playbook.json"), tookNotesPlay))).To(succeed())
	})

	It("prints an empty playbook for a recording of nothing", func() {
		Expect(from("[]")).To(Equal(outcome{0, "{\n  \"version\": 1,\n  \"threads\": []\n}\n", ""}))
	})

	It("goes on without a steer for threads on member machines", func() {
		got := from(tookNotes, "--member-machines")
		Expect(got.lines()).To(ContainElement(`          {"awaitSteer":{"timeoutMs":60000,"continueOnTimeout":true}}`))
		Expect(got.Err).To(HavePrefix("fakeagent: playbook: threads[0].turns[1] (thread \"lead\", turn \"1\"): when no steer comes "))
	})

	It("leaves out the server that is the built-in one", func() {
		Expect(from(tookNotes, "--built-in", "notes").lines()).To(ContainElement(HavePrefix(`          {"tool":"take",`)))
	})

	DescribeTable("refuses what is no recording, and prints nothing", func(recording, why string) {
		Expect(from(recording)).To(Equal(outcome{2, "", "fakeagent: playbook: " + filepath.Join(dir, "recording.json") + ": " + why + "\n"}))
	},
		Entry("no JSON", "{", `line 1, byte 1: unexpected end of JSON input; a recording is an array of events, an object that has one as "events", or an event a line`),
		Entry("a slip in an event", "[\n{\"type\":\"x\"}]", `events[0] (x), line 2: no "payload"; an event has a "type" and a "payload"`),
	)

	It("refuses a file that cannot be read", func() {
		Expect(invoke("playbook", "from-recording", dir)).To(Equal(
			outcome{2, "", "fakeagent: playbook: read " + dir + ": is a directory; give a file of recorded events\n"}))
	})

	It("fails if it cannot be written", func() {
		errs := gbytes.NewBuffer()
		path := write(filepath.Join(dir, "recording.json"), "[]")
		Expect(run(context.Background(), []string{"playbook", "from-recording", path}, console{brokenWriter{}, errs, false})).To(Equal(1))
		Expect(errs).To(gbytes.Say(`^fakeagent: the output could not be written: disk full\n$`))
	})

	It("prints what exec plays, on the thread that it is for", func() {
		var taken []any
		server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "take"}, func(_ context.Context, _ *mcp.CallToolRequest, in map[string]any) (*mcp.CallToolResult, any, error) {
			taken = append(taken, in["text"])
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "taken"}}}, nil, nil
		})
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
		DeferCleanup(web.Close)

		alone := strings.Replace(tookNotes, `"itemType": "user_message", "detail": "and that"`, `"itemType": "reasoning"`, 1)
		config, err := json.Marshal(map[string]string{"script": "mcp-send", "playbookPath": write(filepath.Join(dir, "playbook.json"), from(alone).Out)})
		Expect(err).NotTo(HaveOccurred())
		got, events := execute(string(config), "--thread", "lead", "--mcp", "notes="+web.URL, "please note <this> down")
		Expect(got).To(succeed())
		Expect(taken).To(Equal([]any{"<this>"}))
		Expect(events).To(EmitEvents(event.Delta{Stream: "assistant_text", Text: "mcp-send notes/take: taken"}, "turn.completed"))

		_, events = execute(string(config), "--mcp", "notes="+web.URL, "please note <this> down")
		Expect(taken).To(HaveLen(1), "the thread is another one")
		Expect(events).To(EmitEvents(event.Delta{Stream: "assistant_text", Text: "fake turn complete"}))
	})
})
