//go:build !unix

package start

import "syscall"

func apart() *syscall.SysProcAttr { return nil }
