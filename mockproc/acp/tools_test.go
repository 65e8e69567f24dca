package acp_test

import (
	"context"
	"errors"
	"io/fs"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/mockproc/acp"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// offers connects a client with these capabilities, as the agent sees it.
func offers(capabilities string) (*client, *acp.Client) {
	GinkgoHelper()
	var got *acp.Client
	c := serve(acp.AgentConfig{Open: func(c *acp.Client) (fakeagent.Provider, error) { got = c; return newStub(), nil }})
	c.asks(request("0", "initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`}`), helloed)
	return c, got
}

var inW = fakeagent.SessionConfig{ThreadID: "sess-1", Cwd: "/w", Env: map[string]string{"B": "2", "A": "1"}}

// here is a Files that says that it was asked.
type here struct{}

func (here) ReadFile(context.Context, fakeagent.SessionConfig, string) ([]byte, error) {
	return []byte("here"), nil
}

func (here) WriteFile(context.Context, fakeagent.SessionConfig, string, []byte, bool) error {
	return errors.New("here")
}

func (here) Run(context.Context, fakeagent.SessionConfig, string) (fakeagent.ShellResult, error) {
	return fakeagent.ShellResult{Output: "here"}, nil
}

type outcome[T any] struct {
	value T
	err   error
}

// begin does something on a goroutine of its own.
func begin[T any](do func() (T, error)) <-chan outcome[T] {
	done := make(chan outcome[T], 1)
	go func() {
		v, err := do()
		done <- outcome[T]{v, err}
	}()
	return done
}

var _ = Describe("Files of a client", bubble.InBubble, func() {
	const both = `{"fs":{"readTextFile":true,"writeTextFile":true}}`

	It("are the agent's own where the client offers none", func(ctx SpecContext) {
		_, client := offers(`{}`)
		Expect(client.Files(here{})).To(Equal(here{}))
		Expect(client.Files(nil)).To(BeNil())
	})

	It("are read and written by the client, under absolute paths", func(ctx SpecContext) {
		c, client := offers(both)
		files := client.Files(nil)
		read := begin(func() ([]byte, error) { return files.ReadFile(ctx, inW, "a/b") })
		c.hears(request("0", "fs/read_text_file", `{"sessionId":"sess-1","path":"/w/a/b"}`))
		c.say(answered("0", `{"content":"x\ny"}`))
		Expect(<-read).To(Equal(outcome[[]byte]{[]byte("x\ny"), nil}))
		written := begin(func() (int, error) { return 0, files.WriteFile(ctx, inW, "a/b", []byte("z\"\n"), false) })
		c.hears(request("1", "fs/write_text_file", `{"sessionId":"sess-1","path":"/w/a/b","content":"z\"\n"}`))
		c.say(answered("1", `{}`))
		Expect((<-written).err).NotTo(HaveOccurred())
	})

	It("may be offered for one of the two only", func(ctx SpecContext) {
		_, client := offers(`{"fs":{"readTextFile":true}}`)
		Expect(client.Files(here{}).WriteFile(ctx, inW, "a", nil, false)).To(MatchError("here"))
		_, client = offers(`{"fs":{"writeTextFile":true}}`)
		Expect(client.Files(here{}).ReadFile(ctx, inW, "a")).To(BeEquivalentTo("here"))
	})

	DescribeTable("that cannot be read say so:", func(ctx SpecContext, answer, why string) {
		c, client := offers(both)
		read := begin(func() ([]byte, error) { return client.Files(nil).ReadFile(ctx, inW, "a") })
		c.line()
		c.say(`{"jsonrpc":"2.0","id":0,` + answer + `}`)
		Expect((<-read).err).To(MatchError(why))
	},
		Entry("one that does not exist", `"error":{"code":-32002,"message":"x"}`, "a: "+fs.ErrNotExist.Error()),
		Entry("an error", `"error":{"code":-32603,"message":"is secret"}`, "the client could not read a: is secret (code -32603)"),
		Entry("an answer without a content", `"result":{}`, `the client answered fs/read_text_file with {}, without a content`),
		Entry("an answer that is none", `"result":{"content":1}`, `the client answered fs/read_text_file with {"content":1}, without a content`),
	)

	It("that do not exist are so for errors.Is", func(ctx SpecContext) {
		c, client := offers(both)
		read := begin(func() ([]byte, error) { return client.Files(nil).ReadFile(ctx, inW, "a") })
		c.line()
		c.say(refused("0", -32002, "x"))
		Expect((<-read).err).To(MatchError(fs.ErrNotExist))
	})

	It("that cannot be written say so", func(ctx SpecContext) {
		c, client := offers(both)
		written := begin(func() (int, error) { return 0, client.Files(nil).WriteFile(ctx, inW, "a", nil, false) })
		c.line()
		c.say(refused("0", -32603, "is secret"))
		Expect((<-written).err).To(MatchError("the client could not write a: is secret (code -32603)"))
		Expect(client.Files(nil).WriteFile(ctx, inW, "a", []byte{0xff}, false)).To(MatchError("a is no text, and the client writes nothing else"))
	})

	It("are not waited for any more when the context ends: the request is taken back", func() {
		c, client := offers(both)
		ctx, cancel := context.WithCancelCause(context.Background())
		read := begin(func() ([]byte, error) { return client.Files(nil).ReadFile(ctx, inW, "a") })
		c.line()
		cancel(errors.New("enough"))
		c.hears(notification("$/cancel_request", `{"requestId":0}`))
		Expect((<-read).err).To(MatchError("the client could not read a: enough"))
		c.say(answered("0", `{"content":"late"}`))
		c.quiet()
		Expect(notes(c.log.Transcript())).To(BeEmpty()) // it was asked for
	})

	It("are gone with the connection", func(ctx SpecContext) {
		c, client := offers(both)
		read := begin(func() ([]byte, error) { return client.Files(nil).ReadFile(ctx, inW, "a") })
		c.line()
		c.end()
		Expect((<-read).err).To(MatchError(ContainSubstring("the connection is closed")))
		_, err := client.Files(nil).ReadFile(ctx, inW, "a")
		Expect(err).To(MatchError(ContainSubstring("the connection is closed")))
	})
})

var _ = Describe("Terminals of a client", bubble.InBubble, func() {
	run := func(ctx context.Context, client *acp.Client) <-chan outcome[fakeagent.ShellResult] {
		return begin(func() (fakeagent.ShellResult, error) { return client.Shell(nil).Run(ctx, inW, "echo \"a\"") })
	}
	const terminal = `{"sessionId":"sess-1","terminalId":"t 1"}`
	const create = `{"sessionId":"sess-1","command":"/bin/sh","args":["-c","echo \"a\""],"cwd":"/w","env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],"outputByteLimit":65536}`

	It("are the agent's own shell where the client offers none", func(ctx SpecContext) {
		_, client := offers(`{"fs":{"readTextFile":true}}`)
		Expect(client.Shell(here{})).To(Equal(here{}))
	})

	DescribeTable("run a command, and are released:", func(ctx SpecContext, exit string, want fakeagent.ShellResult) {
		c, client := offers(`{"terminal":true}`)
		ran := run(ctx, client)
		c.asks0(request("0", "terminal/create", create), `{"terminalId":"t 1"}`)
		c.asks0(request("1", "terminal/wait_for_exit", terminal), exit)
		c.asks0(request("2", "terminal/output", terminal), `{"output":"a\n","truncated":false}`)
		c.asks0(request("3", "terminal/release", terminal), `{}`)
		Expect(<-ran).To(Equal(outcome[fakeagent.ShellResult]{want, nil}))
		c.quiet()
	},
		Entry("which ends", `{"exitCode":0}`, fakeagent.ShellResult{Output: "a\n"}),
		Entry("which fails", `{"exitCode":2,"signal":null}`, fakeagent.ShellResult{Output: "a\n", ExitCode: 2}),
		Entry("which a signal ends", `{"signal":"SIGKILL"}`, fakeagent.ShellResult{Output: "a\n", Signal: "SIGKILL"}),
		Entry("which ends with both", `{"exitCode":1,"signal":"SIGKILL"}`, fakeagent.ShellResult{Output: "a\n", ExitCode: 1}),
	)

	It("kill the command when the context ends, and tell what it said", func() {
		c, client := offers(`{"terminal":true}`)
		ctx, cancel := context.WithCancel(context.Background())
		ran := run(ctx, client)
		c.asks0(request("0", "terminal/create", create), `{"terminalId":"t 1"}`)
		c.hears(request("1", "terminal/wait_for_exit", terminal))
		cancel()
		c.asks0(request("2", "terminal/kill", terminal), `{}`)
		c.say(answered("1", `{"signal":"SIGKILL"}`))
		c.asks0(request("3", "terminal/output", terminal), `{"output":"half"}`)
		c.asks0(request("4", "terminal/release", terminal), `{}`)
		Expect(<-ran).To(Equal(outcome[fakeagent.ShellResult]{fakeagent.ShellResult{Output: "half", Signal: "SIGKILL"}, nil}))
	})

	It("are given 5 seconds for that", func() {
		c, client := offers(`{"terminal":true}`)
		ctx, cancel := context.WithCancel(context.Background())
		ran := run(ctx, client)
		c.asks0(request("0", "terminal/create", create), `{"terminalId":"t 1"}`)
		c.line()
		began := time.Now()
		cancel()
		c.line()
		c.hears(notification("$/cancel_request", `{"requestId":1}`), request("3", "terminal/release", terminal))
		Expect(time.Since(began)).To(Equal(5 * time.Second))
		Expect((<-ran).err).To(MatchError("terminal/wait_for_exit: context canceled"))
	})

	It("that come too late are released", func() {
		c, client := offers(`{"terminal":true}`)
		ctx, cancel := context.WithCancel(context.Background())
		ran := run(ctx, client)
		c.line()
		cancel()
		c.hears(notification("$/cancel_request", `{"requestId":0}`))
		Expect((<-ran).err).To(MatchError("the client made no terminal: context canceled"))
		c.quiet()
		c.say(answered("0", `{"terminalId":"t 1"}`))
		c.hears(request("1", "terminal/release", terminal))
	})

	It("that the client does not make at all need no release", func() {
		c, client := offers(`{"terminal":true}`)
		ctx, cancel := context.WithCancel(context.Background())
		run(ctx, client)
		c.line()
		cancel()
		c.line()
		c.say(refused("0", -32800, "cancelled"))
		c.quiet()
	})

	DescribeTable("say what the client did not do:", func(ctx SpecContext, step int, answer, why string) {
		c, client := offers(`{"terminal":true}`)
		ran := run(ctx, client)
		for i, ok := range []string{`{"terminalId":"t 1"}`, `{"exitCode":0}`, `{"output":""}`}[:step+1] {
			c.line()
			id := string(rune('0' + i))
			if i < step {
				c.say(answered(id, ok))
			} else {
				c.say(`{"jsonrpc":"2.0","id":` + id + `,` + answer + `}`)
			}
		}
		Expect((<-ran).err).To(MatchError(why))
		if step > 0 {
			c.hears(request(string(rune('0'+step+1)), "terminal/release", terminal))
		}
		c.quiet()
	},
		Entry("a terminal", 0, `"error":{"code":1,"message":"no"}`, "the client made no terminal: no (code 1)"),
		Entry("an id", 0, `"result":{}`, "the client answered terminal/create with {}, without a terminalId"),
		Entry("wait", 1, `"error":{"code":1,"message":"no"}`, "terminal/wait_for_exit: no (code 1)"),
		Entry("give the output", 2, `"error":{"code":1,"message":"no"}`, "terminal/output: no (code 1)"),
	)

	It("go with the connection", func(ctx SpecContext) {
		c, client := offers(`{"terminal":true}`)
		ran := run(ctx, client)
		c.asks0(request("0", "terminal/create", create), `{"terminalId":"t 1"}`)
		c.line()
		c.end()
		Expect((<-ran).err).To(MatchError(ContainSubstring("the connection is closed")))
	})
})

// asks0 expects a request of the agent, and answers it.
func (c *client) asks0(request, result string) {
	GinkgoHelper()
	c.hears(request)
	synctest.Wait()
	id := request[len(`{"jsonrpc":"2.0","id":`):]
	c.say(answered(id[:1], result))
}
