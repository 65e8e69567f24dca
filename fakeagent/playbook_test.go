package fakeagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
	"github.com/understudy-go/understudy/fakeagent/playbook"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// aPlaybook is the path of a file with these lines.
func aPlaybook(lines ...string) string {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), "playbook.json")
	Expect(os.WriteFile(path, []byte(`{"version":1,"threads":[`+strings.Join(lines, ",\n")+`]}`), 0o600)).To(Succeed())
	return path
}

// forAll is a line for whichever thread comes first.
func forAll(batches ...string) string {
	return `{"match":{"threadId":"."},"turns":[` + strings.Join(batches, ",") + `]}`
}

// troupe is threads of one instance with a playbook.
type troupe struct {
	*office
	*fakeagent.Instance
	threads map[string]*agent
}

// play opens threads a and b, whose titles are those of the map, of an instance that plays these lines.
func playing(cfg fakeagent.Config, lines ...string) *troupe {
	GinkgoHelper()
	cfg.PlaybookPath = aPlaybook(lines...)
	o := newOffice()
	in, err := fakeagent.New(o.in(cfg))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(in.Close)
	return &troupe{office: o, Instance: in, threads: map[string]*agent{}}
}

// thread opens one, unless it is open.
func (t *troupe) thread(id, title string) *agent {
	GinkgoHelper()
	if a := t.threads[id]; a != nil {
		return a
	}
	a := &agent{Instance: t.Instance, id: id, ended: make(chan event.TurnCompleted, 100)}
	a.Subscribe(a.note)
	Expect(a.StartSession(context.Background(), session(id, title))).To(Succeed())
	t.threads[id] = a
	return a
}

// replies to a prompt on a thread that has no title.
func (t *troupe) replies(id, prompt string) string {
	GinkgoHelper()
	a := t.thread(id, "")
	Expect(a.run(prompt)).To(EndCompleted())
	return a.reply()
}

// looking is a handler of logs that looks at the instance when it gets one.
type looking struct {
	slog.Handler
	at   *fakeagent.Instance
	seen []string
}

func (l *looking) Enabled(context.Context, slog.Level) bool { return true }

func (l *looking) Handle(_ context.Context, r slog.Record) error {
	l.seen = append(l.seen, r.Message)
	_ = l.at.Dump()
	return nil
}

// reports is what the lines of a reply begin with.
func reports(parts ...string) string {
	for i, p := range parts {
		parts[i] = "mcp-send " + p
	}
	return strings.Join(parts, "\n")
}

// nothing is what an agent answers that has no batch.
const nothing = "fake turn complete"

var _ = Describe("A playbook", bubble.InBubble, func() {
	It("has a batch for each turn of a thread, whatever its prompt is; after the last one mcp-send goes on as without", func() {
		t := playing(fakeagent.Config{}, `{"match":{"threadId":"a"},"turns":[[{"tool":"echo"}],[{"tool":"say","arguments":{"text":"x"}},{"tool":"echo"}]]}`)
		Expect(t.replies("a", "hello")).To(Equal(reports("echo: {}")))
		Expect(t.replies("a", `[{"tool":"refuse"}]`)).To(Equal(reports("say: x", "echo: {}")))
		Expect(t.replies("a", "hello")).To(Equal(nothing))
		Expect(t.replies("a", `[{"tool":"refuse"}]`)).To(Equal(reports("refuse failed: I will not")))
	})

	It("is for threads whose id or title it names; others play mcp-send as without", func() {
		t := playing(fakeagent.Config{},
			`{"match":{"threadId":"^team-member:[^:]+:B$"},"turns":[[{"tool":"say","arguments":{"text":"by id"}}]]}`,
			`{"match":{"title":"Coordinator"},"turns":[[{"tool":"say","arguments":{"text":"by title"}}]]}`)
		Expect(t.replies("none", "x")).To(Equal(nothing))
		t.thread("c", "The Coordinator of it")
		Expect(t.replies("c", "x")).To(Equal(reports("say: by title")))
		Expect(t.replies("team-member:1:B", "x")).To(Equal(reports("say: by id")))
		Expect(t.replies("team-member:2:B", "x")).To(Equal(nothing), "the line is taken")
	})

	It("gives its lines in the order in which threads send, not in that in which they play", func() {
		t := playing(fakeagent.Config{}, forAll(`[{"hold":"g"},{"say":"first"}]`), forAll(`[{"say":"second"}]`))
		a, b := t.thread("a", ""), t.thread("b", "")
		first := a.send("x")
		second := b.send("x")
		b.wait(second)
		a.Gate("a", "g").Release()
		a.wait(first)
		Expect([]string{a.reply(), b.reply()}).To(Equal([]string{"first", "second"}))
	})

	It("keeps who has which line, what was played and what calls returned when sessions end", func(ctx SpecContext) {
		t := playing(fakeagent.Config{}, `{"match":{"threadId":"a"},"turns":[[{"id":"l","tool":"work_list_items"}],[{"tool":"echo","arguments":{"is":"{{step:l.items.0.workItemId}}"}}]]}`)
		t.replies("a", "x")
		Expect(t.sessions()).To(Equal(1))
		Expect(t.StopSession(ctx, "a")).To(Succeed())
		synctest.Wait()
		Expect(t.sessions()).To(BeZero(), "the client is closed with the session")
		Expect(t.StartSession(ctx, session("a", "another title"))).To(Succeed())
		Expect(t.replies("a", "x")).To(Equal(reports(`echo: {"is":"w-1"}`)))
	})

	It("may be one of the test's own, without a file", func() {
		p, err := playbook.Parse([]byte(`{"version":1,"threads":[` + forAll(`[{"say":"1"}]`, `[{"say":"2"}]`) + `]}`))
		Expect(err).NotTo(HaveOccurred())
		for range 2 { // instances share nothing
			a := newOffice().hires(fakeagent.Config{Playbook: p})
			Expect(a.run("x")).To(HaveItems(BeAssistantMessage("1")))
			Expect(a.PlaybookLeft()).To(HavePrefix("1 of 2 batches were not played\n"))
		}
		_, err = fakeagent.New(fakeagent.Config{Script: "mcp-send", Playbook: p, PlaybookPath: "/x.json"})
		Expect(err).To(MatchError("fakeagent: Playbook and PlaybookPath are both set; give one of them"))
	})

	It("is not there for another script", func() {
		path := aPlaybook(forAll(`[{"say":"of the playbook"}]`))
		for _, name := range []string{"plain", "visualize", "lane"} {
			Expect(executor(fakeagent.Config{Script: name, PlaybookPath: path}).run("x")).NotTo(HaveItems(BeAssistantMessage("of the playbook")))
		}
	})

	It("may have any step of the script language in its batches", func() {
		t := playing(fakeagent.Config{}, forAll(`[{"think":"hm"},{"say":"on {{thread}}: {{input}}"},{"tool":{"name":"Read","input":{"path":"a"}}},{"tool":"echo"},{"fail":"no more"}]`))
		Expect(t.thread("a", "").run("go")).To(And(EndFailed("no more"), HaveItems(
			BeReasoning("hm"), BeAssistantMessage("on a: go"), BeToolCall("Read"), BeToolCall("mcp__ycodium__echo"), BeAssistantMessage(reports("echo: {}")), BeErrorItem("no more"))))
	})

	It("says which step of which batch cannot be played", func() {
		t := playing(fakeagent.Config{}, `{"match":{"title":"nobody"},"turns":[]}`,
			forAll(`[{"expectInput":"x"},{"say":"{{config.nope}}"}]`, `[{"say":"1"},{"event":{"type":"turn.completed"}}]`))
		a := t.thread("a", "")
		Expect(a.run("x")).To(EndFailed(HavePrefix("fake-agent: invalid script: threads[1].turns[0]: step 2 (say): ")))
		Expect(a.run("x")).To(EndFailed(HavePrefix("fake-agent: invalid script: threads[1].turns[1]: step 2 (event): ")))
		Expect(a.deltas()).To(BeEmpty(), "nothing of a batch plays that cannot be played")
	})

	It("says what it has to say before its process is gone", func() {
		t := playing(fakeagent.Config{}, forAll(`[{"tool":"echo"},{"exit":3}]`))
		a := t.thread("a", "")
		a.run("x")
		Expect(a.types()[4:7]).To(Equal([]string{"content.delta", "process.exit", "turn.completed"}))
	})

	It("is not used up by a turn whose context is over", func(ctx SpecContext) {
		t := playing(fakeagent.Config{}, forAll(`[{"say":"1"}]`))
		a := t.thread("a", "")
		over, cancel := context.WithCancel(ctx)
		cancel()
		id, err := a.SendTurn(over, fakeagent.TurnInput{ThreadID: "a", Text: "x"})
		Expect(err).NotTo(HaveOccurred())
		Expect(a.wait(id)).To(EndCanceled())
		Expect(t.replies("a", "x")).To(Equal("1"))
	})

	It("says nothing in a turn whose batch has no steps", func() {
		t := playing(fakeagent.Config{}, forAll(`[]`, `[{"say":"second"}]`))
		Expect(t.thread("a", "").run("x")).To(And(EndCompleted(), HaveItems()))
		Expect(t.replies("a", "x")).To(Equal("second"))
	})

	Describe("which has batches for certain inputs", func() {
		It("plays the earliest one for the input; one for any input waits until all before it were played", func() {
			t := playing(fakeagent.Config{}, forAll(
				`[{"expectInput":"alpha"},{"say":"1"}]`,
				`[{"say":"2"}]`,
				`[{"expectInput":"beta"},{"say":"3"}]`,
				`[{"expectInput":"beta"},{"say":"4"}]`))
			Expect(t.replies("a", "the beta woke me")).To(Equal("3"))
			Expect(t.replies("a", "nothing of that")).To(Equal(nothing), "2 has one before it that is left")
			Expect(t.replies("a", "beta, alpha")).To(Equal("1"))
			Expect(t.replies("a", "beta")).To(Equal("2"), "which is the earliest left, and for any input")
			Expect(t.replies("a", "BETA")).To(Equal(nothing))
			Expect(t.replies("a", "beta")).To(Equal("4"))
			Expect(t.replies("a", "beta")).To(Equal(nothing))
		})

		It("leaves a turn that it has none for to mcp-send", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"expectInput":"alpha"},{"say":"1"}]`))
			Expect(t.replies("a", `{"text":"hi"}`)).To(Equal(reports(`send_message: {"sent":{"text":"hi"}}`)))
			Expect(t.replies("a", `{"text":"alpha"}`)).To(Equal("1"))
		})
	})

	Describe("whose calls have placeholders", func() {
		const list = `{"id":"list","tool":"work_list_items"}`
		DescribeTable("fills in",
			func(arguments, want string) {
				t := playing(fakeagent.Config{}, forAll(`[`+list+`,{"tool":"echo","arguments":`+arguments+`}]`))
				t.replies("a", "x")
				Expect(t.called()[1]).To(Equal("echo " + want))
			},
			Entry("the thread", `{"by":"{{thread}}"}`, `{"by":"a"}`),
			Entry("a part of an earlier result", `{"x":"{{step:list.items.1.title}}"}`, `{"x":"docs"}`),
			Entry("a number as a number", `{"x":"{{step:list.items.1.size}}"}`, `{"x":12345678901}`),
			Entry("a flag as a flag", `{"x":"{{step:list.items.0.open}}"}`, `{"x":true}`),
			Entry("an object as an object", `{"x":"{{step:list.items[title=docs]}}"}`, `{"x":{"open":false,"size":12345678901,"title":"docs","workItemId":"w-2"}}`),
			Entry("a whole result", `{"x":"{{step:list}}"}`, `{"x":{"items":[{"open":true,"size":3,"title":"v1.2 of it","workItemId":"w-1"},{"open":false,"size":12345678901,"title":"docs","workItemId":"w-2"}]}}`),
			Entry("an entry that a value with dots selects", `{"x":"{{step:list.items[title=v1.2 of it].workItemId}}"}`, `{"x":"w-1"}`),
			Entry("texts in a text", `{"x":"<{{thread}}|{{step:list.items.0.workItemId}}>"}`, `{"x":"<a|w-1>"}`),
			Entry("other values in a text as JSON", `{"x":"<{{step:list.items.0.size}},{{step:list.items.0.open}},{{step:list.items[size=3]}}>"}`,
				`{"x":"<3,true,{\"open\":true,\"size\":3,\"title\":\"v1.2 of it\",\"workItemId\":\"w-1\"}>"}`),
			Entry("at any depth", `{"x":[{"y":["{{thread}}"]}]}`, `{"x":[{"y":["a"]}]}`),
			Entry("nothing that is none", `{"x":"{{other}} {{step:}} {thread}"}`, `{"x":"{{other}} {{step:}} {thread}"}`),
			Entry("not the names of members", `{"{{thread}}":1}`, `{"{{thread}}":1}`),
		)

		It("has results of earlier turns at hand, and the newer one of two with the same id", func() {
			t := playing(fakeagent.Config{}, forAll(
				`[{"id":"e","tool":"echo","arguments":{"n":1}}]`,
				`[{"tool":"echo","arguments":{"n":"{{step:e.n}}0"}},{"id":"e","tool":"echo","arguments":{"n":2}}]`,
				`[{"tool":"echo","arguments":{"n":"{{step:e.n}}"}}]`))
			for range 3 {
				t.replies("a", "x")
			}
			Expect(t.called()).To(Equal([]string{`echo {"n":1}`, `echo {"n":"10"}`, `echo {"n":2}`, `echo {"n":2}`}))
		})

		It("keeps structured content, else the text as the JSON that it is, else the text; of a call that failed nothing", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"id":"e","tool":"echo","arguments":{"n":1}},
				{"id":"j","tool":"say","arguments":{"text":" {\"m\": [5]} "}},{"id":"t","tool":"say","arguments":{"text":"plain\ntext"}},
				{"id":"e","tool":"refuse"},
				{"tool":"echo","arguments":{"e":"{{step:e.n}}","j":"{{step:j.m.0}}","t":"{{step:t}}"}}]`))
			t.replies("a", "x")
			Expect(t.called()[4]).To(Equal(`echo {"e":1,"j":5,"t":"plain\ntext"}`))
		})

		It("finds the newest call that has something at a path, with an id or without", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"tool":"echo","arguments":{"n":1}},{"tool":"echo","arguments":{"n":2}},{"id":"l","tool":"work_list_items"},{"tool":"refuse"},
				{"tool":"echo","arguments":{"x":"{{step:*.n}} {{step:*n}} {{step:*items[title=docs].workItemId}}"}}]`))
			t.replies("a", "x")
			Expect(t.called()[4]).To(Equal(`echo {"x":"2 2 w-2"}`))
		})

		It("goes on also where the name of a tool, or what is waited for, stands for nothing", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"tool":"{{step:x}}"},{"server":"annex","tool":"{{step:x}}"},{"wait":{"tool":"{{step:x}}"}},{"waitFor":{"tool":"{{step:x}}","path":"","atLeast":0}},{"tool":"echo"}]`))
			const why = " failed: unresolved placeholder {{step:x}}"
			Expect(t.replies("a", "x")).To(Equal(reports("{{…}}"+why, "annex/{{…}}"+why, "wait {{…}}"+why, "{{…}}"+why, "echo: {}")))
		})

		It("does not make a call with one that stands for nothing, says so, and goes on", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"tool":"echo","arguments":{"x":"{{step:none.a}}"}},{"server":"annex","tool":"say","arguments":{"text":"{{step:*nowhere}}"}},{"tool":"echo"}]`))
			Expect(t.replies("a", "x")).To(Equal(reports("echo failed: unresolved placeholder {{step:none.a}}", "annex/say failed: unresolved placeholder {{step:*nowhere}}", "echo: {}")))
			Expect(t.called()).To(Equal([]string{"echo"}))
			Expect(t.threads["a"].types()).To(HaveExactElements("session.started", "turn.started", "item.started", "item.completed", "content.delta", "turn.completed"))
		})

		It("gives no thread what another one got", func() {
			t := playing(fakeagent.Config{},
				`{"match":{"threadId":"a"},"turns":[[{"id":"e","tool":"echo","arguments":{"n":1}}]]}`,
				`{"match":{"threadId":"b"},"turns":[[{"tool":"echo","arguments":{"n":"{{step:e.n}}"}},{"tool":"echo","arguments":{"n":"{{step:*n}}"}}]]}`)
			t.replies("a", "x")
			Expect(t.replies("b", "x")).To(Equal(reports("echo failed: unresolved placeholder {{step:e.n}}", "echo failed: unresolved placeholder {{step:*n}}")))
		})
	})

	It("can name another server of the session for each step", func() {
		t := playing(fakeagent.Config{}, forAll(`[{"server":"annex","tool":"echo"},{"server":"annex","tool":"refuse"},{"wait":{"server":"annex","tool":"mcp__annex__echo"}},
			{"waitFor":{"server":"annex","tool":"message_inbox_peek","path":"count","atLeast":0}},{"server":"nope","tool":"echo"},{"wait":{"server":"nope","tool":"echo"}},
			{"waitFor":{"server":"nope","tool":"echo","path":"","atLeast":0}}]`))
		began := time.Now()
		Expect(t.replies("a", "x")).To(Equal(reports("annex/echo: {}", "annex/refuse failed: I will not", "wait annex/mcp__annex__echo: ready",
			"waitFor annex/message_inbox_peek count >= 0: ready",
			"nope/echo failed: unknown server nope", "wait nope/echo failed: unknown server nope", "nope/echo failed: unknown server nope")))
		Expect(time.Since(began)).To(BeZero())
		Expect(t.threads["a"].run("x")).To(EndCompleted())
	})

	It("tells nobody the URL of a server", func() {
		const secret = "secret-path"
		far := func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("cannot dial http://far/" + secret)
		}
		a := startWith(fakeagent.Config{Script: "mcp-send", MCP: mcpcall.New(mcpcall.Dial(far)), PlaybookPath: aPlaybook(forAll(
			`[{"tool":"echo"},{"wait":{"tool":"echo","timeoutMs":1}},{"waitFor":{"tool":"echo","path":"","atLeast":0,"timeoutMs":1}}]`))},
			fakeagent.SessionConfig{ThreadID: "a", MCPServers: []fakeagent.MCPServer{{Name: "ycodium", URL: "http://far/" + secret}}})
		DeferCleanup(a.Close)
		Expect(a.run("x")).To(EndCompleted())
		Expect(a.reply()).To(And(HavePrefix(`mcp-send echo failed: MCP server "ycodium" `), HaveSuffix(reports("wait echo failed: timeout", "waitFor echo  >= 0 failed: timeout"))))
		Expect(json.Marshal(a.seen())).NotTo(ContainSubstring(secret))
	})

	Describe("that takes steers", func() {
		steer := func(a *agent, turnID, text string) error {
			id, err := a.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: a.id, Text: text, TurnID: turnID})
			if err == nil {
				Expect(id).To(Equal(turnID))
			}
			return err
		}
		refused := And(MatchError(fakeagent.ErrNotSteered), HaveField("Code()", "provider-rejected"))

		It("waits where a batch ends so, and plays the next one in the same turn", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"tool":"echo"},{"awaitSteer":true}]`, `[{"tool":"say","arguments":{"text":"{{input}}"}}]`))
			a := t.thread("a", "")
			id := a.send("x")
			synctest.Wait()
			Expect(steer(a, id, "faster")).To(Succeed())
			run := a.wait(id)
			Expect(run).To(EndCompleted())
			Expect(run.Timeline).To(HaveItems(BeUserMessage("x"), BeToolCall("mcp__ycodium__echo"), BeUserMessage("faster"),
				BeToolCall("mcp__ycodium__say"), BeAssistantMessage(reports("echo: {}", "say: faster"))))
			Expect(a.types()).To(Equal([]string{"session.started", "turn.started", "item.started", "item.completed", "item.started", "item.completed", "content.delta", "turn.completed"}))
		})

		It("takes one as soon as the turn was sent, which is then enough", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"sleep":5000},{"awaitSteer":true}]`, `[{"say":"second"}]`))
			a := t.thread("a", "")
			began := time.Now()
			id := a.send("x")
			Expect(steer(a, id, "y")).To(Succeed())
			Expect(a.wait(id).Timeline).To(HaveItems(BeUserMessage("x"), BeUserMessage("y"), BeAssistantMessage("second")))
			Expect(time.Since(began)).To(Equal(5 * time.Second))
		})

		It("serves several in the order in which they came, each with its own batch", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"hold":"g"},{"awaitSteer":{}}]`, `[{"expectInput":"two"},{"say":"for two"}]`, `[{"expectInput":"one"},{"say":"for one"}]`, `[{"say":"third"}]`))
			a := t.thread("a", "")
			id := a.send("x")
			for _, text := range []string{"one", "two", "three", "four"} {
				Expect(steer(a, id, text)).To(Succeed())
			}
			a.Gate("a", "g").Release()
			Expect(a.wait(id)).To(EndCompleted())
			Expect(a.deltas()).To(Equal([]string{"for one", "for two", "third", reports("steer: playbook has no step for a steered input")}))
		})

		It("takes another one while a batch plays that awaits one, too", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"awaitSteer":true}]`, `[{"hold":"g"},{"awaitSteer":true}]`, `[{"hold":"h"},{"say":"done"}]`))
			a := t.thread("a", "")
			id := a.send("x")
			Expect(steer(a, id, "one")).To(Succeed())
			synctest.Wait()
			Expect(a.HeldAt("a")).To(Equal("g"))
			Expect(steer(a, id, "two")).To(Succeed())
			a.Gate("a", "g").Release()
			synctest.Wait()
			Expect(a.HeldAt("a")).To(Equal("h"))
			Expect(steer(a, id, "three")).To(refused, "this batch awaits none")
			a.Gate("a", "h").Release()
			Expect(a.wait(id).Timeline).To(HaveItems(BeUserMessage("x"), BeUserMessage("one"), BeUserMessage("two"), BeAssistantMessage("done")))
		})

		It("logs one that it has no batch for, and says so in the reply", func() {
			var log strings.Builder
			t := playing(fakeagent.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))},
				forAll(`[{"tool":"echo"},{"awaitSteer":true}]`))
			a := t.thread("a", "")
			id := a.send("x")
			Expect(steer(a, id, "y")).To(Succeed())
			a.wait(id)
			Expect(a.reply()).To(Equal(reports("echo: {}", "steer: playbook has no step for a steered input")))
			Expect(log.String()).To(ContainSubstring(`msg="playbook has no step for a steered input" thread=a turn=` + id))
		})

		It("logs without a lock, so that a handler may look at the thread", func() {
			cfg := fakeagent.Config{PlaybookPath: aPlaybook(forAll(`[{"awaitSteer":true}]`))}
			looks := &looking{Handler: slog.DiscardHandler}
			cfg.Logger = slog.New(looks)
			a := newOffice().hires(cfg)
			looks.at = a.Instance
			id := a.send("x")
			Expect(steer(a, id, "y")).To(Succeed())
			a.wait(id)
			Expect(looks.seen).To(ContainElement("playbook has no step for a steered input"))
		})

		It("refuses one that is not awaited, or for a turn that is over or another one, and plays the same batches then", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"hold":"g"},{"say":"1"}]`, `[{"say":"2"}]`, `[{"say":"3"},{"awaitSteer":{"timeoutMs":10}}]`, `[{"say":"4"}]`))
			a := t.thread("a", "")
			id := a.send("x")
			Expect(steer(a, id, "y")).To(refused)
			Expect(steer(a, "a-turn-7", "y")).To(refused)
			a.Gate("a", "g").Release()
			a.wait(id)
			Expect(steer(a, id, "y")).To(refused)
			Expect(t.replies("a", "y")).To(Equal("2"), "the host sends it as a turn of its own")
			third := a.send("z")
			Expect(steer(a, id, "y")).To(refused)
			a.wait(third)
			Expect(steer(a, third, "y")).To(refused)
			Expect(t.replies("a", "y")).To(Equal("4"))
		})

		DescribeTable("ends the turn, and says nothing of it, when none comes in time:",
			func(step string, after time.Duration) {
				t := playing(fakeagent.Config{Speed: 1000}, forAll(`[{"say":"1"},`+step+`]`, `[{"say":"2"}]`))
				a, began := t.thread("a", ""), time.Now()
				Expect(a.run("x")).To(And(EndCompleted(), HaveItems(BeAssistantMessage("1"))))
				Expect(time.Since(began)).To(Equal(after))
				Expect(t.replies("a", "y")).To(Equal("2"))
			},
			Entry("a minute", `{"awaitSteer":true}`, time.Minute),
			Entry("a minute, in its other form", `{"awaitSteer":{}}`, time.Minute),
			Entry("the time that it says", `{"awaitSteer":{"timeoutMs":1500}}`, 1500*time.Millisecond),
		)

		It("can go on without one, as if it had come", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"say":"1"},{"awaitSteer":{"timeoutMs":2000,"continueOnTimeout":true}}]`, `[{"say":"2"}]`, `[{"say":"3"}]`))
			a, began := t.thread("a", ""), time.Now()
			id := a.send("x")
			a.wait(id)
			Expect(time.Since(began)).To(Equal(2 * time.Second))
			Expect(a.deltas()).To(Equal([]string{"1", "2"}))
			Expect(steer(a, id, "y")).To(refused, "it comes too late")
			Expect(t.replies("a", "y")).To(Equal("3"))
		})

		It("goes on with the earliest batch left, whatever that expects", func() {
			t := playing(fakeagent.Config{}, forAll(
				`[{"expectInput":"Continue"},{"awaitSteer":{"timeoutMs":1,"continueOnTimeout":true}}]`,
				`[{"expectInput":"faster"},{"say":"for faster"}]`,
				`[{"expectInput":"Continue"},{"say":"for the second Continue"},{"awaitSteer":{"timeoutMs":1,"continueOnTimeout":true}}]`))
			Expect(t.replies("a", "Continue")).To(Equal("for faster"))
			a := t.threads["a"]
			a.run("Continue")
			Expect(a.deltas()[1:]).To(Equal([]string{"for the second Continue", reports("steer: playbook has no step for a steered input")}))
		})

		It("takes none any more when its last words are out, however it ends", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"tool":"echo"},{"awaitSteer":{"timeoutMs":10}}]`, `[{"tool":"echo"},{"fail":"no"},{"awaitSteer":true}]`))
			a := t.thread("a", "")
			var errs []error
			a.Subscribe(func(e event.Event) {
				if _, ok := e.Payload.(event.Delta); ok {
					errs = append(errs, steer(a, e.TurnID, "too late"))
				}
			})
			Expect(a.run("x")).To(EndCompleted())
			Expect(a.run("x")).To(EndFailed("no"))
			Expect(errs).To(HaveExactElements(refused, refused))
			errs = nil
			t = playing(fakeagent.Config{}, forAll(`[{"tool":"echo"},{"awaitSteer":true}]`))
			b := t.thread("a", "")
			b.Subscribe(func(e event.Event) {
				if _, ok := e.Payload.(event.Delta); ok {
					errs = append(errs, steer(b, e.TurnID, "too late"))
				}
			})
			id := b.send("x")
			Expect(steer(b, id, "in time")).To(Succeed())
			b.wait(id)
			Expect(errs).To(HaveExactElements(refused))
		})

		It("says of a steer that it took, but failed before, that nobody plays it", func() {
			t := playing(fakeagent.Config{}, forAll(`[{"tool":"echo"},{"sleep":5},{"fail":"no"},{"awaitSteer":true}]`, `[{"say":"2"}]`))
			a := t.thread("a", "")
			id := a.send("x")
			Expect(steer(a, id, "one")).To(Succeed())
			Expect(steer(a, id, "two")).To(Succeed())
			Expect(a.wait(id)).To(EndFailed("no"))
			Expect(a.reply()).To(Equal(reports("echo: {}", "steer: the turn ended before it", "steer: the turn ended before it")))
			Expect(t.replies("a", "x")).To(Equal("2"))
		})

		It("refuses one when the turn was interrupted, and while a call of it still runs; and when its session is over", func(ctx SpecContext) {
			t := playing(fakeagent.Config{}, forAll(`[{"tool":"slow"},{"awaitSteer":true}]`, `[{"say":"2"}]`))
			t.tool("slow", func(map[string]any) (any, error) { <-t.held; return "done", nil })
			a := t.thread("a", "")
			id := a.send("x")
			synctest.Wait()
			Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
			Expect(steer(a, id, "y")).To(refused)
			close(t.held)
			a.wait(id)
			Expect(t.StopSession(ctx, "a")).To(Succeed())
			synctest.Wait()
			Expect(steer(a, id, "y")).To(And(MatchError(fakeagent.ErrNoSession), HaveField("Code()", "provider-rejected")))
		})

		It("keeps what came with a steer as it was when it came", func(ctx SpecContext) {
			t := playing(fakeagent.Config{}, forAll(`[{"awaitSteer":true}]`, `[{"say":"{{attachments}}"}]`))
			a := t.thread("a", "")
			id := a.send("x")
			with := []fakeagent.Attachment{{Name: "a.png"}}
			_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", TurnID: id, Text: "y", Attachments: with})
			Expect(err).NotTo(HaveOccurred())
			with[0].Name = "b.png"
			a.wait(id)
			Expect(a.reply()).To(Equal("a.png"))
		})

		It("refuses a second prompt all the same", func(ctx SpecContext) {
			t := playing(fakeagent.Config{}, forAll(`[{"awaitSteer":true}]`, `[{"say":"2"}]`))
			a := t.thread("a", "")
			id := a.send("x")
			_, err := a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "y"})
			Expect(err).To(And(MatchError(fakeagent.ErrBusy), HaveField("Code()", "provider-rejected")))
			Expect(a.InterruptTurn(ctx, "a", "")).To(Succeed())
			Expect(a.wait(id)).To(And(EndCanceled(), HaveItems()))
			Expect(t.replies("a", "y")).To(Equal("2"))
		})
	})

	Describe("whose turn is interrupted", func() {
		It("does not begin the next step, and ends as interrupted without a reply; the batch is used up", func(ctx SpecContext) {
			t := playing(fakeagent.Config{}, forAll(`[{"tool":"slow"},{"tool":"echo"}]`, `[{"say":"2"}]`))
			t.tool("slow", func(map[string]any) (any, error) { <-t.held; return "done", nil })
			a := t.thread("a", "")
			id := a.send("x")
			synctest.Wait()
			Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
			synctest.Wait()
			Expect(a.ended).To(BeEmpty(), "the call is waited for")
			close(t.held)
			Expect(a.wait(id)).To(And(EndCanceled(), HaveItems(BeToolCall("mcp__ycodium__slow", WithStatus("completed")))))
			Expect(t.called()).To(Equal([]string{"slow"}))
			Expect(t.replies("a", "x")).To(Equal("2"))
		})

		DescribeTable("does not wait any longer:",
			func(ctx SpecContext, step string) {
				t := playing(fakeagent.Config{}, forAll(`[`+step+`]`))
				a, began := t.thread("a", ""), time.Now()
				id := a.send("x")
				time.Sleep(1100 * time.Millisecond) // between two looks
				Expect(a.InterruptTurn(ctx, "a", id)).To(Succeed())
				Expect(a.wait(id)).To(And(EndCanceled(), HaveItems()))
				Expect(time.Since(began)).To(Equal(1100 * time.Millisecond))
			},
			Entry("for a tool", `{"wait":{"tool":"hello"}}`),
			Entry("for something in a result", `{"waitFor":{"tool":"message_inbox_peek","path":"items","atLeast":1}}`),
			Entry("for a steer", `{"awaitSteer":true}`),
		)
	})

	Describe("that is wrong", func() {
		It("is told on every turn of every thread, which call nothing, until there is a new instance", func() {
			t := playing(fakeagent.Config{}, `{"match":{"threadId":"("},"turns":[]}`)
			for _, thread := range []string{"a", "b", "a"} {
				Expect(t.replies(thread, `[{"tool":"echo"}]`)).To(MatchRegexp(
					`^playbook: /.*/playbook\.json:1:\d+: threads\[0\]\.match\.threadId does not compile: missing closing \):`))
			}
			Expect(t.called()).To(BeEmpty())
		})

		const line = `{"match":{"title":"x"},"turns":[`
		DescribeTable("is refused as a whole, and calls nothing, also in lines that are right:",
			func(text, why string) {
				path := filepath.Join(GinkgoT().TempDir(), "p.json")
				Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
				o := newOffice()
				a := o.hires(fakeagent.Config{PlaybookPath: path})
				for range 2 {
					Expect(a.run(`[{"tool":"echo"}]`)).To(And(EndCompleted(), HaveItems(BeAssistantMessage("playbook: "+path+":"+why))))
				}
				Expect(o.called()).To(BeEmpty())
			},
			Entry("it is no JSON", `{"version":1,`, "1:14: unexpected end of JSON input"),
			Entry("it is no object", `[]`, "1:1: must be an object with version and threads, is []"),
			Entry("it has no version", `{"threads":[]}`, "1:1: version is missing"),
			Entry("another version", `{"version":2,"threads":[]}`, "1:12: version must be 1, is 2"),
			Entry("no threads", `{"version":1}`, "1:1: threads is missing"),
			Entry("an unknown key", `{"version":1,"thread":[]}`, `1:14: thread: unknown key "thread", did you mean "threads"?`),
			Entry("a line without a match", `{"version":1,"threads":[{"turns":[]}]}`, "1:25: threads[0]: match is missing"),
			Entry("a match for nothing", `{"version":1,"threads":[{"match":{},"turns":[]}]}`, "1:34: threads[0].match: needs threadId or title"),
			Entry("a title that is empty", `{"version":1,"threads":[{"match":{"title":""},"turns":[]}]}`, "1:43: threads[0].match.title must not be empty"),
			Entry("a regular expression that is none", `{"version":1,"threads":[{"match":{"threadId":"a(?=b)"},"turns":[]}]}`,
				"1:46: threads[0].match.threadId does not compile: invalid or unsupported Perl syntax: `(?=`; the syntax is that of Go (RE2), which has no look-ahead"),
			Entry("a line without turns", `{"version":1,"threads":[{"match":{"title":"x"}}]}`, "1:25: threads[0]: turns is missing"),
			Entry("a batch that is no array", `{"version":1,"threads":[`+line+`{"tool":"echo"}]}]}`, `1:57: threads[0].turns[0]: a batch must be an array of steps, is {"tool":"echo"}`),
			Entry("an unknown step", `{"version":1,"threads":[`+line+`[{"wiat":"x"}]]}]}`, `1:59: threads[0].turns[0][0].wiat: unknown key "wiat", did you mean "wait"?`),
			Entry("an unknown key of a call", `{"version":1,"threads":[`+line+`[{"tool":"echo","argument":{}}]]}]}`, `1:73: threads[0].turns[0][0].argument: unknown key "argument", did you mean "arguments"?`),
			Entry("arguments that are no object", `{"version":1,"threads":[`+line+`[{"tool":"echo","arguments":[]}]]}]}`, `1:85: threads[0].turns[0][0].arguments must be an object, is []`),
			Entry("an expectInput in second place", `{"version":1,"threads":[`+line+`[{"tool":"echo"},{"expectInput":"x"}]]}]}`, `1:74: threads[0].turns[0][1]: expectInput must come first, and not inside another step`),
			Entry("an awaitSteer that is not the last", `{"version":1,"threads":[`+line+`[{"awaitSteer":true},{"tool":"echo"}]]}]}`, `1:58: threads[0].turns[0][0]: awaitSteer must come last, and not inside another step`),
			Entry("a wait for no tool", `{"version":1,"threads":[`+line+`[{"wait":{}}]]}]}`, `1:66: threads[0].turns[0][0].wait: tool is missing`),
			Entry("a waitFor without an amount", `{"version":1,"threads":[`+line+`[{"waitFor":{"tool":"x","path":""}}]]}]}`, `1:69: threads[0].turns[0][0].waitFor: atLeast is missing`),
			Entry("a time that is none", `{"version":1,"threads":[`+line+`[{"awaitSteer":{"timeoutMs":0}}]]}]}`, `1:85: threads[0].turns[0][0].awaitSteer.timeoutMs must be a whole number of milliseconds, 1 or more, is 0`),
		)

		It("is read once, and so is one that could not be read", func() {
			path := filepath.Join(GinkgoT().TempDir(), "later.json")
			o := newOffice()
			a := o.hires(fakeagent.Config{PlaybookPath: path})
			Expect(a.run("x")).To(And(EndCompleted(), HaveItems(BeAssistantMessage(HavePrefix("playbook: open "+path+": no such file")))))
			Expect(os.WriteFile(path, []byte(fmt.Sprintf(`{"version":1,"threads":[%s]}`, forAll(`[{"say":"fixed"}]`))), 0o600)).To(Succeed())
			Expect(a.run("x")).To(HaveItems(BeAssistantMessage(ContainSubstring("no such file"))))
			Expect(o.hires(fakeagent.Config{PlaybookPath: path}).run("x")).To(HaveItems(BeAssistantMessage("fixed")))
		})

		It("must have an absolute path", func() {
			Expect(newOffice().hires(fakeagent.Config{PlaybookPath: "p.json"}).run("x")).To(HaveItems(BeAssistantMessage(`playbook: the path "p.json" is relative; give an absolute one`)))
		})
	})

	Describe("of which something was not played", func() {
		It("is a violation, for who asks for that, as a tree of lines and batches", func() {
			path := aPlaybook(`{"match":{"threadId":"^a$"},"turns":[[{"say":"1"}],[{"expectInput":"go"},{"tool":"echo"},{"wait":"hello"},{"awaitSteer":true}]]}`,
				`{"match":{"title":"Lead","threadId":"x"},"turns":[[]]}`)
			in, err := fakeagent.New(newOffice().in(fakeagent.Config{PlaybookPath: path, WholePlaybook: true}))
			Expect(err).NotTo(HaveOccurred())
			Expect(in.StartSession(context.Background(), session("a", ""))).To(Succeed())
			Expect(in.StartSession(context.Background(), session("b", "lead"))).To(Succeed())
			for _, to := range []string{"a", "a", "b"} {
				_, err = in.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: to, Text: "x"})
				Expect(err).NotTo(HaveOccurred())
				synctest.Wait()
			}
			left := path + ": 2 of 3 batches were not played\n" +
				"  threads[0] threadId ^a$: claimed by a\n" +
				`    turns[1] expects "go", echo, wait hello, awaitSteer` + "\n" +
				`    none of them was for the input "x"` + "\n" +
				`  threads[1] threadId x, title "Lead": no thread has claimed it` + "\n" +
				"    turns[0] (no steps)\n" +
				`  no line was for the thread b, whose title is "lead"`
			Expect(in.PlaybookLeft()).To(Equal(left))
			Expect(in.Close()).To(Succeed())
			Expect(in.Close()).To(Succeed())
			Expect(in.Violations()).To(Equal([]string{"the playbook was not played to its end: " + left}))
		})

		It("fails a test at its end", func() {
			t := &recorder.T{}
			fakeagent.NewT(t, newOffice().in(fakeagent.Config{PlaybookPath: aPlaybook(forAll(`[{"say":"1"}]`)), WholePlaybook: true}))
			t.End()
			Expect(t.Errors()).To(ConsistOf(ContainSubstring("the playbook was not played to its end: ")))
		})

		It("is none when all was, and when nobody asks", func() {
			path := aPlaybook(forAll(`[{"say":"1"}]`))
			for _, whole := range []bool{true, false} {
				a := newOffice().hires(fakeagent.Config{PlaybookPath: path, WholePlaybook: whole})
				if whole {
					a.run("x")
				}
				Expect(a.Close()).To(Succeed())
				Expect(a.Violations()).To(BeEmpty())
			}
			Expect(executor(fakeagent.Config{}).PlaybookLeft()).To(BeEmpty())
		})

		It("can only be asked for where there is a playbook", func() {
			for _, cfg := range []fakeagent.Config{{WholePlaybook: true}, {WholePlaybook: true, Script: "mcp-send"}, {WholePlaybook: true, PlaybookPath: "/x.json"}} {
				_, err := fakeagent.New(cfg)
				Expect(err).To(MatchError("fakeagent: WholePlaybook is set, but there is no playbook: Script is to be mcp-send, with a Playbook or a PlaybookPath and no Choose"))
			}
		})
	})
})
