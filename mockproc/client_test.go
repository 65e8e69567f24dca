package mockproc_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/recorder"
	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/mockproc/acp"
)

// client is a host that says what a spec has it say. It reads on the spec's own goroutine, and keeps each line with the time at which it came.
type client struct {
	p       mockproc.Process
	stdout  *bufio.Reader
	began   time.Time
	session string // of the last session/new
	ids     int
	heard   []heard
}

// heard is a line of the agent, or what became of it.
type heard struct {
	at   time.Duration // since the client was made
	line string        // without its end
}

func (h heard) String() string { return fmt.Sprint(h.at, " ", h.line) }

func newClient(p mockproc.Process) *client {
	return &client{p: p, stdout: bufio.NewReader(p.Stdout()), began: time.Now()}
}

// start makes a mock and a client of it, in a test of its own that must end well.
func start(s mockproc.Scenario, opts ...mockproc.Option) (*client, *mockproc.Mock) {
	GinkgoHelper()
	t := &recorder.T{}
	DeferCleanup(func() { Expect(t.End()).To(BeEmpty()) })
	m := mockproc.Start(t, s, opts...)
	return newClient(m), m
}

func (c *client) note(line string) { c.heard = append(c.heard, heard{time.Since(c.began), line}) }

// write writes a line to the agent.
func (c *client) write(format string, args ...any) error {
	_, err := fmt.Fprintf(c.p.Stdin(), format+"\n", args...)
	return err
}

// say is write to an agent that must be there.
func (c *client) say(format string, args ...any) {
	GinkgoHelper()
	Expect(c.write(format, args...)).To(Succeed())
}

// ask sends a request, and does not wait for its answer.
func (c *client) ask(method, params string) (id int) {
	GinkgoHelper()
	id = c.ids
	c.ids++
	c.say(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
	return id
}

// read is the agent's next line, or "EOF".
func (c *client) read() string {
	GinkgoHelper()
	line, err := c.stdout.ReadString('\n')
	if errors.Is(err, io.EOF) {
		Expect(line).To(BeEmpty(), "a line that was cut short")
		c.note("EOF")
		return "EOF"
	}
	Expect(err).NotTo(HaveOccurred())
	c.note(strings.TrimSuffix(line, "\n"))
	return c.last()
}

func (c *client) last() string { return c.heard[len(c.heard)-1].line }

// until reads up to the first line that has a text in it.
func (c *client) until(text string) string {
	GinkgoHelper()
	for {
		line := c.read()
		if strings.Contains(line, text) {
			return line
		}
		Expect(line).NotTo(Equal("EOF"), "the output ended without %s, after %s", text, c.lines())
	}
}

// answer reads up to the answer to a request.
func (c *client) answer(id int) string {
	GinkgoHelper()
	return c.until(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"`, id))
}

// rest reads until the output ends, and then waits for the exit.
func (c *client) rest() {
	GinkgoHelper()
	for c.read() != "EOF" {
	}
	c.exit()
}

// exit waits for the exit.
func (c *client) exit() {
	<-c.p.Exited()
	c.note("exit " + exitOf(c.p))
}

func exitOf(p mockproc.Process) string {
	if s := p.ExitSignal(); s != nil {
		return fmt.Sprint(p.ExitCode(), " ", s)
	}
	return fmt.Sprint(p.ExitCode())
}

func (c *client) initialize() string {
	GinkgoHelper()
	return c.answer(c.ask("initialize", `{"protocolVersion":1,"clientCapabilities":{},"clientInfo":{"name":"spec","version":"1"}}`))
}

// newSession opens a session in a folder.
func (c *client) newSession(cwd string) string {
	GinkgoHelper()
	line := c.answer(c.ask("session/new", fmt.Sprintf(`{"cwd":%s,"mcpServers":[]}`, quoted(cwd))))
	var r struct{ Result struct{ SessionID string } }
	Expect(json.Unmarshal([]byte(line), &r)).To(Succeed())
	c.session = r.Result.SessionID
	return c.session
}

// open does the handshake.
func (c *client) open() *client {
	GinkgoHelper()
	c.initialize()
	c.newSession(os.TempDir())
	return c
}

// prompt sends a prompt to the last session, and does not wait for its answer.
func (c *client) prompt(text string) (id int) {
	GinkgoHelper()
	return c.ask("session/prompt", fmt.Sprintf(`{"sessionId":%s,"prompt":[{"type":"text","text":%s}]}`, quoted(c.session), quoted(text)))
}

func (c *client) cancel() {
	GinkgoHelper()
	c.say(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%s}}`, quoted(c.session))
}

// permission reads up to the next question, and is its id and its options.
func (c *client) permission() (id int, options string) {
	GinkgoHelper()
	var r struct {
		ID     int
		Params struct{ Options []struct{ OptionID string } }
	}
	Expect(json.Unmarshal([]byte(c.until(`"session/request_permission"`)), &r)).To(Succeed())
	for _, o := range r.Params.Options {
		options += " " + o.OptionID
	}
	return r.ID, strings.TrimSpace(options)
}

// allow answers a question; outcome is an option, or "cancelled".
func (c *client) allow(id int, outcome string) {
	GinkgoHelper()
	answer := `{"outcome":"selected","optionId":` + quoted(outcome) + `}`
	if outcome == "cancelled" {
		answer = `{"outcome":"cancelled"}`
	}
	c.say(`{"jsonrpc":"2.0","id":%d,"result":{"outcome":%s}}`, id, answer)
}

// lines are what was heard, with the times.
func (c *client) lines() (out []string) {
	for _, h := range c.heard {
		out = append(out, h.String())
	}
	return out
}

// times are what was heard, each in two words: when, and what.
func (c *client) times() (out []string) {
	for _, h := range c.heard {
		out = append(out, fmt.Sprintf("%d %s", h.at.Milliseconds(), kindOf(h.line)))
	}
	return out
}

// kinds are the kinds of what was heard from the nth line on.
func (c *client) kinds(from int) (out []string) {
	for _, h := range c.heard[from:] {
		out = append(out, kindOf(h.line))
	}
	return out
}

// kindOf says in a word or two what a line is.
func kindOf(line string) string {
	var m struct {
		ID     *int
		Method string
		Params struct {
			Update struct{ SessionUpdate, Status string }
		}
		Result struct{ StopReason string }
		Error  *acp.Error
	}
	if json.Unmarshal([]byte(line), &m) != nil {
		return line
	}
	u := m.Params.Update
	switch {
	case u.SessionUpdate != "":
		return strings.TrimSpace(u.SessionUpdate + " " + u.Status)
	case m.Method != "":
		return m.Method
	case m.Error != nil:
		return fmt.Sprintf("error %d", m.Error.Code)
	case m.Result.StopReason != "":
		return m.Result.StopReason
	case m.ID != nil:
		return fmt.Sprintf("answer %d", *m.ID)
	}
	return line
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// named is a scenario of the kit.
func named(name string) mockproc.Scenario {
	GinkgoHelper()
	s, err := mockproc.Named(name)
	Expect(err).NotTo(HaveOccurred())
	return s
}

// parsed is a scenario of a file.
func parsed(text string) mockproc.Scenario {
	GinkgoHelper()
	s, err := mockproc.ParseScenario([]byte(text))
	Expect(err).NotTo(HaveOccurred())
	return s
}

// all is everything up to the end.
func all(r io.Reader) string {
	GinkgoHelper()
	b, err := io.ReadAll(r)
	Expect(err).NotTo(HaveOccurred())
	return string(b)
}
