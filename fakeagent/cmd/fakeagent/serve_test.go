package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// object is JSON.
type object = map[string]any

// serving is a process that serves.
type serving struct {
	form map[string]string // what it has printed, one value a line
	said string            // the same as it was printed
	cmd  *exec.Cmd
	out  *bufio.Reader
	errs *bytes.Buffer
	*http.Client
}

// serve returns when it has printed so many lines.
func serve(ctx context.Context, lines int, args ...string) *serving {
	GinkgoHelper()
	transport := &http.Transport{}
	DeferCleanup(transport.CloseIdleConnections)
	s := &serving{form: map[string]string{}, cmd: exec.CommandContext(ctx, binary, append([]string{"serve"}, args...)...), errs: &bytes.Buffer{}, Client: &http.Client{Transport: transport}}
	s.cmd.Stderr = s.errs
	stdout, err := s.cmd.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(s.cmd.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	s.out = bufio.NewReader(stdout)
	for range lines {
		line, err := s.out.ReadString('\n')
		Expect(err).NotTo(HaveOccurred())
		s.said += line
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		s.form[name] = value
	}
	return s
}

// ask sends a request with any token, and reads the answer.
func (s *serving) ask(ctx context.Context, method, url string, body any) (status int, answer object) {
	GinkgoHelper()
	res := s.send(ctx, method, url, "any", body)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	Expect(err).NotTo(HaveOccurred())
	Expect(json.Unmarshal(text, &answer)).To(Succeed(), "%s", text)
	return res.StatusCode, answer
}

func (s *serving) send(ctx context.Context, method, url, token string, body any) *http.Response {
	GinkgoHelper()
	text, err := json.Marshal(body)
	Expect(err).NotTo(HaveOccurred())
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	Expect(err).NotTo(HaveOccurred())
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := s.Do(r)
	Expect(err).NotTo(HaveOccurred())
	return res
}

// session is that of a handle, by the values of the form alone.
func (s *serving) session(ctx context.Context) object {
	GinkgoHelper()
	status, one := s.ask(ctx, "POST", s.form["apiBaseUrl"]+"/api/v1/agents/"+s.form["agentUid"]+"/sessions/get-or-create-session/", object{"handle_unique_id": "h"})
	Expect(status).To(Equal(http.StatusCreated))
	return one
}

// chat sends a message, where and with what the platform says.
func (s *serving) chat(ctx context.Context, session object, text string) io.ReadCloser {
	GinkgoHelper()
	status, access := s.ask(ctx, "POST", s.form["apiBaseUrl"]+"/api/v1/agent-sessions/"+session["uid"].(string)+"/resolve-runtime-access/", nil)
	Expect(status).To(Equal(http.StatusOK))
	res := s.send(ctx, "POST", access["rpc_url"].(string)+"/api/chat", access["token"].(string),
		object{"runtime_session_uid": session["uid"], "session": session, "messages": []object{{"role": "user", "content": text}}})
	Expect(res.StatusCode).To(Equal(http.StatusOK))
	return res.Body
}

// stop sends a signal, and waits for the end, which must be a good one.
func (s *serving) stop(sent os.Signal) (errs []string) {
	GinkgoHelper()
	Expect(s.cmd.Process.Signal(sent)).To(Succeed())
	return s.end()
}

func (s *serving) end() (errs []string) {
	GinkgoHelper()
	Expect(io.ReadAll(s.out)).To(BeEmpty(), "it says no more than the values")
	Expect(s.cmd.Wait()).To(Succeed())
	return strings.Split(strings.TrimSuffix(s.errs.String(), "\n"), "\n")
}

func needsSignal(sent os.Signal) {
	if runtime.GOOS == "windows" {
		Skip("needs signals")
	}
	if signal.Ignored(sent) {
		Skip("it is ignored here, and so it is by the process")
	}
}

// restOf reads a stream to its end.
func restOf(stream io.ReadCloser) string {
	GinkgoHelper()
	defer stream.Close()
	text, err := io.ReadAll(stream)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// hung is how long a spec may take until what it waits for will not come.
const hung = SpecTimeout(time.Minute)

var atOnce = []string{"--latency", "0", "--frame-delay", "0"}

var _ = Describe("serve", func() {
	It("serves whom a connect form with the four values takes there: a session, the way to its runtime, a chat", hung, func(ctx SpecContext) {
		s := serve(ctx, 4, atOnce...)
		Expect(s.form).To(And(HaveLen(4), HaveKeyWithValue("apiBaseUrl", HavePrefix("http://127.0.0.1:")), HaveKey("agentUid"), HaveKey("environmentUid"), HaveKey("userUid")))
		one := s.session(ctx)
		Expect(one).To(And(HaveKeyWithValue("agent_uid", s.form["agentUid"]), HaveKeyWithValue("organization_environment_uid", s.form["environmentUid"]),
			HaveKeyWithValue("created_by_user_uid", s.form["userUid"])))
		Expect(restOf(s.chat(ctx, one, "hello"))).To(And(HavePrefix(`data: {"type":"start"`), ContainSubstring("You said: hello"), HaveSuffix("data: [DONE]\n\n")))
		_, list := s.ask(ctx, "GET", s.form["apiBaseUrl"]+"/api/v1/agent-sessions/?organization_environment_uid="+s.form["environmentUid"]+"&created_by_user_uid="+s.form["userUid"], nil)
		Expect(list["results"]).To(ConsistOf(HaveKeyWithValue("uid", one["uid"])))
	})

	It("prints the same values as one object with --json", hung, func(ctx SpecContext) {
		lines, one := serve(ctx, 4), serve(ctx, 1, "--json")
		var form map[string]string
		Expect(json.Unmarshal([]byte(one.said), &form)).To(Succeed())
		Expect(form["apiBaseUrl"]).To(HavePrefix("http://127.0.0.1:"))
		lines.form["apiBaseUrl"] = form["apiBaseUrl"] // which has another port
		Expect(form).To(Equal(lines.form))
	})

	It("takes its time, as one that is far away, if nobody says otherwise", hung, func(ctx SpecContext) {
		s := serve(ctx, 4)
		began := time.Now()
		one := s.session(ctx)
		Expect(time.Since(began)).To(BeNumerically(">=", 150*time.Millisecond))
		began = time.Now() // before the way to the runtime is asked for, which takes as long
		frames := strings.Count(restOf(s.chat(ctx, one, "hello")), "data: {")
		Expect(frames).To(BeNumerically(">", 1))
		Expect(time.Since(began)).To(BeNumerically(">=", 150*time.Millisecond+time.Duration(frames)*40*time.Millisecond))
	})

	It("listens where it is told to", hung, func(ctx SpecContext) {
		Expect(serve(ctx, 4, "--addr", "LocalHost:0").form["apiBaseUrl"]).To(HavePrefix("http://127.0.0.1:"))
		free, err := net.Listen("tcp", "[::1]:0")
		if err != nil {
			Skip("there is no IPv6 here")
		}
		Expect(free.Close()).To(Succeed())
		s := serve(ctx, 4, append(atOnce, "--addr", "[::1]:0")...)
		Expect(s.form["apiBaseUrl"]).To(HavePrefix("http://[::1]:"))
		Expect(restOf(s.chat(ctx, s.session(ctx), "hello"))).To(HaveSuffix("data: [DONE]\n\n"))
	})

	It("says that an address is in use, and does nothing else", func() {
		other, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		defer other.Close()
		at := other.Addr().String()
		Expect(invoke("serve", "--addr", at)).To(And(HaveField("Code", 2), HaveField("Out", ""),
			HaveField("Err", MatchRegexp(`^fakeagent: serve: listen tcp %s: bind: .*; give another --addr, or port 0 for a free one\n$`, at))))
	})

	It("does not serve where nobody can be told of it", func() {
		r, w := io.Pipe()
		Expect(r.Close()).To(Succeed())
		var errs strings.Builder
		Expect(run(context.Background(), []string{"serve"}, console{w, &errs, false})).To(Equal(1))
		Expect(errs.String()).To(Equal("fakeagent: the output could not be written: io: read/write on closed pipe\n"))
	})

	Describe("until it is interrupted", func() {
		for _, sent := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			It("or gets another signal: "+sent.String(), hung, func(ctx SpecContext) {
				needsSignal(sent)
				Expect(serve(ctx, 4).stop(sent)).To(Equal([]string{""}))
			})
		}

		It("logs each request on a line", hung, func(ctx SpecContext) {
			needsSignal(os.Interrupt)
			s := serve(ctx, 4, atOnce...)
			one := s.session(ctx)
			restOf(s.chat(ctx, one, "hello"))
			s.ask(ctx, "GET", s.form["apiBaseUrl"]+"/api/v1/agent-sessions/a%0Ab/?q=secret", nil)
			uid := one["uid"].(string)
			const took = ` [0-9.]+(µs|ms|s)$`
			Expect(s.stop(os.Interrupt)).To(HaveExactElements(
				MatchRegexp(`^POST /api/v1/agents/`+s.form["agentUid"]+`/sessions/get-or-create-session/ 201`+took),
				MatchRegexp(`^POST /api/v1/agent-sessions/`+uid+`/resolve-runtime-access/ 200`+took),
				MatchRegexp(`^POST /__runtime__/api/chat 200`+took),
				MatchRegexp(`^GET /api/v1/agent-sessions/a%0Ab/ 404`+took),
			))
		})

		It("logs none with --quiet", hung, func(ctx SpecContext) {
			needsSignal(os.Interrupt)
			s := serve(ctx, 4, append(atOnce, "--quiet")...)
			restOf(s.chat(ctx, s.session(ctx), "hello"))
			Expect(s.stop(os.Interrupt)).To(Equal([]string{""}))
		})

		It("ends the turns then, and says what was left and what it had no route for", hung, func(ctx SpecContext) {
			needsSignal(os.Interrupt)
			s := serve(ctx, 4, "--latency", "0", "--frame-delay", "1h", "--quiet")
			one := s.session(ctx)
			stream := s.chat(ctx, one, "hello") // whose first frame will not come
			status, _ := s.ask(ctx, "GET", s.form["apiBaseUrl"]+"/nothing", nil)
			Expect(status).To(Equal(http.StatusNotFound))
			Expect(s.cmd.Process.Signal(os.Interrupt)).To(Succeed())
			Expect(restOf(stream)).To(Equal("data: [DONE]\n\n"))
			Expect(s.end()).To(Equal([]string{
				"fakeagent: serve: at the end:",
				"  there is no route for GET " + s.form["apiBaseUrl"] + "/nothing, which was answered with 404",
				fmt.Sprintf(`  turn 1, of session %s, for "hello", is still streaming`, one["uid"]),
			}))
		})

		It("gives no answer then to who still waits for one", hung, func(ctx SpecContext) {
			needsSignal(os.Interrupt)
			s := serve(ctx, 4, "--latency", "1h")
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.form["apiBaseUrl"], "http://"))
			Expect(err).NotTo(HaveOccurred())
			defer conn.Close()
			_, err = io.WriteString(conn, "POST /api/v1/nothing/ HTTP/1.1\r\nHost: any\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
			Expect(err).NotTo(HaveOccurred())
			in := bufio.NewReader(conn)
			Expect(in.ReadString('\n')).To(HavePrefix("HTTP/1.1 100")) // so it is being served
			Expect(in.ReadString('\n')).To(Equal("\r\n"))
			_, err = io.WriteString(conn, "{}")
			Expect(err).NotTo(HaveOccurred())
			Expect(s.stop(os.Interrupt)).To(HaveExactElements(MatchRegexp(`^POST /api/v1/nothing/ - \d`)))
			Expect(io.ReadAll(in)).To(BeEmpty())
		})
	})
})

var _ = Describe("serve with the profile local", func() {
	It("says where the runtime is, which a page asks without a token", hung, func(ctx SpecContext) {
		s := serve(ctx, 1, append(atOnce, "--profile", "local")...)
		Expect(s.form).To(HaveKeyWithValue("runtimeUrl", HavePrefix("http://127.0.0.1:")))
		status, ready := s.ask(ctx, "GET", s.form["runtimeUrl"]+"/ready", nil)
		Expect(status).To(Equal(http.StatusOK))
		Expect(ready).NotTo(BeEmpty())
		res := s.send(ctx, "POST", s.form["runtimeUrl"]+"/api/chat", "any", object{"messages": []object{{"role": "user", "content": "hello"}}})
		Expect(restOf(res.Body)).To(HaveSuffix("data: [DONE]\n\n"))
	})

	It("is refused another one", func() {
		Expect(invoke("serve", "--profile", "cloud")).To(Equal(outcome{Code: 2, Err: "fakeagent: --profile: there is no profile \"cloud\"; use platform or local\n"}))
	})
})
