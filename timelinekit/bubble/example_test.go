package bubble_test

import (
	"testing"
	"time"

	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// remind calls f each time that d has gone by, until stop is called.
func remind(d time.Duration, f func()) (stop func()) {
	ticker, done := time.NewTicker(d), make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				f()
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
	}
}

// A test of an hour, which takes no time.
func ExampleTest() {
	_ = func(t *testing.T) { // func TestReminder(t *testing.T) {
		bubble.Test(t, func(t *testing.T) {
			n := 0
			stop := remind(25*time.Minute, func() { n++ })
			time.Sleep(time.Hour)
			stop()
			if n != 2 {
				t.Errorf("%d reminders in an hour, want 2", n)
			}
		})
	}
}
