package matchers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/understudy-go/understudy/usagefake"
)

const (
	readsAlike = 10
	patience   = 30 * time.Second
)

// AnswerAlike matches a [usagefake.Source] that says the same as another one when both are read ten times, the quota and then the token
// usage. Errors are the same if their texts are. So it says that a source is deterministic, if there are two of one kind:
//
//	Expect(newSource()).To(AnswerAlike(newSource()))
//
// Reading moves both of them, and they must be at the same place before. Two fakes need one clock, which is [usagefake.Config].Now, or virtual
// time: on two clocks no quota is as of the same instant. A source that does not answer for 30 seconds is an error.
func AnswerAlike(other usagefake.Source) Matcher {
	m := matcher{description: fmt.Sprintf("answer as another %T does", other), kept: new(keptVerdict)}
	if other == nil || isNilPointer(other) {
		m.wrong = fmt.Errorf("AnswerAlike: other is a nil %T, want a source of usage", other)
	}
	m.test = func(actual any) (v verdict, err error) {
		got, ok := actual.(usagefake.Source)
		switch {
		case !ok:
			return v, unexpected("AnswerAlike", "a source of usage (usagefake.Source)", actual)
		case isNilPointer(got):
			return v, pointer("AnswerAlike: the actual", actual)
		}
		if got == other {
			return v, errors.New("AnswerAlike: both are the same source; make two")
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for n := 1; n <= readsAlike && v.differs == "" && err == nil; n++ {
			v.differs, err = compareAnswers(ctx, fmt.Sprint("quota read ", n), it, got.ReadQuota, other.ReadQuota)
			if v.differs == "" && err == nil {
				v.differs, err = compareAnswers(ctx, fmt.Sprint("token usage read ", n), "records", got.ReadTokenUsage, other.ReadTokenUsage)
			}
		}
		return v, err
	}
	return m
}

func compareAnswers[T any](ctx context.Context, what, is string, got, want func(context.Context) (T, error)) (string, error) {
	g, gotErr := got(ctx)
	w, wantErr := want(ctx)
	if ctx.Err() != nil {
		return "", fmt.Errorf("AnswerAlike: %s: no answer in %v", what, patience)
	}
	if told, wanted := errorText(gotErr), errorText(wantErr); told != wanted {
		return fmt.Sprintf("%s: error is %s, want %s", what, told, wanted), nil
	}
	if answerText(g) == answerText(w) {
		return "", nil
	}
	differs := what + ": " + whyNot(is, g, w)
	if strings.HasPrefix(differs, what+": asOf is ") {
		differs += "\n    (have the two sources one clock, such as a Config.Now?)"
	}
	return differs, nil
}

func answerText(v any) string {
	if text, err := json.Marshal(v); err == nil {
		return string(text)
	}
	return fmt.Sprint(v) // a percentage that is no number has no JSON
}

func errorText(err error) string {
	if err == nil {
		return "none"
	}
	return quote(err.Error())
}

// keptVerdict is what a matcher said last. Where asking changes the actual, a message must not ask again.
type keptVerdict struct {
	mu      sync.Mutex
	actual  any
	verdict verdict
	err     error
}

func (k *keptVerdict) put(actual any, v verdict, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.actual, k.verdict, k.err = actual, v, err
}

func (k *keptVerdict) of(actual any) (v verdict, err error, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !isPointer(actual) || k.actual != actual {
		return v, nil, false
	}
	return k.verdict, k.err, true
}

// sourceLine is a source in a line.
func sourceLine(s usagefake.Source) string {
	if own, ok := s.(interface{ GomegaString() string }); ok && !isNilPointer(s) {
		return own.GomegaString()
	}
	return fmt.Sprintf("%T", s)
}
