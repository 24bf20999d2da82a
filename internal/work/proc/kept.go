package proc

import (
	"slices"
	"sync"

	"kerf/internal/text/redact"
)

// Kept returns the environments of commands, without and with a terminal, that are worked out anew
// only when known, what is a secret, is another than the last time. The lists are the callers'
// own. It may be called by several goroutines.
func Kept(known func() *redact.Redactor, environment func(tty bool) []string) func(tty bool) []string {
	type kept struct {
		known *redact.Redactor
		list  []string
	}
	var mu sync.Mutex // guards what follows
	var made [2]kept
	return func(tty bool) []string {
		now := known()
		mu.Lock()
		defer mu.Unlock()
		k := &made[0]
		if tty {
			k = &made[1]
		}
		if k.known == nil || k.known != now {
			*k = kept{now, environment(tty)}
		}
		return slices.Clone(k.list)
	}
}
