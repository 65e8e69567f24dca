package mcpcall_test

import (
	"context"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/timelinekit"
)

// serverVariable names the server on stdio that the test binary is, instead of running tests.
const serverVariable = "UNDERSTUDY_TEST_SERVER"

func TestMain(m *testing.M) {
	if name := os.Getenv(serverVariable); name != "" {
		for _, servers := range []map[string]func(){goodServers, badServers, listServers} {
			if serve := servers[name]; serve != nil {
				serve()
				os.Exit(0)
			}
		}
		os.Exit(97)
	}
	os.Exit(m.Run())
}

// itself is the test binary as a server on stdio.
func itself(name, server string) fakeagent.MCPServer {
	return fakeagent.MCPServer{Name: name, Command: os.Args[0], Env: map[string]string{
		serverVariable: server,
		"GORACE":       "atexit_sleep_ms=0", // with the race detector a process would linger for a second
	}}
}

var suite *testing.T

func TestMCPCall(t *testing.T) {
	suite = t
	RegisterFailHandler(Fail)
	RunSpecs(t, "Calls of MCP servers")
}

var _ = leak.Check()

// silenceVariable is an address at which a server on stdio says that it has fallen silent.
const silenceVariable = "UNDERSTUDY_TEST_SILENCE"

// On the real clock no limit ends by time, whatever the machine's speed: the one that runs ends when a server has fallen silent. A command
// has the time to end that it needs.
var _ = BeforeEach(func() {
	DeferCleanup(mcpcall.Grace(time.Hour))
	expire, restore := mcpcall.HoldLimits()
	DeferCleanup(restore)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(l.Close)
	GinkgoT().Setenv(silenceVariable, l.Addr().String())
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
			expire()
		}
	}()
})

// fallSilent is for servers on stdio, while a request waits for its answer.
func fallSilent() {
	c, err := net.Dial("tcp", os.Getenv(silenceVariable))
	if err != nil {
		panic(err)
	}
	c.Close()
}

// call plays one mcp step on a new agent that has the servers, and returns the run.
func call(ctx context.Context, t timelinekit.T, step script.Step, servers []fakeagent.MCPServer, opts ...mcpcall.Option) timelinekit.Run {
	cfg := fakeagent.Scripted()
	cfg.MCP = mcpcall.New(opts...)
	host := timelinekit.NewHost(t, timelinekit.WithProvider("fake-agent", fakeagent.NewT(t, cfg)))
	return host.RunFakeAgentTurn(ctx, script.New(step), timelinekit.MCPServers(servers...))
}

// virtually runs the body on virtual time, by which limits end.
func virtually(body func(ctx context.Context, t *testing.T)) {
	GinkgoHelper()
	defer mcpcall.TimeLimits()()
	finished := false
	synctest.Test(suite, func(t *testing.T) {
		defer GinkgoRecover()
		body(t.Context(), t)
		finished = true
	})
	if !finished {
		Fail("the body failed on virtual time")
	}
}
