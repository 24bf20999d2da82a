package witness

import "time"

const (
	// interval is how soon others see what a command changed, while it runs.
	interval = time.Second
	// share bounds the time that is spent on it, in which the command may wait: one part in so many.
	share = 25
	// longest is how long files that stay open, such as logs, wait at most.
	longest = time.Minute
)

// Follow calls collect about once a second while the command changes something, until
// stop is closed or collect fails. A file that stays open and grows is collected ever
// less often: each time costs a copy of it.
func (x *Watch) Follow(stop <-chan struct{}, collect func() error) error {
	pause, open, last := interval, interval, time.Now()
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(pause):
		}
		switch news := x.News(); {
		case news == Nothing || news == Written && time.Since(last) < open:
			continue
		case news == Written:
			open = min(2*open, longest)
		}
		last = time.Now()
		if err := collect(); err != nil {
			return err
		}
		pause = max(interval, share*time.Since(last))
	}
}
