package guard

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// childStopped is CLD_STOPPED, the code of a child that was stopped.
const childStopped = 5

// settling is how long a stop that the terminal sent takes to reach Kerf, too.
const settling = 50 * time.Millisecond

// followStops returns when the program has ended. When it stops itself on a terminal,
// Kerf stops, too, so that the user's shell comes back.
func followStops(p *os.Process) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, p.Pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || info.Code != childStopped {
			return
		}
		time.Sleep(settling) // if Kerf was stopped, too, this lasts until both go on
		info = unix.Siginfo{}
		err = unix.Waitid(unix.P_PID, p.Pid, &info, unix.WSTOPPED|unix.WNOHANG, nil)
		if still := err == nil && info.Signo != 0; still && inForeground() {
			_ = unix.Kill(unix.Getpid(), unix.SIGSTOP)
			_ = p.Signal(unix.SIGCONT)
		}
	}
}
