//go:build unix

package search

import "golang.org/x/sys/unix"

// nonblock keeps an open from waiting where a FIFO took a file's place.
const nonblock = unix.O_NONBLOCK

// maxArgs is how many bytes of file names one command line takes; Linux allows
// two MiB for arguments and environment together, macOS one.
const maxArgs = 256 << 10
