//go:build unix

package ignore

import "golang.org/x/sys/unix"

// nonblock keeps an open from waiting where a FIFO took a file's place.
const nonblock = unix.O_NONBLOCK
