package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	acp "github.com/coder/acp-go-sdk"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// built is the command as a user has it, made once for all specs.
var built = sync.OnceValues(func() (path string, err error) {
	if builtIn, err = os.MkdirTemp("", "e2e-*"); err != nil {
		return "", err
	}
	return buildGo(builtIn, module+"/fakeagent/cmd/fakeagent")
})

var builtIn string // a folder, or "" if no spec needed one

var _ = AfterSuite(func() {
	if builtIn != "" {
		Expect(os.RemoveAll(builtIn)).To(Succeed())
	}
})

// buildGo builds a command of this module, or of one that it requires.
func buildGo(dir, pkg string) (path string, err error) {
	path = filepath.Join(dir, filepath.Base(pkg)+".exe")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, pkg)
	if out, err := cmd.CombinedOutput(); err != nil {
		return path, fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return path, nil
}

// fakeagentACP is our agent as a command line. This is the one place that says what these specs are about.
func fakeagentACP(args ...string) []string {
	GinkgoHelper()
	path, err := built()
	Expect(err).NotTo(HaveOccurred())
	return append([]string{path, "acp"}, args...)
}

// A task is what a client is to do with an agent.
type task struct {
	agent        []string // its command line
	cwd          string   // "" is a new folder
	prompts      []string // none is one that nobody reads
	fs, terminal bool     // what the client offers; acpx has real ones, and the others keep files in memory and only say that they ran a command
	permission   string   // how it answers: allow-once (also ""), allow-always, reject, cancel
	cancelAfter  int      // it cancels the turn after so many updates
	untilExit    bool     // the agent is to go by itself: its stdin stays open until it has
	tooNew       []string // what the older schema does not know, such as usage_update
	wrong        []string // what the official schema finds, where an agent is meant to be wrong
}

// An account is what a client tells of an agent.
type account struct {
	told    []string // what the agent did, a line each, as the client's library handed it over
	wire    []frame  // what went over the pipes
	session string
	files   map[string]string // what the agent left with the client, by its path below cwd
}

func (a *account) tell(what string) { a.told = append(a.told, what) }

func (a account) String() string {
	out := "told:\n    " + strings.Join(a.told, "\n    ") + "\nwire:"
	for _, f := range a.wire {
		out += "\n    " + clip(f.String(), 300)
	}
	return out
}

// answered tells whether the agent answered the last prompt that went over the wire.
func (a account) answered() bool {
	prompt := ""
	for _, f := range a.wire {
		var msg struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal([]byte(f.line), &msg)
		switch {
		case f.from == "client" && msg.Method == "session/prompt":
			prompt = string(msg.ID)
		case f.from == "agent" && msg.Method == "" && string(msg.ID) == prompt:
			prompt = ""
		}
	}
	return prompt == ""
}

// A client is a program or a library that drives agents.
type client struct {
	name  string
	drive func(context.Context, task) account
	// answers are those that it can give to a request for permission.
	answers []string
}

// clients are written by three groups of people, and none of them is us.
var (
	typeScript = client{"the TypeScript SDK", driveTypeScript, []string{"allow-once", "allow-always", "reject", "cancel"}}
	goSDK      = client{"the Go SDK", driveGo, []string{"allow-once", "allow-always", "reject", "cancel"}}
	acpx       = client{"acpx", driveACPX, []string{"allow-once", "reject"}}
)

// run has the client do its task, and checks all that went over the wire: it must be valid under the official schema, and under an older one as
// far as that goes.
func (c client) run(ctx context.Context, t task) account {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if t.cwd == "" {
		t.cwd = GinkgoT().TempDir()
	}
	if t.prompts == nil {
		t.prompts = []string{"hi"}
	}
	if t.permission == "" {
		t.permission = "allow-once"
	}
	official, older := officialSchema(), olderSchema()
	a := c.drive(ctx, t)
	AddReportEntry(c.name, a.String(), ReportEntryVisibilityFailureOrVerbose)

	var wrong, tooNew []string
	for _, p := range official.check(a.wire) {
		wrong = append(wrong, p.String())
	}
	Expect(wrong).To(HaveExactElements(containing(t.wrong)...), "what the official schema finds wrong")
	for _, p := range older.check(a.wire) {
		if len(t.wrong) == 0 || strings.HasPrefix(p.What, unknown) {
			tooNew = append(tooNew, p.String())
		}
	}
	Expect(tooNew).To(HaveExactElements(containing(t.tooNew)...), "what the older schema finds wrong or does not know")
	return a
}

func containing(texts []string) []any {
	out := []any{}
	for _, text := range texts {
		out = append(out, ContainSubstring(text))
	}
	return out
}

// output runs a client, and returns what it printed and how it exited.
func output(ctx context.Context, cmd *exec.Cmd) (out string, code int) {
	GinkgoHelper()
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, GinkgoWriter
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // so that it can end its agent first
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	Expect(ctx.Err()).NotTo(HaveOccurred(), "%s did not end. It printed\n%s", cmd, clip(printed.String(), 8000))
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		Expect(err).NotTo(HaveOccurred())
	}
	return printed.String(), cmd.ProcessState.ExitCode()
}

// tellUpdate puts a session/update into a few words.
func tellUpdate(update json.RawMessage) string {
	var u struct {
		SessionUpdate, Title, Kind, Status string
		Content                            json.RawMessage
		Entries                            []struct{ Content, Priority, Status string }
	}
	if err := json.Unmarshal(update, &u); err != nil {
		return fmt.Sprintf("%v: %s", err, update)
	}
	switch u.SessionUpdate {
	case "agent_thought_chunk":
		return "thought: " + member(u.Content, "text")
	case "agent_message_chunk":
		return "message: " + member(u.Content, "text")
	case "tool_call":
		return fmt.Sprintf("tool_call: %s %s", u.Kind, u.Title)
	case "tool_call_update":
		return "tool_call_update: " + u.Status
	case "plan":
		var entries []string
		for _, e := range u.Entries {
			entries = append(entries, e.Priority+" "+e.Status)
		}
		return "plan: " + strings.Join(entries, ", ")
	}
	return u.SessionUpdate
}

// tellResult does so with what an agent answers.
func tellResult(method string, result json.RawMessage) string {
	switch method {
	case "initialize":
		var r struct{ ProtocolVersion int }
		_ = json.Unmarshal(result, &r)
		return fmt.Sprintf("initialize: protocol %d", r.ProtocolVersion)
	case "session/prompt":
		return "stop: " + member(result, "stopReason")
	}
	return method
}

// tellRequest does so with what an agent asks for.
func tellRequest(method string, params json.RawMessage, cwd string) string {
	switch {
	case method == "session/request_permission":
		var p struct{ Options []struct{ Kind string } }
		_ = json.Unmarshal(params, &p)
		var kinds []string
		for _, o := range p.Options {
			kinds = append(kinds, o.Kind)
		}
		return "ask: " + strings.Join(kinds, ", ")
	case strings.HasPrefix(method, "fs/"):
		return method + ": " + below(cwd, member(params, "path"))
	}
	return method
}

func tellExit(code int, signal string) string {
	if signal != "" {
		return "exit: " + signal
	}
	return fmt.Sprintf("exit: %d", code)
}

// member is a text in a JSON object, or "".
func member(object json.RawMessage, name string) string {
	var o map[string]any
	_ = json.Unmarshal(object, &o)
	text, _ := o[name].(string)
	return text
}

// below is a path as seen from a folder. One that is not absolute is left as it is, and so looks different.
func below(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); filepath.IsAbs(path) && err == nil {
		return filepath.ToSlash(rel)
	}
	return "not absolute: " + path
}

// driveTypeScript drives an agent with clients/acp-client.mjs.
func driveTypeScript(ctx context.Context, t task) account {
	GinkgoHelper()
	node, _ := peer("@agentclientprotocol/sdk/dist/v1/stable/acp.js")
	driver, err := filepath.Abs("clients/acp-client.mjs")
	Expect(err).NotTo(HaveOccurred())
	args := []string{driver, "--cwd", t.cwd, "--permission", t.permission, "--cancel-after", fmt.Sprint(t.cancelAfter)}
	for _, p := range t.prompts {
		args = append(args, "--prompt", p)
	}
	for flag, set := range map[string]bool{"--fs": t.fs, "--terminal": t.terminal, "--until-exit": t.untilExit} {
		if set {
			args = append(args, flag)
		}
	}
	out, code := output(ctx, exec.CommandContext(ctx, node, slices.Concat(args, []string{"--"}, t.agent)...))
	Expect(code).To(Equal(0), "the driver failed:\n%s", clip(out, 4000))

	a := account{files: map[string]string{}}
	for line := range strings.Lines(out) {
		var e struct {
			Event, From, Line, Message, Method, Signal string
			Update, Params, Result                     json.RawMessage
			Code, Updates                              int
			Unfinished                                 bool
		}
		Expect(json.Unmarshal([]byte(line), &e)).To(Succeed(), "%s", line)
		switch e.Event {
		case "wire":
			Expect(e.Unfinished).To(BeFalse(), "the last line has no end: %s", e.Line)
			a.wire = append(a.wire, frame{e.From, e.Line})
		case "initialize", "session", "response":
			a.tell(tellResult(map[string]string{"initialize": "initialize", "session": "session/new", "response": "session/prompt"}[e.Event], e.Result))
			if e.Event == "session" {
				a.session = member(e.Result, "sessionId")
			}
		case "update":
			a.tell(tellUpdate(e.Update))
		case "request":
			a.tell(tellRequest(e.Method, e.Params, t.cwd))
			if e.Method == "fs/write_text_file" {
				a.files[below(t.cwd, member(e.Params, "path"))] = member(e.Params, "content")
			}
		case "error":
			a.tell(fmt.Sprintf("error %d: %s", e.Code, e.Message))
		case "dropped":
			a.tell(fmt.Sprintf("dropped %d updates", e.Updates))
		case "exit":
			a.tell(tellExit(e.Code, e.Signal))
		default:
			a.tell(e.Event)
		}
	}
	return a
}

// driveACPX drives an agent with acpx, a client for the command line. It prints the messages of both sides, so they are the wire and the account as
// well. It ends the agent when the turn is over, and does not tell how it exited. So the account's last line is how acpx did.
func driveACPX(ctx context.Context, t task) account {
	GinkgoHelper()
	node, program := peer("acpx/dist/cli.js")
	Expect(t.prompts).To(HaveLen(1), "acpx has one prompt")
	policy := map[string]string{"allow-once": "--approve-all", "reject": "--deny-all"}[t.permission]
	Expect(policy).NotTo(BeEmpty(), "acpx cannot answer %s", t.permission)
	var quoted []string
	for _, word := range t.agent {
		quoted = append(quoted, `"`+word+`"`)
	}
	args := []string{program, "--agent", strings.Join(quoted, " "), "--cwd", t.cwd, policy, "--format", "json", "--json-strict", "--timeout", "60"}
	if !t.fs {
		args = append(args, "--no-fs")
	}
	if !t.terminal {
		args = append(args, "--no-terminal")
	}
	cmd := exec.CommandContext(ctx, node, append(args, "exec", t.prompts[0])...)
	home := GinkgoT().TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home)
	out, code := output(ctx, cmd)

	var a account
	asked := map[string][]frame{} // of an id, who asked, the newest last
	for line := range strings.Lines(out) {
		var msg struct {
			ID, Params, Result json.RawMessage
			Method             string
			Error              *struct {
				Code    int
				Message string
			}
		}
		line = strings.TrimSuffix(line, "\n")
		Expect(json.Unmarshal([]byte(line), &msg)).To(Succeed(), "%s", line)
		id := string(msg.ID)
		if msg.Method != "" {
			f := frame{"client", line}
			if officialSchema().side(msg.Method) == "client" {
				f.from = "agent"
			}
			a.wire = append(a.wire, f)
			if msg.ID != nil {
				asked[id] = append(asked[id], frame{f.from, msg.Method})
			}
			switch {
			case msg.Method == "session/update":
				var p struct{ Update json.RawMessage }
				Expect(json.Unmarshal(msg.Params, &p)).To(Succeed())
				a.tell(tellUpdate(p.Update))
			case f.from == "agent":
				a.tell(tellRequest(msg.Method, msg.Params, t.cwd))
			}
			continue
		}
		if len(asked[id]) == 0 {
			a.tell("acpx says " + line) // in its own words, about what went wrong
			continue
		}
		// Each side counts its requests by itself. Of two with one id, that of the agent comes last and is answered first.
		last := len(asked[id]) - 1
		question := asked[id][last]
		asked[id] = asked[id][:last]
		answer := frame{map[string]string{"client": "agent", "agent": "client"}[question.from], line}
		a.wire = append(a.wire, answer)
		switch {
		case answer.from == "client":
		case msg.Error != nil:
			a.tell(fmt.Sprintf("error %d: %s", msg.Error.Code, msg.Error.Message))
		default:
			a.tell(tellResult(question.line, msg.Result))
			if question.line == "session/new" {
				a.session = member(msg.Result, "sessionId")
			}
		}
	}
	a.tell(fmt.Sprint("acpx exits: ", code))
	return a
}

// driveGo drives an agent with the Go SDK, in this process.
func driveGo(ctx context.Context, t task) account {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, t.agent[0], t.agent[1:]...)
	cmd.Dir, cmd.Stderr = t.cwd, GinkgoWriter
	stdin, err := cmd.StdinPipe()
	Expect(err).NotTo(HaveOccurred())
	stdout, err := cmd.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(cmd.Start()).To(Succeed())

	c := &goClient{task: t, stdin: stdin, terminals: map[string]string{}, account: account{files: map[string]string{}}}
	c.changed.L = &c.mu
	// The SDK forgets an answer that it has not handed over yet when it sees the end of the stream, even if the answer came long before it. That is not the
	// agent's doing. So it sees the end when its caller has the answer, and at once where there is none.
	toSDK, fromAgent := io.Pipe()
	played, pumped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(pumped)
		for lines := bufio.NewReader(stdout); ; {
			line, err := lines.ReadString('\n')
			if line != "" {
				c.record("agent", line)
				_, _ = io.WriteString(fromAgent, line)
			}
			if err != nil {
				break
			}
		}
		if c.complete() {
			<-played
		}
		_ = fromAgent.Close()
	}()
	c.conn = acp.NewClientSideConnection(c, c, toSDK)
	c.conn.SetLogger(slog.New(slog.NewTextHandler(GinkgoWriter, nil)))
	go func() {
		<-c.conn.Done()
		_ = toSDK.Close() // or the agent would wait for a reader, where the SDK has given up
	}()

	c.play(ctx)
	close(played)
	c.await(ctx, func() bool { return c.open == 0 }) // the agent may end the turn before it has all answers
	if !t.untilExit {
		_ = stdin.Close()
	}
	<-pumped // before Wait, which closes the pipe that is read
	err = cmd.Wait()
	<-c.conn.Done()
	c.settle(ctx)
	Expect(ctx.Err()).NotTo(HaveOccurred(), "the agent did not go. So far it\n%s", c.account)
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		Expect(err).NotTo(HaveOccurred())
	}
	signal := ""
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		signal = status.Signal().String()
	}
	c.tell(tellExit(cmd.ProcessState.ExitCode(), signal))
	return c.account
}

// goClient is the handlers of the Go SDK, and the writer of the agent's stdin.
type goClient struct {
	task
	stdin io.WriteCloser
	conn  *acp.ClientSideConnection

	mu      sync.Mutex // guards what follows
	changed sync.Cond
	account
	passed, handed int // updates: on the wire, and those that the SDK has handed over
	open           int // requests of the agent that were not answered yet
	terminals      map[string]string
}

// play is the client's side of the session.
func (c *goClient) play(ctx context.Context) {
	hello, err := c.conn.Initialize(ctx, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber,
		ClientCapabilities: acp.ClientCapabilities{
			Fs:       acp.FileSystemCapabilities{ReadTextFile: c.fs, WriteTextFile: c.fs},
			Terminal: c.terminal,
		},
		ClientInfo: &acp.Implementation{Name: "e2e", Version: "1.0.0"},
	})
	if !c.settled(ctx, "initialize", hello, err) {
		return
	}
	session, err := c.conn.NewSession(ctx, acp.NewSessionRequest{Cwd: c.cwd, McpServers: []acp.McpServer{}})
	if !c.settled(ctx, "session/new", session, err) {
		return
	}
	c.session = string(session.SessionId)
	for _, text := range c.prompts {
		answer, err := c.conn.Prompt(ctx, acp.PromptRequest{SessionId: session.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
		if !c.settled(ctx, "session/prompt", answer, err) {
			return
		}
	}
}

// settled tells how a call went, after all that came before its answer.
func (c *goClient) settled(ctx context.Context, method string, result any, err error) bool {
	c.settle(ctx)
	failure := (*acp.RequestError)(nil)
	switch {
	case err == nil:
		raw, _ := json.Marshal(result)
		c.hear(tellResult(method, raw))
	case errors.As(err, &failure) && strings.Contains(failure.Error(), "peer disconnected"):
		c.hear("lost")
	case failure != nil:
		c.hear(fmt.Sprintf("error %d: %s", failure.Code, failure.Message))
	default:
		c.hear(err.Error())
	}
	return err == nil
}

// settle waits until the SDK has handed over all updates that went over the wire. It calls the handlers of requests as soon as it has read them, so
// those wait here as well.
func (c *goClient) settle(ctx context.Context) {
	if !c.await(ctx, func() bool { return c.handed >= c.passed }) {
		c.hear("dropped updates")
	}
}

// await waits for a condition, which is asked for with the lock held. It gives up after a while.
func (c *goClient) await(ctx context.Context, done func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !done() && ctx.Err() == nil {
		c.changed.Wait()
	}
	return done()
}

func (c *goClient) hear(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell(what)
}

func (c *goClient) complete() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answered()
}

func (c *goClient) record(from, line string) {
	var msg struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal([]byte(line), &msg)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wire = append(c.wire, frame{from, strings.TrimSuffix(line, "\n")})
	switch {
	case from == "agent" && msg.Method == "session/update":
		c.passed++
	case from == "agent" && msg.Method != "" && msg.ID != nil:
		c.open++
	case from == "client" && msg.Method == "":
		c.open--
	}
	c.changed.Broadcast()
}

// Write is the SDK's way to the agent.
func (c *goClient) Write(line []byte) (int, error) {
	c.record("client", string(line))
	return c.stdin.Write(line)
}

func (c *goClient) SessionUpdate(ctx context.Context, n acp.SessionNotification) error {
	raw, err := json.Marshal(n.Update)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.tell(tellUpdate(raw))
	c.handed++
	cancel := c.handed == c.cancelAfter
	c.changed.Broadcast()
	c.mu.Unlock()
	if cancel {
		return c.conn.Cancel(ctx, acp.CancelNotification{SessionId: n.SessionId})
	}
	return nil
}

// request tells of a request, after all that came before it, and returns with the lock held.
func (c *goClient) request(ctx context.Context, method string, params any) (unlock func()) {
	c.settle(ctx)
	raw, _ := json.Marshal(params)
	c.mu.Lock()
	c.tell(tellRequest(method, raw, c.cwd))
	return c.mu.Unlock
}

func (c *goClient) RequestPermission(ctx context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	defer c.request(ctx, acp.ClientMethodSessionRequestPermission, p)()
	if c.permission == "cancel" {
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
	}
	kinds := map[string]acp.PermissionOptionKind{
		"allow-once":   acp.PermissionOptionKindAllowOnce,
		"allow-always": acp.PermissionOptionKindAllowAlways,
		"reject":       acp.PermissionOptionKindRejectOnce,
	}
	for _, o := range p.Options {
		if o.Kind == kinds[c.permission] {
			return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
		}
	}
	return acp.RequestPermissionResponse{}, acp.NewInvalidParams("there is no option to " + c.permission)
}

func (c *goClient) ReadTextFile(ctx context.Context, p acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	defer c.request(ctx, acp.ClientMethodFsReadTextFile, p)()
	content, ok := c.files[below(c.cwd, p.Path)]
	if !ok {
		return acp.ReadTextFileResponse{}, &acp.RequestError{Code: -32002, Message: "there is no file " + p.Path}
	}
	return acp.ReadTextFileResponse{Content: content}, nil
}

func (c *goClient) WriteTextFile(ctx context.Context, p acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	defer c.request(ctx, acp.ClientMethodFsWriteTextFile, p)()
	c.files[below(c.cwd, p.Path)] = p.Content
	return acp.WriteTextFileResponse{}, nil
}

func (c *goClient) CreateTerminal(ctx context.Context, p acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	defer c.request(ctx, acp.ClientMethodTerminalCreate, p)()
	id := fmt.Sprint("terminal-", len(c.terminals)+1)
	c.terminals[id] = fmt.Sprintf("ran %s\n", strings.Join(append([]string{p.Command}, p.Args...), " "))
	return acp.CreateTerminalResponse{TerminalId: id}, nil
}

func (c *goClient) TerminalOutput(ctx context.Context, p acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	defer c.request(ctx, acp.ClientMethodTerminalOutput, p)()
	out, err := c.printed(p.TerminalId)
	return acp.TerminalOutputResponse{Output: out, ExitStatus: &acp.TerminalExitStatus{ExitCode: acp.Ptr(0)}}, err
}

func (c *goClient) WaitForTerminalExit(ctx context.Context, p acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	defer c.request(ctx, acp.ClientMethodTerminalWaitForExit, p)()
	_, err := c.printed(p.TerminalId)
	return acp.WaitForTerminalExitResponse{ExitCode: acp.Ptr(0)}, err
}

func (c *goClient) KillTerminal(ctx context.Context, p acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	defer c.request(ctx, acp.ClientMethodTerminalKill, p)()
	_, err := c.printed(p.TerminalId)
	return acp.KillTerminalResponse{}, err
}

func (c *goClient) ReleaseTerminal(ctx context.Context, p acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	defer c.request(ctx, acp.ClientMethodTerminalRelease, p)()
	_, err := c.printed(p.TerminalId)
	delete(c.terminals, p.TerminalId)
	return acp.ReleaseTerminalResponse{}, err
}

func (c *goClient) printed(terminal string) (string, error) {
	out, ok := c.terminals[terminal]
	if !ok {
		return "", &acp.RequestError{Code: -32002, Message: "there is no terminal " + terminal}
	}
	return out, nil
}
