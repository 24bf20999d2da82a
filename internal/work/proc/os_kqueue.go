//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package proc

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// system is what other Unix systems add to a process: nothing to keep. Daemons
// that leave both session and group are not found here.
type system struct{}

func attributes(s Spec) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: s.TTY}
}

func (s *system) start(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	return os.StartProcess(path, argv, attr)
}

// awaitExit returns when the leader has ended but is not reaped yet.
func (s *system) awaitExit(leader *os.Process) {
	kq, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer unix.Close(kq)
	change := make([]unix.Kevent_t, 1)
	unix.SetKevent(&change[0], leader.Pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change[0].Fflags = unix.NOTE_EXIT
	for {
		_, err := unix.Kevent(kq, change, make([]unix.Kevent_t, 1), nil)
		if !errors.Is(err, unix.EINTR) {
			return // also ESRCH: it has ended already
		}
	}
}

func (s *system) release() {}

func (s *system) interrupt(p *Process) {
	if p.spec.TTY {
		if pgrp, ok := foreground(p.output); ok {
			group(pgrp, syscall.SIGINT)
			return
		}
	}
	group(p.leader, syscall.SIGINT)
}

func (s *system) terminate(p *Process) {
	group(p.leader, syscall.SIGTERM)
	if p.spec.TTY {
		group(p.leader, syscall.SIGHUP)
	}
}

func (s *system) signal(p *Process, sig os.Signal) {
	if sig, ok := sig.(syscall.Signal); ok {
		group(p.leader, sig)
	}
}

func (s *system) kill(p *Process) { group(p.leader, syscall.SIGKILL) }

// sweep ends the group of the leader. Once the leader is reaped its number may
// be somebody else's.
func (p *Process) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		group(p.leader, syscall.SIGKILL)
	}
}

func sweepToken(string) {}

func (s *system) killFirst(p *Process) { s.kill(p) }
