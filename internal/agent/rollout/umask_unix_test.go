//go:build unix

package rollout

import "syscall"

func withUmask(mask int, f func()) {
	defer syscall.Umask(syscall.Umask(mask))
	f()
}
