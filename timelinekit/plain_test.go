package timelinekit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
	"github.com/understudy-go/understudy/timelinekit"
)

// The same host in a plain test: no suite, no matchers.
func TestPlainTestOfATurn(t *testing.T) {
	host := timelinekit.NewHost(t)
	run := host.RunFakeAgentTurn(t.Context(), script.New(script.Think("hm"), script.Bash("npm test", "1 failed", 1), script.Say("done")))
	if run.Ending.Kind != timeline.Completed {
		t.Errorf("the turn did not complete:\n%s", run)
	}
	info, err := host.Agent(run.AgentID)
	if err != nil {
		t.Fatal(err)
	}
	want := timeline.Items{
		timeline.Reasoning{Text: "hm"},
		timeline.ToolCall{
			CallID: "t-1-1", Name: "Bash", Status: timeline.Failed, Error: "exit code 1",
			Detail: timeline.Shell{Command: "npm test", Cwd: info.Cwd, Output: "1 failed", ExitCode: timeline.Exited(1)},
		},
		timeline.AssistantMessage{Text: "done", MessageID: "a-1-2"},
	}
	if diff := cmp.Diff(want, run.Items()); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
}

// The author of the card TurnSummary tests it without a suite. HooksSettled is the barrier between the turn and the card.
func TestPlainTestOfACard(t *testing.T) {
	host := timelinekit.NewHost(t)
	if _, err := host.Use(&TurnSummary{Host: host}); err != nil {
		t.Fatal(err)
	}
	run := host.RunFakeAgentTurn(t.Context(), script.New(script.Write("a.txt", "1"), script.Write("b.txt", "2")))
	if err := host.HooksSettled(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []timeline.Plugin{{ID: "summary-" + run.TurnID, PluginID: "summary", Kind: "turn-summary", Version: 1, Data: []byte(`{"files":2}`)}}
	if diff := cmp.Diff(want, timelinekit.PluginRows(host.AgentTimeline(run.AgentID), "turn-summary")); diff != "" {
		t.Errorf("cards (-want +got):\n%s", diff)
	}
}

// Twelve seconds of a scenario take no time on virtual time.
func TestPlainTestOnVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := timelinekit.NewHost(t)
		began := time.Now()
		host.RunFakeAgentTurn(t.Context(), script.New(script.Sleep(12*time.Second), script.Say("x")))
		if took := time.Since(began); took != 12*time.Second {
			t.Errorf("the turn took %v, want 12s", took)
		}
	})
}
