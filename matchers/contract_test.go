package matchers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.uber.org/mock/gomock"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/usagefake"
)

// subject is one matcher, what it matches, and what it does not.
type subject struct {
	name      string
	m         Matcher
	good, bad any
	differs   string // the first line for bad, or more of them
	shownGood string // good and bad as a message has them
	shownBad  string
	expects   string // what it says that it expects
	be        string // what it says of itself
}

const (
	oneItem = "one item; for a run, a timeline or rows put it into HaveItems or ContainItems"
	many    = "a run, a turn, a timeline, items or rows"
)

// at is a moment.
var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// stored are items of turn T1 as a host stores them.
func stored(items ...timeline.Item) []timeline.Row {
	l := timeline.NewLog("epoch-1")
	for _, it := range items {
		l.Append(at, "T1", "", it)
	}
	return l.Rows()
}

// emitted are payloads of turn T1 as a provider emits them.
func emitted(payloads ...event.Payload) []event.Event {
	events := make([]event.Event, len(payloads))
	for i, p := range payloads {
		events[i] = event.Event{Seq: uint64(i + 1), ThreadID: "a", TurnID: "T1", Time: at, Payload: p}
	}
	return events
}

var (
	started = event.TurnStarted{}
	ended   = event.TurnCompleted{State: event.TurnEndCompleted}
	gaveUp  = event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: "no quota"}
)

var subjects = []subject{
	{"EndCompleted", EndCompleted(), completed, timeline.Ending{Kind: timeline.Canceled},
		`the turn ended canceled, want completed`, "    completed", "    canceled", "a run, a turn or an ending", "end completed"},
	{"EndFailed", EndFailed("no quota"), timeline.Ending{Kind: timeline.Failed, Message: "no quota"},
		timeline.Ending{Kind: timeline.Failed, Message: "no"},
		`message is "no", want "no quota"`, "    failed: no quota", "    failed: no", "a run, a turn or an ending",
		`end failed with message "no quota"`},
	{"EndCanceled", EndCanceled(), timeline.Ending{Kind: timeline.Canceled}, completed,
		`the turn ended completed, want canceled`, "    canceled", "    completed", "a run, a turn or an ending", "end canceled"},

	{"BeUserMessage", BeUserMessage("fix it"), user, said,
		`it is assistant_message "done", want to be a user message "fix it"`, `    user_message "fix it"`, `    assistant_message "done"`,
		oneItem, `be a user message "fix it"`},
	{"BeAssistantMessage", BeAssistantMessage("done"), said, timeline.AssistantMessage{Text: "bye"},
		`text is "bye", want "done"`, `    assistant_message "done"`, `    assistant_message "bye"`, oneItem, `be an assistant message "done"`},
	{"BeReasoning", BeReasoning("hm"), thought, timeline.Reasoning{Text: "so"},
		`text is "so", want "hm"`, `    reasoning "hm"`, `    reasoning "so"`, oneItem, `be reasoning "hm"`},
	{"BeErrorItem", BeErrorItem("no quota"), failedFor, timeline.ErrorItem{Message: "no"},
		`message is "no", want "no quota"`, `    error "no quota"`, `    error "no"`, oneItem, `be an error item "no quota"`},
	{"BeTodo", BeTodo("fix it"), todo, timeline.Todo{},
		`entry 0 is missing: want "fix it"`, `    todo 0 of 1 done: "fix it" (in_progress)`, `    todo 0 of 0 done`, oneItem,
		`be a todo list ["fix it"]`},
	{"BeToolCall", BeToolCall("Write"), wrote, tested,
		`name is "Bash", want "Write"`, `    tool_call Write "a.ts" completed`, `    tool_call Bash "npm test" failed: exit code 1`, oneItem,
		`be a tool call "Write"`},
	{"BeShellCall", BeShellCall("npm test"), tested, wrote,
		`it is tool_call Write "a.ts" completed, want to be a shell call "npm test"`, `    tool_call Bash "npm test" failed: exit code 1`,
		`    tool_call Write "a.ts" completed`, oneItem, `be a shell call "npm test"`},
	{"BeWriteCall", BeWriteCall("w/a.ts"), wrote, edited,
		`it is tool_call Edit "a.ts" completed, want to be a write call "w/a.ts"`, `    tool_call Write "a.ts" completed`,
		`    tool_call Edit "a.ts" completed`, oneItem, `be a write call "w/a.ts"`},
	{"BeEditCall", BeEditCall("src/a.ts"), edited, wrote,
		`it is tool_call Write "a.ts" completed, want to be an edit call "src/a.ts"`, `    tool_call Edit "a.ts" completed`,
		`    tool_call Write "a.ts" completed`, oneItem, `be an edit call "src/a.ts"`},
	{"BeMCPCall", BeMCPCall("files", "read_file"), called, wrote,
		`it is tool_call Write "a.ts" completed, want to be a call of MCP server "files", tool "read_file"`,
		`    tool_call mcp__files__read_file "files/read_file" completed`, `    tool_call Write "a.ts" completed`, oneItem,
		`be a call of MCP server "files", tool "read_file"`},
	{"BePluginRow", BePluginRow("turn-summary"), card, timeline.Plugin{Kind: "usage", Version: 1, Data: []byte("1")},
		`kind is "usage", want "turn-summary"`, `    plugin summary/s1 turn-summary v2 {"files": 2, "by": ["me"]}`, `    plugin / usage v1 1`,
		oneItem, `be a plugin row "turn-summary"`},

	{"HaveItems", HaveItems(thought, BeAssistantMessage("done")), timeline.Items{thought, said}, timeline.Items{said},
		`item 0: it is assistant_message "done", want reasoning "hm"`, "      0 reasoning \"hm\"\n      1 assistant_message \"done\"",
		`      0 assistant_message "done"`, many,
		"have exactly these items:\n      0 reasoning \"hm\"\n      1 an assistant message \"done\""},
	{"ContainItems", ContainItems(thought), timeline.Items{said, thought}, timeline.Items{},
		`expected item 0 is not in the timeline: want reasoning "hm"`, "      0 assistant_message \"done\"\n      1 reasoning \"hm\"",
		`    (no items)`, many,
		"contain these items in this order:\n      0 reasoning \"hm\""},
	{"HaveAssistantText", HaveAssistantText("done"), timeline.Items{thought, said}, timeline.Items{thought},
		`the text is "", want "done"`, "      0 reasoning \"hm\"\n      1 assistant_message \"done\"", `      0 reasoning "hm"`, many,
		`have the assistant text "done"`},
	{"HaveToolCall", HaveToolCall("Bash", WithStatus(timeline.Failed)), timeline.Items{tested}, timeline.Items{said},
		`there is no tool call "Bash" with status failed, nor any other`, `      0 tool_call Bash "npm test" failed: exit code 1`,
		`      0 assistant_message "done"`, many,
		`have a tool call "Bash" with status failed`},
	{"HaveNoFailedToolCalls", HaveNoFailedToolCalls(), timeline.Items{wrote}, timeline.Items{wrote, tested},
		`item 1: tool_call Bash "npm test" failed: exit code 1`, `      0 tool_call Write "a.ts" completed`,
		"      0 tool_call Write \"a.ts\" completed\n      1 tool_call Bash \"npm test\" failed: exit code 1", many, `have no failed tool calls`},
	{"HaveRow", HaveRow(BeReasoning("hm"), WithTurn("T1")), stored(user, thought), stored(user),
		`there is no row of reasoning "hm" with turn "T1"`, "      0 user_message \"fix it\"  <- T1\n      1 reasoning \"hm\"",
		`      0 user_message "fix it"  <- T1`,
		"rows, such as those of AgentRows", `have a row of reasoning "hm" with turn "T1"`},

	{"EmitEvents", EmitEvents("turn.started", ended), emitted(started, event.Delta{}, ended), emitted(started),
		`expected event 1 is not among the events after event 0: want turn.completed {"state":"completed"}`,
		"      0 turn.started  <- T1\n      1 content.delta {\"streamKind\":\"\",\"delta\":\"\"}\n      2 turn.completed {\"state\":\"completed\"}", "      0 turn.started  <- T1",
		"events ([]event.Event)", "emit these events in this order:\n      0 turn.started\n      1 turn.completed {\"state\":\"completed\"}"},
	{"EmitExactly", EmitExactly(started, "turn.completed"), emitted(started, ended), emitted(),
		`event 0 is missing: want turn.started`, "      0 turn.started  <- T1\n      1 turn.completed {\"state\":\"completed\"}", "    (no events)",
		"events ([]event.Event)", "emit exactly these events:\n      0 turn.started\n      1 turn.completed"},
	{"BeWellFormed", BeWellFormed(), stored(user, said), stored(said),
		`row 0, assistant_message "done": it is the first row of turn T1, and should be the user's message`,
		"      0 user_message \"fix it\"  <- T1\n      1 assistant_message \"done\"", `      0 assistant_message "done"  <- T1`,
		"rows, such as those of AgentRows, events ([]event.Event), a quota (usagefake.Quota) or token records ([]usagefake.TokenRecord)", "be well-formed"},

	{"HaveExited", HaveExited(0), exitedWith(0), running(),
		`the process still runs, want exit code 0`, "    process 7 exited with code 0", "    process 7 still runs",
		"a process, with the methods Exited and ExitCode", "have exited with code 0"},
	{"BeKilledBy", BeKilledBy(os.Kill), killedBy(os.Kill), running(),
		`the process still runs, want it killed by signal "killed"`, `    process 7 was killed by signal "killed"`, "    process 7 still runs",
		"a process, with the methods Exited and ExitSignal", `be killed by signal "killed"`},
	{"HaveSentRequest", HaveSentRequest("session/new", map[string]any{"cwd": "/w"}), record{{"session/new", `{"cwd":"/w"}`}}, record{},
		`the host sent no request "session/new" with params {"cwd":"/w"}, nor any other`, `      0 session/new {"cwd":"/w"}`, "    (no requests)",
		"the record of a host's requests, with the method HostRequests", `have the host's request "session/new" with params {"cwd":"/w"}`},

	{"HaveQuotaWindow", HaveQuotaWindow("session", UsedPercent(11)), usagefake.Quota{Windows: []usagefake.Window{session}}, usagefake.Quota{},
		`there is no quota window "session" with used 11%, nor any other`,
		"    no status\n      session: 11% of 300 min, resets at 2026-01-02T08:04:05Z", "    no status",
		"a quota (usagefake.Quota)", `have a quota window "session" with used 11%`},
	{"HaveBalance", HaveBalance("CNY", "86.42"), paying, usagefake.Quota{Status: usagefake.OK},
		`there is no balance, want 86.42 in "CNY"`, "    ok\n      balance: 86.42 CNY (6.42 granted, 80.00 topped up)", "    ok",
		"a quota (usagefake.Quota)", `have a balance of 86.42 in "CNY"`},
	{"HaveResetCredits", HaveResetCredits(2), usagefake.Quota{Resets: &usagefake.ResetCredits{Available: 2}},
		usagefake.Quota{Resets: &usagefake.ResetCredits{Available: 1}},
		`reset credits left: 1, want 2`, "    no status\n      reset credits: 2", "    no status\n      reset credits: 1",
		"a quota (usagefake.Quota)", `have reset credits left: 2`},
	{"BeRateLimited", BeRateLimited(), usagefake.Quota{Status: usagefake.OK, Reached: usagefake.RateLimitReached}, paying,
		`no limit is reached`, "    ok, rate_limit_reached", "    ok\n      balance: 86.42 CNY (6.42 granted, 80.00 topped up)",
		"a quota (usagefake.Quota) or an error", "be rate-limited"},
	{"BeSignedOut", BeSignedOut(), usagefake.ErrSignedOut, usagefake.ErrUnsupported,
		`it is another error`, `    error "signed out"`, `    error "unsupported"`, "a quota (usagefake.Quota) or an error", "be signed out"},
	{"BeUnsupported", BeUnsupported(), usagefake.Quota{Status: usagefake.Unsupported, Reason: "why"}, usagefake.Quota{Status: usagefake.OK},
		`status is "ok", want "unsupported"`, "    unsupported, why", "    ok", "a quota (usagefake.Quota) or an error", "be unsupported"},

	{"BePriced", BePriced(), pricedDay, unpricedDay,
		`nobody knows its price`, "    " + pricedDay.String(), "    " + unpricedDay.String(),
		"one token record (usagefake.TokenRecord); for several put it into HaveEach or ContainElement", "be priced"},
	{"BeUnpriced", BeUnpriced(), unpricedDay, pricedDay,
		`it costs $0.5`, "    " + unpricedDay.String(), "    " + pricedDay.String(),
		"one token record (usagefake.TokenRecord); for several put it into HaveEach or ContainElement", "be unpriced"},
	{"HaveTokenTotals", HaveTokenTotals(usagefake.Totals{Input: 10, Output: 2, Total: 12, CostUSD: 0.5}),
		[]usagefake.TokenRecord{pricedDay}, []usagefake.TokenRecord{},
		"costUSD is 0, want 0.5\n    input is 0, want 10\n    output is 0, want 2\n    total is 0, want 12", "      0 " + pricedDay.String(), "    (no records)",
		"token records ([]usagefake.TokenRecord)",
		"have the total input 10 (0 read from cache, 0 written), output 2 (0 reasoning), total 12, $0.5"},
	{"HaveDailyRecords", HaveDailyRecords(2), []usagefake.TokenRecord{pricedDay, unpricedDay}, []usagefake.TokenRecord{pricedDay},
		`there are records of 1 day, want 2`, "      0 " + pricedDay.String() + "\n      1 " + unpricedDay.String(), "      0 " + pricedDay.String(),
		"token records ([]usagefake.TokenRecord)", "have records of 2 days that follow each other"},
	{"AnswerAlike", AnswerAlike(&teller{quota: usagefake.Quota{Status: usagefake.OK}}), &teller{quota: usagefake.Quota{Status: usagefake.OK}}, &teller{},
		`quota read 1: status is missing, want "ok"`, "    *matchers_test.teller", "    *matchers_test.teller",
		"a source of usage (usagefake.Source)", "answer as another *matchers_test.teller does"},
}

var _ = Describe("Every matcher", func() {
	each := func(body func(s subject)) {
		for _, s := range subjects {
			It(s.name, func() { body(s) })
		}
	}

	Describe("passes, and says exactly this where it does not, or should not:", func() {
		each(func(s subject) {
			Expect(s.good).To(s.m)
			Expect(s.bad).NotTo(s.m)
			Expect(failure(s.bad, s.m)).To(Equal(s.differs + "\n\nExpected\n" + s.shownBad + "\nto " + s.be))
			Expect(negated(s.good, s.m)).To(Equal("Expected\n" + s.shownGood + "\nnot to " + s.be))
			Expect(s.m.GomegaString()).To(Equal(s.be))
		})
	})

	Describe("has an error, with To and with NotTo, for what is nothing of its kind:", func() {
		each(func(s subject) {
			Expect(refusal(3, s.m)).To(Equal(s.name + " expects " + s.expects + ".  Got:\n    <int>: 3"))
			Expect(refusal(nil, s.m)).To(Equal(s.name + " expects " + s.expects + ".  Got:\n    <nil>: nil"))
			Expect(refusal(new(int), s.m)).To(HavePrefix(s.name + " expects " + s.expects + ".  Got:\n    <*int | 0x"))
			Expect(refusal(func() any { return s.good }, s.m)).
				To(Equal(s.name + " expects " + s.expects + ", and got a func() interface {}: call it, or give it to Eventually"))
		})
	})

	Describe("waits with Eventually for what a function returns:", func() {
		each(func(s subject) {
			polls := 0
			Eventually(func() any {
				if polls++; polls < 3 {
					return s.bad
				}
				return s.good
			}).WithPolling(time.Millisecond).Should(s.m)
			Expect(s.m.MatchMayChangeInTheFuture(s.bad)).To(BeTrue(), "a value says nothing about the next one")
			Expect(s.m.MatchMayChangeInTheFuture(nil)).To(BeTrue(), "WithTransform asks about nil at first")
		})
	})

	Describe("stands in Gomega's Or, And, Not, ContainElement and ConsistOf, and is readable there:", func() {
		each(func(s subject) {
			Expect(s.good).To(Or(BeNil(), s.m))
			Expect(failure(s.bad, Or(s.m, s.m))).To(HaveSuffix("matchers: [" + s.m.String() + " " + s.m.String() + "]"))
			Expect(failure(s.bad, And(Not(BeNil()), s.m))).To(Equal(failure(s.bad, s.m)))
			Expect(failure(s.good, Not(s.m))).To(Equal(negated(s.good, s.m)))
			Expect([]any{s.bad, s.good}).To(ContainElement(s.m))
			Expect([]any{s.bad}).NotTo(ContainElement(s.m))
			Expect([]any{s.bad, s.good}).To(ConsistOf(s.m, Not(s.m)))
			Expect(failure([]any{s.bad}, ContainElement(s.m))).
				To(HaveSuffix("to contain element matching\n    <matchers.matcher>: " + strings.ReplaceAll(s.be, "\n", "\n        ")))
			Expect(s.m.String()).NotTo(ContainSubstring("\n"))
		})
	})

	Describe("is a matcher for gomock, with an error as a mismatch:", func() {
		each(func(s subject) {
			var m gomock.Matcher = s.m
			Expect(m.Matches(s.good)).To(BeTrue())
			Expect(m.Matches(s.bad)).To(BeFalse())
			Expect(m.Matches(3)).To(BeFalse())
			Expect(m.(gomock.GotFormatter).Got(s.bad)).To(Equal(s.differs + "\n" + s.shownBad))
			Expect(m.(gomock.GotFormatter).Got(3)).To(Equal(s.name + " expects " + s.expects + ".  Got:\n    <int>: 3"))
		})
	})

	It("has its row in the table above", func() {
		var names []string
		for _, s := range subjects {
			names = append(names, s.name)
		}
		Expect(names).To(ConsistOf(constructors()))
	})
})

// constructors are the names of the functions of this package that make a matcher. The golden ones need files, and have specs of their own.
func constructors() (names []string) {
	files, err := filepath.Glob("*.go")
	Expect(err).NotTo(HaveOccurred())
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "golden") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		Expect(err).NotTo(HaveOccurred())
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || f.Name.Name == "New" || f.Type.Results == nil {
				continue
			}
			if result, ok := f.Type.Results.List[0].Type.(*ast.Ident); ok && result.Name == "Matcher" {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}
