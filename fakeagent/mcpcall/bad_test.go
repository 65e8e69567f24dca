package mcpcall_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
)

// message is what a server gets.
type message struct {
	ID     json.RawMessage
	Method string
}

const (
	greets    = `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"hello"}]}}`
	introduce = `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bad","version":"1"}}}`
	refuse    = `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`
)

// politely is what a server that behaves answers, "" being nothing.
func politely(m message) string {
	switch m.Method {
	case "initialize":
		return fmt.Sprintf(introduce, m.ID)
	case "tools/call":
		return fmt.Sprintf(greets, m.ID)
	case "tools/list":
		return fmt.Sprintf(listed, m.ID, "")
	}
	return ""
}

// manner is how a server answers, whatever carries the answers. says are words for it to use.
type manner func(m message, says string) (answer string)

// to answers one method in a manner of its own, and the others politely.
func to(method string, answer manner) manner {
	return func(m message, says string) string {
		if m.Method == method {
			return answer(m, says)
		}
		return politely(m)
	}
}

func nothingAtAll(message, string) string { return "" }
func garbage(_ message, says string) string {
	return "Listening. " + says
}
func halfOfIt(m message, says string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q`, m.ID, says)
}
func wrongID(message, string) string { return fmt.Sprintf(greets, "99") }
func anError(m message, says string) string {
	return fmt.Sprintf(refuse, m.ID, -32603, says)
}
func tenMegabytes(m message, says string) string {
	return strings.Replace(politely(m), "hello", says+strings.Repeat("x", 10<<20), 1)
}
func oldVersion(m message, _ string) string {
	return strings.Replace(politely(m), "2025-11-25", "1999-12-31", 1)
}
func unknownTool(m message, says string) string {
	return fmt.Sprintf(refuse, m.ID, -32602, `unknown tool "greet"; `+says)
}

// manners are the bad ones.
var manners = map[string]manner{
	"no answer to initialize":         to("initialize", nothingAtAll),
	"no answer to the call":           to("tools/call", nothingAtAll),
	"garbage for initialize":          to("initialize", garbage),
	"garbage for the call":            to("tools/call", garbage),
	"half an answer to the call":      to("tools/call", halfOfIt),
	"a wrong id at initialize":        to("initialize", wrongID),
	"a wrong id at the call":          to("tools/call", wrongID),
	"an error at initialize":          to("initialize", anError),
	"an error at the call":            to("tools/call", anError),
	"10 MB for the call":              to("tools/call", tenMegabytes),
	"the year 99":                     to("initialize", oldVersion),
	"no tool of that name":            to("tools/call", unknownTool),
	"politely, as a good server does": alwaysPolitely,
}

// saysVariable names the variables whose values a server on stdio uses as its words. Without it the words are those of a full disk.
const saysVariable = "UNDERSTUDY_TEST_SAYS"

const fullDisk = "no space left on device"

func words() string {
	names := os.Getenv(saysVariable)
	if names == "" {
		return fullDisk
	}
	var all []string
	for _, name := range strings.Split(names, ",") {
		all = append(all, os.Getenv(name))
	}
	return strings.Join(all, " and ")
}

// onStdio speaks in a manner, until stdin ends.
func onStdio(answer manner) {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			panic(err)
		}
		switch text := answer(m, words()); {
		case text != "":
			fmt.Println(text)
		case m.ID != nil:
			fallSilent()
		}
	}
}

// dying does something to itself when it is asked for a method.
func dying(method string, die func()) func() {
	return func() {
		onStdio(to(method, func(message, string) string {
			die()
			return ""
		}))
	}
}

// hang goes on for long, with a timer: the runtime ends a program in which nothing more can happen.
func hang() { time.Sleep(time.Hour) }

func exit3() { os.Exit(3) }
func kill9() {
	self, _ := os.FindProcess(os.Getpid())
	_ = self.Kill()
	hang()
}
func exitWithWords() {
	fmt.Fprintf(os.Stderr, "starting\nfatal: %s\n\n", words())
	os.Exit(1)
}

// pidVariable is a file for the id of a process that is to be looked for.
const pidVariable = "UNDERSTUDY_TEST_PID"

func notePID(pid int) {
	if err := os.WriteFile(os.Getenv(pidVariable), []byte(strconv.Itoa(pid)), 0o600); err != nil {
		panic(err)
	}
}

// onceVariable is a file that says that a server has died already.
const onceVariable = "UNDERSTUDY_TEST_ONCE"

// badServers are servers on stdio that do not.
var badServers = map[string]func(){
	"exits at initialize":           dying("initialize", exit3),
	"exits at the call":             dying("tools/call", exit3),
	"is killed at initialize":       dying("initialize", kill9),
	"is killed at the call":         dying("tools/call", kill9),
	"exits with words":              dying("initialize", exitWithWords),
	"exits at the call, with words": dying("tools/call", exitWithWords),
	"exits in the middle of a line": dying("tools/call", func() {
		fmt.Print(`{"jsonrpc":"2.0","id":2,"res`)
		os.Exit(0)
	}),
	"exits with a full stderr": dying("tools/call", func() {
		fmt.Fprint(os.Stderr, strings.Repeat("a line of a log\n", 1<<16), "fatal: "+words()+"\n")
		os.Exit(1)
	}),
	"exits with one endless line": dying("tools/call", func() {
		fmt.Fprint(os.Stderr, words(), strings.Repeat("x", 1<<20), strings.Repeat(" y", 2000)) // what is kept begins with an x
		os.Exit(1)
	}),
	"closes its stdout": dying("tools/call", func() {
		os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}),
	"does not read": func() {
		in := bufio.NewReaderSize(os.Stdin, 16)
		_, _ = in.ReadBytes('\n')
		fmt.Printf(introduce+"\n", "1")
		_, _ = in.ReadBytes('\n')
		_, _ = in.ReadByte() // the call has begun
		fallSilent()
		hang()
	},
	"ignores everything": func() {
		signal.Ignore(syscall.SIGTERM)
		notePID(os.Getpid())
		onStdio(to("initialize", nothingAtAll))
		hang()
	},
	"is silent once": func() {
		calls := 0
		onStdio(to("tools/call", func(m message, says string) string {
			if calls++; calls == 1 {
				return nothingAtAll(m, says)
			}
			return politely(m)
		}))
	},
	"answers late": func() {
		var late []string // an answer that is still to come
		calls := 0
		onStdio(to("tools/call", func(m message, says string) string {
			if calls++; calls == 1 {
				late = append(late, strings.Replace(politely(m), "hello", "late", 1))
				return nothingAtAll(m, says)
			}
			answers := strings.Join(append(late, politely(m)), "\n")
			late = nil
			return answers
		}))
	},
	"leaves a child behind": func() {
		child := exec.Command("sleep", "60")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr // so that they stay open
		if err := child.Start(); err != nil {
			panic(err)
		}
		notePID(child.Process.Pid)
		dying("tools/call", exit3)()
	},
	"dies once": func() {
		if _, err := os.Stat(os.Getenv(onceVariable)); err == nil {
			onStdio(alwaysPolitely)
			return
		}
		dying("tools/call", func() {
			_ = os.WriteFile(os.Getenv(onceVariable), nil, 0o600)
			os.Exit(3)
		})()
	},
}

func init() {
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // or a server on stdio that was built with -race ends a second late
	for name, answer := range manners {
		badServers[name] = func() { onStdio(answer) }
	}
}

// read is the message of a request.
func read(r *http.Request) (m message) {
	b, err := io.ReadAll(r.Body)
	if err == nil {
		_ = json.Unmarshal(b, &m)
	}
	return m
}

// silent ends with the client's patience.
func silent(r *http.Request) { <-r.Context().Done() }

// asJSONBody answers over HTTP, each message with one in JSON.
func asJSONBody(answer manner, says func(*http.Request) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m := read(r)
		switch text := answer(m, says(r)); {
		case text != "":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, text)
		case m.ID != nil:
			silent(r)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}
}

// asStream answers over HTTP, each message with an event stream.
func asStream(answer manner, says func(*http.Request) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m := read(r)
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		if text := answer(m, says(r)); text != "" {
			_, _ = io.WriteString(w, "data: "+text+"\n\n")
			return
		}
		silent(r)
	}
}

// asSSE answers by the older transport, in the one stream that the client asks for first. Each stream has its own endpoint: the stream
// of a session that failed may still be open when the next session begins.
func asSSE(answer manner, says func(*http.Request) string) http.HandlerFunc {
	var count atomic.Int64
	var streams sync.Map
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			if text := answer(read(r), says(r)); text != "" {
				answers, _ := streams.Load(r.URL.Query().Get("stream"))
				select {
				case answers.(chan string) <- text:
				case <-r.Context().Done():
				}
			}
			return
		}
		name, answers := strconv.FormatInt(count.Add(1), 10), make(chan string)
		streams.Store(name, answers)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: ?"+r.URL.RawQuery+"&stream="+name+"\n\n")
		for {
			w.(http.Flusher).Flush()
			select {
			case text := <-answers:
				_, _ = io.WriteString(w, "event: message\ndata: "+text+"\n\n")
			case <-r.Context().Done():
				return
			}
		}
	}
}

// refusing answers with a status, and words in the body that nobody wants to see.
func refusing(status int) func(func(*http.Request) string) http.HandlerFunc {
	return func(says func(*http.Request) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/elsewhere?"+r.URL.RawQuery)
			http.Error(w, says(r), status)
		}
	}
}

// refusals are bad ways to answer that only HTTP has.
var refusals = map[string]func(says func(*http.Request) string) http.HandlerFunc{
	"a redirect": refusing(307),
	"401":        refusing(401),
	"403":        refusing(403),
	"404":        refusing(404),
	"500":        refusing(500),
	"a wrong content type": func(says func(*http.Request) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<h1>"+says(r)+"</h1>")
		}
	},
	"no answer, and hangs up": func(func(*http.Request) string) http.HandlerFunc {
		return func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	},
	"the head of an answer, and hangs up": func(says func(*http.Request) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodGet {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","result":"`+says(r))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	},
	"a JSON-RPC error with status 400": func(says func(*http.Request) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, refuse, read(r).ID, -32000, says(r))
		}
	},
}

func disk(*http.Request) string { return fullDisk }

// serving is a server over HTTP for as long as the spec runs.
func serving(h http.HandlerFunc) fakeagent.MCPServer {
	GinkgoHelper()
	s := httptest.NewServer(h)
	DeferCleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return fakeagent.MCPServer{Name: "bad", URL: s.URL}
}

// network is one server's, in memory, since virtual time does not wait for sockets.
type network struct {
	conns chan net.Conn
	down  chan struct{}
}

func (n network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case n.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (n network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.down:
		return nil, net.ErrClosed
	}
}

func (n network) Close() error {
	close(n.down)
	return nil
}

func (network) Addr() net.Addr { return nil }

// servingInMemory is a server over HTTP on virtual time. The client dials as the default transport does.
func servingInMemory(t *testing.T, h http.HandlerFunc) fakeagent.MCPServer {
	n := network{make(chan net.Conn), make(chan struct{})}
	s := &http.Server{Handler: h}
	go func() { _ = s.Serve(n) }()
	usual := http.DefaultTransport
	http.DefaultTransport = &http.Transport{DialContext: n.dial}
	t.Cleanup(func() {
		http.DefaultTransport = usual
		s.Close()
	})
	return fakeagent.MCPServer{Name: "bad", URL: "http://bad.test:8123"}
}

// greeter is a good server, in memory.
func greeter() mcpcall.Option {
	s := mcp.NewServer(&mcp.Implementation{Name: "good", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}, nil, nil
	})
	return mcpcall.Serve("good", s)
}

// impatientWith leaves no more time than need be to a server on stdio that would not end by itself in any.
func impatientWith(server string) {
	if slices.Contains([]string{"closes its stdout", "does not read", "ignores everything"}, server) {
		DeferCleanup(mcpcall.Grace(10 * time.Millisecond))
	}
}

const noAnswer = "no answer within 10s"

// manyArguments are more than the 16 pages that a pipe takes.
var manyArguments = map[string]any{"text": strings.Repeat("x", 20*os.Getpagesize())}

var _ = Describe("A bad server", func() {
	// failsIn calls the bad server and then a good one.
	failsIn := func(ctx context.Context, t timelinekit.T, bad fakeagent.MCPServer, want string) {
		GinkgoHelper()
		bad.Name = "bad"
		run := call(ctx, t, script.MCP("*", "greet", nil), []fakeagent.MCPServer{bad, {Name: "good"}}, greeter())
		Expect(run).To(And(EndCompleted(), HaveItems(
			BeToolCall("mcp__bad__greet", WithStatus(timeline.Failed)),
			BeToolCall("mcp__good__greet", WithStatus(timeline.Completed)))))
		Expect(errorOf(run)).To(Equal(`MCP server "bad" ` + want))
	}
	fails := func(ctx context.Context, bad fakeagent.MCPServer, want string) {
		GinkgoHelper()
		failsIn(ctx, GinkgoT(), bad, want)
	}

	Describe("that cannot be reached is a failed tool call, after which the turn goes on:", func() {
		DescribeTable("by its configuration", func(ctx SpecContext, m fakeagent.MCPServer, want string) { fails(ctx, m, "cannot be reached: "+want) },
			Entry("a command that does not exist", fakeagent.MCPServer{Command: "no-such-command"}, `there is no command "no-such-command"; give a path, or a name that is in PATH`),
			Entry("a path that does not exist", fakeagent.MCPServer{Command: "./no/such/command"}, `there is no command "./no/such/command"; give a path, or a name that is in PATH`),
			Entry("neither a command nor a URL", fakeagent.MCPServer{}, "it has neither a Command nor a URL; give one of them"),
			Entry("both", fakeagent.MCPServer{Command: "x", URL: "http://x"}, "it has a Command and a URL; give one of them"),
			Entry("a URL that is none", fakeagent.MCPServer{URL: "http://a b:%zz"}, "its URL is none that begins with http:// or https:// and names a host"),
			Entry("a URL without a host", fakeagent.MCPServer{URL: "http://:80"}, "its URL is none that begins with http:// or https:// and names a host"),
			Entry("a URL of another kind", fakeagent.MCPServer{URL: "ftp://x"}, "its URL is none that begins with http:// or https:// and names a host"),
		)

		It("a file that is no program", func(ctx SpecContext) {
			file := filepath.Join(GinkgoT().TempDir(), "file")
			Expect(os.WriteFile(file, []byte("x"), 0o600)).To(Succeed())
			fails(ctx, fakeagent.MCPServer{Command: file}, fmt.Sprintf("cannot be reached: the command %q may not be executed; is it a program, with the permission to run?", file))
		})

		It("a session's folder that is gone by now", func(ctx SpecContext) {
			dir := filepath.Join(GinkgoT().TempDir(), "dir")
			Expect(os.Mkdir(dir, 0o700)).To(Succeed())
			host := hostWith(mcpcall.New())
			id, err := host.CreateAgent(ctx, timelinekit.Cwd(dir), timelinekit.MCPServers(itself("bad", "politely, as a good server does")))
			Expect(err).NotTo(HaveOccurred())
			Expect(os.Remove(dir)).To(Succeed())
			run := host.SendFakeAgentTurn(ctx, id, script.New(script.MCP("bad", "greet", nil)))
			Expect(errorOf(run)).To(Equal(`MCP server "bad" cannot be reached: it cannot be started, since the session's cwd is not there; create the folder first`))
		})

		DescribeTable("nobody listens", func(ctx SpecContext, sse bool) {
			fails(ctx, fakeagent.MCPServer{URL: closedPort(), SSE: sse}, "did not open a session: it cannot be connected to (connect: connection refused); is it running?")
		},
			Entry("to messages", false),
			Entry("at the stream", true),
		)

		It("a host that nobody knows", func(ctx SpecContext) {
			fails(ctx, fakeagent.MCPServer{URL: "http://no-such-host.invalid"}, "did not open a session: its host is not known; is the URL right?")
		})
	})

	DescribeTable("on stdio that dies says how it ended and what it said last", func(ctx SpecContext, server, want string) {
		fails(ctx, itself("", server), want)
	},
		Entry("in the handshake, with an exit code", "exits at initialize", "did not open a session: the process ended (exit status 3)"),
		Entry("in the handshake, by a signal", "is killed at initialize", "did not open a session: the process ended (signal: killed)"),
		Entry("in the handshake, with words on stderr", "exits with words", "did not open a session: the process ended (exit status 1); it said: fatal: no space left on device"),
		Entry("in the call, with an exit code", "exits at the call", "did not answer the call of greet: the process ended (exit status 3)"),
		Entry("in the call, by a signal", "is killed at the call", "did not answer the call of greet: the process ended (signal: killed)"),
		Entry("in the call, with words on stderr", "exits at the call, with words", "did not answer the call of greet: the process ended (exit status 1); it said: fatal: no space left on device"),
		Entry("in the middle of a line", "exits in the middle of a line", "did not answer the call of greet: the process ended (exit status 0)"),
		Entry("with 1 MB on stderr, which does not block it", "exits with a full stderr", "did not answer the call of greet: the process ended (exit status 1); it said: fatal: no space left on device"),
		Entry("with one line of 1 MB on stderr", "exits with one endless line", "did not answer the call of greet: the process ended (exit status 1); it said: "+strings.Repeat("y ", 228)+"…"),
	)

	DescribeTable("on stdio that breaks the protocol", func(ctx SpecContext, server, want string) {
		impatientWith(server)
		fails(ctx, itself("", server), want)
	},
		Entry("does not answer initialize", "no answer to initialize", "did not open a session: "+noAnswer),
		Entry("does not answer the call", "no answer to the call", "did not answer the call of greet: "+noAnswer),
		Entry("logs to stdout", "garbage for initialize", "did not open a session: it wrote a line to stdout that is no message of the protocol (what it logs belongs on stderr): Listening. no space left on device"),
		Entry("logs to stdout later", "garbage for the call", "did not answer the call of greet: it wrote a line to stdout that is no message of the protocol (what it logs belongs on stderr): Listening. no space left on device"),
		Entry("sends half an answer", "half an answer to the call", `did not answer the call of greet: it wrote a line to stdout that is no message of the protocol (what it logs belongs on stderr): {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"no space left on device"`),
		Entry("mistakes the id", "a wrong id at initialize", "did not open a session: it answered with the id 99, which no request has"),
		Entry("mistakes the id of the call", "a wrong id at the call", "did not answer the call of greet: it answered with the id 99, which no request has"),
		Entry("refuses the session", "an error at initialize", "did not open a session: it answered with an error: no space left on device (JSON-RPC error -32603)"),
		Entry("refuses the call", "an error at the call", "failed the call of greet: it answered with an error: no space left on device (JSON-RPC error -32603)"),
		Entry("has no such tool", "no tool of that name", `failed the call of greet: it answered with an error: unknown tool "greet"; no space left on device (JSON-RPC error -32602)`),
		Entry("answers 10 MB", "10 MB for the call", "did not answer the call of greet: its answer is longer than 4194304 bytes, the limit"),
		Entry("speaks an old version", "the year 99", `did not open a session: unsupported protocol version: "1999-12-31"`),
		Entry("closes its stdout", "closes its stdout", "did not answer the call of greet: it closed its stdin or stdout, but went on running"),
	)

	DescribeTable("over HTTP that breaks the protocol", func(name, asJSON, inStream, bySSE string) {
		virtually(func(ctx context.Context, t *testing.T) {
			failsInTime := func(h http.HandlerFunc, sse bool, want string) {
				GinkgoHelper()
				began, took := time.Now(), time.Duration(0)
				if strings.HasSuffix(want, noAnswer) {
					took = 10 * time.Second
				}
				s := servingInMemory(t, h)
				s.SSE = sse
				failsIn(ctx, t, s, want)
				Expect(time.Since(began)).To(Equal(took))
			}
			failsInTime(asJSONBody(manners[name], disk), false, asJSON)
			failsInTime(asStream(manners[name], disk), false, inStream)
			failsInTime(asSSE(manners[name], disk), true, bySSE)
		})
	},
		same("does not answer initialize", "no answer to initialize", "did not open a session: "+noAnswer),
		same("does not answer the call", "no answer to the call", "did not answer the call of greet: "+noAnswer),
		same("mistakes the id", "a wrong id at the call", "did not answer the call of greet: "+noAnswer,
			"did not answer the call of greet: it ended its event stream before the answer", "did not answer the call of greet: "+noAnswer),
		same("sends garbage", "garbage for the call", "did not answer the call of greet: its answer is no message of the protocol"),
		same("refuses the session", "an error at initialize", "did not open a session: it answered with an error: no space left on device (JSON-RPC error -32603)"),
		same("refuses the call", "an error at the call", "failed the call of greet: it answered with an error: no space left on device (JSON-RPC error -32603)"),
		same("has no such tool", "no tool of that name", `failed the call of greet: it answered with an error: unknown tool "greet"; no space left on device (JSON-RPC error -32602)`),
		same("answers 10 MB", "10 MB for the call", "did not answer the call of greet: its answer is longer than 4194304 bytes, the limit"),
		same("speaks an old version", "the year 99", `did not open a session: unsupported protocol version: "1999-12-31"`),
	)

	It("over HTTP that opens no stream by the older transport is given up", func() {
		virtually(func(ctx context.Context, t *testing.T) {
			s := servingInMemory(t, func(_ http.ResponseWriter, r *http.Request) { silent(r) })
			s.SSE = true
			failsIn(ctx, t, s, "did not open a session: "+noAnswer)
		})
	})

	DescribeTable("over HTTP that refuses", func(ctx SpecContext, name, want string, bySSE ...string) {
		s := serving(refusals[name](disk))
		fails(ctx, s, "did not open a session: "+want)
		s.SSE = true
		fails(ctx, s, "did not open a session: "+append(bySSE, want)[0])
	},
		Entry("sends elsewhere", "a redirect", "it answered HTTP 307 Temporary Redirect, a redirect, which is not followed; give the URL that it leads to"),
		Entry("does not know who asks", "401", "it answered HTTP 401 Unauthorized; do its Headers hold what it asks for?"),
		Entry("does not want who asks", "403", "it answered HTTP 403 Forbidden; do its Headers hold what it asks for?"),
		Entry("is not there", "404", "it answered HTTP 404 Not Found; is the URL right, and is SSE set for the older transport only?"),
		Entry("has an error", "500", "it answered HTTP 500 Internal Server Error"),
		Entry("is a web site", "a wrong content type", `it answered with content type "text/html", neither JSON nor an event stream; is the URL right?`,
			`it answered with content type "text/html", which is no event stream; is the URL right, and is SSE set for the older transport only?`),
		Entry("hangs up", "no answer, and hangs up", "it closed the connection without an answer"),
		Entry("hangs up in the middle", "the head of an answer, and hangs up", "the connection broke in the middle of its answer"),
		Entry("says why in JSON", "a JSON-RPC error with status 400", "it answered HTTP 400 Bad Request; it answered with an error: no space left on device (JSON-RPC error -32000)",
			"it answered HTTP 400 Bad Request"),
	)

	Describe("over HTTP that names another host gets no headers there:", func() {
		var elsewhere fakeagent.MCPServer
		BeforeEach(func() {
			elsewhere = serving(func(http.ResponseWriter, *http.Request) { Fail("the other host was asked") })
		})

		It("in a redirect", func(ctx SpecContext) {
			s := serving(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, elsewhere.URL, http.StatusPermanentRedirect)
			})
			s.Headers = map[string]string{"Authorization": "Bearer abcdef"}
			fails(ctx, s, "did not open a session: it answered HTTP 308 Permanent Redirect, a redirect, which is not followed; give the URL that it leads to")
		})

		It("as the place for messages", func(ctx SpecContext) {
			s := serving(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "event: endpoint\ndata: "+elsewhere.URL+"\n\n")
				w.(http.Flusher).Flush()
				silent(r)
			})
			s.SSE, s.Headers = true, map[string]string{"Authorization": "Bearer abcdef"}
			fails(ctx, s, "did not open a session: it wants its messages sent to another host, which must not get the headers")
		})
	})

	Describe("on stdio leaves no process behind:", func() {
		var pid string
		BeforeEach(func() { pid = filepath.Join(GinkgoT().TempDir(), "pid") })

		gone := func(ctx context.Context) {
			GinkgoHelper()
			b, err := os.ReadFile(pid)
			Expect(err).NotTo(HaveOccurred())
			id, err := strconv.Atoi(string(b))
			Expect(err).NotTo(HaveOccurred())
			Eventually(ctx, func() string { return state(id) }).WithTimeout(time.Minute).Should(BeElementOf("", "Z"), "whoever adopted it may not have looked yet")
		}

		It("not itself, though it ignores the end of stdin and SIGTERM", func(ctx SpecContext) {
			impatientWith("ignores everything")
			s := itself("", "ignores everything")
			s.Env[pidVariable] = pid
			fails(ctx, s, "did not open a session: "+noAnswer)
			gone(ctx)
		})

		It("not a child of its own, which has its stdout", func(ctx SpecContext) {
			s := itself("", "leaves a child behind")
			s.Env[pidVariable] = pid
			fails(ctx, s, "did not answer the call of greet: the process ended (exit status 3)")
			gone(ctx)
		})
	})

	It("on stdio that does not read does not hold a call with many arguments up", func(ctx SpecContext) {
		impatientWith("does not read")
		step := script.MCP("bad", "greet", manyArguments)
		Expect(errorOf(call(ctx, GinkgoT(), step, only(itself("bad", "does not read"))))).To(
			Equal(`MCP server "bad" did not answer the call of greet: ` + noAnswer))
	})

	Describe("at the next call", func() {
		twice := func(ctx context.Context, s fakeagent.MCPServer) (first string, second timeline.Item) {
			GinkgoHelper()
			step := script.MCP("bad", "greet", nil)
			host := hostWith(mcpcall.New())
			run := host.RunFakeAgentTurn(ctx, script.New(step, step), timelinekit.MCPServers(s))
			items := run.Timeline.Items()
			return errorOf(run).(string), items[len(items)-1]
		}

		It("has the same session, if it was a process that was only too slow", func(ctx SpecContext) {
			first, second := twice(ctx, itself("bad", "is silent once")) // a new process would be so again
			Expect(first).To(HaveSuffix(noAnswer))
			Expect(second).To(BeToolCall("mcp__bad__greet", WithStatus(timeline.Completed)))
		})

		It("has a new session, if it was a process that died", func(ctx SpecContext) {
			s := itself("bad", "dies once")
			s.Env[onceVariable] = filepath.Join(GinkgoT().TempDir(), "once")
			first, second := twice(ctx, s)
			Expect(first).To(ContainSubstring("the process ended (exit status 3)"))
			Expect(second).To(BeToolCall("mcp__bad__greet", WithStatus(timeline.Completed)))
		})

		It("has a new session, if it forgot the one that it had over HTTP", func(ctx SpecContext) {
			sessions, forgotten := 0, false
			good := asJSONBody(alwaysPolitely, disk)
			first, second := twice(ctx, serving(func(w http.ResponseWriter, r *http.Request) {
				switch id := r.Header.Get("Mcp-Session-Id"); {
				case id == "":
					sessions++
					w.Header().Set("Mcp-Session-Id", "session-"+strconv.Itoa(sessions))
				case id == "session-1" && r.Header.Get("Content-Type") != "" && !forgotten:
					forgotten = true // notifications/initialized, the last that it remembers
				case id == "session-1":
					http.Error(w, "no such session", http.StatusNotFound)
					return
				}
				good(w, r)
			}))
			Expect(first).To(ContainSubstring("it answered HTTP 404 Not Found"))
			Expect(second).To(BeToolCall("mcp__bad__greet", WithStatus(timeline.Completed)))
			Expect(sessions).To(Equal(2))
		})
	})
})

func alwaysPolitely(m message, _ string) string { return politely(m) }

// closedPort is a URL at which nobody listens. The host is a name, so that an address in an error would be another text.
func closedPort() string {
	GinkgoHelper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	Expect(l.Close()).To(Succeed())
	_, port, err := net.SplitHostPort(l.Addr().String())
	Expect(err).NotTo(HaveOccurred())
	return "http://localhost:" + port
}

// same is an entry for answers in JSON, in a stream, and by the older transport; the last error given goes for the rest.
func same(title, name string, want ...string) TableEntry {
	for len(want) < 3 {
		want = append(want, want[len(want)-1])
	}
	return Entry(title, name, want[0], want[1], want[2])
}

// errorOf is the error of the first tool call.
func errorOf(run timelinekit.Run) any {
	for _, item := range run.Timeline.Items() {
		if c, ok := item.(timeline.ToolCall); ok {
			return c.Error
		}
	}
	return nil
}

// hostWith is a host whose agent calls servers with the client.
func hostWith(client fakeagent.MCP) *timelinekit.Host {
	cfg := fakeagent.Scripted()
	cfg.MCP = client
	return timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("fake-agent", fakeagent.NewT(GinkgoT(), cfg)))
}

// state is the letter that the system has for what a process does, "Z" being dead, or "" for none.
func state(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	letter, _, _ := strings.Cut(rest, " ")
	return letter
}
