// Chatserver is a process of its own for benchmarks: a stand-in for a chat back end that answers in eight frames, or a plain handler that writes the
// same ones. It prints where it listens, and ends when its stdin does.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/standin"
)

// shortFrames are those of the first turn of a stand-in.
var shortFrames = []string{
	`{"type":"start","messageId":"message-2"}`,
	`{"type":"start-step"}`,
	`{"type":"text-start","id":"text-1"}`,
	`{"type":"text-delta","id":"text-1","textDelta":"Here is "}`,
	`{"type":"text-delta","id":"text-1","textDelta":"an answer."}`,
	`{"type":"text-end","id":"text-1"}`,
	`{"type":"finish-step","finishReason":"stop","usage":{"inputTokens":2,"outputTokens":5},"isContinued":false}`,
	`{"type":"finish","finishReason":"stop","usage":{"inputTokens":2,"outputTokens":5}}`,
}

const reply = "Here is an answer."

// slow are frames that are sent a second apart, long enough to be measured.
var slow, slowReply = func() (frames []string, reply string) {
	frames = append(frames, shortFrames[:3]...)
	for i := range 12 {
		word := fmt.Sprintf("word %d, ", i)
		reply += word
		frames = append(frames, fmt.Sprintf(`{"type":"text-delta","id":"text-1","textDelta":%q}`, word))
	}
	for _, f := range shortFrames[5:] {
		frames = append(frames, strings.ReplaceAll(f, `"outputTokens":5`, `"outputTokens":25`))
	}
	return frames, reply
}()

func main() {
	url, err := serve(os.Args[1])
	if err != nil {
		panic(err)
	}
	fmt.Println(url)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func serve(what string) (url string, err error) {
	switch what {
	case "standin":
		s, err := standin.NewUnstarted()
		if err != nil {
			return "", err
		}
		s.Reply(script.New(script.SayStep{Text: reply, Chunks: 2})).Always()
		return s.Start(), nil
	case "standin-slow": // a frame a second
		s, err := standin.NewUnstarted(standin.WithFrameDelay(time.Second))
		if err != nil {
			return "", err
		}
		s.Reply(script.New(script.SayStep{Text: slowReply, Chunks: 12})).Always()
		return s.Start(), nil
	case "plain":
		return plain(0, shortFrames)
	case "plain-slow":
		return plain(time.Second, slow)
	}
	return "", fmt.Errorf("there is no %q", what)
}

// plain is a handler that does no more than it must.
func plain(delay time.Duration, frames []string) (url string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				return
			}
			h, control := w.Header(), http.NewResponseController(w)
			h.Set("Content-Type", "text/event-stream; charset=utf-8")
			h.Set("Cache-Control", "no-cache")
			for _, f := range frames {
				time.Sleep(delay)
				_, _ = io.WriteString(w, "data: "+f+"\n\n")
				_ = control.Flush()
			}
			_, _ = io.WriteString(w, "data: [DONE]\n\n")
			_ = control.Flush()
		}))
	}()
	return "http://" + l.Addr().String(), nil
}
