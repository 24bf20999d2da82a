package program

import (
	"strings"
	"testing"
	"time"
)

// TestWorkIsTold: nothing before the first second, then one line that is taken away.
func TestWorkIsTold(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		var out strings.Builder
		ticks, stop, done := make(chan time.Time), make(chan struct{}), make(chan struct{})
		go func() { defer close(done); tellWork(&out, "undoing", ticks, stop) }()
		for range n {
			ticks <- time.Time{}
		}
		close(stop)
		<-done
		want := strings.Join([]string{"\r\x1b[Kundoing … 1 s", "\r\x1b[Kundoing … 2 s", "\r\x1b[Kundoing … 3 s"}[:n], "")
		if n > 0 {
			want += "\r\x1b[K"
		}
		if out.String() != want {
			t.Errorf("after %d s: %q, want %q", n, out.String(), want)
		}
	}
	(&Program{}).Working("x").Stop() // no terminal
}
