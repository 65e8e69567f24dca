package event

import (
	"context"
	"sync"
)

// Log keeps events for readers that take their time. A turn waits for each subscriber, and so a slow one holds up its thread; it does not hold up
// a Log that subscribes in its place:
//
//	log := new(event.Log)
//	agent.Subscribe(log.Append)
//	for n := 0; ; {
//		events, err := log.Wait(ctx, n)
//		…
//		n += len(events)
//	}
//
// Each reader has a cursor of its own, which is how many events it has read. The zero value is ready, and safe for concurrent use. It keeps
// all events.
type Log struct {
	mu     sync.Mutex
	events []Event
	more   chan struct{} // closed by the next event; nil if nobody waits
}

// Append adds an event. It never waits for a reader.
func (l *Log) Append(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

// After are the events behind a cursor, as far as there are any. The slice must not be changed.
func (l *Log) After(cursor int) []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.after(cursor)
}

func (l *Log) after(cursor int) []Event {
	cursor = min(max(cursor, 0), len(l.events))
	return l.events[cursor:len(l.events):len(l.events)]
}

// Wait is After, once there are any. The error is the context's, which ended before.
func (l *Log) Wait(ctx context.Context, cursor int) ([]Event, error) {
	for {
		l.mu.Lock()
		events := l.after(cursor)
		if len(events) == 0 && l.more == nil {
			l.more = make(chan struct{})
		}
		more := l.more
		l.mu.Unlock()
		if len(events) > 0 {
			return events, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
