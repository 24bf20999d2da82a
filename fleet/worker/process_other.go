//go:build unix && !linux

package worker

import (
	"os/exec"
	"syscall"
)

// own gives cmd a group of its own. Here a worker that is killed leaves kerf serve behind,
// which the next one of this directory ends.
func own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends cmd and what it started.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
