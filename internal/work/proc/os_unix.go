//go:build unix

package proc

import (
	"fmt"
	"os"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// group sends a signal to the process group of a leader that is not reaped.
func group(leader int, sig syscall.Signal) {
	// ESRCH means that there is nobody left to tell.
	_ = syscall.Kill(-leader, sig)
}

func exitOf(state *os.ProcessState) (code int, signal string) {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return 128 + int(ws.Signal()), unix.SignalName(ws.Signal())
	}
	return state.ExitCode(), ""
}

// openTerminal returns the two ends of a new terminal. The master is handed to
// the poller, so that closing it ends a read and writes have deadlines; package
// pty leaves it in blocking mode.
func openTerminal() (master, slave *os.File, err error) {
	blocking, slave, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open terminal: %w", err)
	}
	defer blocking.Close()
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		slave.Close()
		return nil, nil, fmt.Errorf("open terminal: %w", err)
	}
	return os.NewFile(uintptr(fd), blocking.Name()), slave, nil
}

// control runs f on the descriptor of a terminal and leaves it to the poller,
// from which File.Fd would take it.
func control(terminal *os.File, f func(fd int) error) error {
	raw, err := terminal.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}

func resize(terminal *os.File, s Size) error {
	return control(terminal, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: s.Rows, Col: s.Cols})
	})
}

// foreground returns the process group that a terminal talks to.
func foreground(terminal *os.File) (pgrp int, ok bool) {
	err := control(terminal, func(fd int) (err error) {
		pgrp, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return pgrp, err == nil && pgrp > 1
}

// readNow reads what is there, without waiting.
func readNow(f *os.File, b []byte) (n int) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Read(func(fd uintptr) bool {
		n, _ = unix.Read(int(fd), b)
		return true
	})
	return n
}
