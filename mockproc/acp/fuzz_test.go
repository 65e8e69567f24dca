package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/mockproc/acp"
)

// envelope is a message of JSON-RPC, as strict as that is.
type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// FuzzServe holds that an agent survives any input, writes messages and nothing else, and answers each request once.
func FuzzServe(f *testing.F) {
	cwd := f.TempDir()
	f.Fuzz(func(t *testing.T, input []byte) {
		input = bytes.ReplaceAll(input, []byte("CWD"), []byte(cwd))
		synctest.Test(t, func(t *testing.T) {
			agent, err := fakeagent.New(fakeagent.Config{Script: "steps", Instant: true})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var mu sync.Mutex
			var said [][]byte
			out := writer(func(b []byte) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				said = append(said, slices.Clone(b))
				return len(b), nil
			})
			exited := false
			cfg := provides(agent)
			cfg.Exit = func(event.ProcessExit) { exited = true }
			if err := acp.Serve(ctx, bytes.NewReader(input), out, cfg); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			_ = agent.Close() // ends what waits for the client
			time.Sleep(time.Hour)
			synctest.Wait()
			answers := map[string]int{}
			for _, line := range said {
				var m envelope
				if err := json.Unmarshal(line, &m); err != nil || m.Version != "2.0" || bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
					t.Fatalf("%q is no message: %v", line, err)
				}
				var e struct{ Code, Message any }
				switch {
				case m.Method != nil:
				case m.Error != nil && (json.Unmarshal(m.Error, &e) != nil || e.Code == nil || e.Message == nil), (m.Result == nil) == (m.Error == nil):
					t.Fatalf("%s is no answer", line)
				default:
					answers[string(m.ID)]++
				}
			}
			for line := range bytes.Lines(input) {
				line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\uFEFF")))
				var m envelope
				if len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &m) == nil && m.Method != nil && *m.Method != "" && m.ID != nil && string(m.ID) != "null" {
					answers[string(m.ID)]--
				}
			}
			cancel()
			for id, n := range answers {
				if n > 0 || n < 0 && !exited && !bytes.Contains(input, []byte("await")) { // which waits until ctx ends
					t.Errorf("request %s: %d answers too many\nsaid: %s", id, n, bytes.Join(said, nil))
				}
			}
		})
	})
}

// FuzzProvider holds that a client survives any output of an agent, and that a turn begins and ends once.
func FuzzProvider(f *testing.F) {
	f.Fuzz(func(t *testing.T, output []byte) {
		synctest.Test(t, func(t *testing.T) {
			p := silent()
			d := &driven{process: p}
			d.Provider = acp.NewProvider(p)
			var states []string
			d.Subscribe(func(e event.Event) {
				switch q := e.Payload.(type) {
				case event.TurnStarted, event.TurnCompleted, event.SessionStarted, event.SessionExited:
					states = append(states, e.Payload.Type())
				case event.RequestOpened:
					_ = d.RespondToRequest(context.Background(), e.ThreadID, e.RequestID, fakeagent.Decision(q.Options[len(q.Options)-1]))
				case event.UserInputRequested:
					answers := map[string]any{}
					for _, one := range q.Questions {
						answers[one.ID] = one.Header
						for _, o := range one.Options {
							answers[one.ID] = o.Label
						}
					}
					_ = d.RespondToUserInput(context.Background(), e.ThreadID, e.RequestID, answers)
				}
				if _, err := json.Marshal(e); err != nil {
					t.Errorf("an event that has no JSON: %v", err)
				}
			})
			started := d.starts(t.Context(), "th")
			synctest.Wait()
			_, _ = p.in.Write([]byte(`{"id":0,"result":{"protocolVersion":1}}` + "\n"))
			synctest.Wait()
			_, _ = p.in.Write([]byte(`{"id":1,"result":{"sessionId":"s-1"}}` + "\n"))
			if err := <-started; err != nil {
				t.Fatal(err)
			}
			if _, err := d.SendTurn(context.Background(), fakeagent.TurnInput{ThreadID: "th", Text: "x"}); err != nil {
				t.Fatal(err)
			}
			_, _ = p.in.Write(output)
			p.die(1, nil)
			if err := d.Provider.Close(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if want := []string{"session.started", "turn.started", "turn.completed", "session.exited"}; !slices.Equal(states, want) {
				t.Errorf("the events were %v", states)
			}
			acp.Problems(d.Transcript())
		})
	})
}
