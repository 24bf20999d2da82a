// Package dying lets the helper process of a test die right behind a line of its journal:
// the line is written, and the call that it is about does not go on. Tests import it; its
// name comes before that of package supervise, and so does its init.
package dying

import (
	"os"
	"strconv"
	"syscall"

	"kerf/internal/work/witness/journal"
)

// Key is the variable with the number of the line, from 1.
const Key = "KERF_TEST_DIE_BEHIND"

func init() {
	last, err := strconv.ParseInt(os.Getenv(Key), 10, 64)
	if err != nil {
		return
	}
	journal.Written = func(lines int64) {
		if lines >= last {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}
