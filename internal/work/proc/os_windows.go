package proc

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// system is the job object that holds the process and all it starts. Closing
// the job, also by the death of Kerf, ends them.
type system struct{ job windows.Handle }

func attributes(Spec) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

func (s *system) start(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	leader, err := os.StartProcess(path, argv, attr)
	if err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	if err := assign(job, leader.Pid); err != nil {
		_ = leader.Kill()
		_, _ = leader.Wait()
		windows.CloseHandle(job)
		return nil, err
	}
	s.job = job
	return leader, nil
}

func assign(job windows.Handle, pid int) error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	return windows.AssignProcessToJobObject(job, h)
}

func (s *system) awaitExit(leader *os.Process) {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(leader.Pid))
	if err != nil {
		return
	}
	defer windows.CloseHandle(h)
	_, _ = windows.WaitForSingleObject(h, windows.INFINITE)
}

func (s *system) release() {}

func (s *system) interrupt(p *Process) {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.leader))
}

func (s *system) terminate(p *Process) { s.interrupt(p) }

// signal does what the console can: every signal is Ctrl-Break.
func (s *system) signal(p *Process, _ os.Signal) { s.interrupt(p) }

func (s *system) kill(*Process) { _ = windows.TerminateJobObject(s.job, 1) }

// sweep ends everything in the job.
func (p *Process) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sys.kill(p)
}

func sweepToken(string) {}

func exitOf(state *os.ProcessState) (code int, signal string) { return state.ExitCode(), "" }

func openTerminal() (master, slave *os.File, err error) {
	return nil, nil, errors.New("terminals are not supported on Windows yet; run without tty")
}

func resize(*os.File, Size) error { return nil }

func readNow(*os.File, []byte) int { return 0 }

func (s *system) killFirst(p *Process) { s.kill(p) }
