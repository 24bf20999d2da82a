//go:build unix

package guard

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// handedOn are the signals that the program gets when Kerf does.
var handedOn = []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1,
	syscall.SIGUSR2}

// fromTerminal reports whether the terminal sent a signal: then the program has got it, too,
// since it is in the same process group.
func fromTerminal(sig os.Signal) bool {
	return (sig == syscall.SIGINT || sig == syscall.SIGQUIT) && inForeground()
}

// inForeground reports whether Kerf's process group is that of its terminal.
func inForeground() bool {
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(tty)
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

func signalCode(st *os.ProcessState) (int, bool) {
	ws, ok := st.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return 0, false
	}
	return 128 + int(ws.Signal()), true
}
