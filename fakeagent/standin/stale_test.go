package standin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/standin"
)

var _ = Describe("Who has read [DONE]", func() {
	It("finds the reply in the history, and a session that takes the next message, in each of ten thousand tries", func() {
		const clients, sessions, tries = 8, 125, 10
		s := standin.New(GinkgoT())
		s.Reply(script.New(script.Say("hello"))).Always()
		c := clientOf(s)
		wrong := make(chan error, clients)
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				defer GinkgoRecover()
				for range sessions {
					session := c.session()
					for n := 1; n <= tries; n++ {
						if err := reread(c, session, n); err != nil {
							wrong <- fmt.Errorf("message %d: %w", n, err)
							return
						}
					}
				}
			})
		}
		all.Wait()
		Expect(wrong).NotTo(Receive())
	})
})

// reread sends a message, and asks for the history as soon as [DONE] was read.
func reread(c client, session object, n int) error {
	body, err := json.Marshal(message(session, "go"))
	if err != nil {
		return err
	}
	ask := func(method, url, token, body string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := c.Do(r)
		if err == nil && res.StatusCode != http.StatusOK {
			res.Body.Close()
			err = fmt.Errorf("%s %s: %s", method, url, res.Status)
		}
		return res, err
	}
	res, err := ask("POST", runtimeURL+"/api/chat", "stand-in-runtime-token", string(body))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan() && lines.Text() != "data: [DONE]"; {
	}
	now, err := ask("GET", platformURL+"/api/v1/agent-sessions/"+session["uid"].(string)+"/history/", "a token", "")
	if err != nil {
		return err
	}
	defer now.Body.Close()
	var history struct {
		Session           struct{ Status string }
		Messages          []struct{ Role string }
		InProgressMessage any
	}
	if err := json.NewDecoder(now.Body).Decode(&history); err != nil {
		return err
	}
	if len(history.Messages) != 2*n || history.Session.Status != "idle" || history.InProgressMessage != nil {
		return fmt.Errorf("the history has %d messages, not %d; the session is %s; the message in progress is %v", len(history.Messages), 2*n, history.Session.Status, history.InProgressMessage)
	}
	return nil
}
