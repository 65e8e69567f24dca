package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
)

var _ = Describe("An mcp step, with the reference server of the protocol's authors,", func() {
	for _, way := range []struct {
		name  string
		serve func(ctx context.Context, name string) fakeagent.MCPServer
	}{
		{"over stdio", everythingOnStdio},
		{"over streamable HTTP", everythingOverHTTP},
	} {
		Describe(way.name, func() {
			var server fakeagent.MCPServer
			BeforeEach(func(ctx SpecContext) { server = way.serve(ctx, "everything") })

			It("calls tools, and their results are in its items as the server gave them", func(ctx SpecContext) {
				run := timelinekit.NewHost(GinkgoT()).RunFakeAgentTurn(ctx, script.New(
					script.MCP("everything", "echo", map[string]any{"message": "hello, <world>"}),
					script.MCP("everything", "get-sum", map[string]any{"a": 1.5, "b": -2}),
				), timelinekit.MCPServers(server))

				Expect(run).To(And(EndCompleted(), HaveItems(BeToolCall("mcp__everything__echo"), BeToolCall("mcp__everything__get-sum"))))
				echo, sum := calls(run)[0], calls(run)[1]
				Expect(json.Marshal(echo)).To(MatchJSON(`{
					"type": "tool_call", "callId": "` + echo.CallID + `", "name": "mcp__everything__echo",
					"detail": {
						"type": "unknown",
						"input": {"message": "hello, <world>"},
						"output": {"content": [{"type": "text", "text": "Echo: hello, <world>"}]}
					},
					"status": "completed", "error": null
				}`))
				Expect(said(sum)).To(Equal("The sum of 1.5 and -2 is -0.5."))
			})

			It("is a failed call where the tool fails or does not exist, and the turn goes on", func(ctx SpecContext) {
				run := timelinekit.NewHost(GinkgoT()).RunFakeAgentTurn(ctx, script.New(
					script.MCP("everything", "get-sum", map[string]any{"a": "one", "b": 2}),
					script.MCP("everything", "no-such-tool", nil),
					script.Say("never mind"),
				), timelinekit.MCPServers(server))

				Expect(run).To(And(EndCompleted(), HaveItems(
					BeToolCall("mcp__everything__get-sum", WithError(ContainSubstring("expected number, received string"))),
					BeToolCall("mcp__everything__no-such-tool", WithError(ContainSubstring("no-such-tool not found"))),
					BeAssistantMessage("never mind"),
				)))
			})

			It("opens one session with the server for all calls of an agent, whichever turn they are in", func(ctx SpecContext) {
				host := timelinekit.NewHost(GinkgoT())
				toggle := script.MCP("everything", "toggle-subscriber-updates", nil) // the server remembers it for the session
				first := host.RunFakeAgentTurn(ctx, script.New(toggle, toggle), timelinekit.MCPServers(server))
				second := host.SendFakeAgentTurn(ctx, first.AgentID, script.New(toggle, toggle))

				for _, run := range []timelinekit.Run{first, second} {
					Expect(run).To(And(EndCompleted(), HaveItems(BeToolCall(ContainSubstring("toggle")), BeToolCall(ContainSubstring("toggle")))))
					Expect(said(calls(run)[0])).To(HavePrefix("Started"))
					Expect(said(calls(run)[1])).To(HavePrefix("Stopped"))
				}
			})
		})
	}

	It(`calls every server of the session for "*", in the order in which the session has them`, func(ctx SpecContext) {
		servers := timelinekit.MCPServers(everythingOverHTTP(ctx, "zebra"), everythingOnStdio(ctx, "ant"))
		run := timelinekit.NewHost(GinkgoT()).RunFakeAgentTurn(ctx, script.New(script.MCP("*", "echo", map[string]any{"message": "hi"})), servers)

		Expect(run).To(And(EndCompleted(), HaveItems(BeToolCall("mcp__zebra__echo"), BeToolCall("mcp__ant__echo"))))
		for _, c := range calls(run) {
			Expect(said(c)).To(Equal("Echo: hi"))
		}
	})
})

// calls are the tool calls of a turn.
func calls(run timelinekit.Run) (out []timeline.ToolCall) {
	for _, item := range run.Items() {
		if c, ok := item.(timeline.ToolCall); ok {
			out = append(out, c)
		}
	}
	return out
}

// said is the text that a tool returned.
func said(c timeline.ToolCall) string {
	GinkgoHelper()
	var item struct {
		Detail struct {
			Output struct{ Content []struct{ Text string } }
		}
	}
	raw, err := json.Marshal(c)
	Expect(err).NotTo(HaveOccurred())
	Expect(json.Unmarshal(raw, &item)).To(Succeed())
	Expect(item.Detail.Output.Content).To(HaveLen(1), "the tool did not return one text: %s", raw)
	return item.Detail.Output.Content[0].Text
}

// peer is a program of clients/node_modules, as node and its first argument. Without it the spec is skipped; on CI it fails.
func peer(path string) (node, program string) {
	GinkgoHelper()
	missing := Skip
	if os.Getenv("CI") == "true" {
		missing = Fail
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing("There is no node on the PATH. Install Node.js 20 or newer, and then run `npm ci` in e2e/clients.")
	}
	program, err = filepath.Abs(filepath.Join("clients", "node_modules", filepath.FromSlash(path)))
	Expect(err).NotTo(HaveOccurred())
	if _, err := os.Stat(program); err != nil {
		missing("This needs " + path + ", which is not installed. Run `npm ci` in e2e/clients.")
	}
	return node, program
}

const everything = "@modelcontextprotocol/server-everything/dist/index.js"

// everythingOnStdio is the reference server as a command.
func everythingOnStdio(_ context.Context, name string) fakeagent.MCPServer {
	GinkgoHelper()
	node, program := peer(everything)
	return fakeagent.MCPServer{Name: name, Command: node, Args: []string{program, "stdio"}}
}

// everythingOverHTTP starts the reference server, which runs until the spec has ended.
func everythingOverHTTP(ctx context.Context, name string) fakeagent.MCPServer {
	GinkgoHelper()
	node, program := peer(everything)
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for range 3 { // another process may take the port before the server does
		port := freePort()
		if listens(ctx, exec.Command(node, program, "streamableHttp"), port) {
			return fakeagent.MCPServer{Name: name, URL: "http://127.0.0.1:" + port + "/mcp"}
		}
	}
	Fail("The MCP server did not start. Its output is above.")
	panic("unreachable")
}

// freePort is a port that nobody had a moment ago. The server cannot choose one: with port 0 it does not tell which one it got.
func freePort() string {
	GinkgoHelper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// listens starts the server, and waits until it listens. It returns false for one that ends instead.
func listens(ctx context.Context, cmd *exec.Cmd, port string) bool {
	GinkgoHelper()
	out, in, err := os.Pipe()
	Expect(err).NotTo(HaveOccurred())
	// The server listens to the whole network, and has a tool that tells its environment. So it gets no more of ours than it needs.
	cmd.Env = []string{"PORT=" + port}
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	_ = in.Close()
	Expect(err).NotTo(HaveOccurred())
	end := func() { _ = cmd.Process.Kill() } // it has no children
	DeferCleanup(func() {
		end()
		_ = cmd.Wait() // it was killed, which is an error
		_ = out.Close()
	})

	defer context.AfterFunc(ctx, end)()
	lines := bufio.NewReader(io.TeeReader(out, GinkgoWriter))
	for {
		line, err := lines.ReadString('\n')
		switch {
		case err != nil:
			return false
		case strings.Contains(line, "listening on port"):
			// It says this also when the port is another's, and ends then. So we knock, and see who hears it.
			conn, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err != nil {
				return false
			}
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
				return false
			}
		case strings.Contains(line, "Received MCP GET request"):
			go func() { _, _ = io.Copy(io.Discard, lines) }() // so that the server never waits for a reader
			return true
		}
	}
}
