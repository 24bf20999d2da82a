package repeat

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestItLooksUntilItIsEnough: every interval, and less often when a look takes long.
func TestItLooksUntilItIsEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		l := Start(100*time.Millisecond, func() bool {
			at = append(at, time.Since(began))
			if len(at) == 2 {
				time.Sleep(50 * time.Millisecond)
			}
			return len(at) < 4
		})
		time.Sleep(time.Hour)
		l.End()
		l.End()
		want := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 1250 * time.Millisecond, 1350 * time.Millisecond}
		if len(at) != len(want) {
			t.Fatal(at)
		}
		for i := range want {
			if at[i] != want[i] {
				t.Errorf("looked at %v, want %v", at, want)
			}
		}
	})
}

// TestEndWaits until nothing is looked at any more.
func TestEndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks, done atomic.Int32
		l := Start(time.Millisecond, func() bool {
			looks.Add(1)
			time.Sleep(time.Second)
			done.Add(1)
			return true
		})
		time.Sleep(2 * time.Millisecond)
		l.End()
		for range 2 {
			if looks.Load() != 1 || done.Load() != 1 {
				t.Errorf("%d looks, %d done", looks.Load(), done.Load())
			}
			time.Sleep(time.Hour)
		}
	})
	(*Loop)(nil).End()
}
