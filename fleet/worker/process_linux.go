package worker

import (
	"os/exec"
	"syscall"
)

// own gives cmd a group of its own and lets it end with this process.
func own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup ends cmd and what it started. Commands in the sandbox end with Kerf.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
