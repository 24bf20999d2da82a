//go:build unix

package versus

import (
	"syscall"
	"time"
)

// processorTime is what this process has used of the processors. On a busy machine it
// says more than the clock.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
