package standin_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/standin"
)

const (
	platformURL = "https://platform.stand-in.test"
	runtimeURL  = "https://agent-runtime.stand-in.test"
	environment = "00000000-0000-4000-8000-000000000002"
	agentUID    = "00000000-0000-4000-8000-000000000003"
)

// object is JSON.
type object = map[string]any

// client asks a server.
type client struct {
	s *standin.Server
	*http.Client
}

func clientOf(s *standin.Server) client { return client{s, s.Client()} }

// answer is what a server has answered.
type answer struct {
	Status int
	Header http.Header
	Body   object
	Text   string
}

// request is what is sent: body is JSON, or a string as it is.
func request(ctx context.Context, method, url, token string, body any) *http.Request {
	GinkgoHelper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		Expect(err).NotTo(HaveOccurred())
		reader = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, url, reader)
	Expect(err).NotTo(HaveOccurred())
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func (c client) do(r *http.Request) answer {
	GinkgoHelper()
	res, err := c.Do(r)
	Expect(err).NotTo(HaveOccurred())
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	Expect(err).NotTo(HaveOccurred())
	a := answer{Status: res.StatusCode, Header: res.Header, Text: string(text)}
	_ = json.Unmarshal(text, &a.Body)
	return a
}

// platform asks the platform.
func (c client) platform(method, path string, body any) answer {
	GinkgoHelper()
	return c.do(request(context.Background(), method, platformURL+path, "a token", body))
}

// session is a new session.
func (c client) session() object {
	GinkgoHelper()
	a := c.platform("POST", "/api/v1/agents/"+agentUID+"/start-new-session/", nil)
	Expect(a.Status).To(Equal(http.StatusCreated))
	return a.Body
}

// message is the body of a chat request.
func message(session object, text string) object {
	return object{"runtime_session_uid": session["uid"], "session": session, "messages": []object{{"role": "user", "content": []object{{"type": "text", "text": text}}}}}
}

func (c client) chatRequest(ctx context.Context, session object, text string) *http.Request {
	GinkgoHelper()
	return runtimeRequest(ctx, "/api/chat", message(session, text))
}

// runtimeRequest is a request to the agents' runtime.
func runtimeRequest(ctx context.Context, path string, body any) *http.Request {
	GinkgoHelper()
	return request(ctx, "POST", runtimeURL+path, "stand-in-runtime-token", body)
}

// cancel stops the turn of a session.
func (c client) cancel(session any) answer {
	GinkgoHelper()
	return c.do(runtimeRequest(context.Background(), "/api/chat/session/cancel", object{"runtime_session_uid": session}))
}

// chat sends a message, and reads the whole reply.
func (c client) chat(session object, text string) *reading {
	GinkgoHelper()
	r := c.start(context.Background(), session, text)
	r.rest()
	return r
}

// start sends a message.
func (c client) start(ctx context.Context, session object, text string) *reading {
	GinkgoHelper()
	return c.read(c.chatRequest(ctx, session, text))
}

// read sends a request, and reads its stream.
func (c client) read(r *http.Request) *reading {
	GinkgoHelper()
	res, err := c.Do(r)
	Expect(err).NotTo(HaveOccurred())
	Expect(res.StatusCode).To(Equal(http.StatusOK))
	return &reading{res: res, in: bufio.NewReader(res.Body)}
}

// sdkText is the text of the frames, as the AI SDK has it.
func (r *reading) sdkText() (all string) {
	for _, f := range r.frames {
		if t, ok := f["delta"].(string); ok && f["type"] == "text-delta" {
			all += t
		}
	}
	return all
}

// reading is a stream that is read.
type reading struct {
	res    *http.Response
	in     *bufio.Reader
	frames []object
	done   bool  // [DONE] came
	err    error // how the stream ended, if not well
}

// next reads a frame; false: there is none.
func (r *reading) next() bool {
	line, err := r.in.ReadString('\n')
	if err != nil {
		if r.err = err; err == io.EOF && line == "" {
			r.err = nil
		}
		return false
	}
	if blank, err := r.in.ReadString('\n'); err != nil || blank != "\n" {
		r.err = io.ErrUnexpectedEOF
		return false
	}
	data := strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "data: ")
	if data == "[DONE]" {
		r.done = true
		return r.next()
	}
	var f object
	if r.err = json.Unmarshal([]byte(data), &f); r.err == nil {
		r.frames = append(r.frames, f)
	}
	return r.err == nil
}

func (r *reading) rest() {
	for r.next() {
	}
	_ = r.res.Body.Close()
}

// until reads up to a frame of a type.
func (r *reading) until(kind string) {
	GinkgoHelper()
	for r.next() {
		if r.frames[len(r.frames)-1]["type"] == kind {
			return
		}
	}
	Fail("no frame of the type " + kind + " came")
}

// types are those of the frames.
func (r *reading) types() (all []string) {
	for _, f := range r.frames {
		all = append(all, f["type"].(string))
	}
	return all
}

// text is the text of the frames.
func (r *reading) text() (all string) {
	for _, f := range r.frames {
		if t, ok := f["textDelta"].(string); ok {
			all += t
		}
	}
	return all
}

func decode(text string, into any) {
	GinkgoHelper()
	Expect(json.Unmarshal([]byte(text), into)).To(Succeed())
}
