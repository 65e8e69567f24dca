package fakeagent

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/understudy-go/understudy/fakeagent/playbook"
	"github.com/understudy-go/understudy/fakeagent/script"
)

// book is the playbook of an instance. A file is read once, when it is needed.
type book struct {
	path string

	once sync.Once
	cast *playbook.Cast
	err  error
}

// book is the one of a configuration, or nil.
func (c Config) book() (*book, error) {
	switch {
	case c.Playbook != nil && c.PlaybookPath != "":
		return nil, errors.New("fakeagent: Playbook and PlaybookPath are both set; give one of them")
	case c.Choose != nil, c.Perform != nil:
		return nil, nil
	case c.Playbook != nil:
		return &book{cast: playbook.NewCast(c.Playbook)}, nil
	case c.PlaybookPath != "":
		return &book{path: c.PlaybookPath}, nil
	}
	return nil, nil
}

func (b *book) open() error {
	b.once.Do(func() {
		if b.cast != nil {
			return
		}
		p, err := playbook.Open(b.path)
		if err != nil {
			b.err = fmt.Errorf("playbook: %w", err)
			return
		}
		b.cast = playbook.NewCast(p)
	})
	return b.err
}

// batch is a part of a playbook that plays.
type batch struct {
	script.Script
	where string // in the playbook
}

// pick is what a thread plays for an input, or after it waited for a steer in vain; nil if the playbook has nothing for it. th.mu is locked:
// who gets which line and which batch is decided by who sends first.
func (b *book) pick(th *thread, input string, inVain bool) *batch {
	if err := b.open(); err != nil {
		return &batch{script.New(script.Say(err.Error())), "playbook"}
	}
	t := playbook.Thread{ID: th.id, Title: th.session.Title}
	var steps playbook.Batch
	var ok bool
	if inVain {
		steps, ok = b.cast.PickNext(t)
	} else {
		steps, ok = b.cast.Pick(t, input)
	}
	if !ok {
		return nil
	}
	return &batch{script.New(steps...), b.cast.Playing(th.id)}
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
		return strings.TrimPrefix(b.path+": ", ": ") + left
	}
	return ""
}
