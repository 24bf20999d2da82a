//go:build unix

package tui

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func watched() []os.Signal {
	return []os.Signal{syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT}
}

func isResize(s os.Signal) bool   { return s == syscall.SIGWINCH }
func isContinue(s os.Signal) bool { return s == syscall.SIGCONT }

// mend makes a terminal sane that a killed program left raw: nobody starts a
// program from a shell on a terminal without echo, lines and signals.
func mend(fd int) {
	t, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil || t.Lflag&(unix.ICANON|unix.ISIG) != 0 {
		return
	}
	t.Iflag |= unix.ICRNL | unix.IXON
	t.Oflag |= unix.OPOST | unix.ONLCR
	t.Lflag |= unix.ICANON | unix.ISIG | unix.ECHO | unix.ECHOE | unix.ECHOK | unix.IEXTEN
	_ = unix.IoctlSetTermios(fd, setTermios, t)
}

// resized is never due: the system sends a signal.
func resized() (<-chan time.Time, func()) { return nil, func() {} }
