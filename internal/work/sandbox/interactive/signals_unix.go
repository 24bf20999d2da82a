//go:build unix

package interactive

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// passedOn are the signals that commands get when Kerf does.
var passedOn = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
	syscall.SIGUSR2}

// onResize calls f when the terminal has a new size, until stop is called. When that returns,
// f is not called any more.
func onResize(f func()) (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range c {
			f()
		}
	})
	return func() {
		signal.Stop(c)
		close(c)
		wg.Wait()
	}
}
