//go:build linux || darwin

package endpoint

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

func supported() error { return nil }

// private makes a socket that nobody else can connect to, not even at first.
func private(listen func() (net.Listener, error)) (net.Listener, error) {
	before := unix.Umask(0o177)
	defer unix.Umask(before)
	return listen()
}

// own reports whether the other side is a program of this user.
func own(c *net.UnixConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	same := false
	err = raw.Control(func(fd uintptr) {
		uid, err := uidOf(int(fd))
		same = err == nil && uid == os.Getuid()
	})
	return err == nil && same
}
