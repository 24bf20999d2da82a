//go:build unix

package start

import "syscall"

// apart makes a process that outlives the terminal it was started from.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
