// Package repeat looks at something again and again while a command runs.
package repeat

import (
	"sync"
	"time"
)

// share bounds the time that is spent on looking: one part in so many.
const share = 20

// Loop is started by Start. A nil Loop is one that ended.
type Loop struct {
	quit chan struct{}
	end  sync.Once
	wg   sync.WaitGroup
}

// Start calls look every interval, and less often when that takes long, on a goroutine of
// its own, until look returns false or End is called.
func Start(interval time.Duration, look func() (again bool)) *Loop {
	l := &Loop{quit: make(chan struct{})}
	l.wg.Go(func() { l.run(interval, look) }) // ends with End
	return l
}

func (l *Loop) run(interval time.Duration, look func() bool) {
	for wait := interval; ; {
		select {
		case <-l.quit:
			return
		case <-time.After(wait):
		}
		began := time.Now()
		if !look() {
			return
		}
		wait = max(interval, share*time.Since(began))
	}
}

// End waits until nothing is looked at any more. It may be called again.
func (l *Loop) End() {
	if l == nil {
		return
	}
	l.end.Do(func() { close(l.quit) })
	l.wg.Wait()
}
