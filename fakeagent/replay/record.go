package replay

import (
	"context"
	"encoding/json"
	"slices"
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
	rec := &recorded{Provider: p, r: r, before: map[string]string{}, sending: newTurnstile(), telling: newTurnstile()}
	rec.unsubscribe = p.Subscribe(rec.hear)
	r.mu.Lock()
	r.providers = append(r.providers, rec)
	r.mu.Unlock()
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

// piece is a piece of a message, of a thought or of some other text.
type piece struct {
	at time.Time
	id string
	event.Delta
}

// recorded is a provider that is recorded.
type recorded struct {
	fakeagent.Provider
	r           *Recorder
	unsubscribe func()

	sending turnstile // lets through one prompt at a time, so that they are in the order of their turns

	mu     sync.Mutex             // not held while anything is recorded, so that no other thread waits for that
	thread string                 // the first one that anything was heard of
	sent   []*fakeagent.TurnInput // whose turns have not started yet

	telling turnstile // of what follows, and held while it is recorded, for as long as git works
	began   time.Time
	usage   Usage             // of the turn
	total   Usage             // of the thread
	pieces  []piece           // of the message that comes
	whole   string            // the id of the message before
	before  map[string]string // what was said in the turn, by its stream and its id
	failed  bool              // the turn has told why
}

func (p *recorded) SendTurn(ctx context.Context, in fakeagent.TurnInput) (turnID string, err error) {
	if in.TurnID != "" {
		turnID, err = p.Provider.SendTurn(ctx, in)
		p.mu.Lock()
		ours := p.thread == in.ThreadID
		p.mu.Unlock()
		if err == nil && ours {
			p.telling.enter()
			defer p.telling.leave()
			p.said()
			p.add("steer", map[string]any{"text": in.Text, "mode": "injected"})
		}
		return turnID, err
	}
	select {
	case p.sending <- struct{}{}:
		defer p.sending.leave()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	p.mu.Lock()
	p.sent = append(p.sent, &in) // before its turn starts, which it may before SendTurn returns
	p.mu.Unlock()
	turnID, err = p.Provider.SendTurn(ctx, in)
	p.mu.Lock()
	defer p.mu.Unlock()
	if elsewhere := p.thread != "" && p.thread != in.ThreadID; elsewhere || err != nil {
		p.sent = slices.DeleteFunc(p.sent, func(other *fakeagent.TurnInput) bool { return other == &in })
	}
	return turnID, err
}

// flush records what has come of a message that is not over.
func (p *recorded) flush() {
	p.telling.enter()
	defer p.telling.leave()
	p.said()
}

// hear records an event.
func (p *recorded) hear(e event.Event) {
	if !p.records(e.ThreadID) {
		return
	}
	p.telling.enter()
	defer p.telling.leave()
	if d, ok := e.Payload.(event.Delta); ok {
		if len(p.pieces) > 0 && (p.pieces[0].id != e.ItemID || p.pieces[0].Stream != d.Stream) {
			p.said()
		}
		p.pieces = append(p.pieces, piece{time.Now(), e.ItemID, d})
		return
	}
	p.said()
	switch v := e.Payload.(type) {
	case event.TurnStarted:
		p.begins()
	case event.TurnCompleted:
		p.ends(v)
	case event.RuntimeError:
		p.fails(v.Message, 0)
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

// records is whether a thread is the one that is recorded. The first one is, from then on.
func (p *recorded) records(thread string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.thread == "" {
		p.thread = thread
	}
	return p.thread == thread
}

func (p *recorded) add(kind string, fields map[string]any) { p.r.Add(SourceAgent, kind, fields) }

// said records a message whose pieces are all there. They are recorded as they came, unless something that must not be in a journal is cut by them.
func (p *recorded) said() {
	if len(p.pieces) == 0 {
		return
	}
	pieces, whole := p.pieces, p.pieces[0]
	p.pieces = nil
	var text strings.Builder
	for _, part := range pieces {
		text.WriteString(part.Text)
	}
	if whole.Text = text.String(); whole.Text == "" {
		return
	}
	of := string(whole.Stream) + " " + whole.id
	if !p.r.mayCut(pieces, whole.Text, p.before[of]) {
		pieces = []piece{whole}
	}
	p.before[of] += whole.Text
	for _, part := range pieces {
		switch fields := map[string]any{"text": part.Text, "itemId": part.id}; part.Stream {
		case event.AssistantText:
			p.r.addAt(part.at, SourceAgent, "text-delta", fields)
		case event.ReasoningText:
			p.r.addAt(part.at, SourceAgent, "reasoning", fields)
		default:
			p.r.addAt(part.at, SourceAgent, eventKind, asEvent(event.Event{ItemID: part.id, Payload: part.Delta}, map[string]any{}))
		}
	}
	if whole.Stream == event.AssistantText {
		p.add("text", map[string]any{"text": whole.Text, "itemId": whole.id})
		p.whole = whole.id
	}
}

func (p *recorded) begins() {
	prompt := p.prompt()
	p.began, p.usage, p.whole, p.before, p.failed = time.Now(), Usage{}, "", map[string]string{}, false
	p.add("prompt", map[string]any{"text": prompt})
}

// prompt takes the one of the turn that begins.
func (p *recorded) prompt() (text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.IndexFunc(p.sent, func(in *fakeagent.TurnInput) bool { return in.ThreadID == p.thread }); at >= 0 {
		text = p.sent[at].Text
		p.sent = slices.Delete(p.sent, at, at+1)
	}
	return text
}

func (p *recorded) ends(end event.TurnCompleted) {
	switch end.State {
	case event.TurnEndCompleted:
		p.add("summary", map[string]any{"durationMs": time.Since(p.began).Milliseconds(), "status": 0, "tokens": p.usage})
		return
	case event.TurnEndFailed:
		p.fails(end.Ending().Message, end.ErrorCode)
	default:
		p.add("stopped", map[string]any{"reason": "aborted"})
	}
	p.r.settle()
}

// fails records why a turn fails, once.
func (p *recorded) fails(message string, status int) {
	fields := map[string]any{"message": message}
	if status != 0 {
		fields["status"] = status
	}
	if !p.failed || status != 0 {
		p.add("failure", fields)
	}
	p.failed = true
}

// item records a tool call, or another item as it is.
func (p *recorded) item(kind string, e event.Event, item event.Item) {
	fields := map[string]any{"name": item.Title, "callId": e.ItemID}
	switch {
	case kind == "tool-result" && item.ItemType == event.AssistantMessage && p.whole != e.ItemID: // it did not come in pieces
		kind, fields = "text", map[string]any{"text": item.Detail}
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

// uses records the usage of the last call to the model: what the event tells of that, or else what has come to the thread's.
func (p *recorded) uses(e event.Event, u event.TokenUsage) {
	tokens := Usage{Input: int64(u.LastInputTokens), Cached: int64(u.LastCachedInputTokens), Output: int64(u.LastOutputTokens)}
	total := Usage{Input: int64(u.InputTokens), Cached: int64(u.CachedInputTokens), Output: int64(u.OutputTokens)}
	if tokens == (Usage{}) {
		if tokens = total.minus(p.total); total.Input < p.total.Input || total.Output < p.total.Output { // it counts anew
			tokens = total
		}
	}
	if p.total = p.total.plus(tokens); total != (Usage{}) {
		p.total = total
	}
	if tokens == (Usage{}) && total == (Usage{}) && u.UsedTokens > 0 { // of whose kinds nothing is told
		tokens.Complete = new(bool)
	}
	p.usage = p.usage.plus(tokens)
	p.again("usage", e, map[string]any{"tokens": tokens})
}

// again records an event as it was, too.
func (p *recorded) again(kind string, e event.Event, fields map[string]any) {
	if fields = asEvent(e, fields); fields != nil {
		p.add(kind, fields)
	}
}

// asEvent adds the event as it was to an entry; nil: it is no JSON, and so it is nobody's.
func asEvent(e event.Event, fields map[string]any) map[string]any {
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
		return nil
	}
	fields[eventKind] = as
	return fields
}
