package timeline_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-go/understudy/fakeagent/timeline"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func say(text string) timeline.AssistantMessage { return timeline.AssistantMessage{Text: text} }

func call(id string, status timeline.Status, detail timeline.Detail) timeline.ToolCall {
	return timeline.ToolCall{CallID: id, Name: "Bash", Detail: detail, Status: status}
}

func card(id string, version int) timeline.Plugin {
	return timeline.Plugin{ID: id, PluginID: "stats", Kind: "chart", Version: version, Data: json.RawMessage(`{}`)}
}

var _ = Describe("A log", func() {
	var log *timeline.Log
	add := func(turn, id string, items ...timeline.Item) {
		for _, it := range items {
			log.Append(noon, turn, id, it)
		}
	}
	BeforeEach(func() { log = timeline.NewLog("epoch-1") })

	It("numbers its rows from 1 and stamps them with its epoch", func() {
		Expect(log.Append(noon, "turn-1", "u", timeline.UserMessage{Text: "hi"})).To(Equal(
			timeline.Row{Seq: 1, Epoch: "epoch-1", Time: noon, TurnID: "turn-1", ItemID: "u", Item: timeline.UserMessage{Text: "hi"}}))
		Expect(log.Append(noon, "turn-1", "", say("ho")).Seq).To(Equal(2))
		Expect(log.Rows()).To(HaveLen(2))
		Expect(log.Snapshot().Epoch()).To(Equal("epoch-1"))
	})

	It("keeps each state of a tool call as a row of its own, while a snapshot shows the call once", func() {
		add("turn-1", "t-1-1", call("t-1-1", timeline.Running, timeline.Plan{}), call("t-1-1", timeline.Completed, timeline.Plan{}))
		Expect(log.Rows()).To(HaveLen(2))
		Expect(log.Rows()[0].Item).To(HaveField("Status", timeline.Running))
		Expect(log.Snapshot().Items()).To(Equal(timeline.Items{call("t-1-1", timeline.Completed, timeline.Plan{})}))
	})

	It("hands out rows that stay as they are when more are appended", func() {
		add("turn-1", "", say("one"))
		rows := log.Rows()
		add("turn-1", "", say("two"))
		Expect(rows).To(HaveLen(1))
		Expect(append(rows, timeline.Row{Seq: 99})).To(HaveLen(2)) // must not land in the log
		Expect(log.Rows()[1].Seq).To(Equal(2))
	})

	Describe("shows a tool call at its first place, and of its states", func() {
		It("the later fields", func() {
			add("turn-1", "t-1-1", call("t-1-1", timeline.Running, timeline.Shell{Command: "ls"}))
			add("turn-1", "a", say("meanwhile"))
			failed := call("t-1-1", timeline.Failed, timeline.Shell{Command: "ls", ExitCode: timeline.Exited(2)})
			failed.Error = "exit code 2"
			add("turn-1", "t-1-1", failed)
			Expect(log.Snapshot().Items()).To(Equal(timeline.Items{failed, say("meanwhile")}))

			add("turn-1", "t-1-1", call("t-1-1", timeline.Completed, timeline.Shell{Command: "ls"}))
			Expect(log.Snapshot().At(0)).To(HaveField("Error", BeNil()), "an error goes with failed only")
		})

		It("the name of an earlier one when a later one has none", func() {
			nameless := call("t-1-1", timeline.Completed, timeline.Plan{})
			nameless.Name = ""
			add("turn-1", "t-1-1", call("t-1-1", timeline.Running, timeline.Plan{}), nameless)
			Expect(log.Snapshot().At(0)).To(HaveField("Name", "Bash"))
		})

		DescribeTable("never an unknown detail in place of a known one:",
			func(before, after, want timeline.Detail) {
				add("turn-1", "t-1-1", call("t-1-1", timeline.Running, before), call("t-1-1", timeline.Completed, after))
				Expect(log.Snapshot().At(0)).To(Equal(call("t-1-1", timeline.Completed, want)))
			},
			Entry("known, then unknown", timeline.Shell{Command: "ls"}, timeline.Unknown{Input: json.RawMessage(`1`)}, timeline.Shell{Command: "ls"}),
			Entry("known, then none", timeline.Shell{Command: "ls"}, nil, timeline.Shell{Command: "ls"}),
			Entry("known, then another known one", timeline.Shell{Command: "ls"}, timeline.Read{FilePath: "/a"}, timeline.Read{FilePath: "/a"}),
			Entry("unknown, then known", timeline.Unknown{}, timeline.Shell{Command: "ls"}, timeline.Shell{Command: "ls"}),
			Entry("unknown, then unknown", timeline.Unknown{}, timeline.Unknown{Output: json.RawMessage(`1`)}, timeline.Unknown{Output: json.RawMessage(`1`)}),
			Entry("of a type of its own, then unknown", timeline.Raw{JSON: json.RawMessage(`{"type":"x"}`)}, timeline.Unknown{}, timeline.Raw{JSON: json.RawMessage(`{"type":"x"}`)}),
		)

		DescribeTable("the metadata of all, key by key:",
			func(before, after, want string) {
				raw := func(s string) json.RawMessage {
					if s == "" {
						return nil
					}
					return json.RawMessage(s)
				}
				one, two := call("t-1-1", timeline.Running, timeline.Plan{}), call("t-1-1", timeline.Completed, timeline.Plan{})
				one.Metadata, two.Metadata = raw(before), raw(after)
				add("turn-1", "t-1-1", one, two)
				Expect(log.Snapshot().At(0)).To(HaveField("Metadata", Equal(raw(want))))
			},
			Entry("the later value of a key wins, the order is that of the alphabet", `{"b":1,"a":"<"}`, `{"c":3,"b":2}`, `{"a":"<","b":2,"c":3}`),
			Entry("a later state without metadata keeps it", `{"a":1}`, ``, `{"a":1}`),
			Entry("a later state may bring the first metadata", ``, `{"a":1}`, `{"a":1}`),
			Entry("values are not merged any deeper", `{"a":{"x":1}}`, `{"a":{"y":2}}`, `{"a":{"y":2}}`),
			Entry("what is no object is replaced", `[1]`, `{"a":1}`, `{"a":1}`),
		)
	})

	It("knows the turn that a tool call began in, whichever turn changed it last", func() {
		add("turn-1", "t-1-1", call("t-1-1", timeline.Running, timeline.Plan{}))
		add("turn-2", "t-1-1", call("t-1-1", timeline.Completed, timeline.Plan{}))
		turn, ok := log.TurnOfCall("t-1-1")
		Expect(turn).To(Equal("turn-1"))
		Expect(ok).To(BeTrue())
		_, ok = log.TurnOfCall("t-9-9")
		Expect(ok).To(BeFalse())
	})

	Describe("joins text that was sent in pieces", func() {
		It("when the rows are adjacent, of one turn and one item id", func() {
			add("turn-1", "a-1-1", timeline.AssistantMessage{Text: "Hel", MessageID: "m"}, timeline.AssistantMessage{Text: "lo ", MessageID: "m"}, timeline.AssistantMessage{Text: "世界", MessageID: "m"})
			Expect(log.Snapshot().Items()).To(Equal(timeline.Items{timeline.AssistantMessage{Text: "Hello 世界", MessageID: "m"}}))
			Expect(log.Rows()).To(HaveLen(3))
		})

		It("when it is reasoning, too", func() {
			add("turn-1", "r-1", timeline.Reasoning{Text: "h"}, timeline.Reasoning{Text: "m"})
			Expect(log.Snapshot().Items()).To(Equal(timeline.Items{timeline.Reasoning{Text: "hm"}}))
		})

		It("but keeps two messages in a row apart by their item ids", func() {
			add("turn-1", "r-1", timeline.Reasoning{Text: "first"})
			add("turn-1", "r-2", timeline.Reasoning{Text: "second"})
			Expect(log.Snapshot().Items()).To(Equal(timeline.Items{timeline.Reasoning{Text: "first"}, timeline.Reasoning{Text: "second"}}))
		})

		It("but not reasoning with an answer, even if a provider gives both one id", func() {
			add("turn-1", "x", timeline.Reasoning{Text: "hm"}, say("yes"))
			Expect(log.Snapshot().Len()).To(Equal(2))
		})

		It("but not text that another row separates, a new state of an earlier tool call included", func() {
			add("turn-1", "t", call("t", timeline.Running, timeline.Plan{}))
			add("turn-1", "a", say("one"))
			add("turn-1", "t", call("t", timeline.Completed, timeline.Plan{}))
			add("turn-1", "a", say("two"))
			Expect(log.Snapshot().Items()).To(Equal(timeline.Items{call("t", timeline.Completed, timeline.Plan{}), say("one"), say("two")}))
		})

		It("but not across turns", func() {
			add("turn-1", "a", say("one"))
			add("turn-2", "a", say("two"))
			Expect(log.Snapshot().Len()).To(Equal(2))
		})

		It("but not text without an item id", func() {
			add("turn-1", "", say("one"), say("two"))
			Expect(log.Snapshot().Len()).To(Equal(2))
		})
	})

	Describe("shows of a plugin's rows", func() {
		It("the latest of one id, at the first one's place", func() {
			add("turn-1", "", card("a", 1), say("between"), card("a", 2))
			Expect(log.Snapshot().Items()).To(Equal(timeline.Items{card("a", 2), say("between")}))
			Expect(log.Rows()).To(HaveLen(3))
		})

		It("those with other ids, and those of other plugins with the same id", func() {
			other := card("a", 1)
			other.PluginID = "lint"
			add("turn-1", "", card("a", 1), card("b", 1), other)
			Expect(log.Snapshot().Len()).To(Equal(3))
		})

		It("a later one in the turn where the first one stands", func() {
			add("turn-1", "", timeline.UserMessage{Text: "1"}, card("a", 1))
			add("turn-2", "", timeline.UserMessage{Text: "2"}, card("a", 2))
			Expect(log.Snapshot().TurnOf(1)).To(Equal("turn-1"))
			Expect(log.Snapshot().Turn("turn-1").Items()).To(Equal(timeline.Items{timeline.UserMessage{Text: "1"}, card("a", 2)}))
			Expect(log.Snapshot().Turn("turn-2").Items()).To(Equal(timeline.Items{timeline.UserMessage{Text: "2"}}))
		})
	})

	Describe("gives snapshots", func() {
		It("that never change, whatever is appended later", func() {
			add("turn-1", "a", say("He"))
			add("turn-1", "", card("a", 1))
			add("turn-1", "t", call("t", timeline.Running, timeline.Plan{}))
			before := log.Snapshot()
			want := timeline.Items{say("He"), card("a", 1), call("t", timeline.Running, timeline.Plan{})}

			add("turn-1", "t", call("t", timeline.Completed, timeline.Plan{}))
			add("turn-1", "", card("a", 2))
			add("turn-1", "b", say("more"))
			Expect(before.Items()).To(Equal(want))
			Expect(log.Snapshot().Items()).To(Equal(timeline.Items{say("He"), card("a", 2), call("t", timeline.Completed, timeline.Plan{}), say("more")}))
		})

		It("that keep a message as it was in the middle of it", func() {
			var snapshots []timeline.Timeline
			for range 50 {
				add("turn-1", "a", say("ab"))
				snapshots = append(snapshots, log.Snapshot())
			}
			for i, s := range snapshots {
				Expect(s.Items()).To(Equal(timeline.Items{say(strings.Repeat("ab", i+1))}))
			}
		})

		It("that other goroutines may read while one goes on writing", func() {
			const rows = 2000
			shown := make(chan timeline.Timeline, rows)
			var readers sync.WaitGroup
			wrong := make(chan string, 4)
			for range cap(wrong) {
				readers.Go(func() {
					for tl := range shown {
						first := tl.Items()
						c := tl.At(0).(timeline.ToolCall)
						if want := fmt.Sprint(tl.Len() - 1); c.Name != want || len(tl.At(tl.Len()-1).(timeline.AssistantMessage).Text) != 1 {
							wrong <- fmt.Sprintf("a snapshot of %s rounds shows call %q and %v", want, c.Name, tl.At(tl.Len()-1))
							return
						}
						if second := tl.Items(); !slices.Equal(asJSON(first), asJSON(second)) {
							wrong <- "a snapshot differs from itself"
							return
						}
					}
				})
			}
			for i := range rows / 4 {
				c := call("t", timeline.Running, timeline.Plan{})
				c.Name = fmt.Sprint(i + 1)
				add("turn-1", "t", c)
				add("turn-1", fmt.Sprint("a", i), say("x"))
				shown <- log.Snapshot()
				add("turn-1", fmt.Sprint("a", i), say("y")) // grows the text that the snapshot ends with
			}
			close(shown)
			readers.Wait()
			Expect(wrong).To(BeEmpty())
		})

		It("that can be walked, counted and copied", func() {
			add("turn-1", "", timeline.UserMessage{Text: "hi"}, say("ho"))
			tl := log.Snapshot()
			Expect(tl.Len()).To(Equal(2))
			Expect(tl.At(1)).To(Equal(say("ho")))
			var walked []string
			for i, it := range tl.All() {
				walked = append(walked, fmt.Sprint(i, " ", it.Type()))
			}
			Expect(walked).To(Equal([]string{"0 user_message", "1 assistant_message"}))
			for i := range tl.All() {
				Expect(i).To(BeZero())
				break
			}
			tl.Items()[0] = nil
			Expect(tl.At(0)).To(Equal(timeline.UserMessage{Text: "hi"}), "Items is a copy")
		})

		It("that are JSON arrays of their items", func() {
			add("turn-1", "", say("<"))
			Expect(encoded(log.Snapshot())).To(Equal(`[{"type":"assistant_message","text":"<"}]`))
			Expect(encoded(timeline.Timeline{})).To(Equal(`[]`))
		})
	})

	Describe("gives the part of a snapshot that is one turn", func() {
		BeforeEach(func() {
			for _, turn := range []string{"turn-1", "turn-2", "turn-3"} {
				add(turn, "", timeline.UserMessage{Text: turn}, say("did "+turn))
			}
		})

		DescribeTable("(the user's message comes first):", func(turn string) {
			tl := log.Snapshot().Turn(turn)
			Expect(tl.Items()).To(Equal(timeline.Items{timeline.UserMessage{Text: turn}, say("did " + turn)}))
			Expect(tl.Epoch()).To(Equal("epoch-1"))
			Expect(tl.Turn(turn).Items()).To(Equal(tl.Items()))
			Expect(tl.TurnOf(1)).To(Equal(turn))
		},
			Entry("the newest turn", "turn-3"), Entry("the one before", "turn-2"), Entry("the first", "turn-1"))

		It("which is empty for a turn that never was", func() {
			Expect(log.Snapshot().Turn("turn-9").Len()).To(BeZero())
			Expect(log.Snapshot().Turn("turn-3").Turn("turn-1").Len()).To(BeZero())
			Expect(timeline.Timeline{}.Turn("turn-1").Items()).To(BeEmpty())
		})

		It("also where rows of two turns are mixed, as a plugin that is late makes them", func() {
			add("turn-2", "", card("late", 1))
			add("turn-3", "", say("more"))
			Expect(log.Snapshot().Turn("turn-2").Items()).To(Equal(timeline.Items{timeline.UserMessage{Text: "turn-2"}, say("did turn-2"), card("late", 1)}))
			Expect(log.Snapshot().Turn("turn-3").Items()).To(Equal(timeline.Items{timeline.UserMessage{Text: "turn-3"}, say("did turn-3"), say("more")}))
		})

		It("also where the user speaks again in a turn, or for the first time after the agent did", func() {
			add("turn-3", "", timeline.UserMessage{Text: "and this"}, say("that too"))
			Expect(log.Snapshot().Turn("turn-3").Len()).To(Equal(4))
			add("turn-4", "", say("early"), timeline.UserMessage{Text: "turn-4"})
			Expect(log.Snapshot().Turn("turn-4").Items()).To(Equal(timeline.Items{say("early"), timeline.UserMessage{Text: "turn-4"}}))
		})

		It("also where the user's message of an older turn comes late", func() {
			add("turn-1", "", timeline.UserMessage{Text: "again"})
			Expect(log.Snapshot().Turn("turn-1").Len()).To(Equal(3))
			Expect(log.Snapshot().Turn("turn-3").Len()).To(Equal(2))
		})

		It("in which older snapshots do not see what came later", func() {
			before := log.Snapshot()
			add("turn-3", "", say("more"))
			Expect(before.Turn("turn-3").Len()).To(Equal(2))
			add("turn-4", "", timeline.UserMessage{Text: "turn-4"})
			Expect(before.Turn("turn-3").Len()).To(Equal(2))
			Expect(before.Turn("turn-4").Len()).To(BeZero())
		})
	})
})

// asJSON makes items comparable.
func asJSON(items timeline.Items) []string {
	out := make([]string, len(items))
	for i, it := range items {
		out[i] = encoded(it)
	}
	return out
}

var _ = Describe("A projection", func() {
	It("shows the same as a log, for those who store no rows", func() {
		var p timeline.Projection
		Expect(p.Snapshot().Items()).To(BeEmpty())
		p.Add("turn-1", "a", say("Hel"))
		p.Add("turn-1", "a", say("lo"))
		Expect(p.Snapshot().Items()).To(Equal(timeline.Items{say("Hello")}))
		Expect(p.Snapshot().Turn("turn-1").Len()).To(Equal(1))
		Expect(p.Snapshot().Epoch()).To(BeEmpty())
	})
})

var _ = Describe("The JSON form of a row", func() {
	row := timeline.Row{
		Seq: 7, Epoch: "epoch-1", Time: noon.Add(5 * time.Millisecond), TurnID: "turn-1", ItemID: "t-1-1",
		Item: call("t-1-1", timeline.Running, timeline.Shell{Command: "a<b"}),
	}
	const want = `{"seq":7,"epoch":"epoch-1","timestamp":"2026-01-02T12:00:00.005Z","turnId":"turn-1","itemId":"t-1-1",` +
		`"item":{"type":"tool_call","callId":"t-1-1","name":"Bash","detail":{"type":"shell","command":"a<b"},"status":"running","error":null}}`

	It("has its fields in order, and reads back equal", func() {
		data, err := timeline.JSON(row)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(data)).To(Equal(want))
		var back timeline.Row
		Expect(json.Unmarshal(data, &back)).To(Succeed())
		Expect(back).To(Equal(row))
		Expect(cmp.Diff(row, back)).To(BeEmpty())
	})

	It("reads back equal from encoding/json too, which escapes <", func() {
		data, err := json.Marshal(row)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(data)).To(ContainSubstring(`\u003c`))
		var back timeline.Row
		Expect(json.Unmarshal(data, &back)).To(Succeed())
		Expect(back).To(Equal(row))
	})

	It("leaves out a turn and an item id that it does not have", func() {
		Expect(timeline.JSON(timeline.Row{Seq: 1, Epoch: "e", Time: noon, Item: say("x")})).To(MatchJSON(
			`{"seq":1,"epoch":"e","timestamp":"2026-01-02T12:00:00Z","item":{"type":"assistant_message","text":"x"}}`))
	})

	It("keeps an item of a type that this version does not know", func() {
		var back timeline.Row
		Expect(json.Unmarshal([]byte(`{"seq":1,"epoch":"e","timestamp":"2026-01-02T12:00:00Z","item":{"type":"novel","x":1}}`), &back)).To(Succeed())
		Expect(back.Item).To(Equal(timeline.Raw{JSON: json.RawMessage(`{"type":"novel","x":1}`)}))
	})

	It("is refused without an item", func() {
		var back timeline.Row
		Expect(json.Unmarshal([]byte(`{"seq":1,"item":{}}`), &back)).To(MatchError(`timeline: item: want an object with a "type"`))
		Expect(json.Unmarshal([]byte(`{"seq":1}`), &back)).To(MatchError("timeline: item: unexpected end of JSON input"))
	})
})

var _ = Describe("Snapshots taken at any time", func() {
	It("hold what the rows of that time hold, whatever came later", func() {
		for seed := range uint64(200) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			log := timeline.NewLog("e")
			type taken struct {
				rows int
				tl   timeline.Timeline
			}
			var all []taken
			for range 60 {
				turn := fmt.Sprint("turn-", rnd.IntN(3))
				switch id := fmt.Sprint(rnd.IntN(4)); rnd.IntN(5) {
				case 0:
					log.Append(time.Time{}, turn, "m"+id, timeline.AssistantMessage{Text: fmt.Sprint(rnd.IntN(10)), MessageID: "m" + id})
				case 1:
					log.Append(time.Time{}, turn, "r"+id, timeline.Reasoning{Text: fmt.Sprint(rnd.IntN(10))})
				case 2:
					log.Append(time.Time{}, turn, id, timeline.ToolCall{CallID: id, Name: fmt.Sprint(rnd.IntN(10)), Status: timeline.Running})
				case 3:
					log.Append(time.Time{}, turn, "", timeline.Plugin{ID: id, Version: rnd.IntN(10)})
				default:
					all = append(all, taken{len(log.Rows()), log.Snapshot()})
				}
			}
			for _, s := range all {
				again := timeline.NewLog("e")
				for _, r := range log.Rows()[:s.rows] {
					again.Append(r.Time, r.TurnID, r.ItemID, r.Item)
				}
				Expect(s.tl.Items()).To(Equal(again.Snapshot().Items()), "seed %d, after %d rows", seed, s.rows)
			}
		}
	})
})
