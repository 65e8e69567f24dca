package replay_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

// plainTurn is a turn as a slow and simple reading of the rules has it.
type plainTurn struct {
	Prompt       string
	Events       []any
	Decisions    []any
	Text         string
	Usage        [3]int64
	Conversation string
	Failure      string
	Handover     any
	Changes      string
	ResumedBy    []string
	Interrupted  bool

	after            *plainTurn // the part of the pass before this one
	summary          map[string]any
	continued, ended bool
}

// plainly is a journal by the rules, one after the other, with a map for each entry. It is told of no mistakes; nil is that there is no turn, or
// not the one that commits are for.
func plainly(lines []string) (source string, turns []*plainTurn) {
	var current *plainTurn
	var dispatch map[string]any
	var ours, replayable bool
	named := map[int]string{} // what is for the turn of an entry, by the number of that
	order := []func() bool{}
	source = "agent"
	open := func(prompt string) {
		current = &plainTurn{Prompt: prompt}
		turns = append(turns, current)
	}
	for i, line := range lines {
		var e map[string]any
		_ = json.Unmarshal([]byte(line), &e)
		kind, _ := e["kind"].(string)
		from, _ := e["source"].(string)
		text, _ := e["text"].(string)
		stripped := map[string]any{}
		for key, value := range e {
			if !slices.Contains([]string{"seq", "at", "source", "scope", "label", "pass"}, key) {
				stripped[key] = value
			}
		}
		if kind == "journal" {
			ours, replayable = true, e["cwd"] == nil // without a workspace there is nothing to record
			continue
		}
		if kind == "workspace-commits" {
			replayable = true
			n := len(turns)
			if turn, ok := e["turn"].(float64); ok {
				n = int(turn)
			} else {
				current = nil
			}
			named[i], _ = e["unavailable"].(string)
			order = append(order, func() bool {
				if n > len(turns) {
					return false
				}
				if n > 0 {
					turns[n-1].Changes = named[i]
				}
				return true
			})
			continue
		}
		if kind == "dispatch-finished" {
			if err, ok := e["error"].(map[string]any); ok {
				dispatch = err
			}
			current = nil
			continue
		}
		if from == "decision" {
			if current != nil && kind != "novel" {
				scope, _ := e["scope"].(map[string]any)
				current.Decisions = append(current.Decisions, []any{float64(len(current.Events)), scope["subagentId"], stripped})
			}
			continue
		}
		if from != "agent" && from != "harness" {
			continue
		}
		if from == "harness" {
			source = from
		}
		if kind == "event" && !ours {
			continue
		}
		bare := current != nil && current.ResumedBy != nil && len(current.Events) == 0
		switch {
		case kind == "prompt" && bare:
			current.Prompt = text
		case kind == "prompt":
			open(text)
		case current == nil:
		case kind == "fallback":
			current.Handover = stripped
			current = nil
		case kind == "summary":
			current.summary, current.ended = e["tokens"].(map[string]any), true
			current = nil
		case kind == "steer" && e["mode"] == "resumed" && bare:
			current.ResumedBy = append(current.ResumedBy, text)
			current.Prompt = strings.Join(current.ResumedBy, "\n\n")
		case kind == "steer" && e["mode"] == "resumed":
			before := current
			before.continued = true
			open(text)
			current.ResumedBy, current.after = []string{text}, before
		case kind == "phase", kind == "novel", kind == "operation":
		default:
			current.Events = append(current.Events, stripped)
			if kind == "stopped" && e["reason"] == "steered" {
				current.Interrupted = true
			}
		}
	}
	for _, attach := range order {
		if !attach() {
			return source, nil
		}
	}
	if len(turns) > 0 && !replayable {
		turns[len(turns)-1].Changes = "the journal was not recorded as replayable"
		if ours {
			turns[len(turns)-1].Changes = "the recording has none; it was cut, or nobody closed it"
		}
	}
	for _, t := range turns {
		t.settle(dispatch, ours)
	}
	return source, turns
}

// settle is what can be said of a turn when all of it is there.
func (t *plainTurn) settle(dispatch map[string]any, ours bool) {
	texts := map[string][]string{}
	aborted := false
	for _, e := range t.Events {
		e := e.(map[string]any)
		kind := e["kind"].(string)
		if kind == "stopped" {
			aborted = e["reason"] == "aborted"
		}
		for _, key := range []string{"text", "value", "message", "id"} {
			if text, ok := e[key].(string); ok {
				texts[kind+"."+key] = append(texts[kind+"."+key], text)
			}
		}
	}
	switch {
	case texts["result.text"] != nil:
		t.Text = strings.Join(texts["result.text"], "\n")
	case texts["text.text"] != nil:
		t.Text = strings.Join(texts["text.text"], "")
	default:
		t.Text = strings.Join(texts["raw.value"], "\n")
	}
	if ids := texts["conversation.id"]; ids != nil {
		t.Conversation = ids[len(ids)-1]
	}
	ended := t.ended || t.continued || t.Handover != nil
	switch messages := texts["failure.message"]; {
	case ended:
	case ours && aborted:
		t.Failure = "aborted: the turn was interrupted when it was recorded"
	case ours && messages != nil:
		t.Failure = "process: " + messages[len(messages)-1]
	case dispatch != nil:
		t.Failure = fmt.Sprintf("%s: %s", dispatch["code"], dispatch["message"])
	case messages != nil:
		t.Failure = "process: " + messages[len(messages)-1]
	default:
		t.Failure = "process: the recorded turn did not finish"
	}
	switch {
	case t.summary != nil:
		t.Usage = t.less(counts(t.summary))
	case t.continued || t.Handover != nil:
		t.Usage = t.observed()
	}
}

// less is what is left of counts when the parts of the pass before are taken away.
func (t *plainTurn) less(n [3]int64) [3]int64 {
	var before [3]int64
	for p := t.after; p != nil; p = p.after {
		for i, c := range p.observed() {
			before[i] += c
		}
	}
	for i := range n {
		n[i] = max(0, n[i]-before[i])
	}
	return n
}

func (t *plainTurn) observed() (sum [3]int64) {
	for _, e := range t.Events {
		e := e.(map[string]any)
		if e["kind"] != "usage" {
			continue
		}
		n := counts(e["tokens"].(map[string]any))
		if e["cumulative"] == true {
			sum = t.less(n)
			continue
		}
		for i := range sum {
			sum[i] += n[i]
		}
	}
	return sum
}

func counts(tokens map[string]any) (n [3]int64) {
	for i, key := range []string{"input", "cached", "output"} {
		n[i] = int64(tokens[key].(float64))
	}
	return n
}

// asPlain is what was extracted in the form of the reference.
func asPlain(x *replay.Extraction) (turns []*plainTurn) {
	decoded := func(raw []byte) (v any) {
		_ = json.Unmarshal(raw, &v)
		return v
	}
	for _, t := range x.Turns {
		p := &plainTurn{Prompt: t.Prompt, Text: t.Text, Usage: [3]int64{t.Usage.Input, t.Usage.Cached, t.Usage.Output}, Conversation: t.Conversation, ResumedBy: t.ResumedBy, Interrupted: t.Interrupted}
		for _, e := range t.Events {
			p.Events = append(p.Events, decoded(e.JSON()))
		}
		for _, d := range t.Decisions {
			var subagent any
			if d.Subagent != "" {
				subagent = d.Subagent
			}
			p.Decisions = append(p.Decisions, []any{float64(d.Before), subagent, decoded(d.Event.JSON())})
		}
		if t.Failure != nil {
			p.Failure = fmt.Sprintf("%s: %s", t.Failure.Code, t.Failure.Message)
		}
		if t.Handover != nil {
			p.Handover = decoded([]byte(aFallback))
			delete(p.Handover.(map[string]any), "source")
		}
		if t.Changes != nil {
			p.Changes = t.Changes.Unavailable
		}
		turns = append(turns, p)
	}
	return turns
}

// drawJournal draws a journal in which nothing is wrong, except that it may have no turn, or commits of one that is not there.
func drawJournal(t *rapid.T) []string {
	draw := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(t, label) }
	word := func() string { return withText(draw("text", "a", "b", "", "é\n\"c\"")) }
	counted := func() string {
		n := rapid.IntRange(0, 20)
		return tokens(n.Draw(t, "input"), n.Draw(t, "cached"), n.Draw(t, "output"))
	}
	var lines []string
	if rapid.Bool().Draw(t, "ours") {
		lines = append(lines, draw("header", aHeader, strings.Replace(aHeader, "}", `,"cwd":"/w"}`, 1)))
	}
	for range rapid.IntRange(1, 40).Draw(t, "entries") {
		who := draw("source", "agent", "agent", "agent", "agent", "harness", "sandbox")
		envelope := draw("envelope", `"seq":1,"at":"2026-01-02T03:04:05Z"`, `"scope":{"subagentId":"s"},"label":"l","pass":2`, `"seq":null`)
		add := func(source, kind string, rest ...string) {
			lines = append(lines, from(source, kind, append(rest, envelope)...))
		}
		switch kind := draw("kind", "prompt", "prompt", "text", "text", "result", "raw", "conversation", "usage", "usage", "cumulative", "failure", "stopped", "tool", "resumed", "resumed",
			"injected", "phase", "novel", "operation", "event", "summary", "fallback", "decision", "decision-request", "undecided", "commits", "commits of a turn", "finished", "failed"); kind {
		case "raw":
			add(who, kind, draw("value", `"value":"r"`, `"value":"{\"s\":1}"`))
		case "conversation":
			add(who, kind, draw("id", `"id":"c1"`, `"id":"c2"`))
		case "cumulative":
			add(who, "usage", counted(), `"cumulative":true`)
		case "usage":
			add(who, kind, counted())
		case "failure":
			add(who, kind, draw("message", `"message":"f"`, `"message":"g"`))
		case "stopped":
			add(who, kind, draw("reason", `"reason":"steered"`, `"reason":"completion"`))
		case "tool":
			add(who, kind, `"name":"n","input":{"at":[1.50,{}]}`)
		case "resumed", "injected":
			add(who, "steer", word(), fmt.Sprintf(`"mode":%q`, kind))
		case "event":
			add(who, kind, `"event":{"type":"x","payload":{}}`)
		case "summary":
			add(who, kind, counted(), `"durationMs":1,"status":0`)
		case "fallback":
			lines = append(lines, strings.Replace(aFallback, "agent", who, 1))
		case "decision":
			add(kind, kind, `"status":"started","provider":"p","model":"m"`)
		case "decision-request":
			add("decision", kind, `"request":[5]`)
		case "undecided":
			add("decision", "novel")
		case "commits":
			add(who, "workspace-commits", fmt.Sprintf(`"unavailable":"u%d"`, len(lines)))
		case "commits of a turn":
			add(who, "workspace-commits", fmt.Sprintf(`"unavailable":"u%d","turn":%d`, len(lines), rapid.IntRange(1, 4).Draw(t, "turn")))
		case "finished":
			add(who, "dispatch-finished")
		case "failed":
			add(who, "dispatch-finished", draw("error", `"error":{"code":"timeout","message":"late"}`, `"error":{"code":"process","message":"gone"}`))
		default:
			add(who, kind, word())
		}
	}
	return lines
}

func TestTurnsAreThoseOfASimpleReadingOfTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := drawJournal(t)
		source, want := plainly(lines)
		x, err := replay.Extract(entriesOf(lines))
		if err != nil {
			if want != nil {
				t.Fatalf("it is refused, though it is right: %v\n%s", err, strings.Join(lines, "\n"))
			}
			return
		}
		if string(x.Source) != source {
			t.Errorf("the source is %s, not %s", x.Source, source)
		}
		for _, p := range want {
			p.after, p.summary, p.continued, p.ended = nil, nil, false, false
		}
		if diff := cmp.Diff(want, asPlain(x), cmp.AllowUnexported(plainTurn{})); diff != "" {
			t.Errorf("-want +got:\n%s\n%s", diff, strings.Join(lines, "\n"))
		}
	})
}

func TestAnEqualJournalInAnotherFormHasEqualTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := drawJournal(t)
		want, wantErr := replay.Extract(entriesOf(lines))
		j, err := replay.Read(strings.NewReader("[" + strings.Join(lines, ", \n") + "]"))
		if err != nil {
			t.Skip("nothing in it is known")
		}
		got, err := replay.Extract(j.Entries)
		if diff := cmp.Diff(fmt.Sprint(wantErr), fmt.Sprint(err)) + cmp.Diff(want, got, cmp.AllowUnexported(replay.Event{})); diff != "" {
			t.Errorf("-lines +array:\n%s", diff)
		}
	})
}
