package matchers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"go.uber.org/mock/gomock"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
	"github.com/understudy-go/understudy/usagefake"
)

// g prints what a failing test would print. In a test it is NewWithT(t), or with Ginkgo nothing at all.
var g = gomega.NewGomega(func(message string, _ ...int) { fmt.Println(message) })

// a turn as a host stored it
var work = timeline.Items{
	timeline.Reasoning{Text: "let me check"},
	timeline.ToolCall{Name: "Write", Detail: timeline.Write{FilePath: "/repo/a.ts"}, Status: timeline.Completed},
	timeline.ToolCall{Name: "Bash", Detail: timeline.Shell{Command: "npm test"}, Status: timeline.Failed, Error: "exit code 1"},
	timeline.AssistantMessage{Text: "The tests fail."},
}

func Example() {
	g.Expect(work).To(matchers.HaveItems(
		matchers.BeReasoning(gomega.ContainSubstring("check")),
		matchers.BeToolCall("Write"),
		matchers.BeShellCall("npm test", matchers.WithStatus(timeline.Completed)),
		matchers.BeAssistantMessage("done"),
	))
	// Output:
	// item 2: status is failed (exit code 1), want completed
	//
	// Expected
	//       0 reasoning "let me check"
	//       1 tool_call Write "a.ts" completed
	//       2 tool_call Bash "npm test" failed: exit code 1
	//       3 assistant_message "The tests fail."
	// to have exactly these items:
	//       0 reasoning ContainSubstring {Substr:"check"}
	//       1 a tool call "Write"
	//       2 a shell call "npm test" with status completed
	//       3 an assistant message "done"
}

func ExampleHaveItems() {
	g.Expect(work[:2]).To(matchers.HaveItems(matchers.BeReasoning("let me check")))
	// Output:
	// item 1: it is tool_call Write "a.ts" completed, want no more items
	//
	// Expected
	//       0 reasoning "let me check"
	//       1 tool_call Write "a.ts" completed
	// to have exactly these items:
	//       0 reasoning "let me check"
}

func ExampleContainItems() {
	g.Expect(work).To(matchers.ContainItems(matchers.BeShellCall("npm test"), matchers.BeToolCall("Write")))
	// Output:
	// expected item 1 is not in the timeline after item 2: want to be a tool call "Write"
	//
	// Expected
	//       0 reasoning "let me check"
	//       1 tool_call Write "a.ts" completed
	//       2 tool_call Bash "npm test" failed: exit code 1
	//       3 assistant_message "The tests fail."
	// to contain these items in this order:
	//       0 a shell call "npm test"
	//       1 a tool call "Write"
}

// A matcher for one item goes into Gomega's matchers for lists, too.
func ExampleMatcher() {
	g.Expect(work[:1]).To(gomega.ContainElement(matchers.BeToolCall("Write")))
	// Output:
	// Expected
	//     <timeline.Items | len:1, cap:4>:   0 reasoning "let me check"
	// to contain element matching
	//     <matchers.matcher>: be a tool call "Write"
}

func ExampleEndCompleted() {
	// A whole run fits as well as its ending.
	g.Expect(timeline.Ending{Kind: timeline.Failed, Message: "no quota"}).To(matchers.EndCompleted())
	// Output:
	// the turn ended failed: no quota, want completed
	//
	// Expected
	//     failed: no quota
	// to end completed
}

func ExampleEndFailed() {
	ending := timeline.Ending{Kind: timeline.Failed, Message: "no quota until Monday"}
	g.Expect(ending).To(matchers.EndFailed(gomega.HavePrefix("no quota")))
	g.Expect(ending).To(matchers.EndFailed("no quota"))
	// Output:
	// message is "no quota until Monday", want "no quota"
	//
	// Expected
	//     failed: no quota until Monday
	// to end failed with message "no quota"
}

func ExampleEndCanceled() {
	g.Expect(timeline.Ending{Kind: timeline.Completed}).To(matchers.EndCanceled())
	// Output:
	// the turn ended completed, want canceled
	//
	// Expected
	//     completed
	// to end canceled
}

func ExampleBeUserMessage() {
	g.Expect(timeline.UserMessage{Text: "fix it"}).To(matchers.BeUserMessage(gomega.HavePrefix("please")))
	// Output:
	// text is "fix it", want HavePrefix {Prefix:"please"}
	//
	// Expected
	//     user_message "fix it"
	// to be a user message HavePrefix {Prefix:"please"}
}

func ExampleBeAssistantMessage() {
	g.Expect(timeline.AssistantMessage{Text: "The tests fail."}).NotTo(matchers.BeAssistantMessage(gomega.ContainSubstring("fail")))
	// Output:
	// Expected
	//     assistant_message "The tests fail."
	// not to be an assistant message ContainSubstring {Substr:"fail"}
}

func ExampleBeReasoning() {
	g.Expect(timeline.AssistantMessage{Text: "The tests fail."}).To(matchers.BeReasoning("The tests fail."))
	// Output:
	// it is assistant_message "The tests fail.", want to be reasoning "The tests fail."
	//
	// Expected
	//     assistant_message "The tests fail."
	// to be reasoning "The tests fail."
}

func ExampleBeErrorItem() {
	g.Expect(timeline.ErrorItem{Message: "no quota"}).To(matchers.BeErrorItem("no credit"))
	// Output:
	// message is "no quota", want "no credit"
	//
	// Expected
	//     error "no quota"
	// to be an error item "no credit"
}

func ExampleBeToolCall() {
	write := timeline.ToolCall{Name: "Write", Detail: timeline.Write{FilePath: "/repo/a.ts"}, Status: timeline.Completed}
	g.Expect(write).To(matchers.BeToolCall(gomega.Or(gomega.Equal("Edit"), gomega.Equal("MultiEdit"))))
	// Output:
	// name is "Write", want Or {Matchers:[Equal {Expected:"Edit"}, Equal {Expected:"MultiEdit"}]}
	//
	// Expected
	//     tool_call Write "a.ts" completed
	// to be a tool call Or {Matchers:[Equal {Expected:"Edit"}, Equal {Expected:"MultiEdit"}]}
}

func ExampleBeShellCall() {
	write := timeline.ToolCall{Name: "Write", Detail: timeline.Write{FilePath: "/repo/a.ts"}, Status: timeline.Completed}
	g.Expect(write).To(matchers.BeShellCall("npm test"))
	// Output:
	// it is tool_call Write "a.ts" completed, want to be a shell call "npm test"
	//
	// Expected
	//     tool_call Write "a.ts" completed
	// to be a shell call "npm test"
}

func ExampleWithStatus() {
	test := timeline.ToolCall{Name: "Bash", Detail: timeline.Shell{Command: "npm test"}, Status: timeline.Running}
	g.Expect(test).To(matchers.BeShellCall("npm test", matchers.WithStatus(timeline.Completed)))
	// Output:
	// status is running, want completed
	//
	// Expected
	//     tool_call Bash "npm test" running
	// to be a shell call "npm test" with status completed
}

func ExampleWithError() {
	test := timeline.ToolCall{Name: "Bash", Detail: timeline.Shell{Command: "npm test"}, Status: timeline.Failed, Error: "exit code 1"}
	g.Expect(test).To(matchers.BeShellCall("npm test", matchers.WithError("exit code 2")))
	// Output:
	// error is "exit code 1", want "exit code 2"
	//
	// Expected
	//     tool_call Bash "npm test" failed: exit code 1
	// to be a shell call "npm test" with error "exit code 2"
}

// A script names a file by its path below the agent's folder, and so may a test.
func ExampleBeWriteCall() {
	write := timeline.ToolCall{Name: "Write", Detail: timeline.Write{FilePath: "/repo/src/a.ts", Content: "1"}, Status: timeline.Completed}
	g.Expect(write).To(matchers.BeWriteCall("src/a.ts"))
	g.Expect(write).To(matchers.BeWriteCall("src/b.ts"))
	// Output:
	// path is "/repo/src/a.ts", want "src/b.ts"
	//
	// Expected
	//     tool_call Write "a.ts" completed
	// to be a write call "src/b.ts"
}

func ExampleBeEditCall() {
	edit := timeline.ToolCall{Name: "Edit", Detail: timeline.Edit{FilePath: "/repo/a.ts"}, Status: timeline.Failed, Error: "a.ts does not exist"}
	g.Expect(edit).To(matchers.BeEditCall("a.ts", matchers.WithStatus(timeline.Completed)))
	// Output:
	// status is failed (a.ts does not exist), want completed
	//
	// Expected
	//     tool_call Edit "a.ts" failed: a.ts does not exist
	// to be an edit call "a.ts" with status completed
}

func ExampleBeMCPCall() {
	read := timeline.ToolCall{Name: "mcp__files__read", Detail: timeline.Unknown{Input: []byte(`{"path":"a.ts"}`)}, Status: timeline.Completed}
	g.Expect(read).To(matchers.BeMCPCall("files", "read", matchers.WithInput(map[string]any{"path": "b.ts"})))
	// Output:
	// input.path is "a.ts", want "b.ts"
	//
	// Expected
	//     tool_call mcp__files__read "files/read" completed
	// to be a call of MCP server "files", tool "read" with input {"path":"b.ts"}
}

func ExampleBeTodo() {
	plan := timeline.Todo{Items: []timeline.TodoEntry{{Text: "fix it", Status: "completed", Completed: true}, {Text: "test it", Status: "pending"}}}
	g.Expect(plan).To(matchers.BeTodo(gomega.HavePrefix("fix"), timeline.TodoEntry{Text: "test it", Status: "in_progress"}))
	// Output:
	// entry 1: status is "pending", want "in_progress"
	//
	// Expected
	//     todo 1 of 2 done: "fix it" (completed), "test it" (pending)
	// to be a todo list [HavePrefix {Prefix:"fix"}, "test it" (in_progress)]
}

// A shell command has an exit code and an output, and a call may be told by its id.
func ExampleWithExitCode() {
	test := timeline.ToolCall{
		CallID: "t-1-1", Name: "Bash", Status: timeline.Failed, Error: "exit code 1",
		Detail: timeline.Shell{Command: "npm test", Output: "1 failed\n", ExitCode: timeline.Exited(1)},
	}
	g.Expect(test).To(matchers.BeShellCall("npm test", matchers.WithCallID("t-1-1"), matchers.WithExitCode(0)))
	g.Expect(test).To(matchers.BeShellCall("npm test", matchers.WithOutput(gomega.ContainSubstring("0 failed"))))
	// Output:
	// exit code is 1, want 0
	//
	// Expected
	//     tool_call Bash "npm test" failed: exit code 1
	// to be a shell call "npm test" with call id "t-1-1" and exit code 0
	// output is "1 failed\n", want ContainSubstring {Substr:"0 failed"}
	//
	// Expected
	//     tool_call Bash "npm test" failed: exit code 1
	// to be a shell call "npm test" with output ContainSubstring {Substr:"0 failed"}
}

func ExampleWithDetail() {
	fetch := timeline.ToolCall{Name: "Fetch", Detail: timeline.Fetch{URL: "https://example.org", Code: 404}, Status: timeline.Completed}
	g.Expect(fetch).To(matchers.BeToolCall("Fetch", matchers.WithDetail(timeline.Fetch{URL: "https://example.org", Code: 200})))
	// Output:
	// detail.code is 404, want 200
	//
	// Expected
	//     tool_call Fetch "https://example.org" completed
	// to be a tool call "Fetch" with detail {"type":"fetch","url":"https://example.org","code":200}
}

func ExampleBePluginRow() {
	card := timeline.Plugin{PluginID: "summary", ID: "turn-1", Kind: "turn-summary", Version: 1, Data: []byte(`{"files":2,"failed":0}`)}
	g.Expect(card).To(matchers.BePluginRow("turn-summary",
		matchers.WithPlugin("summary"), matchers.WithVersion(1), matchers.WithData(map[string]int{"files": 3, "failed": 0})))
	// Output:
	// data.files is 2, want 3
	//
	// Expected
	//     plugin summary/turn-1 turn-summary v1 {"files":2,"failed":0}
	// to be a plugin row "turn-summary" with plugin "summary" and version 1 and data {"failed":0,"files":3}
}

func ExampleHaveAssistantText() {
	g.Expect(work).To(matchers.HaveAssistantText(gomega.ContainSubstring("pass")))
	// Output:
	// the text is "The tests fail.", want ContainSubstring {Substr:"pass"}
	//
	// Expected
	//       0 reasoning "let me check"
	//       1 tool_call Write "a.ts" completed
	//       2 tool_call Bash "npm test" failed: exit code 1
	//       3 assistant_message "The tests fail."
	// to have the assistant text ContainSubstring {Substr:"pass"}
}

func ExampleHaveToolCall() {
	g.Expect(work).To(matchers.HaveToolCall("Bash", matchers.WithStatus(timeline.Completed)))
	// Output:
	// there is no tool call "Bash" with status completed
	// item 2 is not the one: status is failed (exit code 1), want completed
	//
	// Expected
	//       0 reasoning "let me check"
	//       1 tool_call Write "a.ts" completed
	//       2 tool_call Bash "npm test" failed: exit code 1
	//       3 assistant_message "The tests fail."
	// to have a tool call "Bash" with status completed
}

func ExampleHaveNoFailedToolCalls() {
	g.Expect(work).To(matchers.HaveNoFailedToolCalls())
	// Output:
	// item 2: tool_call Bash "npm test" failed: exit code 1
	//
	// Expected
	//       0 reasoning "let me check"
	//       1 tool_call Write "a.ts" completed
	//       2 tool_call Bash "npm test" failed: exit code 1
	//       3 assistant_message "The tests fail."
	// to have no failed tool calls
}

// history is a host's rows of two turns.
func history() []timeline.Row {
	log := timeline.NewLog("epoch-1")
	running := timeline.ToolCall{CallID: "t-1-1", Name: "Bash", Detail: timeline.Shell{Command: "npm test"}, Status: timeline.Running}
	completed := running
	completed.Status = timeline.Completed
	log.Append(time.Time{}, "turn-1", "", timeline.UserMessage{Text: "test it"})
	log.Append(time.Time{}, "turn-1", "t-1-1", running)
	log.Append(time.Time{}, "turn-1", "t-1-1", completed)
	log.Append(time.Time{}, "turn-2", "", timeline.UserMessage{Text: "thanks"})
	return log.Rows()
}

func ExampleHaveRow() {
	g.Expect(history()).To(matchers.HaveRow(matchers.BeShellCall("npm test", matchers.WithStatus(timeline.Running))))
	g.Expect(history()).To(matchers.HaveRow(matchers.BeUserMessage("thanks"), matchers.WithTurn("turn-1")))
	// Output:
	// there is no row of a user message "thanks" with turn "turn-1"
	// row 3 is not the one: turn is "turn-2", want "turn-1"
	//
	// Expected
	//       0 user_message "test it"  <- turn-1
	//       1 tool_call Bash "npm test" running
	//       2 tool_call Bash "npm test" completed
	//       3 user_message "thanks"  <- turn-2
	// to have a row of a user message "thanks" with turn "turn-1"
}

func ExampleBeWellFormed() {
	rows := history()
	g.Expect(rows).To(matchers.BeWellFormed())
	g.Expect(append(rows[:2:2], rows[3])).To(matchers.BeWellFormed())
	// Output:
	// 2 things are wrong:
	//     row 1, tool_call Bash "npm test" running: tool call t-1-1 never ended
	//     row 2, user_message "thanks": seq is 4, after 2: something is missing
	//
	// Expected
	//       0 user_message "test it"  <- turn-1
	//       1 tool_call Bash "npm test" running
	//       2 user_message "thanks" (seq 4)  <- turn-2
	// to be well-formed
}

// stream is what a provider emitted.
var stream = []event.Event{
	{ThreadID: "a", TurnID: "turn-1", Payload: event.TurnStarted{}},
	{ThreadID: "a", TurnID: "turn-1", ItemID: "a-1-1", Payload: event.Delta{Stream: event.AssistantText, Text: "hello"}},
	{ThreadID: "a", TurnID: "turn-1", Payload: event.TurnCompleted{State: event.TurnEndFailed, ErrorMessage: "no quota"}},
}

func ExampleEmitEvents() {
	g.Expect(stream).To(matchers.EmitEvents("turn.started", event.TurnCompleted{State: event.TurnEndCompleted}))
	// Output:
	// expected event 1 is not among the events after event 0: want turn.completed {"state":"completed"}
	// event 2 is not the one: errorMessage is "no quota", want none
	//     state is "failed", want "completed"
	//
	// Expected
	//       0 turn.started  <- turn-1
	//       1 content.delta a-1-1 {"streamKind":"assistant_text","delta":"hello"}
	//       2 turn.completed {"state":"failed","errorMessage":"no quota"}
	// to emit these events in this order:
	//       0 turn.started
	//       1 turn.completed {"state":"completed"}
}

func ExampleEmitExactly() {
	g.Expect(stream).To(matchers.EmitExactly("turn.started", event.Event{TurnID: "turn-1", ItemID: "a-1-2"}, "turn.completed"))
	// Output:
	// event 1: item is "a-1-1", want "a-1-2"
	//
	// Expected
	//       0 turn.started  <- turn-1
	//       1 content.delta a-1-1 {"streamKind":"assistant_text","delta":"hello"}
	//       2 turn.completed {"state":"failed","errorMessage":"no quota"}
	// to emit exactly these events:
	//       0 turn.started
	//       1 any event turn turn-1 item a-1-2
	//       2 turn.completed
}

// agent is a process as mockproc has them, and so is one of your own with these methods.
type agent struct {
	exited chan struct{}
	code   int
	signal os.Signal
}

func (a *agent) PID() int                { return 900000 }
func (a *agent) Exited() <-chan struct{} { return a.exited }
func (a *agent) ExitCode() int           { return a.code }
func (a *agent) ExitSignal() os.Signal   { return a.signal }

// HostRequests are what the host asked of it.
func (a *agent) HostRequests() (methods []string, params []json.RawMessage) {
	return []string{"initialize", "session/new"}, []json.RawMessage{[]byte(`{"protocolVersion":1}`), []byte(`{"cwd":"/repo"}`)}
}

func ExampleHaveExited() {
	proc := &agent{exited: make(chan struct{})}
	g.Expect(proc).NotTo(matchers.HaveExited(0))
	proc.code = 1
	close(proc.exited)
	g.Eventually(proc).Should(matchers.HaveExited(gomega.BeNumerically(">", 0)))
	g.Expect(proc).To(matchers.HaveExited(0))
	// Output:
	// exit code is 1, want 0
	//
	// Expected
	//     process 900000 exited with code 1
	// to have exited with code 0
}

func ExampleBeKilledBy() {
	proc := &agent{exited: make(chan struct{}), code: 137, signal: os.Kill}
	close(proc.exited)
	g.Expect(proc).To(matchers.BeKilledBy(gomega.BeElementOf(os.Interrupt, os.Kill)))
	g.Expect(proc).To(matchers.BeKilledBy(os.Interrupt))
	// Output:
	// signal is "killed", want "interrupt"
	//
	// Expected
	//     process 900000 was killed by signal "killed"
	// to be killed by signal "interrupt"
}

func ExampleHaveSentRequest() {
	proc := &agent{exited: make(chan struct{})}
	g.Expect(proc).To(matchers.HaveSentRequest("session/new", gomega.HaveKeyWithValue("cwd", gomega.HavePrefix("/"))))
	g.Expect(proc).To(matchers.HaveSentRequest("initialize", map[string]int{"protocolVersion": 2}))
	// Output:
	// the host sent no request "initialize" with params {"protocolVersion":2}
	// request 0 is not the one: params.protocolVersion is 1, want 2
	//
	// Expected
	//     process 900000 still runs
	//       0 initialize {"protocolVersion":1}
	//       1 session/new {"cwd":"/repo"}
	// to have the host's request "initialize" with params {"protocolVersion":2}
}

// A matcher of one's own goes where those of this package go, and fails like them.
func ExampleNew() {
	citeASource := matchers.New("cite a source", func(actual any) (bool, error) {
		m, ok := actual.(timeline.AssistantMessage)
		if !ok {
			return false, errors.New("only a message cites")
		}
		return strings.Contains(m.Text, "https://"), nil
	})
	g.Expect(work[3:]).To(matchers.HaveItems(citeASource))
	// Output:
	// item 0: it is assistant_message "The tests fail.", want to cite a source
	//
	// Expected
	//       0 assistant_message "The tests fail."
	// to have exactly these items:
	//       0 cite a source
}

// printer is a test that prints what it fails with.
type printer struct{ testing.TB }

func (printer) Helper()                           {}
func (printer) Cleanup(func())                    {}
func (printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (printer) Fatalf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func ExampleAssert() {
	t := printer{} // in a test it is the *testing.T
	matchers.Assert(t, work[0], matchers.BeReasoning("let me think"))
	// Output:
	// text is "let me check", want "let me think"
	//
	// Expected
	//     reasoning "let me check"
	// to be reasoning "let me think"
}

// account is the quota and token usage of nobody, on a clock that stands.
func account(script usagefake.Script) *usagefake.Fake {
	src, err := usagefake.New(usagefake.Config{Script: script, Now: func() time.Time { return at }})
	if err != nil {
		panic(err)
	}
	return src
}

func ExampleHaveQuotaWindow() {
	quota, _ := account(usagefake.ScriptAvailable).ReadQuota(context.Background())
	g.Expect(quota).To(matchers.HaveQuotaWindow("session", matchers.UsedPercent(11), matchers.ResetsAt(at.Add(5*time.Hour))))
	g.Expect(quota).To(matchers.HaveQuotaWindow("weekly", matchers.UsedPercent(gomega.BeNumerically("<", 20))))
	// Output:
	// there is no quota window "weekly" with used BeNumerically {Comparator:"<", CompareTo:[20]}
	// window 1 is not the one: used is 21% (float64), want BeNumerically {Comparator:"<", CompareTo:[20]}
	//
	// Expected
	//     ok, account-1, plan plus, as of 2026-01-02T03:04:05Z
	//       session: 11% of 300 min, resets at 2026-01-02T08:04:05Z
	//       weekly: 21% of 10080 min, resets at 2026-01-09T03:04:05Z
	//       reset credits: 2 (credit-1 available, credit-2 available)
	// to have a quota window "weekly" with used BeNumerically {Comparator:"<", CompareTo:[20]}
}

// That a provider refuses to say something so soon does not mean that nobody is signed in.
func ExampleBeSignedOut() {
	ctx := context.Background()
	src, err := usagefake.New(usagefake.Config{Traps: []usagefake.Trap{usagefake.Throttled}})
	if err != nil {
		panic(err)
	}
	_, _ = src.ReadQuota(ctx)
	_, err = src.ReadQuota(ctx)
	fmt.Println("rate-limited:", matchers.BeRateLimited().Matches(err))
	fmt.Println("signed out:", matchers.BeSignedOut().Matches(err))
	// Output:
	// rate-limited: true
	// signed out: false
}

func ExampleHaveTokenTotals() {
	records, _ := account(usagefake.ScriptAvailable).ReadTokenUsage(context.Background())
	g.Expect(records).To(matchers.HaveDailyRecords(14))
	g.Expect(records[12:]).To(matchers.HaveTokenTotals(usagefake.Sum(records[12:])))
	g.Expect(records[12:]).To(matchers.HaveTokenTotals(gomega.HaveField("Unpriced", 1)))
	g.Expect(records[:1]).To(gomega.HaveEach(matchers.BePriced()))
	// Output:
}

// Two sources of one kind say the same, read by read. So nothing that they say is left to chance.
func ExampleAnswerAlike() {
	g.Expect(account(usagefake.ScriptAvailable)).To(matchers.AnswerAlike(account(usagefake.ScriptAvailable)))
	moved := account(usagefake.ScriptBalance)
	g.Expect(moved).To(matchers.AnswerAlike(account(usagefake.ScriptSignedOut)))
	// Output:
	// quota read 1: account is "account-1", want none
	//     reason is missing, want "usage.reason.signed-out"
	//     status is "ok", want "needs-auth"
	//     balance is {"currency":"CNY","granted":"6.42","label":"usage.balance.account","toppedUp":"80.00","total":"86.42"}, want none
	//
	// Expected
	//     balance: quota reads 1, token reads 0, redemptions 0, credits spent 0
	// to answer as another *usagefake.Fake does
}

func ExampleCmpOptions() {
	log := timeline.NewLog("epoch-1")
	log.Append(time.Time{}, "turn-1", "", timeline.Plugin{Kind: "usage", Data: []byte(`{"used": 3, "left": 7}`)})
	other := timeline.NewLog("epoch-2")
	other.Append(time.Time{}, "turn-1", "", timeline.Plugin{Kind: "usage", Data: []byte(`{"left":7,"used":3}`)})
	fmt.Println(cmp.Equal(log.Snapshot(), other.Snapshot(), matchers.CmpOptions()))
	// Output: true
}

// The matchers are arguments of gomock's expectations, as they are. (screen is a mock as mockgen writes them.)
func Example_gomock() {
	ctrl := gomock.NewController(printer{})
	show := &screen{ctrl}
	gomock.InOrder(
		show.EXPECT().Show(matchers.BeReasoning(gomega.ContainSubstring("check"))),
		show.EXPECT().Show(matchers.BeWriteCall("a.ts", matchers.WithStatus(timeline.Completed))),
		show.EXPECT().Show(matchers.BeAssistantMessage(gomega.HaveSuffix("."))),
	)
	for _, item := range []timeline.Item{work[0], work[1], work[3]} {
		show.Show(item)
	}
	fmt.Println("all shown, in this order:", ctrl.Satisfied())
	fmt.Println("want:", matchers.BeShellCall("npm test", matchers.WithExitCode(0)))
	fmt.Println("got:", matchers.BeShellCall("npm test", matchers.WithExitCode(0)).Got(work[0]))
	// Output:
	// all shown, in this order: true
	// want: be a shell call "npm test" with exit code 0
	// got: it is reasoning "let me check", want to be a shell call "npm test" with exit code 0
	//     reasoning "let me check"
}

// A turn that has ended is not waited for any longer: the failure comes at once.
func Example_eventually() {
	ctx := context.Background()
	host := timelinekit.NewHost(printer{})
	turn := host.StartFakeAgentTurn(ctx, script.New(script.Fail("no quota")))
	turn.Wait(ctx)
	began := time.Now()
	g.Eventually(turn).WithTimeout(time.Minute).Should(matchers.EndFailed("no quota"))
	g.Eventually(turn).WithTimeout(time.Minute).ShouldNot(matchers.EndCompleted())
	quiet := gomega.NewGomega(func(message string, _ ...int) {
		_, message, _ = strings.Cut(message, ".\n")
		fmt.Println(strings.Split(message, "\n")[0])
	})
	quiet.Eventually(turn).WithTimeout(time.Minute).Should(matchers.EndCompleted())
	fmt.Println("at once:", time.Since(began) < 10*time.Second)
	// Output:
	// the turn ended failed: no quota, want completed
	// at once: true
}
