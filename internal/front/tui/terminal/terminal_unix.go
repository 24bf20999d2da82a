//go:build unix

package terminal

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Signals are the signals about the terminal.
func Signals() []os.Signal {
	return []os.Signal{syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT}
}

func isResize(s os.Signal) bool   { return s == syscall.SIGWINCH }
func isContinue(s os.Signal) bool { return s == syscall.SIGCONT }

// repair makes a terminal usable that a killed program left raw: nobody starts a
// program from a shell on a terminal without echo, lines and signals.
func repair(fd int) {
	t, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil || t.Lflag&(unix.ICANON|unix.ISIG) != 0 {
		return
	}
	t.Iflag |= unix.ICRNL | unix.IXON
	t.Oflag |= unix.OPOST | unix.ONLCR
	t.Lflag |= unix.ICANON | unix.ISIG | unix.ECHO | unix.ECHOE | unix.ECHOK | unix.IEXTEN
	_ = unix.IoctlSetTermios(fd, setTermios, t)
}

// sizeTicks never ticks: the system sends a signal when the size changes.
func sizeTicks() (<-chan time.Time, func()) { return nil, func() {} }
