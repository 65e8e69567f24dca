package mcpcall_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/mcpcall"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// planted is in every word of every secret, so that also a part of one is found.
const planted = "PLANTED"

const (
	bearer  = "Bearer PLANTED-bearer-0123456789"
	basic   = "Basic UExBTlRFRC1uYW1lOlBMQU5URUQtd29yZA==" // PLANTED-name:PLANTED-word
	inURL   = "PLANTED-user:PLANTED-pass%2Fword"
	inPath  = "/PLANTED-tenant/PLANTED%20room"
	inQuery = "key=PLANTED-key&q=PLANTED+%26+PLANTED"
)

var sessionEnv = map[string]string{
	"SESSION_TOKEN": "PLANTED session token",
	"SESSION_KEY":   "-----BEGIN KEY-----\nPLANTED+first/line\nPLANTED+second/line\n-----END KEY-----",
}

// withSecrets is the server with secrets in all of its configuration.
func withSecrets(m fakeagent.MCPServer) fakeagent.MCPServer {
	m.Env = maps.Clone(m.Env)
	if m.Env == nil {
		m.Env = map[string]string{}
	}
	maps.Copy(m.Env, map[string]string{
		"AUTHORIZATION": bearer, "QUOTED": `PLANTED "quoted" <PLANTED> & more`, "SHORT": "PLANTED", "LONG": strings.Repeat("PLANTED-", 40),
		saysVariable: "AUTHORIZATION,QUOTED,SHORT,LONG,SESSION_TOKEN,SESSION_KEY",
	})
	m.Headers = map[string]string{"Authorization": bearer, "X-Basic": basic, "X-Key": `PLANTED "key" of PLANTED`}
	if m.URL != "" {
		m.URL = strings.Replace(m.URL, "://", "://"+inURL+"@", 1) + inPath + "?" + inQuery
		if m.SSE {
			delete(m.Headers, "Authorization") // so that the request has the user of the URL there
		}
	}
	return m
}

// echo is all that a server over HTTP has seen of the request.
func echo(r *http.Request) string {
	user, password, _ := r.BasicAuth()
	return fmt.Sprint("http://", r.Host, r.URL, " ", r.URL.Path, " ", r.URL.Query(), " ", user, password, " ", r.Header, fmt.Sprintf(" %q", r.Header), " ", r.RemoteAddr)
}

// addresses are what is not to be found, besides what is planted.
func addresses(m fakeagent.MCPServer) (all []string) {
	if u, err := url.Parse(m.URL); err == nil && m.URL != "" {
		all = append(all, u.Host, u.Hostname(), ":"+u.Port())
	}
	for _, s := range []string{planted, "PLANTED-user:PLANTED-pass/word", "PLANTED-name:PLANTED-word"} {
		all = append(all, base64.StdEncoding.EncodeToString([]byte(s)))
	}
	return append(all, planted, basic)
}

// watched is an MCP client that keeps what it gives, to be printed.
type watched struct {
	fakeagent.MCP
	seen []any
}

func (w *watched) Connect(ctx context.Context, to fakeagent.MCPConnect) (fakeagent.MCPClient, error) {
	c, err := w.MCP.Connect(ctx, to)
	w.seen = append(w.seen, to, c, err)
	return c, err
}

// everything is all that can be seen of an agent that calls the server twice: events, items, errors, violations, log, dumps, and all of
// it, and the configuration, printed in every way.
func everything(ctx context.Context, m fakeagent.MCPServer, arguments map[string]any) (text string, calls []timeline.ToolCall) {
	GinkgoHelper()
	var log bytes.Buffer
	client := &watched{MCP: mcpcall.New()}
	cfg := fakeagent.Scripted()
	cfg.MCP = client
	cfg.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}))
	agent, err := fakeagent.New(cfg)
	Expect(err).NotTo(HaveOccurred())
	defer agent.Close()

	var mu sync.Mutex
	var seen []any
	ended, exited := make(chan struct{}), make(chan struct{})
	agent.Subscribe(func(e event.Event) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, e)
		switch e.Payload.(type) {
		case event.TurnCompleted:
			close(ended)
		case event.SessionExited:
			close(exited)
		}
	})
	session := fakeagent.SessionConfig{ThreadID: "a", Cwd: GinkgoT().TempDir(), Env: sessionEnv, MCPServers: []fakeagent.MCPServer{m}}
	Expect(agent.StartSession(ctx, session)).To(Succeed())
	step := script.MCP(m.Name, "greet", arguments)
	_, err = agent.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: script.New(step, step).String()})
	Expect(err).NotTo(HaveOccurred())
	<-ended
	th, err := agent.ReadThread(ctx, "a")
	Expect(err).NotTo(HaveOccurred())
	seen = append(seen, agent.Dump(), th, client.seen, client.MCP, m, &m, session, &session, struct {
		Session fakeagent.SessionConfig
		Servers map[string]fakeagent.MCPServer
	}{session, map[string]fakeagent.MCPServer{"x": m}})
	Expect(agent.StopSession(ctx, "a")).To(Succeed())
	<-exited
	seen = append(seen, agent.Violations())

	mu.Lock()
	defer mu.Unlock()
	var out strings.Builder
	logs := []*slog.Logger{slog.New(slog.NewTextHandler(&out, nil)), slog.New(slog.NewJSONHandler(&out, nil))}
	for _, v := range seen {
		fmt.Fprintln(&out, v)
		fmt.Fprintf(&out, "%v %+v %#v %s %q\n", v, v, v, v, v)
		if b, err := json.Marshal(v); err == nil {
			out.Write(b)
		}
		for _, l := range logs {
			l.Info("x", "v", v)
		}
	}
	for _, item := range th.Turns[0].Items {
		if c, ok := item.(timeline.ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return out.String() + log.String(), calls
}

// kindsOf makes servers of each kind, which use the words: such as are for virtual time, and others.
func kindsOf(says func(*http.Request) string) (virtual map[string]func(*testing.T) fakeagent.MCPServer, others map[string]func() fakeagent.MCPServer) {
	virtual, others = map[string]func(*testing.T) fakeagent.MCPServer{}, map[string]func() fakeagent.MCPServer{}
	web := func(h func() http.HandlerFunc, sse bool) func(*testing.T) fakeagent.MCPServer {
		return func(t *testing.T) fakeagent.MCPServer {
			s := servingInMemory(t, h())
			s.SSE = sse
			return s
		}
	}
	for name := range badServers {
		others["stdio: "+name] = func() fakeagent.MCPServer {
			s := itself("bad", name)
			s.Env[pidVariable] = filepath.Join(GinkgoT().TempDir(), "pid")
			s.Env[onceVariable] = filepath.Join(GinkgoT().TempDir(), "once")
			return s
		}
	}
	for name, answer := range manners {
		virtual["http, in JSON: "+name] = web(func() http.HandlerFunc { return asJSONBody(answer, says) }, false)
		virtual["http, in a stream: "+name] = web(func() http.HandlerFunc { return asStream(answer, says) }, false)
		virtual["sse: "+name] = web(func() http.HandlerFunc { return asSSE(answer, says) }, true)
	}
	for name, handle := range refusals {
		virtual["http: "+name] = web(func() http.HandlerFunc { return handle(says) }, false)
		virtual["sse: "+name] = web(func() http.HandlerFunc { return handle(says) }, true)
	}
	for _, kind := range []struct {
		name string
		sse  bool
	}{{"http", false}, {"sse", true}} {
		others[kind.name+": nobody listens"] = func() fakeagent.MCPServer {
			return fakeagent.MCPServer{Name: "bad", URL: closedPort(), SSE: kind.sse}
		}
		others[kind.name+": a host that nobody knows"] = func() fakeagent.MCPServer {
			return fakeagent.MCPServer{Name: "bad", URL: "http://PLANTED.invalid:8123", SSE: kind.sse}
		}
		others[kind.name+": a URL that is none"] = func() fakeagent.MCPServer {
			return fakeagent.MCPServer{Name: "bad", URL: "http://a b:%zz", SSE: kind.sse}
		}
	}
	others["stdio: no such command"] = func() fakeagent.MCPServer { return fakeagent.MCPServer{Name: "bad", Command: "no-such-command"} }
	others["stdio: a file that is no program"] = func() fakeagent.MCPServer {
		return fakeagent.MCPServer{Name: "bad", Command: os.TempDir()}
	}
	return virtual, others
}

// The servers of these specs repeat all that they know, wherever they can: in bodies, in errors, on stderr and on stdout.
var _ = Describe("The secrets of a server's configuration", func() {
	virtual, others := kindsOf(echo)
	entries := []TableEntry{}
	for _, name := range slices.Sorted(maps.Keys(virtual)) {
		entries = append(entries, Entry(name, name))
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		entries = append(entries, Entry(name, name))
	}

	It("are looked for in many situations", func() {
		Expect(len(entries)).To(BeNumerically(">=", 40))
	})

	DescribeTable("are not in any event, item, error, violation, log, dump or printed configuration:", func(ctx SpecContext, name string) {
		var arguments map[string]any
		if name == "stdio: does not read" {
			arguments = manyArguments
		}
		lookFor := func(ctx context.Context, m fakeagent.MCPServer) {
			GinkgoHelper()
			m = withSecrets(m)
			text, calls := everything(ctx, m, arguments)
			Expect(calls).To(HaveLen(2))
			Expect(text).To(ContainSubstring("mcp__bad__greet"))
			for _, secret := range addresses(m) {
				at := strings.Index(text, secret)
				Expect(at).To(BeNumerically("<", 0), "%s is in: …%s", secret, text[max(0, at-200):max(0, min(len(text), at+100))])
			}
		}
		if server, ok := virtual[name]; ok {
			virtually(func(ctx context.Context, t *testing.T) { lookFor(ctx, server(t)) })
			return
		}
		impatientWith(strings.TrimPrefix(name, "stdio: "))
		lookFor(ctx, others[name]())
	}, entries)

	It("are passed on where a tool's result has them, which is the only exception: what a tool says is what the agent gets", func(ctx SpecContext) {
		telling := func(m message, says string) string {
			b, err := json.Marshal(says)
			Expect(err).NotTo(HaveOccurred())
			return strings.Replace(politely(m), `"hello"`, string(b), 1)
		}
		m := withSecrets(serving(asJSONBody(to("tools/call", telling), func(r *http.Request) string { return r.Header.Get("Authorization") })))
		_, calls := everything(ctx, m, nil)
		Expect(calls[0].Status).To(Equal(timeline.Completed))
		Expect(string(calls[0].Detail.(timeline.Unknown).Output)).To(ContainSubstring(bearer))
	})
})
