package program

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Working tells on a terminal that something takes its time. It is silent for the first
// second, and where standard error is no terminal.
type Working struct {
	stop chan struct{}
	done chan struct{}
	once sync.Once
}

// Working begins to tell that what is under way, such as "undoing changes", from a goroutine
// of its own. Nothing else may write to standard error before Stop has returned.
func (p *Program) Working(what string) *Working {
	w := &Working{stop: make(chan struct{}), done: make(chan struct{})}
	if !IsTerminal(p.Stderr) || p.Getenv("TERM") == "dumb" {
		close(w.done)
		return w
	}
	ticks := time.NewTicker(time.Second)
	go func() {
		defer close(w.done)
		defer ticks.Stop()
		tellWork(p.Stderr, what, ticks.C, w.stop)
	}()
	return w
}

// tellWork writes one line over and over, with the seconds, and takes it away at the end.
func tellWork(out io.Writer, what string, ticks <-chan time.Time, stop <-chan struct{}) {
	for seconds := 1; ; seconds++ {
		select {
		case <-ticks:
			fmt.Fprintf(out, "\r\x1b[K%s … %d s", what, seconds)
		case <-stop:
			if seconds > 1 {
				_, _ = io.WriteString(out, "\r\x1b[K")
			}
			return
		}
	}
}

// Stop takes the line away. It may be called again, and for nil.
func (w *Working) Stop() {
	if w == nil {
		return
	}
	w.once.Do(func() { close(w.stop) })
	<-w.done
}
