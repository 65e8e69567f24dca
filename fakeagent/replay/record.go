package replay

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// Provider is a provider whose first thread is recorded: give it to a host in the place of p, which may be any. What a journal has no word for is
// recorded as the provider's event, so that a replay emits it again. Steers that were taken, and interrupts, are told; a replay
// does not want to have them again.
func (r *Recorder) Provider(p fakeagent.Provider) fakeagent.Provider {
	rec := &recorded{Provider: p, r: r}
	p.Subscribe(rec.hear)
	if g, ok := p.(gated); ok {
		return struct {
			*recorded
			gated
		}{rec, g}
	}
	return rec
}

// gated is a provider whose turns a test may hold.
type gated interface {
	Gate(threadID, name string) *fakeagent.Gate
}

// recorded is a provider that is recorded.
type recorded struct {
	fakeagent.Provider
	r *Recorder

	sending sync.Mutex // one prompt at a time, so that they are in the order of their turns

	mu      sync.Mutex
	thread  string
	prompts []string // of the turns that have not started yet
	began   time.Time
	usage   Usage // of the turn
	message string
	text    strings.Builder // of the message
	failed  bool            // the turn has told why
}

func (p *recorded) SendTurn(ctx context.Context, in fakeagent.TurnInput) (turnID string, err error) {
	if in.TurnID != "" {
		if turnID, err = p.Provider.SendTurn(ctx, in); err == nil && p.mine(in.ThreadID) {
			p.r.Add(SourceAgent, "steer", map[string]any{"text": in.Text, "mode": "injected"})
		}
		return turnID, err
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	if !p.mine(in.ThreadID) {
		return p.Provider.SendTurn(ctx, in)
	}
	p.mu.Lock()
	p.prompts = append(p.prompts, in.Text) // before its turn starts, which it may before SendTurn returns
	p.mu.Unlock()
	if turnID, err = p.Provider.SendTurn(ctx, in); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.prompts = p.prompts[:len(p.prompts)-1]
	}
	return turnID, err
}

// mine says whether a thread is the one that is recorded: the first one that anything is heard of.
func (p *recorded) mine(thread string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.thread == "" {
		p.thread = thread
	}
	return p.thread == thread
}

// hear records an event.
func (p *recorded) hear(e event.Event) {
	if !p.mine(e.ThreadID) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	d, isText := e.Payload.(event.Delta)
	if isText && d.Stream == event.AssistantText {
		if p.message != e.ItemID {
			p.said()
		}
		p.message = e.ItemID
		p.text.WriteString(d.Text)
		p.add("text-delta", map[string]any{"text": d.Text})
		return
	}
	p.said()
	switch v := e.Payload.(type) {
	case event.TurnStarted:
		p.begins()
	case event.TurnCompleted:
		p.ends(v)
	case event.RuntimeError:
		p.fails(v.Message)
	case event.Delta:
		p.add("reasoning", map[string]any{"text": v.Text})
	case event.ItemStarted:
		p.item("tool", e, v.Item)
	case event.ItemCompleted:
		p.item("tool-result", e, v.Item)
	case event.TokenUsageUpdated:
		p.uses(e, v.Usage)
	default:
		if !event.IsLifecycle(e) {
			p.again(eventKind, e, map[string]any{})
		}
	}
}

func (p *recorded) add(kind string, fields map[string]any) { p.r.Add(SourceAgent, kind, fields) }

// said records a message whose pieces are all there.
func (p *recorded) said() {
	if p.text.Len() > 0 {
		p.add("text", map[string]any{"text": p.text.String()})
	}
	p.text.Reset()
	p.message = ""
}

func (p *recorded) begins() {
	prompt := ""
	if len(p.prompts) > 0 {
		prompt, p.prompts = p.prompts[0], p.prompts[1:]
	}
	p.began, p.usage, p.failed = time.Now(), Usage{}, false
	p.add("prompt", map[string]any{"text": prompt})
}

func (p *recorded) ends(end event.TurnCompleted) {
	switch end.State {
	case event.TurnEndCompleted:
		p.add("summary", map[string]any{"durationMs": time.Since(p.began).Milliseconds(), "status": 0, "tokens": p.usage})
		return
	case event.TurnEndFailed:
		p.fails(end.Ending().Message)
	default:
		p.add("stopped", map[string]any{"reason": "aborted"})
	}
	p.r.settle()
}

// fails records why a turn fails, once.
func (p *recorded) fails(message string) {
	if !p.failed {
		p.add("failure", map[string]any{"message": message})
	}
	p.failed = true
}

// item records a tool call, or another item as it is.
func (p *recorded) item(kind string, e event.Event, item event.Item) {
	fields := map[string]any{"name": item.Title, "callId": e.ItemID}
	switch {
	case !item.ItemType.IsTool():
		kind, fields = eventKind, map[string]any{}
	case kind == "tool":
		fields["input"] = item.Data
		if u, ok := item.Data.(timeline.Unknown); ok {
			fields["input"] = u.Input
		}
	default:
		preview := item.Error
		if u, ok := item.Data.(timeline.Unknown); ok && preview == "" && u.Output != nil {
			if json.Unmarshal(u.Output, &preview) != nil { // it is no text
				preview = string(u.Output)
			}
		}
		fields["isError"], fields["preview"], fields["characters"] = item.Status != event.Completed, preview, len([]rune(preview))
	}
	p.again(kind, e, fields)
}

// uses records the usage of the last call to the model, where the event tells it, or else all of it.
func (p *recorded) uses(e event.Event, u event.TokenUsage) {
	tokens := Usage{Input: int64(u.LastInputTokens), Cached: int64(u.LastCachedInputTokens), Output: int64(u.LastOutputTokens)}
	fields := map[string]any{}
	if tokens == (Usage{}) {
		tokens = Usage{Input: int64(u.InputTokens), Cached: int64(u.CachedInputTokens), Output: int64(u.OutputTokens)}
		fields["cumulative"] = true
	}
	fields["tokens"] = tokens
	p.usage = p.usage.plus(tokens)
	p.again("usage", e, fields)
}

// again records an event as it was, too.
func (p *recorded) again(kind string, e event.Event, fields map[string]any) {
	text, err := e.MarshalJSON()
	var as struct {
		Type         string          `json:"type"`
		ItemID       string          `json:"itemId,omitempty"`
		RequestID    string          `json:"requestId,omitempty"`
		ProviderRefs json.RawMessage `json:"providerRefs,omitempty"`
		Payload      json.RawMessage `json:"payload"`
	}
	if err == nil {
		err = json.Unmarshal(text, &as)
	}
	if err != nil {
		return // an event that is no JSON is nobody's
	}
	fields[eventKind] = as
	p.add(kind, fields)
}
