package fakeagent

import (
	"fmt"
	"sync"

	"github.com/understudy-go/understudy/fakeagent/playbook"
	"github.com/understudy-go/understudy/fakeagent/script"
)

// book is the playbook of an instance. It is read once, when it is needed.
type book struct {
	path string

	once sync.Once
	cast *playbook.Cast
	err  error
}

func (b *book) open() error {
	b.once.Do(func() {
		p, err := playbook.Open(b.path)
		if err != nil {
			b.err = fmt.Errorf("playbook: %w", err)
			return
		}
		b.cast = playbook.NewCast(p)
	})
	return b.err
}

// pick is what a thread plays for an input, and for a turn that waited for a steer in vain; nil if the playbook has nothing for it. th.mu is
// locked: who gets which line and which batch is decided by who sends first.
func (b *book) pick(th *thread, input string, inVain bool) *script.Script {
	if err := b.open(); err != nil {
		s := script.New(script.Say(err.Error()))
		return &s
	}
	pick := b.cast.Pick
	if inVain {
		pick = b.cast.PickNext
	}
	batch, ok := pick(playbook.Thread{ID: th.id, Title: th.session.Title}, input)
	if !ok {
		return nil
	}
	s := batch.Script()
	return &s
}

// PlaybookLeft is what of the playbook was not played yet, as a tree of its lines and their batches, or what is wrong with it. It is "" where
// nothing is left, and where the instance has no playbook.
func (in *Instance) PlaybookLeft() string {
	b := in.role.book
	if b == nil {
		return ""
	}
	if err := b.open(); err != nil {
		return err.Error()
	}
	if left := b.cast.Left(); left != "" {
		return b.path + ": " + left
	}
	return ""
}
