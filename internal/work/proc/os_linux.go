package proc

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// system is what Linux adds to a process.
type system struct{ leader int }

func attributes(s Spec) *syscall.SysProcAttr {
	// A sandbox makes a session inside; for its launcher a group is enough, and
	// cheaper: the kernel schedules each session as a group of its own.
	session := s.TTY || !s.Confined
	attr := &syscall.SysProcAttr{
		Setsid: session, Setpgid: !session,
		// A sandbox takes the terminal for what runs inside, so that Ctrl-C
		// reaches that and not the launcher.
		Setctty:   s.TTY && !s.Confined,
		Pdeathsig: syscall.SIGKILL,
	}
	if s.Cgroup != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(s.Cgroup.Fd())
	}
	return attr
}

func (s *system) start(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	leader, err := theGuard().start(path, argv, attr)
	if err != nil && attr.Sys.UseCgroupFD {
		// Kernels before 5.7 know no start in a cgroup, and some containers forbid it.
		attr.Sys.UseCgroupFD = false
		leader, err = theGuard().start(path, argv, attr)
	}
	if err == nil {
		s.leader = leader.Pid
	}
	return leader, err
}

// awaitExit returns when the leader has ended but is not reaped yet: its number
// cannot be given away while its leavings are looked for.
func (s *system) awaitExit(leader *os.Process) {
	for {
		err := unix.Waitid(unix.P_PID, leader.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (s *system) release() { theGuard().ended(s.leader) }

func (s *system) interrupt(p *Process) {
	if p.spec.TTY {
		if pgrp, ok := foreground(p.output); ok {
			group(pgrp, syscall.SIGINT)
			return
		}
	}
	s.tell(p, syscall.SIGINT)
}

func (s *system) terminate(p *Process) {
	s.tell(p, syscall.SIGTERM)
	if p.spec.TTY { // interactive shells ignore SIGTERM
		s.tell(p, syscall.SIGHUP)
	}
}

func (s *system) tell(p *Process, sig syscall.Signal) {
	if !p.spec.Confined {
		group(p.leader, sig)
		return
	}
	// The first process of the namespace ignores what it does not handle.
	for _, m := range (family{leader: p.leader, token: p.token}).members() {
		if m.pid != p.leader {
			m.signal(sig)
		}
	}
}

func (s *system) signal(p *Process, sig os.Signal) {
	if sig, ok := sig.(syscall.Signal); ok {
		s.tell(p, sig)
	}
}

// kill ends a process. Of what a launcher leads it kills the first process of the
// namespace: the kernel ends all others before that is gone, and the launcher waits
// for it. So the end of the launcher is the proof that nobody is left. One that has
// made no namespace yet is killed itself.
func (s *system) kill(p *Process) {
	if !p.spec.Confined || !killChildren(p.leader) {
		group(p.leader, syscall.SIGKILL)
	}
}

func (s *system) killFirst(p *Process) { s.kill(p) }

// killChildren reports whether there were any.
func killChildren(leader int) (killed bool) {
	for _, pid := range Children(leader) {
		if e, ok := readEntry(pid); ok && e.ppid == leader {
			e.signal(syscall.SIGKILL)
			killed = true
		}
	}
	return killed
}

// sweep ends what the leader left behind, or everything when it still lives.
func (p *Process) sweep() {
	f := family{token: p.token}
	p.mu.Lock()
	if !p.reaped {
		f.leader = p.leader
	}
	over := p.reaped
	p.mu.Unlock()
	if over && !p.spec.Linger {
		return
	}
	if !over && p.exited() {
		orphans := theGuard().adopted(f)
		if p.spec.Confined {
			// The launcher ends a moment before the namespace, whose first process
			// we have inherited then. With it all the others end. When it is alone it
			// only takes the namespace down; nobody needs to wait for that.
			theGuard().expect(orphans)
			for _, e := range orphans {
				if pids, ok := childrenOf(e.pid); !ok || len(pids) > 0 {
					e.endChild()
				}
			}
			return
		}
		if len(orphans) == 0 {
			return // the usual case: one small read told that nobody is left
		}
	}
	f.end()
}

// exited reports whether the leader is dead and waits to be reaped.
func (p *Process) exited() bool {
	e, ok := readEntry(p.leader)
	return !ok || e.state == 'Z'
}

// sweepToken ends every process that carries a token in its mark.
func sweepToken(token string) { family{token: token}.end() }
