package footprint

import "syscall"

var group = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

func endGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }
