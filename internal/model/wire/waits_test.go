package wire

import (
	"testing"
	"time"
)

// Signs of life count for a while only, also where nothing else has come yet; an answer whose end
// was told is waited for no longer than it takes to settle.
func TestKeepAlivesCountForAWhile(t *testing.T) {
	idle := 10 * time.Second
	for name, tt := range map[string]struct {
		began, stopped bool
		first          time.Duration
		most           time.Duration // silence that is borne
	}{
		"amid an answer":         {began: true, first: time.Hour, most: aliveFor * idle},
		"before it":              {first: idle, most: aliveFor * idle},
		"before it, for long":    {first: time.Hour, most: time.Hour},
		"behind the end":         {began: true, stopped: true, first: time.Hour, most: settle},
		"behind the end at once": {stopped: true, first: time.Hour, most: settle},
	} {
		x := &exchange{Endpoint: New(Options{IdleTimeout: idle}), began: tt.began, first: tt.first}
		x.call.Stopped = func() bool { return tt.stopped }
		if !x.waits(tt.most-time.Millisecond) || x.waits(tt.most) {
			t.Errorf("%s: not borne for just %v", name, tt.most)
		}
	}
}
